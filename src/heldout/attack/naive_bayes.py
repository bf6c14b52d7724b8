"""Naive Bayes, optimal among point-wise attacks (Theorem 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.attack.confidence import query_weights
from heldout.attack.pointwise import Pointwise


class NaiveBayes(Pointwise):
    """NB, and NB_π where there is a prior: the label that maximises π_i(l) conf(l, s, α) of section 4.1.

    Examples
    --------
    >>> from heldout.attack import Knowledge
    >>> from heldout.attack.oracle import AccuracyOracle
    >>> labels = np.random.default_rng(0).integers(0, 2, 1000)
    >>> oracle, attack = AccuracyOracle(labels), NaiveBayes(Knowledge(n=1000, m=2), seed=0)
    >>> for _ in range(400):
    ...     attack.tell(oracle.accuracy(attack.ask()))
    >>> 0.68 < oracle.true_accuracy(attack.predict()) < 0.78  # Φ(√0.4) = 0.736
    True
    """

    uses_prior = True

    def weights(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln(α' (R-1) / (1-α')).

        Parameters
        ----------
        answers : (k,) float
            Accuracies, as they were told.

        Returns
        -------
        (k,) float
            What a query's label counts.
        """
        if len(answers) == 0:
            return answers
        return query_weights(self.hit_rates(answers), self.known.n_options)
