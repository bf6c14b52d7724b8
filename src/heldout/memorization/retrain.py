"""Train from scratch on labels that are more and more wrong: PMV and PTV in the same pass.

A training is a job of its own: it depends on (seed, rate, repetition) alone, is kept as soon as it is done, and is not
done again. So any number of workers gives the same result, and a run that was killed goes on where it was.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checkpoints import Checkpoint, CheckpointFolder, hash_of
from heldout.checks import check_count, check_labels, check_n_jobs, number_labels
from heldout.checks import check_seed as check_seed_of
from heldout.errors import InputError, told
from heldout.memorization.label_noise import check_noise, noisy_labels
from heldout.progress import plain_bar
from heldout.scorers import TorchScorer
from heldout.workers import guard, interrupts_held

Train = Callable[[Any, NDArray[Any], int], Any]  # (x, y, seed) -> predictor
KEPT = ("noisy", "clean", "validation")  # of a training, in its file
MOST_REPETITIONS, MOST_CLASSES = 10_000, 1_000_000
HOPELESS = 3  # failures without a success after which the others are not tried


class NotRepeatable(InputError):
    """A training that ignores its seed: what is kept of it is refused again, unless nobody checks."""


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
    wrong : (r, s, n) bool
        Whether the label it was trained on is not the true one.
    validation_right : (r, s, v) bool
        Whether it is right on each validation example; v = 0 without any.
    failures : tuple of str
        Trainings that raised: "rate 0.3, repetition 2: ValueError: ...". Their rows are False and must not be used.
    done : (r, s) bool
        Which trainings ended well.
    repeats : bool
        Whether a training that was done twice came out the same; False where that was not tried, or failed.
    """

    rates: NDArray[np.float64]
    noisy_right: NDArray[np.bool_]
    clean_right: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    validation_right: NDArray[np.bool_]
    failures: tuple[str, ...]
    done: NDArray[np.bool_]
    repeats: bool

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
    on_failure: Callable[[str], None] | None = None,
    progress: bool = False,
) -> Retrainings:
    """Train a model at every rate of label noise, several times.

    Parameters
    ----------
    train : scikit-learn estimator, or function (x, y, seed) -> predictor
        An estimator is cloned and given its `random_state`, where it has one. A predictor is a torch module, a
        function of x, or has a method `predict`; it returns labels (n,) or scores (n, classes).
    x, labels
        The training set; x goes to `train` as it is.
    rates : sequence of float
        Shares of wrong labels, beginning with 0 and growing; or one alone.
    repetitions : int
        Trainings per rate, each with labels and a seed of its own.
    n_jobs : int, optional
        Workers, as joblib counts them (-1: one for each core), on whatever backend `joblib.parallel_config` says;
        default 1, or what that says.
    threads : int
        Of each training's own arithmetic (BLAS, OpenMP, torch): sums depend on it in the last bits, so it does not
        depend on the workers.
    check_seed : bool
        Do one training twice and stop where the two differ, since then nothing here could be repeated.
    checkpoint : path, optional
        Folder in which every finished training is kept, and looked for. One that is damaged, or of other data, another
        seed or other parameters, is refused; more rates and repetitions may be asked for. Of a function only the name
        is known, so a changed one needs another folder.
    on_failure : callable, optional
        Gets the traceback of every training that raises, as text.
    """
    check_count(repetitions, "repetitions", most=MOST_REPETITIONS)
    check_count(threads, "threads")
    check_seed_of(seed)
    if n_jobs is not None:
        check_n_jobs(n_jobs)
    fit, levels = as_train(train), check_rates(rates)
    data = _checked(x, labels, classes, levels, validation)
    kept = CheckpointFolder()
    if checkpoint is not None:
        kept = CheckpointFolder(Path(checkpoint), "training", fingerprint=_fingerprint(train, data, seed, threads))
    places = [(i, j, False) for j in range(repetitions) for i in range(len(levels))]
    if check_seed:
        places += [(i, 0, True) for i in sorted({0, len(levels) - 1})]
    tasks = [
        (_Task(fit, name, data, float(levels[i]), seed, j, kept, threads, again), (i, j, again))
        for i, j, again in places
    ]
    # All that is kept is read before the first training takes its time: what is damaged or another's is refused here.
    done: list[_Done] = [(place, found) for task, place in tasks if (found := _kept(task)) is not None]
    finished = {place for place, _ in done}
    todo = [(task, place) for task, place in tasks if place not in finished]
    from joblib import Parallel, delayed, effective_n_jobs
    from joblib.externals.loky.process_executor import BrokenProcessPool
    from joblib.parallel import get_active_backend

    # Not every backend can hand over one training at a time.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    several = effective_n_jobs(n_jobs) > 1
    # The limit stands around all of them too, since workers that are threads share one process.
    with limited_threads(threads), plain_bar(len(places), name, unit="trainings", shown=progress) as bar:
        try:
            with interrupts_held() if several and one_by_one else nullcontext():
                work = Parallel(
                    n_jobs=n_jobs,
                    return_as="generator_unordered" if one_by_one else "list",
                    **(guard() if several else {}),
                )(delayed(_one)(task, place) for task, place in todo)
            if done:
                bar.resumed(len(done))
            try:
                return _gathered(done, work, data, levels, repetitions, seed, name, bar, on_failure, checkpoint)
            except InputError:
                with warnings.catch_warnings(action="ignore"):  # joblib's, that the others are not done
                    getattr(work, "close", list)()
                raise
        except (BrokenProcessPool, PicklingError) as error:
            raise InputError(
                f"{name}: a worker died, or could not take the training over ({type(error).__name__}): no memory, or "
                "code that only this process knows. What was finished is kept; try fewer workers."
            ) from error


@dataclass(frozen=True, eq=False)
class _Data:
    """A training set that was looked at, the labels that may occur, and fresh examples."""

    x: Any
    truth: NDArray[np.int64]
    occur: NDArray[np.int64]
    validation: tuple[Any, NDArray[np.int64]] | None


def _checked(
    x: Any,
    labels: ArrayLike,
    classes: int | None,
    levels: NDArray[np.float64],
    validation: tuple[Any, ArrayLike] | None,
) -> _Data:
    """InputError for data that cannot be trained on."""
    numbers, names = number_labels(labels)
    classes = None if classes is None else check_count(classes, "classes", least=2, most=MOST_CLASSES)
    truth = check_labels(numbers, count=count(x), classes=classes)
    # Without a number of classes a wrong label is one of the others that occur.
    occur = np.unique(truth) if classes is None else np.arange(classes)
    check_noise(truth, levels, n_classes=len(occur))
    held = None
    if validation is not None:
        what = "the labels of `validation`"
        fresh, found = number_labels(validation[1], names, what=what)
        if (found is None) != (names is None):
            kinds = ("numbers", "names") if names is None else ("names", "numbers")
            raise InputError(f"{what} are {kinds[1]}, but those of the training set {kinds[0]}; give both alike.")
        held = (validation[0], check_labels(fresh, count=count(validation[0]), what=what))
    return _Data(x, truth, occur, held)


def _gathered(
    kept: Sequence[_Done],
    work: Iterable[_Done],
    data: _Data,
    levels: NDArray[np.float64],
    repetitions: int,
    seed: int,
    name: str,
    bar: Any,
    on_failure: Callable[[str], None] | None,
    folder: str | Path | None,
) -> Retrainings:
    """What all trainings said, in the order of rates and repetitions."""
    shape = (len(levels), repetitions)
    noisy, clean = (np.zeros((*shape, len(data.truth)), dtype=bool) for _ in range(2))
    right = np.zeros((*shape, 0 if data.validation is None else len(data.validation[1])), dtype=bool)
    done, failures = np.zeros(shape, dtype=bool), []
    repeated: dict[tuple[int, int], _Answers | _Failure] = {}
    for number, ((i, j, again), result) in enumerate(chain(kept, work)):
        if again:
            repeated[i, j] = result
        elif isinstance(result, _Failure):
            failures.append(f"rate {levels[i]:g}, repetition {j}: {result.told}")
            if on_failure is not None:
                on_failure(result.trace)
            if len(failures) == HOPELESS and not done.any():
                raise InputError(f"{name}: the first {HOPELESS} trainings all failed; one of them: {failures[0]}.")
        else:
            noisy[i, j], clean[i, j], right[i, j] = result
            done[i, j] = True
        bar.update(int(number >= len(kept)))
    checked = False
    for place, result in repeated.items():
        if done[place] and not isinstance(result, _Failure):
            _check_repeated((noisy[place], clean[place], right[place]), result, name, folder)
            checked = True
    wrong = np.zeros_like(noisy)
    for i, j in np.ndindex(*shape):
        rate = float(levels[i])
        wrong[i, j] = _targets(data.truth, data.occur, rate, _generator(seed, rate, j)) != data.truth
    return Retrainings(
        rates=levels,
        noisy_right=noisy,
        clean_right=clean,
        wrong=wrong,
        validation_right=right,
        failures=tuple(sorted(failures)),
        done=done,
        repeats=checked,
    )


def _check_repeated(answers: _Answers, repeated: _Answers, name: str, folder: str | Path | None) -> None:
    """The same labels and the same seed must give the same model, on its own examples and on fresh ones."""
    (noisy, clean, held), (noisy_too, clean_too, held_too) = answers, repeated
    own, fresh = (clean_too != clean) | (noisy_too != noisy), held_too != held
    if not own.any() and not fresh.any():
        return
    told = f"{own.mean():.2%} of its examples" if own.any() else f"{fresh.mean():.2%} of the validation examples"
    anew = taken = ""
    if folder is not None:
        anew = f" and delete {folder}, since trainings that are kept are compared again as they are"
        taken = ", which takes what is kept as it is"
    raise NotRepeatable(
        f"{name}: the training ignores its seed: done twice with equal labels and equal seed, it answers {told} "
        f"otherwise. Seed every generator it uses (numpy, torch, ...) from `seed`{anew}; where it cannot be repeated "
        f"at all, as on some GPUs, go on with `check_seed=False`{taken}."
    )


def as_train(train: Any) -> Train:
    """A function (x, y, seed) -> predictor from that or from a scikit-learn estimator."""
    if hasattr(train, "fit") and hasattr(train, "get_params"):
        return _Estimator(train)
    if not callable(train):
        raise InputError(
            f"`train` is a {type(train).__name__}; a scikit-learn estimator or a function (x, y, seed) is needed."
        )
    try:
        inspect.signature(train).bind(None, None, 0)
    except TypeError as error:
        raise InputError(f"a training is called with (x, y, seed), but {name_of(train)} {error}.") from error
    except ValueError:  # no signature to be had
        pass
    function: Train = train
    return function


def name_of(train: Any) -> str:
    """What a training is called where nobody says."""
    return str(getattr(train, "__name__", type(train).__name__))


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
    name: str
    data: _Data
    rate: float
    seed: int
    repetition: int
    kept: CheckpointFolder
    threads: int
    again: bool  # a second time, to see whether it comes out the same

    @property
    def checkpoint(self) -> Checkpoint:
        """Where its answers are kept."""
        name = f"rate{self.rate:.6f}-{self.repetition}{'-again' if self.again else ''}"
        return self.kept.file(name, rate=self.rate, repetition=self.repetition)


_Place = tuple[int, int, bool]  # rate, repetition, and whether it is done again
_Done = tuple[_Place, "_Answers | _Failure"]


@dataclass(frozen=True)
class _Failure:
    """Why a training failed, in a sentence and with the lines of the user's code that led there."""

    told: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> _Failure:
        """As text, which a worker can hand over."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
        own = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)  # without the frame of ours
        return cls(f"{told(error)} ({where})", "".join(traceback.format_exception(own)).rstrip())


def _kept(task: _Task) -> _Answers | None:
    """What a training that was finished before answered."""
    data, n = task.data, len(task.data.truth)
    stored = task.checkpoint.load()
    if stored is None:
        return None
    try:
        v = 0 if data.validation is None else len(data.validation[1])
        noisy, clean, held = (_unpack(stored[key], size) for key, size in zip(KEPT, (n, n, v), strict=True))
    except (KeyError, ValueError) as error:
        raise task.checkpoint.damaged(error) from error
    return noisy, clean, held


def _one(task: _Task, place: _Place) -> _Done:
    """One training, or why it failed."""
    data, n = task.data, len(task.data.truth)
    rng = _generator(task.seed, task.rate, task.repetition)
    targets = _targets(data.truth, data.occur, task.rate, rng)
    held = np.zeros(0, dtype=bool)
    classes = int(data.occur.max()) + 1
    try:
        with limited_threads(task.threads):
            # Copies: what a training does to its data must not reach the next one, nor what it is judged by.
            own = data.x.copy() if hasattr(data.x, "copy") else data.x
            predictor = task.train(own, targets.copy(), int(rng.integers(2**31)))
            said = predictions(predictor, data.x, n, classes)
            if data.validation is not None:
                x, y = data.validation
                held = predictions(predictor, x, len(y), classes) == y
    except InputError as error:
        raise InputError(f"{task.name}: {error}") from error
    except (Exception, SystemExit) as error:  # the user's own code; the other trainings go on
        return place, _Failure.of(error)
    answers = said == targets, said == data.truth, held
    task.checkpoint.save({key: np.packbits(bits) for key, bits in zip(KEPT, answers, strict=True)})
    return place, answers


def _generator(seed: int, rate: float, repetition: int) -> np.random.Generator:
    """Of a training's labels and seed: the same for every model, so that models are compared on the same labels."""
    return np.random.default_rng([seed, 4, round(rate * 1_000_000), repetition])


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


def _targets(
    truth: NDArray[np.int64], occur: NDArray[np.int64], rate: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Labels to train on: a share of them replaced by other labels that occur."""
    if len(truth) and not np.isin(truth, occur).all():
        noisy_labels(truth, 0.0, classes=len(occur), rng=rng)  # says so
    return np.asarray(occur[noisy_labels(np.searchsorted(occur, truth), rate, classes=len(occur), rng=rng)])


def _answer(predictor: Any, x: Any) -> Any:
    """What a predictor says: an estimator, a torch module, or a function."""
    if hasattr(predictor, "predict"):
        return predictor.predict(x)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(predictor, torch.nn.Module):
        batch = np.asarray(x, dtype=np.float32)
        scorer = TorchScorer(predictor, channels_last=batch.ndim == 4, prepare=False)
        parts = range(0, len(batch), scorer.batch_size)
        return np.concatenate([scorer.logits(batch[i : i + scorer.batch_size]) for i in parts])
    if not callable(predictor):
        raise InputError(
            f"the training returned a {type(predictor).__name__}; a predictor is needed: something with `predict`, a "
            "torch module, or a function from x to labels (n,) or scores (n, classes)."
        )
    return predictor(x)


def count(x: Any) -> int:
    """Examples in an array, a table or a list."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def predictions(predictor: Any, x: Any, n: int, classes: int) -> NDArray[np.int64]:
    """(n,) labels that a predictor gives, from labels or from scores; InputError for anything else."""
    said = np.asarray(_answer(predictor, x))
    if said.ndim == 2 and said.shape[1] == 1 and said.dtype.kind in "iub":
        said = said[:, 0]
    if said.ndim == 2 and len(said) == n and said.dtype.kind in "fiu":
        if said.shape[1] < classes:
            raise InputError(
                f"a predictor knows {said.shape[1]} classes, the labels {classes}; one score each is needed."
            )
        if not np.isfinite(said).all():
            raise ArithmeticError("its scores are NaN or infinite: the training diverged")
        return np.asarray(said.argmax(axis=1), dtype=np.int64)
    if said.shape != (n,):
        raise InputError(
            f"a predictor returned the shape {said.shape} for {n:,} examples; labels (n,) or scores (n, classes) are "
            "needed."
        )
    if said.dtype.kind not in "iubf" or not np.array_equal(said, np.round(said)):
        raise InputError(
            f"a predictor returned values of type {said.dtype} that are no labels; whole numbers are needed."
        )
    return said.astype(np.int64)


def check_rates(rates: Sequence[float]) -> NDArray[np.float64]:
    """Rates begin at 0 and grow, or there is one alone."""
    levels = np.asarray(rates, dtype=np.float64)
    grow = levels.ndim == 1 and len(levels) > 0 and (np.diff(levels) > 0).all()
    alone = grow and len(levels) == 1 and levels[0] > 0
    if not grow or not (alone or (len(levels) > 1 and levels[0] == 0)) or levels[-1] > 1:
        given = ", ".join(f"{r:g}" for r in levels.ravel()) or "none"
        raise InputError(
            f"rates of label noise are {given}; give 0 and at least one larger rate, growing, up to 1, or "
            "one rate above 0 alone."
        )
    return levels


def _unpack(bits: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits)[:n].astype(bool)


def _fingerprint(train: Any, data: _Data, seed: int, threads: int) -> dict[str, Any]:
    """Everything that changes the bits of a training, but its rate and repetition."""
    if hasattr(train, "get_params"):
        known: Any = train.get_params(deep=True)
        name = type(train).__qualname__
    else:
        named = getattr(train, "__qualname__", None)
        known, name = (None, f"{getattr(train, '__module__', '')}.{named}") if named else (train, type(train).__name__)
    return {
        "training": name,
        "parameters": _hashed(known),
        "examples": _hashed(data.x),
        "labels": _hashed(data.truth),
        "classes": _hashed(data.occur),
        "validation": _hashed(data.validation),
        "seed": seed,
        "threads": threads,
    }


def _hashed(value: Any) -> str:
    try:
        return hash_of(value)
    except Exception as error:
        raise InputError(
            f"a checkpoint must be told from another, but the training cannot be hashed ({type(error).__name__}); give "
            "a plain function, or no checkpoint."
        ) from error
