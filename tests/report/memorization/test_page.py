"""The page answers first, holds every number of the result, loads nothing, and cannot be broken out of."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout.memorization.curve import PMV, PTV
from heldout.memorization.metrics import Estimate
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import LabelNoiseCurve
from heldout.pages import memorization_html as fresh_html
from heldout.pages import write_memorization_report
from heldout.pages.memorization.curves import LINES, looks, mean_lines
from heldout.pages.memorization.pictures import FEW, MOST
from heldout.pages.memorization.words import name_text
from heldout.pages.numbers import fixed, p_text, pair
from tests.report.memorization.conftest import EVEN, HOSTILE, SLOW, SUDDEN, noisy, perturbed, pictures
from tests.report.pages import check_drawings, check_self_contained, plain_spaces, words

ORDER = (PTV, PMV, "spatial", "spatial-random", "fgsm", "gaussian")  # who leads
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
        told = "The models were measured at different strengths" if result.unranked else "Accuracy, mean over 15"
        assert page.headings[0].startswith(told)
        return
    by = {r.column.perturbation: r for r in reversed(result.rankings) if r.column != GAP}
    first = next((name for name in ORDER if name in by), min(by))
    r = by[first]
    if r.estimates[0].value == r.estimates[-1].value:
        return
    headline = html.split('id="answer">')[1].split("</h1>")[0]
    ends = r.models[0], r.models[-1]
    noise = r.column.perturbation in (PMV, PTV)  # which pictures cannot overrule
    disagree = any(
        {d.model, d.other} == set(ends) and all((c.perturbation in (PMV, PTV)) == noise for c in (d.first, d.second))
        for d in result.disagreements
    )
    sure = r.differs(*ends)
    for i in (0, -1):
        e = r.estimates[i]
        assert fixed(e.value) in headline
        name, title = name_text(r.models[i]), symbols(r.column.title)
        shown = f"{title}: {name}{fixed(e.value)}" if disagree else f"{name}{fixed(e.value)}{title}, "
        assert f"{shown}{pair((e.low, e.high))}" in answer
    assert ("The metrics disagree: by" in headline) == disagree
    assert ('class="verdict neutral"' in html) == disagree
    assert ("No significant difference" in headline) == (not disagree and not sure)
    assert ("The difference is significant (family-wise" in answer) == (sure and not disagree)
    assert ("The difference is not significant (family-wise" in answer) == (not sure and not disagree)


def headline(result: MemorizationResult) -> str:
    return words(fresh_html(result).split('id="answer">')[1].split("</h1>")[0])


def test_metrics_that_disagree_are_the_headline(disputed: MemorizationResult, plain: MemorizationResult) -> None:
    assert headline(disputed).startswith("leaked is at the memorised end (PTV kPTV")  # label noise is direct
    assert "The metrics disagree on 1 pair of models" in box(memorization_html(disputed))
    pictures = MemorizationResult.of([c for c in disputed.curves if c.perturbation in ("spatial", "gaussian")])
    values = {c.title: [pictures.table[m][c].value for m in pictures.models] for c in pictures.columns}
    (a, b), (c, d) = values["spatial k_max"], values["gaussian k_max"]
    assert headline(pictures) == (
        f"The metrics disagree: by spatial kmax leaked is at the memorised end ({fixed(a)}, honest {fixed(b)}), "
        f"by gaussian kmax honest ({fixed(d)}, leaked {fixed(c)})"
    )
    assert headline(plain) == (
        "The metrics disagree: by spatial kmax one is at the memorised end (0.6500) and three at the other (0.1000), "
        "by gaussian kmax three memorised more than one (0.6500 and 0.2000)"
    )


def test_no_difference(close: MemorizationResult) -> None:
    a, b = (close.rankings[0].estimates[i].value for i in (0, 1))
    names = close.rankings[0].models
    assert headline(close) == (
        f"No significant difference: spatial kmax {fixed(a)} ({names[0]}) and {fixed(b)} ({names[1]})"
    )


def test_the_lead_is_told_where_another_metric_knows_more() -> None:
    falls = {"a": (1.0, 0.74, 0.5, 0.3), "b": (1.0, 0.79, 0.54, 0.3)}
    curves = [perturbed(m, "spatial", values) for m, values in falls.items()]
    curves += [perturbed("a", "fgsm", SUDDEN), perturbed("b", "fgsm", SLOW)]
    result = MemorizationResult.of(curves)
    assert headline(result).startswith("No significant difference between the ends of spatial kmax: ")
    assert "Models do differ significantly by fgsm kmax" in box(fresh_html(result))


def test_headline_does_not_hang_on_the_order_of_perturbations(plain: MemorizationResult) -> None:
    turned = MemorizationResult.of(plain.curves[::-1], source="digits")
    assert headline(turned) == headline(plain)
    own = [perturbed(m, name, v) for name in ("zoom", "blot", "gaussian") for m, v in (("a", SUDDEN), ("b", SLOW))]
    assert "(gaussian kmax" in headline(MemorizationResult.of(own))
    assert "(blot kmax" in headline(MemorizationResult.of(own[:4]))


def test_one_model_leads_with_its_curve(one: MemorizationResult, single: MemorizationResult) -> None:
    net = [perturbed("net", "gaussian", EVEN), perturbed("net", "spatial", (1.0, 0.8, 0.54, 0.3, 0.14))]
    assert headline(MemorizationResult.of(net)) == (
        "net: accuracy 1.00 falls to 0.14 at spatial 4; largest step kmax 0.26 of 1"
    )
    assert headline(one).startswith("only: accuracy on the true labels 0.9")
    assert headline(one).endswith("(1 if every label is memorised)")
    alone = MemorizationResult.of([c for c in single.curves if c.model == "a"])
    assert "true labels is 0.8" in headline(alone)  # what was taken for granted is not told as measured
    fog = MemorizationResult.of([perturbed("net", "fog", (1.0, 0.9, 0.8, 0.7, 0.6, 0.5))])
    assert headline(fog) == "Accuracy under fog at severities 0, 3 and 5: net 1.0000, 0.7000 and 0.5000"


def test_corruptions_lead_with_their_mean(corrupted: MemorizationResult) -> None:
    told = [
        f"{line.model} {fixed(line.y[0])}, {fixed(line.y[3])} and {fixed(line.y[5])}" for line in mean_lines(corrupted)
    ]
    assert headline(corrupted) == f"Accuracy, mean over 15 corruptions, at severities 0, 3 and 5: {'; '.join(told)}"
    many = [perturbed(f"m{i}", name, (1.0, 0.9, 0.8, 0.8 - i / 10)) for i in range(4) for name in ("fog", "snow")]
    assert headline(MemorizationResult.of(many)) == (
        "Accuracy, mean over 2 corruptions, at severities 0, 2 and 3: at the last, m3 1.0000, 0.8000 and 0.5000 is the "
        "lowest of 4 models and m0 1.0000, 0.8000 and 0.8000 the highest"
    )


def test_axes_run_from_0_to_1(result: MemorizationResult) -> None:
    for figure in drawings(part(memorization_html(result), "curves")):
        if "against" in figure.attrib["aria-label"]:
            assert {"0.0", "1.0"} <= {str(e.text) for e in figure.iter("text")}


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
        sure = r.differs(r.models[0], r.models[-1])
        assert row[3] == ("none" if same else "significant" if sure else "not significant")


def test_alike(alike: MemorizationResult) -> None:
    answer = box(memorization_html(alike))
    assert "spatial kmax is 0.2000 for both models" in answer
    assert "end" not in answer  # there are none
    assert "significant" not in answer


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
    assert f"Accuracy of one{fixed(float(lines[0].y[-1]))}mean over 15 corruptions, strength 5" in text
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
            detectable = "" if a is None else f" detectable {fixed(a.detectable_effect)}"
            told = "–" if a is None else f"{p_text(a.p_value)} mean T {fixed(a.mean, sign=True)}{detectable}"
            expected.append(told)
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
    assert "<strong>most memorised</strong> is bold, the <em>least memorised</em> in italics" in html
    assert "memorised</strong> is bold" not in part(memorization_html(one), "table")


def test_a_small_p_is_no_proof(
    disputed: MemorizationResult, noise: MemorizationResult, one: MemorizationResult
) -> None:
    caution = "a strong test finds shifts that are not neutral too, so this alone is no proof of memorization"
    for result, name in ((disputed, "leaked"), (noise, "by heart")):
        assert f"Audit p below 0.05 ({name}): {caution}" in words(part(memorization_html(result), "table"))
    assert caution not in words(memorization_html(one))
    quiet = MemorizationResult.of(noise.curves, audits={"learned": noise.audits["learned"]})
    assert caution not in words(fresh_html(quiet))


def test_what_significant_means(result: MemorizationResult) -> None:
    """Wherever a level is named, so are the family, and that examples (or groups) must be independent."""
    text = plain_spaces(words(memorization_html(result)))
    for told in re.finditer("family-wise", text):
        rest = text[told.end() :]
        assert rest.startswith(" 95 % over all pairs of models, one metric at a time, for independent examples")
    assert "more than chance" not in text
    assert bool(result.rankings) == ("family-wise" in text)


def test_unranked(uneven: MemorizationResult, failed: MemorizationResult, plain: MemorizationResult) -> None:
    third = perturbed("third", "spatial", SUDDEN, (0, 2, 4, 6, 8))
    some = MemorizationResult.of([*(c for c in plain.curves if c.perturbation == "spatial"), third])
    assert some.rankings
    for result in (uneven, failed, some):
        assert result.unranked
        text = words(part(fresh_html(result), "ranking"))
        assert all(sentence in text for sentence in result.unranked)
    assert "Ranking: the models were measured at different strengths" in words(memorization_html(uneven))


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
        assert ('aria-labelledby="ranking"' in html) == bool(result.unranked)
        return
    section = part(html, "ranking")
    for at, r in enumerate(result.rankings):
        rows = cells(section, at)
        for i, row in enumerate(rows):
            e, (first, last) = r.estimates[i], r.ranks[i]
            assert row[0] == (f"{first}" if first == last else f"{first}–{last}")
            assert (row[2], row[4]) == (fixed(e.value), pair((e.low, e.high)))
            following = i + 1 < len(rows)
            sign = "" if not following else "&gt;" if r.differs(r.models[i], r.models[i + 1]) else "~"
            assert row[5] == sign
    pairs = sum(len(r.above) for r in result.rankings)
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


def test_a_method_that_does_not_fit() -> None:
    """It is named first, and stands at no end; alone, the headline says so."""
    flawed = noisy("flawed", 0.9, 0.0)
    why = "flawed does not fit its labels: with a share of 0.5 wrong it is right on 0.20 of those it is trained on"
    broken = LabelNoiseCurve(
        pmv=replace(flawed.pmv, unfit=why), ptv=replace(flawed.ptv, unfit=why), validation_right=np.zeros((0, 0), bool),
        failures=(), notes=(),
    )  # fmt: skip
    result = MemorizationResult.of([noisy("by heart", 1.0, 1.0), broken, noisy("learned", 0.9, 0.0)])
    html = fresh_html(result)
    assert why in box(html)
    assert headline(result).startswith("by heart is at the memorised end")
    assert all("flawed" not in r.models for r in result.rankings)
    assert why in words(part(html, "ranking"))
    rows = part(html, "table").split("<tr")
    marked = {name: next(row for row in rows if name in row) for name in ("flawed", "by heart")}
    assert 'class="most"' in marked["by heart"]
    assert not re.search('class="(most|least)"', marked["flawed"])
    assert headline(MemorizationResult.of([broken])).startswith("flawed does not fit its labels: accuracy on the true")
    two = MemorizationResult.of([broken, noisy("learned", 0.9, 0.0)])
    assert two.rankings == ()
    assert "Ranking: no two models fit their labels" in words(fresh_html(two))


def test_groups() -> None:
    codes = np.arange(240) // 10
    curves = [replace(perturbed(name, "spatial", values), groups=codes, examples="x")
              for name, values in (("a", SUDDEN), ("b", EVEN))]  # fmt: skip
    text = plain_spaces(words(fresh_html(MemorizationResult.of(curves))))
    assert "240 examples in 24 groups, design effect" in text
    assert "24 groups are few" in text
    assert "one metric at a time, for independent groups" in text
    assert "independent examples" not in text


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
    assert ("Bonferroni over the pairs" in text) == bool(result.rankings)
    assert ("Audit p" in text) == bool(result.audits)
    assert "that size is drawn 4,000 times, with the covariance of the measured curve" in text
    assert "one of examples in n/3 that falls at some strength, which is added in quadrature" in text
    alone = any(c.correct.shape[1] == 1 for c in result.curves)
    assert ("trainings add what they vary by, with Student’s t" in text) == noise
    assert ("does not fit its labels: one that" in text) == noise
    assert ("those of a single training are Clopper-Pearson intervals" in text) == alone
    assert text.count("may pass 1: it is not cut") == noise
    if result.audits:
        assert "does not depend on these pictures and that small shifts are neutral; no control" in text


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
    usual = {"frame": "whole", "mean": [0.0], "std": [1.0], "scale": None, "bgr": False}
    assert "Preprocessing" not in words(fresh_html(MemorizationResult.of(plain.curves[:1], preprocessing=usual)))
    own = {**usual, "mean": [0.5, 0.4, 0.3], "std": [0.25], "scale": 0.5, "bgr": True}
    text = words(part(fresh_html(MemorizationResult.of(plain.curves[:1], preprocessing=own)), "facts"))
    assert "BGR channel order; pixels times 0.5; a mean of 0.5, 0.4 and 0.3 taken off; divided by a stand" in text
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
