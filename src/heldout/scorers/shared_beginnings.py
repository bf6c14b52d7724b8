"""Prompts that begin alike run through a causal language model together, each different beginning once.

The orders of an item share the tokens of its question, and many of them those of their first options. Prompts are
sorted, so that what they share stands at their beginning, and run through the model column by column: a stretch of
columns is computed once for each different beginning, and the model's key-value cache is copied where beginnings part.
No token is padded on the left, and none that is padded on the right is seen by one that counts: a causal model needs no
mask for that, and its positions are those of the whole prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import import_extra
from heldout.scorers.batches import ran_out_of_memory
from heldout.scorers.choices import Shown
from heldout.scorers.forward import Forward
from heldout.scorers.prepared import TOLERANCE, agree
from heldout.scorers.pretrained import EXTRA
from heldout.scorers.prompts import prompt
from heldout.scorers.stretches import common_beginnings, stretches
from heldout.scorers.tokens import Encoded, Encoder

# Tokens that cost as much as running a model once more for few of them. On a CPU 0, 48 and 150 made no difference; a
# GPU takes about as long for a thousand tokens as for one.
CALL = {"cpu": 48, "cuda": 1024}
BLOCK = 64  # lengths that are checked together, in tokens
PROBE = Shown("Which of these came first, and why?", ("the red fox", "an old oak", "two grey stones", "cold water"))
AGREE = {**TOLERANCE, "float64": 1e-6, "float16": 2**-8}  # relative to the largest logit


class SharedBeginnings:
    """Logits after prompts; beginnings are shared where that changes them by no more than rounding.

    Parameters
    ----------
    model : Forward
        What runs.
    encoder : Encoder
        Writes prompts of our own, on which sharing is tried.
    """

    def __init__(self, model: Forward, encoder: Encoder) -> None:
        self._torch = import_extra("torch", extra=EXTRA)
        self._model, self._encoder = model, encoder
        self._sound: dict[int, bool] = {}  # of blocks of lengths: whether a cache from below holds for prompts above

    @property
    def are_sound(self) -> bool | None:
        """Whether they can be shared at all lengths so far; None before the first batch."""
        return all(self._sound.values()) if self._sound else None

    def logits(self, batch: Sequence[Encoded]) -> Any:
        """After each prompt; the batch is sorted within items."""
        return self._shared(batch) if self.can_be_shared(batch) else self._whole(batch)

    def can_be_shared(self, batch: Sequence[Encoded]) -> bool:
        """Whether that gives the same logits as whole prompts, up to rounding.

        Some models read their tokens otherwise from a certain length on (a second set of frequencies for positions, a
        window), and then a cache from below that length does not fit a prompt above it. A batch spans the lengths from
        its first stretch of columns, or its shortest prompt, to its longest one, and shares its beginnings where each
        block of lengths that it touches is sound. That is a property of the model and the block alone, checked on
        prompts of our own: neither the batch nor what was asked before decides it, so that a run which is resumed
        decides alike.
        """
        common, cuts = self._columns(batch)
        if not common.any():
            return False
        lengths = [len(asked.tokens) for asked in batch]
        first, last = cuts[0] if cuts else min(lengths), max(lengths)
        return all(self._is_sound(block) for block in range(first // BLOCK, -(-last // BLOCK)))

    def _is_sound(self, block: int) -> bool:
        """Whether a cache of the least length of a block holds for prompts up to its greatest one."""
        if block not in self._sound:
            self._sound[block] = self._agrees(*self._probe(block))
        return self._sound[block]

    def _probe(self, block: int) -> tuple[list[Encoded], list[int]]:
        """Three prompts that part where a block begins and in its middle, one of them short; and these columns."""
        first, last = max(1, block * BLOCK), (block + 1) * BLOCK
        last = last if self._model.room is None else min(last, self._model.room)
        middle = (first + last) // 2
        text = self._encoder.rows([prompt(PROBE, self._encoder.template)])[0]
        again = text[1:] if len(text) > 1 else text  # without the token that begins a text, if there is one
        one = np.concatenate([text[:1], np.resize(again, last - 1)])
        other = np.roll(one, 7)
        rows = (
            one,
            np.concatenate([one[:middle], other[middle : middle + 1]]),
            np.concatenate([one[:first], other[first:]]),
        )
        return [Encoded(i, row, ()) for i, row in enumerate(rows)], sorted({first, middle})

    def _agrees(self, batch: Sequence[Encoded], cuts: list[int]) -> bool:
        """Whether prompts that share their beginnings up to these columns have the logits of whole ones."""
        expected = self._torch.cat([self._whole([asked]) for asked in batch])
        try:
            found = self._shared(batch, cuts)
        except Exception as error:  # no cache, one that cannot be copied, or one that takes a single token at a time
            if ran_out_of_memory(error):
                raise
            return False
        return agree(found, expected, AGREE.get(self._model.precision, AGREE["bfloat16"]))

    def _whole(self, batch: Sequence[Encoded]) -> Any:
        """Each prompt from its first token to its last; those of one length together, so that none is padded."""
        lengths = np.array([len(asked.tokens) for asked in batch])
        parts, places = [], []
        for length in np.unique(lengths).tolist():
            places.append(np.flatnonzero(lengths == length))
            tokens = np.stack([batch[i].tokens for i in places[-1].tolist()])
            parts.append(self._model.logits(tokens, [length - 1] * len(tokens)))
        return self._torch.cat(parts)[self._torch.from_numpy(np.argsort(np.concatenate(places)))]

    def _shared(self, batch: Sequence[Encoded], cuts: list[int] | None = None) -> Any:
        """Column by column, each different beginning once."""
        rows = [asked.tokens for asked in batch]
        common, cheapest = self._columns(batch)
        cuts = cheapest if cuts is None else cuts
        cache, before, start = None, np.zeros(len(rows), dtype=np.int64), 0
        for end in cuts:
            new = np.concatenate([[True], common < end])
            heads = np.flatnonzero(new)
            if cache is not None:
                self._model.branch(cache, before[heads])
            cache = self._model.extended(cache, np.stack([rows[i][start:end] for i in heads]), start)
            before, start = np.cumsum(new) - 1, end
        if cache is not None:
            self._model.branch(cache, before)
        tails = [row[start:] for row in rows]
        width = max(map(len, tails))
        padded = np.stack([np.pad(tail, (0, width - len(tail)), mode="edge") for tail in tails])
        return self._model.logits(padded, [len(tail) - 1 for tail in tails], cache, start)

    def _columns(self, batch: Sequence[Encoded]) -> tuple[NDArray[np.int64], list[int]]:
        """How many tokens each prompt has in common with the next, and at which columns to branch."""
        rows = [asked.tokens for asked in batch]
        common = common_beginnings(rows)
        return common, stretches(common, max(map(len, rows)), CALL.get(self._model.device.type, CALL["cuda"]))
