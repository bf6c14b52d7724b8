"""Pavlitskaya's convolutions for Hopper GPUs: their text run with arrays in the place of the chip, and compiled for it.

What the chip does with it is compared on a GPU, before anything is trained (tune.py, and train.py's `check`).
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.experiments.scripts import ROOT, short_names

pytest.importorskip("triton", reason="Triton is there for Linux only")
FOLDER = ROOT / "experiments" / "pavlitskaya"
SHARED = 227 * 1024  # bytes of shared memory that a program of an H200 may have
NOTHING = (False, False, False, 0, 0.0, 0)  # bias, add, relu, mask, dropout, sums
ENDINGS = [  # forwards and back, as the networks of networks.py ask for them
    ("forth", (True, False, True, 0, 0.0, 1)), ("forth", (True, True, True, 0, 0.0, 0)),
    ("back", (False, False, False, 0, 0.3, 2)), ("back", (False, False, False, 1, 0.0, 3)),
    ("back", (False, True, False, 1, 0.0, 2)), ("back", (False, False, False, 2, 0.0, 2)), ("back", NOTHING),
]  # fmt: skip


@pytest.fixture
def hopper():
    """The module, loaded anew."""
    with short_names(FOLDER):
        import hopper

        yield hopper


# --- the text of the kernels, with arrays in the place of the chip -------------------------------------


class Room:
    """Shared memory."""

    def __init__(self, array):
        self.array = array

    def index(self, i):
        return Room(self.array[i])

    def reshape(self, shape):
        return Room(self.array.reshape(shape))

    def permute(self, order):
        return Room(self.array.transpose(order))

    def _reinterpret(self, _, shape, layout):
        assert layout.swizzle_byte_width == 128
        return Wide(self.array, shape)


class Wide:
    """Boxes of 64 columns, one behind the other, as they lie in a wide tile that the chip shuffles."""

    def __init__(self, array, shape):
        n, rows, columns = shape
        self.boxes = array.reshape(n, columns // 64, rows, 64)  # what is fetched later shows

    def index(self, i):
        return Room(np.concatenate(self.boxes[i], axis=1))


class Barrier:
    def __init__(self):
        self.phase = self.due = self.came = 0


class Bars:
    def __init__(self, n):
        self.each = [Barrier() for _ in range(n)]

    def index(self, i):
        return self.each[i]


class Pointer:
    def __init__(self, flat, at=0):
        self.flat, self.at = flat, at

    def __add__(self, other):
        return Pointer(self.flat, self.at + other)


class Described:
    """A tensor of which blocks are fetched; beyond its ends there is 0."""

    layout = None

    def __init__(self, t, *block):
        self.array, self.block = t.numpy(), block
        self.block_type = SimpleNamespace(nbytes=2 * int(np.prod(block)))

    def fetch(self, at):
        found = np.zeros(self.block)
        low = [max(0, -int(a)) for a in at]
        high = [max(0, min(size, n - int(a))) for a, size, n in zip(at, self.block, self.array.shape, strict=True)]
        inside = [slice(i, j) for i, j in zip(low, high, strict=True)]
        places = [slice(int(a) + s.start, int(a) + s.stop) for a, s in zip(at, inside, strict=True)]
        if all(i < j for i, j in zip(low, high, strict=True)):
            found[tuple(inside)] = self.array[tuple(places)]
        return found


def allocated(_, shape, layout):
    return Bars(shape[0]) if layout == "bars" else Room(np.full(shape, np.nan))


def expect(bar, size, pred):
    if pred:
        assert bar.due == 0, "two copies at once into one room"
        bar.due = size


def wait(bar, parity):
    assert bar.due, "would wait for ever"
    assert (bar.came, bar.phase) == (bar.due, parity)
    bar.phase, bar.due, bar.came = bar.phase ^ 1, 0, 0


def copy(described, at, bar, room, pred):
    if pred:
        room.array[...] = described.fetch(at)
        bar.came += described.block_type.nbytes


def written(pointer, values, mask, add=False):
    mask = np.broadcast_to(mask, values.shape)
    if add:
        np.add.at(pointer.flat, pointer.at[mask], values[mask])
    else:
        pointer.flat[pointer.at[mask]] = values[mask]


def finish(acc, at, held, channels, of, dst, *_):
    held = np.broadcast_to(held, acc.shape)
    assert np.isnan(dst.flat[at[held]]).all(), "written twice"
    dst.flat[at[held]] = acc[held]


@pytest.fixture
def emulated(hopper, monkeypatch):
    """hopper.py whose kernels run by NumPy, one program after the other."""
    program = {}
    language = SimpleNamespace(
        program_id=lambda axis: program["at"][axis], static_range=range, minimum=min, allocate_shared_memory=allocated,
        bfloat16=None, float32=None, int64=None,
        arange=lambda a, b, _: np.arange(a, b), zeros=lambda shape, *_: np.zeros(shape), convert_layout=lambda x, _: x,
        store=written, atomic_add=lambda p, v, mask, sem: written(p, v, mask, add=True),
        NVMMADistributedLayout=lambda *_: None, BlockedLayout=lambda *_: None, SliceLayout=lambda *_: None,
        NVMMASharedLayout=hopper.gl.NVMMASharedLayout,
    )  # fmt: skip

    def launched(kernel):
        class Launcher:
            def __getitem__(self, grid):
                def run(*args, **options):
                    given = [Pointer(a.view(-1).numpy()) if isinstance(a, torch.Tensor) else a for a in args]
                    for program["at"] in itertools.product(*map(range, grid)):
                        kernel.fn(*given, **options)

                return run

        return Launcher()

    bars = SimpleNamespace(MBarrierLayout=lambda: "bars", init=lambda *_, **__: None, invalidate=lambda *_: None)
    bars.expect, bars.wait = expect, wait
    changes = {
        "gl": language, "mbarrier": bars, "tma": SimpleNamespace(async_copy_global_to_shared=copy),
        "described": Described, "fence_async_shared": lambda: None,
        "warpgroup_mma": lambda a, b, acc, is_async: acc + a.array @ b.array,
        "warpgroup_mma_wait": lambda num_outstanding, deps: deps[0], "finish": finish,
        **{n: getattr(hopper, n).fn for n in ("_moved", "_fetch", "_fetch_both")},
        **{n: launched(getattr(hopper, n)) for n in ("_convolve", "_kernel_gradient")},
    }  # fmt: skip
    for name, value in changes.items():
        monkeypatch.setattr(hopper, name, value)
    return hopper


@pytest.mark.parametrize(
    ("pictures", "side", "size", "cs", "cd", "bm", "bk", "boxes", "stages", "split"),
    [
        (3, 4, 3, 64, 128, 64, 16, 2, 3, 2),  # a tile reaches into the next network; parts are uneven
        (3, 8, 3, 64, 64, 128, 64, 2, 2, 2),  # a tile of two pictures, the last one of one
        (2, 8, 3, 128, 64, 16, 16, 4, 4, 4),  # two rows of a picture; boxes beyond the last tap
        (32, 1, 1, 128, 64, 64, 32, 2, 3, 1),  # a dense layer, and more rows to a tile than there are
        (16, 1, 1, 64, 64, 128, 16, 2, 6, 1),  # more on their way than there is to do
    ],
)
def test_they_compute_what_torch_does(emulated, pictures, side, size, cs, cd, bm, bk, boxes, stages, split):
    rng = torch.Generator().manual_seed(0)
    shapes = (2, pictures, side, side, cs), (2, size, size, cs, cd), (2, pictures, side, side, cd)
    x, kernel, slope = (torch.randint(-3, 4, shape, generator=rng).float() for shape in shapes)
    x.requires_grad_()
    kernel.requires_grad_()
    made = [F.conv2d(a.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1), padding=size // 2)
            for a, k in zip(x, kernel, strict=True)]  # fmt: skip
    wanted = torch.stack(made).permute(0, 1, 3, 4, 2).contiguous()
    by_x, by_kernel = torch.autograd.grad((wanted * slope).sum(), (x, kernel))
    x, kernel, wanted = x.detach(), kernel.detach(), wanted.detach()
    tile = {"BM": bm, "BN": 64, "STAGES": stages, "num_warps": 4}
    for given, result, back in ((x, wanted, False), (slope, by_x, True)):
        out = torch.full_like(result, torch.nan)
        emulated.convolve(given, kernel, out, (out,) * 12, NOTHING, back=back, config=tile)
        assert torch.equal(out, result)
    parts = {"BK": bk, "BN": 64, "BOXES": boxes, "SPLIT": split, "STAGES": stages, "num_warps": 4}
    out = torch.zeros_like(by_kernel)
    emulated.kernel_gradient(x, slope, out, config=parts)
    assert torch.equal(out, by_kernel)


def test_what_does_not_come_out_even_is_refused(hopper):
    x, y = torch.zeros(1, 6, 2, 2, 64), torch.zeros(1, 6, 2, 2, 192)
    tile = {"BM": 64, "BN": 128, "STAGES": 3, "num_warps": 4}
    with pytest.raises(ValueError, match="192 channels are not whole tiles of 128"):
        hopper.convolve(x, torch.zeros(1, 3, 3, 64, 192), y, (y,) * 12, NOTHING, back=False, config=tile)
    parts = {"BK": 16, "BN": 64, "BOXES": 2, "SPLIT": 1, "STAGES": 3, "num_warps": 4}
    with pytest.raises(ValueError, match="24 pixels of a network are not whole tiles of 16"):
        hopper.kernel_gradient(x, x, torch.zeros(1, 3, 3, 64, 64), config=parts)


@pytest.mark.parametrize(
    ("pictures", "side", "channels", "bn", "bk"),
    [(128, 32, 64, 64, 64), (32, 1, 512, 128, 32), (16, 1, 192, 64, 16), (100, 2, 64, 64, 16), (8, 1, 64, 64, None)],
)
def test_usual_tiles_fit(hopper, pictures, side, channels, bn, bk):
    t = torch.zeros(1, pictures, side, side, channels)
    assert hopper.usual_tiles("forth", t, t)["BN"] == bn
    found = hopper.usual_tiles("kernel", t, t)
    assert (found and found["BK"]) == bk
    assert not hopper.able(t, t)  # on a processor


# --- compiled ------------------------------------------------------------------------------------------


def recorded(hopper, kind, cs, cd, side, size, tile, flags):
    """The kernel, and all that its launcher gives it."""
    found = []

    class Recorder:
        def __getitem__(self, grid):
            return lambda *args, **options: found.append((args, options))

    name = "_kernel_gradient" if kind == "kernel" else "_convolve"
    kernel = getattr(hopper, name)
    setattr(hopper, name, Recorder())
    try:
        pictures = 128 if side > 1 else tile.get("BK", 32)
        x, y = (torch.empty(1, pictures, side, side, c, dtype=torch.bfloat16) for c in (cs, cd))
        if kind == "kernel":
            hopper.kernel_gradient(x, y, torch.empty(1, size, size, cs, cd), config=tile)
        else:
            weight = torch.empty(1, size, size, *((cd, cs) if kind == "back" else (cs, cd)), dtype=torch.bfloat16)
            numbers, step = torch.empty(cd), torch.empty(1, dtype=torch.int64)
            tensors = (numbers, y, y, y, *[numbers] * 4, step, 3, numbers, numbers)
            hopper.convolve(x, weight, y, tensors, flags, back=kind == "back", config=tile)
    finally:
        setattr(hopper, name, kernel)
    return kernel, *found[0]


def compiled(kernel, args, options):
    """Shared memory and assembler, as on an H200."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    types, fixed, even = {}, dict(options), {}
    for i, (param, arg) in enumerate(zip(kernel.params, args, strict=False)):
        if param.is_constexpr:
            fixed[param.name] = arg
        elif isinstance(arg, torch.Tensor):
            types[param.name] = {torch.bfloat16: "*bf16", torch.float32: "*fp32", torch.int64: "*i64"}[arg.dtype]
            even[(i,)] = [["tt.divisibility", 16]]
        elif isinstance(arg, int | float):
            types[param.name] = "i32" if isinstance(arg, int) else "fp32"
        else:
            types[param.name] = f"tensordesc<bf16{arg.block_shape},{arg.layout!r}>"
    signature = {p.name: types.get(p.name, "constexpr") for p in kernel.params}
    source = GluonASTSource(kernel, signature, fixed, even)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    return made.metadata.shared, made.asm["ptx"]


def main(asked):
    """Of each: shared memory, products of the tensor cores, bulk copies, whether warps meet before rooms are reused."""
    import hopper

    found = []
    for row in asked:
        shared, ptx = compiled(*recorded(hopper, *row))
        between = re.findall(r"wgmma\.wait_group\.sync\.aligned \t?1;(.*?)cp\.async\.bulk\.tensor", ptx, re.DOTALL)
        meet = bool(between) and all("bar.sync" in text for text in between)
        found.append([shared, ptx.count("wgmma.mma_async"), ptx.count("cp.async.bulk.tensor"), meet])
    print(json.dumps(found))


def check_that_they_compile(asked, cache):
    """In a process of its own: Triton knows once for all whether it interprets (tests/conftest.py)."""
    environment = dict(os.environ, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(cache), PYTHONPATH=f"{FOLDER}:{ROOT}")
    command = [sys.executable, "-m", "tests.experiments.test_hopper"]
    ran = subprocess.run(
        command, input=json.dumps(asked), env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    for row, (shared, products, copies, meet) in zip(asked, json.loads(ran.stdout), strict=True):
        assert shared <= SHARED, row
        assert min(products, copies) > 0, row
        assert meet, row


def test_they_compile_with_all_that_may_follow(hopper, tmp_path):
    """Also for two groups of warps, and for dense layers by their usual tiles."""
    tile = {"BM": 128, "BN": 64, "STAGES": 3, "num_warps": 4}
    asked = [(kind, 64, 64, 8, 3, tile, flags) for kind, flags in ENDINGS]
    parts = {"BK": 64, "BOXES": 2, "BN": 64, "STAGES": 3, "num_warps": 4}
    asked += [("kernel", 64, 64, 8, 3, parts | {"SPLIT": split}, NOTHING) for split in (1, 4)]
    asked += [("forth", 128, 128, 8, 3, tile | {"BN": 128, "num_warps": 8}, NOTHING)]
    for pictures in (128, 32):
        x, y = (torch.empty(1, pictures, 1, 1, c) for c in (128, 512))
        for kind in ("forth", "kernel"):
            asked.append((kind, 128, 512, 1, 1, hopper.usual_tiles(kind, x, y), NOTHING))
    check_that_they_compile(asked, tmp_path)


@pytest.mark.slow
def test_all_tiles_that_were_chosen_compile(tmp_path):
    asked = []
    for name, tile in json.loads((FOLDER / "tiles.json").read_text()).items():
        if "STAGES" in tile:
            kind, cs, cd, side, size = re.match(r"(\w+) (\d+)-(\d+) (\d+)-\d+ by (\d+), ", name).groups()
            flags = next((f for k, f in ENDINGS if k == kind), NOTHING)
            asked.append((kind, int(cs), int(cd), int(side), int(size), tile, flags))
    assert len(asked) > 40
    check_that_they_compile(asked, tmp_path)


if __name__ == "__main__":
    main(json.load(sys.stdin))
