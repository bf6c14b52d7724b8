"""What many small networks of one kind need to be trained as one, in Triton.

Every tensor has the networks first: activations are (networks, pictures, height, width, channels), kernels
(networks, size, size, in, out). The library's convolutions of a few channels take several times as long, those of
many up to twice as long, and what stands around them (batch normalisation, cuts, sums) is done on the way here.

Sums over a batch are gathered by the kernel that makes the values, with atomic additions, so that trainings repeat up
to rounding only. `convolve` also goes backwards: the gradient by what came in is a convolution, too.
"""

from __future__ import annotations

import json
from pathlib import Path

import triton
import triton.language as tl
from torch import Tensor

TILES_AT = Path(__file__).with_name("tiles.json")
EPS = 1e-3  # of batch normalisation, as in networks.py
KEPT = 0.99  # of its running mean and variance at every step


@triton.jit
def _normal(sums, squares, gamma, beta, c, n, EPS: tl.constexpr):
    """Of channels with these sums of values and of squares: mean, variance, 1 / sd, and the line that normalises."""
    mean = tl.load(sums + c) / n
    variance = tl.maximum(tl.load(squares + c) / n - mean * mean, 0.0)
    rstd = 1.0 / tl.sqrt(variance + EPS)
    scale = tl.load(gamma + c) * rstd
    return mean, variance, rstd, scale, tl.load(beta + c) - mean * scale


@triton.jit
def _mixed(x):
    """A 32-bit integer hashed (two multiplications, constants of Wellons' lowbias32)."""
    x = x.to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def _kept(at, step, layer, P: tl.constexpr):
    """1 / (1 - P) where dropout keeps a value, 0 elsewhere: the same for the same place, step and layer."""
    key = _mixed(_mixed(tl.load(step)) + layer)
    draw = (_mixed(at.to(tl.uint32) ^ key) >> 8).to(tl.float32) * (1.0 / 16777216)
    return tl.where(draw < P, 0.0, 1.0 / (1.0 - P))


@triton.jit
def _convolve(
    src, kernel, dst, bias, add, mask, values, norm, norm_squares, gamma, beta, step, layer, sums, more, B, n,
    HS: tl.constexpr, WS: tl.constexpr, CS: tl.constexpr, HD: tl.constexpr, WD: tl.constexpr, CD: tl.constexpr,
    SIZE: tl.constexpr, STRIDE: tl.constexpr, BACK: tl.constexpr, BIAS: tl.constexpr, ADD: tl.constexpr,
    RELU: tl.constexpr, MASK: tl.constexpr, P: tl.constexpr, SUMS: tl.constexpr, EPS: tl.constexpr,
    BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)  # of F x F pixels each
    inside = rows < B * (HD // F) * (WD // F)
    picture = rows // (HD // F * (WD // F))
    h = rows // (WD // F) % (HD // F) * F
    w = rows % (WD // F) * F
    cols = tl.program_id(2) * BN + tl.arange(0, BN)  # pixel within F x F, then channel
    channels, p, q = cols % CD, cols // CD // F, cols // CD % F
    src += g * B * HS * WS * CS
    kernel += g * SIZE * SIZE * CS * CD
    PAD: tl.constexpr = SIZE // 2
    SPAN: tl.constexpr = SIZE + F - 1  # pixels to a side that F x F need
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, SPAN * SPAN * CS, BK):
        j = first + tl.arange(0, BK)
        i, k, c = j // CS // SPAN, j // CS % SPAN, j % CS
        known = j < SPAN * SPAN * CS
        if BACK:
            tap_h, tap_w = p[None, :] - i[:, None] + SIZE - 1, q[None, :] - k[:, None] + SIZE - 1
            hs, ws = h[:, None] + (i - (SIZE - 1 - PAD))[None, :], w[:, None] + (k - (SIZE - 1 - PAD))[None, :]
            ok = (hs % STRIDE == 0) & (ws % STRIDE == 0) & (hs >= 0) & (ws >= 0)
            hs, ws = hs // STRIDE, ws // STRIDE
            ok = ok & (hs < HS) & (ws < WS)
        else:
            tap_h, tap_w = i[:, None] - p[None, :], k[:, None] - q[None, :]
            hs, ws = h[:, None] * STRIDE + (i - PAD)[None, :], w[:, None] * STRIDE + (k - PAD)[None, :]
            ok = (hs >= 0) & (hs < HS) & (ws >= 0) & (ws < WS)
        at = ((picture * HS)[:, None] + hs) * WS + ws
        a = tl.load(src + at * CS + c[None, :], mask=ok & inside[:, None] & known[None, :], other=0.0)
        tap = tap_h * SIZE + tap_w
        if BACK:
            place = (tap * CD + channels[None, :]) * CS + c[:, None]
        else:
            place = (tap * CS + c[:, None]) * CD + channels[None, :]
        near = known[:, None]
        if F > 1:
            near = near & (tap_h >= 0) & (tap_h < SIZE) & (tap_w >= 0) & (tap_w < SIZE)
        b = tl.load(kernel + place, mask=near, other=0.0)
        acc = tl.dot(a, b, acc)
    pixel = ((g * B + picture) * HD + h) * WD + w
    at = (pixel[:, None] + (p * WD + q)[None, :]) * CD + channels[None, :]
    held = inside[:, None]
    if BIAS:
        acc += tl.load(bias + g * CD + channels)[None, :]
    if ADD:
        acc += tl.load(add + at, mask=held, other=0.0).to(tl.float32)
    if RELU:
        acc = tl.maximum(acc, 0.0)
    if SUMS == 2 or MASK == 2:
        value = tl.load(values + at, mask=held, other=0.0).to(tl.float32)
    if MASK == 1:
        acc = tl.where(tl.load(mask + at, mask=held, other=0.0) > 0, acc, 0.0)
    if MASK == 2:
        of = g * CD
        _, _, _, scale, shift = _normal(norm + of, norm_squares + of, gamma + of, beta + of, channels, n, EPS)
        acc = tl.where(value * scale[None, :] + shift[None, :] > 0, acc, 0.0)
    if P > 0:
        acc *= _kept(at, step, layer, P)
    out = acc.to(dst.dtype.element_ty)
    tl.store(dst + at, out, mask=held)
    if SUMS > 0:
        out = tl.where(held, out.to(tl.float32), 0.0)
        tl.atomic_add(sums + g * CD + channels, tl.sum(out, axis=0))
        if SUMS < 3:
            tl.atomic_add(more + g * CD + channels, tl.sum(out * (out if SUMS == 1 else value), axis=0))


@triton.jit
def _kernel_gradient(
    src, gradient, out, B,
    HS: tl.constexpr, WS: tl.constexpr, CS: tl.constexpr, HD: tl.constexpr, WD: tl.constexpr, CD: tl.constexpr,
    SIZE: tl.constexpr, STRIDE: tl.constexpr, CHUNK: tl.constexpr, ALONE: tl.constexpr,
    COLS: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    SPAN: tl.constexpr = SIZE + F - 1
    j = tl.program_id(2) // (F * F * CD // BN) * COLS + tl.arange(0, COLS)
    i, k, c = j // CS // SPAN, j // CS % SPAN, j % CS
    known = j < SPAN * SPAN * CS
    cols = tl.program_id(2) % (F * F * CD // BN) * BN + tl.arange(0, BN)
    channels, p, q = cols % CD, cols // CD // F, cols // CD % F
    src += g * B * HS * WS * CS
    gradient += g * B * HD * WD * CD
    acc = tl.zeros((COLS, BN), tl.float32)
    for first in range(0, CHUNK, BK):
        rows = tl.program_id(0) * CHUNK + first + tl.arange(0, BK)
        inside = rows < B * (HD // F) * (WD // F)
        picture = rows // (HD // F * (WD // F))
        h, w = rows // (WD // F) % (HD // F) * F, rows % (WD // F) * F
        hs = h[:, None] * STRIDE + (i - SIZE // 2)[None, :]
        ws = w[:, None] * STRIDE + (k - SIZE // 2)[None, :]
        ok = (hs >= 0) & (hs < HS) & (ws >= 0) & (ws < WS) & inside[:, None] & known[None, :]
        a = tl.load(src + (((picture * HS)[:, None] + hs) * WS + ws) * CS + c[None, :], mask=ok, other=0.0)
        pixel = (picture * HD + h) * WD + w
        at = (pixel[:, None] + (p * WD + q)[None, :]) * CD + channels[None, :]
        b = tl.load(gradient + at, mask=inside[:, None], other=0.0)
        acc = tl.dot(tl.trans(a), b, acc)
    tap_h, tap_w = i[:, None] - p[None, :], k[:, None] - q[None, :]
    near = known[:, None]
    if F > 1:
        near = near & (tap_h >= 0) & (tap_h < SIZE) & (tap_w >= 0) & (tap_w < SIZE)
    out += g * SIZE * SIZE * CS * CD + ((tap_h * SIZE + tap_w) * CS + c[:, None]) * CD + channels[None, :]
    if ALONE:
        tl.store(out, acc, mask=near)
    else:
        tl.atomic_add(out, acc, mask=near)


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
        mean, variance, _, scale, shift = _normal(sums + of, squares + of, gamma + of, beta + of, c, n, EPS)
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
        value *= _kept(at, step, layer, P)
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
        _, _, _, scale, shift = _normal(norm + of, norm_squares + of, gamma + of, beta + of, c, n, EPS)
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
    total, product = tl.zeros((BC,), tl.float32), tl.zeros((BC,), tl.float32)
    left = held & (c < C)[None, :]  # no pixel before this one was the largest
    for k in tl.static_range(4):
        near = (pixel + (k // 2) * W + k % 2)[:, None] * C + c[None, :]
        value = tl.load(y + near, mask=held, other=0.0).to(tl.float32)
        one = value * scale[None, :] + shift[None, :] if NORM else value
        here = left & (one == most)
        left = left & (one != most)
        back = tl.where(here, gradient, 0.0).to(dz.dtype.element_ty)
        tl.store(dz + near, back, mask=held)
        total += tl.sum(back.to(tl.float32), axis=0)
        product += tl.sum(back.to(tl.float32) * value, axis=0)
    tl.atomic_add(sums + of + c, total)
    if NORM:
        tl.atomic_add(more + of + c, product)


@triton.jit
def _normalise_back(
    dz, y, dy, norm, norm_squares, gamma, beta, sums, products, d_gamma, d_beta, d_bias, rows, n,
    C: tl.constexpr, CUT: tl.constexpr, EPS: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(1)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    of = g * C
    mean, _, rstd, scale, _ = _normal(norm + of, norm_squares + of, gamma + of, beta + of, c, n, EPS)
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
        tl.atomic_add(d_bias + of + c, tl.sum(tl.where(held, back.to(tl.float32), 0.0), axis=0))


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
        back *= _kept(at, step, layer, P)
    back = back.to(dz.dtype.element_ty)
    tl.store(dz + at, back, mask=held)
    back = back.to(tl.float32)
    tl.atomic_add(sums + g * C + c, tl.sum(back, axis=0))
    if PRODUCTS:
        value = tl.load(y + at, mask=held, other=0.0).to(tl.float32)
        tl.atomic_add(more + g * C + c, tl.sum(back * value, axis=0))


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


def _some(t: Tensor | None, other: Tensor) -> Tensor:
    """A kernel takes some tensor even where it looks at none."""
    return other if t is None else t


# How the work is cut into tiles: what was fastest on an H200 (tune.py), by `shape_name`.
TILES: dict[str, dict[str, int]] = {}
if TILES_AT.exists():
    TILES |= json.loads(TILES_AT.read_text())


def shape_name(kind: str, src: Tensor, dst: Tensor, size: int) -> str:
    """Of a convolution from `src` to `dst`: forth, back (by what came in) or kernel (the gradient by its kernel)."""
    return f"{kind} {src.shape[4]}-{dst.shape[4]} {src.shape[2]}-{dst.shape[2]} by {size}, {src.shape[1]} pictures"


def usual_tiles(kind: str, src: Tensor, dst: Tensor, size: int) -> dict[str, int]:
    """Tiles for a shape that was not tuned."""
    cs, cd = src.shape[4], dst.shape[4]
    if kind != "kernel":
        bm, stages = (256, 3) if cs < 64 else (128, 3)
        return {"BM": bm, "BK": min(64, cs), "BN": min(cd, 128), "F": 1, "num_warps": 4, "num_stages": stages}
    cols, bn = min(128, triton.next_power_of_2(size * size * cs)), min(cd, 128)
    parts = triton.cdiv(size * size * cs, cols) * (cd // bn) * len(src)
    split = max(1, min(264 // parts, dst[0].numel() // cd // 512))
    warps = 8 if cols * bn > 128 * 64 else 4
    return {"COLS": cols, "BK": 64, "BN": bn, "F": 1, "SPLIT": split, "num_warps": warps, "num_stages": 3}


def tiles(kind: str, src: Tensor, dst: Tensor, size: int) -> dict[str, int]:
    return TILES.get(shape_name(kind, src, dst, size)) or usual_tiles(kind, src, dst, size)


def convolve(
    src: Tensor, kernel: Tensor, dst: Tensor, *, stride: int = 1, back: bool = False, bias: Tensor | None = None,
    add: Tensor | None = None, relu: bool = False, mask: Tensor | None = None, sums: Tensor | None = None,
    squares: Tensor | None = None, products: Tensor | None = None, values: Tensor | None = None,
    norm: tuple[Tensor, Tensor, Tensor, Tensor] | None = None, dropped: tuple[Tensor, int, float] | None = None,
    config: dict[str, int] | None = None,
) -> None:  # fmt: skip
    """Convolve (G, B, H, W, C) by (G, s, s, in, out), padded by s // 2; `back`: the gradient by what came in.

    Then, in this order: `bias` (G, C) and `add` are added, negative values cut (`relu`), values set to 0 where `mask`
    is not above 0, or where `values` normalised by `norm` (sums, squares, gamma, beta) are not, or where dropout
    (step, layer, share) does not keep them. `sums` (G, C) gains the sums over each channel, `squares` those of the
    squares, `products` those of the products with `values`.
    """
    G, B, HS, WS, CS = src.shape
    HD, WD, CD = dst.shape[2:]
    kind = 0 if sums is None else 1 if squares is not None else 2 if products is not None else 3
    size = kernel.shape[1]
    config = config or tiles("back" if back else "forth", src, dst, size)
    f = config["F"]
    of = (dst,) * 4 if norm is None else norm
    step, layer, p = (dst, 0, 0.0) if dropped is None else dropped
    rows = triton.cdiv(B * (HD // f) * (WD // f), config["BM"])
    _convolve[rows, G, f * f * CD // config["BN"]](
        src, kernel, dst, _some(bias, dst), _some(add, dst), _some(mask, dst), _some(values, dst), *of, step, layer,
        _some(sums, dst), _some(products if squares is None else squares, dst), B, float(B * HD * WD),
        HS, WS, CS, HD, WD, CD, size, stride, back, bias is not None, add is not None, relu,
        2 if norm is not None else int(mask is not None), p, kind, EPS, **config,
    )  # fmt: skip


def kernel_gradient(
    src: Tensor, gradient: Tensor, out: Tensor, *, stride: int = 1, config: dict[str, int] | None = None
) -> None:
    """Add the gradient by a kernel to `out` (G, s, s, in, out), float32; write it there where nothing is split."""
    G, B, HS, WS, CS = src.shape
    HD, WD, CD = gradient.shape[2:]
    size = out.shape[1]
    config = dict(config or tiles("kernel", src, gradient, size))
    f, bk = config["F"], config["BK"]
    rows = B * (HD // f) * (WD // f)
    chunk = triton.cdiv(triton.cdiv(rows, config.pop("SPLIT")), bk) * bk
    columns = triton.cdiv((size + f - 1) ** 2 * CS, config["COLS"]) * (f * f * CD // config["BN"])
    _kernel_gradient[triton.cdiv(rows, chunk), G, columns](
        src, gradient, out, B, HS, WS, CS, HD, WD, CD, size, stride, chunk, f == 1 and chunk >= rows, **config
    )


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
        y, _some(add, y), out, *of, step, layer, rows, float(B * H * W), W, C, norm is not None, add is not None,
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
        pooled, y, dz, *of, sums, _some(products, sums), rows, float(B * H * W), W, C, norm is not None, EPS, bm, bc,
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
        dz, y, dy, *norm, sums, products, d_gamma, d_beta, _some(d_bias, d_beta), rows, float(rows), C,
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
        given, out, _some(values, out), dz, step, layer, sums, _some(products, sums), rows, n, rows // n, C, cut, p,
        products is not None, bm, bc, num_warps=8,
    )  # fmt: skip


def placed(
    images: Tensor, order: Tensor, start: Tensor, out: Tensor, scale: float, moves: Tensor | None = None
) -> None:
    """Pictures of a batch as bilinear samples at `moves` (G, B, 2, 3) of `affine_grid`, the border repeated."""
    G, B, H, W, C = out.shape
    _placed[B, G](
        images, order, start, _some(moves, out), out, order.shape[1], B, scale, images.shape[1], C, H, W,
        moves is not None, num_warps=4,
    )  # fmt: skip


def take_step(
    p: Tensor, d: Tensor, first: Tensor, second: Tensor | None, copy: Tensor, rate: Tensor, count: Tensor, *,
    split: int, decay: float, momentum: float,
) -> None:  # fmt: skip
    """A step of Adam or, without `second`, of gradient descent; the first `split` decay. `copy` is renewed."""
    _take_step[(triton.cdiv(len(p), 1024),)](
        p, d, first, _some(second, first), copy, rate, count, len(p), split, decay, second is not None, momentum, 1024
    )
