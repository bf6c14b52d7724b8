"""What an audit of scores compares: test set, control and references, joined and checked before anything is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from heldout.errors import InputError
from heldout.groups import Codes, group_codes, group_sizes, join_groups, resolve_groups
from heldout.independence.dependence import check_groups_apart
from heldout.predictions.score_kinds import MARGIN, LargerIs
from heldout.predictions.scores import Scores, as_scores
from heldout.predictions.table import repeated_inputs
from heldout.predictions.values import listing
from heldout.statistics.leak import MARGIN_CLIP

FEWEST = 10  # examples in each set; below, nothing could be found that is worth a test
CLIP = (0.01, 0.99)  # quantiles of both sets together, for scores without a scale of their own
CHANCE_LEVEL = 0.05  # at which a reference must be better than a guess

Reference = Scores | tuple[Scores | ArrayLike, Scores | ArrayLike]
Pair = tuple[Any, Any]


@dataclass(frozen=True)
class ScoreSets:
    """Scores of the model and of k references on the same examples of test set and control."""

    test: Scores
    control: Scores
    references: tuple[tuple[Scores, Scores], ...]
    reference_names: tuple[str, ...]
    strata: str | None  # what examples are compared within, as printed
    groups: tuple[Codes | None, Codes | None]
    n_repeated: int  # examples whose text another one of their set has too

    def clipped(self) -> tuple[tuple[NDArray[np.float64], ...], tuple[NDArray[np.float64], ...], str]:
        """Scores of the model, then of each reference, on test set and control: larger is better, and clipped.

        A margin is clipped to MARGIN_CLIP, right and wrong not at all, anything else to the 1 % and 99 % quantiles of
        each model's scores on both sets together: which example is in which set is not known to the clipping, so that
        a permutation test stays exact. The text says what was done.
        """
        both = [(self.test, self.control), *self.references]
        clips, said = clip_bounds(both)
        pairs = zip(both, clips, strict=True)
        done = [tuple(part.turned if clip is None else np.clip(part.turned, *clip) for part in p) for p, clip in pairs]
        return tuple(p[0] for p in done), tuple(p[1] for p in done), said


def clip_bounds(models: Sequence[Sequence[Scores]]) -> tuple[list[tuple[float, float] | None], str]:
    """Where the turned scores of each model are clipped, all its sets together, the audited one first; and in words."""
    first = models[0][0]
    if first.kind == MARGIN and first.larger_is_better:
        return [MARGIN_CLIP] * len(models), f"clipped to {MARGIN_CLIP[0]:g} to {MARGIN_CLIP[1]:g}"
    if all(np.isin(part.values, (0.0, 1.0)).all() for parts in models for part in parts):
        return [None] * len(models), "not clipped"
    clips = [_quantiles(np.concatenate([part.turned for part in parts])) for parts in models]
    said = "clipped to the 1 % and 99 % quantiles of both sets together"
    if clips[0] is not None:
        low, high = clips[0] if first.larger_is_better else (-clips[0][1], -clips[0][0])
        said += f", {low:.4g} to {high:.4g}"
    return clips, said


def _quantiles(values: NDArray[np.float64]) -> tuple[float, float] | None:
    low, high = (float(q) for q in np.quantile(values, CLIP))
    return (low, high) if low < high else None  # else nearly all are equal, and the few others are all there is


def gather(
    test: Scores | ArrayLike,
    control: Scores | ArrayLike,
    references: Sequence[Reference],
    *,
    reference_names: Sequence[str] | None,
    kind: str | None,
    larger_is: LargerIs | None,
    classes: Pair | None,
    groups: str | Pair | None,
    chance: float | None,
    allow_chance: bool,
) -> ScoreSets:
    """Join and check; every complaint names what is wrong and the way out."""
    if isinstance(test, Scores) and (kind is not None or larger_is is not None):
        raise InputError("`kind` and `larger_is` are for arrays; Scores carry their own.")
    test = as_scores(test, kind=kind, larger_is=larger_is, what="test")
    kind, larger_is = _like(test)
    control = as_scores(control, kind=kind, larger_is=larger_is, what="control")
    check_alike(test, control, "the control")
    if classes is not None:
        test, control = (
            replace(of, classes=np.asarray(given)) for of, given in zip((test, control), classes, strict=True)
        )
    _check_sets(test, control)
    names = _names(references, reference_names)
    pairs = [_join(r, name, test, control) for r, name in zip(references, names, strict=True)]
    for name, pair in zip(names, pairs, strict=True):
        for part in pair:
            check_alike(test, part, f"the reference {name}")
        if not allow_chance:
            check_chance(pair, name, chance)
    codes, n_repeated = _groups(test, control, groups)
    return ScoreSets(
        test=test,
        control=control,
        references=tuple(pairs),
        reference_names=tuple(names),
        strata=None if test.classes is None else "class",
        groups=codes,
        n_repeated=n_repeated,
    )


def _like(scores: Scores) -> tuple[str, LargerIs]:
    return scores.kind, "better" if scores.larger_is_better else "worse"


def check_alike(first: Scores, other: Scores, who: str, *, whose: str = "the test set") -> None:
    """One kind, one direction."""
    if first.kind != other.kind:
        raise InputError(
            f"{whose}'s scores are {first.kind} ({first.source}) but those of {who} are {other.kind} "
            f"({other.source}); give one kind of score everywhere (score=, --score)."
        )
    if first.larger_is_better != other.larger_is_better:
        sides = ["better" if of.larger_is_better else "worse" for of in (first, other)]
        raise InputError(
            f"a larger {first.kind} is {sides[0]} in {first.source} but {sides[1]} for {who} ({other.source}); give "
            "all in one direction."
        )


def _check_sets(test: Scores, control: Scores) -> None:
    for name, of in (("test set", test), ("control", control)):
        if len(of) < FEWEST:
            raise InputError(
                f"the {name} has {len(of)} example{'s' * (len(of) > 1)} ({of.source}); at least {FEWEST} are needed, "
                "and hundreds to find anything."
            )
    both = np.concatenate([test.values, control.values])
    if both.min() == both.max():
        raise InputError(f"every score of test set and control is {both[0]:g}, so that nothing is left to compare.")
    if (test.classes is None) != (control.classes is None):
        which = "test set" if control.classes is None else "control"
        raise InputError(f"only the {which} has classes; give the classes of both sets or of neither.")
    shared = sorted(set(test.ids or ()) & set(control.ids or ()))
    if shared:
        raise InputError(
            f"{len(shared):,} example{'s' * (len(shared) > 1)}, such as {listing(shared)}, "
            f"{'are' if len(shared) > 1 else 'is'} in both test set and control; a control must be other examples. If "
            "equal ids mean different examples, give those of one set another name."
        )


def _names(references: Sequence[Reference], given: Sequence[str] | None) -> list[str]:
    if given is not None:
        if len(given) != len(references):
            raise InputError(f"{len(given)} `reference_names` for {len(references)} references.")
        return list(given)
    names = []
    for i, reference in enumerate(references):
        first = reference if isinstance(reference, Scores) else reference[0]
        names.append(first.name if isinstance(first, Scores) and first.name else f"reference {i}")
    twice = len(set(names)) < len(names)  # as of files in folders of their own
    return [f"{name} ({i + 1})" if twice else name for i, name in enumerate(names)]


def _join(reference: Reference, name: str, test: Scores, control: Scores) -> tuple[Scores, Scores]:
    """The reference's scores of the very same examples, in the same order."""
    if isinstance(reference, Scores):
        if test.ids is None or control.ids is None or reference.ids is None:
            raise InputError(
                f"the reference {name} holds both sets together, so that ids are needed to join it; give a column `id` "
                "everywhere, or the reference's scores of test set and control apart (--reference-control-scores)."
            )
        known = set(reference.ids)
        for what, of, ids in (("test", test, test.ids), ("control", control, control.ids)):
            if known.isdisjoint(ids):
                raise InputError(
                    f"the reference {name} ({reference.source}) has scores for none of the {len(of):,} {what} "
                    "examples; a reference must be scored on both sets (a file of both, or --reference-control-scores)."
                )
        return reference.pick(test.ids), reference.pick(control.ids)
    if len(reference) != 2:
        raise InputError(f"the reference {name} must be Scores, or a pair: its scores of test set and of control.")
    kind, larger_is = _like(test)
    parts = []
    for what, of, given in (("test", test, reference[0]), ("control", control, reference[1])):
        part = as_scores(given, kind=kind, larger_is=larger_is, what=f"{name}, {what}")
        if of.ids is not None and part.ids is not None:
            part = part.pick(of.ids)
        elif len(part) != len(of):
            raise InputError(
                f"the reference {name} has {len(part):,} {what} scores but the model {len(of):,}; both need the same "
                "examples in the same order, or ids to join them by."
            )
        parts.append(part)
    return parts[0], parts[1]


def check_chance(parts: Sequence[Scores], name: str, chance: float | None) -> None:
    """A reference that is no better than a guess disagrees with the data's labels, or its examples are not these."""
    right = [part.is_right for part in parts]
    marks = [mark for mark in right if mark is not None]
    if len(marks) < len(parts):
        return
    options = [1.0 / part.n_options for part in parts if part.n_options is not None]
    if chance is None and len(options) == len(parts):
        chance = float(np.mean(np.concatenate(options)))
    if chance is None:
        return
    if not 0 < chance < 1:
        raise InputError(
            f"`chance` is {chance} (--chance); give the accuracy of a guess, such as 0.25 of four options."
        )
    n, n_right = sum(len(m) for m in marks), sum(int(m.sum()) for m in marks)
    if binomtest(n_right, n, chance, alternative="greater").pvalue > CHANCE_LEVEL:
        raise InputError(
            f"the reference {name} is right on {100 * n_right / n:.1f} % of {n:,} examples, no better than a guess "
            f"({100 * chance:.1f} %): it disagrees with the labels, or was scored on other examples. Leave it out, or "
            "go on with allow_chance=True (--allow-chance)."
        )


def _groups(test: Scores, control: Scores, groups: str | Pair | None) -> tuple[tuple[Codes | None, Codes | None], int]:
    """Groups as given, joined with those of examples with one text; a group or a text in both sets is refused."""
    sets = (test, control)
    parts: tuple[list[Codes], list[Codes]] = ([], [])
    if groups is not None:
        if isinstance(groups, str):
            named = [resolve_groups(groups, of.ids or _numbered(of), of.columns) for of in sets]
        else:
            named = [np.asarray(given) for given in groups]
        check_groups_apart(*([str(v) for v in given.tolist()] for given in named))
        for own, given, of, what in zip(parts, named, sets, ("test", "control"), strict=True):
            own.append(group_codes(given, len(of), what=f"groups of the {what}"))
    n_repeated = 0
    shared = [key for key in test.columns if key in control.columns]
    codes, texts = repeated_inputs(
        {key: np.concatenate([of.columns[key].astype(object) for of in sets]) for key in shared},
        len(test) + len(control),
    )
    if codes is not None:
        halves = codes[: len(test)], codes[len(test) :]
        both = np.intersect1d(*halves)
        if len(both):
            first = int(np.flatnonzero(np.isin(halves[0], both))[0])
            raise InputError(
                f"{len(both):,} text{'s' * (len(both) > 1)} ({listing(texts)}), such as that of the test example "
                f"{(test.ids or _numbered(test))[first]!r}, {'are' if len(both) > 1 else 'is'} in the control too; "
                "take such examples out of one set, or that column out of the files if it is not all that is asked."
            )
        for own, half in zip(parts, halves, strict=True):
            numbers = np.unique(half, return_inverse=True)[1].reshape(-1)
            n_repeated += int((group_sizes(numbers)[numbers] > 1).sum())
            own.append(np.asarray(numbers, dtype=np.intp))
    joined = [join_groups(*own) if own else None for own in parts]
    for which, found in enumerate(joined):
        if found is not None and len(found) == int(found.max()) + 1:
            joined[which] = None
    return (joined[0], joined[1]), n_repeated


def _numbered(scores: Scores) -> tuple[str, ...]:
    return tuple(str(i) for i in range(len(scores)))
