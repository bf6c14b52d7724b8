"""Any number of workers: the same file, byte for byte, also where one run goes on with what another one left."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from heldout import InputError, Translations, audit_many
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.scorers import TorchScorer

torch = pytest.importorskip("torch")


def nets() -> list[torch.nn.Module]:
    """Two small ones."""
    torch.manual_seed(0)
    return [
        torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(128, 3),
        )
        for _ in range(2)
    ]  # fmt: skip


def pictures(seed: int, n: int = 60) -> LabelledImages:
    rng = np.random.default_rng(seed)
    return LabelledImages(from_arrays(rng.integers(0, 256, (n, 12, 12), np.uint8), rng.integers(0, 3, n)), Wrap())


def audited(folder: Path, models: list, **options) -> list[bytes]:
    """The files of an audit of several shards."""
    usual = {"control": pictures(2), "batch_size": 8, "n_resamples": 199, "allow_chance": True}
    result = audit_many(models, pictures(1), orbit=Translations(1), **usual | options)
    result.save(folder / "result")
    return [(folder / f"result.{kind}").read_bytes() for kind in ("json", "npz")]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr("heldout.independence.rounds.BATCHES_OF_PICTURES", 3)


def test_the_same_bytes_with_one_and_with_two_workers(tmp_path):
    assert audited(tmp_path, nets(), n_jobs=2) == audited(tmp_path, nets())


class Breaks(torch.nn.Module):
    """Fails at its n-th batch."""

    def __init__(self, net: torch.nn.Module, after: int) -> None:
        super().__init__()
        self.net, self.left = net, after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("no such luck")
        return self.net(x)

    def state_dict(self, *args, **options):
        return self.net.state_dict(*args, **options)


def breaking(after: int) -> list[TorchScorer]:
    """Of two models, the second one."""
    first, second = nets()
    return [TorchScorer(Breaks(*each), prepare=False) for each in ((first, 10**9), (second, after))]


def test_what_two_workers_left_is_taken_up_by_one_and_the_other_way_round(tmp_path):
    whole = audited(tmp_path, breaking(10**9))
    for first, second in ((2, 1), (1, 2)):
        folder = tmp_path / str(first)
        kept = {"checkpoint": folder, "n_jobs": first}
        with pytest.raises(InputError, match="no such luck"):
            audited(tmp_path, breaking(50), **kept)
        assert len(list(folder.glob("test-?-?.npz"))) > 1
        said: list[str] = []
        models = breaking(10**9)
        again = audited(tmp_path, models, **kept | {"n_jobs": second}, resume=True, notify=said.append)
        assert again == whole
        assert any("pictures were done" in sentence for sentence in said)


def test_a_model_that_cannot_be_sent_is_named():
    lock = threading.Lock()

    def guarded(batch):
        with lock:
            return batch.reshape(len(batch), -1)[:, :3]

    with pytest.raises(InputError, match=r"^`n_jobs=2`: the model .*guarded cannot be sent to another process \("):
        audit_many([guarded], pictures(1), orbit=Translations(1), allow_chance=True, n_jobs=2, batch_size=8)


def test_a_worker_that_dies_is_one_sentence():
    class Dies(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.here = os.getpid()

        def forward(self, x):
            if os.getpid() != self.here:
                os._exit(1)
            return x.mean((2, 3)).repeat(1, 3)

    with pytest.raises(InputError, match=r"^a worker died, most often for want of memory\. What was finished is kept"):
        audit_many([Dies()], pictures(1), orbit=Translations(1), allow_chance=True, n_jobs=2, batch_size=8)
