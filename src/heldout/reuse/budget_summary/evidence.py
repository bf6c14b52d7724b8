"""What stands behind a budget: how alike the models are, what it depends on, every bound."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heldout.reuse.alike import Alike, Clustered, thinned
from heldout.reuse.bounds import TestableModels
from heldout.reuse.budget_summary.words import (
    LONGEST,
    NAMES,
    count_text,
    effect_text,
    groups_text,
    list_names,
    models_text,
    pairs_text,
    repeated_text,
    unequal_text,
)
from heldout.reuse.curves import Curve
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.result import BudgetResult, PoolResult
from heldout.summary import (
    Axis,
    Block,
    Cell,
    Column,
    Distribution,
    Facts,
    HeatMap,
    LineChart,
    Mark,
    Note,
    Outlines,
    PointDensity,
    Points,
    Prose,
    Row,
    Section,
    Series,
    SideBySide,
    Table,
)
from heldout.summary.charts import Style
from heldout.summary.names import shorten
from heldout.summary.numbers import PERCENT, bar_text, count_words, exact_text, fixed, percent, share_text, sure_text

STYLES: dict[str, Style] = {"union": "a", "similarity": "b", "naive_bayes": "c"}
TITLES = {"union": "Union bound (2)", "similarity": "Similarity union bound (3)", "naive_bayes": "Naive Bayes (15)"}
ABOVE = {"similarity": 2.0, "epsilon": 3.5}  # decades shown above the largest of the marked points
LEVELS = (0.8, 0.85, 0.9, 0.95)  # of the covering curve, in words
MAX_STEPS, MAX_POINTS = 300, 250  # of the covering curve, of the difficulty curve
SHOWN = 50  # models, if labels are wrong
SIDE = 44  # models up to which the map leaves room for its caption at the side


def alike_sections(result: BudgetResult, pool: PoolResult) -> Iterator[Section]:
    """Figure 1a twice, as histograms and as a density, and the map."""
    s, alike = pool.similarity, pool.alike
    below = "No pair is"
    if alike.below_chance:
        share = share_text(alike.below_chance / s.n_pairs)
        below = "One pair is" if alike.below_chance == 1 else f"{alike.below_chance:,} pairs ({share}) are"
    disjoint = f" {pairs_text(alike.disjoint)} without a common example: left out." if alike.disjoint else ""
    told = (
        "Two models are alike on an example if both get it right or both get it wrong. On average over "
        f"{pairs_text(s.n_pairs)} that is **{fixed(result.mean_similarity, 3)}** of the examples; with the same errors "
        f"but independent mistakes the same pairs would be **{fixed(result.independent_similarity, 3)}** alike. "
        f"{below} wrong together less often than independent models would be.{disjoint}"
    )
    kinds = (
        (pool.adjusted.right, "right and wrong (Cohen’s kappa, or error consistency)"),
        (pool.adjusted.answers, "answers: the same one given, right or wrong"),
        (pool.adjusted.probabilities, "probabilities of the options (CAPA)"),
    )
    blocks: list[Block] = [Prose(told)]
    if known := tuple(f"**{fixed(value, 3)}** of {what}" for value, what in kinds if math.isfinite(value)):
        chance = "With chance taken off (0: as independent models of the same accuracies, 1: always alike), on average:"
        blocks += [Prose(chance), Points(known)]
    blocks.append(_pairs(pool) if alike.edges is None else _pictures(result, pool))
    yield Section(title="How alike the models are", blocks=tuple(blocks))
    if alike.map is not None:
        yield Section(title="Who resembles whom", blocks=(_map(pool, alike.map),), level=3)


def _pairs(pool: PoolResult) -> Table:
    """A few pairs need no picture."""
    names, found = pool.similarity.names, pool.alike.pairs
    assert found is not None
    first, second = np.triu_indices(len(names), 1)
    rows = [
        (_named(names[i]), _named(names[j]), *(fixed(v, 3) for v in values))
        for i, j, values in zip(first.tolist(), second.tolist(), found.tolist(), strict=True)
    ]
    columns = ("Model", "and", "Similarity", "If independent", "Kappa")
    return Table.of("Every pair", columns, rows, words=("and",))


def _named(name: str) -> str | Cell:
    short = shorten(name, LONGEST)
    return name if short == name else Cell(text=short, hover=name)


def _pictures(result: BudgetResult, pool: PoolResult) -> SideBySide:
    """All pairs as histograms and as a density."""
    alike, n_pairs = pool.alike, pool.similarity.n_pairs
    assert alike.counts is not None
    assert alike.edges is not None
    counts, edges = alike.counts, alike.edges.tolist()

    def distribution(name: str, values: NDArray[np.int64], mean: float, style: Style) -> Distribution:
        told = f"mean {fixed(mean, 3)}"
        return Distribution(name=name, counts=tuple(values.tolist()), mean=mean, mean_text=told, style=style)

    histogram = Outlines(
        title=f"All {n_pairs:,} pairs of models",
        caption="Similarity as observed, and as it would be if errors were independent (figure 1a of the paper).",
        x=Axis(label="similarity of two models", spec=".3f"),
        y_label="pairs of models",
        edges=tuple(edges),
        distributions=(
            distribution("if independent", counts.sum(axis=1), result.independent_similarity, "b"),
            distribution("observed", counts.sum(axis=0), result.mean_similarity, "a"),
        ),
    )
    return SideBySide(charts=(histogram, _density(alike, n_pairs)))


def _density(alike: Alike, n_pairs: int) -> PointDensity:
    assert alike.counts is not None
    assert alike.edges is not None
    (x0, x1), (y0, y1) = (_extent(alike.counts.sum(axis=axis)) for axis in (1, 0))
    edges = alike.edges.tolist()
    return PointDensity(
        title=f"The same pairs one by one; {alike.below_chance:,} of {n_pairs:,} are less alike than chance",
        caption="Stronger where there are more pairs. Above the line a pair is more alike than chance.",
        x=Axis(label="similarity if independent"),
        y=Axis(label="similarity observed"),
        x_edges=tuple(edges[x0 : x1 + 1]),
        y_edges=tuple(edges[y0 : y1 + 1]),
        counts=alike.counts[x0:x1, y0:y1],
        diagonal="below the line: less alike than chance",
    )


def _extent(counts: NDArray[np.int64]) -> tuple[int, int]:
    """From the first to past the last bin that holds anything, with a bin of room."""
    used = np.nonzero(counts)[0]
    return max(0, int(used[0]) - 1), min(len(counts), int(used[-1]) + 2)


def _map(pool: PoolResult, c: Clustered) -> HeatMap:
    s = pool.similarity
    sorted_ = (
        "Models are sorted so that similar ones stand together (average linkage). The columns follow the same order as "
        "the rows, so families show as blocks along the diagonal."
    )
    if c.blocks:
        sampled = ""
        if s.n_models > c.n_models:
            sampled = f", {c.n_models:,} of them taken evenly down the leaderboard,"
        sorted_ = (
            f"{s.n_models:,} models{sampled} sorted so that similar ones stand together and put together in "
            f"{len(c.rows)} blocks; each cell is a mean."
        )
    return HeatMap(
        title=f"Similarity of {c.n_models:,} models with each other, similar ones side by side",
        caption=f"{sorted_} Every colour covers about as many cells. Point at a cell or row to read it.",
        values=c.values,
        legend="mean similarity of two blocks" if c.blocks else "similarity of two models",
        names=None if c.blocks else tuple(s.names[int(row[0])] for row in c.rows),
        row_hover=tuple(_row_texts(c, pool)),
        cell_hover=True,
        diagonal=c.blocks,
        wide=not c.blocks and len(c.rows) > SIDE,
    )


def _row_texts(c: Clustered, pool: PoolResult) -> Iterator[str]:
    """What a pointer on a row is told."""
    errors = pool.similarity.errors
    names = [shorten(name, LONGEST) for name in pool.similarity.names]
    for i, row in enumerate(c.rows):
        others = np.array(c.values[i], dtype=np.float64)
        others[i] = np.nan
        alike = f"{np.nanmean(others):.3f} alike to the others on average" if np.isfinite(others).any() else ""
        if len(row) > 1:
            mean = percent(float(errors[row].mean()))
            yield f"{len(row)} models, {names[int(row[0])]} to {names[int(row[-1])]}: mean error {mean}, {alike}"
            continue
        closest = f", closest to {names[int(c.rows[int(np.nanargmax(others))][0])]}" if alike else ""
        yield f"{names[int(row[0])]}: error {percent(float(errors[row[0]]))}, {alike}{closest}"


def noise_sections(pool: PoolResult) -> Iterator[Section]:
    """What wrong labels would do to the leaderboard and the budget; nothing where it was not asked for."""
    noise, second, s = pool.label_noise, pool.second_labels, pool.similarity
    if noise is None and second is None:
        return
    sentences, columns = [], ["Model", f"Error,{PERCENT}"]
    cells = [[_named(name), _percent(e)] for name, e in zip(s.names, s.errors.tolist(), strict=True)]
    if noise is not None:
        sentences += noise_sentences(noise)
        columns.append("True error, at random")
        for row, error in zip(cells, noise.true_errors, strict=True):
            row.append(_percent(error) if error >= 0 else "below 0")
    if second is not None:
        sentences.append(second_sentence(second))
        columns += ["Error, second labels", "Place", "Place, second labels"]
        for row, *found in zip(cells, second.second_errors, second.ranks, second.second_ranks, strict=True):
            row += [_percent(found[0]), str(found[1]), str(found[2])]
    yield Section(title="If labels are wrong", blocks=(Points(tuple(sentences)),), printed=True)
    table = Table(
        caption="With wrong labels taken off, or by both sets of labels",
        columns=tuple(Column(name=name, align="right" if i else "left") for i, name in enumerate(columns)),
        rows=tuple(Row(cells=tuple(cells[i])) for i in pool.order[:SHOWN].tolist()),
        more=max(0, s.n_models - SHOWN),
    )
    note = (
        "At random: which labels are wrong has nothing to do with the models, and a wrong label is any of the other "
        "classes. The worst case puts them where they do most harm to each statement."
    )
    yield Section(title="Model by model", blocks=(table, Note(note)), level=3)


def noise_sentences(noise: LabelNoise) -> list[str]:
    """If a stated share of labels is wrong."""
    share = f"{100 * noise.share:g}{PERCENT} of the labels ({noise.n_wrong:,})"
    at_random = (
        f"If {share} are wrong at random, true errors are (error - {noise.share:g}) / {noise.factor:.4g}: the order "
        f"stays, differences are {1 / noise.factor:.3g} times as large, the error bar for all is "
        f"±{noise.error_bar_random:.5f} instead of ±{noise.error_bar:.5f}, and {count_text(noise.models_random)} "
        f"models like these fit at ±{noise.epsilon:g} instead of {count_text(noise.models)}."
    )
    if noise.too_good:
        names = list_names(noise.too_good)
        at_random += f" Fewer errors than wrong labels: {names}; there, labels are not wrong at random, or fewer are."
    fit = "model fits" if noise.models_worst == 1 else "models fit"
    worst = (
        f"Wherever the wrong labels are, every true error is within ±{noise.error_bar_worst:.5f}, and "
        f"{count_text(noise.models_worst)} {fit} at ±{noise.epsilon:g}."
    )
    if noise.n_significant is not None:
        worst += f" Of {noise.n_significant:,} pairs told apart {noise.n_significant_worst:,} stay so."
    safe = f"{100 * noise.first_safe_below:.3g}{PERCENT} of wrong labels"
    return [at_random, f"{worst} The first keeps its lead over the second below {safe}."]


def second_sentence(second: SecondLabels) -> str:
    """What a second set of labels says."""
    moved = max(abs(a - b) for a, b in zip(second.ranks, second.second_ranks, strict=True))
    change = [b - a for a, b in zip(second.errors, second.second_errors, strict=True)]
    interval = f"{sure_text(second.level)}: {100 * second.low:.2f} to {100 * second.high:.2f}{PERCENT}"
    return (
        f"By the second labels ({second.source}) {second.n_changed:,} of {second.n_examples:,} labels are others "
        f"({100 * second.share:.2f}{PERCENT}, {interval}). Errors change by {min(change):+.4f} to {max(change):+.4f}, "
        f"places by {moved} at most (Kendall’s tau {second.kendall:.3f}). Of {second.n_significant:,} pairs told apart "
        f"by the first labels {second.n_both:,} are by the second, the same way, {second.n_turned:,} the other way "
        f"round; the second tell {second.n_second:,} apart."
    )


def _percent(error: float) -> str:
    return f"{100 * error:.2f}"


def curve_sections(result: BudgetResult) -> Iterator[Section]:
    """Figures 1b and 2 for models of one error, the mean's point marked; nothing where there is no such model."""
    eta, epsilon, pool = result.by_similarity, result.by_epsilon, result.pool
    if result.equal is None or eta is None or epsilon is None:
        return
    own = "this pool’s mean" if pool is not None else "as stated"
    bar = bar_text(result.epsilon)
    by_similarity = _curve(
        result.equal,
        eta,
        result.mean_similarity,
        title="Models that fit against their similarity",
        caption=f"At {bar} (figures 1b and 2 of the paper). The union bound does not look at similarity; at the left "
        "end, where models of this error err independently, all three agree.",
        x=f"similarity of two models (dashed: {own}, {fixed(result.mean_similarity, 3)})",
        above=ABOVE["similarity"],
    )
    by_epsilon = _curve(
        result.equal,
        epsilon,
        result.epsilon,
        title="Models that fit against the width of the error bar",
        caption=f"At {'this pool’s mean' if pool is not None else 'the stated'} similarity (figure 2, right). A little "
        "more room for error buys a great many models.",
        x=f"error bar in percentage points (dashed: asked for, {bar})",
        above=ABOVE["epsilon"],
        factor=100.0,
    )
    blocks: list[Block] = []
    if by_similarity is None:
        of = " of the mean error" if pool is not None else ""
        blocks.append(
            Prose(
                f"At {bar} no model{of} fits, however similar the models are, so there is no curve to draw against "
                "similarity."
            )
        )
    if pool is not None:
        blocks.append(
            Prose(
                f"Both curves show what would fit if all models had the mean error {percent(result.mean_error, 2)}, as "
                "the paper assumes, and so do the numbers on them. For models as unequal as these see the table of "
                "every bound."
            )
        )
    charts = tuple(c for c in (by_similarity, by_epsilon) if c is not None)
    if charts:
        blocks.append(SideBySide(charts=charts))
    yield Section(title="What the budget depends on", blocks=tuple(blocks))


def _curve(
    equal: TestableModels,
    curve: Curve,
    own: float,
    *,
    title: str,
    caption: str,
    x: str,
    above: float,
    factor: float = 1.0,
) -> LineChart | None:
    """One of the two; None where not even one model fits anywhere."""
    counts = {name: np.where(getattr(curve, name) >= 1, getattr(curve, name), np.nan) for name in NAMES}
    marks = tuple(
        Mark(
            x=factor * own,
            y=float(count),
            text=count_words(count),
            hover=f"{NAMES[name]}: {count:,} models",
            style=STYLES[name],
        )
        for name, count in equal.to_dict().items()
        if count
    )
    places = tuple((factor * curve.x).tolist())
    series = tuple(
        Series(
            name=NAMES[name],
            x=places,
            y=tuple(values.tolist()),
            hover=tuple(
                f"{NAMES[name]} at {place:.4g}: {exact_text(round(v)) if math.isfinite(v) else 'no'} models"
                for place, v in zip(curve.x.tolist(), getattr(curve, name).tolist(), strict=True)
            ),
            style=STYLES[name],
            markers=False,
        )
        for name, values in counts.items()
        if np.isfinite(values).any()
    )
    if not series:
        return None
    top = max([m.y for m in marks], default=10.0) * 10.0**above
    lowest = min(v for s in series for v in (*s.y, *(m.y for m in marks)) if math.isfinite(v))
    shown = [x for x, y in zip(places, counts["union"].tolist(), strict=True) if y <= top] or list(places)
    ends = (*shown, factor * own)
    return LineChart(
        title=title,
        caption=caption,
        x=Axis(label=x, range=(min(ends), max(ends) + 1e-9)),
        y=Axis(label="models", kind="log", range=(max(1.0, lowest / 5), top), spec=",.0f"),
        series=series,
        x_reference=factor * own,
        marks=marks,
    )


def structure_sections(result: BudgetResult, pool: PoolResult) -> Iterator[Section]:
    """How few models stand for all, and how hard the examples are."""
    charts = tuple(c for c in (_cover(pool), _difficulty(result, pool)) if c is not None)
    if charts:
        title = "How few models stand for all, and how hard the examples are"
        yield Section(title=title, blocks=(SideBySide(charts=charts),), anchor="structure")


def _cover(pool: PoolResult) -> LineChart | None:
    """Figure 3; None where it takes all models at every similarity."""
    curve, k = pool.cover, pool.similarity.n_models
    if curve.size[0] == curve.size[-1]:
        return None
    ends = np.append(curve.size[1:] != curve.size[:-1], True)  # the last eta of every size
    eta, size = curve.eta[ends], curve.size[ends]
    keep = thinned(len(eta), MAX_STEPS)
    eta, size = eta[keep], size[keep]
    start = max(0.0, float(eta[0]) - 0.03)
    levels = [level for level in LEVELS if start < level < float(eta[-1]) and curve.at(level) < k]
    samples = ", ".join(f"{curve.at(level):,} for {level:g}" for level in levels)
    hover = [f"at least {e:.3f} alike: {s:,} {'model' if s == 1 else 'models'}" for e, s in zip(eta, size, strict=True)]
    return LineChart(
        title=f"Covering curve: models needed to cover all {k:,}",
        caption="Figure 3. A cover holds, for every model, one that is at least so similar and no worse, and one that "
        f"is at least so similar and no better.{f' Models needed for {k:,}: {samples}.' if samples else ''} Found by a "
        "greedy search, so smaller covers may exist.",
        x=Axis(label="similarity asked for (eta)", spec=".3f"),
        y=Axis(label="models in the cover", kind="log", whole=True, spec=",.0f"),
        series=(
            Series(
                name="models in the cover",
                x=(start, *eta.tolist()),
                y=(float(size[0]), *(float(s) for s in size)),
                hover=("", *hover),
                markers=False,
                step=True,
            ),
        ),
    )


def _difficulty(result: BudgetResult, pool: PoolResult) -> LineChart | None:
    """Figure 4, with the forecast over it; None without an example that every model has."""
    s, forecast = pool.similarity, pool.difficulty_forecast
    if not s.n_complete:
        return None
    k, observed = s.n_models, s.difficulty_curve()
    places = thinned(k + 1, MAX_POINTS).tolist()

    def series(name: str, values: NDArray[np.float64], style: Style) -> Series:
        return Series(
            name=name,
            x=tuple(float(j) for j in places),
            y=tuple(float(values[j]) for j in places),
            hover=tuple(f"{name}: {percent(float(values[j]))} wrong for at most {j:,} of {k:,} models" for j in places),
            style=style,
            markers=k <= 20,
        )

    right, wrong = float(observed[0]), float(1 - observed[k - 1])
    of = "the examples" if s.n_complete == s.n_examples else f"the {s.n_complete:,} examples that every model answered"
    told = f"Figure 4. {percent(right)} of {of} are right for {models_text(k)}, {percent(wrong)} wrong for all."
    if forecast is not None:
        gap = float(np.max(np.abs(forecast - observed)))
        told += (
            f" Assumption A1 predicts {percent(float(forecast[0]))} and {percent(float(1 - forecast[k - 1]))}; the two "
            f"curves are up to {percent(gap)} of the examples apart. The farther apart, the less the Naive Bayes "
            "number is worth."
        )
    predicted = () if forecast is None else (series("Assumption A1", forecast, "c"),)
    return LineChart(
        title="Difficulty: examples that at most so many models get wrong",
        caption=told,
        x=Axis(label=f"models that get it wrong, at most (of {k:,})", whole=True, spec=",.0f"),
        y=Axis(label="share of examples", spec=".4f"),
        series=(series("observed", observed, "a"), *predicted),
    )


def bounds_section(result: BudgetResult) -> Section:
    """Every bound on one table, with what it assumes."""
    pool, t, further = result.pool, result.testable, result.further
    equal = result.equal.to_dict() if result.equal is not None else dict.fromkeys(TITLES)
    chosen = "union" if t.similarity is None else "similarity"
    rows = []
    for name, count in t.to_dict().items():
        if name != "union" and result.example_groups is not None:
            continue
        cells: tuple[str, ...] = (TITLES[name], exact_text(count))
        if pool is not None:
            bar = bar_text(pool.epsilon[name], full=True) if name in pool.epsilon else "–"
            cells += (exact_text(further[name]), exact_text(equal[name]), bar)
        answer = name == chosen
        rows.append(Row(cells=cells, chosen=answer, role="the answer" if answer else ""))
    columns = [
        Column(name="Bound", align="left"),
        Column(name="Models that fit" if pool is None else "Models like these"),
    ]
    if pool is not None:
        columns += [
            Column(name="Of these, further", minor=True),
            Column(name="Were all equal (paper’s plug-in)"),
            Column(name=f"Error bar for {models_text(result.n_models)}", minor=True),
        ]
    plugged = f"The error {result.mean_error:.4f} and the similarity {result.mean_similarity:.4f} are plugged in."
    if pool is not None:
        plugged = (
            "**Models like these** come in the pool’s own kinds, each with its own error and similarities. **Were all "
            f"equal** is the paper’s plug-in: every model with the mean error {result.mean_error:.4f} and the mean "
            f"similarity {result.mean_similarity:.4f}."
        )
    told = (
        f"Numbers in brackets are the equations of the paper. {plugged} All bounds are for models chosen without "
        f"looking at this test set.{''.join(f' {reason}' for reason in _reasons(result))}"
    )
    table = Table(caption="All bounds", columns=tuple(columns), rows=tuple(rows))
    notes = (*_notes(result), *_theorems(result))
    return Section(title="Every bound", blocks=(Prose(told), table, Facts(notes)), anchor="bounds")


def _reasons(result: BudgetResult) -> Iterator[str]:
    """Why a number of the table is not defined."""
    if reason := result.testable.reason:
        yield f"{reason[0].upper()}{reason[1:]}."
    if result.pool is not None and result.equal is None:
        yield f"Were all equal: not defined, since {unequal_text(result)}."
    elif result.pool is not None and result.equal is not None and result.equal.reason:
        yield f"Were all equal: {result.equal.reason}."


def _notes(result: BudgetResult) -> Iterator[tuple[str, str]]:
    """What each bound rests on."""
    if result.example_groups is not None:
        yield (
            TITLES["union"],
            "The level at which each model’s Korn–Graubard interval is as wide as the error bar, the mean of these "
            "models’ levels for each further one. Rests on Student’s law for the groups there are.",
        )
        return
    pool = result.pool is not None
    tree = " For the models there are, a spanning tree over the pairs (Hunter–Worsley)." if pool else ""
    union = "the mean of these models’ tails for each further one" if pool else "added up"
    couple = "" if pool else " It needs models that are at least as alike as chance."
    yield TITLES["union"], f"Each model’s own exact binomial tails, {union}."
    yield (
        TITLES["similarity"],
        f"One anchor model, and exact joint tails of every other model with it.{tree} Never worse than the union "
        f"bound.{couple}",
    )
    yield (
        TITLES["naive_bayes"],
        "Exact if Assumption A1 holds: some examples are easy for all models, on the others they err "
        f"independently{', each model at its own rate' if pool else ''}.",
    )


def _theorems(result: BudgetResult) -> Iterator[tuple[str, str]]:
    """Theorem 2 on the pool's own cover, and what adaptive use would need."""
    pool, n = result.pool, result.n_examples
    if pool is None or pool.example_groups is not None:
        return  # both theorems are for independent examples
    t, k = pool.theorem2, pool.similarity.n_models
    told = f"no error bar below ±100 points: {n:,} examples are too few for it."
    if math.isfinite(t["epsilon"]):
        closed = ", ".join(
            f"({number}) {bar_text(bar, full=True) if math.isfinite(bar) else 'does not apply here'}"
            for number, bar in ((5, t["equation_5"]), (6, t["equation_6"]))
        )
        told = (
            f"{bar_text(t['epsilon'], full=True)} by (4), at eta = {fixed(t['eta'], 3)}, where {t['cover']:,.0f} of "
            f"the {k:,} models cover the rest; in closed form {closed}. It shows how things grow; its constants are "
            "too large to compete with exact tails."
        )
    yield "Theorem 2, this pool’s cover", told
    shown = bar_text(pool.adaptive, full=True) if pool.adaptive < 1 else "more than ±100 points, so nothing at all,"
    yield (
        "Corollary 4, adaptive use",
        f"If each of the {k:,} models had been chosen after seeing the exact scores of those before it, only {shown} "
        "would be guaranteed for all (alpha = 0, whatever their similarity). Anything better needs the cover of all "
        "models that might have been submitted, had the scores been different. That cannot be read off the models "
        "seen.",
    )


def facts(result: BudgetResult) -> Iterator[tuple[str, str]]:
    """What went in, one line per fact."""
    pool, groups = result.pool, result.example_groups
    chance = fixed(result.independent_similarity)
    yield "Test set", f"n = {result.n_examples:,} examples"
    if pool is None:
        yield "Error", f"{result.mean_error:g}, as stated"
        yield (
            "Similarity",
            f"{result.mean_similarity:g}, as stated; {chance} if two models of this error erred independently",
        )
    else:
        s, alike = pool.similarity, pool.alike
        spread = f" ({percent(float(s.errors.min()), 2)} to {percent(float(s.errors.max()), 2)})"
        yield "Models", f"k = {s.n_models:,}, from {result.source}"
        yield "Mean error", percent(result.mean_error, 2) + spread
        yield (
            "Similarity",
            f"{fixed(result.mean_similarity)}, mean over all pairs; {chance} if errors were independent, mean over the "
            "same pairs, each with its own two errors",
        )
        disjoint = f", {alike.disjoint:,} without a common example" if alike.disjoint else ""
        yield "Pairs", f"{s.n_pairs:,}; {alike.below_chance:,} below chance{disjoint}"
        yield "Missing answers", f"{pool.n_missing:,}"
    if groups is not None:
        yield "Groups", f"{groups_text(groups)}{f', by {groups.named}' if groups.named else ''}"
        yield "Design effect", effect_text(groups)
        if groups.n_repeated:
            yield "Repeated inputs", repeated_text(groups)
    yield (
        "Asked for",
        f"{bar_text(result.epsilon)} (epsilon = {result.epsilon:g}) for all models at once, with probability "
        f"{sure_text(result.delta)} (delta = {result.delta:g})",
    )
    yield (
        "Plugged in",
        "error and similarity, as if they were the true ones"
        if groups is None
        else "nothing but the design effects, estimated from these groups and taken with Student’s law",
    )


def not_computed(result: BudgetResult) -> Iterator[str]:
    """What the page lacks, and why; silence must not read as "nothing to see"."""
    pool = result.pool
    if pool is None:
        yield "Leaderboard with intervals for all models at once, rank ranges, and which differences are significant"
        yield "Who may be first, and what the winner’s score is worth"
        yield "Similarity of every pair, against chance and as a map"
        yield "Covering curve and Theorem 2"
        yield "Difficulty of the examples, and whether Assumption A1 fits"
        return
    if not pool.similarity.n_complete:
        yield "Difficulty of the examples: none was answered by every model"
    elif pool.difficulty_forecast is None:
        yield f"Forecast of Assumption A1: {result.testable.reason or 'there is no common cause of errors'}"
    if result.equal is None:
        why = unequal_text(result)
        yield f"Curves against similarity and error bar, and what would fit were all models equal: {why}"
    if pool.cover.size[0] == pool.cover.size[-1]:
        yield "Covering curve: it takes all models at every similarity"
    if pool.ranks is None:
        yield "Rank ranges: the pool is too large to compare every pair"
