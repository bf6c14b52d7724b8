"""Pictures to look at: the same one before and after its move, with what the model says of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.images import LabelledImages
from heldout.independence.evidence import Examples
from heldout.independence.leak import LeakEvidence
from heldout.independence.result import Exhibit, LooksSeen, SeenPicture
from heldout.orbit import Rule
from heldout.orbit.named import PictureOrbit
from heldout.orbit.square import IDENTITY
from heldout.scorers import Scorer
from heldout.scorers.canvases import window
from heldout.scorers.showing import showing_for

N_EXHIBITS = 12
MOST_SEEN, FEW_SEEN = 24, 6  # pictures shown that look seen; the most suspicious where none can be listed


def most_telling_exhibits(
    examples: Examples,
    images: LabelledImages,
    rows: NDArray[np.intp],
    scorer: Scorer,
    *,
    orbit: PictureOrbit,
    rule: Rule,
    batch_size: int,
) -> tuple[Exhibit, ...]:
    """The most telling pictures before and after their move, scored once more for their predictions."""
    if rule in ("random", "random2"):
        return ()  # no single move was chosen
    telling = examples.most_telling(N_EXHIBITS)
    reach, size = orbit.radius, batch_size
    windows = []
    for i in telling:
        *element, down, right = examples.moves[0, i].tolist()  # views have a number before their shift
        if orbit.is_group:
            windows += [images.place(int(rows[i]), 0, view) for view in (IDENTITY, *element)]
            continue
        pixels = images.place(int(rows[i]), reach)
        windows += [window(pixels, reach, 0, 0, True), window(pixels, reach, down, right, True, *element)]
    raw = [_as_bytes(pixels) for pixels in windows]
    showing, predicted = showing_for(scorer, images, batch_size=size), list[int]()
    for start in range(0, len(windows), size):
        here = np.stack(windows[start : start + size])
        logits = showing.logits(showing.put(here, counts=here.dtype == np.uint8))[: len(here)]
        predicted += [int(c) for c in np.argmax(logits, axis=1)]
    return tuple(
        Exhibit(
            id=examples.ids[i],
            label=int(examples.labels[i]),
            predicted=predicted[2 * k],
            moved_predicted=predicted[2 * k + 1],
            move=tuple(examples.moves[0, i].tolist()),
            weight=float(examples.weights[0, i]),
            original=raw[2 * k],
            moved=raw[2 * k + 1],
        )
        for k, i in enumerate(telling)
    )


def look_seen(leak: LeakEvidence, examples: Examples) -> tuple[LooksSeen, ...]:
    """Every test picture that is listed as seen, most suspicious first."""
    return tuple(LooksSeen(**_told(i, leak, examples)) for i in leak.seen.listed)


def most_suspicious(
    leak: LeakEvidence, examples: Examples, images: LabelledImages, rows: NDArray[np.intp]
) -> tuple[SeenPicture, ...]:
    """The first of them with their pictures; a few that are not significant where none is listed."""
    shown = leak.seen.order[: min(leak.seen.n_listed, MOST_SEEN) or FEW_SEEN]
    return tuple(
        SeenPicture(**_told(i, leak, examples), picture=_as_bytes(images.place(int(rows[i]), 0)))
        for i in shown
        if not np.isnan(leak.seen.p_values[i])
    )


def _told(i: int, leak: LeakEvidence, examples: Examples) -> dict[str, Any]:
    return {
        "id": examples.ids[i],
        "label": int(examples.labels[i]),
        "margin": float(leak.scores.scores[i]),
        "expected": float(leak.scores.expected[i]),
        "p_value": float(leak.seen.p_values[i]),
    }


def _as_bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels to look at: floats are stretched to their own range."""
    if pixels.dtype == np.uint8:
        return np.array(pixels)
    low, high = float(pixels.min()), float(pixels.max())
    return np.asarray(255 * (pixels - low) / (high - low or 1.0)).astype(np.uint8)
