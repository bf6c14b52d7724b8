"""Scripts of `examples/`, inside inspect_ai and lm-evaluation-harness themselves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["options_inspect", "options_lm_eval"])
def test_by_heart(name, tmp_path):
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HOME": str(tmp_path)}
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--shuffles", "3", "--logs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The score depends on the printed order. p = 0.0001: 0 of 60 items are wrong")
