"""What a model answers to untouched pictures, as it is used in life, where the frame's centre is something else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages, Whole
from heldout.progress import plain_bar
from heldout.scorers import Scorer
from heldout.scorers.batches import excess_scores, filled, score_batch

ORIGINAL, CENTRE = "original picture", "centre of the frame"


def original_scores(
    scorer: Scorer,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | str:
    """Excess scores of the original pictures and whether their top logit is tied, or why the model cannot take them.

    One evaluation for each picture, before the audit's thirty or so.
    """
    originals = images.with_frame(Whole())
    shape = originals.place(int(rows[0]), 0).shape
    size = getattr(scorer, "input_size", (None, None))
    if None not in size and tuple(size) != shape[:2]:
        return f"the model wants {size[0]} x {size[1]} pixels, and the originals have {shape[0]} x {shape[1]}"
    scores, tied = [], []
    first: tuple[int, ...] = ()
    with plain_bar(len(rows), f"{label}: original pictures", unit="pictures", shown=progress) as bar:
        for start in range(0, len(rows), batch_size):
            part = rows[start : start + batch_size]
            pictures = [originals.canvas(int(i), 0, scorer.layout) for i in part]
            first = pictures[0].shape if start == 0 else first
            if any(picture.shape != first for picture in pictures):
                return "the originals differ in size"
            batch = filled(np.stack(pictures), batch_size)
            try:
                logits = score_batch(scorer, batch)[: len(part)]
            except InputError as error:  # of their size, most often, but whoever reads on shall see
                if start > 0:
                    raise
                reason = str(error).removesuffix(".")
                return f"the model does not take the originals' {shape[0]} x {shape[1]} pixels: {reason}"
            scores.append(excess_scores(logits, images.labels[part], [images.ids[i] for i in part]))
            tied.append(top_is_tied(logits))
            bar.update(len(part))
    return np.concatenate(scores), np.concatenate(tied)


def top_is_tied(logits: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether more than one label has the highest score: such an answer counts as right, but not as clearly right."""
    return np.asarray((logits == logits.max(axis=1, keepdims=True)).sum(axis=1) > 1)
