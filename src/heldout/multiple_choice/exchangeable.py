"""Which items are left out, since the order of their options is not arbitrary.

Whether an item is left out depends on its question and its *set* of options, never on the printed order.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from heldout.multiple_choice.items import Item, Items

Reason = Literal[
    "references", "positions", "repeats", "near_duplicates", "dates", "numbers", "conventional", "duplicate_item"
]
REASONS: tuple[Reason, ...] = get_args(Reason)


def left_out(items: Items) -> tuple[Reason | None, ...]:
    """Why each item is left out; None where it stays."""
    return tuple(reason_of(item) for item in items)


def reason_of(item: Item) -> Reason | None:
    """Why one item is left out by what it says; None where it stays."""
    plain = {re.sub(r"\W+", " ", option).strip().casefold() for option in item.options}
    return "repeats" if len(plain) < len(item.options) else None
