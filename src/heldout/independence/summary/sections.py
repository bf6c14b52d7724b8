"""The sections of an audit of pictures: what it means, and every chart, table and picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from heldout.independence.evidence import CONFIDENCE, ControlEvidence
from heldout.independence.leak import LeakEvidence
from heldout.independence.summary.leak import (
    DIFFERENCE_COLUMNS,
    NO_INTENT,
    detectable_table,
    found_leak_text,
    interval_text,
    leak_table,
    planned_text,
    residual_chart,
    side_text,
    tied,
    unmatched_text,
)
from heldout.independence.summary.verdict import (
    effect_text,
    level_of,
    names_text,
    pixels_text,
    range_text,
    side_of,
    verdict_p_text,
    who,
    why_undetectable,
)
from heldout.independence.untouched import ORIGINAL
from heldout.statistics.power import LEVEL, POWER
from heldout.summary import (
    Axis,
    Block,
    Column,
    Fold,
    Histogram,
    Interval,
    IntervalChart,
    LineChart,
    Note,
    Picture,
    Pictures,
    Points,
    Prose,
    Row,
    Section,
    Series,
    SideBySide,
    Table,
)
from heldout.summary.charts import Style
from heldout.summary.numbers import NOT_DEFINED, PERCENT, fixed, p_text, pair, percent, pvalue_text, scientific

if TYPE_CHECKING:
    from heldout.independence.result import AuditResult, Exhibit, SeenPicture

FIRST_EXHIBITS, FIRST_SEEN = 6, 12  # pictures that are shown unfolded
MODELS_OPEN, MODELS_MOST, MODELS_PRINTED = 12, 200, 10  # rows of the table of models
SURE = f"{100 * CONFIDENCE:g}{PERCENT}"
AVERAGING = ("random", "random2")  # rules that choose no single move
V1 = "v1: the first version of the paper, arXiv:1903.02380v1."
LN10 = math.log(10.0)


def two_estimates(result: AuditResult) -> Section:
    """R_S, R_g, the control's error and the unweighted adversarial error on one axis."""
    e, control = result.evidence, result.evidence.control
    framed = ", in the frame" if ORIGINAL in result.untouched_pictures else ""
    estimates: list[tuple[str, float, tuple[float, float] | None, Style]] = [
        (f"Test error R_S{framed}", e.test_error, e.intervals["test_error"], "a"),
        ("Adversarial estimate R_g", e.adversarial_estimate, e.intervals["adversarial_estimate"], "b"),
    ]
    if control is not None:
        estimates.append((f"Control error{framed}", control.frame_error, control.frame_error_interval, "c"))
    estimates.append(("Adversarial error, unweighted", e.adversarial_error, None, "d"))
    method = "Bernstein"
    if result.test.groups is not None:
        method = "Korn and Graubard's for the error rates, for groups, Bernstein for R_g"
    elif result.n_models == 1:
        method = "exact for the error rates, Bernstein for R_g"
    hits = "No example was right, so no move could turn one wrong."
    if math.isfinite(result.attack_success):
        average = result.rule in AVERAGING
        hits = (
            f"{'On average a move makes wrong' if average else 'Moves make wrong'} {percent(result.attack_success)} of "
            f"the examples that {who(result)} had right; the unweighted adversarial error of "
            f"{fixed(e.adversarial_error)}{'' if average else ' is a worst case and'} is no estimate of the true error."
        )
    chart = IntervalChart(
        title="Estimates of the error rate",
        caption=f"Intervals have {SURE} confidence ({method}). Whether they overlap is not the test: T is measured "
        f"example by example, which is far sharper. {hits}",
        x_label=f"error rate, with {SURE} intervals",
        intervals=tuple(
            Interval(name=name, value=value, interval=ends, style=style,
                     text=fixed(value) + (f"  ({pair(ends)})" if ends else ""))
            for name, value, ends, style in estimates
        ),
        floor=0.0,
    )  # fmt: skip
    opening = (
        "If the model is independent of the test set and small shifts are neutral, the test error R_S and the "
        "adversarial estimate R_g estimate the same true error. Here they differ by mean T = R_g − R_S = "
        f"**{fixed(e.statistic, 5, sign=True)}**."
    )
    terms = (
        "T = L(g(x))·h(g(x)) − L(x) for every picture x: L is 1 where the model is wrong and 0 where it is right, g(x) "
        "is the moved picture, and h is its weight, which makes up for choosing the move."
    )
    return Section(title="Two estimates of one error", blocks=(Prose(opening), Note(terms), chart))


def means(result: AuditResult) -> tuple[str, ...]:
    """What the evidence says, with its numbers."""
    e, c, p, one = result.evidence, result.evidence.control, verdict_p_text(result), result.n_models == 1
    if c is None:
        difference = fixed(e.tested_statistic, 5, sign=True)
        if not result.ruling.found:
            return (
                f"{tied(who(result))} {'has' if one else 'have'} about the same error on the pictures as they stand "
                f"and on their shifts, properly weighted: the difference is {difference}, p = {p}.",
                _limit(result),
            )
        return (
            f"The two error estimates differ by {difference}, and evidence as strong as this turns up with probability "
            f"{p} at most if {who(result)} and test set are independent and small shifts are neutral. So at least one "
            "of the two does not hold.",
            "The direction is the one that overfitting gives: the pictures as they stand are easier than their shifts."
            if result.direction == "easier"
            else "The direction is not the one that overfitting gives: the shifted pictures are the easier ones. "
            "Look at the preprocessing first.",
        )
    test, control = fixed(e.untouched_error), fixed(c.untouched_error)
    if not result.ruling.found:
        sided = result.verdict_alternative == "greater"
        what = "The test set was not found easier than" if sided else "No difference was found between the test set and"
        return (f"{what} the control: error {test} and {control} on untouched pictures, p = {p}.", _limit(result))
    given, references = "", ""
    if result.leak is not None:
        given, references = ", given what the references find hard", " and the references"
    alike = (
        f"If test set and control were random draws from one source, and {who(result)}{references} had been influenced "
        f"by neither, they would look alike{given}, and evidence as strong as this would turn up with probability {p} "
        "at most."
    )
    errors = f"On untouched pictures the error is {test} on the test set and {control} on the control"
    if result.outcome == "easier":
        believe = "If the control is such a draw, its error is the number to believe for fresh data of the same source."
        return alike, f"{errors}. {believe}"
    hard = ": the test set is" if result.leak is None else f". {given[2:].capitalize()}, the test set is"
    return alike, f"{errors}{hard} the harder one. Overfitting to it would make it easier, so it is not that."


def _limit(result: AuditResult) -> str:
    if result.leak is not None:
        return tied(found_leak_text(result.leak))
    why, control = why_undetectable(result), result.evidence.control
    if why:
        return f"What could have been detected is not defined, because {why}. So this says very little."
    error = "" if control is None else " on T"
    if control is not None and math.isfinite(control.detectable_error.high):
        error += f", or of {range_text(control.detectable_error)} on the error rate,"
    return (
        f"An effect of {effect_text(result)}{error} would have been found with probability {POWER:g} (a range is over "
        "two ways in which it may come about). Anything smaller may be there unseen."
    )


def not_means(result: AuditResult) -> tuple[str, ...]:
    """What must not be read into it."""
    alone = result.evidence.control is None
    points = []
    if not result.ruling.found:
        points.append("“No evidence” is not “clean”: it is silence down to the detectable effect, and no further.")
    elif alone:
        points.append("It does not say that there is overfitting: shifts that are not neutral give the same numbers.")
    else:
        points += [NO_INTENT] if result.outcome == "easier" else []
        points.append("It does not say how large the difference is: a small p-value is not a large effect.")
    points.append(
        "Without a control, invariance is an assumption: natural pictures are framed, their subject sits in the "
        "middle, and shifting them is not neutral. A strong test finds that too."
        if alone
        else "The control is only as good as its history: it must come from the same source and have been put aside at "
        "random before any training or selection."
    )
    if result.leak is not None:
        points.append("References are taken to have seen no more of the test set than of the control. One that knows "
                      "the test set hides a leak, or makes the test set look hard; one that was trained on the control "
                      "makes the test set look easy, which is a false alarm.")  # fmt: skip
    points.append(planned_text(level_of(result)))
    points.append("It is about this test set and these moves. Another test set, or overfitting that shifts of "
                  f"{pixels_text(result)} cannot show, is another question."
                  if result.leak is None
                  else "It is about this test set. Another one is another question.")  # fmt: skip
    return tuple(points)


def next_steps(result: AuditResult) -> tuple[str, ...]:
    """What to do with it."""
    c, leak, found, n = result.evidence.control, result.leak, result.ruling.found, result.n_examples
    points = []
    if result.outcome == "harder":
        points += [
            "Check that test set and control come from one source: how and when each was collected, and who labelled "
            "it. Look through the test pictures that are counted as errors for wrong labels.",
            "Check that the control was in no training set.",
            *(["Check that no reference was trained on the test set."] if leak is not None else []),
        ]
    if result.outcome == "easier":
        points += [
            "Make sure that the control is a random draw from the test set's source; if it is not, an easier test set "
            "shows nothing.",
            "Report the control's error, not the test set's, and look for test pictures (and near duplicates) in the "
            "training data.",
            "Until that is settled, do not choose between models by this test set.",
        ]
        if leak is not None and leak.seen.n_listed:
            points.append("Look through the pictures below that look seen, and search the training data for them.")
    if c is None:
        points.append("Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                      "`--control`. Only a control tells dependence from shifts that are not neutral.")  # fmt: skip
        if found:
            points.append("Until then, do not call this overfitting.")
    if not found and leak is not None:
        if len(result.references) < 3:
            points.append("Add references: three take more noise off than one, and a leak that one of them shares is "
                          "hidden by it alone.")  # fmt: skip
        points.append("To see a smaller leak, use more examples in both sets.")
    elif not found and why_undetectable(result):
        points.append("Use more examples, or a larger radius: here no move changed enough to measure anything.")
    elif not found:
        both = " in both sets" if c is not None else ""
        points.append(f"To see half as large an effect, use about four times as many examples{both} ({4 * n:,} instead "
                      f"of {n:,}).")  # fmt: skip
    if result.n_models == 1:
        points.append("To judge the architecture and not one run, train it N times with different seeds and audit all "
                      "N together: T is averaged first, which takes the noise of training out.")  # fmt: skip
    return tuple(points)


def references(result: AuditResult, leak: LeakEvidence) -> tuple[Section, ...]:
    """How sure the model is, less what references lead one to expect, and which pictures look seen."""
    one, taken = len(leak.reference_names) == 1, leak.test.variance_removed
    models, it = ("models are", "they are") if result.n_models > 1 else ("model is", "it is")
    averaged = ", averaged over the models" if result.n_models > 1 else ""
    off = "" if math.isnan(taken) else f" That takes **{percent(taken, 0)}** off its variance."
    opening = (
        f"Models agree on what is hard. So the {models} compared with {'a reference' if one else 'references'} "
        f"({names_text(leak.reference_names)}) that cannot have seen more of the test set than of the control: how "
        f"sure {it} of the true label of each untouched picture (the margin: its log-odds{averaged}, clipped to −5 and "
        f"10), less what {'the reference leads' if one else 'the references lead'} one to expect.{off} Pictures that "
        f"{'a model has' if result.n_models > 1 else 'the model has'} seen lie above what is expected."
    )
    declared = (
        "The verdict is by this test, as was declared beforehand by giving references; T and the error rate "
        f"({side_of(result.alternative)}), below, stand beside it."
    )
    chart = residual_chart(leak, "margin less what the references lead one to expect")
    return (
        Section(title="Against references", blocks=(Prose(opening), chart, leak_table(leak, 4), Prose(declared))),
        Section(title="What would have been found", level=3, blocks=(detectable_table(leak),)),
        Section(title="Pictures that look seen", level=3, blocks=_seen(result, leak)),
    )


def _seen(result: AuditResult, leak: LeakEvidence) -> tuple[Block, ...]:
    seen, shown = leak.seen, result.seen_pictures
    grouped = seen.n_groups_listed is not None
    units, of_class = "groups" if grouped else "pictures", " of its class" if seen.within_class else ""
    rank = f"Benjamini and Hochberg, on the rank of each among the control's{of_class}"
    q = f"{100 * seen.q:g}{PERCENT}"
    if seen.n_listed:
        told = f"**{seen.n_listed:,} pictures**" + (f" in {seen.n_groups_listed:,} groups" if grouped else "")
        told += f" of {seen.n_compared:,} {units} are listed, of which at most {q} are listed wrongly, on average "
        told += f"({rank}). The {len(shown)} most suspicious are shown; all are in the saved result."
    else:
        told = f"Not one of {seen.n_compared:,} {units} is listed at a false discovery rate of {q} ({rank})."
        if shown:
            told += f" These {len(shown)} are the most suspicious, and **not significant**: in any test set some are."
    floor = NOT_DEFINED if math.isnan(seen.floor) else p_text(seen.floor)
    shortest = "no list" if seen.fewest is None else f"no list of fewer than {seen.fewest:,} {units}"
    note = (
        f"The smallest p with this control is {floor}, so {shortest} is possible. A larger control allows shorter ones."
    )
    groups = [_seen_picture(x, result.class_names) for x in shown]
    return Prose(told), Note(note), *_folded(groups, FIRST_SEEN)


Group = tuple[str, tuple[Picture, ...], tuple[str, ...]]


def _seen_picture(x: SeenPicture, names: Sequence[str] | None) -> Group:
    label = class_text(x.label, names)
    picture = Picture(pixels=x.picture, alt=f"Test picture {x.id}, {label}")
    margin = f"margin {fixed(x.margin, 1, sign=True)}, expected {fixed(x.expected, 1, sign=True)}"
    return label, (picture,), (f"example {x.id}", margin, f"p = {p_text(x.p_value)}")


def _folded(groups: Sequence[Group], first: int) -> tuple[Block, ...]:
    """Pictures, from the first so many on folded."""
    blocks: list[Block] = [Pictures(groups=tuple(groups[:first]))] if groups else []
    if len(groups) > first:
        blocks.append(Fold(title=f"{len(groups) - first} more", blocks=(Pictures(groups=tuple(groups[first:])),)))
    return tuple(blocks)


def against_control(result: AuditResult, c: ControlEvidence) -> Section:
    """Both differences with their tests."""
    assert result.control is not None
    e = result.evidence
    mean_control = float(result.control.T.mean())
    opening = (
        f"The control is taken to be {len(result.control):,} fresh examples of the same source that were put aside "
        "beforehand. What shifting costs on its own, it costs there too; only the difference speaks about the test set."
    )
    plain = Points(
        tuple(
            f"**{name}**: {fixed(a, digits, sign=sign)} on the test set, {fixed(b, digits, sign=sign)} on the control; "
            f"plain difference {fixed(a - b, digits, sign=True)}."
            for name, a, b, digits, sign in (
                ("Error rate, untouched pictures", e.untouched_error, c.untouched_error, 4, False),
                ("Mean T", e.statistic, mean_control, 5, True),
            )
        )
    )
    alike = (
        "The test compares like with like: the differences below are taken within every class and weighted, so they "
        "need not equal the plain ones."
    )
    low, high = c.error_rate.interval
    tests = (
        ("T, within class", c.statistic, c.statistic.difference, c.statistic.interval, False,
         "Positive where moves hurt more on the test set than on fresh data: the model fits the test pictures as they "
         "stand."),
        ("Error rate, within class", c.error_rate, -c.error_rate.difference, (-high, -low), True,
         "Negative where the test set is easier than fresh data; the stronger of the two for gross leaks."),
    )  # fmt: skip
    table = Table(
        caption="Test minus control",
        columns=DIFFERENCE_COLUMNS,
        rows=tuple(
            Row(cells=(name, fixed(value, 5, sign=True), p_text(of.p_two_sided), p_text(of.p_greater),
                       interval_text(of, 5, turned=turned), meaning))
            for name, of, value, _, turned, meaning in tests
        ),
    )  # fmt: skip
    chart = IntervalChart(
        title="Test minus control",
        x_label=f"test minus control, with 95{PERCENT} intervals",
        intervals=tuple(
            Interval(name=name, value=value, interval=ends if of.standard_error > 0 else None,
                     text=f"{fixed(value, 5, sign=True)}  ({interval_text(of, 5, turned=turned)})",
                     style="a" if turned else "b")
            for name, of, value, ends, turned, _ in tests
        ),
        reference=0.0,
    )  # fmt: skip
    blocks = (Prose(opening), plain, Prose(alike), chart, table, Points(_control_points(result, c)))
    return Section(title="Against the control", blocks=blocks)


def _control_points(result: AuditResult, c: ControlEvidence) -> tuple[str, ...]:
    doubled = 2 * min(c.statistic.p_value, c.error_rate.p_value)
    halves = f"2 × min({p_text(c.statistic.p_value)}, {p_text(c.error_rate.p_value)})"
    halves = f"{halves} = {p_text(doubled)}" if doubled <= 1 else f"{halves}, capped at 1, = 1"
    units = "within class" if c.statistic.n_groups_test is None else "of whole groups, within class"
    smallest = p_text(min(1.0, 2 / (c.statistic.n_resamples + 1)))
    neutral = "not small, so nothing shows that shifting alone moves T, which is not to say that it does not"
    if c.invariance_log_p_value <= math.log(LEVEL):
        neutral = "small, so shifting alone moves T: without a control that would have looked like overfitting"
    points = [
        "**One-sided** p-values look for overfitting only: a higher T, a lower error on the test set. They count only "
        f"where that was declared beforehand; here the {side_of(result.alternative)} ones do.",
        f"**Verdict.** p = {halves}. Doubling pays for looking twice. {c.statistic.n_resamples:,} permutations "
        f"{units}: no verdict below {smallest} is possible."
        if c.leak is None
        else f"**Not the verdict.** Without references these two would be: p = {halves}. With references the leak test "
        "above is, as was declared beforehand.",
        f"**The control on its own** has p = {pvalue_text(c.invariance_log_p_value)}: {neutral}.",
    ]
    if c.statistic.n_unmatched:
        points.append(f"{c.statistic.n_unmatched:,} examples {unmatched_text(c.statistic)} were left out.")
    return tuple(points)


def growth(result: AuditResult) -> Section:
    """p-values and both error estimates against the sample size."""
    curve, n = result.drawn.curve, result.n_examples
    sizes = tuple(float(point.size) for point in curve)
    x = Axis(label="sample size (log scale)", kind="log", whole=True, spec=",.0f")
    verdict = "" if result.evidence.control is None else " (not the verdict, which uses the control)"
    v1 = f" {V1}" if result.evidence.control is None else ""
    p = LineChart(
        title="p-value against sample size",
        caption=f"p-values of the test set alone{verdict}: mean over random subsets, with the band from the smallest "
        f"to the largest.{v1}",
        x=x,
        y=Axis(label="p (log scale)", kind="decades"),
        series=tuple(
            Series(name=name, x=sizes, style=style, y=tuple(of.mean_log_p(method) / LN10 for of in curve),
                   low=tuple(min(getattr(of, method)) / LN10 for of in curve),
                   high=tuple(max(getattr(of, method)) / LN10 for of in curve))
            for method, name, style in _P_LINES
        ),
        reference=(math.log10(LEVEL), f"{LEVEL:g}"),
    )  # fmt: skip
    errors = LineChart(
        title="Both error estimates against sample size",
        caption=f"Both error estimates with their {SURE} Bernstein intervals, averaged over the same subsets.",
        x=x,
        y=Axis(label="error rate", spec=".4f"),
        series=(
            _estimates("test error R_S", "a", sizes, [(of.test_error, of.test_error_interval) for of in curve]),
            _estimates("adversarial estimate R_g", "b", sizes,
                       [(of.adversarial_estimate, of.adversarial_estimate_interval) for of in curve]),
        ),
    )  # fmt: skip
    note = (
        f"{len(curve[0].betting)} random subsets per size, one at n = {n:,}. Subsets overlap, so the band shows how "
        "much the choice of examples decides and is not a standard error."
    )
    title = "How the evidence grows: p-values of the test set alone"
    return Section(title=title, blocks=(SideBySide(charts=(p, errors)), Note(note)))


_P_LINES: tuple[tuple[str, str, Style], ...] = (("betting", "betting", "a"), ("bernstein", "Bernstein (v1)", "b"))


def _estimates(
    name: str, style: Style, sizes: tuple[float, ...], points: Sequence[tuple[float, tuple[float, float]]]
) -> Series:
    y, ends = zip(*points, strict=True)
    low, high = zip(*ends, strict=True)
    return Series(name=name, x=sizes, y=y, low=low, high=high, style=style)


def exhibits(result: AuditResult) -> Section:
    """The pictures that were right and became wrong, or why there are none."""
    title = "The most telling pictures"
    if not result.exhibits:
        why = "no picture that was right became wrong when moved"
        if result.rule in AVERAGING:
            why = f"the rule “{result.rule}” averages over moves and chooses none"
        return Section(title=title, blocks=(Prose(f"None to show: {why}."),))
    first = f", by the first model ({result.model_names[0]})" if result.n_models > 1 else ""
    opening = (
        f"Right as they stand, wrong once moved{first}. The largest T come first. The weight says how much a moved "
        "picture counts: one over one plus the number of right pictures that would move onto it."
    )
    groups = [_exhibit(x, result.class_names) for x in result.exhibits]
    return Section(title=title, blocks=(Prose(opening), *_folded(groups, FIRST_EXHIBITS)))


def _exhibit(x: Exhibit, names: Sequence[str] | None) -> Group:
    label, before, after = (class_text(c, names) for c in (x.label, x.predicted, x.moved_predicted))
    move = move_text(x.move)
    pictures = (
        Picture(pixels=x.original, alt=f"Picture {x.id} as it stands, predicted {before}"),
        Picture(pixels=x.moved, alt=f"The same picture moved {move}, predicted {after}"),
    )
    lines = (f"{move} · weight {fixed(x.weight, 3)}", f"label {label} · example {x.id}")
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
    down, right = move
    words = [f"{abs(down)} {'down' if down > 0 else 'up'}"] if down else []
    words += [f"{abs(right)} {'right' if right > 0 else 'left'}"] if right else []
    return ", ".join(words) or "not moved"


def statistic(result: AuditResult) -> Section:
    """How T is spread over the examples."""
    h, counts = result.drawn.statistic, {name: f"{count:,}" for name, count in result.counts.items()}
    n_drawn = h.n_below + h.n_above
    signs = f"; of the other {n_drawn:,}, {h.n_above:,} are above and {h.n_below:,} below zero" if n_drawn else ""
    opening = (
        f"T is the weighted loss after the move less the loss before. Of {result.n_examples:,} examples, "
        f"**{h.n_zero:,}** have T = 0{signs}. Mean {fixed(result.evidence.statistic, 5, sign=True)}, standard "
        f"deviation {fixed(h.standard_deviation)}; the rule guarantees "
        f"{pair(result.orbit.statistic_range(result.rule), 3)}."
    )
    chart: Block = Prose("There is nothing to draw: every T is zero.")
    if n_drawn:
        chart = Histogram(
            title=f"The {n_drawn:,} values of T that are not zero",
            x=Axis(label="T of one example (zeros left out)", spec=".3f"),
            y_label="examples",
            edges=h.edges,
            counts=h.counts,
            styles=tuple("a" if low + high < 0 else "b" for low, high in pairwise(h.edges)),
        )
    pairs = "Counting every pair of model and example, " if result.n_models > 1 else ""
    kinds = (
        f"{pairs}{counts['untouched']} were untouched (right, and right under every move that was considered), "
        f"{counts['adversarial']} adversarial (right, but wrong once moved) and {counts['wrong']} wrong as they stand."
    )
    return Section(title="The statistic, example by example", blocks=(Prose(opening), chart, Prose(kinds)))


def models(result: AuditResult) -> tuple[Section, ...]:
    """Every model on its own, and groups of them."""
    n, groups = result.n_models, result.drawn.model_groups
    betting = pvalue_text(result.evidence.log_p_values["betting"])
    verdict = ", which is the verdict" if result.evidence.control is None else " on the test set alone"
    opening = (
        f"The {n} models are averaged: trainings of one architecture. T is averaged over the N models of a group "
        "before it is tested, which takes out what one training run does by chance. All "
        f"{n} models in one group have betting p = **{betting}**{verdict}. Groups share their examples, so these "
        "p-values are not independent and must not be combined as if they were."
    )
    rows = tuple(
        Row(cells=(name, fixed(float(error)), fixed(float(mean), 5, sign=True), pvalue_text(log_p), p_text(holm)))
        for name, error, mean, log_p, holm in zip(
            result.model_names,
            result.test.losses.mean(axis=1),
            result.test.statistics.mean(axis=1),
            groups[0].log_p_values,
            result.drawn.holm,
            strict=True,
        )
    )
    columns = (
        Column(name="Model", align="left"), Column(name="Error"), Column(name="Mean T"), Column(name="p"),
        Column(name="Holm"),
    )  # fmt: skip
    table = Table(caption="Every model on its own", columns=columns, rows=rows, rows_printed=MODELS_PRINTED)
    alone: tuple[Block, ...] = (table,)
    if n > MODELS_OPEN:
        whole = Table(caption=table.caption, columns=columns, rows=rows[:MODELS_MOST], more=max(0, n - MODELS_MOST))
        first = Table(
            caption=f"The first {MODELS_OPEN} of {n} models",
            columns=columns,
            rows=rows[:MODELS_OPEN],
            more=n - MODELS_OPEN,
            rows_printed=MODELS_PRINTED,
        )
        alone = (first, Fold(title=f"All {n} models one by one", blocks=(whole,)))
    adjusted = f"The verdict is on their average. p is betting's, not adjusted for {n} models; Holm's is."
    histograms = tuple(
        Histogram(
            title=f"N = {of.size}: {len(of.log_p_values)} {'groups' if of.size > 1 else 'models'}",
            caption=f"{sum(p <= math.log(LEVEL) for p in of.log_p_values)} of {len(of.log_p_values)} at or below "
            f"{LEVEL:g}; smallest {pvalue_text(min(of.log_p_values))}, largest {pvalue_text(max(of.log_p_values))}",
            x=Axis(label="betting p on the test set alone", spec=".1f"),
            y_label="groups" if of.size > 1 else "models",
            edges=tuple(i / 10 for i in range(11)),
            counts=of.counts,
        )
        for of in groups
    )
    return (
        Section(title="One model against many", blocks=(Prose(opening), SideBySide(charts=histograms))),
        Section(
            title="Each model alone, on the test set alone", level=3, printed=True, blocks=(Note(adjusted), *alone)
        ),
    )


def p_values(result: AuditResult) -> Section:
    """Every p-value, the verdict's marked, and the two variances."""
    e, c, side = result.evidence, result.evidence.control, side_of(result.alternative)
    rows = []
    if c is not None and c.leak is not None:
        test = c.leak.test
        of_leak = side_of(test.alternative)
        rows += [
            ("Leak test, against references", p_text(test.p_value),
             f"{side_text(test.alternative)}; the smaller of the next two, under the same permutations; fixed "
             "beforehand by giving references", True),
            (f"References, mean ({of_leak})", p_text(test.mean.p_value), "permutation within class, untouched pictures",
             False),
            (f"References, upper tail ({of_leak})", p_text(test.sparse.p_value), "the same, for a few seen pictures",
             False),
        ]  # fmt: skip
    elif c is not None:
        rows.append(("Test against control", p_text(c.p_value), "2 × the smaller of the next two, fixed beforehand",
                     True))  # fmt: skip
    if c is not None:
        rows += [
            (f"Control, T ({side})", p_text(c.statistic.p_value), "permutation within class", False),
            (f"Control, error rate ({side})", p_text(c.error_rate.p_value),
             "permutation within class, untouched pictures", False),
            ("Control on its own", pvalue_text(c.invariance_log_p_value), "betting, two-sided: is shifting neutral?",
             False),
        ]  # fmt: skip
    p = {name: pvalue_text(v) for name, v in e.log_p_values.items()}
    above = " Above 1 here, so it only orders results." if e.log_p_values["bernstein_uncapped"] > 0 else ""
    rows += [
        ("Betting", p["betting"], "test set alone; averaged over orders; finds the smallest effects", c is None),
        ("Mixture", p["mixture"], "test set alone; an e-value, needs no order", False),
        ("Bernstein, capped", p["bernstein"], "test set alone; equation 8 of v1", False),
        ("Bernstein, uncapped", p["bernstein_uncapped"], "the same before capping at 1, as in figure 9 of v1." + above,
         False),
        ("Two intervals", p["intervals"], "test set alone; appendix A of v1, the weakest", False),
        ("E-value", f"{math.exp(min(e.log_e_value, 700.0)):.3g}",
         "no p-value, large where p is small: average it over audits that share test set or control, multiply it "
         "over audits that share neither", False),
    ]  # fmt: skip
    table = Table(
        caption="All p-values",
        columns=(Column(name="Test", align="left"), Column(name="p"), Column(name="Notes", align="left")),
        rows=tuple(
            Row(cells=(name, value, note), chosen=chosen, role="the verdict" if chosen else "")
            for name, value, note, chosen in rows
        ),
    )
    opening = (
        "One of these is the verdict, and which one was fixed before the data were seen. The others are for "
        "information: the smallest of several p-values is not a p-value." + (f" {V1}" if c is not None else "")
    )
    ratio = "not comparable, because the test error does not vary"
    if e.test_error_variance > 0:
        ratio = f"{e.adversarial_estimate_variance / e.test_error_variance:.2f} times as large"
    shows = "here it is not the larger one either, which shows nothing on its own."
    if e.adversarial_estimate_variance > e.test_error_variance:
        shows = "here it is larger, which fits with dependence but is no test."
    variances = (
        f"Var R_g = {scientific(e.adversarial_estimate_variance)} and Var R_S = {scientific(e.test_error_variance)}: "
        f"the adversarial estimate's variance is {ratio}. Under independence it is never the larger one in expectation "
        f"(section 2.2 of the paper); {shows}"
    )
    return Section(title="Every p-value", blocks=(Prose(opening), table, Prose(variances)))
