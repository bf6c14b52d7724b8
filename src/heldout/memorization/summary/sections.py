"""The evidence below the answer: curves, tables, rankings and pictures. Most functions have the blocks of a section."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from heldout import summary as page
from heldout.memorization.curve import PMV, PTV, Curve
from heldout.memorization.metrics import K_MAX, K_PTV, K_S, SSE, Estimate, learned_slope
from heldout.memorization.models import ModelResult
from heldout.memorization.ranking import Column, Ranking, opposed
from heldout.memorization.result import MemorizationResult
from heldout.memorization.summary import answer

STYLES, VARIANTS = get_args(page.Style), get_args(page.Variant)
LINES = len(STYLES) * len(VARIANTS)  # models that can be told apart
LONGEST_UNIT = 60  # characters that fit below a chart
SMALL_P = 0.05  # of an audit: below, it needs a caution
OPEN_ROWS = 10  # of a ranking; others are folded
OPEN_PAIRS = 8  # of models that metrics disagree on; others are folded
NUMBERED = 12  # metrics up to which the map of tau has numbers
MOST_STRENGTHS = 11  # of a strip of pictures
ALL_EXAMPLES, FEW_EXAMPLES = 4, 2  # perturbations up to which all examples are shown; examples where there are more
PIXELS = 500_000  # of all pictures together: as much noise takes 2 MB
NONE = "–"
DIRECTIONS = {"high": ("↑", "Larger means more memorised"), "low": ("↓", "Smaller means more memorised")}
FORMULA = "A − (1 − A)/(m − 1)".replace(" ", "\N{NO-BREAK SPACE}")  # k_S of a model that learns, with m classes
BRIEFLY = {  # beside the numbers; what they mean in full stands below
    K_S.name: "k_S: how fast accuracy on the labels trained on falls, as more of them are wrong",
    K_PTV.name: "k_PTV: how fast accuracy on the true labels falls, as more of those trained on are wrong",
    K_MAX.name: "k_max: the largest step of a curve",
    SSE.name: "SSE: how far a curve is from a straight line",
}
GUIDES = {
    PMV: "a model that learns without error and memorises nothing, so that it is right on exactly the true labels",
    PTV: "a model that memorises every label it is given",
}
OTHERS: dict[str, Callable[[ModelResult], str | None]] = {
    "Training accuracy": lambda m: None if m.training_accuracy is None else page.fixed(m.training_accuracy),
    "Validation accuracy": lambda m: None if m.validation is None else page.fixed(float(m.validation.right.mean())),
    "Audit p": lambda m: page.p_text(m.audit.p_value) if m.audit else None,
    "Audit mean T": lambda m: page.fixed(m.audit.mean, sign=True) if m.audit else None,
    "Audit detectable": lambda m: page.fixed(m.audit.detectable_effect) if m.audit else None,
}
Blocks = Iterator[page.Block]
Cells = Sequence[str | page.Cell]


def readings(result: MemorizationResult) -> Blocks:
    """Every metric of a single model, and what it would be at either end."""
    names = ("Metric", "Value", "What it would be")
    own = answer.defined(result, result.models[0]) if len(result.models) == 1 else []
    rows = [(page.symbols(c.title), _value(e), _reading(result, c)) for c, e in own]
    if rows:
        yield page.Table.of(f"Intervals at {answer.LEVEL_TEXT} each", names, rows, words=names)


def _reading(result: MemorizationResult, column: Column) -> str:
    """What a metric of a single model would be if it memorised, or learned."""
    curve, told = result.curve(result.models[0], column.perturbation), answer.ENDS[column.metric]
    if curve is None:
        return told
    x, y = curve.line[:2]
    if column.metric == K_S.name and x[0] == 0:
        known = len(result.class_names or ())
        classes = {f"{known} classes": known} if known > 1 else {"two classes": 2, "very many": math.inf}
        learned = [f"{page.fixed(learned_slope(y[0], m))} with {name}" for name, m in classes.items()]
        told += f"; about {FORMULA} if it learned, with an accuracy without noise of A = {page.fixed(y[0])}: "
        told += page.listed(learned)
    if column.metric == K_MAX.name:
        start, end, rises = answer.steepest(curve)
        told += f"; the largest of {len(y) - 1} is {'a rise ' * rises}from strength {start:g} to {end:g}; an even fall "
        told += f"from {page.fixed(y[0])} to {page.fixed(y[-1])} has steps of "
        told += page.fixed(abs(y[0] - y[-1]) / (len(y) - 1))
    return told


def _value(found: Estimate) -> page.Cell:
    return page.Cell(text=page.fixed(found.value), note=page.pair((found.low, found.high)))


def curves(result: MemorizationResult) -> Blocks:
    """One chart per perturbation, one line per model; several corruptions are small, with their mean before them."""
    looks, small = _looks(result.models), answer.corruptions(result)
    yield page.Prose("Accuracy on the training set at growing strength of the perturbation.")
    if any(not c.used.all() for c in result.curves):
        yield page.Note("Strengths at which every training failed are left out.")
    if len(looks) > LINES:
        yield page.Note(f"Lines drawn: {LINES} of {len(looks)}; the numbers are those of all models.")
    charts = []
    for name in result.perturbations:
        own, notes = [c for c in result.curves if c.perturbation == name], []
        lines, guides = [answer.series_of(c.model, c.line, **looks[c.model]) for c in own], []
        if name in answer.NOISE:
            last = lines[0].x[-1]
            guides.append(((0.0, 1.0), (last, 1 - last)))
            notes.append(f"Thin dashed line: 1\N{NO-BREAK SPACE}−\N{NO-BREAK SPACE}r, {GUIDES[name]}.")
        if assumed := [c.model for c in own if c.assumed]:
            notes.append(f"The point at 0 is taken to be 1, not measured: {page.names_text(assumed)}.")
        title, is_small = answer.perturbation_text(name), name in small and len(small) > 1
        charts.append(_chart(title, own[0].unit, lines, notes, guides=tuple(guides), small=is_small))
    if means := [answer.series_of(name, line, **looks[name]) for name, line in answer.mean_lines(result).items()]:
        told = "The band is the mean of the bands: wide enough however the errors of corruptions depend on each other."
        charts.append(_chart(f"Mean over the {len(small)} corruptions", "severity", means, [told]))
    for is_small in (False, True):
        some = tuple(chart for chart in charts if chart.small == is_small)
        if some:
            yield page.SideBySide(charts=some, small=is_small, legend=len(result.models) > 1)


def _looks(models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How each model's line is drawn: as many as can be told apart; of more models, ones spread evenly."""
    few = len(models) <= len(STYLES)
    looks: dict[str, dict[str, Any]] = {model: {"drawn": False} for model in models}
    for at, i in enumerate(_spread(len(models), LINES)):
        variant, style = divmod(at, len(STYLES))
        looks[models[i]] = {"style": STYLES[style], "variant": None if few else VARIANTS[variant], "faint": not few}
    return looks


def _chart(title: str, unit: str, lines: Sequence[page.Series], notes: Sequence[str], **options: Any) -> page.LineChart:
    last, long = max(s.x[-1] for s in lines), len(unit) > LONGEST_UNIT
    return page.LineChart(
        title=title,
        caption=" ".join([f"Strength: {unit}."] * long + [*notes]),
        x=page.Axis(label=unit, short="strength" if long else "", range=(-0.01 * last, 1.01 * last), spec="g"),
        y=page.Axis(label="accuracy", range=(-0.02, 1.02), spec=".4f"),  # so that markers at 0 and 1 are whole
        series=tuple(lines),
        line_of="model",
        printed=True,
        **options,
    )


def metrics(result: MemorizationResult) -> Blocks:
    """Tables VII and VIII of the paper: rows are models, columns metrics; then accuracies and audits."""
    models = result.measured
    defined = {c.metric for row in result.table.values() for c, found in row.items() if not math.isnan(found.value)}
    own = {
        f"{c.title} {DIRECTIONS[c.memorised][0]}": [
            _value(row[c]) if c in row and not math.isnan(row[c].value) else NONE for row in result.table.values()
        ]
        for c in result.columns
    }
    others = {name: [text(m) or NONE for m in models.values()] for name, text in OTHERS.items()}
    yield page.Prose(
        f"Each with its {answer.LEVEL_TEXT} interval, for one model and one metric at a time. ↑: larger means more "
        f"memorised; ↓: smaller does.{''.join(f' {text}.' for name, text in BRIEFLY.items() if name in defined)}"
    )
    names = [page.name_text(name) for name in models]
    unfit = [any(c.unfit for c in m.perturbations.values()) for m in models.values()]
    noted = [page.Cell(text=a, note="does not fit its labels" if b else "") for a, b in zip(names, unfit, strict=True)]
    yield from _table("By metric", noted, own)
    yield from _table("Without any perturbation", names, others)
    yield from _cautions(result)


def _table(caption: str, models: Cells, columns: Mapping[str, Cells]) -> Blocks:
    """One row per model; columns without any number are left out."""
    kept = {name: cells for name, cells in columns.items() if any(cell != NONE for cell in cells)}
    if kept:
        table = page.Table.of(caption, ("Model", *kept), zip(models, *kept.values(), strict=True))
        yield replace(table, wide=len(kept) > 4)


def _cautions(result: MemorizationResult) -> Blocks:
    """Metrics without a number, by reason, and audits that need a word."""
    why: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for column, found in (item for row in result.table.values() for item in row.items()):
        if found.reason is not None:
            names, of = why.setdefault(found.reason, ({}, {}))
            names[column.metric] = of[column.title.rpartition(" ")[0]] = None
    for reason, (names, of) in why.items():
        yield page.Note(f"Not defined: {page.listed([*names])} of {page.names_text([*of], 20)}: {reason}")
    if small := [name for name, m in result.measured.items() if m.audit is not None and m.audit.p_value < SMALL_P]:
        yield page.Note(
            f"Audit p below {SMALL_P:g}: {page.names_text(small)}. A strong test also finds shifts that are not "
            "neutral, so this alone is no proof of memorization (`heldout audit --control` needs no neutral shifts)."
        )


def boards(result: MemorizationResult) -> Iterator[page.Section]:
    """One leaderboard per metric."""
    told = (
        f"Most memorised first; intervals are each model’s own, at {answer.LEVEL_TEXT}. **Rank**: every place that "
        "comparisons leave open. **Next**: > memorised significantly more than the next model; ~ not significantly."
    )
    if result.rankings:
        yield page.Section.of("Who memorised more", told, anchor="ranking")
    for i, r in enumerate(result.rankings, start=1):
        yield page.Section.of(answer.title(r.column), _board(r), level=3, anchor=f"rank-{i}")


def _board(r: Ranking) -> page.Table:
    rows = []
    for e, after in itertools.zip_longest(r.most_memorised_first, r.models[1:]):
        sign = "" if after is None else ">" if r.differs(e.model, after) else "~"
        ranks, between = "–".join(dict.fromkeys(map(str, e.ranks))), page.interval_cell(e.value, (e.low, e.high))
        rows.append(page.Row(cells=(ranks, page.name_text(e.model), page.fixed(e.value), between, sign)))
    ends = "the same" if r.tied else "differ significantly" if r.ends_differ else "do not differ significantly"
    pairs = f"{len(r.significant)} of {math.comb(len(r.models), 2)}"
    caption = f"{DIRECTIONS[r.memorised][1]}; first and last: {ends}; pairs that differ significantly: {pairs}"
    return page.Table.ranges(caption, ("Rank", "Model", r.metric, "Interval", "Next"), rows, rows_open=OPEN_ROWS)


def disagreements(result: MemorizationResult) -> Blocks:
    """Pairs of models that metrics order in opposite ways, with their numbers, and how alike the orders are."""
    told = []
    for (a, b), sides in opposed(result.models, result.rankings).items():
        more, less = (", ".join(_against(r, a, b) for r in side) for side in sides)
        names = f"{page.name_text(a)} and {page.name_text(b)}"
        told.append((names, f"the first memorised more by {more}; less by {less}"))
    yield page.Facts(tuple(told[:OPEN_PAIRS]))
    if rest := tuple(told[OPEN_PAIRS:]):
        yield page.Fold(title=f"{len(rest)} more", blocks=(page.Facts(rest),))
    if result.correlations:
        both = (f(result.correlations, key=lambda c: (c.kendall_tau, c.between)) for f in (min, max))
        ends = [f"{page.fixed(c.kendall_tau, 2, sign=True)} ({' and '.join(c.between)})" for c in both]
        yield page.Prose(f"Kendall’s tau between the orders of two metrics: {' to '.join(dict.fromkeys(ends))}.")
    if result.correlations and len(result.rankings) > 2:
        yield _tau(result)


def _against(r: Ranking, a: str, b: str) -> str:
    """Two models by one metric."""
    return f"{answer.title(r.column)} ({page.fixed(r.of(a).value)} against {page.fixed(r.of(b).value)})"


def _tau(result: MemorizationResult) -> page.HeatMap:
    titles = [r.column.title for r in result.rankings]
    values = np.full((len(titles), len(titles)), np.nan)
    for c in result.correlations:
        i, j = map(titles.index, c.between)
        values[i, j] = values[j, i] = c.kendall_tau
    return page.HeatMap(
        title=f"Kendall’s tau between the orders of {len(titles)} metrics",
        caption="From most to least memorised: 1 is the same order, −1 the reverse, about 0 no relation; by values "
        "alone, chance included. Columns are in the order of the rows.",
        values=values,
        legend="Kendall’s tau between two orders",
        names=tuple(map(page.symbols, titles)),
        cell_hover=True,
        numbered=len(titles) <= NUMBERED,
        edges=tuple(np.linspace(-1, 1, 10).tolist()),
    )


def pictures(result: MemorizationResult) -> Blocks:
    """One strip per example, of the first model that has pictures of a perturbation."""
    found: dict[str, Curve] = {}
    for c in result.curves:
        if c.exhibits is not None:
            found.setdefault(c.perturbation, c)
    if not found:
        return
    yield page.Prose("Training pictures at growing strength; some fail early, others late. ✗: the model is wrong.")
    many = len(found) > ALL_EXAMPLES
    strips = {name: _strips(c, result.class_names, FEW_EXAMPLES if many else None) for name, c in found.items()}
    total = sum(len(some) for groups in strips.values() for _, some, _ in groups)
    side = min(112, int(math.sqrt(PIXELS / total)))
    for i, (name, c) in enumerate(found.items()):
        title = page.quoted(answer.perturbation_text(name))
        about = page.Prose(f"**{title}**. Model: {page.quoted(c.model)}. Strength: {c.unit}.")
        blocks = (about, page.Pictures(groups=strips[name], layout="strips", side=side))
        yield from (page.Fold(title=title, blocks=blocks),) if many and i >= FEW_EXAMPLES else blocks


def _strips(
    curve: Curve, names: Sequence[str] | None, most: int | None
) -> tuple[tuple[str, tuple[page.Picture, ...], tuple[str, ...]], ...]:
    shown, strips = curve.exhibits, []
    assert shown is not None
    for k in _spread(len(shown.rows), most or len(shown.rows)):
        name, row = page.class_text(int(shown.labels[k]), names), int(shown.rows[k])
        some = []
        for i in _spread(len(curve.strengths), MOST_STRENGTHS):
            right, strength = bool(shown.right[k, i]), f"{curve.strengths[i]:g}"
            told = f"{name}, example {row}, at strength {strength}: {'right' if right else 'wrong'}"
            some.append(page.Picture(pixels=shown.pictures[k, i], alt=told, caption=strength, alert=not right))
        strips.append((name, tuple(some), (f"example {row:,}",)))
    return tuple(strips)


def _spread(n: int, most: int) -> list[int]:
    """Places among n, no more than `most`, evenly, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)).tolist()  # type: ignore[no-any-return]
