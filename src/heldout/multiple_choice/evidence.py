"""Answers in several orders -> tests -> verdict."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from heldout import summary as page
from heldout._version import __version__
from heldout.multiple_choice.detectable import detectable_share, learnt
from heldout.multiple_choice.layout import Arranged
from heldout.multiple_choice.result import (
    MOST_UNREAD,
    UNEVEN,
    Alternative,
    Basis,
    Exhibit,
    ItemOrders,
    LeftOut,
    OptionsResult,
    Outcome,
    Positions,
    PValues,
    UnreadAnswers,
    Verdict,
    strength,
)
from heldout.multiple_choice.runs import Runs
from heldout.multiple_choice.sortedness import BY, sorted_checks
from heldout.scorers.choices import UNPARSED
from heldout.statistics import (
    ArrangementTestResult,
    OrbitTestResult,
    arrangement_test,
    arrangement_tests,
    memorised_items,
    orbit_test,
    order_ranks,
    position_test,
    rank_sum_test,
)
from heldout.statistics.memorised import order_weights

FDR = 0.1  # at which items are listed
EXHIBITS = 6  # items kept in all their orders
LEAST = sys.float_info.min  # p-values below underflow
BARS = 60  # of the histogram, at most
DRAWS = 999  # that tell mean and spread where neither has a closed form

LOGGED = "logged"  # orders that existing runs have, each run by itself

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Declared:
    """What is settled before the data: the test of the verdict, its side and level, and what it draws."""

    uniform: bool
    alternative: Alternative
    mid_p: bool
    level: float
    n_resamples: int
    seed: int


@dataclass(frozen=True, eq=False)
class Gathered:
    """What was asked and said, and what it was taken from."""

    runs: Runs
    left: tuple[LeftOut, ...]
    n_given: int
    kind: str
    digest: str
    how: dict[str, str]

    @cached_property
    def unread(self) -> NDArray[np.bool_]:
        """Of each answer, whether no option could be read; a log may say that it is right, and not which it is."""
        return np.asarray((self.runs.chosen == UNPARSED) & self.runs.wrong)

    @cached_property
    def complete(self) -> Runs | None:
        """The items with all of their answers, where the orders are of existing runs and some answers are unread.

        An item is here or not whichever of its orders is the printed one.
        """
        if self.kind != LOGGED or not self.unread.any():
            return None
        return self.runs.select(np.flatnonzero(~self.is_torn))

    def against(self, *, more: bool = False) -> Runs:
        """The runs with unread answers as they speak most against fewer errors as printed (or `more`): there they are
        wrong, and right in other orders (or the other way round). So p is valid whatever the reasons were."""
        printed = np.zeros(len(self.unread), dtype=bool)
        printed[self.runs.starts[:-1]] = True
        return replace(self.runs, wrong=self.runs.wrong & ~(self.unread & (printed if more else ~printed)))

    @property
    def is_torn(self) -> NDArray[np.bool_]:
        """Of each item, whether some of its answers are unread."""
        return np.asarray(np.logical_or.reduceat(self.unread, self.runs.starts[:-1]))

    @cached_property
    def said(self) -> dict[str, Any]:
        """Fields of the result that hold whatever the tests say."""
        r = self.runs
        counts = np.diff(r.starts)
        printed = r.starts[:-1]
        return {
            "errors_printed": int(r.wrong[printed].sum()),
            "n_items": len(r.items),
            "n_strata": len(np.unique(r.strata)),
            "n_orders": int(counts.max(initial=0)),
            "n_answers": int(r.starts[-1]),
            "kind": self.kind,
            "differences": dict(r.differences),
            "left_out": dict(Counter(item.reason for item in self.left).most_common()),
            "left_out_items": self.left,
            "sorted": sorted_checks(r.items) if r.with_text else (),
            "n_given": self.n_given,
            "repeat_rate": r.repeat_rate,
            "n_repeated": r.n_repeats,
            "unparsed": int(self.unread.sum()),
            "unparsed_printed": int(self.unread[printed].sum()),
            "refused": r.n_refused,
            "fdr": FDR,
            "model": r.model,
            "asked": self.how,
            "source": r.items.source,
            "data_digest": self.digest,
            "version": __version__,
        }


@dataclass(frozen=True, eq=False)
class _Tests:
    """All tests of some items."""

    errors: ArrangementTestResult
    declared: ArrangementTestResult | OrbitTestResult  # the one of the verdict
    p_values: PValues
    n_wrong: int  # as printed

    @property
    def p_value(self) -> float:
        return max(float(self.declared.p_value), LEAST)

    @property
    def is_worse(self) -> bool:
        return self.n_wrong > self.declared.expected


def _tests(r: Runs, declared: Declared, n_jobs: int) -> _Tests:
    how: dict[str, Any] = {"alternative": declared.alternative, "mid_p": declared.mid_p}
    ranks = order_ranks(r.starts, r.scores)
    errors, by_rank = arrangement_tests(
        r.starts, r.positions, [r.wrong, ranks], strata=r.strata, n_resamples=declared.n_resamples, n_jobs=n_jobs,
        rng=np.random.default_rng([declared.seed, 2]), **how,
    )  # fmt: skip
    exact = orbit_test(r.wrong, starts=r.starts, **how)
    p_ranks = math.nan
    if _known(r).any():
        p_ranks = (rank_sum_test(r.starts, r.scores, **how) if declared.uniform else by_rank).p_value
    return _Tests(
        errors=errors,
        declared=exact if declared.uniform else errors,
        p_values=PValues(
            conditional=float(errors.p_value),
            poisson_binomial=max(exact.p_value, LEAST),
            ranks=max(float(p_ranks), LEAST),
        ),
        n_wrong=int(r.wrong[r.starts[:-1]].sum()),
    )


def _known(r: Runs) -> NDArray[np.bool_]:
    """Of each item, whether all of its scores are known."""
    return np.asarray(~np.logical_or.reduceat(np.isnan(r.scores), r.starts[:-1]))


def judged(asked: Gathered, declared: Declared, *, n_jobs: int) -> OptionsResult:
    """All tests; the verdict is the one that was declared."""
    r, uniform = asked.runs, declared.uniform
    counts = np.diff(r.starts)
    tests = _tests(r, declared, n_jobs)
    whole = _tests(asked.complete, declared, n_jobs) if asked.complete is not None and asked.complete.items else None
    shown, p, complete = tests, tests.p_value, None
    if asked.complete is not None:
        shown = _tests(asked.against(), declared, n_jobs)
        p = shown.p_value
        if declared.alternative == "two-sided":
            other = _tests(asked.against(more=True), declared, n_jobs)
            p = max(p, other.p_value) if shown.is_worse == other.is_worse else 1.0
        complete = _unread_answers(asked, whole, shown)
    ruling = _ruling(p, asked, declared, complete, tests, whole)
    others = (np.add.reduceat(r.wrong.astype(np.int64), r.starts[:-1]) - r.wrong[r.starts[:-1]]) / np.maximum(
        1, counts - 1
    )
    draws, edges = histogram(shown.errors.drawn, shown.errors.observed)
    evidence = np.where(np.repeat(_known(r), counts), r.scores, np.where(r.wrong, 0.0, 1.0))
    if asked.complete is not None:  # a run that was cut off is no evidence of single items
        evidence = np.where(np.repeat(asked.is_torn, counts), 0.0, evidence)
    listed = memorised_items(r.starts, r.positions, evidence, strata=r.strata, uniform=uniform, q=FDR)
    items = _items(r, listed.p_values, order_ranks(r.starts, evidence), others)
    reach = math.nan
    if ruling.outcome != "cannot tell" and (complete is None or complete.p_uneven > UNEVEN):
        reach = _reach(r, float(tests.declared.standard_deviation), declared)
        if complete is not None:
            also = _reach(asked.against(), float(shown.declared.standard_deviation), declared)
            reach = math.nan if math.isnan(reach) or math.isnan(also) else max(reach, also)
    return OptionsResult(
        ruling=ruling,
        p_values=tests.p_values,
        errors_expected=tests.declared.expected,
        errors_spread=tests.declared.standard_deviation,
        errors_others=float(others.mean()),
        draws=draws,
        draw_edges=edges,
        detectable=reach,
        uniform=uniform,
        positions=_positions(r),
        items=items,
        n_first=listed.n_first,
        first_expected=listed.first_expected,
        n_listed=listed.n_listed,
        shortest_list=listed.shortest,
        exhibits=_exhibits(r, items),
        n_resamples=declared.n_resamples,
        seed=declared.seed,
        complete=complete,
        **asked.said,
    )


def _unread_answers(asked: Gathered, whole: _Tests | None, against: _Tests) -> UnreadAnswers:
    """The tests with unread answers counted against a finding, and of the items with all of their answers."""
    nan, items = math.nan, asked.complete.items if asked.complete is not None else ()
    return UnreadAnswers(
        n_items=len(items),
        errors_printed=0 if whole is None else whole.n_wrong,
        errors_expected=nan if whole is None else float(whole.declared.expected),
        errors_spread=nan if whole is None else float(whole.declared.standard_deviation),
        p_values=PValues(conditional=nan, poisson_binomial=nan, ranks=nan) if whole is None else whole.p_values,
        p_against=against.p_values,
        p_uneven=float(orbit_test(asked.unread, starts=asked.runs.starts, alternative="two-sided").p_value),
    )


def not_applicable(asked: Gathered, reason: str, declared: Declared) -> OptionsResult:
    """An order cannot matter: where the answers are known, they are counted, and nothing is tested."""
    nan, r = math.nan, asked.runs
    verdict = Verdict(
        outcome="not applicable", p_value=nan, level=declared.level, rests_on="neither",
        alternative=declared.alternative, mid_p=declared.mid_p, reason=reason,
    )  # fmt: skip
    return OptionsResult(
        ruling=verdict,
        p_values=PValues(conditional=nan, poisson_binomial=nan, ranks=nan),
        errors_expected=nan,
        errors_spread=nan,
        errors_others=nan,
        draws=np.zeros(0, dtype=np.int64),
        draw_edges=np.zeros(0),
        detectable=nan,
        uniform=declared.uniform,
        positions=_positions(r),
        items=(),
        n_first=0,
        first_expected=0.0,
        n_listed=0,
        shortest_list=0,
        exhibits=(),
        n_resamples=declared.n_resamples,
        seed=declared.seed,
        **asked.said | {"n_items": 0},
    )


def _ruling(
    p: float, asked: Gathered, declared: Declared, complete: UnreadAnswers | None, every: _Tests, whole: _Tests | None
) -> Verdict:
    outcome: Outcome = "depends on the printed order" if p <= declared.level else "no dependence found"
    basis: Basis = "poisson_binomial" if declared.uniform else "conditional"
    reason = _not_arbitrary(asked)
    if p > declared.level:  # where it does stand out, the test holds whatever answers are
        stuck = too_few(least_attainable(asked.runs, declared), declared.level) or _hardly_answered(asked)
        if complete is not None and not stuck:
            stuck = _turns(asked, declared, complete, p, every.p_value, math.nan if whole is None else whole.p_value)
        if stuck:
            outcome, basis, reason, p = "cannot tell", "neither", stuck, math.nan
    return Verdict(
        outcome=outcome, p_value=p, level=declared.level, rests_on=basis, alternative=declared.alternative,
        mid_p=declared.mid_p, reason=reason,
    )  # fmt: skip


def _turns(
    asked: Gathered, declared: Declared, complete: UnreadAnswers, p_against: float, p_wrong: float, p_whole: float
) -> str:
    """Why nothing found says nothing where it turns on what the unread answers were; empty where it does not.

    It does where another way to count them finds something, and where so many more are unread as printed than in other
    orders that what the model knows of the printed order may be among them.
    """
    n, unread = len(asked.runs.items), asked.said["unparsed_printed"]
    others, many = asked.said["unparsed"] - unread, asked.said["n_answers"] - n
    hides = complete.p_uneven <= UNEVEN and unread * many > others * n
    decides = min(p_wrong, 1.0 if math.isnan(p_whole) else p_whole) <= declared.level
    if not hides and not decides:
        return ""
    why = (
        "and what these were would decide:"
        if decides
        else "so that what the model knows of the printed order may be among these;"
    )
    on_whole = "" if math.isnan(p_whole) else (
        f", and {page.p_text(p_whole)} on the {page.counted(complete.n_items, 'item')} with all answers read"
    )  # fmt: skip
    return (
        f"No option could be read from {page.of_text(unread, n)} answers as printed and {page.of_text(others, many)} "
        f"in other orders (even: p = {page.p_text(complete.p_uneven)}), {why} p is "
        f"{page.p_text(p_against)} where they are counted against a finding, {page.p_text(p_wrong)} with all of them "
        f"as wrong{on_whole}."
    )


def _hardly_answered(asked: Gathered) -> str:
    """Why nothing found says nothing, where most answers name no option; empty where they do."""
    unread, many = asked.said["unparsed"], asked.said["n_answers"]
    if unread <= MOST_UNREAD * many:
        return ""
    return (
        f"No option could be read from {page.of_text(unread, many)} answers, so that it is not known what the model "
        "would choose, as printed or otherwise."
    )


def _not_arbitrary(asked: Gathered) -> str:
    """What stands in the way of any verdict where options are printed sorted; empty where they are not."""
    found = " and ".join(
        f"{BY[c.by]} in {page.of_text(c.n_sorted, c.n_items)} {c.unit}, {page.fixed(c.expected, 1)} by chance "
        f"(p = {page.p_text(c.p_value)})"
        for c in asked.said["sorted"]
        if c.is_found
    )
    if not found:
        return ""
    what = "options" if (asked.runs.items.n_options == 2).any() else "wrong options"  # of two, the answer's place tells
    return (
        f"The printed orders are not arbitrary, as the tests take them to be: {what} stand {found}. A model that "
        "does better or worse with options so sorted differs as printed without having seen anything."
    )


def least_attainable(at: Arranged | Runs, declared: Declared) -> float:
    """The least p that any answers could have by the verdict's test: right as printed, and wrong otherwise."""
    by_heart = learnt(at.starts, np.ones(int(at.starts[-1]), dtype=bool))
    return float(_tested(at, by_heart, declared).p_value)


def too_few(least: float, level: float) -> str:
    """Why nothing can be told, whatever a model answers; empty where something can."""
    if least <= level:
        return ""
    if least == 1:
        return (
            "No two items can swap the places of their answers in the orders that there are, so that there is nothing "
            "to compare with; other orders of the same items could tell."
        )
    return (
        f"Whatever the model answers, p is not below {page.p_text(least)} with these items and orders, which is above "
        f"the level of {level:g}; more items, or more orders of each, could tell."
    )


def _reach(r: Runs, spread: float, declared: Declared) -> float:
    """The smallest share of memorised items that the verdict's test would have found, from what was measured."""
    memorised = learnt(r.starts, r.wrong)
    own = _tested(r, memorised, declared)
    weights = order_weights(r.starts, r.positions, r.strata, uniform=declared.uniform)
    lost = np.add.reduceat(weights * memorised, r.starts[:-1]) / np.add.reduceat(weights, r.starts[:-1])
    return detectable_share(
        lost * (own.expected / lost.sum()) if lost.any() else lost, own.standard_deviation, spread,
        p_all=float(own.p_value), level=declared.level, two_sided=declared.alternative == "two-sided",
    )  # fmt: skip


def _tested(
    at: Arranged | Runs, wrong: NDArray[np.bool_], declared: Declared
) -> ArrangementTestResult | OrbitTestResult:
    """What the verdict's test says of answers that nobody gave."""
    if declared.uniform:
        return orbit_test(wrong, starts=at.starts, alternative=declared.alternative)
    return arrangement_test(
        at.starts, at.positions, wrong, strata=at.strata, alternative=declared.alternative,
        n_resamples=DRAWS if declared.level >= 10 / DRAWS else declared.n_resamples,
        rng=np.random.default_rng([declared.seed, 4]),
    )  # fmt: skip


def histogram(drawn: Floats, observed: float) -> tuple[NDArray[np.int64], Floats]:
    """Counts of whole numbers of errors in ranges of equal width, the observed one within them.

    Examples
    --------
    >>> counts, edges = histogram(np.array([3.0, 3.0, 5.0]), 2.0)
    >>> counts.tolist(), edges.tolist()
    ([0, 2, 0, 1], [1.5, 2.5, 3.5, 4.5, 5.5])
    """
    low, high = math.floor(min(drawn.min(), observed)), math.ceil(max(drawn.max(), observed))
    width = math.ceil((high - low + 1) / BARS)
    edges = np.arange(low - 0.5, high + width, width)
    return np.histogram(drawn, edges)[0].astype(np.int64), edges


def _items(r: Runs, p: Floats, ranks: Floats, others: Floats) -> tuple[ItemOrders, ...]:
    printed = r.starts[:-1]
    rows = zip(
        r.items, np.diff(r.starts).tolist(), r.wrong[printed].tolist(), others.tolist(), ranks[printed].tolist(),
        p.tolist(), false_discovery_control(p).tolist(), strict=True,
    )  # fmt: skip
    return tuple(
        ItemOrders(
            id=item.id,
            n_options=len(item.options),
            answer=item.answer,
            n_orders=n,
            wrong_printed=wrong,
            wrong_others=share,
            rank=rank,
            p_value=p_value,
            q=q,
        )
        for item, n, wrong, share, rank, p_value, q in rows
    )


def _positions(r: Runs) -> Positions:
    """Where the right answers are printed, and errors with the answer there."""
    at = r.positions[r.starts[:-1]]
    found = position_test(at, r.items.n_options, strata=r.strata)
    k = np.repeat(r.items.n_options, np.diff(r.starts))
    wrong = {}
    for size in np.unique(r.items.n_options).tolist():
        here = k == size
        many = np.bincount(r.positions[here], minlength=size)
        with np.errstate(invalid="ignore"):
            shares = np.bincount(r.positions[here], weights=r.wrong[here], minlength=size) / many
        wrong[str(size)] = tuple(shares.tolist())
    return Positions(counts=found.counts, p_value=found.p_value, wrong=wrong)


def _exhibits(r: Runs, items: tuple[ItemOrders, ...]) -> tuple[Exhibit, ...]:
    """The items with the strongest evidence, in their orders, where texts and orders are known."""
    if r.orders is None or not r.with_text:
        return ()
    first = sorted((i for i, one in enumerate(items) if not one.wrong_printed), key=lambda i: strength(items[i]))
    found = []
    for i in first[:EXHIBITS]:
        part = slice(int(r.starts[i]), int(r.starts[i + 1]))
        item = r.items[i]
        found.append(
            Exhibit(
                id=item.id,
                question=item.question,
                options=item.options,
                answer=item.answer,
                orders=np.asarray(r.orders[i], dtype=np.int64),
                chosen=np.asarray(r.chosen[part], dtype=np.int64),
                scores=np.asarray(r.scores[part], dtype=np.float64),
            )
        )
    return tuple(found)
