"""What the summary says of each kind of comparison, and that every rendering of it holds."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout import CompareAllResult, CompareResult, InputError, Predictions, compare, compare_all
from heldout.reuse.compare_summary import FEWEST, LISTED, NULLS, OPEN, TESTS
from heldout.summary import Fold, IntervalChart, LineChart, Ranges, Section, Summary, Table
from heldout.summary.numbers import fixed, pair, pvalue_text
from tests.report.browser import look, needs_chromium
from tests.report.kitchen_sink import HOSTILE
from tests.report.pages import check_drawings, check_self_contained, words


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
    "sequence of groups": groups_in_order,
    "labelled": lambda: compare(labelled(), "a", "b"),
    "missing": lambda: compare([[1, 1, None, 0, 1, 1], [0, 1, 1, None, 0, 1]], 0, 1),
    "moved": lambda: compare(ordered(), 0, 1, sequential=True),
    "few": lambda: compare(np.random.default_rng(0).random((2, 40)) < 0.6, 0, 1, groups=np.arange(40) % 3),
    "one of several": lambda: compare_all(pool())[2],
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


@cache
def summary(name: str) -> Summary:
    return made(name).summary()


def section(name: str, anchor: str) -> Section | None:
    return next((s for s in summary(name).sections if anchor in (s.anchor, s.title)), None)


def block(name: str, kind: type) -> object:
    return next((b for s in summary(name).sections for b in s.blocks if isinstance(b, kind)), None)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_rendering(name: str, tmp_path: Path) -> None:
    result = made(name)
    result.save(tmp_path / "result")
    back = type(result).load(tmp_path / "result")
    assert back == result
    assert (str(back), back.markdown(), back.html(command="c")) == (
        str(result),
        result.markdown(),
        result.html(command="c"),
    )
    page = result.html()
    check_self_contained(page)
    check_drawings(page)
    assert "<script" not in result.markdown()
    assert all(len(line) <= 120 for line in str(result).splitlines())
    assert "1970-01-01" in words(page)
    assert summary(name).subject.split(":")[0] in dict(summary(name).origin)["Source"]


def test_renders_without_what_made_it(tmp_path: Path) -> None:
    made("sequential").save(tmp_path / "one")
    made("all").save(tmp_path / "all")
    code = (
        "import sys; from heldout import CompareAllResult, CompareResult\n"
        f"for r in (CompareResult.load(r'{tmp_path / 'one'}'), CompareAllResult.load(r'{tmp_path / 'all'}')):\n"
        "    str(r), r.markdown(), r.html(), r.to_dict()\n"
        "assert not {'torch', 'onnxruntime', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_old_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", record='{"format": 2, "pairs": []}')
    with pytest.raises(InputError, match="another version of heldout"):
        CompareResult.load(tmp_path / "old")


@pytest.mark.parametrize("name", PAIRS)
def test_headline_and_figures(name: str) -> None:
    result, found = made(name), summary(name)
    assert isinstance(result, CompareResult)
    assert found.tone == ("neutral" if result.better else "quiet")
    ending = {"told apart": "is better", "not told apart": "are not told apart", "order matters": "the order of the "}
    assert ending[result.ruling.outcome] in found.headline
    values = [figure.value for figure in found.figures]
    assert values[:2] == [fixed(result.difference, sign=True), pvalue_text(result.log_p_value)]
    assert values[2].split()[0] == f"{result.n_discordant:,}"
    assert values[3] == fixed(result.detectable_difference)
    assert found.closing == (f"Null hypothesis: {NULLS[result.ruling.rests_on]}",)
    assert TESTS[result.ruling.rests_on] in dict(found.lines)["p"]
    assert dict(found.lines)["examples"].startswith(f"{result.n_examples:,}")
    assert ("p, Holm" in dict(found.lines)) == (name == "one of several")
    assert ("zero is outside" in dict(found.lines)) == (result.sequence is not None)


def test_sentences() -> None:
    space = "\N{NO-BREAK SPACE}"
    assert summary("open").sentences == (
        f"second is right on 75.75{space}% and third on 78.25{space}% of 400 examples; the difference is not "
        "significant at level 0.05 (p = 0.44).",
        "A true difference of 0.0841 would have been found four times in five.",
    )
    assert len(summary("told").sentences) == 1
    assert "Holm over 6 pairs" in summary("one of several").sentences[0]
    assert summary("few").sentences[1] == "3 groups of these sizes can never reach level 0.05, whatever they say."
    assert summary("equal").sentences[1] == "3 examples can never reach level 0.05, whatever they say."
    assert "in 59 groups, each of which counts once" in summary("sequence of groups").sentences[0]
    assert "--sequential" in summary("moved").sentences[1]
    assert "scores 0." in summary("scores").sentences[0]
    lines = dict(summary("missing").lines)
    assert lines["examples"] == "4, 2 left out that only one or none of them has"
    assert dict(summary("sequence of groups").lines)["examples"].endswith("wait for the rest of their group")


@pytest.mark.parametrize("name", PAIRS)
def test_charts_and_meaning(name: str) -> None:
    result, chart, looks = made(name), block(name, IntervalChart), block(name, LineChart)
    assert isinstance(result, CompareResult)
    if isinstance(chart, IntervalChart):
        (row,) = chart.intervals
        assert (row.value, row.interval, chart.reference) == (result.difference, result.interval, 0)
        assert pair(result.interval, sign=True) in row.text
        assert (chart.caption == "") == (result.sequence is not None)
    else:
        assert name == "moved"
    assert (looks is None) == (result.sequence is None)
    if isinstance(looks, LineChart):
        s, (band,) = result.sequence, looks.series
        assert len(band.x) >= min(FEWEST, len(s.looks)) or s.moved
        at = np.isin(s.looks, band.x)
        for drawn, values in zip((band.y, band.low, band.high), (s.means, s.low, s.high), strict=True):
            np.testing.assert_array_equal(drawn, values[at])
        assert s.first is None or s.moved or min(band.x) <= s.first
        assert len(looks.rows()) == len(band.x)
    not_means = section(name, "What it does not mean").blocks[0].items
    assert ("“Not told apart” is not “equal”." in not_means) == (result.verdict == "not told apart")
    facts = dict(section(name, "What was compared").blocks[0].rows)
    assert ("Groups" in facts) == (result.n_groups is not None)
    if result.groups_named is not None:
        assert result.groups_named in facts["Groups"]
    needed = [step for step in section(name, "What to do next").blocks[0].items if "--needed" in step]
    assert bool(needed) == (result.verdict == "not told apart" and result.binary and result.n_groups is None)


@pytest.mark.parametrize("name", PAIRS)
def test_discordant_examples(name: str) -> None:
    result = made(name)
    for anchor, n, sign in (("first", result.first_only, 1), ("second", result.second_only, -1)):
        rows = [row for row in result.parted if sign * (row.first - row.second) > 0]
        found = section(name, anchor)
        assert (found is None) == (not rows)
        if found is None:
            continue
        assert found.printed
        table, *fold = found.blocks
        assert isinstance(table, Table)
        assert len(table.rows) + table.more == n
        shown = [*table.rows, *(row for f in fold if isinstance(f, Fold) for row in f.blocks[0].rows)]
        assert [row.cells[0] for row in shown] == [row.id or f"{row.position}" for row in rows[:LISTED]]
        assert len(table.rows) == min(OPEN, len(rows))
        names = [column.name for column in table.columns]
        assert ("First" in names) == (not result.binary)
        assert ("Label" in names) == (rows[0].label is not None)
        assert ("Text" in names) == (rows[0].text is not None)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in PAIRS])
def test_several_pairs(name: str) -> None:
    result, board = made(name), block(name, Ranges)
    assert isinstance(result, CompareAllResult)
    assert isinstance(board, Ranges)
    assert summary(name).headline.startswith(f"{result.n_told_apart} of {result.n_pairs} pair")
    assert len(board.rows) == result.n_pairs
    for row, own in zip(board.rows, result.ordered(), strict=True):
        sign = {"first better": " > ", "second better": " < "}.get(own.verdict, " ~ ")
        assert sign in row.name
        assert len(row.name) <= 40
        assert (row.value, row.rank, row.next) == (
            own.difference, pvalue_text(own.adjusted_log_p), f"{own.n_discordant:,}"
        )  # fmt: skip
        if own.verdict == "order matters":
            assert (row.low, row.high, row.interval_text) == (own.difference, own.difference, "no interval")
        else:
            assert (row.low, row.high) == own.interval
    closing = " ".join(summary(name).closing)
    assert all(own.test in closing and own.null in closing for own in result.pairs)
    assert len(summary(name).sentences) == 1 + bool(result.skipped)
    plain = result.to_dict()
    assert len(plain["pairs"]) == result.n_pairs
    assert not {"examples", "sequence", "source"} & set(plain["pairs"][0])


def test_pairs_left_out_are_named() -> None:
    assert summary("skipped").sentences[1] == "1 pair is left out for sharing fewer than two groups: a and b."


@needs_chromium
@pytest.mark.parametrize("name", ["hostile", "sequential", "all"])
def test_fits_a_phone(name: str, tmp_path: Path) -> None:
    found = look(made(name).html(command="heldout compare " + "very-long-path/" * 20), tmp_path)
    assert found["client"] == found["scroll"]
    assert found["wide"] == []
