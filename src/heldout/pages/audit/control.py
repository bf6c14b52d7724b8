"""Test set against control."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.evidence import ControlEvidence
from heldout.independence.result import AuditResult, pvalue_text
from heldout.independence.verdict import unmatched_text
from heldout.pages import svg
from heldout.pages.audit.words import side_text
from heldout.pages.numbers import NOT_DEFINED, PERCENT, fixed, p_text, pair
from heldout.statistics.power import LEVEL


def control_view(result: AuditResult) -> dict[str, Any] | None:
    """Both differences with their tests; None without a control."""
    c = result.evidence.control
    if c is None or result.control is None:
        return None
    p_t, p_error = p_text(c.statistic.p_value), p_text(c.error_rate.p_value)
    invariance = pvalue_text(c.invariance_log_p_value)
    doubled = 2 * min(c.statistic.p_value, c.error_rate.p_value)
    smallest = min(1.0, 2 / (c.statistic.n_resamples + 1))
    return {
        **_differences(c),
        "by_references": c.leak is not None,
        "verdict": f"2 × min({p_t}, {p_error}) = {p_text(doubled)}"
        if doubled <= 1
        else f"2 × min({p_t}, {p_error}), capped at 1, = 1",
        "side": side_text(result),
        "floor": f"{c.statistic.n_resamples:,} permutations {_units(c)}: "
        f"no verdict below {p_text(smallest)} is possible.",
        "invariance": invariance,
        "invariance_meaning": "small, so shifting alone moves T: without a control that would have looked like "
        "overfitting"
        if c.invariance_log_p_value <= math.log(LEVEL)
        else "not small, so nothing shows that shifting alone moves T, which is not to say that it does not",
        "unmatched": f"{c.statistic.n_unmatched:,} examples {unmatched_text(c.statistic)} were left out."
        if c.statistic.n_unmatched
        else None,
        "n": f"{len(result.control):,}",
        "plain": _plain(result),
    }


def _units(c: ControlEvidence) -> str:
    return "within class" if c.statistic.n_groups_test is None else "of whole groups, within class"


def _plain(result: AuditResult) -> list[dict[str, str]]:
    """Means over all examples, whatever their class."""
    assert result.control is not None
    e, control = result.evidence, result.control
    pairs = [
        ("Error rate, untouched pictures", e.untouched_error, float(control.untouched_losses.mean()), 4, False),
        ("Mean T", e.statistic, float(control.T.mean()), 5, True),
    ]
    return [
        {
            "name": name,
            "test": fixed(a, digits, sign=sign),
            "control": fixed(b, digits, sign=sign),
            "difference": fixed(a - b, digits, sign=True),
        }
        for name, a, b, digits, sign in pairs
    ]


def _differences(c: ControlEvidence) -> dict[str, Any]:
    """Test minus control, drawn and as a table."""
    low, high = c.error_rate.interval
    differences: dict[str, tuple[float, tuple[float, float] | None]] = {
        "T": (c.statistic.difference, c.statistic.interval if c.statistic.standard_error > 0 else None),
        "error": (-c.error_rate.difference, (-high, -low) if c.error_rate.standard_error > 0 else None),
    }
    values = {name: fixed(value, 5, sign=True) for name, (value, _) in differences.items()}
    # Without any spread the interval has width 0, which would claim a certainty nobody has.
    intervals = {
        name: pair(interval, 5, sign=True) if interval else f"{NOT_DEFINED}: no spread"
        for name, (_, interval) in differences.items()
    }
    styles: dict[str, svg.Style] = {"T": "b", "error": "a"}
    names = {"T": "T", "error": "Error rate"}
    rows = [
        svg.Row(
            name=f"{names[name]}, within class",
            value=value,
            interval=interval,
            text=f"{values[name]}  ({intervals[name]})",
            style=styles[name],
        )
        for name, (value, interval) in differences.items()
    ]
    return {
        "chart": svg.interval_chart(
            rows,
            label="Test minus control: " + "; ".join(f"{r.name} {r.text}" for r in rows),
            x_label=f"test minus control, with 95{PERCENT} intervals",
            reference=0.0,
        ),
        "rows": [
            {
                "name": "T, within class",
                "difference": values["T"],
                "interval": intervals["T"],
                "two_sided": p_text(c.statistic.p_two_sided),
                "greater": p_text(c.statistic.p_greater),
                "meaning": "Moves hurt more on the test set than on fresh data where this is positive: "
                "the model fits the test pictures as they stand.",
            },
            {
                "name": "Error rate, within class",
                "difference": values["error"],
                "interval": intervals["error"],
                "two_sided": p_text(c.error_rate.p_two_sided),
                "greater": p_text(c.error_rate.p_greater),
                "meaning": "The test set is easier than fresh data where this is negative; "
                "the stronger of the two for gross leaks.",
            },
        ],
    }
