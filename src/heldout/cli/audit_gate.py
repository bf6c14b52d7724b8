"""`--fail-under` of every audit."""

from __future__ import annotations

import argparse

from heldout.cli.ending import Gate
from heldout.independence.gate import check_threshold, fails
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.summary.seeds import audit_seeds_text

GATE = Gate(
    option="--fail-under",
    metavar="P",
    help="exit 1 when the verdict's p (times --planned-audits) is below P; per audit, not per pipeline, without "
    "--planned-audits",
    what="a p-value between 0 and 1",
    below=1,
    open=True,
)


def check_gate(args: argparse.Namespace, *, halves: int, has_control: bool) -> None:
    """Refuse a threshold that no result could fall below; the verdict is one p-value, or twice the smaller of two."""
    GATE.check(args)
    if args.fail_under is not None:
        check_threshold(
            args.fail_under,
            n_resamples=args.resamples,
            planned_audits=args.planned_audits,
            halves=halves,
            has_control=has_control,
        )


def reasons(args: argparse.Namespace, p_value: float, result: AuditResult | ScoreAuditResult) -> list[str]:
    """Why a pipeline stops: the verdict's p (times the planned audits) is below `--fail-under`."""
    if args.fail_under is None or not fails(p_value, args.fail_under):
        return []
    times = f" (times {args.planned_audits} planned audits)" if args.planned_audits > 1 else ""
    found = f": {result.summary().headline.lower()}" if result.ruling.found else ""
    return [f"p = {p_value:.3g}{times} is below --fail-under {args.fail_under}{found}."]


def close(args: argparse.Namespace, result: AuditResult | ScoreAuditResult) -> str | None:
    """That another seed could have put p on the other side of `--fail-under`."""
    return None if args.fail_under is None else audit_seeds_text(result, args.fail_under / args.planned_audits)
