"""JSON keys that a script may rely on: what was there stays there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import as_json, commands, key_tree, write_inputs

KEPT = json.loads((Path(__file__).parent / "data" / "json_keys.json").read_text(encoding="utf-8"))


def missing(kept: Any, found: Any, place: str = "") -> list[str]:
    if not isinstance(kept, dict):
        return []
    if not isinstance(found, dict):
        return [place]
    return [
        lost
        for name, inside in kept.items()
        for lost in ([f"{place}.{name}"] if name not in found else missing(inside, found[name], f"{place}.{name}"))
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("commands")
    write_inputs(made)
    return made


@pytest.mark.parametrize("name", list(KEPT))
def test_no_key_is_lost(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder)  # where results are written unasked
    assert missing(KEPT[name], key_tree(as_json(commands(folder)[name]))) == []
