"""No test waits longer than it must, nor has a key of whoever runs it."""

import pytest

from heldout.scorers import waiting


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
