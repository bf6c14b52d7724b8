"""Where draws alone could have decided otherwise, pages say so: the level is put beside p."""

import numpy as np
import pytest

import heldout


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
