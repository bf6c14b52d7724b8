"""The fast gradient sign method (8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.memorization.perturb.base import Perturbation, Pictures, View
from heldout.scorers import Scorer
from heldout.scorers.batches import gradient_batch


def fgsm(
    scorer: Any, batch: NDArray[np.float32], labels: NDArray[Any], strength: float, *, low: float, high: float
) -> NDArray[np.float32]:
    """x + ε sign(∇_x L(x, y)), the gradient at the true label (8), cut to the declared range.

    Parameters
    ----------
    scorer : object with `input_gradient(batch, labels)`
        A torch scorer; others have no gradients.
    batch : float32
        As the scorer takes it.
    """
    check_gradients(scorer)
    step = np.sign(scorer.input_gradient(batch, labels))
    return np.asarray(np.clip(batch + np.float32(strength) * step, low, high), np.float32)


def check_gradients(scorer: Any) -> None:
    """InputError for a model that has no gradients."""
    if not hasattr(scorer, "input_gradient"):
        raise InputError(
            f"FGSM needs gradients, which {getattr(scorer, 'name', type(scorer).__name__)} has none of; give a torch "
            "module, or choose a perturbation that only looks at the outputs (spatial, gaussian)."
        )


class Fgsm(Perturbation):
    """Raw pixels go where the loss grows: a positive scale and std do not change the sign of a gradient."""

    name = "fgsm"
    unit = "step of each pixel, in 1/255 of the pixel range"

    def check(self, scorer: Scorer, strengths: NDArray[np.float64]) -> None:
        """Only models with gradients."""
        check_gradients(scorer)

    def perturbed(self, view: View, strength: float) -> Pictures:
        """One step of this size; its direction is the same at every strength."""
        if self.name not in view.kept:
            view.kept[self.name] = self._direction(view)
        step = np.float32(strength * view.unit) * view.kept[self.name]
        return np.asarray(np.clip(view.pixels + step, view.low, view.high), np.float32)

    def _direction(self, view: View) -> NDArray[np.float32]:
        signs = []
        for start in range(0, len(view), view.batch_size):
            part = slice(start, start + view.batch_size)
            gradient = gradient_batch(view.scorer, view.inputs(view.pixels[part]), view.labels[part])
            signs.append(np.sign(gradient))
        sign = np.concatenate(signs)
        if view.scorer.layout == "nchw":
            sign = sign.transpose(0, 2, 3, 1)
        if view.images.bgr:
            sign = sign[..., ::-1]
        return np.asarray(sign if (view.images.scale or 1.0) > 0 else -sign, dtype=np.float32)
