"""What a kernel does with its values on the way: dropout, batch normalisation, and all that follows a convolution.

Functions of Triton that kernels of Triton and of Gluon (hopper.py) call alike, and `some` for those that launch them.
Sums over a batch are gathered with atomic additions, so that trainings repeat up to rounding only. These are relaxed:
by default each would wait for all that was written before it, and empty the cache of its multiprocessor.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

EPS = 1e-3  # of batch normalisation, as in networks.py


def some(t: Tensor | None, other: Tensor) -> Tensor:
    """A kernel takes some tensor even where it looks at none."""
    return other if t is None else t


@triton.jit
def normal(sums, squares, gamma, beta, c, n, EPS: tl.constexpr):
    """Of channels with these sums of values and of squares: mean, variance, 1 / sd, and the line that normalises."""
    mean = tl.load(sums + c) / n
    variance = tl.maximum(tl.load(squares + c) / n - mean * mean, 0.0)
    rstd = 1.0 / tl.sqrt(variance + EPS)
    scale = tl.load(gamma + c) * rstd
    return mean, variance, rstd, scale, tl.load(beta + c) - mean * scale


@triton.jit
def mixed(x):
    """A 32-bit integer hashed (two multiplications, constants of Wellons' lowbias32)."""
    x = x.to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def kept(at, step, layer, P: tl.constexpr):
    """1 / (1 - P) where dropout keeps a value, 0 elsewhere: the same for the same place, step and layer."""
    key = mixed(mixed(tl.load(step)) + layer)
    draw = (mixed(at.to(tl.uint32) ^ key) >> 8).to(tl.float32) * (1.0 / 16777216)
    return tl.where(draw < P, 0.0, 1.0 / (1.0 - P))


@triton.jit
def finish(
    acc, at, held, channels, of, dst, bias, add, mask, values, norm, norm_squares, gamma, beta, step, layer, sums, more,
    n, BIAS: tl.constexpr, ADD: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr, P: tl.constexpr,
    SUMS: tl.constexpr, EPS: tl.constexpr,
):  # fmt: skip
    """Of a tile of a convolution, `acc`, which belongs at `at`: what `convolve` says, in that order."""
    if BIAS:
        acc += tl.load(bias + of + channels)[None, :]
    if ADD:
        acc += tl.load(add + at, mask=held, other=0.0).to(tl.float32)
    if RELU:
        acc = tl.maximum(acc, 0.0)
    if SUMS == 2 or MASK == 2:
        value = tl.load(values + at, mask=held, other=0.0).to(tl.float32)
    if MASK == 1:
        acc = tl.where(tl.load(mask + at, mask=held, other=0.0) > 0, acc, 0.0)
    if MASK == 2:
        _, _, _, scale, shift = normal(norm + of, norm_squares + of, gamma + of, beta + of, channels, n, EPS)
        acc = tl.where(value * scale[None, :] + shift[None, :] > 0, acc, 0.0)
    if P > 0:
        acc *= kept(at, step, layer, P)
    out = acc.to(dst.dtype.element_ty)
    tl.store(dst + at, out, mask=held)
    if SUMS > 0:
        out = tl.where(held, out.to(tl.float32), 0.0)
        tl.atomic_add(sums + of + channels, tl.sum(out, axis=0), sem="relaxed")
        if SUMS < 3:
            product = tl.sum(out * (out if SUMS == 1 else value), axis=0)
            tl.atomic_add(more + of + channels, product, sem="relaxed")
