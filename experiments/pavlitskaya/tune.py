"""Which tiles of convolutions.py are fastest on this GPU: python tune.py tiles.json, a minute or two.

Processes compile all that is tried, side by side; then each is compared with the first, and timed. Shapes are those of
the networks of networks.py; dense layers are convolutions of one pixel.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import hopper
import torch
from convolutions import convolve, kernel_gradient, shape_name
from processes import PROCESSES, side_by_side
from torch import Tensor

GROUPS = 6
OFF = 1e-3  # how far numbers of a tile may be from those of the first, which Triton makes: on an H200, 6e-5
RESNET = ((16, 16, 32, 1), (16, 32, 32, 2), (32, 32, 16, 1), (32, 64, 16, 2), (64, 64, 8, 1))  # in, out, side, stride
VGG = (
    (16, 64, 32, 1), (64, 64, 32, 1), (64, 128, 16, 1), (128, 128, 16, 1), (128, 256, 8, 1), (256, 256, 8, 1),
    (256, 512, 4, 1), (512, 512, 4, 1), (512, 512, 2, 1), (256, 256, 4, 1), (256, 256, 2, 1),
)  # fmt: skip
DENSE = ((2048, 512, 1, 1), (1024, 4096, 1, 1), (4096, 4096, 1, 1))
SHAPES = {"resnet": (RESNET, (128, 16)), "vgg": (VGG, (128, 32)), "dense": (DENSE, (128, 32))}


def to_try(kind: str, batch: int, cs: int, cd: int, side: int, stride: int) -> list[dict[str, int]]:
    """Tiles that came out well in a wider search."""
    if kind == "back":
        cs, cd = cd, cs
    found = kernels_tried(cs, cd) if kind == "kernel" else forth_tried(cs, cd, stride)
    if cs % hopper.COLUMNS == cd % hopper.COLUMNS == 0 and stride == 1 and hopper.is_hopper(0):
        pixels = batch * side * side
        if kind == "kernel":
            found += hopper_kernels_tried(pixels, 1 if side == 1 else 3, cs, cd)
        else:
            found += hopper_tried(pixels, cd)
    return found


def forth_tried(cs: int, cd: int, stride: int) -> list[dict[str, int]]:
    bn, rows = min(128, cd), []
    if cs == cd == 16 and stride == 1:
        rows += [(128, 64, 64, 2, 4, 3), (128, 64, 64, 2, 4, 2), (256, 64, 64, 2, 8, 3), (128, 128, 64, 2, 4, 2)]
    if cs < 64:
        rows += [(256, cs, bn, 1, 4, 3), (128, cs, bn, 1, 4, 3), (128, 32, bn, 1, 4, 1), (256, cs, bn, 1, 8, 3)]
        rows += [(512, cs, bn, 1, 8, 3), (256, cs, bn, 1, 4, 5), (128, 64, bn, 1, 4, 2), (256, 64, bn, 1, 8, 2)]
    else:
        rows += [(128, 64, bn, 1, 4, 3), (128, 64, bn, 1, 8, 3), (128, 64, min(64, cd), 1, 4, 3)]
        rows += [(64, 64, min(64, cd), 1, 4, 4)]
    return named("BM BK BN F num_warps num_stages", rows)


def kernels_tried(cs: int, cd: int) -> list[dict[str, int]]:
    bn, rows = min(128, cd), []
    if cs == cd == 16:
        rows += [(256, 64, 64, 2, n, 8, s) for n in (8, 32) for s in (2, 3)]
    if cs * cd <= 64 * 64:
        rows += [(64, bk, bn, 1, n, 4, 3) for bk in (64, 128) for n in (4, 8, 32)] + [(128, 64, bn, 1, 8, 4, 3)]
    else:
        rows += [(128, 64, bn, 1, n, 8, 3) for n in (1, 2, 4, 8)] + [(128, 64, 64, 1, 1, 4, 3)]
    return named("COLS BK BN F SPLIT num_warps num_stages", rows)


def hopper_tried(pixels: int, cd: int) -> list[dict[str, int]]:
    rows = [(128, 128, 3, 4), (128, 128, 4, 8), (256, 128, 4, 8), (128, 256, 4, 8), (64, 128, 4, 4), (64, 256, 3, 4)]
    rows += [(128, 64, 4, 4), (128, 64, 3, 4), (128, 64, 2, 4), (64, 64, 6, 4)]
    rows = [row for row in rows if cd % row[1] == 0 and row[0] <= max(64, pixels)]
    return named("BM BN STAGES num_warps", rows)


def hopper_kernels_tried(pixels: int, size: int, cs: int, cd: int) -> list[dict[str, int]]:
    rows = [(64, 2, 128, 3, 4), (64, 2, 128, 4, 8), (64, 4, 128, 4, 8), (64, 2, 256, 4, 8), (64, 2, 64, 4, 4)]
    if pixels == 32:
        rows = [(32, 2, 128, 4, 4), (32, 2, 64, 4, 4)]
    found = []
    for bk, boxes, bn, stages, warps in rows:
        if pixels % bk or cd % bn:
            continue
        tiles = -(-size * size * cs // (hopper.COLUMNS * boxes)) * (cd // bn) * GROUPS
        splits = [n for n in (2, 4, 8, 16) if tiles * n <= 800 and pixels // bk // n >= 2]
        found += [(bk, boxes, bn, n, stages, warps) for n in (1, *splits)]
    return named("BK BOXES BN SPLIT STAGES num_warps", found)


def named(names: str, rows: list[tuple[int, ...]]) -> list[dict[str, int]]:
    return [dict(zip(names.split(), row, strict=True)) for row in dict.fromkeys(rows)]


class Case:
    """One convolution of several networks, forwards, backwards, or the gradient by its kernel."""

    def __init__(
        self, kind: str, groups: int, batch: int, cs: int, cd: int, side: int, stride: int, *, device: str = "cuda",
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:  # fmt: skip
        def room(*shape: int) -> Tensor:
            return torch.randn(shape, device=device).to(dtype)

        self.kind, self.stride, size = kind, stride, 1 if side == 1 else 3
        small = side // stride
        self.x, self.y = room(groups, batch, side, side, cs), room(groups, batch, small, small, cd)
        self.kernel, self.by_kernel = (
            0.05 * room(groups, size, size, cs, cd),
            torch.zeros(groups, size, size, cs, cd, device=device),
        )
        self.dx = torch.zeros_like(self.x)
        self.sums = torch.zeros(2, groups, max(cs, cd), device=device)
        self.draws = torch.zeros(1, dtype=torch.int64, device=device)
        regular = batch == 128 and cs >= 64  # the regularised VGGs: dropout, where the others cut
        self.asked = {"dropped": (self.draws, 1, 0.3)} if regular else {"mask": self.x}
        self.operations = 2 * size * size * cs * cd * groups * batch * small * small
        src, dst = (self.y, self.x) if kind == "back" else (self.x, self.y)
        self.name = shape_name(kind, src, dst, size)

    def made(self, config: dict[str, int]) -> list[Tensor]:
        """What comes out: values and their sums, or the gradient by the kernel."""
        out = {"forth": self.y, "back": self.dx, "kernel": self.by_kernel}[self.kind]
        given = self.y.clone()
        for t in (out, self.sums):
            t.zero_()
        self.go(config)
        found = [t.to(torch.float32, copy=True) for t in (out, self.sums)]  # the next one writes to the same places
        self.y.copy_(given)
        return found

    def go(self, config: dict[str, int]) -> None:
        first, second = self.sums
        if self.kind == "forth":
            convolve(self.x, self.kernel, self.y, stride=self.stride, sums=first, squares=second, config=config)
        elif self.kind == "back":
            convolve(
                self.y, self.kernel, self.dx, stride=self.stride, back=True, values=self.x, sums=first,
                products=second, config=config, **self.asked,
            )  # fmt: skip
        else:
            kernel_gradient(self.x, self.y, self.by_kernel, stride=self.stride, config=config)


def distance(some: list[Tensor], others: list[Tensor]) -> float:
    """The largest of tensors' distances, relative to the size of the second."""
    return max(((a - b).norm() / b.norm()).item() for a, b in zip(some, others, strict=True) if b.any())


def microseconds(call: Callable[[], None], repeats: int = 10) -> float:
    """Of a graph of several calls: by themselves most take longer to launch than to run."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    graph.replay()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    return 1000 * begin.elapsed_time(end) / repeats


def cases(families: list[str], pictures: list[int]) -> list[tuple]:
    found = []
    for family in families:
        shapes, batches = SHAPES[family]
        batches = [b for b in batches if b in pictures]
        found += list(itertools.product(("forth", "back", "kernel"), batches, shapes))
    return [(kind, batch, *shape) for kind, batch, shape in found]


def warm(part: int, all_cases: list[tuple]) -> None:
    """Compile a share of all that is tried, for one network of each kind: their number is not compiled in."""
    todo = [(c, config) for c in all_cases for config in to_try(*c)]
    held: dict[tuple, Case] = {}
    for (kind, *rest), config in todo[part::PROCESSES]:
        key = (kind, 1, *rest)
        if key not in held:
            held[key] = Case(*key)
        try:
            held[key].go(config)
        except Exception as e:  # too large for the chip, mostly
            print(f"{held[key].name} {config}: {type(e).__name__} {str(e)[:80]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--pictures", nargs="+", type=int, default=[128, 32, 16], help="batches of these only")
    parser.add_argument("--warm", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.warm is not None:
        return warm(args.warm, cases(args.only, args.pictures))
    began = time.monotonic()
    side_by_side([sys.executable, __file__, *sys.argv[1:], "--warm"])
    print(f"compiled in {time.monotonic() - began:.1f} s", flush=True)
    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    for kind, batch, cs, cd, side, stride in cases(args.only, args.pictures):
        case = Case(kind, GROUPS, batch, cs, cd, side, stride)
        times, wanted = [], None
        for config in to_try(kind, batch, cs, cd, side, stride):
            try:
                made = case.made(config)
                wanted = wanted or made
                if not (off := distance(made, wanted)) <= OFF:
                    print(f"{case.name} {config}: {off:.1g} from the first, not taken", flush=True)
                    continue
                times.append((microseconds(lambda case=case, config=config: case.go(config)), config))
            except Exception:  # said by `warm`
                continue
        took, found[case.name] = min(times, key=lambda t: t[0])
        rate = case.operations / took / 1e6
        print(f"{case.name}: {took:.1f} us, {rate:.0f} TFLOP/s, {list(found[case.name].values())}", flush=True)
        args.out.write_text(json.dumps(found, indent=0))
    print(f"{time.monotonic() - began:.1f} s")
    return None


if __name__ == "__main__":
    main()
