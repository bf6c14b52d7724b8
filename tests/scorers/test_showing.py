"""The device path of everything but the rounds, on torch's "cpu", against what is done here; memory and precision."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError, LabelledImages, Translations, audit, audit_needed, perturbation_curve
from heldout.images import Upsample, Whole, Wrap, from_arrays
from heldout.memorization.perturb import RandomSpatial, Spatial
from heldout.memorization.perturb.spatial import move_grid, moved, moved_each
from heldout.memorization.perturbed import answers
from heldout.scorers import TorchScorer
from heldout.scorers.canvases import DeviceCanvases, HostCanvases
from heldout.scorers.showing import DeviceShowing
from heldout.scorers.torch import without_tf32

torch = pytest.importorskip("torch")

SIDE = 9
SCALE = {"mean": (0.4, 0.5, 0.6), "std": (0.2, 0.3, 0.1), "bgr": True}


class There(TorchScorer):
    """A device that is the CPU, but is treated as if it were not."""

    gathers = True


def net(seed=0):
    """A small one; others are like it."""
    torch.manual_seed(0)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 3),
    )
    made[4].bias.data[:] = 0
    for parameter in made.parameters():
        parameter.data += 0.01 * seed * torch.randn(parameter.shape)
    return made.eval()


def pictures(n, seed=0, frame=None, kind="uint8", model=None):
    """Coarse ones; nine in ten are labelled as a model says."""
    rng = np.random.default_rng(seed)
    x = np.kron(rng.integers(0, 256, (n, 3, 3, 3), dtype=np.uint8), np.ones((1, 3, 3, 1), np.uint8))
    x = x if kind == "uint8" else (x / 255).astype(np.float32)
    images = LabelledImages(from_arrays(x, np.zeros(n, int)), Whole(), **SCALE)
    scorer = TorchScorer(model or net())
    said = scorer.logits(images.scaled(x, "nchw", counts=kind == "uint8")).argmax(axis=1)
    labels = np.where(np.arange(n) % 10 == 0, (said + 1) % (said.max() + 1), said)
    return LabelledImages(from_arrays(x, labels), frame or Whole(), **SCALE)


@pytest.mark.parametrize("kind", ["uint8", "float"])
@pytest.mark.parametrize(
    "way", [Spatial(shifts=3, turns=3), Spatial(padding="border"), RandomSpatial(count=4), "fog", "gaussian", "fgsm"],
    ids=["grid", "border", "random", "fog", "noise", "fgsm"],
)  # fmt: skip
def test_curves_measured_there_are_those_measured_here(way, kind):
    images = pictures(30, kind=kind)
    options = {"pixel_range": None if kind == "uint8" else (0, 1), "allow_chance": True}
    strengths = None if way == "fog" else [0, 0.7, 2, 3]
    here, there = (perturbation_curve(s(net(), batch_size=8), images, way, strengths, **options)
                   for s in (TorchScorer, There))  # fmt: skip
    np.testing.assert_array_equal(here.correct, there.correct)
    assert here == there
    assert (here.precision, here.batch_size) == ("float32", 8)
    assert here.accuracy[0] == 0.9 > here.accuracy[-1]


def test_pictures_go_to_the_device_once_and_as_they_came(monkeypatch):
    sent = []
    put = DeviceShowing.put
    monkeypatch.setattr(DeviceShowing, "put", lambda self, x, *, counts: sent.append(x) or put(self, x, counts=counts))
    perturbation_curve(There(net(), batch_size=8), pictures(30), Spatial(), [0, 1, 2], allow_chance=True)
    copied = [x for x in sent if not torch.is_tensor(x)]
    assert len(sent) > 3 * len(copied)
    assert {x.dtype for x in copied} == {np.dtype(np.uint8)}
    perturbation_curve(There(net(), batch_size=8), pictures(9), "fog", allow_chance=True)
    assert {x.dtype for x in sent if not torch.is_tensor(x)} == {np.dtype(np.uint8)}


@pytest.mark.parametrize("padding", ["black", "border"])
def test_one_move_for_all_and_one_for_each_give_the_same_bits(padding):
    x = pictures(6).source.read_many(np.arange(6)).astype(np.float32)
    for move in move_grid(2.5):
        each = moved_each(x, [move] * 6, padding=padding, black=7.0)
        np.testing.assert_array_equal(each, moved(x, move, padding=padding, black=7.0))


@pytest.mark.parametrize("frame", [Wrap(), Upsample(16, crop=9)], ids=str)
def test_an_audit_there_is_one_here(frame, monkeypatch):
    """Preflight, originals, references and exhibits, to the last bit."""
    monkeypatch.setattr(HostCanvases, "ask", DeviceCanvases.ask)  # so that batches are the same
    test, control = (pictures(40, seed, frame) for seed in (1, 2))
    options = {"orbit": Translations(1), "control": control, "allow_frame_drop": True, "n_resamples": 99}
    here, there = (
        audit(s(net(), batch_size=16), test, references=[s(net(1), batch_size=16)], allow_chance=True, **options)
        for s in (TorchScorer, There)
    )
    assert here == there
    assert len(here.exhibits) > 0
    assert here.in_float32 == (None,)


def test_a_batch_dependent_model_is_refused_there_too():
    class Mixes(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.batch_norm(x.mean((2, 3)), None, None, training=True)

    def mixes(batch):
        return Mixes()(torch.from_numpy(batch)).numpy()

    for model in (mixes, TorchScorer(Mixes(), batch_size=7), There(Mixes(), batch_size=7)):
        with pytest.raises(InputError, match="depends on the other pictures in the batch"):
            audit(model, pictures(40, frame=Wrap()), orbit=Translations(1))


class Small(torch.nn.Module):
    """Runs on a device that holds so many pictures."""

    def __init__(self, most, seed=0):
        super().__init__()
        self.net, self.most = net(seed), most

    def forward(self, x):
        if len(x) > self.most:
            raise torch.OutOfMemoryError("CUDA: tried to allocate 2.00 GiB")
        return self.net(x)


def test_every_part_of_an_audit_goes_on_with_smaller_batches(tmp_path):
    test, control = (pictures(32, seed, Wrap()) for seed in (1, 2))
    options = {"orbit": Translations(1), "control": control, "allow_chance": True, "n_resamples": 19, "level": 0.2}
    for kind in (TorchScorer, There):
        said: list[str] = []
        own, reference = (kind(Small(7, seed), batch_size=16, prepare=False) for seed in (0, 1))
        own.name, reference.name = "own", "other"
        found = audit(
            own, test, references=[reference], notify=said.append, checkpoint=tmp_path / kind.__name__, **options
        )
        assert sum("ran out of memory at 16 pictures per batch; going on with fewer." in s for s in said) == 2
        assert found.batch_sizes == found.reference_batch_sizes == (4,)
        plain = [kind(net(seed), batch_size=4, prepare=False) for seed in (0, 1)]
        expected = audit(plain[0], test, references=plain[1:], **options)
        np.testing.assert_array_equal(found.T, expected.T)
        assert found.p_value == expected.p_value
        again = audit(own, test, references=[reference], checkpoint=tmp_path / kind.__name__, resume=True, **options)
        assert again == found


def test_a_forecast_goes_on_with_smaller_batches():
    said: list[str] = []
    options = {"control": pictures(80, 2, Wrap()), "shares": [0.3], "pulls": [1.0], "allow_chance": True}
    found = audit_needed([TorchScorer(Small(3), batch_size=16, prepare=False)], notify=said.append, **options)
    assert sum("going on with fewer" in s for s in said) == 1
    expected = audit_needed([TorchScorer(net(), batch_size=2, prepare=False)], **options)
    assert found.needed == expected.needed


@pytest.mark.parametrize(
    "way", [Spatial(shifts=3, turns=3), RandomSpatial(count=3), "fog", "fgsm"], ids=["spatial", "random", "fog", "fgsm"]
)
def test_curves_go_on_with_smaller_batches(way, tmp_path):
    images = pictures(20)
    for kind in (TorchScorer, There):
        said: list[str] = []
        model = kind(Small(3), batch_size=16, prepare=False)
        levels, path = ([0, 2] if way == "fog" else [0, 2.0]), tmp_path / f"{kind.__name__}.npz"
        found = perturbation_curve(model, images, way, levels, notify=said.append, checkpoint=path, allow_chance=True)
        assert said == ["Small: the device ran out of memory at 16 pictures per batch; going on with fewer."]
        assert found.batch_size == 2
        expected = perturbation_curve(kind(net(), batch_size=2, prepare=False), images, way, levels, allow_chance=True)
        np.testing.assert_array_equal(found.correct, expected.correct)
        assert perturbation_curve(model, images, way, levels, checkpoint=path, allow_chance=True) == found
        right = answers(model, images, np.arange(20), notify=said.append)
        np.testing.assert_array_equal(right, expected.correct[0, 0])
        assert len(said) == 2


@pytest.mark.parametrize("kind", [TorchScorer, There])
def test_a_device_that_runs_out_before_the_model_is_told_in_the_same_sentence(kind, monkeypatch):
    def full(self, pixels, *layout, counts):
        raise torch.OutOfMemoryError("CUDA: tried to allocate 2.00 GiB")

    images = pictures(20)
    monkeypatch.setattr(LabelledImages if kind is TorchScorer else DeviceShowing, "scaled", full)
    with pytest.raises(InputError, match=r"runs out of memory on a batch of shape \(1,.*; choose another `device`"):
        perturbation_curve(kind(net(), batch_size=4), images, "gaussian")


def test_answers_that_depend_on_the_precision_are_counted():
    """In bfloat16 on a CPU: a model whose classes differ in the ninth bit of their logits."""

    class Close(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(27, 2, bias=False)
            weight = np.random.default_rng(0).normal(size=(1, 27))
            self.linear.weight.data = torch.tensor(np.concatenate([weight, 1.01 * weight]), dtype=torch.float32)

        def forward(self, x):
            return self.linear(torch.nn.functional.avg_pool2d(x, 3).flatten(1))

    test, control = (pictures(60, seed, Wrap(), model=Close()) for seed in (1, 2))
    options = {"orbit": Translations(1), "control": control, "allow_chance": True, "n_resamples": 99}
    for kind in (TorchScorer, There):
        half = kind(Close(), bf16=True, batch_size=16)
        assert half.precision == "bfloat16"
        result = audit(half, test, **options)
        (counts,) = result.in_float32
        assert counts.pictures == 120
        plain = half.plain()
        other = turned = 0
        for images in (test, control):
            batch = images.scaled(images.place_many(np.arange(60), 0), "nchw", counts=True)
            a, b = half.logits(batch), plain.logits(batch)
            other += int((a.argmax(1) != b.argmax(1)).sum())
            rows = np.arange(60), images.labels
            turned += int(((a.max(1) > a[rows]) != (b.max(1) > b[rows])).sum())
        assert (counts.other_class, counts.right_or_wrong) == (other, turned)
        assert turned > 0
        assert result.to_dict()["in_float32"] == [{"pictures": 120, "other_class": other, "right_or_wrong": turned}]
        lines = dict(result.summary().lines)
        assert lines["Precision"] == "bfloat16, in batches of 16"
        assert lines["  In plain float32"].startswith(f"{other} of 120 pictures would be answered diff")
    assert "  In plain float32" not in dict(audit(TorchScorer(Close(), batch_size=16), test, **options).summary().lines)


def test_one_precision_for_all_scores_of_an_audit():
    images = pictures(40, 1, Wrap())
    models = [TorchScorer(net()), TorchScorer(net(1), bf16=True)]
    with pytest.raises(InputError, match="Sequential runs in bfloat16, so that scores would differ by that alone"):
        audit(models[0], images, control=pictures(40, 2, Wrap()), references=models[1:], orbit=Translations(1))


def test_plain_is_float32_throughout_and_leaves_no_trace():
    before = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with without_tf32(torch):
            assert not torch.backends.cudnn.allow_tf32
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.backends.cudnn.allow_tf32 == before[0]
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before[1])
    assert TorchScorer(net()).plain() is None
    compiled = TorchScorer(net(), compile=True, bf16=True)
    x = np.random.default_rng(0).random((2, 3, SIDE, SIDE), dtype=np.float32)
    plain = compiled.plain()
    assert plain.precision == "float32"
    np.testing.assert_array_equal(plain.logits(x), TorchScorer(net(), prepare=False).logits(x))
    assert compiled.precision == "bfloat16"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device here")
@pytest.mark.parametrize("device", ["cuda", "cuda:7"])
def test_a_device_that_is_not_there(device):
    with pytest.raises(InputError, match=rf"`device='{device}'`: torch has no such device here; it has 'cpu'\.$"):
        TorchScorer(net(), device=device)
