"""The pages of audits."""

from __future__ import annotations

from collections.abc import Sequence

from heldout.independence.result import AuditResult
from heldout.pages.audit import summarise
from heldout.pages.audit.comparison import DEMO_PICTURES, comparison_rows, leak_sentence, references_sentence
from heldout.pages.audit.words import verdict_word
from heldout.pages.page import render


def audit_html(result: AuditResult, *, command: str | None = None, extra: Sequence[tuple[str, str]] = ()) -> str:
    """The report of one audit, the verdict first.

    Parameters
    ----------
    result : AuditResult
    command : str, optional
        What was typed to get it.
    extra : sequence of (name, text)
        More lines for "How this was made", such as where the data came from.

    Returns
    -------
    str
        HTML, the same bytes for the same arguments.
    """
    return render(
        "audit.html.j2",
        title=f"{verdict_word(result)}: {', '.join(result.model_names[:3])}",
        audits=[("", summarise(result))],
        comparison=None,
        command=command,
        extra=extra,
    )


def demo_html(
    results: dict[str, AuditResult], *, command: str | None = None, pictures: str | None = DEMO_PICTURES
) -> str:
    """The demo's audits on one page: the verdicts, what the `pictures` are, the comparison, each audit in full."""
    return render(
        "audit.html.j2",
        title="heldout demo: " + " and ".join(results),
        comparison={
            "names": list(results),
            "rows": comparison_rows(results),
            "leak": leak_sentence(results),
            "pictures": pictures,
            "references": references_sentence(results),
            "same": len({_setting(result) for result in results.values()}) == 1,
        },
        audits=[(name, summarise(result)) for name, result in results.items()],
        command=command,
        extra=(),
    )


def _setting(result: AuditResult) -> tuple[object, ...]:
    """What must be equal for two columns to be comparable."""
    return (
        result.data_digest, result.control_digest, len(result.test), result.orbit, result.rule, result.alternative,
        result.tolerance, result.seed,
    )  # fmt: skip
