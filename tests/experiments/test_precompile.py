"""Pavlitskaya's kernels compiled by several processes, for a GPU that need not be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is there for Linux only")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments" / "pavlitskaya"


def on_a_hopper_gpu():
    """Of which nothing is there but its name: kernels can be compiled, and not launched."""
    import convolutions
    import hopper
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    class Driver:
        def get_current_device(self):
            return 0

        def get_current_stream(self, device):
            return 0

        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

    driver.set_active(Driver())
    whole = hopper.COLUMNS
    convolutions.on_hopper = lambda src, dst: hopper if src.shape[4] % whole == dst.shape[4] % whole == 0 else None


def compile_a_share(part, of):
    import precompile
    from triton.runtime.jit import JITFunction

    JITFunction.run = precompile.compile_share(int(part), int(of))
    precompile.go_through("resnet-C6", 6, "cpu")


def launched(*names):
    """What is compiled apart: by train.py's check and its steps, and by precompile.py; nothing is."""
    import precompile
    import torch
    from agreement import agreement
    from fused import KINDS
    from networks import settings
    from triton import knobs
    from triton.runtime.jit import JITFunction

    found = set()
    knobs.runtime.jit_cache_hook = lambda key, repr, **_: found.add(f"{repr} {key}") or True
    run = JITFunction.run
    JITFunction.run = lambda kernel, *args, grid, warmup, **options: run(
        kernel, *args, grid=grid, warmup=True, **options
    )
    told = {}
    for name in names:
        precompile.go_through(name, 6, "cpu")
        before = set(found)
        setting = settings()[name]
        images = torch.zeros(setting.size, 3, 32, 32, dtype=torch.uint8)
        agreement(setting, images, "cpu", setting.half)
        KINDS[setting.family](setting, images, "cpu", 6, setting.half).step()
        told[name] = [len(before), sorted(found - before)]
    print(json.dumps(told))


def print_asked(plan):
    import precompile

    print(json.dumps(precompile.asked(json.loads(plan))))


def start(cache, *args):
    """In a process of its own: Triton knows once for all whether it interprets (tests/conftest.py)."""
    kept = {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    environment = dict(os.environ, PYTHONPATH=f"{FOLDER}:{ROOT}") | kept
    command = [sys.executable, "-m", "tests.experiments.test_precompile", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def ended(process):
    said, why = process.communicate(timeout=300)
    assert process.returncode == 0, why[-2000:]
    return said


@pytest.mark.slow
def test_shares_make_up_all_kernels_of_a_network(tmp_path):
    shares = ("0", "2"), ("1", "2"), ("0", "1")  # two of two, and all at once
    for process in [start(tmp_path / part / of, "compile_a_share", part, of) for part, of in shares]:
        ended(process)
    some, others, whole = (
        {path.parent.name: path.read_text() for path in (tmp_path / part / of).rglob("*.ptx")} for part, of in shares
    )
    assert some.keys() | others.keys() == whole.keys()
    assert not some.keys() & others.keys()
    assert abs(len(some) - len(others)) <= 3
    assert any("cp.async.bulk.tensor" in text for text in whole.values())  # hopper.py's are among them


@pytest.mark.slow
def test_all_that_is_launched_was_compiled(tmp_path):
    """By the check and by steps of six networks, with and without dropout, batch normalisation and moved pictures."""
    for name, (kinds, others) in json.loads(
        ended(start(tmp_path, "launched", "resnet-C5", "vgg-C5", "vgg-C6"))
    ).items():
        assert kinds > 20, name
        assert others == [], name


def test_networks_of_a_plan(tmp_path):
    """Each once, with how many there are at once; of lanes, and what is to be ready for later jobs."""
    alone = ["resnet-C5", 0, 250, None, {"engine": "plain", "label": "plain"}]
    lanes = [
        [["vgg-C2", [0, 1, 2], 60, None], ["vgg-C2", 3, 60, None]],
        [["vgg-C2", 4, 60, None, {"rates": [0.0]}], alone],
    ]
    plan = {"lanes": lanes, "also": [["resnet-C1", 6]]}
    found = json.loads(ended(start(tmp_path, "print_asked", json.dumps(plan))))
    assert found == [["vgg-C2", 18], ["vgg-C2", 6], ["vgg-C2", 1], ["resnet-C1", 6]]  # those by themselves launch none


if __name__ == "__main__":
    on_a_hopper_gpu()
    globals()[sys.argv[1]](*sys.argv[2:])
