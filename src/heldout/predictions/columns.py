"""Tables with named columns (CSV, Parquet, rows of JSON) to `Predictions`.

Three layouts. *Wide*: one row an example, with an optional id, the label, and one column a model; without a label
the models' columns are 0/1, or scores. *Long*: one row a model and example (or one of its trials), with a column that
names the model; without that column, the file is one model's. *One row a model*: a column that names it, and one column
an example.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.cells import read_answers
from heldout.predictions.join import different_examples
from heldout.predictions.keys import (
    BESIDE,
    CORRECT,
    COUNT,
    EXAMPLE,
    INDEX,
    ITEMS,
    LABEL,
    LABEL_LIKE,
    METADATA,
    MODEL,
    PREDICTION,
    ROLE_NAMES,
    STRONG_NAMES,
    SUCCESSES,
    TRIAL,
    Options,
    Role,
    check_key,
    flag,
    pick,
    plain_name,
)
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.trials import COUNTED, Scale, Scored, pooled_trials, read_scores
from heldout.predictions.values import ABSENT, Codes, as_text, is_gap, listing

Column = Any  # a list, tuple or array
TRUTH = {"true": 1, "false": 0}
SUMMARIES = frozenset(["accuracy", "average", "avg", "mean", "overall", "total", "pass_rate"])  # of a model


def from_columns(
    columns: dict[str, Column], options: Options, *, source: str, name: str, text: bool = False
) -> Predictions:
    """A table from its columns.

    Parameters
    ----------
    columns : dict
        Columns of equal length, in file order.
    source : str
        File name, for errors and the record.
    name : str
        The model's name where the table holds one model without saying which.
    text : bool
        Cells are text, as in CSV: numbers are read from it, and an empty cell is missing.
    """
    options.refuse_metric(source)
    columns = _of_tasks(columns, options, source=source)
    saved = {name: columns[key] for key, name in options.saved(columns).items()}
    columns = {key: column for key, column in columns.items() if not key.startswith(BESIDE)}
    beside = saved | {key: column for key, column in columns.items() if _is_beside(key, column, options)}
    read = {key: column for key, column in columns.items() if key not in beside or plain_name(key) in ROLE_NAMES}
    model, example, roles = _roles(read, options, source=source)
    found = {role: columns[key] for role, key in roles.items() if key is not None}
    if not found.keys() & {"correct", "predictions"}:
        if _models_in_rows(read, model, example, options, source=source):
            return _row_per_model(read, model, options, source=source, text=text)
        if model is not None or options.predictions_key is not None:
            raise InputError(
                f"{source} has neither a column `correct` (or `score`, `resolved`, `passed`) nor both `prediction` and "
                "`label`; it has "
                f"{listing(list(columns), len(columns))}, so say which they are with {flag('correct_key')}, or with "
                f"{flag('predictions_key')} and {flag('labels_key')}."
            )
        return _wide(read, example, roles.get("labels"), options, source=source, text=text, beside=beside)
    ids = None if example is None else columns[example]
    if text:
        found = _read_text(found, options.codes)
    if "correct" in found:
        found = {"scores": found["correct"]}
    rows = _Rows.find(columns, options, source=source)
    if model is None and not (rows.several and ids is not None):
        trials = rows.counts(found, len(next(iter(found.values()))), source=source)
        scale = options.scale if "scores" in found and trials is None else None
        return make_table(
            **found,
            trials=None if trials is None else trials[None],
            scale=scale,
            names=[name],
            ids=ids,
            missing=options.codes,
            source=source,
            columns=beside,
        )
    if ids is None:
        raise InputError(
            f"{source} has no column for the example's id, such as `id`; say which with {flag('ids_key')}."
        )
    models = [name] * len(ids) if model is None else columns[model]
    return _long(models, _with_tasks(ids, models, columns, rows), found, rows, options, source=source, beside=beside)


def _is_beside(key: str, column: Column, options: Options) -> bool:
    """Whether a column tells of the examples; one of marks may be a model's, whatever its name."""
    if key in options.own_keys():
        return False
    if not options.beside(key) and (plain_name(key) not in ITEMS or not options.exclude.keeps(key)):
        return False
    return key in options.columns or not all(_looks_numeric(value) for value in column[:100])


def _of_tasks(columns: dict[str, Column], options: Options, *, source: str) -> dict[str, Column]:
    """Rows of the tasks that were asked for."""
    if not options.tasks:
        return columns
    key = next((key for key in columns if plain_name(key) == "task"), None)
    if key is None:
        raise InputError(
            f"{source} has no column `task`, so that task={options.tasks[0]!r} (--task) chooses nothing; it has "
            f"{listing(list(columns), len(columns))}."
        )
    tasks = [as_text(value) for value in columns[key]]
    chosen = options.chosen_tasks(list(dict.fromkeys(tasks)), source=source)
    kept = np.flatnonzero([task in chosen for task in tasks])
    return {name: _pick(column, kept) for name, column in columns.items()}


def _pick(column: Column, rows: NDArray[np.intp]) -> Column:
    return column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows.tolist()]


def _with_tasks(ids: Column, models: Column, columns: dict[str, Column], rows: _Rows) -> Column:
    """Ids as they are, or `task/id` where several tasks number their examples alike."""
    key = next((key for key in columns if plain_name(key) == "task"), None)
    if key is None or rows.several:
        return ids
    tasks = [as_text(value) for value in columns[key]]
    names = [as_text(value) for value in ids]
    pairs = list(zip(map(as_text, models), names, strict=True))
    if len(set(pairs)) == len(pairs) or len({*zip(pairs, tasks, strict=True)}) < len(pairs):
        return ids
    return [f"{task}/{name}" for task, name in zip(tasks, names, strict=True)]


@dataclass(frozen=True)
class _Rows:
    """What rows say of trials: which one a row is, how many it counts, how many of them succeeded."""

    trial: Column | None
    count: Column | None
    successes: bool
    repeats: bool  # rows of one model and example are trials, as the caller says

    @classmethod
    def find(cls, columns: dict[str, Column], options: Options, *, source: str) -> _Rows:
        wanted = options.trials_key
        if wanted is not None:
            check_key(columns, wanted, TRIAL.option, source=source, noun="column")
        spelled = {plain_name(key): key for key in columns}
        count = next((spelled[name] for name in COUNT.usual if name in spelled), None)
        if wanted is not None and plain_name(wanted) in COUNT.usual:
            count, wanted = wanted, None
        trial = wanted or next((spelled[name] for name in TRIAL.usual if name in spelled), None)
        used = options.correct_key or next((spelled[n] for n in CORRECT.usual + CORRECT.weak if n in spelled), None)
        successes = plain_name(used or "") in SUCCESSES.usual or (
            used is None and any(name in spelled for name in SUCCESSES.usual)
        )
        return cls(
            None if trial is None else columns[trial],
            None if count is None else columns[count],
            successes,
            options.repeats_are_trials,
        )

    @property
    def several(self) -> bool:
        """Whether rows of one model and example may be trials."""
        return self.trial is not None or self.repeats

    def counts(self, found: dict[str, Column], n: int, *, source: str) -> NDArray[np.int64] | None:
        """Trials that each row counts; successes become shares in `found`. None where rows are single trials."""
        if self.count is None or "scores" not in found:
            if self.successes:
                raise InputError(
                    f"{source} counts successes but not trials; name the column of their numbers with "
                    f"{flag('trials_key')}."
                )
            return None
        trials = np.array([int(float(value)) for value in self.count], dtype=np.int64)
        if self.successes:
            pairs = zip(found["scores"], trials.tolist(), strict=True)
            found["scores"] = np.array([None if is_gap(k) else f"{int(k)}/{t}" for k, t in pairs], dtype=object)
        return trials


def _roles(
    columns: dict[str, Column], options: Options, *, source: str
) -> tuple[str | None, str | None, dict[str, str | None]]:
    """Columns of the model's name, of the example's id, and of what is read of each cell."""
    taken = {key for key in (options.predictions_key, options.correct_key, options.labels_key) if key is not None}

    def find(role: Role, wanted: str | None, *, weak: bool = False) -> str | None:
        key = pick(columns, wanted, role, source=source, noun="column", weak=weak, taken=taken)
        if key is not None:
            taken.add(key)
        return key

    model = find(MODEL, options.names_key)
    example = find(EXAMPLE, options.ids_key, weak=True)
    known = ROLE_NAMES | METADATA
    others = [key for key in columns if key not in taken and plain_name(key) not in known]
    # else other columns may be the models of a wide table
    alone = model is not None or all(options.exclude.fitting(key) for key in others)
    label = find(LABEL, options.labels_key)
    correct = answer = None
    if options.correct_key is not None or options.predictions_key is None:
        correct = find(CORRECT, options.correct_key, weak=alone)
        if correct is None and alone:
            correct = find(SUCCESSES, None)
    if options.correct_key is None:
        answer = find(PREDICTION, options.predictions_key, weak=alone)
    if correct is not None:  # the grader's word, who may accept more than the label's own spelling
        return model, example, {"correct": correct}
    if label is None and (alone or answer is not None):
        label = find(LABEL, None, weak=True)
    if label is None:
        answer = None  # answers without labels say nothing about who is right
    return model, example, {"predictions": answer, "labels": label}


def _wide(
    columns: dict[str, Column],
    example: str | None,
    label: str | None,
    options: Options,
    *,
    source: str,
    text: bool,
    beside: dict[str, Column],
) -> Predictions:
    names = [key for key in columns if key not in (example, label) and not INDEX.fullmatch(plain_name(key))]
    if not names:
        raise InputError(f"{source} has no column of a model beside {listing(list(columns), 8)}.")
    names = options.exclude.kept(names)
    _check_names(names, label, source=source)
    cells = {key: columns[key] for key in names}
    labels = None if label is None else columns[label]
    if text and labels is None:
        cells = {key: text_marks(column, options.codes) for key, column in cells.items()}
    elif text and labels is not None:
        *read, labels = text_classes([*cells.values(), labels], options.codes)
        cells = dict(zip(names, read, strict=True))
    _check_strays(cells, labels, source=source)
    matrix = _stack(list(cells.values()))
    where = "scores" if labels is None else "predictions"
    try:
        return make_table(
            **{where: matrix},
            scale=options.scale if labels is None else None,
            labels=labels,
            names=names,
            ids=None if example is None else columns[example],
            missing=options.codes,
            source=source,
            columns=beside,
        )
    except InputError as error:
        if labels is None:
            raise InputError(
                f"{str(error).removesuffix('.')}; without a column `label`, {flag('labels_key')}, the columns "
                f"{listing(names)} must hold 0 and 1, or scores."
            ) from error
        raise


def _check_names(names: list[str], label: str | None, *, source: str) -> None:
    """A column that is no model's by its name would be read as one, and the numbers be nonsense."""
    for name in names:
        if label is None and plain_name(name) in LABEL_LIKE:
            raise InputError(
                f"{source}: `{name}` looks like the labels: say so with labels_key={name!r} (--labels-key {name}), or "
                "rename it."
            )
    for name in names:
        if plain_name(name) in ROLE_NAMES | METADATA:
            raise InputError(
                f"{source}: the column `{name}` looks like no model's: leave it out with exclude={name!r} "
                f"(--exclude {name}), or rename it if it is one."
            )


def _check_strays(cells: dict[str, Column], labels: Column | None, *, source: str) -> None:
    """A column of remarks beside class numbers would pass for a model that is always wrong."""
    if labels is None or not any(_looks_numeric(v) for v in labels[:1]):
        return
    for key, column in cells.items():
        there = [v for v in column[:1000] if v is not None]
        if there and not any(_looks_numeric(v) for v in there):
            raise InputError(
                f"{source}: the column {key!r} holds text such as {there[0]!r} but labels are numbers such as "
                f"{labels[0]}; if it is no model's, leave it out with exclude={key!r} (--exclude {key})."
            )


def _looks_numeric(value: Any) -> bool:
    return _number(value) is not None if isinstance(value, str) else isinstance(value, (int, float, np.number))


def _stack(columns: list[Column]) -> NDArray[Any]:
    """One row a column; numbers stay numbers where every column is an array of them."""
    if all(isinstance(column, np.ndarray) and column.dtype.kind in "biuf" for column in columns):
        return np.array(columns)
    matrix = np.empty((len(columns), len(columns[0])), dtype=object)
    for row, column in zip(matrix, columns, strict=True):
        row[:] = column
    return matrix


def _read_text(found: dict[str, Column], codes: Codes) -> dict[str, Column]:
    """Cells of a CSV in their roles."""
    if "correct" in found:
        return {"correct": text_marks(found["correct"], codes)}
    return dict(zip(found, text_classes(list(found.values()), codes), strict=True))


def text_classes(columns: list[Column], codes: Codes) -> list[NDArray[Any]]:
    """Text as numbers if every cell of all columns is one, else as it stands; None where empty or a code.

    Each distinct text is looked at once: a large table has few.

    Examples
    --------
    >>> text_classes([["1", ""], ["2", "nan"]], Codes())
    [array([1, None], dtype=object), array([2, nan], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes())
    [array(['1', None], dtype=object), array(['2', 'x'], dtype=object)]
    >>> text_classes([["1", ""], ["2", "x"]], Codes("x"))
    [array([1, None], dtype=object), array([2, None], dtype=object)]
    """
    gaps = _gaps(set().union(*columns), codes)
    distinct = set().union(*columns) - gaps.keys()
    values = {text: _number(text) for text in distinct}
    if None in values.values():
        values = {text: text for text in distinct}
    values |= gaps
    return [np.array([values[cell] for cell in column], dtype=object) for column in columns]


def text_marks(column: Column, codes: Codes) -> NDArray[Any]:
    """The same for right and wrong, which may also be spelled true and false."""
    values: dict[str, Any] = {text: TRUTH.get(text.lower(), _number(text)) for text in set(column)}
    values = {text: text if value is None else value for text, value in values.items()} | _gaps(set(column), codes)
    return np.array([values[cell] for cell in column], dtype=object)


def _gaps(cells: set[str], codes: Codes) -> dict[str, None]:
    """What marks a missing cell."""
    found = {str(code): code for code in codes if str(code) in cells}
    for code in found.values():
        codes.meet(code)
    return dict.fromkeys(["", *found])


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _models_in_rows(
    columns: dict[str, Column], model: str | None, example: str | None, options: Options, *, source: str
) -> bool:
    """Whether each row is a model and each column an example."""
    if options.models_axis is not None:
        return options.models_axis == 0
    if model is None or options.own_keys() - {None, options.names_key}:
        return False
    usual = METADATA | STRONG_NAMES
    rest = [
        key for key in columns if key != model and plain_name(key) not in usual and not options.exclude.fitting(key)
    ]
    if example is not None or not rest:
        return False
    strays = [key for key in rest if not all(_is_score(v) for v in columns[key])]
    if strays and len(strays) < len(rest):
        raise InputError(
            f"{source} seems to have one row per model, but the column `{strays[0]}` holds no scores: leave it out "
            f"with exclude={strays[0]!r} (--exclude {strays[0]}); or name the column of right and wrong with "
            "correct_key (--correct-key), and that of example ids with ids_key (--ids-key)."
        )
    return not strays


def _is_score(value: Any) -> bool:
    if isinstance(value, str):
        return value == "" or value.lower() in TRUTH or bool(COUNTED.fullmatch(value)) or _number(value) is not None
    return is_gap(value) or isinstance(value, (bool, int, float, np.number, np.bool_))


def _row_per_model(
    columns: dict[str, Column], model: str | None, options: Options, *, source: str, text: bool
) -> Predictions:
    """One row a model, one column an example; what stands for no example must be left out by name."""
    if model is None:  # asked for with models_axis=0: the first column that is no score names the models
        model = next((key for key, column in columns.items() if not all(_is_score(v) for v in column)), None)
    names = None if model is None else [as_text(value) for value in columns[model]]
    examples = options.exclude.kept_columns(key for key in columns if key != model)
    strange = [key for key in examples if plain_name(key) in METADATA | STRONG_NAMES | SUMMARIES]
    if strange:
        raise InputError(
            f"{source}: the column `{strange[0]}` looks like no example's: leave it out with exclude={strange[0]!r} "
            f"(--exclude {strange[0]}), or rename it if it is one."
        )
    cells = [text_marks(columns[key], options.codes) if text else columns[key] for key in examples]
    matrix = np.empty((len(columns[examples[0]]), len(examples)), dtype=object)
    for j, column in enumerate(cells):
        matrix[:, j] = column
    kept = list(range(len(matrix))) if names is None else [i for i, n in enumerate(names) if options.exclude.keeps(n)]
    return make_table(
        scores=matrix[kept],
        scale=options.scale,
        names=None if names is None else [names[i] for i in kept],
        ids=examples,
        missing=options.codes,
        source=source,
    )


def _long(
    models: Column,
    ids: Column,
    found: dict[str, Column],
    rows: _Rows,
    options: Options,
    *,
    source: str,
    beside: dict[str, Column],
) -> Predictions:
    """One row a model and example, or one of its trials, to one row a model."""
    names, row = _positions(models)
    examples, place = _positions(ids)
    k, n = len(names), len(examples)
    counts = np.bincount(row * n + place, minlength=k * n)
    if (counts > 1).any() and not rows.several:
        model, example = divmod(int(np.argmax(counts)), n)
        raise InputError(
            f"{source}: the model {names[model]!r} has more than one row for the example "
            f"{examples[example]!r}; keep one, or, if they are trials, name the column that numbers them with "
            f'{flag("trials_key")}, or give repeats="trials" (--repeats trials).'
        )
    if rows.trial is not None:
        cells = list(zip(row.tolist(), place.tolist(), map(as_text, rows.trial), strict=True))
        if len(set(cells)) < len(cells):
            first = next(cell for cell, count in Counter(cells).items() if count > 1)
            raise InputError(
                f"{source}: the model {names[first[0]]!r} has more than one row for the trial {first[2]} of the "
                f"example {examples[first[1]]!r}; keep one."
            )
    present = (counts.reshape(k, n) > 0).sum(axis=1)
    if ABSENT not in options.codes and (present < n).any():
        where = int(np.argmin(present))
        raise different_examples(source, f"{names[where]!r} {present[where]:,} of {n:,}")
    counted = rows.counts(found, len(row), source=source)
    if counted is not None or (counts > 1).any():
        return _trials(
            found, counted, (names, row), (examples, place), options, source=source,
            columns=_told(beside, place, examples, options, source=source),
        )  # fmt: skip
    parts: dict[str, Any] = {}
    for role, column in found.items():
        if role == "labels":
            parts[role] = _of_examples(column, place, examples, source=source, what=("the label ", ""))
        else:
            parts[role] = np.full((k, n), None, dtype=object)
            parts[role][row, place] = column
    return make_table(
        **parts,
        scale=options.scale if "scores" in parts else None,
        names=names,
        ids=examples,
        missing=options.codes,
        source=source,
        columns=_told(beside, place, examples, options, source=source),
    )


def _told(
    beside: dict[str, Column], place: NDArray[np.intp], examples: list[str], options: Options, *, source: str
) -> dict[str, Any]:
    """Columns of the examples; of those that nobody asked for only what is the same in all rows of an example."""
    told = {}
    for key, column in beside.items():
        what = ("", f" in the column {key!r}") if key in options.columns else None
        values = _of_examples(column, place, examples, source=source, what=what)
        if values is not None:
            told[key] = values
    return told


def _trials(
    found: dict[str, Column],
    counted: NDArray[np.int64] | None,
    models: tuple[list[str], NDArray[np.intp]],
    examples: tuple[list[str], NDArray[np.intp]],
    options: Options,
    *,
    source: str,
    columns: dict[str, Any],
) -> Predictions:
    """Rows that are trials, or count some, to one cell a model and example."""
    (names, row), (ids, place) = models, examples
    try:
        if "scores" in found:
            scale = Scale(options.scale)
            read = read_scores(np.asarray(found["scores"], dtype=object), options.codes, what="scores", scale=scale)
        else:
            answers, truth, seen = read_answers([found["predictions"]], found["labels"], options.codes)
            read = Scored((answers == truth)[0], None if seen is None else seen[0])
        if counted is not None and read.trials is None:
            read = Scored(read.cells, read.observed, counted)
        cells = pooled_trials(read, row * len(ids) + place, len(names) * len(ids))
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    shape = (len(names), len(ids))
    assert cells.trials is not None
    return make_table(
        scores=cells.cells.reshape(shape),
        observed=(cells.trials > 0).reshape(shape),
        trials=cells.trials.reshape(shape),
        within=None if cells.within is None else cells.within.reshape(shape),
        names=names,
        ids=ids,
        missing=Codes(),
        source=source,
        columns=columns,
    )


def _of_examples(
    column: Column, place: NDArray[np.intp], examples: list[str], *, source: str, what: tuple[str, str] | None
) -> NDArray[Any] | None:
    """One value for each example; None if rows of an example differ, or an error with `what` around the value."""
    found = np.full(len(examples), None, dtype=object)
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    found[place] = cells
    pairs = zip(found[place], cells, strict=True)
    where = next((i for i, (a, b) in enumerate(pairs) if a is not b and _differ(a, b)), None)
    if where is None:
        return found
    if what is None:
        return None
    raise InputError(
        f"{source}: the example {examples[place[where]]!r} has {what[0]}{cells[where]!r}{what[1]} in one row and "
        f"{found[place[where]]!r} in another."
    )


def _differ(a: Any, b: Any) -> bool:
    """Whether two values are not the same; nothing is the same as nothing, also where it is NaN."""
    if is_gap(a) or is_gap(b):
        return not (is_gap(a) and is_gap(b))
    return not np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a != b)


def _positions(column: Column) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct values in order of appearance, and the position of each cell's value among them."""
    first: dict[str, int] = {}
    cells = map(as_text, column.tolist() if isinstance(column, np.ndarray) else column)
    position = np.array([first.setdefault(cell, len(first)) for cell in cells], dtype=np.intp)
    return list(first), position
