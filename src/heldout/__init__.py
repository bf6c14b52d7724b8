"""How much is this test score still worth?"""

from heldout._version import __version__
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import Translations
from heldout.statistics import control_test, independence_test, n_model_test

__all__ = [
    "Translations",
    "__version__",
    "control_test",
    "independence_test",
    "n_model_test",
    "score_map_statistics",
]
