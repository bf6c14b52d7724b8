"""Several audits side by side, as plain text."""

from __future__ import annotations

import textwrap

from heldout.errors import InputError
from heldout.independence.result import AuditResult, pvalue_text
from heldout.pages.audit.words import effect_text, names_text, verdict_p_text, verdict_word
from heldout.pages.numbers import fixed, p_text, percent

NO_CONTROL, NO_REFERENCE = "no control", "no reference"
TERMINAL = 88  # characters
DEMO_PICTURES = (
    "These are Fashion-MNIST pictures, each turned by a random cyclic shift on a 32 x 32 torus, so that shifting is "
    "exactly neutral; ordinary pictures are not like this."
)
DEMO_LEAK = "leaked"


def comparison_rows(results: dict[str, AuditResult]) -> list[tuple[str, list[str]]]:
    """What is compared, and each audit's value."""
    if not results:
        raise InputError("`results` is empty; there is nothing to compare.")
    columns = [_column(result) for result in results.values()]
    if any(result.leak is not None for result in results.values()):
        for column, result in zip(columns, results.values(), strict=True):
            column["leak test p"] = _leak_text(result)
    return [(name, [column[name] for column in columns]) for name in columns[0]]


def _leak_text(result: AuditResult) -> str:
    """Its p, and against which references."""
    if result.leak is None:
        return NO_REFERENCE
    return f"{p_text(result.leak.p_value)}, against {names_text(result.reference_names, 2)}"


def _column(result: AuditResult) -> dict[str, str]:
    e, control = result.evidence, result.evidence.control
    return {
        "verdict": verdict_word(result),
        "verdict p": verdict_p_text(result),
        "test error": fixed(e.untouched_error),
        "control error": fixed(control.untouched_error) if control else NO_CONTROL,
        "adversarial error": fixed(e.adversarial_error),
        "adversarial estimate": fixed(e.adversarial_estimate),
        "mean T": fixed(e.statistic, 5, sign=True),
        "betting p": pvalue_text(e.log_p_values["betting"]),
        "Bernstein p": pvalue_text(e.log_p_values["bernstein"]),
        "control p (T)": p_text(control.statistic.p_value) if control else NO_CONTROL,
        "control p (error)": p_text(control.error_rate.p_value) if control else NO_CONTROL,
        "detectable effect": effect_text(result),
    }


def leak_sentence(results: dict[str, AuditResult]) -> str | None:
    """What the demo shows, in one sentence; None where the leaked model or its control is missing."""
    result = results.get(DEMO_LEAK)
    if result is None or result.evidence.control is None:
        return None
    finds = "the audit finds it" if result.outcome == "easier" else "the audit does not find it"
    return (
        f"{DEMO_LEAK} had the test set in its training data: {percent(result.evidence.untouched_error)} errors on the "
        f"test set, {percent(result.evidence.control.untouched_error)} on fresh pictures; {finds}."
    )


def references_sentence(results: dict[str, AuditResult]) -> str | None:
    """Whose verdict is the leak test's; None where nobody's is."""
    told = [
        f"{name} ({names_text(result.reference_names)})" for name, result in results.items() if result.leak is not None
    ]
    return f"With references the verdict is the leak test’s: {', '.join(told)}." if told else None


def comparison_table(results: dict[str, AuditResult], *, pictures: str | None = DEMO_PICTURES) -> str:
    """The demo's audits, one column a model, for a terminal; below, what the `pictures` are.

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
    if pictures:
        table += "\n\n" + textwrap.fill(pictures, TERMINAL)
    return table.replace("−", "-")  # a terminal may know ASCII only
