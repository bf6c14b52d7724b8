"""Questions that an endpoint refuses though it takes others, or answers with no option: a few are wrong answers, many
are a fault."""

from __future__ import annotations

from heldout.errors import InputError
from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.completions import Answer
from heldout.scorers.requests import Requests
from heldout.scorers.responses import RefusedError

OF_ONE = frozenset({400, 403, 413, 422})  # what moderation, a limit of length and the like answer to one question
FOR_NOW = frozenset({403})  # or a key that was withdrawn: not kept for later runs
SHARE, FEW, IN_A_ROW = 0.1, 10, 20
UNREAD = 50  # answers, the first of a run, that name no option, after which no other is paid for
REFUSED = Answer("", None, "refused", 0, 0)


class UnfitError(InputError):
    """Asking once more in the same way would end in the same way."""


class Refusals:
    """Those of one run.

    Parameters
    ----------
    n_questions : int
        Of the run.

    Examples
    --------
    >>> found = Refusals(200)
    >>> [found.too_many(str(i), 400) for i in range(3)], found.statuses
    ([False, False, False], {'0': 400, '1': 400, '2': 400})
    """

    def __init__(self, n_questions: int) -> None:
        self.statuses: dict[str, int] = {}  # of each key
        self._most = max(FEW, int(SHARE * n_questions))
        self._in_a_row = 0
        self.named = False  # whether an answer named an option
        self._unread = 0

    def too_many(self, key: str, status: int) -> bool:
        """One more; whether it is no longer the questions that are to blame."""
        self.statuses[key] = status
        self._in_a_row += 1
        return len(self.statuses) > self._most or self._in_a_row >= IN_A_ROW

    def answered(self) -> None:
        """Another question was taken."""
        self._in_a_row = 0

    def are_all_unread(self, chosen: int) -> bool:
        """One more answer; whether none of so many named an option that no other is likely to."""
        self.named |= chosen != UNPARSED
        self._unread += 1
        return not self.named and self._unread >= UNREAD


def refusal(
    refused: RefusedError, one: Shown, *, address: str, logprobs: bool | None, n_refused: int = 0
) -> InputError:
    """What to say of an endpoint that refuses a question; the last of `n_refused`, where these are too many."""
    if refused.otherwise is not None:
        return refused.otherwise
    if logprobs and "logprob" in refused.complaint.lower():
        return InputError(
            f"{address} gives no log-probabilities {refused}; leave out `logprobs=True`, and only the test of "
            "ranks is not applicable."
        )
    many = f", and {n_refused - 1:,} more: too many to count them as wrong answers" if n_refused else ""
    return InputError(f"{address} refuses the question {_start(one.question, 60)!r} {refused}{many}.")


def mute(requests: Requests, last: Answer) -> UnfitError:
    """What to say of a model that names no option in so many answers, of which this is the last."""
    return UnfitError(
        f"{requests.model} named no option in any of {UNREAD} answers, the last of which is "
        f"{_start(' '.join(last.text.split()), 80)!r}; allow more tokens with `max_tokens=4096`, for example, or ask "
        "for the letter alone with `template`."
    )


def too_short(requests: Requests) -> UnfitError:
    """What to say of a model that is cut off before it writes a word."""
    return UnfitError(
        f"{requests.model} wrote nothing within {requests.wanted.tokens} tokens, as models do that reason first; allow "
        "more with `max_tokens=4096`, for example."
    )


def _start(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"
