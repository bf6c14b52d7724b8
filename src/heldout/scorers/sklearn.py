"""scikit-learn estimators on flattened pictures."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.scorers.base import Batch, Layout


def is_estimator(model: Any) -> bool:
    """Whether a thing looks like a fitted scikit-learn classifier."""
    return hasattr(model, "predict") and hasattr(model, "classes_")


class SklearnScorer:
    """A fitted classifier that was trained on pictures flattened row by row.

    `decision_function` gives the logits, or else the logarithm of `predict_proba`. Columns follow
    `classes_`, which must be the whole numbers that the labels use.

    Parameters
    ----------
    estimator : fitted classifier
        With `decision_function` or `predict_proba`.
    batch_size : int
        How many pictures it is given at once.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from heldout.scorers import SklearnScorer
    >>> rng = np.random.default_rng(0)
    >>> model = LogisticRegression().fit(rng.random((20, 4)), np.arange(20) % 3)
    >>> SklearnScorer(model).logits(np.ones((5, 2, 2, 1), np.float32)).shape
    (5, 3)
    """

    layout: Layout = "nhwc"

    def __init__(self, estimator: Any, *, batch_size: int = 1024) -> None:
        if not hasattr(estimator, "decision_function") and not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{type(estimator).__name__} has neither decision_function nor predict_proba, so its predictions "
                "cannot be ranked; wrap it in CalibratedClassifierCV, for example."
            )
        if getattr(estimator, "decision_function_shape", None) == "ovo" and len(estimator.classes_) > 2:
            raise InputError("one score per class is needed; fit the SVC with decision_function_shape='ovr'.")
        classes = np.asarray(estimator.classes_)
        if classes.dtype.kind not in "iu" or classes.min() < 0:
            raise InputError(
                f"the estimator's classes {list(classes[:5])} are not whole numbers from 0; encode the labels."
            )
        self._estimator, self._classes = estimator, classes
        self.absent_classes = [int(c) for c in np.setdiff1d(np.arange(classes.max() + 1), classes)]
        self.batch_size, self.name = batch_size, type(estimator).__name__

    def logits(self, batch: Batch) -> NDArray[Any]:
        """Decision values, one column per class; a class that was never seen can never win.

        Parameters
        ----------
        batch : (n, height, width, channels) float32
            Flattened row by row.

        Returns
        -------
        (n, n_classes)
            One row per picture.
        """
        flat = batch.reshape(len(batch), -1)
        if hasattr(self._estimator, "decision_function"):
            scores = np.asarray(self._estimator.decision_function(flat), dtype=np.float64)
            if scores.ndim == 1:  # two classes: the sign decides
                scores = np.stack([-scores / 2.0, scores / 2.0], axis=1)
        else:
            tiny = np.finfo(np.float64).tiny
            scores = np.log(np.maximum(self._estimator.predict_proba(flat), tiny))
        if scores.ndim != 2 or scores.shape[1] != len(self._classes):
            raise InputError(
                f"{self.name} gives scores of shape {scores.shape} for {len(self._classes)} classes; "
                "for SVC use decision_function_shape='ovr'."
            )
        out = np.full((len(batch), int(self._classes.max()) + 1), scores.min() - 1.0)
        out[:, self._classes] = scores
        return out

    def digest(self) -> str:
        """Of the pickled estimator.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return hashlib.sha256(pickle.dumps(self._estimator)).hexdigest()[:16]
