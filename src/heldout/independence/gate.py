"""What a pipeline may ask of an audit: a threshold for p, whether p is below it, and whether a seed decided that."""

from __future__ import annotations

from numbers import Real

from heldout.errors import InputError
from heldout.independence.evidence import capital_of
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.statistics.betting import Capital
from heldout.statistics.seeds import draws_error, seed_decides


def check_threshold(
    fail_under: float, *, n_resamples: int, planned_audits: int = 1, halves: int = 1, has_control: bool = True
) -> None:
    """Refuse a threshold that is no p-value, or that no p against a control could fall below.

    The verdict is one p-value, or twice the smaller of two (`halves`).
    """
    given: object = fail_under
    if not isinstance(given, Real) or not 0 < fail_under < 1:
        told = f"{fail_under:g}" if isinstance(given, Real) else repr(given)
        raise InputError(f"`fail_under={told}`: give a p-value between 0 and 1.")
    times = halves * max(1, planned_audits)
    smallest = times / (n_resamples + 1)
    if has_control and fail_under <= smallest:
        raise InputError(
            f"`fail_under={fail_under}` can never be reached: with `n_resamples={n_resamples}` no p against a control, "
            f"times {max(1, planned_audits)} planned audit(s), is below {smallest:.2g}. Use "
            f"`n_resamples={int(10 * times / fail_under)}`, ten times the least that can reach it."
        )


def fails(p_value: float, fail_under: float) -> bool:
    """Whether p is below the threshold; an undefined one does not pass.

    Examples
    --------
    >>> fails(0.004, 0.01), fails(0.2, 0.01), fails(float("nan"), 0.01)
    (True, False, True)
    """
    return not p_value >= fail_under


def moved_by_seed(result: AuditResult | ScoreAuditResult, level: float) -> float | Capital | None:
    """How far seeds move the verdict's p, times no planned audits, where one could put it on the other side of a level.

    Its standard deviation where it rests on draws, what the bets hold where it rests on them; None where no seed could.
    """
    if (leak := result.leak) is not None:
        return _within(leak.p_value, draws_error(leak.p_value, leak.test.mean.n_resamples), level)
    if isinstance(result, ScoreAuditResult):
        return None
    e = result.evidence
    if (control := e.control) is not None:
        return _within(control.p_value, draws_error(control.p_value, control.statistic.n_resamples, times=2), level)
    if e.verdict_by != "betting":
        return None
    capital = e.betting_capital
    if capital is None or level != e.level / e.planned_audits:  # by bets, only results of older versions have none
        lower, upper = result.orbit.statistic_range(result.rule)
        capital = capital_of(
            result.test, level, lower=lower, upper=upper, alternative=result.alternative, tolerance=result.tolerance,
            seed=result.seed,
        )  # fmt: skip
    return capital if seed_decides(1.0, (capital.share, capital.error)) else None


def _within(p: float, error: float, level: float) -> float | None:
    """The error of p where a seed decides on which side of a level p lies."""
    return error if seed_decides(level, (p, error)) else None
