"""Prepared modules: the same logits up to rounding, a choice that is kept."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from heldout import InputError, LabelledImages, Translations, audit, audit_needed, perturbation_curve  # noqa: E402
from heldout.cli import main, memorization_curve  # noqa: E402
from heldout.images import Wrap, from_arrays  # noqa: E402
from heldout.scorers import TorchScorer, prepared  # noqa: E402
from heldout.scorers import torch as of_torch  # noqa: E402
from heldout.scorers.batches import OutOfMemoryError  # noqa: E402


class Block(torch.nn.Module):
    """A residual block with everything that is written in place, and what must not be."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(c, 4, 3, padding=1) for c in (3, 4))
        self.norm, self.relu = torch.nn.BatchNorm2d(4), torch.nn.ReLU()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        """Kept twice: once before, once after the ReLU."""
        before = self.norm(self.first(x))
        after = self.relu(before)
        out = torch.relu(after + self.second(after)) + before
        return self.head(out.mean((2, 3)))


@pytest.fixture
def module():
    torch.manual_seed(0)
    return Block().eval()


@pytest.fixture
def batch():
    return np.random.default_rng(0).random((8, 3, 6, 6), dtype=np.float32)


def test_what_is_written_in_place_changes_no_bit(module, batch):
    x = torch.from_numpy(batch)
    plain = of_torch.fold_batch_norms(copy.deepcopy(module), torch)
    again = copy.deepcopy(plain)
    of_torch.write_in_place(again, torch)
    targets = [node.target for node in again.graph.nodes]
    assert targets.count(torch.relu_) == 1  # the other one's input is read once more
    assert sum(target.__name__ == "iadd" for target in targets if callable(target)) == 1
    with torch.inference_mode():
        assert torch.equal(plain(x), again(x))
    gradients = []
    for each in (plain, again):
        y = x.clone().requires_grad_()
        each(y).sum().backward()
        gradients.append(y.grad)
    assert torch.equal(*gradients)


def test_onnx_runtime_gives_the_same_up_to_rounding(module, batch):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    plain, other = TorchScorer(module), TorchScorer(module, compile="onnx")
    np.testing.assert_allclose(other.logits(batch), plain.logits(batch), rtol=1e-4, atol=1e-6)
    assert other.digest() != plain.digest()
    assert not other.channels_last
    np.testing.assert_array_equal(other.input_gradient(batch, np.zeros(8)), plain.input_gradient(batch, np.zeros(8)))
    np.testing.assert_array_equal(other.plain().logits(batch), TorchScorer(module, prepare=False).logits(batch))


class Ways:
    """Ways that take a made-up time and give made-up logits, by a clock of their own."""

    def __init__(self, monkeypatch, seconds, wrong=()):
        self.now, self.seconds, self.wrong = 0.0, seconds, wrong
        monkeypatch.setattr(prepared.time, "perf_counter", lambda: self.now)

    def made(self, way):
        def run(x):
            self.now += self.seconds[way]
            return torch.ones(2, 3) * (5.0 if way in self.wrong else 1.0)

        if self.seconds[way] is None:
            raise RuntimeError("no compiler")
        return run


@pytest.mark.parametrize(
    ("seconds", "wrong", "chosen"),
    [
        ((0.03, 0.02, 0.01), (), "onnx"),
        ((0.03, 0.02, 0.01), ("onnx",), "compiled"),
        ((0.03, None, 0.04), (), "plain"),
        ((0.03, 0.0295, 0.04), (), "plain"),  # too little to be worth it
    ],
)
def test_the_fastest_that_agrees_is_chosen(monkeypatch, seconds, wrong, chosen):
    ways = Ways(monkeypatch, dict(zip(prepared.WAYS, seconds, strict=True)), wrong)
    assert prepared.fastest(ways.made, tuple(prepared.WAYS), torch.ones(1), "float32")[0] == chosen


def choose(monkeypatch, way):
    """The outcome of every trial to come."""
    monkeypatch.setattr(of_torch, "fastest", lambda made, ways, example, precision: (way, made(way)))


def test_a_choice_travels_and_is_in_the_digest(monkeypatch, module, batch):
    scorer = TorchScorer(module, compile="auto")
    with pytest.raises(InputError, match="call `choose`"):
        scorer.digest()
    choose(monkeypatch, "plain")
    assert scorer.choose(batch) == "plain"
    assert scorer.digest() == TorchScorer(module).digest()
    assert scorer.plain() is None
    choose(monkeypatch, "compiled")
    assert pickle.loads(pickle.dumps(scorer)).choose(batch) == scorer.choose(batch) == "plain"


@pytest.mark.parametrize(("options", "said"), [({"compile": "fast"}, "choose True"), ({"bf16": True}, "float32 on")])
def test_ways_that_are_not_there(module, options, said):
    with pytest.raises(InputError, match=said):
        TorchScorer(module, **{"compile": "onnx", **options})


def test_a_module_that_onnx_cannot_tell(module, batch):
    pytest.importorskip("onnxruntime")
    module.head.register_forward_hook(lambda layer, args, out: out + out.median() * torch.rand(()))
    with pytest.raises(InputError, match="ONNX Runtime"):
        TorchScorer(module, compile="onnx", prepare=False).logits(batch)


class Changes(torch.nn.Module):
    """Writes over what it is given."""

    def forward(self, x):
        return x.mul_(2).flatten(1)[:, :3]


@pytest.mark.parametrize(
    ("compiled", "said"),
    [
        (lambda module, **how: lambda x: module(x) + 1, "in torch.compile the model gives other logits"),
        (lambda module, **how: 1 / 0, "does not run in torch.compile: ZeroDivisionError"),
        (lambda module, **how: module, None),
    ],
)
def test_torch_compile_is_checked_against_the_plain_module(monkeypatch, batch, compiled, said):
    monkeypatch.setattr(torch, "compile", compiled)
    scorer = TorchScorer(Changes(), compile=True)
    if said is None:
        np.testing.assert_array_equal(scorer.logits(batch.copy()), 2 * batch.reshape(8, -1)[:, :3])
        return
    with pytest.raises(InputError, match=said):
        scorer.logits(batch)


def test_a_compiled_module_without_memory_gets_smaller_batches(monkeypatch, batch):
    def full(x):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch, "compile", lambda module, **how: full)
    with pytest.raises(OutOfMemoryError):
        TorchScorer(Changes(), compile=True).logits(batch)


def test_ways_agree_up_to_the_steps_of_their_precision():
    plain = torch.tensor([[10.0, 1.0, torch.nan]])
    for precision, step in (("float32", 2**-20), ("tf32", 2**-10), ("bfloat16", 2**-7)):
        assert prepared.agree(plain * (1 + step), plain, prepared.TOLERANCE[precision])
        assert not prepared.agree(plain * 1.1, plain, prepared.TOLERANCE[precision])
    assert not prepared.agree(plain * (1 + 2**-7), plain, prepared.TOLERANCE["float32"])
    assert not prepared.agree(plain.double() * (1 + 3e-6), plain.double(), 1e-6), "float64 is not rounded before"


def test_a_resumed_audit_keeps_to_its_choice(monkeypatch, tmp_path, module):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rng = np.random.default_rng(1)
    images = LabelledImages(from_arrays(rng.random((24, 6, 6, 3)), rng.integers(0, 2, 24)), Wrap())

    def run(folder, **options):
        scorer = TorchScorer(module, compile="auto", batch_size=8)
        return audit(scorer, images, orbit=Translations(1), allow_chance=True, checkpoint=folder, **options)

    def stop(sentence):
        if sentence.startswith("weighing"):
            raise KeyboardInterrupt

    choose(monkeypatch, "onnx")
    whole = run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", notify=stop)
    choose(monkeypatch, "plain")
    said = []
    resumed = run(tmp_path / "stopped", resume=True, notify=said.append)
    assert resumed.ways == whole.ways == ("ONNX Runtime",)
    assert "Block: run by ONNX Runtime." in said
    assert not any("trying" in sentence for sentence in said)
    assert resumed == whole
    assert "ONNX Runtime" in str(resumed.summary())
    assert run(None).ways == ("torch",)


def test_a_curve_tells_what_ran_it_and_keeps_to_it(monkeypatch, tmp_path, module):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (24, 6, 6, 3), dtype=np.uint8), rng.integers(0, 2, 24)
    said: list[str] = []

    def run(checkpoint=None):
        scorer = TorchScorer(module, compile="auto", batch_size=8)
        how = {"allow_chance": True, "checkpoint": checkpoint, "notify": said.append}
        return perturbation_curve(scorer, data, "gaussian", [0, 8, 16], **how)

    choose(monkeypatch, "onnx")
    first = run(tmp_path / "curve.npz")
    assert first.way == "ONNX Runtime"
    assert said[-1] == "Block: run by ONNX Runtime."
    choose(monkeypatch, "plain")
    assert run(tmp_path / "curve.npz") == first
    assert run().way == "torch"


def test_the_command_line_keeps_one_choice_for_all_curves(monkeypatch, tmp_path, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "compiled_net.py").write_text(
        "import torch\ndef net():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(108, 2))\n"
    )
    rng = np.random.default_rng(1)
    np.savez("train.npz", x=rng.integers(0, 256, (24, 6, 6, 3), dtype=np.uint8), y=rng.integers(0, 2, 24))
    line = ["memorization", "curve", "--model", "compiled_net:net", "--images", "train.npz", "--compile", "auto",
            "--allow-chance", "--perturbation", "gaussian", "fgsm", "--strengths", "0:2", "--json"]  # fmt: skip

    def stop(*args):
        raise KeyboardInterrupt

    choose(monkeypatch, "onnx")
    with monkeypatch.context() as stopped:
        stopped.setattr(memorization_curve, "limited_text", stop)
        assert main(line) == 130
    choose(monkeypatch, "plain")
    capsys.readouterr()
    assert main([*line, "--resume"]) == 0
    curves = json.loads(capsys.readouterr().out)["models"]["net"]["perturbations"]
    assert {curve["way"] for curve in curves.values()} == {"ONNX Runtime"}


def test_a_forecast_finds_out_too(monkeypatch, module):
    choose(monkeypatch, "plain")
    rng = np.random.default_rng(1)
    control = LabelledImages(from_arrays(rng.random((60, 6, 6, 3)), rng.integers(0, 2, 60)), Wrap())
    said: list[str] = []
    models = [TorchScorer(module, compile="auto", batch_size=8)]
    audit_needed(models, control, allow_chance=True, notify=said.append)
    assert "Block: run by torch." in said
