r"""The margins test with the family as the unit.

Models of one family share what makes examples hard or easy for them, so that they are no independent witnesses. One
member of each family is drawn R times, without looking at results; each draw makes a table whose margins test is exact,
and the R p-values are combined by

.. math:: p = \min\Big(1, \frac{2}{R} \sum_r p_r\Big),    \tag{1}

which is valid however they depend on each other (Rüschendorf 1982; Vovk and Wang 2020). Where every model is its own
family there is one table, and its p.

Which members are drawn is chance, and p moves with it: over seeds its standard deviation is about

.. math:: 2 \, \mathrm{sd}(p_r) / \sqrt R,    \tag{2}

the draws being independent given the data. Of nine families of five, with p near 0.07, it was 0.04 with R = 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Arrays
from heldout.exposures.inputs import Board, Flags
from heldout.exposures.kept import Kept
from heldout.statistics.margins import MISSING, Cells, MarginChains, monte_carlo_p

Floats = NDArray[np.float64]

DRAWS, FEWEST_DRAWS = 200, 10  # times a member of each family is drawn, where tables are small and where they are large
DRAWN_CELLS = 2_000_000  # cells of all these draws together, beyond which they are fewer
TELLING = 19  # tables from which on it is told that no exposed success can move, where none of them moved any
LEAST = 999  # tables of each such draw, at least where so many are asked for
WIDE = 500_000  # cells of a table from which on fewer tables are drawn for checks and for every delta


@dataclass(frozen=True, kw_only=True, eq=False)
class Pass:
    """What B tables with the margins of the whole table say."""

    by_model: NDArray[np.int64]  # (B, k) successes on what a model could have seen
    by_stratum: NDArray[np.int64]  # (B, strata)
    mean: Floats  # (k, n) share of tables in which a cell is right

    @property
    def totals(self) -> Floats:
        """(B,) all of them together."""
        return np.asarray(self.by_model.sum(axis=1), dtype=np.float64)


def whole_pass(
    board: Board, n_tables: int, *, steps: int, n_jobs: int, rng: np.random.Generator, kept: Kept | None = None
) -> Pass:
    """Tables of all models, batch by batch."""
    kept = kept or Kept()
    chains = MarginChains(board.cells, strata=board.strata, steps=steps, n_jobs=n_jobs)
    seen = chains.packed(board.seen)
    found = kept.found("whole")
    parts = [found] if found else []
    start = len(found["by_model"]) if found else 0
    right = found["right"] if found else np.zeros(board.cells.shape, dtype=np.int64)
    for bits in chains.draw_bits(n_tables, rng, start):
        right = right + chains.counted(bits)
        hits = chains.successes(bits, seen)
        parts.append({"by_model": hits.sum(axis=2), "by_stratum": hits.sum(axis=1)})
        kept.put("whole", partial(_joined, tuple(parts), right=right))
    done = _joined(parts)
    return Pass(by_model=done["by_model"], by_stratum=done["by_stratum"], mean=evened(board, right / n_tables))


def evened(board: Board, mean: Floats) -> Floats:
    """Means of cells, averaged over those that are alike: in one stratum, with rows and columns of the same totals.

    Tables with the same margins stay such tables where two such rows, or columns, change places, so that their means
    are the same. Drawn ones are so only up to chance, which would break ties between equal models, by the seed.
    """
    even = np.empty_like(mean)
    for g in range(len(board.strata_names)):
        own = np.flatnonzero(board.strata == g)
        cells, part = board.cells[:, own], mean[:, own]
        rows, columns = _alike(cells), _alike(cells.T)
        n_columns = columns.max() + 1
        pair = (rows[:, None] * n_columns + columns).ravel()
        even[:, own] = (np.bincount(pair, part.ravel()) / np.maximum(1, np.bincount(pair)))[pair].reshape(part.shape)
    return even


def _alike(cells: Cells) -> NDArray[np.intp]:
    """A number for each row: the same for rows with as many right, and with the same cells missing."""
    keys = np.column_stack([(cells == 1).sum(axis=1), *(np.packbits(cells == MISSING, axis=1).T)])
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1]).ravel()


def _joined(parts: Sequence[Arrays], **more: NDArray[np.int64]) -> Arrays:
    return {key: np.concatenate([part[key] for part in parts]) for key in ("by_model", "by_stratum")} | more


@dataclass(frozen=True, kw_only=True)
class Combined:
    """p of the margins test, and how far chance alone moves it."""

    p_value: float
    error: float  # standard deviation over seeds


def draws_of(board: Board) -> int:
    """Times a member of each family is drawn: 1 where every model is its own, fewer where tables are large."""
    if len(board.family_names) == len(board.names):
        return 1
    return max(FEWEST_DRAWS, min(DRAWS, DRAWN_CELLS // (len(board.family_names) * len(board.ids))))


def members(board: Board, n_draws: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """One member of each family, several times; once where every model is its own."""
    by_family = [np.flatnonzero(board.families == f) for f in range(len(board.family_names))]
    if all(len(rows) == 1 for rows in by_family):
        return [np.arange(len(board.names))]
    return [np.array([rows[rng.integers(len(rows))] for rows in by_family]) for _ in range(n_draws)]


def fewer(board: Board, n_tables: int, most: int) -> int:
    """Tables for means and checks: at most so many, a fifth of them where the table is wide."""
    return max(1, min(n_tables, most // 5 if board.cells.size >= WIDE else most))


def combined(p_values: list[float]) -> float:
    """(1).

    Examples
    --------
    >>> combined([0.01]), combined([0.01, 0.03]), combined([0.9, 0.8])
    (0.01, 0.04, 1.0)
    """
    return p_values[0] if len(p_values) == 1 else min(1.0, 2 * math.fsum(p_values) / len(p_values))


def drawn_error(p_values: Sequence[float], n_tables: int) -> float:
    """Standard deviation of the combined p over seeds: (2), or that of a share of the tables of one draw.

    Examples
    --------
    >>> round(drawn_error([0.05], 9999), 4), round(drawn_error([0.01, 0.05, 0.03], 999), 4)
    (0.0022, 0.0231)
    """
    if len(p_values) == 1:
        return math.sqrt(p_values[0] * (1 - p_values[0]) / n_tables)
    return 2 * float(np.std(p_values, ddof=1)) / math.sqrt(len(p_values))


def family_tables(n_tables: int, level: float) -> int:
    """Tables of each draw of members: a share of all, but enough for twice a mean p to reach the level."""
    return min(n_tables, max(LEAST, n_tables // DRAWS, math.ceil(2 / level)))


def smallest_margins(board: Board, n_tables: int, level: float) -> float:
    """The smallest p that the margins test can reach."""
    alone = len(board.family_names) == len(board.names)
    return 1 / (n_tables + 1) if alone else 2 / (family_tables(n_tables, level) + 1)


def family_p(board: Board, whole: Pass | None, n_tables: int, **how: Any) -> float:
    """p of `family_test` alone."""
    return family_test(board, whole, n_tables, **how).p_value


def family_test(
    board: Board,
    whole: Pass | None,
    n_tables: int,
    *,
    steps: int,
    n_jobs: int,
    rng: np.random.Generator,
    level: float = 0.05,
    n_draws: int | None = None,
    kept: Kept | None = None,
) -> Combined:
    """p of the margins test, families being the unit; `whole` saves work where every model is its own."""
    kept = kept or Kept()
    drawn = members(board, n_draws or draws_of(board), rng)
    if len(drawn) == 1 and whole is not None:
        p = monte_carlo_p(float((board.right & board.seen).sum()), whole.totals)
        return Combined(p_value=p, error=drawn_error([p], len(whole.totals)))
    each = n_tables if len(drawn) == 1 else family_tables(n_tables, level)

    def tested(rows: NDArray[np.intp], own: np.random.Generator) -> float:
        cells, seen = board.cells[rows], board.seen[rows]
        chains = MarginChains(cells, strata=board.strata, steps=steps, n_jobs=n_jobs)
        return monte_carlo_p(float(((cells == 1) & seen).sum()), successes(chains, seen, each, own))

    several = enumerate(zip(drawn, rng.spawn(len(drawn)), strict=True))
    p_values = [kept.part(f"family {r}", float, partial(tested, rows, own)) for r, (rows, own) in several]
    return Combined(p_value=combined(p_values), error=drawn_error(p_values, each))


def successes(chains: MarginChains, seen: Flags, n_tables: int, rng: np.random.Generator) -> Floats:
    """(B,) right cells among the exposed ones of every table."""
    flags = chains.packed(seen)
    stacks = [chains.successes(bits, flags).sum(axis=(1, 2)) for bits in chains.draw_bits(n_tables, rng)]
    return np.concatenate(stacks).astype(np.float64)
