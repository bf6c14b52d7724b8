"""A random search of small networks on CIFAR-10, with checkpoints: figure 3 of the paper, section 5.2 and appendix D.

    python experiments/mania/search.py probe --data DATA
    python experiments/mania/search.py run --data DATA --out OUT --store experiments/mania/results --minutes 9 --lanes 0

DATA as in experiments/werpachowski/cifar10 (cifar10.npz, or the batches that pictures.py unpacks). Needs torch and
numpy only. Network i of the search has the setting that seed i draws; networks of the store are left out. OUT gets one
file, search-<time>-<number>.npz, written anew after each network; moved into the store, it is what later runs go on
from, and what pools.py reads.

The grid is that of table 2; ours has residual networks of 8 to 20 layers (bottlenecks: 11 to 29) instead of 110, four
times as large batches, 15 epochs, and points of decay as shares of these. Adam has the learning rates of the others, as
there: much of the search fails, and checkpoints below 50 % are left out by pools.py.

64 networks of 15 epochs are 200,000 steps of a few hundred kernels, most of which are too small to fill a GPU: by
itself a step took two to four milliseconds on an H200. So a step is one CUDA graph, and several networks run side by
side on streams of one process, which one thread feeds: whichever is about to run dry gets its next steps. (Processes
would take turns on the GPU.) The longest are begun first, and none is begun that would not end in time at the pace of
those before it; at the limit what is not done is given up. Eight side by side, all 64 took twelve minutes.

`probe` takes half a minute: it holds captured steps against the same steps uncaptured (they gave the same bits), times
the dearest and the cheapest setting, finds how many networks to run side by side, and says how long the whole search
would take. `run` with --lanes 0 does so first and goes on with what was found, or ends where captured steps are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from experiments.mania.trainings import CLASSES, Data, Training, drawn, guess
from experiments.werpachowski.cifar10 import pictures, store

CHUNK = 32  # steps that a network gets at once: enough to do while the next network is made
MARGIN = 1.2  # of the pace: some networks are slower than the guess, for their kind
FEWEST = 100  # steps before a running network tells of the pace
STARTED = time.monotonic()  # one clock for everything


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:7.1f}  {text}", flush=True)


def spent() -> float:
    return time.monotonic() - STARTED


# --- the store ---------------------------------------------------------------------------------------


def records(folder: Path | None) -> dict[int, dict[str, Any]]:
    """Of every network in the store, by seed."""
    found: dict[int, dict[str, Any]] = {}
    for path in sorted(folder.glob("search-*.npz")) if folder else ():
        with np.load(path) as f:
            for key in (k for k in f.files if k.endswith("/record")):
                found[int(key.split("/")[0].removeprefix("model"))] = json.loads(str(f[key]))
    return found


def left(models: int, epochs: int, folder: Path | None) -> list[int]:
    """Seeds that are not in the store; an error where that has another length of training."""
    there = records(folder)
    if other := sorted({r["epochs"] for r in there.values()} - {epochs}):
        raise SystemExit(
            f"{folder} has networks of {other[0]} epochs, not {epochs}: --epochs {other[0]} goes on there."
        )
    return [seed for seed in range(models) if seed not in there]


# --- the search --------------------------------------------------------------------------------------


@dataclass
class Pace:
    """Seconds that a guessed second takes, side by side with others."""

    guessed: float = 0.0
    took: float = 0.0

    def add(self, guessed: float, took: float) -> None:
        self.guessed, self.took = self.guessed + guessed, self.took + took

    def with_running(self, running: list[Training]) -> float:
        """Of the finished and, as far as they are, of those on their way; 1 while nothing is known."""
        guessed, took = self.guessed, self.took
        for t in running:
            if t.done >= FEWEST:
                guessed += guessed_of(t) * t.done / t.steps
                took += time.monotonic() - t.began
        return took / guessed if guessed else 1.0


def guessed_of(t: Training) -> float:
    return guess(t.setting, len(t.data.shown), t.epochs)


@dataclass
class Search:
    """Networks side by side, the longest first."""

    data: Data
    epochs: int
    lanes: int
    limit: float  # seconds on the clock
    capture: bool = True
    setting: Callable[[int], dict[str, Any]] = drawn
    clock: Callable[[], float] = spent
    pace: Pace = field(default_factory=Pace)

    def room(self, running: list[Training]) -> float:
        """Guessed seconds of a network that would just end in time."""
        return (self.limit - self.clock()) / (MARGIN * self.pace.with_running(running))

    def made(self, seed: int, stream: torch.cuda.Stream | None) -> Training:
        t = Training(seed, self.setting(seed), self.data, self.epochs, stream)
        if self.capture:
            t.capture()
        t.begin()
        return t

    def run(self, seeds: list[int]) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        """Record and answers of each network, as they end."""
        guessed = {seed: guess(self.setting(seed), len(self.data.shown), self.epochs) for seed in seeds}
        waiting = sorted(seeds, key=lambda seed: -guessed[seed])
        cuda = self.data.shown.is_cuda
        streams = [torch.cuda.Stream() if cuda else None for _ in range(self.lanes)]
        running: list[Training] = []
        while waiting or running:
            while waiting and streams:
                room = self.room(running)
                seed = next((s for s in waiting if guessed[s] < room), None)
                if seed is None:
                    break
                waiting.remove(seed)
                try:
                    running.append(self.made(seed, streams[-1]))
                except Exception as e:  # one that cannot be made shall not end the others
                    say(f"model {seed} is left out: {type(e).__name__}: {e}")
                    continue
                streams.pop()
            if not running or self.clock() > self.limit:
                break
            idle = True
            for t in list(running):
                if t.done == t.steps:
                    if t.marks and not t.marks[-1].query():
                        continue
                    running.remove(t)
                    streams.append(t.stream)
                    yield self.ended(t)
                elif t.ready():
                    t.go(CHUNK)
                    idle = False
            if idle and cuda:
                time.sleep(2e-4)
        for t in running:
            say(f"model {t.seed} is given up after {t.done} of {t.steps} steps: time is up")
        if waiting:
            say(f"not begun for want of time: {len(waiting)} networks, {sorted(waiting)}")

    def ended(self, t: Training) -> tuple[dict[str, Any], np.ndarray]:
        answers, finite, lost = t.answers()
        took = time.monotonic() - t.began
        self.pace.add(guessed_of(t), took)
        record = {
            "seed": t.seed, "setting": t.setting, "epochs": t.epochs, "steps": t.steps, "finite": finite,
            "loss": lost if np.isfinite(lost) else None, "seconds": round(took, 1), "lanes": self.lanes,
            "captured": t.graph is not None, "torch": torch.__version__,
            "accuracy": [round(float((a == self.data.labels).mean()), 4) for a in answers],
        }  # fmt: skip
        return record, answers


def keep(path: Path, found: Iterator[tuple[dict[str, Any], np.ndarray]], labels: np.ndarray) -> int:
    """Write the file anew after each network, beside the trainings; how many there are."""
    arrays: dict[str, np.ndarray] = {"labels": labels}
    writer = None
    for record, answers in found:
        distances = ((answers.astype(np.int64) - labels) % CLASSES).astype(np.uint8)
        name = f"model{record['seed']}"
        arrays |= {f"{name}/record": np.array(json.dumps(record)), f"{name}/distances": distances}
        if writer:
            writer.join()
        writer = threading.Thread(target=store.write, args=(path, dict(arrays)))
        writer.start()
        say(f"{name}: {record['seconds']:.0f} s, accuracy {record['accuracy']}")
    if writer:
        writer.join()
    return sum(key.endswith("/record") for key in arrays)


# --- how fast, and is it right -----------------------------------------------------------------------


def mild(s: dict[str, Any]) -> dict[str, Any]:
    """A learning rate at which two trainings stay together for a few steps."""
    return s | {"rate": 1e-4 if s["optimiser"] == "adam" else 0.01}


def differences(one: Training, two: Training, looks: int = 8, steps: int = 3) -> tuple[float, float, float]:
    """Between two trainings of one setting: of losses while no weight moves, and of weights after a few steps.

    The first tells whether both draw the same augmentation; the third number is how much it varies from step to step,
    beside which the first has to be small.
    """
    losses = []
    for t in (one, two):
        t.begin()
        with t.on():
            t.rates.zero_()
        losses.append([])
        for _ in range(looks):
            t.go(1)
            with t.on():
                losses[-1].append(float(t.lost))
    for t in (one, two):
        t.begin()
        for _ in range(steps):
            t.go(1)
    with one.on():
        mine = torch.cat([(p - f.to(p.device)).flatten() for p, f in moved(one)])
    with two.on():
        theirs = torch.cat([(p - f.to(p.device)).flatten() for p, f in moved(two)])
        if two.cuda:
            torch.cuda.synchronize()
        apart = float((mine - theirs).norm() / mine.norm())
    a, b = np.array(losses)
    return float(np.abs(a - b).max()), apart, float(a.std())


def moved(t: Training) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Weights now and at the start."""
    return [(p.detach(), t.fresh[name]) for name, p in t.net.named_parameters()]


def check(data: Data, seeds: list[int], epochs: int, stream: torch.cuda.Stream | None) -> bool:
    """Captured steps against the same steps uncaptured, for settings that use every part of a step."""
    good = True
    for seed in seeds:
        s = mild(drawn(seed))
        one, two = (Training(seed, s, data, epochs, stream) for _ in range(2))
        two.capture()
        lost, apart, varies = differences(one, two)
        right = lost < 0.1 * varies + 1e-3 and apart < 0.2
        good &= right
        say(f"model {seed} ({s['optimiser']}), captured and not: losses differ by {lost:.1e} (and vary by {varies:.1e})"
            f", moved weights by {apart:.1e}: {'as they should' if right else 'WRONG'}")  # fmt: skip
    return good


def covering(seeds: list[int]) -> list[int]:
    """A few seeds that have every optimiser and every augmentation between them."""
    kinds: dict[Any, int] = {}
    for seed in seeds:
        s = drawn(seed)
        on = [key for key in ("crops", "flips", "cutout", "erasing", "dual_cutout", "bottleneck") if s[key]]
        on += ["mixup"] if s["mixup"] and not s["dual_cutout"] else []
        for kind in (s["optimiser"], *on):
            kinds.setdefault(kind, seed)
    return sorted(set(kinds.values()))


def steps_per_second(trainings: list[Training], seconds: float) -> np.ndarray:
    """Of each, side by side."""
    for t in trainings:
        t.begin()
    for t in trainings:
        t.go(CHUNK)  # to warm up
    finish()
    before = [t.done for t in trainings]
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for t in trainings:
            if t.ready() and t.done < t.steps:
                t.go(CHUNK)
    finish()
    return (np.array([t.done for t in trainings]) - before) / (time.monotonic() - began)


def finish() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def probe(data: Data, seeds: list[int], epochs: int, minutes: float, most: int = 16, seconds: float = 1.0) -> int:
    """Checks, timings, and how many to run side by side; 0 where captured steps are not what uncaptured ones are."""
    n, cuda = len(data.shown), data.shown.is_cuda
    by_cost = sorted(seeds, key=lambda seed: guess(drawn(seed), n, epochs))
    streams = [torch.cuda.Stream() if cuda else None for _ in range(most)]
    good = check(data, covering(seeds), epochs, streams[0])
    guessed = {seed: guess(drawn(seed), n, epochs) for seed in seeds}
    some = [by_cost[i] for i in np.unique(np.linspace(0, len(by_cost) - 1, most).round().astype(int))][::-1]
    made, began = [], time.monotonic()
    for seed, stream in zip(some, streams, strict=False):
        made.append(Training(seed, drawn(seed), data, epochs, stream))
        made[-1].capture()
    making = (time.monotonic() - began) / len(made)
    for t, what in ((made[0], "dearest"), (made[-1], "cheapest")):
        took = 1 / max(steps_per_second([t], seconds)[0], 1e-9)
        began = time.monotonic()
        t.go(1)
        launch = time.monotonic() - began
        looked = time.monotonic()
        with t.on():
            t.predicted()
        finish()
        say(f"{what} (model {t.seed}): {1e3 * took:.3f} ms a step, {guessed[t.seed] / t.steps * 1e3:.3f} guessed; "
            f"a launch {1e6 * launch:.0f} µs, a checkpoint {1e3 * (time.monotonic() - looked):.0f} ms; "
            f"{t.steps * took:.0f} s for {epochs} epochs, by itself")  # fmt: skip
    best = (0.0, 1)
    for lanes in sorted({k for k in (1, 2, 4, 8, 12, 16) if k <= len(made)}):
        pick = [made[i] for i in np.linspace(0, len(made) - 1, lanes).round().astype(int)]
        speed = steps_per_second(pick, seconds)
        rate = float(sum(v * guessed[t.seed] / t.steps for v, t in zip(speed, pick, strict=True)))
        best = max(best, (rate, lanes))
        say(f"{lanes} side by side: {speed.sum():,.0f} steps/s, {rate:.2f} guessed seconds in a second")
    rate, lanes = best
    training = sum(guessed.values()) / rate
    other = len(seeds) * (making + 0.2)
    fits = int(epochs * (60 * minutes - other) / training / MARGIN)
    whole = (training + other) / 60
    say(f"making one takes {making:.2f} s. {len(seeds)} networks of {epochs} epochs: about {whole:.1f} minutes; in"
        f" {minutes:g} minutes fit {fits} epochs. Run with --lanes {lanes}"
        + ("" if fits >= epochs else f" --epochs {max(1, fits)}"))  # fmt: skip
    return lanes if good else 0


# --- the program -------------------------------------------------------------------------------------


def main(
    argv: list[str] | None = None,
    read: Callable[[Path], tuple[np.ndarray, np.ndarray]] = pictures.read,
    n_test: int = pictures.BATCH,
    setting: Callable[[int], dict[str, Any]] = drawn,
) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("probe", "run"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--store", type=Path)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lanes", type=int, default=8, help="networks side by side; 0: as many as a probe finds best")
    parser.add_argument("--minutes", type=float, default=9.0, help="from the start of the program")
    parser.add_argument("--eager", action="store_true", help="capture nothing: slow, if graphs should not work")
    parser.add_argument("--benchmark", action="store_true", help="let cuDNN try its algorithms: slower to begin")
    args = parser.parse_args(argv)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = args.benchmark
    seeds = left(args.models, args.epochs, args.store)
    data = Data.of(*read(args.data), n_test, device)
    say(f"{device}; {len(seeds)} of {args.models} networks are left")
    if seeds and (args.what == "probe" or not args.lanes):
        args.lanes = probe(data, seeds, args.epochs, args.minutes - spent() / 60)
        if args.what == "probe" or not args.lanes:
            return 0 if args.lanes else 1
    args.out.mkdir(parents=True, exist_ok=True)
    name = f"search-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(2).hex()}.npz"
    search = Search(data, args.epochs, args.lanes, 60 * args.minutes, capture=not args.eager, setting=setting)
    say(f"{keep(args.out / name, search.run(seeds), data.labels)} networks in {args.out / name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
