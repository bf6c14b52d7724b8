"""Names, and lists of them, as a sentence has them."""

from __future__ import annotations

from collections.abc import Sequence

TURNS = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # controls of direction
LONGEST = 40  # characters of a name inside a sentence


def shorten(name: str, most: int) -> str:
    """A long name with its middle left out: what tells versions apart stands at the end.

    Examples
    --------
    >>> shorten("shake_shake_26_2x64d_SSI_cutout16", 20), shorten("resnet50", 20)
    ('shake_shake…cutout16', 'resnet50')
    """
    if len(name) <= most:
        return name
    tail = (most - 1) * 2 // 5 + 1
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def name_text(name: str) -> str:
    """A name that is not too long, and without the characters that reverse the text around it.

    Examples
    --------
    >>> name_text("resnet\N{RIGHT-TO-LEFT OVERRIDE}50")
    'resnet50'
    """
    return shorten(name.translate(TURNS), LONGEST)


def listed(parts: Sequence[str]) -> str:
    """Parts as a sentence lists them.

    Examples
    --------
    >>> listed(["fog"]), listed(["fog", "snow"]), listed(["fog", "snow", "frost"])
    ('fog', 'fog and snow', 'fog, snow and frost')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
