"""The leak test in words and charts: what audits of pictures and of scores both say of it."""

from __future__ import annotations

import math

from heldout.groups import FEW
from heldout.independence.leak import LeakEvidence
from heldout.independence.verdict import Outcome, Verdict
from heldout.statistics import ControlTestResult
from heldout.statistics.checks import Alternative
from heldout.statistics.power import POWER
from heldout.statistics.seen import SeenExamples
from heldout.summary import Axis, Column, Distribution, Outlines, Row, Table
from heldout.summary.numbers import NOT_DEFINED, PERCENT, fixed, p_text, pair, pvalue_text

TITLES: dict[Outcome, str] = {
    "no evidence": "NO EVIDENCE against independence",
    "easier": "EASIER THAN THE CONTROL",
    "harder": "HARDER THAN THE CONTROL",
    "rejected": "REJECTED",
}
HEADLINES: dict[Outcome, str] = {
    "no evidence": "No evidence against independence",
    "easier": "Easier than the control",
    "harder": "Harder than the control: not overfitting",
    "rejected": "Cannot tell which fails: independence or neutral shifts",
}
WAYS = {0.25: "a quarter of the way", 0.5: "half the way", 1.0: "all the way"}
KINDS = {"correct": "right or wrong"}
NO_INTENT = (
    "It is no proof of intent. Duplicates, choosing among models by test score, and reuse over years all leave the "
    "same trace."
)


def tied(text: str) -> str:
    """A sentence whose numbers stay on one line with their signs, with a capital at its start.

    Examples
    --------
    >>> tied("found (p = 0.2), 5 % of it")
    'Found (p\\xa0=\\xa00.2), 5\\xa0% of it'
    """
    for name in "pn":
        text = text.replace(f"{name} = ", f"{name}\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    text = text.replace(" %", PERCENT)
    return f"{text[:1].upper()}{text[1:]}"


def spoken(sentence: str, level: float) -> str:
    """A verdict's sentence where a headline stands before it.

    Examples
    --------
    >>> spoken("at level 0.05: no difference was found", 0.05), spoken("at level 0.05 (n = 3).", 0.05)
    ('At level 0.05, no difference was found', 'Nothing was found at level 0.05 (n\\xa0=\\xa03).')
    """
    at = f"at level {level:g}"
    rest = sentence.removeprefix(at)
    return tied(f"{at}, {rest[2:]}" if rest.startswith(": ") else f"nothing was found {at}{rest}")


def side_text(alternative: Alternative) -> str:
    """What a test against a control looks for.

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
    return KINDS.get(kind, kind.replace("_", " "))


def way_text(pull: float, two_valued: bool) -> str:
    """How far a seen example moves, or where scores are right or wrong, how often it does.

    Examples
    --------
    >>> way_text(0.25, False), way_text(0.3, False), way_text(0.25, True), way_text(1.0, True)
    ('a quarter of the way', '30 % of the way', '25 % of the time', 'always')
    """
    if two_valued:
        return "always" if pull == 1.0 else f"{100 * pull:g} % of the time"
    return WAYS.get(pull, f"{100 * pull:g} % of the way")


def moves_text(two_valued: bool) -> str:
    """What `way_text` is about, as the subject and verb of a sentence."""
    return "a seen example that would be wrong becomes right" if two_valued else "a seen example moves"


def share_of_test_text(share: float) -> str:
    """A share of the test set.

    Examples
    --------
    >>> share_of_test_text(0.0123), share_of_test_text(0.123), share_of_test_text(0.997), share_of_test_text(math.nan)
    ('1.2 %', '12 %', '100 %', 'not defined')
    """
    if math.isnan(share):
        return NOT_DEFINED
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def range_of_shares(leak: LeakEvidence) -> str | None:
    """The smallest to the largest share that would have been found; None where none is known."""
    known = [found.share for found in leak.detectable if not math.isnan(found.share)]
    if not known:
        return None
    return " to ".join(dict.fromkeys(share_of_test_text(share) for share in (min(known), max(known))))


def p_times_text(log_p: float, adjusted: float, planned_audits: int) -> str:
    """p, and where there are several planned audits, p times their number."""
    times = f", times {planned_audits} planned audits {pvalue_text(adjusted)}" if planned_audits > 1 else ""
    return f"p = {pvalue_text(log_p)}{times}"


def planned_text(level: str) -> str:
    """What a level holds for."""
    return (
        f"p is for one audit, held to the level {level}. Audits on every commit need `--planned-audits`, or the "
        "e-value."
    )


def control_size(test: ControlTestResult) -> str:
    """Examples, and groups, of the control that were compared."""
    groups = "" if test.n_groups_control is None else f" in {test.n_groups_control:,} groups"
    return f"{test.n_control:,} examples{groups}"


def nothing_found(alternative: Alternative) -> str:
    """What was not found against a control."""
    if alternative == "greater":
        return "the test set was not found easier than the control"
    return "no difference between test set and control was found"


def leak_verdict(
    leak: LeakEvidence, ruling: Verdict, *, tested: str, easier: str, harder: str, follows: str, causes: str
) -> str:
    """The sentence of a leak test's verdict.

    Parameters
    ----------
    tested : str
        p, and what was tested.
    easier, harder : str
        What the model does on the test set.
    follows : str
        A sentence: what an easier test set means, and if what.
    causes : str
        Likely ones of a harder test set.
    """
    at, given, size = f"at level {ruling.level:g}", _given_text(leak), control_size(leak.test.mean)
    if ruling.outcome == "no evidence":
        return f"{at}: {given}{nothing_found(leak.test.alternative)} ({tested}). {found_leak_text(leak)}"
    both = ""
    if leak.disagree(leak.level):
        side = "easier" if leak.test.mean.difference > 0 else "harder"
        both = (
            f" Mean and tail of the test point in opposite directions: on average the test set looks {side}, by its "
            "tail the other way round."
        )
    if ruling.outcome == "easier":
        return f"{at}: {given}{easier} on this test set than on the control of {size} ({tested}). {follows}{both}"
    return (
        f"{at}: {given}{harder} on this test set than on the control of {size} ({tested}). This is not overfitting "
        f"to the test set. Likely causes are {causes}.{both}"
    )


def _given_text(leak: LeakEvidence) -> str:
    """The condition under which the sets are compared, with its comma; empty without references."""
    k = len(leak.reference_names)
    if not k:
        return ""
    return "given what the reference finds hard, " if k == 1 else f"given what the {k} references find hard, "


def found_leak_text(leak: LeakEvidence) -> str:
    """The share of the test set whose leak would have been found."""
    shares = range_of_shares(leak)
    if shares is None:
        return (
            "Not even a leak of the whole test set would have been found four times in five: there are too few "
            "examples, or a seen one has too little room to score better."
        )
    least = way_text(min(found.pull for found in leak.detectable if not math.isnan(found.share)), leak.two_valued)
    at_least = least if least in ("always", WAYS[1.0]) else f"at least {least}"
    moves = f"would-be errors become right {at_least}" if leak.two_valued else f"seen examples move {at_least} up"
    ways = "; the less, the more of them it takes" if " to " in shares else ""
    shared = ", and so may one that a reference shares" if leak.reference_names else ""
    return (
        f"A leak of {shares} of the test set would have been found four times in five if {moves} (a "
        f"plug-in{ways}); a smaller one may well be there{shared}."
    )


def counts_text(leak: LeakEvidence) -> str:
    """Which of mean and tail the verdict is by."""
    if not leak.test.tail_counts:
        return "the mean counts alone"
    return "the smaller of the two, under the same permutations"


def leak_lines(leak: LeakEvidence, *, within: str = "within class") -> list[tuple[str, str]]:
    """The leak test as it is printed; `within` says what was compared within."""
    test, k = leak.test, len(leak.reference_names)
    low, high = test.mean.interval
    once = "each group counted once" if test.mean.n_groups_test is not None else ""
    what = "".join(f"{text}; " for text in [", ".join(text for text in (within, once) if text)] if text)
    kind = kind_text(leak.kind)
    named = f"{kind} less references" if k else kind
    if len(named) > 24:
        named = "score less references" if k else "score"
    lines = []
    if k:
        names = ", ".join(leak.reference_names[:3]) + (", ..." if k > 3 else "")
        of = kind_text(leak.kind.removeprefix("minus "))
        of = f"the variance of {of}" if leak.two_valued else f"the {of}'s variance"
        takes, taken = "takes" if k == 1 else "take", 100 * test.variance_removed
        off = "" if math.isnan(taken) else f", {takes} {taken:.0f} % of {of} off"
        lines.append(("references", f"{k} ({names}){off}"))
    p, mean, tail = (p_text(found.p_value) for found in (test, test.mean, test.sparse))
    return [
        *lines,
        (named, f"test minus control {test.mean.difference:+.4f}  ({what}95 % {low:+.4f} to {high:+.4f})"),
        ("leak test", f"p = {p}, {side_text(test.alternative)}  (mean {mean}, tail {tail}; {counts_text(leak)})"),
        ("detectable leak", _detectable_text(leak)),
        ("examples that look seen", seen_text(leak.seen)),
    ]


def _detectable_text(leak: LeakEvidence) -> str:
    known = [found for found in leak.detectable if not math.isnan(found.share)]
    if not known:
        return f"none: not even a leak of the whole test set would be found four times in five (level {leak.level:g})"
    first, *rest = ((share_of_test_text(found.share), way_text(found.pull, leak.two_valued)) for found in known)
    told = f"{first[0]} of the test set if {moves_text(leak.two_valued)} {first[1]}"
    told += "" if leak.two_valued else " up to the 95 % quantile of the scores"
    told += "".join(f", {share} if {way}" for share, way in rest)
    return f"{told}  (level {leak.level:g}, power {POWER:g}, plug-in)"


def seen_text(seen: SeenExamples) -> str:
    """How many examples look seen, how they were listed, and how short a list can be."""
    units = "examples" if seen.n_groups_listed is None else "groups"
    if seen.other_sizes:
        return "no list: groups have other sizes in the control than in the test set, so that they cannot be ranked"
    if seen.fewest is None:
        return f"no list: the control is too small to list any of {seen.n_compared:,} {units} at q = {seen.q:g}"
    many = f"{seen.n_listed:,} of {seen.n_compared:,} examples"
    if seen.n_groups_listed is not None:
        many = f"{seen.n_groups_listed:,} of {seen.n_compared:,} groups ({seen.n_listed:,} examples)"
    among = "within class" if seen.within_class else "among all of the control"
    wrongly = f", of which at most {100 * seen.q:g} % wrongly, on average" if seen.n_listed else ""
    return (
        f"{many}{wrongly} (ranked {among}; the smallest p with this control is {seen.floor:.2g}: a list of "
        f"fewer than {seen.fewest:,} is not possible)"
    )


def level_text(level: float, planned_audits: int) -> str:
    """The level that p is held to.

    Examples
    --------
    >>> level_text(0.05, 1), level_text(0.05, 3)
    ('0.05', '0.05, shared by 3 planned audits')
    """
    return f"{level:g}" + (f", shared by {planned_audits} planned audits" if planned_audits > 1 else "")


def few_groups_text(name: str, n_groups: int | None) -> str | None:
    """A warning where there are few groups; None where there are not.

    Examples
    --------
    >>> few_groups_text("the control", 11)
    'the control has only 11 groups: intervals and detectable effects are rough below 30.'
    """
    if n_groups is None or n_groups >= FEW:
        return None
    return f"{name} has only {n_groups} groups: intervals and detectable effects are rough below {FEW}."


def unmatched_text(test: ControlTestResult) -> str:
    """Why some examples were not compared."""
    if test.n_groups_test is None:
        return "of classes that only one set has"
    return "of classes that only one set has, or in groups of several classes, of which the other set has none"


def leak_notes(leak: LeakEvidence) -> list[str]:
    """Warnings: groups of other sizes, and a harder test set where the verdict looks for an easier one."""
    notes = []
    if not leak.test.tail_counts:
        notes.append(
            "groups have other sizes in the control than in the test set: the leak test counts its mean alone, and no "
            "example can be listed as seen."
        )
    return notes + [sentence for sentence in [_other_way_text(leak)] if sentence]


def _other_way_text(leak: LeakEvidence) -> str | None:
    """By the mean or by the tail, each two-sided at half the level (Bonferroni): rough, since it is no verdict."""
    test = leak.test
    if test.alternative != "greater":
        return None
    halves = (("mean", test.mean), ("upper tail", test.sparse))[: 2 if test.tail_counts else 1]
    found = [(name, of) for name, of in halves if of.difference < 0.0 and 2.0 * of.p_two_sided <= leak.level]
    if not found:
        return None
    name, of = min(found, key=lambda pair: pair[1].p_two_sided)
    knows = ", or a reference knows the test set" if leak.reference_names else ""
    differ = f"the two sets differ in more than what the model may have seen, or the control was trained on{knows}"
    harder = (
        f"{_given_text(leak)}the {name} of the scores says that the test set is harder than the control (two-sided "
        f"p = {p_text(of.p_two_sided)})"
    )
    if test.p_value <= leak.level:
        return f"{harder}, against the verdict, which is by the other of the two: {differ}."
    return f"{harder}, which is no leak: {differ}. A leak could hide behind it."


def residual_chart(leak: LeakEvidence, what: str, caption: str = "") -> Outlines:
    """Residuals of both sets over each other; `what` says what they are. The control's counts are scaled."""
    r, n_control = leak.residuals, sum(leak.residuals.control)
    scaled = "control" if leak.n_test == n_control else f"control, scaled to {leak.n_test:,}"
    sets = (
        ("test set", "test", r.test, 1.0, r.mean_test, "b"),
        (scaled, "control", r.control, leak.n_test / n_control, r.mean_control, "a"),
    )
    means = [fixed(mean, 3, sign=True) for mean in (r.mean_test, r.mean_control)]
    return Outlines(
        title=f"{what[:1].upper()}{what[1:]}: mean {means[0]} on the test set, {means[1]} on the control",
        caption=caption,
        x=Axis(label=what, spec=".3g"),
        y_label="examples",
        edges=r.edges,
        distributions=tuple(
            Distribution(
                name=name,
                counts=tuple(round(count * scale) for count in counts),
                mean=mean,
                mean_text=f"{short} {fixed(mean, 2, sign=True)}",
                style="b" if style == "b" else "a",
            )
            for name, short, counts, scale, mean, style in sets
        ),
    )


def interval_text(of: ControlTestResult, digits: int, *, turned: bool = False) -> str:
    """A difference's interval; without any spread one of width 0 would claim a certainty that nobody has."""
    if not of.standard_error > 0:
        return f"{NOT_DEFINED}: no spread"
    low, high = of.interval
    return pair((-high, -low) if turned else (low, high), digits, sign=True)


DIFFERENCE_COLUMNS = (
    Column(name="Test minus control", align="left"),
    Column(name="Difference"),
    Column(name="p, two-sided"),
    Column(name="p, one-sided"),
    Column(name=f"95{PERCENT} interval", minor=True),
    Column(name="What it shows", align="left", minor=True),
)


def leak_table(leak: LeakEvidence, digits: int) -> Table:
    """Mean and tail, test minus control, and both together."""
    test = leak.test
    told = (
        ("Mean", test.mean, "All residuals count alike: strong where many examples were seen."),
        ("Upper tail", test.sparse, "A likelihood ratio that an example was seen; those far above what was expected "
                                    "count: strong where a few were seen."),
    )  # fmt: skip
    rows = [
        Row(
            cells=(name, fixed(of.difference, digits, sign=True), p_text(of.p_two_sided), p_text(of.p_greater),
                   interval_text(of, digits), meaning)
        )
        for name, of, meaning in told
    ]  # fmt: skip
    smallest = min(1.0, 1 / (test.mean.n_resamples + 1))
    together = (
        f"{side_text(test.alternative)}; {counts_text(leak)}; {test.mean.n_resamples:,} permutations, so never below "
        f"{p_text(smallest)}."
    )
    both = Row(
        cells=("Both together", "", p_text(test.p_two_sided), p_text(test.p_greater), "", tied(together)),
        chosen=True,
        role="the verdict",
    )
    caption = "Test minus control, on the scores" + (" less what references expect" if leak.reference_names else "")
    return Table(caption=caption, columns=DIFFERENCE_COLUMNS, rows=(*rows, both))


def detectable_table(leak: LeakEvidence) -> Table:
    """How far a seen example moves, and the share of the test set that is then found."""
    towards = "" if leak.two_valued else ", up to the 95 % quantile of the scores"
    return Table(
        caption=f"Leaks that would have been found four times in five (level {leak.level:g}, a plug-in estimate)",
        columns=(
            Column(name=tied(f"{moves_text(leak.two_valued)}{towards}"), align="left"),
            Column(name="Share of the test set"),
        ),
        rows=tuple(
            Row(cells=tuple(text.replace(" %", PERCENT) for text in cells))
            for cells in (
                (way_text(found.pull, leak.two_valued), share_of_test_text(found.share)) for found in leak.detectable
            )
        ),
    )
