"""The few array operations that NumPy and torch call by different names; all else is written once for both.

Values are the same bit for bit on either: comparisons, sums of whole numbers, and single additions and divisions of
float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = Any  # a NumPy array or a torch tensor


class Arrays(Protocol):
    """Where arrays live."""

    def put(self, values: NDArray[Any]) -> Array:
        """An array of this kind with the values of a NumPy array."""
        ...

    def get(self, values: Array) -> NDArray[Any]:
        """A NumPy array with the values of one of this kind."""
        ...

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Of one value: bool, int64 or float64 by the value's own type."""
        ...

    def rows(self, n: int) -> Array:
        """0 to n - 1."""
        ...

    def where(self, condition: Array, yes: Any, no: Any) -> Array:
        """Elementwise choice."""
        ...

    def isnan(self, values: Array) -> Array:
        """Elementwise."""
        ...

    def floor(self, values: Array) -> Array:
        """Elementwise."""
        ...

    def single(self, values: Array) -> Array:
        """As float32."""
        ...

    def whole(self, values: Array) -> Array:
        """As int64, of whole numbers."""
        ...

    def most(self, values: Array) -> Array:
        """The largest of each row."""
        ...

    def least(self, values: Array) -> Array:
        """The smallest of each row."""
        ...

    def count(self, mask: Array) -> Array:
        """How many of each row are true, as float64."""
        ...

    def nonzero(self, mask: Array) -> tuple[Array, ...]:
        """The indices of what is true, in row-major order, one array for each axis."""
        ...

    def concatenate(self, parts: Sequence[Array]) -> Array:
        """One after the other."""
        ...

    def pairs(self, first: Array, second: Array) -> Array:
        """(n, 2) from two arrays (n,)."""
        ...

    def counts(self, places: Array, counted: Array, size: int) -> Array:
        """(size,) how often each place stands where `counted` is true."""
        ...

    def nth_largest(self, values: Array, n: int) -> Array:
        """The n-th largest of each row."""
        ...


class NumpyArrays:
    """In the memory of this process."""

    def put(self, values: NDArray[Any]) -> Array:
        """The array itself."""
        return values

    def get(self, values: Array) -> NDArray[Any]:
        """The array itself."""
        return np.asarray(values)

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Of one value."""
        return np.full(shape, value)

    def rows(self, n: int) -> Array:
        """0 to n - 1."""
        return np.arange(n)

    def where(self, condition: Array, yes: Any, no: Any) -> Array:
        """Elementwise choice."""
        return np.where(condition, yes, no)

    def isnan(self, values: Array) -> Array:
        """Elementwise."""
        return np.isnan(values)

    def floor(self, values: Array) -> Array:
        """Elementwise."""
        return np.floor(values)

    def single(self, values: Array) -> Array:
        """As float32."""
        return values.astype(np.float32)

    def whole(self, values: Array) -> Array:
        """As int64."""
        return values.astype(np.int64)

    def most(self, values: Array) -> Array:
        """The largest of each row."""
        return values.max(axis=-1)

    def least(self, values: Array) -> Array:
        """The smallest of each row."""
        return values.min(axis=-1)

    def count(self, mask: Array) -> Array:
        """How many of each row are true."""
        return mask.sum(axis=-1, dtype=np.float64)

    def nonzero(self, mask: Array) -> tuple[Array, ...]:
        """The indices of what is true."""
        return np.nonzero(mask)

    def concatenate(self, parts: Sequence[Array]) -> Array:
        """One after the other."""
        return np.concatenate(parts)

    def pairs(self, first: Array, second: Array) -> Array:
        """Side by side."""
        return np.stack([first, second], axis=1)

    def counts(self, places: Array, counted: Array, size: int) -> Array:
        """How often each place is counted."""
        return np.bincount(places.reshape(-1).compress(counted.reshape(-1)), minlength=size)

    def nth_largest(self, values: Array, n: int) -> Array:
        """The n-th largest of each row."""
        return np.partition(values, -n, axis=-1)[..., -n]


class TorchArrays:
    """On a torch device, "cpu" among them.

    Parameters
    ----------
    device : torch.device
        One that has float64.
    """

    def __init__(self, device: Any) -> None:
        import torch

        self._torch, self._device = torch, device
        self._types = {bool: torch.bool, int: torch.int64, float: torch.float64}

    def put(self, values: NDArray[Any]) -> Array:
        """A copy on the device."""
        return self._torch.as_tensor(values, device=self._device)

    def get(self, values: Array) -> NDArray[Any]:
        """A copy in the memory of this process."""
        return np.asarray(values.cpu().numpy())

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Of one value."""
        return self._torch.full(shape, value, dtype=self._types[type(value)], device=self._device)

    def rows(self, n: int) -> Array:
        """0 to n - 1."""
        return self._torch.arange(n, device=self._device)

    def where(self, condition: Array, yes: Any, no: Any) -> Array:
        """Elementwise choice."""
        return self._torch.where(condition, yes, no)

    def isnan(self, values: Array) -> Array:
        """Elementwise."""
        return self._torch.isnan(values)

    def floor(self, values: Array) -> Array:
        """Elementwise."""
        return values.floor()

    def single(self, values: Array) -> Array:
        """As float32."""
        return values.to(self._torch.float32)

    def whole(self, values: Array) -> Array:
        """As int64."""
        return values.to(self._torch.int64)

    def most(self, values: Array) -> Array:
        """The largest of each row."""
        return values.amax(-1)

    def least(self, values: Array) -> Array:
        """The smallest of each row."""
        return values.amin(-1)

    def count(self, mask: Array) -> Array:
        """How many of each row are true."""
        return mask.sum(-1, dtype=self._torch.float64)

    def nonzero(self, mask: Array) -> tuple[Array, ...]:
        """The indices of what is true."""
        found: tuple[Array, ...] = self._torch.nonzero(mask, as_tuple=True)
        return found

    def concatenate(self, parts: Sequence[Array]) -> Array:
        """One after the other."""
        return self._torch.cat(tuple(parts))

    def pairs(self, first: Array, second: Array) -> Array:
        """Side by side."""
        return self._torch.stack([first, second], dim=1)

    def counts(self, places: Array, counted: Array, size: int) -> Array:
        """How often each place is counted; without a look at the mask, for which the device would have to stop."""
        out = self._torch.zeros(size, dtype=self._torch.int64, device=self._device)
        return out.scatter_add_(0, places.reshape(-1), counted.reshape(-1).to(self._torch.int64))

    def nth_largest(self, values: Array, n: int) -> Array:
        """The n-th largest of each row."""
        return values.topk(n, dim=-1).values[..., -1]
