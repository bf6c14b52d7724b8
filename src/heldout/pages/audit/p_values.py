"""Every p-value, and the two variances."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.leak_text import side_text as leak_side
from heldout.independence.result import AuditResult, pvalue_text
from heldout.pages.audit.words import side_of, side_text
from heldout.pages.numbers import p_text, scientific


def p_values_view(result: AuditResult) -> list[dict[str, Any]]:
    """Every p-value, the verdict's marked."""
    e, c = result.evidence, result.evidence.control
    rows, side = [], side_text(result)
    if c is not None and c.leak is not None:
        test = c.leak.test
        of_leak = side_of(test.alternative)
        rows += [
            ("Leak test, against references", p_text(test.p_value),
             f"{leak_side(test.alternative)}; the smaller of the next two, under the same permutations; fixed "
             "beforehand by giving references", True),
            (f"References, mean ({of_leak})", p_text(test.mean.p_value), "permutation within class, untouched pictures",
             False),
            (f"References, upper tail ({of_leak})", p_text(test.sparse.p_value), "the same, for a few seen pictures",
             False),
        ]  # fmt: skip
    elif c is not None:
        rows.append(("Test against control", p_text(c.p_value), "2 × the smaller of the next two, fixed beforehand",
                     True))  # fmt: skip
    if c is not None:
        rows += [
            (f"Control, T ({side})", p_text(c.statistic.p_value), "permutation within class", False),
            (f"Control, error rate ({side})", p_text(c.error_rate.p_value),
             "permutation within class, untouched pictures", False),
            ("Control on its own", pvalue_text(c.invariance_log_p_value), "betting, two-sided: is shifting neutral?",
             False),
        ]  # fmt: skip
    p = {name: pvalue_text(v) for name, v in e.log_p_values.items()}
    above = " Above 1 here, so it only orders results." if e.log_p_values["bernstein_uncapped"] > 0 else ""
    rows += [
        ("Betting", p["betting"], "test set alone; averaged over orders; finds the smallest effects", c is None),
        ("Mixture", p["mixture"], "test set alone; an e-value, needs no order", False),
        ("Bernstein, capped", p["bernstein"], "test set alone; equation 8 of v1", False),
        ("Bernstein, uncapped", p["bernstein_uncapped"], "the same before capping at 1, as in figure 9 of v1." + above,
         False),
        ("Two intervals", p["intervals"], "test set alone; appendix A of v1, the weakest", False),
        ("E-value", f"{math.exp(min(e.log_e_value, 700.0)):.3g}",
         "no p-value, large where p is small: average it over audits that share test set or control, multiply it "
         "over audits that share neither", False),
    ]  # fmt: skip
    return [{"name": a, "p": b, "note": d, "verdict": v} for a, b, d, v in rows]


def variance_view(result: AuditResult) -> dict[str, Any]:
    """The variances of both estimates."""
    e = result.evidence
    larger = e.adversarial_estimate_variance > e.test_error_variance
    ratio = (
        f"{e.adversarial_estimate_variance / e.test_error_variance:.2f} times as large"
        if e.test_error_variance > 0
        else "not comparable, because the test error does not vary"
    )
    return {
        "estimate": scientific(e.adversarial_estimate_variance),
        "test_error": scientific(e.test_error_variance),
        "ratio": ratio,
        "larger": larger,
    }
