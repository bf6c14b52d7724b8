"""The attacks: round by round and all at once, against the best there can be, and against their forecasts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from heldout.attack.confidence import log_confidence
from heldout.attack.knowledge import Knowledge, with_prior, without_prior
from heldout.attack.linear_scan import LinearScan, expected_scan_accuracy, scan_length
from heldout.attack.majority import Majority, Plurality
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle, Exact, Rounded
from heldout.attack.outlook import forecast_curve
from heldout.attack.reading import expected_hits, hits_law
from heldout.errors import InputError

VOTES = {"nb": NaiveBayes, "majority": Majority, "plurality": Plurality}


def aims(rng, n, m):
    """All points and labels; some points; a prior; a prior's top labels on its least sure points."""
    prior = rng.dirichlet(np.full(m, 0.5), n)
    return {
        "all": without_prior(n, m, rng=rng),
        "points": without_prior(n, m, points=n // 3, rng=rng),
        "prior": with_prior(prior, rng=rng),
        "top": with_prior(prior, top=3, points=n // 2, rng=rng),
    }


@pytest.mark.parametrize("name", VOTES)
@pytest.mark.parametrize("aim", ["all", "points", "prior", "top"])
@pytest.mark.parametrize("digits", [None, 2])
def test_round_by_round_and_all_at_once(rng, name, aim, digits):
    n, m, k = 400, 6, 31
    known, labels = aims(rng, n, m)[aim], rng.integers(0, m, n)
    rule = Exact() if digits is None else Rounded(digits)
    one, other = (VOTES[name](known, seed=7, digits=digits) for _ in range(2))
    oracle, second = AccuracyOracle(labels, rule), AccuracyOracle(labels, rule)
    for _ in range(k):
        one.tell(oracle.accuracy(one.ask()))
    other.play(second, k)
    assert oracle.queries == second.queries == one.asked == other.asked == k
    np.testing.assert_array_equal(one.predict(), other.predict())
    np.testing.assert_array_equal(other.predict_after([5, k])[1], one.predict())


class Tattling:
    """Wants to see the losses themselves."""

    def __init__(self):
        self.seen = []

    def answer(self, losses):
        self.seen.append(losses.copy())
        return float(losses.mean())


def test_any_mechanism_sees_the_losses(rng):
    known, labels = aims(rng, 300, 4)["top"], rng.integers(0, 4, 300)
    slow, mechanism = NaiveBayes(known, seed=1), Tattling()
    slow.play(AccuracyOracle(labels, mechanism), 12)
    fast = NaiveBayes(known, seed=1)
    fast.play(AccuracyOracle(labels), 12)
    assert len(mechanism.seen) == 12
    assert all(loss.dtype == bool and loss.shape == (300,) for loss in mechanism.seen)
    np.testing.assert_array_equal(slow.predict(), fast.predict())


@pytest.mark.parametrize("prior", [(1 / 3, 1 / 3, 1 / 3), (0.5, 0.3, 0.2)])
def test_no_pointwise_attack_is_better(prior):
    """Theorem 4.2 by counting: of all rules that see a point's query labels and the accuracies, none beats NB.

    n = 3, m = 3, k = 2: every labelling and every query matrix; accuracies of exactly 0 and 1 are among them.
    """
    n, m, k = 3, 3, 2
    vectors = list(itertools.product(range(m), repeat=n))
    weight: dict[tuple, np.ndarray] = {}
    for y in vectors:
        p = math.prod(prior[label] for label in y)
        hits = [sum(a == b for a, b in zip(q, y, strict=True)) for q in vectors]
        for (q1, h1), (q2, h2) in itertools.product(zip(vectors, hits, strict=True), repeat=k):
            seen = weight.setdefault((q1[0], q2[0], h1, h2), np.zeros(m))
            seen[y[0]] += p
    total = sum(float(w.sum()) for w in weight.values())
    best = sum(float(w.max()) for w in weight.values()) / total
    nb = 0.0
    for (s1, s2, h1, h2), w in weight.items():
        with np.errstate(divide="ignore"):
            score = np.log(prior) + log_confidence((s1, s2), (h1 / n, h2 / n), m)
        top = np.flatnonzero(score > score.max() - 1e-9)
        nb += float(w[top].mean())
    assert nb / total == pytest.approx(best, abs=1e-12)
    assert best > max(prior) + 0.1


@pytest.mark.parametrize(("n", "m", "k"), [(1, 2, 3), (2, 3, 6), (4, 2, 9), (3, 5, 1)])
def test_accuracies_of_zero_and_one(n, m, k):
    """Tiny test sets, where a query may be all right or all wrong: no NaN, and certainty is used."""
    for seed in range(60):
        labels = np.random.default_rng(seed).integers(0, m, n)
        oracle, attack = AccuracyOracle(labels), NaiveBayes(Knowledge(n=n, m=m), seed=seed)
        answers = []
        for _ in range(k):
            answers.append(oracle.accuracy(query := attack.ask()))
            attack.tell(answers[-1])
            if answers[-1] == 1.0:
                assert (attack.predict() == query).all()
        predicted = attack.predict()
        assert ((predicted >= 0) & (predicted < m)).all()
        if 1.0 in answers:
            assert (predicted == labels).all()


@pytest.mark.parametrize("digits", [None, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", VOTES)
@pytest.mark.parametrize("aim", ["all", "points", "prior", "top"])
def test_forecasts(rng, name, aim, digits):
    """Simulated and forecast accuracy agree; labels are drawn from the prior where there is one."""
    n, m, k, trials = 3000, 5, 700, 12
    known = aims(rng, n, m)[aim]
    rule = Exact() if digits is None else Rounded(digits)
    found, expected = [], []
    for seed in range(trials):
        labels = rng.integers(0, m, n) if known.prior is None else (known.prior.cumsum(1) < rng.random((n, 1))).sum(1)
        attack, oracle = VOTES[name](known, seed=seed, digits=digits), AccuracyOracle(labels, rule)
        attack.play(oracle, k)
        found.append(oracle.true_accuracy(attack.predict()))
        expected.append(forecast_curve(name, known, np.array([k]), mechanism=rule, labels=labels)[0])
        if known.prior is None:  # where only some points are attacked the others' hits are known here
            elsewhere = known.hits_elsewhere(labels) - (n - known.n_points) / m
            expected[-1] += elsewhere / n
    difference = np.array(found) - np.array(expected)
    error = difference.std(ddof=1) / math.sqrt(trials)
    assert abs(difference.mean()) < 4 * error + 0.004


def test_the_issue_s_attacks_differ(rng):
    """NB beats the majority vote at m = 2 by what the closed forms say."""
    n, k = 10_000, 1000
    gaps = []
    for seed in range(8):
        labels = rng.integers(0, 2, n)
        oracle = AccuracyOracle(labels)
        scores = {}
        for name in ("nb", "majority"):
            attack = VOTES[name](Knowledge(n=n, m=2), seed=seed)
            attack.play(oracle, k)
            scores[name] = oracle.true_accuracy(attack.predict())
        gaps.append(scores["nb"] - scores["majority"])
    assert np.mean(gaps) == pytest.approx(0.6241 - 0.5996, abs=4 * np.std(gaps, ddof=1) / math.sqrt(8) + 0.001)


def test_top_needs_the_constant_removed(rng):
    """Design: with plain weights (the unattacked points' hits left in) the attack gains almost nothing."""
    n, q, k = 10_000, 2000, 2000
    prior = np.full((n, 10), 0.02 / 8)
    prior[:, :2] = 0.55, 0.43
    prior[: n - q, :2] = 0.97, 0.01
    known = with_prior(prior, top=2, points=q, rng=rng)
    np.testing.assert_array_equal(known.points, np.arange(n - q, n))
    labels = (prior.cumsum(1) < rng.random((n, 1))).sum(1)
    oracle, attack = AccuracyOracle(labels), NaiveBayes(known, seed=0)
    attack.play(oracle, k)

    class Plain(NaiveBayes):
        def hit_rates(self, answers):
            return answers

    plain = Plain(known, seed=0)
    plain.play(oracle, k)
    before = float((known.guess == labels).mean())
    gain, plain_gain = (oracle.true_accuracy(a.predict()) - before for a in (attack, plain))
    expected = forecast_curve("nb", known, np.array([k]), mechanism=Exact(), labels=labels)[0] - before
    assert gain == pytest.approx(expected, abs=0.006)
    assert gain > 0.04 > 4 * plain_gain
    inside = float((known.option_of(labels) >= 0).sum())
    assert attack.reachable(attack._answers) == pytest.approx(inside, rel=0.02)


@pytest.mark.parametrize(("n", "m", "digits"), [(1000, 2, 2), (157, 3, 1), (5000, 10, 2)])
def test_reading_of_rounded_answers(n, m, digits):
    """E[hits | answer] by going through all numbers of hits; so coarse answers neither over- nor underrate a query."""
    hits, probability = hits_law(n, m)
    said = 1 - Rounded(digits).answer_counts(n - hits, n)
    found = expected_hits(said, n, points=n, options=m, digits=digits, outside=0.0)
    for answer in np.unique(said):
        same = said == answer
        if probability[same].sum() > 1e-12:
            mean = float(np.sum(probability[same] * hits[same]) / probability[same].sum())
            np.testing.assert_allclose(found[same], mean, rtol=1e-9)


def test_reading_with_an_unknown_constant(rng):
    """The hits elsewhere are found from the answers alone, and the queries come out in the right order."""
    n, points, outside = 10_000, 6000, 3437
    hits = rng.binomial(points, 0.5, 4000)
    answers = 1 - Rounded(2).answer_counts(n - outside - hits, n)
    read = expected_hits(answers, n, points=points, options=2, digits=2, outside=None)
    known = expected_hits(answers, n, points=points, options=2, digits=2, outside=outside)
    assert abs(float(np.mean(read - known))) < 5  # of a step of 100
    assert np.corrcoef(read, hits)[0, 1] == pytest.approx(np.corrcoef(known, hits)[0, 1], abs=0.005)
    always = expected_hits(np.full(50, 0.6), n, points=points, options=2, digits=2, outside=None)
    assert np.ptp(always) == 0


def test_an_answer_that_never_changes_says_nothing(rng):
    labels = rng.integers(0, 1000, 2000)
    attack = NaiveBayes(Knowledge(n=2000, m=1000), seed=0, digits=1)
    attack.play(AccuracyOracle(labels, Rounded(1)), 50)
    assert np.abs(attack.weights(attack._answers)).max() < 1e-9


@pytest.mark.parametrize(
    ("n", "m", "k"),
    [(20, 2, 11), (20, 2, 21), (15, 3, 9), (15, 4, 12), (10, 4, 18), (8, 7, 25), (8, 7, 38), (30, 10, 50), (5, 5, 16)],
)
def test_linear_scan_and_its_expectation(n, m, k):
    found = []
    for seed in range(1500):
        labels = np.random.default_rng([seed, 1]).integers(0, m, n)
        oracle, scan = AccuracyOracle(labels), LinearScan(n, m, seed=seed)
        for _ in range(k):
            scan.tell(oracle.accuracy(scan.ask()))
        found.append(oracle.true_accuracy(scan.predict()))
    error = max(1e-12, float(np.std(found)) / math.sqrt(len(found)))
    assert abs(np.mean(found) - expected_scan_accuracy(n, m, k)) < 4 * error
    assert expected_scan_accuracy(n, m, k) > 1 / m


@pytest.mark.parametrize("m", [2, 3, 4, 5, 10, 1000])
def test_scan_lengths(m):
    law = scan_length(m)
    assert law.sum() == pytest.approx(1)
    # by going through all places of the true label: 0 is the first guess, then the order in which labels are tried
    tests = [1 if place <= 1 else min(place, max(1, m - 2)) for place in range(m)]
    np.testing.assert_allclose(law, np.bincount(tests, minlength=len(law)) / m)
    assert expected_scan_accuracy(50, m, 1) == pytest.approx(1 / m)
    assert expected_scan_accuracy(50, m, 50 * m) == 1.0


def test_scan_grows(rng):
    curve = [expected_scan_accuracy(40, 6, k) for k in range(200)]
    assert np.all(np.diff(curve) >= -1e-12)
    assert curve[-1] == pytest.approx(1.0)


def test_looking_back_too_far():
    with pytest.raises(InputError, match="were given"):
        NaiveBayes(Knowledge(n=10, m=2), seed=0).predict_after([3])


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), -0.1, 1.1, "0.5", None, [0.5, 0.5], 1j])
def test_answers_that_are_no_accuracies(answer):
    """A NaN in one answer was a NaN in every weight, and the labels those of chance."""
    attacks = [kind(Knowledge(n=50, m=3), seed=0) for kind in VOTES.values()]
    for attack in (*attacks, LinearScan(50, 3, seed=0)):
        with pytest.raises(InputError, match=r"`accuracy` is .*; an answer is a number from 0 to 1"):
            attack.tell(answer)
        assert attack.asked == 0
        for fine in (0.5, np.float32(0.5), np.array(0.5), 1, 1 + 1e-12):
            attack.tell(fine)
        assert attack.asked == 5


def test_answers_in_percent_and_with_noise():
    known = Knowledge(n=50, m=3)
    with pytest.raises(InputError, match=r"`accuracy` is 33.5; .* In percent\? Divide it by 100"):
        NaiveBayes(known, seed=0).tell(33.5)
    noisy = NaiveBayes(known, seed=0, sure=False)
    noisy.tell(-0.02)  # as noise may have it
    with pytest.raises(InputError, match=r"In percent\?"):
        noisy.tell(33.5)
