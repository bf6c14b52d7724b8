"""The leaderboard: how much of its order is significant, who may be first, and how it is to be read."""

from __future__ import annotations

from collections.abc import Iterator

from heldout import summary as page
from heldout.reuse.leaderboard import Comparison, ScoreComparison
from heldout.reuse.result import Budget, Pool, PoolResult

OPEN, ALL, TOP = 30, 200, 50  # rows unfolded; pools up to this size are shown whole; rows of larger ones
BOARD = "The leaderboard, with error bars that hold for all at once"
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


def order(pool: Pool) -> tuple[tuple[str, str], ...]:
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
    rows = tuple(_rows(pool, scale=1 if scored else 100, digits=4 if scored else 2))
    told = (
        f"With probability {sure} every interval below covers its model’s true {what}, all together. Comparisons are "
        f"paired, family-wise {sure}, for independent {pool.unit}."
    )
    ranges = page.Ranges(caption="Leaderboard", columns=columns, rows=rows, more=k - len(rows), rows_open=OPEN)
    yield page.Section.of(BOARD, told, ranges, printed=True, anchor="leaderboard")
    yield page.Section.of("How to read the leaderboard", *_key(result, pool, sure), level=3)
    yield _who_is_first(pool, sure)


def _rows(pool: Pool, *, scale: int, digits: int) -> Iterator[page.RangeRow]:
    band_of = {model: (b, len(band) > 1) for b, band in enumerate(pool.groups) for model in band}
    shown = pool.order[: None if len(pool.order) <= ALL else TOP].tolist()
    for place, (i, c) in enumerate(zip(shown, [*pool.neighbours, None], strict=False), start=1):
        low, value, high = (scale * float(a[i]) for a in (pool.low, pool.values, pool.high))
        sign = "" if c is None else ">" if c.survives else "<" if c.contradicted else "≈"
        hover = f"difference {c.difference:.4f}" if isinstance(c, ScoreComparison) else ""
        if isinstance(c, Comparison):
            hover = f"only this one right: {c.better_only:,} examples; only the next: {c.worse_only:,}"
        yield page.RangeRow(
            name=pool.names[i],
            value=value,
            low=low,
            high=high,
            value_text=page.fixed(value, digits),
            interval_text=page.pair((low, high), digits),
            rank=f"{place}" if pool.ranks is None else "–".join(dict.fromkeys(map(str, pool.ranks[i].tolist()))),
            next=sign,
            next_note="" if c is None else page.pvalue_text(c.log_adjusted),
            next_hover=hover,
            band=band_of[i][0],
            tied=band_of[i][1],
        )


def _key(result: Budget, pool: Pool, sure: str) -> Iterator[page.Block]:
    """How the columns are to be read, and what the intervals are."""
    rank = f"**Rank**: every rank the comparisons leave open; with probability {sure} all true ranks lie inside."
    test, level = f"the test of `heldout compare` over {pool.unit}", pool.level["union"]
    kind = f"Korn–Graubard’s: Clopper–Pearson’s at as many examples as the {pool.unit} are worth, by Student’s law."
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
        f"Intervals, at level {page.scientific(level)} each, so that an error of 0 has a width too, are {kind} "
        "Overlapping ones do not mean a tie: the paired comparison is far sharper."
    )


def _who_is_first(pool: Pool, sure: str) -> page.Section:
    """The models that may be first, and among the top 3 and 10; what the winner's score is worth."""
    winner, k = pool.winner, len(pool.names)
    facts = page.Facts.of(
        *(
            (f"May be {'first' if t == 1 else f'among the top {t}'}", f"{len(found):,} of {k:,}: {names}")
            for t, found in pool.top.items()
            if t < k and (names := page.names_text(pool.named(found)))
        ),
        ("Score of the first", f"{winner.score:.4f} ({page.quoted(winner.name)})"),
        ("Expected drop, fresh examples", page.fixed(winner.expected_drop)),
        ("Score to expect", page.fixed(winner.corrected)),
    )
    note = page.Note(EXCLUDED.format(sure=sure, unit=pool.unit))
    fold = page.Fold(title="How models are excluded, and where the drop comes from", blocks=(note,))
    return page.Section.of("Who may be first", facts, fold, printed=True)
