"""The leak test in words, tables and charts: what audits of pictures, audits of scores and forecasts share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from heldout import summary as page
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import Outcome, Verdict
from heldout.statistics import ControlTestResult
from heldout.statistics.checks import Alternative
from heldout.statistics.power import POWER
from heldout.statistics.seen import SeenExamples

# The title of a verdict in JSON, and the headline.
HEADLINES: dict[Outcome, tuple[str, str]] = {
    "no evidence": ("NO EVIDENCE against independence", "No evidence against independence"),
    "easier": ("EASIER THAN THE CONTROL", "Easier than the control"),
    "harder": ("HARDER THAN THE CONTROL", "Harder than the control: not overfitting"),
    "rejected": ("REJECTED", "Cannot tell which fails: independence or neutral shifts"),
}
MEAN_AND_TAIL = (
    "The mean counts all residuals alike: strong where many examples were seen. The upper tail is a likelihood ratio "
    "that an example was seen, in which those far above what was expected count: strong where a few were seen."
)
ROUGH = "intervals and detectable effects are rough"
GAINS = "a plug-in estimate; the more a seen example gains, the smaller"


def capital(sentence: str) -> str:
    """A sentence with a capital at its start, in which numbers stay on one line with their names."""
    return (sentence[:1].upper() + sentence[1:]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def titled(outcome: Outcome, sentence: str) -> str:
    """The verdict in one string, as JSON has it: its title in capitals, then the sentence."""
    return f"{HEADLINES[outcome][0]} {sentence}".replace("\N{NO-BREAK SPACE}", " ")


def side_text(alternative: Alternative, tolerance: float | None = None) -> str:
    """What a test looks for: against a control, or, with a tolerance, of mean T on its own.

    Examples
    --------
    >>> side_text("greater"), side_text("two-sided"), side_text("greater", 0.0)
    ('one-sided (easier)', 'two-sided', 'one-sided (mean T above zero)')
    >>> side_text("two-sided", 0.01)
    'two-sided (mean T further than 0.01 from zero)'
    """
    if alternative == "greater":
        return "one-sided (easier)" if tolerance is None else f"one-sided (mean T above {tolerance or 'zero'})"
    return f"two-sided (mean T further than {tolerance} from zero)" if tolerance else "two-sided"


def kind_text(kind: str) -> str:
    """A kind of score, as printed.

    Examples
    --------
    >>> kind_text("log_likelihood"), kind_text("correct")
    ('log likelihood', 'right or wrong')
    """
    return "right or wrong" if kind == "correct" else kind.replace("_", " ")


def level_text(level: float, planned_audits: int) -> str:
    """The level that p is held to.

    Examples
    --------
    >>> level_text(0.05, 1), level_text(0.05, 3)
    ('0.05', '0.05, shared by 3 planned audits')
    """
    return f"{level:g}" + (f", shared by {planned_audits} planned audits" if planned_audits > 1 else "")


def limited(n: int, available: int, what: str) -> tuple[str, ...]:
    """The warning where `limit` left examples out, and nothing where it did not.

    Examples
    --------
    >>> limited(100, 5000, "test pictures"), limited(100, 100, "test pictures")
    (('Limited to 100 of 5,000 test pictures, drawn at random.',), ())
    """
    return (f"Limited to {n:,} of {available:,} {what}, drawn at random.",) if n < available else ()


def p_times_text(log_p: float, ruling: Verdict, planned_audits: int) -> str:
    """p, and where there are several planned audits, p times their number."""
    times = f", times {planned_audits} planned audits {page.pvalue_text(ruling.log_p_value)}"
    return f"p = {page.pvalue_text(log_p)}{times if planned_audits > 1 else ''}"


def groups_text(n_groups: int | None) -> str:
    """So many groups, where there are any."""
    return "" if n_groups is None else f" in {n_groups:,} groups"


def e_value_line(log_e_value: float) -> tuple[str, str]:
    """The e-value, finite where it overflows, and what to do with it."""
    shown = f"{math.exp(min(log_e_value, 700.0)):.3g}"
    return "E-value", f"{shown}  (average it over audits that share test set or control, multiply it over others)"


def p_figure(ruling: Verdict, side: str, level: str) -> page.Figure:
    """The p-value of the verdict, and what it is."""
    note = f"{side}; {'at most' if ruling.found else 'above'} the level of {level}"
    return page.Figure(name="p-value", value=page.pvalue_text(ruling.log_p_value), note=note)


def against_control(
    ruling: Verdict, test: ControlTestResult, references: Sequence[str], *, tested: str, found: str, n_models: int = 1
) -> str:
    """The sentence of a verdict against a control; `tested` is p and what was tested, `found` what would have been."""
    given, untouched, known = "", "no model was", "or a control that was trained on"
    if references:
        given, untouched = "given what the references find hard, ", "no model and no reference was"
        known = "a control that was trained on, or a reference that knows the test set"
    model = "the model" if n_models == 1 else "a model"
    looked = "not found easier" if test.alternative == "greater" else "not found easier or harder"
    is_so = f"is {ruling.outcome} for {models_text(n_models)}" if ruling.found else f"was {looked}"
    than = f"than the control of {test.n_control:,} examples{groups_text(test.n_groups_control)} ({tested})"
    then = {
        "no evidence": found,
        "easier": f"If the control is a random draw from the same source that {untouched} trained or selected on, "
        f"{model} and the test set are not independent: {model} has seen some of it, or was chosen by it.",
        "harder": "This is not overfitting to the test set. Likely causes: sets of another difficulty, source or time, "
        f"wrong labels in the test set, {known}.",
    }
    return f"at level {ruling.level:g}: {given}the test set {is_so} {than}. {then[ruling.outcome]}"


def source_text(source: str) -> str:
    """Data by the name of their file; the origin has the whole path."""
    return page.quoted(PurePath(source).name or source)


def models_text(n_models: int) -> str:
    """Whom a verdict is about.

    Examples
    --------
    >>> models_text(1), models_text(14)
    ('the model', 'the 14 models, averaged,')
    """
    return "the model" if n_models == 1 else f"the {n_models} models, averaged,"


def tail_text(leak: LeakEvidence, ruling: Verdict) -> str:
    """Whether a verdict is the upper tail's alone."""
    return ", by its upper tail alone" * (ruling.found and leak.test.mean.p_value > leak.level)


def share_text(share: float) -> str:
    """A share of the test set, which is known to two digits at most.

    Examples
    --------
    >>> share_text(0.0123), share_text(0.123), share_text(0.997), share_text(math.nan)
    ('1.2\\xa0%', '12\\xa0%', '100\\xa0%', 'not defined')
    """
    return page.share_text(float(f"{share:.2g}"))


def moves_text(two_valued: bool, share: str = "this share") -> str:
    """What a seen example does."""
    if two_valued:
        return f"a seen example that would be wrong becomes right {share} of the time"
    return f"a seen example moves {share} of the way up to the 95{page.PERCENT} quantile of the scores"


def found_shares(leak: LeakEvidence) -> str:
    """The smallest to the largest share whose leak would have been found; empty where none is known."""
    known = [found.share for found in leak.detectable if not math.isnan(found.share)]
    return " to ".join(dict.fromkeys(share_text(share) for share in (min(known), max(known)))) if known else ""


def if_gains(leak: LeakEvidence) -> str:
    """What a seen example must gain for any leak to be found; empty where every gain that was tried is enough."""
    known = [found.pull for found in leak.detectable if not math.isnan(found.share)]
    enough = len(known) in (0, len(leak.detectable))
    return "" if enough else f" if a seen example gains at least {page.percent(min(known), 0)} of what it can"


def found_leak_text(leak: LeakEvidence) -> str:
    """The share of the test set whose leak would have been found."""
    shares = found_shares(leak)
    if not shares:
        return "Not even a leak of the whole test set would have been found four times in five: this says very little."
    return (
        f"A leak of {shares} of the test set would have been found four times in five{if_gains(leak)} ({GAINS}); a "
        f"smaller one may well be there{', and so may one that a reference shares' if leak.reference_names else ''}."
    )


def detectable_figure(leak: LeakEvidence, level: str, *, strong: bool) -> page.Figure:
    """What would have been found."""
    note = f"of the test set would have been found{if_gains(leak)} (level {level}, power {POWER:g}); {GAINS}"
    return page.Figure(name="Detectable leak", value=found_shares(leak) or page.NOT_DEFINED, note=note, strong=strong)


def leak_lines(leak: LeakEvidence, within: str) -> tuple[tuple[str, str], ...]:
    """The leak test's numbers; `within` says what was compared within."""
    test, n, names = leak.test, leak.test.mean.n_resamples, leak.reference_names
    taken = f"{page.names_text(names)}; they take {page.percent(test.variance_removed, 0)} off the variance"
    less = " less what references expect" if names else ""
    once = ", each group counted once" if test.mean.n_groups_test is not None else ""
    shares = page.listed([share_text(found.share) for found in leak.detectable])
    pulls = page.listed([page.percent(found.pull, 0) for found in leak.detectable])
    return page.kept_facts(
        ("References", taken if names else None),
        ("Compared", f"{kind_text(leak.kind)}{less}, test minus control{within}{once}"),
        ("  Mean", difference_text(test.mean)),
        ("  Upper tail", difference_text(test.sparse)),
        ("Leak test", f"p = {page.p_text(test.p_value)}, {side_text(test.alternative)}  ({counts_text(leak)}; {n:,} of "
                      f"them, so never below {page.p_text(1 / (n + 1))})"),
        ("Detectable leak", f"{shares} of the test set, where {moves_text(leak.two_valued, pulls)}  (level "
                            f"{leak.level:g}, power {POWER:g}, plug-in)"),
        ("Examples that look seen", seen_text(leak.seen)),
    )  # fmt: skip


def counts_text(leak: LeakEvidence) -> str:
    """Which of mean and tail the verdict is by."""
    return f"{'the smaller of the two' if leak.test.tail_counts else 'the mean alone'}, under the same permutations"


def seen_text(seen: SeenExamples) -> str:
    """How many examples look seen, how they were listed, and how short a list can be; or why there is no list."""
    if seen.fewest is None:
        why = f"the smallest p with this control is {page.p_text(seen.floor)}"
        if seen.other_sizes:
            why = "groups have other sizes in the control than in the test set"
        return f"no list: {why if seen.n_compared or seen.other_sizes else 'nothing could be ranked among the control'}"
    listed = f"{seen.n_listed:,} of {seen.n_compared:,} examples"
    if seen.n_groups_listed is not None:
        listed = f"{seen.n_groups_listed:,} of {seen.n_compared:,} groups ({seen.n_listed:,} examples)"
    among = "the control's of its class" if seen.within_class else "all of the control"
    return (
        f"{listed}; at most {100 * seen.q:g}{page.PERCENT} of a list are on it wrongly, on average (Benjamini and "
        f"Hochberg, ranked among {among}; smallest p with this control: {page.p_text(seen.floor)}; shortest list "
        f"possible: {seen.fewest:,})"
    )


def unmatched_text(test: ControlTestResult) -> str:
    """How many examples were not compared, and why; empty where all were."""
    why = "of classes that only one set has, or in groups of several classes, of which the other set has none"
    return f"{test.n_unmatched:,} examples {why}" if test.n_unmatched else ""


def leak_notes(leak: LeakEvidence) -> list[str]:
    """Warnings: groups of other sizes, halves that disagree, and a harder test set where nobody looks for one."""
    test, notes = leak.test, []
    if not test.tail_counts:
        notes.append(
            "Groups have other sizes in the control than in the test set: the leak test counts its mean alone, and no "
            "example can be listed as seen."
        )
    if leak.disagree(leak.level):
        notes.append(disagree_text("the mean", "the upper tail", test.mean))
    # By the mean or by the tail, each two-sided at half the level (Bonferroni): rough, since it is no verdict.
    halves = [("mean", test.mean), ("upper tail", test.sparse)][: 1 + test.tail_counts]
    p, name = min(((of.p_two_sided, name) for name, of in halves if of.difference < 0), default=(1.0, ""))
    if test.alternative == "greater" and 2.0 * p <= leak.level:
        means = "no leak, and a leak could hide behind it" if test.p_value > leak.level else "against the verdict"
        notes.append(
            f"By the {name} of the scores the test set is harder than the control (two-sided p = {page.p_text(p)}), "
            f"which is {means}: the two sets differ in more than what the model may have seen, or the control was "
            f"trained on{', or a reference knows the test set' if leak.reference_names else ''}."
        )
    return notes


def disagree_text(first: str, second: str, of: ControlTestResult) -> str:
    """The warning where both halves of a test find something, in opposite directions."""
    side = "easier" if of.difference > 0 else "harder"
    return (
        f"The two halves of the test point in opposite directions: by {first} the test set looks {side}, by {second} "
        "the other way round."
    )


def residual_chart(leak: LeakEvidence, what: str, caption: str = "") -> page.LineChart:
    """Residuals of both sets over each other; `what` says what they are. The control's counts are scaled."""
    r, n = leak.residuals, leak.n_test
    scaled = tuple(round(count * n / sum(r.control)) for count in r.control)
    control = "control" if n == sum(r.control) else f"control, scaled to {n:,}"
    means: tuple[tuple[str, float, page.Style], ...] = (("test", r.mean_test, "b"), ("control", r.mean_control, "a"))
    lines = (page.Vertical(x=m, text=f"{name} {page.fixed(m, 3, sign=True)}", style=style) for name, m, style in means)
    return page.histogram(
        capital(what),
        page.Axis(label=what, spec=".3g"),
        "examples",
        r.edges,
        ("test set", r.test, "b"),
        (control, scaled, "a"),
        caption=caption,
        verticals=tuple(lines),
    )


def flipped(of: ControlTestResult) -> ControlTestResult:
    """The difference in errors, from that in minus errors, by which a test set is the easier one if greater."""
    return replace(of, difference=-of.difference, interval=(-of.interval[1], -of.interval[0]))


def difference_text(of: ControlTestResult) -> str:
    """A difference with its interval and both p-values; without any spread an interval of width 0 would claim a
    certainty that nobody has."""
    ends = page.pair(of.interval, 5, sign=True) if of.standard_error > 0 else f"{page.NOT_DEFINED}: no spread"
    return (
        f"{page.fixed(of.difference, 5, sign=True)}  (95{page.PERCENT} {ends}), p = {page.p_text(of.p_two_sided)} "
        f"two-sided, {page.p_text(of.p_greater)} one-sided"
    )
