"""The metrics against closed forms, and their intervals against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.memorization.label_noise import noisy_labels
from heldout.memorization.metrics import (
    Estimate,
    equal_steps,
    interval,
    largest_step,
    resampled_curves,
    resampled_trainings,
    slope,
    squared_distance,
)

RATES = np.arange(6) / 10


def test_a_line(rng):
    """SSE 0, and the largest step is its step."""
    for start, k in ((0.99, -0.3), (0.6, 0.2), (0.5, 0.0)):
        line = start + k * RATES
        assert squared_distance(line, RATES) == pytest.approx(0, abs=1e-30)
        assert largest_step(line) == pytest.approx(abs(k) / 10)
        assert slope(line, RATES) == pytest.approx(abs(k))


def test_slope_is_polyfit_s(rng):
    curves = rng.random((20, 6))
    np.testing.assert_allclose(slope(curves, RATES), [abs(np.polyfit(RATES, c, 1)[0]) for c in curves], rtol=1e-10)


def test_the_line_through_the_first_point_is_the_best_one(rng):
    """Against a search over slopes; and the unit of the strengths does not matter."""
    for curve in rng.random((5, 9)):
        r = np.arange(9.0)
        slopes = np.linspace(-1, 1, 20_001)
        searched = ((curve[1:] - curve[0] - slopes[:, None] * r[1:]) ** 2).sum(axis=1).min()
        assert squared_distance(curve, r) == pytest.approx(searched, abs=1e-6)
        assert squared_distance(curve, r / 16) == pytest.approx(float(squared_distance(curve, r)))


def test_whole_batches_of_curves(rng):
    curves = rng.random((4, 3, 6))
    for metric in (lambda c: slope(c, RATES), largest_step, lambda c: squared_distance(c, RATES)):
        found = metric(curves)
        assert found.shape == (4, 3)
        assert found[2, 1] == pytest.approx(float(metric(curves[2, 1])))


def test_equal_steps():
    assert equal_steps(np.arange(9) / 10)
    assert not equal_steps([0.0, 0.04, 0.06, 0.08, 0.09, 0.10])


@pytest.mark.parametrize(
    ("accuracies", "strengths"), [([0.5], [0.0]), ([0.5, 0.4], [0.0]), ([0.5, 0.4, 0.3], [0.0, 0.2, 0.1])]
)
def test_bad_curves(accuracies, strengths):
    for metric in (slope, squared_distance):
        with pytest.raises(InputError):
            metric(accuracies, strengths)


def test_intervals_cover_the_slope(rng):
    """Examples from a population whose curve is known: the 95 % interval holds it about 95 % of the time."""
    probabilities = np.linspace(0.95, 0.55, 6)
    true = float(slope(probabilities, RATES))
    inside = 0
    for _ in range(300):
        difficulty = rng.random(300)
        correct = difficulty[None, :] < probabilities[:, None]
        low, high = interval(slope(resampled_curves(correct, resamples=600, rng=rng), RATES))
        inside += low <= true <= high
    assert 0.90 <= inside / 300 <= 0.98


def test_trainings_that_differ_widen_the_interval(rng):
    """The spread of a mean over seeds must show, though every training has many examples."""
    n, seeds = 2000, 5
    inside = 0
    for _ in range(150):
        accuracy = np.clip(0.9 - 0.5 * RATES[:, None] + rng.normal(0, 0.03, (6, seeds)), 0, 1)
        correct = rng.random((6, seeds, n)) < accuracy[:, :, None]
        low, high = interval(slope(resampled_trainings(correct, resamples=200, rng=rng), RATES))
        inside += low <= 0.5 <= high
    assert inside / 150 > 0.85  # five seeds resampled fall a little short of 95 %
    alone = resampled_curves(correct[:, 0], resamples=200, rng=rng)
    assert alone.shape == (200, 6)


def test_resampling_keeps_means(rng):
    correct = rng.random((4, 3, 500)) < 0.7
    curves = resampled_trainings(correct, resamples=2000, rng=rng)
    np.testing.assert_allclose(curves.mean(axis=0), correct.mean(axis=(1, 2)), atol=0.004)


def test_estimates_say_why():
    assert str(Estimate(0.5, 0.4, 0.6)) == "0.5000 (0.4000 to 0.6000)"
    assert str(Estimate(float("nan"), float("nan"), float("nan"), "steps differ")) == "undefined: steps differ"


@pytest.mark.parametrize(("rate", "classes"), [(0.0, 10), (0.1, 10), (0.5, 2), (1.0, 3)])
def test_noise_is_always_wrong(rng, rate, classes):
    labels = rng.integers(0, classes, 1000)
    noisy = noisy_labels(labels, rate, classes=classes, rng=rng)
    assert (noisy != labels).sum() == round(1000 * rate)
    assert ((noisy >= 0) & (noisy < classes)).all()
    assert noisy.dtype == labels.dtype


def test_every_wrong_label_is_as_likely(rng):
    noisy = noisy_labels(np.zeros(30_000, dtype=np.uint8), 1.0, classes=4, rng=rng)
    counts = np.bincount(noisy, minlength=4)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 10_000).max() < 400


@pytest.mark.parametrize(
    ("labels", "rate", "classes"), [([0, 3], 0.1, 3), ([0, 1], 1.5, 2), ([0.5], 0.1, 2), ([0], 0.1, 1)]
)
def test_bad_noise(labels, rate, classes):
    with pytest.raises(InputError):
        noisy_labels(labels, rate, classes=classes, rng=np.random.default_rng(0))
