"""One model against many."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.independence.result import AuditResult, pvalue_text
from heldout.pages import svg
from heldout.pages.numbers import fixed, p_text
from heldout.statistics import holm
from heldout.statistics.power import LEVEL

MAX_GROUP_SIZES = 4
MAX_MODELS_OPEN, MAX_MODELS = 12, 200  # rows of the table of models: unfolded, and in all


def group_sizes(n_models: int) -> list[int]:
    """Sizes N of groups of models that leave at least two groups: 1 and at most three larger ones.

    Examples
    --------
    >>> group_sizes(2), group_sizes(20), group_sizes(1250)
    ([1], [1, 2, 5, 10], [1, 10, 50, 500])
    """
    sizes = [m * 10**e for e in range(7) for m in (1, 2, 5) if m * 10**e <= n_models // 2]
    if len(sizes) <= MAX_GROUP_SIZES:
        return sizes
    return [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, MAX_GROUP_SIZES)]


def groups_view(result: AuditResult) -> dict[str, Any] | None:
    """The p-values of groups of N models; None for a single model."""
    if result.n_models == 1:
        return None
    charts, edges = [], [i / 10 for i in range(11)]
    for size in group_sizes(result.n_models):
        test = result.n_model_test(size)
        p = np.array(test.p_values)
        counts, _ = np.histogram(p, bins=np.array(edges))
        title = f"N = {size}: {len(p)} {'groups' if size > 1 else 'models'}"
        small = int((p <= LEVEL).sum())
        charts.append(
            {
                "title": title,
                "text": f"{small} of {len(p)} at or below {LEVEL:g}; smallest {pvalue_text(min(test.log_p_values))}, "
                f"largest {pvalue_text(max(test.log_p_values))}",
                "chart": svg.histogram(
                    edges,
                    [int(c) for c in counts],
                    label=f"Histogram of p-values, {title}; {small} at or below {LEVEL:g}",
                    x_label="betting p on the test set alone",
                    y_label="groups" if size > 1 else "models",
                    height=200,
                ),
            }
        )
    return {
        "charts": charts,
        "n": result.n_models,
        "all": pvalue_text(result.evidence.log_p_values["betting"]),
        "is_verdict": result.evidence.control is None,
    }


def models_view(result: AuditResult) -> dict[str, Any] | None:
    """Every model on its own, where there are several."""
    if result.n_models == 1:
        return None
    logs = result.each_model.log_p_values
    adjusted = holm(result.each_model.p_values)
    errors, means = result.test.losses.mean(axis=1), result.test.statistics.mean(axis=1)
    rows = [
        [name, fixed(float(error)), fixed(float(mean), 5, sign=True), pvalue_text(log_p), p_text(by_holm)]
        for name, error, mean, log_p, by_holm in zip(result.model_names, errors, means, logs, adjusted, strict=True)
    ]
    return {
        "rows": rows[:MAX_MODELS],
        "n": len(rows),
        "folded": len(rows) > MAX_MODELS_OPEN,
        "more": f"{len(rows) - MAX_MODELS:,}" if len(rows) > MAX_MODELS else None,
    }
