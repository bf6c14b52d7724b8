"""The report in a real browser: it fits a phone, draws something, and follows the reader's light or dark."""

from __future__ import annotations

import html as html_module
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from heldout.independence.result import AuditResult
from heldout.report import audit_html, demo_html

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium on the PATH")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
PHONE = 390

# The page stands in a frame as wide as a phone (a window cannot always be made that narrow). The
# report itself runs no script: the wrapper looks into the frame once it is loaded.
WRAPPER = """<!DOCTYPE html><meta charset="utf-8"><body>
<iframe id="f" style="width:WIDTHpx;height:800px;border:0" srcdoc="SOURCE"></iframe><pre id="found"></pre>
<script>
addEventListener("load", () => {
  const page = document.getElementById("f").contentDocument, root = page.documentElement;
  const wide = [], scrolls = e => e.closest(".scroll") && !e.matches(".scroll");
  for (const e of page.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    const outside = box.width && (box.right > WIDTH + 0.5 || box.left < -0.5);
    if (outside && !scrolls(e)) wide.push(e.tagName + " " + box.right);
  }
  const text = [...page.querySelectorAll("svg text")].map(e => parseFloat(getComputedStyle(e).fontSize)
    * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width);
  const compare = page.querySelector(".compare");
  const images = [...page.images];
  const cut = [...page.querySelectorAll(".scroll")].filter(e => !e.closest("details"))
    .map(e => e.scrollWidth - e.clientWidth);
  document.getElementById("found").textContent = JSON.stringify({
    cut, compare: compare && compare.scrollWidth - compare.clientWidth,
    scroll: root.scrollWidth, client: root.clientWidth, wide, height: root.scrollHeight,
    smallest: Math.min(...text), broken: images.filter(i => !i.naturalWidth).length,
    images: images.length, largest: Math.max(0, ...images.map(i => i.getBoundingClientRect().width)),
    ground: getComputedStyle(page.body).backgroundColor, ink: getComputedStyle(page.body).color,
  });
});
</script>"""


def chromium(page: Path, *options: str) -> str:
    assert CHROMIUM is not None
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def look(source: str, folder: Path, *, width: int = PHONE, dark: bool = False) -> dict[str, object]:
    page = folder / "wrapper.html"
    text = WRAPPER.replace("WIDTH", str(width)).replace("SOURCE", html_module.escape(source))
    page.write_text(text, encoding="utf-8")
    # Blink counts dark as 0 and light as 1.
    dom = chromium(
        page, "--dump-dom", "--window-size=1400,900", f"--blink-settings=preferredColorScheme={int(not dark)}"
    )
    match = re.search(r'<pre id="found">(.*?)</pre>', dom, flags=re.S)
    assert match, dom[-500:]
    found: dict[str, object] = json.loads(html_module.unescape(match.group(1)))
    return found


@pytest.mark.parametrize("name", ["leaked", "many", "hostile", "perfect"])
def test_fits_a_phone(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: AuditResult = request.getfixturevalue(name)
    found = look(audit_html(result, command="heldout audit " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == PHONE
    assert found["scroll"] == PHONE
    assert found["wide"] == []
    assert found["broken"] == 0
    assert found["images"] == 2 * len(result.exhibits)
    assert float(str(found["largest"])) <= 120
    assert float(str(found["height"])) > 2000
    assert float(str(found["smallest"])) >= 7


def test_the_check_can_fail(plain: AuditResult, tmp_path: Path) -> None:
    broken = audit_html(plain).replace("<main>", '<main><div style="width:500px">too wide</div>')
    found = look(broken, tmp_path)
    assert found["wide"]
    assert float(str(found["scroll"])) > PHONE


@pytest.mark.parametrize("name", ["leaked", "many"])
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
