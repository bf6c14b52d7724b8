"""Whether two sets have one law: of their classes, or of the sizes of their groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from heldout.groups import group_codes, group_sizes

OTHER_SIZES = 0.05  # level at which two sets are taken to differ in the sizes of their groups


def homogeneity_p_value(table: ArrayLike) -> float:
    """P-value that the rows of a table of counts have one law: Pearson's chi-squared, with Yates's correction at 2 x 2.

    Examples
    --------
    >>> round(homogeneity_p_value([[10, 20], [20, 10]]), 6), round(homogeneity_p_value([[10, 20, 5], [20, 10, 5]]), 6)
    (0.020137, 0.035674)
    """
    counts = np.asarray(table, dtype=np.float64)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    assert expected.all(), "a row or a column of zeros has no law to compare"
    apart = np.abs(counts - expected)
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom == 1:
        apart = np.maximum(apart - 0.5, 0.0)
    return float(chdtrc(freedom, np.sum(apart**2 / expected)))


def sizes_differ(groups: ArrayLike | None, others: ArrayLike | None, n: int, n_others: int) -> bool:
    """Whether group sizes have another law in one set than in the other: chi-squared at 0.05, sizes in powers of two.

    Examples without groups are groups of one.

    Examples
    --------
    >>> sizes_differ(None, np.repeat(np.arange(30), 30), 200, 900), sizes_differ(None, np.arange(90), 200, 90)
    (True, False)
    """
    both = ((groups, n), (others, n_others))
    codes = [np.arange(size) if given is None else group_codes(given, size) for given, size in both]
    counts = [np.bincount(np.log2(group_sizes(c)).astype(np.intp), minlength=64) for c in codes]
    table = np.stack(counts)[:, np.sum(counts, axis=0) > 0]
    return table.shape[1] > 1 and homogeneity_p_value(table) <= OTHER_SIZES
