"""Pearson's chi-squared against SciPy's, on tables of every width."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from heldout.statistics.homogeneity import homogeneity_p_value


@pytest.mark.parametrize("columns", [2, 3, 9])  # 2: with Yates's correction
def test_oracle(rng, columns):
    for _ in range(50):
        table = rng.integers(0, 2 * columns, (2, columns)) + np.eye(2, columns, dtype=int)
        table[0, table.sum(axis=0) == 0] = 1
        assert homogeneity_p_value(table) == pytest.approx(chi2_contingency(table).pvalue, rel=1e-12, abs=1e-300)


def test_tables_without_expected_counts_are_refused():
    for table in ([[3, 0], [4, 0]], [[0, 0], [4, 1]]):
        with pytest.raises(AssertionError):
            homogeneity_p_value(table)
