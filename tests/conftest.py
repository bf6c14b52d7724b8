"""Small real things that several tests share."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")  # before torch or anything else imports Triton: it is read there, once

from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.predictions import Predictions, load_predictions

DATA = Path(str(files("heldout") / "data"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20190307)


@pytest.fixture(scope="session")
def demo_arrays() -> dict[str, np.ndarray]:
    with np.load(DATA / "demo.npz") as archive:
        return {key: archive[key] for key in archive.files}


@pytest.fixture(scope="session")
def torus_images(demo_arrays) -> Callable[..., LabelledImages]:
    """The demo's test or control pictures, the first few of them."""

    def make(n: int = 60, part: str = "test") -> LabelledImages:
        return LabelledImages(from_arrays(demo_arrays[f"{part}_images"][:n], demo_arrays[f"{part}_labels"][:n]), Wrap())

    return make


@pytest.fixture(scope="session")
def honest_onnx() -> Path:
    return DATA / "honest.onnx"


@pytest.fixture(scope="session")
def leaked_onnx() -> Path:
    return DATA / "leaked.onnx"


class LinearModel:
    """A fixed random linear classifier that keeps count of the batches it was shown."""

    layout = "nchw"
    name = "linear"

    def __init__(self, shape: tuple[int, int, int], n_classes: int = 3, *, batch_size: int = 16, seed: int = 0):
        self.weights = np.random.default_rng(seed).normal(size=(int(np.prod(shape)), n_classes))
        self.batch_size = batch_size
        self.batches: list[int] = []

    def logits(self, batch: np.ndarray) -> np.ndarray:
        self.batches.append(len(batch))
        return np.round(batch.reshape(len(batch), -1) @ self.weights, 6)

    def digest(self) -> str:
        return str(self.weights.sum())


@pytest.fixture
def linear_model() -> type[LinearModel]:
    return LinearModel


@pytest.fixture(scope="session")
def cifar10_predictions() -> Predictions:
    """Thirty real models on the CIFAR-10 test set, from `examples/`."""
    return load_predictions(Path(__file__).parents[1] / "examples" / "cifar10_predictions.npz")
