"""Drives a plan over pictures in rounds, full batches and bounded memory, and can stop and go on.

As many pictures as a batch holds are at work, each in its slot. A round decides all of them that are not waiting for
scores; what they ask for joins one queue, and a picture that is settled makes room for the next, so that the last
pictures of one chunk share their batches with the first of the next. Batches are taken off the queue while it holds a
whole one. What is asked, and in which batch, depends on the data alone, so a run that was stopped and resumed scores
the very same batches and ends in the same bits.

Pictures are cut into shards, fixed ranges that no batch crosses, so that shards can run anywhere, in any order and at
the same time, and merge to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.errors import InputError
from heldout.images import LabelledImages
from heldout.images.ahead import ReadAhead
from heldout.independence.plan import Decision, Plan
from heldout.orbit import Rule
from heldout.orbit.table import MoveTable
from heldout.scorers import Scorer
from heldout.scorers.batches import OutOfMemoryError
from heldout.scorers.canvases import canvases_for

Progress = Callable[[int, int], None]  # pictures finished, evaluations so far

BATCHES_OF_PICTURES = 64  # that a shard holds: its last batches, partly empty, are then a few in two thousand


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

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Those of shards, one after the other."""
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__})


@dataclass(frozen=True)
class Shard:
    """Some pictures of a set before one model: all that a worker needs to know."""

    scorer: Scorer
    images: LabelledImages
    rows: NDArray[np.intp]  # which pictures of the set, in this order
    table: MoveTable
    rule: Rule
    batch_size: int
    checkpoint: Path | None = None  # file for its unfinished work
    resume: bool = False  # whether to take up what is there
    fingerprint: Mapping[str, Any] = field(default_factory=dict)  # what must be equal for that

    def kept(self) -> Checkpoint:
        """Where its state is kept."""
        return Checkpoint(self.checkpoint, {**self.fingerprint, "batch_size": self.batch_size}, of="audit")


@dataclass(frozen=True)
class ShardResult:
    """What was found in a shard."""

    outcomes: Outcomes
    evaluations: int
    batch_size: int  # smaller than asked for where the device ran out of memory

    @classmethod
    def joined(cls, parts: Sequence[ShardResult]) -> ShardResult:
        """That of a whole set."""
        return cls(
            outcomes=Outcomes.joined([part.outcomes for part in parts]),
            evaluations=sum(part.evaluations for part in parts),
            batch_size=min(part.batch_size for part in parts),
        )


def shards_of(whole: Shard) -> list[Shard]:
    """A set in shards, which depend on nothing but the number of pictures and the batch size."""
    size = BATCHES_OF_PICTURES * whole.batch_size
    starts = range(0, len(whole.rows), size)
    if len(starts) == 1:
        return [whole]
    path = whole.checkpoint
    return [
        replace(
            whole,
            rows=whole.rows[start : start + size],
            checkpoint=None if path is None else path.with_name(f"{path.stem}-{number}{path.suffix}"),
            fingerprint={**whole.fingerprint, "shard": number},
        )
        for number, start in enumerate(starts)
    ]


def run_shard(shard: Shard, progress: Progress | None = None) -> ShardResult:
    """Score a shard to its end. A batch that does not fit into the device's memory is halved, and the shard restarted.

    Pure but for the checkpoint: equal shards give equal results, in whatever process.
    """
    for smaller in _halved(shard):
        rounds = Rounds(smaller)
        try:
            rounds.run(progress)
        except OutOfMemoryError:
            if smaller.batch_size == 1:
                raise
            continue
        return ShardResult(rounds.outcomes, rounds.evaluations, smaller.batch_size)
    raise AssertionError("unreachable")


def finished_before(shards: Sequence[Shard]) -> int:
    """How many pictures their checkpoints have outcomes for."""
    found = [_as_written(shard).kept().load() if shard.resume else None for shard in shards]
    return sum(int(state["counters"][1]) for state in found if state is not None and "counters" in state)


def keep_result(shard: Shard, result: ShardResult) -> None:
    """Write what was found elsewhere as the shard's checkpoint, as if it had been found here."""
    none = np.empty(0, dtype=np.intp)
    replace(shard, batch_size=result.batch_size).kept().save(
        {
            "counters": np.array([len(shard.rows), len(shard.rows), result.evaluations]),
            "queue": np.empty((0, 2), dtype=np.int64),
            "slots": none,
            "rows": none,
            "maps": np.empty((0, shard.table.n_positions)),
            **{f"outcome_{name}": values for name, values in vars(result.outcomes).items()},
        }
    )


def kept_result(shard: Shard) -> ShardResult | None:
    """What the shard's checkpoint holds, where it is that of a finished one."""
    written = _as_written(shard)
    state = written.kept().load() if shard.resume else None
    if state is None or int(state["counters"][1]) < len(shard.rows):
        return None
    outcomes = Outcomes(**{name: state[f"outcome_{name}"] for name in Outcomes.__annotations__})
    return ShardResult(outcomes, int(state["counters"][2]), written.batch_size)


def _halved(shard: Shard) -> Iterator[Shard]:
    """The shard as its checkpoint was written, then with ever smaller batches."""
    smaller = _as_written(shard)
    while True:
        yield smaller
        smaller = replace(smaller, batch_size=smaller.batch_size // 2, resume=False)


def _as_written(shard: Shard) -> Shard:
    """The shard with the batch size of its checkpoint, if that is its own, halved so and so often; else as it is."""
    size = shard.batch_size
    while shard.resume and size >= 1:
        smaller = replace(shard, batch_size=size)
        try:
            smaller.kept().load()
        except InputError:  # of another size, or altogether another: then reading it as it is will say so
            size //= 2
        else:
            return smaller
    return shard


class Rounds:
    """One shard, batch after batch.

    Parameters
    ----------
    shard : Shard
        Pictures, model and moves.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.outcomes = Outcomes.empty(len(shard.rows))
        self.evaluations = 0
        self.finished = 0
        n_slots = min(shard.batch_size, len(shard.rows))
        self._margin = int(np.abs(shard.table.versions).max())
        self.canvases = canvases_for(
            shard.scorer, shard.images, margin=self._margin, n_slots=n_slots, batch_size=shard.batch_size
        )
        self._xp = xp = self.canvases.arrays
        self.plan = Plan(shard.table, shard.rule, xp)
        self._versions = xp.put(shard.table.versions)
        self._next = 0  # the first picture that was not at work yet
        self._row = np.full(n_slots, -1)  # which picture is in a slot; -1 where none is
        self._maps = xp.full((n_slots, shard.table.n_positions), float("nan"))
        self._queue = xp.put(np.empty((0, 2), dtype=np.int64))  # (slot, position)
        self._whole = True  # False where the state is being changed and must not be saved
        self._ahead: ReadAhead | None = None

    @property
    def done(self) -> bool:
        """Whether every picture has its outcome."""
        return self.finished == len(self.shard.rows)

    def run(self, progress: Progress | None = None) -> None:
        """Go on to the end, saving the state now and then and whenever something stops the run."""
        kept = self.shard.kept()
        if self.shard.resume:
            self.load()
        try:
            with self.reading():
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

    def reading(self) -> ReadAhead:
        """Have pictures read ahead from here on; those at work are read once more where a run is resumed."""
        at_work = np.flatnonzero(self._row >= 0)
        if len(at_work):
            rows = self.shard.rows[self._row[at_work]]
            self.canvases.put(at_work, rows, [self.shard.images.place_many(rows, self._margin)])
        rows = self.shard.rows[self._next :]
        self._ahead = ReadAhead(self.shard.images, rows, self._margin, ahead=len(self._row))
        return self._ahead

    def step(self) -> None:
        """Score one batch, after as many rounds of decisions as fill it."""
        while len(self._queue) < self.shard.batch_size:
            self._admit()
            slots = self._ready()
            if not len(slots):
                break
            self._settle(slots, self._decide(slots))
        if len(self._queue):
            self._score()

    def _admit(self) -> None:
        """Pictures into free slots."""
        slots = np.flatnonzero(self._row < 0)[: len(self.shard.rows) - self._next]
        if not len(slots):
            return
        if self._ahead is None:
            self.reading()
        assert self._ahead is not None
        rows = np.arange(self._next, self._next + len(slots))
        self.canvases.put(slots, self.shard.rows[rows], self._ahead.take(len(slots)))
        self._whole = False
        self._maps[self._xp.put(slots)] = float("nan")
        self._row[slots] = rows
        self._next += len(slots)
        self._whole = True

    def _ready(self) -> NDArray[np.intp]:
        """Slots of pictures that do not wait for a score."""
        is_ready = self._row >= 0
        is_ready[self._xp.get(self._queue[:, 0])] = False
        return np.flatnonzero(is_ready)

    def _decide(self, slots: NDArray[np.intp]) -> Decision:
        """Outcomes and requests; where nothing else is left to fill the batch, more requests at a time."""
        self.canvases.check()
        maps, ask, most = self._maps[self._xp.put(slots)], self.canvases.ask, self.plan.table.n_positions
        decision = self.plan.decide(maps, ask)
        if self._next < len(self.shard.rows):
            return decision
        # How many a larger number would ask for is known from this decision; a GPU takes milliseconds for another.
        wanted = self._xp.get(decision.open)
        missing = self.shard.batch_size - len(self._queue) - int(decision.asked.sum()) + np.minimum(wanted, ask).sum()
        while ask < most and np.minimum(wanted, ask).sum() < missing:
            ask *= 2
        return decision if ask == self.canvases.ask else self.plan.decide(maps, ask)

    def _settle(self, slots: NDArray[np.intp], decision: Decision) -> None:
        """Enter outcomes, free their slots, and queue what is asked for."""
        xp = self._xp
        picture, position = xp.nonzero(decision.asked)
        queue = xp.concatenate([self._queue, xp.pairs(xp.put(slots)[picture], position)])
        settled = xp.get(decision.settled)
        found = {name: xp.get(getattr(decision, name))[settled] for name in Outcomes.__annotations__}
        moves = np.append(self.shard.table.moves, [[0, 0]], axis=0)  # the last one where nothing is moved
        found["move"] = moves[found["move"]]
        rows = self._row[slots[settled]]
        self._whole = False
        for name, values in found.items():
            getattr(self.outcomes, name)[rows] = values
        self._row[slots[settled]] = -1
        self.finished += len(rows)
        self._queue = queue
        self._whole = True

    def _score(self) -> None:
        """The first batch of the queue."""
        requests, rest = self._queue[: self.shard.batch_size], self._queue[self.shard.batch_size :]
        slots, positions = requests[:, 0], requests[:, 1]
        scores = self.canvases.scores(slots, self._versions[positions])
        self._whole = False
        self._maps[slots, positions] = scores
        self._queue = rest
        self.evaluations += len(requests)
        self._whole = True

    def _state(self) -> dict[str, NDArray[Any]]:
        at_work = np.flatnonzero(self._row >= 0)
        return {
            "counters": np.array([self._next, self.finished, self.evaluations]),
            "queue": self._xp.get(self._queue),
            "slots": at_work,
            "rows": self._row[at_work],
            "maps": self._xp.get(self._maps)[at_work],
            **{f"outcome_{name}": values for name, values in vars(self.outcomes).items()},
        }

    def save(self) -> None:
        """Write the whole state; the file is replaced in one step or not at all."""
        self.shard.kept().save(self._state())

    def load(self) -> None:
        """Take up a saved state of the same shard, if there is one."""
        kept = self.shard.kept()
        state = kept.load()
        if state is None:
            return
        try:
            self._next, self.finished, self.evaluations = (int(c) for c in state["counters"])
            self.outcomes = Outcomes(**{name: state[f"outcome_{name}"] for name in Outcomes.__annotations__})
            self._queue = self._xp.put(state["queue"])
            self._row[:] = -1
            self._row[state["slots"]] = state["rows"]
            self._maps[self._xp.put(state["slots"])] = self._xp.put(state["maps"])
        except (KeyError, ValueError, IndexError) as error:
            raise kept.damaged(error) from error
