"""What tests of pages share: a parser that checks nesting, and what every page must keep to."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

VOID = {"meta", "img", "br"}
LIMIT = 3_000_000


class Page(HTMLParser):
    """Checks nesting while it reads; keeps what is needed to judge a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.headings: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.headings.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "title" in self.open:
            return
        self.text += data
        if self.open and re.fullmatch(r"h\d", self.open[-1]):
            self.headings[-1] += data


def plain_spaces(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", Page(html).text)


def check_self_contained(html: str) -> Page:
    """No script, nothing from elsewhere, no id twice, a text for every picture."""
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form"), tag
        assert not any(name.startswith("on") for name in attributes), attributes
        for name in ("src", "srcset", "data", "poster", "action", "xlink:href", "background"):
            assert (attributes.get(name) or "data:image/png;base64,").startswith("data:image/png;base64,")
        if "href" in attributes:
            assert tag == "a"
            assert str(attributes["href"]).startswith(("https://arxiv.org/abs/", "#"))
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert len(html.encode()) < LIMIT
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {str(a["aria-labelledby"]) for _, a in page.tags if "aria-labelledby" in a} <= set(ids)
    assert {str(a["href"])[1:] for _, a in page.tags if str(a.get("href")).startswith("#")} <= set(ids)
    assert all(a.get("alt") for tag, a in page.tags if tag == "img")
    assert all(a.get("aria-label") for tag, a in page.tags if tag == "svg" and "class" in a)
    return page


def check_drawings(html: str) -> list[ET.Element]:
    """Every drawing is well formed, stands inside its sheet, and holds no NaN; hovering tells something."""
    starts = html.split('<svg class="')[1:]  # a drawing may hold another sheet, which has no class
    drawings = [ET.fromstring(f'<svg class="{start[: start.rindex("</svg>")]}</svg>') for start in starts]
    for root in drawings:
        _, _, width, height = (float(v) for v in root.attrib["viewBox"].split())
        for element in root.iter():
            for name, extent in (("x", width), ("y", height), ("cx", width), ("cy", height)):
                if name in element.attrib:
                    assert -1 <= float(element.attrib[name]) <= extent + 1, ET.tostring(element)
            assert "nan" not in re.sub(r">[^<]*<", "><", ET.tostring(element, encoding="unicode")).lower()
    assert any(element.tag == "title" for root in drawings for element in root.iter())
    return drawings
