"""Curves of a model that is trained from scratch on labels that are more and more wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checkpoints import hash_of
from heldout.checks import check_labels, number_labels
from heldout.errors import InputError
from heldout.groups import group_codes
from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.retrain import Retrainings, count, name_of, retrain

ENOUGH = 5  # trainings per rate, of which an interval can be made
LEAST = 0.8  # of what a method would reach that learned from the true labels alone
HALF = 0.5  # of the labels, without noise


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelNoiseCurve:
    """What retraining on noisy labels tells: two curves from the same trainings.

    Parameters
    ----------
    pmv : Curve
        Accuracy on the labels that were trained on (perturbed model validation).
    ptv : Curve
        Accuracy on the true labels (perturbed training validation).
    validation_right : (s, v) bool
        Whether the trainings without noise are right on each validation example; v = 0 without any.
    failures : tuple of str
        Trainings that raised.
    notes : tuple of str
        What was noticed: sentences.
    validation_examples : str
        A hash of the validation examples.
    validation_groups : (v,) int, optional
        Codes of their groups.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from heldout import label_noise_curve
    >>> rng = np.random.default_rng(0)
    >>> data = rng.random((100, 3)), rng.integers(0, 4, 100)
    >>> noise = label_noise_curve(KNeighborsClassifier(1), data, [0, 0.5], repetitions=1)
    >>> noise.model, noise.pmv.accuracy.tolist(), noise.ptv.accuracy.tolist()
    ('KNeighborsClassifier', [1.0, 1.0], [1.0, 0.5])
    """

    pmv: Curve
    ptv: Curve
    validation_right: NDArray[np.bool_]
    failures: tuple[str, ...]
    notes: tuple[str, ...]
    validation_examples: str = ""
    validation_groups: NDArray[np.intp] | None = None

    @property
    def model(self) -> str:
        """Its name."""
        return self.pmv.model


def label_noise_curve(
    train: Any,
    data: tuple[Any, ArrayLike],
    rates: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    *,
    name: str | None = None,
    classes: int | None = None,
    repetitions: int = 5,
    seed: int = 0,
    validation: tuple[Any, ArrayLike] | None = None,
    groups: ArrayLike | None = None,
    validation_groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    threads: int = 1,
    check_seed: bool = True,
    checkpoint: str | Path | None = None,
    on_failure: Callable[[str], None] | None = None,
    progress: bool = False,
) -> LabelNoiseCurve:
    """Train from scratch at every rate of wrong labels; accuracy on those labels (PMV) and on the true ones (PTV).

    Parameters
    ----------
    train : scikit-learn estimator, or function (x, y, seed) -> predictor
        An estimator is cloned and given its `random_state`, where it has one. A predictor is a torch module, a
        function of x, or has a method `predict`; it returns labels (n,) or scores (n, classes).
    data : (x, y)
        The training set, labels from 0.
    rates : sequence of float
        Shares of wrong labels, beginning with 0 and growing. One rate alone, greater than 0, gives PTV as (1 - A) / r,
        the slope from an accuracy of 1 without noise: at least the slope there would be from the true one.
    name : str, optional
        What the model is called; the estimator's or function's name without.
    classes : int, optional
        How many there are, where the labels do not have them all.
    repetitions : int
        Trainings per rate; intervals need at least 5.
    seed : int
        Of the wrong labels and the trainings.
    validation : (x, y), optional
        Fresh examples, for the gap between them and the training set.
    groups, validation_groups : (n,) and (v,) text or whole numbers, optional
        The group of each example, where examples depend on each other (frames of a video, crops of a patient);
        intervals and comparisons then are for groups drawn anew.
    n_jobs : int, optional
        Worker processes, as joblib counts them (-1: one for each core), on whatever backend `joblib.parallel_config`
        says; default 1, or what that says. The result does not depend on it.
    threads : int
        Of each training's own arithmetic: sums depend on it in the last bits, so it does not depend on the workers.
    check_seed : bool
        Do two trainings twice and stop where they differ, since then nothing here could be repeated.
    checkpoint : path, optional
        Folder in which every finished training is kept, and looked for.
    on_failure : callable, optional
        Gets the traceback of every training that raises, as text; the others go on.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    LabelNoiseCurve
        `pmv` and `ptv`, two curves from the same trainings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from heldout import label_noise_curve
    >>> rng = np.random.default_rng(0)
    >>> data = rng.random((200, 3)), rng.integers(0, 4, 200)
    >>> curve = label_noise_curve(KNeighborsClassifier(1), data, [0, 0.25, 0.5], repetitions=1)
    >>> round(curve.pmv.estimates["k_S"].value, 6), round(curve.ptv.estimates["k_PTV"].value, 6)
    (0.0, 1.0)
    """
    x, y = data
    label = name or name_of(train)
    codes = None if groups is None else group_codes(groups, count(x))
    held_codes = None
    if validation is not None and validation_groups is not None:
        held_codes = group_codes(validation_groups, count(validation[0]), what="validation_groups")
    found = retrain(
        train,
        x,
        y,
        rates,
        classes=classes,
        repetitions=repetitions,
        seed=seed,
        validation=validation,
        n_jobs=n_jobs,
        threads=threads,
        check_seed=check_seed,
        checkpoint=checkpoint,
        name=label,
        on_failure=on_failure,
        progress=progress,
    )
    if not found.done.any():
        raise InputError(f"{label}: every training failed; the first: {found.failures[0]}.")
    validated = found.rates[0] == 0 and validation is not None
    key = _key(x, y, classes, seed)
    unfit = does_not_fit(found, label)
    return LabelNoiseCurve(
        pmv=_curve(found, label, PMV, seed, codes, key, unfit),
        ptv=_curve(found, label, PTV, seed, codes, key, unfit),
        validation_right=found.validation_right[0][found.done[0]] if validated else np.zeros((0, 0), bool),
        failures=tuple(f"{label}, {failure}" for failure in found.failures),
        notes=tuple(_notes(found, label, own=not hasattr(train, "get_params"), asked=check_seed)),
        validation_examples=_key(*validation, None, 0) if validation is not None else "",
        validation_groups=held_codes,
    )


def _key(x: Any, y: ArrayLike, classes: int | None, seed: int) -> str:
    """Equal for equal examples in equal order with equal labels, wrong ones included; "" where nobody can tell.

    scikit-learn's methods get the same pictures flattened, so the shape of one example does not matter.
    """
    truth = check_labels(number_labels(y)[0])
    try:
        table = np.asarray(x)
        table = np.ascontiguousarray(table).reshape(len(truth), -1) if table.dtype.kind in "biufc" else x
        return hash_of(table, truth, classes, seed)
    except Exception:  # examples that cannot be hashed
        return ""


def does_not_fit(found: Retrainings, name: str) -> str | None:
    """Why a method does not fit the labels it is trained on, so that noise in them says nothing of its memory; or None.

    A method that learned from the true labels among them alone, and fell for none of the wrong ones, would be right on
    a share (1 - r) A of the labels it is trained on at a rate r of wrong ones, A being its accuracy without noise; one
    that memorises, on more. Whoever is right on less than `LEAST` of that at some rate does not fit its labels: its
    accuracy on the true labels falls because it breaks down, not because it learns wrong ones by heart. (On
    scikit-learn's digits Gaussian naive Bayes comes to 0.50; nearest neighbours, trees, linear models and boosting to
    0.95 and more.) Nor does a method fit that is right on fewer than `HALF` of its labels without noise: its slope k_S
    is small because there is nothing left to fall. Without A, which a single rate of noise does not tell, neither is
    known.
    """
    if not _measured_without_noise(found):
        return None
    pmv = np.array([row[ok].mean() if ok.any() else np.nan for row, ok in zip(found.pmv, found.done, strict=True)])
    clean = float(pmv[0])
    opening = f"{name} does not fit its labels"
    after = "so label noise says nothing of its memory, and it is not ranked by it."
    if clean < HALF:
        return f"{opening}: without noise it is right on {clean:.2f} of those it is trained on; {after}"
    reached = pmv / np.maximum((1 - found.rates) * clean, 1e-12)
    reached[found.rates >= 1] = np.nan
    if np.isnan(reached).all() or float(np.nanmin(reached)) >= LEAST:
        return None
    at = int(np.nanargmin(reached))
    rate, wanted = found.rates[at], (1 - found.rates[at]) * clean
    return (
        f"{opening}: with a share of {rate:g} wrong it is right on {pmv[at]:.2f} of those it is trained on, where "
        f"having learned the true ones alone would give {wanted:.2f} ({reached[at]:.2f} of it, below {LEAST:g}); "
        f"{after}"
    )


def _measured_without_noise(found: Retrainings) -> bool:
    """Whether some training had the true labels, and ended well."""
    return bool(found.rates[0] == 0 and found.done[0].any())


def _curve(
    found: Retrainings, name: str, kind: str, seed: int, groups: NDArray[np.intp] | None, key: str, unfit: str | None
) -> Curve:
    rates, done = found.rates, found.done
    correct, wrong = found.noisy_right if kind == PMV else found.clean_right, found.wrong
    undefined = None
    if len(rates) == 1:
        if kind == PMV:
            undefined = "one rate has no slope."
        else:  # the line from an accuracy of 1 without noise
            rates, done = np.append(0.0, rates), np.concatenate([np.ones_like(done), done])
            correct = np.concatenate([np.ones_like(correct), correct])
            wrong = np.concatenate([np.zeros_like(wrong), wrong])
    return Curve.of(
        model=name,
        perturbation=kind,
        unit="share of wrong labels",
        strengths=rates,
        correct=correct,
        done=done,
        even=True,
        seed=seed,
        undefined=undefined,
        assumed=len(found.rates) == 1 and kind == PTV,
        wrong=wrong,
        groups=groups,
        examples=key,
        unfit=unfit,
    )


def few_trainings(repetitions: int) -> str:
    """What intervals and comparisons do not tell where a model was trained so often at each rate; empty if enough.

    Examples
    --------
    >>> few_trainings(1)
    'trained once at each rate, so intervals and comparisons tell how examples differ, not how trainings do; 5 \
trainings per rate are needed for that.'
    >>> few_trainings(5)
    ''
    """
    if repetitions >= ENOUGH:
        return ""
    times = "once" if repetitions == 1 else f"{repetitions} times"
    told = "how examples differ, not how trainings do" if repetitions == 1 else "too little of how trainings differ"
    why = f"{ENOUGH} trainings per rate are needed for that"
    return f"trained {times} at each rate, so intervals and comparisons tell {told}; {why}."


def _notes(found: Retrainings, name: str, *, own: bool, asked: bool) -> list[str]:
    """`own`: the training is the user's own function; `asked`: whether it repeats itself was to be seen."""
    few = few_trainings(found.done.shape[1])
    notes = [f"{name}: {few}"] if few else []
    if len(found.rates) == 1:
        notes.append(
            f"{name}: k_PTV from the rate {found.rates[0]:g} alone takes an accuracy of 1 without noise, so it is at "
            "least the slope there would be, if accuracy falls at all."
        )
    if not _measured_without_noise(found):
        notes.append(
            f"{name}: whether a method fits its labels cannot be told without trainings at the rate 0, and one that "
            "does not is ranked all the same."
        )
    if asked and not found.repeats:
        notes.append(f"{name}: whether a training repeats itself could not be seen, since those done twice failed.")
    lost = [f"{rate:g}" for rate, ok in zip(found.rates, found.done, strict=True) if not ok.any()]
    if lost:
        notes.append(
            f"{name}: every training at the rate {', '.join(lost)} failed; the slopes are those of the other rates."
        )
    right = found.clean_right[0][found.done[0]]
    if own and len(right) > 1 and found.rates[0] == 0 and (right == right[0]).all() and not right[0].all():
        notes.append(
            f"{name}: the same predictions for {len(right)} different seeds without noise; training is deterministic, "
            "or ignores its seed, and trainings differ by their labels alone."
        )
    return notes
