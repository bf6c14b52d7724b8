"""Two models of a table on the examples that both have: who is better, by how much, and where they part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout._version import __version__
from heldout.checks import plain_name
from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.predictions.doubts import find_doubts
from heldout.predictions.keys import TEXTS
from heldout.predictions.load import as_table
from heldout.progress import plain_bar
from heldout.reuse.compare_result import Basis, CompareAllResult, CompareResult, Parted, judge
from heldout.reuse.sampling import Sampling, example_name
from heldout.statistics.binomial import sign_test_log_pvalue
from heldout.statistics.bounded_differences import (
    ROUNDING,
    bounded_detectable,
    bounded_intervals,
    bounded_log_p_values,
)
from heldout.statistics.confidence_sequence import ConfidenceSequence, confidence_sequence
from heldout.statistics.mcnemar_power import detectable_gap
from heldout.statistics.paired import mcnemar_intervals
from heldout.statistics.sign_flips import sign_flip_p_value
from heldout.statistics.stepdown import holm_log_adjusted

Floats = NDArray[np.float64]

CELLS = 4_000_000  # cells of several pairs that are held at once
FEW_EXAMPLES = 1_000  # discordant examples that are described on each side; `discordant` has all
KNOTS = 40  # numbers of discordant examples for which it is computed what could have been seen
LONGEST_TEXT = 500  # characters of an example's text
NAMED = 12  # models listed where one is not found


def compare(
    predictions: Predictions | ArrayLike,
    first: str | int | None = None,
    second: str | int | None = None,
    *,
    level: float = 0.05,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    largest_group: int | None = None,
    sequential: bool = False,
) -> CompareResult:
    """Is one model better than another, named beforehand?

    Parameters
    ----------
    predictions : Predictions, or (n_models, n_examples) array of 0 and 1, or a frame of pandas or polars
        What the models said, or where they were right, or their scores between 0 and 1.
    first, second : str or int
        Two models, by name or position; may be left out where there are two.
    level : float
        Of the verdict; the interval is at 1 - level.
    groups : (n_examples,) array, or str, optional
        Examples that depend on each other, as in `heldout.budget`; whole groups are then the unit.
    largest_group : int, optional
        Examples that a group can have at most, of all that might have been drawn: p and interval then also hold where
        groups larger than any here exist. Without, the largest here is taken for the largest there is.
    sequential : bool
        p and interval that are valid at every look, examples being taken in the order of the table: one may look while
        they come in, and stop at any time. With groups, each counts once, with its mean, as soon as it is complete,
        that is, as soon as the next one has begun; the examples of a group must stand together. `difference` is then
        the mean over groups.

    Returns
    -------
    CompareResult
        Right or wrong: McNemar's exact test and the interval that agrees with it. Scores, or groups: the same test
        carried over to them (`heldout.statistics.bounded_differences`).

    Examples
    --------
    >>> from heldout import Predictions, compare
    >>> right = [[1] * 60 + [0] * 30 + [1] * 410, [0] * 60 + [1] * 30 + [1] * 410]
    >>> result = compare(Predictions.from_correct(right, names=["a", "b"]), "a", "b")
    >>> result.verdict, round(result.p_value, 4), [round(end, 4) for end in result.interval]
    ('first better', 0.0021, [0.0222, 0.0986])
    """
    table = _table(predictions, level, groups)
    if first is None and second is None and table.n_models == 2:
        first, second = 0, 1
    if first is None or second is None:
        raise InputError(f"name two models of {table.source}, which has {some_names(table.names)}.")
    i, j = _row(table, first, "first"), _row(table, second, "second")
    if i == j:
        raise InputError(f"{table.names[i]!r} is compared with itself; name two models of {table.source}.")
    sampling = Sampling.of(table, groups, largest_group, sequential=sequential)
    pair = _Pair(table, sampling, i, j)
    if (lacking := pair.lacking) is not None:
        raise InputError(lacking)
    return pair.result(pair.finding(level), level, digest=table.digest(), listed=True)


def compare_all(
    predictions: Predictions | ArrayLike,
    models: Iterable[str | int] | None = None,
    *,
    level: float = 0.05,
    groups: ArrayLike | Sequence[Any] | str | None = None,
    largest_group: int | None = None,
    sequential: bool = False,
    progress: bool = False,
) -> CompareAllResult:
    """Every pair of some models, or of all: p-values adjusted by Holm, intervals that hold at once.

    Parameters
    ----------
    predictions
        As in `compare`.
    models : several str or int, optional
        Which models; all of the table without.
    level, groups, largest_group, sequential
        As in `compare`; the level is family-wise.
    progress : bool
        Show a bar on stderr where there are many pairs.

    Returns
    -------
    CompareAllResult
        One `CompareResult` per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout import compare_all
    >>> right = np.random.default_rng(0).random((3, 400)) < [[0.9], [0.7], [0.7]]
    >>> compare_all(right).n_told_apart
    2
    """
    table = _table(predictions, level, groups)
    rows = range(table.n_models) if models is None else [_row(table, model, "models") for model in models]
    if len(set(rows)) != len(rows):
        raise InputError("a model is named twice; every pair of different models is compared.")
    if len(rows) < 2:
        raise InputError(f"there is one model only ({table.source}); a comparison takes two.")
    sampling = Sampling.of(table, groups, largest_group, sequential=sequential)

    def pair_of(two: tuple[int, int]) -> _Pair:
        return _Pair(table, sampling, *two)

    pairs = list(combinations(rows, 2))
    lacking = [two for two in (pairs if table.observed is not None else pairs[:1]) if pair_of(two).lacking is not None]
    if len(lacking) == len(pairs) or (lacking and table.observed is None):
        raise InputError(f"{pair_of(lacking[0]).lacking}")
    gone = set(lacking)
    pairs = [two for two in pairs if two not in gone]
    each = level / len(pairs)
    digest = table.digest()
    results = []
    batch = max(1, CELLS // table.n_examples)
    with plain_bar(len(pairs), "pairs", unit="pairs", shown=progress and len(pairs) > 1_000) as bar:
        for start in range(0, len(pairs), batch):
            some = [pair_of(two) for two in pairs[start : start + batch]]
            results += [
                pair.result(found, each, digest=digest, listed=False)
                for pair, found in zip(some, _findings(some, each), strict=True)
            ]
            bar.update(min(batch, len(pairs) - start))
    adjusted = holm_log_adjusted([result.log_p_value for result in results])
    return CompareAllResult(
        pairs=tuple(
            replace(result, ruling=result.judged(float(log_p), level), n_pairs=len(pairs))
            for result, log_p in zip(results, adjusted, strict=True)
        ),
        skipped=tuple((table.names[i], table.names[j]) for i, j in lacking),
        doubts=find_doubts(table, list(rows)),
    )


def _table(predictions: Predictions | ArrayLike, level: float, groups: Any) -> Predictions:
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise InputError(f"`level` is {level!r}; it must be a number between 0 and 1.")
    return as_table(predictions, "scores", columns=groups if isinstance(groups, str) else ())


def _row(table: Predictions, model: str | int, argument: str) -> int:
    """A model's place in the table."""
    if isinstance(model, str):
        if model in table.names:
            return table.names.index(model)
        close = get_close_matches(model, table.names, n=3)
        meant = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
        raise InputError(f"{table.source} has no model {model!r}{meant} It has {some_names(table.names)}.")
    if isinstance(model, bool) or not isinstance(model, Integral):
        raise InputError(f"`{argument}` is {model!r}; a model is given by its name or its position.")
    named = table.names.index(str(model)) if str(model) in table.names else model
    if named != model:
        raise InputError(
            f"`{argument}` is {model}, which is a position, counted from 0, but {table.source} has a model of that "
            f"name, too; give names as text, such as '{model}'."
        )
    if not 0 <= model < table.n_models:
        raise InputError(f"`{argument}` is {model}; the {table.n_models:,} models of {table.source} count from 0.")
    return int(model)


def some_names(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


@dataclass(frozen=True)
class _Finding:
    """What a test says."""

    log_p: float
    interval: tuple[float, float]
    detectable: float
    rests_on: Basis
    sequence: ConfidenceSequence | None = None


def _findings(pairs: Sequence[_Pair], level: float) -> list[_Finding]:
    """What the tests say of several pairs; where several are made, the level is a share of the whole."""
    found: dict[int, _Finding] = {}
    for plain in (True, False):
        kind = [k for k, pair in enumerate(pairs) if (pair.binary and pair.codes is None) is plain]
        of_kind = [pairs[k] for k in kind]
        found |= zip(kind, _binary_findings(of_kind, level) if plain else _score_findings(of_kind, level), strict=True)
    return [pair.in_sequence(found[k], level) if pair.sampling.sequential else found[k] for k, pair in enumerate(pairs)]


def _score_findings(pairs: Sequence[_Pair], level: float) -> list[_Finding]:
    """Scores, or groups: all pairs at once."""
    if not pairs:
        return []
    units = [pair.units() for pair in pairs]
    d = np.stack([values for values, _ in units])
    sizes = None if units[0][1] is None else np.stack([size for _, size in units if size is not None])
    grouped = pairs[0].codes is not None
    largest = pairs[0].sampling.largest
    log_p, seen = (
        bounded_log_p_values(d, sizes, largest=largest),
        bounded_detectable(d, sizes, largest=largest, level=level),
    )
    low, high = bounded_intervals(d, sizes, largest=largest, level=level)
    return [
        _Finding(
            log_p=float(log_p[k]),
            interval=(float(low[k]), float(high[k])),
            detectable=float(seen[k]),
            rests_on="groups" if grouped else "scores",
        )
        for k in range(len(pairs))
    ]


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
            rests_on="mcnemar",
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
    """Two rows of a table, on the examples that both have; in a sequence of groups, on those of complete groups."""

    def __init__(self, table: Predictions, sampling: Sampling, i: int, j: int) -> None:
        self.table, self.i, self.j, self.sampling = table, i, j, sampling
        grouping = sampling.grouping
        common = None if table.observed is None else table.observed[i] & table.observed[j]
        places = None if common is None else np.flatnonzero(common)
        self.n_missing = 0 if places is None else table.n_examples - len(places)
        self.n_waiting, self.codes = 0, None
        if grouping is not None:
            codes = grouping.codes if places is None else grouping.codes[places]
            if sampling.sequential and len(codes):
                self.n_waiting = self._unfinished(codes, places)
                places = np.arange(table.n_examples)[: -self.n_waiting] if places is None else places[: -self.n_waiting]
                codes = codes[: -self.n_waiting]
            self.codes = codes
        self.places = places  # None: all of them
        first, second = (table.cells[row] if places is None else table.cells[row][places] for row in (i, j))
        self.n = len(first)
        self.binary = table.is_binary or all(bool(((row == 0) | (row == 1)).all()) for row in (first, second))
        if self.binary and not table.is_binary:
            first, second = first > 0.5, second > 0.5
        self.first, self.second = first, second
        self.n_up, self.n_down = (int(np.count_nonzero(side)) for side in self._sides())
        self.n_groups = None if self.codes is None else len(np.unique(self.codes))
        self.named = (
            sampling.of_one if grouping is None else grouping.named or f"equal {', '.join(grouping.repeated_in)}"
        )

    @property
    def lacking(self) -> str | None:
        """What there is too little of for a comparison; None where there is enough."""
        both = f"{self.table.names[self.i]} and {self.table.names[self.j]}"
        if self.sampling.sequential and self.n_groups is not None and self.n_groups < 2:
            return (
                f"{both} share {self.n_groups} complete {'group' if self.n_groups == 1 else 'groups'} of "
                f"{self.table.source} so far (a group is complete once the next has begun); at least two are needed."
            )
        if self.n < 2:
            return (
                f"{both} share {self.n} {'example' if self.n == 1 else 'examples'} of {self.table.source}; at least "
                "two are needed."
            )
        if self.n_groups is not None and self.n_groups < 2:
            return f"the examples of {self.table.source} that {both} share are all in one group; two are needed."
        return None

    def _unfinished(self, codes: NDArray[Any], places: NDArray[np.intp] | None) -> int:
        """Examples of the last group, of which more may come; groups must stand together."""
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        seen, at = np.unique(codes[starts], return_index=True)
        if len(seen) < len(starts):
            again = int(starts[np.setdiff1d(np.arange(len(starts)), at)[0]])
            place = again if places is None else int(places[again])
            raise InputError(
                f"`sequential`: example {example_name(self.table, place)} belongs to a group that had ended before. A "
                "group counts once it is complete, so the examples of a group must stand together; order the file by "
                "groups, and these at random."
            )
        return len(codes) - int(starts[-1])

    def _sides(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the first, where the second has the higher score."""
        if self.binary:
            return self.first & ~self.second, self.second & ~self.first
        apart = self.first - self.second
        return apart > ROUNDING, apart < -ROUNDING

    def finding(self, level: float) -> _Finding:
        """What the test for these two says."""
        return _findings([self], level)[0]

    def result(self, found: _Finding, level: float, *, digest: str, listed: bool) -> CompareResult:
        """The comparison, with the examples on which they part where these shall be listed."""
        table = self.table
        parts = np.flatnonzero(np.logical_or(*self._sides())) if listed else np.zeros(0, dtype=np.intp)
        means = [self._mean(row) for row in (self.first, self.second)]
        s = found.sequence
        difference = (self.n_up - self.n_down) / self.n if self.binary and s is None else means[0] - means[1]
        return CompareResult(
            first=table.names[self.i],
            second=table.names[self.j],
            score_first=means[0],
            score_second=means[1],
            difference=difference,
            log_p_value=found.log_p,
            interval=found.interval,
            interval_level=level,
            ruling=judge(found.log_p, difference, s, level=level, rests_on=found.rests_on),
            n_pairs=1,
            n_examples=self.n,
            n_missing=self.n_missing,
            first_only=self.n_up,
            second_only=self.n_down,
            detectable_difference=found.detectable,
            p_value_sign_flips=self._sign_flips(found) if listed else math.nan,
            binary=self.binary,
            n_groups=self.n_groups,
            groups_named=self.named,
            largest_group=self.sampling.largest,
            largest_drawn=None if self.codes is None else int(np.bincount(self.codes).max()),
            n_waiting=self.n_waiting,
            sequence=s,
            discordant=(parts if self.places is None else self.places[parts]).astype(np.int64) if listed else None,
            parted=self._parted(parts),
            source=table.source,
            scored_by=table.scored_by,
            data_digest=digest,
            version=__version__,
            doubts=find_doubts(table, (self.i, self.j)) if listed else (),
        )

    def _sign_flips(self, found: _Finding) -> float:
        """What a paired permutation test says of scores or groups."""
        if found.rests_on not in ("scores", "groups"):
            return math.nan
        return sign_flip_p_value(self.units()[0])

    def _differences(self) -> Floats:
        apart = np.subtract(self.first, self.second, dtype=np.float64)
        return np.where(np.abs(apart) > ROUNDING, apart, 0.0)

    def _mean(self, row: NDArray[Any]) -> float:
        """Over examples; in a sequence of groups over groups, each of which counts once."""
        if self.sampling.sequential and self.codes is not None:
            return float(self._group_means(row).mean())
        return float(np.mean(row, dtype=np.float64))

    def _group_means(self, row: NDArray[Any]) -> Floats:
        """In the order of the file, where the examples of a group stand together."""
        assert self.codes is not None
        starts = np.flatnonzero(np.diff(self.codes, prepend=-1))
        sizes = np.diff(starts, append=len(row))
        return np.asarray(np.add.reduceat(np.asarray(row, dtype=np.float64), starts) / sizes)

    def units(self) -> tuple[Floats, Floats | None]:
        """Differences, one for every example of the table or summed over each group, and how many examples each is.

        Where none is missing an example is one; a missing one is of size 0.
        """
        d = self._differences()
        if self.codes is not None:
            assert self.sampling.grouping is not None
            length = int(self.sampling.grouping.codes.max()) + 1
            sums = np.bincount(self.codes, weights=d, minlength=length)
            sizes = np.bincount(self.codes, minlength=length).astype(np.float64)
            return np.where(np.abs(sums) > ROUNDING, sums, 0.0), sizes
        if self.places is None:
            return d, None
        every, there = np.zeros((2, self.table.n_examples))
        every[self.places], there[self.places] = d, 1.0
        return every, there

    def in_sequence(self, found: _Finding, level: float) -> _Finding:
        """The same, valid at every look."""
        x = self._differences()
        if self.codes is not None:
            x = self._group_means(x)
        sequence = confidence_sequence(np.clip(x, -1.0, 1.0), level=level)
        return replace(
            found,
            log_p=sequence.log_p_value,
            interval=(math.nan, math.nan) if sequence.moved else sequence.interval,
            rests_on="sequence" if self.codes is None else "sequence of groups",
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
            place = k if self.places is None else int(self.places[k])
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
