"""What a test set is a sample of: examples, or groups of them, and how large a group can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import group_sizes
from heldout.predictions import Predictions
from heldout.reuse.grouped import Grouping, find_groups

MOST = 1_000_000_000  # examples that a group is said to have


@dataclass(frozen=True)
class Sampling:
    """What was drawn, and how: groups of examples, as large as they may be, or examples alone; one look, or many."""

    grouping: Grouping | None
    of_one: str | None  # what told groups of one example each
    largest: int | None  # as stated
    sequential: bool

    @classmethod
    def of(cls, table: Predictions, groups: Any, largest: int | None, *, sequential: bool) -> Sampling:
        """What was asked for, checked."""
        grouping, of_one = find_groups(table, groups)
        if largest is None:
            return cls(grouping, of_one, None, sequential)
        largest = check_count(largest, "largest_group", most=MOST)
        if sequential:
            raise InputError(
                "`largest_group` is for a single look: with `sequential` each group counts once, whatever its size; "
                "leave one of the two out."
            )
        if grouping is None and of_one is None:
            raise InputError("`largest_group` is for examples that come in groups; name them with `groups`.")
        if grouping is not None:
            _check_largest(largest, table, grouping)
        elif largest > 1:  # each example stands alone here, but groups that were not drawn need not
            alone = np.arange(table.n_examples)
            grouping, of_one = Grouping(codes=alone, named=of_one, n_repeated=0, repeated_in=()), None
        return cls(grouping, of_one, largest, sequential)


def _check_largest(largest: int, table: Predictions, grouping: Grouping) -> None:
    """Refuse a size that a group here exceeds, and say which."""
    sizes = group_sizes(grouping.codes)
    if largest < (here := int(sizes.max())):
        first = int(np.argmax(grouping.codes == np.argmax(sizes)))
        name = example_name(table, first)
        joined = " (groups that share an input are one)" if grouping.n_repeated else ""
        raise InputError(
            f"`largest_group` is {largest:,}, but the group of example {name} in {table.source} has "
            f"{here:,} examples{joined}; name {here:,} or more."
        )


def example_name(table: Predictions, place: int) -> str:
    """An example's id; its position where it has none."""
    return f"{place}" if table.ids is None else table.ids[place]
