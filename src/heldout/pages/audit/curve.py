"""How the evidence grows with the number of examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import logsumexp

from heldout.independence.evidence import subset_curve
from heldout.independence.result import AuditResult, pvalue_text
from heldout.pages import svg
from heldout.pages.audit.words import CONFIDENCE_TEXT
from heldout.pages.numbers import fixed, pair
from heldout.statistics.power import LEVEL

N_SIZES, N_SUBSETS = 7, 10
SUBSET_EXAMPLES = 200_000  # bounds the work of the curve on large test sets
LN10 = math.log(10.0)
P_STYLES: tuple[tuple[str, str, svg.Style], ...] = (("betting", "betting", "a"), ("bernstein", "Bernstein (v1)", "b"))
ERROR_STYLES: tuple[tuple[str, str, svg.Style], ...] = (
    ("test_error", "test error R_S", "a"),
    ("adversarial_estimate", "adversarial estimate R_g", "b"),
)

Rows = list[dict[str, Any]]


def curve_sizes(n: int) -> list[int]:
    """About seven sample sizes in even ratios up to n.

    Examples
    --------
    >>> curve_sizes(10_000)
    [250, 462, 855, 1581, 2924, 5407, 10000]
    >>> curve_sizes(7)
    [7]
    """
    first = min(n, max(20, n // 40))
    return sorted({round(size) for size in np.geomspace(first, n, N_SIZES)})


def curve_view(result: AuditResult) -> dict[str, Any]:
    """p-values and both error estimates against the sample size."""
    n = len(result.test)
    lower, upper = result.orbit.statistic_range(result.rule)
    n_subsets = max(4, min(N_SUBSETS, SUBSET_EXAMPLES // n))
    rows = subset_curve(
        result.test, sizes=curve_sizes(n), n_subsets=n_subsets, lower=lower, upper=upper,
        alternative=result.alternative, tolerance=result.tolerance, seed=result.seed,
        rng=np.random.default_rng(result.seed),
    )  # fmt: skip
    sizes = [row["size"] for row in rows]
    p_series, p_cells = _p_series(rows, sizes)
    error_series, error_cells = _error_series(rows, sizes)
    table = [[f"{size:,}", *a, *b] for size, a, b in zip(sizes, p_cells, error_cells, strict=True)]
    at_end = ", ".join(f"{s.name} {table[-1][i + 1]}" for i, s in enumerate(p_series))
    return {
        "p": svg.line_chart(
            p_series,
            label=f"p-value against sample size from {sizes[0]:,} to {n:,}; at {n:,}: {at_end}",
            x_label="sample size (log scale)",
            y_label="p (log scale)",
            x_log=True,
            y_decades=True,
            reference=(math.log10(LEVEL), f"{LEVEL:g}"),
        ),
        "errors": svg.line_chart(
            error_series,
            label=f"Both error estimates against sample size; at {n:,}: R_S {table[-1][3]}, R_g {table[-1][4]}",
            x_label="sample size (log scale)",
            y_label="error rate",
            x_log=True,
        ),
        "n_subsets": n_subsets,
        "confidence": CONFIDENCE_TEXT,
        "columns": ["n", "mean betting p", "mean Bernstein p", "test error R_S", "adversarial estimate R_g"],
        "table": table,
        "has_control": result.evidence.control is not None,
        "n": f"{n:,}",
    }


def _p_series(rows: Rows, sizes: list[int]) -> tuple[list[svg.Series], list[list[str]]]:
    """Mean p-values with the band of the subsets, as lines and as cells of the table."""
    series: list[svg.Series] = []
    cells: list[list[str]] = [[] for _ in rows]
    for method, name, style in P_STYLES:
        logs = [np.array(row[method]) for row in rows]
        means = [min(0.0, float(logsumexp(v)) - math.log(len(v))) for v in logs]
        series.append(
            svg.Series(
                name=name,
                x=sizes,
                y=[m / LN10 for m in means],
                low=[float(v.min()) / LN10 for v in logs],
                high=[float(v.max()) / LN10 for v in logs],
                hover=[f"{name}, n = {s:,}: mean p = {pvalue_text(m)}" for s, m in zip(sizes, means, strict=True)],
                style=style,
            )
        )
        for line, mean in zip(cells, means, strict=True):
            line.append(pvalue_text(mean))
    return series, cells


def _error_series(rows: Rows, sizes: list[int]) -> tuple[list[svg.Series], list[list[str]]]:
    """Both error estimates with their intervals, as lines and as cells of the table."""
    series: list[svg.Series] = []
    cells: list[list[str]] = [[] for _ in rows]
    for key, name, style in ERROR_STYLES:
        intervals = [(row[f"{key}_interval"][0], row[f"{key}_interval"][1]) for row in rows]
        texts = [f"{fixed(row[key])} ({pair(i)})" for row, i in zip(rows, intervals, strict=True)]
        series.append(
            svg.Series(
                name=name,
                x=sizes,
                y=[row[key] for row in rows],
                low=[a for a, _ in intervals],
                high=[b for _, b in intervals],
                hover=[f"{name}, n = {size:,}: {text}" for size, text in zip(sizes, texts, strict=True)],
                style=style,
            )
        )
        for line, text in zip(cells, texts, strict=True):
            line.append(text)
    return series, cells
