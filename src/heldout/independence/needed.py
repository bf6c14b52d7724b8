"""Before the audit: what leak would be found with n examples, from a control and the references alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from heldout._version import __version__
from heldout.checks import check_count
from heldout.errors import InputError
from heldout.groups import Codes
from heldout.independence.checks import check_level
from heldout.independence.leak import check_references
from heldout.independence.score_inputs import FEWEST as FEWEST_AUDITED
from heldout.independence.score_inputs import (
    as_sequence,
    by_task,
    check_alike,
    check_chance,
    check_chance_option,
    check_help,
    check_kind_of_frame,
    check_once,
    clip_bounds,
    grouped,
    join_part,
    names_of,
)
from heldout.predictions.load_scores import as_scores
from heldout.predictions.score_kinds import LargerIs
from heldout.predictions.scores import Scores
from heldout.report import Result
from heldout.results import today
from heldout.statistics.checks import Alternative, check_alternative
from heldout.statistics.leak import ALTERNATIVE, LeakScores, leak_scores
from heldout.statistics.leak_power import PULLS, examples_needed, leak_power, two_valued
from heldout.statistics.power import LEVEL, POWER

SHARES = (0.01, 0.03, 0.1, 0.3)  # of the test set
FEWEST = 50  # examples of a control from which a forecast is made
FEWEST_GROUPS = 20  # of a control
FEWEST_SEEN = 3  # examples, or groups: a leak of fewer follows no normal law

Table = tuple[tuple[Any, ...], ...]  # a row for each share, a column for each pull


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditNeeds(Result):
    """What leak an audit would find, and how many examples it would take.

    Its table (`to_frame`) is "cells", one row per share and pull.

    Attributes
    ----------
    shares, pulls : tuple of float
        Of the test set that was seen; of the way up that a seen example moves.
    power : tuple of tuples of float
        A row per share, a column per pull: the chance of a finding with `n_examples` test examples and this control.
    needed : tuple of tuples of int or None
        Test examples, and as many in the control, for `target_power`; None where no number is enough.
    target : float
        The same as `target_power`: 0.8.
    n_examples, n_control, n_groups, n_available : int
        Test examples that `power` is for; examples of the control, its groups, and how many it had before `limit`.
    variance_removed : float
        Share of the variance that the references take off.
    kind, reference_names
        The score, and who is compared with.
    two_valued : bool
        Right or wrong: a seen example moves all the way or not at all.
    two_halves : bool
        Pictures without references: the error rate is tested at half the level, T at the other half.
    level, planned_audits, alternative
        What was asked for.
    source, version, created : str
        What came in; what made the result, and when.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import audit_scores_needed
    >>> margins = np.random.default_rng(0).normal(size=400)
    >>> needs = audit_scores_needed(margins, kind="margin", shares=[0.1], pulls=[1.0])
    >>> needs.n_control, needs.cells[0]["examples_needed"] == needs.needed[0][0]
    (400, True)
    """

    told_by = "heldout.independence.summary.needed:needed_summary"
    tabled: ClassVar = {"cells": "cells"}
    unlisted = (
        "shares", "pulls", "power", "needed", "target", "reference_names", "two_valued", "two_halves", "n_available",
    )  # fmt: skip
    derived = ("references", "target_power", "cells", "notes")

    shares: tuple[float, ...]  # of the test set that was seen
    pulls: tuple[float, ...]  # of the way up that a seen example moves
    power: Table  # with `n_examples` test examples and this control; NaN where it cannot be told
    needed: Table  # test examples, and as many in the control, for `target`; None where no number is enough
    target: float
    n_examples: int
    n_control: int
    n_groups: int | None  # of the control, where there are any of two or more
    kind: str  # of score, as printed
    reference_names: tuple[str, ...]
    variance_removed: float  # share that the references take off
    two_valued: bool  # right or wrong: a seen example moves all the way or not at all
    two_halves: bool  # pictures without references: the error rate at half the level, T being the other half
    level: float
    planned_audits: int
    alternative: Alternative
    n_available: int | None = None  # examples of the control, of which `limit` may have drawn fewer
    source: str = ""  # of the control, where it has a name
    version: str = __version__
    created: str = field(default_factory=today)

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the models that the audited one would be compared with."""
        return self.reference_names

    @property
    def target_power(self) -> float:
        """The chance that `needed` is for."""
        return self.target

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The table, cell by cell."""
        return [
            {"share": share, "pull": pull, "power": power, "examples_needed": n}
            for share, powers, numbers in zip(self.shares, self.power, self.needed, strict=True)
            for pull, power, n in zip(self.pulls, powers, numbers, strict=True)
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        return [*self.summary().warnings]


def forecast(
    scores: LeakScores,
    *,
    examples: int | None,
    shares: Sequence[float],
    pulls: Sequence[float],
    classes: ArrayLike | None,
    groups: Codes | None,
    kind: str,
    reference_names: Sequence[str],
    two_halves: bool,
    level: float,
    planned_audits: int,
    alternative: Alternative,
    target: float = POWER,
    source: str = "",
) -> AuditNeeds:
    """The table, from the weighed scores of a control."""
    n = len(scores.scores)
    if n < FEWEST:
        raise InputError(f"the control has {n} examples; a forecast needs at least {FEWEST}, and better hundreds.")
    if examples is not None:
        check_count(examples, "examples", least=FEWEST_AUDITED)
    if scores.scores.min() == scores.scores.max():
        raise InputError(f"every score of the control is {scores.scores[0]:g}, so nothing can be told from it.")
    n_groups = None if groups is None else int(groups.max()) + 1
    if n_groups is not None and n_groups < FEWEST_GROUPS:
        raise InputError(
            f"the control has {n_groups} groups; a forecast needs at least {FEWEST_GROUPS}, since whole groups are "
            "seen, or not."
        )
    size = 1.0 if n_groups is None else n / n_groups  # examples a group
    asked = n if examples is None else examples
    held_to = level / planned_audits / (2 if two_halves else 1)
    options: dict[str, Any] = {
        "classes": classes,
        "groups": groups,
        "level": held_to,
        "alternative": alternative,
        "tail": not two_halves,
    }

    binary = two_valued(scores)

    def too_few(share: float, pull: float, units: float) -> bool:
        return share * (pull if binary else 1.0) * units < FEWEST_SEEN

    def power(share: float, pull: float) -> float:
        if 0 < share <= 1 and 0 < pull <= 1 and too_few(share, pull, asked / size):
            return math.nan
        return leak_power(scores, share=share, pull=pull, n_test=asked / size, n_control=n / size, **options)

    def needed(share: float, pull: float) -> int | None:
        found = examples_needed(scores, share=share, pull=pull, power=target, **options)
        if found is None:
            return None
        return math.ceil(max(found, FEWEST_SEEN / (share * (pull if binary else 1.0))) * size)

    return AuditNeeds(
        shares=tuple(shares),
        pulls=tuple(pulls),
        power=tuple(tuple(power(share, pull) for pull in pulls) for share in shares),
        needed=tuple(tuple(needed(share, pull) for pull in pulls) for share in shares),
        target=target,
        n_examples=asked,
        n_control=n,
        n_groups=n_groups,
        kind=kind,
        reference_names=tuple(reference_names),
        variance_removed=scores.variance_removed,
        two_valued=binary,
        two_halves=two_halves,
        level=level,
        planned_audits=planned_audits,
        alternative=alternative,
        source=source,
    )


def audit_scores_needed(
    control: Scores | ArrayLike,
    *,
    references: Sequence[Scores | ArrayLike] = (),
    reference_names: Sequence[str] | None = None,
    kind: str | None = None,
    larger_is: LargerIs | None = None,
    classes: ArrayLike | None = None,
    groups: str | ArrayLike | None = None,
    chance: float | None = None,
    allow_chance: bool = False,
    examples: int | None = None,
    shares: Sequence[float] = SHARES,
    pulls: Sequence[float] = PULLS,
    alternative: Alternative = ALTERNATIVE,
    level: float = LEVEL,
    planned_audits: int = 1,
) -> AuditNeeds:
    """What leak would `audit_scores` find, and with how many examples? From the control alone.

    Parameters
    ----------
    control : Scores, or array (n,)
        The model's scores of examples that it has not seen.
    references : sequence, optional
        Scores of the same examples by other models: with ids, or in the same order.
    examples : int, optional
        Test examples for which power is asked; as many as in the control by default.
    shares, pulls : sequences of float
        Of the test set that was seen; of the way up, to the 95 % quantile of the scores, that a seen example moves.
    reference_names, kind, larger_is, chance, allow_chance, alternative, level, planned_audits
        As in `audit_scores`.
    classes, groups : (n,), optional
        Of the control; as in `audit_scores`.

    Returns
    -------
    AuditNeeds
        The chance of a finding for each share and pull, and the examples that 0.8 takes.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import audit_scores_needed
    >>> rng = np.random.default_rng(0)
    >>> hard = rng.normal(size=1000)
    >>> model, other = -hard + 0.5 * rng.normal(size=1000), -hard + 0.5 * rng.normal(size=1000)
    >>> alone = audit_scores_needed(model, kind="margin", shares=[0.03], pulls=[1.0])
    >>> with_one = audit_scores_needed(model, references=[other], kind="margin", shares=[0.03], pulls=[1.0])
    >>> alone.needed, with_one.needed
    (((3931,),), ((810,),))
    """
    check_options(level, planned_audits, alternative)
    if isinstance(control, Scores) and (kind is not None or larger_is is not None):
        raise InputError("`kind` and `larger_is` are for arrays; Scores carry their own.")
    check_kind_of_frame(control, kind)
    own = as_scores(control, kind=kind, larger_is=larger_is, what="control", groups=groups)
    if classes is not None:
        own = replace(own, classes=np.asarray(classes))
    else:
        (own,), _ = by_task([own])
    references = as_sequence(references)
    names = names_of(references, reference_names)
    check_chance_option(chance, len(references))
    parts = [join_part(reference, name, own, "control") for reference, name in zip(references, names, strict=True)]
    for name, part in zip(names, parts, strict=True):
        check_alike(own, part, f"the reference {name}", whose="the control")
        if not allow_chance:
            check_chance([part], name, chance)
    bounds, _ = clip_bounds([[own], *([part] for part in parts)])
    x, *others = (
        part.turned if clip is None else np.clip(part.turned, *clip)
        for part, clip in zip([own, *parts], bounds, strict=True)
    )
    if parts:
        check_references(own.turned, np.stack([part.turned for part in parts]), names)
        check_once([part.turned for part in parts], names)
    for name, part in zip(names, parts, strict=True):
        if not allow_chance:
            check_help([own], [part], name)
    scores = leak_scores(x, np.stack(others) if others else None, classes=own.classes)
    return forecast(
        scores,
        examples=examples,
        shares=shares,
        pulls=pulls,
        classes=own.classes,
        groups=grouped([own], groups if groups is None or isinstance(groups, str) else [groups])[0][0],
        kind=own.kind if own.larger_is_better else f"minus {own.kind}",
        reference_names=names,
        two_halves=False,
        level=level,
        planned_audits=planned_audits,
        alternative=alternative,
        source=own.source,
    )


def check_options(level: float, planned_audits: int, alternative: Alternative) -> None:
    """Level and side of the audit that is forecast."""
    check_alternative(alternative)
    check_level(level, planned_audits, None, halves=1)
