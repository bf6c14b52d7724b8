"""p of T by the rule `strongest` with radius 2: heldout's range of T and v1's, averages of networks, random subsets."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np
import published

from heldout.orbit import Translations
from heldout.statistics import independence_test

N_SUBSETS = 200  # v1, figures 10 and 11


def p_of(T: np.ndarray, method: str = "bernstein") -> float:
    return _p_of_bytes(T.tobytes(), method)


@functools.cache
def _p_of_bytes(T: bytes, method: str) -> float:
    """Betting takes a while, and several tables ask for the same."""
    lower, upper = Translations(2).statistic_range("strongest")
    return independence_test(np.frombuffer(T), lower=lower, upper=upper, method=method).p_value


def p_by_v1(T: np.ndarray) -> float:
    """By (8) with v1's U = 3/2; the tight range of T that heldout takes has 1.46."""
    lower, upper = published.RANGE
    return independence_test(T, lower=lower, upper=upper, method="bernstein").p_value


def by_betting(T: np.ndarray) -> float:
    return p_of(T, "betting")


def z_of(T: np.ndarray) -> float:
    """Of its mean, as if pictures were drawn independently."""
    return T.mean() / (T.std(ddof=1) / len(T) ** 0.5)


def averages(T: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
    """T of `size` networks averaged, picture by picture; no network is in two averages (v1 3.1)."""
    return [np.mean(T[i : i + size], axis=0) for i in range(0, len(T) - size + 1, size)]


def subsets(
    T: Sequence[np.ndarray], pictures: int, count: int = N_SUBSETS, weights: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`count` random subsets of so many pictures, of each T in turn: T there, and which pictures."""
    rng = np.random.default_rng(0)
    for i in range(count):
        t = T[i % len(T)]
        which = (
            rng.permutation(len(t))[:pictures] if weights is None else rng.choice(len(t), pictures, False, p=weights)
        )
        yield t[which], which
