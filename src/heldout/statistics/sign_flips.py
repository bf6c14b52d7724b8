"""Paired permutation test: the signs of differences are flipped at random.

The null is that a difference is as likely to be d as -d, which is so where it is arbitrary which of two models gave
which score. Under it the test is exact; where the differences of equally good models are skewed it is not, and may tell
them apart far too often (`bounded_differences` then holds). With the squares of the differences fixed, Student's
statistic grows with the absolute sum, so flips of the plain sum are those of the studentised one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

EXACT = 16  # differences up to which every flip is counted
DRAWS = 9_999
MOST = 5_000  # differences beyond which Student's law, which flips come to follow, is used
BLOCK = 2_000_000  # signs drawn at once
ROUNDING = 1e-9  # of the largest sum there is; sums closer than this are equal


def sign_flip_p_value(differences: ArrayLike, *, seed: int = 0) -> float:
    """Two-sided p that differences are symmetric around 0; zeros carry nothing.

    Examples
    --------
    >>> sign_flip_p_value([0.2, 0.1, 0.3, 0.0, 0.1])  # 2 of 16 sums are as far out
    0.125
    >>> sign_flip_p_value([0.0, 0.0])
    1.0
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    n = len(d)
    if n == 0:
        return 1.0
    least = abs(d.sum()) - ROUNDING * np.abs(d).sum()
    if n <= EXACT:
        sums = np.zeros(1)
        for value in d:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= least))
    if n > MOST:
        spread = d.std(ddof=1)
        return 0.0 if spread == 0 else float(2 * stdtr(n - 1, -abs(d.mean()) / (spread / np.sqrt(n))))
    rng = np.random.default_rng(seed)
    beyond = 0
    for start in range(0, DRAWS, step := max(1, BLOCK // n)):
        signs = rng.integers(0, 2, size=(min(step, DRAWS - start), n), dtype=np.int8)
        beyond += int(np.count_nonzero(np.abs(2 * (signs @ d) - d.sum()) >= least))
    return (beyond + 1) / (DRAWS + 1)
