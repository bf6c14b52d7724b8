"""Words that several sections of a stress test's page share."""

from __future__ import annotations

import math

from heldout.attack.result import StressResult, StressRun
from heldout.pages.numbers import NOT_DEFINED, PERCENT, percent
from heldout.pages.svg.shapes import shorten

LONGEST = 58  # characters of a mechanism's name with "answers by" in tables and sentences
VACUOUS = "vacuous"


def points_text(value: float, *, sign: bool = False) -> str:
    """Percentage points, without the word; a third digit where two would say little.

    Examples
    --------
    >>> points_text(0.0304), points_text(0.00042), points_text(-0.0002, sign=True), points_text(0.12, sign=True)
    ('3.04', '0.042', '−0.020', '+12.00')
    >>> points_text(float("nan")), points_text(-1e-9, sign=True)
    ('not defined', '0.000')
    """
    if not math.isfinite(value):
        return NOT_DEFINED
    text = f"{100 * value:{'+' if sign else ''}.{2 if abs(value) >= 0.001 else 3}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def confidence_text(result: StressResult) -> str:
    """How sure the upper bound is."""
    return f"{100 * (1 - result.delta):.6g}{PERCENT}"


def count_text(count: int, what: str) -> str:
    """So many of something.

    Examples
    --------
    >>> count_text(1, "trial"), count_text(5200, "answer")
    ('1 trial', '5,200 answers')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def answers_text(run: StressRun) -> str:
    """What the oracle says."""
    return shorten(run.answer_words, LONGEST)


def attacked_text(run: StressRun) -> str:
    """Which examples and which of their labels are attacked."""
    which = "all examples" if run.points == run.n_examples else f"{run.points:,} of {run.n_examples:,} examples"
    labels = f"all {run.n_classes:,} labels" if run.top is None else f"{run.top:,} of {run.n_classes:,} labels"
    return f"{which}, {labels} at each"


def spread_text(run: StressRun) -> str:
    """The standard deviation after all answers, and over what."""
    if math.isnan(run.std[-1]):
        return "one trial, so the spread is not known"
    return f"±{points_text(float(run.std[-1]))} points (sd over {count_text(run.trials, 'trial')})"


def forecast_words(run: StressRun) -> str:
    """What kind of number the forecast is."""
    if run.attack == "reconstruction":
        return "if all attacked labels come back"
    return "computed" if run.attack == "linear-scan" else "computed, to first order"


def bound_value(bound: float) -> str:
    """A bound on the accuracy, in a word where it is no number.

    Examples
    --------
    >>> bound_value(0.6505), bound_value(1.0), bound_value(float("nan"))
    ('65.05\\xa0%', 'vacuous', 'unknown')
    """
    if math.isnan(bound):
        return "unknown"
    return VACUOUS if bound >= 1 else percent(bound, 2)


def last_telling(run: StressRun) -> int | None:
    """The largest of the numbers of answers at which the upper bound excludes something; None if there is none."""
    telling = run.queries[run.upper_bound < 1]
    return int(telling[-1]) if len(telling) else None
