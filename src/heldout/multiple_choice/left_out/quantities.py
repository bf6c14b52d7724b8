"""Options that are numbers, quantities or dates: whatever stands in an order of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from heldout.multiple_choice.left_out.wording import word_set

UNITS = word_set("""
% ‰ ° º $ € £ ¥ ¢ ′ ″ percent percentage pct point points degree degrees deg celsius fahrenheit kelvin dollar dollars
cent cents euro euros pound pounds usd eur gbp yen rupees rs times time fold time's
mm cm dm m km nm µm μm um pm meter meters metre metres kilometer kilometers kilometre kilometres centimeter centimeters
centimetre millimeter millimeters micrometer nanometer inch inches in ft foot feet yard yards yd mile miles mi
light-year parsec parsecs acre acres hectare hectares ha
mg g kg µg ug ng gram grams kilogram kilograms milligram milligrams ton tons tonne tonnes t lb lbs oz ounce ounces
s sec secs second seconds ms min mins minute minutes h hr hrs hour hours day days week weeks month months year years yr
decade decades generation generations
l ml dl cl liter liters litre litres milliliter milliliters gallon gallons quart pint cup cups cc
n newton newtons j kj mj joule joules ev kev mev gev w kw mw watt watts v kv mv volt volts a ma amp amps ampere amperes
ohm ohms ω hz khz mhz ghz hertz pa kpa mpa atm bar torr mmhg psi c k f mol moles mole mmol meq molar dalton da kda
coulomb coulombs tesla farad henry weber rad radian radians rpm cal kcal calorie calories btu
bit bits byte bytes kb mb gb tb bp kbp kb/s dpi
sq square cubic squared cubed
people persons person individuals units unit items pieces atoms atom electrons protons neutrons bonds members votes
chromosomes pairs rows columns ways
""")
WORDS = word_set("""
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million
millions billion billions trillion dozen half halves third thirds quarter quarters fourth fourths fifth fifths sixth
sixths seventh eighth eighths tenth tenths hundredth single double triple twice once thrice couple pi infinity infinite
""")
# What may stand between numbers: signs, LaTeX, and words that compare or join.
BETWEEN = word_set(r"""
+ - − – / * × · ÷ = < > ≤ ≥ ≠ ± ~ ≈ ≅ ^ √ π ∞ \ & # @ ⁄ : frac dfrac tfrac sqrt times cdot pi circ infty text mathrm
left right le ge leq geq pm approx rm ln log e i x
to and or of by per between from about approximately around roughly at least most more less than over under up exactly
only nearly almost above below through until greater fewer equal not no rate ratio in
increase increases increased decrease decreases decreased rise rises fall falls gain loss gains profit higher lower
positive negative minus plus
""")
_SPECIAL = re.compile(r"(?:is\s+)?(?:undefined|infinity|infinite|does\s+not\s+exist|no\s+(?:real\s+)?solutions?|dne)")
_SPECIAL_WORDS = word_set("undefined infinity infinite exist solution solutions dne")
_NUMBER = re.compile(
    rf"(?:0x[0-9a-f]+|\d+(?:e\d+|st|nd|rd|th|s|{'|'.join(map(re.escape, sorted(UNITS, key=len, reverse=True)))})?)"
)
_ROMAN = re.compile(r"(?=.)m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
MONTHS = word_set("""
january february march april may june july august september october november december jan feb mar apr jun jul aug sep
sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
""")
ERAS = word_set("century centuries bc bce ad ce noon midnight o'clock am pm bp")
BESIDE_DATES = word_set("""
b c e a d m p early late mid middle about around circa ca in on of to and or from between until through since by before
after the year years day days month decade decades beginning end first second third fourth last half quarter morning
afternoon evening night today tomorrow yesterday spring summer autumn winter - – : / ago present era
""")
_YEAR = re.compile(r"1\d\d\d|20\d\d|\d{3,4}s|\d\ds")
_PLACED = re.compile(r"\d+(?:st|nd|rd|th|s)?")


def may_be_counted(words: Sequence[str]) -> bool:
    """Whether a number or a date is among the words of an option, or what may stand for one."""
    return any(map(_may_count, words))


@lru_cache(maxsize=1 << 16)  # most words come again and again
def _may_count(word: str) -> bool:
    known = word in MONTHS or word in ERAS or word in _SPECIAL_WORDS
    return known or _is_number(word) or _ROMAN.fullmatch(word) is not None


def are_quantities(options: Sequence[str], rests: Sequence[Sequence[str]]) -> bool:
    """Whether all options are numbers, with units or without, once the words that all share are gone; one may be
    "undefined" or the like.

    Examples
    --------
    >>> from heldout.multiple_choice.left_out.wording import without_shared, words_of
    >>> def check(*texts):
    ...     return are_quantities(texts, without_shared([words_of(text) for text in texts]))
    >>> check("3/4", "-2.5"), check("$1,000", "5 percent less"), check("Louis XIV", "Louis XVI"), check("H2O", "CO2")
    (True, True, True, False)
    """
    special = [_SPECIAL.fullmatch(" ".join(option.casefold().strip(" .").split())) is not None for option in options]
    if sum(special) > 1:
        return False
    left = [rest for rest, is_special in zip(rests, special, strict=True) if not is_special]
    return all(map(_is_quantity, left)) or all(
        len(rest) == 1 and _ROMAN.fullmatch(rest[0]) is not None for rest in left
    )


def is_number_word(option: str) -> bool:
    """Whether an option is one word for a number, and nothing else.

    Examples
    --------
    >>> is_number_word("Two."), is_number_word("two of these"), is_number_word("2")
    (True, False, False)
    """
    return option.strip(" .").casefold() in WORDS


def _is_quantity(words: Sequence[str]) -> bool:
    counted = [_is_number(word) for word in words]
    return any(counted) and all(
        number or word in UNITS or word in BETWEEN for word, number in zip(words, counted, strict=True)
    )


def _is_number(word: str) -> bool:
    return word in WORDS or word in "π∞" or _NUMBER.fullmatch(word) is not None or all(map(str.isnumeric, word))


def are_dates(options: Sequence[str], rests: Sequence[Sequence[str]]) -> bool:
    """Whether all options are dates, years, months, days of the week or times of the day.

    Examples
    --------
    >>> from heldout.multiple_choice.left_out.wording import without_shared, words_of
    >>> def check(*texts):
    ...     return are_dates(texts, without_shared([words_of(text) for text in texts]))
    >>> check("March 5, 1770", "in July 1776"), check("the 1920s", "5th century B.C."), check("10:30", "9:15 a.m.")
    (True, True, True)
    >>> check("12", "15"), check("May", "June", "Alice")
    (False, False)
    """
    return all(_is_date(option, rest) for option, rest in zip(options, rests, strict=True))


def _is_date(option: str, words: Sequence[str]) -> bool:
    text = option.casefold()
    tells = (
        any(word in MONTHS or word in ERAS or _YEAR.fullmatch(word) for word in words)
        or re.search(r"\d\s*:\s*\d\d\b", text) is not None
        or re.search(r"\b(?:b\.c|a\.d|[ap]\.?m)\b", text) is not None
        or ("century" in text and any(map(_PLACED.fullmatch, words)))
    )
    return tells and all(
        word in MONTHS or word in ERAS or word in BESIDE_DATES or _PLACED.fullmatch(word) is not None for word in words
    )
