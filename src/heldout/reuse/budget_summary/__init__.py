"""What a budget says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout.reuse.bounds import LARGEST
from heldout.reuse.budget_summary.board import TITLE, board, first_blocks, key
from heldout.reuse.budget_summary.evidence import (
    alike_sections,
    bounds_section,
    curve_sections,
    facts,
    noise_sections,
    not_computed,
    structure_sections,
)
from heldout.reuse.budget_summary.meaning import (
    contradicted_text,
    means,
    next_steps,
    not_means,
    order_text,
    who_is_first,
    winner_of,
)
from heldout.reuse.budget_summary.words import (
    LITTLE,
    NAMES,
    all_text,
    count_text,
    effect_text,
    enough_text,
    few_warnings,
    groups_text,
    models_text,
    needed_facts,
    needed_lines,
    notes_of,
    points_text,
    ratio_text,
    repeated_text,
    similarity_text,
    too_few_text,
    worth_text,
)
from heldout.reuse.first import TOPS
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.summary import Facts, Figure, Note, Points, Prose, Section, Summary
from heldout.summary.numbers import PERCENT, bar_text, count_words, percent, scientific, sure_text

__all__ = ["count_text", "notes_of", "summarise", "summarise_needed"]

METHOD = (
    "H. Mania, J. Miller, L. Schmidt, M. Hardt, B. Recht (2019), “Model similarity mitigates test set overuse”, "
    "NeurIPS 2019, <https://arxiv.org/abs/1905.12580>. Spanning-tree bound: D. Hunter (1976), K. J. Worsley (1982)."
)
PLUG_IN = (
    "Errors and similarities are plugged in as if they were the true ones. The bounds hold for independent examples, "
    "and for models chosen without looking at this test set; a model tuned on it is not covered."
)
GROUPED = (
    "Whole groups are the unit: error bars, intervals and comparisons rest on the law for many independent groups, "
    "here {n_groups:,}, drawn with their sizes. They hold for models chosen without looking at this test set; a model "
    "tuned on it is not covered."
)


def summarise(result: BudgetResult) -> Summary:
    """What the result says."""
    return Summary(
        kind="Budget",
        headline=_headline(result),
        sentences=(_sentence(result),),
        tone="quiet" if result.further_models else "found",
        subject=_subject(result),
        figures=(*_counts(result), *_error_bars(result)),
        warnings=few_warnings(result.n_examples, result.example_groups),
        lines=tuple(_lines(result)),
        sections=tuple(_sections(result)),
        closing=(_rests_on(result),),
        origin=(
            ("heldout", result.version),
            ("Date", result.created),
            ("Source", result.source),
            *([("Seed", f"{result.seed}")] if result.seed is not None else []),
            *([("Data digest", result.data_digest)] if result.data_digest is not None else []),
        ),
        method=METHOD,
    )


def summarise_needed(result: BudgetResult) -> Summary:
    """How many examples are needed, alone."""
    told = () if not result.too_few else (_sentence(result),)
    of = "" if result.pool is None else f", {result.n_models:,} models"
    return Summary(
        kind="Budget: examples needed",
        headline=f"This test set has {result.n_examples:,} examples{of}.",
        sentences=told,
        tone="neutral",
        subject=_subject(result),
        warnings=few_warnings(result.n_examples, result.example_groups),
        lines=(*_bar_line(result), *_needed_lines(result)),
        closing=(_rests_on(result),),
    )


def _headline(result: BudgetResult) -> str:
    room, at = result.further_models, f"at {bar_text(result.epsilon)}"
    if result.too_few:
        return "Too few groups to say anything"
    if result.fitting_models == 0:
        return f"Not even one model fits {at}"
    if room == 0:
        return f"No room for more models {at}"
    more = "more " if result.pool is not None else ""
    return f"Room for {count_words(room)} {more}{'model' if room == 1 else 'models'} {at}"


def _sentence(result: BudgetResult) -> str:
    fit, pool, n = result.fitting_models, result.pool, f"{result.n_examples:,} examples"
    within = f"within {points_text(result.epsilon)} (±{result.epsilon:g}) of the true one"
    sure = f"with probability {sure_text(result.delta)}"
    if result.too_few and pool is not None and pool.example_groups is not None:
        return too_few_text(pool.example_groups, len(pool.order), pool.epsilon["similarity"])
    if fit == 0:
        text = f"{n} cannot keep even a single model’s measured error {within} {sure}; {enough_text(result.needed)}."
        if pool is not None:
            bar = bar_text(pool.epsilon["similarity"], full=True)
            return f"{text} What does hold for {models_text(result.n_models)} at once is {bar}."
        if result.narrowest is not None:
            text += f" With those there are, one such model is measured to within {bar_text(result.narrowest)}."
        return text
    like = "of the stated error and similarity" if pool is None else "like these"
    there = "" if pool is None else f", and there are {result.n_models:,} already"
    return (
        f"These {n} can measure {'one model' if fit == 1 else f'{count_text(fit)} models'} {like}, each with a "
        f"measured error {within}, all at once {sure}{there}."
    )


def _subject(result: BudgetResult) -> str:
    if result.pool is None:
        return (
            f"From four numbers: {result.n_examples:,} examples, error {result.mean_error:g}, similarity "
            f"{result.mean_similarity:g}, error bar {bar_text(result.epsilon)} at {sure_text(result.delta)}"
        )
    inside = "" if result.example_groups is None else f" in {groups_text(result.example_groups)}"
    return f"{result.source}: {result.n_models:,} models on {result.n_examples:,} examples{inside}"


def _rests_on(result: BudgetResult) -> str:
    """The conditions, always at the end."""
    groups = result.example_groups
    return PLUG_IN if groups is None else GROUPED.format(n_groups=groups.n_groups)


def _counts(result: BudgetResult) -> Iterator[Figure]:
    """Models that fit by each bound, the one behind the headline strong; bounds that agree share a figure."""
    t, more = result.testable, "More models" if result.pool is not None else "Models"
    chosen, keys = "union" if t.similarity is None else "similarity", list(NAMES)
    if t.similarity == t.union:
        keys.remove("union")
    if result.example_groups is not None:
        keys = ["union"]  # the others are for independent examples
    for name in sorted(keys, key=lambda name: name != chosen):
        count = result.further[name]
        bound = "union and similarity bound" if name == "similarity" and "union" not in keys else _low(NAMES[name])
        yield Figure(
            name=f"{more} at {bar_text(result.epsilon)}, {bound}",
            value="no bound" if count is None else count_words(count),
            note=_note(result, name),
            strong=name == chosen,
        )


def _low(name: str) -> str:
    return name if name.startswith("Naive") else name.lower()


def _note(result: BudgetResult, name: str) -> str:
    t = result.testable
    count = t.to_dict()[name]
    if count is None:
        return "not defined here: see below"
    if not result.further[name]:
        return f"{count_words(count)} would fit in all" if count else "not even one fits"
    if name == "union":
        return "whatever the models have in common"
    ratio = ratio_text(count, t.union)
    if name == "naive_bayes":
        if result.pool is not None and result.pool.assumption is not None and not result.pool.assumption.fits:
            return f"{ratio}, but Assumption A1 does not fit these models: see below"
        return f"{ratio}, but only if Assumption A1 holds, which no data can promise"
    if count == t.union:
        return "similarity brings nothing for further models here"
    little = t.union and count < LITTLE * t.union
    alike = count < LARGEST and result.equal is not None  # else there is nothing to compare
    return ratio if little or not alike else f"{ratio}: {similarity_text(result)}"


def _error_bars(result: BudgetResult) -> Iterator[Figure]:
    """The pool's error bars; one where both bounds say the same."""
    if result.pool is None:
        return
    bars = {name: bar_text(result.pool.epsilon[name], full=True) for name in ("similarity", "union")}
    if bars["union"] == bars["similarity"]:
        bars = {"both": bars["union"]}
    both = "union and similarity bound" if result.example_groups is None else "whole groups as the unit"
    for name, bar in bars.items():
        bound = both if name == "both" else _low(NAMES[name])
        of = f"Error bar for {models_text(result.n_models)} at once"
        yield Figure(name=of, value=bar, note=bound, strong=False)


def _lines(result: BudgetResult) -> Iterator[tuple[str, str]]:
    """The numbers that are printed."""
    t, pool = result.testable, result.pool
    yield "error (mean)", f"{result.mean_error:.4f}"
    yield (
        "similarity (mean)",
        f"{result.mean_similarity:.4f} ({result.independent_similarity:.4f} if errors were independent)",
    )
    if pool is not None and math.isfinite(pool.adjusted.right):
        others = (("answers", pool.adjusted.answers), ("probabilities", pool.adjusted.probabilities))
        rest = "".join(f"; {value:.4f} of {what}" for what, value in others if math.isfinite(value))
        yield "the same, less chance", f"{pool.adjusted.right:.4f} (kappa of right and wrong{rest})"
    if not result.too_few:
        yield "models, union bound", count_text(t.union)
    if result.example_groups is None:  # the others are for independent examples
        yield "models, similarity bound", count_text(t.similarity)
        fits = f" ({_assumption(pool)})" if t.naive_bayes is not None else ""
        yield "models, Naive Bayes bound", f"{count_text(t.naive_bayes)}{fits}"
        if t.reason:
            yield "", f"{t.reason}."
    if pool is not None and result.equal is not None:
        counts = ", ".join(count_text(k) for k in result.equal.to_dict().values())
        yield "the same, were all equal", f"{counts} (mean error and similarity plugged in, as in the paper)"
    yield from _bar_line(result)
    if result.example_groups is not None:
        groups, n = result.example_groups, result.n_examples
        yield "groups of examples", groups_text(groups) + (f" ({groups.named})" if groups.named else "")
        if groups.n_repeated:
            yield "repeated inputs", f"{repeated_text(groups)}: put into one group"
        if math.isfinite(groups.median_effect):
            yield "design effect", f"{effect_text(groups)}: {worth_text(groups, n)}"
    yield from _needed_lines(result)
    if pool is not None and pool.alike.below_chance:
        yield "pairs less alike than chance", f"{pool.alike.below_chance:,} of {pool.similarity.n_pairs:,}"
    if pool is not None and pool.n_missing:
        yield "missing answers", f"{pool.n_missing:,}, left out (they must be missing by chance)"


def _assumption(pool: PoolResult | None) -> str:
    """Whether the Naive Bayes number can be believed, in a few words."""
    fit = None if pool is None else pool.assumption
    if fit is None:
        return "if Assumption A1 holds"
    if fit.fits:
        return "if Assumption A1 holds, which no pair contradicts"
    return f"Assumption A1 does not fit: P(both wrong) is off in {fit.n_off:,} of {fit.n_pairs:,} pairs"


def _bar_line(result: BudgetResult) -> Iterator[tuple[str, str]]:
    """The error bar that holds for all."""
    if (pool := result.pool) is not None:
        union = f" (union bound ±{pool.epsilon['union']:.5f})" if pool.example_groups is None else ""
        yield (
            f"{all_text(result.n_models)} within, at {sure_text(result.delta)}",
            f"±{pool.epsilon['similarity']:.5f}{union}",
        )


def _needed_lines(result: BudgetResult) -> tuple[tuple[str, str], ...]:
    if result.too_few:
        return ()
    need = result.needed
    who = "one such model" if result.n_models is None else f"{models_text(need.n_models)} like these at once"
    parting = f", parting on {100 * need.disagreement:.3g}{PERCENT} of examples"
    return needed_lines(need, result.delta, who=who, parting=parting)


def _sections(result: BudgetResult) -> Iterator[Section]:
    pool = result.pool
    yield Section(title="What this means", blocks=(Points(tuple(means(result))),))
    yield Section(title="What it does not mean", blocks=(Points(tuple(not_means(result))),))
    yield Section(title="What to do next", blocks=(Points(tuple(next_steps(result))),))
    if not result.too_few:
        yield _needed_section(result)
    if pool is not None:
        yield from _leaderboard(result, pool)
        told = f"**{who_is_first(pool)}.** {winner_of(pool)}."
        sets = [(top, pool.names(pool.top[top])) for top in TOPS if top < len(pool.order)]
        blocks = (Prose(told), *first_blocks(sets, result.delta, pool.unit))
        yield Section(title="Who may be first", blocks=blocks, printed=True)
        yield from noise_sections(pool)
        yield from alike_sections(result, pool)
    yield from curve_sections(result)
    if pool is not None:
        yield from structure_sections(result, pool)
    yield bounds_section(result)
    yield Section(title="What went in", blocks=(Facts(tuple(facts(result))),))
    if result.notes:
        yield Section(title="Notes", blocks=(Points(result.notes),), level=3, printed=True)
    if missing := tuple(not_computed(result)):
        without = "" if pool is not None else " without predictions"
        yield Section(title=f"Not computed{without}", blocks=(Points(missing),))


def _needed_section(result: BudgetResult) -> Section:
    need = result.needed
    mean = "" if result.pool is None else ", the mean over all pairs"
    inside = "" if result.example_groups is None else ", at the design effects of these groups"
    note = (
        f"A gap is told where the paired test of two models, named beforehand, has p at most {result.delta:g}; the "
        f"numbers are for a chance of {100 * need.power:g}{PERCENT} that it does, for models that part on "
        f"{percent(need.disagreement)} of the examples{mean}{inside}. All pairs of a leaderboard at once take more. "
        f"The error bar’s number is for the errors and similarities {'measured' if result.pool else 'stated'} here, "
        "plugged in."
    )
    rows = needed_facts(need, result.n_examples, result.delta)
    return Section(title="How many examples are needed", blocks=(Facts(rows), Note(note)))


def _leaderboard(result: BudgetResult, pool: PoolResult) -> Iterator[Section]:
    s, groups, sure = pool.similarity, pool.example_groups, sure_text(result.delta)
    n = all_text(s.n_models)
    bands = sum(len(group) > 1 for group in pool.groups)
    told = f" Bands of two or more models, none of which can be told from its first: {bands}." if bands else ""
    text = (
        f"With probability {sure} every interval below covers its model’s true error, {n} together. "
        f"{order_text(result, pool)}{told}"
    )
    ranges = board(
        s.names,
        100 * s.errors,
        100 * pool.low,
        100 * pool.high,
        columns=("Rank" if pool.ranks is not None else "Place", "Model", "Error, %", "Interval, %", "Next (p)"),
        order=pool.order,
        ranks=pool.ranks,
        bands=pool.groups,
        neighbours=pool.neighbours,
        digits=2,
    )
    yield Section(title=TITLE, blocks=(Prose(text), ranges), printed=True, anchor="leaderboard")
    how = "exact sign test, for independent examples"
    if groups is not None:
        how = f"sums over {groups.n_groups:,} whole groups, the test of `heldout compare`"
    compared = f"Both are compared on the examples that only one of them gets right ({how})"
    adjusted = ""
    if s.n_pairs > 1:
        steps = "" if pool.n_significant is None else " by Holm’s steps"
        adjusted = (
            f"is adjusted for all {s.n_pairs:,} pairs{steps}, since the data chose which stand side by side, and "
        )
    if pool.n_missing:
        compared += (
            ". Where answers are missing, that is on the examples that both have, so places and ranks need not agree"
        )
    points = key(
        result.delta,
        compared=compared,
        adjusted=adjusted,
        ranked=pool.ranks is not None,
        turned=contradicted_text(pool) is not None,
    )
    level = scientific(pool.level["similarity"])
    note = (
        f"Intervals are Clopper–Pearson’s, so that an error of 0 has a width too, at level {level} each. That level "
        "comes from the pool’s own errors and similarities, plugged in; the union bound, which needs neither, asks for "
        f"{scientific(pool.level['union'])}."
    )
    if groups is not None:
        note = (
            f"Intervals are Korn–Graubard’s: Clopper–Pearson’s at as many examples as the {groups.n_groups:,} groups "
            f"are worth, with Student’s law, at level {level} each, so that an error of 0 has a width too."
        )
    note += " Overlapping intervals do not mean a tie: the paired comparison is far sharper."
    yield Section(title="How to read the leaderboard", blocks=(Points(tuple(points)), Note(note)), level=3)
