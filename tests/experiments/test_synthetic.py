"""The synthetic problem of v1 section 4: its density, its training step, its command."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from tests.experiments.scripts import ROOT, load

measures, problem, synthetic, training = load(
    ROOT / "experiments" / "werpachowski", "measures", "problem", "synthetic", "training"
)
SIGMA, MARGIN = 1.5, 0.25  # small and wide, so that the margin matters

# (w, b): towards, across, against and nearly orthogonal to the true boundary, and far off it
MODELS = {
    1: [((1.0,), -0.6), ((2.0,), 1.1), ((-1.0,), 0.4), ((-0.5,), -0.8)],
    2: [((1.0, 0.4), 0.2), ((0.3, -1.0), 0.0), ((-1.0, 0.5), 0.3), ((0.002, 1.0), -0.7), ((1.0, 0.0), 2.5)],
}
STRENGTHS = [0.05, 0.3, 1.0, 2.2, 6.0]


# --- the slow way, from the definitions of section 4 -------------------------------------------------


def log_rho(x):
    """ln of the density of x up to a constant, -inf in the margin."""
    if abs(x[0]) <= MARGIN:
        return -math.inf
    mean = np.zeros(len(x))
    mean[0] = math.copysign(1.0, x[0])
    return -float(np.sum((x - mean) ** 2)) / (2 * SIGMA**2)


def loss(x, w, b):
    return float(np.sign(x[0]) * (w @ x + b) < 0)


def attack(x, w, b, strength):
    moved = x - strength * np.sign(x[0]) * w / np.linalg.norm(w)
    return moved if loss(x, w, b) == 0 and np.sign(moved[0]) == np.sign(x[0]) else x


def density(z, w, b, strength):
    """h_g at a wrong point z: rho(z) over the sum of rho over all points that g sends to z."""
    step = strength * w / np.linalg.norm(w)
    candidates = (z + step, z - step)
    origins = [x for x in candidates if np.allclose(attack(x, w, b, strength), z, atol=1e-12, rtol=0)]
    assert len(origins) <= 1  # "x and x' are the only points mapped to x'"
    rho = math.exp(log_rho(z))
    return rho / (rho + sum(math.exp(log_rho(x)) for x in origins)) if rho else 0.0


def slow_statistic(x, w, b, strength):
    image = attack(x, w, b, strength)
    gain = density(image, w, b, strength) if loss(image, w, b) else 0.0
    return gain - loss(x, w, b)


def fast_statistics(points, w, b, strength):
    labels = np.sign(points[:, 0])
    at = problem.project(points, labels, np.array(w), b)
    return problem.pairwise_statistics(at, strength=strength, sigma=SIGMA, margin=MARGIN)


CASES = [(d, w, b) for d, models in MODELS.items() for w, b in models]


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize(("dimension", "w", "b"), [*CASES, (3, (0.2, -1.0, 0.5), 0.1)])
def test_oracle(dimension, w, b, strength):
    rng = np.random.default_rng(0)
    points, _ = problem.draw_points(150, rng=rng, dimension=dimension, sigma=SIGMA, margin=MARGIN)
    points = points.astype(np.float64)
    found = fast_statistics(points, w, b, strength)
    slow = [slow_statistic(x, np.array(w), b, strength) for x in points]
    np.testing.assert_allclose(found.T, slow, atol=1e-12)
    assert found.T.min() >= -1.0
    assert found.T.max() <= 1.0
    errors = [loss(attack(x, np.array(w), b, strength), np.array(w), b) for x in points]
    np.testing.assert_array_equal(found.wrong_after, errors)
    np.testing.assert_array_equal(np.isnan(found.density), ~found.wrong_after)


def test_by_hand():
    """On the line with f(x) = sgn(x - 1): wrong on (0, 1), and 0.5 is where 1.5 goes at strength 1."""
    points = np.array([[1.5], [0.5], [1.125], [2.5], [-0.5], [1.95], [0.95]])
    found = fast_statistics(points, (1.0,), -1.0, 1.0)
    half = 1 / 2  # 0.5 and 1.5 lie at the same distance of the mean 1
    ratio = math.exp((0.95**2 - 0.05**2) / (2 * SIGMA**2))  # rho(0.95) / rho(1.95)
    h = ratio / (1 + ratio)
    # 1.125 goes to 0.125, in the margin: weight 0. 2.5 goes to 1.5, still right. -0.5 goes to 0.5? No:
    # it moves away from its own side, to +0.5, which has another label, so it stays.
    np.testing.assert_allclose(found.T, [half, half - 1, 0.0, 0.0, 0.0, h, h - 1], atol=1e-15)
    np.testing.assert_array_equal(found.wrong_after, [1, 1, 1, 0, 0, 1, 1])


# --- the integral of T rho is 0 ---------------------------------------------------------------------

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def panels(breaks, lowest=-14.0, highest=14.0):
    """Gauss-Legendre nodes and weights on the pieces between the breaks, each cut to length 3."""
    edges = sorted({lowest, highest, *(x for x in breaks if lowest < x < highest)})
    fine = []
    for low, high in itertools.pairwise(edges):
        fine.extend(np.linspace(low, high, 1 + math.ceil((high - low) / 3))[:-1])
    fine = np.array([*fine, highest])
    half = np.diff(fine) / 2
    return ((fine[:-1] + half)[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def integrate_t(w, b, strength):
    """Integrals of T rho and of |T| rho, pieces cut where T jumps."""
    u = np.array(w) / np.linalg.norm(w)
    offset = b / np.linalg.norm(w)
    shifts = (-strength, 0.0, strength)
    breaks = [m + s * u[0] for m in (-MARGIN, 0.0, MARGIN) for s in shifts]
    if not u[1:].any():  # the model's boundary is a value of x_1
        breaks += [(s - offset) / u[0] for s in shifts]
    if len(u) == 1:
        nodes, weights = panels(breaks)
        points = nodes[:, None]
    else:
        points, weights = [], []
        for x1, weight1 in zip(*panels(breaks), strict=True):
            inner = [(s - offset - u[0] * x1) / u[1] for s in shifts] if u[1] else []
            x2, weight2 = panels(inner)
            points.append(np.column_stack([np.full(len(x2), x1), x2]))
            weights.append(weight1 * weight2)
        points, weights = np.concatenate(points), np.concatenate(weights)
    kept = np.abs(points[:, 0]) > MARGIN
    points, weights = points[kept], weights[kept]
    mean = np.zeros_like(points)
    mean[:, 0] = np.sign(points[:, 0])
    rho = np.prod(norm.pdf(points, mean, SIGMA), axis=1) / (2 * norm.sf(MARGIN, 1, SIGMA))
    T = fast_statistics(points, w, b, strength).T
    return [float(weights @ rho), float(weights @ (T * rho)), float(weights @ (np.abs(T) * rho))]


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize(("dimension", "w", "b"), CASES)
def test_mean_zero(dimension, w, b, strength):
    total, mean, size = integrate_t(w, b, strength)
    assert total == pytest.approx(1.0, abs=1e-9)
    assert abs(mean) < 1e-9
    if strength < 2:
        assert size > 1e-4  # not because nothing moves


def test_mean_zero_needs_the_label_clause():
    """The check bites: forget that the attack keeps the label, and the mean is off."""
    rng = np.random.default_rng(3)
    points, labels = problem.draw_points(200_000, rng=rng, dimension=2, sigma=SIGMA, margin=MARGIN)
    at = problem.project(points, labels, np.array([1.0, 0.4]), 0.2)
    good = problem.pairwise_statistics(at, strength=1.0, sigma=SIGMA, margin=MARGIN).T
    careless = problem.Projections(
        distance=at.distance, centred=at.centred, first=np.abs(at.first) + 9.0, slope=at.slope
    )
    bad = problem.pairwise_statistics(careless, strength=1.0, sigma=SIGMA, margin=MARGIN).T
    assert abs(good.mean()) < 5 * good.std() / math.sqrt(len(good))
    assert abs(bad.mean()) > 5 * bad.std() / math.sqrt(len(bad))


# --- parts ------------------------------------------------------------------------------------------


def test_log_density_ratio_in_500_dimensions():
    rng = np.random.default_rng(1)
    x, (y,) = problem.draw_points(1, rng=rng)
    w = rng.standard_normal(500)
    at = problem.project(x, np.array([y]), w, 0.3)
    mean = np.zeros(500)
    mean[0] = y
    moved = x[0] - 3.0 * y * w / np.linalg.norm(w)
    exact = norm.logpdf(moved, mean, problem.SIGMA).sum() - norm.logpdf(x[0], mean, problem.SIGMA).sum()
    assert problem.log_density_ratio(at.centred, shift=3.0)[0] == pytest.approx(exact, abs=1e-9)


def test_points_follow_their_law():
    points, labels = problem.draw_points(40_000, rng=np.random.default_rng(2), dimension=3)
    first = np.abs(points[:, 0])
    assert first.min() > problem.MARGIN
    np.testing.assert_array_equal(np.sign(points[:, 0]), labels)
    low = (problem.MARGIN - 1) / problem.SIGMA
    law = truncnorm(low, np.inf, loc=1, scale=problem.SIGMA)
    assert first.mean() == pytest.approx(law.mean(), abs=5 * law.std() / 200)
    assert points[:, 1:].std() == pytest.approx(problem.SIGMA, rel=0.02)
    assert abs(labels.mean()) < 5 / 200


def test_expected_error_is_the_mean_loss():
    w, b = np.array([0.7, -1.0, 0.4]), 5.0
    points, labels = problem.draw_points(200_000, rng=np.random.default_rng(4), dimension=3)
    wrong = np.mean(labels * (points @ w + b) < 0)
    assert problem.expected_error(w, b) == pytest.approx(wrong, abs=5 * 0.5 / math.sqrt(200_000))
    assert problem.expected_error(np.array([0.0, 1.0]), 0.0) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("name", sorted(training.OPTIMIZERS))
@pytest.mark.parametrize(("residual", "penalty"), [("exact", 0.0), ("zero-one", 3.0), ("sigmoid", 0.5)])
def test_training_step_follows_the_gradient(name, residual, penalty):
    """Against a numerical gradient and RMSProp written out, each run for itself."""
    optimizer = training.OPTIMIZERS[name]
    rng = np.random.default_rng(5)
    batch = rng.standard_normal((2, 6, 4)).astype(np.float32)
    batch[..., -1] = np.sign(batch[..., -1])  # the labels
    weights = rng.standard_normal((2, 4)).astype(np.float32)
    squares = rng.random((2, 4)).astype(np.float32)

    def objective(v, rows):
        return np.mean(np.logaddexp(0.0, -(rows @ v))) + penalty * v[0] ** 2

    expected = []
    for v, s, rows in zip(weights.astype(float), squares.astype(float), batch.astype(float), strict=True):
        nudges = 1e-5 * np.eye(len(v))
        gradient = [(objective(v + e, rows) - objective(v - e, rows)) / 2e-5 for e in nudges]
        s = optimizer.decay * s + (1 - optimizer.decay) * np.square(gradient)
        expected.append(v - 0.01 * np.array(gradient) / np.sqrt(s))  # epsilon is too small to see here
    training.training_step(weights, squares, batch, penalty=penalty, optimizer=optimizer, residual=residual)
    np.testing.assert_allclose(weights, expected, atol=1e-5)


@pytest.mark.parametrize(("init", "sd"), [("glorot-uniform", 0.0632), ("0.3", 0.3), ("zeros", 0.0)])
def test_initial_weights(init, sd):
    draws = [training.initial_weights(init, 500, rng=np.random.default_rng(s)) for s in range(20)]
    assert all(len(d) == 501 and d[-1] == 0 for d in draws)
    assert np.std([d[:-1] for d in draws]) == pytest.approx(sd, rel=0.03)


# --- the command ------------------------------------------------------------------------------------

QUICK = ["--runs", "4", "--steps", "200", "--seed", "11"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("synthetic")
    assert synthetic.main([*QUICK, "--out", str(out)]) == 0
    return out


def test_command(finished):
    results = json.loads((finished / "results.json").read_text(encoding="utf-8"))
    assert results["settings"]["seed"] == 11
    for case in ("independent", "overfitted"):
        rows = results[case]["by_strength"]
        assert {0.01, 0.1, 5, 6, 7, 8, 10, 20, 50, 75, 100} <= {row["strength"] for row in rows}
        assert all(len(row["p_values"]["1"]) == 4 and len(row["p_values"]["2"]) == 2 for row in rows)
        for row in rows:  # R_g = R_S + mean T
            parts = row["test_error"]["mean"] + row["mean_T"]["mean"]
            assert row["estimate"]["mean"] == pytest.approx(parts, abs=1e-5)
    assert all(row["p"]["1"]["mean"] > 0.5 for row in results["independent"]["by_strength"])
    assert measures.at_strength(results, "overfitted", 20.0)["p"]["1"]["mean"] < 0.05
    assert results["overfitted"]["expected_error"]["mean"] == pytest.approx(0.5, abs=0.02)
    for name in ("figure5.png", "figure6.png"):
        assert (finished / name).read_bytes().startswith(b"\x89PNG")
    assert not list(finished.glob(".*"))  # no half-written file


@pytest.mark.parametrize("n_saves", [3, 44])  # in the first case, and in the second
def test_resume_gives_the_same_bits(finished, tmp_path, monkeypatch, n_saves):
    save, saves = training.save_checkpoint, itertools.count(1)

    def save_then_fail(*args):
        save(*args)
        if next(saves) == n_saves:
            raise KeyboardInterrupt

    arguments = [*QUICK, "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(training, "save_checkpoint", save_then_fail)
        with pytest.raises(KeyboardInterrupt):
            synthetic.main([*arguments, "--checkpoint-seconds", "0"])
    assert not (tmp_path / "results.json").exists()
    for name in ("draw_figure5", "draw_figure6"):  # slow, and drawn from results.json alone
        monkeypatch.setattr(synthetic, name, lambda results, path: None)
    assert synthetic.main([*arguments, "--resume"]) == 0
    assert (tmp_path / "results.json").read_bytes() == (finished / "results.json").read_bytes()
    with np.load(finished / "checkpoint.npz") as whole, np.load(tmp_path / "checkpoint.npz") as resumed:
        np.testing.assert_array_equal(resumed["weights"], whole["weights"])


def test_resume_refuses_other_settings(finished, capsys):
    assert synthetic.main(["--runs", "5", "--steps", "200", "--out", str(finished), "--resume"]) == 2
    assert "runs, seed" in capsys.readouterr().err


def test_run_does_not_depend_on_the_number_of_runs(finished, tmp_path):
    results = json.loads((finished / "results.json").read_text(encoding="utf-8"))
    settings = {**results["settings"], "runs": 2}
    fewer = training.train(settings, checkpoint=tmp_path / "checkpoint.npz", resume=False)
    with np.load(finished / "checkpoint.npz") as whole:
        np.testing.assert_array_equal(fewer, whole["weights"][:, :2])
