"""Ranks with ties against SciPy's."""

import numpy as np
import pytest
from scipy.stats import rankdata

from heldout.statistics.ranks import average_ranks


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_oracle(rng, n):
    for values in (rng.integers(0, 5, n), rng.normal(size=n), np.zeros(n), rng.choice([-np.inf, 0.5, np.inf], n)):
        np.testing.assert_array_equal(average_ranks(values), rankdata(values))


def test_nan_has_no_rank():
    with pytest.raises(AssertionError):
        average_ranks([1.0, np.nan])
