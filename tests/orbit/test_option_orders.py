"""Orders of options: what they are, how they are drawn, and the group oracle of T on them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.independence.plan import Plan
from heldout.independence.score_maps import orbit_statistics
from heldout.orbit import RULES, OptionOrders
from heldout.orbit.option_orders import orders_for
from heldout.orbit.table import Orbit


@pytest.mark.parametrize(
    ("orders", "count"),
    [
        (OptionOrders(2), 2),
        (OptionOrders(5), 120),
        (OptionOrders(5, "cyclic"), 5),
        (OptionOrders(26, "cyclic"), 26),
        (OptionOrders(6), 9),
        (OptionOrders(4, "drawn"), 9),
        (OptionOrders(3, n=4), 5),
        (OptionOrders(3, n=5), 6),
        (OptionOrders(2, n=8), 2),
        (OptionOrders(26, n=300), 301),
    ],
)
def test_orders_are_distinct_and_begin_with_the_printed_one(orders, count, rng):
    rows = orders.orders(rng)
    assert rows.shape == (count, orders.k) == (orders.n_orders, orders.k)
    assert len(orders) == count - 1
    assert rows[0].tolist() == list(range(orders.k))
    assert len(set(map(tuple, rows.tolist()))) == count
    assert (np.sort(rows, axis=1) == np.arange(orders.k)).all()
    for answer in (0, orders.k - 1):
        at = orders.positions(rows, answer)
        assert (rows[np.arange(count), at] == answer).all()
    if orders.is_group:  # each place is as frequent
        assert set(Counter(orders.positions(rows, 1).tolist()).values()) == {count // orders.k}


def test_drawn_orders_are_uniform_without_replacement():
    """Of the other orders of three options each pair is as likely, in 3,000 draws of two."""
    pairs = Counter(
        frozenset(map(tuple, OptionOrders(3, n=2).orders(np.random.default_rng([7, i]))[1:].tolist()))
        for i in range(3000)
    )
    assert len(pairs) == math.comb(5, 2)
    counts = np.array(list(pairs.values()))
    assert ((counts - 300) ** 2 / 300).sum() < 30  # chi-square with 9 degrees of freedom: p = 0.0004


def test_a_longer_list_begins_with_the_shorter_one():
    few, many = (OptionOrders(8, n=n).orders(np.random.default_rng(3)) for n in (8, 40))
    assert np.array_equal(few, many[:9])


def test_bad_orders(rng):
    for make, says in [
        (lambda: OptionOrders(1), "`k` is 1; it must be at least 2"),
        (lambda: OptionOrders(27), "`k` is 27; it must be at most 26"),
        (lambda: OptionOrders(6, "all"), "6 options have 720 orders, too many"),
        (lambda: OptionOrders(4, "some"), "`kind` is 'some'; it can be 'all', 'cyclic', 'drawn'."),
        (lambda: OptionOrders(4, "cyclic", 3), "`n` is 3, but only drawn orders are counted"),
        (lambda: OptionOrders(4, n=0), "`n` is 0; it must be at least 1"),
        (lambda: OptionOrders(7).orders(), "`rng` is needed to draw orders"),
        (lambda: OptionOrders(7).table("strongest"), "orders drawn at random are not a group"),
        (lambda: OptionOrders(4).table("strongest", period=(3, 3)), "`period` is for pictures"),
        (lambda: OptionOrders(4).check_shape((32, 32)), "pictures of 32 x 32 have no options"),
        (lambda: orders_for(6, "all"), '`orders="all"`: 6 options have 720 orders; draw some'),
        (lambda: orders_for(4, "none"), "`orders` is 'none'"),
        (lambda: orders_for(4, 2.5), "`orders` is 2.5"),
    ]:
        with pytest.raises(InputError) as error:
            make()
        assert says in str(error.value)


def statistic(scores: list[float], x: int, versions: list[tuple[int, ...]], rule: str) -> Fraction:
    """T at the version x from the definition, the moves being all other orders of the places; no table, no floats."""
    number = {version: i for i, version in enumerate(versions)}
    moves = versions[1:]

    def length(move: tuple[int, ...]) -> int:
        if len(versions) == len(move):  # cyclic shifts
            return min(move[0], len(move) - move[0])
        return sum(a > b for i, a in enumerate(move) for b in move[i + 1 :])

    def after(z: int, move: tuple[int, ...]) -> int:
        return number[tuple(versions[z][place] for place in move)]

    def goes_to(z: int) -> int:
        wrong = [(j, after(z, move)) for j, move in enumerate(moves) if scores[after(z, move)] > 0]
        if scores[z] > 0 or not wrong:
            return z
        key = (lambda w: (-scores[w[1]], w[0])) if rule == "strongest" else (lambda w: (length(moves[w[0]]), w[0]))
        return min(wrong, key=key)[1]

    right = [z for z in range(len(versions)) if scores[z] <= 0]
    if rule in ("strongest", "nearest"):
        target = goes_to(x)
        if scores[target] <= 0:
            return Fraction(0)
        weight = Fraction(1, 1 + sum(goes_to(z) == target for z in right))
        return weight - (scores[x] > 0)
    choices = len(moves) + (rule == "random2")
    weight = 1 / (1 + Fraction(len(right), choices))
    return weight - 1 if scores[x] > 0 else (len(versions) - len(right)) * weight / choices


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("orders", [OptionOrders(3), OptionOrders(4), OptionOrders(5, "cyclic"), OptionOrders(2)])
def test_the_plan_agrees_with_the_definition_and_T_sums_to_zero(orders, rule, rng):
    """The group oracle: over all versions of an item, T sums to 0, whatever the model."""
    assert isinstance(orders, Orbit)
    table = orders.table(rule)
    n, versions = table.n_positions, [tuple(row) for row in orders.orders().tolist()]
    inverse = table.reached[table.left, np.arange(table.n_moves)]
    assert (inverse == np.arange(n)[:, None]).all()  # a move leads back from where it leads to
    maps = np.where(rng.random((6, n)) < 0.5, 0.0, rng.integers(1, 4, (6, n)) / 2.0)
    found = np.column_stack(
        [Plan(replace(table, centre=c), rule).decide(maps, n).statistic for c in range(n)]  # each version as printed
    )
    assert found == pytest.approx(orbit_statistics(maps, orders, rule=rule), abs=1e-12)
    expected = np.array([[float(statistic(row, c, versions, rule)) for c in range(n)] for row in maps.tolist()])
    assert found == pytest.approx(expected, abs=1e-12)
    assert np.abs(found.sum(axis=1)).max() < 1e-9
    low, high = orders.statistic_range(rule)
    assert low - 1e-12 <= found.min() <= found.max() <= high + 1e-12
