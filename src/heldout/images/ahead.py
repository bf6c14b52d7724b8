"""Pictures are read and placed by threads while the model is at work, and handed out in their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.images.labelled import LabelledImages

BLOCK, BLOCK_BYTES = 32, 2**21  # pictures that a thread places at a time: as many as make two megabytes, or 32 if large


class ReadAhead:
    """Placed pictures, a few of them ahead of time.

    Sources that may not be read from another thread, as a user's own data set, are read when they are asked for.

    Parameters
    ----------
    rows : (n,) int
        Which pictures of the set, in the order in which they will be taken.
    margin : int
        Pixels around each.
    ahead : int
        Most pictures that wait to be taken; a block of them, where that is more.
    send : function of an array, optional
        What the threads do with placed pictures, such as sending them to a device; an array of another kind may come
        back.
    views : sequence of int, optional
        Flips and turns of whole pictures, each of which is placed: (k, n_views, height, width, channels).
    """

    def __init__(
        self,
        images: LabelledImages,
        rows: NDArray[np.intp],
        margin: int,
        *,
        ahead: int,
        send: Callable[[NDArray[Any]], Any] | None = None,
        views: Sequence[int] | None = None,
    ) -> None:
        self._images, self._rows, self._margin, self._send = images, rows, margin, send or _as_they_are
        self._views = views
        threads = min(getattr(images.source, "threads", 0), os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="heldout-pictures") if threads else None
        self._ahead, self._next, self._taken = ahead, 0, 0
        self._block = 0  # pictures that a thread places at a time; not known yet
        self._blocks: deque[Future[Any]] = deque()
        self._left: Any = None  # of the first block

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        # `send` may belong to the one who reads: a cycle would keep its memory until Python looks for such.
        self._send, self._left = _as_they_are, None
        self._blocks.clear()

    def take(self, n: int) -> Iterator[Any]:
        """The next n pictures in parts (k, height, width, channels), as soon as they are there."""
        if self._pool is None:
            self._taken += n
            yield self._placed(self._rows[self._taken - n : self._taken])
            return
        if n and not self._block:  # before the first is begun: a device waits for hundreds of small arrivals
            self._block = max(BLOCK, BLOCK_BYTES // self._pixels(self._rows[:1]).nbytes)
        while n:
            self._begin()
            block = self._blocks.popleft().result() if self._left is None else self._left
            part, self._left = block[:n], block[n:] if len(block) > n else None
            n -= len(part)
            self._taken += len(part)
            self._begin()
            yield part

    def _begin(self) -> None:
        """Have threads place what is not yet begun."""
        assert self._pool is not None
        while self._next < len(self._rows) and self._next - self._taken < max(self._ahead, self._block):
            rows = self._rows[self._next : self._next + self._block]
            self._blocks.append(self._pool.submit(self._placed, rows))
            self._next += len(rows)

    def _placed(self, rows: NDArray[np.intp]) -> Any:
        return self._send(self._pixels(rows))

    def _pixels(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        if self._views is not None:
            return self._images.place_views(rows, self._views)
        return self._images.place_many(rows, self._margin)


def _as_they_are(pixels: NDArray[Any]) -> Any:
    return pixels
