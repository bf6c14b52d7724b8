"""Pavlitskaya's convolutions for Hopper GPUs: that they compile for the chip, and what they are asked to take.

There is no interpreter for Gluon; the numbers are compared on the GPU before anything is trained (train.py, `check`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is there for Linux only")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "pavlitskaya"
SHARED = 227 * 1024  # bytes of shared memory that a program of an H200 may have
NOTHING = {"BIAS": False, "ADD": False, "RELU": False, "MASK": 0, "P": 0.0, "SUMS": 0}
ENDINGS = [  # forwards and back, as the networks of networks.py ask for them
    (False, {"BIAS": True, "RELU": True, "SUMS": 1}), (False, {"BIAS": True, "ADD": True, "RELU": True}),
    (True, {"P": 0.3, "SUMS": 2}), (True, {"MASK": 1, "SUMS": 3}), (True, {"ADD": True, "MASK": 1, "SUMS": 2}),
    (True, {"MASK": 2, "SUMS": 2}), (True, {}),
]  # fmt: skip


def compiled(kind: str, cs: int, cd: int, side: int, size: int, config: dict[str, int], flags: dict) -> tuple:
    """Shared memory and assembler of a kernel, compiled as on an H200."""
    import hopper
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon._runtime import GluonASTSource

    def block(*shape: int) -> str:
        return f"tensordesc<bf16{list(shape)},{gl.NVMMASharedLayout.get_default_for(list(shape), gl.bfloat16)!r}>"

    back, bk, bn = kind == "back", config["BK"], config["BN"]
    pictures, rows = hopper.box_of(config["BK" if kind == "kernel" else "BM"], side)
    fixed = {"H": side, "W": side, "CS": cs, "CD": cd, "SIZE": size, "PN": pictures, "PH": rows, "BN": bn}
    fixed |= {k: config[k] for k in ("STAGES", "num_warps")}
    if kind == "kernel":
        kernel = hopper._kernel_gradient
        fixed |= {"ALONE": config["SPLIT"] == 1, "COLUMNS": hopper.COLUMNS, "BOXES": config["BOXES"]}
        types = {"src": block(pictures, rows, side, hopper.COLUMNS), "gradient": block(bk, bn), "out": "*fp32"}
        types |= dict.fromkeys(("B", "parts", "chunk"), "i32")
    else:
        kernel = hopper._convolve
        fixed |= {"BK": bk, "BACK": back, "EPS": 1e-3} | NOTHING | flags
        types = {"src": block(pictures, rows, side, bk), "kernel": block(*((bn, bk) if back else (bk, bn)))}
        types |= dict.fromkeys(("dst", "add", "mask", "values"), "*bf16")
        types |= dict.fromkeys(("bias", "norm", "norm_squares", "gamma", "beta", "sums", "more"), "*fp32")
        types |= {"step": "*i64", "layer": "i32", "B": "i32", "n": "fp32"}
    source = GluonASTSource(kernel, {k: types.get(k, "constexpr") for k in kernel.arg_names}, fixed)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": config["num_warps"]})
    return made.metadata.shared, made.asm["ptx"]


def main(asked: list) -> None:
    """What `asked` is told of each: shared memory, products of the tensor cores, bulk copies."""
    found = []
    for row in asked:
        shared, ptx = compiled(*row)
        found.append([shared, ptx.count("wgmma.mma_async"), ptx.count("cp.async.bulk.tensor")])
    print(json.dumps(found))


def compile_all(asked: list, cache: Path) -> None:
    """In a process of its own: Triton knows once for all whether it interprets (tests/conftest.py)."""
    environment = dict(os.environ, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(cache), PYTHONPATH=f"{FOLDER}:{ROOT}")
    command = [sys.executable, "-m", "tests.experiments.test_hopper"]
    ran = subprocess.run(
        command, input=json.dumps(asked), env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    for row, (shared, products, copies) in zip(asked, json.loads(ran.stdout), strict=True):
        assert shared <= SHARED, row
        assert min(products, copies) > 0, row


def test_they_compile_with_all_that_may_follow(tmp_path):
    tile = {"BM": 128, "BK": 64, "BN": 64, "STAGES": 3, "num_warps": 4}
    asked = [("back" if back else "forth", 64, 64, 8, 3, tile, flags) for back, flags in ENDINGS]
    parts = {"BK": 64, "BOXES": 2, "BN": 64, "STAGES": 3, "num_warps": 4}
    asked += [("kernel", 64, 64, 8, 3, parts | {"SPLIT": split}, {}) for split in (1, 4)]
    compile_all(asked, tmp_path)


@pytest.mark.slow
def test_all_tiles_that_were_chosen_compile(tmp_path):
    asked = []
    for name, tile in json.loads((FOLDER / "tiles.json").read_text()).items():
        if "STAGES" in tile:
            kind, cs, cd, side, size = re.match(r"(\w+) (\d+)-(\d+) (\d+)-\d+ by (\d+), ", name).groups()
            flags = next(f for back, f in ENDINGS if back == (kind == "back"))
            asked.append((kind, int(cs), int(cd), int(side), int(size), tile, flags))
    assert len(asked) > 40
    compile_all(asked, tmp_path)


if __name__ == "__main__":
    main(json.load(sys.stdin))
