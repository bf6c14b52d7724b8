"""What a test of printed orders returns: frozen data, all of it computed by `options`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.multiple_choice.sortedness import SortedCheck
from heldout.report import Result
from heldout.results import today

Outcome = Literal["depends on the printed order", "no dependence found", "cannot tell", "not applicable"]
Basis = Literal["conditional", "poisson_binomial", "neither"]
Alternative = Literal["overfitted", "two-sided"]

MOST_UNREAD = 0.5  # share of answers without an option above which nothing found is no verdict
UNEVEN = 0.01  # p from which on unread answers of runs lie otherwise as printed than in other orders


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether the score depends on the printed order, by the test that was declared."""

    outcome: Outcome
    p_value: float
    level: float
    rests_on: Basis
    alternative: Alternative
    mid_p: bool  # not valid: on average right, in tails too small
    reason: str  # why nothing is told, or why what is told may have another cause; empty where neither


@dataclass(frozen=True, kw_only=True)
class PValues:
    """Of the three tests; NaN where one does not apply. Which of them is the verdict is fixed before the data."""

    conditional: float
    poisson_binomial: float
    ranks: float


@dataclass(frozen=True, kw_only=True)
class UnreadAnswers:
    """What the answers that could not be read do to the tests, where some answers of existing runs could not.

    The printed order is a run of its own there, and a run may be cut off for reasons of its own: counted as wrong, its
    unread answers look like knowledge of the printed order, or hide it. The verdict's p counts them against a finding,
    as wrong where printed and as right in other orders (`p_against`; two-sided also the other way round, and the larger
    counts): it is valid whatever the reasons. `n_items`, the errors and `p_values` are of the complete items alone, of
    which every order's answer could be read, and `p_uneven` is the exact two-sided p of as many unread answers as
    printed, given how many each item has.
    """

    saved_as: ClassVar[str] = "CompleteItems"  # of which alone it once told

    n_items: int
    errors_printed: int
    errors_expected: float
    errors_spread: float
    p_values: PValues
    p_against: PValues
    p_uneven: float


@dataclass(frozen=True, kw_only=True)
class Positions:
    """Where the right answers stand as printed: by number of options, how often at each place, and whether that could
    be uniform; `wrong` are the shares of errors with the answer there, over all orders."""

    counts: dict[str, tuple[int, ...]]
    p_value: float
    wrong: dict[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class ItemOrders:
    """One item: how it fared as printed and in its other orders.

    `rank` is that of the printed order by the score of the right answer, 1 being the best, ties at their mean; `q` is
    the smallest false discovery rate at which the item is listed.
    """

    id: str
    n_options: int
    answer: int
    n_orders: int
    wrong_printed: bool
    wrong_others: float
    rank: float
    p_value: float
    q: float


def strength(item: ItemOrders) -> tuple[float, float]:
    """Items with the strongest evidence come first by this; of those with about the same p, the most often wrong in
    other orders."""
    return round(item.p_value, 2), -item.wrong_others


@dataclass(frozen=True, kw_only=True, eq=False)
class Exhibit:
    """An item in its orders, the printed one first."""

    id: str
    question: str
    options: tuple[str, ...]
    answer: int
    orders: NDArray[np.int64]  # (n_orders, n_options): which printed option stands at each place
    chosen: NDArray[np.int64]  # which place was chosen; -1 where no option could be read
    scores: NDArray[np.float64]  # log-probability of the right answer, NaN where it is not told


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """An item whose order is not arbitrary, and why."""

    id: str
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OptionsResult(Result):
    """Whether a score depends on having seen the benchmark as printed.

    Parameters
    ----------
    ruling : Verdict
        By the conditional test, or by the Poisson-binomial one where uniformity was declared. Its p is NaN where
        nothing can be told; of existing runs with unread answers it is that of `complete.p_against`, two-sided the
        larger of both sides.
    p_values : PValues
        Of all three tests, unread answers being wrong.
    errors_printed, errors_expected, errors_spread : float
        Errors in the printed orders, and their mean and standard deviation over other orders with the answers as often
        at each place; unread answers are errors.
    errors_others : float
        Share of errors in the other orders.
    draws, draw_edges : arrays
        Errors of the arrangements that were drawn, as a histogram; unread answers of existing runs as in
        `complete.p_against`.
    detectable : float
        Smallest share of items, memorised in their printed order, that would have been found with power 0.8; NaN where
        there is none. A plug-in, by the normal approximation.
    n_items, n_orders, n_answers : int
        Items tested; the most orders of one, the printed order included; answers in all.
    n_strata : int
        How many sets of items are compared only within themselves: by number of options, and by file, task or
        `strata_key` where there are several.
    kind : str
        Which orders: "all", "cyclic", "drawn" or "logged".
    differences : dict of tuple of str
        What answers to different orders differ in besides these, such as the first and the last date.
    uniform : bool
        Whether the printed orders were declared to be shuffled.
    left_out, left_out_items : dict of int, tuple of LeftOut
        Items left out by reason, and which they are; of those drawn, where `n_items` was given.
    n_given : int
        Items that came in, those left out and those not drawn included.
    positions : Positions
        Of the right answers as printed.
    sorted : tuple of SortedCheck
        Whether wrong options (of two options: both) stand in alphabetical order, or by length, more often than by
        chance, so that printed orders are not arbitrary, which `reason` says then; empty where texts are not known.
    repeat_rate, n_repeated : float, int
        How often the same question was answered the same way twice, and how many were asked twice.
    unparsed, unparsed_printed : int
        Answers from which no option could be read, which count as wrong; those to printed orders among them.
    refused : int
        How many of them an endpoint refused to give, by moderation or for the length of the question.
    items : tuple of ItemOrders
        In their order.
    n_first, n_listed, shortest_list : int
        Items whose printed order has the best score of all alone; those listed at the rate `fdr`; and the fewest that
        any list at that rate has with so many orders, however strong the evidence of each (0: no list is possible).
    first_expected : float
        How many would be first by chance.
    fdr : float
        False discovery rate of the list.
    exhibits : tuple of Exhibit
        The items with the strongest evidence.
    complete : UnreadAnswers, optional
        The same tests with unread answers counted against a finding, and of the items without any; None where all
        answers could be read, or a model was asked for all orders together.
    n_resamples, seed : int
        What `options` was given.
    asked : dict of str
        How the model was asked, as far as it tells: its bare address, settings, template, a hash of it; of existing
        runs their names.
    model, source, data_digest, version, created : str
        Who was asked what, a hash of it; what made the result, and when.

    Examples
    --------
    >>> import heldout
    >>> trees = [[f"{tree} {i}" for tree in ("oak", "ash", "elm")] for i in range(30)]
    >>> items = [{"question": f"Tree {i}?", "options": trees[i], "answer": i % 3} for i in range(30)]
    >>> result = heldout.options(items, lambda question, options: 0, n_resamples=99)
    >>> result.verdict, result.errors_printed, result.n_orders
    ('no dependence found', 20, 6)
    """

    unlisted = ("ruling", "draws", "draw_edges", "exhibits")
    derived = ("p_value", "verdict", ("reason", "ruling.reason"), "level", "alternative", "rests_on", "mid_p", "floor")
    told_by = "heldout.multiple_choice.summary:options_summary"
    tabled: ClassVar = {"items": "items", "left_out": "left_out_items"}

    ruling: Verdict
    p_values: PValues
    errors_printed: int
    errors_expected: float
    errors_spread: float
    errors_others: float
    draws: NDArray[np.int64]
    draw_edges: NDArray[np.float64]
    detectable: float
    n_items: int
    n_strata: int
    n_orders: int
    n_answers: int
    kind: str
    differences: dict[str, tuple[str, ...]]
    uniform: bool
    left_out: dict[str, int]
    left_out_items: tuple[LeftOut, ...]
    n_given: int
    positions: Positions
    sorted: tuple[SortedCheck, ...]
    repeat_rate: float
    n_repeated: int
    unparsed: int
    unparsed_printed: int
    refused: int
    items: tuple[ItemOrders, ...]
    n_first: int
    first_expected: float
    n_listed: int
    shortest_list: int
    fdr: float
    exhibits: tuple[Exhibit, ...]
    n_resamples: int
    seed: int
    asked: dict[str, str]
    model: str
    source: str
    data_digest: str
    version: str
    complete: UnreadAnswers | None = None
    created: str = field(default_factory=today)

    @property
    def p_value(self) -> float:
        """Of the test that was declared."""
        return self.ruling.p_value

    @property
    def level(self) -> float:
        """Of the verdict."""
        return self.ruling.level

    @property
    def verdict(self) -> str:
        """ "depends on the printed order", "no dependence found", "cannot tell" or "not applicable"."""
        return self.ruling.outcome

    @property
    def alternative(self) -> str:
        """ "overfitted" or "two-sided"."""
        return self.ruling.alternative

    @property
    def rests_on(self) -> str:
        """ "conditional" or "poisson_binomial"; "neither" where nothing is told."""
        return self.ruling.rests_on

    @property
    def floor(self) -> float:
        """Share of the items that are first which chance alone puts there; NaN where none is first."""
        return self.first_expected / self.n_first if self.n_first else math.nan

    @property
    def mid_p(self) -> bool:
        """Whether p is a mid-p, which is not valid."""
        return self.ruling.mid_p
