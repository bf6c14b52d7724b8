"""Budgets of scores: trials that agree, trials that are independent, ranks and intervals by simulation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout.errors import InputError
from heldout.predictions import Predictions, load_predictions
from heldout.reuse.result import ScoreBudgetResult
from heldout.reuse.scored import ScoredPool
from heldout.statistics.bounded_differences import bounded_log_p_values
from heldout.statistics.stepdown import holm_log_adjusted
from tests.reuse.test_needed import bounded_p

LIVECODEBENCH = Path(__file__).parents[3] / "shared" / "data" / "livecodebench_apr2024.npz"


def drawn(rng, difficulty, trials):
    """(k, n, t) trials of models with these (k, n) probabilities."""
    return (rng.random((*difficulty.shape, trials)) < difficulty[..., None]).astype(float)


def abilities(rng, k=4, n=300, spread=1.0):
    """(k, n) probabilities of success: models of a like ability on examples of different difficulty."""
    logit = rng.normal(0, spread, n) + np.linspace(0.6, 0, k)[:, None]
    return 1 / (1 + np.exp(-logit))


def test_trials_that_agree_change_nothing(rng):
    right = rng.random((4, 200)) < 0.7
    one = heldout.budget(right, epsilon=0.05)
    ten = heldout.budget(Predictions.from_scores(np.repeat(right[..., None], 10, axis=2).astype(float)), epsilon=0.05)
    assert ten.pool.epsilon == one.pool.epsilon
    np.testing.assert_array_equal(ten.pool.low, one.pool.low)
    np.testing.assert_array_equal(ten.pool.ranks, one.pool.ranks)


def test_nearly_agreeing_trials_have_the_bars_of_one(rng):
    """One trial of 2,000 that differs takes the other road, which must lead to the same place."""
    right = (rng.random((1, 200)) < 0.7).astype(float)
    cells = np.repeat(right[..., None], 10, axis=2)
    cells[0, 0, 0] = 1 - cells[0, 0, 0]
    pool = ScoredPool(Predictions.from_scores(cells), None)
    low, high = pool.intervals(0.05)
    exact = heldout.statistics.clopper_pearson(int(right.sum()), 200, level=0.05)
    np.testing.assert_allclose((low[0], high[0]), exact, atol=0.003)


def half_widths(pool, level=0.05):
    low, high = pool.intervals(level)
    return (high - low) / 2


def test_independent_trials_shrink_by_the_predicted_factor():
    """From variances of ten trials, what one trial's error bar was and what forty will be."""
    rng = np.random.default_rng(3)
    p = abilities(rng, k=3, n=4000)
    pools = {t: ScoredPool(Predictions.from_scores(drawn(rng, p, t)), None) for t in (1, 10, 40)}
    between, within, share = pools[10].variances()
    np.testing.assert_allclose(between, p.var(axis=1, ddof=1), rtol=0.06)
    np.testing.assert_allclose(within, (p * (1 - p)).mean(axis=1), rtol=0.03)
    predicted = np.sqrt((between + within / 10) / (between + within))  # (1)
    np.testing.assert_allclose(half_widths(pools[10]) / half_widths(pools[1]), predicted, rtol=0.03)
    more = np.sqrt(1 - share * (1 - 1 / 4))  # (2)
    np.testing.assert_allclose(half_widths(pools[40]) / half_widths(pools[10]), more, rtol=0.03)
    alike = np.full((1, 4000), 0.5)  # all examples equally hard: ten trials are ten times the examples
    widths = [half_widths(ScoredPool(Predictions.from_scores(drawn(rng, alike, t)), None))[0] for t in (1, 10)]
    assert widths[1] / widths[0] == pytest.approx(1 / math.sqrt(10), rel=0.05)


@pytest.mark.slow
def test_predicted_factor_is_that_of_the_scatter():
    """Over fresh draws of examples and trials the mean scatters as (1) says, with ten trials and with one."""
    rng = np.random.default_rng(0)
    n, rounds = 200, 4000
    spread = {}
    for t in (1, 10):
        p = abilities(rng, k=1, n=n * rounds).reshape(rounds, n)
        cells = rng.binomial(t, p) / t
        spread[t] = cells.mean(axis=1).std()
    p = abilities(rng, k=1, n=500_000)[0]
    predicted = math.sqrt((p.var() + (p * (1 - p)).mean() / 10) / (p.var() + (p * (1 - p)).mean()))
    assert spread[10] / spread[1] == pytest.approx(predicted, rel=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [False, True])
def test_intervals_and_ranks_hold_at_once(groups):
    """Fresh examples each time: all means inside their intervals, all ranks inside theirs, at 95 %."""
    rng = np.random.default_rng(1)
    n, rounds = 120, 400
    gain = np.array([0.5, 0.4, 0.3, 0.15, 0.0, 0.0])[:, None]

    def probabilities(size):
        logit = rng.normal(0, 1.2, size)
        if groups:
            logit = np.repeat(rng.normal(0, 1.2, size // 3), 3)
        return 1 / (1 + np.exp(-(logit + gain)))

    truth = probabilities(900_000).mean(axis=1)
    wrong_interval = wrong_rank = wrong_first = 0
    for _ in range(rounds):
        table = Predictions.from_scores(drawn(rng, probabilities(n), 3))
        result = heldout.budget(table, epsilon=0.1, groups=np.arange(n) // 3 if groups else None)
        wrong_interval += bool(((result.pool.low > truth) | (result.pool.high < truth)).any())
        ranks = result.pool.ranks[:4]  # the last two are equal
        places = np.arange(1, 5)
        wrong_rank += bool(((ranks[:, 0] > places) | (ranks[:, 1] < places)).any())
        wrong_first += 0 not in result.pool.top[1]
    bound = rounds * 0.05 + 3 * math.sqrt(rounds * 0.05 * 0.95)
    assert max(wrong_interval, wrong_rank, wrong_first) <= bound


def test_groups_are_the_unit(rng):
    p = np.repeat(abilities(rng, k=3, n=40, spread=3), 5, axis=1)
    table = Predictions.from_scores(drawn(rng, p, 4))
    alone, grouped = heldout.budget(table, epsilon=0.1), heldout.budget(table, epsilon=0.1, groups=np.arange(200) // 5)
    assert (grouped.pool.high - grouped.pool.low > 1.5 * (alone.pool.high - alone.pool.low)).all()
    assert grouped.example_groups.n_groups == 40


def test_pairs_by_hand(rng):
    x = rng.random((3, 60))
    pool = ScoredPool(Predictions.from_scores(x), None)
    log_p, difference, error = pool.log_p_values(0, np.array([1, 2]))
    d = x[0] - x[1:]
    np.testing.assert_allclose(difference, d.mean(axis=1))
    np.testing.assert_allclose(error, d.std(axis=1, ddof=1) / math.sqrt(60))
    np.testing.assert_allclose(log_p, [bounded_log_p_values(row) for row in d])


@pytest.mark.parametrize(
    ("n", "k", "rounds"),
    [(20, 6, 40), *(pytest.param(n, k, 600, marks=pytest.mark.slow) for n in (20, 50, 100) for k in (2, 6))],
)
def test_family_wise_level_of_steady_and_unsteady_models(n, k, rounds):
    """All have mean 0.9; half of them near it on every example, half right on 90 %: nothing is to be told apart."""
    rng = np.random.default_rng(4)
    told = 0
    for _ in range(rounds):
        steady = rng.uniform(0.89, 0.91, (k // 2, n))
        pool = ScoredPool(Predictions.from_scores(np.vstack([steady, rng.random((k - k // 2, n)) < 0.9])), None)
        log_p = np.concatenate([pool.log_p_values(i, np.arange(i + 1, k))[0] for i in range(k - 1)])
        told += bool((holm_log_adjusted(log_p) <= math.log(0.05)).any())
    assert told / rounds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds)


def test_trials_of_a_gap_count_the_examples_of_both():
    """Halves of the examples to either model, a fifth to both: the share is of their difference on that fifth."""
    rng = np.random.default_rng(0)
    cells = drawn(rng, abilities(rng, k=2, n=400), 4)
    observed = np.ones((2, 400), bool)
    observed[0, 240:], observed[1, :160] = False, False
    part = ScoredPool(Predictions.from_scores(cells, observed=observed), None)
    both = ScoredPool(Predictions.from_scores(cells[:, 160:240]), None)
    shares = [
        pool.pair_trial_shares(0, np.array([1]), pool.log_p_values(0, np.array([1]))[2])[0] for pool in (part, both)
    ]
    assert shares[0] == pytest.approx(shares[1], rel=0.15)


def test_few_differences_claim_no_more_than_coins():
    """Two models that differ on five examples of 500, always the same way: 2 / 2^5, as by McNemar."""
    x = np.full((2, 500), 0.5)
    x[0, :5] = 0.75
    log_p, _, _ = ScoredPool(Predictions.from_scores(x), None).log_p_values(0, np.array([1]))
    assert math.exp(log_p[0]) >= 2 / 2**5 - 1e-12


def test_missing_cells_are_left_out(rng):
    x = rng.random((3, 80))
    observed = rng.random((3, 80)) < 0.8
    result = heldout.budget(Predictions.from_scores(x, observed=observed), epsilon=0.2)
    np.testing.assert_allclose(result.pool.values, [row[seen].mean() for row, seen in zip(x, observed, strict=True)])
    assert result.pool.n_missing == int((~observed).sum())
    pool = ScoredPool(Predictions.from_scores(x, observed=observed), None)
    both = observed[0] & observed[1]
    assert pool.log_p_values(0, np.array([1]))[1][0] == pytest.approx((x[0] - x[1])[both].mean())


def test_result_travels(tmp_path, rng):
    table = Predictions.from_scores(drawn(rng, abilities(rng, n=60), 3), names=["a", "b", "c", "d"])
    result = heldout.budget(table, groups=np.arange(60) // 2)
    assert isinstance(result, ScoreBudgetResult)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["trials"]["with_endlessly_many"] < plain["trials"]["with_twice_as_many"] < 1
    assert plain["first"] == result.first
    assert plain["needed"]["examples_for_epsilon"] <= 60
    result.save(tmp_path / "result")
    again = ScoreBudgetResult.load(tmp_path / "result")
    assert again == result
    assert again.to_dict() == plain
    heldout.budget(table.thresholded(0.5), epsilon=0.1).save(tmp_path / "other")
    with pytest.raises(InputError, match="holds a BudgetResult, not a ScoreBudgetResult"):
        ScoreBudgetResult.load(tmp_path / "other")


def test_what_needs_right_and_wrong(rng):
    table = Predictions.from_scores(rng.random((3, 50)))
    with pytest.raises(InputError, match=r"threshold=0.5"):
        heldout.similarity(table)
    assert heldout.budget(table.thresholded(0.5), epsilon=0.2).pool is not None


def test_needed_examples_for_a_gap():
    """At the printed number of examples the gap is found with 80 % power, in a simulation."""
    rng = np.random.default_rng(5)
    base = rng.random((2, 100))
    result = heldout.budget(Predictions.from_scores(base), gap=0.1, epsilon=0.1)
    n = result.needed.examples_for_gap
    sd = math.sqrt(result.needed.disagreement)
    d = rng.normal(0.1, sd, (500, n))
    found = bounded_p(d, 1, rng, 4_000) <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.09)


@pytest.mark.skipif(not LIVECODEBENCH.exists(), reason="needs ../shared/data/livecodebench_apr2024.npz")
def test_livecodebench():
    """docs/budget.md: 45 models, 400 problems; hardly anything of an error bar is chance inside problems."""
    pool = load_predictions(LIVECODEBENCH, correct_key="pass1", scale="percent")
    trials = np.array([[1 if "(n=1)" in name else 10] for name in pool.names])
    result = heldout.budget(Predictions.from_scores(pool.scores, trials=trials, names=pool.names))
    assert (result.n_models, result.n_examples, round(result.error_bar, 4)) == (45, 400, 0.0696)
    assert result.testable.union == 219
    assert round(100 * (1 - result.trials.with_endlessly_many), 1) == 1.0
    assert int(pool.thresholded(0.5).correct.sum()) > 0


def test_an_array_of_fractions_is_a_table_of_scores(rng):
    scores = rng.random((3, 40))
    result = heldout.budget(scores)
    assert isinstance(result, ScoreBudgetResult)
    plain = result.to_dict()
    assert plain == heldout.budget(Predictions.from_scores(scores)).to_dict()
    assert plain["pool"]["n_significant"] == plain["pool"]["pairs_significant"]
    right = heldout.budget((scores < 0.5).astype(float)).to_dict()["pool"]
    assert right["n_significant"] == right["pairs_significant"]


def test_one_model_few_examples_and_unknown_trials(rng):
    with pytest.raises(InputError, match=r"only one model, .* its mean score is 0\.\d{4}, between"):
        heldout.budget(rng.random((1, 30)))
    few = heldout.budget(rng.random((3, 4)))
    for result in (few, heldout.budget(np.eye(3, 4))):
        assert "4 examples" in result.summary().warnings[0]
    assert all(v is None or v >= 1 for k, v in vars(few.needed).items() if k.startswith("examples"))
    assert few.to_dict()["trials"]["most"] is None
