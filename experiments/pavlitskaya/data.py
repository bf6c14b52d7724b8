"""CIFAR-10 and MNIST as they are trained on: the split, the parts they travel in, and the noise on the labels."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

SMALL = 5_000
PARTS = ("part-0.png", "part-1.png", "part-2.png")


def split(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> dict[str, np.ndarray]:
    """Once and for all: 10 % of the training images are for validation; the first 5,000 left are the small set."""
    order = np.random.default_rng(20220927).permutation(len(x))
    held, rest = order[: len(x) // 10], order[len(x) // 10 :]
    return {"train": x[rest], "train_y": y[rest], "val": x[held], "val_y": y[held], "test": xt, "test_y": yt}


def has_cifar(folder: Path) -> bool:
    """Whether all of CIFAR-10 is there, in one file or in the batches of ../werpachowski/cifar10/pictures.py."""
    return (folder / "cifar10.npz").exists() or all((folder / f"batch-{b}.npz").exists() for b in range(6))


def read_cifar(folder: Path) -> dict[str, np.ndarray]:
    if (folder / "cifar10.npz").exists():
        with np.load(folder / "cifar10.npz") as f:
            x, y, xt, yt = (f[k] for k in ("x_train", "y_train", "x_test", "y_test"))
    else:  # the last batch is the test set
        batches = [np.load(folder / f"batch-{b}.npz") for b in range(6)]
        x, y = (np.concatenate([b[k] for b in batches[:5]]) for k in "xy")
        xt, yt = batches[5]["x"], batches[5]["y"]
    return split(x.transpose(0, 3, 1, 2), y, xt.transpose(0, 3, 1, 2), yt)


def read_mnist(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "mnist.npz") as f:
        pad = ((0, 0), (2, 2), (2, 2))
        x, xt = (np.pad(f[k], pad)[:, None] for k in ("x_train", "x_test"))
        return split(x, f["y_train"], xt, f["y_test"])


def pack(folder: Path, out: Path) -> None:
    """CIFAR-10 as three PNG files, the first of which is enough for the networks of 5,000 images."""
    s = read_cifar(folder)
    first = np.concatenate([s["test"], s["val"], s["train"][:SMALL]])
    for name, x in zip(PARTS, (first, s["train"][SMALL:25_000], s["train"][25_000:]), strict=True):
        Image.fromarray(x.transpose(0, 2, 3, 1).reshape(-1, 32, 3)).save(out / name, optimize=True)
    np.savez(out / "split_labels.npz", **{k: s[k].astype(np.uint8) for k in ("train_y", "val_y", "test_y")})


def read_part(path: Path) -> np.ndarray:
    Image.MAX_IMAGE_PIXELS = None
    return np.asarray(Image.open(path)).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)


def read_small(folder: Path) -> np.ndarray:
    """The small training set of CIFAR-10, (5000, 3, 32, 32)."""
    if has_cifar(folder):
        return read_cifar(folder)["train"][:SMALL]
    return read_part(folder / PARTS[0])[15_000:]


class Data:
    """The images on the device, in places that do not move, and the labels; `ready` says which may be used."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device
        self.images: dict[str, dict[str, Tensor]] = {}
        self.labels: dict[str, dict[str, np.ndarray]] = {}
        self.ready: set[tuple[str, int]] = set()
        if (folder / "mnist.npz").exists():
            self.take("mnist", read_mnist(folder))
            self.ready.add(("mnist", 54_000))
        if has_cifar(folder):
            self.take("cifar", read_cifar(folder))
            self.ready |= {("cifar", SMALL), ("cifar", 45_000)}
        elif (folder / PARTS[0]).exists():
            with np.load(folder / "split_labels.npz") as f:
                found = {k: f[k] for k in f.files}
            x = read_part(folder / PARTS[0])
            train = np.zeros((45_000, 3, 32, 32), np.uint8)
            train[:SMALL] = x[15_000:]
            self.take("cifar", found | {"test": x[:10_000], "val": x[10_000:15_000], "train": train})
            self.ready.add(("cifar", SMALL))
            threading.Thread(target=self.wait, daemon=True).start()

    def take(self, name: str, s: dict[str, np.ndarray]) -> None:
        self.images[name] = {
            part: torch.as_tensor(np.ascontiguousarray(s[part]), device=self.device)
            for part in ("train", "val", "test")
        }
        self.labels[name] = {k: s[k] for k in ("train_y", "val_y", "test_y")}

    def wait(self) -> None:
        """Fill in the other two parts when they come."""
        for number, name in enumerate(PARTS[1:]):
            while not (self.folder / name).exists():
                time.sleep(0.3)
            at = SMALL + 20_000 * number
            x = torch.as_tensor(np.ascontiguousarray(read_part(self.folder / name)))
            self.images["cifar"]["train"][at : at + 20_000] = x.to(self.device)
        if self.device == "cuda":
            torch.cuda.current_stream().synchronize()
        self.ready.add(("cifar", 45_000))

    def cut(self, limit: int) -> None:
        """No more images than this, for trying things out."""
        for name, images in self.images.items():
            images |= {part: images[part][:limit] for part in ("val", "test")}
            self.labels[name] = {k: y[:limit] for k, y in self.labels[name].items()}


# The corrupted pictures of all curves that are kept, by their digest. By hashes of all 150,000, which are in
# results/corrupted.npz, ten of the second are others, of snow, whose bytes add up to one or two more or less.
CORRUPTED = {
    "5237a572a8ca93a3": "constraints.txt: numpy 2.4.6, scipy 1.17.1, Pillow 13.0.0",
    "65ae2f56b0fe1ec7": "numpy 2.5.2, scipy 1.18.1, Pillow 12.3.0; met by the networks of pool-8, pool-9 and pool-11",
}


def digest(pictures: np.ndarray) -> str:
    """Which pictures these are: other versions of what makes them may make other ones of the same corruption."""
    return hashlib.sha256(np.ascontiguousarray(pictures)).hexdigest()[:16]


def noisy(y: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Exactly this share of the labels replaced by wrong ones."""
    rng = np.random.default_rng([seed, round(1000 * rate)])
    out = y.copy()
    hit = rng.permutation(len(y))[: round(rate * len(y))]
    out[hit] = (y[hit] + rng.integers(1, 10, len(hit))) % 10
    return out
