"""Other models beside the audited ones: looked at before the long run, and scored on untouched pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import CheckpointFolder
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.independence.evidence import Examples
from heldout.independence.leak import LeakEvidence, check_references, weigh_leak
from heldout.independence.margins import Answers, margins_of
from heldout.independence.plausible import CAUSES, near_chance
from heldout.independence.preflight import Preflight, looked_at, preflight
from heldout.independence.sizes import with_size
from heldout.independence.untouched import ORIGINAL, centre_answers, chosen_pictures
from heldout.orbit.named import PictureOrbit
from heldout.scorers import FunctionScorer, Scorer
from heldout.scorers.batches import OutOfMemoryError
from heldout.statistics.checks import Alternative, Floats
from heldout.statistics.leak import MARGIN_CLIP

Sets = Mapping[str, tuple[LabelledImages, NDArray[np.intp]]]  # test and control: pictures, and which are audited
WithBatches = Callable[[Scorer, Sequence[str], Callable[[int], Any]], Any]


@dataclass(frozen=True)
class Untouched:
    """What one model says to the untouched pictures of every set."""

    centre: dict[str, Answers]  # of the frame
    originals: dict[str, Answers | None]  # None where they are the frame's centre, or the model does not take them

    @property
    def pictures(self) -> str:
        """Which of the two are the untouched ones."""
        losses = {name: None if found is None else found.losses for name, found in self.originals.items()}
        return chosen_pictures({name: found.losses for name, found in self.centre.items()}, losses)

    def margins(self, pictures: str | None = None) -> dict[str, Floats]:
        """Clipped log-odds of the true label on every set, on these pictures (by default, on the chosen ones)."""
        originals = {name: found for name, found in self.originals.items() if found is not None}
        return margins_of(originals if (pictures or self.pictures) == ORIGINAL else self.centre)

    def excess(self) -> dict[str, Floats]:
        """Of the highest logit over the true label's, on the chosen pictures of every set; 0 where it is right."""
        found = self.originals if self.pictures == ORIGINAL else self.centre
        return {name: answers.excess for name, answers in found.items() if answers is not None}


@dataclass(frozen=True)
class Compared:
    """Audited models and references on the untouched pictures of test set and control."""

    models: tuple[Untouched, ...]
    references: tuple[Untouched, ...]
    names: tuple[str, ...]  # of the references
    evaluations: int  # of all of them, beside those of the look

    def margins(self, name: str, pictures: Sequence[str] | None = None) -> tuple[Floats, Floats]:
        """Of one set: the models' average, (n,), and the references', (k, n).

        `pictures` says which are each model's untouched ones, where that has been settled elsewhere.
        """
        which: Sequence[str | None] = pictures or [None] * len(self.models)
        own = [model.margins(chosen)[name] for model, chosen in zip(self.models, which, strict=True)]
        return np.mean(own, axis=0), np.stack([reference.margins()[name] for reference in self.references])


def check_given(models: Sequence[Scorer], references: Sequence[Scorer], *, has_control: bool) -> None:
    """What can be known of references before any picture is scored."""
    if references and not has_control:
        raise InputError(
            "`references` need a `control`: what is compared is how much better than the "
            "references the model does on the test set, and on fresh pictures of the same source."
        )
    # Of a function nothing but its name is known, so that two of one name may well differ.
    known = {model.digest(): model.name for model in models if not isinstance(model, FunctionScorer)}
    seen: dict[str, str] = {}
    for reference in references:
        digest = None if isinstance(reference, FunctionScorer) else reference.digest()
        if any(reference is model for model in models) or digest in known:
            raise InputError(
                f"the reference {reference.name} is the audited model itself, so that nothing would be left to "
                "compare; give models that cannot have seen more of the test set than of the control."
            )
        if digest is not None and digest in seen:
            raise InputError(f"the references {seen[digest]} and {reference.name} are the same model; give it once.")
        if digest is not None:
            seen[digest] = reference.name


def look_at_reference(
    reference: Scorer,
    sets: Sets,
    samples: Mapping[str, NDArray[np.intp]],
    *,
    orbit: PictureOrbit,
    batch_size: int,
    progress: bool = False,
    checkpoints: Mapping[str, CheckpointFolder] | None = None,
) -> dict[str, Preflight]:
    """Shape, classes, repeatability and accuracy of a reference; one that is near chance is refused.

    The frame may cost a reference accuracy: it is shown untouched pictures only.
    """
    try:
        looks = {
            name: preflight(
                reference,
                images,
                rows,
                samples[name],
                orbit=orbit,
                batch_size=batch_size,
                label=f"{reference.name} (reference), {name} set",
                progress=progress,
                checkpoints=None if checkpoints is None else checkpoints[name],
                count_float32=False,
            )
            for name, (images, rows) in sets.items()
        }
    except OutOfMemoryError:
        raise
    except InputError as error:
        raise InputError(f"the reference {reference.name}: {error}") from error
    if weak := near_chance(list(looks.values())):
        raise InputError(
            f"the untouched accuracy of the reference {reference.name} is {weak}, so it disagrees with the labels or "
            f"with how pictures are shown. {CAUSES} References get the audited model's options; leave this one out if "
            "it wants others."
        )
    return looks


def untouched_answers(
    scorer: Scorer,
    sets: Sets,
    looks: Mapping[str, Preflight],
    *,
    batch_size: int,
    label: str,
    progress: bool = False,
    checkpoints: Mapping[str, CheckpointFolder] | None = None,
) -> Untouched:
    """One model on the untouched pictures of every set: one evaluation for each, beside those of the look."""
    return Untouched(
        centre={
            name: centre_answers(
                scorer,
                images,
                rows,
                batch_size=batch_size,
                label=f"{label}, {name} set",
                progress=progress,
                checkpoint=None
                if checkpoints is None
                else checkpoints[name].file("untouched", answers=looks[name].answers),
            )
            for name, (images, rows) in sets.items()
        },
        originals={name: looks[name].originals for name in sets},
    )


def compare(
    models: Sequence[Scorer],
    references: Sequence[Scorer],
    sets: Sets,
    looks: Mapping[tuple[str, int], Preflight],
    *,
    orbit: PictureOrbit,
    with_batches_of: WithBatches,
    rng: np.random.Generator,
    notify: Callable[[str], None],
    progress: bool = False,
    checkpoints: Callable[[Scorer, str, str], CheckpointFolder] | None = None,
) -> Compared:
    """Look at every reference, then show all models the untouched pictures; what cannot be used is refused here.

    `with_batches_of` calls its last argument with the size of batches of its first, smaller ones where these do not fit
    into the device's memory, which is then settled for the first of the parts it names. `checkpoints` says where what a
    model (first argument) says to a set (third) is kept; the second tells it from the other models.
    """

    def kept(scorer: Scorer, key: str, size: int) -> dict[str, CheckpointFolder] | None:
        return None if checkpoints is None else {name: with_size(checkpoints(scorer, key, name), size) for name in sets}

    samples = looked_at({name: rows for name, (_, rows) in sets.items()}, {}, rng)
    looks_at = []
    for number, reference in enumerate(references):

        def look(size: int, reference: Scorer = reference, key: str = f"reference-{number}") -> dict[str, Preflight]:
            return look_at_reference(
                reference,
                sets,
                samples,
                orbit=orbit,
                batch_size=size,
                progress=progress,
                checkpoints=kept(reference, key, size),
            )

        found: dict[str, Preflight] = with_batches_of(reference, [f"reference-{number}"], look)
        told = ", ".join(f"{100 * look.untouched_accuracy:.2f} % on the {name} set" for name, look in found.items())
        n = sum(len(look.right) for look in found.values())
        notify(f"{reference.name} (reference): accuracy {told}, {n:,} untouched pictures.")
        looks_at.append(found)

    def answers(
        scorer: Scorer, look: Mapping[str, Preflight], label: str, key: str, looks_were: Sequence[str]
    ) -> Untouched:
        def ask(size: int) -> Untouched:
            return untouched_answers(
                scorer, sets, look, batch_size=size, label=label, progress=progress, checkpoints=kept(scorer, key, size)
            )

        found: Untouched = with_batches_of(scorer, [untouched_part(key), *looks_were], ask)
        return found

    compared = Compared(
        models=tuple(
            answers(m, {name: looks[name, i] for name in sets}, m.name, f"{i}", [f"{name}-{i}" for name in sets])
            for i, m in enumerate(models)
        ),
        references=tuple(
            answers(r, look, f"{r.name} (reference)", f"reference-{i}", [f"reference-{i}"])
            for i, (r, look) in enumerate(zip(references, looks_at, strict=True))
        ),
        names=tuple(reference.name for reference in references),
        evaluations=(len(models) + len(references)) * sum(len(rows) for _, rows in sets.values())
        + sum(look.extra_evaluations for found in looks_at for look in found.values()),
    )
    check_apart(compared.models, compared.references, compared.names)
    return compared


def untouched_part(key: str) -> str:
    """The part of an audit that shows a model its untouched pictures."""
    return f"untouched-{key}"


def check_apart(models: Sequence[Untouched], references: Sequence[Untouched], names: Sequence[str]) -> None:
    """Refuse references that cannot serve for one of the models, by what they say to the pictures of all sets."""

    def joined(sets: Mapping[str, Floats]) -> Floats:
        return np.concatenate([sets[name] for name in sorted(sets)])

    margins = np.stack([joined(reference.margins()) for reference in references])
    excess = np.stack([joined(reference.excess()) for reference in references])
    for model in models:
        check_references(
            joined(model.margins()), margins, names, excess=joined(model.excess()), references_excess=excess
        )


def weigh_references(
    compared: Compared,
    pictures: Sequence[str],
    test: Examples,
    control: Examples,
    *,
    alternative: Alternative,
    level: float,
    rng: np.random.Generator,
    n_resamples: int,
    n_jobs: int,
) -> LeakEvidence:
    """The leak test on untouched pictures, averaged over the audited models."""
    (scores_test, references_test), (scores_control, references_control) = (
        compared.margins(name, pictures) for name in ("test", "control")
    )
    return weigh_leak(
        scores_test,
        scores_control,
        references_test=references_test,
        references_control=references_control,
        reference_names=compared.names,
        classes_test=test.labels,
        classes_control=control.labels,
        groups_test=test.groups,
        groups_control=control.groups,
        clip=MARGIN_CLIP,
        kind="margin",
        alternative=alternative,
        level=level,
        rng=rng,
        n_resamples=n_resamples,
        n_jobs=n_jobs,
    )
