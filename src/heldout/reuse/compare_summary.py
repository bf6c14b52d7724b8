"""What a comparison says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from heldout import summary as page
from heldout.reuse.compare_result import CompareAllResult, CompareResult, Parted
from heldout.reuse.doubted import doubted
from heldout.reuse.unit import Unit
from heldout.statistics.confidence_sequence import ConfidenceSequence
from heldout.statistics.paired import is_told

SHOWN, OPEN, LISTED = 5, 8, 50  # examples of each side that are printed, on the page, and there before a click or after
PAIRS_SHOWN, PAIRS = 40, 300  # pairs printed, or open on the page, and all on the page
PAIR, COLUMN = 37, 20  # characters of both names of a pair, and of a name that heads a column
SKIPPED = 5  # pairs left out that are named
WIDEST = 0.5  # interval of a sequence that is drawn: early ones hold nearly everything
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
    "groups": "the mean difference over examples is 0, whatever its law; groups are independent, and none that might "
    "have been drawn {}.",
    "sequence": "the mean difference is 0, whatever was seen before; it must not depend on the order of the examples, "
    "so a sorted file breaks it. One may look after every one and stop at any time.",
    "sequence of groups": "the mean difference of the groups, each of which counts once, is 0, whatever was seen "
    "before; it must not depend on the order of the groups. One may look after every group and stop at any time.",
}
NOT_EQUAL = "“Not told apart” is not “equal”: every difference inside the interval is compatible with these scores."
BEFOREHAND = (
    "The pair must have been named beforehand: the best looking of many needs --all-pairs, which adjusts for that."
)
ONE_LOOK = "This is one look. To look while examples come in, use --sequential from the start."
LARGEST_HERE, LARGEST_STATED = "is larger than the largest here", "has more than {:,} examples"
READ = "Read the examples below: who is right where only one is says more than the difference."
ENOUGH = "How many examples a difference of this size takes: `heldout budget TABLE --needed --gap {:.3f}`."
GROUPS = "If examples depend on each other (issues of a repository, frames of a video), name their groups by --groups."
LARGER = (
    "If a group could have been drawn that is larger than the largest here, say how many examples it may have by "
    "--largest-group: where such groups differ from these, equal models are told apart too often."
)
LOOKS = (
    "With probability {} the band, what the intervals of all looks so far have in common, holds the true difference at "
    "every look. It is drawn from where it is narrow enough to tell anything."
)
BOARD = (
    "First less second; intervals hold all at once with {}. > the first is better, < the second, ~ not told apart{}."
)
MOVED = ", ? no verdict: the difference moved with the order"
BY_HOLM = "Holm finds a little more than intervals that hold at once; where they disagree, the verdict is Holm’s."
METHOD = (
    "Q. McNemar (1947), Psychometrika 12(2), 153–157; T. Tango (1998), Statistics in Medicine 17, 891–908; N. Gaffke "
    "(2005), Mathematical Methods of Statistics 14(4), 451–467; I. Waudby-Smith, A. Ramdas (2024), J. R. Stat. Soc. B "
    "86(1), 1–27. Several pairs: S. Holm (1979), Scandinavian Journal of Statistics 6(2), 65–70."
)


def pair_summary(result: CompareResult) -> page.Summary:
    """What the comparison of one pair says."""
    (headline, sentences), figures, facts = _told(result), _figures(result), tuple(_facts(result))
    numbers = [(f.name, f"{f.value} ({f.note})") for f in figures]
    return page.Summary(
        kind="Comparison",
        headline=headline,
        sentences=sentences,
        tone="quiet" if result.better is None else "neutral",
        subject=f"{result.source}: {result.n_examples:,} examples",
        figures=figures,
        warnings=doubted(result.doubts),
        lines=(*numbers, *facts),
        sections=tuple(_sections(result, facts)),
        closing=(f"Null hypothesis: {result.null}",),
        origin=page.origin(result),
        method=METHOD,
    )


def all_summary(result: CompareAllResult) -> page.Summary:
    """What the comparison of several pairs says."""
    one, n_pairs, n_told = result.one, page.counted(result.n_pairs, "pair"), result.n_told_apart
    tests, nulls = (list(dict.fromkeys(getattr(p, name) for p in result.pairs)) for name in ("test", "null"))
    sentences = [f"Told apart means a p of at most {one.level:g}, family-wise (Holm)."]
    widest = max(result.pairs, key=lambda pair: pair.n_examples)
    groups = tuple(_groups(widest))
    if one.scored_by is not None:
        sentences.append(f"Scored by: {one.scored_by}.")
    moved = [pair for pair in result.pairs if pair.ruling.outcome == "order matters"]
    if moved:
        pairs = page.names_text([f"{pair.first} ? {pair.second}" for pair in moved], SKIPPED)
        sentences.append(f"Pairs without a verdict, whose difference moved with the order: {len(moved):,} ({pairs}).")
        sentences.append(moved_text(one))
    if result.skipped:
        pairs = page.names_text([f"{a} ~ {b}" for a, b in result.skipped], SKIPPED)
        sentences.append(f"Pairs left out, sharing fewer than two {one.unit}: {len(result.skipped):,} ({pairs}).")
    return page.Summary(
        kind="Comparison of several pairs",
        headline=f"{n_told:,} of {n_pairs} told apart",
        sentences=tuple(sentences),
        tone="neutral" if n_told else "quiet",
        subject=f"{one.source}: {n_pairs} of models",
        warnings=doubted(result.doubts),
        sections=(
            page.Section.of("Every pair, smallest p first", _board(result), printed=True, anchor="pairs"),
            page.Section.of("What it does not mean", page.Points((NOT_EQUAL,))),
            *([page.Section.of("What to do next", page.Points((LARGER,)))] if _larger_could_be(widest) else []),
            *([page.Section.of("What was compared", page.Facts(groups))] if groups else []),
        ),
        lines=tuple(groups),
        closing=(
            f"Tested by {page.listed(tests)}. Null hypothesis: {' Or, for other pairs: '.join(nulls)}",
            *[BY_HOLM] * (not moved),
        ),
        origin=page.origin(one),
        method=METHOD,
    )


def moved_text(result: CompareResult) -> str:
    """What follows where the difference moved with the order."""
    return f"No single difference fits all looks. Take the {result.unit} in random order, or leave out --sequential."


def worse_text(result: CompareResult, fail_under: float) -> str:
    """Why a check failed: the first model is worse, with a p that is below the threshold."""
    return f"{result.first} is worse than {result.second}: p = {_p_text(result.ruling.log_p_value, fail_under)}"


def null_text(result: CompareResult) -> str:
    """What was tested."""
    most = result.largest_group
    return NULLS[result.ruling.rests_on].format(LARGEST_HERE if most is None else LARGEST_STATED.format(most))


def _p_text(log_p: float, level: float) -> str:
    """A p-value, with as many digits as show on which side of the level it is."""
    texts = (page.pvalue_text(log_p), *(f"{math.exp(log_p):.{digits}g}" for digits in range(3, 17)))
    sides = {True: (t for t in texts if float(t) < level), False: (t for t in texts if float(t) > level)}
    return next(sides[bool(is_told(log_p, level))], texts[0])


def _once(result: CompareResult) -> str:
    """That a sequence takes the mean of each group, where it does."""
    once = result.ruling.rests_on == "sequence of groups"
    return f" in {result.n_groups:,} groups, each of which counts once" if once else ""


def _told(result: CompareResult) -> tuple[str, tuple[str, ...]]:
    """The headline, and the sentences below it."""
    first, second = page.quoted(result.first), page.quoted(result.second)
    one, two = map(Unit.of_pairs(result).score, (result.score_first, result.score_second))
    scores = f"{first} scores {one} and {second} {two} on {result.n_examples:,} examples{_once(result)}"
    if result.ruling.outcome == "order matters":
        return f"The difference moved with the order of the {result.unit}", (f"{scores}.", moved_text(result))
    holm = f", Holm over {result.n_pairs:,} pairs" if result.n_pairs > 1 else ""
    at = f"significant at level {result.level:g} (p = {_p_text(result.ruling.log_p_value, result.level)}{holm})."
    if result.better is None:
        return f"{first} and {second} are not told apart", (f"{scores}; the difference is not {at}",)
    return f"{page.quoted(result.better)} is better", (f"{scores}; the difference is {at}",)


def _figures(result: CompareResult) -> tuple[page.Figure, ...]:
    first, second, seen = page.quoted(result.first), page.quoted(result.second), result.detectable_difference
    moved = result.ruling.outcome == "order matters"
    looks = "as it moved with the order" if moved else "at every look at once" if result.sequence else ""
    unit = Unit.of_pairs(result)
    within = ", ".join(text for text in (unit.interval(result.interval), looks, _once(result).strip()) if text)
    share = page.percent(result.n_discordant / result.n_examples)
    sides = f"{share}; {first} scores higher on {result.first_only:,}, {second} on {result.second_only:,}"
    found = "a true difference that is found four times in five, with one look"
    if math.isnan(seen):
        units = f"{result.n_groups or result.n_examples:,} {result.unit}{' of these sizes' if result.n_groups else ''}"
        if result.largest_group is not None and result.n_groups:
            units += f", where one could have {page.counted(result.largest_group, 'example')},"
        found = f"with one look, {units} can never reach level {result.interval_level:.2g}, whatever they say"
    return page.figures(
        ("Difference", unit.difference(result.difference), f"{page.sure_text(result.interval_level)}: {within}"),
        ("p", _p_text(result.log_p_value, result.interval_level), result.test),
        ("Discordant", f"{result.n_discordant:,} of {result.n_examples:,}", sides),
        ("Detectable difference", unit.difference(seen, sign=False), found),
    )


def _facts(result: CompareResult) -> Iterator[tuple[str, str]]:
    """What else there is to know, on the page and in print."""
    if result.n_pairs > 1:
        yield "Adjusted p", f"{_p_text(result.ruling.log_p_value, result.level)} (Holm, {result.n_pairs:,} pairs)"
    if math.isfinite(result.p_value_sign_flips):
        p = page.p_text(result.p_value_sign_flips)
        yield "Flipped-sign p", f"{p} (beside the verdict: it takes differences of equal models to be symmetric)"
    if (s := result.sequence) is not None:
        look = "none" if s.first is None else f"{s.first:,}"
        yield "First look without zero", f"{look} of {int(s.looks[-1]):,} {result.unit}, in the order of the file"
    yield "Examples", f"{result.n_examples:,}"
    if result.scored_by is not None:
        yield "Scored by", result.scored_by
    if result.n_missing:
        yield "Left out", f"{page.counted(result.n_missing, 'example')} that only one or none of them has"
    yield from _groups(result)
    if result.n_waiting:
        yield "Not counted", f"{page.counted(result.n_waiting, 'example')} of the last group, of which more may come"
    yield "Level", f"{result.level:g}"


def _groups(result: CompareResult) -> Iterator[tuple[str, str]]:
    if result.groups_of_one is not None:
        yield "Groups", f"{page.groups_of_one(result.n_examples)} ({result.groups_of_one}); examples are the unit"
    elif result.n_groups is not None:
        largest, most = result.largest_drawn, result.largest_group
        here = "" if largest is None else f", the largest here of {page.counted(largest, 'example')}"
        could = "" if most is None else f", and none could have more than {most:,}"
        yield "Groups", f"{result.n_groups:,} ({result.groups_named}){here}{could}; whole groups are the unit"


def _larger_could_be(result: CompareResult) -> bool:
    """Whether groups that were not drawn could be larger than is known; those of a sample may all be of one."""
    grouped = result.ruling.rests_on == "groups" or result.groups_of_one is not None
    return grouped and result.largest_group is None and result.sequence is None


def _sections(result: CompareResult, facts: page.Rows) -> Iterator[page.Section]:
    alone, unnamed = result.n_groups is None, result.groups_named is None
    open_still = result.ruling.outcome == "not told apart" and result.binary and alone
    enough = ENOUGH.format(max(abs(result.difference), 0.001))
    if math.isfinite(result.interval[0]):
        yield _interval_section(result)
    if result.sequence is not None:
        yield page.Section.of("Look by look", _looks(result, result.sequence))
    limits = (result.better is None, NOT_EQUAL), (True, BEFOREHAND), (result.sequence is None, ONE_LOOK)
    yield page.Section.of("What it does not mean", page.Points.of(*limits))
    points = (True, READ), (open_still, enough), (unnamed, GROUPS), (_larger_could_be(result), LARGER)
    yield page.Section.of("What to do next", page.Points.of(*points))
    yield page.Section.of("What was compared", page.Facts(facts))
    for first in (True, False):
        if rows := [row for row in result.parted if (row.first > row.second) == first]:
            yield _side(result, rows[:LISTED], first=first)


def _interval_section(result: CompareResult) -> page.Section:
    sure = page.sure_text(result.interval_level)
    title = f"{page.quoted(result.first)} less {page.quoted(result.second)}"
    unit = Unit.of_pairs(result)
    low, high = map(unit.scaled, result.interval)
    rows = [(unit.named("Difference of mean scores"), unit.scaled(result.difference), (low, high))]
    columns = ("Estimate", "Value", f"{sure} interval")
    told = (
        f"Above zero {page.quoted(result.first)} is better. An interval made this way holds the true "
        f"difference in {sure} of test sets."
    )
    if result.sequence is None:
        told += f" Zero is inside exactly where p is above {result.interval_level:g}."
    table = page.Table.estimates(title, columns, rows, unit.digits, reference=0.0)
    return page.Section.of("The difference", table, page.Note(told))


def _looks(result: CompareResult, s: ConfidenceSequence) -> page.LineChart:
    there = np.flatnonzero(s.low <= s.high)  # where the difference moved, in the end nothing is left in the band
    narrow = np.flatnonzero((s.high - s.low)[there] < WIDEST)
    first = [] if s.first is None else [int(np.searchsorted(s.looks, s.first)) - 1]
    kept = there[max(0, min([*narrow[:1].tolist(), *first, len(there) - FEWEST])) :]
    unit, looks = Unit.of_pairs(result), tuple(s.looks[kept].tolist())
    means, low, high = (tuple((v[kept] * unit.scaled(1.0)).tolist()) for v in (s.means, s.low, s.high))
    return page.LineChart(
        title="Difference after every look, with an interval that holds at all looks at once",
        caption=LOOKS.format(page.sure_text(s.level)),
        x=page.Axis(label=f"{result.unit} seen, in the order of the file", kind="log", spec=",.0f"),
        y=page.Axis(label=unit.named("difference so far"), spec=f"+.{unit.digits}f"),
        series=(page.Series(name="difference so far", x=looks, y=means, low=low, high=high, markers=False),),
        reference=(0.0, "equal"),
    )


def _side(result: CompareResult, rows: list[Parted], *, first: bool) -> page.Section:
    """Examples on which one of the two does better."""
    name, n = (result.first, result.first_only) if first else (result.second, result.second_only)
    title = f"Only {page.quoted(name)} is right" if result.binary else f"{page.quoted(name)} scores higher"
    models = [page.shorten(page.name_text(model), COLUMN) for model in (result.first, result.second)]
    labelled, texts = rows[0].label is not None, any(row.text for row in rows)
    columns = ["Example", *["Label"] * labelled, *models, *["Text"] * texts]
    cells = []
    for row in rows:
        said = [f"{row.first:.3g}", f"{row.second:.3g}"]
        if labelled:
            said = [f"{row.label}", f"{row.first_answer}", f"{row.second_answer}"]
        cells.append((f"{row.position}" if row.id is None else row.id, *said, row.text or "")[: len(columns)])
    words, more, anchor = columns if labelled else ["Text"], n - len(cells), "first" if first else "second"
    table = page.Table.of(title, columns, cells, words=words, more=more, rows_open=OPEN, rows_printed=SHOWN)
    return page.Section.of(f"{title} ({page.counted(n, 'example')})", table, printed=True, anchor=anchor)


def _board(result: CompareAllResult) -> page.Table:
    pairs, sure = sorted(result.pairs, key=lambda pair: pair.log_p_value), page.sure_text(result.one.level)
    unit = Unit.of_pairs(*pairs)
    columns = ("p, Holm", "Pair", unit.named("Difference"), f"{sure}, all at once", "Differ")
    rows, more = (_board_row(row, unit) for row in pairs[:PAIRS]), max(0, len(pairs) - PAIRS)
    signs = MOVED if any(pair.ruling.outcome == "order matters" for pair in pairs) else ""
    shown = {"rows_printed": PAIRS_SHOWN, "rows_open": PAIRS_SHOWN}
    return page.Table.ranges(BOARD.format(sure, signs), columns, rows, more=more, **shown)


def _board_row(row: CompareResult, unit: Unit) -> page.Row:
    first, second = (name.translate(page.TURNS) for name in (row.first, row.second))
    short = [page.shorten(a, max(PAIR // 2, PAIR - len(b))) for a, b in ((first, second), (second, first))]
    sign = {"first": " > ", "second": " < ", None: " ~ "}[row.ruling.direction]
    if row.ruling.outcome == "order matters":
        sign = " ? "
    told = f"{first}{sign}{second}: the scores differ on {page.counted(row.n_discordant, 'example')}"
    between = unit.cell(row.difference, row.interval)
    p, differ = _p_text(row.ruling.log_p_value, row.level), page.Cell(text=f"{row.n_discordant:,}", hover=told)
    return page.Row(cells=(p, sign.join(short), unit.bare(row.difference), between, differ))
