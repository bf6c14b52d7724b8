"""Ticks, their names, and the axes of a chart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from heldout.report.svg.shapes import CHARACTER, LEFT, RIGHT, TOP, WIDTH, line, text
from heldout.summary.charts import AxisKind
from heldout.summary.names import shorten, symbols
from heldout.summary.numbers import minus

EVEN = 4  # times as much; a log axis that is shorter has even steps
LARGE, FAR = 1e6, 100  # a log axis up to so much, and so long, has powers of ten, written as such


def linear_ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """Round numbers in [low, high], about `count` of them.

    Examples
    --------
    >>> linear_ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    >>> linear_ticks(-3, 11, count=4)
    [0.0, 5.0, 10.0]
    """
    raw = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def round_axis(low: float, high: float) -> tuple[float, float, float]:
    """Round ends around [low, high], and the step between grid lines.

    Examples
    --------
    >>> [round(v, 3) for v in round_axis(0.166, 0.235)]
    [0.16, 0.24, 0.02]
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    ticks = linear_ticks(low, high, count=4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 times powers of ten in [low, high]; even steps where the range is short, powers only where it is long.

    Examples
    --------
    >>> log_ticks(10, 500)
    [10.0, 20.0, 50.0, 100.0, 200.0, 500.0]
    >>> log_ticks(20, 40)
    [20.0, 25.0, 30.0, 35.0, 40.0]
    >>> log_ticks(1, 1e6)
    [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0]
    """
    if high / low < EVEN:
        return linear_ticks(low, high, count=4)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 2.0, 5.0) if high / low < 2e3 else (1.0,)
    ticks = [m * 10.0**e for e in exponents for m in steps]
    return [t for t in ticks if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Whole exponents in [low, high], at most eight.

    Examples
    --------
    >>> decade_ticks(-25.3, 0)
    [-25.0, -20.0, -15.0, -10.0, -5.0, 0.0]
    """
    return [t for t in linear_ticks(low, high) if t == round(t)]


def decade_text(exponent: float) -> str:
    """A power of ten as people write it.

    Examples
    --------
    >>> [decade_text(e) for e in (0, -2, -25, 3, 8)]
    ['1', '0.01', '10⁻²⁵', '1,000', '10⁸']
    """
    if -2 <= exponent <= 3:
        return f"{10.0**exponent:,g}"
    return "10" + f"{exponent:.0f}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def number_text(value: float, step: float) -> str:
    """A tick's label with the digits its step needs.

    Examples
    --------
    >>> number_text(0.2, 0.05), number_text(-3.0, 1.0), number_text(20000.0, 10000.0)
    ('0.20', '−3', '20,000')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return minus(f"{value:,.{digits}f}")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Values to places along one axis.

    `log` scales take values and place their logarithms; `decades` scales take logarithms to base 10
    (what would overflow or underflow, their logarithms do not).

    Examples
    --------
    >>> Scale(low=0, high=10, start=50, end=250).place(5)
    150.0
    >>> upwards = Scale(low=1, high=100, start=200, end=0, kind="log")
    >>> upwards.place(10), upwards.ticks()[0]
    (100.0, (1.0, '1'))
    >>> [name for _, name in Scale(low=0, high=2, start=0, end=1, whole=True).ticks()]
    ['0', '1', '2']
    >>> [name for _, name in Scale(low=0.1, high=10, start=0, end=1, kind="log").ticks()]
    ['0.1', '0.2', '0.5', '1', '2', '5', '10']
    >>> [name for _, name in Scale(low=10, high=1e15, start=0, end=1, kind="log").ticks()]
    ['100', '10⁴', '10⁶', '10⁸', '10¹⁰', '10¹²', '10¹⁴']
    """

    low: float
    high: float
    start: float
    end: float
    kind: AxisKind = "linear"
    whole: bool = False  # of what comes in whole numbers there is no half

    def place(self, value: float) -> float:
        """Where a value stands; NaN where there is no place for it."""
        low, high = self.low, self.high
        if self.kind == "log":
            value, low, high = (math.log10(v) if v > 0 else math.nan for v in (value, low, high))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether a value is between the ends."""
        return self.low <= value <= self.high

    def ticks(self) -> list[tuple[float, str]]:
        """Round values and their names."""
        log = self.kind == "log"
        if self.kind == "decades":
            return [(t, decade_text(t)) for t in decade_ticks(self.low, self.high)]
        if log and self.high >= LARGE and self.high / self.low >= FAR:
            return [(10.0**e, decade_text(e)) for e in decade_ticks(math.log10(self.low), math.log10(self.high))]
        ticks = log_ticks(self.low, self.high) if log else linear_ticks(self.low, self.high)
        places = [t for t in ticks if t == round(t)] if self.whole else ticks
        step = min((b - a for a, b in pairwise(places)), default=1.0)
        return [(t, number_text(t, t if log and self.high / self.low >= EVEN else step)) for t in places]


def room(low: float, high: float) -> tuple[float, float]:
    """A little space at both ends; some width even around a single value."""
    pad = 0.04 * (high - low) if high > low else 0.5 * abs(high) or 0.5
    return low - pad, high + pad


def axes(across: Scale, up: Scale, x_label: str, y_label: str, *, width: float = WIDTH) -> list[str]:
    """Grid lines and their names, the axis below with those of its names that fit, and what both measure."""
    right, bottom, free = width - RIGHT, up.start, 0.0
    parts = [text(4, TOP + 7, symbols(y_label), "start"), line("axis", LEFT, bottom, right, bottom)]
    for tick, name in up.ticks():
        y = up.place(tick)
        parts += [line("grid", LEFT, y, right, y), text(LEFT - 7, y + 4, name, "end")]
    for tick, name in across.ticks():
        x, half = across.place(tick), len(name) * CHARACTER / 2
        parts.append(line("axis", x, bottom, x, bottom + 4))
        centre = min(max(x, half), width - half)
        if centre - half >= free:
            parts.append(text(centre, bottom + 18, name, "middle"))
            free = centre + half + 8
    return [*parts, text((LEFT + right) / 2, bottom + 37, symbols(shorten(x_label, int(width / CHARACTER))), "middle")]
