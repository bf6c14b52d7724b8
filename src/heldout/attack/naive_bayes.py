"""Naive Bayes, optimal among point-wise attacks (Theorem 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.attack.confidence import query_weights
from heldout.attack.pointwise import Pointwise


class NaiveBayes(Pointwise):
    """NB, and NB_π where there is a prior: the label that maximises π_i(l) conf(l, s, α) of section 4.1.

    Parameters
    ----------
    known : Knowledge
        The test set, and what is known of it before asking.
    seed : int
        Of the queries and of ties.
    digits : int, optional
        How the answers are rounded; exact by default.
    sure : bool
        Whether an answer of exactly 0 or 1 is meant literally: not where the answers may be noisy.
    public : float
        Share of the examples that the answers are about, drawn at random.

    Examples
    --------
    A leaderboard of 1,000 examples that says how accurate each of 400 submissions is gives 24 points away:

    >>> import numpy as np
    >>> from heldout.attack import Knowledge, NaiveBayes
    >>> labels = np.random.default_rng(0).integers(0, 2, 1000)
    >>> attack = NaiveBayes(Knowledge(n=1000, m=2), seed=0)
    >>> for _ in range(400):
    ...     attack.tell(np.mean(attack.ask() == labels))
    >>> bool(0.68 < np.mean(attack.predict() == labels) < 0.78)  # Φ(√0.4) = 0.736
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
