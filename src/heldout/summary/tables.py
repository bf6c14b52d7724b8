"""Tables; cells are taken as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Cell",
    "Column",
    "Row",
    "Table",
]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table. `minor` ones are left out in a terminal, and stand below the name of the row on a phone."""

    name: str
    align: Literal["left", "right"] = "right"
    minor: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell with more than its text: a note in small print below it, and what a pointer is told."""

    text: str
    note: str = ""
    hover: str = ""
    mark: Literal["", "most", "least"] = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.note})" if self.note else self.text


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table; the chosen one stands out, with its `role` in a few words."""

    cells: tuple[str | Cell, ...]
    chosen: bool = False
    role: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under named columns; the first column names the row.

    `more` counts rows that are left out here and are in the saved result. `wide` tables scroll sideways with their
    first column fixed. `rows_printed` is how many rows `print` shows.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    more: int = 0
    wide: bool = False
    rows_printed: int = 20

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
