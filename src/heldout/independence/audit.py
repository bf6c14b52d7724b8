"""The audit itself: models and pictures in, evidence out."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.checkpoints import CheckpointFolder, begin
from heldout.checks import check_n_jobs
from heldout.clusters import check_cluster
from heldout.errors import InputError
from heldout.groups import design_effect
from heldout.images import LabelledImages
from heldout.images.labelled import check_labelled
from heldout.independence.checks import check_level, check_neutral, check_options, one_per_model
from heldout.independence.curves import draw
from heldout.independence.dependence import Dependence
from heldout.independence.evidence import Examples, weigh
from heldout.independence.exhibits import look_seen, most_suspicious, most_telling_exhibits
from heldout.independence.leak import LeakEvidence
from heldout.independence.plan import WRONG
from heldout.independence.plausible import at_chance, check_looks
from heldout.independence.precision import InFloat32, check_one_precision
from heldout.independence.preflight import Preflight
from heldout.independence.references import Compared, check_given, compare, untouched_part, weigh_references
from heldout.independence.result import AuditResult, Exhibit
from heldout.independence.rounds import ShardResult
from heldout.independence.sizes import BatchSizes
from heldout.independence.untouched import ORIGINAL, chosen_pictures
from heldout.independence.work import Notify, Pictures, Work, find_dependence, look_at_all, score_all, sets_of
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit, as_orbit
from heldout.scorers import Scorer, as_scorer
from heldout.scorers.base import precision_of
from heldout.scorers.ways import settle_ways, way_of, ways_file
from heldout.statistics.checks import Alternative
from heldout.statistics.leak import ALTERNATIVE
from heldout.statistics.power import LEVEL


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
    n_jobs: int
    cluster: str | None
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
    orbit: PictureOrbit | str,
    rule: Rule = "strongest",
    control: LabelledImages | None = None,
    references: Sequence[Any] = (),
    alternative: Alternative | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
    limit: int | None = None,
    batch_size: int | None = None,
    n_jobs: int = 1,
    cluster: str | None = None,
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
    orbit = as_orbit(orbit)
    check_options(orbit, rule, alternative, tolerance, seed, limit, batch_size, control is not None)
    check_level(level, planned_audits, n_resamples if control is not None else None, halves=1 if len(references) else 2)
    check_cluster(cluster, check_n_jobs(n_jobs))
    check_labelled(images, "images")
    check_labelled(images if control is None else control, "control")
    check_neutral(images, control, orbit)
    models = [as_scorer(s) for s in scorers]
    if not models:
        raise InputError("there is no model to audit.")
    others = [as_scorer(s) for s in references]
    say = notify or (lambda sentence: None)
    folder = Path(checkpoint) if checkpoint is not None else None
    if folder is not None:
        begin(folder, resume=resume, say=say)
    everyone = [*models, *others]
    kept = CheckpointFolder(folder, of="audit")
    ways = ways_file(kept, everyone)
    found_ways = settle_ways(everyone, images, batch_size=batch_size, kept=ways, say=say)
    check_given(models, others, has_control=control is not None)
    check_one_precision(everyone)

    rng_limit, rng_look, rng_test, rng_references = np.random.default_rng(seed).spawn(4)
    sets = sets_of(images, control, orbit=orbit, rule=rule, limit=limit, rng=rng_limit)
    if found_ways:
        ways.save(found_ways)
    sizes = BatchSizes(kept.file("batches", models=[model.name for model in everyone]), say)
    work = Work(
        models, sets, orbit, rule, batch_size, limit, seed, folder, resume, say, progress, sizes, n_jobs, cluster
    )
    depends = find_dependence(work, alternative=alternative, level=level / planned_audits)
    with work.shared:  # workers are kept from one step to the next
        # Look at every model and set before the first long run: nothing should fail after hours.
        expected = one_per_model(expect_accuracy, len(models))
        looks = look_at_all(work, expected, rng_look)
        _check_all_looks(work, looks, expected, allow_chance=allow_chance, allow_frame_drop=allow_frame_drop)
        compared = None
        if others:
            compared = compare(
                models,
                others,
                work.parts,
                looks,
                orbit=orbit,
                with_batches_of=work.with_batches_of,
                rng=rng_references,
                notify=say,
                progress=progress,
                checkpoints=work.kept_of,
            )
        found = score_all(work, looks)

    say("weighing the evidence ...")
    untouched, untouched_pictures = _untouched_losses(found, looks)
    _tell_untouched(work, untouched_pictures)
    examples = {name: _examples(found[name], sets[name], untouched[name], depends[name]) for name in sets}
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
            n_jobs=n_jobs,
        )
    evidence = weigh(
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
        n_jobs=n_jobs,
    )
    return AuditResult(
        test=examples["test"],
        control=examples.get("control"),
        evidence=evidence,
        alternative=alternative,
        tolerance=tolerance,
        untouched_pictures=untouched_pictures,
        drawn=draw(examples["test"], orbit=orbit, rule=rule, alternative=alternative, tolerance=tolerance, seed=seed),
        sources=tuple(str(source) for source in sources),
        **_origin_of_references(work, others, compared),
        **_pictures_to_see(work, examples["test"], leak),
        oddities=tuple(of.oddities for of in depends.values()),
        **_origin(work, found, looks),
    )


def _check_all_looks(
    work: Work,
    looks: dict[tuple[str, int], Preflight],
    expected: Sequence[float | str | None],
    *,
    allow_chance: bool,
    allow_frame_drop: bool,
) -> None:
    """Every model must be what its owner thinks, on all sets together."""
    for number, accuracy in enumerate(expected):
        check_looks(
            {name: looks[name, number] for name in work.sets},
            expect_accuracy=accuracy,
            allow_chance=allow_chance,
            allow_frame_drop=allow_frame_drop,
            shifted=work.orbit.radius > 0,
        )


def _tell_untouched(work: Work, untouched_pictures: Sequence[str]) -> None:
    """Which pictures are each model's untouched ones, where that is a question and a control answers with them."""
    if "control" in work.sets and not work.sets["test"].images.frame.centre_is_untouched:
        for model, pictures_are in zip(work.models, untouched_pictures, strict=True):
            work.say(f"{model.name}: the error rate is compared on untouched pictures: each one's {pictures_are}.")


def _origin_of_references(work: Work, references: Sequence[Scorer], compared: Compared | None) -> dict[str, Any]:
    """What the references are, and what they took."""
    keys = [f"reference-{i}" for i in range(len(references))]
    return {
        "reference_digests": tuple(reference.digest() for reference in references),
        "reference_ways": tuple(way_of(reference) for reference in references),
        "reference_evaluations": 0 if compared is None else compared.evaluations,
        "reference_batch_sizes": tuple(
            work.size_of(reference, key, untouched_part(key)) for key, reference in zip(keys, references, strict=True)
        ),
    }


def _origin(work: Work, found: dict[str, list[ShardResult]], looks: dict[tuple[str, int], Preflight]) -> dict[str, Any]:
    """What made the result, and what it took."""
    evaluations = {
        name: sum(each.evaluations + looks[name, i].extra_evaluations for i, each in enumerate(results))
        for name, results in found.items()
    }
    test, control = work.sets["test"], work.sets.get("control")
    names = test.images.source.class_names
    return {
        "orbit": work.orbit,
        "rule": work.rule,
        "seed": work.seed,
        "version": __version__,
        "model_names": tuple(model.name for model in work.models),
        "model_digests": tuple(model.digest() for model in work.models),
        "precisions": tuple(precision_of(model) for model in work.models),
        "ways": tuple(way_of(model) for model in work.models),
        "batch_sizes": tuple(
            min(work.size_of(model, untouched_part(f"{number}")), *(each[number].batch_size for each in found.values()))
            for number, model in enumerate(work.models)
        ),
        "in_float32": tuple(_in_float32([looks[name, i] for name in found]) for i in range(len(work.models))),
        "evaluations": evaluations["test"],
        "control_evaluations": evaluations.get("control", 0),
        "data_digest": test.digest,
        "control_digest": None if control is None else control.digest,
        "preprocessing": test.images.preprocessing(),
        "class_names": None if names is None else tuple(str(n) for n in names),
        "at_chance": at_chance(
            [{name: looks[name, number] for name in work.sets} for number in range(len(work.models))]
        ),
        "available": tuple(len(pictures.images) for pictures in work.sets.values()),
    }


def _in_float32(looks: Sequence[Preflight]) -> InFloat32 | None:
    """Of one model, on all sets together."""
    counts = [look.in_float32 for look in looks if look.in_float32 is not None]
    return functools.reduce(operator.add, counts) if counts else None


def _pictures_to_see(work: Work, examples: Examples, leak: LeakEvidence | None) -> dict[str, Any]:
    """The pictures that a report shows."""
    test, first = work.sets["test"], work.models[0]

    def exhibits(size: int) -> tuple[Exhibit, ...]:
        return most_telling_exhibits(
            examples, test.images, test.rows, first, orbit=work.orbit, rule=work.rule, batch_size=size
        )

    return {
        "look_seen": () if leak is None else look_seen(leak, examples),
        "seen_pictures": () if leak is None else most_suspicious(leak, examples, test.images, test.rows),
        "exhibits": work.with_batches_of(first, ["exhibits", "test-0"], exhibits),
    }


def audit(
    scorer: Any, images: LabelledImages, *, orbit: PictureOrbit | str, **options: Unpack[AuditOptions]
) -> AuditResult:
    """Is this model independent of this test set?

    Parameters
    ----------
    scorer
        A `heldout.scorers.Scorer`, an .onnx path, a `torch.nn.Module`, a fitted scikit-learn
        classifier, or a function from a float32 batch to logits.
    images : LabelledImages
        The test set with its frame and pixel scale.
    orbit : Translations, HorizontalFlip, Dihedral or a product such as `Dihedral() * Translations(2)`
        The moves; "flip" and "dihedral" will do for the groups. Whoever chooses a finite group (`HorizontalFlip()`,
        `Dihedral()`) declares that every view of a picture was as likely as the others, for each picture by itself, or
        for each group as a whole (`LabelledImages.groups`: the tiles of one slide or scene are one). It can be said of
        cells, tissue and land from above, and holds where pictures were mirrored or turned at random; not of digits,
        text, clothes or faces, nor where north is at the top, light comes from one side or a scanner has an
        orientation: a model can learn that from its training set alone, and is found. Nothing is shifted then, so that
        pictures need no room (`Whole`).
    control : LabelledImages, optional
        Fresh examples of the same source that were put aside at random before any
        training or selection. With a control the verdict is twice the smaller of two permutation
        p-values of test against control, on T and on the error rate of untouched pictures; without one it is
        the exact orbit test's on a finite group (errors on the pictures as they stand against all of their views), else
        the betting test's, and rests on the assumption that moves keep a picture's density (refused for shifts of
        `Pad`, which surely do not). Pictures that are equal pixel by pixel count as one group, as do
        `LabelledImages.groups`; a picture or group in both sets is refused.
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
        Without a control, where shifts are among the moves: test abs(E T) <= tolerance.
    seed : int
        Of the permutations, the orders of bets and the subset; equal seeds give equal results.
    limit : int, optional
        Audit a random subset of this size (seeded), of the control too.
    batch_size : int, optional
        Pictures that a model is given at once; its own choice without. Halved where the device runs out of memory.
    n_jobs : int
        Worker processes that share the scores, and threads that share the permutations, as joblib counts them (-1: one
        for each core). The result does not depend on it: each process computes with as many threads as this one, so
        that a model on one thread (`torch.set_num_threads(1)`) gains most.
    cluster : str, optional
        Have the scores shared by the nodes of a Ray cluster (`pip install 'heldout[ray]'`): "auto" for the one that
        RAY_ADDRESS names or that runs on this machine, or its address, host:port; where Ray is connected already, that
        cluster. The result does not depend on it, if the nodes are of one kind. Shards of pictures are kept here as
        they come back.
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
        Go on although the model is no better than chance on test set and control together, or on the test set alone
        and far better on the control.
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


def _untouched_losses(
    found: dict[str, list[ShardResult]], looks: dict[tuple[str, int], Preflight]
) -> tuple[dict[str, list[NDArray[np.float64]]], tuple[str, ...]]:
    """Losses of each model on untouched pictures, by set, and what these are."""
    untouched: dict[str, list[NDArray[np.float64]]] = {name: [] for name in found}
    pictures = []
    for number in range(len(found["test"])):
        in_frame = {name: (each[number].outcomes.kind == WRONG).astype(np.float64) for name, each in found.items()}
        originals = {name: looks[name, number].original_losses for name in found}
        pictures.append(chosen_pictures(in_frame, originals))
        for name in found:
            losses = originals[name]
            untouched[name].append(losses if pictures[-1] == ORIGINAL and losses is not None else in_frame[name])
    return untouched, tuple(pictures)


def _examples(
    found: Sequence[ShardResult], pictures: Pictures, untouched: Sequence[NDArray[np.float64]], depends: Dependence
) -> Examples:
    outcomes = [result.outcomes for result in found]
    statistics = np.stack([o.statistic for o in outcomes])
    views_wrong = np.stack([o.views_wrong for o in outcomes])
    n_views = views_wrong.shape[-1]
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
        view_losses=views_wrong if n_views else None,
        n_symmetric=int(outcomes[0].symmetric.sum()),
    )
