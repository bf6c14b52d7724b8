"""A corruption as a perturbation whose strengths are severities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.memorization.perturb.base import Perturbation, Pictures, View
from heldout.scorers import Scorer

SEVERITIES = (0, 1, 2, 3, 4, 5)


class Corruption(Perturbation):
    """One of the fifteen; each picture draws for itself, alike at every severity."""

    unit = "severity"
    even = False  # severities were set by eye, one corruption at a time

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, scorer: Scorer, strengths: NDArray[np.float64]) -> None:
        """Severities are whole numbers up to 5."""
        if not np.isin(strengths, SEVERITIES).all():
            given = ", ".join(f"{s:g}" for s in strengths)
            raise InputError(f"the severities of {self.name} are 0, 1, 2, 3, 4, 5; {given} were asked for.")

    def perturbed(self, view: View, strength: float) -> Pictures:
        """Corrupted in 256 grey levels, as the published sets are."""
        from heldout.memorization.perturb.corruptions import corrupt

        levels = np.rint((view.pixels - view.low) / view.unit).astype(np.uint8)
        out = np.stack(
            [
                corrupt(picture, self.name, int(strength), rng=rng)
                for picture, rng in zip(levels, view.generators(self.name), strict=True)
            ]
        )
        if view.counts and (view.low, view.high) == (0.0, 255.0):
            return out  # grey levels are the pixels themselves
        return np.asarray(view.low + out.astype(np.float32) * np.float32(view.unit), dtype=np.float32)
