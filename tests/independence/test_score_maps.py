"""The torus oracle, an independent brute force, and small fields worked by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout import Translations, score_map_statistics
from heldout.errors import InputError
from heldout.independence.plan import ADVERSARIAL, UNTOUCHED, WRONG, Plan
from heldout.orbit import RULES
from heldout.orbit.table import Orbit
from heldout.scorers.arrays import Arrays, NumpyArrays, TorchArrays

from .brute_force import statistic, torus_total
from .picture_plan import Outcome, TranslationPlan


def random_field(seed: int, shape: tuple[int, ...], levels: int = 4, share_right: float = 0.6) -> np.ndarray:
    """Few distinct scores, so that ties are everywhere."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, levels + 1, size=shape) / 4.0
    return np.where(rng.random(shape) < share_right, 0.0, scores)


def run_plan(plan: Plan, scores: np.ndarray, *, ask: int = 3, arrays: Arrays | None = None):
    """Outcomes of many pictures, one row of `scores` each, and how many scores each one asked for."""
    xp = arrays or NumpyArrays()
    maps, scores = xp.full(scores.shape, math.nan), xp.put(scores)
    while True:
        decision = plan.decide(maps, ask)
        asked, settled = xp.get(decision.asked), xp.get(decision.settled)
        assert (asked.any(axis=1) != settled).all(), "a picture is settled, or asks"
        assert np.isnan(xp.get(maps)[asked]).all(), "a position is asked for twice"
        wanted = xp.get(decision.open)
        assert (asked.sum(axis=1) == np.minimum(wanted, ask))[wanted > 0].all(), "what more would be asked for is told"
        if settled.all():
            found = {name: xp.get(values) for name, values in vars(decision).items() if values is not None}
            return SimpleNamespace(**found), (~np.isnan(xp.get(maps))).sum(axis=1)
        maps[decision.asked] = scores[decision.asked]


def translation_plan(radius: int, rule: str, *, period=None, arrays: Arrays | None = None) -> Plan:
    return Plan(Translations(radius).table(rule, period=period), rule, arrays)


def scores_of(plan: Plan, score_at) -> np.ndarray:
    """One picture whose score at each shift is given."""
    return np.array([[score_at(shift) for shift in plan.table.versions]])


def move_of(plan: Plan, found) -> tuple[int, int]:
    return tuple(plan.table.moves[found.move[0]].tolist())


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
    fields = random_field(seed, (2, side, side), share_right=share)
    expected = [statistic(lambda p, f=f: float(f[p[0] + margin, p[1] + margin]), (0, 0), radius, rule) for f in fields]
    assert score_map_statistics(fields, radius=radius, rule=rule).tolist() == expected
    plan = translation_plan(radius, rule)
    found, n_scored = run_plan(plan, fields.reshape(2, -1))
    assert found.statistic.tolist() == expected
    at_once, n_at_once = run_plan(plan, fields.reshape(2, -1), ask=plan.table.n_positions)
    assert at_once.statistic.tolist() == expected
    assert (n_at_once >= n_scored).all()
    # (2r+1)^2 where nothing is wrong nearby; else within 2r of the final point and r of x
    window, around = (2 * radius + 1) ** 2, (4 * radius + 1) ** 2
    assert (n_scored <= np.where(found.kind == UNTOUCHED, window, around + window)).all()


@settings(max_examples=25, deadline=None)
@given(seed=seeds, radius=st.integers(1, 3), extra=st.integers(0, 8), share=st.sampled_from([0.3, 0.8]))
@pytest.mark.parametrize("rule", RULES)
def test_lazy_equals_dense_on_the_torus(rule, seed, radius, extra, share):
    height, width = 2 * radius + 1 + extra, 2 * radius + 2 + extra
    field = random_field(seed, (1, height, width), share_right=share)
    T = score_map_statistics(field, radius=radius, rule=rule, wrap=True)
    plan = translation_plan(radius, rule, period=(height, width))
    starts = np.array([(0, 0), (height // 2, 1), (height - 1, width - 1)])
    places = (starts[:, None] + plan.table.versions) % (height, width)
    found, n_scored = run_plan(plan, field[0][places[..., 0], places[..., 1]])
    assert found.statistic.tolist() == [T[0][tuple(start)] for start in starts]
    assert n_scored.max() <= height * width


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("period", [None, (7, 8), (12, 13)])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_many_pictures_at_once_are_decided_as_one_by_one(rule, period, kind):
    """The same requests and outcomes as the plan that looks at one picture at a time, on either kind of array."""
    if kind == "torch":
        torch = pytest.importorskip("torch")
        arrays: Arrays = TorchArrays(torch.device("cpu"))
    else:
        arrays = NumpyArrays()
    plan = translation_plan(2, rule, period=period, arrays=arrays)
    scores = random_field(5, (30, plan.table.n_positions), share_right=0.7)
    found, n_scored = run_plan(plan, scores, arrays=arrays)
    one = TranslationPlan(Translations(2), rule, period=period)
    assert np.array_equal(one.move_of, plan.table.versions)
    for i, field in enumerate(scores):
        known = np.full(one.size, np.nan)
        while not isinstance(outcome := one.decide(known), Outcome):
            known[outcome] = field[outcome]
        assert n_scored[i] == (~np.isnan(known)).sum()
        move = plan.table.moves[found.move[i]] if found.move[i] >= 0 else (0, 0)
        assert (outcome.kind, *outcome.move) == (found.kind[i], *move)
        for name in ("statistic", "weight", "moved_loss", "moved_score"):
            assert np.array_equal(getattr(outcome, name), getattr(found, name)[i], equal_nan=True), name


def test_what_a_plan_is_made_of():
    orbit = Translations(2)
    assert isinstance(orbit, Orbit)
    for rule in RULES:
        assert orbit.table(rule).n_moves == len(orbit)
    assert not isinstance(orbit.table("strongest"), Orbit)


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
    plan = translation_plan(2, "nearest")
    outcome, _ = run_plan(plan, field.reshape(1, -1))
    assert outcome.kind == ADVERSARIAL
    assert move_of(plan, outcome) == (1, 1)
    assert outcome.statistic == score_map_statistics(field, radius=2, rule="nearest")[0]


def test_by_hand_nearest_among_equals_is_the_first():
    field = np.zeros((1, 13, 13))
    for down, right in [(0, 1), (1, 0), (0, -1)]:
        field[0, 6 + down, 6 + right] = 1.0
    plan = translation_plan(2, "nearest")
    assert move_of(plan, run_plan(plan, field.reshape(1, -1))[0]) == (0, -1)


def test_by_hand_direction_of_the_move():
    """The only wrong point lies two below: the move is (+2, 0), not (-2, 0)."""
    field = np.zeros((1, 13, 13))
    field[0, 8, 6] = 1.0
    plan = translation_plan(2, "strongest")
    outcome, _ = run_plan(plan, field.reshape(1, -1))
    assert move_of(plan, outcome) == (2, 0)
    assert outcome.statistic == 1 / 25  # all 24 right points around it go there
    assert outcome.moved_loss == 1.0


def test_kinds_and_undefined_weights():
    plan = translation_plan(1, "strongest")
    found, n = run_plan(plan, np.array([[0.0], [1.0]]).repeat(49, axis=1))
    assert found.kind.tolist() == [UNTOUCHED, WRONG]
    assert found.statistic.tolist() == [0.0, 0.0]
    assert n[0] == 9
    assert math.isnan(found.weight[0])
    assert found.weight[1] == 1.0


def test_lazy_is_lazy():
    """A hill of scores: nearly every z is settled by one look uphill."""
    plan = translation_plan(2, "strongest")
    _, n_scored = run_plan(plan, scores_of(plan, lambda v: 10.0 + v[0] + 0.1 * v[1]))
    assert n_scored[0] <= 30


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
