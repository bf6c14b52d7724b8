"""Make the fifteen corruptions, at five severities, of the pictures whose curves are taken.

python experiments/pavlitskaya/corrupted.py DATA OUT.npy

OUT is uint8, (15, 5, 2000, 3, 32, 32), the corruptions in the order of heldout's CORRUPTIONS.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
from pathlib import Path

import numpy as np
from data import CORRUPTED, digest, read_small
from evaluate import IMAGES

from heldout.memorization.perturb.corruptions import CORRUPTIONS, corrupt

CHUNK = 250
KEPT = Path(__file__).parent / "results" / "corrupted.npz"  # hashes of those that the networks of pool-8 to pool-11 met


def work(task: tuple[int, int, int, np.ndarray]) -> np.ndarray:
    kind, severity, first, pictures = task
    rng = np.random.default_rng([20220927, kind, severity, first])
    out = [corrupt(p, CORRUPTIONS[kind], severity, rng=rng) for p in pictures.transpose(0, 2, 3, 1)]
    return np.stack(out).transpose(0, 3, 1, 2)


def hashes(pictures: np.ndarray) -> np.ndarray:
    """Eight bytes of a hash of every picture, (15, 5, pictures)."""
    flat = pictures.reshape(-1, *pictures.shape[3:])
    found = [hashlib.blake2b(p.tobytes(), digest_size=8).digest() for p in flat]
    return np.frombuffer(b"".join(found), "<u8").reshape(pictures.shape[:3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--hashes", type=Path, help="also write hashes of all pictures, to compare with others")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 3))
    args = parser.parse_args()
    x = read_small(args.data)[: args.images]
    places = [
        (kind, severity, first)
        for kind in range(len(CORRUPTIONS))
        for severity in range(1, 6)
        for first in range(0, len(x), CHUNK)
    ]
    tasks = [(k, s, f, x[f : f + CHUNK]) for k, s, f in places]
    out = np.zeros((len(CORRUPTIONS), 5, *x.shape), np.uint8)
    with multiprocessing.Pool(args.workers) as pool:
        for (k, s, f), made in zip(places, pool.imap(work, tasks), strict=True):
            out[k, s - 1, f : f + CHUNK] = made
    part = args.out.with_suffix(".part")
    with part.open("wb") as f:
        np.save(f, out)
    part.replace(args.out)
    if args.hashes:
        np.savez_compressed(args.hashes, hashes=hashes(out))
    made = digest(out)
    print(f"corrupted pictures {made}" + ("" if made in CORRUPTED else ", other ones than those of the kept curves"))
    if KEPT.exists() and args.images == IMAGES:
        with np.load(KEPT) as f:
            differ = np.argwhere(hashes(out) != f["hashes"])
        print(f"{len(differ)} of {out[:, :, :, 0, 0, 0].size} are other ones than those of pool-8 to pool-11")


if __name__ == "__main__":
    main()
