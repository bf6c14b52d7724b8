"""What moves are called: shifts, mirror images and quarter-turns, one by one and together."""

from __future__ import annotations

from heldout import summary as page
from heldout.orbit.named import PictureOrbit
from heldout.orbit.square import NAMES, has_turns

FRAMED = {
    "wrap": "cyclic translations (what leaves on one side comes in on the other)",
    "pad": "translations of padded pictures (what comes in is padding)",
    **dict.fromkeys(("crop", "upsample"), "crop translations (a window moved over a larger picture)"),
}


def kinds(orbit: PictureOrbit) -> str:
    """What is done to a picture.

    Examples
    --------
    >>> from heldout import Dihedral, HorizontalFlip, Translations
    >>> kinds(HorizontalFlip() * Translations(1)), kinds(Dihedral())
    ('small shifts and mirror images', 'mirror images and quarter-turns')
    """
    parts = ["small shifts"] * bool(orbit.radius) + ["mirror images"] * (not only_shifts(orbit))
    return page.listed(parts + ["quarter-turns"] * has_turns(orbit.elements))


def only_shifts(orbit: PictureOrbit) -> bool:
    """Whether nothing is mirrored or turned."""
    return len(orbit.elements) == 1


def declared(orbit: PictureOrbit, *, is_verdict: bool) -> str:
    """What the orbit test takes for granted: declared by the choice of a finite group, if it is the verdict."""
    likely = f"the view in which a picture stands is one of {len(orbit) + 1} that were equally likely beforehand"
    if is_verdict:
        return f"Choosing this orbit declares that {likely}. Nothing tests that."
    return f"The orbit test takes for granted that {likely}; the verdict, which compares with the control, does not."


def usual_view(orbit: PictureOrbit) -> str:
    """Where that is wrong, and what follows.

    Examples
    --------
    >>> from heldout import HorizontalFlip
    >>> usual_view(HorizontalFlip()).partition(", a model")[0]
    'Where pictures have a usual side (text, clothes, light from one side, the orientation of a scanner)'
    """
    marks = "a usual side (text, clothes, light"
    if has_turns(orbit.elements):
        marks = "an up (digits, clothes, north at the top, light and shadows"
    return (
        f"Where pictures have {marks} from one side, the orientation of a scanner), a model that knows nothing of the "
        "test set can prefer the usual view through its training set, and the orbit test rejects."
    )


def copies(orbit: PictureOrbit) -> str:
    """What a picture as it stands is compared with.

    Examples
    --------
    >>> from heldout import Dihedral, HorizontalFlip, Translations
    >>> copies(Translations(1)), copies(Dihedral()), copies(HorizontalFlip() * Translations(1))
    ('shifts', 'other views', 'moved copies')
    """
    if orbit.is_group:
        return "other views"
    return "shifts" if only_shifts(orbit) else "moved copies"


def neutral(orbit: PictureOrbit, tolerance: float = 0.0) -> str:
    """What is assumed of the moves, as a clause.

    Examples
    --------
    >>> from heldout import Dihedral, HorizontalFlip, Translations
    >>> neutral(Translations(1)), neutral(HorizontalFlip() * Translations(1), 0.1)
    ('small shifts are neutral', 'small shifts and mirror images are neutral up to 0.1')
    >>> neutral(Dihedral())
    'every view of a picture was as likely as the others'
    """
    if orbit.is_group:
        return "every view of a picture was as likely as the others"
    return f"{kinds(orbit)} are neutral" + f" up to {tolerance}" * bool(tolerance)


def all_moves(orbit: PictureOrbit, frame: str) -> str:
    """The orbit in words, and how many moves it has."""
    if orbit.is_group:
        return f"{orbit.name}, {orbit.described}: {len(orbit)} move{'s' * (len(orbit) > 1)}"
    shifts = f"{FRAMED.get(frame, 'translations')}, radius {orbit.radius}"
    if only_shifts(orbit):
        return f"{shifts}: {len(orbit)} moves down, up, left and right"
    views = f"{len(orbit.elements)} views of a picture, mirrored{' and turned' * has_turns(orbit.elements)}"
    return f"{orbit.name}: {shifts}, of {views}: {len(orbit)} moves"


def move_text(move: tuple[int, ...]) -> str:
    """A move, (down, right) or (view, down, right), in words.

    Examples
    --------
    >>> move_text((3, 1)), move_text((-2, 0)), move_text((0, -1)), move_text((0, 0))
    ('3 down, 1 right', '2 up', '1 left', 'not moved')
    >>> move_text((4, 0, 1)), move_text((2, 0, 0)), move_text((0, 0, 0))
    ('mirrored left to right, 1 right', 'turned by 180 degrees', 'not moved')
    """
    element, shift = (move[0], move[1:]) if len(move) == 3 else (0, move)
    ways = (("down", "up"), ("right", "left"))
    steps = [f"{abs(k)} {way[k < 0]}" for k, way in zip(shift, ways, strict=True) if k]
    return ", ".join([NAMES[element]] * bool(element) + steps) or "not moved"
