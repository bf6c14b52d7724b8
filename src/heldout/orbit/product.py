"""Flips and turns, and shifts after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heldout.errors import InputError
from heldout.orbit.rules import Rule
from heldout.orbit.square import INVERSE, MATRICES, PRODUCT, check_square
from heldout.orbit.table import Indices, MoveTable
from heldout.orbit.translations import Translations
from heldout.orbit.views import Dihedral, HorizontalFlip, WithoutLength, check_has_no_length


@dataclass(frozen=True)
class Product(WithoutLength):
    """All views of a group, each of them shifted: a move (g, v) flips or turns by g, then moves the content by v.

    A shift before g is another one after it, g tau_v = tau_gv g, so that every combination of moves is one of them, and
    `Translations(2) * Dihedral()` is the same product.
    Moves come by element first, then by shift in row-major order, and that order decides every tie. Where two moves
    lead to the same picture, as of one that is its own mirror image, the random rules count both, for T to sum to 0
    over all shifts; T of the rule "strongest" is the same as if pictures were counted.

    Parameters
    ----------
    group : HorizontalFlip or Dihedral
        The views.
    translations : Translations
        The shifts.

    Examples
    --------
    >>> from heldout import Dihedral, Translations
    >>> orbit = Dihedral() * Translations(2)
    >>> orbit, len(orbit), orbit.margin("strongest")
    (Product(group=Dihedral(), translations=Translations(radius=2)), 199, 6)
    """

    group: HorizontalFlip | Dihedral
    translations: Translations

    is_group = False

    def __post_init__(self) -> None:
        for name, kinds in (("group", (HorizontalFlip, Dihedral)), ("translations", (Translations,))):
            if not isinstance(getattr(self, name), kinds):
                wanted = " or ".join(f"heldout.{kind.__name__}" for kind in kinds)
                raise InputError(f"`{name}` of Product is {getattr(self, name)!r}; it must be {wanted}.")

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"{self.translations.name}+{self.group.name}"

    @property
    def described(self) -> str:
        """The versions of a picture, in words."""
        return f"{self.group.described}, {self.translations.described}"

    @property
    def elements(self) -> tuple[int, ...]:
        """Those of the group."""
        return self.group.elements

    @property
    def radius(self) -> int:
        """Of the translations."""
        return self.translations.radius

    def __len__(self) -> int:
        return len(self.elements) * (len(self.translations) + 1) - 1

    def margin(self, rule: Rule) -> int:
        """Pixels needed around the crop, as for translations alone: flips and turns are about its centre.

        Parameters
        ----------
        rule : {"strongest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        int
            Two or three times the radius.
        """
        check_has_no_length(rule, self.name)
        return self.translations.margin(rule)

    def check_shape(self, shape: tuple[int, int]) -> None:
        """InputError where pictures of this height and width cannot be moved so.

        Parameters
        ----------
        shape : (int, int)
            Height and width of what the model sees.
        """
        check_square(self.elements, shape, shifted=True)

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """All views, shifted as far as can matter, and the moves between them.

        Parameters
        ----------
        rule : {"strongest", "random", "random2"}
            How a move is chosen.
        period : (int, int), optional
            Side lengths of the torus, where shifts are cyclic.

        Returns
        -------
        MoveTable
            One position for each element and each shift of the table of the translations, elements first.
        """
        check_has_no_length(rule, self.name)
        if period is not None:
            self.check_shape(period)
        shifts = self.translations.shifts(rule, period=period)
        elements, n = np.array(self.elements), len(shifts.versions)
        place = np.full(len(PRODUCT), -1)
        place[elements] = np.arange(len(elements)) * n  # where the positions of an element begin
        versions = _pairs(elements, shifts.versions)
        moves = _pairs(elements, np.insert(self.translations.moves, len(self.translations) // 2, 0, axis=0))
        moves = np.delete(moves, len(self.translations) // 2, axis=0)  # the identity

        def moved(by: Indices) -> Indices:
            """h, then u: tau_u h tau_v g = tau_(u + hv) hg."""
            (h, u), (g, v) = (by[:, 0], by[:, 1:]), (versions[:, 0], versions[:, 1:])
            at = shifts.positions(np.einsum("kij,pj->pki", MATRICES[h], v) + u)
            return np.asarray(np.where(at < 0, -1, place[PRODUCT[h, g[:, None]]] + at))

        # tau_u h is undone by h^-1 tau_-u = tau_(-h^-1 u) h^-1.
        back = INVERSE[moves[:, 0]]
        undone = np.column_stack([back, -np.einsum("kij,kj->ki", MATRICES[back], moves[:, 1:])])
        return MoveTable(
            reached=moved(moves),
            left=moved(undone),
            centre=shifts.centre,
            moves=moves,
            versions=versions,
            elements=elements,
        )


def _pairs(elements: Indices, shifts: Indices) -> Indices:
    """(element, down, right), elements first."""
    return np.column_stack([np.repeat(elements, len(shifts)), np.tile(shifts, (len(elements), 1))])
