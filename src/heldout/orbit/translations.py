"""Translations by whole pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.orbit.rules import Rule, check_rule, statistic_range
from heldout.orbit.square import IDENTITY
from heldout.orbit.table import MoveTable

MOST = 1_000_000  # pixels; no picture has as many on a side


@dataclass(frozen=True, eq=False)
class Shifts:
    """Shifts up to a reach, row by row, and the positions they stand at: on a torus several share one.

    Parameters
    ----------
    reach : int
        Pixels.
    position_of : ((2 reach + 1) ** 2,) int
        The position of each shift.
    versions : (n_positions, 2) int
        The shift (down, right) that makes the version at each position.
    """

    reach: int
    position_of: NDArray[np.intp]
    versions: NDArray[np.intp]

    @property
    def centre(self) -> int:
        """The position of no shift."""
        return int(self.position_of[len(self.position_of) // 2])

    def positions(self, shifts: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of shifts (..., 2); -1 beyond the reach."""
        known = np.abs(shifts).max(axis=-1) <= self.reach
        places = np.where(known[..., None], shifts + self.reach, 0) @ [2 * self.reach + 1, 1]
        return np.asarray(np.where(known, self.position_of[places], -1))


@dataclass(frozen=True)
class Translations:
    """All moves v != 0 of at most `radius` pixels down and right (the paper's V_epsilon).

    A move shifts the *content* of the picture by v = (down, right), hence the crop by -v. Moves
    come in row-major order, and that order decides every tie.

    Parameters
    ----------
    radius : int
        Pixels, at least 1.

    Examples
    --------
    >>> from heldout import Translations
    >>> Translations(1).moves.tolist()
    [[-1, -1], [-1, 0], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 0], [1, 1]]
    >>> len(Translations(2)), Translations(2).margin("strongest")
    (24, 6)
    """

    radius: int

    name = "translations"
    is_group = False
    elements = (IDENTITY,)  # nothing is flipped or turned

    def __post_init__(self) -> None:
        if self.radius > MOST:
            raise InputError(f"`radius` is {self.radius!r}; it must be at most {MOST:,} pixels.")
        if self.radius != int(self.radius) or self.radius < 1:
            raise InputError(
                f"`radius` is {self.radius!r}; it must be a whole number of pixels, at least 1: "
                "with radius 0 nothing moves and nothing can be tested."
            )

    @property
    def described(self) -> str:
        """The versions of a picture, in words."""
        return f"shifted by up to {self.radius} pixel{'s' if self.radius > 1 else ''} down, up, left and right"

    def __len__(self) -> int:
        return (2 * self.radius + 1) ** 2 - 1

    @property
    def moves(self) -> NDArray[np.intp]:
        """(M, 2) moves (down, right) in row-major order, without (0, 0)."""
        r = self.radius
        grid = np.moveaxis(np.mgrid[-r : r + 1, -r : r + 1], 0, -1).reshape(-1, 2)
        return np.asarray(grid[np.any(grid != 0, axis=1)])

    def margin(self, rule: Rule) -> int:
        """Pixels needed around the crop: x to x', its neighbours z, and where z could go (figure 7).

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        int
            Two or three times the radius.
        """
        check_rule(rule)
        return (2 if rule in ("random", "random2") else 3) * self.radius

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """All shifts whose scores can matter, row by row, and the moves between them.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.
        period : (int, int), optional
            Side lengths of the torus, where shifts are cyclic: shifts that differ by a whole turn share one
            position, so that no version is scored twice.

        Returns
        -------
        MoveTable
            Of at most (2 margin + 1) ** 2 positions.
        """
        shifts, moves = self.shifts(rule, period=period), self.moves
        return MoveTable(
            reached=shifts.positions(shifts.versions[:, None] + moves),
            left=shifts.positions(shifts.versions[:, None] - moves),
            centre=shifts.centre,
            moves=moves,
            versions=shifts.versions,
            lengths=np.sqrt((moves**2).sum(axis=1)),
        )

    def shifts(self, rule: Rule, *, period: tuple[int, int] | None = None) -> Shifts:
        """All shifts whose scores can matter.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.
        period : (int, int), optional
            As of `table`.

        Returns
        -------
        Shifts
            By their positions.
        """
        reach, radius = self.margin(rule), self.radius
        if period is not None and min(period) < 2 * radius + 1:
            raise InputError(
                f"pictures of {period[0]} x {period[1]} are too small to turn by radius {radius}; "
                f"the largest radius that fits is {(min(period) - 1) // 2}."
            )
        span = 2 * reach + 1
        sides = (span, span) if period is None else (min(span, period[0]), min(span, period[1]))
        shifts = np.moveaxis(np.mgrid[-reach : reach + 1, -reach : reach + 1], 0, -1).reshape(-1, 2)
        position_of = np.asarray(((shifts + reach) % sides) @ np.array([sides[1], 1]))
        # The shift that makes a version: on a torus the smallest of several, so that it lies on the canvas.
        by_size = np.argsort(np.abs(shifts).max(axis=1), kind="stable")
        _, first = np.unique(position_of[by_size], return_index=True)
        return Shifts(reach, position_of, shifts[by_size[first]])

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Pictures of any height and width can be shifted.

        Parameters
        ----------
        shape : (int, int)
            Height and width of what the model sees.
        """

    def statistic_range(self, rule: Rule) -> tuple[float, float]:
        """The interval that holds T under this rule; see `heldout.orbit.statistic_range`.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        lower, upper : float
            The ends.
        """
        return statistic_range(rule, len(self))
