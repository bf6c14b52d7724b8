"""Compile what the networks of a plan are trained with, in several processes: python precompile.py plan-seeds.json

Triton keeps what it has compiled, so that train.py finds it there; one process takes more than a minute. Each of these
goes through all that train.py does with a network, launches none of our kernels, and compiles its share of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Hashable
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2]))
from agreement import drop_alike
from fused import KINDS
from jobs import Job
from kernels import placed
from networks import settings
from processes import PROCESSES, side_by_side
from triton.runtime.jit import JITFunction

MOST = 6  # networks at once: more of them do not fit beside those of the other processes


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


def go_through(name: str, networks: int, device: str) -> None:
    """Steps of so many networks, and all that agreement.py launches, of two.

    A few kernels have tiles that depend on how many networks there are (`usual_tiles`): where these are more than MOST,
    train.py compiles them.
    """
    setting = settings()[name]
    if setting.family not in KINDS:
        return
    images = torch.zeros(setting.size, 3, 32, 32, dtype=torch.uint8, device=device)
    for groups in (2, min(networks, MOST)):
        t = KINDS[setting.family](setting, images, device, groups, setting.half)
        t.step()
    placed(t.images, t.order, t.at, t.x, setting.scale)
    drop_alike(setting.build(torch.Generator()), t, 0)


def asked(plan: dict) -> list[tuple[str, int]]:
    """The networks of a plan, and how many of each there are at once."""
    rows = plan["queue"] if "queue" in plan else [row for lane in plan["lanes"] for row in lane]
    jobs = [job for job in map(Job.read, rows) if not job.engine]
    return list(dict.fromkeys([(j.network, len(j.networks)) for j in jobs] + [tuple(a) for a in plan.get("also", [])]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part is None:
        return 0 if side_by_side([sys.executable, __file__, str(args.plan), "--part"]) else 1
    JITFunction.run = compile_share(args.part, PROCESSES)
    for name, networks in asked(json.loads(args.plan.read_text())):
        go_through(name, networks, "cuda")
    return 0


if __name__ == "__main__":
    sys.exit(main())
