"""From what a user writes to a perturbation."""

from __future__ import annotations

from typing import Any

from heldout.errors import InputError
from heldout.memorization.perturb.base import Custom, Perturbation
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.perturb.corruptions.perturbation import SEVERITIES, Corruption
from heldout.memorization.perturb.fgsm import Fgsm
from heldout.memorization.perturb.gaussian import Gaussian
from heldout.memorization.perturb.spatial import RandomSpatial, Spatial

OWN: dict[str, type[Perturbation]] = {kind.name: kind for kind in (Spatial, RandomSpatial, Gaussian, Fgsm)}
PERTURBATIONS = (*OWN, *CORRUPTIONS)


def as_perturbation(given: Any) -> Perturbation:
    """A perturbation from its name, from itself, or from a function of (pictures, strength, generator).

    Examples
    --------
    >>> as_perturbation("spatial").name, as_perturbation("fog").unit
    ('spatial', 'severity')
    """
    if isinstance(given, Perturbation):
        return given
    if isinstance(given, str):
        if given in OWN:
            return OWN[given]()
        if given in CORRUPTIONS:
            return Corruption(given)
        raise InputError(f"there is no perturbation {given!r}; there are {', '.join(PERTURBATIONS)}.")
    if callable(given):
        return Custom(given)
    raise InputError(f"a {type(given).__name__} is no perturbation; give a name or a function.")


def usual_strengths(perturbation: Perturbation) -> tuple[float, ...]:
    """Where nobody says: eight steps, of one pixel and degree, of 1/255 (FGSM) or of 8/255 (noise); all severities."""
    if not perturbation.even:
        return tuple(float(s) for s in SEVERITIES)
    step = 8.0 if isinstance(perturbation, Gaussian) else 1.0
    return tuple(step * i for i in range(9))
