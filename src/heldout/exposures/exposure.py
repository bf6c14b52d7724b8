"""`heldout.exposure`: two tests of one table, single models, the size of the effect, and checks of all of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout._version import __version__
from heldout.checkpoints import Checkpoint, begin, hash_of
from heldout.checks import check_count, check_n_jobs, check_seed, check_share
from heldout.errors import InputError
from heldout.exposures.controls import Mixing, Part, mixing, negative_control, strata_alone, weights
from heldout.exposures.effect import EFFECT_TESTS, Effect, effect
from heldout.exposures.families import (
    TELLING,
    WIDE,
    Combined,
    Pass,
    draws_of,
    family_tables,
    family_test,
    smallest_margins,
    whole_pass,
)
from heldout.exposures.inputs import Board, read_board
from heldout.exposures.kept import Kept
from heldout.exposures.months import month_map
from heldout.exposures.placebo import ENOUGH, Placebo, placebo_test, residuals
from heldout.exposures.result import Basis, ExposureResult, ModelExposure, Outcome, Verdict
from heldout.exposures.scans import Scan
from heldout.exposures.single import Single, Singles
from heldout.predictions import Predictions
from heldout.progress import plain_bar
from heldout.statistics.margins import MISSING, STEPS, MarginChains, standardised
from heldout.statistics.stepdown import holm_log_adjusted

DATES = 20  # from which on the report scans cutoffs unasked


def exposure(
    predictions: Predictions | ArrayLike,
    *,
    dates: Mapping[str, Any] | Sequence[Any] | str | None = None,
    cutoffs: Mapping[str, Any] | Sequence[Any] | None = None,
    seen: Predictions | ArrayLike | None = None,
    strata: Sequence[Any] | Mapping[str, Any] | str | None = None,
    families: Mapping[str, Any] | Sequence[Any] | None = None,
    level: float = 0.05,
    reach: float | None = None,
    n_resamples: int = 9999,
    steps: int | None = None,
    scan: bool | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
) -> ExposureResult:
    """Did models score better on what they could have seen?

    The other models know how hard each example is; what is left after that is evidence. Two tests, and the verdict is
    by the larger p: the margins test, exact under the Rasch model within strata, and the placebo test, exact where
    cutoffs are exchangeable among families of like ability.

    Parameters
    ----------
    predictions : Predictions, or (n_models, n_examples) array of 0 and 1, or a frame of pandas or polars
        What the models said, or where they were right. Scores, and several trials, count as right from a half on.
    dates : (n_examples,), or dict by id, or str
        When each example was published: 2023-09-30, or a month, which means its last day; or the name of a column.
        A Series of pandas goes by the ids in its index, in `strata` too, and in `cutoffs` and `families` by names;
        one whose index only numbers its rows, in order. Examples without a date serve as reference only.
    cutoffs : (n_models,), or dict by name
        Until when each model could have seen examples. Models without a cutoff tell how hard examples are in the
        margins test, as if they could have seen nothing; no other model is compared with them alone.
    seen : (n_models, n_examples) of 0 and 1, Predictions or frame, optional
        Who could have seen what, instead of cutoffs; every cell of it must be there. A frame goes by the names of
        models and ids in its index and columns, or is read as `load_predictions` reads it. With `dates`, cutoffs that
        fit better can still be looked for.
    strata : (n_examples,), or str, or several str, optional
        Examples are compared within strata only: an array, or names of columns.
    families : (n_models,), or dict by name, optional
        Base model or pretraining run of each model; families are the unit. Without it every model is its own.
    level : float
        Of the verdict; the interval is at 1 - level.
    reach : float, optional
        A smaller p that the tests shall be able to go below, such as the threshold of a pipeline; with families it
        takes more tables.
    n_resamples : int
        Tables, and assignments, that are drawn.
    steps : int, optional
        Rounds of trades from the data to a hub, and out again: 20, or 10 from half a million cells on, unless given.
    scan : bool, optional
        Look for the cutoff that fits each model best; without it, where there are at least 20 dates.
    seed : int
        Of the draws.
    n_jobs : int
        Workers, as joblib counts them (-1: one for each core), here threads; the result does not depend on it.
    checkpoint : path, optional
        Folder in which finished parts are kept, once a minute at least.
    resume : bool
        Take up what is in `checkpoint`, to the same bits.
    notify : function, optional
        Told where there is nothing to resume.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    ExposureResult
        Verdict, effect, every model, and checks.

    Examples
    --------
    Twenty models, of which every other one could have seen the older half, and knows a third of it by heart:

    >>> import numpy as np
    >>> from heldout import exposure
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((20, 80)) < np.linspace(0.2, 0.6, 20)[:, None]
    >>> right[::2, :40] |= rng.random((10, 40)) < 0.33
    >>> dates = ["2023-01-15"] * 40 + ["2023-06-15"] * 40
    >>> found = exposure(right, dates=dates, cutoffs=["2023-03", "2022-12"] * 10, n_resamples=199)
    >>> found.verdict, found.exposed_cells
    ('exposed models score better', 400)
    """
    seed, n_resamples = check_seed(seed), check_count(n_resamples, "n_resamples")
    level = check_share(level, "level")
    reach = level if reach is None else min(level, check_share(reach, "reach"))
    steps = None if steps is None else check_count(steps, "steps")
    check_n_jobs(n_jobs)
    board = read_board(predictions, dates=dates, cutoffs=cutoffs, seen=seen, strata=strata, families=families)
    tradable = MarginChains(board.cells, strata=board.strata).tradable
    if not tradable.any():
        names = ", ".join(map(repr, board.strata_names[:5]))
        raise InputError(
            f"in no stratum can anything be traded ({names}): no two models are each right where the other is wrong. "
            "Give coarser `strata`, or more models."
        )
    if scan is None:
        scan = board.dates is not None and len(np.unique(board.dates[~np.isnat(board.dates)])) >= DATES
    rounds = steps or (STEPS if board.cells.size < WIDE else STEPS // 2)
    run = _Run(
        board, level=level, reach=reach, n_resamples=n_resamples, steps=rounds, scan=scan, seed=seed, n_jobs=n_jobs
    )
    run.n_idle = int(np.count_nonzero(~tradable))
    if not board.informative.any():
        return run.nothing()
    say = notify or (lambda sentence: None)
    return run.result(run.checkpoint(checkpoint, resume=resume, say=say), progress)


class _Run:
    """One board, tested in parts, each with chance of its own."""

    def __init__(
        self,
        board: Board,
        *,
        level: float,
        reach: float,
        n_resamples: int,
        steps: int,
        scan: bool,
        seed: int,
        n_jobs: int,
    ) -> None:
        self.board, self.level, self.reach, self.n_resamples, self.steps = board, level, reach, n_resamples, steps
        self.scan, self.seed, self.n_idle = scan, seed, 0
        self._with: dict[str, Any] = {"steps": steps, "n_jobs": n_jobs}
        self._n_jobs = n_jobs

    def checkpoint(self, folder: str | Path | None, *, resume: bool, say: Callable[[str], None]) -> Checkpoint:
        """Where finished parts are kept, under everything that changes their bits."""
        if folder is None:
            return Checkpoint(None, {}, of="run")
        begin(Path(folder), resume=resume, say=say)
        b = self.board
        days = [np.zeros(0) if d is None else d.astype(np.int64) for d in (b.dates, b.cutoffs)]
        fingerprint = {
            "results": b.digest,
            "who could have seen what": hash_of(b.cells, b.could, b.known, b.strata, b.families, *days),
            "level": self.level,
            "tables of each family": family_tables(self.n_resamples, self.reach),
            "resamples": self.n_resamples,
            "steps": self.steps,
            "scan": self.scan,
            "seed": self.seed,
        }
        return Checkpoint(Path(folder) / "parts.npz", fingerprint, of="run")

    def result(self, checkpoint: Checkpoint, progress: bool) -> ExposureResult:
        """All of it."""
        b = self.board
        rngs = np.random.default_rng(self.seed).spawn(7)
        exposed = np.flatnonzero(b.informative)
        others = np.flatnonzero(~b.could.any(axis=1) & b.known) if self.scan else np.zeros(0, dtype=np.intp)
        alone = len(b.family_names) == len(b.names)
        stages = 3 + len(exposed) + len(others) + (0 if alone else draws_of(b)) + EFFECT_TESTS
        kept = Kept(checkpoint)
        with plain_bar(stages, "exposure", unit="parts", shown=progress) as bar:
            if kept.n_found:
                bar.resumed(min(kept.n_found, stages))
            # How many deltas are tried is not known before.
            kept.tell = lambda count: bar.update(min(count, max(0, stages - bar.n)))
            try:
                made = self._parts(kept, rngs, exposed, others)
            finally:  # also where something stops it
                kept.close()
            bar.update(max(0, stages - bar.n))
        whole, margins, placebo, size, singles, later, mixed, control = made
        left = residuals(b, whole.mean)
        checks = {
            "mixing": mixed,
            "control": control,
            "strata": strata_alone(b, whole),
            "months": month_map(b, left),
        }
        examples, families = weights(b, left)
        # where no exposed success can move, p is 1 whatever the results are
        still = self.n_resamples >= TELLING and whole.totals.std() == 0
        floor = 1.0 if still else smallest_margins(b, self.n_resamples, self.reach)
        z_all = standardised((b.right & b.seen).sum(axis=1), whole.by_model.mean(axis=0), whole.by_model.std(axis=0))
        return self._made(
            ruling=judge(margins.p_value, placebo, self.level, floor),
            smallest_p_margins=floor,
            p_margins=margins.p_value,
            p_margins_error=margins.error,
            placebo=placebo,
            totals=whole.totals,
            size=size,
            singles=singles,
            later=later,
            z_all=z_all,
            examples=examples,
            families=families,
            **checks,
        )

    def _parts(
        self, kept: Kept, rngs: list[np.random.Generator], exposed: NDArray[np.intp], others: NDArray[np.intp]
    ) -> tuple[Pass, Combined, Placebo, Effect, dict[int, Single], dict[int, Scan | None], Mixing, Part | None]:
        """What takes long, one part after the other; those that are kept are taken as they are."""
        b, n = self.board, self.n_resamples
        whole = whole_pass(b, n, rng=rngs[0], kept=kept, **self._with)
        margins = family_test(b, whole, n, rng=rngs[1], level=self.reach, kept=kept, **self._with)
        placebo = placebo_test(b, whole.mean, n, rngs[2])
        size = effect(b, level=self.level, rng=rngs[3], n_tables=n, kept=kept, **self._with)
        tests = Singles(b, n_tables=n, steps=self.steps, n_jobs=self._n_jobs, scan=self.scan, seed=self.seed, kept=kept)
        singles: dict[int, Single] = {}
        for model, rng in zip(exposed.tolist(), rngs[4].spawn(len(exposed)), strict=True):
            singles[model] = kept.part(f"model {model}", Single, partial(tests.test, model, rng))
        later: dict[int, Scan | None] = {}
        for model, rng in zip(others.tolist(), rngs[5].spawn(len(others)), strict=True):
            later[model] = kept.part(f"later {model}", Scan, partial(tests.later, model, rng))
        first, second = rngs[6].spawn(2)
        mixed = kept.part("mixing", Mixing, lambda: mixing(b, whole, rng=first, **self._with))
        control = kept.part("control", Part, lambda: negative_control(b, n, rng=second, **self._with))
        return whole, margins, placebo, size, singles, later, mixed, control

    def nothing(self) -> ExposureResult:
        """Every model could have seen all of its examples or none, so that the margins fix every sum."""
        nan = math.nan
        return self._made(
            ruling=Verdict(outcome="not applicable", p_value=nan, level=self.level, rests_on="neither"),
            p_margins=nan,
            p_margins_error=nan,
            smallest_p_margins=nan,
            placebo=Placebo(p_value=nan, assignments=0, smallest_p=nan, n_blocks=0, error=nan),
            totals=np.array([float((self.board.right & self.board.seen).sum())]),
            size=Effect(log_odds=nan, interval=(nan, nan)),
            singles={},
            later={},
            z_all=np.full(len(self.board.names), nan),
            examples=(),
            families=(),
            mixing=None,
            control=None,
            strata=(),
            months=None,
        )

    def _made(
        self,
        *,
        placebo: Placebo,
        totals: NDArray[np.float64],
        size: Effect,
        singles: Mapping[int, Single],
        later: Mapping[int, Scan | None],
        z_all: NDArray[np.float64],
        **rest: Any,
    ) -> ExposureResult:
        b = self.board
        spread = [z for s in singles.values() for z in s.placebo.values() if math.isfinite(z)]
        later_scans = {m: s.later for m, s in singles.items()} | dict(later)
        return ExposureResult(
            p_placebo=placebo.p_value,
            p_placebo_error=placebo.error,
            assignments=placebo.assignments,
            smallest_p=placebo.smallest_p,
            n_blocks=placebo.n_blocks,
            observed=int((b.right & b.seen).sum()),
            expected=float(totals.mean()),
            spread=float(totals.std()),
            effect_log_odds=size.log_odds,
            interval=size.interval,
            exposed_cells=int(b.seen.sum()),
            placebo_spread=float(np.std(spread)) if len(spread) > 1 else math.nan,
            models=self._models(singles, later_scans, z_all),
            scans={b.names[m]: s.scan for m, s in singles.items() if s.scan is not None},
            later_scans={b.names[m]: s for m, s in later_scans.items() if s is not None},
            n_idle=self.n_idle,
            n_models=len(b.names),
            n_families=len(b.family_names),
            families_given=b.families_given,
            n_examples=len(b.ids),
            n_missing=int((b.cells == MISSING).sum()),
            n_everything=int(b.has_all.sum()),
            n_nothing=int((b.known & ~b.seen.any(axis=1)).sum()),
            n_unknown=int((~b.known).sum()),
            n_known_families=len(np.unique(b.families[b.known])),
            n_twins=twins(b),
            n_undated=b.n_undated,
            halved=b.halved,
            n_resamples=self.n_resamples,
            steps=self.steps,
            seed=self.seed,
            source=b.source,
            scored_by=b.scored_by,
            data_digest=b.digest,
            version=__version__,
            **rest,
        )

    def _models(
        self, singles: Mapping[int, Single], later: Mapping[int, Scan | None], z_all: NDArray[np.float64]
    ) -> tuple[ModelExposure, ...]:
        b, nan = self.board, math.nan
        tested = [m for m, s in singles.items() if math.isfinite(s.p_value)]
        adjusted = np.exp(holm_log_adjusted(np.log([singles[m].p_value for m in tested]))).tolist() if tested else []
        holm = dict(zip(tested, adjusted, strict=True))
        placebo = commonest(b, singles)
        rows = []
        for i, name in enumerate(b.names):
            s, after = singles.get(i), later.get(i)
            cutoff = None if b.cutoffs is None or np.isnat(b.cutoffs[i]) else str(b.cutoffs[i])
            rows.append(
                ModelExposure(
                    name=name,
                    family=b.family_names[b.families[i]],
                    cutoff=cutoff,
                    score=float(b.scores[i]),
                    exposed=int(b.seen[i].sum()),
                    references=0 if s is None else s.n_references,
                    observed=int((b.right[i] & b.seen[i]).sum()),
                    expected=nan if s is None else s.expected,
                    excess=nan if s is None else s.observed - s.expected,
                    z=nan if s is None else s.z,
                    z_all=float(z_all[i]) if b.seen[i].any() else nan,
                    z_placebo=placebo.get(i, nan),
                    rank=0 if s is None else s.rank,
                    p_margins=nan if s is None else s.p_margins,
                    p_placebo=nan if s is None else s.p_placebo,
                    p_value=nan if s is None else s.p_value,
                    p_holm=holm.get(i, nan),
                    effective_cutoff=None if s is None or s.scan is None else s.scan.best,
                    p_effective_cutoff=nan if s is None or s.scan is None else s.scan.p_value,
                    later_cutoff=None if after is None else after.best,
                    p_later_cutoff=nan if after is None else after.p_value,
                )
            )
        return tuple(rows)


def twins(board: Board) -> int:
    """Models with the same results as one of another family before them; those with all right or all wrong aside."""
    first: dict[bytes, int] = {}
    some = (board.right.any(axis=1) & (board.cells == 0).any(axis=1)).tolist()
    rows = [(row.tobytes(), f) for row, f, use in zip(board.cells, board.families.tolist(), some, strict=True) if use]
    return sum(first.setdefault(row, f) != f for row, f in rows)


def commonest(board: Board, singles: Mapping[int, Single]) -> dict[int, float]:
    """Standardised excesses of references under the exposure that most of the tested models have."""
    patterns = Counter(board.could[m].tobytes() for m, s in singles.items() if s.placebo)
    if not patterns:
        return {}
    most = patterns.most_common(1)[0][0]
    return next(s.placebo for m, s in singles.items() if board.could[m].tobytes() == most and s.placebo)


def judge(p_margins: float, placebo: Placebo, level: float, smallest_margins: float = 0.0) -> Verdict:
    """The larger p decides; where a test cannot reach the level, as with few ways to give exposures, nothing is told.

    Examples
    --------
    >>> judge(0.001, Placebo(p_value=0.03, assignments=500, smallest_p=0.002, n_blocks=4), 0.05).outcome
    'exposed models score better'
    >>> judge(0.001, Placebo(p_value=0.1, assignments=10, smallest_p=0.1, n_blocks=1), 0.05).outcome
    'cannot tell'
    """
    p = max(p_margins, placebo.p_value)
    basis: Basis = "margins" if p_margins >= placebo.p_value else "placebo"
    outcome: Outcome = "exposed models score better" if p <= level else "no excess found"
    if placebo.assignments < ENOUGH or max(placebo.smallest_p, smallest_margins) > level:
        outcome = "cannot tell"
    return Verdict(outcome=outcome, p_value=p, level=level, rests_on=basis)
