"""What is kept of the networks: files to which later runs add others. numpy only.

A file holds `split/...` (labels and indices) and, under `<setting>/seed<n>/`, what README.md lists. Predictions and
margins take most of the room: a prediction is kept as its distance from the label, 0 where right, and a margin no
further than everything that reads it clips it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

WRONG = 128  # codes of pictures that are wrong themselves begin here
CLASSES = 10
CLIP = (-5.0, 10.0)  # of margins: heldout's MARGIN_CLIP


def statistics(codes: np.ndarray) -> np.ndarray:
    """T from its codes (codes.py)."""
    wrong = codes >= WRONG
    n = np.where(wrong, codes.astype(np.int64) - WRONG, codes)
    return np.where(codes == 0, 0.0, 1.0 / (1.0 + n) - wrong)  # (9)


def packed(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As they lie in a file."""
    found = {}
    for key, v in arrays.items():
        part = key.rsplit("/", 1)[-1].split("_")[0]
        if key.endswith("_predictions"):
            key = key.removesuffix("predictions") + "distances"
            v = ((v.astype(np.int64) - arrays[f"split/{part}_labels"]) % CLASSES).astype(np.uint8)
        elif key.endswith("_margins"):
            v = np.clip(v, *CLIP)
        found[key] = v
    return found


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """The whole file or none of it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as f:
        np.savez_compressed(f, **packed(arrays))
    os.chmod(f.name, 0o644)
    os.replace(f.name, path)


def done(folder: Path) -> set[str]:
    """`<setting>/seed<n>` of every network in the files of a folder."""
    found = set()
    for path in sorted(folder.glob("networks-*.npz")):
        with np.load(path) as f:
            found |= {k.removesuffix("/record") for k in f.files if k.endswith("/record")}
    return found


class Model:
    """One network of the store."""

    def __init__(self, key: str, file: Any) -> None:
        self.key, self._file = key, file
        self.record = json.loads(str(file[f"{key}/record"]))

    def __getitem__(self, name: str) -> np.ndarray:
        if name.endswith("_predictions"):
            part = name.removesuffix("_predictions")
            return (self._file[f"{self.key}/{part}_distances"] + self._file[f"split/{part}_labels"]) % CLASSES
        return self._file[f"{self.key}/{name}"]

    def __contains__(self, name: str) -> bool:
        return f"{self.key}/{name}" in self._file


def models(folder: Path) -> Iterator[Model]:
    """Every network of a folder, once, by name."""
    seen = set()
    for path in sorted(folder.glob("networks-*.npz")):
        with np.load(path) as f:
            for key in sorted(k.removesuffix("/record") for k in f.files if k.endswith("/record")):
                if key not in seen:
                    seen.add(key)
                    yield Model(key, f)


def split(folder: Path) -> dict[str, np.ndarray]:
    """Labels and indices, the same in every file; an error where they are not."""
    first: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("networks-*.npz")):
        with np.load(path) as f:
            these = {k.removeprefix("split/"): f[k] for k in f.files if k.startswith("split/")}
        if first and any(not np.array_equal(first[k], these[k]) for k in first):
            raise SystemExit(f"{path} was made with another split of the pictures.")
        first = first or these
    return first
