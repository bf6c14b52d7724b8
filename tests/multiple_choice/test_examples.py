"""Scripts of `examples/` that need inspect_ai or lm-evaluation-harness: run where these are installed."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "package"), [("options_inspect", "inspect_ai"), ("options_lm_eval", "lm_eval")])
def test_by_heart(name, package, tmp_path):
    path = ROOT / "examples" / f"{name}.py"
    compile(path.read_text(), str(path), "exec")
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [sys.executable, str(path), "--shuffles", "3", "--logs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The score depends on the printed order. p = 0.0001: 0 of 60 items are wrong")
