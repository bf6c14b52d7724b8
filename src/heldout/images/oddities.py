"""What files hold beyond the pixels that a model sees: an orientation, transparency, further pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

TURNED, TRANSPARENT, PAGES = 1, 2, 4
ORIENTATION = 274  # the EXIF tag, 1 for a picture that is stored upright


@dataclass(frozen=True)
class Oddities:
    """How many pictures of a set are not shown as a viewer shows their files.

    Examples
    --------
    >>> Oddities.of(np.array([TURNED, TURNED | TRANSPARENT, 0], dtype=np.uint8)).sentences("the control")
    ('2 of 3 pictures of the control have an EXIF orientation, and are taken as stored, not turned upright.', \
'1 of 3 pictures of the control is transparent in places, which is dropped: what is shown is the colour beneath.')
    """

    n: int = 0
    turned: int = 0
    transparent: int = 0
    pages: int = 0

    @classmethod
    def of(cls, marks: NDArray[np.uint8]) -> Oddities:
        """Count the marks of pictures."""
        return cls(len(marks), *(int(np.count_nonzero(marks & mark)) for mark in (TURNED, TRANSPARENT, PAGES)))

    def sentences(self, of: str) -> tuple[str, ...]:
        """What is said of a set; nothing where its files hold nothing else."""
        found = (
            (self.turned, ("has an EXIF orientation, and is", "have an EXIF orientation, and are"),
             " taken as stored, not turned upright."),
            (self.transparent, ("is", "are"),
             " transparent in places, which is dropped: what is shown is the colour beneath."),
            (self.pages, ("holds", "hold"), " several pages or frames, of which the first is taken."),
        )  # fmt: skip
        return tuple(
            f"{count:,} of {self.n:,} pictures of {of} {verbs[count > 1]}{then}"
            for count, verbs, then in found
            if count
        )


def marks_of(image: Image.Image, *, pages: bool) -> int:
    """What a decoded picture file holds besides; of TIFFs Pillow has applied the orientation, and taken it out."""
    found = PAGES * pages
    if image.getexif().get(ORIENTATION, 1) != 1:
        found |= TURNED
    if "transparency" in image.info:
        image = image.convert("RGBA")
    if "A" in image.getbands() and image.mode != "LAB":  # whose A is a colour
        least, _ = image.getchannel("A").getextrema()
        if isinstance(least, (int, float)) and least < 255:
            found |= TRANSPARENT
    return found
