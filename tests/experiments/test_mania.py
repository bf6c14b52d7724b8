"""Mania's study: pools that are measured, the random search, and tables and figures of the results that are kept."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
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


def test_pairs_of_one_training_and_of_two(tmp_path):
    """Three checkpoints of one network and one of another, by hand; one is below 50 %, one network is in two files."""
    from experiments.mania import pools

    one = np.array([[0, 0, 1, 2], [0, 0, 0, 1], [5, 4, 1, 0]], dtype=np.uint8)  # right where 0
    two = np.array([[0, 1, 0, 1]], dtype=np.uint8)
    np.savez(tmp_path / "search-1.npz", **{"model0/distances": one})
    np.savez(tmp_path / "search-2.npz", **{"model0/distances": one[:1], "model7/distances": two})
    assert pools.checkpoints(tmp_path).names == ("model0/0", "model0/1", "model7/0")
    found = pools.by_training(tmp_path)
    assert (found["trainings"], found["checkpoints"], found["kept_trainings"]) == (2, 4, 2)
    assert found["pairs_of_one"] == [1, 0.75, 0.5]
    assert found["pairs_of_two"] == [2, (0.5 + 0.75) / 2, 0.5]


# --- the search --------------------------------------------------------------------------------------


def easy_pictures(rng, n):
    """8 x 8 pictures of ten kinds that a small network can tell apart."""
    y = rng.integers(0, 10, n)
    kinds = rng.integers(0, 256, (10, 8, 8, 3))
    return np.clip(0.7 * kinds[y] + rng.normal(40, 10, (n, 8, 8, 3)), 0, 255).astype(np.uint8), y.astype(np.uint8)


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return torch


@pytest.fixture(scope="module")
def search(torch):
    from experiments.mania import search

    return search


@pytest.fixture(scope="module")
def data(search, torch):
    return search.Data.of(*easy_pictures(np.random.default_rng(1), 420), 100, torch.device("cpu"))


def small(search, **wanted):
    """A setting of a small network, with nothing that is not asked for."""
    off = {"crops": 0, "flips": False, "cutout": 0, "dual_cutout": 0.0, "erasing": 0.0, "mixup": 0.0, "smoothing": 0.0}
    own = {"blocks": 1, "channels": 8, "bottleneck": False, "batch": 64, "rate": 0.05, "decay": 1e-3}
    return search.drawn(0) | off | own | {"optimiser": "nesterov", "momentum": 0.9, "cosine": True} | wanted


def trained(search, s, data, epochs=2, seed=3):
    t = search.Training(seed, s, data, epochs)
    t.begin()
    while t.done < t.steps:
        t.go(16)
    return t


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "nesterov", "adam"])
@pytest.mark.parametrize("decay_normalisation", [True, False])
def test_a_step_is_what_torch_does(search, torch, data, optimiser, decay_normalisation):
    """A plain loop with torch's own optimiser and a number as learning rate, on the same draws."""
    from experiments.mania import trainings

    s = small(search, optimiser=optimiser, decay_normalisation=decay_normalisation, decay=0.1, smoothing=0.1, crops=2,
              flips=True, mixup=1.0, rate=0.01)  # fmt: skip
    found = trained(search, s, data)
    torch.manual_seed(3)
    net = trainings.Network(s)
    groups = [{"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": 0.1},
              {"params": [p for p in net.parameters() if p.ndim == 1],
               "weight_decay": 0.1 if decay_normalisation else 0.0}]  # fmt: skip
    if optimiser == "adam":
        opt = torch.optim.Adam(groups, lr=0.01, betas=s["betas"])
    else:
        momentum = 0.0 if optimiser == "sgd" else s["momentum"]
        opt = torch.optim.SGD(groups, lr=0.01, momentum=momentum, nesterov=optimiser == "nesterov")
    g, rng = torch.Generator().manual_seed(3), np.random.default_rng(3)
    order = np.concatenate([rng.permutation(320) for _ in range(2)]).reshape(10, 64)
    shares = rng.beta(1.0, 1.0, 10)
    for i, rows in enumerate(order):
        for group in opt.param_groups:
            group["lr"] = 0.01 * (1 + np.cos(np.pi * i / 10)) / 2
        x = trainings.augmented(data.shown[rows], s, g)
        lost = trainings.loss(net, x, data.targets[rows], s, g, torch.tensor(shares[i], dtype=torch.float32))
        opt.zero_grad()
        lost.backward()
        opt.step()
    assert float(found.lost) == pytest.approx(float(lost.detach()), rel=1e-4)
    if optimiser != "adam":
        for mine, theirs in zip(found.parameters, net.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)
    # Adam moves a shift whose gradient is 0 but for rounding as far as any other: there kernels only.
    both = [torch.cat([p.detach().flatten() for p in of if p.ndim == 4]) for of in (found.parameters, net.parameters())]
    start = torch.cat([f.flatten() for f in found.fresh.values() if f.ndim == 4])
    assert (both[0] - both[1]).norm() < 0.01 * (both[0] - start).norm()


def test_bfloat16_is_the_same_training(search, torch, data):
    """As a GPU has it: passes in bfloat16, weights and updates in float32."""
    s = small(search, crops=2, flips=True, bottleneck=True, rate=0.01)
    one, two = (search.Training(3, s, d, 2) for d in (data, replace(data, shown=data.shown.to(torch.bfloat16))))
    assert not one.copied
    assert len(two.copied) == sum(p.ndim == 4 for p in two.parameters)
    assert {p.dtype for p in two.parameters} == {torch.float32}
    lost, apart, varies = search.differences(one, two)
    assert 0 < lost < 0.2 * varies
    assert 0 < apart < 0.5  # of so few pictures bfloat16 leaves gradients no better


def test_a_step_waits_for_nothing(search, torch, data):
    """No number is read from the device, so that a step can be captured."""
    for seed in search.covering(list(range(64))):
        t = search.Training(seed, search.drawn(seed) | {"batch": 32, "blocks": 1, "channels": 4}, data, 1)
        t.begin()
        t.go(1)  # constants are made here, as they are before a graph is made
        t.generator = None  # fake tensors have none
        with torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
            t.step()


def test_mixup_and_holes_do_what_they_say(search, torch, data):
    from experiments.mania import trainings

    s, x, y = small(search, mixup=1.0), data.shown[:64], data.targets[:64]
    net = trainings.Network(s)
    draws = [torch.Generator().manual_seed(0) for _ in range(2)]
    other = torch.rand(64, generator=draws[0]).argsort()
    mixed = net((0.3 * x + 0.7 * x[other]).permute(0, 3, 1, 2))
    by_hand = 0.3 * search.torch.nn.functional.cross_entropy(mixed, y)
    by_hand += 0.7 * search.torch.nn.functional.cross_entropy(mixed, y[other])
    torch.testing.assert_close(trainings.loss(net, x, y, s, draws[1], torch.tensor(0.3)), by_hand)
    cut = trainings.holes(torch.ones(500, 8, 8, 3), torch.full((500,), 4.0), torch.Generator().manual_seed(0))
    gone = (cut == 0).all(dim=3).sum(dim=(1, 2))
    assert gone.max() == 16
    assert gone.min() >= 4  # a corner at least
    assert (cut == 0).any(dim=3).sum() == gone.sum()


def test_a_training_repeats_learns_and_is_kept_at_even_steps(search, data):
    s = small(search)
    one, two = (trained(search, s, data, epochs=8) for _ in range(2))
    assert sorted(one.wanted) == [4, 8, 12, 16, 20, 24, 28, 32, 36, 40]
    first, again = one.answers()[0], two.answers()[0]
    assert first.shape == (search_checkpoints(), 100)
    assert (first == again).all()
    assert (first[-1] == data.labels).mean() > 0.8
    assert (trained(search, s, data, epochs=8, seed=4).answers()[0] != first).any()


def search_checkpoints():
    from experiments.mania.trainings import CHECKPOINTS

    return CHECKPOINTS


def test_rates_fall(torch):
    from experiments.mania.trainings import rate

    falling = {"rate": 0.5, "cosine": False, "falls_at": (0.2, 0.6)}
    assert [round(rate(falling, t), 4) for t in (0.0, 0.19, 0.2, 0.59, 0.6, 0.99)] == [
        0.5,
        0.5,
        0.05,
        0.05,
        0.005,
        0.005,
    ]
    assert rate(falling | {"cosine": True}, 0.5) == pytest.approx(0.25)


def test_search_is_kept_read_and_gone_on_from(search, tmp_path):
    """The whole program, on other pictures, twice: the second run has nothing left to do."""
    x, y = easy_pictures(np.random.default_rng(0), 420)
    options = ["run", "--data", "nowhere", "--out", str(tmp_path), "--store", str(tmp_path), "--models", "2",
               "--epochs", "2", "--lanes", "2", "--minutes", "1e9"]  # fmt: skip
    others = {"read": lambda _: (x, y), "n_test": 100}

    def setting(seed):
        return small(search, dual_cutout=0.1 * seed, mixup=1.0, erasing=0.5)

    assert search.main(options, setting=setting, **others) == 0
    (path,) = tmp_path.glob("search-*.npz")
    with np.load(path) as f:
        for seed in range(2):
            record, distances = json.loads(str(f[f"model{seed}/record"])), f[f"model{seed}/distances"]
            assert distances.shape == (search_checkpoints(), 100)
            assert record["accuracy"] == [round(float((row == 0).mean()), 4) for row in distances]
            assert record["setting"] == json.loads(json.dumps(setting(seed)))
        best = max(float((f[k] == 0).mean(axis=1).max()) for k in f.files if k.endswith("distances"))
    pool = pools.checkpoints(tmp_path, least=best)
    assert pool.n_models >= 1
    assert pool.correct.mean(axis=1).max() == pytest.approx(best)
    assert search.main(options, setting=setting, **others) == 0
    assert list(tmp_path.glob("search-*.npz")) == [path]
    with pytest.raises(SystemExit, match="--epochs 2 goes on there"):
        search.left(2, 3, tmp_path)


class Clock:
    """Seconds that pass with every look."""

    def __init__(self, each):
        self.each, self.now = each, 0.0

    def __call__(self):
        self.now += self.each
        return self.now


def test_the_longest_is_first_and_none_is_begun_too_late(search, data, capsys):
    widths = {0: 4, 1: 8, 2: 4, 3: 8}  # seeds 1 and 3 have three times as many blocks

    def setting(seed):
        return small(search, channels=widths[seed], blocks=3 if widths[seed] == 8 else 1)

    order = []
    found = search.Search(data, 2, 1, limit=1e9, setting=setting, clock=Clock(0.0))
    found.made = lambda seed, stream: order.append(seed) or search.Search.made(found, seed, stream)
    records = [record for record, _ in found.run([0, 1, 2, 3])]
    assert order == [1, 3, 0, 2]
    assert [r["seed"] for r in records] == order
    assert found.pace.took == pytest.approx(sum(r["seconds"] for r in records), abs=0.4)
    # Where a guessed second takes 1000 s and 7 s are left, the long ones would not end in time, and one short one does.
    guessed = [search.guess(setting(seed), 320, 2) for seed in (0, 1)]
    late = search.Search(data, 2, 1, limit=1500 * guessed[0], setting=setting, clock=Clock(0.0))
    late.pace.add(1.0, 1000.0)
    assert 1000 * guessed[1] * search.MARGIN > late.limit > 1000 * guessed[0] * search.MARGIN
    late.clock = iter([0.0, 0.0, 0.0] + [late.limit / 2] * 10**6).__next__
    late.pace.add = lambda *_: None
    assert [record["seed"] for record, _ in late.run([0, 1, 2, 3])] == [0]
    assert "not begun for want of time: 3 networks, [1, 2, 3]" in capsys.readouterr().out


def test_what_is_not_done_at_the_limit_is_named(search, data, capsys):
    late = search.Search(data, 4, 2, limit=100.0, setting=lambda _: small(search), clock=Clock(30.0))
    late.pace.add(1.0, 1e-9)
    assert list(late.run([5, 6])) == []
    said = capsys.readouterr().out
    assert "model 5 is given up after" in said
    assert "time is up" in said


def test_probe_tells_captured_steps_from_wrong_ones(search, torch, data, capsys):
    s = small(search, crops=2, flips=True)
    one, two = (search.Training(3, s, data, 2) for _ in range(2))
    lost, apart, varies = search.differences(one, two)
    assert (lost, apart) == (0.0, 0.0)
    assert varies > 1e-3
    two.step = lambda: (two.generator.manual_seed(0), type(two).step(two))  # as if chance had been captured too
    assert search.differences(one, two)[0] > 0.2 * varies
    three = search.Training(3, s | {"rate": 0.06}, data, 2)  # as if the learning rate had been
    assert search.differences(one, three)[1] > 0.1
    assert search.probe(data, [3, 7], 8, 9.0, most=2, seconds=0.05) in (1, 2)
    assert "Run with --lanes" in capsys.readouterr().out
    original = search.Training.capture
    search.Training.capture = lambda t: setattr(t, "step", lambda: None)
    try:
        assert search.probe(data, [3], 8, 9.0, most=1, seconds=0.05) == 0
    finally:
        search.Training.capture = original
    assert "WRONG" in capsys.readouterr().out


def test_the_probe_has_every_part_of_a_step(search):
    some = [search.drawn(seed) for seed in search.covering(list(range(64)))]
    assert {s["optimiser"] for s in some} == {"sgd", "momentum", "nesterov", "adam"}
    for key in ("crops", "flips", "cutout", "erasing", "dual_cutout", "bottleneck"):
        assert any(s[key] for s in some)
    assert any(s["mixup"] and not s["dual_cutout"] for s in some)
