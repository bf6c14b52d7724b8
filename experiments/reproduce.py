"""Redraws every figure and table that needs no GPU, from the raw results that are kept: `make reproduce`.

python experiments/reproduce.py [--only STUDY ...] [--jobs 2] [--list]

Each study has its own scripts; here is only which of them to run, in which order, and what they need. At the end it
says what was left out for want of ../shared, and which files differ from the commit; a fresh clone has none.
Exit status 1 where a script failed or a file differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path("../shared/data")  # from the root


@dataclass(frozen=True)
class Step:
    """One script of a study."""

    study: str
    command: tuple[str, ...]
    what: str
    shared: tuple[str, ...] = ()  # files of ../shared/data without which it is left out
    after: tuple[str, ...] = ()  # scripts whose files it reads, where they run too

    @property
    def name(self) -> str:
        return " ".join(self.command).removeprefix("-m ")


# The long ones first: two run at a time.
STEPS = (
    Step("leaks", ("experiments/leaks/tables.py",), "tables"),
    Step("mania", ("-m", "experiments.mania.pools"), "similarities, covers and bounds of real pools",
         shared=("imagenet_predictions.npz", "imagenet_accuracies.npz", "cifar10_predictions.npz",
                 "mmlu_pro_predictions.npz", "open_llm_items.npz")),
    Step("werpachowski/cifar10", ("experiments/werpachowski/cifar10/tables.py",), "tables",
         after=("experiments/leaks/tables.py",)),
    Step("werpachowski/cifar10", ("experiments/werpachowski/cifar10/figures.py",), "figures 9 to 12"),
    Step("livecodebench", ("experiments/livecodebench/run.py",), "results and tables",
         shared=("livecodebench_apr2024.npz",)),
    Step("pavlitskaya", ("experiments/pavlitskaya/tables.py",), "tables III, V, VII to IX"),
    Step("pavlitskaya", ("experiments/pavlitskaya/cuts.py",), "settings of every training"),
    Step("pavlitskaya", ("experiments/pavlitskaya/figures.py",), "figures 2 to 4"),
    Step("werpachowski", ("experiments/werpachowski/redraw.py",), "figures 5 and 6, table of settings"),
    Step("werpachowski/imagenet", ("experiments/werpachowski/imagenet/tables.py",), "tables"),
    Step("mania", ("-m", "experiments.mania.figures"), "figures 1 to 4", after=("experiments.mania.pools",)),
    Step("mania", ("-m", "experiments.mania.tables"), "tables", after=("experiments.mania.pools",)),
    Step("feldman", ("experiments/feldman/reproduce.py", "--only", "figures"), "figures"),
    Step("feldman", ("-m", "experiments.feldman.tables"), "tables"),
    Step("cifar10", ("-m", "experiments.cifar10.tables"), "table"),
    Step("demo", ("-m", "experiments.demo.tables"), "tables"),
    Step("options", ("-m", "experiments.options.power", "--figure"), "figure of the power"),
    Step("options", ("-m", "experiments.options.tables"), "tables"),
    Step("compare", ("-m", "experiments.compare.tables"), "tables"),
    Step("exposure", ("-m", "experiments.exposure.tables"), "tables"),
)  # fmt: skip


def missing(step: Step) -> list[str]:
    """Files that it needs and that are not there."""
    return [str(SHARED / name) for name in step.shared if not (ROOT / SHARED / name).exists()]


def left_out(step: Step) -> str:
    files = missing(step)
    return f"{step.study}: {step.what} were left as they are, since {step.name} needs {', '.join(files)}."


def run(steps: Sequence[Step], jobs: int) -> list[Step]:
    """Run scripts, so many at a time, each after those it waits for; those that failed."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "PYTHONPATH": path, "PYTHONUTF8": "1"}
    waiting, running, failed = list(steps), {}, []
    while waiting or running:
        names = {step.name for step in (*waiting, *(s for s, _ in running.values()))}
        ready = [step for step in waiting if not names & set(step.after)]
        for step in ready[: jobs - len(running)]:
            waiting.remove(step)
            command = [sys.executable, *step.command]
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            running[process] = step, time.monotonic()
        for process in list(running):
            try:
                said, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
            step, started = running.pop(process)
            print(f"{time.monotonic() - started:6.0f} s  {step.name}", flush=True)
            if process.returncode:
                failed.append(step)
                print(said, flush=True)
    return failed


def changed() -> list[str] | None:
    """Figures, tables and results that differ from the commit; None where that cannot be told."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--", "experiments"]
    try:
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [line[3:] for line in told.splitlines() if not line.endswith(".py")]


def main(argv: Sequence[str] | None = None) -> int:
    studies = list(dict.fromkeys(step.study for step in STEPS))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=studies, metavar="STUDY", help=", ".join(studies))
    parser.add_argument("--jobs", type=int, default=2, help="scripts at a time (default: 2)")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    args = parser.parse_args(argv)
    steps = [step for step in STEPS if step.study in (args.only or studies)]
    if args.list:
        print("\n".join(f"{step.name}: {step.study}, {step.what}" for step in steps))
        return 0
    started = time.monotonic()
    failed = run([step for step in steps if not missing(step)], max(1, args.jobs))
    print(f"{time.monotonic() - started:6.0f} s  in all")
    for step in steps:
        if missing(step):
            print(left_out(step))
    for step in failed:
        print(f"{step.name} failed; what it said is above.")
    files = changed()
    if files is None:
        print("Whether files differ from the commit cannot be told: this is no git repository, or git is not there.")
    elif files:
        print(f"Other than in the commit: {', '.join(files)}. Commit them if that is what you wanted.")
    else:
        print("No file differs from the commit.")
    return 1 if failed or files else 0


if __name__ == "__main__":
    raise SystemExit(main())
