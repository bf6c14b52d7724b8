"""Shifts and turns of a picture, of which the worst is taken (Engstrom et al. 2019).

Strength a allows shifts of up to a pixels in each direction and turns of up to a degrees. A turn about the picture's
centre comes first, the shift second. Shifts are of whole pixels: a shift by half a pixel blurs, and a model that minds
blur would seem to mind the smallest shift most. Turned pixels are bilinear; what comes in from outside is black, or the
border's own (`padding`). In a curve, a picture that is fooled at one strength counts as fooled at every larger one, so
the accuracy is that of the worst move of all grids so far and never rises.

A move is the same linear map for every picture, so it is kept as a sparse matrix with four entries a pixel. For models
on a GPU pictures go there once and are moved there: the same four pixels, weighed and added in the same order, give the
same bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.memorization.perturb.base import Perturbation, Pictures, View
from heldout.scorers import Scorer
from heldout.scorers.arrays import Array, Arrays, NumpyArrays
from heldout.scorers.batches import right_answers

Padding = Literal["black", "border"]
ROUND = 8  # batches that a round of the search fills, so that the last one, half empty, does not count
MOST_STEPS, MOST_MOVES = 1000, 1_000_000  # of a grid along one axis; at random
HELD = 2**24  # numbers that a round holds at most, but for one batch


@dataclass(frozen=True)
class Move:
    """Right and down in pixels, and degrees counter-clockwise."""

    right: float
    down: float
    degrees: float


STAY = Move(0.0, 0.0, 0.0)
Corners = tuple[list[Array], list[Array]]
Stands = Callable[[Sequence[Move], NDArray[np.intp]], NDArray[np.bool_]]  # (moves, pictures) whether the model is right


def move_grid(strength: float, *, shifts: int = 5, turns: int = 5) -> tuple[Move, ...]:
    """All combinations of evenly spaced shifts and turns within a strength, and the untouched picture first.

    Shifts are cut to whole pixels, so that there are fewer of them at small strengths.

    Examples
    --------
    >>> len(move_grid(3.0)), move_grid(0.0)
    (125, (Move(right=0.0, down=0.0, degrees=0.0),))
    >>> sorted({move.right for move in move_grid(1.0)}), sorted({move.right for move in move_grid(3.0)})
    ([-1.0, 0.0, 1.0], [-3.0, -1.0, 0.0, 1.0, 3.0])
    """
    check_grid(shifts, turns)
    _check_strength(strength)
    if strength == 0:
        return (STAY,)
    along = np.unique(np.trunc(np.linspace(-strength, strength, shifts)) + 0.0).tolist() if shifts > 1 else [0.0]
    about = np.linspace(-strength, strength, turns).tolist() if turns > 1 else [0.0]
    moves = [Move(x, y, t) for t, y, x in itertools.product(about, along, along)]
    return (STAY, *(move for move in moves if move != STAY))


def check_grid(shifts: int, turns: int) -> None:
    """Refuse a grid without moves, and one of more than anybody waits for."""
    check_count(shifts, "shifts", most=MOST_STEPS)
    check_count(turns, "turns", most=MOST_STEPS)


def _check_strength(strength: float) -> None:
    if not (0 <= strength < math.inf):
        raise InputError(f"`strength` is {strength:g}; it must be 0 or larger.")


def random_moves(strength: float, count: int, *, rng: np.random.Generator) -> tuple[Move, ...]:
    """The untouched picture and `count` moves drawn evenly within a strength, shifts among whole pixels.

    Examples
    --------
    >>> len(random_moves(2.0, 10, rng=np.random.default_rng(0)))
    11
    """
    check_count(count, "count")
    _check_strength(strength)
    if strength == 0:
        return (STAY,)
    drawn = rng.uniform(-1, 1, (count, 3))
    most = math.floor(strength)
    drawn[:, :2] = np.floor((drawn[:, :2] + 1) / 2 * (2 * most + 1)) - most + 0.0
    drawn[:, 2] *= strength
    return (STAY, *(Move(*each) for each in drawn.tolist()))


def moved(
    images: NDArray[np.float32], move: Move, *, padding: Padding = "black", black: float = 0.0
) -> NDArray[np.float32]:
    """Pictures of shape (n, height, width, channels), all moved alike.

    Examples
    --------
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    >>> moved(x, Move(1, 0, 0))[0, :, :, 0].tolist()
    [[0.0, 0.0, 1.0], [0.0, 3.0, 4.0], [0.0, 6.0, 7.0]]
    """
    n, height, width, channels = images.shape
    out = sampling(height, width, move, padding) @ pixels_first(images, black)
    return np.ascontiguousarray(out.reshape(height, width, n, channels).transpose(2, 0, 1, 3))


def moved_each(
    images: NDArray[np.float32], moves: Sequence[Move], *, padding: Padding = "black", black: float = 0.0
) -> NDArray[np.float32]:
    """Pictures of shape (n, height, width, channels), each with a move of its own.

    Examples
    --------
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    >>> bool((moved_each(x, [Move(1, 0, 5)]) == moved(x, Move(1, 0, 5))).all())
    True
    """
    n, height, width, channels = images.shape
    flat = np.full((n, height * width + 1, channels), black, dtype=np.float32)
    flat[:, :-1] = images.reshape(n, -1, channels)
    own = np.arange(n)
    return np.asarray(gathered(flat, own, corners(height, width, moves, padding), own).reshape(images.shape))


def gathered(flat: Array, rows: Array, found: Corners, moves: Array) -> Array:
    """(n, pixels, channels) pictures of `flat` (all, pixels + 1, channels), each with one of the moves of `corners`."""
    (first, *places), (weight, *weights) = found
    out = flat[rows[:, None], first[moves]] * weight[moves][..., None]
    for place, weight in zip(places, weights, strict=True):
        out += flat[rows[:, None], place[moves]] * weight[moves][..., None]
    return out


def pixels_first(images: NDArray[np.float32], black: float) -> NDArray[np.float32]:
    """(pixels + 1, n * channels), the last row being what is outside: what a move's matrix multiplies."""
    n, height, width, channels = images.shape
    out = np.empty((height * width + 1, n, channels), dtype=np.float32)
    out[:-1] = images.reshape(n, -1, channels).transpose(1, 0, 2)
    out[-1] = black
    return out.reshape(len(out), -1)


@lru_cache(maxsize=256)
def sampling(height: int, width: int, move: Move, padding: Padding) -> Any:
    """(pixels, pixels + 1) sparse: the four pixels that each new pixel is made of, the last one lying outside."""
    from scipy.sparse import csr_array

    places, weights = (np.stack(part)[:, 0] for part in corners(height, width, [move], padding))
    pixels = height * width
    starts = np.arange(0, 4 * pixels + 1, 4, dtype=np.int32)
    return csr_array((weights.T.ravel(), places.T.ravel().astype(np.int32), starts), shape=(pixels, pixels + 1))


def corners(height: int, width: int, moves: Sequence[Move], padding: Padding, xp: Arrays | None = None) -> Corners:
    """The four pixels that each new pixel is made of, (moves, pixels) each, and their weights; `pixels` is outside."""
    xp = xp or NumpyArrays()
    right, down, degrees = np.array([[m.right, m.down, m.degrees] for m in moves], dtype=np.float64).T[:, :, None]
    turn = np.radians(degrees)
    right, down, cos, sin = (xp.put(part.copy()) for part in (right, down, np.cos(turn), np.sin(turn)))
    y, x = (xp.put(part.reshape(1, -1)) for part in np.mgrid[:height, :width].astype(np.float64))
    cy, cx = (height - 1) / 2, (width - 1) / 2
    # Where a new pixel comes from: shift back, then turn back. Rows grow downwards.
    back_x, back_y = x - right - cx, y - down - cy
    from_x = cx + cos * back_x - sin * back_y
    from_y = cy + sin * back_x + cos * back_y
    x0, y0 = xp.floor(from_x), xp.floor(from_y)
    part_x, part_y = from_x - x0, from_y - y0
    places, weights = [], []
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        px, py = x0 + dx, y0 + dy
        weights.append(xp.single((part_x if dx else 1 - part_x) * (part_y if dy else 1 - part_y)))
        here = xp.whole(py.clip(0, height - 1) * width + px.clip(0, width - 1))
        if padding == "black":
            here = xp.where((px < 0) | (px >= width) | (py < 0) | (py >= height), height * width, here)
        places.append(here)
    return places, weights


def worst_case(
    right: Callable[[NDArray[np.float32], NDArray[np.intp]], NDArray[np.bool_]],
    images: NDArray[np.float32],
    moves: Sequence[Move],
    *,
    batch_size: int,
    padding: Padding = "black",
    black: float = 0.0,
    begin: int = 0,
    settle: Callable[[int, NDArray[np.intp]], None] | None = None,
) -> NDArray[np.intp]:
    """(n,) which of the moves makes a picture wrong, the first one found, or -1 where none does.

    A picture that is wrong already is not looked at again. Moves are tried in their order, the untouched picture
    first where it comes first, then those that go farthest, since these fool most.

    Parameters
    ----------
    right : function of pictures (b, height, width, channels) and their numbers (b,)
        Whether the model is right on each.
    moves : sequence of Move
        The same for every picture.
    begin : int
        Moves, in the order in which they are tried, that were tried before on all of these pictures.
    settle : function, optional
        Told after each round how many moves were tried so far, and what they found.
    """
    stands = _MovedHere(right, images, padding, black, batch_size)
    return searched(stands, images.shape, moves, batch_size=batch_size, begin=begin, settle=settle)


def searched(
    stands: Stands,
    shape: tuple[int, ...],
    moves: Sequence[Move],
    *,
    batch_size: int,
    begin: int = 0,
    settle: Callable[[int, NDArray[np.intp]], None] | None = None,
) -> NDArray[np.intp]:
    """The same for pictures (n, height, width, channels) that are moved elsewhere.

    Parameters
    ----------
    stands : function of moves and the numbers of pictures
        Whether the model is right on each of these pictures after each of these moves.
    """
    n = shape[0]
    found = np.full(n, -1, dtype=np.intp)
    far = [math.hypot(m.right, m.down) + abs(m.degrees) for m in moves]
    order = sorted(range(len(moves)), key=lambda j: (moves[j] != STAY, -far[j]))
    alive = np.arange(n)
    full = _round(shape, batch_size)
    at = begin
    while at < len(order) and len(alive):
        tries = 1 if moves[order[at]] == STAY else _tries(len(alive), full, batch_size)
        now = order[at : at + tries]
        at += len(now)
        said = stands([moves[j] for j in now], alive)
        fooled = ~said.all(axis=0)
        if fooled.any():
            first = (~said).argmax(axis=0)
            found[alive[fooled]] = np.asarray(now, dtype=np.intp)[first[fooled]]
            alive = alive[~fooled]
        if settle is not None:
            settle(at, found)
    return found


class _MovedHere:
    """Pictures that are moved in the memory of this process; `right` as of `worst_case`."""

    def __init__(
        self,
        right: Callable[[NDArray[np.float32], NDArray[np.intp]], NDArray[np.bool_]],
        images: NDArray[np.float32],
        padding: Padding,
        black: float,
        batch_size: int,
    ) -> None:
        self._right, self._images, self._padding, self._black = right, images, padding, black
        # One piece of memory for all rounds: what is given back and taken again makes the model's own tensors slow.
        most = max(_round(images.shape, batch_size), len(images))
        self._room = np.empty((most, *images.shape[1:]), dtype=np.float32)
        self._alive, self._source = np.arange(len(images)), pixels_first(images, black)

    def __call__(self, moves: Sequence[Move], alive: NDArray[np.intp]) -> NDArray[np.bool_]:
        _, height, width, channels = self._images.shape
        if len(alive) < len(self._alive):
            self._alive, self._source = alive, pixels_first(self._images[alive], self._black)
        filled = self._room[: len(moves) * len(alive)].reshape(len(moves), len(alive), height, width, channels)
        for place, move in enumerate(moves):
            out = sampling(height, width, move, self._padding) @ self._source
            filled[place] = out.reshape(height, width, len(alive), channels).transpose(2, 0, 1, 3)
        places = np.tile(alive, len(moves))
        said = self._right(filled.reshape(len(places), height, width, channels), places)
        return said.reshape(len(moves), len(alive))


class _MovedThere:
    """The pictures of a view on the model's device, as they came, and moved there."""

    def __init__(self, view: View) -> None:
        n, self._height, self._width, channels = view.pixels.shape
        kind = np.uint8 if view.counts and view.low in range(256) else np.float32  # what is outside must have a value
        flat = np.full((n, self._height * self._width + 1, channels), view.low, dtype=kind)
        flat[:, :-1] = view.raw.reshape(n, -1, channels)
        self._xp = view.showing.arrays
        self._flat, self._labels = self._xp.put(flat), self._xp.put(view.labels)

    @classmethod
    def of(cls, view: View) -> _MovedThere:
        """One for all strengths."""
        if "there" not in view.kept:
            view.kept["there"] = cls(view)
        found: _MovedThere = view.kept["there"]
        return found

    def right(
        self, view: View, moves: Sequence[Move], which: NDArray[np.intp], places: NDArray[np.intp], padding: Padding
    ) -> NDArray[np.bool_]:
        """Whether the model is right on the pictures at `places`, each after one of the moves."""
        found = corners(self._height, self._width, moves, padding, self._xp)
        rows, own = self._xp.put(places), self._xp.put(which)

        def pixels(start: int, stop: int) -> Array:
            out = gathered(self._flat, rows[start:stop], found, own[start:stop])
            return out.reshape(stop - start, self._height, self._width, -1)

        return view.answered(places, pixels, self._labels[rows])

    def right_on_each(
        self, view: View, moves: Sequence[Move], places: NDArray[np.intp], padding: Padding
    ) -> NDArray[np.bool_]:
        """The same, each after a move of its own."""

        def pixels(start: int, stop: int) -> Array:
            found = corners(self._height, self._width, moves[start:stop], padding, self._xp)
            out = gathered(self._flat, self._xp.put(places[start:stop]), found, self._xp.rows(stop - start))
            return out.reshape(stop - start, self._height, self._width, -1)

        return view.answered(places, pixels, self._labels[self._xp.put(places)])


def _round(shape: tuple[int, ...], batch_size: int) -> int:
    """How many pictures a round of the search holds."""
    return max(batch_size, min(ROUND * batch_size, HELD // max(1, math.prod(shape[1:]))))


def _tries(alive: int, full: int, batch_size: int) -> int:
    """How many moves to try at once, so that as little as can be of the last batch is empty."""
    most = max(1, full // alive)
    return min(range(most, most // 2, -1), key=lambda tries: -(tries * alive) % batch_size / tries)


def spatial(
    scorer: Scorer,
    batch: NDArray[np.float32],
    labels: NDArray[Any],
    strength: float,
    *,
    shifts: int = 5,
    turns: int = 5,
    padding: Padding = "black",
    black: float = 0.0,
) -> NDArray[np.float32]:
    """Each picture moved so that the model is wrong, where a move of the grid does that; the others as they are.

    Parameters
    ----------
    batch : float32
        As the scorer takes it; `black` is what black is there.

    Examples
    --------
    >>> from heldout.scorers import FunctionScorer
    >>> left = FunctionScorer(lambda b: np.stack([b[..., 0].sum((1, 2)), b[..., 1].sum((1, 2))], 1), name="left")
    >>> x = np.array([[[[1, 0]]]], dtype=np.float32)  # bright on the left
    >>> spatial(left, x, np.array([0]), 1.0, shifts=3, turns=1)[0, 0].tolist()
    [[0.0, 1.0]]
    """
    first = scorer.layout == "nchw"
    images = np.ascontiguousarray(batch.transpose(0, 2, 3, 1)) if first else batch
    moves = move_grid(strength, shifts=shifts, turns=turns)

    def right(pictures: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.bool_]:
        found = []
        for start in range(0, len(places), scorer.batch_size):
            part = slice(start, start + scorer.batch_size)
            x = np.ascontiguousarray(pictures[part].transpose(0, 3, 1, 2)) if first else pictures[part]
            y, names = labels[places[part]], list(map(str, places[part]))
            found.append(right_answers(scorer, x, y, names, scorer.batch_size))
        return np.concatenate(found)

    found = worst_case(right, images, moves, batch_size=scorer.batch_size, padding=padding, black=black)
    out = moved_each(images, [moves[max(j, 0)] for j in found], padding=padding, black=black)
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2)) if first else out


def outside(padding: Padding) -> str:
    """What comes in, in words, where it is not black."""
    return "" if padding == "black" else ", the border repeated"


@dataclass(frozen=True, eq=False)
class _Fallen:
    """Pictures of a view that are fooled, each by the first strength that does it.

    Parameters
    ----------
    at : (n,) float
        That strength; infinite where none does so far.
    moves : (n, 3) float
        The move that does it: right, down, degrees.
    strength, tried : float, int
        The strength that is being searched, and how many of its moves have been tried.
    """

    at: NDArray[np.float64]
    moves: NDArray[np.float64]
    strength: float = -1.0
    tried: int = 0

    def chosen(self, strength: float, otherwise: Sequence[Move]) -> list[Move]:
        """The move of each picture that is fooled by a strength, and what is given for the others."""
        return [
            Move(*move) if at <= strength else other
            for move, at, other in zip(self.moves.tolist(), self.at, otherwise, strict=True)
        ]


def _fallen(view: View, name: str) -> _Fallen:
    """What is known of a view's pictures, also from before the work was stopped; nothing to begin with."""
    if f"{name}, fallen" not in view.kept:
        kept = {} if view.standing is None else view.standing.arrays
        if "at" in kept:
            at, moves, (strength, tried) = kept["at"], kept["moves"], kept["searched"]
            view.kept[f"{name}, fallen"] = _Fallen(at, moves, float(strength), int(tried))
        else:
            view.kept[f"{name}, fallen"] = _Fallen(np.full(len(view), np.inf), np.zeros((len(view), 3)))
    found: _Fallen = view.kept[f"{name}, fallen"]
    return found


def _settle(
    view: View, name: str, strength: float, tried: int, places: NDArray[np.intp], moves: Sequence[Move]
) -> _Fallen:
    """These pictures have fallen too, and so many moves of this strength have been tried on the others."""
    before = _fallen(view, name)
    at, by = before.at.copy(), before.moves.copy()
    at[places] = strength
    by[places] = np.array([[m.right, m.down, m.degrees] for m in moves]).reshape(-1, 3)
    now = _Fallen(at, by, strength, tried)
    if view.standing is not None:
        view.standing.settle(at=at, moves=by, searched=np.array([strength, tried]))
    view.kept[f"{name}, fallen"] = now
    return now


class Spatial(Perturbation):
    """The worst of a grid of shifts and turns, the same grid for every picture.

    A grid of one strength does not hold those of lower ones, so a picture that is fooled at one strength of a view
    stays fooled at every larger one that is asked for later: the running worst case, of which no curve rises.
    """

    name = "spatial"

    def __init__(self, *, shifts: int = 5, turns: int = 5, padding: Padding = "black") -> None:
        check_grid(shifts, turns)
        self.shifts, self.turns, self.padding = shifts, turns, padding
        grid = f"{shifts} x {shifts} whole-pixel shifts and {turns} turns"
        self.unit = f"pixels and degrees of the worst so far of {grid}{outside(padding)}"

    def _search(self, view: View, strength: float) -> _Fallen:
        fallen = _fallen(view, self.name)
        left = np.flatnonzero(fallen.at > strength)
        if len(left):
            moves = move_grid(strength, shifts=self.shifts, turns=self.turns)

            def settle(tried: int, found: NDArray[np.intp]) -> None:
                fooled = np.flatnonzero(found >= 0)
                _settle(view, self.name, strength, tried, left[fooled], [moves[j] for j in found[fooled]])

            begin = fallen.tried if fallen.strength == strength else 0
            stands = self._stands(view, left)
            shape = (len(left), *view.pixels.shape[1:])
            searched(stands, shape, moves, batch_size=view.batch_size, begin=begin, settle=settle)
        return _fallen(view, self.name)

    def _stands(self, view: View, left: NDArray[np.intp]) -> Stands:
        """For some of a view's pictures, moved where the model wants its batches."""
        if view.showing.is_here:
            return _MovedHere(
                lambda pixels, places: view.right(pixels, left[places]),
                view.pixels[left],
                self.padding,
                view.low,
                view.batch_size,
            )
        there = _MovedThere.of(view)

        def stands(moves: Sequence[Move], alive: NDArray[np.intp]) -> NDArray[np.bool_]:
            which = np.repeat(np.arange(len(moves)), len(alive))
            said = there.right(view, moves, which, np.tile(left[alive], len(moves)), self.padding)
            return said.reshape(len(moves), len(alive))

        return stands

    def right(self, view: View, strength: float) -> NDArray[np.bool_]:
        """Whether no move of the grid, or of those before it, makes the model wrong."""
        return np.asarray(self._search(view, strength).at > strength)

    def perturbed(self, view: View, strength: float) -> Pictures:
        """Each picture moved so that the model is wrong, or else as far as the grid goes."""
        fallen = self._search(view, strength)
        last = move_grid(strength, shifts=self.shifts, turns=self.turns)[-1]
        chosen = fallen.chosen(strength, [last] * len(view))
        return moved_each(view.pixels, chosen, padding=self.padding, black=view.low)


class RandomSpatial(Perturbation):
    """The worst of a few shifts and turns that each picture draws for itself, and of those it drew before."""

    name = "spatial-random"

    def __init__(self, *, count: int = 10, padding: Padding = "black") -> None:
        self.count, self.padding = check_count(count, "count", most=MOST_MOVES), padding
        moves = f"{count} random whole-pixel shifts and turns"
        self.unit = f"pixels and degrees of the worst so far of {moves}{outside(padding)}"

    def _tries(self, view: View, strength: float) -> list[tuple[Move, ...]]:
        return [random_moves(strength, self.count, rng=rng) for rng in view.generators(self.name)]

    def _search(self, view: View, strength: float) -> tuple[_Fallen, list[tuple[Move, ...]]]:
        moves, fallen = self._tries(view, strength), _fallen(view, self.name)
        alive = np.flatnonzero(fallen.at > strength)
        for j in range(fallen.tried if fallen.strength == strength else 0, len(moves[0])):
            if not len(alive):
                break
            tried = [moves[i][j] for i in alive]
            if view.showing.is_here:
                pictures = moved_each(view.pixels[alive], tried, padding=self.padding, black=view.low)
                stands = view.right(pictures, alive)
            else:
                stands = _MovedThere.of(view).right_on_each(view, tried, alive, self.padding)
            _settle(view, self.name, strength, j + 1, alive[~stands], [moves[i][j] for i in alive[~stands]])
            alive = alive[stands]
        return _fallen(view, self.name), moves

    def right(self, view: View, strength: float) -> NDArray[np.bool_]:
        """Whether none of a picture's own moves so far makes the model wrong."""
        return np.asarray(self._search(view, strength)[0].at > strength)

    def perturbed(self, view: View, strength: float) -> Pictures:
        """Each picture by the move that made the model wrong, or else by its last."""
        fallen, moves = self._search(view, strength)
        chosen = fallen.chosen(strength, [own[-1] for own in moves])
        return moved_each(view.pixels, chosen, padding=self.padding, black=view.low)
