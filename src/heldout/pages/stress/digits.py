"""What it brings to hold back digits."""

from __future__ import annotations

from typing import Any

from heldout.attack.result import StressResult
from heldout.pages.stress.compare import compare_view
from heldout.pages.stress.words import answers_text


def digits_view(result: StressResult) -> dict[str, Any] | None:
    """One curve a kind of answer; None where nothing was compared."""
    if not result.by_digits:
        return None
    return compare_view(result.by_digits, [answers_text(r) for r in result.by_digits], result.run, what="digits")
