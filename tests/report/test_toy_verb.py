"""A new verb costs a dataclass and a summary: this toy gets every rendering, saving and loading from them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.report import Result
from heldout.summary import Axis, Facts, Figure, LineChart, Section, Series, Summary
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
    assert repr(again).startswith("ToyResult(answer=0.1, name=")
    assert len(repr(again)) < 120
