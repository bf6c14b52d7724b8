"""Convolutions of many small networks of one kind, which are trained as one, in Triton.

Every tensor has the networks first: activations are (networks, pictures, height, width, channels), kernels
(networks, size, size, in, out). The library's convolutions of a few channels take several times as long, those of
many up to twice as long, and what stands around them (endings.py) is done on the way here. `convolve` also goes
backwards: the gradient by what came in is a convolution, too. A Hopper GPU has kernels of its own for whole 64
channels (hopper.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import triton
import triton.language as tl
from endings import EPS, finish, some
from torch import Tensor

TILES_AT = Path(__file__).with_name("tiles.json")


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
    finish(
        acc, at, inside[:, None], channels, g * CD, dst, bias, add, mask, values, norm, norm_squares, gamma, beta, step,
        layer, sums, more, n, BIAS, ADD, RELU, MASK, P, SUMS, EPS,
    )  # fmt: skip


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
        tl.atomic_add(out, acc, mask=near, sem="relaxed")


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
    """Those of hopper.py say how many tiles are on their way (`STAGES`)."""
    hopper = on_hopper(src, dst)
    found = TILES.get(shape_name(kind, src, dst, size))
    if found and (hopper or "STAGES" not in found):
        return found
    return (hopper and hopper.usual_tiles(kind, src, dst)) or usual_tiles(kind, src, dst, size)


def on_hopper(src: Tensor, dst: Tensor) -> ModuleType | None:
    """hopper.py, where its kernels take such a convolution; it is not looked for where there is no GPU."""
    if not src.is_cuda:
        return None
    import hopper

    return hopper if hopper.able(src, dst) else None


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
    of = (dst,) * 4 if norm is None else norm
    step, layer, p = (dst, 0, 0.0) if dropped is None else dropped
    tensors = (
        *(some(t, dst) for t in (bias, add, mask, values)), *of, step, layer, some(sums, dst),
        some(products if squares is None else squares, dst),
    )  # fmt: skip
    cut = 2 if norm is not None else int(mask is not None)
    flags = bias is not None, add is not None, relu, cut, p, kind
    if "STAGES" in config:
        import hopper

        hopper.convolve(src, kernel, dst, tensors, flags, back=back, config=config)
        return
    f = config["F"]
    rows = triton.cdiv(B * (HD // f) * (WD // f), config["BM"])
    _convolve[rows, G, f * f * CD // config["BN"]](
        src, kernel, dst, *tensors, B, float(B * HD * WD), HS, WS, CS, HD, WD, CD, size, stride, back, *flags, EPS,
        **config,
    )  # fmt: skip


def kernel_gradient(
    src: Tensor, gradient: Tensor, out: Tensor, *, stride: int = 1, config: dict[str, int] | None = None
) -> None:
    """Add the gradient by a kernel to `out` (G, s, s, in, out), float32; write it there where nothing is split."""
    G, B, HS, WS, CS = src.shape
    HD, WD, CD = gradient.shape[2:]
    size = out.shape[1]
    config = dict(config or tiles("kernel", src, gradient, size))
    if "STAGES" in config:
        import hopper

        hopper.kernel_gradient(src, gradient, out, config=config)
        return
    f, bk = config["F"], config["BK"]
    rows = B * (HD // f) * (WD // f)
    chunk = triton.cdiv(triton.cdiv(rows, config.pop("SPLIT")), bk) * bk
    columns = triton.cdiv((size + f - 1) ** 2 * CS, config["COLS"]) * (f * f * CD // config["BN"])
    _kernel_gradient[triton.cdiv(rows, chunk), G, columns](
        src, gradient, out, B, HS, WS, CS, HD, WD, CD, size, stride, chunk, f == 1 and chunk >= rows, **config
    )
