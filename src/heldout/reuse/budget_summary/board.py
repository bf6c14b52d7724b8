"""The leaderboard: how much of its order is significant, who may be first, how it is to be read, and what wrong labels
would do to it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout import summary as page
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.leaderboard import Comparison, ScoreComparison
from heldout.reuse.result import Budget, Pool, PoolResult
from heldout.reuse.unit import POINTS, Unit

ON_AVERAGE = ", right on average; for this leaderboard alone, go by the interval"
OUTSIDE = ", right on average, yet outside of the interval here: go by that"
OPEN, ALL, TOP = 30, 200, 50  # rows unfolded; pools up to this size are shown whole; rows of larger ones
BOARD = "The leaderboard, with error bars that hold for all at once"
BANDS = (
    "**Bands** start with a model that can be told from the first of the band above. Within a band no model can be "
    "told from its first; two others may well differ. A bar at the left marks bands of two or more."
)
EXCLUDED = (
    "A model is excluded from the top T where T others are better, each by a one-sided test at a level that pays for "
    "all models. One that truly belongs there, named beforehand, is on each list with probability {sure}. That "
    "asks less than to have every rank right at once, so ranges of ranks may reach higher. The first was chosen for "
    "coming out highest; the drop is what winners lose from the examples they are chosen on to those left out, on "
    "average over many random splits of these {unit}. The score less the drop is right on average over leaderboards; "
    "on one it was off by about one standard error (2 models) to two (hundreds) in simulations, root mean square: less "
    "than the score itself where many are nearly equal, more where one is two or three standard errors ahead. The "
    "interval of the true score holds for the first since it holds for all models at once."
)


def order(pool: Pool) -> page.Rows:
    """How much of the leaderboard's order is significant."""
    bands, steps, turned = pool.groups, len(pool.neighbours), sum(c.contradicted for c in pool.neighbours)
    moved = f"{turned:,}: the lower model is better on the examples that both have"
    return page.kept_facts(
        ("Steps down that are significant", page.of_text(sum(c.survives for c in pool.neighbours), steps)),
        ("Steps the wrong way", moved if turned else None),
        ("Pairs told apart", None if pool.n_significant is None else page.of_text(pool.n_significant, pool.n_pairs)),
        ("Not told from the first", page.of_text(len(bands[0]) - 1, steps)),
        ("Bands of two or more models", f"{sum(len(band) > 1 for band in bands):,}"),
    )


def sections(result: Budget, pool: Pool) -> Iterator[page.Section]:
    """The rows, the best first, and how they are to be read; who may be first."""
    scored, sure, k = not isinstance(pool, PoolResult), page.sure_text(result.delta), len(pool.order)
    what, unit = ("score", "") if scored else ("error", ", %")
    columns = ("Place" if pool.ranks is None else "Rank", "Model", what.title() + unit, f"Interval{unit}", "Next (p)")
    rows = list(_rows(pool, scale=1 if scored else 100, digits=4 if scored else 2))
    told = (
        f"With probability {sure} every interval below covers its model’s true {what}, all together. Comparisons are "
        f"paired, family-wise {sure}, for independent {pool.unit}."
    )
    table = page.Table.ranges("Leaderboard", columns, rows, more=k - len(rows), rows_open=OPEN)
    yield page.Section.of(BOARD, told, table, printed=True, anchor="leaderboard")
    yield page.Section.of("How to read the leaderboard", *_key(result, pool, sure), level=3)
    yield _who_is_first(pool, sure)


def _rows(pool: Pool, *, scale: int, digits: int) -> Iterator[page.Row]:
    band_of = {model: (b, len(band) > 1) for b, band in enumerate(pool.groups) for model in band}
    shown = pool.order[: None if len(pool.order) <= ALL else TOP].tolist()
    for place, (i, c) in enumerate(zip(shown, [*pool.neighbours, None], strict=False), start=1):
        low, value, high = (scale * float(a[i]) for a in (pool.low, pool.values, pool.high))
        rank = f"{place}" if pool.ranks is None else "–".join(dict.fromkeys(map(str, pool.ranks[i].tolist())))
        between = page.interval_cell(value, (low, high), digits)
        cells = (rank, pool.names[i], page.fixed(value, digits), between, "" if c is None else _next(c))
        band, tied = band_of[i]
        yield page.Row(cells=cells, band=band, tied=tied)


def _next(c: Comparison | ScoreComparison) -> page.Cell:
    """How a model compares with the next one down."""
    sign = ">" if c.survives else "<" if c.contradicted else "≈"
    told = f"difference {c.difference:.4f}" if isinstance(c, ScoreComparison) else (
        f"only this one right: {c.better_only:,} examples; only the next: {c.worse_only:,}"
    )  # fmt: skip
    return page.Cell(text=f"{sign} {page.pvalue_text(c.log_adjusted)}", hover=told)


def _key(result: Budget, pool: Pool, sure: str) -> Iterator[page.Block]:
    """How the columns are to be read, and what the intervals are."""
    rank = f"**Rank**: every rank the comparisons leave open; with probability {sure} all true ranks lie inside."
    test, level = f"the test of `heldout compare` over {pool.unit}", pool.level["union"]
    kind = "Korn–Graubard’s: Clopper–Pearson’s at as many examples as the groups are worth, by Student’s law."
    if not isinstance(pool, PoolResult):
        over = "" if pool.example_groups is None else ", over the design effect of the groups"
        kind = f"Clopper–Pearson’s at as many examples as the variance of the scores is worth{over}, by Student’s law."
    if isinstance(pool, PoolResult) and pool.example_groups is None:
        kind = (
            "Clopper–Pearson’s; the level comes from the pool’s own errors and similarities, plugged in, and is "
            f"{page.scientific(level)} by the union bound, which needs neither."
        )
        test, level = "the exact sign test", pool.level["similarity"]
    nearest = (
        "**Next**: > where a model is significantly better than the one below it, < where it is worse on the examples "
        f"that both have, ≈ where neither. Two models are compared by {test}; p is adjusted for all pairs, since the "
        f"data chose which stand side by side, and has to be at most {result.delta:g}."
    )
    yield page.Points((BANDS, nearest) if pool.ranks is None else (rank, BANDS, nearest))
    yield page.Note(
        f"Intervals, at level {page.scientific(level)} each and never of width 0, are {kind} "
        "Overlapping ones do not mean a tie: the paired comparison is far sharper."
    )


def _who_is_first(pool: Pool, sure: str) -> page.Section:
    """The models that may be first, and among the top 3 and 10; what the winner's score is worth."""
    winner, k, (low, high), unit = pool.winner, len(pool.names), pool.winner_interval, Unit.of_pool(pool)
    how = ON_AVERAGE if low <= winner.corrected <= high else OUTSIDE if math.isfinite(winner.corrected) else ""
    facts = page.Facts.of(
        *(
            (f"May be {'first' if t == 1 else f'among the top {t}'}", f"{len(found):,} of {k:,}: {names}")
            for t, found in pool.top.items()
            if t < k and (names := page.names_text(pool.named(found)))
        ),
        ("Score of the first", f"{unit.score(winner.score)} ({page.quoted(winner.name)})"),
        ("Its true score", f"{unit.scores(low, high)} with probability {sure}, although it was chosen"),
        ("Expected drop, fresh examples", unit.difference(winner.expected_drop, sign=False)),
        ("Score to expect", unit.score(winner.corrected) + how),
    )
    note = page.Note(EXCLUDED.format(sure=sure, unit=pool.unit))
    fold = page.Fold(title="How models are excluded, and where the drop comes from", blocks=(note,))
    return page.Section.of("Who may be first", facts, fold, printed=True)


def wrong_labels(pool: PoolResult) -> Iterator[page.Section]:
    """In all, and model by model; nothing where it was not asked for."""
    noise, second, s = pool.label_noise, pool.second_labels, pool.similarity
    columns = {"Model": list(pool.names), f"Error,{page.PERCENT}": _percents(s.errors.tolist())}
    if noise is None and second is None:
        return
    if noise is not None:
        caption = f"If {100 * noise.share:g}{page.PERCENT} of the labels ({noise.n_wrong:,}) are wrong"
        told = page.Table.of(caption, ("", "As measured", "At random", "Worst case"), _moved(noise))
        yield page.Section.of("If labels are wrong", told, page.Facts(_noise_facts(noise)), printed=True)
        columns[f"True error, at random,{page.PERCENT}"] = _percents(noise.true_errors)
    if second is not None:
        yield page.Section.of("By the second labels", page.Facts(_second_facts(second)), printed=True)
        columns[f"Error, second labels,{page.PERCENT}"] = _percents(second.second_errors)
        columns |= {"Place": [*map(str, second.ranks)], "Place, second labels": [*map(str, second.second_ranks)]}
    rows, caption = list(zip(*columns.values(), strict=True)), "With wrong labels taken off, or by both sets of labels"
    best, more = [rows[i] for i in pool.order[:TOP].tolist()], max(0, s.n_models - TOP)
    table = page.Table.of(caption, tuple(columns), best, more=more)
    note = (
        "At random: which labels are wrong has nothing to do with the models, and they are any of the other classes; "
        "an error below 0 says that there are fewer errors than wrong labels. The worst case puts them "
        "where they do most harm to a statement."
    )
    yield page.Section.of("Model by model", table, page.Note(note), level=3)


def _percents(errors: list[float] | tuple[float, ...]) -> list[str | page.Cell]:
    return [page.fixed(100 * error, 2) for error in errors]


def _moved(noise: LabelNoise) -> Iterator[tuple[str, ...]]:
    """Error bar, budget and comparisons: as measured, at random, in the worst case."""
    bars = (noise.error_bar, noise.error_bar_random, noise.error_bar_worst)
    models = (noise.models, noise.models_random, noise.models_worst)
    yield "Error bar for all", *(POINTS.bar(bar, full=True) for bar in bars)
    yield f"Models that fit at {POINTS.bar(noise.epsilon)}", *(page.exact_text(count) for count in models)
    if noise.n_significant is not None:
        yield "Pairs told apart", f"{noise.n_significant:,}", "–", f"{noise.n_significant_worst:,}"


def _noise_facts(noise: LabelNoise) -> page.Rows:
    few = f"{page.names_text(noise.too_good)}; there, labels are not wrong at random, or fewer are"
    return page.kept_facts(
        (
            "True errors, at random",
            f"(error - {100 * noise.share:g}{page.PERCENT}) / {noise.factor:.4g}: the order stays",
        ),
        ("Differences, at random", f"{1 / noise.factor:.3g} times as large"),
        ("First keeps its lead below", f"{page.share_text(noise.first_safe_below)} of wrong labels"),
        ("Fewer errors than wrong labels", few if noise.too_good else None),
    )


def _second_facts(second: SecondLabels) -> page.Rows:
    change = [b - a for a, b in zip(second.errors, second.second_errors, strict=True)]
    moved = max(abs(a - b) for a, b in zip(second.ranks, second.second_ranks, strict=True))
    share, low, high = (page.percent(value, 2) for value in (second.share, second.low, second.high))
    within = f"{share}, {low} to {high} with {page.sure_text(second.level)}"
    return (
        ("Second labels", second.source),
        ("Labels that differ", f"{second.n_changed:,} of {second.n_examples:,}: {within}"),
        ("Errors change by", " to ".join(POINTS.difference(end) for end in (min(change), max(change)))),
        ("Places change by, at most", f"{moved} (Kendall’s tau {page.fixed(second.kendall, 3)})"),
        ("Pairs told apart", f"{second.n_significant:,} by the first labels, {second.n_second:,} by the second"),
        ("By both", f"{second.n_both:,} the same way, {second.n_turned:,} the other way round"),
    )
