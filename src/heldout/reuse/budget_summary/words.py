"""Phrases that several parts of a budget's summary share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from heldout.groups import FEW as FEW_GROUPS
from heldout.reuse.bounds import LARGEST
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.needed import Needed
from heldout.reuse.result import BudgetResult
from heldout.reuse.winner import Winner
from heldout.summary.names import shorten
from heldout.summary.numbers import PERCENT, bar_text, percent, sure_text, times_text

NAMES = {"union": "Union bound", "similarity": "Similarity bound", "naive_bayes": "Naive Bayes"}
FEW = 100  # models, below which a ratio says less than a difference
FEW_EXAMPLES = 10
LITTLE = 1.1  # times as many; what is below is not worth a boast
LONGEST = 48  # characters of a model's name in sentences
NAMED = 12  # models that are listed by name
MOST_TASKS = 20


def count_text(count: int | None) -> str:
    """A number of models.

    Examples
    --------
    >>> count_text(1062137), count_text(10**18), count_text(None)
    ('1,062,137', 'over 10^18', 'undefined')
    """
    if count is None:
        return "undefined"
    return "over 10^18" if count >= LARGEST else f"{count:,}"


def examples_text(count: int | None) -> str:
    """A number of examples.

    Examples
    --------
    >>> examples_text(8526), examples_text(1), examples_text(None)
    ('8,526 examples', '1 example', 'over 10^12 examples')
    """
    return f"{needed_text(count)} {'example' if count == 1 else 'examples'}"


def needed_text(count: int | None) -> str:
    """The number alone."""
    return "over 10^12" if count is None else f"{count:,}"


def points_text(half_width: float) -> str:
    """An error bar in words.

    Examples
    --------
    >>> points_text(0.01), points_text(0.00652)
    ('1 percentage point', '0.652 percentage points')
    """
    value = f"{100 * half_width:.3g}"
    return f"{value} percentage {'point' if value == '1' else 'points'}"


def pairs_text(n: int) -> str:
    """A number of pairs.

    Examples
    --------
    >>> pairs_text(1), pairs_text(2211)
    ('1 pair', '2,211 pairs')
    """
    return "1 pair" if n == 1 else f"{n:,} pairs"


def list_names(names: Sequence[str], most: int = NAMED) -> str:
    """The first few names, and how many more there are.

    Examples
    --------
    >>> list_names(["a", "b", "c"], 2), list_names(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    rest = len(names) - most
    shown = ", ".join(shorten(name, LONGEST) for name in names[:most])
    return shown + (f" and {rest:,} more" if rest > 0 else "")


def all_text(n_models: int | None) -> str:
    """All of them, in a word or two."""
    return "both" if n_models == 2 else f"all {n_models:,}"


def models_text(n_models: int | None) -> str:
    """The models there are, as a part of a sentence."""
    return f"{all_text(n_models)} models"


def ratio_text(count: int, union: int) -> str:
    """What a bound gains over the union bound, both counted in all.

    Examples
    --------
    >>> ratio_text(840, 210), ratio_text(42, 41), ratio_text(3, 0), ratio_text(10**18, 10**17)
    ('4 times as many in all', '1 more than by the union bound', 'where the union bound allows none', 'past counting')
    """
    if count >= LARGEST:
        return "past counting"
    if not union:
        return "where the union bound allows none"
    more = f"{count - union:,} more than by the union bound"
    return more if count < FEW else f"{times_text(count / union)} as many in all"


def groups_text(groups: ExampleGroups) -> str:
    """How many groups there are, of how many examples.

    Examples
    --------
    >>> told = dict(n_groups=11, smallest=2, largest=2, named=None, n_repeated=0, repeated_in=(), design_effect=None)
    >>> groups_text(ExampleGroups(**told))
    '11 groups of 2 examples'
    """
    sizes = f"{groups.smallest:,} to {groups.largest:,}" if groups.smallest < groups.largest else f"{groups.largest:,}"
    return f"{groups.n_groups:,} groups of {sizes} examples"


def effect_text(groups: ExampleGroups) -> str:
    """What the groups cost."""
    if not math.isfinite(groups.median_effect):
        return "not defined: every model is right, or wrong, everywhere"
    return f"{groups.median_effect:.2f} (median over models), {groups.largest_effect:.2f} (largest)"


def worth_text(groups: ExampleGroups, n: int) -> str:
    """How many independent examples those in groups are worth."""
    return f"{n:,} examples are worth about {n / max(1.0, groups.median_effect):,.0f} independent ones"


def repeated_text(groups: ExampleGroups) -> str:
    """Inputs that several examples share."""
    return f"{groups.n_repeated:,} examples share their input ({', '.join(groups.repeated_in)}) with another one"


def too_few_text(groups: ExampleGroups, n_models: int, error_bar: float) -> str:
    """What the headline means where groups say nothing."""
    return (
        f"{groups.n_groups} groups are too few to say anything: the error bar for {models_text(n_models)} is "
        f"±{error_bar:.2g}, and neither how many models fit nor how many examples are needed can be told."
    )


def few_warnings(n_examples: int, groups: ExampleGroups | None) -> tuple[str, ...]:
    """One sentence for few examples, one for few groups."""
    warnings = []
    if n_examples < FEW_EXAMPLES:
        warnings.append(
            f"{n_examples} {'example is' if n_examples == 1 else 'examples are'} few (fewer than {FEW_EXAMPLES}), and "
            "little can be told. Are these averages? Give one row or column for each example."
        )
    if groups is not None and groups.few:
        warnings.append(
            f"{groups.n_groups} groups are few (fewer than {FEW_GROUPS}): the law for many groups is rough, and "
            "intervals are so wide that little can be told."
        )
    return tuple(warnings)


def notes_of(tasks: Mapping[str, int], *, trials_agree: bool = False) -> tuple[str, ...]:
    """What else is to be known of a table: how its tasks were pooled, that all trials agree.

    Examples
    --------
    >>> notes_of({"a": 2, "b": 1})[0][:88]
    'All 2 tasks pooled: every example counts once, so that a task counts by its size (a 2, b'
    """
    notes = []
    if tasks:
        named = list_names([f"{name} {size:,}" for name, size in tasks.items()], MOST_TASKS)
        notes.append(
            f"All {len(tasks):,} tasks pooled: every example counts once, so that a task counts by its size ({named}), "
            "and the mean over tasks may differ."
        )
    if trials_agree:
        notes.append("All trials of an example agree everywhere, so that more trials would bring nothing.")
    return tuple(notes)


def similarity_text(result: BudgetResult) -> str:
    """How alike two models are, and how alike they would be by chance."""
    return (
        f"two models agree on {percent(result.mean_similarity)} of the examples"
        f"{' on average' if result.pool is not None else ''}, {percent(result.independent_similarity)} by chance"
    )


def unequal_text(result: BudgetResult) -> str:
    """Why no models can all have the mean error and the mean similarity."""
    if result.mean_error in (0.0, 1.0):
        return f"the mean error is {result.mean_error:g}"
    if result.example_groups is not None:
        return "the paper’s bounds are for independent examples, and these come in groups"
    return "the mean error and the mean similarity come from different examples and do not fit together"


def enough_text(need: Needed) -> str:
    """Examples that the error bar asked for takes, and for how many models."""
    of = "one such model" if need.n_models == 1 else models_text(need.n_models)
    return f"{examples_text(need.examples_for_epsilon)} would do for {of}"


def first_text(n_first: int, n_models: int, only: str, winner: str) -> str:
    """How many models may be first."""
    if n_first == 1:
        return f"Only {shorten(only, LONGEST)} may be first: every other of the {n_models:,} models is excluded"
    of = f"{n_first:,} of the {n_models:,} models"
    if n_first == n_models:
        of = "Both models" if n_models == 2 else f"All {n_models:,} models"
    return f"{of} may be first, not only {shorten(winner, LONGEST)}, which has the highest score"


def winner_text(w: Winner, unit: str, score: str) -> str:
    """The winner's score, the drop to expect, and what is left; `score` says what it is, with {}."""
    name = shorten(w.name, LONGEST)
    if not math.isfinite(w.expected_drop):
        return f"What {name} will lose on fresh examples cannot be told from so few {unit}"
    return (
        f"{name} {score.format(w.score)}. It was chosen for coming out highest, and on as many fresh examples a winner "
        f"like it drops by {w.expected_drop:.4f} on average: expect {w.corrected:.4f}"
    )


def needed_lines(need: Needed, delta: float, *, who: str, parting: str = "") -> tuple[tuple[str, str], ...]:
    """Examples for the error bar and for a gap, and the gap that can be told now."""
    now = "none, with so few examples or groups"
    if math.isfinite(need.gap_now):
        now = f"{need.gap_now:.4f} (two models named beforehand, {100 * need.power:g}{PERCENT} power{parting})"
    lines = (
        (
            f"examples for ±{need.epsilon:g}",
            f"{needed_text(need.examples_for_epsilon)} ({who}, at {sure_text(delta)})",
        ),
        ("gap that can be told now", now),
        (f"examples for a gap of {need.gap:g}", needed_text(need.examples_for_gap)),
    )
    if need.first_gap is None:
        return lines
    apart = f"{needed_text(need.examples_for_first)} ({need.first_gap:.4g} apart)"
    return (*lines, ("examples, first from second", apart))


def needed_facts(need: Needed, n: int, delta: float) -> tuple[tuple[str, str], ...]:
    """The same for a page, beside the number of examples there are."""
    who = "one such model" if need.n_models == 1 else f"{need.n_models:,} models like these, all at once"
    now = points_text(need.gap_now) if math.isfinite(need.gap_now) else "none: there are too few examples for any"
    facts = (
        (f"For {bar_text(need.epsilon)}", f"{_compared(need.examples_for_epsilon, n)}: {who}, at {sure_text(delta)}"),
        ("Gap that can be told now", now),
        (f"To tell a gap of {points_text(need.gap)}", _compared(need.examples_for_gap, n)),
    )
    if need.first_gap is None:
        return facts
    told = f"{_compared(need.examples_for_first, n)}: they are {points_text(need.first_gap)} apart"
    return (*facts, ("To tell the first from the second", told))


def _compared(count: int | None, n: int) -> str:
    """A number of examples, and how it compares with those there are."""
    if count is None:
        return "more than 10¹² examples"
    ratio = count / n
    if ratio > 1.05:
        return f"{count:,} examples, {ratio:,.{0 if ratio >= 10 else 1}f} times those there are"
    return f"{examples_text(count)}, no more than there are" if ratio <= 1 else examples_text(count)
