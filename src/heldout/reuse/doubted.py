"""What a page says of models that may have been misread."""

from __future__ import annotations

from collections.abc import Sequence

from heldout import summary as page
from heldout.predictions.doubts import Doubt

NAMED, LONGEST = 5, 60  # models that are named, and characters of a text


def doubted(doubts: Sequence[Doubt]) -> tuple[str, ...]:
    """Warnings; none where nothing is doubtful.

    Examples
    --------
    >>> text = doubted([Doubt(model="a", n_predictions=60, n_right=9, n_almost=30, prediction="c ", label="C")])[0]
    >>> text.translate(page.TURNS).replace(page.PERCENT, " %")[-52:]
    "a 30 of 60 (50.0 %), such as 'c ' for the label 'C'."
    """
    almost = [doubt for doubt in doubts if doubt.n_almost]
    never = [doubt.model for doubt in doubts if not doubt.n_right]
    told = [
        f"{page.quoted(doubt.model)} {page.of_text(doubt.n_almost, doubt.n_predictions)}, such as "
        f"{_shown(doubt.prediction)} for the label {_shown(doubt.label)}"
        for doubt in almost[:NAMED]
    ]
    more = f"; and {len(almost) - NAMED:,} more models" if len(almost) > NAMED else ""
    return tuple(
        text
        for text, there in (
            (
                "Predictions that count as wrong, but would be a label in another case, or less the blanks, brackets "
                f"and punctuation around: {'; '.join(told)}{more}.",
                almost,
            ),
            (f"Right on no example: {page.names_text(never, NAMED)}. Does the table tell what they predicted?", never),
        )
        if there
    )


def _shown(text: str | None) -> str:
    """A text with what cannot be seen of it."""
    return page.quoted(page.shorten(repr(text), LONGEST))
