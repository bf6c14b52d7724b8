"""Shards on a Ray cluster.

Workers on other machines do not see the folder of unfinished work, so they keep nothing: this process keeps every shard
that comes back, as if it had been scored here. A run that is stopped goes on from there, with or without the cluster;
shards that were at work begin again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heldout.clusters import run_on_cluster
from heldout.images import LabelledImages
from heldout.images.pieces import piece_of
from heldout.independence.rounds import Shard, ShardResult, keep_result, kept_result, run_shard
from heldout.scorers.base import device_of, portable


def run_shards(
    shards: Sequence[Shard],
    *,
    cluster: str,
    tell: Callable[..., None],
    done: Callable[[int, ShardResult], None],
    say: Callable[[str], None],
) -> list[ShardResult]:
    """What `run_shard` finds in each, in their order; `tell` and `done` hear the number of a shard first."""
    found = {number: kept for number, shard in enumerate(shards) if (kept := kept_result(shard)) is not None}
    for number, result in found.items():
        tell(number, len(shards[number].rows), result.evaluations, result.batch_size)
        done(number, result)
    left = [number for number in range(len(shards)) if number not in found]
    packing = _Packing()

    def came(place: int, result: ShardResult) -> None:
        number = left[place]
        keep_result(shards[number], result)
        done(number, result)

    results = run_on_cluster(
        run_shard,
        [packing.packed(shards[number]) for number in left],
        cluster=cluster,
        gpus=[device_of(shards[number].scorer).startswith("cuda") for number in left],
        tell=lambda place, *numbers: tell(left[place], *numbers),
        done=came,
        say=say,
        shared=list(packing.models.values()),
        read_only=list(packing.pictures.values()),
    )
    found |= dict(zip(left, results, strict=True))
    return [found[number] for number in range(len(shards))]


class _Packing:
    """Shards as they travel: models and pictures that several of them hold are one thing each."""

    def __init__(self) -> None:
        self.models: dict[int, tuple[str, Any]] = {}
        self.pictures: dict[Any, tuple[str, LabelledImages]] = {}

    def packed(self, shard: Shard) -> Shard:
        """The same shard with a model and pictures that can be sent, and nothing of this machine's files."""
        scorer, images, rows = shard.scorer, shard.images, shard.rows
        if id(scorer) not in self.models:
            self.models[id(scorer)] = f"the model {scorer.name}", portable(scorer)
        key = id(images), rows.tobytes()
        if key not in self.pictures:
            piece = piece_of(images, rows)
            key = key if piece is not None else (id(images), b"")
            self.pictures.setdefault(key, ("the pictures", images if piece is None else piece))
        pictures = self.pictures[key][1]
        return replace(
            shard,
            scorer=self.models[id(scorer)][1],
            images=pictures,
            rows=rows if pictures is images else np.arange(len(rows)),
            checkpoint=None,
            resume=False,
            fingerprint={},
        )
