"""The blocks of a section. Texts may hold `backticks` around what is typed and **stars** around what is strong, and
`quoted` names; the names of lines, bars and rows are taken as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heldout.summary.charts import Chart
from heldout.summary.names import that_hold
from heldout.summary.tables import Table

Rows = tuple[tuple[str, str], ...]  # names and values


def kept_facts(*rows: tuple[str, str | None]) -> Rows:
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

    @classmethod
    def of(cls, *rows: tuple[object, str]) -> Points:
        """Those whose condition holds.

        Examples
        --------
        >>> Points.of((True, "It is."), (None, "It is not."))
        Points(items=('It is.',))
        """
        return cls(that_hold(*rows))


@dataclass(frozen=True)
class Note:
    """A paragraph in small print."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values, one line each."""

    rows: Rows

    @classmethod
    def of(cls, *rows: tuple[str, str | None]) -> Facts:
        """Those that have a value.

        Examples
        --------
        >>> Facts.of(("examples", "120"), ("groups", None))
        Facts(rows=(('examples', '120'),))
        """
        return cls(kept_facts(*rows))


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


Block = Prose | Points | Note | Facts | Table | Chart | Pictures | Fold | SideBySide
