"""What a report says about one audit, as plain data; the template only lays it out."""

from __future__ import annotations

import base64
import io
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from heldout.independence.evidence import CONFIDENCE, error_interval, subset_curve
from heldout.independence.result import AuditResult, Exhibit, pvalue_text
from heldout.report import svg
from heldout.report.numbers import (
    NOT_DEFINED,
    PERCENT,
    effect_text,
    fixed,
    p_text,
    pair,
    percent,
    scientific,
    verdict_p_text,
    verdict_sentence,
    verdict_word,
    why_undetectable,
)
from heldout.statistics.power import LEVEL, POWER

PICTURE_SIDE = 112  # pixels; bounds the page: 24 pictures of noise take 1.2 MB
N_SIZES, N_SUBSETS = 7, 20
SUBSET_EXAMPLES = 200_000  # bounds the work of the curve on large test sets
MAX_GROUP_SIZES = 4
MAX_MODELS_OPEN, MAX_MODELS = 12, 200  # rows of the table of models: unfolded, and in all
FIRST_EXHIBITS = 6
MANY = 5000  # examples from which on a tenth of a percent is too coarse
LN10 = math.log(10.0)
CONFIDENCE_TEXT = f"{100 * CONFIDENCE:g}{PERCENT}"
FOUND_TEXT = f"level {LEVEL:g}, power {POWER:g}"

RULES = {
    "strongest": "strongest: the move that makes the model most wrong",
    "nearest": "nearest: the shortest move that makes the model wrong",
    "random": "random: the average over all moves",
    "random2": "random2: the average over all moves and staying put",
}


def summarise(result: AuditResult) -> dict[str, Any]:
    """Everything the template shows, in the order it is shown."""
    return {
        "verdict": _verdict(result),
        "facts": _facts(result),
        "errors": _errors(result),
        "control": _control(result),
        "curve": _curve(result),
        "exhibits": _exhibits(result),
        "statistics": _statistics(result),
        "groups": _groups(result),
        "models": _model_table(result),
        "variance": _variance(result),
        "p_values": _p_values(result),
        "means": _means(result),
        "not_means": _not_means(result),
        "next": _next(result),
        "origin": _origin(result),
    }


def _found(result: AuditResult) -> bool:
    return result.evidence.log_p_value <= math.log(LEVEL)


def _models(result: AuditResult, *, capital: bool = False) -> str:
    text = "the model" if result.n_models == 1 else f"the {result.n_models} models"
    return text[0].upper() + text[1:] if capital else text


def _side(result: AuditResult) -> str:
    return "one-sided" if result.alternative == "greater" else "two-sided"


def _verdict(result: AuditResult) -> dict[str, Any]:
    e, control, found = result.evidence, result.evidence.control, _found(result)
    if not found:
        headline = "No evidence against independence"
    elif control is not None:
        headline = "Not independent of the test set"
    else:
        headline = "Cannot tell which fails: independence or neutral shifts"
    method = (
        "twice the smaller of two permutation p-values of test against control"
        if control is not None
        else f"betting test that mean T is zero, {_side(result)}"
    )
    why = why_undetectable(result)
    what = "difference of T between test and control" if control is not None else "mean T"
    would = f"a true {what} this large would have been found ({FOUND_TEXT}); a plug-in estimate from these data"
    p = (
        "p-value",
        verdict_p_text(result),
        f"{method}; {'at most' if found else 'above'} the level of {LEVEL:g}",
    )
    # What was found stands large where something was; what could have been found where nothing was.
    small = f"Detectable effect {effect_text(result)}: {f'because {why}' if why else would}."
    sides: list[tuple[str, str]] = []
    numbers = [p]
    if not found:
        numbers.append(("Detectable effect", effect_text(result), f"because {why}" if why else would))
        small = ""
    elif control is not None and result.control is not None:
        digits = 1 if min(len(result.test), len(result.control)) < MANY else 2
        sides = [
            ("Error on the test set", percent(e.test_error, digits)),
            ("Error on the control", percent(float(result.control.losses.mean()), digits)),
        ]
    else:
        low_high = "harder" if e.statistic > 0 else "easier"
        numbers.insert(
            0,
            (
                "Mean T",
                fixed(e.statistic, sign=True),
                f"the moved pictures, properly weighted, are {low_high} by this much",
            ),
        )
    return {
        "word": verdict_word(result),
        "headline": headline,
        "found": found,
        "sentence": verdict_sentence(result),
        "subject": _subject(result),
        "p": verdict_p_text(result),
        "sides": sides,
        "numbers": [{"name": a, "value": b, "note": c} for a, b, c in numbers],
        "small": small,
    }


def _subject(result: AuditResult) -> str:
    """What was audited, in one line."""
    control = f" and {len(result.control):,} control" if result.control is not None else ""
    return f"{_names(result.model_names, 3)}: {len(result.test):,} test{control} examples"


def _pixels(result: AuditResult) -> str:
    return f"{result.orbit.radius} {'pixel' if result.orbit.radius == 1 else 'pixels'}"


def _facts(result: AuditResult) -> list[tuple[str, str]]:
    n, models = len(result.test), result.n_models
    facts = [
        ("Model", _names(result.model_names)) if models == 1
        else (f"Models ({models})", f"{_names(result.model_names)}; averaged: trainings of one architecture"),
        ("Test examples", f"n = {n:,}"),
        ("Control", f"{len(result.control):,} examples" if result.control is not None else "none"),
        ("Moves", f"{_kind_of_moves(result)}, radius {result.orbit.radius}: {len(result.orbit)} moves of up to "
                  f"{_pixels(result)} down, up, left and right"),
        ("Rule", RULES[result.rule]),
        ("Alternative", "overfitting only (one-sided), declared beforehand" if result.alternative == "greater"
         else "two-sided"),
    ]  # fmt: skip
    if result.tolerance:
        facts.append(("Tolerance", f"shifts may cost up to {result.tolerance:g} on average"))
    return facts


def _kind_of_moves(result: AuditResult) -> str:
    name, frame = result.orbit.name, result.preprocessing.get("frame")
    if frame == "wrap":
        return f"cyclic {name} (what leaves on one side comes in on the other)"
    return f"crop {name} (a window moved over a larger picture)" if frame == "crop" else name


def _names(names: Sequence[str], most: int = 12) -> str:
    """Every name once, with how often it comes; trainings of one function share theirs."""
    counts = Counter(names)
    texts = [name if k == 1 else f"{name} (× {k})" for name, k in counts.items()]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _errors(result: AuditResult) -> dict[str, Any]:
    e = result.evidence

    def row(name: str, value: float, interval: tuple[float, float] | None, style: svg.Style) -> svg.Row:
        text = fixed(value) + (f"  ({pair(interval)})" if interval else "")
        return svg.Row(name=name, value=value, text=text, interval=interval, style=style)

    rows = [
        row("Test error R_S", e.test_error, e.intervals["test_error"], "a"),
        row("Adversarial estimate R_g", e.adversarial_estimate, e.intervals["adversarial_estimate"], "b"),
    ]
    if result.control is not None:
        losses = result.control.losses.mean(axis=0)
        rows.append(row("Control error", float(losses.mean()), error_interval(losses), "c"))
    rows.append(row("Adversarial error, unweighted", e.adversarial_error, None, "d"))
    success = result.test.attack_success
    return {
        "chart": svg.interval_chart(
            rows,
            label="; ".join(f"{r.name} {r.text}" for r in rows),
            x_label=f"error rate, with {CONFIDENCE_TEXT} intervals",
            floor=0.0,
        ),
        "statistic": fixed(e.statistic, 5, sign=True),
        "exact": result.n_models == 1,
        "confidence": CONFIDENCE_TEXT,
        "success": f"{percent(success)} of the examples that {_models(result)} had right"
        if math.isfinite(success)
        else None,
        "averaged": result.rule in ("random", "random2"),
        "adversarial_error": fixed(e.adversarial_error),
    }


def _control(result: AuditResult) -> dict[str, Any] | None:
    c = result.evidence.control
    if c is None or result.control is None:
        return None
    low, high = c.error_rate.interval
    differences: dict[str, tuple[float, tuple[float, float] | None]] = {
        "T": (c.statistic.difference, c.statistic.interval if c.statistic.standard_error > 0 else None),
        "error": (-c.error_rate.difference, (-high, -low) if c.error_rate.standard_error > 0 else None),
    }
    values = {name: fixed(value, 5, sign=True) for name, (value, _) in differences.items()}
    # Without any spread the normal interval has width 0, which would claim a certainty nobody has.
    intervals = {
        name: pair(interval, 5, sign=True) if interval else f"{NOT_DEFINED}: no spread"
        for name, (_, interval) in differences.items()
    }
    styles: dict[str, svg.Style] = {"T": "b", "error": "a"}
    names = {"T": "T", "error": "Error rate"}
    rows = [
        svg.Row(
            name=f"{names[name]}, within class",
            value=value,
            interval=interval,
            text=f"{values[name]}  ({intervals[name]})",
            style=styles[name],
        )
        for name, (value, interval) in differences.items()
    ]
    p_t, p_error = p_text(c.statistic.p_value), p_text(c.error_rate.p_value)
    invariance = pvalue_text(c.invariance_log_p_value)
    smallest = min(1.0, 2 / (c.statistic.n_resamples + 1))
    return {
        "chart": svg.interval_chart(
            rows,
            label="Test minus control: " + "; ".join(f"{r.name} {r.text}" for r in rows),
            x_label=f"test minus control, with 95{PERCENT} intervals",
            reference=0.0,
        ),
        "rows": [
            {
                "name": "T, within class",
                "difference": values["T"],
                "interval": intervals["T"],
                "two_sided": p_text(c.statistic.p_two_sided),
                "greater": p_text(c.statistic.p_greater),
                "meaning": "Moves hurt more on the test set than on fresh data where this is positive: "
                "the model fits the test pictures as they stand.",
            },
            {
                "name": "Error rate, within class",
                "difference": values["error"],
                "interval": intervals["error"],
                "two_sided": p_text(c.error_rate.p_two_sided),
                "greater": p_text(c.error_rate.p_greater),
                "meaning": "The test set is easier than fresh data where this is negative; "
                "the stronger of the two for gross leaks.",
            },
        ],
        "verdict": f"2 × min({p_t}, {p_error}) = {p_text(c.p_value)}"
        if 2 * min(c.statistic.p_value, c.error_rate.p_value) <= 1
        else f"2 × min({p_t}, {p_error}), capped at 1, = {p_text(c.p_value)}",
        "side": _side(result),
        "floor": f"{c.statistic.n_resamples:,} permutations within class: "
        f"no verdict below {p_text(smallest)} is possible.",
        "invariance": invariance,
        "invariance_meaning": "small, so shifting alone moves T: without a control that would have looked like "
        "overfitting"
        if c.invariance_log_p_value <= math.log(LEVEL)
        else "not small, so nothing shows that shifting alone moves T, which is not to say that it does not",
        "unmatched": f"{c.statistic.n_unmatched:,} examples of classes that only one of the two sets has were left out."
        if c.statistic.n_unmatched
        else None,
        "n": f"{len(result.control):,}",
        "plain": _plain(result),
    }


def _plain(result: AuditResult) -> list[dict[str, str]]:
    """Means over all examples, whatever their class."""
    assert result.control is not None
    e, control = result.evidence, result.control
    pairs = [
        ("Error rate", e.test_error, float(control.losses.mean()), 4, False),
        ("Mean T", e.statistic, float(control.T.mean()), 5, True),
    ]
    return [
        {
            "name": name,
            "test": fixed(a, digits, sign=sign),
            "control": fixed(b, digits, sign=sign),
            "difference": fixed(a - b, digits, sign=True),
        }
        for name, a, b, digits, sign in pairs
    ]


def curve_sizes(n: int) -> list[int]:
    """About seven sample sizes in even ratios up to n.

    Examples
    --------
    >>> curve_sizes(10_000)
    [250, 462, 855, 1581, 2924, 5407, 10000]
    >>> curve_sizes(7)
    [7]
    """
    first = min(n, max(20, n // 40))
    return sorted({round(size) for size in np.geomspace(first, n, N_SIZES)})


def _curve(result: AuditResult) -> dict[str, Any]:
    n = len(result.test)
    lower, upper = result.orbit.statistic_range(result.rule)
    n_subsets = max(4, min(N_SUBSETS, SUBSET_EXAMPLES // n))
    rows = subset_curve(
        result.test, sizes=curve_sizes(n), n_subsets=n_subsets, lower=lower, upper=upper,
        alternative=result.alternative, tolerance=result.tolerance, rng=np.random.default_rng(result.seed),
    )  # fmt: skip
    sizes = [row["size"] for row in rows]
    p_series, table = [], [[f"{size:,}"] for size in sizes]
    p_styles: tuple[tuple[str, str, svg.Style], ...] = (
        ("betting", "betting", "a"),
        ("bernstein", "Bernstein (v1)", "b"),
    )
    for method, name, style in p_styles:
        logs = [np.array(row[method]) for row in rows]
        means = [min(0.0, float(logsumexp(v)) - math.log(len(v))) for v in logs]
        p_series.append(
            svg.Series(
                name=name,
                x=sizes,
                y=[m / LN10 for m in means],
                low=[float(v.min()) / LN10 for v in logs],
                high=[float(v.max()) / LN10 for v in logs],
                hover=[f"{name}, n = {s:,}: mean p = {pvalue_text(m)}" for s, m in zip(sizes, means, strict=True)],
                style=style,
            )
        )
        for cells, mean in zip(table, means, strict=True):
            cells.append(pvalue_text(mean))
    error_series = []
    e_styles: tuple[tuple[str, str, svg.Style], ...] = (
        ("test_error", "test error R_S", "a"),
        ("adversarial_estimate", "adversarial estimate R_g", "b"),
    )
    for key, name, style in e_styles:
        intervals = [(row[f"{key}_interval"][0], row[f"{key}_interval"][1]) for row in rows]
        error_series.append(
            svg.Series(
                name=name,
                x=sizes,
                y=[row[key] for row in rows],
                low=[a for a, _ in intervals],
                high=[b for _, b in intervals],
                hover=[
                    f"{name}, n = {row['size']:,}: {fixed(row[key])} ({pair(i)})"
                    for row, i in zip(rows, intervals, strict=True)
                ],
                style=style,
            )
        )
        for cells, row, interval in zip(table, rows, intervals, strict=True):
            cells.append(f"{fixed(row[key])} ({pair(interval)})")
    at_end = ", ".join(f"{s.name} {table[-1][i + 1]}" for i, s in enumerate(p_series))
    return {
        "p": svg.line_chart(
            p_series,
            label=f"p-value against sample size from {sizes[0]:,} to {n:,}; at {n:,}: {at_end}",
            x_label="sample size (log scale)",
            y_label="p (log scale)",
            x_log=True,
            y_decades=True,
            reference=(math.log10(LEVEL), f"{LEVEL:g}"),
        ),
        "errors": svg.line_chart(
            error_series,
            label=f"Both error estimates against sample size; at {n:,}: R_S {table[-1][3]}, R_g {table[-1][4]}",
            x_label="sample size (log scale)",
            y_label="error rate",
            x_log=True,
        ),
        "n_subsets": n_subsets,
        "confidence": CONFIDENCE_TEXT,
        "columns": ["n", "mean betting p", "mean Bernstein p", "test error R_S", "adversarial estimate R_g"],
        "table": table,
        "has_control": result.evidence.control is not None,
        "n": f"{n:,}",
    }


def _exhibits(result: AuditResult) -> dict[str, Any]:
    if not result.exhibits:
        why = (
            f"the rule “{result.rule}” averages over moves and chooses none"
            if result.rule in ("random", "random2")
            else "no picture that was right became wrong when moved"
        )
    else:
        why = ""
    items = [_exhibit(x, result.class_names) for x in result.exhibits]
    return {
        "first": items[:FIRST_EXHIBITS],
        "more": items[FIRST_EXHIBITS:],
        "why_none": why,
        "model": result.model_names[0] if result.n_models > 1 else None,
    }


def _exhibit(exhibit: Exhibit, names: tuple[str, ...] | None) -> dict[str, Any]:
    label = class_text(exhibit.label, names)
    before, after = class_text(exhibit.predicted, names), class_text(exhibit.moved_predicted, names)
    move = move_text(exhibit.move)
    return {
        "id": exhibit.id,
        "label": label,
        "before": before,
        "after": after,
        "move": move,
        "weight": fixed(exhibit.weight, 3),
        "original": picture_uri(exhibit.original),
        "moved": picture_uri(exhibit.moved),
        "small": max(exhibit.original.shape[:2]) < PICTURE_SIDE,
    }


def class_text(number: int, names: Sequence[str] | None) -> str:
    """A class by name where it has one.

    Examples
    --------
    >>> class_text(1, ("cat", "dog")), class_text(7, ("cat", "dog")), class_text(0, None)
    ('dog', 'class 7', 'class 0')
    """
    return names[number] if names is not None and 0 <= number < len(names) else f"class {number}"


def move_text(move: tuple[int, int]) -> str:
    """A move (down, right) in words.

    Examples
    --------
    >>> move_text((3, 1)), move_text((-2, 0)), move_text((0, -1)), move_text((0, 0))
    ('3 down, 1 right', '2 up', '1 left', 'not moved')
    """
    down, right = move
    words = [f"{abs(down)} {'down' if down > 0 else 'up'}"] if down else []
    words += [f"{abs(right)} {'right' if right > 0 else 'left'}"] if right else []
    return ", ".join(words) or "not moved"


def picture_uri(pixels: NDArray[np.uint8]) -> str:
    """A (height, width, channels) picture as a PNG inside a data URI, never above `PICTURE_SIDE`."""
    from PIL import Image

    array = np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[:, :, None])
    image = Image.fromarray(array[:, :, :3] if array.shape[2] >= 3 else array[:, :, 0])
    image.thumbnail((PICTURE_SIDE, PICTURE_SIDE), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _statistics(result: AuditResult) -> dict[str, Any]:
    values = result.T
    nonzero = values[values != 0]
    lower, upper = result.orbit.statistic_range(result.rule)
    chart = None
    if len(nonzero):
        # 0 is an edge, so that no bar mixes signs.
        width = (upper - lower) / 30
        below, above = math.ceil(-lower / width - 1e-9), math.ceil(upper / width - 1e-9)
        edges = [i * width for i in range(-below, above + 1)]
        counts, _ = np.histogram(nonzero, bins=np.array(edges))
        styles: list[svg.Style] = ["a" if edge < -width / 2 else "b" for edge in edges[:-1]]
        chart = svg.histogram(
            edges,
            [int(c) for c in counts],
            label=f"Histogram of the {len(nonzero):,} values of T that are not zero: "
            f"{int((nonzero < 0).sum()):,} below and {int((nonzero > 0).sum()):,} above zero",
            x_label="T of one example (zeros left out)",
            y_label="examples",
            styles=styles,
        )
    counts_of = result.test.counts
    return {
        "chart": chart,
        "n": f"{len(values):,}",
        "zeros": f"{len(values) - len(nonzero):,}",
        "nonzero": f"{len(nonzero):,}" if len(nonzero) else None,
        "below": f"{int((nonzero < 0).sum()):,}",
        "above": f"{int((nonzero > 0).sum()):,}",
        "mean": fixed(result.evidence.statistic, 5, sign=True),
        "sd": fixed(float(values.std())),
        "range": pair((lower, upper), 3),
        "pairs": result.n_models > 1,
        "counts": {name: f"{count:,}" for name, count in counts_of.items()},
    }


def group_sizes(n_models: int) -> list[int]:
    """Sizes N of groups of models that leave at least two groups: 1 and at most three larger ones.

    Examples
    --------
    >>> group_sizes(2), group_sizes(20), group_sizes(1250)
    ([1], [1, 2, 5, 10], [1, 10, 50, 500])
    """
    sizes = [m * 10**e for e in range(7) for m in (1, 2, 5) if m * 10**e <= n_models // 2]
    if len(sizes) <= MAX_GROUP_SIZES:
        return sizes
    return [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, MAX_GROUP_SIZES)]


def _groups(result: AuditResult) -> dict[str, Any] | None:
    if result.n_models == 1:
        return None
    charts, edges = [], [i / 10 for i in range(11)]
    for size in group_sizes(result.n_models):
        test = result.n_model_test(size)
        p = np.array(test.p_values)
        counts, _ = np.histogram(p, bins=np.array(edges))
        title = f"N = {size}: {len(p)} {'groups' if size > 1 else 'models'}"
        small = int((p <= LEVEL).sum())
        charts.append(
            {
                "title": title,
                "text": f"{small} of {len(p)} at or below {LEVEL:g}; smallest {pvalue_text(min(test.log_p_values))}, "
                f"largest {pvalue_text(max(test.log_p_values))}",
                "chart": svg.histogram(
                    edges,
                    [int(c) for c in counts],
                    label=f"Histogram of p-values, {title}; {small} at or below {LEVEL:g}",
                    x_label="betting p on the test set alone",
                    y_label="groups" if size > 1 else "models",
                    height=200,
                ),
            }
        )
    return {
        "charts": charts,
        "n": result.n_models,
        "all": pvalue_text(result.evidence.log_p_values["betting"]),
        "is_verdict": result.evidence.control is None,
    }


def _model_table(result: AuditResult) -> dict[str, Any] | None:
    """Every model on its own, where there are several."""
    if result.n_models == 1:
        return None
    logs = result.n_model_test(1).log_p_values
    errors, means = result.test.losses.mean(axis=1), result.test.statistics.mean(axis=1)
    rows = [
        [name, fixed(float(error)), fixed(float(mean), 5, sign=True), pvalue_text(log_p)]
        for name, error, mean, log_p in zip(result.model_names, errors, means, logs, strict=True)
    ]
    return {
        "rows": rows[:MAX_MODELS],
        "n": len(rows),
        "folded": len(rows) > MAX_MODELS_OPEN,
        "more": f"{len(rows) - MAX_MODELS:,}" if len(rows) > MAX_MODELS else None,
    }


def _variance(result: AuditResult) -> dict[str, Any]:
    e = result.evidence
    larger = e.adversarial_estimate_variance > e.test_error_variance
    ratio = (
        f"{e.adversarial_estimate_variance / e.test_error_variance:.2f} times as large"
        if e.test_error_variance > 0
        else "not comparable, because the test error does not vary"
    )
    return {
        "estimate": scientific(e.adversarial_estimate_variance),
        "test_error": scientific(e.test_error_variance),
        "ratio": ratio,
        "larger": larger,
    }


def _p_values(result: AuditResult) -> list[dict[str, Any]]:
    e, c = result.evidence, result.evidence.control
    rows = []
    if c is not None:
        rows += [
            ("Test against control", p_text(c.p_value), "2 × the smaller of the next two, fixed beforehand", True),
            (f"Control, T ({_side(result)})", p_text(c.statistic.p_value), "permutation within class", False),
            (f"Control, error rate ({_side(result)})", p_text(c.error_rate.p_value), "permutation within class", False),
            ("Control on its own", pvalue_text(c.invariance_log_p_value), "betting, two-sided: is shifting neutral?",
             False),
        ]  # fmt: skip
    p = {name: pvalue_text(v) for name, v in e.log_p_values.items()}
    above = " Above 1 here, so it only orders results." if e.log_p_values["bernstein_uncapped"] > 0 else ""
    rows += [
        ("Betting", p["betting"], "test set alone; finds the smallest effects", c is None),
        ("Mixture", p["mixture"], "test set alone; an e-value, needs no order", False),
        ("Bernstein, capped", p["bernstein"], "test set alone; equation 8 of v1", False),
        ("Bernstein, uncapped", p["bernstein_uncapped"], "the same before capping at 1, as in figure 9 of v1." + above,
         False),
        ("Two intervals", p["intervals"], "test set alone; appendix A of v1, the weakest", False),
    ]  # fmt: skip
    return [{"name": a, "p": b, "note": d, "verdict": v} for a, b, d, v in rows]


def _means(result: AuditResult) -> list[str]:
    e, c, found = result.evidence, result.evidence.control, _found(result)
    p = verdict_p_text(result)
    who, has = _models(result, capital=True), "has" if result.n_models == 1 else "have"
    if c is not None and result.control is not None:
        test, control = fixed(e.test_error), fixed(float(result.control.losses.mean()))
        if found:
            return [
                f"Had {_models(result)} never been influenced by this test set, test set and control would look alike, "
                f"and evidence as strong as this would turn up with probability {p} at most.",
                f"The error is {test} on the test set and {control} on the control. The control’s is the number "
                "to believe for fresh data of the same source.",
            ]
        return [
            f"{who} {'behaves' if result.n_models == 1 else 'behave'} on the test set as on data put aside "
            f"beforehand: error {test} against {control}, p = {p}.",
            _limit(result),
        ]
    if found:
        higher = e.statistic > 0
        return [
            f"The two error estimates differ by {fixed(e.statistic, 5, sign=True)}, and evidence as strong "
            f"as this turns up with probability {p} at most if {_models(result)} and test set are independent and "
            "small shifts are neutral. So at least one of the two does not hold.",
            "The direction is the one that overfitting gives: the pictures as they stand are easier than their shifts."
            if higher
            else "The direction is not the one that overfitting gives: the shifted pictures are the easier ones. "
            "Look at the preprocessing first.",
        ]
    return [
        f"{who} {has} about the same error on the pictures as they stand and on their shifts, properly weighted: "
        f"the difference is {fixed(e.statistic, 5, sign=True)}, p = {p}.",
        _limit(result),
    ]


def _limit(result: AuditResult) -> str:
    why = why_undetectable(result)
    if why:
        return f"What could have been detected is not defined, because {why}. So this says very little."
    return (
        f"An effect of {effect_text(result)} or more would have been found with probability {POWER:g}. "
        "Anything smaller may be there unseen."
    )


def _not_means(result: AuditResult) -> list[str]:
    c, found = result.evidence.control, _found(result)
    points = []
    if not found:
        points.append("“No evidence” is not “clean”: it is silence down to the detectable effect, and no further.")
    else:
        if c is not None:
            points.append("It is no proof of intent. Duplicates, choosing among models by test score, and reuse over "
                          "years all leave the same trace.")  # fmt: skip
        points.append("It does not say how large the overfitting is: a small p-value is not a large effect."
                      if c is not None
                      else "It does not say that there is overfitting: shifts that are not neutral give the same "
                      "numbers.")  # fmt: skip
    if c is None:
        points.append(
            "Without a control, invariance is an assumption: natural pictures are framed, their subject sits in the "
            "middle, and shifting them is not neutral. A strong test finds that too."
        )
    else:
        points.append("The control is only as good as its history: it must come from the same source and have been put "
                      "aside at random before any training or selection.")  # fmt: skip
    points.append("It is about this test set and these moves. Another test set, or overfitting that shifts of "
                  f"{_pixels(result)} cannot show, is another question.")  # fmt: skip
    return points


def _next(result: AuditResult) -> list[str]:
    c, found, n = result.evidence.control, _found(result), len(result.test)
    points = []
    if found and c is not None:
        points.append("Report the control’s error, not the test set’s, and look for test pictures (and near "
                      "duplicates) in the training data.")  # fmt: skip
        points.append("Retire this test set for choosing between models; draw a new one with `heldout split`.")
    if c is None:
        points.append("Get a control: put fresh examples aside with `heldout split` before training, then audit with "
                      "`--control`. Only a control tells dependence from shifts that are not neutral.")  # fmt: skip
        if found:
            points.append("Until then, do not call this overfitting.")
    if not found:
        if why_undetectable(result):
            points.append("Use more examples, or a larger radius: here no move changed enough to measure anything.")
        else:
            both = " in both sets" if c is not None else ""
            points.append(f"To see half as large an effect, use about four times as many examples{both} "
                          f"({4 * n:,} instead of {n:,}).")  # fmt: skip
    if result.n_models == 1:
        points.append("To judge the architecture and not one run, train it N times with different seeds and audit all "
                      "N together: T is averaged first, which takes the noise of training out.")  # fmt: skip
    return points


def _origin(result: AuditResult) -> list[tuple[str, str]]:
    facts = [
        ("heldout", result.version),
        ("Seed", str(result.seed)),
        ("Test data digest", result.data_digest),
    ]
    if result.control_digest is not None:
        facts.append(("Control data digest", result.control_digest))
    scored = f"{result.evaluations:,} on the test set"
    scored += f" ({result.evaluations / (len(result.test) * result.n_models):.1f} a picture)"
    if result.control is not None:
        scored += f", {result.control_evaluations:,} on the control"
    return [
        *facts,
        ("Pictures scored", scored),
        ("Preprocessing", preprocessing_text(result.preprocessing)),
    ]


def preprocessing_text(steps: dict[str, Any]) -> str:
    """What is done to a picture before the model sees it, in words.

    Examples
    --------
    >>> crop = {"frame": "crop", "size": 224, "resize": 256, "interpolation": "bilinear"}
    >>> preprocessing_text({**crop, "mean": [0.5], "std": [0.25], "scale": None, "bgr": False})
    'resize the short side to 256 (bilinear), crop 224; bytes scaled by 1/255; mean 0.5; std 0.25'
    >>> preprocessing_text({"frame": "wrap", "mean": [0.0], "std": [1.0], "scale": 1.0, "bgr": True})
    'cyclic shifts of the whole picture; BGR channel order; pixels times 1; mean 0; std 1'
    """
    left = dict(steps)
    words = []
    frame = left.pop("frame", None)
    if frame == "wrap":
        words.append("cyclic shifts of the whole picture")
    elif frame == "crop" and "size" in left:
        resize, how, size = left.pop("resize", None), left.pop("interpolation", None), left.pop("size")
        words.append(f"resize the short side to {resize} ({how}), crop {size}" if resize else f"crop {size}")
    elif frame is not None:
        words.append(f"frame {frame}")
    if left.pop("bgr", False):
        words.append("BGR channel order")
    if "scale" in left:
        scale = left.pop("scale")
        words.append("bytes scaled by 1/255" if scale is None else f"pixels times {scale:g}")
    for name in ("mean", "std"):
        if name in left:
            words.append(f"{name} " + ", ".join(f"{v:g}" for v in left.pop(name)))
    words += [f"{name} {value}" for name, value in sorted(left.items())]  # nothing is left out
    return "; ".join(words)
