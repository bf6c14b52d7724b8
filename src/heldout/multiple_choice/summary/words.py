"""What several parts of the page ask of a result, and say in the same words."""

from __future__ import annotations

from heldout import summary as page
from heldout.multiple_choice.result import OptionsResult, UnreadAnswers

MUCH = 0.05  # share of answers without an option from which on a reader is warned
READABLE = {
    True: "Make runs that allow more tokens for an answer, or ask for the letter alone.",
    False: "Raise --max-tokens (models that reason: 4096), or ask for the letter alone with --template.",
}  # both by whether there are runs already


def both_p(result: OptionsResult, complete: UnreadAnswers) -> tuple[float, float]:
    """The verdict's test with unread answers as wrong, and of the items that have none."""
    name = "poisson_binomial" if result.uniform else "conditional"
    return getattr(result.p_values, name), getattr(complete.p_values, name)


def shown_p(result: OptionsResult, name: str) -> str:
    """Of a test; with unread answers counted as the verdict's test counts them."""
    return page.p_text(getattr(result.p_values if result.complete is None else result.complete.p_against, name))


def sides_text(result: OptionsResult) -> str:
    """Unread answers as printed, and in other orders."""
    n, many = result.n_items, result.n_answers - result.n_items
    unread = result.unparsed_printed
    others = page.of_text(result.unparsed - unread, many)
    return f"as printed {page.of_text(unread, n)}, in other orders {others}"


def is_parted(result: OptionsResult) -> bool:
    """Whether there are more strata than numbers of options."""
    return result.n_strata > len(result.positions.counts)


def is_worse(result: OptionsResult) -> bool:
    """Whether what was found is that the model does worse as printed."""
    return result.verdict == "depends on the printed order" and result.errors_printed > result.errors_expected


def is_skewed(result: OptionsResult) -> bool:
    """Whether right answers are not printed at all places alike."""
    return result.positions.p_value <= result.level


def is_often_unread(result: OptionsResult) -> bool:
    """Whether so many answers name no option that a reader must know."""
    return result.n_answers > 0 and result.unparsed > MUCH * result.n_answers


def reason_text(name: str) -> str:
    """Why an item is left out, in words."""
    return name.replace("_", " ")
