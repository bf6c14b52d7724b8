"""Two models of a table on the examples that both have: who is better, by how much, and where they part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout._version import __version__
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.predictions.keys import TEXTS, plain_name
from heldout.progress import plain_bar
from heldout.reuse.compare_result import FEW_EXAMPLES, CompareAllResult, CompareResult, Parted
from heldout.reuse.grouped import Grouping, find_groups
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.confidence_sequence import ConfidenceSequence, confidence_sequence
from heldout.statistics.mcnemar_power import detectable_gap
from heldout.statistics.paired import mcnemar_intervals
from heldout.statistics.sign_flips import detectable_mean, paired_interval, sign_flip_test
from heldout.statistics.stepdown import holm_log_adjusted

Floats = NDArray[np.float64]

BATCH = 20_000  # pairs
KNOTS = 40  # numbers of discordant examples for which it is computed what could have been seen
ROUNDING = 1e-9  # a difference of scores below this is none
LONGEST_TEXT = 500  # characters of an example's text
MCNEMAR = "McNemar's exact test"
NULLS = {
    "binary": "both models are right equally often; examples are independent.",
    "scores": "on any example the two models could be swapped; examples are independent. With many examples the test "
    "holds for equal mean scores, too.",
    "groups": "on any group of examples, taken as a whole, the two models could be swapped; groups are independent. "
    "With many groups the test holds for equal mean scores, too.",
    "sequence": "the mean difference is 0, whatever was seen before; it must not depend on the order of the {}. One "
    "may look after every one and stop at any time.",
}


def compare(
    predictions: Predictions | ArrayLike,
    first: str | int = 0,
    second: str | int = 1,
    *,
    level: float = 0.05,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    sequential: bool = False,
) -> CompareResult:
    """Is one model better than another, named beforehand?

    Parameters
    ----------
    predictions : Predictions, or (n_models, n_examples) array of 0 and 1
        What the models said, or where they were right, or their scores between 0 and 1.
    first, second : str or int
        Two models, by name or position.
    level : float
        Of the verdict; the interval is at 1 - level.
    groups : (n_examples,) array, or str, optional
        Examples that depend on each other, as in `heldout.budget`; whole groups are then the unit.
    sequential : bool
        p and interval that are valid at every look, examples being taken in the order of the table: one may look while
        they come in, and stop at any time. With groups, each counts once, with its mean, in order of first appearance.

    Returns
    -------
    CompareResult
        Right or wrong: McNemar's exact test and the interval that agrees with it. Scores, or groups: sign flips.

    Examples
    --------
    >>> right = [[1] * 60 + [0] * 30 + [1] * 410, [0] * 60 + [1] * 30 + [1] * 410]
    >>> result = compare(Predictions.from_correct(right, names=["a", "b"]), "a", "b")
    >>> result.verdict, round(result.p_value, 4), [round(end, 4) for end in result.interval]
    ('first better', 0.0021, [0.0222, 0.0986])
    """
    table = _table(predictions, level)
    i, j = (_row(table, model) for model in (first, second))
    if i == j:
        raise InputError(f"{table.names[i]!r} is compared with itself; name two models of {table.source}.")
    pair = _Pair(table, find_groups(table, groups), i, j)
    if pair.n < 2:
        raise InputError(
            f"{table.names[i]} and {table.names[j]} share {pair.n} {'example' if pair.n == 1 else 'examples'} of "
            f"{table.source}; at least two are needed."
        )
    return pair.result(pair.finding(level, sequential=sequential), level, digest=table.digest(), listed=True)


def compare_all(
    predictions: Predictions | ArrayLike,
    models: Iterable[str | int] | None = None,
    *,
    level: float = 0.05,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    sequential: bool = False,
    progress: bool = False,
) -> CompareAllResult:
    """Every pair of some models, or of all: p-values adjusted by Holm, intervals that hold at once.

    Parameters
    ----------
    models : several str or int, optional
        Which models; all of the table without.
    level, groups, sequential
        As in `compare`; the level is family-wise.

    Examples
    --------
    >>> right = np.random.default_rng(0).random((3, 400)) < [[0.9], [0.7], [0.7]]
    >>> compare_all(right).n_told_apart
    2
    """
    table = _table(predictions, level)
    rows = range(table.n_models) if models is None else [_row(table, model) for model in models]
    if len(set(rows)) != len(rows):
        raise InputError("a model is named twice; every pair of different models is compared.")
    if len(rows) < 2:
        raise InputError(f"there is one model only ({table.source}); a comparison takes two.")
    grouping = find_groups(table, groups)
    pairs = list(combinations(rows, 2))
    each = level / len(pairs)
    digest = table.digest()
    results = []
    with plain_bar(len(pairs), "pairs", unit="pairs", shown=progress and len(pairs) > 1_000) as bar:
        for start in range(0, len(pairs), BATCH):
            some = [_Pair(table, grouping, i, j) for i, j in pairs[start : start + BATCH]]
            some = [pair for pair in some if pair.n > 1]
            if table.is_binary and grouping is None and not sequential:
                findings = _binary_findings(some, each)
            else:
                findings = [pair.finding(each, sequential=sequential) for pair in some]
            results += [
                pair.result(found, each, digest=digest, listed=False)
                for pair, found in zip(some, findings, strict=True)
            ]
            bar.update(min(BATCH, len(pairs) - start))
    if not results:
        raise InputError(f"no two models of {table.source} share two examples, so nothing can be compared.")
    adjusted = holm_log_adjusted([result.log_p_value for result in results])
    return CompareAllResult(
        pairs=tuple(
            replace(result, adjusted_log_p=float(log_p), level=level, n_pairs=len(pairs))
            for result, log_p in zip(results, adjusted, strict=True)
        )
    )


def _table(predictions: Predictions | ArrayLike, level: float) -> Predictions:
    if not 0 < level < 1:
        raise InputError(f"`level` is {level} (--level); it must be between 0 and 1.")
    return predictions if isinstance(predictions, Predictions) else Predictions.from_scores(predictions)


def _row(table: Predictions, model: str | int) -> int:
    chosen = table.select([model]) if isinstance(model, str) else table.select([int(model)])
    return table.names.index(chosen.names[0])


@dataclass(frozen=True)
class _Finding:
    """What a test says."""

    log_p: float
    interval: tuple[float, float]
    detectable: float
    test: str
    null: str
    sequence: ConfidenceSequence | None = None


def _binary_findings(pairs: Sequence[_Pair], level: float) -> list[_Finding]:
    """McNemar's test of several pairs, their intervals found together."""
    if not pairs:
        return []
    counts = np.array([(pair.n_up, pair.n_down, pair.n) for pair in pairs], dtype=np.int64)
    distinct, place = np.unique(counts, axis=0, return_inverse=True)
    low, high = mcnemar_intervals(*distinct.T, level=level)
    gaps = {
        (m, n): gap
        for n in np.unique(distinct[:, 2]).tolist()
        for m, gap in _gaps(n, sorted({b + c for b, c, size in distinct.tolist() if size == n}), level).items()
    }
    return [
        _Finding(
            log_p=sign_test_log_pvalue(b, c),
            interval=(float(low[k]), float(high[k])),
            detectable=gaps[b + c, n],
            test=MCNEMAR,
            null=NULLS["binary"],
        )
        for (b, c, n), k in zip(counts.tolist(), place.reshape(-1).tolist(), strict=True)
    ]


def _gaps(n: int, parts: list[int], level: float) -> dict[int, float]:
    """What could have been seen at each number of discordant examples; between some of them where there are many."""
    some = parts
    if len(parts) > KNOTS:
        some = sorted({parts[round(i)] for i in np.linspace(0, len(parts) - 1, KNOTS)})
    known = [detectable_gap(n, m / n, level=level) for m in some]
    return dict(zip(parts, np.interp(parts, some, known).tolist(), strict=True))


class _Pair:
    """Two rows of a table, on the examples that both have."""

    def __init__(self, table: Predictions, grouping: Grouping | None, i: int, j: int) -> None:
        self.table, self.i, self.j = table, i, j
        self.binary = table.is_binary
        common = None if table.observed is None else table.observed[i] & table.observed[j]
        self.places = np.arange(table.n_examples) if common is None else np.flatnonzero(common)
        first, second = (table.cells[row] if common is None else table.cells[row][self.places] for row in (i, j))
        self.first, self.second = first, second
        self.n = len(self.places)
        self.n_up, self.n_down = (int(np.count_nonzero(side)) for side in self._sides())
        self.codes = None
        if grouping is not None:
            self.codes = np.unique(grouping.codes[self.places], return_inverse=True)[1]
        self.named = None if grouping is None else grouping.named or f"equal {', '.join(grouping.repeated_in)}"

    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the first, where the second has the higher score."""
        if self.binary:
            return self.first & ~self.second, self.second & ~self.first
        apart = self.first - self.second
        return apart > ROUNDING, apart < -ROUNDING

    def finding(self, level: float, *, sequential: bool) -> _Finding:
        """What the test for these two says; where several are made, the level is a share of the whole."""
        found = _binary_findings([self], level)[0] if self.binary and self.codes is None else self._scores(level)
        return self._sequence(found, level) if sequential else found

    def result(self, found: _Finding, level: float, *, digest: str, listed: bool) -> CompareResult:
        """The comparison, with the examples on which they part where these shall be listed."""
        table = self.table
        places = np.flatnonzero(np.logical_or(*self._sides())) if listed else np.zeros(0, dtype=np.intp)
        means = [float(np.mean(row, dtype=np.float64)) for row in (self.first, self.second)]
        return CompareResult(
            first=table.names[self.i],
            second=table.names[self.j],
            score_first=means[0],
            score_second=means[1],
            difference=(self.n_up - self.n_down) / self.n if self.binary else means[0] - means[1],
            log_p_value=found.log_p,
            adjusted_log_p=found.log_p,
            interval=found.interval,
            level=level,
            interval_level=level,
            n_pairs=1,
            n_examples=self.n,
            n_missing=table.n_examples - self.n,
            first_only=self.n_up,
            second_only=self.n_down,
            detectable_difference=found.detectable,
            binary=self.binary,
            test=found.test,
            null=found.null,
            n_groups=None if self.codes is None else int(self.codes.max()) + 1,
            groups_named=self.named,
            sequence=found.sequence,
            discordant=self.places[places].astype(np.int64),
            parted=self._parted(places),
            source=table.source,
            data_digest=digest,
            version=__version__,
        )

    def _differences(self) -> Floats:
        apart = np.subtract(self.first, self.second, dtype=np.float64)
        return np.where(np.abs(apart) > ROUNDING, apart, 0.0)

    def _scores(self, level: float) -> _Finding:
        d = self._differences()
        sizes: Floats | None = None
        if self.codes is not None:
            sizes = np.bincount(self.codes).astype(np.float64)
            d = np.bincount(self.codes, weights=d).astype(np.float64)
            d = np.where(np.abs(d) > ROUNDING, d, 0.0)
            if len(sizes) < 2:
                raise InputError("the examples that both models have are all in one group; nothing is left to compare.")
        flips = sign_flip_test(d)
        how = "exact" if flips.method == "exact" else "by a saddlepoint"
        unit = "examples" if self.codes is None else "whole groups"
        return _Finding(
            log_p=flips.log_p_value,
            interval=paired_interval(d, sizes, level=level),
            detectable=detectable_mean(d, sizes, level=level),
            test=f"paired permutation test: signs of {unit} flipped, {how}",
            null=NULLS["scores" if self.codes is None else "groups"],
        )

    def _sequence(self, found: _Finding, level: float) -> _Finding:
        """The same, valid at every look."""
        x, unit = self._differences(), "examples"
        if self.codes is not None:
            means = np.bincount(self.codes, weights=x) / np.bincount(self.codes)
            x, unit = means[_first_appearance(self.codes)], "groups"
        sequence = confidence_sequence(np.clip(x, -1.0, 1.0), level=level)
        return replace(
            found,
            log_p=sequence.log_p_value,
            interval=sequence.interval,
            test="confidence sequence by betting, valid at every look",
            null=NULLS["sequence"].format(unit),
            sequence=sequence,
        )

    def _parted(self, places: NDArray[np.intp]) -> tuple[Parted, ...]:
        """Some examples on which they part: the largest differences of each side, in the order of the table."""
        apart = np.subtract(self.first[places], self.second[places], dtype=np.float64)
        order = np.argsort(-np.abs(apart), kind="stable")
        sides = (order[apart[order] > 0], order[apart[order] < 0])
        chosen = places[np.concatenate([side[:FEW_EXAMPLES] for side in sides])].tolist()
        table = self.table
        texts = [table.columns[name] for name in table.columns if plain_name(name) in TEXTS]
        known = table.predictions is not None and table.labels is not None
        rows = []
        for k in chosen:
            place = int(self.places[k])
            words = " | ".join(str(column[place]) for column in texts if column[place] is not None)
            answers = {}
            if known and table.predictions is not None and table.labels is not None:
                answers = {
                    "label": str(table.labels[place]),
                    "first_answer": str(table.predictions[self.i, place]),
                    "second_answer": str(table.predictions[self.j, place]),
                }
            rows.append(
                Parted(
                    position=place,
                    id=None if table.ids is None else table.ids[place],
                    first=float(self.first[k]),
                    second=float(self.second[k]),
                    text=words[:LONGEST_TEXT] or None,
                    **answers,
                )
            )
        return tuple(rows)


def _first_appearance(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Groups in the order in which their first example stands.

    Examples
    --------
    >>> _first_appearance(np.array([2, 0, 2, 1])).tolist()
    [2, 0, 1]
    """
    return np.asarray(np.argsort(np.unique(codes, return_index=True)[1], kind="stable"), dtype=np.intp)
