"""What went in, what was not computed, and how this was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heldout.images.preprocessing import preprocessing_text
from heldout.memorization.curve import PMV, PTV
from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization.words import (
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
    facts += [("Groups", sentence) for sentence in result.grouped]
    if trainings(result):
        facts.append(("Trainings a rate", and_text([f"{s}" for s in trainings(result)])))
    if result.validation:
        sizes = sorted({right.shape[1] for right in result.validation.values()})
        facts.append(("Validation", f"{and_text([f'{n:,}' for n in sizes])} examples"))
    if result.class_names is not None:
        facts.append(("Classes", f"{len(result.class_names):,}"))
    return [*facts, *_preprocessing(result.preprocessing)]


def _preprocessing(steps: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was done to pictures, in words; what is done anyway is left out.

    Examples
    --------
    >>> _preprocessing({"frame": "whole", "mean": [0.0], "std": [1.0], "scale": None, "bgr": False})
    []
    >>> ((name, told),) = _preprocessing({"frame": "crop", "size": 28, "mean": [0.5, 0.4], "std": [0.25], "bgr": True})
    >>> told
    'crop 28; BGR channel order; a mean of 0.5 and 0.4 taken off; divided by a standard deviation of 0.25'
    """
    left = {key: value for key, value in steps.items() if value is not None}
    kept: dict[str, Any] = {key: left.pop(key) for key in ("frame", "size", "resize", "interpolation") if key in left}
    words = []
    if kept.get("frame") == "crop":
        words.append(preprocessing_text(kept))
    elif kept.get("frame") == "wrap":
        words.append(preprocessing_text({"frame": "wrap"}))
    elif kept.get("frame") in ("whole", None):
        left = {**{key: value for key, value in kept.items() if key != "frame"}, **left}
    else:
        left = {**kept, **left}
    if left.pop("bgr", False):
        words.append("BGR channel order")
    if "scale" in left:
        words.append(f"pixels times {_values(left.pop('scale'))}")
    for key, usual, told in (
        ("mean", 0, "a mean of {} taken off"),
        ("std", 1, "divided by a standard deviation of {}"),
    ):
        value = left.pop(key, usual)
        if any(v != usual for v in (value if isinstance(value, list | tuple) else [value])):
            words.append(told.format(_values(value)))
    others = [(str(key).replace("_", " ").capitalize(), str(value)) for key, value in left.items()]
    return [*([("Preprocessing", "; ".join(words))] if words else []), *others]


def _values(value: Any) -> str:
    values = value if isinstance(value, list | tuple) else [value]
    return and_text([f"{v:g}" if isinstance(v, int | float) else str(v) for v in values])


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
        why = (
            "the models were measured at different strengths"
            if result.unranked
            else "no two models fit their labels"
            if result.unfit
            else "no metric is defined for two models"
        )
        missing.append(f"Ranking: {why}")
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
