"""Options that one cell holds: a list, an object, or a text that spells one of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from heldout.checks import plain_name
from heldout.errors import shortened
from heldout.multiple_choice.answers import BrokenRowError
from heldout.predictions.values import as_text, is_gap, repeated
from heldout.scorers.choices import LETTERS

NO_COMMAS = re.compile(r"""\[\s*(?:'[^']*'|"[^"]*")\s+['"]""")  # a list as numpy prints it: ['oak' 'ash']
TEXTS, LABELS = ("text", "texts", "choices", "options"), ("label", "labels")  # lists of an object, as in ARC


class ListedOptions(NamedTuple):
    """Their texts, what they are called, and the place of the one that is marked as right."""

    texts: list[str]
    labels: tuple[str, ...] | None = None
    marked: int | None = None


def listed_options(value: Any, where: str, column: str) -> ListedOptions:
    """Options as a cell lists them.

    Examples
    --------
    >>> listed_options({"text": ["oak", "ash"], "label": ["1", "2"]}, "row 1", "choices")
    ListedOptions(texts=['oak', 'ash'], labels=('1', '2'), marked=None)
    >>> listed_options({"choices": ["oak", "ash"], "labels": [0, 1]}, "row 1", "mc1_targets")
    ListedOptions(texts=['oak', 'ash'], labels=None, marked=1)
    """
    value = _unpacked(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        texts, names = _of_object(value)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        texts = [one.get("text", one.get("content")) for one in value]
        names = [one.get("label", one.get("key", LETTERS[i % 26])) for i, one in enumerate(value)]
    elif isinstance(value, list):
        texts, names = value, None
    else:
        numpy = ", not one without commas, as numpy prints it: save Parquet or JSONL" * bool(
            NO_COMMAS.match(str(value))
        )
        raise BrokenRowError(f"{where}: {column!r} is {shortened(value, 40)}, where a list is needed{numpy}", "options")
    if names is not None and len(names) != len(texts):
        raise BrokenRowError(f"{where}: {column!r} has {len(texts)} texts and {len(names)} labels", "options")
    if any(isinstance(text, (list, dict)) for text in texts):
        raise BrokenRowError(
            f"{where}: {column!r} holds options that are lists themselves, where each must be a text", "options"
        )
    plain = [cell_text(text) for text in texts]
    if names is None:
        return ListedOptions(plain)
    if not _are_marks(names):
        labels = [cell_text(name) for name in names]
        twice = [label for label in repeated(labels) if label]
        if twice:
            raise BrokenRowError(f"{where}: {column!r} has two options with the label {twice[0]!r}", "options")
        return ListedOptions(plain, tuple(labels))
    if sum(names) != 1:
        raise BrokenRowError(
            f"{where}: {column!r} marks {sum(names):g} options as right, where one is needed", "answer"
        )
    return ListedOptions(plain, marked=list(names).index(1))


def _of_object(value: Mapping[str, Any]) -> tuple[list[Any], list[Any] | None]:
    """Texts and what stands beside each: two lists; texts with 1 for the right one, else 0; or a name for each."""
    lists = {plain_name(key): one for key, one in value.items() if isinstance(one, list)}
    texts = next((lists[key] for key in TEXTS if key in lists), None)
    if texts is not None:
        return texts, next((lists[key] for key in LABELS if key in lists), None)
    if value and _are_marks(value.values()):
        return list(value), list(value.values())
    return list(value.values()), list(value)


def _are_marks(values: Any) -> bool:
    """Whether they say of each option whether it is right, as 0 or 1."""
    return all(isinstance(value, (int, float)) and value in (0, 1) for value in values)


def cell_text(value: Any) -> str:
    """A cell as a text; what is missing is empty."""
    return "" if is_gap(value) else as_text(value).strip()


def _unpacked(text: str) -> Any:
    """A list that a cell of a CSV spells, as JSON or as Python prints it.

    Examples
    --------
    >>> _unpacked("['a', 'b']"), _unpacked("['a' 'b']")
    (['a', 'b'], "['a' 'b']")
    """
    if NO_COMMAS.match(text):  # Python would read one text, "ab"
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return list(value) if isinstance(value, tuple) else value
    return text
