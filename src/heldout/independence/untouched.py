"""What a model answers to untouched pictures, as it is used in life, where the frame's centre is something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages, Whole
from heldout.independence.margins import Answers, answers_of, joined
from heldout.progress import plain_bar
from heldout.scorers import Scorer
from heldout.scorers.batches import excess_scores, filled, score_batch

ORIGINAL, CENTRE = "original picture", "centre of the frame"


def original_answers(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
) -> Answers | str:
    """What a model says to the original pictures, or why it cannot take them.

    One evaluation for each picture, before the audit's thirty or so.
    """
    originals = images.with_frame(Whole())
    shape = originals.place(int(rows[0]), 0).shape
    size = getattr(scorer, "input_size", (None, None))
    if None not in size and tuple(size) != shape[:2]:
        return f"the model wants {size[0]} x {size[1]} pixels, and the originals have {shape[0]} x {shape[1]}"
    batches = _scored(scorer, originals, rows, batch_size)
    try:
        first = next(batches)
    except _SizesError:
        return "the originals differ in size"
    except InputError as error:  # of their size, most often, but whoever reads on shall see
        reason = str(error).removesuffix(".")
        return f"the model does not take the originals' {shape[0]} x {shape[1]} pixels: {reason}"
    try:
        told = f"{label}: original pictures"
        return _read(scorer, originals, chain([first], batches), len(rows), told, progress)
    except _SizesError:
        return "the originals differ in size"


def centre_answers(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
) -> Answers:
    """What a model says to the pictures in the centre of their frame, one evaluation for each."""
    batches = _scored(scorer, images, rows, batch_size)
    return _read(scorer, images, batches, len(rows), f"{label}: untouched pictures", progress)


class _SizesError(InputError):
    """Pictures of several sizes do not fit into one batch."""


_Batch = tuple[NDArray[np.intp], NDArray[Any]]  # which pictures, and their logits


def _scored(scorer: Scorer, images: LabelledImages, rows: NDArray[np.intp], batch_size: int) -> Iterator[_Batch]:
    shape: tuple[int, ...] | None = None
    for start in range(0, len(rows), batch_size):
        part = rows[start : start + batch_size]
        pictures = [images.canvas(int(i), 0, scorer.layout) for i in part]
        shape = shape or pictures[0].shape
        if any(picture.shape != shape for picture in pictures):
            raise _SizesError("the pictures differ in size; use `resize` and `crop`.")
        yield part, score_batch(scorer, filled(np.stack(pictures), batch_size))[: len(part)]


def _read(
    scorer: Scorer, images: LabelledImages, batches: Iterable[_Batch], n: int, label: str, progress: bool
) -> Answers:
    absent = getattr(scorer, "absent_classes", ())
    parts = []
    with plain_bar(n, label, unit="pictures", shown=progress) as bar:
        for rows, logits in batches:
            excess = excess_scores(logits, images.labels[rows], [images.ids[i] for i in rows])
            parts.append(answers_of(logits, images.labels[rows], excess, absent=absent))
            bar.update(len(rows))
    return joined(parts)


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
