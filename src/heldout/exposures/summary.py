"""What an exposure test says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from heldout import summary as page
from heldout.exposures.families import TELLING
from heldout.exposures.placebo import ENOUGH
from heldout.exposures.result import ExposureResult, ModelExposure
from heldout.statistics.paired import is_told
from heldout.statistics.seeds import seed_decides

LISTED, PRINTED = 60, 15  # models on the page, and printed
CURVES = 6  # models whose scans are drawn
ROWS = 80  # models in the picture
EDGES = (-0.4, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.4)
ROUGH = 0.1  # of p, from which on its standard deviation over seeds is told
MANY = 10**9  # assignments that are not counted out
LATE = 0.01  # p of a later cutoff that is pointed at
FEW = 20  # families below which a block of five is not of like ability
NAMED = 4  # strata in a warning

DECLARED = "The verdict is by the larger p of two tests, declared up front: it holds if the assumptions of either do."
MARGINS = (
    "Margins: given how many examples each model and how many models each example has right{}, all tables are equally "
    "likely under the Rasch model."
)
PLACEBO = (
    "Placebo: cutoffs are exchangeable among families of like ability; they are permuted within {} of about five "
    "neighbours by score."
)
NOT_MEANT = (
    "An ability that came with some models, and that examples of some dates ask for, looks the same as exposure: a "
    "table of results cannot tell them apart.",
    "The excess is not the gain: with the margins given, what exposed models gain is taken off the others. The effect "
    "is the log-odds ratio.",
    "No excess is not innocence: what all models have seen leaves no trace here, nor does what helps on every example.",
)
NEXT_FOUND = (
    "Read the examples that weigh most, and look whether exposed models reproduce them.",
    "Rank exposed models on examples after their cutoffs only.",
)
NEXT_QUIET = ("Keep adding dated examples: each month after a model’s cutoff is a control for that model.",)
NEXT_FAMILIES = "Give the base model of each model as its family (a column family in --models): clones are one witness."
METHOD = (
    "J. Besag, P. Clifford (1989), Biometrika 76(4), 633–642; G. Strona et al. (2014), Nature Communications 5, 4114; "
    "C. J. Carstens (2015), Physical Review E 91, 042812; G. Rasch (1960), Probabilistic Models for Some Intelligence "
    "and Attainment Tests. Several models: S. Holm (1979), Scandinavian Journal of Statistics 6(2), 65–70."
)
HEADLINES = {
    "exposed models score better": "Models score better on what they could have seen",
    "no excess found": "No sign that models score better on what they could have seen",
    "cannot tell": "Whether models score better on what they could have seen cannot be told",
    "not applicable": "Not applicable: no model could have seen some of its examples of a stratum but not others",
}


def exposure_summary(result: ExposureResult) -> page.Summary:
    """What the test says."""
    told = result.verdict != "not applicable"
    found = result.verdict == "exposed models score better"
    figures = tuple(_figures(result)) if told else ()
    return page.Summary(
        kind="Exposure",
        headline=HEADLINES[result.verdict],
        sentences=tuple(_sentences(result)),
        tone="found" if found else "quiet" if result.verdict == "no excess found" else "neutral",
        subject=f"{result.source}: {result.n_models:,} models, {result.n_examples:,} examples",
        figures=figures,
        warnings=tuple(_warnings(result)),
        lines=(*((f.name, f"{f.value} ({f.note})") for f in figures), *_facts(result)),
        sections=tuple(_sections(result)) if told else (),
        closing=(DECLARED, MARGINS.format(_within(result)), PLACEBO.format(page.counted(result.n_blocks, "block")))
        if told
        else (),
        origin=page.origin(
            result, ("Tables drawn", f"{result.n_resamples:,}"), ("Rounds of trades", f"{result.steps}")
        ),
        method=METHOD,
    )


def exposure_seeds_text(result: ExposureResult, level: float) -> str | None:
    """That another seed could put the larger p on the other side of a level; one that stays above it settles it."""
    both = (result.p_margins, result.p_margins_error), (result.p_placebo, result.p_placebo_error)
    return page.p_moves_text(result.p_error, level) if seed_decides(level, *both) else None


def _within(result: ExposureResult) -> str:
    return f", within {len(result.strata)} strata" if len(result.strata) > 1 else ""


def _sentences(result: ExposureResult) -> Iterator[str]:
    if result.verdict == "not applicable":
        whole = result.n_models - result.n_everything - result.n_nothing - result.n_unknown
        yield (
            f"Could have seen all examples: {page.counted(result.n_everything, 'model')}; none: {result.n_nothing:,}; "
            f"all or none of every stratum: {whole:,}; not known: {result.n_unknown:,}. A model tells something only "
            "with examples on both sides of its cutoff in one stratum."
        )
        return
    if result.verdict == "cannot tell":
        yield from _reasons(result)
        alone = page.p_text(result.p_margins), page.p_text(result.p_placebo)
        yield f"Margins alone: p = {alone[0]}; placebo alone: p = {alone[1]}."
    else:
        margins, placebo = page.p_text(result.p_margins), page.p_text(result.p_placebo)
        yield f"p = {page.p_text(result.p_value)}, the larger of margins ({margins}) and placebo ({placebo})."
    high = result.interval[1]
    if result.verdict == "no excess found" and high > 0:
        size = f"up to {_odds(high)} log-odds (odds of being right × {page.fixed(math.exp(min(high, 700.0)), 2)})"
        yield (
            f"Not excluded: an effect of {'any size' if math.isinf(high) else size}, by the upper end of the "
            f"{page.sure_text(result.level)} interval under the Rasch model."
        )
    accused = [m.name for m in result.models if is_exceeding(m, result.level)]
    if accused:
        yield (
            "Tested alone, against references that could not have seen their examples, these stand out (Holm, level "
            f"{result.level:g}; one of their two p-values is approximate): {page.names_text(accused)}."
        )


def _reasons(result: ExposureResult) -> Iterator[str]:
    """Why it cannot be told, each with its remedy."""
    if result.spread == 0 and result.n_resamples >= TELLING:
        yield (
            "Given how many examples each model and how many models each example has right, no exposed success can "
            "move, and p of the margins test is always 1. Models with other cutoffs, or coarser strata, would tell "
            "more."
        )
    elif result.smallest_p_margins > result.level:
        yield (
            f"With {page.counted(result.n_resamples, 'table')} the margins test cannot go below "
            f"{page.p_text(result.smallest_p_margins)}; draw more (--resamples {math.ceil(20 / result.level) - 1})."
        )
    if result.assignments < ENOUGH or result.smallest_p > max(result.level, 1 / (result.n_resamples + 1)):
        ways = page.counted(result.assignments, "distinct way")
        yield (
            f"Exposures can be given to families of like ability in {ways}, and the placebo test cannot go below "
            f"{page.p_text(result.smallest_p)}. Models of other families, with other cutoffs than those that score "
            "alike, would tell more."
        )


def is_exceeding(model: ModelExposure, level: float) -> bool:
    """Whether a model stands out, family-wise."""
    return math.isfinite(model.p_holm) and bool(is_told(math.log(model.p_holm), level))


def _warnings(result: ExposureResult) -> Iterator[str]:
    told = result.verdict != "not applicable"
    if result.n_families == result.n_models and told:
        yield (
            "Every model counts as its own family. Models made from one base model are one witness, not several: taken "
            "for independent, they raise false alarms to as much as 24 % at 5 % (experiments/exposure). Name each "
            "model’s base model in a column family of --models."
        )
    if result.n_unknown and told:
        yield (
            f"Models of which it is not known what they could have seen: "
            f"{page.of_text(result.n_unknown, result.n_models)}. Margins p, z and the effect take them for models that "
            "could have seen nothing, and are wrong where they did; the placebo test gives no exposures to them."
        )
    found = result.verdict == "exposed models score better"
    if result.n_known_families < FEW and found:
        yield (
            f"Families with known cutoffs: {result.n_known_families:,}. A block of like ability spans a good part of "
            "so few; where newer models are better, false alarms came to 9 % at 5 % with 12 families "
            "(experiments/exposure)."
        )
    if result.n_twins and told:
        yield (
            f"Models with the same results as another one, of another family: {result.n_twins:,}. If they are one "
            "model under two names, or made from one another, give them one family."
        )
    seeds = exposure_seeds_text(result, result.level)
    if seeds is not None and result.verdict in ("exposed models score better", "no excess found"):
        yield seeds
    if result.mixing is not None and not result.mixing.mixed:
        yield (
            f"Chains are too short for means: {result.mixing.expected:.1f} expected, {result.mixing.longer:.1f} by "
            "chains four times as long. p-values stay exact; take more --steps for the excess, z and the "
            "estimate of the effect."
        )
    control = result.control
    named = any(is_exceeding(m, result.level) for m in result.models)
    if control is not None and control.p_value <= result.level and (found or named):
        yield (
            "The negative control stands out too: exposed models also score better on what came soon after their "
            f"cutoffs, which they cannot have seen (p = {page.p_text(control.p_value)}). Part of the excess may be "
            "drift, or cutoffs are later than declared."
        )
    still = [part for part in result.strata if part.spread == 0 and result.n_resamples >= TELLING]
    if still and len(result.strata) > 1:
        cells = sum(part.exposed for part in still)
        yield (
            f"Strata in which no exposed success can move, and which say nothing: "
            f"{page.of_text(len(still), len(result.strata))}, with {cells:,} of {result.exposed_cells:,} exposed cells "
            f"({page.names_text([part.name for part in still], NAMED)}). Coarser --strata may use them."
        )
    if result.interval[1] < 0:
        yield (
            "Exposed models score worse on what they could have seen than the others do. Exposure does not do this: "
            "an assumption fails, such as an ability that examples of some dates ask for."
        )


def _figures(result: ExposureResult) -> Iterator[page.Figure]:
    ways = "over a billion distinct assignments"
    if result.assignments < MANY:
        ways = page.counted(result.assignments, "distinct assignment")
    yield page.Figure(
        name="p",
        value=page.p_text(result.p_value),
        note=f"one-sided; margins {_p(result.p_margins, result.p_margins_error)}, placebo "
        f"{_p(result.p_placebo, result.p_placebo_error)}; smallest possible {page.p_text(result.smallest_p_margins)} "
        f"and {page.p_text(result.smallest_p)}, of {ways}",
    )
    yield _effect(result)
    yield page.Figure(
        name="Successes on exposed examples",
        value=f"{result.observed:,}",
        note=f"{page.fixed(result.expected, 1)} ± {page.fixed(result.spread, 1)} expected given the margins, z = "
        f"{page.fixed(result.z, 1)} as if models were independent; of {result.exposed_cells:,} cells",
        strong=False,
    )


def _p(value: float, error: float) -> str:
    """p, and its standard deviation over seeds where that is a tenth of it or more."""
    told = page.p_text(value)
    return f"{told} (± {page.p_text(error)} over seeds)" if error >= ROUGH * value and value > 2 * error else told


def _effect(result: ExposureResult) -> page.Figure:
    value, (low, high) = result.effect_log_odds, result.interval
    if math.isnan(value):
        few = result.n_resamples < TELLING
        note = "not defined with so few tables" if few else "no exposed success can move"
        return page.Figure(name="Effect of exposure", value=page.fixed(value, 2), note=note, strong=False)
    odds = "∞" if value == math.inf else page.fixed(math.exp(value), 2)
    ends = "not defined with so few tables" if math.isnan(low) else f"{_odds(low)} to {_odds(high)}"
    return page.Figure(
        name="Effect of exposure",
        value=f"{_odds(value)} log-odds",
        note=f"{page.sure_text(result.level)}: {ends}, under the Rasch model, {_unit(result)}; odds of being right × "
        f"{odds}",
        strong=False,
    )


def _unit(result: ExposureResult) -> str:
    alone = result.n_families == result.n_models
    return (
        "as if models were independent"
        if alone
        else "by a few draws of one member of each family, so that another seed moves its ends"
    )


def _odds(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return page.fixed(value, 2, sign=True)


def _facts(result: ExposureResult) -> Iterator[tuple[str, str]]:
    tested = [m for m in result.models if math.isfinite(m.p_value)]
    out = sum(is_exceeding(m, result.level) for m in result.models)
    if tested:
        yield "Single models that stand out", f"{page.of_text(out, len(tested))} (Holm)"
    families = f"{result.n_families:,} {'family' if result.n_families == 1 else 'families'}"
    seen = f"nothing {result.n_nothing:,}, everything {result.n_everything:,}, not known {result.n_unknown:,}"
    yield "Models", f"{result.n_models:,} in {families}; could have seen {seen}"
    gaps = f", cells missing: {result.n_missing:,} (p holds if for reasons other than the result)"
    missing = gaps if result.n_missing else ""
    lacking = "without a date" if result.months is not None else "of which it is not known who could have seen them"
    undated = f", {lacking}: {result.n_undated:,}" if result.n_undated else ""
    yield "Examples", f"{result.n_examples:,}{undated}{missing}"
    if result.scored_by is not None:
        yield "Scored by", result.scored_by
    if result.halved:
        yield "Right or wrong", "several trials, or a score between 0 and 1, count as right from one half on"
    if math.isfinite(result.placebo_spread):
        yield "Spread of placebo excesses", f"{page.fixed(result.placebo_spread, 2)} (1 under the Rasch model)"
    yield "Level", f"{result.level:g}"


def _sections(result: ExposureResult) -> Iterator[page.Section]:
    exposed = sorted((m for m in result.models if math.isfinite(m.z)), key=lambda m: -m.z)
    if exposed:
        yield page.Section.of("Exposed models", _exposed(exposed), printed=True, anchor="models")
    if result.months is not None:
        yield page.Section.of("Month by month", _map(result))
    placebo = sorted((m for m in result.models if math.isfinite(m.z_placebo)), key=lambda m: -m.z_placebo)
    if placebo:
        yield page.Section.of("References under the commonest exposure", _placebo(placebo), anchor="placebo")
    if result.scans:
        yield page.Section.of("Effective cutoffs", _scans(result), _scan_table(result))
    yield page.Section.of("What was checked", _checks(result), _strata(result), _weights(result), printed=False)
    yield page.Section.of("What it does not mean", page.Points(NOT_MEANT))
    next_steps = NEXT_FOUND if result.verdict == "exposed models score better" else NEXT_QUIET
    families = () if result.n_families < result.n_models else (NEXT_FAMILIES,)
    yield page.Section.of("What to do next", page.Points((*next_steps, *families)))
    yield page.Section.of("What was tested", page.Facts(tuple(_facts(result))))


def _exposed(models: list[ModelExposure]) -> page.Table:
    columns = ("Model", "Cutoff", "Exposed", "Right", "Expected", "Excess", "z", "Rank", "p", "Holm")
    rows = [
        (
            m.name,
            m.cutoff or "",
            f"{m.exposed:,}",
            f"{m.observed:,}",
            page.fixed(m.expected, 1),
            page.fixed(m.excess, 1, sign=True),
            page.fixed(m.z, 1, sign=True),
            f"{m.rank} of {m.references + 1}" if m.rank else "",
            page.p_text(m.p_value),
            page.p_text(m.p_holm),
        )
        for m in models
    ]
    caption = (
        "Each model against those that could have seen none of its exposed examples; p is the larger of margins and "
        "placebo (the latter approximate: Student’s prediction from the references)"
    )
    more = max(0, len(rows) - LISTED)
    return page.Table.of(caption, columns, rows[:LISTED], words=("Cutoff",), wide=True, more=more, rows_printed=PRINTED)


def _placebo(models: list[ModelExposure]) -> page.Table:
    rows = [(m.name, m.cutoff or "", page.fixed(m.score, 3), page.fixed(m.z_placebo, 1, sign=True)) for m in models]
    caption = "Standardised excess of models that could not have seen these examples, had they had the same cutoff"
    more = max(0, len(rows) - LISTED)
    columns = ("Model", "Cutoff", "Score", "z")
    return page.Table.of(caption, columns, rows[:LISTED], words=("Cutoff",), more=more, rows_open=PRINTED)


def _map(result: ExposureResult) -> page.GridMap:
    found = result.months
    assert found is not None
    steps = np.array(found.steps)
    order = np.lexsort((-np.array([m.score for m in result.models]), -steps))[:ROWS]
    return page.GridMap(
        title="What models have right less what is expected given the margins",
        caption="Models by cutoff, the latest first, months from left to right; the step is each model’s cutoff. "
        "Blue is more right than expected, orange less; exposure shows as blue to the left of the step and not to its "
        "right.",
        values=found.residuals[order],
        names=tuple(result.models[i].name for i in order.tolist()),
        columns=found.months,
        legend="share right less expected, mean of the month",
        edges=EDGES,
        steps=tuple(int(s) for s in steps[order]),
        row_of="model",
    )


def _scans(result: ExposureResult) -> page.LineChart:
    strongest = sorted(result.scans.items(), key=lambda item: -max(item[1].z))[:CURVES]
    styles: tuple[page.Style, ...] = ("a", "b", "c", "d", "e", "f")
    first = min(s.dates[0] for _, s in strongest)

    return page.LineChart(
        title="Standardised excess up to a hypothetical cutoff",
        caption="Where the curve is highest, a cutoff there fits the model best.",
        x=page.Axis(label=f"hypothetical cutoff, in months after {first}", spec=".1f"),
        y=page.Axis(label="standardised excess", spec="+.1f"),
        series=tuple(
            page.Series(name=name, x=_months(first, s.dates), y=s.z, style=style, markers=False)
            for (name, s), style in zip(strongest, styles, strict=False)
        ),
        reference=(0.0, "as expected"),
    )


def _months(first: str, dates: tuple[str, ...]) -> tuple[float, ...]:
    """Dates in months after the first."""
    days = (np.array(dates, dtype="datetime64[D]") - np.datetime64(first, "D")).astype(np.float64)
    return tuple((days * 12 / 365.25).tolist())


def _scan_table(result: ExposureResult) -> page.Table:
    rows = [
        (
            m.name,
            m.cutoff or "",
            m.effective_cutoff or "",
            "" if m.effective_cutoff is None else page.p_text(m.p_effective_cutoff),
            m.later_cutoff or "",
            "" if m.later_cutoff is None else page.p_text(m.p_later_cutoff),
        )
        for m in result.models
        if m.effective_cutoff is not None or m.p_later_cutoff <= LATE
    ]
    caption = (
        "The cutoff that fits best, p from the largest excess over all dates, by the margins test alone and not "
        "corrected for the number of models; “later” is a second scan, over examples after the declared cutoff only "
        f"(models that could have seen nothing are listed with p of at most {LATE:g})"
    )
    columns = ("Model", "Declared", "Fits best", "p", "Later", "p later")
    words, minor = ("Declared", "Fits best", "Later"), ("Later", "p later")
    return page.Table.of(caption, columns, rows[:LISTED], words=words, minor=minor)


def _checks(result: ExposureResult) -> page.Facts:
    mixing, control = result.mixing, result.control
    return page.Facts.of(
        (
            "Mixing",
            None
            if mixing is None
            else f"{mixing.expected:.1f} ± {mixing.spread:.1f} expected, by chains four times as long "
            f"{mixing.longer:.1f} ± {mixing.longer_spread:.1f}",
        ),
        (
            "Negative control",
            None
            if control is None
            else f"{control.name}: {control.observed:,} right, {page.fixed(control.expected, 1)} expected, z = "
            f"{page.fixed(control.z, 1)} as if models were independent, p = {page.p_text(control.p_value)} by family. "
            "Nobody can have seen these: a small p means drift, or cutoffs later than declared",
        ),
        (
            "Spread of placebo excesses",
            f"{page.fixed(result.placebo_spread, 2)}, 1 under the Rasch model"
            if math.isfinite(result.placebo_spread)
            else None,
        ),
    )


def _strata(result: ExposureResult) -> page.Table | None:
    if len(result.strata) < 2:
        return None
    rows = [
        (
            s.name,
            f"{s.exposed:,}",
            f"{s.observed:,}",
            page.fixed(s.expected, 1),
            page.fixed(s.z, 1, sign=True) if s.spread > 0 else "",
            page.p_text(s.p_value) if s.spread > 0 else "",
        )
        for s in result.strata
    ]
    columns = ("Stratum", "Exposed", "Right", "Expected", "z", "p")
    caption = "Each stratum alone, as if models were independent; z and p are left out where nothing can move"
    return page.Table.of(caption, columns, rows[:LISTED], more=max(0, len(rows) - LISTED))


def _weights(result: ExposureResult) -> page.Table:
    rows = [
        (kind, w.name, f"{w.exposed:,}", page.fixed(w.excess, 1, sign=True))
        for kind, some in (("family", result.families), ("example", result.examples))
        for w in some
    ]
    return page.Table.of(
        "What weighs most in the excess, all models being references",
        ("Kind", "Name", "Exposed cells", "Excess"),
        rows,
        words=("Name",),
    )
