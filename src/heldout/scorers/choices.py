"""Models that answer multiple-choice questions: one item in one order of its options, and what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

UNPARSED = -1  # what is chosen where no option could be read from an answer
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # by which options are called, in the order in which they are shown

Tell = Callable[[int], None]  # how many more questions are answered


@dataclass(frozen=True)
class Shown:
    """A question with its options in the order in which a model sees them.

    Parameters
    ----------
    question : str
        What is asked.
    options : tuple of str
        In the order shown.
    draw : int
        0; 1 where the same is asked a second time, to see whether the answer is the same.

    Examples
    --------
    >>> from heldout.scorers import Shown
    >>> Shown("Which city is in Norway?", ("Rome", "Oslo")).options[1]
    'Oslo'
    """

    question: str
    options: tuple[str, ...]
    draw: int = 0


@dataclass(frozen=True)
class Choice:
    """What a model said to one of them.

    Parameters
    ----------
    chosen : int
        Place of the chosen option among those shown, from 0; `UNPARSED` where none could be read.
    log_probs : tuple of float, optional
        Of the options' letters, by place, where the model tells them; comparable between orders.
    text : str
        What it wrote, where it wrote.
    refused : bool
        Whether it was not asked after all: an endpoint refused the question, by moderation or for its length.

    Examples
    --------
    >>> from heldout.scorers import Choice
    >>> Choice(1, text="B").chosen
    1
    """

    chosen: int
    log_probs: tuple[float, ...] | None = None
    text: str = ""
    refused: bool = False


@runtime_checkable
class Chooser(Protocol):
    """A model, wherever it runs.

    It may have more, which `heldout.options` minds. `costly = True`: every answer costs something, so that 8 orders are
    asked besides the printed one unless told otherwise, all in one call, and the model keeps its answers itself.
    `batch_size`: how many it computes together; they are handed over at least so many at a time. Where it changes while
    the model runs, it must be settable, since a run that is resumed sets the one that it stopped with. `address`,
    `template`, `precision`, `device` and `settings` (a mapping, without secrets) are told in the result.

    Examples
    --------
    >>> from heldout.scorers import Choice, Chooser
    >>> class Second:
    ...     name = "second"
    ...     def choose(self, shown, tell=None):
    ...         return [Choice(1) for _ in shown]
    ...     def digest(self):
    ...         return "2"
    >>> isinstance(Second(), Chooser)
    True
    """

    name: str

    def choose(self, shown: Sequence[Shown], tell: Tell | None = None) -> list[Choice]:
        """One choice for each, in their order; those of one question follow each other.

        Parameters
        ----------
        shown : sequence of Shown
            What to ask.
        tell : function, optional
            Told how many more are answered, from time to time.

        Returns
        -------
        list of Choice
            As many.
        """
        ...

    def digest(self) -> str:
        """Tells this model and how it is asked from another.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        ...
