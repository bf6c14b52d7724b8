"""Who could have seen what, two tests, single models, the effect and its interval; LiveCodeBench where it is there."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout import InputError, Predictions, checkpoints, exposure
from heldout.exposures import exposure as exposure_module
from heldout.exposures import families as families_module
from heldout.exposures import single
from heldout.exposures.dates import read_dates
from heldout.exposures.effect import _Tilted, effect
from heldout.exposures.exposure import judge
from heldout.exposures.families import draws_of, family_p, family_test, members, smallest_margins, whole_pass
from heldout.exposures.inputs import read_board
from heldout.exposures.placebo import Placebo, blocks_of, placebo_test
from heldout.exposures.scans import day_sums, scan_dates
from heldout.exposures.single import Singles, prediction_p
from heldout.exposures.summary import exposure_seeds_text
from heldout.statistics import margins

ROOT = Path(__file__).parents[2]
LIVE = ROOT.parent / "shared" / "data" / "livecodebench_apr2024.npz"
sys.path.insert(0, str(ROOT))
from experiments import pages  # noqa: E402
from experiments.exposure import tables  # noqa: E402
from experiments.exposure.levels import p_values, rates  # noqa: E402
from experiments.exposure.worlds import CASES, OUT_OF_REACH, world  # noqa: E402

DATES = [f"2023-{1 + j // 10:02d}-{1 + j % 10:02d}" for j in range(60)]


def small(rng, gain=0.0, k=12, n=60):
    """k models, half of them with a cutoff in March, the others in the year before; items get harder."""
    ability, hard = rng.normal(size=k), rng.normal(size=n) + np.arange(n) / n
    seen = (np.arange(k) < k // 2)[:, None] & (np.arange(n) < n // 2)
    right = rng.random((k, n)) < 1 / (1 + np.exp(-(ability[:, None] - hard + gain * seen)))
    return right, ["2023-03"] * (k // 2) + ["2022-12"] * (k - k // 2), seen


def board(right, seen, families=None, strata=None):
    return read_board(right, dates=None, cutoffs=None, seen=seen, strata=strata, families=families)


@pytest.fixture(scope="module")
def helped():
    right, cutoffs, _ = small(np.random.default_rng(3), gain=2.0, k=16)
    return exposure(right, dates=DATES, cutoffs=cutoffs, n_resamples=499, scan=True, seed=4), right, cutoffs


def test_help_is_found(helped):
    result, _, _ = helped
    assert result.verdict == "exposed models score better"
    assert result.p_value == max(result.p_margins, result.p_placebo) <= 0.01
    assert result.interval[0] > 0.5
    assert result.interval[0] < result.effect_log_odds < result.interval[1] < 5
    assert result.excess > 3 * result.spread
    assert result.exposed_cells == 8 * 30
    assert (result.n_nothing, result.n_everything, result.n_unknown) == (8, 0, 0)
    assert result.mixing.mixed
    assert [m.exposed for m in result.models] == [30] * 8 + [0] * 8
    assert all(m.references == 8 for m in result.models[:8])
    assert {m.name for m in result.models if m.effective_cutoff} == {f"model {i}" for i in range(8)}
    best = max(result.models[:8], key=lambda m: m.z)
    assert best.p_value == max(best.p_margins, best.p_placebo)
    assert best.p_holm <= 1
    assert result.months.steps == (3,) * 8 + (0,) * 8
    assert len(result.months.months) == 6


def test_same_bits_on_two_threads_without_numba_and_when_saved(helped, tmp_path, monkeypatch):
    result, right, _ = helped
    monkeypatch.setattr(single, "TRADES", 5)
    right, cutoffs = right[4:12, 10:50:2], ["2023-03"] * 4 + ["2022-12"] * 4
    asked = {"dates": DATES[10:50:2], "cutoffs": cutoffs, "n_resamples": 49, "steps": 2, "scan": True, "seed": 4}
    one, two = exposure(right, **asked), exposure(right, n_jobs=2, **asked)
    monkeypatch.setattr(margins, "_compiled", lambda: None)
    assert one == two == exposure(right, **asked)
    result.save(tmp_path / "result")
    assert heldout.load(tmp_path) == result
    assert {"p_value", "p_margins", "p_placebo", "z", "interval", "assignments", "models", "verdict"} <= set(
        result.to_dict()
    )
    assert result.to_frame(backend="polars").shape == (16, 21)


def test_summary_tells_it(helped):
    result, _, _ = helped
    told, page = str(result), result.html()
    assert told.startswith("Models score better on what they could have seen. p = 0.00")
    assert "Every model counts as its own family" in told
    assert "Month by month" in page
    assert "Effective cutoffs" in page
    assert "Negative control" in page


def test_no_help_and_harder_items_accuse_nobody():
    """Later items are harder for all: the naive drop accuses every model, the verdict none."""
    rng = np.random.default_rng(8)
    k, n = 14, 300
    dates = np.sort(rng.random(n))
    hard = rng.normal(size=n) + 4 * (dates - 0.5)
    right = rng.random((k, n)) < 1 / (1 + np.exp(-(rng.normal(0, 0.5, (k, 1)) - hard)))
    days = (np.datetime64("2023-01-01") + (365 * dates).astype(int)).astype(str)
    cutoffs = np.array(["2023-05", "2023-06", "2023-07", "2023-08", "2023-09", "2023-10", "2022-12"] * 2)
    result = exposure(right, dates=days.tolist(), cutoffs=cutoffs.tolist(), n_resamples=299, scan=False)
    exposed = [i for i in range(k) if result.models[i].exposed]
    board_seen = np.array([days <= f"{c}-31" for c in cutoffs])
    drops = [right[i, board_seen[i]].mean() - right[i, ~board_seen[i]].mean() for i in exposed]
    assert min(drops) > 0.2
    assert result.verdict == "no excess found"
    assert not any(m.p_holm <= 0.05 for m in result.models)


def test_families_are_the_unit():
    right, _, seen = small(np.random.default_rng(0))
    families = [f"f{i // 2}" for i in range(12)]
    b = board(right, seen, families)
    drawn = members(b, 10, np.random.default_rng(0))
    assert len(drawn) == 10
    assert all(np.array_equal(b.families[rows], np.arange(6)) for rows in drawn)
    alone = board(right, seen)
    assert len(members(alone, 10, np.random.default_rng(0))) == 1
    result = exposure(right, seen=seen, families=families, n_resamples=99, scan=False)
    assert (result.n_families, result.families_given) == (6, True)
    assert "own family" not in str(result)
    assert all(r.families[i] != r.families[j] for r, i in [(b, 0)] for j in Singles(
        b, n_tables=9, steps=2, n_jobs=1, scan=False).references(i))  # fmt: skip


def test_how_far_seeds_move_p_is_told():
    """Clones that differ, so that it matters which members are drawn."""
    made = world(np.random.default_rng([5, 0]), lineages=True, shock=0.5, gain=1.0, n=60)
    b = board(made.right, made.seen, made.families.astype(str))
    asked = {"steps": 2, "n_jobs": 1, "n_draws": 20}
    found = [family_test(b, None, 99, rng=np.random.default_rng(seed), **asked) for seed in range(40)]
    moved = np.std([f.p_value for f in found], ddof=1)
    assert moved == pytest.approx(np.sqrt(np.mean([f.error**2 for f in found])), rel=4 / np.sqrt(2 * 39))
    with_more = family_test(b, None, 99, rng=np.random.default_rng(0), **asked | {"n_draws": 320})
    assert with_more.error < 0.4 * found[0].error
    alone = board(made.right, made.seen)
    single = family_test(alone, None, 99, rng=np.random.default_rng(0), steps=2, n_jobs=1)
    assert single.error == pytest.approx(np.sqrt(single.p_value * (1 - single.p_value) / 99))


def test_fewer_draws_of_members_where_tables_are_large():
    right = np.zeros((12, 60), dtype=bool)
    right[:, ::2] = True
    b = board(right, np.arange(60) < 20 * (np.arange(12) % 3)[:, None], families=[f"f{i // 2}" for i in range(12)])
    assert draws_of(b) == 200
    assert draws_of(replace(b, ids=("",) * 10_000)) == 33
    assert draws_of(replace(b, ids=("",) * 100_000)) == 10
    assert draws_of(board(right, b.could)) == 1


@pytest.mark.parametrize(("p", "error", "told"), [(0.06, 0.011, True), (0.04, 0.006, True), (0.04, 0.004, False)])
def test_another_seed_could_decide_otherwise(p, error, told):
    right, _, seen = small(np.random.default_rng(0))
    found = exposure(right, seen=seen, n_resamples=99, scan=False)
    ruling = replace(found.ruling, p_value=p, outcome="exposed models score better" if p <= 0.05 else "no excess found")
    near = replace(found, ruling=ruling, p_margins=p, p_margins_error=error, p_placebo=0.001, p_placebo_error=0.03)
    assert near.p_error == max(error, 0.03)  # the smaller one might as well have been the larger
    near = replace(near, p_placebo_error=0.0003)
    assert near.p_error == error
    assert any("another seed could decide otherwise" in w for w in near.summary().warnings) == told


@pytest.mark.parametrize(
    ("margins", "placebo", "told"),
    [
        ((0.048, 0.004), (0.01, 0.002), 0.004),
        ((0.04, 0.02), (0.0556, 0.0), None),  # all assignments were looked at: it stays above, and is the larger
        ((0.0556, 0.001), (0.06, 0.02), None),
        ((0.04, 0.001), (0.01, 0.016), None),  # both stay below
        ((0.03, 0.012), (0.04, 0.001), 0.012),  # the smaller one could be the larger, and above
        ((0.048, 0.004), (0.058, 0.006), 0.006),
        ((0.048, np.nan), (0.01, np.nan), None),  # of older versions
    ],
)
def test_a_seed_decides_where_the_larger_p_could_lie_on_either_side(margins, placebo, told):
    right, _, seen = small(np.random.default_rng(0))
    found = exposure(right, seen=seen, n_resamples=99, scan=False)
    for (p, error), (q, other) in ((margins, placebo), (placebo, margins)):
        ruling = replace(found.ruling, p_value=max(p, q), outcome="no excess found")
        near = replace(found, ruling=ruling, p_margins=p, p_margins_error=error, p_placebo=q, p_placebo_error=other)
        told_now = [w for w in near.summary().warnings if "another seed could decide otherwise" in w]
        assert told_now == ([] if told is None else [
            f"p moves with the seed, by ± {told} (standard deviation), and lies within two of these of 0.05: another "
            "seed could decide otherwise."
        ])  # fmt: skip
        assert exposure_seeds_text(near, 0.05) == (told_now[0] if told_now else None)


@pytest.mark.parametrize(
    ("high", "told"),
    [(0.5, "up to +0.50 log-odds (odds of being right × 1.65)"), (np.inf, "any size"), (np.nan, None), (-0.1, None)],
)
def test_no_sign_says_how_large_an_effect_is_left(high, told):
    right, _, seen = small(np.random.default_rng(0))
    found = replace(exposure(right, seen=seen, n_resamples=99, scan=False), interval=(-1.0, high))
    assert found.verdict == "no excess found"
    assert any("Not excluded" in s for s in found.summary().sentences) == (told is not None)
    assert told is None or any(told in s for s in found.summary().sentences)


def test_placebo_counts_every_assignment():
    """Six families of one block, two of them exposed: fifteen ways, all of them looked at."""
    rng = np.random.default_rng(0)
    right = rng.random((6, 40)) < 0.5
    seen = np.zeros((6, 40), dtype=bool)
    seen[:2, :20] = True
    right[:2, :20], right[2:, :20] = True, False
    b = board(right, seen)
    found = placebo_test(b, np.full((6, 40), 0.5), 999, rng)
    assert (found.assignments, found.n_blocks) == (15, 1)
    assert found.p_value == found.smallest_p == 1 / 15
    assert judge(0.001, found, 0.05).outcome == "cannot tell"
    many = placebo_test(b, np.full((6, 40), 0.5), 9, rng)
    assert many.p_value in {i / 10 for i in range(1, 11)}


def test_placebo_is_exact_where_cutoffs_are_exchangeable():
    """Exposures given at random within blocks: p is uniform over what it can reach."""
    rng = np.random.default_rng(1)
    right = rng.random((10, 30)) < np.linspace(0.2, 0.8, 10)[:, None]
    seen = np.zeros((10, 30), dtype=bool)
    seen[[0, 1, 5, 6], :15] = True
    mean = rng.random(right.shape)  # no two sums are equal
    p = []
    for _ in range(400):
        order = np.concatenate([rng.permutation(5), 5 + rng.permutation(5)])
        rows = board(right, seen[order])
        p.append(placebo_test(rows, mean, 999, rng).p_value)
    for level in (0.05, 0.1, 0.3, 0.5):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 400)
    assert np.mean(np.array(p) <= 0.3) > 0.15


def test_single_models_have_clean_references():
    right, _, _ = small(np.random.default_rng(0), k=8)
    seen = np.zeros((8, 60), dtype=bool)
    seen[0, :30], seen[1, :20], seen[2, 40:50] = True, True, True
    tests = Singles(board(right, seen), n_tables=99, steps=5, n_jobs=1, scan=False)
    assert tests.references(0).tolist() == [2, 3, 4, 5, 6, 7]
    assert tests.references(2).tolist() == [0, 1, 3, 4, 5, 6, 7]
    found = tests.test(0, np.random.default_rng(0))
    assert set(found.placebo) == {2, 3, 4, 5, 6, 7}
    assert 1 <= found.rank <= 7


def test_single_models_have_references_that_are_known_and_clean():
    """Models without a cutoff are no references; what a reference could have seen itself is never looked at."""
    right, cutoffs, _ = small(np.random.default_rng(0), k=10)
    cutoffs[7] = None
    b = read_board(right, dates=DATES, cutoffs=cutoffs, seen=None, strata=None, families=None)
    assert Singles(b, n_tables=9, steps=5, n_jobs=1, scan=False).references(0).tolist() == [5, 6, 8, 9]
    seen = np.zeros((10, 60), dtype=bool)
    seen[0, :30], seen[1:, 30:] = True, np.random.default_rng(1).random((9, 30)) < 0.5
    p = []
    for table in (right, right | (seen & (np.arange(10) > 0)[:, None])):
        tests = Singles(board(table, seen), n_tables=99, steps=5, n_jobs=1, scan=False)
        p.append(tests.test(0, np.random.default_rng(0)))
    assert p[0].p_margins == p[1].p_margins
    assert p[0].placebo == p[1].placebo


def test_everything_and_nothing_are_one_exposure():
    """A row's residuals sum to nothing, so that permuting these two changes no sum."""
    right = np.random.default_rng(0).random((6, 40)) < 0.5
    seen = np.zeros((6, 40), dtype=bool)
    seen[:3], seen[3, :20] = True, True
    b = board(right, seen)
    whole = whole_pass(b, 99, steps=5, n_jobs=1, rng=np.random.default_rng(0))
    found = placebo_test(b, whole.mean, 999, np.random.default_rng(0))
    assert (found.assignments, found.smallest_p) == (6, 1 / 6)
    assert exposure(right, seen=seen, n_resamples=99).verdict == "cannot tell"


def test_what_an_idle_stratum_has_makes_no_assignments():
    """Ten models, two of them exposed where nothing moves, one at the best it can be: one of five in its block."""
    rng = np.random.default_rng(0)
    right = rng.random((10, 60)) < 1 / (1 + np.exp(rng.normal(size=60) - np.linspace(-1.5, 1.5, 10)[:, None]))
    right[:, :20], right[8, 20:40], right[8, 40:] = True, True, False
    seen = np.zeros((10, 60), dtype=bool)
    seen[:2, :10], seen[8, 20:40] = True, True
    found = exposure(right, seen=seen, strata=["idle"] * 20 + ["b"] * 40, n_resamples=199)
    assert (found.assignments, found.smallest_p, found.p_placebo) == (5, 0.2, 0.2)
    assert found.verdict == "cannot tell"


def test_equal_models_are_equal_whatever_the_seed_and_the_order():
    """Sums that tie stay tied: with all assignments looked at, p is a function of the table alone."""
    rng = np.random.default_rng(0)
    right = np.array([rng.permutation(20) < 10 for _ in range(10)])
    seen = (np.arange(10) % 2 == 0)[:, None] & (np.arange(20) < 10)
    p = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(10)
        names = [f"m{i}" for i in order]
        table = Predictions.from_correct(right[order], names=names)
        b = read_board(table, dates=None, cutoffs=None, seen=seen[order], strata=None, families=None)
        whole = whole_pass(b, 99, steps=5, n_jobs=1, rng=np.random.default_rng(seed))
        assert np.allclose(whole.mean.sum(axis=1), 10)
        p.add(round(placebo_test(b, whole.mean, 999, rng).p_value, 12))
    assert len(p) == 1


def test_names_with_numbers_are_mixed():
    """Even and odd numbers in every block: CRC-32 would part them."""
    blocks = blocks_of(np.zeros(20), [f"m{i}" for i in range(20)])
    assert sum(len(set((block % 2).tolist())) == 2 for block in blocks) >= 3


@pytest.mark.parametrize("moment", ["batch", "family", "delta", "model", "check"])
def test_stopped_and_continued_ends_in_the_same_bits(moment, tmp_path, monkeypatch):
    right, cutoffs, _ = small(np.random.default_rng(3), gain=1.0)
    asked = {"dates": DATES, "cutoffs": cutoffs, "n_resamples": 49}
    asked |= {"families": [f"f{i % 6}" for i in range(12)]}  # every exposed model has other references
    asked |= {"steps": 2, "scan": True, "checkpoint": tmp_path}
    monkeypatch.setattr(margins, "BATCH", 12 * 60 * 10)  # whole tables in batches of ten
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    whole = exposure(right, **{**asked, "checkpoint": None})
    owner, name, count = {
        "batch": (margins.MarginChains, "counted", 3),
        "family": (families_module, "successes", 4),
        "delta": (_Tilted, "test", 15),
        "model": (Singles, "test", 3),
        "check": (exposure_module, "negative_control", 1),
    }[moment]
    original, calls = getattr(owner, name), iter(range(count - 1))

    def stops(*args, **more):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return original(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, stops)
        with pytest.raises(KeyboardInterrupt):
            exposure(right, **asked)
    with pytest.raises(InputError, match="holds unfinished work"):
        exposure(right, **asked)
    with pytest.raises(InputError, match="belongs to another run: seed was 0, is 1"):
        exposure(right, **asked, resume=True, seed=1)
    assert exposure(right, **asked, resume=True) == whole


def test_prediction_is_students():
    """Against scipy's t of one new value and others, and by simulation of its level."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=3)
    t = (2.0 - y.mean()) / (y.std(ddof=1) * np.sqrt(1 + 1 / 3))
    from scipy.stats import t as student

    assert prediction_p(2.0, 0.5, np.column_stack([[0.1, 0.2, 0.3], y])) == pytest.approx(student.sf(t, 2))
    p = []
    for _ in range(2000):
        x = rng.random(9)
        z = 2 * x + rng.normal(size=9)
        p.append(prediction_p(z[0], x[0], np.column_stack([x, z])[1:]))
    assert abs(np.mean(np.array(p) <= 0.05) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_a_scan_finds_the_cutoff():
    rng = np.random.default_rng(5)
    right, cutoffs, _ = small(rng, k=14)
    right[0, :20], right[0, 20:] = True, rng.random(40) < 0.15
    b = read_board(right, dates=DATES, cutoffs=cutoffs, seen=None, strata=None, families=None)
    found = Singles(b, n_tables=499, steps=5, n_jobs=1, scan=True).test(0, np.random.default_rng(0))
    assert found.scan.best == DATES[19]
    assert found.scan.p_value == 1 / 500
    later = scan_dates(b, 0, day_sums(b, 0, np.zeros((5, 60), dtype=np.uint8)), later=True)
    assert later.dates[0] > "2023-03-31"


def test_delta_and_its_interval():
    """On tables drawn with a known log-odds ratio the interval holds it, and the estimate is near."""
    rng = np.random.default_rng(2)
    right, _, seen = small(rng, gain=1.0, k=20, n=200)
    found = effect(board(right, seen), level=0.05, steps=5, n_jobs=1, rng=rng, n_tables=199)
    assert found.interval[0] < 1.0 < found.interval[1]
    assert abs(found.log_odds - 1.0) < 0.6
    certain = np.zeros((4, 4), dtype=bool)
    certain[0, :2], certain[1, 2:] = True, True
    only = np.zeros((4, 4), dtype=bool)
    only[0, :2] = True
    wide = effect(board(certain, only), level=0.05, steps=5, n_jobs=1, rng=rng, n_tables=99)
    assert (wide.log_odds, wide.interval[1]) == (np.inf, np.inf)
    few = effect(board(right, seen), level=0.05, steps=5, n_jobs=1, rng=rng, n_tables=19)
    assert np.isfinite(few.log_odds)
    assert np.isnan(few.interval).all()  # no p of 19 tables is at most 0.025


def test_missing_cells_months_and_unknowns():
    rng = np.random.default_rng(6)
    right, cutoffs, _ = small(rng)
    gaps = rng.random(right.shape) < 0.1
    table = Predictions.from_correct(right, observed=~gaps, columns={"day": [*DATES[:-1], ""], "kind": ["a", "b"] * 30})
    cutoffs[0] = "N/A"
    result = exposure(table, dates="day", cutoffs=cutoffs, strata=["kind"], n_resamples=99, scan=False)
    assert (result.n_missing, result.n_undated, result.n_unknown) == (int(gaps.sum()), 1, 1)
    assert [s.name for s in result.strata] == ["a", "b"]
    assert result.models[0].cutoff is None
    assert result.models[1].cutoff == "2023-03-31"
    # what is missing is never looked at
    other = Predictions.from_correct(right ^ gaps, observed=~gaps, columns=table.columns)
    again = exposure(other, dates="day", cutoffs=cutoffs, strata=["kind"], n_resamples=99, scan=False)
    assert again.p_value == result.p_value


def test_trials_are_right_from_a_half_on():
    right, cutoffs, _ = small(np.random.default_rng(0))
    scores = Predictions.from_scores(np.where(right, 0.5, 0.4))
    one = exposure(scores, dates=DATES, cutoffs=cutoffs, n_resamples=49, scan=False)
    two = exposure(right, dates=DATES, cutoffs=cutoffs, n_resamples=49, scan=False)
    assert one.halved
    assert not two.halved
    assert (one.p_value, one.observed) == (two.p_value, two.observed)
    assert "from one half on" in str(one)


def test_all_items_before_all_models():
    right, _, _ = small(np.random.default_rng(0))
    result = exposure(right, dates=DATES, cutoffs=["2024-01"] * 12, n_resamples=49)
    assert result.verdict == "not applicable"
    assert (result.n_everything, np.isnan(result.p_value)) == (12, True)
    assert str(result).startswith("Not applicable")
    assert heldout.ExposureResult.__name__ in repr(result)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"dates": ["soon"] * 60}, "'soon', of '0', is not a date"),
        ({"dates": ["2023-01-01"] * 59 + ["2023/01/02"]}, "come in two formats"),
        ({"dates": ["2023-02-30"] * 60}, "is not a date"),
        ({"dates": DATES[:5]}, "one for each of the 60 examples"),
        ({"dates": None}, "`dates` of the examples are not given"),
        ({"cutoffs": ["2020-01"] * 12}, "nobody is exposed: the latest of the `cutoffs` is 2020-01-31"),
        ({"cutoffs": {"gpt": "2023-03"}}, "names 'gpt', but arrays has no such model"),
        ({"cutoffs": [None] * 12}, "no model of the results has a cutoff"),
        ({"families": {"gpt": "openai"}}, "`families` names 'gpt'"),
        ({"strata": "platform"}, "has no column 'platform'"),
        ({"strata": [str(j) for j in range(60)]}, "in no stratum can anything be traded"),
        ({"seen": [[1, 0]], "cutoffs": None}, "must be a table of 0 and 1"),
        ({"seen": [[1, 0]]}, "`seen` says who could have seen what, and so do `cutoffs`"),
        (
            {
                "seen": Predictions.from_correct([[1, 0]], observed=[[True, False]], names=["model 0"]),
                "cutoffs": None,
                "predictions": np.eye(3, 2, dtype=bool),
                "dates": None,
            },
            "blank in 1 cell, the first 'model 0' on 1;",
        ),
        ({"level": 2}, "`level` is 2"),
        ({"n_jobs": 0}, "`n_jobs` is 0"),
        ({"predictions": [[0, 1], [1, 0]]}, "at least 3 are needed"),
    ],
)
def test_bad_input(asked, words):
    right, cutoffs, _ = small(np.random.default_rng(0))
    asked = {"predictions": right, "dates": DATES, "cutoffs": cutoffs, "n_resamples": 9, **asked}
    with pytest.raises(InputError, match=words):
        exposure(**asked)


def test_dates_of_many_kinds():
    pandas = pytest.importorskip("pandas")
    days = read_dates(
        ["2024-02", np.datetime64("2023-05-06"), "2023-01-02T03:04:05Z", "2023-1-2", float("nan"), " ",
         np.datetime64("NaT"), np.datetime64("2023-02"), pandas.NaT],
        list("abcdefghi"),
        what="dates",
    )  # fmt: skip
    assert days.astype(str).tolist() == [
        "2024-02-29", "2023-05-06", "2023-01-02", "2023-01-02", "NaT", "NaT", "NaT", "2023-02-28", "NaT",
    ]  # fmt: skip
    assert read_dates(["2023/09", "2023/10/01"], "ab", what="dates").astype(str).tolist() == [
        "2023-09-30",
        "2023-10-01",
    ]


@pytest.mark.skipif(not LIVE.exists(), reason="the results of LiveCodeBench are not in ../shared/data")
def test_livecodebench():
    with np.load(LIVE) as d:
        right = d["pass1"] >= 50
        strata = [f"{p} {q}" for p, q in zip(d["platform"], d["difficulty"], strict=True)]
        b = read_board(
            Predictions.from_correct(right, names=d["models"].tolist()),
            dates=d["dates"].tolist(), cutoffs=d["cutoff"].tolist(), seen=None, strata=strata, families=None,
        )  # fmt: skip
    whole = whole_pass(b, 999, steps=10, n_jobs=1, rng=np.random.default_rng(0))
    assert int((b.right & b.seen).sum()) == 544
    assert whole.totals.mean() == pytest.approx(461.6, abs=1.5)
    assert whole.totals.std() == pytest.approx(7.6, abs=0.7)
    assert family_p(b, whole, 999, steps=10, n_jobs=1, rng=np.random.default_rng(0)) == 1 / 1000
    hits = (b.right & b.seen).sum(axis=1)
    with np.errstate(invalid="ignore"):
        z = np.nan_to_num((hits - whole.by_model.mean(axis=0)) / whole.by_model.std(axis=0))
    four = [b.names[i] for i in np.argsort(-z)[:4]]
    assert set(four) == {"DSCoder-33b-Base", "DSCoder-33b-Ins", "DSCoder-6.7b-Base", "WCoder-33B-V1.1"}
    one = Singles(b, n_tables=999, steps=10, n_jobs=1, scan=False).test(
        b.names.index(four[0]), np.random.default_rng(0)
    )
    assert one.z == pytest.approx(8.3, abs=0.5)
    assert one.p_value <= 0.001


def test_tabulated_rates_come_from_results():
    text = tables.README.read_text()
    assert pages.filled(text, tables.parts()) == text
    assert all(name in text for name in CASES)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.7])
@pytest.mark.parametrize("name", [name for name in CASES if name not in OUT_OF_REACH])
def test_levels(name, correlation):
    n = 1000
    verdict = rates(name, correlation, n)[2]
    for level, rate in zip((0.05, 0.01), verdict, strict=True):
        assert rate <= level + 3 * np.sqrt(level * (1 - level) / n)


@pytest.mark.slow
def test_power():
    found = []
    for i in range(200):
        made = world(np.random.default_rng([7, i]), k=30, n=300, gain=0.5, half=True)
        found.append(max(p_values(made, i)[:2]) <= 0.05)
    assert np.mean(found) >= 0.95


@pytest.mark.slow
def test_coverage_of_delta():
    held = []
    for i in range(200):
        made = world(np.random.default_rng([9, i]), k=30, n=300, gain=0.5, half=True)
        b = board(made.right, made.seen)
        low, high = effect(b, level=0.05, steps=5, n_jobs=1, rng=np.random.default_rng(i), n_tables=399).interval
        held.append(low <= 0.5 <= high)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)


def test_what_cannot_reach_the_level_cannot_tell():
    placebo = Placebo(p_value=0.05, assignments=20, smallest_p=0.05, n_blocks=1)
    assert judge(0.001, placebo, 0.05).outcome == "exposed models score better"
    assert judge(0.001, placebo, 0.01).outcome == "cannot tell"
    enough = Placebo(p_value=0.01, assignments=999, smallest_p=0.001, n_blocks=4)
    assert judge(0.02, enough, 0.05, smallest_margins=0.1).outcome == "cannot tell"
    right, _, seen = small(np.random.default_rng(0))
    right[:, :30] = True  # what is exposed cannot move
    strata = ["a"] * 30 + ["b"] * 30
    seen = np.array(seen)
    seen[0, 30] = True
    assert exposure(right, seen=seen & (np.arange(60) < 29), strata=strata, n_resamples=99).verdict == "cannot tell"


def test_the_order_of_rows_is_nothing_to_blocks():
    scores, names = np.array([0.5, 0.5, 0.5, 0.5, 0.2, 0.5, 0.9, 0.5]), list("abcdefgh")
    blocks = [[names[i] for i in block] for block in blocks_of(scores, names)]
    back = blocks_of(scores[::-1], names[::-1])
    assert blocks == [[names[::-1][i] for i in block] for block in back]


def _line(result):
    return " ".join(str(result).split())


def test_why_it_cannot_be_told():
    right, _, seen = small(np.random.default_rng(0))
    found = exposure(right, seen=seen, level=0.01, n_resamples=49, families=[f"f{i % 10}" for i in range(12)])
    assert "With 49 tables the margins test cannot go below 0.04; draw more (--resamples 1999)." in _line(found)
    right[:, :30] = True
    found = exposure(right, seen=seen & (np.arange(60) < 20), strata=["a"] * 30 + ["b"] * 30, n_resamples=99)
    assert (found.smallest_p, found.smallest_p_margins) == (1, 1)
    assert "no exposed success can move, and p of the margins test is always 1" in _line(found)
    assert "not defined (no exposed success can move)" in _line(found)


def test_warnings_of_what_the_verdict_rests_on():
    right, cutoffs, _ = small(np.random.default_rng(3), gain=2.0, k=16)
    right = np.concatenate([right, right[:1]])
    result = exposure(right, dates=DATES, cutoffs=[*cutoffs, None], n_resamples=99, scan=False)
    told = _line(result)
    assert (result.n_unknown, result.n_twins, result.n_known_families) == (1, 1, 16)
    assert "not known what they could have seen: 1 of 17 (5.9 %). Margins p, z and the effect" in told
    assert "Families with known cutoffs: 16" in told
    assert "of another family: 1." in told


def test_reach_takes_more_tables():
    b = board(*small(np.random.default_rng(0))[::2], families=[f"f{i % 6}" for i in range(12)])
    assert smallest_margins(b, 9999, 0.05) == 2 / 1000
    assert smallest_margins(b, 9999, 0.0005) < 0.0005


def test_placebo_record():
    assert judge(0.2, Placebo(p_value=0.01, assignments=99, smallest_p=0.01, n_blocks=2), 0.05).rests_on == "margins"


@pytest.fixture
def given():
    pandas = pytest.importorskip("pandas")
    right, cutoffs, seen = small(np.random.default_rng(3), gain=1.0)
    names, ids = [f"m{i:02d}" for i in range(12)], [f"q{j}" for j in range(60)]
    return pandas, Predictions.from_correct(right, names=names, ids=ids), names, ids, cutoffs, seen


class TestNamesInAnIndex:
    """A Series, or a frame of `seen`, goes by the names in its index, as a dict does, and not by place."""

    def read(self, table, **asked):
        return read_board(table, **{"dates": None, "cutoffs": None, "seen": None, "strata": None, "families": None,
                                    **asked})  # fmt: skip

    def same(self, one, two):
        assert one.ids == two.ids
        for name in ("could", "known", "strata", "families"):
            assert np.array_equal(getattr(one, name), getattr(two, name)), name
        assert (one.strata_names, one.family_names) == (two.strata_names, two.family_names)

    def test_series(self, given):
        pandas, table, names, ids, cutoffs, _ = given
        asked = {
            "dates": dict(zip(ids, DATES, strict=True)), "cutoffs": dict(zip(names, cutoffs, strict=True)),
            "strata": {name: "ab"[j % 2] for j, name in enumerate(ids)},
            "families": {name: f"f{i // 2}" for i, name in enumerate(names)},
        }  # fmt: skip
        wanted = self.read(table, **asked)
        for seed in (1, 2):
            shuffled = {key: pandas.Series(own).sample(frac=1, random_state=seed) for key, own in asked.items()}
            self.same(self.read(table, **shuffled), wanted)
        frame = pandas.DataFrame({"one": asked["strata"]}).sample(frac=1, random_state=3)
        self.same(self.read(table, **{**asked, "strata": frame}), wanted)
        in_order = {key: pandas.Series(list(own.values())) for key, own in asked.items()}
        self.same(self.read(table, **in_order), wanted)  # an index that nobody gave
        part = shuffled["dates"].iloc[:40]
        assert self.read(table, **{**asked, "dates": part}).n_undated == 20

    def test_polars_has_no_index(self, given):
        polars = pytest.importorskip("polars")
        _, table, names, ids, cutoffs, seen = given
        one = self.read(table, dates=polars.Series(DATES), cutoffs=polars.Series(cutoffs))
        self.same(one, self.read(table, dates=DATES, cutoffs=cutoffs))
        frame = polars.DataFrame({"id": ids, **dict(zip(names, seen.astype(int), strict=True))})
        self.same(self.read(table, seen=frame.sample(60, shuffle=True, seed=1)), self.read(table, seen=seen))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda s: s.set_axis([f"x{i}" for i in range(12)]), "`cutoffs` has the index 'x0', 'x1', 'x2' and 9 more"),
            (lambda s: s.set_axis(range(3, 15)), r"no such model; it has 'm00'.*or give `cutoffs.tolist\(\)`"),
            (lambda s: s.set_axis(["m00", *s.index[:-1]]), "`cutoffs` has 'm00' more than once in its index"),
            (lambda s: s.rename({"m03": "gpt"}), "`cutoffs` names 'gpt', but arrays has no such model"),
            (lambda s: s.to_frame(), "`cutoffs` is a table; give one of its columns"),
        ],
    )
    def test_what_is_refused(self, given, change, words):
        pandas, table, names, _, cutoffs, _ = given
        with pytest.raises(InputError, match=words):
            self.read(table, dates=DATES, cutoffs=change(pandas.Series(cutoffs, index=names)))

    def test_numbers_that_may_be_names(self, given):
        pandas, _, _, _, cutoffs, _ = given
        right, _, _ = small(np.random.default_rng(3))
        table = Predictions.from_correct(right, names=[str(11 - i) for i in range(12)])
        with pytest.raises(InputError, match="an index of numbers, which may be names or places"):
            self.read(table, dates=DATES, cutoffs=pandas.Series(cutoffs))
        named = pandas.Series(cutoffs, index=[11 - i for i in range(12)])
        self.same(self.read(table, dates=DATES, cutoffs=named), self.read(table, dates=DATES, cutoffs=cutoffs))

    def test_seen_of_other_examples(self):
        """By ids, and what stands under them; never by row where one of the two has ids."""
        right = np.random.default_rng(0).random((4, 6)) < 0.5
        flags = np.arange(24).reshape(4, 6) % 3 == 0
        ids, asked = [f"q{i}" for i in range(6)], [f"Question {i}?" for i in range(6)]
        table = Predictions.from_correct(right, ids=ids, columns={"question": asked})
        for seen, told in (
            (Predictions.from_correct(flags), "`seen` has no ids of its examples but arrays has, such as 'q0'"),
            (Predictions.from_correct(flags, ids=ids, columns={"question": [*asked[:5], "Who?"]}),
             r"`seen` has another example 'q5' than arrays: its 'question' is 'Who\?', not 'Question 5\?'"),
        ):  # fmt: skip
            with pytest.raises(InputError, match=told):
                exposure(table, seen=seen)
        with pytest.raises(InputError, match="arrays has no ids of its examples but `seen` has"):
            exposure(right, seen=Predictions.from_correct(flags, ids=ids))

    def test_seen(self, given):
        pandas, table, names, ids, _, seen = given
        wanted = self.read(table, seen=seen)
        frame = pandas.DataFrame(seen.astype(int), index=names, columns=ids)
        turned = frame.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2)
        long = turned.rename_axis("model").reset_index().melt("model", var_name="id", value_name="seen")
        for one in (frame, turned, turned.rename_axis("model"), turned.T, turned.T.rename_axis("id"),
                    turned.T.rename_axis("id").reset_index(), turned.astype(bool), long,
                    pandas.DataFrame(seen.astype(int))):  # fmt: skip
            self.same(self.read(table, seen=one), wanted)
        fewer = turned.iloc[2:, 5:]
        assert self.read(table, seen=fewer).n_undated == 5
        assert self.read(table, seen=fewer).known.sum() == 10
        with pytest.raises(InputError, match="row for 'gpt', but arrays has no such model"):
            self.read(table, seen=frame.rename({"m00": "gpt"}))
        with pytest.raises(InputError, match="blank in 1 cell, the first 'm01' on 'q2'"):
            self.read(table, seen=frame.where(~((frame.index == "m01")[:, None] & (frame.columns == "q2"))))

    def test_strata_that_name_no_example(self, given):
        _, table, _, _, _, seen = given
        with pytest.raises(InputError, match="`strata` names no example of arrays"):
            self.read(table, seen=seen, strata={"Q1": "a"})


@pytest.mark.parametrize(
    "values",
    [[2023.1], [2023.9], [202310], [np.float64(2023.1)], [np.int64(2023)], [True], ["2023.1"], ["2023-09", 2023.1]],
)
def test_numbers_are_no_dates(values):
    with pytest.raises(InputError, match=r"`cutoffs`: .* is not a date but a number.*write dates as text, \"2023-10\""):
        read_dates(values, [f"m{i}" for i in range(len(values))], what="cutoffs")


def test_text_with_dots_is_read_where_it_was_no_number():
    told = read_dates(["2023.1", "2023.10"], "ab", what="dates")
    assert told.astype(str).tolist() == ["2023-01-31", "2023-10-31"]
    assert read_dates(["2023.9"], "a", what="dates").astype(str).tolist() == ["2023-09-30"]
    assert read_dates(["2023.1.5"], "a", what="dates").astype(str).tolist() == ["2023-01-05"]


def test_what_pandas_puts_for_a_gap_is_unknown():
    pandas = pytest.importorskip("pandas")
    right, cutoffs, _ = small(np.random.default_rng(0))
    board = read_board(
        right, dates=[pandas.NA, *DATES[1:]], seen=None, strata=None, families=None,
        cutoffs={f"model {i}": c for i, c in enumerate([pandas.NA, *cutoffs[1:]])},
    )  # fmt: skip
    assert (board.n_undated, board.known.tolist()) == (1, [False, *[True] * 11])


@pytest.mark.parametrize(
    ("time", "fine"),
    [("T03:04", True), ("T03:04:05", True), (" 03:04:05.678", True), ("T03:04:05Z", True), ("T03:04+02:00", True),
     (" 03:04:05 UTC", True), ("T03:04:05.1-0530", True), ("T03:04 or so", False), ("T03:04:xx", False),
     ("T03:99", False), ("T03:04+2", False), ("T03:04:05ZZ", False)],
)  # fmt: skip
def test_times(time, fine):
    if fine:
        assert read_dates([f"2023-01-02{time}"], "a", what="dates").astype(str).tolist() == ["2023-01-02"]
        return
    with pytest.raises(InputError, match="is not a date"):
        read_dates([f"2023-01-02{time}"], "a", what="dates")


def test_strata_of_several_columns_are_tuples():
    right, _, seen = small(np.random.default_rng(0))
    even = np.arange(60) % 2 == 0

    def read(*columns):
        b = read_board(right, dates=None, cutoffs=None, seen=seen, strata=[list(c) for c in columns], families=None)
        return b.strata_names

    assert read(np.where(even, "a b", "a"), np.where(even, "c", "b c")) == ("'a' 'b c'", "'a b' 'c'")
    assert read([None if e else "?" for e in even], ["x"] * 60) == ("? 'x'", "'?' 'x'")
    assert read(np.where(even, "a", "b"), ["x"] * 60) == ("a x", "b x")
    assert read([None if e else "b" for e in even], ["x"] * 60) == ("? x", "b x")


def test_so_few_tables_do_not_show_that_nothing_can_move():
    right, _, seen = small(np.random.default_rng(0))
    found = exposure(right, seen=seen, n_resamples=1)
    assert (found.verdict, found.smallest_p_margins) == ("cannot tell", 0.5)
    told = _line(found)
    assert "With 1 table the margins test cannot go below 0.5; draw more (--resamples 399)." in told
    assert "can move" not in told
