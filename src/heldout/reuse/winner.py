r"""The winner's score, and what it is expected to lose on fresh examples: it was chosen because it came out high.

Choose the best model on m of the n examples, drawn at random, and look at it on the n - m others. These had no part in
the choice, so what it loses from one to the other is, on average, exactly what a winner chosen on m examples loses on
fresh ones:

.. math:: D(m) = E[\text{score of the winner on its } m \text{ examples} - \text{its score on the rest}].    \tag{1}

The law of equal models goes the rest of the way:

.. math:: D(n) \approx \sqrt{m / n}\; D(m).    \tag{2}

It is exact for equal models. For one that is ahead of k - 1 equals it takes too much off, at the worst lead about
0.33 (1 - m / n) ln k standard errors where scores are normal; with more examples left out the drop of one leaderboard
spreads less. So as many are left out as keep that at a tenth of a standard error: one of B blocks,

.. math:: m / n = 1 - 1 / B, \qquad B = \lceil \ln k / 0.3 \rceil,    \tag{3}

which is 3 for 2 models, 8 for 10, 13 for 40 and 21 for 500. On boards of 60 examples the corrected score is then off by
1.06, 1.11, 1.44 and 1.74 standard errors, root mean squares, of 2, 3, 10 and 40 equal models, and the score itself by
1.01, 1.10, 1.60 and 2.16. (With a twentieth left out whatever k is, it was 1.45, 1.54, 1.81 and 1.92.) Behind a clear
leader the score itself is nearer to the truth, by a sixth, and among models that are nearly always right by a third.
With fewer examples or groups than B, each is a block, and the most that is taken off too much grows as (1 - m / n).

A plain bootstrap would not do. Observed scores are spread more widely than true ones, so it sees winners that win more
safely than they do: of the drop of forty equal models it finds seven tenths, and the corrected score stays 0.6 standard
errors too high.

Whole groups stay together where examples come in groups. Where a few of them hold most examples nothing is said; nor is
it where a model may win that has far fewer examples than others: the blocks of a split may hold none of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.groups import Codes
from heldout.results import Record

SPLITS, PARTITIONS = 4_000, 400  # in all, one for each block of a random partition; and partitions at most
LEFT_OUT = 0.3  # times 1 / ln k: share of the examples
FEWEST = 4  # independent examples; or groups, where unequal ones are worth n² over the sum of their squared sizes
MOST_CONTENDERS = 500  # models, best first, that are looked at as winners of a split
BEYOND = 6.0  # standard deviations by which a model must overtake the first to win a split; more does not happen
CHUNK = 8_192  # examples at a time
LARGE = 20_000_000  # answers of contenders from which on a fifth of the splits does
LONG = 100_000_000  # examples of all partitions from which on a quarter of these does
OWN = 2  # times the number of blocks: examples that a winner must have where others have twice as many
SELDOM = 0.01  # of the splits, in which a model with fewer may win all the same

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Winner(Record):
    """The first on the leaderboard.

    Parameters
    ----------
    model : int
        Its index.
    name : str
    score : float
        Share of right answers.
    expected_drop : float
        What a winner like this loses, on average, on as many fresh examples; NaN where there are too few independent
        examples or groups to tell.
    """

    unlisted = ("model",)
    derived = ("corrected",)

    model: int
    name: str
    score: float
    expected_drop: float

    @property
    def corrected(self) -> float:
        """The score less the expected drop: what to expect on fresh examples."""
        return self.score - self.expected_drop


def expected_drop(
    scores: NDArray[Any],
    *,
    observed: NDArray[np.bool_] | None = None,
    codes: Codes | None = None,
    rng: np.random.Generator,
) -> float:
    """What the model with the highest mean score is expected to lose on as many fresh examples.

    NaN below four examples or groups, where few groups hold most examples, and where a model may win that has far
    fewer examples than others.

    Parameters
    ----------
    scores : (k, n) array
        Between 0 and 1, or right and wrong.
    observed : (k, n) bool, optional
        Cells that there are; the others are left out.
    codes : (n,) int, optional
        The group of each example; whole groups are drawn.

    Examples
    --------
    Ten models that guess, on 100 examples. The best of them will be back near one half; the mean over sixty such
    leaderboards:

    >>> rng = np.random.default_rng(1)
    >>> boards = rng.random((60, 10, 100)) < 0.5
    >>> scores = boards.mean(axis=2).max(axis=1)
    >>> drops = [expected_drop(board, rng=rng) for board in boards]
    >>> round(float(scores.mean()), 2), round(float(np.mean(scores - drops)), 2)
    (0.58, 0.51)
    """
    wanted = n_blocks_for(len(scores))
    units = _Units.of(scores, observed, codes, wanted)
    n_units = units.right.shape[1]
    if (n_units if codes is None else _effective_groups(codes)) < FEWEST:
        return math.nan
    n_blocks = min(wanted, n_units)
    splits = SPLITS if units.right.size < LARGE else SPLITS // 5
    most = PARTITIONS if n_units * PARTITIONS < LONG else PARTITIONS // 4
    right, cells = units.blocks(n_blocks, max(1, min(most, splits // n_blocks)), rng)
    own = np.count_nonzero(units.cells, axis=1)
    drop = _drop(right, cells, own < min(OWN * n_blocks, own.max() / 2))
    return math.sqrt(1 - 1 / n_blocks) * drop  # (2)


def n_blocks_for(k: int) -> int:
    """Blocks of examples, one of which is left out, for k models.

    Examples
    --------
    >>> [n_blocks_for(k) for k in (1, 2, 3, 10, 40, 500)]
    [3, 3, 4, 8, 13, 21]
    """
    return max(3, math.ceil(math.log(k) / LEFT_OUT))  # (3)


def _effective_groups(codes: Codes) -> float:
    sizes = np.bincount(codes).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


@dataclass(frozen=True)
class _Units:
    """Right answers, and answers there are, of each contender in each independent unit; the leader's row."""

    right: NDArray[np.float32]  # (contenders, units)
    cells: NDArray[np.float32]  # the same, or (1, units) where nothing is missing

    @classmethod
    def of(cls, scores: NDArray[Any], observed: NDArray[np.bool_] | None, codes: Codes | None, n_blocks: int) -> _Units:
        chosen = _contenders(scores, observed, codes, n_blocks)
        right = np.asarray(scores[chosen], dtype=np.float32)
        cells = np.ones((1, right.shape[1]), np.float32)
        if observed is not None:
            cells = observed[chosen].astype(np.float32)
            right = np.where(observed[chosen], right, np.float32(0))
        if codes is None:
            return cls(right, cells)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        return cls(*(np.add.reduceat(part[:, order], starts, axis=1) for part in (right, cells)))

    def blocks(
        self, n_blocks: int, rounds: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Sums over the blocks of many random partitions, (rounds, models, blocks) each."""
        n = self.right.shape[1]
        # Equal blocks, but for one unit; a permutation a round says who is in which.
        of_place = (np.arange(n) * n_blocks // n).astype(np.uint8)
        member = np.stack([of_place[rng.permutation(n)] for _ in range(rounds)])
        sums = [np.zeros((rounds * n_blocks, len(part)), np.float32) for part in (self.right, self.cells)]
        for start in range(0, n, CHUNK):
            piece = slice(start, min(start + CHUNK, n))
            inside = np.zeros((rounds, n_blocks, piece.stop - piece.start), np.float32)
            np.put_along_axis(inside, member[:, None, piece].astype(np.intp), 1, axis=1)
            inside = inside.reshape(rounds * n_blocks, -1)
            for total, part in zip(sums, (self.right, self.cells), strict=True):
                total += inside @ part[:, piece].T
        return tuple(s.reshape(rounds, n_blocks, -1).transpose(0, 2, 1) for s in sums)  # type: ignore[return-value]


def _contenders(
    scores: NDArray[Any], observed: NDArray[np.bool_] | None, codes: Codes | None, n_blocks: int
) -> NDArray[np.intp]:
    """Models that may win a split, in the order given: the order decides between equals, as on the leaderboard."""
    if observed is None:
        means = scores.mean(axis=1, dtype=np.float64)
    else:
        means = np.where(observed, scores, 0).sum(axis=1, dtype=np.float64) / np.maximum(1, observed.sum(axis=1))
    leader, n = int(np.argmax(means)), scores.shape[1]
    near = np.ones(len(means), dtype=bool)
    if codes is None and observed is None:
        reach = BEYOND * math.sqrt(1 / (n_blocks - 1) / n)  # spread between splits of a difference that is always ±1
        near = means[leader] - means <= reach * math.sqrt(1 + 1 / n)
        first = scores[leader].astype(np.float32)
        for i in np.flatnonzero(near).tolist():  # row by row: a large table is not to be held twice
            apart = float(np.abs(scores[i].astype(np.float32) - first).mean())
            near[i] = means[leader] - means[i] <= reach * math.sqrt(apart + 1 / n)
    found = np.flatnonzero(near)
    best = found[np.argsort(-means[found], kind="stable")[:MOST_CONTENDERS]]
    return np.sort(best)


def _drop(right: NDArray[np.float32], cells: NDArray[np.float32], has_few: NDArray[np.bool_]) -> float:
    """D (1) of winners on all blocks but one, each left out in its turn; NaN where those that have few win.

    A split counts by the examples m it chooses on and the n - m it looks at, as m (n - m): what the overall leader
    loses is then zero on average over splits, whatever it is on one, and taking it off leaves what choosing does.
    """
    total, there = right.sum(axis=2, keepdims=True), cells.sum(axis=2, keepdims=True)
    leader = int(np.argmax(total[0, :, 0] / np.maximum(1, there[0, :, 0])))
    got, had = total - right, there - cells
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen_on = got / had
        left_for = np.where(cells > 0, right / cells, np.float32(np.nan))  # rounded sums over 0 are infinite
    winner = np.argmax(np.where(np.isfinite(chosen_on), chosen_on, -1), axis=1)[:, None, :]
    if len(has_few) > 1 and has_few[winner].mean() > SELDOM:
        return math.nan
    lost = np.take_along_axis(chosen_on, winner, axis=1) - np.take_along_axis(left_for, winner, axis=1)
    lost = lost[:, 0].astype(np.float64) - (chosen_on[:, leader] - left_for[:, leader])
    row = leader if len(cells[0]) > 1 else 0
    weight = (had[:, row] * cells[:, row]).astype(np.float64)
    known = np.isfinite(lost)
    return float(np.average(lost[known], weights=weight[known])) if known.any() else math.nan
