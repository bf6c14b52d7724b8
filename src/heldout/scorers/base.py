"""The protocol, the plainest scorer, and the way from whatever a user has to a scorer."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError, did_you_mean, told

Batch = NDArray[np.float32]
Layout = Literal["nchw", "nhwc"]


@runtime_checkable
class Scorer(Protocol):
    """What an audit asks of a model.

    Attributes
    ----------
    name : str
        What messages and reports call it.
    batch_size : int
        The batch it runs best at.
    layout : {"nchw", "nhwc"}
        Of a batch: channels first or last.
    device, precision : str, optional
        Where its batches live, "cpu" unless it says otherwise, and what it computes in. A cluster gives every model
        whose device begins with "cuda" a GPU.

    Examples
    --------
    >>> from heldout.scorers import FunctionScorer, Scorer
    >>> isinstance(FunctionScorer(lambda batch: batch.reshape(len(batch), -1)), Scorer)
    True
    """

    name: str
    batch_size: int  # the batch it runs best at
    layout: Layout  # (n, channels, height, width) or (n, height, width, channels)

    def logits(self, batch: Batch) -> NDArray[Any]:
        """(n, n_classes) scores of a batch; the larger, the likelier. Only their order and gaps count.

        Parameters
        ----------
        batch : (n, ...) float32
            In `layout`.

        Returns
        -------
        (n, n_classes)
            One row per picture.
        """
        ...

    def digest(self) -> str:
        """Tells this model from another, for `resume`.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        ...


def device_of(scorer: Scorer) -> str:
    """Where a scorer's batches live: "cpu", "cuda:1", ..."""
    return str(getattr(scorer, "device", "cpu"))


def precision_of(scorer: Scorer) -> str:
    """What a scorer computes in, where it says so."""
    return str(getattr(scorer, "precision", "its own"))


def portable(scorer: Scorer) -> Any:
    """What arrives on another machine as the same scorer; as it is where it does not say how to get there."""
    return scorer.portable() if hasattr(scorer, "portable") else scorer


class FunctionScorer:
    """Any function from a float32 batch to (n, n_classes) logits.

    Parameters
    ----------
    function : function of a batch
        Returns (n, n_classes) logits.
    batch_size : int
        How many pictures it is given at once.
    layout : {"nchw", "nhwc"}
        Of a batch: channels first or last.
    name : str, optional
        The function's own without.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.scorers import FunctionScorer
    >>> scorer = FunctionScorer(lambda batch: batch.reshape(len(batch), -1)[:, :2], name="first two pixels")
    >>> scorer.name, scorer.logits(np.ones((3, 1, 2, 2), np.float32)).shape
    ('first two pixels', (3, 2))
    """

    def __init__(
        self,
        function: Callable[[Batch], Any],
        *,
        batch_size: int = 256,
        layout: Layout = "nchw",
        name: str | None = None,
    ) -> None:
        self._function = function
        self.batch_size, self.layout = batch_size, layout
        self.name = str(name or getattr(function, "__qualname__", type(function).__name__))

    def logits(self, batch: Batch) -> NDArray[Any]:
        """Call the function.

        Parameters
        ----------
        batch : (n, ...) float32
            In `layout`.

        Returns
        -------
        (n, n_classes)
            One row per picture.
        """
        return np.asarray(self._function(batch))

    def digest(self) -> str:
        """Of the function's name only: what it computes is not ours to see.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return hashlib.sha256(f"function:{self.name}".encode()).hexdigest()[:16]


def as_scorer(model: Any, **options: Any) -> Scorer:
    """A scorer for a scorer, an .onnx path, a torch module, a scikit-learn estimator or a function.

    Options (`batch_size`, `device`, ...) go to the scorer's constructor.

    Parameters
    ----------
    model
        A scorer, a path, a `torch.nn.Module`, a fitted classifier, or a function of a batch.
    **options
        Of `OnnxScorer`, `TorchScorer`, `SklearnScorer` or `FunctionScorer`.

    Returns
    -------
    Scorer
        The model itself, if it is one.

    Examples
    --------
    >>> from heldout.scorers import as_scorer
    >>> as_scorer(lambda batch: batch.reshape(len(batch), -1)[:, :2], batch_size=8).batch_size
    8
    """
    from heldout.scorers.onnx import OnnxScorer
    from heldout.scorers.sklearn import SklearnScorer, is_estimator
    from heldout.scorers.torch import TorchScorer

    if isinstance(model, Scorer):
        _refuse_idle("this scorer", options, "batch_size")
        return model
    if isinstance(model, (str, Path)):
        return OnnxScorer(model, **options)
    torch = sys.modules.get("torch")  # a torch module cannot be handed in unless torch is loaded
    if torch is not None and isinstance(model, torch.nn.Module):
        return TorchScorer(model, **options)
    if is_estimator(model):
        return SklearnScorer(model, **_refuse_idle("a scikit-learn model", options, "batch_size"))
    if hasattr(model, "fit") and hasattr(model, "predict"):
        kind = type(model).__name__
        if any(name.endswith("_") and not name.startswith("_") for name in vars(model)):  # what fitting leaves behind
            raise InputError(
                f"the {kind} predicts numbers or clusters, not classes; a classifier is needed, such as a "
                "LogisticRegression."
            )
        raise InputError(f"the {kind} is not fitted; fit it first.")
    if callable(model):
        return FunctionScorer(model, **_refuse_idle("a function", options, "batch_size", "layout", "name"))
    raise InputError(
        f"a {type(model).__name__} is not a model: pass an .onnx path, a torch.nn.Module, a scikit-learn "
        "estimator or a function from a float32 batch to logits."
    )


def _refuse_idle(what: str, options: dict[str, Any], *known: str) -> dict[str, Any]:
    """The options that do something; another one is refused, for whoever gives it believes that it does."""
    for name, value in options.items():
        if name not in known and value not in (None, False) and (name, value) != ("device", "cpu"):
            raise InputError(f"`{name}={value!r}` has no effect on {what}, which runs as it was made; leave it out.")
    return {name: value for name, value in options.items() if name in known}


def load_scorer(spec: str, *, name: str = "model", **options: Any) -> Scorer:
    """What a model is called by: `file.onnx`, or `package.module:factory`, called without arguments.

    Parameters
    ----------
    spec : str
        A file, or a module and a name in it: a scorer, a torch module, or a function that returns a model.
    name : str
        What messages call the argument that `spec` is of.
    **options
        As in `as_scorer`.

    Returns
    -------
    Scorer
        Named by the file, or by the name in the module.

    Examples
    --------
    >>> from importlib.resources import files
    >>> from heldout import InputError
    >>> from heldout.scorers import load_scorer
    >>> load_scorer(str(files("heldout") / "data" / "honest.onnx"), threads=1).name
    'honest'
    >>> try:
    ...     load_scorer("weights.bin")
    ... except InputError as error:
    ...     print(error)
    `model=weights.bin`: give an .onnx file or package.module:factory.
    """
    if ":" not in spec or Path(spec).exists():
        if not spec.endswith(".onnx"):
            raise InputError(f"`{name}={spec}`: give an .onnx file or package.module:factory.")
        return as_scorer(spec, **options)
    factory, attribute = load_object(spec, name), spec.partition(":")[2]
    if callable(factory) and not is_model(factory):
        try:
            factory = factory()
        except (Exception, SystemExit) as error:
            raise InputError(f"`{name}={spec}`: the factory fails: {told(error)}.") from error
    scorer = as_scorer(factory, **options)
    scorer.name = attribute
    return scorer


def load_object(spec: str, name: str) -> Any:
    """What `package.module:name` names; the user's own module is most often in the working directory."""
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise InputError(f"`{name}={spec}`: give package.module:name.")
    if module_name.endswith(".py"):
        known = f"{module_name.removesuffix('.py')}:{attribute}"
        raise InputError(f"`{name}={spec}`: give the module's name, {known}.")
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever a user's module does when it is imported
        raise InputError(f"`{name}={spec}`: {told(error)}.") from error
    finally:
        sys.path.remove("")
    if not hasattr(module, attribute):
        meant = did_you_mean(attribute, [key for key in vars(module) if not key.startswith("_")]) or "."
        raise InputError(f"`{name}={spec}`: the module {module_name} has no {attribute!r}{meant}")
    return getattr(module, attribute)


def is_model(thing: Any) -> bool:
    """Whether a thing is a model itself rather than a factory of one."""
    torch = sys.modules.get("torch")
    return isinstance(thing, Scorer) or (torch is not None and isinstance(thing, torch.nn.Module))
