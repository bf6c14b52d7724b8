"""The page of a comparison."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import Predictions, compare, compare_all
from heldout.pages import compare_html
from tests.report.browser import look, needs_chromium
from tests.report.pages import check_drawings, check_self_contained, words


@pytest.fixture(scope="module")
def pages():
    rng = np.random.default_rng(1)
    right = rng.random((4, 400)) < np.array([[0.9], [0.8], [0.8], [0.6]])
    names = ["first & best", "second", "third", "a model with a very long name that goes on and on and on"]
    texts = [f"what is <b>{i}</b>?" for i in range(400)]
    pool = Predictions.from_correct(right, names=names, columns={"question": texts})
    scores = Predictions.from_scores(rng.random((2, 100)).round(1), columns={"repo": rng.integers(0, 20, 100)})
    return {
        "told apart": compare_html(compare(pool, 0, 3), command="heldout compare"),
        "open": compare_html(compare(pool, 1, 2)),
        "equal": compare_html(compare([[1, 0, 1], [1, 0, 1]], 0, 1)),
        "sequential": compare_html(compare(pool, 0, 3, sequential=True)),
        "groups": compare_html(compare(scores, 0, 1, groups="repo")),
        "all": compare_html(compare_all(pool)),
    }


def test_every_page_is_self_contained(pages):
    for page in pages.values():
        check_self_contained(page)
        check_drawings(page)


def test_what_it_says(pages):
    assert "first & best is better" in words(pages["told apart"])
    assert "what is <b>" in words(pages["told apart"])
    assert "Not told apart" in words(pages["open"])
    assert "is not “equal”" in words(pages["open"])
    assert "Look by look" in words(pages["sequential"])
    assert "whole groups are the unit" in words(pages["groups"])
    assert "of 6 pairs are told apart" in words(pages["all"])


@needs_chromium
@pytest.mark.parametrize("which", ["told apart", "sequential", "all"])
def test_fits_a_phone(pages, which, tmp_path):
    found = look(pages[which], tmp_path)
    assert found["wide"] == []
    assert found["scroll"] <= found["client"]
