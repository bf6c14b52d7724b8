"""Of every test and control picture the training picture that it resembles most, pixel by pixel, and of the other set.

    python experiments/werpachowski/cifar10/near.py CIFAR10.npz      writes results/near.npz

Resemblance is the correlation of all 3,072 values, of the picture or its mirror image, whichever is higher. A near-
duplicate that is shifted or recoloured has a lower one; what a network holds for alike is in the store (`test_near`),
of training pictures only. Two minutes on two cores; numpy only.

Of test and control: `test_like` and `test_id`, the training picture as one of the 50,000; `test_other_like` and
`test_other_id`, the one of the other set: a control picture as one of the 50,000, a test picture as one of the 10,000.
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
    test = slice(5 * BATCH, 6 * BATCH)
    pictures = {"test": x[test], "control": x[s.control], "train": x[s.train]}
    ids = {"test": np.arange(BATCH), "control": s.control, "train": s.train}
    found = {}
    for part, other in (("test", "control"), ("control", "test")):
        for name, among in ((part, "train"), (f"{part}_other", other)):
            like, which = nearest(pictures[part], pictures[among])
            found |= {f"{name}_like": like.astype(np.float16), f"{name}_id": ids[among][which].astype(np.uint16)}
            print(f"{part} among {among}", {r: int((like > r).sum()) for r in (0.8, 0.85, 0.9, 0.95, 0.99)}, flush=True)
    np.savez_compressed(out, **found)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(__file__).parent / "results" / "near.npz")
