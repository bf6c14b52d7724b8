"""What every perturbation of pictures has in common: a block of them, and a model that is right or wrong on each."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.scorers import Scorer
from heldout.scorers.arrays import Array
from heldout.scorers.showing import Showing, showing_for

Pictures = NDArray[Any]  # (n, height, width, channels), raw pixels: float32, or uint8 where they came so and stayed so
ANSWERED = "answered "  # begins the names of answers
STEPS = 255  # strengths of noise and of gradients count in such parts of the declared pixel range


class Standing:
    """Where the work on a view stands, in arrays that can be kept and taken up.

    They are replaced all at once, so that an interrupt, which may fall anywhere, finds either the old ones or the new.
    What the model answered since the last settled state is among them, call by call: work that is taken up does the
    same again from that state, and is not asked twice.

    Parameters
    ----------
    arrays : dict
        The last settled state, and answers since.
    keep : function
        Told after every batch of the model.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], keep: Callable[[], None]) -> None:
        self.arrays = arrays
        self._keep, self._calls = keep, 0

    def begin_call(self) -> tuple[str, NDArray[np.bool_]]:
        """The name of the next call of the model, and what it answered already."""
        name = f"{ANSWERED}{self._calls}"
        self._calls += 1
        return name, self.arrays.get(name, np.zeros(0, dtype=bool))

    def note(self, call: str, answers: NDArray[np.bool_]) -> None:
        """So much is answered of a call."""
        self.arrays = {**self.arrays, call: answers}
        self._keep()

    def settle(self, **arrays: NDArray[Any]) -> None:
        """A state from which the work can go on, with all that was learned from the calls so far."""
        settled = {key: value for key, value in self.arrays.items() if not key.startswith(ANSWERED)}
        self.restart(**{**settled, **arrays})

    def restart(self, **arrays: NDArray[Any]) -> None:
        """A new state that has nothing of the old one."""
        self.arrays = arrays
        self._calls = 0


@dataclass(frozen=True, eq=False)
class View:
    """Some pictures, raw, before a model.

    Parameters
    ----------
    rows : (n,) int
        Which pictures of `images`.
    pixels : (n, height, width, channels) float32
        Raw, within `low` and `high`; `raw` are the same as they came.
    low, high : float
        The declared range of the pixels.
    counts : bool
        They came as uint8.
    """

    scorer: Scorer
    images: LabelledImages
    rows: NDArray[np.intp]
    pixels: NDArray[np.float32]
    low: float
    high: float
    counts: bool
    seed: int
    batch_size: int
    kept: dict[str, Any] = field(default_factory=dict)  # what a perturbation needs at every strength
    standing: Standing | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def labels(self) -> NDArray[np.int64]:
        """(n,) true classes."""
        return self.images.labels[self.rows]

    @property
    def unit(self) -> float:
        """One step of noise, in raw pixels."""
        return (self.high - self.low) / STEPS

    @property
    def raw(self) -> Pictures:
        """The pixels as they came: a quarter of the bytes where that is uint8."""
        return self.pixels.astype(np.uint8) if self.counts else self.pixels

    @cached_property
    def showing(self) -> Showing:
        """The way of batches to the model."""
        return showing_for(self.scorer, self.images, batch_size=self.batch_size)

    def inputs(self, pixels: Pictures) -> NDArray[np.float32]:
        """Raw pixels as the model wants them."""
        return self.images.scaled(pixels, self.scorer.layout, counts=self.counts)

    def first_logits(self) -> NDArray[Any]:
        """What the model says to the first pictures, as many as fill a batch at most."""
        return self.showing.logits(self.showing.put(self.raw[: self.batch_size], counts=self.counts))

    def right(self, pixels: Pictures, places: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Whether the model's first answer is the true one, for pictures of the examples at `places` (default all)."""
        at = np.arange(len(self.rows)) if places is None else places
        return self.answered(at, lambda start, stop: pixels[start:stop])

    def answered(
        self, places: NDArray[np.intp], pixels: Callable[[int, int], Array], labels: Array | None = None
    ) -> NDArray[np.bool_]:
        """The same for pictures that are made batch by batch, from one of `places` to another, where batches live.

        Batches that were answered before the work was stopped are not asked about again.
        """
        found = np.empty(len(places), dtype=bool)
        call, known = ("", found[:0]) if self.standing is None else self.standing.begin_call()
        found[: len(known)] = known
        waiting: deque[tuple[int, NDArray[np.intp], Array]] = deque()

        def settle(most: int) -> None:
            while len(waiting) > most:
                start, rows, excess = waiting.popleft()
                found[start : start + len(rows)] = self.showing.told(excess, rows) <= 0
                if self.standing is not None:
                    self.standing.note(call, found[: start + len(rows)].copy())

        for start in range(len(known), len(places), self.batch_size):
            stop = min(start + self.batch_size, len(places))
            rows = self.rows[places[start:stop]]
            batch = self.showing.put(pixels(start, stop), counts=self.counts)
            true = None if labels is None else labels[start:stop]
            waiting.append((start, rows, self.showing.excess(batch, rows, true)))
            settle(self.showing.lag)
        settle(0)
        return found

    def generators(self, name: str) -> list[np.random.Generator]:
        """A generator for each picture, the same at every strength and in whatever block the picture comes."""
        return [np.random.default_rng([self.seed, zlib.crc32(name.encode()), int(row)]) for row in self.rows]


class Perturbation:
    """A way to change pictures that has a strength, 0 meaning untouched.

    Attributes
    ----------
    unit : str
        What a strength of 1 is, in words.
    even : bool
        Whether strengths that are equally far apart are equally far apart in what they do, by definition.
    """

    name: str
    unit: str
    even: bool = True

    def check(self, scorer: Scorer, strengths: NDArray[np.float64]) -> None:
        """InputError where this cannot be done to this model, or not so strongly."""

    def perturbed(self, view: View, strength: float) -> Pictures:
        """The pictures, changed."""
        raise NotImplementedError

    def right(self, view: View, strength: float) -> NDArray[np.bool_]:
        """(n,) whether the model is right on each of them."""
        return view.right(view.raw if strength == 0 else self.perturbed(view, strength))


class Custom(Perturbation):
    """A user's own function of (pictures, strength, generator), called with one picture at a time."""

    def __init__(self, function: Callable[[Pictures, float, np.random.Generator], Any]) -> None:
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.unit = f"strength of {self.name}"
        code = getattr(function, "__code__", None)  # tells a function from a later one of the same name
        self.code = None if code is None else (code.co_code.hex(), repr(code.co_consts), code.co_names)
        self._function = function

    def perturbed(self, view: View, strength: float) -> Pictures:
        """The function's answer, cut to the declared range."""
        out = np.empty_like(view.pixels)
        for place, rng in enumerate(view.generators(self.name)):
            changed = np.asarray(self._function(view.pixels[place : place + 1].copy(), strength, rng))
            if changed.shape != (1, *out.shape[1:]):
                raise InputError(
                    f"the perturbation {self.name} turns a picture of shape {(1, *out.shape[1:])} into "
                    f"{changed.shape}; the shape must stay."
                )
            out[place] = changed[0]
        return np.clip(out, view.low, view.high)
