"""Before anything is moved: does the model do on these pictures what its owner thinks it does?

Wrong preprocessing is the commonest failure, and it would give a confident wrong p-value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

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
from heldout.statistics.binomial import sign_test_log_pvalue, upper_tail

SAMPLE = 1000  # pictures of a set whose accuracy is looked at, unless an exact accuracy is expected
REPEATED = 64  # pictures that are scored twice
CHANCE_LEVEL = 0.001  # p-value from which an accuracy is taken for chance, and a test set for worse than its control
DROP, DROP_LEVEL = 0.02, 0.001  # accuracy that a frame may cost, and the p-value from which it is taken for chance
CAUSES = (
    "Likely causes: mean and std (`mean`, `std`, `scale`), channel order (`bgr`), crop or resize, "
    "or labels numbered in another order."
)


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


def check_looks(
    looks: dict[str, Preflight],
    *,
    expect_accuracy: float | str | None = None,
    allow_chance: bool = False,
    allow_frame_drop: bool = False,
    shifted: bool = True,
) -> None:
    """Stop where a model is not what its owner thinks, or the frame shows it what it was not made for.

    Test set and control are looked at together. A model that knows its test set by heart may be at chance on the
    control, which is the finding; and stopping on the test set alone would select: of 2,500 audits of a weak, honest
    model 2,350 were stopped, and 13 % of the rest raised a false alarm at level 0.05. So one at chance on the test set
    alone is stopped only where it is far better on the control, which happens to an honest one in a thousand at most.

    Parameters
    ----------
    looks : dict of Preflight
        Of one model: "test", and "control" where there is one.
    expect_accuracy : float or str, optional
        Accuracy on the untouched pictures of the whole test set. A model that is better in an enlarging frame was
        made for that: then the frame's counts.
    shifted : bool
        Whether pictures are shifted, for which they need a frame.
    """
    if expect_accuracy is not None:
        _check_expected(looks["test"], expect_accuracy)
    elif not allow_chance:
        _check_better_than_chance(looks)
    if not allow_frame_drop:
        _check_frame_drop(looks, shifted=shifted)


def _check_expected(look: Preflight, expected: float | str) -> None:
    digits = len(str(expected).partition(".")[2])  # as typed: 0.90 asks for more than 0.9
    accuracy = max(look.untouched_accuracy, look.accuracy)
    if abs(accuracy - float(expected)) > 0.5 * 10**-digits + 1e-12:
        frame = f" ({look.accuracy:.4f} in the frame)" if look.originals is not None else ""
        raise InputError(
            f"the untouched accuracy is {look.untouched_accuracy:.4f}{frame}, but {expected} was expected. {CAUSES} "
            "Nothing was audited."
        )


def _check_better_than_chance(looks: dict[str, Preflight]) -> None:
    if weak := near_chance(list(looks.values())):
        raise InputError(
            f"the untouched accuracy is {weak}. {CAUSES} If the model really is that weak, go on with "
            "`allow_chance=True`."
        )
    test, control = looks.get("test"), looks.get("control")
    if test and control and (weak := near_chance([test])) and _is_worse(test, control):
        raise InputError(
            f"the untouched accuracy is {weak} of the test set, but {100 * control.untouched_accuracy:.1f} % "
            "on the control. Likely causes: pictures of the test set that are decoded, scaled, cropped or turned in "
            "another way, or labels numbered in another order. If the model really is that weak on the test set, go on "
            "with `allow_chance=True`."
        )


def _is_worse(test: Preflight, control: Preflight) -> bool:
    """Whether a model does worse on the test set than on the control, by more than chance (Fisher's exact test)."""
    right, n = _clearly_right([test]), len(test.labels)
    both, total = right + _clearly_right([control]), n + len(control.labels)
    return float(hypergeom.cdf(right, total, both, n)) <= CHANCE_LEVEL


def at_chance(looks: Sequence[dict[str, Preflight]]) -> tuple[str, ...]:
    """Sets on which any of the models, each with its looks, is not reliably better than chance."""
    return tuple(name for name in looks[0] if any(near_chance([of[name]]) is not None for of in looks))


def near_chance(looks: list[Preflight]) -> str | None:
    """A model's accuracy on untouched pictures of all sets, where it is not reliably better than chance; else None."""
    labels = np.concatenate([look.labels for look in looks])
    commonest = float(np.bincount(labels).max() / len(labels))
    chance = commonest if commonest < 1.0 else 1.0 / looks[0].n_classes
    clearly_right = _clearly_right(looks)
    near = upper_tail(clearly_right, len(labels), chance) > CHANCE_LEVEL
    if not near or len(labels) < 20:
        return None
    of = "pictures of test set and control" if len(looks) > 1 else "pictures"
    return (
        f"{100 * clearly_right / len(labels):.1f} % on {len(labels):,} {of} (ties not counted), not reliably better "
        f"than always naming the commonest class ({100 * chance:.1f} %)"
    )


def _clearly_right(looks: list[Preflight]) -> int:
    """A tied top logit counts as right, so a model that answers the same everywhere would look perfect."""
    return max(
        sum(int(look.untouched_clearly_right.sum()) for look in looks),
        sum(int(look.clearly_right.sum()) for look in looks),  # where the model was made for enlarged pictures
    )


def _check_frame_drop(looks: dict[str, Preflight], *, shifted: bool) -> None:
    broken = sum(int((look.untouched_right & ~look.right).sum()) for look in looks.values())
    mended = sum(int((~look.untouched_right & look.right).sum()) for look in looks.values())
    n = sum(len(look.right) for look in looks.values())
    p = math.exp(sign_test_log_pvalue(broken, mended))
    if p >= DROP_LEVEL or broken - mended <= DROP * n:
        return
    each = ", ".join(
        f"{name} {100 * look.untouched_accuracy:.1f} and {100 * look.accuracy:.1f} %" for name, look in looks.items()
    )
    whole = [
        100 * sum(int(getattr(look, w).sum()) for look in looks.values()) / n for w in ("untouched_right", "right")
    ]
    way_out = "Nothing is shifted with this orbit, so that pictures need no room: leave `upsample` out"
    if shifted:
        way_out = (
            "For models of small pictures use `pad='reflect'` (with `control`), which leaves the untouched picture in "
            "the middle"
        )
    raise InputError(
        f"the model is right on {whole[0]:.1f} % of the untouched pictures, but on {whole[1]:.1f} % in the frame "
        f"({each}; {n:,} pictures, McNemar's exact p = {p:.2g}): the frame shows it something it was not made for, and "
        "what it knows by heart would go unseen. Likely causes: `upsample` zooms, and the model was trained on "
        f"pictures of their own size, or on another enlargement. {way_out}; `allow_frame_drop=True` goes on with this "
        "frame."
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
