"""What a report says about one audit, as plain data; the template only lays it out. One module a section."""

from __future__ import annotations

from typing import Any

from heldout.independence.result import AuditResult
from heldout.pages.audit.control import control_view
from heldout.pages.audit.curve import curve_view
from heldout.pages.audit.errors import errors_view
from heldout.pages.audit.exhibits import exhibits_view
from heldout.pages.audit.meaning import means, next_steps, not_means
from heldout.pages.audit.models import groups_view, models_view
from heldout.pages.audit.origin import facts_view, origin_view
from heldout.pages.audit.p_values import p_values_view, variance_view
from heldout.pages.audit.references import references_view
from heldout.pages.audit.statistics import statistics_view
from heldout.pages.audit.verdict import verdict_view

__all__ = ["summarise"]


def summarise(result: AuditResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "verdict": verdict_view(result),
        "facts": facts_view(result),
        "errors": errors_view(result),
        "references": references_view(result),
        "control": control_view(result),
        "curve": curve_view(result),
        "exhibits": exhibits_view(result),
        "statistics": statistics_view(result),
        "groups": groups_view(result),
        "models": models_view(result),
        "variance": variance_view(result),
        "p_values": p_values_view(result),
        "means": means(result),
        "not_means": not_means(result),
        "next": next_steps(result),
        "origin": origin_view(result),
    }
