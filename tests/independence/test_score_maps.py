"""The torus oracle, an independent brute force, and small fields worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout import Translations, score_map_statistics
from heldout.errors import InputError
from heldout.independence.plan import ADVERSARIAL, UNTOUCHED, WRONG, Outcome, TranslationPlan
from heldout.orbit import RULES

from .brute_force import statistic, torus_total


def random_field(seed: int, shape: tuple[int, ...], levels: int = 4, share_right: float = 0.6) -> np.ndarray:
    """Few distinct scores, so that ties are everywhere."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, levels + 1, size=shape) / 4.0
    return np.where(rng.random(shape) < share_right, 0.0, scores)


def run_plan(plan: TranslationPlan, score_at, *, eager: bool = False) -> tuple[Outcome, int]:
    scores = np.full(plan.size, np.nan)
    while not isinstance(decision := plan.decide(scores, eager=eager), Outcome):
        assert np.isnan(scores[decision]).all(), "a position is asked for twice"
        assert len(decision) > 0
        for position in decision:
            scores[position] = score_at(plan.move_of[position])
    return decision, int((~np.isnan(scores)).sum())


seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, radius=st.integers(1, 3), extra=st.integers(0, 4), share=st.sampled_from([0.1, 0.5, 0.9]))
@pytest.mark.parametrize("rule", RULES)
def test_torus_sums_to_zero(rule, seed, radius, extra, share):
    side = 2 * radius + 1 + extra
    field = random_field(seed, (3, side, side + 1), share_right=share)
    T = score_map_statistics(field, radius=radius, rule=rule, wrap=True)
    assert T.shape == field.shape
    assert np.abs(T.sum(axis=(1, 2))).max() < 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_torus_sums_to_zero_exactly_in_rational_arithmetic(rule, seed):
    assert torus_total(random_field(seed, (5, 6)), 1, rule) == 0


@settings(max_examples=15, deadline=None)
@given(seed=seeds, radius=st.integers(1, 2), share=st.sampled_from([0.2, 0.6, 0.9]))
@pytest.mark.parametrize("rule", RULES)
def test_dense_and_lazy_equal_brute_force_bit_for_bit(rule, seed, radius, share):
    margin = Translations(radius).margin(rule)
    side = 2 * margin + 1
    field = random_field(seed, (1, side, side), share_right=share)
    expected = statistic(lambda p: float(field[0, p[0] + margin, p[1] + margin]), (0, 0), radius, rule)
    assert score_map_statistics(field, radius=radius, rule=rule)[0] == expected
    plan = TranslationPlan(Translations(radius), rule)
    outcome, n_scored = run_plan(plan, lambda v: field[0, margin + v[0], margin + v[1]])
    assert outcome.statistic == expected
    at_once, n_eager = run_plan(plan, lambda v: field[0, margin + v[0], margin + v[1]], eager=True)
    assert at_once.statistic == expected
    assert n_eager >= n_scored
    reach = 1 if outcome.kind == UNTOUCHED else 2
    # (2r+1)^2 where nothing is wrong nearby; else within 2r of the final point and r of x
    bound = (2 * radius * reach + 1) ** 2 + (0 if reach == 1 else (2 * radius + 1) ** 2)
    assert n_scored <= bound


@settings(max_examples=25, deadline=None)
@given(seed=seeds, radius=st.integers(1, 3), extra=st.integers(0, 8), share=st.sampled_from([0.3, 0.8]))
@pytest.mark.parametrize("rule", RULES)
def test_lazy_equals_dense_on_the_torus(rule, seed, radius, extra, share):
    height, width = 2 * radius + 1 + extra, 2 * radius + 2 + extra
    field = random_field(seed, (1, height, width), share_right=share)
    T = score_map_statistics(field, radius=radius, rule=rule, wrap=True)
    plan = TranslationPlan(Translations(radius), rule, period=(height, width))
    for start in [(0, 0), (height // 2, 1), (height - 1, width - 1)]:
        outcome, n_scored = run_plan(plan, lambda v, s=start: field[0, (s[0] + v[0]) % height, (s[1] + v[1]) % width])
        assert outcome.statistic == T[0][start]
        assert n_scored <= height * width


@pytest.mark.parametrize("rule", RULES)
def test_statistic_stays_inside_its_range_and_reaches_it(rule):
    orbit = Translations(1)
    low, high = orbit.statistic_range(rule)
    T = np.concatenate([
        score_map_statistics(random_field(s, (200, 7, 7), share_right=p), radius=1, rule=rule)
        for s, p in enumerate([0.05, 0.2, 0.5, 0.9, 0.98])
    ])  # fmt: skip
    assert low <= T.min()
    assert T.max() <= high
    alone_wrong = np.zeros((1, 7, 7))
    alone_wrong[0, 3, 3] = 1.0
    alone_right = np.ones((1, 7, 7))
    alone_right[0, 3, 3] = 0.0
    ends = [score_map_statistics(f, radius=1, rule=rule)[0] for f in (alone_wrong, alone_right)]
    assert ends == pytest.approx([low, high], abs=1e-15)


# Fields worked by hand. Rows go down, columns right; the picture is at the centre.


def test_by_hand_tie_order():
    """Two equally bad neighbours of the right centre: the one above comes first in row-major order.

    g(centre) = above (-1, 0). Who else goes there? The right points around (-1, 0) see it, and those
    that also see (0, 1) prefer (-1, 0) only if their move to it comes first. Every right point z
    within 1 of (-1, 0) has it either as its only wrong candidate or above (0, 1): the move to
    (-1, 0) has the smaller row, so it wins always. Of the 8 neighbours of (-1, 0) only (0, 1) is
    wrong: n = 7, T = 1/8.
    """
    field = np.zeros((1, 7, 7))
    field[0, 2, 3] = field[0, 3, 4] = 1.0  # (-1, 0) and (0, 1)
    assert score_map_statistics(field, radius=1, rule="strongest")[0] == 1 / 8
    moved = np.roll(field, -1, axis=2)  # the wrong point (0, 1) is now the centre, the other at (-1, -1)
    # Of its 8 neighbours one is wrong, and the two that see (-1, -1) too, (-1, 0) and (0, -1),
    # prefer that, which comes first: 8 - 1 - 2 = 5 come here.
    assert score_map_statistics(moved, radius=1, rule="strongest")[0] == 1 / 6 - 1


def test_by_hand_nearest_is_euclidean():
    """From the right centre: (1, 1) at distance sqrt 2, (0, 2) at 2, (-2, -2) at sqrt 8, all wrong.

    Row-major order would take (-2, -2), the max-norm (1, 1) too, the 1-norm ties (1, 1) with (0, 2)
    and would take (0, 2), which comes first. Euclid takes (1, 1).
    """
    field = np.zeros((1, 13, 13))
    for down, right in [(1, 1), (0, 2), (-2, -2)]:
        field[0, 6 + down, 6 + right] = 1.0
    plan = TranslationPlan(Translations(2), "nearest")
    outcome, _ = run_plan(plan, lambda v: field[0, 6 + v[0], 6 + v[1]])
    assert outcome.kind == ADVERSARIAL
    assert outcome.move == (1, 1)
    assert outcome.statistic == score_map_statistics(field, radius=2, rule="nearest")[0]


def test_by_hand_nearest_among_equals_is_the_first():
    field = np.zeros((1, 13, 13))
    for down, right in [(0, 1), (1, 0), (0, -1)]:
        field[0, 6 + down, 6 + right] = 1.0
    outcome, _ = run_plan(TranslationPlan(Translations(2), "nearest"), lambda v: field[0, 6 + v[0], 6 + v[1]])
    assert outcome.move == (0, -1)


def test_by_hand_direction_of_the_move():
    """The only wrong point lies two below: the move is (+2, 0), not (-2, 0)."""
    field = np.zeros((1, 13, 13))
    field[0, 8, 6] = 1.0
    outcome, _ = run_plan(TranslationPlan(Translations(2), "strongest"), lambda v: field[0, 6 + v[0], 6 + v[1]])
    assert outcome.move == (2, 0)
    assert outcome.statistic == 1 / 25  # all 24 right points around it go there
    assert outcome.moved_loss == 1.0


def test_kinds_and_undefined_weights():
    plan = TranslationPlan(Translations(1), "strongest")
    untouched, n = run_plan(plan, lambda v: 0.0)
    assert (untouched.kind, untouched.statistic, n) == (UNTOUCHED, 0.0, 9)
    assert math.isnan(untouched.weight)
    wrong, _ = run_plan(plan, lambda v: 1.0)
    assert (wrong.kind, wrong.weight, wrong.statistic) == (WRONG, 1.0, 0.0)


def test_lazy_is_lazy():
    """A hill of scores: nearly every z is settled by one look uphill."""
    plan = TranslationPlan(Translations(2), "strongest")
    _, n_scored = run_plan(plan, lambda v: 10.0 + v[0] + 0.1 * v[1])
    assert n_scored <= 30


@pytest.mark.parametrize(
    ("scores", "options", "sentence"),
    [
        (np.zeros((2, 5, 5)), {"radius": 1}, "the largest radius that fits is 0"),
        (np.zeros((2, 13, 13)), {"radius": 3, "rule": "random"}, None),
        (np.zeros((2, 13, 13)), {"radius": 3}, "the largest radius that fits is 2"),
        (np.zeros((2, 4, 4)), {"radius": 2, "wrap": True}, "the largest radius that fits is 1"),
        (np.full((1, 7, 7), np.nan), {"radius": 1}, "not finite"),
        (np.zeros((7, 7)), {"radius": 1}, r"\(n, H, W\)"),
        (np.zeros((1, 7, 7)), {"radius": 0}, "at least 1"),
        (np.zeros((1, 7, 7)), {"radius": 1, "rule": "best"}, "choose one of strongest"),
    ],
)
def test_bad_input(scores, options, sentence):
    if sentence is None:
        assert score_map_statistics(scores, **options).shape == (2,)
        return
    with pytest.raises(InputError, match=sentence):
        score_map_statistics(scores, **options)
