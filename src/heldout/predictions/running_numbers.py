"""Samples that nobody named: inspect_ai numbers them in the order of the run, which may have been shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from heldout.predictions.keys import digest_column
from heldout.predictions.runs import Run

Names = dict[str, str]  # a digest of the input for each example


def joined_by_input(runs: Sequence[Run], text: str) -> tuple[list[Run], bool]:
    """Runs whose examples go by their inputs in tasks where they were numbered in different orders; and if any were.

    That takes numbers for ids, an input of its own for every sample of a run, and an input that stands under two
    numbers. What else differs is left to the join, which refuses it. The new ids are digests, so that numbers in
    other files fit none of them.

    Parameters
    ----------
    runs : sequence of Run
        Of any tasks.
    text : str
        The fact that holds the input.
    """
    of_task: dict[str | None, list[Run]] = {}
    for run in runs:
        of_task.setdefault(run.task, []).append(run)
    shuffled = {task for task, found in of_task.items() if _shuffled([_inputs(run, text) for run in found])}
    named = [_renamed(run, _inputs(run, text) or {}) if run.task in shuffled else run for run in runs]
    return named, bool(shuffled)


def _inputs(run: Run, text: str) -> Names | None:
    """The input of each sample of a run; None where they cannot stand for its ids."""
    key = digest_column(text)
    inputs = {name: run.facts.get(name, {}).get(key) for name in run.cells}
    known = {name: digest for name, digest in inputs.items() if digest is not None and name.isdecimal()}
    return known if len(known) == len(inputs) == len(set(known.values())) else None


def _shuffled(runs: Sequence[Names | None]) -> bool:
    """Whether one number stands for an input that has another number elsewhere."""
    known = [run for run in runs if run is not None]
    if len(known) < len(runs):
        return False
    moved = False
    for one, other in pairwise(known):
        there = set(other.values())
        moved = moved or any(
            name in other and other[name] != digest and digest in there for name, digest in one.items()
        )
    return moved


def _renamed(run: Run, inputs: Names) -> Run:
    cells = {inputs[name]: trials for name, trials in run.cells.items()}
    return replace(run, cells=cells, facts={inputs[name]: run.facts[name] for name in run.cells})
