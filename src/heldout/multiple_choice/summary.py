"""What a test of printed orders says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from heldout import summary as page
from heldout.multiple_choice.left_out.reasons import OF_ITEMS, REASONS
from heldout.multiple_choice.result import MOST_UNREAD, UNEVEN, Exhibit, OptionsResult, UnreadAnswers, strength
from heldout.multiple_choice.sortedness import BY
from heldout.scorers.choices import LETTERS, UNPARSED

SCORE = "Score as printed"
LISTED, OPEN, SHOWN = 60, 10, 6  # items on the page, before it is unfolded, and shown in their orders
PRINTED = {True: 10, False: 3}  # by whether some are listed
MUCH = 0.05  # share of answers without an option from which on a reader is warned
LOST = "not_in_every_run"  # reason to be left out that may depend on what was answered
ODD = 0.05  # p from which on a reader is told that unread answers of runs lie unevenly
QUESTION = 70  # characters of a question in a table

HEADLINES = {
    "depends on the printed order": "The score depends on the printed order",
    "no dependence found": "No sign that the score depends on the printed order",
    "cannot tell": "Cannot tell whether the score depends on the printed order",
    "not applicable": "Not applicable",
}
CONDITIONAL = (
    "The verdict is the conditional test’s, declared up front: given how often each place holds the answer, all ways "
    "to choose one order for each item are equally likely for a model that has nothing to do with the printed one. It "
    "holds whatever places benchmark and model prefer, if each item was printed in an order of its own, and the place "
    "of the right answer has one law for all items with as many options"
)
DECLARED = (
    "The verdict is the Poisson-binomial test’s, since the printed orders were declared to be shuffled: each item is "
    "wrong as printed with the share of its orders that are wrong."
)
TORN = (
    "The printed order is a run of its own, and some answers of the runs could not be read. As declared up front, p "
    "counts these against a finding, as wrong where printed and as right in other orders: whatever the reasons were, "
    "no honest model is accused too often. Where another way to count them would find something, it cannot be told."
)
ARBITRARY = (
    "Besides the answer’s place, printed orders are taken to be arbitrary; items whose set of options suggests "
    "otherwise are left out, whatever their order."
)
KINDS = {
    "all": "all orders of its options",
    "cyclic": "cyclic shifts of its options",
    "drawn": "orders drawn for each item by itself",
    "logged": "orders found in the runs",
}
MEANT = {
    "depends on the printed order": "The model is right as printed more often than its own answers in other orders "
    "explain. By chance alone a model that has nothing to do with the printed orders does as well with a probability "
    "of at most {p}. Where none of the points below applies, the likely reason is that it has met the benchmark, or "
    "something that was made from it, in this order or with these letters.",
    "no dependence found": "The printed orders are to this model as others are, as far as this test sees: look at the "
    "detectable share.",
    "cannot tell": "Nothing, for the model or against it: there was too little to compare.",
}
WORSE_MEANT = (
    "The model is wrong as printed more often than its own answers in other orders explain. Having seen the benchmark "
    "does not do that; a printed order that is harder than others does, for example with the most tempting wrong "
    "option first, or a run as printed that was made in another way."
)
WITHIN = " of a stratum"
SORTED_MEANT = (
    "The model is right as printed more often than its own answers in other orders explain: either it has met the "
    "benchmark, or it does better with options sorted as these are; this test cannot tell which."
)
NOT_MEANT = (
    "A model that knows the text of the answers by heart is right in every order, and is not found here: this is about "
    "the printed order, or the printed letters, and nothing else.",
    "An honest model stands out where benchmark and model share a habit that the test takes to be arbitrary, such as "
    "the most plausible wrong option next to the right one.",
    "An honest model stands out, too, where some sources print the answer at other places than others do, and are "
    "harder or answered by habit: tell them apart with --strata, or by giving each source as a file of its own.",
    "An honest model stands out where one order was chosen for many items at once. Of items with the same options one "
    "is tested for that reason, unless orders are declared to be shuffled; items that share some options are all kept, "
    "and whether these stand in one order is checked.",
    "An item on the list is a suspect, not a culprit: some are best in the printed order by chance.",
)
RUNS_NOT_MEANT = (
    "The printed order is a run of its own here: whatever else that run had for itself, such as another date, another "
    "server, or another version of the model under the same name, looks like knowledge of the printed order."
)
NEXT = "What to do next"
NEXT_ALONE = (
    "Ask for a letter with all options in sight, as `--endpoint` and `--hf` do, the solver `multiple_choice` of "
    "inspect_ai, and those tasks of lm-evaluation-harness whose choices are letters (mmlu is one).",
)
NEXT_FOUND = (
    "Report the score over shuffled orders instead of the printed one.",
    "Read the items at the top of the list, and look for the benchmark as printed in the training data.",
    "Compare with a model that is older than the benchmark: it should not stand out.",
)
NEXT_WORSE = (
    "Compare the items that are wrong as printed and right in other orders: what do their printed orders share?",
    "Where the orders are from several runs, run all of them again together.",
)
NEXT_QUIET = (
    "More items find smaller shares: the detectable share falls with the square root of their number.",
    "For the texts of questions and answers rather than their order: `heldout exposure`, or `heldout audit --scores` "
    "with fresh items.",
)
NEXT_ORDERS = {
    True: "Add runs in more orders, drawn for each item by itself, so that the answer keeps its place in some of them.",
    False: "Ask in more orders of each item (--orders all, or a number), so that the answer keeps its place in some.",
}
READABLE = {
    True: "Make runs that allow more tokens for an answer, or ask for the letter alone.",
    False: "Raise --max-tokens (models that reason: 4096), or ask for the letter alone with --template.",
}  # both by whether there are runs already
NEXT_UNREAD = (
    "A model that refuses to answer, or cannot follow the format in any order, cannot be tested this way; one that is "
    "run from a folder (--hf) tells log-probabilities of the letters, which can always be read.",
)
METHOD = (
    "J. Besag, P. Clifford (1989), Biometrika 76(4), 633–642; Y. Benjamini, Y. Hochberg (1995), Journal of the Royal "
    "Statistical Society B 57(1), 289–300; Y. Hong (2013), Computational Statistics & Data Analysis 59, 41–51."
)


def options_summary(result: OptionsResult) -> page.Summary:
    """What the test says."""
    told = result.verdict not in ("not applicable", "cannot tell")
    tested = result.n_items > 0
    figures, drawn = (_figures(result), f"{result.n_resamples:,}") if tested else ((), None)
    if not told:
        figures = tuple(figure for figure in figures if figure.name == SCORE)  # p of a test that tells nothing misleads
    found = result.verdict == "depends on the printed order"
    return page.Summary(
        kind="Options",
        headline=HEADLINES[result.verdict],
        sentences=tuple(_sentences(result)),
        tone="found" if found else "quiet" if told else "neutral",
        subject=f"{result.model} on {result.source}: {page.counted(result.n_items or result.n_given, 'item')}",
        figures=figures,
        warnings=tuple(_warnings(result)),
        lines=(*((f.name, f"{f.value} ({f.note})") for f in figures), *_facts(result)),
        sections=tuple(_sections(result))
        if tested
        else (page.Section.of(NEXT, page.Points(NEXT_ALONE), printed=True),),
        closing=(
            DECLARED if result.uniform else f"{CONDITIONAL}{WITHIN * _is_parted(result)}.",
            *([] if result.complete is None else [TORN]),
            ARBITRARY,
        )
        if told
        else (),
        origin=page.origin(result, ("Model", result.model), ("Arrangements drawn", drawn)),
        method=METHOD,
    )


def _sentences(result: OptionsResult) -> Iterator[str]:
    if result.ruling.reason:
        yield f"{result.ruling.reason[:1].upper()}{result.ruling.reason[1:].rstrip('.')}."
    if result.verdict in ("not applicable", "cannot tell"):
        return
    where = "over all orders" if result.uniform else "in other orders, with each place holding the answer as often"
    expected = f"{page.fixed(result.errors_expected, 1)} ± {page.fixed(result.errors_spread, 1)}"
    c = result.complete
    if c is None:
        yield (
            f"p = {page.p_text(result.p_value)}: {result.errors_printed:,} of {result.n_items:,} items are wrong as "
            f"printed; {expected} are expected {where}."
        )
    else:
        p_wrong, p_whole = _both(result, c)
        own = f"{page.fixed(c.errors_expected, 1)} ± {page.fixed(c.errors_spread, 1)}"
        whole = (
            f", and {page.p_text(p_whole)} on the {page.counted(c.n_items, 'item')} of which every order’s answer "
            f"could be read ({c.errors_printed:,} wrong as printed; {own} expected)"
        )
        yield (
            f"p = {page.p_text(result.p_value)} with unread answers counted against a finding, "
            f"{page.p_text(p_wrong)} with all of them as wrong ({result.errors_printed:,} of {result.n_items:,} wrong "
            f"as printed; {expected} expected {where}){whole if math.isfinite(p_whole) else ''}."
        )
    if result.items and all(item.wrong_others == item.wrong_printed for item in result.items):
        yield "Each item is right in all of its orders, or wrong in all of them."
    if _worse(result):
        yield "The model does worse as printed: this is not what having seen the benchmark does."
    if result.verdict == "no dependence found":
        yield _detectable(result)


def _both(result: OptionsResult, complete: UnreadAnswers) -> tuple[float, float]:
    """The verdict's test with unread answers as wrong, and of the items that have none."""
    name = "poisson_binomial" if result.uniform else "conditional"
    return getattr(result.p_values, name), getattr(complete.p_values, name)


def _shown_p(result: OptionsResult, name: str) -> str:
    """Of a test; with unread answers counted as the verdict's test counts them."""
    return page.p_text(getattr(result.p_values if result.complete is None else result.complete.p_against, name))


def _sides(result: OptionsResult) -> str:
    """Unread answers as printed, and in other orders."""
    n, many = result.n_items, result.n_answers - result.n_items
    unread = result.unparsed_printed
    others = page.of_text(result.unparsed - unread, many)
    return f"as printed {page.of_text(unread, n)}, in other orders {others}"


def _is_parted(result: OptionsResult) -> bool:
    """Whether there are more strata than numbers of options."""
    return result.n_strata > len(result.positions.counts)


def _worse(result: OptionsResult) -> bool:
    return result.verdict == "depends on the printed order" and result.errors_printed > result.errors_expected


def _detectable(result: OptionsResult) -> str:
    sides = "" if result.alternative == "overfitted" else ", two-sided"
    told = f"at level {result.level:g}{sides}"
    if result.complete is not None and result.complete.p_uneven <= UNEVEN:
        return "How small a share would have been found cannot be told, since unread answers are not spread evenly."
    if math.isnan(result.detectable):
        return f"Not even a model that has memorised every printed order would be found ({told})."
    named = " and named an option for each" if is_often_unread(result) else ""
    return (
        f"Had the model memorised the printed order of {page.percent(result.detectable)} of the items{named}, it would "
        f"have been found (power 0.8 {told}, by the normal approximation and the errors measured here); a smaller "
        "share may go unseen."
    )


def is_skewed(result: OptionsResult) -> bool:
    """Whether right answers are not printed at all places alike."""
    return result.positions.p_value <= result.level


def is_often_unread(result: OptionsResult) -> bool:
    """Whether so many answers name no option that a reader must know."""
    return result.n_answers > 0 and result.unparsed > MUCH * result.n_answers


def _warnings(result: OptionsResult) -> Iterator[str]:
    if result.verdict == "not applicable":
        return
    if result.uniform and is_skewed(result):
        yield (
            "The printed orders were declared to be shuffled, but right answers are not at all places alike (p = "
            f"{page.p_text(result.positions.p_value)}): the Poisson-binomial p does not hold then. Leave --shuffled "
            f"out; the conditional test has p = {_shown_p(result, 'conditional')}."
        )
    at = [k for k, counts in result.positions.counts.items() if max(counts) == sum(counts)]
    if len(at) == len(result.positions.counts) and is_skewed(result):
        yield (
            "All right answers stand at one place, as files that list the answer first have it: if the benchmark was "
            "published in other orders, give ITEMS in these. Letters known by heart cannot be seen here."
        )
    if not result.sorted:
        yield "The texts of the options are not known: items whose order is not arbitrary could not be left out."
    elif all(check.n_items == 0 for check in result.sorted):
        yield "Whether options are printed sorted could not be checked: no item can tell."
    for name, told in result.differences.items():
        yield (
            f"Answers to different orders differ in more than these ({name}: {page.names_text(told)}): a change in "
            "between looks like knowledge of the printed order, or hides it. Run all orders together, an endpoint with "
            "an empty cache."
        )
    lost = result.left_out.get(LOST, 0)
    if lost:
        yield (
            f"{page.counted(lost, 'item')} {'is' if lost == 1 else 'are'} left out that some run lacks or has no "
            "answer to. p holds only if that has nothing to do with the answers: where one run lost answers, and wrong "
            "ones more often, an honest model looks as if it knew the printed order, or as if it did not. Run the rest."
        )
    if result.mid_p:
        yield "p is a mid-p, which is not valid: it may be too small, by up to half the probability of what was seen."
    judged = result.verdict in ("depends on the printed order", "no dependence found")
    seeds = page.other_draws(result.p_value, result.n_resamples, result.level)
    if judged and not result.uniform and seeds is not None:
        yield f"{seeds} More --resamples decide it."
    c = result.complete
    if c is not None and (is_often_unread(result) or c.p_uneven <= ODD):
        uneven = f", which is uneven (p = {page.p_text(c.p_uneven)})" if c.p_uneven <= ODD else ""
        yield (
            f"Answers from which no option could be read: {_sides(result)}{uneven}. The printed order is a run of its "
            "own: one that was cut off, or failed, looks like knowledge of the printed order, or hides it. "
            f"{READABLE[True]}"
        )
    elif c is None and is_often_unread(result):
        valid = ", which is valid and costs power" if result.kind != "logged" and not result.differences else ""
        yield (
            f"Answers from which no option could be read: {page.of_text(result.unparsed, result.n_answers)}. They "
            f"count as wrong{valid}. {READABLE[result.kind == 'logged']}"
        )


def _figures(result: OptionsResult) -> tuple[page.Figure, ...]:
    p, n = result.p_values, result.n_items
    sides = "one-sided" if result.alternative == "overfitted" else "two-sided"
    others = (
        f"not the verdict’s: Poisson-binomial {_shown_p(result, 'poisson_binomial')}, valid only if orders were "
        "shuffled"
    )
    if result.uniform:
        others = f"not the verdict’s: conditional {_shown_p(result, 'conditional')}"
    ranks = f"sum of ranks {_shown_p(result, 'ranks')}" if math.isfinite(p.ranks) else "ranks not applicable"
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


def _facts(result: OptionsResult) -> Iterator[tuple[str, str]]:
    told = result.verdict != "not applicable"
    yield "Items", f"{result.n_items:,} of {result.n_given:,} tested" if told else f"{result.n_given:,}, none tested"
    left = sum(result.left_out.values())
    if left:
        why = ", ".join(f"{_reason(reason)} {count:,}" for reason, count in result.left_out.items())
        among = "" if result.n_items + left == result.n_given else " of those drawn"
        yield "Left out", f"{left:,}{among}: {why}"
    if not told:
        return
    if _is_parted(result):
        yield "Strata", f"{result.n_strata:,}: number of options within each file, task or value of --strata"
    which = f"up to {result.n_orders:,} of an item, the printed one included"
    yield "Orders", f"{which}: {KINDS[result.kind]}; {result.n_answers:,} answers"
    unread = f"{page.of_text(result.unparsed, result.n_answers)} of the answers, {result.unparsed_printed:,} as printed"
    refused = f", {result.refused:,} refused by the endpoint" if result.refused else ""
    c = result.complete
    if c is None:
        yield "No option could be read", f"{unread}{refused}; count as wrong"
    else:
        yield "No option could be read", f"{_sides(result)} (even: p = {page.p_text(c.p_uneven)})"
        p_wrong, p_whole = map(page.p_text, _both(result, c))
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


def _sections(result: OptionsResult) -> Iterator[page.Section]:
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
    yield page.Section.of("What it means", _meant(result))
    if not stuck:
        yield page.Section.of("What it does not mean", page.Points(_not_meant(result)))
    yield page.Section.of(NEXT, page.Points(_next(result)), printed=stuck)
    asked = ((_reason(name).capitalize(), " ⏎ ".join(text.splitlines())) for name, text in result.asked.items())
    yield page.Section.of("What was tested", page.Facts((*_facts(result), *asked)))


def _meant(result: OptionsResult) -> str:
    if _worse(result):
        return WORSE_MEANT
    if result.verdict == "depends on the printed order" and any(check.is_found for check in result.sorted):
        return SORTED_MEANT
    return MEANT[result.verdict].format(p=page.p_text(result.p_value))


def _next(result: OptionsResult) -> tuple[str, ...]:
    if _worse(result):
        return NEXT_WORSE
    if result.verdict == "depends on the printed order":
        return NEXT_FOUND
    if result.verdict == "cannot tell":
        unread, logged = result.unparsed > MOST_UNREAD * result.n_answers, result.kind == "logged"
        if result.complete is not None and not unread:
            return READABLE[True], NEXT_ORDERS[True]
        return (READABLE[logged], *NEXT_UNREAD) if unread else (NEXT_ORDERS[logged],)
    return NEXT_QUIET


def _not_meant(result: OptionsResult) -> tuple[str, ...]:
    return (*NOT_MEANT, *([RUNS_NOT_MEANT] if result.kind == "logged" else []))


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
    reasons = [(_reason(name), f"{count:,}", REASONS.get(name, "")) for name, count in result.left_out.items()]
    yield page.Table.of(
        "Items left out, by reason", ("Reason", "Items", "That is"), reasons, words=("That is",), minor=("That is",)
    )
    rows = [(item.id, _reason(item.reason)) for item in result.left_out_items]
    columns, more = ("Item", "Reason"), max(0, len(rows) - LISTED)
    which = page.Table.of("Items left out", columns, rows[:LISTED], words=("Reason",), more=more)
    yield page.Fold(title="Which they are", blocks=(which,))


def _reason(name: str) -> str:
    return name.replace("_", " ")
