"""Progress goes to stderr, and only where people would wait for it."""

from __future__ import annotations

import threading
import time

from heldout import progress
from heldout.progress import heartbeat, plain_bar


def test_short_work_draws_nothing_and_long_work_a_bar_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with plain_bar(3, "work", unit="steps", shown=True) as bar:
        bar.update(3)
    assert capsys.readouterr() == ("", "")
    with plain_bar(3, "work", unit="steps", shown=True) as bar:
        bar.start_t -= 60  # as if a minute had gone by
        bar.update(3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "work: 100%" in err


def test_a_log_file_gets_lines(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_spoke", 0.0)
    with plain_bar(1000, "work", unit="steps", shown=True) as bar:
        bar.resumed(100)  # as its checkpoint says
        for _ in range(9):
            now[0] += 5
            bar.update(50)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines == [
        "work: continuing: 100 of 1,000 steps were done.",
        "work: 200 of 1,000 steps, 10 a second, about 80 s left",
        "work: 300 of 1,000 steps, 10 a second, about 70 s left",
        "work: 400 of 1,000 steps, 10 a second, about 60 s left",
        "work: 500 of 1,000 steps, 10 a second, about 50 s left",
    ]


def test_hidden_where_it_is_not_asked_for(capsys):
    threads = threading.active_count()
    with plain_bar(3, "work", unit="steps", shown=False) as bar:
        bar.start_t = time.time() - 60
        bar.update(3)
    assert capsys.readouterr() == ("", "")
    assert threading.active_count() == threads  # bars of tqdm have one that looks after them


def test_a_log_file_hears_something_whatever_the_work_does(capsys, monkeypatch):
    """Where nothing is updated, the heartbeat speaks for the innermost work."""
    monkeypatch.setattr("heldout.progress.SECONDS_BETWEEN_LINES", 0.05)
    err = ""
    with heartbeat("heldout audit"), plain_bar(1000, "work", unit="steps", shown=True):
        for _ in range(200):
            time.sleep(0.02)
            err += capsys.readouterr().err
            if "work: 0 of 1,000 steps" in err:
                break
    with heartbeat("heldout audit"):
        for _ in range(200):
            time.sleep(0.02)
            err += capsys.readouterr().err
            if "heldout audit: at work for " in err:
                break
    assert "work: 0 of 1,000 steps, 0 a second" in err
    assert "heldout audit: at work for " in err
