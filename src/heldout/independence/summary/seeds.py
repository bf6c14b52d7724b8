"""What pages and gates say where another seed could decide an audit otherwise."""

from __future__ import annotations

from heldout import summary as page
from heldout.independence.gate import moved_by_seed
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.statistics.betting import Capital


def audit_seeds_text(result: AuditResult | ScoreAuditResult, level: float) -> str | None:
    """That another seed could put the verdict's p, times no planned audits, on the other side of a level."""
    moved = moved_by_seed(result, level)
    if isinstance(moved, Capital):
        return page.capital_moves_text(moved.share, moved.error, level)
    return None if moved is None else f"{page.p_moves_text(moved, level)} More --resamples decide it."
