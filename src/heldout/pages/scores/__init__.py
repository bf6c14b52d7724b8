"""What a report says about a budget of scores, as plain data; the template only lays it out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.pages import svg
from heldout.pages.budget.leaderboard import axis
from heldout.pages.budget.words import LONGEST, groups_text, points_text
from heldout.pages.numbers import PERCENT, bar_text, percent, scientific
from heldout.pages.svg.shapes import shorten
from heldout.reuse.few import few_warnings
from heldout.reuse.first import TOPS, list_names
from heldout.reuse.result import count_text, examples_text
from heldout.reuse.score_result import ScoreBudgetResult
from heldout.summary.numbers import pvalue_text

__all__ = ["summarise"]

SHOWN = 200  # rows of a leaderboard
NAMED = 12  # models by name


def summarise(result: ScoreBudgetResult) -> dict[str, Any]:
    """Everything the template shows."""
    sure = f"{100 * (1 - result.delta):g}{PERCENT}"
    return {
        "headline": "Too few groups to say anything"
        if result.too_few
        else f"All {result.n_models:,} mean scores are within {bar_text(result.error_bar)}",
        "sentence": result.headline(),
        "subject": f"{result.source}: {result.n_models:,} models on {result.n_examples:,} {_inside(result)}",
        "numbers": _numbers(result),
        "means": [result.first_sentence(), result.pairs_sentence(), result.trial_sentence()],
        "not_means": [*few_warnings(result.n_examples, result.example_groups), result.rests_on()],
        "needed": _needed(result),
        "first": _first(result),
        "next": _next(result),
        "facts": _facts(result),
        "board": _board(result),
        "more": max(0, result.n_models - SHOWN),
        "sure": sure,
        "level": scientific(result.level),
        "delta": f"{result.delta:g}",
        "not_computed": [
            "Similarity of every pair, similarity and Naive Bayes bounds, difficulty: they are for answers that are "
            "right or wrong. `--threshold 0.5` counts a score of 0.5 or more as right."
        ],
        "origin": [("heldout", result.version), ("Source", result.source), ("Data digest", result.data_digest)],
    }


def _inside(result: ScoreBudgetResult) -> str:
    groups = result.example_groups
    return "examples" if groups is None else f"examples in {groups_text(groups)}"


def _numbers(result: ScoreBudgetResult) -> list[tuple[str, str, str]]:
    if result.too_few:
        return []
    numbers = [
        (f"Models like these at {bar_text(result.epsilon)}", count_text(result.testable.union),
         f"{count_text(result.further_models)} more than there are"),
        (f"Examples for {bar_text(result.epsilon)} on all",
         examples_text(result.needed.examples_for_epsilon, bare=True), f"there are {result.n_examples:,}"),
    ]  # fmt: skip
    if math.isfinite(result.needed.gap_now):
        numbers.append(
            (
                "Gap between two models that can be told",
                points_text(result.needed.gap_now),
                "80 % power, named beforehand",
            )
        )
    return numbers


def _needed(result: ScoreBudgetResult) -> list[tuple[str, str]]:
    """One line a question; none where nothing can be told."""
    if result.too_few:
        return []
    facts = result.needed_facts(f"{100 * (1 - result.delta):g}{PERCENT}")
    return [(name[0].upper() + name[1:], value) for name, value in facts]


def _first(result: ScoreBudgetResult) -> list[tuple[str, str]]:
    """The models that may be first, and among the top 3 and 10."""
    sets = []
    for top in TOPS:
        if top < result.n_models:
            names = [shorten(result.names[i], LONGEST) for i in result.top[top]]
            title = "May be first" if top == 1 else f"May be among the top {top}"
            sets.append((title, f"{len(names):,}: {list_names(names, NAMED)}"))
    return sets


def _next(result: ScoreBudgetResult) -> list[str]:
    points = ["Publish the interval and the range of ranks with every score."]
    if math.isfinite(result.median_trial_share):
        half = 1 - result.shrinks(math.inf)
        points.append(
            "Spend on examples before trials: error bars cannot shrink by more than "
            f"{100 * half:.1f}{PERCENT} however often these are repeated."
            if half < 0.2
            else f"More trials pay: they can shorten error bars by up to {100 * half:.1f}{PERCENT}."
        )
    elif int(result.trials[2]) <= 1:
        points.append("Run some examples twice, to see how much of a score is chance.")
    return points


def _facts(result: ScoreBudgetResult) -> list[tuple[str, str]]:
    low, mid, high = result.trials.tolist()
    trials = f"{low:,} each" if low == high else f"{low:,} to {high:,}, median {mid:,}"
    if high == 0:
        trials = "not known"
    facts = [
        ("Test set", f"n = {result.n_examples:,} examples"),
        ("Models", f"k = {result.n_models:,}, from {result.source}"),
        ("Mean score", f"{result.scores.mean():.4f} ({result.scores.min():.4f} to {result.scores.max():.4f})"),
        ("Trials per cell", trials),
    ]
    if math.isfinite(result.median_trial_share):
        facts.append(("Variance between examples", f"{float(np.nanmedian(result.between)):.4f}, median over models"))
        facts.append(
            ("Variance inside an example", f"{float(np.nanmedian(result.within)):.4f} for one trial, the same")
        )
        facts.append(("Share of chance inside", f"{percent(result.median_trial_share)} of the squared error bar"))
    facts.append(("Missing cells", f"{result.n_missing:,}"))
    if result.example_groups is not None:
        facts.append(("Groups", groups_text(result.example_groups)))
    return facts


def _board(result: ScoreBudgetResult) -> dict[str, Any]:
    """The leaderboard on one axis."""
    models = result.order[:SHOWN].tolist()
    low, high, step = axis(float(result.low[models].min()), float(result.high[models].max()))
    grid = [low + i * step for i in range(round((high - low) / step) + 1)]
    band_of = {model: b for b, band in enumerate(result.bands) for model in band}
    rows = []
    for place, i in enumerate(models):
        name, band = result.names[i], result.bands[band_of[i]]
        interval = f"{result.low[i]:.4f} to {result.high[i]:.4f}"
        told = f"{shorten(name, LONGEST)}: {result.scores[i]:.4f} ({interval})"
        best, worst = result.ranks[i].tolist()
        after = result.neighbours[place] if place < len(result.neighbours) else None
        rows.append(
            {
                "rank": f"{best}" if best == worst else f"{best}–{worst}",
                "name": shorten(name, LONGEST),
                "full": name if len(name) > LONGEST else None,
                "score": f"{result.scores[i]:.4f}",
                "interval": interval,
                "mark": svg.range_mark(
                    float(result.scores[i]), (float(result.low[i]), float(result.high[i])),
                    low=low, high=high, grid=grid, label=told,
                ),
                "next": None if after is None else {
                    "sign": ">" if after.survives else "<" if after.contradicted else "≈",
                    "p": pvalue_text(after.log_adjusted),
                    "hover": f"difference {after.difference:.4f}",
                },
                "shade": band_of[i] % 2 == 1,
                "first": band[0] == i and place > 0,
                "tied": len(band) > 1,
            }
        )  # fmt: skip
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return {"rows": rows, "axis": [f"{v:.{digits}f}" for v in (low, high)]}
