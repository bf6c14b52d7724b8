"""Long tables: one row for each model and example, or for each of its trials."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_key, plain_name
from heldout.errors import InputError
from heldout.predictions.cells import read_predictions
from heldout.predictions.item_columns import Apart, asks_another
from heldout.predictions.join import another_example, different_examples
from heldout.predictions.keys import CORRECT, COUNT, SUCCESSES, TEXTS, TRIAL, Options
from heldout.predictions.table import Predictions, make_table
from heldout.predictions.text_cells import Column, are_numbers
from heldout.predictions.trials import Scale, Scored, pooled_trials, read_scores
from heldout.predictions.values import ABSENT, Codes, ModelError, as_text, id_texts, is_gap, number_of


@dataclass(frozen=True)
class Trials:
    """What rows say of trials: which one a row is, how many it counts, how many of them succeeded."""

    trial: Column | None
    count: Column | None
    successes: bool
    repeats: bool  # rows of one model and example are trials, as the caller says

    @classmethod
    def find(cls, columns: dict[str, Column], options: Options, *, source: str) -> Trials:
        """What the columns of a table say."""
        wanted = options.trials_key
        if wanted is not None:
            options.use("trials_key")
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
                    f"{source} counts successes but not trials; name the column of their numbers with `trials_key`."
                )
            return None
        n_trials = [_whole(value, i, "trials", source=source) for i, value in enumerate(self.count)]
        gaps = [is_gap(score) for score in found["scores"]]
        lacking = next(
            (i for i, (t, gap) in enumerate(zip(n_trials, gaps, strict=True)) if t is None and not gap), None
        )
        if lacking is not None:
            raise InputError(
                f"{source}: row {lacking + 1} has a score but no number of trials; fill it in, or leave the row out."
            )
        trials = np.array([t or 0 for t in n_trials], dtype=np.int64)
        if self.successes:
            successes = [_whole(k, i, "successes", source=source) for i, k in enumerate(found["scores"])]
            pairs = zip(successes, trials.tolist(), strict=True)
            found["scores"] = np.array([None if k is None else f"{k}/{t}" for k, t in pairs], dtype=object)
        return trials


def _whole(value: Any, row: int, noun: str, *, source: str) -> int | None:
    """A count; None where the cell is empty."""
    if is_gap(value) or value == "":
        return None
    number = number_of(value)
    if number is None or number < 0 or not float(number).is_integer():
        raise InputError(f"{source}: row {row + 1} counts {value!r} {noun}; a whole number, 0 or more, is needed.")
    return int(number)


def long_table(
    models: Column,
    ids: Column,
    found: dict[str, Column],
    rows: Trials,
    options: Options,
    *,
    source: str,
    beside: dict[str, Column],
) -> Predictions:
    """One row per model and example, or one of its trials, to one row per model."""
    names, row = _positions(id_texts(models, source=source, noun="model", option="names_key"))
    examples, place = _positions(id_texts(ids, source=source))
    k, n = len(names), len(examples)
    counts = np.bincount(row * n + place, minlength=k * n)
    if (counts > 1).any() and not rows.several:
        model, example = divmod(int(np.argmax(counts)), n)
        raise InputError(
            f"{source}: the model {names[model]!r} has more than one row for the example "
            f"{examples[example]!r}; keep one, or, if they are trials, name the column that numbers them with "
            f'`trials_key`, or give `repeats="trials"`.'
        )
    if (counts > 1).any():
        options.use("repeats")
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
    told = _told(beside, (names, row), (examples, place), options, source=source)
    counted = rows.counts(found, len(row), source=source)
    if counted is not None or (counts > 1).any():
        return _trials(
            found, counted, (names, row), (examples, place), options, source=source,
            columns=told,
        )  # fmt: skip
    if "scores" in found:
        options.use("scale")
    parts: dict[str, Any] = {}
    for role, column in found.items():
        if role == "labels":
            parts[role] = _of_examples(column, place, examples, source=source, what=("the label ", ""))
        else:
            full = are_numbers(column) and present.min() == n
            parts[role] = np.empty((k, n), dtype=column.dtype if full else object)  # None where there is no row
            parts[role][row, place] = column
    return make_table(
        **parts,
        scale=options.scale if "scores" in parts else None,
        names=names,
        ids=examples,
        missing=options.codes,
        source=source,
        columns=told,
    )


def _told(
    beside: dict[str, Column],
    models: tuple[list[str], NDArray[np.intp]],
    examples: tuple[list[str], NDArray[np.intp]],
    options: Options,
    *,
    source: str,
) -> dict[str, Any]:
    """Columns of the examples; of those that nobody asked for only what is the same in all rows of an example.

    What an example asks is refused where it is not the same.
    """
    (names, row), (ids, place) = models, examples
    told = {}
    for key, column in beside.items():
        if plain_name(key) in TEXTS:
            told[key] = _texts(column, key, (names, row), (ids, place), source=source)
            if key not in options.columns:
                continue
        what = ("", f" in the column {key!r}") if key in options.columns else None
        values = _of_examples(column, place, ids, source=source, what=what)
        if values is not None:
            told[key] = values
    return told


def _texts(
    column: Column,
    key: str,
    models: tuple[list[str], NDArray[np.intp]],
    examples: tuple[list[str], NDArray[np.intp]],
    *,
    source: str,
) -> NDArray[Any]:
    """What each example asks, which all of its rows must agree on."""
    (names, row), (ids, place) = models, examples
    cells = np.empty(len(column), dtype=object)
    cells[:] = column
    first = np.full(len(ids), -1, dtype=np.intp)
    there = np.flatnonzero([not is_gap(value) for value in cells])
    first[place[there][::-1]] = there[::-1]
    apart = [i for i in there.tolist() if first[place[i]] != i and asks_another(cells[first[place[i]]], cells[i])]
    if apart:
        i, before = apart[0], int(first[place[apart[0]]])
        found = Apart(int(place[i]), len(set(place[apart].tolist())), key, cells[before], cells[i])
        raise another_example(source, found, (names[row[before]], names[row[i]]), ids[place[i]], n=len(ids))
    texts = np.full(len(ids), None, dtype=object)
    texts[first >= 0] = cells[first[first >= 0]]
    return texts


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
    """Rows that are trials, or count some, to one cell per model and example."""
    (names, row), (ids, place) = models, examples
    try:
        if "scores" in found:
            options.use("scale")
            scale = Scale(options.scale)
            values = np.asarray(found["scores"], dtype=object)
            read = read_scores(values, options.codes, what="scores", scale=scale, models=row)
        else:
            said, truth, seen = read_predictions([found["predictions"]], found["labels"], options.codes)
            read = Scored((said == truth)[0], None if seen is None else seen[0])
        if counted is not None and read.trials is None:
            read = Scored(read.cells, read.observed, counted)
        cells = pooled_trials(read, row * len(ids) + place, len(names) * len(ids))
    except InputError as error:
        told = error.named(names) if isinstance(error, ModelError) else error
        raise InputError(f"{source}: {told}") from error
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
    if are_numbers(column, "biu"):
        numbers = np.empty(len(examples), dtype=column.dtype)
        numbers[place] = column
        if (numbers[place] == column).all():
            return numbers
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


def _positions(texts: list[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct values in order of appearance, and the position of each cell's value among them."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(place), np.fromiter(map(place.__getitem__, texts), dtype=np.intp, count=len(texts))
