"""What outside of a task changes its bits, or whether it can run at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heldout.errors import import_extra
from heldout.workers.switches import switch, switches


@dataclass(frozen=True)
class Surroundings:
    """What outside of a task changes its bits, or whether it runs: threads, switches of torch, where modules are."""

    threads: Mapping[str, int]
    torch_threads: int | None
    switches: Mapping[str, Any]
    path: tuple[str, ...]
    folder: str

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        from threadpoolctl import threadpool_info

        threads: dict[str, int] = {}
        for library in threadpool_info():
            threads[library["user_api"]] = max(threads.get(library["user_api"], 1), library["num_threads"])
        torch = sys.modules.get("torch")
        folder = os.getcwd()  # in which the command line looks for modules
        path = tuple(dict.fromkeys([*(entry or folder for entry in sys.path), folder]))
        return cls(threads, None if torch is None else torch.get_num_threads(), _of(torch), path, folder)

    def find(self) -> None:
        """Let this process import and open what that one can."""
        sys.path += [entry for entry in self.path if entry not in sys.path]
        os.chdir(self.folder)

    @property
    def most_threads(self) -> int:
        """For libraries that are loaded later."""
        return max(self.torch_threads or 1, *self.threads.values(), 1)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Compute as there."""
        from threadpoolctl import threadpool_limits

        if self.torch_threads is not None:  # a task may import it as late as in its own functions
            import_extra("torch", extra="torch")
        torch = sys.modules.get("torch")
        before, stood = 0 if torch is None else torch.get_num_threads(), _of(torch)
        if torch is not None:
            torch.set_num_threads(self.torch_threads or before)
            switch(torch, self.switches)
        try:
            with threadpool_limits(dict(self.threads)):
                yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)
                switch(torch, stood)


def _of(torch: Any) -> dict[str, Any]:
    return {} if torch is None else switches(torch)
