"""What asking an endpoint will take, told before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass


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
