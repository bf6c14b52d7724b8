"""Tables; cells are taken as they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from heldout.summary.numbers import fixed, pair

Point = tuple[float, float]
Span = tuple[float, float, float]  # low, value and high


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table. `minor` ones are left out in a terminal, and stand below the name of the row on a phone."""

    name: str
    align: Literal["left", "right"] = "right"
    minor: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell with more than its text: a note in small print below it, and what a pointer is told.

    A `span`, low, value and high, is drawn beside the text as a dot on a whisker; those of a table share one axis.
    """

    text: str
    note: str = ""
    hover: str = ""
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table; the chosen one stands out, with its `role` in a few words. Rows of one `band` share a shade; a
    bar marks those that are `tied` with others of it."""

    cells: tuple[str | Cell, ...]
    chosen: bool = False
    role: str = ""
    band: int = 0
    tied: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under named columns; the column number `head` names the row.

    `more` counts rows that are left out here and are in the saved result. `wide` tables scroll sideways with their
    first column fixed. `rows_printed` is how many rows `print` shows; on a page those after the first `rows_open` are
    folded, on an axis of their own: far down, values may be of another order. A dashed line stands at `reference`.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    more: int = 0
    wide: bool = False
    head: int = 0
    rows_printed: int = 20
    rows_open: int | None = None
    reference: float | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """Of all cells that have one."""
        return tuple(c.span for row in self.rows for c in row.cells if isinstance(c, Cell) and c.span is not None)

    @property
    def drawn(self) -> int | None:
        """The number of the column that has spans; on a phone it and what follows stands below the name of the row."""
        cells = self.rows[0].cells if self.spans else ()
        return next((i for i, cell in enumerate(cells) if isinstance(cell, Cell) and cell.span is not None), None)

    def split(self) -> tuple[Table, ...]:
        """What is shown at once, and what is folded; a few rows more are not worth a fold."""
        if self.rows_open is None or len(self.rows) <= self.rows_open + 5:
            return (self,)
        first, rest = self.rows[: self.rows_open], self.rows[self.rows_open :]
        return replace(self, rows=first, more=0), replace(self, rows=rest, caption=f"{self.caption}, continued")

    @classmethod
    def of(
        cls,
        caption: str,
        names: Sequence[str],
        rows: Iterable[Sequence[str | Cell]],
        *,
        words: Collection[str] = (),
        minor: Collection[str] = (),
        chosen: int | None = None,
        role: str = "",
        **options: Any,
    ) -> Table:
        """A table from its cells; the first column and those in `words` stand to the left, numbers to the right.

        Columns in `minor` are left out where there is no room; `options` are the other fields.

        Examples
        --------
        >>> Table.of("All", ("Model", "Score"), [("a", "0.5")]).columns[0].align
        'left'
        """
        left = {*names[:1], *words}
        columns = (Column(name=n, align="left" if n in left else "right", minor=n in minor) for n in names)
        made = (Row(cells=tuple(r), chosen=i == chosen, role=role * (i == chosen)) for i, r in enumerate(rows))
        return cls(caption=caption, columns=tuple(columns), rows=tuple(made), **options)

    @classmethod
    def ranges(cls, caption: str, names: Sequence[str], rows: Iterable[Row], **options: Any) -> Table:
        """A leaderboard of five columns: rank, name, value, `interval_cell`, and how it compares with the next."""
        columns = (Column(name=name, align="right" if i in (0, 2) else "left") for i, name in enumerate(names))
        return cls(caption=caption, columns=tuple(columns), rows=tuple(rows), head=1, **options)

    @classmethod
    def estimates(
        cls, caption: str, names: Sequence[str], rows: Iterable[tuple[str, float, Point | None]], digits: int = 4,
        reference: float | None = None,
    ) -> Table:  # fmt: skip
        """Names, values and intervals on one axis; values have a sign where there is a reference."""
        sign = reference is not None
        cells = [(n, fixed(v, digits, sign=sign), interval_cell(v, ends, digits, sign=sign)) for n, v, ends in rows]
        return cls.of(caption, names, cells, words=names[2:], reference=reference)


def interval_cell(value: float, ends: Point | None, digits: int = 4, *, sign: bool = False) -> Cell:
    """An interval, drawn and in numbers; without one, where it is None or NaN, the estimate alone is drawn."""
    if ends is None or not math.isfinite(ends[0]):
        return Cell(text="no interval", span=(value, value, value))
    return Cell(text=pair(ends, digits, sign=sign), span=(ends[0], value, ends[1]))
