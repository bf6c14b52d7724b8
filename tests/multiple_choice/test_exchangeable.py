"""Which items are left out, why, and that the printed order has no say in it."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from heldout.multiple_choice.items import Item
from heldout.multiple_choice.left_out.exchangeable import left_out, reason_of
from heldout.multiple_choice.left_out.reasons import OF_ITEMS
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
    kept = written[[reason for reason, *_ in WRITTEN].index("")]
    again = Item("again", f" {kept.question.upper()} ?", kept.options[::-1], 1)
    shared = Item("shared", "Something else?", tuple(f"{option}." for option in kept.options), 1)
    for shuffled, expected in ((False, "shared_options"), (True, None)):
        reasons = left_out([*written, again, shared], shuffled=shuffled)
        assert reasons[-2:] == ("duplicate_item", expected)
        assert set(reasons) | {"shared_options"} == {None, *OF_ITEMS}


@pytest.mark.parametrize("odd", ["?", "()", "{}", "...", "_"])
def test_options_without_words(odd):
    assert reason_of(Item("0", "Which sign?", (odd, "only one", "x"), 0)) is None
    assert left_out([Item(str(i), f"{i}?", (odd, "#", "x y"), 0) for i in range(2)]) == (None, "shared_options")


def shuffled(rng: np.random.Generator, k: int, *, alphabetical: bool = False) -> Item:
    """A right answer whose place is skewed, and wrong options in any order, or sorted."""
    texts = [f"{number:x}" for number in rng.choice(100_000, k)]
    wrong = sorted(texts[1:]) if alphabetical else texts[1:]
    place = min(int(rng.exponential(1.0)), k - 1)
    return Item("0", "?", (*wrong[:place], texts[0], *wrong[place:]), place)


def test_sorted_wrong_options_are_found(rng):
    items = [shuffled(rng, 4, alphabetical=i < 40) for i in range(135)] + [shuffled(rng, 2)]
    alphabet, _, _ = sorted_checks(items)
    assert alphabet.by == "alphabet"
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
    assert (found.n_sorted, found.p_value) == (2, pytest.approx(2 * expected))
    p_values = np.array([sorted_checks([shuffled(rng, k) for k in (3, 4, 4, 5) * 8])[0].p_value for _ in range(200)])
    assert (p_values <= 0.05).mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


def test_falling_and_two_options_are_sorted_too(rng):
    def mirrored(item):
        return Item(item.id, item.question, item.options[::-1], len(item.options) - 1 - item.answer)

    rising = [shuffled(rng, 4, alphabetical=i < 40) for i in range(135)]
    up, down = sorted_checks(rising)[0], sorted_checks(list(map(mirrored, rising)))[0]
    assert (down.by, down.n_sorted, down.p_value) == ("reverse alphabet", up.n_sorted, up.p_value)
    pairs = [
        Item("0", "?", tuple(sorted(rng.permutation(list("pqrs"))[:2])), int(rng.random() < 0.7)) for _ in range(40)
    ]
    both = sorted_checks(pairs)
    assert both[0].by == "alphabet"
    assert (both[0].n_items, both[0].n_sorted) == (40, 40)
    assert both[0].p_value < 1e-6
    assert math.isnan(both[1].p_value)  # all as long: nothing can be told, and nothing is
    assert math.isnan(sorted_checks([Item("0", "?", pair.options, 0) for pair in pairs])[0].p_value)
    words = [("ab", 0)] * 7 + [("ba", 0)] * 2 + [("ba", 1)] * 3 + [("ab", 1)] * 9  # a is first by the alphabet
    ours = sorted_checks([Item("0", "?", tuple(text), place) for text, place in words])[0]
    assert (ours.by, ours.n_sorted) == ("alphabet", 16)
    assert ours.p_value == pytest.approx(2 * fisher_exact([[7, 2], [3, 9]], alternative="greater").pvalue)


def test_an_alphabetical_benchmark_is_not_told_to_stand_by_length(rng):
    words = [f"{i:03d}" for i in range(1000)]
    items = []
    for _ in range(200):
        texts = [words[i] for i in rng.permutation(1000)[:4]]
        items.append(Item("0", "?", tuple(sorted(texts)), int(rng.integers(4))))
    alphabet, length, _ = sorted_checks(items)
    assert alphabet.is_found
    assert (length.n_items, length.is_found) == (0, False)


def of_a_list(rng: np.random.Generator, n: int, *, one_order: bool, size: int = 14) -> list[Item]:
    """Items whose options are some of one list; printed in the order of the list, but for the answer, or in any."""
    order, items = rng.permutation(size), []
    for i in range(n):
        some = rng.choice(size, 4, replace=False)
        right, *wrong = [int(j) for j in some]
        wrong = sorted(wrong, key=lambda j: order[j]) if one_order else wrong
        place = int(rng.integers(4))
        names = [f"class {chr(97 + j) * 3}" for j in (*wrong[:place], right, *wrong[place:])]
        items.append(Item(str(i), f"{i}?", tuple(names), place))
    return items


def test_options_of_one_list_in_one_order_are_found(rng):
    found = sorted_checks(of_a_list(rng, 60, one_order=True))[2]
    assert (found.by, found.unit, found.is_found) == ("other items", "comparisons", True)
    assert found.n_sorted == found.n_items == 2 * found.expected > 0
    items = of_a_list(rng, 60, one_order=False)
    alike = total = 0
    for one, two in itertools.combinations(items, 2):
        wrong = [[text for i, text in enumerate(item.options) if i != item.answer] for item in (one, two)]
        for a, b in itertools.combinations(sorted(set(wrong[0]) & set(wrong[1])), 2):
            first = [texts.index(a) < texts.index(b) for texts in wrong]
            alike, total = alike + (first[0] == first[1]), total + 1
    by_chance = sorted_checks(items)[2]
    assert (by_chance.n_sorted, by_chance.n_items) == (alike, total)
    p_values = [sorted_checks(of_a_list(rng, 25, one_order=False))[2].p_value for _ in range(200)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert min(p_values) < 0.2
    assert math.isnan(sorted_checks([shuffled(rng, 4)])[2].p_value)
