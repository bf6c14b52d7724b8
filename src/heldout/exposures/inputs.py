"""Who could have seen what: the door of `exposure`, where tables, dates, cutoffs and families are read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import EXAMPLE, plain_name
from heldout.errors import InputError
from heldout.exposures.dates import Days, read_dates
from heldout.frames import MAKERS, is_frame
from heldout.predictions import Predictions, load_predictions
from heldout.predictions.item_columns import told_apart
from heldout.predictions.values import as_text, is_gap, listing, repeated
from heldout.statistics.margins import MISSING, Cells

Flags = NDArray[np.bool_]
HALF = 0.5  # of the trials of a cell, or of a score, from which on it counts as right
FEWEST = 3  # models
SEEN = "seen"  # the column of a long table of who could have seen what


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """A table of right and wrong, and who could have seen what; examples stand in the order of strata, then dates."""

    names: tuple[str, ...]
    ids: tuple[str, ...]
    cells: Cells  # (k, n): 1 right, 0 wrong, 2 missing
    could: Flags  # (k, n): could have seen it
    seen: Flags  # (k, n): the same, where the cell is there
    known: Flags  # (k,): it is known what the model could have seen
    dates: Days | None  # (n,)
    cutoffs: Days | None  # (k,)
    families: NDArray[np.intp]  # (k,) number of each model's family
    family_names: tuple[str, ...]
    families_given: bool
    strata: NDArray[np.intp]  # (n,)
    strata_names: tuple[str, ...]
    n_undated: int  # examples without a date, or that `seen` does not have
    halved: bool  # scores or trials that were made right or wrong
    source: str
    digest: str
    scored_by: str | None

    @property
    def right(self) -> NDArray[np.bool_]:
        """(k, n) where a model is right."""
        return np.asarray(self.cells == 1)

    @property
    def scores(self) -> NDArray[np.float64]:
        """(k,) ability as a share of right examples, on a common footing where cells are missing."""
        there = self.cells != MISSING
        level = self.right.sum(axis=0) / np.maximum(1, there.sum(axis=0))
        over = np.where(there, self.right - level, 0.0).sum(axis=1) / np.maximum(1, there.sum(axis=1))
        return np.asarray(level.mean() + over)

    @property
    def has_all(self) -> Flags:
        """(k,) models that could have seen every example they have."""
        there = self.cells != MISSING
        return np.asarray(self.known & self.seen.any(axis=1) & (self.seen | ~there).all(axis=1))

    @property
    def informative(self) -> Flags:
        """(k,) models that could have seen some of the examples they have in a stratum, but not all of these."""
        there = self.cells != MISSING
        told = np.zeros(len(self.names), dtype=bool)
        for g in range(len(self.strata_names)):
            own = self.strata == g
            told |= self.seen[:, own].any(axis=1) & (there & ~self.seen)[:, own].any(axis=1)
        return told


def read_board(
    predictions: Predictions | ArrayLike | Any,
    *,
    dates: Any,
    cutoffs: Any,
    seen: Any,
    strata: Any,
    families: Any,
) -> Board:
    """Everything that was given, checked."""
    table = _table(predictions)
    k, n = table.n_models, table.n_examples
    if k < FEWEST:
        raise InputError(
            f"{table.source} has {k} {'model' if k == 1 else 'models'}; at least {FEWEST} are needed, since the others "
            "tell how hard an example is."
        )
    ids = table.ids or tuple(str(j) for j in range(n))
    if is_frame(seen):
        seen = _of_frame(table, seen)
    when, until, flags, known = _exposure(table, ids, dates, cutoffs, seen)
    undated = 0 if when is None else int(np.isnat(when).sum())
    if isinstance(seen, Predictions):
        undated = int((_places(table, seen) < 0).sum())
    cells = np.where(True if table.observed is None else table.observed, table.scores >= HALF, MISSING).astype(np.uint8)
    if not (flags & (cells != MISSING)).any():
        raise InputError(_nobody(when, until))
    codes, strata_names = _strata(table, ids, strata)
    of_family, family_names = _families(table, families)
    order = np.lexsort((np.zeros(n) if when is None else when.astype(np.int64), codes))
    return Board(
        names=table.names,
        ids=tuple(ids[j] for j in order.tolist()),
        cells=np.ascontiguousarray(cells[:, order]),
        could=np.ascontiguousarray(flags[:, order]),
        seen=np.ascontiguousarray((flags & (cells != MISSING))[:, order]),
        known=known,
        dates=None if when is None else when[order],
        cutoffs=until,
        families=of_family,
        family_names=family_names,
        families_given=families is not None,
        strata=codes[order],
        strata_names=strata_names,
        n_undated=undated,
        halved=not table.is_binary or table.trials is not None,
        source=table.source,
        digest=table.digest(),
        scored_by=table.scored_by,
    )


def _table(predictions: Predictions | ArrayLike | Any) -> Predictions:
    if is_frame(predictions):
        return load_predictions(predictions)
    return predictions if isinstance(predictions, Predictions) else Predictions.from_scores(predictions)


def _exposure(
    table: Predictions, ids: Sequence[str], dates: Any, cutoffs: Any, seen: Any
) -> tuple[Days | None, Days | None, Flags, Flags]:
    """Dates, cutoffs, who could have seen what, and of whom it is known."""
    when = until = None
    if dates is not None:
        when = read_dates(_by_example(dates, table, ids, "dates"), ids, what="dates")
        if np.isnat(when).all():
            raise InputError("`dates`: no example of the results has a date; are the ids the same?")
    if cutoffs is not None:
        until = read_dates(_by_model(cutoffs, table, "cutoffs"), table.names, what="cutoffs")
    if seen is not None:
        if until is not None:
            raise InputError("`seen` says who could have seen what, and so do `cutoffs`; give one of them.")
        return when, until, *_given(table, seen)
    if when is None or until is None:
        lacking = "`dates` of the examples" if when is None else "`cutoffs` of the models"
        raise InputError(
            f"{lacking} are not given; dates and cutoffs are needed, or `seen`, a table of who could have seen what."
        )
    known = ~np.isnat(until)
    if not known.any():
        raise InputError("`cutoffs`: no model of the results has a cutoff; are the names the same?")
    return when, until, np.asarray(when[None] <= until[:, None]), known  # comparisons with NaT are False


def _given(table: Predictions, seen: Any) -> tuple[Flags, Flags]:
    """An explicit table of who could have seen what."""
    if isinstance(seen, Predictions):
        strangers = [name for name in seen.names if name not in table.names]
        if strangers:
            raise InputError(f"`seen` has a row for {listing(strangers)}, but {table.source} has no such model.")
        flags, known = np.zeros((table.n_models, table.n_examples), dtype=bool), np.zeros(table.n_models, dtype=bool)
        places = _places(table, seen)
        if (places < 0).all():
            raise InputError(f"`seen` and {table.source} share no example; are the ids the same?")
        _check_asked(table, seen, places)
        blank = [] if seen.observed is None else np.argwhere(~seen.observed).tolist()
        if blank:
            i, j = blank[0]
            where = f"{seen.names[i]!r} on {seen.ids[j] if seen.ids else j!r}"
            raise InputError(
                f"`seen` is blank in {len(blank):,} {'cell' if len(blank) == 1 else 'cells'}, the first {where}; write "
                "1 where a model could have seen an example and 0 where not."
            )
        for i, name in enumerate(seen.names):
            row = table.names.index(name)
            flags[row], known[row] = np.where(places >= 0, seen.correct[i][places], False), True
        return flags, known
    values = np.asarray(seen)
    if values.shape != (table.n_models, table.n_examples) or not np.isin(values, (0, 1)).all():
        raise InputError(
            f"`seen` has shape {values.shape}; it must be a table of 0 and 1, {(table.n_models, table.n_examples)}."
        )
    return values.astype(bool), np.ones(table.n_models, dtype=bool)


def _check_asked(table: Predictions, seen: Predictions, places: NDArray[np.intp]) -> None:
    """An example that asks something else in `seen` is another example."""
    there = np.flatnonzero(places >= 0)
    apart = told_apart(
        {name: values[there] for name, values in table.columns.items()},
        {name: values[places[there]] for name, values in seen.columns.items()},
    )
    if apart is not None:
        place, (asked, other) = int(there[apart.place]), apart.asked()
        raise InputError(
            f"`seen` has another example {place if table.ids is None else repr(table.ids[place])} than {table.source}: "
            f"its {apart.column!r} is {other}, not {asked}, and so with {apart.count:,} of {len(there):,}; give both "
            "the same ids."
        )


def _of_frame(table: Predictions, frame: Any) -> Predictions | NDArray[Any]:
    """A frame of 1 and 0, by the names of models and ids in its index and its columns, whichever holds which; or as
    the CSV of it would be read. Where neither has names, its cells are taken in order."""
    index, columns = getattr(frame, "index", None), [str(name) for name in frame.columns]
    rows = None if index is None or _is_numbering(index) else [str(name) for name in index]
    numbered = columns in ([str(i) for i in range(len(columns))], [f"column_{i}" for i in range(len(columns))])
    if rows is None and numbered:
        return np.asarray(frame)
    if rows is not None and not {plain_name(name) for name in columns} & {*EXAMPLE.usual, SEEN}:
        cells = frame.to_numpy()
        if not set(rows) & set(table.names) and set(columns) & set(table.names):
            rows, columns, cells = columns, rows, cells.T
        if set(rows) & set(table.names):
            gaps = np.array([[is_gap(cell) for cell in row] for row in cells.tolist()], dtype=bool).reshape(cells.shape)
            flags = np.where(gaps, 0, cells)
            return Predictions.from_correct(flags, names=rows, ids=columns, observed=~gaps)
    return load_predictions(frame, correct_key=SEEN if SEEN in columns else None)


def _places(table: Predictions, seen: Predictions) -> NDArray[np.intp]:
    """Where `seen` has each example of the table; -1 where it does not."""
    if seen.ids is not None and table.ids is not None:
        place = {name: j for j, name in enumerate(seen.ids)}
        return np.array([place.get(name, -1) for name in table.ids], dtype=np.intp)
    if (seen.ids is None) != (table.ids is None):
        having, lacking = ("`seen`", table.source) if table.ids is None else (table.source, "`seen`")
        raise InputError(
            f"{lacking} has no ids of its examples but {having} has, such as {(table.ids or seen.ids or ('',))[0]!r}, "
            "so that nothing says whether they stand in the same order; give both a column of ids, or neither where "
            "rows are in one order."
        )
    if seen.n_examples != table.n_examples:
        raise InputError(f"`seen` has {seen.n_examples:,} examples but {table.source} has {table.n_examples:,}.")
    return np.arange(table.n_examples)


def _nobody(when: Days | None, until: Days | None) -> str:
    if when is None or until is None:
        return "`seen`: no model could have seen any example, so there is nothing to compare."
    first, last = np.min(when[~np.isnat(when)]), np.max(until[~np.isnat(until)])
    return (
        f"nobody is exposed: the latest of the `cutoffs` is {last} and the earliest of the `dates` is {first}, so no "
        "model could have seen any example."
    )


def _is_series(values: Any) -> bool:
    """Whether this is somebody's column; nothing is imported to find out."""
    return any(c.__name__ == "Series" and c.__module__.partition(".")[0] in MAKERS for c in type(values).__mro__)


def _is_numbering(index: Any) -> bool:
    """Whether an index only numbers its rows, as one does that nobody gave."""
    return [type(i) is int and i == place for place, i in enumerate(index.tolist())] == [True] * len(index)


def _named(values: Any, names: Sequence[str], what: str, noun: str, source: str) -> Any:
    """A mapping by name of what has names, an index of pandas too; everything else as it is.

    An index that only numbers the rows says nothing, unless these numbers are names in another order.
    """
    if is_frame(values):
        raise InputError(f"`{what}` is a table; give one of its columns, indexed by {noun}, or a dict.")
    if isinstance(values, Mapping):
        return {as_text(name): value for name, value in values.items()}
    index = getattr(values, "index", None) if _is_series(values) else None
    if index is None:
        return values
    given = [as_text(name) for name in index.tolist()]
    if _is_numbering(index) and (set(given) != set(names) or given == list(names)):
        return values
    way_out = f"index it by {noun}, or give `{what}.tolist()` if its values are in order"
    if not set(given) & set(names):
        raise InputError(
            f"`{what}` has the index {listing(given)}, and {source} has no such {noun}; it has "
            f"{listing(list(names))}. Either {way_out}."
        )
    twice = repeated(given)
    if twice:
        raise InputError(f"`{what}` has {listing(twice)} more than once in its index; one value is needed for each.")
    if _is_numbering(index):
        raise InputError(f"`{what}` has an index of numbers, which may be names or places; {way_out}.")
    return dict(zip(given, values.tolist(), strict=True))


def _by_example(values: Any, table: Predictions, ids: Sequence[str], what: str) -> list[Any]:
    """One value for each example: of a column, by id of a mapping or an index, or in order."""
    n = table.n_examples
    values = _named(values, ids, what, "id", table.source)
    if isinstance(values, str):
        if values not in table.columns:
            raise InputError(
                f"`{what}`: {table.source} has no column {values!r}; it has "
                f"{listing(list(table.columns), len(table.columns)) or 'none'}."
            )
        return list(table.columns[values].tolist())
    if isinstance(values, Mapping):
        if values and what == "strata" and not set(values) & set(ids):
            raise InputError(f"`strata` names no example of {table.source}; the first are {listing(list(values))}.")
        return [values.get(name) for name in ids]
    given = list(values)
    if len(given) != n:
        raise InputError(f"`{what}` has {len(given):,} values; give one for each of the {n:,} examples.")
    return given


def _by_model(values: Any, table: Predictions, what: str) -> list[Any]:
    """One value for each model, by name or in order; a name that is not there is a slip."""
    values = _named(values, table.names, what, "model", table.source)
    if isinstance(values, Mapping):
        strangers = [str(name) for name in values if name not in table.names]
        if strangers:
            raise InputError(
                f"`{what}` names {listing(strangers)}, but {table.source} has no such model; it has "
                f"{listing(list(table.names))}."
            )
        return [values.get(name) for name in table.names]
    given = list(values)
    if len(given) != table.n_models:
        raise InputError(f"`{what}` has {len(given):,} values; give one for each of the {table.n_models:,} models.")
    return given


def _strata(table: Predictions, ids: Sequence[str], strata: Any) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """The stratum of each example, and the strata's names; several columns make one stratum of every combination."""
    n = table.n_examples
    if strata is None:
        return np.zeros(n, dtype=np.intp), ("all",)
    several: list[Any]
    if isinstance(strata, (str, Mapping)) or _is_series(strata):
        several = [strata]
    elif is_frame(strata):
        several = [strata[name] for name in strata.columns]
    else:
        several = list(strata)
        if not (several and all(isinstance(s, str) and s in table.columns for s in several)) and (
            len(several) == n
            and not isinstance(several[0], (list, tuple, np.ndarray, Mapping))
            and not _is_series(several[0])
        ):
            several = [several]
    columns = [_by_example(one, table, ids, "strata") for one in several]
    rows = [tuple(None if is_gap(v) else str(v) for v in row) for row in zip(*columns, strict=True)]
    found = sorted(set(rows), key=lambda row: (_joined(row), [value or "" for value in row], row.count(None)))
    place = {row: g for g, row in enumerate(found)}
    names = [_joined(row) for row in found]
    alike = set(repeated(names))
    names = [_joined(row, quoted=name in alike) for row, name in zip(found, names, strict=True)]
    return np.array([place[row] for row in rows], dtype=np.intp), tuple(names)


def _joined(row: Sequence[str | None], *, quoted: bool = False) -> str:
    """The name of a stratum; its values are quoted where it would be that of another one.

    Examples
    --------
    >>> _joined(("a b", None)), _joined(("a b", None), quoted=True)
    ('a b ?', "'a b' ?")
    """
    return " ".join("?" if value is None else repr(value) if quoted else value for value in row)


def _families(table: Predictions, families: Any) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """The family of each model; one of which nothing is known is its own."""
    if families is None:
        return np.arange(table.n_models), table.names
    given = _by_model(families, table, "families")
    texts = ["" if is_gap(v) else str(v).strip() for v in given]
    own = [text or name for text, name in zip(texts, table.names, strict=True)]
    place = {name: i for i, name in enumerate(dict.fromkeys(own))}
    return np.array([place[name] for name in own], dtype=np.intp), tuple(place)
