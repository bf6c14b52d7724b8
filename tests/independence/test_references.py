"""Audits against references: margins, what is refused, which test is the verdict; real models, small ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from heldout import AuditResult, InputError, Translations, audit, audit_many
from heldout.images import LabelledImages, Pad, Upsample, from_arrays
from heldout.independence.leak import check_references
from heldout.independence.margins import label_margins
from heldout.independence.references import untouched_answers
from heldout.independence.rounds import Rounds
from heldout.independence.untouched import CENTRE, ORIGINAL, chosen_pictures, original_answers
from heldout.scorers import FunctionScorer, OnnxScorer, as_scorer
from heldout.statistics.leak import MARGIN_CLIP, leak_test
from heldout.summary import p_text

ORBIT = Translations(1)


def odds(row: np.ndarray, label: int) -> float:
    """The margin of one row of logits, the long way."""
    others = math.fsum(math.exp(float(v)) for i, v in enumerate(row) if i != label)
    return min(max(float(row[label]) - math.log(others), MARGIN_CLIP[0]), MARGIN_CLIP[1])


def margins(model: Any, images: LabelledImages) -> np.ndarray:
    """What a model's margins are, as an audit sees them; one batch at a time."""
    scorer = as_scorer(model)
    rows = np.arange(len(images))

    class Look:
        originals = None

    found = untouched_answers(
        scorer, {"test": (images, rows)}, {"test": Look()}, batch_size=scorer.batch_size, label=""
    )
    assert found.pictures == CENTRE
    return found.margins()["test"]


# Margins


def test_margins_the_long_way(rng):
    logits, labels = rng.normal(0, 3, (200, 5)).astype(np.float32), rng.integers(0, 5, 200)
    expected = [odds(row, y) for row, y in zip(logits, labels, strict=True)]
    assert label_margins(logits, labels) == pytest.approx(expected, abs=1e-12)
    shifted = logits.astype(np.float64) + rng.normal(0, 9, (200, 1))  # log-probabilities, or any other constant
    assert label_margins(shifted, labels) == pytest.approx(expected, abs=1e-9)
    assert label_margins(1000.0 * logits, labels).min() == MARGIN_CLIP[0]
    assert label_margins(1000.0 * logits, labels).max() == MARGIN_CLIP[1]


def test_an_absent_class_has_no_part_in_the_odds():
    assert label_margins([[1.0, 7.0, 0.0]], [0], absent=[1]) == pytest.approx([1.0])
    assert label_margins([[1.0, 7.0, 0.0]], [1], absent=[1]).tolist() == [MARGIN_CLIP[0]]


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    loaded = load_digits()
    order = np.random.default_rng(0).permutation(len(loaded.target))
    return loaded.images[order].astype(np.float32), loaded.target[order]


def pictures(x: np.ndarray, y: np.ndarray) -> LabelledImages:
    return LabelledImages(from_arrays(x, y), Pad("zero"), scale=1.0)


@pytest.mark.parametrize("make", [lambda: LogisticRegression(max_iter=500), GaussianNB, KNeighborsClassifier])
@pytest.mark.parametrize("classes", [10, 2])
def test_estimators_give_the_odds_of_their_probabilities(digits, make, classes):
    x, y = (part[digits[1] < classes] for part in digits)
    estimator = make().fit(x[:200].reshape(200, -1), y[:200])
    found = margins(estimator, pictures(x[200:300], y[200:300]))
    p = estimator.predict_proba(x[200:300].reshape(100, -1))
    own = p[np.arange(100), y[200:300]]
    with np.errstate(divide="ignore"):
        expected = np.clip(np.log(own) - np.log(p.sum(axis=1) - own), *MARGIN_CLIP)
    assert np.isfinite(found).all()  # probabilities of 0 and 1 too
    near = np.abs(expected) < 6  # beyond, one less a probability in float32 is rounding
    assert near.any() or classes == 2
    assert found[near] == pytest.approx(expected[near], abs=1e-3)
    assert (found[~near] * np.sign(expected[~near]) >= 4.9).all()


def test_a_class_that_an_estimator_never_saw(digits):
    x, y = digits
    known = np.flatnonzero(y != 4)[:200]
    estimator = LogisticRegression(max_iter=500).fit(x[known].reshape(200, -1), y[known])
    alone, together = (margins(as_scorer(estimator, batch_size=size), pictures(x[:100], y[:100])) for size in (1, 100))
    assert alone == pytest.approx(together, abs=1e-4)  # what stands for it depends on the batch, the odds do not
    assert set(together[y[:100] == 4]) == {MARGIN_CLIP[0]}


def test_probabilities_are_taken_for_what_they_are(rng, digits):
    x, y = digits
    weights = rng.normal(0, 0.05, (64, 10))

    def logits(batch: np.ndarray) -> np.ndarray:
        return batch.reshape(len(batch), -1) @ weights

    def probabilities(batch: np.ndarray) -> np.ndarray:
        e = np.exp(logits(batch) - logits(batch).max(axis=1, keepdims=True))
        return (e / e.sum(axis=1, keepdims=True)).astype(np.float32)

    images = pictures(x[:80], y[:80])
    assert margins(probabilities, images) == pytest.approx(margins(logits, images), abs=1e-4)

    def one_row_sums_to_one(batch: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(batch))[:, None] == 0, 0.1, logits(batch))

    mixed = margins(FunctionScorer(one_row_sums_to_one, batch_size=80), images)
    assert mixed[1:] == pytest.approx(margins(logits, images)[1:], abs=1e-9)
    assert mixed[0] == pytest.approx(-math.log(9.0))


def test_untouched_pictures_are_chosen_on_both_sets_together():
    right, wrong = np.zeros(10), np.ones(10)
    assert chosen_pictures({"test": right, "control": wrong}, {"test": wrong, "control": right}) == ORIGINAL
    assert chosen_pictures({"test": right, "control": wrong}, {"test": wrong, "control": wrong}) == CENTRE
    assert chosen_pictures({"test": wrong, "control": wrong}, {"test": right, "control": None}) == CENTRE


def test_originals_and_the_centre_of_an_enlarging_frame(torus_images, honest_onnx):
    """The model's own choice of untouched pictures is that of the error rate; a reference's is its own."""
    images = torus_images(60).with_frame(Upsample(40, crop=32))
    scorer = OnnxScorer(honest_onnx)
    found = original_answers(scorer, images, np.arange(60), batch_size=256, label="")
    assert not isinstance(found, str)
    whole = scorer.logits(np.stack([torus_images(60).canvas(i, 0, scorer.layout) for i in range(60)]))
    expected = [odds(row, y) for row, y in zip(whole, images.labels, strict=True)]
    assert found.margins == pytest.approx(expected, abs=1e-4)


# The audit


@pytest.fixture(scope="module")
def with_reference(torus_images, honest_onnx, leaked_onnx) -> AuditResult:
    return audit(
        leaked_onnx, torus_images(300), control=torus_images(300, "control"), orbit=ORBIT, references=[honest_onnx],
        n_resamples=999,
    )  # fmt: skip


@pytest.fixture(scope="module")
def without(torus_images, leaked_onnx) -> AuditResult:
    return audit(leaked_onnx, torus_images(300), control=torus_images(300, "control"), orbit=ORBIT, n_resamples=999)


def test_references_change_nothing_else(with_reference, without):
    """Same seed, same numbers: the leak test has a generator of its own."""
    a, b = with_reference.evidence, without.evidence
    assert a.control.statistic == b.control.statistic
    assert a.control.error_rate == b.control.error_rate
    assert a.control.detectable_error == b.control.detectable_error
    assert (a.log_p_values, a.intervals, a.detectable) == (b.log_p_values, b.intervals, b.detectable)
    np.testing.assert_array_equal(with_reference.T, without.T)
    assert (with_reference.evaluations, with_reference.control_evaluations) == (
        without.evaluations, without.control_evaluations,
    )  # fmt: skip
    assert with_reference.reference_evaluations == 2 * 600
    assert without.reference_evaluations == 0


def test_the_verdict_is_the_leak_tests(with_reference, without, torus_images, honest_onnx, leaked_onnx):
    """All of it but the random splits, from the pictures themselves."""
    leak, control = with_reference.leak, with_reference.evidence.control
    sets = torus_images(300), torus_images(300, "control")
    scores = {}
    for name, path in (("model", leaked_onnx), ("reference", honest_onnx)):
        scorer = OnnxScorer(path)
        for part, images in zip(("test", "control"), sets, strict=True):
            logits = scorer.logits(np.stack([images.canvas(i, 0, scorer.layout) for i in range(300)]))
            scores[name, part] = np.array([odds(row, y) for row, y in zip(logits, images.labels, strict=True)])
    expected = leak_test(
        scores["model", "test"], scores["model", "control"], references_test=scores["reference", "test"][None],
        references_control=scores["reference", "control"][None], classes_test=sets[0].labels,
        classes_control=sets[1].labels, rng=np.random.default_rng(5), n_resamples=999,
    )  # fmt: skip
    assert leak.test.mean.difference == pytest.approx(expected.mean.difference, abs=1e-4)
    assert leak.test.sparse.difference == pytest.approx(expected.sparse.difference, abs=1e-4)
    assert leak.test.variance_removed == pytest.approx(expected.variance_removed, abs=1e-4)
    assert leak.p_value == pytest.approx(expected.p_value, abs=0.02)
    assert with_reference.p_value == control.p_value == leak.p_value
    assert with_reference.evidence.log_e_value != without.evidence.log_e_value
    assert without.p_value == 2 * min(control.statistic.p_value, control.error_rate.p_value)
    assert with_reference.evidence.verdict_by == "references"
    assert without.evidence.verdict_by == "T and error rate"


def test_the_text_and_the_json_say_so(with_reference, without):
    printed = dict(with_reference.summary().lines)
    assert "honest" in printed["References"]
    assert "1,200" in str(with_reference)
    assert f"p = {p_text(with_reference.evidence.control.statistic.p_value)}" in printed["  T"]
    assert "References" not in dict(without.summary().lines)
    plain = json.loads(json.dumps(with_reference.to_dict(), allow_nan=False))
    assert plain["verdict_by"] == "references"
    assert plain["references"] == ["honest"]
    assert plain["p_value"] == plain["control"]["leak"]["p_value"] == plain["control"]["p_value"]
    assert plain["control"]["p_error_rate"] == without.evidence.control.error_rate.p_value
    assert len(plain["reference_digests"]) == 1
    assert without.to_dict()["control"]["leak"] is None


def test_saved_and_loaded_to_the_last_bit(with_reference, tmp_path):
    with_reference.save(tmp_path / "result")
    back = AuditResult.load(tmp_path / "result")
    assert back == with_reference
    assert back.to_dict() == with_reference.to_dict()
    assert len(back.seen_pictures) > 0


def test_the_most_suspicious_pictures_are_those_pictures(with_reference, torus_images):
    images, leak = torus_images(300), with_reference.leak
    for shown, i in zip(with_reference.seen_pictures, leak.seen.order, strict=False):
        assert shown.id == images.ids[i]
        assert shown.label == images.labels[i]
        assert shown.margin == leak.scores.scores[i]
        np.testing.assert_array_equal(shown.picture.squeeze(), images.place(int(i), 0).squeeze())


def test_several_models_are_averaged(torus_images, honest_onnx, leaked_onnx, rng):
    sets = torus_images(80), torus_images(80, "control")
    weights = rng.normal(0, 0.02, (1024, 10))
    noisy = FunctionScorer(
        lambda batch: OnnxScorer(honest_onnx).logits(batch) + batch.reshape(len(batch), -1) @ weights, name="noisy"
    )
    result = audit_many(
        [honest_onnx, leaked_onnx], sets[0], control=sets[1], orbit=ORBIT, references=[noisy], n_resamples=199
    )  # fmt: skip
    expected = [np.mean([margins(model, images) for model in (honest_onnx, leaked_onnx)], axis=0) for images in sets]
    assert result.leak.scores.scores == pytest.approx(np.concatenate(expected), abs=1e-4)
    assert result.reference_evaluations == 3 * 160


def test_one_sided_and_planned_audits(torus_images, honest_onnx, leaked_onnx):
    """The leaked model as a reference for the honest one makes the test set look hard, which nobody asked for."""
    options: dict[str, Any] = {
        "control": torus_images(200, "control"), "orbit": ORBIT, "references": [leaked_onnx], "n_resamples": 499,
        "level": 0.01,
    }  # fmt: skip
    both = audit(honest_onnx, torus_images(200), **options, alternative="two-sided")
    assert both.leak.test.mean.difference < 0
    assert both.verdict_alternative == both.alternative == "two-sided"
    assert both.notes == []
    assert both.outcome == "harder"
    one = audit(honest_onnx, torus_images(200), **options)
    assert (one.verdict_alternative, one.alternative) == ("greater", "two-sided")
    assert one.leak.test.mean == replace(both.leak.test.mean, alternative="greater")
    assert one.outcome == "no evidence"
    assert one.p_value == one.leak.test.p_greater > 0.5
    assert one.summary().warnings == tuple(one.notes)
    assert len(one.notes) == 1
    plain = one.to_dict()
    assert (plain["verdict_alternative"], plain["alternative"]) == ("greater", "two-sided")
    assert plain["control"]["leak"]["alternative"] == "greater"


@pytest.mark.slow
def test_a_leak_that_only_references_see(digits):
    """Forests on the digits: 30 of 400 test pictures in the training data, and an honest twin."""
    x, y = digits
    flat = x.reshape(len(x), -1)
    rest = np.arange(1200, len(x))

    def forest(seed: int, rows: np.ndarray) -> RandomForestClassifier:
        return RandomForestClassifier(40, random_state=seed).fit(flat[rows], y[rows])

    references = [forest(seed, rest[50 * seed : 50 * seed + 300]) for seed in range(3)]
    sets = pictures(x[:400], y[:400]), pictures(x[400:1200], y[400:1200])
    found = {}
    for name, leaked in (("honest", 0), ("leaked", 30)):
        model = forest(9, np.concatenate([rest[:350], np.arange(leaked)]))
        found[name] = audit(model, sets[0], control=sets[1], orbit=ORBIT, references=references, n_resamples=499)
    leaked = found["leaked"].evidence.control
    assert found["honest"].outcome == "no evidence"
    assert found["leaked"].outcome == "easier"
    assert found["leaked"].p_value <= 0.01
    assert min(leaked.statistic.p_value, leaked.error_rate.p_value) > 0.05
    assert leaked.leak.test.variance_removed > 0.5
    # Of the thirty most suspicious pictures 2.25 would be leaked ones by chance.
    assert np.sum(leaked.leak.seen.order[:30] < 30) >= 10


def test_resume_may_add_references(torus_images, honest_onnx, leaked_onnx, tmp_path, without, monkeypatch):
    sets: dict[str, Any] = {"control": torus_images(300, "control"), "orbit": ORBIT, "n_resamples": 999}

    def stop(self: Rounds, *options: Any) -> None:
        raise KeyboardInterrupt

    run, runs = Rounds.run, []

    def run_once(self: Rounds, *options: Any) -> None:
        if runs:
            stop(self)
        runs.append(self)
        run(self, *options)

    monkeypatch.setattr(Rounds, "run", run_once)
    with pytest.raises(KeyboardInterrupt):
        audit(leaked_onnx, torus_images(300), **sets, checkpoint=tmp_path)
    monkeypatch.setattr(Rounds, "run", run)
    assert list(tmp_path.glob("*.npz"))
    result = audit(leaked_onnx, torus_images(300), **sets, checkpoint=tmp_path, resume=True, references=[honest_onnx])
    np.testing.assert_array_equal(result.T, without.T)
    assert result.evidence.verdict_by == "references"


# Bad input, all of it before the long run


def guess(batch: np.ndarray) -> np.ndarray:
    """Ten classes, and nothing to do with the picture's label."""
    return np.stack([np.sin(batch.sum((1, 2, 3)) * (7 + i)) for i in range(10)], axis=1)


def nine(batch: np.ndarray) -> np.ndarray:
    return guess(batch)[:, :9]


def fails(batch: np.ndarray) -> np.ndarray:
    raise ValueError("expected 3 channels")


def test_bad_references_are_refused_before_the_long_run(torus_images, honest_onnx, leaked_onnx, monkeypatch):
    def never(self: Rounds, *options: Any) -> None:
        raise AssertionError("the long run began")

    monkeypatch.setattr(Rounds, "run", never)
    images, control = torus_images(120), torus_images(120, "control")
    honest = OnnxScorer(honest_onnx)

    def refused(*references: Any, model: Any = honest_onnx, **options: Any) -> str:
        with pytest.raises(InputError) as stop:
            audit(model, images, orbit=ORBIT, references=references, **{"control": control, **options})
        return str(stop.value)

    assert "need a `control`" in refused(leaked_onnx, control=None)
    assert "the reference honest is the audited model itself" in refused(leaked_onnx, honest_onnx)
    copy = FunctionScorer(lambda batch: 1.0 + honest.logits(batch), name="copy")
    assert "the reference copy scores every example as the model itself does" in refused(copy)
    for factor in (0.5, 1.5, 4.0):  # margins change their order with the scale of logits, answers do not
        scaled = FunctionScorer(lambda batch, by=factor: by * honest.logits(batch), name="scaled")
        assert "the reference scaled scores every example as the model itself does" in refused(scaled)
    assert "are the same model; give it once" in refused(leaked_onnx, leaked_onnx)
    weak = refused(FunctionScorer(guess, name="guess"))
    assert "the untouched accuracy of the reference guess is" in weak
    assert "240 pictures of test set and control" in weak
    assert "the reference nine: the model knows 9 classes" in refused(FunctionScorer(nine, name="nine"))
    small = FunctionScorer(guess, name="small")
    small.input_size = (28, 28)
    assert "the reference small: the model wants 28 x 28 pixels, but gets 32 x 32" in refused(small)
    assert "the reference bad: the model bad fails on a batch of shape" in refused(FunctionScorer(fails, name="bad"))


@pytest.mark.parametrize("strength", [1.5, 8.0])  # of the true label: many wrong answers, and next to none
def test_one_model_on_another_scale(rng, strength):
    """Logits times a constant are the same model, whatever that does to clipped margins; another model is not."""
    n, labels = 1000, rng.integers(0, 10, 1000)
    hard = rng.gamma(2.0, 1.0, n)

    def logits() -> np.ndarray:
        found = rng.normal(size=(n, 10))
        found[np.arange(n), labels] += strength * hard / 2 + (strength > 5) * 5
        return found

    def excess(found: np.ndarray) -> np.ndarray:
        return found.max(axis=1) - found[np.arange(n), labels]

    own, other = logits(), logits()
    for factor in (0.8, 1.5):
        same = factor * own
        given = label_margins(own, labels), label_margins(same, labels)[None]
        with pytest.raises(InputError, match="as the model itself does"):
            check_references(*given, ["same"], excess=excess(own), references_excess=excess(same)[None])
    check_references(
        label_margins(own, labels),
        label_margins(other, labels)[None],
        ["other"],
        excess=excess(own),
        references_excess=excess(other)[None],
    )


def test_functions_of_one_name_are_told_apart_by_their_answers(torus_images, honest_onnx, leaked_onnx):
    """Nothing but its name is known of a function: two lambdas may well differ."""
    models = [OnnxScorer(path) for path in (leaked_onnx, honest_onnx)]
    model, reference = (FunctionScorer(one.logits, name="logits") for one in models)
    assert model.digest() == reference.digest()
    options: dict[str, Any] = {"orbit": ORBIT, "control": torus_images(60, "control"), "n_resamples": 99}
    result = audit(model, torus_images(60), references=[reference], **options)
    assert result.references == ("logits",)
    with pytest.raises(InputError, match="is the audited model itself"):
        audit(model, torus_images(60), references=[model], **options)


def test_the_least_resamples(torus_images, honest_onnx, leaked_onnx):
    """With references the verdict is one p-value, without it is twice the smaller of two."""
    options: dict[str, Any] = {"orbit": ORBIT, "control": torus_images(40, "control"), "n_resamples": 60, "level": 0.02}
    with pytest.raises(InputError, match="must be at least 100"):
        audit(honest_onnx, torus_images(40), **options)
    audit(honest_onnx, torus_images(40), **options, references=[leaked_onnx])
    with pytest.raises(InputError, match="must be at least 50"):
        audit(honest_onnx, torus_images(40), references=[leaked_onnx], **{**options, "n_resamples": 40})
