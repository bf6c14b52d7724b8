"""Progress goes to stderr, and only where people would wait for it."""

from __future__ import annotations

import time

from heldout.progress import plain_bar


def test_short_work_draws_nothing_and_long_work_a_bar_on_stderr(capsys, monkeypatch):
    with plain_bar(3, "work", unit="steps", shown=True) as bar:
        bar.update(3)
    assert capsys.readouterr() == ("", "")
    with plain_bar(3, "work", unit="steps", shown=True) as bar:
        bar.start_t -= 60  # as if a minute had gone by
        bar.update(3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "work: 100%" in err


def test_hidden_where_it_is_not_asked_for(capsys):
    with plain_bar(3, "work", unit="steps", shown=False) as bar:
        bar.start_t = time.time() - 60
        bar.update(3)
    assert capsys.readouterr() == ("", "")
