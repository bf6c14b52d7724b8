"""Items in their orders: flat arrays for the tests, and what a model is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_seed
from heldout.multiple_choice.items import Items
from heldout.orbit.option_orders import orders_for
from heldout.scorers.choices import Choice, Shown
from heldout.scorers.letters import letter_score

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Arranged:
    """Items, each in several orders of its options.

    Flat arrays have one value for each item and order, item by item, the printed order first.

    Parameters
    ----------
    items : Items
        The n items.
    orders : tuple of (m_i, k_i) int arrays
        Of each item: which printed option each order shows at each place; row 0 is the printed one.

    Examples
    --------
    >>> from heldout.multiple_choice.items import Item, Items
    >>> items = Items((Item("a", "?", ("x", "y"), 0), Item("b", "??", ("p", "q", "r"), 2)))
    >>> laid = arrange(items, "cyclic", seed=0)
    >>> laid.starts.tolist(), laid.positions.tolist(), laid.strata.tolist()
    ([0, 2, 5], [0, 1, 2, 1, 0], [2, 3])
    >>> [shown.options for shown in laid.shown()][2:4]
    [('p', 'q', 'r'), ('q', 'r', 'p')]
    """

    items: Items
    orders: tuple[Indices, ...]

    def __post_init__(self) -> None:
        assert len(self.items) == len(self.orders), "orders for each item"
        for item, rows in zip(self.items, self.orders, strict=True):
            k = len(item.options)
            assert rows.shape[1:] == (k,), "one place for each option"
            assert len(rows), "the printed order at least"
            assert (rows[0] == np.arange(k)).all(), "the printed order comes first"

    @property
    def n_shown(self) -> int:
        """How many arrangements there are in all, m."""
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> Indices:
        """(n + 1,) Where each item begins in the flat arrays, and their length m at the end."""
        return np.concatenate([[0], np.cumsum([len(rows) for rows in self.orders], dtype=np.intp)]).astype(np.intp)

    @cached_property
    def positions(self) -> Indices:
        """(m,) Place of the right option in each arrangement."""
        found = [np.argmax(rows == item.answer, axis=1) for item, rows in zip(self.items, self.orders, strict=True)]
        return np.concatenate([np.zeros(0, dtype=np.intp), *found]).astype(np.intp)

    @cached_property
    def strata(self) -> Indices:
        """(n,) Number of options, and stratum where there are several."""
        return self.items.strata.astype(np.intp)

    def shown(self, *, draw: int = 0) -> list[Shown]:
        """What a model is shown, m of them.

        Parameters
        ----------
        draw : int
            1 for what is asked a second time.

        Returns
        -------
        list of Shown
            Item by item, the printed order first.
        """
        return [
            Shown(item.question, tuple(item.options[i] for i in row), draw)
            for item, rows in zip(self.items, self.orders, strict=True)
            for row in rows.tolist()
        ]

    def scores(self, choices: Sequence[Choice]) -> NDArray[np.float64]:
        """(m,) Log-probability of the right option's letter, of all letters shown; NaN where the model tells none."""
        assert len(choices) == self.n_shown, "one choice for each arrangement"
        return np.array(
            [letter_score(choice.log_probs, place) for choice, place in zip(choices, self.positions, strict=True)]
        )


def arrange(items: Items, orders: str | int | None = None, *, seed: int) -> Arranged:
    """Each item in its orders.

    Orders that are drawn come from a stream of random numbers of the item's own, made from the seed, its question and
    its set of options: they depend neither on the other items nor on the order of the file.

    Parameters
    ----------
    items : Items
        The items.
    orders : {"all", "cyclic"} or int, optional
        All orders, cyclic shifts, or how many to draw beside the printed one; by default all up to 5 options, and 8
        above.
    seed : int
        From which orders are drawn.

    Returns
    -------
    Arranged
        The printed order of each item first.
    """
    check_seed(seed)
    met: Counter[str] = Counter()
    rows = []
    for item in items:
        group = orders_for(len(item.options), orders)
        rows.append(group.orders(None if group.is_group else _stream(seed, item.key, met[item.key])))
        met[item.key] += 1
    return Arranged(items, tuple(rows))


def _stream(seed: int, key: str, again: int) -> np.random.Generator:
    """Random numbers of one item; `again` counts items before it that ask the same."""
    words = [int(key[i : i + 8], 16) for i in range(0, 32, 8)]
    return np.random.default_rng([seed, again, *words])
