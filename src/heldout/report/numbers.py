"""Numbers as people read them; an undefined one says so."""

from __future__ import annotations

import math
import re

from heldout.independence.result import AuditResult, pvalue_text

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


def verdict_p_text(result: AuditResult) -> str:
    """The verdict's p-value: a permutation test's where there is a control, a logarithm otherwise."""
    control = result.evidence.control
    return p_text(control.p_value) if control is not None else pvalue_text(result.evidence.log_p_value)


def percent(value: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.115), percent(0.11504, 2), percent(float("nan"))
    ('11.5\\xa0%', '11.50\\xa0%', 'not defined')
    """
    return f"{100 * value:.{digits}f}{PERCENT}" if math.isfinite(value) else NOT_DEFINED


def why_undetectable(result: AuditResult) -> str | None:
    """Why the detectable effect is not defined; None where it is."""
    control = result.evidence.control
    if control is not None:
        # Without any spread the formula gives 0: nothing was measured, which is not "everything is found".
        if control.statistic.standard_error > 0:
            return None
        return "no T varies within a class, in the test set or in the control, so there is no spread to project from"
    if math.isfinite(result.evidence.detectable_effect):
        return None
    if not (result.T > 0).any():
        return "no example has a positive T, so there is nothing to project a positive mean from"
    return "not even the largest mean that these values of T allow would be found four times in five"


def effect_text(result: AuditResult) -> str:
    """The detectable effect, or that it is not defined."""
    return NOT_DEFINED if why_undetectable(result) else fixed(result.evidence.detectable_effect)


def verdict_word(result: AuditResult) -> str:
    """The capitals that open the verdict: NO EVIDENCE, NOT INDEPENDENT or REJECTED."""
    words = []
    for word in result.verdict.split():
        if word.strip(":") != word.strip(":").upper() or not word[0].isalpha():
            break
        words.append(word.strip(":"))
        if word.endswith(":"):
            break
    return " ".join(words)


def verdict_sentence(result: AuditResult) -> str:
    """The verdict without the capitals that open it, for a place whose title has said them."""
    text = " ".join(result.verdict.split())
    word = verdict_word(result)
    rest = text.removeprefix(word)
    for opening in (":", " against independence:"):
        if rest.startswith(opening):
            rest = rest.removeprefix(opening).lstrip()
            break
    else:
        rest = word.capitalize() + rest
    # "... are not independent (p): why." repeats the title; what remains to be said is why.
    why = re.fullmatch(r".*? are not independent (\(.*?\)): (.*)\.", rest)
    if why:
        rest = f"{why[2]} {why[1]}."
    rest = re.sub(r"\b([pn]) = ", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", rest.replace(" %", PERCENT))
    return rest[:1].upper() + rest[1:]
