"""What an exposure test returns: frozen data, all of it computed by `exposure`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from heldout.exposures.controls import Mixing, Part, Weight
from heldout.exposures.months import MonthMap
from heldout.exposures.scans import Scan
from heldout.report import Result
from heldout.results import today
from heldout.statistics.margins import standardised

Outcome = Literal["exposed models score better", "no excess found", "cannot tell", "not applicable"]
Basis = Literal["margins", "placebo", "neither"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether models did better on what they could have seen; by the larger p of two tests."""

    outcome: Outcome
    p_value: float
    level: float
    rests_on: Basis  # whose p is the larger one


@dataclass(frozen=True, kw_only=True)
class ModelExposure:
    """One model; what is not defined for it is NaN or None.

    `observed` to `z` are by its own table, with references that could have seen none of its exposed examples; `z_all`
    has all other models as references. Of models that could have seen nothing, `z_placebo` is the standardised excess
    under the commonest exposure.
    """

    name: str
    family: str
    cutoff: str | None
    score: float
    exposed: int
    references: int
    observed: int
    expected: float
    excess: float
    z: float
    z_all: float
    z_placebo: float
    rank: int
    p_margins: float
    p_placebo: float
    p_value: float
    p_holm: float
    effective_cutoff: str | None
    p_effective_cutoff: float
    later_cutoff: str | None
    p_later_cutoff: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExposureResult(Result):
    """Whether models scored better on what they could have seen.

    Parameters
    ----------
    ruling : Verdict
        By the larger of `p_margins` and `p_placebo`, declared up front.
    p_margins, p_placebo : float
        Of tables with the same margins, and of exposures dealt out anew among families of like ability.
    p_margins_error, p_placebo_error : float
        Their standard deviations over seeds, as the draws tell: of tables, of members of each family, of assignments; 0
        where all assignments were looked at, NaN in a file that does not have it.
    observed, expected, spread : float
        Successes on examples that models could have seen, and their mean and standard deviation over tables with the
        same margins, as if models were independent. The excess is not the gain.
    effect_log_odds, interval : float, (float, float)
        Log-odds ratio of being right that exposure brings, and its interval at 1 - level.
    exposed_cells : int
        Results on examples that their model could have seen.
    assignments, smallest_p, n_blocks : int, float, int
        Distinct ways to give exposures to families of like ability, and the smallest p that they can reach; blocks of
        like ability.
    smallest_p_margins : float
        The smallest p that the margins test can reach, 1 where no exposed success can move; where a test cannot reach
        the level, nothing can be told.
    placebo_spread : float
        Standard deviation of the references' standardised excesses under the exposures of others; 1 under the model.
    models : tuple of ModelExposure
        In the order of the table.
    strata, control, mixing : tuple of Part, Part or None, Mixing or None
        Checks: each stratum alone, exposure turned into the future, and whether chains had mixed.
    examples, families : tuple of Weight
        Those with the largest shares of the excess.
    months, scans, later_scans : MonthMap or None, dict of Scan
        Residuals by month, and the excess by hypothetical cutoff of each model, over all examples and over later ones.
    n_models, n_families, n_examples, n_missing, families_given, halved : int, bool
        What came in: whether families were given, and whether several trials were counted as right at half or more.
    n_everything, n_nothing, n_unknown : int
        Models that could have seen all examples, none, or of which it is not known.
    n_known_families, n_twins : int
        Families with a model of which it is known what it could have seen; models with the same results as one of
        another family before them.
    n_undated : int
        Examples without a date, or that `seen` does not have, which serve as reference only.
    n_idle : int
        Strata in which nothing can be traded, so that they say nothing.
    n_resamples, steps, seed : int
        What `exposure` was given, or chose.
    scored_by : str or None
        The metric and filter, the scorer or the column, where the files had a choice.
    source, data_digest, version, created : str
        What came in, a hash of it; what made the result, and when.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import exposure
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((9, 60)) < 0.5
    >>> result = exposure(right, seen=np.arange(60) < 20 * (np.arange(9) % 3)[:, None], n_resamples=199)
    >>> result.verdict, result.exposed_cells
    ('no excess found', 180)
    """

    unlisted = ("ruling", "spread", "months", "scans", "later_scans")
    derived = ("p_value", "p_error", "excess", "z", "verdict", "level", ("standard_deviation", "spread"))
    told_by = "heldout.exposures.summary:exposure_summary"
    tabled: ClassVar = {
        "models": "models",
        "strata": ("strata", ("name", "exposed", "observed", "expected", "spread", "p_value", "z")),
    }

    ruling: Verdict
    p_margins: float
    p_placebo: float
    observed: int
    expected: float
    spread: float
    effect_log_odds: float
    interval: tuple[float, float]
    exposed_cells: int
    assignments: int
    smallest_p: float
    smallest_p_margins: float
    n_blocks: int
    placebo_spread: float
    models: tuple[ModelExposure, ...]
    strata: tuple[Part, ...]
    n_idle: int
    mixing: Mixing | None
    control: Part | None
    examples: tuple[Weight, ...]
    families: tuple[Weight, ...]
    months: MonthMap | None
    scans: dict[str, Scan]
    later_scans: dict[str, Scan]
    n_models: int
    n_families: int
    families_given: bool
    n_examples: int
    n_missing: int
    n_everything: int
    n_nothing: int
    n_unknown: int
    n_known_families: int
    n_twins: int
    n_undated: int
    halved: bool
    n_resamples: int
    steps: int
    seed: int
    source: str
    data_digest: str
    version: str
    scored_by: str | None = None
    created: str = field(default_factory=today)
    p_margins_error: float = math.nan
    p_placebo_error: float = math.nan

    @property
    def p_value(self) -> float:
        """The larger of the two."""
        return self.ruling.p_value

    @property
    def p_error(self) -> float:
        """Standard deviation over seeds of the p that decides; where both tests may, the larger one."""
        both = (self.p_margins, self.p_margins_error), (self.p_placebo, self.p_placebo_error)
        return max((error for p, error in both if not p + 2 * error < self.p_value), default=math.nan)

    @property
    def level(self) -> float:
        """Of the verdict."""
        return self.ruling.level

    @property
    def verdict(self) -> str:
        """ "exposed models score better", "no excess found", "cannot tell" or "not applicable"."""
        return self.ruling.outcome

    @property
    def excess(self) -> float:
        """Observed less expected; with margins given this is not the gain, which is larger."""
        return self.observed - self.expected

    @property
    def z(self) -> float:
        """The excess in standard deviations, as if models were independent."""
        return float(standardised(self.observed, self.expected, self.spread))
