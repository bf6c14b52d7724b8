"""Pictures that are there more than once, found by a hash of their pixels whatever their order and names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heldout.groups import Codes
from heldout.images.sources import ImageSource
from heldout.progress import plain_bar

NAMED = 3  # pairs that a message names


def pixel_hashes(
    source: ImageSource, rows: NDArray[np.intp] | Sequence[int], *, label: str = "pictures", progress: bool = False
) -> list[bytes]:
    """A hash of each picture's size and raw pixels, before any frame or scale.

    Equal for pictures that are equal pixel by pixel, also where their files are not: a PNG and its copy under another
    name or compression. A picture that was compressed anew with loss, or resized, has other pixels and another hash.
    """
    hashes = []
    with plain_bar(len(rows), f"{label}: looking for duplicates", unit="pictures", shown=progress) as bar:
        for row in rows:
            picture = np.ascontiguousarray(source.read(int(row)))
            h = hashlib.blake2b(repr((picture.shape, str(picture.dtype))).encode(), digest_size=16)
            h.update(picture.data)
            hashes.append(h.digest())
            bar.update(1)
    return hashes


def duplicate_codes(hashes: Sequence[bytes]) -> Codes:
    """The group of each picture where equal pictures are one group.

    Examples
    --------
    >>> duplicate_codes([b"x", b"y", b"x"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(h, len(numbers)) for h in hashes], dtype=np.intp)


def in_both(first: Sequence[bytes], second: Sequence[bytes]) -> list[tuple[int, int]]:
    """Positions of equal pictures of two sets: one pair for each of the second set's that the first holds.

    Examples
    --------
    >>> in_both([b"x", b"y"], [b"z", b"y", b"y"])
    [(1, 1), (1, 2)]
    """
    places = {h: i for i, h in reversed(list(enumerate(first)))}
    return [(places[h], j) for j, h in enumerate(second) if h in places]
