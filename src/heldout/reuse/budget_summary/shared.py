"""What budgets of right and wrong and budgets of scores say alike: headline, key figures, leaderboard, who may be
first, examples that are needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from heldout import summary as page
from heldout.reuse.leaderboard import Comparison, ScoreComparison
from heldout.reuse.result import Budget, BudgetResult, Pool, PoolResult

Rows = tuple[tuple[str, str], ...]

FEW_EXAMPLES = 10
MOST_TASKS, LONGEST = 20, 48  # tasks that are named, and characters of a name
OPEN, ALL, TOP = 30, 200, 50  # rows unfolded; pools up to this size are shown whole; rows of larger ones
BOARD = "The leaderboard, with error bars that hold for all at once"
NEEDED, TRIALS = "How many examples are needed", "What more trials would bring"
BANDS = (
    "**Bands**: a new band starts with the first model that can be told from the first of the band above it. Within a "
    "band no model can be told from its first; two others of it may well differ. A bar at the left marks bands of two "
    "or more."
)
EXCLUDED = (
    "A model is excluded from the top T where T others are better, each by a one-sided test at a level that pays for "
    "all models. A model that truly belongs there, named beforehand, is on each list with probability {sure}; that "
    "asks less than to have every rank right at once, so it may exclude models whose range of ranks still reaches so "
    "high. The first was chosen for coming out highest; the drop is what winners lose from the examples they are "
    "chosen on to those left out, on average over many random splits of these {unit}."
)


def points(*rows: tuple[object, str]) -> page.Points | None:
    """The sentences that apply."""
    told = tuple(text for when, text in rows if when)
    return page.Points(told) if told else None


def summary_of(
    result: Budget, *, kind: str, measured: str, meaning: Rows, facts: Rows, sections: Iterable[page.Section],
    closing: str, method: str,
) -> page.Summary:  # fmt: skip
    """The page; `measured` is what a model is measured by."""
    bar, room, fit, k = page.bar_text(result.epsilon), result.further_models, result.testable.count, result.n_models
    more, there = ("", "") if k is None else ("more ", f"; there are {k:,}")
    headline = f"Room for {page.count_words(room)} {more}{'model' if room == 1 else 'models'} at {bar}"
    sentence = (
        f"These {result.n_examples:,} examples can measure {page.exact_text(fit)} {'model' if fit == 1 else 'models'} "
        f"of this kind, each with a {measured} within {bar} of the true one, all at once with probability "
        f"{page.sure_text(result.delta)}{there}."
    )
    if result.too_few:
        headline = "Too few groups to say anything"
        sentence = (
            f"The error bar for the {result.n_models} models is ±{result.error_bar:.2g}, and neither how many models "
            "fit nor how many examples are needed can be told."
        )
    return page.Summary(
        kind=kind,
        headline=headline,
        sentences=(sentence,),
        tone="quiet" if room else "found",
        subject=_subject(result),
        figures=() if result.too_few else tuple(_figures(result)),
        warnings=_warnings(result),
        lines=(*meaning, *needed(result), *facts),
        sections=tuple(section for section in sections if section.blocks),
        closing=(closing,),
        origin=page.origin(result),
        method=method,
    )


def summarise_needed(result: Budget) -> page.Summary:
    """How many examples are needed, alone."""
    whole = result.summary()
    told = whole.sentences if result.too_few else ()
    return replace(
        whole,
        headline=whole.subject,
        sentences=told,
        tone="neutral",
        figures=(),
        lines=error_bar(result),
        sections=tuple(
            replace(section, printed=True) for section in whole.sections if section.title in (NEEDED, TRIALS)
        ),
    )


def _subject(result: Budget) -> str:
    n, groups = f"{result.n_examples:,} examples", result.example_groups
    if isinstance(result, BudgetResult) and result.pool is None:
        return f"From four numbers: {n}, error {result.mean_error:g} and similarity {result.mean_similarity:g}"
    inside = "" if groups is None else f" in {groups.n_groups:,} groups"
    return f"{result.source}: {result.n_models:,} models on {n}{inside}"


def _warnings(result: Budget) -> tuple[str, ...]:
    groups, then = result.example_groups, "the law for many groups is rough, and intervals are very wide"
    few = (
        f"There are only {page.counted(result.n_examples, 'example')}: below {FEW_EXAMPLES}, little can be told. Are "
        "these averages? Give one row or column for each example."
    )
    of_groups = page.few_groups(None if groups is None else groups.n_groups, then=then)
    return (*([few] if result.n_examples < FEW_EXAMPLES else []), *of_groups)


def _figures(result: Budget) -> Iterator[page.Figure]:
    """The answer, and what stands around it."""
    need, bar, k = result.needed, page.bar_text(result.epsilon), result.n_models
    left, fit = page.count_words(result.further_models), page.count_words(result.testable.count)
    all_of_them = "" if k is None else page.bar_text(result.error_bar, full=True)
    rows = (
        (f"More models at {bar}" if k else f"Models at {bar}", left, f"{fit} in all"),
        (f"Error bar for the {k} models at once", all_of_them, f"with probability {page.sure_text(result.delta)}"),
        (f"Examples for {bar}", _examples(need.examples_for_epsilon), f"there are {result.n_examples:,}"),
        ("Gap between two models that can be told", page.scientific(need.gap_now), "named beforehand"),
    )
    for i, (name, value, note) in enumerate(rows):
        if value:
            yield page.Figure(name=name, value=value, note=note, strong=not i)


def error_bar(result: Budget) -> Rows:
    """The error bar that holds for all."""
    if result.pool is None:
        return ()
    bar, union = result.error_bar, result.pool.epsilon["union"]
    less = f"{page.share_text(1 - bar / union)} less than" if result.testable.similarity is not None else "as"
    told = f"±{bar:.5f} with probability {page.sure_text(result.delta)}, {less} by the union bound (±{union:.5f})"
    return ((f"Error bar for the {result.n_models:,} models", told),)


def needed(result: Budget) -> Rows:
    """Examples for the error bar and for a gap, and the gap that can be told now."""
    need, n = result.needed, result.n_examples

    def compared(count: int | None) -> str:
        return _examples(count) + ("" if count is None else f", {page.times_text(count / n)} those there are")

    power = f"{100 * need.power:g}{page.PERCENT} power"
    part = f", parting on {page.percent(need.disagreement)} of examples" if isinstance(result, BudgetResult) else ""
    who = "one such model" if need.n_models == 1 else f"{need.n_models:,} models like these at once"
    first = f"{compared(need.examples_for_first)} ({need.first_gap or 0:.4g} apart)"
    rows = page.kept_facts(
        (f"Examples for ±{need.epsilon:g}", f"{compared(need.examples_for_epsilon)} ({who})"),
        ("Gap that can be told now", f"{page.scientific(need.gap_now)} (two models named beforehand, {power}{part})"),
        (f"Examples for a gap of {need.gap:g}", compared(need.examples_for_gap)),
        ("Examples, first from second", None if need.first_gap is None else first),
    )
    return () if result.too_few else rows


def needed_section(result: Budget) -> page.Section:
    """The same on a page."""
    note = (
        f"A gap is told where the paired test of two models has p at most {result.delta:g}; the numbers are for a "
        f"chance of {100 * result.needed.power:g}{page.PERCENT} that it does, for models and groups like these. All "
        "pairs at once take more."
    )
    blocks = () if result.too_few else (page.Facts(needed(result)), page.Note(note))
    return page.Section.of(NEEDED, *blocks)


def _examples(count: int | None) -> str:
    return "over 10¹²" if count is None else f"{count:,}"


def order(pool: Pool) -> Rows:
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


def leaderboard(result: Budget, pool: Pool) -> Iterator[page.Section]:
    """The rows, the best first, and how they are to be read."""
    sure, exact = page.sure_text(result.delta), isinstance(pool, PoolResult) and pool.example_groups is None
    scored, k = not isinstance(pool, PoolResult), len(pool.order)
    what, value, interval = ("score", "Score", "Interval") if scored else ("error", "Error, %", "Interval, %")
    columns = ("Place" if pool.ranks is None else "Rank", "Model", value, interval, "Next (p)")
    rows = tuple(_rows(pool, scale=1 if scored else 100, digits=4 if scored else 2))
    ranges = page.Ranges(caption="Leaderboard", columns=columns, rows=rows, more=k - len(rows), rows_open=OPEN)
    told = (
        f"With probability {sure} every interval below covers its model’s true {what}, all together. Comparisons are "
        f"paired, family-wise {sure}, for independent {pool.unit}."
    )
    yield page.Section.of(BOARD, told, ranges, printed=True, anchor="leaderboard")
    test = "the exact sign test" if exact else f"the test of `heldout compare` over {pool.unit}"
    rank = f"**Rank**: every rank the comparisons leave open; with probability {sure} all true ranks lie inside."
    nearest = (
        "**Next**: > where a model is significantly better than the one below it, < where it is worse on the examples "
        f"that both have, ≈ where neither. Two models are compared by {test}; p is adjusted for all pairs, since the "
        f"data chose which stand side by side, and has to be at most {result.delta:g}."
    )
    level = page.scientific(pool.level["similarity" if exact else "union"])
    intervals = (
        f"Korn–Graubard’s: Clopper–Pearson’s at as many examples as the {pool.unit} are worth, by Student’s law."
    )
    if exact:
        intervals = (
            "Clopper–Pearson’s; the level comes from the pool’s own errors and similarities, plugged in, and is "
            f"{page.scientific(pool.level['union'])} by the union bound, which needs neither."
        )
    note = (
        f"Intervals, at level {level} each, so that an error of 0 has a width too, are {intervals} Overlapping ones do "
        "not mean a tie: the paired comparison is far sharper."
    )
    key = points((pool.ranks is not None, rank), (True, BANDS), (True, nearest))
    yield page.Section.of("How to read the leaderboard", key, page.Note(note), level=3)


def _rows(pool: Pool, *, scale: int, digits: int) -> Iterator[page.RangeRow]:
    low, value, high = (scale * a for a in (pool.low, pool.values, pool.high))
    band_of = {model: (b, len(band) > 1) for b, band in enumerate(pool.groups) for model in band}
    shown = pool.order[: None if len(pool.order) <= ALL else TOP].tolist()
    for place, (i, c) in enumerate(zip(shown, [*pool.neighbours, None], strict=False), start=1):
        yield page.RangeRow(
            name=pool.names[i],
            value=float(value[i]),
            low=float(low[i]),
            high=float(high[i]),
            value_text=f"{value[i]:.{digits}f}",
            interval_text=f"{low[i]:.{digits}f} to {high[i]:.{digits}f}",
            rank=f"{place}" if pool.ranks is None else "–".join(dict.fromkeys(map(str, pool.ranks[i].tolist()))),
            next="" if c is None else ">" if c.survives else "<" if c.contradicted else "≈",
            next_note="" if c is None else page.pvalue_text(c.log_adjusted),
            next_hover="" if c is None else _hover(c),
            band=band_of[i][0],
            tied=band_of[i][1],
        )


def _hover(c: Comparison | ScoreComparison) -> str:
    if isinstance(c, Comparison):
        return f"only this one right: {c.better_only:,} examples; only the next: {c.worse_only:,}"
    return f"difference {c.difference:.4f}"


def who_is_first(result: Budget, pool: Pool) -> page.Section:
    """The models that may be first, and among the top 3 and 10; what the winner's score is worth."""
    winner, k = pool.winner, len(pool.names)
    sets = {top: pool.named(found) for top, found in pool.top.items() if top < k}
    facts = page.Facts.of(
        *(
            (f"May be {'first' if t == 1 else f'among the top {t}'}", f"{len(s):,} of {k:,}: {page.names_text(s)}")
            for t, s in sets.items()
        ),
        ("Score of the first", f"{winner.score:.4f} ({page.quoted(winner.name)})"),
        ("Expected drop, fresh examples", page.fixed(winner.expected_drop)),
        ("Score to expect", page.fixed(winner.corrected)),
    )
    note = page.Note(EXCLUDED.format(sure=page.sure_text(result.delta), unit=pool.unit))
    fold = page.Fold(title="How models are excluded, and where the drop comes from", blocks=(note,))
    return page.Section.of("Who may be first", facts, fold, printed=True)


def went_in(result: Budget, *known: tuple[str, str | None]) -> Rows:
    """What is `known` of models and examples, groups, and what was asked for."""
    groups, about = result.example_groups, tuple[tuple[str, str | None], ...]()
    if groups is not None:
        sizes = f"{groups.n_groups:,} of {groups.smallest:,} to {groups.largest:,} examples"
        repeated = f"{groups.n_repeated:,} ({', '.join(groups.repeated_in)}), put into one group"
        about = (
            ("Groups", sizes + (f" ({page.quoted(groups.named)})" if groups.named else "")),
            ("Design effect", f"{page.fixed(groups.median_effect, 2)}, median over models"),
            ("Largest design effect", page.fixed(groups.largest_effect, 2)),
            ("Worth in independent examples", page.fixed(result.n_examples / max(1.0, groups.median_effect), 0)),
            ("Examples that share their input", repeated if groups.n_repeated else None),
        )
    asked = f"±{result.epsilon:g} for all models at once, with probability {page.sure_text(result.delta)}"
    return page.kept_facts(*known, *about, ("Asked for", asked))


def notes_section(result: Budget) -> page.Section:
    """What else is to be known of the table."""
    return page.Section.of("Notes", points(*((True, note) for note in result.notes)), level=3, printed=True)


def notes_of(tasks: Mapping[str, int], *, trials_agree: bool = False) -> tuple[str, ...]:
    """What else is to be known of a table: how its tasks were pooled, that all trials agree.

    Examples
    --------
    >>> notes_of({"a": 2, "b": 1})[0][:88]
    'All 2 tasks pooled: every example counts once, so that a task counts by its size (a 2, b'
    """
    sizes = [page.shorten(f"{name} {size:,}", LONGEST) for name, size in tasks.items()]
    rest = f" and {len(sizes) - MOST_TASKS:,} more" if len(sizes) > MOST_TASKS else ""
    pooled = (
        f"All {len(tasks):,} tasks pooled: every example counts once, so that a task counts by its size "
        f"({', '.join(sizes[:MOST_TASKS])}{rest}), and the mean over tasks may differ."
    )
    agree = "All trials of an example agree everywhere, so that more trials would bring nothing."
    return (*([pooled] if tasks else []), *([agree] if trials_agree else []))
