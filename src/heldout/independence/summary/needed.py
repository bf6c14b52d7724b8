"""What a forecast of an audit says: all of its sentences, once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heldout.groups import FEW
from heldout.independence.summary.leak import kind_text, moves_text, side_text, tied, way_text
from heldout.summary import Column, Row, Section, Summary, Table
from heldout.summary.numbers import NOT_DEFINED, PERCENT

if TYPE_CHECKING:
    from heldout.independence.needed import AuditNeeds

FEWEST = 50  # examples of a control from which a forecast is made


def notes_of(found: AuditNeeds) -> list[str]:
    """What a reader must know."""
    notes = []
    if found.two_halves:
        notes.append(
            "without references the verdict is twice the smaller of two p-values, of T and of the error rate; this is "
            "the error rate's half alone. With references (--reference) the audit compares margins, and finds more."
        )
    elif not found.reference_names:
        notes.append("references take off what makes some examples harder than others; with them less is needed.")
    if found.n_groups is not None and found.n_groups < FEW:
        notes.append(
            f"the control has only {found.n_groups} groups: the chances are too high below {FEW}, by up to 0.2 with "
            "20 groups."
        )
    return notes


def needed_summary(found: AuditNeeds) -> Summary:
    """The forecast as a summary."""
    groups = "" if found.n_groups is None else f" in {found.n_groups:,} groups"
    of = f" ({found.source})" if found.source else ""
    towards = "" if found.two_valued else " towards the 95 % quantile of the scores"
    within = "simulated audits of 100 to 2,000 examples found leaks as often to within 0.07."
    if found.n_groups is not None:
        within = "with groups it is rougher: simulated audits found leaks less often, by up to 0.1 with 30 groups."
    tables = (
        ("Chance to find it", [[_chance(p) for p in row] for row in found.power]),
        (f"Examples for a chance of {found.target:g}", [[_number(n) for n in row] for row in found.needed]),
    )
    return Summary(
        kind="Audit: forecast",
        headline=f"What leak an audit of {found.n_examples:,} test examples would find",
        sentences=(
            tied(f"a forecast from a control of {found.n_control:,}{groups} ({_compared(found)})."),
            tied(f"columns: {'how often' if found.two_valued else 'how far'} {moves_text(found.two_valued)}{towards}."),
        ),
        tone="neutral",
        subject=f"control of {found.n_control:,} examples{groups}{of}",
        sections=tuple(
            Section(title=title, printed=True, blocks=(_table(found, title, cells),)) for title, cells in tables
        ),
        warnings=tuple(found.notes),
        closing=(
            "Examples: of the test set, and as many of the control. All of this is a forecast from the control, by a "
            f"normal law; {within}",
        ),
        origin=(("heldout", found.version), ("Date", found.created)),
    )


def _compared(found: AuditNeeds) -> str:
    """What is compared, and at which level."""
    what, k = kind_text(found.kind), len(found.reference_names)
    if k:
        taken = found.variance_removed
        off = "" if math.isnan(taken) else f", {100 * taken:.0f} % of its variance off"
        what += f" less {k} reference{'s' * (k > 1)}{off}"
    shared = f" / {found.planned_audits} audits" if found.planned_audits > 1 else ""
    return f"{what}; level {found.level:g}{shared}, {side_text(found.alternative)}"


def _table(found: AuditNeeds, caption: str, cells: Sequence[Sequence[str]]) -> Table:
    """One row per share, one column per way."""
    ways = tuple(Column(name=tied(way_text(pull, found.two_valued))) for pull in found.pulls)
    return Table(
        caption=caption,
        columns=(Column(name="Seen, of the test set", align="left"), *ways),
        rows=tuple(Row(cells=(f"{100 * s:g}{PERCENT}", *row)) for s, row in zip(found.shares, cells, strict=True)),
        rows_printed=len(cells),
    )


def _chance(power: float) -> str:
    """
    Examples
    --------
    >>> _chance(0.123), _chance(0.999), _chance(math.nan)
    ('0.12', '0.99+', 'not defined')
    """
    if math.isnan(power):
        return NOT_DEFINED
    return "0.99+" if power > 0.99 else f"{power:.2f}"


def _number(n: int | None) -> str:
    """A number of examples, to three digits.

    Examples
    --------
    >>> _number(12345), _number(60), _number(12), _number(None)
    ('12,400', '60', 'under 50', 'no number')
    """
    if n is None:
        return "no number"
    if n < FEWEST:  # where a normal law says little
        return f"under {FEWEST}"
    digits = max(0, len(str(n)) - 3)
    return f"{-(-n // 10**digits) * 10**digits:,}"
