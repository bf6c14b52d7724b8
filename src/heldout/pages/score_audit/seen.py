"""The examples that look seen."""

from __future__ import annotations

from typing import Any

from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.numbers import fixed, p_text

MOST = 100  # rows on the page; all are in the saved result


def seen_view(result: ScoreAuditResult) -> dict[str, Any]:
    """The list, how it was made and how short it can be."""
    rows = [
        (x.id, fixed(x.score, 3), fixed(x.expected, 3), fixed(x.score - x.expected, 3, sign=True), p_text(x.p_value))
        for x in result.seen[:MOST]
    ]
    return {
        "sentence": str(result.leak.seen),
        "rows": rows,
        "more": max(0, len(result.seen) - MOST),
        "q": f"{100 * result.leak.seen.q:g}",
        "found": result.outcome == "easier",
        "within": "of its class" if result.leak.seen.within_class else "",
    }
