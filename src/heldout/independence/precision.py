"""One arithmetic for all scores of an audit, and how many answers depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heldout.errors import InputError
from heldout.scorers.base import precision_of


@dataclass(frozen=True, kw_only=True)
class InFloat32:
    """Pictures that were scored once more in plain float32, since the model runs in another arithmetic."""

    pictures: int
    other_class: int  # of these, predicted otherwise
    right_or_wrong: int  # right in one and wrong in the other

    def __add__(self, other: InFloat32) -> InFloat32:
        return InFloat32(
            pictures=self.pictures + other.pictures,
            other_class=self.other_class + other.other_class,
            right_or_wrong=self.right_or_wrong + other.right_or_wrong,
        )


def check_one_precision(models: Sequence[Any]) -> None:
    """Refuse models that could run in one precision and do not: torch modules, whose precision is chosen here."""
    found = {precision_of(model): model.name for model in models if hasattr(model, "plain")}
    if len(found) > 1:
        told = " and ".join(f"{name} runs in {precision}" for precision, name in found.items())
        raise InputError(
            f"{told}, so that scores would differ by that alone; make all models with the same `bf16`, on one `device`."
        )
