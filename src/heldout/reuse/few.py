"""Too little to go by: few examples, few groups of them, and what is then not said."""

from __future__ import annotations

import math
from dataclasses import replace

from heldout.errors import InputError
from heldout.reuse.bounds import TestableModels
from heldout.reuse.needed import Needed
from heldout.reuse.thresholds import Number, exact
from heldout.summary.numbers import counted

WIDE = 0.5  # an error bar that says nothing
LARGEST_POWER = 1_000  # of two, that is a number


def too_few(n_units: int, error_bar: float, delta: float) -> bool:
    """Whether examples, or groups of them, say nothing: as many coins cannot be told from fair ones, or the error bar
    is half of all.

    With two to five no pair of models is ever told apart at 5 %, and a bar of ±0.8 would hold for any number of models.

    Examples
    --------
    >>> too_few(5, 0.4, 0.05), too_few(6, 0.4, 0.05), too_few(10_000, 0.5, 0.05)
    (True, False, True)
    """
    return 2.0 ** -min(n_units - 1, LARGEST_POWER) > delta or error_bar >= WIDE


def check_narrow(epsilon: Number) -> None:
    """An error bar that says something."""
    if float(exact(epsilon)) >= WIDE:
        raise InputError(
            f"`epsilon` is {epsilon}; an error bar of ±{WIDE:g} or wider says nothing of a share, and any number of "
            f"models would fit; give one below {WIDE:g}."
        )


def nothing_fits(n_units: int, unit: str) -> TestableModels:
    """No count of models, and why."""
    reason = f"{counted(n_units, unit)} {'is' if n_units == 1 else 'are'} too few to say how many models fit"
    return TestableModels(union=0, similarity=None, naive_bayes=None, reason=reason)


def nothing_needed(needed: Needed) -> Needed:
    """No count of examples either."""
    unknown = dict.fromkeys(("examples_for_epsilon", "examples_for_gap", "first_gap", "examples_for_first"))
    return replace(needed, gap_now=math.nan, **unknown)  # type: ignore[arg-type]
