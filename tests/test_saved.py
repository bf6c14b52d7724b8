"""`heldout.load` knows every kind of result."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import heldout
from heldout.report import Result
from heldout.saved import KINDS


def kinds(of: type) -> set[str]:
    return {
        name for sub in of.__subclasses__() for name in ({sub.__name__} if not sub.__subclasses__() else kinds(sub))
    }


def test_every_result_can_be_loaded():
    for module in pkgutil.walk_packages(heldout.__path__, "heldout."):
        if module.name.rpartition(".")[2] in ("result", "needed", "compare_result", "score_result", "demo"):
            importlib.import_module(module.name)
    assert {name for name in kinds(Result) if "Toy" not in name} == set(KINDS)


def test_what_is_loaded_is_what_was_saved(tmp_path):
    result = heldout.budget_from_numbers(1000, error=0.2, similarity=0.9)
    result.save(tmp_path / "result")
    assert heldout.load(tmp_path) == heldout.load(tmp_path / "result.json") == result
    with pytest.raises(heldout.InputError, match="holds a BudgetResult, not an AuditResult"):
        heldout.AuditResult.load(tmp_path)
