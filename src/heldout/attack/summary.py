"""What a stress test says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from heldout import summary as page
from heldout.attack.public import PublicSplit
from heldout.attack.result import StressResult, StressRun

DEPTH = 1000  # a log axis shows no gain that is so many times smaller than the largest
ANSWERS = page.Axis(label="answers", kind="log", whole=True, spec=",.0f")
GAIN = page.Axis(label="gain, percentage points", spec="+.3f")
STYLES: tuple[page.Style, ...] = get_args(page.Style)
Floats = NDArray[np.float64]

TITLES = {
    "nb": "naive Bayes",
    "majority": "majority vote",
    "plurality": "plurality above 1 sd",
    "linear-scan": "linear scan",
    "reconstruction": "reconstruction",
}
HOW = {
    "nb": "The analyst submits random labels and weighs each submission by its score.",
    "majority": "The analyst submits random labels; those above chance vote for their labels, the others against.",
    "plurality": "The analyst submits random labels, and those that scored one standard deviation above the mean vote.",
    "linear-scan": "The analyst changes one label at a time and keeps what raises the score.",
    "reconstruction": "The analyst submits random labels and searches for the labels that fit all scores.",
}
COMPUTED = {"linear-scan": "computed", "reconstruction": "if all attacked labels come back"}
LOST = "A loss means that the guess it starts from is better than what comes out."
NOTES = {
    "refuted": "The labels refute the prior: its best guess, which it expects to be right on {expected:.4f} of the "
    "examples, is right on {right:.4f}, or another rank is right too often. The upper bound, which rests on the prior, "
    "is not given.",
    "commonest": "The commonest label alone is right on {share:.4f} of the examples: who knows that needs no answer, "
    "and is not held by the upper bound. Give a prior that knows it.",
    "scan_better": "With so many exact answers for so few labels a linear scan does better: {accuracy:.4f} on average "
    "(--attack linear-scan).",
    "unseen_step": "A single label moves the accuracy by {step:g}, which answers of {answers} do not show: a linear "
    "scan then takes right labels for wrong ones.",
    "reconstructed": "In {solved} of {trials} trials all {points:,} labels came back for certain: no other labelling "
    "fits the answers. Where they did not, they are those of naive Bayes. The forecast is the accuracy where they do.",
    "bayes_better": "Naive Bayes on all examples gains more here: {accuracy:.4f} by its forecast (--attack nb).",
}
LIMITS = (
    "It accuses nobody: the analyst is simulated and does nothing but game the score. A gain is not skill.",
    "Hiding the examples is no protection. The attack sees only scores and what its prior knows; only a linear scan "
    "and a reconstruction have to tell examples apart, for instance by a number.",
    "It is one attack, not the worst case. With exact answers to random submissions nothing that decides each example "
    "for itself beats naive Bayes on all of them (Theorem 4.2). Only the upper bound is for all attacks, also those "
    "nobody has thought of and those that choose each question by the answers so far.",
    "The upper bound holds only if labels are as likely as the prior says or, without one, all equally likely. Whoever "
    "knows more, from a model, the examples or how common a class is, starts higher and may pass it.",
    "A forecast of first order may be far off for small test sets and few answers.",
)
PUBLIC = (
    "All numbers but those of the two parts are of an analyst who attacks the public examples alone. One who does not "
    "know them asks about all: on the private part its votes are noise, and lose where they replace a better guess.",
    "A hidden half stops such an analyst: labels of private examples are in no answer. It does not stop the choice of "
    "the best of many honest models by their public score, some of which is luck.",
)
DESCRIBED = "Numbers that do not name the private part describe the public part: {:,} of {:,} examples."
STEPS = (
    "Hold back digits: nobody needs more of them than the error bar of a score allows. Alone that may not be enough.",
    "Limit the number of answers, over all submitters together: who may open a second account has no limit.",
    "Use more examples: the same answers then give away less. Gain on four times as many, in points: {} (forecast).",
    "When the answers are used up, take a fresh set, or keep a second one from the start on which nothing is reported.",
)
REPEAT = "Repeat the simulation (--trials): a single trial says nothing about its spread."
BARS = "Bars are one standard deviation over the trials, where there are several."
REGIME = {  # section 4 of the paper
    "Theorem 4.3": "Naive Bayes gains at least in proportion to √(k/n)/m, here {rate:.4f}, from about ln n + m ln m = "
    "{k_min:,.0f} answers up to one per example (constants unknown). Applies here: {theorem_4_3_applies}.",
    "Theorem 4.5": "Labels that random queries settle exactly, with probability at least one half, given three classes "
    "or more: {reconstructable:,.0f} (queries for them: {theorem_4_5_queries}; accuracy with guesses for the rest: "
    "{corollary_4_6_accuracy:.4f}). Finding them is another matter.",
    "Corollary 4.6": "From 40 m ln m = {enough:,.0f} answers on there is an attack whose gain grows as "
    "k ln(k/m)/(n ln m), faster than naive Bayes. It has to tell the examples apart, and its search is out of reach "
    "for large sets. Applies here: {corollary_4_6_applies}.",
}
METHOD = (
    "V. Feldman, R. Frostig, M. Hardt (2019), “The advantages of multiple classes for reducing overfitting from test "
    "set reuse”, ICML 2019, <https://arxiv.org/abs/1905.10360>. Majority vote: A. Blum, M. Hardt (2015)."
)


def summarise(result: StressResult) -> page.Summary:
    """What the result says."""
    run, split, numbers = result.run, result.public, _numbers(result)
    n = run.n_examples if split is None else split.n_public + split.n_private
    size = f"{n:,} examples, {run.n_classes:,} classes"
    start = "starts from prior knowledge of the labels, " if result.prior else ""
    return page.Summary(
        kind="Stress test",
        headline=_headline(result),
        sentences=(
            f"The analyst is simulated: it {start}asks for {_answers(run, 'answers')} and nothing else, and learns "
            "nothing that would help on fresh data.",
            *(() if split is None else (DESCRIBED.format(split.n_public, n),)),
        ),
        subject=size if result.source == size else f"{result.source}: {size}",
        figures=page.figures(*((name, page.percent(value, 2), note) for name, value, note in numbers), strong=1),
        lines=(*((name, f"{page.fixed(value)} ({note})") for name, value, note in numbers), *_lines(result)),
        sections=tuple(_sections(result)),
        origin=page.origin(result),
        method=METHOD,
    )


def points(gain: float, *, sign: bool = True) -> str:
    """Percentage points without the word; a third digit where two would say little.

    Examples
    --------
    >>> points(0.0304), points(0.00042, sign=False), points(-0.0002), points(math.nan), points(-1e-9)
    ('+3.04', '0.042', '−0.020', 'not defined', '0.000')
    """
    return page.fixed(100 * gain, 2 if abs(gain) >= 0.001 else 3, sign=sign)


def _title(run: StressRun) -> str:
    """The attack in a word or two."""
    return ("parked " if run.parked else "") + TITLES[run.attack]


def _answers(run: StressRun, count: str, exact: str = "exact ") -> str:
    """So many answers, and of what kind."""
    if run.answers == "exact":
        return f"{exact}{count}"
    return f"{count} of {run.answers}" if run.digits else f"{count} by {page.quoted(run.answers)}"


def _headline(result: StressResult) -> str:
    run, gain = result.run, 100 * result.advantage
    size = page.fixed(abs(gain), 1 if abs(gain) >= 0.1 else 2)
    who = "this analyst" if run.attack == "nb" else f"this analyst ({_title(run)})"
    part, aside = "", ""
    if (split := result.public) is not None:
        error = f" ± {page.fixed(100 * split.std_private / math.sqrt(run.trials), 1)}" if run.trials > 1 else ""
        other = f" (private, not known: {page.fixed(100 * split.gain_private, 1, sign=True)}{error})"
        part, aside = " on the public part", other if len(split.private) else ""
    answers = _answers(run, page.counted(result.queries, "answer"), exact="")
    return f"After {answers} {who} {'loses' if _lost(result) else 'gains'} {size} points{part}{aside}"


def _lost(result: StressResult) -> bool:
    return points(result.advantage).startswith("−")


def _numbers(result: StressResult) -> tuple[tuple[str, float, str], ...]:
    """The key numbers: name, value, and what it rests on."""
    run, forecast = result.run, "not available for this attack and these answers"
    if math.isfinite(result.forecast):
        kind = COMPUTED.get(run.attack, "computed, to first order")
        forecast = f"{kind}; simulated less forecast: {points(result.accuracy - result.forecast)} points"
    spread = f"sd {points(result.std, sign=False)} over {page.counted(run.trials, 'trial')}"
    before = "the best guess of the prior" if result.prior else f"a guess among {run.n_classes:,} classes"
    return (
        ("Accuracy before", run.baseline, before),
        ("Accuracy after", result.accuracy, f"{points(result.advantage)} points, {spread}"),
        ("Forecast", result.forecast, forecast),
        ("Upper bound", result.upper_bound, _bound(result)),
    )


def _bound(result: StressResult) -> str:
    """What the upper bound says, or why it says nothing."""
    run = result.run
    if math.isnan(result.upper_bound):
        countable = run.answers == "exact" or run.digits is not None
        return "the labels refute the prior" if countable else "the answers of this mechanism cannot be counted"
    if run.vacuous:
        return f"vacuous: it excludes nothing at {page.counted(result.queries, 'such answer')}"
    condition = "the prior is right" if result.prior else "all labels are equally likely"
    return f"no attack passes it, with probability {page.sure_text(result.delta)}, if {condition}"


def _lines(result: StressResult) -> Iterator[tuple[str, str]]:
    """The other numbers that are printed."""
    yield "Published bound", f"{page.fixed(result.theorem_bound)} (Theorem 3.1, without a prior; 1 excludes nothing)"
    if result.reach:
        steps = ", ".join(f"{k:,} for +{100 * gain:g}" for gain, k in result.reach.items())
        yield "Answers needed", f"{steps} points (forecast, exact answers)"
    for _, what, runs in _comparisons(result):
        if runs:
            others = ", ".join(f"{name} {points(r.advantage[-1])}" for name, r in runs.items() if r != result.run)
            yield f"Other {what}", f"{others} points"


def _comparisons(result: StressResult) -> tuple[tuple[str, str, dict[str, StressRun]], ...]:
    """The same with one thing changed: a title, what that is, and every run by its name."""
    return (
        ("How the number of classes matters", "classes", {f"{r.n_classes:,} classes": r for r in result.by_classes}),
        ("Attack against attack", "attacks", {_title(r): r for r in result.by_attack}),
        ("Answers with fewer digits", "answers", {page.quoted(r.answers): r for r in result.by_digits}),
    )


def _sections(result: StressResult) -> Iterator[page.Section]:
    run, split = result.run, result.public
    steps = tuple(step.format(points(result.gain_on_fourfold)) for step in STEPS)
    yield page.Section.of("What this means", page.Points.of((True, HOW[run.attack]), (_lost(result), LOST)))
    yield page.Section.of("What it does not mean", page.Points((*LIMITS, *(PUBLIC if split else ()))))
    yield page.Section.of("What to do next", page.Points((*steps, *([REPEAT] if run.trials == 1 else []))))
    if split is not None:
        yield page.Section.of("A public and a private part", *_parts(result, split), printed=True)
    yield page.Section.of("What the answers give away", _curve(result))
    for title, what, runs in _comparisons(result):
        if runs:
            yield page.Section.of(title, *_compared(run, what.capitalize(), runs))
    yield from _theory(result)
    yield page.Section.of("What went in", page.Facts(_facts(result)), printed=True)
    if run.notes:
        yield page.Section.of("Noticed on the way", page.Points(run.notes), level=3, printed=True)


def _facts(result: StressResult) -> page.Rows:
    """What went in."""
    run = result.run
    chosen = " (chosen by forecast, without labels)" if run.chosen else ""
    where = f"{run.points:,} of {run.n_examples:,} examples, {run.top or run.n_classes:,} of {run.n_classes:,} labels"
    moves = "answering some examples wrongly on purpose" if result.prior else "keeping labels fixed at some examples"
    asked = f"k = {result.queries:,} {_answers(run, 'answers')}"
    missing = [f"other {what}" for _, what, runs in _comparisons(result) if not runs]
    missing += [] if result.reach else ["answers needed for a gain, as their forecast takes no prior"]
    parked = f"on a rounding edge, by {moves}, so that scores lie where the rounding changes"
    return page.kept_facts(
        ("Test set", f"n = {page.counted(run.n_examples, 'example')}, m = {run.n_classes:,} classes"),
        ("Labels", result.labels if result.prior else f"{result.labels}, each equally likely to the analyst"),
        ("Prior", result.prior),
        ("Attack", f"{_title(run)} on {where} at each{chosen}"),
        ("Parked", parked if run.parked else None),
        ("Simulation", f"{asked}, {page.counted(run.trials, 'trial')}, delta = {result.delta:g}"),
        ("Not computed", ", ".join(missing)),
    )


def _parts(result: StressResult, split: PublicSplit) -> Iterator[page.Block]:
    """What is gained on both parts, and what transfers."""
    gains = (
        ("Public, known", split.n_public, result.advantage, result.std),
        ("Public, not known", split.n_public, split.gain_public, split.std_public),
        ("Private, not known", split.n_private, split.gain_private, split.std_private),
    )
    rows = [
        (name, f"{n:,}", points(gain), *(points(e, sign=False) for e in (std, std / math.sqrt(result.run.trials))))
        for name, n, gain, std in gains
        if math.isfinite(gain)
    ]
    share, error = page.percent(split.transfers), page.percent(split.transfers_error)
    caption = "Gains in points, with standard deviation and error, by an analyst who knows the public part or not"
    yield page.Table.of(caption, ("Part", "Examples", "Gain", "sd", "se"), rows)
    yield page.Facts.of(
        ("Share that transfers", f"{share} (standard error {error})"),
        ("Rounded answers", "taken at face value where the part is not known" if split.face_value else None),
        ("Not known", None if len(split.public) else "not simulated: a reconstruction has to know what it attacks"),
    )


def _curve(result: StressResult) -> page.LineChart:
    """What the answers give away, after each number of them, with forecast and bounds."""
    run, drawn = result.run, result.advantage > 0  # bounds are far above what is hardly a gain
    series = [_computed("forecast", run, run.forecast_gain, "b")]
    bounds = {"upper bound": run.upper_bound, "published bound": run.theorem_bound}
    for (name, bound), style in zip(bounds.items(), STYLES[2:], strict=False):
        missing = "vacuous" if (bound >= 1).any() else page.NOT_DEFINED
        gain = np.where(bound < 1, bound - run.baseline, math.nan)
        series.append(_computed(name, run, gain, style, drawn=drawn, missing=missing))
    series.append(_gains(run, "simulated", joined=bool(np.isnan(run.forecast).all())))
    caption = f"Accuracy less that before any answer. {BARS} Bounds are drawn where they exclude something."
    return _chart("Gain against the number of answers", caption, series)


def _computed(name: str, run: StressRun, gain: Floats, style: page.Style, *, drawn: bool = True,
              missing: str = page.NOT_DEFINED) -> page.Series:  # fmt: skip
    """A computed curve: a line, or a marker where a single point is all there is."""
    x, y, known = tuple(run.queries.tolist()), tuple((100 * gain).tolist()), int(np.isfinite(gain).sum())
    drawn = drawn and known > 0
    return page.Series(name=name, x=x, y=y, style=style, markers=known == 1, drawn=drawn, missing=missing)


def _gains(run: StressRun, name: str, *, style: page.Style = "a", joined: bool = True) -> page.Series:
    """One run's gain in points with its error bars."""
    gain, std = np.round(100 * run.advantage, 9), 100 * run.std  # 0 up to rounding is 0
    x, y, low, high = (tuple(v.tolist()) for v in (run.queries, gain, gain - std, gain + std))
    return page.Series(name=name, x=x, y=y, low=low, high=high, style=style, joined=joined, whiskers=True)


def _chart(title: str, caption: str, series: list[page.Series]) -> page.LineChart:
    """Gains, on a log scale where all simulated ones are above 0 in the end."""
    y, shown, log = GAIN, [v for s in series for v in s.y if v > 0], all(s.y[-1] > 0 for s in series if s.whiskers)
    if log:
        y = replace(GAIN, kind="log", range=(max(max(shown) / DEPTH, min(shown)) / 1.3, max(shown) * 1.3))
        caption += " Gains of 0 or less are not drawn."
    reference = None if log else (0.0, "no gain")
    return page.LineChart(title=title, caption=caption, x=ANSWERS, y=y, series=tuple(series), reference=reference)


def _compared(own: StressRun, what: str, runs: dict[str, StressRun]) -> Iterator[page.Block]:
    """Curves on common axes, and how they end."""
    lines = [_gains(r, name, style=STYLES[i % 6]) for i, (name, r) in enumerate(runs.items())]
    yield _chart(f"{what}: gain against the number of answers", BARS, lines)
    rows = [
        (name, points(r.advantage[-1]), points(r.std[-1], sign=False), points(r.forecast_gain[-1]))
        for name, r in runs.items()
    ]
    columns, chosen = (what, "Gain, points", "sd", "Forecast"), list(runs.values()).index(own)
    yield page.Table.of("After all answers", columns, rows, chosen=chosen, role="asked for")
    if noticed := tuple(f"{name}: {note}" for name, r in runs.items() for note in r.notes if note not in own.notes):
        yield page.Points(noticed)


def _theory(result: StressResult) -> Iterator[page.Section]:
    """What the theorems say: answers for a gain, the bounds side by side, the regime of section 4."""
    run = result.run
    yield page.Section.of("What the theory says")
    if result.reach:
        caption = "By the forecast for naive Bayes with exact answers and no prior"
        steps = [(f"+{100 * a:g}", f"{n:,}", f"{n / run.n_examples:.3g}") for a, n in sorted(result.reach.items())]
        table = page.Table.of(caption, ("Gain, points", "Answers", "Answers per example"), steps)
        yield page.Section.of("How many answers bring how many points", table, level=3)
    says, after = "What it says", page.counted(result.queries, "answer")
    caption = f"Bounds on the accuracy after {after}; 100{page.PERCENT} excludes nothing"
    bounds = (
        ("Tail under the prior" if result.prior else "Exact binomial tail", result.upper_bound, _bound(result)),
        ("Published bound", result.theorem_bound, "Theorem 3.1 as printed in the paper, without a prior"),
        ("Expectation form", result.expected_bound, "on average, for exact answers without a prior (Remark 3.2)"),
    )
    rows = [(name, page.percent(bound, 2), points(bound - run.baseline), told) for name, bound, told in bounds]
    table = page.Table.of(caption, ("Bound", "Accuracy", "Gain, points", says), rows, words=(says,), minor=(says,))
    yield page.Section.of("What nobody can pass", table, level=3)
    known = {key: ("no", "yes")[int(v)] if key.endswith("applies") else v for key, v in result.regime.items()}
    known["theorem_4_5_queries"] = page.fixed(np.ceil(result.regime["theorem_4_5_queries"]), 0)
    enough = 40 * run.n_classes * math.log(run.n_classes)
    facts = tuple((name, text.format(**known, enough=enough)) for name, text in REGIME.items())
    without = "For an analyst without the prior." if result.prior else None
    yield page.Section.of("The regime of section 4", without, page.Facts(facts), level=3)
