"""The page of a stress test in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heldout.attack.result import StressResult
from heldout.pages import stress_html
from tests.report.browser import PHONE, chromium, look, needs_chromium

pytestmark = needs_chromium


@pytest.mark.parametrize("name", ["plain", "prior", "many", "hostile"])
def test_fits_a_phone(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: StressResult = request.getfixturevalue(name)
    html = stress_html(result, command="heldout stress " + "very-long-path/" * 20)
    for width in (360, PHONE):
        found = look(html, tmp_path, width=width)
        assert found["client"] == width
        assert found["scroll"] == width
        assert found["wide"] == []
        assert float(str(found["smallest"])) >= 6.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_no_table_is_cut(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    html = stress_html(request.getfixturevalue(name))
    for width in (360, 700, 1200):
        assert set(look(html, tmp_path, width=width)["cut"]) == {0}, width  # type: ignore[call-overload]


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(plain: StressResult, tmp_path: Path, dark: bool) -> None:
    found = look(stress_html(plain), tmp_path, dark=dark)
    ground, ink = (sum(int(v) for v in re.findall(r"\d+", str(found[k]))) for k in ("ground", "ink"))
    assert (ground < ink) == dark


def test_screenshot_is_not_blank(plain: StressResult, tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    page = tmp_path / "report.html"
    page.write_text(stress_html(plain), encoding="utf-8")
    shot = tmp_path / "shot.png"
    chromium(page, "--window-size=1200,5000", f"--screenshot={shot}")
    with Image.open(shot) as image:
        pixels = np.asarray(image.convert("RGB"))
    ground = pixels[-1, 0]
    drawn = (np.abs(pixels.astype(int) - ground).max(axis=2) > 40).reshape(10, -1).mean(axis=1)
    assert (drawn > 0.002).all(), drawn
