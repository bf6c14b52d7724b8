"""p-values against a control, made anew from docs/numbers.md alone: plain loops, and random numbers of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from heldout import audit_scores, control_test
from heldout.statistics import leak_scores

Floats = NDArray[np.float64]
B = 2000


def studentised(x: Floats, is_test: NDArray[np.bool_], classes: NDArray[np.int64]) -> float:
    """Steps 1 to 3."""
    shared = [c for c in np.unique(classes) if 0 < is_test[classes == c].sum() < (classes == c).sum()]
    cells = [(x[is_test & (classes == c)], x[~is_test & (classes == c)]) for c in shared]
    w = np.array([len(a) * len(b) / (len(a) + len(b)) for a, b in cells])
    w /= w.sum()
    difference = sum(v * (a.mean() - b.mean()) for v, (a, b) in zip(w, cells, strict=True))
    variance = 0.0
    for side in (0, 1):
        own = [pair[side] for pair in cells]
        within = sum(((a - a.mean()) ** 2).sum() for a in own) / (sum(map(len, own)) - len(own))
        variance += within * sum(v**2 / len(a) for v, a in zip(w, own, strict=True))
    return float(difference / math.sqrt(variance))


def permuted(rows: list[Floats], is_test: NDArray[np.bool_], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(statistics, 1 + B): the observed split, then random ones within class."""
    rng, splits = np.random.default_rng(99), [is_test]
    for _ in range(B):
        split = is_test.copy()
        for c in np.unique(classes):
            split[classes == c] = rng.permutation(split[classes == c])
        splits.append(split)
    return np.array([[studentised(x, split, classes) for split in splits] for x in rows])


def close(found: float, again: float) -> bool:
    """Two Monte Carlo estimates of one p, each of B draws or more."""
    return abs(found - again) <= 4 * math.sqrt(2 * max(again, 1 / B) * (1 - again) / B)


def mean_in_bins(values: Floats, by: Floats) -> Floats:
    n_bins = min(max(len(by) // 50, 1), 40)
    edges = np.unique(np.quantile(by, np.arange(1, n_bins) / n_bins))
    bins = np.array([(edges < v).sum() for v in by])
    return np.array([values[bins == b].mean() for b in bins])


def test_the_error_rate_against_the_control(rng: np.random.Generator) -> None:
    """Shares of classes differ, so that weights matter; errors of one model, so that ties do."""
    classes = np.concatenate([rng.choice(3, 90, p=[0.6, 0.3, 0.1]), rng.choice(3, 120, p=[0.2, 0.3, 0.5])])
    errors = (rng.random(210) < 0.25 + 0.1 * classes).astype(float)
    is_test = np.arange(210) < 90
    errors[is_test] *= rng.random(90) < 0.8
    found = control_test(
        -errors[:90], -errors[90:], classes_test=classes[:90], classes_control=classes[90:], rng=rng, n_resamples=9999
    )
    t = permuted([-errors], is_test, classes)[0]
    assert close(found.p_greater, (t >= t[0] - 1e-9).mean())
    assert close(found.p_two_sided, (abs(t) >= abs(t[0]) - 1e-9).mean())
    assert 0.001 < found.p_greater < 0.5, "or nothing is compared"


@pytest.mark.parametrize("raised", [12, 0])
def test_the_leak_test(raised: int, rng: np.random.Generator) -> None:
    hard = rng.normal(size=360)
    x, references = hard + 0.5 * rng.normal(size=360), hard + 0.5 * rng.normal(size=(2, 360))
    x[:raised] += 1.0
    classes, is_test = rng.integers(0, 2, 360), np.arange(360) < 180
    centred = (references.T - references.mean(axis=1)).astype(float)
    fitted = x.mean() + centred @ nnls(centred, x - x.mean())[0]
    expected = fitted + mean_in_bins(x - fitted, fitted)
    r = x - expected
    s = np.maximum(np.sqrt(mean_in_bins(r**2, expected)), 0.25 * math.sqrt((r**2).mean()))
    g = 0.25 * np.maximum(np.quantile(x, 0.95) - expected, 0)
    tail = np.log(1 + 0.1 * (np.exp(np.minimum((g * r - g**2 / 2) / s**2, 50)) - 1))
    again = leak_scores(x, references)
    np.testing.assert_allclose(again.residuals, r, atol=1e-12)
    np.testing.assert_allclose(again.sparse, tail, atol=1e-12)
    t = permuted([r, tail], is_test, classes)
    p = np.array([[(row >= v - 1e-9).mean() for v in row] for row in t])
    leak = audit_scores(
        x[:180], x[180:], references=[(row[:180], row[180:]) for row in references], kind="margin",
        classes=(classes[:180], classes[180:]),
    ).leak.test  # fmt: skip
    assert close(leak.mean.p_greater, p[0, 0])
    assert close(leak.sparse.p_greater, p[1, 0])
    assert close(leak.p_greater, (p.min(axis=0) <= p[:, 0].min()).mean())
