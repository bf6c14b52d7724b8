"""ONNX files, torch modules, scikit-learn estimators and functions give the logits they should."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from heldout import InputError, Translations, audit
from heldout.errors import MissingExtraError, import_extra
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.scorers import (
    FunctionScorer,
    OnnxScorer,
    Scorer,
    SklearnScorer,
    TorchScorer,
    as_scorer,
    load_scorer,
)

torch = pytest.importorskip("torch")


def onnx_file(path, shape=("n", 3, 8, 8), n_classes=4, output_dims=2):
    """A linear classifier as an ONNX file; returns the path and its weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    size = int(np.prod(shape[1:]))
    weights = np.random.default_rng(0).normal(size=(size, n_classes)).astype(np.float32)
    nodes = [helper.make_node("Flatten", ["x"], ["flat"], axis=1)]
    nodes.append(helper.make_node("MatMul", ["flat", "w"], ["logits"]))
    out = "logits"
    if output_dims == 1:
        nodes.append(helper.make_node("ReduceMax", ["logits"], ["top"], axes=[1], keepdims=0))
        out = "top"
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path, weights


class SmallNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.fc = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.fc(self.drop(x.mean((2, 3))))


@pytest.fixture
def net():
    torch.manual_seed(0)
    model = SmallNet()
    model.bn1.running_mean.normal_()
    model.bn1.running_var.uniform_(0.5, 2.0)
    return model


def test_onnx(tmp_path, rng):
    path, weights = onnx_file(tmp_path / "m.onnx")
    scorer = OnnxScorer(path)
    batch = rng.normal(size=(5, 3, 8, 8)).astype(np.float32)
    assert scorer.logits(batch) == pytest.approx(batch.reshape(5, -1) @ weights, abs=1e-4)
    assert (scorer.layout, scorer.input_size, scorer.channels, scorer.batch_size) == ("nchw", (8, 8), 3, 256)
    last = OnnxScorer(onnx_file(tmp_path / "last.onnx", ("n", 8, 8, 3))[0])
    assert (last.layout, last.channels, last.input_size) == ("nhwc", 3, (8, 8))
    fixed = OnnxScorer(onnx_file(tmp_path / "fixed.onnx", (2, 3, 8, 8))[0])
    assert fixed.batch_size == 2
    with pytest.raises(InputError, match="batches of exactly 2"):
        OnnxScorer(tmp_path / "fixed.onnx", batch_size=8)


def test_a_fixed_batch_gives_the_same_audit(tmp_path, rng):
    images = LabelledImages(from_arrays(rng.random((30, 8, 8, 3)), rng.integers(0, 4, 30)), Wrap())
    free, fixed = (
        audit(onnx_file(tmp_path / f"{n}.onnx", (n, 3, 8, 8))[0], images, orbit=Translations(1), allow_chance=True)
        for n in ("n", 7)
    )
    assert np.array_equal(free.T, fixed.T)


def test_onnx_refusals(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    two_dims, _ = onnx_file(tmp_path / "flat.onnx", ("n", 12))
    for path, sentence in [
        (tmp_path / "none.onnx", "does not exist"),
        (tmp_path / "broken.onnx", "not a model that ONNX Runtime can load"),
        (two_dims, "one input of four dimensions"),
    ]:
        with pytest.raises(InputError, match=sentence):
            OnnxScorer(path)
    scorer = OnnxScorer(onnx_file(tmp_path / "m.onnx")[0])
    with pytest.raises(InputError, match=r"cannot run on a batch of shape \(2, 3, 9, 9\)"):
        scorer.logits(np.zeros((2, 3, 9, 9), np.float32))
    with pytest.raises(InputError, match="CUDAExecutionProvider"):
        OnnxScorer(tmp_path / "m.onnx", device="cuda")
    with pytest.raises(InputError, match=r"'tpu'.*no such device"):
        OnnxScorer(tmp_path / "m.onnx", device="tpu")
    with pytest.raises(InputError, match="bfloat16 is for torch"):
        OnnxScorer(tmp_path / "m.onnx", bf16=True)


@pytest.mark.parametrize("prepare", [True, False])
@pytest.mark.parametrize("channels_last", [True, False])
def test_torch_logits_are_those_of_eval_mode(net, prepare, channels_last, rng):
    batch = rng.normal(size=(6, 3, 8, 8)).astype(np.float32)
    net.eval()
    with torch.no_grad():
        expected = net(torch.from_numpy(batch)).numpy()
    net.train()
    scorer = TorchScorer(net, prepare=prepare, channels_last=channels_last)
    assert scorer.logits(batch) == pytest.approx(expected, abs=1e-5)
    assert all(module.training for module in net.modules()), "the user's module keeps its mode"
    assert np.array_equal(scorer.logits(batch), scorer.logits(batch))


def test_scorers_travel_to_workers(net, tmp_path, rng):
    batch = rng.normal(size=(5, 3, 8, 8)).astype(np.float32)
    onnx = OnnxScorer(onnx_file(tmp_path / "m.onnx")[0], batch_size=5, threads=1)
    onnx.name = "renamed"
    for scorer, precision in (
        (TorchScorer(net), "float32"),
        (TorchScorer(net, bf16=True), "bfloat16"),
        (onnx, "float32"),
    ):
        expected = scorer.logits(batch)
        there = pickle.loads(pickle.dumps(scorer))
        assert np.array_equal(there.logits(batch), expected)
        assert (there.name, there.batch_size, there.digest()) == (scorer.name, scorer.batch_size, scorer.digest())
        assert there.precision == precision


def test_torch_modes_are_put_back_one_by_one(net, rng):
    net.train()
    net.bn1.eval()
    TorchScorer(net, prepare=False).logits(rng.normal(size=(2, 3, 8, 8)).astype(np.float32))
    assert net.training
    assert not net.bn1.training


def test_torch_traces_no_module_that_does_not_repeat_itself(net, rng):
    """A trace would freeze what Python drew in `forward`, and the audit's check of repetition would see nothing."""

    class Shifting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.calls = net, 0

        def forward(self, x):
            self.calls += 1
            return self.net(torch.roll(x, self.calls % 3, 3))

    scorer = TorchScorer(Shifting())
    batch = rng.normal(size=(2, 3, 8, 8)).astype(np.float32)
    assert not np.array_equal(scorer.logits(batch), scorer.logits(batch))


def test_torch_folds_batch_norms(net, rng):
    scorer = TorchScorer(net)
    scorer.logits(rng.normal(size=(2, 3, 8, 8)).astype(np.float32))
    kinds = {type(m) for m in scorer._prepared.modules()}
    assert torch.nn.BatchNorm2d not in kinds
    assert torch.nn.BatchNorm2d in {type(m) for m in net.modules()}, "the user's module is left alone"


def test_torch_that_cannot_be_traced_still_runs(rng):
    class Branches(torch.nn.Module):
        def forward(self, x):
            return x.flatten(1)[:, :3] if x.sum() > 0 else x.flatten(1)[:, 1:4]

    batch = np.ones((2, 3, 8, 8), np.float32)
    assert TorchScorer(Branches()).logits(batch).shape == (2, 3)


def test_torch_leaves_a_module_that_can_still_be_trained(rng):
    class Branching(SmallNet):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else super().forward(-x)

    batch = rng.normal(size=(4, 3, 8, 8)).astype(np.float32)
    for module in (Branching(), SmallNet()):
        strides = [p.stride() for p in module.parameters()]
        TorchScorer(module).logits(batch)
        assert [p.stride() for p in module.parameters()] == strides
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        module(torch.from_numpy(batch)).sum().backward()
        optimizer.step()
        assert not any(p.is_inference() for p in module.parameters())


def test_torch_bf16_is_near(net, rng):
    batch = rng.normal(size=(4, 3, 8, 8)).astype(np.float32)
    exact, rough = (TorchScorer(net, bf16=b).logits(batch) for b in (False, True))
    assert rough.dtype == np.float32
    assert rough == pytest.approx(exact, abs=0.05)
    assert not np.array_equal(rough, exact)


def test_torch_digest_sees_the_weights(net):
    before = TorchScorer(net).digest()
    assert TorchScorer(net).digest() == before
    assert TorchScorer(net, bf16=True).digest() != before
    with torch.no_grad():
        net.fc.bias[0] += 1e-3
    assert TorchScorer(net).digest() != before


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_torch_without_cuda_says_so(net):
    with pytest.raises(InputError, match="torch has no such device here; it has 'cpu'"):
        TorchScorer(net, device="cuda")


def test_torch_refuses_other_outputs():
    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(InputError, match="returns a tuple"):
        TorchScorer(Pair()).logits(np.zeros((1, 3, 8, 8), np.float32))


def test_sklearn_on_the_digits():
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    digits = load_digits()
    x, y = digits.images, digits.target
    linear = LogisticRegression(max_iter=2000).fit(x[:500].reshape(500, -1), y[:500])
    forest = RandomForestClassifier(30, random_state=0).fit(x[:500].reshape(500, -1), y[:500])
    images = LabelledImages(from_arrays(x[500:700], y[500:700]), Wrap(), scale=1)
    for model in (linear, forest):
        scorer = as_scorer(model)
        assert isinstance(scorer, SklearnScorer)
        flat = x[500:700].reshape(200, -1)
        batch = np.stack([images.canvas(i, 0, scorer.layout) for i in range(200)])
        right = (model.predict(flat) == y[500:700]).mean()
        assert (scorer.logits(batch).argmax(1) == y[500:700]).mean() == pytest.approx(right, abs=0.02)
        result = audit(model, images, orbit=Translations(1), limit=60)
        assert result.evidence.test_error == pytest.approx(1 - right, abs=0.15)
        assert result.test.counts["adversarial"] > 0


def test_sklearn_two_classes_and_missing_ones():
    from sklearn.linear_model import LogisticRegression

    x = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    two = SklearnScorer(LogisticRegression().fit(x, [0, 0, 1, 1]))
    logits = two.logits(x.reshape(4, 1, 2, 1).astype(np.float32))
    assert logits.argmax(1).tolist() == [0, 0, 1, 1]
    gap = SklearnScorer(LogisticRegression().fit(x, [0, 0, 3, 3]))
    logits = gap.logits(x.reshape(4, 1, 2, 1).astype(np.float32))
    assert logits.shape == (4, 4)
    assert logits.argmax(1).tolist() == [0, 0, 3, 3]
    with pytest.raises(InputError, match="not whole numbers"):
        SklearnScorer(LogisticRegression().fit(x, ["a", "a", "b", "b"]))


def test_sklearn_without_scores_is_refused():
    from sklearn.svm import LinearSVC

    class Mute:
        classes_ = np.array([0, 1])
        predict = LinearSVC.predict

    with pytest.raises(InputError, match="neither decision_function nor predict_proba"):
        as_scorer(Mute())
    with pytest.raises(InputError, match="LinearSVC is not fitted"):
        as_scorer(LinearSVC())


def test_sklearn_pairwise_scores_are_refused():
    from sklearn.svm import SVC

    x, y = np.eye(6), [0, 0, 1, 1, 2, 2]
    assert SklearnScorer(SVC().fit(x, y)).logits(x.reshape(6, 1, 6, 1).astype(np.float32)).argmax(1).tolist() == y
    with pytest.raises(InputError, match="decision_function_shape='ovr'"):
        SklearnScorer(SVC(decision_function_shape="ovo").fit(x, y))


def test_as_scorer(net, tmp_path):
    assert isinstance(as_scorer(net), TorchScorer)
    assert isinstance(as_scorer(str(onnx_file(tmp_path / "m.onnx")[0])), OnnxScorer)
    function = as_scorer(lambda b: b)
    assert isinstance(function, FunctionScorer)
    assert as_scorer(function) is function
    for scorer in (as_scorer(net), function):
        assert isinstance(scorer, Scorer)
    with pytest.raises(InputError, match="a int is not a model"):
        as_scorer(3)


def test_load_scorer(tmp_path, monkeypatch):
    (tmp_path / "zoo_for_tests.py").write_text(
        "import torch\n"
        "def make():\n    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))\n"
        "ready = make()\n"
        "def broken():\n    raise RuntimeError('no weights')\n"
        "def leaves():\n    raise SystemExit(3)\n"
    )
    (tmp_path / "half_written.py").write_text("def make(:\n")
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_scorer("zoo_for_tests:make"), TorchScorer)
    assert isinstance(load_scorer("zoo_for_tests:ready"), TorchScorer)
    for spec, sentence in [
        ("zoo_for_tests:missing", "missing"),
        ("nowhere_to_be_found:make", "nowhere_to_be_found"),
        ("zoo_for_tests:broken", "no weights"),
        ("zoo_for_tests:leaves", "SystemExit"),
        ("half_written:make", "SyntaxError"),
        (":make", "`model=:make`"),
        (".zoo:make", "`model=.zoo:make`"),
        ("model.pt", "give an .onnx file or package.module:factory"),
    ]:
        with pytest.raises(InputError, match=sentence):
            load_scorer(spec)


def test_missing_extra_is_named():
    with pytest.raises(MissingExtraError, match=r"pip install 'heldout\[onnx\]'"):
        import_extra("a_package_that_is_not_there", extra="onnx")


def test_import_heldout_is_light():
    heavy = "torch, matplotlib, onnxruntime, sklearn, jinja2, PIL.ImageShow"
    code = f"import sys, heldout; print([m for m in '{heavy}'.split(', ') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_caller_in_a_lower_precision_changes_no_score(rng):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5))
    batch = rng.normal(size=(8, 3, 4, 4)).astype(np.float32)
    scorer = TorchScorer(module)
    plain = scorer.logits(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        np.testing.assert_array_equal(scorer.logits(batch), plain)
        assert module(torch.from_numpy(batch)).dtype == torch.bfloat16
