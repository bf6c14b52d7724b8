"""The verdict as data, and what results that have one share; the summaries put it into words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heldout.independence.leak import LeakEvidence
from heldout.report import Result

# easier, harder: than the control; on a finite group of moves without a control, as given than in the other views.
# rejected: independence or neutral shifts; without a control nobody knows which.
Outcome = Literal["no evidence", "easier", "harder", "rejected"]
Direction = Literal["easier", "harder"]
Basis = Literal["betting", "orbit", "T and error rate", "references", "scores"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the numbers allow to be said, and which test it rests on."""

    outcome: Outcome
    direction: Direction | None  # of the test set as it stands; None where nothing was found
    log_p_value: float  # held to the level: times the planned audits (Bonferroni)
    level: float
    rests_on: Basis  # declared before the data, by what the audit was given

    @property
    def found(self) -> bool:
        """Whether p is at or below the level."""
        return self.outcome != "no evidence"


def judge(log_p_value: float, difference: float, *, level: float, rests_on: Basis) -> Verdict:
    """The verdict of one p-value; `difference` is positive where the test set, as it stands, looks too easy.

    Examples
    --------
    >>> judge(math.log(0.01), 0.3, level=0.05, rests_on="references").outcome
    'easier'
    >>> judge(math.log(0.01), -0.3, level=0.05, rests_on="betting").outcome
    'rejected'
    >>> judge(math.log(0.2), -0.3, level=0.05, rests_on="scores").outcome
    'no evidence'
    """
    outcome: Outcome = "no evidence"
    direction: Direction | None = None
    if log_p_value <= math.log(level) + 1e-12:
        direction = "easier" if difference > 0 else "harder"
        outcome = "rejected" if rests_on == "betting" else direction
    return Verdict(outcome=outcome, direction=direction, log_p_value=log_p_value, level=level, rests_on=rests_on)


class JudgedResult(Result):
    """What audits of pictures and of scores have in common: a verdict, perhaps by comparison with references."""

    if TYPE_CHECKING:  # a field of the one, a property of the other

        @property
        def ruling(self) -> Verdict:
            """The verdict as data."""

        @property
        def leak(self) -> LeakEvidence | None:
            """The comparison with references, where there are any."""

    @property
    def outcome(self) -> Outcome:
        """ "no evidence"; "easier" or "harder" than the control, or, on a finite group of moves without a control, as
        given than in other views; "rejected" without either."""
        return self.ruling.outcome

    @property
    def direction(self) -> Direction | None:
        """Whether the test set looks too easy or too hard, where something was found."""
        return self.ruling.direction

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the models that the audited ones were compared with."""
        return () if self.leak is None else self.leak.reference_names

    @property
    def verdict(self) -> str:
        """In plain words."""
        from heldout.independence.summary.words import titled

        return titled(self.ruling, self.summary().sentences[0])

    @property
    def notes(self) -> list[str]:
        """What a reader must know before trusting a number."""
        return [*self.summary().warnings]
