"""What scores, differences and error bars are shown in: one unit on the whole page, of `budget` as of `compare`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from heldout import summary as page
from heldout.reuse.compare_result import CompareResult
from heldout.reuse.result import Budget, Pool, PoolResult, ScoreBudgetResult

MANY = 100_000  # examples from which on a digit more of a difference tells something


@dataclass(frozen=True)
class Unit:
    """Right or wrong: per cent, and percentage points between them. Else the scores' own unit.

    Parameters
    ----------
    points : bool
        Whether it is right and wrong.
    places : int
        Of a difference in the scores' own unit; in points there are two fewer, which say as much.

    Examples
    --------
    >>> points, own = Unit(True), Unit(False)
    >>> points.bar(0.0094, full=True), own.bar(0.0094, full=True)
    ('±0.940\\xa0points', '±0.00940')
    >>> points.gap(0.00805), own.gap(0.00805)
    ('0.805\\xa0points', '0.00805')
    >>> points.score(0.9711), own.score(0.9711)
    ('97.11\\xa0%', '0.9711')
    >>> points.scores(0.9655, 0.9761), own.scores(0.9655, 0.9761)
    ('96.55 to 97.61\\xa0%', '0.9655 to 0.9761')
    >>> points.difference(0.0013), own.difference(0.0013), own.difference(float("nan"))
    ('+0.13\\xa0points', '+0.0013', 'not defined')
    >>> points.interval((-0.0013, 0.002)), Unit(False, 5).interval((-0.0013, 0.002))
    ('−0.13 to +0.20', '−0.00130 to +0.00200')
    """

    points: bool
    places: int = 4

    @classmethod
    def of_budget(cls, result: Budget) -> Unit:
        """That of a budget."""
        return cls(not isinstance(result, ScoreBudgetResult))

    @classmethod
    def of_pool(cls, pool: Pool) -> Unit:
        """That of its models."""
        return cls(isinstance(pool, PoolResult))

    @classmethod
    def of_pairs(cls, *results: CompareResult) -> Unit:
        """One for all of them."""
        few = max(result.n_examples for result in results) < MANY
        return cls(all(result.binary for result in results), 4 if few else 5)

    @property
    def digits(self) -> int:
        """Of a difference, as it is shown."""
        return self.places - 2 * self.points

    def score(self, score: float) -> str:
        """A mean score, or an error."""
        return page.percent(score, 2) if self.points else page.fixed(score)

    def scores(self, low: float, high: float) -> str:
        """From one mean score, or error, to another."""
        return f"{page.pair((100 * low, 100 * high), 2)}{page.PERCENT}" if self.points else page.pair((low, high))

    def bar(self, half_width: float, *, full: bool = False) -> str:
        """Half the width of an error bar; with all three digits where it was measured and not asked for."""
        return page.bar_text(half_width, full=full, points=self.points)

    def gap(self, difference: float) -> str:
        """How far two scores are apart, three digits of it."""
        return page.points_text(difference) if self.points else page.scientific(difference)

    def scaled(self, difference: float) -> float:
        """As it is shown, also where it is drawn."""
        return 100 * difference if self.points else difference

    def bare(self, difference: float, *, sign: bool = True) -> str:
        """Without the unit, as in a column headed by `named`."""
        return page.fixed(self.scaled(difference), self.digits, sign=sign)

    def difference(self, difference: float, *, sign: bool = True) -> str:
        """With the unit: what one mean score is above another, or what is added to one."""
        text = self.bare(difference, sign=sign)
        return f"{text}\N{NO-BREAK SPACE}points" if self.points and math.isfinite(difference) else text

    def interval(self, ends: tuple[float, float]) -> str:
        """Of a difference, without the unit, which stands at the difference."""
        low, high = map(self.scaled, ends)
        return page.pair((low, high), self.digits, sign=True) if math.isfinite(low) else "no interval"

    def cell(self, difference: float, ends: tuple[float, float]) -> page.Cell:
        """The interval of a difference, and where it lies."""
        low, high = map(self.scaled, ends)
        return page.interval_cell(self.scaled(difference), (low, high), self.digits, sign=True)

    def named(self, what: str) -> str:
        """What heads a column of it."""
        return f"{what}, points" if self.points else what


POINTS = Unit(points=True)  # of what is told of right and wrong alone
