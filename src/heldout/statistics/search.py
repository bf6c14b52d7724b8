"""Where a condition begins to hold."""

from __future__ import annotations

from collections.abc import Callable


def first_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first whole number in low..high from which on a condition holds; high where it holds for none.

    Examples
    --------
    >>> first_where(lambda i: i * i >= 50, 0, 100)
    8
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
