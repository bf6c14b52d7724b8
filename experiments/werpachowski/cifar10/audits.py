"""What experiments/leaks found of single networks, and from which leak on it finds every one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np


class Audits:
    """What experiments/leaks found of single networks: p by statistic, and with other draws of three references."""

    def __init__(self, folder: Path) -> None:
        self.single, self.draws = (
            json.loads(path.read_text()) if (path := folder / name).exists() else {}
            for name in ("tables.json", "draws.json")
        )

    def p(self, name: str, look: str) -> np.ndarray:
        """One-sided, of every network of a setting, one draw of references each."""
        return np.array([v["p"][look][0] for k, v in self.single.items() if k.startswith(f"{name}/")])

    def drawn(self, name: str) -> np.ndarray:
        """(networks, draws), one-sided, with references."""
        return np.array([v["p"] for k, v in self.draws.items() if k.startswith(f"{name}/")])


def found_from(
    leaks: Sequence[int], p_of_leak: Callable[[int], np.ndarray]
) -> tuple[int | None, list[tuple[int, int, int]]]:
    """The smallest leak down to which every p is at most 0.05; of those below it, how many of how many p are.

    Leaks from the largest on, as far as they were audited.
    """
    surely, below = None, []
    for leak in leaks:
        p = p_of_leak(leak)
        if not p.size:
            break
        if p.max() <= 0.05 and not below:
            surely = leak
        else:
            below.append((leak, int((p <= 0.05).sum()), p.size))
    return surely, below
