"""What the numbers rest on: every bound, what it depends on, how alike the models are, how hard the examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from heldout import summary as page
from heldout.reuse.alike import Alike, Clustered, thinned
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.curves import Curve
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.reuse.unit import POINTS

DECADES = 3  # above the marked points that curves are drawn
STYLES: dict[str, page.Style] = {"union": "a", "similarity": "b", "naive_bayes": "c"}
TITLES = {"union": "Union bound (2)", "similarity": "Similarity union bound (3)", "naive_bayes": "Naive Bayes (15)"}
RESTS_ON = {
    "union": "Each model’s own exact binomial tails, added up; for each further model the mean of these models’ tails.",
    "similarity": "One anchor model, and exact joint tails of every other model with it; for the models there are, a "
    "spanning tree over the pairs (Hunter–Worsley). Never worse than the union bound. From numbers alone it needs "
    "models at least as alike as chance.",
    "naive_bayes": "Exact if Assumption A1 holds: some examples are easy for all models, on the others they err "
    "independently, each model at its own rate.",
}
IN_GROUPS = {
    "union": "The level at which each model’s Korn–Graubard interval is as wide as the error bar, their mean for each "
    "further model, by Student’s law for these groups. The other bounds are for independent examples.",
}
LEVELS = (0.8, 0.85, 0.9, 0.95)  # of the covering curve, in words
MAX_STEPS, MAX_POINTS = 300, 250  # of the covering curve, of the difficulty curve
SIDE = 44  # models up to which the map leaves room for its caption at the side


def bounds(result: BudgetResult) -> Iterator[page.Section]:
    """The table, and what it rests on."""
    pool, grouped = result.pool, result.example_groups is not None
    fit, further = result.testable.to_dict(), result.further.to_dict()
    equal = {} if result.equal is None else result.equal.to_dict()
    columns, rows = ["Bound", "Models that fit", "Times the union bound"], []
    if pool is not None:
        columns += ["Further", "Were all equal"]
    for name in ["union"] if grouped else list(TITLES):
        known = fit[name] is not None and fit["union"] and fit[name] < LARGEST
        times = page.times_text(fit[name] / fit["union"]).removesuffix(" times") if known else "–"
        counts = (page.exact_text(count) for count in (further[name], equal.get(name)))
        rows.append((TITLES[name], page.exact_text(fit[name]), times, *counts)[: len(columns)])
    chosen = 0 if result.testable.similarity is None else 1
    table = page.Table.of("All bounds", columns, rows, chosen=chosen, role="the answer")
    yield page.Section.of("Every bound", table, page.Facts(_facts(result)), printed=True, anchor="bounds")
    error = POINTS.score(result.mean_error)
    told = (
        "Numbers in brackets are the equations of the paper. Models that fit are like those of the pool, with their "
        f"errors and similarities. **Were all equal** is the paper’s plug-in: mean error {error} and mean similarity "
        f"{result.mean_similarity:.4f} for every model, of which far more may fit."
    )
    rests_on = tuple((TITLES[name], text) for name, text in (IN_GROUPS if grouped else RESTS_ON).items())
    theorems = () if pool is None or grouped else _theorems(pool)
    yield page.Section.of("How to read the bounds", told, page.Facts((*rests_on, *theorems)), level=3)


def _facts(result: BudgetResult) -> page.Rows:
    """Why a number is not defined, and whether Assumption A1 holds."""
    pool, fit = result.pool, None if result.pool is None else result.pool.assumption
    equal = None if pool is None or result.equal is None else result.equal.reason
    rows = ("Not defined", result.testable.reason), ("Were all equal", equal)
    if pool is None or fit is None:
        checked = result.testable.naive_bayes is not None
        return page.kept_facts(*rows, ("Assumption A1", "nothing here can check it" if checked else None))
    both, off = page.names_text(pool.named((fit.first, fit.second))), page.of_text(fit.n_off, fit.n_pairs)
    farthest = f"{both}: {page.percent(fit.implied)} by A1, {page.percent(fit.observed)} observed"
    return page.kept_facts(
        *rows,
        ("Assumption A1", "no pair contradicts it" if fit.fits else "does not fit these models"),
        ("Pairs off, P(both wrong)", f"{off} by more than {100 * fit.tolerance:g}{page.PERCENT} beyond sampling error"),
        ("Farthest off", farthest),
    )


def _theorems(pool: PoolResult) -> page.Rows:
    """Theorem 2 on the pool's own cover, and what adaptive use would need; both are for independent examples."""
    t, k = pool.theorem2, pool.similarity.n_models
    four, five, six = (POINTS.bar(t[name], full=True) for name in ("epsilon", "equation_5", "equation_6"))
    covered = (
        f"{four} by (4), at eta = {page.fixed(t['eta'], 3)}, where {page.fixed(t['cover'], 0)} of the {k:,} models "
        f"cover the rest; {five} by (5), {six} by (6). It shows how things grow; exact tails are far narrower."
    )
    adaptive = (
        f"{POINTS.bar(pool.adaptive, full=True)} (nothing at all from ±100 points on) if each of the {k:,} models "
        "had been chosen after seeing the exact scores of those before it (alpha = 0, whatever their similarity). "
        "Anything better needs the cover of all that might have been submitted, which the models seen do not show."
    )
    return ("Theorem 2, this pool’s cover", covered), ("Corollary 4, adaptive use", adaptive)


def depends(result: BudgetResult) -> page.Section:
    """Figures 1b and 2 for models of one error, the mean's point marked; nothing where there is no such model."""
    title, equal, eta, epsilon = "What the budget depends on", result.equal, result.by_similarity, result.by_epsilon
    if equal is None or eta is None or epsilon is None:
        return page.Section.of(title)
    bar, alike = POINTS.bar(result.epsilon), page.fixed(result.mean_similarity, 3)
    by_similarity = _curve(
        equal,
        eta,
        result.mean_similarity,
        title="Models that fit against their similarity",
        caption=f"At {bar} (figures 1b and 2 of the paper). The union bound does not look at similarity; at the left "
        "end, where models of this error err independently, all three agree.",
        x=f"similarity of two models (dashed: {alike})",
    )
    by_epsilon = _curve(
        equal,
        replace(epsilon, x=100 * epsilon.x),
        100 * result.epsilon,
        title="Models that fit against the width of the error bar",
        caption=f"At similarity {alike} (figure 2, right). A little more room for error buys a great many models.",
        x=f"error bar in percentage points (dashed: asked for, {bar})",
    )
    error = POINTS.score(result.mean_error)
    told = f"For models that all have the error {error}, as the paper assumes. Where none fits there is no curve."
    drawn = tuple(chart for chart in (by_similarity, by_epsilon) if chart is not None)
    return page.Section.of(title, told, page.SideBySide(charts=drawn) if drawn else None)


def _curve(
    equal: TestableModels, curve: Curve, here: float, *, title: str, caption: str, x: str
) -> page.LineChart | None:
    """One of the two, with the mean's point marked at `here`; None where no model fits anywhere."""
    at, counts = tuple(curve.x.tolist()), {name: getattr(curve, name) for name in TITLES}
    series = tuple(
        page.Series(name=TITLES[name], x=at, y=tuple(np.where(k >= 1, k, np.nan).tolist()), style=STYLES[name],
                    markers=False)
        for name, k in counts.items() if (k >= 1).any()
    )  # fmt: skip
    if not series:
        return None
    marks = tuple(
        page.Mark(x=here, y=float(k), text=page.count_words(k), hover=f"{TITLES[name]}: {k:,}", style=STYLES[name])
        for name, k in equal.to_dict().items()
        if k
    )
    top = max([m.y for m in marks], default=10.0) * 10.0**DECADES
    lowest = min(y for s in series for y in s.y if y >= 1)
    ends = [here, *(curve.x[curve.union <= top] if (curve.union <= top).any() else curve.x).tolist()]
    return page.LineChart(
        title=title,
        caption=caption,
        x=page.Axis(label=x, range=(min(ends), max(ends) + 1e-9)),
        y=page.Axis(label="models", kind="log", range=(max(1.0, lowest / 5), top), spec=",.0f"),
        series=series,
        verticals=(page.Vertical(x=here),),
        marks=marks,
    )


def alike(result: BudgetResult) -> page.Rows:
    """Similarity, with chance taken off where it is known."""
    pool, chance = result.pool, page.fixed(result.independent_similarity)
    rows = (("Similarity", page.fixed(result.mean_similarity)), ("Similarity if independent", chance))
    if pool is None:
        return rows
    a, apart = pool.adjusted, f"{pool.alike.disjoint:,}, left out"
    kappas = (
        ("Kappa of right and wrong", a.right),
        ("CAPA of predictions", a.answers),
        ("CAPA of probabilities", a.probabilities),
    )
    return page.kept_facts(
        *rows,
        *((name, page.fixed(value) if np.isfinite(value) else None) for name, value in kappas),
        ("Pairs less alike than chance", page.of_text(pool.alike.below_chance, pool.n_pairs)),
        ("Pairs without a common example", apart if pool.alike.disjoint else None),
    )


def similarity(result: BudgetResult, pool: PoolResult) -> Iterator[page.Section]:
    """Figure 1a twice, as histograms and as a density, and the map."""
    told = (
        "Two models are alike on an example if both get it right or both get it wrong; numbers are means over pairs. "
        "Kappa and CAPA take chance off (0: as independent models of these accuracies, 1: always alike). Kappa of "
        "right and wrong is Cohen’s, or error consistency. CAPA of predictions counts those that are the same, right "
        "or wrong, and by chance wrong ones fall evenly on the other classes; Cohen’s kappa of the predictions, which "
        "takes off how often models predict each class, is another number."
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
    chance, seen = result.independent_similarity, result.mean_similarity
    means: tuple[tuple[float, page.Style], ...] = ((chance, "b"), (seen, "a"))
    histogram = page.histogram(
        f"All {counts.sum():,} pairs of models",
        page.Axis(label="similarity of two models", spec=".3f"),
        "pairs of models",
        edges.tolist(),
        ("if independent", counts.sum(axis=1).tolist(), "b"),
        ("observed", counts.sum(axis=0).tolist(), "a"),
        caption="Similarity as observed, and as it would be if errors were independent (figure 1a of the paper).",
        verticals=tuple(page.Vertical(x=m, text=f"mean {page.fixed(m, 3)}", style=style) for m, style in means),
    )
    density = page.PointDensity(
        title="The same pairs one by one",
        caption="Stronger where there are more pairs. Above the line a pair is more alike than chance.",
        x=page.Axis(label="similarity if independent"),
        y=page.Axis(label="similarity observed"),
        x_edges=tuple(edges.tolist()),
        y_edges=tuple(edges.tolist()),
        counts=counts,
        diagonal="below the line: less alike than chance",
    )
    return page.SideBySide(charts=(histogram, density))


def _map(pool: PoolResult, c: Clustered) -> page.HeatMap:
    names, k = pool.names, pool.similarity.n_models
    blocks = f" {c.n_models:,} of {k:,} models stand in {len(c.rows)} blocks; each cell is a mean." if c.blocks else ""
    return page.HeatMap(
        title=f"Similarity of {c.n_models:,} models with each other, similar ones side by side",
        caption="Similar models stand together (average linkage), in columns as in rows, so that families show as "
        f"blocks along the diagonal.{blocks} Every colour covers about as many cells.",
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
        who, near = " to ".join(dict.fromkeys(names[int(j)] for j in (row[0], row[-1]))), c.closest(i)
        told = f"{page.counted(len(row), 'model')}, {who}: error {page.percent(float(pool.values[row].mean()))}"
        if near is not None:
            closest = names[int(c.rows[near[1]][0])]
            told += f", {near[0]:.3f} alike to the others on average, closest to {closest}"
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
    eta, size = curve.steps(MAX_STEPS)
    start = max(0.0, eta[0] - 0.03)
    samples = ", ".join(f"{curve.at(level):,} for {level:g}" for level in LEVELS if start < level < eta[-1])
    line = page.Series(name="models in the cover", x=(start, *eta), y=(size[0], *size), markers=False, step=True)
    return page.LineChart(
        title=f"Covering curve: models needed to cover all {k:,}",
        caption="Figure 3. A cover holds, for every model, one at least so similar that is no worse, and one that is "
        f"no better.{f' Models needed: {samples}.' if samples else ''} The search is greedy: smaller covers may exist.",
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
        apart = page.percent(float(np.max(np.abs(forecast - observed))))
        told += f" By Assumption A1 it would be {_ends(forecast)}; the curves are up to {apart} of the examples apart. "
        told += "The farther apart, the less the Naive Bayes number is worth."
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
