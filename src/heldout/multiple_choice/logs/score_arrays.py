"""Scores of options as arrays: in the printed order, and in others of which only the right option's place is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.files import read_npz
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.logs.designs import find_flaw_of_places
from heldout.multiple_choice.logs.scored_alone import Placed, merely_reordered
from heldout.predictions.values import id_texts, listing, repeated
from heldout.scorers.choices import LETTERS
from heldout.scorers.letters import letter_score

ONE_TASK = re.compile(r"(?:(?P<task>.+)_)?original_loglik")


@dataclass(frozen=True)
class ScoreArrays:
    """Scores, checked.

    Parameters
    ----------
    items : Items
        Without questions; their options are letters.
    scores : (n_orders, n_items, n_options) array
        The printed order first; NaN pads.
    answers : (n_orders, n_items) int array
        Places of the right options.
    """

    items: Items
    scores: NDArray[np.float64]
    answers: NDArray[np.int64]

    @property
    def chosen(self) -> NDArray[np.int64]:
        """(n_orders, n_items) The place with the highest score, the first of equals."""
        return np.asarray(np.nanargmax(self.scores, axis=2), dtype=np.int64)

    @property
    def letter_scores(self) -> NDArray[np.float64]:
        """(n_orders, n_items) Of the right options, among the letters shown."""
        return np.array(
            [
                [letter_score(row[~np.isnan(row)], place) for row, place in zip(rows, places, strict=True)]
                for rows, places in zip(self.scores, self.answers.tolist(), strict=True)
            ]
        )

    def merely_reordered(self) -> bool:
        """Whether scores move with their options; of these the right one is known, and the others by their ranks."""
        return merely_reordered([self._placed(j, i) for j in range(len(self.scores))] for i in range(len(self.items)))

    def check_places(self) -> None:
        """Right options must not stand where the printed place alone puts them, as with one list of orders for all."""
        sizes = [len(item.options) for item in self.items]
        flaw = find_flaw_of_places(self.answers[0].tolist(), self.answers[1:].tolist(), sizes)
        if flaw is None:
            return
        which = (
            "the other order"
            if len(self.answers) == 2
            else f"the other orders {', '.join(map(str, flaw.runs))} (from 0)"
        )
        beside = " beside orders drawn for each item" if flaw.mixed else ""
        raise InputError(
            f"{self.items.source}: in {which} the right option stands where its printed place puts it, in "
            f"{'all' if flaw.whole else 'most'} items alike{beside} (`answer`), so that the printed order stands out "
            "by construction and no p-value would hold; shuffle each item by itself, or give all cyclic shifts."
        )

    def _placed(self, order: int, item: int) -> Placed:
        row = self.scores[order, item]
        row = row[~np.isnan(row)]
        place = int(self.answers[order, item])
        return row, np.concatenate([[row[place]], np.sort(np.delete(row, place))])


def check_arrays(
    printed_scores: ArrayLike,
    printed_answer: ArrayLike,
    scores: ArrayLike,
    answer: ArrayLike,
    *,
    ids: Sequence[object] | None,
    source: str,
) -> ScoreArrays:
    """Arrays of one shape, with a right option in each row."""
    printed, others = _same_shape(printed_scores, scores)
    n_items = len(printed)
    whole = np.concatenate([printed[np.newaxis], others])
    answers = np.concatenate([_places(printed_answer, n_items, 1, "printed_answer"),
                              _places(answer, n_items, len(others), "answer")])  # fmt: skip
    counts = _numbers_of_options(whole)
    _check_places(answers, counts)
    names = [str(i) for i in range(n_items)] if ids is None else id_texts(ids, source=source, option="ids")
    if len(names) != n_items or repeated(names):
        raise InputError(f"`ids` must be {n_items} different names, one for each item.")
    items = tuple(
        Item(name, "", tuple(LETTERS[:k]), place)
        for name, k, place in zip(names, counts.tolist(), answers[0].tolist(), strict=True)
    )
    return ScoreArrays(Items(items, source), whole, answers)


def _same_shape(printed_scores: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n_items, n_options) scores as printed, and (n_orders, n_items, n_options) in the other orders."""
    printed = np.asarray(printed_scores, dtype=np.float64)
    others = np.asarray(scores, dtype=np.float64)
    if printed.ndim != 2 or 0 in printed.shape:
        raise InputError(
            f"`printed_scores` has the shape {printed.shape}; a row per item and a column per option is needed."
        )
    others = others[np.newaxis] if others.ndim == 2 else others
    if others.ndim != 3 or others.shape[1:] != printed.shape or not len(others):
        raise InputError(
            f"`scores` has the shape {np.shape(scores)}; {printed.shape} is needed, as of `printed_scores`, or several "
            "of these."
        )
    return printed, others


def _numbers_of_options(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n_items,) Options of each item, the same in all orders; what is NaN only pads."""
    there = ~np.isnan(scores)
    counts = there.sum(axis=2)
    if (there != (np.arange(scores.shape[2]) < counts[..., np.newaxis])).any() or (counts != counts[0]).any():
        raise InputError(
            "NaN may only pad an item's options on the right, in all orders alike (`printed_scores`, `scores`)."
        )
    least, most = int(counts.min()), int(counts.max())
    if least < 2:
        raise InputError(f"the item {int(np.argmin(counts[0]))} has {least} options; at least 2 are needed.")
    if most > len(LETTERS):
        raise InputError(f"an item has {most} options, but there are only {len(LETTERS)} letters.")
    return np.asarray(counts[0], dtype=np.int64)


def _check_places(answers: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """The right option of each order must be one of the item's."""
    broken = (answers < 0) | (answers >= counts)
    if broken.any():
        order, item = (int(i) for i in np.argwhere(broken)[0])
        name = "printed_answer" if order == 0 else "answer"
        raise InputError(
            f"`{name}` of the item {item} is {int(answers[order, item])}, which is not one of its {int(counts[item])} "
            "options, counted from 0."
        )


def _places(given: ArrayLike, n_items: int, n_orders: int, name: str) -> NDArray[np.int64]:
    places = np.asarray(given)
    if places.dtype.kind not in "iu" or places.size != n_orders * n_items or places.ndim not in (1, 2):
        wanted = f"({n_items},)" if n_orders == 1 else f"({n_orders}, {n_items})"
        raise InputError(
            f"`{name}` has the shape {places.shape} and the type {places.dtype}; whole numbers of the shape {wanted} "
            "are needed, the places of the right options from 0."
        )
    return places.reshape(n_orders, n_items).astype(np.int64)


def read_score_file(path: Path, task: str | Sequence[str] | None) -> tuple[str, ScoreArrays]:
    """One task of an `.npz` with TASK_original_loglik, TASK_original_target, TASK_permuted_loglik and so on."""
    arrays = read_npz(path)
    found = {(match["task"] or path.stem): key for key in arrays if (match := ONE_TASK.fullmatch(key))}
    if not found:
        raise InputError(
            f"{path.name} has no scores of options in two orders: `original_loglik`, `original_target`, "
            "`permuted_loglik` and `permuted_target`, with the name of a task before each where there are several."
        )
    wanted = [task] if isinstance(task, str) else list(task or found)
    chosen = [name for name in found if any(name == want or fnmatchcase(name, want) for want in wanted)]
    if not chosen:
        raise InputError(
            f"{path.name} has no task {listing(wanted)} (`task`); it has {listing(list(found), len(found))}."
        )
    if len(chosen) > 1:
        asked = "" if task is None else f" that {listing(wanted)} names"
        raise InputError(
            f"{path.name} holds several tasks{asked}, {listing(chosen, len(chosen))}, and one is tested at a time; "
            "choose it with `task`."
        )
    stem = found[chosen[0]].removesuffix("original_loglik")
    keys = [stem + key for key in ("original_loglik", "original_target", "permuted_loglik", "permuted_target")]
    lacking = [key for key in keys if key not in arrays]
    if lacking:
        raise InputError(f"{path.name} has no {listing(lacking)} beside {keys[0]!r}.")
    ids = arrays.get(f"{stem}original_doc")
    again = f"{stem}permuted_doc"
    if ids is not None and again in arrays and not np.array_equal(ids, arrays[again]):
        raise InputError(f"{path.name}: the items of {again!r} are not those of '{stem}original_doc', in their order.")
    first, places, second, others = (np.asarray(arrays[key]) for key in keys)
    names = None if ids is None else np.asarray(ids).tolist()
    names = None if names is None or repeated([str(name) for name in names]) else names
    return chosen[0], check_arrays(first, places, second, others, ids=names, source=f"{path.name}, {chosen[0]}")
