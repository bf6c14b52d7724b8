"""What went in, and how this was made."""

from __future__ import annotations

from heldout.independence.score_result import ScoreAuditResult
from heldout.pages.score_audit.words import kind_of


def facts_view(result: ScoreAuditResult) -> list[tuple[str, str]]:
    """What was audited, a line for each fact."""
    test, names, n_control = result.leak.test, result.leak.reference_names, len(result.values_control)
    side = "better" if result.larger_is_better else "worse"
    facts = [
        ("Model", result.model_name),
        ("Scores", f"{kind_of(result)}, larger is {side}; {result.clipping}"),
        ("Test set", f"n = {result.n_examples:,}{_groups(test.mean.n_groups_test)}, {result.sources[0]}"),
        ("Control", f"{n_control:,} examples{_groups(test.mean.n_groups_control)}, {result.sources[1]}"),
        ("References", ", ".join(names) if names else "none"),
        ("Compared within", result.strata or ""),
        ("Alternative", "a test set that is too easy only (one-sided), declared beforehand"
         if test.alternative == "greater" else "two-sided"),
    ]  # fmt: skip
    return [(name, text) for name, text in facts if text]


def _groups(count: int | None) -> str:
    return "" if count is None else f" in {count:,} groups, each counted once"


def origin_view(result: ScoreAuditResult) -> list[tuple[str, str]]:
    """What made the result."""
    return [
        ("heldout", result.version),
        ("Seed", str(result.seed)),
        ("Digest of test scores", result.digests[0]),
        ("Digest of control scores", result.digests[1]),
    ]
