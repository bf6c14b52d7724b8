"""The page answers first, holds every number of the result, loads nothing, and cannot be broken out of."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from heldout.memorization.curve import PMV, PTV
from heldout.memorization.metrics import Estimate
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP
from heldout.memorization.result import MemorizationResult
from heldout.report import memorization_html as fresh_html
from heldout.report import write_memorization_report
from heldout.report.memorization.curves import LINES, looks, mean_lines
from heldout.report.memorization.pictures import FEW, MOST
from heldout.report.memorization.words import name_text
from heldout.report.numbers import fixed, p_text, pair
from tests.report.memorization.conftest import HOSTILE, perturbed, pictures
from tests.report.pages import check_drawings, check_self_contained, plain_spaces, words

PAGES: dict[tuple[int, str | None], str] = {}  # results live as long as the session


def memorization_html(result: MemorizationResult, *, command: str | None = None) -> str:
    """The page, made once for all tests."""
    if (id(result), command) not in PAGES:
        PAGES[id(result), command] = fresh_html(result, command=command)
    return PAGES[id(result), command]


def part(html: str, name: str) -> str:
    """One section."""
    start = html.index(f'<section aria-labelledby="{name}">')
    return html[start : html.index("</section>", start) + len("</section>")]


def box(html: str) -> str:
    """The words of the answer."""
    return words(html[html.index('<section class="verdict') : html.index("</section>")] + "</section>")


def cells(html: str, at: int = 0) -> list[list[str]]:
    """The body of one of the tables, a cell's parts with a space between."""
    body = html.split("<tbody>")[at + 1].split("</tbody>")[0]
    rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, flags=re.S) for row in body.split("</tr>")[:-1]]
    return [[plain_spaces(re.sub("<.*?>", " ", cell)).strip() for cell in row] for row in rows]


def drawings(html: str) -> list[ET.Element]:
    return [ET.fromstring(d) for d in re.findall(r"<svg.*?</svg>", html, flags=re.S)]


def symbols(text: str) -> str:
    """As the page's words are once tags are gone."""
    return re.sub(r"\bk_(S|PTV|max)\b", r"k\1", text)


def numbers(found: Estimate) -> str:
    return f"{fixed(found.value)} {pair((found.low, found.high))}"


def test_self_contained(result: MemorizationResult) -> None:
    html = memorization_html(result)
    check_self_contained(html)
    check_drawings(html)
    text = words(html)
    assert not re.search(r"\bnan\b", text.lower())
    assert "None" not in text.replace("None has a number here", "")
    assert not re.search(r"\d %", html)  # a number and its sign stay on one line
    assert not re.search(r"\b1 (models|examples|pairs|times two)\b", text)
    assert not re.search(r"[a-z]\.[A-Z]", text.replace(HOSTILE, ""))  # a space between two sentences


def test_written(plain: MemorizationResult, tmp_path: Path) -> None:
    path = write_memorization_report(plain, tmp_path / "new", command="heldout memorization digits")
    assert path == tmp_path / "new" / "report.html"
    assert path.read_text(encoding="utf-8") == memorization_html(plain, command="heldout memorization digits")


def test_same_after_a_round_trip(plain: MemorizationResult, tmp_path: Path) -> None:
    plain.save(tmp_path / "kept")
    assert fresh_html(MemorizationResult.load(tmp_path / "kept")) == memorization_html(plain)


def test_escapes(hostile: MemorizationResult) -> None:
    html = memorization_html(hostile, command=HOSTILE)
    assert HOSTILE not in html
    assert "<script" not in html
    assert words(html).count(HOSTILE) >= 8  # in prose, facts, notes, failures, units, the command
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in words(html)


def test_answer_first(result: MemorizationResult) -> None:
    """Who is at which end, with the numbers; no claim without one."""
    html = memorization_html(result)
    page, answer = check_self_contained(html), box(html)
    assert f"{result.curves[0].n:,}" in answer
    if len(result.models) == 1:
        assert "at the memorised end" not in answer
        return
    if not result.rankings:
        assert page.headings[0] == "No metric is defined for two of these models"
        return
    by = {r.column.perturbation: r for r in reversed(result.rankings) if r.column != GAP}
    r = by.get(PTV) or by.get(PMV) or next(r for r in result.rankings if r.column != GAP)
    if r.estimates[0].value == r.estimates[-1].value:
        return
    headline = html.split('id="answer">')[1].split("</h1>")[0]
    for i in (0, -1):
        e = r.estimates[i]
        assert fixed(e.value) in headline
        assert f"{name_text(r.models[i])}{fixed(e.value)}{symbols(r.column.title)}, {pair((e.low, e.high))}" in answer
    assert ("The difference is more than chance" in answer) == r.surely(r.models[0], r.models[-1])
    assert ("The difference may be chance" in answer) != r.surely(r.models[0], r.models[-1])


def test_both_ends_of_every_metric(result: MemorizationResult) -> None:
    html = memorization_html(result)
    if not result.rankings:
        assert 'aria-labelledby="ends"' not in html
        return
    rows = cells(part(html, "ends"))
    assert len(rows) == len(result.rankings)
    for row, r in zip(rows, result.rankings, strict=True):
        assert ("smaller is more memorised" in row[0]) == (r.column.memorised == "low")
        for cell, i in ((row[1], 0), (row[2], -1)):
            assert cell.endswith(numbers(r.estimates[i]))
        same = r.estimates[0].value == r.estimates[-1].value
        sure = r.surely(r.models[0], r.models[-1])
        assert row[3] == ("none" if same else "more than chance" if sure else "may be chance")


def test_alike(alike: MemorizationResult) -> None:
    answer = box(memorization_html(alike))
    assert "spatial kmax is 0.2000 for both models" in answer
    assert "end" not in answer  # there are none
    assert "chance" not in answer


def test_one_model_against_the_closed_forms(
    one: MemorizationResult, one_noise: MemorizationResult, plain: MemorizationResult
) -> None:
    rows = {row[0]: row[1:] for row in cells(part(memorization_html(one), "reading"))}
    table = one.table["only"]
    assert len(rows) == len(table) == 5
    for column, found in table.items():
        name = column.title.replace("_", " ")
        assert rows[name][0] == numbers(found)
    curve = one.curve("only", PMV)
    assert curve is not None
    a = float(curve.accuracy[0])
    assert rows["PMV k S"][1].startswith("0 if it memorised every label; if it learned")
    assert rows["PMV k S"][1].endswith(f"A = {fixed(a)}, about A − (1 − A)/9 = {fixed(a - (1 - a) / 9)}")
    assert rows["PTV k PTV"][1].startswith("1 if it memorised every label; near 0")
    assert "the largest of 4 steps, from strength 1 to 2" in rows["spatial k max"][1]
    assert rows["spatial k max"][1].endswith("from 1.0000 to 0.0000 has steps of 0.2500")
    assert rows["spatial SSE"][1] == "0 if accuracy falls along a straight line"
    curve = one_noise.curve("only", PMV)
    assert curve is not None
    a = float(curve.accuracy[0])  # the number of classes is not known
    text = words(part(memorization_html(one_noise), "reading"))
    assert f"A − (1 − A)/(m − 1) with m classes: {fixed(2 * a - 1)} with two, {fixed(a)} with very many" in (
        plain_spaces(text)
    )
    assert 'aria-labelledby="reading"' not in memorization_html(plain)


def test_a_line_and_a_band_for_each_curve(result: MemorizationResult) -> None:
    """A panel a perturbation; a marker a strength at which a training ended well, and it tells the numbers."""
    shown = looks(result.models)
    figures = [d for d in drawings(part(memorization_html(result), "curves")) if "against" in d.attrib["aria-label"]]
    small = [name for name in result.perturbations if name in CORRUPTIONS]
    order = list(result.perturbations)
    if len(small) > 1:
        order = [name for name in order if name not in small]
        assert "Mean accuracy" in figures.pop(len(order)).attrib["aria-label"]
        order += small
    assert len(figures) == len(order)
    for name, figure in zip(order, figures, strict=True):
        curves = [c for c in result.curves if c.perturbation == name and c.model in shown]
        told = [e.text for e in figure.iter("title")]
        points = sum(int(c.done.any(axis=1).sum()) for c in curves)
        assert len(told) == points
        assert len([p for p in figure.iter("polygon") if "band" in p.attrib["class"]]) == len(curves)
        for c in curves:
            low, high = c.bands
            for i in np.flatnonzero(c.done.any(axis=1)):
                if c.perturbation == PTV and len(c.strengths) == 2 and i == 0:
                    assert f"{name_text(c.model)}, 0: taken to be 1" in told
                    continue
                numbers_told = f"{fixed(float(c.accuracy[i]))} ({pair((float(low[i]), float(high[i])))})"
                assert f"{name_text(c.model)}, {c.strengths[i]:g}: {numbers_told}" in told


def test_guides(noise: MemorizationResult, plain: MemorizationResult) -> None:
    html = part(memorization_html(noise), "curves")
    assert [len(d.findall("path[@class='reference']")) for d in drawings(html) if "against" in str(d.attrib)] == [1, 1]
    assert words(html).count("Thin dashed line: 1 − r") == 2
    assert 'class="reference"' not in part(memorization_html(plain), "curves")


def test_legend(many: MemorizationResult, crowd: MemorizationResult, one: MemorizationResult) -> None:
    """Every line that is drawn is named once, and no two look alike."""
    for result in (many, crowd):
        html = part(memorization_html(result), "curves")
        names = re.findall(r'<span class="swatch">(.*?)</span>\s*(.*?)</li>', html)
        assert len(names) == min(LINES, len(result.models))
        assert len({re.sub('aria-label=".*?"', "", drawing) for drawing, _ in names}) == len(names)
    text = words(part(memorization_html(crowd), "curves"))
    assert "3 more models are in the tables only" in text
    assert 'class="lines"' not in memorization_html(one)
    shown = looks(crowd.models)
    assert {"net 0", "net 20"} <= set(shown)


def test_curves_as_numbers(result: MemorizationResult) -> None:
    html = part(memorization_html(result), "curves")
    for at, name in enumerate(result.perturbations):
        curves = [c for c in result.curves if c.perturbation == name]
        strengths = sorted({float(s) for c in curves for s in c.strengths})
        for row, c in zip(cells(html, at), curves, strict=True):
            data = {entry["strength"]: entry for entry in c.to_dict()["curve"]}
            for cell, s in zip(row[1:], strengths, strict=True):
                found = data.get(s)
                if found is None or found["accuracy"] is None:
                    assert cell == "–"
                elif cell != "1 taken":
                    assert cell == f"{fixed(found['accuracy'])} {pair((found['low'], found['high']))}"


def test_mean_of_corruptions(corrupted: MemorizationResult, plain: MemorizationResult) -> None:
    lines = mean_lines(corrupted)
    assert [line.model for line in lines] == ["one", "two"]
    for line in lines:
        accuracies = [c.accuracy for c in corrupted.curves if c.model == line.model]
        assert line.y == pytest.approx(np.mean(accuracies, axis=0))
    text = words(memorization_html(corrupted))
    assert "Mean over the 15 corruptions" in text
    assert f"Accuracy of one{fixed(float(lines[0].y[-1]))}mean of 15 corruptions, strength 5" in text
    assert "Mean over" not in words(memorization_html(plain))  # fog alone is a panel like others


def test_metrics_as_numbers(result: MemorizationResult) -> None:
    """Rows are models, columns metrics: those that have a number for somebody."""
    rows = cells(part(memorization_html(result), "table"))
    columns = [
        c
        for c in result.columns
        if c != GAP and any(c in row and not math.isnan(row[c].value) for row in result.table.values())
    ]
    for row, model in zip(rows, result.models, strict=True):
        own = result.table[model]
        expected = []
        for c in columns:
            found = own.get(c)
            if found is not None and not math.isnan(found.value):
                expected.append(numbers(found))
            else:
                expected.append("–" if found is None else "– ¹")
        measured = [c for c in result.curves if c.model == model and c.perturbation != PMV]
        if result.curves[0].strengths[0] == 0:
            expected.append(fixed(float(measured[0].accuracy[0])))
        if result.validation:
            known = model in result.validation
            expected.append(fixed(float(result.validation[model].mean())) if known else "–")
            expected.append(numbers(own[GAP]) if known else "–")
        if result.audits:
            a = result.audits.get(model)
            expected.append("–" if a is None else f"{p_text(a.p_value)} mean T {fixed(a.mean, sign=True)}")
        assert row[1:] == expected


def test_best_and_worst_are_marked(noise: MemorizationResult, one: MemorizationResult) -> None:
    html = part(memorization_html(noise), "table")
    least, most = (re.findall(rf'class="{end}" title="{end} memorised">(.*?)<', html) for end in ("least", "most"))
    columns = noise.columns
    assert len(least) == len(most) == len(columns)
    for c in columns:
        values = [row[c].value for row in noise.table.values()]
        assert fixed(max(values) if c.memorised == "high" else min(values)) in most
        assert fixed(min(values) if c.memorised == "high" else max(values)) in least
    assert "memorised</strong> is bold" not in part(memorization_html(one), "table")


def test_reasons(uneven: MemorizationResult, plain: MemorizationResult, single: MemorizationResult) -> None:
    text = words(part(memorization_html(uneven), "table"))
    assert text.count("–¹") == 2
    assert "¹ Not defined: the strengths are not equally far apart." in text
    text = words(part(memorization_html(plain), "table"))
    assert "No kmax and SSE of fog: steps of severity are not equal" in text
    text = words(part(memorization_html(single), "table"))
    assert "No kS of PMV: one rate has no slope." in text


def test_a_single_rate_measures_nothing_without_noise(single: MemorizationResult) -> None:
    html = memorization_html(single)
    assert "training" not in words(part(html, "table"))
    assert "The point at 0 is taken to be 1, not measured." in words(part(html, "curves"))
    assert "trained anew, 5 times at a share of 0.3 of wrong labels" in box(html)


def test_failures(failed: MemorizationResult, plain: MemorizationResult) -> None:
    html = memorization_html(failed)
    text = words(html)
    assert all(failure in text for failure in failed.failures)
    assert all(note in text for note in failed.notes)
    assert "Where every training at a strength failed there is no marker" in text
    assert "Trainings that failed" not in words(memorization_html(plain))


def test_ranking(result: MemorizationResult) -> None:
    html = memorization_html(result)
    if not result.rankings:
        assert 'aria-labelledby="ranking"' not in html
        return
    section = part(html, "ranking")
    for at, r in enumerate(result.rankings):
        rows = cells(section, at)
        for i, row in enumerate(rows):
            e, (first, last) = r.estimates[i], r.ranks[i]
            assert row[0] == (f"{first}" if first == last else f"{first}–{last}")
            assert (row[2], row[4]) == (fixed(e.value), pair((e.low, e.high)))
            following = i + 1 < len(rows)
            sign = "" if not following else "&gt;" if r.surely(r.models[i], r.models[i + 1]) else "≈"
            assert row[5] == sign
    pairs = sum(r.surely(a, b) for r in result.rankings for a in r.models for b in r.models)
    told = re.findall(r'note">.*?; (\d+) of (\d+) pairs', section)
    if len(result.models) > 2:
        assert sum(int(n) for n, _ in told) == pairs


def test_disagreements(result: MemorizationResult) -> None:
    html = memorization_html(result)
    if len(result.rankings) < 2:
        assert 'aria-labelledby="disagreement"' not in html
        return
    section = part(html, "disagreement")
    text = words(section)
    assert ("No two metrics order two models in opposite ways" in text) == (not result.disagreements)
    items = re.findall(r"<li>(.*?)</li>", section, flags=re.S)
    pairs = {frozenset((d.model, d.other)) for d in result.disagreements}
    assert len(items) == min(60, len(pairs))
    if len(pairs) > 60:
        assert f"And {len(pairs) - 60} more in the JSON" in text
        return
    told = [words(item) for item in items]
    for d in result.disagreements:
        forward = f"{name_text(d.model)} memorised more than {name_text(d.other)} by "
        (found,) = (
            t
            for t in told
            if t.startswith((forward, f"{name_text(d.other)} memorised more than {name_text(d.model)} "))
        )
        more, less = found.split("; less by ")
        if not found.startswith(forward):
            more, less = less, more
        for side, column, values in ((more, d.first, d.by_first), (less, d.second, d.by_second)):
            a, b = (fixed(v) for v in (values if found.startswith(forward) else values[::-1]))
            assert f"{symbols(column.title)} ({a} against {b})" in side
    maps = [d for d in drawings(section) if "Kendall" in d.attrib["aria-label"]]
    assert len(maps) == (len(result.rankings) >= 3 and bool(result.correlations))
    if maps:
        told = [str(e.text) for e in maps[0].iter("title")]
        for tau in result.correlations.values():
            assert any(t.endswith(f": {tau:.3f}") for t in told)


def test_something_disagrees(plain: MemorizationResult, many: MemorizationResult, noise: MemorizationResult) -> None:
    """Or the test above shows nothing."""
    assert 0 < len(plain.disagreements) < 11 < len(many.disagreements)
    assert not noise.disagreements


def test_pictures(result: MemorizationResult) -> None:
    html = memorization_html(result)
    with_them = {c.perturbation for c in result.curves if c.exhibits is not None}
    images = re.findall(r'<li( class="wrong")?><img.*?alt="(.*?)"', html)
    assert ('aria-labelledby="pictures"' in html) == bool(with_them) == bool(images)
    for wrong, alt in images:
        assert alt.endswith("wrong" if wrong else "right")
    expected = 0
    for name in with_them:
        shown = next(c.exhibits for c in result.curves if c.perturbation == name and c.exhibits is not None)
        k, p = shown.right.shape
        expected += min(k, FEW if len(with_them) > 4 else k) * min(p, MOST)
    assert len(images) == expected


def test_pictures_name_their_class(plain: MemorizationResult, many: MemorizationResult) -> None:
    assert "<strong>b</strong>, example 1,111" in part(memorization_html(plain), "pictures")
    assert "<strong>class 1</strong>, example 1,111" in part(memorization_html(many), "pictures")
    assert part(memorization_html(plain), "pictures").count('class="small"') == 3 * 4 * 5 + 4


def test_long_strips_are_thinned() -> None:
    curve = perturbed("m", "spatial", np.linspace(1, 0, 40).tolist(), exhibits=pictures(40))
    html = part(fresh_html(MemorizationResult.of([curve])), "pictures")
    assert html.count("<img") == 4 * MOST
    assert "at strength 0:" in html
    assert "at strength 39:" in html


def test_meaning(result: MemorizationResult) -> None:
    text = words(part(memorization_html(result), "means"))
    noise, finished = PTV in result.perturbations, set(result.perturbations) - {PMV, PTV}
    assert ("eq. (6)" in text) == noise
    assert ("Zhang et al. 2019" in text) == noise
    for metric, number in (("k_max", "(10)"), ("SSE", "(11)")):
        known = any(c.metric == metric and not math.isnan(e.value) for r in result.table.values() for c, e in r.items())
        assert (f"eq. {number}" in text) == known
    assert ("eq. (9)" in text) == ("gaussian" in result.perturbations)
    assert ("eq. (8)" in text) == ("fgsm" in result.perturbations)
    stepped = any(c.metric == "k_max" and not math.isnan(e.value) for r in result.table.values() for c, e in r.items())
    assert ("compare like with like" in text) == stepped
    assert ("Label noise is the direct measure" in text) == bool(finished)
    assert ("It was not measured here" in text) == (not noise)
    assert ("Šidák" in text) == bool(result.rankings)
    assert ("Audit p" in text) == bool(result.audits)
    assert "drawn anew 4,000 times" in text


def test_facts(plain: MemorizationResult, one: MemorizationResult) -> None:
    html = memorization_html(plain, command="heldout memorization digits --seed 7")
    found = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part(html, "facts") + part(html, "origin")))
    assert found == {
        "Models": "one, two, three",
        "Examples": "240 training examples of digits",
        "Spatial and gaussian": "0, 1, 2, 3, 4 (strength of it, in 1/255 of the pixel range)",
        "Fog": "0, 1, 2, 3, 4, 5 (severity)",
        "Classes": "10",
        "Pixel range": "0 to 1",
        "heldout": plain.version,
        "Source": "digits",
        "Seed": "7",
        "Data digest": "ab" * 32,
    }
    assert "see <code>--batch-size</code>" in part(html, "facts")
    assert "heldout memorization digits --seed 7" in words(html)
    assert "Validation</dt><dd>150 examples" in part(memorization_html(one), "facts")


def test_not_computed(plain: MemorizationResult, noise: MemorizationResult, one: MemorizationResult) -> None:
    lacking = words(part(memorization_html(plain), "lacking"))
    assert "Label noise (PMV, PTV), the direct measure: no model was trained anew" in lacking
    assert "there are no validation examples" in lacking
    assert "Perturbed pictures" not in lacking
    lacking = words(part(memorization_html(noise), "lacking"))
    assert "Perturbed pictures: not asked for" in lacking
    assert "Label noise" not in lacking
    assert "Audit" not in lacking
    assert "Ranking: there is one model only" in words(part(memorization_html(one), "lacking"))
