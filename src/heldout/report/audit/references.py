"""Against references: how sure the model is, less what they lead one to expect, and which pictures look seen."""

from __future__ import annotations

import math
from typing import Any

from heldout.independence.leak import WAYS, LeakEvidence
from heldout.independence.result import AuditResult, SeenPicture
from heldout.report.audit.exhibits import PICTURE_SIDE, class_text, picture_uri
from heldout.report.audit.words import names_text, side_text
from heldout.report.numbers import NOT_DEFINED, PERCENT, fixed, p_text, pair, percent
from heldout.report.residuals import residual_chart

FIRST_SEEN = 12


def references_view(result: AuditResult) -> dict[str, Any] | None:
    """The leak test, drawn and as a table; None without references."""
    leak = result.leak
    if leak is None:
        return None
    test, names = leak.test, leak.reference_names
    one = len(names) == 1
    rows = [
        {
            "name": name,
            "difference": fixed(found.difference, 4, sign=True),
            "interval": pair(found.interval, 4, sign=True) if found.standard_error > 0 else f"{NOT_DEFINED}: no spread",
            "two_sided": p_text(found.p_two_sided),
            "greater": p_text(found.p_greater),
        }
        for name, found in (("Mean of what is left", test.mean), ("Its upper tail", test.sparse))
    ]
    together = {"two_sided": p_text(test.p_two_sided), "greater": p_text(test.p_greater)}
    return {
        "names": names_text(names),
        "one": one,
        "averaged": result.n_models > 1,
        "removed": None if math.isnan(test.variance_removed) else percent(test.variance_removed, 0),
        "chart": residual_chart(leak, "margin less what the references lead one to expect"),
        "rows": rows,
        "together": together,
        "verdict": p_text(test.p_value),
        "side": side_text(result),
        "floor": f"{test.mean.n_resamples:,} permutations: no verdict below "
        f"{p_text(1 / (test.mean.n_resamples + 1))} is possible.",
        "detectable": [
            {
                "way": WAYS.get(found.pull, f"{100 * found.pull:g}{PERCENT} of the way"),
                "share": NOT_DEFINED if math.isnan(found.share) else f"{100 * found.share:.2g}{PERCENT}",
            }
            for found in leak.detectable
        ],
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
