"""The leak test in words, tables and charts: what audits of pictures, audits of scores and forecasts share."""

from __future__ import annotations

import math

from heldout import summary as page
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import Basis, Outcome, Verdict
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
TESTS: dict[Basis, str] = {
    "betting": "betting test that mean T is zero",
    "T and error rate": "twice the smaller of two permutation p-values of test against control",
    "references": "leak test of test against control, less what references expect",
    "scores": "leak test of test against control, less what references expect where there are any",
}
GIVEN = "given what the references find hard, "
MEAN_AND_TAIL = (
    "The mean counts all residuals alike: strong where many examples were seen. The upper tail is a likelihood ratio "
    "that an example was seen, in which those far above what was expected count: strong where a few were seen."
)
AVERAGE = "average it over audits that share test set or control, multiply it over others"
GAINS = "a plug-in estimate; the more a seen example gains, the smaller"


def capital(sentence: str) -> str:
    """A sentence with a capital at its start, in which numbers stay on one line with their names."""
    return (sentence[:1].upper() + sentence[1:]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def titled(outcome: Outcome, sentence: str) -> str:
    """The verdict in one string, as JSON has it: its title in capitals, then the sentence."""
    return f"{HEADLINES[outcome][0]} {sentence}".replace("\N{NO-BREAK SPACE}", " ")


def side_text(alternative: Alternative) -> str:
    """What a test looks for.

    Examples
    --------
    >>> side_text("greater"), side_text("two-sided")
    ('one-sided (easier)', 'two-sided')
    """
    return "one-sided (easier)" if alternative == "greater" else "two-sided"


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


def p_times_text(log_p: float, adjusted: float, planned_audits: int) -> str:
    """p, and where there are several planned audits, p times their number."""
    times = f", times {planned_audits} planned audits {page.pvalue_text(adjusted)}" if planned_audits > 1 else ""
    return f"p = {page.pvalue_text(log_p)}{times}"


def groups_text(n_groups: int | None) -> str:
    """So many groups, where there are any."""
    return "" if n_groups is None else f" in {n_groups:,} groups"


def e_value_text(log_e_value: float) -> str:
    """The e-value, finite where it overflows."""
    return f"{math.exp(min(log_e_value, 700.0)):.3g}"


def p_figure(ruling: Verdict, alternative: Alternative, level: str) -> page.Figure:
    """The p-value of the verdict, and what it is."""
    above = "at most" if ruling.found else "above"
    note = f"{TESTS[ruling.rests_on]}, {side_text(alternative)}; {above} the level of {level}"
    return page.Figure(name="p-value", value=page.pvalue_text(ruling.log_p_value), note=note)


def against_control(
    ruling: Verdict, test: ControlTestResult, given: str, *, tested: str, follows: str, causes: str, found: str
) -> str:
    """The sentence of a verdict against a control.

    Parameters
    ----------
    given : str
        Under what condition, with its comma.
    tested : str
        p, and what was tested.
    follows, causes : str
        What an easier test set means, and if what; likely causes of a harder one.
    found : str
        What would have been found.
    """
    at, size = f"at level {ruling.level:g}: {given}", f"{test.n_control:,} examples{groups_text(test.n_groups_control)}"
    if ruling.outcome == "no evidence":
        looked = "easier" if test.alternative == "greater" else "easier or harder"
        return f"{at}the test set was not found {looked} than the control of {size} ({tested}). {found}"
    then = follows
    if ruling.outcome == "harder":
        then = f"This is not overfitting to the test set. Likely causes: {causes}."
    return f"{at}the test set is {ruling.outcome} for the model than the control of {size} ({tested}). {then}"


def share_text(share: float) -> str:
    """A share of the test set, which is known to two digits at most.

    Examples
    --------
    >>> share_text(0.0123), share_text(0.123), share_text(0.997), share_text(math.nan)
    ('1.2\\xa0%', '12\\xa0%', '100\\xa0%', 'not defined')
    """
    if math.isnan(share):
        return page.NOT_DEFINED
    return f"{100 * share:.2g}{page.PERCENT}" if share < 0.995 else f"100{page.PERCENT}"


def moves_text(two_valued: bool, share: str = "this share") -> str:
    """What a seen example does."""
    if two_valued:
        return f"a seen example that would be wrong becomes right {share} of the time"
    return f"a seen example moves {share} of the way up to the 95{page.PERCENT} quantile of the scores"


def found_shares(leak: LeakEvidence) -> str:
    """The smallest to the largest share whose leak would have been found; empty where none is known."""
    known = [found.share for found in leak.detectable if not math.isnan(found.share)]
    return " to ".join(dict.fromkeys(share_text(share) for share in (min(known), max(known)))) if known else ""


def found_leak_text(leak: LeakEvidence) -> str:
    """The share of the test set whose leak would have been found."""
    shares = found_shares(leak)
    if not shares:
        return "Not even a leak of the whole test set would have been found four times in five: this says very little."
    shared = ", and so may one that a reference shares" if leak.reference_names else ""
    found = f"A leak of {shares} of the test set would have been found four times in five ({GAINS})"
    return f"{found}; a smaller one may well be there{shared}."


def detectable_figure(leak: LeakEvidence, level: str, *, strong: bool) -> page.Figure:
    """What would have been found."""
    note = f"of the test set would have been found (level {level}, power {POWER:g}); {GAINS}"
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
        ("references", taken if names else None),
        ("compared", f"{kind_text(leak.kind)}{less}, test minus control{within}{once}"),
        ("  mean", difference_text(test.mean)),
        ("  upper tail", difference_text(test.sparse)),
        ("leak test", f"p = {page.p_text(test.p_value)}, {side_text(test.alternative)}  ({counts_text(leak)}; {n:,} of "
                      f"them, so never below {page.p_text(1 / (n + 1))})"),
        ("detectable leak", f"{shares} of the test set, where {moves_text(leak.two_valued, pulls)}  (level "
                            f"{leak.level:g}, power {POWER:g}, plug-in)"),
        ("examples that look seen", seen_text(leak.seen)),
    )  # fmt: skip


def counts_text(leak: LeakEvidence) -> str:
    """Which of mean and tail the verdict is by."""
    return f"{'the smaller of the two' if leak.test.tail_counts else 'the mean alone'}, under the same permutations"


def seen_text(seen: SeenExamples) -> str:
    """How many examples look seen, how they were listed, and how short a list can be."""
    listed = f"{seen.n_listed:,} of {seen.n_compared:,} examples"
    if seen.n_groups_listed is not None:
        listed = f"{seen.n_groups_listed:,} of {seen.n_compared:,} groups ({seen.n_listed:,} examples)"
    among = "the control's of its class" if seen.within_class else "all of the control"
    shortest = "no list" if seen.fewest is None else f"no list of fewer than {seen.fewest:,}"
    return (
        f"{listed}; at most {100 * seen.q:g}{page.PERCENT} of a list are on it wrongly, on average (Benjamini and "
        f"Hochberg, ranked among {among}; the smallest p with this control is {page.p_text(seen.floor)}, so {shortest} "
        "is possible)"
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
    halves = {"mean": test.mean, "upper tail": test.sparse} if test.tail_counts else {"mean": test.mean}
    harder = {name: of.p_two_sided for name, of in halves.items() if of.difference < 0}
    name = min(harder, key=harder.__getitem__, default="")
    if test.alternative == "greater" and name and 2.0 * harder[name] <= leak.level:
        knows = ", or a reference knows the test set" if leak.reference_names else ""
        means = "against the verdict, which is by the other of the two"
        if test.p_value > leak.level:
            means = "which is no leak, and a leak could hide behind it"
        notes.append(
            f"By the {name} of the scores the test set is harder than the control (two-sided p = "
            f"{page.p_text(harder[name])}), {means}: the two sets differ in more than what the model may have seen, or "
            f"the control was trained on{knows}."
        )
    return notes


def disagree_text(first: str, second: str, of: ControlTestResult) -> str:
    """The warning where both halves of a test find something, in opposite directions."""
    side = "easier" if of.difference > 0 else "harder"
    return (
        f"The two halves of the test point in opposite directions: by {first} the test set looks {side}, by {second} "
        "the other way round."
    )


def residual_chart(leak: LeakEvidence, what: str, caption: str = "") -> page.Outlines:
    """Residuals of both sets over each other; `what` says what they are. The control's counts are scaled."""
    r, scale = leak.residuals, leak.n_test / sum(leak.residuals.control)
    means = [page.fixed(mean, 3, sign=True) for mean in (r.mean_test, r.mean_control)]
    control = "control" if scale == 1 else f"control, scaled to {leak.n_test:,}"
    return page.Outlines(
        title=f"{capital(what)}: mean {means[0]} on the test set, {means[1]} on the control",
        caption=caption,
        x=page.Axis(label=what, spec=".3g"),
        y_label="examples",
        edges=r.edges,
        distributions=(
            page.Distribution(name="test set", counts=r.test, mean=r.mean_test, style="b",
                              mean_text=f"test {page.fixed(r.mean_test, 2, sign=True)}"),
            page.Distribution(name=control, counts=tuple(round(count * scale) for count in r.control),
                              mean=r.mean_control, mean_text=f"control {page.fixed(r.mean_control, 2, sign=True)}"),
        ),
    )  # fmt: skip


def interval(of: ControlTestResult, sign: int) -> tuple[float, float]:
    """Of the difference, or of minus the difference."""
    return of.interval if sign > 0 else (-of.interval[1], -of.interval[0])


def difference_text(of: ControlTestResult, sign: int = 1) -> str:
    """A difference with its interval and both p-values; without any spread an interval of width 0 would claim a
    certainty that nobody has."""
    ends = page.pair(interval(of, sign), 5, sign=True)
    if not of.standard_error > 0:
        ends = f"{page.NOT_DEFINED}: no spread"
    return (
        f"{page.fixed(sign * of.difference, 5, sign=True)}  (95{page.PERCENT} {ends}), p = "
        f"{page.p_text(of.p_two_sided)} two-sided, {page.p_text(of.p_greater)} one-sided"
    )
