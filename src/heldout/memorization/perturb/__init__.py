"""Ways to perturb a picture: each a function of pictures and a strength, 0 meaning untouched."""

from heldout.memorization.perturb.base import Custom, Perturbation, View
from heldout.memorization.perturb.corruptions import CORRUPTIONS, corrupt
from heldout.memorization.perturb.fgsm import Fgsm, fgsm
from heldout.memorization.perturb.gaussian import Gaussian, gaussian
from heldout.memorization.perturb.names import PERTURBATIONS, as_perturbation, usual_strengths
from heldout.memorization.perturb.spatial import RandomSpatial, Spatial, move_grid, moved, random_moves, spatial

__all__ = [
    "CORRUPTIONS",
    "PERTURBATIONS",
    "Custom",
    "Fgsm",
    "Gaussian",
    "Perturbation",
    "RandomSpatial",
    "Spatial",
    "View",
    "as_perturbation",
    "corrupt",
    "fgsm",
    "gaussian",
    "move_grid",
    "moved",
    "random_moves",
    "spatial",
    "usual_strengths",
]
