"""How much is this test score still worth?"""

from heldout._version import __version__
from heldout.attack.outlook import queries_to_reach
from heldout.attack.result import StressResult, StressRun
from heldout.attack.stress import stress
from heldout.errors import HeldoutError, InputError
from heldout.images import LabelledImages, split
from heldout.independence.audit import audit, audit_many
from heldout.independence.needed import AuditNeeds, audit_needed, audit_scores_needed
from heldout.independence.result import AuditResult
from heldout.independence.score_maps import score_map_statistics
from heldout.independence.score_result import ScoreAuditResult
from heldout.independence.scores import audit_scores
from heldout.memorization.curve import Curve
from heldout.memorization.perturbed import perturbation_curve
from heldout.memorization.result import MemorizationResult
from heldout.memorization.retrained import LabelNoiseCurve, label_noise_curve
from heldout.orbit import Translations
from heldout.predictions import Predictions, Scores, load_predictions, load_scores
from heldout.reuse.bounds import TestableModels, testable_models
from heldout.reuse.budget import budget, budget_from_numbers
from heldout.reuse.compare import compare, compare_all
from heldout.reuse.compare_result import CompareAllResult, CompareResult
from heldout.reuse.result import BudgetResult
from heldout.reuse.score_budget import ScoreBudgetResult
from heldout.reuse.similarity import SimilarityResult, similarity
from heldout.statistics import (
    ControlTestResult,
    IndependenceTestResult,
    NModelTestResult,
    control_test,
    independence_test,
    n_model_test,
)

__all__ = [
    "AuditNeeds",
    "AuditResult",
    "BudgetResult",
    "CompareAllResult",
    "CompareResult",
    "ControlTestResult",
    "Curve",
    "HeldoutError",
    "IndependenceTestResult",
    "InputError",
    "LabelNoiseCurve",
    "LabelledImages",
    "MemorizationResult",
    "NModelTestResult",
    "Predictions",
    "ScoreAuditResult",
    "ScoreBudgetResult",
    "Scores",
    "SimilarityResult",
    "StressResult",
    "StressRun",
    "TestableModels",
    "Translations",
    "__version__",
    "audit",
    "audit_many",
    "audit_needed",
    "audit_scores",
    "audit_scores_needed",
    "budget",
    "budget_from_numbers",
    "compare",
    "compare_all",
    "control_test",
    "independence_test",
    "label_noise_curve",
    "load_predictions",
    "load_scores",
    "n_model_test",
    "perturbation_curve",
    "queries_to_reach",
    "score_map_statistics",
    "similarity",
    "split",
    "stress",
    "testable_models",
]
