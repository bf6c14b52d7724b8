"""ONNX files through ONNX Runtime."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError, import_extra
from heldout.scorers.base import Batch, Layout
from heldout.scorers.batches import ran_out_of_memory

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxScorer:
    """An image classifier in an .onnx file.

    Input size, layout and a fixed batch are read from the file. The first output is taken as the
    logits unless `output` names another.

    Parameters
    ----------
    path : path
        The .onnx file.
    batch_size : int, optional
        Default: the file's own where it is fixed, else 256.
    device : {"cpu", "cuda"}
        "cuda" needs the package onnxruntime-gpu in place of onnxruntime.
    bf16 : bool
        Refused: a file runs in the precision it was exported in.
    compile : bool or str
        Refused: ONNX Runtime has prepared the file already.
    threads : int, optional
        Default: ONNX Runtime's own choice.
    output : str, optional
        Name of the output that holds the logits.

    Examples
    --------
    >>> from importlib.resources import files
    >>> import numpy as np
    >>> from heldout.scorers import OnnxScorer
    >>> scorer = OnnxScorer(files("heldout") / "data" / "honest.onnx", threads=1)
    >>> scorer.name, scorer.layout, scorer.logits(np.zeros((2, 1, 32, 32), np.float32)).shape
    ('honest', 'nchw', (2, 10))
    """

    def __init__(
        self,
        path: str | Path,
        *,
        batch_size: int | None = None,
        device: str = "cpu",
        bf16: bool = False,
        compile: bool | str = False,
        threads: int | None = None,
        output: str | None = None,
    ) -> None:
        self._options = {
            "batch_size": batch_size, "device": device, "bf16": bf16, "threads": threads, "output": output,
        }  # fmt: skip
        path = Path(path)
        if not path.is_file():
            raise InputError(f"the model file {path} does not exist.")
        if bf16:
            raise InputError("bfloat16 is for torch modules; an ONNX file runs in the precision it was exported in.")
        if compile:
            raise InputError("`compile` is for torch modules; ONNX Runtime has prepared this file already.")
        if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
            raise InputError(f"`device={device!r}`: there is no such device; use 'cpu', 'cuda' or 'cuda:1'.")
        ort = import_extra("onnxruntime", extra="onnx")
        options = ort.SessionOptions()
        options.log_severity_level = 3
        if threads is not None:
            options.intra_op_num_threads = threads
        providers = ["CUDAExecutionProvider"] if device.startswith("cuda") else ["CPUExecutionProvider"]
        if providers[0] not in ort.get_available_providers():
            raise InputError(f"`device={device!r}`: this ONNX Runtime has no {providers[0]}; install onnxruntime-gpu.")
        try:
            number = [{"device_id": device.partition(":")[2] or "0"}] if device != "cpu" else None
            self._session = ort.InferenceSession(str(path), options, providers=providers, provider_options=number)
        except Exception as error:  # ONNX Runtime raises a dozen types of its own
            raise InputError(f"{path} is not a model that ONNX Runtime can load: {error}") from error
        inputs = list(self._session.get_inputs())
        if len(inputs) != 1 or len(inputs[0].shape) != 4:
            shapes = ", ".join(f"{i.name} {i.shape}" for i in inputs)
            raise InputError(f"{path}: one input of four dimensions is needed, but it has {shapes}.")
        if inputs[0].type not in TYPES:
            raise InputError(f"{path}: input of type {inputs[0].type}; float, float16 or double is needed.")
        self._input, self._type = inputs[0].name, TYPES[inputs[0].type]
        self._output = output or self._session.get_outputs()[0].name
        shape = inputs[0].shape
        channels_last = shape[3] in (1, 3, 4) and shape[1] not in (1, 3, 4)
        self.layout: Layout = "nhwc" if channels_last else "nchw"
        fixed = [d if isinstance(d, int) else None for d in shape]
        self.input_size = (fixed[1], fixed[2]) if channels_last else (fixed[2], fixed[3])
        self.channels = fixed[3] if channels_last else fixed[1]
        if fixed[0] is not None and batch_size not in (None, fixed[0]):
            raise InputError(
                f"{path} takes batches of exactly {fixed[0]}; `batch_size={batch_size}` is not supported by this model."
            )
        self.batch_size = fixed[0] or batch_size or 256
        self.name, self.device, self._path = path.stem, device, path

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self._path, "name": self.name, **self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        name = state.pop("name")
        self.__init__(**state)  # type: ignore[misc]  # a session cannot travel: a worker opens its own
        self.name = name

    def portable(self) -> Any:
        """Itself on its way to another machine, with the content of the file.

        Returns
        -------
        object
            What `pickle` turns into the same scorer there, on the first GPU where this one runs on any.
        """
        return _File(self)

    @property
    def precision(self) -> str:
        """Of its input; what it computes in is in the file."""
        return np.dtype(self._type).name

    def logits(self, batch: Batch) -> NDArray[Any]:
        """Run the session on one batch.

        Parameters
        ----------
        batch : (n, ...) float32
            In `layout`.

        Returns
        -------
        (n, n_classes)
            One row per picture.
        """
        try:
            out = self._session.run([self._output], {self._input: batch.astype(self._type, copy=False)})
        except Exception as error:
            if ran_out_of_memory(error):
                raise  # with fewer pictures it may run
            raise InputError(
                f"{self._path} cannot run on a batch of shape {batch.shape} "
                f"({self.layout}): {str(error).splitlines()[0]}"
            ) from error
        return np.asarray(out[0])

    def digest(self) -> str:
        """Of the file's bytes.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        return hashlib.sha256(self._path.read_bytes()).hexdigest()[:16]


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
    if options["device"] != "cpu":
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
