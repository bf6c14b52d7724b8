"""What a comparison returns: frozen data, all of it computed by `compare` and `compare_all`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.frames import from_rows
from heldout.predictions.doubts import Doubt
from heldout.report import Result
from heldout.results import today
from heldout.statistics.confidence_sequence import ConfidenceSequence
from heldout.statistics.paired import is_told

Outcome = Literal["told apart", "not told apart", "order matters"]
Direction = Literal["first", "second"]
PAIR = (  # columns of a frame
    "first", "second", "score_first", "score_second", "difference", ("low", "interval.0"), ("high", "interval.1"),
    "p_value", "adjusted_p_value", "verdict", "better", "first_only", "second_only", "n_examples", "n_groups",
    "detectable_difference",
)  # fmt: skip
Basis = Literal["mcnemar", "scores", "groups", "sequence", "sequence of groups"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Which model is better, if that can be told, and which test says so."""

    outcome: Outcome  # "order matters" where a sequence found that no single difference holds throughout
    direction: Direction | None  # the better model; None unless they are told apart
    log_p_value: float  # Holm's where several pairs were compared
    level: float
    rests_on: Basis


def judge(
    log_p_value: float, difference: float, sequence: ConfidenceSequence | None, *, level: float, rests_on: Basis
) -> Verdict:
    """The verdict of one p-value.

    Examples
    --------
    >>> judge(math.log(0.01), -0.3, None, level=0.05, rests_on="mcnemar").direction
    'second'
    >>> judge(math.log(0.2), 0.3, None, level=0.05, rests_on="scores").outcome
    'not told apart'
    """
    upward, moved = (difference > 0, False) if sequence is None else (sequence.upward, sequence.moved)
    told = not moved and is_told(log_p_value, level)
    return Verdict(
        outcome="order matters" if moved else "told apart" if told else "not told apart",
        direction=("first" if upward else "second") if told else None,
        log_p_value=log_p_value,
        level=level,
        rests_on=rests_on,
    )


@dataclass(frozen=True, kw_only=True)
class Parted:
    """A discordant example: one on which the scores of two models differ."""

    position: int
    id: str | None
    first: float  # score of the first model
    second: float
    label: str | None = None
    first_answer: str | None = None
    second_answer: str | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareResult(Result):
    """Two models on the examples that both have.

    Its tables (`to_frame`) are "pairs", here one row, and "examples", those on which the models part (`parted`).

    Parameters
    ----------
    first, second : str
        The two models.
    score_first, score_second : float
        Their mean scores.
    difference : float
        Mean score of the first less that of the second, over examples; with a sequence over groups, over groups.
    log_p_value : float
        Of "equally good", two-sided, of this pair alone. With a sequence: valid at every look.
    interval, interval_level : (float, float), float
        Of the difference, at 1 - `interval_level`, within [-1, 1]. Zero is outside exactly where p is at most
        `interval_level`. NaN where a sequence found that the difference moved with the order.
    ruling : Verdict
        The verdict as data, at `level`.
    n_pairs : int
        Pairs that were compared at once; the verdict then goes by Holm's p, and `interval_level` is
        level / n_pairs, so that all intervals hold at once.
    n_examples, n_missing : int
        Examples that both have, and those that one of them lacks.
    binary : bool
        Right or wrong, not scores.
    first_only, second_only : int
        Examples on which the first, the second has the higher score.
    detectable_difference : float
        True difference that would have been found with probability 0.8; NaN where none would.
    discordant : (m,) int, or None
        Positions of the examples on which the scores differ; None where several pairs were compared.
    parted : tuple of Parted
        Some of them: the largest differences, those in favour of the first model before those of the second.
    p_value_sign_flips : float
        By flipping signs of differences at random, for scores and groups; beside the verdict, since it holds only where
        the differences of equal models are symmetric. NaN for right or wrong (where it is McNemar's), for sequences,
        and where several pairs were compared.
    n_groups, groups_named : int or None, str or None
        Groups of examples, where they are the unit, and what told them. Named ones of one example each leave examples
        the unit: `n_groups` is then None.
    largest_group, largest_drawn : int or None
        Examples that a group can have at most, as stated, and those of the largest group here.
    sequence : ConfidenceSequence or None
        What could be said at every look, where it was asked for.
    n_waiting : int
        Examples at the end of a sequence that do not count yet: more of their group may come.
    scored_by : str or None
        The metric and filter, the scorer or the column, where the files had a choice.
    source, data_digest, version, created : str
        What came in, a hash of it; what made the result, and when.
    doubts : tuple of Doubt
        Of the two, where they may have been misread: never right, or with predictions that are a label but for their
        spelling. Of several pairs, those of all models are in `CompareAllResult`.

    Examples
    --------
    >>> from heldout import compare
    >>> result = compare([[1] * 60 + [0] * 30 + [1] * 410, [0] * 60 + [1] * 30 + [1] * 410])
    >>> result.verdict, result.difference, result.n_discordant
    ('first better', 0.06, 90)
    """

    told_by = "heldout.reuse.compare_summary:pair_summary"
    unlisted = ("ruling", "binary", "groups_named", "sequence", "discordant", "parted")
    derived = (
        "p_value", "adjusted_p_value", "level", "n_discordant", "verdict", "ruling.outcome", "ruling.direction",
        "better", "test", "null", "groups_of_one", ("sequence", "_looks"), ("examples", "_examples"),
    )  # fmt: skip

    tabled: ClassVar = {"pairs": ("", PAIR), "examples": "_parted"}

    first: str
    second: str
    score_first: float
    score_second: float
    difference: float
    log_p_value: float
    interval: tuple[float, float]
    interval_level: float
    ruling: Verdict
    n_pairs: int
    n_examples: int
    n_missing: int
    first_only: int
    second_only: int
    detectable_difference: float
    p_value_sign_flips: float
    binary: bool
    n_groups: int | None
    groups_named: str | None
    n_waiting: int
    sequence: ConfidenceSequence | None
    discordant: NDArray[np.int64] | None
    parted: tuple[Parted, ...]
    source: str
    data_digest: str
    version: str
    largest_group: int | None = None
    largest_drawn: int | None = None
    scored_by: str | None = None
    doubts: tuple[Doubt, ...] = ()
    created: str = field(default_factory=today)

    @property
    def p_value(self) -> float:
        """Of this pair alone."""
        return math.exp(self.log_p_value)

    @property
    def adjusted_p_value(self) -> float:
        """Holm's, over all pairs that were compared at once; the same as `p_value` for one pair."""
        return math.exp(self.ruling.log_p_value)

    @property
    def level(self) -> float:
        """At which the verdict is given."""
        return self.ruling.level

    @property
    def n_discordant(self) -> int:
        """Examples on which the scores differ."""
        return self.first_only + self.second_only

    @property
    def verdict(self) -> str:
        """ "first better", "second better", "not told apart" or "order matters"."""
        return self.ruling.outcome if self.ruling.direction is None else f"{self.ruling.direction} better"

    def judged(self, log_p_value: float, level: float) -> Verdict:
        """The verdict that another p-value or level would give.

        Parameters
        ----------
        log_p_value : float
            Natural logarithm of the p-value to go by.
        level : float
            Between 0 and 1.

        Returns
        -------
        Verdict
            Outcome, direction, and what it rests on.
        """
        return judge(log_p_value, self.difference, self.sequence, level=level, rests_on=self.ruling.rests_on)

    @property
    def better(self) -> str | None:
        """Name of the better model; None where they are not told apart."""
        return {"first": self.first, "second": self.second, None: None}[self.ruling.direction]

    @property
    def test(self) -> str:
        """The name of the test."""
        from heldout.reuse.compare_summary import TESTS

        return TESTS[self.ruling.rests_on]

    @property
    def null(self) -> str:
        """What was tested."""
        from heldout.reuse.compare_summary import null_text

        return null_text(self)

    @property
    def groups_of_one(self) -> str | None:
        """What told groups, where each holds one example."""
        return self.groups_named if self.n_groups is None else None

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.n_groups is None else "groups"

    @property
    def _looks(self) -> dict[str, Any] | None:
        if (s := self.sequence) is None:
            return None
        curve = {"looks": s.looks, "means": s.means, "low": s.low, "high": s.high}
        return {**curve, "first_look_without_zero": s.first, "level": s.level}

    @property
    def _examples(self) -> list[dict[str, Any]]:
        return [{name: value for name, value in vars(row).items() if value is not None} for row in self.parted]

    @property
    def _parted(self) -> dict[str, list[Any]]:
        rows = [vars(example) for example in self.parted]
        return from_rows(rows, [column.name for column in fields(Parted)])  # all columns where there are no rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareAllResult(Result):
    """Several pairs at once, their p-values adjusted by Holm, their intervals valid at once (Bonferroni).

    Its table (`to_frame`) is "pairs", one row per pair, in the order given.

    Attributes
    ----------
    pairs : tuple of CompareResult
        In the order of the models; `result[0]` is the first.
    skipped : tuple of (str, str)
        Pairs that share too little: fewer than two examples, or only one group.
    doubts : tuple of Doubt
        Models that may have been misread.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import compare_all
    >>> result = compare_all(np.random.default_rng(0).random((3, 400)) < [[0.9], [0.7], [0.7]])
    >>> len(result.pairs), result.n_told_apart, result.pairs[0].better
    (3, 2, 'model 0')
    """

    told_by = "heldout.reuse.compare_summary:all_summary"
    unlisted = ("pairs",)
    derived = (
        "n_pairs", "n_told_apart", "one.level", "adjusted", "one.null", "one.groups_of_one", "one.scored_by",
        "one.source", "one.data_digest", "one.version", "one.created", ("pairs", "_pairs"),
    )  # fmt: skip
    tabled: ClassVar = {"pairs": ("pairs", PAIR)}
    adjusted: ClassVar[str] = "holm"

    pairs: tuple[CompareResult, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def one(self) -> CompareResult:
        """The first pair, which stands for what all have in common."""
        return self.pairs[0]

    @property
    def n_pairs(self) -> int:
        """Pairs that were compared."""
        return len(self.pairs)

    @property
    def n_told_apart(self) -> int:
        """Pairs of which one is better, family-wise."""
        return sum(pair.better is not None for pair in self.pairs)

    @property
    def _pairs(self) -> list[dict[str, Any]]:
        """In the order given, without what they share and their lists of examples."""
        left = ("null", "scored_by", "source", "data_digest", "version", "created", "examples", "sequence", "doubts")
        return [{k: v for k, v in pair.to_dict().items() if k not in left} for pair in self.pairs]
