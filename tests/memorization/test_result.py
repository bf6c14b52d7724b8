"""Rankings that say which differences are significant, and a result that comes back from its files."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from heldout import InputError, MemorizationResult, label_noise_curve, perturbation_curve
from heldout.memorization.curve import Curve
from heldout.memorization.metrics import Estimate
from heldout.memorization.models import Unranked
from heldout.memorization.ranking import GAP, Column, Ranking, disagreements, rank, rank_correlation
from heldout.memorization.result import Audited

STRENGTHS = np.arange(6.0)
MNIST = Path(__file__).resolve().parents[2].parent / "shared/data/mnist.npz"


def curve_of(model, correct, *, perturbation="spatial", strengths=STRENGTHS, even=True, seed=0, **others):
    correct = np.asarray(correct, dtype=bool)
    correct = correct[:, None, :] if correct.ndim == 2 else correct
    return Curve.of(
        model=model, perturbation=perturbation, unit="pixels", strengths=np.asarray(strengths, dtype=float),
        correct=correct, done=np.ones(correct.shape[:2], dtype=bool), even=even, seed=seed, **others,
    )  # fmt: skip


def test_a_model_that_is_perturbed_is_there_at_every_strength():
    done = np.ones((6, 2), dtype=bool)
    done[2, 1] = False
    given = {"model": "net", "unit": "", "strengths": STRENGTHS, "correct": np.ones((6, 2, 9), bool), "even": True}
    with pytest.raises(InputError, match="'spatial' differs from strength to strength"):
        Curve.of(perturbation="spatial", done=done, seed=0, **given)
    assert Curve.of(perturbation="pmv", done=done, seed=0, **given).trainings == 11  # those of label noise may fail
    done[2] = False
    assert Curve.of(perturbation="spatial", done=done, seed=0, **given).used.sum() == 5


def falling(true_curve, n, rng):
    """(p, n) examples that fall one after the other, at a population's rates."""
    return rng.random(n)[None, :] < np.asarray(true_curve)[:, None]


def alike(true_curves, n, rng, likeness):
    """(p, n) for each model: examples that are easy for one are easy for the others, the more so the more alike."""
    common = rng.standard_normal(n)
    ease = [ndtr(likeness**0.5 * common + (1 - likeness) ** 0.5 * rng.standard_normal(n)) for _ in true_curves]
    return [u[None] < np.asarray(true)[:, None] for u, true in zip(ease, true_curves, strict=True)]


def told_apart(true_curves, n, rng, *, likeness, repeats, examples="shared"):
    """(k_max, SSE) how often any two models are said to differ."""
    told = np.zeros(2)
    for repeat in range(repeats):
        drawn = alike(true_curves, n, rng, likeness)
        curves = [curve_of(f"m{i}", c, seed=repeat, examples=examples, strengths=range(len(c)))
                  for i, c in enumerate(drawn)]  # fmt: skip
        told += [bool(r.significant) for r in MemorizationResult.of(curves).rankings]
    return told / repeats


EQUAL = {
    "sudden": [1.0, 0.95, 0.45, 0.4, 0.35, 0.3],
    "straight": np.linspace(1, 0.2, 9),
    "three equal steps": [1, 0.8, 0.6, 0.4, 0.4, 0.4, 0.4, 0.4],
    "two nearly equal steps": [1, 0.7, 0.42, 0.2, 0.1, 0.05],
    "early": [0.99, 0.7, 0.5, 0.4, 0.35, 0.3, 0.28],
    "level": np.full(9, 0.97),
}


@pytest.mark.parametrize(
    ("true", "likeness"), [("level", 0.0), pytest.param("sudden", 0.9, marks=pytest.mark.slow)]
)  # all: at length
def test_models_that_are_alike_are_seldom_told_apart(rng, true, likeness):
    """Equal true curves, shared examples, six models: family-wise, any ">" is rarer than 5 %."""
    assert (told_apart([EQUAL[true]] * 6, 300, rng, likeness=likeness, repeats=25) <= 0.16).all()


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 5])
@pytest.mark.parametrize(("n", "likeness"), [(200, 0.5), (1000, 0.0), (1000, 0.9)])
@pytest.mark.parametrize("true", list(EQUAL))
def test_models_that_are_alike_at_length(rng, true, n, likeness, models):
    repeats = 500 if models == 2 else 100
    told = told_apart([EQUAL[true]] * models, n, rng, likeness=likeness, repeats=repeats)
    assert (told <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5).all()


def trained(rng, ease, s, between):
    """(6, s, n) trainings of one method: how far each has fallen at a strength differs from training to training."""
    far = 0.9 + between * rng.standard_normal((s, 1)) + 0.5 * (0.8 * ease + 0.6 * rng.standard_normal((s, len(ease))))
    return (np.exp(far) > np.arange(6.0)[:, None, None]) & (rng.random((s, len(ease))) < 0.97)


@pytest.mark.slow
@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_trainings_of_one_method(s):
    """Several cover what the method comes to, and equal methods are seldom told apart; one speaks of itself alone."""
    rng, repeats, between = np.random.default_rng(s), 100, 0.15
    true = np.mean([trained(rng, rng.standard_normal(1000), 100, between).mean(axis=(1, 2)) for _ in range(30)], axis=0)
    steepest, covered, told = np.abs(np.diff(true)).max(), 0, np.zeros(2)
    for _ in range(repeats):
        ease = rng.standard_normal(400)
        curves = [
            curve_of(name, trained(rng, ease, s, between), examples="shared", strengths=range(6)) for name in ("a", "b")
        ]
        found = curves[0].estimates["k_max"]
        covered += found.low <= steepest <= found.high
        told += [bool(r.significant) for r in MemorizationResult.of(curves).rankings]
    if s == 1:
        assert covered < 0.85 * repeats
        assert (told > 0.15 * repeats).all()
    else:
        assert covered >= 0.93 * repeats
        assert (told <= 0.1 * repeats).all()


@pytest.mark.slow
def test_equal_metrics_of_unequal_curves_are_seldom_told_apart(rng):
    """Both have a largest step of 0.4, at different strengths, so that what examples have in common does not cancel."""
    curves = [[1, 0.6, 0.5, 0.4, 0.4, 0.4], [1, 0.9, 0.8, 0.4, 0.3, 0.3]]
    told = [told_apart(curves, 500, rng, likeness=likeness, repeats=150)[0] for likeness in (0.0, 0.9)]
    assert max(told) <= 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.parametrize("likeness", [pytest.param(0.7, marks=pytest.mark.slow), 0.9])
def test_pairs_tell_more_than_intervals(rng, likeness):
    """k_max 0.50 against 0.56 on the same 1,000 examples: told apart nine times in ten at least; unpaired, less."""
    curves = [[1, 0.95, 0.39, 0.3, 0.25, 0.2], [1, 0.95, 0.45, 0.36, 0.28, 0.2]]
    assert told_apart(curves, 1000, rng, likeness=likeness, repeats=60)[0] >= 0.9
    assert told_apart(curves, 1000, rng, likeness=likeness, repeats=60, examples="")[0] < 0.9


@pytest.mark.parametrize("s", [2, 3])
def test_the_order_of_finished_networks_says_nothing(rng, s):
    """Those of one method have nothing to do with those of another, so that any may be listed beside any."""
    told = set()
    for _ in range(12):
        ease, found = rng.standard_normal(300), set()
        one, two = (trained(rng, ease, s, 0.1) for _ in range(2))
        two &= rng.random(two.shape) < 0.8
        fresh, other = rng.random((s, 150)) < 0.9, rng.random((s, 150)) < 0.6
        for order in map(list, itertools.permutations(range(s))):
            curves = [curve_of("a", one, examples="x"), curve_of("b", two[:, order], examples="x")]
            result = MemorizationResult.of(
                curves, validation={"a": fresh, "b": other[order]}, validation_examples={"a": "y", "b": "y"}
            )
            found.add(tuple(bool(r.significant) for r in result.rankings))
        assert len(found) == 1
        told |= found
    assert len(told) > 1  # some are told apart, and some not


def test_a_network_that_failed_hides_none_of_another_model(rng):
    """Wherever it is listed, and whether it is listed at all."""
    told = set()
    for _ in range(12):
        ease, found = rng.standard_normal(300), set()
        one, two = (trained(rng, ease, 5, 0.05) for _ in range(2))
        two &= rng.random(two.shape) < 0.8
        other = curve_of("b", two, examples="x")
        for place in (0, 2, 4, None):
            right = one[:, :4] if place is None else np.insert(one[:, :4], place, False, axis=1)
            done = np.tile(np.arange(right.shape[1]) != place, (len(right), 1))
            curve = Curve.of(
                model="a", perturbation="spatial", unit="pixels", strengths=STRENGTHS, correct=right, done=done,
                even=True, seed=0, examples="x",
            )  # fmt: skip
            result = MemorizationResult.of([curve, other])
            assert result.unpaired == ()
            found.add(tuple(bool(r.significant) for r in result.rankings))
        assert len(found) == 1
        told |= found
    assert len(told) > 1  # some are told apart, and some not


def test_identical_models_are_the_same(rng):
    right = falling(EQUAL["sudden"], 500, rng)
    result = MemorizationResult.of([curve_of(name, right, examples="shared") for name in "abc"])
    assert all(not r.significant for r in result.rankings)
    assert all(e.ranks == (1, 3) for r in result.rankings for e in r.most_memorised_first)
    assert result.unpaired == ()


def test_who_is_not_compared_in_pairs_is_named(rng):
    one, two = (falling(EQUAL["sudden"], 300, rng) for _ in range(2))
    named = [curve_of("a", one, examples="x"), curve_of("b", two, examples="y")]
    assert MemorizationResult.of(named).unpaired == (("a", "b"),)
    groups = np.arange(300) // 3
    apart = [curve_of("a", one, examples="x"), curve_of("b", two, examples="x", groups=groups)]
    assert MemorizationResult.of(apart).unpaired == (("a", "b"),)


def test_label_noise_is_compared_in_pairs(digits):
    """Both methods see the same wrong labels; the comparison is of their differences, and a copy is the same."""
    data = digits[0][:400], digits[1][:400]
    rates = [0, 0.2, 0.4]
    curves = [
        label_noise_curve(KNeighborsClassifier(k), data, rates, repetitions=3, name=name, check_seed=False)
        for name, k in (("five", 5), ("seven", 7), ("copy", 7))
    ]
    assert (curves[0].pmv.wrong == curves[1].pmv.wrong).all()
    result = MemorizationResult.of(curves)
    assert result.unpaired == ()
    for r in result.rankings:
        assert not r.differs("seven", "copy")
        assert not r.differs("copy", "seven")
    ptv = next(r for r in result.rankings if r.column.metric == "k_PTV")
    assert ptv.models[0] == "five"
    other = label_noise_curve(
        KNeighborsClassifier(7), data, rates, repetitions=3, name="other", seed=1, check_seed=False
    )
    assert MemorizationResult.of([curves[0], other]).unpaired  # other wrong labels


@pytest.mark.slow
@pytest.mark.parametrize("between", [0.0, 0.03])
def test_label_noise_of_equal_methods_at_length(rng, between):
    """Trainings of both on the same wrong labels; each method with easy examples and trainings of its own."""
    told, repeats, n, rates = 0, 400, 200, np.array([0, 0.2, 0.4])
    for repeat in range(repeats):
        wrong = np.zeros((3, 5, n), dtype=bool)
        for i, j in np.ndindex(3, 5):
            wrong[i, j, rng.permutation(n)[: round(rates[i] * n)]] = True
        common, curves = rng.standard_normal(n), []
        for name in "abc":
            ease = ndtr((common + rng.standard_normal(n)) / 2**0.5)
            falls = rng.random(wrong.shape) < 0.2 + 0.6 * ease + rng.normal(0, between, (3, 5, 1))
            right = np.where(wrong, ~falls, rng.random(wrong.shape) < 0.9)
            curves.append(curve_of(name, right, perturbation="ptv", strengths=rates, wrong=wrong, examples="x"))
        told += bool(MemorizationResult.of(curves, seed=repeat).rankings[0].significant)
    assert told / repeats <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5


def test_a_method_that_does_not_fit(digits):
    """GaussianNB breaks down under wrong labels: said, and not ranked; a full tree is at the memorised end."""
    methods = {
        "bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(),
        "nearest": KNeighborsClassifier(1),
        "linear": LogisticRegression(C=0.01, max_iter=300),
    }
    rates = [0, 0.25, 0.5]
    curves = {
        name: label_noise_curve(m, digits, rates, repetitions=4, name=name, check_seed=False)
        for name, m in methods.items()
    }
    assert [name for name, c in curves.items() if c.ptv.unfit is not None] == ["bayes"]
    bayes = curves["bayes"]
    clean, last = bayes.pmv.accuracy[0], bayes.pmv.accuracy[2]
    assert last < 0.8 * 0.5 * clean
    for number in (last, 0.5 * clean, last / (0.5 * clean)):
        assert f" {number:.2f} " in bayes.ptv.unfit.replace("(", " ")
    result = MemorizationResult.of(list(curves.values()))
    for r in result.rankings:
        assert set(r.models) == {"tree", "nearest", "linear"}
        assert set(r.models[:2]) == {"tree", "nearest"}
        assert r.differs("tree", "linear")
    assert result.unfit == (bayes.ptv.unfit,)
    assert result.to_dict()["models"]["bayes"]["perturbations"]["ptv"]["does_not_fit"] == bayes.ptv.unfit
    assert result.unranked == ()
    stump = label_noise_curve(DecisionTreeClassifier(max_depth=1), digits, rates, repetitions=1, check_seed=False)
    assert f" {stump.pmv.accuracy[0]:.2f} " in stump.pmv.unfit


def test_whether_a_method_fits_is_not_told_without_rate_0(digits):
    """Its accuracy without noise was taken as 1 there, so that a method that fits was called one that does not."""
    alone = label_noise_curve(GaussianNB(), digits, [0.5], repetitions=1, check_seed=False, name="bayes")
    nearest = label_noise_curve(KNeighborsClassifier(1), digits, [0.5], repetitions=1, check_seed=False)
    assert alone.pmv.accuracy[0] < 0.8 * 0.5
    result = MemorizationResult.of([alone, nearest])
    assert result.unfit == ()
    assert {model for r in result.rankings for model in r.models} == {"bayes", "KNeighborsClassifier"}
    unknown = [note for note in alone.notes if "whether a method fits its labels cannot be told" in note]
    assert len(unknown) == 1
    assert f"bayes and KNeighborsClassifier: {unknown[0].removeprefix('bayes: ')}" in result.remarks
    whole = label_noise_curve(KNeighborsClassifier(1), digits, [0, 0.5], repetitions=1, check_seed=False)
    assert not any("whether a method fits" in note for note in whole.notes)


def test_groups_of_examples(digits, rng):
    """Five copies of each example say no more than one; few groups are warned of; groups of one change nothing."""
    right = falling(EQUAL["sudden"], 200, rng)
    alone = curve_of("a", right)
    ones = curve_of("a", right, groups=np.arange(200))
    copies = curve_of("a", np.repeat(right, 5, axis=1), groups=np.repeat(np.arange(200), 5))
    blind = curve_of("a", np.repeat(right, 5, axis=1))
    for name in ("k_max", "SSE"):
        a, b, c, d = (x.estimates[name] for x in (alone, ones, copies, blind))
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=1e-9)
        assert (c.low, c.high) == pytest.approx((a.low, a.high), abs=0.01)
        assert d.high - d.low < 0.6 * (c.high - c.low)
    assert copies.design_effect == pytest.approx(5, rel=0.02)
    assert (copies.n, copies.units, copies.to_dict()["groups"]) == (1000, 200, 200)
    x, y = digits[0][:120], digits[1][:120]
    noise = label_noise_curve(KNeighborsClassifier(5), (x, y), [0, 0.4], groups=np.arange(120) // 2, repetitions=2)
    assert noise.pmv.units == noise.ptv.units == 60
    with pytest.raises(InputError, match="one group for each of the 120 examples"):
        label_noise_curve(KNeighborsClassifier(5), (x, y), [0, 0.4], groups=[1, 2], repetitions=1)


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_groups_keep_the_level_at_length(rng, share):
    """Groups of 1 to 20 that are alike: intervals hold, and equal models are seldom told apart; 40 groups."""
    true, repeats = np.array(EQUAL["sudden"]), 400
    inside = told = 0
    for repeat in range(repeats):
        codes = np.repeat(np.arange(40), rng.integers(1, 21, 40))
        n, curves = len(codes), []
        common = rng.standard_normal(40)[codes]
        for name in "ab":
            own = share**0.5 * rng.standard_normal(40)[codes] + (1 - share) ** 0.5 * rng.standard_normal(n)
            right = ndtr((common + own) / 2**0.5)[None] < true[:, None]
            curves.append(curve_of(name, right, seed=repeat, examples="x", groups=codes))
        found = curves[0].estimates["k_max"]
        inside += found.low <= 0.5 <= found.high
        told += any(r.significant for r in MemorizationResult.of(curves).rankings[:1])
    assert inside / repeats >= 0.95 - 3 * (0.05 * 0.95 / repeats) ** 0.5
    assert told / repeats <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5


def test_models_that_differ_are_told_apart(rng):
    steep, even = [1.0, 0.3, 0.3, 0.3, 0.3, 0.3], np.linspace(1, 0.3, 6)
    curves = [curve_of("even", falling(even, 1000, rng)), curve_of("steep", falling(steep, 1000, rng))]
    result = MemorizationResult.of(curves)
    for ranking in result.rankings:
        assert ranking.models == ("steep", "even")
        assert ranking.differs("steep", "even")
        assert [e.ranks for e in ranking.most_memorised_first] == [(1, 1), (2, 2)]
    assert result.disagreements == ()


def ranking(metric, memorised, **values):
    column = Column("spatial", metric, memorised)
    estimates = {m: Estimate(v, v - 0.05, v + 0.05) for m, v in values.items()}
    return rank(column, estimates, lambda a, b, tail: values[a] - values[b] > 0.1)


def test_orders_and_places():
    high = ranking("k_max", "high", a=0.2, b=0.5, c=0.52)
    assert high.models == ("c", "b", "a")
    assert [e.ranks for e in high.most_memorised_first] == [(1, 2), (1, 2), (3, 3)]
    assert high.significant == (("b", "a"), ("c", "a"))
    low = ranking("k_S", "low", a=0.2, b=0.5, c=0.52)
    assert low.models == ("a", "b", "c")
    assert rank_correlation(high, low) == pytest.approx(-1)
    found = disagreements([high, low])
    assert {d.models for d in found} == {("b", "a"), ("c", "a")}
    assert found[0].to_dict() == {
        "by": ["spatial k_max", "spatial k_S"], "models": ["c", "a"], "values": [[0.52, 0.2], [0.52, 0.2]],
    }  # fmt: skip
    lone = {"a": Estimate(1, 1, 1), "b": Estimate.undefined("no")}
    assert rank(Column("spatial", "k_max", "high"), lone, lambda a, b, tail: True) is None
    assert np.isnan(rank_correlation(ranking("k_max", "high", a=1, b=2), ranking("k_S", "low", a=1, b=2)))
    shares = []
    rank(high.column, {m: Estimate(i, 0, 9) for i, m in enumerate("abcd")}, lambda a, b, tail: shares.append(tail))
    assert shares == pytest.approx([0.05 / 12] * 6)  # Bonferroni: six pairs, either way round
    assert isinstance(high, Ranking)


def test_only_what_was_measured_alike_is_ranked(rng):
    """One model at fine and at coarse strengths has another largest step: that is no difference."""
    true = np.linspace(1, 0.2, 9)
    fine, coarse = falling(true, 500, rng), falling(true[::4], 500, rng)
    alike = [curve_of(name, falling(true, 500, rng), strengths=range(9)) for name in ("b", "c")]
    result = MemorizationResult.of([curve_of("a", coarse, strengths=[0, 4, 8]), *alike])
    assert all(set(r.models) == {"b", "c"} for r in result.rankings)
    assert result.unranked == (Unranked("spatial", ("a",), ("b", "c")),)
    two = MemorizationResult.of([curve_of("a", coarse, strengths=[0, 4, 8]), curve_of("b", fine, strengths=range(9))])
    assert two.rankings == ()
    assert two.unranked == (Unranked("spatial", ("b",), ("a",)),)


def test_a_gap_is_between_the_same_trainings(rng, digits):
    x, y = digits[0][:150], digits[1][:150]
    noise = label_noise_curve(
        KNeighborsClassifier(1), (x, y), [0, 0.4], repetitions=3, validation=(x[:50], y[:50]), name="m"
    )
    finished = curve_of("m", falling(np.linspace(1, 0.5, 6), 80, rng))
    one, two = (MemorizationResult.of(curves) for curves in ([finished, noise], [noise, finished]))
    assert one.measured["m"].gap == two.measured["m"].gap
    assert one.table["m"][GAP].value == 0


@pytest.mark.parametrize("seeds", [2, 5])
def test_few_trainings_are_not_told_apart(rng, seeds):
    """Alike but for their trainings, of which there are few: no false difference in label noise, nor in the gap."""
    told = 0
    for repeat in range(20):
        curves, validation = [], {}
        for name in "abcd":
            off = rng.normal(0, 0.03, (2, seeds))
            right = rng.random((2, seeds, 150)) < (np.array([0.9, 0.7])[:, None] + off)[:, :, None]
            curves.append(curve_of(name, right, perturbation="ptv", strengths=[0, 0.5], seed=repeat))
            validation[name] = rng.random((seeds, 150)) < (0.8 + rng.normal(0, 0.03, seeds))[:, None]
        result = MemorizationResult.of(curves, validation=validation, seed=repeat)
        told += any(r.differs(a, b) for r in result.rankings for a in r.models for b in r.models)
    assert told <= 4  # twice 5 % of 20, and two standard errors


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    return x / 16, y


def test_the_digits(digits):
    """1-NN memorises everything: k_S = 0, k_PTV = 1; a stiff linear model learns; and the ranking says so."""
    x, y = digits
    data, fresh = (x[:1200], y[:1200]), (x[1200:], y[1200:])
    models = {"nearest neighbour": KNeighborsClassifier(1), "logistic": LogisticRegression(C=0.01, max_iter=300)}
    curves = [label_noise_curve(m, data, validation=fresh, name=name) for name, m in models.items()]
    result = MemorizationResult.of(curves, source="digits")
    k_s, k_ptv, gap = result.columns
    assert (k_s.title, k_ptv.title, gap) == ("PMV k_S", "PTV k_PTV", GAP)
    nearest, logistic = result.table["nearest neighbour"], result.table["logistic"]
    assert nearest[k_s].value == 0
    assert nearest[k_ptv].value == pytest.approx(1, abs=1e-12)
    clean = float(result.curve("logistic", "ptv").accuracy.mean())
    assert logistic[k_s].value == pytest.approx(clean - (1 - clean) / 9, abs=0.1)  # the design's limit
    assert logistic[k_s].value > 0.85
    assert logistic[k_ptv].value < 0.2
    for r in result.rankings[:2]:
        assert r.models[0] == "nearest neighbour"
        assert r.differs("nearest neighbour", "logistic")
    assert nearest[gap].value == pytest.approx(1 - result.measured["nearest neighbour"].validation_accuracy)
    assert nearest[gap].low < nearest[gap].value < nearest[gap].high


@pytest.mark.slow
@pytest.mark.skipif(not MNIST.exists(), reason="shared/data/mnist.npz is not there")
def test_mnist():
    with np.load(MNIST) as f:
        x, y = f["x_train"][:3000].reshape(3000, -1) / 255, f["y_train"][:3000]
    rates = (0.0, 0.25, 0.5)  # fewer trainings than the default's thirty, the same slopes
    nearest = label_noise_curve(KNeighborsClassifier(1), (x, y), rates, repetitions=1, check_seed=False)
    assert nearest.pmv.estimates["k_S"].value == pytest.approx(0, abs=0.01)
    assert nearest.ptv.estimates["k_PTV"].value == pytest.approx(1, abs=0.01)
    stiff = LogisticRegression(C=0.01, max_iter=200)
    learned = label_noise_curve(stiff, (x, y), rates, repetitions=2, n_jobs=2, check_seed=False)
    assert learned.pmv.estimates["k_S"].value > 0.85
    assert learned.ptv.estimates["k_PTV"].value < 0.2


def test_one_rate(digits):
    """PTV from one rate is (1 - A) / r; PMV has no slope then."""
    x, y = digits
    found = label_noise_curve(KNeighborsClassifier(1), (x[:300], y[:300]), [0.4], repetitions=2)
    assert found.ptv.estimates["k_PTV"].value == pytest.approx(1)
    assert "one rate has no slope" in found.pmv.estimates["k_S"].reason
    assert (found.ptv.assumed, found.pmv.assumed) == (True, False)
    assert len(found.notes) == 3  # of the assumption, of what it leaves open, and of few trainings
    learned = label_noise_curve(LogisticRegression(C=0.01), (x[:300], y[:300]), [0.4], repetitions=1)
    accuracy = learned.ptv.accuracy[1]
    assert learned.ptv.estimates["k_PTV"].value == pytest.approx((1 - accuracy) / 0.4)
    assert MemorizationResult.of([learned]).table["LogisticRegression"]


class Fails:
    """Fails at one rate."""

    def __init__(self, truth):
        self.truth = truth

    def __call__(self, x, y, seed):
        if 0.15 < (y != self.truth).mean() < 0.25:
            raise RuntimeError("diverged")
        return KNeighborsClassifier(1).fit(x, y)


def test_a_failed_rate_is_left_out(digits):
    x, y = digits[0][:300], digits[1][:300]
    found = label_noise_curve(Fails(y), (x, y), [0, 0.2, 0.4], repetitions=2, name="mine")
    assert found.ptv.estimates["k_PTV"].value == pytest.approx(1)
    assert np.isnan(found.ptv.accuracy[1])
    assert len(found.failures) == 2
    assert found.failures[0].startswith("mine, rate 0.2, repetition 0: RuntimeError: diverged")
    result = MemorizationResult.of([found])
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["failures"] == list(found.failures)
    with pytest.raises(InputError, match="every training failed"):
        label_noise_curve(lambda x, y, seed: 1 / 0, (x, y), [0, 0.2], repetitions=1)


def test_equal_seeds_give_equal_curves(digits):
    x, y = digits[0][:400], digits[1][:400]
    model = LogisticRegression(C=0.1, max_iter=200)
    one, two = (label_noise_curve(model, (x, y), [0, 0.3], repetitions=2, seed=7, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.pmv.correct, two.pmv.correct)
    np.testing.assert_array_equal(one.ptv.correct, two.ptv.correct)
    assert one.pmv.estimates == two.pmv.estimates
    other = label_noise_curve(model, (x, y), [0, 0.3], repetitions=2, seed=8)
    assert (other.pmv.correct != one.pmv.correct).any()


def unseeded(x, y, seed):
    answers = y.copy()
    answers[np.random.default_rng().integers(0, len(y), 20)] = 0
    return lambda z: answers


def test_a_training_that_ignores_its_seed(digits):
    x, y = digits[0][:200], digits[1][:200]
    with pytest.raises(InputError, match="ignores its seed"):
        label_noise_curve(unseeded, (x, y), [0, 0.3], repetitions=1)
    allowed = label_noise_curve(unseeded, (x, y), [0, 0.3], repetitions=1, check_seed=False)
    assert allowed.pmv.accuracy[0] < 1

    def always_the_same(x, y, seed):
        return LogisticRegression(C=0.01).fit(x, y)

    noted = label_noise_curve(always_the_same, (x, y), [0, 0.3], repetitions=2)
    assert len(noted.notes) == 2  # of few trainings, and of the seed


@pytest.fixture(scope="module")
def mixed(digits):
    rng = np.random.default_rng(1)
    x, y = digits[0][:200].reshape(-1, 8, 8), digits[1][:200]
    curves = []
    for name, model in (("a", LogisticRegression(C=0.01)), ("b", KNeighborsClassifier(1))):
        model.fit(x.reshape(200, -1), y)
        for way, strengths in (("spatial", [0, 1, 2]), ("fog", None)):
            curves.append(perturbation_curve(model, (x, y), way, strengths, name=name, pixel_range=(0, 1)))
    return MemorizationResult.of(
        curves,
        validation={"a": rng.random((1, 50)) < 0.8},
        audits={"b": Audited(p_value=0.03, mean=0.01, detectable_effect=0.02)},
        source="digits",
        notes=["a note"],
        class_names=tuple("0123456789"),
    )


def test_a_result_comes_back(mixed, tmp_path):
    mixed.save(tmp_path / "result")
    back = MemorizationResult.load(tmp_path / "result")
    assert back == mixed
    assert (back.to_dict(), str(back), back.html()) == (mixed.to_dict(), str(mixed), mixed.html())
    assert json.loads((tmp_path / "result.json").read_text()) == mixed.to_dict()
    for name in ("result.npz", "result.json", ""):
        assert MemorizationResult.load(tmp_path / name) == mixed
    with pytest.raises(InputError, match="does not exist"):
        MemorizationResult.load(tmp_path / "nothing")
    np.savez(tmp_path / "other.npz", record=np.array("{}"))
    with pytest.raises(InputError, match="another version"):
        MemorizationResult.load(tmp_path / "other")
    np.savez(tmp_path / "old.npz", record=np.array(json.dumps({"format": 2, "curves": []})))
    with pytest.raises(InputError, match="saved by another version of heldout"):
        MemorizationResult.load(tmp_path / "old")


def test_a_grouped_result_comes_back(digits, tmp_path):
    x, y = digits[0][:120], digits[1][:120]
    curves = [
        label_noise_curve(
            KNeighborsClassifier(k), (x, y), [0, 0.3], repetitions=2, name=f"k{k}", groups=np.arange(120) // 3,
            validation=(x[:50], y[:50]), validation_groups=np.arange(50) // 2,
        )
        for k in (1, 5)
    ]  # fmt: skip
    result = MemorizationResult.of(curves)
    assert result.unpaired == ()
    result.save(tmp_path / "kept")
    assert MemorizationResult.load(tmp_path / "kept") == result


def test_what_is_json(mixed):
    plain = mixed.to_dict()
    spatial = plain["models"]["b"]["perturbations"]["spatial"]
    assert [point["strength"] for point in spatial["curve"]] == [0, 1, 2]
    assert spatial["metrics"]["k_max"]["value"] == mixed.table["b"][mixed.columns[0]].value
    assert plain["models"]["a"]["perturbations"]["fog"]["metrics"]["SSE"]["value"] is None
    assert "reason" in plain["models"]["a"]["perturbations"]["fog"]["metrics"]["SSE"]
    assert plain["models"]["b"]["audit"] == {"p_value": 0.03, "mean_T": 0.01, "detectable_effect": 0.02}
    assert {r["metric"] for r in plain["rankings"]} == {"k_max", "SSE"}


def test_bad_results(rng):
    with pytest.raises(InputError, match="is empty"):
        MemorizationResult.of([])
    twice = curve_of("a", falling(np.linspace(1, 0.5, 6), 50, rng))
    with pytest.raises(InputError, match="two curves"):
        MemorizationResult.of([twice, twice])


def test_uneven_strengths_have_no_steps(rng):
    uneven = curve_of("a", falling([1, 0.8, 0.5], 100, rng), strengths=[0, 1, 5])
    assert "not equally far apart" in uneven.estimates["k_max"].reason
    slopes = curve_of("a", falling([1, 0.8, 0.5], 100, rng), strengths=[0, 0.1, 0.5], perturbation="ptv")
    assert slopes.estimates["k_PTV"].value > 0  # a slope does not mind


RIGHT = np.ones((1, 50), dtype=bool)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"validation": {"aa": RIGHT}}, "`validation` has 'aa', which no curve is of; the curves are of 'a', 'b'"),
        ({"validation_examples": {"aa": "x"}}, "`validation_examples` has 'aa'"),
        ({"validation_groups": {"aa": np.arange(50)}}, "`validation_groups` has 'aa'"),
        ({"audits": {"aa": Audited(p_value=0.03, mean=0.01, detectable_effect=0.02)}}, "`audits` has 'aa'"),
        ({"validation": {"a": RIGHT[0]}}, r"`validation` of 'a' has the shape \(50,\)"),
        ({"validation": {"a": RIGHT[:, :0]}}, r"has the shape \(1, 0\)"),
        ({"validation": {"a": RIGHT * 0.5}}, "the type float64; .* True and False"),
        ({"validation": {"a": np.tile(RIGHT, (3, 1))}}, "is of 3 trainings, and its curves without noise are of 1;"),
        (
            {"validation": {"a": RIGHT, "b": RIGHT[:, :49]}, "validation_examples": {"a": "x", "b": "x"}},
            "of 'a' and 'b' are the same, but `validation` has 50 and 49 of them",
        ),
        (
            {"validation": {"a": RIGHT}, "validation_groups": {"a": np.arange(49)}},
            r"`validation_groups` of 'a' has the shape \(49,\); give one group for each of the 50",
        ),
    ],
)
def test_validation_that_fits_no_model(rng, given, words):
    """Names that no model has were left out in silence; other shapes ended in an IndexError, or in no gap."""
    curves = [curve_of(name, falling(EQUAL["sudden"], 50, rng)) for name in "ab"]
    with pytest.raises(InputError, match=words):
        MemorizationResult.of(curves, **given)
    zeros_and_ones = MemorizationResult.of(curves, validation={"a": RIGHT.astype(int)}).measured["a"]
    assert zeros_and_ones.gap == MemorizationResult.of(curves, validation={"a": RIGHT}).measured["a"].gap
