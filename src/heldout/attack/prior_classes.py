"""Which class each column of a prior is, where somebody says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.values import listing


def in_class_order(prior: NDArray[Any], said: Sequence[Any], names: Sequence[str] | None) -> NDArray[Any]:
    """The columns of a prior in the order of the classes.

    Parameters
    ----------
    prior : (n, m) array
        Its columns in any order.
    said : sequence of str or int
        The class of each column.
    names : sequence of str or None
        What the classes are called, in their order; None: by numbers from 0.

    Examples
    --------
    >>> table = np.array([[0.7, 0.2, 0.1]])
    >>> in_class_order(table, ["dog", "fox", "ape"], ["ape", "dog", "fox"]).tolist()
    [[0.1, 0.7, 0.2]]
    >>> in_class_order(table, ["2", "0", "1"], None).tolist()
    [[0.2, 0.1, 0.7]]
    """
    if isinstance(said, (str, bytes)) or not isinstance(said, (Sequence, np.ndarray)):
        raise InputError(f"`prior_classes` is {said!r}; a list of classes is needed, one for each column of the prior.")
    given = [str(name) for name in said]
    width = prior.shape[1]
    if len(given) != width:
        raise InputError(
            f"`prior_classes` names {len(given):,} {'class' if len(given) == 1 else 'classes'} ({listing(given)}), the "
            f"prior has {width:,} columns; give the class of each column, in their order."
        )
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise InputError(f"`prior_classes` has {twice[0]!r} twice; give the class of each column once.")
    known = [str(i) for i in range(width)] if names is None else list(names)
    called = f"numbered 0 to {len(known) - 1}" if names is None else listing(known)
    place = {name: i for i, name in enumerate(given)}
    strange = [name for name in given if name not in set(known)]
    if strange:
        raise InputError(f"`prior_classes` has {strange[0]!r}, which is no class of the labels; these are {called}.")
    if len(known) > width:
        lacking = [name for name in known if name not in place]
        raise InputError(
            f"`prior_classes` lacks {listing(lacking)}; the classes of the labels are {called}, and a prior needs a "
            "column for each."
        )
    order = [place[name] for name in known]
    return prior if order == sorted(order) else prior[:, order]
