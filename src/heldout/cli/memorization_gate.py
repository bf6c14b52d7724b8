"""The gate of `heldout memorization`: whether gaps between training and validation accuracy are small, and known."""

from __future__ import annotations

import argparse
import math

from heldout.cli.ending import Gate
from heldout.errors import InputError
from heldout.memorization.metrics import Estimate
from heldout.memorization.result import MemorizationResult
from heldout.memorization.summary.answer import LEVEL_TEXT
from heldout.summary import TURNS, names_text

GATE = Gate(
    option="--fail-over",
    metavar="G",
    help="exit 1 when a model's gap between training and validation accuracy exceeds G (0.1; needs --validation)",
    what="a gap in accuracy, from 0 to below 1",
    below=1,
)
SHOWN = 5  # models that a gate names


def check_fresh(args: argparse.Namespace, n: int) -> None:
    """Refuse a threshold that n validation examples could never be judged by, before any work."""
    if args.fail_over is not None and n < 2:
        raise InputError(
            f"--fail-over judges an accuracy on fresh examples, and one has no interval; {args.validation} holds {n}: "
            "give two at least."
        )


def reasons(fail_over: float | None, result: MemorizationResult) -> list[str]:
    """The models whose gap is larger, and those of which it is not known that it is not."""
    if fail_over is None:
        return []
    found = [
        f"{name}: the gap between training and validation accuracy {reason}"
        for name, model in result.measured.items()
        if (reason := _reason(fail_over, model.gap)) is not None
    ]
    left = len(found) - SHOWN
    return found if left <= 0 else [*found[:SHOWN], f"and {left:,} more models."]


def _reason(fail_over: float, gap: Estimate | None) -> str | None:
    """Why a gap does not pass; None where it does."""
    if gap is None:
        return f"was not measured, so that --fail-over {fail_over:g} cannot be judged."
    if math.isnan(gap.value):
        return f"is not defined ({str(gap.reason).rstrip('.')}), so that --fail-over {fail_over:g} cannot be judged."
    return f"is {gap}, more than --fail-over {fail_over:g}." if gap.value > fail_over else None


def close(fail_over: float | None, result: MemorizationResult) -> str | None:
    """That gaps lie so near the threshold that their intervals hold it, and no other one is surely larger."""
    if fail_over is None:
        return None
    gaps = {name: model.gap for name, model in result.measured.items()}
    near = [name for name, gap in gaps.items() if gap is not None and gap.low <= fail_over < gap.high]
    if not near or any(name not in near and _reason(fail_over, gap) is not None for name, gap in gaps.items()):
        return None
    whose = names_text(near, SHOWN).translate(TURNS)
    retrained = any(result.measured[name].gap_retrained for name in near)
    others = "other examples, or another training (another --seed)," if retrained else "other examples"
    return (
        f"The {LEVEL_TEXT} interval of the gap of {whose} holds --fail-over {fail_over:g}: {others} could decide "
        "otherwise."
    )
