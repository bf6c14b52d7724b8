"""What an error bar means in whole examples, and which pairs of models can exist."""

from __future__ import annotations

import math
from fractions import Fraction

from heldout.errors import InputError

Number = int | float | str | Fraction

IN_POINTS = {"epsilon": ": 0.01 is ±1 point", "gap": ": 0.01 is 1 point"}  # as pages show what is given as a share


def exact(value: Number) -> Fraction:
    """The number that was meant: a float stands for its shortest decimal, 0.244 for 244/1000.

    Examples
    --------
    >>> exact(0.244)
    Fraction(61, 250)
    """
    return value if isinstance(value, Fraction) else Fraction(str(value))


def error_thresholds(n: int, error: Number, epsilon: Number) -> tuple[int, int]:
    """Counts of wrong answers at which a model is off by at least epsilon: <= lo or >= hi.

    lo = ⌊n (p - ε)⌋ and hi = ⌈n (p + ε)⌉ in rational arithmetic: in floats 50,000 · (0.244 + 0.01) may come out a
    hair above or below 12,700, and one example moves the number of testable models by 2 %.

    Examples
    --------
    >>> error_thresholds(50_000, 0.244, 0.01)
    (11700, 12700)
    """
    p, e = exact(error), exact(epsilon)
    return math.floor(n * (p - e)), math.ceil(n * (p + e))


def both_wrong(error: Number, similarity: Number) -> Fraction:
    """P(both wrong) = p + (η - 1) / 2 of two models with error p and similarity η, if such models exist.

    Examples
    --------
    >>> float(both_wrong(0.244, 0.85))
    0.169
    """
    p, eta = exact(error), exact(similarity)
    p11 = p + (eta - 1) / 2
    if p11 < 0 or p11 > p or p11 < 2 * p - 1:
        least = abs(1 - 2 * p)
        raise InputError(
            f"no two models with error {float(p):g} have similarity {_short(eta)}: they agree on at least "
            f"{float(least):g} and at most 1 of the examples."
        )
    return p11


def independent_similarity(error: Number) -> float:
    """The similarity p² + (1 - p)² of two models with error p that err independently."""
    p = exact(error)
    return float(p * p + (1 - p) * (1 - p))


def check_exact_share(name: str, value: Number) -> None:
    """Refuse what is no number strictly between 0 and 1; exactly, where `checks.check_share` goes by floats."""
    number = check_number(name, value)
    if not 0 < number < 1 or float(number) in (0.0, 1.0):
        raise InputError(
            f"`{name}` is {_short(number)}; it must lie strictly between 0 and 1{IN_POINTS.get(name, '')}."
        )


def check_number(name: str, value: Number) -> Fraction:
    """The exact number; what is none (NaN, infinity, text) is refused."""
    try:
        return exact(value)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise InputError(f"`{name}` is {value}; it must be a number between 0 and 1.") from error


def _short(number: Fraction) -> str:
    """A number as people write it, whatever its size."""
    try:
        return f"{float(number):g}"
    except OverflowError:
        return "over 1e308"
