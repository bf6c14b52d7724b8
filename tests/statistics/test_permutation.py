"""The control test against every split there is, and its level where plain tests fail."""

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout.errors import InputError
from heldout.statistics import control_test, independence_test


def rng_of(seed):
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- the slow way


def slow_studentised(strata):
    """(difference, standard error) of [(test values, control values), ...], one pair a class."""
    weights = [len(a) * len(b) / (len(a) + len(b)) for a, b in strata]
    weights = [w / sum(weights) for w in weights]
    difference = sum(w * (statistics.fmean(a) - statistics.fmean(b)) for w, (a, b) in zip(weights, strata, strict=True))
    variance = 0.0
    for side in (0, 1):
        inside = sum(sum((x - statistics.fmean(s[side])) ** 2 for x in s[side]) for s in strata)
        freedom = sum(len(s[side]) for s in strata) - len(strata)
        variance += inside / freedom * sum(w**2 / len(s[side]) for w, s in zip(weights, strata, strict=True))
    return difference, math.sqrt(variance)


def slow_error(strata):
    """(2): each class's own spread; a class with one value gets that of the others in its set."""
    weights = [len(a) * len(b) / (len(a) + len(b)) for a, b in strata]
    variance = 0.0
    for side in (0, 1):
        several = [s[side] for s in strata if len(s[side]) > 1]
        pooled = sum(statistics.variance(x) * (len(x) - 1) for x in several) / sum(len(x) - 1 for x in several)
        for w, s in zip(weights, strata, strict=True):
            own = statistics.variance(s[side]) if len(s[side]) > 1 else pooled
            variance += (w / sum(weights)) ** 2 * own / len(s[side])
    return math.sqrt(variance)


def slow_t(strata):
    difference, error = slow_studentised(strata)
    if error < 1e-9:
        return 0.0 if abs(difference) < 1e-9 else math.copysign(math.inf, difference)
    return difference / error


def every_split(strata):
    ways = []
    for a, b in strata:
        pooled = [*a, *b]
        picks = itertools.combinations(range(len(pooled)), len(a))
        ways.append([([pooled[i] for i in p], [pooled[i] for i in range(len(pooled)) if i not in p])
                     for p in picks])  # fmt: skip
    return itertools.product(*ways)


def exact_p(strata):
    observed = slow_t(strata)
    ts = np.array([slow_t(split) for split in every_split(strata)])
    with np.errstate(invalid="ignore"):
        greater = (ts >= observed - 1e-9).mean()
        two_sided = (np.abs(ts) >= abs(observed) - 1e-9).mean()
    return greater, two_sided


def run(strata, **options):
    """The package on the same strata."""
    test = [x for a, _ in strata for x in a]
    control = [x for _, b in strata for x in b]
    return control_test(
        test,
        control,
        classes_test=[f"c{k}" for k, (a, _) in enumerate(strata) for _ in a],
        classes_control=[f"c{k}" for k, (_, b) in enumerate(strata) for _ in b],
        **options,
    )


TINY = {
    "one class": [([0.5, 0.0, 0.2, 0.9], [0.0, -0.3, 0.1])],
    "unequal sizes": [([0.5, 0.0], [0.0, 0.0, -0.5, 0.5, 0.25, 0.0, 0.1])],
    "ties": [([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, -0.5])],
    "two classes": [([0.5, 0.0, 0.1], [0.0, -0.3]), ([1.0, 1.5], [1.0, 0.9, 1.2, 0.7])],
    "three classes, one single": [([0.5, 0.3], [0.0, 0.1]), ([2.0], [1.5, 1.9]), ([-1.0, 0.0], [-0.9, -1.4])],
    "nothing inside": [([0.3, 0.3, 0.3], [0.1, 0.1, 0.1])],
    "nothing inside, unequal": [([1.1, 1.1], [0.3, 0.3, 0.3, 0.3])],
    "all equal": [([0.1, 0.1, 0.1], [0.1, 0.1])],
    "classes cancel": [([0.3, 0.3], [0.1, 0.1]), ([0.1, 0.1], [0.3, 0.3])],
}


@pytest.mark.parametrize("name", TINY)
def test_oracle(name):
    strata = TINY[name]
    result = run(strata, rng=rng_of(0), n_resamples=20_000)
    assert result.difference == pytest.approx(slow_studentised(strata)[0], abs=1e-12)
    assert result.standard_error == pytest.approx(slow_error(strata), abs=1e-9)
    assert result.standard_error_test <= result.standard_error
    for ours, exact in zip((result.p_greater, result.p_two_sided), exact_p(strata), strict=True):
        assert ours == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_oracle_random(seed):
    rng = rng_of(seed)
    sizes = [(3, 2), (2, 3)] if seed % 2 else [(5, 3)]
    law = rng.normal if seed % 4 < 2 else lambda size: rng.choice([-0.8, 0.0, 0.2], size=size)
    strata = [(law(size=a).tolist(), law(size=b).tolist()) for a, b in sizes]
    result = run(strata, rng=rng, n_resamples=20_000)
    for ours, exact in zip((result.p_greater, result.p_two_sided), exact_p(strata), strict=True):
        assert ours == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_level_over_every_split():
    """Given the pooled values every split is equally likely; p <= alpha for at most a share alpha."""
    strata = TINY["two classes"]
    splits = list(every_split(strata))
    ts = np.array([slow_t(split) for split in splits])
    exact = (ts[None] >= ts[:, None] - 1e-9).mean(axis=1)
    for alpha in (0.01, 0.05, 0.1, 0.3):
        assert (exact <= alpha).mean() <= alpha
    for k in range(0, len(splits), 12):  # and ours finds that very p wherever the observed split lies
        ours = run(splits[k], rng=rng_of(k), n_resamples=4000).p_greater
        assert ours == pytest.approx(exact[k], abs=5 * math.sqrt(exact[k] * (1 - exact[k]) / 4000) + 5e-4)


def test_both_ways_of_drawing_agree():  # few distinct values against all of them distinct
    rng = rng_of(3)
    test, control = rng.choice([0.0, 0.5], p=[0.8, 0.2], size=60), rng.choice([0.0, 0.5], size=90)
    coarse = control_test(test, control, rng=rng, n_resamples=20_000)
    jitter = 1e-10 * rng.normal(size=150)
    fine = control_test(test + jitter[:60], control + jitter[60:], rng=rng, n_resamples=20_000)
    assert coarse.p_two_sided < 0.01
    assert fine.p_greater == pytest.approx(coarse.p_greater, abs=0.01)
    assert fine.difference == pytest.approx(coarse.difference, abs=1e-9)


# ---------------------------------------------------------------- what p may and may not be


def test_never_zero_and_on_its_grid():
    result = control_test([1.0] * 40, [0.0] * 40, rng=rng_of(0), n_resamples=199)
    assert result.p_greater == result.p_two_sided == 1 / 200
    assert control_test([0.0] * 40, [1.0] * 40, rng=rng_of(0), n_resamples=199).p_greater == 1.0
    p = control_test(rng_of(1).normal(size=9), rng_of(2).normal(size=9), rng=rng_of(0), n_resamples=99).p_value
    assert 100 * p == pytest.approx(round(100 * p), abs=1e-9)


def test_all_tied_is_no_evidence():
    result = control_test([0.2] * 10, [0.2] * 30, rng=rng_of(0))
    assert result.p_greater == result.p_two_sided == 1.0
    assert result.difference == 0.0


def test_alternative_is_only_which_p():
    rng = rng_of(5)
    test, control = rng.normal(0.6, 1, 40), rng.normal(0, 1, 60)
    greater = control_test(test, control, alternative="greater", rng=rng_of(1))
    both = control_test(test, control, alternative="two-sided", rng=rng_of(1))
    assert (greater.p_greater, greater.p_two_sided) == (both.p_greater, both.p_two_sided)
    assert greater.p_value == greater.p_greater < both.p_value == both.p_two_sided
    swapped = control_test(control, test, rng=rng_of(1))
    assert swapped.difference == pytest.approx(-both.difference)
    assert swapped.p_greater > 0.9
    assert swapped.p_two_sided == pytest.approx(both.p_two_sided, abs=0.01)


def test_threads_change_nothing():
    """Draws are one sequence, whoever sums them up: several chunks in each of three classes."""
    values, classes = rng_of(0).normal(size=2000), np.arange(2000) % 3
    given = {"classes_test": classes[:900], "classes_control": classes[900:], "n_resamples": 20_000}
    one, two = (control_test(values[:900], values[900:], rng=rng_of(1), n_jobs=n, **given) for n in (1, 2))
    assert one == two
    with pytest.raises(InputError, match=r"^`n_jobs` is 0; give a number of workers, or -1 for all cores\.$"):
        control_test(values[:900], values[900:], rng=rng_of(1), n_jobs=0)


def test_equal_seeds_agree():
    rng = rng_of(6)
    test, control = rng.normal(0.2, 1, 40), rng.normal(0, 1, 60)
    ps = [control_test(test, control, rng=rng_of(seed)).p_value for seed in (1, 1, 3)]
    assert ps[0] == ps[1] != ps[2]


@pytest.mark.parametrize(("shift", "scale"), [(5.0, 1.0), (0.0, 1e-9), (1e4, 1e3)])
def test_invariant_to_location_and_units(shift, scale):
    rng = rng_of(7)
    test, control = rng.choice([-0.5, 0.0, 0.5], size=50), rng.choice([-0.5, 0.0, 0.5, 0.5], size=70)
    plain = control_test(test, control, rng=rng_of(1))
    moved = control_test(shift + scale * test, shift + scale * control, rng=rng_of(1))
    assert (moved.p_greater, moved.p_two_sided) == (plain.p_greater, plain.p_two_sided)
    assert moved.difference == pytest.approx(scale * plain.difference, rel=1e-6)


def test_listing_order_is_irrelevant():
    rng = rng_of(8)
    test, control = rng.normal(size=60), rng.normal(size=40)
    c_test, c_control = rng.integers(3, size=60), rng.integers(3, size=40)
    a = control_test(test, control, classes_test=c_test, classes_control=c_control, rng=rng_of(1))
    order = rng.permutation(60)
    b = control_test(test[order], control, classes_test=c_test[order], classes_control=c_control, rng=rng_of(1))
    assert (a.p_greater, a.p_two_sided) == (b.p_greater, b.p_two_sided)


def test_unmatched_classes_are_counted_and_left_out():
    test, control = [0.1, 0.2, 0.3, 9.0], [0.0, 0.1, 0.4, -9.0, -9.0]
    result = control_test(test, control, classes_test=[0, 0, 0, 1], classes_control=[0, 0, 0, 2, 2], rng=rng_of(0))
    alone = control_test(test[:3], control[:3], rng=rng_of(0))
    assert (result.n_test, result.n_control, result.n_unmatched) == (3, 3, 3)
    assert result.difference == pytest.approx(alone.difference)
    assert result.p_value == alone.p_value


def test_many_classes_in_bounded_pieces(monkeypatch):
    """The pieces in which splits are drawn change the stream of random numbers, nothing else."""
    rng = rng_of(9)
    data = {"classes_test": np.arange(400) % 50, "classes_control": np.arange(200) % 50}
    test, control = rng.normal(0.15, 1, 400), rng.normal(0, 1, 200)
    whole = control_test(test, control, **data, rng=rng_of(1))
    monkeypatch.setattr("heldout.statistics.permutation.CHUNK_CELLS", 10_000)
    pieces = control_test(test, control, **data, rng=rng_of(1))
    assert pieces.p_value == pytest.approx(whole.p_value, abs=0.02)
    assert pieces.difference == whole.difference


def test_result_prints_and_travels():
    result = control_test([0.0, 1.0, 1.0], [0.0, 0.0, 1.0], rng=rng_of(0), n_resamples=99)
    low, high = result.interval
    assert high - result.difference == pytest.approx(result.difference - low)
    assert high - low == pytest.approx(2 * 2.776445 * result.standard_error, rel=1e-6)  # Student, 4 degrees
    assert str(result).startswith("test minus control +0.33333 (95 % ")
    assert result.to_dict()["p_value"] == result.p_value
    assert result.to_dict()["interval"] == [low, high]


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], [1.0]), "`T_test` must be a non-empty row of finite numbers; its shape is (0,)"),
        (([1.0], [[1.0]]), "`T_control` must be a non-empty row of finite numbers; its shape is (1, 1)"),
        (([1.0, math.nan], [1.0, 2.0]), "`T_test` must be a non-empty row of finite numbers"),
        (([1.0, 2.0], [1.0, math.inf]), "`T_control` must be a non-empty row of finite numbers"),
        (([1.0], [1.0]), "1 test and 1 control examples in 1 shared classes leave no class with two of each"),
        (([1.0, 2.0], [1.0]), "2 test and 1 control examples"),
    ],
)
def test_values_refused(arguments, sentence):
    with pytest.raises(InputError) as error:
        control_test(*arguments, rng=rng_of(0))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes_test": [0, 1]}, "`classes_test` has shape (2,) but `T_test` has (3,)"),
        ({"classes_test": [0, 1, 1]}, "give the classes of both sets or of neither"),
        ({"classes_test": [0, 0, 0], "classes_control": [1, 1, 1]}, "share no class"),
        ({"classes_test": [0, 1, 2], "classes_control": [0, 1, 2]}, "in 3 shared classes leave no class"),
        ({"classes_test": [0, 0, 1], "classes_control": ["0", "0", "1"]}, "text in one set and numbers"),
        ({"n_resamples": 0}, "`n_resamples` is 0; at least 1 is needed"),
        ({"alternative": "less"}, "`alternative` is 'less'"),
    ],
)
def test_options_refused(options, sentence):
    with pytest.raises(InputError) as error:
        control_test([0.1, 0.2, 0.3], [0.1, 0.2, 0.4], rng=rng_of(0), **options)
    assert sentence in str(error.value)


# ---------------------------------------------------------------- level and power


def framed(rng, n):
    """T of an honest model on framed pictures: its mean is 0.01, not zero."""
    return rng.choice([-0.5, 0.0, 0.5], p=[0.01, 0.96, 0.03], size=n)


def sparse(rng, n):
    return rng.choice([-0.8, 0.0, 0.2], p=[0.005, 0.975, 0.02], size=n)


def alarms(simulate, n_repetitions, seed=0):
    """Counts of p <= 0.05, one-sided and two-sided; B = 99 makes the level of each exactly 0.05."""
    rng = rng_of(seed)
    results = [control_test(*simulate(rng), rng=rng, n_resamples=99) for _ in range(n_repetitions)]
    return sum(r.p_greater <= 0.05 for r in results), sum(r.p_two_sided <= 0.05 for r in results)


def assert_level(counts, n_repetitions):
    print(f"{counts[0]} one-sided and {counts[1]} two-sided alarms in {n_repetitions}")
    for count in counts:
        assert binomtest(count, n_repetitions, 0.05, alternative="greater").pvalue > 1e-6


@pytest.mark.slow
def test_framed_pictures():
    """An honest model on framed pictures: the plain test finds the frame, the control takes it away."""
    rng = rng_of(10)
    plain = control = 0
    for _ in range(40):
        test, aside = framed(rng, 4000), framed(rng, 2000)
        plain += independence_test(test, lower=-0.5, upper=0.5).p_value <= 0.05
        control += control_test(test, aside, rng=rng, n_resamples=199).p_value <= 0.05
    assert plain >= 36
    assert binomtest(control, 40, 0.05, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("law", [framed, sparse])
def test_level_quickly(law):
    assert_level(alarms(lambda rng: (law(rng, 1000), law(rng, 200)), 400), 400)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_control"), [(500, 500), (1000, 200), (100, 1000)])
@pytest.mark.parametrize("law", [framed, sparse])
def test_level(law, n, n_control):
    assert_level(alarms(lambda rng: (law(rng, n), law(rng, n_control)), 8000), 8000)


CLASS_MEANS = np.array([0.0, 0.3, 0.9])  # error rates that differ by class
MIXES = (np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6]))


def other_mix(rng, n, mix):
    classes = rng.choice(3, p=mix, size=n)
    return (rng.random(n) < 0.05 + CLASS_MEANS[classes]).astype(float), classes


@pytest.mark.slow
def test_level_with_another_class_mix():
    rng = rng_of(11)
    with_classes, without = [], []
    for _ in range(4000):
        (test, c_test), (control, c_control) = other_mix(rng, 600, MIXES[0]), other_mix(rng, 150, MIXES[1])
        classes = {"classes_test": c_test, "classes_control": c_control}
        with_classes.append(control_test(test, control, **classes, rng=rng, n_resamples=99))
        if len(without) < 200:
            without.append(control_test(test, control, rng=rng, n_resamples=99).p_value <= 0.05)
    counts = (sum(r.p_greater <= 0.05 for r in with_classes), sum(r.p_two_sided <= 0.05 for r in with_classes))
    assert_level(counts, 4000)
    assert np.mean(without) > 0.9  # what the strata are for


@pytest.mark.slow
def test_equal_means_unequal_spreads():
    """Outside the exact null: studentised, the level holds nearly; the plain difference's would not."""
    rng = rng_of(12)

    def simulate(rng):
        return rng.normal(0, 0.5, 1000), rng.normal(0, 2.0, 200)

    greater, two_sided = alarms(simulate, 2000)
    assert max(greater, two_sided) / 2000 < 0.07
    plain = 0
    for _ in range(200):
        pooled = np.concatenate(simulate(rng))
        observed = abs(pooled[:1000].mean() - pooled[1000:].mean())
        shuffled = rng.permuted(np.tile(pooled, (99, 1)), axis=1)
        differences = np.abs(shuffled[:, :1000].mean(axis=1) - shuffled[:, 1000:].mean(axis=1))
        plain += ((differences >= observed).sum() + 1) / 100 <= 0.05
    assert plain / 200 > 0.12


def test_a_leak_is_found():
    """Framed pictures, and 2 % of the test set was learnt by heart: those errors are gone."""
    rng = rng_of(13)
    found = 0
    for _ in range(40):
        test, control = framed(rng, 5000), framed(rng, 2500)
        leaked = (rng.random(5000) < 0.02) & (test <= 0)
        test = np.where(leaked, 0.5, test)
        found += control_test(test, control, alternative="greater", rng=rng, n_resamples=199).p_value <= 0.05
    assert found >= 32


def test_interval_covers():
    rng = rng_of(14)
    covered = 0
    for _ in range(300):
        result = control_test(0.1 + framed(rng, 2000), framed(rng, 1000), rng=rng, n_resamples=1)
        covered += result.interval[0] <= 0.1 <= result.interval[1]
    assert binomtest(covered, 300, 0.95).pvalue > 1e-4


# ---------------------------------------------------------------- intervals where class mixes differ


CLASS_SIZES = {
    "turned round": ((900, 20, 80), (80, 20, 900)),
    "equal": ((300, 300, 300), (300, 300, 300)),
    "small classes": ((40, 200, 10), (10, 100, 60)),
}


def interval_coverage(mix, n_repetitions, seed=0):
    """Classes with very different spreads: T-like values, and the true difference is 0.02."""
    rng = np.random.default_rng(seed)
    sizes, sizes_control = CLASS_SIZES[mix]
    spreads, centres = (0.05, 0.4, 0.25), (0.1, -0.2, 0.4)
    covered = 0
    for _ in range(n_repetitions):
        test, control = (
            np.concatenate([c + shift + s * rng.normal(size=n) for n, s, c in zip(ns, spreads, centres, strict=True)])
            for ns, shift in ((sizes, 0.02), (sizes_control, 0.0))
        )
        found = control_test(
            test, control,
            classes_test=np.repeat([0, 1, 2], sizes), classes_control=np.repeat([0, 1, 2], sizes_control),
            n_resamples=1, rng=rng,
        )  # fmt: skip
        covered += found.interval[0] <= 0.02 <= found.interval[1]
    return covered / n_repetitions


def test_interval_covers_where_mixes_differ_quickly():
    assert 0.92 < interval_coverage("turned round", 600) < 0.975


@pytest.mark.slow
@pytest.mark.parametrize("mix", CLASS_SIZES)
def test_interval_covers_where_mixes_differ(mix):
    covered = interval_coverage(mix, 8000)
    print(f"{mix}: {covered:.4f}")
    assert 0.94 <= covered <= 0.96


# ---------------------------------------------------------------- examples that depend on each other


def grouped(rng, n_groups, alike, *, n_classes=3, mixed=False, largest=20):
    """Groups of 1 to `largest`; an example takes its group's value with probability `alike`. Skewed, class-wise."""
    sizes = rng.integers(1, largest + 1, n_groups)
    codes = np.repeat(np.arange(n_groups), sizes)
    classes = rng.integers(0, n_classes, n_groups)[codes]
    if mixed:
        classes = np.where(rng.random(len(codes)) < 0.5, rng.integers(0, n_classes, len(codes)), classes)
    shared, own = (rng.choice([-0.5, 0.0, 0.5], p=[0.2, 0.7, 0.1], size=n) for n in (n_groups, len(codes)))
    values = np.where(rng.random(len(codes)) < alike, shared[codes], own)
    return values + 0.1 * classes, classes, codes


def group_alarms(n_repetitions, sizes, alike, *, with_groups=True, seed=0, **options):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(n_repetitions):
        sets = [grouped(rng, n, alike, **options) for n in sizes]
        result = control_test(
            sets[0][0], sets[1][0], classes_test=sets[0][1], classes_control=sets[1][1],
            groups_test=sets[0][2] if with_groups else None, groups_control=sets[1][2] if with_groups else None,
            n_resamples=199, rng=rng,
        )  # fmt: skip
        found += result.p_value <= 0.05
    return found


def test_groups_of_one_are_no_groups():
    rng = np.random.default_rng(0)
    test, control = rng.normal(size=60), rng.normal(size=90)
    classes = {"classes_test": rng.integers(0, 3, 60), "classes_control": rng.integers(0, 3, 90)}
    groups = {"groups_test": rng.permutation(60), "groups_control": [f"c{i}" for i in range(90)]}
    plain, alone = (
        control_test(test, control, **classes, **g, n_resamples=999, rng=np.random.default_rng(1)) for g in ({}, groups)
    )
    assert plain == alone


def test_copies_add_nothing():
    """Every example as often as its group is large: the p of the examples once, to the last permutation."""
    rng = np.random.default_rng(2)
    test, control = rng.normal(0.3, 1, 40), rng.normal(size=50)
    classes, classes_control = rng.integers(0, 2, 40), rng.integers(0, 2, 50)
    times, times_control = rng.integers(1, 6, 40), rng.integers(1, 6, 50)
    once = control_test(
        test, control, classes_test=classes, classes_control=classes_control, rng=np.random.default_rng(3)
    )
    copies = control_test(
        np.repeat(test, times), np.repeat(control, times_control),
        classes_test=np.repeat(classes, times), classes_control=np.repeat(classes_control, times_control),
        groups_test=np.repeat(np.arange(40), times), groups_control=np.repeat(np.arange(50), times_control),
        rng=np.random.default_rng(3),
    )  # fmt: skip
    assert copies.p_two_sided == once.p_two_sided
    assert copies.difference == pytest.approx(once.difference)
    assert copies.interval == pytest.approx(once.interval)
    assert (copies.n_groups_test, copies.n_groups_control) == (40, 50)
    assert (copies.n_test, copies.n_control) == (times.sum(), times_control.sum())


def test_whole_groups_against_brute_force():
    """Seven groups, every way to share them out: the difference of group means, studentised, counted."""
    groups = [[1.0, 2.0], [0.5], [3.0, 3.5, 4.0], [0.0], [1.5, 1.0], [2.5], [-1.0, 0.0]]
    means = [sum(g) / len(g) for g in groups]

    def t(chosen):
        a, b = ([means[i] for i in range(7) if (i in chosen) == side] for side in (True, False))
        return (np.mean(a) - np.mean(b)) / math.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b))

    splits = list(itertools.combinations(range(7), 3))
    exact = np.mean([abs(t(split)) >= abs(t((0, 1, 2))) - 1e-9 for split in splits])
    result = control_test(
        list(itertools.chain(*groups[:3])), list(itertools.chain(*groups[3:])),
        groups_test=[0, 0, 1, 2, 2, 2], groups_control=[0, 1, 1, 2, 3, 3],
        n_resamples=20_000, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert result.p_two_sided == pytest.approx(exact, abs=0.015)


def test_without_groups_the_level_is_lost():
    assert group_alarms(100, (60, 60), 1.0, with_groups=False) > 20


def test_level_with_groups_quickly():
    assert group_alarms(200, (40, 70), 0.7, mixed=True) <= 21  # 10 expected, 3.5 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("sizes", [(60, 60), (30, 120)])
@pytest.mark.parametrize("alike", [1.0, 0.7, 0.5])
def test_level_with_groups(alike, sizes, mixed):
    found = group_alarms(1000, sizes, alike, mixed=mixed)
    print(f"{alike:.0%} alike, {sizes} groups, {'mixed' if mixed else 'pure'}: {found} alarms in 1000")
    assert found / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
def test_level_where_group_sizes_differ():  # means of large and of single groups: the same mean, unequal spreads
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1000):
        test, control = grouped(rng, 60, 0.5, n_classes=1), grouped(rng, 150, 0.5, n_classes=1, largest=1)
        result = control_test(test[0], control[0], groups_test=test[2], n_resamples=199, rng=rng)
        found += result.p_value <= 0.05
    assert found / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
def test_level_where_a_class_is_harder_inside_mixed_groups():
    """Groups of 1 to 6, class mixes .2 against .8; class 0 is harder in groups of both classes, in both sets alike."""
    rng = np.random.default_rng(0)

    def draw(share):
        sizes = rng.integers(1, 7, 200)
        codes = np.repeat(np.arange(200), sizes)
        classes = (rng.random(len(codes)) < share).astype(int)
        both = np.array([len(set(classes[codes == g])) > 1 for g in range(200)])[codes]
        return rng.normal(size=len(codes)) - 1.0 * (both & (classes == 0)), classes, codes

    found = 0
    for _ in range(400):
        test, control = draw(0.2), draw(0.8)
        result = control_test(
            test[0], control[0], classes_test=test[1], classes_control=control[1],
            groups_test=test[2], groups_control=control[2], n_resamples=199, rng=rng,
        )  # fmt: skip
        found += result.p_value <= 0.05
    assert found / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_groups_refused():
    with pytest.raises(InputError, match="`groups_test` has shape"):
        control_test([1.0, 2.0], [1.0, 3.0], groups_test=[1], rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="1 test and 2 control groups"):
        control_test([1.0, 2.0], [1.0, 3.0], groups_test=[1, 1], rng=np.random.default_rng(0))
