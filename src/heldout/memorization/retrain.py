"""Train from scratch on labels that are more and more wrong: PMV and PTV in the same pass.

A training is a job of its own: it depends on (seed, rate, repetition) alone, is kept as soon as it is done, and is not
done again. So any number of workers gives the same result, and a run that was killed goes on where it was.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.files import read_npz, write_npz
from heldout.memorization.label_noise import noisy_labels
from heldout.progress import plain_bar

Train = Callable[[Any, NDArray[Any], int], Any]  # (x, y, seed) -> predictor


@dataclass(frozen=True, kw_only=True, eq=False)
class Retrainings:
    """What every training said of its own training examples.

    Parameters
    ----------
    rates : (r,) float
        Shares of wrong labels.
    noisy_right : (r, s, n) bool
        Whether the model gives the label it was trained on (PMV).
    clean_right : (r, s, n) bool
        Whether it gives the true one (PTV).
    validation_right : (r, s, v) bool
        Whether it is right on each validation example; v = 0 without any.
    failures : tuple of str
        Trainings that raised: "rate 0.3, repetition 2: ValueError: ...". Their rows are False and must not be used.
    done : (r, s) bool
        Which trainings ended well.
    """

    rates: NDArray[np.float64]
    noisy_right: NDArray[np.bool_]
    clean_right: NDArray[np.bool_]
    validation_right: NDArray[np.bool_]
    failures: tuple[str, ...]
    done: NDArray[np.bool_]

    @property
    def pmv(self) -> NDArray[np.float64]:
        """(r, s) accuracy on the labels that were trained on."""
        return np.where(self.done, self.noisy_right.mean(axis=2), np.nan)

    @property
    def ptv(self) -> NDArray[np.float64]:
        """(r, s) accuracy on the true labels."""
        return np.where(self.done, self.clean_right.mean(axis=2), np.nan)


def retrain(
    train: Any,
    x: Any,
    labels: ArrayLike,
    rates: Sequence[float],
    *,
    classes: int | None = None,
    repetitions: int = 5,
    seed: int = 0,
    validation: tuple[Any, ArrayLike] | None = None,
    n_jobs: int | None = None,
    threads: int = 1,
    check_seed: bool = True,
    checkpoint: str | Path | None = None,
    name: str = "trainings",
    progress: bool = False,
) -> Retrainings:
    """Train a model at every rate of label noise, several times.

    Parameters
    ----------
    train : scikit-learn estimator, or function (x, y, seed) -> predictor
        An estimator is cloned and given its `random_state`, where it has one. A predictor is a function of x, or has a
        method `predict`; it returns labels (n,) or scores (n, classes).
    x, labels
        The training set; x goes to `train` as it is.
    rates : sequence of float
        Shares of wrong labels, beginning with 0 and growing; or one alone.
    repetitions : int
        Trainings a rate, each with labels and a seed of its own.
    n_jobs : int
        Workers, as joblib counts them, on whatever backend `joblib.parallel_config` says; default 1, or what that says.
    threads : int
        Of each training's own arithmetic (BLAS, OpenMP, torch): sums depend on it in the last bits, so it does not
        depend on the workers.
    check_seed : bool
        Do one training twice and stop where the two differ, since then nothing here could be repeated.
    checkpoint : path, optional
        Folder in which finished trainings are kept, and looked for. They are told apart by the data, the seed and the
        model's name and parameters; of a function only the name is known, so a changed one needs another folder.
    """
    truth = np.asarray(labels)
    m = int(truth.max()) + 1 if classes is None else classes
    levels = check_rates(rates)
    noisy_labels(truth, 0.0, classes=m, rng=np.random.default_rng(0))  # complains of bad labels
    if repetitions < 1 or threads < 1 or n_jobs == 0:
        raise InputError(f"{repetitions} repetitions, {threads} threads, n_jobs = {n_jobs}: none can be 0.")
    if len(x) != len(truth):
        raise InputError(f"{len(x):,} examples and {len(truth):,} labels; there must be one for each.")
    fit = as_train(train)
    held = None if validation is None else (validation[0], np.asarray(validation[1]))
    folder = None if checkpoint is None else Path(checkpoint) / _digest(train, x, truth, m, seed, held, threads)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    jobs = [(i, j) for j in range(repetitions) for i in range(len(levels))]
    twice = (len(levels) - 1, 0) if check_seed else None
    todo = [(place, False) for place in jobs] + ([] if twice is None else [(twice, True)])
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    # Not every backend can hand over one training at a time.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered" if one_by_one else "list")(
        delayed(_one)(_Task(fit, x, truth, m, float(levels[i]), seed, j, held, folder, threads, again), (i, j))
        for (i, j), again in todo
    )
    shape = (len(levels), repetitions)
    noisy, clean = (np.zeros((*shape, len(truth)), dtype=bool) for _ in range(2))
    right = np.zeros((*shape, 0 if held is None else len(held[1])), dtype=bool)
    done, failures, repeated = np.zeros(shape, dtype=bool), [], None
    # The limit stands around all of them too, since workers that are threads share one process.
    with limited_threads(threads), plain_bar(len(todo), name, unit="trainings", shown=progress) as bar:
        for (i, j), again, result in work:
            if again:
                repeated = result
            elif isinstance(result, str):
                failures.append(f"rate {levels[i]:g}, repetition {j}: {result}")
            else:
                noisy[i, j], clean[i, j], right[i, j] = result
                done[i, j] = True
            bar.update(1)
    if twice is not None and done[twice] and repeated is not None and not isinstance(repeated, str):
        _check_repeated(clean[twice], noisy[twice], repeated)
    return Retrainings(
        rates=levels,
        noisy_right=noisy,
        clean_right=clean,
        validation_right=right,
        failures=tuple(sorted(failures)),
        done=done,
    )


def _check_repeated(clean: NDArray[np.bool_], noisy: NDArray[np.bool_], repeated: _Answers) -> None:
    """The same labels and the same seed must give the same model."""
    differ = float(((repeated[1] != clean) | (repeated[0] != noisy)).mean())
    if differ > 0:
        raise InputError(
            f"the training ignores its seed: done twice with equal labels and equal seed, it answers {differ:.2%} of "
            "its examples otherwise. Seed every generator it uses (numpy, torch, ...) from `seed`; where it cannot be "
            "repeated at all, as on some GPUs, go on with check_seed=False (--no-seed-check)."
        )


def as_train(train: Any) -> Train:
    """A function (x, y, seed) -> predictor from that or from a scikit-learn estimator."""
    if hasattr(train, "fit") and hasattr(train, "get_params"):
        return _Estimator(train)
    if not callable(train):
        raise InputError(
            f"`train` is a {type(train).__name__}; a scikit-learn estimator or a function (x, y, seed) is needed."
        )
    function: Train = train
    return function


@dataclass(frozen=True)
class _Estimator:
    """Clones an estimator, seeds it where it can be, and fits it."""

    estimator: Any

    def __call__(self, x: Any, y: NDArray[Any], seed: int) -> Any:
        from sklearn.base import clone

        fresh = clone(self.estimator)
        seeded = {name: seed for name in fresh.get_params() if name.split("__")[-1] == "random_state"}
        return fresh.set_params(**seeded).fit(x, y)


_Answers = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]  # noisy, clean, validation


@dataclass(frozen=True, eq=False)
class _Task:
    """Everything that one training needs."""

    train: Train
    x: Any
    truth: NDArray[Any]
    m: int
    rate: float
    seed: int
    repetition: int
    validation: tuple[Any, NDArray[Any]] | None
    folder: Path | None
    threads: int
    again: bool  # a second time, to see whether it comes out the same


def _one(task: _Task, place: tuple[int, int]) -> tuple[tuple[int, int], bool, _Answers | str]:
    """One training, or what was kept of it, or why it failed."""
    path = None
    if task.folder is not None:
        path = task.folder / f"rate{task.rate:.6f}-{task.repetition}{'-again' if task.again else ''}.npz"
        if path.exists():
            kept = read_npz(path)
            v = 0 if task.validation is None else len(task.validation[1])
            sizes = (("noisy", len(task.truth)), ("clean", len(task.truth)), ("validation", v))
            noisy, clean, held = (_unpack(kept[key], n) for key, n in sizes)
            return place, task.again, (noisy, clean, held)
    rng = np.random.default_rng([task.seed, round(task.rate * 1_000_000), task.repetition])
    targets = noisy_labels(task.truth, task.rate, classes=task.m, rng=rng)
    held = np.zeros(0, dtype=bool)
    try:
        with limited_threads(task.threads):
            predictor = task.train(task.x, targets, int(rng.integers(2**31)))
            said = predictions(predictor, task.x, len(task.truth))
            if task.validation is not None:
                x, y = task.validation
                held = predictions(predictor, x, len(y)) == y
    except InputError:
        raise
    except Exception as error:  # the user's own code; the other trainings go on
        return place, task.again, f"{type(error).__name__}: {error} ({_where(error)})"
    noisy, clean = said == targets, said == task.truth
    if path is not None:
        bits = {"noisy": noisy, "clean": clean, "validation": held}
        write_npz(path, {key: np.packbits(value) for key, value in bits.items()})
    return place, task.again, (noisy, clean, held)


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Arithmetic libraries that are loaded use no more threads than this."""
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 0
    if torch is not None:
        torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)


def predictions(predictor: Any, x: Any, n: int) -> NDArray[Any]:
    """(n,) labels that a predictor gives, from labels or from scores."""
    said = np.asarray(predictor.predict(x) if hasattr(predictor, "predict") else predictor(x))
    if said.ndim == 2 and len(said) == n:
        return np.asarray(said.argmax(axis=1))
    if said.shape != (n,):
        raise InputError(
            f"a predictor returned the shape {said.shape} for {n:,} examples; labels (n,) or scores (n, classes) are "
            "needed."
        )
    return said


def check_rates(rates: Sequence[float]) -> NDArray[np.float64]:
    """Rates begin at 0 and grow, or there is one alone."""
    levels = np.asarray(rates, dtype=np.float64)
    grow = levels.ndim == 1 and len(levels) > 0 and (np.diff(levels) > 0).all()
    alone = grow and len(levels) == 1 and levels[0] > 0
    if not grow or not (alone or (len(levels) > 1 and levels[0] == 0)) or levels[-1] > 1:
        given = ", ".join(f"{r:g}" for r in levels.ravel()) or "none"
        raise InputError(f"rates of label noise are {given}; they begin at 0, grow, and end at 1 at most.")
    return levels


def _unpack(bits: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits)[:n].astype(bool)


def _where(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"


def _digest(train: Any, x: Any, truth: NDArray[Any], m: int, seed: int, validation: Any, threads: int) -> str:
    """Tells one run's trainings from another's: model, data, classes and seed; rates and repetitions may differ."""
    import joblib

    name = repr(train) if hasattr(train, "get_params") else getattr(train, "__qualname__", type(train).__qualname__)
    found: str = joblib.hash((name, x, truth, m, seed, validation, threads))
    return found[:16]
