"""From per-example statistics to evidence: pure functions over arrays, no model in sight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.groups import design_effect, group_sizes
from heldout.independence.leak import LeakEvidence
from heldout.independence.plan import ADVERSARIAL, KINDS, WRONG
from heldout.independence.verdict import Basis, Direction, Outcome, Verdict, judge
from heldout.independence.views import ViewsEvidence, weigh_views
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit
from heldout.orbit.square import NAMES as VIEWS
from heldout.results import Record, plain
from heldout.statistics import (
    ControlTestResult,
    Detectable,
    bernstein_bound,
    calibrated_log_evalue,
    clopper_pearson,
    control_test,
    detectable_difference,
    detectable_effect,
    independence_test,
    mixture_log_evalue,
    two_interval_log_pvalue,
)
from heldout.statistics.betting import Capital, star_bets_capital
from heldout.statistics.checks import Alternative
from heldout.statistics.grouped import korn_graubard
from heldout.statistics.mean_zero import one_value_per_group
from heldout.statistics.power import LEVEL

CONFIDENCE = 0.975  # of the paper's intervals for the two error estimates


@dataclass(frozen=True, kw_only=True)
class Examples:
    """What an audit keeps of every example; axes are (n_models, n_examples)."""

    statistics: NDArray[np.float64]  # T
    weights: NDArray[np.float64]  # h(g(x)); NaN where untouched
    kinds: NDArray[np.int8]  # 0 untouched, 1 adversarial, 2 wrong
    moves: NDArray[np.int16]  # (n_models, n_examples, 2): down, right; with views, 3: element, down, right
    moved_losses: NDArray[np.float64]  # L(g(x))
    moved_scores: NDArray[np.float64]  # excess score of g(x)
    labels: NDArray[np.int64]  # (n_examples,)
    ids: tuple[str, ...]
    untouched_losses: NDArray[np.float64]  # L of the untouched picture, as the model is used in life: 0 or 1
    groups: NDArray[np.intp] | None = None  # (n_examples,) number of each one's group; None where all are of one
    n_duplicates: int = 0  # examples that repeat another one exactly
    design_effect: float | None = None  # of T; None where every group is of one
    view_losses: NDArray[np.bool_] | None = None  # (n_models, n_examples, n_views) on finite groups; as given first
    n_symmetric: int = 0  # examples that some move of a finite group leaves unchanged

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_groups(self) -> int:
        """Independent units: groups, or examples where every group is of one."""
        return len(self) if self.groups is None else int(self.groups.max()) + 1

    @property
    def losses(self) -> NDArray[np.float64]:
        """L(x), (n_models, n_examples)."""
        return np.asarray((self.kinds == WRONG).astype(np.float64))

    @property
    def T(self) -> NDArray[np.float64]:
        """T averaged over models, (n_examples,): section 3.1 of v1."""
        return np.asarray(self.statistics.mean(axis=0))

    @property
    def weighted_losses(self) -> NDArray[np.float64]:
        """L(g(x)) h(g(x)) averaged over models, (n_examples,)."""
        return np.asarray((self.statistics + self.losses).mean(axis=0))

    @property
    def counts(self) -> dict[str, int]:
        """How many (model, example) pairs are of each kind."""
        return {name: int((self.kinds == i).sum()) for i, name in enumerate(KINDS)}

    @property
    def attack_success(self) -> float:
        """Share of right examples that a move makes wrong; NaN where none is right."""
        right = self.kinds != WRONG
        return float(self.moved_losses[right].mean()) if right.any() else math.nan

    def by_example(self, of: str) -> dict[str, Any]:
        """Columns: one row per example of the set that is called `of`, averaged over models."""
        return {
            "set": [of] * len(self),
            "id": self.ids,
            "label": self.labels,
            "group": [None] * len(self) if self.groups is None else self.groups,
            "error": self.untouched_losses.mean(axis=0),
            "error_in_frame": self.losses.mean(axis=0),
            "error_moved": self.moved_losses.mean(axis=0),
            **({} if self.view_losses is None else {"error_views": self.view_losses.mean(axis=(0, 2))}),
            "T": self.T,
        }

    def by_model(self, of: str, models: Sequence[str], *, moved: bool) -> list[dict[str, Any]]:
        """Columns of each model: one row per example of the set that is called `of`, its move where it was `moved` by
        one; the T of a random rule is an expectation over all moves."""
        nowhere = np.full(len(self), None)
        has_views = moved and self.moves.shape[-1] > 2
        return [
            {
                "model": [model] * len(self),
                "set": [of] * len(self),
                "id": self.ids,
                "label": self.labels,
                "kind": [KINDS[kind] for kind in self.kinds[i].tolist()],
                **({"view": [VIEWS[element] for element in self.moves[i, :, 0].tolist()]} if has_views else {}),
                "down": self.moves[i, :, -2] if moved else nowhere,
                "right": self.moves[i, :, -1] if moved else nowhere,
                "weight": self.weights[i],
                "error": self.untouched_losses[i],
                "error_moved": self.moved_losses[i],
                "T": self.statistics[i],
            }
            for i, model in enumerate(models)
        ]

    def most_telling(self, count: int) -> NDArray[np.intp]:
        """Examples of the first model that a move made wrong: largest T first, then the worst score."""
        order = np.lexsort((-self.moved_scores[0], -self.statistics[0]))
        return np.asarray(order[self.kinds[0][order] == ADVERSARIAL][:count])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ControlEvidence(Record):
    """Test set against control, and the control against itself."""

    statistic: ControlTestResult  # on T: test minus control
    error_rate: ControlTestResult  # on -L of untouched pictures, so that "greater" means the test set is the easier one
    mean_statistic: float  # T of the control
    invariance_log_p_value: float  # betting on the control's own T
    untouched_error: float  # of the control, as the model is used in life
    frame_error: float  # of the control, in the frame's centre
    frame_error_interval: tuple[float, float]  # at CONFIDENCE
    detectable_error: Detectable  # difference in the error rate that would have been found
    leak: LeakEvidence | None = None  # against references; where there are any, this is the verdict

    @property
    def p_value(self) -> float:
        """The verdict, declared before the data: the leak test's with references, else twice the smaller of the two."""
        if self.leak is not None:
            return self.leak.p_value
        return min(1.0, 2.0 * min(self.statistic.p_value, self.error_rate.p_value))

    @property
    def spoke(self) -> ControlTestResult:
        """The half of the verdict with the smaller p; both differences are positive where the test set is easier."""
        if self.leak is not None:
            return self.leak.spoke
        return min(self.statistic, self.error_rate, key=lambda test: test.p_value)

    @property
    def error_difference(self) -> ControlTestResult:
        """`error_rate` as the difference in errors: negative where the test set is the easier one."""
        low, high = self.error_rate.interval
        return replace(self.error_rate, difference=-self.error_rate.difference, interval=(-high, -low))

    def disagree(self, level: float) -> bool:
        """Whether each half would be the verdict on its own, in opposite directions."""
        if self.leak is not None:
            return self.leak.disagree(level)
        halves = (self.statistic, self.error_rate)
        return all(2.0 * test.p_value <= level for test in halves) and halves[0].difference * halves[1].difference < 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "p_value": self.p_value,
            "leak": plain(self.leak),
            "p_greater": self.statistic.p_greater,
            "p_two_sided": self.statistic.p_two_sided,
            "p_error_rate": self.error_rate.p_value,
            "invariance_p_value": math.exp(self.invariance_log_p_value),
            "invariance_log_p_value": self.invariance_log_p_value,
            "difference": self.statistic.difference,
            "interval": plain(self.statistic.interval),
            "error_difference": self.error_difference.difference,
            "error_interval": plain(self.error_difference.interval),
            "untouched_error": self.untouched_error,
            "frame_error": self.frame_error,
            "frame_error_interval": list(self.frame_error_interval),
            "detectable_error": plain((self.detectable_error.low, self.detectable_error.high)),
            "n_examples": self.statistic.n_control,
            "n_groups_test": self.statistic.n_groups_test,
            "n_groups": self.statistic.n_groups_control,
            "n_unmatched": self.statistic.n_unmatched,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evidence(Record):
    """Everything an audit concludes, as numbers."""

    unlisted = ("test_error_variance", "adversarial_estimate_variance", "detectable", "ruling")
    derived = (
        "outcome", "direction", "verdict_by", "p_value", "log_p_value", "adjusted_p_value", "p_values", "variances",
        "detectable_effect", "detectable_range", "detectable_unit",
    )  # fmt: skip

    test_error: float  # R_S, in the frame's centre
    untouched_error: float  # as the model is used in life
    adversarial_error: float  # mean L(g(x))
    adversarial_estimate: float  # R_g
    statistic: float  # mean T = R_g - R_S
    tested_statistic: float  # what is tested: the same, or with groups the mean of their means
    log_p_values: dict[str, float]
    intervals: dict[str, tuple[float, float]]  # at CONFIDENCE
    test_error_variance: float
    adversarial_estimate_variance: float  # never larger under H, in expectation (section 2.2)
    # Mean T, or its difference from the control's; where the orbit test is the verdict, a drop of the error rate
    detectable: Detectable
    log_e_value: float  # mixture; with a control, or of the orbit test, calibrated from the verdict's p
    level: float  # of the verdict
    planned_audits: int  # that the verdict is held to, this one among them
    control: ControlEvidence | None
    ruling: Verdict  # of the p-value that was declared to be the verdict, times the planned audits
    views: ViewsEvidence | None = None  # on finite groups of moves; without a control this is the verdict
    # How near bets come to the level the verdict is held to; None where they are not the verdict, and of results that
    # were saved before this was kept
    betting_capital: Capital | None = None

    @property
    def detectable_effect(self) -> float:
        """An effect that is found four times in five, whichever way it comes about; NaN where none is known."""
        return self.detectable.high

    @property
    def detectable_unit(self) -> str:
        """What `detectable_effect` and `detectable_range` are values of."""
        if self.control is not None:
            return "mean T, test minus control"
        return "mean T" if self.views is None else "error rate, over all views minus as they stand"

    @property
    def adjusted_log_p_value(self) -> float:
        """The verdict's p times the number of planned audits (Bonferroni), 1 at most."""
        return self.ruling.log_p_value

    @property
    def adjusted_p_value(self) -> float:
        """The same, not in logs."""
        return math.exp(self.adjusted_log_p_value)

    @property
    def outcome(self) -> Outcome:
        """What was found at the level."""
        return self.ruling.outcome

    @property
    def direction(self) -> Direction | None:
        """Where something was found: whether the test set, as it stands, looks too easy or too hard."""
        return self.ruling.direction

    @property
    def log_p_value(self) -> float:
        """The verdict's: against the control where there is one, else the orbit test's on finite groups, else betting.
        Never the smallest of several."""
        if self.control is not None:
            return math.log(self.control.p_value)
        return self.log_p_values["betting"] if self.views is None else self.views.log_p_value

    @property
    def verdict_by(self) -> Basis:
        """Which test the verdict is, as declared by what the audit was given."""
        return self.ruling.rests_on

    @property
    def p_value(self) -> float:
        """The verdict's; may underflow to 0 where `log_p_value` does not."""
        return self.control.p_value if self.control else math.exp(self.log_p_value)

    @property
    def p_values(self) -> dict[str, float]:
        """Of the test set alone; they may underflow."""
        return {name: math.exp(log_p) for name, log_p in self.log_p_values.items()}

    @property
    def variances(self) -> dict[str, float]:
        """Of both error estimates."""
        return {"test_error": self.test_error_variance, "adversarial_estimate": self.adversarial_estimate_variance}

    @property
    def detectable_range(self) -> tuple[float, float]:
        """Effects that are found four times in five, by how they come about."""
        return self.detectable.low, self.detectable.high


def weigh(
    test: Examples,
    control: Examples | None,
    *,
    orbit: PictureOrbit,
    rule: Rule,
    alternative: Alternative,
    tolerance: float,
    rng: np.random.Generator,
    n_resamples: int = 9999,
    seed: int = 0,
    level: float = LEVEL,
    planned_audits: int = 1,
    leak: LeakEvidence | None = None,
    n_jobs: int = 1,
) -> Evidence:
    """All p-values, intervals and what could have been detected; with `leak` that is the verdict against a control."""
    lower, upper = orbit.statistic_range(rule)
    values = test.T
    losses, weighted = test.losses.mean(axis=0), test.weighted_losses
    log_p = mean_zero_log_p_values(
        test, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance, seed=seed
    )
    held_to = level / planned_audits
    views = _views_evidence(test, orbit, alternative, held_to)
    if views is not None:
        log_p["orbit"] = views.log_p_value
    by: Basis = "betting" if views is None else "orbit"
    units = one_value_per_group(values, test.groups)[0]
    tested_statistic = float(units.mean())
    against, difference = None, tested_statistic
    if control is not None:
        permuted = {"alternative": alternative, "rng": rng, "n_resamples": n_resamples, "n_jobs": n_jobs}
        against = _control_evidence(test, control, lower, upper, seed, held_to, leak, permuted)
        detectable = _detectable_difference(against.statistic, values, test.groups, held_to)
        by, difference = "T and error rate" if leak is None else "references", against.spoke.difference
    elif views is not None:
        detectable, difference = views.detectable, views.difference
    else:
        detectable = detectable_effect(
            values,
            lower=lower,
            upper=upper,
            alternative=alternative,
            groups=test.groups,
            tolerance=tolerance,
            level=held_to,
            rng=rng,
        )
    log_p_value = math.log(against.p_value) if against is not None else log_p[by]
    capital = None
    if by == "betting":
        log_e = mixture_log_evalue(units, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance)
        capital = capital_of(
            test, held_to, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance, seed=seed
        )
    else:
        log_e = calibrated_log_evalue(log_p_value)
    ruling = judge(min(0.0, log_p_value + math.log(planned_audits)), difference, level=level, rests_on=by)
    return Evidence(
        test_error=float(losses.mean()),
        untouched_error=float(test.untouched_losses.mean()),
        adversarial_error=float(test.moved_losses.mean()),
        adversarial_estimate=float(weighted.mean()),
        statistic=float(values.mean()),
        tested_statistic=tested_statistic,
        log_p_values=log_p,
        intervals={
            "test_error": error_interval(losses, test.groups),
            "adversarial_estimate": bernstein_interval(weighted, test.groups),
        },
        test_error_variance=_variance_of_mean(losses, test.groups),
        adversarial_estimate_variance=_variance_of_mean(weighted, test.groups),
        detectable=detectable,
        log_e_value=log_e,
        level=level,
        planned_audits=planned_audits,
        control=against,
        ruling=ruling,
        views=views,
        betting_capital=capital,
    )


def capital_of(
    examples: Examples,
    level: float,
    *,
    lower: float,
    upper: float,
    alternative: Alternative,
    tolerance: float,
    seed: int,
) -> Capital:
    """How near the bets of `mean_zero_log_p_values` come to a level."""
    units = one_value_per_group(examples.T, examples.groups)[0]
    return star_bets_capital(
        units, level=level, lower=lower, upper=upper, alternative=alternative, tolerance=tolerance, seed=seed
    )


def mean_zero_log_p_values(
    examples: Examples, *, lower: float, upper: float, alternative: Alternative, tolerance: float, seed: int
) -> dict[str, float]:
    """The five p-values of one set on its own, in logs."""
    values = examples.T
    log_p: dict[str, float] = {}
    for method in ("bernstein", "bernstein_uncapped", "betting", "mixture"):
        log_p[method] = independence_test(
            values,
            lower=lower,
            upper=upper,
            method=method,
            alternative=alternative,
            groups=examples.groups,
            tolerance=tolerance,
            seed=seed,
        ).log_p_value
    by_group = [one_value_per_group(x, examples.groups)[0] for x in (values, examples.losses.mean(axis=0))]
    mean = float(by_group[0].mean())
    if alternative == "greater" and mean <= 0:
        log_p["intervals"] = 0.0
    else:
        first, second = float(by_group[1].std()), float((by_group[0] + by_group[1]).std())
        excess = max(abs(mean) - tolerance, 0.0)
        log_p["intervals"] = min(0.0, two_interval_log_pvalue(excess, first, second, len(by_group[0])))
    return log_p


def error_interval(losses: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> tuple[float, float]:
    """Of a mean loss: exact for one model, Bernstein (11) for several, Korn and Graubard's with groups."""
    if groups is not None:
        effect, n_groups = design_effect(losses, groups), int(groups.max()) + 1
        worth = n_groups if math.isnan(effect) else len(losses) / max(effect, 1.0)
        low, high = korn_graubard(losses.mean(), worth, max(n_groups - 1, 1), 1 - CONFIDENCE)
        return float(low), float(high)
    if np.isin(losses, (0.0, 1.0)).all():
        return clopper_pearson(int(losses.sum()), len(losses), confidence=CONFIDENCE)
    return bernstein_interval(losses)


def bernstein_interval(values: NDArray[np.float64], groups: NDArray[np.intp] | None = None) -> tuple[float, float]:
    """Mean plus and minus (7) for values in [0, 1], cut to [0, 1]: (11) and (12) of v1."""
    units, width = _units(values, groups)
    half = bernstein_bound(len(units), float(units.std()), log_delta=math.log(1 - CONFIDENCE), width=width)
    mean = float(values.mean())
    return max(0.0, mean - half), min(1.0, mean + half)


def _units(values: NDArray[np.float64], groups: NDArray[np.intp] | None) -> tuple[NDArray[np.float64], float]:
    """Independent units whose mean is that of the values, and the width of their range for values in [0, 1].

    With groups: their sums, as shares of the mean group size. That sizes differ counts as spread, so that an interval
    is wider than it need be where they do.
    """
    if groups is None:
        return values, 1.0
    per_group = len(values) / (int(groups.max()) + 1)
    return np.bincount(groups, weights=values) / per_group, float(group_sizes(groups).max()) / per_group


def _variance_of_mean(values: NDArray[np.float64], groups: NDArray[np.intp] | None) -> float:
    if groups is None:
        return float(values.var()) / len(values)
    return float(np.sum(np.bincount(groups, weights=values - values.mean()) ** 2)) / len(values) ** 2


def _views_evidence(
    test: Examples, orbit: PictureOrbit, alternative: Alternative, level: float
) -> ViewsEvidence | None:
    """The orbit test on finite groups; None where pictures are only shifted."""
    if test.view_losses is None:
        return None
    return weigh_views(
        test.view_losses,
        test.groups,
        test.n_symmetric,
        tuple(VIEWS[element] for element in orbit.elements),
        tuple(error_interval(of, test.groups) for of in test.view_losses.mean(axis=0).T),
        alternative=alternative,
        level=level,
    )


def _control_evidence(
    test: Examples,
    control: Examples,
    lower: float,
    upper: float,
    seed: int,
    level: float,
    leak: LeakEvidence | None,
    permuted: dict[str, Any],  # how: options of `control_test`
) -> ControlEvidence:
    def against(values: NDArray[np.float64], control_values: NDArray[np.float64]) -> ControlTestResult:
        return control_test(
            values,
            control_values,
            classes_test=test.labels,
            classes_control=control.labels,
            groups_test=test.groups,
            groups_control=control.groups,
            **permuted,
        )

    invariance = independence_test(control.T, lower=lower, upper=upper, groups=control.groups, seed=seed)
    statistic = against(test.T, control.T)
    right = 1.0 - test.untouched_losses.mean(axis=0)
    error_rate = against(-test.untouched_losses.mean(axis=0), -control.untouched_losses.mean(axis=0))
    framed = control.losses.mean(axis=0)
    return ControlEvidence(
        statistic=statistic,
        error_rate=error_rate,
        mean_statistic=float(control.T.mean()),
        invariance_log_p_value=invariance.log_p_value,
        untouched_error=float(control.untouched_losses.mean()),
        frame_error=float(framed.mean()),
        frame_error_interval=error_interval(framed, control.groups),
        detectable_error=_detectable_difference(error_rate, right, test.groups, level),
        leak=leak,
    )


def _detectable_difference(
    test: ControlTestResult, values: NDArray[np.float64], groups: NDArray[np.intp] | None, level: float
) -> Detectable:
    """For one of the two halves of the verdict, each of which has half its level."""
    total, own = test.standard_error, test.standard_error_test
    return detectable_difference(
        one_value_per_group(values, groups)[0],
        standard_error_test=own,
        standard_error_control=math.sqrt(max(0.0, total**2 - own**2)),
        level=level / 2,
        alternative=test.alternative,
    )
