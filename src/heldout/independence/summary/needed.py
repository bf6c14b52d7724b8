"""What a forecast of an audit says: all of its sentences, once."""

from __future__ import annotations

from heldout import summary as page
from heldout.independence.needed import FEWEST, AuditNeeds
from heldout.independence.summary import words


def _notes(found: AuditNeeds) -> list[str]:
    """What a reader must know."""
    told = page.that_hold(
        (found.two_halves, "Without references the verdict is twice the smaller of two p-values, of T and of the error "
                           "rate; this is the error rate's half alone. With references (--reference) the audit "
                           "compares margins, and finds more."),
        (not found.two_halves and not found.reference_names, "References take off what makes some examples harder than "
                                                             "others; with them less is needed."),
    )  # fmt: skip
    limited = words.limited(found.n_control, found.n_available or found.n_control, "pictures of the control")
    few = page.few_groups(found.n_groups, "the control", "the chances are too high, by up to 0.2 with 20 groups")
    return [*told, *few, *limited]


def needed_summary(found: AuditNeeds) -> page.Summary:
    """The forecast as a summary."""
    groups, k = words.groups_text(found.n_groups), len(found.reference_names)
    less = f" less {page.counted(k, 'reference')}, {page.percent(found.variance_removed, 0)} of the variance off"
    percents = [f"{100 * share:g}{page.PERCENT}" for share in found.shares]
    columns = ("Seen, of the test set", *(f"{100 * pull:g}{page.PERCENT}" for pull in found.pulls))
    tables = {
        "Chance to find it": [map(_chance, row) for row in found.power],
        f"Examples for a chance of {found.target:g}": [map(_number, row) for row in found.needed],
    }
    return page.Summary(
        kind="Audit: forecast",
        headline=f"What leak an audit of {found.n_examples:,} test examples would find",
        sentences=(
            f"A forecast from a control of {found.n_control:,}{groups} ({words.kind_text(found.kind)}"
            f"{less if k else ''}; level {words.level_text(found)}; {words.side_text(found.alternative)}).",
            f"Columns: {words.moves_text(found.two_valued)}.",
        ),
        tone="neutral",
        subject=f"control of {found.n_control:,} examples{groups}"
        + (f" ({words.source_text(found.source)})" if found.source else ""),
        sections=tuple(
            page.Section.of(title, page.Table.of(title, columns, named, rows_printed=len(named)), printed=True)
            for title, rows in tables.items()
            for named in [[(name, *row) for name, row in zip(percents, rows, strict=True)]]
        ),
        warnings=tuple(_notes(found)),
        closing=(
            "Examples: of the test set, and as many of the control. All of this is a forecast from the control, by a "
            "normal law; simulated audits of 100 to 2,000 examples found leaks as often to within 0.07, with groups "
            "less often, by up to 0.1 with 30 groups.",
        ),
        origin=page.origin(found),
    )


def _chance(power: float) -> str:
    """
    Examples
    --------
    >>> _chance(0.123), _chance(0.999), _chance(float("nan"))
    ('0.12', '0.99+', 'not defined')
    """
    return "0.99+" if power > 0.99 else page.fixed(power, 2)


def _number(n: int | None) -> str:
    """A number of examples, to three digits.

    Examples
    --------
    >>> _number(12345), _number(60), _number(12), _number(None)
    ('12,400', '60', 'under 50', 'no number')
    """
    if n is None:
        return "no number"
    digits = max(0, len(str(n)) - 3)
    # Under so few a normal law says little.
    return f"{-(-n // 10**digits) * 10**digits:,}" if n >= FEWEST else f"under {FEWEST}"
