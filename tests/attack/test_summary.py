"""What a stress test says, of results built by hand: curves from the closed forms, trials with binomial noise."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, expected_accuracy_bound, possible_answers
from heldout.attack.forecast import forecast, forecast_top
from heldout.attack.outlook import queries_to_reach
from heldout.attack.public import PublicSplit
from heldout.attack.result import Noticed, StressResult, StressRun
from heldout.attack.stress import _regime, stress
from heldout.attack.summary.evidence import ROOM
from heldout.attack.summary.sentences import HOW, NOTES, TITLES, points
from heldout.errors import InputError
from heldout.summary import Facts, IntervalChart, LineChart, Points, Section, SideBySide, Table
from heldout.summary.numbers import percent
from tests.report.browser import look, needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.pages import check_drawings, check_self_contained, words

DELTA = 0.05
BLUR = {None: 1.0, 3: 0.99, 2: 0.85, 1: 0.05}  # of the queries' worth that digits leave; made up
NAN = math.nan


def stops(k: int, count: int = 12) -> list[int]:
    return sorted({max(1, round(v)) for v in np.linspace(k / count, k, count)})


def made(
    n: int = 10_000, m: int = 10, k: int = 1_000, *, attack: str = "nb", digits: int | None = None, trials: int = 10,
    count: int = 12, seed: int = 0,
) -> StressRun:  # fmt: skip
    """A run without a prior."""
    queries = stops(k, count)
    if attack == "linear-scan":  # about m/2 answers settle a label
        means = [1 / m + (1 - 1 / m) * min(1.0, 2 * q / (m * n)) for q in queries]
    else:
        means = [forecast(n, m, max(1, round(BLUR[digits] * q)), attack=attack) for q in queries]
    rng = np.random.default_rng((seed, m, trials, len(attack), digits or 0))
    values = possible_answers(n, digits)
    return StressRun(
        attack=attack,
        n_examples=n,
        n_classes=m,
        answers="exact" if digits is None else f"{digits} digit{'s' if digits > 1 else ''}",
        digits=digits,
        points=n,
        top=None,
        queries=np.array(queries),
        accuracy=rng.binomial(n, means, size=(trials, len(queries))) / n,
        starts=np.full(trials, 1 / m),
        chance=1 / m,
        forecast=np.array(means if digits is None else [NAN] * len(means)),
        upper_bound=np.array([exact_accuracy_bound(n, m, q, delta=DELTA, answers=values) for q in queries]),
        theorem_bound=np.array([accuracy_bound(n, m, q, delta=DELTA, answers=values) for q in queries]),
    )


def result_of(run: StressRun, **fields: object) -> StressResult:
    """Alone, without any comparison, unless told."""
    n, m, k = run.n_examples, run.n_classes, int(run.queries[-1])
    known: dict[str, object] = {
        "run": run,
        "by_attack": (),
        "by_digits": (),
        "by_classes": (),
        "expected_bound": expected_accuracy_bound(n, m, k) if run.digits is None else NAN,
        "reach": {a: queries_to_reach(a, n, m) for a in (0.01, 0.02, 0.05, 0.1)},
        "regime": _regime(n, m, k),
        "seed": 7,
        "delta": DELTA,
        "labels": "uniform at random",
        "prior": None,
        "source": f"{n:,} examples, {m} classes",
        "data_digest": None,
        "version": "0.0.test",
        "created": "2026-01-31",
    }
    return StressResult(**(known | fields))  # type: ignore[arg-type]


def plain() -> StressResult:
    """Ten classes, a thousand answers, everything compared; the theorem is vacuous, the exact tail is not."""
    run = made()
    return result_of(
        run,
        by_attack=(run, made(attack="majority"), made(attack="plurality"), made(attack="linear-scan")),
        by_digits=(run, made(digits=3), made(digits=2), made(digits=1)),
        by_classes=(made(m=2), run, made(m=100), made(m=1000)),
        gain_on_fourfold=forecast(40_000, 10, 1_000) - 0.1,
    )


def prior() -> StressResult:
    """A model's top two on the points it is least sure of: the theorem knows no prior."""
    n, q, base, queries = 50_000, 10_000, 0.751, stops(5_200)
    expected = np.array([0.2 * forecast_top(q, 2, k, share=0.72) for k in queries])
    expected += base - 0.2 * forecast_top(q, 2, 0, share=0.72)
    run = StressRun(
        attack="nb",
        n_examples=n,
        n_classes=1000,
        answers="exact",
        digits=None,
        points=q,
        top=2,
        queries=np.array(queries),
        accuracy=np.random.default_rng(3).normal(expected, 0.0008, size=(10, len(queries))),
        starts=np.full(10, base),
        chance=base,
        forecast=expected,
        upper_bound=np.array([min(1.0, base + 0.00004 * k) for k in queries]),
        theorem_bound=np.full(len(queries), NAN),
        noticed=(Noticed(kind="commonest", values={"share": 0.9}),),
    )
    files = {"source": "resnet50.npz, labels.csv", "prior": "resnet50.npz", "data_digest": "ab" * 32}
    return result_of(run, expected_bound=NAN, reach={}, labels="given", **files)


def no_forecast() -> StressResult:
    """Answers by another mechanism: nothing in closed form, nothing to count; and it loses."""
    run = made(m=4, k=600)
    unknown = np.full(len(run.queries), NAN)
    run = replace(
        run, answers="Ladder(step=0.01)", forecast=unknown, upper_bound=unknown, theorem_bound=unknown,
        accuracy=np.random.default_rng(1).binomial(10_000, 0.2499, run.accuracy.shape) / 10_000,
    )  # fmt: skip
    return result_of(run, expected_bound=NAN)


def scan() -> StressResult:
    """A linear scan with answers of three digits, compared with naive Bayes at fewer answers."""
    run = made(m=5, k=2_000, attack="linear-scan", digits=3)
    return result_of(run, by_attack=(run, made(m=5, k=500, digits=3)), expected_bound=NAN)


def one_stop() -> StressResult:
    """A single number of answers: no curve to speak of."""
    run = made(k=100, count=1)
    return result_of(run, by_attack=(run, made(k=100, count=1, attack="majority")))


def many() -> StressResult:
    """More numbers of classes than there are styles of lines."""
    runs = [made(m=m, k=2_000, count=40) for m in (2, 3, 5, 10, 20, 50, 100, 200, 500)]
    return result_of(runs[4], by_classes=tuple(runs))


def hostile() -> StressResult:
    """Names that want to break out of the page."""
    noticed = (Noticed(kind="unseen_step", values={"step": 0.1, "answers": HOSTILE}),)
    run = replace(made(m=3, k=300), answers=HOSTILE, noticed=noticed)
    other = replace(made(m=3, k=300, digits=2), digits=None, answers="\N{RIGHT-TO-LEFT OVERRIDE}" + "y" * 300)
    return result_of(
        run, by_digits=(run, other), source=f"{HOSTILE}\udcff", labels=HOSTILE, prior=HOSTILE, data_digest="cd" * 32
    )


def public() -> StressResult:
    """Thirty percent are public."""
    rng = np.random.default_rng(5)
    gains = {"public": rng.normal(0.06, 0.005, 10), "private": rng.normal(-0.004, 0.002, 10)}
    split = PublicSplit(share=0.3, n_public=3_000, n_private=7_000, face_value=True, **gains)
    run = made(n=3_000)
    return result_of(run, public=split, by_digits=(run, made(n=3_000, digits=2)), source="10,000 examples, 10 classes")


def public_reconstruction() -> StressResult:
    """Nobody can reconstruct what he does not know."""
    split = PublicSplit(share=0.3, n_public=3_000, n_private=7_000, public=np.zeros(0), private=np.zeros(0))
    return result_of(replace(made(n=3_000), attack="reconstruction"), public=split)


VARIANTS = {
    "plain": plain,
    "vacuous": lambda: result_of(made(n=2_000, m=2, k=4_000, count=10)),  # at every stop
    "fading": lambda: result_of(made(m=2, k=5_200, count=10)),  # the bound says something at the first stop only
    "telling": lambda: result_of(made(k=40, count=8)),  # at every stop
    "single": lambda: result_of(made(trials=1)),
    "prior": prior,
    "no_forecast": no_forecast,
    "scan": scan,
    "one_stop": one_stop,
    "many": many,
    "hostile": hostile,
    "public": public,
    "public_reconstruction": public_reconstruction,
}


@cache
def variant(name: str) -> StressResult:
    return VARIANTS[name]()


@pytest.fixture(params=VARIANTS)
def result(request: pytest.FixtureRequest) -> StressResult:
    """Each of them in turn."""
    return variant(request.param)


def section(result: StressResult, title: str) -> Section:
    return next(s for s in result.summary().sections if s.title == title)


def titles(result: StressResult) -> list[str]:
    return [s.title for s in result.summary().sections]


def items(result: StressResult, title: str) -> str:
    (found,) = (b for b in section(result, title).blocks if isinstance(b, Points))
    return "\n".join(found.items)


def tables(result: StressResult, title: str) -> list[Table]:
    return [b for b in section(result, title).blocks if isinstance(b, Table)]


def curves(result: StressResult) -> tuple[LineChart, ...]:
    (block,) = section(result, "What the answers give away").blocks
    charts = block.charts if isinstance(block, SideBySide) else (block,)
    return tuple(c for c in charts if isinstance(c, LineChart))


def test_every_rendering(result: StressResult, tmp_path) -> None:
    html = result.html(command="heldout stress --classes 10")
    check_self_contained(html)
    check_drawings(html)
    for rendered in (html, result.markdown(), result._repr_html_()):
        assert "<script" not in rendered
        assert "<img" not in rendered
    for text in (words(html), result.markdown(), str(result)):
        assert not re.search(r"\bnan\b|\bNone\b", text)
        assert not re.search(r"\b1 (answers|trials|digits|examples)\b", text)
    assert max(map(len, str(result).splitlines())) <= 118 or result is variant("hostile")
    result.save(tmp_path / "result")
    again = StressResult.load(tmp_path)
    assert again == result
    assert again.to_dict() == json.loads((tmp_path / "result.json").read_text())
    assert (str(again), again.markdown()) == (str(result), result.markdown())
    assert again.html(command="heldout stress --classes 10") == html


def test_loaded_results_need_neither_torch_nor_the_data(tmp_path) -> None:
    variant("plain").save(tmp_path / "result")
    code = (
        "import sys; from heldout import StressResult; r = StressResult.load(sys.argv[1]); "
        "str(r), r.markdown(), r.html(); print({'torch', 'onnxruntime', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_other_files_are_refused(tmp_path) -> None:
    np.savez(tmp_path / "result.npz", record=np.array(json.dumps({"format": 2, "seed": 1})))
    with pytest.raises(InputError, match="another version of heldout"):
        StressResult.load(tmp_path)


def test_key_figures(result: StressResult) -> None:
    data, summary = result.to_dict(), result.summary()
    shown = {f.name: f.value for f in summary.figures}
    bound, expected = data["upper_bound"], data["forecast"]
    assert shown == {
        "Accuracy before": percent(data["baseline"], 2),
        "Accuracy after": percent(data["accuracy"], 2),
        "Forecast": "none" if expected is None else percent(expected, 2),
        "Upper bound": "unknown" if bound is None else "vacuous" if bound >= 1 else percent(bound, 2),
    }
    lines = dict(summary.lines)
    assert float(lines["accuracy after"]) == pytest.approx(data["accuracy"], abs=5e-5)
    assert float(lines["advantage"].split()[0]) == pytest.approx(data["advantage"], abs=5e-5)
    assert ("sd" in lines["advantage"]) == (data["std"] is not None)
    origin = dict(summary.origin)
    assert (origin["Date"], origin["Seed"]) == ("2026-01-31", "7")
    assert origin.get("Data digest") == data["data_digest"]


@pytest.mark.parametrize("gain", [0.0, 0.0003, -0.0003, -0.02, 0.02])
def test_no_gain_is_ever_called_none(gain: float) -> None:
    """A sentence says what this analyst gained, not that there is nothing to gain."""
    run = made()
    run = replace(run, accuracy=np.full_like(run.accuracy, run.baseline + gain))
    result = result_of(run, by_digits=(run, replace(made(digits=2), accuracy=run.accuracy)))
    text, harm = words(result.html()), gain < -0.0005
    assert ("loses" in result.summary().headline) == (gain < 0)
    assert ("the guess it starts from is better" in result.summary().headline) == harm
    assert ("two-digit" in result.summary().headline) == (gain > 0.0005)
    assert ("does harm" in text) == harm
    for claim in ("gains nothing", "brings nothing", "answers nothing", "determined"):
        assert claim not in text


def test_headlines() -> None:
    assert variant("plain").summary().headline.startswith("After 1,000 answers this analyst gains 6.")
    one = result_of(made(k=1, count=1))
    assert one.summary().headline.startswith("After 1 answer this analyst ")
    assert "2,000 answers of 3 digits this analyst (linear scan)" in variant("scan").summary().headline


def test_a_public_headline_is_built_from_the_measured_gain() -> None:
    """On both parts, and before the clause about digits, which is about the public part."""
    result = variant("public")
    split, text = result.public, result.summary().headline
    private = f"−{-100 * split.gain_private:.1f} ± {100 * split.std_private / math.sqrt(10):.1f} on the private one"
    assert split.gain_private < 0
    assert text.index("on the public part") < text.index(private) < text.index("with two-digit answers")
    better = replace(result, public=replace(split, private=-split.private))
    assert f"(+{-100 * split.gain_private:.1f} ± " in better.summary().headline
    once = replace(result, public=replace(split, public=split.public[:1], private=split.private[:1]))
    assert "±" not in once.summary().headline
    assert variant("public_reconstruction").summary().headline.endswith("points on the public part.")


def test_public_part() -> None:
    result = variant("public")
    prose, chart = section(result, "A public and a private part").blocks
    assert isinstance(chart, IntervalChart)
    gains = [result.advantage, result.public.gain_public, result.public.gain_private]
    assert [i.value for i in chart.intervals] == pytest.approx([100 * g for g in gains])
    assert chart.intervals[2].interval == pytest.approx(
        [100 * (gains[2] + s * result.public.std_private) for s in (-1, 1)]
    )
    assert "so it loses there" in prose.text
    assert "face value" in prose.text
    assert "(3,000 public, 7,000 private)" in result.summary().subject
    assert {"public part", "without knowing it", "share that transfers"} <= set(dict(result.summary().lines))
    alone = variant("public_reconstruction")
    assert len(section(alone, "A public and a private part").blocks[1].intervals) == 1
    assert "share that transfers" not in dict(alone.summary().lines)


def test_subject_once() -> None:
    """Numbers that are their own source are not repeated."""
    assert variant("plain").summary().subject == "10,000 examples, 10 classes"
    assert variant("prior").summary().subject == "resnet50.npz, labels.csv: 50,000 examples, 1,000 classes"


def test_sections(result: StressResult) -> None:
    shown, data = titles(result), result.to_dict()
    assert shown[:3] == ["What this means", "What it does not mean", "What to do next"]
    missing = items(result, "Not computed") if "Not computed" in shown else ""
    for group, title, name in (
        ("by_classes", "How the number of classes matters", "numbers of classes"),
        ("by_attack", "Attack against attack", "attacks"),
        ("by_digits", "Answers with fewer digits", "digits"),
    ):
        assert (title in shown) == bool(getattr(result, group)) != (f"Other {name}" in missing)
    assert ("How many answers bring how many points" in shown) == bool(result.reach) != ("given gain" in missing)
    bounds = [data["upper_bound"], data["theorem_bound"], data["expected_bound"]]
    assert ("What nobody can pass" in shown) == any(b is not None for b in bounds)
    assert ("Noticed on the way" in shown) == bool(result.run.noticed)
    for name, key in (("Theorem 3.1", "theorem_bound"), ("Forecast", "forecast"), ("Spread", "std")):
        assert (f"{name}: " in missing) == (data[key] is None)
    assert ("A public and a private part" in shown) == (result.public is not None)


def test_limits(result: StressResult) -> None:
    limits, run = items(result, "What it does not mean"), result.run
    assert "It accuses nobody" in limits
    assert ("only if the prior is right" in limits) == (result.prior is not None)
    assert ("equally likely" in limits) == (result.prior is None)
    assert ("first order" in limits) == (run.pointwise and math.isfinite(result.forecast))
    assert ("point by point and needs no pictures" in limits) == run.pointwise
    best = run.attack == "nb" and run.answers == "exact" and run.top is None
    assert ("Theorem 4.2" in limits) == best


def test_what_to_do() -> None:
    result = variant("plain")
    text, two = items(result, "What to do next"), next(r for r in result.by_digits if r.digits == 2)
    gain, k = min(result.reach.items())
    for part in (
        points(result.advantage), f"{points(two.advantage[-1])} points", f"{k} answers bring {100 * gain:g} point.",
        "on 40,000 ", points(forecast(40_000, 10, 1_000) - 0.1),
    ):  # fmt: skip
        assert part in text
    assert "not enough" not in text
    fine = replace(result, by_digits=result.by_digits[:2])
    assert "not enough" in items(fine, "What to do next")
    assert "Repeat" in items(variant("single"), "What to do next")
    assert "would bring" not in items(variant("prior"), "What to do next")


def test_meaning() -> None:
    text = items(variant("plain"), "What this means")
    assert "naive Bayes does best" in text
    assert "The more classes, the less" in text
    assert "does best" not in items(variant("scan"), "What this means")  # not at equal answers
    run = replace(variant("prior").run, digits=2, answers="2 digits", parked=True, chosen=True)
    for prior, moves in (("resnet50.npz", "wrongly on purpose"), (None, "labels fixed")):
        parked = replace(variant("prior"), run=run, prior=prior)
        assert moves in items(parked, "What this means")
        (facts,) = (b for b in section(parked, "What went in").blocks if isinstance(b, Facts))
        assert moves in dict(facts.rows)["Parked"]
        assert "parked naive Bayes on 10,000 of 50,000 examples" in dict(facts.rows)["Attack"]
        assert "chosen by forecast, without labels" in dict(facts.rows)["Attack"]
    assert HOW.keys() == TITLES.keys()


def test_the_curve(result: StressResult) -> None:
    """Every number of it, and the data fill the chart."""
    chart, *log = curves(result)
    run = result.run
    lines = {s.name.split(",")[0]: s for s in chart.series}
    np.testing.assert_allclose(lines["simulated"].y, 100 * (run.mean - run.baseline))
    np.testing.assert_allclose(lines["simulated"].high, 100 * (run.advantage + run.std))
    assert ("forecast" in lines) == math.isfinite(result.forecast) != lines["simulated"].joined
    for name, bound in (("upper bound", run.upper_bound), ("Theorem 3.1", run.theorem_bound)):
        expected = np.where(bound < 1, 100 * (bound - run.baseline), NAN)
        np.testing.assert_allclose(lines[name].y, expected)
        assert lines[name].missing == ("vacuous" if (bound >= 1).any() else "not defined")
    assert len(chart.rows()) == len(run.queries)
    assert chart.y.range is not None
    low, high = chart.y.range
    if result.advantage > 0.0005:
        assert (100 * run.advantage.max() - low) / (high - low) > 0.9 / ROOM
    assert not any(c.columns() for c in log)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("telling", [False, True]),
        ("plain", [False, True]),
        ("prior", [True, True]),  # it starts inside the first chart and is cut where it leaves it
        ("fading", [True]),  # a marker: it says something at one stop only
        ("vacuous", [False]),
        ("no_forecast", [False]),
    ],
)
def test_bound_in_the_chart(name: str, drawn: list[bool]) -> None:
    """Left out with a sentence where it says nothing; whole on log scales where it would press the data flat."""
    charts = curves(variant(name))
    assert [next(s for s in c.series if s.name == "upper bound").drawn for c in charts] == drawn
    told = {"telling": "is above this chart", "plain": "is above this chart", "prior": "leaves this chart"}
    told |= {"fading": "at the next stop", "vacuous": "excludes nothing", "no_forecast": "cannot be counted"}
    assert told[name] in charts[0].caption
    near = replace(variant("plain").run, upper_bound=variant("plain").run.mean + 0.02)
    assert len(curves(result_of(near))) == 1


def test_compared_as_numbers(result: StressResult) -> None:
    for group, title in (
        ("by_classes", "How the number of classes matters"),
        ("by_attack", "Attack against attack"),
        ("by_digits", "Answers with fewer digits"),
    ):
        runs: tuple[StressRun, ...] = getattr(result, group)
        if not runs:
            continue
        (table,) = tables(result, title)
        unequal = len({int(r.queries[-1]) for r in runs}) > 1
        known = any(math.isfinite(r.forecast[-1]) for r in runs)
        for row, run in zip(table.rows, runs, strict=True):
            expected = [f"{int(run.queries[-1]):,}"] * unequal + [points(run.advantage[-1])]
            expected += [points(run.std[-1], sign=False)] + ["–"] * known
            if math.isfinite(run.forecast[-1]):
                expected[-1] = points(run.forecast[-1] - run.baseline)
            assert list(row.cells[1:]) == expected
            assert row.chosen == (run is result.run)
        (chart,) = (b for b in section(result, title).blocks if isinstance(b, LineChart))
        for series, run in zip(chart.series, runs, strict=True):
            np.testing.assert_allclose(series.y, 100 * run.advantage)


def test_log_axes_only_where_all_gain() -> None:
    def kind(result: StressResult) -> str:
        chart = section(result, "How the number of classes matters").blocks[0]
        assert isinstance(chart, LineChart)
        return chart.y.kind

    result = variant("plain")
    useless = result.by_classes[-1]
    useless = replace(useless, accuracy=np.full_like(useless.accuracy, useless.baseline - 1e-4))
    assert kind(result) == "log"
    assert kind(replace(result, by_classes=(*result.by_classes[:-1], useless))) == "linear"


def test_theory() -> None:
    for name, rows in (("plain", 3), ("telling", 3), ("prior", 1)):
        result = variant(name)
        data = result.to_dict()
        (table,) = tables(result, "What nobody can pass")
        assert len(table.rows) == rows
        for row, key in zip(table.rows, ("upper_bound", "theorem_bound", "expected_bound"), strict=False):
            vacuous = data[key] >= 1
            assert row.cells[1] == ("vacuous" if vacuous else percent(data[key], 2))
            assert row.cells[2] == ("–" if vacuous else points(data[key] - data["baseline"]))
    (table,) = tables(variant("plain"), "How many answers bring how many points")
    known = variant("plain").to_dict()["queries_to_reach"]
    assert {str(float(r.cells[0]) / 100): int(str(r.cells[1]).replace(",", "")) for r in table.rows} == known


@pytest.mark.parametrize(
    ("name", "theorem", "told"),
    [
        ("plain", "Theorem 4.3", "here 0.0316, from about ln n + m ln m = 32 answers on, which has been reached"),
        ("plain", "Theorem 4.5", "1,000 answers are too few"),
        ("plain", "Corollary 4.6", "40 m ln m = 921 answers on"),
        ("plain", "Corollary 4.6", "1,000 answers are enough"),
        ("one_stop", "Corollary 4.6", "100 answers are not enough"),
        ("vacuous", "Theorem 4.3", "no more answers than examples; here there are 4,000"),
        ("fading", "Theorem 4.5", "three classes or more"),
        ("scan", "Theorem 4.5", "With guesses for the rest"),
    ],
)
def test_regime(name: str, theorem: str, told: str) -> None:
    *_, facts = section(variant(name), "The regime of section 4").blocks
    assert isinstance(facts, Facts)
    assert told in dict(facts.rows)[theorem]


def test_notes() -> None:
    """Of the run itself they are printed; those of the others stand with their comparison."""
    assert section(variant("prior"), "Noticed on the way").printed
    assert "0.9000" in items(variant("prior"), "Noticed on the way")
    result = variant("plain")
    noted = replace(result.by_attack[1], noticed=(Noticed(kind="scan_better", values={"accuracy": 0.5}),))
    noted_too = replace(result, by_attack=(result.run, noted))
    assert items(noted_too, "Attack against attack").startswith("majority vote: ")
    assert noted_too.to_dict()["by_attack"][1]["notes"] == list(noted.notes)
    assert all(re.search(r"{\w+", text) for text in NOTES.values())


def test_the_date_can_be_set(monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    result = stress(100, 2, queries=5, trials=1)
    assert result.to_dict()["created"] == dict(result.summary().origin)["Date"] == "1970-01-02"


def key_paths(plain: object, at: str = "") -> set[str]:
    if isinstance(plain, dict):
        return {f"{at}.{k}".lstrip(".") for k in plain}.union(*(key_paths(v, f"{at}.{k}") for k, v in plain.items()))
    return set().union(*(key_paths(v, f"{at}[]") for v in plain)) if isinstance(plain, list) else set()


def test_no_key_of_the_json_is_ever_lost() -> None:
    """json_keys.txt holds those of the first release that had a stress test."""
    expected = (Path(__file__).parent / "json_keys.txt").read_text().split("\n")[:-1]
    found = set().union(*(key_paths(variant(name).to_dict()) for name in VARIANTS))
    assert set(expected) <= found


@needs_chromium
def test_fits_a_phone(tmp_path) -> None:
    found = look(variant("hostile").html(command="heldout stress " + "very-long-path/" * 20), tmp_path, width=360)
    assert (found["client"], found["scroll"], found["wide"]) == (360, 360, [])
    assert set(found["cut"]) == {0}
