"""One self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heldout.independence.result import AuditResult
from heldout.report import svg
from heldout.report.comparison import comparison_rows
from heldout.report.numbers import verdict_word
from heldout.report.summary import summarise


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
    return _render(
        title=f"{verdict_word(result)}: {', '.join(result.model_names[:3])}",
        audits=[("", summarise(result))],
        comparison=None,
        command=command,
        extra=extra,
    )


def demo_html(results: dict[str, AuditResult], *, command: str | None = None) -> str:
    """Several audits on one page: the comparison first, then each audit in full."""
    return _render(
        title="heldout demo: " + " and ".join(results),
        comparison={
            "names": list(results),
            "rows": comparison_rows(results),
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


def _render(**values: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def drawing(text: str) -> Markup:
        """SVG made by `heldout.report.svg`, which escapes its own texts."""
        return Markup(text)

    def prose(text: str) -> Markup:
        """Text in which `backticks` mark what is typed."""
        parts = [escape(part) for part in text.split("`")]
        return Markup("").join(
            Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
        )

    environment = Environment(
        loader=PackageLoader("heldout.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"drawing": drawing, "prose": prose}
    page = environment.get_template("audit.html.j2").render(chart_style=Markup(svg.STYLE), **values)
    # A file name that is not valid Unicode is an id like any other, but no UTF-8.
    return page.lstrip().encode("utf-8", "backslashreplace").decode("utf-8")
