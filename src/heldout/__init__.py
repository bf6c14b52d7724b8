"""How much is this test score still worth?"""

from heldout._version import __version__
from heldout.errors import HeldoutError, InputError
from heldout.images import LabelledImages, split
from heldout.independence.audit import audit, audit_many
from heldout.independence.result import AuditResult
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import Translations
from heldout.statistics import (
    ControlTestResult,
    IndependenceTestResult,
    NModelTestResult,
    control_test,
    independence_test,
    n_model_test,
)

__all__ = [
    "AuditResult",
    "ControlTestResult",
    "HeldoutError",
    "IndependenceTestResult",
    "InputError",
    "LabelledImages",
    "NModelTestResult",
    "Translations",
    "__version__",
    "audit",
    "audit_many",
    "control_test",
    "independence_test",
    "n_model_test",
    "score_map_statistics",
    "split",
]
