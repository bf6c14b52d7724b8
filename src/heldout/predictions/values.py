"""Cells at the door: classes, 0/1 marks, names and ids, each checked once.

A cell is missing where it is masked, None, or holds a code that the caller named; nothing is ever filled in. A
float NaN is nobody's code until it is named (`missing="nan"`), since a NaN is as often a bug as a gap.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError

Cells = tuple[NDArray[Any], NDArray[np.bool_] | None]

ABSENT = "absent"  # as a code: a row or a file that is not there at all
NAN = "nan"
MARK_MISSING = 'mark a cell that was not run with `missing="nan"`, an empty cell, a null or a masked array'
# Characters of a text array past which it is kept as objects: one long prediction sets every cell's width.
WIDE_TEXT = 2**26
WHOLE_FLOATS = 2.0**53  # from here on floats leave whole numbers out


class Codes:
    """Codes of missing cells, and texts of `unread` predictions, which are wrong; knows in the end which none held.

    Examples
    --------
    >>> list(Codes(-2)), list(Codes(["nan", -1])), list(Codes())
    ([-2], ['nan', -1], [])
    >>> sorted(Codes(-2, unread=["NA", ""]).unread)
    ['', 'NA']
    """

    def __init__(self, missing: Any = None, unread: Any = None) -> None:
        self._codes = _several_codes(missing)
        self.unread = frozenset(map(str, _several_codes(unread)))
        self._met: set[Any] = {ABSENT}
        both = sorted(self.unread & set(map(str, self._codes)))
        if both:
            raise InputError(
                f"{both[0]!r} is given as `missing` and as `unread`; a cell was not run, or it is wrong: leave one out."
            )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._codes)

    def __contains__(self, code: Any) -> bool:
        return code in self._codes

    def meet(self, code: Any) -> None:
        """Note that a cell holds the code."""
        self._met.add(code)

    def check(self) -> None:
        """A code that no cell holds is a slip, and the cells it was meant for would count as wrong."""
        for code in self._codes:
            if code not in self._met:
                raise InputError(
                    f"no cell holds {code!r} (`missing`); leave it out, or name the code of the cells that "
                    "were not run."
                )
        for text in sorted(self.unread):
            if text not in self._met:
                raise InputError(
                    f"no prediction beside labels is {text!r} (`unread`); leave it out, or name the text of those that "
                    "could not be read. In a table of right and wrong write 0."
                )


def _several_codes(given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        given = [given]
    return [NAN if isinstance(code, float) and np.isnan(code) else code for code in given]


class CellError(InputError):
    """What is wrong with one cell; whoever knows the names of models and examples says whose it is."""

    def __init__(self, place: tuple[int, ...], holds: str, but: str, *, what: str) -> None:
        self.place, self.holds, self.but = place, holds, but
        super().__init__(f"{what}: the cell {place} {holds}{but}")

    def named(self, names: Sequence[str] | None, ids: Sequence[str] | None) -> InputError:
        """The same with the names of the model and of the example."""
        if names is None and ids is None:
            return self
        row, example = (0, self.place[0]) if len(self.place) == 1 else self.place[:2]
        model = f"model {row}" if names is None else repr(names[row])
        on = f"the example {example}" if ids is None else f"the example {ids[example]!r}"
        return InputError(f"{model} {self.holds} on {on}{self.but}")


class ModelError(InputError):
    """What is wrong with the cells of one model; whoever knows the names of models says whose they are."""

    def __init__(self, row: int, wrong: str, *, what: str) -> None:
        self.row, self.wrong = row, wrong
        super().__init__(f"{what}: model {row} {wrong}")

    def named(self, names: Sequence[str] | None) -> InputError:
        """The same with the name of the model."""
        return self if names is None else InputError(f"{names[self.row]!r} {self.wrong}")


def read_cells(values: ArrayLike, codes: Codes, *, what: str) -> Cells:
    """Classes as whole numbers or text, and which of them are there (None: all).

    Parameters
    ----------
    values : array of any shape
        Whole numbers (also as floats), text, or both None and one of them.
    codes : Codes
        Values that mark a missing cell.
    what : str
        What the cells are, for the error.

    Examples
    --------
    >>> read_cells([3.0, float("nan")], Codes("nan"), what="predictions")
    (array([3, 0]), array([ True, False]))
    """
    cells, observed = read_number_cells(values, codes, what=what)
    if cells.dtype.kind == "f":
        broken = ~(np.isfinite(cells) & (cells == np.floor(cells)))
        if broken.any():
            raise InputError(
                f"{what}: {cells[broken][0]:g} is not a class number; give the class that each model predicted "
                '(of scores, the argmax), or, of answers that are numbers, say `classes="any"`.'
            )
        long = np.abs(cells) >= WHOLE_FLOATS
        if long.any():
            raise InputError(
                f"{what}: {cells[long][0]:.0f} is a decimal number, which cannot tell it from its neighbours; "
                "give whole numbers of more than 53 bits as such, or class names."
            )
        cells = cells.astype(np.int64)
    return cells, observed


def read_number_cells(values: ArrayLike, codes: Codes, *, what: str) -> Cells:
    """The same for whatever numbers there are; fractions stay as they are, with 0 in a missing cell."""
    cells = as_array(values, what=what)
    observed = None
    if isinstance(cells, np.ma.MaskedArray):
        observed = ~np.ma.getmaskarray(cells)
        cells = cells.data
    if cells.dtype.kind == "O":
        cells, there = _read_objects(cells, codes, what=what)
        observed = there if observed is None or there is None else observed & there
    if cells.dtype.kind == "f":
        cells, observed = _read_floats(cells, observed, codes, what=what)
    elif cells.dtype.kind == "b":
        cells = cells.astype(np.uint8)
    elif cells.dtype.kind == "S":
        cells = np.char.decode(cells, "utf-8")
    if cells.dtype.kind not in "iufUO":
        raise InputError(f"{what}: cells of the type {cells.dtype} are neither class numbers nor class names.")
    if cells.dtype.kind in "iu":
        codes.meet(NAN)  # which whole numbers cannot hide
    for code in codes:
        marked = _equal_to_code(cells, code)
        if marked is not None and marked.any():
            codes.meet(code)
            observed = ~marked if observed is None else observed & ~marked
    return cells, None if observed is None or observed.all() else observed


def is_gap(value: Any) -> bool:
    """Whether a value is missing: None, masked, or what pandas puts for it.

    Examples
    --------
    >>> [is_gap(value) for value in (None, float("nan"), "", 0, [1])]
    [True, True, False, False, False]
    """
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except ValueError:  # an array
        return False
    except TypeError:  # pandas.NA, which does not say
        return True


def as_array(values: ArrayLike, *, what: str) -> NDArray[Any]:
    """An array, masked where its parts are; ragged rows are an error that counts them."""
    if isinstance(values, np.ndarray):
        return values
    if values is None:
        raise InputError(f"{what}: None is no table; give a matrix, one row per model, or a DataFrame.")
    try:
        if isinstance(values, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in values):
            return np.ma.stack([np.ma.asarray(row) for row in values])
        cells = np.asarray(values)
        if cells.dtype.kind in "US" and not _all_text(values):
            cells = np.asarray(values, dtype=object)  # NumPy would turn the numbers of a mixed list to text
        if cells.dtype.kind == "f" and (np.abs(cells) >= WHOLE_FLOATS).any():
            cells = np.asarray(values, dtype=object)  # and whole ones of 64 bits, with and without a sign, to floats
    except ValueError as error:
        rows: Any = values
        lengths = sorted({len(row) for row in rows if isinstance(row, (Sequence, np.ndarray))})
        if len(lengths) < 2:
            kind = type(values).__name__
            raise InputError(
                f"{what}: a {kind} is no table; give a matrix, one row per model, or a DataFrame."
            ) from error
        raise InputError(
            f"{what}: the models have different numbers of examples ({', '.join(map(str, lengths))}); join them on "
            "the example's id first (heldout.predictions.align)."
        ) from error
    return cells


def refuse_path(values: Any, *, what: str) -> None:
    """A file's name is not an array of predictions."""
    value = values.item() if isinstance(values, np.ndarray) and values.ndim == 0 else values
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InputError(f"`{what}` is {os.fsdecode(value)!r}; use heldout.load_predictions to read a file.")


def _all_text(values: Any) -> bool:
    if isinstance(values, (str, bytes)):
        return True
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "US"
    return isinstance(values, Iterable) and all(_all_text(v) for v in values)


def _read_objects(cells: NDArray[Any], codes: Codes, *, what: str) -> Cells:
    """Python objects: None and codes in text are missing; the rest must be of one kind."""
    flat = cells.ravel().tolist()
    for code in codes:
        if isinstance(code, str) and any(isinstance(v, str) and v == code for v in flat):
            codes.meet(code)
            flat = [None if isinstance(v, str) and v == code else v for v in flat]
    there = np.array([v is not None for v in flat], dtype=bool).reshape(cells.shape)
    kinds = {type(v) for v in flat} - {type(None)}
    if kinds <= {str, np.str_}:
        return text_array(["" if v is None else v for v in flat]).reshape(cells.shape), there
    if all(issubclass(kind, (bool, int, float, np.bool_, np.number)) for kind in kinds):
        numbers = np.array([0 if v is None else v for v in flat])
        whole = numbers.dtype.kind in "fO" and all(issubclass(kind, (int, np.integer)) for kind in kinds)
        if numbers.dtype.kind == "O" or whole:  # too long for 64 bits: compared as text
            numbers = text_array(["" if v is None else str(v) for v in flat])
        return numbers.reshape(cells.shape), there
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"{what}: the cells are of several kinds ({names}); give class numbers or class names, not both.")


def text_array(texts: list[str]) -> NDArray[Any]:
    """Text as a NumPy array, as objects where fixed-width cells would be huge."""
    longest = max(map(len, texts), default=1)
    return np.array(texts, dtype=object if longest * len(texts) > WIDE_TEXT else np.str_)


def _read_floats(cells: NDArray[Any], observed: NDArray[np.bool_] | None, codes: Codes, *, what: str) -> Cells:
    there = np.ones(cells.shape, dtype=bool) if observed is None else observed
    nan = np.isnan(cells)
    codes.meet(NAN)
    if NAN in codes:
        there = there & ~nan
    elif (nan & there).any():
        raise InputError(f"{what}: NaN stands in {int((nan & there).sum()):,} of {nan.size:,} cells; {MARK_MISSING}.")
    return np.where(there, cells, 0.0), there


def _equal_to_code(cells: NDArray[Any], code: Any) -> NDArray[np.bool_] | None:
    if code == ABSENT:
        return None
    if cells.dtype.kind in "UO":
        return np.asarray(cells == str(code))
    try:
        number = float(code)
    except ValueError:  # other text marks no number
        return None
    return np.asarray(cells == int(number)) if number.is_integer() else None


def read_marks(values: ArrayLike, codes: Codes, *, what: str) -> Cells:
    """A 0/1 matrix as booleans, and which cells are there.

    Examples
    --------
    >>> read_marks([[1, 0], [True, None]], Codes(), what="correct")
    (array([[ True, False],
           [ True, False]]), array([[ True,  True],
           [ True, False]]))
    """
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray) and values.dtype.kind == "b":
        codes.meet(NAN)
        return values.copy(), None  # the caller may go on writing into its own array
    cells, observed = read_number_cells(values, codes, what=what)
    if observed is not None and not observed.any():  # of no kind, then
        return observed, observed
    if cells.dtype.kind in "UO":
        shown = first_there(cells, observed)
        raise InputError(f"{what}: the cell {shown!r} is text; 1 stands for right and 0 for wrong.")
    marks = cells == 1
    strange = ~(marks | (cells == 0))
    if observed is not None:
        strange &= observed
        marks &= observed
    if strange.any():
        place = tuple(int(i) for i in np.argwhere(strange)[0])
        way_out = "a cell that was not run is marked with `missing`."
        if 0 < cells[place] < 1:
            way_out = "give scores between 0 and 1 to heldout.Predictions.from_scores."
        raise CellError(
            place,
            f"holds {cells[place]}",
            f", but only 1 (right) and 0 (wrong) can stand there; {way_out}",
            what=what,
        )
    return marks, observed


def read_names(names: Iterable[Any] | None, count: int) -> tuple[str, ...]:
    """Names of the models; numbered where there are none."""
    if names is None:
        return tuple(f"model {i}" for i in range(count))
    read = tuple(as_text(name) for name in names)
    if len(read) != count:
        raise InputError(f"there are {len(read):,} names for {count:,} models.")
    if "" in read:
        raise InputError(f"model {read.index('')} has an empty name.")
    twice = repeated(read)
    if twice:
        raise InputError(f"{listing(twice)} stands for more than one model; give each model a name of its own.")
    seen: dict[str, str] = {}
    for name in read:
        alike = seen.setdefault(_looks(name), name)
        if alike != name:
            raise InputError(
                f"the model names {alike!a} and {name!a} look alike, but for blanks or how letters are "
                "written; give each model a name of its own, or one model the same name everywhere."
            )
    return read


def _looks(name: str) -> str:
    """A name as a reader sees it: without blanks around, and each letter in one of the ways to write it.

    Letters above and below the line are seen.

    Examples
    --------
    >>> _looks("m\uff11 ") == _looks("m1"), _looks("R\u00b2") == _looks("R2")
    (True, False)
    """
    plain = name if name.isascii() else unicodedata.normalize("NFC", "".join(map(_plain_letter, name)))
    return " ".join(plain.split())


def _plain_letter(letter: str) -> str:
    seen = unicodedata.decomposition(letter).startswith(("<super>", "<sub>"))
    return letter if seen else unicodedata.normalize("NFKC", letter)


class Ids(tuple[str, ...]):
    """Ids that have been checked: parts of a table need not check a million of them again."""

    __slots__ = ()


def read_ids(ids: Iterable[Any] | None, count: int, *, source: str = "") -> tuple[str, ...] | None:
    """Ids of the examples, as text; `source` is named in messages."""
    if ids is None or (isinstance(ids, Ids) and len(ids) == count):
        return ids
    where = f"{source}: " if source else ""
    read = Ids(id_texts(ids, source=source))
    if len(read) != count:
        raise InputError(f"{where}there are {len(read):,} ids for {count:,} examples.")
    twice = repeated(read)
    if twice:
        raise InputError(
            f"{where}the example {listing(twice)} is there more than once; every example needs an id of its own."
        )
    return read


def id_texts(ids: Iterable[Any], *, source: str, noun: str = "id", option: str = "ids_key") -> list[str]:
    """Ids (or names of models) of rows as text; a row without one is an error that counts it.

    Examples
    --------
    >>> id_texts(["a", 2], source="x.csv")
    ['a', '2']
    >>> id_texts(["a", " "], source="x.csv")
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: x.csv: row 2 has no id; fill it in, or name another column (`ids_key`).
    """
    if isinstance(ids, np.ndarray):
        ids = ids.tolist()
    values = ids if isinstance(ids, (list, tuple)) else list(ids)
    kinds = set(map(type, values))
    texts = list(map(str, values)) if kinds <= {str, int} else ["" if is_gap(v) else as_text(v) for v in values]
    if not all(map(str.strip, texts)):
        row = next(i for i, text in enumerate(texts) if not text.strip())
        where = f"{source}: row {row + 1}" if source else f"the example {row}"
        raise InputError(f"{where} has no {noun}; fill it in, or name another column (`{option}`).")
    return texts


def id_text(value: Any, where: str, *, noun: str = "id") -> str:
    """One id as text; `where` it stands is named in the message."""
    text = "" if is_gap(value) else as_text(value)
    if not text.strip():
        raise InputError(
            f"{where} has no {noun}; give every example an id of its own."
            if noun == "id"
            else f"{where} has no {noun}."
        )
    return text


def as_text(value: Any) -> str:
    """A name or id as text; bytes are decoded."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def number_of(value: Any) -> int | float | None:
    """A number, or the number that a text spells; None where it is not a number.

    Examples
    --------
    >>> number_of("3"), number_of("0.5"), number_of(2.5), number_of("n/a"), number_of(None)
    (3, 0.5, 2.5, None, None)
    """
    for kind in (int, float) if isinstance(value, str) else (float,):
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            continue
    return None


def first_there(cells: NDArray[Any], observed: NDArray[np.bool_] | None) -> Any:
    """The first cell that is not missing, for an error."""
    return plain(cells.flat[0] if observed is None else cells[observed][0])


def plain(value: Any) -> Any:
    """A NumPy scalar as Python's own, so that it prints as itself."""
    return value.item() if isinstance(value, np.generic) else value


def repeated(names: Sequence[str]) -> list[str]:
    """Those that occur more than once, in order of their second appearance."""
    if len(set(names)) == len(names):
        return []
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name in names:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)


def listing(names: Sequence[str], limit: int = 3) -> str:
    """The first few names, quoted.

    Examples
    --------
    >>> listing(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"
