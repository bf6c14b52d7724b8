"""Anything that turns a batch of inputs into logits, or a question into one of its options."""

from heldout.scorers.base import FunctionScorer, Scorer, as_scorer, load_scorer
from heldout.scorers.causal import CausalChooser
from heldout.scorers.choices import UNPARSED, Choice, Chooser, Shown
from heldout.scorers.cost import Cost
from heldout.scorers.endpoint import EndpointChooser
from heldout.scorers.onnx import OnnxScorer
from heldout.scorers.sklearn import SklearnScorer
from heldout.scorers.torch import TorchScorer

__all__ = [
    "UNPARSED",
    "CausalChooser",
    "Choice",
    "Chooser",
    "Cost",
    "EndpointChooser",
    "FunctionScorer",
    "OnnxScorer",
    "Scorer",
    "Shown",
    "SklearnScorer",
    "TorchScorer",
    "as_scorer",
    "load_scorer",
]
