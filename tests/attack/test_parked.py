"""Analysts who park the accuracy on a rounding edge: the law of the answers, the place, the gain, its forecast."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binom

from heldout.attack import kernels
from heldout.attack import queries as queries_module
from heldout.attack.aim import choose_aim
from heldout.attack.knowledge import Knowledge, with_prior, without_prior
from heldout.attack.learned import LearningBayes, make_plan
from heldout.attack.linear_scan import LinearScan
from heldout.attack.lucky import LuckyBayes, Search
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle, Exact, Rounded
from heldout.attack.parked import ParkedBayes, find_lever, spoil
from heldout.attack.parking import Parking, batch_ends, lowest_hits
from heldout.attack.queries import Queries, highest, tally, winners
from heldout.attack.stress import stress

HERE = Path(__file__).parents[2]
LOGITS = HERE.parent / "shared" / "data" / "cifar10_resnet_logits.npz"


@pytest.mark.parametrize(("n", "digits"), [(10_000, 2), (1000, 1), (997, 1), (1234, 2), (50, 2), (7, 1), (8, 3)])
def test_edges_are_those_of_the_oracle(n, digits):
    hits = np.arange(n + 1)
    said = 10**digits - np.rint(Rounded(digits).answer_counts(n - hits, n) * 10**digits).astype(int)
    edges = lowest_hits(n, digits)
    np.testing.assert_array_equal(np.searchsorted(edges, hits, side="right") - 1, said)


def some_parking(n=60, digits=1, points=8, options=2, spoilable=8, most=52):
    return Parking(
        n,
        digits=digits,
        points=points,
        options=options,
        loss=np.ones(spoilable),
        variance=np.zeros(spoilable),
        most=most,
    )


def test_reading_by_going_through_all_hits():
    """(1) and (3): x flat, every combination of hits behind three answers."""
    n, points, x = 60, 5, 31
    rng = np.random.default_rng(2)
    for _ in range(2):
        parking = some_parking(points=points, most=n - points)
        codes, moves = [], []
        for _ in range(3):
            moves.append(parking.spoilt)
            hits = rng.binomial(points, 0.5)
            codes.append(int(parking.codes_of(np.array([x + hits - parking.spoilt]))[0]))
            parking.tell(np.array(codes[-1:]))
        law = binom.pmf(np.arange(points + 1), points, 0.5)
        told = Rounded(1)
        mass, sums = 0.0, np.zeros(3)
        for place in range(n - points + 1):
            for hits in itertools.product(range(points + 1), repeat=3):
                wrong = np.array([n - place - h + s for h, s in zip(hits, moves, strict=True)])
                if (wrong < 0).any() or (wrong > n).any():
                    continue
                if (10 - np.rint(told.answer_counts(wrong, n) * 10) == codes).all():
                    p = math.prod(law[h] for h in hits)
                    mass, sums = mass + p, sums + p * np.array(hits)
        np.testing.assert_allclose(parking.read(np.array(codes)), sums / mass, atol=1e-9)


@pytest.mark.parametrize(("points", "options"), [(500, 3), (300, 2), (50, 2)])
def test_the_edge_is_found_and_kept(points, options):
    """Wherever x lies; after that nearly sqrt(2/π) of the signal is kept, and little is lost on the way."""
    n, k, rng = 10_000, 600, np.random.default_rng(0)
    off, kept = [], []
    for _ in range(20):
        x = int(rng.integers(8000, 9400))
        parking = some_parking(n, 2, points, options, spoilable=101, most=n - points)
        hits, codes = np.zeros(0, int), np.zeros(0, int)
        for end in batch_ends(k):
            more = rng.binomial(points, 1 / options, end - len(hits))
            hits, codes = np.append(hits, more), np.append(codes, said := parking.codes_of(x + more - parking.spoilt))
            parking.tell(said)
        distance = (x + points / options - parking.spoilt - lowest_hits(n, 2) + 0.5) / parking.spread
        off.append(np.abs(distance).min())
        z, w = hits - hits.mean(), parking.read(codes) - parking.mean
        kept.append(float(w @ z) / math.sqrt(float(w @ w) * float(z @ z)))
    assert np.mean(off) < 0.3
    assert max(off) < 0.8
    assert np.mean(kept) > 0.93 * math.sqrt(2 / math.pi)


def doubtful_prior(n=5000, q=200):
    prior = np.tile([0.997, 0.001, 0.002], (n, 1))
    prior[:q] = 0.49, 0.49, 0.02
    return prior


def labels_from(prior, rng):
    return (prior.cumsum(axis=1) < rng.random((len(prior), 1))).sum(axis=1)


@pytest.mark.parametrize("aim", [{"top": 2, "points": 200}, {"points": 200}, {}])
def test_round_by_round_and_all_at_once(rng, aim):
    prior = doubtful_prior()
    known, labels = with_prior(prior, rng=rng, **aim), labels_from(prior, rng)
    one, other = (ParkedBayes(known, seed=3, digits=2 if aim else 1) for _ in range(2))
    oracle, second = (AccuracyOracle(labels, Rounded(2 if aim else 1)) for _ in range(2))
    assert one.parked
    for _ in range(50):
        one.tell(oracle.accuracy(one.ask()))
    other.play(second, 20)
    other.play(second, 50)
    assert oracle.queries == second.queries == one.asked == other.asked == 50
    np.testing.assert_array_equal(one.predict(), other.predict())
    np.testing.assert_array_equal(other.predict_after([5, 50])[1], one.predict())


def test_what_is_spoilt(rng):
    """The surest that are not attacked, each of which takes a hit; where all are attacked, some are left out."""
    prior = doubtful_prior()
    prior[4000:] = 0.9, 0.05, 0.05
    labels = np.zeros(5000, int)
    known, lever = find_lever(with_prior(prior, top=2, points=200, rng=rng), 2)
    assert len(lever.where) == 52  # a step is 50 hits
    assert ((lever.where >= 200) & (lever.where < 4000)).all()
    before = int((known.guess == labels).sum())
    for count in (0, 1, 30):
        after = spoil(known, lever, count)
        assert int((after.guess == labels).sum()) == before - count
        np.testing.assert_array_equal(after.guess[:200], known.guess[:200])
    np.testing.assert_array_equal(lever.taken(known.guess, labels), np.arange(53))
    whole, lever = find_lever(with_prior(prior, rng=rng), 1)
    assert whole.n_points == 5000 - len(lever.where)
    assert not np.isin(lever.where, whole.points).any()
    flat = with_prior(np.full((5000, 3), 1 / 3), rng=rng)
    assert find_lever(flat, 1)[1] is None
    fine = with_prior(prior, top=2, points=200, rng=rng)
    assert find_lever(fine, 4)[1] is None  # such answers are exact


def test_a_prior_is_not_written_to(rng):
    prior = doubtful_prior() * np.float64(1.0004)  # sums within the tolerance
    copy = prior.copy()
    ParkedBayes(with_prior(prior, rng=rng), seed=0, digits=1)
    np.testing.assert_array_equal(prior, copy)


@pytest.mark.slow
def test_gain_forecast_and_bound():
    """Two digits: plain naive Bayes gains next to nothing, the parked one 0.7 of what exact answers give."""
    prior = doubtful_prior(n=10_000, q=300)
    labels = labels_from(prior, np.random.default_rng(4))
    labels[np.flatnonzero(labels[300:] == 0)[:1] + 300] = 1
    arguments = {"prior": prior, "labels": labels, "top": 2, "points": 300, "queries": 600, "trials": 12}
    exact, coarse, coarser = (stress(**arguments, digits=digits) for digits in (None, 2, 1))
    assert coarse.run.parked
    assert not exact.run.parked
    plain = []
    for seed in range(6):
        oracle = AccuracyOracle(labels, Rounded(1))
        analyst = NaiveBayes(with_prior(prior, top=2, points=300, rng=np.random.default_rng(0)), seed=seed, digits=1)
        analyst.play(oracle, 600)
        plain.append(oracle.true_accuracy(analyst.predict()) - exact.run.baseline)
    assert np.mean(plain) < 0.3 * exact.advantage
    for result in (coarse, coarser):
        assert result.advantage > 0.7 * exact.advantage
        assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=0.002)
        np.testing.assert_allclose(result.run.mean, result.run.forecast, atol=0.002)
        assert not (result.run.accuracy >= result.run.upper_bound).any() or result.run.vacuous
    assert "wrongly on purpose" in str(coarse)


def test_the_bound_holds_for_the_parked_analyst():
    """Labels from the prior, so few answers that the bound excludes something."""
    result = stress(prior=doubtful_prior(2000, 900), top=2, points=900, digits=1, queries=12, trials=60, delta=0.5)
    run = result.run
    assert run.parked
    telling = run.upper_bound < 1
    assert telling.any()
    assert ((run.accuracy >= run.upper_bound)[:, telling].mean(axis=0) <= 0.5).all()


@pytest.mark.parametrize(("n", "m", "digits"), [(4, 2, 1), (5, 2, None), (3, 3, 1)])
def test_the_bound_holds_for_the_best_adaptive_analyst(n, m, digits):
    """Two queries, the second chosen by the first answer: the best of all, against A² P(Bin >= s)."""
    labellings = np.array(list(itertools.product(range(m), repeat=n)))
    right = (labellings[:, None, :] == labellings[None, :, :]).sum(axis=2)  # [query, labels]
    rule = Exact() if digits is None else Rounded(digits)
    said = rule.answer_counts(n - right, n)
    answers = (n if digits is None else min(n, 10**digits)) + 1
    for s in range(1, n + 1):
        reached = right >= s

        def after_two(which, reached=reached):
            """Labellings that the best final guesses get right on s points, over the best second query."""
            return max(
                sum(int(reached[:, which & (said[q] == a)].sum(axis=1).max()) for a in np.unique(said[q][which]))
                for q in range(len(labellings))
            )

        best = sum(after_two(said[0] == a) for a in np.unique(said[0]))  # all first queries are alike by symmetry
        assert best / len(labellings) <= answers**2 * binom.sf(s - 1, n, 1 / m) + 1e-12


def test_aim_by_forecast():
    """300 examples are between two labels, nothing else is in doubt; by simulation no other aim is better."""
    prior = doubtful_prior(2000, 300)
    top, points = choose_aim(prior, 200, mechanism=Exact(), rng=np.random.default_rng(0))
    assert (top, points) in {(2, 200), (2, 500)}
    gains = {
        (r, q): stress(prior=prior, top=r, points=q, queries=200, trials=10).advantage
        for r, q in ((2, 50), (2, 200), (2, 500), (2, 2000), (None, 2000), (3, 200))
    }
    assert gains[top, points] > max(gains.values()) - 0.002
    assert gains[None, 2000] < 0.6 * gains[top, points]


def test_tally_is_the_same_as_a_vote(monkeypatch, rng):
    queries, weights = Queries(2500, 7, seed=5), rng.normal(size=301)
    fixed = np.zeros(2500, dtype=np.uint64)
    fixed[::3] |= np.uint64(2)
    fixed[::5] |= np.uint64(4)

    def scores(fixed, n_jobs=2):
        rows = np.empty((2500, 7))
        tied = np.empty(2500, dtype=np.uint64)

        def visit(first, part, ties):
            rows[first : first + len(part)] = part
            tied[first : first + len(part)] = ties

        tally(queries, weights, [0, 40, 200], fixed, visit, [rows, tied], n_jobs=n_jobs)
        return rows, tied

    monkeypatch.setattr(queries_module, "_fastest", lambda n, k: kernels)
    free, ties = scores(np.zeros(2500, dtype=np.uint64))
    np.testing.assert_array_equal(highest(free, ties), winners(queries, weights, [301])[0])
    some, _ = scores(fixed)
    expected = np.zeros((2500, 7))
    for j in range(301):
        heard = (fixed >> np.uint64(0 if j < 40 else 1 if j < 200 else 2)) & np.uint64(1) == 0
        expected[np.flatnonzero(heard), queries.labels(j)[heard]] += weights[j]
    np.testing.assert_allclose(some, expected, atol=1e-12)
    np.testing.assert_array_equal(scores(fixed, n_jobs=1)[0], some)
    monkeypatch.setattr(queries_module, "_fastest", lambda n, k: None)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(scores(fixed, n_jobs)[0], some)


def test_learning_round_by_round_and_all_at_once(rng):
    n, m, k = 300, 5, 700
    plan, labels = make_plan(n, m, 1, k), rng.integers(0, m, n)
    one, other = (LearningBayes(Knowledge(n=n, m=m), seed=1, digits=1, plan=plan) for _ in range(2))
    oracle, second = (AccuracyOracle(labels, Rounded(1)) for _ in range(2))
    for _ in range(k):
        one.tell(oracle.accuracy(one.ask()))
    for stop in (100, plan.starts[1], plan.starts[1] + 7, k):
        other.play(second, stop)
    assert len(plan.starts) > 1
    assert oracle.queries == second.queries == one.asked == other.asked == k
    np.testing.assert_array_equal(one.predict(), other.predict())
    np.testing.assert_array_equal(other.predict_after([5, k])[1], one.predict())


def test_learning_moves_the_accuracy():
    """Without a prior: the labels learned so far bring the queries from the middle of a step nearer to an edge."""
    n, m, k = 2500, 10, 1500
    plan = make_plan(n, m, 2, k)
    assert plan is None  # 250 hits, give or take 15, edges every 25: no place is better
    n, m = 5000, 20  # 250 hits, give or take 15, edges 25 off
    plan = make_plan(n, m, 2, k)
    gains = []
    for seed in range(6):
        labels = np.random.default_rng(seed).integers(0, m, n)
        oracle = AccuracyOracle(labels, Rounded(2))
        plain = NaiveBayes(Knowledge(n=n, m=m), seed=seed, digits=2)
        learning = LearningBayes(Knowledge(n=n, m=m), seed=seed, digits=2, plan=plan)
        for analyst in (plain, learning):
            analyst.play(oracle, k)
        gains.append([oracle.true_accuracy(a.predict()) - 1 / m for a in (plain, learning)])
        said = [np.unique(a._answers[plan.starts[1] :], return_counts=True)[1] for a in (plain, learning)]
        assert said[0].max() > 1.25 * said[1].max()  # one answer is by far the commonest, until an edge is reached
    plain_gain, gain = np.mean(gains, axis=0)
    assert gain > 1.08 * plain_gain


def test_a_search_ends_on_the_edge():
    """A path of labellings whose hits go up and down by one; the answers say on which side of the edge they are."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        tickets = rng.random((60, 4000)) < 0.25  # 1,000 hits, give or take 27
        search, asked = Search(4000, 4, spread=4.0, limit=60), 0
        while not search.done:
            hits = tickets[search.ticket + 1][: search.place].sum() + tickets[search.ticket][search.place :].sum()
            search.tell(int(hits >= 1020))
            asked += 1
        hits = tickets[search.ticket + 1][: search.place].sum() + tickets[search.ticket][search.place :].sum()
        assert abs(hits - 1020) <= 10
        assert asked < 60
        assert search.found
    search = Search(4000, 4, spread=4.0, limit=60)
    for _ in range(60):
        assert not search.done
        search.tell(5)
    assert search.done  # nothing was found, and nothing more is spent on it
    assert not search.found


def test_a_search_that_was_given_up_is_not_parked(rng):
    """The oracle always says 0.1: there is no edge to sit on, and the record does not claim one."""
    known = without_prior(10_000, 10, points=500, rng=rng)
    analyst = LuckyBayes(known, seed=1, digits=2, queries=40)
    for _ in range(40):
        assert not analyst.parked
        analyst.tell(0.1)
    assert not analyst.parked
    for other in (NaiveBayes(known, seed=1), LinearScan(10, 2, seed=0)):
        assert not other.parked


def test_labels_elsewhere_that_suit(rng):
    """Some points, no prior: round by round as all at once; gain and forecast against plain naive Bayes."""
    n, q, m, k = 10_000, 500, 10, 600
    labels, known = rng.integers(0, m, n), without_prior(n, m, points=q, rng=rng)
    one, other = (LuckyBayes(known, seed=1, digits=2, queries=k) for _ in range(2))
    oracle, second = (AccuracyOracle(labels, Rounded(2)) for _ in range(2))
    for _ in range(60):
        one.tell(oracle.accuracy(one.ask()))
    other.play(second, 10)
    other.play(second, 60)
    assert oracle.queries == second.queries == one.asked == other.asked == 60
    assert one.parked
    assert other.parked
    np.testing.assert_array_equal(one.predict(), other.predict())
    result = stress(n, m, points=q, digits=2, queries=k, trials=12)
    exact = stress(n, m, points=q, queries=k, trials=12)
    assert result.run.parked
    assert result.advantage > 0.5 * exact.advantage
    np.testing.assert_allclose(result.run.advantage, result.run.forecast_gain, atol=0.002)
    plain = []
    for seed in range(6):
        labels = rng.integers(0, m, n)
        oracle, analyst = AccuracyOracle(labels, Rounded(2)), NaiveBayes(known, seed=seed, digits=2)
        analyst.play(oracle, k)
        plain.append(oracle.true_accuracy(analyst.predict()) - oracle.true_accuracy(known.guess))
    assert np.mean(plain) < 0.5 * result.advantage


@pytest.mark.slow
@pytest.mark.parametrize(("k", "tolerance"), [(1000, 0.002), (5000, 0.003)])
def test_forecast_of_learning(k, tolerance):
    result = stress(10_000, 10, queries=k, digits=2, trials=40)
    assert result.run.parked
    error = float(result.run.std[-1]) / math.sqrt(40)
    assert result.accuracy == pytest.approx(result.run.forecast[-1], abs=tolerance + error)
    plain = []
    for seed in range(10):
        labels = np.random.default_rng(seed).integers(0, 10, 10_000)
        oracle, analyst = AccuracyOracle(labels, Rounded(2)), NaiveBayes(Knowledge(n=10_000, m=10), seed=seed, digits=2)
        analyst.play(oracle, k)
        plain.append(oracle.true_accuracy(analyst.predict()) - 0.1)
    assert result.advantage > 1.1 * np.mean(plain)


@pytest.mark.slow
@pytest.mark.skipif(not LOGITS.is_file(), reason="../shared/data/cifar10_resnet_logits.npz is not there")
def test_resnet_32():
    """Two digits, top 3, 500 points, 1,000 answers: 0.7 of what exact answers give, as forecast, below the bound."""
    with np.load(LOGITS) as logits, np.load(HERE / "examples" / "cifar10_predictions.npz") as examples:
        prior, labels = softmax(logits["resnet32"].astype(np.float64), axis=1), examples["labels"].astype(int)
    arguments = {"prior": prior, "labels": labels, "top": 3, "points": 500, "queries": 1000, "trials": 20}
    exact, coarse = stress(**arguments), stress(**arguments, digits=2)
    assert coarse.run.parked
    assert coarse.advantage > 0.7 * exact.advantage > 0.01
    np.testing.assert_allclose(coarse.run.mean, coarse.run.forecast, atol=0.002)
    assert (coarse.run.accuracy <= coarse.run.upper_bound).all()
    # Nobody says which examples and labels: no worse than --top 2 --points 200.
    few = {"prior": prior, "labels": labels, "queries": 100, "trials": 10}
    for digits in (None, 2):
        chosen, said = stress(**few, digits=digits), stress(**few, digits=digits, top=2, points=200)
        assert chosen.advantage > said.advantage - 0.0005
        assert chosen.advantage > 0.002
