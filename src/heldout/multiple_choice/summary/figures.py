"""The numbers of a test of printed orders, on the page and in print."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout import summary as page
from heldout.multiple_choice.result import OptionsResult
from heldout.multiple_choice.summary.words import both_p, is_parted, reason_text, shown_p, sides_text

SCORE = "Score as printed"
KINDS = {
    "all": "all orders of its options",
    "cyclic": "cyclic shifts of its options",
    "drawn": "orders drawn for each item by itself",
    "logged": "orders found in the runs",
}


def key_figures(result: OptionsResult) -> tuple[page.Figure, ...]:
    """p, the score as printed beside the one expected, and the share that would have been found."""
    p, n = result.p_values, result.n_items
    sides = "one-sided" if result.alternative == "overfitted" else "two-sided"
    others = (
        f"not the verdict’s: Poisson-binomial {shown_p(result, 'poisson_binomial')}, valid only if orders were shuffled"
    )
    if result.uniform:
        others = f"not the verdict’s: conditional {shown_p(result, 'conditional')}"
    ranks = f"sum of ranks {shown_p(result, 'ranks')}" if math.isfinite(p.ranks) else "ranks not applicable"
    c = result.complete
    two = "" if c is None else "unread answers counted against it; "
    expected = page.percent(1 - result.errors_expected / n)
    share = "none" if math.isnan(result.detectable) else page.percent(result.detectable)
    basis = f"of items memorised as printed, with power 0.8 at level {result.level:g}; normal approximation, plug-in"
    elsewhere = f"{page.percent(1 - result.errors_others)} over the other orders"
    if c is not None:
        elsewhere += ", unread answers as wrong"
        if c.n_items:
            elsewhere += (
                f"; {page.percent(1 - c.errors_printed / c.n_items)} as printed on the "
                f"{page.counted(c.n_items, 'item')} with all answers read, "
                f"{page.percent(1 - c.errors_expected / c.n_items)} expected"
            )
    return page.figures(
        (
            "p",
            page.p_text(result.p_value),
            f"{sides}{_least(result)}{', mid-p, not valid' * result.mid_p}; {two}{others}; {ranks}",
        ),
        (
            SCORE,
            page.percent(1 - result.errors_printed / n),
            elsewhere if result.verdict == "cannot tell" else f"{expected} expected; {elsewhere}",
        ),
        ("Detectable share", share, basis),
    )


def _least(result: OptionsResult) -> str:
    """That p can be no smaller, where it is as small as draws can make it."""
    least = (1 if result.alternative == "overfitted" else 2) / (result.n_resamples + 1)
    at_least = not result.uniform and result.p_value <= least
    return f", no smaller with {result.n_resamples:,} draws" if at_least else ""


def facts(result: OptionsResult) -> Iterator[tuple[str, str]]:
    """What was tested, left out and not read."""
    told = result.verdict != "not applicable"
    yield "Items", f"{result.n_items:,} of {result.n_given:,} tested" if told else f"{result.n_given:,}, none tested"
    left = sum(result.left_out.values())
    if left:
        why = ", ".join(f"{reason_text(reason)} {count:,}" for reason, count in result.left_out.items())
        among = "" if result.n_items + left == result.n_given else " of those drawn"
        yield "Left out", f"{left:,}{among}: {why}"
    if not told:
        return
    if is_parted(result):
        yield "Strata", f"{result.n_strata:,}: number of options within each file, task or value of --strata"
    which = f"up to {result.n_orders:,} of an item, the printed one included"
    yield "Orders", f"{which}: {KINDS[result.kind]}; {result.n_answers:,} answers"
    unread = f"{page.of_text(result.unparsed, result.n_answers)} of the answers, {result.unparsed_printed:,} as printed"
    refused = f", {result.refused:,} refused by the endpoint" if result.refused else ""
    c = result.complete
    if c is None:
        yield "No option could be read", f"{unread}{refused}; count as wrong"
    else:
        yield "No option could be read", f"{sides_text(result)} (even: p = {page.p_text(c.p_uneven)})"
        p_wrong, p_whole = map(page.p_text, both_p(result, c))
        whole = f"{p_whole} on {page.counted(c.n_items, 'item')} with all answers read"
        yield "p, counted otherwise", f"{p_wrong} with unread answers as wrong; {whole}"
    if result.n_repeated:
        yield "Same answer twice", f"{page.percent(result.repeat_rate)} of {result.n_repeated:,} asked twice"
    yield "Answer positions", _positions_text(result)
    yield "Level", f"{result.level:g}"


def _positions_text(result: OptionsResult) -> str:
    counts = "; ".join(
        f"{', '.join(f'{c:,}' for c in places)}" + (f" of {k} options" if len(result.positions.counts) > 1 else "")
        for k, places in result.positions.counts.items()
    )
    return f"{counts} as printed (uniform: p = {page.p_text(result.positions.p_value)})"
