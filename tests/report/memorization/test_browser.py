"""The page of a measurement of memorization in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heldout.memorization.result import MemorizationResult
from heldout.pages import memorization_html
from tests.report.browser import PHONE, look, needs_chromium

pytestmark = needs_chromium


@pytest.mark.parametrize("name", ["one", "many", "corrupted", "hostile"])
def test_fits_a_phone(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: MemorizationResult = request.getfixturevalue(name)
    found = look(memorization_html(result, command="heldout memorization " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == found["scroll"] == PHONE
    assert found["wide"] == []
    assert found["broken"] == 0
    assert float(str(found["smallest"])) >= 6.9


@pytest.mark.parametrize("name", ["many"])
def test_no_table_is_cut_on_a_desk(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found = look(memorization_html(request.getfixturevalue(name)), tmp_path, width=1200)
    assert set(found["cut"]) == {0}  # type: ignore[call-overload]
    assert found["wide"] == []


@pytest.mark.parametrize("name", ["disputed", "noise", "plain", "crowd"])
@pytest.mark.parametrize("width", [400, 800])
def test_a_table_that_is_cut_says_so(name: str, width: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """And no head is broken within a word."""
    found = look(memorization_html(request.getfixturevalue(name)), tmp_path, width=width)
    assert found["split"] == []
    more = found["more"]
    assert isinstance(more, list)
    told, cut = more[0]
    assert told == cut
    if width < 600 and name in ("disputed", "noise"):
        assert told  # or the test shows nothing


def test_dark(noise: MemorizationResult, tmp_path: Path) -> None:
    found = look(memorization_html(noise), tmp_path, dark=True)
    ground, ink = (sum(int(v) for v in re.findall(r"\d+", str(found[k]))) for k in ("ground", "ink"))
    assert ground < ink
