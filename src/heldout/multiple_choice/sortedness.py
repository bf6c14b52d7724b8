"""Whether printed orders look arbitrary: options that stand in alphabetical order, or from short to long.

Items cannot be left out for standing sorted, but a benchmark can be told to be so. It happens: of 49 items of MMLU's
anatomy, mostly with short options and none of them left out, 35 have their wrong options in alphabetical order, where 8
have by chance; of 42 of its miscellaneous ones 11, where 7 have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heldout.multiple_choice.items import Item


@dataclass(frozen=True)
class SortedCheck:
    """How often the wrong options stand sorted, against what chance gives.

    Parameters
    ----------
    by : str
        "alphabet" or "length".
    n_items : int
        Items with two wrong options or more.
    n_sorted, expected : int, float
        Items whose wrong options stand in ascending order, and how many do by chance.
    p_value : float
        That as many do by chance; exact, whatever the law of the answer's position.
    """

    by: str
    n_items: int
    n_sorted: int
    expected: float
    p_value: float


def sorted_checks(items: Sequence[Item]) -> tuple[SortedCheck, ...]:
    r"""Whether options were printed in alphabetical order, or from short to long, more often than by chance.

    Where the answer may stand anywhere but the rest of the order is uniform, the :math:`k - 1` wrong options of an item
    stand in a given order with probability :math:`1 / (k - 1)!`; of :math:`n_k` items with k options a binomial number
    do, and for several k a sum of these. Wrong options of equal length count as sorted with probability
    :math:`1 / (k - 1)!` too: they are compared by their text then.

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


def _sorted_check(items: Sequence[Item], by: str) -> SortedCheck:
    from scipy.stats import binom  # takes longer to load than everything else here

    counted, n_sorted = Counter[int](), 0
    for item in items:
        wrong = [option for i, option in enumerate(item.options) if i != item.answer]
        keys = [(option.casefold(), option) if by == "alphabet" else (len(option), option) for option in wrong]
        if len(wrong) >= 2:
            counted[len(wrong)] += 1
            n_sorted += keys == sorted(keys)
    law = np.ones(1)
    for k, n in counted.items():
        law = np.convolve(law, binom.pmf(np.arange(n + 1), n, 1 / math.factorial(k)))
    expected = sum(n / math.factorial(k) for k, n in counted.items())
    tail = min(1.0, float(law[n_sorted:].sum()))
    return SortedCheck(by, counted.total(), n_sorted, expected, tail if counted else math.nan)
