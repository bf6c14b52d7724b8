"""No answer is asked for twice, however a run ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.scorers.prompts import CHAT, prompt
from tests.scorers.asking import model, questions
from tests.scorers.standin import StandIn


def test_after_an_error_the_rest_is_asked_for_once_more_and_nothing_else(tmp_path):
    shown = questions(20)
    with StandIn(latency=0.01, mood="400", after=17) as server:
        with pytest.raises(InputError, match=r"refuses the question .*\d+ answers are kept: run this again to go on"):
            model(server, tmp_path).choose(shown)
        server.mood = ""
        assert len(model(server, tmp_path).choose(shown)) == 40
        assert server.answered.total() == 40, "those on their way were waited for"


SCRIPT = """
import sys
import threading
from heldout.scorers import EndpointChooser
from tests.scorers.asking import questions
try:
    EndpointChooser(sys.argv[1], "stand-in", cache=sys.argv[2]).choose(questions(60))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_asks_for_no_answer_twice(tmp_path, how):
    shown = questions(60)
    with StandIn(latency=(0.01, 0.03)) as server:
        root = Path(__file__).parents[2]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, server.url, str(tmp_path)], cwd=root, env=env)
        deadline = time.monotonic() + 60
        while server.answered.total() < 30 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(how)
        assert process.wait(30) == {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
        chooser = model(server, tmp_path)
        missing = [one for one in shown if chooser.plan([one]).calls]
        assert 0 < len(missing) <= len(shown) - 22
        choices = chooser.choose(shown)
        assert chooser.answered == len(missing)
        times = np.array([server.answered[prompt(one, CHAT)] for one in shown])
        assert all(times[i] == 1 for i, one in enumerate(shown) if one not in missing), "what was kept is not asked for"
        assert times.min() == 1
        assert times.sum() - len(shown) <= (8 if how == signal.SIGKILL else 0), "those on their way when it was killed"
        assert choices == model(server).choose(shown), "the same answers as without a stop"


STOPPED = """
import os, signal, sys
from heldout.scorers import EndpointChooser, refusals
from tests.scorers.asking import questions
seen = refusals.Refusals.too_many
def too_many(self, key, status):
    if len(self.statuses) == 2:
        os.kill(os.getpid(), signal.SIGINT)
    return seen(self, key, status)
refusals.Refusals.too_many = too_many
try:
    EndpointChooser(sys.argv[1], "stand-in", cache=sys.argv[2]).choose(questions(60))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_no_refusal_of_a_stopped_run_is_kept(tmp_path):
    refuses = {f"Question {i}?": 400 for i in range(20, 26)}
    with StandIn(latency=0.01, refuses=refuses) as server:
        root = Path(__file__).parents[2]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
        command = [sys.executable, "-c", STOPPED, server.url, str(tmp_path)]
        assert subprocess.run(command, cwd=root, env=env, check=False, timeout=60).returncode == 130
        (file,) = tmp_path.iterdir()
        assert '"text"' in file.read_text()
        assert "refused" not in file.read_text()
