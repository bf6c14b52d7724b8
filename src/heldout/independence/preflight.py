"""Before anything is moved: does the model do on these pictures what its owner thinks it does?

Wrong preprocessing is the commonest failure, and it would give a confident wrong p-value.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.orbit import Rule, Translations
from heldout.scorers import Scorer
from heldout.scorers.batches import check_input, excess_scores, score_batch

SAMPLE = 1000  # pictures whose plain accuracy is looked at, unless an exact accuracy is expected
REPEATED = 64  # pictures that are scored twice


@dataclass(frozen=True)
class Preflight:
    """What the look before the audit found."""

    accuracy: float
    n_scored: int
    n_classes: int
    evaluations_per_second: float
    answers: str  # a hash of the first logits: tells models apart that look the same from outside
    expected_evaluations: int  # of the whole audit of this set

    def __str__(self) -> str:
        duration = self.expected_evaluations / self.evaluations_per_second
        return (
            f"plain accuracy {100 * self.accuracy:.2f} % on {self.n_scored:,} pictures; the audit will take about "
            f"{self.expected_evaluations:,} evaluations, about {seconds(duration)} at "
            f"{self.evaluations_per_second:,.0f} a second"
        )


def preflight(
    scorer: Scorer,
    images: LabelledImages,
    indices: NDArray[np.intp],
    *,
    orbit: Translations,
    batch_size: int,
    rng: np.random.Generator,
    expect_accuracy: float | str | None = None,
    allow_chance: bool = False,
) -> Preflight:
    """Check shapes, classes, repeatability and accuracy of one model; InputError says what is wrong."""
    check_input(scorer, images.place(int(indices[0]), 0).shape)
    if expect_accuracy is not None:
        _check_share(expect_accuracy)
        looked_at = np.arange(len(images))
    else:
        looked_at = np.sort(rng.permutation(indices)[:SAMPLE])

    right = clearly_right = counted = n_classes = 0
    busy, first = 0.0, True  # seconds inside the model
    for start in range(0, len(looked_at), batch_size):
        rows = looked_at[start : start + batch_size]
        batch = np.stack([images.canvas(int(i), 0, scorer.layout) for i in rows])
        batch = np.concatenate([batch, np.repeat(batch[:1], batch_size - len(rows), axis=0)])
        started = time.perf_counter()
        logits = score_batch(scorer, batch)
        if not first:  # the first call pays for warming up
            busy, counted = busy + time.perf_counter() - started, counted + batch_size
        names = [images.ids[i] for i in rows]
        is_right = excess_scores(logits[: len(rows)], images.labels[rows], names) <= 0
        right += int(is_right.sum())
        tied = (logits[: len(rows)] == logits[: len(rows)].max(axis=1, keepdims=True)).sum(axis=1) > 1
        clearly_right += int((is_right & ~tied).sum())
        if first:
            n_classes = logits.shape[1]
            _check_classes(images, indices, n_classes)
            answers = hashlib.sha256(np.ascontiguousarray(logits).tobytes()).hexdigest()[:16]
            _check_repeatable(scorer, batch, logits)
            first = False
    if not counted:  # a single batch: time it once more
        started = time.perf_counter()
        score_batch(scorer, batch)
        busy, counted = time.perf_counter() - started, batch_size
    speed = counted / max(busy, 1e-9)
    accuracy = right / len(looked_at)
    labels = images.labels[looked_at]
    _check_accuracy(accuracy, clearly_right, labels, n_classes, expect_accuracy, allow_chance)
    r = orbit.radius
    per_image = accuracy * (2 * r + 1) ** 2 + (1 - accuracy) * (4 * r + 1) ** 2
    return Preflight(accuracy, len(looked_at), n_classes, speed, answers, math.ceil(per_image * len(indices)))


def check_room(images: LabelledImages, indices: NDArray[np.intp], orbit: Translations, rule: Rule) -> None:
    """Every picture of a set must leave the margin that the moves need."""
    margin = orbit.margin(rule)
    known = list(images.source.shapes(indices))
    first, others = known[0], [item for item in known if item[1] != known[0][1]]
    if images.frame.wraps and others:
        raise InputError(
            f"pictures differ in size ({images.ids[first[0]]} is {first[1][0]} x {first[1][1]}, "
            f"{images.ids[others[0][0]]} is {others[0][1][0]} x {others[0][1][1]}), so they cannot be turned "
            "cyclically; use --resize and --crop."
        )
    index, shape = min(known, key=lambda item: images.frame.room(item[1]))
    room = images.frame.room(shape)
    if room < margin:
        fits = int(max(room, 0) * orbit.radius // margin)
        raise InputError(
            f"radius {orbit.radius} with rule {rule!r} needs a margin of {margin} pixels on each side, but picture "
            f"{images.ids[index]} ({shape[0]} x {shape[1]}) leaves {int(room)} around its crop; "
            + (f"the largest radius that fits is {fits}." if fits else f"no radius fits. {_more_room(images, margin)}")
        )


def _more_room(images: LabelledImages, margin: int) -> str:
    size = getattr(images.frame, "size", None)
    return "Wrap instead." if size is None else f"Resize or upsample to {size + 2 * margin} pixels or more, or wrap."


def _check_classes(images: LabelledImages, indices: NDArray[np.intp], n_classes: int) -> None:
    """Of every picture, not only of those looked at: a wrong label must not end an audit after hours."""
    names = images.source.class_names
    if getattr(images.source, "numbered_by_name", False) and names is not None and len(names) != n_classes:
        raise InputError(
            f"the pictures are of {len(names)} named classes, but the model knows {n_classes}, so that their numbers "
            "need not agree; give a CSV of file names and class numbers with --labels."
        )
    worst = int(indices[np.argmax(images.labels[indices])])
    if images.labels[worst] >= n_classes:
        raise InputError(
            f"the model knows {n_classes} classes, but picture {images.ids[worst]} has label "
            f"{int(images.labels[worst])} (classes count from 0)."
        )


def _check_share(expected: float | str) -> None:
    try:
        valid = 0 < float(expected) <= 1
    except ValueError:
        valid = False
    if not valid:
        raise InputError(f"the expected accuracy is {expected}; give a share such as 0.917.")


def _check_repeatable(scorer: Scorer, batch: NDArray[np.float32], logits: NDArray[Any]) -> None:
    """The same input must get the same answer, in the same batch and in another one."""
    again = score_batch(scorer, batch)
    if not np.array_equal(logits, again, equal_nan=True):
        raise InputError(
            "the model answers the same batch differently the second time (largest difference "
            f"{np.abs(logits - again).max():.3g}); switch dropout and random augmentation off."
        )
    turned = score_batch(scorer, np.ascontiguousarray(batch[::-1]))[::-1][:REPEATED]
    size = float(np.abs(logits).max())
    if np.abs(turned - logits[:REPEATED]).max() > 1e-2 * size + 1e-6:
        raise InputError(
            "the model's answer to a picture depends on the other pictures in the batch (difference "
            f"{np.abs(turned - logits[:REPEATED]).max():.3g}); switch batch statistics off (eval mode)."
        )


def _check_accuracy(
    accuracy: float,
    clearly_right: int,
    labels: NDArray[np.int64],
    n_classes: int,
    expected: float | str | None,
    allow_chance: bool,
) -> None:
    causes = (
        "Likely causes: mean and std (--mean, --std, --scale), channel order (--bgr), crop or resize, "
        "or labels numbered in another order."
    )
    if expected is not None:
        digits = len(str(expected).partition(".")[2])  # as typed: 0.90 asks for more than 0.9
        if abs(accuracy - float(expected)) > 0.5 * 10**-digits + 1e-12:
            raise InputError(
                f"the plain accuracy is {accuracy:.4f}, but {expected} was expected. {causes} Nothing was audited."
            )
        return
    commonest = float(np.bincount(labels).max() / len(labels))
    chance = commonest if commonest < 1.0 else 1.0 / n_classes
    # A tied top logit counts as right, so a model that answers the same everywhere would look perfect.
    near = binomtest(clearly_right, len(labels), chance, alternative="greater").pvalue > 0.001
    if near and not allow_chance and len(labels) >= 20:
        raise InputError(
            f"the plain accuracy is {100 * clearly_right / len(labels):.1f} % on {len(labels)} pictures (ties not "
            f"counted), not reliably better than always naming the commonest class ({100 * chance:.1f} %). {causes} "
            "If the model really is that weak, --allow-chance goes on."
        )


def seconds(duration: float) -> str:
    """A duration for people.

    Examples
    --------
    >>> seconds(42), seconds(600), seconds(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if duration < 1:
        return "a second"
    if duration < 90:
        return f"{duration:.0f} s"
    minutes = round(duration / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
