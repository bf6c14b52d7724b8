"""What a report says about a comparison, as plain data; the template only lays it out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heldout.pages import svg
from heldout.pages.budget.leaderboard import axis
from heldout.pages.numbers import NOT_DEFINED, PERCENT, fixed, pair, percent
from heldout.pages.svg.shapes import shorten
from heldout.reuse.compare_result import MOVED, CompareAllResult, CompareResult, Parted, p_text

__all__ = ["summarise", "summarise_all"]

LONGEST = 40  # characters of a model's name
LISTED = 50  # examples shown on each side
WIDEST = 0.5  # interval of a sequence that is drawn
FEWEST = 20  # looks that are drawn
OPEN = 8  # of them before the fold
PAIRS = 300  # pairs shown


def summarise(result: CompareResult) -> dict[str, Any]:
    """Everything the template shows of one pair."""
    return {
        "headline": headline(result),
        "tone": "quiet" if result.better is None else "neutral",
        "sentence": result.sentence(),
        "subject": f"{result.source}: {result.n_examples:,} examples{_inside(result)}",
        "numbers": _numbers(result),
        "chart": _chart(result),
        "agrees": ""
        if result.sequence is not None
        else f"Zero is inside the interval exactly where p is above {result.interval_level:g}: both say the same.",
        "sequence": _sequence(result),
        "means": _means(result),
        "not_means": _not_means(result),
        "next": _next(result),
        "facts": _facts(result),
        "sides": [side for side in (_side(result, first=True), _side(result, first=False)) if side is not None],
        "origin": _origin(result),
    }


def summarise_all(result: CompareAllResult) -> dict[str, Any]:
    """Everything the template shows of several pairs."""
    one = result.pairs[0]
    rows = result.ordered()[:PAIRS]
    ends = [end for row in rows for end in row.interval if math.isfinite(end)] or [-1.0, 1.0]
    low, high, step = axis(min(ends), max(ends))
    grid = [low + i * step for i in range(round((high - low) / step) + 1)]
    return {
        "headline": f"{result.n_told_apart:,} of {len(result):,} pairs are told apart",
        "tone": "neutral" if result.n_told_apart else "quiet",
        "sentence": result.sentence(),
        "subject": f"{one.source}: {len(result):,} pairs of models",
        "axis": [f"{value:+.3g}".replace("-", "−") for value in (low, high)],
        "rows": [_pair_row(row, (low, high), grid) for row in rows],
        "more": max(0, len(result) - len(rows)),
        "sure": f"{100 * (1 - one.level):.6g}{PERCENT}",
        "level": f"{one.level:g}",
        "test": one.test,
        "not_means": [
            "A pair that is not told apart is not equal: its interval says what is left open.",
            "Holm’s procedure finds a little more than intervals that hold all at once: where they disagree, the "
            "verdict goes by Holm’s p.",
            f"What is tested: {one.null}",
        ],
        "origin": _origin(one),
    }


def headline(result: CompareResult) -> str:
    """The answer in a few words."""
    if result.verdict == MOVED:
        return "The difference moved with the order"
    if result.better is None:
        return "Not told apart"
    return f"{shorten(result.better, LONGEST)} is better"


def _inside(result: CompareResult) -> str:
    return "" if result.n_groups is None else f" in {result.n_groups:,} groups"


def _digits(result: CompareResult) -> int:
    return 4 if result.n_examples < 100_000 else 5


def _numbers(result: CompareResult) -> list[tuple[str, str, str]]:
    sure = f"{100 * (1 - result.interval_level):.6g}{PERCENT}"
    digits = _digits(result)
    seen = result.detectable_difference
    part = "right" if result.binary else "higher"
    first, second = (shorten(name, LONGEST) for name in (result.first, result.second))
    within = f"{sure}: {pair(result.interval, digits, sign=True)}" if result.verdict != MOVED else "no interval"
    return [
        ("Difference", fixed(result.difference, digits, sign=True), within),
        ("p", p_text(result.log_p_value), "valid at every look" if result.sequence is not None else result.test),
        ("They part on", f"{result.n_discordant:,} examples",
         f"only {first} {part}: {result.first_only:,}; only {second}: {result.second_only:,}"),
        ("Could have been seen", fixed(seen, digits) if math.isfinite(seen) else NOT_DEFINED,
         result.never or "true difference found four times in five"),
    ]  # fmt: skip


def _chart(result: CompareResult) -> str | None:
    if not all(math.isfinite(end) for end in result.interval):
        return None
    digits = _digits(result)
    text = f"{fixed(result.difference, digits, sign=True)} ({pair(result.interval, digits, sign=True)})"
    return svg.interval_chart(
        [svg.Row(name="", value=result.difference, text=text, interval=result.interval)],
        label=f"Difference of {result.first} and {result.second}: {text}",
        x_label=f"difference of mean scores; right of the line {shorten(result.first, LONGEST)} is better",
        reference=0.0,
    )


def _sequence(result: CompareResult) -> dict[str, Any] | None:
    s = result.sequence
    if s is None:
        return None
    # Early intervals hold nearly everything; the picture begins where they begin to tell.
    kept = np.flatnonzero(s.high - s.low < WIDEST)
    start = int(kept[0]) if len(kept) else len(s.looks) - FEWEST
    if s.first is not None:  # the look at which zero was left out is in the picture
        start = min(start, int(np.searchsorted(s.looks, s.first)) - 1)
    kept = np.arange(max(0, min(start, len(s.looks) - FEWEST)), len(s.looks))
    if s.moved:  # the band ends where nothing is left in it
        kept = kept[s.low[kept] <= s.high[kept]]
        kept = kept if len(kept) > 1 else np.arange(min(2, len(s.looks)))
    looks, means, low, high = (v[kept].tolist() for v in (s.looks, s.means, s.low, s.high))
    rows = zip(looks, means, low, high, strict=True)
    chart = svg.line_chart(
        [
            svg.Series(
                name="difference so far",
                x=looks,
                y=means,
                low=low,
                high=high,
                hover=[f"after {n:,}: {m:+.4f} ({a:+.4f} to {b:+.4f})" for n, m, a, b in rows],
                markers=False,
            )
        ],
        label=f"Difference after every look, with an interval that holds at all looks at once; the last is "
        f"{low[-1]:+.4f} to {high[-1]:+.4f}",
        x_label=f"{result.unit} seen, in the order of the file",
        y_label="difference so far",
        x_log=True,
        reference=(0.0, "equal"),
        named=False,
    )
    return {
        "chart": chart,
        "first": None if s.first is None else f"{s.first:,}",
        "n": f"{int(s.looks[-1]):,}",
        "unit": result.unit,
        "sure": f"{100 * (1 - s.level):.6g}{PERCENT}",
    }


def _means(result: CompareResult) -> list[str]:
    low, high = result.interval
    digits = _digits(result)
    points = [f"{result.scores_sentence()}"]
    if result.better is not None:
        size = sorted((abs(low), abs(high)))
        points.append(
            f"{result.better} is better by {fixed(size[0], digits)} to {fixed(size[1], digits)}: an interval made this "
            f"way holds the true difference in {100 * (1 - result.interval_level):.6g}{PERCENT} of test sets."
        )
    elif result.verdict == MOVED:
        points.append(result.verdict_sentence())
    else:
        points.append(
            f"Either may be better: a difference between {pair(result.interval, digits, sign=True)} is compatible with "
            "these answers."
        )
    if math.isfinite(result.detectable_difference) and result.sequence is None:
        points.append(
            f"On {result.n_examples:,} examples, of which the two part on "
            f"{percent(result.n_discordant / result.n_examples)}, a true difference of "
            f"{fixed(result.detectable_difference, digits)} is found four times in five."
        )
    return points


def _not_means(result: CompareResult) -> list[str]:
    points = [f"What is tested: {result.null}"]
    if result.better is None:
        points.append("“Not told apart” is not “equal”.")
    points.append(
        "The pair must have been named beforehand. The best looking of many pairs needs `--all-pairs`, which adjusts "
        "for their number."
    )
    if result.sequence is None:
        points.append("This is one look. To look while examples come in, use `--sequential` from the start.")
    return points


def _next(result: CompareResult) -> list[str]:
    steps = ["Read the examples below: who is right where only one is says more than the difference."]
    if result.better is None and result.binary and result.n_groups is None:
        steps.append(
            f"`heldout budget TABLE --needed --gap {max(abs(result.difference), 0.001):.3f}` says how many examples a "
            "difference of this size takes."
        )
    if result.n_groups is None:
        steps.append(
            "If examples depend on each other (issues of one repository, frames of one video), name the groups with "
            "`--groups`."
        )
    return steps


def _facts(result: CompareResult) -> list[tuple[str, str]]:
    facts = [
        ("First", f"{result.first}: {_score(result, result.score_first)}"),
        ("Second", f"{result.second}: {_score(result, result.score_second)}"),
        ("Examples", f"{result.n_examples:,} that both have"
         + (f"; {result.n_missing:,} left out" if result.n_missing else "")),
    ]  # fmt: skip
    if result.n_groups is not None:
        facts.append(("Groups", f"{result.n_groups:,}, by {result.groups_named}; whole groups are the unit"))
    facts += [("Test", result.test), ("Level", f"{result.level:g}")]
    return facts


def _score(result: CompareResult, score: float) -> str:
    return f"{percent(score, 2)} right" if result.binary else f"mean score {fixed(score)}"


def _side(result: CompareResult, *, first: bool) -> dict[str, Any] | None:
    """Examples on which one of the two does better."""
    rows = [row for row in result.parted if (row.first > row.second) == first]
    if not rows:
        return None
    name = shorten(result.first if first else result.second, LONGEST)
    n = result.first_only if first else result.second_only
    shown = [_row(row) for row in rows[:LISTED]]
    return {
        "title": f"Only {name} is right" if result.binary else f"{name} scores higher",
        "id": "first" if first else "second",
        "n": f"{n:,}",
        "open": shown[:OPEN],
        "folded": shown[OPEN:],
        "more": f"{n - len(shown):,}" if n > len(shown) else None,
        "answers": rows[0].label is not None,
        "text": any(row.text for row in rows[:LISTED]),
        "scores": not result.binary,
    }


def _row(row: Parted) -> dict[str, Any]:
    return {
        "id": row.id if row.id is not None else f"{row.position}",
        "first": f"{row.first:.3g}",
        "second": f"{row.second:.3g}",
        "label": row.label or "",
        "first_answer": row.first_answer or "",
        "second_answer": row.second_answer or "",
        "text": row.text or "",
    }


def _pair_row(row: CompareResult, ends: tuple[float, float], grid: list[float]) -> dict[str, Any]:
    low, high = (min(max(end, ends[0]), ends[1]) for end in row.interval)
    digits = _digits(row)
    difference, interval = fixed(row.difference, digits, sign=True), pair(row.interval, digits, sign=True)
    told = f"{row.first} less {row.second}: {difference} ({interval})"
    return {
        "first": shorten(row.first, LONGEST),
        "second": shorten(row.second, LONGEST),
        "difference": difference,
        "interval": interval,
        "p": p_text(row.adjusted_log_p),
        "parts": f"{row.n_discordant:,}",
        "sign": {"first better": ">", "second better": "<"}.get(row.verdict, "≈"),
        "mark": svg.range_mark(row.difference, (low, high), low=ends[0], high=ends[1], grid=grid, label=told),
    }


def _origin(result: CompareResult) -> list[tuple[str, str]]:
    return [("heldout", result.version), ("Source", result.source), ("Data digest", result.data_digest)]
