"""Items in their orders, laid flat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.layout import Arranged, arrange
from heldout.scorers.choices import UNPARSED, Choice


def items(*sizes: int) -> Items:
    texts = [tuple(f"{'abcdefghij'[j]}{i}" for j in range(k)) for i, k in enumerate(sizes)]
    return Items(tuple(Item(str(i), f"{i}?", options, i % len(options)) for i, options in enumerate(texts)))


def test_flat_arrays_agree_with_what_is_shown():
    laid = arrange(items(2, 4, 5, 7, 10), seed=3)
    assert np.diff(laid.starts).tolist() == [2, 24, 120, 9, 9]
    assert laid.strata.tolist() == [2, 4, 5, 7, 10]
    shown = laid.shown()
    assert len(shown) == laid.n_shown == len(laid.positions) == 164
    item_of = np.repeat(np.arange(5), np.diff(laid.starts))
    for j, (what, i) in enumerate(zip(shown, item_of.tolist(), strict=True)):
        item = laid.items[i]
        assert what.question == item.question
        assert sorted(what.options) == sorted(item.options)
        assert what.options[laid.positions[j]] == item.options[item.answer]
    printed = [shown[start].options for start in laid.starts[:-1]]
    assert printed == [item.options for item in laid.items]
    assert laid.positions[laid.starts[:-1]].tolist() == [item.answer for item in laid.items]
    assert {what.draw for what in laid.shown(draw=1)} == {1}


def test_drawn_orders_are_an_items_own():
    """They depend on the seed and on what is asked; not on other items, the file's order or ids."""
    some = items(*[7] * 20)
    laid = arrange(some, 8, seed=0)
    assert len({rows.tobytes() for rows in laid.orders}) == 20  # one list for all items is not valid
    renamed = Items(tuple(Item(f"x{item.id}", item.question, item.options, item.answer) for item in some[::-1]))
    for rows, again in zip(laid.orders, arrange(renamed[5:], 8, seed=0).orders[::-1], strict=False):
        assert np.array_equal(rows, again)
    assert not np.array_equal(laid.orders[0], arrange(some, 8, seed=1).orders[0])
    twice = arrange(Items((some[0], some[0])), 8, seed=0)
    assert np.array_equal(twice.orders[0], laid.orders[0])
    assert not np.array_equal(*twice.orders)


def test_choices_to_scores():
    laid = arrange(items(2, 3), "cyclic", seed=0)
    choices = [
        Choice(0, (math.log(0.3), math.log(0.1))),
        Choice(0),
        Choice(UNPARSED, text="I refuse."),
        Choice(0, (-math.inf,) * 3),
        Choice(2, (0.0, 0.0, -math.inf)),
    ]
    assert laid.positions.tolist() == [0, 1, 1, 0, 2]
    scores = laid.scores(choices)
    assert scores[0] == pytest.approx(math.log(0.75))
    assert np.isnan(scores[1:4]).all()
    assert scores[4] == -math.inf


def test_orders_that_do_not_fit():
    with pytest.raises(InputError, match='`orders="all"`: 6 options have 720 orders'):
        arrange(items(4, 6), "all", seed=0)
    with pytest.raises(InputError, match="`seed` is -1"):
        arrange(items(2), seed=-1)
    with pytest.raises(AssertionError, match="printed order comes first"):
        Arranged(items(2), (np.array([[1, 0], [0, 1]]),))


def test_the_printed_order_is_as_any_of_its_set(rng):
    """A model that always says A: printed at random, its errors less the shares of an item's orders that are wrong have
    the mean 0 and the binomial variance. One list of orders for all items can give three times as much: the answer
    comes first in 1 order where it is printed first, in 3 where it is printed second."""
    sums, variances = [], []
    for benchmark in range(150):
        places = rng.integers(4, size=40)
        some = [Item(str(i), f"{benchmark} {i}?", tuple("wxyz"), place) for i, place in enumerate(places.tolist())]
        laid = arrange(Items(tuple(some)), 3, seed=0)
        wrong = (laid.positions != 0).reshape(40, 4)
        share = wrong.mean(axis=1)
        sums.append((wrong[:, 0] - share).sum())
        variances.append((share * (1 - share)).sum())
    assert abs(np.sum(sums)) < 4 * math.sqrt(np.sum(variances))
    assert 0.6 < np.var(sums) / np.mean(variances) < 1.4  # 3.5 standard errors
