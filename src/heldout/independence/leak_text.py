"""The leak test in words: its lines in a printed result, and what other texts and reports say of it too."""

from __future__ import annotations

import math

from heldout.independence.leak import LeakEvidence
from heldout.statistics.checks import Alternative
from heldout.statistics.power import POWER

WAYS = {0.25: "a quarter of the way", 0.5: "half the way", 1.0: "all the way"}
KINDS = {"correct": "right or wrong"}


def pvalue_text(log_p: float) -> str:
    """A p-value for people, also where it underflows.

    Examples
    --------
    >>> pvalue_text(0.0), pvalue_text(-5.0), pvalue_text(math.log(0.0001)), pvalue_text(-2302.585)
    ('1', '0.0067', '0.0001', '1e-1000')
    """
    if log_p > math.log(1e-4) - 1e-9:
        return f"{math.exp(log_p):.2g}"
    exponent = log_p / math.log(10.0)
    whole = math.floor(exponent + 1e-6)
    digit = 10 ** (exponent - whole)
    return f"{digit:.0f}e{whole:d}" if round(digit) < 10 else f"1e{whole + 1:d}"


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


def variance_text(leak: LeakEvidence) -> str:
    """What it is whose variance the references take off."""
    kind = kind_text(leak.kind.removeprefix("minus "))
    return f"the variance of {kind}" if leak.two_valued else f"the {kind}'s variance"


def given_text(leak: LeakEvidence) -> str:
    """The condition under which the sets are compared, with its comma; empty without references."""
    k = len(leak.reference_names)
    if not k:
        return ""
    return "given what the reference finds hard, " if k == 1 else f"given what the {k} references find hard, "


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


def leak_share_text(share: float) -> str:
    """A share of the test set.

    Examples
    --------
    >>> leak_share_text(0.0123), leak_share_text(0.123), leak_share_text(0.997), leak_share_text(math.nan)
    ('1.2 %', '12 %', '100 %', 'not defined')
    """
    if math.isnan(share):
        return "not defined"
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def range_of_shares(leak: LeakEvidence) -> str | None:
    """The smallest to the largest share that would have been found; None where none is known."""
    known = [found.share for found in leak.detectable if not math.isnan(found.share)]
    if not known:
        return None
    return " to ".join(dict.fromkeys(leak_share_text(share) for share in (min(known), max(known))))


def counts_text(leak: LeakEvidence) -> str:
    """Which of mean and tail the verdict is by."""
    if not leak.test.tail_counts:
        return "the mean counts alone"
    return "the smaller of the two, under the same permutations"


def leak_lines(evidence: LeakEvidence, *, within: str = "within class") -> list[str]:
    """The leak test in a printed result, a line for each finding; `within` says what was compared within."""
    test, k = evidence.test, len(evidence.reference_names)
    low, high = test.mean.interval
    told = [within, "each group counted once" if test.mean.n_groups_test is not None else ""]
    what = ", ".join(text for text in told if text)
    what += "; " if what else ""
    kind = kind_text(evidence.kind)
    named = f"{kind} less references" if k else kind
    if len(named) > 24:
        named = "score less references" if k else "score"
    lines = []
    if k:
        names = ", ".join(evidence.reference_names[:3]) + (", ..." if k > 3 else "")
        taken = 100 * test.variance_removed
        takes = "takes" if k == 1 else "take"
        off = "" if math.isnan(taken) else f", {takes} {taken:.0f} % of {variance_text(evidence)} off"
        lines.append(f"{'references':24s} {k} ({names}){off}")
    p, mean, tail = (pvalue_text(math.log(found.p_value)) for found in (test, test.mean, test.sparse))
    return [
        *lines,
        f"{named:24s} test minus control {test.mean.difference:+.4f}  ({what}95 % {low:+.4f} to {high:+.4f})",
        f"{'leak test':24s} p = {p}, {side_text(test.alternative)}  (mean {mean}, tail {tail}; "
        f"{counts_text(evidence)})",
        f"{'detectable leak':24s} {detectable_text(evidence)}",
        f"{'examples that look seen':24s} {evidence.seen}",
    ]


def detectable_text(evidence: LeakEvidence) -> str:
    """What would have been found four times in five, in one sentence without a full stop."""
    known = [found for found in evidence.detectable if not math.isnan(found.share)]
    if not known:
        return (
            f"none: not even a leak of the whole test set would be found four times in five (level {evidence.level:g})"
        )
    binary = evidence.two_valued
    first, *rest = ((leak_share_text(found.share), way_text(found.pull, binary)) for found in known)
    told = f"{first[0]} of the test set if {moves_text(binary)} {first[1]}"
    told += "" if binary else " up to the 95 % quantile of the scores"
    told += "".join(f", {share} if {way}" for share, way in rest)
    return f"{told}  (level {evidence.level:g}, power {POWER:g}, plug-in)"


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


def other_sizes_text(evidence: LeakEvidence) -> str | None:
    """What is left out where groups have other sizes in one set than in the other; None where they have not."""
    if evidence.test.tail_counts:
        return None
    return (
        "groups have other sizes in the control than in the test set: the leak test counts its mean alone, and no "
        "example can be listed as seen."
    )


def other_way_text(evidence: LeakEvidence) -> str | None:
    """A warning where the verdict looks for an easier test set and the data show a harder one; None where they do not.

    By the mean or by the tail, each two-sided at half the level (Bonferroni): rough, since it is no verdict.
    """
    test = evidence.test
    if test.alternative != "greater":
        return None
    halves = (("mean", test.mean), ("upper tail", test.sparse))[: 2 if test.tail_counts else 1]
    found = [(name, of) for name, of in halves if of.difference < 0.0 and 2.0 * of.p_two_sided <= evidence.level]
    if not found:
        return None
    name, of = min(found, key=lambda pair: pair[1].p_two_sided)
    knows = ", or a reference knows the test set" if evidence.reference_names else ""
    differ = f"the two sets differ in more than what the model may have seen, or the control was trained on{knows}"
    harder = (
        f"{given_text(evidence)}the {name} of the scores says that the test set is harder than the control (two-sided "
        f"p = {pvalue_text(math.log(of.p_two_sided))})"
    )
    if test.p_value <= evidence.level:
        return f"{harder}, against the verdict, which is by the other of the two: {differ}."
    return f"{harder}, which is no leak: {differ}. A leak could hide behind it."
