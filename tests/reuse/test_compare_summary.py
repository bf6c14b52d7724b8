"""What the summary says of each kind of comparison, and that every rendering of it holds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout import CompareAllResult, CompareResult, Predictions, compare, compare_all
from heldout.reuse.compare_summary import (
    BEFOREHAND,
    COLUMN,
    FEWEST,
    LARGER,
    LISTED,
    NOT_EQUAL,
    NULLS,
    ONE_LOOK,
    OPEN,
    PAIRS_SHOWN,
    TESTS,
)
from heldout.summary import LineChart, Table, fixed, name_text, pair, pvalue_text, shorten
from tests.report.browser import needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.summaries import blocks, check_fits_a_phone, check_renderings, check_renders_alone, facts, section


def pool() -> Predictions:
    right = np.random.default_rng(1).random((4, 400)) < np.array([[0.9], [0.8], [0.8], [0.6]])
    names = ["first & best", "second", "third", "a model with a very long name that goes on and on and on"]
    return Predictions.from_correct(right, names=names, columns={"question": [f"what is {i}?" for i in range(400)]})


def scores() -> Predictions:
    rng = np.random.default_rng(2)
    return Predictions.from_scores(rng.random((2, 100)).round(1), columns={"repo": rng.integers(0, 20, 100)})


def labelled() -> Predictions:
    return Predictions.from_arrays(
        [[0, 1, 2, 2], [0, 2, 2, 1]], [0, 1, 2, 1], names=["a", "b"], ids=list("wxyz"),
        columns={"question": ["one?", "two?", "three?", "four?"]},
    )  # fmt: skip


def ordered() -> np.ndarray:
    first = np.concatenate([np.ones(100), np.zeros(400)])
    return np.stack([first, 1 - first])


def groups_in_order() -> CompareResult:
    group = np.repeat(np.arange(60), np.random.default_rng(0).integers(1, 30, size=60))
    right = np.random.default_rng(2).random((2, len(group))) < np.array([[0.7], [0.5]])
    return compare(right, 0, 1, groups=group, sequential=True)


def sharing_little() -> CompareAllResult:
    observed = np.ones((3, 40), bool)
    observed[0, 20:], observed[1, :18] = False, False
    cells = np.random.default_rng(0).random((3, 40)) < 0.5
    table = Predictions.from_scores(cells * 1.0, observed=observed, names=["a", "b", "c"])
    return compare_all(table, groups=np.arange(40) // 4)


def hostile() -> Predictions:
    table = labelled()
    return Predictions.from_arrays(
        table.predictions, table.labels, names=[HOSTILE, HOSTILE[::-1]], ids=[HOSTILE + str(i) for i in range(4)],
        columns={"question": [HOSTILE] * 4},
    )  # fmt: skip


VARIANTS = {
    "told": lambda: compare(pool(), 0, 3),
    "open": lambda: compare(pool(), 1, 2),
    "equal": lambda: compare([[1, 0, 1], [1, 0, 1]], 0, 1),
    "sequential": lambda: compare(pool(), 0, 3, sequential=True),
    "scores": lambda: compare(scores(), 0, 1),
    "groups": lambda: compare(scores(), 0, 1, groups="repo"),
    "larger groups": lambda: compare(scores(), 0, 1, groups="repo", largest_group=50),
    "larger than few": lambda: compare(
        np.random.default_rng(0).random((2, 40)) < 0.6, 0, 1, groups=np.arange(40) % 10, largest_group=400
    ),
    "sequence of groups": groups_in_order,
    "labelled": lambda: compare(labelled(), "a", "b"),
    "missing": lambda: compare([[1, 1, None, 0, 1, 1], [0, 1, 1, None, 0, 1]], 0, 1),
    "moved": lambda: compare(ordered(), 0, 1, sequential=True),
    "few": lambda: compare(np.random.default_rng(0).random((2, 40)) < 0.6, 0, 1, groups=np.arange(40) % 3),
    "one of several": lambda: compare_all(pool()).pairs[2],
    "hostile": lambda: compare(hostile(), 0, 1),
    "all": lambda: compare_all(pool()),
    "all sequential": lambda: compare_all(pool(), sequential=True),
    "all moved": lambda: compare_all(np.concatenate([ordered(), ordered()[:1]]), sequential=True),
    "mixed": lambda: compare_all(Predictions.from_scores(np.vstack([pool().scores[:2], np.full(400, 0.5)]))),
    "skipped": sharing_little,
    "all hostile": lambda: compare_all(hostile()),
}
PAIRS = [name for name in VARIANTS if not name.startswith(("all", "mixed", "skipped"))]


@cache
def made(name: str) -> CompareResult | CompareAllResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        return VARIANTS[name]()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_rendering(name: str, tmp_path: Path) -> None:
    check_renderings(made(name), tmp_path)


def test_renders_alone(tmp_path: Path) -> None:
    check_renders_alone([made("sequential"), made("all")], tmp_path)


@pytest.mark.parametrize("name", PAIRS)
def test_advice_is_for_the_comparison_that_was_made(name: str) -> None:
    result = made(name)
    assert isinstance(result, CompareResult)
    limits = next(s for s in result.summary().sections if s.title == "What it does not mean").blocks[0].items
    assert (NOT_EQUAL in limits) == (result.better is None)
    assert (ONE_LOOK in limits) == (result.sequence is None)
    assert BEFOREHAND in limits
    shown = [s.blocks[-1].text for s in result.summary().sections if s.title == "The difference"]
    assert all(("Zero is inside" in text) == (result.sequence is None) for text in shown)


@pytest.mark.parametrize("name", PAIRS)
def test_headline_and_numbers(name: str) -> None:
    result = made(name)
    assert isinstance(result, CompareResult)
    summary, lines = result.summary(), dict(result.summary().lines)
    assert summary.tone == ("neutral" if result.better else "quiet")
    ending = {"told apart": "is better", "not told apart": "are not told apart", "order matters": "the order of the "}
    assert ending[result.ruling.outcome] in summary.headline
    assert ("--sequential" in summary.sentences[-1]) == (result.ruling.outcome == "order matters")
    assert ("Holm" in summary.sentences[0]) == ("Adjusted p" in lines) == (name == "one of several")
    values = [figure.value for figure in summary.figures]
    assert values[1:3] == [pvalue_text(result.log_p_value), f"{result.n_discordant:,} of {result.n_examples:,}"]
    for text, value, sign in (values[0], result.difference, True), (values[3], result.detectable_difference, False):
        if result.binary and math.isfinite(value):  # as the accuracies above, which are in per cent
            assert text == f"{fixed(100 * value, 2, sign=sign)}\N{NO-BREAK SPACE}points"
        else:
            assert text == fixed(value, sign=sign)
    assert summary.closing == (f"Null hypothesis: {result.null}",)
    assert result.null.startswith(NULLS[result.ruling.rests_on].partition("{}")[0])
    assert TESTS[result.ruling.rests_on] in lines["p"]
    units = f"{result.n_groups} groups of these sizes" if result.n_groups else f"{result.n_examples} examples"
    if result.largest_group is not None:
        units += f", where one could have {result.largest_group} examples,"
    never = f"with one look, {units} can never reach" in lines["Detectable difference"]
    assert never == math.isnan(result.detectable_difference)
    once = f"in {result.n_groups} groups, each of which counts once"
    for told in (summary.sentences[0], lines["Difference"]):
        assert (once in told) == (name == "sequence of groups")
    assert ("no interval, as it moved with the order" in lines["Difference"]) == math.isnan(result.interval[0])
    assert ("Left out" in lines) == (result.n_missing > 0)
    assert ("Not counted" in lines) == (result.n_waiting > 0)
    assert ("First look without zero" in lines) == (result.sequence is not None)
    assert ("Flipped-sign p" in lines) == math.isfinite(result.p_value_sign_flips)
    assert (f"none could have more than {result.largest_group}" in lines.get("Groups", "")) == ("larger" in name)
    assert (f"({result.groups_named})" in lines.get("Groups", "")) == (result.n_groups is not None)
    assert facts(result, "What was compared").items() <= lines.items()


def test_the_null_says_how_large_a_group_may_be() -> None:
    here, stated = made("groups"), made("larger groups")
    assert here.null.endswith("none that might have been drawn is larger than the largest here.")
    assert stated.null.endswith("none that might have been drawn has more than 50 examples.")
    right = np.random.default_rng(0).random((3, 40)) < 0.6
    alone, known = (compare(right, 0, 1, groups=np.arange(40), largest_group=n) for n in (None, 1))
    of_all = (compare_all(right, groups=np.arange(40) % 10, largest_group=n) for n in (None, 20))
    asked = (here, True), (stated, False), (made("sequence of groups"), False), (made("scores"), False)
    for result, told in (*asked, (alone, True), (known, False), *zip(of_all, (True, False), strict=True)):
        assert (LARGER in str(result.summary().sections)) == told


def test_several_pairs_say_what_groups_they_rest_on() -> None:
    right = np.random.default_rng(0).random((3, 40)) < 0.6
    facts_of = dict(compare_all(right, groups=np.arange(40) % 10, largest_group=20).summary().lines)
    assert facts_of["Groups"].startswith(
        "10 (as given), the largest here of 4 examples, and none could have more than 20"
    )
    assert "Groups" not in dict(compare_all(right).summary().lines)


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.05, "0.05"), (0.0502, "0.0502"), (0.050004, "0.050004"), (0.0496, "0.0496"), (0.051, "0.051"), (0.2, "0.2")],
)
def test_p_beside_its_level(p: float, text: str) -> None:
    """Rounded to the level it would contradict the verdict."""
    result = made("open")
    result = replace(result, log_p_value=math.log(p), ruling=result.judged(math.log(p), 0.05))
    summary = result.summary()
    assert f"(p = {text})" in summary.sentences[0]
    assert summary.figures[1].value == text


@pytest.mark.parametrize("name", PAIRS)
def test_charts(name: str) -> None:
    result = made(name)
    estimates = [table for table in blocks(result, Table) if table.reference is not None]
    scale, digits = (100, 2) if result.binary else (1, 4)
    for table in estimates:
        low, high = (scale * end for end in result.interval)
        assert (table.spans, table.reference) == (((low, scale * result.difference, high),), 0)
        assert str(table.rows[0].cells[2]) == pair((low, high), digits, sign=True)
        assert (", points" in str(table.rows[0].cells[0])) == result.binary
    assert len(estimates) == (name != "moved")
    assert len(blocks(result, LineChart)) == (result.sequence is not None)
    for chart in blocks(result, LineChart):
        s, (band,) = result.sequence, chart.series
        assert len(band.x) >= min(FEWEST, np.count_nonzero(s.low <= s.high))
        at = np.isin(s.looks, band.x)
        for drawn, values in zip((band.y, band.low, band.high), (s.means, s.low, s.high), strict=True):
            np.testing.assert_array_equal(drawn, scale * values[at])
        assert (", points" in chart.y.label) == result.binary
        assert s.first is None or min(band.x) <= s.first


@pytest.mark.parametrize("name", PAIRS)
def test_discordant_examples(name: str) -> None:
    result = made(name)
    for anchor, n, sign in (("first", result.first_only, 1), ("second", result.second_only, -1)):
        rows = [row for row in result.parted if sign * (row.first - row.second) > 0]
        tables = [part for table in blocks(result, Table, anchor) for part in table.split()]
        assert bool(tables) == bool(rows)
        if not rows:
            continue
        assert section(result, anchor).printed
        assert sum(len(table.rows) for table in tables) + tables[-1].more == n
        assert len(tables[0].rows) == (OPEN if len(rows) > OPEN + 5 else len(rows))
        shown = [row.cells for table in tables for row in table.rows]
        assert [cells[0] for cells in shown] == [row.id or f"{row.position}" for row in rows[:LISTED]]
        names = [column.name for column in tables[0].columns]
        models = [shorten(name_text(model), COLUMN) for model in (result.first, result.second)]
        label, text = rows[0].label is not None, rows[0].text is not None
        assert names == ["Example", *["Label"] * label, *models, *["Text"] * text]
        told = (
            (rows[0].first_answer, rows[0].second_answer)
            if label
            else (f"{rows[0].first:.3g}", f"{rows[0].second:.3g}")
        )
        assert shown[0][1 + label : 3 + label] == told


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in PAIRS])
def test_several_pairs(name: str) -> None:
    result = made(name)
    assert isinstance(result, CompareAllResult)
    summary, (board,) = result.summary(), blocks(result, Table, "pairs")
    assert summary.headline.startswith(f"{result.n_told_apart} of {result.n_pairs} pair")
    assert len(board.rows) == result.n_pairs
    pairs = sorted(result.pairs, key=lambda pair: pair.log_p_value)
    scale = 100 if all(own.binary for own in pairs) else 1
    assert board.columns[2].name == ("Difference, points" if scale == 100 else "Difference")
    for row, (low, value, high), own in zip(board.rows, board.spans, pairs, strict=True):
        rank, pair_name, _, interval, differ = map(str, row.cells)
        sign = {"first better": " > ", "second better": " < ", "order matters": " ? "}.get(own.verdict, " ~ ")
        assert sign in pair_name
        assert len(pair_name) <= 40
        assert (value, rank, differ) == (
            scale * own.difference, pvalue_text(own.ruling.log_p_value), f"{own.n_discordant:,}"
        )  # fmt: skip
        if own.verdict == "order matters":
            assert (low, high, interval) == (value, value, "no interval")
        else:
            assert (low, high) == tuple(scale * end for end in own.interval)
    closing = " ".join(summary.closing)
    assert all(own.test in closing and own.null in closing for own in result.pairs)
    n_moved = sum(own.verdict == "order matters" for own in result.pairs)
    assert len(summary.sentences) == 1 + bool(result.skipped) + 2 * bool(n_moved)
    assert f"moved with the order: {n_moved} (" in " ".join(summary.sentences) or not n_moved
    assert ("the verdict is Holm" in closing) == (n_moved == 0)
    assert ("? no verdict" in board.caption) == (n_moved > 0)
    plain = result.to_dict()
    assert len(plain["pairs"]) == result.n_pairs
    assert not {"examples", "sequence", "source"} & set(plain["pairs"][0])


@needs_chromium
@pytest.mark.parametrize("name", ["hostile", pytest.param("sequential", marks=pytest.mark.slow), "all"])
def test_fits_a_phone(name: str, tmp_path: Path) -> None:
    check_fits_a_phone(made(name), tmp_path)


def test_many_pairs_are_folded() -> None:
    right = np.random.default_rng(0).random((12, 60)) < 0.7
    board = compare_all(Predictions.from_correct(right)).summary().sections[0].blocks[0]
    assert isinstance(board, Table)
    assert [len(part.rows) for part in board.split()] == [PAIRS_SHOWN, 66 - PAIRS_SHOWN]
