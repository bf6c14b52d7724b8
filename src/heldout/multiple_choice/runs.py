"""Existing runs of one model in several orders, put together item by item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.multiple_choice.items import Items

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """What one model chose in the orders in which its runs showed the options of each item.

    Arrays over arrangements hold all orders of the first item, then those of the second and so on; those of item i are
    `starts[i]` to `starts[i + 1]`, the printed one first.

    Parameters
    ----------
    items : Items
        With their options as printed.
    starts : (n_items + 1,) int array
        Where the orders of each item begin.
    positions : (n_arrangements,) int array
        Place of the right option.
    chosen : (n_arrangements,) int array
        Place of the chosen option; `UNPARSED` where none could be read.
    wrong : (n_arrangements,) bool array
        By the log; an answer that could not be read is wrong.
    scores : (n_arrangements,) float array
        Log-probability of the right option's letter among the letters shown; NaN where it was not logged.
    orders : tuple of (n_orders, n_options) int arrays, optional
        Of each item: `orders[i][j, place]` is the printed option that stood there. None where only the right option's
        places are known.
    model : str
        Its name in the logs.
    names : tuple of str
        Of the runs.
    repeat_rate : float
        How often the same order of the same item was answered alike a second time; NaN where none was asked twice.
    n_repeats : int
        How many second answers that is.
    left_out : mapping from str to tuple of str
        Ids of the items that are not here, by reason.
    not_applicable : str
        Why an order cannot matter in these runs; empty where it can.
    with_text : bool
        Whether questions and options are known.
    """

    items: Items
    starts: NDArray[np.int64]
    positions: NDArray[np.int64]
    chosen: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    scores: NDArray[np.float64]
    orders: tuple[NDArray[np.int64], ...] | None = None
    model: str = "model"
    names: tuple[str, ...] = ()
    repeat_rate: float = math.nan
    n_repeats: int = 0
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_applicable: str = ""
    with_text: bool = True

    @property
    def strata(self) -> NDArray[np.int64]:
        """Number of options of each item."""
        return np.array([len(item.options) for item in self.items], dtype=np.int64)

    @property
    def n_orders(self) -> NDArray[np.int64]:
        """Number of orders of each item, the printed one included."""
        return np.diff(self.starts)

    @classmethod
    def from_arrays(
        cls,
        printed_scores: ArrayLike,
        printed_answer: ArrayLike,
        scores: ArrayLike,
        answer: ArrayLike,
        *,
        ids: Sequence[object] | None = None,
        model: str = "model",
        source: str = "arrays",
    ) -> Runs:
        """Log-probabilities of the options as printed and in other orders.

        Parameters
        ----------
        printed_scores : (n_items, n_options) array
            Of the options' letters in the printed order, by place; NaN pads items with fewer options.
        printed_answer : (n_items,) int array
            Place of the right option, from 0.
        scores : (n_items, n_options) or (n_orders, n_items, n_options) array
            The same in one or several other orders, drawn for each item by itself.
        answer : (n_items,) or (n_orders, n_items) int array
            Place of the right option there.
        ids : sequence, optional
            Names of the items; numbered without.
        model, source : str
            What they are called.

        Returns
        -------
        Runs
            Without texts and without orders.
        """
        raise NotImplementedError

    def select(self, keep: Sequence[int] | NDArray[np.int64]) -> Runs:
        """Some of the items.

        Parameters
        ----------
        keep : sequence of int
            Their numbers.

        Returns
        -------
        Runs
            In the order of `keep`.
        """
        raise NotImplementedError

    def digest(self) -> str:
        """Tells these answers from others.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        raise NotImplementedError


def read_runs(
    paths: Paths,
    *,
    items: Items | None = None,
    printed: str | Path | None = None,
    model: str | None = None,
    metric: str | None = None,
    task: str | Sequence[str] | None = None,
    missing: str | None = None,
) -> Runs:
    """Read existing runs of one model in several orders.

    Items are joined by question and set of options, white space aside; their orders are those of the logged choices.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Logs of inspect_ai (`.eval`, `.json`), sample files of lm-evaluation-harness (`samples_*.jsonl`), folders of
        these, or an `.npz` of log-probabilities.
    items : Items, optional
        The benchmark as printed.
    printed : str or Path, optional
        The run, one of `paths` or in one of them, whose order is the printed one; needed without `items`.
    model : str, optional
        Which one, where there are runs of several.
    metric : str, optional
        Scorer of inspect_ai, or `metric,filter` of the harness, that says what is right.
    task : str or sequence of str, optional
        Tasks to read, by name or pattern; all without.
    missing : {"drop"}, optional
        Go on without the items that are not in every run, or not in the printed order. Refused otherwise.

    Returns
    -------
    Runs
        Items, their orders and what was chosen.
    """
    raise NotImplementedError
