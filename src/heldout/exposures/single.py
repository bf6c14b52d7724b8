"""One model against references that could have seen none of its exposed examples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from heldout.checkpoints import hash_of
from heldout.exposures.families import WIDE, fewer
from heldout.exposures.inputs import Board, Flags
from heldout.exposures.kept import Kept
from heldout.exposures.scans import Scan, day_sums, scan_dates
from heldout.statistics.margins import MISSING, MarginChains, monte_carlo_p, standardised

Floats = NDArray[np.float64]

TRADES = 100  # of the model with a reference drawn at random; with 40, sd of LiveCodeBench's were up to a tenth larger
REFERENCE_TABLES = 999  # for mean and sd of the references' own placebo excesses
WITH_SLOPE = 4  # families of references from which on their excesses are regressed on score


@dataclass(frozen=True, kw_only=True, eq=False)
class Single:
    """What one model's own table says."""

    model: int
    n_references: int
    observed: int
    expected: float
    spread: float
    p_margins: float
    p_placebo: float
    rank: int  # of its standardised excess among the references and itself, 1 the highest
    placebo: dict[int, float]  # standardised excess of every reference
    scan: Scan | None = None
    later: Scan | None = None

    @property
    def z(self) -> float:
        """Standardised excess."""
        return float(standardised(self.observed, self.expected, self.spread))

    @property
    def p_value(self) -> float:
        """The larger one; NaN where one of them is not known."""
        return math.nan if math.isnan(self.p_placebo) else max(self.p_margins, self.p_placebo)


class Singles:
    """Tests of single models of one board; references with the same exposures are looked at once."""

    def __init__(
        self,
        board: Board,
        *,
        n_tables: int,
        steps: int,
        n_jobs: int,
        scan: bool,
        seed: int = 0,
        kept: Kept | None = None,
    ) -> None:
        self.board, self.n_tables, self.steps, self.n_jobs, self.scan = board, n_tables, steps, n_jobs, scan
        self._scores, self._seed, self._kept = board.scores, seed, kept or Kept()
        # what a reference could have seen itself is set aside: it may have been helped there, and then the rest of its
        # row says too little of it (with disjoint exposures clean models were accused in 24 % of tables at 5 %)
        self._clean = np.where(board.seen, MISSING, board.cells).astype(np.uint8)
        self._known: dict[str, Floats] = {}

    def references(self, model: int) -> NDArray[np.intp]:
        """Models of other families of which it is known that they could have seen none of this one's exposed examples.

        Models without a cutoff are left out: taken for clean, they got others accused in 45 % of tables at 5 %.
        """
        clean = self._clean_models(model)
        return np.asarray(clean[self.board.families[clean] != self.board.families[model]])

    def _clean_models(self, model: int) -> NDArray[np.intp]:
        b = self.board
        return np.flatnonzero(~(b.could & b.could[model]).any(axis=1) & b.known)

    def test(self, model: int, rng: np.random.Generator) -> Single:
        """The larger of two p-values, and what they rest on; NaN where there are no references."""
        b, refs = self.board, self.references(model)
        exposed = b.could[model]
        observed = int((b.right[model] & b.seen[model]).sum())
        if len(refs) < 2:
            nan = math.nan
            return Single(
                model=model, n_references=len(refs), observed=observed, expected=nan, spread=nan, p_margins=nan,
                p_placebo=nan, rank=0, placebo={},
            )  # fmt: skip
        rows = self._draw(model, refs, rng, self.n_tables)
        sums = (rows[:, exposed]).sum(axis=1, dtype=np.int64).astype(np.float64)
        mean, spread = float(sums.mean()), float(sums.std())
        z = float(standardised(observed, mean, spread))
        clean = self._clean_models(model)  # of its own family too: so one table does for all models exposed alike
        others = self._reference_z(clean, exposed)[np.isin(clean, refs)]
        found = others[np.isfinite(others)]
        scans: tuple[Scan | None, Scan | None] = (None, None)
        if self.scan and b.dates is not None:
            dated = day_sums(b, model, rows)
            scans = scan_dates(b, model, dated), scan_dates(b, model, dated, later=True)
        return Single(
            model=model,
            n_references=len(refs),
            observed=observed,
            expected=mean,
            spread=spread,
            p_margins=monte_carlo_p(float(observed), sums),
            p_placebo=self._prediction(model, z, refs, others),
            rank=1 + int(np.count_nonzero(found >= z)) if math.isfinite(z) and len(found) else 0,
            placebo=dict(zip(refs.tolist(), others.tolist(), strict=True)),
            scan=scans[0],
            later=scans[1],
        )

    def later(self, model: int, rng: np.random.Generator) -> Scan | None:
        """The second scan of a model that could have seen nothing, among the others that could not."""
        b = self.board
        others = np.flatnonzero(~b.could.any(axis=1) & (b.families != b.families[model]) & b.known)
        if len(others) < 2:
            return None
        few = fewer(b, self.n_tables, REFERENCE_TABLES)
        return scan_dates(b, model, day_sums(b, model, self._draw(model, others, rng, few)), later=True)

    def _draw(self, model: int, refs: NDArray[np.intp], rng: np.random.Generator, n_tables: int) -> NDArray[np.uint8]:
        """(B, n) rows of the model in tables of it and its references; 1 right."""
        b = self.board
        cells = np.concatenate([b.cells[[model]], self._clean[refs]])
        trades = TRADES if b.cells.size < WIDE else TRADES // 5
        chains = MarginChains(cells, strata=b.strata, steps=trades, star=True, n_jobs=self.n_jobs)
        return np.concatenate([tables[:, 0] & 1 for tables in chains.draw(n_tables, rng, slice(1))])

    def _reference_z(self, refs: NDArray[np.intp], exposed: Flags) -> Floats:
        """(references,) their standardised excesses, had they been exposed as this model is."""
        key = hash_of(refs, exposed)  # no number: which models come first depends on what is kept
        if key not in self._known:
            rng = np.random.default_rng([self._seed, int(key, 16)])
            self._known[key] = self._kept.array(f"references {key}", lambda: self._excesses(refs, exposed, rng))
        return self._known[key]

    def _excesses(self, refs: NDArray[np.intp], exposed: Flags, rng: np.random.Generator) -> Floats:
        b, cells = self.board, self._clean[refs]
        chains = MarginChains(cells, strata=b.strata, steps=self.steps, n_jobs=self.n_jobs)
        flags = chains.packed(np.broadcast_to(exposed, cells.shape))
        n_tables = fewer(b, self.n_tables, REFERENCE_TABLES)
        sums = np.concatenate([chains.successes(t, flags).sum(axis=2) for t in chains.draw_bits(n_tables, rng)])
        observed = ((cells == 1) & exposed).sum(axis=1)
        return np.asarray(standardised(observed, sums.mean(axis=0), sums.std(axis=0)))

    def _prediction(self, model: int, z: float, refs: NDArray[np.intp], others: Floats) -> float:
        """p of the model's excess as one more of its references', regressed on score; families count once."""
        b = self.board
        groups = [np.flatnonzero((b.families[refs] == f) & np.isfinite(others)) for f in np.unique(b.families[refs])]
        points = [(self._scores[refs[g]].mean(), others[g].mean()) for g in groups if len(g)]
        return prediction_p(z, float(self._scores[model]), np.array(points).reshape(-1, 2))


def prediction_p(z: float, score: float, points: Floats) -> float:
    """P that a new point at `score` lies as high as z, by Student's prediction from (score, z) of others.

    Examples
    --------
    >>> others = np.array([(0.1, -0.5), (0.2, 0.8), (0.3, -1.0), (0.4, 0.6), (0.5, 0.1)])
    >>> round(prediction_p(0.0, 0.3, others), 2), round(prediction_p(8.0, 0.3, others), 4)
    (0.5, 0.0016)
    >>> prediction_p(1.0, 0.3, others[:1])
    nan
    """
    n = len(points)
    if n < 2 or not math.isfinite(z):
        return math.nan
    x, y = points[:, 0] - points[:, 0].mean(), points[:, 1] - points[:, 1].mean()
    squares = float(x @ x)
    slope = float(x @ y) / squares if n >= WITH_SLOPE and squares > 0 else 0.0
    degrees = n - (2 if n >= WITH_SLOPE and squares > 0 else 1)
    variance = float(((y - slope * x) ** 2).sum()) / degrees
    away = score - float(points[:, 0].mean())
    error = math.sqrt(variance * (1 + 1 / n + (away**2 / squares if slope else 0.0)))
    if error == 0:
        return math.nan
    t = (z - float(points[:, 1].mean()) - slope * away) / error
    return float(stdtr(degrees, -t))
