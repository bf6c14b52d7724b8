"""What went in, what was not computed, and how this was made."""

from __future__ import annotations

import math

from heldout.attack.result import StressResult
from heldout.pages.stress.words import answers_text, attacked_text, confidence_text, count_text


def facts_view(result: StressResult) -> list[tuple[str, str]]:
    """What went in, one line a fact."""
    run = result.run
    facts = [
        ("Test set", f"n = {count_text(run.n_examples, 'example')}, m = {run.n_classes:,} classes"),
        ("Labels", result.labels),
        ("Prior", "none: every label is equally likely" if result.prior is None else result.prior),
        ("Attack", f"{run.title} on {attacked_text(run)}"),
        ("Examples and labels", f"{run.aim_words}: the best forecast from the prior alone" if run.aim_words else ""),
        ("Answers", f"k = {result.queries:,} {answers_text(run)}"),
        ("Trials", f"{run.trials:,}"),
        ("Upper bound", f"holds with probability {confidence_text(result)} (delta = {result.delta:g})"),
    ]
    return [(name, text) for name, text in facts if text]


def not_computed(result: StressResult) -> list[str]:
    """What this page lacks, and why; silence must not read as "nothing to see"."""
    run, missing = result.run, []
    if math.isnan(run.forecast[-1]):
        missing.append("Forecast: it cannot be computed for this attack and these answers")
    if math.isnan(run.upper_bound[-1]):
        missing.append(f"Upper bound: {result.no_bound}")
    if math.isnan(run.theorem_bound[-1]):
        why = "it knows no prior" if result.prior is not None else "it does not apply to these answers"
        missing.append(f"Theorem 3.1: {why}")
    if math.isnan(result.expected_bound):
        missing.append("Bound on the expected accuracy: it is for exact answers without a prior")
    if math.isnan(run.std[-1]):
        missing.append("Spread: there is one trial only")
    groups = ((result.by_attack, "attacks"), (result.by_digits, "digits"), (result.by_classes, "numbers of classes"))
    missing += [f"Other {what}: not compared" for runs, what in groups if not runs]
    if not result.reach:
        missing.append("Answers for a given gain: the forecast for them is without a prior" if result.prior is not None
                       else "Answers for a given gain: not asked for")  # fmt: skip
    return missing


def origin_view(result: StressResult) -> list[tuple[str, str]]:
    """What made the result."""
    facts = [("heldout", result.version), ("Source", result.source), ("Seed", f"{result.seed}")]
    if result.data_digest is not None:
        facts.append(("Data digest", result.data_digest))
    return facts
