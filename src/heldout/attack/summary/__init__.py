"""What a stress test says: every sentence, table and chart of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from heldout.attack.result import StressResult
from heldout.attack.summary.evidence import compared_blocks, curve_block, public_blocks, theory_sections
from heldout.attack.summary.sentences import (
    answers_text,
    bound_reason,
    bound_text,
    facts,
    headline,
    kind_of_forecast,
    means,
    next_steps,
    not_computed,
    not_means,
    note_text,
    points,
    title,
    transfers_text,
)
from heldout.summary import Facts, Figure, Points, Section, Summary
from heldout.summary.numbers import counted, percent

__all__ = ["note_text", "summarise"]

METHOD = (
    "V. Feldman, R. Frostig, M. Hardt (2019), “The advantages of multiple classes for reducing overfitting from test "
    "set reuse”, ICML 2019, <https://arxiv.org/abs/1905.10360>. Majority vote: A. Blum, M. Hardt (2015)."
)


def summarise(result: StressResult) -> Summary:
    """What the result says."""
    start = "starts from prior knowledge of the labels, " if result.prior else ""
    return Summary(
        kind="Stress test",
        headline=headline(result),
        sentences=(
            f"The analyst is simulated: it {start}asks for {answers_text(result.run)} and nothing else, and learns "
            "nothing that would help on fresh data.",
        ),
        subject=_subject(result),
        figures=_figures(result),
        lines=tuple(_lines(result)),
        sections=tuple(_sections(result)),
        origin=(
            ("heldout", result.version),
            ("Date", result.created),
            ("Source", result.source),
            ("Seed", f"{result.seed}"),
            *([("Data digest", result.data_digest)] if result.data_digest is not None else []),
        ),
        method=METHOD,
    )


def _subject(result: StressResult) -> str:
    """The files and what is in them; without files the source says it already."""
    split, classes = result.public, f"{result.run.n_classes:,} classes"
    total = result.run.n_examples if split is None else split.n_public + split.n_private
    parts = "" if split is None else f" ({split.n_public:,} public, {split.n_private:,} private)"
    source = "" if result.source == f"{total:,} examples, {classes}" else f"{result.source}: "
    return f"{source}{total:,} examples{parts}, {classes}"


def _figures(result: StressResult) -> tuple[Figure, ...]:
    run = result.run
    before = "the best guess without any answer" if result.prior else f"a guess among {run.n_classes:,} classes"
    spread = f"±{points(result.std, sign=False)} points (sd over {counted(run.trials, 'trial')})"
    forecast = "none", "not available for this attack and these answers"
    if math.isfinite(result.forecast):
        forecast = percent(result.forecast, 2), kind_of_forecast(run)
    return (
        Figure(name="Accuracy before", value=percent(run.baseline, 2), note=before, strong=False),
        Figure(
            name="Accuracy after",
            value=percent(result.accuracy, 2),
            note="one trial, so the spread is not known" if math.isnan(result.std) else spread,
        ),
        Figure(name="Forecast", value=forecast[0], note=forecast[1], strong=False),
        Figure(name="Upper bound", value=bound_text(result.upper_bound), note=bound_reason(result), strong=False),
    )


def _lines(result: StressResult) -> Iterator[tuple[str, str]]:
    """The numbers that are printed."""
    run, split = result.run, result.public
    yield "accuracy before", f"{run.baseline:.4f}"
    yield "accuracy after", f"{result.accuracy:.4f}"
    yield "advantage", f"{result.advantage:+.4f}{_spread(result.std, f' over {run.trials} trials')}"
    yield "forecast", f"{result.forecast:.4f}" if math.isfinite(result.forecast) else "none for such answers"
    bound, theorem = (f"{b:.4f}" if b < 1 else bound_text(b) for b in (result.upper_bound, result.theorem_bound))
    yield "upper bound", f"{bound} ({bound_reason(result)})"
    if result.upper_bound < 1 and math.isfinite(result.theorem_bound):
        yield "Theorem 3.1", theorem
    if split is not None:
        yield "public part", f"{split.n_public:,} examples, all of the above; {split.n_private:,} are private"
        if len(split.public):
            public = f"{split.gain_public:+.4f}{_spread(split.std_public)}"
            private = f"{split.gain_private:+.4f}{_spread(split.std_private)}"
            taken = ", answers taken at face value" if split.face_value else ""
            yield "without knowing it", f"{public} on the public part, {private} on the private one{taken}"
            yield "share that transfers", transfers_text(split) or "no public gain to speak of"
        else:
            yield "without knowing it", "a reconstruction has to know what it attacks"
    if result.reach:
        steps = ", ".join(f"+{100 * a:g} {'point' if a == 0.01 else 'points'} {k:,}" for a, k in result.reach.items())
        yield "answers needed", f"{steps} (forecast, exact answers)"
    others = (
        [(title(r), r) for r in result.by_attack if r != run],
        [(r.answers, r) for r in result.by_digits if r != run],
    )
    for name, group in zip(("other attacks", "other answers"), others, strict=True):
        if group:
            yield (
                name,
                ", ".join(
                    f"{what} {r.advantage[-1]:+.4f}"
                    + ("" if r.queries[-1] == result.queries else f" ({counted(int(r.queries[-1]), 'answer')})")
                    for what, r in group
                ),
            )


def _spread(std: float, over: str = "") -> str:
    return "" if math.isnan(std) else f" (sd {std:.4f}{over})"


def _sections(result: StressResult) -> Iterator[Section]:
    run, classes, attacks, digits = result.run, result.by_classes, result.by_attack, result.by_digits
    yield Section(title="What this means", blocks=(Points(tuple(means(result))),))
    yield Section(title="What it does not mean", blocks=(Points(tuple(not_means(result))),))
    yield Section(title="What to do next", blocks=(Points(tuple(next_steps(result))),))
    if result.public is not None:
        yield Section(title="A public and a private part", blocks=public_blocks(result, result.public))
    yield Section(title="What the answers give away", blocks=(curve_block(result),))
    if classes:
        names = [f"{r.n_classes:,} classes" for r in classes]
        blocks = compared_blocks(run, "Classes", classes, names, log=True)
        yield Section(title="How the number of classes matters", blocks=blocks)
    if attacks:
        blocks = compared_blocks(run, "Attack", attacks, [title(r) for r in attacks])
        yield Section(title="Attack against attack", blocks=blocks)
    if digits:
        blocks = compared_blocks(run, "Answers given", digits, [answers_text(r) for r in digits])
        yield Section(title="Answers with fewer digits", blocks=blocks)
    yield from theory_sections(result)
    yield Section(title="What went in", blocks=(Facts(facts(result)),), printed=True)
    if run.notes:
        yield Section(title="Noticed on the way", blocks=(Points(run.notes),), level=3, printed=True)
    if missing := tuple(not_computed(result)):
        yield Section(title="Not computed", blocks=(Points(missing),))
