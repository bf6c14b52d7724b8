"""Against references: how sure the model is, less what they lead one to expect, and which pictures look seen."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.leak import LeakEvidence
from heldout.independence.result import AuditResult, SeenPicture
from heldout.pages.audit.exhibits import PICTURE_SIDE, class_text, picture_uri
from heldout.pages.audit.words import names_text, side_text
from heldout.pages.leak import detectable_view, residual_chart, statistics_view
from heldout.pages.numbers import NOT_DEFINED, PERCENT, fixed, p_text, percent

FIRST_SEEN = 12


def references_view(result: AuditResult) -> dict[str, Any] | None:
    """The leak test, drawn and as a table; None without references."""
    leak = result.leak
    if leak is None:
        return None
    names, taken = leak.reference_names, leak.test.variance_removed
    groups = "" if leak.test.mean.n_groups_test is None else " of whole groups,"
    return {
        "names": names_text(names),
        "one": len(names) == 1,
        "averaged": result.n_models > 1,
        "removed": None if math.isnan(taken) else percent(taken, 0),
        "chart": residual_chart(leak, "margin less what the references lead one to expect"),
        **statistics_view(leak, permuted=f"{groups} within class"),
        "beside": side_text(result),
        "detectable": detectable_view(leak),
        "seen": _seen_view(result, leak),
    }


def _seen_view(result: AuditResult, leak: LeakEvidence) -> dict[str, Any]:
    seen = leak.seen
    items = [_seen_picture(x, result.class_names) for x in result.seen_pictures]
    groups = seen.n_groups_listed is not None
    return {
        "q": f"{100 * seen.q:g}{PERCENT}",
        "listed": f"{seen.n_listed:,}" if seen.n_listed else None,
        "units": "groups" if groups else "pictures",
        "n_groups": f"{seen.n_groups_listed:,}" if groups and seen.n_listed else None,
        "n_compared": f"{seen.n_compared:,}",
        "floor": NOT_DEFINED if math.isnan(seen.floor) else p_text(seen.floor),
        "within": " of its class" if seen.within_class else "",
        "fewest": None if seen.fewest is None else f"{seen.fewest:,}",
        "shown": len(items),
        "first": items[:FIRST_SEEN],
        "more": items[FIRST_SEEN:],
    }


def _seen_picture(seen: SeenPicture, names: tuple[str, ...] | None) -> dict[str, Any]:
    return {
        "id": seen.id,
        "label": class_text(seen.label, names),
        "margin": fixed(seen.margin, 1, sign=True),
        "expected": fixed(seen.expected, 1, sign=True),
        "p": p_text(seen.p_value),
        "picture": picture_uri(seen.picture),
        "small": max(seen.picture.shape[:2]) < PICTURE_SIDE,
    }
