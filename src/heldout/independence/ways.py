"""Models whose fastest way to run is found by a trial get one before anything depends on it, and a resumed audit the
same again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast, get_args

import numpy as np

from heldout.checkpoints import Checkpoint
from heldout.images import LabelledImages
from heldout.scorers import Scorer, TorchScorer
from heldout.scorers.batches import filled, score_batch, with_batches_that_fit
from heldout.scorers.prepared import WAYS, Way


def settle_ways(
    models: Sequence[Scorer],
    images: LabelledImages,
    *,
    batch_size: int | None,
    kept: Checkpoint,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Have every model know how it is run; what a checkpoint must keep of that, nothing where nobody was in doubt.

    Parameters
    ----------
    images : LabelledImages
        Pictures for the trial.
    batch_size : int, optional
        Of the audit; each model's own without.
    kept : Checkpoint
        What was found before.
    """
    open_ones = [m for m in models if isinstance(m, TorchScorer) and m.way is None]
    if not open_ones:
        return {}
    state = kept.load()
    if state is not None:
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


def way_of(model: Any) -> str:
    """What runs a model, where that is known."""
    way: Way | None = getattr(model, "way", None)
    return "its own" if way is None else WAYS[way]
