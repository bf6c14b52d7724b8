"""Outcomes and levels, from made statistics: no model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.independence.evidence import Evidence, Examples, weigh
from heldout.independence.verdict import judge
from heldout.orbit import Translations


def examples(rng, n, *, error, adversarial=0.2, groups=None) -> Examples:
    """n examples of two classes with these shares of errors and of adversarial ones among the right."""
    wrong = rng.random(n) < error
    hit = ~wrong & (rng.random(n) < adversarial)
    kinds = np.where(wrong, 2, np.where(hit, 1, 0)).astype(np.int8)[None]
    weights = np.where(kinds > 0, 0.5, np.nan)
    statistics = np.where(kinds == 1, 0.5, np.where(kinds == 2, -0.5, 0.0))
    return Examples(
        statistics=statistics,
        weights=weights,
        kinds=kinds,
        moves=np.zeros((1, n, 2), dtype=np.int16),
        moved_losses=(kinds > 0).astype(float),
        moved_scores=np.zeros((1, n)),
        labels=np.arange(n) % 2,
        ids=tuple(map(str, range(n))),
        untouched_losses=(kinds == 2).astype(float),
        groups=groups,
    )


def weighed(test: Examples, control: Examples | None, **options) -> Evidence:
    settings = {"alternative": "two-sided", "tolerance": 0.0, "rng": np.random.default_rng(0), "n_resamples": 1999}
    return weigh(test, control, orbit=Translations(1), rule="strongest", **{**settings, **options})


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_easier(rng):
    evidence = weighed(examples(rng, 400, error=0.05), examples(rng, 400, error=0.3))
    found = evidence.ruling
    assert (found.outcome, found.direction, found.rests_on, found.level) == (
        "easier",
        "easier",
        "T and error rate",
        0.05,
    )
    assert found.log_p_value == evidence.adjusted_log_p_value


def test_harder(rng):
    evidence = weighed(examples(rng, 400, error=0.3), examples(rng, 400, error=0.05))
    assert (evidence.outcome, evidence.direction) == ("harder", "harder")


def test_one_sided_never_says_harder(rng):
    evidence = weighed(examples(rng, 400, error=0.3), examples(rng, 400, error=0.05), alternative="greater")
    assert (evidence.outcome, evidence.direction) == ("no evidence", None)
    assert evidence.p_value > 0.5


def test_both_halves_could_have_found_something(rng):
    evidence = weighed(examples(rng, 400, error=0.2), examples(rng, 400, error=0.2))
    assert evidence.outcome == "no evidence"
    assert evidence.control is not None
    # Half the level for each half; 400 of each, a fifth wrong: (z_.0125 + z_.8) sqrt(2 * 0.16 / 400), roughly
    assert evidence.control.detectable_error.high == pytest.approx(3.083 * math.sqrt(2 * 0.16 / 400), rel=0.15)
    assert evidence.detectable.low <= evidence.detectable_effect == evidence.detectable.high


def test_halves_may_disagree(rng):
    test, control = examples(rng, 600, error=0.3, adversarial=0.9), examples(rng, 600, error=0.1, adversarial=0.1)
    evidence = weighed(test, control)
    assert evidence.control is not None
    assert evidence.control.disagree(0.05)


def test_the_level_decides(rng):
    test, control = examples(rng, 400, error=0.14), examples(rng, 400, error=0.2)
    p = weighed(test, control).p_value
    assert 0.005 < p < 0.5
    below, above = (weighed(test, control, level=level) for level in (0.9 * p, 1.1 * p))
    assert (below.outcome, above.outcome) == ("no evidence", "easier")


def test_planned_audits_multiply_p(rng):
    test, control = examples(rng, 400, error=0.13), examples(rng, 400, error=0.2)
    alone, planned = weighed(test, control), weighed(test, control, planned_audits=50)
    assert planned.p_value == alone.p_value
    assert planned.adjusted_p_value == pytest.approx(min(1.0, 50 * alone.p_value))
    assert (alone.outcome, planned.outcome) == ("easier", "no evidence")
    assert planned.detectable_effect > alone.detectable_effect
    assert planned.ruling.log_p_value == planned.adjusted_log_p_value


def test_e_value_goes_with_the_verdict(rng):
    test, control = examples(rng, 400, error=0.1), examples(rng, 400, error=0.3)
    with_control, alone = weighed(test, control), weighed(test, None)
    assert with_control.log_e_value > math.log(20)
    assert alone.log_p_values["mixture"] == pytest.approx(min(0.0, -alone.log_e_value))


def test_without_a_control(rng):
    found = weighed(examples(rng, 400, error=0.05, adversarial=0.6), None)
    assert (found.outcome, found.direction, found.verdict_by) == ("rejected", "easier", "betting")
    silent = weighed(examples(rng, 400, error=0.1, adversarial=0.11), None)
    assert (silent.outcome, silent.direction) == ("no evidence", None)


def test_groups_reach_every_number(rng):
    """Each example five times, in groups: what one copy gives, for every p and for the verdict."""
    test, control = examples(rng, 200, error=0.1), examples(rng, 240, error=0.2)

    def copies(of: Examples) -> Examples:
        rows = np.repeat(np.arange(len(of)), 5)
        arrays = {k: v[:, rows] for k, v in vars(of).items() if isinstance(v, np.ndarray) and v.ndim > 1}
        return Examples(**arrays, labels=of.labels[rows], ids=tuple(map(str, range(len(rows)))), groups=rows)

    once, grouped = weighed(test, control), weighed(copies(test), copies(control))
    assert grouped.p_value == once.p_value
    assert grouped.log_p_values == pytest.approx(once.log_p_values)
    assert grouped.test_error_variance == pytest.approx(once.test_error_variance)
    assert grouped.intervals["adversarial_estimate"] == pytest.approx(once.intervals["adversarial_estimate"])
    assert grouped.detectable_effect == pytest.approx(once.detectable_effect)
    assert grouped.log_e_value == pytest.approx(once.log_e_value)
    ungrouped = weighed(Examples(**{**vars(copies(test)), "groups": None}), None)
    assert ungrouped.log_p_values["bernstein_uncapped"] < once.log_p_values["bernstein_uncapped"]


def test_a_p_at_the_level_is_found():
    for p, outcome in ((0.05, "harder"), (0.0500001, "no evidence")):
        assert judge(math.log(p), -1.0, level=0.05, rests_on="scores").outcome == outcome


def test_the_side_is_that_of_what_is_tested(rng):
    """One large group of losses, many single gains: the examples' mean is negative, the groups' positive."""
    n, large = 900, 600
    single = examples(rng, n, error=0.0, adversarial=1.0)
    kinds = np.where(np.arange(n) < large, 2, 1).astype(np.int8)[None]
    groups = np.r_[np.zeros(large, dtype=np.intp), np.arange(1, n - large + 1)]
    arrays = {"kinds": kinds, "statistics": np.where(kinds == 2, -0.5, 0.5), "untouched_losses": (kinds == 2) * 1.0}
    evidence = weighed(Examples(**{**vars(single), **arrays, "groups": groups}), None)
    assert evidence.statistic < 0 < evidence.tested_statistic
    assert evidence.outcome == "rejected"
    assert evidence.direction == "easier"
