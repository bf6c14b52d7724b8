"""Words that several sections of the page share."""

from __future__ import annotations

import math

from heldout.independence.score_result import ScoreAuditResult
from heldout.report.numbers import NOT_DEFINED, PERCENT, p_text


def kind_text(result: ScoreAuditResult) -> str:
    """What the scores are."""
    return result.kind.replace("_", " ")


def references_text(result: ScoreAuditResult) -> str:
    """How many references, as part of a sentence."""
    k = len(result.leak.reference_names)
    return "the reference" if k == 1 else f"the {k} references"


def verdict_p_text(result: ScoreAuditResult) -> str:
    """The p-value that is held to the level."""
    return p_text(result.adjusted_p_value)


def level_text(result: ScoreAuditResult) -> str:
    """The level that p is held to."""
    several = f", shared by {result.planned_audits} planned audits" if result.planned_audits > 1 else ""
    return f"{result.level:g}{several}"


def leak_share_text(share: float) -> str:
    """A share of the test set, or that none is known.

    Examples
    --------
    >>> leak_share_text(0.0123), leak_share_text(1.0), leak_share_text(float("nan"))
    ('1.2\\xa0%', '100\\xa0%', 'not defined')
    """
    if math.isnan(share):
        return NOT_DEFINED
    return f"{100 * share:.2g}{PERCENT}" if share < 0.995 else f"100{PERCENT}"


def range_of_shares(result: ScoreAuditResult) -> str:
    """Smallest to largest share that would have been found."""
    known = [found.share for found in result.leak.detectable if not math.isnan(found.share)]
    if not known:
        return NOT_DEFINED
    ends = list(dict.fromkeys(leak_share_text(share) for share in (min(known), max(known))))
    return " to ".join(ends)
