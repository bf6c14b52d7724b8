"""Leak evidence: what it says, what it refuses, and that it comes back whole."""

import json
import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.independence.leak import LeakEvidence, check_references, weigh_leak
from heldout.independence.summary.words import leak_notes
from heldout.statistics import detectable_leak, leak_scores, leak_test, seen_examples
from heldout.statistics.leak import MARGIN_CLIP


def rng_of(seed):
    return np.random.default_rng(seed)


N = 400


def columns(seed=0, n_seen=0, k=2):
    rng = rng_of(seed)
    hard = 2.0 + 2.0 * rng.normal(size=2 * N)
    x, *references = hard + rng.normal(size=(k + 1, 2 * N))
    x[:n_seen] += 4.0
    return x, np.array(references), rng.integers(0, 2, 2 * N)


def weighed(seed=0, n_seen=0, **options):
    x, references, classes = columns(seed, n_seen)
    return weigh_leak(
        x[:N],
        x[N:],
        references_test=references[:, :N],
        references_control=references[:, N:],
        reference_names=["a.onnx", "b.onnx"],
        classes_test=classes[:N],
        classes_control=classes[N:],
        **{"clip": MARGIN_CLIP, "kind": "margin", "n_resamples": 999, "rng": rng_of(1), **options},
    )


def test_it_is_the_leak_test_with_its_list_and_its_power():
    x, references, classes = columns(n_seen=60)
    sides = {"classes_test": classes[:N], "classes_control": classes[N:]}
    found = weighed(n_seen=60)
    alone = leak_test(
        x[:N],
        x[N:],
        references_test=references[:, :N],
        references_control=references[:, N:],
        **sides,
        clip=MARGIN_CLIP,
        n_resamples=999,
        rng=rng_of(1),
    )
    assert found.test == alone
    assert found.p_value == alone.p_value == 0.001
    scores = leak_scores(x, references, classes=classes, clip=MARGIN_CLIP)
    listed = seen_examples(scores.log_ratios[:N], scores.log_ratios[N:], **sides)
    assert np.array_equal(found.seen.p_values, listed.p_values)
    assert (found.seen.listed < 60).mean() > 0.8
    assert found.seen.n_listed == listed.n_listed > 20
    assert found.spoke.difference > 0
    assert len(found.scores.residuals) == 2 * N
    # the classes are nearly as common in both sets: sizes are worth nearly what they are
    power = detectable_leak(found.scores, n_test=N, n_control=N, classes=classes)
    assert [a.share for a in found.detectable] == pytest.approx([b.share for b in power], rel=0.02)


def test_right_or_wrong_is_known():
    x, _, _ = columns()
    assert weigh_leak(*np.split((x > 1) * 1.0, 2), kind="correct", rng=rng_of(0), n_resamples=99).two_valued
    assert not weighed().two_valued


def test_histograms_hold_every_residual():
    found = weighed(n_seen=60)
    r = found.residuals
    assert (sum(r.test), sum(r.control), len(r.edges)) == (N, N, len(r.test) + 1)
    assert (r.mean_test, r.mean_control) == (found.scores.residuals[:N].mean(), found.scores.residuals[N:].mean())


def test_where_the_mean_counts_alone_so_it_does_in_what_could_be_found():
    groups = np.repeat(np.arange(N // 4), 4)
    found = weighed(n_seen=60, groups_test=groups, n_resamples=199)
    assert not found.test.tail_counts
    alone = {one.pull: one.share for one in found.detectable}
    both = weighed(n_seen=60, groups_test=groups, groups_control=groups, n_resamples=199)
    assert both.test.tail_counts
    sizes = {"n_test": 100.0, "n_control": 100.0, "groups": np.repeat(np.arange(N // 2), 4)}
    tail = {one.pull: one.share for one in detectable_leak(both.scores, **sizes)}
    mean = {one.pull: one.share for one in detectable_leak(both.scores, **sizes, tail=False)}
    assert tail[1.0] < mean[1.0]  # the tail is what sees a few examples that moved far
    assert alone[1.0] > 0.0
    assert found.seen.other_sizes


# ---------------------------------------------------------------- the other way round


def moved(test, **options):
    """Residuals as they are, without references, so that only what is done to the test set counts."""
    control = rng_of(1).normal(size=1000)
    return weigh_leak(test, control, kind="score", rng=rng_of(2), n_resamples=999, **options)


def test_a_harder_test_set_is_a_warning():
    same = rng_of(0).normal(size=1000)
    assert leak_notes(moved(same)) == ()
    found = moved(same - 0.5)
    assert found.p_value > 0.5
    (told,) = leak_notes(found)
    assert "reference" not in told
    assert leak_notes(moved(same - 0.5, alternative="two-sided")) == ()  # there it is the verdict
    assert leak_notes(moved(same - 0.5, level=0.001)) == ()  # a half of 0.001 cannot be reached
    x, references, _ = columns()
    x[:N] -= 1.0
    given = weigh_leak(
        x[:N], x[N:], references_test=references[:, :N], references_control=references[:, N:],
        reference_names=["a", "b"], rng=rng_of(0), n_resamples=999,
    )  # fmt: skip
    (told,) = leak_notes(given)
    assert "a reference knows the test set" in told


def test_the_warning_names_the_statistic_and_does_not_contradict_the_verdict():
    """The test set higher on average, with no upper tail: its mean says easier, its tail harder."""
    rng = rng_of(0)
    control = np.where(np.arange(1000) < 150, 10.0, 0.0) + 0.1 * rng.normal(size=1000)
    test = 2.0 + 0.1 * rng.normal(size=1000)
    found = weigh_leak(test, control, kind="score", rng=rng_of(2), n_resamples=999)
    assert found.test.mean.difference > 0 > found.test.sparse.difference
    assert found.p_value <= 0.05
    (told,) = leak_notes(found)
    assert "upper tail" in told
    assert "no leak" not in told


def test_nothing_can_be_detected():
    found = weigh_leak(np.arange(6.0), np.arange(6.0), kind="score", rng=rng_of(0), n_resamples=99, level=1e-6)
    assert all(math.isnan(leak.share) for leak in found.detectable)
    assert [leak["share"] for leak in found.to_dict()["detectable"]] == [None, None, None]
    json.dumps(found.to_dict(), allow_nan=False)


def test_groups_count_once():
    groups = np.arange(N) // 4
    found = weighed(n_seen=60, groups_test=groups, groups_control=groups)
    assert found.test.mean.n_groups_test == 100
    assert found.detectable[0].share > weighed(n_seen=60).detectable[0].share  # fewer independent units


@pytest.mark.parametrize("groups", [None, np.arange(N) // 4])
def test_it_comes_back_to_the_last_bit(tmp_path, groups):
    found = weighed(n_seen=60, groups_test=groups, groups_control=groups)
    found.scores.gains  # noqa: B018 (computed once and kept; it must not get into the record)
    found.save(tmp_path / "leak")
    again = LeakEvidence.load(tmp_path / "leak")
    assert again == found
    assert again.to_dict() == found.to_dict()
    assert np.array_equal(again.scores.sparse, found.scores.sparse)


# ---------------------------------------------------------------- references that cannot serve


def test_honest_references_pass():
    x, references, _ = columns()
    check_references(x, references, ["a", "b"])
    check_references(x, rng_of(5).normal(size=(1, 2 * N)), ["noise"])  # useless, not wrong
    check_references((x > 1).astype(float), (references > 1).astype(float), ["a", "b"])


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (lambda x: x, "the reference b scores every example as the model itself does"),
        (lambda x: 3.0 * x - 5.0, "as the model itself does"),
        (lambda x: x + 1e-7 * rng_of(0).normal(size=len(x)), "as the model itself does"),
        (lambda x: np.full(len(x), 0.25), "the reference b scores every example 0.25"),
        (lambda x: -x, "the reference b points the other way"),
        (lambda x: -np.exp(x) + 5.0 * rng_of(0).normal(size=len(x)), "points the other way"),
        (lambda x: np.where(np.arange(len(x)) == 3, np.inf, x), "the reference b has 1 scores that are not finite"),
    ],
)
def test_references_that_cannot_serve(turn, message):
    x, references, _ = columns()
    with pytest.raises(InputError, match=message):
        check_references(x, np.stack([references[0], turn(x)]), ["a", "b"])


def test_a_shuffled_or_weak_reference_is_seldom_refused():  # 0.001 of those that know nothing
    rng = rng_of(3)
    x = rng.standard_t(2, size=200)
    refused = 0
    for _ in range(1000):
        try:
            check_references(x, rng.standard_t(2, size=(1, 200)), ["noise"])
        except InputError:
            refused += 1
    assert refused <= 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference_names": ["a.onnx"]}, "1 `reference_names` for 2 references"),
        ({"references_control": None}, "on both sets or on neither"),
        ({"references_control": np.zeros((1, N))}, r"\(2, 400\) and `references_control` \(1, 400\)"),
    ],
)
def test_bad_input(change, message):
    x, references, _ = columns()
    given = {
        "references_test": references[:, :N],
        "references_control": references[:, N:],
        "reference_names": ["a.onnx", "b.onnx"],
        **change,
    }
    with pytest.raises(InputError, match=message):
        weigh_leak(x[:N], x[N:], **given, rng=rng_of(0), n_resamples=9)
