"""A batch goes to a model and its answer is checked at the door."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError, told
from heldout.scorers.base import Scorer

Names = Sequence[str] | NDArray[np.object_]

Found = TypeVar("Found")


class OutOfMemoryError(InputError):
    """A batch is too large for the device's memory; a smaller one may not be."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether this is what a model says for want of memory; not every runtime has a type of its own for that."""
    said = str(error).lower()
    named = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)  # torch's, loaded or not
    return (
        named
        or isinstance(error, MemoryError)
        or any(words in said for words in ("out of memory", "can't allocate memory", "failed to allocate memory"))
    )


def _failed_late(error: BaseException) -> bool:
    """Whether a device says so that something failed there: nobody waits for it, and the next one to ask hears."""
    named = any(kind.__name__ == "AcceleratorError" for kind in type(error).__mro__)  # torch's, since 2.8
    return named or (isinstance(error, RuntimeError) and str(error).startswith("CUDA error"))


def with_batches_that_fit(
    work: Callable[[int], Found], size: int, on_smaller: Callable[[int], None], *, scorer: Scorer | None = None
) -> Found:
    """What `work` makes with batches of a size; where the device runs out of memory, with ones of half that size.

    Parameters
    ----------
    work : function of a batch size
        Begins anew with every size.
    on_smaller : function of a batch size
        Told the new one.
    scorer : Scorer, optional
        Whose work it is: also where it is not the model itself that asks for too much, the batch is made smaller.
    """
    while True:
        try:
            with contextlib.nullcontext() if scorer is None else memory_told(scorer, (size,)):
                return work(size)
        except OutOfMemoryError:
            if size == 1:
                raise
        size //= 2
        free_memory()
        on_smaller(size)


def smaller_batches_text(name: str, size: int) -> str:
    """That a model goes on with batches of a size, or of fewer still, for want of memory."""
    return f"{name}: the device ran out of memory at {2 * size:,} pictures per batch; going on with fewer."


def free_memory() -> None:
    """Give back what torch keeps of a GPU's memory for later: in other pieces it may be enough."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


@contextlib.contextmanager
def memory_told(scorer: Scorer, shape: tuple[int, ...]) -> Iterator[None]:
    """Where a device runs out of memory before or after the model itself, or fails later than the model returned, the
    sentence is the same."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InputError) or not (ran_out_of_memory(error) or _failed_late(error)):
            raise
        raise failure(scorer, shape, error) from error


def check_classes(n_classes: int, labels: NDArray[np.int64], names: Names) -> None:
    """Refuse a label that the model does not know."""
    worst = int(np.argmax(labels))
    if n_classes <= labels[worst]:
        raise InputError(
            f"the model knows {n_classes} classes, but picture {names[worst]} has label "
            f"{int(labels[worst])} (classes count from 0)."
        )


def excess_scores(logits: NDArray[Any], labels: NDArray[np.int64], names: Names) -> NDArray[np.float64]:
    """s(x) = max_i l_i(x) - l_y(x), checked at the door: classes, finiteness."""
    check_classes(logits.shape[1], labels, names)
    values = logits.astype(np.float64)
    if not np.isfinite(values.sum()):  # quicker than to ask for each
        not_finite = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(not_finite):
            raise InputError(f"the model returns NaN or infinite logits for picture {names[int(not_finite[0])]}.")
    return np.asarray(values.max(axis=1) - values[np.arange(len(values)), labels])


def score_batch(scorer: Scorer, batch: NDArray[np.float32]) -> NDArray[Any]:
    """A scorer's logits of a batch, with whatever goes wrong inside a user's model put into one sentence."""
    try:
        logits = np.asarray(scorer.logits(batch))
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit in a model is a failure of the model
        planes = batch if scorer.layout == "nchw" else np.moveaxis(batch, -1, 1)
        grey = planes.ndim == 4 and planes.shape[1] == 3 and bool((planes == planes[:, :1]).all())
        raise failure(scorer, batch.shape, error, grey=grey) from error
    if logits.dtype.kind not in "fiu":
        raise InputError(f"the model returns values of type {logits.dtype}; real numbers are needed.")
    check_shape(logits.shape, len(batch))
    return logits


def failure(scorer: Scorer, shape: tuple[int, ...], error: BaseException, *, grey: bool = False) -> InputError:
    """Whatever went wrong inside a user's model, in one sentence."""
    if ran_out_of_memory(error):
        way_out = "give a smaller `batch_size`" if shape[0] > 1 else "choose another `device`"
        return OutOfMemoryError(f"the model {scorer.name} runs out of memory on a batch of shape {shape}; {way_out}.")
    hint = "; the pictures are grey, in three equal channels: read the files with `channels=1`" if grey else ""
    return InputError(
        f"the model {scorer.name} fails on a batch of shape {shape} ({scorer.layout}): {told(error)}{hint}."
    )


def check_shape(shape: tuple[int, ...], n: int) -> None:
    """Refuse what is no row of logits for each of n pictures."""
    if len(shape) != 2 or shape[0] != n:
        raise InputError(f"the model returns shape {shape} for a batch of {n}; (n, n_classes) logits are needed.")


def gradient_batch(scorer: Any, batch: NDArray[np.float32], labels: NDArray[Any]) -> NDArray[np.float32]:
    """A torch scorer's `input_gradient`, with what goes wrong inside the model in one sentence."""
    try:
        return np.asarray(scorer.input_gradient(batch, labels))
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise failure(scorer, batch.shape, error) from error


def right_answers(
    scorer: Scorer, batch: NDArray[np.float32], labels: NDArray[np.int64], names: list[str], size: int
) -> NDArray[np.bool_]:
    """Whether no label scores higher than the true one, for each input; the batch is filled up to its size."""
    logits = score_batch(scorer, filled(batch, size))[: len(batch)]
    return np.asarray(excess_scores(logits, labels, names) <= 0)


def filled(batch: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """A batch filled up to its size: a model's arithmetic may depend on it, and some take no other."""
    missing = size - len(batch)
    return batch if missing <= 0 else np.concatenate([batch, np.repeat(batch[:1], missing, axis=0)])


def check_input(scorer: Scorer, shape: tuple[int, ...]) -> None:
    """Where a model says what it wants, a picture of the wrong (height, width, channels) is told in its words."""
    height, width, channels = shape
    wanted = getattr(scorer, "channels", None)
    if wanted is not None and wanted != channels:
        raise InputError(
            f"the model wants {wanted} channel(s), but the pictures have {channels}; read files with "
            f"`channels={wanted}`, or convert the array."
        )
    size = getattr(scorer, "input_size", (None, None))
    if None not in size and tuple(size) != (height, width):
        raise InputError(
            f"the model wants {size[0]} x {size[1]} pixels, but gets {height} x {width}; cut them out with "
            f"`crop={size[0]}`."
        )
