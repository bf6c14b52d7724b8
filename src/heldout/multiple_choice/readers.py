"""Files, frames and rows to `Items`: where a row holds its question, its options and its answer."""

from __future__ import annotations

import ast
import csv
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heldout import frames
from heldout.checks import EXAMPLE, LABEL, Role, check_key, pick, plain_name
from heldout.errors import InputError
from heldout.multiple_choice.answers import SKIP, Row, and_more, read_answers, without_letters
from heldout.multiple_choice.items import Item, Items
from heldout.orbit.option_orders import MOST_OPTIONS
from heldout.predictions.formats import arrow_columns, csv_columns, parquet_columns
from heldout.predictions.raw import damaged, file_name, open_text, read_json_file, read_lines, stem_of, suffix_of
from heldout.predictions.values import as_text, is_gap, listing, read_ids, repeated
from heldout.scorers.choices import LETTERS

QUESTION = Role(
    "question_key",
    ("question", "question_stem", "stem", "query", "problem", "ctx", "goal", "sentence", "startphrase"),
    ("prompt", "input", "text", "instruction"),
)
BEFORE = ("passage", "article", "context", "premise")  # what a question is about, printed above it
OPTIONS = Role("options_key", ("options", "choices", "endings", "mc1_targets", "candidates", "answers"))
# Columns of one option each: A, option_a, choice1, opa, ending0, sol1, answerA.
OPTION_COLUMN = re.compile(r"(option|choice|opt|op|ending|sol|answer|alternative|)_?([a-z]|\d\d?)")
INDEX = Role("answer_key", ("answer_index", "answer_idx", "correct_index", "correct_answer_index", "label_index"))
ANSWER = Role(
    "answer_key",
    (
        *("answerkey", "answer_key", "answer", "correct_answer", "correct_option", "correct_choice", "correct"),
        *LABEL.usual,
        *("cop", "solution", "key"),
    ),
)
APART = re.compile(r"(distractor|incorrect_answer|wrong_answer)s?_?\d*")  # the wrong ones, listed by themselves
FILES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
ABOUT = ("dataset_info.json", "state.json")  # what `datasets` writes beside the rows of a data set
SPLITS = "dataset_dict.json"
SHARD = re.compile(r"-\d{5}-of-\d{5}$")  # of a file that is one of several
ROWS = "rows"  # the source of what no file brought
NO_COMMAS = re.compile(r"""\[\s*(?:'[^']*'|"[^"]*")\s+['"]""")  # a list as numpy prints it: ['oak' 'ash']
LEAST_CELLS = 4  # of a line without a header: a question, two options and a letter
EXAMPLE_ROW = '{"question": "2 + 2?", "options": ["3", "4"], "answer": 1}'


class Keys(NamedTuple):
    """Columns that were named, and from what answers count."""

    question: str | None = None
    options: str | Sequence[str] | None = None
    answer: str | None = None
    ids: str | None = None
    strata: str | None = None
    answers_from: int | None = None
    skip_broken: bool = False


class BrokenRowError(InputError):
    """A row is no proper item; `reason` is a key of `left_out.reasons.BROKEN`."""

    def __init__(self, sentence: str, part: str) -> None:
        super().__init__(sentence)
        self.reason = f"broken_{part}"


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
        from 1: no answer is 0, and one is the number of options or there are many.
    skip_broken : bool
        Leave out rows that are no proper items, and keep their ids, instead of refusing the file: no question, one
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
            raise InputError(f"{path} holds splits of a data set ({listing(splits)}); give one, {path / splits[0]}.")
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
    columns = _Columns(names, keys, source)
    columns.see_blanks(plain)
    ids = _ids(plain, names, keys.ids, source)
    read: dict[int, Row] = {}
    errors: dict[int, BrokenRowError] = {}
    for i, row in enumerate(plain):
        try:
            read[i] = columns.read(row, f"{source}: row {i + 1}")
        except BrokenRowError as error:
            errors[i] = error
    first = next(iter(errors.values()), None)
    if first is not None and not keys.skip_broken:
        raise InputError(f"{first}{and_more(len(errors), len(rows))}; {SKIP}.") from first
    if first is not None and not read:
        raise InputError(f"{first}, and all {len(rows):,} rows are broken; correct them.") from first
    read = dict(zip(read, without_letters(list(read.values())), strict=True))
    places = columns.answers(list(read.values()), [plain[i] for i in read], keys)
    answers = {i: place for i, place in zip(read, places, strict=True) if place is not None}
    strata = _strata(plain, names, keys.strata, source)
    items = [Item(ids[i], read[i].question, read[i].options, answer, strata[i]) for i, answer in answers.items()]
    broken = {
        ids[i]: errors[i].reason if i in errors else "broken_answer" for i in range(len(rows)) if i not in answers
    }
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


class _Columns:
    """Where rows of one source hold their parts."""

    def __init__(self, names: list[str], keys: Keys, source: str) -> None:
        self._source = source
        self._fewer = True  # whether blanks at the end mean that a row has fewer options
        for key in [keys.options] if isinstance(keys.options, str) else keys.options or ():
            check_key(names, key, OPTIONS.option, source=source, noun="column")
        question = pick(names, keys.question, QUESTION, source=source, noun="column", weak=True)
        if question is None:
            raise self._lacks("question", QUESTION.option, names)
        above = [name for name in names if plain_name(name) in BEFORE] if keys.question is None else []
        self._asked = [*above, question]
        taken = {question, *above}
        self._list, self._single = self._options(names, keys.options, taken)
        taken |= {*self._single, *([] if self._list is None else [self._list])}
        index = pick(names, None, INDEX, source=source, taken=taken) if keys.answer is None else None
        answer = pick(names, keys.answer, ANSWER, source=source, noun="column", taken=taken)
        self._answer: str | None = answer if index is None else index
        self._second: str | None = None if index is None else answer
        if self._answer is None and not self._is_marked(self._list):
            raise self._lacks("answer", ANSWER.option, names)

    def _options(self, names: list[str], wanted: Any, taken: set[str]) -> tuple[str | None, list[str]]:
        """The column of lists, or those of single options."""
        if wanted is not None:
            return (wanted, []) if isinstance(wanted, str) else (None, list(wanted))
        listed = pick(names, None, OPTIONS, source=self._source, taken=taken)
        if listed is not None:
            return listed, []
        found: dict[str, dict[str, str]] = {}
        for name in names:
            match = OPTION_COLUMN.fullmatch(plain_name(name)) if name not in taken else None
            if match:
                found.setdefault(f"{match[1]} {'1' if match[2].isdigit() else 'a'}", {})[match[2]] = name
        single = max(map(_in_a_row, found.values()), key=len, default=[])
        if len(single) >= 2:
            return None, single
        apart = [name for name in names if APART.fullmatch(plain_name(name))]
        if apart:
            raise InputError(
                f"{self._source} lists the right answer apart from the wrong ones ({listing(apart)}), so that no order "
                "of the options is printed; give them in the order in which they were published (`options_key`)."
            )
        raise self._lacks("options", OPTIONS.option, names)

    def _lacks(self, what: str, option: str, names: list[str]) -> InputError:
        return InputError(
            f"{self._source} has no {what} under a usual name; of its columns {listing(names, len(names))} say which "
            f"it is with `{option}`."
        )

    @staticmethod
    def _is_marked(column: str | None) -> bool:
        return column is not None and plain_name(column) == "mc1_targets"

    def see_blanks(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """What blanks in columns of single options mean, by all rows.

        Where some stand before other options, blanks are gaps, and rows with one are broken wherever it stands: were
        those at the end taken for fewer options, the printed order would decide which items stay.
        """
        for i, row in enumerate(rows):
            values = [row.get(name) for name in self._single]
            gap = next((name for name, value in zip(self._single, values, strict=True) if _is_nan(value)), None)
            if gap is not None:
                raise InputError(
                    f'{self._source}: row {i + 1} has NaN in {gap!r}, which may have been an option such as "None" or '
                    '"NA"; read the table with keep_default_na=False, or fill what is empty with "".'
                )
            texts = [_text(value) for value in values]
            while texts and not texts[-1]:
                texts.pop()
            self._fewer &= "" not in texts

    def read(self, row: Mapping[str, Any], where: str) -> Row:
        """One row, whose answer is as it is written."""
        parts = [_text(row.get(name)) for name in self._asked]
        if not parts[-1]:
            raise BrokenRowError(f"{where} has no question ({self._asked[-1]!r})", "question")
        marked = None
        if self._list is not None:
            texts, labels, marked = _listed(row.get(self._list), where, self._list)
        else:
            texts, labels = [_text(row.get(name)) for name in self._single], None
            while self._fewer and texts and not texts[-1]:
                texts.pop()
            if any(texts) and "" in texts:
                raise BrokenRowError(
                    f"{where}: option {texts.index('') + 1} is empty; since some rows have empty options before "
                    "others, all with an empty one are broken",
                    "options",
                )
        self._check(texts, where)
        answer = marked if self._answer is None else row.get(self._answer)
        if isinstance(answer, list) and len(answer) == 1:
            (answer,) = answer
        return Row(where, "\n".join(part for part in parts if part), tuple(texts), labels, answer)

    @staticmethod
    def _check(texts: list[str], where: str) -> None:
        twice = repeated(texts)
        if not any(texts):
            raise BrokenRowError(f"{where} has no options", "options")
        if "" in texts:
            raise BrokenRowError(f"{where}: option {texts.index('') + 1} is empty", "options")
        if len(texts) == 1:
            raise BrokenRowError(f"{where} has one option, {_short(texts[0])}, where at least 2 are needed", "options")
        if twice:
            raise BrokenRowError(f"{where} has two options with the same text, {_short(twice[0])}", "options")
        if len(texts) > MOST_OPTIONS:
            raise BrokenRowError(f"{where} has {len(texts)} options, more than the {MOST_OPTIONS} letters", "options")

    def answers(self, rows: list[Row], plain: list[dict[str, Any]], keys: Keys) -> list[int | None]:
        """Place of each right option; two columns that name it must agree."""
        column = self._answer or self._list or ""
        base = 0 if self._answer is None else keys.answers_from  # options that are marked are counted by us
        found = read_answers(rows, column=column, answers_from=base, skip=keys.skip_broken)
        if self._second is None:
            return found
        second = [replace(row, answer=own.get(self._second)) for row, own in zip(rows, plain, strict=True)]
        try:
            again = read_answers(second, column=self._second, answers_from=keys.answers_from)
        except InputError:  # something else, such as an explanation
            return found
        differ = [i for i, place in enumerate(again) if place != found[i] and found[i] is not None]
        if differ and keys.skip_broken:
            return [None if i in differ else place for i, place in enumerate(found)]
        if differ:
            row, other = rows[differ[0]], second[differ[0]]
            raise InputError(
                f"{row.where}: {column!r} is {row.answer!r} and {self._second!r} is {other.answer!r}, which are two "
                "options; correct one of them, or say which counts with `answer_key`."
            )
        return found


def _in_a_row(columns: Mapping[str, str]) -> list[str]:
    """Columns a, b, c ... or 0, 1, 2 ... or 1, 2, 3 ..., as far as they go without a gap."""
    marks = list(LETTERS.lower()) if "a" in columns else [str(i + ("0" not in columns)) for i in range(MOST_OPTIONS)]
    return [columns[mark] for mark in takewhile(columns.__contains__, marks)]


def _is_nan(value: Any) -> bool:
    return value is not None and is_gap(value)


def _text(value: Any) -> str:
    return "" if is_gap(value) else as_text(value).strip()


def _listed(value: Any, where: str, column: str) -> tuple[list[str], tuple[str, ...] | None, int | None]:
    """Options that one cell holds: their texts, what they are called, and the place of the one marked as right."""
    if isinstance(value, str):
        value = _unpacked(value)
    if _is_object(value):
        lower = {plain_name(key): one for key, one in value.items()}
        texts = next(
            (lower[key] for key in ("text", "texts", "choices", "options") if isinstance(lower.get(key), list)), None
        )
        names = next((lower[key] for key in ("label", "labels") if isinstance(lower.get(key), list)), None)
        if (
            texts is None
            and value
            and all(one in (0, 1) for one in value.values() if not isinstance(one, str))
            and not any(isinstance(one, str) for one in value.values())
        ):
            texts, names = list(value), list(value.values())
        if texts is None:
            texts, names = list(value.values()), list(value)
        if names is not None and len(names) != len(texts):
            raise BrokenRowError(f"{where}: {column!r} has {len(texts)} texts and {len(names)} labels", "options")
    elif isinstance(value, list) and value and all(map(_is_object, value)):
        texts = [one.get("text", one.get("content")) for one in value]
        names = [one.get("label", one.get("key", LETTERS[i % 26])) for i, one in enumerate(value)]
    elif isinstance(value, list):
        texts, names = value, None
    else:
        numpy = ", not one without commas, as numpy prints it: save Parquet or JSONL" * bool(
            NO_COMMAS.match(str(value))
        )
        raise BrokenRowError(f"{where}: {column!r} is {_short(value)}, where a list is needed{numpy}", "options")
    if any(isinstance(text, (list, dict)) for text in texts):
        raise BrokenRowError(
            f"{where}: {column!r} holds options that are lists themselves, where each must be a text", "options"
        )
    plain = [_text(text) for text in texts]
    if names is not None and all(isinstance(name, (int, float)) and name in (0, 1) for name in names):
        if sum(names) != 1:
            raise BrokenRowError(
                f"{where}: {column!r} marks {sum(names):g} options as right, where one is needed", "answer"
            )
        return plain, None, names.index(1)
    return plain, None if names is None else tuple(_text(name) for name in names), None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _unpacked(text: str) -> Any:
    """A list that a cell of a CSV spells, as JSON or as Python prints it.

    Examples
    --------
    >>> _unpacked("['a', 'b']"), _unpacked("['a' 'b']")
    (['a', 'b'], "['a' 'b']")
    """
    if NO_COMMAS.match(text):  # Python would read one text, "ab"
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return list(value) if isinstance(value, tuple) else value
    return text


def _ids(rows: list[dict[str, Any]], names: list[str], wanted: str | None, source: str) -> tuple[str, ...]:
    """Ids from the column that was named or goes by a usual name; else the rows are numbered from 0."""
    key = pick(names, wanted, EXAMPLE, source=source, noun="column", weak=True)
    numbers = tuple(map(str, range(len(rows))))
    if key is None:
        return numbers
    values = [row.get(key) for row in rows]
    if wanted is None:  # a guess: RACE's `example_id` is that of an article with several questions
        texts = [_text(value) for value in values]
        return tuple(texts) if all(texts) and not repeated(texts) else numbers
    return read_ids(values, len(rows), source=source) or numbers


def _strata(rows: list[dict[str, Any]], names: list[str], wanted: str | None, source: str) -> list[str]:
    """What a column that was named says of each row; every row must say something."""
    if wanted is None:
        return [""] * len(rows)
    check_key(names, wanted, "strata_key", source=source, noun="column")
    found = [_text(row.get(wanted)) for row in rows]
    if "" in found:
        raise InputError(
            f"{source}: row {found.index('') + 1} has no {wanted!r} (`strata_key`), so that nobody knows which items "
            "it is compared with; fill in all rows, or name another column."
        )
    return found
