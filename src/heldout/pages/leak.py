"""What pages on pictures and on scores both show of a leak test: residuals, both statistics, what would be found."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.independence.leak import LeakEvidence
from heldout.independence.leak_text import counts_text, leak_share_text, side_text, way_text
from heldout.pages import svg
from heldout.pages.numbers import NOT_DEFINED, PERCENT, fixed, p_text, pair

N_BARS = 40


def statistics_view(leak: LeakEvidence, *, digits: int = 4, permuted: str) -> dict[str, Any]:
    """Mean and tail, test minus control, and both together; `permuted` says within what, and whole groups or not."""
    test = leak.test
    rows = [
        ("Mean", test.mean, "All residuals count alike: strong where many examples were seen."),
        ("Upper tail", test.sparse, "Examples far above what was expected count, the others hardly do: strong where a "
                                    "few were seen."),
    ]  # fmt: skip
    smallest = min(1.0, 1 / (test.mean.n_resamples + 1))
    return {
        "rows": [
            {
                "name": name,
                "difference": fixed(of.difference, digits, sign=True),
                "interval": pair(of.interval, digits, sign=True)
                if of.standard_error > 0
                else f"{NOT_DEFINED}: no spread",
                "two_sided": p_text(of.p_two_sided),
                "greater": p_text(of.p_greater),
                "meaning": meaning,
            }
            for name, of, meaning in rows
        ],
        "together": {"two_sided": p_text(test.p_two_sided), "greater": p_text(test.p_greater)},
        "verdict": p_text(test.p_value),
        "side": side_text(test.alternative),
        "counts": counts_text(leak),
        "floor": f"{test.mean.n_resamples:,} permutations{permuted}: no verdict below {p_text(smallest)} is possible.",
    }


def detectable_view(leak: LeakEvidence) -> dict[str, Any]:
    """How far a seen example moves, and the share of the test set that is then found."""
    binary = leak.two_valued
    return {
        "moves": "A seen example that would be wrong becomes right"
        if binary
        else f"A seen example moves, up to the 95{PERCENT} quantile of the scores",
        "rows": [
            (way_text(found.pull, binary).replace(" %", PERCENT), leak_share_text(found.share).replace(" %", PERCENT))
            for found in leak.detectable
        ],
    }


def residual_chart(leak: LeakEvidence, what: str) -> str:
    """Residuals of both sets over each other; the control's counts as if it were as large as the test set.

    `what` says what the residuals are, for the axis.
    """
    test, control = leak.residuals_test, leak.residuals_control
    low, high = float(leak.scores.residuals.min()), float(leak.scores.residuals.max())
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, N_BARS + 1)
    edges[0], edges[-1] = low - 1e-9, high + 1e-9
    scale = len(test) / len(control)
    scaled = "control" if len(test) == len(control) else f"control, scaled to {len(test):,}"
    means = {"test": float(test.mean()), "control": float(control.mean())}
    return svg.overlaid_histograms(
        [float(edge) for edge in edges],
        [
            svg.Distribution(
                name="test set",
                counts=[int(c) for c in np.histogram(test, bins=edges)[0]],
                mean=means["test"],
                mean_text=f"test {fixed(means['test'], 2, sign=True)}",
                style="b",
            ),
            svg.Distribution(
                name=scaled,
                counts=[round(float(c) * scale) for c in np.histogram(control, bins=edges)[0]],
                mean=means["control"],
                mean_text=f"control {fixed(means['control'], 2, sign=True)}",
                style="a",
            ),
        ],
        label=f"{what[:1].upper()}{what[1:]}: mean {fixed(means['test'], 3, sign=True)} on the test set, "
        f"{fixed(means['control'], 3, sign=True)} on the control",
        x_label=what,
        y_label="examples",
    )
