"""The letters of options in what a model says: which one a text is, and how probable each of them was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.scorers.choices import LETTERS, UNPARSED

LEAST = -9999.0  # what OpenAI gives for "next to never"; -inf of other servers becomes this
AROUND = " \t\n\r▁Ġ()[]{}*`\"'.:,;"  # what a letter may stand between; two of them are how tokenizers write a space


def place_of(text: str, n_options: int, *, any_case: bool = False) -> int:
    """The place of the option whose letter a text is, `UNPARSED` where it is none.

    Parameters
    ----------
    text : str
        A token, or a field that holds an answer.
    n_options : int
        How many letters there are.
    any_case : bool
        Whether small letters count: in a field that holds nothing else, but not in a token, where " a" is a word.

    Examples
    --------
    >>> [place_of(token, 4) for token in ("B", " B", "(C", "D.", "**A", "a", "E", "Because", "A+")]
    [1, 1, 2, 3, 0, -1, -1, -1, -1]
    >>> [place_of(field, 4, any_case=True) for field in ("b", "(c)", "e", "A, B")]
    [1, 2, -1, -1]
    """
    bare = text.strip(AROUND)
    if len(bare) != 1 or not bare.isascii():
        return UNPARSED
    return LETTERS.find(bare.upper() if any_case else bare, 0, n_options)


def log_sum(scores: Sequence[float]) -> float:
    """Logarithm of the sum of exponentials.

    Examples
    --------
    >>> round(log_sum([math.log(0.25), math.log(0.5), -math.inf]), 12) == round(math.log(0.75), 12)
    True
    """
    top = max(scores)
    if not math.isfinite(top):
        return top
    # of a handful, for which arrays take ten times as long
    return top + math.log(math.fsum(math.exp(score - top) for score in scores))


def letter_score(log_probs: Sequence[float] | NDArray[np.float64] | None, place: int) -> float:
    """Log-probability of one letter among those shown; NaN where it was not told.

    Examples
    --------
    >>> round(letter_score([-1.0, -1.0, -30.0], 0), 3), letter_score(None, 0)
    (-0.693, nan)
    """
    if log_probs is None:
        return math.nan
    total = log_sum([float(score) for score in log_probs])
    return float(log_probs[place]) - total if math.isfinite(total) else math.nan


@dataclass(frozen=True)
class Step:
    """A token that was written, and what could have been written in its place."""

    token: str
    listed: Sequence[Any]

    def candidates(self) -> dict[str, float]:
        """Log-probabilities by token; -inf is told as a number."""
        found: dict[str, float] = {}
        for each in self.listed:
            score = each.get("logprob") if isinstance(each, dict) else None
            if isinstance(score, (int, float)) and not math.isnan(score):
                found[str(each.get("token", ""))] = max(float(score), LEAST)
        return found

    def letter_scores(self, n_options: int) -> tuple[float, ...] | None:
        """Log-probabilities of the letters, normalised over them; None where no letter is listed.

        A letter that is not among the candidates has at most the probability of the least likely one, and counts with
        half of that: its rank among orders is as good as it is told, and the same rule holds for every order.
        """
        candidates = self.candidates()
        found: dict[int, list[float]] = {}
        for token, score in candidates.items():
            place = place_of(token, n_options)
            if place != UNPARSED:
                found.setdefault(place, []).append(score)  # "B" and " B"
        if not found:
            return None
        floor = min(candidates.values()) - math.log(2)
        scores = [log_sum(found[place]) if place in found else floor for place in range(n_options)]
        total = log_sum(scores)
        return tuple(score - total for score in scores)


def read_steps(logprobs: Any) -> list[Step]:
    """Both spellings of log-probabilities in the protocol of OpenAI as one; nothing where there are none."""
    if not isinstance(logprobs, dict):
        return []
    if isinstance(logprobs.get("content"), list):
        return [
            Step(str(step.get("token", "")), [step, *(step.get("top_logprobs") or [])])
            for step in logprobs["content"]
            if isinstance(step, dict)
        ]
    tokens, tops, own = (logprobs.get(key) for key in ("tokens", "top_logprobs", "token_logprobs"))
    if not isinstance(tokens, list) or not isinstance(tops, list):
        return []
    own = own if isinstance(own, list) else [None] * len(tokens)
    return [
        Step(str(token), [{"token": t, "logprob": p} for t, p in {token: score, **(top or {})}.items()])
        for token, score, top in zip(tokens, own, tops, strict=False)
        if top is None or isinstance(top, dict)
    ]


def scores_where_named(steps: Sequence[Step], chosen: int, n_options: int) -> tuple[float, ...] | None:
    """Log-probabilities of the letters at the token that names the chosen option; None where no token does.

    That is the first token, or in a longer answer the last that is the letter which was read from it.

    Examples
    --------
    >>> tops = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.4}]
    >>> said = [Step("ANSWER: ", []), Step("A", tops), Step(" is", []), Step(" a", [{"token": " a", "logprob": -0.1}])]
    >>> [round(score, 2) for score in scores_where_named(said, 0, 2)]
    [-0.1, -2.4]
    """
    named = [i for i, step in enumerate(steps) if place_of(step.token, n_options) == chosen]
    if chosen == UNPARSED or not named:
        return None
    return steps[0 if named[0] == 0 else named[-1]].letter_scores(n_options)
