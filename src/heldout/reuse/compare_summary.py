"""What a comparison says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from heldout.summary import (
    Axis,
    Facts,
    Figure,
    Fold,
    Interval,
    IntervalChart,
    LineChart,
    Points,
    Prose,
    RangeRow,
    Ranges,
    Section,
    Series,
    Summary,
    Table,
)
from heldout.summary.names import TURNS, listed, name_text, shorten
from heldout.summary.numbers import counted, fixed, pair, percent, pvalue_text, sure_text

if TYPE_CHECKING:
    from heldout.reuse.compare_result import CompareAllResult, CompareResult, Parted

SHOWN, OPEN, LISTED = 5, 8, 50  # examples of each side that are printed, on the page, and there before a click or after
PAIRS_SHOWN, PAIRS = 40, 300  # pairs printed, and on the page
PAIR = 37  # characters of both names of a pair
SKIPPED = 5  # pairs left out that are named
WIDEST = 0.5  # interval of a sequence that is drawn
FEWEST = 20  # looks that are drawn

CARRIED = "McNemar's test carried over to {} (Gaffke's, of a bounded mean)"
TESTS = {
    "mcnemar": "McNemar's exact test",
    "scores": CARRIED.format("scores"),
    "groups": CARRIED.format("whole groups"),
    **dict.fromkeys(("sequence", "sequence of groups"), "confidence sequence by betting, valid at every look"),
}
NULLS = {
    "mcnemar": "both models are right equally often; examples are independent.",
    "scores": "the mean difference is 0, whatever its law; examples are independent.",
    "groups": "the mean difference over examples is 0, whatever its law; groups are independent.",
    "sequence": "the mean difference is 0, whatever was seen before; it must not depend on the order of the examples, "
    "so a sorted file breaks it. One may look after every one and stop at any time.",
    "sequence of groups": "the mean difference of the groups, each of which counts once, is 0, whatever was seen "
    "before; it must not depend on the order of the groups. One may look after every group and stop at any time.",
}
METHOD = (
    "Q. McNemar (1947), Psychometrika 12(2), 153–157; T. Tango (1998), Statistics in Medicine 17, 891–908; N. Gaffke "
    "(2005), Mathematical Methods of Statistics 14(4), 451–467; I. Waudby-Smith, A. Ramdas (2024), Journal of the "
    "Royal Statistical Society B 86(1), 1–27"
)
HOLM = "; S. Holm (1979), Scandinavian Journal of Statistics 6(2), 65–70"


def pair_summary(result: CompareResult) -> Summary:
    """What the comparison of one pair says."""
    groups = "" if result.n_groups is None else f" in {result.n_groups:,} groups"
    return Summary(
        kind="Comparison",
        headline=_headline(result),
        sentences=tuple(_sentences(result)),
        tone="quiet" if result.better is None else "neutral",
        subject=f"{result.source}: {result.n_examples:,} examples{groups}",
        figures=_figures(result),
        lines=tuple(_lines(result)),
        sections=tuple(_sections(result)),
        closing=(f"Null hypothesis: {result.null}",),
        origin=_origin(result),
        method=f"{METHOD}.",
    )


def all_summary(result: CompareAllResult) -> Summary:
    """What the comparison of several pairs says."""
    one, told = result.one, f"{result.n_told_apart:,} of {counted(result.n_pairs, 'pair')}"
    tests, nulls = (list(dict.fromkeys(getattr(p, name) for p in result.pairs)) for name in ("test", "null"))
    sentences = [f"Told apart means a p of at most {one.level:g}, family-wise (Holm)."]
    if result.skipped:
        some = [f"{name_text(a)} and {name_text(b)}" for a, b in result.skipped[:SKIPPED]]
        more = [counted(rest, "more pair")] if (rest := len(result.skipped) - SKIPPED) > 0 else []
        left = "pair is" if len(result.skipped) == 1 else "pairs are"
        sentences.append(
            f"{len(result.skipped):,} {left} left out for sharing fewer than two {one.unit}: {'; '.join(some + more)}."
        )
    return Summary(
        kind="Comparison of several pairs",
        headline=f"{told} {'is' if result.n_told_apart == 1 else 'are'} told apart",
        sentences=tuple(sentences),
        tone="neutral" if result.n_told_apart else "quiet",
        subject=f"{one.source}: {counted(result.n_pairs, 'pair')} of models",
        sections=(
            Section(title="Every pair, smallest p first", blocks=(_board(result),), printed=True, anchor="pairs"),
            Section(
                title="What it does not mean",
                blocks=(Points(("A pair that is not told apart is not equal: its interval says what is left open.",)),),
            ),
        ),
        closing=(
            f"Tested by {listed(tests)}. Null hypothesis: {' Or, for other pairs: '.join(nulls)}",
            "Holm’s procedure finds a little more than intervals that are valid at once: where they disagree, the "
            "verdict goes by Holm’s p.",
        ),
        origin=_origin(one),
        method=f"{METHOD}{HOLM}.",
    )


def moved_text(result: CompareResult) -> str:
    """What follows where the difference moved with the order."""
    return f"No single difference fits all looks. Take the {result.unit} in random order, or leave out --sequential."


def worse_text(result: CompareResult, fail_under: float) -> str:
    """Why a check failed."""
    p = pvalue_text(result.adjusted_log_p)
    return f"{result.first} is worse than {result.second} (p = {p}, below --fail-under {fail_under:g})."


def _headline(result: CompareResult) -> str:
    if result.ruling.outcome == "order matters":
        return f"The difference moved with the order of the {result.unit}"
    if result.better is None:
        return f"{name_text(result.first)} and {name_text(result.second)} are not told apart"
    return f"{name_text(result.better)} is better"


def _sentences(result: CompareResult) -> Iterator[str]:
    over = f"{result.n_examples:,} examples"
    if result.sequence is not None and result.n_groups is not None:
        over += f" in {result.n_groups:,} groups, each of which counts once"
    first, second = name_text(result.first), name_text(result.second)
    if result.binary:
        scores = f"{first} is right on {percent(result.score_first, 2)} and {second} on "
        scores += f"{percent(result.score_second, 2)} of {over}"
    else:
        scores = f"{first} scores {fixed(result.score_first)} and {second} {fixed(result.score_second)} on average over"
        scores += f" {over}"
    if result.ruling.outcome == "order matters":
        yield f"{scores}."
        yield moved_text(result)
        return
    holm = f", Holm over {result.n_pairs:,} pairs" if result.n_pairs > 1 else ""
    told = "significant" if result.better is not None else "not significant"
    p = f"p = {pvalue_text(result.adjusted_log_p)}{holm}"
    yield f"{scores}; the difference is {told} at level {result.level:g} ({p})."
    if result.better is None and math.isnan(result.detectable_difference):
        yield _never(result)
    elif result.better is None and result.sequence is None:
        yield f"A true difference of {fixed(result.detectable_difference)} would have been found four times in five."


def _never(result: CompareResult) -> str:
    """Why no difference whatsoever could have been found."""
    units = counted(result.n_examples, "example")
    if result.n_groups is not None:
        units = f"{counted(result.n_groups, 'group')} of these sizes"
    return f"{units} can never reach level {result.interval_level:.2g}, whatever they say."


def _digits(result: CompareResult) -> int:
    return 4 if result.n_examples < 100_000 else 5


def _interval(result: CompareResult) -> str:
    if math.isnan(result.interval[0]):
        return "no interval"
    return pair(result.interval, _digits(result), sign=True)


def _sides(result: CompareResult) -> str:
    first, second = name_text(result.first), name_text(result.second)
    if result.binary:
        return f"only {first} right: {result.first_only:,}; only {second} right: {result.second_only:,}"
    return f"{first} higher: {result.first_only:,}; {second} higher: {result.second_only:,}"


def _figures(result: CompareResult) -> tuple[Figure, ...]:
    digits, seen = _digits(result), result.detectable_difference
    within = f"{sure_text(result.interval_level)}: " if math.isfinite(result.interval[0]) else ""
    looks = "valid at every look" if result.sequence is not None else result.test
    return (
        Figure(name="Difference", value=fixed(result.difference, digits, sign=True), note=within + _interval(result)),
        Figure(name="p", value=pvalue_text(result.log_p_value), note=looks, strong=False),
        Figure(name="Discordant", value=counted(result.n_discordant, "example"), note=_sides(result), strong=False),
        Figure(
            name="Detectable difference",
            value=fixed(seen, digits),
            note=_never(result) if math.isnan(seen) else "a true difference that is found four times in five",
            strong=False,
        ),
    )


def _lines(result: CompareResult) -> Iterator[tuple[str, str]]:
    """The numbers that are printed."""
    s, seen = result.sequence, result.detectable_difference
    within = "no interval: it moved with the order"
    if math.isfinite(result.interval[0]):
        at = ", at every look at once" if s is not None else ""
        within = f"{sure_text(result.interval_level)}: {pair(result.interval, sign=True)}{at}"
    yield "difference", f"{fixed(result.difference, sign=True)} ({within})"
    yield "p", f"{pvalue_text(result.log_p_value)} ({result.test})"
    if math.isfinite(result.p_value_sign_flips):
        p = pvalue_text(math.log(max(result.p_value_sign_flips, 1e-300)))
        yield "p by flipped signs", f"{p} (beside the verdict: it takes differences of equal models to be symmetric)"
    if result.n_pairs > 1:
        yield "p, Holm", f"{pvalue_text(result.adjusted_log_p)} ({result.n_pairs:,} pairs)"
    yield "examples", _examples(result)
    yield "discordant", f"{result.n_discordant:,} ({_sides(result)})"
    found = f"{fixed(seen)} (true difference that is found four times in five, with one look)"
    yield "detectable difference", _never(result) if math.isnan(seen) else found
    if s is not None:
        first = f"not yet after {int(s.looks[-1]):,}" if s.first is None else f"after {s.first:,}"
        yield "zero is outside", f"{first} {result.unit}, in the order of the file"


def _examples(result: CompareResult) -> str:
    groups = f" in {result.n_groups:,} groups" if result.n_groups is not None else ""
    missing = f", {result.n_missing:,} left out that only one or none of them has" if result.n_missing else ""
    waiting = f"; the last {result.n_waiting:,} wait for the rest of their group" if result.n_waiting else ""
    return f"{result.n_examples:,}{groups}{missing}{waiting}"


def _sections(result: CompareResult) -> Iterator[Section]:
    if math.isfinite(result.interval[0]):
        yield Section(title="The difference", blocks=(_chart(result),))
    if result.sequence is not None:
        yield Section(title="Look by look", blocks=tuple(_sequence(result)))
    if means := tuple(_means(result)):
        yield Section(title="What this means", blocks=(Points(means),))
    yield Section(title="What it does not mean", blocks=(Points(tuple(_not_means(result))),))
    yield Section(title="What to do next", blocks=(Points(tuple(_next(result))),))
    yield Section(title="What was compared", blocks=(Facts(tuple(_facts(result))),))
    for first in (True, False):
        if rows := [row for row in result.parted if (row.first > row.second) == first]:
            yield _side(result, rows, first=first)


def _chart(result: CompareResult) -> IntervalChart:
    text = f"{fixed(result.difference, _digits(result), sign=True)} ({_interval(result)})"
    at = f"{result.interval_level:g}"
    return IntervalChart(
        title=f"{name_text(result.first)} less {name_text(result.second)}",
        x_label=f"difference of mean scores; {shorten(result.first.translate(TURNS), 20)} is better on the right",
        intervals=(Interval(name="Difference", value=result.difference, text=text, interval=result.interval),),
        reference=0.0,
        caption="" if result.sequence is not None else f"Zero is inside the interval exactly where p is above {at}.",
    )


def _sequence(result: CompareResult) -> Iterator[Prose | LineChart]:
    s, unit = result.sequence, result.unit
    assert s is not None
    n = f"{int(s.looks[-1]):,}"
    found = f"After {n} {unit} zero is still inside."
    if s.first is not None:
        found = f"Zero was outside for the first time after {s.first:,} of {n} {unit}."
    yield Prose(
        f"In {sure_text(s.level)} of such sequences the band holds the true difference at every look, so one may look "
        f"after every one of the {unit} and stop at any time. {found}"
    )
    # Early intervals hold nearly everything; the chart begins where they begin to tell.
    kept = np.flatnonzero(s.high - s.low < WIDEST)
    start = int(kept[0]) if len(kept) else len(s.looks) - FEWEST
    if s.first is not None:  # the look at which zero was left out is in the chart
        start = min(start, int(np.searchsorted(s.looks, s.first)) - 1)
    kept = np.arange(max(0, min(start, len(s.looks) - FEWEST)), len(s.looks))
    if s.moved:  # the band ends where nothing is left in it
        kept = kept[s.low[kept] <= s.high[kept]]
        kept = kept if len(kept) > 1 else np.arange(min(2, len(s.looks)))
    looks, means, low, high = (tuple(v[kept].tolist()) for v in (s.looks, s.means, s.low, s.high))
    yield LineChart(
        title="Difference after every look, with an interval that holds at all looks at once",
        caption="The band is what the intervals of all looks so far have in common, drawn from where it is narrow "
        f"enough to tell anything. It needs {unit} in an order that has nothing to do with the difference.",
        x=Axis(label=f"{unit} seen, in the order of the file", kind="log", spec=",.0f"),
        y=Axis(label="difference so far", spec="+.4f"),
        series=(Series(name="difference so far", x=looks, y=means, low=low, high=high, markers=False),),
        reference=(0.0, "equal"),
    )


def _means(result: CompareResult) -> Iterator[str]:
    digits, better = _digits(result), result.better
    if result.ruling.outcome == "not told apart":
        yield f"Either may be better: a difference of {_interval(result)} is compatible with these scores."
    if better is not None:
        size = sorted(abs(end) for end in result.interval)
        yield (
            f"{name_text(better)} is better by {pair((size[0], size[1]), digits)}: an interval made this way holds the "
            f"true difference in {sure_text(result.interval_level)} of test sets."
        )
    if math.isfinite(result.detectable_difference) and result.sequence is None:
        yield (
            f"The scores differ on {percent(result.n_discordant / result.n_examples)} of {result.n_examples:,} "
            f"examples; a true difference of {fixed(result.detectable_difference, digits)} is then found four times in "
            "five."
        )


def _not_means(result: CompareResult) -> Iterator[str]:
    if result.ruling.outcome == "not told apart":
        yield "“Not told apart” is not “equal”."
    yield (
        "The pair must have been named beforehand. The best looking of many pairs needs --all-pairs, which adjusts for "
        "their number."
    )
    if result.sequence is None:
        yield "This is one look. To look while examples come in, use --sequential from the start."


def _next(result: CompareResult) -> Iterator[str]:
    yield "Read the examples below: who is right where only one is says more than the difference."
    if result.ruling.outcome == "not told apart" and result.binary and result.n_groups is None:
        gap = f"{max(abs(result.difference), 0.001):.3f}"
        yield f"`heldout budget TABLE --needed --gap {gap}` says how many examples a difference of this size takes."
    if result.n_groups is None:
        yield (
            "If examples depend on each other (issues of one repository, frames of one video), name the groups with "
            "--groups."
        )


def _facts(result: CompareResult) -> Iterator[tuple[str, str]]:
    for role, name, score in (
        ("First", result.first, result.score_first),
        ("Second", result.second, result.score_second),
    ):
        yield role, f"{name_text(name)}: {f'{percent(score, 2)} right' if result.binary else f'mean {fixed(score)}'}"
    yield "Examples", _examples(result)
    if result.n_groups is not None:
        yield "Groups", f"{result.n_groups:,}, by {result.groups_named}; whole groups are the unit"
    yield "Test", result.test
    yield "Level", f"{result.level:g}"


def _side(result: CompareResult, rows: list[Parted], *, first: bool) -> Section:
    """Examples on which one of the two does better."""
    name, n = (result.first, result.first_only) if first else (result.second, result.second_only)
    title = f"Only {name_text(name)} is right" if result.binary else f"{name_text(name)} scores higher"
    shown = rows[:LISTED]
    columns = {"Example": [f"{row.position}" if row.id is None else row.id for row in shown]}
    if not result.binary:
        columns |= {"First": [f"{row.first:.3g}" for row in shown], "Second": [f"{row.second:.3g}" for row in shown]}
    if rows[0].label is not None:
        columns |= {
            "Label": [row.label or "" for row in shown],
            "First says": [row.first_answer or "" for row in shown],
            "Second says": [row.second_answer or "" for row in shown],
        }
    if any(row.text for row in shown):
        columns["Text"] = [row.text or "" for row in shown]
    cells = list(zip(*columns.values(), strict=True))
    words = ("Label", "First says", "Second says", "Text")
    opened = Table.of(title, tuple(columns), cells[:OPEN], words=words, more=n - len(cells[:OPEN]), rows_printed=SHOWN)
    folded = Table.of(f"{title}, further examples", tuple(columns), cells[OPEN:], words=words)
    fold = Fold(title=f"The next {len(folded.rows)} of these", blocks=(folded,))
    return Section(
        title=f"{title} ({counted(n, 'example')})",
        blocks=(opened, fold) if folded.rows else (opened,),
        printed=True,
        anchor="first" if first else "second",
    )


def _board(result: CompareAllResult) -> Ranges:
    one, pairs = result.one, result.ordered()
    sure = sure_text(one.level)
    return Ranges(
        caption=f"Intervals of the difference, first less second, are valid all at once with {sure}. > means that the "
        "first model is better, < that the second is, ~ that they are not told apart.",
        columns=("p, Holm", "Pair", "Difference", f"{sure}, all at once", "Differ"),
        rows=tuple(_board_row(row) for row in pairs[:PAIRS]),
        more=max(0, len(pairs) - PAIRS),
        rows_printed=PAIRS_SHOWN,
    )


def _board_row(row: CompareResult) -> RangeRow:
    digits = _digits(row)
    first, second = row.first.translate(TURNS), row.second.translate(TURNS)
    half = PAIR // 2
    short = shorten(first, max(half, PAIR - len(second))), shorten(second, max(half, PAIR - len(first)))
    sign = {"first": ">", "second": "<", None: "~"}[row.ruling.direction]
    low, high = row.interval if math.isfinite(row.interval[0]) else (row.difference, row.difference)
    return RangeRow(
        name=f"{short[0]} {sign} {short[1]}",
        value=row.difference,
        low=low,
        high=high,
        value_text=fixed(row.difference, digits, sign=True),
        interval_text=_interval(row),
        rank=pvalue_text(row.adjusted_log_p),
        next=f"{row.n_discordant:,}",
        next_note="differ",
        next_hover=f"{first} {sign} {second}: the scores differ on {counted(row.n_discordant, 'example')}",
    )


def _origin(result: CompareResult) -> tuple[tuple[str, str], ...]:
    return (
        ("heldout", result.version),
        ("Date", result.created),
        ("Source", result.source),
        ("Data digest", result.data_digest),
    )
