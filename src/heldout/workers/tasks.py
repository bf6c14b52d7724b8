"""Tasks that do not depend on each other, here or in worker processes, in one order."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from heldout.checks import check_n_jobs
from heldout.errors import HeldoutError, InputError, told
from heldout.workers.ending import end_workers, guard, interrupts_held
from heldout.workers.surroundings import Surroundings

if TYPE_CHECKING:
    from heldout.workers.parcels import Parcels

NUMBERS = 4  # that a task may tell at a time
BETWEEN_LOOKS = 0.2  # seconds between two looks at what tasks tell
PATIENCE = 5.0  # seconds that tasks have to stop

Task = TypeVar("Task")
Found = TypeVar("Found")
Tell = Callable[..., None]


def run_tasks(
    function: Callable[[Task, Tell], Found],
    tasks: Sequence[Task],
    *,
    n_jobs: int = 1,
    tell: Tell | None = None,
    done: Callable[[int, Found], None] | None = None,
    shared: Shared | None = None,
) -> list[Found]:
    """What a function makes of each task, in the order of the tasks, whoever did them and when.

    With one worker all happens here, one task after the other. With more it happens in processes that end with this
    one, use as many threads for their arithmetic as it does, and import what it can.

    A task that raises an error of ours, and Ctrl-C, stop the others where they next call `tell`, by an exception that
    lets them keep their state.

    Parameters
    ----------
    function : function of a task and `tell`
        Of the top level of a module. It calls `tell` now and then with at most four whole numbers of its choice.
    n_jobs : int
        Workers, as joblib counts them.
    tell : function of (number of a task, its numbers), optional
        Hears, in this process, how far tasks are; not of every call.
    done : function of (number of a task, what was found), optional
        Hears, in this process, of each task that ended, in whatever order.
    shared : Shared, optional
        What many tasks hold, of this run or of others.
    """
    workers = min(n_workers(n_jobs), len(tasks))
    if workers < 2:
        found = []
        for number, task in enumerate(tasks):
            found.append(function(task, partial(tell or _unheard, number)))
            if done is not None:
                done(number, found[-1])
        return found
    with _Board(len(tasks)) as board:
        work = _dispatched(function, tasks, workers, shared or Shared(), board)
        return _collected(work, len(tasks), board, tell or _unheard, done)


def in_threads(function: Callable[..., Found], tasks: Iterable[tuple[Any, ...]], *, n_jobs: int = 1) -> Iterator[Found]:
    """What a function makes of each task, its arguments, in their order; tasks are made one after the other, a few
    ahead of time.
    """
    workers = n_workers(n_jobs)
    if workers == 1:
        return starmap(function, tasks)
    from joblib import Parallel, delayed

    work = Parallel(n_jobs=workers, require="sharedmem", pre_dispatch=workers, batch_size=1, return_as="generator")
    found: Iterator[Found] = work(delayed(function)(*task) for task in tasks)
    return found


def n_workers(n_jobs: int) -> int:
    """How many that are here."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(check_n_jobs(n_jobs)))


def _unheard(*numbers: int) -> None:
    """What nobody listens to."""


def _dispatched(
    function: Callable[[Task, Tell], Found],
    tasks: Sequence[Task],
    workers: int,
    shared: Shared,
    board: _Board,
) -> Iterator[tuple[int, Found | Exception]]:
    """Workers are started and begin; what they found, as it comes."""
    from joblib import Parallel, delayed, parallel_config

    parcels = shared.parcels(f"n_jobs={workers}")
    surroundings = Surroundings.here()

    def calls() -> Iterator[Any]:
        for number, task in enumerate(tasks):
            yield delayed(_one)(parcels.letter((function, task)), number, board.path, surroundings)

    with parallel_config("loky", inner_max_num_threads=surroundings.most_threads), interrupts_held():
        work: Iterator[tuple[int, Found | Exception]] = Parallel(
            n_jobs=workers,
            return_as="generator_unordered",
            batch_size=1,
            mmap_mode="c",  # large arrays are one copy for all workers, until one of them writes to its own
            **guard(),
        )(calls())
    return work


def _collected(
    work: Iterator[tuple[int, Found | Exception]],
    n: int,
    board: _Board,
    tell: Tell,
    done: Callable[[int, Found], None] | None,
) -> list[Found]:
    """All that was found, or the error of the first task that had one."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    found: dict[int, Found] = {}
    failures: dict[int, Exception] = {}
    try:
        with board.watched(tell), _asks_first(board):
            for number, result in work:
                if isinstance(result, Exception):
                    failures[number] = result
                    board.stop()
                else:
                    found[number] = result
                    if done is not None:
                        done(number, result)
    except TerminatedWorkerError as error:
        raise InputError(
            "a worker died, most often for want of memory. What was finished is kept; try fewer workers (`n_jobs`)."
        ) from error
    errors = [failures[number] for number in sorted(failures) if not isinstance(failures[number], Stopped)]
    if errors:
        raise errors[0]
    return [found[number] for number in range(n)]


class Shared:
    """What tasks of several runs hold, such as a model, and what it is called: packed once, when the first of them is
    sent, and opened once by a worker that still has it.

    As a block: with the end of the last one the workers end, and what they hold; idle, they would keep it for minutes.
    """

    _using: ClassVar[set[Shared]] = set()  # of all threads, since they share the workers
    _started: ClassVar[bool] = False  # whether there are any
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, *things: tuple[str, Any]) -> None:
        self._things = things
        self._parcels: Parcels | None = None

    def parcels(self, by: str) -> Parcels:
        """As they are sent, `by` which option; all are packed by then, so that what cannot be sent is told at once."""
        from heldout.workers.parcels import Parcels

        if self._parcels is None:
            parcels = Parcels(self._things, by, instead="leave `n_jobs` out")
            dict(parcels)  # packs
            self._parcels = parcels
        Shared._started = True
        return self._parcels

    def __enter__(self) -> Shared:
        with self._lock:
            self._using.add(self)
        return self

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._using.discard(self)
            if Shared._started and not self._using:
                Shared._started = False
                end_workers()


class Stopped(Exception):
    """Raised by `tell` in a worker whose work is no longer wanted."""


class _Board:
    """Numbers that workers write and their parent reads: a row for each task, and whether all should stop."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._folder: Any = None
        self._rows: Any = None
        self.path = ""

    def __enter__(self) -> _Board:
        self._folder = tempfile.TemporaryDirectory(prefix="heldout-", ignore_cleanup_errors=True)
        self.path = str(Path(self._folder.name) / "told")
        self._rows = np.memmap(self.path, np.int64, "w+", shape=(self._n + 1, NUMBERS + 1))
        return self

    def __exit__(self, *exc: object) -> None:
        self._rows = None
        self._folder.cleanup()

    def stop(self) -> None:
        """Have every task stop where it next tells something."""
        self._rows[-1, 0] = 1

    @property
    def stopped(self) -> bool:
        """Whether they should."""
        return bool(self._rows[-1, 0])

    @contextmanager
    def watched(self, tell: Tell) -> Iterator[None]:
        """Pass on what is written, a few times a second; an interrupt that does not get through in time is repeated."""
        heard: dict[int, list[int]] = {}
        over = threading.Event()

        def look() -> None:
            for number, row in enumerate(self._rows[:-1].tolist()):
                if row[0] and heard.get(number) != row:
                    heard[number] = row
                    tell(number, *row[1 : row[0]])

        def watch() -> None:
            while not over.wait(BETWEEN_LOOKS):
                look()

        watcher = threading.Thread(target=watch, name="heldout-workers", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            look()


@contextmanager
def _asks_first(board: _Board) -> Iterator[None]:
    """Ctrl-C has workers stop and keep their state; a second one, or those that take too long, end them at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    over = threading.Event()
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)
        board.stop()
        threading.Thread(target=insist, name="heldout-interrupt", daemon=True).start()

    def insist() -> None:
        if not over.wait(PATIENCE):
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)
    if asked:
        before(signal.SIGINT, None)
        raise KeyboardInterrupt


def _one(letter: Any, number: int, path: str, surroundings: Surroundings) -> tuple[int, Any]:
    """In a worker: one task."""
    rows = np.memmap(path, np.int64, "r+").reshape(-1, NUMBERS + 1)

    def tell(*numbers: int) -> None:
        rows[number, 1 : len(numbers) + 1] = numbers
        rows[number, 0] = len(numbers) + 1
        if rows[-1, 0]:
            raise Stopped

    if rows[-1, 0]:
        return number, Stopped()
    surroundings.find()
    try:
        function, task = letter.opened()
    except Exception as error:
        rows[-1, 0] = 1
        return number, InputError(f"a worker process could not take its work over ({told(error)}); use `n_jobs=1`.")
    try:
        with surroundings.restored():
            return number, function(task, tell)
    except (HeldoutError, Stopped) as error:
        rows[-1, 0] = 1  # here already, so that this worker begins no other
        return number, error
