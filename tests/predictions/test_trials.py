"""Scores between 0 and 1, and the trials behind them."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.predictions import Predictions, align, load_predictions


def test_scores_and_marks_are_one_table():
    marks = Predictions.from_correct([[1, 0, None]], names=["a"])
    scores = Predictions.from_scores([[1.0, 0.0, None]], names=["a"])
    assert scores.is_binary
    assert scores.digest() == marks.digest()
    assert scores.scores.tolist() == [[1.0, 0.0, 0.0]]
    between = Predictions.from_scores([[0.5, 0.0, None]], names=["a"])
    assert not between.is_binary
    assert between.digest() != marks.digest()
    assert (between.n_missing, between.scores.dtype) == (1, np.float64)


def test_fractions_are_never_cut_in_silence():
    pool = Predictions.from_scores([[0.5, 1], [0, 0.4]])
    for touch in (lambda: pool.correct, lambda: pool.wrong, lambda: pool.require_binary("the attack")):
        with pytest.raises(InputError, match=r"0 or 1, but 2 of 4 cells.*threshold=0.5"):
            touch()
    assert pool.thresholded(0.5).correct.tolist() == [[True, True], [False, False]]
    for threshold in (0, -1, 1.1):
        with pytest.raises(InputError, match="`threshold` is"):
            pool.thresholded(threshold)


@pytest.mark.parametrize(
    ("scale", "cells"), [("percent", [0, 66, 100]), (10, [0, 6.6, 10]), ("1:5", [1, 3.64, 5]), ((-1, 1), [-1, 0.32, 1])]
)
def test_scales(scale, cells):
    pool = Predictions.from_scores([cells], scale=scale)
    np.testing.assert_allclose(pool.scores, [[0, 0.66, 1]])


def test_scales_refused():
    with pytest.raises(InputError, match=r"the cell \(0, 1\) holds 66, but scores lie between 0 .*scale=.percent"):
        Predictions.from_scores([[0, 66]])
    with pytest.raises(InputError, match="holds 101, outside the scale from 0 to 100"):
        Predictions.from_scores([[0, 101]], scale="percent")
    for scale in ("per cent", "5:1", 0, "1:2:3", float("nan"), [1, 2, 3]):
        with pytest.raises(InputError, match="`scale` is"):
            Predictions.from_scores([[0, 1]], scale=scale)


def test_three_ways_to_tell_trials():
    """One by one, as k of n, and as a mean with a number: one table."""
    cells = np.array([[[1, 0, 1, 1], [0, 0, 0, np.nan]], [[1, 1, 1, 1], [0, 1, np.nan, np.nan]]])
    pools = [
        Predictions.from_scores(cells),
        Predictions.from_scores([["3/4", "0/3"], ["4 of 4", "1/2"]]),
        Predictions.from_scores([[0.75, 0], [1, 0.5]], trials=[[4, 3], [4, 2]]),
        Predictions.from_scores([[75, 0], [100, 50]], trials=[[4, 3], [4, 2]], scale="percent"),
    ]
    for pool in pools:
        assert pool.digest() == pools[0].digest()
        assert pool.trials.tolist() == [[4, 3], [4, 2]]
        np.testing.assert_allclose(pool.within, np.nanvar(cells, axis=2, ddof=1))
    assert "2 to 4 trials each" in str(pools[0])


def test_trials_refused():
    with pytest.raises(InputError, match="5 of 4 trials is more than all"):
        Predictions.from_scores([["5/4"]])
    with pytest.raises(InputError, match="whole numbers"):
        Predictions.from_scores([[0.5]], trials=1.5)
    with pytest.raises(InputError, match="0 trials; mark it as missing"):
        Predictions.from_scores([[0.5]], trials=0)
    with pytest.raises(InputError, match="shape"):
        Predictions.from_scores([[0.5]], trials=[[1, 2]])
    with pytest.raises(InputError, match=r"the cells have 1 to 2 trials, and an array needs as many in each"):
        Predictions.from_scores([[[1, 0], [1]]])


def test_graded_trials_keep_their_own_variance():
    cells = np.random.default_rng(0).random((2, 5, 3))
    pool = Predictions.from_scores(cells)
    np.testing.assert_allclose(pool.scores, cells.mean(axis=2))
    np.testing.assert_allclose(pool.within, cells.var(axis=2, ddof=1))
    assert Predictions.from_scores([[0.123]], trials=3).within is None  # not known one by one


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".json", ".jsonl"])
def test_saved_and_read(tmp_path, suffix):
    plain = Predictions.from_scores([[0.1 + 0.2, 1, None], [0, 1 / 3, 1]], names=["a", "b"], ids=["x", "y", "z"])
    counted = Predictions.from_scores([["1/3", "2/3", None], ["3/3", "0/2", "1/7"]], names=["a", "b"])
    for pool in (plain, counted, plain.thresholded(0.5)):
        pool.save(tmp_path / f"table{suffix}")
        back = load_predictions(tmp_path / f"table{suffix}")
        assert back.digest() == pool.digest()
        assert (back.within is None) == (pool.within is None)
    graded = Predictions.from_scores(np.random.default_rng(0).random((2, 5, 3)))
    if suffix in (".npz", ".json"):
        graded.save(tmp_path / f"graded{suffix}")
        np.testing.assert_array_equal(load_predictions(tmp_path / f"graded{suffix}").within, graded.within)
    else:
        with pytest.raises(InputError, match=r"save as \.npz or \.json"):
            graded.save(tmp_path / f"graded{suffix}")


def test_percent_in_a_file(tmp_path):
    (tmp_path / "pass.csv").write_text("id,a,b\nx,100,33.3\ny,0,50\n")
    with pytest.raises(InputError, match=r"scale=.percent"):
        load_predictions(tmp_path / "pass.csv")
    pool = load_predictions(tmp_path / "pass.csv", scale="percent")
    np.testing.assert_allclose(pool.scores, [[1, 0], [0.333, 0.5]])


def test_joined_and_selected():
    a = Predictions.from_scores([["1/2", "2/2"]], names=["a"], ids=["x", "y"])
    b = Predictions.from_correct([[1, 0]], names=["b"], ids=["y", "z"])
    both = align([a, b], how="outer")
    assert both.trials.tolist() == [[2, 2, 0], [0, 1, 1]]
    assert both.scores.tolist() == [[0.5, 1, 0], [0, 1, 0]]
    assert both.select("a").within.tolist() == [[0.5, 0, 0]]
    assert both.select("b").trials is None


@pytest.mark.parametrize(("scale", "high"), [(None, 1), ("percent", 100), ("1:5", 5)])
def test_rounding_is_no_other_score(scale, high):
    """Of a mean of ones, or of a share in percent."""
    table = Predictions.from_scores([[high * (1 + 2e-16), high * (1 + 1e-10)], [high * (1 - 1e-10), high]], scale=scale)
    assert table.is_binary
    assert table.correct.all()
    with pytest.raises(InputError, match=rf"holds {high}\.0000\d+, "):
        Predictions.from_scores([[high * (1 + 1e-7), high]], scale=scale)
