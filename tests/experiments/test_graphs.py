"""What trainings share whose step is one CUDA graph, as far as a processor can tell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments import graphs  # noqa: E402


@pytest.mark.parametrize("but", [(nn.BatchNorm2d,), (nn.BatchNorm2d, nn.Linear)])
def test_a_twin_copies_some_weights_and_has_the_others(but):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    twin = graphs.in_bfloat16(net, but)
    for mine, theirs in zip(net.modules(), twin.modules(), strict=True):
        for name, p in mine.named_parameters(recurse=False):
            other = getattr(theirs, name)
            assert (other is p) == isinstance(mine, but)
            assert other.dtype == (torch.float32 if other is p else torch.bfloat16)
            assert torch.equal(other, p.to(other.dtype))
    assert twin[1].running_mean is net[1].running_mean  # what one pass counts, the other has


def test_gradients_lie_as_weights_do():
    kernel = torch.rand(4, 3, 5, 5)
    weights = kernel.to(memory_format=torch.channels_last)
    assert graphs.laid(kernel).stride() == weights.stride() != kernel.stride()
    assert torch.equal(graphs.laid(kernel), kernel)
    assert graphs.laid(torch.rand(3, 4).T).is_contiguous()


def test_a_capture_begins_each_step_at_0(monkeypatch):
    """Three steps as they stand, then one that the graph records, with workspaces of its own."""
    told, count = [], torch.zeros(1, dtype=torch.int64)

    class Graph:
        def register_generator_state(self, generator):
            told.append(generator)

    class Capture:
        def __init__(self, graph, stream):
            self.graph, self.stream = graph, stream

        def __enter__(self):
            told.append("captured")

        def __exit__(self, *_):
            told.append("done")

    def step():
        told.append(int(count))
        count.add_(1)

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", lambda: told.append("cleared"), raising=False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", Capture)
    generator = torch.Generator()
    assert isinstance(graphs.captured(step, count, generator, None), Graph)
    assert told == [0, 0, 0, "cleared", generator, "captured", 1, "done", "cleared"]
