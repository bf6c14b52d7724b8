"""What a model answers to untouched pictures, as it is used in life, where the frame's centre is something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.errors import InputError
from heldout.images import LabelledImages, Whole
from heldout.images.labelled import ShapeError
from heldout.independence.margins import Answers, answers_of
from heldout.progress import plain_bar
from heldout.scorers import Scorer
from heldout.scorers.batches import OutOfMemoryError, excess_scores
from heldout.scorers.showing import showing_for

ORIGINAL, CENTRE = "original picture", "centre of the frame"


def original_answers(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    tell: Callable[[], None] | None = None,
) -> Answers | str:
    """What a model says to the original pictures, or why it cannot take them.

    One evaluation for each picture, before the audit's thirty or so; `tell` is called before each batch.
    """
    originals = images.with_frame(Whole())
    shape = originals.place(int(rows[0]), 0).shape
    size = getattr(scorer, "input_size", (None, None))
    if None not in size and tuple(size) != shape[:2]:
        return f"the model wants {size[0]} x {size[1]} pixels, and the originals have {shape[0]} x {shape[1]}"
    try:
        first = _scored(scorer, originals, rows[:batch_size], batch_size, shape)
    except ShapeError:
        return "the originals differ in size"
    except InputError as error:  # of their size, most often, but whoever reads on shall see
        if isinstance(error, OutOfMemoryError) and batch_size > 1:
            raise  # a smaller batch may do
        reason = str(error).removesuffix(".")
        return f"the model does not take the originals' {shape[0]} x {shape[1]} pixels: {reason}"
    try:
        told = f"{label}: original pictures"
        return _read(scorer, originals, rows, batch_size, told, progress, checkpoint, shape, first, tell)
    except ShapeError:
        return "the originals differ in size"


def centre_answers(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Answers:
    """What a model says to the pictures in the centre of their frame, one evaluation for each."""
    told = f"{label}: untouched pictures"
    shape = images.place(int(rows[0]), 0).shape
    return _read(scorer, images, rows, batch_size, told, progress, checkpoint, shape)


def _scored(
    scorer: Scorer, images: LabelledImages, rows: NDArray[np.intp], batch_size: int, shape: tuple[int, ...]
) -> Answers:
    """One batch."""
    pixels = images.place_many(rows, 0)
    images.check_shape(int(rows[0]), pixels.shape[1:], shape)
    showing = showing_for(scorer, images, batch_size=batch_size)
    logits = showing.logits(showing.put(pixels, counts=pixels.dtype == np.uint8))[: len(rows)]
    excess = excess_scores(logits, images.labels[rows], [images.ids[i] for i in rows])
    return answers_of(logits, images.labels[rows], excess, absent=getattr(scorer, "absent_classes", ()))


def _read(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    batch_size: int,
    label: str,
    progress: bool,
    checkpoint: Checkpoint | None,
    shape: tuple[int, ...],
    first: Answers | None = None,
    tell: Callable[[], None] | None = None,
) -> Answers:
    def score(start: int, stop: int) -> dict[str, NDArray[Any]]:
        if tell is not None:
            tell()
        known = first if start == 0 else None
        return vars(known or _scored(scorer, images, rows[start:stop], batch_size, shape))

    kept = checkpoint or Checkpoint(None, {}, of="audit")
    with plain_bar(len(rows), label, unit="pictures", shown=progress) as bar:
        found = kept.rows(len(rows), batch_size, score, bar=bar)
    return Answers(**found)


def chosen_pictures(
    in_frame: Mapping[str, NDArray[np.float64]], originals: Mapping[str, NDArray[np.float64] | None]
) -> str:
    """Which pictures are a model's untouched ones, from its losses on every set: the originals or the frame's centre.

    The frame's centre, unless the frame enlarges: then the original picture, if the model takes it and is not worse on
    originals than in the frame, as a model trained on enlarged pictures is. Which of the two is decided on test set and
    control together, so that it does not depend on which is which, and the permutation test stays exact.
    """
    found = [losses for losses in originals.values() if losses is not None]
    if len(found) < len(in_frame):
        return CENTRE
    wrong, wrong_in_frame = (sum(float(x.sum()) for x in losses) for losses in (found, in_frame.values()))
    return ORIGINAL if wrong <= wrong_in_frame else CENTRE
