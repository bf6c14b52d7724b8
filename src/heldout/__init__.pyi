from . import attack, images, orbit, predictions, scorers, statistics
from ._version import __version__
from .attack.outlook import queries_to_reach
from .attack.result import StressResult, StressRun
from .attack.stress import stress
from .errors import HeldoutError, InputError
from .exposures.exposure import exposure
from .exposures.result import ExposureResult
from .images import LabelledImages, split
from .independence.audit import audit, audit_many
from .independence.needed import AuditNeeds, audit_scores_needed
from .independence.pictures_needed import audit_needed
from .independence.result import AuditResult
from .independence.score_maps import orbit_statistics, score_map_statistics
from .independence.score_result import ScoreAuditResult
from .independence.scores import audit_scores
from .memorization.curve import Curve
from .memorization.perturbed import perturbation_curve
from .memorization.result import MemorizationResult
from .memorization.retrained import LabelNoiseCurve, label_noise_curve
from .multiple_choice.items import Item, Items
from .multiple_choice.options import options
from .multiple_choice.readers import read_items
from .multiple_choice.result import OptionsResult
from .multiple_choice.runs import Runs, read_runs
from .orbit import Dihedral, HorizontalFlip, OptionOrders, Translations
from .predictions import Predictions, Scores, load_predictions, load_scores
from .reuse.bounds import TestableModels, testable_models
from .reuse.budget import budget
from .reuse.compare import compare, compare_all
from .reuse.compare_result import CompareAllResult, CompareResult
from .reuse.number_budget import budget_from_numbers
from .reuse.result import BudgetResult, ScoreBudgetResult
from .reuse.similarity import SimilarityResult, similarity
from .saved import load
from .statistics import (
    ControlTestResult,
    IndependenceTestResult,
    MarginTestResult,
    NModelTestResult,
    control_test,
    independence_test,
    margin_test,
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
    "Dihedral",
    "ExposureResult",
    "HeldoutError",
    "HorizontalFlip",
    "IndependenceTestResult",
    "InputError",
    "Item",
    "Items",
    "LabelNoiseCurve",
    "LabelledImages",
    "MarginTestResult",
    "MemorizationResult",
    "NModelTestResult",
    "OptionOrders",
    "OptionsResult",
    "Predictions",
    "Runs",
    "ScoreAuditResult",
    "ScoreBudgetResult",
    "Scores",
    "SimilarityResult",
    "StressResult",
    "StressRun",
    "TestableModels",
    "Translations",
    "__version__",
    "attack",
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
    "exposure",
    "images",
    "independence_test",
    "label_noise_curve",
    "load",
    "load_predictions",
    "load_scores",
    "margin_test",
    "n_model_test",
    "options",
    "orbit",
    "orbit_statistics",
    "perturbation_curve",
    "predictions",
    "queries_to_reach",
    "read_items",
    "read_runs",
    "score_map_statistics",
    "scorers",
    "similarity",
    "split",
    "statistics",
    "stress",
    "testable_models",
]
