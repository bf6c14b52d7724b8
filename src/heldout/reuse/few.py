"""Too little to go by: few examples, few groups of them, and what is then not said."""

from __future__ import annotations

import math

from heldout.groups import FEW
from heldout.reuse.bounds import TestableModels
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.needed import Needed

FEW_EXAMPLES = 10
WIDE = 0.5  # an error bar that says nothing


def too_few_groups(groups: ExampleGroups | None, error_bar: float, delta: float) -> bool:
    """Whether groups say nothing: as many coins cannot be told from fair ones, or the error bar is half of all.

    With two to five groups no pair of models is ever told apart at 5 %, and a bar of ±0.8 would hold for any number of
    models.
    """
    return groups is not None and (2.0 ** (1 - groups.n_groups) > delta or error_bar >= WIDE)


def nothing_fits(groups: ExampleGroups) -> TestableModels:
    """No count of models, and why."""
    reason = f"{groups.n_groups} groups are too few to say how many models fit"
    return TestableModels(union=0, similarity=None, naive_bayes=None, reason=reason)


def nothing_needed(needed: Needed) -> Needed:
    """No count of examples either."""
    return Needed(
        n_models=needed.n_models,
        epsilon=needed.epsilon,
        examples_for_epsilon=None,
        disagreement=needed.disagreement,
        gap_now=math.nan,
        gap=needed.gap,
        examples_for_gap=None,
        first_gap=None,
        examples_for_first=None,
    )


def too_few_sentence(groups: ExampleGroups, n_models: int, error_bar: float) -> str:
    """What the headline says where groups say nothing."""
    return (
        f"{groups.n_groups} groups are too few to say anything: the error bar for all {n_models:,} models is "
        f"±{error_bar:.2g}, and neither how many models fit nor how many examples are needed can be told."
    )


def few_warnings(n_examples: int, groups: ExampleGroups | None) -> list[str]:
    """One sentence for few examples, one for few groups."""
    warnings = []
    if n_examples < FEW_EXAMPLES:
        warnings.append(
            f"Warning: {n_examples} {'example is' if n_examples == 1 else 'examples are'} few (fewer than "
            f"{FEW_EXAMPLES}), and little can be told. Are these averages? Give one row or column for each example."
        )
    if groups is not None and groups.few:
        warnings.append(
            f"Warning: {groups.n_groups} groups are few (fewer than {FEW}): the law for many groups is rough, and "
            "little can be told."
        )
    return warnings
