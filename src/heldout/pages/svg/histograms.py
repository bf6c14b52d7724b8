"""Bars over ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from heldout.pages.svg.axes import Scale, linear_ticks, number_text, x_axis, y_axis
from heldout.pages.svg.shapes import (
    BOTTOM,
    CHARACTER,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Style,
    legend,
    line,
    svg_element,
    text,
    title,
)

HEIGHT = 320.0


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    *,
    label: str,
    x_label: str,
    y_label: str,
    styles: Sequence[Style] | None = None,
    height: float = 230.0,
) -> str:
    """Bars over `edges` (one more than `counts`), each with its range and count on hover."""
    top, bottom = TOP + 14, height - BOTTOM
    y_high = max(1, *counts)

    def place_x(v: float) -> float:
        return LEFT + (v - edges[0]) / (edges[-1] - edges[0]) * (WIDTH - LEFT - RIGHT)

    def place_y(v: float) -> float:
        return bottom - v / y_high * (bottom - top)

    y_ticks = [t for t in linear_ticks(0, y_high, count=4) if t == int(t)]
    x_ticks = linear_ticks(edges[0], edges[-1], count=6)
    step = x_ticks[1] - x_ticks[0] if len(x_ticks) > 1 else 1.0
    parts = [text(4, top - 10, y_label, "start")]
    for tick in y_ticks:
        parts.append(line("grid", LEFT, place_y(tick), WIDTH - RIGHT, place_y(tick)))
        parts.append(text(LEFT - 7, place_y(tick) + 4, f"{tick:,.0f}", "end"))
    for i, count in enumerate(counts):
        if count:
            a, b = place_x(edges[i]), place_x(edges[i + 1])
            style = styles[i] if styles else "a"
            hover = f"{edges[i]:.3g} to {edges[i + 1]:.3g}: {count:,}".replace("-", "−")
            parts.append(
                f'<rect class="{style} fill" x="{a + 0.75:.1f}" y="{place_y(count):.1f}" '
                f'width="{max(1.0, b - a - 1.5):.1f}" height="{bottom - place_y(count):.1f}">{title(hover)}</rect>'
            )
    parts += x_axis([place_x(t) for t in x_ticks], [number_text(t, step) for t in x_ticks], bottom, x_label)
    return svg_element(height, label, parts)


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Counts over common edges, for `overlaid_histograms`; its mean gets a line of its own."""

    name: str
    counts: Sequence[int]
    mean: float
    mean_text: str
    style: Style = "a"


def overlaid_histograms(
    edges: Sequence[float], distributions: Sequence[Distribution], *, label: str, x_label: str, y_label: str
) -> str:
    """Outlines of several histograms over each other, each with its mean; all counts of a range on hover."""
    names, names_height = legend([(d.name, d.style) for d in distributions], swatch=True)
    top, bottom = TOP + names_height + 20, HEIGHT - BOTTOM
    most = max(1, *(count for d in distributions for count in d.counts))
    across = Scale(low=edges[0], high=edges[-1], start=LEFT, end=WIDTH - RIGHT)
    up = Scale(low=0.0, high=float(most), start=bottom, end=top, whole=True)
    ticks = across.ticks(count=6)
    parts = [names, text(4, top - 24, y_label, "start"), *y_axis(up, "", count=4)]  # room for the means in words
    for d in distributions:
        outline = _outline([across.place(e) for e in edges], [up.place(c) for c in d.counts], bottom)
        parts.append(f'<path class="{d.style} wash" d="{outline}"/>')
    for d in distributions:
        if edges[0] <= d.mean <= edges[-1]:
            x = across.place(d.mean)
            parts.append(f'<path class="{d.style} line" d="M{x:.1f} {top - 12:.1f}V{bottom:.1f}"/>')
    parts += _mean_texts(distributions, across, top - 4)
    parts += x_axis([across.place(t) for t, _ in ticks], [name for _, name in ticks], bottom, x_label)
    for i, (a, b) in enumerate(pairwise(edges)):
        told = f"{a:.3f} to {b:.3f}: " + ", ".join(f"{d.name} {d.counts[i]:,}" for d in distributions)
        x, width = across.place(a), across.place(b) - across.place(a)
        parts.append(
            f'<rect class="hit" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}">'
            f"{title(told)}</rect>"
        )
    return svg_element(HEIGHT, label, parts)


def _outline(xs: Sequence[float], ys: Sequence[float], bottom: float) -> str:
    """The skyline of the bars, closed along the axis.

    Examples
    --------
    >>> _outline([0, 10, 20], [5, 2], 9)
    'M0.0 9.0V5.0H10.0V2.0H20.0V9.0Z'
    """
    return (
        f"M{xs[0]:.1f} {bottom:.1f}"
        + "".join(f"V{y:.1f}H{x:.1f}" for x, y in zip(xs[1:], ys, strict=True))
        + (f"V{bottom:.1f}Z")
    )


def _mean_texts(distributions: Sequence[Distribution], across: Scale, y: float) -> list[str]:
    """The means in words above the bars, turned away from each other where there are two."""
    inside = sorted((d for d in distributions if across.low <= d.mean <= across.high), key=lambda d: d.mean)
    parts = []
    for i, d in enumerate(inside):
        x, width = across.place(d.mean), len(d.mean_text) * CHARACTER + 4
        left = (i == 0 and len(inside) > 1) or x + width > WIDTH
        left = left and x - width >= 0
        parts.append(text(x - 4 if left else x + 4, y, d.mean_text, "end" if left else "start", "strong halo"))
    return parts
