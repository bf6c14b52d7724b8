"""Options that custom gives an order: scales, pairs such as True and False, statements by number, ever longer lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from heldout.multiple_choice.left_out.wording import singular, without_shared, word_set

# Words of which all options are made where they are points of a scale, or a grid of two ("True, False").
_SCALES = [
    word_set(words)
    for words in (
        "true false correct incorrect right wrong valid invalid not sometimes statement i ii 1 2 both neither unknown",
        "yes no maybe not sure unsure unknown perhaps possibly probably definitely only if can tell",
        "agree disagree strongly somewhat neutral neither nor slightly undecided no opinion",
        "always usually often frequently sometimes occasionally rarely seldom never almost hardly ever",
        "none some few many most all several half every no more less",
        "low lower lowest medium moderate average middle mid intermediate high higher highest very extremely normal",
        "small smaller smallest medium moderate large larger largest big bigger huge tiny very",
        "weak weaker weakest moderate strong stronger strongest very mild severe minimal extreme slight none absent",
        "poor fair good excellent bad satisfactory unsatisfactory average outstanding very best worst better worse",
        "increase increases increased increasing decrease decreases decreased decreasing rise rises rising fall falls "
        "falling grow grows shrink shrinks unchanged constant change changes no not stay stays remain remains same up "
        "down first then slightly double doubles halve halves triple quadruple doubled halved tripled reduced raised "
        "initially by factor two half twice greatly both either affected effect cannot determined",
        "greater less more fewer smaller larger higher lower equal than same as or zero equals exactly",
        "positive negative neutral zero undefined none nor neither no not slightly strongly very",
        "before during after past present future early earlier late later never same time as at now soon",
        "first second third fourth fifth sixth seventh eighth ninth tenth last",
        "left right up down upward downward upwards downwards upper lower top bottom middle center centre inward "
        "outward inwards outwards forward backward above below clockwise counterclockwise anticlockwise into out page "
        "both",
        "north south east west northeast northwest southeast southwest northern southern eastern western",
        "spring summer autumn fall winter",
        "beginner elementary intermediate advanced expert primary secondary tertiary quaternary",
        "morally wrong not",
        "necessary sufficient both neither nor not but and",
        "independent dependent both neither nor",
        "acidic basic neutral",
        "solid liquid gas plasma",
        "odd even both neither zero prime",
        "male female both neither either",
        "likely unlikely certain impossible possible very equally probable improbable",
    )
]
_ON_SCALES = frozenset[str]().union(*_SCALES)
_FILLERS = word_set(
    "it its they their he she this that these those will would is are was were be been being of to in the a an and or "
    "but has have had do does on at for"
)
_JOINING = word_set("and or only both neither nor not correct true false incorrect")
_STATEMENTS = _JOINING | word_set("i ii iii iv v vi 1 2 3 4 5 6 all none but is are statement statements")
# With one of which each option begins: "Yes, because", "No, unless".
_PAIRS = [
    {"yes", "no"},
    {"true", "false"},
    {"correct", "incorrect"},
    {"valid", "invalid"},
    {"guilty", "not"},
    {"legal", "illegal"},
    {"liable", "not"},
    {"constitutional", "unconstitutional"},
    {"admissible", "inadmissible"},
]
# Options that customarily come last.
_UNDECIDED = re.compile(
    r"""(?:it\s+|this\s+|the\s+answer\s+|the\s+\w+\s+)?(?:cannot|can\s*not|can['’]?t|could\s+not|is\s+impossible\s+to|
    is\s+not\s+possible\s+to)\s+(?:be\s+)?(?:determined?|known?|tell|told|say|said|answer(?:ed)?|inferred|
    decided?|predict|predicted|comment)\b.*|nothing\s+can\s+be\s+(?:determined|said|inferred)
    |(?:there\s+is\s+)?(?:not\s+enough|insufficient|too\s+little|needs?\s+more)\s+(?:info|information|data|evidence).*
    |(?:i\s+)?(?:don['’]?t|do\s+not)\s+know|not\s+(?:sure|applicable|stated|known|given|determinable)|unknown|n/?a""",
    re.VERBOSE | re.IGNORECASE,
)


def may_be_on_a_scale(words: Sequence[str]) -> bool:
    """Whether a word of some scale is among those of an option."""
    return not _ON_SCALES.isdisjoint(words)


def is_customary(options: Sequence[str], words: Sequence[Sequence[str]]) -> bool:
    """Whether custom gives the options an order, or a place to one of them.

    Examples
    --------
    >>> from heldout.multiple_choice.left_out.wording import words_of
    >>> def check(*texts):
    ...     return is_customary(texts, [words_of(text) for text in texts])
    >>> check("Yes, since", "No, but"), check("I only", "I and II"), check("group A", "group B")
    (True, True, True)
    >>> check("lip", "lip and jaw", "lip, jaw and nose"), check("iron", "zinc", "Not enough information")
    (True, True)
    >>> check("more heat", "less heat", "more work", "less work"), check("iron", "zinc", "a rising tide", "no heat")
    (True, False)
    """
    return (
        any(_UNDECIDED.fullmatch(" ".join(re.sub(r"[.!?]+$", "", option).split())) for option in options)
        or are_statements(words)
        or _are_letters(words)
        or any({own[0] for own in words if own} == pair for pair in _PAIRS)
        or _is_only_or_both(words)
        or _is_chain(words)
        or _is_grid(words)
    )


def are_statements(words: Sequence[Sequence[str]]) -> bool:
    """Whether the options name statements by their numbers: "I only", "I and II", "neither 1 nor 2"."""
    joined = any(not _JOINING.isdisjoint(own) for own in words)
    return joined and all(set(own) <= _STATEMENTS for own in words)


def is_scale(rests: Sequence[Sequence[str]]) -> bool:
    """Whether all options are points of one scale; one of them may have lost all its words to those they share."""
    content = [set(rest) - _FILLERS for rest in rests]
    told = [own for own in content if own]
    return len(told) >= max(2, len(content) - 1) and any(all(own <= words for own in told) for words in _SCALES)


def _is_only_or_both(words: Sequence[Sequence[str]]) -> bool:
    """ "X only", "Y only", "both X and Y"."""
    told = [own for own in words if own]  # not of "?" or "()"
    alone = sum(own[0] == "only" or own[-1] == "only" for own in told)
    return alone >= 2 or (alone == 1 and any(own[0] in ("both", "neither", "either") for own in told))


def _are_letters(words: Sequence[Sequence[str]]) -> bool:
    """ "Vitamin A", "vitamin C", "vitamin K"."""
    if not all(any(len(word) == 1 and word.isalpha() for word in own) for own in words):
        return False
    return all(len(own) == 1 and len(own[0]) == 1 and own[0].isalpha() for own in without_shared(words))


def _is_chain(words: Sequence[Sequence[str]]) -> bool:
    """Whether each of three options or more holds all words of the next shorter one: "X", "X and Y", "X, Y and Z"."""
    if len(words) < 3 or len(set(map(len, words))) < len(words):
        return False
    ordered = sorted((set(map(singular, own)) - _FILLERS for own in words), key=len)
    return all(a and a < b for a, b in pairwise(ordered))


def _is_grid(words: Sequence[Sequence[str]]) -> bool:
    """Whether four options are all combinations of two things with two things: XY + xy = Xy + xY, word by word."""
    if len(words) != 4 or sum(map(len, words)) % 2:
        return False
    all_words = sorted(singular(word) for own in words for word in own)
    if all_words[::2] != all_words[1::2]:  # each word is there in one of the pairs as often as in the other
        return False
    first, *others = (Counter(map(singular, own)) for own in words)
    total = sum(others, first)
    return any(first + other == total - (first + other) for other in others)
