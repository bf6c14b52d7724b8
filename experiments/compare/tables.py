"""What is in results/, as tables of README.md: `python -m experiments.compare.tables`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from experiments.compare.levels import COSTS, LARGEST, LEVELS, OFF, SELDOM, STATED, TIMES, WIDTHS
from experiments.pages import fill, table
from heldout.statistics.paired import LEVEL

README = Path(__file__).resolve().parent / "README.md"
WAYS = "as drawn", "stated"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def too_often(row: dict[str, Any], way: str, what: str = "told") -> bool:
    """By more than three standard errors."""
    return bool(row[what][way] > LEVEL + 3 * (LEVEL * (1 - LEVEL) / row["trials"]) ** 0.5)


def most(found: Sequence[dict[str, Any]], way: str, what: str = "told", *, digits: int = 1) -> str:
    return f"{100 * max(row[what][way] for row in found):.{digits}f} %"


def counts(found: Sequence[dict[str, Any]], what: str) -> list[str]:
    """How many laws are beyond the level, and the largest share, without and with the option."""
    return [
        cell for way in WAYS for cell in (f"{sum(too_often(row, way, what) for row in found)}", most(found, way, what))
    ]


def answer() -> str:
    """Both ways in a sentence, which docs/compare.md has, too."""
    found = rows(LEVELS)
    without, stated = (sum(too_often(row, way) for row in found) for way in WAYS)
    return (
        f"Of {len(found)} laws with groups {min(TIMES)} to {max(TIMES)} times as large as the others, {without} told "
        f"equal models apart too often without it (in up to {most(found, 'as drawn', digits=0)}), and "
        f"{stated or 'none'} with it (in {most(found, 'stated')} at most)."
    )


def levels() -> str:
    """By how many groups are large, and how large they are."""
    found = sorted(rows(LEVELS), key=lambda row: (row["times"], row["share"]))
    cells = []
    for (times, share), some in groupby(found, key=lambda row: (row["times"], row["share"])):
        laws = list(some)
        cells.append([f"{times} times", f"{100 * share:g} %", f"{len(laws)}", *counts(laws, "told")])
    cells.append(["all", "", f"{len(found)}", *counts(found, "told")])
    head = ["large groups are", "share of them", "laws", "too often without", "at most", "too often with it", "at most"]
    return table(head, cells)


def missed() -> str:
    """The same of intervals, at another true difference."""
    found = rows(LEVELS)
    head = ["true difference", "laws", "too often without", "at most", "too often with it", "at most"]
    return table(head, [[f"{OFF:+g}", f"{len(found)}", *counts(found, "missed")]])


def price() -> str:
    """From what to what intervals get longer, which docs/compare.md has, too."""
    ends = [[row["longer"][f"{t}"] for row in rows(WIDTHS)] for t in STATED]
    told = [f"{t} times the largest makes intervals {min(e):.1f} to {max(e):.1f} times as long"
            for t, e in zip(STATED, ends, strict=True)]  # fmt: skip
    return f"Among {min(COSTS)} to {max(COSTS)} groups of 1 to {LARGEST} examples, {', and '.join(told)}."


def widths() -> str:
    cells = []
    for row in rows(WIDTHS):
        kind = (
            f"differ on {100 * SELDOM:g} % of examples"
            if row["alike"] is None
            else f"alike on {100 * row['alike']:g} %"
        )
        cells.append([kind, f"{row['n_groups']}", *(f"{row['longer'][f'{t}']:.2f}" for t in STATED)])
    return table(["models", "groups", *(f"{t} times the largest" for t in STATED)], cells)


if __name__ == "__main__":
    fill(README, {"answer": answer(), "levels": levels(), "missed": missed(), "price": price(), "widths": widths()})
