"""What many small networks of one kind need to be trained as one, beside convolutions (convolutions.py), in Triton.

Every tensor has the networks first: activations are (networks, pictures, height, width, channels).
"""

from __future__ import annotations

import triton
import triton.language as tl
from endings import EPS, kept, normal, some
from torch import Tensor

KEPT = 0.99  # of the running mean and variance of batch normalisation, at every step


@triton.jit
def _settle(
    y, add, out, sums, squares, gamma, beta, running_mean, running_var, step, layer, rows, n,
    W: tl.constexpr, C: tl.constexpr, NORM: tl.constexpr, ADD: tl.constexpr, RELU: tl.constexpr,
    POOL: tl.constexpr, P: tl.constexpr, EPS: tl.constexpr, KEPT: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    of = g * C
    if NORM:
        mean, variance, _, scale, shift = normal(sums + of, squares + of, gamma + of, beta + of, c, n, EPS)
        if tl.program_id(0) == 0:
            m, v = running_mean + of + c, running_var + of + c
            tl.store(m, KEPT * tl.load(m) + (1 - KEPT) * mean)
            tl.store(v, KEPT * tl.load(v) + (1 - KEPT) * variance * (n / (n - 1)))
    r = tl.program_id(0) * BM + tl.arange(0, BM)  # of what goes out
    held = (r < rows)[:, None]
    at = (g * rows + r)[:, None] * C + c[None, :]
    if POOL:
        pixel = g * rows * 4 + (r // (W // 2)) * 2 * W + r % (W // 2) * 2
        value = tl.full((BM, BC), float("-inf"), tl.float32)
        for k in tl.static_range(4):
            near = (pixel + (k // 2) * W + k % 2)[:, None] * C + c[None, :]
            one = tl.load(y + near, mask=held, other=0.0).to(tl.float32)
            if NORM:
                one = one * scale[None, :] + shift[None, :]
            value = tl.maximum(value, one)
    else:
        value = tl.load(y + at, mask=held, other=0.0).to(tl.float32)
        if NORM:
            value = value * scale[None, :] + shift[None, :]
    if ADD:
        value += tl.load(add + at, mask=held, other=0.0).to(tl.float32)
    if RELU:
        value = tl.maximum(value, 0.0)
    if P > 0:
        value *= kept(at, step, layer, P)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=held)


@triton.jit
def _unpool(
    pooled, y, dz, norm, norm_squares, gamma, beta, sums, more, rows, n,
    W: tl.constexpr, C: tl.constexpr, NORM: tl.constexpr, EPS: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    of = g * C
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    held = (r < rows)[:, None]
    gradient = tl.load(pooled + (g * rows + r)[:, None] * C + c[None, :], mask=held, other=0.0).to(tl.float32)
    if NORM:
        _, _, _, scale, shift = normal(norm + of, norm_squares + of, gamma + of, beta + of, c, n, EPS)
    pixel = g * rows * 4 + (r // (W // 2)) * 2 * W + r % (W // 2) * 2
    most = tl.full((BM, BC), float("-inf"), tl.float32)
    for k in tl.static_range(4):
        near = (pixel + (k // 2) * W + k % 2)[:, None] * C + c[None, :]
        one = tl.load(y + near, mask=held, other=0.0).to(tl.float32)
        if NORM:
            one = one * scale[None, :] + shift[None, :]
        most = tl.maximum(most, one)
    if not NORM:
        gradient = tl.where(most > 0, gradient, 0.0)  # what was cut
    total, product = tl.zeros((BM, BC), tl.float32), tl.zeros((BM, BC), tl.float32)
    left = tl.broadcast_to(held, (BM, BC))  # no pixel before this one was the largest
    for k in tl.static_range(4):
        near = (pixel + (k // 2) * W + k % 2)[:, None] * C + c[None, :]
        value = tl.load(y + near, mask=held, other=0.0).to(tl.float32)
        one = value * scale[None, :] + shift[None, :] if NORM else value
        here = left & (one == most)
        left = left & (one != most)
        back = tl.where(here, gradient, 0.0).to(dz.dtype.element_ty)
        tl.store(dz + near, back, mask=held)
        total += back.to(tl.float32)
        product += back.to(tl.float32) * value
    tl.atomic_add(sums + of + c, tl.sum(total, axis=0), sem="relaxed")
    if NORM:
        tl.atomic_add(more + of + c, tl.sum(product, axis=0), sem="relaxed")


@triton.jit
def _normalise_back(
    dz, y, dy, norm, norm_squares, gamma, beta, sums, products, d_gamma, d_beta, d_bias, rows, n,
    C: tl.constexpr, CUT: tl.constexpr, EPS: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    of = g * C
    mean, _, rstd, scale, _ = normal(norm + of, norm_squares + of, gamma + of, beta + of, c, n, EPS)
    total = tl.load(sums + of + c)
    along = (tl.load(products + of + c) - mean * total) * rstd  # with the normalised values
    if tl.program_id(0) == 0:
        tl.store(d_gamma + of + c, along)
        tl.store(d_beta + of + c, total)
    slope = -scale * rstd * along / n
    level = -scale * total / n - slope * mean
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    at = (g * rows + r)[:, None] * C + c[None, :]
    held = (r < rows)[:, None]
    gradient = tl.load(dz + at, mask=held, other=0.0).to(tl.float32)
    value = tl.load(y + at, mask=held, other=0.0).to(tl.float32)
    back = gradient * scale[None, :] + value * slope[None, :] + level[None, :]
    if CUT:
        back = tl.where(value > 0, back, 0.0)
    back = back.to(dy.dtype.element_ty)
    tl.store(dy + at, back, mask=held)
    if CUT:
        tl.atomic_add(d_bias + of + c, tl.sum(tl.where(held, back.to(tl.float32), 0.0), axis=0), sem="relaxed")


@triton.jit
def _end_back(
    given, out, y, dz, step, layer, sums, more, rows, N,
    HW: tl.constexpr, C: tl.constexpr, CUT: tl.constexpr, P: tl.constexpr, PRODUCTS: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    at = (g * rows + r)[:, None] * C + c[None, :]
    held = (r < rows)[:, None]
    back = tl.load(given + (g * N + r // HW)[:, None] * C + c[None, :], mask=held, other=0.0).to(tl.float32) / HW
    if CUT:
        back = tl.where(tl.load(out + at, mask=held, other=0.0) > 0, back, 0.0)
    if P > 0:
        back *= kept(at, step, layer, P)
    back = back.to(dz.dtype.element_ty)
    tl.store(dz + at, back, mask=held)
    back = back.to(tl.float32)
    tl.atomic_add(sums + g * C + c, tl.sum(back, axis=0), sem="relaxed")
    if PRODUCTS:
        value = tl.load(y + at, mask=held, other=0.0).to(tl.float32)
        tl.atomic_add(more + g * C + c, tl.sum(back * value, axis=0), sem="relaxed")


@triton.jit
def _placed(
    images, order, start, moves, out, SIZE, BATCH, scale,
    CHANNELS: tl.constexpr, C: tl.constexpr, H: tl.constexpr, W: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    p, g = tl.program_id(0), tl.program_id(1)
    row = tl.load(order + g * SIZE + tl.load(start) + p)
    at = tl.arange(0, H * W)
    h, w = at // W, at % W
    source = images + row * CHANNELS * H * W
    place = out + ((g * BATCH + p) * H * W + at) * C
    if MOVED:
        m = moves + (g * BATCH + p) * 6
        x = (2 * w.to(tl.float32) + 1) / W - 1
        y = (2 * h.to(tl.float32) + 1) / H - 1
        x, y = (
            tl.load(m) * x + tl.load(m + 1) * y + tl.load(m + 2),
            tl.load(m + 3) * x + tl.load(m + 4) * y + tl.load(m + 5),
        )
        x = tl.minimum(tl.maximum(((x + 1) * W - 1) / 2, 0.0), W - 1.0)
        y = tl.minimum(tl.maximum(((y + 1) * H - 1) / 2, 0.0), H - 1.0)
        left, top = tl.floor(x), tl.floor(y)
        across, down = x - left, y - top
        left, top = left.to(tl.int32), top.to(tl.int32)
        right, under = tl.minimum(left + 1, W - 1), tl.minimum(top + 1, H - 1)
    for channel in tl.static_range(CHANNELS):
        plane = source + channel * H * W
        if MOVED:
            over = tl.load(plane + top * W + left) * (1 - across) + tl.load(plane + top * W + right) * across
            below = tl.load(plane + under * W + left) * (1 - across) + tl.load(plane + under * W + right) * across
            value = over * (1 - down) + below * down
        else:
            value = tl.load(plane + at).to(tl.float32)
        tl.store(place + channel, (value * scale).to(out.dtype.element_ty))


@triton.jit
def _take_step(
    p, d, first, second, copy, rate, count, n, split, decay,
    ADAM: tl.constexpr, MOMENTUM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    held = at < n
    value = tl.load(p + at, mask=held, other=0.0)
    gradient = tl.load(d + at, mask=held, other=0.0) + tl.where(at < split, decay, 0.0) * value
    speed = tl.load(rate)
    if ADAM:
        t = tl.load(count) + 1
        m = 0.9 * tl.load(first + at, mask=held, other=0.0) + 0.1 * gradient
        v = 0.999 * tl.load(second + at, mask=held, other=0.0) + 0.001 * gradient * gradient
        tl.store(first + at, m, mask=held)
        tl.store(second + at, v, mask=held)
        root = tl.sqrt(v) / tl.sqrt(1 - tl.exp(t * -0.0010005003335835344))  # ln 0.999
        value -= speed / (1 - tl.exp(t * -0.10536051565782628)) * m / (root + 1e-7)  # ln 0.9
    else:
        if MOMENTUM > 0:
            gradient += MOMENTUM * tl.load(first + at, mask=held, other=0.0)
            tl.store(first + at, gradient, mask=held)
        value -= speed * gradient
    tl.store(p + at, value, mask=held)
    tl.store(copy + at, value.to(copy.dtype.element_ty), mask=held)


def _blocks(rows: int, c: int) -> tuple[int, int, int, int]:
    """Rows and channels of a tile, and how many of each there are."""
    bc = min(c, 128)
    bm = min(8192 // bc, triton.next_power_of_2(rows))
    return bm, bc, triton.cdiv(rows, bm), c // bc


def settle(
    y: Tensor, out: Tensor, *, norm: tuple[Tensor, ...] | None = None, add: Tensor | None = None, relu: bool = False,
    pool: bool = False, dropped: tuple[Tensor, int, float] | None = None,
) -> None:  # fmt: skip
    """What follows a convolution: batch normalisation, a sum, a cut, the largest of 2 x 2, dropout.

    `norm` is (sums, squares, gamma, beta, running mean, running variance); the last two take a step.
    """
    G, B, H, W, C = y.shape
    rows = out[0].numel() // C
    bm, bc, n_rows, n_channels = _blocks(rows, C)
    of = (y,) * 6 if norm is None else norm
    step, layer, p = (y, 0, 0.0) if dropped is None else dropped
    _settle[n_rows, G, n_channels](
        y, some(add, y), out, *of, step, layer, rows, float(B * H * W), W, C, norm is not None, add is not None,
        relu, pool, p, EPS, KEPT, bm, bc, num_warps=8,
    )  # fmt: skip


def unpool(
    pooled: Tensor, y: Tensor, dz: Tensor, sums: Tensor, products: Tensor | None = None,
    norm: tuple[Tensor, ...] | None = None,
) -> None:  # fmt: skip
    """From the gradient by the largest of 2 x 2 to that by all four: the first of the largest has it.

    `norm` as in `convolve`; without it what is not above 0 has none. Sums as in `convolve`.
    """
    G, B, H, W, C = y.shape
    rows = B * H * W // 4
    bm, bc, _, n_channels = _blocks(4 * rows, C)
    bm = max(1, bm // 4)
    of = (y,) * 4 if norm is None else norm
    _unpool[triton.cdiv(rows, bm), G, n_channels](
        pooled, y, dz, *of, sums, some(products, sums), rows, float(B * H * W), W, C, norm is not None, EPS, bm, bc,
        num_warps=4,
    )  # fmt: skip


def normalise_back(
    dz: Tensor, y: Tensor, dy: Tensor, norm: tuple[Tensor, ...], sums: Tensor, products: Tensor, d_gamma: Tensor,
    d_beta: Tensor, d_bias: Tensor | None = None,
) -> None:  # fmt: skip
    """From the gradient by normalised values to that by the values, by gamma and by beta.

    With `d_bias` the values were cut at 0 before, and the gradient by the bias before that is added to it.
    """
    G, B, H, W, C = y.shape
    rows = B * H * W
    bm, bc, n_rows, n_channels = _blocks(rows, C)
    _normalise_back[n_rows, G, n_channels](
        dz, y, dy, *norm, sums, products, d_gamma, d_beta, some(d_bias, d_beta), rows, float(rows), C,
        d_bias is not None, EPS, bm, bc, num_warps=8,
    )  # fmt: skip


def end_back(
    given: Tensor, out: Tensor, dz: Tensor, *, cut: bool, sums: Tensor, products: Tensor | None = None,
    values: Tensor | None = None, dropped: tuple[Tensor, int, float] | None = None,
) -> None:  # fmt: skip
    """From the gradient by means over pixels, (G, B, C), or by every pixel, (G, B H W, C), to that before a cut.

    It is 0 where `out` is not above 0 (`cut`) or where dropout did not keep it; sums as in `convolve`.
    """
    G, B, H, W, C = out.shape
    rows, n = B * H * W, given.shape[1]
    bm, bc, n_rows, n_channels = _blocks(rows, C)
    step, layer, p = (out, 0, 0.0) if dropped is None else dropped
    _end_back[n_rows, G, n_channels](
        given, out, some(values, out), dz, step, layer, sums, some(products, sums), rows, n, rows // n, C, cut, p,
        products is not None, bm, bc, num_warps=8,
    )  # fmt: skip


def placed(
    images: Tensor, order: Tensor, start: Tensor, out: Tensor, scale: float, moves: Tensor | None = None
) -> None:
    """Pictures of a batch as bilinear samples at `moves` (G, B, 2, 3) of `affine_grid`, the border repeated."""
    G, B, H, W, C = out.shape
    _placed[B, G](
        images, order, start, some(moves, out), out, order.shape[1], B, scale, images.shape[1], C, H, W,
        moves is not None, num_warps=4,
    )  # fmt: skip


def take_step(
    p: Tensor, d: Tensor, first: Tensor, second: Tensor | None, copy: Tensor, rate: Tensor, count: Tensor, *,
    split: int, decay: float, momentum: float,
) -> None:  # fmt: skip
    """A step of Adam or, without `second`, of gradient descent; the first `split` decay. `copy` is renewed."""
    _take_step[(triton.cdiv(len(p), 1024),)](
        p, d, first, some(second, first), copy, rate, count, len(p), split, decay, second is not None, momentum, 1024
    )
