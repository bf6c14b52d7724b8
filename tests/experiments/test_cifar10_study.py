"""The CIFAR-10 study of v1 with a control: pictures, split, codes of T, trainings side by side, the store."""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from heldout.images.frames import Upsample
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import RULES, Translations
from heldout.scorers.canvases import window
from heldout.statistics import control_test, independence_test
from heldout.statistics.leak import MARGIN_CLIP
from tests.experiments.scripts import ROOT, short_names

torch = pytest.importorskip("torch")
FakeTensorMode = torch._subclasses.fake_tensor.FakeTensorMode
DataDependentOutputException = torch._subclasses.fake_tensor.DataDependentOutputException

FOLDER = ROOT / "experiments" / "werpachowski" / "cifar10"
with short_names(FOLDER):
    import against
    import audits
    import brute
    import checks
    import codes
    import evidence
    import figures
    import measures
    import near
    import networks
    import pictures
    import rescaled
    import store
    import study
    import tables
    import training
    from kept import MAIN, Networks
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


def test_batches_are_unpacked_as_they_come(cifar, tmp_path, monkeypatch):
    x, y = cifar
    monkeypatch.setattr(pictures, "BATCH", 60)
    raw = [np.concatenate([y[i : i + 60, None], x[i : i + 60].transpose(0, 3, 1, 2).reshape(60, -1)], axis=1)
           for i in range(0, 360, 60)]  # fmt: skip
    monkeypatch.setattr(pictures, "MD5", [hashlib.md5(r.tobytes()).hexdigest() for r in raw])
    np.savez(tmp_path / "cifar10.npz", x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    pictures.pack(tmp_path / "cifar10.npz", tmp_path / "all")
    sent = tmp_path / "sent"
    sent.mkdir()
    for batch in (5, 0, 3, 1, 2, 4):
        shutil.copy(tmp_path / "all" / f"batch-{batch}.bin", sent)
        pictures.unpack(sent, tmp_path / "out")
        assert (tmp_path / "out" / f"batch-{batch}.npz").exists()
        if batch != 4:
            with pytest.raises(SystemExit, match=r"neither cifar10\.npz nor .*batch-4\.npz"):
                pictures.read(tmp_path / "out")
    assert all(np.array_equal(a, b) for a, b in zip(pictures.read(tmp_path / "out"), cifar, strict=True))
    with pytest.raises(SystemExit, match=r"has no batch-<i>.bin"):
        pictures.unpack(tmp_path / "out", tmp_path / "again")


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


@pytest.mark.parametrize("kind", ["normal", "ties", "all wrong"])
def test_ranks_are_enough_for_every_rule_radius_and_start(kind):
    rng = np.random.default_rng(3)
    orbit = codes.Orbit(2, CPU)
    s = rng.normal(-1.3, 1, (60, 13, 13)).astype(np.float32)
    s = np.round(s) if kind == "ties" else np.abs(s) + 0.1 if kind == "all wrong" else s
    field = torch.as_tensor(s)
    ranks = codes.ranks(codes.Maps(lambda i, d, r: field[i, d + 6, r + 6], 60, orbit, CPU))
    assert ranks.dtype == np.uint8
    for rule in RULES:
        for radius in (1, 2):
            expected = score_map_statistics(s, radius=radius, rule=rule)
            assert np.array_equal(score_map_statistics(ranks, radius=radius, rule=rule), expected)
    aside = score_map_statistics(s[:, 6:, :7], radius=1)  # from three pixels down and left
    assert np.array_equal(score_map_statistics(ranks[:, 6:, :7], radius=1), aside)


def test_frames_around_the_pictures(data, cifar):
    x, _ = cifar
    for frame, name in (("black", "constant"), ("edge", "edge"), ("mirror", "reflect")):
        framed = data.framed(frame, 70)
        assert framed.shape == (70, 44, 44, 3)
        assert np.array_equal(framed[5].numpy(), np.pad(x[305], ((6, 6), (6, 6), (0, 0)), mode=name))


def test_the_picture_most_like_another(data):
    """A picture that is in both is the nearest."""
    t = trained(data, TINY, 0)
    twins = copy.copy(data)
    twins.large = data.large.clone()
    twins.large[data.parts["test"]] = data.large[data.parts["rest"]][:60]
    found = study.Audit(twins, t.layers, t.weights, batch=64, fused=False).nearest()
    assert np.array_equal(found["test_near_id"], data.ids[data.parts["rest"]][:60])
    assert (found["test_near"] > 0.999).all()
    assert np.isin(found["control_near_id"], pictures.split(300, 60, 60).train).all()


@pytest.mark.slow
def test_audit_equals_heldout_on_pictures(data, cifar):
    """From heldout's own frames and moves, 30 pictures, all 169 places of each."""
    x, _ = cifar
    t = trained(data, replace(TINY, shift=False, epochs=10), 0)
    training.together([t])
    audit = study.Audit(data, t.layers, t.weights, batch=64, fused=False)
    audit.data = copy.copy(data)
    audit.data.labels = data.labels.clone()
    answers = audit.untouched()[0]
    audit.data.labels[: len(answers)] = answers  # all right, but for a third
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
    rows = torch.arange(data.parts["train"].stop)
    p = audit.logits(rows, 0 * rows, 0 * rows).double().softmax(dim=1)
    own = p.gather(1, data.labels[rows, None])[:, 0]
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
    finished = networks.Finished(t.layers, t.weights, torch.float32)
    assert torch.allclose(finished(x), expected, atol=1e-4)


@pytest.mark.slow
def test_folded_wide_network_is_the_trained_one(data):
    t = trained(data, replace(TINY, network="tinywide", epochs=1), 1)
    training.together([t])
    x = torch.zeros(8, 8, 32, 32)
    x[:, :3] = torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    F = torch.nn.functional
    w, moving = iter(t.weights.tensors), iter(t.weights.statistics)
    assert not t.weights.tensors[0][:, 3:].any()

    def ahead(v):
        mean, variance, scale, shift = next(moving), next(moving), next(w), next(w)
        return F.batch_norm(v, mean, variance, scale, shift, False, 0.1, 1e-5).relu()

    v = F.conv2d(x, next(w), padding=1)
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        a = ahead(v)
        b = F.conv2d(ahead(F.conv2d(a, next(w), stride=stride, padding=1)), next(w), padding=1)
        v = b + (v if width == 16 else F.conv2d(a, next(w), stride=stride))
        assert v.shape[1:] == (width, 32 * 16 // width, 32 * 16 // width)
    expected = F.linear(ahead(v).mean(dim=(2, 3)), next(w), next(w))
    assert next(w, None) is next(moving, None) is None
    assert torch.allclose(networks.finished(t.layers, t.weights, torch.float32)(x), expected, atol=1e-4)


@pytest.mark.parametrize(("depth", "factor", "millions"), [(28, 10, 36.5), (16, 8, 11.0), (40, 2, 2.2), (22, 10, 26.8)])
def test_wide_networks_have_the_published_size(depth, factor, millions):
    """Table 4 of Zagoruyko and Komodakis (2016)."""
    with FakeTensorMode():
        tensors, _ = networks.initial_wide(networks.NETWORKS[f"wide{depth}x{factor}"](), None)
    assert sum(t.numel() for t in tensors) / 1e6 == pytest.approx(millions, abs=0.06)


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
        out = networks.logits(other.layers, w, other.weights.statistics, x)
        torch.nn.functional.cross_entropy(out, y).backward()
        optimiser.step()
    for mine, theirs in zip(t.weights.tensors, w, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_a_step_never_waits_for_a_value(data):
    """A graph cannot be made of a step that asks the device for a number."""
    t = trained(data, TINY, 0)
    t.go()  # constants are made here, as they are before a graph is made
    t.generator = None  # fake tensors have none
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        t.step()
        with pytest.raises(DataDependentOutputException):  # with which one that asks would end
            fake.from_tensor(t.rate).item()


@pytest.mark.slow
def test_it_learns(data):
    t = trained(data, replace(TINY, epochs=12, shift=False), 0)
    training.together([t])
    assert t.accuracy() > 0.3


# --- the study ---------------------------------------------------------------------------------------


def arguments(tmp_path, **changed):
    values = {"out": tmp_path, "store": tmp_path, "minutes": float("inf"), "lanes": 2, "compile": False, "fused": False,
              "audit_batch": 64, "device": CPU, "whole": False, "ranked": 0, "weights": 0}  # fmt: skip
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


def test_jobs_asked_for():
    jobs = study.asked_for("network=wide16x8,epochs=30@3-5", training.Setting())
    assert [study.key(*j) for j in jobs] == [f"wide16x8-shift-e30-leak0/seed{s}" for s in (3, 4, 5)]
    one = study.asked_for("shift=0,pad=4,epochs=80,leaked=1000@1307", training.Setting())
    assert [study.key(*j) for j in one] == ["vgg-pad4-e80-leak1000/seed1307"]
    own = replace(training.Setting(), original=True)
    assert own.name == "vgg-original-e36-leak0"
    assert study.parts_of(own, True) == ("test", "control", "train")
    assert study.parts_of(jobs[0][0], True) == study.parts_of(one[0][0], True) == ("test", "control")


@pytest.mark.slow
def test_networks_of_other_kinds(data, tmp_path, cifar):
    """Wide ones, ones trained on the original pictures, and whole maps as ranks."""
    jobs = [(TINY, 3), (replace(TINY, original=True), 0), (replace(TINY, network="tinywide"), 0)]
    study.Study(arguments(tmp_path, whole=True, ranked=1), data).run(jobs)
    plain, own, wide = (study.key(*j) for j in jobs)
    with np.load(next(tmp_path.glob("*.npz"))) as f:
        assert len(f[f"{plain}/rest_codes"]) == 180
        for part in ("test", "control", "train", "rest"):
            T = score_map_statistics(f[f"{plain}/{part}_ranks"], radius=2)
            assert np.array_equal(T, store.statistics(f[f"{plain}/{part}_codes"]))
        assert f"{wide}/test_ranks" not in f
        assert all(f"{own}/{p}_codes_{frame}" in f for p in ("test", "control") for frame in ("edge", "mirror"))
        for key in (own, wide):
            T = score_map_statistics(f[f"{key}/test_maps"], radius=2)
            assert np.array_equal(T, store.statistics(f[f"{key}/test_codes"]))
    text, _ = tables.write(tmp_path)
    for section in ("Other generators, radii and starts", "Networks of the original pictures, with frames", "v1 5.3.3"):
        assert section in text
    t = trained(data, replace(TINY, original=True), 0)
    assert np.array_equal(t.shown[-60:].numpy(), cifar[0][300:])


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


def test_fewer_at_a_time_towards_the_end(data, tmp_path, monkeypatch):
    last = study.Study(arguments(tmp_path, lanes=4), data)
    last.slowest[TINY] = 40.0
    jobs = [(TINY, s) for s in range(6)]
    for left, count in ((49, 4), (47, 3), (30, 1), (20, 0)):
        monkeypatch.setattr(study.Study, "time_left", lambda _, left=left: left)
        assert last.next(jobs) == jobs[:count]


def test_ready_before_the_pictures_come(data, cifar, tmp_path):
    """What was made on noise is trained on the pictures."""
    for b in range(6):
        np.savez(tmp_path / f"batch-{b}.npz", x=cifar[0][60 * b : 60 * b + 60], y=cifar[1][60 * b : 60 * b + 60])
    noise = np.random.default_rng(0).integers(0, 256, cifar[0].shape, dtype=np.uint8)
    early = study.Study(arguments(tmp_path, lanes=2), rescaled.Data(noise, cifar[1][::-1].copy(), CPU))
    early.args.data, early.args.limit = tmp_path, None
    study.get_ready(early, TINY)
    (made, *_), fresh = early.lanes(TINY, 1), trained(data, TINY, 4)
    made.begin(data.pool(0, 4)[0], 4)
    for t in (made, fresh):
        t.go()
    assert all(torch.equal(a, b) for a, b in zip(made.weights.tensors, fresh.weights.tensors, strict=True))
    for name in ("small", "large", "labels", "shown", "targets", "original"):
        assert torch.equal(getattr(early.data, name), getattr(data, name))


@pytest.mark.slow
def test_tables(kept):
    text, page = tables.write(kept)
    assert "# 5 networks" in text
    assert set(page) == {"in short", "references", "power", "near"}
    assert text.count("0 codes differ") == 3


@pytest.fixture
def made_up(tmp_path):
    """Thirteen honest networks and two that saw 60 of 300 test pictures, which T shows; four that are wide."""
    rng = np.random.default_rng(0)
    parts = ("test", "control", "train")
    arrays = {f"split/{p}_labels": rng.integers(0, 3, 300).astype(np.uint8) for p in parts}
    names = [("vgg-shift-e104-leak0", s) for s in range(13)] + [("wide40x2-shift-e40-leak0", s) for s in range(4)]
    for name, seed in [*names, ("vgg-shift-e104-leak60", 7), ("vgg-shift-e104-leak60", 8)]:
        leaked = np.arange(60 if "leak60" in name else 0)
        kept = {"leaked": leaked.astype(np.uint16), "record": np.array(json.dumps({"radius": 2}))}
        for part in parts:
            wrong = rng.random(300) < 0.1
            found = np.where(wrong, 128 + rng.integers(0, 3, 300), rng.choice([0, 0, 0, 1], 300)).astype(np.uint8)
            if part == "test":
                found[leaked], wrong[leaked] = 1, False
            y = arrays[f"split/{part}_labels"]
            kept |= {f"{part}_codes": found, f"{part}_predictions": np.where(wrong, y + 1, y).astype(np.uint8)}
        arrays |= {f"{name}/seed{seed}/{k}": v for k, v in kept.items()}
    store.write(tmp_path / "networks-a.npz", arrays)
    return tmp_path


def audited(folder, p_T, drawn):
    """Of the two networks with a leak: p by T, and with draws of references."""
    keys = [f"vgg-shift-e104-leak60/seed{s}" for s in (7, 8)]
    single = {k: {"p": {"T": [p, 1.0], tables.VERDICT: [0.0005, 0.001]}} for k, p in zip(keys, p_T, strict=True)}
    (folder / "tables.json").write_text(json.dumps(single))
    (folder / "draws.json").write_text(json.dumps({k: {"p": p} for k, p in zip(keys, drawn, strict=True)}))
    return Networks(folder), audits.Audits(folder)


def test_a_family_of_leaked_networks_alone_has_no_p_of_honest_ones(made_up):
    assert against.groups(0) == []
    assert list(measures.p_values(Networks(made_up), "wide16x8-shift-e30-leak0")) == []


def test_the_positive_control(made_up):
    """What T sees is worked out; p-values of single networks are read."""
    networks, audits = audited(made_up, (0.04, 0.04), ([0.01, 0.02, 0.3], [0.01, 0.01, 0.02]))
    (row,) = [r for r in tables.positive_control(networks, audits).splitlines() if "60 (20 %)" in r]
    cells = row.strip("| ").split(" | ")
    of, honest = (networks.average(f"vgg-shift-e104-leak{k}") for k in (60, 0))
    T = [of[f"{part}/T"] for part in ("test", "control")]
    assert cells[1:3] == ["2", f"{100 * (of['test/error'].mean() - honest['test/error'].mean()):+.2f}"]
    assert cells[3] == checks.interval(*checks.difference(*T, *networks.labels().values()))
    assert all(float(p) <= 0.002 for p in cells[4:6])
    assert cells[6:] == ["0.04", "2 of 2", "0.015", "5 of 6", "1 of 2"]


@pytest.mark.parametrize(("drawn", "told"), [
    (([0.01, 0.02], [0.01, 0.04]), ["from 20 % on", "yes"]),
    (([0.01, 0.02], [0.01, 0.06]), ["never; 20 %: 3 of 4", "**no**"]),
])  # fmt: skip
def test_what_must_hold_is_told(made_up, drawn, told):
    """Also where it does not: thirteen networks are not a hundred, and T finds one of the two that saw pictures."""
    networks, audits = audited(made_up, (0.04, 0.2), drawn)
    rows = [row.strip("| ").split(" | ") for row in tables.must_hold(networks, made_up, audits).splitlines()[2:]]
    found = {row[0]: row[1:] for row in rows}
    assert found["100 VGG-like networks with a control"] == ["13", "**no**"]
    references, by_T = (v for k, v in found.items() if k.startswith("test pictures in training are found"))
    assert references == told
    assert by_T == ["never; 20 %: 1 of 2", "**no**"]
    error = 100 * networks.average("vgg-shift-e104-leak0")["test/error"].mean()
    assert found["mean test error within 1.5 points of v1's 7.85 %"] == [
        f"{error:.2f} %", "yes" if error < 9.35 else "**no**",
    ]  # fmt: skip


def test_what_must_hold_does():
    """All but T, which is blind to the positive control."""
    (section,) = [part for part in (FOLDER / "results" / "tables.md").read_text().split("## ")
                  if part.startswith("What must hold")]  # fmt: skip
    rows = section.strip().splitlines()[4:]
    assert len(rows) == 8
    (no,) = [row for row in rows if not row.endswith("| yes |")]
    assert no.startswith("| test pictures in training are found by T")


# --- beside v1 ---------------------------------------------------------------------------------------


def test_the_published_range_is_a_little_wider():
    """(8) as printed, with U = 3/2."""
    T = np.zeros(10_000)
    T[:90], T[90:140] = 0.5, -0.2
    t, v, U, m = T.mean(), T.var(), 1.5, len(T)
    exponent = m / (9 * U**2) * (v + 3 * U * t - v**0.5 * (v + 6 * U * t) ** 0.5)
    assert evidence.p_by_v1(T) == pytest.approx(3 * np.exp(-exponent))
    assert evidence.p_of(T) < evidence.p_by_v1(T) < 1


def test_p_of_another_number_of_pictures():
    """The same pictures twice have the same mean and spread."""
    T = np.zeros(2_000)
    T[:40] = 0.5
    p = evidence.p_by_v1(T)
    assert p < 1
    assert against.with_pictures(p, 2_000, 10_000) == pytest.approx(evidence.p_by_v1(np.tile(T, 5)))
    assert against.with_pictures(0.0281, 10_000, 2_000) == 1.0
    assert against.stands_for(p, 2_000, T.std()) == pytest.approx(T.mean())
    assert evidence.p_by_v1(-T) == p  # which has no sign


def test_subsets_are_as_many_as_asked_for_and_go_through_all():
    T = [np.arange(100.0) + 1000 * i for i in range(3)]
    found = list(evidence.subsets(T, 10, 7))
    assert [len(np.unique(t)) for t, _ in found] == [10] * 7
    assert [int(t.max() // 1000) for t, _ in found] == [0, 1, 2, 0, 1, 2, 0]
    assert all(np.array_equal(t, T[i % 3][which]) for i, (t, which) in enumerate(found))


def test_harder_pictures_are_likelier():
    rng = np.random.default_rng(0)
    hard = rng.beta(0.3, 3, 5_000)
    error = (rng.random(5_000) < hard).astype(float)
    weights = against.tilted(hard, error, 1.7)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ error == pytest.approx(1.7 * error.mean())
    assert (np.diff(weights[np.argsort(hard)]) >= 0).all()


def test_p_and_the_error_of_either_set(made_up):
    """Correlations by hand; the tenth of lowest error is one of thirteen networks."""
    networks = Networks(made_up)
    of = [m for _, m in sorted(networks.groups["vgg-shift-e104-leak0"].items())]
    rows = [r.strip("| ").split(" | ") for r in against.with_error(networks).splitlines()[2:]]
    errors = {part: np.array([m[f"{part}/error"].mean() for m in of]) for part in ("test", "control", "train")}
    for told, p_by in (("betting", evidence.by_betting), ("bernstein, v1's U", evidence.p_by_v1)):
        row = next(r for r in rows if r[2:4] == ["control", told])
        p = np.array([p_by(m["control/T"]) for m in of])
        assert row[4:7] == [f"{100 * np.corrcoef(p, e)[0, 1]:+.1f}" for e in errors.values()]
        lowest = [p[np.argmin(errors[part])] < 0.5 for part in ("test", "control")]
        assert row[7:9] == [f"{int(low)} of 1" for low in lowest]
        assert row[9] == f"{100 * np.mean(p < 0.5):.0f} %"
    by_v1 = [100 * np.corrcoef(p, errors[part])[0, 1] for part in ("control", "train")]
    assert measures.with_errors(networks, "vgg-shift-e104-leak0")["control"] == pytest.approx(by_v1)


def test_tables_of_v1_stand_beside_ours(made_up):
    networks = Networks(made_up)
    rows = {r.split(" | ")[0].strip("| "): r.split(" | ") for r in
            against.table_1(networks, "vgg-shift-e104-leak0").splitlines()[2:]}  # fmt: skip
    assert list(rows) == ["1", "12", "13", "250", "625", "1,250"]
    T = networks.average("vgg-shift-e104-leak0")["control/T"]
    assert rows["13"][4:6] == [f"{evidence.p_of(T):.4f}", f"{evidence.p_by_v1(T):.4f}"]
    assert rows["625"][1] == "0.0267, 0.0303"
    (wide,) = against.table_2(networks).splitlines()[2:]
    assert wide.startswith("| 40-2 | 7.24 (5.33) | 0.014 | wide40x2-shift-e40-leak0 | 4 |")


def test_what_an_effect_is_in_points(made_up):
    """T shows this leak, and the text has its interval and the points of error that it costs."""
    networks = Networks(made_up)
    honest, leaked = (networks.average(f"vgg-shift-e104-leak{k}") for k in (0, 60))
    text = tables.power_in_words(networks)
    parts = [[of[f"{p}/T"] for p in ("test", "control")] for of in (honest, leaked)]
    (_, se), found = (checks.difference(*T, *networks.labels().values()) for T in parts)
    assert f"a difference of {(1.959964 + 0.841621) * se:.5f}" in text
    assert checks.interval(*found) in text
    assert f"by {100 * (honest['test/error'].mean() - leaked['test/error'].mean()):.2f} points" in text


def test_how_hard_a_picture_is(made_up):
    """By other settings only, each counting once; pictures that nobody gets wrong are a stratum."""
    networks = Networks(made_up)
    hard = checks.difficulty(networks, "vgg-shift-e104-leak0")
    wide = networks.average("wide40x2-shift-e40-leak0")
    assert all(np.array_equal(hard[p], wide[f"{p}/error"]) for p in ("test", "control"))
    among = checks.strata({"test": np.array([0, 0, 0.1, 0.2, 0.3]), "control": np.array([0.4, 0.5, 0.6, 0, 0.3])}, 2)
    assert {p: v.tolist() for p, v in among.items()} == {"test": [0, 0, 1, 1, 2], "control": [2, 2, 2, 0, 2]}


def test_pictures_as_hard_are_compared():
    """T that depends on the difficulty alone is no difference, though one set has harder pictures."""
    rng = np.random.default_rng(0)
    hard = {"test": rng.integers(0, 4, 3_000), "control": np.maximum(rng.integers(0, 4, 3_000) - 1, 0)}
    T = [0.01 * h + rng.normal(0, 0.01, 3_000) for h in hard.values()]
    plain, matched = (checks.difference(*T, *y) for y in ([np.zeros(3_000)] * 2, hard.values()))
    assert plain[0] > 10 * plain[1]
    assert abs(matched[0]) < 3 * matched[1]
    alone = checks.difference(np.array([1.0, 2, 3, 9]), np.array([1.0, 1, 2]), np.array([0, 0, 0, 1]), np.zeros(3))
    assert alone[0] == pytest.approx(2 - 4 / 3)


def test_figures(made_up, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figures, "SMALL", 100)
    monkeypatch.setattr(figures, "SIZES", (100, 200))
    monkeypatch.setattr(figures, "N_SUBSETS", 10)
    of = figures.read([made_up], MAIN)["vgg-shift-e104-leak0"]
    assert {k: v.shape for k, v in of.items()} == {
        "test": (13, 300), "control": (13, 300), "test error": (13,), "train error": (13,),
    }  # fmt: skip
    assert np.array_equal(figures.averages(of["test"], 12), [of["test"][:12].mean(axis=0)])
    assert figures.groups(13) == [1, 12, 13]
    below = np.zeros((2, 300))
    below[0, :3], below[1, :90] = -0.5, -0.5  # two-sided: T below 0 counts too, capped at 1 or not
    free = figures.p_values(list(below), method="bernstein_uncapped")
    assert free[1] < 1 < free[0] < 3
    assert np.minimum(free, 1) == pytest.approx(figures.p_values(list(below)))
    assert len(figures.p_values(list(of["control"]), 100)) == 10
    figures.draw(made_up)
    assert sorted(f.name for f in made_up.glob("*.png")) == [f"figure{n}.png" for n in (10, 11, 12, 9)]


def test_the_files_lose_nothing_that_is_read(tmp_path):
    """Predictions come back, margins as heldout clips them; another class than the label is another distance."""
    rng = np.random.default_rng(0)
    y, answers = rng.integers(0, 10, (2, 500)).astype(np.uint8)
    margins = rng.normal(3, 6, 500).astype(np.float16)
    record = np.array(json.dumps({}))
    arrays = {"split/test_labels": y, "a-leak0/seed1/test_predictions": answers, "a-leak0/seed1/test_margins": margins}
    store.write(tmp_path / "networks-a.npz", arrays | {"a-leak0/seed1/record": record})
    kept = store.models(tmp_path)
    model = next(kept)
    assert model["test_predictions"].dtype == np.uint8
    assert np.array_equal(model["test_predictions"], answers)
    assert np.array_equal(model["test_margins"].astype(float), np.clip(margins.astype(float), *MARGIN_CLIP))


def test_difference_is_the_control_tests():
    rng = np.random.default_rng(0)
    y, y_control = rng.integers(0, 3, 200), rng.integers(0, 3, 300)
    a, b = rng.normal(size=200) + y, rng.normal(size=300) + y_control
    expected = control_test(a, b, classes_test=y, classes_control=y_control, rng=rng, n_resamples=9)
    difference, error = checks.difference(a, b, y, y_control)
    assert difference == pytest.approx(expected.difference)
    assert error == pytest.approx(expected.standard_error, rel=0.02)  # pooled over classes here, class by class there


@pytest.mark.slow
def test_a_second_reading_of_kept_weights(data, cifar, tmp_path, monkeypatch):
    """T from the weights by brute force, all 169 places of 20 pictures; a wrong code is seen."""
    monkeypatch.setitem(networks.NETWORKS, "plain", lambda: (networks.Layer(8), networks.Layer(16, 2)))
    t = trained(data, replace(TINY, network="plain", shift=False, epochs=4), 7)
    training.together([t])
    own = copy.copy(data)
    own.labels = data.labels.clone()
    audit = study.Audit(own, t.layers, t.weights, batch=64, fused=False)
    own.labels[:20] = audit.untouched()[0][:20]  # all right, but for a third
    own.labels[:20:3] = data.labels[:20:3]
    maps = audit.maps(20)
    kept = {"test_codes": codes.strongest(maps), "test_maps": codes.full(maps)}
    np.savez(tmp_path / "networks-a.npz", **{f"plain-leak0/seed7/{k}": v for k, v in kept.items()})
    np.savez(tmp_path / "weights-plain-leak0-seed7.npz", **audit.network.arrays())
    np.savez(tmp_path / "batch.npz", x=cifar[0][300:320], y=own.labels[:20].numpy())
    read = brute.weights(tmp_path / "batch.npz", [tmp_path / "weights-plain-leak0-seed7.npz"])
    (tmp_path / "brute.json").write_text(json.dumps(read))
    assert len(set(read["plain-leak0/seed7"]["float32"])) > 3
    assert brute.compare(tmp_path / "brute.json", [tmp_path]) == [("plain-leak0/seed7", "float32", 20, 0)]
    assert brute.maps([tmp_path]) == [("plain-leak0/seed7", 20, 0)]
    read["plain-leak0/seed7"]["float32"][5] += 0.5
    (tmp_path / "brute.json").write_text(json.dumps(read))
    assert brute.compare(tmp_path / "brute.json", [tmp_path]) == [("plain-leak0/seed7", "float32", 20, 1)]


# --- checks ------------------------------------------------------------------------------------------


def test_starts_off_the_centre():
    """A map moved back by the start is the map of a picture that begins there."""
    rng = np.random.default_rng(0)
    ranks = (rng.integers(0, 9, (50, 13, 13)) * (rng.random((50, 1, 1)) < 0.7)).astype(np.uint8)
    starts = rng.integers(-3, 4, (50, 2))
    moved = np.stack([np.roll(m, -s, axis=(0, 1)) for m, s in zip(ranks, starts, strict=True)])
    for rule in RULES:
        expected = score_map_statistics(moved, radius=1, rule=rule)
        assert np.array_equal(checks.from_ranks(ranks, 1, rule, starts), expected)
        assert np.array_equal(checks.from_ranks(ranks, 2, rule, None), score_map_statistics(ranks, radius=2, rule=rule))


def test_random_starts_have_no_T_but_for_their_edge():
    """On a map that goes round the starts are closed under moves: T of every picture is 0 in their mean."""
    rng = np.random.default_rng(0)
    period = 2 * checks.START + 1
    one = (rng.permuted(np.tile(np.arange(period**2), (20, 1)), axis=1) % 40).reshape(20, period, period)
    one = one.astype(np.uint8) * (rng.random(one.shape) < 0.4)
    ranks = np.tile(one, (1, 2, 2))[:, :13, :13]
    for rule in RULES:
        assert np.abs(checks.from_ranks(ranks, 1, rule, None)).max() > 0
        assert np.abs(checks.over_starts(ranks, 1, rule)).max() < 1e-12
    assert np.abs(checks.over_starts(np.where(np.indices((13, 13))[0] < 3, ranks, 0), 1, "strongest")).max() > 0


def test_similarity_of_two_models():
    y = np.zeros(10, int)
    a, b = np.array([1, 1, 1, 2, 0, 0, 0, 0, 0, 0]), np.array([1, 2, 0, 2, 3, 0, 0, 0, 0, 0])
    assert checks.alike(a, b, y) == (3 / 5, pytest.approx(0.16 / 0.64), 3, 2 / 3, 2)


def test_nearest_picture_is_found_mirrored_too(cifar):
    x, _ = cifar
    some = x[[7, 30, 5]].copy()
    some[1] = some[1][:, ::-1]
    some[2] = np.clip(some[2].astype(int) + 20, 0, 255)  # brighter
    like, which = near.nearest(some, x[:100], step=2)
    assert which.tolist() == [7, 30, 5]
    assert like == pytest.approx(1.0, abs=0.02)


def test_a_picture_of_the_other_set_is_found(cifar, tmp_path, monkeypatch):
    """Each set is compared with the training pictures and with the other set; ids are those of the files."""
    x, y = cifar
    monkeypatch.setattr(near, "BATCH", 60)
    own = pictures.split(300, 60, 60)
    monkeypatch.setattr(near, "split", lambda: own)
    x = x.copy()
    x[300 + 4] = x[own.control[7]][:, ::-1]
    x[300 + 9] = x[own.train[11]]
    np.savez(tmp_path / "cifar10.npz", x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    near.main(tmp_path / "cifar10.npz", tmp_path / "near.npz")
    with np.load(tmp_path / "near.npz") as f:
        found = dict(f)
    assert (found["test_id"][9], found["test_other_id"][4]) == (own.train[11], own.control[7])
    assert found["control_other_id"][7] == 4
    for key, at in (("test", 9), ("test_other", 4), ("control_other", 7)):
        assert found[f"{key}_like"][at] == 1
        assert (np.delete(found[f"{key}_like"], at) < 0.9).all()
    assert (found["control_like"] < 0.9).all()


@pytest.fixture
def near_kept(made_up):
    """What near.py writes, and four of the networks that have kept what is near to them."""
    rng = np.random.default_rng(1)
    parts = ("test", "control")
    pixels = {f"{p}{key}": rng.uniform(0.5, 1, 300) for p in parts for key in ("_like", "_other_like")}
    np.savez(made_up / "near.npz", **pixels)
    near_to = {f"a-leak0/seed{s}/{p}_near": rng.random(300).astype(np.float16) for s in range(4) for p in parts}
    records = {f"a-leak0/seed{s}/record": np.array("{}") for s in range(4)}
    checks.to_networks.cache_clear()
    store.write(made_up / "networks-b.npz", near_to | records)
    return made_up, pixels, near_to


def test_pictures_like_others_are_left_out(near_kept):
    """By hand: those above a correlation, and the tenth of both sets most like a training picture to networks."""
    folder, pixels, near_to = near_kept
    out = checks.nearby(folder)
    assert [key for key in out if key[0] == "networks"] == [("networks", share) for share in checks.MOST]
    count, cosine = checks.to_networks(folder)
    assert count == 4
    both = []
    for part in ("test", "control"):
        training, other = pixels[f"{part}_like"], pixels[f"{part}_other_like"]
        assert np.array_equal(out["training", 0.9][part], training > 0.9)
        assert np.array_equal(out["any", 0.8][part], (training > 0.8) | (other > 0.8))
        mean = np.mean([near_to[f"a-leak0/seed{s}/{part}_near"].astype(float) for s in range(4)], axis=0)
        assert np.array_equal(cosine[part], mean)
        both.append(mean)
    gone = np.concatenate([out["networks", 0.1][part] for part in ("test", "control")])
    assert abs(gone.sum() - 60) <= 2
    assert np.concatenate(both)[gone].min() > np.concatenate(both)[~gone].max()


def test_what_is_left_without_pictures_like_others(near_kept):
    """Counts, and every interval as the other tables make it; the page has those of MAIN."""
    folder, pixels, _ = near_kept
    rng = np.random.default_rng(2)
    labels = {p: rng.integers(0, 3, 300) for p in ("test", "control")}
    of = {f"{p}/{v}": rng.normal(0, 0.1, 300) for p in labels for v in ("T", "error")}
    of["test/T"] += 0.1
    rows = [r.strip("| ").split(" | ") for r in checks.without_near(folder, labels, {f"{MAIN}-leak0": of}).splitlines()]
    (counts,) = [r for r in rows if r[:2] == ["control", "test"]]
    assert counts[2:] == [str((pixels["control_other_like"] > r).sum()) for r in checks.COUNTED]
    found = {r[1]: r[2:] for r in rows if r[0] == f"{MAIN}-leak0"}
    assert len(found) == 1 + 2 * len(checks.LIKE) + len(checks.MOST)
    assert found["none"][0] == "0 and 0"
    kept = {p: pixels[f"{p}_like"] <= 0.9 for p in labels}
    told = found["correlation above 0.9 with a training picture"]
    T, y = [of[f"{p}/T"][k] for p, k in kept.items()], [labels[p][k] for p, k in kept.items()]
    assert told[:2] == [
        " and ".join(str((~k).sum()) for k in kept.values()),
        checks.interval(*checks.difference(*T, *y)),
    ]
    text = tables.near_in_words(folder, labels, {f"{MAIN}-leak0": of})
    assert found["correlation above 0.9 with a training picture or one of the other set"][1] in text
    halved = found["the 50 % most like a training picture to networks"][1].split()[0]
    assert halved in text
    assert "5 of 5 such intervals" in text
    assert tables.near_in_words(folder, labels, {}) == checks.without_near(folder / "none", labels, {}) == ""


@pytest.mark.parametrize(("found", "side"), [((1.0, 0.5), 1), ((-1.0, 0.5), -1), ((0.9, 0.5), 0), ((-0.9, 0.5), 0)])
def test_side_of_an_interval(found, side):
    assert tables.beyond(found) == side


def test_weaker_generators_stand_beside_the_strongest(tmp_path):
    """Of the networks with whole maps alone, and how many they are; none where there are none."""
    rng = np.random.default_rng(0)
    arrays = {}
    for part in ("test", "control", "train", "rest"):
        maps = (rng.integers(0, 9, (2, 200, 13, 13)) * (rng.random((2, 200, 1, 1)) < 0.5)).astype(np.uint8)
        arrays |= {f"a-leak0/seed{s}/{part}_ranks": m for s, m in enumerate(maps)}
    arrays |= {f"a-leak0/seed{s}/record": np.array("{}") for s in range(3)}
    store.write(tmp_path / "networks-a.npz", arrays)
    checks.by_generator.cache_clear()
    count, p = measures.generators_on_training(tmp_path)
    assert count == 2
    assert list(p) == list(RULES)
    for rule in RULES:
        lower, upper = Translations(2).statistic_range(rule)
        each = []
        for s in range(2):
            maps = np.concatenate([arrays[f"a-leak0/seed{s}/{part}_ranks"] for part in ("train", "rest")])
            T = checks.from_ranks(maps, 2, rule, None)
            each.append(independence_test(T, lower=lower, upper=upper, method="bernstein").p_value)
        assert p[rule] == pytest.approx(np.mean(each))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert measures.generators_on_training(empty) == (0, {})


# --- what the kept networks say ----------------------------------------------------------------------


@pytest.mark.slow
def test_v1s_numbers_come_out():
    """Error within 1.5 points; on the training set `strongest` rejects and the weaker rules do not; p falls with N.

    All have a control, than which T is not found higher on the test set; a difference of 0.0015 would have been seen.
    """
    results = FOLDER / "results"
    split = store.split(results)
    labels = split["test_labels"]
    errors, p, each = [], {rule: [] for rule in RULES}, {"test": [], "control": []}
    for model in store.models(results):
        if model.key.startswith(f"{MAIN}-leak0/"):
            errors.append((model["test_predictions"] != labels).mean())
            for part, found in each.items():
                found.append(store.statistics(model[f"{part}_codes"]))
            if "rest_codes" not in model:
                continue
            T = np.concatenate([store.statistics(model[f"{part}_codes"]) for part in ("train", "rest")])
            p["strongest"].append(evidence.p_of(T, "bernstein"))
            if "rest_ranks" in model:
                ranks = np.concatenate([model[f"{part}_ranks"] for part in ("train", "rest")])
                assert np.array_equal(checks.from_ranks(ranks, 2, "strongest", None), T)
                for rule in RULES[1:]:
                    lower, upper = Translations(2).statistic_range(rule)
                    T = checks.from_ranks(ranks, 2, rule, None)
                    p[rule].append(independence_test(T, lower=lower, upper=upper, method="bernstein").p_value)
    assert len(errors) >= 250
    assert len(p["strongest"]) >= 25
    assert abs(np.mean(errors) - 0.0785) < 0.015
    assert np.mean(p["strongest"]) < 0.05
    assert all(len(p[rule]) == 4 and np.mean(p[rule]) > 0.5 for rule in RULES[1:])
    by_number = []
    for n in (group for group in against.GROUPS if group <= len(errors)):
        averages = [np.mean(each["test"][i : i + n], axis=0) for i in range(0, len(errors) - n + 1, n)]
        by_number.append(np.mean([evidence.p_of(T, "bernstein") for T in averages]))
    assert all(a > b for a, b in itertools.pairwise(by_number))
    d, se = checks.difference(*(np.mean(t, axis=0) for t in each.values()), labels, split["control_labels"])
    assert d < 1.96 * se
    assert 2.8 * se < 0.0015
