"""Mania's study: pools that are measured, the random search, and tables and figures of the results that are kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from experiments.mania import pools, tables  # noqa: E402
from heldout import Predictions  # noqa: E402

KEPT = json.loads((pools.RESULTS / "pools.json").read_text())
needs_shared = pytest.mark.skipif(not pools.SHARED.exists(), reason="needs ../shared/data")


def brute(correct):
    """Similarity, its value if errors were independent, and shares right and wrong for all, pair by pair."""
    k = len(correct)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    error = 1 - correct.mean(axis=1)
    alike = np.mean([(correct[i] == correct[j]).mean() for i, j in pairs])
    free = np.mean([error[i] * error[j] + (1 - error[i]) * (1 - error[j]) for i, j in pairs])
    return alike, free, correct.all(axis=0).mean(), (~correct).all(axis=0).mean()


def test_measured_as_by_brute_force():
    rng = np.random.default_rng(0)
    hard = rng.random(400)
    correct = rng.random((25, 400)) > 0.8 * hard
    found = pools.measure(Predictions.from_correct(correct), pools.Pool(lambda _: None, epsilon=0.1))
    keys = ("similarity", "independent", "right_for_all", "wrong_for_all")
    np.testing.assert_allclose([found[key] for key in keys], brute(correct), atol=1e-12)
    assert sum(found["pairs_alike"]["counts"]) == found["pairs"] == 300
    wrong = (~correct).sum(axis=0)
    assert found["difficulty"] == np.bincount(wrong, minlength=26).tolist()
    assert found["cover"]["size"][-1] <= 25
    best = np.argsort(-correct.mean(axis=1), kind="stable")[:20]
    assert found["table_1"]["best"]["similarity"] == pytest.approx(brute(correct[best])[0])


def test_histogram_counts_every_pair_where_it_lies():
    shares = np.array([0.5, 0.5049, 0.505, 0.999, 1.0])
    found = pools.histogram(shares)
    assert found["from"] == 0.5
    assert found["counts"][:2] == [2, 1]
    assert found["counts"][-1] == 2  # what is equal everywhere is in the last step
    assert sum(found["counts"]) == 5


@needs_shared
@pytest.mark.parametrize("name", ["CIFAR-10", "MMLU-Pro"])
def test_kept_numbers_are_those_of_the_predictions(name):
    """A second reading that uses nothing of heldout but the reader of the file."""
    pool, kept = pools.POOLS[name], KEPT[name]
    correct = pool.read(pools.SHARED).correct
    keys = ("similarity", "independent", "right_for_all", "wrong_for_all")
    np.testing.assert_allclose([kept[key] for key in keys], brute(correct), atol=1e-9)
    assert [kept["models"], kept["examples"]] == list(correct.shape)


@needs_shared
def test_error_bar_of_results_on_record_is_the_smallest():
    n, m = 50_000, round(50_000 * KEPT["timm"]["error_bar"])
    with np.load(pools.SHARED / "imagenet_accuracies.npz") as f:
        p = 1 - f["timm_top1"][:, 0].astype(np.float64) / 100
    wrong = np.round(n * p)
    off = [(binom.sf(wrong + k, n, p) + binom.cdf(wrong - k - 1, n, p)).sum() for k in (m - 1, m)]
    assert off[0] > 0.05 >= off[1]
    assert len(p) == KEPT["timm"]["results"]


def test_tables_show_the_results():
    assert (pools.RESULTS / "tables.md").read_text() == tables.report(KEPT)
    assert tables.in_short(KEPT) in (pools.HERE / "README.md").read_text()
    assert KEPT["published"]["section 5.1"]["union"] == 251_165


def test_pools_without_their_files_keep_what_is_known(tmp_path):
    out = tmp_path / "pools.json"
    out.write_text(json.dumps({"CIFAR-10": {"models": 30}}))
    pools.main([str(tmp_path), "--out", str(out), "--only", "CIFAR-10", "CIFAR-10, one recipe"])
    found = json.loads(out.read_text())
    assert found["CIFAR-10"] == {"models": 30}
    assert found["CIFAR-10, one recipe"] == KEPT["CIFAR-10, one recipe"]
    assert found["published"] == KEPT["published"]


# --- the search --------------------------------------------------------------------------------------


def easy_pictures(rng, n):
    """8 x 8 pictures of ten kinds that a small network can tell apart."""
    y = rng.integers(0, 10, n)
    kinds = rng.integers(0, 256, (10, 8, 8, 3))
    return np.clip(0.7 * kinds[y] + rng.normal(40, 10, (n, 8, 8, 3)), 0, 255).astype(np.uint8), y.astype(np.uint8)


def test_search_is_kept_read_and_gone_on_from(tmp_path):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    from experiments.mania import search

    settings = [search.drawn(seed) for seed in range(200)]
    small = [i for i, s in enumerate(settings) if s["channels"] == 8 and s["blocks"] == 1 and s["batch"] == 64]
    some = [next(i for i in small if settings[i]["dual_cutout"]), next(i for i in small if settings[i]["mixup"])]
    x, y = easy_pictures(np.random.default_rng(0), 420)
    path = tmp_path / "search-a.npz"
    search.search(some, x, y, 100, path, 2, seconds=1e9)
    assert search.known(tmp_path) == set(some)
    with np.load(path) as f:
        for seed in some:
            record, distances = json.loads(str(f[f"model{seed}/record"])), f[f"model{seed}/distances"]
            assert distances.shape == (search.CHECKPOINTS, 100)
            assert record["accuracy"] == [round(float((row == 0).mean()), 4) for row in distances]
            assert record["setting"] == json.loads(json.dumps(settings[seed]))
        best = max(float((f[k] == 0).mean(axis=1).max()) for k in f.files if k.endswith("distances"))
    pool = pools.checkpoints(tmp_path, least=best)
    assert pool.n_models >= 1
    assert pool.correct.mean(axis=1).max() == pytest.approx(best)
    search.search([some[0]], x, y, 100, tmp_path / "search-b.npz", 2, seconds=-1)  # no time left: nothing is begun
    assert not (tmp_path / "search-b.npz").exists()


def test_search_learns_and_repeats():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    from experiments.mania import search

    def tame(s):
        """Holes of 8 pixels and more would leave nothing of such pictures."""
        small = s["blocks"] == 1 and s["channels"] <= 16 and s["batch"] == 64
        whole = not (s["cutout"] or s["dual_cutout"] or s["erasing"] or s["crops"])
        return small and whole and s["optimiser"] != "adam" and s["rate"] < 0.2 and s["decay"] < 1e-3

    plain = next(i for i in range(5000) if tame(search.drawn(i)))
    x, y = easy_pictures(np.random.default_rng(1), 420)
    device = torch.device("cpu")
    shown, tested = search.normalised(x[:320], device), search.normalised(x[320:], device)
    targets = torch.as_tensor(y[:320].astype(np.int64))
    _, first = search.train(plain, shown, targets, tested, 8)
    _, again = search.train(plain, shown, targets, tested, 8)
    assert (first == again).all()
    assert (first[-1] == y[320:]).mean() > 0.8


def test_rates_fall():
    pytest.importorskip("torch")
    from experiments.mania import search

    falling = {"rate": 0.5, "cosine": False, "falls_at": (0.2, 0.6)}
    assert [round(search.rate(falling, t), 4) for t in (0.0, 0.19, 0.2, 0.59, 0.6, 0.99)] == [
        0.5, 0.5, 0.05, 0.05, 0.005, 0.005,
    ]  # fmt: skip
    assert search.rate(falling | {"cosine": True}, 0.5) == pytest.approx(0.25)
