"""`Scores`: one number for each example, from any model on any data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.predictions.fields import ARRAYS
from heldout.predictions.item_columns import as_column
from heldout.predictions.score_kinds import (
    BY_KIND,
    CORRECT,
    MARGIN,
    SURE,
    contradiction,
    is_better,
    kind_of,
)
from heldout.predictions.values import as_text, is_gap, listing, read_ids

LARGEST = 1e70  # of a score: the fourth power of a difference must be a number too


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """One score for each of n examples: right or wrong, a loss, a log-likelihood, a margin.

    Made by `load_scores`, or from arrays.

    Attributes
    ----------
    values : (n,) float64
        As they came; `turned` is the same with larger better.
    kind : str
        "margin", "log_likelihood", "probability", "correct"; "loss", "perplexity", "error"; or a name of your own.
    larger_is_better : bool or None
        Told by the kind, where it is one of these; else it must be given.
    ids : tuple of str, or None
        The n examples, no two alike.
    classes : (n,) or None
        Strata: examples are compared within them.
    correct : (n,) bool or None
        Whether the prediction was right, where that is known beside the score.
    n_options : (n,) or None
        Options to choose from, where that is known: a guess is right once in so many times.
    columns : dict of str to (n,) array
        What else is known of each example.
    source, name : str
        What was read; the model's name, or the file's.

    Examples
    --------
    >>> from heldout import Scores
    >>> scores = Scores(values=[0.1, 2.5], kind="loss", ids=["a", "b"])
    >>> print(scores)
    2 examples, loss, larger is worse (arrays)
    >>> scores.turned.tolist(), scores.pick(["b"]).values.tolist()
    ([-0.1, -2.5], [2.5])
    """

    values: NDArray[np.float64]
    kind: str
    larger_is_better: bool | None = None
    ids: tuple[str, ...] | None = None
    classes: NDArray[Any] | None = None
    correct: NDArray[np.bool_] | None = None
    n_options: NDArray[np.float64] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    source: str = ARRAYS
    name: str = ""

    def __post_init__(self) -> None:
        given: Any = self.values
        if np.iscomplexobj(given):
            raise InputError(f"{self.source}: the scores are complex; give real numbers, such as their logarithms.")
        if np.ma.is_masked(given):
            hidden, all_of_them = int(np.ma.getmaskarray(given).sum()), np.size(given)
            raise InputError(
                f"{self.source}: {hidden:,} of {all_of_them:,} scores are masked; leave these examples out "
                "of all arrays."
            )
        try:
            values = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{self.source}: the scores are not numbers.") from None
        if values.ndim != 1 or len(values) == 0:
            raise InputError(
                f"{self.source}: the scores have the shape {values.shape}; one for each example is needed."
            )
        n = len(values)
        if self.ids is not None:
            ids = tuple(as_text(name).strip() for name in self.ids)
            object.__setattr__(self, "ids", read_ids(ids, n, source=self.source))
        broken = np.flatnonzero(~np.isfinite(values))
        if len(broken):
            raise no_number(len(broken), n, self._label(int(broken[0])), values[broken[0]], self.source)
        if np.abs(values).max() > LARGEST:
            raise InputError(f"{self.source}: scores go up to {np.abs(values).max():.1e}; give them on another scale.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "larger_is_better", self._direction(values))
        object.__setattr__(self, "kind", kind_of(self.kind, values))
        for field_name in ("classes", "correct", "n_options"):
            given = getattr(self, field_name)
            if given is not None:
                object.__setattr__(self, field_name, np.asarray(as_column(given, n, field_name)))
        if self.classes is not None:
            object.__setattr__(self, "classes", self._class_of_each(self.classes))
        object.__setattr__(self, "columns", {key: as_column(v, n, key) for key, v in self.columns.items()})

    def _class_of_each(self, classes: NDArray[Any]) -> NDArray[Any]:
        """One for each example, all of one type, so that they can be put in order."""
        gaps = [i for i, name in enumerate(classes.tolist()) if is_gap(name)]
        if gaps:
            raise InputError(
                f"{self.source}: {len(gaps):,} of {len(classes):,} examples have no class, the first is "
                f"{self._label(gaps[0])}; give each one its class, or leave these examples out."
            )
        if len(set(map(type, classes.tolist()))) > 1:
            return np.array([as_text(name) for name in classes.tolist()])
        return classes

    def _direction(self, values: NDArray[np.float64]) -> bool:
        """As given, unless the name says otherwise beyond doubt; else as the name says."""
        name: Any = self.kind
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{self.source}: `kind` is {name!r}; it must be a name, such as 'margin' or 'loss'.")
        kind = kind_of(name, values)
        better = self.larger_is_better
        if better is None:
            return is_better(kind, None, values, name=self.kind, source=self.source)
        if not isinstance(better, (bool, np.bool_)):
            raise InputError(f"{self.source}: `larger_is_better` is {better!r}; it can be True or False.")
        if kind in SURE and bool(better) != BY_KIND[kind]:
            raise contradiction(kind, name=self.kind, source=self.source)
        return bool(better)

    def _label(self, i: int) -> str:
        return f"at position {i}" if self.ids is None else repr(self.ids[i])

    def __len__(self) -> int:
        return len(self.values)

    @property
    def turned(self) -> NDArray[np.float64]:
        """The scores with larger better: losses come out negative."""
        return self.values if self.larger_is_better else -self.values

    @property
    def is_right(self) -> NDArray[np.bool_] | None:
        """Which predictions are right, where the scores tell; None where they do not."""
        if self.correct is not None:
            return self.correct
        if self.kind in (CORRECT, "error") and np.isin(self.values, (0.0, 1.0)).all():
            return np.asarray(self.values == (1.0 if self.larger_is_better else 0.0))
        if self.kind == MARGIN and self.n_options is not None and (self.n_options == 2).all():
            return np.asarray(self.turned > 0.0)
        return None

    def take(self, rows: NDArray[np.intp]) -> Scores:
        """Some of the examples, by position.

        Parameters
        ----------
        rows : (r,) int
            Positions.

        Returns
        -------
        Scores
            In this order.
        """

        def part(values: NDArray[Any] | None) -> NDArray[Any] | None:
            return None if values is None else values[rows]

        return replace(
            self,
            values=self.values[rows],
            ids=None if self.ids is None else tuple(self.ids[i] for i in rows.tolist()),
            classes=part(self.classes),
            correct=part(self.correct),
            n_options=part(self.n_options),
            columns={key: column[rows] for key, column in self.columns.items()},
        )

    def pick(self, ids: Sequence[str]) -> Scores:
        """The examples with these ids, in this order; all of them must be there.

        Parameters
        ----------
        ids : sequence of str
            Ids that must be there.

        Returns
        -------
        Scores
            In this order.
        """
        if self.ids is None:
            raise InputError(f"{self.source} has no ids to join on; name the examples in a column `id`.")
        place = {name: i for i, name in enumerate(self.ids)}
        lacking = [name for name in ids if name not in place]
        if lacking:
            raise InputError(
                f"{self.source} has no score for {len(lacking):,} of {len(ids):,} examples, the first {lacking[0]!r} "
                f"(its own ids are such as {self.ids[0]!r}); give the same examples everywhere."
            )
        return self.take(np.array([place[name] for name in ids], dtype=np.intp))

    def split(self, ids: Iterable[str]) -> tuple[Scores, Scores]:
        """Two parts, the examples without and with these ids: a test set and a control out of one benchmark.

        Parameters
        ----------
        ids : iterable of str
            Of the control.

        Returns
        -------
        test, control : Scores
            In the order there was.

        Examples
        --------
        >>> from heldout import Scores
        >>> test, control = Scores(values=[1.0, 2.0, 3.0], kind="margin", ids=["a", "b", "c"]).split(["b"])
        >>> test.ids, control.ids
        (('a', 'c'), ('b',))
        """
        chosen = {as_text(name).strip() for name in ids}
        if self.ids is None:
            raise InputError(f"{self.source} has no ids to pick a control by; name the examples in a column `id`.")
        unknown = sorted(chosen - set(self.ids))
        if unknown:
            raise InputError(
                f"{len(unknown):,} of the control's {len(chosen):,} ids {'is' if len(unknown) == 1 else 'are'} not in "
                f"{self.source}, such as {listing(unknown)}; its own are such as {self.ids[0]!r}."
            )
        there = np.array([name in chosen for name in self.ids])
        if there.all() or not there.any():
            left = "test set" if there.all() else "control"
            raise InputError(
                f"the control's ids name {'every' if there.all() else 'no'} example of {self.source}, so that no "
                f"{left} is left."
            )
        return self.take(np.flatnonzero(~there)), self.take(np.flatnonzero(there))

    def digest(self) -> str:
        """Hash (sha256, hex) of the scores and their ids.

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        h = hashlib.sha256(repr((self.kind, self.larger_is_better, self.ids)).encode())
        h.update(np.ascontiguousarray(self.values).data)
        return h.hexdigest()

    def __str__(self) -> str:
        side = "better" if self.larger_is_better else "worse"
        return f"{len(self):,} examples, {self.kind}, larger is {side} ({self.source})"


def no_number(count: int, n: int, first: str, value: Any, source: str) -> InputError:
    """What to say of scores that are no numbers."""
    return InputError(
        f"{source}: {count:,} of {n:,} scores {'is' if count == 1 else 'are'} not a finite number, the first that of "
        f"the example {first} ({value}); leave such examples out of every file."
    )
