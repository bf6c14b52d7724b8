"""Two estimates of one error."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.evidence import error_interval
from heldout.independence.result import AuditResult
from heldout.independence.untouched import ORIGINAL
from heldout.pages import svg
from heldout.pages.audit.words import CONFIDENCE_TEXT, models_text
from heldout.pages.numbers import fixed, pair, percent


def _method(result: AuditResult) -> str:
    if result.test.groups is not None:
        return "Korn and Graubard’s for the error rates, for groups"
    return "exact for the error rates" if result.n_models == 1 else "Bernstein"


def errors_view(result: AuditResult) -> dict[str, Any]:
    """R_S, R_g, the control's error and the unweighted adversarial error on one axis."""
    e = result.evidence

    def row(name: str, value: float, interval: tuple[float, float] | None, style: svg.Style) -> svg.Row:
        text = fixed(value) + (f"  ({pair(interval)})" if interval else "")
        return svg.Row(name=name, value=value, text=text, interval=interval, style=style)

    framed = ", in the frame" if ORIGINAL in result.untouched_pictures else ""
    rows = [
        row(f"Test error R_S{framed}", e.test_error, e.intervals["test_error"], "a"),
        row("Adversarial estimate R_g", e.adversarial_estimate, e.intervals["adversarial_estimate"], "b"),
    ]
    if result.control is not None:
        losses = result.control.losses.mean(axis=0)
        rows.append(
            row(f"Control error{framed}", float(losses.mean()), error_interval(losses, result.control.groups), "c")
        )
    rows.append(row("Adversarial error, unweighted", e.adversarial_error, None, "d"))
    success = result.test.attack_success
    return {
        "chart": svg.interval_chart(
            rows,
            label="; ".join(f"{r.name} {r.text}" for r in rows),
            x_label=f"error rate, with {CONFIDENCE_TEXT} intervals",
            floor=0.0,
        ),
        "statistic": fixed(e.statistic, 5, sign=True),
        "method": _method(result),
        "confidence": CONFIDENCE_TEXT,
        "success": f"{percent(success)} of the examples that {models_text(result)} had right"
        if math.isfinite(success)
        else None,
        "averaged": result.rule in ("random", "random2"),
        "adversarial_error": fixed(e.adversarial_error),
    }
