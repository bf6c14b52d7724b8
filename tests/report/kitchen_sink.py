"""A summary with every block, and names that try to break out."""

from __future__ import annotations

import numpy as np

from heldout.summary import (
    Axis,
    Block,
    Cell,
    Column,
    Facts,
    Figure,
    Fold,
    GridMap,
    HeatMap,
    LineChart,
    Note,
    Picture,
    Pictures,
    PointDensity,
    Points,
    Prose,
    Row,
    Section,
    Series,
    SideBySide,
    Summary,
    Table,
    Vertical,
    histogram,
    interval_cell,
)  # fmt: skip

MARKUP = "</title><script>alert('&amp;')</script>\"><img src=x onerror=alert(1)>"  # shown as it stands
HOSTILE = MARKUP + "|`x` **b** [l](javascript:x) _u_ `\n\n<img src=x onerror=1>` \x1b[31m\u202e"


def kitchen_sink(name: str = HOSTILE) -> Summary:
    """Every kind of block, once."""
    edges = (0.0, 0.5, 1.0)
    axis = Axis(label="x")
    lines = (
        Series(name=name, x=(1.0, 2.0, 3.0), y=(0.1, float("nan"), 0.3), low=(0.0, 0.0, 0.2), high=(0.2, 0.0, 0.4)),
        Series(name="other", x=(1.0, 3.0), y=(0.2, 0.2), style="b", variant=1),
    )
    line = LineChart(title="Lines", caption="With **bands**.", x=axis, y=Axis(label="y"), series=lines)
    charts = (
        histogram("Outlines", axis, "count", edges, (name, (1, 2), "a"), verticals=(Vertical(x=0.6, text="mean 0.6"),)),
        HeatMap(title="Map", values=np.eye(3), legend="s", names=(name, "b", "c"), cell_hover=True),
        GridMap(
            title="Grid", values=np.array([[0.1, np.nan], [-0.2, 0.3]]), names=(name, "b"), columns=("2023-01", name),
            legend="s", edges=(-0.3, 0.0, 0.3), steps=(1, -1),
        ),
        PointDensity(title="Points", x=axis, y=axis, x_edges=edges, y_edges=edges, counts=np.eye(2, dtype=np.int64)),
    )  # fmt: skip
    pixels = np.zeros((8, 8, 3), np.uint8)
    picture = Picture(pixels=pixels, alt=name, caption="1", alert=True)
    rows = (
        Row(
            cells=(name, Cell(text="0.05", note="0.01 to 0.1", hover=name), name),
            chosen=True,
            role="verdict",
        ),
        Row(cells=("b", "0.5", "none")),
    )
    table = Table(
        caption=f"A table of {name}",
        columns=(
            Column(name="Model", align="left"),
            Column(name="gaussian k_S"),
            Column(name="Notes", align="left", minor=True),
        ),
        rows=rows,
        more=7,
    )
    board = Table.ranges(
        "Leaderboard",
        ("Rank", "Model", "Error, %", "Interval, %", "Next"),
        [
            Row(cells=(f"{i}", name + str(i), f"{i}", interval_cell(i, (i - 1, i + 1)), "> 0.01"), band=i, tied=i > 1)
            for i in (1, 2, 3)
        ],
    )
    return Summary(
        kind="Everything",
        headline=f"All of it, for {name}",
        sentences=("Give --control, or `x.npz`; **this** matters.", f"A second sentence on {name}."),
        tone="found",
        subject=name,
        figures=(Figure(name="p", value="0.05", note=name), Figure(name="other", value="1", strong=False)),
        warnings=(f"only 3 groups in {name}.",),
        lines=(("p", "0.05"), (name, name)),
        sections=(
            Section(
                title=f"Printed {name}",
                printed=True,
                blocks=(
                    Prose(f"Prose on {name}."),
                    Points((name, "b")),
                    Facts(((name, name),)),
                    table,
                    board,
                    Note(name),
                ),
            ),
            Section(title="Charts", blocks=(line, *charts)),
            Section(
                title="Together",
                blocks=(SideBySide(charts=(line, line), legend=True), SideBySide(charts=(line,), small=True)),
            ),
            Section(
                title="Pictures",
                blocks=(
                    Pictures(groups=((name, (picture, picture), (name,)),)),
                    Pictures(groups=((name, (picture,), (name,)),), layout="strips"),
                ),
            ),
            Section(title="Folded", level=3, blocks=(Fold(title=name, blocks=(Prose("inside"), table)),)),
        ),
        closing=("It rests on this.",),
        origin=(("heldout", "0.1.0"), ("Source", name)),
        method="A. Author (2020), <https://arxiv.org/abs/2001.00001>.",
    )


def shown(*blocks: Block, headline: str = "Seen") -> Summary:
    """A summary of a few blocks, all of them printed."""
    return Summary(kind="Toy", headline=headline, sections=(Section(title="All", blocks=blocks, printed=True),))
