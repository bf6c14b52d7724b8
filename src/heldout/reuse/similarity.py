"""How alike models are: on how many examples two of them are both right or both wrong, for every pair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.progress import plain_bar
from heldout.reuse.packed import PackedLosses
from heldout.reuse.pairs import Counts, Ints, MaskedCounter, PairCounter, threads

if TYPE_CHECKING:
    from heldout.predictions import Predictions

Floats = NDArray[np.float64]


class PairRow(NamedTuple):
    """Counts of one model against all that follow it, on the examples each pair has in common."""

    pairs: slice  # place in the condensed order
    both_wrong: Ints
    common: Ints
    first_wrong: Ints
    second_wrong: Ints

    def agreements(self) -> Ints:
        """On how many of the common examples both are right or both are wrong."""
        agreed: Ints = self.common - self.first_wrong - self.second_wrong + 2 * self.both_wrong
        return agreed


@dataclass(frozen=True, kw_only=True, eq=False)
class SimilarityResult:
    """Pairwise counts of the 0/1 losses of k models; pairs are condensed as by `scipy.spatial.distance.pdist`.

    The similarity of two models is the share of examples on which both are right or both are wrong. Answers that are
    missing are left out: a pair is compared on the examples that both have.

    Parameters
    ----------
    names : tuple of str
        Names of the k models.
    n_examples : int
        Size n of the test set.
    wrong, observed : (k,) int64
        Wrong answers, and answers there are, of each model.
    both_wrong : (k (k - 1) / 2,) int32
        Examples that both models of a pair get wrong.
    common, first_wrong, second_wrong : (k (k - 1) / 2,) int32 or None
        Examples that both have, and wrong answers of the first and the second on them; None if nothing is missing.
    difficulty : (k + 1,) int64
        Number of examples that exactly 0, 1, ..., k models get wrong, over the examples that every model has.

    Examples
    --------
    >>> from heldout import similarity
    >>> result = similarity([[True, True, True, False], [True, True, False, False], [False, True, True, True]])
    >>> result.mean_similarity, result.matrix()[0].tolist()
    (0.5, [1.0, 0.75, 0.5])
    """

    names: tuple[str, ...]
    n_examples: int
    wrong: Ints
    observed: Ints
    both_wrong: Counts
    common: Counts | None
    first_wrong: Counts | None
    second_wrong: Counts | None
    difficulty: Ints

    @property
    def n_models(self) -> int:
        """Number k of models."""
        return len(self.names)

    @property
    def n_pairs(self) -> int:
        """Number k (k - 1) / 2 of pairs."""
        return len(self.both_wrong)

    @property
    def n_complete(self) -> int:
        """Number of examples that every model has."""
        return int(self.difficulty.sum())

    @property
    def right_for_all(self) -> float | None:
        """Share of the examples that every model has and gets right; None where there is no such example."""
        return float(self.difficulty[0] / self.n_complete) if self.n_complete else None

    @property
    def wrong_for_all(self) -> float | None:
        """The same for those that every model gets wrong."""
        return float(self.difficulty[-1] / self.n_complete) if self.n_complete else None

    @property
    def errors(self) -> Floats:
        """(k,) share of wrong answers; NaN for a model without any answer."""
        with np.errstate(invalid="ignore"):
            return self.wrong / self.observed

    @property
    def mean_error(self) -> float:
        """Mean of the models' errors."""
        return float(self.errors.mean())

    @property
    def mean_similarity(self) -> float:
        """Mean over the pairs that share an example; NaN if there is none."""
        return self._summary[0]

    @property
    def mean_baseline(self) -> float:
        """Mean similarity if the models' errors were independent; over the same pairs."""
        return self._summary[1]

    @property
    def below_chance(self) -> int:
        """Pairs that are both wrong less often than independent models would be: n11 n < w1 w2, in integers."""
        return self._summary[2]

    @property
    def disjoint(self) -> int:
        """Pairs without a common example: nothing can be said of them."""
        return self._summary[3]

    @property
    def mean_kappa(self) -> float:
        """Mean of `kappa` over the pairs for which it is defined; NaN if there is none."""
        return self._summary[4]

    def agreement(self) -> Floats:
        """(pairs,) similarity of each pair; NaN where it shares no example.

        Returns
        -------
        (pairs,) float
            Shares between 0 and 1.
        """
        out = np.empty(self.n_pairs)
        with np.errstate(invalid="ignore"):
            for row in self.rows():
                np.divide(row.agreements(), row.common, out=out[row.pairs])
        return out

    def baseline(self) -> Floats:
        r"""(pairs,) similarity of independent models with the same errors: mu1 mu2 + (1 - mu1)(1 - mu2).

        Returns
        -------
        (pairs,) float
            Shares between 0 and 1.
        """
        out = np.empty(self.n_pairs)
        for row in self.rows():
            out[row.pairs] = _independent(row)
        return out

    def kappa(self) -> Floats:
        """(pairs,) similarity less that of independent models, over 1 less that: Cohen's kappa of right and wrong.

        NaN where both models are right, or both wrong, on every example: independent ones would be, too.

        Returns
        -------
        (pairs,) float
            At most 1; 0 where models are as alike as independent ones.
        """
        out = np.empty(self.n_pairs)
        for row in self.rows():
            out[row.pairs] = _kappa(row)
        return out

    def counts(self, i: int, j: int) -> tuple[int, int, int, int]:
        """Examples that models i and j both get wrong, only i, only j, and neither (n11, n10, n01, n00).

        Parameters
        ----------
        i, j : int
            Two models, by position.

        Returns
        -------
        tuple of four int
            n11, n10, n01, n00.
        """
        i, j = (range(self.n_models)[index] for index in (i, j))
        if i == j:
            return int(self.wrong[i]), 0, 0, int(self.observed[i] - self.wrong[i])
        if i > j:
            n11, n10, n01, n00 = self.counts(j, i)
            return n11, n01, n10, n00
        row = self.row(i)
        n11, n, first, second = (int(count[j - i - 1]) for count in row[1:])
        return n11, first - n11, second - n11, n - first - second + n11

    def matrix(self) -> Floats:
        """(k, k) similarity, 1 on the diagonal.

        Returns
        -------
        (k, k) float
            Symmetric; NaN where a pair shares no example.
        """
        k = self.n_models
        out = np.ones((k, k))
        for i, row in enumerate(self.rows()):
            with np.errstate(invalid="ignore"):
                out[i, i + 1 :] = row.agreements() / row.common
            out[i + 1 :, i] = out[i, i + 1 :]
        return out

    def difficulty_curve(self) -> Floats:
        """(k + 1,) share of examples that at most 0, 1, ..., k models get wrong (figure 4 of the paper).

        Returns
        -------
        (k + 1,) float
            Growing, up to 1; NaN where no example is there for every model.
        """
        with np.errstate(invalid="ignore"):
            return self.difficulty.cumsum() / np.float64(self.n_complete)

    def row(self, i: int) -> PairRow:
        """Counts of model i against models i + 1, ..., k - 1.

        Parameters
        ----------
        i : int
            The model, by position.

        Returns
        -------
        PairRow
            Counts of k - 1 - i pairs.
        """
        k = self.n_models
        pairs = slice(i * (2 * k - i - 1) // 2, (i + 1) * (2 * k - i - 2) // 2)
        both = self.both_wrong[pairs].astype(np.int64)
        if self.common is None or self.first_wrong is None or self.second_wrong is None:
            n, first = np.int64(self.n_examples), self.wrong[i]
            return PairRow(pairs, both, np.full(len(both), n), np.full(len(both), first), self.wrong[i + 1 :])
        rest = (count[pairs].astype(np.int64) for count in (self.common, self.first_wrong, self.second_wrong))
        return PairRow(pairs, both, *rest)

    def rows(self) -> Iterator[PairRow]:
        """Counts of each model against those after it: a few rows of a large pool fit where all pairs do not.

        Returns
        -------
        iterator of PairRow
            One per model.
        """
        return (self.row(i) for i in range(self.n_models))

    @cached_property
    def _summary(self) -> tuple[float, float, int, int, float]:
        agreement, independent, kappa, n_kappa = [], [], [], 0
        below = disjoint = 0
        for row in self.rows():
            below += int(np.count_nonzero(row.both_wrong * row.common < row.first_wrong * row.second_wrong))
            shared = row.common > 0
            disjoint += int(np.count_nonzero(~shared))
            agreement.append(float((row.agreements()[shared] / row.common[shared]).sum()))
            independent.append(float(_independent(row)[shared].sum()))
            adjusted = _kappa(row)
            defined = np.isfinite(adjusted)
            kappa.append(float(adjusted[defined].sum()))
            n_kappa += int(np.count_nonzero(defined))
        pairs = self.n_pairs - disjoint
        if not pairs:
            return math.nan, math.nan, below, disjoint, math.nan
        mean_kappa = math.fsum(kappa) / n_kappa if n_kappa else math.nan
        return math.fsum(agreement) / pairs, math.fsum(independent) / pairs, below, disjoint, mean_kappa

    def __str__(self) -> str:
        k, n = self.n_models, self.n_examples
        lines = [f"{k:,} {'model' if k == 1 else 'models'} on {n:,} examples, mean error {self.mean_error:.4f}"]
        if self.n_pairs > self.disjoint:
            lines += [
                f"mean similarity {self.mean_similarity:.4f}, {self.mean_baseline:.4f} if errors were independent",
                f"chance-adjusted (Cohen's kappa of right and wrong) {self.mean_kappa:.4f}",
                f"less alike than independent errors: {self.below_chance:,} of {self.n_pairs:,} pairs",
            ]
        else:
            lines.append("no two models share an example: there is no similarity to tell")
        if self.disjoint:
            lines.append(f"without a common example, left out of the means: {self.disjoint:,} pairs")
        if self.n_complete:
            right, wrong = (100 * self.difficulty[j] / self.n_complete for j in (0, k))
            of = "examples" if self.n_complete == n else f"the {self.n_complete:,} examples that every model has"
            lines.append(f"{right:.2f} % of {of} are right for all models, {wrong:.2f} % wrong for all")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers of the pool and of each model; an undefined one is None. Pairs stay in the arrays.

        Returns
        -------
        dict
            Means over pairs, and each model's error.
        """
        return {
            "n_models": self.n_models,
            "n_examples": self.n_examples,
            "n_complete": self.n_complete,
            "n_pairs": self.n_pairs,
            "disjoint_pairs": self.disjoint,
            "below_chance": self.below_chance,
            "mean_error": _defined(self.mean_error),
            "mean_similarity": _defined(self.mean_similarity),
            "independent_similarity": _defined(self.mean_baseline),
            "kappa": _defined(self.mean_kappa),
            "difficulty": self.difficulty.tolist(),
            "models": [
                {"name": name, "error": _defined(error), "n_examples": n}
                for name, error, n in zip(self.names, self.errors.tolist(), self.observed.tolist(), strict=True)
            ],
        }


def similarity(predictions: Predictions | PackedLosses | ArrayLike, *, progress: bool = False) -> SimilarityResult:
    """Count, for every pair of models, the examples that both get wrong.

    Everything else about a pair follows from that count and the models' own errors. The losses are kept eight to a
    byte and multiplied a block of examples at a time, so 10,000 models on 100,000 examples need well below 1 GB.

    Parameters
    ----------
    predictions : Predictions, or (k, n) array of bool, or a frame of pandas or polars
        Which answers are right, models first; frames as `heldout.load_predictions` reads them.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    SimilarityResult
        Similarities, errors and the number of models that each example fools.

    Examples
    --------
    Three models, four examples:

    >>> from heldout import similarity
    >>> correct = [[True, True, True, False], [True, True, False, False], [False, True, True, True]]
    >>> result = similarity(correct)
    >>> result.agreement().tolist()
    [0.75, 0.5, 0.25]
    >>> result.baseline().tolist()
    [0.5, 0.625, 0.5]
    >>> result.counts(0, 2)  # both wrong, only model 0, only model 2, neither
    (0, 1, 1, 2)
    >>> result.difficulty.tolist()  # one example is right for all, two fool one model, one fools two
    [1, 2, 1, 0]
    """
    losses = PackedLosses.of(predictions)
    counter = MaskedCounter(losses) if losses.observed is not None else PairCounter(losses)
    with threads() as each, plain_bar(losses.n_examples, "similarity", unit="examples", shown=progress) as bar:
        for start, stop in counter.blocks():
            counter.add(start, stop, each)
            bar.update(min(8 * stop, losses.n_examples) - 8 * start)
    return SimilarityResult(
        names=losses.names, n_examples=losses.n_examples, difficulty=np.asarray(counter.difficulty), **counter.counts()
    )


def condensed_row(node: int, k: int) -> NDArray[np.intp]:
    """Where the pairs of one model with all others stand in a condensed array (pdist's order).

    Examples
    --------
    >>> condensed_row(1, 4).tolist()  # pairs 01 02 03 12 13 23
    [0, 3, 4]
    """
    before = np.arange(node)
    start = before * k - before * (before + 1) // 2 + node - before - 1
    own = node * k - node * (node + 1) // 2 + np.arange(k - node - 1)
    return np.concatenate([start, own]).astype(np.intp)


def _independent(row: PairRow) -> Floats:
    with np.errstate(invalid="ignore"):
        first, second = row.first_wrong / row.common, row.second_wrong / row.common
    both: Floats = first * second + (1 - first) * (1 - second)
    return both


def _kappa(row: PairRow) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        chance = _independent(row)
        kappa: Floats = (row.agreements() / row.common - chance) / (1 - chance)
    kappa[~(chance < 1)] = np.nan
    return kappa


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
