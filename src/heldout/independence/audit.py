"""The audit itself: models and pictures in, evidence out."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.checkpoints import CheckpointFolder, begin
from heldout.checks import check_count, check_seed, check_share
from heldout.errors import InputError
from heldout.groups import design_effect
from heldout.images import LabelledImages
from heldout.images.labelled import check_labelled
from heldout.independence.curves import draw
from heldout.independence.dependence import Dependence, dependence
from heldout.independence.engine import Engine
from heldout.independence.evidence import Examples, weigh
from heldout.independence.exhibits import look_seen, most_suspicious, most_telling_exhibits
from heldout.independence.plan import WRONG, TranslationPlan
from heldout.independence.preflight import Preflight, check_looks, check_room, looked_at, preflight
from heldout.independence.references import check_given, compare, weigh_references
from heldout.independence.result import AuditResult
from heldout.independence.untouched import ORIGINAL, chosen_pictures
from heldout.orbit import Rule, Translations
from heldout.orbit.rules import check_rule
from heldout.progress import continued, progress_bar
from heldout.scorers import Scorer, as_scorer
from heldout.statistics.betting import fewest_examples
from heldout.statistics.checks import Alternative, check_alternative, check_tolerance
from heldout.statistics.leak import ALTERNATIVE
from heldout.statistics.permutation import check_comparable
from heldout.statistics.power import LEVEL

Notify = Callable[[str], None]


class AuditOptions(TypedDict, total=False):
    """The options of `audit` and `audit_many`; see there."""

    rule: Rule
    control: LabelledImages | None
    references: Sequence[Any]
    alternative: Alternative
    tolerance: float
    seed: int
    limit: int | None
    batch_size: int | None
    n_resamples: int
    level: float
    planned_audits: int
    expect_accuracy: float | str | Sequence[float | str] | None
    allow_chance: bool
    allow_frame_drop: bool
    checkpoint: str | Path | None
    resume: bool
    sources: Sequence[str]
    notify: Notify | None
    progress: bool


def audit_many(
    scorers: Sequence[Any],
    images: LabelledImages,
    *,
    orbit: Translations,
    rule: Rule = "strongest",
    control: LabelledImages | None = None,
    references: Sequence[Any] = (),
    alternative: Alternative | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
    limit: int | None = None,
    batch_size: int | None = None,
    n_resamples: int = 9999,
    level: float = LEVEL,
    planned_audits: int = 1,
    expect_accuracy: float | str | Sequence[float | str] | None = None,
    allow_chance: bool = False,
    allow_frame_drop: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    sources: Sequence[str] = (),
    notify: Notify | None = None,
    progress: bool = False,
) -> AuditResult:
    """Are these trainings of one architecture, on average, independent of this test set?

    T is averaged over models first, then tested (section 3.1 of v1);
    `AuditResult.drawn.model_groups` has K p-values for K disjoint groups, `heldout.n_model_test` those of any size.

    Parameters
    ----------
    scorers : sequence
        Each as in `audit`.
    images, orbit and the options
        As in `audit`.

    Returns
    -------
    AuditResult
        Of their average, and of each.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import Translations, audit_many
    >>> from heldout.images import LabelledImages, Wrap, from_arrays
    >>> rng = np.random.default_rng(0)
    >>> images = LabelledImages(from_arrays(rng.random((40, 8, 8)), rng.integers(0, 2, 40)), Wrap())
    >>> def half(bias):
    ...     return lambda batch: np.stack([batch[..., :4].sum((1, 2, 3)) + bias, batch[..., 4:].sum((1, 2, 3))], 1)
    >>> result = audit_many([half(0), half(1)], images, orbit=Translations(1), allow_chance=True)
    >>> result.n_models, result.test.kinds.shape
    (2, (2, 40))
    """
    leak_alternative, alternative = alternative or ALTERNATIVE, alternative or "two-sided"
    _check_options(orbit, rule, alternative, tolerance, seed, limit, batch_size, control is not None)
    check_level(level, planned_audits, n_resamples if control is not None else None, halves=1 if len(references) else 2)
    check_labelled(images, "images")
    check_labelled(images if control is None else control, "control")
    if images.frame.needs_control and control is None:
        raise InputError(
            "padded pictures cannot be audited without a control: a shift brings in pixels that were never "
            "photographed, so shifts are surely not neutral, and the test would find just that. Give a "
            "`control`, or move pictures within themselves (`crop`, `wrap`)."
        )
    models = [as_scorer(s) for s in scorers]
    if not models:
        raise InputError("there is no model to audit.")
    others = [as_scorer(s) for s in references]
    check_given(models, others, has_control=control is not None)
    say = notify or (lambda sentence: None)
    folder = Path(checkpoint) if checkpoint is not None else None
    if folder is not None:
        begin(folder, resume=resume, say=say)

    rng_limit, rng_look, rng_test, rng_references = np.random.default_rng(seed).spawn(4)
    sets = {
        name: _Pictures(pictures, _subset(len(pictures), limit, rng_limit), pictures.digest())
        for name, pictures in (("test", images), ("control", control))
        if pictures is not None
    }
    for pictures in sets.values():
        check_room(pictures.images, pictures.rows, orbit, rule)
    if control is not None:
        _check_control(sets["test"], sets["control"])
    jobs = [_Job(name, number, model, sets[name]) for name in sets for number, model in enumerate(models)]

    kept = CheckpointFolder(folder, of="audit")

    def kept_of(model: Scorer, key: str, name: str) -> CheckpointFolder:
        """Where what this model says to this set is kept, and what it depends on."""
        pictures = sets[name]
        return kept.within(
            f"{name}-{key}",
            model=model.digest(),
            pictures=pictures.digest,
            **pictures.images.preprocessing(),
            batch_size=batch_size or model.batch_size,
            limit=limit,
            seed=seed,
        )

    depends = dependence(
        {name: (p.images, p.rows) for name, p in sets.items()},
        progress=progress,
        checkpoints={
            name: kept.file(f"{name}-duplicates", pictures=p.digest, limit=limit, seed=seed) for name, p in sets.items()
        },
    )
    for name, found in depends.items():
        if sentence := found.sentence(len(sets[name].rows)):
            say(f"{name} set: {sentence}.")
    if control is not None:
        check_comparable(
            sets["test"].labels,
            sets["control"].labels,
            groups_test=depends["test"].codes,
            groups_control=depends["control"].codes,
        )

    else:
        codes = depends["test"].codes
        n_units = len(sets["test"].rows) if codes is None else len(np.unique(codes))
        _check_enough(n_units, len(sets["test"].rows), orbit, rule, alternative, level / planned_audits)

    # Look at every model and set before the first long run: nothing should fail after hours.
    expected = _one_per_model(expect_accuracy, len(models))
    looks = _look(jobs, expected, orbit, batch_size, rng_look, progress, say, kept_of)
    for number in range(len(models)):
        check_looks(
            {name: looks[name, number] for name in sets},
            expect_accuracy=expected[number],
            allow_chance=allow_chance,
            allow_frame_drop=allow_frame_drop,
        )

    compared = None
    if others:
        compared = compare(
            models,
            others,
            {name: (p.images, p.rows) for name, p in sets.items()},
            looks,
            orbit=orbit,
            batch_size=batch_size,
            rng=rng_references,
            notify=say,
            progress=progress,
            checkpoints=kept_of,
        )

    engines: dict[str, list[Engine]] = {name: [] for name in sets}
    for job in jobs:
        look = looks[job.name, job.number]
        fingerprint = {**kept_of(job.model, f"{job.number}", job.name).fingerprint, "answers": look.answers}
        engine = _engine(job, orbit, rule, batch_size or job.model.batch_size, fingerprint)
        with progress_bar(look.expected_evaluations, len(job.set.rows), job.label, progress) as tell:
            path = folder / f"{job.name}-{job.number}.npz" if folder else None
            if resume and path is not None and path.exists():
                engine.load(path)
                say(continued(job.label, engine.finished, len(job.set.rows), "pictures"))
            engine.run(checkpoint=path, progress=tell)
        engines[job.name].append(engine)

    say("weighing the evidence ...")
    untouched, untouched_pictures = _untouched_losses(engines, looks)
    for model, pictures_are in zip(models, untouched_pictures, strict=True):
        if control is not None and not images.frame.centre_is_untouched:
            say(f"{model.name}: the error rate is compared on untouched pictures: each one's {pictures_are}.")
    evaluations = {
        name: sum(engine.evaluations + looks[name, i].extra_evaluations for i, engine in enumerate(engines[name]))
        for name in sets
    }
    examples = {name: _examples(engines[name], sets[name], untouched[name], depends[name]) for name in sets}
    leak = None
    if compared is not None:
        leak = weigh_references(
            compared,
            untouched_pictures,
            examples["test"],
            examples["control"],
            alternative=leak_alternative,
            level=level / planned_audits,
            rng=rng_references,
            n_resamples=n_resamples,
        )
    names = images.source.class_names
    return AuditResult(
        test=examples["test"],
        control=examples.get("control"),
        evidence=weigh(
            examples["test"],
            examples.get("control"),
            orbit=orbit,
            rule=rule,
            alternative=alternative,
            tolerance=tolerance,
            rng=rng_test,
            n_resamples=n_resamples,
            seed=seed,
            level=level,
            planned_audits=planned_audits,
            leak=leak,
        ),
        orbit=orbit,
        rule=rule,
        alternative=alternative,
        tolerance=tolerance,
        seed=seed,
        model_names=tuple(m.name for m in models),
        model_digests=tuple(m.digest() for m in models),
        evaluations=evaluations["test"],
        control_evaluations=evaluations.get("control", 0),
        data_digest=sets["test"].digest,
        control_digest=sets["control"].digest if "control" in sets else None,
        preprocessing=images.preprocessing(),
        class_names=tuple(str(n) for n in names) if names is not None else None,
        version=__version__,
        untouched_pictures=untouched_pictures,
        drawn=draw(examples["test"], orbit=orbit, rule=rule, alternative=alternative, tolerance=tolerance, seed=seed),
        available=tuple(len(p.images) for p in sets.values()),
        sources=tuple(str(source) for source in sources),
        reference_digests=tuple(m.digest() for m in others),
        reference_evaluations=0 if compared is None else compared.evaluations,
        look_seen=() if leak is None else look_seen(leak, examples["test"]),
        seen_pictures=() if leak is None else most_suspicious(leak, examples["test"], images, sets["test"].rows),
        exhibits=most_telling_exhibits(
            examples["test"],
            images,
            sets["test"].rows,
            models[0],
            orbit=orbit,
            rule=rule,
            batch_size=batch_size or models[0].batch_size,
        ),
    )


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
    control : LabelledImages, optional
        Fresh examples of the same source that were put aside at random before any
        training or selection. With a control the verdict is twice the smaller of two permutation
        p-values of test against control, on T and on the error rate of untouched pictures; without one it is
        the betting test's, and rests on the assumption that shifts keep a picture's density (refused for `Pad`, where
        they surely do not). Pictures that are equal pixel by pixel count as one group, as do `LabelledImages.groups`;
        a picture or group in both sets is refused.
    references : sequence, optional
        Other models of the same classes, each as `scorer`, that cannot have seen more of the test set than of the
        control: older ones, from elsewhere, or trained on the rest. They need a control. With them the verdict is that
        of `leak_test` on untouched pictures: how much surer of the true label the audited models are than the
        references lead one to expect, on the test set and on the control; T and the error rate stand beside it. A
        reference that knows the test set costs power; one that knows the control can make a false alarm.
    rule : {"strongest", "nearest", "random", "random2"}
        How a move is chosen: the one that makes the model most wrong, the shortest that makes it wrong, any.
    alternative : {"two-sided", "greater"}, optional
        "greater" looks for overfitting only, and must be chosen before seeing results. By default the test against
        references is one-sided, since a leak cannot make a test set harder, and the others are two-sided.
    tolerance : float
        Without a control: test abs(E T) <= tolerance.
    seed : int
        Of the permutations, the orders of bets and the subset; equal seeds give equal results.
    limit : int, optional
        Audit a random subset of this size (seeded), of the control too.
    batch_size : int, optional
        Pictures that a model is given at once; its own choice without.
    n_resamples : int
        Random splits of the permutation tests; no p against a control is below 2 / (n_resamples + 1), with references
        1 / (n_resamples + 1).
    level : float
        Of the verdict: the probability of a finding where there is nothing to find, for this audit.
    planned_audits : int
        How many audits share that level, as on every commit of a pipeline; p is multiplied by it (Bonferroni).
    expect_accuracy : float or str, optional
        Stop unless the accuracy on the untouched pictures of the whole test set equals this to the digits given (a
        string keeps trailing zeros); one for all models or one for each.
    allow_chance : bool
        Go on although the model is no better than chance on test set and control together.
    allow_frame_drop : bool
        Go on although the model is right on fewer pictures in the frame than untouched, by more than two points and
        more than chance.
    checkpoint : path, optional
        Folder for the state of unfinished work. One that is damaged, or belongs to another audit, is refused.
    resume : bool
        Take up what is in `checkpoint`, to the same bits.
    sources : sequence of str
        What test set and control are called in the report.
    notify : function of a sentence, optional
        Told what is about to happen.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    AuditResult
        The verdict, every p-value, and what was found for every example.

    Examples
    --------
    A model that knows the test set by heart, found out by pictures that it has not seen:

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from heldout import Translations, audit
    >>> from heldout.images import LabelledImages, Wrap, from_arrays
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.random((200, 6, 6)), rng.integers(0, 2, 200)
    >>> test, control = (LabelledImages(from_arrays(x[half], y[half]), Wrap()) for half in np.split(np.arange(200), 2))
    >>> model = KNeighborsClassifier(1).fit(x[:100].reshape(100, -1), y[:100])
    >>> result = audit(model, test, control=control, orbit=Translations(1), n_resamples=999)
    >>> result.outcome, result.p_value, float(result.T.mean()) > 0.2
    ('easier', 0.002, True)
    """
    return audit_many([scorer], images, orbit=orbit, **options)


def _with_options(function: Callable[..., AuditResult], many: Callable[..., AuditResult]) -> None:
    """Have `help` and `inspect` show the options that a function hands on, which are written once."""
    own = list(inspect.signature(function).parameters.values())
    handed_on = [p for p in inspect.signature(many).parameters.values() if p.name in AuditOptions.__annotations__]
    shown = inspect.signature(many).replace(parameters=[*own[:-1], *handed_on])
    function.__signature__ = shown  # type: ignore[attr-defined]


_with_options(audit, audit_many)


@dataclass(frozen=True)
class _Pictures:
    """A set and the part of it that is audited."""

    images: LabelledImages
    rows: NDArray[np.intp]
    digest: str

    @property
    def labels(self) -> NDArray[np.int64]:
        return self.images.labels[self.rows]


@dataclass(frozen=True)
class _Job:
    """One model on one set."""

    name: str  # of the set: test or control
    number: int  # of the model
    model: Scorer
    set: _Pictures

    @property
    def label(self) -> str:
        return f"{self.model.name}, {self.name} set"


def _check_options(
    orbit: Translations,
    rule: Rule,
    alternative: Alternative,
    tolerance: float,
    seed: int,
    limit: int | None,
    batch_size: int | None,
    has_control: bool,
) -> None:
    check_rule(rule)
    check_alternative(alternative)
    check_seed(seed)
    lower, upper = orbit.statistic_range(rule)
    check_tolerance(tolerance, lower=lower, upper=upper)
    if tolerance and has_control:
        raise InputError("`tolerance` is for audits without a control: the control already takes up what shifts cost.")
    for name, value in (("limit", limit), ("batch_size", batch_size)):
        if value is not None:
            check_count(value, name)


def _check_enough(
    n_units: int, n: int, orbit: Translations, rule: Rule, alternative: Alternative, level: float
) -> None:
    """Refuse so few pictures that no answer of the model could be evidence."""
    lower, upper = orbit.statistic_range(rule)
    fewest = fewest_examples(level, lower=lower, upper=upper, alternative=alternative)
    if n_units < fewest:
        given = "1 picture is" if n == 1 else f"{n:,} pictures are"
        if n_units < n:
            given = f"{n:,} pictures in {n_units:,} group{'s' * (n_units > 1)} are"
        raise InputError(
            f"{given} too few: whatever the model says, nothing can be found at level {level:g} with fewer than "
            f"{fewest} pictures that do not depend on each other; hundreds are usual."
        )


def check_level(level: float, planned_audits: int, n_resamples: int | None, halves: int = 2) -> None:
    """Refuse a level outside (0, 1), or one that no p could reach; `halves` p-values are one verdict."""
    check_share(level, "level")
    check_count(planned_audits, "planned_audits")
    if n_resamples is not None and halves * planned_audits / (n_resamples + 1) > level:
        raise InputError(
            f"with {n_resamples:,} resamplings no p against a control is below {halves / (n_resamples + 1):.2g}, so "
            f"that nothing could ever be found at `level` {level:g} with `planned_audits` {planned_audits}; "
            f"`n_resamples` must be at least {math.ceil(halves * planned_audits / level)}, and ten times "
            "that to see anything."
        )


def _one_per_model(expected: float | str | Sequence[float | str] | None, n_models: int) -> Sequence[float | str | None]:
    if expected is None or isinstance(expected, (int, float, str)):
        return [expected] * n_models
    if len(expected) not in (1, n_models):
        raise InputError(f"{len(expected)} expected accuracies for {n_models} models; give one, or one for each.")
    return list(expected) * (n_models if len(expected) == 1 else 1)


def _engine(job: _Job, orbit: Translations, rule: Rule, batch_size: int, fingerprint: dict[str, Any]) -> Engine:
    period = None
    if job.set.images.frame.wraps:
        _, period = next(job.set.images.source.shapes(job.set.rows))
    fingerprint = {**fingerprint, "rule": rule, "radius": orbit.radius}
    plan = TranslationPlan(orbit, rule, period=period)
    return Engine(job.model, job.set.images, plan, job.set.rows, batch_size=batch_size, fingerprint=fingerprint)


def _subset(n: int, limit: int | None, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if limit is None or limit >= n else np.sort(rng.permutation(n)[:limit])


def _check_control(test: _Pictures, control: _Pictures) -> None:
    """What can be known of a control before anything is scored."""
    if control.images.preprocessing() != test.images.preprocessing():
        raise InputError("test set and control must be framed and scaled in the same way.")
    if control.digest == test.digest:
        raise InputError("the control is the test set itself; it must be fresh examples of the same source.")
    names, others = test.images.source.class_names, control.images.source.class_names
    if names is None and getattr(control.images.source, "numbered_by_name", False):
        raise InputError(
            "the labels of the control are names, but those of the test set numbers; give both as numbers or both as "
            "names."
        )
    if names is not None and others is not None and list(names) != list(others):
        raise InputError(
            "test set and control number their classes differently; read the control with class_names=test.class_names."
        )


def _look(
    jobs: Sequence[_Job],
    expected: Sequence[float | str | None],
    orbit: Translations,
    batch_size: int | None,
    rng: np.random.Generator,
    progress: bool,
    say: Notify,
    kept_of: Callable[[Scorer, str, str], CheckpointFolder],
) -> dict[tuple[str, int], Preflight]:
    """Every model on every set; where an accuracy is expected, on the whole test set."""
    for value in expected:
        if value is not None:
            check_share(value, "expect_accuracy", one=True)
    sets = {job.name: job.set for job in jobs}
    whole = {"test": len(sets["test"].images)}
    looks = {}
    samples = {
        wants: looked_at({name: s.rows for name, s in sets.items()}, whole if wants else {}, rng)
        for wants in sorted({value is not None for value in expected})
    }
    for job in jobs:
        look = preflight(
            job.model,
            job.set.images,
            job.set.rows,
            samples[expected[job.number] is not None][job.name],
            orbit=orbit,
            batch_size=batch_size or job.model.batch_size,
            label=job.label,
            progress=progress,
            checkpoints=kept_of(job.model, f"{job.number}", job.name),
        )
        say(f"{job.label}: {look}.")
        looks[job.name, job.number] = look
    return looks


def _untouched_losses(
    engines: dict[str, list[Engine]], looks: dict[tuple[str, int], Preflight]
) -> tuple[dict[str, list[NDArray[np.float64]]], tuple[str, ...]]:
    """Losses of each model on untouched pictures, by set, and what these are."""
    untouched: dict[str, list[NDArray[np.float64]]] = {name: [] for name in engines}
    pictures = []
    for number in range(len(engines["test"])):
        in_frame = {name: (each[number].outcomes.kind == WRONG).astype(np.float64) for name, each in engines.items()}
        originals = {name: looks[name, number].original_losses for name in engines}
        pictures.append(chosen_pictures(in_frame, originals))
        for name in engines:
            found = originals[name]
            untouched[name].append(found if pictures[-1] == ORIGINAL and found is not None else in_frame[name])
    return untouched, tuple(pictures)


def _examples(
    engines: Sequence[Engine], pictures: _Pictures, untouched: Sequence[NDArray[np.float64]], depends: Dependence
) -> Examples:
    outcomes = [engine.outcomes for engine in engines]
    statistics = np.stack([o.statistic for o in outcomes])
    return Examples(
        statistics=statistics,
        weights=np.stack([o.weight for o in outcomes]),
        kinds=np.stack([o.kind for o in outcomes]),
        moves=np.stack([o.move for o in outcomes]),
        moved_losses=np.stack([o.moved_loss for o in outcomes]),
        moved_scores=np.stack([o.moved_score for o in outcomes]),
        labels=pictures.labels,
        ids=tuple(pictures.images.ids[i] for i in pictures.rows),
        untouched_losses=np.stack(untouched),
        groups=depends.codes,
        n_duplicates=depends.n_duplicates,
        design_effect=None if depends.codes is None else design_effect(statistics.mean(axis=0), depends.codes),
    )
