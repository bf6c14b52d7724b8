"""One run of one model: each question with its options as they were shown, and what was chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.multiple_choice.days import DATE, far_apart
from heldout.scorers.choices import LETTERS

Key = tuple[str, tuple[str, ...]]

LETTERED = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]+(\S.*?)[ \t]*$", re.MULTILINE)  # "A. text", "A) text", "(A) text"


@dataclass(frozen=True, slots=True)
class Answered:
    """One question in one order.

    Parameters
    ----------
    id : str
        Its name in the log.
    question : str
        With single spaces.
    options : tuple of str
        In the order shown, with single spaces.
    answer : int
        Place of the right one; -1 where several are right.
    chosen : int
        Place of the chosen one; `UNPARSED` where none could be read.
    right : bool, optional
        By the log; None where the run failed on it.
    log_probs : tuple of float, optional
        Of the letters, by place.
    """

    id: str
    question: str
    options: tuple[str, ...]
    answer: int
    chosen: int
    right: bool | None
    log_probs: tuple[float, ...] | None = None

    @property
    def key(self) -> Key:
        """What it is joined by: the question and the set of options."""
        return key_of(self.question, self.options)


@dataclass(frozen=True, kw_only=True)
class Log:
    """One file of answers.

    Parameters
    ----------
    path : Path
        Where it was read.
    model, task : str
        By the log.
    answered : tuple of Answered
        In the order of the file.
    broken : tuple of str
        Ids of what is not a complete item, such as one with the same option twice.
    one_by_one : bool
        Whether each option was scored by itself, without the others in sight.
    settings : mapping
        How the model was asked, which must be the same in all runs.
    made : mapping from str to str
        When it was run, by which version and where, as far as the log tells, which should be the same.
    """

    path: Path
    model: str
    task: str
    answered: tuple[Answered, ...]
    broken: tuple[str, ...] = ()
    one_by_one: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)


def differences(logs: Sequence[Log]) -> dict[str, tuple[str, ...]]:
    """What runs differ in besides their orders; dates where they are more than a day apart.

    Examples
    --------
    >>> made = [{"date": "2026-03-01"}, {"date": "2026-03-02", "model": "m-2"}, {"date": "2026-05-01", "model": "m-1"}]
    >>> logs = [Log(path=Path("a"), model="m", task="t", answered=(), made=each) for each in made]
    >>> differences(logs[:2]), differences(logs)
    ({}, {'date': ('2026-03-01', '2026-05-01'), 'model': ('m-1', 'm-2')})
    """
    found = {}
    for name in dict.fromkeys(name for log in logs for name in log.made):
        told = sorted({log.made[name] for log in logs if log.made.get(name)})
        if name == DATE:
            told = list(far_apart(told))
        if len(told) > 1:
            found[name] = tuple(told)
    return found


def plain(text: Any) -> str:
    """A text with single spaces, which is all that is changed before texts are compared.

    Examples
    --------
    >>> plain(" Which  of\\nthese? ")
    'Which of these?'
    """
    return " ".join(str(text).split())


def key_of(question: str, options: Sequence[str]) -> Key:
    """What items of two runs are joined by, whatever the order of their options.

    Examples
    --------
    >>> key_of("Why?", ("b", "a")) == key_of(" Why?", ("a", "b "))
    True
    """
    return plain(question), tuple(sorted(map(plain, options)))


def check_prompt(prompt: str, options: Sequence[str], where: str) -> None:
    """The last lettered lines of a prompt must show the options as they were logged, where both tell the same ones.

    Examples
    --------
    >>> check_prompt("Why?\\nA. so\\nB. not so\\nAnswer:", ["so", "not so"], "a.jsonl")
    """
    shown: dict[str, str] = {letter: plain(text) for letter, text in LETTERED.findall(prompt)}
    lines = [shown.get(letter, "") for letter in LETTERS[: len(options)]]
    if lines != list(options) and sorted(lines) == sorted(options):
        raise InputError(
            f"{where} was shown its options in another order than the one logged, so that its order is not known; "
            "shuffle the options before the run, in the data, and log them as they are shown."
        )
