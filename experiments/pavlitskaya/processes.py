"""A command in several processes, each with its number: what compiles kernels side by side."""

from __future__ import annotations

import os
import subprocess

PROCESSES = max(1, (os.cpu_count() or 2) - 1)


def side_by_side(command: list[str]) -> bool:
    """Run it, the number of each process behind it; whether all of them came to their end."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    running = [subprocess.Popen([*command, str(i)], env=environment) for i in range(PROCESSES)]
    ended = [process.wait() for process in running]
    return not any(ended)
