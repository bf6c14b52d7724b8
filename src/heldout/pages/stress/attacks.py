"""One attack against another."""

from __future__ import annotations

from typing import Any

from heldout.attack.result import StressResult
from heldout.pages.stress.compare import compare_view


def attacks_view(result: StressResult) -> dict[str, Any] | None:
    """One curve an attack; None where nothing was compared."""
    if not result.by_attack:
        return None
    return compare_view(result.by_attack, [r.title for r in result.by_attack], result.run, what="attack")
