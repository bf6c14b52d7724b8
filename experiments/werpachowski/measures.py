"""The numbers of figures 5 and 6 from trained models, as `results.json` has them."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problem import (
    CASES,
    Bools,
    Floats,
    Floats32,
    Projections,
    draw_points,
    expected_error,
    pairwise_statistics,
    project,
)
from published import PUBLISHED
from tqdm import tqdm
from training import run_streams

import heldout
from heldout.statistics import bernstein_bound, independence_test

STRENGTHS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 12.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0),
)
GROUP_SIZES = (1, 2, 10, 25, 100)


def project_tests(weights: Floats32, case: int, seed: int) -> Projections:
    """Project the test sets of all runs of a case on their models: arrays (n_runs, n_test)."""
    spec = CASES[case]
    found = []
    for run, row in enumerate(tqdm(weights, desc=f"testing, {spec.name}", unit="run", file=sys.stderr)):
        streams = run_streams(seed, case, run)
        points, labels = draw_points(spec.n_test - spec.n_shared, rng=streams.test)
        if spec.n_shared:
            shared_points, shared_labels = draw_points(spec.n_shared, rng=streams.train)
            points = np.concatenate([shared_points, points])
            labels = np.concatenate([shared_labels, labels])
        found.append(project(points, labels, row[:-1], float(row[-1])))
    return Projections(
        distance=np.stack([p.distance for p in found]),
        centred=np.stack([p.centred for p in found]),
        first=np.stack([p.first for p in found]),
        slope=np.array([[p.slope] for p in found]),
    )


def round_off(value: float) -> float | None:
    """Six digits, and None (JSON's null) for an undefined number."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def spread(values: NDArray[Any], *, level: float) -> dict[str, float | None]:
    """Mean, median and two-sided empirical interval of the values that are defined."""
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[np.isfinite(kept)]
    if kept.size == 0:
        return {"mean": None, "median": None, "low": None, "high": None}
    low, high = np.quantile(kept, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    numbers = {"mean": kept.mean(), "median": np.median(kept), "low": low, "high": high}
    return {k: round_off(float(v)) for k, v in numbers.items()}


def n_model_pvalues(T: Floats, size: int) -> list[float]:
    """One Bernstein p-value (8) for each disjoint group of `size` runs, T averaged first (section 3.1).

    The runs have data of their own, so "example i" is the i-th draw of each run; the first half of
    the overfitted test sets are training points in every run.
    """
    n_groups = len(T) // size
    averaged = T[: n_groups * size].reshape(n_groups, size, -1).mean(axis=1)
    tests = [independence_test(row, lower=-1.0, upper=1.0, method="bernstein") for row in averaged]
    return [test.p_value for test in tests]


def mean_where(values: Floats, mask: Bools) -> Floats:
    """Row means of the values under the mask, nan for a row without any."""
    counts = mask.sum(axis=1)
    sums = np.where(mask, values, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)


def measure(at: Projections, strength: float) -> dict[str, Any]:
    """All numbers of figures 5 and 6 at one strength, plain data."""
    found = pairwise_statistics(at, strength=strength)
    n = found.T.shape[1]
    error = found.wrong.mean(axis=1)
    reweighted = np.where(found.wrong_after, found.density, 0.0)  # the terms of (4)
    single = {}
    for name, terms in (("test_error", found.wrong[0].astype(np.float64)), ("estimate", reweighted[0])):
        half = bernstein_bound(n, float(terms.std()), log_delta=math.log(0.025), width=1.0)  # (11), (12)
        single[name] = {"value": round_off(float(terms.mean())), "half_width": round_off(half)}
    single["adversarial_error"] = {"value": round_off(float(found.wrong_after[0].mean()))}
    p_values = {str(size): n_model_pvalues(found.T, size) for size in GROUP_SIZES if size <= len(found.T)}
    return {
        "strength": strength,
        "mean_T": spread(found.T.mean(axis=1), level=0.975),
        "test_error": spread(error, level=0.975),
        "adversarial_error": spread(found.wrong_after.mean(axis=1), level=0.975),
        "estimate": spread(reweighted.mean(axis=1), level=0.975),
        "density_wrong": spread(mean_where(found.density, found.wrong), level=0.975),
        "density_hit": spread(mean_where(found.density, found.wrong_after & ~found.wrong), level=0.975),
        "single": single,
        "p": {size: spread(np.array(p), level=0.95) for size, p in p_values.items()},
        "p_values": {size: [round_off(x) for x in p] for size, p in p_values.items()},
    }


def summarise(weights: Floats32, settings: dict[str, Any]) -> dict[str, Any]:
    """Test all trained models; the result is `results.json`."""
    results: dict[str, Any] = {
        "paper": "arXiv:1903.02380v1, section 4",
        "heldout": heldout.__version__,
        "settings": settings,
        "published": PUBLISHED,
    }
    for index, case in enumerate(CASES):
        at = project_tests(weights[index], index, settings["seed"])
        risks = np.array([expected_error(row[:-1], float(row[-1])) for row in weights[index]])
        penalties = case.penalty * weights[index, :, 0].astype(np.float64) ** 2
        shared = at.distance[:, : case.n_shared] < 0.0
        results[case.name] = {
            "expected_error": spread(risks, level=0.975),
            "expected_error_single": round_off(float(risks[0])),
            "penalty": spread(penalties, level=0.975),
            "norm": spread(np.linalg.norm(weights[index, :, :-1], axis=1), level=0.975),
            "error_on_shared": round_off(float(shared.mean())) if case.n_shared else None,
            "by_strength": [measure(at, strength) for strength in STRENGTHS],
        }
    return results


def at_strength(results: dict[str, Any], case: str, strength: float) -> dict[str, Any]:
    """The numbers of one case at one strength."""
    return next(row for row in results[case]["by_strength"] if row["strength"] == strength)
