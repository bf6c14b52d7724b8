"""Predictions that count as wrong though they may not be: no label as they are spelled, but nearly one; or never right.

They stay wrong: that another spelling is another answer may be what is tested. But whoever reads a result must see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heldout.predictions.fields import Fields
from heldout.predictions.values import number_of

AROUND = " \t\r\n\v\f\u00a0\u2007\u202f\u200b\ufeff()[]{}<>\"'`.,:;!?*“”‘’«»"  # what may stand around a class name


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A model that may have been misread.

    Parameters
    ----------
    model : str
        Its name.
    n_predictions, n_right : int
        Its predictions, and those of them that are right.
    n_almost : int
        Predictions that are the label of no example, but would be one in another case, or less blanks, brackets and
        punctuation around.
    prediction, label : str or None
        The most frequent of these, and the label that it nearly is.
    """

    model: str
    n_predictions: int
    n_right: int
    n_almost: int = 0
    prediction: str | None = None
    label: str | None = None


def find_doubts(table: Fields, models: Sequence[int] | None = None) -> tuple[Doubt, ...]:
    """What is doubtful of the models of a table, or of some; nothing where only right and wrong are known.

    Examples
    --------
    >>> from heldout import Predictions
    >>> pool = Predictions.from_arrays([["cat", "dog"], ["Cat", "dog"]], ["cat", "dog"], names=["a", "b"])
    >>> find_doubts(pool)
    (Doubt(model='b', n_predictions=2, n_right=1, n_almost=1, prediction='Cat', label='cat'),)
    """
    said, truth = table.predictions, table.labels
    if said is None or truth is None:
        return ()
    named = said.dtype.kind in "UO"
    known = set(truth.tolist())
    nearly = {_bare(label): label for label in sorted(known, key=str, reverse=True)} if named else {}
    longest = max(map(len, known), default=0) + len(AROUND) if named else 0
    label_of: dict[str, str | None] = {}  # of every text that was met and is no label: a large table has few
    found = []
    for i in range(len(table.names)) if models is None else models:
        there = np.ones(len(truth), dtype=bool) if table.observed is None else table.observed[i]
        right = int(np.count_nonzero(table.cells[i]))
        almost: Counter[str] = Counter()
        if named:
            wrong = said[i][there & (said[i] != truth)].tolist()
            for text in set(wrong) - known - label_of.keys():
                meant = None if len(text) > longest or number_of(text) is not None else nearly.get(_bare(text))
                label_of[text] = meant
            if any(label_of.get(text) is not None for text in set(wrong)):
                almost.update(text for text in wrong if label_of.get(text) is not None)
        if almost or right == 0:
            first = min(almost, key=lambda text: (-almost[text], text), default=None)
            found.append(
                Doubt(
                    model=table.names[i],
                    n_predictions=int(np.count_nonzero(there)),
                    n_right=right,
                    n_almost=almost.total(),
                    prediction=first,
                    label=None if first is None else label_of[first],
                )
            )
    return tuple(found)


def _bare(text: str) -> str:
    return text.strip(AROUND).casefold()
