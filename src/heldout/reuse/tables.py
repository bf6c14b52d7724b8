"""A pool, or a comparison, as rows and columns of plain values, for JSON and data frames."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.frames import from_rows
from heldout.reuse.similarity import SimilarityResult

if TYPE_CHECKING:
    from heldout.reuse.compare_result import Parted
    from heldout.reuse.result import Pool


def model_rows(pool: Pool) -> list[dict[str, Any]]:
    """The leaderboard, one row per model, best first."""
    columns = {**pool.columns, "low": "low", "high": "high", "n_examples": "n_observed"}
    band = {model: number for number, members in enumerate(pool.groups, start=1) for model in members}
    rows = []
    for place, i in enumerate(pool.order.tolist(), start=1):
        row = {"name": pool.names[i], "place": place, "group": band[i]}
        row |= {key: getattr(pool, name)[i].item() for key, name in columns.items()}
        if pool.ranks is not None:
            row["rank_low"], row["rank_high"] = pool.ranks[i].tolist()
        rows.append(row)
    return rows


def neighbour_rows(pool: Pool) -> list[dict[str, Any]]:
    """Each model against the next one down, by name."""
    pairs = ((c, pool.named((c.better, c.worse))) for c in pool.neighbours)
    return [asdict(c) | {"better": better, "worse": worse} for c, (better, worse) in pairs]


def neighbour_columns(pool: Pool) -> dict[str, list[Any]]:
    """Neighbours with plain p-values, beside their logarithms, which do not underflow."""
    logs = {"p_value": "log_p_value", "adjusted_p_value": "log_adjusted"}
    return from_rows([row | {name: math.exp(row[log]) for name, log in logs.items()} for row in neighbour_rows(pool)])


def parted_columns(kind: type[Parted], examples: tuple[Parted, ...]) -> dict[str, list[Any]]:
    """Examples on which two models part, with all columns where there are none."""
    return from_rows([vars(example) for example in examples], [column.name for column in fields(kind)])


def pair_columns(names: tuple[str, ...], alike: SimilarityResult) -> dict[str, Any]:
    """How alike any two models are, in the order of the table."""
    first, second = ([names[i] for i in models] for models in np.triu_indices(len(names), 1))
    columns = {"similarity": alike.agreement(), "if_independent": alike.baseline(), "kappa": alike.kappa()}
    return {"first": first, "second": second, **columns}
