"""What an audit of scores says: all of its sentences, once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.independence.summary.leak import (
    HEADLINES,
    NO_INTENT,
    TITLES,
    counts_text,
    detectable_table,
    few_groups_text,
    kind_text,
    leak_lines,
    leak_notes,
    leak_table,
    leak_verdict,
    level_text,
    p_times_text,
    planned_text,
    range_of_shares,
    residual_chart,
    seen_text,
    side_text,
    spoken,
    tied,
    unmatched_text,
)
from heldout.statistics.power import POWER
from heldout.summary import Block, Column, Facts, Figure, Note, Points, Prose, Row, Section, Summary, Table
from heldout.summary.numbers import NOT_DEFINED, PERCENT, fixed, p_text, share_text

if TYPE_CHECKING:
    from heldout.independence.score_result import ScoreAuditResult

PRINTED = 5  # of the examples that look seen
LISTED = 100  # of them on the page; all are in the saved result
LITTLE = 0.05  # share of the variance below which references hardly help
MOST = 0.98  # above which a reference may be the model itself; CIFAR-10 networks of one kind take 80 % off
ASSUMES = (
    "test set and control differ in nothing but what the model may have seen, as two random parts of one source; sets "
    "of another time, author or difficulty differ in more"
)
ASSUMES_HALVES = (
    "the two halves of the benchmark differ in nothing but exposure; items that get harder or easier over time are the "
    "usual way in which this fails"
)
# Measured: items that are harder by 0.2 of a standard deviation in one of two sets of 1,000 raise a false alarm in 99 %
# of the audits without references, in 14 % with three that take 75 % off the variance, in 30 % with one.
TAKEN_OFF = "references that saw neither set take off most of what makes some items harder than others, not all of it"
NOT_TAKEN_OFF = (
    "nothing takes off what makes some items harder than others, as references (--reference-scores) that saw neither "
    "set would for the most part"
)
METHOD = (
    "permutation test of scores less what references lead one to expect; smallest p of two statistics after Westfall "
    "and Young (1993), list after Benjamini and Hochberg (1995)."
)


def assumption(result: ScoreAuditResult) -> str:
    """What the verdict rests on."""
    return f"{ASSUMES_HALVES if result.halves else ASSUMES}; {TAKEN_OFF if result.references else NOT_TAKEN_OFF}"


def verdict_text(result: ScoreAuditResult) -> str:
    """The verdict in one string: its title in capitals, then the sentence."""
    return f"{TITLES[result.outcome]} {_sentence(result)}"


def _sentence(result: ScoreAuditResult) -> str:
    nothing_but = "the two halves differ in nothing but exposure"
    causes = ["items of another difficulty, source or time", "a control that the model was trained on"]
    causes += ["a reference that knows the test set"] if result.references else []
    tested = p_times_text(result.log_p_value, math.log(result.adjusted_p_value), result.planned_audits)
    return leak_verdict(
        result.leak,
        result.ruling,
        tested=f"{tested}, leak test on {kind_text(result.kind)}",
        easier="the model scores better",
        harder="the model scores worse",
        follows=f"If {nothing_but if result.halves else 'the two sets differ in nothing else'}, the model has seen "
        "some of the test set, or was chosen by it.",
        causes=", ".join(causes[:-1]) + (", or " if len(causes) > 2 else " or ") + causes[-1],
    )


def notes_of(result: ScoreAuditResult) -> list[str]:
    """Warnings on groups, joins and references."""
    mean, taken = result.leak.test.mean, result.leak.test.variance_removed
    sizes = (("the test set", mean.n_groups_test), ("the control", mean.n_groups_control))
    notes = [told for told in (few_groups_text(name, count) for name, count in sizes) if told]
    notes += leak_notes(result.leak)
    if result.n_repeated:
        notes.append(f"{result.n_repeated:,} examples share their text with another one; such examples count as one.")
    if mean.n_unmatched:
        notes.append(f"{mean.n_unmatched:,} examples {unmatched_text(mean)} were not compared.")
    if result.joined_by_order and result.references:
        notes.append("not all scores have ids: references were joined by their order.")
    if result.references and taken < LITTLE:
        notes.append(
            "the references take next to nothing off the variance, so they are no help: leave them out, unless "
            "their examples are in another order."
        )
    if taken > MOST:
        notes.append(
            f"the references take {100 * taken:.1f} % off the variance: is one of them the model itself, or made from "
            "it? Then it knows what the model knows, and hides a leak."
        )
    return notes


def score_summary(result: ScoreAuditResult) -> Summary:
    """The result as a summary."""
    return Summary(
        kind="Audit of scores: verdict",
        headline=HEADLINES[result.outcome],
        sentences=(spoken(_sentence(result), result.level),),
        tone="found" if result.ruling.found else "quiet",
        subject=f"{result.model_name or 'model'}: {result.n_examples:,} test examples ({result.sources[0]}) and "
        f"{result.n_control:,} control examples ({result.sources[1]})",
        figures=_figures(result),
        warnings=tuple(result.notes),
        lines=_lines(result),
        sections=(
            Section(title="What this means", blocks=(Points(_means(result)),)),
            Section(title="What it does not mean", blocks=(Points(_not_means(result)),)),
            Section(title="What to do next", blocks=(Points(_next_steps(result)),)),
            _residuals(result),
            Section(title="What would have been found", blocks=(detectable_table(result.leak),)),
            Section(title="Examples that look seen", blocks=_seen(result)),
            Section(title="What was audited", blocks=(Facts(_facts(result)),)),
        ),
        closing=(f"This assumes that {result.assumes}.",),
        origin=(
            ("heldout", result.version),
            ("Date", result.created),
            ("Seed", str(result.seed)),
            ("Digest of test scores", result.digests["test"]),
            ("Digest of control scores", result.digests["control"]),
        ),
        method=METHOD,
    )


def _level(result: ScoreAuditResult) -> str:
    return level_text(result.level, result.planned_audits)


def _shares(result: ScoreAuditResult) -> str:
    return (range_of_shares(result.leak) or NOT_DEFINED).replace(" %", PERCENT)


def _figures(result: ScoreAuditResult) -> tuple[Figure, ...]:
    leak, name, found = result.leak, kind_text(result.kind), result.ruling.found
    of = "what references leave" if result.references else "the scores"
    how = "by how often a seen example that would be wrong becomes right"
    figures = [
        Figure(name="p-value", value=p_text(result.adjusted_p_value),
               note=f"leak test, {side_text(leak.test.alternative)}: mean and tail of {of}, {counts_text(leak)}; "
                    f"{'at most' if found else 'above'} the level of {_level(result)}"),
        Figure(name=f"Mean {name}, test set", value=fixed(result.mean_test, 3), strong=False),
        Figure(name=f"Mean {name}, control", value=fixed(result.mean_control, 3), strong=False),
        Figure(name="Detectable leak", value=_shares(result), strong=False,
               note=f"of the test set would have been found (level {_level(result)}, power {POWER:g}), "
                    f"{how if leak.two_valued else 'by how far a seen example moves'}; a plug-in estimate from these "
                    "data"),
    ]  # fmt: skip
    if result.references:
        removed = share_text(leak.test.variance_removed)
        note = "of the variance of the scores, so that a leak stands out of what is left"
        figures.append(Figure(name="Taken off by references", value=removed, note=note, strong=False))
    return tuple(figures)


def _lines(result: ScoreAuditResult) -> tuple[tuple[str, str], ...]:
    sets = (
        ("test set", result.mean_test, result.n_examples, result.n_groups, result.sources[0]),
        ("control", result.mean_control, result.n_control, result.n_groups_control, result.sources[1]),
    )
    lines = [("scores", _scores_text(result, result.kind))]
    lines += [
        (name, f"mean {_number(mean)}  ({n:,} examples{_groups(n_groups)}, {source})")
        for name, mean, n, n_groups, source in sets
    ]
    lines += [("compared within", result.strata)] if result.strata else []
    lines += leak_lines(result.leak, within="within class" if result.strata else "")
    if result.seen:
        ids = ", ".join(example.id for example in result.seen[:PRINTED])
        lines.append(("  the first of them", f"{ids}{', ...' if len(result.seen) > PRINTED else ''}"))
    average = "(average it over audits that share test set or control)"
    return (*lines, ("e-value", f"{math.exp(result.log_e_value):.3g}  {average}"))


def _scores_text(result: ScoreAuditResult, kind: str) -> str:
    return f"{kind}, larger is {'better' if result.larger_is_better else 'worse'}; {result.clipping}"


def _number(value: float) -> str:
    """
    Examples
    --------
    >>> _number(-1.25), _number(3.2e90)
    ('-1.2500', '3.2e+90')
    """
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.5g}"


def _groups(count: int | None) -> str:
    return "" if count is None else f" in {count:,} groups"


def _means(result: ScoreAuditResult) -> tuple[str, ...]:
    test, k = result.leak.test, len(result.references)
    side = "better" if test.mean.difference > 0 else "worse"
    known, s = ("the reference", "s") if k == 1 else (f"the {k} references", "")
    given = f", less what {known} lead{s} one to expect" if k else ""
    points = [
        f"On average the model scores {fixed(abs(test.mean.difference), 4)} {side} on the test set than on the control "
        f"({kind_text(result.kind)}{given}); p = {p_text(result.adjusted_p_value)}, of mean and tail together."
    ]
    if k:
        removed = share_text(test.variance_removed)
        points.append(f"Models agree on what is hard: {known} take{s} {removed} off the variance of the scores.")
    how = "by how often a seen one turns right" if result.leak.two_valued else "by how far a seen example moves"
    if range_of_shares(result.leak) is None:
        points.append("Not even a leak of the whole test set would have been found four times in five. So this says "
                      "very little.")  # fmt: skip
    else:
        points.append(f"A leak of {_shares(result)} of the test set would have been found with probability {POWER:g}, "
                      f"{how}. Anything smaller may be there unseen.")  # fmt: skip
    return tuple(points)


def _not_means(result: ScoreAuditResult) -> tuple[str, ...]:
    points = {
        "no evidence": ["“No evidence” is not “clean”: it is silence down to the detectable leak, and no further."],
        "easier": [NO_INTENT],
    }.get(result.outcome, [])
    points = [*points, "The control is only as good as its history; what is assumed of it stands below."]
    if result.references:
        points.append("A reference that knows the test set itself hides a leak; one that knows the control can make a "
                      "false alarm.")  # fmt: skip
    return (*points, planned_text(_level(result)))


def _next_steps(result: ScoreAuditResult) -> tuple[str, ...]:
    points = []
    if result.outcome == "easier":
        points.append("Make sure that test set and control were drawn alike; if they were not, an easier test set "
                      "shows nothing.")  # fmt: skip
        if result.seen:
            points.append("Look for the examples listed below in the training data, word for word and reworded.")
        points.append("Report the control's score, not the test set's.")
    if result.outcome == "harder":
        points.append("Check that test set and control come from one source, and that the control was in no training "
                      "set.")  # fmt: skip
    if not result.references:
        points.append("Add references (`--reference-scores`): models that cannot have seen more of the test set than "
                      "of the control. They take off what makes some examples harder than others.")  # fmt: skip
    if result.kind == "correct":
        points.append("Right and wrong say little of a single example: margins or log-likelihoods of the target show a "
                      "leak long before.")  # fmt: skip
    if result.outcome == "no evidence":
        points.append("To see half as large a leak, use about four times as many examples in both sets, or more "
                      "references.")  # fmt: skip
    return tuple(points)


def _residuals(result: ScoreAuditResult) -> Section:
    less = "what the references lead one to expect" if result.references else "the mean of both sets"
    of_it = " of it" if result.references else ""
    caption = (
        f"Each score less {less}{of_it}. To the right the model does better than expected. A leak moves some test "
        "examples to the right; a few seen examples show in the tail more than in the mean."
    )
    chart = residual_chart(result.leak, f"{kind_text(result.leak.kind)} less {less}", caption)
    return Section(title="Test set against control", blocks=(chart, leak_table(result.leak, 5)))


def _seen(result: ScoreAuditResult) -> tuple[Block, ...]:
    blocks: list[Block] = [Prose(f"{tied(seen_text(result.leak.seen))}.")]
    if not result.seen:
        return tuple(blocks)
    if result.outcome != "easier":
        blocks.append(Note("The verdict above does not call the test set easier than the control, so do not rely on "
                           "this list."))  # fmt: skip
    of_class = " of its class" if result.leak.seen.within_class else ""
    table = Table(
        caption="Examples that look seen, most suspicious first",
        columns=(Column(name="Example", align="left"), Column(name="Score"), Column(name="Expected"),
                 Column(name="Difference"), Column(name="Rank p")),
        rows=tuple(
            Row(cells=(x.id, fixed(x.score, 3), fixed(x.expected, 3), fixed(x.score - x.expected, 3, sign=True),
                       p_text(x.p_value)))
            for x in result.seen[:LISTED]
        ),
        more=max(0, len(result.seen) - LISTED),
    )  # fmt: skip
    note = Note(
        f"Rank p: the share of control examples{of_class} that look as seen or more. The list is Benjamini and "
        f"Hochberg's: of such lists, at most {100 * result.leak.seen.q:g}{PERCENT} of the examples are on it wrongly, "
        "on average."
    )
    return (*blocks, table, note)


def _facts(result: ScoreAuditResult) -> tuple[tuple[str, str], ...]:
    def groups(count: int | None) -> str:
        return f"{_groups(count)}, each counted once" if count is not None else ""

    facts = (
        ("Model", result.model_name),
        ("Scores", _scores_text(result, kind_text(result.kind))),
        ("Test set", f"n = {result.n_examples:,}{groups(result.n_groups)}, {result.sources[0]}"),
        ("Control", f"{result.n_control:,} examples{groups(result.n_groups_control)}, {result.sources[1]}"),
        ("References", ", ".join(result.references) or "none"),
        ("Compared within", result.strata or ""),
        ("Alternative", "a test set that is too easy only (one-sided), declared beforehand"
         if result.alternative == "greater" else "two-sided"),
    )  # fmt: skip
    return tuple((name, text) for name, text in facts if text)
