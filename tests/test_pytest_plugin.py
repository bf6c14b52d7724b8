"""The fixture `heldout_audit` in a suite of its own."""

from __future__ import annotations

import subprocess
import sys

SUITE = """
import numpy as np
import heldout

rng = np.random.default_rng(0)
fresh, seen = rng.normal(size=400), rng.normal(size=400)
seen[:80] += 4

def test_honest(heldout_audit):
    found = heldout_audit(rng.normal(size=400), fresh, kind="margin", n_resamples=999)
    assert found.outcome == "no evidence"

def test_leaked(heldout_audit):
    heldout_audit(seen, fresh, kind="margin", n_resamples=999)

def test_pictures(heldout_audit):
    from heldout.images import LabelledImages, Wrap, from_arrays
    pictures = LabelledImages(from_arrays(rng.random((40, 8, 8)), rng.integers(0, 2, 40)), Wrap())
    halves = lambda batch: np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)
    options = {"orbit": heldout.Translations(1), "allow_chance": True}
    assert heldout_audit(halves, images=pictures, **options).T.shape == (40,)
    assert heldout_audit(halves, pictures, **options).T.shape == (40,)
    assert heldout_audit(halves, pictures, **options | {"orbit": heldout.Dihedral()}).ruling.rests_on == "orbit"

def test_threshold(heldout_audit):
    heldout_audit(seen, fresh, kind="margin", fail_under=2)

def test_text(heldout_audit):
    heldout_audit(seen, fresh, kind="margin", fail_under="0.01")

def test_out_of_reach(heldout_audit):
    heldout_audit(seen, fresh, kind="margin", n_resamples=99)

def test_close(heldout_audit):
    same = np.random.default_rng(1).normal(0.1, 1, 200)
    p = heldout.audit_scores(same, fresh, kind="margin", n_resamples=999).p_value
    heldout_audit(same, fresh, kind="margin", n_resamples=999, fail_under=p)
    heldout_audit(same, fresh, kind="margin", n_resamples=999, fail_under=p + 0.001)

def test_undefined(heldout_audit, monkeypatch):
    from types import SimpleNamespace
    monkeypatch.setattr(heldout, "audit_scores", lambda *a, **o: SimpleNamespace(adjusted_p_value=float("nan")))
    heldout_audit(seen, fresh)
"""


def test_the_fixture_gates(tmp_path):
    (tmp_path / "test_model.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"]
    strict = ["--junitxml=out.xml", "-W", "error::pytest.PytestWarning"]
    done = subprocess.run([*command, *strict], cwd=tmp_path, capture_output=True, text=True)
    assert "6 failed, 2 passed" in done.stdout, done.stdout
    assert "(standard deviation), and lies within two of these of" in done.stdout
    assert "FAILED test_model.py::test_leaked - Failed: p = 0.001 is below 0.01" in done.stdout
    assert done.stdout.count("give a p-value between 0 and 1") >= 2
    assert "`fail_under=0.01` can never be reached: with `n_resamples=99`" in done.stdout
    assert "p = nan is below 0.01" in done.stdout
    told = (tmp_path / "out.xml").read_text()
    assert 'name="heldout_p_value"' in told
    assert told.count("another seed could decide otherwise") >= 3  # of the audit that passes, too
