"""A new verb costs a dataclass and a summary: this toy gets every rendering, saving and loading from them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.report import Result
from heldout.report.svg import draw
from heldout.summary import Axis, Facts, Figure, LineChart, Section, Series, Summary

HOSTILE = "<script>alert(1)</script>|`a`*b_c"


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
