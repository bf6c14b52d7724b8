"""Which items are left out, since the order of their options is not arbitrary.

The tests compare the printed order with others, so that it must be one of many that could have been printed. It is not
where a custom fixes it: numbers and dates stand in their order, "all of the above" comes last, True comes before False.
Whether an item is left out depends on its question and its *set* of options alone, never on the printed order: leaving
out only those that stand sorted takes that order away from print and leaves it among the others, and no test is exact
any more. False alarms of both ways are in `experiments/options`.

What each reason means is in `reasons.py`. Where in doubt an item is left out: that costs power, and no validity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heldout.multiple_choice.items import Item
from heldout.multiple_choice.left_out.customs import are_statements, is_customary, is_scale, may_be_on_a_scale
from heldout.multiple_choice.left_out.quantities import are_dates, are_quantities, is_number_word, may_be_counted
from heldout.multiple_choice.left_out.references import bear_letters, names_places, refers
from heldout.multiple_choice.left_out.wording import some_nearly_same, without_shared, words_of
from heldout.scorers.choices import LETTERS

Key = tuple[object, ...]


def left_out(items: Sequence[Item], *, shuffled: bool = False) -> tuple[str | None, ...]:
    """Why each item is left out, a key of `OF_ITEMS`; None where it stays.

    Examples
    --------
    >>> options = [("1", "2"), ("iron", "zinc"), ("zinc", "iron"), ("Yes", "No"), ("cats", "dogs", "None of these")]
    >>> left_out([Item(str(i), "Which?", texts, 0) for i, texts in enumerate(options)])
    ('numbers', None, 'duplicate_item', 'conventional', 'references')
    """
    met: set[Key] = set()
    return tuple(left_out_for(item, met, shuffled=shuffled) for item in items)


def left_out_for(item: Item, met: set[Key], *, shuffled: bool = False) -> str | None:
    """Why an item is left out after those whose keys were met, to which its own are added; None where it stays.

    Items with the same options, as news desks or classes are, may all be printed in one order, drawn once; the tests
    take as many draws as there are items. One of them stays, unless orders were shuffled item by item.

    Examples
    --------
    >>> met, desks = set(), ("politics", "sports")
    >>> [left_out_for(Item(str(i), f"Story {i}?", desks, 0), met) for i in range(2)]
    [None, 'shared_options']
    """
    reason = reason_of(item)
    if reason is not None:
        return reason
    options = tuple(sorted(map(_spelled, item.options)))
    same: Key = (_spelled(item.question), options)
    if same in met:
        return "duplicate_item"
    shared = options in met and not shuffled
    met |= {same, options}
    return "shared_options" if shared else None


def _spelled(text: str) -> tuple[str, ...]:
    """What is left of a text where case, spaces and punctuation do not count; the text where nothing is left."""
    return tuple(words_of(text)) or (text,)


def reason_of(item: Item) -> str | None:
    """Why one item is left out, by what it says itself; None where it stays."""
    options = sorted(item.options)  # so that nothing can depend on the printed order
    letters = LETTERS[: len(options)]
    words = [words_of(option) for option in options]
    referring = [option for option in options if refers(option, letters)]
    # "Two" beside "three" is a number; beside "oak" it says how many of the options are meant.
    counted = referring and all(map(is_number_word, referring)) and are_quantities(options, words)
    if (referring and not counted) or bear_letters(options, letters):
        return "references"
    if names_places(item.question, letters):
        return "positions"
    if len({tuple(own) or option for own, option in zip(words, options, strict=True)}) < len(options):
        return "repeats"
    if are_statements(words):
        return "conventional"
    if _all_but_one(options, words, are_dates, may_be_counted):
        return "dates"
    if _all_but_one(options, words, are_quantities, may_be_counted):
        return "numbers"
    if is_customary(options, words) or _all_but_one(
        options, words, lambda _, rests: is_scale(rests), may_be_on_a_scale
    ):
        return "conventional"
    if some_nearly_same(words):
        return "near_duplicates"
    return None


def _all_but_one(
    options: Sequence[str],
    words: Sequence[Sequence[str]],
    holds: Callable[[Sequence[str], Sequence[Sequence[str]]], bool],
    may_hold: Callable[[Sequence[str]], bool],
) -> bool:
    """Whether something holds of all options, or of all but one of four or more: three points of a scale and a remark
    beside them still have their order. `may_hold` is quick to tell that it does not hold of an option."""
    n = len(options)
    if sum(map(may_hold, words)) < max(2, n - (n >= 4)):
        return False
    if holds(options, without_shared(words)):
        return True
    every = [[i for i in range(n) if i != j] for j in range(n)] if n >= 4 else []
    return any(holds([options[i] for i in part], without_shared([words[i] for i in part])) for part in every)
