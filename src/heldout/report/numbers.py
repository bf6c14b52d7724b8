"""Numbers as people read them; an undefined one says so."""

from __future__ import annotations

import math

from heldout.independence.result import pvalue_text

NOT_DEFINED = "not defined"
PERCENT = "\N{NO-BREAK SPACE}%"  # a number and its sign stay on one line


def fixed(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """A number with so many digits and a true minus sign.

    Examples
    --------
    >>> fixed(-0.00165, 5, sign=True), fixed(0.336), fixed(float("nan"))
    ('−0.00165', '0.3360', 'not defined')
    >>> fixed(-0.0, 5, sign=True)
    '0.00000'
    """
    if not math.isfinite(value):
        return NOT_DEFINED
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")  # a zero has no sign, also one that rounding made
    return text.replace("-", "−")


def pair(interval: tuple[float, float], digits: int = 4, *, sign: bool = False) -> str:
    """Both ends of an interval."""
    return f"{fixed(interval[0], digits, sign=sign)} to {fixed(interval[1], digits, sign=sign)}"


def scientific(value: float) -> str:
    """Three significant digits.

    Examples
    --------
    >>> scientific(0.000324), scientific(0.0)
    ('0.000324', '0')
    """
    return f"{value:.3g}".replace("-", "−") if math.isfinite(value) else NOT_DEFINED


def p_text(p: float) -> str:
    """A p-value that is no logarithm yet, for instance a permutation test's.

    Examples
    --------
    >>> p_text(0.0001), p_text(1.0), p_text(1e-20)
    ('0.0001', '1', '1e-20')
    """
    if not p > 0:
        return NOT_DEFINED
    return f"{p:.2g}" if p >= 1e-4 else pvalue_text(math.log(p))


def percent(value: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.115), percent(0.11504, 2), percent(float("nan"))
    ('11.5\\xa0%', '11.50\\xa0%', 'not defined')
    """
    return f"{100 * value:.{digits}f}{PERCENT}" if math.isfinite(value) else NOT_DEFINED
