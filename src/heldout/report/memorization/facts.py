"""What went in, what was not computed, and how this was made."""

from __future__ import annotations

from heldout.memorization.curve import PMV, PTV
from heldout.memorization.result import MemorizationResult
from heldout.report.memorization.words import (
    NOISE,
    and_text,
    examples_text,
    name_text,
    perturbation_text,
    strengths_text,
    trainings,
)


def facts_view(result: MemorizationResult) -> list[tuple[str, str]]:
    """What went in, one line a fact."""
    facts = [
        ("Models", ", ".join(name_text(model) for model in result.models)),
        ("Examples", examples_text(result)),
    ]
    same: dict[tuple[str, str], list[str]] = {}
    for name in result.perturbations:
        if name == PTV and PMV in result.perturbations:
            continue
        curve = next(c for c in result.curves if c.perturbation == name)
        same.setdefault((strengths_text(curve), curve.unit), []).append(
            "label noise" if name in NOISE else perturbation_text(name)
        )
    facts += [
        (and_text(names).capitalize() if len(names) < 4 else f"{len(names)} perturbations", f"{strengths} ({unit})")
        for (strengths, unit), names in same.items()
    ]
    if trainings(result):
        facts.append(("Trainings a rate", and_text([f"{s}" for s in trainings(result)])))
    if result.validation:
        sizes = sorted({right.shape[1] for right in result.validation.values()})
        facts.append(("Validation", f"{and_text([f'{n:,}' for n in sizes])} examples"))
    if result.class_names is not None:
        facts.append(("Classes", f"{len(result.class_names):,}"))
    used = {key: value for key, value in result.preprocessing.items() if value is not None}
    facts += [(str(key).replace("_", " ").capitalize(), str(value)) for key, value in used.items()]
    return facts


def not_computed(result: MemorizationResult) -> list[str]:
    """What this page lacks, and why; silence must not read as "nothing to see"."""
    missing = []
    if not any(name in NOISE for name in result.perturbations):
        missing.append("Label noise (PMV, PTV), the direct measure: no model was trained anew")
    if all(name in NOISE for name in result.perturbations):
        missing.append("Perturbed pictures: not asked for")
    if len(result.models) == 1:
        missing.append("Ranking: there is one model only")
    elif not result.rankings:
        missing.append("Ranking: no metric is defined for two models")
    if not result.validation:
        missing.append("Gap to fresh examples: there are no validation examples")
    if not result.audits:
        missing.append("Audit of the training pictures: not asked for")
    return missing


def origin_view(result: MemorizationResult) -> list[tuple[str, str]]:
    """What made the result."""
    facts = [("heldout", result.version), ("Source", result.source), ("Seed", f"{result.seed}")]
    facts.append(("Data digest", result.digest))
    return [(name, text) for name, text in facts if text]
