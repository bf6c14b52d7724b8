"""Everything below the answer: curves, tables, rankings, pictures, and what went in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from heldout.images.preprocessing import preprocessing_text
from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.ranking import EQUAL, GAP, Column, Ranking
from heldout.memorization.summary.answer import reading, why_unranked
from heldout.memorization.summary.meaning import cautions, meaning
from heldout.memorization.summary.phrases import (
    LEVEL_TEXT,
    NOISE,
    Line,
    Values,
    corruptions,
    defined,
    examples_text,
    finished,
    lead_columns,
    line_of,
    mean_lines,
    opposed,
    perturbation_text,
    significant_text,
    trainings,
)
from heldout.summary import (
    Axis,
    Block,
    Cell,
    Facts,
    Fold,
    Guide,
    HeatMap,
    LineChart,
    Note,
    Picture,
    Pictures,
    Points,
    Prose,
    RangeRow,
    Ranges,
    Row,
    Section,
    Series,
    SideBySide,
    Table,
)
from heldout.summary import Column as Heading
from heldout.summary.charts import Style, Variant
from heldout.summary.names import listed, name_text, shorten
from heldout.summary.numbers import counted, fixed, p_text, pair

if TYPE_CHECKING:
    from heldout.memorization.result import MemorizationResult

STYLES: tuple[Style, ...] = get_args(Style)
VARIANTS: tuple[Variant, ...] = get_args(Variant)
LINES = len(STYLES) * len(VARIANTS)  # models that can be told apart
LONGEST_UNIT = 60  # characters that fit below a chart
LONGEST_GROUP = 22  # characters of a heading, which is not broken within a word
ENDS = -0.02, 1.02  # of the accuracy axis, so that markers at 0 and 1 are whole
SMALL_P = 0.05  # of an audit: below, it needs a caution
OPEN_ROWS = 40  # of all rankings; the first one is open in any case
OPEN_PAIRS, MOST_PAIRS = 8, 60  # of models that metrics disagree on: unfolded, and shown at all
NUMBERED = 12  # metrics up to which the map of tau has numbers
MOST_STRENGTHS = 11  # of a strip of pictures
ALL_EXAMPLES, FEW_EXAMPLES = 4, 2  # perturbations up to which all examples are shown; examples where there are more
PIXELS = 500_000  # of all pictures together: as much noise takes 2 MB
Looks = dict[str, dict[str, Any]]  # how each model's line is drawn, the same in every chart
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
GUIDES = {
    PMV: "a model that learns without error and memorises nothing, so that it is right on exactly the true labels",
    PTV: "a model that memorises every label it is given",
}


def sections(result: MemorizationResult, noticed: Sequence[str]) -> Iterable[Section]:
    """In reading order."""
    yield from (_reading(result) if len(result.models) == 1 else _ends(result))
    yield Section(title="How accuracy falls", blocks=tuple(_curves(result)), printed=True, anchor="curves")
    yield Section(title="The metrics", blocks=tuple(_metrics(result)), printed=True, anchor="table")
    yield from _rankings(result)
    if len(result.rankings) > 1:
        blocks = tuple(_disagreements(result))
        yield Section(title="Where the metrics disagree", blocks=blocks, printed=True, anchor="disagreement")
    pictures = tuple(_pictures(result))
    if pictures:
        yield Section(title="What the perturbations look like", blocks=pictures, anchor="pictures")
    yield Section(title="What the numbers mean", blocks=(Points(meaning(result)),), anchor="means")
    yield Section(title="What they do not mean", blocks=(Points(cautions(result)),), anchor="not")
    yield Section(title="What went in", blocks=(Facts(tuple(_facts(result))),), anchor="facts")
    if noticed:
        yield Section(title="Noticed on the way", blocks=(Points(tuple(noticed)),), level=3, printed=True)
    if result.failures:
        title = f"{counted(len(result.failures), 'training')} failed"
        yield Section(title=title, blocks=(Points(result.failures),), level=3, printed=True, anchor="failures")
    missing = tuple(_missing(result))
    if missing:
        yield Section(title="Not computed", blocks=(Points(missing),), anchor="missing")


def _named(model: str) -> Cell:
    name = name_text(model)
    return Cell(text=name, hover=model if name != model else "")


def _direction(column: Column) -> str:
    return f"{'larger' if column.memorised == 'high' else 'smaller'} means more memorised"


def _table(caption: str, names: Sequence[str], rows: Iterable[tuple[str | Cell, ...]]) -> Table:
    columns = tuple(Heading(name=name, align="left") for name in names)
    return Table(caption=caption, columns=columns, rows=tuple(Row(cells=cells) for cells in rows))


def _ends(result: MemorizationResult) -> Iterable[Section]:
    """Who is at which end of every metric."""
    rows: list[tuple[str | Cell, ...]] = []
    for r in result.rankings:
        ends = [
            Cell(text=f"{'each model' if r.tied else name_text(e.model)} {fixed(e.value)}", note=pair((e.low, e.high)))
            for e in (r.most_memorised_first[0], r.most_memorised_first[-1])
        ]
        sure = "none" if r.tied else "significant" if r.ends_differ else "not significant"
        rows.append((Cell(text=r.column.title, note=_direction(r.column)), *ends, sure))
    caption = f"Intervals at {LEVEL_TEXT} each; differences {significant_text(result)}."
    table = _table(caption, ("Metric", "At the memorised end", "At the other end", "The difference"), rows)
    if rows:
        yield Section(title="Who is at which end, metric by metric", blocks=(table,), anchor="ends")


def _reading(result: MemorizationResult) -> Iterable[Section]:
    """Every metric of a single model, and what it would be at either end."""
    model = result.models[0]
    found = [(c, result.table[model][c]) for c in lead_columns(result, model)]
    rows = [
        (c.title, Cell(text=fixed(e.value), note=pair((e.low, e.high))), reading(result, model, c)) for c, e in found
    ]
    if rows:
        table = _table(f"Intervals at {LEVEL_TEXT}.", ("Metric", "Value", "What it would be"), rows)
        yield Section(title="The numbers, read against their ends", blocks=(table,), anchor="reading")


def looks(models: Sequence[str]) -> Looks:
    """As many as can be told apart; of more models, ones spread evenly over their order."""
    few = len(models) <= len(STYLES)
    return {
        models[i]: {
            "style": STYLES[at % len(STYLES)],
            "variant": None if few else VARIANTS[at // len(STYLES)],
            "faint": not few,
        }
        for at, i in enumerate(_spread(len(models), LINES))
    }


def _curves(result: MemorizationResult) -> Iterable[Block]:
    """One chart per perturbation, one line per model; several corruptions are small, with their mean before them."""
    shown = looks(result.models)
    told = "Accuracy on the training set at growing strength of the perturbation."
    if any(not c.used.all() for c in result.curves):
        told += " Strengths at which every training failed are left out."
    if len(shown) < len(result.models):
        told += f" Lines of {len(shown)} of the {len(result.models)} models are drawn; the numbers are those of all."
    yield Prose(told)
    small = corruptions(result) if len(corruptions(result)) > 1 else []
    charts = [_panel(result, name, shown) for name in result.perturbations if name not in small]
    means = mean_lines(result)
    if means:
        caption = (
            "The band is the mean of the bands: wide enough however the errors of corruptions depend on each other."
        )
        charts.append(_chart(f"Mean over the {len(small)} corruptions", means, shown, caption=caption))
    legend = len(result.models) > 1
    if charts:
        yield SideBySide(charts=tuple(charts), legend=legend)
    if small:
        panels = [_chart(perturbation_text(name), _lines(result, name), shown, small=True) for name in small]
        yield SideBySide(charts=tuple(panels), small=True, legend=legend)


def _lines(result: MemorizationResult, name: str) -> list[Line]:
    return [line_of(c) for c in result.curves if c.perturbation == name]


def _panel(result: MemorizationResult, name: str, shown: Looks) -> LineChart:
    lines = _lines(result, name)
    last = max(float(line.x[-1]) for line in lines)
    guides = (Guide(start=(0.0, 1.0), end=(last, 1 - last)),) if name in NOISE and last <= 1 else ()
    assumed = [line.name for line in lines if line.assumed]
    whose = "" if len(assumed) == len(lines) else f", for {listed(assumed)}"
    unit = lines[0].unit
    told = [
        *([f"Strength: {unit}."] if len(unit) > LONGEST_UNIT else []),
        *([f"Thin dashed line: 1\N{NO-BREAK SPACE}−\N{NO-BREAK SPACE}r, {GUIDES[name]}."] if guides else []),
        *([f"The point at 0 is taken to be 1, not measured{whose}."] if assumed else []),
    ]
    return _chart(perturbation_text(name), lines, shown, caption=" ".join(told), guides=guides)


def _chart(
    title: str,
    lines: Sequence[Line],
    shown: Looks,
    *,
    caption: str = "",
    guides: tuple[Guide, ...] = (),
    small: bool = False,
) -> LineChart:
    last = max(float(line.x[-1]) for line in lines)
    series = [
        Series(
            name=line.name,
            x=tuple(line.x.tolist()),
            y=tuple(line.y.tolist()),
            low=tuple(line.low.tolist()),
            high=tuple(line.high.tolist()),
            **shown.get(line.model, {"drawn": False}),
        )
        for line in lines
    ]
    return LineChart(
        title=title,
        caption=caption,
        x=Axis(label=lines[0].unit, range=(-0.01 * last, 1.01 * last), spec="g"),
        y=Axis(label="accuracy", range=ENDS, spec=".4f"),
        series=tuple(series),
        guides=guides,
        small=small,
        line_of="model",
        printed=True,
    )


def _metrics(result: MemorizationResult) -> Iterable[Block]:
    """Tables VII and VIII of the paper: rows are models, columns metrics; a footnote per reason."""
    table, models = result.table, result.measured
    columns = [c for c in result.columns if c != GAP and any(defined(row.get(c)) for row in table.values())]
    training = any(m.training_accuracy is not None for m in models.values())
    fresh, audited = GAP in result.columns, any(m.audit is not None for m in models.values())
    ends = {c: _most_and_least(result, c) for c in (*columns, GAP)}
    reasons: list[str] = []
    rows = []
    for name, m in models.items():
        cells: list[str | Cell] = [_named(name), *(_cell(result, name, c, ends[c], reasons) for c in columns)]
        cells += [_plain(m.training_accuracy)] if training else []
        cells += [_plain(m.validation_accuracy), _cell(result, name, GAP, ends[GAP], reasons)] if fresh else []
        if audited:
            a = m.audit
            note = "" if a is None else f"mean T {fixed(a.mean, sign=True)}, detectable {fixed(a.detectable_effect)}"
            cells.append("–" if a is None else Cell(text=p_text(a.p_value), note=note))
        unfit = any(c.unfit is not None for c in m.perturbations.values())
        rows.append(Row(cells=tuple(cells), role="does not fit its labels" if unfit else ""))
    headings = [Heading(name="Model", align="left")]
    for c in columns:
        group = shorten(_group(c.perturbation), LONGEST_GROUP)
        headings.append(Heading(name=f"{c.metric} {_arrow(c)}", group=group))
    names = [*(["training"] if training else []), *(["validation", f"gap {_arrow(GAP)}"] if fresh else [])]
    headings += [Heading(name=name, group="Accuracy") for name in names]
    headings += [Heading(name="p", group="Audit")] if audited else []
    if columns or fresh:
        yield Prose(
            f"Each with its {LEVEL_TEXT} interval, for one model and one metric at a time. ↑: larger means more "
            "memorised; ↓: smaller does."
        )
    else:
        yield Prose("No metric is defined here.")
    marked = "; bold: most memorised of a column, italics: least, by value alone" if any(ends.values()) else ""
    if len(headings) > 1:
        yield Table(
            caption=f"Metrics of every model{marked}", columns=tuple(headings), rows=tuple(rows), wide=len(headings) > 5
        )
    for i, reason in enumerate(reasons):
        yield Note(f"{_footnote(i)} Not defined: {reason}")
    small = [name_text(name) for name, m in models.items() if m.audit is not None and m.audit.p_value < SMALL_P]
    if small:
        yield Note(
            f"Audit p below {SMALL_P:g} ({listed(small)}): a strong test also finds shifts that are not neutral, so "
            "this alone is no proof of memorization (`heldout audit --control` needs no neutral shifts)."
        )
    for line in _absent(result):
        yield Note(line)


def _group(perturbation: str) -> str:
    return perturbation.upper() if perturbation in NOISE else perturbation_text(perturbation)


def _arrow(column: Column) -> str:
    return "↑" if column.memorised == "high" else "↓"


def _footnote(i: int) -> str:
    return str(i + 1).translate(SUPERSCRIPTS)


def _plain(value: float | None) -> str:
    return "–" if value is None else fixed(value)


def _fits(result: MemorizationResult, model: str, column: Column) -> bool:
    """Whether a value says what its column says: under label noise not where a method does not fit its labels."""
    curve = result.curve(model, column.perturbation)
    return curve is None or curve.unfit is None


def _most_and_least(result: MemorizationResult, column: Column) -> tuple[float, float] | None:
    """The most and the least memorised values of a column; None where all are the same."""
    known = [
        row[column].value
        for model, row in result.table.items()
        if defined(row.get(column)) and _fits(result, model, column)
    ]
    if len(known) < 2 or max(known) - min(known) < EQUAL:
        return None
    return (max(known), min(known)) if column.memorised == "high" else (min(known), max(known))


def _cell(
    result: MemorizationResult, model: str, column: Column, ends: tuple[float, float] | None, reasons: list[str]
) -> str | Cell:
    found = result.table[model].get(column)
    if found is None:
        return "–"
    if not defined(found):
        reason = str(found.reason)
        if reason not in reasons:
            reasons.append(reason)
        return f"–{_footnote(reasons.index(reason))}"
    interval = pair((found.low, found.high)).replace(" to", "\N{NO-BREAK SPACE}to")
    marked = ends is not None and found.value in ends and _fits(result, model, column)
    mark: Literal["", "most", "least"] = (
        "" if not marked or ends is None else "most" if found.value == ends[0] else "least"
    )
    return Cell(text=fixed(found.value), note=interval, mark=mark, hover=f"{mark} memorised" if mark else "")


def _absent(result: MemorizationResult) -> list[str]:
    """Columns without any number, one line per reason."""
    why: dict[str, dict[str, None]] = {}
    for column in result.columns:
        found = [row[column] for row in result.table.values() if column in row]
        if found and not any(defined(e) for e in found):
            for e in found:
                why.setdefault(str(e.reason), {})[column.perturbation] = None
    metrics: dict[tuple[str, ...], str] = {(PMV,): "k_S", (PTV,): "k_PTV"}
    return [
        f"No {metrics.get(tuple(names), 'k_max and SSE')} of {', '.join(map(_group, names))}: {reason}"
        for reason, names in why.items()
    ]


def _rankings(result: MemorizationResult) -> Iterable[Section]:
    """One leaderboard per metric; from some number of rows on they are folded."""
    if not result.rankings:
        return
    paired = "" if result.unpaired else ", with models compared in pairs on the same examples"
    blocks: list[Block] = [
        Prose(
            f"Most memorised first. Intervals are each model’s own, at {LEVEL_TEXT}; what is significant is so "
            f"{significant_text(result)}{paired}."
        ),
        Points(
            (
                "**Rank**: every place that the comparisons leave open.",
                "**Next**: > memorised significantly more than the next model; ~ the difference is not significant.",
            )
        ),
    ]
    yield Section(title="Who memorised more", blocks=tuple(blocks), anchor="ranking")
    rows = np.cumsum([len(r.models) for r in result.rankings])
    opened = max(1, int((rows <= OPEN_ROWS).sum()))
    folds = [Fold(title=f"{r.column.title}: {_apart(r)}", blocks=(_board(r),)) for r in result.rankings[opened:]]
    for i, r in enumerate(result.rankings[:opened], start=1):
        boards = (_board(r), *(folds if i == opened else ()))
        yield Section(title=r.column.title, blocks=boards, level=3, anchor=f"rank-{i}")


def _apart(r: Ranking) -> str:
    pairs, apart = math.comb(len(r.models), 2), len(r.significant)
    if pairs == 1:
        return f"the difference is {'' if apart else 'not '}significant"
    return f"{apart} of {pairs} pairs of models {'differs' if apart == 1 else 'differ'} significantly"


def _board(r: Ranking) -> Ranges:
    rows = []
    for e, after in itertools.zip_longest(r.most_memorised_first, r.models[1:]):
        first, last = e.ranks
        sure = after is not None and r.differs(e.model, after)
        rows.append(
            RangeRow(
                name=name_text(e.model),
                value=e.value,
                low=e.low,
                high=e.high,
                value_text=fixed(e.value),
                interval_text=pair((e.low, e.high)),
                rank=f"{first}" if first == last else f"{first}–{last}",
                next="" if after is None else ">" if sure else "~",
                next_hover="memorised significantly more than the next" if sure else "no significant difference",
            )
        )
    return Ranges(
        caption=f"{_direction(r.column).capitalize()}; {_apart(r)}.",
        columns=("Rank", "Model", r.metric, "Interval", "Next"),
        rows=tuple(rows),
    )


def _disagreements(result: MemorizationResult) -> Iterable[Block]:
    """Pairs of models with their numbers, and how alike the orders are."""
    pairs = opposed(result)
    if pairs:
        n = len(pairs)
        yield Prose(
            f"{'1 pair of models is' if n == 1 else f'{n} pairs of models are'} ordered in opposite ways by different "
            "metrics, each significantly."
        )
        told = [_opposed(models, *sides) for models, sides in list(pairs.items())[:MOST_PAIRS]]
        opened = n if n <= OPEN_PAIRS + 3 else OPEN_PAIRS  # three rows are not worth unfolding
        yield Points(tuple(told[:opened]))
        if told[opened:]:
            more = [Note(f"And {n - MOST_PAIRS} more in the JSON.")] if n > MOST_PAIRS else []
            yield Fold(title=f"{len(told) - opened} more", blocks=(Points(tuple(told[opened:])), *more))
    else:
        yield Prose("No two metrics order two models in opposite ways, both significantly.")
    if not result.correlations:
        return
    low, high = (f(result.correlations, key=lambda c: (c.kendall_tau, c.between)) for f in (min, max))
    least, most = (f"{fixed(c.kendall_tau, 2, sign=True)} ({' and '.join(c.between)})" for c in (low, high))
    if len(result.correlations) == 1:
        goes = f"is {least}"
    elif low.kendall_tau == high.kendall_tau:
        goes = f"is {fixed(low.kendall_tau, 2, sign=True)} throughout"
    else:
        goes = f"runs from {least} to {most}"
    yield Prose(f"Kendall’s tau between the orders of two metrics {goes}.")
    if len(result.rankings) > 2:
        yield _tau(result)


def _opposed(models: tuple[str, str], *sides: Values) -> str:
    more, less = (
        listed([f"{column.title} ({fixed(a)} against {fixed(b)})" for column, (a, b) in side.items()]) for side in sides
    )
    a, b = map(name_text, models)
    return f"**{a}** memorised more than **{b}** by {more}; less by {less}."


def _tau(result: MemorizationResult) -> HeatMap:
    titles = [r.column.title for r in result.rankings]
    values = np.full((len(titles), len(titles)), np.nan)
    for c in result.correlations:
        i, j = map(titles.index, c.between)
        values[i, j] = values[j, i] = c.kendall_tau
    return HeatMap(
        title=f"Kendall’s tau between the orders of {len(titles)} metrics",
        caption="**Kendall’s tau** between the orders of each two metrics, from most to least memorised: 1 is the same "
        "order, −1 the reverse, about 0 no relation; by values alone, chance included. Columns are in the order of "
        "the rows.",
        values=values,
        legend="Kendall’s tau between two orders",
        names=tuple(titles),
        cell_hover=True,
        numbered=len(titles) <= NUMBERED,
        edges=tuple(np.linspace(-1, 1, 10).tolist()),
    )


def _pictures(result: MemorizationResult) -> Iterable[Block]:
    """One strip per example, of the first model that has pictures of a perturbation."""
    found: dict[str, Curve] = {}
    for c in result.curves:
        if c.exhibits is not None and c.perturbation not in NOISE:
            found.setdefault(c.perturbation, c)
    if not found:
        return
    yield Prose(
        "Training pictures at growing strength, some on which the model goes wrong early and some on which it does "
        "late. ✗ and a frame: the model is wrong."
    )
    most = FEW_EXAMPLES if len(found) > ALL_EXAMPLES else None
    strips = {name: _strips(c, result.class_names, most) for name, c in found.items()}
    total = sum(len(pictures) for groups in strips.values() for _, pictures, _ in groups)
    side = int(math.sqrt(PIXELS / max(1, total)))
    opened = len(found) if len(found) <= ALL_EXAMPLES else ALL_EXAMPLES // 2
    for i, (name, c) in enumerate(found.items()):
        title = perturbation_text(name)
        block = Pictures(groups=strips[name], layout="strips", side=min(side, 112))
        model = f"Model: {name_text(c.model)}. Strength: {c.unit}."
        if i < opened:
            yield Prose(f"**{title}**. {model}")
            yield block
        else:
            yield Fold(title=title, blocks=(Prose(model), block))


def _strips(
    curve: Curve, names: Sequence[str] | None, most: int | None
) -> tuple[tuple[str, tuple[Picture, ...], tuple[str, ...]], ...]:
    shown = curve.exhibits
    assert shown is not None
    strips = []
    for k in _spread(len(shown.rows), most or len(shown.rows)):
        label, row = int(shown.labels[k]), int(shown.rows[k])
        name = names[label] if names is not None and 0 <= label < len(names) else f"class {label}"
        pictures = []
        for i in _spread(len(curve.strengths), MOST_STRENGTHS):
            right, strength = bool(shown.right[k, i]), f"{curve.strengths[i]:g}"
            told = f"{name}, example {row}, at strength {strength}: {'right' if right else 'wrong'}"
            pictures.append(Picture(pixels=shown.pictures[k, i], alt=told, caption=strength, alert=not right))
        strips.append((name, tuple(pictures), (f"example {row:,}",)))
    return tuple(strips)


def _spread(n: int, most: int) -> list[int]:
    """Places among n, no more than `most`, evenly, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()  # type: ignore[no-any-return]


def _facts(result: MemorizationResult) -> Iterable[tuple[str, str]]:
    """What went in, one line per fact."""
    yield "Models", ", ".join(map(name_text, result.models))
    yield "Examples", examples_text(result)
    same: dict[tuple[str, str], list[str]] = {}
    for name in result.perturbations:
        if name == PTV and PMV in result.perturbations:
            continue
        curve = next(c for c in result.curves if c.perturbation == name)
        strengths = ", ".join(f"{s:g}" for s in curve.strengths)
        told = "label noise" if name in NOISE else perturbation_text(name)
        same.setdefault((strengths, curve.unit), []).append(told)
    for (strengths, unit), names in same.items():
        what = listed(names) if len(names) < 4 else f"{len(names)} perturbations"
        yield what[:1].upper() + what[1:], f"{strengths} ({unit})"
    if trainings(result):
        yield "Trainings per rate", listed([f"{s}" for s in trainings(result)])
    sizes = sorted({m.validation.right.shape[1] for m in result.measured.values() if m.validation is not None})
    if sizes:
        yield "Validation", f"{listed([f'{n:,}' for n in sizes])} examples"
    if result.class_names is not None:
        yield "Classes", f"{len(result.class_names):,}"
    done = preprocessing_text(result.preprocessing)
    if done:
        yield "Preprocessing", done


def _missing(result: MemorizationResult) -> Iterable[str]:
    """What is lacking, and why; silence must not read as "nothing to see"."""
    if not any(name in NOISE for name in result.perturbations):
        yield "Label noise (PMV, PTV), the direct measure: no model was retrained"
    if not finished(result):
        yield "Perturbed pictures: not asked for"
    if len(result.models) == 1:
        yield "Ranking: there is only one model"
    elif not result.rankings:
        yield f"Ranking: {why_unranked(result)}"
    if GAP not in result.columns:
        yield "Gap to fresh examples: there are no validation examples"
    if all(m.audit is None for m in result.measured.values()):
        yield "Audit of the training pictures: not asked for"
