"""Votes that look at no more than whether a query was lucky."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.attack.pointwise import SAME, Pointwise


class Majority(Pointwise):
    """Every query votes for its labels if it did better than chance and against them if it did worse.

    With two classes this is the attack of Blum and Hardt (2015); with more, its plain extension. A prior serves to aim,
    not to vote.
    """

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """+1 above chance, -1 below, 0 at chance."""
        if len(answers) == 0:
            return answers
        above = answers - self.standard(answers)[0]
        return np.where(np.abs(above) < SAME, 0.0, np.sign(above))


class Plurality(Pointwise):
    """Only queries above the mean plus one standard deviation vote: the attack behind the proof of Theorem 4.3."""

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 for a lucky query, else 0."""
        if len(answers) == 0:
            return answers
        mean, spread = self.standard(answers)
        return (answers > mean + spread + SAME).astype(np.float64)
