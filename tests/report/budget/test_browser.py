"""The page of a budget in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heldout.pages import budget_html
from heldout.reuse.result import BudgetResult
from tests.report.browser import PHONE, chromium, look, needs_chromium

pytestmark = needs_chromium


@pytest.mark.parametrize("name", ["similar", "large", "hostile", "too_few"])
def test_fits_a_phone(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: BudgetResult = request.getfixturevalue(name)
    html = budget_html(result, command="heldout budget " + "very-long-path/" * 20)
    for width in (360, PHONE):
        found = look(html, tmp_path, width=width)
        assert found["client"] == width
        assert found["scroll"] == width
        assert found["wide"] == []
        assert float(str(found["smallest"])) >= 6.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["similar", "masked"])
def test_no_table_is_cut(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    html = budget_html(request.getfixturevalue(name))
    for width in (360, 700, 1200):
        assert set(look(html, tmp_path, width=width)["cut"]) == {0}, width  # type: ignore[call-overload]


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(similar: BudgetResult, tmp_path: Path, dark: bool) -> None:
    found = look(budget_html(similar), tmp_path, dark=dark)
    ground, ink = (sum(int(v) for v in re.findall(r"\d+", str(found[k]))) for k in ("ground", "ink"))
    assert (ground < ink) == dark


def test_screenshot_is_not_blank(similar: BudgetResult, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    page = tmp_path / "report.html"
    page.write_text(budget_html(similar), encoding="utf-8")
    shot = tmp_path / "shot.png"
    chromium(page, "--window-size=1200,4000", f"--screenshot={shot}")
    with Image.open(shot) as image:
        pixels = np.asarray(image.convert("RGB"))
    ground = pixels[-1, 0]
    drawn = (np.abs(pixels.astype(int) - ground).max(axis=2) > 40).reshape(10, -1).mean(axis=1)
    assert (drawn > 0.002).all(), drawn
