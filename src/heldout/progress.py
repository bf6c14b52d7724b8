"""Progress of long work, for people and for log files.

A terminal gets a moving bar. A log file gets lines, one at least every ten seconds: where the work itself says nothing
for so long, a thread does (`heartbeat`).
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

SECONDS_BETWEEN_LINES = 8.0  # so that a line that comes a little late still comes within ten

_lock = threading.RLock()
_at_work: list[Callable[[], str]] = []  # what is going on, the innermost last: each says its line
_spoke = 0.0  # when the last line came


def write_line(line: str) -> None:
    """One line to stderr, which puts off the next one of the heartbeat."""
    global _spoke
    with _lock:
        _spoke = time.monotonic()
        with contextlib.suppress(OSError, ValueError):  # nobody listens
            print(line, file=sys.stderr, flush=True)


class heartbeat:
    """While this lasts, a log file hears something every few seconds, whatever the work does.

    Parameters
    ----------
    label : str
        What is at work, where no bar says more.
    """

    def __init__(self, label: str) -> None:
        self._label, self._began = label, time.monotonic()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> heartbeat:
        global _spoke
        if not sys.stderr.isatty():
            _spoke = time.monotonic()
            _at_work.append(self._line)
            self._thread = threading.Thread(target=self._beat, name="heldout-heartbeat", daemon=True)
            self._thread.start()
        return self

    def _line(self) -> str:
        return f"{self._label}: at work for {time.monotonic() - self._began:,.0f} s"

    def _beat(self) -> None:
        while not self._stop.wait(max(0.05, _spoke + SECONDS_BETWEEN_LINES - time.monotonic())):
            with _lock:
                if time.monotonic() - _spoke >= SECONDS_BETWEEN_LINES and _at_work:
                    write_line(_at_work[-1]())

    def stop(self) -> None:
        """Say nothing more."""
        self._stop.set()

    def __exit__(self, *exc: object) -> None:
        self.stop()
        if self._thread is not None:
            with _lock:
                _at_work.remove(self._line)


class progress_bar:
    """Progress on stderr: evaluations of about how many, their rate, the time left, pictures finished.

    Pictures finish in bursts, evaluations do not, so these tell the time left. A log file gets a line now and then
    instead of a moving bar.
    """

    def __init__(self, expected: int, pictures: int, label: str, shown: bool) -> None:
        self._expected, self._pictures, self._label, self._shown = expected, pictures, label, shown
        self._tqdm: Any = None
        self._finished = self._evaluations = 0

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not self._shown:
            return None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._tqdm = tqdm(
                total=self._expected, desc=self._label, unit=" evaluations", dynamic_ncols=True, mininterval=0.2
            )
        else:
            _at_work.append(self._line)
        return self._tell

    def _line(self) -> str:
        about = "" if self._finished == self._pictures else f" of about {self._expected:,}"
        done = f"{self._evaluations:,}{about} evaluations, {self._finished:,}/{self._pictures:,} pictures"
        return f"{self._label}: {done}"

    def _tell(self, finished: int, evaluations: int) -> None:
        self._finished, self._evaluations = finished, evaluations
        done = finished == self._pictures
        if self._tqdm is not None:
            self._tqdm.total = evaluations if done else max(self._expected, evaluations)
            self._tqdm.set_postfix_str(f"{finished:,}/{self._pictures:,} pictures", refresh=False)
            self._tqdm.update(evaluations - self._tqdm.n)
        elif done or time.monotonic() - _spoke > SECONDS_BETWEEN_LINES:
            write_line(self._line())

    def __exit__(self, *exc: object) -> None:
        if self._tqdm is not None:
            self._tqdm.close()
        elif self._shown:
            _at_work.remove(self._line)


class progress_lines:
    """What a bar says, in plain lines for a log file: none for short work, then one every few seconds."""

    def __init__(self, total: int, label: str, unit: str) -> None:
        self._total, self._label, self._unit = total, label, unit
        self.n, self._first = 0, 0  # done, and done before this run
        self._began = self._wrote = time.monotonic()

    def __enter__(self) -> progress_lines:
        _at_work.append(self._line)
        return self

    def update(self, count: int = 1) -> None:
        """So many more are done."""
        now = time.monotonic()
        self.n += count
        if now - max(self._wrote, _spoke) >= SECONDS_BETWEEN_LINES:
            self._wrote = now
            write_line(self._line())

    def resumed(self, count: int) -> None:
        """So many were done before this run, as its checkpoint says."""
        self.n = self._first = count
        write_line(continued(self._label, count, self._total, self._unit))

    def _line(self) -> str:
        rate = (self.n - self._first) / max(time.monotonic() - self._began, 1e-9)
        left = f", about {(self._total - self.n) / rate:,.0f} s left" if rate > 0 else ""
        return f"{self._label}: {self.n:,} of {self._total:,} {self._unit}, {_rate(rate)} a second{left}"

    def __exit__(self, *exc: object) -> None:
        _at_work.remove(self._line)


def _rate(rate: float) -> str:
    """Three digits at most after the first that counts, and never a power of ten.

    Examples
    --------
    >>> _rate(5612.3), _rate(12.34), _rate(0.0456), _rate(0.0)
    ('5,612', '12.3', '0.0456', '0')
    """
    if rate >= 100:
        return f"{rate:,.0f}"
    return f"{rate:.3g}" if rate >= 1e-4 else f"{rate:.6f}".rstrip("0").rstrip(".")


def plain_bar(total: int, label: str, *, unit: str, shown: bool) -> Any:
    """A bar on stderr for work that is often short: nothing is drawn at first; lines where nobody watches."""
    if not shown:
        return hidden_bar()
    if not sys.stderr.isatty():
        return progress_lines(total, label, unit)
    return _moving_bar()(total=total, desc=label, unit=f" {unit}", mininterval=0.2, delay=2)


class hidden_bar:
    """What a bar is told, and nobody hears."""

    n = 0

    def __enter__(self) -> hidden_bar:
        return self

    def update(self, count: int = 1) -> None:
        """So many more are done."""
        self.n += count

    def resumed(self, count: int) -> None:
        """So many were done before this run."""
        self.n = count

    def __exit__(self, *exc: object) -> None:
        return None


@cache
def _moving_bar() -> Any:
    """One class for all bars: each class of tqdm's has a thread of its own that looks after them."""
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def resumed(self, count: int) -> None:
            write_line(continued(self.desc, count, self.total, self.unit.strip()))
            self.initial = self.n = count  # the rate is that of this run

    return Bar


def continued(label: str, done: int, total: int, unit: str) -> str:
    """What `--resume` says of every part of the work, whatever the verb.

    Examples
    --------
    >>> continued("test set", 1200, 2000, "pictures")
    'test set: continuing: 1,200 of 2,000 pictures were done.'
    """
    return f"{label}: continuing: {done:,} of {total:,} {unit} were done."
