"""Networks of v1's CIFAR-10 study with a control, some with test pictures in their training set, and their audit.

    python study.py probe [--data DATA]          how fast trainings and audits are; pictures are noise without DATA
    python study.py try --data DATA --recipe shift=1,epochs=36,peak=0.4 --recipe ...      errors, nothing is kept
    python study.py run --data DATA --out OUT --store RESULTS --minutes 9
    python study.py run ... --jobs network=wide16x8,epochs=30@0-5 --jobs ...      these instead of the plan

DATA is cifar10.npz's folder, or that of the batches `pictures.py unpack` writes. Needs torch and numpy only. `run`
goes through the plan, leaves out what RESULTS already has, stops when the next networks would not be done in time, and
writes OUT/networks-<time>.npz anew after every few networks; moved into RESULTS, it is what later runs go on from.
`run --ahead` may begin before the pictures have come: meanwhile it makes trainings ready and finds out how many are
best run side by side, --lanes at most.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parents[3]))
import store
from codes import RADIUS, Maps, Orbit, full, ranks, strongest
from networks import NETWORKS, Layers, Weights, Wide, finished
from pictures import BATCH, MARGIN, SIDE, SPLIT_SEED, read
from rescaled import FRAMES, Data, normalised, windows
from store import statistics
from torch import Tensor
from torch.nn import functional as F
from training import Setting, Training, together

LEAKS = (30, 100, 300, 1000, 3000)
FIXED_SHARE = 0.45  # epochs without shifts in training for one with: they cost more and fit sooner
MAPS = 500  # test pictures of which whole maps are kept, for the first honest networks
STARTED = time.monotonic()
CUDA = torch.cuda.is_available()


def say(text: str) -> None:
    print(f"{time.monotonic() - STARTED:7.1f}  {text}", flush=True)


def version() -> str:
    """A digest of the code that made a result."""
    names = ("codes", "networks", "pictures", "rescaled", "study", "training")
    texts = [Path(__file__).with_name(f"{n}.py").read_bytes() for n in names]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


# --- audit -------------------------------------------------------------------------------------------


class Audit:
    """A finished network on the pictures that are audited: every forward pass has the same number of pictures.

    `large` are the pictures with room to move, instead of the enlarged ones.
    """

    def __init__(
        self, data: Data, layers: Layers, weights: Weights, *, batch: int, fused: bool, large: Tensor | None = None
    ) -> None:
        self.data, self.batch = data, batch
        self.large = data.large if large is None else large
        self.device = data.large.device
        self.orbit = Orbit(RADIUS, self.device)
        # Half the bytes, and eight times as fine as bfloat16; without a GPU float32.
        dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        self.network = finished(layers, weights, dtype, fused)

    def logits(self, rows: Tensor, down: Tensor, right: Tensor) -> Tensor:
        """Of the pictures with their content moved, hence the crop moved the other way."""
        return self.passed(self.network, rows, down, right)

    def passed(self, through: Callable[[Tensor], Tensor], rows: Tensor, down: Tensor, right: Tensor) -> Tensor:
        n = len(rows)
        missing = -n % self.batch
        rows, down, right = (torch.cat([t, t[:1].expand(missing)]) for t in (rows, down, right))
        out = []
        for i in range(0, len(rows), self.batch):
            j = slice(i, i + self.batch)
            x = windows(self.large, rows[j], MARGIN - down[j], MARGIN - right[j], SIDE)
            out.append(through(normalised(x, self.network.dtype)))
        return torch.cat(out)[:n]

    def score(self, rows: Tensor, down: Tensor, right: Tensor) -> Tensor:
        logits = self.logits(rows, down, right)
        return logits.amax(dim=1) - logits.gather(1, self.data.labels[rows, None])[:, 0]

    def maps(self, n: int) -> Maps:
        return Maps(self.score, n, self.orbit, self.device)

    def untouched(self) -> tuple[Tensor, Tensor]:
        """Answers and margins, log p_y - log(1 - p_y), of all pictures."""
        rows = torch.arange(self.data.parts["train"].stop, device=self.device)
        still = torch.zeros_like(rows)
        logits = self.logits(rows, still, still)
        if not logits.isfinite().all():
            raise ArithmeticError("a logit is not finite")
        labels = self.data.labels[rows, None]
        others = logits.scatter(1, labels, -torch.inf)
        return logits.argmax(dim=1), logits.gather(1, labels)[:, 0] - others.logsumexp(dim=1)

    def nearest(self) -> dict[str, np.ndarray]:
        """Of test and control pictures the training picture that is most like them to the network, and how much."""
        rows = torch.arange(len(self.large), device=self.device)
        still = torch.zeros_like(rows)
        v = self.passed(self.network.features, rows, still, still)
        v = F.normalize(v, dim=1)
        first = self.data.parts["train"].start
        found = {}
        for part in ("test", "control"):
            near = [(some @ v[first:].T).max(dim=1) for some in v[self.data.parts[part]].split(2_000)]
            like, which = (torch.cat(t).cpu().numpy() for t in zip(*near, strict=True))
            found |= {f"{part}_near": like.astype(np.float16)}
            found |= {f"{part}_near_id": self.data.ids[first:][which].astype(np.uint16)}
        return found

    def run(
        self, parts: tuple[str, ...], n_maps: int, ranked: bool = False
    ) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """What is kept of the network, and a few sums."""
        answers, margins = self.untouched()
        kept: dict[str, np.ndarray] = {}
        sums: dict[str, object] = {}
        for part in ("test", "control", "train"):
            rows = self.data.parts[part]
            kept[f"{part}_predictions"] = answers[rows].to(torch.uint8).cpu().numpy()
            if part != "train":
                kept[f"{part}_margins"] = margins[rows].to(torch.float16).cpu().numpy()
            sums[f"{part}_error"] = float((answers[rows] != self.data.labels[rows]).double().mean())
        last = max(self.data.parts[p].stop for p in parts)  # parts lie one after the other, test and control first
        maps = self.maps(last)
        codes = strongest(maps)
        sums["evaluations"] = maps.evaluations
        for part in parts:
            kept[f"{part}_codes"] = codes[self.data.parts[part]]
            sums[f"{part}_T"] = float(statistics(kept[f"{part}_codes"]).mean())
        if ranked:
            all_ranks = ranks(maps)
            kept |= {f"{part}_ranks": all_ranks[self.data.parts[part]] for part in parts} | self.nearest()
        if n_maps:
            again = self.maps(n_maps)  # all scored anew, in other company: does that matter?
            kept["test_maps"] = full(again)
            known = ~maps.values[:n_maps].isnan()
            sums["rescored"] = int(known.sum())
            sums["rescored_otherwise"] = int((maps.values[:n_maps] != again.values)[known].sum())
            sums["codes_otherwise"] = int((strongest(again) != codes[:n_maps]).sum())
        return kept, sums


# --- what is trained ---------------------------------------------------------------------------------


def plan(shift: Setting, fixed: Setting, rounds: int = 16) -> list[tuple[Setting, int]]:
    """Setting and seed of every network, the most wanted first: eight rounds hold 48 + 5 x 8 with shifts in training,
    16 + 5 x 8 without, and three of another architecture.
    """
    jobs = []
    for r in range(rounds):
        jobs += [(shift, 6 * r + i) for i in range(6)]
        jobs += [(replace(shift, leaked=leak), 1000 + 100 * i + r) for i, leak in enumerate(LEAKS)]
        jobs += [(fixed, 2 * r + i) for i in range(2)]
        jobs += [(replace(fixed, leaked=leak), 1000 + 100 * i + r) for i, leak in enumerate(LEAKS)]
        if r < 3:
            jobs.append((replace(shift, network="residual"), r))
    return jobs


def plan_of_leaks(setting: Setting, rounds: int = 8) -> list[tuple[Setting, int]]:
    """Three honest networks and one of each leak a round, and three of another architecture: `experiments/leaks`."""
    jobs = []
    for r in range(rounds):
        jobs += [(setting, 3 * r + i) for i in range(3)]
        jobs += [(replace(setting, leaked=leak), 1000 + 100 * i + r) for i, leak in enumerate(LEAKS)]
        if r == 0:
            jobs += [(replace(setting, network="residual"), i) for i in range(3)]
    return jobs


def asked_for(text: str, base: Setting) -> list[tuple[Setting, int]]:
    """`network=wide16x8,epochs=30@0-5`: a recipe, and its first and last seed or only one."""
    what, _, seeds = text.partition("@")
    first, _, last = seeds.partition("-")
    return [(recipe(what, base), seed) for seed in range(int(first), int(last or first) + 1)]


def parts_of(setting: Setting, whole: bool) -> tuple[str, ...]:
    """What is audited. Leaked and wide networks are not compared on training pictures."""
    if setting.leaked or setting.network.startswith("wide"):
        return "test", "control"
    return ("test", "control", "train", "rest") if whole and not setting.original else ("test", "control", "train")


def key(setting: Setting, seed: int) -> str:
    return f"{setting.name}/seed{seed}"


class Study:
    """Trains what the plan asks for, a few at a time, audits it and writes it down."""

    def __init__(self, args: argparse.Namespace, data: Data, most_leaked: int = max(LEAKS)) -> None:
        self.args, self.data, self.most_leaked = args, data, most_leaked
        self.trainings: dict[Setting, list[Training]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.path = args.out / f"networks-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(2).hex()}.npz"
        self.writer: threading.Thread | None = None
        self.slowest: dict[Setting, float] = {}
        self.frames: dict[str, Tensor] = {}
        self.weights = 0  # networks whose weights were written

    def lanes(self, like: Setting, count: int) -> list[Training]:
        """Trainings ready to begin; they are made once for all leaks."""
        made = self.trainings.setdefault(like, [])
        while len(made) < count:
            most = self.data.n_train + self.most_leaked
            made.append(Training(like, self.data, self.args.device, most, self.args.compile))
            made[-1].prepare()
        return made[:count]

    def next(self, jobs: list[tuple[Setting, int]]) -> list[tuple[Setting, int]]:
        """The first job that is left and can be done in time, and those after it that can be trained beside it."""
        for like in dict.fromkeys(replace(setting, leaked=0) for setting, _ in jobs):
            network = NETWORKS[like.network]()
            few = isinstance(network, Wide) and {8: 2, 10: 1}.get(network.factor)  # these fill a GPU
            if count := self.fitting(like, few or self.args.lanes):
                return [j for j in jobs if replace(j[0], leaked=0) == like][:count]
        return []

    def fitting(self, like: Setting, most: int) -> int:
        """How many would end in time, with some seconds to spare, if as slow as the slowest so far."""
        guess = self.slowest.get(like, max(self.slowest.values(), default=0.0) + 15)
        for count in range(most, 0, -1):  # fewer use a GPU less well
            if min(1.0, 1.25 * count / most) * guess + 8 < self.time_left():
                return count
        return 0

    def time_left(self) -> float:
        return 60 * self.args.minutes - (time.monotonic() - STARTED)

    def run(self, jobs: list[tuple[Setting, int]]) -> None:
        self.arrays |= {f"split/{k}": v for k, v in self.data.kept().items()}
        there = store.done(self.args.store) if self.args.store else set()
        jobs = [j for j in jobs if key(*j) not in there]
        say(f"{len(there)} networks are in the store; {len(jobs)} of the plan are left; writing {self.path.name}")
        while jobs:
            batch = self.next(jobs)
            if not batch:
                say(f"time is up; next would be {key(*jobs[0])}")
                break
            self.train(batch, replace(batch[0][0], leaked=0))
            jobs = [j for j in jobs if j not in batch]
        if self.writer:
            self.writer.join()
        say(f"{sum(k.endswith('/record') for k in self.arrays)} networks in {self.path}")

    def train(self, batch: list[tuple[Setting, int]], like: Setting) -> None:
        trainings = self.lanes(like, len(batch))
        began = time.monotonic()
        among = []
        for t, (setting, seed) in zip(trainings, batch, strict=True):
            pool, leaked = self.data.pool(setting.leaked, seed)
            t.begin(pool, seed)
            among.append(leaked)
        together(trainings)
        trained = time.monotonic() - began
        for t, (setting, seed), leaked in zip(trainings, batch, among, strict=True):
            parts = parts_of(setting, self.args.whole)
            wide = isinstance(t.layers, Wide)
            options = {"batch": self.args.audit_batch // 4 if wide else self.args.audit_batch, "fused": self.args.fused}
            pictures = self.framed("black") if setting.original else None
            audit = Audit(self.data, t.layers, t.weights, large=pictures, **options)
            keep = self.weights < self.args.weights and not setting.leaked and not wide and not setting.original
            mapped = setting.leaked == 0 and (keep or seed < (1 if wide or setting.original else 3))
            began_audit = time.monotonic()
            try:
                kept, sums = audit.run(parts, min(MAPS, self.data.n_test) if mapped else 0, self.ranked(setting, seed))
                for frame in FRAMES if setting.original else ():
                    if frame != "black":
                        audit.large = self.framed(frame)
                        codes = strongest(audit.maps(self.data.parts["control"].stop))
                        for part in ("test", "control"):
                            kept[f"{part}_codes_{frame}"] = codes[self.data.parts[part]]
            except ArithmeticError as e:  # kept out, and said: a failed training is not a network
                say(f"{key(setting, seed)} is left out: {e}")
                continue
            if keep:
                self.weights += 1
                name = key(setting, seed).replace("/", "-")
                np.savez(self.args.out / f"weights-{name}.npz", **audit.network.arrays())
            record = {
                "setting": asdict(setting), "seed": seed, "n_train": self.data.n_train, "split_seed": SPLIT_SEED,
                "radius": RADIUS, "rule": "strongest", "last_epoch_accuracy": t.accuracy(), "code": version(),
                "training_seconds": trained / len(batch), "audit_seconds": time.monotonic() - began_audit,
                "side_by_side": len(batch), "device": torch.cuda.get_device_name() if CUDA else "cpu",
                "torch": torch.__version__, "compiled": self.args.compile, "fused": self.args.fused,
                "audit_dtype": str(audit.network.dtype).removeprefix("torch."), "audit_batch": audit.batch,
                **sums,
            }  # fmt: skip
            kept |= {"leaked": leaked.astype(np.uint16), "record": np.array(json.dumps(record))}
            self.arrays |= {f"{key(setting, seed)}/{k}": v for k, v in kept.items()}
            say(
                f"{key(setting, seed):32} error {sums['test_error']:.4f} test {sums['control_error']:.4f} control "
                f"{sums['train_error']:.4f} train; mean T {sums['test_T']:+.5f} {sums['control_T']:+.5f}; "
                f"{record['training_seconds']:.1f} + {record['audit_seconds']:.1f} s, "
                f"{maps_per_second(record):,.0f} evaluations/s"
                + (
                    f"; rescored {sums['rescored_otherwise']} of {sums['rescored']} otherwise"
                    if "rescored" in sums
                    else ""
                )
            )
        self.write()
        self.slowest[like] = max(self.slowest.get(like, 0.0), time.monotonic() - began)

    def ranked(self, setting: Setting, seed: int) -> bool:
        """Whether whole maps of all pictures are kept, as ranks: the first few honest networks of a run."""
        done = sum(k.endswith("/test_ranks") for k in self.arrays)
        return done < self.args.ranked and not setting.leaked and not setting.original and setting.shift

    def framed(self, frame: str) -> Tensor:
        if frame not in self.frames:
            self.frames[frame] = self.data.framed(frame, self.data.parts["train"].stop)
        return self.frames[frame]

    def write(self) -> None:
        """Beside the next training."""
        if self.writer:
            self.writer.join()
        self.writer = threading.Thread(target=store.write, args=(self.path, dict(self.arrays)))
        self.writer.start()


def maps_per_second(record: dict) -> float:
    return record["evaluations"] / record["audit_seconds"]


# --- how fast, how good ------------------------------------------------------------------------------


def recipe(text: str, base: Setting) -> Setting:
    """`shift=0,epochs=16,peak=0.2` as a setting."""
    values = {}
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        kind = type(getattr(base, name))
        values[name] = bool(int(value)) if kind is bool else kind(value)
    return replace(base, **values)


def training_rate(trainings: list[Training], data: Data, steps: int) -> float:
    """Pictures a second of trainings side by side."""
    for t in trainings:
        t.begin(data.pool(0, 0)[0], 0)
    for count in (steps // 4, steps):  # the first to warm up
        finish()
        began = time.monotonic()
        for _ in range(count):
            for t in trainings:
                t.go()
        finish()
    return len(trainings) * steps * trainings[0].setting.batch / (time.monotonic() - began)


def get_ready(study: Study, like: Setting) -> None:
    """Trainings made, compiled and timed while the pictures are on their way; --lanes becomes the fastest number."""
    rates = {}
    for lanes in range(1, study.args.lanes + 1):
        rates[lanes] = training_rate(study.lanes(like, lanes), study.data, 60 if CUDA else 2)
        say(f"{lanes} side by side: {rates[lanes]:,.0f} pictures/s")
    study.args.lanes = next(n for n, rate in rates.items() if rate > 0.995 * max(rates.values()))
    while not all((study.args.data / f"batch-{b}.npz").exists() for b in range(6)):
        time.sleep(0.2)
    study.data.become(Data(*read(study.args.data), study.args.device, study.args.limit))
    finish()
    say(f"the pictures are here; {study.args.lanes} side by side")


def finish() -> None:
    if CUDA:
        torch.cuda.synchronize()


def probe(args: argparse.Namespace, data: Data) -> None:
    """Pictures a second of trainings, alone and side by side, evaluations a second of audits, and what to run."""
    rates: dict[tuple[bool, bool, int], float] = {}
    audits: dict[tuple[bool, int], float] = {}
    for compiled in (False, True) if args.compile else (False,):
        for shift in (True,) if compiled else (True, False):
            made: list[Training] = []
            for lanes in range(1, args.lanes + 1):
                began = time.monotonic()
                try:
                    setting = replace(args.base, shift=shift, epochs=8)
                    made.append(Training(setting, data, args.device, data.n_train + max(LEAKS), compiled))
                    made[-1].prepare()
                    made_in = time.monotonic() - began
                    rate = rates[compiled, shift, lanes] = training_rate(made, data, 60 if CUDA else 2)
                except Exception as e:
                    say(f"training compiled={int(compiled)} lanes={lanes} failed: {type(e).__name__}: {e}")
                    break
                memory = torch.cuda.max_memory_allocated() / 2**30 if CUDA else 0
                say(
                    f"training {'shift' if shift else 'fixed'} compiled={int(compiled)} lanes={lanes}: "
                    f"{rate:,.0f} pictures/s, {data.n_train / rate:.3f} s an epoch a network "
                    f"(made in {made_in:.1f} s; {memory:.1f} GiB)"
                )
    layers = NETWORKS[args.base.network]()
    fresh = Weights.initial(layers, torch.Generator().manual_seed(0))
    weights = Weights(*([t.to(args.device) for t in ts] for ts in (fresh.tensors, fresh.statistics)))
    for fused in (False, True) if CUDA else (False,):
        for batch in (4096, 8192, 16384) if CUDA else (64,):
            try:
                audit = Audit(data, layers, weights, batch=batch, fused=fused)
                rows = torch.randint(len(data.large), (65_536 if CUDA else 128,), device=args.device)
                still = torch.zeros_like(rows)
                for _ in range(2):
                    finish()
                    began = time.monotonic()
                    audit.score(rows, still, still).sum().item()
                rate = audits[fused, batch] = len(rows) / (time.monotonic() - began)
                say(f"audit fused={int(fused)} batch={batch}: {rate:,.0f} evaluations/s")
            except Exception as e:
                say(f"audit fused={int(fused)} batch={batch} failed: {type(e).__name__}: {e}")
    advise(args, data, rates, audits)


def advise(args: argparse.Namespace, data: Data, rates: dict, audits: dict) -> None:
    """Options for `run` with which eight rounds of the plan fit into the seconds there are."""
    (compiled, _, lanes), rate = max(((k, r) for k, r in rates.items() if k[1]), key=lambda kr: kr[1])
    gain = rate / rates[False, True, lanes]  # a compiled network without shifts is not timed: as much faster, say
    fixed_rate = gain * rates[False, False, lanes]
    (fused, batch), audit = max(audits.items(), key=lambda kr: kr[1])
    jobs = plan(Setting(), Setting(shift=False), rounds=8)
    with_shift = sum(s.shift for s, _ in jobs)
    audits_take = len(jobs) * 2.5 * data.n_test * 30 / audit  # two or three parts of n_test pictures, 30 points each
    epoch = data.n_train * (with_shift / rate + FIXED_SHARE * (len(jobs) - with_shift) / fixed_rate)
    epochs = min(60, max(24, int((args.budget - audits_take) / epoch)))
    fixed = round(FIXED_SHARE * epochs)
    needed = epochs * epoch + audits_take
    say(f"eight rounds, {len(jobs)} networks, would take about {needed:,.0f} s; {args.budget} are to be had")
    options = f"--lanes {lanes} --audit-batch {batch}" + " --compile" * compiled + " --fused" * fused
    say(f"run with: {options} --shift shift=1,epochs={epochs} --fixed shift=0,epochs={fixed}")


def attempt(args: argparse.Namespace, data: Data) -> None:
    """Trains one network a recipe, side by side, and says what came out."""
    settings = [recipe(r, args.base) for r in args.recipe]
    most = data.n_train + max(s.leaked for s in settings)
    trainings = [Training(s, data, args.device, most, args.compile) for s in settings]
    for t in trainings:
        t.prepare()
        t.begin(data.pool(t.setting.leaked, 99)[0], 99)
    say(f"{len(trainings)} recipes begin")
    began = time.monotonic()
    together(trainings)
    say(f"trained side by side in {time.monotonic() - began:.1f} s")
    for t in trainings:
        began = time.monotonic()
        _, sums = Audit(data, t.layers, t.weights, batch=args.audit_batch, fused=args.fused).run(("test", "control"), 0)
        s = t.setting
        say(
            f"{s.name} peak={s.peak} decay={s.decay} batch={s.batch}: last epoch {t.accuracy():.4f}, error "
            f"{sums['test_error']:.4f} test {sums['control_error']:.4f} control {sums['train_error']:.4f} train; "
            f"mean T {sums['test_T']:+.5f} {sums['control_T']:+.5f}; audit {time.monotonic() - began:.1f} s, "
            f"{sums['evaluations']:,} evaluations"
        )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("probe", "try", "run"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--store", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--lanes", type=int, default=2, help="trainings side by side")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fused", action="store_true", help="convolution and ReLU as one call of cuDNN in audits")
    parser.add_argument("--audit-batch", type=int, default=8192 if CUDA else 64)
    parser.add_argument("--recipe", action="append", default=[], help="try: name=value,... of a setting")
    parser.add_argument("--shift", default="shift=1,epochs=36", help="run: the recipe with shifts in training")
    parser.add_argument("--fixed", default="shift=0,epochs=16", help="run: the recipe without")
    parser.add_argument("--leaks", action="append", default=[], help="run: recipes, honest and leaked")
    parser.add_argument("--jobs", action="append", default=[], help="run: recipe@first-last seed, instead of the plan")
    parser.add_argument("--ahead", action="store_true", help="run: get ready while the pictures are on their way")
    parser.add_argument("--whole", action="store_true", help="run: all training pictures are audited, not 10,000")
    parser.add_argument("--ranked", type=int, default=0, help="run: networks of which whole maps are kept, as ranks")
    parser.add_argument("--weights", type=int, default=0, help="run: honest networks whose weights are written, too")
    parser.add_argument("--network", default="vgg", choices=NETWORKS)
    parser.add_argument("--limit", type=int, help="pictures of each part, for trying things out")
    parser.add_argument("--budget", type=float, default=1080, help="probe: seconds for all runs together")
    parser.add_argument("--rounds", type=int, default=16)
    args = parser.parse_args(argv)
    args.device = torch.device("cuda" if CUDA else "cpu")
    args.base = Setting(network=args.network)
    if args.limit:
        args.base = replace(args.base, batch=min(args.base.batch, args.limit // 2))
    torch.backends.cudnn.benchmark = CUDA
    torch.backends.cuda.matmul.allow_tf32 = False
    if args.data and not args.ahead:
        x, y = read(args.data)
    elif args.verb == "probe" or (args.verb == "run" and args.data):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 256, (6 * BATCH, SIDE, SIDE, 3), dtype=np.uint8)
        y = rng.integers(0, 10, 6 * BATCH).astype(np.uint8)
    else:
        parser.error("--data is needed")
    data = Data(x, y, args.device, args.limit)
    say(f"data on {args.device}; torch {torch.__version__}")
    if args.verb == "probe":
        probe(args, data)
    elif args.verb == "try":
        attempt(args, data)
    else:
        shift, fixed = recipe(args.shift, args.base), recipe(args.fixed, args.base)
        leaks = [job for text in args.leaks for job in plan_of_leaks(recipe(text, args.base), args.rounds)]
        jobs = [job for text in args.jobs for job in asked_for(text, args.base)]
        jobs = jobs or leaks or plan(shift, fixed, args.rounds)
        study = Study(args, data, max(LEAKS + tuple(setting.leaked for setting, _ in jobs)))
        if args.ahead:
            get_ready(study, replace(jobs[0][0], leaked=0))
        study.run(jobs)


if __name__ == "__main__":
    main()
