"""Examples that are needed: met at the printed number, missed at four fifths of it, as the error bar has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

import heldout
from heldout.reuse.needed import BoundedGap, examples_by_error_bar, examples_within, round_up
from heldout.reuse.scored import ScoredPool
from heldout.statistics.binomial import sign_test_log_pvalues
from heldout.statistics.mcnemar_power import MANY, detectable_gap, examples_for_gap, mcnemar_power
from tests.reuse.test_grouped import draw
from tests.reuse.test_leaderboard import OPEN_LLM, matrices

LIVECODEBENCH = OPEN_LLM.parent / "livecodebench_apr2024.npz"


def test_power_by_enumeration():
    """All (b, c) of 30 examples with scipy's test."""
    n, psi, gap = 30, 0.4, 0.3
    better, worse = (psi + gap) / 2, (psi - gap) / 2
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if b > c and binomtest(b, b + c).pvalue <= 0.05:
                log = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(c + 1) - math.lgamma(n - b - c + 1)
                rest = (n - b - c) * math.log(1 - psi)
                total += math.exp(log + b * math.log(better) + c * math.log(worse) + rest)
    assert mcnemar_power(n, psi, gap, level=0.05) == pytest.approx(total, rel=1e-10)


def test_power_is_the_same_on_both_sides_of_many(monkeypatch):
    n = round(1.02 * MANY / 0.1)
    normal = mcnemar_power(n, 0.1, 0.004, level=0.05)
    monkeypatch.setattr("heldout.statistics.mcnemar_power.MANY", 10**9)
    assert mcnemar_power(n, 0.1, 0.004, level=0.05) == pytest.approx(normal, abs=0.001)


@pytest.mark.parametrize(("gap", "psi"), [(0.2, 0.3), (0.05, 0.1), (0.01, 0.08), (0.3, 0.1), (0.0004, 0.03)])
def test_gap_and_examples_are_each_others_inverse(gap, psi):
    n = examples_for_gap(gap, psi, level=0.05)
    assert mcnemar_power(n, psi, gap, level=0.05) >= 0.8 > mcnemar_power(round(0.8 * n), psi, gap, level=0.05)
    assert detectable_gap(n, psi, level=0.05) == pytest.approx(gap, rel=0.03)


def test_what_cannot_be_had():
    assert examples_for_gap(1e-7, 0.1, level=0.05) is None
    assert examples_for_gap(0.0, 0.1, level=0.05) is None
    assert math.isnan(detectable_gap(5, 0.5, level=0.05))  # 5 to 0 has p = 0.0625
    assert examples_within(np.array([0.5]), np.ones((1, 1)), 1e-7, 0.05) is None
    assert examples_by_error_bar(lambda times: False, 100, 50, 0.1, 0.01) is None
    assert [round_up(x) for x in (0.010000001, 0.3, 1e-5, 1.0)] == [0.015, 0.3, 1e-5, 0.99]


def test_one_model_by_its_binomial():
    n = examples_within(np.array([0.3]), np.ones((1, 1)), 0.05, 0.05)
    inside = [binom.cdf(math.floor(m * 0.35 + 1e-9), m, 0.3) - binom.cdf(math.ceil(m * 0.25 - 1e-9) - 1, m, 0.3)
              for m in (n, round(0.8 * n))]  # fmt: skip
    assert inside[0] >= 0.95 > inside[1]


@pytest.mark.parametrize(("error", "epsilon"), [(0.5, 0.1), (0.01, 0.01), (0.99, 0.01), (0.3, 0.05), (0.001, 0.01)])
def test_from_the_number_printed_on_it_holds_for_good(error, epsilon):
    """Every number of examples: the one below fails, none from it on does (0.5 at 0.1: 94 holds, 96 does not)."""

    def inside(m):
        top, bottom = math.floor(m * (error + epsilon) + 1e-9), math.ceil(m * (error - epsilon) - 1e-9)
        return binom.cdf(top, m, error) - binom.cdf(bottom - 1, m, error)

    n = examples_within(np.array([error]), np.ones((1, 1)), epsilon, 0.05)
    assert inside(n - 1) < 0.95
    assert all(inside(m) >= 0.95 for m in range(n, 3 * n))


@pytest.mark.parametrize(
    ("n", "k", "right"), [(20, 2, 0.5), (50, 10, 0.7), (100, 2, 0.7), (100, 4, 0.9), (200, 4, 0.3)]
)
def test_the_pools_own_error_bar_is_not_contradicted(rng, n, k, right):
    """What holds for all models on n examples takes no more than n."""
    for _ in range(2):
        result = heldout.budget(rng.random((k, n)) < right)
        assert result.epsilon >= result.pool.epsilon["similarity"]
        assert 1 <= result.needed.examples_for_epsilon <= n


def test_groups_take_whole_groups_and_perfect_models_more_than_one(rng):
    codes = np.repeat(np.arange(50), 10)
    needed = heldout.budget(np.ones((3, 500), dtype=bool), groups=codes, epsilon=0.02).needed
    assert needed.examples_for_epsilon > 500
    assert needed.examples_for_epsilon % 10 == 0
    few = heldout.budget(rng.random((4, 40)) < 0.7, groups=np.arange(40) % 4).needed
    assert math.isnan(few.gap_now)  # four coins of one kind have p = 0.125


def score_budget(scores, **options):
    return heldout.budget(heldout.Predictions.from_scores(scores), **options)


def test_scores_at_the_edges(rng):
    """Models that never differ, one that is better everywhere, a second that is better on the examples both have."""
    base = rng.uniform(0.2, 0.7, 200)
    same = score_budget(np.tile(base, (3, 1))).needed
    assert same.first_gap is None
    assert same.examples_for_first is None
    assert 0.005 < same.gap_now < 0.2  # unseen examples could differ: 0 could not be told
    assert same.examples_for_gap > 100
    shifted = score_budget(np.stack([base, base + 0.1])).needed
    assert shifted.first_gap == pytest.approx(0.1)
    assert 6 <= shifted.examples_for_first <= 100
    assert shifted.gap_now > 0.005
    rounded = score_budget(np.stack([base, base * (1 + 1e-15)])).needed
    assert rounded.first_gap is None
    assert score_budget(rng.random((2, 50)), gap=1e-9).needed.examples_for_gap is None  # past 10^12
    scores, observed = np.full((2, 100), 0.6), np.ones((2, 100), dtype=bool)
    scores[1] = 0.7 + 0.1 * rng.random(100)
    scores[0, 50:] = 0.99
    observed[1, 50:] = False
    turned = heldout.budget(heldout.Predictions.from_scores(np.ma.masked_array(scores, ~observed)))
    assert turned.pool.order[0] == 0
    assert turned.needed.first_gap is None


def bounded_p(d, largest, rng, draws=20_000):
    """The p-value of the test by its definition: exponential weights, one unit more."""
    weights = rng.standard_exponential((draws, d.shape[-1]))
    return 2 * np.mean(d @ weights.T <= largest * rng.standard_exponential(draws), axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "size", "sd"), [(12, 25, 0.15), (50, 5, 0.2), (50, 1, 0.2), (100, 1, 0.05)])
def test_a_gap_is_told_as_often_as_promised_in_few_units(rng, n_groups, size, sd):
    """Scores in few groups, or few examples: a gap by normal quantiles would be told 62 % of the time, or never."""
    test = BoundedGap(np.full(n_groups, float(size)), 0.05, lambda variance, gap: variance)
    gap = test.now(sd**2)
    assert test.examples(gap, sd**2) == pytest.approx(n_groups * size, abs=2)

    def told(gap):
        sums = size * gap + math.sqrt(size) * sd * rng.standard_normal((400, n_groups))
        return np.mean(bounded_p(sums, size, rng) <= 0.05)

    assert told(1.08 * gap) >= 0.75
    assert told(0.87 * gap) < 0.8


def test_a_gap_of_scores_in_few_groups_is_no_normal_quantile(rng):
    codes = np.repeat(np.arange(8), 25)
    scores = np.clip(rng.random((2, 200)) * 0.5 + 0.2 * rng.random((2, 8))[:, codes], 0, 1)
    result = score_budget(scores, groups=codes)
    error = math.sqrt(result.needed.disagreement / 200)
    assert result.needed.gap_now > 1.15 * (1.96 + 0.8416) * error
    few = score_budget(scores[:, :75], groups=codes[:75]).needed
    assert math.isnan(few.gap_now)


def test_clones_need_no_more_than_one_of_them():
    """Twenty copies of one model are one model (whole counts make steps of some percent); the union bound's 3.02
    standard errors instead of 1.96 would ask for 2.4 times as many."""
    right = np.random.default_rng(0).random(4000) < 0.7
    result = heldout.budget(np.tile(right, (20, 1)), epsilon=0.05)
    alone = examples_within(np.array([1 - right.mean()]), np.ones((1, 1)), 0.05, 0.05)
    assert result.needed.examples_for_epsilon == pytest.approx(alone, rel=0.12)


def share_within(wrong, n, epsilon, repetitions, rng):
    """How often all models are within epsilon on n examples drawn from the table."""
    size, means, hits = wrong.shape[1], wrong.mean(axis=1, dtype=np.float64)[:, None], 0
    wrong = wrong.astype(np.float32)
    for _ in range(repetitions // 50):
        drawn = rng.multinomial(n, np.full(size, 1 / size), 50).T.astype(np.float32)
        hits += int((np.abs(wrong @ drawn / n - means) <= epsilon + 1e-6).all(axis=0).sum())
    return hits / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mmlu_pro", "open_llm", "synthetic"])
def test_epsilon_is_met_and_missed_at_four_fifths(rng, name):
    found = {**dict(matrices()), "synthetic": rng.random((12, 2000)) < np.linspace(0.5, 0.9, 12)[:, None]}
    if name not in found:
        pytest.skip(f"needs ../shared/data for {name}")
    right = found[name][:, :3000]
    result = heldout.budget(right, epsilon=0.04)
    n, repetitions = result.needed.examples_for_epsilon, 1500
    noise = math.sqrt(0.05 * 0.95 / repetitions)
    assert share_within(~right, n, 0.04, repetitions, rng) >= 0.95 - 3 * noise
    assert share_within(~right, round(0.8 * n), 0.04, repetitions, rng) < 0.95 - 3 * noise


@pytest.mark.slow
def test_gap_is_told_and_missed_at_four_fifths(rng, cifar10_predictions):
    """Pairs of models that part as often as the pool's, and a gap apart as asked."""
    needed = heldout.budget(cifar10_predictions, gap=0.03).needed
    n, psi, repetitions = needed.examples_for_gap, needed.disagreement, 4000
    noise = math.sqrt(0.16 / repetitions)

    def told(n):
        cells = rng.multinomial(n, [(psi + 0.03) / 2, (psi - 0.03) / 2, 1 - psi], repetitions)
        return np.mean(
            (sign_test_log_pvalues(cells[:, 0], cells[:, 1]) <= math.log(0.05)) & (cells[:, 0] > cells[:, 1])
        )

    assert told(n) >= 0.8 - 3 * noise
    assert told(round(0.8 * n)) < 0.8 - 3 * noise
    now = needed.gap_now
    cells = rng.multinomial(10_000, [(psi + now) / 2, (psi - now) / 2, 1 - psi], repetitions)
    shown = np.mean(sign_test_log_pvalues(cells[:, 0], cells[:, 1]) <= math.log(0.05))
    assert shown == pytest.approx(0.8, abs=3 * noise)


def score_table(rng, kind):
    """Scores of 400 examples, unless they are real ones."""
    base = rng.random(400)
    if kind == "alone":
        return rng.random((5, 400))
    if kind == "alike":
        return np.clip(base + rng.normal(0, 0.02, (30, 400)), 0, 1)
    if kind == "steady":
        return np.vstack([np.clip(base, 0.4, 0.8), np.where(rng.random((2, 400)) < 0.9, 1.0, 0.2)])
    if kind == "narrow":
        return np.clip(0.6 + 0.03 * rng.standard_normal((3, 400)), 0, 1)
    if not LIVECODEBENCH.exists():
        pytest.skip("needs ../shared/data for livecodebench")
    with np.load(LIVECODEBENCH) as data:
        return data["pass1"] / 100


def grouped_table(rng, sizes, alike, right):
    """Ten models' answers, right or wrong, some of a group's all alike; and the group of each example."""
    sizes = np.array(sizes)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    whole = (rng.random((10, len(sizes))) < right)[:, codes]
    return np.where(rng.random((10, len(codes))) < alike, whole, rng.random((10, len(codes))) < right), codes


def bar_of(cells, codes=None):
    """The error bar that a budget prints."""
    if cells.dtype == float:
        return ScoredPool(heldout.Predictions.from_scores(cells), None).reach(0.05)
    return heldout.budget(cells, groups=codes).error_bar


def drawn_bars(cells, n, repetitions, rng, codes=None):
    """Error bars of sets drawn from a table: n examples, or as many whole groups as hold n on average."""
    if codes is None:
        return [bar_of(cells[:, rng.integers(0, cells.shape[1], n)]) for _ in range(repetitions)]
    members, bars = [np.flatnonzero(codes == g) for g in range(codes.max() + 1)], []
    for _ in range(repetitions):
        some = [members[g] for g in rng.integers(0, len(members), round(n * len(members) / len(codes)))]
        bars.append(bar_of(cells[:, np.concatenate(some)], np.repeat(np.arange(len(some)), [len(m) for m in some])))
    return bars


def check_the_size_has_its_error_bar(cells, epsilon, repetitions, rng, codes=None):
    """Median error bar of sets of the printed size: epsilon, to 4 % for whole numbers and few draws; above it at four
    fifths."""
    table = heldout.Predictions.from_scores(cells) if cells.dtype == float else cells
    n = heldout.budget(table, epsilon=epsilon, groups=codes).needed.examples_for_epsilon
    assert np.median(drawn_bars(cells, n, repetitions, rng, codes)) == pytest.approx(epsilon, rel=0.04)
    assert np.median(drawn_bars(cells, round(0.8 * n), repetitions, rng, codes)) > 1.05 * epsilon
    return n


@pytest.mark.parametrize(("kind", "epsilon"), [("alone", 0.1), ("narrow", 0.06)])
def test_sets_of_scores_of_the_printed_size_print_that_error_bar(rng, kind, epsilon):
    """Without what a bar adds for few examples, 58 and 5 examples were asked for, whose bars are 0.115 and 0.56."""
    check_the_size_has_its_error_bar(score_table(rng, kind), epsilon, 12, rng)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.03, 0.06, 0.12])
@pytest.mark.parametrize("kind", ["alone", "alike", "steady", "narrow", "livecodebench"])
def test_sets_of_scores_of_the_printed_size_hold(rng, kind, epsilon):
    """The same at length; and all means are within epsilon of the true ones at least as often as promised."""
    scores, repetitions = score_table(rng, kind), 3000
    n = check_the_size_has_its_error_bar(scores, epsilon, 100, rng)
    assert share_within(scores, n, epsilon, repetitions, rng) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / repetitions)


GROUPED = [
    ([5] * 200, 0.7, 0.7, 0.06),
    ([5] * 100, 0.9, 0.98, 0.05),
    ([1, 2, 3, 5, 10, 20] * 40, 0.7, 0.7, 0.08),
    ([5] * 200, 0.7, 0.7, 0.2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "alike", "right", "epsilon"), GROUPED)
def test_sets_of_groups_of_the_printed_size_hold(rng, sizes, alike, right, epsilon):
    """Whole groups drawn from the table: at few of them Student's law and the group that is added count (25 groups were
    asked for at 0.2, whose bar is 0.26)."""
    table, codes = grouped_table(rng, sizes, alike, right)
    n = check_the_size_has_its_error_bar(table, epsilon, 60, rng, codes)
    wrong, sizes = np.stack([np.bincount(codes, ~row) for row in table]), np.array(sizes)
    means, repetitions = (~table).mean(axis=1)[:, None], 4000
    drawn = rng.integers(0, len(sizes), (repetitions, round(n / sizes.mean())))
    shares = wrong[:, drawn].sum(axis=2) / sizes[drawn].sum(axis=1)
    met = np.mean((np.abs(shares - means) <= epsilon + 1e-9).all(axis=0))
    assert met >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / repetitions)


KINDS = ["alone", "steady", "missing", "groups", "groups with missing cells", "groups of scores"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_set_needs_no_more_than_it_has_exactly_where_its_error_bar_is_met(rng, kind):
    """On either side of the pool's own error bar, by a hair, and further off."""
    codes = None
    if kind in ("groups", "groups with missing cells"):
        cells, codes = grouped_table(rng, [1, 2, 3, 5, 10] * 16, 0.7, 0.8)
        observed = rng.random(cells.shape) < 0.6 if "missing" in kind else None
        table = heldout.Predictions.from_correct(cells, observed=observed)
    else:
        cells = score_table(rng, "steady" if kind == "steady" else "alone")[:, :150]
        codes = np.arange(150) // 3 if kind == "groups of scores" else None
        observed = rng.random(cells.shape) < 0.8 if kind == "missing" else None
        table = heldout.Predictions.from_scores(cells, observed=observed)
    n, bar = table.n_examples, heldout.budget(table, groups=codes).error_bar
    for factor in (0.5, 0.9, 1 - 1e-7, 1.0, 1 + 1e-7, 1.02, 1.5):
        asked = bar * factor
        found = heldout.budget(table, groups=codes, epsilon=asked)
        assert found.error_bar == bar
        assert (found.needed.examples_for_epsilon <= n) == (bar <= asked), factor


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(400), 5)])
def test_cells_that_are_missing_take_their_share_of_examples(rng, groups):
    """Numbers are of examples, as those there are, of which each model has three fifths, and two models 0.36."""
    cells = rng.random((4, 2000)) < np.array([0.7, 0.72, 0.7, 0.7])[:, None]
    whole = heldout.budget(heldout.Predictions.from_correct(cells), groups=groups, epsilon=0.02, gap=0.03).needed
    torn = heldout.Predictions.from_correct(cells, observed=rng.random(cells.shape) < 0.6)
    found = heldout.budget(torn, groups=groups, epsilon=0.02, gap=0.03).needed
    assert found.examples_for_epsilon == pytest.approx(whole.examples_for_epsilon / 0.6, rel=0.1)
    assert found.examples_for_gap == pytest.approx(whole.examples_for_gap / 0.36, rel=0.1)
    assert found.gap_now == pytest.approx(whole.gap_now / 0.6, rel=0.1)


def test_rounding_of_the_error_bar_does_not_part_the_two():
    """Found to some digits, the bar may lie a hair on the other side of what the costs say."""
    assert examples_by_error_bar(lambda times: times > 1.001, 200, 100, 0.1 * (1 + 1e-13), 0.1) == 200
    assert examples_by_error_bar(lambda times: times > 0.999, 200, 100, 0.1 * (1 + 1e-6), 0.1) == 202


def test_the_number_printed_is_the_smallest_and_holds_from_there_on(rng):
    """Every size, one by one, by tables that hold so many copies of these examples: whole times as many do."""
    scores = score_table(rng, "alone")[:, :40]
    pool = ScoredPool(heldout.Predictions.from_scores(scores), None)
    n = score_budget(scores, epsilon=0.15).needed.examples_for_epsilon
    assert [pool.fits(0.15, 0.05, m / 40) for m in range(2, 4 * n)] == [m >= n for m in range(2, 4 * n)]
    moments, copied = pool.moments.repeated(3.0), ScoredPool(heldout.Predictions.from_scores(np.tile(scores, 3)), None)
    for name in ("n", "n_groups", "s2", "s3", "s4", "total", "square", "between"):
        np.testing.assert_allclose(getattr(moments, name), getattr(copied.moments, name), rtol=1e-12)


@pytest.mark.slow
def test_a_gap_between_groups_is_told_as_often_as_promised(rng):
    """Groups of 1 to 20 examples, 70 % alike."""
    wrong, codes = draw(rng, 400, np.array([0.2, 0.3, 0.3, 0.3, 0.4]), 0.7)
    needed = heldout.budget(~wrong, groups=codes, gap=0.1).needed
    n_groups, told = round(needed.examples_for_gap * 400 / len(codes)), 0
    for _ in range(300):
        sample, groups = draw(rng, n_groups, [0.2, 0.3], 0.7)
        sizes = np.bincount(groups)
        d = np.bincount(groups, sample[1].astype(float) - sample[0])
        told += bool(bounded_p(d, sizes.max(), rng, 4_000) <= 0.05)
    assert 0.68 < told / 300 < 0.92
