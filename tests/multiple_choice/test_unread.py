"""Runs with answers that could not be read: no model is accused, or acquitted, because one run was cut off."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import heldout
from heldout import options
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.readers import read_items
from heldout.multiple_choice.result import UnreadAnswers
from heldout.multiple_choice.runs import Runs, read_runs
from heldout.scorers.choices import UNPARSED
from heldout.statistics import arrangement_test, orbit_test
from tests.report.summaries import check_renderings

DATA = Path(__file__).parent / "data"


def runs_of(seed=0, n=120, others=1, memorised=0.0, cut=(0.0, 0.0), wrong=(1.0, 1.0), times=(1.0, 1.0)):
    """A printed and other runs, of which shares are unread; so many times as often where it is wrong, or right."""
    rng, m = np.random.default_rng([*np.atleast_1d(seed).tolist(), 7]), 1 + others
    at = rng.integers(0, 4, size=(m, n))
    right = rng.random((m, n)) < 0.2 + 0.7 * rng.random(n)
    right[0] |= rng.random(n) < memorised
    chosen = np.where(right, at, (at + rng.integers(1, 4, size=at.shape)) % 4)
    share, times_wrong, times_right = (np.array([a, *[b] * others])[:, None] for a, b in (cut, wrong, times))
    share = share * np.where(right, times_right, times_wrong)
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
    """Nor is it acquitted by a run that says nothing: what the unread answers were would decide."""
    runs = runs_of(2, cut=(0.0, 0.33))
    found = options(runs, n_resamples=999)
    alone = options(without_torn(runs), n_resamples=999)
    unread = (runs.chosen == UNPARSED).reshape(-1, 2)
    against = replace(runs, wrong=runs.wrong & ~np.column_stack([np.zeros(120, bool), unread[:, 1]]).ravel())
    assert found.p_values.conditional < 0.01, "which is all that there was"
    assert (found.verdict, found.rests_on) == ("cannot tell", "neither")
    assert math.isnan(found.p_value)
    assert found.complete.p_values == replace(found.complete.p_values, **vars(alone.p_values))
    assert (found.complete.n_items, found.complete.errors_printed) == (alone.n_items, alone.errors_printed)
    assert found.complete.errors_expected == alone.errors_expected
    counted = arrangement_test(
        against.starts, against.positions, against.wrong, n_resamples=9999, rng=np.random.default_rng(0)
    )
    assert found.complete.p_against.conditional == pytest.approx(counted.p_value, abs=0.05)
    assert found.complete.p_uneven == orbit_test(unread, alternative="two-sided").p_value < 1e-6
    told, few = plain(found), unread.sum()
    assert f"0 of 120 (0.0 %) answers as printed and {few} of 120" in told
    assert f"{found.p_values.conditional:.2g} with all of them as wrong" in told
    assert f"{alone.p_value:.2g} on the {alone.n_items} items with all answers read" in told
    assert "costs power" not in told
    for text in (found.html(), json.dumps(found.to_dict())):
        assert f"{found.p_values.conditional:.2g}" in text
        assert f"{alone.p_value:.2g}" in text


def test_other_tests_do_not_contradict_the_verdict():
    """Those that are shown beside it count unread answers alike, and no item looks memorised that was cut off."""
    runs = runs_of(2, cut=(0.0, 0.33))
    found = options(runs, n_resamples=999)
    assert found.p_values.poisson_binomial < 0.01 < found.complete.p_against.poisson_binomial
    torn = (runs.chosen == UNPARSED).reshape(-1, 2).any(axis=1)
    assert all(item.p_value == 1 for item, own in zip(found.items, torn, strict=True) if own)
    memoriser = options(runs_of(memorised=0.6, cut=(0.02, 0.02)), n_resamples=99, uniform=True)
    assert (memoriser.verdict, memoriser.rests_on) == ("depends on the printed order", "poisson_binomial")
    assert memoriser.p_value == memoriser.complete.p_against.poisson_binomial
    (figure,) = (one for one in memoriser.summary().figures if one.name == "p")
    assert f"conditional {memoriser.complete.p_against.conditional:.2g}" in plain(figure.note)


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
    if verdict == "cannot tell":  # though no way to count them finds anything
        assert min(found.p_values.conditional, found.complete.p_values.conditional) > 0.05
        assert "so that what the model knows of the printed order may be among these; p is" in plain(found)
        assert "would decide" not in plain(found)
    memoriser = options(runs_of(1, memorised=0.5, cut=(0.3, 0.0)), n_resamples=199)
    assert memoriser.verdict == "cannot tell"
    assert memoriser.complete.p_values.conditional < 0.05 < memoriser.p_values.conditional
    told = plain(memoriser)
    assert "what these were would decide: p is" in told
    assert "Make runs that allow more tokens for an answer" in told.partition("What to do next")[2]
    assert math.isnan(memoriser.p_value)


@pytest.mark.parametrize("name", ["counted against a finding", "all of them as wrong", "items with all answers read"])
def test_another_seed_may_decide_by_any_way_to_count_unread_answers(name):
    """The verdict turns on each of three p where nothing is found, so each that is near the level is told."""
    found = options(runs_of(5, memorised=0.15, cut=(0.03, 0.03)), n_resamples=199)
    c, near, far = found.complete, 0.06, 0.6
    assert found.verdict != "depends on the printed order"

    def with_p(value):
        given = dict.fromkeys(("counted against a finding", "all of them as wrong", "items with all answers read"), far)
        against, wrong, whole = (given | {name: value}).values()
        return replace(
            found,
            p_values=replace(found.p_values, conditional=wrong),
            complete=replace(
                c, p_against=replace(c.p_against, conditional=against), p_values=replace(c.p_values, conditional=whole)
            ),
        )

    (told,) = (one for one in with_p(near).summary().warnings if "another seed could decide otherwise" in one)
    assert name in told
    assert not any("another seed" in one for one in with_p(far).summary().warnings)


@pytest.mark.parametrize("cut", [(0.02, 0.02), (0.0, 0.05), (0.03, 0.0)])
def test_a_memoriser_with_a_few_unread_answers_is_found(cut):
    found = options(runs_of(memorised=0.5, cut=cut), n_resamples=999)
    assert found.complete.n_items < 120
    assert found.verdict == "depends on the printed order"
    assert found.p_values.conditional <= found.p_value == found.complete.p_against.conditional <= 0.02


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
    assert two.verdict == "cannot tell", "for it is worse as printed only if the unread answers were wrong"
    one = options(runs, n_resamples=999)
    assert (one.verdict, one.p_values.conditional > 0.9) == ("cannot tell", True)


def test_items_that_some_run_lost_are_warned_of():
    """A log that left out what was cut off, where that was wrong more often: nothing is there to count against it."""
    runs = runs_of(1, n=600, cut=(0.4, 0.0), times=(0.0, 0.0))
    lost = tuple(str(i) for i in np.flatnonzero((runs.chosen.reshape(600, 2) == UNPARSED).any(axis=1)))
    rest = replace(without_torn(runs), left_out={"not_in_every_run": lost})
    found = options(rest, n_resamples=199)
    assert found.verdict == "depends on the printed order", "of an honest model"
    assert options(runs, n_resamples=199).verdict != found.verdict
    (warning,) = (one for one in found.summary().warnings if "some run lacks" in one)
    assert plain(warning).startswith(f"{len(lost)} items are left out that some run lacks or has no answer to.")
    one = replace(rest, left_out={"not_in_every_run": ("7",), "numbers": ("8",)})
    assert any(w.startswith("1 item is left out") for w in map(plain, options(one, n_resamples=99).summary().warnings))
    none = options(replace(rest, left_out={"numbers": ("8",)}), n_resamples=99)
    assert not any("some run lacks" in w for w in map(plain, none.summary().warnings))


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
    assert few.complete.n_items == 2
    assert few.verdict in ("cannot tell", "no dependence found")


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


def test_files_that_know_unread_answers_by_their_former_name(tmp_path):
    """Saved while the class was called CompleteItems; what is saved now can still be read by that version, too."""
    old = heldout.load(DATA / "unread_before_rename")
    assert isinstance(old.complete, UnreadAnswers)
    assert (old.complete.n_items, old.verdict) == (18, "cannot tell")
    old.save(tmp_path / "again")
    assert heldout.load(tmp_path / "again") == old
    for path in (DATA / "unread_before_rename.npz", tmp_path / "again.npz"):
        with np.load(path) as arrays:
            assert '"CompleteItems"' in json.loads(str(arrays["record"]))["fields"]


WORLDS = {
    "other run": {"cut": (0.0, 0.2)},
    "printed run": {"cut": (0.2, 0.0)},
    "both": {"cut": (0.2, 0.2)},
    "one of four": {"cut": (0.0, 0.2), "others": 3},
    "printed run where wrong": {"cut": (0.2, 0.0), "wrong": (1.7, 1.0), "times": (0.3, 1.0)},
    "printed run where wrong, other at random": {"cut": (0.2, 0.2), "times": (0.0, 1.0)},
    "much of the same": {"cut": (0.4, 0.3), "times": (0.0, 1.0)},
    "other run where right": {"cut": (0.0, 0.2), "wrong": (1.0, 0.0)},
    "other run, more where right": {"cut": (0.0, 0.3), "wrong": (1.0, 1 / 3)},
}


HARDEST = ("much of the same", "printed run where wrong, other at random", "other run, more where right")


@pytest.mark.parametrize(
    ("name", "n", "tries"),
    [(name, 120, 40) for name in HARDEST]
    + [pytest.param(name, n, 200, marks=pytest.mark.slow) for n in (40, 300) for name in WORLDS],
)
def test_level(name, n, tries):
    """Verdicts on honest models, whatever the reasons were for which answers could not be read."""
    said = [options(runs_of([1000, i], n=n, **WORLDS[name]), n_resamples=99).verdict for i in range(tries)]
    accused = said.count("depends on the printed order")
    assert binomtest(accused, tries, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("cut", [(0.03, 0.03), (0.0, 0.05), (0.05, 0.0)])
def test_power(cut):
    """Few unread answers hide little."""
    said = [options(runs_of([7, i], n=300, memorised=0.5, cut=cut), n_resamples=99).verdict for i in range(50)]
    assert said.count("depends on the printed order") >= 45


def test_knowledge_that_another_run_hides():
    """Unread in other orders where it would have been wrong: these answers were the evidence."""
    told = options(runs_of(5, n=300, memorised=0.5, cut=(0.0, 0.9), times=(1.0, 0.0)), n_resamples=199)
    assert told.verdict == "cannot tell"
    assert told.p_values.conditional <= 0.05
