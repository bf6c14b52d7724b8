"""Items that a user makes are checked where they are made."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError, Item, Items, options


@pytest.mark.parametrize(
    ("texts", "answer", "says"),
    [
        ((), 0, "the item 'q' has no options."),
        (("oak",), 0, "the item 'q' has one option, 'oak', where at least 2 are needed."),
        (("oak", " "), 0, "the item 'q': option 2 is empty."),
        (("oak", "ash", "oak"), 1, "the item 'q' has two options with the same text, 'oak'."),
        (tuple(map(str, range(27))), 1, "the item 'q' has 27 options, more than the 26 letters."),
        ("oak", 1, "the item 'q' has the options 'oak'; a tuple of texts is needed."),
        (("oak", 7), 1, "the item 'q' has the options ('oak', 7); a tuple of texts is needed."),
        (("oak", "ash", "elm"), 7, "answer 7; it must be the place of the right one of 3 options, from 0 to 2."),
        (("oak", "ash", "elm"), -1, "has the answer -1; it must be the place"),
        (("oak", "ash", "elm"), "A", "has the answer 'A'; it must be the place"),
        (("oak", "ash", "elm"), True, "has the answer True; it must be the place"),
    ],
)
def test_what_is_refused(texts, answer, says):
    with pytest.raises(InputError) as refused:
        Item("q", "Which?", texts, answer)
    assert says in str(refused.value)


def test_what_is_made_plain():
    """Lists and numbers of numpy are taken as they are meant, and tell the same item."""
    item = Item("q", "Which?", ["oak", "ash"], np.int64(1))
    assert item == Item("q", "Which?", ("oak", "ash"), 1)
    assert Items((item,)).digest() == Items((Item("q", "Which?", ("oak", "ash"), 1),)).digest()


def test_places_and_parts():
    items = Items(tuple(Item(str(i), f"Which, {i}?", ("oak", "ash"), i % 2) for i in range(9)), broken={"x": "broken"})
    assert items[np.int64(3)] == items[3] == items.items[3]
    assert items[-1].id == "8"
    assert (items[2:4].items, items[2:4].broken) == (items.items[2:4], {"x": "broken"})
    with pytest.raises(IndexError):
        items[9]
    again = Items(items.items, broken={"x": "broken"})
    assert (again == items, hash(again) == hash(items), len({items, again})) == (True, True, 1)
    assert items != Items(items.items)


def test_items_of_ones_own_are_asked():
    trees = [tuple(f"{tree} {i}" for tree in ("oak", "ash", "elm")) for i in range(30)]
    items = [Item(str(i), f"Which tree, {i}?", texts, np.int64(i % 3)) for i, texts in enumerate(trees)]
    assert options(items, lambda question, shown: 0, n_resamples=99).errors_printed == 20
