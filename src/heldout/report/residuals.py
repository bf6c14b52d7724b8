"""What is left of scores where references have had their say, test set against control."""

from __future__ import annotations

import numpy as np

from heldout.independence.leak import LeakEvidence
from heldout.report import svg
from heldout.report.numbers import fixed

N_BARS = 40


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
