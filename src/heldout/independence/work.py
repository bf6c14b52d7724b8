"""The long part of an audit, step by step: what depends on each other, a look at every model, then every score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import CheckpointFolder
from heldout.checks import check_share
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.images.labelled import check_scale
from heldout.independence.afar import run_shards
from heldout.independence.checks import check_enough
from heldout.independence.dependence import Dependence, dependence
from heldout.independence.preflight import Preflight, check_room, looked_at, preflight
from heldout.independence.rounds import Shard, ShardResult, finished_before, run_shard, shards_of
from heldout.independence.sizes import BatchSizes, with_size
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit
from heldout.orbit.table import MoveTable, Orbit
from heldout.progress import continued, progress_bar
from heldout.scorers import Scorer
from heldout.scorers.batches import with_batches_that_fit
from heldout.statistics.checks import Alternative
from heldout.statistics.permutation import check_comparable
from heldout.workers import Shared, Tell, n_workers, run_tasks

Notify = Callable[[str], None]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Pictures:
    """A set and the part of it that is audited."""

    images: LabelledImages
    rows: NDArray[np.intp]
    digest: str

    @property
    def labels(self) -> NDArray[np.int64]:
        """Of the audited part."""
        return self.images.labels[self.rows]


@dataclass(frozen=True)
class Job:
    """One model on one set."""

    name: str  # of the set: test or control
    number: int  # of the model
    model: Scorer
    set: Pictures

    @property
    def part(self) -> str:
        """What its files and its batch size are kept under."""
        return f"{self.name}-{self.number}"

    @property
    def label(self) -> str:
        """What bars and sentences call it."""
        return f"{self.model.name}, {self.name} set"


@dataclass(frozen=True)
class Work:
    """What all steps share: models, sets, moves, and where unfinished work is kept."""

    models: Sequence[Scorer]
    sets: dict[str, Pictures]  # "test", and "control" where there is one
    orbit: PictureOrbit
    rule: Rule
    batch_size: int | None  # each model's own choice without
    limit: int | None
    seed: int
    folder: Path | None
    resume: bool
    say: Notify
    progress: bool
    sizes: BatchSizes
    n_jobs: int = 1
    cluster: str | None = None  # has the shards where it is given

    @property
    def jobs(self) -> list[Job]:
        """Every model on every set."""
        return [
            Job(name, number, model, pictures)
            for name, pictures in self.sets.items()
            for number, model in enumerate(self.models)
        ]

    @cached_property
    def shared(self) -> Shared:
        """What workers hold, and what messages call it."""
        models = [(f"the model {model.name}", model) for model in self.models]
        return Shared(*models, *((f"the {name} set", pictures.images) for name, pictures in self.sets.items()))

    @property
    def parts(self) -> dict[str, tuple[LabelledImages, NDArray[np.intp]]]:
        """The sets, and which of their pictures are audited."""
        return {name: (pictures.images, pictures.rows) for name, pictures in self.sets.items()}

    def size_of(self, model: Scorer, *parts: str) -> int:
        """How many pictures a model is given at once in a part of the audit; in several of them, at least."""
        return min(self.sizes.of(part, self.batch_size or model.batch_size) for part in parts)

    def with_batches_of(self, model: Scorer, parts: Sequence[str], work: Callable[[int], Found]) -> Found:
        """What the first of these parts makes with a model's batches, no larger than those of the others, or with ones
        that fit into the device's memory."""
        asked = self.size_of(model, *parts)
        return with_batches_that_fit(
            work, asked, lambda size: self.sizes.settle(parts[0], model, asked, size), scorer=model
        )

    def kept(self) -> CheckpointFolder:
        """Where unfinished work is kept."""
        return CheckpointFolder(self.folder, of="audit")

    def kept_of(self, model: Scorer, key: str, name: str) -> CheckpointFolder:
        """Where what this model says to this set is kept, and what it depends on, but for the size of batches."""
        pictures = self.sets[name]
        return self.kept().within(
            f"{name}-{key}",
            model=model.digest(),
            pictures=pictures.digest,
            **pictures.images.preprocessing(),
            limit=self.limit,
            seed=self.seed,
        )


def sets_of(
    images: LabelledImages,
    control: LabelledImages | None,
    *,
    orbit: PictureOrbit,
    rule: Rule,
    limit: int | None,
    rng: np.random.Generator,
) -> dict[str, Pictures]:
    """Test set and control, the part of each that is audited, and whether they can be."""
    sets = {
        name: Pictures(pictures, _subset(len(pictures), limit, rng), pictures.digest())
        for name, pictures in (("test", images), ("control", control))
        if pictures is not None
    }
    for pictures in sets.values():
        check_room(pictures.images, pictures.rows, orbit, rule)
    if "control" in sets:
        _check_control(sets["test"], sets["control"])
    for name, pictures in sets.items():
        check_scale(pictures.images, f"the {name} set", pictures.rows)
    return sets


def _subset(n: int, limit: int | None, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if limit is None or limit >= n else np.sort(rng.permutation(n)[:limit])


def _check_control(test: Pictures, control: Pictures) -> None:
    """What can be known of a control before anything is scored."""
    if control.images.preprocessing() != test.images.preprocessing():
        raise InputError("test set and control must be framed and scaled in the same way.")
    check_pixel_types(test, control)
    sizes = [of.images.place(int(of.rows[0]), 0).shape[:2] for of in (test, control)]
    if sizes[0] != sizes[1]:
        raise InputError(
            "test set and control differ in size: {} x {} and {} x {} pixels once they are framed. Bring both to the "
            "size that the model was made for, in the same way: with `resize` and `crop`, or before.".format(
                *sizes[0], *sizes[1]
            )
        )
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


def check_pixel_types(test: Pictures, control: Pictures) -> None:
    """InputError where one set would be divided by 255 and the other not: no model sees both as it was trained."""
    types = [str(of.images.source.read(int(of.rows[0])).dtype) for of in (test, control)]
    if test.images.scale is None and len({name == "uint8" for name in types}) > 1:
        raise InputError(
            f"the pixels of the test set are {types[0]} and those of the control {types[1]}: only uint8 is divided by "
            "255, so that a model would see the two sets on different scales. Give both as one type, or say with "
            "`scale` what both are multiplied by."
        )


def find_dependence(work: Work, *, alternative: Alternative, level: float) -> dict[str, Dependence]:
    """Which pictures of each set depend on each other, and whether enough are left that do not."""
    elements = work.orbit.elements
    told = {"views": elements} if len(elements) > 1 else {}
    depends = dependence(
        work.parts,
        progress=work.progress,
        checkpoints={
            name: work.kept().file(f"{name}-duplicates", pictures=p.digest, limit=work.limit, seed=work.seed, **told)
            for name, p in work.sets.items()
        },
        elements=elements,
    )
    for name, found in depends.items():
        if sentence := found.sentence(len(work.sets[name].rows)):
            work.say(f"{name} set: {sentence}.")
    test, codes = work.sets["test"], depends["test"].codes
    if "control" in work.sets:
        check_comparable(
            test.labels,
            work.sets["control"].labels,
            groups_test=codes,
            groups_control=depends["control"].codes,
        )
    else:
        n_units = len(test.rows) if codes is None else len(np.unique(codes))
        check_enough(n_units, len(test.rows), work.orbit, work.rule, alternative, level)
    return depends


def look_at_all(
    work: Work, expected: Sequence[float | str | None], rng: np.random.Generator
) -> dict[tuple[str, int], Preflight]:
    """Every model on every set; where an accuracy is expected, on the whole test set."""
    for value in expected:
        if value is not None:
            check_share(value, "expect_accuracy", one=True)
    whole = {"test": len(work.sets["test"].images)}
    samples = {
        wants: looked_at({name: s.rows for name, s in work.sets.items()}, whole if wants else {}, rng)
        for wants in sorted({value is not None for value in expected})
    }
    jobs = work.jobs
    here = n_workers(work.n_jobs) == 1
    tasks = [
        Look(
            scorer=job.model,
            images=job.set.images,
            rows=job.set.rows,
            sample=samples[expected[job.number] is not None][job.name],
            orbit=work.orbit,
            batch_size=work.size_of(job.model, job.part),
            label=job.label,
            progress=work.progress and here,  # bars of several workers would write over each other
            kept=work.kept_of(job.model, f"{job.number}", job.name),
        )
        for job in jobs
    ]

    def done(number: int, found: tuple[Preflight, int]) -> None:
        work.sizes.settle(jobs[number].part, jobs[number].model, tasks[number].batch_size, found[1])
        work.say(f"{jobs[number].label}: {found[0]}.")

    found = run_tasks(look_at, tasks, n_jobs=work.n_jobs, done=done, shared=work.shared)
    return {(job.name, job.number): look for job, (look, _) in zip(jobs, found, strict=True)}


@dataclass(frozen=True)
class Look:
    """One model before the pictures of one set: all that a worker needs to know."""

    scorer: Scorer
    images: LabelledImages
    rows: NDArray[np.intp]  # which pictures will be audited
    sample: NDArray[np.intp]  # which are looked at
    orbit: PictureOrbit
    batch_size: int
    label: str
    progress: bool
    kept: CheckpointFolder


def look_at(look: Look, tell: Tell) -> tuple[Preflight, int]:
    """What is seen, with batches that fit into the device's memory, and their size."""
    sizes = [look.batch_size]

    def seen(size: int) -> Preflight:
        return preflight(
            look.scorer,
            look.images,
            look.rows,
            look.sample,
            orbit=look.orbit,
            batch_size=size,
            label=look.label,
            progress=look.progress,
            checkpoints=with_size(look.kept, size),
            tell=tell,
        )

    return with_batches_that_fit(seen, look.batch_size, sizes.append, scorer=look.scorer), sizes[-1]


def score_all(work: Work, looks: dict[tuple[str, int], Preflight]) -> dict[str, list[ShardResult]]:
    """What every model does to every set, by set: shards of all of them, side by side where there are workers."""
    jobs = work.jobs
    # Cut before the first one runs: where a device runs out of memory in one of them must not change the others.
    shards = [shards_of(_whole(work, job, looks[job.name, job.number])) for job in jobs]
    for job, some in zip(jobs, shards, strict=True):
        if work.resume and any(shard.checkpoint is not None and shard.checkpoint.exists() for shard in some):
            work.say(continued(job.label, finished_before(some), len(job.set.rows), "pictures"))
    tasks = [shard for some in shards for shard in some]
    told = dict.fromkeys(range(len(tasks)), (0, 0))
    expected = sum(look.expected_evaluations for look in looks.values())
    with progress_bar(expected, sum(len(job.set.rows) for job in jobs), _label(work), work.progress) as tell:

        def progress(number: int, finished: int, evaluations: int, size: int) -> None:
            told[number] = finished, evaluations
            work.sizes.tell(tasks[number].scorer, tasks[number].batch_size, size)
            if tell is not None:
                tell(sum(f for f, _ in told.values()), sum(e for _, e in told.values()))

        def done(number: int, result: ShardResult) -> None:
            work.sizes.tell(tasks[number].scorer, tasks[number].batch_size, result.batch_size)

        results = iter(_results(work, tasks, progress, done))
    found: dict[str, list[ShardResult]] = {name: [] for name in work.sets}
    for job, some in zip(jobs, shards, strict=True):
        found[job.name].append(ShardResult.joined([next(results) for _ in some]))
    return found


def _results(
    work: Work, shards: Sequence[Shard], tell: Callable[..., None], done: Callable[[int, ShardResult], None]
) -> list[ShardResult]:
    """What is found in each, here, in worker processes or on a cluster."""
    if work.cluster is not None:
        return run_shards(shards, cluster=work.cluster, tell=tell, done=done, say=work.say)
    return run_tasks(run_shard, shards, n_jobs=work.n_jobs, tell=tell, done=done, shared=work.shared)


def _label(work: Work) -> str:
    """What the bar of all scores is called."""
    models = work.models[0].name if len(work.models) == 1 else f"{len(work.models)} models"
    return f"{models}, {' and '.join(work.sets)} set"


def _whole(work: Work, job: Job, look: Preflight) -> Shard:
    """A whole set before a model."""
    kept = work.kept_of(job.model, f"{job.number}", job.name)
    return Shard(
        scorer=job.model,
        images=job.set.images,
        rows=job.set.rows,
        table=_table(work.orbit, work.rule, job.set),
        rule=work.rule,
        batch_size=work.size_of(job.model, job.part),
        checkpoint=None if work.folder is None else work.folder / f"{job.part}.npz",
        resume=work.resume,
        fingerprint={**kept.fingerprint, "answers": look.answers, "rule": work.rule, **_moves(work.orbit)},
    )


def _moves(orbit: Orbit) -> dict[str, str | int]:
    """What tells orbits apart; of translations, as older versions wrote it."""
    return {"radius": orbit.radius, **({} if len(orbit.elements) == 1 else {"orbit": orbit.name})}


def _table(orbit: Orbit, rule: Rule, pictures: Pictures) -> MoveTable:
    """What a plan for these pictures is made of."""
    period = None
    if pictures.images.frame.wraps:
        _, period = next(pictures.images.source.shapes(pictures.rows))
    return orbit.table(rule, period=period)
