"""What an audit of scores says: all of its sentences, once."""

from __future__ import annotations

from collections.abc import Iterator

from heldout import summary as page
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.summary import words
from heldout.independence.summary.seeds import audit_seeds_text

PRINTED = 5  # of the examples that look seen
LISTED = 100  # of them on the page; all are in the saved result
OPEN = 12  # of them; on the page the others are folded
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
TAKEN_OFF = (
    "references (--reference-scores) that saw neither set take off most of what makes some items harder, not all"
)
RIGHT_OR_WRONG = "Right and wrong say little of one example: margins or log-likelihoods show a leak long before."
METHOD = (
    "permutation test of scores, less what references lead one to expect where there are any; smallest p of two "
    "statistics after Westfall and Young (1993), list after Benjamini and Hochberg (1995)."
)


def assumption(result: ScoreAuditResult) -> str:
    """What the verdict rests on."""
    alone = "" if result.references else "; there are none here"
    return f"{ASSUMES_HALVES if result.halves else ASSUMES}; {TAKEN_OFF}{alone}"


def _notes(result: ScoreAuditResult) -> list[str]:
    """Warnings on groups, joins and references."""
    taken, mean = result.leak.test.variance_removed, result.leak.test.mean
    seeds = audit_seeds_text(result, result.level / result.planned_audits)
    told = page.that_hold(
        (result.n_repeated, f"{result.n_repeated:,} examples share their text with another one; such examples count as "
                            "one."),
        (mean.n_unmatched, f"Not compared: {words.unmatched_text(mean)}."),
        (result.joined_by_order and result.references, "Not all scores have ids: references were joined by their "
                                                       "order."),
        (result.references and taken < LITTLE, "The references take next to nothing off the variance, so they are no "
                                               "help: leave them out, unless their examples are in another order."),
        (taken > MOST, f"The references take {100 * taken:.1f} % off the variance: is one of them the model itself, or "
                       "made from it? Then it knows what the model knows, and hides a leak."),
    )  # fmt: skip
    return [
        *page.few_groups(mean.n_groups_test, "the test set", words.ROUGH),
        *page.few_groups(mean.n_groups_control, "the control", words.ROUGH),
        *page.that_hold((seeds, seeds or "")),
        *words.leak_notes(result.leak),
        *told,
    ]


def score_summary(result: ScoreAuditResult) -> page.Summary:
    """The result as a summary."""
    leak, (test, control) = result.leak, map(words.source_text, result.sources)
    effects = words.detectable_leak(leak)
    found = words.would_find(effects, references=bool(result.references))
    less = "what the references lead one to expect" if result.references else "the mean of both sets"
    caption = f"To the right the model does better than expected. {words.MEAN_AND_TAIL}"
    chart = words.residual_chart(leak, f"{words.kind_text(leak.kind)} less {less}", caption)
    numbers = _numbers(result)
    return page.Summary(
        kind="Audit of scores: verdict",
        headline=words.HEADLINES[result.outcome][1],
        sentences=(words.capital(words.against_control(result, leak.test.mean, leak, found, 1)),),
        tone="found" if result.ruling.found else "quiet",
        subject=f"{page.quoted(result.model_name or 'model')}: {result.n_examples:,} test examples ({test}) and "
        f"{result.n_control:,} control examples ({control})",
        figures=_figures(result, effects),
        warnings=tuple(_notes(result)),
        lines=numbers,
        sections=(
            *words.advice(result, result.planned_audits, effects, (result.kind == "correct", RIGHT_OR_WRONG)),
            page.Section.of("Test set against control", chart),
            *_seen(result),
            page.Section.of("The numbers", page.Facts(numbers)),
        ),
        closing=(f"This assumes that {result.assumes}.",),
        origin=page.origin(
            result,
            *zip(("Test set", "Control"), result.sources, strict=True),
            *((f"Digest of {of} scores", result.digests[of]) for of in ("test", "control")),
        ),
        method=METHOD,
    )


def _figures(result: ScoreAuditResult, effects: words.Effects) -> tuple[page.Figure, ...]:
    name, means = words.kind_text(result.kind), {"test set": result.mean_test, "control": result.mean_control}
    return (
        words.p_figure(result, words.side_text(result.leak.test.alternative)),
        *(page.Figure(name=f"Mean {name}, {of}", value=page.fixed(v, 3), strong=False) for of, v in means.items()),
        words.detectable_figure("Detectable leak", result, effects, strong=False),
    )


def _numbers(result: ScoreAuditResult) -> page.Rows:
    """What was audited, and every number."""
    direction = "better" if result.larger_is_better else "worse"
    mean, (test, control) = result.leak.test.mean, map(words.source_text, result.sources)
    sets = (
        ("Test set", result.mean_test, result.n_examples, mean.n_groups_test, test),
        ("Control", result.mean_control, result.n_control, mean.n_groups_control, control),
    )
    first = ", ".join(page.quoted(example.id) for example in result.look_seen[:PRINTED])
    return page.kept_facts(
        ("Model", page.quoted(result.model_name) if result.model_name else None),
        ("Scores", f"{words.kind_text(result.kind)}, larger is {direction}; {result.clipping.replace(' -', ' −')}"),
        *(
            (name, f"mean {page.minus(f'{mean:.6g}')}  (n = {n:,}{words.groups_text(n_groups)}, {source})")
            for name, mean, n, n_groups, source in sets
        ),
        ("Compared within", result.strata),
        *words.leak_lines(result.leak, ", within class" if result.strata else ""),
        ("  The first of them", first),
        words.e_value_line(result),
    )


def _seen(result: ScoreAuditResult) -> Iterator[page.Section]:
    """The list, where there is one, and what it is worth."""
    rows = [
        (x.id, page.fixed(x.score, 3), page.fixed(x.expected, 3), page.fixed(x.score - x.expected, 3, sign=True),
         page.p_text(x.p_value))
        for x in result.look_seen[:LISTED]
    ]  # fmt: skip
    if rows:
        caption = "Most suspicious first; rank p is the share of the control's examples that look as seen or more"
        columns = ("Example", "Score", "Expected", "Difference", "Rank p")
        doubt = "The verdict above does not call the test set easier than the control, so do not rely on this list."
        yield page.Section.of(
            "Examples that look seen",
            doubt if result.outcome != "easier" else None,
            page.Table.of(caption, columns, rows, more=len(result.look_seen) - len(rows), rows_open=OPEN),
        )
