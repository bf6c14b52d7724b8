"""Days on which a model answered: answers of some orders from other days than the rest may be another model's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

DATE = "date"  # what differences between runs call it


def read_day(text: str) -> date | None:
    """A date such as 2026-03-01; None where the text is something else."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def far_apart(texts: Iterable[str]) -> tuple[str, ...]:
    """The first and the last day, where they are more than one day apart; what is not a day is not counted.

    Examples
    --------
    >>> far_apart(["2026-05-01", "", "2026-03-01"]), far_apart(["2026-03-01", "2026-03-02"])
    (('2026-03-01', '2026-05-01'), ())
    """
    days = [day for text in texts if (day := read_day(text)) is not None]
    first, last = min(days, default=date.min), max(days, default=date.min)
    return (first.isoformat(), last.isoformat()) if (last - first).days > 1 else ()
