"""A finished model on its training pictures, which are perturbed more and more."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from heldout.checkpoints import Checkpoint, CheckpointFolder, hash_of
from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.images import LabelledImages, Whole, from_arrays
from heldout.images.labelled import check_scale
from heldout.memorization.curve import Curve, Exhibits
from heldout.memorization.perturb import Perturbation, View, as_perturbation, usual_strengths
from heldout.memorization.perturb.base import Standing
from heldout.progress import plain_bar
from heldout.scorers import Scorer, as_scorer
from heldout.scorers.arrays import Array
from heldout.scorers.base import precision_of
from heldout.scorers.batches import check_input, memory_told, smaller_batches_text, with_batches_that_fit
from heldout.scorers.showing import showing_for
from heldout.scorers.ways import settle_ways, way_of, ways_file

BLOCK = 64  # pictures held at once at least, if they are small
HELD = 2**25  # pixel values held at once
SAMPLE = 200  # pictures on which a model is tried untouched
SPAN = 0.02  # share of the declared range that pixels must fill at least
SHOWN = 4  # examples kept as pictures
SIDE = 96  # their longer side at most
Found = TypeVar("Found")


def perturbation_curve(
    scorer: Any,
    images: LabelledImages | tuple[ArrayLike, ArrayLike],
    perturbation: Any,
    strengths: Sequence[float] | None = None,
    *,
    name: str | None = None,
    pixel_range: tuple[float, float] | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    groups: ArrayLike | None = None,
    allow_chance: bool = False,
    checkpoint: str | Path | None = None,
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
) -> Curve:
    """Accuracy of a finished model on its training pictures as these are perturbed more and more.

    Parameters
    ----------
    scorer
        As in `heldout.audit`: a scorer, an .onnx path, a torch module, a fitted scikit-learn classifier, a function.
    images : LabelledImages, or (pictures, labels)
        The training set, or a part of it. Pictures alone, (n, height, width[, channels]), go to the model as they are,
        uint8 ones divided by 255.
    perturbation : str, function or `Perturbation`
        "spatial", "spatial-random", "gaussian", "fgsm", one of the fifteen corruptions ("fog", ...), or a function of
        (pictures, strength, generator).
    strengths : sequence of float, optional
        Beginning with 0 and growing; equally far apart, or k_max and SSE have no meaning. Default: `usual_strengths`.
    name : str, optional
        What the model is called; its own name without.
    pixel_range : (low, high), optional
        Of raw pixels. uint8 pixels run from 0 to 255; of floats nobody can know, so it must be said.
    limit : int, optional
        Use a random subset of this size (seeded).
    seed : int
        Of the subset and of random perturbations.
    batch_size : int, optional
        Pictures that the model is given at once; its own choice without. Halved where the device runs out of memory.
    groups : (n,) text or whole numbers, optional
        The group of each picture, where pictures depend on each other (frames of a video, crops of a patient), by
        default those of `images`; intervals and comparisons then are for groups drawn anew.
    allow_chance : bool
        Go on although the model is no better than chance on untouched pictures, which most often means that they
        reach it in the wrong scale.
    checkpoint : path, optional
        File in which unfinished work is kept, and looked for; one that is damaged, or belongs to another curve, is
        refused. Of a model that is a function the name and its first answers are compared, of a perturbation the code.
    notify : function of a sentence, optional
        Told where batches have to be smaller, and which way to run the model was found fastest.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Curve
        Accuracy at every strength, with its bands and metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import perturbation_curve
    >>> x = np.random.default_rng(0).random((60, 8, 8))
    >>> y = (x[:, :, 4:].mean((1, 2)) > x[:, :, :4].mean((1, 2))).astype(int)
    >>> def halves(batch):
    ...     return np.stack([batch[..., :4].mean((1, 2, 3)), batch[..., 4:].mean((1, 2, 3))], axis=1)
    >>> curve = perturbation_curve(halves, (x, y), "gaussian", [0, 20, 40], pixel_range=(0, 1))
    >>> curve.accuracy.round(2).tolist()
    [1.0, 0.88, 0.83]
    """
    model = as_scorer(scorer)
    pictures = images if isinstance(images, LabelledImages) else LabelledImages(from_arrays(*images), Whole())
    way = as_perturbation(perturbation)
    levels = check_strengths(usual_strengths(way) if strengths is None else strengths)
    way.check(model, levels)
    rows = subset(len(pictures), limit, seed)
    codes = None
    given = pictures.groups if groups is None else groups
    if given is not None:
        codes = np.unique(group_codes(given, len(pictures))[rows], return_inverse=True)[1].astype(np.intp)
    check_scale(pictures, "the training set", rows)
    low, high, counts = declared_range(pictures, int(rows[0]), pixel_range)
    whole = batch_size or model.batch_size
    folder = CheckpointFolder(None if checkpoint is None else Path(checkpoint).parent, of="curve")
    chosen = ways_file(folder, [model], f"{Path(checkpoint or '').stem}.way")
    choice = settle_ways([model], pictures, batch_size=batch_size, kept=chosen, say=notify or (lambda sentence: None))

    def measured(size: int) -> Curve:
        def view(part: NDArray[np.intp]) -> View:
            pixels = read_pixels(pictures, part, low, high)
            return View(model, pictures, part, pixels, low, high, counts, seed, size)

        first = view(rows[:1])
        check_input(model, first.pixels.shape[1:])
        block = max(1, min(max(BLOCK, 2 * size), HELD // first.pixels[0].size))
        check_plain(model, view(rows[:SAMPLE]), allow_chance)
        if choice:
            chosen.save(choice)
        kept = shown = Checkpoint(None, {}, of="curve")
        if checkpoint is not None:
            first = view(rows[: min(size, block)])
            known = _fingerprint(model, pictures, way, levels, rows, (low, high), seed, size, first)
            path = _file(Path(checkpoint), size, whole)
            kept = Checkpoint(path, known, of="curve")
            shown = Checkpoint(path.with_suffix(".shown.npz"), known, of="curve")
        label = f"{name or model.name}, {way.name}"
        with plain_bar(len(rows) * len(levels), label, unit="pictures", shown=progress) as bar:
            correct = _measured(view, way, levels, rows, block, kept, bar)
        return Curve.of(
            model=name or model.name,
            perturbation=way.name,
            unit=way.unit,
            strengths=levels,
            correct=correct[:, None, :],
            done=np.ones((len(levels), 1), dtype=bool),
            even=way.even,
            seed=seed,
            exhibits=_exhibits(view, way, levels, correct, rows, shown),
            groups=codes,
            examples=examples_key(pictures, rows),
            precision=precision_of(model),
            batch_size=size,
            way=way_of(model),
        )

    return _with_batches_that_fit(model, measured, whole, notify)


def _with_batches_that_fit(
    model: Scorer, work: Callable[[int], Found], size: int, notify: Callable[[str], None] | None
) -> Found:
    """What `work` makes with batches of a size, or of a smaller one where the device runs out of memory; said once."""
    said = False

    def smaller(size: int) -> None:
        nonlocal said
        if not said and notify is not None:
            notify(smaller_batches_text(model.name, size))
        said = True

    def told(size: int) -> Found:
        with memory_told(model, (size,)):  # also where it is not the model that asks for too much
            return work(size)

    return with_batches_that_fit(told, size, smaller)


def _file(path: Path, size: int, whole: int) -> Path:
    """Where unfinished work is kept: beside what larger batches had begun, where these did not fit."""
    return path if size == whole else path.with_name(f"{path.stem}-{size}{path.suffix}")


def _measured(
    view: Callable[[NDArray[np.intp]], View],
    way: Perturbation,
    levels: NDArray[np.float64],
    rows: NDArray[np.intp],
    block: int,
    checkpoint: Checkpoint,
    bar: Any,
) -> NDArray[np.bool_]:
    """(strengths, n) whether the model is right, block by block of pictures, strength by strength.

    Kept are the finished blocks and strengths, and of the one at work what its search has settled and what the model
    answered since: a stop costs a batch, not a block.
    """
    n = len(rows)
    correct = np.zeros((len(levels), n), dtype=bool)
    stored = checkpoint.load()
    if stored is not None:
        try:
            correct[:] = np.unpackbits(stored.pop("correct"), axis=1)[:, :n].astype(bool)
            finished, level = int(stored["finished"]), int(stored["level"])
        except (KeyError, ValueError) as error:
            raise checkpoint.damaged(error) from error
        bar.resumed(finished * len(levels) + level * min(block, n - finished))

    def state() -> dict[str, NDArray[Any]]:
        return {"correct": np.packbits(correct, axis=1), **standing.arrays}

    standing = Standing(stored or {"finished": np.array(0), "level": np.array(0)}, lambda: checkpoint.keep(state))
    try:
        while (finished := int(standing.arrays["finished"])) < n:
            part = rows[finished : finished + block]
            here = replace(view(part), standing=standing)
            for i in range(int(standing.arrays["level"]), len(levels)):
                correct[i, finished : finished + len(part)] = way.right(here, float(levels[i]))
                standing.settle(level=np.array(i + 1))
                checkpoint.keep(state)
                bar.update(len(part))
            standing.restart(finished=np.array(finished + len(part)), level=np.array(0))
    finally:  # also where something stops it
        checkpoint.save(state())
    return correct


def examples_key(images: LabelledImages, rows: NDArray[np.intp]) -> str:
    """Equal for equal pictures in equal order, whatever scale each model wants them in."""
    text = images.source.digest() + json.dumps(images.frame.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode() + rows.astype(np.int64).tobytes()).hexdigest()[:16]


def answers(
    scorer: Any,
    images: LabelledImages,
    rows: NDArray[np.intp],
    *,
    batch_size: int | None = None,
    checkpoint: str | Path | None = None,
    label: str = "",
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
) -> NDArray[np.bool_]:
    """(n,) whether a model is right on untouched pictures; `checkpoint` and `notify` as in `perturbation_curve`."""
    model = as_scorer(scorer)
    whole = batch_size or model.batch_size

    def asked(size: int) -> NDArray[np.bool_]:
        showing = showing_for(model, images, batch_size=size)

        def batch(part: NDArray[np.intp]) -> Array:
            pixels = images.place_many(part, 0)
            return showing.put(pixels, counts=pixels.dtype == np.uint8)

        def right(start: int, stop: int) -> dict[str, NDArray[Any]]:
            part = rows[start:stop]
            return {"right": showing.told(showing.excess(batch(part), part), part) <= 0}

        known: dict[str, Any] = {}
        if checkpoint is not None:
            known = {
                "model": model.digest(),
                "answers": hash_of(showing.logits(batch(rows[:size]))),
                "pictures": images.digest(),
                **images.preprocessing(),
                "examples": hash_of(rows.astype(np.int64)),
                "batch_size": size,
            }
        path = None if checkpoint is None else _file(Path(checkpoint), size, whole)
        kept = Checkpoint(path, known, of="validation")
        with plain_bar(len(rows), f"{label or model.name}, validation", unit="pictures", shown=progress) as bar:
            return kept.rows(len(rows), size, right, bar=bar)["right"]

    return _with_batches_that_fit(model, asked, whole, notify)


def check_strengths(strengths: Sequence[float]) -> NDArray[np.float64]:
    """Strengths begin at 0 and grow."""
    levels = np.asarray(strengths, dtype=np.float64)
    if levels.ndim != 1 or len(levels) < 2 or not np.isfinite(levels).all():
        raise InputError(f"{levels.size} strengths are given; two numbers at least are needed, beginning with 0.")
    if levels[0] != 0 or (np.diff(levels) <= 0).any():
        given = ", ".join(f"{s:g}" for s in levels)
        raise InputError(f"strengths are {given}; they must begin at 0 and grow.")
    return levels


def subset(n: int, limit: int | None, seed: int) -> NDArray[np.intp]:
    """Which examples are used: all of them, or a seeded choice, in their order."""
    if limit is None:
        return np.arange(n)
    check_count(limit, "limit")
    return np.sort(np.random.default_rng([seed, 3]).permutation(n)[:limit])


def declared_range(
    images: LabelledImages, row: int, pixel_range: tuple[float, float] | None
) -> tuple[float, float, bool]:
    """(low, high, whether pixels are uint8): what was declared, or what the type of the pixels says."""
    counts = images.place(row, 0).dtype == np.uint8
    if pixel_range is None:
        if not counts:
            raise InputError(
                "the pixels are floats, and nobody can tell from them which values are black and white; say it with "
                "`pixel_range=(0, 1)`, or whatever holds."
            )
        return 0.0, 255.0, True
    low, high = (float(v) for v in pixel_range)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"a pixel range from {low:g} to {high:g} is empty; the first must be the lower.")
    return low, high, counts


def read_pixels(images: LabelledImages, rows: NDArray[np.intp], low: float, high: float) -> NDArray[np.float32]:
    """(n, height, width, channels) raw pixels, all of one shape and within the range."""
    found = [images.place(int(row), 0) for row in rows]
    for row, picture in zip(rows, found, strict=True):
        if picture.shape != found[0].shape:
            raise InputError(
                f"picture {images.ids[row]} has shape {picture.shape} where others have {found[0].shape}; crop them "
                "all to one size."
            )
        if not np.isfinite(picture).all() or picture.min() < low or picture.max() > high:
            raise InputError(
                f"picture {images.ids[row]} holds pixels from {picture.min():g} to {picture.max():g}, outside the "
                f"declared range of {low:g} to {high:g}."
            )
    return np.stack(found).astype(np.float32)


def check_plain(model: Scorer, view: View, allow_chance: bool) -> None:
    """A model that knows nothing of untouched pictures, or pixels far from their range, are most often a slip."""
    span = float(view.pixels.max() - view.pixels.min())
    if len(view) >= SAMPLE // 4 and span < SPAN * (view.high - view.low):
        raise InputError(
            f"pixels run from {view.pixels.min():g} to {view.pixels.max():g}, a small part of the declared range of "
            f"{view.low:g} to {view.high:g}, so strengths would be many times too large; declare what holds."
        )
    right = int(view.right(view.raw).sum())
    chance = float(np.bincount(view.labels).max() / len(view))  # of the commonest label
    if not allow_chance and len(view) >= SAMPLE // 4 and right <= chance * len(view):
        raise InputError(
            f"{model.name} is right on {right} of {len(view)} untouched training pictures, no better than chance: most "
            "often the scale, mean or channel order is wrong. Where that is so, go on with "
            "`allow_chance=True`."
        )


def _fingerprint(
    model: Scorer,
    images: LabelledImages,
    way: Perturbation,
    levels: NDArray[np.float64],
    rows: NDArray[np.intp],
    pixel_range: tuple[float, float],
    seed: int,
    batch_size: int,
    first: View,
) -> dict[str, Any]:
    """Everything that changes the bits of a curve; of a function, what it answers to the first pictures."""
    options = {
        key: re.sub(r" at 0x[0-9a-f]+", "", repr(value))  # an address is another one in every run
        for key, value in sorted(vars(way).items())
        if not key.startswith("_") and key not in ("name", "unit")
    }
    return {
        "model": model.digest(),
        "answers": hash_of(first.first_logits()),
        "pictures": images.digest(),
        **images.preprocessing(),
        "perturbation": way.name,
        **options,
        "strengths": levels.tolist(),
        "examples": hash_of(rows.astype(np.int64)),
        "pixel_range": list(pixel_range),
        "seed": seed,
        "batch_size": batch_size,
    }


def _exhibits(
    view: Callable[[NDArray[np.intp]], View],
    way: Perturbation,
    levels: NDArray[np.float64],
    correct: NDArray[np.bool_],
    rows: NDArray[np.intp],
    checkpoint: Checkpoint,
) -> Exhibits | None:
    """Some examples that fall early, some that fall late, at every strength."""
    start = np.flatnonzero(correct[0])
    if not len(start):
        start = np.arange(correct.shape[1])
    falls = np.where(correct[:, start].all(axis=0), len(levels), (~correct[:, start]).argmax(axis=0))
    order = start[np.argsort(falls, kind="stable")]
    places = np.unique(np.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().astype(int))
    chosen = order[places]
    stored = checkpoint.load() or {}
    strips = list(stored.pop("strips", []))

    def state() -> dict[str, NDArray[Any]]:
        return {"strips": np.array(strips, dtype=np.uint8), **standing.arrays}

    standing = Standing(stored, lambda: checkpoint.keep(state))
    here = replace(view(rows[chosen]), standing=standing)
    for strength in levels[len(strips) :]:
        raw = here.pixels if strength == 0 else way.perturbed(here, float(strength))
        strips.append(np.rint((raw - here.low) / here.unit).clip(0, 255).astype(np.uint8))
        standing.settle()
    pictures = np.stack(strips, axis=1)
    small = np.stack([np.stack([_small(p) for p in row]) for row in pictures])
    return Exhibits(rows=rows[chosen], labels=here.labels, pictures=small, right=correct[:, chosen].T)


def _small(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width, channels = picture.shape
    if max(height, width) <= SIDE or channels not in (1, 3):
        return picture
    size = (max(1, round(width * SIDE / max(height, width))), max(1, round(height * SIDE / max(height, width))))
    image = Image.fromarray(picture[..., 0] if channels == 1 else picture).resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image).reshape(size[1], size[0], channels)


def limited_text(n: int, limit: int | None) -> tuple[str, ...]:
    """The note where `limit` left examples out, and none where it did not.

    Examples
    --------
    >>> limited_text(5000, 100), limited_text(50, 100), limited_text(50, None)
    (('Limited to 100 of 5,000 training examples, drawn at random.',), (), ())
    """
    if limit is None or limit >= n:
        return ()
    return (f"Limited to {limit:,} of {n:,} training examples, drawn at random.",)
