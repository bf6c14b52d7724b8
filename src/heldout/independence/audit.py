"""The audit itself: models and pictures in, evidence out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.independence.engine import Engine, Outcomes, score_batch, window
from heldout.independence.evidence import Examples, weigh
from heldout.independence.plan import TranslationPlan
from heldout.independence.preflight import preflight
from heldout.independence.result import AuditResult, Exhibit
from heldout.orbit import Rule, Translations, check_rule
from heldout.scorers import Scorer, as_scorer
from heldout.statistics import control_test
from heldout.statistics.checks import Alternative, check_alternative, check_tolerance

N_EXHIBITS = 12
SECONDS_BETWEEN_LINES = 30.0
Notify = Callable[[str], None]


class AuditOptions(TypedDict, total=False):
    """The options of `audit` and `audit_many`; see there."""

    rule: Rule
    control: LabelledImages | None
    alternative: Alternative
    tolerance: float
    seed: int
    limit: int | None
    batch_size: int | None
    n_resamples: int
    expect_accuracy: float | str | Sequence[float | str] | None
    allow_chance: bool
    checkpoint: str | Path | None
    resume: bool
    notify: Notify | None
    progress: bool


def audit(scorer: Any, images: LabelledImages, *, orbit: Translations, **options: Unpack[AuditOptions]) -> AuditResult:
    """Is this model independent of this test set?

    Parameters
    ----------
    scorer
        A `heldout.scorers.Scorer`, an .onnx path, a `torch.nn.Module`, a fitted scikit-learn
        classifier, or a function from a float32 batch to logits.
    images : LabelledImages
        The test set with its frame and pixel scale.
    orbit : Translations
        The moves.
    **options
        As in `audit_many`.

    Examples
    --------
    >>> from heldout.images import LabelledImages, Wrap, from_arrays
    >>> rng = np.random.default_rng(0)
    >>> pictures, labels = rng.random((40, 8, 8)), rng.integers(0, 2, 40)
    >>> def brightest_half(batch):
    ...     return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)
    >>> images = LabelledImages(from_arrays(pictures, labels), Wrap())
    >>> result = audit(brightest_half, images, orbit=Translations(1), allow_chance=True)
    >>> result.T.shape, result.test.counts["untouched"] + result.test.counts["adversarial"] > 0
    ((40,), True)
    """
    return audit_many([scorer], images, orbit=orbit, **options)


def audit_many(
    scorers: Sequence[Any],
    images: LabelledImages,
    *,
    orbit: Translations,
    rule: Rule = "strongest",
    control: LabelledImages | None = None,
    alternative: Alternative = "two-sided",
    tolerance: float = 0.0,
    seed: int = 0,
    limit: int | None = None,
    batch_size: int | None = None,
    n_resamples: int = 9999,
    expect_accuracy: float | str | Sequence[float | str] | None = None,
    allow_chance: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    notify: Notify | None = None,
    progress: bool = False,
) -> AuditResult:
    """Are these trainings of one architecture, on average, independent of this test set?

    T is averaged over models first, then tested (section 3.1 of v1);
    `AuditResult.n_model_test(group_size)` gives K p-values for K disjoint groups.

    Parameters
    ----------
    scorers : sequence
        Each as in `audit`.
    images, control : LabelledImages
        The test set; and fresh examples of the same source that were put aside at random before any
        training or selection. With a control the verdict is twice the smaller of two permutation
        p-values of test against control, on T and on the error rate; without one it is the betting
        test's, and rests on the assumption that shifts keep a picture's density.
    rule : {"strongest", "nearest", "random", "random2"}
    alternative : {"two-sided", "greater"}
        "greater" looks for overfitting only, and must be chosen before seeing results.
    tolerance : float
        Without a control: test abs(E T) <= tolerance.
    limit : int, optional
        Audit a random subset of this size (seeded), of the control too.
    n_resamples : int
        Random splits of the permutation tests; no p against a control is below 2 / (n_resamples + 1).
    expect_accuracy : float or str, optional
        Stop unless the plain accuracy on the whole test set equals this to the digits given (a string keeps
        trailing zeros); one for all models or one a model.
    allow_chance : bool
        Go on although the model is no better than chance.
    checkpoint : path, optional
        Folder for the state of unfinished work; with `resume` it is taken up again.
    notify : function of a sentence, optional
        Told what is about to happen.
    progress : bool
        Show a bar on stderr.
    """
    check_rule(rule)
    check_alternative(alternative)
    check_tolerance(tolerance, lower=orbit.statistic_range(rule)[0], upper=orbit.statistic_range(rule)[1])
    if tolerance and control is not None:
        raise InputError("`tolerance` is for audits without a control: the control already takes up what shifts cost.")
    if limit is not None and limit < 1:
        raise InputError(f"`limit` is {limit}; at least one picture must be audited.")
    if batch_size is not None and batch_size < 1:
        raise InputError(f"`batch_size` is {batch_size}; at least 1 is needed.")
    if seed < 0:
        raise InputError(f"`seed` is {seed}; it must not be negative.")
    models = [as_scorer(s) for s in scorers]
    if not models:
        raise InputError("there is no model to audit.")
    if expect_accuracy is None or isinstance(expect_accuracy, (int, float, str)):
        expected = [expect_accuracy] * len(models)
    else:
        expected = list(expect_accuracy)
        if len(expected) == 1:
            expected *= len(models)
    if len(expected) != len(models):
        raise InputError(f"{len(expected)} expected accuracies for {len(models)} models; give one, or one for each.")
    say = notify or (lambda sentence: None)
    folder = Path(checkpoint) if checkpoint is not None else None
    if folder is not None and resume and not any(folder.glob("*.npz")):
        say("there is nothing to resume: starting anew.")
    if folder is not None and not resume and any(folder.glob("*.npz")):
        raise InputError(f"{folder} holds an unfinished audit; go on with --resume, or delete it to start anew.")

    rng_limit, rng_check, rng_test = np.random.default_rng(seed).spawn(3)
    sets = {"test": images} if control is None else {"test": images, "control": control}
    chosen = {name: _subset(len(s), limit, rng_limit) for name, s in sets.items()}
    digests = {name: s.digest() for name, s in sets.items()}
    if control is not None:
        _check_control(images, control, chosen, digests)

    # Look at every model and set before the first long run: nothing should fail after hours.
    answers: dict[tuple[str, int], str] = {}
    expected_work: dict[tuple[str, int], int] = {}
    for name, pictures in sets.items():
        for number, model in enumerate(models):
            found = preflight(
                model,
                pictures,
                chosen[name],
                orbit=orbit,
                rule=rule,
                batch_size=batch_size or model.batch_size,
                rng=rng_check,
                expect_accuracy=expected[number] if name == "test" else None,
                # A model that only knows its test set by heart is at chance on the control: that is the finding.
                allow_chance=allow_chance or name == "control",
            )
            answers[name, number] = found.answers
            expected_work[name, number] = found.expected_evaluations
            say(f"{model.name}, {name} set: {found}.")

    outcomes: dict[str, list[Outcomes]] = {name: [] for name in sets}
    evaluations = dict.fromkeys(sets, 0)
    for name, pictures in sets.items():
        for number, model in enumerate(models):
            engine = Engine(
                model,
                pictures,
                _plan(orbit, rule, pictures),
                chosen[name],
                batch_size=batch_size or model.batch_size,
                fingerprint={
                    "heldout": __version__,
                    "model": model.digest(),
                    "answers": answers[name, number],
                    "data": digests[name],
                    "rule": rule,
                    "radius": orbit.radius,
                    "batch_size": batch_size or model.batch_size,
                    "limit": limit,
                    "seed": seed,
                },
            )
            with _bar(expected_work[name, number], len(chosen[name]), f"{model.name}, {name} set", progress) as tell:
                engine.run(
                    checkpoint=folder / f"{name}-{number}.npz" if folder else None,
                    resume=resume,
                    progress=tell,
                )
            outcomes[name].append(engine.outcomes)
            evaluations[name] += engine.evaluations

    say("weighing the evidence ...")
    examples = {name: _examples(outcomes[name], sets[name], chosen[name]) for name in sets}
    evidence = weigh(
        examples["test"], examples.get("control"), orbit=orbit, rule=rule, alternative=alternative,
        tolerance=tolerance, rng=rng_test, n_resamples=n_resamples,
    )  # fmt: skip
    names = images.source.class_names
    return AuditResult(
        test=examples["test"],
        control=examples.get("control"),
        evidence=evidence,
        orbit=orbit,
        rule=rule,
        alternative=alternative,
        tolerance=tolerance,
        seed=seed,
        model_names=tuple(m.name for m in models),
        model_digests=tuple(m.digest() for m in models),
        evaluations=evaluations["test"],
        control_evaluations=evaluations.get("control", 0),
        data_digest=digests["test"],
        control_digest=digests.get("control"),
        preprocessing=images.preprocessing(),
        class_names=tuple(str(n) for n in names) if names is not None else None,
        version=__version__,
        exhibits=_exhibits(examples["test"], images, chosen["test"], models[0], orbit, rule, batch_size),
    )


def _subset(n: int, limit: int | None, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if limit is None or limit >= n else np.sort(rng.permutation(n)[:limit])


def _check_control(
    images: LabelledImages,
    control: LabelledImages,
    chosen: dict[str, NDArray[np.intp]],
    digests: dict[str, str],
) -> None:
    """What can be known of a control before anything is scored."""
    if control.preprocessing() != images.preprocessing():
        raise InputError("test set and control must be framed and scaled in the same way.")
    if digests["control"] == digests["test"]:
        raise InputError("the control is the test set itself; it must be fresh examples of the same source.")
    names, others = images.source.class_names, control.source.class_names
    if names is not None and others is not None and list(names) != list(others):
        raise InputError(
            "test set and control number their classes differently; read the control with class_names=test.class_names."
        )
    classes = {name: s.labels[chosen[name]] for name, s in (("test", images), ("control", control))}
    control_test(  # of nothing: it refuses sets that it could not compare
        np.zeros(len(classes["test"])),
        np.zeros(len(classes["control"])),
        classes_test=classes["test"],
        classes_control=classes["control"],
        n_resamples=1,
        rng=np.random.default_rng(0),
    )


def _plan(orbit: Translations, rule: Rule, images: LabelledImages) -> TranslationPlan:
    if not images.frame.wraps:
        return TranslationPlan(orbit, rule)
    height, width = images.source.read(0).shape[:2]
    return TranslationPlan(orbit, rule, period=(height, width))


def _examples(outcomes: list[Outcomes], images: LabelledImages, rows: NDArray[np.intp]) -> Examples:
    return Examples(
        statistics=np.stack([o.statistic for o in outcomes]),
        weights=np.stack([o.weight for o in outcomes]),
        kinds=np.stack([o.kind for o in outcomes]),
        moves=np.stack([o.move for o in outcomes]),
        moved_losses=np.stack([o.moved_loss for o in outcomes]),
        moved_scores=np.stack([o.moved_score for o in outcomes]),
        labels=images.labels[rows],
        ids=tuple(images.ids[i] for i in rows),
    )


def _exhibits(
    examples: Examples, images: LabelledImages, rows: NDArray[np.intp], scorer: Scorer, orbit: Translations, rule: Rule,
    batch_size: int | None,
) -> tuple[Exhibit, ...]:  # fmt: skip
    """The most telling pictures before and after their move, scored once more for their predictions."""
    if rule in ("random", "random2"):
        return ()  # no single move was chosen
    telling = examples.most_telling(N_EXHIBITS)
    reach, size = orbit.radius, batch_size or scorer.batch_size
    windows, raw = [], []
    for i in telling:
        down, right = (int(v) for v in examples.moves[0, i])
        canvas = images.canvas(int(rows[i]), reach, scorer.layout)
        pixels = images.place(int(rows[i]), reach)
        for step in ((0, 0), (down, right)):
            windows.append(window(canvas, reach, *step, scorer.layout == "nhwc"))
            raw.append(_as_bytes(window(pixels, reach, *step, True)))
    predicted: list[int] = []
    for start in range(0, len(windows), size):
        batch = np.stack(windows[start : start + size])
        filled = np.concatenate([batch, np.repeat(batch[:1], size - len(batch), axis=0)])
        predicted += [int(c) for c in np.argmax(score_batch(scorer, filled)[: len(batch)], axis=1)]
    return tuple(
        Exhibit(
            id=examples.ids[i],
            label=int(examples.labels[i]),
            predicted=predicted[2 * k],
            moved_predicted=predicted[2 * k + 1],
            move=(int(examples.moves[0, i, 0]), int(examples.moves[0, i, 1])),
            weight=float(examples.weights[0, i]),
            original=raw[2 * k],
            moved=raw[2 * k + 1],
        )
        for k, i in enumerate(telling)
    )


def _as_bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels to look at: floats are stretched to their own range."""
    if pixels.dtype == np.uint8:
        return np.array(pixels)
    low, high = float(pixels.min()), float(pixels.max())
    return np.asarray(255 * (pixels - low) / (high - low or 1.0)).astype(np.uint8)


class _bar:
    """Progress on stderr: evaluations of about how many, their rate, the time left, pictures finished.

    Pictures finish in bursts, evaluations do not, so these tell the time left. A log file gets a line now and then
    instead of a moving bar.
    """

    def __init__(self, expected: int, pictures: int, label: str, shown: bool) -> None:
        self._expected, self._pictures, self._label, self._shown = expected, pictures, label, shown
        self._tqdm: Any = None
        self._spoke = time.monotonic()

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not self._shown:
            return None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._tqdm = tqdm(
                total=self._expected, desc=self._label, unit=" evaluations", dynamic_ncols=True, mininterval=0.2
            )
        return self._tell

    def _tell(self, finished: int, evaluations: int) -> None:
        done = finished == self._pictures
        if self._tqdm is not None:
            self._tqdm.total = evaluations if done else max(self._expected, evaluations)
            self._tqdm.set_postfix_str(f"{finished:,}/{self._pictures:,} pictures", refresh=False)
            self._tqdm.update(evaluations - self._tqdm.n)
        elif done or time.monotonic() - self._spoke > SECONDS_BETWEEN_LINES:
            self._spoke = time.monotonic()
            about = "" if done else f" of about {self._expected:,}"
            line = f"{self._label}: {evaluations:,}{about} evaluations, {finished:,}/{self._pictures:,} pictures"
            print(line, file=sys.stderr, flush=True)

    def __exit__(self, *exc: object) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
