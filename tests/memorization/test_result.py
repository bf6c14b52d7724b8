"""Rankings that say which differences are real, and a result that comes back from its files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from heldout import InputError, MemorizationResult, label_noise_curve, perturbation_curve
from heldout.memorization.curve import Curve
from heldout.memorization.metrics import Estimate
from heldout.memorization.ranking import GAP, Column, Ranking, disagreements, joint_level, rank, rank_correlation
from heldout.memorization.result import Audited

STRENGTHS = np.arange(6.0)
MNIST = Path(__file__).resolve().parents[2].parent / "shared/data/mnist.npz"


def curve_of(model, correct, *, perturbation="spatial", strengths=STRENGTHS, even=True, seed=0):
    correct = np.asarray(correct, dtype=bool)
    correct = correct[:, None, :] if correct.ndim == 2 else correct
    return Curve(
        model=model, perturbation=perturbation, unit="pixels", strengths=np.asarray(strengths, dtype=float),
        correct=correct, done=np.ones(correct.shape[:2], dtype=bool), even=even, seed=seed,
    )  # fmt: skip


def falling(true_curve, n, rng):
    """(p, n) examples that fall one after the other, at a population's rates."""
    return rng.random(n)[None, :] < np.asarray(true_curve)[:, None]


@pytest.mark.parametrize("repeats", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("true", [[1.0, 0.9, 0.6, 0.5, 0.4, 0.35], [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]])
def test_models_that_are_alike_are_seldom_told_apart(rng, true, repeats):
    """All intervals of a metric hold at once 95 % of the time, so a false difference anywhere is rarer than that."""
    told = np.zeros(2)
    for repeat in range(repeats):
        curves = [curve_of(f"m{i}", falling(true, 300, rng), seed=repeat) for i in range(6)]
        for j, r in enumerate(MemorizationResult.of(curves).rankings):
            told[j] += any(r.surely(a, b) for a in r.models for b in r.models)
    assert (told / repeats <= 0.05 + 2 * (0.05 * 0.95 / repeats) ** 0.5).all()


def test_models_that_differ_are_told_apart(rng):
    steep, even = [1.0, 0.3, 0.3, 0.3, 0.3, 0.3], np.linspace(1, 0.3, 6)
    curves = [curve_of("even", falling(even, 1000, rng)), curve_of("steep", falling(steep, 1000, rng))]
    result = MemorizationResult.of(curves)
    for ranking in result.rankings:
        assert ranking.models == ("steep", "even")
        assert ranking.surely("steep", "even")
        assert ranking.ranks == ((1, 1), (2, 2))
    assert " > even " in str(result)
    assert result.disagreements == ()


def ranking(metric, memorised, **values):
    column = Column("spatial", metric, memorised)
    return rank(column, {m: Estimate(v, v - 0.05, v + 0.05) for m, v in values.items()})


def test_orders_and_places():
    high = ranking("k_max", "high", a=0.2, b=0.5, c=0.52)
    assert high.models == ("c", "b", "a")
    assert high.ranks == ((1, 2), (1, 2), (3, 3))
    assert str(high) == "c 0.5200 ~ b 0.5000 > a 0.2000"
    low = ranking("k_S", "low", a=0.2, b=0.5, c=0.52)
    assert low.models == ("a", "b", "c")
    assert rank_correlation(high, low) == pytest.approx(-1)
    found = disagreements([high, low])
    assert {(d.model, d.other) for d in found} == {("b", "a"), ("c", "a")}
    assert "c memorised more than a by spatial k_max (0.5200 against 0.2000), less by spatial k_S (0.5200" in str(
        found[0]
    )
    assert rank(Column("spatial", "k_max", "high"), {"a": Estimate(1, 1, 1), "b": Estimate.undefined("no")}) is None
    assert np.isnan(rank_correlation(ranking("k_max", "high", a=1, b=2), ranking("k_S", "low", a=1, b=2)))
    assert joint_level(1) == 0.95
    assert joint_level(10) ** 10 == pytest.approx(0.95)
    assert isinstance(high, Ranking)


def test_only_what_was_measured_alike_is_ranked(rng):
    """One model at fine and at coarse strengths has another largest step: that is no difference."""
    true = np.linspace(1, 0.2, 9)
    fine, coarse = falling(true, 500, rng), falling(true[::4], 500, rng)
    alike = [curve_of(name, falling(true, 500, rng), strengths=range(9)) for name in ("b", "c")]
    result = MemorizationResult.of([curve_of("a", coarse, strengths=[0, 4, 8]), *alike])
    assert all(set(r.models) == {"b", "c"} for r in result.rankings)
    assert "a was put to spatial at other strengths than b, c" in str(result)
    two = MemorizationResult.of([curve_of("a", coarse, strengths=[0, 4, 8]), curve_of("b", fine, strengths=range(9))])
    assert two.rankings == ()
    assert "not ranked" in str(two)


def test_a_gap_is_between_the_same_trainings(rng, digits):
    x, y = digits[0][:150], digits[1][:150]
    noise = label_noise_curve(
        KNeighborsClassifier(1), (x, y), [0, 0.4], repetitions=3, validation=(x[:50], y[:50]), name="m"
    )
    finished = curve_of("m", falling(np.linspace(1, 0.5, 6), 80, rng))
    one, two = (MemorizationResult.of(curves) for curves in ([finished, noise], [noise, finished]))
    assert one.estimate("m", GAP) == two.estimate("m", GAP)
    assert one.estimate("m", GAP).value == 0


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
        told += any(r.surely(a, b) for r in result.rankings for a in r.models for b in r.models)
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
    curves = [label_noise_curve(m, data, validation=fresh, name=name, n_jobs=2) for name, m in models.items()]
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
        assert r.surely("nearest neighbour", "logistic")
    printed = str(result)
    assert "nearest neighbour 0.0000 > logistic 0." in printed
    assert "nearest neighbour 1.0000 > logistic 0." in printed
    assert nearest[gap].value == pytest.approx(1 - result.validation["nearest neighbour"].mean())
    assert nearest[gap].low < nearest[gap].value < nearest[gap].high


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
    assert any("alone takes an accuracy of 1" in note for note in found.notes)
    assert any("trained 2 times" in note for note in found.notes)
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
    assert "2 trainings failed" in str(result)
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
    assert any("deterministic, or ignores its seed" in note for note in noted.notes)


@pytest.fixture(scope="module")
def mixed(digits):
    rng = np.random.default_rng(1)
    x, y = digits[0][:200].reshape(-1, 8, 8), digits[1][:200]
    curves = []
    for name, model in (("a", LogisticRegression(C=0.01)), ("b", KNeighborsClassifier(1))):
        model.fit(x.reshape(200, -1), y)
        for way, strengths in (("spatial", [0, 0.25, 0.5]), ("fog", None)):
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
    assert str(back) == str(mixed)
    assert back.to_dict() == mixed.to_dict()
    for one, two in zip(mixed.curves, back.curves, strict=True):
        np.testing.assert_array_equal(one.correct, two.correct)
        np.testing.assert_array_equal(one.exhibits.pictures, two.exhibits.pictures)
    assert json.loads((tmp_path / "result.json").read_text()) == mixed.to_dict()
    for name in ("result.npz", "result.json", ""):
        assert str(MemorizationResult.load(tmp_path / name)) == str(mixed)
    with pytest.raises(InputError, match="does not exist"):
        MemorizationResult.load(tmp_path / "nothing")
    np.savez(tmp_path / "other.npz", record=np.array("{}"))
    with pytest.raises(InputError, match="not a saved measurement"):
        MemorizationResult.load(tmp_path / "other")


def test_what_is_printed_and_what_is_json(mixed):
    printed = str(mixed)
    for words in (
        "a note",
        "p = 0.03, mean T = +0.0100, detectable 0.0200",
        "fog k_max",
        "not equal",
        "gap (larger means more memorised)",
    ):
        assert words in printed
    assert max(map(len, printed.splitlines())) <= 118
    plain = mixed.to_dict()
    spatial = plain["models"]["b"]["perturbations"]["spatial"]
    assert [point["strength"] for point in spatial["curve"]] == [0, 0.25, 0.5]
    assert spatial["metrics"]["k_max"]["value"] == mixed.table["b"][mixed.columns[0]].value
    assert plain["models"]["a"]["perturbations"]["fog"]["metrics"]["SSE"]["value"] is None
    assert "reason" in plain["models"]["a"]["perturbations"]["fog"]["metrics"]["SSE"]
    assert plain["models"]["b"]["audit"]["p_value"] == 0.03
    assert {r["metric"] for r in plain["rankings"]} == {"k_max", "SSE"}


def test_no_verdict_without_a_number(mixed):
    """Every line that says memorised has a number, or tells how to read the numbers under it."""
    for line in str(mixed).splitlines():
        if "memorised" in line and "means more memorised" not in line and "most memorised first" not in line:
            assert any(ch.isdigit() for ch in line)


def test_bad_results(rng):
    with pytest.raises(InputError, match="no curve"):
        MemorizationResult(curves=())
    twice = curve_of("a", falling(np.linspace(1, 0.5, 6), 50, rng))
    with pytest.raises(InputError, match="two curves"):
        MemorizationResult.of([twice, twice])


def test_uneven_strengths_have_no_steps(rng):
    uneven = curve_of("a", falling([1, 0.8, 0.5], 100, rng), strengths=[0, 1, 5])
    assert "not equally far apart" in uneven.estimates["k_max"].reason
    slopes = curve_of("a", falling([1, 0.8, 0.5], 100, rng), strengths=[0, 0.1, 0.5], perturbation="ptv")
    assert slopes.estimates["k_PTV"].value > 0  # a slope does not mind
