"""The whole way from predictions to a result."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout.errors import InputError
from heldout.predictions import Predictions, load_predictions
from heldout.reuse.result import BudgetResult
from heldout.summary.numbers import bar_text, of_text

IMAGENET = Path(__file__).parents[3] / "shared" / "data" / "imagenet_predictions.npz"


@pytest.fixture(scope="module")
def result(cifar10_predictions) -> BudgetResult:
    return heldout.budget(cifar10_predictions, epsilon=0.01, delta=0.05)


def test_a_real_pool(result, cifar10_predictions):
    errors = 1 - cifar10_predictions.correct.mean(axis=1)
    assert (result.n_models, result.n_examples) == (30, 10_000)
    assert result.mean_error == pytest.approx(errors.mean())
    wrong, alike = np.count_nonzero(~cifar10_predictions.correct), result.pool.similarity.agreement().sum() * 10_000
    error, similarity = Fraction(wrong, 30 * 10_000), Fraction(round(alike), 435 * 10_000)
    assert result.equal == heldout.testable_models(10_000, error, similarity)
    assert float(similarity) == pytest.approx(result.mean_similarity, abs=1e-12)
    assert 30 < result.testable.union < result.equal.union / 10  # unequal errors: the mean's tail is not the mean tail
    assert result.further.union == result.testable.union - 30
    assert result.further_models == result.testable.similarity - 30
    pool = result.pool
    assert pool.epsilon["similarity"] < pool.epsilon["union"] < 0.01  # what testable > 30 says, too
    assert pool.level["union"] == 0.05 / 30 < pool.level["similarity"] < 0.05
    assert ((pool.low < errors) & (errors < pool.high)).all()
    assert len(pool.neighbours) == 29


def test_json_has_what_was_promised(result):
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {
        "n_models", "n_examples", "mean_error", "mean_similarity", "independent_similarity", "epsilon",
        "testable_models", "models", "plug_in",
    } <= set(plain)  # fmt: skip
    assert plain["plug_in"] is True
    assert set(plain["epsilon"]) == {"union", "similarity"}
    assert set(plain["testable_models"]) == {"union", "similarity", "naive_bayes"}
    first = plain["models"][0]
    assert (first["name"], first["error"]) == ("shake_shake_26_2x64d_SSI_cutout16", pytest.approx(0.0289))
    assert first["low"] < first["error"] < first["high"]
    assert plain["data_digest"] and plain["version"] == heldout.__version__  # noqa: PT018


def test_save_and_load_to_the_last_bit(result, tmp_path):
    result.save(tmp_path / "result")
    again = BudgetResult.load(tmp_path / "result")
    assert again == result
    assert json.loads((tmp_path / "result.json").read_text()) == result.to_dict()
    (tmp_path / "result.npz").write_bytes((tmp_path / "result.npz").read_bytes()[:2000])
    with pytest.raises(InputError, match="is not a saved result, or is damaged"):
        BudgetResult.load(tmp_path / "result")


def test_what_it_prints(result):
    lines, text = dict(result.summary().lines), str(result)
    assert lines["Error bar for the 30 models"].startswith("±0.940\N{NO-BREAK SPACE}points")
    assert (lines["Pairs told apart"], lines["Steps down that are significant"]) == (of_text(356, 435), of_text(3, 29))
    table = [line.split()[-5:-1] for line in text.splitlines() if line.endswith("the answer")]
    assert [row[-4:-1] for row in table] == [["1.17", "18", "604"]]
    assert all(name.replace("\N{NO-BREAK SPACE}", " ") in text for name in lines)
    assert max(map(len, text.splitlines())) <= 118


@pytest.mark.parametrize(
    "epsilon",
    ["0.0094", *(pytest.param(e, marks=pytest.mark.slow) for e in ("0.0093", "0.0095", "0.0096", "0.0097", "0.01"))],
)
def test_a_pool_that_holds_at_epsilon_fits_at_epsilon(cifar10_predictions, epsilon):
    """0.0096 is the union bound's own error bar, 0.0094 the tree's: both with their ends."""
    result = heldout.budget(cifar10_predictions, epsilon=epsilon)
    assert result.pool.epsilon == {"union": 0.0096, "similarity": 0.0094}
    for name in ("union", "similarity"):
        fit = getattr(result.testable, name)
        assert (fit >= 30) == (float(epsilon) >= result.pool.epsilon[name])


@pytest.mark.slow
def test_more_fit_at_a_wider_error_bar(cifar10_predictions):
    fit = [heldout.budget(cifar10_predictions, epsilon=e).testable for e in ("0.0095", "0.0096", "0.00965", "0.0097")]
    for name in ("union", "similarity"):
        counts = [getattr(t, name) for t in fit]
        assert counts == sorted(counts)


def test_assumption_a1_is_checked(result, rng):
    plain = result.to_dict()["assumption_a1"]
    assert (plain["fits"], plain["n_pairs"], plain["tolerance"]) == (False, 435, 0.05)
    assert 0 < plain["pairs_off"] <= 435
    assert abs(plain["farthest"]["implied"] / plain["farthest"]["observed"] - 1) > 0.05
    hard = rng.random(5000) < 0.5
    fits = heldout.budget(~(hard & (rng.random((8, 5000)) < np.linspace(0.2, 0.6, 8)[:, None])))
    assert fits.to_dict()["assumption_a1"]["fits"] is True
    assert heldout.budget_from_numbers(50_000, 0.244, 0.85).to_dict()["assumption_a1"] is None


@pytest.mark.skipif(not IMAGENET.exists(), reason="needs ../shared/data/imagenet_predictions.npz")
def test_imagenet_v2_does_not_fit_assumption_a1():
    """Under A1 fewer models would fit than a bound that needs no A1 allows: the two cannot both be right."""
    keys = {"predictions_key": "preds_v2_threshold07", "labels_key": "labels_v2_threshold07"}
    result = heldout.budget(load_predictions(IMAGENET, **keys), epsilon=0.02)
    assert result.testable.naive_bayes < result.testable.similarity
    assert result.pool.assumption.fits is False


def test_without_an_epsilon_it_follows_the_pool(cifar10_predictions):
    """What the set can do for its own models, rounded up; so the pool fits, however small the set."""
    assert heldout.budget(cifar10_predictions).epsilon == 0.01
    few = heldout.budget(cifar10_predictions.correct[:, :300])
    assert few.epsilon == 0.06
    assert few.pool.epsilon["similarity"] <= 0.06 < few.pool.epsilon["similarity"] * 1.34
    assert few.testable.count >= 30
    assert heldout.budget_from_numbers(50_000, 0.244, 0.85).epsilon == 0.01
    numbers = heldout.budget_from_numbers(500, 0.244, 0.85)
    assert numbers.epsilon == 0.08
    assert numbers.testable.union >= 100


def test_never_no_without_a_way_forward(cifar10_predictions):
    result = heldout.budget(cifar10_predictions.correct[:, :300], epsilon=0.01)
    assert result.testable.count == 0
    shown = {figure.value for figure in result.summary().figures}
    assert {f"{result.needed.examples_for_epsilon:,}", bar_text(result.error_bar, full=True)} <= shown
    numbers = heldout.budget_from_numbers(500, 0.244, 0.85, epsilon=0.01)
    assert numbers.narrowest > 0.01
    assert dict(numbers.summary().lines)["Narrowest error bar of one model"] == bar_text(numbers.narrowest)


def test_first_and_winner_in_words_and_json(result, cifar10_predictions):
    plain = result.to_dict()
    names = [model["name"] for model in plain["models"]]
    assert plain["first"] == names[:5]
    assert set(plain["first"]) < set(plain["top"]["3"]) < set(plain["top"]["10"])
    winner = plain["winner"]
    assert set(winner) == {"name", "score", "expected_drop", "corrected"}
    assert (winner["name"], winner["score"]) == (names[0], pytest.approx(0.9711))
    assert 0 < winner["expected_drop"] < 0.0034  # two standard errors
    assert winner["corrected"] == pytest.approx(winner["score"] - winner["expected_drop"])
    assert {"examples_for_epsilon", "gap_now", "examples_for_gap"} <= set(plain["needed"])
    assert plain["pool"]["pairs_significant"] == 356  # 344 at Bonferroni's 0.05 / 435
    text = " ".join(str(result).split())
    assert f"May be first 5 of 30: {', '.join(names[:4])} and {names[4]}" in text
    assert (
        f"fresh examples {100 * winner['expected_drop']:.2f} points "
        f"Score to expect {100 * winner['corrected']:.2f} %" in text
    )
    again = heldout.budget(cifar10_predictions, epsilon=0.01, seed=1).to_dict()
    assert again["winner"] != winner  # unequal ones differ
    assert again["winner"]["expected_drop"] == pytest.approx(winner["expected_drop"], abs=0.0002)
    one, two = (heldout.budget(cifar10_predictions.correct[:4, :500]).to_dict() for _ in range(2))
    assert one == two  # equal seeds agree


def test_curves_pass_through_the_pool_s_own_numbers(result):
    curve = result.by_similarity
    at = np.interp(result.mean_similarity, curve.x, np.log(curve.similarity))
    assert math.exp(at) == pytest.approx(result.equal.similarity, rel=0.05)
    assert (curve.union == result.equal.union).all()
    assert (np.diff(curve.similarity[np.isfinite(curve.similarity)]) >= 0).all()
    curve = result.by_epsilon
    assert (np.diff(curve.x) > 0).all()
    assert (np.diff(curve.union) >= 0).all()
    assert curve.union[0] >= 1
    assert (curve.similarity >= curve.union).all()


def test_missing_cells_are_counted_and_left_out(cifar10_predictions):
    observed = np.ones((30, 10_000), dtype=bool)
    observed[3, :400] = False
    table = Predictions.from_correct(cifar10_predictions.correct, observed=observed, names=cifar10_predictions.names)
    result = heldout.budget(table)
    assert result.pool.n_missing == 400
    row = next(m for m in result.to_dict()["models"] if m["name"] == table.names[3])
    assert row["n_examples"] == 9_600
    assert row["error"] == pytest.approx(1 - cifar10_predictions.correct[3, 400:].mean())
    assert dict(result.summary().lines)["Missing predictions"].startswith("400 of ")


def test_pairs_less_alike_than_chance_are_counted(rng):
    right = rng.random(2000) < 0.5
    correct = np.stack([right, ~right, rng.random(2000) < 0.5])
    result = heldout.budget(correct, epsilon=0.05)
    assert result.pool.similarity.below_chance >= 1
    assert (result.equal.similarity, result.equal.naive_bayes) == (None, None)
    assert result.testable.naive_bayes is None
    assert result.further_models == result.further.similarity
    assert result.pool.epsilon["similarity"] <= result.pool.epsilon["union"]
    assert dict(result.summary().lines)["Pairs less alike than chance"] == of_text(
        result.pool.similarity.below_chance, 3
    )


def test_saturated_counts_stay_saturated():
    correct = np.random.default_rng(0).random((3, 3000)) < 0.8
    result = heldout.budget(correct, epsilon=0.3)
    assert result.further.union == result.testable.union == 10**18
    assert "over 10¹⁸" in result.summary().headline
    assert "10¹⁸ or more" in str(result)


@pytest.mark.parametrize("under", [0, 1])
def test_a_masked_array_keeps_its_mask(rng, under):
    """What lies under the mask must not count."""
    correct = (rng.random((4, 2000)) < 0.9).astype(int)
    hidden = rng.random((4, 2000)) < 0.5
    expected = 1 - correct[~hidden].mean()
    masked = np.ma.masked_array(np.where(hidden, under, correct), mask=hidden)
    assert heldout.budget(masked, epsilon=0.05).mean_error == pytest.approx(expected, abs=0.005)


def test_a_tiny_delta_is_no_excuse(cifar10_predictions):
    result = heldout.budget(cifar10_predictions, delta=1e-17, epsilon=0.05)
    assert ((result.pool.low < result.pool.high) & (result.pool.high < 0.3)).all()


def test_from_numbers():
    result = heldout.budget_from_numbers(50_000, 0.244, 0.85)
    assert result.to_dict()["testable_models"]["union"] == 251_165
    assert result.pool is None
    assert result.to_dict()["models"] == []
    assert "1,062,137" in str(result)


def test_one_model_says_what_can_be_told():
    correct = np.ones((1, 500), dtype=bool)
    correct[0, :100] = False
    with pytest.raises(InputError) as refusal:
        heldout.budget(correct, epsilon=0.05)
    for words in (
        "only one model",
        "error is 20.00 % (16.58 to 23.78 % with 95 %)",
        "at ±5 points",
        "union bound",
        "a comparison takes two",
    ):
        assert words in str(refusal.value)


@pytest.mark.parametrize("option", ["epsilon", "delta"])
@pytest.mark.parametrize("value", [0, 1, -0.1, math.nan, math.inf])
def test_epsilon_and_delta_outside(option, value):
    with pytest.raises(InputError, match=f"`{option}` is"):
        heldout.budget(np.eye(3, dtype=bool), **{option: value})


@pytest.mark.slow
@pytest.mark.skipif(not IMAGENET.exists(), reason="needs ../shared/data/imagenet_predictions.npz")
def test_imagenet():
    table = load_predictions(IMAGENET, predictions_key="preds_val", labels_key="labels_val")
    table = table.select([name for name in table.names if not name.startswith("fv_")])
    result = heldout.budget(table)
    assert result.n_models == 64
    assert 1 - result.mean_error == pytest.approx(0.7556, abs=5e-5)
    assert result.mean_similarity == pytest.approx(0.8555, abs=5e-5)
    assert result.independent_similarity == pytest.approx(0.6306, abs=5e-5)
    pool = result.to_dict()["pool"]
    assert pool["right_for_all"] == pytest.approx(0.3410, abs=5e-5)
    assert pool["wrong_for_all"] == pytest.approx(0.0491, abs=5e-5)
    assert result.pool.epsilon["union"] == pytest.approx(0.00652)
    assert 0.0060 < result.pool.epsilon["similarity"] < 0.00652
