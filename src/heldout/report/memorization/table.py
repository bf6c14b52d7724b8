"""Tables VII and VIII of the paper: rows are models, columns metrics."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from heldout.memorization.ranking import GAP, Column
from heldout.memorization.result import MemorizationResult
from heldout.report.memorization.words import (
    NOISE,
    defined,
    interval_text,
    name_text,
    perturbation_text,
    training_accuracy,
)
from heldout.report.numbers import fixed, p_text

SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def table_view(result: MemorizationResult) -> dict[str, Any]:
    """A head of two rows, the rows, and a footnote a reason."""
    columns = [c for c in result.columns if any(defined(row.get(c)) for row in result.table.values()) and c != GAP]
    ends = {c: _ends(result, c) for c in (*columns, GAP)}
    reasons: list[str] = []
    training = {model: training_accuracy(result, model) for model in result.models}
    return {
        "groups": [
            {"title": _group(name), "span": len(list(found))}
            for name, found in groupby(columns, key=lambda c: c.perturbation)
        ],
        "columns": [{"metric": c.metric, "reads": "↑" if c.memorised == "high" else "↓"} for c in columns],
        "training": any(a is not None for a in training.values()),
        "validation": bool(result.validation),
        "audits": bool(result.audits),
        "n_accuracies": sum([any(a is not None for a in training.values()), 2 * bool(result.validation)]),
        "rows": [
            {
                "name": name_text(model),
                "full": model,
                "cells": [_cell(result, model, c, ends[c], reasons) for c in columns],
                "training": _plain(training[model]),
                "validation": _plain(float(result.validation[model].mean()) if model in result.validation else None),
                "gap": _cell(result, model, GAP, ends[GAP], reasons),
                "audit": _audit(result, model),
            }
            for model in result.models
        ],
        "footnotes": [(number_text(i + 1), reason) for i, reason in enumerate(reasons)],
        "absent": _absent(result),
        "marked": any(ends.values()),
    }


def _group(perturbation: str) -> str:
    return perturbation.upper() if perturbation in NOISE else perturbation_text(perturbation)


def _ends(result: MemorizationResult, column: Column) -> tuple[float, float] | None:
    """The most and the least memorised values of a column; None where all are the same."""
    known = [e.value for row in result.table.values() for c, e in row.items() if c == column and defined(e)]
    if len(known) < 2 or min(known) == max(known):
        return None
    low, high = min(known), max(known)
    return (high, low) if column.memorised == "high" else (low, high)


def _cell(
    result: MemorizationResult, model: str, column: Column, ends: tuple[float, float] | None, reasons: list[str]
) -> dict[str, str]:
    found = result.table[model].get(column)
    if found is None:
        return {"value": "–", "interval": "", "mark": "", "note": ""}
    if not defined(found):
        reason = str(found.reason)
        if reason not in reasons:
            reasons.append(reason)
        return {"value": "–", "interval": "", "mark": "", "note": number_text(reasons.index(reason) + 1)}
    mark = "" if ends is None else {ends[0]: "most", ends[1]: "least"}.get(found.value, "")
    return {"value": fixed(found.value), "interval": interval_text(found.low, found.high), "mark": mark, "note": ""}


def number_text(number: int) -> str:
    """A footnote's number.

    Examples
    --------
    >>> number_text(12)
    '¹²'
    """
    return str(number).translate(SUPERSCRIPTS)


def _plain(value: float | None) -> str:
    return "–" if value is None else fixed(value)


def _audit(result: MemorizationResult, model: str) -> tuple[str, str]:
    found = result.audits.get(model)
    return ("–", "") if found is None else (p_text(found.p_value), f"mean T {fixed(found.mean, sign=True)}")


def _absent(result: MemorizationResult) -> list[str]:
    """Columns without any number, a line a reason."""
    why: dict[str, list[str]] = {}
    for column in result.columns:
        found = [row[column] for row in result.table.values() if column in row]
        if found and not any(defined(e) for e in found):
            for reason in dict.fromkeys(str(e.reason) for e in found):
                why.setdefault(reason, []).append(column.perturbation)
    lines = []
    for reason, names in why.items():
        names = list(dict.fromkeys(names))
        metrics = "k_S" if names == ["pmv"] else "k_PTV" if names == ["ptv"] else "k_max and SSE"
        lines.append(f"No {metrics} of {', '.join(_group(name) for name in names)}: {reason}")
    return lines
