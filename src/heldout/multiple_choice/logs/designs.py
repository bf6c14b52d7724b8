"""Were the orders of existing runs drawn so that the printed one could be any of them?

The test takes an item's orders as they are and asks which of them is the printed one. That is left to chance if the
orders were drawn for each item by itself, or if each of them, had it been printed, would have led to the same ones: all
orders, all cyclic shifts, the right option moved through all places. One list of orders for all items does neither as a
rule: the printed order then stands out by construction, and no p-value holds. (With one shift for all there is nothing
to permute: p was 1 in all of 300 simulated benchmarks.)
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from scipy.stats import binom

Order = tuple[int, ...]
Run = TypeVar("Run", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)

CHANCE = 1e-6  # below which it is no accident that a run moved the options of so many items alike
LOG_CHANCE = math.log(CHANCE) + 1e-9
MOST = 0.6  # share of items moved alike from which on a run counts as one list; a random shift is below
OF_TWO = 1e-3  # chance at which a run counts as one list that draws one of two orders for each item


@dataclass(frozen=True)
class Flaw(Generic[Run]):
    """Runs that moved their items alike, and so cannot stand beside the others.

    Parameters
    ----------
    runs : tuple
        Which ones.
    mixed : bool
        Whether other runs drew an order for each item.
    whole : bool
        Whether that is true of all items rather than most.
    """

    runs: tuple[Run, ...]
    mixed: bool
    whole: bool = True


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
    Flaw(runs=('shuffled',), mixed=False, whole=True)
    >>> find_flaw({"one": turned, "two": {i: (i % 3, (2, 0, 1)) for i in range(12)}}) is None  # all cyclic shifts
    True
    """
    for size, runs in _counted(shown).items():
        as_printed = tuple(range(size))
        found = {run: _Commonest.of(by) for run, by in runs.items()}
        # A run that shows some items otherwise than the rest as printed is the printed one.
        printed = [run for run, own in found.items() if own.share > MOST and set(own.orders.values()) == {as_printed}]
        moved = {run: own for run, own in found.items() if run not in printed}
        alike = {run: own for run, own in moved.items() if own.is_one_list(math.factorial(size))}
        if not alike:
            continue
        whole = all(own.n_alike == own.n_items for own in alike.values())
        if len(alike) < len(moved):
            return Flaw(tuple(alike), mixed=True, whole=whole)
        orders: dict[int, set[Order]] = {}
        for own in alike.values():
            for answer, order in own.orders.items():
                orders.setdefault(answer, {as_printed}).add(order)
        if not _is_closed(orders):
            return Flaw(tuple(alike), mixed=False, whole=whole)
    return None


def find_flaw_of_places(
    printed: Sequence[int], others: Sequence[Sequence[int]], sizes: Sequence[int]
) -> Flaw[int] | None:
    """The same where only the places of the right options are known.

    Parameters
    ----------
    printed : (n_items,) sequence of int
        Of the right options as printed.
    others : (n_orders, n_items) sequence of sequences of int
        In other orders.
    sizes : (n_items,) sequence of int
        Numbers of options.

    Returns
    -------
    Flaw or None
        With the numbers of the orders whose places follow from the printed ones.

    Examples
    --------
    >>> places, sizes = [0, 1, 2, 3] * 9, [4] * 36
    >>> shifted = [[(place + k) % 4 for place in places] for k in (1, 2, 3)]
    >>> find_flaw_of_places(places, shifted[:1], sizes)
    Flaw(runs=(0,), mixed=False, whole=True)
    >>> find_flaw_of_places(places, shifted, sizes) is None  # every place, wherever it is printed
    True
    """
    for size in sorted(set(sizes)):
        mine = [i for i, own in enumerate(sizes) if own == size]
        found = {}
        for number, places in enumerate(others):
            by_answer: dict[int, dict[Order, int]] = {}
            for i in mine:
                counts = by_answer.setdefault(printed[i], {})
                counts[places[i],] = counts.get((places[i],), 0) + 1
            found[number] = _Commonest.of(by_answer)
        alike = {number: own for number, own in found.items() if own.is_one_list(size)}
        if not alike:
            continue
        whole = all(own.n_alike == own.n_items for own in alike.values())
        if len(alike) < len(found):
            return Flaw(tuple(alike), mixed=True, whole=whole)
        shown = {
            answer: Counter([answer, *(own.orders[answer][0] for own in alike.values())])
            for answer in {printed[i] for i in mine}
        }
        if any(shown.get(place, counts) != counts for counts in shown.values() for place in counts):
            return Flaw(tuple(alike), mixed=False, whole=whole)
    return None


def is_uneven(shown: Mapping[Run, Mapping[Name, tuple[int, Order]]]) -> bool:
    """Whether some run has orders more often than orders drawn for each item by itself would be.

    Examples
    --------
    >>> turned = {i: (i % 3, (1, 2, 0)) for i in range(30)}
    >>> is_uneven({"half": {**turned, **{i: (i % 3, (0, 1, 2)) for i in range(30, 60)}}})
    True
    >>> is_uneven({"printed": {i: (i % 3, (0, 1, 2)) for i in range(60)}})
    False
    """
    return any(
        _Commonest.of(by).is_no_accident(math.factorial(size))
        for size, runs in _counted(shown).items()
        for by in runs.values()
        if any(set(counts) != {tuple(range(size))} for counts in by.values())
    )


def _counted(
    shown: Mapping[Run, Mapping[Name, tuple[int, Order]]],
) -> dict[int, dict[Run, dict[int, dict[Order, int]]]]:
    """How often each order is shown, by number of options, run and the printed place of the right one."""
    by_size: dict[int, dict[Run, dict[int, dict[Order, int]]]] = defaultdict(dict)
    for run, items in shown.items():
        for answer, order in items.values():
            counts = by_size[len(order)].setdefault(run, {}).setdefault(answer, {})
            counts[order] = counts.get(order, 0) + 1
    return by_size


@dataclass(frozen=True)
class _Commonest:
    """The commonest order of a run's items with the right option at each place, and how many have it."""

    orders: Mapping[int, Order]
    n_alike: int
    n_items: int

    @classmethod
    def of(cls, by_answer: Mapping[int, Mapping[Order, int]]) -> _Commonest:
        found = {answer: max(counts, key=counts.__getitem__) for answer, counts in by_answer.items()}
        return cls(
            orders=found,
            n_alike=sum(by_answer[answer][order] for answer, order in found.items()),
            n_items=sum(sum(counts.values()) for counts in by_answer.values()),
        )

    @property
    def share(self) -> float:
        return self.n_alike / self.n_items

    def is_one_list(self, n_orders: int) -> bool:
        """Whether items were moved alike, all of them or most, rather than each by itself.

        Draws from fewer than all orders, such as a random shift other than none, are no list. With three options they
        are from two orders, of which small runs have one far more often than the other.
        """
        chance = float(binom.sf(self.n_alike - 1, self.n_items, 0.5)) * 2.0 ** len(self.orders)
        few = self.n_alike < self.n_items and chance > OF_TWO
        return self.share > MOST and not few and self.is_no_accident(n_orders)

    def is_no_accident(self, n_orders: int) -> bool:
        """Whether so many would hardly have the commonest of so many orders if these were drawn for each item."""
        choices = len(set(self.orders.values())) * math.log(n_orders)  # a bound: over all that could be commonest
        return float(binom.logsf(self.n_alike - 1, self.n_items, 1.0 / n_orders)) + choices <= LOG_CHANCE


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
