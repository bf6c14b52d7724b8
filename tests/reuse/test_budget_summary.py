"""What a budget says, of real budgets of small pools: everything a report must cope with."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.predictions import Predictions
from heldout.reuse.budget import budget
from heldout.reuse.budget_summary.board import BOARD
from heldout.reuse.number_budget import budget_from_numbers
from heldout.reuse.result import Budget, BudgetResult, ScoreBudgetResult
from heldout.reuse.unit import Unit
from heldout.summary import PERCENT, HeatMap, LineChart, Note, PointDensity, Table
from heldout.summary.numbers import bar_text, count_words, exact_text, of_text, pvalue_text
from tests.report.browser import needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.summaries import (
    blocks,
    check_fits_a_phone,
    check_renderings,
    check_renders_alone,
    facts,
    items,
    titles,
)

BOUNDS = ("union", "similarity", "naive_bayes")


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
    bad = [HOSTILE, "\udcff", "\N{RIGHT-TO-LEFT OVERRIDE}back", "x" * 300]
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
    "few_examples": lambda: made(correct(4, 5, 12)),
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


SCORED = ("plain", "trials", "groups", "few")
OVERSTATED = r"\b(real|surely|clearly|tied)\b"  # being told apart is not transitive


def result_of(name: str) -> Budget:
    return variant(name) if name in VARIANTS else scored(name)


@pytest.fixture(params=VARIANTS)
def result(request: pytest.FixtureRequest) -> BudgetResult:
    """Each of them in turn."""
    return variant(request.param)


@pytest.mark.parametrize(
    "name",
    [*(pytest.param(v, marks=pytest.mark.slow) if v == "large" else v for v in VARIANTS), *SCORED],  # of 230 models
)
def test_every_rendering(name: str, tmp_path) -> None:
    check_renderings(result_of(name), tmp_path, drawn=name in VARIANTS, never=OVERSTATED)


def test_renders_alone(tmp_path) -> None:
    check_renders_alone([variant("similar"), scored("plain")], tmp_path)


@needs_chromium
@pytest.mark.parametrize(
    "name", ["full", "hostile", *(pytest.param(n, marks=pytest.mark.slow) for n in ("similar", "trials"))]
)
def test_fits_a_phone(name: str, tmp_path) -> None:
    check_fits_a_phone(result_of(name), tmp_path)


@pytest.mark.parametrize("name", [*VARIANTS, *SCORED])
def test_answer_first(name: str) -> None:
    result = result_of(name)
    summary, room = result.summary(), result.further_models
    assert summary.tone == ("quiet" if room else "found")
    what = "examples" if result.example_groups is None else "groups"
    assert (summary.headline == f"Too few {what} to say anything") == result.too_few
    few = result.example_groups is not None and result.example_groups.few
    assert len(summary.warnings) == few + (result.n_examples < 10)
    origin = dict(summary.origin)
    assert (origin["Date"], origin.get("Data digest")) == (result.created, result.data_digest)
    if result.too_few:
        assert summary.figures == ()
        return
    assert count_words(room) in summary.headline
    first, *others = summary.figures
    assert (first.value, first.note, first.strong) == (
        count_words(room),
        f"{count_words(result.testable.count)} in all",
        True,
    )
    bars = [f.value for f in others if f.name.startswith("Error bar")]
    assert bars == ([] if result.pool is None else [Unit.of_budget(result).bar(result.error_bar, full=True)])
    assert any(f.value == f"{result.needed.examples_for_epsilon:,}" for f in others)
    assert others[-1].note == f"80{PERCENT} power, named beforehand"
    assert others[-1].value == Unit.of_budget(result).gap(result.needed.gap_now)  # as the error bar beside it


@pytest.mark.parametrize("name", [*VARIANTS, *SCORED])
def test_lines(name: str) -> None:
    """Every number that is printed is on the page as well."""
    result = result_of(name)
    lines, pool = result.summary().lines, result.pool
    on_page = {row for title in titles(result) for row in facts(result, title).items()}
    assert set(lines) <= on_page
    assert (f"Examples for {Unit.of_budget(result).bar(result.epsilon)}" in dict(lines)) == (not result.too_few)
    assert {row for title in titles_of_needed(result) for row in facts(result, title).items()} <= set(lines)
    if pool is not None:
        told = dict(lines)
        bar = Unit.of_budget(result).bar(result.error_bar, full=True)
        assert told[f"Error bar for the {result.n_models:,} models"].startswith(f"{bar} ")
        assert told["Pairs told apart"] == of_text(pool.n_significant or 0, pool.n_pairs)
        cells = len(pool.names) * result.n_examples
        missing = "Missing predictions" if isinstance(result, BudgetResult) else "Missing cells"
        assert told[missing].startswith(of_text(pool.n_missing, cells))
        assert ("missing by chance" in told[missing]) == (pool.n_missing > 0)
        both = pool.n_missing > 0 and result.needed.first_gap is not None
        assert ("on the examples that both have" in told.get("Examples, first from second", "")) == both


@pytest.mark.parametrize("name", [*VARIANTS, *SCORED])
def test_one_unit_for_each_quantity(name: str) -> None:
    """Points beside errors in per cent, else the scores' own unit: never ±1 point here and ±0.00940 there."""
    result = result_of(name)
    summary, text = result.summary(), str(result)
    points = isinstance(result, BudgetResult)
    widths = re.findall(r"±([\d.]+)(\s*points?)?", " ".join([summary.headline, *summary.sentences, text]))
    assert widths
    assert all(bool(unit) == points for _, unit in widths)
    apart = ("Gap that can be told now", "Examples, first from second", "Expected drop, fresh examples")
    told = dict(summary.lines) | (facts(result, "Who may be first") if result.pool is not None else {})
    for line in (told[key] for key in apart if key in told and "not defined" not in told[key]):
        assert ("\N{NO-BREAK SPACE}point" in line) == points
    for key in ("Error, mean over models", "Error, as stated", "Score, mean over models", "Score of the first"):
        assert (PERCENT in told.get(key, "")) == (points and key in told)
    if not result.too_few:
        assert f"Examples for a gap of {Unit(points).gap(result.needed.gap)}" in told


def titles_of_needed(result: Budget) -> list[str]:
    return [section.title for section in result.needed_summary().sections]


def test_says_what_it_rests_on(result: BudgetResult) -> None:
    limits, pool = items(result, "What it does not mean"), result.pool
    assert ("Assumption A1" in limits) == bool(result.testable.naive_bayes)
    assert ("less alike than chance" in limits) == (pool is not None and pool.alike.below_chance > 0)
    assert ("What is missing is left out" in limits) == (pool is not None and pool.n_missing > 0)
    assert "chosen without looking at this test set" in result.summary().closing[0]
    assert result.needed_summary().closing == result.summary().closing
    if not result.too_few:
        assert facts(result, "Every bound").get("Not defined") == result.testable.reason


def test_sections(result: BudgetResult) -> None:
    shown, pool = titles(result), result.pool
    assert shown[:3] == ["What this means", "What it does not mean", "What to do next"]
    assert (shown[3] == "Every bound") == ("Every bound" in shown) == (not result.too_few)
    for title in (BOARD, "How to read the leaderboard", "Who may be first", "How alike the models are"):
        assert (title in shown) == (pool is not None)
    assert ("What the budget depends on" in shown) == (result.equal is not None)
    assert ("If labels are wrong" in shown) == (pool is not None and pool.label_noise is not None)
    assert ("Who resembles whom" in shown) == (pool is not None and result.n_models != 2)


def test_every_bound(result: BudgetResult) -> None:
    if result.too_few:
        return  # there is no such table
    (table,) = blocks(result, Table, "Every bound")
    equal = {} if result.equal is None else result.equal.to_dict()
    for row, bound in zip(table.rows, BOUNDS, strict=False):
        assert row.cells[1] == exact_text(result.testable.to_dict()[bound])
        if result.pool is not None:
            assert row.cells[3:5] == (exact_text(result.further.to_dict()[bound]), exact_text(equal.get(bound)))
    assert len(table.rows) == (3 if result.example_groups is None else 1)
    assert [row.cells[1] for row in table.rows if row.chosen] == [exact_text(result.testable.count)]
    theory, pool = facts(result, "How to read the bounds"), result.pool
    if pool is not None and pool.example_groups is None:
        assert bar_text(pool.adaptive, full=True) in theory["Corollary 4, adaptive use"]
        assert bar_text(pool.theorem2["epsilon"], full=True) in theory["Theorem 2, this pool’s cover"]


@pytest.mark.parametrize("name", [*VARIANTS, *SCORED])
def test_leaderboard(name: str) -> None:
    result = result_of(name)
    pool, scale = result.pool, 1 if name in SCORED else 100
    if pool is None:
        return
    (shown,) = blocks(result, Table, BOARD)
    steps = [*pool.neighbours, None]
    for row, span, i, c in zip(shown.rows, shown.spans, pool.order.tolist(), steps, strict=False):
        rank, name, _, _, after = map(str, row.cells)
        assert name == pool.names[i]
        assert span == (scale * pool.low[i], scale * pool.values[i], scale * pool.high[i])
        if pool.ranks is not None:
            best, worst = pool.ranks[i]
            assert rank == (f"{best}" if best == worst else f"{best}–{worst}")
        if c is not None:
            sign = ">" if c.survives else "<" if c.contradicted else "≈"
            assert after == f"{sign} {pvalue_text(c.log_adjusted)}"
    assert len(shown.rows) + shown.more == result.n_models
    starts = [i for i, (a, b) in enumerate(zip(shown.rows, shown.rows[1:], strict=False), 1) if a.band != b.band]
    sizes = np.cumsum([len(group) for group in pool.groups]).tolist()[:-1]
    assert starts == [size for size in sizes if size < len(shown.rows)]  # a line where a new band begins


def test_steps_both_ways() -> None:
    pool = variant("similar").pool
    assert pool is not None
    assert {c.survives for c in pool.neighbours} == {True, False}  # or the test above shows nothing
    assert str(blocks(variant("turned"), Table, BOARD)[0].rows[0].cells[4])[0] == "<"
    assert "Steps the wrong way" in facts(variant("turned"), "What this means")
    assert "Steps the wrong way" not in facts(variant("similar"), "What this means")


def test_groups_that_say_nothing_have_no_counts() -> None:
    few, told, row = variant("few_groups"), variant("grouped"), "Worth in independent examples"
    assert row in dict(told.summary().lines)
    assert row not in dict(few.summary().lines)
    assert "how many are needed" not in items(few, "What to do next")
    assert "3 groups are too few" in items(few, "Not computed")
    assert told.pool is not None
    assert told.pool.example_groups is not None
    unknown = replace(told.pool.example_groups, design_effect=np.full(6, math.nan))
    assert row not in dict(replace(told, pool=replace(told.pool, example_groups=unknown)).summary().lines)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("similar", "are Clopper–Pearson’s; the level"),
        ("grouped", "are Korn–Graubard’s"),
        ("plain", "as the variance of the scores is worth, by Student’s law"),
        ("groups", "as the variance of the scores is worth, over the design effect of the groups, by"),
    ],
)
def test_kind_of_interval(name: str, kind: str) -> None:
    (note,) = blocks(result_of(name), Note, "How to read the leaderboard")
    assert kind in note.text


def test_large_pools() -> None:
    result = variant("large")
    (board,) = blocks(result, Table, BOARD)
    assert (len(board.rows), board.more) == (50, 180)
    html = result.html()
    assert "<summary>20 more of 200<" in html
    assert len(html) < 400_000
    (chart,) = blocks(result, HeatMap, "Who resembles whom")
    assert (chart.values.shape, chart.names) == ((100, 100), None)
    assert result.pool is not None
    unranked = replace(result, pool=replace(result.pool, ranks=None))
    assert blocks(unranked, Table, BOARD)[0].columns[0].name == "Place"
    assert "Rank ranges" in items(unranked, "Not computed")
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
    assert result.testable.count == 0
    assert "Narrowest error bar of one model" in facts(result, "What this means")
    assert len(blocks(result, LineChart, "What the budget depends on")) == 1  # none against similarity
    assert full.further_models == 0 < full.testable.count < 46
    for none in (result, full):
        assert "collect more examples" in items(none, "What to do next")


def test_advice_for_ci(result: BudgetResult) -> None:
    found = re.search(r"--epsilon (\S+) --delta (\S+) --fail-under (\d+)(.*?)`", items(result, "What to do next"))
    assert (found is not None) == (result.further_models > 0 and result.pool is not None)
    if found is not None:
        assert (float(found[1]), float(found[2])) == (result.epsilon, result.delta)
        assert 0 < int(found[3]) <= result.further_models
        assert (found[4] == " --groups SPEC") == (result.example_groups is not None)


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("masked", "Forecast of Assumption A1"),
        ("flawless", "were all models equal"),
        ("misfit", "were all models equal"),
        ("grouped", "were all models equal"),
        ("apart", "Difficulty of the examples"),
        ("opposed", "Covering curve"),
        ("four_numbers", "leaderboard"),
    ],
)
def test_what_is_not_computed_is_named(name: str, lacking: str) -> None:
    assert lacking in items(variant(name), "Not computed")


def test_assumption() -> None:
    assert facts(variant("families"), "Every bound")["Pairs off, P(both wrong)"].startswith(of_text(28, 28))
    assert "does not fit" in facts(variant("families"), "Every bound")["Assumption A1"]


def test_how_alike() -> None:
    result = variant("similar")
    assert result.pool is not None
    (histogram,) = blocks(result, LineChart, "How alike the models are")
    (density,) = blocks(result, PointDensity, "How alike the models are")
    assert [mean.x for mean in histogram.verticals] == [result.independent_similarity, result.mean_similarity]
    assert {sum(s.y[1:]) for s in histogram.series} == {66} == {int(density.counts.sum())}
    (chart,) = blocks(result, HeatMap, "Who resembles whom")
    assert chart.names is not None
    order = [result.pool.names.index(name) for name in chart.names]
    np.testing.assert_array_equal(chart.values, result.pool.similarity.matrix()[np.ix_(order, order)])
    (table,) = blocks(variant("opposed"), Table, "How alike the models are")
    assert [row.cells[2:4] for row in table.rows] == [("0.550", "0.650")]


def test_curves(result: BudgetResult) -> None:
    drawn = blocks(result, LineChart, "What the budget depends on")
    for chart, curve in zip(reversed(drawn), (result.by_epsilon, result.by_similarity), strict=False):
        assert curve is not None
        assert result.equal is not None
        for series, name in zip(chart.series, BOUNDS, strict=False):
            counts = getattr(curve, name)
            np.testing.assert_array_equal(series.y, np.where(counts >= 1, counts, np.nan))
        assert [int(m.y) for m in chart.marks] == [float(k) for k in result.equal.to_dict().values() if k]


def test_structure() -> None:
    result = variant("similar")
    assert result.pool is not None
    cover, difficulty = blocks(result, LineChart, "structure")
    assert set(cover.series[0].y) == set(result.pool.cover.size.tolist())
    np.testing.assert_allclose(difficulty.series[0].y, result.pool.similarity.difficulty_curve())
    np.testing.assert_allclose(difficulty.series[1].y, result.pool.difficulty_forecast)


@pytest.mark.parametrize("name", ["similar", "trials"])
def test_who_may_be_first(name: str) -> None:
    result = result_of(name)
    assert result.pool is not None
    first = facts(result, "Who may be first")
    assert first["May be first"].startswith(f"{len(result.first)} of 12: ")
    assert first["May be among the top 3"].startswith(f"{len(result.top['3'])} of 12: ")
    unit = Unit(points=name == "similar")
    assert first["Score to expect"].startswith(f"{unit.score(result.pool.winner.corrected)}, right on average")
    row = result.pool.models[0]
    ends = sorted((row["low"], row["high"]) if name == "trials" else (1 - row["high"], 1 - row["low"]))
    assert first["Its true score"].startswith(f"{unit.scores(*ends)} with probability 95")
    assert ends[0] < result.pool.winner.score < ends[1]


def test_wrong_labels() -> None:
    pool = variant("labels").pool
    assert pool is not None
    assert pool.label_noise is not None
    assert pool.second_labels is not None
    (moved,) = blocks(variant("labels"), Table, "If labels are wrong")
    assert moved.rows[0].cells[3] == bar_text(pool.label_noise.error_bar_worst, full=True)
    assert "model 0" in facts(variant("labels"), "If labels are wrong")["Fewer errors than wrong labels"]
    differ = facts(variant("labels"), "By the second labels")["Labels that differ"]
    assert differ.startswith(f"{pool.second_labels.n_changed} of 400")
    (table,) = blocks(variant("labels"), Table, "Model by model")
    assert [row.cells[4] for row in table.rows] == ["1", "2", "3", "4"]


def test_past_counting() -> None:
    result = variant("four_numbers")
    many = replace(result, testable=replace(result.testable, similarity=10**18))
    text = str(many)
    assert "over 10¹⁸" in text
    assert "10¹⁸ or more" in text
    assert "1,000,000,000,000" not in text


def test_notes() -> None:
    result = replace(variant("too_few"), tasks={"a": 40, HOSTILE: 20}, trials_agree=True)
    assert result.to_dict()["notes"] == list(result.notes) == items(result, "Notes").split("\n")
    assert len(result.notes) == 2
    assert variant("too_few").notes == ()


def test_the_date_can_be_set(monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    for result in (budget_from_numbers(100, 0.2, 0.8), budget(np.random.default_rng(0).random((3, 20)))):
        assert result.to_dict()["created"] == dict(result.summary().origin)["Date"] == "1970-01-02"


def test_trials() -> None:
    result = scored("trials")
    trials = result.to_dict()["trials"]
    assert math.isfinite(result.trials.share_of_error_bar)
    told = facts(result, "What more trials would bring")["Trials shorten error bars by"]
    assert told.startswith(f"{100 * (1 - trials['with_twice_as_many']):.1f}")
    assert set(facts(scored("plain"), "What more trials would bring")) == {"Trials per cell", "More trials would bring"}
