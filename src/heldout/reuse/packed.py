"""Which answers are wrong, one bit an answer: 10,000 models x 100,000 examples are 125 MB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.predictions import Predictions
from heldout.predictions.load import as_table
from heldout.predictions.values import read_names

Bits = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedLosses:
    """The 0/1 losses of k models on n examples, eight to a byte.

    Parameters
    ----------
    names : tuple of str
        One name a model.
    n_examples : int
        How many examples a row holds; the bits that fill up its last byte are 0.
    wrong : (k, ceil(n / 8)) uint8
        Bits of the wrong answers, as `numpy.packbits` lays them out; 0 where an answer is missing.
    observed : (k, ceil(n / 8)) uint8 or None
        Bits of the answers that are there; None if nothing is missing.

    Examples
    --------
    >>> losses = PackedLosses.from_blocks([[[True, True, False]], [[False, True, False]]], n_examples=3)
    >>> losses.n_models, losses.n_examples
    (2, 3)
    """

    names: tuple[str, ...]
    n_examples: int
    wrong: Bits
    observed: Bits | None = None

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return len(self.wrong)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[ArrayLike | tuple[ArrayLike, ArrayLike]],
        *,
        n_examples: int,
        names: Sequence[str] | None = None,
    ) -> PackedLosses:
        """Pack blocks of models one after the other, so that the whole matrix never exists unpacked.

        Parameters
        ----------
        blocks : iterable
            Each block is a (rows, n_examples) matrix of right answers, or a pair of such a matrix and one that
            says which answers are there. Masked cells are not there.
        n_examples : int
            How many examples each block has.
        names : sequence of str, optional
            One name a model; model 0, model 1 and so on by default.
        """
        full = np.packbits(np.ones(max(n_examples, 0), np.bool_))  # also clears the bits that fill up the last byte
        wrong: list[Bits] = []
        observed: list[Bits] = []
        missing = False
        for block in blocks:
            correct, there = block if isinstance(block, tuple) else (block, None)
            right = _pack(correct, "correct", n_examples)
            mask = np.broadcast_to(full, right.shape) if there is None else _pack(there, "observed", n_examples)
            if len(mask) != len(right):
                raise InputError(
                    f"`observed` has {len(mask)} models but `correct` has {len(right)}; both need the same."
                )
            if np.ma.is_masked(correct):
                mask = mask & np.packbits(~np.ma.getmaskarray(correct), axis=1)
            wrong.append(np.bitwise_and(np.invert(right, out=right), mask, out=right))
            observed.append(mask)
            missing = missing or not (mask == full).all()
        k = sum(map(len, wrong))
        if not k:
            raise InputError("there is no model in the pool; give at least one row of right and wrong answers.")
        return cls(
            names=read_names(names, k),
            n_examples=n_examples,
            wrong=np.concatenate(wrong),
            observed=np.concatenate(observed) if missing else None,
        )

    @classmethod
    def of(cls, predictions: Predictions | PackedLosses | ArrayLike) -> PackedLosses:
        """Pack whatever says which answers are right: predictions, or a (k, n) matrix."""
        if isinstance(predictions, PackedLosses):
            return predictions
        table = as_table(predictions, "correct")
        block = table.correct if table.observed is None else (table.correct, table.observed)
        return cls.from_blocks([block], n_examples=table.n_examples, names=table.names)


def _pack(values: ArrayLike, name: str, n: int) -> Bits:
    """Bits of a block; what stands under a mask does not matter, since the mask is packed too."""
    table = np.ma.filled(values, 0) if np.ma.is_masked(values) else np.asarray(values)
    if n < 1 or table.ndim != 2 or table.shape[1] != n:
        raise InputError(
            f"`{name}` has shape {table.shape}; it must be (n_models, {n:,}), one column an example and at least one."
        )
    if table.dtype != np.bool_ and (table.dtype.kind not in "iuf" or not ((table == 0) | (table == 1)).all()):
        raise InputError(
            f"`{name}` must hold True and False (or 1 and 0) only; turn answers and labels into right and wrong "
            "with heldout.Predictions, which also takes missing cells."
        )
    return np.packbits(table.astype(np.bool_, copy=False), axis=1)
