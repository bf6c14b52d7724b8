"""Measures real pools of models: how alike they are, how many more would fit, and what covers them.

PYTHONPATH=src:. python -m experiments.mania.pools [SHARED_DATA]

writes results/pools.json, from which figures.py and tables.py draw. Predictions are those of ../shared/data, and of the
networks that the CIFAR-10 study and search.py keep. Pools whose files are not there keep what pools.json has of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pages import rounded
from heldout import Predictions, SimilarityResult, budget, load_predictions, similarity, testable_models
from heldout.files import write_text
from heldout.reuse.cover import cover_curve
from heldout.reuse.curves import Curve, models_by_epsilon, models_by_similarity
from heldout.statistics.binomial import lower_tail, upper_tail
from heldout.statistics.search import first_where

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SHARED = HERE.parents[2] / "shared" / "data"
STUDY = HERE.parent / "werpachowski" / "cifar10"
DELTA = 0.05
BIN = 0.005  # of the histograms of pairs
IMAGENET = {"n": 50_000, "error": 0.244, "similarity": 0.85, "epsilon": 0.01}  # section 5.1
TABLE_1 = {"20 random": (0.032, 0.975), "20 highest scoring": (0.031, 0.976)}  # error and similarity, n = 10,000
PARTS = ("arc_a", "arc_b", "gsm8k_a", "gsm8k_b", "mmlu_a", "truthfulqa_a", "winogrande_a")
SOME = 20  # models of table 1
DRAWS = 200  # of so many at random


@dataclass(frozen=True)
class Pool:
    """Where a pool is read from, and what is asked of it."""

    read: Callable[[Path], Predictions]
    files: tuple[str, ...] = ()  # of SHARED_DATA
    epsilon: float | None = None  # error bar of further models; None: only how alike the models are
    covered: bool = True  # whether figure 3 is drawn
    stored: str = ""  # files of results/ without which there is no such pool

    def there(self, data: Path) -> bool:
        return all((data / file).exists() for file in self.files) and (
            not self.stored or any(RESULTS.glob(self.stored))
        )


def imagenet(data: Path, part: str = "val", *, fisher: bool = False) -> Predictions:
    """67 models; without the three of Fisher vectors 64."""
    path = data / "imagenet_predictions.npz"
    table = load_predictions(path, predictions_key=f"preds_{part}", labels_key=f"labels_{part}")
    return table if fisher else table.select([name for name in table.names if not name.startswith("fv_")])


def cifar10(data: Path, part: str = "") -> Predictions:
    """30 models on the test set, or on one of the two that were collected later."""
    path = data / "cifar10_predictions.npz"
    return load_predictions(path, predictions_key=f"preds{part}", labels_key=f"labels{part}")


def mmlu_pro(data: Path) -> Predictions:
    """29 language models on the questions that all of them were asked."""
    table = load_predictions(data / "mmlu_pro_predictions.npz", missing=-2)
    return Predictions.from_correct(table.correct[:, table.observed.all(axis=0)], names=table.names)


def open_llm(data: Path, parts: tuple[str, ...] = PARTS) -> Predictions:
    """Models of the first Open LLM Leaderboard that have answered all of these parts."""
    with np.load(data / "open_llm_items.npz") as f:
        rows = [{int(model): i for i, model in enumerate(f[f"{part}_rows"])} for part in parts]
        models = sorted(set.intersection(*map(set, rows)))
        right = [f[f"{p}_correct"][[at[m] for m in models]] for p, at in zip(parts, rows, strict=True)]
        return Predictions.from_correct(np.concatenate(right, axis=1).astype(bool), names=f["models"][models].tolist())


def networks(folder: Path, wanted: Callable[[str], bool]) -> Predictions:
    """Networks that a CIFAR-10 study keeps, on the test set."""
    sys.path.insert(0, str(STUDY))
    try:
        import store
    finally:
        sys.path.remove(str(STUDY))
    labels = store.split(folder)["test_labels"]
    kept = {m.key: m["test_predictions"] == labels for m in store.models(folder) if wanted(m.key)}
    return Predictions.from_correct(np.array(list(kept.values())), names=list(kept))


def searched(folder: Path) -> dict[str, np.ndarray]:
    """What each network of search.py gets right at its checkpoints, by `model<seed>`; each network once."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("search-*.npz")):
        with np.load(path) as f:
            for key in sorted(k for k in f.files if k.endswith("/distances")):
                found.setdefault(key.removesuffix("/distances"), f[key] == 0)
    return found


def checkpoints(folder: Path, least: float = 0.5) -> Predictions:
    """Those of search.py with at least this accuracy, by `model<seed>/<number>`."""
    found = {f"{name}/{i}": row for name, rows in searched(folder).items() for i, row in enumerate(rows)}
    found = {name: row for name, row in found.items() if row.mean() >= least}
    return Predictions.from_correct(np.array(list(found.values())), names=list(found))


def by_training(folder: Path) -> dict[str, Any]:
    """Of the random search: how many were trained, and how alike two checkpoints of one training are and two of two."""
    whole, kept = searched(folder), checkpoints(folder)
    measured = similarity(kept)
    first, second = np.triu_indices(len(kept.names), 1)
    alike, chance = measured.agreement(), measured.baseline()  # of pairs, in this order
    training = np.array([name.split("/")[0] for name in kept.names])
    same = training[first] == training[second]
    shares = {"one": same, "two": ~same}
    return {
        "trainings": len(whole), "checkpoints": sum(map(len, whole.values())), "kept_trainings": len(set(training)),
        **{f"pairs_of_{k}": [int(w.sum()), float(alike[w].mean()), float(chance[w].mean())] for k, w in shares.items()},
    }  # fmt: skip


POOLS = {
    "ImageNet": Pool(imagenet, ("imagenet_predictions.npz",), 0.01),
    "ImageNet, with Fisher vectors": Pool(
        lambda data: imagenet(data, fisher=True), ("imagenet_predictions.npz",), covered=False
    ),
    "ImageNetV2": Pool(lambda data: imagenet(data, "v2_threshold07"), ("imagenet_predictions.npz",), covered=False),
    "CIFAR-10": Pool(cifar10, ("cifar10_predictions.npz",), 0.01),
    "CIFAR-10.1 v4": Pool(lambda data: cifar10(data, "_v4"), ("cifar10_predictions.npz",), covered=False),
    "CIFAR-10.1 v6": Pool(lambda data: cifar10(data, "_v6"), ("cifar10_predictions.npz",), covered=False),
    "CIFAR-10, random search": Pool(lambda _: checkpoints(RESULTS), stored="search-*.npz"),
    "CIFAR-10, our networks": Pool(lambda _: networks(STUDY / "results", lambda key: "-leak0/" in key)),
    "CIFAR-10, one recipe": Pool(lambda _: networks(STUDY / "results", lambda key: "vgg-shift-e104-leak0/" in key)),
    "MMLU-Pro": Pool(mmlu_pro, ("mmlu_pro_predictions.npz",), 0.02),
    "Open LLM": Pool(open_llm, ("open_llm_items.npz",), 0.05),
    **{
        f"Open LLM, {part}": Pool(lambda data, p=part: open_llm(data, (p,)), ("open_llm_items.npz",), covered=False)
        for part in PARTS
    },
}


# --- one pool ----------------------------------------------------------------------------------------


def histogram(shares: np.ndarray) -> dict[str, Any]:
    """Counts in steps of BIN from the first that is not empty."""
    at = np.minimum((shares / BIN + 1e-9).astype(np.int64), round(1 / BIN) - 1)
    first = int(at.min())
    return {"from": round(first * BIN, 4), "counts": np.bincount(at - first).tolist()}


def measure(table: Predictions, pool: Pool) -> dict[str, Any]:
    """How alike the models are, how difficult the examples; covers and bounds where they are asked for."""
    counts = similarity(table)
    found: dict[str, Any] = {
        "models": counts.n_models,
        "examples": counts.n_examples,
        "accuracy": [1 - counts.mean_error, 1 - float(counts.errors.max()), 1 - float(counts.errors.min())],
        "similarity": counts.mean_similarity,
        "independent": counts.mean_baseline,
        "kappa": counts.mean_kappa,
        "pairs": counts.n_pairs,
        "below_chance": counts.below_chance,
        "right_for_all": counts.right_for_all,
        "wrong_for_all": counts.wrong_for_all,
        "pairs_alike": histogram(counts.agreement()),
        "pairs_independent": histogram(counts.baseline()),
    }
    if pool.covered:
        found["difficulty"] = counts.difficulty.tolist()
        found["cover"] = cover_curve(counts).to_dict()
        found["table_1"] = table_1(counts)
    if pool.epsilon is not None:
        result = budget(table, epsilon=pool.epsilon, delta=DELTA)
        forecast = result.pool.difficulty_forecast
        found |= {
            "epsilon": pool.epsilon,
            "like_these": result.testable.to_dict(),
            "equal": None if result.equal is None else result.equal.to_dict(),
            "error_bar": result.error_bars,
            "forecast": None if forecast is None else forecast.tolist(),
            "assumption": result.pool.named_assumption,
        }
    return found


def table_1(counts: SimilarityResult) -> dict[str, Any]:
    """Accuracy, similarity and gains of 20 models, the best and at random, as the paper's table 1 has them."""
    rng = np.random.default_rng(0)
    drawn = [rng.choice(counts.n_models, SOME, replace=False) for _ in range(DRAWS)]
    best = np.argsort(counts.errors, kind="stable")[:SOME]
    alike = counts.matrix()
    found = {}
    for name, some in (("random", drawn), ("best", [best])):
        pairs = np.array([(alike[np.ix_(i, i)].sum() - SOME) / (SOME * (SOME - 1)) for i in some])
        error, eta = float(np.mean([counts.errors[i].mean() for i in some])), float(pairs.mean())
        fits = gains(counts.n_examples, error, eta, IMAGENET["epsilon"])
        found[name] = {"accuracy": 1 - error, "similarity": eta, "testable": fits}
    return found


def gains(n: int, error: float, eta: float, epsilon: float) -> dict[str, Any]:
    """Testable models by each bound."""
    return testable_models(n, error, eta, epsilon=epsilon, delta=DELTA).to_dict()


# --- what needs no pool ------------------------------------------------------------------------------


def published() -> dict[str, Any]:
    """The paper's numbers from its inputs, and figure 2's curves."""
    n, error, eta, epsilon = IMAGENET.values()
    return {
        "section 5.1": gains(n, error, eta, epsilon),
        "table 1": {name: gains(10_000, *row, 0.01) for name, row in TABLE_1.items()},
        "by_similarity": plain(models_by_similarity(n, error, epsilon=epsilon, delta=DELTA)),
        "by_epsilon": plain(models_by_epsilon(n, error, eta, delta=DELTA)),
    }


def plain(curve: Curve) -> dict[str, list[float | None]]:
    """Lists, with None where a bound says nothing."""
    return {k: [None if np.isnan(v) else float(v) for v in values] for k, values in vars(curve).items()}


def recorded(data: Path) -> dict[str, Any]:
    """ImageNet results that are on record, and the error bar that holds for all at once by the union bound (2)."""
    with np.load(data / "imagenet_accuracies.npz") as f:
        share = f["timm_top1"][:, f["timm_sets"].tolist().index("val")].astype(np.float64) / 100
    n = IMAGENET["n"]
    p = 1 - share
    wrong = np.round(n * p)

    def holds(m: int) -> bool:
        return float((upper_tail(wrong + m + 1, n, p) + lower_tail(wrong - m - 1, n, p)).sum()) <= DELTA

    return {"results": len(share), "accuracy": float(share.mean()), "error_bar": first_where(holds, 1, n) / n}


# --- all of it ---------------------------------------------------------------------------------------


def save(path: Path, found: dict[str, Any]) -> None:
    """A line a pool."""
    lines = [f"{json.dumps(k)}: {json.dumps(rounded(v))}" for k, v in found.items()]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", default=SHARED)
    parser.add_argument("--out", type=Path, default=RESULTS / "pools.json")
    parser.add_argument("--only", nargs="+", choices=list(POOLS), default=list(POOLS))
    args = parser.parse_args(argv)
    known = json.loads(args.out.read_text()) if args.out.exists() else {}
    found: dict[str, Any] = {"published": published()}
    if (args.data / "imagenet_accuracies.npz").exists():
        found["timm"] = recorded(args.data)
    for name, pool in POOLS.items():
        if pool.there(args.data) and name in args.only:
            found[name] = measure(pool.read(args.data), pool)
            if pool.stored:
                found[name] |= by_training(RESULTS)
            print(name, found[name]["models"], found[name]["similarity"], flush=True)
    both = known | found
    save(args.out, {name: both[name] for name in ("published", "timm", *POOLS) if name in both})


if __name__ == "__main__":
    main()
