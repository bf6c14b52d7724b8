"""What an audit of scores returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.independence.evidence import Outcome
from heldout.independence.leak import LeakEvidence
from heldout.independence.leak_text import kind_text, leak_lines, other_sizes_text, other_way_text, pvalue_text
from heldout.independence.score_verdict import assumption, score_verdict
from heldout.independence.verdict import Verdict, few_groups_text, unmatched_text
from heldout.statistics import calibrated_log_evalue

SHOWN = 5  # of the examples that look seen, in the printed result
LITTLE = 0.05  # share of the variance below which references hardly help
MOST = 0.98  # above which a reference may be the model itself; CIFAR-10 networks of one kind take 80 % off


@dataclass(frozen=True, kw_only=True)
class SeenExample:
    """A test example that the model knows better than was to be expected."""

    id: str
    score: float  # as it came
    expected: float  # in the same unit
    p_value: float  # its rank among the control's


@dataclass(frozen=True, kw_only=True)
class ScoreAuditResult:
    """Evidence for or against the independence of a model and a test set, from scores alone.

    `leak` holds the test, the residuals and what could have been found; `to_dict` is the JSON of
    `heldout audit --scores ... --json`.
    """

    leak: LeakEvidence
    ids: tuple[str, ...]  # of the test examples; numbered where they have none
    values: NDArray[np.float64]  # (n,) the model's scores of the test set, as they came
    values_control: NDArray[np.float64]
    kind: str
    larger_is_better: bool
    clipping: str  # what was done to the scores, in words
    strata: str | None  # what was compared within, where it was
    n_repeated: int  # examples that share their text with another one of their set
    joined_by_order: bool  # examples had no ids
    halves: bool  # test set and control are halves of one benchmark
    level: float
    planned_audits: int
    model_name: str
    sources: tuple[str, ...]  # files of test set and control
    digests: tuple[str, ...]  # of test set, control, and each reference's two
    seed: int
    version: str

    @property
    def p_value(self) -> float:
        """The verdict's p-value: the leak test's."""
        return self.leak.p_value

    @property
    def adjusted_p_value(self) -> float:
        """The same times the number of planned audits (Bonferroni), 1 at most."""
        return min(1.0, self.p_value * self.planned_audits)

    @property
    def log_e_value(self) -> float:
        """Calibrated from p, for audits that share test set or control: to be averaged."""
        return calibrated_log_evalue(math.log(self.p_value))

    @property
    def outcome(self) -> Outcome:
        """ "no evidence", "easier" or "harder" than the control."""
        if self.adjusted_p_value > self.level * (1 + 1e-12):
            return "no evidence"
        return "easier" if self.leak.spoke.difference > 0 else "harder"

    @cached_property
    def ruling(self) -> Verdict:
        """The outcome, its title and its sentence."""
        p_text = f"p = {pvalue_text(math.log(self.p_value))}"
        if self.planned_audits > 1:
            p_text += f", times {self.planned_audits} planned audits {pvalue_text(math.log(self.adjusted_p_value))}"
        return score_verdict(
            self.leak,
            self.outcome,
            level=self.level,
            tested=f"{p_text}, leak test on {kind_text(self.kind)}",
            halves=self.halves,
        )

    @property
    def verdict(self) -> str:
        """In plain words."""
        return str(self.ruling)

    @property
    def assumes(self) -> str:
        """What the verdict rests on."""
        return assumption(self.leak, halves=self.halves)

    @property
    def n_examples(self) -> int:
        """Of the test set."""
        return len(self.values)

    @property
    def seen(self) -> tuple[SeenExample, ...]:
        """The examples that look seen, most suspicious first."""
        sign = 1.0 if self.larger_is_better else -1.0
        expected, p_values = self.leak.scores.expected, self.leak.seen.p_values
        return tuple(
            SeenExample(
                id=self.ids[i],
                score=float(self.values[i]),
                expected=sign * float(expected[i]),
                p_value=float(p_values[i]),
            )
            for i in self.leak.seen.listed.tolist()
        )

    @property
    def notes(self) -> list[str]:
        """What a reader must know of groups, joins and references."""
        mean = self.leak.test.mean
        sizes = (("the test set", mean.n_groups_test), ("the control", mean.n_groups_control))
        told = [few_groups_text(name, count) for name, count in sizes if count is not None]
        told += [other_sizes_text(self.leak), other_way_text(self.leak)]
        notes = [sentence for sentence in told if sentence]
        if self.n_repeated:
            notes.append(f"{self.n_repeated:,} examples share their text with another one; such examples count as one.")
        if mean.n_unmatched:
            notes.append(f"{mean.n_unmatched:,} examples {unmatched_text(mean)} were not compared.")
        if self.joined_by_order and self.leak.reference_names:
            notes.append("not all scores have ids: references were joined by their order.")
        if self.leak.reference_names and self.leak.test.variance_removed < LITTLE:
            notes.append(
                "the references take next to nothing off the variance, so they are no help: leave them out, unless "
                "their examples are in another order."
            )
        if self.leak.test.variance_removed > MOST:
            notes.append(
                f"the references take {100 * self.leak.test.variance_removed:.1f} % off the variance: is one of them "
                "the model itself, or made from it? Then it knows what the model knows, and hides a leak."
            )
        return notes

    def __str__(self) -> str:
        side = "better" if self.larger_is_better else "worse"
        mean = self.leak.test.mean
        lines = [
            self.verdict,
            "",
            f"{'scores':24s} {self.kind}, larger is {side}; {self.clipping}",
            f"{'test set':24s} mean {_number(self.values.mean())}  ({len(self.values):,} examples"
            f"{_groups(mean.n_groups_test)}, {self.sources[0]})",
            f"{'control':24s} mean {_number(self.values_control.mean())}  ({len(self.values_control):,} examples"
            f"{_groups(mean.n_groups_control)}, {self.sources[1]})",
            *([f"{'compared within':24s} {self.strata}"] if self.strata else []),
            *leak_lines(self.leak, within="within class" if self.strata else ""),
        ]
        if self.seen:
            ids = ", ".join(example.id for example in self.seen[:SHOWN])
            lines.append(f"{'  the first of them':24s} {ids}{', ...' if len(self.seen) > SHOWN else ''}")
        lines += [
            f"{'e-value':24s} {math.exp(self.log_e_value):.3g}  (to be averaged over audits that share test set or "
            "control)",
            *(f"warning: {sentence}" for sentence in self.notes),
            f"This assumes that {self.assumes}.",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        mean = self.leak.test.mean
        return {
            "verdict": self.verdict,
            "outcome": self.outcome,
            "level": self.level,
            "p_value": self.p_value,
            "log_p_value": math.log(self.p_value),
            "planned_audits": self.planned_audits,
            "adjusted_p_value": self.adjusted_p_value,
            "log_e_value": self.log_e_value,
            "assumes": self.assumes,
            "kind": self.kind,
            "larger_is_better": self.larger_is_better,
            "clipping": self.clipping,
            "mean_test": float(self.values.mean()),
            "mean_control": float(self.values_control.mean()),
            "leak": self.leak.to_dict(),
            "references": list(self.leak.reference_names),
            "look_seen": [vars(example) for example in self.seen],
            "n_examples": len(self.values),
            "n_control": len(self.values_control),
            "n_groups": mean.n_groups_test,
            "n_groups_control": mean.n_groups_control,
            "n_repeated": self.n_repeated,
            "strata": self.strata,
            "halves": self.halves,
            "notes": self.notes,
            "model": self.model_name,
            "sources": list(self.sources),
            "alternative": self.leak.test.alternative,
            "seed": self.seed,
            "version": self.version,
            "digests": self._named_digests(),
        }

    def _named_digests(self) -> dict[str, Any]:
        test, control, *others = self.digests
        pairs = zip(self.leak.reference_names, others[::2], others[1::2], strict=True)
        return {
            "test": test,
            "control": control,
            "references": {name: {"test": one, "control": other} for name, one, other in pairs},
        }

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        leak, arrays = self.leak.parts()
        own = {"values": self.values, "values_control": self.values_control, "ids": np.array(self.ids)}
        record = {name: getattr(self, name) for name in _KEPT} | {"score_audit": leak}
        write_result(path, plain=self.to_dict(), record=record, arrays={**arrays, **own})

    @classmethod
    def load(cls, path: str | Path) -> ScoreAuditResult:
        """Read what `save` wrote; every number comes back to the last bit."""
        record, arrays = read_result(path)
        try:
            leak = LeakEvidence.from_parts(record.pop("score_audit"), arrays)
            settings: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
            return cls(
                leak=leak,
                ids=tuple(str(i) for i in arrays["ids"]),
                values=arrays["values"],
                values_control=arrays["values_control"],
                **settings,
            )
        except Exception as error:
            raise InputError(f"{path}.npz is not a saved audit of scores: {error!r}.") from error


def _number(value: float) -> str:
    """
    Examples
    --------
    >>> _number(-1.25), _number(3.2e90)
    ('-1.2500', '3.2e+90')
    """
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.5g}"


def _groups(count: int | None) -> str:
    return "" if count is None else f" in {count:,} groups"


_KEPT = (
    "kind",
    "larger_is_better",
    "clipping",
    "strata",
    "n_repeated",
    "joined_by_order",
    "halves",
    "level",
    "planned_audits",
    "model_name",
    "sources",
    "digests",
    "seed",
    "version",
)
