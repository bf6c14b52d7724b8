"""Were the orders of existing runs drawn so that the printed one could be any of them?

The test takes an item's orders as they are and asks which of them is the printed one. That is left to chance if the
orders were drawn for each item by itself, or if each of them, had it been printed, would have led to the same ones: all
orders, all cyclic shifts, the right option moved through all places. One list of orders for all items does neither as a
rule: the printed order then stands out by construction, and no p-value holds. (With one shift for all there is nothing
to permute: p was 1 in all of 300 simulated benchmarks.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Order = tuple[int, ...]
Run = TypeVar("Run", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)

CHANCE = 1e-6  # below which it is no accident that a run moved the options of all its items alike


@dataclass(frozen=True)
class Flaw(Generic[Run]):
    """Runs that moved all items alike, and so cannot stand beside the others.

    Parameters
    ----------
    runs : tuple
        Which ones.
    mixed : bool
        Whether other runs drew an order for each item.
    """

    runs: tuple[Run, ...]
    mixed: bool


def find_flaw(shown: Mapping[Run, Mapping[Name, tuple[int, Order]]]) -> Flaw[Run] | None:
    """What is wrong with the orders of several runs, if anything.

    Parameters
    ----------
    shown : mapping from run to mapping from item to (answer, order)
        The printed place of the right option, and which printed option stood at each place.

    Returns
    -------
    Flaw or None
        None where nothing speaks against the test.

    Examples
    --------
    >>> turned = {i: (i % 3, (1, 2, 0)) for i in range(12)}
    >>> find_flaw({"shuffled": turned})
    Flaw(runs=('shuffled',), mixed=False)
    >>> find_flaw({"one": turned, "two": {i: (i % 3, (2, 0, 1)) for i in range(12)}}) is None  # all cyclic shifts
    True
    """
    by_size: dict[int, dict[Run, dict[int, dict[Order, int]]]] = defaultdict(dict)
    for run, items in shown.items():
        for answer, order in items.values():
            counts = by_size[len(order)].setdefault(run, {}).setdefault(answer, {})
            counts[order] = counts.get(order, 0) + 1
    for size, runs in by_size.items():
        as_printed = tuple(range(size))
        moved = {run: by for run, by in runs.items() if any(set(counts) != {as_printed} for counts in by.values())}
        alike = {run: by for run, by in moved.items() if _is_alike(by, size)}
        if not alike:
            continue
        if len(alike) < len(moved):
            return Flaw(tuple(alike), mixed=True)
        orders: dict[int, set[Order]] = {}
        for by in alike.values():
            for answer, counts in by.items():
                orders.setdefault(answer, {as_printed}).update(counts)
        if not _is_closed(orders):
            return Flaw(tuple(alike), mixed=False)
    return None


def _is_alike(by_answer: Mapping[int, Mapping[Order, int]], size: int) -> bool:
    """Whether all items with the right option at one place got one order, and that by no accident."""
    if any(len(counts) > 1 for counts in by_answer.values()):
        return False
    different = len({order for counts in by_answer.values() for order in counts})
    repeated = sum(sum(counts.values()) for counts in by_answer.values()) - different
    return repeated * math.lgamma(size + 1) >= -math.log(CHANCE)


def _is_closed(orders: Mapping[int, set[Order]]) -> bool:
    """Whether each order, had it been printed, would have led to the same ones; by the place of the right option."""
    for answer, found in orders.items():
        for order in found:
            then = orders.get(order.index(answer))
            if then is None:  # no item is printed with its answer there, so that this order is never drawn
                continue
            if {tuple(order[place] for place in after) for after in then} != found:
                return False
    return True
