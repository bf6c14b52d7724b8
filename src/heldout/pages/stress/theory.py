"""What the theorems say: answers for a gain, the regime of section 4, the bounds side by side."""

from __future__ import annotations

import math

from heldout.attack.result import StressResult
from heldout.pages.numbers import fixed, percent
from heldout.pages.stress.words import bound_value, confidence_text, count_text, points_text


def reach_view(result: StressResult) -> list[list[str]]:
    """Gain, answers that bring it, and answers an example; empty with a prior."""
    n = result.run.n_examples
    return [[f"+{100 * gain:g}", f"{k:,}", f"{k / n:.3g}"] for gain, k in sorted(result.reach.items())]


def bounds_view(result: StressResult) -> list[list[str]]:
    """Exact tail, Theorem 3.1 and its expectation form, those that are defined."""
    run, sure = result.run, f"with probability {confidence_text(result)}"
    tail = "Exact binomial tail" if result.prior is None else "Tail under the prior"
    named = [
        (tail, float(run.upper_bound[-1]), f"no attack passes it {sure} {result.condition}"),
        ("Theorem 3.1", float(run.theorem_bound[-1]), f"the same as printed in the paper, {sure}"),
        ("Expectation form", result.expected_bound, "no attack passes it on average (after Remark 3.2)"),
    ]
    return [
        [name, bound_value(bound), points_text(bound - run.baseline, sign=True), says]
        if bound < 1
        else [name, bound_value(bound), "–", "excludes nothing at so many answers"]
        for name, bound, says in named
        if not math.isnan(bound)
    ]


def regime_view(result: StressResult) -> list[tuple[str, str]]:
    """Section 4 for this test set and this number of answers, a line a theorem; what is not defined is left out."""
    run, k = result.run, result.queries
    known = {key: value for key, value in result.regime.items() if not math.isnan(value)}
    facts = []
    if "k_min" in known and "rate" in known:
        enough = "has been reached" if k >= known["k_min"] else "has not been reached"
        most = "" if k <= run.n_examples else f" It asks for no more answers than examples, too; here are {k:,}."
        facts.append(
            (
                "Theorem 4.3",
                f"Naive Bayes gains at least in proportion to √(k/n)/m, here {fixed(known['rate'])}, from about "
                f"ln n + m ln m = {known['k_min']:,.0f} answers on, which {enough}. The constants are not known."
                + most,
            )
        )
    if "reconstructable" in known:
        facts.append(("Theorem 4.5", _reconstruction(known, result)))
    if "corollary_4_6_applies" in known:
        least = 40 * run.n_classes * math.log(run.n_classes)
        facts.append(
            (
                "Corollary 4.6",
                f"From 40 m ln m = {least:,.0f} answers on there is an attack whose gain grows as k ln(k/m)/(n ln m), "
                f"faster than naive Bayes; {count_text(k, 'answer')} {'are' if k > 1 else 'is'} "
                f"{'enough' if known['corollary_4_6_applies'] else 'not enough'} for it. It has to tell the examples "
                "apart, and its search is out of reach for large sets.",
            )
        )
    return facts


def _reconstruction(known: dict[str, float], result: StressResult) -> str:
    points = round(known["reconstructable"])
    if points < 1:
        few = f"{count_text(result.queries, 'answer')} {'are' if result.queries > 1 else 'is'} too few for it"
        why = few if result.run.n_classes > 2 else "it is for three classes or more"
        return f"It promises no exact recovery here: {why}."
    queries = math.ceil(known["theorem_4_5_queries"]) if "theorem_4_5_queries" in known else result.queries
    rest = ""
    if "corollary_4_6_accuracy" in known and points < result.run.n_examples:
        rest = f" With guesses for the rest that would be an accuracy of {percent(known['corollary_4_6_accuracy'], 2)}."
    return (
        f"{queries:,} random queries settle the labels of {count_text(points, 'example')} exactly, with probability "
        f"at least one half; finding them is another matter.{rest}"
    )
