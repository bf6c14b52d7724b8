"""Pictures that are there more than once, found by a hash of their pixels whatever their order and names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.groups import Codes
from heldout.images.oddities import Oddities
from heldout.images.sources import ImageSource
from heldout.orbit.square import IDENTITY, acted
from heldout.progress import plain_bar

NAMED = 3  # pairs that a message names
PART = 64  # pictures that are read between two looks at the clock


def pixel_hashes(
    source: ImageSource,
    rows: NDArray[np.intp] | Sequence[int],
    *,
    label: str = "pictures",
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    elements: Sequence[int] = (IDENTITY,),
) -> tuple[list[bytes], Oddities]:
    """A hash of each picture's size and raw pixels, before any frame or scale.

    Equal for pictures that are equal pixel by pixel, also where their files are not: a PNG and its copy under another
    name or compression, or uint8 and the same numbers as float32. A picture that was compressed anew with loss, or
    resized, has other pixels and another hash.
    With `elements` of a group of `heldout.orbit.square` all views of a picture have one hash. What files hold besides
    pixels, which enters no hash, is counted on the way.
    """
    look = getattr(source, "look", None) or (lambda row: (source.read(row), 0))

    def hashed(picture: NDArray[Any]) -> bytes:
        if picture.dtype != np.uint8:
            with np.errstate(invalid="ignore"):  # NaN has no number; such a picture is refused when it is shown
                counts = picture.astype(np.uint8)
            picture = counts if np.array_equal(counts, picture) else picture
        h = hashlib.blake2b(repr((picture.shape, str(picture.dtype))).encode(), digest_size=16)
        h.update(np.ascontiguousarray(picture).data)
        return h.digest()

    def read(start: int, stop: int) -> dict[str, NDArray[np.uint8]]:
        found, marks = b"", []
        for row in rows[start:stop]:
            picture, mark = look(int(row))
            marks.append(mark)
            found += min(hashed(acted(picture, element, axes=(0, 1))) for element in elements)
        hashes = np.frombuffer(found, dtype=np.uint8).reshape(-1, 16)
        return {"hashes": hashes, "marks": np.array(marks, dtype=np.uint8)}

    kept = checkpoint or Checkpoint(None, {}, of="search")
    with plain_bar(len(rows), f"{label}: looking for duplicates", unit="pictures", shown=progress) as bar:
        done = kept.rows(len(rows), PART, read, bar=bar)
    marks = done.get("marks", np.zeros(len(rows), dtype=np.uint8))  # older checkpoints have none
    return [h.tobytes() for h in done.get("hashes", ())], Oddities.of(marks)


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
