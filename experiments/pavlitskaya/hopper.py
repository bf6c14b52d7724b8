"""Convolutions on a Hopper GPU, in Gluon: those of convolutions.py in bfloat16, without stride, of whole 64 channels.

Tiles are fetched by the chip's bulk copies, which step over the border of a picture by themselves and put 0 there: a
tap of the kernel is a box moved by a pixel, and no thread computes an address. Several are on their way while the
tensor cores take both factors from shared memory. What follows a convolution is `finish`, which both kinds have.

There is no interpreter for Gluon. The tests run the text of these kernels with arrays in the place of the chip, and
compile it; what the chip does with it is compared where there is one: tune.py takes no tile whose numbers are off, and
train.py no network whose gradients are.
"""

from __future__ import annotations

import functools

import torch
import triton
from endings import EPS, finish
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LEAST = 16  # pixels that the tensor cores add up at once
COLUMNS = 64  # channels that are fetched at once: 128 bytes, as many as the chip's shuffling of shared memory takes


@functools.cache
def is_hopper(device: int) -> bool:
    """Whether a GPU is of this kind: what came after it does not know these instructions."""
    return torch.cuda.get_device_capability(device)[0] == 9


def able(src: Tensor, dst: Tensor) -> bool:
    """Whether these kernels take a convolution between the two."""
    if not src.is_cuda or src.dtype != torch.bfloat16 or src.shape[2] != dst.shape[2]:
        return False
    return src.shape[4] % COLUMNS == dst.shape[4] % COLUMNS == 0 and is_hopper(src.device.index)


@gluon.jit
def _moved(h, tap, SIZE: gl.constexpr):
    """Row and column at which the box of a tap begins."""
    return h + tap // SIZE - SIZE // 2, tap % SIZE - SIZE // 2


@gluon.jit
def _fetch(
    src, kernel, a_room, b_room, bars, t, picture, h, g, c, TOTAL: gl.constexpr, CS: gl.constexpr, CD: gl.constexpr,
    SIZE: gl.constexpr, BACK: gl.constexpr, STAGES: gl.constexpr, COLUMNS: gl.constexpr,
):  # fmt: skip
    tap, k = t // (CS // COLUMNS), t % (CS // COLUMNS) * COLUMNS
    slot, due = t % STAGES, t < TOTAL
    bar = bars.index(slot)
    mbarrier.expect(bar, src.block_type.nbytes + kernel.block_type.nbytes, pred=due)
    row, column = _moved(h, tap, SIZE)
    tma.async_copy_global_to_shared(src, [picture, row, column, k], bar, a_room.index(slot), pred=due)
    if BACK:
        place = [(g * SIZE * SIZE + SIZE * SIZE - 1 - tap) * CD + c, k]
    else:
        place = [(g * SIZE * SIZE + tap) * CS + k, c]
    tma.async_copy_global_to_shared(kernel, place, bar, b_room.index(slot), pred=due)


@gluon.jit
def _convolve(
    src, kernel, dst, bias, add, mask, values, norm, norm_squares, gamma, beta, step, layer, sums, more, B, n,
    H: gl.constexpr, W: gl.constexpr, CS: gl.constexpr, CD: gl.constexpr, SIZE: gl.constexpr, BACK: gl.constexpr,
    BIAS: gl.constexpr, ADD: gl.constexpr, RELU: gl.constexpr, MASK: gl.constexpr, P: gl.constexpr, SUMS: gl.constexpr,
    EPS: gl.constexpr, COLUMNS: gl.constexpr, PN: gl.constexpr, PH: gl.constexpr, BN: gl.constexpr,
    STAGES: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    BM: gl.constexpr = PN * PH * W  # pixels of a tile: PN pictures of PH rows each
    TOTAL: gl.constexpr = SIZE * SIZE * CS // COLUMNS
    g, tile, c = gl.program_id(1), gl.program_id(0), gl.program_id(2) * BN
    picture, h = tile // (H // PH) * PN, tile % (H // PH) * PH
    a_room = gl.allocate_shared_memory(gl.bfloat16, [STAGES, PN, PH, W, COLUMNS], src.layout)
    laid: gl.constexpr = [STAGES, BN, COLUMNS] if BACK else [STAGES, COLUMNS, BN]
    b_room = gl.allocate_shared_memory(gl.bfloat16, laid, kernel.layout)
    bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(bars.index(s), count=1)
    fence_async_shared()
    for early in gl.static_range(STAGES - 1):
        _fetch(
            src, kernel, a_room, b_room, bars, early, g * B + picture, h, g, c, TOTAL, CS, CD, SIZE, BACK, STAGES,
            COLUMNS,
        )  # fmt: skip
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, BN, 16])
    acc = gl.zeros([BM, BN], gl.float32, mma)
    for t in range(TOTAL):
        slot = t % STAGES
        mbarrier.wait(bars.index(slot), t // STAGES & 1)
        b = b_room.index(slot)
        if BACK:
            b = b.permute([1, 0])
        acc = warpgroup_mma(a_room.index(slot).reshape([BM, COLUMNS]), b, acc, is_async=True)
        # The one before is done, and its room free once all warps are here: the compiler has them meet before a copy.
        acc = warpgroup_mma_wait(num_outstanding=1, deps=(acc,))
        last = t + STAGES - 1
        _fetch(
            src, kernel, a_room, b_room, bars, last, g * B + picture, h, g, c, TOTAL, CS, CD, SIZE, BACK, STAGES,
            COLUMNS,
        )  # fmt: skip
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for s in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(s))
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BN, BN // 8], [num_warps, 1], [1, 0])
    acc = gl.convert_layout(acc, flat)
    rows = gl.arange(0, BM, gl.SliceLayout(1, flat))
    channels = c + gl.arange(0, BN, gl.SliceLayout(0, flat))
    at = (((g * B + picture) * H + h) * W + rows)[:, None] * CD + channels[None, :]
    held = (rows < ((B - picture) * H - h) * W)[:, None]
    finish(
        acc, at, held, channels, g * CD, dst, bias, add, mask, values, norm, norm_squares, gamma, beta, step, layer,
        sums, more, n, BIAS, ADD, RELU, MASK, P, SUMS, EPS,
    )  # fmt: skip


@gluon.jit
def _fetch_both(
    src, gradient, a_room, b_room, bars, first, t, total, g, q, c, B, H: gl.constexpr, W: gl.constexpr,
    CS: gl.constexpr, SIZE: gl.constexpr, PN: gl.constexpr, PH: gl.constexpr, BOXES: gl.constexpr,
    STAGES: gl.constexpr, COLUMNS: gl.constexpr,
):  # fmt: skip
    slot, due = t % STAGES, t < total
    bar = bars.index(slot)
    mbarrier.expect(bar, BOXES * src.block_type.nbytes + gradient.block_type.nbytes, pred=due)
    picture, h = g * B + (first + t) // (H // PH) * PN, (first + t) % (H // PH) * PH
    for j in gl.static_range(BOXES):
        tap, k = (q + j) // (CS // COLUMNS), (q + j) % (CS // COLUMNS) * COLUMNS
        row, column = _moved(h, tap, SIZE)
        tma.async_copy_global_to_shared(src, [picture, row, column, k], bar, a_room.index(slot * BOXES + j), pred=due)
    tma.async_copy_global_to_shared(gradient, [(picture * H + h) * W, c], bar, b_room.index(slot), pred=due)


@gluon.jit
def _kernel_gradient(
    src, gradient, out, B, parts, chunk, H: gl.constexpr, W: gl.constexpr, CS: gl.constexpr, CD: gl.constexpr,
    SIZE: gl.constexpr, ALONE: gl.constexpr, COLUMNS: gl.constexpr, PN: gl.constexpr, PH: gl.constexpr,
    BOXES: gl.constexpr, BN: gl.constexpr, STAGES: gl.constexpr, num_warps: gl.constexpr,
):  # fmt: skip
    BK: gl.constexpr = PN * PH * W
    M: gl.constexpr = COLUMNS * BOXES  # rows of the kernel: taps, then what comes in
    g = gl.program_id(1)
    q, c = gl.program_id(2) // (CD // BN) * BOXES, gl.program_id(2) % (CD // BN) * BN
    first = gl.program_id(0) * chunk
    total = gl.minimum(chunk, parts - first)
    a_room = gl.allocate_shared_memory(gl.bfloat16, [STAGES * BOXES, PN, PH, W, COLUMNS], src.layout)
    b_room = gl.allocate_shared_memory(gl.bfloat16, [STAGES, BK, BN], gradient.layout)
    bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(bars.index(s), count=1)
    fence_async_shared()
    for early in gl.static_range(STAGES - 1):
        _fetch_both(
            src, gradient, a_room, b_room, bars, first, early, total, g, q, c, B, H, W, CS, SIZE, PN, PH, BOXES, STAGES,
            COLUMNS,
        )  # fmt: skip
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, BN, 16])
    wide: gl.constexpr = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)
    boxes = a_room._reinterpret(gl.bfloat16, [STAGES, BK, M], wide)  # a tile lies as its columns, 64 at a time
    acc = gl.zeros([M, BN], gl.float32, mma)
    for t in range(total):
        slot = t % STAGES
        mbarrier.wait(bars.index(slot), t // STAGES & 1)
        acc = warpgroup_mma(boxes.index(slot).permute([1, 0]), b_room.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=1, deps=(acc,))
        _fetch_both(
            src, gradient, a_room, b_room, bars, first, t + STAGES - 1, total, g, q, c, B, H, W, CS, SIZE, PN, PH,
            BOXES, STAGES, COLUMNS,
        )  # fmt: skip
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for s in gl.static_range(STAGES):
        mbarrier.invalidate(bars.index(s))
    wide_rows: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32] if BN > 64 else [2, 16], [num_warps, 1], [1, 0])
    acc = gl.convert_layout(acc, wide_rows)
    rows = q * COLUMNS + gl.arange(0, M, gl.SliceLayout(1, wide_rows))
    channels = c + gl.arange(0, BN, gl.SliceLayout(0, wide_rows))
    place = out + (g * SIZE * SIZE * CS + rows)[:, None] * CD + channels[None, :]
    known = (rows < SIZE * SIZE * CS)[:, None]  # taps are odd in number, boxes are not
    if ALONE:
        gl.store(place, acc, mask=known)
    else:
        gl.atomic_add(place, acc, mask=known, sem="relaxed")


def box_of(pixels: int, side: int) -> tuple[int, int]:
    """Pictures and rows that hold as many pixels: whole rows of one picture, or whole pictures."""
    rows = min(side, max(1, pixels // side))
    return max(1, pixels // (rows * side)), rows


def described(t: Tensor, *block: int) -> TensorDescriptor:
    """A tensor of which blocks are fetched."""
    return TensorDescriptor.from_tensor(t, list(block), gl.NVMMASharedLayout.get_default_for(list(block), gl.bfloat16))


def usual_tiles(kind: str, src: Tensor, dst: Tensor) -> dict[str, int] | None:
    """Tiles for a shape that was not tuned; None where none fits."""
    bn = 128 if dst.shape[4] % 128 == 0 else COLUMNS
    pixels = dst[0].numel() // dst.shape[4]
    if kind != "kernel":
        return {"BM": 128 if pixels % 128 == 0 else 64, "BN": bn, "STAGES": 3, "num_warps": 4}
    bk = min(64, pixels & -pixels)  # the largest power of two that they are whole tiles of
    if bk < max(LEAST, src.shape[3]):
        return None
    return {"BK": bk, "BOXES": 2, "BN": bn, "SPLIT": 1, "STAGES": 3, "num_warps": 4}


def refuse_uneven(what: str, whole: int, part: int) -> None:
    if whole % part:
        raise ValueError(f"{whole} {what} are not whole tiles of {part}")


def convolve(
    src: Tensor, kernel: Tensor, dst: Tensor, tensors: tuple, flags: tuple, *, back: bool, config: dict[str, int]
) -> None:
    """As convolutions.py's, which has put together what `finish` is given: `tensors` and `flags`."""
    G, B, H, W, CS = src.shape
    CD, bn = dst.shape[4], config["BN"]
    pictures, rows = box_of(config["BM"], W)
    refuse_uneven("channels", CS, COLUMNS)
    refuse_uneven("channels", CD, bn)
    _convolve[triton.cdiv(B, pictures) * (H // rows), G, CD // bn](
        described(src.view(G * B, H, W, CS), pictures, rows, W, COLUMNS),
        described(kernel.view(-1, kernel.shape[4]), *((bn, COLUMNS) if back else (COLUMNS, bn))),
        dst, *tensors, B, float(B * H * W), H, W, CS, CD, kernel.shape[1], back, *flags, EPS, COLUMNS, pictures, rows,
        bn, config["STAGES"], num_warps=config["num_warps"],
    )  # fmt: skip


def kernel_gradient(src: Tensor, gradient: Tensor, out: Tensor, *, config: dict[str, int]) -> None:
    """As convolutions.py's. What a program takes at once must not reach into the pictures of another network."""
    G, B, H, W, CS = src.shape
    CD, size, bn, boxes = gradient.shape[4], out.shape[1], config["BN"], config["BOXES"]
    pictures, rows = box_of(config["BK"], W)
    bk = pictures * rows * W
    refuse_uneven("pixels of a network", B * H * W, bk)
    refuse_uneven("channels", CS, COLUMNS)
    refuse_uneven("channels", CD, bn)
    parts = B * H * W // bk
    chunk = triton.cdiv(parts, config["SPLIT"])
    _kernel_gradient[triton.cdiv(parts, chunk), G, triton.cdiv(size * size * CS, COLUMNS * boxes) * (CD // bn)](
        described(src.view(G * B, H, W, CS), pictures, rows, W, COLUMNS), described(gradient.view(-1, CD), bk, bn),
        out, B, parts, chunk, H, W, CS, CD, size, chunk >= parts, COLUMNS, pictures, rows, boxes, bn,
        config["STAGES"], num_warps=config["num_warps"],
    )  # fmt: skip
