"""Where draws alone could have decided otherwise, pages say so: the level is put beside p."""

import json
from dataclasses import replace

import numpy as np
import pytest

import heldout
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.independence import gate
from heldout.independence.summary.seeds import audit_seeds_text
from heldout.statistics.betting import Capital, star_bets_capital


def scores(level):
    rng = np.random.default_rng(0)
    test, control = rng.normal(0.08, 1, 300), rng.normal(0, 1, 300)
    return heldout.audit_scores(test, control, kind="margin", level=level, n_resamples=999)


def options(level):
    """A model that knows four printed letters of sixty, and else has a favourite place."""
    rng = np.random.default_rng(0)
    items = [
        {"question": f"Tree {i}?", "options": [f"{tree} {i}" for tree in ("oak", "ash", "elm")],
         "answer": int(rng.integers(3))}
        for i in range(60)
    ]  # fmt: skip
    letters = {item["question"]: item["answer"] if i < 4 else 0 for i, item in enumerate(items)}
    return heldout.options(items, lambda question, shown: letters[question], level=level, n_resamples=999)


@pytest.mark.parametrize("verb", [scores, options])
def test_another_seed_could_decide_otherwise_near_the_level(verb):
    p = verb(0.05).p_value
    assert 0.01 < p < 0.9
    error = np.sqrt(p * (1 - p) / 999)
    for level, told in ((p + error, True), (p - error, True), (p + 3 * error, False), (p - 3 * error, False)):
        warnings = verb(level).summary().warnings
        assert any("another seed could decide otherwise" in w for w in warnings) == told


def test_the_gate_has_it_as_a_number():
    """How far seeds move p, where that decides."""
    result = scores(0.05)
    p = result.p_value
    error = np.sqrt(p * (1 - p) / 999)
    assert gate.moved_by_seed(result, p + error) == pytest.approx(error)
    assert gate.moved_by_seed(result, p + 3 * error) is None


@pytest.fixture(scope="module")
def alone():
    """Pictures without a control: the bets are the verdict."""
    rng = np.random.default_rng(0)
    pictures, labels = rng.random((60, 8, 8)), rng.integers(0, 2, 60)

    def halves(batch):
        return np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1)

    shown = LabelledImages(from_arrays(pictures, labels), Wrap())
    return heldout.audit(halves, shown, orbit=heldout.Translations(1), allow_chance=True)


@pytest.mark.parametrize(
    ("capital", "told"),
    [(Capital(share=0.97, error=0.02), True), (Capital(share=1.03, error=0.02), True),
     (Capital(share=0.95, error=0.02), False)],
)  # fmt: skip
def test_pictures_without_a_control(alone, capital, told):
    near = replace(alone, evidence=replace(alone.evidence, betting_capital=capital))
    warnings = near.summary().warnings
    assert any("another seed could decide otherwise" in w for w in warnings) == told


def test_the_capital_of_pictures_without_a_control(alone, tmp_path):
    """At the level of the verdict it is kept, at that of a gate made anew; on the side on which p is at both."""
    kept = alone.evidence.betting_capital
    assert kept is not None
    assert (kept.share >= 1) == (alone.p_value <= alone.evidence.level)
    assert audit_seeds_text(alone, 0.05) == audit_seeds_text(alone, 0.05 * (1 + 1e-12))
    alone.save(tmp_path / "alone")
    assert heldout.AuditResult.load(tmp_path / "alone").evidence.betting_capital == kept


@pytest.mark.parametrize(("level", "told"), [(0.022, True), (0.05, False)])
def test_an_audit_saved_before_there_was_a_capital(alone, tmp_path, level, told):
    """What it takes is in the file: its page says what that of a new audit says."""
    values = np.repeat([0.5, -0.3, 0.0], [15, 5, 40])
    capital = star_bets_capital(values, level=level, lower=-8 / 9, upper=0.5)
    test = replace(alone.test, statistics=values[None])
    near = replace(alone, test=test, evidence=replace(alone.evidence, level=level, betting_capital=capital))
    near.save(tmp_path / "near")
    with np.load(tmp_path / "near.npz") as kept:
        arrays = dict(kept)
    record = json.loads(str(arrays["record"]))
    fields = dict(json.loads(record["fields"])["record"][1])
    evidence = fields["evidence"]["record"]
    evidence[1] = [field for field in evidence[1] if field[0] != "betting_capital"]
    record["fields"] = json.dumps({"record": ["AuditResult", [*fields.items()]]})
    np.savez(tmp_path / "near.npz", **arrays | {"record": np.array(json.dumps(record))})
    old = heldout.load(tmp_path / "near")
    assert old.evidence.betting_capital is None
    assert old.summary().warnings == near.summary().warnings
    assert any("another seed could decide otherwise" in w for w in old.summary().warnings) == told


def test_bets_that_no_seed_moves_say_nothing(monkeypatch):
    """Equal losses everywhere: there are no orders of them, which the result knows without a second look."""
    pictures = np.random.default_rng(0).random((40, 8, 8))
    shown = LabelledImages(from_arrays(pictures, np.zeros(40, dtype=int)), Wrap())
    found = heldout.audit(lambda batch: np.eye(2)[np.zeros(len(batch), int)], shown, orbit=heldout.Translations(1))
    assert found.evidence.betting_capital == Capital(share=found.evidence.level, error=0.0)
    monkeypatch.setattr(gate, "capital_of", None)
    assert not any("seed" in w for w in found.summary().warnings)


def test_a_control_has_no_capital():
    rng = np.random.default_rng(0)
    shown, control = (
        LabelledImages(from_arrays(rng.random((40, 8, 8)), rng.integers(0, 2, 40)), Wrap()) for _ in range(2)
    )
    found = heldout.audit(
        lambda batch: np.stack([batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))], 1),
        shown, control=control, orbit=heldout.Translations(1), allow_chance=True, n_resamples=199,
    )  # fmt: skip
    assert found.evidence.betting_capital is None
