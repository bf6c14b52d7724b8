"""Networks from the weights that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from networks import Setting, settings
from torch import nn


def kept(path: Path) -> Iterator[tuple[str, int, Setting, nn.Module]]:
    """Name, seed, setting and network, as it answers when it does not train; weights are float16 in the file."""
    with np.load(path) as f:
        weights = {key: f[key] for key in f.files}
    for name, seed in sorted({tuple(key.split("/")[:2]) for key in weights}):
        own = f"{name}/{seed}/"
        state = {
            key.removeprefix(own): torch.from_numpy(value.astype(np.float32))
            for key, value in weights.items()
            if key.startswith(own)
        }
        setting = settings()[name]
        network = setting.build(torch.Generator().manual_seed(0))
        if set(state) != set(network.state_dict()):
            raise SystemExit(f"{path} has other weights of {name} than such a network has.")
        network.load_state_dict(state, strict=False)  # torch would miss a counter of its own
        yield name, int(seed.removeprefix("seed")), setting, network.eval()
