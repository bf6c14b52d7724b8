"""One self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from heldout.independence.result import AuditResult
from heldout.report import svg
from heldout.report.comparison import DEMO_PICTURES, comparison_rows, leak_sentence
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


def demo_html(
    results: dict[str, AuditResult], *, command: str | None = None, pictures: str | None = DEMO_PICTURES
) -> str:
    """The demo's audits on one page: the verdicts, what the `pictures` are, the comparison, each audit in full."""
    return _render(
        title="heldout demo: " + " and ".join(results),
        comparison={
            "names": list(results),
            "rows": comparison_rows(results),
            "leak": leak_sentence(results),
            "pictures": pictures,
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
        """Text in which `backticks` mark what is typed; an --option is typed in any case."""
        parts = re.split(r"`(.*?)`|(?<![\w-])(--[a-z][a-z-]*[a-z])", text)
        typed = [Markup("<code>{}</code>").format(a or b) for a, b in zip(parts[1::3], parts[2::3], strict=True)]
        return Markup("").join(
            piece
            for plain, code in zip(parts[::3], [*typed, Markup("")], strict=True)
            for piece in (escape(plain), code)
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
