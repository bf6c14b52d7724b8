"""What an audit of pictures says: the headline, key figures, what is printed, and which sections there are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.images.preprocessing import preprocessing_text
from heldout.independence.evidence import ControlEvidence, Examples
from heldout.independence.leak import LeakEvidence
from heldout.independence.summary.leak import (
    HEADLINES,
    leak_lines,
    share_of_test_text,
    side_text,
    spoken,
    unmatched_text,
    way_text,
)
from heldout.independence.summary.sections import (
    SURE,
    against_control,
    exhibits,
    growth,
    means,
    models,
    next_steps,
    not_means,
    p_values,
    references,
    statistic,
    two_estimates,
)
from heldout.independence.summary.verdict import (
    effect_text,
    level_of,
    names_text,
    pixels_text,
    range_text,
    sentence_of,
    side_of,
    verdict_p_text,
    why_undetectable,
)
from heldout.independence.untouched import ORIGINAL
from heldout.statistics.checks import Alternative
from heldout.statistics.power import LEVEL, POWER
from heldout.summary import Facts, Figure, Points, Section, Summary
from heldout.summary.numbers import NOT_DEFINED, PERCENT, fixed, percent, pvalue_text

if TYPE_CHECKING:
    from heldout.independence.result import AuditResult

MANY = 5000  # examples from which on a tenth of a percent is too coarse
RULES = {
    "strongest": "strongest: the move that makes the model most wrong",
    "nearest": "nearest: the shortest move that makes the model wrong",
    "random": "random: the average over all moves",
    "random2": "random2: the average over all moves and staying put",
}
MOVES = {
    "wrap": "cyclic translations (what leaves on one side comes in on the other)",
    "pad": "translations of padded pictures (what comes in is padding)",
    "crop": "crop translations (a window moved over a larger picture)",
    "upsample": "crop translations (a window moved over a larger picture)",
}
ALTERNATIVES: dict[Alternative, str] = {
    "greater": "overfitting only (one-sided), declared beforehand",
    "two-sided": "two-sided",
}
METHOD = (
    "R. Werpachowski, A. György, C. Szepesvári (2019), “Detecting overfitting via adversarial examples”, NeurIPS 2019, "
    "<https://arxiv.org/abs/1903.02380>; sections and figures named here are those of version 1 (“v1”), "
    "<https://arxiv.org/abs/1903.02380v1>. Betting test: V. Voráček, F. Orabona (2025), “STaR-Bets”, "
    "<https://arxiv.org/abs/2505.22422>."
)


def audit_summary(result: AuditResult) -> Summary:
    """The result as a summary."""
    grows = growth(result)
    control = result.evidence.control
    sections = (
        two_estimates(result),
        Section(title="What this means", blocks=(Points(means(result)),)),
        Section(title="What it does not mean", blocks=(Points(not_means(result)),)),
        Section(title="What to do next", blocks=(Points(next_steps(result)),)),
        Section(title="What was audited", blocks=(Facts(_facts(result)),)),
        *(() if result.leak is None else references(result, result.leak)),
        *((grows,) if control is None else (against_control(result, control),)),
        exhibits(result),
        statistic(result),
        *(models(result) if result.n_models > 1 else ()),
        p_values(result),
        *((grows,) if control is not None else ()),
    )
    return Summary(
        kind="Audit: verdict",
        headline=HEADLINES[result.outcome],
        sentences=(spoken(sentence_of(result), result.evidence.level),),
        tone="found" if result.ruling.found else "quiet",
        subject=_subject(result),
        figures=_figures(result),
        warnings=tuple(result.notes),
        lines=_lines(result),
        sections=sections,
        origin=_origin(result),
        method=METHOD,
    )


def _subject(result: AuditResult) -> str:
    """What was audited, on which data, in one line."""
    test, control = (f" ({source})" if source else "" for source in (*result.sources, "", "")[:2])
    fresh = f" and {len(result.control):,} control examples{control}" if result.control is not None else ""
    against = f", against {names_text(result.references, 3)}" if result.references else ""
    return f"{names_text(result.model_names, 3)}: {result.n_examples:,} test examples{test}{fresh}{against}"


def _figures(result: AuditResult) -> tuple[Figure, ...]:
    """What was found stands large where something was; what could have been found where nothing was."""
    e, control, leak, found = result.evidence, result.evidence.control, result.leak, result.ruling.found
    method = f"betting test that mean T is zero, {side_of(result.alternative)}"
    if leak is not None:
        method = f"leak test of test against control, less what references expect, {side_text(leak.test.alternative)}"
    elif control is not None:
        method = "twice the smaller of two permutation p-values of test against control"
    at = f"{'at most' if found else 'above'} the level of {level_of(result)}"
    figures = [Figure(name="p-value", value=verdict_p_text(result), note=f"{method}; {at}")]
    if found and control is not None and result.control is not None:
        digits = 1 if min(len(result.test), len(result.control)) < MANY else 2
        figures += [
            Figure(name="Error on the test set", value=percent(e.untouched_error, digits)),
            Figure(name="Error on the control", value=percent(control.untouched_error, digits)),
        ]
    elif found:
        name = "Mean T" if result.test.groups is None else "Mean T, groups counted once"
        harder = "harder" if e.tested_statistic > 0 else "easier"
        note = f"the moved pictures, properly weighted, are {harder} by this much"
        figures.append(Figure(name=name, value=fixed(e.tested_statistic, sign=True), note=note))
    if leak is not None:
        return (*figures, *_detectable_leak(leak, level_of(result), strong=not found))
    why = why_undetectable(result)
    what = "difference of T between test and control" if control is not None else "mean T"
    would = (
        f"a true {what} this large would have been found (level {level_of(result)}, power {POWER:g}), in either of two "
        "ways in which it may come about; a plug-in estimate from these data"
    )
    note = f"because {why}" if why else would
    figures.append(Figure(name="Detectable effect", value=effect_text(result), note=note, strong=not found))
    if control is not None and not found and math.isfinite(control.detectable_error.high):
        other = "the other half of the test: a true difference in the error rate this large"
        figures.append(Figure(name="The same, error rate", value=range_text(control.detectable_error), note=other))
    return tuple(figures)


def _detectable_leak(leak: LeakEvidence, level: str, *, strong: bool) -> list[Figure]:
    """The smallest leak that would have been found, for pictures known by heart and for ones that left a trace."""
    known = [found for found in leak.detectable if math.isfinite(found.share)]
    if not known:
        note = "not even a leak of the whole test set would have been found"
        return [Figure(name="Detectable leak", value=NOT_DEFINED, note=note, strong=strong)]
    first, last = known[-1], known[0]
    share, faint = (share_of_test_text(found.share).replace(" %", PERCENT) for found in (first, last))
    note = (
        f"of the test set, where a seen picture moves {way_text(first.pull, False)} up to the surest ones (level "
        f"{level}, power {POWER:g}); a plug-in estimate from these data"
    )
    figures = [Figure(name="Detectable leak", value=share, note=note, strong=strong)]
    if last is not first:
        moves = f"where it moves {way_text(last.pull, False)}"
        figures.append(Figure(name="The same, a faint trace", value=faint, note=moves, strong=strong))
    return figures


def _lines(result: AuditResult) -> tuple[tuple[str, str], ...]:
    e = result.evidence
    low, high = e.intervals["test_error"]
    g_low, g_high = e.intervals["adversarial_estimate"]
    p = {name: pvalue_text(value) for name, value in e.log_p_values.items()}
    grouped = "" if result.test.groups is None else f"  ({e.tested_statistic:+.5f} with each group counted once)"
    lines: list[tuple[str, str]] = []
    if result.leak is not None:
        beside = side_text(result.alternative)
        lines += [
            *leak_lines(result.leak),
            (
                "verdict",
                f"by the leak test, declared by giving references; T and error rate ({beside}) stand beside it",
            ),
        ]
    if ORIGINAL in result.untouched_pictures:
        lines.append(("untouched pictures", f"error {e.untouched_error:.4f}  (as they are, not in the frame)"))
    lines += [
        ("test error R_S", f"{e.test_error:.4f}  ({SURE} {low:.4f} to {high:.4f})"),
        ("adversarial error", f"{e.adversarial_error:.4f}  (attack success {result.attack_success:.4f})"),
        ("adversarial estimate R_g", f"{e.adversarial_estimate:.4f}  ({SURE} {g_low:.4f} to {g_high:.4f})"),
        ("mean T = R_g - R_S", f"{e.statistic:+.5f}{grouped}"),
        ("variances", f"R_S {e.test_error_variance:.3g}, R_g {e.adversarial_estimate_variance:.3g}"),
        ("p on the test set alone", f"betting {p['betting']}, mixture {p['mixture']}, Bernstein {p['bernstein']}, "
                                    f"intervals {p['intervals']}"),
        *(_control_lines(e.control, e.untouched_error) if e.control is not None else ()),
    ]  # fmt: skip
    level = f"level {e.level:g}" + (f" / {e.planned_audits} audits" if e.planned_audits > 1 else "")
    lines.append(("detectable effect on T", f"{range_text(e.detectable, 5)}  ({level}, power {POWER:g}, plug-in)"))
    if e.control is not None:
        lines.append(("  and on the error rate", range_text(e.control.detectable_error, 5)))
    average = "(average it over audits that share test set or control)"
    lines.append(("e-value", f"{math.exp(min(e.log_e_value, 700.0)):.3g}  {average}"))
    for name, of in (("test set", result.test), ("control", result.control)):
        if of is not None and of.design_effect is not None:
            copies = f", {of.n_duplicates:,} exact duplicates" if of.n_duplicates else ""
            told = f"{of.n_groups:,} of {len(of):,} examples{copies}; design effect of T {of.design_effect:.2f}"
            lines.append((f"groups, {name}", told))
    scored = f"{result.evaluations:,} evaluations, {result.evaluations_per_image:.1f} per picture"
    if result.leak is not None:
        scored += f"; {result.reference_evaluations:,} for the references' comparison"
    audited = f"{result.n_examples:,} examples, {result.n_models} model{'s' * (result.n_models > 1)}"
    return (*lines, ("audited", f"{audited}, radius {result.orbit.radius}, {result.rule}; {scored}"))


def _control_lines(c: ControlEvidence, untouched_error: float) -> list[tuple[str, str]]:
    low, high = c.statistic.interval
    own = "no sign that shifting is not neutral"
    if c.invariance_log_p_value <= math.log(LEVEL):
        own = "shifting these pictures is not neutral: only the comparison counts"
    what = "within class" if c.statistic.n_groups_test is None else "within class, each group counted once"
    lines = [
        ("control error", f"{c.untouched_error:.4f}  (untouched pictures; test set {untouched_error:.4f})"),
        ("T, test minus control", f"{c.statistic.difference:+.5f}  ({what}; 95{PERCENT} {low:+.5f} to {high:+.5f}), "
                                  f"p = {c.statistic.p_value:.3g}"),
        ("error, test minus control", f"{-c.error_rate.difference:+.5f}  ({what}; untouched pictures), "
                                      f"p = {c.error_rate.p_value:.3g}"),
        ("control's own p", f"{pvalue_text(c.invariance_log_p_value)} ({own})"),
    ]  # fmt: skip
    if c.statistic.n_unmatched:
        lines.append(("not compared", f"{c.statistic.n_unmatched} examples {unmatched_text(c.statistic)}"))
    return lines


def _facts(result: AuditResult) -> tuple[tuple[str, str], ...]:
    """What was audited."""
    several, control = result.n_models > 1, result.control
    names = names_text(result.model_names)
    alternative = ALTERNATIVES[result.alternative]
    if result.verdict_alternative != result.alternative:
        verdict = ALTERNATIVES[result.verdict_alternative]
        alternative = f"the verdict, against references: {verdict}; T and error rate: {alternative}"
    moves = MOVES.get(str(result.preprocessing.get("frame")), result.orbit.name)
    seen = "taken to have seen no more of the test set than of the control"
    facts = [
        (f"Models ({result.n_models})" if several else "Model",
         f"{names}; averaged: trainings of one architecture" if several else names),
        ("Test examples", f"n = {result.n_examples:,}{_groups(result.test)}"),
        ("Control", "none" if control is None else f"{len(control):,} examples{_groups(control)}"),
        *([("References", f"{names_text(result.references)}; {seen}")] if result.references else []),
        ("Moves", f"{moves}, radius {result.orbit.radius}: {len(result.orbit)} moves of up to {pixels_text(result)} "
                  "down, up, left and right"),
        ("Rule", RULES[result.rule]),
        ("Alternative", alternative),
        *([("Tolerance", f"shifts may cost up to {result.tolerance:g} on average")] if result.tolerance else []),
    ]  # fmt: skip
    return tuple(facts)


def _groups(examples: Examples) -> str:
    if examples.design_effect is None:
        return ""
    copies = f", {examples.n_duplicates:,} of them exact duplicates" if examples.n_duplicates else ""
    effect = f"design effect of T {examples.design_effect:.2f}"
    return f" in {examples.n_groups:,} groups{copies}; {effect}; each group counts once"


def _origin(result: AuditResult) -> tuple[tuple[str, str], ...]:
    """What made the result."""
    scored = f"{result.evaluations:,} on the test set ({result.evaluations_per_image:.1f} per picture)"
    if result.control is not None:
        scored += f", {result.control_evaluations:,} on the control"
    if result.reference_evaluations:
        scored += f"; {result.reference_evaluations:,} by models and references on untouched pictures"
    return (
        ("heldout", result.version),
        ("Date", result.created),
        ("Seed", str(result.seed)),
        ("Test data digest", result.data_digest),
        *([("Control data digest", result.control_digest)] if result.control_digest is not None else []),
        ("Pictures scored", scored),
        ("Preprocessing", preprocessing_text(result.preprocessing)),
    )
