"""What audits of pictures, audits of scores and forecasts share: verdict, leak test, detectable effects and advice."""

from __future__ import annotations

import math
from pathlib import PurePath

from heldout import summary as page
from heldout.independence.evidence import Evidence, capital_of
from heldout.independence.leak import LeakEvidence
from heldout.independence.needed import AuditNeeds
from heldout.independence.result import AuditResult
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.summary import moves
from heldout.independence.verdict import Outcome, Verdict
from heldout.orbit.named import PictureOrbit
from heldout.statistics import ControlTestResult
from heldout.statistics.checks import Alternative
from heldout.statistics.power import POWER
from heldout.statistics.seen import SeenExamples

# What a test looks for, the effect that it would have found four times in five, and on which condition or why it is not
# defined.
Effects = dict[str, tuple[str, str]]
Judged = Evidence | ScoreAuditResult  # p, level, planned audits and verdict have the same names in both
# The title of a verdict in JSON, and the headline.
HEADLINES: dict[Outcome, tuple[str, str]] = {
    "no evidence": ("NO EVIDENCE against independence", "No evidence against independence"),
    "easier": ("EASIER THAN THE CONTROL", "Easier than the control"),
    "harder": ("HARDER THAN THE CONTROL", "Harder than the control: not overfitting"),
    "rejected": ("REJECTED", "Cannot tell which fails: independence or neutral shifts"),
}
ORBIT_HEADLINES: dict[Outcome, tuple[str, str]] = {  # of the orbit test, which compares with other views
    "easier": ("EASIER AS THEY STAND", "Easier as they stand than in other views"),
    "harder": ("HARDER AS THEY STAND", "Harder as they stand than in other views: not overfitting"),
}
MEAN_AND_TAIL = (
    "The mean counts all residuals alike: strong where many examples were seen. The upper tail is a likelihood ratio "
    "that an example was seen, in which those far above what was expected count: strong where a few were seen."
)
ENOUGH_REFERENCES = 3
MORE_DRAWS = "More --resamples decide it."
ROUGH = "intervals and detectable effects are rough"


def capital(sentence: str) -> str:
    """A sentence with a capital at its start, in which numbers stay on one line with their names."""
    return (sentence[:1].upper() + sentence[1:]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def headline(ruling: Verdict, orbit: PictureOrbit | None = None) -> tuple[str, str]:
    """The title of a verdict in JSON, and its headline."""
    headlines = {**HEADLINES, **ORBIT_HEADLINES} if ruling.rests_on == "orbit" else HEADLINES
    title, said = headlines[ruling.outcome]
    return title, said if orbit is None else said.replace("shifts", moves.kinds(orbit).removeprefix("small "))


def titled(ruling: Verdict, sentence: str) -> str:
    """The verdict in one string, as JSON has it: its title in capitals, then the sentence."""
    return f"{headline(ruling)[0]} {sentence[:1].lower()}{sentence[1:]}".replace("\N{NO-BREAK SPACE}", " ")


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


def level_text(of: Judged | AuditNeeds) -> str:
    """The level that p is held to."""
    return f"{of.level:g}" + f", shared by {of.planned_audits} planned audits" * (of.planned_audits > 1)


def limited(n: int, available: int, what: str) -> tuple[str, ...]:
    """The warning where `limit` left examples out, and nothing where it did not.

    Examples
    --------
    >>> limited(100, 5000, "test pictures"), limited(100, 100, "test pictures")
    (('Limited to 100 of 5,000 test pictures, drawn at random.',), ())
    """
    return (f"Limited to {n:,} of {available:,} {what}, drawn at random.",) if n < available else ()


def tested_text(of: Judged, leak: LeakEvidence | None) -> str:
    """p, where there are several planned audits times their number, and whether it is the leak test's."""
    times = f", times {of.planned_audits} planned audits {page.pvalue_text(of.ruling.log_p_value)}"
    told = f"p = {page.pvalue_text(of.log_p_value)}" + times * (of.planned_audits > 1)
    if leak is None:
        return told
    tail_alone = bool(of.ruling.found and leak.test.mean.p_value > leak.level)
    return f"{told}, leak test" + ", by its upper tail alone" * tail_alone


def groups_text(n_groups: int | None) -> str:
    """So many groups, where there are any."""
    return "" if n_groups is None else f" in {n_groups:,} groups"


def e_value_line(of: Judged) -> tuple[str, str]:
    """The e-value, finite where it overflows, and what to do with it."""
    shown = f"{math.exp(min(of.log_e_value, 700.0)):.3g}"
    return "E-value", f"{shown}  (average it over audits that share test set or control, multiply it over others)"


def p_figure(of: Judged, side: str) -> page.Figure:
    """The p-value of the verdict, and what it is."""
    note = f"{side}; {'at most' if of.ruling.found else 'above'} the level of {level_text(of)}"
    return page.Figure(name="p-value", value=page.pvalue_text(of.ruling.log_p_value), note=note)


def against_control(of: Judged, test: ControlTestResult, leak: LeakEvidence | None, found: str, n_models: int) -> str:
    """The sentence of a verdict against a control; `found` is what would have been found."""
    ruling, references = of.ruling, bool(leak and leak.reference_names)
    model = "the model" if n_models == 1 else "a model"
    neither = "no model and no reference" if references else "no model"
    looked = "not found easier" + " or harder" * (test.alternative != "greater")
    is_so = f"is {ruling.outcome} for {models_text(n_models)}" if ruling.found else f"was {looked}"
    other_pixels = "pictures decoded, scaled, cropped or turned in another way; " * isinstance(of, Evidence)
    then = {
        "no evidence": found,
        "easier": f"If the control is a random draw from the same source that {neither} was trained or selected on, "
        f"{model} and the test set are not independent: {model} has seen some of it, or was chosen by it.",
        "harder": "This is not overfitting to the test set. Likely causes: sets of another difficulty, source or time; "
        f"{other_pixels}wrong labels; a control that was trained on"
        f"{'; a reference that knows the test set' * references}.",
    }
    return (
        f"At level {ruling.level:g}: {'given what the references find hard, ' * references}the test set {is_so} than "
        f"the control of {test.n_control:,} examples{groups_text(test.n_groups_control)} ({tested_text(of, leak)}). "
        f"{then[ruling.outcome]}"
    )


def source_text(source: str) -> str:
    """Data by the name of their file, whose whole path the origin has, or by the `argument` that they came as."""
    return page.quoted((PurePath(source).name or source).strip("`"))


def models_text(n_models: int) -> str:
    """Whom a verdict is about.

    Examples
    --------
    >>> models_text(1), models_text(14)
    ('the model', 'the 14 models, averaged,')
    """
    return "the model" if n_models == 1 else f"the {n_models} models, averaged,"


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


def detectable_leak(leak: LeakEvidence) -> Effects:
    """The smallest to the largest share whose leak would have been found, by what a seen example gains."""
    known = [found for found in leak.detectable if not math.isnan(found.share)]
    value, when = page.NOT_DEFINED, "not even if all of it was seen, so this says very little"
    if known:
        shares = sorted(found.share for found in known)
        value = " to ".join(dict.fromkeys(map(share_text, (shares[0], shares[-1]))))
        least = page.percent(min(found.pull for found in known), 0)
        when = "the more a seen example gains, the smaller" * (len(shares) > 1)
        if len(known) < len(leak.detectable):
            when = f"if a seen example gains at least {least} of what it can"
    return {"the share of the test set that was seen": (value, when)}


def is_known(effects: Effects) -> bool:
    """Whether anything is known of what would have been found."""
    return any(value != page.NOT_DEFINED for value, _ in effects.values())


def would_find(effects: Effects, *, references: bool = False) -> str:
    """What would have been found where nothing was."""
    told = ", ".join(f"in {what} {value}{f' ({when})' * bool(when)}" for what, (value, when) in effects.items())
    less = "; less may well be there" + ", and so may a leak that a reference shares" * references
    return f"What would have been found four times in five (a plug-in estimate): {told}{less * is_known(effects)}."


def detectable_figure(name: str, of: Judged, effects: Effects, *, strong: bool) -> page.Figure:
    """What would have been found."""
    (what, (value, when)), *others = effects.items()
    notes = [f"in {what}{f' ({when})' * bool(when)}", *(f"in {half} {found}" for half, (found, _) in others)]
    note = "; ".join([*notes, f"level {level_text(of)}, power {POWER:g}, plug-in"])
    return page.Figure(name=name, value=value, note=note, strong=strong)


def leak_lines(leak: LeakEvidence, within: str) -> page.Rows:
    """The leak test's numbers; `within` says what was compared within."""
    test, n, names = leak.test, leak.test.mean.n_resamples, leak.reference_names
    taken = f"{page.names_text(names)}; they take {page.percent(test.variance_removed, 0)} off the variance"
    less = " less what references expect" if names else ""
    once = ", each group counted once" if test.mean.n_groups_test is not None else ""
    by = "the smaller of the two" if test.tail_counts else "the mean alone"
    shares = page.listed([share_text(found.share) for found in leak.detectable])
    pulls = page.listed([page.percent(found.pull, 0) for found in leak.detectable])
    return page.kept_facts(
        ("References", taken if names else None),
        ("Compared", f"{kind_text(leak.kind)}{less}, test minus control{within}{once}"),
        ("  Mean", difference_text(test.mean)),
        ("  Upper tail", difference_text(test.sparse)),
        ("Leak test", f"p = {page.p_text(test.p_value)}, {side_text(test.alternative)}  ({by}, under the same "
                      f"permutations; {n:,} of them, so never below {page.p_text(1 / (n + 1))})"),
        ("Detectable leak", f"{shares} of the test set, where {moves_text(leak.two_valued, pulls)}  (level "
                            f"{leak.level:g}, power {POWER:g}, plug-in)"),
        ("Examples that look seen", seen_text(leak.seen)),
    )  # fmt: skip


def another_seed(result: AuditResult | ScoreAuditResult, level: float) -> str | None:
    """That another seed could put the verdict's p, times no planned audits, on the other side of a level."""
    if (leak := result.leak) is not None:
        seeds = page.other_draws(leak.p_value, leak.test.mean.n_resamples, level)
        return seeds and f"{seeds} {MORE_DRAWS}"
    if isinstance(result, ScoreAuditResult):
        return None
    e = result.evidence
    if e.control is not None:
        seeds = page.other_draws(e.control.p_value, e.control.statistic.n_resamples, level, times=2)
        return seeds and f"{seeds} {MORE_DRAWS}"
    if e.verdict_by != "betting":
        return None
    capital = e.betting_capital
    if capital is None or level != e.level / e.planned_audits:  # results of older versions have none
        lower, upper = result.orbit.statistic_range(result.rule)
        capital = capital_of(
            result.test, level, lower=lower, upper=upper, alternative=result.alternative, tolerance=result.tolerance,
            seed=result.seed,
        )  # fmt: skip
    return None if capital is None else page.other_orders(capital.share, capital.error, level)


def seen_text(seen: SeenExamples) -> str:
    """How many examples look seen, how they were listed, and how short a list can be; or why there is no list."""
    floor = f"smallest p with this control: {page.p_text(seen.floor)}"
    if seen.fewest is None:
        why = floor if seen.n_compared else "nothing could be ranked among the control"
        return f"no list ({'groups have other sizes in the control' if seen.other_sizes else why})"
    listed = f"{seen.n_listed:,} of {seen.n_compared:,} examples"
    if seen.n_groups_listed is not None:
        listed = f"{seen.n_groups_listed:,} of {seen.n_compared:,} groups ({seen.n_listed:,} examples)"
    among = "the control's of its class" if seen.within_class else "all of the control"
    return (
        f"{listed}; at most {100 * seen.q:g}{page.PERCENT} of a list are on it wrongly, on average (Benjamini and "
        f"Hochberg, ranked among {among}; {floor}; shortest list possible: {seen.fewest:,})"
    )


def unmatched_text(test: ControlTestResult) -> str:
    """How many examples were not compared, and why; empty where all were."""
    why = "of classes that only one set has, or in groups of several classes, of which the other set has none"
    return f"{test.n_unmatched:,} examples {why}" if test.n_unmatched else ""


def leak_notes(leak: LeakEvidence) -> tuple[str, ...]:
    """Warnings: groups of other sizes, halves that disagree, and a harder test set where nobody looks for one."""
    test = leak.test
    # By the mean or by the tail, each two-sided at half the level (Bonferroni): rough, since it is no verdict.
    halves = [("mean", test.mean), ("upper tail", test.sparse)][: 1 + test.tail_counts]
    p, name = min(((of.p_two_sided, name) for name, of in halves if of.difference < 0), default=(1.0, ""))
    means = "no leak, and a leak could hide behind it" if test.p_value > leak.level else "against the verdict"
    return page.that_hold(
        (not test.tail_counts, "Groups have other sizes in the control than in the test set: the leak test counts its "
                               "mean alone, and no example can be listed as seen."),
        (leak.disagree(leak.level), disagree_text("the mean", "the upper tail", test.mean)),
        (test.alternative == "greater" and 2.0 * p <= leak.level,
         f"By the {name} of the scores the test set is harder than the control (two-sided p = {page.p_text(p)}), "
         f"which is {means}: the two sets differ in more than what the model may have seen, or the control was "
         f"trained on{', or a reference knows the test set' if leak.reference_names else ''}."),
    )  # fmt: skip


def chance_text(of: str) -> str:
    """The warning where a model is not better than chance on one set."""
    other, alone = ("test set", "a model that knows its test set by heart and nothing else would be, and ")
    if of == "test":
        other, alone = "control", ""
    return (
        f"On the {'test set' if of == 'test' else of} the model is not reliably better than chance: {alone}so is one "
        f"that gets pictures decoded, scaled, cropped or turned otherwise than those of the {other}, or labels "
        "numbered in another order; and so may an honest model be on few pictures, or where one class is most of them."
    )


def disagree_text(first: str, second: str, of: ControlTestResult) -> str:
    """The warning where both halves of a test find something, in opposite directions."""
    side = "easier" if of.difference > 0 else "harder"
    return (
        f"The two halves of the test point in opposite directions: by {first} the test set looks {side}, by {second} "
        "the other way round."
    )


def residual_chart(leak: LeakEvidence, what: str, caption: str = "") -> page.LineChart:
    """Residuals of both sets over each other; `what` says what they are. The control's counts are scaled."""
    r, n, n_control = leak.residuals, leak.n_test, sum(leak.residuals.control)
    scaled = tuple(round(count * n / n_control) for count in r.control)
    means: tuple[tuple[str, float, page.Style], ...] = (("test", r.mean_test, "b"), ("control", r.mean_control, "a"))
    lines = (page.Vertical(x=m, text=f"{name} {page.fixed(m, 3, sign=True)}", style=style) for name, m, style in means)
    return page.histogram(
        capital(what),
        page.Axis(label=what, spec=".3g"),
        "examples",
        r.edges,
        ("test set", r.test, "b"),
        ("control" if n == n_control else f"control, scaled to {n:,}", scaled, "a"),
        caption=caption,
        verticals=tuple(lines),
    )


def difference_text(of: ControlTestResult) -> str:
    """A difference with its interval and both p-values; without any spread an interval of width 0 would claim a
    certainty that nobody has."""
    size = of.standard_error or abs(of.difference)
    value, *ends = (page.signed(number, size) for number in (of.difference, *of.interval))
    told = " to ".join(ends) if of.standard_error > 0 else f"{page.NOT_DEFINED}: no spread"
    return (
        f"{value}  (95{page.PERCENT} {told}), p = {page.p_text(of.p_two_sided)} "
        f"two-sided, {page.p_text(of.p_greater)} one-sided"
    )


def advice(
    result: AuditResult | ScoreAuditResult, planned_audits: int, effects: Effects, *more: tuple[object, str]
) -> tuple[page.Section, ...]:
    """Three lists of sentences; `effects` would have been found, and `more` is what one kind of audit has to add to the
    last one."""
    ruling, outcome, n = result.ruling, result.outcome, result.n_examples
    by_views, references = ruling.rests_on == "orbit", bool(result.references)
    alone = by_views or ruling.rests_on == "betting"
    orbit = result.orbit if isinstance(result, AuditResult) else None
    premise = "test set and control are random draws from one source that influenced no model"
    premise += " and no reference" * references
    if alone and orbit is not None:
        premise = f"models and test set are independent and {moves.neutral(orbit)}"
    few: list[str] = []
    if orbit is not None and result.leak is None:  # which compares pictures as they are
        few += ["these views"] * (not moves.only_shifts(orbit)) + ["shifts of so few pixels"] * (orbit.radius > 0)
    about = page.listed(["this test set", *few])
    viewed = orbit is not None and not moves.only_shifts(orbit)
    neutral = "shifts" if orbit is None else moves.kinds(orbit).removeprefix("small ")
    ungrouped = isinstance(result, AuditResult) and result.test.groups is None
    first = ", those that look seen first" * bool(result.leak and result.leak.seen.n_listed)
    lists: dict[str, tuple[tuple[object, str], ...]] = {
        "What this means": (
            (ruling.found, f"If {premise}, evidence as strong as this turns up with probability "
                           f"{page.pvalue_text(ruling.log_p_value)} at most."),
            (not ruling.found, "“No evidence” is not “clean”: it only reaches down to what could have been found."),
        ),
        "What it does not mean": (
            (outcome == "easier", "It is no proof of intent. Duplicates, choosing among models by test score, and "
                                  "reuse over years all leave the same trace."),
            (ruling.found and not alone, "A small p-value is not a large effect: how large it is, the differences and "
                                         "their intervals tell."),
            (alone and not by_views,
             f"It does not say whether there is overfitting: without a control, neutral {neutral} are an "
             f"assumption, and natural pictures have their subject in the middle{', and a usual view' * viewed}. A "
             "strong test finds that too."),
            (by_views, "That every view was as likely as the others is declared, not tested. It holds where each "
                       "picture was mirrored or turned at random before any model saw it, and can hold for cells, "
                       "tissue and land from above. It fails for digits, text, clothes, faces and streets, and "
                       "wherever north is at the top, light comes from one side or a scanner has an orientation, if "
                       "the model could learn that elsewhere."),
            (by_views, "A model that was trained on mirrored or turned copies as well knows all views alike: what it "
                       "has seen leaves no trace here."),
            (not alone, "The control is only as good as its history: it must come from the same source and have been "
                        "put aside at random before any training or selection."),
            (references, "References are taken to have seen no more of the test set than of the control. One that "
                         "knows the test set hides a leak or makes it look hard; one that knows the control can raise "
                         "a false alarm."),
            (planned_audits == 1, "p is for one audit. Audits of every commit need `--planned-audits` or e-values."),
            (True, f"It is about {about}. Anything else is another question."),
        ),
        "What to do next": (
            (outcome == "harder" and not by_views,
             "Look through the errors on the test set for wrong labels, and check how and when each set was collected, "
             f"and that the control was in no training set{', and the test set in no reference’s' * references}."),
            (outcome == "harder" and by_views,
             "Check how pictures reach the model: one that turns or mirrors them makes them hard as they stand."),
            (outcome == "easier" and by_views,
             "Ask whether these pictures have a usual view. If they do not, look for them (and near duplicates) in the "
             "training data, and until that is settled do not choose between models by this test set."),
            (outcome == "easier" and not by_views,
             "Report the control's result, the number to believe for fresh data, and look for test examples (and near "
             f"duplicates) in the training data{first}. Until that is settled, do not choose between models by this "
             "test set."),
            (by_views and ungrouped,
             "Tiles of one slide, scene or patient depend on each other: if there are any, name what belongs together "
             "(`--groups`), without which p is too small."),
            (alone, "Get a control (`--control`): `heldout split` puts fresh examples aside before training."
                    f"{' It asks for no equally likely views.' * by_views}"),
            (not alone and len(result.references) < ENOUGH_REFERENCES,
             "Add references (`--reference`, of scores `--reference-scores`): three take more noise off, and a leak "
             "that one of them shares is hidden by it alone."),
            (not ruling.found and is_known(effects),
             "To see half as large an effect, use about four times as many examples"
             f"{' in both sets' * (not alone)} ({4 * n:,} instead of {n:,})."),
            *more,
        ),
    }  # fmt: skip
    return tuple(page.Section.of(title, page.Points.of(*rows)) for title, rows in lists.items())
