"""Too little to go by: few examples, few groups of them, and what is then not said."""

from __future__ import annotations

import math
from dataclasses import replace

from heldout.reuse.bounds import TestableModels
from heldout.reuse.grouped import ExampleGroups
from heldout.reuse.needed import Needed

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
    unknown = dict.fromkeys(("examples_for_epsilon", "examples_for_gap", "first_gap", "examples_for_first"))
    return replace(needed, gap_now=math.nan, **unknown)  # type: ignore[arg-type]
