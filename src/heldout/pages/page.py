"""Data to one self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from heldout.pages import svg


def render(template: str, **values: Any) -> str:
    """Fill a template of this package; the same bytes for the same values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def drawing(text: str) -> Markup:
        """SVG made by `heldout.pages.svg`, which escapes its own texts."""
        return Markup(text)

    def symbols(text: str) -> Markup:
        """Text with k_S, k_PTV and k_max as they are printed."""
        return Markup(re.sub(r"\bk_(S|PTV|max)\b", r"k<sub>\1</sub>", str(escape(text))))

    def prose(text: str) -> Markup:
        """Text in which `backticks` mark what is typed; an --option is typed in any case."""
        parts = re.split(r"`(.*?)`|(?<![\w-])(--[a-z][a-z-]*[a-z])", text)
        typed = [Markup("<code>{}</code>").format(a or b) for a, b in zip(parts[1::3], parts[2::3], strict=True)]
        return Markup("").join(
            piece
            for plain, code in zip(parts[::3], [*typed, Markup("")], strict=True)
            for piece in (symbols(plain), code)
        )

    environment = Environment(
        loader=PackageLoader("heldout.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"drawing": drawing, "prose": prose, "symbols": symbols}
    page = environment.get_template(template).render(chart_style=Markup(svg.STYLE), **values)
    # A file name that is not valid Unicode is an id like any other, but no UTF-8.
    return page.lstrip().encode("utf-8", "backslashreplace").decode("utf-8")
