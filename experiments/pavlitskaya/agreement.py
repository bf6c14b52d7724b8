"""How far the networks of fused.py are from plain ones: logits, gradients, running means of one step.

python experiments/pavlitskaya/agreement.py vgg-C5 resnet-C5 ...     compiles them, checks them, and times a step
"""

from __future__ import annotations

import copy
import dataclasses
import re
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[2]))
from fused import KINDS, Fused, outwards
from kernels import placed, settle
from networks import CLASSES, Dropout, Setting, settings
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.graphs import in_bfloat16


class Kept(nn.Module):
    """Drops what a layer of `VGGs` drops."""

    def __init__(self, kept: Tensor) -> None:
        super().__init__()
        self.kept = kept

    def forward(self, x: Tensor) -> Tensor:
        return x * self.kept.view(x.shape).to(x.dtype)


def drop_alike(network: nn.Module, fused: Fused, g: int) -> None:
    """Make the dropout of a plain network that of the g-th here."""
    named = [name for name, module in network.named_modules() if isinstance(module, Dropout)]
    for name, i in zip(named, [i for i, k in enumerate(fused.layers) if k.drop] if named else [], strict=True):
        kept = torch.zeros_like(fused.a[i])
        settle(torch.ones_like(kept), kept, dropped=fused.dropped(i))
        network.layers[int(name.split(".")[1])] = Kept(kept[g].permute(0, 3, 1, 2).contiguous())


Found = dict[str, float]


def agreement(setting: Setting, images: Tensor, device: str, half: bool) -> tuple[Found, Found, Found, Found]:
    """How far logits, gradients and running means of a step are from those of plain networks in float32.

    Relative to their size, for two networks: ours, and the same of the plain networks, if `half` in bfloat16. They drop
    what is dropped here. Then the part of either along float32's, 1 where they are alike: in bfloat16 the gradients of
    regularised VGGs are half their size away from float32's, which hides much. Biases before batch normalisation are
    left out: their gradients are rounding only.
    """
    fused = KINDS[setting.family](setting, images, device, 2, half)
    rng = np.random.default_rng(0)
    fused.begin([rng.integers(0, CLASSES, setting.size) for _ in range(2)], [1, 2])
    fused.begin_epoch(0.0)
    placed(fused.images, fused.order, fused.at, fused.x, setting.scale)
    wanted = fused.targets.gather(1, fused.order[:, fused.within])
    with torch.no_grad():
        logits = fused.learn(wanted)
    mine, plain, along, plain_along = {}, {}, {}, {}
    new = setting.build(torch.Generator()).state_dict()
    for g in range(2):
        network = setting.build(torch.Generator().manual_seed(g + 1)).to(device).train()
        drop_alike(network, fused, g)
        twin = in_bfloat16(network, but=(nn.BatchNorm1d, nn.BatchNorm2d)) if half else copy.deepcopy(network)
        x = fused.images[fused.order[g, : setting.batch]].float() * setting.scale
        said = twin(x.to(fused.type)).float()
        seen = dict(zip(dict(twin.named_parameters()), autograd(said, wanted[g], twin), strict=True))
        running = {name: b.clone() for name, b in twin.named_buffers()}
        for name, b in network.named_buffers():
            b.copy_(new[name])
        out = network(x)
        found = {"logits": (out, logits[g], said)}
        for (name, p), d in zip(network.named_parameters(), autograd(out, wanted[g], network), strict=True):
            if setting.family == "resnet" and setting.regularised and re.search(r"(stem|first|second)\.bias", name):
                continue
            found[name] = d, outwards(fused.d[name][g], p, fused.pixels.get(name, 1)), seen[name]
        found |= {name: (b, fused.running[name][g], running[name]) for name, b in network.named_buffers()}
        for name, (exact, ours, other) in found.items():
            mine[f"{g} {name}"], plain[f"{g} {name}"] = (
                ((t.float() - exact).norm() / exact.norm()).item() for t in (ours, other)
            )
            along[f"{g} {name}"], plain_along[f"{g} {name}"] = (
                ((t.float() * exact).sum() / (exact * exact).sum()).item() for t in (ours, other)
            )
    return mine, plain, along, plain_along


def autograd(out: Tensor, wanted: Tensor, network: nn.Module) -> tuple[Tensor, ...]:
    return torch.autograd.grad(F.cross_entropy(out, wanted), list(network.parameters()))


def summary(mine: Found, plain: Found, along: Found, plain_along: Found) -> dict[str, list[float]]:
    """Median and largest distance, ours and the plain networks', and the median of either's part along float32's."""
    found = {k: [float(np.median(list(d.values()))), max(d.values())] for k, d in (("ours", mine), ("plain", plain))}
    return found | {"along": [float(np.median(list(d.values()))) for d in (along, plain_along)]}


def main(names: list[str]) -> None:
    """Compile the kernels of these networks, and say how well they agree and how long a step takes."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    images = torch.randint(0, 256, (5000, 3, 32, 32), dtype=torch.uint8, device="cuda")
    for name in names:
        setting = settings()[name]
        setting = dataclasses.replace(setting, size=5000)
        told = summary(*agreement(setting, images, "cuda", True))
        t = KINDS[setting.family](setting, images, "cuda", 6, True)
        t.begin([np.zeros(5000, np.int64)] * 6, list(range(6)))
        t.prepare(torch.cuda.Stream())
        with torch.cuda.stream(torch.cuda.Stream()):
            for steps in (3, 20):
                t.begin_epoch(1e-4)
                torch.cuda.synchronize()
                began = time.monotonic()
                t.go(steps)
                torch.cuda.synchronize()
                each = (time.monotonic() - began) / steps
        print(
            f"{name}: a step {1e3 * each:.3f} ms, {6 * setting.batch / each / 1e3:.0f}k pictures/s; {told}", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
