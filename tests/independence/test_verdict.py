"""Outcomes, levels and words, from made statistics: no model."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.independence.evidence import Evidence, Examples, weigh
from heldout.independence.verdict import Verdict, few_groups_text, verdict
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


def words(evidence: Evidence, n_models=1) -> Verdict:
    return verdict(evidence, alternative="two-sided", tolerance=0.0, n_examples=400, n_groups=None, n_models=n_models)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_easier_is_dependence_only_if_the_control_is_a_random_draw(rng):
    evidence = weighed(examples(rng, 400, error=0.05), examples(rng, 400, error=0.3))
    found = words(evidence)
    assert evidence.outcome == found.outcome == "easier"
    assert found.title == "EASIER THAN THE CONTROL"
    assert "If the control is a random draw from the same source" in found.sentence
    assert "at level 0.05" in found.sentence


def test_harder_is_not_overfitting(rng):
    evidence = weighed(examples(rng, 400, error=0.3), examples(rng, 400, error=0.05))
    found = words(evidence)
    assert evidence.outcome == "harder"
    assert "not overfitting" in found.sentence
    assert "wrong labels" in found.sentence
    assert "depend" not in found.sentence


def test_one_sided_never_says_harder(rng):
    evidence = weighed(examples(rng, 400, error=0.3), examples(rng, 400, error=0.05), alternative="greater")
    assert evidence.outcome == "no evidence"
    assert evidence.p_value > 0.5


def test_no_evidence_names_both_halves(rng):
    evidence = weighed(examples(rng, 400, error=0.2), examples(rng, 400, error=0.2))
    found = words(evidence)
    assert evidence.outcome == "no evidence"
    assert "in T of" in found.sentence
    assert "in the error rate of" in found.sentence
    assert evidence.control is not None
    # Half the level for each half; 400 of each, a fifth wrong: (z_.0125 + z_.8) sqrt(2 * 0.16 / 400), roughly
    assert evidence.control.detectable_error.high == pytest.approx(3.083 * math.sqrt(2 * 0.16 / 400), rel=0.15)
    assert evidence.detectable.low <= evidence.detectable_effect == evidence.detectable.high


def test_halves_that_disagree_are_told(rng):
    test, control = examples(rng, 600, error=0.3, adversarial=0.9), examples(rng, 600, error=0.1, adversarial=0.1)
    evidence = weighed(test, control)
    assert evidence.control is not None
    assert evidence.control.disagree(0.05)
    assert "opposite directions" in words(evidence).sentence


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
    assert "times 50 planned audits" in words(planned).sentence


def test_e_value_goes_with_the_verdict(rng):
    test, control = examples(rng, 400, error=0.1), examples(rng, 400, error=0.3)
    with_control, alone = weighed(test, control), weighed(test, None)
    assert with_control.log_e_value > math.log(20)
    assert alone.log_p_values["mixture"] == pytest.approx(min(0.0, -alone.log_e_value))


def test_without_a_control(rng):
    found = words(weighed(examples(rng, 400, error=0.05, adversarial=0.6), None))
    assert found.title == "REJECTED"
    assert "before a control" in found.sentence
    silent = words(weighed(examples(rng, 400, error=0.1, adversarial=0.11), None))
    assert silent.title == "NO EVIDENCE"
    assert "two assumptions" in silent.sentence


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


def test_few_groups_are_warned_of():
    assert "only 11 groups" in str(few_groups_text("the control", 11))
    assert few_groups_text("the control", 30) is None


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
    found = verdict(evidence, alternative="two-sided", tolerance=0.0, n_examples=n, n_groups=n - large + 1, n_models=1)
    assert "each group counted once, is 0.4967 higher" in found.sentence
