"""The most telling pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.independence.result import AuditResult, Exhibit
from heldout.pages.numbers import fixed

PICTURE_SIDE = 112  # pixels; bounds the page: 24 pictures of noise take 1.2 MB
FIRST_EXHIBITS = 6


def exhibits_view(result: AuditResult) -> dict[str, Any]:
    """The pictures that were right and became wrong, or why there are none."""
    if not result.exhibits:
        why = (
            f"the rule “{result.rule}” averages over moves and chooses none"
            if result.rule in ("random", "random2")
            else "no picture that was right became wrong when moved"
        )
    else:
        why = ""
    items = [_exhibit(x, result.class_names) for x in result.exhibits]
    return {
        "first": items[:FIRST_EXHIBITS],
        "more": items[FIRST_EXHIBITS:],
        "why_none": why,
        "model": result.model_names[0] if result.n_models > 1 else None,
    }


def _exhibit(exhibit: Exhibit, names: tuple[str, ...] | None) -> dict[str, Any]:
    label = class_text(exhibit.label, names)
    before, after = class_text(exhibit.predicted, names), class_text(exhibit.moved_predicted, names)
    move = move_text(exhibit.move)
    return {
        "id": exhibit.id,
        "label": label,
        "before": before,
        "after": after,
        "move": move,
        "weight": fixed(exhibit.weight, 3),
        "original": picture_uri(exhibit.original),
        "moved": picture_uri(exhibit.moved),
        "small": max(exhibit.original.shape[:2]) < PICTURE_SIDE,
    }


def class_text(number: int, names: Sequence[str] | None) -> str:
    """A class by name where it has one.

    Examples
    --------
    >>> class_text(1, ("cat", "dog")), class_text(7, ("cat", "dog")), class_text(0, None)
    ('dog', 'class 7', 'class 0')
    """
    return names[number] if names is not None and 0 <= number < len(names) else f"class {number}"


def move_text(move: tuple[int, int]) -> str:
    """A move (down, right) in words.

    Examples
    --------
    >>> move_text((3, 1)), move_text((-2, 0)), move_text((0, -1)), move_text((0, 0))
    ('3 down, 1 right', '2 up', '1 left', 'not moved')
    """
    down, right = move
    words = [f"{abs(down)} {'down' if down > 0 else 'up'}"] if down else []
    words += [f"{abs(right)} {'right' if right > 0 else 'left'}"] if right else []
    return ", ".join(words) or "not moved"


def picture_uri(pixels: NDArray[np.uint8], *, side: int = PICTURE_SIDE) -> str:
    """A (height, width, channels) picture as a PNG inside a data URI, its longer side never above `side`."""
    from PIL import Image

    array = np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[:, :, None])
    image = Image.fromarray(array[:, :, :3] if array.shape[2] >= 3 else array[:, :, 0])
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
