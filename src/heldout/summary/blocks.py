"""The blocks of a section. Texts may hold `backticks` around what is typed and **stars** around what is strong; the
cells of a table and the names of models are taken as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.summary.charts import Chart

Align = Literal["left", "right"]


def kept_facts(*rows: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Names and values without those that have no value, for `lines` and `origin` of a summary."""
    return tuple((name, value) for name, value in rows if value)


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    kind: ClassVar[str] = "prose"
    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values, one line each."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, *rows: tuple[str, str | None]) -> Facts:
        """Those that have a value.

        Examples
        --------
        >>> Facts.of(("examples", "120"), ("groups", None))
        Facts(rows=(('examples', '120'),))
        """
        return cls(kept_facts(*rows))


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table. `minor` ones are left out on a phone and in a terminal; neighbours with the same `group`
    stand under one heading."""

    name: str
    align: Align = "right"
    minor: bool = False
    group: str = ""


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

    kind: ClassVar[str] = "table"
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
        more: int = 0,
        rows_printed: int = 20,
    ) -> Table:
        """A table from its cells; the first column and those in `words` stand to the left, numbers to the right.

        Columns in `minor` are left out where there is no room.

        Examples
        --------
        >>> Table.of("All", ("Model", "Score"), [("a", "0.5")]).columns[0].align
        'left'
        """
        return cls(
            caption=caption,
            columns=tuple(
                Column(name=name, align="left" if not i or name in words else "right", minor=name in minor)
                for i, name in enumerate(names)
            ),
            rows=tuple(
                Row(cells=tuple(row), chosen=i == chosen, role=role if i == chosen else "")
                for i, row in enumerate(rows)
            ),
            more=more,
            rows_printed=rows_printed,
        )


@dataclass(frozen=True, kw_only=True)
class RangeRow:
    """A row of `Ranges`: a name, an estimate and its interval, in numbers and in words."""

    name: str
    value: float
    low: float
    high: float
    value_text: str
    interval_text: str
    rank: str
    next: str = ""  # a sign: how it compares with the row below
    next_note: str = ""  # in words, beside the sign
    next_hover: str = ""
    band: int = 0  # rows of one band share a shade
    tied: bool = False  # with others of its band


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """A leaderboard: estimates with intervals on one common axis.

    `axis` has both ends of the axis, `axis_text` their names; round ends around all intervals unless given. `columns`
    are the headings of rank, name, value, interval and next. Rows after the first `rows_open` are folded, on an axis of
    their own: far down, values may be of another order.
    """

    kind: ClassVar[str] = "ranges"
    caption: str
    columns: tuple[str, str, str, str, str]
    rows: tuple[RangeRow, ...]
    axis: tuple[float, float] | None = None
    axis_text: tuple[str, str] = ("", "")
    grid: tuple[float, ...] = ()
    more: int = 0
    rows_printed: int = 20
    rows_open: int | None = None

    def split(self) -> tuple[Ranges, ...]:
        """What is shown at once, and what is folded; a few rows more are not worth a fold."""
        if self.rows_open is None or len(self.rows) <= self.rows_open + 5:
            return (self,)
        first, rest = self.rows[: self.rows_open], self.rows[self.rows_open :]
        return replace(self, rows=first, more=0), replace(self, rows=rest, caption=f"{self.caption}, continued")


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """Pixels and what stands below them; `alert` puts a frame around the picture."""

    pixels: NDArray[np.uint8]  # (height, width, channels)
    alt: str
    caption: str = ""
    alert: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures:
    """Groups of pictures, each with a title and lines of text: before and after, or a strip of growing strength.

    `side` is the longer side of a picture in pixels, at most: 24 pictures of noise 112 pixels wide take 1.2 MB.
    """

    kind: ClassVar[str] = "pictures"
    groups: tuple[tuple[str, tuple[Picture, ...], tuple[str, ...]], ...]
    layout: Literal["cards", "strips"] = "cards"
    side: int = 112


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Blocks that open on a click; Markdown shows them under their title, `print` leaves them out."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Charts next to each other where there is room; `small` ones are small multiples."""

    kind: ClassVar[str] = "side_by_side"
    charts: tuple[Chart, ...]
    small: bool = False
    legend: bool = False  # one legend above them all instead of one in each


Block = Prose | Points | Note | Facts | Table | Ranges | Chart | Pictures | Fold | SideBySide
