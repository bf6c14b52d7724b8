"""What was audited, and how this was made."""

from __future__ import annotations

from typing import Any

from heldout.groups import design_effect
from heldout.independence.evidence import Examples
from heldout.independence.result import AuditResult
from heldout.pages.audit.words import names_text, pixels_text

RULES = {
    "strongest": "strongest: the move that makes the model most wrong",
    "nearest": "nearest: the shortest move that makes the model wrong",
    "random": "random: the average over all moves",
    "random2": "random2: the average over all moves and staying put",
}


def facts_view(result: AuditResult) -> list[tuple[str, str]]:
    """What was audited, a line for each fact."""
    n, models = len(result.test), result.n_models
    facts = [
        ("Model", names_text(result.model_names)) if models == 1
        else (f"Models ({models})", f"{names_text(result.model_names)}; averaged: trainings of one architecture"),
        ("Test examples", f"n = {n:,}{_groups(result.test)}"),
        ("Control", f"{len(result.control):,} examples{_groups(result.control)}" if result.control is not None
         else "none"),
        *([("References", f"{names_text(result.reference_names)}; taken to have seen no more of the test set than of "
                          "the control")] if result.reference_names else []),
        ("Moves", f"{_kind_of_moves(result)}, radius {result.orbit.radius}: {len(result.orbit)} moves of up to "
                  f"{pixels_text(result)} down, up, left and right"),
        ("Rule", RULES[result.rule]),
        ("Alternative", _alternative(result)),
    ]  # fmt: skip
    if result.tolerance:
        facts.append(("Tolerance", f"shifts may cost up to {result.tolerance:g} on average"))
    return facts


def _alternative(result: AuditResult) -> str:
    told = {"greater": "overfitting only (one-sided), declared beforehand", "two-sided": "two-sided"}
    of_statistic = told[result.alternative]
    if result.verdict_alternative == result.alternative:
        return of_statistic
    return f"the verdict, against references: {told[result.verdict_alternative]}; T and error rate: {of_statistic}"


def _groups(examples: Examples) -> str:
    if examples.groups is None:
        return ""
    copies = f", {examples.n_duplicates:,} of them exact duplicates" if examples.n_duplicates else ""
    effect = design_effect(examples.T, examples.groups)
    return f" in {examples.n_groups:,} groups{copies}; design effect of T {effect:.2f}; each group counts once"


def _kind_of_moves(result: AuditResult) -> str:
    name, frame = result.orbit.name, result.preprocessing.get("frame")
    if frame == "wrap":
        return f"cyclic {name} (what leaves on one side comes in on the other)"
    if frame == "pad":
        return f"{name} of padded pictures (what comes in is padding)"
    return f"crop {name} (a window moved over a larger picture)" if frame in ("crop", "upsample") else name


def origin_view(result: AuditResult) -> list[tuple[str, str]]:
    """What made the result: version, seed, digests, preprocessing."""
    facts = [
        ("heldout", result.version),
        ("Seed", str(result.seed)),
        ("Test data digest", result.data_digest),
    ]
    if result.control_digest is not None:
        facts.append(("Control data digest", result.control_digest))
    scored = f"{result.evaluations:,} on the test set"
    scored += f" ({result.evaluations / (len(result.test) * result.n_models):.1f} for each picture)"
    if result.control is not None:
        scored += f", {result.control_evaluations:,} on the control"
    if result.reference_evaluations:
        scored += f"; {result.reference_evaluations:,} by models and references on untouched pictures"
    return [
        *facts,
        ("Pictures scored", scored),
        ("Preprocessing", preprocessing_text(result.preprocessing)),
    ]


def preprocessing_text(steps: dict[str, Any]) -> str:
    """What is done to a picture before the model sees it, in words.

    Examples
    --------
    >>> crop = {"frame": "crop", "size": 224, "resize": 256, "interpolation": "bilinear"}
    >>> preprocessing_text({**crop, "mean": [0.5], "std": [0.25], "scale": None, "bgr": False})
    'resize the short side to 256 (bilinear), crop 224; bytes scaled by 1/255; mean 0.5; std 0.25'
    >>> preprocessing_text({"frame": "wrap", "mean": [0.0], "std": [1.0], "scale": 1.0, "bgr": True})
    'cyclic shifts of the whole picture; BGR channel order; pixels times 1; mean 0; std 1'
    """
    left = dict(steps)
    words = []
    frame = left.pop("frame", None)
    if frame == "wrap":
        words.append("cyclic shifts of the whole picture")
    elif frame == "pad":
        words.append(f"padded ({left.pop('mode', None)}), the whole picture in the middle")
    elif frame in ("crop", "upsample") and "size" in left:
        resize, how, size = left.pop("resize", None), left.pop("interpolation", None), left.pop("size")
        words.append(f"resize the short side to {resize} ({how}), crop {size}" if resize else f"crop {size}")
    elif frame is not None:
        words.append(f"frame {frame}")
    if left.pop("bgr", False):
        words.append("BGR channel order")
    if "scale" in left:
        scale = left.pop("scale")
        words.append("bytes scaled by 1/255" if scale is None else f"pixels times {scale:g}")
    for name in ("mean", "std"):
        if name in left:
            words.append(f"{name} " + ", ".join(f"{v:g}" for v in left.pop(name)))
    words += [f"{name} {value}" for name, value in sorted(left.items())]  # nothing is left out
    return "; ".join(words)
