"""What scores, error bars and gaps are shown in: one unit for each of them, on the whole page."""

from __future__ import annotations

import math
from dataclasses import dataclass

from heldout import summary as page
from heldout.reuse.result import Budget, Pool, PoolResult, ScoreBudgetResult


@dataclass(frozen=True)
class Unit:
    """Right or wrong: per cent, and percentage points between them. Else the scores' own unit, as in `compare`.

    Examples
    --------
    >>> points, own = Unit(True), Unit(False)
    >>> points.bar(0.0094, full=True), own.bar(0.0094, full=True)
    ('±0.940\\xa0points', '±0.00940')
    >>> points.gap(0.00805), own.gap(0.00805)
    ('0.805\\xa0points', '0.00805')
    >>> points.value(0.9711), own.value(0.9711)
    ('97.11\\xa0%', '0.9711')
    >>> points.between(0.9655, 0.9761), own.between(0.9655, 0.9761)
    ('96.55 to 97.61\\xa0%', '0.9655 to 0.9761')
    >>> points.change(0.0013), own.change(0.0013), own.change(float("nan"))
    ('0.13\\xa0points', '0.0013', 'not defined')
    """

    points: bool

    @classmethod
    def of(cls, result: Budget) -> Unit:
        """That of a budget."""
        return cls(not isinstance(result, ScoreBudgetResult))

    @classmethod
    def of_pool(cls, pool: Pool) -> Unit:
        """That of its models."""
        return cls(isinstance(pool, PoolResult))

    def bar(self, half_width: float, *, full: bool = False) -> str:
        """Half the width of an error bar; with all three digits where it was measured and not asked for."""
        if self.points or not math.isfinite(half_width):
            return page.bar_text(half_width, full=full)
        return f"±{half_width:{'#' if full else ''}.3g}".removesuffix(".")

    def gap(self, difference: float) -> str:
        """How far two scores are apart, three digits of it."""
        return page.points_text(difference) if self.points else page.scientific(difference)

    def value(self, score: float) -> str:
        """A mean score, or an error."""
        return page.percent(score, 2) if self.points else page.fixed(score)

    def between(self, low: float, high: float) -> str:
        """An interval, or a range, of mean scores or errors."""
        return f"{page.pair((100 * low, 100 * high), 2)}{page.PERCENT}" if self.points else page.pair((low, high))

    def change(self, difference: float, *, sign: bool = False) -> str:
        """What is added to a mean score, to as many places."""
        text = page.fixed(100 * difference, 2, sign=sign) if self.points else page.fixed(difference, sign=sign)
        return f"{text}\N{NO-BREAK SPACE}points" if self.points and math.isfinite(difference) else text
