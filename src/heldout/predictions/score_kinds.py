"""What a score is by its name: its kind, and whether larger is better."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.checks import plain_name
from heldout.errors import InputError

LargerIs = Literal["better", "worse"]
TASK = "task"  # column that logs of several tasks have

MARGIN, LIKELIHOOD, CORRECT = "margin", "log_likelihood", "correct"
# By kind: the names that it goes by. In the order in which one is chosen where a file has several: the more a score
# says of an example, the sooner.
BETTER = {
    MARGIN: ("margin", "log_odds"),
    LIKELIHOOD: ("log_likelihood", "loglikelihood", "loglik", "logprob", "log_prob", "log_probability"),
    "probability": ("probability", "prob"),
    CORRECT: ("correct", "is_correct", "acc", "accuracy", "exact_match"),
}
WORSE = {
    "loss": ("loss", "nll", "negative_log_likelihood", "cross_entropy"),
    "perplexity": ("perplexity",),
    "error": ("error", "wrong"),
}
PREFERRED = (MARGIN, LIKELIHOOD, "loss", "perplexity", "probability", CORRECT, "error")
# Kinds whose name alone says which way they go; of the others a name may be wrong, as in logs that call a
# log-likelihood perplexity.
SURE = (MARGIN, "probability", CORRECT)
SCORE = "score"  # of 0 and 1 it is correctness, else nobody knows
BY_KIND = {**dict.fromkeys(BETTER, True), **dict.fromkeys(WORSE, False)}  # whether larger is better
BY_NAME = {name: kind for kinds in (BETTER, WORSE) for kind, names in kinds.items() for name in names}


def kind_of(name: str, values: NDArray[np.float64]) -> str:
    """The kind of a column by its name; a name that is not known is a kind of its own.

    Examples
    --------
    >>> kind_of("NLL", np.array([0.1])), kind_of("score", np.array([0.0, 1.0])), kind_of("BLEU", np.array([31.2]))
    ('loss', 'correct', 'bleu')
    """
    plain = plain_name(name)
    if plain == SCORE and np.isin(values, (0.0, 1.0)).all():
        return CORRECT
    return BY_NAME.get(plain, plain)


def declared(larger_is: LargerIs | None) -> bool | None:
    """Whether larger is better, as declared; None where nothing is.

    Examples
    --------
    >>> declared("better"), declared("worse"), declared(None)
    (True, False, None)
    """
    if larger_is is None:
        return None
    if larger_is not in get_args(LargerIs):
        raise InputError(f"`larger_is` is {larger_is!r}; it can be 'better' or 'worse'.")
    return larger_is == "better"


def is_better(kind: str, larger_is: LargerIs | None, values: NDArray[np.float64], *, name: str, source: str) -> bool:
    """Whether larger is better: as declared, else as the kind says, if the values allow it.

    A declaration against a name that the values bear out is a slip, and refused.
    """
    better = declared(larger_is)
    if better is not None:
        if kind in BY_KIND and better != BY_KIND[kind] and (kind in SURE or _fits(kind, values)):
            raise contradiction(kind, name=name, source=source)
        return better
    if kind not in BY_KIND:
        raise InputError(
            f"{source}: whether a larger {name!r} is better or worse cannot be known from its name; say so with "
            "`larger_is='better'` or `larger_is='worse'`."
        )
    _check_range(kind, values, name=name, source=source)
    return BY_KIND[kind]


def contradiction(kind: str, *, name: str, source: str) -> InputError:
    """What to say where the declared direction is not that of the name."""
    said, is_so = ("worse", "better") if BY_KIND[kind] else ("better", "worse")
    return InputError(
        f"{source}: a larger {name!r} is {is_so} by its name, but `larger_is={said!r}` says the "
        "opposite; leave `larger_is` out, or give the scores another name if they are something else."
    )


def _fits(kind: str, values: NDArray[np.float64]) -> bool:
    """Whether all values are such as the name says: then it is no other score under this name."""
    low, high = float(values.min()), float(values.max())
    if kind == LIKELIHOOD:
        return high <= 0.0
    return low >= (1.0 if kind == "perplexity" else 0.0)  # losses and errors


def _check_range(kind: str, values: NDArray[np.float64], *, name: str, source: str) -> None:
    """Values that the kind cannot have: then the name is not what it says, and the direction may be the other."""
    low, high = float(values.min()), float(values.max())
    wrong = ""
    if kind == LIKELIHOOD and low >= 0.0 and high > 0.0:
        wrong = "are all 0 or above, as negative log-likelihoods are"
    elif kind == "loss" and high <= 0.0 and low < 0.0:
        wrong = "are all 0 or below, as log-likelihoods are"
    elif kind == "perplexity" and low < 1.0:
        wrong = f"go down to {low:g}, but no perplexity is below 1"
    elif kind in ("probability", CORRECT) and (low < 0.0 or high > 1.0):
        wrong = f"go from {low:g} to {high:g}, outside 0 to 1"
    if wrong:
        raise InputError(
            f"{source}: the values of {name!r} {wrong}; say with `larger_is` what a "
            "larger one means, or choose another with `score`."
        )
