"""Orders of the options of a multiple-choice question: all of them, their cyclic shifts, or some drawn at random."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.orbit.rules import Rule, check_rule, statistic_range
from heldout.orbit.table import Indices, MoveTable

Kind = Literal["all", "cyclic", "drawn"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_OPTIONS = 26  # as many as there are letters
WHOLE = 5  # options up to which all orders are tried, 120 of them
DRAWN = 8  # orders drawn beside the printed one where nobody says how many
MOST_DRAWN = 10_000


@dataclass(frozen=True)
class OptionOrders:
    """Orders of `k` options, the printed one first; the label moves with its option.

    An order is a row of `k` numbers: which printed option is shown at each place.

    Parameters
    ----------
    k : int
        Number of options, 2 to 26.
    kind : {"all", "cyclic", "drawn"}, optional
        All k! orders, up to 5 options; the k cyclic shifts; or the printed order and `n` others, drawn at random
        without replacement. By default "drawn" where `n` is given or there are more than 5 options, else "all".
    n : int, optional
        How many are drawn, 8 by default. Where there are not as many others, it is all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import OptionOrders
    >>> OptionOrders(3, "cyclic").orders().tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    >>> OptionOrders(4).n_orders, OptionOrders(10).n_orders, OptionOrders(3, n=100).n_orders
    (24, 9, 6)
    >>> drawn = OptionOrders(10, n=3).orders(np.random.default_rng(0))
    >>> drawn.shape, OptionOrders(10).positions(drawn[:1], answer=7).tolist()
    ((4, 10), [7])
    """

    k: int
    kind: Kind | None = None
    n: int | None = None

    name = "orders of options"
    radius = 0  # in pixels; nothing is shifted

    def __post_init__(self) -> None:
        k = check_count(self.k, "k", least=2, most=MOST_OPTIONS)
        if self.kind not in (*KINDS, None):
            raise InputError(f"`kind` is {self.kind!r}; it can be {', '.join(map(repr, KINDS))}.")
        kind = self.kind or ("drawn" if self.n is not None or k > WHOLE else "all")
        if kind != "drawn" and self.n is not None:
            raise InputError(f"`n` is {self.n}, but only drawn orders are counted; leave it out with `kind={kind!r}`.")
        if kind == "all" and k > WHOLE:
            raise InputError(
                f"{k} options have {math.factorial(k):,} orders, too many to try all of them; use cyclic shifts "
                f'(`kind="cyclic"`), or draw some for each item (`kind="drawn"`).'
            )
        n = None
        if kind == "drawn":
            n = check_count(DRAWN if self.n is None else self.n, "n", most=MOST_DRAWN)
            n = min(n, math.factorial(k) - 1)
        for field, value in (("k", k), ("kind", kind), ("n", n)):
            object.__setattr__(self, field, value)

    @property
    def n_orders(self) -> int:
        """How many orders there are, the printed one included."""
        return self.n + 1 if self.n is not None else self.k if self.kind == "cyclic" else math.factorial(self.k)

    @property
    def is_group(self) -> bool:
        """Whether the orders are a group, so that they are the same for each item and each place is as frequent."""
        return self.kind != "drawn" or self.n_orders == math.factorial(self.k)

    @property
    def elements(self) -> tuple[int, ...]:
        """The orders by number, the printed one first."""
        return tuple(range(self.n_orders))

    def __len__(self) -> int:
        return self.n_orders - 1

    @property
    def described(self) -> str:
        """The orders, in words."""
        if self.kind == "cyclic":
            return f"the {self.k} cyclic shifts of {self.k} options"
        return f"{'all ' if self.is_group else ''}{self.n_orders} orders of {self.k} options"

    def margin(self, rule: Rule) -> int:
        """Pixels around a picture, of which options need none.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        int
            0.
        """
        check_rule(rule)
        return 0

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Refuse pictures.

        Parameters
        ----------
        shape : (int, int)
            Height and width.
        """
        raise InputError(
            f"pictures of {shape[0]} x {shape[1]} have no options to reorder; heldout.options takes items."
        )

    def orders(self, rng: np.random.Generator | None = None) -> Indices:
        """The orders of one item.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Needed where orders are drawn, a stream of its own for each item: one list of drawn orders for all items
            is not valid. The first orders of a longer list are those of a shorter one.

        Returns
        -------
        (n_orders, k) int
            The printed one, 0 to k - 1, first; no order twice.
        """
        if self.is_group:
            return _cyclic(self.k) if self.kind == "cyclic" else _all(self.k)
        if rng is None:
            raise InputError("`rng` is needed to draw orders; give numpy.random.default_rng(seed), one for each item.")
        found = {tuple(range(self.k)): None}
        while len(found) < self.n_orders:
            lacking = self.n_orders - len(found)
            # Rows of uniform numbers come in one stream whatever their count, so that longer lists begin as shorter.
            rows = np.argsort(rng.random((lacking, self.k)), axis=1, kind="stable")
            found |= dict.fromkeys(map(tuple, rows.tolist()))
        return np.array(list(found), dtype=np.intp)

    def positions(self, orders: ArrayLike, answer: ArrayLike) -> Indices:
        """At which place each order shows the right option.

        Parameters
        ----------
        orders : (m, k) int
            The orders.
        answer : int or (m,) int
            Place of the right option in the printed order.

        Returns
        -------
        (m,) int
            From 0.
        """
        rows = np.asarray(orders)
        return np.asarray(np.argmax(rows == np.asarray(answer)[..., None], axis=-1))

    def table(self, rule: Rule, *, period: tuple[int, int] | None = None) -> MoveTable:
        """All orders as versions of an item, and the moves between them: every other order of the places.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen; the nearest needs the fewest swaps of neighbours.
        period : None
            Only pictures have one.

        Returns
        -------
        MoveTable
            Of n_orders positions; each is reached from each.
        """
        check_rule(rule)
        if period is not None:
            raise InputError("`period` is for pictures that are moved on a torus; options have none.")
        if not self.is_group:
            raise InputError(
                f"orders drawn at random are not a group, so that no moves lead from one to another; use "
                f'`kind="cyclic"`{", or all orders" if self.k <= WHOLE else ""}.'
            )
        versions = self.orders()
        moves = versions[1:]
        number = {row: i for i, row in enumerate(map(tuple, versions.tolist()))}

        def after(by: Indices) -> Indices:
            """Where the places of each version are reordered by each move: version[move]."""
            there = versions[:, by].reshape(-1, self.k)
            found = [number[row] for row in map(tuple, there.tolist())]
            return np.array(found, dtype=np.intp).reshape(len(versions), len(by))

        pairs = np.triu_indices(self.k, 1)
        swaps = (moves[:, pairs[0]] > moves[:, pairs[1]]).sum(axis=1)
        turns = np.minimum(moves[:, 0], self.k - moves[:, 0])
        return MoveTable(
            reached=after(moves),
            left=after(np.argsort(moves, axis=1)),
            centre=0,
            moves=moves,
            versions=versions,
            lengths=(turns if self.kind == "cyclic" else swaps).astype(np.float64),
            elements=np.arange(len(versions)),
            symmetries=after(versions),
            is_group=True,
        )

    def statistic_range(self, rule: Rule) -> tuple[float, float]:
        """The interval that holds T under a rule; see `heldout.orbit.statistic_range`.

        Parameters
        ----------
        rule : {"strongest", "nearest", "random", "random2"}
            How a move is chosen.

        Returns
        -------
        lower, upper : float
            The ends.
        """
        return statistic_range(rule, len(self))


def orders_for(k: int, orders: str | int | None = None) -> OptionOrders:
    """What `orders` of the verb means for items of k options: "all", "cyclic", a number to draw, or the default.

    Examples
    --------
    >>> [orders_for(k).kind for k in (2, 5, 6)], orders_for(4, "cyclic").n_orders, orders_for(4, 8).n_orders
    (['all', 'all', 'drawn'], 4, 9)
    """
    if orders is None:
        return OptionOrders(k)
    if isinstance(orders, str) and orders not in ("all", "cyclic"):
        raise InputError(f'`orders` is {orders!r}; it can be "all", "cyclic" or a number of orders to draw.')
    if orders == "all" and k > WHOLE:
        raise InputError(
            f'`orders="all"`: {k} options have {math.factorial(k):,} orders; draw some for each item, such as '
            f'`orders={DRAWN}`, or use their shifts, `orders="cyclic"`.'
        )
    if isinstance(orders, str):
        return OptionOrders(k, "all" if orders == "all" else "cyclic")
    return OptionOrders(k, "drawn", check_count(orders, "orders", most=MOST_DRAWN))


@lru_cache(maxsize=MOST_OPTIONS)
def _all(k: int) -> Indices:
    return _fixed(np.array(list(itertools.permutations(range(k))), dtype=np.intp))


@lru_cache(maxsize=MOST_OPTIONS)
def _cyclic(k: int) -> Indices:
    return _fixed(np.add.outer(np.arange(k), np.arange(k)) % k)


def _fixed(rows: NDArray[np.intp]) -> Indices:
    """Shared by all items of k options, so that nobody may write into it."""
    rows.flags.writeable = False
    return rows
