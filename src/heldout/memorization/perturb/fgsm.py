"""The fast gradient sign method (8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError


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
    gradient = getattr(scorer, "input_gradient", None)
    if gradient is None:
        raise InputError(
            f"FGSM needs gradients, which {getattr(scorer, 'name', type(scorer).__name__)} has none of; give a torch "
            "module, or choose a perturbation that only looks at the outputs (spatial, gaussian)."
        )
    return np.asarray(np.clip(batch + np.float32(strength) * np.sign(gradient(batch, labels)), low, high), np.float32)
