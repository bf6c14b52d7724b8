"""Other ways to run a torch module than as it is: torch.compile, ONNX Runtime; and a trial that finds the fastest.

They compute the same up to rounding, which is checked against the module itself on one batch. A stopwatch does not
choose alike twice, so nobody's results depend on one unless they ask for it, and whoever does keeps the choice.
"""

from __future__ import annotations

import contextlib
import functools
import io
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

from heldout.errors import InputError, import_extra, told
from heldout.scorers.batches import OutOfMemoryError, ran_out_of_memory

Way = Literal["plain", "compiled", "onnx"]
WAYS: dict[Way, str] = {"plain": "torch", "compiled": "torch.compile", "onnx": "ONNX Runtime"}  # and what reports say
BLOCKS, TURNS, AT_MOST = 3, 7, 1.0  # in which a way is tried, turns of each, and seconds after which it has no more
GAIN = 1.03  # by which another way must be faster than the plain one to be worth another rounding
# Relative to the largest logit, within which two ways agree. A step of bfloat16 is up to 1/128 of a number, one of tf32
# an eighth of that; ways round at different places.
TOLERANCE = {"float32": 1e-3, "tf32": 2**-8, "bfloat16": 2**-6}

Run = Callable[[Any], Any]


def prepared(way: Way, module: Any, example: Any) -> Run:
    """A function from a batch to logits.

    Parameters
    ----------
    way : {"plain", "compiled", "onnx"}
        How to run it.
    module : torch.nn.Module
        In eval mode, on its device.
    example : (n, channels, height, width) tensor
        A batch as it will be given.
    """
    torch = import_extra("torch", extra="torch")
    if way == "compiled":
        compiled: Run = torch.compile(module, dynamic=False)
        return compiled
    return in_onnx_runtime(module, example) if way == "onnx" else module


def in_onnx_runtime(module: Any, example: Any) -> Run:
    """A module as an ONNX file that only this process sees."""
    torch, ort = import_extra("torch", extra="torch"), import_extra("onnxruntime", extra="onnx")
    file = io.BytesIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")  # torch's exporters follow each other, and each warns of the last
        torch.onnx.export(
            module,
            (example.contiguous().clone(),),  # which the module may change
            file,
            input_names=["pictures"],
            output_names=["logits"],
            dynamic_axes={"pictures": {0: "n"}, "logits": {0: "n"}},
            dynamo=False,
        )
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = torch.get_num_threads()
    session = ort.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])

    def run(batch: Any) -> Any:
        return torch.from_numpy(session.run(["logits"], {"pictures": batch.contiguous().numpy()})[0])

    return run


def agree(logits: Any, plain: Any, tolerance: float) -> bool:
    """Whether two ways gave the same up to a tolerance relative to the largest logit, such as one of `TOLERANCE`.

    NaN and infinities are for others to refuse.
    """
    torch = import_extra("torch", extra="torch")
    dtype = torch.promote_types(torch.promote_types(logits.dtype, plain.dtype), torch.float32)
    a, b = logits.to(dtype), plain.to(dtype)
    atol = tolerance * float(torch.nan_to_num(b, nan=0.0, posinf=0.0, neginf=0.0).abs().max()) + 1e-6
    return a.shape == b.shape and bool(torch.allclose(a, b, rtol=tolerance, atol=atol, equal_nan=True))


def checked(way: Way, make: Callable[[], Run], expected: Any, example: Any, precision: str) -> Run:
    """What `make` makes; InputError where that fails on the example, or gives other logits than were `expected`."""
    try:
        run = make()
        found = run(example.clone())  # a module may change its input in place
    except InputError:
        raise
    except Exception as error:
        kind = OutOfMemoryError if ran_out_of_memory(error) else InputError
        raise kind(f"`compile`: the model does not run in {WAYS[way]}: {told(error)}; leave it out.") from error
    if not agree(found, expected, TOLERANCE[precision]):
        raise InputError(f"`compile`: in {WAYS[way]} the model gives other logits than in torch; leave it out.")
    return run


def fastest(make: Callable[[Way], Run], ways: Sequence[Way], example: Any, precision: str) -> tuple[Way, Run]:
    """The way that takes the least time on an example, the plain one unless another is faster by more than a little.

    Ways take turns in blocks, since right after another one a way shares the cores with threads that still wait for
    work: a ResNet-20 took three times as long. The median counts. One that cannot be made, or gives other logits, is
    left out.
    """
    plain = make("plain")
    runs: dict[Way, Run] = {"plain": plain}
    expected = plain(example.clone())
    for way in ways:
        if way != "plain":
            try:
                runs[way] = checked(way, functools.partial(make, way), expected, example, precision)
            except InputError:  # no compiler, no exporter, an operator without a counterpart: then it is no candidate
                continue
    # as it is given them later, and each its own
    inputs = {way: example.contiguous().clone() if way == "onnx" else example.clone() for way in runs}
    times: dict[Way, list[float]] = {way: [] for way in runs}
    for _ in range(BLOCKS):
        for way, run in runs.items():
            if sum(times[way]) > AT_MOST:
                continue
            run(inputs[way])  # while the threads of the way before go to sleep
            for _ in range(TURNS):
                if sum(times[way]) > AT_MOST:
                    break
                started = time.perf_counter()
                run(inputs[way])
                times[way].append(time.perf_counter() - started)
    usual = {way: statistics.median(found) for way, found in times.items()}
    first = min(usual, key=usual.__getitem__)
    return (first, runs[first]) if usual[first] * GAIN < usual["plain"] else ("plain", plain)
