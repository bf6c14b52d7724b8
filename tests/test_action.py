"""The step of the GitHub action, run here as the runner would."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
STEPS = {step.get("id"): step for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]}
BUDGET = f"budget '{ROOT / 'examples' / 'cifar10_predictions.npz'}' --epsilon 0.02 --exclude '$(touch expanded)'"

STRESS = "stress --examples 100 --classes 2 --queries 5"


@pytest.mark.parametrize(("command", "code"), [(BUDGET, 2), (STRESS, 0), (f"{STRESS} --fail-over 0", 1)])
def test_the_step(command, code, tmp_path):
    files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"COMMAND": command, "OUT": "a/report", "GITHUB_ACTIONS": "true", "PATH": path}
    script = STEPS["heldout"]["run"]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], env=os.environ | files | own, cwd=tmp_path,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"exit-code={code}\nfolder=a-report\n"
    assert not (tmp_path / "expanded").exists()
    if code < 2:
        assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith("# ")
        assert (tmp_path / "a" / "report" / "report.html").exists()
    assert ("::error title=heldout::" in done.stderr) == (code == 1)


def test_a_source_distribution_has_what_is_tested_here():
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"tests", "examples", "action.yml", ".github"} <= set(kept)


def test_the_workflow_uses_the_action():
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "leaderboard.yml").read_text())["jobs"].values()
    given = next(step["with"] for step in job["steps"] if step["uses"] == "./")
    assert set(given) <= set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
