"""What is left of the scores where the references have had their say, test set against control."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.independence.score_result import ScoreAuditResult
from heldout.report import svg
from heldout.report.numbers import fixed
from heldout.report.score_audit.words import kind_text

N_BINS = 40
ENDS = (0.1, 99.9)  # percentiles that the chart reaches to; what is beyond stands in the last bars


def residuals_view(result: ScoreAuditResult) -> dict[str, Any]:
    """Both distributions over common bars, as shares of their set, with their means."""
    test, control = result.leak.residuals_test, result.leak.residuals_control
    both = np.concatenate([test, control])
    low, high = np.percentile(both, ENDS)
    edges = np.linspace(low, high, N_BINS + 1) if low < high else np.array([low - 0.5, low + 0.5])
    sets = (("test set", test, "b"), ("control", control, "a"))
    # Of every 1,000 examples of a set, so that sets of different sizes lie over each other.
    counts = {
        name: np.rint(1000 * np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0] / len(x)).astype(int)
        for name, x, _ in sets
    }
    distributions = [
        svg.Distribution(
            name=name,
            counts=counts[name].tolist(),
            mean=float(x.mean()),
            mean_text=f"{name} {fixed(float(x.mean()), 3, sign=True)}",
            style=style,  # type: ignore[arg-type]
        )
        for name, x, style in sets
    ]
    better = "" if result.larger_is_better else "minus "
    what = "less what was expected" if result.leak.reference_names else "less the mean of both sets"
    means = ", ".join(f"{d.name} {fixed(d.mean, 4, sign=True)}" for d in distributions)
    return {
        "chart": svg.overlaid_histograms(
            edges.tolist(),
            distributions,
            label=f"Residuals of test set and control; means: {means}",
            x_label=f"{better}{kind_text(result)} {what}",
            y_label="examples of every 1,000",
        ),
        "references": bool(result.leak.reference_names),
    }
