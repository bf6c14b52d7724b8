"""The metrics against closed forms, and their intervals against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.memorization.label_noise import noisy_labels
from heldout.memorization.metrics import (
    K_MAX,
    K_PTV,
    K_S,
    SSE,
    Estimate,
    equal_steps,
    estimate,
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


def covered(metric, true_curve, n, rng, *, repeats, resamples=400):
    """How often the interval holds the metric of the population that examples are drawn from."""
    strengths = np.arange(len(true_curve), dtype=float)
    falls = np.concatenate([[1 - true_curve[0]], -np.diff(true_curve), [true_curve[-1]]])
    inside = 0
    for _ in range(repeats):
        fell = np.repeat(np.arange(len(falls)), rng.multinomial(n, falls))
        correct = fell[None, :] > np.arange(len(true_curve))[:, None]
        resampled = resampled_curves(correct, resamples=resamples, rng=rng)
        found = estimate(metric, correct.mean(axis=1), strengths, resampled=resampled, n=n)
        inside += found.low <= float(metric(true_curve, strengths)) <= found.high + 1e-12
    return inside / repeats


CURVES = {
    "straight": np.linspace(1.0, 0.2, 9),
    "sudden": np.array([1, 0.95, 0.4, 0.35, 0.3, 0.3, 0.3, 0.3, 0.3]),
    "level": np.full(9, 0.97),
    "three equal steps": np.array([1, 0.8, 0.6, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]),
}


@pytest.mark.parametrize("metric", [K_S, K_MAX, SSE], ids=lambda m: m.name)
@pytest.mark.parametrize("curve", list(CURVES))
def test_intervals_hold_the_true_metric(rng, metric, curve):
    """Also where it has a corner: a straight curve has SSE 0, and equal steps are each the largest."""
    assert covered(metric, CURVES[curve], 300, rng, repeats=200) >= 0.91  # 95 % less 2.5 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 300, 2000])
@pytest.mark.parametrize("metric", [K_S, K_MAX, SSE], ids=lambda m: m.name)
@pytest.mark.parametrize("curve", list(CURVES))
def test_intervals_hold_the_true_metric_at_length(rng, metric, curve, n):
    assert covered(metric, CURVES[curve], n, rng, repeats=1000, resamples=1000) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "least"), [(5, 0.93), (10, 0.93)])
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.05])
def test_intervals_over_trainings_at_length(rng, seeds, least, spread):
    """Accuracy varies from training to training and from example to example; the slope's interval holds."""
    inside, n, repeats = 0, 300, 600
    for _ in range(repeats):
        accuracy = 0.75 - 0.5 * RATES[:, None] + rng.normal(0, spread, (6, seeds))
        hardness = rng.random(n) + rng.uniform(-0.05, 0.05, (6, seeds, n))
        correct = hardness < accuracy[:, :, None]
        resampled = resampled_trainings(correct, resamples=300, rng=rng)
        found = estimate(K_PTV, correct.mean(axis=(1, 2)), RATES, resampled=resampled, n=n)
        inside += found.low <= 0.5 <= found.high
    assert inside / repeats >= least


@pytest.mark.parametrize("metric", [K_MAX, SSE], ids=lambda m: m.name)
def test_percentiles_would_not(rng, metric):
    """The usual bootstrap interval of a metric with a corner misses a straight curve nearly every time: a test of
    the test above."""
    strengths, true = np.arange(9.0), CURVES["straight"]
    inside = 0
    for _ in range(40):
        correct = rng.random(300)[None, :] < true[:, None]
        low = np.quantile(metric(resampled_curves(correct, resamples=400, rng=rng), strengths), 0.025)
        inside += low <= float(metric(true, strengths))
    assert inside / 40 < 0.5


def test_trainings_that_differ_widen_the_interval(rng):
    """The spread of a mean over five seeds must show, though every training has many examples."""
    n, seeds = 500, 5
    inside = 0
    for _ in range(150):
        accuracy = np.clip(0.9 - 0.5 * RATES[:, None] + rng.normal(0, 0.03, (6, seeds)), 0, 1)
        correct = rng.random((6, seeds, n)) < accuracy[:, :, None]
        resampled = resampled_trainings(correct, resamples=200, rng=rng)
        found = estimate(K_PTV, correct.mean(axis=(1, 2)), RATES, resampled=resampled, n=n)
        inside += found.low <= 0.5 <= found.high
    assert inside / 150 > 0.90
    one = estimate(K_PTV, correct[:, 0].mean(axis=1), RATES, resampled=resampled_curves(
        correct[:, 0], resamples=200, rng=rng), n=n)  # fmt: skip
    assert one.high - one.low < 0.2


def test_trainings_that_failed_do_not_count(rng):
    correct = rng.random((3, 4, 200)) < 0.8
    done = np.ones((3, 4), dtype=bool)
    done[1, 2] = False
    correct[1, 2] = False
    curves = resampled_trainings(correct, resamples=500, rng=rng, done=done)
    assert curves[:, 1].mean() == pytest.approx(correct[1][done[1]].mean(), abs=0.005)
    with pytest.raises(InputError, match="without a training"):
        resampled_trainings(correct, resamples=5, rng=rng, done=np.zeros((3, 4), dtype=bool))


def test_no_answer_changed_is_no_certainty():
    """Rule of three: what happens to one example in a hundred is missed by 300 about once in twenty times."""
    correct = np.ones((6, 300), dtype=bool)
    resampled = resampled_curves(correct, resamples=50, rng=np.random.default_rng(0))
    found = estimate(K_S, np.ones(6), RATES, resampled=resampled, n=300)
    assert found.value == 0
    step = float(slope([1, 1, 1, 0, 0, 0], RATES))  # an example that falls in the middle and stays down
    assert found.high == pytest.approx(step * 2.9957 / 300, rel=1e-3)


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
