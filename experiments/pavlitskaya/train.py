"""Train the pool at every rate of label noise, many networks side by side on one GPU.

python experiments/pavlitskaya/train.py DATA OUT --plan plan.json

DATA holds cifar10.npz, or the three parts that `--pack` makes of it, and mnist.npz. Nothing but torch, numpy and
Pillow is needed. Each training is a CUDA graph of one step; all graphs are made first, and the images may come later:
a network is begun once the images it needs are there.

The plan says what is trained, in lanes that run side by side, and is read anew before every network, so that it can be
changed on the way: {"deadline": seconds, "lanes": [[["vgg-C5", seed, epochs, seconds], ...], ...], "settings": [...]}.
The six rates of a network train at once: each on a stream of its own or, for a ResNet, as one network of six
groups. A network gets as many epochs as fit into its seconds, and its schedule is squeezed into them
(the learning rates used are kept). Networks of a fixed learning rate also stop at the deadline, and when their labels
are fitted (99.95 % of them in two epochs running).

Kept of every training, in OUT/<network>-seed<n>.npz: the labels it was trained on, and what the finished network says
of its training, its validation and the test images; PMV, PTV, gaps and their intervals all follow from these.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import torch
from networks import Dropout, Setting, settings
from torch import Tensor
from torch.nn import functional as F

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SMALL = 5_000
LOOKS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 180)  # epochs after which accuracies are written down
PARTS = ("part-0.png", "part-1.png", "part-2.png")
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:7.1f}  {text}", flush=True)


def split(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> dict[str, np.ndarray]:
    """Once and for all: 10 % of the training images are for validation; the first 5,000 left are the small set."""
    order = np.random.default_rng(20220927).permutation(len(x))
    held, rest = order[: len(x) // 10], order[len(x) // 10 :]
    return {"train": x[rest], "train_y": y[rest], "val": x[held], "val_y": y[held], "test": xt, "test_y": yt}


def read_cifar(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "cifar10.npz") as f:
        x, y, xt, yt = (f[k] for k in ("x_train", "y_train", "x_test", "y_test"))
    return split(x.transpose(0, 3, 1, 2), y, xt.transpose(0, 3, 1, 2), yt)


def read_mnist(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "mnist.npz") as f:
        pad = ((0, 0), (2, 2), (2, 2))
        x, xt = (np.pad(f[k], pad)[:, None] for k in ("x_train", "x_test"))
        return split(x, f["y_train"], xt, f["y_test"])


def pack(folder: Path, out: Path) -> None:
    """CIFAR-10 as three PNG files, the first of which is enough for the networks of 5,000 images."""
    from PIL import Image

    s = read_cifar(folder)
    first = np.concatenate([s["test"], s["val"], s["train"][:SMALL]])
    for name, x in zip(PARTS, (first, s["train"][SMALL:25_000], s["train"][25_000:]), strict=True):
        Image.fromarray(x.transpose(0, 2, 3, 1).reshape(-1, 32, 3)).save(out / name, optimize=True)
    np.savez(out / "split_labels.npz", **{k: s[k].astype(np.uint8) for k in ("train_y", "val_y", "test_y")})


def read_part(path: Path) -> np.ndarray:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    return np.asarray(Image.open(path)).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)


class Data:
    """The images on the device, in places that do not move, and the labels; `ready` says which may be used."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        self.images: dict[str, dict[str, Tensor]] = {}
        self.labels: dict[str, dict[str, np.ndarray]] = {}
        self.ready: set[tuple[str, int]] = set()
        if (folder / "mnist.npz").exists():
            self.take("mnist", read_mnist(folder))
            self.ready.add(("mnist", 54_000))
        if (folder / "cifar10.npz").exists():
            self.take("cifar", read_cifar(folder))
            self.ready |= {("cifar", SMALL), ("cifar", 45_000)}
        elif (folder / PARTS[0]).exists():
            with np.load(folder / "split_labels.npz") as f:
                found = {k: f[k] for k in f.files}
            x = read_part(folder / PARTS[0])
            train = np.zeros((45_000, 3, 32, 32), np.uint8)
            train[:SMALL] = x[15_000:]
            self.take("cifar", found | {"test": x[:10_000], "val": x[10_000:15_000], "train": train})
            self.ready.add(("cifar", SMALL))
            threading.Thread(target=self.wait, daemon=True).start()

    def take(self, name: str, s: dict[str, np.ndarray]) -> None:
        self.images[name] = {
            part: torch.as_tensor(np.ascontiguousarray(s[part]), device=self.device)
            for part in ("train", "val", "test")
        }
        self.labels[name] = {k: s[k] for k in ("train_y", "val_y", "test_y")}

    def wait(self) -> None:
        """Fill in the other two parts when they come."""
        for number, name in enumerate(PARTS[1:]):
            while not (self.folder / name).exists():
                time.sleep(0.3)
            at = SMALL + 20_000 * number
            x = torch.as_tensor(np.ascontiguousarray(read_part(self.folder / name)))
            self.images["cifar"]["train"][at : at + 20_000] = x.to(self.device)
        if self.device == "cuda":
            torch.cuda.current_stream().synchronize()
        self.ready.add(("cifar", 45_000))
        say("all images are there")


def noisy(y: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Exactly this share of the labels replaced by wrong ones."""
    rng = np.random.default_rng([seed, round(1000 * rate)])
    out = y.copy()
    hit = rng.permutation(len(y))[: round(rate * len(y))]
    out[hit] = (y[hit] + rng.integers(1, 10, len(hit))) % 10
    return out


class Training:
    """One network on its way: everything a step needs lies on the device, so that a step can be one graph."""

    def __init__(self, setting: Setting, images: Tensor, device: str, groups: int = 1, half: bool = True) -> None:
        self.setting, self.device, self.groups, self.half = setting, device, groups, half
        self.generator = torch.Generator(device=device)
        self.network = setting.build(torch.Generator().manual_seed(0), groups)
        self.network.to(device, memory_format=torch.channels_last)
        self.single = self.network
        if groups > 1:
            self.single = setting.build(torch.Generator()).to(device, memory_format=torch.channels_last)
        for module in self.network.modules():
            if isinstance(module, Dropout):
                module.generator = self.generator
        named = dict(self.network.named_parameters())
        self.parameters = list(named.values())
        self.kernels = [p for name, p in named.items() if p.ndim > 1 and not name.endswith("bias")]
        self.others = [p for name, p in named.items() if p.ndim == 1 or name.endswith("bias")]
        self.first = {id(p): torch.zeros_like(p) for p in self.parameters}
        self.second = {id(p): torch.zeros_like(p) for p in self.parameters} if setting.optimiser == "adam" else {}
        self.counts = {id(p): torch.zeros((), device=device) for p in self.parameters}
        self.images = images[: setting.size]
        self.targets = torch.zeros(groups, setting.size, dtype=torch.int64, device=device)
        self.order = torch.arange(setting.size, device=device).repeat(groups, 1)
        self.at = torch.zeros((), dtype=torch.int64, device=device)
        self.rate = torch.zeros((), device=device)
        self.within = torch.arange(setting.batch, device=device)
        self.right = torch.zeros(groups, device=device)
        self.steps = setting.size // setting.batch
        self.graph: torch.cuda.CUDAGraph | None = None

    def random(self, *shape: int) -> Tensor:
        return torch.rand(shape, device=self.device, generator=self.generator)

    def augment(self, x: Tensor) -> Tensor:
        """Shifts up to a tenth, turns, flips; what comes in from outside repeats the border, as Keras does."""
        n, turn = len(x), self.setting.rotation * np.pi / 180
        angle = (2 * self.random(n) - 1) * turn
        flip = 1 - 2 * (self.random(n) < 0.5).float()
        shift = (2 * self.random(n, 2) - 1) * 0.2  # a tenth of the width, in coordinates from -1 to 1
        cos, sin = torch.cos(angle), torch.sin(angle)
        matrix = torch.stack(
            [torch.stack([cos * flip, -sin, shift[:, 0]], 1), torch.stack([sin * flip, cos, shift[:, 1]], 1)], 1
        )
        grid = F.affine_grid(matrix, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    def step(self) -> None:
        rows = self.order[:, self.at + self.within]
        self.at += self.setting.batch
        x = self.images[rows.flatten()].float() * self.setting.scale
        if self.setting.augmented:
            x = self.augment(x)
        if self.groups > 1:
            x = x.unflatten(0, (self.groups, -1)).transpose(0, 1).flatten(1, 2)
        x = x.contiguous(memory_format=torch.channels_last)
        half = self.half and self.device == "cuda"
        with torch.autocast(self.device, dtype=torch.bfloat16, cache_enabled=False, enabled=half):
            out = self.network(x)
        out = out.float().reshape(-1, out.shape[-1])
        wanted = self.targets.gather(1, rows)
        loss = F.cross_entropy(out, wanted.flatten(), reduction="sum") / self.setting.batch
        gradients = dict(zip(map(id, self.parameters), torch.autograd.grad(loss, self.parameters), strict=True))
        with torch.no_grad():
            self.right += (out.argmax(dim=1).view_as(wanted) == wanted).sum(dim=1)
            for parameters, decay in ((self.kernels, 2 * self.setting.l2), (self.others, 0.0)):
                self.update(parameters, [gradients[id(p)] for p in parameters], decay)

    def update(self, parameters: list[Tensor], gradients: list[Tensor], decay: float) -> None:
        first = [self.first[id(p)] for p in parameters]
        gradients = [
            g.contiguous(memory_format=torch.channels_last) if g.ndim == 4 else g.contiguous() for g in gradients
        ]
        if self.setting.optimiser == "sgd":
            torch._fused_sgd_(
                parameters, gradients, first if self.setting.momentum else [], weight_decay=decay,
                momentum=self.setting.momentum, lr=self.rate, dampening=0.0, nesterov=False, maximize=False,
                is_first_step=False,
            )  # fmt: skip
        else:
            counts = [self.counts[id(p)] for p in parameters]
            torch._foreach_add_(counts, 1)
            torch._fused_adam_(
                parameters, gradients, first, [self.second[id(p)] for p in parameters], [], counts, lr=self.rate,
                beta1=0.9, beta2=0.999, weight_decay=decay, eps=1e-7, amsgrad=False, maximize=False,
            )  # fmt: skip

    def prepare(self, stream: torch.cuda.Stream | None) -> None:
        """Turn a step into a graph."""
        self.network.train()
        if stream is None:
            return
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.at.zero_()
                self.step()
        torch.cuda.synchronize()
        torch._C._cuda_clearCublasWorkspaces()  # else graphs that run side by side would share one
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.generator)
        with torch.cuda.graph(self.graph, stream=stream):
            self.step()
        torch._C._cuda_clearCublasWorkspaces()

    @torch.no_grad()
    def begin(self, targets: list[np.ndarray], seeds: list[int]) -> None:
        """Networks as new."""
        self.generator.manual_seed(seeds[0])
        places = self.network.state_dict()
        for g, seed in enumerate(seeds):
            for name, value in self.setting.build(torch.Generator().manual_seed(seed)).state_dict().items():
                places[name].view(self.groups, *value.shape)[g].copy_(value)
            self.targets[g].copy_(torch.as_tensor(targets[g].astype(np.int64)))
        for t in (*self.first.values(), *self.second.values(), *self.counts.values()):
            t.zero_()

    def begin_epoch(self, rate: float) -> None:
        self.rate.fill_(rate)
        for order in self.order:
            order.copy_(torch.randperm(self.setting.size, device=self.device, generator=self.generator))
        self.at.zero_()
        self.right.zero_()

    def go(self, steps: int) -> None:
        for _ in range(steps):
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()

    @torch.no_grad()
    def predict(self, g: int, images: list[Tensor]) -> list[np.ndarray]:
        """What the g-th network says of each set of images."""
        if self.groups > 1:
            places = self.network.state_dict()
            for name, value in self.single.state_dict().items():
                value.copy_(places[name].view(self.groups, *value.shape)[g])
        self.single.eval()
        found = []
        for x in images:
            out = []
            for part in x.split(2500):
                y = (part.float() * self.setting.scale).contiguous(memory_format=torch.channels_last)
                out.append(self.single(y).argmax(dim=1).to(torch.uint8))
            found.append(torch.cat(out).cpu().numpy())
        self.single.train()
        return found


def on(stream: torch.cuda.Stream | None) -> contextlib.AbstractContextManager:
    return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


class Pool:
    """All trainings, ready to run, and what has become of them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cudnn.benchmark = self.device == "cuda"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        self.data = Data(args.data, self.device)
        say(f"{self.device}; {sorted(self.data.ready)}")
        self.settings = {k: s for k, s in settings().items() if k in self.plan().get("settings", [k])}
        if args.limit:
            for name, images in self.data.images.items():
                images |= {part: images[part][: args.limit] for part in ("val", "test")}
                self.data.labels[name] = {k: y[: args.limit] for k, y in self.data.labels[name].items()}
            self.settings = {
                k: dataclasses.replace(s, size=min(s.size, args.limit), batch=min(s.batch, args.limit))
                for k, s in self.settings.items()
            }
        self.trainings: dict[str, list[Training]] = {}
        lanes, urgent = len(self.plan()["lanes"]), self.plan().get("urgent", [])
        cuda = self.device == "cuda"
        self.streams = [
            [torch.cuda.Stream(priority=-1 if i in urgent else 0) if cuda else None for _ in RATES]
            for i in range(lanes)
        ]
        aside = torch.cuda.Stream() if cuda else None
        self.lock, self.begun, self.busy = threading.Lock(), set(), set()
        for name, s in self.settings.items():
            torch.backends.cudnn.benchmark = cuda and s.family != "mobilenet"  # takes 20 s there
            # Six in one: 1.4 to 1.6 times as fast as six streams for ResNets without regularisation, the same with it.
            groups = len(RATES) if s.family == "resnet" else 1
            began = time.monotonic()
            try:
                made = [
                    Training(s, self.data.images[s.data]["train"], self.device, groups, s.half)
                    for _ in range(len(RATES) // groups)
                ]
                for t in made:
                    t.prepare(aside)
                seconds = self.time(made) if cuda else 1.0
            except Exception as e:
                say(f"{name} failed: {type(e).__name__}: {e}")
                continue
            self.trainings[name] = made
            say(f"{name}: made in {time.monotonic() - began:.1f} s; an epoch {seconds:.2f} s")
        torch.backends.cudnn.benchmark = False
        if cuda:
            say(f"{torch.cuda.memory_reserved() / 2**30:.1f} GiB")

    def plan(self) -> dict:
        return json.loads(self.args.plan.read_text())

    def time(self, trainings: list[Training], steps: int = 32) -> float:
        """Seconds an epoch of all rates takes when nothing else runs."""
        for t in trainings:
            t.rate.zero_()
            t.at.zero_()
        torch.cuda.synchronize()
        began = time.monotonic()
        for _ in range(steps // 8):
            for t, stream in zip(trainings, self.streams[0], strict=False):
                with on(stream):
                    t.go(8)
                    t.at.zero_()
        torch.cuda.synchronize()
        return (time.monotonic() - began) / steps * trainings[0].steps

    def usable(self, name: str) -> bool:
        s = settings()[name]
        return (s.data, s.size) in self.data.ready and name in self.trainings and name not in self.busy

    def lane(self, number: int) -> None:
        """Work through one lane of the plan until the deadline."""
        while True:
            try:
                plan = self.plan()
            except ValueError:  # just being written
                time.sleep(0.2)
                continue
            now = time.monotonic() - STARTED
            with self.lock:
                jobs = plan["lanes"][number] if number < len(plan["lanes"]) else []
                left = [j for j in jobs if tuple(j[:2]) not in self.begun]
                job = next((j for j in left if self.usable(j[0])), None)
                if job is not None and now < plan["deadline"]:
                    self.begun.add(tuple(job[:2]))
                    self.busy.add(job[0])
            if now >= plan["deadline"] or (not left and not plan.get("wait", False)):
                return
            if job is None:
                time.sleep(0.5)
                continue
            try:
                self.train(*job, self.streams[number])
            except Exception as e:
                say(f"{job} failed: {type(e).__name__}: {e}")
            with self.lock:
                self.busy.discard(job[0])

    def train(self, name: str, seed: int, most: int, budget: float, streams: list) -> None:
        """All rates of one network at once, for as many epochs as fit into the seconds, `most` at most."""
        setting = self.settings[name]
        labels, images = self.data.labels[setting.data], self.data.images[setting.data]
        clean = labels["train_y"][: setting.size]
        targets = [noisy(clean, rate, seed) for rate in RATES]
        groups = self.trainings[name][0].groups
        runs = list(zip(self.trainings[name], range(0, len(RATES), groups), streams, strict=False))
        for t, i, stream in runs:
            with on(stream):
                seeds = [1000 * seed + round(10 * rate) for rate in RATES]
                t.begin(targets[i : i + groups], seeds[i : i + groups])
        say(f"{name} seed {seed} begins, {most} epochs at most, {budget:.0f} s")
        running, looks, rates = [], {}, []
        ended = [0] * len(RATES)
        parts = {"train": images["train"][: setting.size], "val": images["val"], "test": images["test"]}
        began = time.monotonic()

        def look() -> tuple[list[dict[str, np.ndarray]], list[dict[str, float]]]:
            said = []
            for t, _, stream in runs:
                with on(stream):
                    for g in range(groups):
                        said.append(dict(zip(parts, t.predict(g, list(parts.values())), strict=True)))
            judged = []
            for i, answers in enumerate(said):
                wanted = {"pmv": ("train", targets[i]), "ptv": ("train", clean)}
                wanted |= {"val": ("val", labels["val_y"]), "test": ("test", labels["test_y"])}
                judged.append({k: round(float((answers[p] == y).mean()), 5) for k, (p, y) in wanted.items()})
            return said, judged

        steps, epochs, looking = setting.size // setting.batch, most, 0.0
        for epoch in range(most):
            rates.append(dataclasses.replace(setting, epochs=epochs).rate_at(epoch))
            alive = [(t, i, s) for t, i, s in runs if not all(ended[i : i + groups])]
            for t, _, stream in alive:
                with on(stream):
                    t.begin_epoch(rates[-1])
            for done in range(0, steps, 8):
                for t, _, stream in alive:
                    with on(stream):
                        t.go(min(8, steps - done))
            row = [1.0] * len(RATES)
            for t, i, stream in alive:
                with on(stream):
                    row[i : i + groups] = [round(v / (steps * setting.batch), 4) for v in t.right.tolist()]
            running.append(row)
            spent = time.monotonic() - began - looking
            if epoch + 1 in LOOKS:
                looks[epoch + 1] = look()[1]
                looking = time.monotonic() - began - spent
            epochs = max(epoch + 1, min(most, int((budget - looking) / spent * (epoch + 1))))
            if epoch + 1 in LOOKS or epoch % 10 == 9:
                each = " ".join(f"{v:.3f}" for v in row)
                say(f"{name}/{seed} {epoch + 1} of {epochs}: {spent / (epoch + 1):.2f} s, {each}")
            if setting.schedule == "fixed":
                for i in range(len(RATES)):
                    if epoch and not ended[i] and min(running[-1][i], running[-2][i]) >= 0.9995:
                        ended[i] = epoch + 1
                if all(ended) or time.monotonic() - STARTED > self.plan()["deadline"]:
                    break
            if epoch + 1 >= epochs:
                break
        seconds = time.monotonic() - began
        found: dict[str, np.ndarray] = {}
        said, summary = look()
        for i, rate in enumerate(RATES):
            key = f"{name}/seed{seed}/rate{rate:.1f}"
            found[f"{key}/targets"] = targets[i].astype(np.uint8)
            found |= {f"{key}/{part}": values for part, values in said[i].items()}
            summary[i]["epochs"] = len(running) if groups > 1 else ended[i] or len(running)
        record = {
            "setting": vars(setting) | {"epochs": len(running)}, "seconds": round(seconds, 1), "running": running,
            "looks": looks, "rates": rates, "groups": groups, "bfloat16": runs[0][0].half,
            "summary": dict(zip(RATES, summary, strict=True)),
        }  # fmt: skip
        found[f"{name}/seed{seed}/record"] = np.array(json.dumps(record))
        part = self.args.out / f".{name}-seed{seed}.part.npz"
        np.savez_compressed(part, **found)
        os.replace(part, self.args.out / f"{name}-seed{seed}.npz")
        k = {m: np.polyfit(RATES, [s[m] for s in summary], 1)[0] for m in ("pmv", "ptv")}
        lines = [
            f"   {r}  " + " ".join(f"{m} {v:.4f}" for m, v in s.items()) for r, s in zip(RATES, summary, strict=True)
        ]
        head = f"{name} seed {seed}: {len(running)} epochs in {seconds:.1f} s, k {k['pmv']:.4f}, PTV {k['ptv']:.4f}"
        say("\n".join([head, *lines]))


def merge(out: Path, to: Path) -> None:
    """All that is finished, in one file."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(out.glob("[a-z]*-seed*.npz")):
        with np.load(path) as f:
            found |= {k: f[k] for k in f.files}
    np.savez_compressed(to, **found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--limit", type=int, help="no more images than this (for trying things out)")
    parser.add_argument("--pack", action="store_true", help="write the three parts of DATA/cifar10.npz to OUT")
    parser.add_argument("--merge", type=Path, help="put what is finished in OUT into one file, and stop")
    args = parser.parse_args()
    if args.pack:
        return pack(args.data, args.out)
    if args.merge:
        return merge(args.out, args.merge)
    args.out.mkdir(parents=True, exist_ok=True)
    pool = Pool(args)
    lanes = [threading.Thread(target=pool.lane, args=(i,)) for i in range(len(pool.streams))]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    say("done")
    return None


if __name__ == "__main__":
    main()
