"""What asking an endpoint will take, told before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from heldout.scorers.completions import Api

BYTES_PER_TOKEN = 4  # of English text, about; other languages take more bytes and more tokens
MESSAGE_TOKENS = 8  # that a chat adds to a message, about


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What asking will take; tokens are estimated at 4 bytes each.

    Parameters
    ----------
    calls : int
        Requests to come.
    cached : int
        Answers that are there already.
    prompt_tokens : int
        Of all requests to come, about.
    completion_tokens : int
        Of their answers, at most.
    price : float, optional
        Of both, at most about, where prices were given.

    Examples
    --------
    >>> from heldout.scorers import Cost
    >>> print(Cost(calls=4500, cached=0, prompt_tokens=610_000, completion_tokens=72_000, price=0.135))
    4,500 calls: about 610,000 prompt tokens (estimated) and at most 72,000 completion tokens, for about 0.14 at most
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    price: float | None = None

    def __str__(self) -> str:
        if not self.calls:
            return f"0 calls: all {self.cached:,} answers are kept from before"
        kept = f" ({self.cached:,} answers are kept from before)" if self.cached else ""
        price = "" if self.price is None else f", for about {self.price:,.2f} at most"
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}{kept}"
        return (
            f"{calls}: about {self.prompt_tokens:,} prompt tokens (estimated) and at most {self.completion_tokens:,} "
            f"completion tokens{price}"
        )


def estimate(
    texts: Sequence[str], *, cached: int, api: Api, most_tokens: int, price: tuple[float, float] | None
) -> Cost:
    """What asking these texts will take, each answered with so many tokens at most; prices are per million tokens.

    Examples
    --------
    >>> print(estimate(["Who?"], cached=2, api="chat", most_tokens=16, price=None))
    1 call (2 answers are kept from before): about 9 prompt tokens (estimated) and at most 16 completion tokens
    """
    more = MESSAGE_TOKENS if api == "chat" else 0
    sizes = (len(text.encode("utf-8", "surrogatepass")) for text in texts)
    tokens = sum(math.ceil(size / BYTES_PER_TOKEN) + more for size in sizes)
    most = most_tokens * len(texts)
    return Cost(
        calls=len(texts),
        cached=cached,
        prompt_tokens=tokens,
        completion_tokens=most,
        price=None if price is None else (tokens * price[0] + most * price[1]) / 1e6,
    )
