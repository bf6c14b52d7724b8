"""`--groups` of pictures, of scores and of training examples, and what to say of groups that change nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from heldout.cli.common import say
from heldout.groups import group_codes, resolve_groups


def named_groups(spec: str, ids: Sequence[str], columns: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """What SPEC names, with a warning where each group holds one example."""
    found = resolve_groups(spec, ids, columns)
    if int(group_codes(found, len(ids)).max()) + 1 == len(ids):
        say(of_one(spec, len(ids)))
    return found


def of_one(spec: str, n: int) -> str:
    """What to say of groups of one example each."""
    return f"warning: the groups {spec!r} are {n:,} of one example each, and change nothing."
