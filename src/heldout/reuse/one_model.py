"""What can still be told of a single model, and what would tell more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from heldout.predictions import Predictions
from heldout.reuse.bounds import testable_models
from heldout.reuse.few import WIDE
from heldout.reuse.grouped import GroupedPool, Grouping
from heldout.reuse.needed import examples_within
from heldout.reuse.number_budget import usual_epsilon
from heldout.reuse.scored import ScoredPool
from heldout.reuse.similarity import similarity
from heldout.reuse.thresholds import Number, exact
from heldout.reuse.unit import POINTS
from heldout.statistics import clopper_pearson
from heldout.summary.numbers import exact_text


def one_model(table: Predictions, grouping: Grouping | None, *, epsilon: Number | None, delta: Number) -> str:
    """What can still be told of a single model, and what would tell more."""
    told = (
        _one_right_or_wrong(table, grouping, epsilon, delta) if table.is_binary else _one_score(table, grouping, delta)
    )
    return (
        f"there is only one model, {table.names[0]} ({table.source}), and a comparison takes two; what can be told of "
        f"it alone: {told}. Add another model's answers on the same examples."
    )


def _one_score(table: Predictions, grouping: Grouping | None, delta: Number) -> str:
    pool, share = ScoredPool(table, grouping), float(exact(delta))
    low, high = (float(end[0]) for end in pool.intervals(share))
    return (
        f"its mean score is {float(pool.means[0]):.4f}, between {low:.4f} and {high:.4f} with {100 * (1 - share):g} %, "
        f"over {table.n_examples:,} {'example' if table.n_examples == 1 else 'examples'}"
    )


def _one_right_or_wrong(table: Predictions, grouping: Grouping | None, epsilon: Number | None, delta: Number) -> str:
    n = int(table.observed.sum()) if table.observed is not None else table.n_examples
    wrong, share = int(table.wrong.sum()), float(exact(delta))
    if grouping is None:
        low, high = clopper_pearson(wrong, n, level=share)
    else:
        grouped = GroupedPool(table, similarity(table), grouping)
        low, high = (float(end[0]) for end in grouped.intervals(share))
    told = f"its error is {POINTS.score(wrong / n)} ({POINTS.scores(low, high)} with {100 * (1 - share):g} %)"
    if 0 < wrong < n and grouping is None:
        p = Fraction(wrong, n)
        bar = usual_epsilon(n, p, 1, delta) if epsilon is None else float(exact(epsilon))
        if bar < WIDE:
            alone = testable_models(n, p, 1, epsilon=bar if epsilon is None else epsilon, delta=delta).union
            told += f", and by the union bound the set takes {exact_text(alone)} models like it at {POINTS.bar(bar)}"
        half = (high - low) / 4
        more = examples_within(np.array([wrong / n]), np.ones((1, 1)), half, share)
        if more is not None:
            told += f"; half as wide an error bar, {POINTS.bar(half)}, takes about {more:,} examples"
    return told.replace("\N{NO-BREAK SPACE}", " ")
