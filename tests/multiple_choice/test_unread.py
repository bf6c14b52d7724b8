"""Runs with answers that could not be read: no model is accused, or acquitted, because one run was cut off."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout import options
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.readers import read_items
from heldout.multiple_choice.runs import Runs, read_runs
from heldout.scorers.choices import UNPARSED
from heldout.statistics import arrangement_test, orbit_test
from tests.report.summaries import check_renderings

DATA = Path(__file__).parent / "data"


def runs_of(seed=0, n=120, others=1, memorised=0.0, cut=(0.0, 0.0), where_wrong=False):
    """A printed and other runs, of which shares are unread; more often where the model would have been wrong."""
    rng, m = np.random.default_rng([seed, 7]), 1 + others
    at = rng.integers(0, 4, size=(m, n))
    right = rng.random((m, n)) < 0.2 + 0.7 * rng.random(n)
    right[0] |= rng.random(n) < memorised
    chosen = np.where(right, at, (at + rng.integers(1, 4, size=at.shape)) % 4)
    share = np.array([cut[0], *[cut[1]] * others])[:, None] * (np.where(right, 0.3, 1.7) if where_wrong else 1.0)
    chosen = np.where(rng.random((m, n)) < share, UNPARSED, chosen)
    return Runs(
        items=Items(tuple(Item(str(i), "", tuple("abcd"), int(at[0, i])) for i in range(n)), "made"),
        starts=np.arange(n + 1) * m,
        positions=at.T.ravel(),
        chosen=chosen.T.ravel(),
        wrong=(chosen != at).T.ravel(),
        scores=np.full(m * n, np.nan),
        with_text=False,
    )


def without_torn(runs):
    whole = (runs.chosen.reshape(len(runs.items), -1) != UNPARSED).all(axis=1)
    return runs.select(np.flatnonzero(whole))


def plain(text):
    return " ".join(str(text).replace("\N{NO-BREAK SPACE}", " ").split())


def test_an_honest_model_is_not_accused_because_another_run_was_cut_off():
    runs = runs_of(2, cut=(0.0, 0.33))
    found = options(runs, n_resamples=999)
    alone = options(without_torn(runs), n_resamples=999)
    assert found.p_values.conditional < 0.01, "which is all that there was"
    assert (found.verdict, found.rests_on) == ("no dependence found", "conditional")
    assert found.p_value == found.complete.p_values.conditional == alone.p_value > 0.05
    assert found.complete.p_values == replace(found.complete.p_values, **vars(alone.p_values))
    assert (found.complete.n_items, found.complete.errors_printed) == (alone.n_items, alone.errors_printed)
    assert (found.complete.decides, found.complete.errors_expected) == (True, alone.errors_expected)
    assert found.draws.tolist() == alone.draws.tolist()
    assert found.detectable >= alone.detectable > 0
    unread = (runs.chosen == UNPARSED).reshape(-1, 2)
    assert found.complete.p_uneven == orbit_test(unread, alternative="two-sided").p_value < 1e-6
    told, few = plain(found), unread.sum()
    assert f"p = {alone.p_value:.2g}, the larger of two: {alone.p_value:.2g} on the {alone.n_items} items" in told
    assert f"and {found.p_values.conditional:.2g} with unread answers as wrong" in told
    assert f"as printed 0 of 120 (0.0 %), in other orders {few} of 120" in told
    assert "costs power" not in told
    for text in (found.html(), json.dumps(found.to_dict())):
        assert f"{found.p_values.conditional:.2g}" in text
        assert f"{alone.p_value:.2g}" in text


def test_other_tests_do_not_contradict_the_verdict():
    """Those that are shown beside it are the larger of two as well, and no item looks memorised that was cut off."""
    runs = runs_of(2, cut=(0.0, 0.33))
    found = options(runs, n_resamples=999)
    (figure,) = (one for one in found.summary().figures if one.name == "p")
    assert found.p_values.poisson_binomial < 0.01 < found.complete.p_values.poisson_binomial
    assert f"Poisson-binomial {found.complete.p_values.poisson_binomial:.2g}" in plain(figure.note)
    torn = (runs.chosen == UNPARSED).reshape(-1, 2).any(axis=1)
    assert all(item.p_value == 1 for item, own in zip(found.items, torn, strict=True) if own)
    shuffled = options(runs, n_resamples=99, uniform=True)
    assert (shuffled.verdict, shuffled.rests_on) == ("no dependence found", "poisson_binomial")
    assert shuffled.p_value == shuffled.complete.p_values.poisson_binomial
    assert shuffled.p_values.poisson_binomial < 0.01


def test_a_few_uneven_ones_are_told_too():
    runs = runs_of()
    chosen = runs.chosen.copy()
    chosen[1:20:2] = UNPARSED  # 10 of 240, 4 %
    found = options(replace(runs, chosen=chosen, wrong=chosen != runs.positions), n_resamples=99)
    (warning,) = (one for one in found.summary().warnings if "could be read" in one)
    assert "as printed 0 of 120 (0.0 %), in other orders 10 of 120 (8.3 %), which is uneven" in plain(warning)
    chosen[0:20:2] = UNPARSED
    even = options(replace(runs, chosen=chosen, wrong=chosen != runs.positions), n_resamples=99)
    assert even.complete.p_uneven == 1
    assert "which is uneven" not in plain(even)


@pytest.mark.parametrize(("cut", "verdict"), [((0.3, 0.0), "cannot tell"), ((0.3, 0.3), "no dependence found")])
def test_a_printed_run_that_was_cut_off_hides_what_is_known(cut, verdict):
    found = options(runs_of(1, cut=cut), n_resamples=199)
    assert found.verdict == verdict
    memoriser = options(runs_of(1, memorised=0.5, cut=(0.3, 0.0)), n_resamples=199)
    assert memoriser.verdict == "cannot tell"
    assert memoriser.complete.p_values.conditional < 0.05 < memoriser.p_values.conditional
    told = plain(memoriser)
    assert "which hides what the model may know of the printed order. With them as wrong p is" in told
    assert "Make runs that allow more tokens for an answer" in told.partition("What to do next")[2]
    assert math.isnan(memoriser.p_value)


@pytest.mark.parametrize("cut", [(0.02, 0.02), (0.0, 0.05), (0.03, 0.0)])
def test_a_memoriser_with_a_few_unread_answers_is_found(cut):
    found = options(runs_of(memorised=0.5, cut=cut), n_resamples=999)
    assert found.complete.n_items < 120
    assert found.verdict == "depends on the printed order"
    assert found.p_value == max(found.p_values.conditional, found.complete.p_values.conditional) <= 0.01


def test_tests_that_point_to_different_sides():
    """As printed, unread where it would have been wrong: worse with these as wrong, and better without them."""
    n = 200
    runs = runs_of(3, n=n)
    at, chosen = runs.positions.reshape(n, 2), runs.chosen.reshape(n, 2).copy()
    chosen[chosen[:, 0] != at[:, 0], 0] = UNPARSED
    runs = replace(runs, chosen=chosen.ravel(), wrong=(chosen != at).ravel())
    chosen[:40, 0] = UNPARSED
    runs = replace(runs, chosen=chosen.ravel(), wrong=(chosen != at).ravel())
    two = options(runs, n_resamples=999, alternative="two-sided")
    assert max(two.p_values.conditional, two.complete.p_values.conditional) < 0.05
    assert two.verdict == "cannot tell"
    one = options(runs, n_resamples=999)
    assert (one.verdict, one.p_values.conditional > 0.9) == ("cannot tell", True)


def test_no_item_with_all_of_its_answers():
    runs = runs_of(n=60)
    chosen = runs.chosen.copy()
    chosen[1::2][:59] = UNPARSED
    chosen[118] = UNPARSED
    torn = replace(runs, chosen=chosen, wrong=chosen != runs.positions)
    found = options(torn, n_resamples=99)
    assert (found.verdict, found.complete.n_items) == ("cannot tell", 0)
    assert found.p_values.conditional <= 0.05, "which nobody is accused by"
    chosen[1::2][:30] = runs.chosen[1::2][:30]
    chosen[0:60:2] = np.where(np.arange(30) < 28, UNPARSED, chosen[0:60:2])
    few = options(replace(runs, chosen=chosen, wrong=chosen != runs.positions), n_resamples=99)
    assert (few.verdict, few.complete.n_items) == ("cannot tell", 2)


def test_where_all_answers_could_be_read_or_were_asked_together_nothing_is_new(tmp_path):
    assert options(runs_of(), n_resamples=99).complete is None
    trees = [[f"{tree} {i}" for tree in ("oak", "ash", "elm")] for i in range(60)]
    rows = [{"question": f"Tree {i}?", "options": trees[i], "answer": i % 3} for i in range(60)]
    asked = options(rows, lambda q, shown: None if shown[0].startswith("ash") else 0, n_resamples=99)
    assert (asked.complete, asked.unparsed > 0) == (None, True)
    assert any("which is valid and costs power" in warning for warning in asked.summary().warnings)
    apart = replace(asked, differences={"date": ("2026-03-01", "2026-05-09")}).summary()
    assert not any("costs power" in warning for warning in apart.warnings), "not asked together"


def test_logs(tmp_path):
    """The mock model was silent about one item, in both shuffled runs."""
    names = ("printed", "shuffled-1", "shuffled-2")
    runs = read_runs([DATA / "inspect" / f"{name}.eval" for name in names], items=read_items(DATA / "trees.jsonl"))
    found = options(runs, n_resamples=199)
    assert (found.n_items, found.complete.n_items, found.unparsed, found.unparsed_printed) == (8, 7, 2, 0)


def test_renderings_and_files(tmp_path):
    for name, runs in (("quiet", runs_of(cut=(0, 0.33))), ("found", runs_of(memorised=0.6, cut=(0.03, 0.03)))):
        result = options(runs, n_resamples=199)
        check_renderings(result, tmp_path / name, drawn=True)
        result.save(tmp_path / f"{name}-saved")
        assert heldout.load(tmp_path / f"{name}-saved") == result
    stuck = options(runs_of(1, cut=(0.4, 0)), n_resamples=199)
    check_renderings(stuck, tmp_path / "stuck", drawn=False)


WORLDS = {
    "other run": {"cut": (0.0, 0.2)},
    "printed run": {"cut": (0.2, 0.0)},
    "both": {"cut": (0.2, 0.2)},
    "one of four": {"cut": (0.0, 0.2), "others": 3},
    "printed run where wrong": {"cut": (0.2, 0.0), "where_wrong": True},
}


@pytest.mark.parametrize("name", list(WORLDS))
def test_level(name, rng):
    """False alarms of honest models, by the verdict's rule; with unread answers as wrong alone they are many."""
    n, both, wrong = 100, 0, 0
    for seed in range(n):
        runs = runs_of(1000 + seed, **WORLDS[name])
        p = [
            arrangement_test(one.starts, one.positions, one.wrong, n_resamples=99, rng=rng).p_value
            for one in (runs, without_torn(runs))
        ]
        both, wrong = both + (max(p) <= 0.05), wrong + (p[0] <= 0.05)
    assert both <= n * 0.05 + 3 * math.sqrt(n * 0.05 * 0.95)
    assert (wrong > 0.3 * n) == (name in ("other run", "one of four"))
