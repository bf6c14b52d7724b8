"""What is kept of trainings: which of them go together, and which of a plan are done. numpy only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from published import EPOCHS, learning_rate

FITTED = 0.9995  # of the labels, in two epochs running: there a training of a fixed learning rate ends


@dataclass(frozen=True, eq=False)
class Trained:
    """One training, at one or several rates of label noise."""

    file: str
    arrays: dict[str, np.ndarray]
    name: str
    seed: int
    record: dict[str, Any]

    def get(self, key: str) -> np.ndarray | None:
        return self.arrays.get(f"{self.name}/seed{self.seed}/{key}")

    def __getitem__(self, key: str) -> np.ndarray:
        return self.arrays[f"{self.name}/seed{self.seed}/{key}"]

    @property
    def rates(self) -> list[float]:
        return sorted(float(r) for r in self.record["summary"])

    @property
    def rate(self) -> float:
        """The first learning rate."""
        return float(self.record["setting"]["rate"])

    @property
    def epochs(self) -> int:
        return int(self.record["setting"]["epochs"])

    @property
    def clean(self) -> dict[str, float]:
        """Accuracies without label noise."""
        return next(v for k, v in self.record["summary"].items() if float(k) == 0)

    @property
    def network(self) -> str:
        """Its name, without the label of a comparison."""
        return "-".join(self.name.split("-")[:2])

    @property
    def fused(self) -> bool:
        """Whether it was trained by fused.py."""
        return self.record.get("fused") is not None

    @property
    def way(self) -> str:
        """How it was trained: by fused.py, by plain networks as usual, or by these in float32 throughout."""
        return "fused" if self.fused else "float32" if self.record.get("engine") == "float32" else "plain"

    @property
    def limit(self) -> int | None:
        """After how many epochs it would have ended at the latest; None if nobody can tell, as it fitted all labels.

        A schedule is squeezed into the epochs there are. A fixed learning rate has none, and such trainings end when
        they fit (train.py): how many epochs that took is what came out, not how they were trained.
        """
        if self.record["setting"]["schedule"] != "fixed":
            return self.epochs
        running = np.array(self.record["running"])
        fits = ((running[1:] >= FITTED) & (running[:-1] >= FITTED)).any(axis=0).all()
        return None if fits else self.epochs

    @property
    def what(self) -> str:
        return f"{self.file} seed {self.seed} ({self.epochs} epochs, learning rate {self.rate:g})"


def alike(trained: list[Trained]) -> list[Trained]:
    """Those of one learning rate and one length of training, a seed once: of all such groups the one that comes nearest
    to the paper's learning rate and epochs, then that of the most seeds. The latest files come first in `trained`.
    """
    groups = []
    for rate in dict.fromkeys(t.rate for t in trained):
        own = [t for t in trained if t.rate == rate]
        for limit in dict.fromkeys(t.limit for t in own):
            some = [t for t in own if t.limit == limit or (t.limit is None and limit and t.epochs <= limit)]
            once = {t.seed: t for t in reversed(some)}  # the latest file of a seed
            groups.append([once[seed] for seed in sorted(once)])
    groups = [g for g in groups if not any(set(g) < set(other) for other in groups)]

    def near(group: list[Trained]) -> tuple[bool, int, int]:
        published, limits = learning_rate(group[0].name), [t.limit for t in group if t.limit]
        return published in (None, group[0].rate), min([EPOCHS, *limits]), len(group)

    return max(groups, key=near) if groups else []


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """pool-10 after pool-9."""
    return sorted(paths, key=lambda p: (len(p.stem), p.stem), reverse=True)


def read(path: Path) -> list[Trained]:
    """All trainings of a file."""
    with np.load(path) as f:
        arrays = {key: f[key] for key in f.files}
    found = []
    for key in sorted(k for k in arrays if k.endswith("/record")):
        name, seed, _ = key.split("/")
        found.append(Trained(path.stem, arrays, name, int(seed.removeprefix("seed")), json.loads(str(arrays[key]))))
    return found


def done(
    kept: Iterable[Trained], name: str, seed: int, *, epochs: int, rate: float, rates: Sequence[float], curves: bool
) -> bool:
    """Whether a training of this length, learning rate and seed is there, at these rates of label noise at least."""
    return any(
        (t.name, t.seed, t.rate) == (name, seed, rate)
        and set(rates) <= set(t.rates)
        and (t.limit == epochs or (t.limit is None and t.epochs <= epochs))
        and (t.get("curves/spatial") is not None or not curves)
        for t in kept
    )
