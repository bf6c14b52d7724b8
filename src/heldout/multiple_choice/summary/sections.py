"""The sections of a page on printed orders: its tables and charts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from heldout import summary as page
from heldout.multiple_choice.left_out.reasons import OF_ITEMS, REASONS
from heldout.multiple_choice.result import Exhibit, OptionsResult, strength
from heldout.multiple_choice.sortedness import BY
from heldout.multiple_choice.summary.figures import facts
from heldout.multiple_choice.summary.meaning import NEXT, meant, next_steps, not_meant
from heldout.multiple_choice.summary.words import is_skewed, reason_text
from heldout.scorers.choices import LETTERS, UNPARSED

LISTED, OPEN, SHOWN = 60, 10, 6  # items on the page, before it is unfolded, and shown in their orders
PRINTED = {True: 10, False: 3}  # by whether some are listed
QUESTION = 70  # characters of a question in a table


def sections(result: OptionsResult) -> Iterator[page.Section]:
    """All of them, in their order."""
    found, stuck = result.verdict == "depends on the printed order", result.verdict == "cannot tell"
    if not stuck:
        yield page.Section.of("As printed, against other orders", _histogram(result), anchor="errors")
        shown, title = ((*_exhibits(result),), "Items that do best as printed") if found else ((), "Item by item")
        title = "Items that look memorised" if found and result.n_listed else title
        yield page.Section.of(title, _evidence(result), _items(result), *shown, printed=True, anchor="items")
    yield page.Section.of(
        "Where the answers stand", _skew(result), *_positions(result), _sorted(result), anchor="positions"
    )
    yield page.Section.of("What was left out", *_left_out(result))
    yield page.Section.of("What it means", meant(result))
    if not stuck:
        yield page.Section.of("What it does not mean", page.Points(not_meant(result)))
    yield page.Section.of(NEXT, page.Points(next_steps(result)), printed=stuck)
    asked = ((reason_text(name).capitalize(), " ⏎ ".join(text.splitlines())) for name, text in result.asked.items())
    yield page.Section.of("What was tested", page.Facts((*facts(result), *asked)))


def _histogram(result: OptionsResult) -> page.LineChart | None:
    if len(result.draws) == 0:
        return None
    counted = "" if result.complete is None else ", unread answers counted as wrong as printed and else as right"
    return page.histogram(
        "Errors when each item stands in one of its orders, answers as often at each place",
        page.Axis(label="items that are wrong", whole=True, spec=",.4g"),
        "draws of orders",
        result.draw_edges.tolist(),
        ("other orders", result.draws.tolist(), "a"),
        caption=f"How many items are wrong as printed (dashed), and in draws of one order for each item{counted}.",
        verticals=(page.Vertical(x=float(result.errors_printed), text="as printed", style="b"),),
    )


def _evidence(result: OptionsResult) -> str:
    rate = page.percent(result.fdr, 0)
    told = f"Listed at a false discovery rate of {rate}: {page.of_text(result.n_listed, result.n_items)}."
    if not result.uniform:
        told += " Each order is weighted by how often answers are printed at its place, a plug-in."
    if result.complete is not None:
        told += " An item with an answer that could not be read has no rank."
    if math.isnan(result.p_values.ranks):
        return f"{told} Without log-probabilities, orders are told apart by right and wrong alone, which says little."
    told += (
        f" Best of all their orders as printed, alone: {result.n_first:,}, where chance gives about "
        f"{page.fixed(result.first_expected, 0)}."
    )
    if not result.shortest_list:
        told += f" With so few orders no list at {rate} is possible, however strong the evidence of each item."
    elif not result.n_listed:
        told += f" With so many orders a list at {rate} has at least {page.counted(result.shortest_list, 'item')}."
    return f"{told} All items together are the test."


def _items(result: OptionsResult) -> page.Table | None:
    rows = [
        (
            i.id,
            "wrong" if i.wrong_printed else "right",
            page.percent(1 - i.wrong_others, 0),
            f"{i.rank:g}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{i.n_orders}",
            page.p_text(i.p_value),
            page.p_text(i.q),
        )
        for i in sorted((i for i in result.items if i.rank < (i.n_orders + 1) / 2), key=strength)
    ]
    if not rows:
        return None
    columns = ("Item", "As printed", "Right in other orders", "Rank", "p", "q")
    caption = "Items that do better as printed than in most of their orders"
    shown = page.Table.of(caption, columns, rows[:LISTED], words=("As printed",), more=max(0, len(rows) - LISTED))
    return replace(shown, rows_printed=PRINTED[result.n_listed > 0], rows_open=OPEN)


def _exhibits(result: OptionsResult) -> Iterator[page.Fold]:
    for e in result.exhibits[:SHOWN]:
        texts = ", ".join(f"{LETTERS[i]}: {page.quoted(text)}" for i, text in enumerate(e.options))
        told = page.Prose(f"As printed: {texts}. Right: {LETTERS[e.answer]}.")
        yield page.Fold(title=f"{e.id}: {page.shorten(e.question, QUESTION)}", blocks=(told, _orders_table(e)))


def _orders_table(e: Exhibit) -> page.Table:
    scored = bool(np.isfinite(e.scores).any())
    rows = []
    answers = zip(e.orders.tolist(), e.chosen.tolist(), e.scores.tolist(), strict=True)
    for i, (order, chosen, score) in enumerate(answers):
        said = "none" if chosen == UNPARSED else LETTERS[chosen]
        right = chosen != UNPARSED and order[chosen] == e.answer
        which = "right" if right else "wrong" if chosen == UNPARSED else f"wrong: {LETTERS[order[chosen]]} in print"
        name = " ".join(LETTERS[option] for option in order)
        row = (f"{name} (as printed)" if i == 0 else name, LETTERS[order.index(e.answer)], said, which)
        rows.append((*row, page.fixed(math.exp(score), 3)) if scored else row)
    columns = (
        "Order",
        "Answer stands at",
        "Model says",
        "That is",
        *(("Probability of the answer",) if scored else ()),
    )
    words = ("Answer stands at", "Model says", "That is")
    caption = "Options by their printed letters, in the orders in which they were shown; what the model says by the "
    caption += "letters that it was shown"
    return page.Table.of(caption, columns, rows, words=words, chosen=0)


def _skew(result: OptionsResult) -> str:
    p = f"answers are printed at some places more often than at others (p = {page.p_text(result.positions.p_value)})"
    if not is_skewed(result):
        return f"No sign that {p}; which does not show that orders were shuffled."
    return (
        f"There is a skew: {p}. A model that prefers these places does better as printed without having seen anything, "
        "so that the Poisson-binomial test is not valid here; the conditional test is."
    )


def _positions(result: OptionsResult) -> Iterator[page.Table]:
    for k, counts in result.positions.counts.items():
        shares = [page.percent(count / sum(counts)) for count in counts]
        wrong = map(page.percent, result.positions.wrong[k])
        rows = zip(LETTERS, map("{:,}".format, counts), shares, wrong, strict=False)
        caption = f"Items with {k} options: where the right answer is printed, and errors when it stands there"
        yield page.Table.of(caption, ("Place", "Answers printed", "Share", "Errors over all orders"), rows)


def _sorted(result: OptionsResult) -> page.Table | None:
    rows = [
        (BY[c.by], f"{c.n_sorted:,} of {c.n_items:,} {c.unit}", page.fixed(c.expected, 1), page.p_text(c.p_value))
        for c in result.sorted
        if c.n_items
    ]
    caption = "How often wrong options (of two options: both) stand sorted as printed"
    return page.Table.of(caption, ("Sorted", "So many", "By chance", "p"), rows) if rows else None


def _left_out(result: OptionsResult) -> Iterator[page.Block | str]:
    if not result.left_out:
        yield "Nothing: no item’s set of options suggests an order."
        return
    if OF_ITEMS.keys() & result.left_out.keys():
        yield (
            "Where options have an order of their own, the printed one is not arbitrary. What is left out for that "
            "depends on questions and sets of options only, never on the printed order: that would bias the test. "
            "Wording is recognised in English; what other languages say is mostly kept."
        )
    reasons = [(reason_text(name), f"{count:,}", REASONS.get(name, "")) for name, count in result.left_out.items()]
    yield page.Table.of(
        "Items left out, by reason", ("Reason", "Items", "That is"), reasons, words=("That is",), minor=("That is",)
    )
    rows = [(item.id, reason_text(item.reason)) for item in result.left_out_items]
    columns, more = ("Item", "Reason"), max(0, len(rows) - LISTED)
    which = page.Table.of("Items left out", columns, rows[:LISTED], words=("Reason",), more=more)
    yield page.Fold(title="Which they are", blocks=(which,))
