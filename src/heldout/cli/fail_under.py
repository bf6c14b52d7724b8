"""`--fail-under` of every audit."""

from __future__ import annotations

import argparse

from heldout.cli.common import EXIT_CHECK_FAILED, EXIT_FINE, say
from heldout.errors import InputError


def check_fail_under(args: argparse.Namespace, *, halves: int, has_control: bool) -> None:
    """Refuse a threshold that no result could fall below; the verdict is one p-value, or twice the smaller of two."""
    if args.fail_under is None:
        return
    if not 0 < args.fail_under < 1:
        raise InputError(f"--fail-under {args.fail_under}: give a p-value between 0 and 1.")
    smallest = halves * max(1, args.planned_audits) / (args.resamples + 1)
    if has_control and args.fail_under <= smallest:
        raise InputError(
            f"--fail-under {args.fail_under} can never be reached: with --resamples {args.resamples} no p against a "
            f"control, times {max(1, args.planned_audits)} planned audit(s), is below {smallest:.2g}. Use --resamples "
            f"{int(10 * halves * max(1, args.planned_audits) / args.fail_under)}, ten times the least that can reach "
            "it."
        )


def exit_code(args: argparse.Namespace, p_value: float, headline: str) -> int:
    """1, with a sentence, where the verdict's p (times the planned audits) is below `--fail-under`."""
    if args.fail_under is None or p_value >= args.fail_under:
        return EXIT_FINE
    times = f" (times {args.planned_audits} planned audits)" if args.planned_audits > 1 else ""
    say(f"heldout: p = {p_value:.3g}{times} is below --fail-under {args.fail_under}: {headline.lower()}.")
    return EXIT_CHECK_FAILED
