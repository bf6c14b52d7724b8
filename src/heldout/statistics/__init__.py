"""Numbers in, evidence out. Nothing here knows what a model is."""

from heldout.statistics.arrangements import ArrangementTestResult, arrangement_test, arrangement_tests
from heldout.statistics.bernstein import (
    bernstein_bound,
    bernstein_log_pvalue,
    two_interval_log_pvalue,
)
from heldout.statistics.betting import star_bets_log_pvalue
from heldout.statistics.binomial import clopper_pearson
from heldout.statistics.evalues import calibrated_log_evalue, holm
from heldout.statistics.leak import LeakScores, LeakTestResult, leak_scores, leak_test
from heldout.statistics.leak_power import DetectableLeak, detectable_leak, examples_needed, leak_power
from heldout.statistics.margins import MarginTestResult, margin_test
from heldout.statistics.mean_zero import (
    IndependenceTestResult,
    NModelTestResult,
    independence_test,
    n_model_test,
)
from heldout.statistics.memorised import MemorisedItems, memorised_items
from heldout.statistics.mixture import mixture_log_evalue
from heldout.statistics.permutation import ControlTestResult, ControlTestsResult, control_test, control_tests
from heldout.statistics.poisson_binomial import OrbitTestResult, orbit_test
from heldout.statistics.positions import PositionTestResult, position_test
from heldout.statistics.power import Detectable, detectable_difference, detectable_effect
from heldout.statistics.rank_sums import RankSumTestResult, order_ranks, rank_sum_test
from heldout.statistics.seen import SeenExamples, benjamini_hochberg, seen_examples

__all__ = [
    "ArrangementTestResult",
    "ControlTestResult",
    "ControlTestsResult",
    "Detectable",
    "DetectableLeak",
    "IndependenceTestResult",
    "LeakScores",
    "LeakTestResult",
    "MarginTestResult",
    "MemorisedItems",
    "NModelTestResult",
    "OrbitTestResult",
    "PositionTestResult",
    "RankSumTestResult",
    "SeenExamples",
    "arrangement_test",
    "arrangement_tests",
    "benjamini_hochberg",
    "bernstein_bound",
    "bernstein_log_pvalue",
    "calibrated_log_evalue",
    "clopper_pearson",
    "control_test",
    "control_tests",
    "detectable_difference",
    "detectable_effect",
    "detectable_leak",
    "examples_needed",
    "holm",
    "independence_test",
    "leak_power",
    "leak_scores",
    "leak_test",
    "margin_test",
    "memorised_items",
    "mixture_log_evalue",
    "n_model_test",
    "orbit_test",
    "order_ranks",
    "position_test",
    "rank_sum_test",
    "seen_examples",
    "star_bets_log_pvalue",
    "two_interval_log_pvalue",
]
