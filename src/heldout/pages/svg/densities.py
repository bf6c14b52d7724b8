"""Where many points lie, as a grid of counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heldout.pages.svg.axes import Scale, x_axis, y_axis
from heldout.pages.svg.heat_maps import N_COLOURS
from heldout.pages.svg.shapes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, line, svg_element, text, title

HEIGHT = 320.0


def density_chart(
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    counts: NDArray[np.int64],
    *,
    label: str,
    x_label: str,
    y_label: str,
    diagonal: str | None = None,
) -> str:
    """Counts over a grid, stronger where there are more (on a logarithmic scale), each on hover.

    Parameters
    ----------
    counts : (len(x_edges) - 1, len(y_edges) - 1) int64
        As `numpy.histogram2d` gives them.
    diagonal : str, optional
        Draw the line y = x, and name it.
    """
    top, bottom = TOP + 20, HEIGHT - BOTTOM
    across = Scale(low=x_edges[0], high=x_edges[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=y_edges[0], high=y_edges[-1], start=bottom, end=top)
    ticks = across.ticks()
    parts = y_axis(up, y_label)
    most = max(1, int(counts.max()))
    for i, j in zip(*(index.tolist() for index in np.nonzero(counts)), strict=True):
        count = int(counts[i, j])
        x, y = across.place(x_edges[i]), up.place(y_edges[j + 1])
        width, height = across.place(x_edges[i + 1]) - x, up.place(y_edges[j]) - y
        told = f"{x_edges[i]:.3f} to {x_edges[i + 1]:.3f}, {y_edges[j]:.3f} to {y_edges[j + 1]:.3f}: {count:,}"
        parts.append(
            f'<rect class="cells heat-{strength(count, most)}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}">{title(told)}</rect>'
        )
    if diagonal is not None:
        parts += _diagonal(across, up, diagonal)
    return svg_element(
        HEIGHT, label, parts + x_axis([across.place(t) for t, _ in ticks], [name for _, name in ticks], bottom, x_label)
    )


def strength(count: int, most: int) -> int:
    """A colour from 2 (one) to 8 (the most): even a single point is seen.

    Examples
    --------
    >>> [strength(count, 1000) for count in (1, 30, 1000)], strength(1, 1)
    ([2, 5, 8], 8)
    """
    if most == 1:
        return N_COLOURS - 1
    return 2 + round((N_COLOURS - 3) * math.log(count) / math.log(most))


def _diagonal(across: Scale, up: Scale, words: str) -> list[str]:
    """The line y = x inside the window, named in the corner below it."""
    low, high = max(across.low, up.low), min(across.high, up.high)
    name = text(WIDTH - RIGHT - 2, up.start - 8, words, "end", "halo")
    if low >= high:
        return [name]
    return [line("reference", across.place(low), up.place(low), across.place(high), up.place(high)), name]
