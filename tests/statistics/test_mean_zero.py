"""One door to the mean-zero tests: rules, levels on skewed nulls, power, and N models."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binomtest, norm

from heldout.errors import InputError
from heldout.statistics import (
    bernstein_log_pvalue,
    independence_test,
    mixture_log_evalue,
    n_model_test,
    star_bets_log_pvalue,
)
from heldout.statistics.betting import log_levels, star_rejects
from heldout.statistics.checks import check_sample
from heldout.statistics.mixture import BET_SHARES

METHODS = ["betting", "mixture", "bernstein"]
ALTERNATIVES = ["two-sided", "greater"]
RANGE = {"lower": -24 / 25, "upper": 0.5}


def sample(seed=0, n=500, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.choice([-0.8, -0.5, 0.0, 0.2, 0.5], p=[0.02, 0.03, 0.8 - shift, 0.1, 0.05 + shift], size=n)


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("tolerance", [0.0, 0.004])
def test_door_leads_to_the_methods(alternative, tolerance):
    x = sample(shift=0.03)
    options = {"alternative": alternative, "tolerance": tolerance}
    log_p = {m: independence_test(x, **RANGE, seed=3, method=m, **options).log_p_value for m in METHODS}
    assert log_p["betting"] == star_bets_log_pvalue(x, **RANGE, seed=3, **options)
    assert log_p["mixture"] == -mixture_log_evalue(x, **RANGE, **options)
    expected = bernstein_log_pvalue(x.mean() - tolerance, x.std(), 500, width=1.46)
    assert log_p["bernstein"] == min(0.0, expected)


def test_bernstein_capped_and_uncapped():
    for seed in range(5):
        x = sample(seed)
        capped = independence_test(x, **RANGE, method="bernstein")
        uncapped = independence_test(x, **RANGE, method="bernstein_uncapped")
        assert capped.log_p_value == min(0.0, uncapped.log_p_value)
        assert 0.0 < capped.p_value <= 1.0
        assert uncapped.p_value <= 3.0
    assert independence_test(np.zeros(9), **RANGE, method="bernstein_uncapped").p_value == pytest.approx(3.0)


def test_bernstein_one_sided():
    """The two-sided p if the mean is positive, else 1; uncapped, no negative mean beats a positive one."""
    up, down = np.full(200, 0.1), np.full(200, -0.1)
    for method in ("bernstein", "bernstein_uncapped"):
        both = independence_test(up, **RANGE, method=method)
        assert independence_test(up, **RANGE, method=method, alternative="greater").p_value == both.p_value < 1
    assert independence_test(down, **RANGE, method="bernstein", alternative="greater").p_value == 1.0
    assert independence_test(down, **RANGE, method="bernstein").p_value < 1.0
    order = [
        independence_test(x, **RANGE, method="bernstein_uncapped", alternative="greater").log_p_value
        for x in (down, np.full(200, 1e-4), up)
    ]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize("method", METHODS)
def test_tolerance_weakens(method):
    x = np.full(300, 0.05)
    ps = [independence_test(x, **RANGE, method=method, tolerance=t).log_p_value for t in (0, 0.01, 0.03, 0.05)]
    assert ps == sorted(ps)
    assert ps[0] < ps[1]
    assert ps[-1] == 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_nothing_and_overwhelming(method, alternative):
    options = {**RANGE, "method": method, "alternative": alternative}
    assert independence_test(np.zeros(50), **options).p_value == 1.0
    overwhelming = independence_test(np.full(1500, 0.5), **options)
    assert overwhelming.p_value < 1e-70
    assert math.isfinite(overwhelming.log_p_value)


def test_one_sided_never_sees_a_negative_mean():
    x = -np.abs(sample())
    for method in METHODS:
        options = {"lower": -0.96, "upper": 0.5, "method": method}
        assert independence_test(x, **options, alternative="greater").p_value == 1.0
        assert independence_test(x, **options).p_value < 0.05


def test_result_prints_and_travels():
    result = independence_test(np.full(100, 0.1), **RANGE, method="mixture")
    assert str(result).startswith("mean T = +0.100000 over 100 examples, mixture p = ")
    assert result.to_dict()["p_value"] == result.p_value
    assert result.to_dict()["n_examples"] == 100


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        ([], {}, "`T` has shape (0,); it must be one number per example, at least one"),
        ([[0.1]], {}, "`T` has shape (1, 1)"),
        ([0.1, math.nan, math.inf], {}, "`T` holds 2 values that are not finite"),
        ([0.1], {"lower": 0.0}, "the range [0.0, 0.5] does not hold 0 inside"),
        ([0.1], {"upper": math.inf}, "does not hold 0 inside"),
        ([0.1], {"upper": math.nan}, "does not hold 0 inside"),
        ([0.1], {"lower": 0.5, "upper": -0.5}, "does not hold 0 inside"),
        ([0.1, 0.51], {}, "`T` runs from 0.1 to 0.51, outside the declared range [-0.96, 0.5]"),
        ([-0.97, 0.1], {}, "`T` runs from -0.97 to 0.1, outside the declared range"),
        ([0.1], {"tolerance": -0.1}, "`tolerance` is -0.1; it must be in [0, 0.5)"),
        ([0.1], {"tolerance": math.nan}, "`tolerance` is nan"),
        ([0.1], {"alternative": "less"}, "`alternative` is 'less'; it must be 'two-sided' or 'greater'"),
        ([0.1], {"method": "clt"}, "`method` is 'clt'; choose one of betting, mixture, bernstein"),
        ([0.1], {"groups": ["a", "b"]}, "`groups` has shape (2,); give one group for each of the 1 examples"),
    ],
)
def test_refused(values, options, sentence):
    with pytest.raises(InputError) as error:
        independence_test(values, **{**RANGE, **options})
    assert sentence in str(error.value)


def test_check_sample_names_the_argument_and_forgives_rounding():
    with pytest.raises(InputError, match="`scores` has shape"):
        check_sample(0.5, lower=-1, upper=1, name="scores")
    assert check_sample([1, 0, -1], lower=-1, upper=1).dtype == np.float64
    check_sample([0.1 + 0.2], lower=-0.3, upper=0.3)  # 0.30000000000000004


# ---------------------------------------------------------------- level on skewed nulls

N = 10_000
SKEWED = {  # about 50 values that are not zero in 10,000, or 60
    "rare losses": {-0.8: 0.001, 0.2: 0.004},
    "rare gains": {0.5: 0.001, -0.1: 0.005},
}


def sparse_samples(rng, law, n_repetitions, n=N):
    """Non-zero values of many samples, rows filled up with zeros."""
    values, probabilities = np.array(list(law)), np.array(list(law.values()))
    sizes = rng.binomial(n, probabilities.sum(), size=n_repetitions)
    filled = np.arange(sizes.max()) < sizes[:, None]
    drawn = rng.choice(values, p=probabilities / probabilities.sum(), size=filled.shape)
    return np.where(filled, drawn, 0.0)


def betting_found(values, alternative, alphas, n=N, n_orders=12, seed=0):
    """(repetition, alpha): whether p <= alpha, from the vectorised internals."""
    rng = np.random.default_rng(seed)
    shape = (len(values), n_orders, values.shape[1])
    filled = (values != 0)[:, None]
    shuffled = np.argsort(np.where(filled, rng.random(shape), 2.0), axis=-1)
    orders = np.take_along_axis(np.broadcast_to(values[:, None], shape), shuffled, axis=-1)
    places = np.sort(np.where(filled, rng.random(shape), 2.0), axis=-1)
    filled = np.arange(shape[-1]) < filled.sum(axis=-1, keepdims=True)  # the zeros are last now
    times = np.where(filled, places * n, 0.0).astype(np.intp)
    rejects = np.zeros((len(values), 31), dtype=bool)
    negative = (values.sum(axis=1) < 0) & (alternative == "two-sided")
    for rows, sign, lower, upper in ((~negative, 1, -24 / 25, 0.5), (negative, -1, -0.5, 24 / 25)):
        if rows.any():
            rejects[rows] = star_rejects(
                sign * orders[rows], times[rows], n,
                log_alphas=log_levels(0, 31), lower=lower, upper=upper, alternative=alternative,
            )  # fmt: skip
    ends = rejects.cumprod(axis=1).sum(axis=1)  # levels rejected without a gap
    needed = [round(10 * math.log10(0.5 / alpha)) + 1 for alpha in alphas]
    return ends[:, None] >= np.array(needed)


def mixture_found(values, alternative, alphas):
    logs = [
        np.log1p(share * sign * values).sum(axis=1)
        for sign, edge in ((1, -RANGE["lower"]), (-1, RANGE["upper"]))
        for share in BET_SHARES / edge
    ]
    kept = logs[:20] if alternative == "greater" else logs
    log_e = logsumexp(kept, axis=0) - math.log(len(kept))
    return -log_e[:, None] <= np.log(alphas)


def bernstein_found(values, alternative, alphas, n=N):
    means = values.sum(axis=1) / n
    sds = np.sqrt((values**2).sum(axis=1) / n - means**2)
    log_p = np.array([bernstein_log_pvalue(m, s, n, width=1.46) for m, s in zip(means, sds, strict=True)])
    side = means > 0 if alternative == "greater" else np.ones(len(means), dtype=bool)
    return (log_p[:, None] <= np.log(alphas)) & side[:, None]


def found(method, values, alternative, alphas):
    by = {"betting": betting_found, "mixture": mixture_found, "bernstein": bernstein_found}
    return by[method](values, alternative, alphas)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", METHODS)
def test_vectorised_path_is_the_door(method, alternative):
    rng = np.random.default_rng(1)
    alphas = np.array([0.5, 0.05, 0.005])
    law = {-0.8: 0.0005, 0.2: 0.004, 0.5: 0.001}  # a mean above zero, so that some are found
    values = sparse_samples(rng, law, 12)
    fast = found(method, values, alternative, alphas)
    padded = np.concatenate([values, np.zeros((12, N - values.shape[1]))], axis=1)
    log_p = [independence_test(x, **RANGE, method=method, alternative=alternative).log_p_value for x in padded]
    agree = fast == (np.array(log_p)[:, None] <= np.log(alphas) + 1e-12)
    assert agree.sum() >= agree.size - (method == "betting")  # other orders may move p over an edge now and then
    assert method == "bernstein" or fast.any()


def assert_level(method, alternative, law, n_repetitions, seed):
    assert sum(v * p for v, p in law.items()) == pytest.approx(0.0, abs=1e-15)
    values = sparse_samples(np.random.default_rng(seed), law, n_repetitions)
    alphas = np.array([0.05, 0.005])
    counts = found(method, values, alternative, alphas).sum(axis=0)
    print(f"{method}, {alternative}: {counts[0]} and {counts[1]} alarms in {n_repetitions}")
    for alpha, count in zip(alphas, counts, strict=True):
        assert binomtest(int(count), n_repetitions, alpha, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("skew", SKEWED)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_level_quickly(alternative, skew):
    for method in METHODS:
        assert_level(method, alternative, SKEWED[skew], 1000, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("skew", SKEWED)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", METHODS)
def test_level(method, alternative, skew):
    assert_level(method, alternative, SKEWED[skew], 5_000, seed=3)


def test_clt_would_fail():  # why there is no plain z-test: mostly gains, a loss not seen yet
    values = sparse_samples(np.random.default_rng(4), {-0.8: 0.0002, 0.2: 0.0008}, 4000)
    z = values.sum(axis=1) / np.sqrt(np.maximum((values**2).sum(axis=1), 1e-12))
    assert np.mean(z > norm.isf(0.05)) > 0.08


# ---------------------------------------------------------------- power

LOSSES = {-1 / 2: 0.010, -2 / 3: 0.006, -0.8: 0.004}
GAINS = {1 / 2: 0.5, 1 / 3: 0.3, 0.2: 0.2}
NULL_LOSS = -sum(v * p for v, p in LOSSES.items())  # 0.0122
GAIN_RATE = NULL_LOSS / sum(v * p for v, p in GAINS.items())


def leak(effect):
    """The law of T when a share of the errors was learnt away; its mean is `effect`."""
    kept = 1 - effect / NULL_LOSS
    return {v: p * kept for v, p in LOSSES.items()} | {v: p * GAIN_RATE for v, p in GAINS.items()}


def power(method, law, *, n_repetitions, seed=5):
    """Share of samples of this law that the two-sided test at 0.05 finds."""
    values = sparse_samples(np.random.default_rng(seed), law, n_repetitions)
    return found(method, values, "two-sided", np.array([0.05])).mean()


def test_leak_has_its_mean():
    for effect in (0.0, 0.003):
        assert sum(v * p for v, p in leak(effect).items()) == pytest.approx(effect, abs=1e-15)


def test_betting_finds_what_bernstein_misses_quickly():
    assert power("betting", leak(0.0036), n_repetitions=200) > 0.75
    assert power("bernstein", leak(0.0034), n_repetitions=200) < 0.35


@pytest.mark.slow
def test_detectable_effects():
    """Effect found with power 0.8 at n = 10,000: betting about 0.0033, mixture 0.0043, Bernstein 0.0054."""
    reached = {}
    for method in METHODS:
        low, high = 0.002, 0.008
        for _ in range(9):
            middle = (low + high) / 2
            if power(method, leak(middle), n_repetitions=1000) >= 0.8:
                high = middle
            else:
                low = middle
        reached[method] = high
    print({method: round(effect, 5) for method, effect in reached.items()})
    assert reached["betting"] <= 0.65 * reached["bernstein"]
    assert 0.0031 < reached["betting"] < 0.0036
    assert 0.0040 < reached["mixture"] < 0.0047
    assert 0.0050 < reached["bernstein"] < 0.0057


# ---------------------------------------------------------------- N models


def stack(seed=0, shape=(6, 400)):
    return np.random.default_rng(seed).choice([-0.5, 0.0, 0.5], p=[0.02, 0.93, 0.05], size=shape)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", METHODS)
def test_groups(method, alternative):
    models = stack()
    options = {**RANGE, "method": method, "alternative": alternative, "groups": np.arange(400) // 2, "seed": 4}
    result = n_model_test(models, group_size=2, **options)
    assert result.group_size == 2
    assert len(result.groups) == len(result.p_values) == len(result.log_p_values) == 3
    for k, group in enumerate(result.groups):
        assert group == independence_test((models[2 * k] + models[2 * k + 1]) / 2, **options)
        assert result.p_values[k] == math.exp(result.log_p_values[k])


def test_default_is_one_group_and_leftovers_are_dropped():
    models = stack()
    assert n_model_test(models, **RANGE).groups == (independence_test(models.mean(axis=0), **RANGE),)
    four = n_model_test(models, **RANGE, group_size=4)
    assert four.log_p_values == n_model_test(models[:4], **RANGE).log_p_values
    single = n_model_test(models, **RANGE, group_size=1)
    assert [g.statistic for g in single.groups] == pytest.approx(models.mean(axis=1))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_e_value_is_the_mean(alternative):
    models = stack(1)
    result = n_model_test(models, **RANGE, group_size=2, method="mixture", alternative=alternative)
    e = [
        math.exp(mixture_log_evalue(models[2 * k : 2 * k + 2].mean(axis=0), **RANGE, alternative=alternative))
        for k in range(3)
    ]
    assert math.exp(result.log_e_value) == pytest.approx(np.mean(e), rel=1e-12)
    overwhelming = n_model_test(np.full((2, 5000), 0.5), **RANGE, group_size=1, method="mixture")
    assert 1000 < overwhelming.log_e_value < math.inf


def test_averaging_helps():  # models that err on different examples: the spread falls, the mean stays
    models = stack(2, (20, 2000))
    one = n_model_test(models[:1], **RANGE).log_p_values[0]
    assert n_model_test(models, **RANGE).log_p_values[0] < 2 * one


def test_average_e_value_keeps_its_level():  # three groups that see the very same examples
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(100):
        base = rng.choice([-0.5, 0.0, 0.5], p=[0.1, 0.8, 0.1], size=200)
        models = np.where(rng.random((3, 200)) < 0.9, base, 0.0)
        hits += n_model_test(models, **RANGE, group_size=1, method="mixture").log_e_value >= math.log(20)
    assert binomtest(hits, 100, 0.05, alternative="greater").pvalue > 1e-6


def test_n_model_result_prints_and_travels():
    result = n_model_test(np.zeros((12, 30)), **RANGE, group_size=1)
    assert str(result) == "12 groups of 1 models: p = " + ", ".join(["1"] * 10) + ", ..."
    plain = result.to_dict()
    assert plain["p_values"] == [1.0] * 12
    assert plain["log_e_value"] == pytest.approx(0.0, abs=1e-12)
    assert len(plain["groups"]) == 12


@pytest.mark.parametrize(
    ("models", "options", "sentence"),
    [
        ([0.1, 0.2], {}, "`T` has shape (2,); it must be (n_models, n_examples)"),
        (np.zeros((0, 5)), {}, "`T` has shape (0, 5)"),
        (np.zeros((3, 5)), {"group_size": 0}, "`group_size` is 0 for 3 models"),
        (np.zeros((3, 5)), {"group_size": 4}, "`group_size` is 4 for 3 models"),
        (np.full((3, 5), 0.7), {}, "outside the declared range"),
        (np.full((3, 5), math.nan), {}, "not finite"),
        (np.zeros((3, 5)), {"groups": ["a"]}, "`groups` has shape (1,); give one group for each of the 5 examples"),
    ],
)
def test_n_model_refused(models, options, sentence):
    with pytest.raises(InputError) as error:
        n_model_test(models, **RANGE, **options)
    assert sentence in str(error.value)


# ---------------------------------------------------------------- examples that depend on each other


def test_names_have_no_effect_and_say_so():
    x = sample(shift=0.03)
    with pytest.warns(DeprecationWarning, match="`ids` has no effect"):
        named = independence_test(x, **RANGE, ids=[f"x{i}" for i in range(500)])
    assert named == independence_test(x, **RANGE)


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_one_are_no_groups(method):
    x = sample(shift=0.03)
    alone = independence_test(x, **RANGE, method=method, groups=[f"g{i}" for i in range(500)])
    assert alone == independence_test(x, **RANGE, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_copies_add_nothing(method):
    """Every example five times, in groups: the p of the examples once."""
    x = sample(shift=0.03)
    copies = independence_test(np.repeat(x, 5), **RANGE, method=method, groups=np.repeat(np.arange(500), 5))
    once = independence_test(x, **RANGE, method=method)
    assert copies.log_p_value == pytest.approx(once.log_p_value, rel=1e-12)
    assert (copies.n_examples, copies.n_groups) == (2500, 500)
    assert "in 500 groups" in str(copies)


def grouped_sample(rng, n_groups, alike):
    """Groups of 1 to 20; T mean zero, an example takes its group's value with probability `alike`."""
    sizes = rng.integers(1, 21, n_groups)
    codes = np.repeat(np.arange(n_groups), sizes)

    def draw(n):
        return rng.choice([-0.5, 0.0, 0.25, 0.5], p=[0.15, 0.65, 0.1, 0.1], size=n)

    shared, own = draw(n_groups)[codes], draw(len(codes))
    return np.where(rng.random(len(codes)) < alike, shared, own), codes


def betting_alarms(n_repetitions, n_groups, alike, *, with_groups=True, seed=0):
    rng = np.random.default_rng(seed)
    alarms = 0
    for _ in range(n_repetitions):
        x, codes = grouped_sample(rng, n_groups, alike)
        test = independence_test(x, **RANGE, groups=codes if with_groups else None, n_orders=8)
        alarms += test.p_value <= 0.05 + 1e-12
    return alarms


def test_betting_without_groups_is_not_valid_where_there_are_groups():
    assert betting_alarms(100, 60, 1.0, with_groups=False) > 20


def test_level_with_groups_quickly():
    assert betting_alarms(150, 60, 1.0) <= 15


@pytest.mark.slow
@pytest.mark.parametrize("alike", [1.0, 0.7, 0.5])
@pytest.mark.parametrize("n_groups", [30, 150])
def test_level_with_groups(n_groups, alike):
    alarms = betting_alarms(1000, n_groups, alike)
    print(f"{n_groups} groups, {alike:.0%} alike: {alarms} alarms in 1000")
    assert alarms / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
