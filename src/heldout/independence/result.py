"""What an audit returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.groups import design_effect
from heldout.independence.evidence import CONFIDENCE, ControlEvidence, Evidence, Examples, Outcome
from heldout.independence.leak import LeakEvidence
from heldout.independence.leak_text import leak_lines, other_sizes_text, other_way_text, pvalue_text, side_text
from heldout.independence.untouched import ORIGINAL
from heldout.independence.verdict import Verdict, few_groups_text, range_text, unmatched_text, verdict
from heldout.orbit import Rule, Translations
from heldout.statistics import ControlTestResult, Detectable, NModelTestResult, holm, n_model_test
from heldout.statistics.checks import Alternative
from heldout.statistics.power import LEVEL, POWER

__all__ = ["AuditResult", "Exhibit", "SeenPicture", "pvalue_text"]


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """One picture before and after its move, with what the model says of both."""

    id: str
    label: int
    predicted: int
    moved_predicted: int
    move: tuple[int, int]
    weight: float
    original: NDArray[np.uint8]  # (height, width, channels)
    moved: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class SeenPicture:
    """One test picture of which the model is surer than the references lead one to expect."""

    id: str
    label: int
    margin: float  # log-odds of the true label, clipped, averaged over models
    expected: float  # from the references
    p_value: float  # of its rank among the control's
    picture: NDArray[np.uint8]  # (height, width, channels)


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Evidence for or against the independence of models and a test set.

    `T`, `weights`, `kinds` and `moves` hold what was found for every example; `evidence` holds
    every p-value and interval; `to_dict` is the JSON of `heldout audit --json`.
    """

    test: Examples
    control: Examples | None
    evidence: Evidence
    orbit: Translations
    rule: Rule
    alternative: Alternative
    tolerance: float
    seed: int
    model_names: tuple[str, ...]
    model_digests: tuple[str, ...]
    evaluations: int
    control_evaluations: int
    data_digest: str
    control_digest: str | None
    preprocessing: dict[str, Any]
    class_names: tuple[str, ...] | None
    version: str
    untouched_pictures: tuple[str, ...]  # what each model's untouched pictures are: see heldout.independence.untouched
    reference_digests: tuple[str, ...] = ()
    reference_evaluations: int = 0  # of models and references, on the untouched pictures of both sets
    exhibits: tuple[Exhibit, ...] = field(default=(), repr=False)
    seen_pictures: tuple[SeenPicture, ...] = field(default=(), repr=False)  # most suspicious first

    @property
    def T(self) -> NDArray[np.float64]:
        """(n_examples,) statistics, averaged over models."""
        return self.test.T

    @property
    def weights(self) -> NDArray[np.float64]:
        """(n_models, n_examples) importance weights h(g(x)), NaN where nothing was moved."""
        return self.test.weights

    @property
    def kinds(self) -> NDArray[np.int8]:
        """(n_models, n_examples): 0 untouched, 1 adversarial, 2 originally wrong."""
        return self.test.kinds

    @property
    def moves(self) -> NDArray[np.int16]:
        """(n_models, n_examples, 2) chosen moves (down, right)."""
        return self.test.moves

    @property
    def p_value(self) -> float:
        """The verdict's p-value."""
        return self.evidence.p_value

    @property
    def leak(self) -> LeakEvidence | None:
        """The comparison with references, which is the verdict where there is one."""
        return None if self.evidence.control is None else self.evidence.control.leak

    @property
    def reference_names(self) -> tuple[str, ...]:
        """Of the models that the audited ones were compared with."""
        return () if self.leak is None else self.leak.reference_names

    @property
    def n_models(self) -> int:
        """How many trainings were averaged."""
        return len(self.test.statistics)

    @cached_property
    def ruling(self) -> Verdict:
        """The outcome, its title and its sentence."""
        return verdict(
            self.evidence,
            alternative=self.alternative,
            tolerance=self.tolerance,
            n_examples=len(self.test),
            n_groups=None if self.test.groups is None else self.test.n_groups,
            n_models=self.n_models,
        )

    @property
    def verdict(self) -> str:
        """In plain words."""
        return str(self.ruling)

    @property
    def outcome(self) -> Outcome:
        """ "no evidence"; with a control "easier" or "harder" than it; without one "rejected"."""
        return self.evidence.outcome

    @property
    def verdict_alternative(self) -> Alternative:
        """Of the verdict's test, one-sided by default with references; `alternative` is that of T and error rate."""
        return self.alternative if self.leak is None else self.leak.test.alternative

    @cached_property
    def each_model(self) -> NModelTestResult:
        """Every model on its own, on the test set alone; not adjusted for their number."""
        return self.n_model_test(1)

    @property
    def notes(self) -> list[str]:
        """What a reader must know of groups, and of a test set that is harder than the control."""
        sets = {"the test set": self.test} | ({"the control": self.control} if self.control is not None else {})
        told = (few_groups_text(name, of.n_groups) for name, of in sets.items() if of.groups is not None)
        of_leak = () if self.leak is None else (other_sizes_text(self.leak), other_way_text(self.leak))
        return [sentence for sentence in (*told, *of_leak) if sentence]

    def n_model_test(self, group_size: int) -> NModelTestResult:
        """K p-values for K disjoint groups of `group_size` models (section 3.1 of v1)."""
        lower, upper = self.orbit.statistic_range(self.rule)
        return n_model_test(
            self.test.statistics,
            lower=lower,
            upper=upper,
            group_size=group_size,
            alternative=self.alternative,
            groups=self.test.groups,
            tolerance=self.tolerance,
            seed=self.seed,
        )

    def __str__(self) -> str:
        e = self.evidence
        sure = f"{100 * CONFIDENCE:g} %"
        low, high = e.intervals["test_error"]
        g_low, g_high = e.intervals["adversarial_estimate"]
        p = {name: pvalue_text(value) for name, value in e.log_p_values.items()}
        lines = [self.verdict, ""]
        if self.leak is not None:
            lines += [
                *leak_lines(self.leak),
                f"{'verdict':24s} is the leak test's, declared by giving references; T and error rate "
                f"({side_text(self.alternative)}) stand beside it",
            ]
        if ORIGINAL in self.untouched_pictures:
            lines += [f"untouched pictures       error {e.untouched_error:.4f}  (as they are, not in the frame)"]
        lines += [
            f"test error R_S           {e.test_error:.4f}  ({sure} {low:.4f} to {high:.4f})",
            f"adversarial error        {e.adversarial_error:.4f}  (attack success {self.test.attack_success:.4f})",
            f"adversarial estimate R_g {e.adversarial_estimate:.4f}  ({sure} {g_low:.4f} to {g_high:.4f})",
            f"mean T = R_g - R_S       {e.statistic:+.5f}"
            + ("" if self.test.groups is None else f"  ({e.tested_statistic:+.5f} with each group counted once)"),
            f"variances                R_S {e.test_error_variance:.3g}, R_g {e.adversarial_estimate_variance:.3g}",
            f"p on the test set alone  betting {p['betting']}, mixture {p['mixture']}, "
            f"Bernstein {p['bernstein']}, intervals {p['intervals']}",
        ]
        if e.control is not None and self.control is not None:
            lines += self._control_lines(e.control)
        level = f"level {e.level:g}" + (f" / {e.planned_audits} audits" if e.planned_audits > 1 else "")
        lines.append(f"detectable effect on T   {range_text(e.detectable, 5)}  ({level}, power {POWER:g}, plug-in)")
        if e.control is not None:
            lines.append(f"  and on the error rate  {range_text(e.control.detectable_error, 5)}")
        lines += [
            f"e-value                  {math.exp(min(e.log_e_value, 700.0)):.3g}  (to be averaged over audits that "
            "share test set or control)",
            *self._group_lines(),
            *self._each_model(),
            f"{len(self.test):,} examples, {self.n_models} model(s), radius {self.orbit.radius}, {self.rule}; "
            f"{self.evaluations:,} evaluations, {self.evaluations / (len(self.test) * self.n_models):.1f} per picture"
            + (f"; {self.reference_evaluations:,} for the references' comparison" if self.leak is not None else ""),
        ]
        return "\n".join(lines)

    def _control_lines(self, c: ControlEvidence) -> list[str]:
        low, high = c.statistic.interval
        own = "no sign that shifting is not neutral"
        if c.invariance_log_p_value <= math.log(LEVEL):
            own = "shifting these pictures is not neutral: only the comparison counts"
        what = "within class" if c.statistic.n_groups_test is None else "within class, each group counted once"
        lines = [
            f"control error            {c.untouched_error:.4f}  (untouched pictures; test set "
            f"{self.evidence.untouched_error:.4f})",
            f"T, test minus control    {c.statistic.difference:+.5f}  ({what}; 95 % {low:+.5f} to "
            f"{high:+.5f}), p = {c.statistic.p_value:.3g}",
            f"error, test minus control {-c.error_rate.difference:+.5f}  ({what}; untouched pictures), "
            f"p = {c.error_rate.p_value:.3g}",
            f"control's own p          {pvalue_text(c.invariance_log_p_value)} ({own})",
        ]
        if c.statistic.n_unmatched:
            lines.append(f"not compared             {c.statistic.n_unmatched} examples {unmatched_text(c.statistic)}")
        return lines

    def _group_lines(self) -> list[str]:
        """Groups and duplicates, where there are any."""
        lines = []
        for name, of in (("test set", self.test), ("control", self.control)):
            if of is not None and of.groups is not None:
                copies = f", {of.n_duplicates:,} exact duplicates" if of.n_duplicates else ""
                effect = f"{design_effect(of.T, of.groups):.2f}"
                lines.append(
                    f"{'groups, ' + name:24s} {of.n_groups:,} of {len(of):,} examples{copies}; design effect of T "
                    f"{effect}"
                )
        return lines + [f"warning: {sentence}" for sentence in self.notes]

    def _each_model(self) -> list[str]:
        """A line for each of several models."""
        if self.n_models == 1:
            return []
        alone = self.each_model.log_p_values
        adjusted = holm([math.exp(p) for p in alone])
        rows = zip(
            self.model_names,
            self.test.losses.mean(axis=1),
            self.test.statistics.mean(axis=1),
            alone,
            adjusted,
            strict=True,
        )
        lines = [
            f"  {n:22s} error {r:.4f}, mean T {t:+.5f}, betting p {pvalue_text(p)}, Holm {a:.2g}"
            for n, r, t, p, a in list(rows)[:10]
        ]
        title = (
            f"each model alone, on the test set alone (the verdict is on their average; p is not adjusted for "
            f"{self.n_models} models, Holm's is)"
        )
        return [title, *lines] + ["  ..."] * (self.n_models > 10)

    def _look_seen(self) -> list[dict[str, Any]]:
        """The listed examples, most suspicious first."""
        if self.leak is None:
            return []
        scores, seen = self.leak.scores, self.leak.seen
        return [
            {
                "id": self.test.ids[i],
                "label": int(self.test.labels[i]),
                "margin": float(scores.scores[i]),
                "expected": float(scores.expected[i]),
                "p_value": float(seen.p_values[i]),
            }
            for i in seen.listed
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        e = self.evidence
        plain = {
            "verdict": self.verdict,
            "outcome": self.outcome,
            "level": e.level,
            "verdict_by": e.verdict_by,
            "verdict_alternative": self.verdict_alternative,
            "p_value": self.p_value,
            "log_p_value": e.log_p_value,
            "planned_audits": e.planned_audits,
            "adjusted_p_value": e.adjusted_p_value,
            "log_e_value": e.log_e_value,
            "test_error": e.test_error,
            "untouched_error": e.untouched_error,
            "untouched_pictures": list(self.untouched_pictures),
            "adversarial_error": e.adversarial_error,
            "adversarial_estimate": e.adversarial_estimate,
            "statistic": e.statistic,
            "tested_statistic": e.tested_statistic,
            "p_values": {name: math.exp(v) for name, v in e.log_p_values.items()},
            "log_p_values": dict(e.log_p_values),
            "control": e.control.to_dict() if e.control else None,
            "intervals": {name: list(v) for name, v in e.intervals.items()},
            "variances": {
                "test_error": e.test_error_variance,
                "adversarial_estimate": e.adversarial_estimate_variance,
            },
            "detectable_effect": e.detectable_effect,
            "detectable_range": [e.detectable.low, e.detectable.high],
            "attack_success": self.test.attack_success,
            "counts": self.test.counts,
            "n_examples": len(self.test),
            "n_groups": self.test.n_groups,
            "n_duplicates": self.test.n_duplicates,
            "design_effect": None if self.test.groups is None else design_effect(self.test.T, self.test.groups),
            "notes": self.notes,
            "n_models": self.n_models,
            "models": list(self.model_names),
            "model_digests": list(self.model_digests),
            "references": list(self.reference_names),
            "reference_digests": list(self.reference_digests),
            "reference_evaluations": self.reference_evaluations,
            "look_seen": self._look_seen(),
            "evaluations": self.evaluations,
            "evaluations_per_image": self.evaluations / (len(self.test) * self.n_models),
            "control_evaluations": self.control_evaluations,
            "orbit": self.orbit.name,
            "radius": self.orbit.radius,
            "rule": self.rule,
            "alternative": self.alternative,
            "tolerance": self.tolerance,
            "seed": self.seed,
            "version": self.version,
            "data_digest": self.data_digest,
            "control_digest": self.control_digest,
            "preprocessing": self.preprocessing,
        }
        return _without_nan(plain)  # type: ignore[no-any-return]

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        arrays: dict[str, Any] = {}
        for name, examples in (("test", self.test), ("control", self.control)):
            if examples is not None:
                arrays |= {f"{name}_{k}": np.asarray(v) for k, v in vars(examples).items() if v is not None}
        for i, exhibit in enumerate(self.exhibits):
            arrays[f"exhibit_{i}_original"], arrays[f"exhibit_{i}_moved"] = exhibit.original, exhibit.moved
        for i, seen in enumerate(self.seen_pictures):
            arrays[f"seen_{i}_picture"] = seen.picture
        kept = {k: getattr(self, k) for k in _KEPT}
        kept["radius"] = self.orbit.radius
        evidence = self.evidence
        if evidence.control is not None and evidence.control.leak is not None:
            kept["leak"], leak_arrays = evidence.control.leak.parts()
            arrays |= leak_arrays
            evidence = replace(evidence, control=replace(evidence.control, leak=None))
        kept["evidence"] = asdict(evidence)
        kept["seen_pictures"] = [{k: v for k, v in vars(x).items() if k != "picture"} for x in self.seen_pictures]
        kept["exhibits"] = [{k: v for k, v in vars(x).items() if k not in ("original", "moved")} for x in self.exhibits]
        write_result(path, plain=self.to_dict(), record=kept, arrays=arrays)

    @classmethod
    def load(cls, path: str | Path) -> AuditResult:
        """Read what `save` wrote; every number comes back to the last bit."""
        record, arrays = read_result(path)
        try:
            sets = {}
            for name in ("test", "control"):
                if f"{name}_labels" in arrays:
                    fields: dict[str, Any] = {
                        k: arrays[f"{name}_{k}"]
                        for k in Examples.__annotations__
                        if k != "groups" or f"{name}_groups" in arrays  # not there where every group is of one
                    }
                    fields["ids"] = tuple(str(i) for i in fields["ids"])
                    fields["n_duplicates"] = int(fields["n_duplicates"])
                    sets[name] = Examples(**fields)
            exhibits = tuple(
                Exhibit(
                    **{**x, "move": tuple(x["move"])},
                    original=arrays[f"exhibit_{i}_original"],
                    moved=arrays[f"exhibit_{i}_moved"],
                )
                for i, x in enumerate(record.pop("exhibits"))
            )
            seen_pictures = tuple(
                SeenPicture(**x, picture=arrays[f"seen_{i}_picture"])
                for i, x in enumerate(record.pop("seen_pictures", ()))
            )
            told = record.pop("leak", None)
            leak = None if told is None else LeakEvidence.from_parts(told, arrays)
            settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
            return cls(
                test=sets["test"],
                control=sets.get("control"),
                evidence=_evidence_from(settings.pop("evidence"), leak),
                orbit=Translations(settings.pop("radius")),
                exhibits=exhibits,
                seen_pictures=seen_pictures,
                **settings,
            )
        except Exception as error:
            raise InputError(f"{path}.npz is not a saved audit: {error!r}.") from error


_KEPT = (
    "rule",
    "alternative",
    "tolerance",
    "seed",
    "model_names",
    "model_digests",
    "evaluations",
    "control_evaluations",
    "data_digest",
    "control_digest",
    "preprocessing",
    "class_names",
    "version",
    "untouched_pictures",
    "reference_digests",
    "reference_evaluations",
)


def _evidence_from(record: dict[str, Any], leak: LeakEvidence | None) -> Evidence:
    control = record.pop("control")
    if control is not None:
        for name in ("statistic", "error_rate"):
            control[name]["interval"] = tuple(control[name]["interval"])
            control[name] = ControlTestResult(**control[name])
        control["detectable_error"] = Detectable(**control["detectable_error"])
        control = ControlEvidence(**{**control, "leak": leak})
    record["detectable"] = Detectable(**record["detectable"])
    record["intervals"] = {k: tuple(v) for k, v in record["intervals"].items()}
    return Evidence(**record, control=control)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
