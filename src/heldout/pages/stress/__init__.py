"""What a report says about one stress test, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.attack.result import StressResult
from heldout.pages.stress.answer import answer_view
from heldout.pages.stress.attacks import attacks_view
from heldout.pages.stress.classes import classes_view
from heldout.pages.stress.curve import curve_view
from heldout.pages.stress.digits import digits_view
from heldout.pages.stress.facts import facts_view, not_computed, origin_view
from heldout.pages.stress.meaning import means, next_steps, not_means
from heldout.pages.stress.public import public_view
from heldout.pages.stress.theory import bounds_view, reach_view, regime_view

__all__ = ["summarise"]


def summarise(result: StressResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "answer": answer_view(result),
        "means": means(result),
        "not_means": not_means(result),
        "next": next_steps(result),
        "curve": curve_view(result),
        "public": public_view(result),
        "classes": classes_view(result),
        "attacks": attacks_view(result),
        "digits": digits_view(result),
        "reach": reach_view(result),
        "bounds": bounds_view(result),
        "regime": regime_view(result),
        "prior": result.prior is not None,
        "facts": facts_view(result),
        "notes": list(result.run.notes),
        "not_computed": not_computed(result),
        "origin": origin_view(result),
    }
