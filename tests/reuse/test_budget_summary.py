"""What a budget says, of real budgets of small pools: everything a report must cope with."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.reuse.budget import budget, budget_from_numbers
from heldout.reuse.budget_summary.words import sure_text
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.reuse.score_result import ScoreBudgetResult
from heldout.summary import Facts, HeatMap, LineChart, Outlines, PointDensity, Points, Ranges, SideBySide, Table
from heldout.summary.numbers import bar_text, count_words, exact_text, pvalue_text
from tests.report.browser import look, needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.pages import check_drawings, check_self_contained, words

BOUNDS = ("union", "similarity", "naive_bayes")
BOARD = "The leaderboard, with error bars that hold for all at once"


def correct(k: int, n: int, seed: int, *, hard: float = 0.4, spread: float = 0.25) -> NDArray[np.bool_]:
    """Models that are right on the easy examples and err on the hard ones, each at its own rate."""
    rng = np.random.default_rng(seed)
    is_hard = rng.random(n) < hard
    rates = 0.3 + spread * rng.random((k, 1))
    found: NDArray[np.bool_] = ~(is_hard & (rng.random((k, n)) < rates))
    return found


def names(k: int) -> list[str]:
    return [f"model_{i:03d}_with_a_rather_long_name_v{i % 7}" for i in range(k)]


def made(right: NDArray[np.bool_], given: list[str] | None = None, **asked: object) -> BudgetResult:
    observed = asked.pop("observed", None)
    table = Predictions.from_correct(right, observed=observed, names=given or names(len(right)))
    result = budget(table, **asked)  # type: ignore[arg-type]
    assert isinstance(result, BudgetResult)
    return replace(result, created="2026-01-31")


def similar() -> BudgetResult:
    """Twelve models of different quality with much in common: room for more, ties and clear steps."""
    right = correct(12, 4000, 0)
    right[9:] &= np.random.default_rng(1).random((3, 4000)) < [[0.9], [0.8], [0.6]]
    return made(right, epsilon=0.03)


def opposed() -> BudgetResult:
    """Two models that are never wrong together: no coupling, the union bound only."""
    first = np.arange(1000) >= 200
    second = (np.arange(1000) < 300) | (np.arange(1000) >= 550)
    return made(np.stack([first, second]), ["one", "two"], epsilon=0.05)


def grouped() -> BudgetResult:
    """Examples in twenty groups, a few too few."""
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(20), np.arange(5, 25))
    alike = rng.random(len(codes)) < 0.7
    right = np.where(alike, correct(6, 20, 5)[:, codes], correct(6, len(codes), 6))
    return made(right, epsilon=0.3, groups=codes)


def families() -> BudgetResult:
    """Two families of models, each with hard examples of its own: no common cause."""
    rng = np.random.default_rng(10)
    hard = np.repeat(rng.random((2, 4000)) < 0.5, 4, axis=0)
    return made(~(hard & (rng.random((8, 4000)) < 0.5)), epsilon=0.03)


def turned() -> BudgetResult:
    """The first looks better on what it answered, and is worse where both answered."""
    right, observed = np.ones((2, 3000), bool), np.ones((2, 3000), bool)
    right[0, :200] = False
    right[1, 200:260] = False
    observed[1, 400:] = False
    return made(right, ["lucky", "solid"], observed=observed, epsilon=0.05)


def misfit() -> BudgetResult:
    """Mean error and mean similarity of different examples: no two models have both."""
    right, observed = np.ones((2, 1000), bool), np.ones((2, 1000), bool)
    right[0, :10] = False
    observed[1, 20:] = False
    return made(right, ["all", "few"], observed=observed, epsilon=0.2)


def hostile() -> BudgetResult:
    """Names that want to break out of the page."""
    bad = [HOSTILE, f"{HOSTILE}\udcff", "\N{RIGHT-TO-LEFT OVERRIDE}back", "x" * 300]
    return replace(made(correct(4, 300, 7), bad, epsilon=0.1, label_noise=0.05), source=HOSTILE)


def labels() -> BudgetResult:
    """Wrong labels stated, and other labels given."""
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 3, size=400)
    answers = np.where(rng.random((4, 400)) < np.array([[0.98], [0.8], [0.8], [0.6]]), truth, 0)
    other = np.where(rng.random(400) < 0.1, (truth + 1) % 3, truth)
    result = budget(Predictions.from_arrays(answers, truth), label_noise="0.03", second_labels=other, epsilon=0.1)
    assert isinstance(result, BudgetResult)
    return result


def apart() -> BudgetResult:
    """No example that every model has."""
    observed = np.repeat(~np.eye(3, dtype=bool), 30, axis=1)
    return made(np.random.default_rng(0).random((3, 90)) < 0.7, observed=observed, epsilon=0.2)


def masked() -> BudgetResult:
    """A tenth of the answers is missing."""
    observed = np.random.default_rng(2).random((8, 900)) < 0.9
    return made(correct(8, 900, 3), observed=observed, epsilon=0.05)


VARIANTS = {
    "similar": similar,
    "masked": masked,
    "opposed": opposed,
    "grouped": grouped,
    "few_groups": lambda: made(correct(4, 60, 12), groups=np.arange(60) % 3),
    "large": lambda: made(correct(230, 300, 4), epsilon=0.1),  # more models than rows, blocks instead of names
    "full": lambda: made(correct(46, 500, 5), epsilon=0.04),  # more models than there is room for
    "too_few": lambda: made(correct(5, 60, 6), epsilon=0.01),  # not even one model fits
    "hostile": hostile,
    "flawless": lambda: made(np.ones((4, 800), bool), epsilon=0.02),  # no mean error to draw curves for
    "turned": turned,
    "misfit": misfit,
    "families": families,
    "labels": labels,
    "apart": apart,
    "four_numbers": lambda: budget_from_numbers(50_000, 0.244, 0.85),
    "no_coupling": lambda: budget_from_numbers(50_000, 0.244, 0.55),  # less similar than chance
    "four_too_few": lambda: budget_from_numbers(50, 0.244, 0.85, epsilon=0.01),
}


@cache
def variant(name: str) -> BudgetResult:
    return VARIANTS[name]()


@cache
def scored(name: str) -> ScoreBudgetResult:
    rng = np.random.default_rng(3)
    ability = np.clip(rng.normal(np.linspace(0.4, 0.6, 12)[:, None], 0.2, (12, 200)), 0, 1)
    if name == "trials":
        result = budget(Predictions.from_scores(np.moveaxis(rng.random((5, 12, 200)) < ability, 0, -1).astype(float)))
    else:
        result = budget(Predictions.from_scores(ability, names=[HOSTILE, *names(11)]), **{
            "plain": {}, "groups": {"groups": np.arange(200) // 5}, "few": {"groups": np.arange(200) // 50},
        }[name])  # fmt: skip
    assert isinstance(result, ScoreBudgetResult)
    return result


@pytest.fixture(params=VARIANTS)
def result(request: pytest.FixtureRequest) -> BudgetResult:
    """Each of them in turn."""
    return variant(request.param)


Any_ = BudgetResult | ScoreBudgetResult


def titles(result: Any_) -> list[str]:
    return [s.title for s in result.summary().sections]


def blocks(result: Any_, title: str) -> tuple[object, ...]:
    return next(s.blocks for s in result.summary().sections if s.title == title)


def items(result: Any_, title: str) -> str:
    (found,) = (b for b in blocks(result, title) if isinstance(b, Points))
    return "\n".join(found.items)


def facts(result: Any_, title: str) -> dict[str, str]:
    (found,) = (b for b in blocks(result, title) if isinstance(b, Facts))
    return dict(found.rows)


def board(result: Any_) -> Ranges:
    (found,) = (b for b in blocks(result, BOARD) if isinstance(b, Ranges))
    return found


def charts(result: BudgetResult, title: str) -> tuple[object, ...]:
    return next(b.charts for b in blocks(result, title) if isinstance(b, SideBySide))


def check_renderings(result: Any_, folder) -> None:
    html = result.html(command="heldout budget predictions.npz")
    check_self_contained(html)
    check_drawings(html)
    for rendered in (html, result.markdown(), result._repr_html_()):
        assert "<script" not in rendered
        assert "<img" not in rendered
    for text in (words(html), result.markdown(), str(result)):
        assert not re.search(r"\bnan\b|\bNone\b(?!\s+of\s+the)", text)
        assert not re.search(r"\b(real|surely|clearly)\b|\b1 (models|pairs|examples)\b|\ball 2\b", text)
        assert "tied" not in text  # being told apart is not transitive
    result.save(folder / "result")
    again = type(result).load(folder)
    assert again == result
    assert again.to_dict() == json.loads((folder / "result.json").read_text())
    assert (str(again), again.markdown()) == (str(result), result.markdown())
    assert again.html(command="heldout budget predictions.npz") == html


def test_every_rendering(result: BudgetResult, tmp_path) -> None:
    check_renderings(result, tmp_path)


@pytest.mark.parametrize("name", ["plain", "trials", "groups", "few"])
def test_every_rendering_of_scores(name: str, tmp_path) -> None:
    check_renderings(scored(name), tmp_path)


def test_loaded_results_need_neither_torch_nor_scipy_clusters(tmp_path) -> None:
    variant("similar").save(tmp_path / "result")
    code = (
        "import sys; from heldout import BudgetResult; r = BudgetResult.load(sys.argv[1]); str(r), r.markdown(), "
        "r.html(); print({'torch', 'onnxruntime', 'matplotlib', 'scipy.cluster.hierarchy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_old_files_are_refused(tmp_path) -> None:
    np.savez(tmp_path / "result.npz", record=np.array(json.dumps({"format": 2, "seed": 1})))
    with pytest.raises(InputError, match="another version of heldout"):
        BudgetResult.load(tmp_path)


def test_answer_first(result: BudgetResult) -> None:
    summary, room = result.summary(), result.further_models
    assert summary.tone == ("quiet" if room else "found")
    if result.too_few:
        assert summary.headline == "Too few groups to say anything"
    elif result.fitting_models == 0:
        assert summary.headline.startswith("Not even one model fits at")
    elif room == 0:
        assert summary.headline.startswith("No room for more models at")
    else:
        more = "" if result.pool is None else "more "
        assert summary.headline.startswith(f"Room for {count_words(room)} {more}model")
    shown = {f.name.split(", ")[1]: f.value for f in summary.figures if ", " in f.name}
    t = result.testable
    for bound, name in zip(BOUNDS, ("union bound", "similarity bound", "Naive Bayes"), strict=True):
        if result.example_groups is not None and bound != "union":
            assert name not in shown
            continue
        if t.union == t.similarity and bound != "naive_bayes":
            name = "union and similarity bound"
        count = result.further[bound]
        assert shown[name] == ("no bound" if count is None else count_words(count))
    assert [f.strong for f in summary.figures] == [True] + [False] * (len(summary.figures) - 1)
    bars = {f.value for f in summary.figures if f.name.startswith("Error bar")}
    known = {} if result.pool is None else result.pool.epsilon
    assert bars == {bar_text(bar, full=True) for bar in known.values()}
    origin = dict(summary.origin)
    assert (origin["Date"], origin.get("Data digest")) == (result.created, result.data_digest)


def test_lines(result: BudgetResult) -> None:
    lines, pool = dict(result.summary().lines), result.pool
    assert lines["error (mean)"] == f"{result.mean_error:.4f}"
    assert lines["similarity (mean)"].startswith(f"{result.mean_similarity:.4f} ({result.independent_similarity:.4f} ")
    assert ("models, similarity bound" in lines) == (result.example_groups is None)
    assert (f"examples for ±{result.epsilon:g}" in lines) == (not result.too_few)
    if pool is not None:
        them = "both" if result.n_models == 2 else f"all {result.n_models:,}"
        bar = lines[f"{them} within, at {sure_text(result.delta)}"]
        assert bar.startswith(f"±{pool.epsilon['similarity']:.5f}")
        assert ("missing answers" in lines) == (pool.n_missing > 0)
        assert ("pairs less alike than chance" in lines) == (pool.alike.below_chance > 0)


def test_says_what_it_rests_on(result: BudgetResult) -> None:
    limits, pool = items(result, "What it does not mean"), result.pool
    assert "It does not cover models chosen by looking at this test set" in limits
    assert ("error and similarity are plugged in" in limits) == (result.example_groups is None)
    assert "is not a ranking" in limits
    assert ("Assumption A1" in limits) == bool(result.testable.naive_bayes)
    if result.testable.reason is not None:
        assert result.testable.reason[1:] in words(result.html()).replace("\N{NO-BREAK SPACE}", " ")
    if pool is not None:
        assert ("wrong together less often" in limits) == (pool.alike.below_chance > 0)
        assert (f"{pool.n_missing:,} of " in limits) == (pool.n_missing > 0)
    assert "chosen without looking at this test set" in result.summary().closing[0]


def test_sections(result: BudgetResult) -> None:
    shown, pool = titles(result), result.pool
    assert shown[:3] == ["What this means", "What it does not mean", "What to do next"]
    for title in (BOARD, "How to read the leaderboard", "Who may be first", "How alike the models are"):
        assert (title in shown) == (pool is not None)
    assert ("Not computed without predictions" in shown) == (pool is None)
    assert ("What the budget depends on" in shown) == (result.equal is not None)
    assert ("If labels are wrong" in shown) == (pool is not None and (result.label_noise is not None))
    assert ("Who resembles whom" in shown) == (pool is not None and result.n_models != 2)
    assert "Every bound" in shown
    printed = [s.title for s in result.summary().sections if s.printed]
    assert set(printed) <= {BOARD, "Who may be first", "If labels are wrong", "Notes"}


def test_every_bound(result: BudgetResult) -> None:
    (table,) = (b for b in blocks(result, "Every bound") if isinstance(b, Table))
    equal = result.testable_if_equal or dict.fromkeys(BOUNDS)
    for row, bound in zip(table.rows, BOUNDS, strict=False):
        assert row.cells[1] == exact_text(result.testable_models[bound])
        if result.pool is not None:
            assert row.cells[2:4] == (exact_text(result.further[bound]), exact_text(equal[bound]))
    assert len(table.rows) == (3 if result.example_groups is None else 1)
    assert sum(row.chosen for row in table.rows) == 1
    theory = facts(result, "Every bound")
    pool = result.pool
    assert ("Corollary 4, adaptive use" in theory) == (pool is not None and pool.example_groups is None)
    if pool is not None and pool.example_groups is None:
        told = bar_text(pool.adaptive, full=True) if pool.adaptive < 1 else "nothing at all"
        assert told in theory["Corollary 4, adaptive use"]
        if math.isfinite(pool.theorem2["epsilon"]):
            assert bar_text(pool.theorem2["epsilon"], full=True) in theory["Theorem 2, this pool’s cover"]


def check_rows(shown: Ranges, pool: PoolResult) -> None:
    for place, (row, i) in enumerate(zip(shown.rows, pool.order.tolist(), strict=False)):
        assert row.name == pool.similarity.names[i]
        assert (row.value, row.low, row.high) == (
            100 * pool.similarity.errors[i],
            100 * pool.low[i],
            100 * pool.high[i],
        )
        if pool.ranks is not None:
            best, worst = pool.ranks[i]
            assert row.rank == (f"{best}" if best == worst else f"{best}–{worst}")
        if place < len(pool.neighbours):
            c = pool.neighbours[place]
            assert row.next == (">" if c.survives else "<" if c.contradicted else "≈")
            assert row.next_note == pvalue_text(c.log_adjusted)


def test_leaderboard(result: BudgetResult) -> None:
    if result.pool is None:
        return
    shown = board(result)
    check_rows(shown, result.pool)
    assert len(shown.rows) + shown.more == result.n_models
    starts = [i for i, (a, b) in enumerate(zip(shown.rows, shown.rows[1:], strict=False), 1) if a.band != b.band]
    sizes = np.cumsum([len(group) for group in result.pool.groups]).tolist()[:-1]
    assert starts == [size for size in sizes if size < len(shown.rows)]  # a line where a new band begins


def test_steps_both_ways() -> None:
    pool = variant("similar").pool
    assert pool is not None
    assert {c.survives for c in pool.neighbours} == {True, False}  # or the test above shows nothing
    assert board(variant("turned")).rows[0].next == "<"
    key = items(variant("turned"), "How to read the leaderboard")
    assert "< where it is significantly worse" in key
    assert "places and ranks need not agree" in key
    assert "significantly worse" not in words(variant("similar").html())
    assert "the lower one is significantly better" in items(variant("turned"), "What this means")


def test_large_pools() -> None:
    result = variant("large")
    assert (len(board(result).rows), board(result).more) == (50, 180)
    html = result.html()
    assert "<summary>20 more, on an axis of their own" in html
    assert len(html) < 400_000
    (chart,) = (b for b in blocks(result, "Who resembles whom") if isinstance(b, HeatMap))
    assert (chart.values.shape, chart.names) == ((100, 100), None)
    assert "put together in 100 blocks" in chart.caption
    assert result.pool is not None
    unranked = replace(result, pool=replace(result.pool, ranks=None))
    assert board(unranked).columns[0] == "Place"
    assert "Rank ranges: the pool is too large" in items(unranked, "Not computed")
    assert "**Rank**" not in items(unranked, "How to read the leaderboard")


def test_large_maps_are_square_on_a_desk() -> None:
    html = variant("full").html()
    desk, phone = (html[html.index(f'class="{name}"') :] for name in ("desk", "phone"))
    (across, down), (narrow, high) = (
        re.findall(r'class="cells" transform="translate\(\S+ 4\) scale\((\S+) (\S+)\)"', part)[0]
        for part in (desk, phone)
    )
    assert across == down
    assert float(narrow) < float(high)


def test_nothing_fits() -> None:
    result, full = variant("too_few"), variant("full")
    assert result.fitting_models == 0
    enough = f"{result.needed.examples_for_epsilon:,} examples would do for all 5 models"
    assert enough in result.summary().sentences[0]
    assert enough in items(result, "What to do next")
    assert "needs a wider error bar: about ±" in items(result, "What this means")
    assert len(charts(result, "What the budget depends on")) == 1  # none against similarity
    assert full.further_models == 0 < full.fitting_models < 46
    assert "there are 46 already" in full.summary().sentences[0]
    assert full.summary().figures[0].note == f"{full.fitting_models} would fit in all"
    assert "Ask for less or collect more" in items(full, "What to do next")


def test_advice_for_ci(result: BudgetResult) -> None:
    found = re.search(r"--epsilon (\S+) --delta (\S+) --fail-under (\d+)(.*?)`", items(result, "What to do next"))
    assert (found is not None) == (result.further_models > 0 and result.pool is not None)
    if found is not None:
        assert (float(found[1]), float(found[2])) == (result.epsilon, result.delta)
        assert 0 < int(found[3]) <= result.further_models
        assert (found[4] == " --groups SPEC") == (result.example_groups is not None)


def test_unequal_models() -> None:
    """What the mean would promise is told, and that it is not the answer."""
    result = variant("similar")
    assert result.equal is not None
    assert result.equal.similarity is not None
    assert result.equal.similarity > 1.5 * result.fitting_models  # or the test shows nothing
    text = items(result, "What this means")
    assert f"{count_words(result.fitting_models)} like these fit in all" in text
    assert f"it would be {count_words(result.equal.similarity)}" in text


def test_reasons() -> None:
    masked, flawless = variant("masked"), variant("flawless")
    assert f"There is no Naive Bayes number: {masked.testable.reason}." in items(masked, "What this means")
    assert "only the union bound applies" in items(variant("no_coupling"), "What this means")
    assert "the set is too easy" in items(flawless, "What this means")
    assert "the mean error is 0" in items(flawless, "Not computed")
    assert "do not fit together" in items(variant("misfit"), "Not computed")
    assert "for independent examples" in items(variant("grouped"), "Not computed")
    assert "none was answered by every model" in items(variant("apart"), "Not computed")
    assert "Covering curve: it takes all models" in items(variant("opposed"), "Not computed")
    assert "does not fit: in 28 of 28 pairs" in items(variant("families"), "What it does not mean")
    assert "does not fit these models" in variant("families").summary().figures[2].note


def test_groups() -> None:
    result = variant("grouped")
    groups = result.example_groups
    assert groups is not None
    assert "in 20 groups of 5 to 24 examples" in result.summary().subject
    assert f"{groups.median_effect:.2f} (median over models)" in items(result, "What this means")
    assert "20 groups are few (fewer than 30)" in result.summary().warnings[0]
    text = words(result.html())
    assert "Korn–Graubard" in text
    assert "exact sign test" not in text


def test_how_alike() -> None:
    result = variant("similar")
    assert result.pool is not None
    histogram, density = charts(result, "How alike the models are")
    assert isinstance(histogram, Outlines)
    assert isinstance(density, PointDensity)
    assert [d.mean for d in histogram.distributions] == [result.independent_similarity, result.mean_similarity]
    assert {sum(d.counts) for d in histogram.distributions} == {66} == {int(density.counts.sum())}
    (chart,) = (b for b in blocks(result, "Who resembles whom") if isinstance(b, HeatMap))
    assert chart.names is not None
    order = [result.pool.similarity.names.index(name) for name in chart.names]
    np.testing.assert_array_equal(chart.values, result.pool.similarity.matrix()[np.ix_(order, order)])
    few = variant("opposed")
    (table,) = (b for b in blocks(few, "How alike the models are") if isinstance(b, Table))
    assert [row.cells[2:4] for row in table.rows] == [("0.550", "0.650")]


def test_curves(result: BudgetResult) -> None:
    if result.equal is None:
        return
    drawn = charts(result, "What the budget depends on")
    for chart, curve in zip(reversed(drawn), (result.by_epsilon, result.by_similarity), strict=False):
        assert isinstance(chart, LineChart)
        assert curve is not None
        for series, name in zip(chart.series, BOUNDS, strict=False):
            counts = getattr(curve, name)
            np.testing.assert_array_equal(series.y, np.where(counts >= 1, counts, np.nan))
        marked = [int(m.y) for m in chart.marks]
        assert marked == [float(k) for k in result.equal.to_dict().values() if k]


def test_structure() -> None:
    result = variant("similar")
    assert result.pool is not None
    cover, difficulty = charts(result, "How few models stand for all, and how hard the examples are")
    assert isinstance(cover, LineChart)
    assert isinstance(difficulty, LineChart)
    assert set(cover.series[0].y) == set(result.pool.cover.size.tolist())
    np.testing.assert_allclose(difficulty.series[0].y, result.pool.similarity.difficulty_curve())
    np.testing.assert_allclose(difficulty.series[1].y, result.pool.difficulty_forecast)


def test_who_may_be_first_and_what_is_needed() -> None:
    result = variant("similar")
    assert result.winner is not None
    first, need = facts(result, "Who may be first"), facts(result, "How many examples are needed")
    assert first["May be first"].startswith(f"{len(result.first)}: {result.first[0]}")
    assert first["May be among the top 3"].startswith(f"{len(result.top['3'])}: ")
    assert f"drops by {result.winner.expected_drop:.4f} on average" in items(result, "What this means")
    assert need[f"For {bar_text(0.03)}"].startswith(f"{result.needed.examples_for_epsilon:,} examples")
    assert need["To tell a gap of 1 percentage point"].startswith(f"{result.needed.examples_for_gap:,} examples")
    alone = result.needed_summary()
    assert dict(alone.lines).items() <= dict(result.summary().lines).items()
    assert alone.closing == result.summary().closing


def test_wrong_labels() -> None:
    result = variant("labels")
    noise, second = result.label_noise, result.second_labels
    assert noise is not None
    assert second is not None
    text = items(result, "If labels are wrong")
    assert f"±{noise.error_bar_worst:.5f}" in text
    assert "Fewer errors than wrong labels: model 0" in text
    assert f"{second.n_changed} of 400 labels" in text
    (table,) = (b for b in blocks(result, "Model by model") if isinstance(b, Table))
    assert table.rows[0].cells[2] == "below 0"
    assert [row.cells[4] for row in table.rows] == ["1", "2", "3", "4"]


def test_four_numbers_and_past_counting() -> None:
    result = variant("four_numbers")
    assert result.summary().headline.startswith("Room for 1.06 million models")
    assert "4.23 times as many" in result.summary().figures[0].note
    many = replace(result, testable=replace(result.testable, naive_bayes=10**18))
    text = words(many.html())
    assert "over 10¹⁸" in text
    assert "10¹⁸ or more" in text
    assert "1,000,000,000,000" not in text


def test_notes() -> None:
    result = replace(variant("too_few"), tasks={"a": 40, HOSTILE: 20}, trials_agree=True)
    assert result.to_dict()["notes"] == list(result.notes)
    assert "All 2 tasks pooled" in items(result, "Notes")
    assert "All trials of an example agree" in str(result)
    assert variant("too_few").notes == ()


def test_the_date_can_be_set(monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for result in (budget_from_numbers(100, 0.2, 0.8), budget(np.random.default_rng(0).random((3, 20)))):
        assert result.to_dict()["created"] == dict(result.summary().origin)["Date"] == "1970-01-02"


def test_scores() -> None:
    result = scored("trials")
    trials = result.to_dict()["trials"]
    assert math.isfinite(result.median_trial_share)
    assert f"{100 * (1 - trials['with_twice_as_many']):.1f}" in items(result, "What this means")
    assert "Variance inside an example" in facts(result, "What went in")
    shown = board(result)
    assert [row.value for row in shown.rows] == result.scores[result.order].tolist()
    assert shown.rows[0].rank.startswith("1")
    lines = dict(result.summary().lines)
    assert lines["models like these"].startswith(f"{result.testable.union:,} fit")
    assert facts(result, "Who may be first")["May be among the top 10"].startswith(f"{len(result.top[10])}: ")
    assert "is not known" in items(scored("plain"), "What this means")
    few = scored("few").summary()
    assert (few.headline, few.figures) == ("Too few groups to say anything", ())


@needs_chromium
@pytest.mark.parametrize("name", ["similar", "full", "hostile"])
def test_fits_a_phone(name: str, tmp_path) -> None:
    found = look(variant(name).html(command="heldout budget " + "very-long-path/" * 20), tmp_path, width=360)
    assert (found["client"], found["scroll"], found["wide"]) == (360, 360, [])
    assert set(found["cut"]) == {0} or name == "hostile"
    assert float(str(found["smallest"])) >= 6.9
