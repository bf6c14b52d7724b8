"""How alike the models are, how few of them stand for all, and how hard the examples are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from heldout import summary as page
from heldout.reuse.alike import Alike, Clustered, thinned
from heldout.reuse.result import BudgetResult, PoolResult

LEVELS = (0.8, 0.85, 0.9, 0.95)  # of the covering curve, in words
MAX_STEPS, MAX_POINTS = 300, 250  # of the covering curve, of the difficulty curve
SIDE = 44  # models up to which the map leaves room for its caption at the side


def alike(result: BudgetResult) -> tuple[tuple[str, str], ...]:
    """Similarity, with chance taken off where it is known."""
    pool, chance = result.pool, page.fixed(result.independent_similarity)
    rows = (("Similarity", page.fixed(result.mean_similarity)), ("Similarity if independent", chance))
    if pool is None:
        return rows
    a, apart = pool.adjusted, f"{pool.alike.disjoint:,}, left out"
    kappas = (("right and wrong", a.right), ("predictions", a.answers), ("probabilities", a.probabilities))
    return page.kept_facts(
        *rows,
        *((f"Kappa of {what}", page.fixed(value) if np.isfinite(value) else None) for what, value in kappas),
        ("Pairs less alike than chance", page.of_text(pool.alike.below_chance, pool.n_pairs)),
        ("Pairs without a common example", apart if pool.alike.disjoint else None),
    )


def sections(result: BudgetResult, pool: PoolResult) -> Iterator[page.Section]:
    """Figure 1a twice, as histograms and as a density, and the map."""
    told = (
        "Two models are alike on an example if both get it right or both get it wrong; numbers are means over pairs. "
        "Kappa takes chance off (0: as independent models of the same accuracies, 1: always alike): of right and wrong "
        "it is Cohen’s, or error consistency; of predictions, the same one given, right or wrong; of the probabilities "
        "of the options, CAPA."
    )
    shown = _pairs(pool) if pool.alike.edges is None else _pictures(result, pool.alike)
    yield page.Section.of("How alike the models are", told, page.Facts(alike(result)), shown)
    if pool.alike.map is not None:
        yield page.Section.of("Who resembles whom", _map(pool, pool.alike.map), level=3)


def _pairs(pool: PoolResult) -> page.Table:
    """A few pairs need no picture."""
    names, found = pool.names, [] if pool.alike.pairs is None else pool.alike.pairs.tolist()
    rows = [
        (names[i], names[j], *(page.fixed(value, 3) for value in values))
        for (i, j), values in zip(combinations(range(len(names)), 2), found, strict=True)
    ]
    columns = ("Model", "and", "Similarity", "If independent", "Kappa")
    return page.Table.of("Every pair", columns, rows, words=("and",))


def _pictures(result: BudgetResult, pairs: Alike) -> page.SideBySide:
    """All pairs as histograms and as a density."""
    counts, edges = pairs.counts, pairs.edges
    assert counts is not None
    assert edges is not None
    histogram = page.Outlines(
        title=f"All {counts.sum():,} pairs of models",
        caption="Similarity as observed, and as it would be if errors were independent (figure 1a of the paper).",
        x=page.Axis(label="similarity of two models", spec=".3f"),
        y_label="pairs of models",
        edges=tuple(edges.tolist()),
        distributions=(
            _distribution("if independent", counts.sum(axis=1), result.independent_similarity, "b"),
            _distribution("observed", counts.sum(axis=0), result.mean_similarity, "a"),
        ),
    )
    (x0, x1), (y0, y1) = (_extent(counts.sum(axis=axis)) for axis in (1, 0))
    density = page.PointDensity(
        title="The same pairs one by one",
        caption="Stronger where there are more pairs. Above the line a pair is more alike than chance.",
        x=page.Axis(label="similarity if independent"),
        y=page.Axis(label="similarity observed"),
        x_edges=tuple(edges[x0 : x1 + 1].tolist()),
        y_edges=tuple(edges[y0 : y1 + 1].tolist()),
        counts=counts[x0:x1, y0:y1],
        diagonal="below the line: less alike than chance",
    )
    return page.SideBySide(charts=(histogram, density))


def _distribution(name: str, counts: NDArray[np.int64], mean: float, style: page.Style) -> page.Distribution:
    told = f"mean {page.fixed(mean, 3)}"
    return page.Distribution(name=name, counts=tuple(counts.tolist()), mean=mean, mean_text=told, style=style)


def _extent(counts: NDArray[np.int64]) -> tuple[int, int]:
    """From the first to past the last bin that holds anything, with a bin of room."""
    used = np.nonzero(counts)[0]
    return max(0, int(used[0]) - 1), min(len(counts), int(used[-1]) + 2)


def _map(pool: PoolResult, c: Clustered) -> page.HeatMap:
    names, k = pool.names, pool.similarity.n_models
    blocks = f" {c.n_models:,} of {k:,} models stand in {len(c.rows)} blocks; each cell is a mean." if c.blocks else ""
    return page.HeatMap(
        title=f"Similarity of {c.n_models:,} models with each other, similar ones side by side",
        caption="Models are sorted so that similar ones stand together (average linkage). The columns follow the same "
        f"order as the rows, so families show as blocks along the diagonal.{blocks} Every colour covers about as many "
        "cells.",
        values=c.values,
        legend="mean similarity of two blocks" if c.blocks else "similarity of two models",
        names=None if c.blocks else tuple(names[int(row[0])] for row in c.rows),
        row_hover=tuple(_row_texts(c, pool)),
        cell_hover=True,
        diagonal=c.blocks,
        wide=not c.blocks and len(c.rows) > SIDE,
    )


def _row_texts(c: Clustered, pool: PoolResult) -> Iterator[str]:
    """What a pointer on a row is told."""
    names = [page.name_text(name) for name in pool.names]
    for i, row in enumerate(c.rows):
        others, who = c.values[i].copy(), " to ".join(dict.fromkeys(names[int(j)] for j in (row[0], row[-1])))
        others[i] = np.nan
        told = f"{page.counted(len(row), 'model')}, {who}: error {page.percent(float(pool.values[row].mean()))}"
        if np.isfinite(others).any():
            closest = names[int(c.rows[int(np.nanargmax(others))][0])]
            told += f", {np.nanmean(others):.3f} alike to the others on average, closest to {closest}"
        yield told


def structure(pool: PoolResult) -> page.Section:
    """How few models stand for all, and how hard the examples are."""
    charts = tuple(c for c in (_cover(pool), _difficulty(pool)) if c is not None)
    title = "How few models stand for all, and how hard the examples are"
    return page.Section.of(title, page.SideBySide(charts=charts) if charts else None, anchor="structure")


def _cover(pool: PoolResult) -> page.LineChart | None:
    """Figure 3; None where it takes all models at every similarity."""
    curve, k = pool.cover, pool.similarity.n_models
    if curve.size[0] == curve.size[-1]:
        return None
    ends = np.append(curve.size[1:] != curve.size[:-1], True)  # the last eta of every size
    keep = np.nonzero(ends)[0][thinned(int(ends.sum()), MAX_STEPS)]
    eta, size = curve.eta[keep].tolist(), [float(s) for s in curve.size[keep]]
    start = max(0.0, eta[0] - 0.03)
    samples = ", ".join(f"{curve.at(level):,} for {level:g}" for level in LEVELS if start < level < eta[-1])
    line = page.Series(name="models in the cover", x=(start, *eta), y=(size[0], *size), markers=False, step=True)
    return page.LineChart(
        title=f"Covering curve: models needed to cover all {k:,}",
        caption="Figure 3. A cover holds, for every model, one that is at least so similar and no worse, and one that "
        f"is at least so similar and no better.{f' Models needed: {samples}.' if samples else ''} Found by a greedy "
        "search, so smaller covers may exist.",
        x=page.Axis(label="similarity asked for (eta)", spec=".3f"),
        y=page.Axis(label="models in the cover", kind="log", whole=True, spec=",.0f"),
        series=(line,),
    )


def _difficulty(pool: PoolResult) -> page.LineChart | None:
    """Figure 4, with the forecast over it; None without an example that every model has."""
    s, forecast, k = pool.similarity, pool.difficulty_forecast, pool.similarity.n_models
    if not s.n_complete:
        return None
    observed = s.difficulty_curve()
    series = [_line("observed", observed, "a")]
    told = f"Figure 4. Of {s.n_complete:,} examples that every model has, {_ends(observed)}."
    if forecast is not None:
        series.append(_line("Assumption A1", forecast, "c"))
        told += (
            f" By Assumption A1 it would be {_ends(forecast)}; the curves are up to "
            f"{page.percent(float(np.max(np.abs(forecast - observed))))} of the examples apart. The farther apart, the "
            "less the Naive Bayes number is worth."
        )
    return page.LineChart(
        title="Difficulty: examples that at most so many models get wrong",
        caption=told,
        x=page.Axis(label=f"models that get it wrong, at most (of {k:,})", whole=True, spec=",.0f"),
        y=page.Axis(label="share of examples", spec=".4f"),
        series=tuple(series),
    )


def _line(name: str, values: NDArray[np.float64], style: page.Style) -> page.Series:
    places = thinned(len(values), MAX_POINTS)
    x, y = places.astype(float).tolist(), values[places].tolist()
    return page.Series(name=name, x=tuple(x), y=tuple(y), style=style, markers=len(values) <= 21)


def _ends(shares: NDArray[np.float64]) -> str:
    right, wrong = page.percent(float(shares[0])), page.percent(float(1 - shares[-2]))
    return f"{right} are right for all models, {wrong} wrong for all"
