"""CIFAR-10 in packed batches that numpy alone reads, and the split.

    python pictures.py pack CIFAR10.npz OUT      writes OUT/batch-0.bin to batch-5.bin, the last being the test set
    python pictures.py unpack PACKED OUT         those that are there and new, to OUT/batch-<i>.npz, checked by MD5

The packed ones are for a machine to which nothing larger than 64 MiB can be sent at once and that may lack Pillow: red
and blue less green, every plane predicted from its left, upper and upper left neighbours (the median edge detector of
JPEG-LS), what is left compressed by LZMA: 99 MB, where the PNG files of the same pictures have 139.
"""

from __future__ import annotations

import hashlib
import lzma
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Of the official binary layout: label byte, then 3,072 bytes channel by channel.
MD5 = (
    "5dd7e06a14cb22eb9f671a540d1b7c25",  # data_batch_1
    "5ea93a67294ea407fff1d09f752e9692",
    "942cd6a4bcdd0dd3c604fbe906cb4421",
    "ae636b3ba5c66a11e91e8cb52e771fcb",
    "53f37980c15c3d472c316c40844f3f0d",
    "803d5f7f4d78ea53de84dbe85f74fb6d",  # test_batch
)
BATCH, BATCHES = 10_000, range(6)
SIDE, LARGE, MARGIN = 32, 44, 6  # v1 5.3.1: 32 to 44; the centre crop of 32 can move by 6 each way
CODER = {"format": lzma.FORMAT_RAW, "filters": [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "lp": 0, "pb": 0}]}
SPLIT_SEED = 20190306  # the control, the audited training pictures and the crops of the training set; never changed


def checked(x: np.ndarray, y: np.ndarray, batch: int) -> None:
    """Refuse a batch that is not CIFAR-10's, byte for byte."""
    raw = np.concatenate([y[:, None], x.transpose(0, 3, 1, 2).reshape(len(x), -1)], axis=1).tobytes()
    if (got := hashlib.md5(raw).hexdigest()) != MD5[batch]:
        raise SystemExit(f"batch {batch}: MD5 {got}, expected {MD5[batch]}")


# --- packed -------------------------------------------------------------------------------------------


def predicted(left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """The median edge detector: the median of left, up and left + up - corner."""
    low, high = np.minimum(left, up), np.maximum(left, up)
    return np.where(corner >= high, low, np.where(corner <= low, high, left + up - corner))


def framed(planes: np.ndarray) -> np.ndarray:
    """Planes with a row of 128 above and, left of each row, the first pixel of the row above."""
    out = np.full((len(planes), SIDE + 1, SIDE + 1), 128, np.int16)
    out[:, 1:, 1:] = planes
    out[:, 1:, 0] = out[:, :-1, 1]
    return out


def encode(x: np.ndarray) -> bytes:
    """(n, 32, 32, 3) uint8 to bytes."""
    wide = x.astype(np.int16)
    green = wide[..., 1]
    planes = np.concatenate([green, (wide[..., 0] - green + 128) % 256, (wide[..., 2] - green + 128) % 256])
    f = framed(planes)
    rest = planes - predicted(f[:, 1:, :-1], f[:, :-1, 1:], f[:, :-1, :-1])
    return lzma.compress(rest.astype(np.uint8).tobytes(), **CODER)


def decode(data: bytes) -> np.ndarray:
    """What `encode` was given."""
    rest = np.frombuffer(lzma.decompress(data, **CODER), np.uint8).reshape(-1, SIDE, SIDE)
    f = np.full((SIDE + 1, SIDE + 1, len(rest)), 128, np.int16)  # pictures last: each step works on whole rows
    rest = np.ascontiguousarray(rest.transpose(1, 2, 0)).astype(np.int16)
    for i in range(1, SIDE + 1):
        f[i, 0] = f[i - 1, 1]
        for j in range(1, SIDE + 1):
            f[i, j] = (rest[i - 1, j - 1] + predicted(f[i, j - 1], f[i - 1, j], f[i - 1, j - 1])) % 256
    green, red, blue = np.split(f[1:, 1:].transpose(2, 0, 1), 3)
    return np.stack([(red + green - 128) % 256, green, (blue + green - 128) % 256], axis=-1).astype(np.uint8)


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """All 60,000 pictures and labels, training batches first."""
    with np.load(path) as f:
        x, y = (np.concatenate([f[f"{k}_train"], f[f"{k}_test"]]) for k in "xy")
    return x, y.astype(np.uint8)


def pack(source: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    x, y = read_npz(source)

    def one(batch: int) -> str:
        rows = slice(batch * BATCH, (batch + 1) * BATCH)
        data = y[rows].tobytes() + encode(x[rows])
        (out / f"batch-{batch}.bin").write_bytes(data)
        return f"batch {batch}: {len(data):,} bytes"

    in_threads(one, BATCHES)


def unpack(packed: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)

    def one(batch: int) -> str:
        data = (packed / f"batch-{batch}.bin").read_bytes()
        y, x = np.frombuffer(data[:BATCH], np.uint8), decode(data[BATCH:])
        checked(x, y, batch)
        np.savez(out / f"part-{batch}.npz", x=x, y=y)
        (out / f"part-{batch}.npz").rename(out / f"batch-{batch}.npz")  # the whole file or none of it
        return f"batch {batch}: right to the byte"

    there = [b for b in BATCHES if (packed / f"batch-{b}.bin").exists()]
    if not there:
        raise SystemExit(f"{packed} has no batch-<i>.bin, which `pack` writes.")
    in_threads(one, [b for b in there if not (out / f"batch-{b}.npz").exists()])


def in_threads(one: Callable[[int], str], batches: Iterable[int]) -> None:
    """Batch by batch, as many at once as there are processors; compression and numpy let others work."""
    with ThreadPoolExecutor() as pool:
        for told in pool.map(one, batches):
            print(told, flush=True)


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """All pictures and labels, from the six batches that `unpack` has checked or from cifar10.npz, checked here."""
    batches = [folder / f"batch-{b}.npz" for b in BATCHES]
    if all(path.exists() for path in batches):
        found = [np.load(path) for path in batches]
        return np.concatenate([f["x"] for f in found]), np.concatenate([f["y"] for f in found])
    if not (folder / "cifar10.npz").exists():
        missing = ", ".join(path.name for path in batches if not path.exists())
        raise SystemExit(f"{folder} has neither cifar10.npz nor {missing}.")
    x, y = read_npz(folder / "cifar10.npz")
    for batch in BATCHES:
        rows = slice(batch * BATCH, (batch + 1) * BATCH)
        checked(x[rows], y[rows], batch)
    return x, y


# --- the split ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Which of the training pictures are what; the same for every network of the study."""

    control: np.ndarray  # left out of every training, and audited
    train: np.ndarray  # trained on
    audited: np.ndarray  # those of `train` that are audited too
    corners: np.ndarray  # (n_train, 2): where v1's fixed random 32 crop of each training picture begins


def split(n: int = 50_000, control: int = 10_000, audited: int = 10_000) -> Split:
    rng = np.random.default_rng(SPLIT_SEED)
    order = rng.permutation(n)
    train = np.sort(order[control:])
    corners = rng.integers(0, LARGE - SIDE + 1, size=(len(train), 2))
    return Split(
        control=np.sort(order[:control]),
        train=train,
        audited=np.sort(rng.choice(train, audited, replace=False)),
        corners=corners,
    )


def leaked(count: int, seed: int, n_test: int = 10_000) -> np.ndarray:
    """Which test pictures are in the training set of this seed: drawn anew for every training."""
    return np.sort(np.random.default_rng([SPLIT_SEED, count, seed]).permutation(n_test)[:count])


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        raise SystemExit(__doc__)
    {"pack": pack, "unpack": unpack}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
