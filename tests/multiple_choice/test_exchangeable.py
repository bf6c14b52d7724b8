"""Which items are left out, why, and that the printed order has no say in it."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout.multiple_choice.exchangeable import left_out, reason_of
from heldout.multiple_choice.items import Item
from heldout.multiple_choice.reasons import OF_ITEMS
from heldout.multiple_choice.sortedness import sorted_checks

from .written_items import WRITTEN


@pytest.mark.parametrize(("reason", "question", "options"), WRITTEN, ids=[f"{w[0]} {w[1]}"[:60] for w in WRITTEN])
def test_written_items(reason, question, options):
    assert reason_of(Item("0", question, options, 0)) == (reason or None)


def test_the_printed_order_has_no_say():
    """Each item in all orders of its options, whichever of them is right."""
    for _, question, options in WRITTEN:
        orders = list(itertools.permutations(options))
        found = {reason_of(Item("0", question, order, i % len(order))) for i, order in enumerate(orders)}
        assert len(found) == 1, (question, found)


WORDS = """
all none both A B C and or of the above these 1 2 5% I II only true false increases same not cat lip gum
"""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=4).map(" ".join),
        min_size=2,
        max_size=5,
        unique=True,
    ),
    st.randoms(use_true_random=False),
)
def test_nor_has_it_of_any_words(options, random):
    turned = random.sample(options, len(options))
    assert reason_of(Item("0", "Which?", tuple(options), 0)) == reason_of(Item("1", "Which?", tuple(turned), 1))


def test_items_that_were_there_before_are_left_out_too():
    written = [Item(str(i), question, options, 0) for i, (_, question, options) in enumerate(WRITTEN)]
    again = Item("again", written[0].question, written[0].options[::-1], 3)
    reasons = left_out([*written, again])
    assert reasons[-1] == "duplicate_item"
    assert set(reasons) == {None, *OF_ITEMS}


def shuffled(rng: np.random.Generator, k: int, *, alphabetical: bool = False) -> Item:
    """A right answer whose place is skewed, and wrong options in any order, or sorted."""
    texts = [f"{number:x}" for number in rng.choice(100_000, k)]
    wrong = sorted(texts[1:]) if alphabetical else texts[1:]
    place = min(int(rng.exponential(1.0)), k - 1)
    return Item("0", "?", (*wrong[:place], texts[0], *wrong[place:]), place)


def test_sorted_wrong_options_are_found(rng):
    items = [shuffled(rng, 4, alphabetical=i < 40) for i in range(135)] + [shuffled(rng, 2)]
    alphabet, length = sorted_checks(items)
    assert (alphabet.by, length.by) == ("alphabet", "length")
    assert (alphabet.n_items, alphabet.expected) == (135, pytest.approx(135 / 6))
    assert alphabet.n_sorted >= 40
    assert alphabet.p_value < 1e-6
    assert math.isnan(sorted_checks([shuffled(rng, 2)])[0].p_value)


def test_sorted_by_chance(rng):
    """The law for items of several sizes is that of all their orders, enumerated."""
    items = [
        Item("0", "?", ("x", "a", "b", "c"), 0),
        Item("1", "?", ("a", "x", "b"), 1),
        Item("2", "?", ("b", "x", "a"), 1),
    ]
    found = sorted_checks(items)[0]
    counts = Counter(a + b + c for a in (1, *[0] * 5) for b in (1, 0) for c in (1, 0))
    expected = sum(n for hits, n in counts.items() if hits >= 2) / counts.total()
    assert (found.n_sorted, found.p_value) == (2, pytest.approx(expected))
    p_values = np.array([sorted_checks([shuffled(rng, k) for k in (3, 4, 4, 5) * 8])[0].p_value for _ in range(200)])
    assert (p_values <= 0.05).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
