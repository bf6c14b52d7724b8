"""Before anything is moved: does the model do on these pictures what its owner thinks it does?

Wrong preprocessing is the commonest failure, and it would give a confident wrong p-value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Arrays, CheckpointFolder, hash_of
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.independence.margins import Answers, top_is_tied
from heldout.independence.precision import InFloat32
from heldout.independence.untouched import original_answers
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit
from heldout.scorers import Scorer
from heldout.scorers.arrays import Array
from heldout.scorers.batches import OutOfMemoryError, check_input, excess_scores, with_batches_that_fit
from heldout.scorers.showing import Showing, showing_for

SAMPLE = 1000  # pictures of a set whose accuracy is looked at, unless an exact accuracy is expected
REPEATED = 64  # pictures that are scored twice


@dataclass(frozen=True)
class Preflight:
    """What the look before the audit found, of one model and one set."""

    looked_at: NDArray[np.intp]  # pictures, by their place in the set
    labels: NDArray[np.int64]  # of these
    right: NDArray[np.bool_]  # in the frame's centre
    clearly_right: NDArray[np.bool_]  # ties not counted
    untouched_right: NDArray[np.bool_]
    untouched_clearly_right: NDArray[np.bool_]
    originals: Answers | None  # to all audited pictures; None where the frame's centre is untouched
    note: str | None  # why originals were not looked at although the frame's centre is not the original
    extra_evaluations: int  # spent on original pictures
    n_classes: int
    evaluations_per_second: float
    answers: str  # a hash of the first logits: tells models apart that look the same from outside
    expected_evaluations: int  # of the whole audit of this set
    in_float32: InFloat32 | None = None  # None where that is what the model runs in, as far as can be told

    @property
    def original_losses(self) -> NDArray[np.float64] | None:
        """On the original pictures."""
        return None if self.originals is None else self.originals.losses

    @property
    def accuracy(self) -> float:
        """In the frame's centre."""
        return float(self.right.mean())

    @property
    def untouched_accuracy(self) -> float:
        """As the model is used in life."""
        return float(self.untouched_right.mean())

    def __str__(self) -> str:
        duration = self.expected_evaluations / self.evaluations_per_second
        same = "" if self.originals is not None else f" ({self.note or 'its centre is the untouched picture'})"
        untouched, in_frame = 100 * self.untouched_accuracy, 100 * self.accuracy
        others = ""
        if self.in_float32 is not None:
            others = f", of which {self.in_float32.other_class:,} would be answered differently in plain float32"
        return (
            f"accuracy {untouched:.2f} % untouched, {in_frame:.2f} % in the frame{same}, on {len(self.right):,} "
            f"pictures{others}; the audit will take about {self.expected_evaluations:,} evaluations, about "
            f"{seconds(duration)} at {self.evaluations_per_second:,.0f} a second"
        )


def looked_at(
    sizes: dict[str, NDArray[np.intp]], whole: dict[str, int], rng: np.random.Generator
) -> dict[str, NDArray[np.intp]]:
    """Which pictures of each set are looked at: the same share of each, at random; all of the sets in `whole`.

    With equal shares the pooled accuracy says nothing about the difference between test and control, so that
    stopping on it does not select audits by their outcome.
    """
    share = min(1.0, SAMPLE * len(sizes) / sum(len(rows) for rows in sizes.values()))
    return {
        name: np.arange(whole[name])
        if name in whole
        else np.sort(rng.permutation(rows)[: math.ceil(share * len(rows))])
        for name, rows in sizes.items()
    }


def preflight(
    scorer: Scorer,
    images: LabelledImages,
    indices: NDArray[np.intp],
    looked_at: NDArray[np.intp],
    *,
    orbit: PictureOrbit,
    batch_size: int,
    label: str,
    progress: bool = False,
    checkpoints: CheckpointFolder | None = None,
    count_float32: bool = True,
    tell: Callable[[], None] | None = None,
) -> Preflight:
    """Check shapes, classes and repeatability of one model, and see what it gets right.

    The first batch is scored in every run: what it answers is part of the fingerprint of all that is kept. A model in
    bfloat16 or tf32, or a compiled one, is asked once more in plain float32, unless `count_float32` is False. `tell` is
    called before each batch, and may raise where the work is no longer wanted.
    """
    check_input(scorer, images.place(int(indices[0]), 0).shape)
    showing = showing_for(scorer, images, batch_size=batch_size)
    batch = _put(showing, images, looked_at[:batch_size])
    logits = showing.logits(batch)  # untimed: the first call pays for warming up
    first = _judged(images, looked_at[:batch_size], logits)
    _check_classes(images, indices, logits.shape[1])
    answers = hash_of(logits)
    _check_repeatable(showing, batch, logits, len(looked_at[:batch_size]))
    timed = _Timed(showing, batch_size)

    def score(start: int, stop: int) -> dict[str, NDArray[Any]]:
        if tell is not None:
            tell()
        if start == 0:
            return first
        rows = looked_at[start:stop]
        return _judged(images, rows, timed.logits(_put(showing, images, rows)))

    kept = checkpoints or CheckpointFolder()
    looks = kept.file(f"look-{hash_of(looked_at)}", answers=answers).rows(len(looked_at), batch_size, score)
    if not timed.evaluations:  # a single batch: time it once more
        timed.logits(batch)
    in_float32 = None
    plain = getattr(scorer, "plain", lambda: None)() if count_float32 else None
    if plain is not None:
        again = _asked_again(
            plain, images, looked_at, batch_size=batch_size, answers=answers, checkpoints=kept, tell=tell
        )
        in_float32 = _differences(looks, again)
    untouched = _Untouched(looks["right"], looks["clearly"])
    if not images.frame.centre_is_untouched:
        rows = np.union1d(looked_at, indices)
        found = original_answers(
            scorer,
            images,
            rows,
            batch_size=batch_size,
            label=label,
            progress=progress,
            checkpoint=kept.file(f"originals-{hash_of(rows)}", answers=answers),
            tell=tell,
        )
        if isinstance(found, str):
            untouched = untouched._replace(note=f"taken for untouched, since {found}")
        else:
            untouched = _on_originals(found, rows, looked_at=looked_at, indices=indices)
    return Preflight(
        looked_at=looked_at,
        labels=images.labels[looked_at],
        right=looks["right"],
        clearly_right=looks["clearly"],
        untouched_right=untouched.right,
        untouched_clearly_right=untouched.clearly_right,
        originals=untouched.originals,
        note=untouched.note,
        extra_evaluations=0 if untouched.originals is None else len(indices),
        n_classes=logits.shape[1],
        evaluations_per_second=timed.per_second,
        answers=answers,
        expected_evaluations=_expected_evaluations(orbit, float(looks["right"].mean()), len(indices)),
        in_float32=in_float32,
    )


class _Timed:
    """How fast a model is: evaluations, places that fill a batch up among them, and seconds inside the model."""

    def __init__(self, showing: Showing, batch_size: int) -> None:
        self._showing, self._batch_size = showing, batch_size
        self.evaluations, self._busy = 0, 0.0

    def logits(self, batch: Array) -> NDArray[Any]:
        started = time.perf_counter()
        found = self._showing.logits(batch)
        self._busy += time.perf_counter() - started
        self.evaluations += self._batch_size
        return found

    @property
    def per_second(self) -> float:
        return self.evaluations / max(self._busy, 1e-9)


class _Untouched(NamedTuple):
    """What a model makes of the untouched pictures among those looked at; the fields are those of `Preflight`."""

    right: NDArray[np.bool_]
    clearly_right: NDArray[np.bool_]
    originals: Answers | None = None
    note: str | None = None


def _on_originals(
    found: Answers, rows: NDArray[np.intp], *, looked_at: NDArray[np.intp], indices: NDArray[np.intp]
) -> _Untouched:
    """Where a model takes originals, from what it says to those of `rows`: all that are looked at or audited."""
    here = found.of(np.searchsorted(rows, looked_at))
    right = here.excess <= 0
    return _Untouched(right, right & ~here.tied, originals=found.of(np.searchsorted(rows, indices)))


def _expected_evaluations(orbit: PictureOrbit, accuracy: float, n_pictures: int) -> int:
    """Of an audit: in every view, shifts up to the radius of a picture that is right, up to twice that of a wrong one.

    Examples
    --------
    >>> from heldout import Translations
    >>> _expected_evaluations(Translations(1), 0.5, 10)  # 9 of each and 25
    170
    """
    within, around = (2 * orbit.radius + 1) ** 2, (4 * orbit.radius + 1) ** 2
    views = (len(orbit) + 1) // within
    return math.ceil(views * (accuracy * within + (1 - accuracy) * around) * n_pictures)


def _differences(looks: Arrays, again: Arrays) -> InFloat32:
    """How many pictures a model answers otherwise in plain float32."""
    return InFloat32(
        pictures=len(looks["right"]),
        other_class=int((again["predicted"] != looks["predicted"]).sum()),
        right_or_wrong=int((again["right"] != looks["right"]).sum()),
    )


def _asked_again(
    plain: Scorer,
    images: LabelledImages,
    looked_at: NDArray[np.intp],
    *,
    batch_size: int,
    answers: str,
    checkpoints: CheckpointFolder,
    tell: Callable[[], None] | None,
) -> Arrays:
    """What the model says in plain float32, which takes more memory: in batches of its own, where these do not fit."""

    def ask(size: int) -> Arrays:
        showing = showing_for(plain, images, batch_size=size)

        def score(start: int, stop: int) -> dict[str, NDArray[Any]]:
            if tell is not None:
                tell()
            rows = looked_at[start:stop]
            return _judged(images, rows, showing.logits(_put(showing, images, rows)))

        kept = checkpoints.file(f"float32-{size}-{hash_of(looked_at)}", answers=answers, batch_size=size)
        return kept.rows(len(looked_at), size, score)

    try:
        return with_batches_that_fit(ask, batch_size, lambda smaller: None, scorer=plain)
    except OutOfMemoryError as error:  # for which the audit's batches need not be smaller
        raise InputError(f"in float32, where answers are compared, {error}") from error


def _put(showing: Showing, images: LabelledImages, rows: NDArray[np.intp]) -> Array:
    """A batch of these pictures."""
    pixels = images.place_many(rows, 0)
    return showing.put(pixels, counts=pixels.dtype == np.uint8)


def _judged(images: LabelledImages, rows: NDArray[np.intp], logits: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What a model makes of these pictures, the first ones of a batch."""
    names, here = [images.ids[i] for i in rows], logits[: len(rows)]
    right = excess_scores(here, images.labels[rows], names) <= 0
    return {"right": right, "clearly": right & ~top_is_tied(here), "predicted": here.argmax(axis=1)}


def check_room(images: LabelledImages, indices: NDArray[np.intp], orbit: PictureOrbit, rule: Rule) -> None:
    """Every picture of a set must leave the margin that the moves need."""
    margin = orbit.margin(rule)
    known = list(images.source.shapes(indices))
    first, others = known[0], [item for item in known if item[1] != known[0][1]]
    if images.frame.one_size and others:
        what = "turned cyclically" if images.frame.wraps else "padded to one size" if margin else "taken whole"
        raise InputError(
            f"pictures differ in size ({images.ids[first[0]]} is {first[1][0]} x {first[1][1]}, "
            f"{images.ids[others[0][0]]} is {others[0][1][0]} x {others[0][1][1]}), so they cannot be {what}; "
            "use `resize` and `crop`."
        )
    index, shape = min(known, key=lambda item: min(item[1]))
    largest = (min(shape) - 1) // 2 if images.frame.wraps else min(shape) - 1  # a longer cyclic shift is another one
    if images.frame.one_size and orbit.radius > largest:
        raise InputError(
            f"`radius` is {orbit.radius:,}, but picture {images.ids[index]} is {shape[0]} x {shape[1]}; the largest "
            f"radius that fits is {largest}."
        )
    index, shape = min(known, key=lambda item: images.frame.room(item[1]))
    room = images.frame.room(shape)
    height, width = images.place(index, 0).shape[:2] if room >= 0 or not margin else (1, 1)
    orbit.check_shape((height, width))
    if room < margin:
        fits = int(max(room, 0) * orbit.radius // margin)
        raise InputError(
            f"radius {orbit.radius} with rule {rule!r} needs a margin of {margin} pixels on each side, but picture "
            f"{images.ids[index]} ({shape[0]} x {shape[1]}) leaves {int(room)} around its crop; "
            + (f"the largest radius that fits is {fits}." if fits else f"no radius fits. {_more_room(images, margin)}")
        )


def _more_room(images: LabelledImages, margin: int) -> str:
    size = getattr(images.frame, "size", None)
    return "Pad or wrap instead." if size is None else f"Resize to {size + 2 * margin} pixels or more, pad or wrap."


def _check_classes(images: LabelledImages, indices: NDArray[np.intp], n_classes: int) -> None:
    """Of every picture, not only of those looked at: a wrong label must not end an audit after hours."""
    names = images.source.class_names
    if getattr(images.source, "numbered_by_name", False) and names is not None and len(names) != n_classes:
        raise InputError(
            f"the pictures are of {len(names)} named classes, but the model knows {n_classes}, so that their numbers "
            "need not agree; give a CSV of file names and class numbers (`labels`)."
        )
    worst = int(indices[np.argmax(images.labels[indices])])
    if images.labels[worst] >= n_classes:
        raise InputError(
            f"the model knows {n_classes} classes, but picture {images.ids[worst]} has label "
            f"{int(images.labels[worst])} (classes count from 0)."
        )


def _check_repeatable(showing: Showing, batch: Array, logits: NDArray[Any], n: int) -> None:
    """The same input must get the same answer, in the same batch and in another one; n pictures fill the batch."""
    again = showing.logits(batch)
    if not np.array_equal(logits, again, equal_nan=True):
        raise InputError(
            "the model answers the same batch differently the second time (largest difference "
            f"{np.abs(logits - again).max():.3g}); switch dropout and random augmentation off."
        )
    # The first half once more, in other places, and with copies of one picture for company, which is not the one that
    # fills batches up: to a model in eval mode that is nothing, to batch statistics another batch.
    half = (len(batch) + 1) // 2
    order = np.arange(len(batch))[::-1]
    others = showing.logits(batch[showing.arrays.put(np.where(order < half, order, n - 1))])[::-1][:half]
    apart = float(np.abs(others - logits[:half])[:REPEATED].max())
    if apart > 1e-2 * float(np.abs(logits).max()) + 1e-6:
        raise InputError(
            f"the model's answer to a picture depends on the other pictures in the batch (difference {apart:.3g}); "
            "switch batch statistics off (eval mode)."
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
