"""How sure a model is of the true label: the score that is compared with references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from heldout.statistics.checks import Floats
from heldout.statistics.leak import MARGIN_CLIP

SUM_SLACK = 1e-3  # by which probabilities may miss 1: half precision and a thousand classes


def label_margins(logits: ArrayLike, labels: ArrayLike, *, absent: Sequence[int] = ()) -> Floats:
    r"""Log-odds of the true label y, clipped to MARGIN_CLIP:

    .. math:: m = l_y - \log \sum_{i \ne y} e^{l_i}    \tag{1}

    Log-probabilities are logits too. Classes in `absent` are ones that the model does not know, whatever it says.

    Examples
    --------
    >>> label_margins([[2.0, 0.0], [2.0, 0.0], [60.0, 0.0]], [0, 1, 0]).tolist()
    [2.0, -2.0, 10.0]
    >>> label_margins(np.log([[0.7, 0.2, 0.1]]), [0]).round(6) == np.log(0.7 / 0.3).round(6)
    array([ True])
    """
    values = np.array(logits, dtype=np.float64)
    if len(absent):
        values[:, np.asarray(absent)] = -np.inf
    own = np.arange(len(values)), np.asarray(labels)
    true = values[own]
    values[own] = -np.inf
    return np.asarray(np.clip(true - logsumexp(values, axis=1), *MARGIN_CLIP))  # (1)


@dataclass(frozen=True)
class Answers:
    """What a model says to pictures, one number each."""

    excess: Floats  # of the highest logit over the true label's: above 0 where the model is wrong
    tied: NDArray[np.bool_]  # whether more than one label has the highest logit
    margins: Floats  # (1)
    margins_of_probabilities: Floats  # (1), should the answers be probabilities
    look_like_probabilities: NDArray[np.bool_]

    @property
    def losses(self) -> Floats:
        """1 where the model is wrong, else 0."""
        return np.asarray((self.excess > 0).astype(np.float64))

    def of(self, rows: NDArray[np.intp]) -> Answers:
        """Some of them."""
        return Answers(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def answers_of(
    logits: NDArray[Any], labels: NDArray[np.int64], excess: Floats, *, absent: Sequence[int] = ()
) -> Answers:
    """One batch's answers from its logits, which are finite and have a column for every label."""
    values = logits.astype(np.float64)
    tiny = np.finfo(np.float64).tiny
    return Answers(
        excess=excess,
        tied=top_is_tied(values),
        margins=label_margins(values, labels, absent=absent),
        margins_of_probabilities=label_margins(np.log(np.maximum(values, tiny)), labels, absent=absent),
        look_like_probabilities=(values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1.0) <= SUM_SLACK),
    )


def top_is_tied(logits: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether more than one label has the highest score: such an answer counts as right, but not as clearly right."""
    return np.asarray((logits == logits.max(axis=1, keepdims=True)).sum(axis=1) > 1)


def margins_of(sets: dict[str, Answers]) -> dict[str, Floats]:
    """One model's margins on each set; where all of its answers are probabilities, those of their logarithms.

    Decided on all sets together, so that it does not depend on which picture is in which.
    """
    are_probabilities = all(bool(answers.look_like_probabilities.all()) for answers in sets.values())
    return {
        name: answers.margins_of_probabilities if are_probabilities else answers.margins
        for name, answers in sets.items()
    }
