"""Shifts and turns of a picture, over a grid of which the worst is taken (Engstrom et al. 2019).

Strength a allows shifts of up to a pixels in each direction and turns of up to a degrees. A turn about the picture's
centre comes first, the shift second. Pixels between the given ones are bilinear; what comes in from outside is 0, or
the border's own (`padding`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError

Padding = Literal["zeros", "border"]


@dataclass(frozen=True)
class Move:
    """Right and down in pixels, and degrees counter-clockwise."""

    right: float
    down: float
    degrees: float


def move_grid(strength: float, *, shifts: int = 5, turns: int = 5) -> tuple[Move, ...]:
    """All combinations of equally spaced shifts and turns within a strength, the untouched picture first.

    Examples
    --------
    >>> len(move_grid(3.0)), move_grid(0.0)
    (125, (Move(right=0.0, down=0.0, degrees=0.0),))
    """
    if strength < 0 or shifts < 1 or turns < 1:
        raise InputError(
            f"strength {strength:g}, {shifts} shifts, {turns} turns: none can be negative, the counts not 0."
        )
    if strength == 0:
        return (Move(0.0, 0.0, 0.0),)
    along = np.linspace(-strength, strength, shifts).tolist() if shifts > 1 else [0.0]
    about = np.linspace(-strength, strength, turns).tolist() if turns > 1 else [0.0]
    moves = [Move(x, y, t) for t, y, x in itertools.product(about, along, along)]
    return tuple(sorted(moves, key=lambda move: move != Move(0.0, 0.0, 0.0)))


def moved(images: NDArray[np.float32], move: Move, *, padding: Padding = "zeros") -> NDArray[np.float32]:
    """Pictures of shape (n, height, width, channels), all moved alike.

    Examples
    --------
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    >>> moved(x, Move(1, 0, 0))[0, :, :, 0].tolist()
    [[0.0, 0.0, 1.0], [0.0, 3.0, 4.0], [0.0, 6.0, 7.0]]
    """
    n, height, width, channels = images.shape
    places, weights = sampling(height, width, move, padding)
    flat = images.reshape(n, height * width, channels)
    out = np.zeros_like(flat)
    for corner in range(4):
        out += flat[:, places[corner]] * weights[corner][:, None]
    return out.reshape(images.shape)


@lru_cache(maxsize=4096)
def sampling(height: int, width: int, move: Move, padding: Padding) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """(4, pixels) the four pixels that each new pixel is made of, and their weights: the same for every picture."""
    angle = math.radians(move.degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    y, x = np.mgrid[:height, :width].astype(np.float64)
    cy, cx = (height - 1) / 2, (width - 1) / 2
    # Where a new pixel comes from: shift back, then turn back. Rows grow downwards.
    right, down = x - move.right - cx, y - move.down - cy
    from_x = cx + cos * right - sin * down
    from_y = cy + sin * right + cos * down
    x0, y0 = np.floor(from_x).astype(np.int64), np.floor(from_y).astype(np.int64)
    part_x, part_y = from_x - x0, from_y - y0
    places, weights = [], []
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        px, py = x0 + dx, y0 + dy
        weight = (part_x if dx else 1 - part_x) * (part_y if dy else 1 - part_y)
        inside = (px >= 0) & (px < width) & (py >= 0) & (py < height)
        if padding == "zeros":
            weight = np.where(inside, weight, 0.0)
        places.append((np.clip(py, 0, height - 1) * width + np.clip(px, 0, width - 1)).ravel())
        weights.append(weight.ravel())
    return np.array(places, dtype=np.intp), np.array(weights, dtype=np.float32)
