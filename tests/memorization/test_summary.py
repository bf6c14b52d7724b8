"""What the summary says of each kind of result, and that every rendering of it holds."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout import summary as page
from heldout.memorization.curve import PMV, PTV, Curve, Exhibits
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP, Ranked, Ranking
from heldout.memorization.result import Audited, MemorizationResult
from heldout.memorization.retrained import LabelNoiseCurve, few_trainings
from heldout.memorization.summary import _order
from heldout.memorization.summary.answer import disputed as disputed_ends
from heldout.memorization.summary.answer import perturbation_text
from heldout.memorization.summary.sections import LINES, MOST_STRENGTHS
from heldout.summary import fixed, name_text, pair
from tests.report.browser import PHONE, look, needs_chromium
from tests.report.kitchen_sink import HOSTILE, MARKUP
from tests.report.pages import check_drawings, check_self_contained, words

N = 240
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SUDDEN, EVEN, SLOW = (1.0, 0.95, 0.3, 0.1, 0.0), (0.95, 0.75, 0.55, 0.35, 0.15), (0.99, 0.97, 0.94, 0.9, 0.8)
DAY = "2026-01-31"


def fallen(accuracies: Sequence[float], n: int, *, seed: int = 0) -> np.ndarray:
    """(p, n) bool: each example is right down to a place of its own."""
    place = np.random.default_rng(seed).permutation(n)
    return np.array([place < round(a * n) for a in accuracies])


def pictures(strengths: int, *, side: int = 8, channels: int = 3, seed: int = 0) -> Exhibits:
    rng = np.random.default_rng(seed)
    return Exhibits(
        rows=np.arange(4) * 1_111,
        labels=np.arange(4) % 10,
        pictures=rng.integers(0, 256, (4, strengths, side, side, channels), dtype=np.uint8),
        right=np.arange(strengths) < rng.integers(1, strengths + 1, size=(4, 1)),
    )


def perturbed(
    model: str, name: str, accuracies: Sequence[float], strengths: Sequence[float] | None = None, *, n: int = N,
    unit: str = "1/255 of the pixel range", **others: object,
) -> Curve:  # fmt: skip
    """A curve of a finished model."""
    return Curve.of(
        model=model,
        perturbation=name,
        unit="severity" if name in CORRUPTIONS else unit,
        strengths=np.arange(len(accuracies), dtype=float) if strengths is None else np.array(strengths, dtype=float),
        correct=fallen(accuracies, n)[:, None, :],
        done=np.ones((len(accuracies), 1), dtype=bool),
        even=name not in CORRUPTIONS,
        seed=0,
        **others,
    )


def noisy(
    model: str, accuracy: float, learned: float, *, rates: Sequence[float] = RATES, seeds: int = 5, n: int = N,
    lost: Sequence[int] = (), validation: float | None = None, unfit: str | None = None,
) -> LabelNoiseCurve:  # fmt: skip
    """Two curves of a model that learns a share of wrong labels (1: all) by heart; rates in `lost` failed."""
    clean = [[accuracy - learned * r + 0.01 * np.sin(7 * s + 40 * r) for s in range(seeds)] for r in rates]
    seen = [[accuracy * (1 - r) + learned * r - 0.01 * np.sin(5 * s + r) for s in range(seeds)] for r in rates]
    done = np.ones((len(rates), seeds), dtype=bool)
    done[list(lost)] = False
    curves = {}
    for kind, table in ((PMV, seen), (PTV, clean)):
        correct = np.array([[fallen([min(1.0, a)], n, seed=s)[0] for s, a in enumerate(row)] for row in table])
        strengths, ok, alone = np.array(rates), done, len(rates) == 1
        if alone and kind == PTV:  # as heldout.memorization.retrained does
            strengths, ok = np.append(0.0, strengths), np.concatenate([np.ones_like(done), done])
            correct = np.concatenate([np.ones_like(correct), correct])
        curves[kind] = Curve.of(
            model=model, perturbation=kind, unit="share of wrong labels", strengths=strengths, correct=correct, done=ok,
            even=True, seed=0, undefined="one rate has no slope." if alone and kind == PMV else None,
            assumed=alone and kind == PTV, unfit=unfit,
        )  # fmt: skip
    fresh = [fallen([validation], 150, seed=s)[0] for s in range(seeds)] if validation is not None else []
    return LabelNoiseCurve(
        pmv=curves[PMV],
        ptv=curves[PTV],
        validation_right=np.array(fresh) if fresh else np.zeros((0, 0), bool),
        failures=tuple(f"{model}, rate {rates[i]:g}, seed {s}: ValueError('no')" for i in lost for s in range(seeds)),
        notes=tuple(f"{model}: every training at the rate {rates[i]:g} failed." for i in lost),
    )


def result_of(curves: Sequence[Curve | LabelNoiseCurve], **others: object) -> MemorizationResult:
    return MemorizationResult.of(curves, created=DAY, **others)


def plain() -> MemorizationResult:
    """Three finished models, two perturbations with metrics and one without, pictures."""
    curves = [
        perturbed(model, name, values, exhibits=pictures(len(values), channels=1))
        for model, table in (("one", (SUDDEN, EVEN)), ("two", (EVEN, SLOW)), ("three", (SLOW, SUDDEN)))
        for name, values in (("spatial", table[0]), ("gaussian", table[1]), ("fog", (*table[0], 0.0)))
    ]
    return result_of(
        curves, source="digits", digest="ab" * 32, seed=7, class_names=tuple("abcdefghij"),
        preprocessing={"pixel_range": "0 to 1", "size": None}, notes=("Batches of 64, see `--batch-size`.",),
    )  # fmt: skip


def noise() -> MemorizationResult:
    """Label noise, validation examples and audits."""
    curves = [
        noisy("by heart", 1.0, 1.0, validation=0.6),
        noisy("half", 0.97, 0.5, validation=0.8),
        noisy("learned", 0.9, 0.0, validation=0.85),
    ]
    audits = {
        "by heart": Audited(p_value=1e-7, mean=0.021, detectable_effect=0.02),
        "learned": Audited(p_value=0.4, mean=-0.0003, detectable_effect=0.02),
    }
    return result_of(curves, source="digits", audits=audits)


def one() -> MemorizationResult:
    """One model, both kinds of curves, classes known."""
    curves = [noisy("only", 0.9, 0.1, validation=0.8), perturbed("only", "spatial", SUDDEN, exhibits=pictures(5))]
    return result_of(curves, source="digits", class_names=tuple("abcdefghij"))


def one_noise() -> MemorizationResult:
    """One model, the number of classes not known, trained once per rate."""
    return result_of([noisy("only", 0.9, 0.1, seeds=1)])


def many() -> MemorizationResult:
    """Eight models with label noise, two perturbations and a gap."""
    curves: list[Curve | LabelNoiseCurve] = []
    rng = np.random.default_rng(5)
    for i in range(8):
        name, heart = f"{'VGG' if i < 4 else 'ResNet'} C{i % 4 + 1}", i % 4 / 3
        curves.append(noisy(name, 0.95 + 0.05 * heart, heart, n=60, rates=RATES[::5], validation=0.9 - 0.3 * heart))
        for kind, power in (("spatial", 1.0), ("fgsm", 2.0)):
            fall = np.linspace(0, 1, 5) ** (power * (0.4 + 1.6 * rng.random()))
            curves.append(perturbed(name, kind, (0.98 * (1 - fall)).tolist()))
    return result_of(curves, source="CIFAR-10")


def crowd() -> MemorizationResult:
    """More models than lines can be told apart."""
    curves = [perturbed(f"net {i}", "gaussian", (1.0, 0.9 - i / 50)) for i in range(21)]
    return result_of(curves, source="many")


def corrupted() -> MemorizationResult:
    """Fifteen corruptions: curves without a metric; pictures of noise, which is the most that a page can hold."""
    curves = [
        perturbed(
            model, name, [a - 0.02 * k * s / 5 for s, a in enumerate(values)], exhibits=pictures(6, side=96, seed=k)
        )
        for model, values in (("one", (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)), ("two", (0.9, 0.88, 0.86, 0.83, 0.8, 0.75)))
        for k, name in enumerate(CORRUPTIONS)
    ]
    return result_of(curves, source="CIFAR-10")


def failed() -> MemorizationResult:
    """A rate without a training that ended well, and notes about it."""
    return result_of([noisy("weak", 0.9, 0.2, lost=[2]), noisy("strong", 0.95, 0.6)], source="digits")


def single() -> MemorizationResult:
    """One rate: PMV is undefined, PTV takes an accuracy of 1 without noise."""
    return result_of([noisy("a", 0.9, 0.2, rates=[0.3]), noisy("b", 0.95, 0.9, rates=[0.3])])


def uneven() -> MemorizationResult:
    """A model whose strengths are not equally far apart, another that was not tested on all perturbations."""
    curves = [
        perturbed("uneven", "spatial", SUDDEN, (0, 1, 2, 4, 8)),
        perturbed("even", "spatial", EVEN),
        perturbed("even", "gaussian", SLOW, n=100),
    ]
    return result_of(curves, source="digits")


def alike() -> MemorizationResult:
    """Two models with the same answers."""
    return result_of([perturbed(name, "spatial", EVEN) for name in ("a", "b")])


def close() -> MemorizationResult:
    """Two models that do not differ significantly by one perturbation, but do by another."""
    curves = [perturbed("a", "spatial", (1.0, 0.74, 0.5, 0.3)), perturbed("b", "spatial", (1.0, 0.79, 0.54, 0.3))]
    return result_of([*curves, perturbed("a", "fgsm", SUDDEN), perturbed("b", "fgsm", SLOW)])


def disputed() -> MemorizationResult:
    """Two models that metrics order in opposite ways; every column there can be."""
    curves: list[Curve | LabelNoiseCurve] = []
    for model, heart, table in (("leaked", 1.0, (EVEN, SUDDEN)), ("honest", 0.0, (SUDDEN, EVEN))):
        curves += [perturbed(model, name, values) for name, values in zip(("gaussian", "spatial"), table, strict=True)]
        curves.append(noisy(model, 0.9 + heart / 10, heart, validation=0.8))
    return result_of(curves, audits={"leaked": Audited(p_value=0.01, mean=0.03, detectable_effect=0.025)})


def grouped() -> MemorizationResult:
    """Examples in groups, too few of them."""
    codes = np.arange(N) // 10
    table = (("a", SUDDEN), ("b", EVEN))
    return result_of([perturbed(name, "spatial", values, groups=codes, examples="x") for name, values in table])


def unfit() -> MemorizationResult:
    """A method that does not fit its labels, beside two that do."""
    flawed = noisy("flawed", 0.9, 0.0, unfit="flawed does not fit its labels: so it is.")
    return result_of([noisy("by heart", 1.0, 1.0), flawed, noisy("learned", 0.9, 0.0)])


def hostile() -> MemorizationResult:
    """Names that want to break out of the page."""
    long = "\N{RIGHT-TO-LEFT OVERRIDE}" + "y" * 300
    curves = [
        perturbed(model, name, values, unit=HOSTILE, exhibits=pictures(5, channels=2))
        for model, values in ((HOSTILE, SUDDEN), (long, EVEN), ("z" * 200, SLOW))
        for name in (f"my{HOSTILE}", "x" * 120)
    ]
    return result_of(
        curves, source=f"{HOSTILE}\udcff", class_names=(HOSTILE, "w" * 200), failures=(HOSTILE,),
        notes=(HOSTILE, "x" * 400), preprocessing={HOSTILE: HOSTILE, "crop": "v" * 200},
        validation={HOSTILE: np.ones((1, 50), bool)},
        audits={HOSTILE: Audited(p_value=float("nan"), mean=float("nan"), detectable_effect=0.02)},
    )  # fmt: skip


VARIANTS: dict[str, Callable[[], MemorizationResult]] = {
    f.__name__: cache(f)
    for f in (
        plain, noise, one, one_noise, many, crowd, corrupted, failed, single, uneven, alike, close, disputed, grouped,
        unfit, hostile,
    )
}  # fmt: skip
every = pytest.mark.parametrize("name", VARIANTS)


def section(name: str, anchor: str) -> tuple:
    """The blocks of a section; none where it is left out."""
    return next((s.blocks for s in VARIANTS[name]().summary().sections if s.anchor == anchor), ())


def blocks(result: MemorizationResult, kind: type) -> list:
    """All blocks of a kind, folded and side by side ones too."""
    todo = [b for s in result.summary().sections for b in s.blocks]
    todo += [inner for b in todo if isinstance(b, page.Fold) for inner in b.blocks]
    todo += [chart for b in todo if isinstance(b, page.SideBySide) for chart in b.charts]
    return [b for b in todo if isinstance(b, kind)]


def bare(text: str) -> str:
    """Text without the marks around names, and with plain spaces."""
    return text.translate(page.TURNS).replace("\N{NO-BREAK SPACE}", " ")


@every
def test_every_rendering(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes each time and after a round trip, whole pages, names that stay names, and no bootstrap."""
    result = VARIANTS[name]()
    for place in ("curve.estimate", "curve.clopper_pearson", "models.rank", "models.larger", "models.spread_of"):
        monkeypatch.setattr(f"heldout.memorization.{place}", None)
    result.save(tmp_path / "kept")
    again = MemorizationResult.load(tmp_path / "kept")
    assert again == result
    html = result.html(command=HOSTILE)
    assert html == again.html(command=HOSTILE)
    assert (str(again), again.markdown(), again.to_dict()) == (str(result), result.markdown(), result.to_dict())
    check_self_contained(html)
    check_drawings(html)
    text = words(html)
    assert not re.search(r"\bnan\b|\bNone\b|\b1 (models|examples|pairs)\b", text)
    assert not re.search(r"\d %", html)  # a number and its sign stay on one line
    assert max(map(len, str(result).splitlines())) <= 118 or name == "hostile"
    assert not any("\u2060" <= c <= "\u206f" for note in result.to_dict()["notes"] for c in note)
    for rendered in (html, result.markdown(), result._repr_html_()):
        assert "<script" not in rendered
        assert "<img src=x" not in rendered
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in rendered
    assert text.count(MARKUP) >= (6 if name == "hostile" else 1)  # notes, failures, units, facts, the command


def test_a_rise_that_is_the_largest_step_is_told() -> None:
    """Equation (10) takes steps without their sign."""
    for accuracies, rises in (([0.78, 0.79, 0.79], True), ([0.79, 0.78, 0.78], False)):
        result = result_of([perturbed("net", "gaussian", accuracies)])
        told = [note for note in result.remarks if "is a rise, from strength" in note]
        assert len(told) == rises
        assert ("the largest step, a rise" in result.summary().headline) == rises
        assert ("is a rise from strength" in result.markdown()) == rises


def test_rendering_needs_no_torch(tmp_path: Path) -> None:
    plain().save(tmp_path / "result")
    code = (
        "import sys; from heldout import MemorizationResult; r = MemorizationResult.load(sys.argv[1]); "
        "print(r); r.markdown(); r.report(sys.argv[1]); "
        "sys.exit(sum(name in sys.modules for name in ('torch', 'onnxruntime')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() == str(plain())
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == plain().html()


def alone(model: str, curves: Sequence[Curve]) -> MemorizationResult:
    return result_of([c for c in curves if c.model == model])


HEADLINES: dict[str, tuple[Callable[[], MemorizationResult], str]] = {
    "plain": (plain, "The metrics disagree on one and three"),
    "turned": (lambda: result_of(plain().curves[::-1]), "The metrics disagree on one and three"),
    "noise": (noise, "By PTV k_PTV, by heart memorised more than learned"),
    # Pictures do not overrule label noise.
    "disputed": (disputed, "By PTV k_PTV, leaked memorised more than honest"),
    "close": (close, "No significant difference by spatial k_max between a and b"),
    "alike": (alike, "spatial k_max is 0.2000 for all models"),
    "one": (one, "only: PTV k_PTV 0.1050 (1 if every label is memorised)"),
    "net": (
        lambda: result_of([perturbed("net", "gaussian", EVEN), perturbed("net", "spatial", SUDDEN)]),
        "net: spatial k_max 0.6500 (1 if accuracy falls in a single step)",
    ),
    "unfit": (lambda: alone("flawed", unfit().curves), "flawed does not fit its labels"),
    "uneven": (uneven, "The models are not ranked: they were measured at different strengths"),
    "fog": (
        lambda: result_of([perturbed("net", "fog", (1.0, 0.9, 0.8, 0.7, 0.6, 0.5))]),
        "Accuracy at the last strength, fog: 0.5000 (net)",
    ),
    "corrupted": (corrupted, "Accuracy at the last strength, mean over 15 corruptions: 0.4600 (one) to 0.6100 (two)"),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_headlines(name: str) -> None:
    made, headline = HEADLINES[name]
    assert bare(made().summary().headline) == headline


def test_what_is_significant() -> None:
    told = {name: bare(VARIANTS[name]().summary().sentences[-1]) for name in ("close", "plain", "disputed", "grouped")}
    assert "differ significantly: 2 of 4. " in told["close"]
    assert "both significantly: 2 of 3 that two metrics compare. " in told["plain"]
    assert "both significantly: 1 of 1 that two metrics compare. " in told["disputed"]
    assert "family-wise 95 % over all pairs of models, one metric at a time, for independent examples" in told["plain"]
    assert "for independent groups" in told["grouped"]
    assert [VARIANTS[name]().summary().tone for name in ("plain", "disputed")] == ["neutral", "quiet"]


@every
def test_figures_and_printed_lines(name: str) -> None:
    result = VARIANTS[name]()
    found, lines = result.summary(), dict(result.summary().lines)
    assert [f.strong for f in found.figures] == [i == 0 for i in range(len(found.figures))]
    known = {fixed(e.value) for row in result.table.values() for e in row.values()}
    assert {f.value for f in found.figures} <= known
    assert f"{result.curves[0].n:,}" in found.subject
    assert next(iter(lines)) == "Measured"
    for r in result.rankings:
        line, _, named = lines[r.column.title].partition(" (")
        told = re.split(" ([>~]) ", line)
        assert told[::2] == [f"{name_text(e.model)} {fixed(e.value)}" for e in r.most_memorised_first]
        assert told[1::2] == [">" if r.differs(a, b) else "~" for a, b in itertools.pairwise(r.models)]
        assert bool(named) == any(
            r.differs(r.models[i], r.models[j]) != (">" in told[1::2][i:j])
            for i, j in itertools.combinations(range(len(r.models)), 2)
        )


def test_pairs_that_neighbours_tell_wrongly_are_named() -> None:
    """Of seven models any two but neighbours differ: fifteen pairs, of which a line names five."""
    names = "abcdefg"
    places = tuple(Ranked(m, 0.9 - i / 10, 0.0, 1.0, (1, 7)) for i, m in enumerate(names))
    apart = tuple((a, b) for a, b in itertools.combinations(names, 2) if ord(b) - ord(a) > 1)
    told = _order(Ranking("spatial", "k_max", "high", 0.95, apart, places))
    assert told.endswith("~ g 0.3000 (a > c, a > d, a > e, a > f, a > g, 10 more)")
    told = _order(Ranking("spatial", "k_max", "high", 0.95, (*apart, ("c", "d")), places))
    assert told.endswith("(a > c, d > f, d > g, e > g)")  # the others are told by the sign between c and d
    told = _order(Ranking("spatial", "k_max", "high", 0.95, (("c", "d"), ("a", "g")), places))
    # Of the twelve pairs across the sign between c and d that one and the ends' differ, ten do not.
    assert told.endswith("(a ~ d, a ~ e, a ~ f, b ~ d, b ~ e, 5 more)")


@every
def test_curves(name: str) -> None:
    """Every measured point with its band, on one axis from 0 to 1; all of them in the numbers."""
    result = VARIANTS[name]()
    charts = {c.title: c for c in blocks(result, page.LineChart)}
    for curve in result.curves:
        chart = charts[perturbation_text(curve.perturbation)]
        assert chart.y.range == (-0.02, 1.02)
        assert chart.x.label == curve.unit
        assert len(chart.x.heading) <= 60
        (line,) = (s for s in chart.series if s.name == name_text(curve.model))
        used = curve.used
        np.testing.assert_array_equal(line.x, curve.strengths[used])
        np.testing.assert_array_equal(line.y, curve.accuracy[used])
        np.testing.assert_array_equal([line.low, line.high], curve.bands[:, used])
        assert bool(chart.guides) == (curve.perturbation in (PMV, PTV))
        assert ("taken to be 1" in chart.caption) == (name == "single" and curve.perturbation == PTV)


def test_a_long_unit_stands_in_the_caption() -> None:
    unit = "pixels and degrees of the worst so far of 5 x 5 whole-pixel shifts and 5 turns"
    result = result_of([perturbed("net", "spatial", EVEN, unit=unit), perturbed("net", "gaussian", EVEN)])
    long, short = blocks(result, page.LineChart)
    assert (long.x.heading, long.caption) == ("strength", f"Strength: {unit}.")
    assert (short.x.heading, short.caption) == ("1/255 of the pixel range", "")
    for text in (unit, "1/255 of the pixel range"):  # wherever there is no drawing, both are told
        assert text in result.markdown()
        assert text in str(result)


def test_lines_can_be_told_apart() -> None:
    for name in ("many", "crowd"):
        (chart, *_) = blocks(VARIANTS[name](), page.LineChart)
        drawn = [s for s in chart.series if s.drawn]
        assert len(drawn) == min(LINES, len(chart.series))
        assert len({(s.style, s.variant) for s in drawn}) == len(drawn)
    assert {"net 0", "net 20"} <= {s.name for s in drawn}
    mean = next(c for c in blocks(corrupted(), page.LineChart) if c.title == "Mean over the 15 corruptions")
    accuracies = [c.accuracy for c in corrupted().curves if c.model == "two"]
    assert mean.series[1].y == pytest.approx(np.mean(accuracies, axis=0))
    assert not any("Mean" in c.title for c in blocks(plain(), page.LineChart))  # fog alone is a chart like others


@every
def test_tables(name: str) -> None:
    """Rows are models, columns those metrics that have a number for some model."""
    result = VARIANTS[name]()
    table = next(
        (b for b in section(name, "table") if isinstance(b, page.Table) and b.columns[-1].name[-1] in "↑↓"), None
    )
    numbers = [c for c in result.columns if any(c in row and row[c].reason is None for row in result.table.values())]
    assert (table is None) == (not numbers)
    if table is None:
        return
    assert [c.name[:-2] for c in table.columns[1:]] == [c.title for c in numbers]
    for row, (model, own) in zip(table.rows, result.table.items(), strict=True):
        assert (row.cells[0].text, row.cells[0].note != "") == (name_text(model), model == "flawed")
        for cell, column in zip(row.cells[1:], numbers, strict=True):
            found = own.get(column)
            if found is None or found.reason is not None:
                assert cell == "–"
                continue
            assert (cell.text, cell.note) == (fixed(found.value), pair((found.low, found.high)))


def test_other_numbers_of_a_model() -> None:
    table = next(
        b for b in section("noise", "table") if isinstance(b, page.Table) and b.columns[1].name.startswith("Tr")
    )
    assert [c.name for c in table.columns][2:] == ["Validation accuracy", "Audit p", "Audit mean T", "Audit detectable"]
    assert table.rows[0].cells[2:] == ("0.6000", "1e-7", "+0.0210", "0.0200")
    assert table.rows[1].cells[2:] == ("0.8000", "–", "–", "–")
    notes = [bare(b.text) for name in ("noise", "uneven", "plain", "single") for b in section(name, "table")
             if isinstance(b, page.Note)]  # fmt: skip
    assert notes[0].startswith("Audit p below 0.05: by heart. ")
    assert notes[1] == "Not defined: k_max and SSE of spatial: the strengths are not equally far apart."
    assert notes[2].startswith("Not defined: k_max and SSE of fog: steps of severity are not equal")
    assert notes[3] == "Not defined: k_S of PMV: one rate has no slope."


@every
def test_boards(name: str) -> None:
    result = VARIANTS[name]()
    assert bool(section(name, "reading")) == (len(result.models) == 1)
    boards = [table for table in blocks(result, page.Table) if table.spans]
    for board, r in zip(boards, result.rankings, strict=True):
        ends = "the same" if r.tied else "differ significantly" if r.ends_differ else "do not differ significantly"
        assert f"; first and last: {ends}; " in board.caption
        assert board.caption.endswith(f": {len(r.significant)} of {math.comb(len(r.models), 2)}")
        for place, span, e in zip(board.rows, board.spans, r.most_memorised_first, strict=True):
            assert span == (e.low, e.value, e.high)
            assert place.cells[0] in (f"{e.ranks[0]}", f"{e.ranks[0]}–{e.ranks[1]}")
        signs = [str(place.cells[4]) for place in board.rows]
        assert signs == [*(">" if r.differs(a, b) else "~" for a, b in itertools.pairwise(r.models)), ""]


def test_readings_against_the_closed_forms() -> None:
    rows = {row.cells[0]: bare(row.cells[2]) for row in section("one", "reading")[0].rows}
    a = float(one().curve("only", PMV).accuracy[0])
    assert rows[page.symbols("PMV k_S")].endswith(f"A = {fixed(a)}: {fixed(a - (1 - a) / 9)} with 10 classes")
    assert rows[page.symbols("spatial k_max")].endswith(
        "the largest of 4 is from strength 1 to 2; an even fall from 1.0000 to 0.0000 has steps of 0.2500"
    )
    assert len(rows) == len(one().table["only"]) == 5
    a = float(one_noise().curve("only", PMV).accuracy[0])  # the number of classes is not known
    told = [bare(row.cells[2]) for row in section("one_noise", "reading")[0].rows]
    assert any(t.endswith(f": {fixed(2 * a - 1)} with two classes and {fixed(a)} with very many") for t in told)


@every
def test_disagreements(name: str) -> None:
    """One fact per pair of models, with the numbers of every metric; tau of every two metrics."""
    result, told = VARIANTS[name](), section(name, "disagreement")
    folded = [b.blocks[0] for b in told if isinstance(b, page.Fold)]
    rows = {row[0]: bare(row[1]) for b in (*told, *folded) if isinstance(b, page.Facts) for row in b.rows}
    assert len(rows) == len({frozenset(d.models) for d in result.disagreements})
    for d in result.disagreements:
        a, b = map(name_text, d.models)
        text = rows.get(f"{a} and {b}") or rows[f"{b} and {a}"]
        for column, (x, y) in zip(d.columns, d.values, strict=True):
            both = (f"{column.title} ({fixed(p)} against {fixed(q)})" for p, q in ((x, y), (y, x)))
            assert any(numbers in text for numbers in both)
    maps = [b for b in told if isinstance(b, page.HeatMap)]
    assert len(maps) == (len(result.rankings) > 2 and bool(result.correlations))
    for c in result.correlations if maps else ():
        i, j = (maps[0].names.index(page.symbols(title)) for title in c.between)
        assert maps[0].values[i, j] == maps[0].values[j, i] == c.kendall_tau


def test_pictures() -> None:
    strips = [group for b in blocks(plain(), page.Pictures) for group in b.groups]
    assert len(strips) == 3 * 4
    assert (strips[1][0], strips[1][2]) == ("b", ("example 1,111",))
    assert [p.alert for p in strips[0][1]] == [not right for right in plain().curves[0].exhibits.right[0]]
    many_of = blocks(corrupted(), page.Pictures)
    assert (len(many_of), {len(b.groups) for b in many_of}) == (15, {2})
    assert sum(len(p) for b in many_of for _, p, _ in b.groups) * many_of[0].side ** 2 <= 500_000
    curve = perturbed("m", "spatial", np.linspace(1, 0, 40).tolist(), exhibits=pictures(40))
    (block,) = blocks(result_of([curve]), page.Pictures)
    captions = [p.caption for p in block.groups[0][1]]
    assert (len(captions), captions[0], captions[-1]) == (MOST_STRENGTHS, "0", "39")


def test_warnings_and_notes() -> None:
    warnings = {name: [bare(w) for w in VARIANTS[name]().summary().warnings] for name in VARIANTS}
    assert warnings["unfit"] == ["method flawed does not fit its labels: so it is."]
    assert warnings["grouped"] == ["There are only 24 groups: below 30, intervals and comparisons are rough."]
    assert warnings["uneven"][0].startswith("strengths under spatial differ")
    assert warnings["plain"] == []
    noticed = next(s for s in plain().summary().sections if s.title == "Noticed on the way").blocks[0].items
    assert bare(noticed[0]).endswith(": 3, such as one and two; one and three; two and three.")
    assert noticed[1:] == plain().notes
    assert [s.title for s in failed().summary().sections if s.anchor == "failures"] == ["5 trainings failed"]
    assert section("failed", "failures")[0].items == failed().failures
    for name in VARIANTS:  # the JSON has them all
        assert set(warnings[name]) <= {bare(note) for note in VARIANTS[name]().to_dict()["notes"]}


def test_few_trainings_are_told_of_curves_alone() -> None:
    """Whoever put the curves together, with the notes of the trainings or without; once is a warning."""
    curves = [noisy("a", 1.0, 1.0, seeds=1), noisy("b", 0.97, 0.5, seeds=1), noisy("c", 0.9, 0.0, seeds=3),
              noisy("d", 0.9, 0.1)]  # fmt: skip
    once, thrice = (f"trained {times} at each rate, so intervals and comparisons tell" for times in ("once", "3 times"))
    alone = result_of([c for curve in curves for c in (curve.pmv, curve.ptv)])
    noted = [replace(c, notes=(f"{c.model}: {few}",)) if (few := few_trainings(c.pmv.correct.shape[1])) else c
             for c in curves]  # fmt: skip
    for result in (alone, result_of(noted)):
        (warning,) = (bare(w) for w in result.summary().warnings)
        assert warning.startswith(f"a and b: {once} how examples differ, not how trainings do; 5 trainings")
        noticed = next(s for s in result.summary().sections if s.title == "Noticed on the way").blocks[0].items
        assert [bare(n) for n in noticed if "trained" in n] == [f"c: {few_trainings(3)}"]
        assert few_trainings(3).startswith(f"{thrice} too little")
        assert [n.split(":")[0] for n in result.to_dict()["notes"] if "trained" in n] == ["a and b", "c"]


def test_only_pairs_that_are_compared_count() -> None:
    three = [perturbed("apart", "spatial", SUDDEN, (0, 1, 2, 4, 8)), perturbed("a", "spatial", SUDDEN)]
    told = bare(result_of([*three, perturbed("b", "spatial", EVEN)]).summary().sentences[-1])
    assert "both significantly: 0 of 1 that two metrics compare. " in told  # of three pairs


def test_what_a_sudden_fall_depends_on_is_printed() -> None:
    printed = {name: "augmentation too" in str(VARIANTS[name]()).replace("\n", " ") for name in VARIANTS}
    assert printed["plain"]
    assert printed["one"]
    assert not printed["noise"]
    assert not printed["corrupted"]  # no metric


def test_of_one_network_it_is_told_that_other_trainings_are_not_in_its_intervals() -> None:
    printed = {name: "other trainings of the same methods" in bare(str(VARIANTS[name]())) for name in VARIANTS}
    assert printed["plain"]
    assert printed["one"]
    assert not printed["noise"]
    once = perturbed("net", "spatial", SUDDEN)
    twice = {key: getattr(once, key) for key in ("model", "perturbation", "unit", "strengths", "even", "seed")}
    twice |= {name: np.repeat(getattr(once, name), 2, axis=1) for name in ("correct", "done")}
    assert "other trainings of the same methods" not in str(result_of([Curve.of(**twice)]))
    twice["done"] = twice["done"] & [True, False]
    assert "other trainings of the same methods" in str(result_of([Curve.of(**twice)]))


def test_metrics_are_said_in_a_few_words_where_their_numbers_stand() -> None:
    told = bare(section("plain", "table")[0].text)
    assert "k_max: the largest step of a curve." in told
    assert "k_PTV: " not in told
    told = bare(section("noise", "table")[0].text)
    assert "k_PTV: how fast accuracy on the true labels falls" in told
    assert "SSE: " not in told


def test_what_to_do_next() -> None:
    said = {name: " ".join(section(name, "next")[0].items) for name in VARIANTS}
    assert {name: "direct measure" in said[name] for name in ("plain", "noise", "disputed")} == {
        "plain": True, "noise": False, "disputed": False,
    }  # fmt: skip
    torn = {name for name in VARIANTS if disputed_ends(VARIANTS[name]()) is not None}
    assert {name for name in VARIANTS if "no order of these models" in said[name]} == torn
    assert "plain" in torn
    assert "noise" not in torn
    assert "--validation" in said["plain"]
    assert "--validation" not in said["disputed"]
    assert all(text.endswith("another question: `heldout audit`.") for text in said.values())


def test_one_note_of_several_models_is_told_once() -> None:
    notes = ("by heart: trained once.", "half: trained once.", "learned: trained twice.", "by the way: true.")
    result = replace(noise(), notes=notes)
    told = ["by heart and half: trained once.", "learned: trained twice.", "by the way: true."]
    assert list(result.remarks[-3:]) == told
    noticed = next(s for s in result.summary().sections if s.title == "Noticed on the way").blocks[0].items
    assert [bare(note) for note in noticed[-3:]] == told


def test_data_are_called_by_their_file() -> None:
    summary = replace(noise(), source="some/where/digits.npz").summary()
    assert bare(summary.subject) == "3 models, 240 training examples of digits.npz"
    assert ("Source", "some/where/digits.npz") in summary.origin


@every
def test_meaning(name: str) -> None:
    """What is explained is what is there."""
    result = VARIANTS[name]()
    text = " ".join(section(name, "means")[0].items + section(name, "not")[0].items)
    noisy_, finished = PTV in result.perturbations, set(result.perturbations) - {PMV, PTV}
    metrics = {c.metric for row in result.table.values() for c, e in row.items() if e.reason is None}
    for words_, there in (
        ("eq. (6)", noisy_), ("eq. (8)", "fgsm" in result.perturbations),
        ("eq. (9)", "gaussian" in result.perturbations), ("eq. (10)", "k_max" in metrics),
        ("eq. (11)", "SSE" in metrics), ("one architecture", "k_max" in metrics),
        ("the direct measure", noisy_), ("Bonferroni", bool(result.rankings)),
        ("Audit p", any(m.audit for m in result.measured.values())), ("Gap:", GAP in result.columns),
        ("may pass 1", noisy_), ("trainings per rate", noisy_), ("Severities", bool(set(CORRUPTIONS) & finished)),
    ):  # fmt: skip
        assert (words_ in text) == there, words_


def test_facts() -> None:
    assert [(name, bare(value)) for name, value in section("plain", "facts")[0].rows] == [
        ("Models", "one, two and three"),
        ("Training examples", "240"),
        ("Strengths", "spatial and gaussian: 0, 1, 2, 3, 4 (1/255 of the pixel range)"),
        ("Strengths", "fog: 0, 1, 2, 3, 4, 5 (severity)"),
        ("Validation examples", "none, so there is no gap to fresh examples"),
        ("Classes", "10"),
        ("Preprocessing", "pixel range 0 to 1"),
        ("Label noise (PMV, PTV), the direct measure", "no model was retrained"),
        ("Audit of the training pictures", "not asked for"),
    ]
    assert dict(plain().summary().origin) == {
        "heldout": plain().version, "Date": DAY, "Source": "digits", "Seed": "7", "Data digest": "ab" * 32,
    }  # fmt: skip
    noisy_ = dict(section("one", "facts")[0].rows)
    assert (noisy_["Validation examples"], noisy_["Trainings per rate"]) == ("150", "5")
    facts = {name: dict(section(name, "facts")[0].rows) for name in ("noise", "one", "uneven")}
    assert facts["noise"]["Perturbed pictures"] == "not asked for"
    assert facts["one"]["Ranking"] == "there is only one model"
    assert facts["uneven"]["Ranking"] == "they were measured at different strengths"


@needs_chromium
@pytest.mark.parametrize("name", ["disputed", pytest.param("corrupted", marks=pytest.mark.slow), "hostile"])
def test_fits_a_phone(name: str, tmp_path: Path) -> None:
    found = look(VARIANTS[name]().html(command="heldout memorization " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == found["scroll"] == PHONE
    assert (found["wide"], found["broken"]) == ([], 0)


@needs_chromium
@pytest.mark.parametrize(("name", "width"), [("disputed", 1200), pytest.param("plain", 500, marks=pytest.mark.slow)])
def test_no_table_is_cut(name: str, width: int, tmp_path: Path) -> None:
    found = look(VARIANTS[name]().html(), tmp_path, width=width)
    assert set(found["cut"]) == {0}  # type: ignore[call-overload]
