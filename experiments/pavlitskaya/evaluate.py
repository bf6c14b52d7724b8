"""Accuracy curves of a finished network under perturbations of its first 2,000 training images.

As in heldout.memorization.perturb, but on a GPU, many pictures at a time, and in units of raw pixels (0 to 255) for
every network. Every curve is kept as one bit an image: answered right or not.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

IMAGES = 2_000
STRENGTHS = tuple(range(9))  # spatial: pixels and degrees; FGSM: of 255
NOISE = tuple(8 * s for s in STRENGTHS)  # standard deviation, of 255
BATCH = 2_500  # always so many at once: cuDNN plans every convolution anew for a batch of another size
FEW = 100  # on a processor, where memory for more is mapped anew by every layer


@torch.no_grad()
def answers(network: nn.Module, scale: float, x: Tensor) -> Tensor:
    """What a network says of pictures of raw pixels."""
    out = []
    for part in x.split(BATCH if x.is_cuda else FEW):
        y = part.float() * scale
        if y.is_cuda and len(y) < BATCH:
            y = torch.cat([y, y[:1].expand(BATCH - len(y), *y.shape[1:])])
        said = network(y.contiguous(memory_format=torch.channels_last)).argmax(dim=1)
        out.append(said[: len(part)])
    return torch.cat(out)


def right(network: nn.Module, scale: float, x: Tensor, y: Tensor) -> Tensor:
    """Whether each picture is answered right."""
    return answers(network, scale, x) == y


def move_matrices(strength: float) -> Tensor:
    """(125, 2, 3) for `affine_grid`: 5 x 5 shifts and 5 turns within the strength, on square pictures of 32 pixels.

    The largest first: these fool most, and a picture once fooled need not be tried again. Half-pixel shifts are among
    them, which blur; heldout.memorization.perturb.spatial.move_grid has whole pixels only since, and counts the worst
    so far. The curves in results/ are of these moves.
    """
    steps = np.linspace(-strength, strength, 5)
    moves = [(r, d, math.radians(t)) for t in steps for d in steps for r in steps]
    moves.sort(key=lambda m: -(abs(m[0]) + abs(m[1])))
    rows = []
    for right_, down, angle in moves:  # where a new pixel comes from: shift back, then turn back
        cos, sin, tx, ty = math.cos(angle), math.sin(angle), right_ / 16, down / 16
        rows.append([[cos, -sin, -cos * tx + sin * ty], [sin, cos, -sin * tx - cos * ty]])
    return torch.tensor(rows, dtype=torch.float32)


def moved(x: Tensor, matrices: Tensor) -> Tensor:
    """Every picture moved every way, ways first; bilinear, 0 outside."""
    n, ways = len(x), len(matrices)
    grid = F.affine_grid(matrices, [ways, *x.shape[1:]], align_corners=False)
    grid = grid[:, None].expand(ways, n, *grid.shape[1:]).flatten(0, 1)
    x = x.float()[None].expand(ways, *x.shape).flatten(0, 1)
    return F.grid_sample(x, grid, padding_mode="zeros", align_corners=False)


def spatial(network: nn.Module, scale: float, x: Tensor, y: Tensor, strength: float) -> Tensor:
    """Whether each picture is answered right however it is moved."""
    stands = right(network, scale, x, y)
    matrices = move_matrices(strength).to(x.device)
    at = 0
    while strength and at < len(matrices):
        left = stands.nonzero()[:, 0]
        if not len(left):
            break
        ways = matrices[at : at + max(1, 4 * BATCH // len(left))]
        said = right(network, scale, moved(x[left], ways), y[left].repeat(len(ways)))
        stands[left] &= said.view(len(ways), -1).all(dim=0)
        at += len(ways)
    return stands


def fgsm_signs(network: nn.Module, scale: float, x: Tensor, y: Tensor) -> Tensor:
    """Sign of the loss's gradient in each pixel, at the true label.

    Of the margin's, log Σ_{i≠y} exp l_i - l_y, which points the same way as the cross entropy's and is not rounded to 0
    where a network is sure. (The curves in pool-2.npz were made with the cross entropy's: see fgsm.py.)
    """
    out = []
    for part, wanted in zip(x.split(500), y.split(500), strict=True):
        pixels = part.float().requires_grad_()
        logits = network((pixels * scale).contiguous(memory_format=torch.channels_last)).float()
        others = torch.logsumexp(logits.scatter(1, wanted[:, None], float("-inf")), dim=1)
        margin = (others - logits.gather(1, wanted[:, None])[:, 0]).sum()
        out.append(torch.autograd.grad(margin, pixels)[0].sign())
    return torch.cat(out)


@lru_cache(maxsize=2)
def normal(shape: tuple[int, ...]) -> Tensor:
    """The same noise for every network and every strength."""
    return torch.from_numpy(np.random.default_rng(20220927).standard_normal(shape, dtype=np.float32))


def packed(rows: list[Tensor]) -> np.ndarray:
    return np.packbits(torch.stack(rows).cpu().numpy(), axis=1)


def curves(network: nn.Module, scale: float, x: Tensor, y: Tensor, corrupted: Tensor | None) -> dict[str, np.ndarray]:
    """Bits of all curves; `corrupted` is (15, 5, pictures, channels, height, width), or None."""
    found = {"spatial": packed([spatial(network, scale, x, y, a) for a in STRENGTHS])}
    signs = fgsm_signs(network, scale, x, y)
    attacked = ((x + e * signs).clamp(0, 255) for e in STRENGTHS)
    found["fgsm"] = packed([right(network, scale, a, y) for a in attacked])
    noise = normal(tuple(x.shape)).to(x.device)
    disturbed = ((x + e * noise).clamp(0, 255) for e in NOISE)
    found["gaussian"] = packed([right(network, scale, d, y) for d in disturbed])
    if corrupted is not None:
        found["corruptions"] = under_corruptions(network, scale, corrupted[:, :, : len(x)], y)
    return found


def under_corruptions(network: nn.Module, scale: float, corrupted: Tensor, y: Tensor) -> np.ndarray:
    """Bits of the same pictures (15, 5, pictures, channels, height, width) corrupted."""
    rows = [right(network, scale, pictures, y) for pictures in corrupted.flatten(0, 1)]
    return packed(rows).reshape(*corrupted.shape[:2], -1)


def accuracies(bits: np.ndarray, n: int = IMAGES) -> np.ndarray:
    """Share of pictures answered right, of a curve as it is kept."""
    return np.unpackbits(bits, axis=-1, count=n).mean(axis=-1)
