"""Numbers as people read them; an undefined one says so."""

from __future__ import annotations

import math
from collections.abc import Iterable

LARGEST = 10**18  # counts from here on are not told
NOT_DEFINED = "not defined"
TAILS = 0.05  # of a simulated mean's interval, both together
PERCENT = "\N{NO-BREAK SPACE}%"  # a number and its sign stay on one line


def minus(text: str) -> str:
    """A number with a true minus sign; a zero has no sign, also one that rounding made."""
    return (text if any(digit in text for digit in "123456789") else text.lstrip("+-")).replace("-", "−")


def fixed(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """A number with so many digits and a true minus sign.

    Examples
    --------
    >>> fixed(-0.00165, 5, sign=True), fixed(0.336), fixed(float("nan"))
    ('−0.00165', '0.3360', 'not defined')
    >>> fixed(-0.0, 5, sign=True)
    '0.00000'
    """
    return minus(f"{value:{'+' if sign else ''}.{digits}f}") if math.isfinite(value) else NOT_DEFINED


def signed(value: float, size: float) -> str:
    """A number with its sign: five digits after the point where they tell something of this size, else four of it.

    Examples
    --------
    >>> signed(0.85026, 0.15), signed(-2e-60, 1e-61), signed(3.21e70, 1e69), signed(0.0, 0.0)
    ('+0.85026', '−2e−60', '+3.21e+70', '0.00000')
    """
    if not math.isfinite(value) or size == 0 or 1e-4 <= size < 1e7:
        return fixed(value, 5, sign=True)
    return minus(f"{value:+.4g}")


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
    return pvalue_text(math.log(p))


def pvalue_text(log_p: float) -> str:
    """A p-value from its logarithm, also where it underflows.

    Examples
    --------
    >>> pvalue_text(0.0), pvalue_text(-5.0), pvalue_text(math.log(0.0001)), pvalue_text(-2302.585)
    ('1', '0.0067', '0.0001', '1e-1000')
    """
    if log_p > math.log(1e-4) - 1e-9:
        return f"{math.exp(log_p):.2g}"
    exponent = log_p / math.log(10.0)
    whole = math.floor(exponent + 1e-6)
    digit = 10 ** (exponent - whole)
    return f"{digit:.0f}e{whole:d}" if round(digit) < 10 else f"1e{whole + 1:d}"


def p_moves_text(error: float, level: float) -> str:
    """That another seed could put p on the other side of a level: it moves by `error`, a standard deviation over seeds.

    Examples
    --------
    >>> p_moves_text(0.0021, 0.05)
    'p moves with the seed, by ± 0.0021 (standard deviation), and lies within two of these of 0.05: another seed could \
decide otherwise.'
    """
    return (
        f"p moves with the seed, by ± {p_text(error)} (standard deviation), and lies within two of these of "
        f"{level:g}: another seed could decide otherwise."
    )


def capital_moves_text(share: float, error: float, level: float) -> str:
    """The same of p by bets that hold, averaged over orders, such a share of the capital that the level takes.

    Examples
    --------
    >>> capital_moves_text(0.97, 0.021, 0.05)
    'p moves with the seed: averaged over orders of the examples, the bets hold 0.970 ± 0.021 (standard deviation) of \
the capital that p of 0.05 takes, which is within two of these of all of it: another seed could decide otherwise.'
    """
    return (
        f"p moves with the seed: averaged over orders of the examples, the bets hold {fixed(share, 3)} ± "
        f"{fixed(error, 3)} (standard deviation) of the capital that p of {level:g} takes, which is within two of "
        "these of all of it: another seed could decide otherwise."
    )


def other_trials(gain: float, std: float, n_trials: int, level: float) -> str | None:
    """The same of a mean gain over simulations with such a standard deviation; None where it hardly could.

    A single simulation tells nothing of its own.

    Examples
    --------
    >>> other_trials(0.0204, 0.0009, 10, 0.02)
    'The gain moves with the seed, by ± 0.00028 (standard error over 10 trials), and its 95\xa0% interval holds 0.02: \
another seed could decide otherwise.'
    >>> other_trials(0.03, 0.0009, 10, 0.02) is None
    True
    >>> other_trials(0.0, 0.0, 10, 0.0) is None  # nothing gained in any trial
    True
    >>> other_trials(0.03, float("nan"), 1, 0.02)
    'A single trial does not tell how far the gain moves with the seed: another seed could decide otherwise.'
    """
    if n_trials < 2:
        return "A single trial does not tell how far the gain moves with the seed: another seed could decide otherwise."
    from scipy.special import stdtrit

    error = std / math.sqrt(n_trials)
    if not (error > 0 and abs(gain - level) <= float(stdtrit(n_trials - 1, 1 - TAILS / 2)) * error):
        return None
    return (
        f"The gain moves with the seed, by ± {error:.2g} (standard error over {n_trials:,} trials), and its "
        f"{sure_text(TAILS)} interval holds {level:g}: another seed could decide otherwise."
    )


def percent(value: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.115), percent(-0.11504, 2), percent(float("nan"))
    ('11.5\\xa0%', '−11.50\\xa0%', 'not defined')
    """
    return f"{fixed(100 * value, digits)}{PERCENT}" if math.isfinite(value) else NOT_DEFINED


def sure_text(level: float) -> str:
    """How sure a statement is that fails with probability `level`.

    Examples
    --------
    >>> sure_text(0.05), sure_text(0.05 / 45)
    ('95\\xa0%', '99.8889\\xa0%')
    """
    return f"{100 * (1 - level):.6g}{PERCENT}"


def share_text(value: float) -> str:
    """A share in percent with three digits, however small.

    Examples
    --------
    >>> share_text(6 / 26335), share_text(0.0938), share_text(1.0)
    ('0.0228\\xa0%', '9.38\\xa0%', '100\\xa0%')
    """
    return f"{100 * value:.3g}{PERCENT}" if math.isfinite(value) else NOT_DEFINED


def of_text(count: int, total: int) -> str:
    """So many of so many, and their share.

    Examples
    --------
    >>> of_text(3, 45), of_text(1200, 10_000), of_text(0, 0)
    ('3 of 45 (6.7\\xa0%)', '1,200 of 10,000 (12.0\\xa0%)', '0 of 0')
    """
    return f"{count:,} of {total:,}" + (f" ({percent(count / total)})" if total else "")


def arithmetic_text(precisions: Iterable[str], batch_sizes: Iterable[int]) -> str:
    """What models compute in, and how many pictures at once: one of each in most cases.

    Examples
    --------
    >>> arithmetic_text(["float32", "float32"], [1024, 512])
    'float32, in batches of 512 and 1,024'
    """
    kinds, sizes = sorted(set(precisions)), [f"{size:,}" for size in sorted(set(batch_sizes))]
    return f"{' and '.join(kinds)}, in batches of {' and '.join(sizes)}"


def ways_text(ways: Iterable[str]) -> str | None:
    """What runs torch modules, where somebody asked for another than torch itself.

    Examples
    --------
    >>> ways_text(["ONNX Runtime", "torch", "its own"]), ways_text(["torch", "its own"])
    ('ONNX Runtime, torch', None)
    """
    found = set(ways) - {"its own"}
    return ", ".join(sorted(found)) if found - {"torch"} else None


def counted(count: int, what: str) -> str:
    """So many of something.

    Examples
    --------
    >>> counted(1, "trial"), counted(5200, "answer")
    ('1 trial', '5,200 answers')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


KNOWN = 10**12  # counts beyond are not known to the last digit
WORDS = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"))


def count_words(count: int | None) -> str:
    """A count in words, three digits from ten thousand on; the exact one belongs in a table.

    Examples
    --------
    >>> count_words(1_062_137), count_words(251_165), count_words(9_999), count_words(999_999)
    ('1.06 million', '251 thousand', '9,999', '1 million')
    >>> count_words(10**18), count_words(3 * 10**16), count_words(None)
    ('over 10¹⁸', '3 × 10¹⁶', 'not defined')
    """
    if count is None:
        return NOT_DEFINED
    if count < 10_000:
        return f"{count:,}"
    if count >= LARGEST:
        return "over 10¹⁸"
    rounded = float(f"{count:.3g}")
    if rounded >= 10**15:
        digits, _, exponent = f"{rounded:.2e}".partition("e+")
        return f"{float(digits):g} × 10" + exponent.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    size, word = next((size, word) for size, word in WORDS if rounded >= size)
    return f"{rounded / size:g} {word}"


def exact_text(count: int | None) -> str:
    """A count to the last digit, as long as the bounds know it.

    Examples
    --------
    >>> exact_text(1_062_137), exact_text(349_852_596_844_033_152), exact_text(10**18), exact_text(None)
    ('1,062,137', '3.5 × 10¹⁷', '10¹⁸ or more', 'not defined')
    """
    if count is None:
        return NOT_DEFINED
    if count >= LARGEST:
        return "10¹⁸ or more"
    return count_words(count) if count >= KNOWN else f"{count:,}"


def bar_text(half_width: float, *, full: bool = False, points: bool = True) -> str:
    """Half the width of an error bar in percentage points, since a percent sign could be read as a share of the error,
    or in the scores' own unit; with all three digits where it was measured and not asked for.

    Examples
    --------
    >>> bar_text(0.01), bar_text(0.01, full=True), bar_text(1.0, full=True), bar_text(float("nan"))
    ('±1\\xa0point', '±1.00\\xa0points', '±100\\xa0points', 'not defined')
    >>> bar_text(0.01, points=False), bar_text(0.01, full=True, points=False), bar_text(1e-5, points=False)
    ('±0.01', '±0.0100', '±1e−05')
    """
    if not math.isfinite(half_width):
        return NOT_DEFINED
    value = 100 * half_width if points else half_width
    digits = minus(f"{value:{'#' if full else ''}.3g}".removesuffix("."))
    if not points:
        return f"±{digits}"
    return f"±{digits}\N{NO-BREAK SPACE}{'point' if digits == '1' else 'points'}"


def points_text(difference: float) -> str:
    """A difference in percentage points, three digits of it.

    Examples
    --------
    >>> points_text(0.00805), points_text(0.01), points_text(float("nan"))
    ('0.805\\xa0points', '1\\xa0point', 'not defined')
    """
    return bar_text(difference).removeprefix("±")


def times_text(ratio: float) -> str:
    """How many times as many.

    Examples
    --------
    >>> times_text(4.2287), times_text(513.46), times_text(12_345.6), times_text(3.2e9)
    ('4.23 times', '513 times', '12,300 times', '3.2 billion times')
    """
    if ratio < 10_000:
        return f"{ratio:.3g} times"
    if ratio < 1e6:
        return f"{float(f'{ratio:.3g}'):,.0f} times"
    return f"{count_words(round(ratio))} times"
