"""The box at the top: how many more models can be measured, and the error bar that holds for all at once."""

from __future__ import annotations

from typing import Any

from heldout.pages.budget.needed import enough_text
from heldout.pages.budget.words import (
    LITTLE,
    NAMES,
    confidence_text,
    groups_of,
    groups_text,
    models_text,
    more_text,
    points_text,
    ratio_text,
    similarity_text,
)
from heldout.pages.numbers import bar_text, count_words
from heldout.reuse.bounds import LARGEST
from heldout.reuse.few import too_few_sentence
from heldout.reuse.result import BudgetResult


def answer_view(result: BudgetResult) -> dict[str, Any]:
    """Headline, sentence and the numbers that stand large."""
    pool = result.pool
    return {
        "headline": headline(result),
        "empty": result.further_models == 0,
        "sentence": _sentence(result),
        "subject": _subject(result),
        "numbers": _numbers(result),
        "numbers_title": f"{'More models' if pool is not None else 'Models'} that fit at {bar_text(result.epsilon)}",
        "sides_title": f"Error bar that holds for {models_text(result)} at once" if pool is not None else None,
        "sides": _sides(result),
    }


def headline(result: BudgetResult) -> str:
    """The answer in a few words."""
    room, fit = result.further_models, result.fitting_models
    at = f"at {bar_text(result.epsilon)}"
    if result.too_few:
        return "Too few groups to say anything"
    if fit == 0:
        return f"Not even one model fits {at}"
    if room == 0:
        return f"No room for more models {at}"
    return f"Room for {count_words(room)} {more_text(result)}{'model' if room == 1 else 'models'} {at}"


def _numbers(result: BudgetResult) -> list[dict[str, Any]]:
    """A row a bound, the one behind the headline marked; bounds that agree share a row."""
    t, further = result.testable, result.further
    chosen = "union" if t.similarity is None else "similarity"
    keys = ["union", "similarity", "naive_bayes"]
    if t.similarity == t.union:
        keys.remove("union")
    if groups_of(result) is not None:
        keys = ["union"]  # the others are for independent examples
    return [
        {
            "name": "Union and similarity bound" if key == "similarity" and "union" not in keys else NAMES[key],
            "value": "no bound" if (count := further[key]) is None else count_words(count),
            "note": _note(result, key),
            "chosen": key == chosen,
        }
        for key in keys
    ]


def _sides(result: BudgetResult) -> list[tuple[str, str, str]]:
    """The pool's error bars, the answer first; one where both bounds say the same."""
    if result.pool is None:
        return []
    bars = {key: bar_text(result.pool.epsilon[key], full=True) for key in ("similarity", "union")}
    if bars["union"] == bars["similarity"]:
        bars = {"both": bars["union"]}
    names = NAMES | {"both": "Union and similarity bound" if groups_of(result) is None else "Whole groups as the unit"}
    return [(names[key], *bar.partition("\N{NO-BREAK SPACE}")[::2]) for key, bar in bars.items()]


def _sentence(result: BudgetResult) -> str:
    room, fit = result.further_models, result.fitting_models
    within = f"within {points_text(result.epsilon)} of the true one"
    sure = f"with probability {confidence_text(result)}"
    examples = f"{result.n_examples:,} examples"
    groups = groups_of(result)
    if result.too_few and groups is not None and result.pool is not None:
        return too_few_sentence(groups, len(result.pool.order), result.pool.epsilon["similarity"])
    if fit == 0:
        text = f"{examples} cannot keep even a single model’s measured error {within} {sure}; {enough_text(result)}."
        if result.pool is not None:
            bar = bar_text(result.pool.epsilon["similarity"], full=True)
            text += f" What does hold for {models_text(result)} at once is {bar}."
        return text
    if room == 0:
        return (
            f"These {examples} can measure {'one model' if fit == 1 else count_words(fit) + ' models'} like these, "
            f"each with an error {within}, all at once {sure}, and there are {result.n_models:,} already."
        )
    count = count_words(room)
    models = "model" if room == 1 else "models"
    if result.pool is None:
        return (
            f"{count[0].upper()}{count[1:]} {models} of the stated error and similarity would each have a "
            f"measured error {within}, all at once {sure}, provided that none is chosen by looking at this test set."
        )
    return (
        f"{count[0].upper()}{count[1:]} more {models} like these, beside the {result.n_models:,} already there, would "
        f"each have a measured error {within}, all at once {sure}. Like these: the same mix of errors and "
        "similarities, and none chosen by looking at this test set."
    )


def _subject(result: BudgetResult) -> str:
    if result.pool is None:
        return f"From four numbers: {result.n_examples:,} examples, error {result.mean_error:g}, " + (
            f"similarity {result.mean_similarity:g}, error bar {bar_text(result.epsilon)} at {confidence_text(result)}"
        )
    groups = groups_of(result)
    inside = "" if groups is None else f" in {groups_text(groups)}"
    return f"{result.source}: {result.n_models:,} models on {result.n_examples:,} examples{inside}"


def _note(result: BudgetResult, key: str) -> str:
    t = result.testable
    if key == "union":
        return "whatever the models have in common" if result.further["union"] else _in_all(t.union)
    count = t.similarity if key == "similarity" else t.naive_bayes
    if count is None:
        return "not defined here: see below"
    if not result.further[key]:
        return _in_all(count)
    ratio = ratio_text(count, t.union)
    if key == "naive_bayes":
        if result.pool is not None and result.pool.assumption is not None and not result.pool.assumption.fits:
            return f"{ratio}, but Assumption A1 does not fit these models: see below"
        return f"{ratio}, but only if Assumption A1 holds, which no data can promise"
    if count == t.union:
        return "similarity brings nothing for further models here"
    little = t.union and count < LITTLE * t.union
    alike = count < LARGEST and result.equal is not None  # else there is nothing to compare
    return ratio if little or not alike else f"{ratio}: {similarity_text(result)}"


def _in_all(count: int) -> str:
    """What fits where nothing more does."""
    return f"{count_words(count)} would fit in all" if count else "not even one fits"
