"""Several models: the gap of each to fresh examples, and who memorised more by which metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import quoted
from heldout.errors import InputError
from heldout.memorization.comparison import larger
from heldout.memorization.curve import LEVEL, PMV, Curve, metrics_of
from heldout.memorization.metrics import Estimate, linear_estimate
from heldout.memorization.ranking import (
    GAP,
    Column,
    Ranking,
    columns_of,
    correlations,
    disagreements,
    rank,
)
from heldout.memorization.retrained import LabelNoiseCurve
from heldout.memorization.spread import Spread, apart, beside, shares, spread_of
from heldout.results import Record


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Audited(Record):
    """What `heldout audit` says of a model and its training pictures."""

    unlisted = ("mean",)
    derived = (("mean_T", "mean"),)

    p_value: float
    mean: float  # of T
    detectable_effect: float  # on T, at level 0.05 with power 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class Validation:
    """How a model does on examples it was not trained on.

    Parameters
    ----------
    right : (s, v) bool
        Whether each training is right on each example.
    examples : str
        A hash of the examples: equal ones are compared example by example.
    groups : (v,) int, optional
        Codes of groups of examples.
    """

    right: NDArray[np.bool_]
    examples: str = ""
    groups: NDArray[np.intp] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelResult(Record):
    """The curves of one model, by perturbation, and what else was measured.

    Parameters
    ----------
    gap : Estimate, optional
        Accuracy on the training examples less that on validation examples.
    """

    unlisted = ("validation",)
    derived = ("validation_accuracy",)

    perturbations: dict[str, Curve]
    validation: Validation | None = None
    gap: Estimate | None = None
    audit: Audited | None = None

    @property
    def validation_accuracy(self) -> float | None:
        """On fresh examples, without noise."""
        return None if self.validation is None else float(self.validation.right.mean())

    @property
    def training_accuracy(self) -> float | None:
        """On the training set as it is; None where that was not measured."""
        return next((float(c.accuracy[0]) for c in self._untouched()), None)

    def _untouched(self) -> Iterator[Curve]:
        """Curves whose first point is the plain training accuracy: of a finished model, or on true labels."""
        for c in self.perturbations.values():
            if c.perturbation != PMV and not c.assumed and c.strengths[0] == 0 and c.done[0].any():
                yield c

    def check_validation(self, name: str) -> None:
        """Refuse answers on fresh examples that no curve's trainings can have given, so that there would be no gap."""
        trainings = {int(c.done[0].sum()) for c in self._untouched()}
        if self.validation is not None and trainings and self._gap_curve is None:
            raise InputError(
                f"`validation` of {name!r} is of {len(self.validation.right):,} trainings, and its curves without "
                f"noise are of {' or '.join(f'{n:,}' for n in sorted(trainings))}; give one row for each of these."
            )

    @property
    def _gap_curve(self) -> Curve | None:
        """The curve whose first point is of the trainings that were validated."""
        if self.validation is None:
            return None
        found = (c for c in self._untouched() if int(c.done[0].sum()) == len(self.validation.right))
        return next(found, None)

    def gap_parts(self) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]] | None:
        """Shares of training and of validation examples in the error of the gap, and the gap of each training."""
        curve = self._gap_curve
        if curve is None or self.validation is None:
            return None
        right, trained = self.validation.right, curve.correct[0][curve.done[0]]
        parts = [shares(trained[None], groups=curve.groups), -shares(right[None], groups=self.validation.groups)]
        return parts, (trained.mean(axis=1) - right.mean(axis=1))[None]

    @property
    def gap_retrained(self) -> bool:
        """Whether its trainings were made anew, with labels, seeds and examples that another model's share."""
        return self._gap_curve is not None and self._gap_curve.retrained

    def gap_paired(self, other: ModelResult) -> bool:
        """Whether two gaps are between the same examples, and retrained alike, so that they are compared in pairs."""
        a, b, mine, theirs = self._gap_curve, other._gap_curve, self.validation, other.validation
        if a is None or b is None or mine is None or theirs is None:
            return False
        if not a.shares_examples(b) or (a.retrained and not np.array_equal(a.done[0], b.done[0])):
            return False
        alike = (mine.groups is None) == (theirs.groups is None) and (
            mine.groups is None or np.array_equal(mine.groups, np.asarray(theirs.groups))
        )
        return mine.examples != "" and mine.examples == theirs.examples and alike


@dataclass(frozen=True)
class Unranked:
    """Models that were measured at other strengths than those that are ranked."""

    perturbation: str
    models: tuple[str, ...]
    ranked: tuple[str, ...]


Models = Mapping[str, ModelResult]


def compared(
    curves: Sequence[Curve | LabelNoiseCurve],
    *,
    validation: Mapping[str, NDArray[np.bool_]] | None = None,
    validation_examples: Mapping[str, str] | None = None,
    validation_groups: Mapping[str, NDArray[np.intp]] | None = None,
    audits: Mapping[str, Audited] | None = None,
    failures: Sequence[str] = (),
    notes: Sequence[str] = (),
    seed: int = 0,
    **others: Any,
) -> dict[str, Any]:
    """The fields of a `MemorizationResult`, which documents them, from curves."""
    measured = models_of(curves, validation, validation_examples, validation_groups, audits)
    noise = [curve for curve in curves if isinstance(curve, LabelNoiseCurve)]
    rankings = rank_models(measured, seed=seed)
    return {
        "measured": measured,
        "rankings": rankings,
        "correlations": correlations(rankings),
        "disagreements": disagreements(rankings),
        "unranked": unranked(measured),
        "unpaired": unpaired(measured, rankings),
        "failures": (*failures, *(failure for c in noise for failure in c.failures)),
        "notes": (*notes, *(note for c in noise for note in c.notes)),
        "seed": seed,
        **others,
    }


def models_of(
    curves: Sequence[Curve | LabelNoiseCurve],
    validation: Mapping[str, NDArray[np.bool_]] | None,
    examples: Mapping[str, str] | None,
    groups: Mapping[str, NDArray[np.intp]] | None,
    audits: Mapping[str, Audited] | None,
) -> dict[str, ModelResult]:
    """What was measured of each model, with its gap; label noise brings its own validation."""
    if not curves:
        raise InputError("`curves` is empty; at least one curve is needed.")
    held = {
        name: _validation(name, right, (examples or {}).get(name, ""), (groups or {}).get(name))
        for name, right in (validation or {}).items()
    }
    found: dict[str, dict[str, Curve]] = {}
    for given in curves:
        noise = given if isinstance(given, LabelNoiseCurve) else None
        for curve in (given,) if isinstance(given, Curve) else (given.pmv, given.ptv):
            own = found.setdefault(curve.model, {})
            if curve.perturbation in own:
                told = f"{curve.model} has two curves for {curve.perturbation}"
                raise InputError(f"{told}; give the models different names.")
            own[curve.perturbation] = curve
        if noise is not None and noise.validation_right.size:
            held[noise.model] = Validation(
                right=noise.validation_right, examples=noise.validation_examples, groups=noise.validation_groups
            )
    named: dict[str, Mapping[str, Any] | None] = {
        "validation": validation,
        "validation_examples": examples,
        "validation_groups": groups,
        "audits": audits,
    }
    for what, by_model in named.items():
        strange = next((name for name in by_model or {} if name not in found), None)
        if strange is not None:
            raise InputError(f"`{what}` has {strange!r}, which no curve is of; the curves are of {quoted(found)}.")
    made = {
        name: ModelResult(perturbations=own, validation=held.get(name), audit=(audits or {}).get(name))
        for name, own in found.items()
    }
    sizes: dict[str, tuple[str, int]] = {}  # by the hash of the examples
    for name in validation or {}:
        made[name].check_validation(name)
        count = held[name].right.shape[1]
        other, known = sizes.setdefault(held[name].examples, (name, count))
        if held[name].examples and known != count:
            raise InputError(
                f"`validation_examples` of {other!r} and {name!r} are the same, but `validation` has {known:,} and "
                f"{count:,} of them; give each model the hash of its own."
            )
    return {name: replace(model, gap=gap_of(model)) for name, model in made.items()}


def _validation(name: str, right: Any, examples: str, groups: Any) -> Validation:
    """What was handed in of one model, looked at."""
    table = np.asarray(right)
    if table.ndim != 2 or 0 in table.shape or not np.isin(table, (0, 1)).all():
        raise InputError(
            f"`validation` of {name!r} has the shape {table.shape} and the type {table.dtype}; whether each training "
            "is right on each example is needed, (trainings, examples) of True and False: a finished model is one row, "
            "right[None]."
        )
    if groups is not None and np.shape(groups) != table.shape[1:]:
        raise InputError(
            f"`validation_groups` of {name!r} has the shape {np.shape(groups)}; give one group for each of the "
            f"{table.shape[1]:,} validation examples."
        )
    return Validation(right=table.astype(bool, copy=False), examples=examples, groups=groups)


def gap_of(model: ModelResult) -> Estimate | None:
    """The gap with its interval; None where it was not measured."""
    found = model.gap_parts()
    if found is None:
        return None
    parts, gaps = found
    if min(u.shape[2] for u in parts) < 2:
        return Estimate.undefined("one example has no interval.")
    return linear_estimate(float(gaps.mean()), spread_of(parts, gaps, np.ones_like(gaps, bool)), level=LEVEL)


def all_curves(models: Models) -> list[Curve]:
    """The curves of all models, one model after the other."""
    return [c for model in models.values() for c in model.perturbations.values()]


def mean_line(curves: Sequence[Curve], n: int) -> NDArray[np.float64] | None:
    """The mean of `Curve.line` over n curves of one model; None where some are missing or were measured elsewhere.

    Its band is the mean of the bands. Corruptions share their examples, so their errors depend on each other to an
    extent that was not measured; if they were the same, this would be the band, and otherwise it is narrower.
    """
    lines = [c.line for c in curves]
    same = len(lines) == n and all(np.array_equal(line[0], lines[0][0]) for line in lines)
    return np.asarray(np.mean(lines, axis=0)) if same else None


def all_columns(models: Models) -> tuple[Column, ...]:
    """What the models are compared by."""
    return (*columns_of(all_curves(models)), *([GAP] if any(m.validation for m in models.values()) else []))


def estimate_of(model: ModelResult, column: Column) -> Estimate | None:
    """One metric of one model; None where it was not measured."""
    if column == GAP:
        return model.gap
    curve = model.perturbations.get(column.perturbation)
    return None if curve is None else curve.estimates[column.metric]


def rank_models(models: Models, *, seed: int) -> tuple[Ranking, ...]:
    """Models in the order of each metric, family-wise over all pairs of models, one metric at a time.

    Only curves at the same strengths are ranked: those of the first model, or of the most; and by label noise only
    methods that fit their labels.
    """
    found = []
    for column in all_columns(models):
        names = models if column == GAP else ranked(models, column.perturbation)
        estimates = {name: estimate_of(models[name], column) for name in names}
        compared = _larger_gap(models) if column == GAP else _larger_by(models, column, seed)
        found.append(rank(column, {name: e for name, e in estimates.items() if e is not None}, compared))
    return tuple(r for r in found if r is not None)


def ranked(models: Models, perturbation: str) -> list[str]:
    """Models whose metrics say the same thing, the most there are."""
    curves = [c for c in all_curves(models) if c.perturbation == perturbation and c.unfit is None]
    groups = [[other.model for other in curves if c.comparable(other)] for c in curves]
    return max(groups, key=len, default=[])


def unranked(models: Models) -> tuple[Unranked, ...]:
    """Per perturbation the models that were measured at other strengths than the ones that are ranked."""
    found = []
    for name in dict.fromkeys(c.perturbation for c in all_curves(models)):
        kept = ranked(models, name)
        curves = [c for c in all_curves(models) if c.perturbation == name and c.model not in kept and c.unfit is None]
        if curves:
            found.append(Unranked(name, tuple(c.model for c in curves), tuple(kept)))
    return tuple(found)


def unpaired(models: Models, rankings: tuple[Ranking, ...]) -> tuple[tuple[str, str], ...]:
    """Ranked models that do not share their examples, so that they are compared as if independent."""
    found: dict[tuple[str, str], None] = {}
    for r in rankings:
        for first, second in itertools.combinations([name for name in models if name in r.models], 2):
            a, b = models[first], models[second]
            if r.column == GAP:
                paired = a.gap_paired(b)
            else:
                paired = a.perturbations[r.perturbation].shares_examples(b.perturbations[r.perturbation])
            if not paired:
                found[first, second] = None
    return tuple(found)


def _larger_by(models: Models, column: Column, seed: int) -> Callable[[str, str, float], bool]:
    metric = next(m for m in metrics_of(column.perturbation) if m.name == column.metric)

    def compared(first: str, second: str, tail: float) -> bool:
        a, b = (models[name].perturbations[column.perturbation] for name in (first, second))
        paired = a.shares_examples(b)
        done = a.done[a.used] & b.done[b.used] if paired and a.retrained else np.zeros((1, 1), dtype=bool)
        if done.any(axis=1).all():  # the same examples, and trainings of the same labels
            each = [c.accuracies[c.used] for c in (a, b)]
            both = [np.concatenate([a.shares, b.shares])]
            spread = spread_of(both, np.concatenate(each), done)
            curves = [np.array([row[ok].mean() for row, ok in zip(rows, done, strict=True)]) for rows in each]
        else:
            curves = [c.accuracy[c.used] for c in (a, b)]
            spread = apart(a.spread, b.spread)
            if paired and not a.retrained:
                spread = beside(spread, [(a.mean_shares, b.mean_shares)])
        rng = np.random.default_rng([seed, 5])
        return larger(metric, curves[0], curves[1], a.strengths[a.used], spread=spread, tail=tail, rng=rng)

    return compared


def _larger_gap(models: Models) -> Callable[[str, str, float], bool]:
    def compared(first: str, second: str, tail: float) -> bool:
        found = [models[name].gap_parts() for name in (first, second)]
        assert found[0] is not None
        assert found[1] is not None
        (parts, gaps), (others, other_gaps) = found[0], found[1]
        ones, pairs = np.ones_like(gaps, dtype=bool), list(zip(parts, others, strict=True))
        paired, retrained = models[first].gap_paired(models[second]), models[first].gap_retrained
        if paired and retrained:
            both = [np.concatenate(pair) for pair in pairs]
            spread: Spread = spread_of(both, np.concatenate([gaps, other_gaps]), ones)
        else:
            spread = apart(spread_of(parts, gaps, ones), spread_of(others, other_gaps, np.ones_like(other_gaps, bool)))
            if paired:
                spread = beside(spread, [(mine.mean(axis=1), theirs.mean(axis=1)) for mine, theirs in pairs])
        far = math.hypot(spread.quantile(np.array([1.0, -1.0]), tail), -math.log(2 * tail) / spread.units)
        return float(gaps.mean() - other_gaps.mean()) > far

    return compared
