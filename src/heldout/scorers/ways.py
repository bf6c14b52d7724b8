"""Models whose fastest way to run is found by a trial get one before anything depends on it, and resumed work the same
again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast, get_args

import numpy as np

from heldout.checkpoints import Arrays, Checkpoint, CheckpointFolder
from heldout.images import LabelledImages
from heldout.scorers.base import Scorer, device_of, precision_of
from heldout.scorers.batches import filled, score_batch, with_batches_that_fit
from heldout.scorers.prepared import WAYS, Way
from heldout.scorers.torch import TorchScorer


def ways_file(folder: CheckpointFolder, models: Sequence[Scorer], name: str = "ways") -> Checkpoint:
    """Where the choice is kept; on another device, or in another precision, it may be none."""
    return folder.file(
        name,
        models=[model.name for model in models],
        device=[device_of(model) for model in models],
        precision=[precision_of(model) for model in models],
    )


def settle_ways(
    models: Sequence[Scorer],
    images: LabelledImages,
    *,
    batch_size: int | None,
    kept: Checkpoint | None = None,
    say: Callable[[str], None],
) -> Arrays:
    """Have every model know how it is run; what a checkpoint must keep of that, nothing where nobody was in doubt.

    Parameters
    ----------
    images : LabelledImages
        Pictures for the trial.
    batch_size : int, optional
        Of the work to come; each model's own without.
    kept : Checkpoint, optional
        What was found before (`ways_file`).
    """
    open_ones = [m for m in models if isinstance(m, TorchScorer) and m.way is None]
    if not open_ones:
        return {}
    if kept is not None and (state := kept.load()) is not None:
        try:
            found = [str(way) for way in state["ways"]]
            for model, way in zip(open_ones, found, strict=True):
                if way not in get_args(Way):
                    raise ValueError(way)
                model.way = cast(Way, way)
        except (KeyError, ValueError) as error:
            raise kept.damaged(error) from error
    for model in open_ones:
        if model.way is None:
            say(f"{model.name}: trying which way to run it is fastest, for about a minute ...")
            with_batches_that_fit(partial(_try, model, images), batch_size or model.batch_size, lambda smaller: None)
        assert model.way is not None
        say(f"{model.name}: run by {WAYS[model.way]}.")
    return {"ways": np.array([model.way for model in open_ones])}


def _try(model: TorchScorer, images: LabelledImages, size: int) -> None:
    """Its first batch."""
    pixels = images.place_many(np.arange(min(size, len(images))), 0)
    score_batch(model, filled(images.scaled(pixels, model.layout, counts=pixels.dtype == np.uint8), size))


def way_of(model: Scorer) -> str:
    """What runs a model, where that is known."""
    way: Way | None = getattr(model, "way", None)
    return "its own" if way is None else WAYS[way]
