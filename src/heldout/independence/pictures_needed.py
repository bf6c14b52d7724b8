"""Forecast of an audit of pictures, from the control alone: one look at each of them, none is moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count, check_seed
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.images.labelled import check_labelled
from heldout.independence.dependence import dependence
from heldout.independence.needed import FEWEST, SHARES, AuditNeeds, check_options, forecast
from heldout.independence.plausible import check_looks
from heldout.independence.preflight import Preflight, looked_at, preflight
from heldout.independence.references import Untouched, check_apart, check_given, look_at_reference, untouched_answers
from heldout.independence.untouched import ORIGINAL
from heldout.orbit import Translations
from heldout.scorers import Scorer, as_scorer
from heldout.scorers.batches import smaller_batches_text, with_batches_that_fit
from heldout.scorers.ways import settle_ways
from heldout.statistics.checks import Alternative, Floats
from heldout.statistics.leak import ALTERNATIVE, LeakScores, leak_scores
from heldout.statistics.leak_power import PULLS
from heldout.statistics.power import LEVEL

STILL = Translations(1)  # the orbit of looks at pictures that nothing moves


def audit_needed(
    scorers: Sequence[Any],
    control: LabelledImages,
    *,
    references: Sequence[Any] = (),
    examples: int | None = None,
    shares: Sequence[float] = SHARES,
    pulls: Sequence[float] = PULLS,
    limit: int | None = None,
    batch_size: int | None = None,
    alternative: Alternative | None = None,
    level: float = LEVEL,
    planned_audits: int = 1,
    allow_chance: bool = False,
    seed: int = 0,
    source: str = "",
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
) -> AuditNeeds:
    """What leak would `audit_many` find, and with how many pictures? From the control alone, one look at each picture.

    With references this is their leak test. Without, the verdict is twice the smaller p-value of T and the error rate;
    the forecast is for the error rate's half, in which a seen picture that was wrong becomes right.

    Parameters
    ----------
    scorers, references, control
        As in `audit`.
    examples, shares, pulls
        As in `audit_scores_needed`.
    limit : int, optional
        A random subset of the control.
    source : str
        What the control is called in the report.
    batch_size, alternative, level, planned_audits, allow_chance, seed, notify, progress
        As in `audit`.

    Returns
    -------
    AuditNeeds
        The chance of a finding for each share and pull, and the pictures that 0.8 takes.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import audit_needed
    >>> from heldout.images import LabelledImages, Wrap, from_arrays
    >>> rng = np.random.default_rng(0)
    >>> pictures = rng.random((80, 8, 8))
    >>> left, right = pictures[..., :4].mean((1, 2)), pictures[..., 4:].mean((1, 2))
    >>> labels = (right + rng.normal(0, 0.03, 80) > left).astype(int)
    >>> def brightest_half(batch):
    ...     return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)
    >>> control = LabelledImages(from_arrays(pictures, labels), Wrap())
    >>> needs = audit_needed([brightest_half], control, shares=[0.3], pulls=[1.0])
    >>> needs.n_control, len(needs.needed)
    (80, 1)
    """
    alternative = alternative or (ALTERNATIVE if references else "two-sided")
    check_options(level, planned_audits, alternative)
    check_labelled(control, "control")
    models, others = [as_scorer(s) for s in scorers], [as_scorer(s) for s in references]
    if not models:
        raise InputError("there is no model to audit.")
    say = notify or (lambda sentence: None)
    settle_ways([*models, *others], control, batch_size=batch_size, say=say)
    check_given(models, others, has_control=True)
    rng = np.random.default_rng(check_seed(seed))
    rows = _rows(len(control), limit, rng)
    depends = dependence({"fresh": (control, rows)}, progress=progress)["fresh"]
    if sentence := depends.sentence(len(rows)):
        say(f"control: {sentence}.")
    sample = looked_at({"control": rows}, {}, rng)
    looks = _Looks(control, rows, sample, batch_size, progress, say)
    answers = [looks.of_model(model, allow_chance=allow_chance) for model in models]
    known = [looks.of_reference(reference) for reference in others]
    names, labels = [reference.name for reference in others], control.labels[rows]
    if others:
        check_apart(answers, known, names)
    scores = _weighed(answers, known, labels)
    found = forecast(
        scores,
        examples=examples,
        shares=shares,
        pulls=pulls,
        classes=labels,
        groups=depends.codes,
        kind="margin" if others else "right or wrong",
        reference_names=names,
        two_halves=not others,
        level=level,
        planned_audits=planned_audits,
        alternative=alternative,
        source=source,
    )
    return replace(found, n_available=len(control))


def _rows(n: int, limit: int | None, rng: np.random.Generator) -> NDArray[np.intp]:
    """Which pictures of the control are looked at."""
    rows = np.arange(n)
    if limit is not None:
        rows = np.sort(rng.permutation(rows)[: check_count(limit, "limit")])
    if len(rows) < FEWEST:
        raise InputError(f"the control has {len(rows)} pictures; a forecast needs at least {FEWEST}, better hundreds.")
    return rows


@dataclass(frozen=True)
class _Looks:
    """One look at each untouched picture of a control."""

    control: LabelledImages
    rows: NDArray[np.intp]
    sample: Mapping[str, NDArray[np.intp]]  # pictures of the first look
    batch_size: int | None
    progress: bool
    say: Callable[[str], None]

    def of_model(self, model: Scorer, *, allow_chance: bool) -> Untouched:
        """What a model says, if it is better than chance."""

        def ask(size: int) -> Untouched:
            look = preflight(
                model,
                self.control,
                self.rows,
                self.sample["control"],
                orbit=STILL,
                batch_size=size,
                label=model.name,
                progress=self.progress,
                count_float32=False,
            )
            check_looks({"control": look}, allow_chance=allow_chance, allow_frame_drop=True)
            right = f"{100 * look.untouched_accuracy:.2f} % on {len(look.right):,} untouched pictures"
            self.say(f"{model.name}: accuracy {right}.")
            return self._untouched(model, look, size)

        return self._with_batches(model, ask)

    def of_reference(self, reference: Scorer) -> Untouched:
        """The same of a reference."""

        def ask(size: int) -> Untouched:
            looks = look_at_reference(
                reference,
                {"control": (self.control, self.rows)},
                self.sample,
                orbit=STILL,
                batch_size=size,
                progress=self.progress,
            )
            return self._untouched(reference, looks["control"], size)

        return self._with_batches(reference, ask)

    def _with_batches(self, scorer: Scorer, ask: Callable[[int], Untouched]) -> Untouched:
        """With ones that fit into the device's memory; said once."""
        said: list[int] = []

        def smaller(size: int) -> None:
            if not said:
                self.say(smaller_batches_text(scorer.name, size))
            said.append(size)

        return with_batches_that_fit(ask, self.batch_size or scorer.batch_size, smaller, scorer=scorer)

    def _untouched(self, scorer: Scorer, look: Preflight, batch_size: int) -> Untouched:
        return untouched_answers(
            scorer,
            {"control": (self.control, self.rows)},
            {"control": look},
            batch_size=batch_size,
            label=scorer.name,
            progress=self.progress,
        )


def _weighed(answers: Sequence[Untouched], known: Sequence[Untouched], labels: NDArray[np.int64]) -> LeakScores:
    """Margins less what references lead one to expect; right or wrong without references."""
    if not known:
        return leak_scores(np.mean([_right(found) for found in answers], axis=0), classes=labels)
    margins, references = ([found.margins()["control"] for found in of] for of in (answers, known))
    return leak_scores(np.mean(margins, axis=0), np.stack(references), classes=labels)


def _right(found: Untouched) -> Floats:
    original = found.originals["control"]
    use = original if found.pictures == ORIGINAL and original is not None else found.centre["control"]
    return 1.0 - use.losses
