"""Where the rows of a source hold their questions, options and answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from heldout.checks import LABEL, Role, check_key, pick, plain_name
from heldout.errors import InputError, shortened
from heldout.multiple_choice.answers import BrokenRowError, Row, and_more, bare_options, is_number, read_answers
from heldout.multiple_choice.items import options_flaw
from heldout.multiple_choice.option_cells import cell_text, listed_options
from heldout.orbit.option_orders import MOST_OPTIONS
from heldout.predictions.values import is_gap, listing
from heldout.scorers.choices import LETTERS

QUESTION = Role(
    "question_key",
    ("question", "question_stem", "stem", "query", "problem", "ctx", "goal", "sentence", "startphrase"),
    ("prompt", "input", "text", "instruction"),
)
BEFORE = ("passage", "article", "context", "premise")  # what a question is about, printed above it
OPTIONS = Role("options_key", ("options", "choices", "endings", "mc1_targets", "candidates", "answers"))
# Columns of one option each: A, option_a, choice1, opa, ending0, sol1, answerA.
OPTION_COLUMN = re.compile(r"(option|choice|opt|op|ending|sol|answer|alternative|)_?([a-z]|\d\d?)")
INDEX = Role("answer_key", ("answer_index", "answer_idx", "correct_index", "correct_answer_index", "label_index"))
ANSWER = Role(
    "answer_key",
    (
        *("answerkey", "answer_key", "answer", "correct_answer", "correct_option", "correct_choice", "correct"),
        *LABEL.usual,
        *("cop", "solution", "key"),
    ),
)
APART = re.compile(r"(distractor|incorrect_answer|wrong_answer)s?_?\d*")  # the wrong ones, listed by themselves


class Keys(NamedTuple):
    """Columns that were named, and from what answers count."""

    question: str | None = None
    options: str | Sequence[str] | None = None
    answer: str | None = None
    ids: str | None = None
    strata: str | None = None
    answers_from: int | None = None
    skip_broken: bool = False


class Columns:
    """Where rows of one source hold their parts."""

    def __init__(self, names: list[str], keys: Keys, source: str) -> None:
        self._source = source
        self._other_lists: list[str] = []
        self._fewer = True  # whether blanks at the end mean that a row has fewer options
        for key in [keys.options] if isinstance(keys.options, str) else keys.options or ():
            check_key(names, key, OPTIONS.option, source=source, noun="column")
        question = pick(names, keys.question, QUESTION, source=source, noun="column", weak=True)
        if question is None:
            raise self._lacks("question", QUESTION.option, names)
        above = [name for name in names if plain_name(name) in BEFORE] if keys.question is None else []
        self._asked = [*above, question]
        taken = {question, *above}
        self._list, self._single = self._options(names, keys.options, taken)
        taken |= {*self._single, *([] if self._list is None else [self._list])}
        named = usual(names, INDEX, taken) + usual(names, ANSWER, taken)
        if keys.answer is not None:
            check_key(names, keys.answer, ANSWER.option, source=source, noun="column")
            named = [keys.answer]
        self._answer: str | None = named[0] if named else None
        self._other_answers = named[1:]
        if self._answer is None and not self._is_marked(self._list):
            raise self._lacks("answer", ANSWER.option, names)

    def _options(self, names: list[str], wanted: Any, taken: set[str]) -> tuple[str | None, list[str]]:
        """The column of lists, or those of single options."""
        if wanted is not None:
            return (wanted, []) if isinstance(wanted, str) else (None, list(wanted))
        listed = usual(names, OPTIONS, taken)
        if listed:
            self._other_lists = listed[1:]
            return listed[0], []
        found: dict[str, dict[str, str]] = {}
        for name in names:
            match = OPTION_COLUMN.fullmatch(plain_name(name)) if name not in taken else None
            if match:
                found.setdefault(f"{match[1]} {'1' if match[2].isdigit() else 'a'}", {})[match[2]] = name
        single = max(map(_in_a_row, found.values()), key=len, default=[])
        if len(single) >= 2:
            return None, single
        apart = [name for name in names if APART.fullmatch(plain_name(name))]
        if apart:
            raise InputError(
                f"{self._source} lists the right answer apart from the wrong ones ({listing(apart)}), so that no order "
                "of the options is printed; give them in the order in which they were published (`options_key`)."
            )
        raise self._lacks("options", OPTIONS.option, names)

    def _lacks(self, what: str, option: str, names: list[str]) -> InputError:
        return InputError(
            f"{self._source} has no {what} under a usual name; of its columns {listing(names, len(names))} say which "
            f"it is with `{option}`."
        )

    @staticmethod
    def _is_marked(column: str | None) -> bool:
        return column is not None and plain_name(column) == "mc1_targets"

    def see_blanks(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """What blanks in columns of single options mean, by all rows.

        Where some stand before other options, blanks are gaps, and rows with one are broken wherever it stands: were
        those at the end taken for fewer options, the printed order would decide which items stay.
        """
        for i, row in enumerate(rows):
            values = [row.get(name) for name in self._single]
            gap = next((name for name, value in zip(self._single, values, strict=True) if _is_nan(value)), None)
            if gap is not None:
                raise InputError(
                    f'{self._source}: row {i + 1} has NaN in {gap!r}, which may have been an option such as "None" or '
                    '"NA"; read the table with keep_default_na=False, or fill what is empty with "".'
                )
            texts = [cell_text(value) for value in values]
            while texts and not texts[-1]:
                texts.pop()
            self._fewer &= "" not in texts

    def read(self, row: Mapping[str, Any], where: str) -> Row:
        """One row, whose answer is as it is written."""
        parts = [cell_text(row.get(name)) for name in self._asked]
        if not parts[-1]:
            raise BrokenRowError(f"{where} has no question ({self._asked[-1]!r})", "question")
        marked = None
        if self._list is not None:
            texts, labels, marked = listed_options(row.get(self._list), where, self._list)
        else:
            texts, labels = [cell_text(row.get(name)) for name in self._single], None
            while self._fewer and texts and not texts[-1]:
                texts.pop()
            if any(texts) and "" in texts:
                raise BrokenRowError(
                    f"{where}: option {texts.index('') + 1} is empty; since some rows have empty options before "
                    "others, all with an empty one are broken",
                    "options",
                )
        flaw = options_flaw(texts)
        if flaw:
            raise BrokenRowError(f"{where}{flaw}", "options")
        answer = marked if self._answer is None else row.get(self._answer)
        if isinstance(answer, list) and len(answer) == 1:
            (answer,) = answer
        return Row(where, "\n".join(part for part in parts if part), tuple(texts), labels, answer)

    def answers(self, rows: list[Row], plain: list[dict[str, Any]], keys: Keys) -> list[int | BrokenRowError]:
        """Place of each right option, or what is broken; two columns that name it must agree."""
        column = self._answer or self._list or ""
        base = 0 if self._answer is None else keys.answers_from  # options that are marked are counted by us
        counted = base is not None or _counts(column)
        found = read_answers(rows, column=column, answers_from=base, counted=counted)
        unread = [place for place in found if isinstance(place, BrokenRowError)]
        if keys.skip_broken and 2 * len(unread) >= len(rows) > 0:
            raise InputError(
                f"{unread[0]}{and_more(len(unread), len(rows))}, too many to be left out; correct them, or say which "
                "column holds the answers with `answer_key`."
            )
        for other in self._other_answers:
            self._compare(other, found, rows, plain, keys)
        return found

    def _compare(
        self,
        other: str,
        found: list[int | BrokenRowError],
        rows: list[Row],
        plain: list[dict[str, Any]],
        keys: Keys,
    ) -> None:
        """Another column that could hold the answers must name the same options, however it is written.

        A number of an option beside its letter is meant as the same, so that a row where they differ is broken. Of
        other columns, such as `answer` and `label`, one may be something else: nobody knows which.
        """
        at = [i for i, place in enumerate(found) if not isinstance(place, BrokenRowError)]
        second = [replace(rows[i], answer=plain[i].get(other)) for i in at]
        # Beside letters or texts, numbers that count from 1 cannot be taken for others.
        bases = (keys.answers_from or 0,) if any(is_number(rows[i].answer) for i in at) else (0, 1)
        differ: list[int] = []
        for base in bases:
            again = _answers_or_none(second, other, base)
            if again is None:  # something else, such as an explanation
                continue
            differ = [i for i, place in zip(at, again, strict=True) if place != found[i]]
            if not differ:
                return
        for i in differ:
            told = (
                f"{rows[i].where}: {self._answer!r} is {shortened(rows[i].answer)} and {other!r} is "
                f"{shortened(plain[i].get(other))}, which are two options"
            )
            if self._answer is None or not _counts(self._answer):
                raise InputError(f"{told}, and both columns could hold the answers; choose with `answer_key`.")
            hint = "correct one of them, say which counts with `answer_key`, or "
            found[i] = BrokenRowError(told, "answer", hint)

    def check_lists(self, rows: Sequence[Mapping[str, Any]], read: Mapping[int, Row]) -> None:
        """Another column that could hold the options must have the same ones in the same order."""
        for other in self._other_lists:
            lists = {i: _listed_or_none(rows[i].get(other), other) for i in read}
            if None in lists.values():  # something else, such as all answers that count as right
                continue
            at = next((i for i, row in read.items() if lists[i] != bare_options(row.options)), None)
            if at is not None:
                raise InputError(
                    f"{read[at].where}: {self._list!r} and {other!r} could both be the options, and differ; choose "
                    f"with `{OPTIONS.option}`."
                )


def usual(names: Sequence[str], role: Role, taken: Collection[str]) -> list[str]:
    """All columns that go by a usual name, the commonest first.

    Examples
    --------
    >>> usual(["label", "Answer", "id"], ANSWER, ())
    ['Answer', 'label']
    """
    found = {name: place for place, plain in enumerate(role.usual) for name in names if plain_name(name) == plain}
    return [name for name in found if name not in taken]


def _counts(column: str) -> bool:
    """Whether numbers in a column count options, by its name."""
    return plain_name(column) in INDEX.usual


def _answers_or_none(rows: list[Row], column: str, base: int) -> list[int | BrokenRowError] | None:
    """Places that a column names; None where it does not name one in every row."""
    try:
        found = read_answers(rows, column=column, answers_from=base, counted=_counts(column) or None)
    except InputError:
        return None
    return None if any(isinstance(place, BrokenRowError) for place in found) else found


def _listed_or_none(value: Any, column: str) -> tuple[str, ...] | None:
    """Options that a cell lists, without their letters; None where it lists none, or nothing but letters."""
    try:
        texts = listed_options(value, "", column).texts
    except BrokenRowError:
        return None
    letters = texts == list(LETTERS[: len(texts)])
    return None if letters or options_flaw(texts) else bare_options(texts)


def _in_a_row(columns: Mapping[str, str]) -> list[str]:
    """Columns a, b, c ... or 0, 1, 2 ... or 1, 2, 3 ..., as far as they go without a gap."""
    marks = list(LETTERS.lower()) if "a" in columns else [str(i + ("0" not in columns)) for i in range(MOST_OPTIONS)]
    return [columns[mark] for mark in takewhile(columns.__contains__, marks)]


def _is_nan(value: Any) -> bool:
    return value is not None and is_gap(value)
