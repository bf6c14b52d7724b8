"""The words of a stress test: what it means, what it does not mean, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from heldout.attack.public import PublicSplit
from heldout.attack.result import Noticed, StressResult, StressRun
from heldout.summary.numbers import PERCENT, counted, fixed, percent, sure_text

LITTLE = 0.0005  # a gain that is hardly one
HARDLY = 0.8  # of the gain; answers that still give away more are hardly coarser
LONGEST = 58  # characters of the answers' name
TITLES = {
    "nb": "naive Bayes",
    "majority": "majority vote",
    "plurality": "plurality above 1 sd",
    "linear-scan": "linear scan",
    "reconstruction": "reconstruction",
}
HOW = {
    "nb": "The analyst submits random labels and weighs each submission by its score",
    "majority": "The analyst submits random labels; those above chance vote for their labels, the others against",
    "plurality": "The analyst submits random labels, and those that scored one standard deviation above the mean vote",
    "linear-scan": "The analyst changes one label at a time and keeps what raises the score",
    "reconstruction": "The analyst submits random labels and searches for the labels that fit all scores",
}
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


def note_text(note: Noticed) -> str:
    """What was noticed, in a sentence."""
    return NOTES[note.kind].format(**note.values)


def headline(result: StressResult) -> str:
    """The answer in one sentence."""
    run, split = result.run, result.public
    who = "this analyst" if run.attack == "nb" else f"this analyst ({title(run)})"
    answers = "answers" if run.answers == "exact" else answers_text(run)
    if result.queries == 1:
        answers = answers.replace("answers", "answer", 1)
    text = f"After {result.queries:,} {answers} {who} {gain_text(result.advantage)}"
    if split is not None:
        text += " on the public part"
    if split is not None and len(split.private):
        trials = len(split.private)
        error = f" ± {100 * split.std_private / math.sqrt(trials):.1f}" if trials > 1 else ""
        gain = fixed(100 * split.gain_private, 1, sign=True)
        text += f" ({gain}{error} on the private one, not knowing which is which)"
    if result.advantage < -LITTLE:
        text += ": the guess it starts from is better than what comes out"
    coarser = [r for r in result.by_digits if r.digits == 2 and run.digits is None]
    if coarser and result.advantage >= LITTLE:
        text += f", with two-digit answers {gain_text(float(coarser[0].advantage[-1]), again=True)}"
    return f"{text}."


def gain_text(gain: float, *, again: bool = False) -> str:
    """A gain in percentage points.

    Examples
    --------
    >>> gain_text(0.0304), gain_text(0.026, again=True), gain_text(-0.0002), gain_text(-0.02)
    ('gains 3.0 points', 'still 2.6', 'loses 0.02 points', 'loses 2.0 points')
    >>> gain_text(0.0), gain_text(-0.0002, again=True)
    ('gains 0.00 points', '−0.02')
    """
    points = f"{100 * abs(gain):.{1 if abs(gain) >= 0.001 else 2}f}"
    lost = gain < 0 and points != "0.00"
    if again:
        return f"−{points}" if lost else f"still {points}" if gain >= LITTLE else points
    return f"{'loses' if lost else 'gains'} {points} points"


def points(gain: float, *, sign: bool = True) -> str:
    """Percentage points without the word; a third digit where two would say little.

    Examples
    --------
    >>> points(0.0304), points(0.00042, sign=False), points(-0.0002), points(math.nan), points(-1e-9)
    ('+3.04', '0.042', '−0.020', 'not defined', '0.000')
    """
    return fixed(100 * gain, 2 if abs(gain) >= 0.001 else 3, sign=sign)


def title(run: StressRun) -> str:
    """The attack in words."""
    return ("parked " if run.parked else "") + TITLES[run.attack]


def answers_text(run: StressRun) -> str:
    """The answers in words."""
    if run.answers == "exact":
        return "exact answers"
    text = f"answers {'of' if run.digits else 'by'} {run.answers}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def sure(result: StressResult) -> str:
    """What the upper bound rests on."""
    condition = "if the prior is right" if result.prior else "if all labels are equally likely"
    return f"with probability {sure_text(result.delta)}, {condition}"


def no_bound(result: StressResult) -> str:
    """Why there is no upper bound, where there is none."""
    countable = result.run.answers == "exact" or result.run.digits is not None
    return "the labels refute the prior" if countable else "the answers of this mechanism cannot be counted"


def bound_text(bound: float) -> str:
    """A bound on the accuracy, in a word where it is no number.

    Examples
    --------
    >>> bound_text(0.6505), bound_text(1.0), bound_text(math.nan)
    ('65.05\\xa0%', 'vacuous', 'unknown')
    """
    return "unknown" if math.isnan(bound) else "vacuous" if bound >= 1 else percent(bound, 2)


def bound_reason(result: StressResult) -> str:
    """What the upper bound after all answers says, or why it says nothing."""
    if math.isnan(result.upper_bound):
        return no_bound(result)
    if result.run.vacuous:
        return f"it excludes nothing at {counted(result.queries, 'such answer')}"
    return f"no attack passes it, {sure(result)}"


def kind_of_forecast(run: StressRun) -> str:
    """What kind of number the forecast is."""
    if run.attack == "reconstruction":
        return "if all attacked labels come back"
    return "computed, to first order" if run.pointwise else "computed"


def transfers_text(split: PublicSplit) -> str:
    """The share of the public gain that transfers; empty where there is no such gain."""
    error = "" if math.isnan(split.transfers_error) else f" ± {100 * split.transfers_error:.1f}"
    return "" if math.isnan(split.transfers) else f"{fixed(100 * split.transfers, 1)}{error}{PERCENT}"


def last_telling(run: StressRun) -> int | None:
    """The largest of the numbers of answers at which the upper bound excludes something; None if there is none."""
    telling = run.queries[run.upper_bound < 1]
    return int(telling[-1]) if len(telling) else None


def same_answers(runs: Sequence[StressRun]) -> bool:
    """Whether the last gains may be compared as they stand."""
    return len({int(r.queries[-1]) for r in runs}) == 1


def means(result: StressResult) -> Iterator[str]:
    """What the numbers say."""
    run, before, after = result.run, percent(result.run.baseline, 2), percent(result.accuracy, 2)
    how = f"{HOW[run.attack]}{', starting from a prior' if result.prior else ''}. "
    if run.parked:
        moves = "answers some examples wrongly on purpose, so many"
        fixes = "keeps its labels fixed at some examples, chosen so"
        how += f"It {moves if result.prior else fixes} that its scores lie where the rounding changes. "
    if result.advantage <= -LITTLE:
        yield f"{how}Here that does harm: {after} after, {before} before. This analyst had better keep its first guess."
    elif result.advantage < LITTLE:
        yield (
            f"{how}Here that moves the score by {points(result.advantage)} points: {after} after, {before} before. "
            "Another analyst may gain more."
        )
    else:
        yield (
            f"{how}That leads from {before} to {after}: of a score on this set, "
            f"{points(result.advantage, sign=False)} points can come from {counted(result.queries, 'answer')} alone."
        )
    if math.isfinite(result.forecast):
        off = result.accuracy - result.forecast
        yield (
            f"The forecast is {percent(result.forecast, 2)} ({kind_of_forecast(run)}); the simulation is "
            f"{points(abs(off), sign=False)} points {'above' if off > 0 else 'below'} it."
        )
    if len(result.by_attack) > 1 and same_answers(result.by_attack):
        best, *rest = sorted(result.by_attack, key=lambda r: -r.advantage[-1])
        others = ", ".join(f"{title(r)} {points(r.advantage[-1])}" for r in rest)
        yield f"Of the attacks compared, {title(best)} does best: {points(best.advantage[-1])} points; {others}."
    if len(result.by_classes) > 1 and same_answers(result.by_classes):
        few, many = result.by_classes[0], result.by_classes[-1]
        gains = few.advantage[-1], many.advantage[-1]
        opening = "The more classes, the less an answer gives away. " if gains[0] > gains[1] else ""
        yield (
            f"{opening}As many answers bring {points(gains[0])} points with {few.n_classes:,} classes and "
            f"{points(gains[1])} with {many.n_classes:,}."
        )
    if math.isnan(result.upper_bound):
        yield f"What a cleverer analyst could gain is unknown: {no_bound(result)}."
    elif run.vacuous:
        last = last_telling(run)
        until = "" if last is None else f" The last stop at which it excludes something is {counted(last, 'answer')}."
        yield (
            "What a cleverer analyst could gain is open. The upper bound is vacuous: it excludes nothing at "
            f"{counted(result.queries, 'answer')}.{until}"
        )
    else:
        yield (
            f"No attack passes {bound_text(result.upper_bound)} with so many answers, {sure(result)}. That includes "
            "attacks nobody has thought of, and analysts who choose each question by the answers so far."
        )


def not_means(result: StressResult) -> Iterator[str]:
    """What must not be read into them."""
    run = result.run
    yield (
        "It accuses nobody. The analyst is simulated, and does nothing but game the score. Nothing here says that "
        "anybody did."
    )
    yield "A gain is not skill. On fresh data the accuracy stays where it was."
    blind = "works point by point and needs no pictures"
    apart = "has to tell the examples apart, for instance by a number, but sees none of them"
    yield (
        f"Hiding the examples is no protection. The attack {blind if run.pointwise else apart}, only scores"
        f"{' and what its prior knows' if result.prior else ''}."
    )
    whole = run.top is None and run.points == run.n_examples
    best = ", though the best that works point by point on random submissions (Theorem 4.2)"
    best = best if run.attack == "nb" and run.answers == "exact" and whole else ""
    yield f"It is one attack and not the worst case{best}. Only the upper bound is for all attacks."
    if result.prior:
        yield (
            "With a prior the upper bound holds only if the prior is right: it takes every label to be drawn with the "
            "probabilities that the prior gives it."
        )
    else:
        yield (
            "It starts from no knowledge: every label is taken to be equally likely. Whoever knows more, from a good "
            "model, from looking at the examples or from how common a class is, starts higher and may pass the upper "
            "bound."
        )
    if run.pointwise and math.isfinite(result.forecast):
        yield "The forecast is of first order: for small test sets and few answers it may be off."


def next_steps(result: StressResult) -> Iterator[str]:
    """What to do with it."""
    run = result.run
    text = "Hold back digits: nobody needs more of them than the error bar of a score allows."
    coarser = [r for r in result.by_digits if r != run and r.digits is not None]
    if coarser and same_answers([run, *coarser]) and result.advantage >= LITTLE:
        gains = "; ".join(f"{answers_text(r)} {points(r.advantage[-1])} points" for r in coarser)
        text += f" Here {answers_text(run)} give this analyst {points(result.advantage)}; {gains}."
        if min(r.advantage[-1] for r in coarser) > HARDLY * result.advantage:
            text += " Alone that is not enough here."
    yield text
    text = "Limit the number of answers, over all submitters together: who may open a second account has no limit."
    if result.reach:
        gain, k = min(result.reach.items())
        text += (
            f" By the forecast for naive Bayes and exact answers, {counted(k, 'answer')} "
            f"{'brings' if k == 1 else 'bring'} {100 * gain:g} {'point' if gain == 0.01 else 'points'}."
        )
    yield text
    if math.isnan(result.gain_on_fourfold):
        yield f"Use more examples than {run.n_examples:,}: the same answers then give away less."
    else:
        yield (
            f"Use more examples: on {4 * run.n_examples:,} as many answers would bring "
            f"{points(result.gain_on_fourfold)} points, by the forecast."
        )
    yield (
        "When the answers are used up, take a fresh set, or keep a second one from the start on which nothing is "
        "reported."
    )
    if run.trials == 1:
        yield "Repeat the simulation: one trial says nothing about its spread."


def regime(result: StressResult) -> tuple[tuple[str, str], ...]:
    """Section 4 of the paper for this test set and this number of answers, one line per theorem."""
    run, k, known = result.run, result.queries, result.regime
    n, m, settled = run.n_examples, run.n_classes, round(known["reconstructable"])
    answers = f"{counted(k, 'answer')} {'is' if k == 1 else 'are'}"
    if settled < 1:
        why = f"{answers} too few for it" if m > 2 else "it is for three classes or more"
        recovery = f"It promises no exact recovery here: {why}."
    else:
        recovery = (
            f"{math.ceil(known['theorem_4_5_queries']):,} random queries settle the labels of "
            f"{counted(settled, 'example')} exactly, with probability at least one half; finding them is another "
            "matter."
        )
        if settled < n:
            accuracy = percent(known["corollary_4_6_accuracy"], 2)
            recovery += f" With guesses for the rest that would be an accuracy of {accuracy}."
    return (
        (
            "Theorem 4.3",
            f"Naive Bayes gains at least in proportion to √(k/n)/m, here {fixed(known['rate'])}, from about ln n + "
            f"m ln m = {known['k_min']:,.0f} answers on, which {'has' if k >= known['k_min'] else 'has not'} been "
            "reached. The constants are not known."
            + ("" if k <= n else f" It also needs no more answers than examples; here there are {k:,}."),
        ),
        ("Theorem 4.5", recovery),
        (
            "Corollary 4.6",
            f"From 40 m ln m = {40 * m * math.log(m):,.0f} answers on there is an attack whose gain grows as "
            f"k ln(k/m)/(n ln m), faster than naive Bayes; {answers} "
            f"{'enough' if known['corollary_4_6_applies'] else 'not enough'} for it. It has to tell the examples "
            "apart, and its search is out of reach for large sets.",
        ),
    )


def facts(result: StressResult) -> tuple[tuple[str, str], ...]:
    """What went in."""
    run = result.run
    which = "all examples" if run.points == run.n_examples else f"{run.points:,} of {run.n_examples:,} examples"
    labels = f"all {run.n_classes:,} labels" if run.top is None else f"{run.top:,} of {run.n_classes:,} labels"
    chosen = " (chosen by forecast, without labels)" if run.chosen else ""
    moves = "answering some examples wrongly on purpose" if result.prior else "keeping labels fixed at some examples"
    prior = "" if result.prior else ", each equally likely to the analyst"
    return (
        ("Test set", f"n = {counted(run.n_examples, 'example')}, m = {run.n_classes:,} classes"),
        ("Labels", f"{result.labels}{prior}"),
        *([("Prior", result.prior)] if result.prior else []),
        ("Attack", f"{title(run)} on {which}, {labels} at each{chosen}"),
        *([("Parked", f"on a rounding edge, by {moves}")] if run.parked else []),
        (
            "Simulation",
            f"k = {result.queries:,} {answers_text(run)}, {counted(run.trials, 'trial')}, delta = {result.delta:g}",
        ),
    )


def not_computed(result: StressResult) -> Iterator[str]:
    """What is missing, and why: silence must not read as "nothing to see"."""
    if math.isnan(result.forecast):
        yield "Forecast: not available for this attack and these answers"
    if math.isnan(result.upper_bound):
        yield f"Upper bound: {no_bound(result)}"
    if math.isnan(result.theorem_bound):
        yield f"Theorem 3.1: {'it knows no prior' if result.prior else 'it does not apply to these answers'}"
    if math.isnan(result.expected_bound):
        yield "Bound on the expected accuracy: it is for exact answers without a prior"
    if math.isnan(result.std):
        yield "Spread: there is only one trial"
    groups = ((result.by_attack, "attacks"), (result.by_digits, "digits"), (result.by_classes, "numbers of classes"))
    yield from (f"Other {what}: not compared" for runs, what in groups if not runs)
    if not result.reach:
        yield "Answers for a given gain: the forecast for them is without a prior"
