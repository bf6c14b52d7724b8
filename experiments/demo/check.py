"""Brute force on the demo's files, for information: score maps over 13 x 13 shifts, T, p-values, speed.

Written the slow way and without `heldout.independence`. It decides nothing about seed or training.
Run from the project root after train.py: `python experiments/demo/check.py`.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from heldout.statistics import bernstein_log_pvalue, control_test, star_bets_log_pvalue

DATA = Path(__file__).resolve().parents[2] / "src/heldout/data"
RESULTS = Path(__file__).with_name("check.json")

RADIUS = 2
REACH = 3 * RADIUS  # two radii around the final point, itself within one radius
MOVES = [v for v in itertools.product(range(-RADIUS, RADIUS + 1), repeat=2) if v != (0, 0)]  # row-major
LOWER, UPPER = -len(MOVES) / (len(MOVES) + 1), 0.5
BATCH = 256


def load(name: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(DATA / f"{name}.onnx", options, providers=["CPUExecutionProvider"])


def excess_scores(
    session: onnxruntime.InferenceSession, images: NDArray[np.uint8], labels: NDArray[np.int64]
) -> NDArray[np.float32]:
    scores = []
    for i in range(0, len(images), BATCH):
        x = (images[i : i + BATCH, None] / np.float32(255)).astype(np.float32)
        logits = session.run(None, {"images": x})[0]
        scores.append(logits.max(axis=1) - logits[np.arange(len(x)), labels[i : i + BATCH]])
    return np.concatenate(scores)


def score_maps(
    session: onnxruntime.InferenceSession, images: NDArray[np.uint8], labels: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(n, 13, 13): [:, REACH + dy, REACH + dx] scores the content moved by (dy, dx) on the torus."""
    side = 2 * REACH + 1
    maps = np.empty((len(images), side, side), dtype=np.float32)
    for dy, dx in itertools.product(range(-REACH, REACH + 1), repeat=2):
        rolled = np.roll(images, (dy, dx), axis=(1, 2))
        maps[:, REACH + dy, REACH + dx] = excess_scores(session, rolled, labels)
    return maps


def strongest(s: NDArray[np.float32], y: int, x: int) -> tuple[int, int]:
    """Where the generator sends the point (y, x) of one score map."""
    if s[y, x] > 0:
        return y, x
    best = max(MOVES, key=lambda v: s[y + v[0], x + v[1]])  # max keeps the first of equals
    goal = y + best[0], x + best[1]
    return goal if s[goal] > 0 else (y, x)


def statistic(s: NDArray[np.float32]) -> float:
    """T = L(g(x)) h(g(x)) - L(x) for one score map."""
    y, x = strongest(s, REACH, REACH)
    if not s[y, x] > 0:
        return 0.0
    n_sent_here = sum(strongest(s, y - dy, x - dx) == (y, x) for dy, dx in MOVES)
    return 1 / (1 + n_sent_here) - float(s[REACH, REACH] > 0)


def images_per_second(session: onnxruntime.InferenceSession, *, seconds: float = 3.0) -> float:
    x = np.random.default_rng(0).random((BATCH, 1, 32, 32), dtype=np.float32)
    session.run(None, {"images": x})
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        session.run(None, {"images": x})
        n += BATCH
    return n / (time.perf_counter() - start)


def main() -> None:
    with np.load(DATA / "demo.npz") as data:
        sets = {name: (data[f"{name}_images"], data[f"{name}_labels"]) for name in ("test", "control")}
    results: dict[str, dict[str, object]] = {}
    for model in ("honest", "leaked"):
        session = load(model)
        results[model] = {"images_per_second": round(images_per_second(session))}
        statistics = {}
        for name, (images, labels) in sets.items():
            maps = score_maps(session, images, labels)
            T = statistics[name] = np.array([statistic(s) for s in maps])
            log_p = bernstein_log_pvalue(float(T.mean()), float(T.std()), len(T), width=UPPER - LOWER)
            results[model][name] = {
                "error": float(np.mean(maps[:, REACH, REACH] > 0)),
                "mean_T": float(T.mean()),
                "z": float(T.mean() / (T.std() / math.sqrt(len(T)))),
                "bernstein_p": math.exp(min(0.0, log_p)),
                "betting_p": math.exp(star_bets_log_pvalue(T, lower=LOWER, upper=UPPER)),
            }
        control = control_test(
            statistics["test"], statistics["control"], classes_test=sets["test"][1],
            classes_control=sets["control"][1], rng=np.random.default_rng(0),
        )  # fmt: skip
        results[model]["test_minus_control"] = {
            "mean_T": control.difference,
            "permutation_p": control.p_value,
        }
        print(model, json.dumps(results[model], indent=2), flush=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
