"""The page of a stress test answers first, holds every number, loads nothing, and cannot be broken out of."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout.attack.forecast import forecast
from heldout.attack.result import StressResult, StressRun
from heldout.pages import stress_html, write_stress_report
from heldout.pages.numbers import percent
from heldout.pages.stress.curve import MAX_MARKERS, ROOM, drawn_stops
from heldout.pages.stress.words import points_text
from heldout.pages.svg.lines import HEIGHT
from heldout.pages.svg.shapes import BOTTOM, TOP
from tests.report.pages import check_drawings, check_self_contained, plain_spaces, words
from tests.report.stress.conftest import HOSTILE, made, result_of

GROUPS = {
    "by_classes": "How the number of classes matters",
    "by_attack": "Attack against attack",
    "by_digits": "Answers with fewer digits",
}


def part(html: str, name: str) -> str:
    """One section."""
    start = html.index(f'<section aria-labelledby="{name}">')
    return html[start : html.index("</section>", start)]


def box(html: str) -> str:
    """The words of the answer."""
    return words(html[html.index("<main>") : html.index("</section>")].replace("<main>", "") + "</section>")


def drawings(html: str) -> list[ET.Element]:
    return [ET.fromstring(d) for d in re.findall(r"<svg.*?</svg>", html, flags=re.S)]


def classed(root: ET.Element, tag: str, name: str) -> list[ET.Element]:
    return [e for e in root.findall(tag) if e.attrib.get("class") == name]


def cells(html: str) -> list[list[str]]:
    """The body of the first table."""
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, flags=re.S) for row in body.split("</tr>")[:-1]]
    return [[plain_spaces(re.sub("<.*?>", " ", cell)).strip() for cell in row] for row in rows]


def test_self_contained(result: StressResult) -> None:
    html = stress_html(result, command="heldout stress --classes 10")
    check_self_contained(html)
    check_drawings(html)
    text = words(html)
    assert not re.search(r"\bnan\b", text.lower())
    assert "None" not in text
    assert not re.search(r"\d %", html)  # a number and its sign stay on one line
    assert not re.search(r"\b1 (answers|trials|digits|examples)\b", text)


def test_every_colour_is_defined_in_light_and_dark(plain: StressResult) -> None:
    html = stress_html(plain)
    light, dark = (
        html[: html.index("@media (prefers")],
        html[html.index("@media (prefers") : html.index("*, *::before")],
    )
    for name in set(re.findall(r"var\((--[\w-]+)\)", html)):
        assert f"{name}:" in light, name
        assert f"{name}:" in dark, name


def test_answer_first(result: StressResult) -> None:
    html = stress_html(result)
    page, answer, data = check_self_contained(html), box(html), result.to_dict()
    assert page.headings[0] == result.headline
    assert page.headings[1:4] == ["What this means", "What it does not mean", "What to do next"]
    assert f"Accuracy before{plain_spaces(percent(data['baseline'], 2))}" in answer
    assert f"Accuracy after{plain_spaces(percent(data['accuracy'], 2))}" in answer
    assert f"moves by {points_text(data['advantage'], sign=True)} points" in answer
    spread = (
        "one trial" if data["std"] is None else f"±{points_text(data['std'])} points (sd over {data['trials']} trials)"
    )
    assert spread in answer
    shown = "none" if data["forecast"] is None else plain_spaces(percent(data["forecast"], 2))
    assert f"Forecast{shown}" in answer


def test_subject_once(plain: StressResult, prior: StressResult) -> None:
    """Numbers that are their own source are not repeated."""
    assert box(stress_html(plain)).count("10,000 examples, 10 classes") == 1
    assert "resnet50.npz, labels.csv: 50,000 examples, 1,000 classes" in box(stress_html(prior))


def test_bound_in_words(
    plain: StressResult, vacuous: StressResult, prior: StressResult, no_forecast: StressResult
) -> None:
    assert vacuous.run.vacuous  # or the test shows nothing
    assert not plain.run.vacuous
    answer = box(stress_html(vacuous))
    assert "Upper bound" + "vacuous" + "the bound excludes nothing at 4,000 such answers" in answer
    answer = box(stress_html(plain))
    bound = plain_spaces(percent(plain.to_dict()["upper_bound"], 2))
    assert f"Upper bound{bound}no attack passes it, with probability 95 %, if all labels are equally likely" in answer
    assert "if the prior is right" not in answer
    assert "95 %, if the prior is right" in box(stress_html(prior))
    assert "Upper bound" + "unknown" + "the answers of this mechanism cannot be counted" in box(
        stress_html(no_forecast)
    )


def test_says_what_it_is_not(result: StressResult) -> None:
    text = words(stress_html(result))
    limits = text[text.index("What it does not mean") : text.index("What to do next")]
    assert "It accuses nobody. The analyst is simulated, and does nothing but game the score" in limits
    assert "Only the upper bound is for all attacks" in limits
    assert ("holds only if the prior is right" in limits) == (result.prior is not None)
    assert ("every label is taken to be equally likely" in limits) == (result.prior is None)
    pointwise = result.run.attack != "linear-scan"
    assert ("The forecast is of first order" in limits) == (pointwise and math.isfinite(result.run.forecast[-1]))
    assert ("works point by point and needs no pictures" in limits) == pointwise
    assert ("has to tell the examples apart" in limits) != pointwise
    optimal = result.run.attack == "nb" and result.run.answers == "exact" and result.run.top is None
    assert ("Theorem 4.2" in limits) == optimal


def test_what_to_do(plain: StressResult, single: StressResult, prior: StressResult, scan: StressResult) -> None:
    def advice(result: StressResult) -> str:
        text = words(part(stress_html(result), "means") + "</section>")
        return text[text.index("What to do next") :]

    text = advice(plain)
    for start in ("Hold back digits", "Limit the number of answers", "Use more examples", "take a fresh set"):
        assert start in text
    two = next(r for r in plain.by_digits if r.digits == 2)
    assert f"exact answers give this analyst {points_text(plain.advantage, sign=True)}" in text
    assert f"answers of 2 digits {points_text(float(two.advantage[-1]), sign=True)} points" in text
    gain, k = min(plain.reach.items())
    assert f"{k} answers bring {100 * gain:g} point" in text
    left = forecast(40_000, 10, 1_000) - 0.1
    assert f"on 40,000 as many answers would bring {points_text(left, sign=True)} points" in text
    assert "Repeat the simulation" not in text
    assert "Repeat the simulation" in advice(single)
    for other in (prior, scan):  # no forecast for these that could be asked
        assert "would bring" not in advice(other)
        assert "the same answers then give away less" in advice(other)


def test_fewer_digits_may_not_be_enough(plain: StressResult) -> None:
    run = plain.run
    fine = replace(plain, by_digits=(run, made(digits=3)))
    assert "Alone that is not enough here" in words(stress_html(fine))
    assert "Alone that is not enough here" not in words(stress_html(plain))  # one digit is


def test_every_number(result: StressResult) -> None:
    command = "heldout stress labels.csv --queries 1000"
    text = words(stress_html(result, command=command))
    run = result.run
    expected = [
        f"n = {run.n_examples:,} example", f"m = {run.n_classes:,} classes", f"k = {result.queries:,} ",
        f"delta = {result.delta:g}", result.version, command, run.title,
        "arXiv:1905.10360", *(f"+{100 * a:g}" for a in result.reach), *(f"{k:,}" for k in result.reach.values()),
    ]  # fmt: skip
    if result.data_digest is not None:
        expected.append(result.data_digest)
    assert not [x for x in expected if x not in text]


def test_facts(prior: StressResult) -> None:
    html = stress_html(prior)
    found = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part(html, "facts") + part(html, "origin")))
    assert plain_spaces(found.pop("Upper bound")) == "holds with probability 95 % (delta = 0.05)"
    assert found == {
        "Test set": "n = 50,000 examples, m = 1,000 classes",
        "Labels": "given",
        "Prior": "resnet50.npz",
        "Attack": "naive Bayes on 10,000 of 50,000 examples, 2 of 1,000 labels at each",
        "Answers": "k = 5,200 exact answers",
        "Trials": "10",
        "heldout": "0.0.test",
        "Source": "resnet50.npz, labels.csv",
        "Seed": "7",
        "Data digest": "ab" * 32,
    }
    assert "only its first 2 are used, see <code>--top</code>" in part(html, "facts")


def test_sections(result: StressResult) -> None:
    html = stress_html(result)
    headings = check_self_contained(html).headings
    lacking = words(part(html, "lacking") + "</section>") if "Not computed" in headings else ""
    for group, heading in GROUPS.items():
        assert (heading in headings) == bool(getattr(result, group))
        name = {"by_classes": "numbers of classes", "by_attack": "attacks", "by_digits": "digits"}[group]
        assert (f"Other {name}: not compared" in lacking) != bool(getattr(result, group))
    data = result.to_dict()
    assert ("How many answers bring how many points" in headings) == bool(result.reach)
    bounds = [data["upper_bound"], data["theorem_bound"], data["expected_bound"]]
    assert ("What nobody can pass" in headings) == any(b is not None for b in bounds)
    assert ("The regime of section 4" in headings) == any(v is not None for v in data["regime"].values())
    assert ("Noticed on the way" in headings) == bool(result.run.notes)
    assert ("Theorem 3.1: " in lacking) == (data["theorem_bound"] is None)
    assert ("Forecast: it cannot be computed" in lacking) == (data["forecast"] is None)
    assert ("Spread: there is one trial only" in lacking) == (data["std"] is None)


def test_nothing_lacks(plain: StressResult, no_forecast: StressResult) -> None:
    assert "Not computed" not in words(stress_html(plain))
    headings = check_self_contained(stress_html(no_forecast)).headings
    assert "What the theory says" not in headings  # nothing is left of it


def test_the_curve_as_numbers(result: StressResult) -> None:
    rows = cells(part(stress_html(result), "curve"))
    curve = result.run.to_dict()
    by_stop = {f"{k:,}": i for i, k in enumerate(curve["queries"])}
    assert rows[-1][0] == f"{result.queries:,}"
    assert len(rows) == min(13, len(by_stop))

    def shown(value: float | None, lacking: str) -> str:
        return lacking if value is None else "vacuous" if value >= 1 else plain_spaces(percent(value, 2))

    for k, accuracy, std, gain, expected, bound, theorem in rows:
        i = by_stop[k]
        assert accuracy == plain_spaces(percent(curve["accuracy"][i], 2))
        assert std == ("not defined" if curve["std"][i] is None else points_text(curve["std"][i]))
        assert gain == points_text(curve["advantage"][i], sign=True)
        assert expected == shown(curve["forecast"][i], "not defined")
        assert bound == shown(curve["upper_bound"][i], "unknown")
        assert theorem == shown(curve["theorem_bound"][i], "not defined")


def test_compared_as_numbers(result: StressResult) -> None:
    html = stress_html(result)
    for group, section in (("by_classes", "classes"), ("by_attack", "attacks"), ("by_digits", "digits")):
        runs: list[dict[str, Any]] = result.to_dict()[group]
        if not runs:
            continue
        rows = cells(part(html, section))
        assert len(rows) == len(runs)
        if group == "by_classes":
            runs.sort(key=lambda r: int(r["n_classes"]))
        unequal = len({r["queries"][-1] for r in runs}) > 1
        for row, run in zip(rows, runs, strict=True):
            expected = [f"{run['queries'][-1]:,}"] if unequal else []
            expected += [points_text(run["advantage"][-1], sign=True), points_text(run["std"][-1])]
            if any(r["forecast"][-1] is not None for r in runs):
                known = run["forecast"][-1]
                expected.append("–" if known is None else points_text(known - run["baseline"], sign=True))
            assert row[1:] == expected
        assert sum("asked for" in row[0] for row in rows) == 1


def test_error_bars(result: StressResult) -> None:
    """One a stop that is drawn; none where the spread is not known."""
    figure = drawings(part(stress_html(result), "curve"))[0]
    stops = len(drawn_stops(result.run))
    assert len(classed(figure, "path", "a bar")) == (0 if result.run.trials == 1 else stops)
    inside = [c for c in classed(figure, "circle", "a fill") if c.find("title") is not None]
    assert len(inside) == stops


@pytest.mark.parametrize(
    "name", ["plain", "vacuous", "fading", "telling", "single", "prior", "scan", "one_stop", "many"]
)
def test_data_are_not_pressed_flat(name: str, request: pytest.FixtureRequest) -> None:
    figure = drawings(part(stress_html(request.getfixturevalue(name)), "curve"))[0]
    heights = [float(c.attrib["cy"]) for c in classed(figure, "circle", "a fill") if c.find("title") is not None]
    assert (HEIGHT - BOTTOM - min(heights)) / (HEIGHT - BOTTOM - TOP - 36) > 0.9 / ROOM


def test_what_was_simulated_lies_on_top(one_stop: StressResult) -> None:
    figure = drawings(part(stress_html(one_stop), "curve"))[0]
    shapes = [e.attrib["class"] for e in figure if e.find("title") is not None]
    assert shapes == ["b fill", "a fill"]


def bound_shapes(result: StressResult) -> list[int]:
    """Lines and markers of the upper bound, legend apart, a picture each."""
    figures = drawings(part(stress_html(result), "curve"))
    found = []
    for figure in figures:
        markers = [p for p in classed(figure, "polygon", "c fill") if p.find("title") is not None]
        found.append(len(classed(figure, "polyline", "c line")) + len(markers))
    return found


def test_bound_in_the_picture(
    plain: StressResult, telling: StressResult, prior: StressResult, vacuous: StressResult, fading: StressResult,
    no_forecast: StressResult,
) -> None:  # fmt: skip
    """Left out with a sentence where it says nothing; whole on log scales where it would press the data flat."""
    assert bound_shapes(telling) == [0, 1]
    assert bound_shapes(plain) == [0, 1]
    assert bound_shapes(prior) == [1, 1]  # it starts inside the first picture and is cut where it leaves it
    assert bound_shapes(fading) == [1]  # a marker: it says something at one stop only
    assert bound_shapes(vacuous) == bound_shapes(no_forecast) == [0]

    def caption(result: StressResult) -> str:
        return words(part(stress_html(result), "curve") + "</section>")

    k = int(vacuous.run.queries[0])
    assert f"no upper bound in the picture: already at {k} answers it excludes nothing" in caption(vacuous)
    assert "no upper bound in the picture: the answers of this mechanism cannot be counted" in caption(no_forecast)
    gain = points_text(float(fading.run.upper_bound[0]) - fading.run.baseline, sign=True)
    assert f"no attack passes {gain} points at 520 answers; at the next stop it excludes nothing" in caption(fading)
    gain = points_text(float(telling.run.upper_bound[-1]) - telling.run.baseline, sign=True)
    assert f"no attack passes {gain} points at 40 answers; the bound lies above this picture." in caption(telling)
    assert "leaves this picture on the way there" in caption(prior)


def test_a_bound_that_fits_needs_no_second_picture(plain: StressResult) -> None:
    run = plain.run
    near = replace(plain, run=replace(run, upper_bound=run.mean + 0.02))
    assert bound_shapes(near) == [1]


def test_no_forecast_no_line(no_forecast: StressResult, plain: StressResult) -> None:
    """Points are joined where no forecast leads the eye."""
    for result, styles in ((no_forecast, ["a line"]), (plain, ["b line"])):
        figure = drawings(part(stress_html(result), "curve"))[0]
        assert [p.attrib["class"] for p in figure.findall("polyline")] == styles


def test_bounds_side_by_side(plain: StressResult, telling: StressResult, prior: StressResult) -> None:
    for result in (plain, telling):
        html = stress_html(result)
        data = result.to_dict()
        rows = cells(html[html.index('aria-label="All bounds"') :])
        for row, key in zip(rows, ("upper_bound", "theorem_bound", "expected_bound"), strict=True):
            vacuous = data[key] >= 1
            assert row[1] == ("vacuous" if vacuous else plain_spaces(percent(data[key], 2)))
            assert row[2] == ("–" if vacuous else points_text(data[key] - data["baseline"], sign=True))
            assert ("excludes nothing" in row[3]) == vacuous
    html = stress_html(prior)
    (row,) = cells(html[html.index('aria-label="All bounds"') :])
    assert row[0] == "Tail under the prior"
    assert row[3].endswith("if the prior is right")


def test_reach(plain: StressResult) -> None:
    html = stress_html(plain)
    rows = cells(html[html.index('aria-label="Answers for a gain"') :])
    known = plain.to_dict()["queries_to_reach"]
    assert {str(float(gain) / 100): int(k.replace(",", "")) for gain, k, _ in rows} == known
    assert all(float(each) == pytest.approx(int(k.replace(",", "")) / 10_000, rel=5e-3) for _, k, each in rows)


def test_regime(plain: StressResult, scan: StressResult, fading: StressResult) -> None:
    text = words(stress_html(plain))
    assert "√(k/n)/m, here 0.0316, from about ln n + m ln m = 32 answers on, which has been reached" in text
    assert "It promises no exact recovery here: 1,000 answers are too few for it" in text
    assert "40 m ln m = 921 answers" in text
    assert "1,000 answers are enough for it" in text
    queries, points = (f"{math.ceil(scan.regime[key]):,}" for key in ("theorem_4_5_queries", "reconstructable"))
    rest = plain_spaces(percent(scan.regime["corollary_4_6_accuracy"], 2))
    assert f"With guesses for the rest that would be an accuracy of {rest}" in words(stress_html(scan))
    assert f"{queries} random queries settle the labels of {points} examples exactly" in words(stress_html(scan))
    assert "It promises no exact recovery here: it is for three classes or more" in words(stress_html(fading))
    few = replace(
        plain, regime={"k_min": 5000.0, "rate": 0.01, "corollary_4_6_applies": 0.0, "reconstructable": math.nan}
    )
    text = words(stress_html(few))
    assert "which has not been reached" in text
    assert "are not enough for it" in text
    assert "Theorem 4.5" not in text


def test_keys_of_the_real_regime() -> None:
    """What `stress` itself hands over is told, a line a theorem."""
    from heldout.attack.stress import stress

    result = stress(400, 3, queries=1_300, trials=2, n_jobs=1)
    assert result.regime["reconstructable"] == 400  # or the test shows nothing
    regime = words(part(stress_html(result), "theory") + "</section>")
    regime = regime[regime.index("The regime of section 4") :]
    queries = math.ceil(result.regime["theorem_4_5_queries"])
    assert f"{queries:,} random queries settle the labels of 400 examples exactly" in regime
    assert "With guesses for the rest" not in regime  # nothing is left to guess
    for theorem in ("Theorem 4.3", "Theorem 4.5", "Corollary 4.6"):
        assert theorem in regime


def test_regime_is_without_the_prior(prior: StressResult, plain: StressResult) -> None:
    known = replace(prior, regime=plain.regime)
    assert "For an analyst without the prior." in words(stress_html(known))
    assert "For an analyst without the prior." not in words(stress_html(plain))


def test_words_for_the_forecast(plain: StressResult, scan: StressResult) -> None:
    assert "16.11 %computed, to first order" in box(stress_html(plain))
    whole = replace(scan, run=replace(scan.run, forecast=scan.run.mean))
    text = words(stress_html(whole))
    assert "The forecast is computed." in text
    assert "first order" not in text
    recovered = replace(whole, run=replace(whole.run, attack="reconstruction"))
    assert "if all attacked labels come back" in box(stress_html(recovered))


def test_some_points_only(plain: StressResult) -> None:
    """What more examples would bring is told only where the forecast is for all points."""
    some = replace(plain, run=replace(plain.run, points=500))
    assert "would bring" in words(stress_html(plain))
    assert "would bring" not in words(stress_html(some))


def test_more_answers_than_examples(vacuous: StressResult, plain: StressResult) -> None:
    assert "no more answers than examples, too; here are 4,000" in words(stress_html(vacuous))
    assert "no more answers than examples" not in words(stress_html(plain))


def test_more_runs_than_styles(many: StressResult) -> None:
    section = part(stress_html(many), "classes")
    (figure,) = drawings(section)
    styles = [p.attrib["class"] for p in figure.findall("polyline")]
    assert len(set(styles)) == 6
    names = {t.text for t in figure.findall("text")}
    assert {"2 classes", "20 classes", "500 classes"} <= names  # both ends and what was asked for
    assert "3 more are in the table only" in words(section + "</section>")
    assert len(cells(section)) == 9


def test_many_stops(many: StressResult) -> None:
    assert len(many.run.queries) == 40
    for log in (False, True):
        shown = drawn_stops(many.run, log=log)
        assert 8 <= len(shown) <= MAX_MARKERS
        assert (shown[0], shown[-1]) == (0, 39)
        assert (np.diff(shown) > 0).all()
    assert f"{len(drawn_stops(many.run))} of 40 stops are drawn" in words(stress_html(many))


def test_a_stop_before_the_first_answer(plain: StressResult) -> None:
    """It stands at 0 on the plain axis and has no place on a log axis."""
    run = replace(plain.run, queries=plain.run.queries - plain.run.queries[0])
    html = stress_html(replace(plain, run=run, by_classes=(run, *plain.by_classes[2:])))
    check_drawings(html)
    linear, log = drawings(part(html, "curve"))
    assert len(classed(linear, "path", "a bar")) == len(classed(log, "path", "a bar")) + 1 == len(run.queries)


def test_log_axes_only_where_all_gain(plain: StressResult) -> None:
    def section(result: StressResult) -> str:
        return words(part(stress_html(result), "classes") + "</section>")

    useless = plain.by_classes[-1]
    useless = replace(useless, accuracy=np.full_like(useless.accuracy, useless.baseline - 1e-4))
    assert "Both scales are logarithmic" in section(plain)
    assert "logarithmic" not in section(replace(plain, by_classes=(*plain.by_classes[:-1], useless)))


def test_stops_in_even_ratios_get_room(plain: StressResult) -> None:
    """Ten stops from 10 to 1,000 would stand on top of each other at the left of a plain axis."""

    def spread(runs: tuple[StressRun, ...]) -> tuple[str, float]:
        html = stress_html(replace(plain, run=runs[0], by_attack=runs, by_digits=(), by_classes=()))
        (figure,) = drawings(part(html, "attacks"))
        places = [float(c.attrib["cx"]) for c in classed(figure, "circle", "a fill") if c.find("title") is not None]
        return str([t.text for t in figure.findall("text")]), float(np.diff(places).min())

    even = np.unique(np.rint(np.geomspace(10, 1_000, 12)).astype(np.int64))
    first, second = (replace(r, queries=even) for r in plain.by_attack[:2])
    names, closest = spread((first, second))
    assert "answers (log scale)" in names
    assert closest > 20
    assert "log scale" not in spread(plain.by_attack[:2])[0]


def test_notes_of_the_others(plain: StressResult) -> None:
    noted = replace(plain.by_attack[1], notes=("Ties were broken at random.",))
    text = words(stress_html(replace(plain, by_attack=(plain.run, noted))))
    assert "majority vote: Ties were broken at random." in text


def test_the_best_attack_is_named_only_at_equal_answers(plain: StressResult, scan: StressResult) -> None:
    assert "Of the attacks compared, naive Bayes does best" in words(stress_html(plain))
    assert "does best" not in words(stress_html(scan))


def test_losing_is_no_gain(no_forecast: StressResult) -> None:
    assert no_forecast.advantage < 0  # or the test shows nothing
    text = words(stress_html(no_forecast))
    assert ("Here that does harm: " if no_forecast.advantage <= -0.0005 else "Here that moves the score by ") in text
    assert "can come from" not in text


@pytest.mark.parametrize("attack", ["nb", "majority", "plurality", "linear-scan", "reconstruction"])
def test_every_attack_is_described(attack: str) -> None:
    run: StressRun = replace(made(m=2, k=50, count=3), attack=attack)
    text = words(stress_html(result_of(run)))
    assert f"puts them together by {run.title}" in text
    assert text.count("The analyst submits") + text.count("The analyst changes") == 1


def test_hostile_text(hostile: StressResult, tmp_path: Path) -> None:
    path = write_stress_report(hostile, tmp_path / "new", command=f"heldout {HOSTILE}")
    assert path == tmp_path / "new" / "report.html"
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html.lower()
    assert "<img" not in html
    for section in ("facts", "origin"):
        assert HOSTILE in words(part(html, section) + "</section>")
    assert f"heldout {HOSTILE}" in words(html)
    check_self_contained(html)


@pytest.mark.parametrize("name", ["plain", "prior", "single", "no_forecast", "scan"])
def test_same_result_same_bytes(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: StressResult = request.getfixturevalue(name)
    before = json.dumps(result.to_dict())
    result.save(tmp_path / "result")
    assert stress_html(StressResult.load(tmp_path / "result")) == stress_html(result)
    assert json.dumps(result.to_dict()) == before


def test_a_parked_analyst_says_what_it_does(prior: StressResult) -> None:
    run = replace(prior.run, digits=2, answers="2 digits", parked=True, chosen=True)
    html = stress_html(replace(prior, run=run))
    text = words(html)
    assert "wrongly on purpose, so many that its scores lie where the rounding changes" in text
    assert "wrongly on purpose" not in words(stress_html(prior))
    facts = words(part(html, "facts") + "</section>")
    assert "chosen by forecast, without labels: the best forecast from the prior alone" in facts
    alone = words(stress_html(replace(prior, run=run, prior=None)))
    assert "keeps its labels fixed at some examples" in alone
    assert "on purpose" not in alone
    assert "parked naive Bayes on 10,000 of 50,000 examples" in text


@pytest.mark.parametrize("gain", [0.0, 0.0003, -0.0003, -0.02, 0.02])
def test_no_gain_is_ever_called_none(plain: StressResult, gain: float) -> None:
    """A sentence says what this analyst gained, not that there is nothing to gain."""
    run = replace(plain.run, accuracy=np.full_like(plain.run.accuracy, plain.run.baseline + gain))
    result = replace(plain, run=run, by_digits=(run, replace(made(digits=2), accuracy=run.accuracy)))
    for text in (str(result), words(stress_html(result))):
        assert "this analyst" in text
        for claim in ("gains nothing", "brings nothing", "answers nothing", "determined"):
            assert claim not in text
