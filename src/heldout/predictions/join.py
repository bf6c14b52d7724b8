"""Models side by side: join tables on the id of the example."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions.item_columns import Apart, where_apart
from heldout.predictions.keys import FILES, SCORED, TEXTS, Options
from heldout.predictions.table import Predictions
from heldout.predictions.trials import Scored, pooled_trials
from heldout.predictions.values import ABSENT, Codes, listing, number_of, repeated

HOW = ("inner", "outer")


def align(tables: Sequence[Predictions], *, how: str = "inner") -> Predictions:
    """Put the models of several tables side by side, joined on the example's id.

    Parameters
    ----------
    tables : sequence of Predictions
        Each with ids; no model in two of them.
    how : {"inner", "outer"}
        Keep the examples that every table has, or all of them; with "outer", what a table lacks is missing.
        Examples come in the order of the first table that has them.

    Returns
    -------
    Predictions
        All models, on the examples that were kept.

    Examples
    --------
    >>> from heldout import Predictions
    >>> from heldout.predictions import align
    >>> a = Predictions.from_correct([[1, 0, 1]], names=["a"], ids=["x", "y", "z"])
    >>> b = Predictions.from_correct([[1, 1]], names=["b"], ids=["z", "x"])
    >>> align([a, b]).ids, align([a, b]).correct.tolist()
    (('x', 'z'), [[True, True], [True, True]])
    >>> print(align([a, b], how="outer"))
    2 models, 3 examples, 1 cell missing (2 tables)
    """
    return _join(tables, how, source=f"{len(tables)} tables")


def _join(tables: Sequence[Predictions], how: str, *, source: str) -> Predictions:
    if how not in HOW:
        raise InputError(f'`how` is {how!r}; "inner" or "outer" is needed.')
    if not tables:
        raise InputError("there are no tables to join.")
    for table in tables:
        if table.ids is None:
            raise InputError(f"{table.source} ({listing(table.names)}) has no example ids to join on; give ids=.")
    _check_names(tables)
    first = tables[0].ids
    if all(table.ids == first for table in tables):
        return _stack(tables, [np.arange(tables[0].n_examples)] * len(tables), first, source=source)
    places = [{name: i for i, name in enumerate(table.ids or ())} for table in tables]
    ids: list[str] = list(dict.fromkeys(name for place in places for name in place))
    if how == "inner":
        ids = [name for name in ids if all(name in place for place in places)]
        if not ids:
            raise InputError(f"no example id is in all {len(tables)} tables, so that nothing is left to join.")
    columns = [np.array([place.get(name, -1) for name in ids], dtype=np.intp) for place in places]
    return _stack(tables, columns, tuple(ids), source=source)


def side_by_side(tables: Sequence[Predictions], codes: Codes, *, source: str) -> Predictions:
    """The same for files of one folder, which must have the same examples unless absent ones are declared missing."""
    first = tables[0]
    _check_names(tables)
    with_ids = all(table.ids is not None for table in tables)
    _check_ids(tables, source=source)
    if with_ids and ABSENT in codes:
        return _join(tables, "outer", source=source)
    for table in tables[1:]:
        same = table.n_examples == first.n_examples
        if with_ids and same:
            same = table.ids == first.ids or set(table.ids or ()) == set(first.ids or ())
        if not same:
            counted = f"{first.names[0]!r} {first.n_examples:,} and {table.names[0]!r} {table.n_examples:,}"
            if with_ids and first.ids is not None and table.ids is not None:
                where = f"{source}: the models have different examples"
                raise not_shared(where, (first.names[0], table.names[0]), (first.ids, table.ids))
            raise different_examples(source, counted, with_ids=with_ids)
    if with_ids:
        return _join(tables, "inner", source=source)
    order = np.arange(first.n_examples)
    return _stack(tables, [order] * len(tables), None, source=source)


def together(tables: Sequence[Predictions], options: Options, *, source: str) -> Predictions:
    """Several files of one test set: a model may be in several, with different examples or the same predictions."""
    names = repeated([name for table in tables for name in table.names])
    if not names:
        return side_by_side(tables, options.codes, source=source)
    rows = [table.select(name) for table in tables for name in table.names]
    of_model: dict[str, list[Predictions]] = {}
    for part in rows:
        of_model.setdefault(part.names[0], []).append(part)
    merged = [_one_model(parts, options, source=source) for parts in of_model.values()]
    return side_by_side(merged, options.codes, source=source)


def _one_model(parts: Sequence[Predictions], options: Options, *, source: str) -> Predictions:
    """The rows of one model in several files, put together."""
    if len(parts) == 1:
        return parts[0]
    parts = _in_one_kind(parts)
    name = parts[0].names[0]
    for part in parts:
        if part.ids is None:
            raise InputError(
                f"{source}: the model {name!r} is in more than one file, and {part.source} has no example ids to join "
                "on; name the column of ids with `ids_key`, or give each model a name of its own."
            )
    ids = tuple(dict.fromkeys(example for part in parts for example in part.ids or ()))
    place = {example: i for i, example in enumerate(ids)}
    rows = np.concatenate([[place[example] for example in part.ids or ()] for part in parts]).astype(np.intp)
    scores = np.concatenate([part.scores[0] for part in parts])
    there = np.concatenate(
        [np.ones(part.n_examples, bool) if part.observed is None else part.observed[0] for part in parts]
    )
    trials = np.concatenate([_row(part.trials, part.n_examples, 1) for part in parts]).astype(np.int64)
    within = None
    if all(part.trials is None or part.within is not None for part in parts):
        within = np.concatenate([_row(part.within, part.n_examples, 0) for part in parts])
    said = _said(parts)
    if len(ids) < len(rows):
        options.use("repeats")
    labels = predictions = None
    if not options.repeats_are_trials:
        first = np.full(len(ids), -1)
        for i, row in enumerate(rows.tolist()):
            other = first[row]
            same = other < 0 or (scores[other] == scores[i] and (said is None or said[other] == said[i]))
            if there[i] and not same:
                raise InputError(
                    f"{source}: the model {name!r} is in more than one file with different predictions, of which the "
                    f"example {ids[row]!r} is the first; keep one, give each model a name of its own, or count them as "
                    'trials with `repeats="trials"`.'
                )
            if there[i] and other < 0:
                first[row] = i
        there = there & (first[rows] == np.arange(len(rows)))
        if said is not None:
            labels = _common_labels(parts, [_places(part, ids) for part in parts], ids)
            predictions = np.empty((1, len(ids)), dtype=said.dtype)
            predictions[0, rows] = said
            predictions[0, rows[there]] = said[there]
    cells = pooled_trials(Scored(scores, there, trials, within), rows, len(ids))
    return Predictions(
        names=(name,),
        cells=cells.cells[None],
        observed=cells.observed[None] if cells.observed is not None else None,
        trials=None if cells.trials is None else cells.trials[None],
        within=None if cells.within is None else cells.within[None],
        predictions=predictions,
        labels=labels,
        ids=ids,
        source=source,
        columns=_common_columns(parts, [_places(part, ids) for part in parts], ids, source=source),
    )


def _said(parts: Sequence[Predictions]) -> NDArray[Any] | None:
    """What the model predicted in each row of all files; None where a file does not say, or says it in its own kind."""
    found = [part.predictions[0] for part in parts if part.predictions is not None]
    if len(found) < len(parts) or len({said.dtype.kind in "UO" for said in found}) > 1:
        return None
    return np.concatenate(found)


def _row(values: NDArray[Any] | None, n: int, default: float) -> NDArray[Any]:
    return np.full(n, default) if values is None else values[0]


def _places(part: Predictions, ids: Sequence[str]) -> NDArray[np.intp]:
    """Where a table has each example; -1 where it has not."""
    place = {example: i for i, example in enumerate(part.ids or ())}
    return np.array([place.get(example, -1) for example in ids], dtype=np.intp)


def different_examples(source: str, counted: str, *, with_ids: bool = True) -> InputError:
    """What to say where models were not run on the same examples."""
    way_out = "give every file the ids of its examples, so that they can be joined."
    if with_ids:
        way_out = (
            "join them on the example's id (heldout.predictions.align), or count what a model lacks as not run with "
            '`missing="absent"`.'
        )
    return InputError(f"{source}: the models have different examples, {counted}; {way_out}")


def not_shared(where: str, models: tuple[str, str], ids: tuple[Iterable[str], Iterable[str]]) -> InputError:
    """The same with an id that each model lacks, since equal examples may be named in two ways."""
    first, second = (dict.fromkeys(own) for own in ids)
    common = len(first.keys() & second.keys())
    alone = zip(models, (first, second), (second, first), strict=True)
    lacking = [
        f"only {model!r} has {next(name for name in own if name not in others)!r}"
        for model, own, others in alone
        if own.keys() - others.keys()
    ]
    counted = " and ".join(f"{model!r} {len(own):,}" for model, own in zip(models, (first, second), strict=True))
    way_out = (
        "run them on the same examples, join them on the example's id (heldout.predictions.align), or count what a "
        'model lacks as not run with `missing="absent"`.'
    )
    if not common:
        way_out = "write the ids of equal examples alike in all files, or run the models on the same examples."
    return InputError(f"{where}, {counted} ({common:,} in common): {', '.join(lacking)}; {way_out}")


def _check_ids(tables: Sequence[Predictions], *, source: str) -> None:
    """Rows without ids may stand in any order: they are not put beside rows that have them."""
    having = [table for table in tables if table.ids is not None]
    lacking = [table for table in tables if table.ids is None]
    if having and lacking:
        raise InputError(
            f"{source}: {lacking[0].names[0]!r} has no ids of its examples but {having[0].names[0]!r} has, such as "
            f"{(having[0].ids or ('',))[0]!r}, so that nothing says whether they stand in the same order; give every "
            "file a column of ids (`ids_key`), or none where rows are in one order."
        )


def _check_names(tables: Sequence[Predictions]) -> None:
    twice = repeated([name for table in tables for name in table.names])
    if twice:
        raise InputError(f"{listing(twice)} is in more than one table; give each model a name of its own.")


def _stack(
    tables: Sequence[Predictions], columns: Sequence[NDArray[np.intp]], ids: tuple[str, ...] | None, *, source: str
) -> Predictions:
    """Rows of all tables over the chosen columns; column -1 is missing."""
    tables = _in_one_kind(tables)
    observed = np.concatenate(
        [_take(t.observed, c, (t.n_models, len(c))) for t, c in zip(tables, columns, strict=True)]
    )
    cells = np.concatenate([t.cells[:, c] for t, c in zip(tables, columns, strict=True)])
    labels = _common_labels(tables, columns, ids)
    predictions = None
    if labels is not None:
        predictions = np.concatenate([t.predictions[:, c] for t, c in zip(tables, columns, strict=True)])  # type: ignore[index]
    return Predictions(
        names=tuple(name for table in tables for name in table.names),
        cells=cells,
        observed=observed,
        trials=_common_trials(tables, columns),
        within=_common_within(tables, columns),
        predictions=predictions,
        labels=labels,
        ids=ids,
        source=source,
        columns=_common_columns(tables, columns, ids, source=source),
    )


def _common_trials(tables: Sequence[Predictions], columns: Sequence[NDArray[np.intp]]) -> NDArray[np.int64] | None:
    """Trials of all tables; a table without has one each."""
    if all(t.trials is None for t in tables):
        return None
    pairs = zip(tables, columns, strict=True)
    return np.concatenate(
        [np.ones((t.n_models, len(c)), dtype=np.int64) if t.trials is None else t.trials[:, c] for t, c in pairs]
    )


def _common_within(tables: Sequence[Predictions], columns: Sequence[NDArray[np.intp]]) -> NDArray[np.float64] | None:
    """Variances inside the cells; None where a table has trials but not their variances."""
    if all(t.within is None for t in tables) or any(t.trials is not None and t.within is None for t in tables):
        return None
    pairs = zip(tables, columns, strict=True)
    return np.concatenate([np.zeros((t.n_models, len(c))) if t.within is None else t.within[:, c] for t, c in pairs])


def _common_columns(
    tables: Sequence[Predictions],
    columns: Sequence[NDArray[np.intp]],
    ids: tuple[str, ...] | None,
    *,
    source: str,
) -> dict[str, NDArray[Any]]:
    """What is known of the examples, by the first table that knows; what tables do not agree on is left out.

    What an example asks has been found the same in all of them.
    """
    _check_asked(tables, columns, ids, source=source)
    joined: dict[str, NDArray[Any]] = {}
    apart: set[str] = set()
    known: dict[str, NDArray[np.bool_]] = {}
    for table, column in zip(tables, columns, strict=True):
        for name, values in table.columns.items():
            there = column >= 0
            if name in apart:
                continue
            into = joined.setdefault(name, np.full(len(column), None, dtype=object))
            told = known.setdefault(name, np.zeros(len(column), dtype=bool))
            new = values[column].astype(object)
            if _must_agree(name, ids):
                there &= np.array([value is None for value in into], dtype=bool)
            # element by element: a text may have become a list, of which arrays make no single truth value
            elif any(a != b for a, b in zip(into[told & there].tolist(), new[told & there].tolist(), strict=True)):
                apart.add(name)
                del joined[name]
                continue
            into[there] = new[there]
            told |= there
    return joined


def _must_agree(column: str, ids: tuple[str, ...] | None) -> bool:
    """Whether a column says what an example asks, by what it was scored, or, without ids, which file it is."""
    name = plain_name(column)
    return name in TEXTS or column == SCORED or (ids is None and FILES.fullmatch(name) is not None)


def _check_asked(
    tables: Sequence[Predictions], columns: Sequence[NDArray[np.intp]], ids: tuple[str, ...] | None, *, source: str
) -> None:
    """An example that asks something else of another model is another one, by whatever id; and one score for all."""
    asked: dict[str, tuple[NDArray[Any], NDArray[np.intp]]] = {}
    for t, (table, column) in enumerate(zip(tables, columns, strict=True)):
        for name, values in table.columns.items():
            if not _must_agree(name, ids):
                continue
            n = len(column)
            texts, teller = asked.setdefault(name, (np.full(n, None, dtype=object), np.full(n, -1, dtype=np.intp)))
            new = values[column].astype(object)
            new[column < 0] = None
            apart = where_apart(texts, new)
            if apart:
                first = apart[0]
                both = np.flatnonzero((teller >= 0) & _are_told(new))
                found = Apart(first, len(apart), name, texts[first], new[first])
                names, example = (tables[teller[first]].names[0], table.names[0]), None if ids is None else ids[first]
                if name == SCORED:
                    raise scored_differently(source, names, (texts[first], new[first]), example)
                raise another_example(source, found, names, example, n=len(both))
            silent = np.flatnonzero(teller < 0)
            fresh = silent[_are_told(new[silent])]
            texts[fresh], teller[fresh] = new[fresh], t


def _are_told(texts: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([value is not None and str(value) != "" for value in texts.tolist()], dtype=bool)


def another_example(source: str, found: Apart, models: tuple[str, str], example: str | None, *, n: int) -> InputError:
    """What to say where two models were asked different things under one id, or in one row; `n` have both texts."""
    first, second = found.asked()
    where = f"in row {found.place + 1}" if example is None else f"under the id {example!r}"
    way_out = "give every example an id of its own in all files"
    if example is None:
        way_out = f"give them ids, or join them by their texts with `ids_key={found.column!r}`"
    return InputError(
        f"{source}: {where} {models[0]!r} has another example than {models[1]!r}: its {found.column!r} is {first}, not "
        f"{second}, and so with {found.count:,} of {n:,}; {way_out}. If that column is not what an example asks, leave "
        f"it out with `exclude={found.column!r}`."
    )


def scored_differently(source: str, models: tuple[str, str], by: tuple[str, str], example: str | None) -> InputError:
    """What to say where two models were scored by different metrics, on an example or a task."""
    on = "" if example is None else f" on {example!r}"
    return InputError(
        f"{source}: {models[0]!r} is scored by {by[0]} but {models[1]!r} by {by[1]}{on}; models are compared by one "
        "score, so choose one that all of them have with `metric` (of a table with `correct_key`), or score them again."
    )


def _in_one_kind(tables: Sequence[Predictions]) -> Sequence[Predictions]:
    """Class numbers as text in all tables, where some tables have them so: a prediction there could not be read."""
    labels = [table.labels for table in tables if table.labels is not None]
    text = [part for part in labels if part.dtype.kind in "UO"]
    if not 0 < len(text) < len(labels) or not all(
        number_of(v) is not None for part in text for v in set(part.tolist())
    ):
        return tables
    return [_as_text(table) for table in tables]


def _as_text(table: Predictions) -> Predictions:
    if table.labels is None or table.predictions is None or table.labels.dtype.kind in "UO":
        return table
    return replace(table, labels=table.labels.astype(np.str_), predictions=table.predictions.astype(np.str_))


def _take(observed: NDArray[np.bool_] | None, columns: NDArray[np.intp], shape: tuple[int, int]) -> NDArray[np.bool_]:
    there = np.broadcast_to(columns >= 0, shape)
    return there if observed is None else there & observed[:, columns]


def _common_labels(
    tables: Sequence[Predictions], columns: Sequence[NDArray[np.intp]], ids: tuple[str, ...] | None
) -> NDArray[Any] | None:
    """Labels that all tables agree on; None where a table does not know its predictions."""
    if any(table.labels is None or table.predictions is None for table in tables):
        return None
    kinds = {table.labels.dtype.kind in "UO" for table in tables if table.labels is not None}
    if len(kinds) > 1:
        raise InputError("some tables have class numbers as labels and some class names; give all in one kind.")
    parts = [table.labels for table in tables if table.labels is not None]
    labels = np.zeros(len(columns[0]), dtype=np.result_type(*parts))
    known = np.zeros(len(labels), dtype=bool)
    for table, part, column in zip(tables, parts, columns, strict=True):
        there = column >= 0
        new = part[column]
        differ = known & there & (labels != new)
        if differ.any():
            where = int(np.argmax(differ))
            example = where if ids is None else repr(ids[where])
            raise InputError(
                f"the label of example {example} is {new[where]} for {listing(table.names)} but {labels[where]} in a "
                "table before it; all models must be judged by the same labels."
            )
        labels[there] = new[there]
        known |= there
    return labels
