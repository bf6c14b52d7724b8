"""Files, frames and rows to `Items`."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from heldout import frames
from heldout.checks import EXAMPLE, check_key, pick, plain_name
from heldout.errors import InputError
from heldout.multiple_choice.answers import BrokenRowError, Row, refusal, without_letters
from heldout.multiple_choice.columns import Columns, Keys
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.option_cells import cell_text
from heldout.predictions.formats import arrow_columns, csv_columns, parquet_columns
from heldout.predictions.raw import damaged, file_name, open_text, read_json_file, read_lines, stem_of, suffix_of
from heldout.predictions.values import listing, read_ids, repeated
from heldout.scorers.choices import LETTERS

FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
ABOUT = ("dataset_info.json", "state.json")  # what `datasets` writes beside the rows of a data set
SPLITS = "dataset_dict.json"
SHARD = re.compile(r"-\d{5}-of-\d{5}$")  # of a file that is one of several
ROWS = "rows"  # the source of what no file brought
LEAST_CELLS = 4  # of a line without a header: a question, two options and a letter
EXAMPLE_ROW = '{"question": "2 + 2?", "options": ["3", "4"], "answer": 1}'


def read_items(
    source: Any,
    *,
    question_key: str | None = None,
    options_key: str | Sequence[str] | None = None,
    answer_key: str | None = None,
    ids_key: str | None = None,
    strata_key: str | None = None,
    answers_from: int | None = None,
    skip_broken: bool = False,
) -> Items:
    """Multiple-choice questions from files, frames or rows, each with its options in the printed order.

    Each row has a question, options and an answer. Options are a list, `{"text": [...], "label": [...]}` as in ARC,
    `{"A": ..., "B": ...}`, or columns such as A to D, option_a or choice1. The answer is a letter (the label of an
    option, where options have labels), the text of an option, or a number that counts options from 0, as in MMLU;
    one of these for all rows.

    Parameters
    ----------
    source : path, list of paths, DataFrame, list of dict, or Items
        JSONL, JSON, CSV, TSV, Parquet or Arrow, the text formats also packed (.gz); a folder of such files, such as
        `save_to_disk` of Hugging Face's `datasets` writes; MMLU's own CSV files, which have no header. Items come back
        as they are.
    question_key, answer_key, ids_key : str, optional
        Columns that go by another name than usual.
    options_key : str or list of str, optional
        The same, for a column of lists or one column for each option.
    strata_key : str, optional
        Column of strata, such as the source or the subject of each item. Items are compared only within their stratum:
        give one where the right answers of some sources stand at other places than those of others. Several files are
        strata without it.
    answers_from : {0, 1}, optional
        From what answers that are numbers count. Without it they do so from 0, and are refused where they seem to count
        from 1: no answer is 0, and one is the number of options or there are many; and where they could also be what
        other options say, unless the column is called `answer_index`.
    skip_broken : bool
        Leave out rows that are not complete items, and keep their ids, instead of refusing the file: no question, one
        option, the same option twice, an answer that names no option.

    Returns
    -------
    Items
        With the ids of a usual column, such as `id` or `question_id`, where each row has its own, else the numbers of
        the rows from 0; those of several files are `file/id`.

    Examples
    --------
    >>> from heldout import read_items
    >>> items = read_items([{"question": "2 + 2?", "A": "3", "B": "4", "answer": "B"}])
    >>> items[0]
    Item(id='0', question='2 + 2?', options=('3', '4'), answer=1)
    """
    if isinstance(source, Items):
        return source
    if answers_from not in (None, 0, 1):
        raise InputError(f"`answers_from` is {answers_from!r}; answers that are numbers count options from 0 or 1.")
    keys = Keys(question_key, options_key, answer_key, ids_key, strata_key, answers_from, skip_broken)
    if frames.is_frame(source):
        return _from_rows(frames.rows(source), keys, frames.SOURCE)
    if isinstance(source, (str, PathLike)):
        return _from_files([Path(source)], keys)
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"`items` is of the type {type(source).__name__}; give a path, a DataFrame, or a list of rows such as "
            f"{EXAMPLE_ROW}."
        )
    given = list(source)
    if given and all(isinstance(one, (str, PathLike)) for one in given):
        return _from_files([Path(one) for one in given], keys)
    if given and all(isinstance(one, Item) for one in given):
        return Items(tuple(given), ROWS)
    return _from_rows(given, keys, ROWS)


def _from_files(paths: Sequence[Path], keys: Keys) -> Items:
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist.")
        if (path / SPLITS).exists():
            splits = [p.name for p in sorted(path.iterdir()) if p.is_dir()]
            if not splits:
                raise InputError(f"{path} should hold splits of a data set ({SPLITS}), but has none; save it again.")
            one = path / ("test" if "test" in splits else splits[0])
            raise InputError(f"{path} holds splits of a data set ({listing(splits)}); give one, such as {one}.")
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [p for p in inside if p == path or (suffix_of(p) in FILES and p.name not in ABOUT)]
        if not found:
            raise InputError(f"{path} is a folder without items; {', '.join(FILES)} can be read.")
        files += found
    read = [_from_rows(_file_rows(path), keys, file_name(path)) for path in files]
    if len(read) == 1:
        return read[0]
    stems = [stem_of(path) for path in files]
    names = [str(path) for path in files] if repeated(stems) else stems
    every = [
        replace(item, id=f"{name}/{item.id}", stratum="/".join(filter(None, (SHARD.sub("", name), item.stratum))))
        for name, items in zip(names, read, strict=True)
        for item in items
    ]
    broken = {
        f"{name}/{one}": reason for name, items in zip(names, read, strict=True) for one, reason in items.broken.items()
    }
    return Items(tuple(every), str(paths[0]) if len(paths) == 1 else f"{len(paths)} files", broken)


def _file_rows(path: Path) -> list[Any]:
    suffix, name = suffix_of(path), file_name(path)
    if suffix in (".csv", ".tsv"):
        return _without_header(path) or _transposed(csv_columns(path))
    if suffix == ".parquet":
        return _transposed(parquet_columns(path))
    if suffix == ".arrow":
        return _transposed(arrow_columns(path))
    if suffix == ".jsonl":
        return read_lines(path)
    if suffix != ".json":
        what = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
        raise InputError(f"{name} {what}; items are read from {', '.join(FILES)}.")
    content = read_json_file(path)
    if isinstance(content, list):
        return content
    lists = {key: value for key, value in content.items() if isinstance(value, list)} if _is_object(content) else {}
    first = {key: lists[key] for key in ("rows", "data") if key in lists}  # other lists describe columns, say
    rows = next((value for value in (first | lists).values() if value and all(map(_is_object, value))), None)
    if rows is not None:  # what Hugging Face's viewer sends has each within an object of its own
        return [row["row"] for row in rows] if all(_is_object(row.get("row")) for row in rows) else rows
    if len({len(value) for value in lists.values()}) != 1:
        raise InputError(f"{name} holds neither a list of items nor one list for each column.")
    return _transposed(lists)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _transposed(columns: Mapping[str, Any]) -> list[Any]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _without_header(path: Path) -> list[Any] | None:
    """Rows of a CSV whose first line is an item, as in MMLU's own files: question, options, letter; else None."""
    try:
        with open_text(path) as f:
            rows = [row for row in csv.reader(f, delimiter="\t" if suffix_of(path) == ".tsv" else ",") if row]
    except (OSError, UnicodeDecodeError, csv.Error, EOFError, zlib.error) as error:
        raise damaged(path, error, "csv") from error
    head = rows[0] if rows else []
    letters = LETTERS[: max(0, len(head) - 2)]
    if len(head) < LEAST_CELLS or any(len(row) != len(head) or row[-1].strip() not in tuple(letters) for row in rows):
        return None
    return [{"question": row[0], "options": row[1:-1], "answer": row[-1]} for row in rows]


def _from_rows(rows: Sequence[Any], keys: Keys, source: str) -> Items:
    if not rows:
        raise InputError(f"{source} is empty: at least one item is needed.")
    strange = next((i for i, row in enumerate(rows) if not _is_object(row)), None)
    if strange is not None:
        raise InputError(
            f"{source}: row {strange + 1} is not an object; give one for each item, such as {EXAMPLE_ROW}."
        )
    plain = [_opened({str(key): _python(value) for key, value in row.items()}) for row in rows]
    names = list(dict.fromkeys(key for row in plain for key in row))
    columns = Columns(names, keys, source)
    columns.see_blanks(plain)
    ids = _ids(plain, names, keys.ids, source)
    read: dict[int, Row] = {}
    errors: dict[int, BrokenRowError] = {}
    for i, row in enumerate(plain):
        try:
            read[i] = columns.read(row, f"{source}: row {i + 1}")
        except BrokenRowError as error:
            errors[i] = error
    if not read and keys.skip_broken:
        raise InputError(f"{errors[0]}, and all {len(rows):,} rows are broken; correct them.")
    read = dict(zip(read, without_letters(list(read.values())), strict=True))
    columns.check_lists(plain, read)
    places = columns.answers(list(read.values()), [plain[i] for i in read], keys)
    answers: dict[int, int] = {}
    for i, place in zip(read, places, strict=True):
        if isinstance(place, BrokenRowError):
            errors[i] = place
        else:
            answers[i] = place
    if errors and not keys.skip_broken:
        raise refusal([errors[i] for i in sorted(errors)], len(rows))
    strata = _strata(plain, names, keys.strata, source)
    items = [Item(ids[i], read[i].question, read[i].options, answer, strata[i]) for i, answer in answers.items()]
    broken = {ids[i]: errors[i].reason for i in sorted(errors)}
    return Items(tuple(items), source, broken)


def _python(value: Any) -> Any:
    """Plain Python of what Parquet and frames hold: lists of arrays, objects of arrays."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_python(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _python(one) for key, one in value.items()}
    return value


def _opened(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose question is an object that holds the options too, as in ARC's own files, laid flat."""
    inner = next((row[key] for key in row if plain_name(key) == "question" and _is_object(row[key])), None)
    return row if inner is None else {key: value for key, value in row.items() if value is not inner} | inner


def _ids(rows: list[dict[str, Any]], names: list[str], wanted: str | None, source: str) -> tuple[str, ...]:
    """Ids from the column that was named or goes by a usual name; else the rows are numbered from 0."""
    key = pick(names, wanted, EXAMPLE, source=source, noun="column", weak=True)
    numbers = tuple(map(str, range(len(rows))))
    if key is None:
        return numbers
    values = [row.get(key) for row in rows]
    if wanted is None:  # a guess: RACE's `example_id` is that of an article with several questions
        texts = [cell_text(value) for value in values]
        return tuple(texts) if all(texts) and not repeated(texts) else numbers
    return read_ids(values, len(rows), source=source) or numbers


def _strata(rows: list[dict[str, Any]], names: list[str], wanted: str | None, source: str) -> list[str]:
    """What a column that was named says of each row; every row must say something."""
    if wanted is None:
        return [""] * len(rows)
    check_key(names, wanted, "strata_key", source=source, noun="column")
    found = [cell_text(row.get(wanted)) for row in rows]
    if "" in found:
        raise InputError(
            f"{source}: row {found.index('') + 1} has no {wanted!r} (`strata_key`), so that nobody knows which items "
            "it is compared with; fill in all rows, or name another column."
        )
    return found
