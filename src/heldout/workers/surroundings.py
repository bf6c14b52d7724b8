"""What outside of a task changes its bits, or whether it can run at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from heldout.errors import import_extra

SWITCHES = {  # of torch, that change a model's arithmetic
    "cudnn": ("allow_tf32", "deterministic", "benchmark"),
    "mkldnn": ("enabled",),
}


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
        return cls(threads, None if torch is None else torch.get_num_threads(), _switches(torch), path, folder)

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
        before, switches = 0 if torch is None else torch.get_num_threads(), _switches(torch)
        if torch is not None:
            torch.set_num_threads(self.torch_threads or before)
            _switch(torch, self.switches)
        try:
            with threadpool_limits(dict(self.threads)):
                yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)
                _switch(torch, switches)


def _switches(torch: Any) -> dict[str, Any]:
    if torch is None:
        return {}
    found = {f"{part}.{name}": getattr(getattr(torch.backends, part), name) for part, name in _parts()}
    return {**found, "float32_matmul_precision": torch.get_float32_matmul_precision()}


def _switch(torch: Any, switches: Mapping[str, Any]) -> None:
    for part, name in _parts():
        if f"{part}.{name}" in switches:
            setattr(getattr(torch.backends, part), name, switches[f"{part}.{name}"])
    if switches:
        torch.set_float32_matmul_precision(switches["float32_matmul_precision"])


def _parts() -> Iterator[tuple[str, str]]:
    return ((part, name) for part, names in SWITCHES.items() for name in names)
