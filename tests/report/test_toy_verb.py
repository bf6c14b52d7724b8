"""A new verb costs a dataclass and a summary: this toy gets every rendering, saving and loading from them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.report import Result, to_html, to_text
from heldout.report.svg import draw
from heldout.results import FORMAT
from heldout.summary import (
    Axis,
    Column,
    Facts,
    Figure,
    LineChart,
    Picture,
    Pictures,
    RangeRow,
    Ranges,
    Row,
    Section,
    Series,
    SideBySide,
    Summary,
    Table,
)
from tests.report.kitchen_sink import HOSTILE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ToyResult(Result):
    """One number and one curve."""

    answer: float
    curve: NDArray[np.float64]
    name: str

    def summary(self) -> Summary:
        """What it says."""
        chart = LineChart(
            title="The curve",
            caption="It rises.",
            x=Axis(label="x"),
            y=Axis(label="y"),
            series=(Series(name=self.name, x=tuple(range(len(self.curve))), y=tuple(self.curve.tolist())),),
        )
        return Summary(
            kind="Toy",
            headline=f"The answer is {self.answer:g}.",
            subject=self.name,
            figures=(Figure(name="Answer", value=f"{self.answer:g}"),),
            lines=(("answer", f"{self.answer:g}"),),
            sections=(Section(title="The curve", blocks=(chart, Facts(((self.name, "a fact"),)))),),
        )


@pytest.fixture
def toy() -> ToyResult:
    return ToyResult(answer=0.1, curve=np.array([1.0, np.nan, 3.0]), name=HOSTILE)


def test_every_rendering(toy: ToyResult) -> None:
    assert str(toy).splitlines()[0] == "The answer is 0.1."
    assert toy.markdown().startswith("# The answer is 0.1.")
    assert json.loads(json.dumps(toy.to_dict()))["curve"] == [1.0, None, 3.0]
    page, piece = toy.html(command="heldout toy"), toy._repr_html_()
    assert page.startswith("<!DOCTYPE html>")
    assert "<h3" in piece
    for rendered in (page, piece, toy.markdown()):
        assert "<script" not in rendered
    assert page == toy.html(command="heldout toy")


def test_save_and_load(toy: ToyResult, tmp_path) -> None:
    toy.save(tmp_path / "result")
    again = ToyResult.load(tmp_path)
    assert again == toy
    assert again.html() == toy.html()
    assert again != ToyResult(answer=0.1, curve=np.array([1.0, 2.0, 3.0]), name=HOSTILE)
    assert "curve=<float64 (3,)>" in repr(again)


def test_foreign_and_old_files_are_refused_in_a_sentence(toy: ToyResult, tmp_path) -> None:
    @dataclass(frozen=True, kw_only=True, eq=False, repr=False)
    class Other(ToyResult):
        pass

    toy.save(tmp_path / "result")
    with pytest.raises(InputError, match="holds a ToyResult, not a Other"):
        Other.load(tmp_path)
    np.savez(tmp_path / "old.npz", record=np.array(json.dumps({"format": 2, "version": "0.1.0"})))
    with pytest.raises(InputError, match="another version of heldout"):
        ToyResult.load(tmp_path / "old")
    (tmp_path / "damaged.npz").write_bytes(b"PK not")
    with pytest.raises(InputError, match="damaged"):
        ToyResult.load(tmp_path / "damaged.npz")


def test_json_keys_may_differ_from_fields() -> None:
    @dataclass(frozen=True, kw_only=True, eq=False, repr=False)
    class Named(ToyResult):
        unlisted = ("curve",)
        derived = {"points": "curve.size", "answer": "best"}  # noqa: RUF012
        best = 3.0

    plain = Named(answer=0.1, curve=np.array([1.0]), name="a").to_dict()
    assert plain == {"answer": 3.0, "name": "a", "points": 1}


def test_a_series_that_is_not_drawn_is_among_the_numbers() -> None:
    lines = tuple(
        Series(name=name, x=(1, 2), y=(1.0, nan), drawn=drawn, missing="vacuous")
        for name, drawn, nan in (("seen", True, 2.0), ("told", False, float("nan")))
    )
    chart = LineChart(title="t", x=Axis(label="x"), y=Axis(label="y", spec="+.1f"), series=lines)
    assert chart.columns() == ("x", "seen", "told")
    assert chart.rows() == (("1", "+1.0", "+1.0"), ("2", "+2.0", "vacuous"))
    assert "told" not in chart.description + draw(chart)
    assert Axis(label="y", spec="+.1f").text(-0.01) == "0.0"


def test_a_long_name_fits_its_legend() -> None:
    lines = tuple(Series(name=name * 99, x=(1, 2), y=(1.0, 2.0)) for name in "ab")
    drawn = draw(LineChart(title="t", x=Axis(label="x"), y=Axis(label="y"), series=lines))
    assert max(len(text) for text in re.findall("<text.*?>([^<]*)</text>", drawn)) == 40


def test_a_log_axis_says_so() -> None:
    line = Series(name="a", x=(1, 10), y=(1.0, 2.0))
    chart = LineChart(title="t", x=Axis(label="answers", kind="log"), y=Axis(label="y"), series=(line,))
    assert "answers (log scale)" in draw(chart)
    assert chart.columns() == ("answers", "a")


def shown(*blocks) -> Summary:
    return Summary(kind="Toy", headline="Seen", sections=(Section(title="All", blocks=blocks, printed=True),))


def test_numbers_with_one_row_per_line_are_printed_without_intervals() -> None:
    lines = (
        Series(name="one", x=(0, 1), y=(1.0, 0.5), low=(0.9, 0.4), high=(1.0, 0.6)),
        Series(name="two", x=(0, 2), y=(0.9, 0.1), style="b"),
    )
    chart = LineChart(
        title="Falls", x=Axis(label="pixels"), y=Axis(label="accuracy", spec=".2f"), series=lines, line_of="model",
        printed=True,
    )  # fmt: skip
    first, second = ([str(cell) for cell in row] for row in chart.rows())
    assert first == ["one", "1.00 (0.90 to 1.00)", "0.50 (0.40 to 0.60)", ""]
    assert second == ["two", "0.90", "", "0.10"]
    told = to_text(shown(SideBySide(charts=(chart,), legend=True))).splitlines()
    assert told[3:] == [
        "Falls: accuracy, by pixels",
        "model     0     1     2",
        "one    1.00  0.50",
        "two    0.90        0.10",
    ]
    other = LineChart(title="Other", x=chart.x, y=chart.y, series=(*lines, Series(name="three", x=(0,), y=(1.0,))))
    page = to_html(shown(SideBySide(charts=(chart, other), legend=True)))
    assert page.count('class="swatch"') == 3  # a line that only the second chart has is named too
    assert "0.50</span><small>0.40 to 0.60" in page


def test_a_table_that_is_too_wide_is_printed_in_parts() -> None:
    columns = tuple(Column(name=f"column {i}") for i in range(20))
    table = Table(caption="Wide", columns=columns, rows=(Row(cells=("model", *("0.1234",) * 19), role="chosen"),))
    told = to_text(shown(table)).splitlines()
    assert max(map(len, told)) <= 118
    assert [line.split()[0] for line in told[3:] if line] == ["column", "model"] * 2
    assert told[4].endswith("chosen")


def test_a_leaderboard_finds_round_ends() -> None:
    rows = tuple(
        RangeRow(name=n, value=v, low=v - 0.1, high=v + 0.1, value_text=f"{v}", interval_text="", rank="1")
        for n, v in (("a", 0.22), ("b", 0.71))
    )
    page = to_html(shown(Ranges(caption="c", columns=("Rank", "Model", "v", "Interval", "Next"), rows=rows)))
    assert "<span>0.0</span><span>1.0</span>" in page


def test_pictures_have_a_largest_side() -> None:
    picture = Picture(pixels=np.random.default_rng(0).integers(0, 256, (90, 90, 3), dtype=np.uint8), alt="noise")
    sizes = [len(to_html(shown(Pictures(groups=(("t", (picture,), ()),), side=side)))) for side in (90, 30)]
    assert sizes[0] - sizes[1] > 20_000


def test_what_is_no_result_is_refused_and_suffixes_do_not_matter(toy: ToyResult, tmp_path) -> None:
    toy.save(tmp_path / "a.npz")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.npz"]
    assert ToyResult.load(tmp_path / "a.json") == toy
    for fields in (5, [1], None, {"tuple": [1]}, {"record": "Other", "fields": {}}):
        record = {"format": FORMAT, "kind": "ToyResult", "fields": fields}
        np.savez(tmp_path / "b.npz", record=np.array(json.dumps(record)))
        with pytest.raises(InputError, match="damaged"):
            ToyResult.load(tmp_path / "b")
    np.savez(tmp_path / "c.npz", record=np.array(json.dumps({"format": FORMAT, "kind": "ToyResult"})))
    with pytest.raises(InputError, match="damaged"):
        ToyResult.load(tmp_path / "c")
    assert toy == replace(toy, answer=np.float64(toy.answer))
