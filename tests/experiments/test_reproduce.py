"""`make reproduce`: the driver, and that kept results make the files that are kept."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from experiments import pages, reproduce  # noqa: E402

SHARED = ROOT.parent / "shared"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def clone(folder: Path, studies: list[str]) -> Path:
    """The studies as they are now, committed, in a repository of their own."""
    root = folder / "clone"
    made = shutil.ignore_patterns("__pycache__")
    for name in studies:
        shutil.copytree(ROOT / "experiments" / name, root / "experiments" / name, ignore=made)
    for name in ("pages.py", "reproduce.py"):
        shutil.copy(ROOT / "experiments" / name, root / "experiments" / name)
    (root / "src").symlink_to(ROOT / "src")
    if SHARED.exists():
        (folder / "shared").symlink_to(SHARED)
    commit(root)
    return root


def commit(root: Path) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x"]
    for command in (["init", "-q"], ["add", "experiments"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "experiments/reproduce.py", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


@needs_git
def test_quick_studies_make_the_files_that_are_kept(tmp_path):
    studies = ["cifar10", "compare", "demo", "exposure", "feldman", "livecodebench", "options", "pavlitskaya"]
    done = run(clone(tmp_path, studies), "--only", *studies)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No file differs from the commit." in done.stdout
    assert ("livecodebench: results and tables were left as they are" in done.stdout) == (not SHARED.exists())


@pytest.mark.slow
@needs_git
def test_all_studies_make_the_files_that_are_kept(tmp_path):
    """Ten minutes are what `make reproduce` may take on two cores."""
    done = run(clone(tmp_path, sorted(p.name for p in (ROOT / "experiments").iterdir() if p.is_dir())))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No file differs from the commit." in done.stdout
    assert ("left as they are" in done.stdout) == (not SHARED.exists())


def test_every_study_is_in_the_index_and_in_the_driver():
    folders = {str(p.parent.relative_to(ROOT / "experiments")) for p in (ROOT / "experiments").rglob("README.md")} - {
        "."
    }
    index = (ROOT / "experiments" / "README.md").read_text()
    assert {name for name in folders if f"({name}/README.md)" in index} == folders
    assert {step.study for step in reproduce.STEPS} == folders


def test_order_and_failure(monkeypatch, tmp_path, capsys):
    """A script waits for those whose files it reads; one that fails is told with what it said, and the others go on."""
    names = {}
    for name, code in {
        "slow": "import time; time.sleep(0.5); open('slow.txt', 'w').write('x')",
        "reader": "open('slow.txt')",
        "broken": "raise SystemExit('no such thing')",
    }.items():
        path = tmp_path / f"{name}.py"
        path.write_text(code)
        names[name] = str(path)
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    steps = (
        reproduce.Step("a", (names["slow"],), "x"),
        reproduce.Step("a", (names["reader"],), "x", after=(names["slow"],)),
        reproduce.Step("b", (names["broken"],), "tables"),
        reproduce.Step("c", ("not there.py",), "tables", shared=("never.npz",)),
    )
    monkeypatch.setattr(reproduce, "STEPS", steps)
    assert reproduce.main([]) == 1
    said = capsys.readouterr().out
    assert [line.split("/")[-1] for line in said.splitlines() if " failed; " in line] == [
        "broken.py failed; what it said is above."
    ]
    assert "no such thing" in said
    assert "c: tables were left as they are, since not there.py needs ../shared/data/never.npz." in said
    assert "cannot be told" in said  # that folder is no clone


@needs_git
def test_a_changed_file_is_told(monkeypatch, tmp_path, capsys):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "kept.md").write_text("1\n")
    commit(tmp_path)
    script = tmp_path / "writes.py"
    monkeypatch.setattr(reproduce, "ROOT", tmp_path)
    monkeypatch.setattr(reproduce, "STEPS", (reproduce.Step("a", (str(script),), "tables"),))
    script.write_text("open('experiments/kept.md', 'w').write('1\\n')")
    assert reproduce.main([]) == 0
    assert "No file differs from the commit." in capsys.readouterr().out
    script.write_text("open('experiments/kept.md', 'w').write('2\\n')")
    assert reproduce.main([]) == 1
    assert "Other than in the commit: experiments/kept.md." in capsys.readouterr().out


def test_a_page_without_a_place_is_refused():
    text = "a\n<!-- x -->\nold\n<!-- end of x -->\nb"
    assert pages.filled(text, {"x": "new"}) == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb"
    with pytest.raises(SystemExit, match="no place for 'y'"):
        pages.filled(text, {"y": "new"})


def test_figures_carry_no_date_and_no_version():
    for path in (ROOT / "experiments").rglob("*.png"):
        chunks = re.findall(rb"(tEXt|iTXt|zTXt|tIME)", path.read_bytes()[:400])
        assert not chunks, path
