"""The box at the top: what this analyst gains, and what nobody can pass."""

from __future__ import annotations

import math
from typing import Any

from heldout.attack.result import StressResult
from heldout.pages.numbers import percent
from heldout.pages.stress.words import (
    answers_text,
    bound_value,
    confidence_text,
    count_text,
    forecast_words,
    points_text,
    spread_text,
)


def answer_view(result: StressResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    run = result.run
    return {
        "headline": result.headline,
        "sentence": _sentence(result),
        "subject": _subject(result),
        "numbers": [
            ("Accuracy before", percent(run.baseline, 2), _before(result)),
            ("Accuracy after", percent(result.accuracy, 2), spread_text(run)),
            ("Forecast", *_forecast(result)),
            ("Upper bound", bound_value(float(run.upper_bound[-1])), _bound(result)),
        ],
    }


def _sentence(result: StressResult) -> str:
    """The same with what was done: one attack, its answers, its trials."""
    run = result.run
    times = "once" if run.trials == 1 else f"{run.trials:,} times"
    prior = "starts from prior knowledge of the labels, " if result.prior is not None else ""
    return (
        f"The analyst is simulated, {times}. It {prior}asks for {answers_text(run)} and nothing else, and puts them "
        f"together by {run.title}. The score moves by {points_text(result.advantage, sign=True)} points, and nothing "
        "has been learned that would help on fresh data."
    )


def _subject(result: StressResult) -> str:
    """The files and what is in them; without files the source says it already."""
    run, split = result.run, result.public
    size = f"{run.n_examples:,} examples, {run.n_classes:,} classes"
    if split is not None:
        whole = f"{split.n_public + split.n_private:,} examples, {run.n_classes:,} classes"
        size = f"{split.n_public:,} public and {split.n_private:,} private examples, {run.n_classes:,} classes"
        return size if result.source == whole else f"{result.source}: {size}"
    return size if result.source == size else f"{result.source}: {size}"


def _before(result: StressResult) -> str:
    if result.prior is None:
        return f"a guess among {result.run.n_classes:,} classes"
    return "the best guess without any answer"


def _forecast(result: StressResult) -> tuple[str, str]:
    value = float(result.run.forecast[-1])
    if math.isnan(value):
        return "none", "it cannot be computed for this attack and these answers"
    return percent(value, 2), forecast_words(result.run)


def _bound(result: StressResult) -> str:
    run = result.run
    if math.isnan(run.upper_bound[-1]):
        return result.no_bound
    if run.vacuous:
        return f"the bound excludes nothing at {count_text(result.queries, 'such answer')}"
    return f"no attack passes it, with probability {confidence_text(result)}, {result.condition}"
