"""Train the pool at every rate of label noise, many networks side by side on one GPU.

python experiments/pavlitskaya/train.py DATA OUT [--only vgg-C1 ...] [--seeds 0] [--seconds 560] [--epochs-factor 1]

DATA holds cifar10.npz or the six PNG batches, and mnist.npz. Nothing but torch, numpy and Pillow is needed. All rates
of a network train at once, each in a CUDA graph of its own on a stream of its own; OUT/pool-<call>.npz is written anew
after each network, and no network is begun that would not end before --seconds.

What is kept of every training: the labels it was trained on, and what the finished network says of its training, its
validation and the test images; PMV, PTV, gaps and their intervals all follow from these.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from networks import Dropout, Setting, settings
from torch import Tensor
from torch.nn import functional as F

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def load(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """CIFAR-10 and MNIST, split once and for all: 10 % of the training images are for validation."""
    found = {}
    if (folder / "cifar10.npz").exists():
        with np.load(folder / "cifar10.npz") as f:
            x, y, xt, yt = (f[k] for k in ("x_train", "y_train", "x_test", "y_test"))
    else:
        x, y, xt, yt = read_png(folder)
    found["cifar"] = split(x.transpose(0, 3, 1, 2), y, xt.transpose(0, 3, 1, 2), yt)
    if (folder / "mnist.npz").exists():
        with np.load(folder / "mnist.npz") as f:
            pad = ((0, 0), (2, 2), (2, 2))
            x, xt = (np.pad(f[k], pad)[:, None] for k in ("x_train", "x_test"))
            found["mnist"] = split(x, f["y_train"], xt, f["y_test"])
    return found


def read_png(folder: Path) -> tuple[np.ndarray, ...]:
    """The PNG batches as `get_cifar10.py --png` leaves them, with labels.npz beside them."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    parts = [np.asarray(Image.open(p)).reshape(10_000, 32, 32, 3) for p in sorted(folder.glob("data_batch_*.png"))]
    test = np.asarray(Image.open(folder / "test_batch.png")).reshape(10_000, 32, 32, 3)
    with np.load(folder / "labels.npz") as f:
        return np.concatenate(parts), f["y_train"], test, f["y_test"]


def split(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> dict[str, np.ndarray]:
    order = np.random.default_rng(20220927).permutation(len(x))
    held, rest = order[: len(x) // 10], order[len(x) // 10 :]
    return {"train": x[rest], "train_y": y[rest], "val": x[held], "val_y": y[held], "test": xt, "test_y": yt}


def noisy(y: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Exactly this share of the labels replaced by wrong ones."""
    rng = np.random.default_rng([seed, round(1000 * rate)])
    out = y.copy()
    hit = rng.permutation(len(y))[: round(rate * len(y))]
    out[hit] = (y[hit] + rng.integers(1, 10, len(hit))) % 10
    return out


class Training:
    """One network on its way: everything a step needs lies on the device, so that a step can be one graph."""

    def __init__(self, setting: Setting, data: dict[str, Tensor], targets: np.ndarray, seed: int, device: str) -> None:
        self.setting, self.device = setting, device
        self.generator = torch.Generator(device=device)
        self.generator.manual_seed(seed)
        host = torch.Generator().manual_seed(seed)
        self.network = setting.build(host).to(device, memory_format=torch.channels_last)
        for module in self.network.modules():
            if isinstance(module, Dropout):
                module.generator = self.generator
        self.parameters = list(self.network.parameters())
        self.kernels = [p for p in self.parameters if p.ndim > 1]
        self.state = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self.images = data["train"][: setting.size]
        self.targets = torch.as_tensor(targets.astype(np.int64), device=device)
        self.order = torch.zeros(setting.size, dtype=torch.int64, device=device)
        self.at = torch.zeros((), dtype=torch.int64, device=device)
        self.count = torch.zeros((), device=device)
        self.rate = torch.tensor(setting.rate, device=device)
        self.within = torch.arange(setting.batch, device=device)
        self.loss = torch.zeros((), device=device)
        self.steps = setting.size // setting.batch
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        self.graph: torch.cuda.CUDAGraph | None = None

    def random(self, *shape: int) -> Tensor:
        return torch.rand(shape, device=self.device, generator=self.generator)

    def augment(self, x: Tensor) -> Tensor:
        """Shifts up to a tenth, turns, flips; what comes in from outside repeats the border, as Keras does."""
        n, turn = len(x), self.setting.rotation * np.pi / 180
        angle = (2 * self.random(n) - 1) * turn
        flip = torch.where(self.random(n) < 0.5, -1.0, 1.0)
        shift = (2 * self.random(n, 2) - 1) * 0.2  # a tenth of the width, in coordinates from -1 to 1
        cos, sin = torch.cos(angle), torch.sin(angle)
        matrix = torch.stack(
            [torch.stack([cos * flip, -sin, shift[:, 0]], 1), torch.stack([sin * flip, cos, shift[:, 1]], 1)], 1
        )
        grid = F.affine_grid(matrix, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def step(self) -> None:
        rows = self.order[self.at + self.within]
        self.at += self.setting.batch
        x = self.images[rows].float() * self.setting.scale
        if self.setting.augmented:
            x = self.augment(x)
        x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device, dtype=torch.bfloat16, cache_enabled=False, enabled=self.device == "cuda"):
            out = self.network(x)
        loss = F.cross_entropy(out.float(), self.targets[rows])
        gradients = list(torch.autograd.grad(loss, self.parameters))
        self.loss.copy_(loss.detach())
        with torch.no_grad():
            if self.setting.l2:
                places = {id(p): i for i, p in enumerate(self.parameters)}
                own = [gradients[places[id(p)]] for p in self.kernels]
                torch._foreach_add_(own, self.kernels, alpha=2 * self.setting.l2)
            if self.setting.optimiser == "sgd":
                torch._foreach_mul_(self.state, self.setting.momentum)
                torch._foreach_add_(self.state, gradients)
                torch._foreach_sub_(self.parameters, torch._foreach_mul(self.state, self.rate))
            else:
                self.count += 1
                torch._foreach_lerp_(self.state, gradients, 0.1)
                torch._foreach_mul_(self.second, 0.999)
                torch._foreach_addcmul_(self.second, gradients, gradients, 0.001)
                first = torch._foreach_div(self.state, 1 - 0.9**self.count)
                root = torch._foreach_sqrt(torch._foreach_div(self.second, 1 - 0.999**self.count))
                torch._foreach_add_(root, 1e-7)
                torch._foreach_sub_(self.parameters, torch._foreach_mul(torch._foreach_div(first, root), self.rate))

    def prepare(self) -> None:
        """Turn a step into a graph; the weights are put back to where they began."""
        self.network.train()
        if self.stream is None:
            return
        kept = [t.detach().clone() for t in (*self.network.state_dict().values(), *self.state, *self.second)]
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self.at.zero_()
                self.step()
        torch.cuda.current_stream().wait_stream(self.stream)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        with torch.cuda.graph(self.graph, stream=self.stream):
            self.step()
        torch.cuda.synchronize()
        with torch.no_grad():
            places = (*self.network.state_dict().values(), *self.state, *self.second)
            for place, value in zip(places, kept, strict=True):
                place.copy_(value)
            self.count.zero_()

    def begin_epoch(self, epoch: int) -> None:
        self.rate.fill_(self.setting.rate_at(epoch))
        self.order.copy_(torch.randperm(self.setting.size, device=self.device, generator=self.generator))
        self.at.zero_()

    def go(self) -> None:
        if self.graph is None:
            self.step()
        else:
            with torch.cuda.stream(self.stream):
                self.graph.replay()

    @torch.no_grad()
    def predict(self, images: Tensor) -> np.ndarray:
        self.network.eval()
        out = []
        for i in range(0, len(images), 1000):
            x = (images[i : i + 1000].float() * self.setting.scale).contiguous(memory_format=torch.channels_last)
            out.append(self.network(x).float().argmax(dim=1).to(torch.uint8))
        return torch.cat(out).cpu().numpy()


def train_all(setting: Setting, data: dict[str, Tensor], labels: dict[str, np.ndarray], seed: int, device: str) -> dict:
    """All rates of one network at once."""
    clean = labels["train_y"][: setting.size]
    targets = {rate: noisy(clean, rate, seed) for rate in RATES}
    trainings = {rate: Training(setting, data, targets[rate], 1000 * seed + round(10 * rate), device) for rate in RATES}
    for training in trainings.values():
        training.prepare()
    started, losses = time.monotonic(), []
    for epoch in range(setting.epochs):
        for training in trainings.values():
            training.begin_epoch(epoch)
        if device == "cuda":
            torch.cuda.synchronize()
        for _ in range(trainings[0.0].steps):
            for training in trainings.values():
                training.go()
        if device == "cuda":
            torch.cuda.synchronize()
        losses.append([float(t.loss) for t in trainings.values()])
    seconds = time.monotonic() - started
    found: dict[str, np.ndarray] = {}
    for rate, training in trainings.items():
        key = f"{setting.name}/seed{seed}/rate{rate:.1f}"
        found[f"{key}/targets"] = targets[rate].astype(np.uint8)
        for part in ("train", "val", "test"):
            images = data[part][: setting.size] if part == "train" else data[part]
            found[f"{key}/{part}"] = training.predict(images)
    summary = {
        rate: {
            "pmv": float((found[f"{setting.name}/seed{seed}/rate{rate:.1f}/train"] == targets[rate]).mean()),
            "ptv": float((found[f"{setting.name}/seed{seed}/rate{rate:.1f}/train"] == clean).mean()),
            "val": float((found[f"{setting.name}/seed{seed}/rate{rate:.1f}/val"] == labels["val_y"]).mean()),
            "test": float((found[f"{setting.name}/seed{seed}/rate{rate:.1f}/test"] == labels["test_y"]).mean()),
        }
        for rate in RATES
    }
    record = {
        "setting": vars(setting),
        "seconds": seconds,
        "losses": losses[:: max(1, len(losses) // 20)],
        "summary": summary,
    }
    found[f"{setting.name}/seed{seed}/record"] = np.array(json.dumps(record))
    print(f"{setting.name} seed {seed}: {seconds:.1f} s, {setting.epochs} epochs", flush=True)
    for rate, s in summary.items():
        print(f"   {rate:.1f}  " + "  ".join(f"{k} {v:.4f}" for k, v in s.items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, default=560.0)
    parser.add_argument("--epochs-factor", type=float, default=1.0)
    parser.add_argument("--limit", type=int, help="no more images than this (for trying things out)")
    parser.add_argument("--call", default="0")
    args = parser.parse_args()
    started = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = device == "cuda"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    sets = load(args.data)
    if args.limit:
        sets = {name: {part: values[: args.limit] for part, values in s.items()} for name, s in sets.items()}
    on_device = {
        name: {part: torch.as_tensor(np.ascontiguousarray(s[part]), device=device) for part in ("train", "val", "test")}
        for name, s in sets.items()
    }
    print(f"{device}; data in {time.monotonic() - started:.1f} s", flush=True)
    results: dict[str, np.ndarray] = {}
    longest = 0.0
    for seed in args.seeds:
        for name, setting in settings().items():
            if (args.only and name not in args.only) or setting.data not in sets:
                continue
            values = vars(setting) | {"epochs": max(1, round(setting.epochs * args.epochs_factor))}
            if args.limit:
                values["size"] = min(setting.size, args.limit)
            begun = time.monotonic()
            if begun - started + longest > args.seconds:
                print(f"no time left for {name}", flush=True)
                break
            results |= train_all(Setting(**values), on_device[setting.data], sets[setting.data], seed, device)
            longest = max(longest, time.monotonic() - begun) if args.only is None else time.monotonic() - begun
            part = args.out / f".pool-{args.call}.part.npz"
            np.savez_compressed(part, **results)
            os.replace(part, args.out / f"pool-{args.call}.npz")
            if device == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
