"""How far seeds move a number that rests on draws, and whether one could put it on the other side of a level."""

from __future__ import annotations

import math

FAR = 2.0  # standard deviations over seeds, past which a number stays on its side of a level with nearly all of them


def draws_error(p: float, n_draws: int, *, times: int = 1) -> float:
    """Standard deviation over seeds of p that is a share of so many draws, or `times` one.

    Examples
    --------
    >>> round(draws_error(0.048, 9999), 5), round(draws_error(0.048, 9999, times=2), 5)
    (0.00214, 0.00306)
    """
    share = min(1.0, p / times)
    return times * math.sqrt(share * (1 - share) / n_draws)


def seed_decides(level: float, *drawn: tuple[float, float]) -> bool:
    """Whether another seed could put the largest of some numbers on the other side of a level.

    Each is given with its standard deviation over seeds, 0 where no seed moves it; NaN, of which nothing is known,
    decides nothing. All of them must be able to lie below: one that stays above settles it.

    Examples
    --------
    >>> seed_decides(0.05, (0.048, 0.0021)), seed_decides(0.05, (0.03, 0.0017)), seed_decides(0.05, (0.05, 0.0))
    (True, False, False)
    >>> seed_decides(0.05, (0.048, 0.004), (0.01, 0.002)), seed_decides(0.05, (0.04, 0.02), (0.0556, 0.0))
    (True, False)
    """
    below = all(value - FAR * error <= level for value, error in drawn)
    return below and any(error > 0 and value + FAR * error >= level for value, error in drawn)
