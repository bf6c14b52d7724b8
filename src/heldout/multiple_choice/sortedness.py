"""Whether printed orders look arbitrary: options that stand in alphabetical order, by their length, or as elsewhere.

Items cannot be left out for standing sorted, but a benchmark can be told to be so. It happens: of 49 items of MMLU's
anatomy, mostly with short options and none of them left out, 35 have their wrong options in alphabetical order, where 8
have by chance; of 42 of its miscellaneous ones 11, where 7 have.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from heldout.multiple_choice.items import Item

SORTED = 0.001  # p of a habit that is told: three are looked for in every benchmark
BY = {
    "alphabet": "in alphabetical order",
    "reverse alphabet": "in reverse alphabetical order",
    "length": "from short to long",
    "reverse length": "from long to short",
    "other items": "in the order that they have in other items",
}
DRAWS, HITS = 1999, 20  # of arrangements, and as extreme ones after which no more are drawn


@dataclass(frozen=True)
class SortedCheck:
    """How often options stand sorted, against what chance gives.

    Parameters
    ----------
    by : str
        "alphabet" or "length", with "reverse" before it where more items fall than rise, against chance; "other items"
        where two items share wrong options.
    n_items : int
        Items that can tell: with two wrong options or more; with two options where both places hold answers. By length
        only those in which no two of them are as long. By "other items": times that two items share two wrong options.
    n_sorted, expected : int, float
        Items whose wrong options (of two options: both) stand so, or times that they stand alike; and how many do by
        chance.
    p_value : float
        That so many rise or so many fall by chance, twice the smaller one, or that so many are alike; exact, whatever
        the law of the answer's position. NaN where no item can tell.
    """

    by: str
    n_items: int
    n_sorted: int
    expected: float
    p_value: float

    @property
    def unit(self) -> str:
        """What is counted."""
        return "comparisons" if self.by == "other items" else "items"

    @property
    def is_found(self) -> bool:
        """Whether options stand sorted more often than by chance."""
        return self.p_value <= SORTED


def sorted_checks(items: Sequence[Item]) -> tuple[SortedCheck, ...]:
    r"""Whether options were printed in alphabetical order, by their length, or as in other items, more often than by
    chance.

    Where the answer may stand anywhere but the rest of the order is uniform, the :math:`k - 1` wrong options of an item
    stand in a given order with probability :math:`1 / (k - 1)!`; of :math:`n_k` items with k options a binomial number
    do. Of two options one is wrong, and it is the answer's place that tells: of n items of a stratum with the answer
    first a times in print and b times by the key, x times in both,

    .. math:: n - a - b + 2x, \qquad x \sim \text{Hypergeometric}(n, a, b),    \tag{1}

    stand sorted, as in Fisher's exact test. The law of all items is that of the sum.

    Items that share options may have them from one list, such as classes in the order of their numbers: one order,
    drawn once. Of two wrong options that stand in m items, r times in one order and m - r times in the other,

    .. math:: \binom{r}{2} + \binom{m - r}{2}    \tag{2}

    comparisons of two items agree, half of all by chance. The sum is compared with those of drawn arrangements, as many
    as it takes to have HITS of them as large (Besag and Clifford 1991), at most DRAWS.

    Parameters
    ----------
    items : sequence of Item
        Those that are not left out.

    Returns
    -------
    tuple of SortedCheck
        By alphabet, by length, and by other items.
    """
    return *(_sorted_check(items, by) for by in ("alphabet", "length")), _alike_check(items)


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


def _alike_check(items: Sequence[Item]) -> SortedCheck:
    """Whether wrong options that items share stand in one order."""
    met: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)  # flat places of both, wherever they stand
    n = 0
    for item in items:
        wrong = [" ".join(option.casefold().split()) for i, option in enumerate(item.options) if i != item.answer]
        for (a, i), (b, j) in combinations(sorted((text, n + i) for i, text in enumerate(wrong)), 2):
            met[a, b].append((i, j))
        n += len(wrong)
    shared = [both for both in met.values() if len(both) > 1]
    if not shared:
        return SortedCheck("other items", 0, 0, 0.0, math.nan)
    pair = np.repeat(np.arange(len(shared)), [len(both) for both in shared])
    places, kept = np.unique(np.concatenate([np.array(both) for both in shared]), return_inverse=True)
    first, second = kept.reshape(-1, 2).T
    many = np.bincount(pair)

    def alike(at: NDArray[np.float64]) -> int:
        r = np.bincount(pair, weights=at[first] < at[second])
        return int((r * (r - 1) + (many - r) * (many - r - 1)).sum() / 2)  # (2)

    observed, rng = alike(places.astype(np.float64)), np.random.default_rng(0)
    total, hits, drawn = int((many * (many - 1)).sum() / 2), 0, 0
    while hits < HITS and drawn < DRAWS:
        hits += alike(rng.random(len(places))) >= observed  # places of one item are in any order, others do not matter
        drawn += 1
    p = hits / drawn if hits == HITS else (hits + 1) / (drawn + 1)
    return SortedCheck("other items", total, observed, total / 2, p)


def _tail(laws: Iterable[NDArray[np.float64]], hits: int) -> float:
    """Chance that a sum of independent counts is at least so large."""
    whole = np.ones(1)
    for law in laws:
        whole = np.convolve(whole, law)
    return min(1.0, float(whole[hits:].sum()))


def _mean(laws: Iterable[NDArray[np.float64]]) -> float:
    return sum(float(law @ np.arange(len(law))) for law in laws)
