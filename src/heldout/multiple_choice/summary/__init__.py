"""What a test of printed orders says."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout import summary as page
from heldout.multiple_choice.result import UNEVEN, OptionsResult
from heldout.multiple_choice.summary.figures import SCORE, facts, key_figures
from heldout.multiple_choice.summary.meaning import NEXT, NEXT_ALONE
from heldout.multiple_choice.summary.sections import sections
from heldout.multiple_choice.summary.seeds import verdict_seeds_text
from heldout.multiple_choice.summary.words import (
    READABLE,
    both_p,
    is_often_unread,
    is_parted,
    is_skewed,
    is_worse,
    shown_p,
    sides_text,
)

__all__ = ["options_summary"]

LOST = "not_in_every_run"  # reason to be left out that may depend on what was answered
ODD = 0.05  # p from which on a reader is told that unread answers of runs lie unevenly
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
WITHIN = " of a stratum"
METHOD = (
    "J. Besag, P. Clifford (1989), Biometrika 76(4), 633–642; Y. Benjamini, Y. Hochberg (1995), Journal of the Royal "
    "Statistical Society B 57(1), 289–300; Y. Hong (2013), Computational Statistics & Data Analysis 59, 41–51."
)


def options_summary(result: OptionsResult) -> page.Summary:
    """What the test says."""
    told = result.verdict not in ("not applicable", "cannot tell")
    tested = result.n_items > 0
    figures, drawn = (key_figures(result), f"{result.n_resamples:,}") if tested else ((), None)
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
        lines=(*((f.name, f"{f.value} ({f.note})") for f in figures), *facts(result)),
        sections=tuple(sections(result)) if tested else (page.Section.of(NEXT, page.Points(NEXT_ALONE), printed=True),),
        closing=(
            DECLARED if result.uniform else f"{CONDITIONAL}{WITHIN * is_parted(result)}.",
            *([] if result.complete is None else [TORN]),
            ARBITRARY,
        )
        if told
        else (),
        origin=page.origin(result, ("Model", result.model), ("Draws of orders", drawn)),
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
        p_wrong, p_whole = both_p(result, c)
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
    if is_worse(result):
        yield "The model does worse as printed: this is not what having seen the benchmark does."
    if result.verdict == "no dependence found":
        yield _detectable(result)


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


def _warnings(result: OptionsResult) -> Iterator[str]:
    if result.verdict == "not applicable":
        return
    if result.uniform and is_skewed(result):
        yield (
            "The printed orders were declared to be shuffled, but right answers are not at all places alike (p = "
            f"{page.p_text(result.positions.p_value)}): the Poisson-binomial p does not hold then. Leave --shuffled "
            f"out; the conditional test has p = {shown_p(result, 'conditional')}."
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
    seeds = verdict_seeds_text(result)
    if seeds is not None:
        yield seeds
    c = result.complete
    if c is not None and (is_often_unread(result) or c.p_uneven <= ODD):
        uneven = f", which is uneven (p = {page.p_text(c.p_uneven)})" if c.p_uneven <= ODD else ""
        yield (
            f"Answers from which no option could be read: {sides_text(result)}{uneven}. The printed order is a run of "
            "its own: one that was cut off, or failed, looks like knowledge of the printed order, or hides it. "
            f"{READABLE[True]}"
        )
    elif c is None and is_often_unread(result):
        valid = ", which is valid and costs power" if result.kind != "logged" and not result.differences else ""
        yield (
            f"Answers from which no option could be read: {page.of_text(result.unparsed, result.n_answers)}. They "
            f"count as wrong{valid}. {READABLE[result.kind == 'logged']}"
        )
