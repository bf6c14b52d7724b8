"""Anything that turns a batch of inputs into logits."""

from heldout.scorers.base import FunctionScorer, Scorer, as_scorer, load_scorer
from heldout.scorers.causal import CausalChooser
from heldout.scorers.onnx import OnnxScorer
from heldout.scorers.sklearn import SklearnScorer
from heldout.scorers.torch import TorchScorer

__all__ = [
    "CausalChooser",
    "FunctionScorer",
    "OnnxScorer",
    "Scorer",
    "SklearnScorer",
    "TorchScorer",
    "as_scorer",
    "load_scorer",
]
