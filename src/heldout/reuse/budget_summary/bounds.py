"""Every bound on one table, what each rests on, and what the number of models depends on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from heldout import summary as page
from heldout.reuse.bounds import LARGEST, TestableModels
from heldout.reuse.curves import Curve
from heldout.reuse.result import BudgetResult, PoolResult

Rows = tuple[tuple[str, str], ...]

DECADES = 3  # above the marked points that curves are drawn
STYLES: dict[str, page.Style] = {"union": "a", "similarity": "b", "naive_bayes": "c"}
TITLES = {"union": "Union bound (2)", "similarity": "Similarity union bound (3)", "naive_bayes": "Naive Bayes (15)"}
RESTS_ON = {
    "union": "Each model’s own exact binomial tails, added up; for each further model the mean of these models’ tails.",
    "similarity": "One anchor model, and exact joint tails of every other model with it; for the models there are, a "
    "spanning tree over the pairs (Hunter–Worsley). Never worse than the union bound. From four numbers it needs "
    "models at least as alike as chance.",
    "naive_bayes": "Exact if Assumption A1 holds: some examples are easy for all models, on the others they err "
    "independently, each model at its own rate.",
}
IN_GROUPS = {
    "union": "The level at which each model’s Korn–Graubard interval is as wide as the error bar, the mean of these "
    "models’ levels for each further one, by Student’s law for the groups there are. The other bounds are for "
    "independent examples.",
}


def sections(result: BudgetResult) -> Iterator[page.Section]:
    """The table, and what it rests on."""
    pool, grouped = result.pool, result.example_groups is not None
    fit, further = result.testable.to_dict(), result.further.to_dict()
    equal = {} if result.equal is None else result.equal.to_dict()
    columns, rows = ["Bound", "Models that fit", "Times the union bound"], []
    if pool is not None:
        columns += ["Further", "Were all equal", "Error bar for all"]
    for name in ["union"] if grouped else list(TITLES):
        known = fit[name] is not None and fit["union"] and fit[name] < LARGEST
        times = page.times_text(fit[name] / fit["union"]).removesuffix(" times") if known else "–"
        bar = page.bar_text(pool.epsilon[name], full=True) if pool is not None and name in pool.epsilon else "–"
        counts = (page.exact_text(count) for count in (further[name], equal.get(name)))
        rows.append((TITLES[name], page.exact_text(fit[name]), times, *counts, bar)[: len(columns)])
    chosen, minor = 0 if result.testable.similarity is None else 1, columns[5:]  # a line of its own says the error bar
    table = page.Table.of("All bounds", columns, rows, chosen=chosen, role="the answer", minor=minor)
    yield page.Section.of("Every bound", table, page.Facts(_facts(result)), printed=True, anchor="bounds")
    told = (
        "Numbers in brackets are the equations of the paper. Models that fit come in the pool’s own kinds, each with "
        "its own error and similarities. **Were all equal** is the paper’s plug-in: every model with the mean error "
        f"{result.mean_error:.4f} and the mean similarity {result.mean_similarity:.4f}. The nearer an error is to "
        f"50{page.PERCENT}, the wider an error bar it needs, so of unequal models far fewer may fit."
    )
    rests_on = tuple((TITLES[name], text) for name, text in (IN_GROUPS if grouped else RESTS_ON).items())
    theorems = () if pool is None or grouped else _theorems(pool)
    yield page.Section.of("How to read the bounds", told, page.Facts((*rests_on, *theorems)), level=3)


def _facts(result: BudgetResult) -> Rows:
    """Why a number is not defined, and whether Assumption A1 holds."""
    pool, fit = result.pool, None if result.pool is None else result.pool.assumption
    rows = [("Not defined", result.testable.reason)]
    if pool is not None and result.equal is not None:
        rows.append(("Were all equal", result.equal.reason))
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


def _theorems(pool: PoolResult) -> Rows:
    """Theorem 2 on the pool's own cover, and what adaptive use would need; both are for independent examples."""
    t, k = pool.theorem2, pool.similarity.n_models
    four, five, six = (page.bar_text(t[name], full=True) for name in ("epsilon", "equation_5", "equation_6"))
    return (
        (
            "Theorem 2, this pool’s cover",
            f"{four} by (4), at eta = {page.fixed(t['eta'], 3)}, where {page.fixed(t['cover'], 0)} of the {k:,} models "
            f"cover the rest; in closed form {five} by (5), {six} by (6). It shows how things grow; its constants are "
            "too large to compete with exact tails.",
        ),
        (
            "Corollary 4, adaptive use",
            f"{page.bar_text(pool.adaptive, full=True)} (nothing at all from ±100 points on) would be guaranteed for "
            f"all if each of the {k:,} models had been chosen after seeing the exact scores of those before it (alpha "
            "= 0, whatever their similarity). Anything better needs the cover of all models that might have been "
            "submitted, had the scores been different. That cannot be read off the models seen.",
        ),
    )


def depends(result: BudgetResult) -> page.Section:
    """Figures 1b and 2 for models of one error, the mean's point marked; nothing where there is no such model."""
    title, equal, eta, epsilon = "What the budget depends on", result.equal, result.by_similarity, result.by_epsilon
    if equal is None or eta is None or epsilon is None:
        return page.Section.of(title)
    bar, alike = page.bar_text(result.epsilon), page.fixed(result.mean_similarity, 3)
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
    told = (
        f"What would fit if all models had the error {page.percent(result.mean_error, 2)}, as the paper assumes. Where "
        "no model fits at all there is no curve to draw."
    )
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
        x_reference=here,
        marks=marks,
    )
