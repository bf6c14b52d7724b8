"""Look at a page with a real browser."""

from __future__ import annotations

import html as html_module
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium on the PATH")
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
  const wide = [], scrolls = e => (e.closest(".scroll") && !e.matches(".scroll")) || e.closest("svg svg");
  for (const e of page.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    const outside = box.width && (box.right > WIDTH + 0.5 || box.left < -0.5);
    if (outside && !scrolls(e)) wide.push(e.tagName + " " + box.right);
  }
  const shown = [...page.querySelectorAll("svg text")].filter(e => e.getClientRects().length);
  const text = shown.map(e => parseFloat(getComputedStyle(e).fontSize)
    * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width);
  const compare = page.querySelector(".compare");
  const images = [...page.images];
  const cut = [...page.querySelectorAll(".scroll")].filter(e => !e.closest("details"))
    .map(e => e.scrollWidth - e.clientWidth);
  const split = [];  // words of heads that stand on two lines
  for (const head of page.querySelectorAll("thead th")) {
    const texts = page.createTreeWalker(head, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = page.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) split.push(word[0]);
    }
  }
  const more = [...page.querySelectorAll(".more")].map(e => {
    const table = e.nextElementSibling;
    return [e.getClientRects().length > 0, table.scrollWidth > table.clientWidth];
  });
  document.getElementById("found").textContent = JSON.stringify({
    cut, split, more, compare: compare && compare.scrollWidth - compare.clientWidth,
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
