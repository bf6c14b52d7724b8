"""Finite groups: mirror images, and the eight views of a picture that has no upright side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from heldout.errors import InputError
from heldout.orbit.rules import Rule, check_rule, statistic_range
from heldout.orbit.square import IDENTITY, INVERSE, MIRRORED, PRODUCT, check_square
from heldout.orbit.table import MoveTable
from heldout.orbit.translations import Translations

if TYPE_CHECKING:
    from heldout.orbit.product import Product


class WithoutLength(ABC):
    """What orbits with flips and turns have in common: some moves have no length, so that none is the nearest."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call it."""

    @abstractmethod
    def __len__(self) -> int: ...

    def statistic_range(self, rule: Rule) -> tuple[float, float]:
        """The interval that holds T under this rule; see `heldout.orbit.statistic_range`.

        Parameters
        ----------
        rule : {"strongest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        lower, upper : float
            The ends.
        """
        check_has_no_length(rule, self.name)
        return statistic_range(rule, len(self))


class PictureGroup(WithoutLength):
    """What groups of flips and turns have in common; the views of a picture are numbered as in `heldout.orbit.square`.

    Whoever audits with a group declares that the arrangement of each picture is arbitrary: as likely any one of its
    views as any other, independently of all other pictures.
    """

    elements: ClassVar[tuple[int, ...]]  # the identity first; the order decides ties
    name: ClassVar[str]
    described: ClassVar[str]

    is_group = True
    radius = 0  # no view is shifted

    def __len__(self) -> int:
        return len(self.elements) - 1

    def __mul__(self, other: Any) -> Product:
        from heldout.orbit.product import Product  # which is made of these

        return Product(self, other) if isinstance(other, Translations) else NotImplemented  # type: ignore[arg-type]

    __rmul__ = __mul__  # shifts before a flip or a turn are others after it

    def margin(self, rule: Rule) -> int:
        """Pixels needed around the crop: none.

        Parameters
        ----------
        rule : {"strongest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        int
            0.
        """
        check_has_no_length(rule, self.name)
        return 0

    def check_shape(self, shape: tuple[int, int]) -> None:
        """InputError where pictures of this height and width cannot be moved so.

        Parameters
        ----------
        shape : (int, int)
            Height and width of what the model sees.
        """
        check_square(self.elements, shape)

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """All views, and the moves between them.

        Parameters
        ----------
        rule : {"strongest", "random", "random2"}
            How a move is chosen.
        period : (int, int), optional
            Side lengths of the pictures, where they are known.

        Returns
        -------
        MoveTable
            The same for every rule.
        """
        check_has_no_length(rule, self.name)
        if period is not None:
            self.check_shape(period)
        elements = np.array(self.elements)
        place = np.full(len(PRODUCT), -1)
        place[elements] = np.arange(len(elements))
        versions = np.stack([elements, *np.zeros((2, len(elements)), dtype=np.intp)], axis=1)
        return MoveTable(
            reached=place[PRODUCT[elements[1:], elements[:, None]]],
            left=place[PRODUCT[INVERSE[elements[1:]], elements[:, None]]],
            centre=0,
            moves=versions[1:],
            versions=versions,
            elements=elements,
            symmetries=place[PRODUCT[elements, elements[:, None]]],
            is_group=True,
        )


@dataclass(frozen=True)
class HorizontalFlip(PictureGroup):
    """A picture and its mirror image, left to right.

    For pictures that are as likely to be one as the other, which text, clocks, hands, light from one side and the
    orientation of a scanner rule out.
    `HorizontalFlip() * Translations(2)` shifts both.

    Examples
    --------
    >>> from heldout import HorizontalFlip, Translations
    >>> len(HorizontalFlip()), HorizontalFlip().statistic_range("strongest")
    (1, (-0.5, 0.5))
    >>> orbit = HorizontalFlip() * Translations(1)
    >>> orbit.name, len(orbit)
    ('translations+flip', 17)
    """

    elements: ClassVar = (IDENTITY, MIRRORED)
    name: ClassVar = "flip"
    described: ClassVar = "the picture and its mirror image"


@dataclass(frozen=True)
class Dihedral(PictureGroup):
    """The eight views of a square picture: four quarter-turns, and those of its mirror image.

    For pictures that stand in one of eight views, each of them equally likely beforehand, as can be said of cells,
    tissue and land seen from above. Not where they have an up after all: north at the top, light and shadows from one
    side, the orientation of a scanner. `Dihedral() * Translations(2)` shifts all of them.

    Examples
    --------
    >>> from heldout import Dihedral
    >>> len(Dihedral()), Dihedral().statistic_range("strongest")
    (7, (-0.875, 0.5))
    """

    elements: ClassVar = tuple(range(8))
    name: ClassVar = "dihedral"
    described: ClassVar = "the eight views of a picture, turned by quarters and mirrored"


def check_has_no_length(rule: Rule, name: str) -> None:
    """Refuse a rule that asks how far a flip or a turn goes."""
    check_rule(rule)
    if rule == "nearest":
        raise InputError(
            f"the rule 'nearest' needs moves with a length, which those of the orbit {name!r} do not have; "
            "use 'strongest'."
        )
