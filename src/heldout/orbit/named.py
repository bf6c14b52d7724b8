"""Orbits of pictures by the names that options have for them."""

from __future__ import annotations

from typing import Literal, get_args

from heldout.errors import InputError
from heldout.orbit.product import Product
from heldout.orbit.translations import Translations
from heldout.orbit.views import Dihedral, HorizontalFlip

PictureOrbit = Translations | HorizontalFlip | Dihedral | Product
OrbitName = Literal["translations", "flip", "dihedral", "translations+flip", "translations+dihedral"]
ORBITS: tuple[OrbitName, ...] = get_args(OrbitName)


def spelled_orbit(name: str) -> str:
    """The name of an orbit as it is listed, whatever the order of its parts; any other stays as it is.

    Examples
    --------
    >>> spelled_orbit("flip+translations"), spelled_orbit("turns")
    ('translations+flip', 'turns')
    """
    parts = sorted(name.split("+"))
    return next((known for known in ORBITS if sorted(known.split("+")) == parts), name)


def named_orbit(name: str, radius: int | None = None) -> PictureOrbit:
    """The orbit of this name; `radius` is needed where translations are a part of it, and refused where not.

    Examples
    --------
    >>> named_orbit("dihedral"), named_orbit("translations+flip", 2).name
    (Dihedral(), 'translations+flip')
    """
    name = spelled_orbit(name)
    if name not in ORBITS:
        raise InputError(f"`orbit` is {name!r}; choose one of {', '.join(ORBITS)}.")
    views = name.removeprefix("translations").removeprefix("+")
    groups: dict[str, HorizontalFlip | Dihedral] = {"flip": HorizontalFlip(), "dihedral": Dihedral()}
    group = groups.get(views)
    if group is not None and views == name:
        if radius is not None:
            raise InputError(f"`radius` is {radius!r}, but nothing is shifted in the orbit {name!r}; leave it out.")
        return group
    if radius is None:
        views_too = "" if group is None else f"heldout.{group!r} * "
        raise InputError(
            f"the orbit {name!r} needs a radius, which its name does not tell; give {views_too}heldout.Translations(2)."
        )
    return Translations(radius) if group is None else Product(group, Translations(radius))


def as_orbit(orbit: PictureOrbit | str) -> PictureOrbit:
    """What `orbit` of an audit means: moves of pictures, or the name of those that need no radius.

    Examples
    --------
    >>> as_orbit("dihedral"), as_orbit(Translations(2))
    (Dihedral(), Translations(radius=2))
    """
    if isinstance(orbit, str):
        return named_orbit(orbit)
    if not isinstance(orbit, PictureOrbit):
        raise InputError(
            f"`orbit` is {orbit!r}; it must be heldout.Translations(radius), heldout.HorizontalFlip(), "
            "heldout.Dihedral(), a product such as heldout.Dihedral() * heldout.Translations(2), or one of the names "
            "'flip' and 'dihedral'."
        )
    return orbit
