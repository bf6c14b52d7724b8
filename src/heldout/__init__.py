"""How much is this test score still worth?"""

from heldout._version import __version__

TYPE_CHECKING = False  # type checkers know better; `typing` itself takes a hundredth of a second
if TYPE_CHECKING:
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
    from heldout.predictions import Predictions, Scores, load_scores
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

# Names are imported when they are first used: `heldout --help` needs neither numpy nor scipy, and Ctrl-C in the first
# second finds the command line at home. The same names as above, by the module that has them.
_HOMES = {
    "attack.outlook": "queries_to_reach",
    "attack.result": "StressResult StressRun",
    "attack.stress": "stress",
    "errors": "HeldoutError InputError",
    "images": "LabelledImages split",
    "independence.audit": "audit audit_many",
    "independence.needed": "AuditNeeds audit_needed audit_scores_needed",
    "independence.result": "AuditResult",
    "independence.score_maps": "score_map_statistics",
    "independence.score_result": "ScoreAuditResult",
    "independence.scores": "audit_scores",
    "memorization.curve": "Curve",
    "memorization.perturbed": "perturbation_curve",
    "memorization.result": "MemorizationResult",
    "memorization.retrained": "LabelNoiseCurve label_noise_curve",
    "orbit": "Translations",
    "predictions": "Predictions Scores load_scores",
    "reuse.bounds": "TestableModels testable_models",
    "reuse.budget": "budget budget_from_numbers",
    "reuse.compare": "compare compare_all",
    "reuse.compare_result": "CompareAllResult CompareResult",
    "reuse.result": "BudgetResult",
    "reuse.score_budget": "ScoreBudgetResult",
    "reuse.similarity": "SimilarityResult similarity",
    "statistics": "ControlTestResult IndependenceTestResult NModelTestResult "
    "control_test independence_test n_model_test",
}


def __getattr__(name: str) -> object:
    from importlib import import_module
    from importlib.util import find_spec

    for home, names in _HOMES.items():
        if name in names.split():
            value = getattr(import_module(f"heldout.{home}"), name)
            globals()[name] = value
            return value
    if not name.startswith("_") and find_spec(f"heldout.{name}") is not None:
        return import_module(f"heldout.{name}")
    raise AttributeError(f"module 'heldout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
