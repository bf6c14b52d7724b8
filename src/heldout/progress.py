"""Progress of long work, for people and for log files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

SECONDS_BETWEEN_LINES = 30.0


class progress_bar:
    """Progress on stderr: evaluations of about how many, their rate, the time left, pictures finished.

    Pictures finish in bursts, evaluations do not, so these tell the time left. A log file gets a line now and then
    instead of a moving bar.
    """

    def __init__(self, expected: int, pictures: int, label: str, shown: bool) -> None:
        self._expected, self._pictures, self._label, self._shown = expected, pictures, label, shown
        self._tqdm: Any = None
        self._spoke = time.monotonic()

    def __enter__(self) -> Callable[[int, int], None] | None:
        if not self._shown:
            return None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._tqdm = tqdm(
                total=self._expected, desc=self._label, unit=" evaluations", dynamic_ncols=True, mininterval=0.2
            )
        return self._tell

    def _tell(self, finished: int, evaluations: int) -> None:
        done = finished == self._pictures
        if self._tqdm is not None:
            self._tqdm.total = evaluations if done else max(self._expected, evaluations)
            self._tqdm.set_postfix_str(f"{finished:,}/{self._pictures:,} pictures", refresh=False)
            self._tqdm.update(evaluations - self._tqdm.n)
        elif done or time.monotonic() - self._spoke > SECONDS_BETWEEN_LINES:
            self._spoke = time.monotonic()
            about = "" if done else f" of about {self._expected:,}"
            line = f"{self._label}: {evaluations:,}{about} evaluations, {finished:,}/{self._pictures:,} pictures"
            print(line, file=sys.stderr, flush=True)

    def __exit__(self, *exc: object) -> None:
        if self._tqdm is not None:
            self._tqdm.close()


class progress_lines:
    """What a bar says, in plain lines for a log file: one after ten seconds, then one every half minute."""

    def __init__(self, total: int, label: str, unit: str) -> None:
        self._total, self._label, self._unit = total, label, unit
        self.n, self._first = 0, 0  # n is done
        self._began = time.monotonic()
        self._next = self._began + SECONDS_BETWEEN_LINES / 3

    def __enter__(self) -> progress_lines:
        return self

    def update(self, count: int = 1) -> None:
        """So many more are done."""
        now = time.monotonic()
        if self.n == 0 and now - self._began < 0.1:
            self._first = count  # what was done before this run
        self.n += count
        if now < self._next:
            return
        self._next = now + SECONDS_BETWEEN_LINES
        rate = (self.n - self._first) / (now - self._began)
        left = f", about {(self._total - self.n) / rate:,.0f} s left" if rate > 0 else ""
        line = f"{self._label}: {self.n:,} of {self._total:,} {self._unit}, {rate:,.3g} a second{left}"
        print(line, file=sys.stderr, flush=True)

    def __exit__(self, *exc: object) -> None:
        pass


def plain_bar(total: int, label: str, *, unit: str, shown: bool) -> Any:
    """A bar on stderr for work that is often short: nothing is drawn at first; lines where nobody watches."""
    if shown and not sys.stderr.isatty():
        return progress_lines(total, label, unit)
    from tqdm import tqdm

    return tqdm(total=total, desc=label, unit=f" {unit}", mininterval=0.2, delay=2, disable=not shown)
