"""A second reading of T, by definition and from outside: nothing of heldout or of this study's code is used.

    python brute.py maps RESULTS...                             T from the score maps that the stores keep
    python brute.py weights BATCH WEIGHTS... --out FILE         T from a network's weights and the pictures themselves

`maps` needs numpy only. For `weights` (a GPU, Pillow) BATCH is the test batch, an npz of `x` and `y`, and WEIGHTS are
the files of `study.py run --weights`; every picture is enlarged by Pillow, cut at all 169 places and scored at each of
them, once as the study scores (float16) and once in float32. What comes out is written to FILE for `compare`:

    python brute.py compare FILE RESULTS...                     are these the T of the store, picture by picture?
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

N, SIDE, LARGE, REACH, RADIUS = 500, 32, 44, 6, 2
MEAN, SPREAD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
STEPS = [(a, b) for a in range(-RADIUS, RADIUS + 1) for b in range(-RADIUS, RADIUS + 1) if (a, b) != (0, 0)]


def goes_to(m: list[list[float]], i: int, j: int) -> tuple[int, int]:
    """Where `strongest` takes the point (i, j) of a map: the first of the worst wrong points around, or itself."""
    if m[i][j] > 0:
        return i, j
    best, place = 0.0, (i, j)
    for a, b in STEPS:
        if m[i + a][j + b] > best:
            best, place = m[i + a][j + b], (i + a, j + b)
    return place


def T_of(m: list[list[float]]) -> float:
    """Of the picture in the middle: its target's error over the number of points that go there, less its own error."""
    c = REACH
    i, j = goes_to(m, c, c)
    if not m[i][j] > 0:
        return 0.0
    come = sum(goes_to(m, i + a, j + b) == (i, j) for a, b in [*STEPS, (0, 0)])
    return 1.0 / come - (1.0 if m[c][c] > 0 else 0.0)


def T_of_code(code: int) -> float:
    """As README.md lists the codes of the store."""
    if code == 0:
        return 0.0
    return 1.0 / (1 + code) if code < 128 else 1.0 / (1 + code - 128) - 1.0


def stored(folders: list[Path], what: str) -> dict[str, np.ndarray]:
    """`what` of every network that has it."""
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("networks-*.npz")):
            with np.load(path) as f:
                found |= {k.removesuffix(f"/{what}"): f[k] for k in f.files if k.endswith(f"/{what}")}
    return found


def maps(folders: list[Path]) -> list[tuple[str, int, int]]:
    """Of each network with maps: how many pictures, and of how many T is not what the store says."""
    codes = stored(folders, "test_codes")
    found = []
    for key, scores in stored(folders, "test_maps").items():
        wrong = sum(T_of(m.tolist()) != T_of_code(int(c)) for m, c in zip(scores, codes[key], strict=False))
        found.append((key, len(scores), wrong))
    return found


# --- from weights ------------------------------------------------------------------------------------


def scores(path: Path, crops: np.ndarray, y: np.ndarray, half: bool) -> np.ndarray:
    """max_l logit_l - logit_y of (n, places, 32, 32, 3) crops."""
    import torch
    from torch.nn import functional as F

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    kind = torch.float16 if half else torch.float32
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with np.load(path) as f:
        w = {k: torch.as_tensor(f[k], device=device) for k in f.files}
    last = torch.channels_last
    strides = w["strides"].tolist()
    out = []
    for at in range(0, len(crops), 50):
        some, labels = crops[at : at + 50], y[at : at + 50]
        x = torch.as_tensor(some.reshape(-1, SIDE, SIDE, 3), device=device).float()
        x = (x - torch.tensor(MEAN, device=device)) / torch.tensor(SPREAD, device=device)
        x = F.pad(x, (0, w["kernel0"].shape[1] - 3)).permute(0, 3, 1, 2).to(kind)
        for i, s in enumerate(strides):
            kernel, bias = w[f"kernel{i}"].to(kind).contiguous(memory_format=last), w[f"bias{i}"].to(kind)
            if half:  # one rounding of sum, bias and ReLU together, as the study has it
                x = torch.cudnn_convolution_relu(x, kernel, bias, (s, s), (1, 1), (1, 1), 1)
            else:
                x = F.conv2d(x, kernel, bias, stride=s, padding=1).relu()
        logits = x.mean(dim=(2, 3), dtype=torch.float32) @ w["weight"].T + w["bias"]
        logits = logits.view(len(some), -1, logits.shape[1]).cpu().numpy()
        out.append(logits.max(axis=2) - logits[np.arange(len(some)), :, labels])
    return np.concatenate(out).reshape(len(crops), 2 * REACH + 1, 2 * REACH + 1)


def places(x: np.ndarray) -> np.ndarray:
    """(n, 169, 32, 32, 3): content moved by -6 to 6 down and right, row by row; Pillow enlarges."""
    from PIL import Image

    found = []
    for p in x:
        large = np.asarray(Image.fromarray(p).resize((LARGE, LARGE), Image.Resampling.BILINEAR))
        corners = range(2 * REACH, -1, -1)  # content moves down as the window moves up
        found.append([large[i : i + SIDE, j : j + SIDE] for i in corners for j in corners])
    return np.array(found)


def with_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def weights(batch: Path, paths: list[Path]) -> dict[str, dict]:
    with np.load(batch) as f:
        crops, y = places(f["x"][:N]), f["y"][:N].astype(int)
    found = {}
    for path in paths:
        name = path.stem.removeprefix("weights-").replace("-seed", "/seed")
        found[name] = {"float32": [T_of(m) for m in scores(path, crops, y, False).tolist()]}
        if with_gpu():
            found[name]["float16"] = [T_of(m) for m in scores(path, crops, y, True).tolist()]
        print(name, {k: float(np.mean(v)) for k, v in found[name].items()}, flush=True)
    return found


def compare(path: Path, folders: list[Path]) -> list[tuple[str, str, int, int]]:
    """Of each network of FILE and arithmetic: how many pictures, and of how many T is not what the store says."""
    codes = stored(folders, "test_codes")
    found = []
    for key, by_kind in json.loads(path.read_text()).items():
        for kind, T in sorted(by_kind.items()):
            kept = [T_of_code(int(c)) for c in codes[key][: len(T)]]
            found.append((key, kind, len(kept), sum(a != b for a, b in zip(T, kept, strict=True))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("maps", "weights", "compare"))
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.verb == "maps":
        for key, n, wrong in maps(args.paths):
            print(f"{key}: {n} pictures, T of {wrong} differs")
    elif args.verb == "weights":
        args.out.write_text(json.dumps(weights(args.paths[0], args.paths[1:])))
    else:
        for key, kind, n, wrong in compare(args.paths[0], args.paths[1:]):
            print(f"{key}, {kind}: {n} pictures, T of {wrong} differs")


if __name__ == "__main__":
    main()
