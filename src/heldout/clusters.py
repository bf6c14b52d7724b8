"""Tasks that do not depend on each other, on the nodes of a Ray cluster, in one order.

As `heldout.workers.run_tasks`, past one machine. A task whose worker or node dies is begun again elsewhere, and counts
once. What many tasks hold is put into Ray's object store once, and opened once by each worker process. What they tell
on the way is collected beside this process, so that no other node takes it along.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from heldout._version import __version__
from heldout.errors import HeldoutError, InputError, MissingExtraError, import_extra, told
from heldout.workers.parcels import Parcel, Parcels
from heldout.workers.surroundings import Surroundings

SECONDS = 30.0  # that a cluster has to answer, and to have a node that tasks can run on
BETWEEN_LOOKS = 0.5  # seconds between two looks at what tasks tell
AHEAD = 2  # tasks that wait, for each one that can run: a node that is done finds the next one there
MOST_BEGUN = 20  # times that one task is begun: one that ends its worker every time would go on for ever
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # a greeting, answered in kind
SETTINGS = 4  # the type of that answer
INSTEAD = "leave `cluster` out"

Task = TypeVar("Task")
Found = TypeVar("Found")
Tell = Callable[..., None]


def run_on_cluster(
    function: Callable[[Task, Tell], Found],
    tasks: Sequence[Task],
    *,
    cluster: str,
    gpus: Sequence[bool] = (),
    tell: Tell | None = None,
    done: Callable[[int, Found], None] | None = None,
    say: Callable[[str], None] | None = None,
    shared: Sequence[tuple[str, Any]] = (),
    read_only: Sequence[tuple[str, Any]] = (),
) -> list[Found]:
    """What a function makes of each task, in the order of the tasks, whichever nodes did them and how often.

    Parameters
    ----------
    function : function of a task and `tell`
        Of the top level of a module. It calls `tell` now and then with whole numbers of its choice.
    cluster : str
        "auto" for the one that RAY_ADDRESS names or that runs on this machine, or its address, host:port.
    gpus : sequence of bool
        For each task, whether it needs a GPU of its own; without, none does.
    tell : function of (number of a task, its numbers), optional
        Hears how far tasks are; not of every call. A task that is begun again begins at the beginning.
    done : function of (number of a task, what was found), optional
        Hears, once, of each task that ended, in whatever order.
    say : function of a sentence, optional
        Hears of workers that died, and of tasks that wait because no node is left that could take them.
    shared, read_only : sequences of (str, object)
        What many tasks hold, and what it is called: it is pickled when the first of them is sent, once. A worker has
        its own copy of `shared`; arrays in `read_only` are one for all workers of a node, which must not write to them.
    """
    tell = tell or (lambda *numbers: None)
    if not tasks:
        return []
    with connected(cluster) as ray:
        run = _Run(ray, cluster, function, _Parcels(ray, cluster, shared, read_only), say or (lambda sentence: None))
        try:
            return _collected(run, tasks, gpus or [False] * len(tasks), tell, done)
        finally:
            run.cancel()


def _collected(
    run: _Run,
    tasks: Sequence[Task],
    gpus: Sequence[bool],
    tell: Tell,
    done: Callable[[int, Found], None] | None,
) -> list[Found]:
    """All that was found, or the error of the first task that had one."""
    found: dict[int, Found] = {}
    waiting = iter(range(len(tasks)))
    while len(found) < len(tasks):
        while len(run.sent) < run.room() and (number := next(waiting, None)) is not None:
            run.send(number, tasks[number], gpu=gpus[number])
        run.look_for_nodes()
        for number, result, numbers in run.ended():
            found[number] = result
            tell(number, *numbers)
            if done is not None:
                done(number, result)
        for number, numbers in run.heard().items():
            if number not in found:
                tell(number, *numbers)
    return [found[number] for number in range(len(tasks))]


class _Sent(NamedTuple):
    """A task on its way."""

    number: int
    wanted: str  # of a node: "CPU" or "GPU"
    letter: Parcel  # without its content


class _Run:
    """Tasks on their way, and what came back."""

    def __init__(
        self,
        ray: Any,
        cluster: str,
        function: Callable[..., Any],
        parcels: _Parcels,
        say: Callable[[str], None],
    ) -> None:
        self._ray, self._cluster, self._function = ray, cluster, function
        self._parcels, self._say = parcels, say
        self._surroundings = Surroundings.here()
        self.sent: dict[Any, _Sent] = {}  # by what Ray will have for it
        self._seen: dict[str, float] = {}  # "CPU", "GPU" -> when some node last had one
        self._slots = 1
        self._died = 0  # workers, as far as was said
        own_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=own_node)(_board())
        self._board = board.remote()
        self._worker = ray.remote(max_retries=-1)(_worker())

    def room(self) -> int:
        """How many tasks may be on their way."""
        return self._slots * (1 + AHEAD)

    def send(self, number: int, task: Any, *, gpu: bool) -> None:
        """Have a task done."""
        needs = self._needs(gpu)
        here = self._surroundings
        letter = self._parcels.letter((self._function, task, here))
        lent = self._parcels.lend(letter)
        own = letter.key, letter.content, letter.arrays
        work = self._worker.options(**needs).remote(
            __version__, here.path, here.folder, here.most_threads, own, lent, number, self._board
        )
        self.sent[work] = _Sent(number, "GPU" if gpu else "CPU", letter.bare())

    def _needs(self, gpu: bool) -> dict[str, float]:
        """What a task asks of a node: a GPU, or a core for each of its threads, as far as every node has so many."""
        wanted = "GPU" if gpu else "CPU"
        patience = time.monotonic() + SECONDS
        while not (some := self._nodes(wanted)):
            if time.monotonic() > patience:
                raise InputError(
                    f"`cluster={self._cluster!r}`: no node of the cluster has a {wanted}, not after {SECONDS:g} "
                    "seconds either; start one that has."
                )
            time.sleep(BETWEEN_LOOKS)
        self._seen[wanted] = time.monotonic()
        cores = 1 if gpu else min(self._surroundings.most_threads, *some)
        self._slots = sum(count // cores for count in some)
        return {"num_cpus": cores, "num_gpus": 1 if gpu else 0}

    def _nodes(self, wanted: str) -> list[int]:
        """How many each node has that has any."""
        nodes = [int(node["Resources"].get(wanted, 0)) for node in self._ray.nodes() if node["Alive"]]
        return [count for count in nodes if count >= 1]

    def look_for_nodes(self) -> None:
        """Say, once, that tasks wait because no node is left that could take them."""
        for wanted in sorted({sent.wanted for sent in self.sent.values()}):
            if self._nodes(wanted):
                self._seen[wanted] = time.monotonic()
            elif time.monotonic() - self._seen[wanted] > SECONDS:
                self._seen[wanted] = math.inf
                self._say(
                    f"no node of the cluster has had a {wanted} for {SECONDS:g} seconds; the run waits for one to "
                    "join, or for Ctrl-C. What was finished is kept."
                )

    def ended(self) -> Iterator[tuple[int, Any, tuple[int, ...]]]:
        """(number, what was found, the last it told) of tasks that ended meanwhile; their errors."""
        ready, _ = self._ray.wait(list(self.sent), num_returns=len(self.sent), timeout=BETWEEN_LOOKS)
        for work in sorted(ready, key=lambda work: self.sent[work].number):
            outcome, value, numbers = self._ray.get(work)
            sent = self.sent.pop(work)
            self._parcels.give_back(sent.letter)
            if outcome == "failed":
                raise value
            if outcome == "missing":
                raise InputError(
                    f"`cluster={self._cluster!r}`: {value}; install heldout and all that the models are made of on "
                    "every node, in the versions that are here."
                )
            yield sent.number, value, tuple(numbers)

    def heard(self) -> dict[int, tuple[int, ...]]:
        """What tasks told last, by their numbers."""
        try:
            told_last, begun = self._ray.get(self._board.read.remote(), timeout=SECONDS)
        except self._ray.exceptions.RayError:  # it is begun again, too
            return {}
        died = sum(begun.values()) - len(begun)
        if died > self._died:
            self._died = died
            self._say(f"{died:,} {'worker' if died == 1 else 'workers'} died; what was at work there is begun again.")
        if max(begun.values(), default=0) > MOST_BEGUN:
            raise InputError(
                f"`cluster={self._cluster!r}`: one task was begun {MOST_BEGUN} times, and its worker died every time, "
                "most often for want of memory. What was finished is kept."
            )
        return dict(told_last)

    def cancel(self) -> None:
        """What is still on its way is no longer wanted."""
        for work in self.sent:
            with contextlib.suppress(Exception):  # nothing that goes wrong now hides why we are here
                self._ray.cancel(work, force=True)
        with contextlib.suppress(Exception):
            self._ray.kill(self._board)


class _Parcels(Parcels):
    """As they are in the object store. What is `shared` stays there; what is `read_only` goes with the last task on its
    way that holds it, and is read anew where another task needs it later: pictures need not all fit at once.
    """

    def __init__(
        self, ray: Any, cluster: str, shared: Sequence[tuple[str, Any]], read_only: Sequence[tuple[str, Any]]
    ) -> None:
        super().__init__((*shared, *read_only), f"cluster={cluster!r}", instead=INSTEAD)
        self._ray = ray
        self._writable = {id(thing) for _, thing in shared}
        self._stored: dict[str, tuple[int, Any]] = {}  # key -> of what, and what Ray has for it
        self._holders: Counter[str] = Counter()  # key -> tasks on their way

    def __getitem__(self, which: int) -> Parcel:
        if which not in self._packed:
            parcel = super().__getitem__(which)
            put = self._ray.put((parcel.key, parcel.content, parcel.arrays, which in self._writable))
            self._stored[parcel.key] = which, put
            self._packed[which] = parcel.bare()  # Ray has the rest
        return self._packed[which]

    def lend(self, letter: Parcel) -> list[Any]:
        """What Ray has for all that a letter holds; it stays till that is given back."""
        keys = [each.key for each in letter.within]
        self._holders.update(keys)
        return [self._stored[key][1] for key in keys]

    def give_back(self, letter: Parcel) -> None:
        """Its task has ended."""
        for key in (each.key for each in letter.within):
            self._holders[key] -= 1
            which, _ = self._stored[key]
            if not self._holders[key] and which not in self._writable:
                del self._stored[key], self._packed[which]


def _board() -> type:
    """A class that is sent as it is written: a node needs nothing of ours for it."""

    class Board:
        def __init__(self) -> None:
            self._told: dict[int, tuple[int, ...]] = {}
            self._begun: dict[int, int] = {}

        def begin(self, number: int) -> None:
            self._begun[number] = self._begun.get(number, 0) + 1
            self._told.pop(number, None)

        def tell(self, number: int, numbers: tuple[int, ...]) -> None:
            self._told[number] = numbers

        def read(self) -> tuple[dict[int, tuple[int, ...]], dict[int, int]]:
            return self._told, self._begun

    return Board


def _worker() -> Callable[..., Any]:
    """A function that is sent as it is written, so that it can tell that a node has nothing of ours."""

    def work(
        version: str,
        path: Sequence[str],
        folder: str,
        threads: int,
        own: Any,
        lent: Sequence[Any],
        number: int,
        board: Any,
    ) -> Any:
        import contextlib
        import importlib
        import os
        import socket
        import sys

        ray: Any = importlib.import_module("ray")
        board.begin.remote(number)
        # What this process finds and how it computes, as far as it can be so before anything of ours is there.
        sys.path += [entry for entry in path if entry not in sys.path]
        with contextlib.suppress(OSError):
            os.chdir(folder)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # of libraries not loaded yet
            os.environ[name] = str(threads)
        node = f"the node {socket.gethostname()} ({ray.util.get_node_ip_address()})"
        try:
            import heldout
            from heldout.clusters import one_task
        except ImportError as error:
            return "missing", f"{node} has no module {error.name!r}", ()
        if heldout.__version__ != version:
            return "missing", f"{node} has heldout {heldout.__version__}, here is {version}", ()
        return one_task(own, ray.get(list(lent)), node, lambda *numbers: board.tell.remote(number, numbers))

    return work


def one_task(own: Any, lent: Sequence[Any], node: str, say: Tell) -> tuple[str, Any, tuple[int, ...]]:
    """In a worker: what came of a task, and the last it told."""
    import numpy as np

    within = tuple(
        Parcel(key, content, tuple(np.array(a) for a in arrays) if writable else tuple(arrays), ())
        for key, content, arrays, writable in lent
    )
    key, content, arrays = own
    try:
        function, task, surroundings = Parcel(key, content, tuple(np.array(a) for a in arrays), within).opened()
    except ImportError as error:
        return "missing", f"{node} has no module {_absent(error)!r}", ()
    except HeldoutError as error:
        return "failed", type(error)(f"{node}: {error}"), ()
    except Exception as error:  # another version of a module, most often
        return "missing", f"{node} cannot take its work over ({told(error)})", ()
    last: tuple[int, ...] = ()
    spoke = 0.0

    def tell(*numbers: int) -> None:
        nonlocal last, spoke
        last = tuple(int(number) for number in numbers)
        if time.monotonic() - spoke >= BETWEEN_LOOKS:
            spoke = time.monotonic()
            say(*last)

    try:
        with surroundings.restored():
            return "found", function(task, tell), last
    except MissingExtraError as error:
        return "missing", f"{node} has no module {_absent(error)!r}", ()
    except HeldoutError as error:
        return "failed", error, ()


def _absent(error: ImportError) -> str:
    """The name of the module that is not there."""
    cause = error.__cause__
    return error.name or (cause.name if isinstance(cause, ImportError) else None) or str(error)


@contextmanager
def connected(cluster: str) -> Iterator[Any]:
    """Ray, connected to a cluster; where it was connected before, it stays so."""
    ray = import_extra("ray", extra="ray")
    import_extra("ray.util.scheduling_strategies", extra="ray")
    if ray.is_initialized():
        yield ray
        return
    address = _address(cluster)
    check_answers(cluster, address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (Exception, SystemExit) as error:  # Ray raises a dozen types
        raise InputError(
            f"`cluster={cluster!r}`: the cluster at {address} cannot be used from here: {told(error)}."
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # which Ray has taken
    try:
        with _without_dumps(ray):
            yield ray
    finally:
        ray.shutdown()


@contextmanager
def _without_dumps(ray: Any) -> Iterator[None]:
    """Ray prints a page about every node that dies, whatever its options say; the run says it in a sentence."""
    inside = getattr(getattr(ray, "_private", None), "worker", None)
    printed = getattr(inside, "print_to_stdstream", None)
    if inside is None or printed is None:
        yield
        return
    inside.print_to_stdstream = lambda *args, **options: None
    try:
        yield
    finally:
        inside.print_to_stdstream = printed


def check_cluster(cluster: str | None, n_jobs: int) -> None:
    """Refuse at once, before the work begins, a cluster that is not there."""
    if cluster is None:
        return
    if n_jobs != 1:
        raise InputError(
            f"`cluster={cluster!r}` and `n_jobs={n_jobs}`: the nodes of a cluster have their own workers; give one of "
            "the two."
        )
    if not import_extra("ray", extra="ray").is_initialized():
        check_answers(cluster, _address(cluster))


def _address(cluster: Any) -> str:
    """host:port of a cluster that runs already; `auto` is what Ray means by it."""
    known = cluster
    if cluster == "auto":
        known = os.environ.get("RAY_ADDRESS") or "auto"
        if known in ("auto", "local"):
            return _address_here()
    host, _, port = known.rpartition(":") if isinstance(known, str) else ("", "", "")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 2**16:
        where = "" if known == cluster else f" (RAY_ADDRESS is {known!r})"
        raise InputError(
            f"`cluster={cluster!r}`{where}: give 'auto', or the address of a Ray cluster, host:port, and call it on "
            "one of its nodes."
        )
    return str(known)


def _address_here() -> str:
    """That of the cluster that this machine belongs to."""
    import_extra("ray", extra="ray")
    from ray._private import services  # what `ray status` asks; ray.init itself would wait for a cluster that is gone

    try:
        return str(services.canonicalize_bootstrap_address_or_die("auto"))
    except (ConnectionError, ValueError) as error:
        raise InputError(
            "`cluster='auto'`: no Ray cluster runs on this machine, and RAY_ADDRESS names none; start one with "
            "`ray start --head`, or join one with `ray start --address`."
        ) from error


def check_answers(cluster: str, address: str) -> None:
    """Refuse an address where no Ray answers: Ray itself would wait for more than a minute, and then say little."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS) as line:
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
                return
            line.sendall(HTTP2)
            answer = line.recv(9)
            if len(answer) < 4 or answer[3] != SETTINGS:
                raise OSError("what answers is not Ray")
    except OSError as error:
        reason = f"no answer within {SECONDS:g} seconds" if isinstance(error, TimeoutError) else told_plainly(error)
        raise InputError(
            f"`cluster={cluster!r}`: there is no Ray cluster at {address} ({reason}); start one with "
            "`ray start --head`, which prints its address."
        ) from error


def told_plainly(error: OSError) -> str:
    """What went wrong with a connection, in lower case as inside a sentence."""
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]
