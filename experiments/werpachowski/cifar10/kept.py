"""The networks that are kept, by setting: errors, margins and T of each, as numbers to compare."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import store
from store import statistics

from heldout.independence.score_maps import score_map_statistics

HERE = Path(__file__).parent
LEAKS = HERE.parents[1] / "leaks" / "results"
KINDS = ("vgg-shift", "vgg-pad", "vgg-fixed", "vgg-original", "wide", "residual")  # the order of the tables
MAIN = "vgg-shift-e104"


class Networks:
    """All networks of the store, by setting: what was kept of each, as numbers to compare."""

    def __init__(self, folder: Path, beside: Path | None = None) -> None:
        self.split = store.split(folder)
        self.groups: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        self.records: dict[str, dict[int, dict]] = {}
        self.recomputed: list[tuple[str, int, int]] = []
        self.beside: Counter[str] = Counter()  # networks that are from the other store, by setting
        for model in self.models(folder, beside):
            name, seed = model.key.rsplit("/seed", 1)
            self.groups.setdefault(name, {})[int(seed)] = self.numbers(model)
            self.records.setdefault(name, {})[int(seed)] = model.record
            if "test_maps" in model:
                maps, codes = model["test_maps"], model["test_codes"]
                T = score_map_statistics(maps, radius=model.record["radius"])
                self.recomputed.append((model.key, len(maps), int((statistics(codes[: len(maps)]) != T).sum())))

    def models(self, folder: Path, beside: Path | None) -> Iterator[store.Model]:
        yield from store.models(folder)
        if beside and beside.exists():
            if any(not np.array_equal(v, store.split(beside).get(k, v)) for k, v in self.split.items()):
                raise SystemExit(f"{beside} was made with another split of the pictures.")
            for model in store.models(beside):
                if not len(model["leaked"]):
                    self.beside[model.key.rsplit("/seed", 1)[0]] += 1
                    yield model

    def numbers(self, model: store.Model) -> dict[str, np.ndarray]:
        found = {}
        for part in ("test", "control", "train"):
            wrong = model[f"{part}_predictions"] != self.split[f"{part}_labels"]
            found[f"{part}/error"] = wrong.astype(np.float64)
            if f"{part}_margins" in model:
                found[f"{part}/margin"] = model[f"{part}_margins"].astype(np.float64)
            if f"{part}_codes" in model:
                found[f"{part}/T"] = statistics(model[f"{part}_codes"])
        if "rest_codes" in model:
            found["all/T"] = np.concatenate([found["train/T"], statistics(model["rest_codes"])])
        return found

    def family(self, name: str) -> str:
        """The setting but for the leak."""
        return re.sub(r"-leak\d+$", "", name)

    def leak(self, name: str) -> int:
        return int(re.search(r"-leak(\d+)$", name)[1])

    def families(self) -> list[str]:
        return sorted({self.family(n) for n in self.groups}, key=lambda f: (self.kind(f), f))

    def kind(self, family: str) -> int:
        return next((i for i, start in enumerate(KINDS) if family.startswith(start)), len(KINDS))

    def labels(self) -> dict[str, np.ndarray]:
        return {p: self.split[f"{p}_labels"] for p in ("test", "control")}

    def each(self, name: str) -> list[dict[str, np.ndarray]]:
        """What is kept of the networks of a setting, by seed."""
        return [m for _, m in sorted(self.groups.get(name, {}).items())]

    def errors(self, name: str) -> dict[str, np.ndarray]:
        """Of every network of a setting."""
        parts = ("test", "control", "train")
        return {p: np.array([m[f"{p}/error"].mean() for m in self.each(name)]) for p in parts}

    def average(self, name: str) -> dict[str, np.ndarray]:
        """Of all networks of a setting, picture by picture."""
        of = list(self.groups[name].values())
        return {k: np.mean([m[k] for m in of], axis=0) for k in of[0] if all(k in m for m in of)}

    def of(self, family: str) -> list[str]:
        return sorted((n for n in self.groups if self.family(n) == family), key=self.leak)
