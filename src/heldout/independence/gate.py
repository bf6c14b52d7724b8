"""What a pipeline may ask of an audit: a threshold that p can fall below, and whether it did."""

from __future__ import annotations

from numbers import Real

from heldout.errors import InputError


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
