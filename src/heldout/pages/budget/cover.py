"""How few models can stand for all: the covering curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.pages import svg
from heldout.pages.budget.order import thinned
from heldout.reuse.result import BudgetResult

MAX_STEPS = 300
LEVELS = (0.8, 0.85, 0.9, 0.95)


def cover_view(result: BudgetResult) -> dict[str, Any] | None:
    """Figure 3; None without a pool, and where it takes all models at every similarity."""
    pool = result.pool
    if pool is None or pool.cover.size[0] == pool.cover.size[-1]:
        return None
    curve, k = pool.cover, pool.similarity.n_models
    eta, size = np.asarray(curve.eta, dtype=np.float64), np.asarray(curve.size)
    ends = np.append(size[1:] != size[:-1], True)  # the last eta of every size
    eta, size = eta[ends], size[ends]
    keep = thinned(len(eta), MAX_STEPS)
    eta, size = eta[keep], size[keep]
    start = max(0.0, float(eta[0]) - 0.03)
    hover = [f"at least {e:.3f} alike: {s:,} {'model' if s == 1 else 'models'}" for e, s in zip(eta, size, strict=True)]
    levels = [level for level in LEVELS if start < level < float(eta[-1]) and curve.at(level) < k]
    samples = [f"{curve.at(level):,} for {level:g}" for level in levels]
    return {
        "chart": svg.line_chart(
            [
                svg.Series(
                    name="models in the cover",
                    x=[start, *eta.tolist()],
                    y=[float(size[0]), *(float(s) for s in size)],
                    hover=["", *hover],
                    markers=False,
                    step=True,
                )
            ],
            label=f"Models needed to cover all {k:,} against the similarity asked for: {int(size[0])} at "
            f"{eta[0]:.3f}, {int(size[-1]):,} at {eta[-1]:.3f}",
            x_label="similarity asked for (eta)",
            y_label="models in the cover (log scale)",
            y_log=True,
            y_whole=True,
        ),
        "n": f"{k:,}",
        "samples": ", ".join(samples),
    }
