"""`stress` as a whole: the issue's figures, equal bits on any number of workers, the bound nobody passes."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import heldout
from heldout.attack import kernels
from heldout.attack import queries as queries_module
from heldout.attack.bounds import (
    corollary_4_6_applies,
    determined_labels,
    exact_accuracy_bound,
    information,
    possible_answers,
    prior_accuracy_bound,
    reconstructable,
    theorem_4_5_queries,
)
from heldout.attack.result import Noticed, StressResult
from heldout.attack.stress import stress
from heldout.attack.task import ATTACKS
from heldout.checkpoints import Checkpoint
from heldout.errors import InputError


@pytest.mark.parametrize(
    ("m", "k", "trials", "accuracy", "tolerance"),
    [(2, 1000, 20, 0.622, 0.004), (10, 1000, 20, 0.161, 0.004), (100, 5000, 4, 0.048, 0.002)],
)
def test_the_design_s_figures(m, k, trials, accuracy, tolerance):
    result = stress(10_000, m, queries=k, trials=trials)
    assert result.accuracy == pytest.approx(accuracy, abs=tolerance)
    assert result.run.forecast[-1] == pytest.approx(result.accuracy, abs=0.005)


def some_prior(n=1200, m=6, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(m, 0.4), n)


def sure_prior(n=3000, doubtful=150):
    prior = np.tile([0.997, 0.001, 0.001, 0.001], (n, 1))
    prior[:doubtful] = 0.45, 0.45, 0.05, 0.05
    return prior


def some_labels():
    return (some_prior().cumsum(axis=1) < np.random.default_rng(1).random((1200, 1))).sum(axis=1)


CASES = {
    "plain": {"n_examples": 3000, "n_classes": 7},
    "compared": {"n_examples": 1500, "n_classes": 4, "compare": True, "trials": 2},
    "rounded": {"n_examples": 3000, "n_classes": 3, "digits": 2},
    "some points": {"n_examples": 3000, "n_classes": 3, "points": 500},
    "one trial": {"n_examples": 5000, "n_classes": 3, "trials": 1},
    "prior": {"prior": some_prior()},
    "top": {
        "prior": some_prior(),
        "labels": some_labels(),
        "top": 2,
        "points": 300,
        "compare": True,
        "queries": 200,
        "trials": 2,
    },
    "parked": {"prior": sure_prior(), "top": 2, "points": 100, "digits": 2},
    "parked, chosen": {"prior": sure_prior(), "digits": 2},
    "learned": {"n_examples": 300, "n_classes": 5, "digits": 1, "queries": 1000, "trials": 2},
    "lucky": {"n_examples": 3000, "n_classes": 3, "points": 100, "digits": 1, "queries": 200},
    "scan": {"n_examples": 300, "n_classes": 5, "attack": "linear-scan"},
    "exactly": {"n_examples": 300, "n_classes": 3, "attack": "reconstruction", "points": 12, "trials": 2},
}


OFTEN = ("plain", "parked")


@pytest.mark.parametrize("case", [c if c in OFTEN else pytest.param(c, marks=pytest.mark.slow) for c in CASES])
def test_any_number_of_workers(monkeypatch, case):
    arguments = {"queries": 60, "trials": 5, "seed": 3} | CASES[case]
    monkeypatch.setattr(queries_module, "_fastest", lambda n, k: kernels)
    one = stress(**arguments, n_jobs=1)
    assert one == stress(**arguments, n_jobs=2)
    assert one == stress(**arguments, n_jobs=7)
    other = stress(**arguments | {"seed": 4}, n_jobs=2)
    assert (other.run.accuracy != one.run.accuracy).any()
    monkeypatch.setattr(queries_module, "_fastest", lambda n, k: None)  # as without numba
    assert one == stress(**arguments, n_jobs=2)


KEPT = ("compared", "prior", "parked", "lucky", "exactly")  # between them every field is filled


@pytest.mark.parametrize("case", [c if c in KEPT else pytest.param(c, marks=pytest.mark.slow) for c in CASES])
def test_saved_and_read(tmp_path, case):
    result = stress(**{"queries": 40, "trials": 2} | CASES[case])
    result.save(tmp_path / "result")
    assert result == StressResult.load(tmp_path / "result")
    assert json.loads((tmp_path / "result.json").read_text()) == result.to_dict()
    assert max(map(len, str(result).splitlines())) < 160


def test_what_json_carries():
    plain = stress(500, 3, queries=20, trials=3).to_dict()
    for key in (
        "accuracy",
        "advantage",
        "std",
        "forecast",
        "upper_bound",
        "queries",
        "n_examples",
        "n_classes",
        "attack",
    ):
        assert plain[key] is not None
    assert plain["advantage"] == pytest.approx(plain["accuracy"] - 1 / 3)
    assert (plain["queries"], plain["n_examples"], plain["n_classes"], plain["attack"]) == (20, 500, 3, "nb")
    assert stress(500, 3, queries=20, trials=1).to_dict()["std"] is None


BOARDS = ((300, 2, 4), (300, 10, 20), (1000, 2, 50))
WATCHED = {("majority", *BOARDS[0]), ("linear-scan", *BOARDS[0]), ("plurality", *BOARDS[1]), ("nb", *BOARDS[2])}


@pytest.mark.parametrize(
    ("attack", "n", "m", "k", "digits"),
    [
        case if case[-1] is None and case[:-1] in WATCHED else pytest.param(*case, marks=pytest.mark.slow)
        for case in (
            (a, *board, digits) for a in ATTACKS if a != "reconstruction" for board in BOARDS for digits in (None, 1)
        )
    ],
)
def test_nobody_passes_the_bound(attack, n, m, k, digits):
    """On uniform labels, 1,000 trials; also at delta = 0.5, where the bound is as low as it gets."""
    result = stress(n, m, queries=k, trials=1000, attack=attack, digits=digits, delta=0.5)
    check_bound(result)


def check_bound(result: StressResult) -> None:
    run = result.run
    answers = possible_answers(run.n_examples, run.digits)
    assert run.upper_bound[-1] < 1
    assert (run.theorem_bound >= run.upper_bound).all()
    for k, accuracy, bound in zip(run.queries.tolist(), run.accuracy.T, run.upper_bound, strict=True):
        assert (accuracy >= bound).mean() <= result.delta
        strict = exact_accuracy_bound(run.n_examples, run.n_classes, k, delta=0.05, answers=answers)
        assert (accuracy >= strict).mean() <= 0.05


@pytest.mark.slow
def test_nor_does_a_reconstruction():
    check_bound(stress(60, 2, queries=8, trials=1000, attack="reconstruction", points=6, delta=0.5))


def test_a_vacuous_bound_is_called_so():
    result = stress(1000, 2, queries=400, trials=2)
    assert result.run.vacuous
    assert "vacuous" in dict(result.summary().lines)["Upper bound"]
    assert not stress(10_000, 2, queries=40, trials=2).run.vacuous


@pytest.mark.parametrize(("n", "m", "k"), [(6, 2, 1), (7, 3, 1), (5, 4, 2)])
def test_the_exact_bound_by_hand(n, m, k):
    """The smallest s with (n+1)^k P(Bin(n, 1/m) >= s) <= delta, from SciPy's tail."""
    for delta in (0.05, 0.5):
        s = next((s for s in range(n + 1) if (n + 1) ** k * binom.sf(s - 1, n, 1 / m) <= delta), n)
        assert exact_accuracy_bound(n, m, k, delta=delta) == pytest.approx(s / n)


def test_the_bound_with_a_prior(rng):
    """Never below the exact quantile where the prior is flat; holds for the exact Poisson-binomial tail elsewhere."""
    for n, m, k in ((2000, 2, 5), (5000, 10, 40)):
        flat = np.full(n, 1 / m)
        exact = exact_accuracy_bound(n, m, k, delta=0.05)
        assert exact <= prior_accuracy_bound(flat, k, delta=0.05, answers=n + 1) <= exact + 0.02
    best = rng.uniform(0.3, 0.9, 400)
    law = np.array([1.0])
    for p in best:
        law = np.convolve(law, [1 - p, p])
    for k in (1, 3, 6):
        bound = prior_accuracy_bound(best, k, delta=0.1, answers=401)
        assert law[round(bound * 400) :].sum() * 401.0**k <= 0.1
    assert prior_accuracy_bound(best, 1000, delta=0.1, answers=401) == 1.0
    assert prior_accuracy_bound(np.ones(10), 1, delta=0.1, answers=11) == 1.0


def test_theorem_4_5_and_what_answers_determine():
    for m, k in ((3, 500), (3, 5000), (10, 5000)):
        t = reconstructable(k, m)
        assert t > 4 * m
        assert theorem_4_5_queries(t, m) <= k < theorem_4_5_queries(t + 1, m)
        assert t < determined_labels(k, m)  # no theorem promises more than there is
    assert math.isnan(theorem_4_5_queries(1000, 2))
    assert corollary_4_6_applies(140, 3)
    assert not corollary_4_6_applies(120, 3)


@pytest.mark.parametrize(("n", "m"), [(5, 2), (6, 2), (4, 3)])
def test_the_best_analyst_of_all_does_not_pass_it_either(n, m):
    """One query, every labelling and every final answer: P(accuracy >= s) at its largest, against A P(Bin >= s).

    With half the information in the bound, some s would be passed: so this test can fail.
    """
    labellings = np.array(list(itertools.product(range(m), repeat=n)))
    hits = (labellings == 0).sum(axis=1)  # all queries are alike by symmetry
    right = (labellings[:, None, :] == labellings[None, :, :]).sum(axis=2)
    halved = False
    for s in range(1, n + 1):
        best = sum(int((right[hits == h] >= s).sum(axis=0).max()) for h in range(n + 1)) / len(labellings)
        tail = float(binom.sf(s - 1, n, 1 / m))
        assert best <= (n + 1) * tail + 1e-12
        halved |= best > math.sqrt(n + 1) * tail
    assert halved


def test_information():
    assert information(3, 11, 0.1) == pytest.approx(math.log(11**3 / 0.1))


def test_prior_free_and_labels_given_agree():
    """NB gains the same on any labels: its queries are uniform."""
    labels = np.zeros(4000, dtype=int)
    given = stress(labels=labels, n_classes=2, queries=400, trials=6)
    assert given.accuracy == pytest.approx(0.6241, abs=0.012)
    assert given.labels == "given"


def test_with_a_prior():
    """The gain over the prior's own guess, by the mixture of points; labels drawn from the prior."""
    prior = some_prior(6000, 8, seed=1)
    result = stress(prior=prior, queries=1500, trials=8, points=6000)
    assert result.run.baseline == pytest.approx(prior.max(axis=1).mean(), abs=0.01)
    gain = result.run.forecast[-1] - prior.max(axis=1).mean()
    assert result.advantage == pytest.approx(gain, abs=0.006)
    assert result.advantage > 0.02
    top = stress(prior=prior, queries=1500, trials=8, top=2, points=2000)
    assert top.run.points == 2000
    assert top.run.top == 2
    assert top.advantage == pytest.approx(top.run.forecast[-1] - prior.max(axis=1).mean(), abs=0.006)
    assert top.advantage > result.advantage
    chosen = stress(prior=prior, queries=1500, trials=8)
    assert chosen.run.chosen
    assert not top.run.chosen
    assert chosen.advantage > top.advantage - 0.003


def test_labels_have_no_say_in_what_is_attacked():
    prior, labels = some_prior(), some_labels()
    runs = [stress(prior=prior, labels=y, queries=50, trials=1).run for y in (labels, (labels + 1) % 6, None)]
    assert len({(run.top, run.points, run.chosen) for run in runs}) == 1


UNINFORMATIVE = {
    "flat, top 3 of 10": (np.full((2000, 10), 0.1), 3, 1000),
    "flat, top 3 of 4": (np.full((2000, 4), 0.25), 3, 500),
    "one likely, the rest alike": (np.array([0.4, 0.15, 0.15, 0.15, 0.15]), 4, 500),
    "nearly flat": (np.array([0.45, 0.2, 0.18, 0.17]), 3, 500),
}


@pytest.mark.parametrize("case", UNINFORMATIVE)
def test_priors_whose_least_likely_label_is_not_unlikely(rng, case):
    """The first query of a top-R attack then has hits on the attacked points, which must not count as others'."""
    row, top, k = UNINFORMATIVE[case]
    prior = row if row.ndim == 2 else rng.permuted(np.tile(row, (2000, 1)), axis=1)
    result = stress(prior=prior, top=top, queries=k, trials=12, seed=1)
    error = float(result.run.std[-1]) / math.sqrt(12)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=4 * error + 0.008)
    assert result.advantage > 0.015
    assert result.accuracy > stress(prior=prior, top=top, queries=k, trials=12, seed=1, attack="majority").accuracy


def test_a_prior_that_is_sure_and_wrong(rng):
    """The truth is spread evenly; the weights must still come out right."""
    prior = np.full((2000, 3), 0.01)
    prior[np.arange(2000), rng.integers(0, 3, 2000)] = 0.98
    labels = rng.integers(0, 3, 2000)
    result = stress(prior=prior, labels=labels, top=2, queries=4000, trials=6)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=0.02)


def test_a_prior_whose_least_likely_label_is_often_right():
    """What the first query hits is then far from what the prior says; the spread of the answers tells."""
    rng = np.random.default_rng(0)
    prior = np.tile((0.7, 0.28, 0.019, 0.001), (2000, 1))
    labels = np.where(rng.random(2000) < 0.5, (rng.random(2000) < 0.28 / 0.98).astype(int), 3)
    result = stress(prior=prior, labels=labels, top=2, queries=300, trials=5)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=0.01)
    assert result.advantage > 0.01


def test_labels_on_the_second_rank_refute_a_prior_too():
    prior = np.full((2000, 100), 0.96 / 98)
    prior[:, :2] = 0.0201, 0.0199
    result = stress(prior=prior, labels=np.ones(2000, int), top=2, queries=20, trials=2)
    assert math.isnan(result.run.upper_bound[-1])
    assert result.run.noticed[0].kind == "refuted"
    noisy = stress(prior=prior, queries=5, trials=1, mechanism=Noisy)
    assert math.isnan(noisy.upper_bound)
    assert noisy.run.noticed == ()


@pytest.mark.slow
def test_a_reconstruction_asks_for_more_where_it_is_not_unique():
    result = stress(500, 100, queries=1500, points=5, attack="reconstruction", trials=2)
    assert result.run.noticed[0].values["solved"] == 2


def test_one_answer_with_an_unknown_offset_says_nothing():
    result = stress(200, 2, points=100, queries=1, trials=200)
    assert result.run.forecast[-1] == 0.5
    assert abs(result.advantage) < 0.01


@pytest.mark.parametrize(
    ("n", "m", "k"),
    [
        (8, 9, 40),
        pytest.param(20, 9, 60, marks=pytest.mark.slow),
        pytest.param(15, 5, 40, marks=pytest.mark.slow),
        (3, 2, 3),
    ],
)
def test_tiny_test_sets(n, m, k):
    result = stress(n, m, queries=k, trials=600)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=0.04)


def test_ties_of_a_prior_are_broken_at_random():
    """All labels are 0, or all 9: the same to an analyst whose prior is flat."""
    for label in (0, 9):
        result = stress(prior=np.full((1000, 10), 0.1), labels=np.full(1000, label), top=2, queries=100, trials=4)
        assert result.run.baseline == pytest.approx(0.1, abs=0.03)
        assert 0.09 < result.accuracy < 0.2


@pytest.mark.parametrize(
    ("n", "m", "k"),
    [
        pytest.param(1000, 1000, 3000, marks=pytest.mark.slow),
        pytest.param(100, 1000, 200, marks=pytest.mark.slow),
        (300, 1000, 1000),
        (30, 100, 100),
        (10, 10, 50),
    ],
)
def test_fewer_examples_than_classes(n, m, k):
    """Most queries have no hit at all, and rule labels out."""
    result = stress(n, m, queries=k, trials=40)
    error = float(result.run.std[-1]) / math.sqrt(40)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=5 * error + 0.02)


def test_coarse_answers_that_never_change_do_no_harm(rng):
    """A top-R attack with one digit: the analyst ends where he started."""
    prior = rng.dirichlet(np.full(20, 0.3), 3000)
    for seed in range(6):
        result = stress(prior=prior, top=3, points=900, digits=1, queries=300, trials=1, seed=seed)
        assert result.advantage > -0.003


def test_labels_that_refute_the_prior(rng):
    """A prior that is far too modest: no upper bound is given, and the note says why."""
    labels = rng.integers(0, 4, 3000)
    prior = np.full((3000, 4), 0.2)
    prior[np.arange(3000), labels] = 0.4
    result = stress(prior=prior, labels=labels, queries=5, trials=2)
    assert math.isnan(result.run.upper_bound[-1])
    assert result.run.noticed[0].kind == "refuted"
    assert "the labels refute the prior" in dict(result.summary().lines)["Upper bound"]
    drawn = stress(prior=prior, queries=5, trials=2)
    assert drawn.run.upper_bound[-1] < 1


def test_a_common_label_is_named():
    labels = np.repeat([0, 1], [900, 100])
    result = stress(labels=labels, n_classes=10, queries=5, trials=2)
    assert result.run.noticed == (Noticed(kind="commonest", values={"share": 0.9}),)


@pytest.mark.parametrize(
    "arguments", [{"attack": "linear-scan"}, {"points": 20}, {"attack": "reconstruction", "points": 5}]
)
def test_luck_is_no_gain(arguments):
    """The gain is counted from the guess a trial starts from, not from 1/m: with one answer there is next to none."""
    result = stress(400, 2, queries=1, trials=20, **arguments)
    assert abs(result.advantage) < 0.012
    assert result.run.baseline != 0.5
    assert result.run.chance == 0.5


class Stuck:
    """Answers exactly, until it has answered ten times."""

    def __init__(self):
        self.answered = 0

    def answer(self, losses):
        self.answered += 1
        return float(losses.mean()) if self.answered <= 10 else 0.5


def test_any_mechanism_and_each_trial_has_its_own():
    mechanism = Stuck()
    result = stress(400, 2, queries=30, trials=4, mechanism=mechanism)
    assert mechanism.answered == 0
    assert result.run.answers == "Stuck"
    assert math.isnan(result.run.upper_bound[-1])
    assert math.isnan(result.run.forecast[-1])
    exact = stress(400, 2, queries=10, trials=4)
    assert result.accuracy == pytest.approx(exact.accuracy, abs=0.06)
    same_again = stress(400, 2, queries=30, trials=4, mechanism=mechanism, n_jobs=1)
    assert result == same_again


class Noisy:
    """Answers with noise of its own."""

    def __init__(self, rng):
        self.rng, self.first = rng, None

    def answer(self, losses):
        noise = float(self.rng.normal(0, 0.01))
        SEEN.append(noise)
        return float(losses.mean()) + noise


SEEN: list[float] = []


def test_a_mechanism_with_noise_is_made_anew_for_each_trial():
    SEEN.clear()
    result = stress(300, 2, queries=3, trials=4, mechanism=Noisy, n_jobs=1)
    assert len(SEEN) == len(set(SEEN)) == 12
    assert result.run.answers == "Noisy"
    first = list(SEEN)
    stress(300, 2, queries=3, trials=4, mechanism=Noisy, n_jobs=1)
    assert SEEN[12:] == first


def test_labels_and_an_unknown_mechanism_together():
    """Neither forecast nor bound is known then; nothing warns, and what numpy counts in is plain JSON."""
    labels = np.repeat([0, 1], [90, 10])
    result = stress(labels=labels, queries=np.int64(5), trials=2, seed=np.int64(3), mechanism=Stuck())
    assert json.loads(json.dumps(result.to_dict()))["seed"] == 3
    with pytest.raises(InputError, match="`n_jobs` is 0"):
        stress(100, 2, queries=5, n_jobs=0)


def test_a_noisy_mechanism_is_not_taken_literally():
    class Lies:
        def answer(self, losses):
            return 0.0 if losses[0] else float(losses.mean())

    result = stress(500, 2, queries=200, trials=2, mechanism=Lies())
    assert 0.3 < result.accuracy < 1


def test_coarse_answers_say_less():
    gains = [stress(10_000, 2, queries=500, trials=4, digits=d).advantage for d in (None, 3, 2, 1)]
    assert gains[0] > gains[2] > 0.05 > gains[3]
    assert gains[1] == pytest.approx(gains[0], abs=0.01)


def test_comparisons():
    result = stress(2000, 10, queries=100, trials=2, compare=True)
    assert [r.attack for r in result.by_attack] == ["nb", "majority", "plurality", "linear-scan"]
    assert [r.digits for r in result.by_digits] == [None, 3, 2, 1]
    assert [r.n_classes for r in result.by_classes] == [2, 10, 100, 1000]
    for group in (result.by_attack, result.by_digits, result.by_classes):
        assert sum(r is result.run for r in group) == 1


def test_a_scan_that_does_better_is_named():
    result = stress(1000, 2, queries=900, trials=2)
    (note,) = result.run.noticed
    assert (note.kind, note.values["accuracy"]) == ("scan_better", 0.9495)  # 899 labels known, half of the others
    assert stress(1000, 2, queries=300, trials=2).run.noticed == ()


def test_reconstruction_in_a_stress_test():
    result = stress(1000, 3, queries=40, trials=2, attack="reconstruction", points=30)
    assert result.run.points == 30
    assert result.run.noticed[0] == Noticed(kind="reconstructed", values={"solved": 2, "trials": 2, "points": 30})
    assert result.run.forecast[-1] == pytest.approx((30 + 970 / 3) / 1000)
    few = stress(1000, 3, queries=4, trials=2, attack="reconstruction", points=30)
    assert few.run.noticed[0].values["solved"] == 0
    assert result.run.noticed[1].kind == "bayes_better"


def bad(**changes):
    return {"n_examples": 100, "n_classes": 3, "queries": 10, "trials": 1} | changes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (bad(queries=0), "`queries` is 0"),
        (bad(trials=0), "`trials` is 0"),
        (bad(seed=-1), "`seed`"),
        (bad(delta=0.0), "`delta`"),
        (bad(attack="magic"), "`attack` is 'magic'"),
        (bad(n_classes=1), "`n_classes` is 1; it must be at least 2"),
        (bad(queries=10.0), "`queries` is 10.0; it must be a whole number"),
        (bad(n_examples="100"), "whole number"),
        (bad(digits=2.0), "whole number"),
        (bad(mechanism=3), "needs a method `answer"),
        (bad(labels=np.full(100, 1), n_classes=None), "numbered from 0: subtract 1"),
        (bad(labels=np.array(["a", 1] * 50, dtype=object)), "text is mixed with 1"),
        (bad(prior=[[0.5, 0.5], [1.0]]), "no table"),
        (bad(n_examples=0), "`n_examples` is 0; it must be at least 1"),
        (bad(n_examples=None), "the test set is not known"),
        (bad(points=101), "`points` is 101; of the test set's 100"),
        (bad(points=0), "`points` is 0"),
        (bad(top=2), "needs a prior"),
        (bad(top=4), "`top` is 4"),
        (bad(top=1), "`top` is 1"),
        (bad(digits=0), "`digits` is 0"),
        (bad(digits=12), "as good as exact"),
        (bad(digits=2, mechanism=Stuck()), "not both"),
        (bad(labels=np.zeros(99, int)), "`labels` has 99 examples"),
        (bad(labels=np.full(100, 3)), "`labels`: 3 is not a class; classes are 0 to 2"),
        (bad(labels=np.full(100, -1)), "`labels`: -1 is not a class"),
        (bad(labels=np.full(100, 0.5)), "class numbers"),
        (bad(prior=np.full((99, 3), 1 / 3)), "`prior` is for 99 examples, the test set has 100"),
        (bad(prior=np.full((100, 4), 1 / 4)), "`prior` has 4 classes"),
        (bad(prior=np.full((100, 3), 0.5)), "sums to 1.5 at example 0"),
        (bad(prior=np.full((100, 3), np.nan)), "not a finite number"),
        (bad(prior=np.tile([1.5, -0.5, 0.0], (100, 1))), "negative"),
        (bad(prior=np.zeros((100, 3), int)), "probabilities of shape"),
        (bad(prior=np.full((100, 3), 1 / 3), top=4), "`top` is 4; of 3 classes"),
        (bad(prior=np.full((100, 3), 1 / 3), attack="linear-scan"), "linear scan uses no prior"),
        (bad(prior=np.full((100, 3), 1 / 3), top=2, attack="reconstruction"), "considers all classes"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(InputError, match=words):
        stress(**arguments)


def test_public_names():
    assert heldout.stress is stress
    assert heldout.queries_to_reach(0.1, 10_000, 2) == 642


@pytest.mark.parametrize(
    "options",
    [
        {"digits": 2},
        {"attack": "linear-scan", "public": 0.3, "queries": 20, "trials": 2},
        {"attack": "reconstruction", "n_examples": 20, "queries": 20, "trials": 1},
        {"public": 0.4, "trials": 2},
    ],
    ids=lambda options: options.get("attack", "nb"),
)
def test_a_stopped_run_goes_on_to_the_same_bits(options, tmp_path, monkeypatch):
    """Stopped after every few writes, again and again; and refused where it is another run's."""
    usual: dict = {"n_examples": 3000, "n_classes": 3, "queries": 300, "trials": 3, "n_jobs": 1, **options}
    if usual.get("attack") == "reconstruction":
        pytest.importorskip("ortools")
    whole = stress(**usual)
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    write, written = Checkpoint._write, [0]

    def stops(self, arrays):
        write(self, arrays)
        written[0] += 1
        if written[0] % 7 == 0 and written[0] < 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "_write", stops)
    runs = 0
    while True:
        runs += 1
        try:
            again = stress(**usual, checkpoint=tmp_path, resume=runs > 1)
            break
        except KeyboardInterrupt:
            pass
    assert runs > 1
    assert again == whole
    with pytest.raises(InputError, match="belongs to another run: seed was 0, is 1"):
        stress(**usual, seed=1, checkpoint=tmp_path, resume=True)
    with pytest.raises(InputError, match="holds unfinished work"):
        stress(**usual, checkpoint=tmp_path)


@pytest.mark.parametrize("public", [None, 0.5])
@pytest.mark.parametrize("made", [None, 3, "exact"])
def test_a_maker_that_makes_no_mechanism(made, public):
    """A forgotten `return` made an oracle that answers exactly, under the maker's name."""

    def noisy(rng):
        return made

    with pytest.raises(InputError, match=f"`mechanism`: noisy made {made!r}; it must return an object with `answer"):
        stress(200, 2, queries=5, trials=1, mechanism=noisy, public=public)
