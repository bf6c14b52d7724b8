"""The embedded demo: two models, one of which had the test set in its training data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from typing import Any

from heldout.images import LabelledImages, Wrap, from_npz
from heldout.independence.audit import audit
from heldout.independence.result import AuditResult
from heldout.independence.summary.pictures import detectable
from heldout.independence.summary.words import headline
from heldout.orbit import Translations
from heldout.report import Result
from heldout.scorers import OnnxScorer
from heldout.summary import Column, Prose, Row, Section, Summary, Table
from heldout.summary.names import names_text
from heldout.summary.numbers import fixed, p_text, percent, pvalue_text

RADIUS = 2
SEED = 0
MODELS = ("honest", "leaked")
REFERENCES: dict[str, tuple[str, ...]] = {"honest": (), "leaked": ("honest",)}
PICTURES = (
    "These are Fashion-MNIST pictures, each shifted cyclically at random on a 32 x 32 torus, so that shifting is "
    "exactly neutral; ordinary pictures are not like this."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DemoResult(Result):
    """The audits of the demo's models, by name."""

    audits: dict[str, AuditResult]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of each audit, by name."""
        return {name: result.to_dict() for name, result in self.audits.items()}

    def summary(self) -> Summary:
        """The audits side by side."""
        return demo_summary(self.audits)


def run_demo(**options: Any) -> DemoResult:
    """Audit both demo models against the control; options go to `heldout.audit`.

    The leaked model has the honest one as a reference, which never saw the test set. (The other way round would not do:
    a reference that knows the test set makes it look hard.)

    2,000 test and 2,000 control pictures of Fashion-MNIST stand at random positions on a 32 x 32
    torus, so that shifting them is exactly neutral. `experiments/demo` made models and data.
    """
    with as_file(files("heldout") / "data") as folder:
        test, control = (
            LabelledImages(
                from_npz(folder / "demo.npz", images_key=f"{part}_images", labels_key=f"{part}_labels"),
                Wrap(),
            )
            for part in ("test", "control")
        )
        models = {name: OnnxScorer(folder / f"{name}.onnx") for name in MODELS}
        audits = {
            name: audit(
                model,
                test,
                orbit=Translations(RADIUS),
                control=control,
                references=[models[other] for other in REFERENCES[name]],
                seed=SEED,
                sources=("Fashion-MNIST", "Fashion-MNIST"),
                **options,
            )
            for name, model in models.items()
        }
    return DemoResult(audits=audits)


def comparison_rows(audits: Mapping[str, AuditResult]) -> list[tuple[str, list[str]]]:
    """What is compared, and each audit's value."""
    columns = [_column(result) for result in audits.values()]
    if any(result.leak is not None for result in audits.values()):
        for column, result in zip(columns, audits.values(), strict=True):
            column["leak test p"] = "no reference"
            if result.leak is not None:
                column["leak test p"] = f"{p_text(result.leak.p_value)}, against {names_text(result.references, 2)}"
    return [(name, [column[name] for column in columns]) for name in columns[0]]


def _column(result: AuditResult) -> dict[str, str]:
    e, control = result.evidence, result.evidence.control
    missing = "no control"
    return {
        "verdict": headline(result.ruling)[0].removesuffix(" against independence"),
        "verdict p": pvalue_text(result.evidence.adjusted_log_p_value),
        "test error": fixed(e.untouched_error),
        "control error": fixed(control.untouched_error) if control else missing,
        "adversarial error": fixed(e.adversarial_error),
        "adversarial estimate": fixed(e.adversarial_estimate),
        "mean T": fixed(e.statistic, 5, sign=True),
        "betting p": pvalue_text(e.log_p_values["betting"]),
        "Bernstein p": pvalue_text(e.log_p_values["bernstein"]),
        "control p (T)": p_text(control.statistic.p_value) if control else missing,
        "control p (error)": p_text(control.error_rate.p_value) if control else missing,
        "detectable effect": next(iter(detectable(result).values()))[0],
    }


def demo_summary(audits: Mapping[str, AuditResult]) -> Summary:
    """Several audits on one page: what they show, the comparison, each audit in full."""
    names, told = list(audits), []
    leaked = audits.get("leaked")
    if leaked is not None and leaked.evidence.control is not None:
        finds = "finds it" if leaked.outcome == "easier" else "does not find it"
        told.append(
            f"`leaked` had the test set in its training data: {percent(leaked.evidence.untouched_error)} errors on the "
            f"test set, {percent(leaked.evidence.control.untouched_error)} on fresh pictures; the audit {finds}."
        )
    same = len({_setting(result) for result in audits.values()}) == 1
    settings = "The same data and the same audit" if same else "Audits of different data or with different settings"
    opening = f"{settings}, for {len(names)} models, one column each."
    against = [
        f"of {name}, against {names_text(result.references)}"
        for name, result in audits.items()
        if result.leak is not None
    ]
    if against:
        opening += f" Where references are given the verdict is the leak test's ({'; '.join(against)})."
    table = Table(
        caption="The models side by side",
        columns=(Column(name="Model", align="left"), *(Column(name=name) for name in names)),
        rows=tuple(Row(cells=(name, *values), chosen=name == "verdict") for name, values in comparison_rows(audits)),
    )
    return Summary(
        kind="Demo",
        headline=f"heldout demo: {' and '.join(names)}",
        sentences=tuple(told),
        tone="neutral",
        subject="2,000 test and 2,000 control pictures of Fashion-MNIST",
        sections=(Section(title="The models side by side", printed=True, blocks=(Prose(opening), table)),),
        closing=(PICTURES,),
        parts=tuple(replace(result.summary(), kind=name) for name, result in audits.items()),
        parts_printed=False,
    )


def _setting(result: AuditResult) -> tuple[object, ...]:
    """What must be equal for two columns to be comparable."""
    return (
        result.data_digest, result.control_digest, len(result.test), result.orbit, result.rule, result.alternative,
        result.tolerance, result.seed,
    )  # fmt: skip
