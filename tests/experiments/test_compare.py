"""False alarms of `compare --groups`: what the simulation draws, and that what is told of it is what is kept."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from experiments.compare import levels, tables  # noqa: E402


@pytest.mark.parametrize("difference", [0.0, levels.OFF])
def test_models_differ_by_what_is_said(difference):
    for law in (levels.Law(60, 0.1, 5, 0.3), levels.Law(100, 0.3, 2, 0.7)):
        d, sizes = law.draw(20_000, difference, np.random.default_rng(0))
        assert d.sum() / sizes.sum() == pytest.approx(difference, abs=0.003)
        assert set(np.unique(sizes)) == {10, 10 * law.times}


def test_kept_results_are_of_these_laws():
    kept = tables.rows(levels.LEVELS)
    assert [levels.Law(*(row[name] for name in ("n_groups", "share", "times", "better"))) for row in kept] == [
        *levels.laws()
    ]
    assert [(row["alike"], row["n_groups"]) for row in tables.rows(levels.WIDTHS)] == [*levels.kinds()]


def test_a_law_drawn_again_says_the_same():
    row = next(row for row in tables.rows(levels.LEVELS) if row["told"]["as drawn"] > 0.7)
    law = levels.Law(row["n_groups"], row["share"], row["times"], row["better"])
    again = levels.false_alarms(law, 400, np.random.default_rng(1))
    for way in tables.WAYS:
        assert again["told"][way] == pytest.approx(row["told"][way], abs=0.1)
        assert again["missed"][way] == pytest.approx(row["missed"][way], abs=0.1)


def test_the_manual_says_what_is_kept():
    told = " ".join((ROOT / "docs" / "compare.md").read_text().split())
    assert tables.answer()[1:-2] in told
    assert tables.price()[:-1] in told
