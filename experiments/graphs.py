"""What trainings share whose step is one CUDA graph: its stream, weights in bfloat16, the capture. torch only."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn


def on(stream: torch.cuda.Stream | None) -> contextlib.AbstractContextManager:
    """None on a processor."""
    return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


def laid(t: Tensor) -> Tensor:
    """In memory as the weights are: the fused step goes through both side by side."""
    return t.contiguous(memory_format=torch.channels_last) if t.ndim == 4 else t.contiguous()


def in_bfloat16(network: nn.Module, but: tuple[type[nn.Module], ...]) -> nn.Module:
    """A twin whose weights are bfloat16 copies, but for layers of these kinds, whose tensors are the very same.

    What autocast does, but all weights are copied at once: a third of the launches of a step are casts otherwise, and
    launches are what small networks spend their time on.
    """
    twin = copy.deepcopy(network)
    for mine, theirs in zip(network.modules(), twin.modules(), strict=True):
        if isinstance(mine, but):
            theirs._parameters, theirs._buffers = mine._parameters, mine._buffers
        elif mine._parameters:
            theirs.to(torch.bfloat16)
    return twin


def captured(
    step: Callable[[], None], count: Tensor, generator: torch.Generator, stream: torch.cuda.Stream | None
) -> torch.cuda.CUDAGraph:
    """A step as a graph, after a few as they stand, before which `count`, which says where one begins, is 0."""
    torch.cuda.synchronize()
    with on(stream):
        for _ in range(3):
            count.zero_()
            step()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()  # else graphs that run side by side would share one
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph, stream=stream):
        step()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    return graph
