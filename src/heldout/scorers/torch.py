"""torch modules, prepared for inference."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import hashlib
import itertools
import operator
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError, import_extra
from heldout.scorers.base import Batch, Layout
from heldout.scorers.prepared import WAYS, Way, checked, fastest, prepared
from heldout.workers.switches import FLOAT32, rounds_products, switch, switches

WAY_OF: dict[bool, Way] = {False: "plain", True: "compiled"}
REPEATS = 4  # answers of a module to the same pictures before it is traced
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


class TorchScorer:
    """A `torch.nn.Module` that maps (n, channels, height, width) to (n, n_classes) logits.

    A copy of the module runs in eval mode inside `torch.inference_mode`; the module itself keeps its
    mode, device and gradients, and later changes to it are not seen. With `prepare` batch norms are folded
    into the convolutions before them, if the module can be traced and the result agrees; that changes
    logits by rounding only.

    Parameters
    ----------
    module : torch.nn.Module
        The model.
    batch_size : int, optional
        How many pictures it is given at once; 32 on a CPU and 1,024 on a GPU without.
    device : str, optional
        "cpu", "cuda", "cuda:1", ...; default: where the module's parameters are. Batches live there.
    bf16 : bool
        Run in bfloat16 autocast.
    channels_last : bool
        Memory format of inputs and weights; often faster for convolutions.
    prepare : bool
        Fold batch norms.
    compile : bool, "onnx" or "auto"
        True: run through `torch.compile`, which takes a minute before the first batch. "onnx": through ONNX Runtime,
        on a CPU. Both change logits by rounding only, which is checked against the plain module on the first batch.
        "auto": whichever of these and the plain module is fastest on that batch. That may differ from run to run, and
        the last bits with it; `audit` and `perturbation_curve` tell which it was, and resumed ones keep to it.

    Attributes
    ----------
    precision : str
        Of its arithmetic: "float32", "tf32" (float32 whose products are rounded, torch's default for convolutions on
        recent GPUs) or "bfloat16".
    way : {"plain", "compiled", "onnx"} or None
        How it is run; None until "auto" has found that out.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from heldout.scorers import TorchScorer
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5))
    >>> TorchScorer(net).logits(np.zeros((2, 3, 2, 2), np.float32)).shape
    (2, 5)
    """

    layout: Layout = "nchw"
    way: Way | None = None

    def __init__(
        self,
        module: Any,
        *,
        batch_size: int | None = None,
        device: str | None = None,
        bf16: bool = False,
        channels_last: bool = True,
        prepare: bool = True,
        compile: bool | Literal["onnx", "auto"] = False,
    ) -> None:
        import_extra("torch.fx", extra="torch")
        first = next(iter(module.parameters()), None)
        self.device = check_device(device or (first.device if first is not None else "cpu"))
        if compile not in (False, True, "onnx", "auto"):
            raise InputError(f"`compile={compile!r}`: choose True, 'onnx' or 'auto', or leave it out.")
        if compile == "onnx" and (self.device.type != "cpu" or bf16):
            raise InputError("`compile='onnx'` is for float32 on the CPU; use `compile=True`.")
        self._original = module
        self._bf16, self._channels_last, self._prepare = bf16, channels_last, prepare
        self._is_plain = False
        if compile != "auto":
            self.way = "onnx" if compile == "onnx" else WAY_OF[bool(compile)]
        self._prepared: Any = None  # the module, folded
        self._run: Any = None  # how it is run
        # On a CPU the intermediate tensors of 32 pictures still come from the cache and the allocator's own
        # store; at 128 a ResNet-20 ran at two thirds of that speed.
        self.batch_size = batch_size or (1024 if self.device.type == "cuda" else 32)
        self.name = type(module).__name__

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_prepared": None, "_run": None}  # which a worker makes anew

    def portable(self) -> TorchScorer:
        """Itself on its way to another machine: its weights on the CPU, as there may be no such GPU there.

        Returns
        -------
        TorchScorer
            For the first GPU where this one runs on any.
        """
        there = copy.copy(self)
        tensors = itertools.chain(self._original.parameters(), self._original.buffers())
        if any(tensor.device.type != "cpu" for tensor in tensors):
            there._original = copy.deepcopy(self._original).cpu()
        there.device = self._torch.device(self.device.type)  # a worker sees its own GPU as the first
        return there

    @property
    def _torch(self) -> Any:
        return import_extra("torch", extra="torch")

    @property
    def precision(self) -> str:
        """Of its arithmetic."""
        if self._bf16:
            return "bfloat16"
        rounds = self.device.type == "cuda" and not self._is_plain and rounds_products(self._torch)
        return "tf32" if rounds else "float32"

    def plain(self) -> TorchScorer | None:
        """The same module in float32 throughout, not compiled, its batch norms as they are: what its answers are
        compared with where its own arithmetic is another.

        Returns
        -------
        TorchScorer or None
            None where it runs in float32 itself, not compiled.
        """
        if self.precision == "float32" and self.way == "plain":
            return None
        made = copy.copy(self)
        made._bf16 = made._prepare = False
        made._prepared = made._run = None
        made.way, made._is_plain = "plain", True
        return made

    @property
    def gathers(self) -> bool:
        """Whether windows are gathered on its device: not where that is this process's own memory, in which NumPy cuts
        them faster, and not where it has no float64.
        """
        return self.device.type not in ("cpu", "mps")

    @property
    def channels_last(self) -> bool:
        """Memory format of its batches; ONNX Runtime has its own, and takes channels first."""
        return self._channels_last and self.way != "onnx"

    def _module(self, example: Any) -> Any:
        """The module that is run: a copy, made once, so that the user's own stays as it is."""
        torch = self._torch
        if self._prepared is not None:
            return self._prepared
        if self.device.type == "cpu":
            keep_freed_memory()
        with torch.inference_mode(False):  # wherever it is made, gradients can go through it
            module = copy.deepcopy(self._original).eval().requires_grad_(False).to(self.device)
            if self._prepare:
                module = folded(module, example, torch, in_place=not self._bf16)
            self._prepared = module.to(memory_format=torch.channels_last) if self._channels_last else module
        return self._prepared

    def _ready(self, example: Any) -> Any:
        """How the module is run, which "auto" finds out."""
        if self._run is None:
            module = self._module(example)
            plain = functools.partial(self._called, module)

            def made(way: Way) -> Any:
                return plain if way == "plain" else functools.partial(self._called, prepared(way, module, example))

            if self.way is None:
                ways = [way for way in WAYS if way != "onnx" or (self.device.type == "cpu" and not self._bf16)]
                self.way, self._run = fastest(made, ways, example, self.precision)
            elif self.way == "plain":
                self._run = plain
            else:
                way = self.way
                self._run = checked(way, lambda: made(way), plain(example.clone()), example, self.precision)
        return self._run

    def choose(self, batch: Batch) -> str:
        """Have "auto" find out which way to run the module is fastest; nothing where that is known.

        Parameters
        ----------
        batch : (n, channels, height, width) float32
            Pictures, as many as it will be given at once.

        Returns
        -------
        {"plain", "compiled", "onnx"}
            The way, which `digest` depends on.
        """
        if self.way is None:
            self.logits(batch)
        assert self.way is not None
        return self.way

    def logits(self, batch: Batch) -> NDArray[Any]:
        """Run one batch.

        Parameters
        ----------
        batch : (n, channels, height, width) float32
            Scaled as the model wants it.

        Returns
        -------
        (n, n_classes)
            One row per picture.
        """
        import torch

        positive = batch if min(batch.strides) > 0 else np.ascontiguousarray(batch)
        return np.asarray(self.run(torch.from_numpy(positive).to(self.device)).cpu().numpy())

    def run(self, batch: Any) -> Any:
        """Run one batch that is on the device already.

        Parameters
        ----------
        batch : (n, channels, height, width) tensor
            float32, scaled as the model wants it.

        Returns
        -------
        (n, n_classes) tensor
            float32, on the device.
        """
        import torch

        x = batch.contiguous(memory_format=torch.channels_last if self.channels_last else torch.contiguous_format)
        return self._ready(x)(x).float()

    def _called(self, module: Any, x: Any) -> Any:
        """Without gradients, in its precision."""
        import torch

        if self._bf16 or self._is_plain or _is_cast(self.device.type):
            exact = without_tf32(torch) if self._is_plain else contextlib.nullcontext()
            half = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self._bf16)
            with torch.inference_mode(), exact, half:
                out = module(x)
        else:  # what is entered for every batch is a hundredth of a small model's time
            with torch.inference_mode():
                out = module(x)
        if not isinstance(out, torch.Tensor):
            raise InputError(f"the module returns a {type(out).__name__}; a tensor of logits is needed.")
        return out

    def input_gradient(self, batch: Batch, labels: NDArray[Any]) -> NDArray[np.float32]:
        """Direction in which each example's cross entropy at its label grows, with respect to its own input.

        The gradient of log Σ_{i≠y} exp l_i - l_y, which is that of the cross entropy but for the factor 1 / (1 - p_y):
        in float32 the latter is rounded to 0 where the model is sure, and with it the gradient's sign is lost.

        Parameters
        ----------
        batch : (n, channels, height, width) float32
            Scaled as the model wants it.
        labels : (n,) int
            The true classes.

        Returns
        -------
        (n, channels, height, width) float32
            One gradient per picture.
        """
        torch = self._torch
        x = torch.from_numpy(np.ascontiguousarray(batch)).to(self.device)
        module = self._module(x)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            out = module(x.contiguous(memory_format=torch.channels_last) if self._channels_last else x).float()
            y = torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(self.device)[:, None]
            others = torch.logsumexp(out.scatter(1, y, float("-inf")), dim=1)
            margin = (others - out.gather(1, y)[:, 0]).sum()  # examples do not mix
            (gradient,) = torch.autograd.grad(margin, x)
        return np.asarray(gradient.float().cpu().numpy())

    def digest(self) -> str:
        """Of the module's state and of how it is run.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        if self.way is None:
            raise InputError("`compile='auto'` has found nothing out yet; call `choose` with a batch first.")
        options = (type(self._original).__qualname__, str(self.device), self._bf16, self._channels_last, self._prepare)
        h = hashlib.sha256(repr(options if self.way == "plain" else (*options, self.way)).encode())
        for name, tensor in self._original.state_dict().items():
            h.update(name.encode())
            h.update(tensor.detach().cpu().contiguous().reshape(-1).view(self._torch.uint8).numpy().tobytes())
        return h.hexdigest()[:16]


@contextlib.contextmanager
def without_tf32(torch: Any) -> Iterator[None]:
    """No rounding of factors inside; afterwards as it was."""
    before = {name: value for name, value in switches(torch).items() if name in FLOAT32}
    switch(torch, {name: FLOAT32[name] for name in before})
    try:
        yield
    finally:
        switch(torch, before)


def check_device(device: Any) -> Any:
    """A device of torch, by its name, that holds tensors here."""
    torch = import_extra("torch", extra="torch")
    try:
        found = torch.device(device)
        torch.zeros(1, device=found).numpy(force=True)  # "meta" is a device, and "cuda:9" a name of one
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        there = [f"'cuda:{i}'" for i in range(torch.cuda.device_count())]
        raise InputError(
            f"`device={str(device)!r}`: torch has no such device here; it has {', '.join([repr('cpu'), *there])}."
        ) from error
    return found


def keep_freed_memory() -> None:
    """Have glibc keep up to 1 GB that was freed instead of giving it back to the system at once; elsewhere, nothing.

    A module's tensors of some megabytes are freed and taken again with every batch. Where other arrays come and go
    between batches, as pictures do, the heap's end is given back each time and every page is faulted in anew: a
    ResNet-20 in the spatial search ran at 1,050 pictures a second, and at 1,450 with this.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    mallopt(M_TRIM_THRESHOLD, 2**30)
    mallopt(M_MMAP_THRESHOLD, 2**25)  # the most there is


def folded(module: Any, example: Any, torch: Any, *, in_place: bool = False) -> Any:
    """A module in eval mode with batch norms folded into convolutions; as it was where that fails or disagrees.

    It is traced for that, so that Python code in `forward` runs once. A module that does not repeat its answers is left
    alone, for the audit to find out.
    """
    try:
        with torch.no_grad():
            copied = fold_batch_norms(copy.deepcopy(module), torch)
            if in_place:
                write_in_place(copied, torch)
            reference, *others = (module(example[:8].clone()) for _ in range(REPEATS))  # it may change its input
            if any(not torch.equal(reference, other) for other in others):
                return module  # chance or a counter would be frozen as it was when traced
            again = copied(example[:8].clone())
            close = torch.allclose(reference, again, rtol=1e-3, atol=1e-3 * float(reference.abs().max()) + 1e-6)
    except Exception:  # tracing fails in as many ways as there are models; the model itself always works
        return module
    return copied if close else module


def fold_batch_norms(module: Any, torch: Any) -> Any:
    """Trace a module in eval mode and merge each batch norm into the convolution whose only reader it is."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    traced = torch.fx.symbolic_trace(module)
    parts = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op != "call_module" or not isinstance(parts[node.target], torch.nn.BatchNorm2d):
            continue
        before = node.args[0]
        if before.op != "call_module" or not isinstance(parts[before.target], torch.nn.Conv2d):
            continue
        shared = sum(n.op == "call_module" and n.target == before.target for n in traced.graph.nodes) > 1
        if shared or len(before.users) > 1:
            continue
        parent, _, name = before.target.rpartition(".")
        fused = fuse_conv_bn_eval(parts[before.target], parts[node.target])
        setattr(traced.get_submodule(parent), name, fused)
        parts[before.target] = fused
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def write_in_place(traced: Any, torch: Any) -> None:
    """Have sums and ReLUs write over the convolution whose only reader they are.

    The same bits, in float32; a ResNet-20 takes 3 to 5 % less time, since there is less memory to write.
    """
    parts = dict(traced.named_modules())
    fresh = {n for n in traced.graph.nodes if n.op == "call_module" and isinstance(parts[n.target], torch.nn.Conv2d)}

    def may_go(node: Any) -> bool:
        return node in fresh and len(node.users) == 1

    def is_relu(node: Any) -> bool:
        if node.op == "call_module":
            return type(parts[node.target]) is torch.nn.ReLU
        return node.op == "call_function" and node.target in (torch.relu, torch.nn.functional.relu)

    for node in traced.graph.nodes:
        if node.op == "call_function" and node.target in (operator.add, operator.iadd, torch.add) and not node.kwargs:
            first, second = node.args if may_go(node.args[0]) else node.args[::-1]
            if may_go(first) and isinstance(second, torch.fx.Node):
                node.target, node.args = operator.iadd, (first, second)
                fresh.add(node)
        elif is_relu(node) and may_go(node.args[0]):  # what it writes must stay: its gradient is made from that
            node.op, node.target, node.args, node.kwargs = "call_function", torch.relu_, node.args[:1], {}
    traced.recompile()


def _is_cast(device_type: str) -> bool:
    """Whether the caller runs torch in a lower precision, from which the scorer's own is kept."""
    import torch

    try:
        return bool(torch.is_autocast_enabled(device_type))
    except TypeError:  # before torch 2.4, which does not tell for each kind of device
        return True
