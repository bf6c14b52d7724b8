"""What a stress test says, of results built by hand: curves from the closed forms, trials with binomial noise."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, expected_accuracy_bound, possible_answers
from heldout.attack.forecast import forecast
from heldout.attack.outlook import queries_to_reach
from heldout.attack.public import PublicSplit
from heldout.attack.result import Noticed, StressResult, StressRun
from heldout.attack.stress import _regime, stress
from heldout.attack.summary import HOW, NOTES, TITLES, points
from heldout.summary import LineChart, Table, fixed, percent
from tests.attack.test_forecast import forecast_top
from tests.report.browser import needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.pages import words
from tests.report.summaries import (
    blocks,
    check_fits_a_phone,
    check_renderings,
    check_renders_alone,
    facts,
    items,
    section,
    titles,
)

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
    """A linear scan with answers of three digits, compared with naive Bayes."""
    run = made(m=5, k=2_000, attack="linear-scan", digits=3)
    return result_of(run, by_attack=(run, made(m=5, k=2_000, digits=3)), expected_bound=NAN)


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


def test_every_rendering(result: StressResult, tmp_path) -> None:
    check_renderings(result, tmp_path)


def test_renders_alone(tmp_path) -> None:
    check_renders_alone([variant("plain")], tmp_path)


def test_key_figures(result: StressResult) -> None:
    data, summary = result.to_dict(), result.summary()
    keys = ("baseline", "accuracy", "forecast", "upper_bound")
    values = [NAN if data[key] is None else data[key] for key in keys]
    assert [f.value for f in summary.figures] == [percent(value, 2) for value in values]
    lines = dict(summary.lines)
    for name, value in zip(("Accuracy before", "Accuracy after", "Forecast", "Upper bound"), values, strict=True):
        assert lines[name].startswith(f"{fixed(value)} (")
    assert f"{points(result.advantage)} points, sd {points(result.std, sign=False)}" in lines["Accuracy after"]
    reason = lines["Upper bound"]
    assert ("vacuous" in reason) == (values[3] >= 1)
    assert ("no attack passes it" in reason) == (values[3] < 1)
    assert ("if the prior is right" in reason) == (values[3] < 1 and result.prior is not None)
    assert lines["Published bound"].startswith(f"{fixed(result.theorem_bound)} (Theorem 3.1")
    assert all(name[0].isupper() for name in lines)
    assert ("Answers needed" in lines) == bool(result.reach)
    origin = dict(summary.origin)
    assert (origin["Date"], origin["Seed"]) == ("2026-01-31", "7")
    assert origin.get("Data digest") == data["data_digest"]


@pytest.mark.parametrize("gain", [0.0, 0.0003, -0.0003, -0.02, 0.02])
def test_no_gain_is_ever_called_none(gain: float) -> None:
    """A sentence says what this analyst gained, not that there is nothing to gain."""
    run = made()
    run = replace(run, accuracy=np.full_like(run.accuracy, run.baseline + gain))
    result = result_of(run, by_digits=(run, replace(made(digits=2), accuracy=run.accuracy)))
    text, headline = words(result.html()), result.summary().headline
    assert ("loses" in headline) == ("guess it starts from is better" in text) == (gain < 0)
    for claim in ("gains nothing", "brings nothing", "answers nothing", "determined"):
        assert claim not in text


def test_headlines() -> None:
    assert variant("plain").summary().headline.startswith("After 1,000 answers this analyst gains 6.")
    assert result_of(made(k=1, count=1)).summary().headline.startswith("After 1 answer this analyst ")
    assert "2,000 answers of 3 digits this analyst (linear scan)" in variant("scan").summary().headline
    assert variant("public").summary().headline.endswith(" points on the public part (private, not known: −0.5 ± 0.1)")
    assert variant("plain").summary().subject == "10,000 examples, 10 classes"  # its own source is not repeated
    assert variant("prior").summary().subject == "resnet50.npz, labels.csv: 50,000 examples, 1,000 classes"


def test_public_part() -> None:
    result, name = variant("public"), "A public and a private part"
    split, (board,) = result.public, blocks(result, Table, name)
    gains = [result.advantage, split.gain_public, split.gain_private]
    assert [row.cells[1:3] for row in board.rows] == [
        (n, points(gain)) for n, gain in zip(("3,000", "3,000", "7,000"), gains, strict=True)
    ]
    std = split.std_private
    assert result.summary().sentences[1].endswith("describe the public part: 3,000 of 10,000 examples.")
    assert len(variant("plain").summary().sentences) == 1
    assert board.rows[2].cells[3:] == (points(std, sign=False), points(std / math.sqrt(10), sign=False))
    assert facts(result, name)["Share that transfers"].startswith(percent(split.transfers))
    assert "Rounded answers" in facts(result, name)
    assert "labels of private examples are in no answer" in items(result, "What it does not mean")
    alone = variant("public_reconstruction")
    assert len(blocks(alone, Table, name)[0].rows) == 1
    assert alone.summary().headline.endswith(" points on the public part")
    assert "Not known" in facts(alone, name)


def test_sections(result: StressResult) -> None:
    shown, missing = titles(result), facts(result, "What went in").get("Not computed", "")
    assert shown[:3] == ["What this means", "What it does not mean", "What to do next"]
    for title, what, found in (
        ("How the number of classes matters", "other classes", result.by_classes),
        ("Attack against attack", "other attacks", result.by_attack),
        ("Answers with fewer digits", "other answers", result.by_digits),
        ("How many answers bring how many points", "answers needed", result.reach),
    ):
        assert (title in shown) == bool(found) != (what in missing)
    assert ("Noticed on the way" in shown) == bool(result.run.noticed)
    assert ("A public and a private part" in shown) == (result.public is not None)
    assert points(result.gain_on_fourfold) in items(result, "What to do next")
    assert ("a single trial" in items(result, "What to do next")) == (result.run.trials == 1)
    assert HOW[result.run.attack] in items(result, "What this means")
    assert HOW.keys() == TITLES.keys()


@pytest.mark.parametrize(("prior", "moves"), [("resnet50.npz", "wrongly on purpose"), (None, "labels fixed")])
def test_what_went_in(prior: str | None, moves: str) -> None:
    run = replace(variant("prior").run, digits=2, answers="2 digits", parked=True, chosen=True)
    told = facts(replace(variant("prior"), run=run, prior=prior), "What went in")
    assert moves in told["Parked"]
    assert ("Prior" in told) == (prior is not None)
    assert told["Attack"].startswith(
        "parked naive Bayes on 10,000 of 50,000 examples, 2 of 1,000 labels at each (chosen"
    )


def test_the_curve(result: StressResult) -> None:
    """Every number of it; on log scales where there is a gain in the end."""
    (chart,), run = blocks(result, LineChart, "What the answers give away"), result.run
    lines = {s.name: s for s in chart.series}
    np.testing.assert_allclose(lines["simulated"].y, 100 * (run.mean - run.baseline))
    np.testing.assert_allclose(lines["simulated"].high, 100 * (run.advantage + run.std))
    assert lines["forecast"].drawn == math.isfinite(result.forecast) != lines["simulated"].joined
    for name, bound in (("upper bound", run.upper_bound), ("published bound", run.theorem_bound)):
        np.testing.assert_allclose(lines[name].y, np.where(bound < 1, 100 * (bound - run.baseline), NAN))
        assert lines[name].missing == ("vacuous" if (bound >= 1).any() else "not defined")
        assert lines[name].drawn == bool((bound < 1).any() and result.advantage > 0)
        assert lines[name].markers == (np.count_nonzero(bound < 1) == 1)
    assert len(chart.rows()) == len(run.queries)
    assert (chart.y.kind, chart.reference is None) == (("log", True) if result.advantage > 0 else ("linear", False))


def test_compared_as_numbers(result: StressResult) -> None:
    for runs, title in (
        (result.by_classes, "How the number of classes matters"),
        (result.by_attack, "Attack against attack"),
        (result.by_digits, "Answers with fewer digits"),
    ):
        for table, chart in zip(blocks(result, Table, title), blocks(result, LineChart, title), strict=True):
            for row, series, run in zip(table.rows, chart.series, runs, strict=True):
                forecast = points(run.forecast[-1] - run.chance)
                assert row.cells[1:] == (points(run.advantage[-1]), points(run.std[-1], sign=False), forecast)
                assert row.chosen == (run is result.run)
                np.testing.assert_allclose(series.y, 100 * run.advantage)
            assert chart.y.kind == ("log" if all(run.advantage[-1] > 0 for run in runs) else "linear")


def test_theory(result: StressResult) -> None:
    data = result.to_dict()
    (table,) = blocks(result, Table, "What nobody can pass")
    for row, key in zip(table.rows, ("upper_bound", "theorem_bound", "expected_bound"), strict=True):
        bound = NAN if data[key] is None else data[key]
        assert row.cells[1:3] == (percent(bound, 2), points(bound - data["baseline"]))
    for table in blocks(result, Table, "How many answers bring how many points"):
        shown = {str(float(r.cells[0]) / 100): int(str(r.cells[1]).replace(",", "")) for r in table.rows}
        assert shown == data["queries_to_reach"]
    told, regime = facts(result, "The regime of section 4"), data["regime"]
    assert f"{regime['rate']:.4f}" in told["Theorem 4.3"]
    assert f"half, given three classes or more: {regime['reconstructable']:,.0f} (" in told["Theorem 4.5"]
    for name, key in (("Theorem 4.3", "theorem_4_3_applies"), ("Corollary 4.6", "corollary_4_6_applies")):
        assert told[name].endswith("Applies here: yes." if regime[key] else "Applies here: no.")


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
    check_fits_a_phone(variant("hostile"), tmp_path, width=360)
