"""Answers are kept in a file that one run at a time adds to."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from heldout.errors import InputError
from heldout.scorers import answer_cache
from tests.scorers.asking import model, questions
from tests.scorers.standin import StandIn


def test_the_day_of_each_answer_is_kept(tmp_path, monkeypatch):
    shown = questions(1)
    with StandIn() as server:
        for day, asked in (("2026-03-01", shown[:1]), ("2026-05-09", shown)):
            monkeypatch.setattr(answer_cache, "today", lambda day=day: day)
            chooser = model(server, tmp_path)
            chooser.choose(asked)
    assert chooser.days(shown) == ["2026-03-01", "2026-05-09"]


def test_two_runs_at_once_do_not_pay_for_the_same_answers(tmp_path):
    shown = questions(20)
    with StandIn(latency=0.02) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(model(server, tmp_path).choose, shown)
        deadline = time.monotonic() + 60
        while server.answered.total() < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        second = model(server, tmp_path)
        with pytest.raises(InputError, match=r"`cache`: another run asks this model now .* wait until it has ended"):
            second.choose(shown)
        known = [one for one in shown if not second.plan([one]).calls]
        assert len(second.choose(known)) == len(known) > 0, "what is kept can be read meanwhile"
        choices = first.result()
        assert second.choose(shown) == choices
        assert server.answered.total() == len(shown)


def test_a_torn_line_is_ignored(tmp_path):
    shown = questions(3)
    with StandIn() as server:
        model(server, tmp_path).choose(shown)
        (file,) = tmp_path.iterdir()
        file.write_bytes(file.read_bytes()[:-20])
        chooser = model(server, tmp_path)
        chooser.choose(shown)
        assert chooser.answered == 1
        assert model(server, tmp_path).plan(shown).calls == 0


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        StandIn() as server,
        pytest.raises(InputError, match=r"`cache`: .* cannot be written: .*; name another folder"),
    ):
        model(server, tmp_path / "file").choose(questions(1))
