"""The four ways to choose a move, and the range of the statistic each one guarantees."""

from __future__ import annotations

from typing import Literal, get_args

from heldout.errors import InputError

Rule = Literal["strongest", "nearest", "random", "random2"]
RULES: tuple[Rule, ...] = get_args(Rule)


def check_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    if rule not in RULES:
        raise InputError(f"`rule` is {rule!r}; choose one of {', '.join(RULES)}.")


def statistic_range(rule: Rule, n_moves: int) -> tuple[float, float]:
    r"""Smallest interval that holds T = L(g(x)) h(g(x)) - L(x) whatever the model and the data.

    With M moves a wrong point has 0 to M right points moved onto it, so h is between 1/(M+1) and 1
    for the deterministic rules, and at most 1/2 on a point that was moved. For the random rules
    n = R/M or R/(M+1) with R right points around.

    Parameters
    ----------
    rule : {"strongest", "nearest", "random", "random2"}
        How a move is chosen.
    n_moves : int
        The number M of moves.

    Returns
    -------
    lower, upper : float
        The ends.

    Examples
    --------
    >>> from heldout.orbit import statistic_range
    >>> statistic_range("strongest", 24)
    (-0.96, 0.5)
    >>> statistic_range("random", 24)
    (-0.5, 0.96)
    """
    check_rule(rule)
    m = n_moves
    if rule == "random":
        return -0.5, m / (m + 1)
    if rule == "random2":
        return -m / (2 * m + 1), m / (m + 2)
    return -m / (m + 1), 0.5
