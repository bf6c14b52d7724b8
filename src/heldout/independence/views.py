"""Errors on the pictures as given against all of their views: the exact test on finite groups of moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.results import Record, plain
from heldout.statistics import Detectable, OrbitTestResult, orbit_test
from heldout.statistics.checks import Alternative
from heldout.statistics.orbit_power import detectable_errors
from heldout.statistics.poisson_binomial import unit_counts


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ViewsEvidence(Record):
    """The pictures as given among their views, of which each was as likely as the others if H holds."""

    view_names: tuple[str, ...]  # as given first
    view_errors: tuple[float, ...]  # error rate in each view, averaged over models
    view_intervals: tuple[tuple[float, float], ...]  # of these, each on its own
    expected_error: float  # as given, if every view was equally likely
    deviation: float  # standard deviation of the error rate as given, under H
    log_p_greater: float  # looks for fewer errors as given
    log_p_two_sided: float
    alternative: Alternative
    n_units: int  # pictures, or groups of them, which are moved together
    n_telling: int  # those that have more errors in some views than in others: only they say anything
    n_symmetric: int  # pictures that some move leaves unchanged
    detectable: Detectable  # drops of the error rate as given

    @property
    def error(self) -> float:
        """As given."""
        return self.view_errors[0]

    @property
    def log_p_value(self) -> float:
        """Of the side that was declared."""
        return self.log_p_greater if self.alternative == "greater" else self.log_p_two_sided

    @property
    def difference(self) -> float:
        """What the pictures as given are easier by."""
        return self.expected_error - self.error

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "p_value": math.exp(self.log_p_value),
            "log_p_value": self.log_p_value,
            "p_greater": math.exp(self.log_p_greater),
            "p_two_sided": math.exp(self.log_p_two_sided),
            "error": self.error,
            "expected_error": self.expected_error,
            "standard_deviation": self.deviation,
            "errors": plain(dict(zip(self.view_names, self.view_errors, strict=True))),
            "intervals": plain(dict(zip(self.view_names, self.view_intervals, strict=True))),
            "detectable": plain((self.detectable.low, self.detectable.high)),
            "n_views": len(self.view_names),
            "n_units": self.n_units,
            "n_telling": self.n_telling,
            "n_symmetric": self.n_symmetric,
        }


def views_test(view_losses: NDArray[np.bool_], groups: NDArray[np.intp] | None) -> OrbitTestResult:
    """The orbit test of losses (n_models, n_pictures, n_views), as given first: all models together, and the pictures
    of a group moved together."""
    return orbit_test(view_losses.sum(axis=0), groups=groups, alternative="two-sided")


def weigh_views(
    view_losses: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    n_symmetric: int,
    view_names: tuple[str, ...],
    view_intervals: tuple[tuple[float, float], ...],
    *,
    alternative: Alternative,
    level: float,
) -> ViewsEvidence:
    """The orbit test of these pictures, exact if the model does not depend on how they are arranged and every
    arrangement was as likely as the others: of each picture by itself, of a group of pictures as a whole."""
    counts, pairs = unit_counts(view_losses.sum(axis=0), groups), view_losses[..., 0].size
    tested, found = views_test(view_losses, groups), detectable_errors(counts, alternative=alternative, level=level)
    return ViewsEvidence(
        view_names=view_names,
        view_errors=tuple(float(error) for error in view_losses.mean(axis=(0, 1))),
        view_intervals=view_intervals,
        expected_error=tested.expected / pairs,
        deviation=tested.standard_deviation / pairs,
        log_p_greater=tested.log_p_overfitted,
        log_p_two_sided=tested.log_p_two_sided,
        alternative=alternative,
        n_units=len(counts),
        n_telling=int((counts != counts[:, :1]).any(axis=1).sum()),
        n_symmetric=n_symmetric,
        detectable=Detectable(found.tilted / pairs, found.turned / pairs),
    )
