"""Translations by whole pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.orbit.rules import Rule, check_rule, statistic_range

MOST = 1_000_000  # pixels; no picture has as many on a side


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

    def __post_init__(self) -> None:
        if self.radius > MOST:
            raise InputError(f"`radius` is {self.radius!r}; it must be at most {MOST:,} pixels.")
        if self.radius != int(self.radius) or self.radius < 1:
            raise InputError(
                f"`radius` is {self.radius!r}; it must be a whole number of pixels, at least 1: "
                "with radius 0 nothing moves and nothing can be tested."
            )

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
