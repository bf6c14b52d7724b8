"""An orbit as an index table: which version of an example each move leads to."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        How the version at each position is made from the example: for translations the shift (down, right) that leads
        there; for flips and turns (element, down, right), a number of `heldout.orbit.square` and the shift after it.
    lengths : (n_moves,) float, optional
        Of the moves, where they have any; the rule "nearest" needs them.
    elements : (n_elements,) int, optional
        The flips and turns among the moves, the identity first.
    symmetries : (n_elements, n_positions) int, optional
        Where the version at each position would stand, had the example been moved by an element before: the same
        version, of an example that the element leaves as it is.
    is_group : bool
        Whether the positions are all of a finite group. Then every version is scored, and counted.
    first : (n_positions,) int, optional
        The first position of the same version, where `merged` has found some to be the same.
    """

    reached: Indices
    left: Indices
    centre: int
    moves: Indices
    versions: Indices
    lengths: NDArray[np.float64] | None = None
    elements: Indices | None = None
    symmetries: Indices | None = None
    is_group: bool = False
    first: Indices | None = None

    @property
    def n_positions(self) -> int:
        """How many versions there are."""
        return len(self.versions)

    @property
    def n_moves(self) -> int:
        """How many moves there are."""
        return len(self.moves)

    @property
    def margin(self) -> int:
        """Pixels around the example that its versions show."""
        return int(np.abs(self.versions[:, -2:]).max())

    def merged(self, kept: NDArray[np.bool_]) -> MoveTable:
        """The same for an example that some elements leave as it is: versions that are the same have one position.

        Parameters
        ----------
        kept : (n_elements,) bool
            Which ones do.

        Returns
        -------
        MoveTable
            With as many positions, of which all but the first of those that are the same are not in use.
        """
        assert self.symmetries is not None
        first = self.symmetries[kept].min(axis=0)

        def there(positions: Indices) -> Indices:
            return np.asarray(np.where(positions < 0, -1, first[positions]))

        reached, left = there(self.reached), there(self.left)
        return replace(self, reached=reached, left=left, centre=int(first[self.centre]), first=first)


@runtime_checkable
class Orbit(Protocol):
    """Moves that keep an example's label and density: what a plan, and the tests of its T, need to know of them."""

    @property
    def name(self) -> str:
        """What options and reports call it."""
        ...

    @property
    def described(self) -> str:
        """The versions of a picture, in words."""
        ...

    @property
    def is_group(self) -> bool:
        """Whether it is a finite group, so that each picture's arrangement in it can be declared to be arbitrary."""
        ...

    @property
    def radius(self) -> int:
        """Most pixels that a move shifts down or right; 0 where nothing is shifted."""
        ...

    @property
    def elements(self) -> tuple[int, ...]:
        """What is done to an example besides shifts, by number, nothing first: of pictures flips and turns, as in
        `heldout.orbit.square`; of options their orders. Only one where all moves are shifts."""
        ...

    def __len__(self) -> int: ...

    def margin(self, rule: Rule) -> int:
        """Pixels needed around the crop under a rule."""
        ...

    def check_shape(self, shape: tuple[int, int]) -> None:
        """InputError where crops of this height and width cannot be moved so."""
        ...

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """The versions that can matter under a rule, and the moves between them; `period` are the side lengths of
        pictures that are moved on a torus."""
        ...

    def statistic_range(self, rule: Rule) -> tuple[float, float]:
        """The interval that holds T under a rule, whatever the model and the data."""
        ...
