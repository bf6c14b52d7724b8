"""T, example by example."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.independence.result import AuditResult
from heldout.pages import svg
from heldout.pages.numbers import fixed, pair


def statistics_view(result: AuditResult) -> dict[str, Any]:
    """How T is spread over the examples."""
    values = result.T
    nonzero = values[values != 0]
    lower, upper = result.orbit.statistic_range(result.rule)
    chart = None
    if len(nonzero):
        # 0 is an edge, so that no bar mixes signs.
        width = (upper - lower) / 30
        below, above = math.ceil(-lower / width - 1e-9), math.ceil(upper / width - 1e-9)
        edges = [i * width for i in range(-below, above + 1)]
        counts, _ = np.histogram(nonzero, bins=np.array(edges))
        styles: list[svg.Style] = ["a" if edge < -width / 2 else "b" for edge in edges[:-1]]
        chart = svg.histogram(
            edges,
            [int(c) for c in counts],
            label=f"Histogram of the {len(nonzero):,} values of T that are not zero: "
            f"{int((nonzero < 0).sum()):,} below and {int((nonzero > 0).sum()):,} above zero",
            x_label="T of one example (zeros left out)",
            y_label="examples",
            styles=styles,
        )
    counts_of = result.test.counts
    return {
        "chart": chart,
        "n": f"{len(values):,}",
        "zeros": f"{len(values) - len(nonzero):,}",
        "nonzero": f"{len(nonzero):,}" if len(nonzero) else None,
        "below": f"{int((nonzero < 0).sum()):,}",
        "above": f"{int((nonzero > 0).sum()):,}",
        "mean": fixed(result.evidence.statistic, 5, sign=True),
        "sd": fixed(float(values.std())),
        "range": pair((lower, upper), 3),
        "pairs": result.n_models > 1,
        "counts": {name: f"{count:,}" for name, count in counts_of.items()},
    }
