"""The box at the top: how many more models fit, and the error bar that holds for all at once."""

from __future__ import annotations

from typing import Any

from heldout.report.budget.words import (
    NAMES,
    confidence_text,
    models_text,
    models_that_fit,
    more_text,
    points_text,
    similarity_text,
)
from heldout.report.numbers import bar_text, count_text, times_text
from heldout.reuse.result import BudgetResult


def answer_view(result: BudgetResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    pool = result.pool
    return {
        "headline": headline(result),
        "empty": result.further_models == 0,
        "sentence": _sentence(result),
        "subject": _subject(result),
        "numbers": [
            {"name": NAMES[key], "value": _value(result.further[key]), "note": _note(result, key)}
            for key in ("union", "similarity", "naive_bayes")
        ],
        "numbers_title": f"{'More models' if pool is not None else 'Models'} that fit at {bar_text(result.epsilon)}",
        "sides_title": f"Error bar that holds for {models_text(result)} at once" if pool is not None else None,
        "sides": [
            ("Union bound", bar_text(pool.epsilon["union"], full=True)),
            ("With similarity", bar_text(pool.epsilon["similarity"], full=True)),
        ]
        if pool is not None
        else [],
    }


def headline(result: BudgetResult) -> str:
    """The answer in a few words."""
    room, fit = result.further_models, models_that_fit(result)
    if fit == 0:
        return f"Not even one model fits at {bar_text(result.epsilon)}"
    if room == 0:
        return f"No room for more models at {bar_text(result.epsilon)}"
    return f"Room for {count_text(room)} {more_text(result)}{'model' if room == 1 else 'models'}"


def _value(count: int | None) -> str:
    return "no bound" if count is None else count_text(count)


def _sentence(result: BudgetResult) -> str:
    room, fit = result.further_models, models_that_fit(result)
    within = f"within {points_text(result.epsilon)} of the true one"
    sure = f"with probability {confidence_text(result)}"
    examples = f"{result.n_examples:,} examples"
    if fit == 0:
        text = f"{examples} cannot keep even a single model’s measured error {within} {sure}."
        if result.pool is not None:
            bar = bar_text(result.pool.epsilon["similarity"], full=True)
            text += f" What does hold for {models_text(result)} at once is {bar}."
        return text
    if room == 0:
        models = f"{count_text(fit)} {'model' if fit == 1 else 'models'}"
        used = f"there are {result.n_models:,} already"
        keep = "keep the measured error of" if fit == 1 else "keep the measured errors of"
        return f"These {examples} can {keep} {models} {within}, all at once {sure}, and {used}."
    subject = (
        f"Another {count_text(room)} models, besides the {result.n_models:,} already there, would each have a"
        if result.pool is not None
        else f"{count_text(room)[0].upper()}{count_text(room)[1:]} models would each have a"
    )
    like = "these" if result.pool is not None else "stated"
    return (
        f"{subject} measured error {within}, all of them at once {sure}: provided that they are about as good and as "
        f"similar as {like}, and that none is chosen by looking at this test set."
    )


def _subject(result: BudgetResult) -> str:
    if result.pool is None:
        return f"From four numbers: {result.n_examples:,} examples, error {result.mean_error:g}, " + (
            f"similarity {result.mean_similarity:g}, error bar {bar_text(result.epsilon)} at {confidence_text(result)}"
        )
    return f"{result.source}: {result.n_models:,} models on {result.n_examples:,} examples"


def _note(result: BudgetResult, key: str) -> str:
    t = result.testable
    if key == "union":
        return "whatever the models have in common" if result.further["union"] else _in_all(t.union)
    count = t.similarity if key == "similarity" else t.naive_bayes
    if count is None:
        return "not defined here: see below"
    if not result.further[key]:
        return _in_all(count)
    ratio = f"{times_text(count / t.union)} as many" if t.union else "where the union bound allows none"
    if key == "similarity":
        return f"{ratio}: {similarity_text(result)}"
    return f"{ratio}, but only if Assumption A1 holds, which no data can promise"


def _in_all(count: int) -> str:
    """What fits where nothing more does."""
    return f"{count_text(count)} would fit in all" if count else "not even one fits"
