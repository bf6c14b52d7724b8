"""Which tiles of kernels.py are fastest on this GPU: python tune.py tiles.json, half a minute.

Processes compile all that is tried, side by side; then each is timed. Shapes are those of the networks of networks.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from kernels import convolve, kernel_gradient, shape_name
from torch import Tensor

GROUPS = 6
WARMERS = 15  # processes that compile
RESNET = ((16, 16, 32, 1), (16, 32, 32, 2), (32, 32, 16, 1), (32, 64, 16, 2), (64, 64, 8, 1))  # in, out, side, stride
VGG = (
    (16, 64, 32, 1), (64, 64, 32, 1), (64, 128, 16, 1), (128, 128, 16, 1), (128, 256, 8, 1), (256, 256, 8, 1),
    (256, 512, 4, 1), (512, 512, 4, 1), (512, 512, 2, 1), (256, 256, 4, 1), (256, 256, 2, 1),
)  # fmt: skip
SHAPES = {"resnet": (RESNET, (128, 16)), "vgg": (VGG, (128, 32))}


def to_try(kind: str, cs: int, cd: int, stride: int) -> list[dict[str, int]]:
    """Tiles that came out well in a wider search."""
    rows: list[tuple[int, ...]] = []
    bn = min(128, cd)
    if kind == "kernel":
        names = "COLS", "BK", "BN", "F", "SPLIT", "num_warps", "num_stages"
        if cs == cd == 16:
            rows += [(256, 64, 64, 2, n, 8, s) for n in (8, 32) for s in (2, 3)]
        if cs * cd <= 64 * 64:
            rows += [(64, bk, bn, 1, n, 4, 3) for bk in (64, 128) for n in (4, 8, 32)] + [(128, 64, bn, 1, 8, 4, 3)]
        else:
            rows += [(128, 64, bn, 1, n, 8, 3) for n in (1, 2, 4, 8)] + [(128, 64, 64, 1, 1, 4, 3)]
    else:
        names = "BM", "BK", "BN", "F", "num_warps", "num_stages"
        if kind == "back":
            cs, cd = cd, cs
            bn = min(128, cd)
        if cs == cd == 16 and stride == 1:
            rows += [(128, 64, 64, 2, 4, 3), (128, 64, 64, 2, 4, 2), (256, 64, 64, 2, 8, 3), (128, 128, 64, 2, 4, 2)]
        if cs < 64:
            rows += [(256, cs, bn, 1, 4, 3), (128, cs, bn, 1, 4, 3), (128, 32, bn, 1, 4, 1)]
        else:
            rows += [(128, 64, bn, 1, 4, 3), (128, 64, bn, 1, 8, 3), (128, 64, min(64, cd), 1, 4, 3)]
            rows += [(64, 64, min(64, cd), 1, 4, 4)]
    return [dict(zip(names, row, strict=True)) for row in dict.fromkeys(rows)]


class Case:
    """One convolution of several networks, forwards, backwards, or the gradient by its kernel."""

    def __init__(self, kind: str, groups: int, batch: int, cs: int, cd: int, side: int, stride: int) -> None:
        def room(*shape: int) -> Tensor:
            return torch.randn(shape, device="cuda").to(torch.bfloat16)

        self.kind, self.stride = kind, stride
        small = side // stride
        self.x, self.y = room(groups, batch, side, side, cs), room(groups, batch, small, small, cd)
        self.kernel, self.by_kernel = (
            0.05 * room(groups, 3, 3, cs, cd),
            torch.zeros(groups, 3, 3, cs, cd, device="cuda"),
        )
        self.dx = torch.zeros_like(self.x)
        self.sums = torch.zeros(2, groups, max(cs, cd), device="cuda")
        self.draws = torch.zeros(1, dtype=torch.int64, device="cuda")
        regular = batch == 128 and cs >= 64  # the regularised VGGs: dropout, where the others cut
        self.asked = {"dropped": (self.draws, 1, 0.3)} if regular else {"mask": self.x}
        self.operations = 18 * cs * cd * groups * batch * small * small
        src, dst = (self.y, self.x) if kind == "back" else (self.x, self.y)
        self.name = shape_name(kind, src, dst, 3)

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


def cases(families: list[str]) -> list[tuple]:
    found = []
    for family in families:
        shapes, batches = SHAPES[family]
        found += list(itertools.product(("forth", "back", "kernel"), batches, shapes))
    return [(kind, batch, *shape) for kind, batch, shape in found]


def warm(part: int, families: list[str]) -> None:
    """Compile a share of all that is tried, for one network of each kind: their number is not compiled in."""
    todo = [(c, config) for c in cases(families) for config in to_try(c[0], c[2], c[3], c[5])]
    held: dict[tuple, Case] = {}
    for (kind, *rest), config in todo[part::WARMERS]:
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
    parser.add_argument("--warm", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.warm is not None:
        return warm(args.warm, args.only)
    began = time.monotonic()
    command = [sys.executable, __file__, str(args.out), "--only", *args.only, "--warm"]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    for process in [subprocess.Popen([*command, str(i)], env=environment) for i in range(WARMERS)]:
        process.wait()
    print(f"compiled in {time.monotonic() - began:.1f} s", flush=True)
    found = json.loads(args.out.read_text()) if args.out.exists() else {}
    for kind, batch, cs, cd, side, stride in cases(args.only):
        case = Case(kind, GROUPS, batch, cs, cd, side, stride)
        times = []
        for config in to_try(kind, cs, cd, stride):
            try:
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
