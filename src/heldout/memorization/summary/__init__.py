"""What a measurement of memorization says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import PurePath

from heldout import summary as page
from heldout.memorization.metrics import K_MAX
from heldout.memorization.ranking import Ranking
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import few_trainings
from heldout.memorization.summary import answer, meaning, sections

__all__ = ["remarks", "summarise"]

NAMED_PAIRS = 5  # of models, in a line


def summarise(result: MemorizationResult) -> page.Summary:
    """The summary of a result."""
    warnings, notes = _noticed(result)
    of = f" of {page.quoted(PurePath(result.source).name or result.source)}" if result.source else ""
    examples = f"{answer.numbers_text([c.n for c in result.curves])} training examples{of}"
    subject = f"{page.counted(len(result.models), 'model')}, {examples}"
    signs = f"> significantly more than the next (family-wise {answer.LEVEL_TEXT}), ~ not"
    return page.Summary(
        kind="Memorization",
        headline=answer.headline(result),
        sentences=answer.sentences(result),
        tone="quiet" if answer.disputed(result) is None else "neutral",
        subject=subject,
        figures=answer.figures(result),
        warnings=warnings,
        lines=page.kept_facts(
            ("Measured", subject),
            ("Trainings per rate", answer.trainings(result)),
            ("Most memorised first", signs if result.rankings else None),
            *((r.column.title, _order(r)) for r in result.rankings),
        ),
        sections=_sections(result, notes),
        origin=page.origin(result, ("Data digest", result.digest)),
        method=meaning.METHOD,
    )


def _sections(result: MemorizationResult, noticed: tuple[str, ...]) -> tuple[page.Section, ...]:
    """In reading order; those that have nothing to tell are left out."""
    of, failed = page.Section.of, f"{page.counted(len(result.failures), 'training')} failed"
    found = (
        of("The numbers, read against their ends", *sections.readings(result), anchor="reading"),
        of("How accuracy falls", *sections.curves(result), printed=True, anchor="curves"),
        of("The metrics", *sections.metrics(result), printed=True, anchor="table"),
        *sections.boards(result),
        of("Whether the metrics agree", *sections.disagreements(result), printed=True, anchor="disagreement"),
        of("What the perturbations look like", *sections.pictures(result), anchor="pictures"),
        *meaning.advice(result),
        of("What went in", meaning.facts(result), anchor="facts"),
        of("Noticed on the way", page.Points(noticed), level=3, printed=True),
        of(failed, page.Points(result.failures), level=3, printed=True, anchor="failures"),
    )
    return tuple(section for section in found if section.blocks)


def remarks(result: MemorizationResult) -> tuple[str, ...]:
    """What must be known beside the numbers, as the JSON has it."""
    return tuple(text.translate(page.TURNS) for told in _noticed(result) for text in told)


def _rarely_trained(result: MemorizationResult) -> tuple[list[str], list[str]]:
    """Models that were trained once at each rate, and a few times: curves alone tell, whoever put them together."""
    often = {c.model: c.correct.shape[1] for c in result.curves if c.retrained}
    few = {model: f"{model}: {few_trainings(n)}" for model, n in often.items() if few_trainings(n)}
    return [few[m] for m in few if often[m] == 1], [few[m] for m in few if often[m] > 1]


def _merged(result: MemorizationResult, notes: Sequence[str]) -> tuple[str, ...]:
    """What trainings noticed, once for all models that it is true of."""
    found: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        names = [name for name in result.models if note.startswith(f"{name}: ")]
        name = max(names, key=len, default="")
        found.setdefault(note.removeprefix(f"{name}: ") if name else note, []).append(name)
    return tuple(f"{page.names_text(names)}: {note}" if names[0] else note for note, names in found.items())


def _noticed(result: MemorizationResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings, and what else was noticed on the way."""
    warnings, notes = [f"method {sentence.translate(page.TURNS)}" for sentence in result.unfit], []
    once, few = _rarely_trained(result)
    warnings += _merged(result, once)
    warnings += [
        f"strengths under {page.quoted(left.perturbation)} differ, so these are not compared and not ranked together: "
        f"{page.names_text(left.models)} with {page.names_text(left.ranked)}."
        for left in result.unranked
    ]
    warnings += _merged(result, _rises(result))
    if result.unpaired:
        some = "; ".join(f"{page.quoted(a)} and {page.quoted(b)}" for a, b in result.unpaired[:3])
        notes.append(
            "Pairs of models measured on different examples or wrong labels, as far as can be told, and so compared as "
            f"if independent, not example by example: {len(result.unpaired)}, such as {some}."
        )
    grouped = [c for c in result.curves if c.groups is not None]
    if grouped:
        effect = max((c.design_effect for c in grouped if not math.isnan(c.design_effect)), default=math.nan)
        groups = answer.numbers_text([c.units for c in grouped])
        warnings += page.few_groups(min(c.units for c in grouped), then="intervals and comparisons are rough")
        notes.append(f"Whole groups are drawn anew. Groups: {groups}; largest design effect: {page.fixed(effect, 2)}.")
    own = [note for note in result.notes if note not in once]
    return tuple(warnings), (*notes, *_merged(result, [*few, *own]))


def _rises(result: MemorizationResult) -> list[str]:
    """Curves whose largest step goes up: their k_max tells of no fall."""
    found = []
    for model in result.models:
        for column, estimate in answer.defined(result, model):
            curve = result.curve(model, column.perturbation)
            if column.metric == K_MAX.name and curve is not None and estimate.value > 0:
                start, end, rises = answer.steepest(curve)
                if rises:
                    found.append(
                        f"{model}: the largest step under {page.quoted(column.perturbation)} is a rise, from strength "
                        f"{start:g} to {end:g}; k_max takes steps without their sign (equation (10)), so that here it "
                        "tells of no fall."
                    )
    return found


def _order(r: Ranking) -> str:
    """All models in a line; signs stand between neighbours, so that other pairs are named of which they mislead.

    Examples
    --------
    >>> from heldout.memorization.ranking import Ranked, Ranking
    >>> places = [Ranked(m, v, v - 0.1, v + 0.1, (1, 3)) for m, v in (("a", 0.5), ("b", 0.2), ("c", 0.1))]
    >>> _order(Ranking("spatial", "k_max", "high", 0.95, (("a", "b"), ("a", "c")), tuple(places)))
    'a 0.5000 > b 0.2000 ~ c 0.1000'
    >>> _order(Ranking("spatial", "k_max", "high", 0.95, (("a", "c"),), tuple(places)))
    'a 0.5000 ~ b 0.2000 ~ c 0.1000 (a > c)'
    >>> _order(Ranking("spatial", "k_max", "high", 0.95, (("a", "b"),), tuple(places)))
    'a 0.5000 > b 0.2000 ~ c 0.1000 (a ~ c)'
    """
    differ = [r.differs(a, b) for a, b in zip(r.models, r.models[1:], strict=False)]
    signs = ["", *(" > " if above else " ~ " for above in differ)]
    places = zip(signs, r.most_memorised_first, strict=True)
    line = "".join(f"{sign}{page.name_text(e.model)} {page.fixed(e.value)}" for sign, e in places)
    pairs = [
        f"{page.name_text(a)} {'>' if r.differs(a, b) else '~'} {page.name_text(b)}"
        for (i, a), (j, b) in itertools.combinations(enumerate(r.models), 2)
        if r.differs(a, b) != any(differ[i:j])
    ]
    more = [f"{len(pairs) - NAMED_PAIRS} more"] if len(pairs) > NAMED_PAIRS else []
    return f"{line} ({', '.join([*pairs[:NAMED_PAIRS], *more])})" if pairs else line
