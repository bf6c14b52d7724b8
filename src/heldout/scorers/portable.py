"""Models on their way to another machine."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from heldout.scorers.base import Scorer
from heldout.scorers.onnx import OnnxScorer
from heldout.scorers.torch import TorchScorer


def portable(scorer: Scorer) -> Any:
    """What arrives elsewhere as the same scorer: an ONNX file goes along, and weights leave their GPU for the way."""
    if isinstance(scorer, OnnxScorer):
        return _File(scorer)
    if isinstance(scorer, TorchScorer) and scorer.device.type != "cpu":
        there = copy.copy(scorer)
        there._original = copy.deepcopy(scorer._original).cpu()
        there.device = scorer._torch.device(scorer.device.type)  # a worker sees its own GPU as the first
        return there
    return scorer


def runs_on_gpu(scorer: Scorer) -> bool:
    """Whether it says that its batches live on a GPU."""
    options = getattr(scorer, "_options", {})  # of an ONNX file
    return str(getattr(scorer, "device", options.get("device", "cpu"))).startswith("cuda")


class _File:
    """An ONNX file and how it is run."""

    def __init__(self, scorer: OnnxScorer) -> None:
        self._state = scorer.__getstate__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._state, Path(self._state["path"]).read_bytes())


def _opened(state: dict[str, Any], content: bytes) -> OnnxScorer:
    """A file that is the same here is opened where it is: it may have weights in files beside it."""
    options = dict(state)
    path, name = Path(options.pop("path")), options.pop("name")
    if options.get("device", "cpu") != "cpu":
        options["device"] = "cuda"
    if path.is_file() and path.read_bytes() == content:
        scorer = OnnxScorer(path, **options)
    else:
        with tempfile.TemporaryDirectory(prefix="heldout-") as folder:
            copied = Path(folder) / path.name
            copied.write_bytes(content)
            scorer = OnnxScorer(copied, **options)
    scorer.name = name
    return scorer
