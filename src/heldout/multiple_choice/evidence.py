"""Answers in several orders -> tests -> verdict."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from heldout import summary as page
from heldout._version import __version__
from heldout.multiple_choice.detectable import detectable_share, learnt
from heldout.multiple_choice.result import (
    MOST_UNREAD,
    Alternative,
    Basis,
    Exhibit,
    ItemOrders,
    LeftOut,
    OptionsResult,
    Outcome,
    Positions,
    PValues,
    Verdict,
    strength,
)
from heldout.multiple_choice.runs import Runs
from heldout.multiple_choice.sortedness import BY, SortedCheck, sorted_checks
from heldout.scorers.choices import UNPARSED
from heldout.statistics import (
    arrangement_tests,
    memorised_items,
    orbit_test,
    order_ranks,
    position_test,
    rank_sum_test,
)

FDR = 0.1  # at which items are listed
EXHIBITS = 6  # items kept in all their orders
LEAST = sys.float_info.min  # p-values below underflow
BARS = 60  # of the histogram, at most
DRAWS = 999  # that tell mean and spread where neither has a closed form

Floats = NDArray[np.float64]


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
    def said(self) -> dict[str, Any]:
        """Fields of the result that hold whatever the tests say."""
        r = self.runs
        counts = np.diff(r.starts)
        printed = r.starts[:-1]
        unparsed = (r.chosen == UNPARSED) & r.wrong  # a log may say that an answer is right, and not which it is
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
            "unparsed": int(unparsed.sum()),
            "unparsed_printed": int(unparsed[printed].sum()),
            "fdr": FDR,
            "model": r.model,
            "asked": self.how,
            "source": r.items.source,
            "data_digest": self.digest,
            "version": __version__,
        }


def judged(
    asked: Gathered,
    *,
    uniform: bool,
    alternative: Alternative,
    mid_p: bool,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int,
) -> OptionsResult:
    """All tests; the verdict is the one that was declared."""
    r = asked.runs
    counts = np.diff(r.starts)
    known = ~np.logical_or.reduceat(np.isnan(r.scores), r.starts[:-1])
    ranks = order_ranks(r.starts, r.scores)
    rng = np.random.default_rng([seed, 2])
    errors, by_rank = arrangement_tests(
        r.starts, r.positions, [r.wrong, ranks], strata=r.strata, alternative=alternative, mid_p=mid_p,
        n_resamples=n_resamples, n_jobs=n_jobs, rng=rng,
    )  # fmt: skip
    exact = orbit_test(r.wrong, starts=r.starts, alternative=alternative, mid_p=mid_p)
    p_ranks = math.nan
    if known.any():
        p_ranks = (
            rank_sum_test(r.starts, r.scores, alternative=alternative, mid_p=mid_p) if uniform else by_rank
        ).p_value
    exactly = max(exact.p_value, LEAST)
    p_values = PValues(conditional=float(errors.p_value), poisson_binomial=exactly, ranks=max(float(p_ranks), LEAST))
    chosen = exact if uniform else errors
    least, detectable = _reach(
        r, chosen.standard_deviation, uniform=uniform, alternative=alternative, level=level, n_resamples=n_resamples,
        seed=seed,
    )  # fmt: skip
    what = "options" if (r.items.n_options == 2).any() else "wrong options"  # of two, the answer's place tells
    ruling = _ruling(
        max(float(chosen.p_value), LEAST), least, _hardly_answered(asked), asked.said["sorted"], what,
        uniform=uniform, alternative=alternative, mid_p=mid_p, level=level,
    )  # fmt: skip
    others = (np.add.reduceat(r.wrong.astype(np.int64), r.starts[:-1]) - r.wrong[r.starts[:-1]]) / np.maximum(
        1, counts - 1
    )
    draws, edges = histogram(errors.drawn, errors.observed)
    evidence = np.where(np.repeat(known, counts), r.scores, np.where(r.wrong, 0.0, 1.0))
    listed = memorised_items(r.starts, r.positions, evidence, strata=r.strata, uniform=uniform, q=FDR)
    items = _items(r, listed.p_values, order_ranks(r.starts, evidence), others)
    return OptionsResult(
        ruling=ruling,
        p_values=p_values,
        errors_expected=chosen.expected,
        errors_spread=chosen.standard_deviation,
        errors_others=float(others.mean()),
        draws=draws,
        draw_edges=edges,
        detectable=math.nan if ruling.outcome == "cannot tell" else detectable,
        uniform=uniform,
        positions=_positions(r),
        items=items,
        n_first=listed.n_first,
        n_listed=listed.n_listed,
        first_needed=listed.needed,
        floor=listed.floor,
        exhibits=_exhibits(r, items),
        n_resamples=n_resamples,
        seed=seed,
        **asked.said,
    )


def not_applicable(asked: Gathered, reason: str, **how: Any) -> OptionsResult:
    """An order cannot matter: where the answers are known, they are counted, and nothing is tested."""
    nan, r = math.nan, asked.runs
    verdict = Verdict(
        outcome="not applicable", p_value=nan, level=how["level"], rests_on="neither", alternative=how["alternative"],
        mid_p=how["mid_p"], reason=reason,
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
        uniform=how["uniform"],
        positions=_positions(r),
        items=(),
        n_first=0,
        n_listed=0,
        first_needed=0,
        floor=nan,
        exhibits=(),
        n_resamples=how["n_resamples"],
        seed=how["seed"],
        **asked.said,
    )


def _ruling(
    p: float,
    least: float,
    unread: str,
    checks: tuple[SortedCheck, ...],
    what: str,
    *,
    uniform: bool,
    alternative: Alternative,
    mid_p: bool,
    level: float,
) -> Verdict:
    outcome: Outcome = "depends on the printed order" if p <= level else "no dependence found"
    basis: Basis = "poisson_binomial" if uniform else "conditional"
    reason = _not_arbitrary(checks, what)
    if least > level and p > level:
        outcome, basis = "cannot tell", "neither"
        reason = (
            "No item can change its order while each place holds the answer as often as printed, so that there is "
            "nothing to compare with; other orders of the same items could tell."
            if least == 1
            else f"However the model had answered, p would not be below {page.p_text(least)} with these items and "
            f"orders, which is above the level of {level:g}; more items, or more orders of each, could tell."
        )
    elif unread and p > level:  # where it does stand out, the test holds whatever answers are
        outcome, basis, reason = "cannot tell", "neither", unread
    return Verdict(
        outcome=outcome, p_value=p, level=level, rests_on=basis, alternative=alternative, mid_p=mid_p, reason=reason
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


def _not_arbitrary(checks: tuple[SortedCheck, ...], what: str) -> str:
    """What stands in the way of any verdict where options are printed sorted; empty where they are not."""
    found = " and ".join(
        f"{BY[c.by]} in {page.of_text(c.n_sorted, c.n_items)} items, {page.fixed(c.expected, 1)} by chance "
        f"(p = {page.p_text(c.p_value)})"
        for c in checks
        if c.is_found
    )
    if not found:
        return ""
    return (
        f"The printed orders are not arbitrary, as the tests take them to be: {what} stand {found}. A model that "
        "does better or worse with options so sorted differs as printed without having seen anything."
    )


def _reach(
    r: Runs, spread: float, *, uniform: bool, alternative: Alternative, level: float, n_resamples: int, seed: int
) -> tuple[float, float]:
    """The least p that any answers could have had, right as printed and wrong otherwise, by the verdict's test, and the
    smallest share of memorised items that it would have found, from what was measured."""
    by_heart = learnt(r.starts, np.ones_like(r.wrong))
    both = [by_heart, learnt(r.starts, r.wrong)]
    best, own = (
        [orbit_test(wrong, starts=r.starts, alternative=alternative) for wrong in both]
        if uniform
        else arrangement_tests(
            r.starts, r.positions, both, strata=r.strata, alternative=alternative,
            n_resamples=DRAWS if level >= 10 / DRAWS else n_resamples, rng=np.random.default_rng([seed, 4]),
        )
    )  # fmt: skip
    return float(best.p_value), detectable_share(
        own.expected, own.standard_deviation, spread, level=level, two_sided=alternative == "two-sided"
    )


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
    found = position_test(at, r.items.n_options)
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
