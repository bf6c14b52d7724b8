"""The table of bad inputs: each ends in its exit code and one sentence."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from heldout.cli import main
from tests.cli.bad_inputs import TABLE, Bad, write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    write_files(made)
    return made


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_bad_input(bad: Bad, folder: Path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        code = main([*bad.verb.split(), *shlex.split(bad.line)])
    except SystemExit as end:  # argparse's own
        code = end.code
    finally:
        made = [folder / name for name in ("heldout-memorization", "heldout-audit", "aside", "out")]
        empty = [path for path in made if path.is_dir() and not any(path.rglob("*"))]
        for path in made:
            shutil.rmtree(path, ignore_errors=True)
    assert not empty, "a refused run leaves nothing behind"
    out, err = capsys.readouterr()
    last = err.strip().splitlines()[-1]
    assert bad.says in last
    assert (code, out) == (bad.code, "")
    assert last.startswith("heldout")
    assert sum(line.startswith("heldout") for line in err.splitlines()) == 1
    assert "Traceback" not in err


def test_the_table_covers_every_verb_and_names_each_row_once():
    assert len(TABLE) >= 200
    assert {bad.verb for bad in TABLE} == {
        "audit",
        "budget",
        "compare",
        "demo",
        "exposure",
        "memorization",
        "memorization curve",
        "memorization retrain",
        "nonsense",
        "options",
        "split",
        "stress",
    }
    assert max(Counter((bad.verb, bad.line) for bad in TABLE).values()) == 1
