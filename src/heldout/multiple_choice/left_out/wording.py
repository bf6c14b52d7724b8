"""Options as words: what they share, and what is left of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

ARTICLES = frozenset(("a", "an", "the"))


def words_of(text: str) -> list[str]:
    """Words in small letters, without articles; signs that numbers and formulas are made of stay.

    Examples
    --------
    >>> words_of("The rate -- of growth, x^2 > 5%."), words_of("an A")
    (['rate', 'of', 'growth', 'x', '^', '2', '>', '5', '%'], ['a'])
    """
    found = re.findall(
        r"[^\W_]+(?:['’][^\W_]+)*|[-+−](?=[\d.(√πa-z])|[^\w\s.,;:!?\"'“”‘’()\[\]{}|–—-]", text.casefold()
    )
    last = len(found) - 1  # which is a name, as in "vitamin A"
    return [word for i, word in enumerate(found) if i == last or word not in ARTICLES]


def without_shared(words: Sequence[Sequence[str]]) -> list[list[str]]:
    """What is left of each option without the words that all of them have, in one number or the other.

    Examples
    --------
    >>> without_shared([["six", "weeks", "on"], ["one", "week", "on"]])
    [['six'], ['one']]
    """
    counts = [Counter(map(singular, own)) for own in words]
    shared = counts[0]
    for count in counts[1:]:
        shared = shared & count
    rests = []
    for own in words:
        left, rest = Counter(shared), []
        for word in own:
            if left[singular(word)] > 0 and not re.search(r"\d", word):
                left[singular(word)] -= 1
            else:
                rest.append(word)
        rests.append(rest)
    return rests


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """A word without the s of the plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def word_set(text: str) -> frozenset[str]:
    """The words of a text that is a list of them, for a constant."""
    return frozenset(text.split())


def some_nearly_same(words: Sequence[Sequence[str]]) -> bool:
    """Whether two of several options are nearly the same.

    Examples
    --------
    >>> some_nearly_same([["a", "red", "fox"], ["old", "oaks"], ["red", "a", "fox"]])
    True
    """
    kinds = [frozenset(map(singular, own)) for own in words]
    return any(
        len(kinds[i] - kinds[j]) <= 1 and len(kinds[j] - kinds[i]) <= 1 and nearly_same(words[i], words[j])
        for i, j in combinations(range(len(words)), 2)
    )


def nearly_same(a: Sequence[str], b: Sequence[str]) -> bool:
    """The same words in any order, or one of five or more exchanged, added or dropped."""
    if abs(len(a) - len(b)) > 1:
        return False
    first, second = Counter(map(singular, a)), Counter(map(singular, b))
    gone, new, common = (first - second).total(), (second - first).total(), (first & second).total()
    return gone == new == 0 or (common >= 4 and max(gone, new) <= 1)
