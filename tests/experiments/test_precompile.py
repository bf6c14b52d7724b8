"""Pavlitskaya's kernels compiled by several processes, for a GPU that need not be there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is there for Linux only")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "pavlitskaya"


def main(part, of):
    """As on a Hopper GPU, which nothing is launched on."""
    import convolutions
    import hopper
    import precompile
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    class Driver:
        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return 0

        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

    driver.set_active(Driver())
    convolutions.on_hopper = lambda src, dst: (
        hopper if src.shape[4] % hopper.COLUMNS == dst.shape[4] % hopper.COLUMNS == 0 else None
    )
    JITFunction.run = precompile.compile_share(part, of)
    precompile.go_through(["resnet-C6"], "cpu")


def test_shares_make_up_all_kernels_of_a_network(tmp_path):
    """In processes of their own: Triton knows once for all whether it interprets (tests/conftest.py)."""
    shares = (0, 2), (1, 2), (0, 1)  # two of two, and all at once
    running = []
    for part, of in shares:
        kept = {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path / f"{part} of {of}")}
        command = [sys.executable, "-m", "tests.experiments.test_precompile", str(part), str(of)]
        environment = dict(os.environ, PYTHONPATH=f"{FOLDER}:{ROOT}", OMP_NUM_THREADS="1") | kept
        running.append(subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said[-2000:]
    some, others, whole = (
        {path.parent.name: path.read_text() for path in (tmp_path / f"{part} of {of}").rglob("*.ptx")}
        for part, of in shares
    )
    assert some.keys() | others.keys() == whole.keys()
    assert not some.keys() & others.keys()
    assert abs(len(some) - len(others)) <= 3
    assert any("cp.async.bulk.tensor" in text for text in whole.values())  # hopper.py's are among them


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
