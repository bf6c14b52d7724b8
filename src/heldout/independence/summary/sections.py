"""The sections of an audit of pictures that hold charts, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from heldout import summary as page
from heldout.independence.drawn import Band
from heldout.independence.evidence import CONFIDENCE
from heldout.independence.result import AuditResult
from heldout.independence.summary import moves, words
from heldout.independence.untouched import ORIGINAL
from heldout.statistics.power import LEVEL

FIRST = 8  # pictures that are shown unfolded
MODELS_SHOWN, MODELS_PRINTED = 200, 10  # rows of the table of models
SURE = f"{100 * CONFIDENCE:g}{page.PERCENT}"
USUAL_VIEW = (
    "Where the other views differ far among themselves, the pictures most likely have a usual view, and nothing "
    "follows from the test; where they do not, they may still have one."
)
Group = tuple[str, tuple[page.Picture, ...], tuple[str, ...]]
Estimate = tuple[str, float, tuple[float, float] | None]


def two_estimates(result: AuditResult) -> page.Section:
    """R_S, R_g, the control's error and the unweighted adversarial error on one axis."""
    e, c = result.evidence, result.evidence.control
    framed = ", in the frame" if ORIGINAL in result.untouched_pictures else ""
    estimates: list[Estimate] = [
        (page.symbols(f"Test error R_S{framed}"), e.test_error, e.intervals["test_error"]),
        (page.symbols("Adversarial estimate R_g"), e.adversarial_estimate, e.intervals["adversarial_estimate"]),
        ("Adversarial error, unweighted", e.adversarial_error, None),
    ]
    if c is not None:
        estimates.insert(2, (f"Control error{framed}", c.frame_error, c.frame_error_interval))
    beside = ""
    if c is not None:
        beside = f"; on the control, moved in the same way, by **{page.fixed(c.mean_statistic, 5, sign=True)}**, and "
        beside += "only what they differ by beyond that speaks about the test set"
    note = (
        f"Intervals, {SURE}: Bernstein's for R_g and for averages over models, exact for the error rates of one "
        "model, Korn and Graubard's with groups. Overlap is not the test: T, measured example by example, is far "
        "sharper. The unweighted error is a worst case or an average over moves, no estimate of the true error."
    )
    return page.Section.of(
        "Two estimates of one error",
        f"If the model is independent of the test set and {moves.neutral(result.orbit)}, the test error R_S and the "
        "adversarial estimate R_g estimate the same true error. Here they differ by mean T = R_g − R_S = "
        f"**{page.fixed(e.statistic, 5, sign=True)}**{beside}.",
        page.Note("T = L(g(x))·h(g(x)) − L(x) for every picture x: L is 1 where the model is wrong and 0 where it is "
                  "right, g(x) is the moved picture, and h is its weight, which makes up for choosing the move."),
        page.Table.estimates("Estimates of the error rate", ("Estimate", "Error rate", f"{SURE} interval"), estimates),
        page.Note(note),
    )  # fmt: skip


def views(result: AuditResult) -> Iterator[page.Section]:
    """The error rate in every view, as they stand first."""
    of = result.evidence.views
    if of is None:
        return
    names = ("As they stand", *(words.capital(name) for name in of.view_names[1:]))
    rows: list[Estimate] = list(zip(names, of.view_errors, of.view_intervals, strict=True))
    low, high = (max(0.0, min(1.0, of.expected_error + k * of.deviation)) for k in (-1.96, 1.96))
    rows.insert(1, ("Expected as they stand", of.expected_error, (low, high)))
    yield page.Section.of(
        "As they stand, and in every view",
        "If the model is independent of how these pictures are arranged, and every view of a picture was as likely as "
        "the others, the pictures as they stand are one draw from their views: wrong as often as all views are, up to "
        "chance. The orbit test counts this chance exactly.",
        page.Table.estimates("Error rate by view", ("View", "Error rate", "Interval"), rows),
        page.Note(
            f"Intervals of views are {SURE} ones, each on its own; that of what is expected is where the error rate as "
            "they stand falls in 95 of 100 cases, if both hold. Only the pictures as they stand are tested."
        ),
        f"{moves.declared(result.orbit, is_verdict=result.evidence.verdict_by == 'orbit')} "
        f"{moves.usual_view(result.orbit)}{' ' + USUAL_VIEW if len(of.view_names) > 2 else ''}",
    )


def references(result: AuditResult) -> Iterator[page.Section]:
    """How sure the model is, less what references lead one to expect, and which pictures look seen."""
    leak = result.leak
    if leak is None:
        return
    yield page.Section.of(
        "Against references",
        "Models agree on what is hard. So the audited ones are compared with the references: how sure they are of the "
        "true label of each untouched picture (the margin: its log-odds, averaged over models, clipped to −5 and 10), "
        "less what the references lead one to expect. Seen pictures lie above that.",
        words.residual_chart(leak, "margin less what the references lead one to expect", words.MEAN_AND_TAIL),
    )
    shown: list[Group] = []
    for x in result.seen_pictures:
        label = page.class_text(x.label, result.class_names)
        margin = f"margin {page.fixed(x.margin, 1, sign=True)}, expected {page.fixed(x.expected, 1, sign=True)}"
        picture = page.Picture(pixels=x.picture, alt=f"Test picture {x.id}, {label}")
        shown.append((label, (picture,), (f"example {x.id}", margin, f"p = {page.p_text(x.p_value)}")))
    silent = "Those below are the most suspicious ones and **not significant**: in any test set some are."
    yield page.Section.of(
        "Pictures that look seen",
        "A larger control allows shorter lists; all pictures that are listed are in the saved result.",
        silent if shown and not leak.seen.n_listed else None,
        *_folded(shown),
        level=3,
    )


def _folded(groups: Sequence[Group]) -> Iterator[page.Block]:
    """Pictures, after the first few folded."""
    if groups:
        yield page.Pictures(groups=tuple(groups[:FIRST]))
    if rest := tuple(groups[FIRST:]):
        yield page.Fold(title=f"{len(rest)} more", blocks=(page.Pictures(groups=rest),))


def control(result: AuditResult) -> Iterator[page.Section]:
    """Both differences between test set and control."""
    c = result.evidence.control
    if c is None:
        return
    tests = {"T, within class": c.statistic, "Error rate, within class": c.error_difference}
    rows = [(name, of.difference, of.interval if of.standard_error > 0 else None) for name, of in tests.items()]
    columns = ("Test minus control", "Difference", f"95{page.PERCENT} interval")
    yield page.Section.of(
        "Against the control",
        f"What {'shifting' if moves.only_shifts(result.orbit) else 'moving'} costs on its own, it costs on the "
        "control too; only the difference speaks about the test set. "
        "Differences are taken within every class and weighted, so they need not equal the plain ones.",
        page.Table.estimates("Test minus control", columns, rows, 5, reference=0.0),
        page.Note(
            "T is above zero where moves hurt more on the test set than on fresh data: the model fits its pictures as "
            "they stand. The error rate is below zero where the test set is easier; it is stronger for gross leaks. "
            f"Permutations within class, of whole groups where there are any: {c.statistic.n_resamples:,}. One-sided "
            "p-values look for overfitting only, and count only where that was declared beforehand."
        ),
    )


def growth(result: AuditResult) -> page.Section:
    """p-values and both error estimates against the sample size."""
    curve = result.drawn.curve
    sizes = tuple(float(point.size) for point in curve)

    def line(name: str, field: str, style: page.Style, unit: float = 1.0) -> page.Series:
        bands: list[Band] = [getattr(point, field) for point in curve]
        mean, low, high = (tuple(getattr(b, end) / unit for b in bands) for end in ("mean", "low", "high"))
        return page.Series(name=page.symbols(name), x=sizes, y=mean, low=low, high=high, style=style)

    x, ten = page.Axis(label="sample size (log scale)", kind="log", whole=True, spec=",.0f"), math.log(10.0)
    charts = (
        page.LineChart(
            title="p-value against sample size",
            x=x,
            y=page.Axis(label="p (log scale)", kind="decades"),
            series=(
                *([line("orbit test", "orbit", "c", ten)] if curve[0].orbit is not None else []),
                line("betting", "betting", "a", ten),
                line("Bernstein", "bernstein", "b", ten),
            ),
            reference=(math.log10(LEVEL), f"{LEVEL:g}"),
        ),
        page.LineChart(
            title="Both error estimates against sample size",
            x=x,
            y=page.Axis(label="error rate", spec=".4f"),
            series=(
                line("test error R_S", "test_error", "a"),
                line("adversarial estimate R_g", "adversarial_estimate", "b"),
            ),
        ),
    )
    verdict = " With a control these p-values are not the verdict." * (result.evidence.control is not None)
    note = page.Note(
        f"Means over {curve[0].n_subsets} random subsets per size, one at n = {curve[-1].size:,}. Bands of p-values go "
        "from the smallest to the largest: subsets overlap, so they show how much the choice of examples decides and "
        f"are no standard errors. Bands of errors are {SURE} Bernstein intervals, averaged.{verdict}"
    )
    return page.Section.of("How the evidence of the test set alone grows", page.SideBySide(charts=charts), note)


def exhibits(result: AuditResult) -> page.Section:
    """The pictures that were right and became wrong, or why there are none."""
    why = "no picture that was right became wrong when moved"
    if result.rule in ("random", "random2"):
        why = f"the rule “{result.rule}” averages over moves and chooses none"
    opening = (
        f"The model {page.quoted(result.model_names[0])} is right on these as they stand, on the left, and wrong once "
        "they are moved, on the right. Both are shown as it saw them. The largest T come first. "
        "The weight of a moved picture is one over one plus the number of right pictures that would move onto it."
    )
    shown: list[Group] = []
    for x in result.exhibits:
        classes, move = (x.label, x.predicted, x.moved_predicted), moves.move_text(x.move)
        label, before, after = (page.class_text(k, result.class_names) for k in classes)
        pictures = (
            page.Picture(pixels=x.original, alt=f"Picture {x.id} as it stands, predicted {before}"),
            page.Picture(pixels=x.moved, alt=f"The same picture, {move}, predicted {after}"),
        )
        lines = (f"{move} · weight {page.fixed(x.weight, 3)}", f"label {label} · example {x.id}")
        shown.append((f"{before} → {after}", pictures, lines))
    text = opening if shown else f"None to show: {why}."
    return page.Section.of("The most telling pictures", text, *_folded(shown))


def statistic(result: AuditResult) -> page.Section:
    """How T is spread over the examples."""
    h, counts, n = result.drawn.statistic, result.test.counts, result.n_examples
    n_drawn, n_pairs = h.n_below + h.n_above, sum(counts.values())
    below = [count * (low + high < 0) for count, (low, high) in zip(h.counts, pairwise(h.edges), strict=True)]
    chart = page.histogram(
        f"The {n_drawn:,} values of T that are not zero",
        page.Axis(label="T of one example (zeros left out)", spec=".3f"),
        "examples",
        h.edges,
        ("below zero", below, "a"),
        ("above zero", [count - left for count, left in zip(h.counts, below, strict=True)], "b"),
    )
    pairs = " (pairs of model and example)" if result.n_models > 1 else ""
    return page.Section.of(
        "The statistic, example by example",
        chart if n_drawn else "There is nothing to draw: every T is zero.",
        page.Facts.of(
            ("T = 0", page.of_text(h.n_zero, n)),
            ("T above zero", page.of_text(h.n_above, n)),
            ("T below zero", page.of_text(h.n_below, n)),
            ("Standard deviation", page.fixed(h.standard_deviation)),
            ("Range that the rule guarantees", page.pair(result.orbit.statistic_range(result.rule), 3)),
            (f"Untouched: right, under every move too{pairs}", page.of_text(counts["untouched"], n_pairs)),
            (f"Adversarial: right, but wrong once moved{pairs}", page.of_text(counts["adversarial"], n_pairs)),
            (f"Wrong as they stand{pairs}", page.of_text(counts["wrong"], n_pairs)),
        ),
    )


def models(result: AuditResult) -> Iterator[page.Section]:
    """Every model on its own, and groups of them."""
    n = result.n_models
    if n == 1:
        return
    histograms = tuple(
        page.histogram(
            f"N = {of.size}: {len(of.log_p_values)} groups",
            page.Axis(label="betting p on the test set alone", spec=".1f"),
            "groups",
            [i / 10 for i in range(11)],
            ("groups", of.counts, "a"),
            caption=f"{sum(p <= math.log(LEVEL) for p in of.log_p_values)} of {len(of.log_p_values)} at or below "
            f"{LEVEL:g}; smallest {page.pvalue_text(min(of.log_p_values))}, largest "
            f"{page.pvalue_text(max(of.log_p_values))}",
        )
        for of in result.drawn.model_groups
    )
    yield page.Section.of(
        "One model against many",
        "T is averaged over the N models of a group before the test, which takes out the chance of one training; the "
        f"verdict is on all {n}. Groups share their examples, so these p-values are dependent: do not combine them.",
        page.SideBySide(charts=histograms),
    )
    rows = [
        (name, page.fixed(of.error), page.fixed(of.statistic, 5, sign=True), page.pvalue_text(of.log_p_value),
         page.p_text(of.holm))
        for name, of in zip(result.model_names[:MODELS_SHOWN], result.drawn.models, strict=False)
    ]  # fmt: skip
    table = page.Table.of(f"p is betting's, not adjusted for {n} models; Holm's is",
                          ("Model", "Error", "Mean T", "p", "Holm"), rows, more=n - len(rows),
                          rows_printed=MODELS_PRINTED)  # fmt: skip
    yield page.Section.of("Each model alone, on the test set alone", table, level=3, printed=True)


def p_values(result: AuditResult) -> page.Section:
    """Every p-value, the verdict's first."""
    e, c, leak = result.evidence, result.evidence.control, result.leak
    p, side = {name: page.pvalue_text(v) for name, v in e.log_p_values.items()}, words.side_text(result.alternative)
    alone, planned = words.side_text(result.alternative, result.tolerance), e.planned_audits
    verdict_side, by_shifts = words.side_text(result.verdict_alternative), moves.only_shifts(result.orbit)
    rows = [("Leak test, against references", page.p_text(leak.p_value), verdict_side)] if leak else []
    if c is not None:
        twice = min(1.0, 2 * min(c.statistic.p_value, c.error_rate.p_value))
        rows += [
            ("Test against control", page.p_text(twice),
             f"{side}; T and error rate: twice the smaller p, which pays for looking twice; 1 at most"),
            ("Control on its own", page.pvalue_text(c.invariance_log_p_value),
             f"betting, two-sided; small where {'shifting' if by_shifts else 'moving'} alone moves T"),
        ]  # fmt: skip
    if e.views is not None:
        rows.append(("Orbit test", p["orbit"], f"test set alone, {side}; errors as they stand against all views; exact "
                     "where every view was as likely as the others"))  # fmt: skip
    rows += [
        ("Betting", p["betting"], f"test set alone, {alone}; averaged over orders; finds the smallest effects on T"),
        ("Mixture", p["mixture"], "test set alone; an e-value, needs no order"),
        ("Bernstein, capped", p["bernstein"], "test set alone; equation 8 of the paper"),
        ("Bernstein, uncapped", p["bernstein_uncapped"], "test set alone; as in figure 9 of the paper"),
        ("Two intervals", p["intervals"], "test set alone; appendix A of the paper, the weakest"),
    ]  # fmt: skip
    rows[0] = (rows[0][0], page.pvalue_text(result.ruling.log_p_value), rows[0][2])
    counts = "" if c is None else " Where the control’s own p is small, only the comparison with it counts."
    caption = "The first is the verdict, as declared beforehand: the smallest of several p-values is not a p-value"
    table = page.Table.of(caption, ("Test", "p", "Notes"), rows, words=("Notes",), minor=("Notes",), chosen=0,
                          role="the verdict" + f", times {planned} planned audits" * (planned > 1))  # fmt: skip
    orders = page.Note(f"Bernstein’s uncapped p only orders results where it is above 1.{counts}")
    return page.Section.of("Every p-value", table, orders, printed=True)
