"""Columns that are no model's, and would be read as one: by their names, and by what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import EXAMPLE, LABEL, pick, plain_name
from heldout.errors import InputError
from heldout.predictions.keys import (
    CAMEL,
    CORRECT,
    FEATURES,
    INDEX,
    LABEL_LIKE,
    METADATA,
    MODEL,
    NEVER_MODELS,
    NUMBERING,
    PREDICTION,
    RESET,
    ROLE_NAMES,
    SUMMARIES,
    Options,
)
from heldout.predictions.text_cells import Column, are_numbers, looks_numeric, spelled
from heldout.predictions.trials import COUNTED
from heldout.predictions.values import Codes, is_gap, listing, plain

PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # an index without a name, as pandas writes it to Parquet
OF_IDS = re.compile(r".*_(id|uid|uuid)")  # of the examples, or of something that they share
INITIALS = {letter for name in SUMMARIES for letter in (name[0], name[0].upper(), " ")}
MOMENTS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    **dict.fromkeys(("mean", "average", "avg"), lambda cells: cells.mean(axis=1)),
    **dict.fromkeys(("total", "sum"), lambda cells: cells.sum(axis=1)),
}
MARKS = {"1": True, "0": False, "true": True, "false": False}
FEWEST = 8  # of numbers that only grow: 1 in 40,320 by chance
REPEATED = 2  # examples that each class has at least, on average
ONCE = 4  # of so many classes at most one has a single example; of free answers many are there once


def with_index(columns: dict[str, Column], options: Options) -> dict[str, Column]:
    """Columns less pandas' index, no model's: it holds the ids where it tells rows apart and nothing else does.

    So does one that `reset_index` made a column, of which only numbers that are all different are taken for it.

    Examples
    --------
    >>> list(with_index({"label": [0, 1], "__index_level_0__": [3, 8]}, Options()))
    ['index', 'label']
    >>> list(with_index({"id": ["a", "b"], "__index_level_0__": [3, 8]}, Options()))
    ['id']
    >>> list(with_index({"level_0": [0, 1], "index": [3, 8], "label": [0, 1]}, Options()))
    ['index', 'label']
    """
    columns = _without_reset(columns, options)
    found = [key for key in columns if PANDAS_INDEX.fullmatch(key) and key not in options.own_keys()]
    rest = {key: column for key, column in columns.items() if key not in found}
    others = {plain_name(key) for key in rest} & {*EXAMPLE.usual, *EXAMPLE.weak, *MODEL.usual}
    if len(found) != 1 or others or options.ids_key or options.names_key:
        return rest
    values = _listed(columns[found[0]])
    return {"index": values, **rest} if _all_different(values) else rest


def _without_reset(columns: dict[str, Column], options: Options) -> dict[str, Column]:
    """Columns less an index that was reset beside ids, or beside another one."""
    kept, names = dict(columns), {key: plain_name(key) for key in columns}
    for key in [key for key, name in names.items() if name in RESET]:
        if key in options.own_keys() or options.exclude.fitting(key):
            continue
        others, better = {names[other] for other in kept if other != key}, RESET[RESET.index(names[key]) + 1 :]
        values = _listed(columns[key]) if others & {*EXAMPLE.usual, *better} else [None]
        if _all_different(values) and all(spelled(value) is not None for value in values):
            del kept[key]
    return kept


def id_column(columns: dict[str, Column], names: Sequence[str], labels: Column | None) -> str | None:
    """The first column under a name that ids go by whose values are all different, and most of them nobody's label.

    Examples
    --------
    >>> id_column({"qid": [7, 8, 9], "a": [0, 1, 0]}, ["qid", "a"], [0, 1, 1])
    'qid'
    >>> id_column({"qid": [0, 1, 2]}, ["qid"], [2, 1, 0]) is None
    True
    """
    known = None if labels is None else {_told(value) for value in _listed(labels)}
    for key in names:
        if not NUMBERING.fullmatch(plain_name(CAMEL.sub("_", key))):
            continue
        values = _listed(columns[key])
        strange = [v for v in values if (_told(v) not in known if known is not None else v not in (0, 1, "0", "1"))]
        whole = all(spelled(v) is not None or not looks_numeric(v) for v in values)
        if whole and _all_different(values) and 2 * len(strange) > len(values):
            return key
    return None


def check_names(names: list[str], label: str | None, *, source: str) -> None:
    """A column that is no model's by its name would be read as one, and the numbers be nonsense."""
    for name in names:
        if plain_name(name) in (LABEL_LIKE if label is None else NEVER_MODELS):
            raise InputError(
                f"{source}: {name!r} looks like the labels: say so with `labels_key={name!r}`, or rename it."
            )
    for name in names if label is None else ():
        if plain_name(name) in PREDICTION.usual:
            raise InputError(
                f"{source}: {name!r} looks like what a model predicted, but no column is called as labels are: say "
                f"which it is with `labels_key`, or rename {name!r} if it holds 1 for right and 0 for wrong."
            )
        if plain_name(name) in CORRECT.usual + CORRECT.weak:
            raise InputError(
                f"{source}: {name!r} looks like the scores of one model, but other columns may be models, too: read it "
                f"alone with `correct_key={name!r}`, or leave it out with `exclude={name!r}`, or rename it if it is a "
                "model among others."
            )
    known = ROLE_NAMES | METADATA | SUMMARIES
    strays = [name for name in names if plain_name(name) in known or OF_IDS.fullmatch(plain_name(name))]
    if len(strays) == 1:
        raise InputError(
            f"{source}: the column {strays[0]!r} looks like no model's: leave it out with "
            f"`exclude={strays[0]!r}`, or rename it if it is one."
        )
    if strays:
        raise InputError(
            f"{source}: the columns {listing(strays, len(strays))} look like no models': leave them out with "
            f"{' '.join(f'`exclude={name!r}`' for name in strays)}, or rename what is one."
        )


def check_summaries(
    models: Sequence[str],
    examples: Sequence[str] | None,
    cells: NDArray[Any],
    observed: NDArray[np.bool_] | None = None,
    *,
    source: str,
) -> None:
    """A mean over examples would pass for a further example, and one over models for a further model.

    Where all cells are right or wrong, an example called "mean" is one unless it is that: words are ids, too.
    """
    for name in models:
        if plain_name(name) in SUMMARIES:
            raise InputError(
                f"{source}: {name!r} looks like a summary of the models, and no model: leave it out with "
                f"`exclude={name!r}`, or rename it if it is one."
            )
    for i, name in enumerate(examples or ()):
        if name[:1] in INITIALS and plain_name(name) in SUMMARIES and _may_sum_up(cells, observed, i, plain_name(name)):
            raise InputError(
                f"{source}: {name!r} looks like a summary of the examples, and no example: take it out of the file, "
                "or give it another id if it is one."
            )


def _may_sum_up(cells: NDArray[Any], observed: NDArray[np.bool_] | None, at: int, name: str) -> bool:
    """Whether an example may hold what its name says of all others that were run; at either end, also rounded."""
    if cells.dtype != np.bool_ or name not in MOMENTS or cells.shape[1] == 1:
        return True
    there = np.ones(cells.shape, dtype=bool) if observed is None else observed
    if not there[:, at].any():
        return True
    others = np.ma.array(np.delete(cells, at, axis=1), np.float64, mask=np.delete(~there, at, axis=1))
    sums = MOMENTS[name](others)[there[:, at]]
    held = cells[there[:, at], at]
    whole = [sums, np.floor(sums), np.floor(sums + 0.5)] if at in (0, cells.shape[1] - 1) and held.size > 1 else [sums]
    return any(bool(np.ma.allequal(held, values)) for values in whole)


def check_alone(
    columns: dict[str, Column], roles: dict[str, str | None], example: str | None, options: Options, *, source: str
) -> None:
    """A column `prediction` or `correct` makes a table one model's; other models beside it would vanish unnamed."""
    key = roles.get("correct") or roles.get("predictions")
    if key is None or key in (options.correct_key, options.predictions_key):
        return
    label = pick(columns, options.labels_key, LABEL, source=source, noun="column", weak=True)
    known = None if label is None else {_told(value) for value in _listed(columns[label])}
    beside = [
        name
        for name in columns
        if name not in (key, label, example)
        and plain_name(name) not in ROLE_NAMES | METADATA | SUMMARIES
        and not INDEX.fullmatch(plain_name(name))
        and not FEATURES.fullmatch(plain_name(name))
        and options.exclude.keeps(name)
        and _are_models(_listed(columns[name]), known)
    ]
    if beside:
        argument = "correct_key" if roles.get("correct") else "predictions_key"
        raise InputError(
            f"{source}: {key!r} would be the only model, but {listing(beside)} beside it "
            f"look{'s' * (len(beside) == 1)} like models, too: read it alone with `{argument}={key!r}`, or leave it "
            f"out with `exclude={key!r}`, or give it the name of a model to read all."
        )


def _are_models(values: list[Any], known: set[str] | None) -> bool:
    """Whether most cells hold a label of some example or, where there are no labels, right or wrong."""
    there = [_told(value) for value in values if not is_gap(value) and value != ""]
    expected = MARKS if known is None else known
    return bool(there) and 2 * sum(value in expected for value in there) > len(there)


def check_agreement(
    columns: dict[str, Column], correct: Column, example: str | None, options: Options, *, source: str
) -> None:
    """Predictions and labels beside right and wrong must not say the opposite.

    An equal prediction is not wrong. One that is another class is not right; another text may be, since a grader may
    accept more than the label's own spelling.
    """
    said_key = pick(columns, None, PREDICTION, source=source, noun="column", weak=True)
    label_key = pick(columns, options.labels_key, LABEL, source=source, noun="column", weak=True)
    if said_key is None or label_key is None:
        return
    truth = _listed(columns[label_key])
    each = truth if example is None else list(dict(zip(_listed(columns[example]), truth, strict=True)).values())
    known = {_told(value) for value in each} if are_classes(each) else set[str]()
    rows = list(zip(_listed(columns[said_key]), truth, _listed(correct), strict=True))
    against = {row for row in set(rows) if _contradicts(*row, known)}  # a large table has few that differ
    if against:
        i, (said, label, mark) = next((i, row) for i, row in enumerate(rows) if row in against)
        count = sum(row in against for row in rows)
        key = next(key for key, column in columns.items() if column is correct)
        raise InputError(
            f"{source}: {key!r} contradicts {said_key!r} and {label_key!r} in {count:,} of {len(rows):,} rows: row "
            f"{i + 1} has the prediction {str(said)!r}, the label {str(label)!r}, and {mark} as {key!r}. Say what "
            f"holds with `correct_key={key!r}`, or with `predictions_key={said_key!r}`."
        )


def _contradicts(said: Any, label: Any, mark: Any, known: set[str]) -> bool:
    right, answer = MARKS.get(_told(mark).lower()), _told(said)
    if right is None or is_gap(said) or said == "":
        return False
    return not right if answer == _told(label) else right and answer in known


def check_values(cells: dict[str, Column], labels: Column | None, options: Options, *, source: str) -> None:
    """A column of remarks or numbers would pass for a model that is always wrong, or break the table unnamed."""
    if labels is None:
        _check_texts(cells, options.codes, source=source)
        return
    if any(looks_numeric(v) for v in labels[:1]):
        for key, column in cells.items():
            there = [v for v in column[:1000] if v is not None]
            if there and not any(looks_numeric(v) for v in there):
                raise InputError(
                    f"{source}: the column {key!r} holds text such as {there[0]!r} but labels are numbers such as "
                    f"{labels[0]}; if it is no model's, leave it out with `exclude={key!r}`{_or_ids(key, column)}."
                )
    truth = _listed(labels)
    known = set(truth)
    expected = known | {None} | _declared(options)
    classes = are_classes(truth)
    for key, column in cells.items():
        strange = _distinct(column) - expected
        if strange:
            _check_numbers(key, _listed(column), strange, options, classes=classes, source=source)


def _check_numbers(
    key: str, values: list[Any], strange: set[Any], options: Options, *, classes: bool, source: str
) -> None:
    """Whole numbers of which most are nobody's label: they number the examples, or measure something of them."""
    count = sum(value in strange for value in values)
    there = [value for value in values if not is_gap(value)]
    if 2 * count <= len(there):
        return
    numbers = [spelled(value) for value in set(there)]
    if None in numbers:
        return
    first, often = plain(next(value for value in values if value in strange)), Counter(values)
    code = max(strange, key=lambda value: often[value])
    growing = len(there) >= FEWEST and _only_grow(there)
    free = options.classes == "any"
    if _all_different(there) and len(there) > 2 and ((classes and not free) or growing):
        other = "" if growing else '; if a model predicted them, give `classes="any"`'
        raise InputError(
            f"{source}: the column {key!r} holds {len(there):,} different whole numbers such as {first}, and most are "
            f"no label, so that it seems to number the examples: say that these are the ids with `ids_key={key!r}`, or "
            f"leave it out with `exclude={key!r}`{other}."
        )
    if classes and not free:
        raise InputError(
            f"{source}: the column {key!r} holds numbers such as {first} in {count:,} of {len(there):,} cells, which "
            f"are the label of no example: leave it out with `exclude={key!r}` if it is not a model; if it is one, "
            f"{_declare(plain(code), often[code], count, numbers)}."
        )


def _declare(code: Any, often: int, strange: int, numbers: Sequence[str | None]) -> str:
    """What its owner can say of numbers that are nobody's label: a code for no answer, further classes, or answers."""
    if 2 * often > strange:
        return f"declare what stands for a prediction that could not be read with `unread={str(code)!r}`"
    largest = max(int(number or 0) for number in numbers)
    return f'give the number of classes, such as `classes={largest + 1}`, or `classes="any"` if answers are free'


def are_classes(labels: Collection[Any]) -> bool:
    """Whether labels are classes, which repeat, and no free answers, of which many are there once.

    Examples
    --------
    >>> are_classes([0, 1, 2] * 5), are_classes([18, 3, 70000, 540, 18, 3, 64, 12])
    (True, False)
    """
    counts = Counter(labels)
    once = sum(count == 1 for count in counts.values())
    return len(labels) >= REPEATED * len(counts) and ONCE * once <= len(counts)


def _declared(options: Options) -> set[Any]:
    """Values that are declared as classes, or as none: no stranger than labels."""
    classes = options.classes
    codes = {str(code) for code in options.codes} | options.codes.unread
    if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool):
        codes |= set(map(str, range(int(classes))))
    elif classes is not None and not isinstance(classes, str):
        codes |= {str(plain(value)) for value in classes}
    numbers = {number for code in codes if (number := spelled(code)) is not None}
    return codes | numbers | set(map(int, numbers))


def _only_grow(values: list[Any]) -> bool:
    numbers = [int(str(spelled(value))) for value in values]
    return all(a < b for a, b in pairwise(numbers))


def _all_different(values: list[Any]) -> bool:
    """Whether every cell is there, and no two are the same."""
    told = {_told(value) for value in values}
    return len(told) == len(values) and not any(is_gap(v) or v == "" for v in values)


def _listed(column: Column) -> list[Any]:
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return values if {list, dict}.isdisjoint(map(type, values)) else list(map(str, values))


def _distinct(column: Column) -> set[Any]:
    """Distinct values; of floats every NaN."""
    if not are_numbers(column, "biu"):
        return set(_listed(column))
    numbers = np.asarray(column)
    if numbers.dtype.kind == "i" and len(numbers) and numbers.min() >= 0 and numbers.max() <= len(numbers):
        return set(np.flatnonzero(np.bincount(numbers)).tolist())  # class numbers, fifteen times as fast
    return set(np.unique(numbers).tolist())


def _told(value: Any) -> str:
    return spelled(value) or str(value)


def _check_texts(cells: dict[str, Column], codes: Codes, *, source: str) -> None:
    """Without labels, cells are right or wrong, or scores; a text is neither."""
    texts = {
        key: [v for v in column if isinstance(v, str) and v not in codes and not COUNTED.fullmatch(v)]
        for key, column in cells.items()
        if not are_numbers(column)
        if str in set(map(type, column.tolist() if isinstance(column, np.ndarray) else column))
    }
    texts = {key: found for key, found in texts.items() if found}
    if not texts:
        return
    key, found = next(iter(texts.items()))
    if len(texts) == len(cells):
        raise InputError(
            f"{source}: {listing(list(cells))} hold{'s' * (len(cells) == 1)} text such as {found[0]!r}; without a "
            f"column `label`, `labels_key`, the columns of models must hold 0 and 1, or scores."
        )
    if len(found) < len(cells[key]):
        raise InputError(
            f"{source}: {key!r} holds {found[0]!r} among its scores; mark what was not run with "
            f"`missing={found[0]!r}`, or correct it."
        )
    raise InputError(
        f"{source}: the column {key!r} holds text such as {found[0]!r}, where 0 and 1, or scores, are needed; if it is "
        f"no model's, leave it out with `exclude={key!r}`{_or_ids(key, cells[key])}; if it names the model of each "
        f"row, say so with `names_key={key!r}`."
    )


def _or_ids(key: str, column: Column) -> str:
    """What else a column of texts may be, where no two are the same."""
    values = _listed(column)
    ids = len(values) > 2 and _all_different(values)
    return f"; if it tells the examples apart, say so with `ids_key={key!r}`" if ids else ""
