"""Tables with named columns (CSV, Parquet, rows of JSON) to `Predictions`.

Three layouts. *Wide*: one row per example, with an optional id, the label, and one column per model; without a label
the models' columns are 0/1, or scores. *Long*: one row per model and example (or one of its trials), with a column that
names the model; without that column, the file is one model's. *One row per model*: a column that names it, and one
column per example.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import EXAMPLE, LABEL, Role, pick, plain_name
from heldout.errors import InputError
from heldout.predictions.keys import (
    BESIDE,
    CORRECT,
    FILES,
    INDEX,
    ITEMS,
    METADATA,
    MODEL,
    PREDICTION,
    ROLE_NAMES,
    SCORED,
    STRONG_NAMES,
    SUCCESSES,
    SUMMARIES,
    Options,
)
from heldout.predictions.long_table import Trials, long_table
from heldout.predictions.numbering import ANY_CLASS
from heldout.predictions.strays import check_agreement, check_alone, check_names, check_values, id_column, with_index
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.text_cells import (
    Column,
    are_numbers,
    free_answers,
    is_score,
    looks_numeric,
    one_spelling,
    text_classes,
    text_marks,
)
from heldout.predictions.values import as_text, id_texts, is_gap, listing


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
    options.use("predictions_key", "labels_key", "correct_key", "names_key", "ids_key")
    columns = with_index(_of_tasks(columns, options, source=source), options)
    saved = {name: columns[key] for key, name in options.saved(columns).items()}
    columns = {key: column for key, column in columns.items() if not key.startswith(BESIDE)}
    beside = saved | {key: column for key, column in columns.items() if _is_beside(key, column, options)}
    read = {key: column for key, column in columns.items() if key not in beside or plain_name(key) in ROLE_NAMES}
    model, example, roles = _roles(read, options, source=source)
    found = {role: columns[key] for role, key in roles.items() if key is not None}
    scored = _scored_by(read, roles)
    if scored is not None and SCORED not in beside:
        beside[SCORED] = [scored] * len(columns[scored])
    if model is None and example is None and options.models_axis != 0:
        others = [key for key in read if key not in roles.values() and not options.exclude.fitting(key)]
        example = id_column(columns, others, found.get("labels"))
        if example is None:  # not all different, but in one order for all models
            rest = [key for key in read if key not in roles.values()]
            beside |= {key: columns[key] for key in rest if _names_files(key, columns[key], options)}
    if model is None:
        check_alone(read, roles, example, options, source=source)
    if options.correct_key is None and "correct" in found:
        check_agreement(read, found["correct"], example, options, source=source)
    if not found.keys() & {"correct", "predictions"}:
        if _models_in_rows(read, model, example, options, source=source):
            return _row_per_model(read, model, options, source=source, text=text)
        if model is not None or options.predictions_key is not None:
            raise InputError(
                f"{source} has neither a column 'correct' (or 'score', 'resolved', 'passed') nor both 'prediction' and "
                f"'label'; it has {listing(list(columns), len(columns))}, so say which they are with `correct_key`, or "
                "with `predictions_key` and `labels_key`."
            )
        return _wide(read, example, roles.get("labels"), options, source=source, text=text, beside=beside)
    return _in_rows(columns, (model, example), found, options, source=source, name=name, text=text, beside=beside)


def _in_rows(
    columns: dict[str, Column],
    of: tuple[str | None, str | None],
    found: dict[str, Column],
    options: Options,
    *,
    source: str,
    name: str,
    text: bool,
    beside: dict[str, Column],
) -> Predictions:
    """Rows of one model, or of a long table; `of` are the columns that name the model and the example."""
    model, example = of
    ids = None if example is None else id_texts(columns[example], source=source)
    if "correct" in found:
        found = {"scores": text_marks(found["correct"], options.codes) if text else found["correct"]}
    else:
        (said,), truth = _read_classes([found["predictions"]], found["labels"], options, source=source, text=text)
        found = {"predictions": said, "labels": truth}
    rows = Trials.find(columns, options, source=source)
    if model is None and (ids is None or not (rows.several or len(set(ids)) < len(ids))):
        trials = rows.counts(found, len(next(iter(found.values()))), source=source)
        if "scores" in found:
            options.use("scale")
        scale = options.scale if "scores" in found else None
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
        raise InputError(f"{source} has no column for the example's id, such as `id`; say which with `ids_key`.")
    models = [name] * len(ids) if model is None else columns[model]
    return long_table(
        models, _with_tasks(ids, models, columns, rows), found, rows, options, source=source, beside=beside
    )


def _scored_by(columns: dict[str, Column], roles: dict[str, str | None]) -> str | None:
    """The column of right and wrong, or of scores, where another one could have been read."""
    chosen = roles.get("correct")
    names = {plain_name(key) for key in columns if key != chosen}
    graded = names & {*CORRECT.usual, *CORRECT.weak}
    said = names & {*PREDICTION.usual, *PREDICTION.weak} and names & {*LABEL.usual, *LABEL.weak}
    return chosen if graded or said else None


def _is_beside(key: str, column: Column, options: Options) -> bool:
    """Whether a column tells of the examples; one of marks may be a model's, whatever its name."""
    if key in options.own_keys():
        return False
    if not options.beside(key) and (plain_name(key) not in ITEMS or not options.exclude.keeps(key)):
        return False
    return key in options.columns or not all(looks_numeric(value) for value in column[:100])


def _names_files(key: str, column: Column, options: Options) -> bool:
    """Whether a column of texts names the file of each example."""
    named = FILES.fullmatch(plain_name(key)) is not None and not all(looks_numeric(value) for value in column)
    return named and options.exclude.keeps(key)


def _of_tasks(columns: dict[str, Column], options: Options, *, source: str) -> dict[str, Column]:
    """Rows of the tasks that were asked for."""
    if not options.tasks:
        return columns
    key = next((key for key in columns if plain_name(key) == "task"), None)
    if key is None:
        raise InputError(
            f"{source} has no column 'task', so that `task={options.tasks[0]!r}` chooses nothing; it has "
            f"{listing(list(columns), len(columns))}."
        )
    tasks = [as_text(value) for value in columns[key]]
    chosen = options.chosen_tasks(list(dict.fromkeys(tasks)), source=source)
    kept = np.flatnonzero([task in chosen for task in tasks])
    return {name: _pick(column, kept) for name, column in columns.items()}


def _pick(column: Column, rows: NDArray[np.intp]) -> Column:
    return column[rows] if isinstance(column, np.ndarray) else [column[i] for i in rows.tolist()]


def _with_tasks(ids: Column, models: Column, columns: dict[str, Column], rows: Trials) -> Column:
    """Ids as they are, or `task/id` where several tasks number their examples alike."""
    key = next((key for key in columns if plain_name(key) == "task"), None)
    if key is None or rows.several:
        return ids
    tasks = [as_text(value) for value in columns[key]]
    names = list(ids)
    pairs = list(zip(map(as_text, models), names, strict=True))
    if len(set(pairs)) == len(pairs) or len({*zip(pairs, tasks, strict=True)}) < len(pairs):
        return ids
    return [f"{task}/{name}" for task, name in zip(tasks, names, strict=True)]


def _roles(
    columns: dict[str, Column], options: Options, *, source: str
) -> tuple[str | None, str | None, dict[str, str | None]]:
    """Columns of the model's name, of the example's id, and of what is read of each cell."""
    taken = {key for key in (options.predictions_key, options.correct_key, options.labels_key) if key is not None}

    def find(role: Role, wanted: str | None, *, weak: bool = False) -> str | None:
        out = set(options.exclude.patterns) if role in (PREDICTION, CORRECT) else set()  # c* means models, not correct
        key = pick(columns, wanted, role, source=source, noun="column", weak=weak, taken=taken | out)
        if key is not None:
            taken.add(key)
        return key

    model = find(MODEL, options.names_key)
    example = find(EXAMPLE, options.ids_key, weak=True)
    known = ROLE_NAMES | METADATA
    labelled = pick(columns, options.labels_key, LABEL, source=source, noun="column", weak=True) is not None
    others = [
        key
        for key, column in columns.items()
        if key not in taken and plain_name(key) not in known and (labelled or _may_hold_scores(column))
    ]
    # else other columns may be the models of a wide table
    alone = model is not None or all(options.exclude.fitting(key) for key in others)
    label = find(LABEL, options.labels_key)
    correct = said = None
    if options.correct_key is not None or options.predictions_key is None:
        correct = find(CORRECT, options.correct_key, weak=alone)
        if correct is None and alone:
            correct = find(SUCCESSES, None)
    if options.correct_key is None:
        said = find(PREDICTION, options.predictions_key, weak=alone)
    if correct is not None:  # the grader's word, who may accept more than the label's own spelling
        return model, example, {"correct": correct}
    if label is None and (alone or said is not None):
        label = find(LABEL, None, weak=True)
    if label is None:
        said = None  # predictions without labels say nothing about who is right
    return model, example, {"predictions": said, "labels": label}


def _may_hold_scores(column: Column) -> bool:
    """Whether some cell is a score; without labels, one of texts, lists and the like is no model's."""
    there = (value for value in column if not is_gap(value) and value != "")
    return any(is_score(value) for value in islice(there, 1000))


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
    check_names(names, label, source=source)
    cells = {key: columns[key] for key in names}
    labels = None if label is None else columns[label]
    if text and labels is None:
        cells = {key: text_marks(column, options.codes) for key, column in cells.items()}
    elif labels is not None:
        read, labels = _read_classes(list(cells.values()), labels, options, source=source, text=text)
        cells = dict(zip(names, read, strict=True))
    check_values(cells, labels, options, source=source)
    if labels is None:
        options.use("scale")
    return make_table(
        **{"scores" if labels is None else "predictions": _stack(list(cells.values()))},
        scale=options.scale if labels is None else None,
        labels=labels,
        names=names,
        ids=None if example is None else id_texts(columns[example], source=source),
        missing=options.codes,
        source=source,
        columns=beside,
    )


def _stack(columns: list[Column]) -> NDArray[Any]:
    """One row a column; numbers stay numbers where every column is an array of them."""
    if all(map(are_numbers, columns)):
        return np.array(columns)
    matrix = np.empty((len(columns), len(columns[0])), dtype=object)
    for row, column in zip(matrix, columns, strict=True):
        row[:] = column
    return matrix


def _read_classes(
    said: list[Column], labels: Column, options: Options, *, source: str, text: bool
) -> tuple[Sequence[Column], Column]:
    """Predictions and labels, each class in one spelling."""
    codes = options.codes
    if not text:
        if "" in codes.unread:  # an empty cell is null here
            said = [["" if is_gap(v) and not isinstance(v, float) else v for v in column] for column in said]
        read, truth = one_spelling(said, labels, codes, source=source)
    else:
        *read, truth = text_classes([*said, labels], codes, labels=labels, source=source)
    if isinstance(options.classes, str) and options.classes == ANY_CLASS:
        *read, truth = free_answers([*read, truth])
    return read, truth


def _models_in_rows(
    columns: dict[str, Column], model: str | None, example: str | None, options: Options, *, source: str
) -> bool:
    """Whether each row is a model and each column an example."""
    if options.models_axis is not None:
        options.use("models_axis")
        return options.models_axis == 0
    if model is None or options.own_keys() - {None, options.names_key}:
        return False
    usual = METADATA | STRONG_NAMES
    rest = [
        key for key in columns if key != model and plain_name(key) not in usual and not options.exclude.fitting(key)
    ]
    if example is not None or not rest:
        return False
    strays = [key for key in rest if not all(is_score(v) for v in columns[key])]
    if strays and len(strays) < len(rest):
        raise InputError(
            f"{source} seems to have one row per model, but the column {strays[0]!r} holds no scores: leave it out "
            f"with `exclude={strays[0]!r}`; or name the column of right and wrong with "
            "`correct_key`, and that of example ids with `ids_key`."
        )
    return not strays


def _row_per_model(
    columns: dict[str, Column], model: str | None, options: Options, *, source: str, text: bool
) -> Predictions:
    """One row per model, one column per example; what stands for no example must be left out by name."""
    if model is None:  # asked for with models_axis=0: the first column that is no score names the models
        model = next((key for key, column in columns.items() if not all(is_score(v) for v in column)), None)
    options.use("scale")
    names = None if model is None else id_texts(columns[model], source=source, noun="model")
    examples = options.exclude.kept_columns(key for key in columns if key != model)
    strange = [key for key in examples if plain_name(key) in METADATA | STRONG_NAMES | SUMMARIES]
    if strange:
        raise InputError(
            f"{source}: the column {strange[0]!r} looks like no example's: leave it out with "
            f"`exclude={strange[0]!r}`, or rename it if it is one."
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
