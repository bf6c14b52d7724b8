"""Some pictures of a set, on their way to another machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.images.labelled import LabelledImages
from heldout.images.sources import ImageSource, Part


class Piece(Part):
    """Some pictures of another source: pickled, it holds them and nothing else.

    They are read when it is pickled, so that no more of them are in memory than are on their way.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        packed: Any = self.whole
        return _itself, (packed.packed(self.rows),)


def _itself(source: ImageSource) -> ImageSource:
    return source


def piece_of(images: LabelledImages, rows: NDArray[np.intp]) -> LabelledImages | None:
    """Some pictures that can go elsewhere by themselves; None where the set can only go whole, as a user's own does."""
    source: Any = images.source
    while isinstance(source, Part):
        source, rows = source.whole, source.rows[rows]
    return replace(images, source=Piece(source, rows), groups=None) if hasattr(source, "packed") else None
