"""One model's scores from a file, a folder of logs, a DataFrame or an array."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout import frames
from heldout.checks import EXAMPLE, pick, plain_name
from heldout.errors import InputError
from heldout.files import Npz
from heldout.predictions import inspect_logs, inspect_scores, lm_eval, lm_eval_scores
from heldout.predictions.formats import check_header, csv_columns, parquet_columns, row_columns
from heldout.predictions.item_columns import as_column
from heldout.predictions.keys import METADATA, MODEL, ROLE_NAMES, Options, id_lines
from heldout.predictions.raw import as_path, read_json_file, read_lines, stem_of, suffix_of
from heldout.predictions.score_kinds import (
    BY_NAME,
    CORRECT,
    PREFERRED,
    SCORE,
    LargerIs,
    declared,
    is_better,
    kind_of,
)
from heldout.predictions.scores import Scores, no_number
from heldout.predictions.values import as_text, is_gap, listing, read_ids, repeated

FORMATS = ("csv", "tsv", "parquet", "json", "jsonl", "npz", "lm-eval", "inspect", "folder")
SUFFIXES = ".csv, .tsv, .parquet, .json, .jsonl, .npz and .eval"
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
MODELS = ("onnx", "pt", "pth", "pt2", "safetensors")  # suffixes of models


def load_scores(
    path: str | Path | Any,
    *,
    score: str | None = None,
    larger_is: LargerIs | None = None,
    classes: str | None = None,
    columns: str | Iterable[str] = (),
    format: str | None = None,
) -> Scores:
    """Read one model's scores from a file, a folder of logs or a DataFrame.

    Parameters
    ----------
    path : path, or a frame of pandas or polars
        A table (`.csv`, `.tsv`, `.jsonl`, `.json`, these also packed as `.gz`, `.parquet`, `.npz`) with a column of
        ids and one of scores; samples of lm-evaluation-harness; a log of inspect_ai; a folder of such samples or logs
        of one model. A frame is read as the CSV of it would be.
    score : str, optional
        The column, metric or scorer; from samples of lm-evaluation-harness also "margin", "log_likelihood" and
        "correct". `score,filter` and `score,epoch` as for `load_predictions(metric=)`. Without, the score that says
        most: a margin, a log-likelihood, a loss, and right or wrong last.
    larger_is : {"better", "worse"}, optional
        Needed where the kind is not known by its name.
    classes : str, optional
        Column of strata within which examples are compared; of logs, "task" or a field of the document.
    columns : str or several, optional
        More columns to keep. Texts under usual names (question, prompt, ...) are kept unasked: two examples with one
        text are one example.
    format : str, optional
        As for `load_predictions`.

    Returns
    -------
    Scores
        With ids, where there is a column of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> from heldout import load_scores
    >>> path = Path(tempfile.mkdtemp()) / "losses.csv"
    >>> _ = path.write_text("id,loss\\na,0.1\\nb,2.5\\n")
    >>> print(load_scores(path))
    2 examples, loss, larger is worse (losses.csv)
    """
    kept = {columns} if isinstance(columns, str) else set(columns)
    options = Options(columns=frozenset(kept | ({classes} if classes else set())))
    declared(larger_is)  # refused before anything is read
    if frames.is_frame(path):
        found = _from_frame(path, format, score, larger_is, classes, options)
    else:
        file = as_path(path)
        if not file.exists():
            raise InputError(f"{file} does not exist.")
        found = _read(file, format or _format(file), score, larger_is, classes, options)
    if classes is None:
        return found
    strata = found.columns.get(classes)
    if strata is None:  # of logs; a table that lacks it has been refused
        raise InputError(
            f"{found.source} has no {classes!r} in its documents (`classes`); it can be 'task', or a field "
            "of the documents that holds a text or a number."
        )
    gaps = [i for i, value in enumerate(strata.tolist()) if is_gap(value) or str(value).strip() == ""]
    if gaps:
        raise InputError(
            f"{found.source}: {len(gaps):,} of {len(found):,} examples have no {classes!r} (`classes`), the "
            f"first at position {gaps[0]}."
        )
    return replace(found, classes=np.array([as_text(value) for value in strata.tolist()]))


def _format(path: Path) -> str:
    if path.is_dir():
        return "folder"
    suffix = suffix_of(path).removeprefix(".")
    format = {"eval": "inspect"}.get(suffix, suffix)
    if suffix in MODELS:
        raise InputError(
            f"{path.name} is a model, not its scores; audit it with `model` and `images`, or write its scores of "
            "single examples to a file first."
        )
    if format not in FORMATS:
        what = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
        raise InputError(f"{path.name} {what}; {SUFFIXES} can be read: let its name say which of these it is.")
    return format


def _read(
    path: Path, format: str, score: str | None, larger_is: LargerIs | None, classes: str | None, options: Options
) -> Scores:
    if format not in FORMATS:
        raise InputError(f"`format` is {format!r}; it can be {', '.join(FORMATS)}.")
    if path.is_dir() and format not in ("folder", "lm-eval", "inspect"):
        raise InputError(f"{path} is a folder, but format={format!r} is that of a file.")
    rows = read_lines(path) if format == "jsonl" else None
    content = read_json_file(path) if format == "json" else None
    samples = lm_eval.sample_files(path) if path.is_dir() else [path]
    if format == "lm-eval" or (format == "folder" and samples) or (rows and lm_eval.is_sample(rows[0])):
        return _from_log(lm_eval_scores.read(samples, score, options, source=path.resolve().name), larger_is)
    logs = inspect_logs.log_files(path) if path.is_dir() else [path]
    if format == "inspect" or (format == "folder" and logs) or inspect_logs.is_log(content):
        return _from_log(inspect_scores.read(logs, score, options, source=path.resolve().name), larger_is)
    if format == "folder":
        raise InputError(
            f"{path} holds no logs of lm-evaluation-harness or inspect_ai; give one file of scores for each model."
        )
    if format in ("csv", "tsv"):
        table = csv_columns(path)
    elif format == "parquet":
        table = parquet_columns(path)
    elif format == "npz":
        with Npz(path) as arrays:
            table = _columns_of({key: arrays[key] for key in arrays}, score, options, source=path.name)
    elif isinstance(content, dict):
        lists = {key: value for key, value in content.items() if isinstance(value, list)}
        table = _columns_of(lists, score, options, source=path.name)
    elif isinstance(rows := content if rows is None else rows, list):
        table = row_columns(rows, path)
    else:
        raise InputError(f"{path.name} holds neither a list of rows nor an object of arrays.")
    _check_classes(table, classes, source=path.name)
    return _from_columns(table, score, larger_is, options, source=path.name, name=stem_of(path))


def _from_frame(
    frame: Any, format: str | None, score: str | None, larger_is: LargerIs | None, classes: str | None, options: Options
) -> Scores:
    if format is not None:
        raise InputError(f"`format={format!r}` is that of a file, but a frame was given; leave it out.")
    table = frames.text_columns(frame)
    check_header(list(table), frames.SOURCE)
    _check_classes(table, classes, source=frames.SOURCE)
    return _from_columns(table, score, larger_is, options, source=frames.SOURCE, name="")


def _check_classes(table: Mapping[str, Any], classes: str | None, *, source: str) -> None:
    if classes is not None and classes not in table:
        raise InputError(f"{source} has no column {classes!r} (`classes`); it has {listing(list(table), 8)}.")


def _columns_of(
    arrays: Mapping[str, Any], score: str | None, options: Options, *, source: str
) -> dict[str, NDArray[Any] | list[Any]]:
    """Named arrays with one value for each example; others are left out, unless they are the scores."""
    table = {key: array for key, array in arrays.items() if np.ndim(array) == 1}
    for key in arrays:
        wanted = key == score or key in options.columns or (score is None and plain_name(key) in BY_NAME)
        if key not in table and wanted:
            raise InputError(
                f"{source}: {key!r} has the shape {np.shape(arrays[key])}; one value for each example is needed, in "
                "one file for each model."
            )
    if not table:
        raise InputError(f"{source} holds no arrays with one value for each example.")
    return table


def _from_log(found: Mapping[str, Any], larger_is: LargerIs | None) -> Scores:
    values = np.asarray(found["values"], dtype=np.float64)
    if larger_is is not None and len(values) and np.isfinite(values).all():
        kind = kind_of(found["kind"], values)
        is_better(kind, larger_is, values, name=found["kind"], source=found["source"])
    return Scores(**found, larger_is_better=declared(larger_is))


def _from_columns(
    table: dict[str, Any], score: str | None, larger_is: LargerIs | None, options: Options, *, source: str, name: str
) -> Scores:
    """Scores from a table of named columns."""
    model = pick(list(table), None, MODEL, source=source, noun="column")
    if model is not None and len({as_text(value) for value in table[model]}) > 1:
        raise InputError(
            f"{source} holds the scores of several models in the column {model!r}; give one file for each."
        )
    example = pick(list(table), None, EXAMPLE, source=source, noun="column", weak=True, taken={score or ""})
    others = [key for key in table if key not in (example, model)]
    chosen = _chosen(table, others, score, options, source=source)
    ids = None if example is None else read_ids(table[example], len(table[chosen]), source=source)
    values = _numbers(table[chosen], ids, name=chosen, source=source)
    beside = {
        key: table[key]
        for key in others
        if key != chosen and len(table[key]) == len(values) and (options.beside(key) or plain_name(key) in BY_NAME)
    }
    known = {kind_of(key, np.ones(1)): key for key in reversed(list(beside))}
    kind = kind_of(chosen, values)
    correct = None
    if kind != CORRECT and CORRECT in known:
        marks = _numbers(beside[known[CORRECT]], ids, name=known[CORRECT], source=source)
        correct = marks == 1.0 if np.isin(marks, (0.0, 1.0)).all() else None
    better = is_better(kind, larger_is, values, name=chosen, source=source)
    return Scores(
        values=values,
        kind=kind,
        larger_is_better=better,
        ids=ids,
        correct=correct,
        columns={key: as_column(v, len(values), key) for key, v in beside.items() if options.beside(key)},
        source=source,
        name=name,
    )


def _chosen(table: dict[str, Any], others: list[str], score: str | None, options: Options, *, source: str) -> str:
    """The column of scores: the one asked for, else the kind that says most, else the only column of numbers."""
    if score is not None:
        if score not in table:
            raise InputError(f"{source} has no column {score!r} (`score`); it has {listing(list(table), 8)}.")
        return score
    known = {BY_NAME[plain_name(key)]: key for key in reversed(others) if plain_name(key) in BY_NAME}
    for kind in PREFERRED:
        if kind in known:
            return known[kind]
    names = [key for key in others if plain_name(key) == SCORE or not options.beside(key)]
    numeric = [
        key for key in names if plain_name(key) not in (ROLE_NAMES | METADATA) - {SCORE} and _is_numeric(table[key])
    ]
    if len(numeric) == 1:
        return numeric[0]
    which = f"of its columns {listing(numeric, 8)} it could be any" if numeric else f"it has {listing(list(table), 8)}"
    raise InputError(
        f"{source} has no column of scores under a usual name (margin, log_likelihood, loss, correct, ...); {which}, "
        "so say which with `score`."
    )


def _is_numeric(column: Any) -> bool:
    try:
        np.array([float(value) for value in list(column)[:20]])
    except (TypeError, ValueError):
        return False
    return True


def _numbers(column: Any, ids: tuple[str, ...] | None, *, name: str, source: str) -> NDArray[np.float64]:
    """Cells as finite numbers; right and wrong may be spelled true and false."""
    cells = column.tolist() if isinstance(column, np.ndarray) else list(column)
    values = np.empty(len(cells))
    broken: list[int] = []
    n_texts = 0
    for i, cell in enumerate(cells):
        try:
            text = cell.strip().lower() if isinstance(cell, str) else ""
            values[i] = TRUTH[text] if text in TRUTH else float(cell)
        except (TypeError, ValueError):
            values[i] = np.nan
            n_texts += isinstance(cell, str) and cell.strip() != ""
        if not np.isfinite(values[i]):
            broken.append(i)
    if n_texts == len(cells):
        raise InputError(
            f"{source}: the column {name!r} is text, such as {cells[0]!r}; choose another with `score`"
            f"{', or write decimal points' if DECIMAL_COMMA.fullmatch(cells[0].strip()) else ''}."
        )
    if broken:
        first = broken[0]
        label = f"at position {first}" if ids is None else repr(ids[first])
        shown = "empty" if is_gap(cells[first]) or str(cells[first]).strip() == "" else repr(cells[first])
        raise no_number(len(broken), len(cells), label, f"{name} is {shown}", source)
    return values


def as_scores(
    values: Scores | ArrayLike, *, kind: str | None, larger_is: LargerIs | None, what: str, groups: Any = None
) -> Scores:
    """Scores from an array, whose kind or direction must be told, or from a frame; `Scores` as they are.

    Of a frame the column that `groups` may name is kept.
    """
    if isinstance(values, Scores):
        return values
    if frames.is_frame(values):
        columns = groups if isinstance(groups, str) else ()
        return replace(load_scores(values, larger_is=larger_is, columns=columns), name=what)
    if kind is None and larger_is is None:
        raise InputError(
            f"whether a larger score in `{what}` is better or worse is not declared; say what the scores are with "
            "kind= ('margin', 'log_likelihood', 'correct', 'loss', ...), or with larger_is='better' or 'worse'."
        )
    better, source = declared(larger_is), f"`{what}`"
    made = Scores(values=_one_each(values, what), kind=kind or SCORE, larger_is_better=better, source=source, name=what)
    is_better(made.kind, larger_is, made.values, name=kind or SCORE, source=source)
    return made


def _one_each(values: ArrayLike, what: str) -> NDArray[Any]:
    try:
        return np.asanyarray(values)  # with its mask, if it has one
    except ValueError as error:
        raise InputError(f"`{what}` holds rows of several lengths; give one score for each example.") from error


def read_id_list(path: str | Path) -> list[str]:
    """Ids from a text file, one on each line; a first line such as `id` is a header."""
    try:
        ids = id_lines(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the ids in {path} (`control_ids`): {error}.") from error
    twice = repeated(ids)
    if twice:
        raise InputError(f"{path} (`control_ids`) names {listing(twice)} more than once.")
    if not ids:
        raise InputError(f"{path} (`control_ids`) is empty; give the ids of the control, one on each line.")
    return ids
