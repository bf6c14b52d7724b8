"""What a path means: a file of some format, or a folder of one file per model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

from heldout import frames
from heldout.checks import EXAMPLE, pick
from heldout.errors import InputError
from heldout.files import read_npy
from heldout.predictions import harness, inspect_logs, lm_eval
from heldout.predictions.columns import from_columns
from heldout.predictions.formats import (
    check_header,
    csv_columns,
    from_json,
    parquet_columns,
    read_csv,
    read_json,
    read_jsonl,
    read_npz,
    read_parquet,
)
from heldout.predictions.join import together
from heldout.predictions.keys import Exclude, Options, id_lines
from heldout.predictions.numbering import check_numbering
from heldout.predictions.raw import (
    as_path,
    damaged,
    file_name,
    open_text,
    read_json_file,
    read_lines,
    stem_of,
    suffix_of,
)
from heldout.predictions.runs import Run, table_of_runs
from heldout.predictions.strays import check_summaries
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.trials import Scaling
from heldout.predictions.values import Codes, as_array, id_texts, listing, repeated

ONE_MODEL = "model"  # in a frame that does not name it
LABELS_STEM = "labels"  # a file of this name in a folder of .npy files holds the labels of all


def load_predictions(
    path: str | Path | Sequence[str | Path] | Any,
    *,
    format: str | None = None,
    predictions_key: str | None = None,
    labels_key: str | None = None,
    correct_key: str | None = None,
    names_key: str | None = None,
    ids_key: str | None = None,
    models_axis: int | None = None,
    missing: Any = None,
    unread: Any = None,
    classes: int | Sequence[Any] | str | None = None,
    metric: str | None = None,
    exclude: str | Iterable[str] | None = None,
    columns: str | Iterable[str] = (),
    scale: Scaling = None,
    task: str | Iterable[str] = (),
    trials_key: str | None = None,
    repeats: str | None = None,
    all_ids: str | Path | Iterable[str] | None = None,
) -> Predictions:
    """Read a file or a folder, or several of them, or take a DataFrame.

    Parameters
    ----------
    path : path, or several, or a frame of pandas or polars
        `.npz`, `.csv` (separated by commas, semicolons or tabs), `.tsv`, `.parquet`, `.json`, `.jsonl`, text also
        packed as `.gz`; logs of inspect_ai (`.json`, `.eval`), samples of lm-evaluation-harness (`.jsonl`), results
        of SWE-bench, Terminal-Bench, Harbor, LiveCodeBench, HELM (`.json`, see `heldout.predictions.harness`); or a
        folder of such files. A model may be in several files, with other examples or with the same predictions. A frame
        is read as the CSV of it would be, an index that has a name among its columns; one of text without a name holds
        the ids, where no column does.
    format : str, optional
        "npz", "csv", "tsv", "parquet", "json", "jsonl", "lm-eval", "inspect" or "folder"; told from the suffix
        and the content without.
    predictions_key, labels_key, correct_key, names_key, ids_key : str, optional
        Keys of an `.npz` or JSON object, or columns of a table. Names may be picked by an array of
        positions: `models[arc_a_rows]`.
    models_axis : 0 or 1, optional
        Axis of the models in a matrix, where names and labels do not tell.
    missing, unread, classes
        As in `from_arrays`. `missing="absent"` lets models have different examples: what a model lacks is
        missing. `unread=""` counts empty cells of a table beside labels as wrong.
    metric : str, optional
        Score to read from logs; `metric,filter` (lm-evaluation-harness) or `scorer,epoch` (inspect_ai)
        where an example has several. `,strict-match` chooses the filter alone: each task is read by its own
        metric, and a task that was scored with one filter only by that one.
    exclude : str or several, optional
        Models, or columns that are not models, to leave out before anything is checked; `fv_*` is a pattern.
    task : str or several, optional
        Read these tasks only, of logs or by a column `task`; `mmlu_*` is a pattern. All are pooled without.
    trials_key : str, optional
        Column of a long table that numbers the trials of an example, or counts them. `trial`, `epoch` and
        `attempt` number them, `trials` and `n_trials` count them, unasked.
    repeats : "trials", optional
        Several predictions of a model for one example, in rows, runs or files, are trials; an error without.
    all_ids : path, or several str, optional
        The ids of all examples, for files that list only what was solved: one per line, a JSON list, or a table.
    columns : str or several, optional
        Columns (arrays of an `.npz`, fields of a document or of a sample's metadata) that tell of the examples, to
        be kept in `columns` where they are there. Texts that go by a usual name (question, input, prompt, ...)
        are kept unasked, since two examples with one text are one example.
    scale : str, number or pair, optional
        What scores run from and to, as in `from_scores`; without it they must lie between 0 and 1.

    Returns
    -------
    Predictions
        One row per model.

    Notes
    -----
    Damage is refused wherever it shows. A file of lines that was cut exactly at the end of a line cannot be
    told from a shorter one.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> from heldout import load_predictions
    >>> path = Path(tempfile.mkdtemp()) / "pool.csv"
    >>> _ = path.write_text("id,label,resnet,vgg\\n1,3,3,0\\n2,0,0,\\n")
    >>> print(load_predictions(path))
    2 models, 2 examples, 1 cell missing, right on no example: 'vgg' (pool.csv)
    """
    options = Options(
        predictions_key=predictions_key,
        labels_key=labels_key,
        correct_key=correct_key,
        names_key=names_key,
        ids_key=ids_key,
        models_axis=models_axis,
        codes=Codes(missing, unread),
        metric=metric,
        exclude=Exclude(exclude),
        columns=frozenset([columns] if isinstance(columns, str) else columns),
        scale=scale,
        tasks=(task,) if isinstance(task, str) else tuple(task),
        trials_key=trials_key,
        repeats=repeats,
        all_ids=all_ids_of(all_ids),
        classes=classes,
    )
    if frames.is_frame(path):
        table = _from_frame(path, format, options)
    else:
        table = load([as_path(p) for p in _several(path)], format, options)
    check_numbering(table, classes)
    return table


def as_table(
    predictions: Predictions | ArrayLike, kind: Literal["correct", "scores"], *, columns: str | Iterable[str] = ()
) -> Predictions:
    """A table as it is, one of a frame with these columns, or of a matrix of `kind`; messages call it `predictions`."""
    if isinstance(predictions, Predictions):
        return predictions
    if frames.is_frame(predictions):
        return load_predictions(predictions, columns=columns)
    matrix = as_array(predictions, what="predictions")  # of None, and of what is no table, it says so
    if kind == "scores":
        return make_table(scores=matrix, called="predictions")
    return make_table(correct=matrix, called="predictions")


def _several(path: Any) -> list[Any]:
    """Paths, where several were given; anything that is not a list of things stays one thing."""
    one = isinstance(path, (str, PathLike, Mapping)) or hasattr(path, "__array__") or not isinstance(path, Iterable)
    return [path] if one else list(path)


def load(paths: Sequence[Path], format: str | None, options: Options) -> Predictions:
    """Read files or folders; labels are not yet compared with predictions."""
    if options.models_axis not in (None, 0, 1):
        raise InputError(f"`models_axis` is {options.models_axis!r}; 0 (models first) or 1 (examples first) is needed.")
    if not paths:
        raise InputError("there is no file to read.")
    lacking = next((path for path in paths if not path.exists()), None)
    if lacking is not None:
        raise InputError(f"{lacking} does not exist.")
    table = _in_logs(paths, format, options)
    if table is None:
        tables = [_read(path, format, options) for path in paths]
        table = tables[0] if len(tables) == 1 else together(tables, options, source=f"{len(tables)} files")
    return _checked(table, options)


def _from_frame(frame: Any, format: str | None, options: Options) -> Predictions:
    """A frame as the CSV of it would be read."""
    if format is not None:
        raise InputError(f"`format={format!r}` is that of a file, but a frame was given; leave it out.")
    columns = frames.text_columns(frame)
    check_header(list(columns), frames.SOURCE)
    return _checked(from_columns(columns, options, source=frames.SOURCE, name=ONE_MODEL, text=True), options)


def _checked(table: Predictions, options: Options) -> Predictions:
    """The table without the models to leave out; an option that did nothing is refused."""
    kept = options.exclude.kept(table.names)
    options.exclude.check()
    options.codes.check()
    options.check_used(table.source)
    told = [f"task {name}" for name in options.tasks] + [f"without {name}" for name in options.exclude.patterns]
    check_summaries(kept, table.ids, table.cells, table.observed, source=table.source)
    table = table if len(kept) == table.n_models else table.select(kept)
    return replace(table, source=", ".join([table.source, *told])) if told else table


def _in_logs(paths: Sequence[Path], format: str | None, options: Options) -> Predictions | None:
    """Several files or folders of one framework are read as one folder would be: models are told from the contents."""
    if len(paths) < 2:
        return None
    source = f"{len(paths)} files"
    if not all(path.is_file() for path in paths):
        return _in_folders(paths, format, options, source=source)
    if format == "lm-eval" or (format is None and all(path.name.startswith("samples_") for path in paths)):
        return lm_eval.read(paths, options, source=source)
    if format == "inspect" or (format is None and all(path.suffix.lower() == ".eval" for path in paths)):
        return inspect_logs.read(paths, options, source=source)
    if format is None and all(suffix_of(path) == ".json" for path in paths):
        return _json_files(paths, options, source=source)
    return None


def _in_folders(paths: Sequence[Path], format: str | None, options: Options, *, source: str) -> Predictions | None:
    """Folders of logs, perhaps among single logs; None where one of them holds anything else."""
    for name, find, read, begin, end in (
        ("lm-eval", lm_eval.sample_files, lm_eval.read, "samples_", ".jsonl"),
        ("inspect", inspect_logs.log_files, inspect_logs.read, "", ".eval"),
    ):
        if format not in (None, "folder", name):
            continue
        found = []
        for path in paths:
            is_log = format == name or (path.name.startswith(begin) and path.suffix.lower() == end)
            logs = find(path) if path.is_dir() else [path] * is_log
            if not logs:
                break
            found += logs
        else:
            return read(found, options, source=source)
    return None


def _json_files(paths: Sequence[Path], options: Options, *, source: str) -> Predictions:
    """JSON files, each parsed once: logs of inspect_ai, runs of a harness, or tables."""
    first = read_json_file(paths[0])
    if inspect_logs.is_log(first):  # which may be too large to keep all of them
        return inspect_logs.read(paths, options, source=source)
    contents = [(paths[0], first), *((path, read_json_file(path)) for path in paths[1:])]
    found = [(path, content, harness.runs_of(content, path, options)) for path, content in contents]
    if all(runs is not None for _, _, runs in found):
        return table_of_runs([run for _, _, runs in found for run in runs or ()], options, source=source)
    tables = [
        from_json(content, path, options) if runs is None else table_of_runs(runs, options, source=file_name(path))
        for path, content, runs in found
    ]
    return together(tables, options, source=source)


def _read(path: Path, format: str | None, options: Options) -> Predictions:
    """One file or folder."""
    if format is None:
        format = "folder" if path.is_dir() else suffix_of(path).removeprefix(".")
        format = {"eval": "inspect"}.get(format, format)
        if format not in FORMATS:
            what = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
            raise InputError(f"{path.name} {what}; {', '.join(FORMATS)} can be read (`format`).")
    if format not in FORMATS:
        raise InputError(f"`format` is {format!r}; it can be {', '.join(FORMATS)}.")
    if path.is_dir() and format not in ("folder", "lm-eval", "inspect"):
        raise InputError(f"{path} is a folder, but `format={format!r}` is that of a file.")
    return FORMATS[format](path, options)


def read_folder(folder: Path, options: Options) -> Predictions:
    """One file per model, named by the file; or logs of an evaluation framework."""
    if lm_eval.sample_files(folder):
        return read_lm_eval(folder, options)
    if inspect_logs.log_files(folder):
        return read_inspect(folder, options)
    runs: list[Run] | None = []
    for path in harness.harness_files(folder):
        found = harness.runs_of(read_json_file(path), path, options)
        if found is None:
            runs = None
            break
        runs = [*(runs or ()), *found]
    if runs:
        return table_of_runs(runs, options, source=folder.resolve().name)
    files = sorted(p for p in folder.iterdir() if p.is_file() and suffix_of(p) in FOLDER_SUFFIXES)
    labels = [p for p in files if p.suffix == ".npy" and p.stem == LABELS_STEM]
    files = [p for p in files if p not in labels]
    if not files:
        raise InputError(
            f"{folder} holds no files that can be read ({', '.join(FOLDER_SUFFIXES)}); put one file per model into it."
        )
    tables = []
    for path in files:
        if path.suffix.lower() == ".npy":
            table = _read_npy(path, labels, options)
        else:
            table = FILE_READERS[suffix_of(path)](path, options)
        stem = stem_of(path)
        if table.n_models > 1:
            tables.append(table)
        elif options.exclude.keeps(stem):
            tables.append(table if table.names == (stem,) else replace(table, names=(stem,)))
    options.exclude.kept(name for table in tables for name in table.names)
    return together(tables, options, source=folder.resolve().name)


def all_ids_of(given: str | Path | Iterable[str] | None) -> tuple[str, ...] | None:
    """The ids of all examples, as they are or from a file."""
    if given is None or not isinstance(given, (str, Path)):
        return None if given is None else tuple(given)
    return read_all_ids(given)


def read_all_ids(path: str | Path) -> tuple[str, ...]:
    """The ids of all examples: one per line, a JSON list, or a table with a column of ids."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist (`all_ids`).")
    suffix = suffix_of(path)
    values: list[Any]
    if suffix == ".json":
        content = read_json_file(path)
        values = list(content) if isinstance(content, (dict, list)) else []
    elif suffix == ".jsonl":
        values = read_lines(path)
    elif suffix in (".csv", ".tsv", ".parquet"):
        columns = csv_columns(path) if suffix != ".parquet" else parquet_columns(path)
        key = pick(list(columns), None, EXAMPLE, source=path.name, noun="column", weak=True)
        if key is None:
            raise InputError(f"{path.name} has no column of ids, such as `instance_id`; it has {', '.join(columns)}.")
        values = list(columns[key])
    else:
        try:
            with open_text(path) as f:
                values = id_lines(f.read())
        except (OSError, UnicodeDecodeError) as error:
            raise damaged(path, error, "text") from error
    if values and all(isinstance(value, dict) for value in values):
        key = pick(list(values[0]), None, EXAMPLE, source=path.name, noun="key", weak=True)
        values = [value.get(key) if isinstance(value, dict) else None for value in values]
    if not values:
        raise InputError(f"{path.name} lists no ids (`all_ids`).")
    ids = tuple(id_texts(values, source=path.name, option="all_ids"))
    twice = repeated(ids)
    if twice:
        raise InputError(f"{path.name} lists {listing(twice)} more than once (`all_ids`).")
    return ids


def _read_npy(path: Path, labels: list[Path], options: Options) -> Predictions:
    """One model's predictions beside `labels.npy`, or its 0/1 marks."""
    options.refuse_metric(path.name)
    said = _load_npy(path)
    if labels:
        return make_table(
            predictions=said, labels=_load_npy(labels[0]), missing=options.codes, source=path.name, names=[path.stem]
        )
    options.use("scale")
    return make_table(scores=said, scale=options.scale, missing=options.codes, source=path.name, names=[path.stem])


def _load_npy(path: Path) -> NDArray[Any]:
    return read_npy(path).reshape(-1)


def read_lm_eval(path: Path, options: Options) -> Predictions:
    """Samples of lm-evaluation-harness: a file, or a folder that holds some at any depth."""
    files = lm_eval.sample_files(path) if path.is_dir() else [path]
    return lm_eval.read(files, options, source=path.resolve().name)


def read_inspect(path: Path, options: Options) -> Predictions:
    """Logs of inspect_ai: a file, or a folder that holds some at any depth."""
    files = inspect_logs.log_files(path) if path.is_dir() else [path]
    return inspect_logs.read(files, options, source=path.resolve().name)


Reader = Callable[[Path, Options], Predictions]

FORMATS: dict[str, Reader] = {
    "npz": read_npz,
    "csv": read_csv,
    "tsv": read_csv,
    "parquet": read_parquet,
    "json": read_json,
    "jsonl": read_jsonl,
    "lm-eval": read_lm_eval,
    "inspect": read_inspect,
    "folder": read_folder,
}
FILE_READERS: dict[str, Reader] = {
    f".{name}": FORMATS[name] for name in ("npz", "csv", "tsv", "parquet", "json", "jsonl")
}
FOLDER_SUFFIXES = (*FILE_READERS, ".npy")
