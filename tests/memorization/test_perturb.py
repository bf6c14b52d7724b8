"""Perturbations against other people's arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.memorization.perturb.fgsm import fgsm
from heldout.memorization.perturb.gaussian import gaussian
from heldout.memorization.perturb.spatial import Move, move_grid, moved
from heldout.scorers import FunctionScorer, TorchScorer


def test_noise_has_the_strength_it_says(rng):
    x = np.full((50, 8, 8, 3), 0.5, dtype=np.float32)
    noisy = gaussian(x, 0.05, rng=rng, low=0.0, high=1.0)
    assert noisy.dtype == np.float32
    assert float((noisy - x).std()) == pytest.approx(0.05, rel=0.03)
    strong = gaussian(x, 5.0, rng=rng, low=0.0, high=1.0)
    assert (strong.min(), strong.max()) == (0.0, 1.0)


def with_torch(images, move, padding):
    """The same by torch's own grid sampling."""
    torch = pytest.importorskip("torch")
    n, height, width, _ = images.shape
    a = math.radians(move.degrees)
    cos, sin = math.cos(a), math.sin(a)
    tx, ty = 2 * move.right / width, 2 * move.down / height
    back = torch.tensor(
        [[cos, -sin * height / width, -cos * tx + sin * height / width * ty],
         [sin * width / height, cos, -sin * width / height * tx - cos * ty]], dtype=torch.float64,
    )  # fmt: skip
    x = torch.from_numpy(images).permute(0, 3, 1, 2).double()
    grid = torch.nn.functional.affine_grid(back.expand(n, 2, 3), list(x.shape), align_corners=False)
    mode = "zeros" if padding == "black" else padding
    out = torch.nn.functional.grid_sample(x, grid, padding_mode=mode, align_corners=False)
    return out.permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("padding", ["black", "border"])
@pytest.mark.parametrize(
    "move", [Move(0, 0, 0), Move(1, -2, 0), Move(0.5, 0.25, 0), Move(0, 0, 7), Move(-2.5, 1.5, -8)]
)
def test_moves_are_torch_s(rng, move, padding):
    images = rng.random((3, 9, 12, 2), dtype=np.float32)
    np.testing.assert_allclose(moved(images, move, padding=padding), with_torch(images, move, padding), atol=2e-6)


def test_whole_shifts_move_pixels(rng):
    images = rng.random((2, 6, 6, 1), dtype=np.float32)
    there = moved(images, Move(2, 1, 0))
    np.testing.assert_array_equal(there[:, 1:, 2:], images[:, :-1, :-2])
    assert (there[:, 0] == 0).all()
    assert (there[:, :, :2] == 0).all()
    np.testing.assert_allclose(moved(images, Move(0, 0, 90)), np.rot90(images, axes=(1, 2)), atol=1e-6)


def test_grids():
    grid = move_grid(3.0, shifts=3, turns=5)
    assert len(grid) == len(set(grid)) == 45
    assert grid[0] == Move(0.0, 0.0, 0.0)
    assert max(abs(m.right) for m in grid) == max(abs(m.degrees) for m in grid) == 3.0
    with pytest.raises(InputError):
        move_grid(-1.0)


def test_fgsm_on_a_linear_model(rng):
    """Cross entropy of W x has the gradient Wᵀ (softmax - one-hot): in closed form."""
    torch = pytest.importorskip("torch")
    weights = rng.normal(size=(3, 12)).astype(np.float32)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3, bias=False))
    module[1].weight.data = torch.from_numpy(weights)
    x, y = rng.random((5, 3, 2, 2), dtype=np.float32), rng.integers(0, 3, 5)
    logits = x.reshape(5, 12) @ weights.T
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = np.sign((chance - np.eye(3)[y]) @ weights).reshape(x.shape)
    scorer = TorchScorer(module)
    np.testing.assert_allclose(fgsm(scorer, x, y, 0.05, low=-9, high=9), x + 0.05 * expected, atol=1e-6)
    cut = fgsm(scorer, x, y, 0.5, low=0.0, high=1.0)
    assert cut.min() >= 0
    assert cut.max() <= 1
    np.testing.assert_array_equal(fgsm(scorer, x, y, 0.0, low=0.0, high=1.0), x)


@pytest.mark.parametrize("sure", [1.0, 20.0, 400.0])
def test_the_sign_is_right_however_sure_a_model_is(rng, sure):
    """In float32 the cross entropy's own gradient vanishes at a margin of a hundred, and its sign goes before."""
    torch = pytest.importorskip("torch")
    weights = (sure * rng.normal(size=(3, 12))).astype(np.float32)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 3, bias=False))
    module[1].weight.data = torch.from_numpy(weights)
    x = rng.random((40, 3, 2, 2), dtype=np.float32)
    logits = x.reshape(40, 12).astype(np.float64) @ weights.T.astype(np.float64)
    y = logits.argmax(axis=1)
    others = logits.copy()
    others[np.arange(40), y] = -np.inf
    others -= others.max(axis=1, keepdims=True)
    share = np.exp(others) / np.exp(others).sum(axis=1, keepdims=True)  # of the wrong labels among themselves
    expected = np.sign((share - np.eye(3)[y]) @ weights)
    found = np.sign(TorchScorer(module).input_gradient(x, y)).reshape(40, 12)
    assert (found == expected).mean() == 1


def test_examples_do_not_mix(rng):
    """An example's gradient does not depend on the batch it comes in, and the module stays as it was."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 3)
    )
    scorer = TorchScorer(module)
    x, y = rng.random((6, 1, 4, 4), dtype=np.float32), rng.integers(0, 3, 6)
    together = scorer.input_gradient(x, y)
    alone = np.concatenate([scorer.input_gradient(x[i : i + 1], y[i : i + 1]) for i in range(6)])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert module.training
    assert all(p.grad is None and p.requires_grad for p in module.parameters())


def test_fgsm_needs_gradients():
    with pytest.raises(InputError, match="FGSM needs gradients"):
        fgsm(
            FunctionScorer(lambda b: b, name="mine"), np.zeros((1, 2), np.float32), np.zeros(1, int), 0.1, low=0, high=1
        )
