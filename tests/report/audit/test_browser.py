"""The report in a real browser: it fits a phone, draws something, and follows the reader's light or dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heldout.independence.result import AuditResult
from heldout.pages import audit_html, demo_html
from tests.report.browser import PHONE, chromium, look, needs_chromium

pytestmark = needs_chromium


@pytest.mark.parametrize("name", ["leaked", "many", "hostile", "perfect", "seen"])
def test_fits_a_phone(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: AuditResult = request.getfixturevalue(name)
    found = look(audit_html(result, command="heldout audit " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == PHONE
    assert found["scroll"] == PHONE
    assert found["wide"] == []
    assert found["broken"] == 0
    assert found["images"] == 2 * len(result.exhibits) + len(result.seen_pictures)
    assert float(str(found["largest"])) <= 120
    assert float(str(found["height"])) > 2000
    assert float(str(found["smallest"])) >= 7


def test_the_check_can_fail(plain: AuditResult, tmp_path: Path) -> None:
    broken = audit_html(plain).replace("<main>", '<main><div style="width:500px">too wide</div>')
    found = look(broken, tmp_path)
    assert found["wide"]
    assert float(str(found["scroll"])) > PHONE


@pytest.mark.parametrize("name", ["many", "seen"])
def test_no_table_is_cut(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Every column can be seen without scrolling, but for tables that are folded up."""
    html = audit_html(request.getfixturevalue(name))
    for width in (PHONE, 500, 700, 1200):
        assert set(look(html, tmp_path, width=width)["cut"]) == {0}, width  # type: ignore[call-overload]


@pytest.mark.parametrize("dark", [False, True])
def test_demo_page_in_light_and_dark(honest: AuditResult, leaked: AuditResult, tmp_path: Path, dark: bool) -> None:
    found = look(demo_html({"honest": honest, "leaked": leaked}), tmp_path, dark=dark)
    assert found["wide"] == []
    assert found["compare"] == 0  # all columns side by side, without scrolling inside
    ground, ink = (sum(int(v) for v in re.findall(r"\d+", str(found[k]))) for k in ("ground", "ink"))
    assert (ground < ink) == dark


def test_screenshot_is_not_blank(leaked: AuditResult, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    page = tmp_path / "report.html"
    page.write_text(audit_html(leaked), encoding="utf-8")
    shot = tmp_path / "shot.png"
    chromium(page, "--window-size=1200,2400", f"--screenshot={shot}")
    with Image.open(shot) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[1] == 1200
    ground = pixels[-1, 0]
    drawn = (np.abs(pixels.astype(int) - ground).max(axis=2) > 40).reshape(8, -1).mean(axis=1)
    assert (drawn > 0.002).all(), drawn  # something stands in every eighth of the page
