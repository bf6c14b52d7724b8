"""What an analyst knows before asking, and where the attack is aimed because of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError

ROWS = 4096  # rows of a prior that are looked at together
TOLERANCE = 1e-3  # a softmax in half precision is off by less


class Surest(NamedTuple):
    """(n,) examples, those first of which a prior is surest, with the probabilities of their most and least probable
    labels, and the latter."""

    where: NDArray[np.int64]
    best: NDArray[np.float64]
    least: NDArray[np.float64]
    unlikely: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Knowledge:
    """Which points are attacked, with which labels, and the best guess everywhere else.

    Parameters
    ----------
    n, m : int
        Examples and classes.
    guess : (n,) int or None
        Best guess without any answer; None where there is nothing to go by and all points are attacked.
    points : (q,) int or None
        The attacked examples; None: all.
    options : (q, R) int or None
        The labels considered at each of them, best first; None: all classes.
    prior : (n, m) float or None
        Probability of each class at each example.
    unlikely : (q,) int or None
        The least probable label at each attacked point; known where `options` are.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.attack import Knowledge
    >>> known = Knowledge(n=4, m=3, guess=np.array([0, 0, 2, 2]), points=np.array([1, 3]))
    >>> known.n_points, known.labels(np.array([1, 0])).tolist()
    (2, [0, 1, 2, 0])
    """

    n: int
    m: int
    guess: NDArray[np.int64] | None = None
    points: NDArray[np.int64] | None = None
    options: NDArray[np.int64] | None = None
    prior: NDArray[Any] | None = None
    unlikely: NDArray[np.int64] | None = None

    @property
    def n_points(self) -> int:
        """How many points are attacked."""
        return self.n if self.points is None else len(self.points)

    @property
    def n_options(self) -> int:
        """How many labels are considered at each."""
        return self.m if self.options is None else self.options.shape[1]

    def labels(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """(n,) labels that name option drawn[i] at attacked point i and the best guess elsewhere.

        Parameters
        ----------
        drawn : (q,) int
            The number of an option at each attacked point.

        Returns
        -------
        (n,) int
            A query.
        """
        named = drawn.astype(np.int64) if self.options is None else self.options[np.arange(self.n_points), drawn]
        return self._elsewhere(named)

    def constant(self) -> NDArray[np.int64]:
        """(n,) labels that are wrong at the attacked points, as far as is known, and the best guess elsewhere.

        Returns
        -------
        (n,) int
            A query.
        """
        assert self.unlikely is not None
        return self._elsewhere(self.unlikely)

    def option_of(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """(q,) number of the true label among the options; -1 where it is none of them.

        Parameters
        ----------
        labels : (n,) int
            The true ones.

        Returns
        -------
        (q,) int
            Numbers of options.
        """
        there = labels if self.points is None else labels[self.points]
        if self.options is None:
            return there.astype(np.int64)
        is_label = self.options == there[:, None]
        return np.where(is_label.any(axis=1), is_label.argmax(axis=1), -1)

    def hits_elsewhere(self, labels: NDArray[Any]) -> int:
        """How many of the points that are not attacked the best guess gets right.

        Parameters
        ----------
        labels : (n,) int
            The true ones.

        Returns
        -------
        int
            0 where all points are attacked.
        """
        if self.points is None or self.guess is None:
            return 0
        right = self.guess == labels
        return int(right.sum() - right[self.points].sum())

    def option_shares(self) -> tuple[float, float]:
        """What the prior says of the attacked points: the share whose label is considered, and of the others, the share
        whose label is the least probable one.

        Returns
        -------
        inside, least : float
            Between 0 and 1.
        """
        assert self.prior is not None
        assert self.options is not None
        assert self.unlikely is not None
        assert self.points is not None
        inside = least = 0.0
        for a in range(0, self.n_points, ROWS):
            rows = np.asarray(self.prior[self.points[a : a + ROWS]], dtype=np.float64)
            rows /= rows.sum(axis=1, keepdims=True)
            inside += float(np.take_along_axis(rows, self.options[a : a + ROWS], axis=1).sum())
            least += float(rows[np.arange(len(rows)), self.unlikely[a : a + ROWS]].sum())
        inside, least = inside / self.n_points, least / self.n_points
        return min(inside, 1.0), (1.0 if inside >= 1 - 1e-9 else min(1.0, least / (1 - inside)))

    def log_prior(self, first: int, last: int) -> NDArray[np.float64]:
        """(last - first, R) log probabilities of the options at attacked points first … last - 1.

        Parameters
        ----------
        first, last : int
            Which attacked points.

        Returns
        -------
        (last - first, R) float
            -inf for a label that is impossible.
        """
        assert self.prior is not None
        rows = np.arange(first, last) if self.points is None else self.points[first:last]
        prior = np.asarray(self.prior[rows], dtype=np.float64)
        prior /= prior.sum(axis=1, keepdims=True)
        if self.options is not None:
            prior = np.take_along_axis(prior, self.options[first:last], axis=1)
        with np.errstate(divide="ignore"):  # a label that is known to be impossible
            return np.asarray(np.log(prior))

    @cached_property
    def surest(self) -> Surest:
        """The examples by how sure the prior is of them."""
        assert self.prior is not None
        best, least = np.empty(self.n), np.empty(self.n)
        unlikely = np.empty(self.n, dtype=np.int64)
        for a in range(0, self.n, ROWS):
            rows = np.asarray(self.prior[a : a + ROWS], dtype=np.float64)
            rows = rows / rows.sum(axis=1, keepdims=True)
            best[a : a + ROWS], least[a : a + ROWS] = rows.max(axis=1), rows.min(axis=1)
            unlikely[a : a + ROWS] = rows.argmin(axis=1)
        order = np.argsort(-best, kind="stable")
        return Surest(order, best[order], least[order], unlikely[order])

    def without(self, left_out: NDArray[np.int64]) -> Knowledge:
        """The same, but these examples are not attacked.

        Parameters
        ----------
        left_out : (r,) int
            Examples.

        Returns
        -------
        Knowledge
            A new one.
        """
        points = np.arange(self.n) if self.points is None else self.points
        kept = np.isin(points, left_out, invert=True)
        return replace(
            self,
            points=points[kept],
            options=None if self.options is None else self.options[kept],
            unlikely=None if self.unlikely is None else self.unlikely[kept],
        )

    def _elsewhere(self, named: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.points is None:
            return named
        assert self.guess is not None
        whole = self.guess.copy()
        whole[self.points] = named
        return whole


def without_prior(n: int, m: int, *, points: int | None = None, rng: np.random.Generator) -> Knowledge:
    """Nothing is known: some points, or all, are attacked with all labels; elsewhere any guess is as good."""
    if points is None or points == n:
        return Knowledge(n=n, m=m)
    return Knowledge(n=n, m=m, guess=rng.integers(0, m, n), points=np.sort(rng.choice(n, points, replace=False)))


def with_prior(
    prior: NDArray[Any], *, top: int | None = None, points: int | None = None, rng: np.random.Generator
) -> Knowledge:
    """Aim by a prior: at the points of lowest confidence, with the labels of highest probability there.

    Parameters
    ----------
    prior : (n, m) float
        Checked by `check_prior`.
    top : int, optional
        R of the paper's last heuristic; all classes by default.
    points : int, optional
        The q points whose most probable label is least probable, ties at random; all by default.
    rng : numpy.random.Generator
        Breaks ties.
    """
    n, m = prior.shape
    restricted = top is not None and top < m
    guess, confidence = np.empty(n, dtype=np.int64), np.empty(n)
    first = np.empty((n, top if restricted and top else 0), dtype=np.int64)
    last = np.empty(n, dtype=np.int64)
    for a in range(0, n, ROWS):
        rows = np.asarray(prior[a : a + ROWS], dtype=np.float64)
        confidence[a : a + ROWS] = rows.max(axis=1)
        untied = _untie(rows, rng)
        guess[a : a + ROWS] = untied.argmax(axis=1)
        if restricted:
            order = np.argsort(-untied, axis=1)
            first[a : a + ROWS], last[a : a + ROWS] = order[:, :top], order[:, -1]
    chosen = None
    if points is not None and points < n:
        shuffled = rng.permutation(n)  # so that equals come in random order
        chosen = np.sort(shuffled[np.argsort(confidence[shuffled], kind="stable")[:points]])
    if not restricted:
        return Knowledge(n=n, m=m, guess=guess, points=chosen, prior=prior)
    attacked = np.arange(n) if chosen is None else chosen
    return Knowledge(
        n=n, m=m, guess=guess, points=attacked, options=first[attacked], prior=prior, unlikely=last[attacked]
    )


def _untie(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The same order, and a random one among equals; numbers that differ by one part in 10^9 count as equal."""
    noise = rng.random(rows.shape)
    return rows * (1 + 1e-9 * noise) + 1e-30 * noise


def check_prior(prior: ArrayLike, n: int | None, m: int | None) -> NDArray[Any]:
    """Probabilities of shape (n, m), or a sentence that says what is wrong with them."""
    try:
        table = np.asanyarray(prior)
    except ValueError as error:
        raise InputError(f"`prior` is no table: {error}.") from error
    if table.ndim != 2 or 0 in table.shape or table.dtype.kind != "f":
        raise InputError(
            f"`prior` has the shape {table.shape} and the type {table.dtype}; probabilities of shape "
            "(examples, classes) are needed."
        )
    if n is not None and table.shape[0] != n:
        raise InputError(f"`prior` is for {table.shape[0]:,} examples, the test set has {n:,}.")
    if m is not None and table.shape[1] != m:
        raise InputError(f"`prior` has {table.shape[1]:,} classes, the test set {m:,}.")
    if table.shape[1] < 2:
        raise InputError("`prior` has one class only; at least 2 are needed.")
    for a in range(0, len(table), ROWS):
        rows = np.asarray(table[a : a + ROWS], dtype=np.float64)
        bad = ~np.isfinite(rows).all(axis=1)
        if bad.any():
            raise InputError(f"`prior` is not a finite number at example {a + int(bad.argmax())}.")
        bad = (rows < 0).any(axis=1)
        if bad.any():
            i = int(bad.argmax())
            raise InputError(
                f"`prior` is negative at example {a + i} ({rows[i].min():g}); probabilities are needed (of logits, "
                "take the softmax first)."
            )
        bad = np.abs(rows.sum(axis=1) - 1) > TOLERANCE
        if bad.any():
            i = int(bad.argmax())
            raise InputError(f"`prior` sums to {rows[i].sum():g} at example {a + i}; probabilities must sum to 1.")
    return table
