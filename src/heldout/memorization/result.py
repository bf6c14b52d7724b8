"""What measuring memorization returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.groups import FEW
from heldout.memorization.comparison import larger
from heldout.memorization.curve import LEVEL, PMV, PTV, Curve, Exhibits, estimate_dict, plain
from heldout.memorization.metrics import Estimate, linear_estimate
from heldout.memorization.ranking import (
    GAP,
    Column,
    Disagreement,
    Ranking,
    columns_of,
    disagreements,
    rank,
    rank_correlation,
)
from heldout.memorization.retrained import LabelNoiseCurve
from heldout.memorization.spread import Spread, apart, shares, spread_of

TERMINAL = 118  # characters
SHOWN = 8  # disagreements that are printed


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What `heldout audit` says of a model and its training pictures."""

    p_value: float
    mean: float  # of T
    detectable_effect: float  # on T, at level 0.05 with power 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class MemorizationResult:
    """Curves of one or several models, their metrics with intervals, and who memorised more.

    Parameters
    ----------
    curves : tuple of Curve
        One a model and perturbation.
    validation : dict of str to (s, v) bool
        Per model, whether it is right on each validation example.
    validation_examples : dict of str to str
        Per model, a hash of the validation examples: equal ones are compared example by example.
    validation_groups : dict of str to (v,) int
        Per model, codes of groups of validation examples, where they come in groups.
    audits : dict of str to Audited
        Per model, `heldout audit` on the training pictures.
    failures : tuple of str
        Trainings that raised.
    notes : tuple of str
        What was noticed: sentences.
    source, digest : str
        The training set and its hash.
    preprocessing : dict
        What was done to pictures.
    seed : int
    """

    curves: tuple[Curve, ...]
    validation: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    validation_examples: Mapping[str, str] = field(default_factory=dict)
    validation_groups: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    audits: Mapping[str, Audited] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    digest: str = ""
    preprocessing: Mapping[str, Any] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    seed: int = 0
    version: str = __version__

    def __post_init__(self) -> None:
        if not self.curves:
            raise InputError("there is no curve to tell of.")
        seen = set()
        for curve in self.curves:
            if (curve.model, curve.perturbation) in seen:
                raise InputError(
                    f"{curve.model} has two curves for {curve.perturbation}; give the models different names."
                )
            seen.add((curve.model, curve.perturbation))

    @classmethod
    def of(cls, curves: Sequence[Curve | LabelNoiseCurve], **others: Any) -> MemorizationResult:
        """A result from curves of either kind; `others` are the other fields."""
        flat: list[Curve] = []
        validation = dict(others.pop("validation", {}))
        held = dict(others.pop("validation_examples", {}))
        held_groups = dict(others.pop("validation_groups", {}))
        failures, notes = list(others.pop("failures", ())), list(others.pop("notes", ()))
        for curve in curves:
            if isinstance(curve, LabelNoiseCurve):
                flat += [curve.pmv, curve.ptv]
                failures += curve.failures
                notes += curve.notes
                if curve.validation_right.size:
                    validation[curve.model] = curve.validation_right
                    held[curve.model] = curve.validation_examples
                    if curve.validation_groups is not None:
                        held_groups[curve.model] = curve.validation_groups
            else:
                flat.append(curve)
        return cls(
            curves=tuple(flat),
            validation=validation,
            validation_examples=held,
            validation_groups=held_groups,
            failures=tuple(failures),
            notes=tuple(notes),
            **others,
        )

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, in the order they came."""
        return tuple(dict.fromkeys(curve.model for curve in self.curves))

    @property
    def perturbations(self) -> tuple[str, ...]:
        """Their names, in the order they came."""
        return tuple(dict.fromkeys(curve.perturbation for curve in self.curves))

    def curve(self, model: str, perturbation: str) -> Curve | None:
        """One of the curves, if it is there."""
        found = (c for c in self.curves if (c.model, c.perturbation) == (model, perturbation))
        return next(found, None)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What models are compared by."""
        return (*columns_of(self.curves), *([GAP] if self.validation else []))

    def estimate(self, model: str, column: Column, *, level: float = LEVEL) -> Estimate | None:
        """One metric of one model with its interval; None where it was not measured."""
        if column == GAP:
            return self._gap(model, level)
        curve = self.curve(model, column.perturbation)
        if curve is None:
            return None
        metric = next(m for m in curve.metrics if m.name == column.metric)
        return curve.estimate(metric, level=level)

    def untouched(self, model: str) -> Curve | None:
        """A curve whose first point is the plain training accuracy: of a finished model, or on true labels."""
        return next(iter(self._untouched(model)), None)

    def _untouched(self, model: str) -> list[Curve]:
        known = [c for c in self.curves if c.model == model and c.perturbation != PMV and not c.assumed]
        return [c for c in known if c.strengths[0] == 0 and c.done[0].any()]

    def _gap_curve(self, model: str) -> Curve | None:
        """The curve whose first point is of the trainings that were validated."""
        right = self.validation.get(model)
        if right is None:
            return None
        found = (c for c in self._untouched(model) if int(c.done[0].sum()) == len(right))  # the same trainings
        return next(found, None)

    def _gap_parts(self, model: str) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]] | None:
        """Shares of training and of validation examples, and the gap of each training."""
        curve = self._gap_curve(model)
        if curve is None:
            return None
        right, trained = self.validation[model], curve.correct[0][curve.done[0]]
        parts = [
            shares(trained[None], groups=curve.groups),
            -shares(right[None], groups=self.validation_groups.get(model)),
        ]
        return parts, (trained.mean(axis=1) - right.mean(axis=1))[None]

    def _gap(self, model: str, level: float) -> Estimate | None:
        found = self._gap_parts(model)
        if found is None:
            return None
        parts, gaps = found
        if min(u.shape[2] for u in parts) < 2:
            return Estimate.undefined("one example has no interval.")
        return linear_estimate(float(gaps.mean()), spread_of(parts, gaps, np.ones_like(gaps, bool)), level=level)

    @cached_property
    def table(self) -> dict[str, dict[Column, Estimate]]:
        """Every metric of every model, each with an interval of its own."""
        found = {model: {c: self.estimate(model, c) for c in self.columns} for model in self.models}
        return {model: {c: e for c, e in row.items() if e is not None} for model, row in found.items()}

    @cached_property
    def rankings(self) -> tuple[Ranking, ...]:
        """Models in the order of each metric, family-wise over all pairs of models, one metric at a time.

        Only curves at the same strengths are ranked: those of the first model, or of the most; and by label noise only
        methods that fit their labels.
        """
        found = []
        for column in self.columns:
            estimates = {model: self.estimate(model, column) for model in self._ranked(column)}
            compared = self._larger_gap if column == GAP else self._larger_by(column)
            found.append(rank(column, {model: e for model, e in estimates.items() if e is not None}, compared))
        return tuple(r for r in found if r is not None)

    def _larger_by(self, column: Column) -> Callable[[str, str, float], bool]:
        def compared(first: str, second: str, tail: float) -> bool:
            a, b = (self.curve(model, column.perturbation) for model in (first, second))
            assert a is not None
            assert b is not None
            metric = next(m for m in a.metrics if m.name == column.metric)
            done = a.done[a.used] & b.done[b.used] if a.shares_examples(b) else np.zeros((1, 1), dtype=bool)
            if done.any(axis=1).all():  # the same examples, and trainings of the same labels
                each = [c.accuracies[c.used] for c in (a, b)]
                spread = spread_of([np.concatenate([a.shares, b.shares])], np.concatenate(each), done)
                curves = [np.array([row[ok].mean() for row, ok in zip(rows, done, strict=True)]) for rows in each]
            else:
                spread, curves = apart(a.spread, b.spread), [c.accuracy[c.used] for c in (a, b)]
            rng = np.random.default_rng([self.seed, 5])
            strengths = a.strengths[a.used]
            return larger(metric, curves[0], curves[1], strengths, spread=spread, tail=tail, rng=rng)

        return compared

    def _larger_gap(self, first: str, second: str, tail: float) -> bool:
        found = [self._gap_parts(model) for model in (first, second)]
        assert found[0] is not None
        assert found[1] is not None
        (parts, gaps), (others, other_gaps) = found[0], found[1]
        ones = np.ones_like(gaps, dtype=bool)
        if self._gap_paired(first, second):
            both = [np.concatenate(pair) for pair in zip(parts, others, strict=True)]
            spread: Spread = spread_of(both, np.concatenate([gaps, other_gaps]), ones)
        else:
            spread = apart(spread_of(parts, gaps, ones), spread_of(others, other_gaps, np.ones_like(other_gaps, bool)))
        far = math.hypot(spread.quantile(np.array([1.0, -1.0]), tail), -math.log(2 * tail) / spread.units)
        return float(gaps.mean() - other_gaps.mean()) > far

    def _gap_paired(self, first: str, second: str) -> bool:
        a, b = self._gap_curve(first), self._gap_curve(second)
        if a is None or b is None or not a.shares_examples(b) or not np.array_equal(a.done[0], b.done[0]):
            return False
        key, other = (self.validation_examples.get(model, "") for model in (first, second))
        groups = [self.validation_groups.get(model) for model in (first, second)]
        alike = all(g is None for g in groups) or (
            all(g is not None for g in groups) and np.array_equal(*groups)  # type: ignore[arg-type]
        )
        return key != "" and key == other and alike

    @cached_property
    def unpaired(self) -> tuple[str, ...]:
        """A sentence where ranked models do not share their examples, so that they are compared as if independent."""
        found: dict[str, None] = {}
        for r in self.rankings:
            for first, second in itertools.combinations([m for m in self.models if m in r.models], 2):
                if r.column == GAP:
                    paired = self._gap_paired(first, second)
                else:
                    a, b = (self.curve(model, r.column.perturbation) for model in (first, second))
                    paired = a is not None and b is not None and a.shares_examples(b)
                if not paired:
                    found[f"{first} and {second}"] = None
        if not found:
            return ()
        pairs = list(found)
        told = f"{', '.join(pairs[:3])}{f' and {len(pairs) - 3} more pairs' if len(pairs) > 3 else ''}"
        what = "different examples or wrong labels, as far as can be told"
        return (f"{told}: measured on {what}, so they are compared as if independent, not example by example.",)

    def _ranked(self, column: Column) -> list[str]:
        """Models whose metric says the same thing, the most there are."""
        if column == GAP:
            return list(self.models)
        curves = [c for c in self.curves if c.perturbation == column.perturbation and c.unfit is None]
        groups = [[other.model for other in curves if c.comparable(other)] for c in curves]
        return max(groups, key=len, default=[])

    @cached_property
    def unfit(self) -> tuple[str, ...]:
        """A sentence for each method that does not fit its labels."""
        return tuple(dict.fromkeys(c.unfit for c in self.curves if c.unfit is not None))

    @cached_property
    def grouped(self) -> tuple[str, ...]:
        """Where examples come in groups: how many, the design effect, and a warning where they are few."""
        found: dict[tuple[int, int], list[float]] = {}
        for c in self.curves:
            if c.groups is not None:
                found.setdefault((c.n, c.units), []).append(c.design_effect)
        sentences = []
        for (n, units), effects in found.items():
            known = [d for d in effects if not math.isnan(d)]
            effect = f"design effect {max(known):.2f} at most" if known else "design effect unknown"
            told = f"{n:,} examples in {units:,} groups, {effect}; whole groups are drawn anew."
            if units < FEW:
                told += f" {units} groups are few: below {FEW}, intervals and comparisons are rough."
            sentences.append(told)
        return tuple(sentences)

    @cached_property
    def unranked(self) -> tuple[str, ...]:
        """A sentence for each model that was measured at other strengths than the others."""
        sentences = []
        for name in self.perturbations:
            column = next(c for c in self.columns if c.perturbation == name)
            ranked = self._ranked(column)
            left = [c.model for c in self.curves if c.perturbation == name and c.model not in ranked and not c.unfit]
            if left and len(ranked) > 1:
                sentences.append(
                    f"{', '.join(left)} {'was' if len(left) == 1 else 'were'} put to {name} at other strengths than "
                    f"{', '.join(ranked)}, so the numbers cannot be compared and are not ranked."
                )
            elif left:
                sentences.append(f"{name} was measured at other strengths for each model: its numbers are not ranked.")
        return tuple(sentences)

    @cached_property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Pairs of models that two metrics order in opposite ways, each significantly."""
        return tuple(disagreements(self.rankings))

    @cached_property
    def disputed(self) -> tuple[str, ...]:
        """A sentence for each pair of models that metrics disagree on, with the numbers of every metric that tells."""
        pairs: dict[frozenset[str], dict[tuple[str, str], dict[Column, tuple[float, float]]]] = {}
        for d in self.disagreements:
            sides = pairs.setdefault(frozenset((d.model, d.other)), {})
            sides.setdefault((d.model, d.other), {})[d.first] = d.by_first
            sides.setdefault((d.other, d.model), {})[d.second] = d.by_second[::-1]
        sentences = []
        for sides in pairs.values():
            (more, less), by = next(iter(sides.items()))
            against = sides[(less, more)]
            sentences.append(
                f"{more} memorised more than {less} by "
                + ", ".join(f"{c.title} ({a:.4f} against {b:.4f})" for c, (a, b) in by.items())
                + "; less by "
                + ", ".join(f"{c.title} ({b:.4f} against {a:.4f})" for c, (a, b) in against.items())
            )
        return tuple(sentences)

    @cached_property
    def correlations(self) -> dict[tuple[str, str], float]:
        """Kendall's tau of each two metrics' orders, where three models or more share them."""
        found = {
            (a.column.title, b.column.title): rank_correlation(a, b)
            for a, b in itertools.combinations(self.rankings, 2)
        }
        return {pair: tau for pair, tau in found.items() if not math.isnan(tau)}

    def __str__(self) -> str:
        return "\n".join(
            [*self._head(), *self._curve_lines(), *self._metric_lines(), *self._rank_lines(), *self._foot()]
        )

    def _head(self) -> list[str]:
        sizes = sorted({curve.n for curve in self.curves})
        many = len(self.models) > 1
        what = f"{len(self.models)} models" if many else self.models[0]
        where = f" of {self.source}" if self.source else ""
        return [f"memorization of {what}: {' and '.join(f'{n:,}' for n in sizes)} training examples{where}", ""]

    def _curve_lines(self) -> list[str]:
        lines = []
        wide = max(len(model) for model in self.models)
        for name in self.perturbations:
            curves = [c for c in self.curves if c.perturbation == name]
            title = {PMV: "PMV, accuracy on the labels trained on", PTV: "PTV, accuracy on the true labels"}.get(
                name, f"{name}, accuracy"
            )
            lines += [f"{title} at strength ({curves[0].unit})"]
            for group in _same_strengths(curves):
                lines.append(f"  {'':{wide}}" + "".join(f"{s:>8g}" for s in group[0].strengths))
                lines += [f"  {c.model:{wide}}" + "".join(_number(a, 8) for a in c.accuracy) for c in group]
            lines.append("")
        mean = self.mean_over_severities
        if len(mean) > 0:
            lines.append("mean over the corruptions, accuracy at severity")
            strengths = next(c.strengths for c in self.curves if not c.even)
            lines.append(f"  {'':{wide}}" + "".join(f"{s:>8g}" for s in strengths))
            lines += [f"  {model:{wide}}" + "".join(_number(a, 8) for a in means) for model, means in mean.items()]
            lines.append("")
        return lines

    @property
    def mean_over_severities(self) -> dict[str, NDArray[np.float64]]:
        """Per model the mean curve of several corruptions, where all were measured at the same severities."""
        graded = [c for c in self.curves if not c.even]
        if len({c.perturbation for c in graded}) < 2 or len({c.strengths.tobytes() for c in graded}) > 1:
            return {}
        models = dict.fromkeys(c.model for c in graded)
        return {model: np.mean([c.accuracy for c in graded if c.model == model], axis=0) for model in models}

    def _metric_lines(self) -> list[str]:
        lines = ["metrics, each with its 95 % interval"]
        wide = max(len(model) for model in self.models)
        undefined: dict[str, list[str]] = {}
        for column in self.columns:
            found = {model: row[column] for model, row in self.table.items() if column in row}
            known = [
                f"    {model:{wide}}  {e}{self._unfit_mark(model, column)}"
                for model, e in found.items()
                if e.reason is None
            ]
            if known:
                lines += [f"  {column.title} ({column.direction})", *known]
            for model, e in found.items():
                if e.reason is not None:
                    what = f"{column.title} of {model}" if known else column.title
                    undefined[e.reason] = list(dict.fromkeys([*undefined.get(e.reason, []), what]))
        lines += _wrapped([f"undefined: {', '.join(what)}: {reason}" for reason, what in undefined.items()], "  ")
        if self.audits:
            lines.append(
                "  audit (p-value; small: model and pictures are not independent, or shifts change a picture's density)"
            )
            lines += [
                f"    {model:{wide}}  p = {a.p_value:.3g}, mean T = {a.mean:+.4f}, detectable {a.detectable_effect:.4f}"
                for model, a in self.audits.items()
            ]
            if any(a.p_value < 0.05 for a in self.audits.values()):
                caution = (
                    "a small p alone is no proof of memorization: photographs are framed, and shifts seldom neutral; "
                    "`heldout audit --control` needs no such assumption."
                )
                lines += _wrapped([caution], "    ")
        return [*lines, ""]

    def _unfit_mark(self, model: str, column: Column) -> str:
        curve = self.curve(model, column.perturbation)
        return "" if curve is None or curve.unfit is None else "  does not fit its labels, not ranked"

    def _rank_lines(self) -> list[str]:
        if not self.rankings:
            return []
        lines = [
            f"most memorised first (> significant, family-wise 95 % over the pairs of a metric, for independent "
            f"{self._units}; ~ not)"
        ]
        wide = max(len(r.column.title) for r in self.rankings)
        for r in self.rankings:
            lines += textwrap.wrap(
                f"{r.column.title:{wide}}  {r}", TERMINAL, initial_indent="  ", subsequent_indent=" " * (wide + 4)
            )
        if self.correlations:
            (low, worst), (high, best) = (f((tau, pair) for pair, tau in self.correlations.items()) for f in (min, max))
            told = f"{low:+.2f} ({' and '.join(worst)})"
            told = (
                f"is {told}"
                if len(self.correlations) == 1
                else f"runs from {told} to {high:+.2f} ({' and '.join(best)})"
            )
            lines += _wrapped([f"Kendall's tau between the orders of two metrics {told}."], "  ")
        if self.disagreements:
            lines.append(
                f"the metrics disagree on {_counted(len(self.disputed), 'pair')} of models, each significantly:"
            )
            lines += _wrapped([f"{sentence}." for sentence in self.disputed[:SHOWN]], "  ")
            if len(self.disputed) > SHOWN:
                lines.append(f"  and {len(self.disputed) - SHOWN} more, in the JSON and in the report.")
        elif len(self.rankings) > 1:
            lines.append("no two metrics order two models in opposite ways, both significantly.")
        return [*lines, ""]

    def _foot(self) -> list[str]:
        lines = []
        if self.failures:
            lines += [f"{len(self.failures)} trainings failed:", *_wrapped(list(self.failures), "  ")]
        return [*lines, *_wrapped(self.remarks, "")]

    @property
    def remarks(self) -> list[str]:
        """What must be known beside the numbers: sentences."""
        return [*self.unfit, *self.unranked, *self.unpaired, *self.grouped, *self.notes]

    @property
    def _units(self) -> str:
        return "examples" if all(c.groups is None for c in self.curves) else "groups"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: per model and perturbation the curve and the metrics."""
        models: dict[str, Any] = {}
        for model in self.models:
            own = self.table[model]
            entry: dict[str, Any] = {
                "perturbations": {c.perturbation: c.to_dict() for c in self.curves if c.model == model}
            }
            if GAP in own:
                entry["gap"] = estimate_dict(own[GAP])
                entry["validation_accuracy"] = float(self.validation[model].mean())
            if model in self.audits:
                audited = self.audits[model]
                entry["audit"] = {
                    "p_value": plain(audited.p_value),
                    "mean_T": plain(audited.mean),
                    "detectable_effect": plain(audited.detectable_effect),
                }
            models[model] = entry
        return {
            "verb": "memorization",
            "version": self.version,
            "seed": self.seed,
            "data": {"source": self.source, "digest": self.digest, "preprocessing": dict(self.preprocessing)},
            "level": LEVEL,
            "models": models,
            "rankings": [r.to_dict() for r in self.rankings],
            "correlations": [{"between": list(pair), "kendall_tau": tau} for pair, tau in self.correlations.items()],
            "disagreements": [d.to_dict() for d in self.disagreements],
            "failures": list(self.failures),
            "notes": self.remarks,
        }

    def save(self, path: str | Path) -> None:
        """Write `path`.npz, from which the result comes back to the last bit, and `path`.json."""
        arrays: dict[str, NDArray[Any]] = {}
        curves = []
        for i, c in enumerate(self.curves):
            arrays |= {f"curve{i}_strengths": c.strengths, f"curve{i}_done": c.done}
            arrays[f"curve{i}_correct"] = np.packbits(c.correct, axis=2)
            for key in ("wrong", "groups"):
                value = getattr(c, key)
                if value is not None:
                    arrays[f"curve{i}_{key}"] = np.packbits(value, axis=2) if key == "wrong" else value
            if c.exhibits is not None:
                arrays |= {f"curve{i}_shown_{key}": value for key, value in vars(c.exhibits).items()}
            plain_fields = (
                "model", "perturbation", "unit", "even", "seed", "undefined", "assumed", "examples", "unfit",
            )  # fmt: skip
            curves.append({key: getattr(c, key) for key in plain_fields} | {"n": c.n, "shown": c.exhibits is not None})
        for i, (model, right) in enumerate(self.validation.items()):
            arrays[f"validation{i}"] = right
            if model in self.validation_groups:
                arrays[f"validation{i}_groups"] = self.validation_groups[model]
        record = {
            "curves": curves,
            "validation_examples": dict(self.validation_examples),
            "validation": list(self.validation),
            "audits": {model: vars(a) for model, a in self.audits.items()},
            "failures": list(self.failures),
            "notes": list(self.notes),
            "preprocessing": dict(self.preprocessing),
            "class_names": self.class_names,
            **{key: getattr(self, key) for key in ("source", "digest", "seed", "version")},
        }
        write_result(path, plain=self.to_dict(), record=record, arrays=arrays)

    @classmethod
    def load(cls, path: str | Path) -> MemorizationResult:
        """Read what `save` wrote."""
        record, arrays = read_result(path)
        try:
            curves = []
            for i, kept in enumerate(record.pop("curves")):
                n, shown = kept.pop("n"), kept.pop("shown")
                keys = ("rows", "labels", "pictures", "right")
                exhibits = Exhibits(**{key: arrays[f"curve{i}_shown_{key}"] for key in keys}) if shown else None
                correct = np.unpackbits(arrays[f"curve{i}_correct"], axis=2)[:, :, :n].astype(bool)
                wrong = arrays.get(f"curve{i}_wrong")
                curves.append(
                    Curve(
                        **kept,
                        wrong=None if wrong is None else np.unpackbits(wrong, axis=2)[:, :, :n].astype(bool),
                        groups=arrays.get(f"curve{i}_groups"),
                        strengths=arrays[f"curve{i}_strengths"],
                        done=arrays[f"curve{i}_done"],
                        correct=correct,
                        exhibits=exhibits,
                    )
                )
            validated = list(record.pop("validation"))
            validation = {model: arrays[f"validation{i}"] for i, model in enumerate(validated)}
            held = {model: arrays.get(f"validation{i}_groups") for i, model in enumerate(validated)}
            audits = {model: Audited(**a) for model, a in record.pop("audits").items()}
            names = record.pop("class_names")
            failures, notes = (tuple(record.pop(key)) for key in ("failures", "notes"))
            return cls(
                curves=tuple(curves),
                validation=validation,
                validation_groups={model: codes for model, codes in held.items() if codes is not None},
                audits=audits,
                class_names=None if names is None else tuple(names),
                failures=failures,
                notes=notes,
                **record,
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}.npz is not a saved measurement of memorization: {error!r}.") from error


def _same_strengths(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Curves that can stand under one head line, together."""
    groups: dict[bytes, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(curve.strengths.tobytes(), []).append(curve)
    return list(groups.values())


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _number(value: float, width: int) -> str:
    return f"{'-' if math.isnan(value) else f'{value:.4f}':>{width}}"


def _wrapped(sentences: Sequence[str], indent: str) -> list[str]:
    lines = []
    for sentence in sentences:
        lines += textwrap.wrap(sentence, TERMINAL, initial_indent=indent, subsequent_indent=indent + "  ")
    return lines
