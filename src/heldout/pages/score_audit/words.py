"""Words that several sections of the page share."""

from __future__ import annotations

from heldout.independence.leak_text import kind_text, range_of_shares
from heldout.independence.score_result import ScoreAuditResult
from heldout.pages import numbers
from heldout.pages.numbers import NOT_DEFINED, PERCENT, p_text


def kind_of(result: ScoreAuditResult) -> str:
    """What the scores are."""
    return kind_text(result.kind)


def references_text(result: ScoreAuditResult) -> str:
    """How many references, as part of a sentence."""
    k = len(result.leak.reference_names)
    return "the reference" if k == 1 else f"the {k} references"


def verdict_p_text(result: ScoreAuditResult) -> str:
    """The p-value that is held to the level."""
    return p_text(result.adjusted_p_value)


def level_text(result: ScoreAuditResult) -> str:
    """The level that p is held to."""
    return numbers.level_text(result.level, result.planned_audits)


def shares_text(result: ScoreAuditResult) -> str:
    """Smallest to largest share that would have been found."""
    return (range_of_shares(result.leak) or NOT_DEFINED).replace(" %", PERCENT)
