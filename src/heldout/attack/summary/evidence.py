"""The charts and tables of a stress test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from heldout.attack.public import PublicSplit
from heldout.attack.result import StressResult, StressRun
from heldout.attack.summary.sentences import (
    bound_reason,
    bound_text,
    kind_of_forecast,
    last_telling,
    no_bound,
    points,
    regime,
    same_answers,
    sure,
    transfers_text,
)
from heldout.summary import (
    Axis,
    Block,
    Facts,
    Interval,
    IntervalChart,
    LineChart,
    Points,
    Prose,
    Section,
    Series,
    SideBySide,
    Table,
)
from heldout.summary.charts import Style
from heldout.summary.numbers import counted, percent

ROOM = 2.5  # times the height that the data need; a bound that asks for more would press them flat, so it is cut
FLAT = 1e-9  # points: gains of zero up to rounding
DEPTH, DEPTH_COMPARED = 50, 1000  # a log axis shows no gain that is so many times smaller than the largest
GAIN = "gain, percentage points"
STYLES: tuple[Style, ...] = get_args(Style)


def public_blocks(result: StressResult, split: PublicSplit) -> tuple[Block, ...]:
    """A public and a private part: what is gained on each, and what transfers."""
    text = (
        f"Answers are about {split.n_public:,} public examples; {split.n_private:,} are private. All other numbers on "
        "this page are of an analyst who knows which examples are public: it attacks these alone, and leaves its guess "
        "on the private part as it is."
    )
    rows = [("Public, known", result.advantage, result.std)]
    if len(split.public):
        share = transfers_text(split)
        text += (
            " One who does not know asks about all examples, and puts the answers together as if they were about all"
            f"{', taking them at face value' if split.face_value else ''}. "
        )
        text += f"Of its public gain **{share}** is there on the private part." if share else "It gains too little."
        if split.gain_private < -split.gain_public / 20:
            text += " On the private part its votes are noise that replaces a better guess, so it loses there."
        rows += [
            ("Public, not known", split.gain_public, split.std_public),
            ("Private, not known", split.gain_private, split.std_private),
        ]
    else:
        text += " A reconstruction has to know what it attacks."
    chart = IntervalChart(
        title="Gains on both parts",
        caption="Bars are one standard deviation over the trials. A hidden half stops such an analyst: labels of "
        "private examples are in no answer. It does not stop the choice of the best of many honest models by their "
        "public score, some of which is luck.",
        x_label=GAIN,
        intervals=tuple(
            Interval(
                name=name,
                value=100 * gain,
                text=f"{points(gain)} points",
                interval=None if math.isnan(std) else (100 * (gain - std), 100 * (gain + std)),
                style=style,
            )
            for (name, gain, std), style in zip(rows, STYLES, strict=False)
        ),
        reference=0.0,
    )
    return Prose(text), chart


def curve_block(result: StressResult) -> Block:
    """Gain with error bars, forecast and bound; on log scales too where the bound does not fit otherwise."""
    run = result.run
    bound, theorem, forecast = _above(run, run.upper_bound), _above(run, run.theorem_bound), 100 * run.forecast_gain
    known = bool(np.isfinite(forecast).any())
    simulated = _gains(run, "simulated" if math.isnan(result.std) else "simulated, ±1 sd", joined=not known)
    top = max(v for v in (0.0, *simulated.y, *(simulated.high or ()), *forecast) if math.isfinite(v))
    top = top if top > FLAT else 1.0
    telling = bound[np.isfinite(bound)].tolist()
    fits = bool(telling) and max(telling) <= ROOM * top
    top = max(top, *telling) if fits else top
    seen = bool(telling) and min(telling) <= top

    def lines(*, bounded: bool) -> tuple[Series, ...]:
        """What was computed, and over it, last, what was simulated."""
        return (
            *([_computed("forecast", run, forecast, "b")] if known else []),
            _computed("upper bound", run, bound, "c", drawn=bounded, vacuous=bool((run.upper_bound >= 1).any())),
            _computed("Theorem 3.1", run, theorem, "d", drawn=False, vacuous=bool((run.theorem_bound >= 1).any())),
            simulated,
        )

    bars = "" if math.isnan(result.std) else f"; bars are one standard deviation over {counted(run.trials, 'trial')}"
    caption = f"Accuracy less the {percent(run.baseline, 2)} before any answer{bars}."
    caption += f" The forecast is {kind_of_forecast(run)}." if known else ""
    plain = LineChart(
        title="Gain against the number of answers",
        caption=f"{caption} {_bound_in_chart(result, seen=seen, fits=fits)}",
        x=Axis(label="answers", whole=True, range=(0.0, 1.03 * result.queries), spec=",.0f"),
        y=_gain_axis([*simulated.y, *(simulated.low or ()), top]),
        series=lines(bounded=seen),
    )
    if len(telling) < 2 or fits or not max(simulated.y) > 0:
        return plain
    log = LineChart(
        title="The same on log scales",
        caption="Here the whole bound has room.",
        x=Axis(label="answers", kind="log", whole=True, spec=",.0f"),
        y=_gain_axis([*simulated.y, *forecast, *telling], least=max(simulated.y) / DEPTH),
        series=lines(bounded=True),
        tabled=False,
    )
    return SideBySide(charts=(plain, log))


def _above(run: StressRun, bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """(c,) a bound in points above the baseline; NaN where it excludes nothing or is unknown."""
    return np.where(bound < 1, 100 * (bound - run.baseline), math.nan)


def _gains(run: StressRun, name: str, *, style: Style = "a", joined: bool = True) -> Series:
    """One run's gain in points with its error bars."""
    gain, std = 100 * run.advantage, 100 * run.std
    low, high = (tuple((gain + sign * std).tolist()) for sign in (-1, 1))
    x, y = tuple(run.queries.tolist()), tuple(gain.tolist())
    return Series(name=name, x=x, y=y, low=low, high=high, style=style, joined=joined, whiskers=True)


def _computed(
    name: str, run: StressRun, gain: NDArray[np.float64], style: Style, *, drawn: bool = True, vacuous: bool = False
) -> Series:
    """A computed curve: a line, or a marker where a single point is all there is."""
    lonely = bool(np.isfinite(gain).sum() == 1)
    x, y, missing = tuple(run.queries.tolist()), tuple(gain.tolist()), "vacuous" if vacuous else "not defined"
    return Series(name=name, x=x, y=y, style=style, markers=lonely, joined=not lonely, drawn=drawn, missing=missing)


def _gain_axis(values: Sequence[float], *, least: float = 0.0) -> Axis:
    """An axis of gains in points; a log one, from `least` on, where that is given."""
    shown = [v for v in values if math.isfinite(v)]
    if least > 0:
        low = max(least, min(v for v in shown if v > 0))
        return Axis(label=GAIN, kind="log", range=(low / 1.3, max(shown) * 1.3), spec="+.3f")
    low, high = min(0.0, *shown), max(0.0, *shown)
    pad = 0.06 * (high - low) if high - low > FLAT else 1.0
    return Axis(label=GAIN, range=(low - pad if low < 0 else 0.0, high + pad), spec="+.3f")


def _bound_in_chart(result: StressResult, *, seen: bool, fits: bool) -> str:
    """What the chart leaves out of the bound, and why."""
    run, last = result.run, last_telling(result.run)
    if np.isnan(run.upper_bound).all():
        return f"There is no upper bound in the chart: {no_bound(result)}."
    if last is None:
        first = counted(int(run.queries[0]), "answer")
        return f"There is no upper bound in the chart: it excludes nothing from the first stop on, {first}."
    gain = points(float(run.upper_bound[run.queries == last][0]) - run.baseline)
    text = f"{sure(result)}, no attack passes {gain} points at {counted(last, 'answer')}"
    if not fits:
        text += f"; the bound {'leaves this chart on the way there' if seen else 'is above this chart'}"
    if last != result.queries:
        text += "; at the next stop it excludes nothing any more"
    return f"{text[0].upper()}{text[1:]}."


def compared_blocks(
    own: StressRun, what: str, runs: Sequence[StressRun], names: Sequence[str], *, log: bool = False
) -> tuple[Block, ...]:
    """The same with one thing changed: curves on common axes, and how they end.

    `log` says whether a log scale of the gains would suit; it is used only if every run gains something in the end.
    """
    lines = [_gains(r, name, style=STYLES[i % 6]) for i, (r, name) in enumerate(zip(runs, names, strict=True))]
    log = log and all(s.y[-1] > 0 for s in lines)
    bars = any(r.trials > 1 for r in runs)
    caption = "Bars are one standard deviation over the trials. " if bars else ""
    caption += "Both scales are logarithmic; gains of 0 or less are not drawn." if log else ""
    values = [v for s in lines for v in (*s.y, *(() if log else (*(s.low or ()), *(s.high or ()))))]
    chart = LineChart(
        title=f"{what}: gain against the number of answers",
        caption=caption.strip(),
        x=Axis(label="answers", kind="log", whole=True, spec=",.0f"),
        y=_gain_axis(values, least=max(values) / DEPTH_COMPARED if log else 0.0),
        series=tuple(lines),
    )
    columns = {what: list(names)}
    if not same_answers(runs):
        columns["Answers"] = [f"{int(r.queries[-1]):,}" for r in runs]
    columns["Gain, points"] = [points(r.advantage[-1]) for r in runs]
    if bars:
        columns["sd"] = [_or_dash(r.std[-1], sign=False) for r in runs]
    if any(math.isfinite(r.forecast[-1]) for r in runs):
        columns["Forecast"] = [_or_dash(r.forecast_gain[-1]) for r in runs]
    mine = next((i for i, r in enumerate(runs) if r == own), None)
    cells = zip(*columns.values(), strict=True)
    table = Table.of("After all answers", tuple(columns), cells, chosen=mine, role="asked for")
    noticed = tuple(
        f"{name}: {note}" for r, name in zip(runs, names, strict=True) for note in r.notes if note not in own.notes
    )
    return (chart, table, *([Points(noticed)] if noticed else []))


def _or_dash(gain: float, *, sign: bool = True) -> str:
    return points(gain, sign=sign) if math.isfinite(gain) else "–"


def theory_sections(result: StressResult) -> Iterator[Section]:
    """What the theorems say: answers for a gain, the bounds side by side, the regime of section 4."""
    run, n = result.run, result.run.n_examples
    yield Section(title="What the theory says", blocks=())
    if result.reach:
        caption = "By the forecast for naive Bayes with exact answers and no prior"
        steps = [(f"+{100 * a:g}", f"{k:,}", f"{k / n:.3g}") for a, k in sorted(result.reach.items())]
        table = Table.of(caption, ("Gain, points", "Answers", "Answers per example"), steps)
        yield Section(title="How many answers bring how many points", blocks=(table,), level=3)
    tail = "Tail under the prior" if result.prior else "Exact binomial tail"
    bounds = [
        (tail, result.upper_bound, bound_reason(result)),
        ("Theorem 3.1", result.theorem_bound, "the same as printed in the paper"),
        ("Expectation form", result.expected_bound, "no attack passes it on average (after Remark 3.2)"),
    ]
    rows = [
        (name, bound_text(bound), points(bound - run.baseline) if bound < 1 else "–", says)
        for name, bound, says in bounds
        if not math.isnan(bound)
    ]
    if rows:
        says = "What it says"
        caption = f"Bounds on the accuracy after {counted(result.queries, 'answer')}"
        table = Table.of(caption, ("Bound", "Accuracy", "Gain, points", says), rows, words=(says,), minor=(says,))
        yield Section(title="What nobody can pass", blocks=(table,), level=3)
    without = (Prose("For an analyst without the prior."),) if result.prior else ()
    yield Section(title="The regime of section 4", blocks=(*without, Facts(regime(result))), level=3)
