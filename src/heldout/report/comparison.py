"""Several audits side by side, as plain text."""

from __future__ import annotations

from heldout.errors import InputError
from heldout.independence.result import AuditResult, pvalue_text
from heldout.report.numbers import effect_text, fixed, p_text, verdict_word

NO_CONTROL = "no control"


def comparison_rows(results: dict[str, AuditResult]) -> list[tuple[str, list[str]]]:
    """What is compared, and each audit's value."""
    if not results:
        raise InputError("`results` is empty; there is nothing to compare.")
    columns = [_column(result) for result in results.values()]
    return [(name, [column[name] for column in columns]) for name in columns[0]]


def _column(result: AuditResult) -> dict[str, str]:
    e, control = result.evidence, result.evidence.control
    against = result.control
    return {
        "test error": fixed(e.test_error),
        "control error": fixed(float(against.losses.mean())) if against is not None else NO_CONTROL,
        "adversarial error": fixed(e.adversarial_error),
        "adversarial estimate": fixed(e.adversarial_estimate),
        "mean T": fixed(e.statistic, 5, sign=True),
        "betting p": pvalue_text(e.log_p_values["betting"]),
        "Bernstein p": pvalue_text(e.log_p_values["bernstein"]),
        "control p (T)": p_text(control.statistic.p_value) if control else NO_CONTROL,
        "control p (error)": p_text(control.error_rate.p_value) if control else NO_CONTROL,
        "verdict p": pvalue_text(e.log_p_value),
        "detectable effect": effect_text(result),
        "verdict": verdict_word(result),
    }


def comparison_table(results: dict[str, AuditResult]) -> str:
    """One column a model, for a terminal.

    Examples
    --------
    >>> comparison_table({})
    Traceback (most recent call last):
    ...
    heldout.errors.InputError: `results` is empty; there is nothing to compare.
    """
    rows = [("", list(results)), *comparison_rows(results)]
    first = max(len(name) for name, _ in rows)
    widths = [max(len(values[i]) for _, values in rows) for i in range(len(results))]
    table = "\n".join(
        "  ".join([name.ljust(first), *(v.rjust(w) for v, w in zip(values, widths, strict=True))]).rstrip()
        for name, values in rows
    )
    return table.replace("−", "-")  # a terminal may know ASCII only
