"""How alike the models are: against chance, pair by pair, and who resembles whom."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.pages import svg
from heldout.pages.budget.order import MAX_CLUSTERED, Clustered, clustered
from heldout.pages.budget.words import LONGEST, pairs_text
from heldout.pages.numbers import fixed, percent, share_text
from heldout.pages.svg.heat_maps import MAX_CELLS, NARROW
from heldout.pages.svg.shapes import shorten
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.reuse.similarity import SimilarityResult

MAX_BINS, MIN_BINS = 48, 12
SIDE = 44  # models up to which the map leaves room for its caption at the side
FEW_PAIRS = 10  # up to so many are listed one by one
LONGEST_OF_TWO = 40  # characters of a name
OBSERVED, CHANCE = "observed", "if independent"


def alike_view(result: BudgetResult) -> dict[str, Any] | None:
    """Figure 1a twice, as histograms and as a density, and the heat map; None without at least one pair."""
    pool = result.pool
    if pool is None or pool.similarity.n_pairs == pool.similarity.disjoint:
        return None
    s = pool.similarity
    return {
        **(_pictures(s) if s.n_pairs > FEW_PAIRS else {"pairs": _pair_table(s)}),
        "n_pairs": pairs_text(s.n_pairs),
        "observed": fixed(s.mean_similarity, 3),
        "chance": fixed(s.mean_baseline, 3),
        "adjusted": _adjusted(pool),
        "below": f"{s.below_chance:,} pairs ({share_text(s.below_chance / s.n_pairs)}) are"
        if s.below_chance > 1
        else ("One pair is" if s.below_chance else "No pair is"),
        "disjoint": pairs_text(s.disjoint) if s.disjoint else None,
        "map": _map(pool),
    }


def _adjusted(pool: PoolResult) -> list[tuple[str, str]]:
    """Chance-adjusted similarity, by what is known of each answer."""
    kinds = (
        (pool.adjusted.right, "right and wrong (Cohen’s kappa, or error consistency)"),
        (pool.adjusted.answers, "answers: the same one given, right or wrong"),
        (pool.adjusted.probabilities, "probabilities of the options (CAPA)"),
    )
    return [(fixed(value, 3), what) for value, what in kinds if math.isfinite(value)]


def _pictures(s: SimilarityResult) -> dict[str, Any]:
    """All pairs as histograms and as a density."""
    edges, counts = pair_grid(s)
    return {
        "pairs": None,
        "histogram": svg.overlaid_histograms(
            edges,
            [
                _distribution(CHANCE, counts.sum(axis=1), s.mean_baseline, "b"),
                _distribution(OBSERVED, counts.sum(axis=0), s.mean_similarity, "a"),
            ],
            label=f"Histograms over {s.n_pairs:,} pairs: similarity {fixed(s.mean_similarity, 3)} on average, "
            f"{fixed(s.mean_baseline, 3)} if errors were independent",
            x_label="similarity of two models",
            y_label="pairs of models",
        ),
        "density": _density(edges, counts, s),
    }


def _name(name: str) -> dict[str, str | None]:
    """Two names share a line, so they are shorter than on the leaderboard."""
    return {"short": shorten(name, LONGEST_OF_TWO), "full": name if len(name) > LONGEST_OF_TWO else None}


def _pair_table(s: SimilarityResult) -> list[list[Any]]:
    """A few pairs need no picture."""
    first, second = np.triu_indices(s.n_models, 1)
    return [
        [_name(s.names[i]), _name(s.names[j]), fixed(observed, 3), fixed(chance, 3), fixed(kappa, 3)]
        for i, j, observed, chance, kappa in zip(
            first.tolist(),
            second.tolist(),
            s.agreement().tolist(),
            s.baseline().tolist(),
            s.kappa().tolist(),
            strict=True,
        )
    ]


def pair_grid(s: SimilarityResult) -> tuple[list[float], NDArray[np.int64]]:
    """Pairs counted over (baseline, similarity) on one grid; a row of pairs at a time, so that large pools fit.

    Returns
    -------
    edges : list of float
        Of both axes.
    counts : (bins, bins) int64
        Baseline first.
    """
    rows = [(np.inf, -np.inf)]
    for chance, observed in _pairs(s):
        if len(chance):
            rows.append((float(min(chance.min(), observed.min())), float(max(chance.max(), observed.max()))))
    low, high = min(a for a, _ in rows), max(b for _, b in rows)
    pad = max(1e-3, 0.01 * (high - low))
    low, high = max(0.0, low - pad), min(1.0, high + pad)
    bins = int(np.clip(round(2.5 * (s.n_pairs - s.disjoint) ** (1 / 3)), MIN_BINS, MAX_BINS))
    if s.common is None:
        low, high, bins = whole_steps(low, high, bins, s.n_examples)
    counts = np.zeros(bins * bins, np.int64)
    for chance, observed in _pairs(s):
        x, y = (np.clip(((v - low) / (high - low) * bins).astype(np.int64), 0, bins - 1) for v in (chance, observed))
        counts += np.bincount(x * bins + y, minlength=bins * bins)
    return np.linspace(low, high, bins + 1).tolist(), counts.reshape(bins, bins)


def whole_steps(low: float, high: float, bins: int, n: int) -> tuple[float, float, int]:
    """A grid whose bins all hold equally many multiples of 1/n; otherwise small test sets give combs.

    Examples
    --------
    >>> low, high, bins = whole_steps(0.5, 0.9, 12, 100)
    >>> round(100 * low, 6), round(100 * high, 6), bins  # from 49.5 on, four hundredths a bin
    (49.5, 93.5, 11)
    """
    steps = math.ceil((high - low) / bins * n - 1e-9)
    start = math.floor(low * n + 1e-9) - 0.5
    bins = math.ceil((high * n - start) / steps)
    return start / n, (start + bins * steps) / n, bins


def _pairs(s: SimilarityResult) -> Any:
    """(baseline, similarity) of each model against those after it, where they share examples."""
    for row in s.rows():
        there = row.common > 0
        n = row.common[there]
        first, second = row.first_wrong[there] / n, row.second_wrong[there] / n
        yield first * second + (1 - first) * (1 - second), row.agreements()[there] / n


def _distribution(name: str, counts: NDArray[np.int64], mean: float, style: svg.Style) -> svg.Distribution:
    return svg.Distribution(
        name=name, counts=[int(c) for c in counts], mean=mean, mean_text=f"mean {fixed(mean, 3)}", style=style
    )


def _density(edges: list[float], counts: NDArray[np.int64], s: SimilarityResult) -> str:
    (x0, x1), (y0, y1) = (_extent(counts.sum(axis=axis)) for axis in (1, 0))
    return svg.density_chart(
        edges[x0 : x1 + 1],
        edges[y0 : y1 + 1],
        counts[x0:x1, y0:y1],
        label=f"Every pair's similarity against its similarity if errors were independent; {s.below_chance:,} of "
        f"{s.n_pairs:,} pairs are less alike than that",
        x_label="similarity if independent",
        y_label="similarity observed",
        diagonal="below the line: less alike than chance",
    )


def _extent(counts: NDArray[np.int64]) -> tuple[int, int]:
    """From the first to past the last bin that holds anything, with a bin of room."""
    used = np.nonzero(counts)[0]
    return max(0, int(used[0]) - 1), min(len(counts), int(used[-1]) + 2)


def _map(pool: PoolResult) -> dict[str, Any] | None:
    s = pool.similarity
    if s.n_models < 3:
        return None
    c = clustered(s, pool.order)
    names = None if c.blocks else [s.names[int(row[0])] for row in c.rows]

    def drawn(*, wide: bool, told: bool = True) -> str:
        return svg.heat_map(
            c.values,
            label=f"Similarity of {c.n_models:,} models with each other, similar ones side by side",
            legend="similarity of two models" if names else "mean similarity of two blocks",
            names=names,
            row_hover=_row_texts(c, s) if told else (),
            cell_hover=told,
            diagonal=c.blocks,
            wide=wide,
        )

    squeezed = names is not None and len(names) > NARROW  # a phone has no room for square cells, a desk has
    return {
        "chart": drawn(wide=False, told=not squeezed),  # nobody points on a phone
        "wide": drawn(wide=True) if squeezed else None,
        "below": squeezed and len(c.rows) > SIDE,
        "blocks": f"{len(c.rows)}" if c.blocks else None,
        "sampled": f"{MAX_CLUSTERED:,}" if s.n_models > c.n_models else None,
        "n": f"{s.n_models:,}",
        "cells": names is not None and len(names) ** 2 <= MAX_CELLS,
    }


def _row_texts(c: Clustered, s: SimilarityResult) -> list[str]:
    """What a pointer on a row is told."""
    errors, texts = s.errors, []
    names = [shorten(name, LONGEST) for name in s.names]
    for i, row in enumerate(c.rows):
        others = np.array(c.values[i], dtype=np.float64)
        others[i] = np.nan
        alike = f"{np.nanmean(others):.3f} alike to the others on average" if np.isfinite(others).any() else ""
        if len(row) > 1:
            mean = percent(float(errors[row].mean()))
            texts.append(
                f"{len(row)} models, {names[int(row[0])]} to {names[int(row[-1])]}: mean error {mean}, {alike}"
            )
            continue
        closest = f", closest to {names[int(c.rows[int(np.nanargmax(others))][0])]}" if alike else ""
        texts.append(f"{names[int(row[0])]}: error {percent(float(errors[row[0]]))}, {alike}{closest}")
    return texts
