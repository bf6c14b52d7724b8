"""The eight ways to lay a square on itself, by number, and what each does to pixels, shifts and one another.

Number 4 m + t mirrors left to right if m = 1, then makes t quarter-turns to the left (counter-clockwise): numpy's
`rot90(fliplr(picture), t)`. Everything is about the centre of the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError

Indices = NDArray[np.intp]

NAMES = (
    "as it is",
    "turned by 90 degrees to the left",
    "turned by 180 degrees",
    "turned by 90 degrees to the right",
    "mirrored left to right",
    "mirrored at the diagonal",
    "mirrored top to bottom",
    "mirrored at the other diagonal",
)
IDENTITY, MIRRORED = 0, 4

# What is done to the axes (height, width): whether they are exchanged first, and which of them are then reversed.
AXES = (
    (False, False, False),
    (True, True, False),
    (False, True, True),
    (True, False, True),
    (False, False, True),
    (True, False, False),
    (False, True, False),
    (True, True, True),
)


def _matrices() -> Indices:
    """(8, 2, 2) where each element takes a shift (down, right)."""
    left, mirror = np.array([[0, -1], [1, 0]]), np.array([[1, 0], [0, -1]])
    turns = [np.linalg.matrix_power(left, t) for t in range(4)]
    return np.stack([*turns, *(turn @ mirror for turn in turns)]).astype(np.intp)


MATRICES = _matrices()


def _number(matrix: Indices) -> int:
    return int(np.flatnonzero((matrix == MATRICES).all(axis=(1, 2)))[0])


# PRODUCT[h, g] is h after g; INVERSE[g] undoes g.
PRODUCT = np.array([[_number(h @ g) for g in MATRICES] for h in MATRICES])
INVERSE = np.array([_number(g.T) for g in MATRICES])


def acted(pixels: NDArray[Any], element: int, *, axes: tuple[int, int]) -> NDArray[Any]:
    """Pictures after an element, a view; `axes` are those of height and width, one after the other.

    Examples
    --------
    >>> acted(np.array([[1, 2], [3, 4]]), 1, axes=(0, 1)).tolist()
    [[2, 4], [1, 3]]
    """
    exchanged, *reverse = AXES[element]
    found = pixels.swapaxes(*axes) if exchanged else pixels
    if not any(reverse):
        return found
    steps = tuple(slice(None, None, -1) if r else slice(None) for r in reverse)
    return found[(slice(None),) * axes[0] + steps]


def shifts_before(elements: Indices, shifts: Indices) -> Indices:
    """(n, 2) w with tau_v g = g tau_w: the window that, after g, is the one of a picture moved by g and then by v."""
    return np.asarray(np.einsum("nij,nj->ni", MATRICES[INVERSE[elements]], shifts))


def has_turns(elements: Iterable[int]) -> bool:
    """Whether one of these exchanges height and width."""
    return any(AXES[element][0] for element in elements)


def check_square(elements: Sequence[int], shape: tuple[int, int], *, shifted: bool = False) -> None:
    """InputError where pictures of this height and width cannot be turned by all of these; where they are `shifted`
    too, squares need room around them."""
    height, width = shape
    if height != width and has_turns(elements):
        cut = "with `crop`, in place of `pad` or `wrap`" if shifted else f"with `crop={min(shape)}`"
        raise InputError(
            f"quarter-turns need square pictures, but these are {height} x {width}; cut squares out of them {cut}, or "
            f"mirror them only, with the orbit {'translations+flip' if shifted else 'flip'!r}."
        )


def stabilisers(pictures: NDArray[Any], elements: Sequence[int]) -> NDArray[np.bool_]:
    """(n, n_elements) which of these leave each picture (n, height, width, channels) as it is, to the last bit.

    Examples
    --------
    >>> stabilisers(np.array([[[1, 2, 1]], [[1, 2, 3]]])[..., None], (0, 4)).tolist()
    [[True, True], [True, False]]
    """
    found = np.ones((len(pictures), len(elements)), dtype=bool)
    for k, element in enumerate(elements):
        if element == IDENTITY:
            continue
        other = acted(pictures, element, axes=(1, 2))
        # Hardly any picture is left after its first row.
        alike = np.flatnonzero((pictures[:, 0] == other[:, 0]).all(axis=(1, 2)))
        found[:, k] = False
        found[alike, k] = [np.array_equal(pictures[i], other[i]) for i in alike]
    return found


def same_views(views: NDArray[Any], symmetries: Indices) -> NDArray[np.bool_]:
    """(n, n_elements) the same for pictures whose views (n, n_views, height, width, channels) were made one by one:
    which elements, applied before, leave every view as it is. `symmetries` are those of the table of moves.

    Examples
    --------
    >>> same_views(np.array([[1, 1], [1, 2]])[..., None, None, None], np.array([[0, 1], [1, 0]])).tolist()
    [[True, True], [True, False]]
    """
    found = np.ones((len(views), len(symmetries)), dtype=bool)
    for k, places in enumerate(symmetries[1:], start=1):
        alike = (views[:, 0, 0] == views[:, places[0], 0]).all(axis=(1, 2))  # hardly any is left after its first row
        found[:, k] = False
        found[alike, k] = [np.array_equal(each, each[places]) for each in views[alike]]
    return found
