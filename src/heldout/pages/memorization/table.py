"""Tables VII and VIII of the paper: rows are models, columns metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from heldout.memorization.ranking import GAP, Column
from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization.words import (
    EQUAL,
    NOISE,
    and_text,
    defined,
    interval_text,
    name_text,
    perturbation_text,
    training_accuracy,
)
from heldout.pages.numbers import fixed, p_text
from heldout.pages.svg.shapes import shorten

LONGEST_GROUP = 22  # characters of a head, which is not broken within a word
PAGE, WIDER = 55.8, 46.0  # rem: the widest table that fits, and the window from which on margins are wider
MARGIN, MARGIN_OF_WIDER = 2.15, 4.15  # rem around a table
SMALL_P = 0.05  # of an audit: below, it needs a caution
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def table_view(result: MemorizationResult) -> dict[str, Any]:
    """A head of two rows, the rows, and a footnote a reason."""
    columns = [c for c in result.columns if any(defined(row.get(c)) for row in result.table.values()) and c != GAP]
    ends = {c: _ends(result, c) for c in (*columns, GAP)}
    reasons: list[str] = []
    training = {model: training_accuracy(result, model) for model in result.models}
    groups = [
        {"title": shorten(_group(name), LONGEST_GROUP), "full": _group(name), "span": len(list(found))}
        for name, found in groupby(columns, key=lambda c: c.perturbation)
    ]
    width = _width(groups, any(a is not None for a in training.values()), bool(result.validation), bool(result.audits))
    return {
        "groups": groups,
        "width": f"{width:.2f}",
        "narrow": f"{width + (MARGIN if width + MARGIN < WIDER else MARGIN_OF_WIDER):.2f}" if width < PAGE else None,
        "columns": [{"metric": c.metric, "reads": "↑" if c.memorised == "high" else "↓"} for c in columns],
        "training": any(a is not None for a in training.values()),
        "validation": bool(result.validation),
        "audits": bool(result.audits),
        "audit_caution": _audit_caution(result),
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


def _width(groups: Sequence[dict[str, Any]], training: bool, validation: bool, audits: bool) -> float:
    """rem that the table takes, so that the page can say in which windows it is cut."""
    width = 6.0  # names, which may be broken anywhere
    for group in groups:
        word = max(len(word) for word in str(group["title"]).split() or [""])
        width += max(4.55 * group["span"], 0.55 * word + 0.8)
    accuracy = 14.45 if validation else 0.0
    accuracy = accuracy if training or not validation else accuracy - 4.2
    return width + (accuracy or 4.8 * training) + 7.85 * audits


def _group(perturbation: str) -> str:
    return perturbation.upper() if perturbation in NOISE else perturbation_text(perturbation)


def _ends(result: MemorizationResult, column: Column) -> tuple[float, float] | None:
    """The most and the least memorised values of a column; None where all are the same."""
    known = [
        e.value
        for model, row in result.table.items()
        for c, e in row.items()
        if c == column and defined(e) and _fits(result, model, column)
    ]
    if len(known) < 2 or max(known) - min(known) < EQUAL:
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
    mark = (
        ""
        if ends is None or not _fits(result, model, column)
        else {ends[0]: "most", ends[1]: "least"}.get(found.value, "")
    )
    return {"value": fixed(found.value), "interval": interval_text(found.low, found.high), "mark": mark, "note": ""}


def _fits(result: MemorizationResult, model: str, column: Column) -> bool:
    """Whether a value says what its column says: under label noise not where a method does not fit its labels."""
    curve = result.curve(model, column.perturbation)
    return curve is None or curve.unfit is None


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


def _audit(result: MemorizationResult, model: str) -> tuple[str, list[str]]:
    found = result.audits.get(model)
    if found is None:
        return "–", []
    return (
        p_text(found.p_value),
        [f"mean T {fixed(found.mean, sign=True)}", f"detectable {fixed(found.detectable_effect)}"],
    )


def _audit_caution(result: MemorizationResult) -> str | None:
    """What a small p does not say; None where there is none."""
    small = [name_text(model) for model, a in result.audits.items() if a.p_value < SMALL_P]
    if not small:
        return None
    return (
        f"Audit p below {SMALL_P:g} ({and_text(small)}): a strong test finds shifts that are not neutral too, so this "
        "alone is no proof of memorization (`heldout audit --control` needs no neutral shifts)."
    )


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
