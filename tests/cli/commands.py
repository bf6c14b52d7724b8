"""One small command per kind of result, for tests that look at all of them."""

from __future__ import annotations

import contextlib
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from heldout.cli import main

DATA = Path(str(files("heldout"))) / "data"
PICTURES = ("--images", f"{DATA}/demo.npz", "--images-key", "test_images", "--labels-key", "test_labels")
CONTROL = (
    "--control", f"{DATA}/demo.npz", "--control-images-key", "control_images", "--control-labels-key", "control_labels",
)  # fmt: skip


def write_inputs(folder: Path) -> None:
    """The files that the commands read."""
    rng = np.random.default_rng(0)
    n, hard = 120, rng.random(120)
    rows = [(hard < 0.55 + 0.08 * i).astype(int) ^ (rng.random(n) < 0.1) for i in range(4)]
    head = "id,repo," + ",".join(f"m{i}" for i in range(4))
    lines = [f"e{j},r{j % 40}," + ",".join(str(int(r[j])) for r in rows) for j in range(n)]
    (folder / "right.csv").write_text("\n".join([head, *lines]) + "\n")
    lines = [f"e{j},r{j % 40}," + ",".join(f"{(r[j] + hard[j]) / 2:.2f}" for r in rows) for j in range(n)]
    (folder / "scores.csv").write_text("\n".join([head, *lines]) + "\n")
    lines = [f"{m},e{j},{int(r[j]) * 2 + (j % 2)},3" for m, r in zip("abcd", rows, strict=True) for j in range(n)]
    (folder / "trials.csv").write_text("\n".join(["model,id,successes,trials", *lines]) + "\n")
    dated = [f"e{j},2023-{1 + j // 10:02d},{'ab'[j % 2]}" for j in range(n)]
    (folder / "items.csv").write_text("\n".join(["id,date,kind", *dated]) + "\n")
    (folder / "models.csv").write_text("model,cutoff,family\nm0,2023-06,f\nm1,2022-12,f\nm2,2023-03,g\nm3,2022-12,h\n")
    for name, first, shift in (("test", 0, 0.3), ("control", 500, 0.0), ("old", 0, 0.0)):
        count = 1000 if name == "old" else 500
        ids = range(first, first + count)
        values = np.random.default_rng(1).normal(size=1000)[list(ids)] + rng.normal(scale=0.3, size=count) + shift
        text = "\n".join(["id,margin", *(f"x{i},{v:.4f}" for i, v in zip(ids, values, strict=True))])
        (folder / f"{name}.csv").write_text(text + "\n")
    ranks = np.random.default_rng(2).normal(size=(5, 90, 4))
    places = np.random.default_rng(3).integers(0, 4, (5, 90))
    np.savez(folder / "orders.npz", original_loglik=ranks[0], original_target=places[0], permuted_loglik=ranks[1:],
             permuted_target=places[1:])  # fmt: skip
    x = rng.normal(size=(90, 5)) + 2 * (np.arange(90) % 3)[:, None]
    np.savez(folder / "points.npz", x=x, y=np.arange(90) % 3)
    labels = rng.integers(0, 3, 200)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "prior.npy", np.where(np.arange(3) == labels[:, None], 0.6, 0.2))
    (folder / "heldout_trainings.py").write_text(
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "def nearest(x, y, seed):\n    return KNeighborsClassifier(1).fit(x, y)\n"
        "def five(x, y, seed):\n    return KNeighborsClassifier(5).fit(x, y)\n"
    )


def commands(folder: Path) -> dict[str, list[str]]:
    """Name to arguments; `write_inputs` wrote the files."""
    f = folder
    audit = ["audit", *PICTURES, "--wrap", "--radius", "1", "--limit", "80", "--seed", "0"]
    honest, leaked = f"{DATA}/honest.onnx", f"{DATA}/leaked.onnx"
    scores = ["audit", "--scores", f"{f}/test.csv", "--control-scores", f"{f}/control.csv"]
    stress = ["stress", "--queries", "40", "--trials", "3", "--n-jobs", "1"]
    return {
        "audit": [*audit, "--model", honest],
        "audit_models": [*audit, "--model", honest, leaked],
        "audit_views": ["audit", *PICTURES, "--orbit", "dihedral", "--limit", "80", "--seed", "0", "--model", honest],
        "audit_control": [*audit, "--model", honest, *CONTROL],
        "audit_reference": [*audit, "--model", leaked, "--reference", honest, *CONTROL],
        "audit_scores": [*scores],
        "audit_scores_reference": [*scores, "--reference-scores", f"{f}/old.csv"],
        "audit_needed": ["audit", "--needed", "--control-scores", f"{f}/control.csv"],
        "budget": ["budget", f"{f}/right.csv"],
        "budget_groups": ["budget", f"{f}/right.csv", "--groups", "repo"],
        "budget_noise": ["budget", f"{f}/right.csv", "--label-noise", "0.02"],
        "budget_numbers": ["budget", "--examples", "5000", "--error", "0.2", "--similarity", "0.85"],
        "budget_scores": ["budget", f"{f}/scores.csv"],
        "budget_scores_groups": ["budget", f"{f}/scores.csv", "--groups", "repo"],
        "budget_trials": ["budget", f"{f}/trials.csv"],
        "compare": ["compare", f"{f}/right.csv", "m0", "m3"],
        "compare_all": ["compare", f"{f}/right.csv", "--all-pairs"],
        "compare_scores": ["compare", f"{f}/scores.csv", "m0", "m3"],
        "compare_sequential": ["compare", f"{f}/right.csv", "m0", "m3", "--sequential"],
        "exposure": ["exposure", f"{f}/right.csv", "--items", f"{f}/items.csv", "--models", f"{f}/models.csv",
                     "--strata", "kind", "--resamples", "49", "--steps", "3", "--scan"],
        "options": ["options", "--runs", f"{f}/orders.npz", "--resamples", "99", "--n-jobs", "1"],
        "stress": [*stress, "--examples", "300", "--classes", "3"],
        "stress_compare": [*stress, "--examples", "300", "--classes", "3", "--compare"],
        "stress_prior": [*stress, "--labels", f"{f}/labels.npy", "--prior", f"{f}/prior.npy", "--top", "2", "--points",
                         "100"],
        "stress_public": [*stress, "--examples", "300", "--classes", "3", "--public", "0.3"],
        "memorization_curve": ["memorization", "curve", "--model", honest, leaked, *PICTURES, "--limit", "60",
                               "--perturbation", "gaussian", "spatial", "--strengths", "spatial=0:2", "--shifts", "3",
                               "--turns", "3"],
        "memorization_train": ["memorization", "retrain", "--train", "heldout_trainings:nearest",
                               "heldout_trainings:five", "--data", f"{f}/points.npz",
                               "--label-noise", "0:0.4:0.2", "--repetitions", "3",
                               "--n-jobs", "1"],
    }  # fmt: skip


def as_json(arguments: list[str]) -> dict[str, Any]:
    """What a command prints with --json; trainings are imported from the path."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as told:
        code = main([*arguments, "--json"])
    assert code == 0, (arguments, told.getvalue()[-400:])
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def key_tree(value: Any) -> Any:
    """Keys of dicts, all the way down; a list is what its elements have together, a number is None."""
    if isinstance(value, dict):
        return {name: key_tree(inside) for name, inside in value.items()}
    if isinstance(value, list):
        trees = [tree for tree in map(key_tree, value) if isinstance(tree, dict)]
        return {name: tree[name] for tree in trees for name in tree} or None
    return None
