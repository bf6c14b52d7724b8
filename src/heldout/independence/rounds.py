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

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.images import LabelledImages
from heldout.images.ahead import ReadAhead
from heldout.independence.plan import Decision, Plan
from heldout.orbit import Rule
from heldout.orbit.square import check_square, same_views, stabilisers
from heldout.orbit.table import MoveTable
from heldout.scorers import Scorer
from heldout.scorers.batches import with_batches_that_fit
from heldout.scorers.canvases import canvases_for

Progress = Callable[[int, int, int], None]  # pictures finished, evaluations so far, pictures per batch

BATCHES_OF_PICTURES = 64  # that a shard holds: its last batches, partly empty, are then a few in two thousand
LATER = ("symmetric", "views_wrong")  # what checkpoints of older versions, which knew shifts only, do not hold


@dataclass(frozen=True)
class Outcomes:
    """What each picture contributes, one row per picture.

    On a finite group: whether some versions are the same, and which ones are wrong, all of them. Else False and none.
    """

    statistic: NDArray[np.float64]
    weight: NDArray[np.float64]
    kind: NDArray[np.int8]
    move: NDArray[np.int16]
    moved_loss: NDArray[np.float64]
    moved_score: NDArray[np.float64]
    symmetric: NDArray[np.bool_]
    views_wrong: NDArray[np.bool_]  # (n, n_positions)

    @classmethod
    def empty(cls, n: int, d: int = 2, n_views: int = 0) -> Outcomes:
        """Room for n pictures; moves are d numbers each, and a finite group has so many views."""
        return cls(
            statistic=np.full(n, np.nan),
            weight=np.full(n, np.nan),
            kind=np.full(n, -1, dtype=np.int8),
            move=np.zeros((n, d), dtype=np.int16),
            moved_loss=np.full(n, np.nan),
            moved_score=np.full(n, np.nan),
            symmetric=np.zeros(n, dtype=bool),
            views_wrong=np.zeros((n, n_views), dtype=bool),
        )

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Those of shards, one after the other."""
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__})


@dataclass(frozen=True)
class State:
    """How far a shard is: what a checkpoint holds."""

    begun: int  # pictures that are at work or finished
    finished: int
    evaluations: int
    batch_size: int  # smaller than asked for where the device ran out of memory
    outcomes: Outcomes
    queue: NDArray[np.int64]  # (slot, position) of scores that are asked for
    slots: NDArray[np.intp]  # of the pictures at work, and
    rows: NDArray[np.intp]  # which those are
    maps: NDArray[np.float64]  # their scores so far

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As a file holds it."""
        return {
            "counters": np.array([self.begun, self.finished, self.evaluations, self.batch_size]),
            "queue": self.queue,
            "slots": self.slots,
            "rows": self.rows,
            "maps": self.maps,
            **{f"outcome_{name}": values for name, values in vars(self.outcomes).items()},
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> State:
        """The same from a file; KeyError, ValueError or TypeError where that holds something else."""
        begun, finished, evaluations, batch_size = (int(count) for count in arrays["counters"])
        empty = vars(Outcomes.empty(*arrays["outcome_move"].shape))
        outcomes = {name: arrays[f"outcome_{name}"] for name in empty if name not in LATER}
        outcomes |= {name: arrays.get(f"outcome_{name}", empty[name]) for name in LATER}
        return cls(
            begun,
            finished,
            evaluations,
            batch_size,
            outcomes=Outcomes(**outcomes),
            queue=arrays["queue"],
            slots=arrays["slots"],
            rows=arrays["rows"],
            maps=arrays["maps"],
        )


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

    def before(self) -> State | None:
        """How far it was when it was stopped, if that is to be taken up."""
        kept = self.kept()
        arrays = kept.load() if self.resume else None
        try:
            return None if arrays is None else State.of(arrays)
        except (KeyError, ValueError, TypeError) as error:
            raise kept.damaged(error) from error


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
    before = shard.before()

    def scored(size: int) -> ShardResult:
        rounds = Rounds(shard, size)
        if before is not None and before.batch_size == size:
            rounds.take_up(before)
        rounds.run(progress)
        return ShardResult(rounds.outcomes, rounds.evaluations, size)

    size = shard.batch_size if before is None else before.batch_size
    return with_batches_that_fit(scored, size, lambda smaller: None, scorer=shard.scorer)


def finished_before(shards: Sequence[Shard]) -> int:
    """How many pictures their checkpoints have outcomes for."""
    return sum(state.finished for shard in shards if (state := shard.before()) is not None)


def keep_result(shard: Shard, result: ShardResult) -> None:
    """Write what was found elsewhere as the shard's checkpoint, as if it had been found here."""
    n, none = len(shard.rows), np.empty(0, dtype=np.intp)
    state = State(
        n,
        n,
        result.evaluations,
        result.batch_size,
        outcomes=result.outcomes,
        queue=np.empty((0, 2), dtype=np.int64),
        slots=none,
        rows=none,
        maps=np.empty((0, shard.table.n_positions)),
    )
    shard.kept().save(state.arrays())


def kept_result(shard: Shard) -> ShardResult | None:
    """What the shard's checkpoint holds, where it is that of a finished one."""
    state = shard.before()
    if state is None or state.finished < len(shard.rows):
        return None
    return ShardResult(state.outcomes, state.evaluations, state.batch_size)


class Rounds:
    """One shard, batch after batch.

    Parameters
    ----------
    shard : Shard
        Pictures, model and moves.
    batch_size : int, optional
        Smaller than the shard's, where the device ran out of memory.
    """

    def __init__(self, shard: Shard, batch_size: int | None = None) -> None:
        self.shard, self.batch_size = shard, batch_size or shard.batch_size
        n_views = shard.table.n_positions if shard.table.is_group else 0
        self.outcomes = Outcomes.empty(len(shard.rows), shard.table.moves.shape[1], n_views)
        self.evaluations = 0
        self.finished = 0
        # The views of a finite group are those of whole pictures, of which each is framed and held by itself, unless
        # the frame shows the whole picture: what a crop shows of a mirrored picture may be another crop of it.
        self._views = shard.table.versions[:, 0].tolist() if n_views and not shard.images.frame.one_size else None
        self._each = 1 if self._views is None else n_views
        n_slots = min(self.batch_size, len(shard.rows))
        if self._views is not None:  # all of which are asked for at once
            n_slots = min(n_slots, 2 * -(-self.batch_size // n_views))
        self._margin = shard.table.margin
        self.canvases = canvases_for(
            shard.scorer, shard.images, margin=self._margin, n_slots=self._each * n_slots, batch_size=self.batch_size
        )
        self._xp = xp = self.canvases.arrays
        self.plan = Plan(shard.table, shard.rule, xp)
        self._plans: dict[bytes, Plan] = {}  # of pictures that some flips and turns leave as they are
        n_elements = 0 if shard.table.symmetries is None else len(shard.table.symmetries)
        self._kept = np.zeros((n_slots, n_elements), dtype=bool)  # which ones leave the picture in a slot as it is
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
        kept, tell = self.shard.kept(), progress or (lambda *numbers: None)
        try:
            with self.reading():
                while not self.done:
                    tell(self.finished, self.evaluations, self.batch_size)
                    self.step()
                    kept.keep(self._arrays)
        except BaseException:
            # Stopped between two states (an interrupt may fall anywhere), the last checkpoint stays; as it does where a
            # device that failed, or whose scores are not finite, has no state to give.
            arrays = None
            with contextlib.suppress(Exception):
                arrays = self._arrays() if self._whole else None
            if arrays is not None:
                kept.save(arrays)
            raise
        finally:
            self._ahead = None
        kept.save(self._arrays())
        tell(self.finished, self.evaluations, self.batch_size)

    def reading(self) -> ReadAhead:
        """Have pictures read ahead from here on; those at work are read once more where a run is resumed."""
        at_work = np.flatnonzero(self._row >= 0)
        if len(at_work):
            rows = self.shard.rows[self._row[at_work]]
            with self._read(rows) as again:
                self._put(at_work, rows, again.take(len(rows)))
        self._ahead = self._read(self.shard.rows[self._next :])
        return self._ahead

    def _read(self, rows: NDArray[np.intp]) -> ReadAhead:
        ahead, views = len(self._row), self._views
        return ReadAhead(self.shard.images, rows, self._margin, ahead=ahead, send=self._sent, views=views)

    def _sent(self, pixels: NDArray[Any]) -> Any:
        """Placed pictures on their way to their slots; at once, unless their symmetries are to be seen first."""
        return self.canvases.send(pixels) if self.shard.table.elements is None else pixels

    def step(self) -> None:
        """Score one batch, after as many rounds of decisions as fill it."""
        while len(self._queue) < self.batch_size:
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
        self._put(slots, self.shard.rows[rows], self._ahead.take(len(slots)))
        self._whole = False
        self._maps[self._xp.put(slots)] = float("nan")
        self._row[slots] = rows
        self._next += len(slots)
        self._whole = True

    def _put(self, slots: NDArray[np.intp], rows: NDArray[np.intp], parts: Iterable[Any]) -> None:
        """Pictures into slots; on the way it is seen which flips and turns leave each of them as it is."""
        if self.shard.table.elements is not None:
            parts = self._seen(slots, parts)
        if self._views is not None:
            slots, rows = (slots[:, None] * self._each + np.arange(self._each)).reshape(-1), rows.repeat(self._each)
        self.canvases.put(slots, rows, parts)

    def _seen(self, slots: NDArray[np.intp], parts: Iterable[NDArray[Any]]) -> Iterator[Any]:
        """The same pictures, sent on."""
        elements, symmetries, n = self.shard.table.elements, self.shard.table.symmetries, 0
        assert elements is not None
        for part in parts:
            check_square(elements.tolist(), part.shape[-3:-1])
            if symmetries is not None:
                here = slots[n : n + len(part)]
                by_one = self._views is not None
                self._kept[here] = same_views(part, symmetries) if by_one else stabilisers(part, elements.tolist())
            n += len(part)
            yield self.canvases.send(part.reshape(-1, *part.shape[-3:]))

    def _ready(self) -> NDArray[np.intp]:
        """Slots of pictures that do not wait for a score."""
        is_ready = self._row >= 0
        is_ready[self._xp.get(self._queue[:, 0])] = False
        return np.flatnonzero(is_ready)

    def _decide(self, slots: NDArray[np.intp]) -> Decision:
        """Outcomes and requests; where nothing else is left to fill the batch, more requests at a time."""
        self.canvases.check()
        ask = self.canvases.ask
        decision = self._decided(slots, ask)
        if self._next < len(self.shard.rows):
            return decision
        # How many a larger number would ask for is known from this decision; a GPU takes milliseconds for another.
        wanted = self._xp.get(decision.open)
        missing = self.batch_size - len(self._queue) - int(decision.asked.sum()) + np.minimum(wanted, ask).sum()
        most = int(wanted.max(initial=0))  # more would be the same decision
        while ask < most and np.minimum(wanted, ask).sum() < missing:
            ask *= 2
        return decision if ask == self.canvases.ask else self._decided(slots, ask)

    def _decided(self, slots: NDArray[np.intp], ask: int) -> Decision:
        """By the plan of each picture, which is the same for all but those that have symmetries."""
        xp, maps = self._xp, self._maps[self._xp.put(slots)]
        has_more = self._kept[slots, 1:].any(axis=1)
        if not has_more.any():
            return self.plan.decide(maps, ask)
        kinds, kind = np.unique(self._kept[slots], axis=0, return_inverse=True)
        rows = [np.flatnonzero(kind.reshape(-1) == k) for k in range(len(kinds))]
        found = [self._plan_of(kept).decide(maps[xp.put(some)], ask) for kept, some in zip(kinds, rows, strict=True)]
        order = xp.put(np.argsort(np.concatenate(rows)))
        parts = {name: [getattr(decision, name) for decision in found] for name in vars(found[0])}
        return Decision(**{
            name: None if some[0] is None else xp.concatenate(some)[order] for name, some in parts.items()
        })  # fmt: skip

    def _plan_of(self, kept: NDArray[np.bool_]) -> Plan:
        """For pictures that these flips and turns leave as they are."""
        if not kept[1:].any():
            return self.plan
        key = kept.tobytes()
        if key not in self._plans:
            self._plans[key] = Plan(self.shard.table.merged(kept), self.shard.rule, self._xp)
        return self._plans[key]

    def _settle(self, slots: NDArray[np.intp], decision: Decision) -> None:
        """Enter outcomes, free their slots, and queue what is asked for."""
        xp = self._xp
        picture, position = xp.nonzero(decision.asked)
        queue = xp.concatenate([self._queue, xp.pairs(xp.put(slots)[picture], position)])
        settled = xp.get(decision.settled)
        told = {name: getattr(decision, name) for name in Outcomes.__annotations__}
        found = {name: xp.get(values)[settled] for name, values in told.items() if values is not None}
        moves = np.append(self.shard.table.moves, 0 * self.shard.table.moves[:1], axis=0)  # the last: nothing is moved
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
        requests, rest = self._queue[: self.batch_size], self._queue[self.batch_size :]
        slots, positions = requests[:, 0], requests[:, 1]
        if self._views is None:
            scores = self.canvases.scores(slots, self._versions[positions])
        else:
            scores = self.canvases.scores(slots * self._each + positions, self._versions[positions][:, 1:])
        self._whole = False
        self._maps[slots, positions] = scores
        self._queue = rest
        self.evaluations += len(requests)
        self._whole = True

    def state(self) -> State:
        """How far it is; InputError where a score was not finite, so that no such score is ever saved."""
        self.canvases.check()
        at_work = np.flatnonzero(self._row >= 0)
        return State(
            self._next,
            self.finished,
            self.evaluations,
            self.batch_size,
            outcomes=self.outcomes,
            queue=self._xp.get(self._queue),
            slots=at_work,
            rows=self._row[at_work],
            maps=self._xp.get(self._maps)[at_work],
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.state().arrays()

    def take_up(self, state: State) -> None:
        """Go on from a state of the same shard and batch size."""
        try:
            self._next, self.finished, self.evaluations = state.begun, state.finished, state.evaluations
            self.outcomes, self._queue = state.outcomes, self._xp.put(state.queue)
            self._row[:] = -1
            self._row[state.slots] = state.rows
            self._maps[self._xp.put(state.slots)] = self._xp.put(state.maps)
        except (ValueError, IndexError) as error:
            raise self.shard.kept().damaged(error) from error
