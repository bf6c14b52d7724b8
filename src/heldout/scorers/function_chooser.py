"""A function that chooses options, and what tells it from another one."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from heldout.errors import InputError, shortened
from heldout.scorers.choices import UNPARSED, Choice, Chooser, Shown, Tell
from heldout.scorers.prompts import read_choice

ROUNDING = 1e-3  # above 0 that the logarithm of a probability may come out in few bits
Answer = Callable[[str, tuple[str, ...]], Any]


class FunctionChooser:
    """A function that answers one question at a time.

    Parameters
    ----------
    function : function
        Takes a question and its options as shown; returns the place of one, a text that names it, or log-probabilities
        of all, none above 0.
    """

    def __init__(self, function: Answer) -> None:
        self._function = function
        self.name = str(getattr(function, "__name__", type(function).__name__))

    def choose(self, shown: Sequence[Shown], tell: Tell | None = None) -> list[Choice]:
        """One choice for each."""
        found = []
        for one in shown:
            found.append(self._read(self._function(one.question, one.options), one))
            if tell is not None:
                tell(1)
        return found

    def digest(self) -> str:
        """Of its code and its defaults; what it refers to, such as variables and files, is not seen."""
        return hashlib.sha256(repr(["function", self.name, written(self._function)]).encode()).hexdigest()[:16]

    def _read(self, said: Any, one: Shown) -> Choice:
        k = len(one.options)
        if said is None:
            return Choice(UNPARSED)
        if isinstance(said, str):
            return Choice(read_choice(said, one.options), text=said)
        if isinstance(said, Choice):
            return said
        numbers = np.asarray(said)
        if numbers.ndim == 0 and numbers.dtype.kind in "iu" and UNPARSED <= numbers < k:
            return Choice(int(numbers))
        if numbers.shape == (k,) and numbers.dtype.kind in "iuf" and not np.isnan(numbers).any():
            if numbers.max() > ROUNDING:
                raise InputError(
                    f"{self.name} returned {shortened(said)}, of which {float(numbers.max()):g} is above 0 and no "
                    "log-probability; return log-probabilities (of losses the negative, of probabilities the "
                    "logarithm, of logits the log-softmax), or the place of the option."
                )
            return Choice(int(np.argmax(numbers)), tuple(numbers.astype(float).tolist()))
        raise InputError(
            f"{self.name} returned {said!r} for a question with {k} options; it must return the place of one, from 0 "
            f"to {k - 1}, its letter, or {k} log-probabilities."
        )


def as_chooser(model: Any) -> Chooser:
    """What can be asked, from a model or a function."""
    if isinstance(model, Chooser):
        return model
    if callable(model):
        return FunctionChooser(model)
    raise InputError(
        f"`model` is a {type(model).__name__}; give a function of question and options, an EndpointChooser or "
        "CausalChooser of heldout.scorers, or what read_runs returns."
    )


def written(value: Any) -> Any:
    """A function as it is written, in plain data that are the same in every process.

    Of a function, a method, a `functools.partial` or an object that can be called, the code with its constants and the
    names in it; of constants and defaults their values; of anything else the type, since what it prints may be an
    address in memory.

    Examples
    --------
    >>> written(lambda x: 1) == written(lambda x: 2), written(lambda x: 1) == written(lambda x: 1)
    (False, True)
    """
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(written, value)]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, *sorted(map(repr, map(written, value)))]
    if isinstance(value, dict):
        return ["dict", *((written(key), written(one)) for key, one in value.items())]
    if isinstance(value, CodeType):
        names = (value.co_qualname, *value.co_names, *value.co_freevars)
        return [value.co_code, value.co_exceptiontable, names, *map(written, value.co_consts)]
    if isinstance(value, functools.partial):
        return ["partial", written(value.func), written(value.args), written(value.keywords)]
    function = getattr(value, "__func__", value)
    if not hasattr(function, "__code__"):
        of_class = type(value).__call__ if callable(value) and not isinstance(value, type) else None
        code = getattr(of_class, "__code__", None)
        return [type(value).__qualname__, getattr(value, "__qualname__", ""), written(code)]
    parts = [function.__code__, function.__defaults__, function.__kwdefaults__, getattr(function, "__wrapped__", None)]
    return list(map(written, parts))
