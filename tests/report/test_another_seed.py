"""Where draws alone could have decided otherwise, pages say so: the level is put beside p."""

from dataclasses import replace

import numpy as np
import pytest

import heldout
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.independence.gate import another_seed
from heldout.statistics.betting import Capital


def scores(level):
    rng = np.random.default_rng(0)
    test, control = rng.normal(0.08, 1, 300), rng.normal(0, 1, 300)
    return heldout.audit_scores(test, control, kind="margin", level=level, n_resamples=999)


def options(level):
    """A model that knows four printed letters of sixty, and else has a favourite place."""
    rng = np.random.default_rng(0)
    items = [
        {"question": f"Tree {i}?", "options": [f"{tree} {i}" for tree in ("oak", "ash", "elm")],
         "answer": int(rng.integers(3))}
        for i in range(60)
    ]  # fmt: skip
    letters = {item["question"]: item["answer"] if i < 4 else 0 for i, item in enumerate(items)}
    return heldout.options(items, lambda question, shown: letters[question], level=level, n_resamples=999)


@pytest.mark.parametrize("verb", [scores, options])
def test_another_seed_could_decide_otherwise_near_the_level(verb):
    p = verb(0.05).p_value
    assert 0.01 < p < 0.9
    error = np.sqrt(p * (1 - p) / 999)
    for level, told in ((p + error, True), (p - error, True), (p + 3 * error, False), (p - 3 * error, False)):
        warnings = verb(level).summary().warnings
        assert any("another seed could decide otherwise" in w for w in warnings) == told


@pytest.fixture(scope="module")
def alone():
    """Pictures without a control: the bets are the verdict."""
    rng = np.random.default_rng(0)
    pictures, labels = rng.random((60, 8, 8)), rng.integers(0, 2, 60)

    def halves(batch):
        return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)

    shown = LabelledImages(from_arrays(pictures, labels), Wrap())
    return heldout.audit(halves, shown, orbit=heldout.Translations(1), allow_chance=True)


@pytest.mark.parametrize(
    ("capital", "told"),
    [(Capital(share=0.97, error=0.02), True), (Capital(share=1.03, error=0.02), True),
     (Capital(share=0.95, error=0.02), False), (None, False)],
)  # fmt: skip
def test_pictures_without_a_control(alone, capital, told):
    near = replace(alone, evidence=replace(alone.evidence, betting_capital=capital))
    warnings = near.summary().warnings
    assert any("another seed could decide otherwise" in w for w in warnings) == told


def test_the_capital_of_pictures_without_a_control(alone, tmp_path):
    """At the level of the verdict it is kept, at that of a gate made anew; on the side on which p is at both."""
    kept = alone.evidence.betting_capital
    assert kept is not None
    assert (kept.share >= 1) == (alone.p_value <= alone.evidence.level)
    assert another_seed(alone, 0.05) == another_seed(replace(alone, evidence=alone.evidence), 0.05 * (1 + 1e-12))
    alone.save(tmp_path / "alone")
    assert heldout.AuditResult.load(tmp_path / "alone").evidence.betting_capital == kept


def test_a_control_has_no_capital():
    rng = np.random.default_rng(0)
    shown, control = (
        LabelledImages(from_arrays(rng.random((40, 8, 8)), rng.integers(0, 2, 40)), Wrap()) for _ in range(2)
    )
    found = heldout.audit(
        lambda batch: np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1),
        shown, control=control, orbit=heldout.Translations(1), allow_chance=True, n_resamples=199,
    )  # fmt: skip
    assert found.evidence.betting_capital is None
