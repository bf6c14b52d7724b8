"""Names, and lists of them, as a sentence has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

TURNS = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # controls of direction
ISOLATE, ISOLATE_END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"  # around a name in a sentence
SUBSCRIPT = "\N{INVISIBLE SEPARATOR}"  # before the index of a symbol; an underscore where there are no subscripts
_SYMBOL = re.compile(rf"({ISOLATE}[^{ISOLATE_END}]*)|(?<![\w./-])([A-Za-z])_([A-Za-z]{{1,3}})(?![\w/-]|\.\w)")
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


def symbols(text: str) -> str:
    """Text whose k_S, R_g and k_max are symbols, set with a subscript where there is one; names in it stay names.

    Sentences, headings, captions and the labels of axes are read so anyway; cells and the names of lines and rows are
    taken as they are, since a model may be called k_max.

    Examples
    --------
    >>> symbols("k_S of k_max.npz") == f"k{SUBSCRIPT}S of k_max.npz"
    True
    """
    return _SYMBOL.sub(lambda m: m[1] or f"{m[2]}{SUBSCRIPT}{m[3]}", text)


def as_it_is(name: str) -> str:
    """A name of any length, kept as it is; see `quoted`."""
    return f"{ISOLATE}{name.translate(TURNS)}{ISOLATE_END}"


def quoted(name: str) -> str:
    """A name inside a sentence, kept as it is by every renderer: no mark in it is obeyed and no k_S set as a symbol.

    It stands between Unicode's isolates, which are not shown. A name that is all of a cell, of a row's name or of a
    line's name needs none.

    Examples
    --------
    >>> quoted("a**b**") == "\N{FIRST STRONG ISOLATE}a**b**\N{POP DIRECTIONAL ISOLATE}"
    True
    """
    return as_it_is(name_text(name))


def names_text(names: Sequence[str], most: int = 12) -> str:
    """Every name once, quoted, with how often it comes where it comes more than once; how many more after the first.

    Examples
    --------
    >>> print(names_text(["a", "b", "a"]).translate(TURNS), names_text(["a", "b", "c"], 2).translate(TURNS), sep="; ")
    a (× 2) and b; a, b and 1 more
    """
    texts = [quoted(name) + (f" (× {k})" if k > 1 else "") for name, k in Counter(names).items()]
    rest = len(texts) - most
    return f"{', '.join(texts[:most])} and {rest:,} more" if rest > 0 else listed(texts)


def class_text(number: int, names: Sequence[str] | None) -> str:
    """A class by name where it has one.

    Examples
    --------
    >>> class_text(1, ("cat", "dog")), class_text(7, ("cat", "dog")), class_text(0, None)
    ('dog', 'class 7', 'class 0')
    """
    return names[number] if names is not None and 0 <= number < len(names) else f"class {number}"


def that_hold(*rows: tuple[object, str]) -> tuple[str, ...]:
    """The sentences whose condition holds.

    Examples
    --------
    >>> that_hold((True, "It is."), (None, "It is not."))
    ('It is.',)
    """
    return tuple(sentence for holds, sentence in rows if holds)


def listed(parts: Sequence[str]) -> str:
    """Parts as a sentence lists them.

    Examples
    --------
    >>> listed(["fog"]), listed(["fog", "snow"]), listed(["fog", "snow", "frost"])
    ('fog', 'fog and snow', 'fog, snow and frost')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
