"""What a path means: a file of some format, or a folder of one file a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions import inspect_logs, lm_eval
from heldout.predictions.formats import read_csv, read_json, read_jsonl, read_npz, read_parquet
from heldout.predictions.join import side_by_side
from heldout.predictions.keys import Options
from heldout.predictions.raw import damaged
from heldout.predictions.table import Predictions, make_table

LABELS_STEM = "labels"  # a file of this name in a folder of .npy files holds the labels of all


def load(path: Path, format: str | None, options: Options) -> Predictions:
    """Read a file or folder; labels are not yet compared with predictions."""
    if options.models_axis not in (None, 0, 1):
        raise InputError(f"`models_axis` is {options.models_axis!r}; 0 (models first) or 1 (examples first) is needed.")
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if format is None:
        format = "folder" if path.is_dir() else path.suffix.lower().removeprefix(".")
        format = {"eval": "inspect"}.get(format, format)
        if format not in FORMATS:
            what = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
            raise InputError(f"{path.name} {what}; {', '.join(FORMATS)} can be read (format=, --format).")
    if format not in FORMATS:
        raise InputError(f"`format` is {format!r} (--format); it can be {', '.join(FORMATS)}.")
    if path.is_dir() and format not in ("folder", "lm-eval", "inspect"):
        raise InputError(f"{path} is a folder, but format={format!r} (--format) is that of a file.")
    table = FORMATS[format](path, options)
    kept = options.exclude.kept(table.names)
    options.exclude.check()
    options.codes.check()
    return table if len(kept) == table.n_models else table.select(kept)


def read_folder(folder: Path, options: Options) -> Predictions:
    """One file a model, named by the file; or logs of an evaluation framework."""
    if lm_eval.sample_files(folder):
        return read_lm_eval(folder, options)
    if inspect_logs.log_files(folder):
        return read_inspect(folder, options)
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in FOLDER_SUFFIXES)
    labels = [p for p in files if p.suffix == ".npy" and p.stem == LABELS_STEM]
    files = [p for p in files if p not in labels]
    if not files:
        raise InputError(
            f"{folder} holds no files that can be read ({', '.join(FOLDER_SUFFIXES)}); put one file a model into it."
        )
    tables = []
    for path in files:
        if path.suffix.lower() == ".npy":
            table = _read_npy(path, labels, options)
        else:
            table = FILE_READERS[path.suffix.lower()](path, options)
        if table.n_models > 1:
            tables.append(table)
        elif options.exclude.keeps(path.stem):
            tables.append(table if table.names == (path.stem,) else replace(table, names=(path.stem,)))
    options.exclude.kept(name for table in tables for name in table.names)
    return side_by_side(tables, options.codes, source=folder.resolve().name)


def _read_npy(path: Path, labels: list[Path], options: Options) -> Predictions:
    """One model's answers beside `labels.npy`, or its 0/1 marks."""
    options.refuse_metric(path.name)
    answers = _load_npy(path)
    if labels:
        return make_table(
            predictions=answers, labels=_load_npy(labels[0]), missing=options.codes, source=path.name, names=[path.stem]
        )
    return make_table(scores=answers, scale=options.scale, missing=options.codes, source=path.name, names=[path.stem])


def _load_npy(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False)).reshape(-1)
    except (OSError, ValueError, EOFError) as error:
        raise damaged(path, error, "npy") from error


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
