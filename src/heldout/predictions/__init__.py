"""What comes in: the predictions of k models on n examples, checked once, at the door."""

from heldout.predictions.join import align
from heldout.predictions.load import load_predictions
from heldout.predictions.load_scores import load_scores
from heldout.predictions.scores import Scores
from heldout.predictions.table import Predictions

__all__ = ["Predictions", "Scores", "align", "load_predictions", "load_scores"]
