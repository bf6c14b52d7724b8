"""What a model is shown, and which option it names in what it writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property

from heldout.errors import InputError
from heldout.scorers.choices import LETTERS, UNPARSED, Shown

PLAIN = "{question}\n{options}\nAnswer:"  # for a model that continues text: the usual prompt of MMLU
CHAT = "{question}\n\n{options}\n\nReply with the letter of the right option and nothing else: {letters}."

_FIELD = re.compile(r"\{(question|options|letters)\}")


def check_template(template: str) -> str:
    """A template names the question once and the options once.

    Examples
    --------
    >>> check_template("{question} Choose.")
    Traceback (most recent call last):
        ...
    heldout.errors.InputError: `template` holds {options} 0 times; it must hold {question} and {options} once each.
    """
    for field in ("{question}", "{options}"):
        if template.count(field) != 1:
            raise InputError(
                f"`template` holds {field} {template.count(field)} times; it must hold {{question}} and {{options}} "
                "once each."
            )
    return template


def listed(options: Sequence[str]) -> str:
    """The options as they are shown, a letter before each.

    Examples
    --------
    >>> print(listed(("Rome", "Oslo")))
    A. Rome
    B. Oslo
    """
    if len(options) > len(LETTERS):
        raise InputError(f"a question has {len(options)} options, but there are only {len(LETTERS)} letters for them.")
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def prompt_parts(shown: Shown, template: str = PLAIN) -> tuple[str, str]:
    """A prompt in two parts: what is the same in every order of the options, and the rest.

    Parameters
    ----------
    shown : Shown
        The question and its options, in the order shown.
    template : str
        With {question}, {options} and perhaps {letters}.

    Returns
    -------
    before : str
        Up to the first option, exclusive.
    after : str
        From the first option to the end.

    Examples
    --------
    >>> prompt_parts(Shown("Which is in Norway?", ("Rome", "Oslo")))
    ('Which is in Norway?\\n', 'A. Rome\\nB. Oslo\\nAnswer:')
    """
    letters = LETTERS[: len(shown.options)]
    values = {
        "question": shown.question,
        "options": listed(shown.options),
        "letters": f"{', '.join(letters[:-1])} or {letters[-1]}" if len(letters) > 1 else letters,
    }
    before, after = template.split("{options}")  # not str.format: questions hold braces of their own
    return _filled(before, values), values["options"] + _filled(after, values)


def prompt(shown: Shown, template: str = PLAIN) -> str:
    """A question as a model is asked it.

    Parameters
    ----------
    shown : Shown
        The question and its options, in the order shown.
    template : str
        With {question}, {options} and perhaps {letters}.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> print(prompt(Shown("Which is in Norway?", ("Rome", "Oslo")), CHAT))
    Which is in Norway?
    <BLANKLINE>
    A. Rome
    B. Oslo
    <BLANKLINE>
    Reply with the letter of the right option and nothing else: A or B.
    """
    return "".join(prompt_parts(shown, template))


def _filled(text: str, values: dict[str, str]) -> str:
    return _FIELD.sub(lambda match: values[match[1]], text)


def read_choice(text: str, options: Sequence[str]) -> int:
    r"""Which option an answer names, by its letter or else by its text.

    What is tried, in this order: nothing but a letter; nothing but the text of an option; the last place that says
    "the answer is C" or the like; a letter in front ("C) Oslo"); a letter alone on the last line; the only letter
    that is mentioned as one ("(C)", "option C"); the only option whose text is there, where nothing is denied. An
    answer that names several in the same way, or none, is not read. What a model thinks aloud (<think>...</think>) is
    not its answer.

    The rules know the options as they are shown and nothing of the printed order, so that they favour none.

    Parameters
    ----------
    text : str
        What the model wrote.
    options : sequence of str
        As they were shown.

    Returns
    -------
    int
        Place among those shown, from 0; `UNPARSED` where none could be read.

    Examples
    --------
    >>> cities = ("Rome", "Oslo", "Bonn")
    >>> [read_choice(text, cities) for text in ("B", "**C**", "The answer is (A).", "It's Oslo.", "I cannot say.")]
    [1, 2, 0, 1, -1]
    """
    short = text.strip()
    if len(short) == 1 and (place := LETTERS.find(short.upper(), 0, len(options))) >= 0:  # as asked for, and usual
        return place
    said = _said(text)
    if not said:
        return UNPARSED
    reader = _Reader(said, options)
    for rule in (
        reader.bare,
        reader.whole_text,
        reader.stated,
        reader.in_front,
        reader.last_line,
        reader.mentioned,
        reader.only_text,
    ):
        found = rule()
        if found is not None:
            return found
    return UNPARSED


_UNWRAPPED = re.compile(r"\\(?:text|textbf|textrm|mathbf|mathrm|mathsf|bm)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}")
_MARKS = re.compile(r"[*`$]+|(?<!\w)_+|_+(?!\w)")  # of Markdown and LaTeX
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)

_OPEN, _CLOSE = r"[(\[{\"'“‘]*\s*", r"[)\]}\"'”’]*"
_OF = r"(?:option|choice|letter|answer|alternative)"
_GOOD = r"(?:the\s+)?(?:most\s+|single\s+)?(?:correct|right|best|true|accurate|appropriate)"
_HEDGE = r"(?:(?:therefore|thus|clearly|definitely|most\s+likely|likely|probably|simply|indeed|just|hence|then)[\s,]+)?"
_DENIED = re.compile(
    r"\b(?:not|none|neither|nor|never|except|wrong|incorrect|cannot|unable|false)\b|n['’]t\b", re.IGNORECASE
)
_AFTER_ARTICLE = re.compile(r"\s+(?!(?:because|since|as|for|due|given|which|based|here|is|and|or|with)\b)[a-z]")


def _said(text: str) -> str:
    """An answer without thoughts and marks; nothing where it was cut off while thinking."""
    marks = list(_THOUGHT.finditer(text))
    if marks:
        text = text[marks[-1].end() :] if marks[-1][1] else ""
    text = _UNWRAPPED.sub(r"\1", text)
    text = _BOXED.sub(r"\nAnswer: \1\n", text)
    return _MARKS.sub("", unicodedata.normalize("NFKC", text)).strip()


def _plain(text: str) -> str:
    """A text as it is compared: words in lower case, without what stands at its ends."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return re.sub(r"\s+", " ", text).strip(" \n\t.,;:!?\"'“”‘’()[]")


class _Reader:
    """The rules; each gives a place, `UNPARSED` where it is clear that no single option is named, or nothing."""

    def __init__(self, said: str, options: Sequence[str]) -> None:
        self._said, self._letters, self._options = said, LETTERS[: len(options)], options
        self._letter = rf"{_OPEN}([{self._letters}])(?![\w'’]){_CLOSE}"

    @cached_property
    def _plain(self) -> list[str]:
        return [_plain(option) for option in self._options]

    def _place(self, letter: str) -> int | None:
        place = self._letters.find(letter.upper())
        return place if place >= 0 else None

    def bare(self) -> int | None:
        match = re.fullmatch(rf"(?:(?i:{_OF})\s*[:.]?\s*)?{_OPEN}([A-Za-z]){_CLOSE}[\s.:;,!]*{_CLOSE}", self._said)
        return self._place(match[1]) if match else None

    def whole_text(self) -> int | None:
        return self._same_as(self._said)

    def _same_as(self, text: str) -> int | None:
        plain = _plain(text)
        places = [place for place, option in enumerate(self._plain) if option and option == plain]
        return places[0] if len(places) == 1 else None

    def _is_word(self, match: re.Match[str]) -> bool:
        """Whether A or I is a word of a sentence rather than a letter: "the answer is A dog"."""
        bare = match.end() == match.end(1)
        return match[1] in "AI" and bare and _AFTER_ARTICLE.match(self._said, match.end(1)) is not None

    def stated(self) -> int | None:
        letter = self._letter
        is_it = (
            rf"\b(?i:{_OF}|solution|response)s?\b(?:\s+(?i:{_OF}|here|(?:to|for)\s+(?:this|the)\s+question))*"
            rf"\s*(?:(?i:\bis|\bwas|\bwould\s+be|\bshould\s+be|\bmust\s+be|\bwill\s+be)|[:=]|->|→)[\s:]*"
            rf"(?i:{_HEDGE}(?:{_OF}\s*:?\s+)?){letter}"
        )
        chosen = (
            rf"\b(?i:i|we)(?:['’](?:d|ll)|(?i:\s+would|\s+will|\s+must|\s+have\s+to))?\s+"
            rf"(?i:choose|pick|select|go\s+with|go\s+for|answer)\s+(?i:(?:with\s+)?(?:{_OF}\s+)?){letter}"
        )
        is_right = rf"(?<![\w'’]){letter}\s+(?i:(?:must\s+be|would\s+be|is)\s+{_GOOD})\b"
        found = [
            match
            for pattern in (is_it, chosen, is_right)
            for match in re.finditer(pattern, self._said)
            if not self._is_word(match)
        ]
        if not found:
            return None
        last = max(found, key=lambda match: match.start(1))
        return UNPARSED if self._goes_on(last) else self._place(last[1])

    def _goes_on(self, match: re.Match[str]) -> bool:
        """Whether another letter is named with this one: "A and C", "A, B or D"."""
        one = rf"(?i:{_OF}\s+)?[(\[]*([{self._letters}])(?![\w'’]){_CLOSE}"
        more = rf"(?:\s*,\s*{one})*\s*,?\s*(?:and|or|&|/|\+)\s*{one}(?!\s+(?:is|are|was|would|does|has|can)\b)"
        also = re.match(more, self._said[match.end(1) :].lstrip(")]}\"'”’"))
        return also is not None and any(letter not in (None, match[1]) for letter in also.groups())

    def in_front(self) -> int | None:
        front = rf"{_OPEN}([{self._letters}])(?![\w'’])(?:[)\]}}\"'”’]+|\s*[.:\-–—](?!\w)|\s*$)"
        lines = [match[1] for match in re.finditer(rf"^\s*{front}", self._said, re.MULTILINE)]
        match = re.match(front, self._said, re.MULTILINE)
        return self._place(match[1]) if match and len(set(lines)) == 1 else None

    def last_line(self) -> int | None:
        line = self._said.splitlines()[-1].strip()
        match = re.fullmatch(rf"{self._letter}[\s.:;,!]*", line)
        return self._place(match[1]) if match else None

    def mentioned(self) -> int | None:
        called = rf"(?:\b(?i:{_OF})\s+[(\[]?([{self._letters}])(?![\w'’])|[(\[]([{self._letters}])[)\]])"
        found = {match[1] or match[2] for match in re.finditer(called, self._said)}
        if len(found) > 1:
            return UNPARSED
        return self._place(found.pop()) if found and not _DENIED.search(self._said) else None

    def only_text(self) -> int | None:
        tail = re.split(r"\b(?:is|be)\b|:", self._said)[-1]
        for text in (self._said.splitlines()[-1], tail):
            found = self._same_as(text)
            if found is not None and not _DENIED.search(self._said):
                return found
        if _DENIED.search(self._said):
            return None
        said = _plain(self._said)
        there = [
            place
            for place, option in enumerate(self._plain)
            if len(option) > 2 and re.search(rf"(?<!\w){re.escape(option)}(?!\w)", said)
        ]
        longest = [  # "New York" where both "New York" and "York" are options
            place
            for place in there
            if not any(self._plain[place] in self._plain[other] for other in there if other != place)
        ]
        return longest[0] if len(longest) == 1 else None
