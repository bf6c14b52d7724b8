"""The two statistics and the verdict made of them; what leak they would have found."""

from __future__ import annotations

from typing import Any

from heldout.independence.leak import WAYS
from heldout.independence.score_result import ScoreAuditResult
from heldout.report.numbers import NOT_DEFINED, fixed, p_text, pair
from heldout.report.score_audit.words import leak_share_text


def statistics_view(result: ScoreAuditResult) -> dict[str, Any]:
    """Mean and tail, test minus control."""
    test = result.leak.test
    rows = [
        ("Mean", test.mean, "All residuals count alike: strong where many examples were seen."),
        ("Tail", test.sparse, "Examples far above what was expected count: strong where a few were seen."),
    ]
    smallest = min(1.0, 1 / (test.mean.n_resamples + 1))
    units = "of whole groups" if test.mean.n_groups_test is not None else ""
    within = "within class" if result.strata else ""
    how = " ".join(text for text in ("permutations", units, within) if text)
    return {
        "rows": [
            {
                "name": name,
                "difference": fixed(of.difference, 5, sign=True),
                "interval": pair(of.interval, 5, sign=True) if of.standard_error > 0 else f"{NOT_DEFINED}: no spread",
                "two_sided": p_text(of.p_two_sided),
                "greater": p_text(of.p_greater),
                "meaning": meaning,
            }
            for name, of, meaning in rows
        ],
        "combined": {"two_sided": p_text(test.p_two_sided), "greater": p_text(test.p_greater)},
        "side": "one-sided" if test.alternative == "greater" else "two-sided",
        "floor": f"{test.mean.n_resamples:,} {how}: no p below {p_text(smallest)} is possible.",
    }


def detectable_view(result: ScoreAuditResult) -> list[tuple[str, str]]:
    """How far a seen example moves, and the share of the test set that is then found."""
    return [
        (WAYS.get(found.pull, f"{100 * found.pull:g} % of the way"), leak_share_text(found.share))
        for found in result.leak.detectable
    ]
