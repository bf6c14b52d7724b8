"""Whether printed orders look arbitrary: options that stand in alphabetical order, or by their length.

Items cannot be left out for standing sorted, but a benchmark can be told to be so. It happens: of 49 items of MMLU's
anatomy, mostly with short options and none of them left out, 35 have their wrong options in alphabetical order, where 8
have by chance; of 42 of its miscellaneous ones 11, where 7 have.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.multiple_choice.items import Item

SORTED = 0.001  # p of a habit that is told: two are looked for in every benchmark
BY = {
    "alphabet": "in alphabetical order",
    "reverse alphabet": "in reverse alphabetical order",
    "length": "from short to long",
    "reverse length": "from long to short",
}


@dataclass(frozen=True)
class SortedCheck:
    """How often options stand sorted, against what chance gives.

    Parameters
    ----------
    by : str
        "alphabet" or "length", with "reverse" before it where more items fall than rise, against chance.
    n_items : int
        Items that can tell: with two wrong options or more; with two options where both places hold answers. By length
        only those in which no two of them are as long.
    n_sorted, expected : int, float
        Items whose wrong options (of two options: both) stand so, and how many do by chance.
    p_value : float
        That so many rise or so many fall by chance, twice the smaller one; exact, whatever the law of the answer's
        position. NaN where no item can tell.
    """

    by: str
    n_items: int
    n_sorted: int
    expected: float
    p_value: float

    @property
    def is_found(self) -> bool:
        """Whether options stand sorted more often than by chance."""
        return self.p_value <= SORTED


def sorted_checks(items: Sequence[Item]) -> tuple[SortedCheck, ...]:
    r"""Whether options were printed in alphabetical order, or by their length, more often than by chance.

    Where the answer may stand anywhere but the rest of the order is uniform, the :math:`k - 1` wrong options of an item
    stand in a given order with probability :math:`1 / (k - 1)!`; of :math:`n_k` items with k options a binomial number
    do. Of two options one is wrong, and it is the answer's place that tells: of n items of a stratum with the answer
    first a times in print and b times by the key, x times in both,

    .. math:: n - a - b + 2x, \qquad x \sim \text{Hypergeometric}(n, a, b),    \tag{1}

    stand sorted, as in Fisher's exact test. The law of all items is that of the sum.

    Parameters
    ----------
    items : sequence of Item
        Those that are not left out.

    Returns
    -------
    tuple of SortedCheck
        By alphabet and by length.
    """
    return tuple(_sorted_check(items, by) for by in ("alphabet", "length"))


def _key(option: str, by: str) -> tuple[str, str] | int:
    return (option.casefold(), option) if by == "alphabet" else len(option)


def _sorted_check(items: Sequence[Item], by: str) -> SortedCheck:
    from scipy.stats import binom, hypergeom  # takes longer to load than everything else here

    counted: Counter[int] = Counter()
    rising = falling = 0
    pairs: dict[str, list[tuple[bool, bool]]] = defaultdict(list)  # by stratum: answer first in print, and by the key
    for item in items:
        keys: list = [_key(option, by) for option in item.options]  # type: ignore[type-arg]
        own = keys.pop(item.answer)
        if len(keys) == 1:
            if own != keys[0]:
                pairs[item.stratum].append((item.answer == 0, own < keys[0]))
        elif len(set(keys)) == len(keys):
            counted[len(keys)] += 1
            rising += keys == sorted(keys)
            falling += keys == sorted(keys, reverse=True)
    up, down = [np.ones(1)], [np.ones(1)]
    for k, n in counted.items():
        law = binom.pmf(np.arange(n + 1), n, 1 / math.factorial(k))
        up.append(law)
        down.append(law)
    n_items = counted.total()
    for told in pairs.values():
        n, a, b = len(told), sum(first for first, _ in told), sum(least for _, least in told)
        x = np.arange(max(0, a + b - n), min(a, b) + 1)
        if len(x) == 1:
            continue  # all answers at one place, or all first by the key: nothing can be told
        law = np.zeros(n + 1)
        law[n - a - b + 2 * x] = hypergeom.pmf(x, n, a, b)  # (1)
        agree = sum(first == least for first, least in told)
        rising, falling, n_items = rising + agree, falling + n - agree, n_items + n
        up.append(law)
        down.append(law[::-1])
    if not n_items:
        return SortedCheck(by, 0, 0, 0.0, math.nan)
    found = [(_tail(laws, hits), _mean(laws), hits) for laws, hits in ((up, rising), (down, falling))]
    reverse = found[1][0] < found[0][0]
    p, expected, hits = found[reverse]
    return SortedCheck(f"reverse {by}" if reverse else by, n_items, hits, expected, min(1.0, 2 * p))


def _tail(laws: Iterable[NDArray[np.float64]], hits: int) -> float:
    """Chance that a sum of independent counts is at least so large."""
    whole = np.ones(1)
    for law in laws:
        whole = np.convolve(whole, law)
    return min(1.0, float(whole[hits:].sum()))


def _mean(laws: Iterable[NDArray[np.float64]]) -> float:
    return sum(float(law @ np.arange(len(law))) for law in laws)
