"""Whether labels and predictions number, or name, the classes alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.fields import Fields
from heldout.predictions.values import as_array, plain

ANY_CLASS = "any"
IGNORED = (2**8 - 1, 2**16 - 1)  # by custom no label
FAR = 3.0  # standard errors
UNLIKELY = 0.05  # that nobody is right on some examples, given the others


def check_numbering(table: Fields, classes: int | Sequence[Any] | str | None = None) -> None:
    """Labels must name classes as the predictions do."""
    if isinstance(classes, (int, np.integer)) and classes < 1:
        raise InputError(f"`classes` is {classes}; there is at least 1 class.")
    if table.predictions is None or table.labels is None:
        if classes is not None:
            raise InputError(
                f"{table.source}: `classes={classes!r}` has no effect here, since the table has right and "
                "wrong, or scores, and no predictions; leave it out."
            )
        return
    labels, said = table.labels, table.predictions
    seen = said if table.observed is None else said[table.observed]
    if classes is not None and not isinstance(classes, str):
        _check_classes(table, classes, seen)
    elif classes is not None and classes != ANY_CLASS:
        raise InputError(f'`classes` is {classes!r}; a number of classes, their names, or "any" is needed.')
    elif classes is None and labels.dtype.kind in "iu":
        _check_range(table, seen)
        if seen.min() < labels.min() or seen.max() > labels.max():
            _check_each_model(table)
    if not table.cells.any():
        raise InputError(
            f"{table.source}: no model is right on any example; labels (such as {plain(labels[0])!r}) and predictions "
            f"(such as {plain(seen.flat[0])!r}) do not seem to name classes alike."
        )
    if not isinstance(classes, str):
        _check_never_right(table)


def _check_range(table: Fields, seen: NDArray[Any]) -> None:
    """A label that no model predicts, below or above all predictions, looks like another numbering.

    It is none where models are not right more often one off, and the rest says what the label is: a class that nobody
    predicts, where all that is predicted is some label and classes have no gaps; or a label of so few examples that
    nobody need have been right on them. A label below 0 that nobody predicts is rather a code of no label, and so is
    255 beyond a gap.
    """
    assert table.labels is not None
    labels = table.labels
    low, high = int(seen.min()), int(seen.max())
    outside = (labels < low) | (labels > high)
    if not outside.any():
        return
    least, most = int(labels.min()), int(labels.max())
    found = np.unique(labels)
    whole = len(found) == most - least + 1 and bool(np.isin(seen, found).all())
    right = np.any(table.cells[:, ~outside], axis=0)
    by_chance = ((len(right) - right.sum() + 1) / (len(right) + 2)) ** int(outside.sum())
    rare = by_chance >= UNLIKELY and not np.isin(labels[outside], IGNORED).any()
    if min(least, low) >= 0 and (whole or rare) and not _better_one_off(table):
        return
    where = int(np.argmax(outside))
    known = max(most, high) + 1 if min(least, low) >= 0 else '"any"'
    raise InputError(
        f"{table.source}: the label {labels[where]} of example {_example(table, where)} lies outside {low} to "
        f"{high}, the range of all predictions, so that one of the two may count classes from 0 and the other "
        f"from 1; renumber one of them, or say with `classes={known}` that it is a class which no model ever predicts."
    )


def _better_one_off(table: Fields) -> bool:
    """Whether models are right more often where one is added to, or taken from, all that they say."""
    assert table.predictions is not None
    assert table.labels is not None
    said, labels = table.predictions.astype(np.int64), table.labels.astype(np.int64)
    there = True if table.observed is None else table.observed
    now, above, below = (int(((said + step == labels) & there).sum()) for step in (0, 1, -1))
    return max(above, below) > now


def _check_each_model(table: Fields) -> None:
    """A model that counts classes from another number than the labels is hidden by one that does not.

    It predicts a class next to the labels' range, never the one at the other end, and is right more often where one is
    added to, or taken from, all that it says; or so much more often that a few cells at the other end, such as a code
    of no answer, say nothing.
    """
    assert table.labels is not None
    assert table.predictions is not None
    labels = table.labels
    low, high = int(labels.min()), int(labels.max())
    for beyond, other, step in ((high + 1, low, -1), (low - 1, high, 1)):
        has, both = (_rows_with(table, value) for value in (beyond, other))
        for i in np.flatnonzero(has).tolist():
            there = slice(None) if table.observed is None else table.observed[i]
            said, truth = (values.astype(np.int64) for values in (table.predictions[i][there], labels[there]))
            name, now, moved = table.names[i], int((said == truth).sum()), int((said + step == truth).sum())
            far = (moved - now) ** 2 > FAR**2 * (moved + now)
            if moved > now and (far or not both[i]):
                never = "" if both[i] else f" but never {other}"
                raise InputError(
                    f"{table.source}: labels are {low} to {high}, and {name!r} predicts {beyond}{never}; it "
                    f"is right on {now:,} of {len(said):,} examples, and would be on {moved:,} with 1 "
                    f"{'taken from' if step < 0 else 'added to'} each, so that one of the two may count classes from 0 "
                    "and the other from 1; renumber one of them, or give the number of classes (`classes`) if its "
                    "predictions are right as they are."
                )


def _rows_with(table: Fields, value: int) -> NDArray[np.bool_]:
    """Which models predict a class."""
    assert table.predictions is not None
    found = table.predictions == value
    return np.asarray((found if table.observed is None else found & table.observed).any(axis=1))


def _check_never_right(table: Fields) -> None:
    """A column of something else passes for a model that is always wrong, in words that no label ever uses."""
    assert table.labels is not None
    assert table.predictions is not None
    known = set(table.labels.tolist())
    for i in np.flatnonzero(~table.cells.any(axis=1)):
        cells = table.predictions[i] if table.observed is None else table.predictions[i][table.observed[i]]
        if known.isdisjoint(cells.tolist()):
            name = table.names[i]
            raise InputError(
                f"{table.source}: {name!r} is right on no example, and none of its predictions, such as "
                f"{plain(cells[0])!r}, is the label of any; leave it out if it is not a model "
                f'(`exclude={name!r}`), or give `classes="any"` if predictions are free text.'
            )


def _check_classes(table: Fields, classes: int | Sequence[Any], seen: NDArray[Any]) -> None:
    assert table.labels is not None
    if isinstance(classes, (int, np.integer)):
        if table.labels.dtype.kind not in "iu":
            raise InputError(f"`classes` is {classes}, but labels are names such as {plain(table.labels[0])!r}.")
        outside = (table.labels < 0) | (table.labels >= classes)
        known = f"0 to {classes - 1}"
        if (seen >= classes).any():  # below 0 is a code for no prediction, and wrong
            raise InputError(
                f"{table.source}: the prediction {int(seen.max())} lies outside {known}, the {classes} classes; "
                "renumber predictions from 0, or give more classes (`classes`)."
            )
    else:
        outside = ~np.isin(table.labels, as_array(classes, what="classes"))
        known = f"the {len(classes)} classes"
    if outside.any():
        where = int(np.argmax(outside))
        raise InputError(
            f"{table.source}: the label {plain(table.labels[where])!r} of example {_example(table, where)} lies "
            f"outside {known}; correct the labels or `classes`."
        )


def _example(table: Fields, where: int) -> str:
    return str(where) if table.ids is None else repr(table.ids[where])
