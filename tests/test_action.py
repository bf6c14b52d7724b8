"""The step of the GitHub action, run here as the runner would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step.get("id", step.get("name")): step for step in ACTION["runs"]["steps"]}
BUDGET = f"budget '{ROOT / 'examples' / 'cifar10_predictions.npz'}' --epsilon 0.02 --exclude '$(touch expanded)'"

STRESS = "stress --examples 100 --classes 2 --queries 5"
SPLIT = f"split '{ROOT / 'src' / 'heldout' / 'data' / 'demo.npz'}' --images-key test_images --control 0.1"


@pytest.mark.parametrize(("command", "code"), [(BUDGET, 2), (STRESS, 0), (f"{STRESS} --fail-over 0", 1), (SPLIT, 0)])
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
        made = "control.npz" if command == SPLIT else "report.html"
        assert (tmp_path / "a" / "report" / made).exists()
    assert ("::error title=heldout::" in done.stderr) == (code == 1)


def install(tmp_path, **inputs) -> subprocess.CompletedProcess[str]:
    """The step of these inputs, the others as they are without, with a pip that says what it was asked."""
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    script = STEPS["Install"]["run"]
    given = {name: inputs.get(name, ACTION["inputs"][name]["default"]) for name in ("install", "extras")}
    assert STEPS["Install"]["env"] == {name.upper(): f"${{{{ inputs.{name} }}}}" for name in given}
    own = {name.upper(): value for name, value in given.items()}
    own |= {"GITHUB_ACTION_PATH": str(ROOT), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", script], env=os.environ | own, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("inputs", "asked"),
    [
        ({}, "{action}[onnx]"),
        ({"extras": "onnx,parquet"}, "{action}[onnx,parquet]"),
        ({"extras": ""}, "{action}"),
        ({"install": "heldout[torch]"}, "heldout[torch]"),
        ({"install": "heldout[torch]", "extras": ""}, "heldout[torch]"),
    ],
)
def test_what_is_installed_is_the_action_itself_unless_asked_otherwise(inputs, asked, tmp_path):
    done = install(tmp_path, **inputs)
    assert done.stdout.split() == ["-m", "pip", "install", "--quiet", asked.format(action=ROOT)], done.stderr


def test_extras_beside_something_else_to_install_are_refused(tmp_path):
    done = install(tmp_path, install="heldout", extras="parquet")
    assert (done.returncode, done.stdout.splitlines()) == (
        2,
        ["::error title=heldout::extras: parquet has no effect beside install: heldout; name them there."],
    )


def test_extras_that_are_named_exist():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    said = re.findall(r"`extras: ([\w,]+)`", (ROOT / "docs" / "ci.md").read_text())
    assert said
    assert {name for text in [*said, ACTION["inputs"]["extras"]["default"]] for name in text.split(",")} <= set(known)


def test_a_source_distribution_has_what_is_tested_here():
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"tests", "examples", "action.yml", ".github"} <= set(kept)


def test_the_workflow_uses_the_action():
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "leaderboard.yml").read_text())["jobs"].values()
    given = next(step["with"] for step in job["steps"] if step["uses"] == "./")
    assert set(given) <= set(ACTION["inputs"]) - {"install"}
