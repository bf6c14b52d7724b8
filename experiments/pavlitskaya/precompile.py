"""Compile what the networks of a plan are trained with, in several processes: python precompile.py plan-seeds.json

Triton keeps what it has compiled, so that train.py finds it there; one process takes more than a minute. Each of these
goes through a step of every network, launches none of our kernels, and compiles its share of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Hashable
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[2]))
from fused import KINDS
from jobs import Job
from networks import settings
from triton.runtime.jit import JITFunction

PROCESSES = 15


def side_by_side(command: list[str]) -> list[int]:
    """Run a command in several processes, each given its number; how they ended."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    running = [subprocess.Popen([*command, str(i)], env=environment) for i in range(PROCESSES)]
    return [process.wait() for process in running]


def kind(kernel: JITFunction, args: tuple) -> Hashable:
    """What tells launches apart that are compiled apart; it may be the same for some of these."""
    fixed = [a if p.is_constexpr else getattr(a, "dtype", None) for p, a in zip(kernel.params, args, strict=False)]
    return kernel.fn.__module__, kernel.fn.__name__, *fixed


def compile_share(part: int, of: int) -> Callable:
    """In the place of what launches a kernel: compiles it, if it is one of our share."""
    run, seen = JITFunction.run, {}

    def compile_only(kernel: JITFunction, *args, grid, warmup, **options) -> None:
        if seen.setdefault(kind(kernel, args), len(seen)) % of == part:
            run(kernel, *args, grid=grid, warmup=True, **options)

    return compile_only


def go_through(names: list[str], device: str) -> None:
    """A step of two networks of each kind: how many there are is not compiled in."""
    for setting in map(settings().get, names):
        if setting.family in KINDS:
            images = torch.zeros(setting.size, 3, 32, 32, dtype=torch.uint8, device=device)
            t = KINDS[setting.family](setting, images, device, 2, setting.half)
            t.begin([np.zeros(setting.size, np.int64)] * 2, [0, 1])
            t.begin_epoch(0.0)
            t.step()


def networks_of(plan: dict) -> list[str]:
    rows = plan["queue"] if "queue" in plan else [row for lane in plan["lanes"] for row in lane]
    return list(dict.fromkeys(Job.read(row).network for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part is None:
        return max(side_by_side([sys.executable, __file__, str(args.plan), "--part"]))
    JITFunction.run = compile_share(args.part, PROCESSES)
    go_through(networks_of(json.loads(args.plan.read_text())), "cuda")
    return 0


if __name__ == "__main__":
    sys.exit(main())
