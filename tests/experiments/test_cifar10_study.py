"""The CIFAR-10 study of v1 with a control: pictures, split, codes of T, trainings side by side, the store."""

from __future__ import annotations

import argparse
import copy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heldout.images.frames import Upsample
from heldout.independence.engine import window
from heldout.independence.score_maps import score_map_statistics
from heldout.statistics import control_test

torch = pytest.importorskip("torch")
FakeTensorMode = torch._subclasses.fake_tensor.FakeTensorMode

FOLDER = Path(__file__).parents[2] / "experiments" / "werpachowski" / "cifar10"
NAMES = ("codes", "networks", "pictures", "rescaled", "store", "study", "tables", "training")


def load() -> dict:
    """The scripts import each other by short names, which other studies use too: they are taken back afterwards."""
    before = {n: sys.modules.pop(n) for n in NAMES if n in sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        return {n: __import__(n) for n in NAMES}
    finally:
        sys.path.remove(str(FOLDER))
        for n in NAMES:
            sys.modules.pop(n, None)
        sys.modules.update(before)


scripts = load()
codes, pictures, rescaled, store, study, tables, training = (
    scripts[n] for n in ("codes", "pictures", "rescaled", "store", "study", "tables", "training")
)
CPU = torch.device("cpu")
TINY = training.Setting(network="tiny", batch=16, epochs=3, peak=0.05)


@pytest.fixture(scope="module")
def cifar():
    """360 coarse pictures, whose label shows in their colour."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, 360).astype(np.uint8)
    x = np.kron(rng.integers(0, 200, (360, 8, 8, 3)), np.ones((1, 4, 4, 1))).astype(np.uint8)
    x[..., 0] += 5 * y[:, None, None]
    return x, y


@pytest.fixture(scope="module")
def data(cifar):
    return rescaled.Data(*cifar, CPU)


def trained(data, setting, seed):
    t = training.Training(setting, data, CPU, data.n_train + setting.leaked, False)
    t.begin(data.pool(setting.leaked, seed)[0], seed)
    return t


# --- pictures ----------------------------------------------------------------------------------------


def test_parts_give_the_pictures_back():
    x = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    x[:10] = np.arange(32, dtype=np.uint8)[:, None]  # flat ones too
    assert np.array_equal(pictures.decode(pictures.encode(x)), x)


def test_a_wrong_batch_is_refused(cifar):
    with pytest.raises(SystemExit, match="batch 0: MD5"):
        pictures.checked(*cifar, 0)


def test_enlarging_is_pillows():
    x = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    expected = [np.asarray(Image.fromarray(p).resize((44, 44), Image.Resampling.BILINEAR)) for p in x]
    assert np.array_equal(rescaled.enlarged(torch.as_tensor(x)).numpy(), np.stack(expected))


def test_split():
    s = pictures.split()
    assert len(s.control) == len(s.audited) == 10_000
    assert np.array_equal(np.sort(np.concatenate([s.control, s.train])), np.arange(50_000))
    assert np.isin(s.audited, s.train).all()
    assert s.corners.shape == (40_000, 2)
    assert (s.corners.min(), s.corners.max()) == (0, 12)
    again = pictures.split()
    assert np.array_equal(s.control, again.control)
    assert np.array_equal(s.corners, again.corners)


def test_leaks_are_test_pictures_and_change_with_the_seed():
    a, b = pictures.leaked(300, 1), pictures.leaked(300, 2)
    assert len(np.unique(a)) == 300
    assert not np.array_equal(a, b)
    assert np.array_equal(a, pictures.leaked(300, 1))


def test_what_is_trained_on(data, cifar):
    """Fixed crops of the training pictures, then the test pictures as they are tested."""
    x, y = cifar
    s = pictures.split(300, 60, 60)
    for i in (0, 17, 239):
        large = np.asarray(Image.fromarray(x[s.train[i]]).resize((44, 44), Image.Resampling.BILINEAR))
        top, left = s.corners[i]
        assert np.array_equal(data.shown[i].numpy(), large[top : top + 32, left : left + 32])
    rows, among = data.pool(30, 7)
    assert len(rows) == 270
    for row, t in zip(rows[240:], among, strict=True):
        shown = Upsample(44, crop=32).place(x[300 + t], 0)
        assert np.array_equal(data.shown[row].numpy(), shown)
        assert data.targets[row] == y[300 + t]


def test_crops_and_flips(data):
    rows = torch.tensor([3, 3])
    corner = torch.tensor([2, 2]), torch.tensor([5, 5])
    plain, flipped = rescaled.windows(data.shown, rows, *corner, 24, torch.tensor([False, True]))
    expected = data.shown[3, 2:26, 5:29].permute(2, 0, 1)
    assert torch.equal(plain, expected)
    assert torch.equal(flipped, expected.flip(2))


def test_padded_pictures_are_moved(data):
    """Every picture of a batch is a 32 x 32 window of it with 4 black pixels around; all places come up."""
    t = trained(data, replace(TINY, shift=False, pad=4, flips=False), 0)
    assert t.setting.name == "tiny-pad4-e3-leak0"
    places = set()
    for _ in range(8):
        x, _ = t.batch()
        for row, shown in zip(t.order[int(t.count) * 16 :][:16], x, strict=True):
            black = torch.nn.functional.pad(data.shown[row], (0, 0, 4, 4, 4, 4))[None]
            i = torch.arange(81)
            all_81 = rescaled.windows(black, torch.zeros_like(i), i // 9, i % 9, 32)
            same = (rescaled.normalised(all_81, torch.float32) == shown).flatten(1).all(dim=1)
            assert same.sum() == 1
            places.add(int(same.nonzero()))
        t.count += 1
    assert len({p // 9 for p in places}) == len({p % 9 for p in places}) == 9


# --- T -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [1, 2, 3])
@pytest.mark.parametrize("kind", ["normal", "ties", "few values", "all right", "all wrong"])
def test_codes_equal_heldouts_T(radius, kind):
    rng = np.random.default_rng(radius)
    orbit = codes.Orbit(radius, CPU)
    s = rng.normal(-1.3, 1, (300, orbit.side, orbit.side)).astype(np.float32)
    if kind == "ties":
        s = np.round(s)
    elif kind == "few values":
        s = rng.choice(np.array([0, 0, 0, 1, 2], np.float32), s.shape)
    elif kind == "all right":
        s = -np.abs(s)
    elif kind == "all wrong":
        s = np.abs(s) + 0.1
    field = torch.as_tensor(s)
    maps = codes.Maps(lambda i, d, r: field[i, d + orbit.reach, r + orbit.reach], 300, orbit, CPU)
    T = store.statistics(codes.strongest(maps))
    assert np.array_equal(T, score_map_statistics(s, radius=radius))
    assert maps.evaluations == int((~maps.values.isnan()).sum())  # nothing is scored twice
    if kind == "all right":
        assert maps.evaluations == 300 * (2 * radius + 1) ** 2


@pytest.mark.slow
def test_audit_equals_heldout_on_pictures(data, cifar):
    """From heldout's own frames and moves, 30 pictures, all 169 places of each."""
    x, _ = cifar
    t = trained(data, replace(TINY, shift=False, epochs=10), 0)
    training.together([t])
    audit = study.Audit(data, t.layers, t.weights, batch=64, fused=False)
    audit.data = copy.copy(data)
    audit.data.labels = audit.untouched()[0].clone()  # all right, but for a third
    audit.data.labels[::3] = data.labels[::3]
    y = audit.data.labels.numpy()
    maps = audit.maps(30)
    found = codes.strongest(maps)
    T = store.statistics(found)
    assert len(np.unique(found)) > 6
    scores = np.zeros((30, 13, 13))
    for i in range(30):
        canvas = Upsample(44, crop=32).place(x[300 + i], 6).astype(np.float32)
        crops = np.stack([window(canvas, 6, d, r, True) for d in range(-6, 7) for r in range(-6, 7)])
        v = torch.as_tensor((crops - np.float32(rescaled.MEAN)) / np.float32(rescaled.SPREAD)).permute(0, 3, 1, 2)
        v = torch.nn.functional.pad(v, (0, 0, 0, 0, 0, 5))
        logits = torch.cat([audit.network(v[j : j + 64]) for j in range(0, 169, 64)]).double().numpy()
        scores[i] = (logits.max(axis=1) - logits[:, y[i]]).reshape(13, 13)
    known = ~maps.values.isnan().numpy().reshape(30, 13, 13)
    assert np.abs(scores - maps.values.numpy().reshape(30, 13, 13))[known].max() < 1e-4  # rounding: another order
    assert np.array_equal(T, score_map_statistics(scores, radius=2))


def test_margins_are_log_odds(data):
    t = trained(data, TINY, 0)
    audit = study.Audit(data, t.layers, t.weights, batch=64, fused=False)
    rows = torch.arange(len(data.large))
    p = audit.logits(rows, 0 * rows, 0 * rows).double().softmax(dim=1)
    own = p.gather(1, data.labels[:, None])[:, 0]
    answers, margins = audit.untouched()
    assert torch.allclose(margins.double(), (own / (1 - own)).log(), atol=1e-4)
    assert torch.equal(answers, p.argmax(dim=1))


def test_folded_network_is_the_trained_one(data):
    """In float32, with the running statistics: what batch normalisation gives when it does not train."""
    t = trained(data, TINY, 1)
    training.together([t])
    x = torch.zeros(8, 8, 32, 32)
    x[:, :3] = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert not t.weights.tensors[0][:, 3:].any()  # nothing is learnt from channels of 0
    kept, v = x, x
    for i, layer in enumerate(t.layers):
        kernel, scale, shift = t.weights.tensors[3 * i : 3 * i + 3]
        kept = v if layer.opens else kept
        v = torch.nn.functional.conv2d(v, kernel, stride=layer.stride, padding=1)
        v = torch.nn.functional.batch_norm(v, *t.weights.statistics[2 * i : 2 * i + 2], scale, shift, False, 0.1, 1e-5)
        v = v.relu() + (kept if layer.closes else 0)
    expected = torch.nn.functional.linear(v.mean(dim=(2, 3)), *t.weights.tensors[-2:])
    finished = scripts["networks"].Finished(t.layers, t.weights, torch.float32)
    assert torch.allclose(finished(x), expected, atol=1e-4)


# --- trainings ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_side_by_side_is_one_by_one(data):
    jobs = [(TINY, 0), (replace(TINY, leaked=30), 1), (replace(TINY, shift=False), 2)]
    beside = [trained(data, s, seed) for s, seed in jobs]
    training.together(beside)
    for t, (setting, seed) in zip(beside, jobs, strict=True):
        alone = trained(data, setting, seed)
        training.together([alone])
        assert alone.steps == 3 * (len(data.pool(setting.leaked, seed)[0]) // 16)
        for a, b in zip(alone.weights.tensors, t.weights.tensors, strict=True):
            assert torch.equal(a, b)
    assert not torch.equal(beside[0].weights.tensors[0], beside[2].weights.tensors[0])


@pytest.mark.slow
def test_a_training_begins_anew(data):
    """What was trained before in the same place leaves no trace."""
    t = trained(data, TINY, 0)
    training.together([t])
    t.begin(data.pool(0, 3)[0], 3)
    training.together([t])
    alone = trained(data, TINY, 3)
    training.together([alone])
    assert all(torch.equal(a, b) for a, b in zip(alone.weights.tensors, t.weights.tensors, strict=True))


def test_step_is_sgd_with_nesterov(data):
    """Three steps by torch.optim.SGD on the same batches."""
    setting = replace(TINY, shift=False, flips=False)
    t, other = trained(data, setting, 0), trained(data, setting, 0)
    w = [v.detach().clone().requires_grad_() for v in other.weights.tensors]
    groups = [{"params": [v for v in w if v.ndim > 1], "weight_decay": setting.decay}]
    groups.append({"params": [v for v in w if v.ndim == 1], "weight_decay": 0.0})
    optimiser = torch.optim.SGD(groups, lr=1.0, momentum=0.9, nesterov=True)
    for k in range(3):
        t.go()
        x, y = other.batch()
        other.count += 1
        for group in optimiser.param_groups:
            group["lr"] = float(training.rates(setting, other.steps)[k])
        optimiser.zero_grad()
        out = scripts["networks"].logits(other.layers, w, other.weights.statistics, x)
        torch.nn.functional.cross_entropy(out, y).backward()
        optimiser.step()
    for mine, theirs in zip(t.weights.tensors, w, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_a_step_never_waits_for_a_value(data):
    """A graph cannot be made of a step that asks the device for a number."""
    t = trained(data, TINY, 0)
    t.go()  # constants are made here, as they are before a graph is made
    t.generator = None  # fake tensors have none
    with FakeTensorMode(allow_non_fake_inputs=True):
        t.step()


@pytest.mark.slow
def test_it_learns(data):
    t = trained(data, replace(TINY, epochs=12, shift=False), 0)
    training.together([t])
    assert t.accuracy() > 0.3


# --- the study ---------------------------------------------------------------------------------------


def arguments(tmp_path, **changed):
    values = {"out": tmp_path, "store": tmp_path, "minutes": 60, "lanes": 2, "compile": False, "fused": False,
              "audit_batch": 64, "device": CPU}  # fmt: skip
    return argparse.Namespace(**(values | changed))


def test_plan():
    jobs = study.plan(training.Setting(), training.Setting(shift=False, epochs=16), rounds=8)
    names = [study.key(*j) for j in jobs]
    assert len(set(names)) == len(names)
    counts = {n: sum(k.startswith(f"{n}/") for k in names) for n in {k.split("/")[0] for k in names}}
    assert counts["vgg-shift-e36-leak0"] == 48
    assert all(counts[f"vgg-{kind}-leak{leak}"] == 8 for kind in ("shift-e36", "fixed-e16") for leak in study.LEAKS)
    assert sum(n for k, n in counts.items() if k.startswith("vgg-shift")) + counts["vgg-fixed-e16-leak0"] >= 100


def test_plan_of_leaks():
    jobs = study.plan_of_leaks(training.Setting(shift=False, pad=4, epochs=80), rounds=8)
    names = [study.key(*j) for j in jobs]
    assert len(set(names)) == len(names) == 8 * 8 + 3
    assert sum(n.startswith("vgg-pad4-e80-leak0/") for n in names) == 24
    assert sum(n.startswith("residual-pad4-e80-leak0/") for n in names) == 3
    assert all(sum(n.startswith(f"vgg-pad4-e80-leak{leak}/") for n in names) == 8 for leak in study.LEAKS)


@pytest.fixture(scope="module")
def kept(data, tmp_path_factory):
    """A store of five networks, by two runs."""
    folder = tmp_path_factory.mktemp("store")
    jobs = [*((TINY, s) for s in range(4)), (replace(TINY, leaked=30), 1000)]
    study.Study(arguments(folder), data).run(jobs[:3])
    study.Study(arguments(folder), data).run(jobs)
    return folder


@pytest.mark.slow
def test_later_runs_go_on(kept, data):
    files = sorted(kept.glob("networks-*.npz"))
    assert len(files) == 2
    counts = []
    for path in files:
        with np.load(path) as f:
            counts.append(sum(k.endswith("/record") for k in f.files))
    assert sorted(counts) == [2, 3]
    assert len(store.done(kept)) == len(list(store.models(kept))) == 5
    assert not list(kept.glob(".*"))


@pytest.mark.slow
def test_what_is_kept(kept, data):
    for model in store.models(kept):
        assert model["leaked"].tolist() == pictures.leaked(model.record["setting"]["leaked"], model.record["seed"],
                                                           60).tolist()  # fmt: skip
        T = store.statistics(model["test_codes"])
        wrong = model["test_predictions"] != store.split(kept)["test_labels"]
        assert np.array_equal(model["test_codes"] >= store.WRONG, wrong)
        assert not wrong[model["test_margins"] > 0].any()  # a label of more than a half is the answer
        assert model.record["test_T"] == T.mean()
        assert ("train_codes" in model) == (model.record["setting"]["leaked"] == 0)
        if "test_maps" in model:
            assert np.array_equal(score_map_statistics(model["test_maps"], radius=2), T)
            assert model.record["codes_otherwise"] == 0


@pytest.mark.slow
def test_stops_in_time(data, tmp_path, capsys):
    study.Study(arguments(tmp_path, minutes=0), data).run([(TINY, 0)])
    assert "time is up; next would be tiny-shift-e3-leak0/seed0" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.npz"))


@pytest.mark.slow
def test_tables(kept):
    text = tables.write(kept)
    assert "# 5 networks" in text
    assert "margin less 3 references" in text
    assert text.count("0 codes differ") == 3


def test_difference_is_the_control_tests():
    rng = np.random.default_rng(0)
    y, y_control = rng.integers(0, 3, 200), rng.integers(0, 3, 300)
    a, b = rng.normal(size=200) + y, rng.normal(size=300) + y_control
    expected = control_test(a, b, classes_test=y, classes_control=y_control, rng=rng, n_resamples=9)
    difference, error = tables.difference(a, b, y, y_control)
    assert difference == pytest.approx(expected.difference)
    assert error == pytest.approx(expected.standard_error, rel=0.02)  # pooled over classes here, class by class there
