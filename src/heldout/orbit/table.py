"""An orbit as an index table: which version of an example each move leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from heldout.orbit.rules import Rule

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MoveTable:
    """Versions of one example by their position, and the moves between them.

    Parameters
    ----------
    reached : (n_positions, n_moves) int
        Where each move leads from each position; -1 where nobody asks.
    left : (n_positions, n_moves) int
        From where each move leads to each position; -1 where nobody asks. Different moves leave different positions.
    centre : int
        The position of the example as it is.
    moves : (n_moves, d) int
        The moves by name, in the order that decides ties; for translations (down, right).
    versions : (n_positions, d) int
        How the version at each position is made from the example; for translations the shift that leads there.
    lengths : (n_moves,) float, optional
        Of the moves, where they have any; the rule "nearest" needs them.
    """

    reached: Indices
    left: Indices
    centre: int
    moves: Indices
    versions: Indices
    lengths: NDArray[np.float64] | None = None

    @property
    def n_positions(self) -> int:
        """How many versions there are."""
        return len(self.versions)

    @property
    def n_moves(self) -> int:
        """How many moves there are."""
        return len(self.moves)


@runtime_checkable
class Orbit(Protocol):
    """Moves that keep an example's label and density: what a plan, and the tests of its T, need to know of them."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def __len__(self) -> int: ...

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """The versions that can matter under a rule, and the moves between them; `period` are the side lengths of
        pictures that are moved on a torus."""
        ...

    def statistic_range(self, rule: Rule) -> tuple[float, float]:
        """The interval that holds T under a rule, whatever the model and the data."""
        ...
