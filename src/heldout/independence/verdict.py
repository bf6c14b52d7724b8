"""The verdict in plain words; every word has its number beside it."""

from __future__ import annotations

import math

from heldout.independence.evidence import Evidence
from heldout.statistics.checks import Alternative
from heldout.statistics.power import LEVEL


def verdict(evidence: Evidence, *, alternative: Alternative, tolerance: float, n_examples: int, n_models: int) -> str:
    """What the numbers allow to be said, and what they rest on.

    The first words are one of three: NO EVIDENCE; NOT INDEPENDENT, which needs a control; and REJECTED, which
    without a control leaves open what fails.
    """
    p_text = f"p = {pvalue_text(evidence.log_p_value)}"
    found = evidence.p_value <= LEVEL
    effect = "A mean T" if evidence.control is None else "A difference in T"
    limit = (
        f"{effect} of {evidence.detectable_effect:.4f} would have been found four times in five; a smaller one may "
        "well be there."
        if math.isfinite(evidence.detectable_effect)
        else "What could have been detected cannot be told from these data."
    )
    if evidence.control is not None:
        return _against_control(evidence, p_text, found, limit, n_models)
    neutral = f"neutral up to {tolerance}" if tolerance else "neutral"
    tested = f"{p_text}, betting, {alternative}, n = {n_examples:,}"
    if found:
        side = "higher" if evidence.statistic > 0 else "lower"
        return (
            "REJECTED: it cannot both be true that the model is independent of this test set and that small shifts "
            f"are {neutral} ({tested}): the adversarial error estimate is {abs(evidence.statistic):.4f} {side} than "
            "the test error. Photographs are framed, so shifts seldom are quite neutral; do not call this overfitting "
            "before a control (--control) has told the two apart."
        )
    return (
        f"NO EVIDENCE against independence ({tested}). {limit} This rests on two assumptions: independence, which is "
        f"tested, and that small shifts are {neutral} (they keep a picture's label and likelihood), which is not. Only "
        "a control (--control) can tell them apart."
    )


def _against_control(evidence: Evidence, p_text: str, found: bool, limit: str, n_models: int) -> str:
    control = evidence.control
    assert control is not None
    who = "the model" if n_models == 1 else f"the {n_models} models, averaged,"
    if not found:
        does, it_does = ("does", "it does") if n_models == 1 else ("do", "they do")
        return (
            f"NO EVIDENCE against independence: {who} {does} on the test set what {it_does} on the control ({p_text}). "
            f"{limit}"
        )
    # The direction is that of the test that spoke; both differences are positive for an easy test set.
    spoke = min(control.statistic, control.error_rate, key=lambda test: test.p_value)
    direction = (
        "the test set is easier than fresh data of the same source"
        if spoke.difference > 0
        else "test set and control differ, but not in the direction of overfitting"
    )
    return (
        f"NOT INDEPENDENT: {who} and this test set are not independent ({p_text} against a control of "
        f"{control.statistic.n_control:,} examples): {direction}."
    )


def pvalue_text(log_p: float) -> str:
    """A p-value for people, also where it underflows.

    Examples
    --------
    >>> pvalue_text(0.0), pvalue_text(-5.0), pvalue_text(-2302.585)
    ('1', '0.0067', '1e-1000')
    """
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.2g}"
    exponent = log_p / math.log(10.0)
    whole = math.floor(exponent + 1e-6)
    digit = 10 ** (exponent - whole)
    return f"{digit:.0f}e{whole:d}" if round(digit) < 10 else f"1e{whole + 1:d}"
