"""What an audit of pictures says: its verdict, key figures and numbers, and which sections there are."""

from __future__ import annotations

import math

from heldout import summary as page
from heldout.images.preprocessing import preprocessing_text
from heldout.independence.evidence import CONFIDENCE, Examples
from heldout.independence.result import AuditResult
from heldout.independence.summary import moves, sections, words
from heldout.independence.summary.seeds import audit_seeds_text
from heldout.independence.untouched import ORIGINAL
from heldout.independence.views import ViewsEvidence
from heldout.statistics.power import POWER, Detectable

RULES = {
    "strongest": "strongest: the move that makes the model most wrong",
    "nearest": "nearest: the shortest move that makes the model wrong",
    "random": "random: the average over all moves",
    "random2": "random2: the average over all moves and staying put",
}
TOWARDS = {
    "easier": "the pictures as they stand are easier for {} than their {}: the direction of overfitting",
    "harder": "the pictures as they stand are harder for {} than their {}: not the direction of "
    "overfitting, so look at the preprocessing first",
}
NOT_ENOUGH = "not even the largest one that these examples allow would be found four times in five"
NO_SPREAD = "no spread within any class of test set or control to project from"
NONE_POSITIVE = "no example has a positive T, so there is nothing to project a positive mean from"
LARGER_RADIUS = "Use a larger radius: here no move changed enough to measure anything."
MORE_RUNS = (
    "To judge the architecture and not one run, train it N times with different seeds and audit all N together: {}, "
    "which takes the noise of training out."
)
METHOD = (
    "R. Werpachowski, A. György, C. Szepesvári (2019), “Detecting overfitting via adversarial examples”, NeurIPS 2019, "
    "<https://arxiv.org/abs/1903.02380>; sections and figures named here are those of version 1 (“v1”), "
    "<https://arxiv.org/abs/1903.02380v1>. Betting test: V. Voráček, F. Orabona (2025), “STaR-Bets”, "
    "<https://arxiv.org/abs/2505.22422>."
)
NOT_ONE_VIEW = "no picture is right in one view and wrong in another, so there is nothing to project from"


def audit_summary(result: AuditResult) -> page.Summary:
    """The result as a summary."""
    e, leak, numbers = result.evidence, result.leak, _numbers(result)
    effects = words.detectable_leak(leak) if leak else detectable(result)
    by_shifts = not leak and not result.orbit.is_group
    together = "their errors are counted together" if e.verdict_by == "orbit" else "T is averaged first"
    still = by_shifts and not result.ruling.found and effects["mean T"][0] == page.NOT_DEFINED
    more = (still, LARGER_RADIUS), (result.n_models == 1, MORE_RUNS.format(together))
    return page.Summary(
        kind="Audit: verdict",
        headline=words.headline(result.ruling, result.orbit)[1],
        sentences=(words.capital(_sentence(result, effects)),),
        tone="found" if result.ruling.found else "quiet",
        subject=_subject(result),
        figures=_figures(result, effects),
        warnings=tuple(_notes(result)),
        lines=numbers,
        sections=(
            *(sections.views(result) if e.verdict_by == "orbit" else ()),
            sections.two_estimates(result),
            *words.advice(result, e.planned_audits, effects, *more),
            page.Section.of("What was audited, and the numbers", page.Facts(numbers)),
            *sections.references(result),
            *sections.control(result),
            *(sections.views(result) if e.verdict_by != "orbit" else ()),
            sections.exhibits(result),
            sections.statistic(result),
            *sections.models(result),
            sections.p_values(result),
            sections.growth(result),
        ),
        origin=page.origin(
            result,
            *zip(("Test set", "Control"), result.sources, strict=False),
            ("Control data digest", result.control_digest),
            ("Preprocessing", preprocessing_text(result.preprocessing)),
        ),
        method=METHOD,
    )


def _notes(result: AuditResult) -> list[str]:
    """Warnings on a limit, on groups, on halves that disagree, and on a test set that is harder than the control."""
    e, control = result.evidence, result.evidence.control
    notes: list[str] = []
    sets = (("test set", result.test), ("control", result.control))
    for (name, of), available in zip(sets, result.available, strict=False):
        if of is not None:
            notes += words.limited(len(of), available, f"pictures of the {name}")
            notes += page.few_groups(None if of.groups is None else of.n_groups, f"the {name}", words.ROUGH)
    for (name, _), oddities in zip(sets, result.oddities, strict=False):
        notes += oddities.sentences(f"the {name}")
    notes += [words.chance_text(name) for name in result.at_chance]
    if result.leak is not None:
        notes += words.leak_notes(result.leak)
    elif control is not None and control.disagree(e.level / e.planned_audits):
        notes.append(words.disagree_text("T", "the error rate", control.statistic))
    seeds = audit_seeds_text(result, e.level / e.planned_audits)
    return notes if seeds is None else [*notes, seeds]


def _sentence(result: AuditResult, effects: words.Effects) -> str:
    """With a control: no evidence; easier, which is dependence if the control is a random draw from the same source;
    harder, which is not overfitting. Without one: no evidence, or rejected, which leaves open what fails."""
    e, c, leak, many = result.evidence, result.evidence.control, result.leak, result.n_models
    found = words.would_find(effects, references=bool(leak))
    if c is not None:
        return words.against_control(e, leak.test.mean if leak else c.statistic, leak, found, many)
    grouped = words.groups_text(None if result.test.groups is None else result.test.n_groups)
    test = "betting" if e.views is None else "orbit test"
    tested = f"{words.tested_text(e, None)}, {test}, {_side(result)}, n = {result.n_examples:,}{grouped}"
    assumed = moves.neutral(result.orbit, result.tolerance)
    if e.views is not None:
        return _of_views(result, e.views, tested, found)
    if result.direction:
        towards = TOWARDS[result.direction].format(words.models_text(many), moves.copies(result.orbit))
        return (
            f"At level {e.level:g}: it cannot both be true that {'the model is' if many == 1 else 'all models are'} "
            f"independent of this test set and that {assumed} ({tested}). Mean T is "
            f"{page.fixed(e.tested_statistic, sign=True)}: {towards}. Photographs are framed"
            f"{'' if moves.only_shifts(result.orbit) else ' and have a usual view'}, so "
            f"{moves.kinds(result.orbit).removeprefix('small ')} seldom are quite neutral; do not "
            "call this overfitting before a control (--control) has told the two apart."
        )
    return (
        f"At level {e.level:g}: nothing was found ({tested}). {found} This rests on two assumptions: "
        f"independence, which is tested, and that {assumed} (they keep a picture's label and "
        "likelihood), which is not. Only a control (--control) can tell them apart."
    )


def _of_views(result: AuditResult, views: ViewsEvidence, tested: str, found: str) -> str:
    """The sentence of the orbit test: no evidence, or that independence and equally likely views exclude each other."""
    e, many = result.evidence, result.n_models
    rates = (
        f"{words.capital(words.models_text(many))} {'is' if many == 1 else 'are'} wrong on "
        f"{page.percent(views.error)} of the pictures as they stand, and on {page.percent(views.expected_error)} of "
        "all their views"
    )
    assumed = moves.neutral(result.orbit)
    if result.direction:
        towards = "not " * (result.direction == "harder") + "the direction of overfitting"
        return (
            f"At level {e.level:g}: it cannot both be true that {'the model is' if many == 1 else 'all models are'} "
            f"independent of how these pictures are arranged and that {assumed} ({tested}). {rates}: {towards}. The "
            f"second is not tested: choosing this orbit declares it. {moves.usual_view(result.orbit)}"
        )
    return (
        f"At level {e.level:g}: nothing was found ({tested}). {rates}. {found} This rests on two assumptions: "
        f"independence, which is tested, and that {assumed}, which is not: choosing this orbit declares it."
    )


def detectable(result: AuditResult, digits: int = 4) -> words.Effects:
    """Of each half of the test the effect that would have been found four times in five, both ends or one where they
    are the same; or that it is not defined, and why."""
    e, c, told = result.evidence, result.evidence.control, {}
    if c is None and e.views is not None:
        why = "" if math.isfinite(e.detectable.high) else NOT_ENOUGH if e.views.n_telling else NOT_ONE_VIEW
        return {"the error rate": _ends(e.detectable, why, digits)}
    halves = {"mean T": (e.detectable, None if c is None else c.statistic)}
    if c is not None:
        halves["the error rate"] = (c.detectable_error, c.error_rate)
    for name, (found, test) in halves.items():
        why = "" if math.isfinite(found.high) else NOT_ENOUGH
        if test is not None and not test.standard_error > 0:
            why = NO_SPREAD  # the formula gives 0: nothing was measured, which is not "everything is found"
        elif why and test is None and not result.drawn.statistic.n_above:
            why = NONE_POSITIVE
        told[name] = _ends(found, why, digits)
    return told


def _ends(found: Detectable, why: str, digits: int) -> tuple[str, str]:
    """Both ends or one where they are the same; or that they are not defined, and why."""
    ends = dict.fromkeys(page.fixed(end, digits) for end in (found.low, found.high))
    return (page.NOT_DEFINED if why else " to ".join(ends), why or "depending on how it comes about" * (len(ends) > 1))


def _subject(result: AuditResult) -> str:
    """What was audited, on which data, in one line."""
    test, control = (f" ({words.source_text(source)})" if source else "" for source in (*result.sources, "", "")[:2])
    fresh = f" and {len(result.control):,} control examples{control}" if result.control is not None else ""
    against = f", against {page.names_text(result.references, 3)}" if result.references else ""
    return f"{page.names_text(result.model_names, 3)}: {result.n_examples:,} test examples{test}{fresh}{against}"


def _figures(result: AuditResult, effects: words.Effects) -> tuple[page.Figure, ...]:
    """What was found stands large where something was; what could have been found where nothing was."""
    e, c, found = result.evidence, result.evidence.control, result.ruling.found
    mean = "above zero where the moved pictures, properly weighted, are harder"
    mean += "; each group counts once" * (result.test.groups is not None)
    rows = [("Mean T", page.fixed(e.tested_statistic, sign=True), mean)]
    if e.views is not None:
        rows = [
            ("Error as they stand", page.percent(e.views.error), "of the test set"),
            ("Error over all views", page.percent(e.views.expected_error), "expected as they stand, if independent"),
        ]
    if c is not None:
        errors = {"test set": e.untouched_error, "control": c.untouched_error}
        rows = [(f"Error on the {of}", page.percent(v), "untouched pictures") for of, v in errors.items()]
    return (
        words.p_figure(e, _side(result)),
        *(page.Figure(name=name, value=value, note=note, strong=found) for name, value, note in rows),
        words.detectable_figure(f"Detectable {'leak' if result.leak else 'effect'}", e, effects, strong=not found),
    )


def _side(result: AuditResult) -> str:
    """What the verdict's test looks for."""
    on_its_own = result.evidence.verdict_by == "betting"
    return words.side_text(result.verdict_alternative, result.tolerance if on_its_own else None)


def _numbers(result: AuditResult) -> page.Rows:
    """Every number but p-values, with what it is."""
    e, c, fixed = result.evidence, result.evidence.control, page.fixed
    sure, effects = f"{100 * CONFIDENCE:g}{page.PERCENT}", [text for text, _ in detectable(result, 5).values()]
    lines: list[tuple[str, str | None]] = [
        ("Test error R_S", f"{fixed(e.test_error)}  ({sure} {page.pair(e.intervals['test_error'])})"),
        ("  Untouched pictures", f"{fixed(e.untouched_error)}  (as they are, not in the frame)"
         if ORIGINAL in result.untouched_pictures else None),
        ("Adversarial error", f"{fixed(e.adversarial_error)}  (attack success {fixed(result.test.attack_success)})"),
        ("Adversarial estimate R_g", f"{fixed(e.adversarial_estimate)}  ({sure} "
                                     f"{page.pair(e.intervals['adversarial_estimate'])})"),
        ("Mean T = R_g − R_S", fixed(e.statistic, 5, sign=True)),
        ("  Each group counted once", None if result.test.groups is None else fixed(e.tested_statistic, 5, sign=True)),
        ("Variances", f"R_S {page.scientific(e.test_error_variance)}, R_g "
                      f"{page.scientific(e.adversarial_estimate_variance)}  (R_g's is never larger in "
                      "expectation, if independent)"),
        words.e_value_line(e),
        ("Detectable effect on T" if e.views is None or c is not None else "Detectable drop in errors",
         f"{effects[0]}  (level {words.level_text(e)}; power {POWER:g}, plug-in)"),
    ]  # fmt: skip
    of_views = [] if e.views is None else _view_lines(e.views, result.test.groups is not None)
    if c is None:
        lines = [*of_views, *lines]
    else:
        grouped = c.statistic.n_groups_test is not None
        plain = (e.statistic - c.mean_statistic, e.untouched_error - c.untouched_error)
        lines += [
            ("  On the error rate", effects[1]),
            ("Control error", f"{fixed(c.untouched_error)}  (untouched pictures; test set {fixed(e.untouched_error)})"),
            ("T of the control", fixed(c.mean_statistic, 5, sign=True)),
            ("Test minus control, plain", "T {}, error rate {}".format(*(fixed(v, 5, sign=True) for v in plain))),
            ("The same, within class", f"weighted{', each group counted once' * grouped}"),
            ("  T", words.difference_text(c.statistic)),
            ("  Error rate", words.difference_text(c.error_difference)),
            ("  Not compared", words.unmatched_text(c.statistic)),
            *of_views,
        ]
    leak = () if result.leak is None else words.leak_lines(result.leak, ", within class")
    return (*leak, *page.kept_facts(*lines, *_audited(result)))


def _view_lines(views: ViewsEvidence, grouped: bool) -> list[tuple[str, str | None]]:
    """The orbit test's numbers."""
    few = views.n_symmetric
    return [
        ("Error as they stand", page.fixed(views.error)),
        ("Error over all views", f"{page.fixed(views.expected_error)}  (± {page.fixed(views.deviation)} as they stand, "
                                 "if independent)"),
        ("Orbit test", f"p = {page.pvalue_text(views.log_p_two_sided)} two-sided, "
                       f"{page.pvalue_text(views.log_p_greater)} one-sided (easier)"),
        ("  Groups that tell" if grouped else "  Pictures that tell",
         f"{page.of_text(views.n_telling, views.n_units)} have more errors in one view than in another"),
        ("  Symmetric pictures", f"{few:,}, which some move leaves unchanged: equal views count once" if few else None),
    ]  # fmt: skip


def _audited(result: AuditResult) -> list[tuple[str, str | None]]:
    """What was audited, and how."""
    moved = moves.all_moves(result.orbit, str(result.preprocessing.get("frame")))
    scored = f"{result.evaluations:,} on the test set ({result.evaluations_per_image:.1f} per picture and model)"
    sides = _side(result) + (f"; of T and error rate {words.side_text(result.alternative)}" if result.leak else "")
    sides += "; declared beforehand" * (result.alternative == "greater")
    return [
        ("Models", f"{page.names_text(result.model_names)}; trainings averaged: {result.n_models}"),
        ("Test examples", f"n = {len(result.test):,}{_groups(result.test)}"),
        ("Control", "none" if result.control is None else f"{len(result.control):,} examples{_groups(result.control)}"),
        ("Moves", moved),
        ("Rule", RULES[result.rule]),
        ("Alternative", sides),
        ("Tolerance", f"moves may cost up to {result.tolerance:g} on average" if result.tolerance else None),
        ("Pictures scored", f"{scored}, {result.control_evaluations:,} on the control, "
                            f"{result.reference_evaluations:,} for the comparison with references"),
        ("Precision", page.arithmetic_text(result.precisions, (*result.batch_sizes, *result.reference_batch_sizes))),
        ("  Run by", page.ways_text((*result.ways, *result.reference_ways))),
        ("  In plain float32", _in_float32(result)),
    ]  # fmt: skip


def _in_float32(result: AuditResult) -> str | None:
    """How many answers depend on the precision, or on how a module is compiled, where it is not plain float32."""
    found = [counts for counts in result.in_float32 if counts is not None]
    if not found:
        return None
    pictures, other, turned = (
        sum(getattr(counts, name) for counts in found) for name in ("pictures", "other_class", "right_or_wrong")
    )
    of = "pairs of picture and model" if len(found) > 1 else "pictures"
    return (
        f"{other:,} of {pictures:,} {of} would be answered differently; right in one and wrong in the other: {turned:,}"
    )


def _groups(examples: Examples) -> str:
    if examples.design_effect is None:
        return ""
    effect = f"design effect of T {page.fixed(examples.design_effect, 2)}"
    return f" in {examples.n_groups:,} groups, each counted once; exact duplicates {examples.n_duplicates:,}; {effect}"
