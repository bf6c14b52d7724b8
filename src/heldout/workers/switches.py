"""torch's switches that change a model's arithmetic: read, and set."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

PRODUCTS = "float32_matmul_precision"  # has functions of its own in place of an attribute
# In the order they are set. The older names of what may be rounded set some of the newer ones too (torch 2.9), so they
# come first; where the newer ones say what the older cannot, reading the older ones raises, and they are left out.
LEAVES = ("cudnn.conv", "cudnn.rnn", "cuda.matmul", "mkldnn.conv", "mkldnn.matmul", "mkldnn.rnn")
NAMES = (
    "cudnn.deterministic",
    "cudnn.benchmark",
    "mkldnn.enabled",
    "cudnn.allow_tf32",
    PRODUCTS,
    "fp32_precision",
    "cudnn.fp32_precision",
    "mkldnn.fp32_precision",
    *(f"{leaf}.fp32_precision" for leaf in LEAVES),
)
FLOAT32: Mapping[str, Any] = {  # nothing is rounded
    "cudnn.allow_tf32": False,
    PRODUCTS: "highest",
    **{f"{leaf}.fp32_precision": "ieee" for leaf in LEAVES},
}


def switches(torch: Any) -> dict[str, Any]:
    """How those stand that this torch has, by name."""
    found = {}
    for name in NAMES:
        with suppress(AttributeError, RuntimeError):
            found[name] = torch.get_float32_matmul_precision() if name == PRODUCTS else attrgetter(name)(torch.backends)
    return found


def switch(torch: Any, to: Mapping[str, Any]) -> None:
    """Set some of them."""
    for name in NAMES:
        if name not in to:
            continue
        if name == PRODUCTS:
            torch.set_float32_matmul_precision(to[name])
        else:
            *part, last = name.split(".")
            setattr(attrgetter(".".join(part))(torch.backends) if part else torch.backends, last, to[name])


def rounds_products(torch: Any) -> bool:
    """Whether torch may round the factors of float32 products on a GPU."""
    found = switches(torch)
    if "cuda.matmul.fp32_precision" in found:
        return "tf32" in (found["cudnn.conv.fp32_precision"], found["cuda.matmul.fp32_precision"])
    return bool(found["cudnn.allow_tf32"]) or found[PRODUCTS] != "highest"
