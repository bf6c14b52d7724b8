"""Where a condition begins to hold."""

from __future__ import annotations

from collections.abc import Callable


def first_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first whole number in low..high at which a condition holds that stays once it does; high where it never does.

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


def from_here_on(holds: Callable[[int], bool], surely: Callable[[int], bool], low: int, high: int, *, most: int) -> int:
    """The first whole number in low..high from which on a condition holds that comes and goes before it stays.

    `surely` is one that stays once it holds, and where it holds so does the condition. Counts are whole, so
    probabilities of counts jump: from where `surely` begins the numbers below are looked at one by one, `most` of them
    at most; where that does not reach the last one that fails, the answer is on the safe side.

    Examples
    --------
    >>> from_here_on(lambda i: i in (2, 3) or i > 5, lambda i: i > 9, 0, 100, most=50)
    6
    """
    found = first_where(surely, low, high)
    for _ in range(most):
        if found <= low or not holds(found - 1):
            break
        found -= 1
    return found
