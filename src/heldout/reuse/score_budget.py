"""A budget from scores, where cells are not right or wrong."""

from __future__ import annotations

import math

import numpy as np

from heldout._version import __version__
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.reuse.few import nothing_fits, nothing_needed, too_few
from heldout.reuse.first import may_be_among
from heldout.reuse.grouped import Grouping
from heldout.reuse.leaderboard import MOST_RANKED, rank_ranges, tied_groups
from heldout.reuse.needed import round_up, score_needed
from heldout.reuse.result import ScoreBudgetResult, ScorePool
from heldout.reuse.scored import ScoredPool, ScorePairs
from heldout.reuse.trials import Trials
from heldout.reuse.winner import Winner, expected_drop


def score_budget(
    table: Predictions,
    grouping: Grouping | None,
    *,
    epsilon: float | None,
    delta: float,
    gap: float,
    seed: int,
    tasks: dict[str, int],
    progress: bool = False,
) -> ScoreBudgetResult:
    """What a table of scores says of its models; `budget` calls it where cells are not right or wrong."""
    pool = ScoredPool(table, grouping)
    k = table.n_models
    if k > MOST_RANKED:
        raise InputError(
            f"{table.source} has {k:,} models with scores, and every pair of them would be compared; at most "
            f"{MOST_RANKED:,} are (`exclude`), or count a score of 0.5 or more as right (`threshold=0.5`)."
        )
    tests = ScorePairs(pool, delta, progress=progress)
    found = _score_pool(pool, tests, delta, np.random.default_rng(seed))
    error_bar, groups = found.epsilon["union"], found.example_groups
    target = round_up(error_bar) if epsilon is None else epsilon
    best, second = found.order[:2].tolist()
    lead = tests.compare(best, second).difference, float(tests.error[tests.place(best, second)])
    testable = pool.testable(target, delta)
    needed = score_needed(pool, tests.error, lead, epsilon=target, delta=delta, gap=gap, reach=error_bar)
    units = (int(pool.moments.n.max()), "example") if groups is None else (groups.n_groups, "group")
    few = too_few(units[0], error_bar, delta)
    if few:
        testable, needed = nothing_fits(*units), nothing_needed(needed)
    counts = table.trials if table.trials is None or table.observed is None else table.trials[table.observed]
    return ScoreBudgetResult(
        n_examples=table.n_examples,
        epsilon=target,
        delta=delta,
        testable=testable,
        pool=found,
        needed=needed,
        trials=Trials.of(counts, found.between, found.within, found.trial_share, tests.trial_share),
        too_few=few,
        tasks=tasks,
        seed=seed,
        source=table.source,
        scored_by=table.scored_by,
        data_digest=table.digest(),
        version=__version__,
    )


def _score_pool(pool: ScoredPool, tests: ScorePairs, delta: float, rng: np.random.Generator) -> ScorePool:
    """What holds for these models, whatever error bar is asked for."""
    table, means = pool.table, pool.means
    level = delta / table.n_models
    low, high = pool.intervals(level)
    order = np.argsort(-means, kind="stable")
    between, within, share = pool.variances()
    error_bar = pool.reach(delta)
    codes = None if pool.grouping is None else pool.grouping.codes
    drop = expected_drop(table.scores, observed=table.observed, codes=codes, rng=rng)
    pairs = zip(order[:-1].tolist(), order[1:].tolist(), strict=True)
    best = int(order[0])
    return ScorePool(
        names=table.names,
        values=means,
        low=low,
        high=high,
        n_observed=pool.moments.n.astype(np.int64),
        epsilon={"union": error_bar, "similarity": error_bar},
        level={"union": level, "similarity": math.nan},
        order=order,
        ranks=rank_ranges(tests),
        neighbours=tuple(tests.compare(better, worse) for better, worse in pairs),
        groups=tied_groups(tests, order),
        n_significant=tests.n_significant or 0,
        n_missing=table.n_missing,
        top=may_be_among(tests, order),
        winner=Winner(model=best, name=table.names[best], score=float(means[best]), expected_drop=drop),
        example_groups=pool.described(),
        between=between,
        within=within,
        trial_share=share,
    )
