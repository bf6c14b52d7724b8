"""What the summary says of each kind of result, and that every rendering of it holds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout.memorization.curve import PMV, PTV, Curve, Exhibits
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.ranking import GAP
from heldout.memorization.result import Audited, MemorizationResult
from heldout.memorization.retrained import LabelNoiseCurve
from heldout.memorization.summary.sections import LINES, MOST_STRENGTHS
from heldout.summary import Fold, HeatMap, LineChart, Pictures, Points, Ranges, Section, SideBySide, Summary, Table
from heldout.summary.names import name_text
from heldout.summary.numbers import fixed, pair
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


def summary(name: str) -> Summary:
    return VARIANTS[name]().summary()


def section(found: Summary, anchor: str) -> Section:
    return next(s for s in found.sections if s.anchor == anchor)


def blocks(found: Summary, kind: type) -> list:
    """All blocks of a kind, folded and side by side ones too."""
    todo = [b for s in found.sections for b in s.blocks]
    todo += [inner for b in todo if isinstance(b, Fold) for inner in b.blocks]
    todo += [chart for b in todo if isinstance(b, SideBySide) for chart in b.charts]
    return [b for b in todo if isinstance(b, kind)]


@every
def test_every_rendering(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes each time and after a round trip, whole pages, and no bootstrap on the way."""
    result = VARIANTS[name]()
    for place in ("curve.estimate", "curve.clopper_pearson", "models.rank", "models.larger", "models.spread_of"):
        monkeypatch.setattr(f"heldout.memorization.{place}", None)
    result.save(tmp_path / "kept")
    again = MemorizationResult.load(tmp_path / "kept")
    assert again == result
    html = result.html(command="heldout memorization")
    assert html == again.html(command="heldout memorization")
    assert (str(again), again.markdown(), again.to_dict()) == (str(result), result.markdown(), result.to_dict())
    assert result._repr_html_().startswith("<style>")
    check_self_contained(html)
    check_drawings(html)
    text = words(html)
    assert not re.search(r"\bnan\b|\bNone\b", text)
    assert not re.search(r"\b1 (models|examples|pairs)\b", text)
    assert not re.search(r"\d %", html)  # a number and its sign stay on one line
    assert max(map(len, str(result).splitlines())) <= 118 or name == "hostile"


def test_hostile_names() -> None:
    result = hostile()
    html = result.html(command=HOSTILE)
    for rendered in (html, result.markdown(), result._repr_html_()):
        assert "<script" not in rendered
        assert "<img src=x" not in rendered
    assert words(html).count(MARKUP) >= 8  # in prose, facts, notes, failures, units, the command
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in words(html)


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


@pytest.mark.parametrize(
    ("name", "headline"),
    [
        (
            "plain",
            "The metrics disagree: by spatial k_max one is at the memorised end (0.6500) and three at the other "
            "(0.1000), by gaussian k_max three memorised more than one (0.6500 and 0.2000)",
        ),
        ("noise", "by heart is at the memorised end (PTV k_PTV 0.9967), learned at the other (0.0050)"),
        (
            "one",
            "only: accuracy on the true labels 0.91 falls to 0.85 at a share of 0.5 of wrong labels; slope k_PTV 0.10 "
            "(1 if every label is memorised)",
        ),
        ("disputed", "leaked is at the memorised end (PTV k_PTV 0.9967), honest at the other (0.0050)"),
        ("close", "No significant difference between the ends of spatial k_max: 0.2583 (a) and 0.2500 (b)"),
        ("alike", "spatial k_max is 0.2000 for both models"),
        ("uneven", "The models are not ranked: they were measured at different strengths"),
        (
            "corrupted",
            "Accuracy, mean over 15 corruptions, at severities 0, 3 and 5: one 1.0000, 0.8158 and 0.4600; two 0.9000, "
            "0.7461 and 0.6100",
        ),
    ],
)
def test_headlines(name: str, headline: str) -> None:
    assert summary(name).headline == headline


def test_other_headlines() -> None:
    net = [perturbed("net", "gaussian", EVEN), perturbed("net", "spatial", (1.0, 0.8, 0.54, 0.3, 0.14))]
    told = "net: accuracy 1.00 falls to 0.14 at spatial 4; largest step k_max 0.26 of 1"
    assert result_of(net).summary().headline == told
    fog = result_of([perturbed("net", "fog", (1.0, 0.9, 0.8, 0.7, 0.6, 0.5))]).summary()
    assert fog.headline == "Accuracy under fog at severities 0, 3 and 5: net 1.0000, 0.7000 and 0.5000"
    assert [(f.value, f.strong) for f in fog.figures] == [("0.5000", True)]
    models = [perturbed(f"m{i}", name, (1.0, 0.9, 0.8, 0.8 - i / 10)) for i in range(4) for name in ("fog", "snow")]
    assert result_of(models).summary().headline == (
        "Accuracy, mean over 2 corruptions, at severities 0, 2 and 3: at the last, m3 1.0000, 0.8000 and 0.5000 is the "
        "lowest of 4 models and m0 1.0000, 0.8000 and 0.8000 the highest"
    )
    alone = result_of([c for c in single().curves if c.model == "a"]).summary()
    assert "true labels is 0.8" in alone.headline  # what was assumed is not told as measured
    flawed = result_of([c for c in unfit().curves if c.model == "flawed"]).summary()
    assert flawed.headline.startswith("flawed does not fit its labels: accuracy on the true")
    pair_of = result_of([c for c in disputed().curves if c.perturbation in ("spatial", "gaussian")]).summary()
    assert pair_of.headline == (
        "The metrics disagree: by spatial k_max leaked is at the memorised end (0.6500, honest 0.2000), by gaussian "
        "k_max honest (0.6500, leaked 0.2000)"
    )
    turned = result_of(plain().curves[::-1]).summary()  # the order of perturbations does not matter
    assert turned.headline == summary("plain").headline


def test_what_is_significant() -> None:
    told = {name: " ".join(summary(name).sentences) for name in ("noise", "close", "plain", "disputed", "grouped")}
    family = "family-wise 95\N{NO-BREAK SPACE}% over all pairs of models, one metric at a time, for independent"
    assert f"The difference is significant ({family} examples)." in told["noise"]
    assert f"({family} groups)." in told["grouped"]
    assert "The difference is not significant" in told["close"]
    assert "Models do differ significantly by fgsm k_max and fgsm SSE." in told["close"]
    assert "Each of the two differences is significant" in told["plain"]
    assert "The metrics also disagree on 1 other pair of models." in told["plain"]
    assert "The metrics disagree on 1 pair of models." in told["disputed"]
    assert "significant" not in " ".join(summary("alike").sentences)
    assert [s.tone for s in map(summary, ("plain", "disputed", "noise", "one"))] == [
        "neutral",
        "quiet",
        "quiet",
        "quiet",
    ]


@every
def test_figures_are_those_of_the_headline(name: str) -> None:
    found, result = summary(name), VARIANTS[name]()
    assert [f.strong for f in found.figures] == [True] + [False] * (len(found.figures) - 1)
    assert f"{result.curves[0].n:,}" in found.subject
    if result.rankings:
        assert all(f.value in found.headline for f in found.figures)


@every
def test_printed_lines_are_the_rankings(name: str) -> None:
    result, lines = VARIANTS[name](), dict(summary(name).lines)
    assert next(iter(lines)) == "measured"
    for r in result.rankings:
        told = re.split(" ([>~]) ", lines[r.column.title])
        assert told[::2] == [f"{name_text(e.model)} {fixed(e.value)}" for e in r.most_memorised_first]
        assert told[1::2] == [">" if r.differs(a, b) else "~" for a, b in zip(r.models, r.models[1:], strict=False)]


@every
def test_curves(name: str) -> None:
    """Every measured point with its band, on one axis from 0 to 1; all of them in the numbers."""
    result = VARIANTS[name]()
    charts = {c.title: c for c in blocks(summary(name), LineChart)}
    for curve in result.curves:
        title = {PMV: "PMV: accuracy on the labels trained on", PTV: "PTV: accuracy on the true labels"}
        shown = title.get(curve.perturbation, curve.perturbation)
        chart = charts[shown.replace("_", " ") if shown in CORRUPTIONS else shown]
        assert chart.y.range == (-0.02, 1.02)
        (line,) = (s for s in chart.series if s.name == name_text(curve.model))
        used = curve.used
        np.testing.assert_array_equal(line.x, curve.strengths[used])
        np.testing.assert_array_equal(line.y, curve.accuracy[used])
        np.testing.assert_array_equal([line.low, line.high], curve.bands[:, used])
        assert bool(chart.guides) == (curve.perturbation in (PMV, PTV))
        assert ("taken to be 1" in chart.caption) == (name == "single" and curve.perturbation == PTV)


def test_lines_can_be_told_apart() -> None:
    for name in ("many", "crowd"):
        (chart, *_) = blocks(summary(name), LineChart)
        drawn = [s for s in chart.series if s.drawn]
        assert len(drawn) == min(LINES, len(chart.series))
        assert len({(s.style, s.variant) for s in drawn}) == len(drawn)
    assert {"net 0", "net 20"} <= {s.name for s in drawn}
    mean = next(c for c in blocks(summary("corrupted"), LineChart) if c.title == "Mean over the 15 corruptions")
    accuracies = [c.accuracy for c in corrupted().curves if c.model == "two"]
    assert mean.series[1].y == pytest.approx(np.mean(accuracies, axis=0))
    assert not any("Mean" in c.title for c in blocks(summary("plain"), LineChart))  # fog alone is a chart like others


@every
def test_metrics_table(name: str) -> None:
    """Rows are models, columns those metrics that have a number for some model."""
    result, blocks_ = VARIANTS[name](), section(summary(name), "table").blocks
    table = next((b for b in blocks_ if isinstance(b, Table)), None)
    if table is None:
        assert name == "single"
        return
    numbers = [c for c in result.columns if any(c in row and row[c].reason is None for row in result.table.values())]
    titles = [f"{c.group} {c.name}"[:-2] for c in table.columns]
    for row, (model, own) in zip(table.rows, result.table.items(), strict=True):
        assert str(row.cells[0]) == name_text(model)
        assert (row.role != "") == (name == "unfit" and model == "flawed")
        for column in numbers:
            title = "Accuracy gap" if column == GAP else column.title
            cell = row.cells[titles.index(title)] if title in titles else None
            if name == "hostile" and cell is None:
                continue  # headings are cut
            found = own.get(column)
            if found is None or found.reason is not None:
                assert str(cell) == ("–" if found is None else "–¹")
            else:
                assert cell.text == fixed(found.value)
                assert cell.note.replace("\N{NO-BREAK SPACE}", " ") == pair((found.low, found.high))


def test_marks_and_notes_of_the_metrics_table() -> None:
    found = section(summary("noise"), "table").blocks
    table = next(b for b in found if isinstance(b, Table))
    marks = [[getattr(c, "mark", "") for c in row.cells] for row in table.rows]
    assert marks[0] == ["", "most", "most", "", "", "most", ""]
    assert marks[2] == ["", "least", "least", "", "", "least", ""]
    assert "Audit p below 0.05 (by heart)" in found[-1].text
    flawed = next(b for b in section(summary("unfit"), "table").blocks if isinstance(b, Table)).rows[1]
    assert all(getattr(c, "mark", "") == "" for c in flawed.cells)
    notes = [b.text for name in ("uneven", "plain", "single") for b in section(summary(name), "table").blocks[1:]
             if not isinstance(b, Table)]  # fmt: skip
    assert notes[0] == "¹ Not defined: the strengths are not equally far apart."
    assert notes[1].startswith("No k_max and SSE of fog: steps of severity are not equal")
    assert notes[2] == "No k_S of PMV: one rate has no slope."


@every
def test_boards(name: str) -> None:
    result, boards = VARIANTS[name](), blocks(summary(name), Ranges)
    assert len(boards) == len(result.rankings)
    for board, r in zip(boards, result.rankings, strict=True):
        for row, e in zip(board.rows, r.most_memorised_first, strict=True):
            assert (row.value, row.low, row.high) == (e.value, e.low, e.high)
            assert row.rank in (f"{e.ranks[0]}", f"{e.ranks[0]}–{e.ranks[1]}")
        signs = [row.next for row in board.rows]
        assert signs[:-1] == [">" if r.differs(a, b) else "~" for a, b in zip(r.models, r.models[1:], strict=False)]
        if len(r.models) > 2:
            assert f"{len(r.significant)} of " in board.caption


@every
def test_ends_and_readings(name: str) -> None:
    result, found = VARIANTS[name](), summary(name)
    anchors = [s.anchor for s in found.sections]
    assert ("ends" in anchors) == bool(result.rankings)
    assert ("reading" in anchors) == (len(result.models) == 1)
    for row, r in zip(section(found, "ends").blocks[0].rows if result.rankings else (), result.rankings, strict=True):
        for cell, e in zip(row.cells[1:3], (r.most_memorised_first[0], r.most_memorised_first[-1]), strict=True):
            assert cell.text.endswith(fixed(e.value))
            assert cell.note == pair((e.low, e.high))
        assert row.cells[3] == ("none" if r.tied else "significant" if r.ends_differ else "not significant")


def test_readings_against_the_closed_forms() -> None:
    rows = {row.cells[0]: row.cells for row in section(summary("one"), "reading").blocks[0].rows}
    a = float(one().curve("only", PMV).accuracy[0])
    space = "\N{NO-BREAK SPACE}"
    assert rows["PMV k_S"][2].replace(space, " ").endswith(f"about A − (1 − A)/9 = {fixed(a - (1 - a) / 9)}")
    assert "from strength 1 to 2; an even fall from 1.0000 to 0.0000 has steps of 0.2500" in rows["spatial k_max"][2]
    assert len(rows) == len(one().table["only"]) == 5
    a = float(one_noise().curve("only", PMV).accuracy[0])  # the number of classes is not known
    told = next(
        row.cells[2] for row in section(summary("one_noise"), "reading").blocks[0].rows if "k_S" in row.cells[0]
    )
    assert told.endswith(f"with m classes: {fixed(2 * a - 1)} with two, {fixed(a)} with very many")


@every
def test_disagreements(name: str) -> None:
    """One sentence per pair of models, with the numbers of every metric; tau of every two metrics."""
    result, found = VARIANTS[name](), summary(name)
    if len(result.rankings) < 2:
        assert "disagreement" not in [s.anchor for s in found.sections]
        return
    told = section(found, "disagreement").blocks
    folded = [b.blocks[0] for b in told if isinstance(b, Fold)]
    items = [item for b in [*told, *folded] if isinstance(b, Points) for item in b.items]
    pairs = {frozenset(d.models) for d in result.disagreements}
    assert len(items) == len(pairs)
    for d in result.disagreements:
        item = next(i for i in items if all(f"**{name_text(m)}**" in i for m in d.models))
        for column, (a, b) in zip(d.columns, d.values, strict=True):
            numbers = f"{column.title} ({{}} against {{}})"
            assert numbers.format(fixed(a), fixed(b)) in item or numbers.format(fixed(b), fixed(a)) in item
    maps = [b for b in told if isinstance(b, HeatMap)]
    assert len(maps) == (len(result.rankings) > 2 and bool(result.correlations))
    for c in result.correlations if maps else ():
        i, j = map(maps[0].names.index, c.between)
        assert maps[0].values[i, j] == maps[0].values[j, i] == c.kendall_tau


def test_pictures() -> None:
    strips = [group for b in blocks(summary("plain"), Pictures) for group in b.groups]
    assert len(strips) == 3 * 4
    assert (strips[1][0], strips[1][2]) == ("b", ("example 1,111",))
    assert [p.alert for p in strips[0][1]] == [not right for right in plain().curves[0].exhibits.right[0]]
    many_of = blocks(summary("corrupted"), Pictures)
    assert (len(many_of), {len(b.groups) for b in many_of}) == (15, {2})
    assert sum(len(p) for b in many_of for _, p, _ in b.groups) * many_of[0].side ** 2 <= 500_000
    curve = perturbed("m", "spatial", np.linspace(1, 0, 40).tolist(), exhibits=pictures(40))
    (block,) = blocks(result_of([curve]).summary(), Pictures)
    captions = [p.caption for p in block.groups[0][1]]
    assert (len(captions), captions[0], captions[-1]) == (MOST_STRENGTHS, "0", "39")


def test_warnings_and_notes() -> None:
    assert summary("unfit").warnings == ("method flawed does not fit its labels: so it is.",)
    assert "24 groups are few" in summary("grouped").warnings[0]
    (told, *_) = summary("uneven").warnings
    assert told == "under spatial, each model was measured at other strengths, so the numbers are not ranked."
    third = perturbed("third", "spatial", SUDDEN, (0, 2, 4, 6, 8))
    some = result_of([*(c for c in plain().curves if c.perturbation == "spatial"), third])
    assert some.summary().warnings[0].startswith("under spatial, third was measured at other strengths than one, two, ")
    assert summary("plain").warnings == ()
    noticed = next(s for s in summary("plain").sections if s.title == "Noticed on the way")
    assert noticed.blocks[0].items[0].startswith("one and two, one and three, two and three: measured on different")
    assert noticed.blocks[0].items[1:] == plain().notes
    failures = section(summary("failed"), "failures")
    assert (failures.title, failures.blocks[0].items) == ("5 trainings failed", failed().failures)
    for name in ("unfit", "grouped", "failed", "plain"):  # the JSON has them all
        assert len(VARIANTS[name]().to_dict()["notes"]) >= len(summary(name).warnings)


@every
def test_meaning(name: str) -> None:
    """What is explained is what is there."""
    result, found = VARIANTS[name](), summary(name)
    text = " ".join(section(found, "means").blocks[0].items + section(found, "not").blocks[0].items)
    noise_, finished = PTV in result.perturbations, set(result.perturbations) - {PMV, PTV}
    metrics = {c.metric for row in result.table.values() for c, e in row.items() if e.reason is None}
    for words_, there in (
        ("eq. (6)", noise_), ("eq. (8)", "fgsm" in result.perturbations),
        ("eq. (9)", "gaussian" in result.perturbations), ("eq. (10)", "k_max" in metrics),
        ("eq. (11)", "SSE" in metrics), ("compare like with like", "k_max" in metrics),
        ("It was not measured here", bool(finished) and not noise_), ("Bonferroni", bool(result.rankings)),
        ("Audit p", any(m.audit for m in result.measured.values())), ("Gap:", GAP in result.columns),
        ("may pass 1: it is not cut", noise_), ("Student’s t", noise_),
        ("Severities", bool(set(CORRUPTIONS) & finished)),
        ("Clopper-Pearson", any(c.correct.shape[1] == 1 for c in result.curves)),
    ):  # fmt: skip
        assert (words_ in text) == there, words_


def test_facts() -> None:
    found = summary("plain")
    assert dict(section(found, "facts").blocks[0].rows) == {
        "Models": "one, two, three",
        "Examples": "240 training examples of digits",
        "Spatial and gaussian": "0, 1, 2, 3, 4 (1/255 of the pixel range)",
        "Fog": "0, 1, 2, 3, 4, 5 (severity)",
        "Classes": "10",
        "Preprocessing": "pixel range 0 to 1",
    }
    assert dict(found.origin) == {
        "heldout": plain().version, "Date": DAY, "Source": "digits", "Seed": "7", "Data digest": "ab" * 32,
    }  # fmt: skip
    assert dict(section(summary("one"), "facts").blocks[0].rows)["Validation"] == "150 examples"
    missing = {name: section(summary(name), "missing").blocks[0].items for name in ("plain", "noise", "one", "uneven")}
    assert missing["plain"][0].startswith("Label noise (PMV, PTV), the direct measure")
    assert missing["noise"] == ("Perturbed pictures: not asked for",)
    assert missing["one"][0] == "Ranking: there is only one model"
    assert "Ranking: they were measured at different strengths" in missing["uneven"]


@needs_chromium
@pytest.mark.parametrize("name", ["disputed", pytest.param("corrupted", marks=pytest.mark.slow), "hostile"])
def test_fits_a_phone(name: str, tmp_path: Path) -> None:
    found = look(VARIANTS[name]().html(command="heldout memorization " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == found["scroll"] == PHONE
    assert (found["wide"], found["broken"]) == ([], 0)


@needs_chromium
def test_no_table_is_cut_on_a_desk(tmp_path: Path) -> None:
    found = look(disputed().html(), tmp_path, width=1200)
    assert set(found["cut"]) == {0}  # type: ignore[call-overload]
