"""Train the pool at the rates of label noise, many networks side by side on one GPU, and take the curves.

python experiments/pavlitskaya/train.py DATA OUT --plan plan.json [--corrupted pictures.npy]
python experiments/pavlitskaya/train.py DATA OUT --plan plan-seeds.json --store results --minutes 24 --pool pool.npz

DATA holds mnist.npz and cifar10.npz, or instead of it the batches that ../werpachowski/cifar10/pictures.py unpacks or
the three parts that `--pack` makes. Nothing but torch, numpy and Pillow is needed, and Triton for VGGs and ResNets on a
GPU. Each training is a CUDA graph of one step; all graphs are made first, and the images may come later: a network is
begun once the images it needs are there.

The plan says what is trained, in lanes that run side by side, and is read anew all the time, so that it can be changed
on the way: {"deadline": seconds, "lanes": [[job, ...], ...], "also": [[network, rates], ...]}, or with
"queue": [job, ...], "beside": 4 instead of lanes, of which every lane takes the next. A job is
[network, seed, epochs, seconds] or [network, seed, epochs, seconds, options]; the options are "rates" (of label noise;
all six by default), "rate" (the learning rate), "label" (added to the network's name in the results), "curves"
(whether to take them; by default, of seed 0) and "engine" ("plain": each network by itself where fused.py would have
them as one; "float32": that, and float32 throughout, without TF32; either needs a label). Instead of a seed there may
be a list of them, which train at once: of small batches three seeds take less than three times as long as one. "also"
names networks to make ready for jobs that may come later, with how many of each there are.

The networks of a job train at once: each on a stream of its own or, VGGs and ResNets on a GPU, as one (fused.py). It
gets as many epochs as fit into its seconds, and its schedule is squeezed into them (the learning rates used are kept).
Networks of a fixed learning rate also stop at the deadline, and when their labels are fitted (99.95 % of them in two
epochs running; those that are trained as one go on until the last of them fits). Where a job's seconds are null it gets
all of its epochs or none: it is not begun where, at the pace of those before it, it would not end before the deadline,
and given up where it does not.

Seeds that the pool files of --store have, or OUT, are left out. Kept of every seed, in OUT/<network>-seed<n>.npz: the
labels it was trained on, what the finished network says of its training, its validation and the test images, and the
curves of the one without noise; README.md names the keys. --pool is all that is finished in OUT in one file, written
anew after every job. The weights of the network without noise, where they are few, go to OUT/weights.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[2]))
import trained
from data import Data, digest, noisy, pack
from evaluate import IMAGES, accuracies, curves, right
from jobs import Job, Place
from networks import Setting, settings
from torch import Tensor
from trained import FITTED
from training import Training

from experiments.graphs import on

# Times as long as by itself an epoch takes beside another network, while nothing is known. Two side by side are hardly
# faster than one after the other (6 % with ResNet C1, which took 3.2 times as long, and VGG C1, 1.3 times), and nobody
# can tell when they end: so plan-seeds.json has one.
PACE = {"resnet": 3.2}
OTHERS = 2.1  # of other families: VGG C5 and C7 beside each other
MARGIN, ALONE = 1.15, 1.03  # of the expected seconds, beside others and by itself
LAST = 8.0  # seconds for the curves of a seed
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:7.1f}  {text}", flush=True)


@contextlib.contextmanager
def rounded(tf32: bool) -> Iterator[None]:
    """Whether products of float32 numbers may take TF32's, while it lasts."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


class Run:
    """One job on its way: its trainings, each with the number of its first network and its stream."""

    def __init__(self, job: Job, setting: Setting, trainings: list[Training], streams: list, data: Data) -> None:
        self.job, self.setting = job, setting
        self.labels, images = data.labels[setting.data], data.images[setting.data]
        self.clean = self.labels["train_y"][: setting.size]
        self.targets = [noisy(self.clean, rate, seed) for seed, rate in job.networks]
        self.parts = {"train": images["train"][: setting.size], "val": images["val"], "test": images["test"]}
        self.groups = trainings[0].groups
        first = range(0, len(job.networks), self.groups)
        self.trainings = list(zip(trainings, first, streams, strict=False))
        self.running: list[list[float]] = []  # accuracy while training, a row an epoch
        self.ended = [0] * len(job.networks)
        seeds = [1000 * seed + round(10 * rate) for seed, rate in job.networks]
        for t, i, stream in self.trainings:
            with on(stream):
                t.begin(self.targets[i : i + self.groups], seeds[i : i + self.groups])

    def epoch(self, rate: float) -> None:
        steps = self.setting.size // self.setting.batch
        alive = [(t, i, s) for t, i, s in self.trainings if not all(self.ended[i : i + self.groups])]
        for t, _, stream in alive:
            with on(stream):
                t.begin_epoch(rate)
        for done in range(0, steps, 8):
            for t, _, stream in alive:
                with on(stream):
                    t.go(min(8, steps - done))
        row = [1.0] * len(self.ended)
        for t, i, stream in alive:
            with on(stream):
                row[i : i + self.groups] = [round(v / (steps * self.setting.batch), 4) for v in t.right.tolist()]
        self.running.append(row)
        if self.setting.schedule == "fixed" and len(self.running) > 1:
            for i, (before, now) in enumerate(zip(*self.running[-2:], strict=True)):
                if not self.ended[i] and min(before, now) >= FITTED:
                    self.ended[i] = len(self.running)

    def look(self) -> tuple[list[dict[str, np.ndarray]], list[dict[str, float]]]:
        """What each network says of all images, and how much of it is right."""
        said = []
        for t, _, stream in self.trainings:
            with on(stream):
                for g in range(self.groups):
                    said.append(dict(zip(self.parts, t.predict(g, list(self.parts.values())), strict=True)))
        judged = []
        for i, answers in enumerate(said):
            wanted = {"pmv": ("train", self.targets[i]), "ptv": ("train", self.clean)}
            wanted |= {"val": ("val", self.labels["val_y"]), "test": ("test", self.labels["test_y"])}
            judged.append({k: round(float((answers[p] == y).mean()), 5) for k, (p, y) in wanted.items()})
        return said, judged

    def curves(
        self, number: int, corrupted: Tensor | None
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float]:
        """Of a network without noise: the curves, its weights, and how often it says the same with these."""
        t, first, stream = self.trainings[number // self.groups]
        with on(stream), t.finished(number - first) as network:
            x = self.parts["train"][:IMAGES]
            y = torch.as_tensor(self.clean[:IMAGES].astype(np.int64), device=x.device)
            found = curves(network, self.setting.scale, x, y, corrupted)
            kept = {
                k: v.cpu().numpy().astype(np.float32 if "running" in k else np.float16)
                for k, v in network.state_dict().items()
            }
            before = right(network, self.setting.scale, x, y)
            with torch.no_grad():  # the training is over
                for k, v in network.state_dict().items():
                    v.copy_(torch.as_tensor(kept[k]))
            same = (right(network, self.setting.scale, x, y) == before).float().mean().item()
        return found, kept, same


class Pool:
    """All trainings, ready to run, and what has become of them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        self.data = Data(args.data, self.device)
        say(f"{self.device}; {sorted(self.data.ready)}")
        self.settings = settings()
        if args.limit:
            self.data.cut(args.limit)
            self.settings = {
                k: dataclasses.replace(s, size=min(s.size, args.limit), batch=min(s.batch, args.limit))
                for k, s in self.settings.items()
            }
        self.lock, self.begun, self.busy = threading.Lock(), set(), set()
        self.writing = threading.Lock()
        self.alone: dict[Place, float] = {}  # seconds of an epoch that nothing else runs beside
        self.paces: dict[tuple[str, tuple[int, ...]], float] = {}  # of the latest jobs, how many times as long it takes
        stored = [*args.out.glob("[a-z]*-seed*.npz"), *(args.store.glob("pool-*.npz") if args.store else ())]
        self.kept = [t for path in stored for t in trained.read(path)]
        self.known: dict[Job, Job | None] = {}  # what is left of it
        self.corrupted: Tensor | None = None
        self.pictures = ""  # which these are
        self.trainings: dict[Place, list[Training]] = {}
        self.agreements: dict[str, dict[str, list[float]]] = {}
        self.make()

    def make(self) -> None:
        """The trainings that the plan asks for; all graphs before anything runs."""
        plan = self.plan()
        jobs = self.jobs(plan)
        say(f"{len(jobs)} jobs of the plan are left")
        counts: dict[Place, int] = {}
        also = [(self.place(name, networks), networks) for name, networks in plan.get("also", [])]
        for place, networks in [(self.place_of(j), len(j.networks)) for j in jobs] + also:
            counts[place] = max(counts.get(place, 0), networks // place.groups)
        lanes = plan["beside"] if "queue" in plan else len(plan["lanes"])
        self.streams = [[self.stream() for _ in range(max(counts.values(), default=1))] for _ in range(lanes)]
        cuda = self.device == "cuda"
        aside = self.stream()
        for place, count in sorted(counts.items(), key=lambda c: list(self.settings).index(c[0].network)):
            name, s = f"{place.network} {place.engine}".rstrip(), self.settings[place.network]
            began = time.monotonic()
            try:
                images = self.data.images[s.data]["train"]
                if self.fused(place):
                    self.check(s, images)
                torch.backends.cudnn.benchmark = cuda and s.family != "mobilenet"  # 20 s there, and as long in `check`
                with rounded(place.engine != "float32"):
                    kind, half = self.kind(place), self.half(place)
                    made = [kind(s, images, self.device, place.groups, half) for _ in range(count)]
                    for t in made:
                        t.prepare(aside)
                seconds = self.time(made) if cuda else 1.0
            except Exception as e:
                say(f"{name} failed: {type(e).__name__}: {e}")
                continue
            finally:
                torch.backends.cudnn.benchmark = False
            self.trainings[place], self.alone[place] = made, seconds
            made_in = time.monotonic() - began
            say(f"{name} x {place.groups} x {count}: made in {made_in:.1f} s; an epoch {seconds:.2f} s")
        if cuda:
            say(f"{torch.cuda.memory_reserved() / 2**30:.1f} GiB")

    def check(self, setting: Setting, images: Tensor) -> None:
        """Refuse kernels whose gradients are much further from float32's than those of plain networks in bfloat16."""
        from agreement import agreement, summary

        layers = [(s.family, s.regularised, s.fat) for s in (setting, *map(self.settings.get, self.agreements))]
        told = next((t for t, k in zip(self.agreements.values(), layers[1:], strict=True) if k == layers[0]), None)
        if told is None:
            with rounded(False):
                mine, plain, along, plain_along = agreement(setting, images, self.device, setting.half)
            told = summary(mine, plain, along, plain_along)
            worse = [f"{k} {mine[k]:.3g} ({plain[k]:.3g})" for k in mine if not mine[k] <= 3 * plain[k] + 0.02]
            # Of regularised VGGs bfloat16 is so far from float32 that a gradient of 0 would pass; but at least 0.61 of
            # each one is along float32's (plain networks C5 and C7, two seeds, on a processor).
            worse += [f"{k} {along[k]:.3g} along ({plain_along[k]:.3g})" for k in along
                      if not along[k] >= 0.5 * plain_along[k]]  # fmt: skip
            if worse or not told["ours"][0] <= 1.5 * told["plain"][0]:
                raise RuntimeError(f"gradients differ too much from float32's: {told}; {', '.join(worse)}")
        self.agreements[setting.name] = told

    def place(self, name: str, networks: int, engine: str = "") -> Place:
        """With kernels of our own (fused.py) all networks of a job are trained as one."""
        return Place(name, networks if self.fused(Place(name, 1, engine)) else 1, engine)

    def place_of(self, job: Job) -> Place:
        return self.place(job.network, len(job.networks), job.engine)

    def fused(self, place: Place) -> bool:
        ours = self.settings[place.network].family in ("resnet", "vgg")
        return self.device == "cuda" and ours and not place.engine

    def half(self, place: Place) -> bool:
        """Whether its passes are in bfloat16."""
        return self.device == "cuda" and self.settings[place.network].half and place.engine != "float32"

    def agreed(self, place: Place) -> dict[str, list[float]] | None:
        """How far its gradients are from float32's; of networks that are not trained by fused.py None."""
        return self.agreements.get(place.network) if self.fused(place) else None

    def kind(self, place: Place) -> type[Training]:
        if not self.fused(place):
            return Training
        from fused import KINDS  # Triton is where a GPU is

        return KINDS[self.settings[place.network].family]

    def stream(self) -> torch.cuda.Stream | None:
        return torch.cuda.Stream() if self.device == "cuda" else None

    def plan(self) -> dict:
        plan = json.loads(self.args.plan.read_text())
        if self.args.minutes is not None:
            plan["deadline"] = 60 * self.args.minutes
        return plan

    def jobs(self, plan: dict, lane: int | None = None) -> list[Job]:
        """All jobs, or those of a lane; without those that are done."""
        lanes = [plan["queue"]] if "queue" in plan else plan["lanes"]
        if lane is not None and "queue" not in plan:
            lanes = lanes[lane : lane + 1]
        found = [Job.read(row) for rows in lanes for row in rows]
        for job in found:
            if job not in self.known:
                self.known[job] = job.left(self.kept, self.settings)
        left = [job for job in map(self.known.get, found) if job]
        return [j for j in left if not self.args.only or j.network in self.args.only]

    def now(self, job: Job) -> Job:
        """The job as the plan has it now."""
        return next((j for j in self.jobs(self.plan()) if j.key == job.key), job)

    def fits(self, job: Job, deadline: float) -> bool:
        """Whether a job can be done; one that gets all of its epochs must have had them before the deadline."""
        place = self.place_of(job)
        if place not in self.alone or job.seconds is not None:
            return place in self.alone
        family = self.settings[job.network].family
        paces = [p for (name, _), p in list(self.paces.items()) if name.startswith(family)]
        beside = len(self.streams) > 1
        pace = sum(paces) / len(paces) if paces else PACE.get(family, OTHERS) if beside else 1.0
        seconds = (MARGIN if beside else ALONE) * pace * self.alone[place] * job.epochs + LAST * len(job.seeds)
        return time.monotonic() - STARTED + seconds < deadline

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

    def usable(self, job: Job) -> bool:
        s = settings()[job.network]
        made = self.trainings.get(self.place_of(job), [])
        enough = sum(t.groups for t in made) >= len(job.networks)
        return enough and (s.data, s.size) in self.data.ready and job.network not in self.busy

    def lane(self, number: int) -> None:
        """Work through one lane of the plan until the deadline."""
        while True:
            plan, now = self.plan(), time.monotonic() - STARTED
            with self.lock:
                left = [j for j in self.jobs(plan, number) if j.key not in self.begun]
                left = [j for j in left if self.fits(j, plan["deadline"])]
                job = next((j for j in left if self.usable(j)), None)
                if job is not None and now < plan["deadline"]:
                    self.begun.add(job.key)
                    self.busy.add(job.network)
            if now >= plan["deadline"] or (not left and not plan.get("wait", False)):
                return
            if job is None:
                time.sleep(0.5)
                continue
            try:
                self.train(job, self.streams[number])
                if self.args.pool:
                    with self.writing:
                        gather(self.args.out, self.args.pool)
            except Exception as e:
                say(f"{job} failed: {type(e).__name__}: {e}")
            with self.lock:
                self.busy.discard(job.network)

    def train(self, job: Job, streams: list) -> None:
        """All networks of one job at once, for as many epochs as fit into its seconds."""
        setting = job.setting(self.settings)
        place = self.place_of(job)
        run = Run(job, setting, self.trainings[place], streams, self.data)
        title, whole = job.title, job.seconds is None
        say(f"{title} begins, {job.epochs} epochs" + ("" if whole else f" at most, {job.seconds:.0f} s"))
        rates, done = [], 0
        began, epochs = time.monotonic(), job.epochs
        while done < epochs and not all(run.ended):
            rates.append(dataclasses.replace(setting, epochs=epochs).rate_at(done))
            run.epoch(rates[-1])
            done += 1
            spent = time.monotonic() - began
            self.paces[job.key] = spent / done / max(self.alone[place], 1e-9)
            job = self.now(job)
            if not whole:
                epochs = max(done, min(job.epochs, int(job.seconds / spent * done)))
            if done % 10 == 0:
                each = " ".join(f"{v:.3f}" for v in run.running[-1])
                say(f"{title} {done} of {epochs}: {spent / done:.2f} s, {each}")
            late = done < epochs and time.monotonic() - STARTED > self.plan()["deadline"]
            if late and whole:
                say(f"{title} is given up after {done} of {epochs} epochs: time is up")
                return
            if late and setting.schedule == "fixed":
                break
        seconds = time.monotonic() - began
        say(f"{title}: {done} epochs in {seconds:.1f} s")
        with rounded(job.engine != "float32"):
            said, judged = run.look()
        for i, ended in enumerate(run.ended):
            judged[i]["epochs"] = done if run.groups > 1 else ended or done
        record = {
            "setting": vars(setting) | {"epochs": done}, "seconds": round(seconds, 1), "rates": rates,
            "groups": run.groups, "bfloat16": run.trainings[0][0].half, "fgsm": "margin",
            "fused": self.agreed(place), "engine": job.engine,
        }  # fmt: skip
        each = len(job.rates)
        for number, seed in enumerate(job.seeds):
            own = slice(number * each, (number + 1) * each)
            found: dict[str, np.ndarray] = {}
            for rate, targets, answers in zip(job.rates, run.targets[own], said[own], strict=True):
                key = f"{job.name}/seed{seed}/rate{rate:.1f}"
                found[f"{key}/targets"] = targets.astype(np.uint8)
                found |= {f"{key}/{part}": values for part, values in answers.items()}
            summary = dict(zip(job.rates, judged[own], strict=True))
            mine = record | {"running": [row[own] for row in run.running], "summary": summary}
            self.keep(job.name, seed, found, mine)
            self.tell(f"{job.name}/{seed}", summary)
            if job.curves and job.rates[0] == 0:
                self.evaluate(job.name, seed, run, own.start, found, mine)

    def tell(self, title: str, summary: dict[float, dict[str, float]]) -> None:
        lines = [title]
        if len(summary) > 1:
            slopes = {m: np.polyfit(list(summary), [s[m] for s in summary.values()], 1)[0] for m in ("pmv", "ptv")}
            lines[0] += f": k {slopes['pmv']:.4f}, PTV {slopes['ptv']:.4f}"
        lines += [f"   {rate}  " + " ".join(f"{m} {v:.4f}" for m, v in s.items()) for rate, s in summary.items()]
        say("\n".join(lines))

    def evaluate(self, name: str, seed: int, run: Run, number: int, found: dict[str, np.ndarray], record: dict) -> None:
        """The curves of a network of the run, beside what else was found of its seed."""
        began = time.monotonic()
        corrupted = self.corruptions() if run.setting.data == "cifar" else None
        waited = time.monotonic() - began
        bits, weights, same = run.curves(number, corrupted)
        if corrupted is not None:
            record["corrupted"] = self.pictures
        found |= {f"{name}/seed{seed}/curves/{k}": v for k, v in bits.items()}
        record["float16_same"] = round(same, 5)
        self.keep(name, seed, found, record)
        if run.setting.family in ("resnet", "lenet"):
            (self.args.out / "weights").mkdir(exist_ok=True)
            np.savez_compressed(self.args.out / "weights" / f"{name}-seed{seed}.npz", **weights)
        seconds = time.monotonic() - began
        lines = [f"{name}/{seed} curves in {seconds:.1f} s ({waited:.1f} waited), float16 same {same:.4f}"]
        for k, v in bits.items():
            share = accuracies(v, min(IMAGES, run.setting.size))
            lines.append(
                f"   {k} " + " ".join(f"{a:.3f}" for a in np.atleast_1d(share.mean(axis=0) if v.ndim > 2 else share))
            )
        say("\n".join(lines))

    def corruptions(self) -> Tensor | None:
        """The corrupted pictures, once they are there; None where they do not come."""
        path = self.args.corrupted
        while path is not None and not path.exists() and time.monotonic() - STARTED < self.args.patience:
            time.sleep(0.5)
        with self.lock:
            if self.corrupted is None and path is not None and path.exists():
                pictures = np.load(path)
                self.pictures = digest(pictures)
                self.corrupted = torch.as_tensor(pictures, device=self.device)
                if self.device == "cuda":
                    torch.cuda.current_stream().synchronize()
            return self.corrupted

    def keep(self, name: str, seed: int, found: dict[str, np.ndarray], record: dict) -> None:
        found[f"{name}/seed{seed}/record"] = np.array(json.dumps(record))
        part = self.args.out / f".{name}-seed{seed}.part.npz"
        np.savez_compressed(part, **found)
        os.replace(part, self.args.out / f"{name}-seed{seed}.npz")


def gather(out: Path, to: Path, *, named: bool = False) -> None:
    """All files of a folder in one, whole or not at all; `named`: under the network and seed of the file's name."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(out.glob("[a-z]*-seed*.npz")):
        name, seed = path.stem.rsplit("-", 1)
        with np.load(path) as f:
            found |= {(f"{name}/{seed}/{k}" if named else k): f[k] for k in f.files}
    part = to.with_name(f".{to.stem}.part.npz")
    np.savez_compressed(part, **found)
    os.replace(part, to)


def merge(out: Path, to: Path) -> None:
    """All that is finished, in one file; the weights in another beside it."""
    gather(out, to)
    gather(out / "weights", to.with_name(f"weights-{to.name}"), named=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--corrupted", type=Path, help="what corrupted.py makes; waited for")
    parser.add_argument("--patience", type=float, default=400.0, help="seconds after the start to wait for it at most")
    parser.add_argument("--limit", type=int, help="no more images than this (for trying things out)")
    parser.add_argument("--pack", action="store_true", help="write the three parts of DATA/cifar10.npz to OUT")
    parser.add_argument("--store", type=Path, help="folder of pool files whose trainings are left out")
    parser.add_argument("--minutes", type=float, help="instead of the plan's deadline")
    parser.add_argument("--only", nargs="+", help="these networks of the plan: graphs of the others are not made")
    parser.add_argument("--pool", type=Path, help="put what is finished in OUT into this file after every job")
    parser.add_argument("--merge", type=Path, help="put what is finished in OUT into one file, and stop")
    args = parser.parse_args(argv)
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
    rest = [j.title for j in pool.jobs(pool.plan()) if j.key not in pool.begun]
    say("done" + (f"; not begun: {', '.join(rest)}" if rest else ""))
    return None


if __name__ == "__main__":
    main()
