"""Existing runs of one model in several orders, put together item by item."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.logs import of_harness, of_inspect
from heldout.multiple_choice.logs.designs import Order
from heldout.multiple_choice.logs.joined import DROP, Joined, join
from heldout.multiple_choice.logs.log import Answered, Key, Log, differences, key_of
from heldout.multiple_choice.logs.score_arrays import ScoreArrays, check_arrays, read_score_file
from heldout.multiple_choice.logs.scored_alone import SCORED_ALONE, Placed, merely_reordered
from heldout.predictions import inspect_logs, lm_eval
from heldout.predictions.keys import Options
from heldout.predictions.values import listing
from heldout.scorers.letters import letter_score

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
    n_refused : int
        Arrangements that an endpoint refused to answer; their option is unread.
    left_out : mapping from str to tuple of str
        Ids of the items that are not here, by reason.
    differences : mapping from str to tuple of str
        What the runs differ in besides their orders, such as the date or the version of the model.
    not_applicable : str
        Why an order cannot matter in these runs; empty where it can.
    with_text : bool
        Whether questions and options are known.

    Examples
    --------
    >>> import numpy as np
    >>> import heldout
    >>> printed = np.log([[0.7, 0.1, 0.2], [0.1, 0.8, 0.1]])
    >>> shuffled = np.log([[0.5, 0.2, 0.3], [0.4, 0.3, 0.3]])
    >>> runs = heldout.Runs.from_arrays(printed, [0, 1], shuffled, [2, 0])
    >>> runs.positions.tolist(), runs.wrong.tolist()
    ([0, 2, 1, 0], [False, True, False, False])
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
    n_refused: int = 0
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    differences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_applicable: str = ""
    with_text: bool = True

    @property
    def strata(self) -> NDArray[np.int64]:
        """Of each item: number of options, and stratum where there are several."""
        return self.items.strata

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
        arrays = check_arrays(printed_scores, printed_answer, scores, answer, ids=ids, source=source)
        return _of_arrays(arrays, model)

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
        chosen = [int(i) for i in keep]
        parts = [np.arange(self.starts[i], self.starts[i + 1]) for i in chosen]
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return replace(
            self,
            items=Items(tuple(self.items[i] for i in chosen), self.items.source),
            starts=np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64),
            positions=self.positions[flat],
            chosen=self.chosen[flat],
            wrong=self.wrong[flat],
            scores=self.scores[flat],
            orders=None if self.orders is None else tuple(self.orders[i] for i in chosen),
        )

    def digest(self) -> str:
        """Tells these answers from others.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        told = [item.told for item in self.items]
        told.append([None if self.orders is None else [rows.tolist() for rows in self.orders]])
        content = hashlib.sha256(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        for array in (self.starts, self.positions, self.chosen, self.wrong, self.scores):
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


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
        these, or an `.npz` with the log-probabilities `TASK_original_loglik` and `TASK_permuted_loglik`, a row per
        item, and the places of the right options, `TASK_original_target` and `TASK_permuted_target`.
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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import heldout
    >>> path = Path(tempfile.mkdtemp()) / "scores.npz"
    >>> scores = np.log([[0.7, 0.1, 0.2], [0.1, 0.8, 0.1]])
    >>> np.savez(path, original_loglik=scores, original_target=[0, 1], permuted_loglik=scores, permuted_target=[2, 0])
    >>> runs = heldout.read_runs(path)
    >>> len(runs.items), runs.wrong.tolist()
    (2, [False, True, False, True])
    """
    files = _files(paths)
    if missing not in (None, DROP):
        raise InputError(f'`missing` is {missing!r}; "{DROP}" is all it can be.')
    source = files[0].name if len(files) == 1 else f"{len(files)} runs"
    arrays = [path for path in files if path.suffix.lower() == ".npz"]
    if arrays:
        if len(files) > 1 or items is not None or printed is not None:
            raise InputError(
                f"{arrays[0].name} holds all orders of its items by itself; give no other runs, `items` or `printed`."
            )
        name, scores = read_score_file(arrays[0], task)
        return _of_arrays(scores, model or name)
    logs = _logs(files, model, metric, task, source=source)
    as_printed = None if printed is None else _named(printed, logs)
    return _flat(join(logs, items, as_printed, missing=missing, source=source), logs, source)


def _files(paths: Paths) -> list[Path]:
    """Files of runs, in the order given; a folder's by name."""
    given = [Path(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    if not given:
        raise InputError("`paths` names no run.")
    files: dict[Path, Path] = {}
    for path in given:
        if not path.exists():
            raise InputError(f"{path} does not exist.")
        found = [path] if path.is_file() else lm_eval.sample_files(path) or inspect_logs.log_files(path)
        if not found:
            raise InputError(
                f"{path} holds no logs of inspect_ai (.eval, .json) and no samples of lm-evaluation-harness "
                "(samples_*.jsonl, written with --log_samples)."
            )
        files |= {file.resolve(): file for file in found}
    return list(files.values())


def _logs(
    files: Sequence[Path], model: str | None, metric: str | None, task: str | Sequence[str] | None, *, source: str
) -> list[Log]:
    """Logs of one model on the tasks asked for."""
    options = Options(tasks=() if task is None else (task,) if isinstance(task, str) else tuple(task))
    harness = of_harness.Harness(metric)
    logs = []
    for path in files:
        if path.suffix.lower() == ".jsonl" or path.name.endswith(".jsonl.gz"):
            if options.may_choose(lm_eval.task_of(path)):
                logs.append(harness.read(path))
        else:
            logs.append(of_inspect.read(path, metric))
    tasks = options.chosen_tasks([*map(lm_eval.task_of, files), *(log.task for log in logs)], source=source)
    logs = [log for log in logs if not tasks or log.task in tasks]
    models = list(dict.fromkeys(log.model for log in logs))
    if model is not None and model not in models:
        raise InputError(f"{source}: no run is of the model {model!r} (`model`); there is {listing(models)}.")
    if model is None and len(models) > 1:
        raise InputError(
            f"{source}: the runs are of {len(models)} models, {listing(models)}, and orders are compared within one; "
            f"choose it with `model={models[0]!r}`."
        )
    return [log for log in logs if model in (None, log.model)]


def _named(printed: str | Path, logs: Sequence[Log]) -> list[Path]:
    """Files of the run that shows the printed order, by path, folder or name."""
    wanted = Path(printed)
    whole = wanted.resolve()
    found = [log.path for log in logs if whole == log.path.resolve() or whole in log.path.resolve().parents]
    found = found or [log.path for log in logs if str(printed) in (log.path.name, log.path.stem)]
    if not found:
        raise InputError(
            f"`printed` is {str(printed)!r}, which is not one of the runs: {listing([log.path.name for log in logs])}."
        )
    return found


def _flat(joined: Joined, logs: Sequence[Log], source: str) -> Runs:
    """Items and answers as flat arrays."""
    answered = [each for rows in joined.rows for _, each in rows]
    runs = Runs(
        items=Items(tuple(_of_tasks(joined.items, logs)), source),
        starts=np.cumsum([0, *map(len, joined.rows)], dtype=np.int64),
        positions=np.array([each.answer for each in answered], dtype=np.int64),
        chosen=np.array([each.chosen for each in answered], dtype=np.int64),
        wrong=np.array([not each.right for each in answered], dtype=bool),
        scores=np.array([letter_score(each.log_probs, each.answer) for each in answered], dtype=np.float64),
        orders=tuple(np.array([order for order, _ in rows], dtype=np.int64) for rows in joined.rows),
        model=logs[0].model,
        names=tuple(log.path.name for log in logs),
        repeat_rate=joined.n_same / joined.n_repeats if joined.n_repeats else math.nan,
        n_repeats=joined.n_repeats,
        left_out={reason: tuple(ids) for reason, ids in joined.left_out.items()},
        differences=differences(logs),
    )
    alone = all(log.one_by_one for log in logs) or merely_reordered(map(_placed, joined.rows))
    return replace(runs, not_applicable=SCORED_ALONE if alone else "")


def _of_tasks(items: Sequence[Item], logs: Sequence[Log]) -> list[Item]:
    """Items in the strata of the tasks they are in, where there are several."""
    tasks: dict[Key, dict[str, None]] = {}
    for log in logs:
        for answered in log.answered:
            tasks.setdefault(answered.key, {})[log.task] = None
    named = [" ".join(sorted(tasks[key_of(item.question, item.options)])) for item in items]
    if len(set(named)) < 2:
        return list(items)
    return [
        replace(item, stratum=f"{item.stratum}/{name}" if item.stratum else name)
        for item, name in zip(items, named, strict=True)
    ]


def _placed(rows: Sequence[tuple[Order, Answered]]) -> list[Placed]:
    """Scores of one item's arrangements by place and by printed option, where they were logged."""
    told = [(list(order), np.array(each.log_probs)) for order, each in rows if each.log_probs is not None]
    return [(scores, scores[np.argsort(order)]) for order, scores in told]


def _of_arrays(arrays: ScoreArrays, model: str) -> Runs:
    """Scores as runs; which orders were shown is not known, but where the right option stood is."""
    n_orders, n_items = arrays.answers.shape
    chosen = arrays.chosen
    alone = arrays.merely_reordered()
    if not alone:
        arrays.check_places()
    return Runs(
        items=arrays.items,
        starts=np.arange(n_items + 1, dtype=np.int64) * n_orders,
        positions=arrays.answers.T.ravel(),
        chosen=chosen.T.ravel(),
        wrong=(chosen != arrays.answers).T.ravel(),
        scores=arrays.letter_scores.T.ravel(),
        model=model,
        names=(arrays.items.source,),
        not_applicable=SCORED_ALONE if alone else "",
        with_text=False,
    )
