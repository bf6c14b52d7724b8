"""How many pictures each part of an audit gives its model at once.

A part begins with what was asked for. Where the device runs out of memory it begins anew with half as many; that is
settled then, and in a file beside the checkpoints, so that a resumed audit has the same batches with however much
memory there is by then. A part is one model before one set, or one reference, or a model's untouched pictures: what
others found with larger batches stays as it is. Shards of pictures keep theirs in their own checkpoints, since workers
settle those.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heldout.checkpoints import Checkpoint, CheckpointFolder
from heldout.scorers import Scorer
from heldout.scorers.batches import smaller_batches_text


class BatchSizes:
    """Those that are smaller than asked for.

    Parameters
    ----------
    kept : Checkpoint
        The file; what it holds is taken up.
    say : function of a sentence
        Told once of each model that runs out of memory.
    """

    def __init__(self, kept: Checkpoint, say: Callable[[str], None]) -> None:
        self._kept, self._say = kept, say
        self._smaller: dict[str, int] = {}  # by part
        self._told: set[int] = set()  # models
        state = kept.load()
        if state is not None:
            try:
                parts = zip(state["parts"].tolist(), state["sizes"].tolist(), strict=True)
                self._smaller = {str(part): int(size) for part, size in parts}
            except (KeyError, ValueError) as error:
                raise kept.damaged(error) from error

    def of(self, part: str, asked: int) -> int:
        """What this part gets where that many are asked for."""
        return min(asked, self._smaller.get(part, asked))

    def tell(self, model: Scorer, asked: int, size: int) -> None:
        """Say that a model goes on with smaller batches than asked for, if it does and that was not said before."""
        if size < asked and id(model) not in self._told:
            self._told.add(id(model))
            self._say(smaller_batches_text(model.name, asked // 2))

    def settle(self, part: str, model: Scorer, asked: int, size: int) -> None:
        """Keep what a part went on with, where that is smaller than asked for."""
        self.tell(model, asked, size)
        if size < asked:
            self._smaller[part] = size
            parts = sorted(self._smaller)
            self._kept.save({"parts": np.array(parts), "sizes": np.array([self._smaller[part] for part in parts])})


def with_size(kept: CheckpointFolder, size: int) -> CheckpointFolder:
    """Where what is made with batches of a size is kept: beside what larger ones had begun."""
    return kept.within(f"{size}", batch_size=size)
