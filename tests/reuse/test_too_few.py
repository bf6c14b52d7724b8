"""What no model was asked is no example."""

import numpy as np
import pytest

from heldout import Predictions, budget


def table(own, kind, models=2, n=100):
    """Models with as many answers each, of a hundred examples, and one example less in common."""
    observed = np.zeros((models, n), dtype=bool)
    for i in range(models):
        observed[i, i : own + i] = True
    if kind == "correct":
        return Predictions.from_correct(observed.astype(int), observed=observed)
    return Predictions.from_scores(np.where(observed, 0.9, np.nan), missing="nan")


@pytest.mark.parametrize("kind", ["correct", "scores"])
def test_five_answers_of_each_model_are_too_few_in_whatever_table(kind):
    """All right: with examples that nobody has counted in, two models fitted at ±45 points."""
    few, more = (budget(table(own, kind), epsilon=0.45) for own in (5, 30))
    assert few.too_few
    assert few.testable.count == 0
    assert "5 examples are too few" in few.testable.reason
    assert not more.too_few
