"""Of every test and control picture the training picture that it resembles most, pixel by pixel.

    python experiments/werpachowski/cifar10/near.py CIFAR10.npz      writes results/near.npz

Resemblance is the correlation of all 3,072 values, of the picture or its mirror image, whichever is higher. A near-
duplicate that is shifted or recoloured has a lower one; what a network holds for alike is in the store (`test_near`).
Two minutes on two cores; numpy only.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from pictures import BATCH, read_npz, split


def standardised(x: np.ndarray) -> np.ndarray:
    v = x.reshape(len(x), -1).astype(np.float32)
    v -= v.mean(axis=1, keepdims=True)
    return v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-6)


def nearest(some: np.ndarray, among: np.ndarray, step: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """The highest correlation of each picture with one of the others or its mirror image, and which."""
    known = standardised(among)
    best, which = np.full(len(some), -2.0, np.float32), np.zeros(len(some), np.int64)
    for pictures in (some, some[:, :, ::-1]):
        v = standardised(pictures)
        for i in range(0, len(v), step):
            r = v[i : i + step] @ known.T
            at = r.argmax(axis=1)
            top = r[np.arange(len(at)), at]
            better = top > best[i : i + step]
            best[i : i + step][better], which[i : i + step][better] = top[better], at[better]
    return best, which


def main(source: Path, out: Path) -> None:
    x, _ = read_npz(source)
    s = split()
    found = {}
    for part, rows in (("test", np.arange(5 * BATCH, 6 * BATCH)), ("control", s.control)):
        like, which = nearest(x[rows], x[s.train])
        found |= {f"{part}_like": like.astype(np.float16), f"{part}_id": s.train[which].astype(np.uint16)}
        print(part, {r: int((like > r).sum()) for r in (0.8, 0.85, 0.9, 0.95, 0.99)}, flush=True)
    np.savez_compressed(out, **found)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(__file__).parent / "results" / "near.npz")
