"""The blocks of a section. Texts may hold `backticks` around what is typed and **stars** around what is strong, and
`quoted` names; the names of lines, bars and rows are taken as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heldout.summary.charts import Chart
from heldout.summary.tables import Column, Table

__all__ = [
    "Block",
    "Facts",
    "Fold",
    "Note",
    "Picture",
    "Pictures",
    "Points",
    "Prose",
    "RangeRow",
    "Ranges",
    "SideBySide",
    "kept_facts",
]


def kept_facts(*rows: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Names and values without those that have no value, for `lines` and `origin` of a summary."""
    return tuple((name, value) for name, value in rows if value)


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values, one line each."""

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

    Its ends are round ones around all intervals. `columns` are the headings of rank, name, value, interval and next.
    Rows after the first `rows_open` are folded, on an axis of their own: far down, values may be of another order.
    """

    caption: str
    columns: tuple[str, str, str, str, str]
    rows: tuple[RangeRow, ...]
    more: int = 0
    rows_printed: int = 20
    rows_open: int | None = None

    @property
    def ends(self) -> tuple[float, ...]:
        """What the axis must hold."""
        return tuple(end for r in self.rows for end in (r.low, r.high))

    def table(self) -> Table:
        """The same without a drawing."""
        rows = ((r.rank, r.name, r.value_text, r.interval_text, f"{r.next} {r.next_note}".strip()) for r in self.rows)
        columns = (Column(name=c, align="right" if i in (0, 2) else "left") for i, c in enumerate(self.columns))
        made = Table.of(self.caption, (), rows, more=self.more, rows_printed=self.rows_printed)
        return replace(made, columns=tuple(columns))

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

    groups: tuple[tuple[str, tuple[Picture, ...], tuple[str, ...]], ...]
    layout: Literal["cards", "strips"] = "cards"
    side: int = 112


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Blocks that open on a click; Markdown shows them under their title, `print` leaves them out."""

    title: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """Charts next to each other where there is room; `small` ones are small multiples."""

    charts: tuple[Chart, ...]
    small: bool = False
    legend: bool = False  # one legend above them all instead of one in each


Block = Prose | Points | Note | Facts | Table | Ranges | Chart | Pictures | Fold | SideBySide
