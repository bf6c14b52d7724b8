"""A few training pictures as they were perturbed, and where the model went wrong."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.memorization.curve import Curve
from heldout.memorization.result import MemorizationResult
from heldout.pages.memorization.words import finished, name_text, perturbation_text

PICTURE_SIDE = 112  # pixels
MOST = 11  # strengths of a strip
FULL = 4  # perturbations up to which all examples are shown, and that are unfolded
FEW = 2  # examples where there are more
PITCH = 5.35  # rem from one picture to the next, where there is room
PIXELS = 500_000  # on the whole page: as much noise takes 2 MB


def pictures_view(result: MemorizationResult) -> dict[str, Any] | None:
    """One strip an example, of the first model that has pictures of a perturbation; None where nobody has."""
    curves = [
        next((c for c in result.curves if c.perturbation == name and c.exhibits is not None), None)
        for name in finished(result)
    ]
    known = [c for c in curves if c is not None]
    if not known:
        return None
    most = FEW if len(known) > FULL else max(len(c.exhibits.rows) for c in known if c.exhibits is not None)
    total = sum(min(most, len(c.exhibits.rows)) * len(_kept(c)) for c in known if c.exhibits is not None)
    side = min(PICTURE_SIDE, int(math.sqrt(PIXELS / max(1, total))))
    strips = [_strips(c, result.class_names, most, side) for c in known]
    opened = len(strips) if len(strips) <= FULL else FULL // 2
    return {"open": strips[:opened], "folded": strips[opened:]}


def _kept(curve: Curve) -> NDArray[np.intp]:
    """Which strengths are shown: no more than fit, the first and the last among them."""
    p = len(curve.strengths)
    return np.unique(np.linspace(0, p - 1, min(p, MOST)).round().astype(np.intp))


def _strips(curve: Curve, names: tuple[str, ...] | None, most: int, side: int) -> dict[str, Any]:
    shown = curve.exhibits
    assert shown is not None
    kept = _kept(curve)
    examples = np.unique(np.linspace(0, len(shown.rows) - 1, min(most, len(shown.rows))).round().astype(int))
    strips = []
    for k in examples:
        label, row = class_text(int(shown.labels[k]), names), int(shown.rows[k])
        strips.append(
            {
                "label": label,
                "row": f"{row:,}",
                "pictures": [
                    {
                        "src": picture_uri(shown.pictures[k, i], side=side),
                        "strength": f"{curve.strengths[i]:g}",
                        "right": bool(shown.right[k, i]),
                        "alt": f"{label}, example {row}, at strength {curve.strengths[i]:g}: "
                        f"{'right' if shown.right[k, i] else 'wrong'}",
                        "small": max(shown.pictures.shape[2:4]) < PICTURE_SIDE,
                    }
                    for i in kept
                ],
            }
        )
    return {
        "title": perturbation_text(curve.perturbation),
        "model": name_text(curve.model),
        "unit": curve.unit,
        "width": f"{len(kept) * PITCH:.2f}",
        "strips": strips,
    }


def class_text(number: int, names: Sequence[str] | None) -> str:
    """A class by name where it has one.

    Examples
    --------
    >>> class_text(1, ("cat", "dog")), class_text(7, ("cat", "dog")), class_text(0, None)
    ('dog', 'class 7', 'class 0')
    """
    return names[number] if names is not None and 0 <= number < len(names) else f"class {number}"


def picture_uri(pixels: NDArray[np.uint8], *, side: int = PICTURE_SIDE) -> str:
    """A (height, width, channels) picture as a PNG inside a data URI, its longer side never above `side`."""
    from PIL import Image

    array = np.ascontiguousarray(pixels if pixels.ndim == 3 else pixels[:, :, None])
    image = Image.fromarray(array[:, :, :3] if array.shape[2] >= 3 else array[:, :, 0])
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
