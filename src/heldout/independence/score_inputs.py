"""What an audit of scores compares: test set, control and references, joined and checked before anything is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from heldout.errors import InputError
from heldout.frames import is_frame
from heldout.groups import Codes, group_codes, group_sizes, join_groups, resolve_groups
from heldout.independence.dependence import check_groups_apart
from heldout.independence.leak import check_references
from heldout.predictions.item_columns import repeated_inputs, told_apart
from heldout.predictions.load_scores import as_scores, load_scores
from heldout.predictions.score_kinds import MARGIN, TASK, LargerIs
from heldout.predictions.scores import Scores
from heldout.predictions.values import listing
from heldout.statistics.binomial import upper_tail
from heldout.statistics.leak import MARGIN_CLIP
from heldout.statistics.ranks import average_ranks

FEWEST = 10  # examples in each set; below, nothing could be found that is worth a test
CLIP = (0.01, 0.99)  # quantiles of both sets together, for scores without a scale of their own
SMALLEST = 1e-70  # range of scores: the fourth power of a difference must be a number too
CHANCE_LEVEL = 0.05  # at which a reference must be better than a guess
HELPS = 0.1  # rank correlation below which a reference takes less than 1 % off the variance

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

    @property
    def joined_by_order(self) -> bool:
        """Whether some scores have no ids to tell that examples are the same."""
        return any(
            part.ids is None for part in (self.test, self.control, *(p for pair in self.references for p in pair))
        )

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
    if 0.0 < high - low < SMALLEST:
        raise InputError(
            f"nearly all scores lie between {low:.3g} and {high:.3g}, too near each other to be "
            "squared twice; give their logarithms, or give them on another scale."
        )
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
    check_kind_of_frame(test, kind)
    test = as_scores(test, kind=kind, larger_is=larger_is, what="test", groups=groups)
    kind, larger_is = _like(test)
    control = as_scores(control, kind=kind, larger_is=larger_is, what="control", groups=groups)
    check_alike(test, control, "the control")
    strata = None
    if classes is not None:
        check_pair(classes, "classes", "(n,) and (n_control,)")
        test, control = (
            replace(of, classes=np.asarray(given)) for of, given in zip((test, control), classes, strict=True)
        )
    else:
        (test, control), strata = by_task([test, control])
    _check_sets(test, control)
    references = [load_scores(r, larger_is=larger_is) if is_frame(r) else r for r in as_sequence(references)]
    check_chance_option(chance, len(references))
    names = names_of(references, reference_names)
    pairs = [_join(r, name, test, control) for r, name in zip(references, names, strict=True)]
    for name, pair in zip(names, pairs, strict=True):
        for part in pair:
            check_alike(test, part, f"the reference {name}")
        if not allow_chance:
            check_chance(pair, name, chance)
    if pairs:
        both = [np.concatenate([part.turned for part in pair]) for pair in ((test, control), *pairs)]
        check_references(both[0], np.stack(both[1:]), names)  # before scores are clipped, which hides a change of scale
        check_once(both[1:], names)
    for name, pair in zip(names, pairs, strict=True):
        if not allow_chance:
            check_help((test, control), pair, name)
    if groups is not None and not isinstance(groups, str):
        check_pair(groups, "groups", "a column, a file or a regular expression, or (n,) and (n_control,)")
    codes, n_repeated = grouped((test, control), groups)
    return ScoreSets(
        test=test,
        control=control,
        references=tuple(pairs),
        reference_names=tuple(names),
        strata=strata or (None if test.classes is None else "class"),
        groups=(codes[0], codes[1]),
        n_repeated=n_repeated,
    )


def check_pair(given: Any, name: str, what: str) -> None:
    """One thing for the test set, one for the control."""
    if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 2:
        raise InputError(f"`{name}` must be a pair, of test set and control: {what}.")


def as_sequence(references: Any) -> list[Any]:
    """The references as a list; one alone is not taken for several."""
    if isinstance(references, (list, tuple, np.ndarray)):
        return list(references)
    one = f"one {type(references).__name__}" if isinstance(references, Scores) or is_frame(references) else references
    raise InputError(f"`references` is {one}; give a list, with one entry for each reference.")


def by_task(sets: Sequence[Scores]) -> tuple[list[Scores], str | None]:
    """Sets with their tasks as classes, where logs of the same two or more tasks are in all of them; and the name."""
    tasks = [set(of.columns[TASK].tolist()) for of in sets if TASK in of.columns]
    told = len(tasks) == len(sets) and all(of == tasks[0] for of in tasks) and len(tasks[0]) > 1
    if not told or any(of.classes is not None for of in sets):
        return list(sets), None
    return [replace(of, classes=np.array([str(task) for task in of.columns[TASK].tolist()])) for of in sets], TASK


def _like(scores: Scores) -> tuple[str, LargerIs]:
    return scores.kind, "better" if scores.larger_is_better else "worse"


def check_alike(first: Scores, other: Scores, who: str, *, whose: str = "the test set") -> None:
    """One kind, one direction."""
    if first.kind != other.kind:
        raise InputError(
            f"{whose}'s scores are {first.kind} ({first.source}) but those of {who} are {other.kind} "
            f"({other.source}); give one kind of score everywhere (`score`)."
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
    if not np.isin(both, (0.0, 1.0)).all():  # all right, or all wrong, is what right and wrong can be
        for name, of in (("test set", test), ("control", control)):
            if of.values.min() == of.values.max():
                raise InputError(
                    f"every score of the {name} is {of.values[0]:g} ({of.source}), as of a run that failed; give the "
                    "scores of single examples."
                )
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
    if np.array_equal(test.values, control.values) and len(np.unique(test.values)) >= FEWEST:  # never by chance
        raise InputError(
            f"test set and control have the same {len(test):,} scores in the same order ({test.source}, "
            f"{control.source}); a control must be other examples."
        )


def names_of(references: Sequence[Any], given: Sequence[str] | None) -> list[str]:
    """What references are called: as given, else by their files, else by number."""
    if given is not None:
        if not isinstance(given, (list, tuple)):
            raise InputError(f"`reference_names` is {given!r}; give a list of names.")
        if len(given) != len(references):
            raise InputError(f"{len(given)} `reference_names` for {len(references)} references.")
        return [str(name) for name in given]
    names = []
    for i, reference in enumerate(references):
        first = reference[0] if isinstance(reference, (tuple, list)) and len(reference) else reference
        names.append(first.name if isinstance(first, Scores) and first.name else f"reference {i}")
    twice = len(set(names)) < len(names)  # as of files in folders of their own
    return [f"{name} ({i + 1})" if twice else name for i, name in enumerate(names)]


def _join(reference: Reference, name: str, test: Scores, control: Scores) -> tuple[Scores, Scores]:
    """The reference's scores of the very same examples, in the same order."""
    if isinstance(reference, Scores):
        if test.ids is None or control.ids is None or reference.ids is None:
            raise InputError(
                f"the reference {name} holds both sets together, so that ids are needed to join it; give a column `id` "
                "everywhere, or the reference's scores of test set and control apart (`reference_control_scores`)."
            )
        return join_part(reference, name, test, "test"), join_part(reference, name, control, "control")
    given: Any = reference
    if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 2:
        raise InputError(f"the reference {name} must be Scores, or a pair: its scores of test set and of control.")
    return join_part(reference[0], name, test, "test"), join_part(reference[1], name, control, "control")


def join_part(given: Scores | ArrayLike, name: str, of: Scores, what: str) -> Scores:
    """A reference's scores of one set's examples, in the same order; `what` is "test" or "control"."""
    kind, larger_is = _like(of)
    part = as_scores(given, kind=kind, larger_is=larger_is, what=f"{name}, {what}")
    if of.ids is not None and part.ids is not None:
        if set(of.ids).isdisjoint(part.ids):
            raise InputError(
                f"the reference {name} ({part.source}) has scores for none of the {len(of):,} {what} examples; a "
                "reference must be scored on both sets (a file of both, or `reference_control_scores`)."
            )
        part = part.pick(of.ids)
    elif len(part) != len(of):
        raise InputError(
            f"the reference {name} has {len(part):,} {what} scores but the model {len(of):,}; both need the same "
            "examples in the same order, or ids to join them by."
        )
    apart = told_apart(of.columns, part.columns)
    if apart is not None:
        asked, other = apart.asked()
        ids = of.ids or part.ids
        raise InputError(
            f"the {what} example {apart.place if ids is None else repr(ids[apart.place])} is another one for the "
            f"reference {name} ({part.source}), whose {apart.column!r} is {other}, than for the model, whose is "
            f"{asked}, as are {apart.count - 1:,} others of {len(of):,}; score both on the same version of the data"
            f"{'.' if ids is not None and part.ids is not None else ', in the same order, or give ids to join by.'}"
        )
    return part


def check_kind_of_frame(given: Any, kind: str | None) -> None:
    """The column's name tells the kind of a frame's scores."""
    if is_frame(given) and kind is not None:
        raise InputError(
            f"`kind` is for arrays; choose the column of a frame with heldout.load_scores(frame, score={kind!r})."
        )


def check_once(references: Sequence[NDArray[np.float64]], names: Sequence[str]) -> None:
    """No reference twice: it would count twice, and its name promises another model."""
    seen: dict[bytes, str] = {}
    for name, values in zip(names, references, strict=True):
        first = seen.setdefault(values.tobytes(), name)
        if first != name:
            raise InputError(f"the references {first} and {name} have the same scores of every example; give one.")


def check_help(own: Sequence[Scores], parts: Sequence[Scores], name: str) -> None:
    """Refuse a reference that surely has nothing to do with the model's scores, by its ranks on all sets together.

    Which example is in which set plays no part, so that a permutation test stays exact.
    """
    x, y = (np.concatenate([part.turned for part in of]) for of in (own, parts))
    if x.min() == x.max() or y.min() == y.max():
        return
    found = float(np.corrcoef(average_ranks(x), average_ranks(y))[0, 1])
    if found - ndtri(CHANCE_LEVEL) / np.sqrt(len(x) - 1) < HELPS:
        raise InputError(
            f"the reference {name} is no help: its scores have nothing to do with the model's (rank correlation "
            f"{found:.2f} on {len(x):,} examples). Are its examples the same, in the same order? If so leave it out, "
            "or go on with `allow_chance=True`."
        )


def check_chance_option(chance: Any, n_references: int) -> None:
    """What can be known of `chance` before references are looked at."""
    if chance is None:
        return
    if isinstance(chance, bool) or not isinstance(chance, (int, float, np.number)) or not 0 < chance < 1:
        raise InputError(f"`chance` is {chance}; give the accuracy of a guess, such as 0.25 of four options.")
    if not n_references:
        raise InputError("`chance` is for checking references, and there are none; leave it out.")


def check_chance(parts: Sequence[Scores], name: str, chance: float | None) -> None:
    """A reference that is no better than a guess disagrees with the data's labels, or its examples are not these."""
    does = "is right"
    right = [part.is_right for part in parts]
    if chance is not None and any(mark is None for mark in right):
        if parts[0].kind != MARGIN:
            raise InputError(
                f"`chance` cannot be used: {parts[0].kind} does not tell whether an answer is right. Give a "
                "column `correct` beside the scores, or leave `chance` out."
            )
        does, right = "has a margin above 0", [np.asarray(part.turned > 0.0) for part in parts]
    marks = [mark for mark in right if mark is not None]
    if len(marks) < len(parts):
        return
    options = [1.0 / part.n_options for part in parts if part.n_options is not None]
    if chance is None and len(options) == len(parts):
        chance = float(np.mean(np.concatenate(options)))
    if chance is None:
        return
    n, n_right = sum(len(m) for m in marks), sum(int(m.sum()) for m in marks)
    if upper_tail(n_right, n, chance) > CHANCE_LEVEL:
        raise InputError(
            f"the reference {name} {does} on {100 * n_right / n:.1f} % of {n:,} examples, no better than a guess "
            f"({100 * chance:.1f} %): it disagrees with the labels, or was scored on other examples. Leave it out, or "
            "go on with `allow_chance=True`."
        )


def grouped(sets: Sequence[Scores], groups: str | Sequence[Any] | None) -> tuple[list[Codes | None], int]:
    """Groups of each set as given, joined with those of examples with one text; and how many examples share a text.

    The sets are a test set and a control, or a control alone. A group or a text in both is refused; None stands for a
    set in which every example is on its own.
    """
    parts: list[list[Codes]] = [[] for _ in sets]
    if groups is not None:
        if isinstance(groups, str):
            named = [resolve_groups(groups, of.ids or _numbered(of), of.columns) for of in sets]
        else:
            named = [np.asarray(given) for given in groups]
        for own, given, of, what in zip(parts, named, sets, ("test", "control")[-len(sets) :], strict=True):
            own.append(group_codes(given, len(of), what=f"groups of the {what}"))
        if len(sets) == 2:
            check_groups_apart(*([str(v) for v in given.tolist()] for given in named))
    n_repeated = 0
    shared = [key for key in sets[0].columns if all(key in of.columns for of in sets)]
    codes, texts = repeated_inputs(
        {key: np.concatenate([of.columns[key].astype(object) for of in sets]) for key in shared},
        sum(len(of) for of in sets),
    )
    if codes is not None:
        each = np.split(codes, np.cumsum([len(of) for of in sets])[:-1])
        both = np.intersect1d(each[0], each[1]) if len(each) == 2 else each[0][:0]
        if len(both):
            test = sets[0]
            first = int(np.flatnonzero(np.isin(each[0], both))[0])
            raise InputError(
                f"{len(both):,} text{'s' * (len(both) > 1)} ({listing(texts)}), such as that of the test example "
                f"{(test.ids or _numbered(test))[first]!r}, {'are' if len(both) > 1 else 'is'} in the control too; "
                "take such examples out of one set, or that column out of the files if it is not all that is asked."
            )
        for own, some in zip(parts, each, strict=True):
            numbers = np.unique(some, return_inverse=True)[1].reshape(-1)
            n_repeated += int((group_sizes(numbers)[numbers] > 1).sum())
            own.append(np.asarray(numbers, dtype=np.intp))
    joined = [join_groups(*own) if own else None for own in parts]
    return [None if found is None or (group_sizes(found) == 1).all() else found for found in joined], n_repeated


def _numbered(scores: Scores) -> tuple[str, ...]:
    return tuple(str(i) for i in range(len(scores)))
