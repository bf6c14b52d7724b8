"""A public and a private part: the oracle sees one, both are judged."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from heldout import InputError, StressResult, stress
from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes
from heldout.attack.oracle import AccuracyOracle, Rounded
from heldout.attack.queries import Queries
from heldout.cli import main


def test_the_oracle_answers_on_the_public_part(rng):
    labels, shown = rng.integers(0, 3, size=200), rng.random(200) < 0.3
    oracle = AccuracyOracle(labels, public=shown)
    query = rng.integers(0, 3, size=200)
    assert oracle.accuracy(query) == pytest.approx((query == labels)[shown].mean())
    query[~shown] = labels[~shown]
    assert oracle.accuracy(query) == pytest.approx((query == labels)[shown].mean())


@pytest.mark.parametrize("mechanism", [None, Rounded(2)])
def test_many_answers_at_once_are_the_same(rng, mechanism):
    labels, shown = rng.integers(0, 4, size=300), rng.random(300) < 0.4
    known = Knowledge(n=300, m=4, guess=rng.integers(0, 4, size=300), points=np.arange(50, 250))
    queries = Queries(200, 4, 7)
    at_once = AccuracyOracle(labels, mechanism, public=shown).accuracies(known, queries, 0, 20)
    oracle = AccuracyOracle(labels, mechanism, public=shown)
    one_by_one = [oracle.accuracy(known.labels(queries.labels(j))) for j in range(20)]
    np.testing.assert_allclose(at_once, one_by_one, atol=1e-12)


def test_private_labels_are_in_no_answer(rng):
    """Whatever the private labels are, the analyst ends with the same predictions."""
    labels, shown = rng.integers(0, 2, size=400), np.arange(400) < 150
    other = np.where(shown, labels, 1 - labels)
    ended = []
    for truth in (labels, other):
        analyst = NaiveBayes(Knowledge(n=400, m=2), seed=3, public=150 / 400)
        analyst.play(AccuracyOracle(truth, public=shown), 100)
        ended.append(analyst.predict())
    np.testing.assert_array_equal(ended[0], ended[1])


def test_nothing_transfers_without_a_prior():
    result = stress(4_000, 2, queries=600, public=0.25, trials=12)
    split = result.public
    assert (split.n_public, split.n_private, result.run.n_examples) == (1_000, 3_000, 1_000)
    assert result.accuracy == pytest.approx(float(result.run.forecast[-1]), abs=0.02)
    assert split.gain_public == pytest.approx(float(result.run.forecast_gain[-1]), abs=0.02)
    assert abs(split.gain_private) < 4 * 0.5 / math.sqrt(3_000 * 12)
    assert abs(split.transfers) < 4 * split.transfers_error


def test_with_a_prior_the_private_part_loses(rng):
    prior = rng.dirichlet(np.full(4, 0.5), size=3_000)
    result = stress(queries=400, prior=prior, public=0.3, trials=6, points=3_000, top=4)
    split = result.public
    assert split.gain_public > 0.01
    assert split.gain_private < -0.01
    assert split.transfers < 0
    assert f"{100 * split.gain_private:+.1f}".replace("-", "−") in result.summary().headline  # as measured


@pytest.mark.parametrize("attack", ["majority", "plurality", "linear-scan"])
def test_other_attacks(attack):
    split = stress(600, 2, queries=300, public=0.5, attack=attack, trials=4).public
    assert split.gain_public > 0.02
    assert abs(split.gain_private) < 0.1


def test_saved_shown_and_printed(tmp_path, capsys):
    out = tmp_path / "out"
    code = main(
        ["stress", "--examples", "800", "--classes", "2", "--queries", "200", "--public", "0.3", "--trials", "3",
         "--no-compare", "--json", "--out", str(out)]
    )  # fmt: skip
    assert code == 0
    plain = json.loads(capsys.readouterr().out)["public"]
    assert plain["n_public"] == 240
    assert set(plain) >= {"gain_public", "gain_private", "transfers"}
    result = StressResult.load(out / "result")
    assert result.public.to_dict() == plain
    assert "A public and a private part" in (out / "report.html").read_text()


def test_rounded_answers_are_taken_at_face_value():
    result = stress(1_000, 2, queries=200, public=0.5, digits=2, trials=2)
    assert result.public.face_value


def test_bad_shares():
    for share in (0, 1, -0.1, 1e-6):
        with pytest.raises(InputError, match="`public`"):
            stress(100, 2, queries=10, public=share)
