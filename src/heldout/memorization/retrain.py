"""Train from scratch on labels that are more and more wrong: PMV and PTV in the same pass.

A training is a job of its own: it depends on (seed, rate, repetition) alone, is kept as soon as it is done, and is not
done again. So any number of workers gives the same result, and a run that was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Sequence
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
    validation : (r, s) float
        Accuracy on the validation set; NaN without one.
    failures : tuple of str
        Trainings that raised: "rate 0.3, repetition 2: ValueError: ...". Their rows are False and must not be used.
    done : (r, s) bool
        Which trainings ended well.
    """

    rates: NDArray[np.float64]
    noisy_right: NDArray[np.bool_]
    clean_right: NDArray[np.bool_]
    validation: NDArray[np.float64]
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
    n_jobs: int = 1,
    checkpoint: str | Path | None = None,
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
        Shares of wrong labels, beginning with 0 and growing.
    repetitions : int
        Trainings a rate, each with labels and a seed of its own.
    n_jobs : int
        Workers, as joblib counts them.
    checkpoint : path, optional
        Folder in which finished trainings are kept, and looked for.
    """
    truth = np.asarray(labels)
    m = int(truth.max()) + 1 if classes is None else classes
    levels = _check_rates(rates)
    noisy_labels(truth, 0.0, classes=m, rng=np.random.default_rng(0))  # complains of bad labels
    if repetitions < 1:
        raise InputError(f"`repetitions` is {repetitions}; at least 1 is needed.")
    fit = as_train(train)
    folder = None if checkpoint is None else Path(checkpoint) / _digest(train, x, truth, m, seed, validation)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    jobs = [(i, j) for j in range(repetitions) for i in range(len(levels))]
    held = None if validation is None else (validation[0], np.asarray(validation[1]))
    from joblib import Parallel, delayed

    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_one)(fit, x, truth, m, float(levels[i]), seed, j, held, folder, (i, j)) for i, j in jobs
    )
    shape = (len(levels), repetitions)
    noisy, clean = (np.zeros((*shape, len(truth)), dtype=bool) for _ in range(2))
    accuracy, done, failures = np.full(shape, np.nan), np.zeros(shape, dtype=bool), []
    with plain_bar(len(jobs), "trainings", unit="trainings", shown=progress) as bar:
        for (i, j), result in work:
            if isinstance(result, str):
                failures.append(f"rate {levels[i]:g}, repetition {j}: {result}")
            else:
                noisy[i, j], clean[i, j], accuracy[i, j] = result
                done[i, j] = True
            bar.update(1)
    return Retrainings(
        rates=levels,
        noisy_right=noisy,
        clean_right=clean,
        validation=accuracy,
        failures=tuple(sorted(failures)),
        done=done,
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


def _one(
    train: Train,
    x: Any,
    truth: NDArray[Any],
    m: int,
    rate: float,
    seed: int,
    repetition: int,
    validation: tuple[Any, NDArray[Any]] | None,
    folder: Path | None,
    place: tuple[int, int],
) -> tuple[tuple[int, int], tuple[NDArray[np.bool_], NDArray[np.bool_], float] | str]:
    """One training, or what was kept of it, or why it failed."""
    path = None if folder is None else folder / f"rate{rate:.6f}-{repetition}.npz"
    if path is not None and path.exists():
        kept = read_npz(path)
        n = len(truth)
        return place, (_unpack(kept["noisy"], n), _unpack(kept["clean"], n), float(kept["validation"]))
    rng = np.random.default_rng([seed, round(rate * 1_000_000), repetition])
    targets = noisy_labels(truth, rate, classes=m, rng=rng)
    try:
        predictor = train(x, targets, int(rng.integers(2**31)))
        said = predictions(predictor, x, len(truth))
        held = np.nan if validation is None else _accuracy(predictor, validation)
    except InputError:
        raise
    except Exception as error:  # the user's own code; the other trainings go on
        return place, f"{type(error).__name__}: {error} ({_where(error)})"
    noisy, clean = said == targets, said == truth
    if path is not None:
        write_npz(path, {"noisy": np.packbits(noisy), "clean": np.packbits(clean), "validation": np.array(float(held))})
    return place, (noisy, clean, float(held))


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


def _accuracy(predictor: Any, validation: tuple[Any, NDArray[Any]]) -> float:
    x, y = validation
    return float((predictions(predictor, x, len(y)) == y).mean())


def _check_rates(rates: Sequence[float]) -> NDArray[np.float64]:
    levels = np.asarray(rates, dtype=np.float64)
    if levels.ndim != 1 or len(levels) == 0 or levels[0] != 0 or (np.diff(levels) <= 0).any() or levels.max() > 1:
        given = ", ".join(f"{r:g}" for r in levels.ravel())
        raise InputError(f"rates of label noise are {given}; they begin at 0, grow, and end at 1 at most.")
    return levels


def _unpack(bits: NDArray[np.uint8], n: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits)[:n].astype(bool)


def _where(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}"


def _digest(train: Any, x: Any, truth: NDArray[Any], m: int, seed: int, validation: Any) -> str:
    """Tells one run's trainings from another's: model, data, classes and seed; rates and repetitions may differ."""
    name = repr(train) if hasattr(train, "get_params") else getattr(train, "__qualname__", type(train).__qualname__)
    h = hashlib.sha256(f"{name} {m} {seed} {validation is not None}".encode())
    for array in (np.asarray(x), truth):
        h.update(f"{array.shape} {array.dtype}".encode())
        h.update(np.ascontiguousarray(array).tobytes())
    return h.hexdigest()[:16]
