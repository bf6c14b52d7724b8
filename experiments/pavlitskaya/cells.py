"""How tables and their cells are written in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import measures
from measures import Metric


def title(metric: Metric) -> str:
    return {"pmv": "PMV", "ptv": "PTV"}.get(metric[0], metric[0]) + " " + metric[1]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def correlation(some: dict[str, float], others: dict[str, float]) -> str:
    return f"{measures.rank_correlation(some, others):+.2f} (p {measures.by_chance(some, others):.3f})"


def bare(text: str) -> str:
    """Without the signs that keep names apart in a terminal."""
    return text.translate(dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069\u2063"), None)).replace("\u00a0", " ")
