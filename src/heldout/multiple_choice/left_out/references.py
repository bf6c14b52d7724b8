"""Options that refer to other options, and questions that name options by their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from heldout.multiple_choice.left_out.wording import word_set

_MANY = (
    r"(?:all|none|any|both|neither|either|each|some|most|two|three|one|only one|more than one|combinations?|everything)"
)
_OTHERS = r"(?:option|choice|answer|alternative|response|statement|item|possibilit(?:y|ie)|other)s?"
_ORDINAL = r"(?:first|second|third|fourth|fifth|last|next|previous|preceding|above|below|former|latter|other)"
# Anywhere in an option: "all of the above", "none of the other choices", "option B", "the first two answers".
_REFERENCE = re.compile(
    rf"""
    \b{_MANY}\s+(?:of\s+)?(?:the\s+)?(?:above|below|foregoing|aforementioned|preceding\s+{_OTHERS})\b
    | \b(?:of|than|as)\s+(?:the\s+)?above\b(?!\s+(?:the|average|sea|ground|zero|normal)\b)
    | ^(?:the\s+)?above\b(?:\s+(?:are|is|mentioned|named|listed).*)?$
    | \b(?:listed|mentioned|given|named|stated|described)\s+(?:above|here|below)\b
    | \b{_MANY}\s+of\s+(?:the\s+)?(?:other|given|listed|following|previous|preceding)?\s*
      (?:options|choices|alternatives|answers|responses|others)\b
    | \b(?:the\s+)?{_ORDINAL}\s+(?:two\s+|three\s+|four\s+)?(?:option|choice|alternative|answer)s?\b
    | ^(?:but\s+|an?\s+)?{_MANY}\s+of\s+(?:these|those|them)\b
    | ^(?:but\s+)?(?:all|none|both|neither|either|each)\s+
      (?:is|are|was|were|have|has|had|do|does|can|may|would|will|must)\b
    | ^all\s+(?:two|three|four|five)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# An option that says nothing else: "none of these", "both", "neither one is correct", "all", "none", "other".
_ONLY_REFERENCE = re.compile(
    rf"""
    (?:{_MANY}(?:\s+one)?(?:\s+of)?(?:\s+(?:these|those|them|it))?(?:\s+{_OTHERS})?
      | (?:another|other|a\s+different|no\s+other|no\s+correct|no\s+{_OTHERS})(?:\s+{_OTHERS}|\s+one)?
      | something\s+else | not\s+(?:listed|given|any) | nothing | no\s+one | everyone | nobody)
    (?:\s+(?:is|are|were|was|apply|applies|would\s+be|can\s+be))?(?:\s+all)?
    (?:\s+(?:true|false|correct|right|incorrect|wrong|possible|apply|valid|equal(?:ly\s+\w+)?|required|needed))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_JOINT = r"(?:\s*(?:,|&|/|;|\+)\s*(?:and\s+|or\s+)?|\s+(?:and|or|nor|but\s+not|and\s+not)\s+|\s+)"
_TRUTH = (
    r"(?:\s+(?:only|both|alone|together|above|is|are|was|were|not|equally|true|false|correct|incorrect|right|wrong))*"
)
# One of these is in every text that _REFERENCE finds, or begins it: looking for them is quick.
_NEEDED = word_set("""
above below foregoing aforementioned preceding here option choice alternative answer response other these those them
""")
_BEGINNINGS = ("all", "none", "both", "neither", "either", "each", "but")
_BORNE = re.compile(r"[\[(]?([A-Z])[\]).:]\s*\S")
_CALLED = ("option", "choice", "answer", "alternative")


def bear_letters(options: Sequence[str], letters: str) -> bool:
    """Whether options have letters of their own, which tell the printed order in every other one.

    Examples
    --------
    >>> bear_letters(["(B) ash", "(A) oak"], "AB"), bear_letters(["B. subtilis", "E. coli"], "AB")
    (True, False)
    """
    found = [_BORNE.match(option) for option in options]
    return sorted(match[1] for match in found if match) == list(letters)


def refers(option: str, letters: str) -> bool:
    """Whether an option refers to others, or to letters that options go by.

    Examples
    --------
    >>> [refers(text, "ABCD") for text in ("Both A and C.", "(B) (C) and (D)", "All of the above", "Neither", "a")]
    [True, True, True, True, False]
    >>> [refers(text, "ABCD") for text in ("All have the same speed", "Each of these", "All three structures")]
    [True, True, True]
    >>> [refers(text, "ABCD") for text in ("above 50 °C", "all colors together", "Vitamin A", "A and T")]
    [False, False, False, False]
    """
    text = " ".join(re.sub(r"[.!?]+$", "", option.strip()).split())
    bare = re.sub(r"[\"'“”‘’]", "", text)
    small = bare.casefold()
    may = small.startswith(_BEGINNINGS) or any(word in small for word in _NEEDED)
    if (may and _REFERENCE.search(bare)) or _ONLY_REFERENCE.fullmatch(re.sub(r"[,;:]", "", bare)):
        return True
    return _names_letters(bare, letters)


def _names_letters(text: str, letters: str) -> bool:
    """ "A and B", "both (a) and (c) are true", "only B", "option D": letters of options, and nothing else but that."""
    several, single = _letter_patterns(letters)
    return several.fullmatch(text) is not None or single.fullmatch(text) is not None


@cache
def _letter_patterns(letters: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    name = rf"(?:\(?[{letters}{letters.lower()}]\)|[{letters}]|[{letters.lower()}](?=\W|$))"
    one = rf"(?:(?:option|choice|answer|alternative|statement|response)s?\s+)?{name}"
    several = rf"(?:both\s+|either\s+|neither\s+|only\s+|all\s+of\s+|all\s+)?{one}(?:{_JOINT}{one})+{_TRUTH}"
    single = (
        rf"(?:(?:only|just|neither|not)\s+{one}{_TRUTH}"
        rf"|{one}\s+(?:only|alone|above|is\s+(?:true|correct|false|incorrect))"
        rf"|(?:option|choice|answer|alternative)\s+{name}(?:\s+.*)?|same\s+as\s+{one}|both\s+{one}\s+and\s+.+)"
    )
    return re.compile(several), re.compile(single, re.IGNORECASE)


def names_places(question: str, letters: str) -> bool:
    """Whether a question names an option by its place, or has a list of its own under the options' letters."""
    small, (first, second, listed) = question.casefold(), _place_patterns(letters)
    called = any(word in small for word in _CALLED)
    if called and (first.search(question) or second.search(question)):
        return True
    return all(letter in question for letter in letters[:2]) and all(mark.search(question) for mark in listed)


@cache
def _place_patterns(letters: str) -> tuple[re.Pattern[str], re.Pattern[str], tuple[re.Pattern[str], ...]]:
    named = rf"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Aa]lternative)s?\s+\(?(?:[{letters}]\b(?!\s+[a-z]+ing\b)|[1-9]\b)\)?"
    placed = (
        r"\b(?:first|second|third|fourth|fifth|last)\s+(?:option|choice|answer|alternative)\b(?!\s+(?:to|of|for)\b)"
    )
    listed = (rf"(?:^|[\s;,])\(?{letter}[).:]\s" for letter in letters[:2])
    return (
        re.compile(named),
        re.compile(placed, re.IGNORECASE),
        tuple(re.compile(mark, re.MULTILINE) for mark in listed),
    )
