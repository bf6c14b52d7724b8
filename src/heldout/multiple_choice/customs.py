"""Options that custom gives an order: scales, pairs such as True and False, statements by number, ever longer lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from heldout.multiple_choice.wording import singular, word_set, words_of

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
_FILLERS = word_set(
    "it its they their he she this that these those will would is are was were be been being of to in the a an and or "
    "but has have had do does on at for"
)
_ROMAN = re.compile(r"(?:x{0,3})(?:ix|iv|v?i{0,3})")
_STATEMENTS = word_set(
    "i ii iii iv v vi 1 2 3 4 5 6 and or only both neither nor all none not but is are true false correct incorrect "
    "statement statements"
)
# Options that customarily come last.
_UNDECIDED = re.compile(
    r"""(?:it\s+|this\s+|the\s+answer\s+|the\s+\w+\s+)?(?:cannot|can\s*not|can['’]?t|could\s+not|is\s+impossible\s+to|
    is\s+not\s+possible\s+to)\s+(?:be\s+)?(?:determined?|known?|tell|told|say|said|answer(?:ed)?|inferred|decided?)\b.*
    |(?:there\s+is\s+)?(?:not\s+enough|insufficient|too\s+little)\s+(?:info|information|data|evidence).*
    |(?:i\s+)?(?:don['’]?t|do\s+not)\s+know|not\s+(?:sure|applicable|stated|known|given|determinable)|unknown|n/?a""",
    re.VERBOSE | re.IGNORECASE,
)


def is_customary(options: Sequence[str], rests: Sequence[Sequence[str]]) -> bool:
    """Whether custom gives the options an order: a scale, statements by number, names in a row, ever longer lists."""
    if any(_UNDECIDED.fullmatch(" ".join(re.sub(r"[.!?]+$", "", option).split())) for option in options):
        return True
    content = [[word for word in rest if word not in _FILLERS] for rest in rests]
    scale = [own for own in content if own]
    # One option may have lost all its words to those that the others share.
    if len(scale) >= len(content) - 1 and any(all(set(own) <= words for own in scale) for words in _SCALES):
        return True
    if all(set(words_of(option)) <= _STATEMENTS and len(words_of(option)) > 0 for option in options):
        return True
    if all(len(own) == 1 and (len(own[0]) == 1 or _ROMAN.fullmatch(own[0])) and own[0].isalnum() for own in rests):
        return True
    return len(options) >= 3 and _is_chain([set(map(singular, words_of(option))) - _FILLERS for option in options])


def _is_chain(words: Sequence[set[str]]) -> bool:
    """Whether each option holds all words of the next shorter one: "A", "A and B", "A, B and C"."""
    ordered = sorted(words, key=len)
    return all(a and a < b for a, b in pairwise(ordered))
