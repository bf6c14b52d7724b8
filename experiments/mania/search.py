"""A random search of small networks on CIFAR-10, with checkpoints: figure 3 of the paper, section 5.2 and appendix D.

    python experiments/mania/search.py --data DATA --out OUT --store experiments/mania/results --minutes 9

DATA as in experiments/werpachowski/cifar10 (cifar10.npz, or the batches that pictures.py unpacks). Needs torch and
numpy only. Network i of the search has the setting that seed i draws; networks of the store are left out, and none is
begun that would not be done in time. Every worker writes OUT/search-<time>-<worker>.npz anew after each network; moved
into the store, it is what later runs go on from, and what pools.py reads.

The grid is that of table 2; ours has residual networks of 8 to 20 layers (bottlenecks: 11 to 29) instead of 110, twice
as large batches, 30 epochs, and points of decay as shares of these, so that 64 networks should take one GPU about ten
minutes (a guess: it has not been run on one). A step is a few hundred small kernels, and a dozen processes hide each
other's launches. Adam has the learning rates of the others, as there: much of the search fails, and checkpoints below
50 % are left out by pools.py.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "werpachowski" / "cifar10"))
import pictures
import store

CHECKPOINTS = 10
CLASSES = 10
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
STARTED = time.monotonic()


def drawn(seed: int) -> dict[str, Any]:
    """A setting of table 2; what a setting does not use is drawn all the same."""
    rng = np.random.default_rng([2019, seed])

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def between(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def coin() -> bool:
        return bool(rng.integers(2))

    return {
        "blocks": one_of(1, 2, 3),  # in each of three stages; the paper: 110 layers always
        "channels": one_of(4, 8, 16, 32),
        "bottleneck": coin(),
        "remove_first_relu": coin(),
        "last_normalisation": coin(),
        "preactivated_shortcut": coin(),
        "batch": one_of(64, 128, 256, 512),  # the paper: 32 to 256
        "rate": between(1e-4, 0.5),
        "decay": 10 ** between(-5, -1),
        "decay_normalisation": coin(),
        "optimiser": one_of("sgd", "momentum", "nesterov", "adam"),
        "momentum": between(0.6, 0.99),
        "betas": (between(0.8, 0.95), between(0.9, 0.999)),
        "cosine": coin(),
        "falls_at": (one_of(0.2, 0.3, 0.4, 0.5), one_of(0.6, 0.7, 0.8, 0.9)),  # epochs 40 to 100, 120 to 180 of 200
        "crops": one_of(0, 2, 4, 8) if coin() else 0,
        "flips": coin(),
        "cutout": one_of(8, 12, 16) if coin() else 0,
        "dual_cutout": between(0.05, 0.3) if coin() else 0.0,
        "erasing": between(0.2, 0.8) if coin() else 0.0,
        "mixup": between(0.6, 1.4) if coin() else 0.0,
        "smoothing": between(0.01, 0.2) if coin() else 0.0,
    }


# --- the network -------------------------------------------------------------------------------------


class Block(nn.Module):
    """Normalisation, ReLU, convolution, twice or three times; what goes past it."""

    def __init__(self, before: int, width: int, stride: int, s: dict[str, Any]) -> None:
        super().__init__()
        inner = width // 4 if s["bottleneck"] else width
        shapes = [(before, inner, 1, 1), (inner, inner, 3, stride), (inner, width, 1, 1)]
        if not s["bottleneck"]:
            shapes = [(before, width, 3, stride), (width, width, 3, 1)]
        self.norms = nn.ModuleList(nn.BatchNorm2d(a) for a, *_ in shapes)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, t, k // 2, bias=False) for a, b, k, t in shapes)
        self.last = nn.BatchNorm2d(width) if s["last_normalisation"] else nn.Identity()
        changed = before != width or stride != 1
        self.past = nn.Conv2d(before, width, 1, stride, bias=False) if changed else nn.Identity()
        self.first_relu, self.preactivated = not s["remove_first_relu"], changed and s["preactivated_shortcut"]

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        if self.first_relu:
            y = F.relu(y)
        past = self.past(y if self.preactivated else x)
        y = self.convs[0](y)
        for norm, conv in zip(self.norms[1:], self.convs[1:], strict=True):
            y = conv(F.relu(norm(y)))
        return self.last(y) + past


def network(s: dict[str, Any]) -> nn.Module:
    width = s["channels"] * (4 if s["bottleneck"] else 1)
    layers: list[nn.Module] = [nn.Conv2d(3, s["channels"], 3, 1, 1, bias=False)]
    before = s["channels"]
    for stage in range(3):
        for i in range(s["blocks"]):
            layers.append(Block(before, width * 2**stage, 2 if stage and not i else 1, s))
            before = width * 2**stage
    layers += [nn.BatchNorm2d(before), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, CLASSES)]
    return nn.Sequential(*layers)


def optimiser(net: nn.Module, s: dict[str, Any]) -> torch.optim.Optimizer:
    plain = [p for p in net.parameters() if p.ndim == 1]
    cuda = plain[0].is_cuda  # one kernel for all weights: such small networks wait for launches
    groups = [
        {"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": s["decay"]},
        {"params": plain, "weight_decay": s["decay"] if s["decay_normalisation"] else 0.0},
    ]
    if s["optimiser"] == "adam":
        return torch.optim.Adam(groups, lr=s["rate"], betas=tuple(s["betas"]), fused=cuda)
    momentum = 0.0 if s["optimiser"] == "sgd" else s["momentum"]
    return torch.optim.SGD(groups, lr=s["rate"], momentum=momentum, nesterov=s["optimiser"] == "nesterov", fused=cuda)


def rate(s: dict[str, Any], done: float) -> float:
    """Learning rate after this share of the training."""
    if s["cosine"]:
        return s["rate"] * (1 + math.cos(math.pi * done)) / 2
    return s["rate"] * 0.1 ** sum(done >= at for at in s["falls_at"])


# --- pictures ----------------------------------------------------------------------------------------


def holes(x: Tensor, size: Tensor, g: torch.Generator) -> Tensor:
    """A square of 0 of this size somewhere in each picture, cut off at the edge."""
    n, _, h, w = x.shape
    at = torch.rand(2, n, 1, 1, device=x.device, generator=g) * h
    rows, columns = (torch.arange(k, device=x.device) for k in (h, w))
    inside = ((rows[None, :, None] - at[0]).abs() < size[:, None, None] / 2) & (
        (columns[None, None] - at[1]).abs() < size[:, None, None] / 2
    )
    return x * ~inside[:, None]


def augmented(x: Tensor, s: dict[str, Any], g: torch.Generator) -> Tensor:
    """Crops, flips, cutout and erasing."""
    n, side = len(x), x.shape[-1]
    if pad := s["crops"]:
        big = F.pad(x, [pad] * 4)
        top, left = torch.randint(0, 2 * pad + 1, (2, n), device=x.device, generator=g)
        steps = torch.arange(side, device=x.device)
        each = torch.arange(n, device=x.device)[:, None, None]
        x = big.permute(0, 2, 3, 1)[each, (top[:, None] + steps)[:, :, None], (left[:, None] + steps)[:, None]]
        x = x.permute(0, 3, 1, 2)
    if s["flips"]:
        turned = torch.rand(n, 1, 1, 1, device=x.device, generator=g) < 0.5
        x = torch.where(turned, x.flip(-1), x)
    if s["cutout"]:
        x = holes(x, torch.full((n,), s["cutout"], device=x.device), g)
    if s["erasing"]:
        sizes = side * (0.15 + 0.4 * torch.rand(n, device=x.device, generator=g))
        x = holes(x, sizes * (torch.rand(n, device=x.device, generator=g) < s["erasing"]), g)
    return x


def loss(
    net: nn.Module, x: Tensor, y: Tensor, s: dict[str, Any], g: torch.Generator, rng: np.random.Generator
) -> Tensor:
    smooth = s["smoothing"]
    if s["dual_cutout"]:  # two views with different holes shall be answered alike; not together with mixup
        size = torch.full((len(x),), s["cutout"] or 8, device=x.device)
        one, two = (net(holes(x, size, g)) for _ in range(2))
        both = F.cross_entropy(one, y, label_smoothing=smooth) + F.cross_entropy(two, y, label_smoothing=smooth)
        return both / 2 + s["dual_cutout"] * F.mse_loss(one, two)
    if s["mixup"]:
        share = float(rng.beta(s["mixup"], s["mixup"]))
        other = torch.randperm(len(x), device=x.device, generator=g)
        out = net(share * x + (1 - share) * x[other])
        parts = [F.cross_entropy(out, labels, label_smoothing=smooth) for labels in (y, y[other])]
        return share * parts[0] + (1 - share) * parts[1]
    return F.cross_entropy(net(x), y, label_smoothing=smooth)


def normalised(x: np.ndarray, device: torch.device) -> Tensor:
    t = torch.as_tensor(x, device=device).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(v, device=device)[:, None, None] for v in (MEAN, STD))
    return ((t - mean) / std).contiguous()


# --- one network -------------------------------------------------------------------------------------


def predictions(net: nn.Module, x: Tensor) -> np.ndarray:
    net.eval()
    with torch.no_grad():
        found = [net(part).argmax(dim=1) for part in x.split(2_500)]
    net.train()
    return torch.cat(found).to(torch.uint8).cpu().numpy()


def train(seed: int, x: Tensor, y: Tensor, x_test: Tensor, epochs: int) -> tuple[dict[str, Any], np.ndarray]:
    """The setting with what came of it, and answers to the test set at each checkpoint."""
    s = drawn(seed)
    device = x.device
    torch.manual_seed(seed)
    g, rng = torch.Generator(device=device).manual_seed(seed), np.random.default_rng(seed)
    net = network(s).to(device)
    if device.type == "cuda":
        net = net.to(memory_format=torch.channels_last)
    opt = optimiser(net, s)
    steps = epochs * (len(x) // s["batch"])
    wanted = {math.ceil(steps * (i + 1) / CHECKPOINTS) for i in range(CHECKPOINTS)}
    began, done, kept = time.monotonic(), 0, []
    while done < steps:
        order = torch.randperm(len(x), device=device, generator=g)
        for i in range(len(x) // s["batch"]):
            rows = order[i * s["batch"] : (i + 1) * s["batch"]]
            for group in opt.param_groups:
                group["lr"] = rate(s, done / steps)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                lost = loss(net, augmented(x[rows], s, g), y[rows], s, g, rng)
            opt.zero_grad(set_to_none=True)
            lost.backward()
            opt.step()
            done += 1
            if done in wanted:
                kept.append(predictions(net, x_test))
    finite = all(bool(p.isfinite().all()) for p in net.parameters())
    record = {"seed": seed, "setting": s, "epochs": epochs, "steps": steps, "finite": finite,
              "seconds": round(time.monotonic() - began, 1), "torch": torch.__version__}  # fmt: skip
    return record, np.array(kept)


# --- the search --------------------------------------------------------------------------------------


def known(folder: Path | None) -> set[int]:
    """Seeds in the store."""
    found: set[int] = set()
    for path in sorted(folder.glob("search-*.npz")) if folder else ():
        with np.load(path) as f:
            found |= {int(k.split("/")[0].removeprefix("model")) for k in f.files if k.endswith("/record")}
    return found


def search(
    seeds: list[int], x: np.ndarray, y: np.ndarray, n_test: int, path: Path, epochs: int, seconds: float
) -> None:
    """Train these networks as long as the next will be done in time; the last pictures are the test set."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = device.type == "cuda"
    labels = y[-n_test:]
    shown, tested = normalised(x[:-n_test], device), normalised(x[-n_test:], device)
    targets = torch.as_tensor(y[:-n_test].astype(np.int64), device=device)
    arrays: dict[str, np.ndarray] = {"labels": labels}
    slowest = 0.0
    for seed in seeds:
        if time.monotonic() - STARTED + 1.2 * slowest > seconds:
            print(f"time is up before model {seed}", flush=True)
            break
        record, answers = train(seed, shown, targets, tested, epochs)
        slowest = max(slowest, record["seconds"])
        record["accuracy"] = [round(float((a == labels).mean()), 4) for a in answers]
        distances = ((answers.astype(np.int64) - labels) % CLASSES).astype(np.uint8)
        arrays |= {f"model{seed}/record": np.array(json.dumps(record)), f"model{seed}/distances": distances}
        store.write(path, arrays)
        print(f"model {seed}: {record['seconds']:.0f} s, accuracy {record['accuracy']}", flush=True)


def work(number: int, seeds: list[int], args: argparse.Namespace) -> None:
    """One worker's share."""
    x, y = pictures.read(args.data)
    name = f"search-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{number}{os.urandom(1).hex()}.npz"
    search(seeds, x, y, pictures.BATCH, args.out / name, args.epochs, 60 * args.minutes)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--store", type=Path)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--workers", type=int, default=12, help="processes that share one GPU")
    parser.add_argument("--minutes", type=float, default=9.0)
    args = parser.parse_args(argv)
    seeds = [seed for seed in range(args.models) if seed not in known(args.store)]
    print(f"{len(seeds)} of {args.models} networks are left", flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.workers == 1 or len(seeds) < 2:
        work(0, seeds, args)
        return
    context = torch.multiprocessing.get_context("spawn")
    shares = [seeds[i :: args.workers] for i in range(args.workers)]
    workers = [context.Process(target=work, args=(i, share, args)) for i, share in enumerate(shares) if share]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
