"""The sections of an audit of pictures that hold charts, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from heldout import summary as page
from heldout.independence.drawn import Band
from heldout.independence.evidence import CONFIDENCE
from heldout.independence.result import AuditResult, Exhibit, SeenPicture
from heldout.independence.summary import leak as words
from heldout.independence.untouched import ORIGINAL
from heldout.statistics import ControlTestResult
from heldout.statistics.power import LEVEL

FIRST_EXHIBITS, FIRST_SEEN = 6, 12  # pictures that are shown unfolded
MODELS_OPEN, MODELS_MOST, MODELS_PRINTED = 12, 200, 10  # rows of the table of models
SURE = f"{100 * CONFIDENCE:g}{page.PERCENT}"
LN10 = math.log(10.0)
Group = tuple[str, tuple[page.Picture, ...], tuple[str, ...]]


def two_estimates(result: AuditResult) -> page.Section:
    """R_S, R_g, the control's error and the unweighted adversarial error on one axis."""
    e, c = result.evidence, result.evidence.control
    framed = ", in the frame" if ORIGINAL in result.untouched_pictures else ""
    estimates: list[tuple[str, float, tuple[float, float] | None, page.Style]] = [
        (page.symbols(f"Test error R_S{framed}"), e.test_error, e.intervals["test_error"], "a"),
        (page.symbols("Adversarial estimate R_g"), e.adversarial_estimate, e.intervals["adversarial_estimate"], "b"),
        ("Adversarial error, unweighted", e.adversarial_error, None, "d"),
    ]
    if c is not None:
        estimates.insert(2, (f"Control error{framed}", c.frame_error, c.frame_error_interval, "c"))
    chart = page.IntervalChart(
        title="Estimates of the error rate",
        caption=f"Intervals have {SURE} confidence: Bernstein's for R_g and for averages over models, exact ones for "
        "the error rates of one model, Korn and Graubard's with groups. Whether they overlap is not the test: T is "
        "measured example by example, which is far sharper. The unweighted adversarial error is a worst case, or an "
        "average over moves, and no estimate of the true error.",
        x_label=f"error rate, with {SURE} intervals",
        intervals=tuple(
            page.Interval(name=name, value=value, interval=ends, style=style,
                          text=page.fixed(value) + (f"  ({page.pair(ends)})" if ends else ""))
            for name, value, ends, style in estimates
        ),
    )  # fmt: skip
    return page.Section.of(
        "Two estimates of one error",
        "If the model is independent of the test set and small shifts are neutral, the test error R_S and the "
        "adversarial estimate R_g estimate the same true error. Here they differ by mean T = R_g − R_S = "
        f"**{page.fixed(e.statistic, 5, sign=True)}**.",
        page.Note("T = L(g(x))·h(g(x)) − L(x) for every picture x: L is 1 where the model is wrong and 0 where it is "
                  "right, g(x) is the moved picture, and h is its weight, which makes up for choosing the move."),
        chart,
    )  # fmt: skip


def references(result: AuditResult) -> tuple[page.Section, ...]:
    """How sure the model is, less what references lead one to expect, and which pictures look seen."""
    leak = result.leak
    if leak is None:
        return ()
    opening = (
        "Models agree on what is hard. So the audited ones are compared with references that cannot have seen more of "
        "the test set than of the control: how sure they are of the true label of each untouched picture (the margin: "
        "its log-odds, averaged over models, clipped to −5 and 10), less what the references lead one to expect. That "
        f"takes **{page.percent(leak.test.variance_removed, 0)}** off the variance. Seen pictures lie above what is "
        "expected. The verdict is by this test, as was declared beforehand by giving references; T and the error rate, "
        "below, stand beside it."
    )
    shown = [_seen_picture(x, result.class_names) for x in result.seen_pictures]
    silent = "Those below are the most suspicious ones and **not significant**: in any test set some are."
    return (
        page.Section.of(
            "Against references",
            opening,
            words.residual_chart(leak, "margin less what the references lead one to expect"),
            words.MEAN_AND_TAIL,
        ),
        page.Section.of(
            "Pictures that look seen",
            f"{words.capital(words.seen_text(leak.seen))}. A larger control allows shorter lists; all pictures that "
            "are listed are in the saved result.",
            silent if shown and not leak.seen.n_listed else None,
            *_folded(shown, FIRST_SEEN),
            level=3,
        ),
    )


def _seen_picture(x: SeenPicture, names: Sequence[str] | None) -> Group:
    label = class_text(x.label, names)
    picture = page.Picture(pixels=x.picture, alt=f"Test picture {x.id}, {label}")
    margin = f"margin {page.fixed(x.margin, 1, sign=True)}, expected {page.fixed(x.expected, 1, sign=True)}"
    return label, (picture,), (f"example {x.id}", margin, f"p = {page.p_text(x.p_value)}")


def _folded(groups: Sequence[Group], first: int) -> tuple[page.Block, ...]:
    """Pictures, from the first so many on folded."""
    shown, rest = (page.Pictures(groups=tuple(part)) for part in (groups[:first], groups[first:]))
    fold = page.Fold(title=f"{len(rest.groups)} more", blocks=(rest,))
    return tuple(block for block, groups in ((shown, shown.groups), (fold, rest.groups)) if groups)


def control(result: AuditResult) -> tuple[page.Section, ...]:
    """Both differences between test set and control."""
    c = result.evidence.control
    if c is None:
        return ()
    tests: tuple[tuple[str, ControlTestResult, int, page.Style], ...] = (
        ("T, within class", c.statistic, 1, "b"),
        ("Error rate, within class", c.error_rate, -1, "a"),
    )
    chart = page.IntervalChart(
        title="Test minus control",
        caption="T is above zero where moves hurt more on the test set than on fresh data: the model fits the test "
        "pictures as they stand. The error rate is below zero where the test set is easier than fresh data; it is the "
        "stronger of the two for gross leaks.",
        x_label=f"test minus control, with 95{page.PERCENT} intervals",
        intervals=tuple(
            page.Interval(name=name, value=sign * of.difference, text=page.fixed(sign * of.difference, 5, sign=True),
                          interval=words.interval(of, sign) if of.standard_error > 0 else None, style=style)
            for name, of, sign, style in tests
        ),
        reference=0.0,
    )  # fmt: skip
    opening = (
        "The control is taken to be fresh examples of the same source that were put aside beforehand. What shifting "
        "costs on its own, it costs there too; only the difference speaks about the test set. Like is compared with "
        "like: the differences are taken within every class and weighted, so they need not equal the plain ones."
    )
    one_sided = page.Note(
        f"{c.statistic.n_resamples:,} permutations within class, of whole groups where there are any. One-sided "
        "p-values look for overfitting only: a higher T, a lower error on the test set. They count only where that was "
        "declared beforehand."
    )
    return (page.Section.of("Against the control", opening, chart, one_sided),)


def growth(result: AuditResult) -> page.Section:
    """p-values and both error estimates against the sample size."""
    curve = result.drawn.curve
    sizes = tuple(float(point.size) for point in curve)
    x = page.Axis(label="sample size (log scale)", kind="log", whole=True, spec=",.0f")

    def series(name: str, style: page.Style, bands: Sequence[Band], unit: float = 1.0) -> page.Series:
        y, low, high = (tuple(getattr(b, end) / unit for b in bands) for end in ("mean", "low", "high"))
        return page.Series(name=name, x=sizes, y=y, low=low, high=high, style=style)

    p = page.LineChart(
        title="p-value against sample size",
        caption="Mean over random subsets, with the band from the smallest to the largest. v1: the first version of "
        "the paper, arXiv:1903.02380v1.",
        x=x,
        y=page.Axis(label="p (log scale)", kind="decades"),
        series=(
            series("betting", "a", [of.betting for of in curve], LN10),
            series("Bernstein (v1)", "b", [of.bernstein for of in curve], LN10),
        ),
        reference=(math.log10(LEVEL), f"{LEVEL:g}"),
    )
    errors = page.LineChart(
        title="Both error estimates against sample size",
        caption=f"With their {SURE} Bernstein intervals, averaged over the same subsets.",
        x=x,
        y=page.Axis(label="error rate", spec=".4f"),
        series=(
            series(page.symbols("test error R_S"), "a", [of.test_error for of in curve]),
            series(page.symbols("adversarial estimate R_g"), "b", [of.adversarial_estimate for of in curve]),
        ),
    )
    note = page.Note(
        f"{curve[0].n_subsets} random subsets per size, one at n = {curve[-1].size:,}. Subsets overlap, so the band "
        "shows how much the choice of examples decides and is not a standard error. With a control these p-values are "
        "not the verdict."
    )
    return page.Section.of(
        "How the evidence grows: p-values of the test set alone", page.SideBySide(charts=(p, errors)), note
    )


def exhibits(result: AuditResult) -> page.Section:
    """The pictures that were right and became wrong, or why there are none."""
    why = "no picture that was right became wrong when moved"
    if result.rule in ("random", "random2"):
        why = f"the rule “{result.rule}” averages over moves and chooses none"
    opening = (
        f"Right as they stand, wrong once moved, by {page.quoted(result.model_names[0])}. The largest T come first. "
        "The weight says how much a moved picture counts: one over one plus the number of right pictures that would "
        "move onto it."
    )
    shown = [_exhibit(x, result.class_names) for x in result.exhibits]
    text = opening if shown else f"None to show: {why}."
    return page.Section.of("The most telling pictures", text, *_folded(shown, FIRST_EXHIBITS))


def _exhibit(x: Exhibit, names: Sequence[str] | None) -> Group:
    label, before, after = (class_text(c, names) for c in (x.label, x.predicted, x.moved_predicted))
    move = move_text(x.move)
    pictures = (
        page.Picture(pixels=x.original, alt=f"Picture {x.id} as it stands, predicted {before}"),
        page.Picture(pixels=x.moved, alt=f"The same picture moved {move}, predicted {after}"),
    )
    lines = (f"{move} · weight {page.fixed(x.weight, 3)}", f"label {label} · example {x.id}")
    return f"{before} → {after}", pictures, lines


def class_text(number: int, names: Sequence[str] | None) -> str:
    """A class by name where it has one.

    Examples
    --------
    >>> class_text(1, ("cat", "dog")), class_text(7, ("cat", "dog")), class_text(0, None)
    ('dog', 'class 7', 'class 0')
    """
    return names[number] if names is not None and 0 <= number < len(names) else f"class {number}"


def move_text(move: tuple[int, int]) -> str:
    """A move (down, right) in words.

    Examples
    --------
    >>> move_text((3, 1)), move_text((-2, 0)), move_text((0, -1)), move_text((0, 0))
    ('3 down, 1 right', '2 up', '1 left', 'not moved')
    """
    names = (("down", "up"), ("right", "left"))
    return ", ".join(f"{abs(k)} {way[k < 0]}" for k, way in zip(move, names, strict=True) if k) or "not moved"


def statistic(result: AuditResult) -> page.Section:
    """How T is spread over the examples."""
    h, counts, n = result.drawn.statistic, result.test.counts, result.n_examples
    n_drawn, n_pairs = h.n_below + h.n_above, sum(counts.values())
    chart = page.Histogram(
        title=f"The {n_drawn:,} values of T that are not zero",
        x=page.Axis(label="T of one example (zeros left out)", spec=".3f"),
        y_label="examples",
        edges=h.edges,
        counts=h.counts,
        styles=tuple("a" if low + high < 0 else "b" for low, high in pairwise(h.edges)),
    )
    return page.Section.of(
        "The statistic, example by example",
        "T is the weighted loss after the move less the loss before.",
        chart if n_drawn else "There is nothing to draw: every T is zero.",
        page.Facts.of(
            ("T = 0", page.of_text(h.n_zero, n)),
            ("T above zero", page.of_text(h.n_above, n)),
            ("T below zero", page.of_text(h.n_below, n)),
            ("Standard deviation", page.fixed(h.standard_deviation)),
            ("Range that the rule guarantees", page.pair(result.orbit.statistic_range(result.rule), 3)),
            ("Untouched: right, under every move too", page.of_text(counts["untouched"], n_pairs)),
            ("Adversarial: right, but wrong once moved", page.of_text(counts["adversarial"], n_pairs)),
            ("Wrong as they stand", page.of_text(counts["wrong"], n_pairs)),
        ),
        page.Note("The last three count every pair of a model and an example.") if result.n_models > 1 else None,
    )


def models(result: AuditResult) -> tuple[page.Section, ...]:
    """Every model on its own, and groups of them."""
    n = result.n_models
    if n == 1:
        return ()
    rows = [
        (name, page.fixed(of.error), page.fixed(of.statistic, 5, sign=True), page.pvalue_text(of.log_p_value),
         page.p_text(of.holm))
        for name, of in zip(result.model_names, result.drawn.models, strict=True)
    ]  # fmt: skip
    columns = ("Model", "Error", "Mean T", "p", "Holm")
    first = page.Table.of("Every model on its own", columns, rows[:MODELS_OPEN], more=max(0, n - MODELS_OPEN),
                          rows_printed=MODELS_PRINTED)  # fmt: skip
    rest = page.Table.of("The other models", columns, rows[MODELS_OPEN:MODELS_MOST], more=max(0, n - MODELS_MOST))
    histograms = tuple(
        page.Histogram(
            title=f"N = {of.size}: {len(of.log_p_values)} groups",
            caption=f"{sum(p <= math.log(LEVEL) for p in of.log_p_values)} of {len(of.log_p_values)} at or below "
            f"{LEVEL:g}; smallest {page.pvalue_text(min(of.log_p_values))}, largest "
            f"{page.pvalue_text(max(of.log_p_values))}",
            x=page.Axis(label="betting p on the test set alone", spec=".1f"),
            y_label="groups",
            edges=tuple(i / 10 for i in range(11)),
            counts=of.counts,
        )
        for of in result.drawn.model_groups
    )
    return (
        page.Section.of(
            "One model against many",
            f"The {n} models are averaged: trainings of one architecture. T is averaged over the N models of a group "
            "before it is tested, which takes out what one training run does by chance. All of them in one group have "
            f"betting p = **{page.pvalue_text(result.evidence.log_p_values['betting'])}**, the verdict where there is "
            "no control. Groups share their examples, so these p-values are not independent and must not be combined "
            "as if they were.",
            page.SideBySide(charts=histograms),
        ),
        page.Section.of(
            "Each model alone, on the test set alone",
            page.Note(f"The verdict is on their average. p is betting's, not adjusted for {n} models; Holm's is."),
            first,
            page.Fold(title=f"{len(rest.rows)} more", blocks=(rest,)) if rest.rows else None,
            level=3,
            printed=True,
        ),
    )


def p_values(result: AuditResult) -> page.Section:
    """Every p-value, the verdict's first."""
    e, c, leak = result.evidence, result.evidence.control, result.leak
    p, side = {name: page.pvalue_text(v) for name, v in e.log_p_values.items()}, words.side_text(result.alternative)
    rows: list[tuple[str, str, str]] = []
    if leak is not None:
        note = f"{words.side_text(leak.test.alternative)}; mean and tail: {words.counts_text(leak)}"
        rows.append(("Leak test, against references", page.p_text(leak.p_value), note))
    if c is not None:
        twice = min(1.0, 2 * min(c.statistic.p_value, c.error_rate.p_value))
        rows += [
            ("Test against control", page.p_text(twice),
             f"{side}; T and error rate: twice the smaller p, which pays for looking twice; 1 at most"),
            ("Control on its own", page.pvalue_text(c.invariance_log_p_value),
             "betting, two-sided; small where shifting alone moves T: then only the comparison counts"),
        ]  # fmt: skip
    rows += [
        ("Betting", p["betting"], f"test set alone, {side}; averaged over orders; finds the smallest effects"),
        ("Mixture", p["mixture"], "test set alone; an e-value, needs no order"),
        ("Bernstein, capped", p["bernstein"], "test set alone; equation 8 of v1"),
        ("Bernstein, uncapped", p["bernstein_uncapped"], "as in figure 9 of v1; above 1 it only orders results"),
        ("Two intervals", p["intervals"], "test set alone; appendix A of v1, the weakest"),
    ]  # fmt: skip
    caption = "The first is the verdict, as declared beforehand: the smallest of several p-values is not a p-value"
    table = page.Table.of(caption, ("Test", "p", "Notes"), rows, words=("Notes",), minor=("Notes",), chosen=0,
                          role="the verdict")  # fmt: skip
    return page.Section.of("Every p-value", table, printed=True)
