"""Training linear models, several runs at once: what the paper leaves open by name, and checkpoints."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from problem import CASES, DIMENSION, N_TRAIN, Floats, Floats32, draw_points
from scipy.special import expit, ndtr, ndtri
from tqdm import tqdm

from heldout.errors import InputError
from heldout.files import write_npz

LEARNING_RATE = 0.01
BATCH = 100
RUNS_AT_ONCE = 10  # 10 MB of training data stay in the L3 cache


@dataclass(frozen=True, kw_only=True)
class RmsProp:
    """The constants of RMSProp in which libraries differ."""

    decay: float
    epsilon: float
    inside: bool  # epsilon under the square root, or beside it
    start: float  # first value of the running mean of squares


OPTIMIZERS = {
    "tf1": RmsProp(decay=0.9, epsilon=1e-10, inside=True, start=1.0),  # tf.train.RMSPropOptimizer
    "keras": RmsProp(decay=0.9, epsilon=1e-7, inside=False, start=0.0),
    "torch": RmsProp(decay=0.99, epsilon=1e-8, inside=False, start=0.0),
}


ONE = np.float32(1.0)

# |dc/dz| of c = ln(1 + exp(-m)), m = y z, as (m, y) -> float32. On paper all three are sigma(-m). In float32
# sigma(m) rounds to 1 past m = 17, so that the second is 0 there for y = +1 and the third for both
# labels: training ends where the first goes on to the largest margin.
RESIDUALS: dict[str, Callable[[Floats32, Floats32], Floats32]] = {
    "exact": lambda m, y: expit(-m),
    "zero-one": lambda m, y: np.where(y > 0, ONE - expit(m), expit(-m)),  # sigma(z) - [y = 1]
    "sigmoid": lambda m, y: ONE - expit(m),  # automatic derivative of -ln(sigma(y z))
}


def training_step(
    weights: Floats32,
    squares: Floats32,
    batch: Floats32,
    *,
    penalty: float,
    optimizer: RmsProp,
    residual: str = "exact",
) -> None:
    """One step of RMSProp for several runs at once, in place.

    The loss is the mean of ln(1 + exp(-y (w.x + b))) over the batch plus penalty * w_1^2.

    Parameters
    ----------
    weights, squares : (n_runs, d + 1)
        (w, b), and the running mean of the squared gradient.
    batch : (n_runs, n_batch, d + 1)
        y * (x, 1): with the label multiplied in, the loss needs only the products batch @ weights.
    residual : {"exact", "zero-one", "sigmoid"}
        How float32 rounds the derivative of the loss, see `RESIDUALS`.
    """
    margins = np.matmul(batch, weights[:, :, None])[..., 0]
    pull = RESIDUALS[residual](margins, batch[..., -1])
    pull *= np.float32(-1.0 / batch.shape[1])
    gradient = np.matmul(pull[:, None, :], batch)[:, 0]
    if penalty:
        gradient[:, 0] += np.float32(2.0 * penalty) * weights[:, 0]
    squares *= np.float32(optimizer.decay)
    squares += np.float32(1.0 - optimizer.decay) * gradient * gradient
    if optimizer.inside:
        scale = np.sqrt(squares + np.float32(optimizer.epsilon))
    else:
        scale = np.sqrt(squares) + np.float32(optimizer.epsilon)
    weights -= np.float32(LEARNING_RATE) * gradient / scale


def _truncated(rng: np.random.Generator, n: int) -> Floats:
    """Normal of scale 1 cut at 2, as in TensorFlow: its standard deviation is 0.88."""
    return np.asarray(ndtri(ndtr(-2.0) + (ndtr(2.0) - ndtr(-2.0)) * rng.random(n)))


INITS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "zeros": lambda rng, n: np.zeros(n),
    "truncated-0.1": lambda rng, n: 0.1 * _truncated(rng, n),
    "sonnet": lambda rng, n: _truncated(rng, n) / math.sqrt(n),
    "torch": lambda rng, n: rng.uniform(-1.0, 1.0, n) / math.sqrt(n),
    "lecun-normal": lambda rng, n: rng.standard_normal(n) / math.sqrt(n),
    "glorot-uniform": lambda rng, n: rng.uniform(-1.0, 1.0, n) * math.sqrt(6.0 / (n + 1)),
    "he-normal": lambda rng, n: rng.standard_normal(n) * math.sqrt(2.0 / n),
}


def initial_weights(init: str, n: int, *, rng: np.random.Generator) -> Floats32:
    """(w, b) with w by a rule of `INITS`, or N(0, init^2) where `init` is a number; b = 0."""
    rule = INITS.get(init)
    if rule is not None:
        w = rule(rng, n)
    else:
        try:
            w = float(init) * rng.standard_normal(n)
        except ValueError:
            names = ", ".join(INITS)
            raise InputError(f"`init` is {init!r}; give a standard deviation or one of {names}.") from None
    return np.append(w, 0.0).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Streams:
    """The random numbers of one run. Run r has the same ones however many runs there are."""

    train: np.random.Generator
    test: np.random.Generator
    init: np.random.Generator
    batches: np.random.Generator


def run_streams(seed: int, case: int, run: int) -> Streams:
    """Fresh generators for one run of one case; asked twice, they start again."""
    train, test, init, batches = np.random.default_rng([seed, case, run]).spawn(4)
    return Streams(train=train, test=test, init=init, batches=batches)


@dataclass(kw_only=True)
class Progress:
    """What is saved in a checkpoint: where we are, and all that cannot be drawn again from the seed."""

    weights: Floats32  # (n_cases, n_runs, d + 1); final where training is over
    squares: Floats32  # (RUNS_AT_ONCE, d + 1) of the runs now in training
    case: int = 0
    run: int = 0  # first run of the group in training
    step: int = 0  # steps that group has done


def train_group(
    progress: Progress,
    *,
    seed: int,
    steps: int,
    init: str,
    optimizer: RmsProp,
    residual: str,
) -> Iterator[int]:
    """Train the current group of runs to the end; yield the steps done after each epoch.

    At each yield `progress` can be saved and training taken up again from it, to the same bits:
    the epochs' permutations are drawn again, the weights are not.
    """
    case = CASES[progress.case]
    weights = progress.weights[progress.case, progress.run : progress.run + RUNS_AT_ONCE]
    n_runs = len(weights)
    squares = progress.squares[:n_runs]
    signed = np.empty((n_runs, N_TRAIN, DIMENSION + 1), dtype=np.float32)
    orders = []
    for i in range(n_runs):
        streams = run_streams(seed, progress.case, progress.run + i)
        points, labels = draw_points(N_TRAIN, rng=streams.train)
        signed[i, :, :DIMENSION] = points * labels[:, None]
        signed[i, :, DIMENSION] = labels
        orders.append(streams.batches)
        if progress.step == 0:
            weights[i] = initial_weights(init, DIMENSION, rng=streams.init)
    if progress.step == 0:
        squares[:] = optimizer.start

    per_epoch = N_TRAIN // BATCH
    for order in orders:
        for _ in range(progress.step // per_epoch):  # resumed: skip what was used
            order.permutation(N_TRAIN)
    epoch = np.empty_like(signed)
    options: dict[str, Any] = {"penalty": case.penalty, "optimizer": optimizer, "residual": residual}
    while progress.step < steps:
        for i, order in enumerate(orders):
            np.take(signed[i], order.permutation(N_TRAIN), axis=0, out=epoch[i], mode="clip")
        for k in range(min(per_epoch, steps - progress.step)):
            batch = epoch[:, k * BATCH : (k + 1) * BATCH]
            training_step(weights, squares, batch, **options)
            progress.step += 1
        yield progress.step


def save_checkpoint(path: Path, progress: Progress, settings: dict[str, Any]) -> None:
    """Write `progress` and the settings that it belongs to."""
    stamp = np.array(json.dumps(settings, sort_keys=True))
    write_npz(path, {"settings": stamp, **vars(progress)})


def load_checkpoint(path: Path, settings: dict[str, Any]) -> Progress:
    """Read a checkpoint back; it must belong to the same settings."""
    with np.load(path) as saved:
        stored = json.loads(str(saved["settings"]))
        if stored != settings:
            changed = ", ".join(k for k in settings if stored.get(k) != settings[k])
            raise InputError(
                f"{path} was made with other settings ({changed}); resume with those of the first "
                "start, or leave out --resume to start again."
            )
        return Progress(
            weights=saved["weights"],
            squares=saved["squares"],
            case=int(saved["case"]),
            run=int(saved["run"]),
            step=int(saved["step"]),
        )


def train(
    settings: dict[str, Any],
    *,
    checkpoint: Path,
    resume: bool,
    seconds_between: float = 60.0,
) -> Floats32:
    """Train all runs of both cases and return (n_cases, n_runs, d + 1) weights."""
    runs, steps = settings["runs"], settings["steps"]
    if resume and checkpoint.exists():
        progress = load_checkpoint(checkpoint, settings)
    else:
        shape = (len(CASES), runs, DIMENSION + 1)
        progress = Progress(
            weights=np.zeros(shape, dtype=np.float32),
            squares=np.zeros((RUNS_AT_ONCE, DIMENSION + 1), dtype=np.float32),
        )
    saved_at = time.monotonic()
    total = len(CASES) * runs * steps
    done = (progress.case * runs + min(progress.run, runs)) * steps
    done += progress.step * min(RUNS_AT_ONCE, runs - progress.run)
    look = {"desc": "training", "unit": "step", "unit_scale": True, "file": sys.stderr}
    with tqdm(total=total, initial=done, **look) as bar:
        while progress.case < len(CASES):
            group = min(RUNS_AT_ONCE, runs - progress.run)
            before = progress.step
            for step in train_group(
                progress,
                seed=settings["seed"],
                steps=steps,
                init=settings["init"],
                optimizer=OPTIMIZERS[settings["optimizer"]],
                residual=settings["residual"],
            ):
                bar.update((step - before) * group)
                before = step
                if time.monotonic() - saved_at >= seconds_between:
                    save_checkpoint(checkpoint, progress, settings)
                    saved_at = time.monotonic()
            progress.run, progress.step = progress.run + group, 0
            if progress.run >= runs:
                progress.case, progress.run = progress.case + 1, 0
    save_checkpoint(checkpoint, progress, settings)
    return progress.weights
