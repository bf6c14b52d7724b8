"""How the number of classes changes what the answers give away."""

from __future__ import annotations

from typing import Any

from heldout.attack.result import StressResult, StressRun
from heldout.pages.stress.compare import compare_view


def classes_view(result: StressResult) -> dict[str, Any] | None:
    """One curve a number of classes, few classes first; None where nothing was compared."""
    runs = by_classes(result)
    if not runs:
        return None
    return compare_view(
        runs, [f"{r.n_classes:,} classes" for r in runs], result.run, what="number of classes", log=True
    )


def by_classes(result: StressResult) -> list[StressRun]:
    """The runs with other numbers of classes, few classes first."""
    return sorted(result.by_classes, key=lambda r: r.n_classes)
