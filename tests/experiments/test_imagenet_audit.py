"""The ImageNet audit: networks as arrays, score maps only where they are needed, and the tables of what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import RULES
from tests.experiments.scripts import ROOT, load

torch = pytest.importorskip("torch")
F = torch.nn.functional

FOLDER = ROOT / "experiments" / "werpachowski" / "imagenet"
audit, tables = load(FOLDER, "audit", "tables")
CPU = torch.device("cpu")


class Toy:
    """Three classes, by colours at places that lie on the corners of tiles: moves change them."""

    def __call__(self, x):
        return torch.stack([x[:, 40, 60, 0], x[:, 150, 33, 1], x[:, 96, 96, 2]], dim=1).float()


@pytest.fixture
def few(monkeypatch):
    """Six pictures of tiles, of a map of 13 x 13."""
    for name, value in {"RADIUS": 2, "REACH": 6, "SIDE": 13, "BATCH": 64}.items():
        monkeypatch.setattr(audit, name, value)
    rng = np.random.default_rng(3)
    x = np.kron(rng.integers(0, 256, (6, 75, 75, 3)), np.ones((1, 3, 3, 1)))[:, :224, :224].astype(np.uint8)
    x[0] = 0
    x[0, ..., 1] = 255  # right wherever it is moved
    return x, np.array([1, 0, 1, 2, 0, 1])


def test_maps_are_those_of_moved_pictures(few):
    """Ranks give T of the whole maps, which are made here by moving the content itself."""
    x, y = few
    scores = np.zeros((len(x), 13, 13))
    for down in range(-6, 7):
        for right in range(-6, 7):
            moved = np.roll(x, (down, right), axis=(1, 2))[:, 16:208, 16:208]
            logits = Toy()(torch.as_tensor(moved)).numpy()
            scores[:, down + 6, right + 6] = logits.max(axis=1) - logits[np.arange(len(x)), y]
    toy = Toy()
    toy.dtype = torch.float32
    found = audit.audit(toy, x, y, CPU)
    assert (found["predictions"] == y).tolist() == (scores[:, 6, 6] <= 0).tolist()
    assert not found["ranks"][0].any()
    some = 0
    for rule in RULES:
        T = score_map_statistics(scores, radius=2, rule=rule)
        assert np.array_equal(score_map_statistics(found["ranks"].astype(float), radius=2, rule=rule), T)
        some += len(set(T))
    assert some > 12


def test_a_network_from_its_arrays(tmp_path):
    """Padding on two sides, groups, ReLU6, and what came into a block added to what leaves it."""
    rng = np.random.default_rng(0)
    kernels = [rng.normal(0, 0.3, s) for s in ((8, 3, 3, 3), (8, 1, 3, 3), (8, 8, 1, 1))]
    biases = rng.normal(0, 0.3, (3, 8))
    layers = [[2, 1, 0, 1, 0, 1, 1, 0, 1], [1, 8, 1, 1, 1, 1, 1, 0, 1], [1, 1, 0, 0, 0, 0, 0, 1, 0]]
    arrays = {f"kernel{i}": k.astype(np.float16) for i, k in enumerate(kernels)}
    arrays |= {f"bias{i}": b.astype(np.float16) for i, b in enumerate(biases)}
    arrays |= {"weight": rng.normal(size=(5, 8)).astype(np.float32), "bias": np.arange(5, dtype=np.float32)}
    np.savez(tmp_path / "n.npz", layers=np.array(layers), **arrays)
    x = rng.integers(0, 256, (2, 12, 12, 3), dtype=np.uint8)
    k, b = ([torch.as_tensor(arrays[f"{n}{i}"]).float() for i in range(3)] for n in ("kernel", "bias"))
    z = (torch.as_tensor(x).float().permute(0, 3, 1, 2) - 127) / 128
    stem = F.conv2d(F.pad(z, (0, 1, 0, 1)), k[0], b[0], stride=2).clamp(0, 6)
    deep = F.conv2d(stem, k[1], b[1], padding=1, groups=8).clamp(0, 6)
    block = F.conv2d(deep, k[2], b[2]) + stem
    expected = block.mean(dim=(2, 3)) @ torch.as_tensor(arrays["weight"]).T + torch.as_tensor(arrays["bias"])
    found = audit.Network(tmp_path / "n.npz", CPU)(torch.as_tensor(x))
    assert torch.allclose(found, expected, atol=1e-4)


def test_what_is_kept_says_what_the_tables_say():
    text = (FOLDER / "results" / "tables.md").read_text()
    found = tables.read(FOLDER / "results")
    assert list(found) == list(audit.NETWORKS)
    for name, of in found.items():
        assert of["error"] == of["answers"] == pytest.approx(of["record"]["error"])
        assert of["moved"] == of["record"]["whole_maps"] / 1000
        T = of["T"]["strongest"]
        assert tables.p_of(T, "strongest", "bernstein") == 1.0
        assert f"| {name} | strongest | {T.mean():+.5f} (" in text
    assert tables.errors(found) in text
