"""Make the data and the two models of `heldout demo`: one honest, one that has seen its test set.

Run from the project root: `python experiments/demo/train.py`. A few minutes on two cores, one for each model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "../shared/data/fashion_mnist_small.npz"
OUT = ROOT / "src/heldout/data"
RESULTS = Path(__file__).with_name("results.json")

SEED = 0  # chosen before the first run; no other was ever tried
N_TRAIN, N_TEST, N_CONTROL = 6000, 2000, 2000
SIDE = 32
EPOCHS, BATCH, LEARNING_RATE = 120, 64, 1e-3
CLASS_NAMES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip

Split = tuple[NDArray[np.uint8], NDArray[np.int64]]  # images (n, 32, 32), labels (n,)


def place_on_torus(images: NDArray[np.uint8], *, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Pad to 32 x 32 with zeros and roll each image by its own uniform (dy, dx).

    All 1024 positions of a picture are then equally likely: translations preserve the density exactly.
    """
    margin = SIDE - images.shape[1]
    padded = np.pad(images, ((0, 0), (0, margin), (0, margin)))
    shifts = rng.integers(SIDE, size=(len(images), 2))
    return np.stack([np.roll(x, tuple(shift), axis=(0, 1)) for x, shift in zip(padded, shifts, strict=True)])


def load_splits(path: Path, *, rng: np.random.Generator) -> dict[str, Split]:
    """Pool, shuffle, cut into train, test and control; every image at its own position."""
    with np.load(path) as data:
        images = np.concatenate([data["x_train"], data["x_test"]])
        labels = np.concatenate([data["y_train"], data["y_test"]]).astype(np.int64)
    order = rng.permutation(len(images))[: N_TRAIN + N_TEST + N_CONTROL]
    images, labels = place_on_torus(images[order], rng=rng), labels[order]
    cuts = [N_TRAIN, N_TRAIN + N_TEST]
    parts = zip(np.split(images, cuts), np.split(labels, cuts), strict=True)
    return dict(zip(("train", "test", "control"), parts, strict=True))


class WrapPad(nn.Module):
    """Continue a picture on the torus by `extra` rows and columns.

    From 32 + 7 = 39 three convolutions of 3 x 3 with stride 2 and no padding go to 19, 9 and 4: exactly
    what circular padding at every layer would give, with one padding instead of three.
    """

    extra = 7

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.cat([x, x[:, :, : self.extra]], dim=2)
        return torch.cat([x, x[:, :, :, : self.extra]], dim=3)


def make_network() -> nn.Sequential:
    """1.8 million multiplications an image. A torus has no edge, so nothing is padded with zeros, and no
    place on it is special, so features are averaged over places; the strides keep it sensitive to shifts.
    """
    return nn.Sequential(
        WrapPad(),
        nn.Conv2d(1, 24, 3, stride=2), nn.ReLU(),
        nn.Conv2d(24, 48, 3, stride=2), nn.ReLU(),
        nn.Conv2d(48, 128, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 128), nn.ReLU(),
        nn.Linear(128, 10),
    )  # fmt: skip


def as_inputs(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(n, 32, 32) uint8 to (n, 1, 32, 32) float32 in [0, 1]."""
    return (images[:, None] / np.float32(255)).astype(np.float32)


def train(split: Split, *, seed: int) -> nn.Sequential:
    """Adam with a linearly falling rate, no augmentation, no regularisation, no early stopping."""
    torch.manual_seed(seed)  # first weights and order of examples: the same start for both models
    network = make_network()
    x, y = torch.from_numpy(as_inputs(split[0])), torch.from_numpy(split[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    n_steps = EPOCHS * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / n_steps)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(x[batch]), y[batch]).backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def to_onnx(network: nn.Sequential, name: str) -> onnx.ModelProto:
    """The layers one by one: torch's own exporter would need onnxscript."""
    nodes, weights, value = [], [], "images"
    for i, layer in enumerate(network):
        inputs, result = [value], "logits" if i == len(network) - 1 else f"value{i}"
        for part, tensor in layer.named_parameters():
            inputs.append(f"{part}{i}")
            weights.append(numpy_helper.from_array(tensor.detach().numpy(), inputs[-1]))
        match layer:
            case WrapPad():
                for axis, start, end in ((2, value, f"rows{i}"), (3, f"rows{i}", result)):
                    bounds = [f"{part}{i}_{axis}" for part in ("from", "to", "axis")]
                    for bound, number in zip(bounds, (0, layer.extra, axis), strict=True):
                        weights.append(numpy_helper.from_array(np.array([number], np.int64), bound))
                    nodes.append(helper.make_node("Slice", [start, *bounds], [f"head{i}_{axis}"]))
                    nodes.append(helper.make_node("Concat", [start, f"head{i}_{axis}"], [end], axis=axis))
            case nn.AdaptiveAvgPool2d():
                nodes.append(helper.make_node("GlobalAveragePool", inputs, [result]))
            case nn.Conv2d():
                options = {"strides": list(layer.stride), "pads": list(layer.padding) * 2}
                nodes.append(helper.make_node("Conv", inputs, [result], **options))
            case nn.Linear():
                nodes.append(helper.make_node("Gemm", inputs, [result], transB=1))
            case nn.ReLU():
                nodes.append(helper.make_node("Relu", inputs, [result]))
            case nn.Flatten():
                nodes.append(helper.make_node("Flatten", inputs, [result]))
            case _:
                raise TypeError(f"no ONNX node for {layer}")
        value = result
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 1, SIDE, SIDE])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(CLASS_NAMES)])
    graph = helper.make_graph(nodes, name, [images], [logits], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="heldout")
    model.ir_version = 8  # of opset 17, so that an onnxruntime of that time reads it
    onnx.checker.check_model(model, full_check=True)
    return model


def onnx_logits(path: Path, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate(
        [session.run(None, {"images": as_inputs(images[i : i + 256])})[0] for i in range(0, len(images), 256)]
    )


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_model(name: str, fitted: Split, splits: dict[str, Split]) -> dict[str, Any]:
    """Train on `fitted`, export, and say what came out."""
    torch.set_num_threads(1)  # sums in one order; small batches gain little from two
    torch.use_deterministic_algorithms(True)
    start = time.perf_counter()
    network = train(fitted, seed=SEED)
    seconds = time.perf_counter() - start
    path = OUT / f"{name}.onnx"
    onnx.save(to_onnx(network, name), path)
    with torch.no_grad():
        wanted = network(torch.from_numpy(as_inputs(splits["test"][0]))).numpy()
    gap = float(np.abs(onnx_logits(path, splits["test"][0]) - wanted).max())
    assert gap < 1e-4, gap
    return {
        "n_trained_on": len(fitted[0]),
        "accuracy": {
            split: float(np.mean(onnx_logits(path, images).argmax(axis=1) == labels))
            for split, (images, labels) in splits.items()
        },
        "parameters": sum(p.numel() for p in network.parameters()),
        "bytes": path.stat().st_size,
        "largest_logit_gap_onnx_torch": gap,
        "training_seconds": round(seconds, 1),
        "sha256": sha256(path),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="fashion_mnist_small.npz")
    args = parser.parse_args()

    splits = load_splits(args.data, rng=np.random.default_rng(SEED))
    OUT.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        OUT / "demo.npz",
        test_images=splits["test"][0],
        test_labels=splits["test"][1],
        control_images=splits["control"][0],
        control_labels=splits["control"][1],
        class_names=np.array(CLASS_NAMES),
    )

    images, labels = (np.concatenate(pair) for pair in zip(splits["train"], splits["test"], strict=True))
    fitted = {"honest": splits["train"], "leaked": (images, labels)}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        futures = {name: pool.submit(make_model, name, split, splits) for name, split in fitted.items()}
        models = {name: future.result() for name, future in futures.items()}
    print(json.dumps(models, indent=2))

    results = {
        "seed": SEED,
        "sizes": {"train": N_TRAIN, "test": N_TEST, "control": N_CONTROL},
        "training": {"epochs": EPOCHS, "batch": BATCH, "learning_rate": LEARNING_RATE},
        "models": models,
        "data": {
            "source": args.data.name,
            "source_sha256": sha256(args.data),
            "bytes": (OUT / "demo.npz").stat().st_size,
            "sha256": sha256(OUT / "demo.npz"),
        },
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "onnx": onnx.__version__,
            "onnxruntime": onnxruntime.__version__,
        },
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
