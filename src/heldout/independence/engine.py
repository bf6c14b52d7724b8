"""Drives a plan over many pictures in full batches and bounded memory, and can stop and go on.

Requests of all pictures at work stand in one queue; a picture is admitted only while the queue is
shorter than a batch. What is asked, and in which batch, depends on the data alone, so a run that
was stopped and resumed scores the very same batches and ends in the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.independence.plan import Outcome, TranslationPlan
from heldout.scorers import Scorer
from heldout.scorers.batches import excess_scores, score_batch

Progress = Callable[[int, int], None]  # pictures finished, evaluations so far


@dataclass(frozen=True)
class Outcomes:
    """What each picture contributes, one row per picture."""

    statistic: NDArray[np.float64]
    weight: NDArray[np.float64]
    kind: NDArray[np.int8]
    move: NDArray[np.int16]
    moved_loss: NDArray[np.float64]
    moved_score: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> Outcomes:
        """Room for n pictures."""
        return cls(
            statistic=np.full(n, np.nan),
            weight=np.full(n, np.nan),
            kind=np.full(n, -1, dtype=np.int8),
            move=np.zeros((n, 2), dtype=np.int16),
            moved_loss=np.full(n, np.nan),
            moved_score=np.full(n, np.nan),
        )

    def set(self, row: int, outcome: Outcome) -> None:
        """Enter one picture's outcome."""
        self.statistic[row] = outcome.statistic
        self.weight[row] = outcome.weight
        self.kind[row] = outcome.kind
        self.move[row] = outcome.move
        self.moved_loss[row] = outcome.moved_loss
        self.moved_score[row] = outcome.moved_score


class Engine:
    """One model, one set of pictures, one plan.

    Parameters
    ----------
    indices : (n,)
        Which pictures of the set, in this order.
    fingerprint : dict
        What must be equal for a checkpoint to be resumed.
    """

    def __init__(
        self,
        scorer: Scorer,
        images: LabelledImages,
        plan: TranslationPlan,
        indices: NDArray[np.intp],
        *,
        batch_size: int,
        fingerprint: dict[str, Any],
    ) -> None:
        self.scorer, self.images, self.plan, self.indices = scorer, images, plan, indices
        self.batch_size, self.fingerprint = batch_size, fingerprint
        self.outcomes = Outcomes.empty(len(indices))
        self.evaluations = 0
        self.finished = 0
        self._next = 0
        self._queue: deque[tuple[int, int]] = deque()  # (row, position)
        self._maps: dict[int, NDArray[np.float64]] = {}
        self._waiting: dict[int, int] = {}  # requests a picture still waits for
        self._canvases: dict[int, NDArray[np.float32]] = {}
        self._buffer: NDArray[np.float32] | None = None
        self._whole = True  # False in the middle of a step, when the state must not be saved

    @property
    def done(self) -> bool:
        """Whether every picture has its outcome."""
        return self.finished == len(self.indices)

    def step(self) -> None:
        """Score one batch and settle the pictures it completes."""
        self._whole = False
        while len(self._queue) < self.batch_size and self._next < len(self.indices):
            self._maps[self._next] = np.full(self.plan.size, np.nan)
            self._settle(self._next)
            self._next += 1
        requests = [self._queue.popleft() for _ in range(min(self.batch_size, len(self._queue)))]
        try:
            scores = self._score(requests)
        except BaseException:
            self._queue.extendleft(reversed(requests))  # as if this batch had never been taken
            self._whole = True
            raise
        self.evaluations += len(requests)
        ready = []
        for (row, position), score in zip(requests, scores, strict=True):
            self._maps[row][position] = score
            self._waiting[row] -= 1
            if self._waiting[row] == 0:
                ready.append(row)
        for row in ready:
            self._settle(row)
        self._whole = True

    def _settle(self, row: int) -> None:
        # Towards the end there are too few pictures left to fill a batch by asking little at a time;
        # then asking for everything that may matter costs nothing and saves whole batches.
        eager = self._next >= len(self.indices) and len(self._queue) < self.batch_size
        decision = self.plan.decide(self._maps[row], eager=eager)
        if isinstance(decision, Outcome):
            self.outcomes.set(row, decision)
            self.finished += 1
            del self._maps[row]
            self._waiting.pop(row, None)
            self._canvases.pop(row, None)
        else:
            self._waiting[row] = len(decision)
            self._queue.extend((row, int(position)) for position in decision)

    def _score(self, requests: list[tuple[int, int]]) -> NDArray[np.float64]:
        reach, channels_last = self.plan.reach, self.scorer.layout == "nhwc"
        for n, (row, position) in enumerate(requests):
            canvas = self._canvases.get(row)
            if canvas is None:
                canvas = self.images.canvas(int(self.indices[row]), reach, self.scorer.layout)
                self._canvases[row] = canvas
            if self._buffer is None:
                self._buffer = np.zeros(
                    (self.batch_size, *window(canvas, reach, 0, 0, channels_last).shape), np.float32
                )
            down, right = self.plan.move_of[position]
            crop = window(canvas, reach, down, right, channels_last)
            if crop.shape != self._buffer.shape[1:]:
                raise InputError(
                    f"picture {self.images.ids[self.indices[row]]} has shape {crop.shape} where others have "
                    f"{self._buffer.shape[1:]}; crop them all to one size."
                )
            self._buffer[n] = crop
        assert self._buffer is not None
        # The last batch is filled up: a model's arithmetic may depend on the size of its batch.
        self._buffer[len(requests) :] = self._buffer[0]
        rows = self.indices[[row for row, _ in requests]]
        logits = score_batch(self.scorer, self._buffer)
        return excess_scores(logits[: len(requests)], self.images.labels[rows], [self.images.ids[i] for i in rows])

    def run(self, *, checkpoint: Path | None = None, resume: bool = False, progress: Progress | None = None) -> None:
        """Go on to the end, saving the state now and then and whenever something stops the run."""
        if resume and checkpoint is not None and checkpoint.exists():
            self.load(checkpoint)
        kept = self._checkpoint(checkpoint)
        try:
            while not self.done:
                if progress is not None:
                    progress(self.finished, self.evaluations)
                self.step()
                kept.keep(self._state)
        finally:
            # Stopped between two states (an interrupt may fall anywhere), the last checkpoint stays.
            if self._whole:
                kept.save(self._state())
        if progress is not None:
            progress(self.finished, self.evaluations)

    def _checkpoint(self, path: Path | None) -> Checkpoint:
        return Checkpoint(path, self.fingerprint, of="audit")

    def _state(self) -> dict[str, NDArray[Any]]:
        rows = np.array(sorted(self._maps), dtype=np.int64)
        return {
            "counters": np.array([self._next, self.finished, self.evaluations]),
            "queue": np.array(self._queue, dtype=np.int64).reshape(-1, 2),
            "rows": rows,
            "maps": np.array([self._maps[r] for r in rows]).reshape(-1, self.plan.size),
            "waiting": np.array([self._waiting[r] for r in rows], dtype=np.int64),
            **{f"outcome_{k}": v for k, v in vars(self.outcomes).items()},
        }

    def save(self, path: Path) -> None:
        """Write the whole state; the file is replaced in one step or not at all."""
        self._checkpoint(path).save(self._state())

    def load(self, path: Path) -> None:
        """Take up a saved state of the same run."""
        checkpoint = self._checkpoint(path)
        state = checkpoint.load()
        if state is None:
            raise InputError(f"there is no checkpoint {path}.")
        try:
            self._next, self.finished, self.evaluations = (int(c) for c in state["counters"])
            self.outcomes = Outcomes(**{k: state[f"outcome_{k}"] for k in Outcomes.__annotations__})
            self._queue = deque((int(r), int(p)) for r, p in state["queue"])
            rows = [int(r) for r in state["rows"]]
            self._maps = dict(zip(rows, state["maps"], strict=True))
            self._waiting = dict(zip(rows, (int(w) for w in state["waiting"]), strict=True))
        except (KeyError, ValueError) as error:
            raise checkpoint.damaged(error) from error


def window(canvas: NDArray[np.float32], reach: int, down: int, right: int, channels_last: bool) -> NDArray[np.float32]:
    """What the model sees when the content has moved by (down, right): the crop moves the other way."""
    axis = 0 if channels_last else 1
    height, width = canvas.shape[axis] - 2 * reach, canvas.shape[axis + 1] - 2 * reach
    rows, columns = slice(reach - down, reach - down + height), slice(reach - right, reach - right + width)
    return canvas[rows, columns] if channels_last else canvas[:, rows, columns]
