"""The audit from end to end on the demo's pictures and models."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout import AuditResult, InputError, Translations, audit, audit_many, score_map_statistics
from heldout.images import Crop, LabelledImages, Wrap, from_arrays
from heldout.independence.curves import curve_sizes, subset_curve
from heldout.independence.evidence import Examples, weigh

KEYS = {
    "test_error", "adversarial_error", "adversarial_estimate", "statistic", "p_value", "p_values", "log_p_values",
    "control", "intervals", "detectable_effect", "attack_success", "counts", "n_examples", "n_models", "evaluations",
    "evaluations_per_image", "orbit", "radius", "rule", "alternative", "seed", "version", "data_digest", "verdict",
}  # fmt: skip


@pytest.fixture(scope="module")
def honest(torus_images, honest_onnx) -> AuditResult:
    return audit(honest_onnx, torus_images(300), orbit=Translations(2), control=torus_images(300, "control"))


@pytest.fixture(scope="module")
def alone(torus_images, honest_onnx) -> AuditResult:
    return audit(honest_onnx, torus_images(300), orbit=Translations(2))


def test_numbers_fit_together(honest):
    e, test = honest.evidence, honest.test
    assert e.test_error == np.mean(test.kinds == 2)
    assert e.adversarial_error == np.mean(test.kinds != 0)
    assert e.adversarial_estimate == pytest.approx(e.test_error + np.mean(honest.T), abs=1e-15)
    assert e.adversarial_error == pytest.approx(e.test_error + (1 - e.test_error) * test.attack_success)
    weights = np.where(test.kinds == 0, 0.0, test.weights)[0]
    assert pytest.approx(weights - (test.kinds[0] == 2), abs=1e-15) == honest.T
    assert sum(test.counts.values()) == 300
    moved = np.abs(test.moves).max(axis=2)
    assert ((moved > 0) == (test.kinds == 1)).all()
    assert moved.max() <= 2
    # Section 2.2: the adversarial estimate never has the larger variance under H, in expectation.
    assert e.adversarial_estimate_variance <= e.test_error_variance


def test_json_has_every_promised_key(honest, alone):
    for result in (honest, alone):
        plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert plain.keys() >= KEYS
        assert plain["p_values"].keys() == {"bernstein", "bernstein_uncapped", "intervals", "betting", "mixture"}
        assert plain["counts"].keys() == {"untouched", "adversarial", "wrong"}
    assert alone.to_dict()["control"] is None
    assert honest.to_dict()["control"].keys() >= {
        "p_value", "p_greater", "p_two_sided", "p_error_rate", "invariance_p_value", "difference", "interval",
        "n_examples",
    }  # fmt: skip


def test_which_p_is_the_verdicts(honest, alone):
    control = honest.evidence.control
    assert honest.p_value == min(1.0, 2 * min(control.statistic.p_two_sided, control.error_rate.p_two_sided))
    assert alone.p_value == math.exp(alone.evidence.log_p_values["betting"])
    assert (alone.ruling.rests_on, honest.ruling.rests_on) == ("betting", "T and error rate")


def test_a_leaked_model_is_found(torus_images, leaked_onnx):
    result = audit(leaked_onnx, torus_images(300), orbit=Translations(2), control=torus_images(300, "control"))
    assert result.p_value <= 1e-3
    assert result.outcome == "easier"
    assert result.evidence.control.statistic.difference > 0


def test_control_side_of_the_error_rate():
    """'Greater' must mean that the test set is the easier one, on T and on the error rate alike."""
    rng = np.random.default_rng(0)

    def examples(error: float) -> Examples:
        kinds = np.where(rng.random((1, 500)) < error, 2, 0).astype(np.int8)
        zeros = np.zeros((1, 500))
        return Examples(
            statistics=zeros, weights=np.where(kinds == 2, 1.0, np.nan), kinds=kinds,
            moves=np.zeros((1, 500, 2), np.int16), moved_losses=(kinds == 2) * 1.0, moved_scores=zeros,
            labels=np.zeros(500, np.int64), ids=tuple(map(str, range(500))), untouched_losses=(kinds == 2) * 1.0,
        )  # fmt: skip

    easy, hard = examples(0.1), examples(0.3)
    options = {"orbit": Translations(1), "rule": "strongest", "alternative": "greater", "tolerance": 0.0}
    overfitted = weigh(easy, hard, **options, rng=rng).control
    assert overfitted.error_rate.p_value <= 1e-3
    assert overfitted.to_dict()["error_difference"] == pytest.approx(-0.2, abs=0.06)
    assert weigh(hard, easy, **options, rng=rng).control.error_rate.p_value > 0.9
    one, two = (weigh(easy, hard, **options, rng=np.random.default_rng(1), n_jobs=n) for n in (1, 2))
    assert one == two, "whoever weighs the permutations"


@pytest.mark.slow
def test_level_of_the_verdict_against_a_control(rng):
    """2 min(p_T, p_error): test and control from one law, skewed, not neutral, the two statistics dependent."""

    def draw(n: int) -> Examples:
        labels = rng.integers(0, 3, n)
        kinds = np.where(rng.random(n) < 0.1 + 0.1 * labels, 2, np.where(rng.random(n) < 0.2, 1, 0)).astype(np.int8)
        weights = rng.choice([0.2, 1 / 3, 0.5], n)
        statistics = np.where(kinds == 2, weights - 1.0, np.where(kinds == 1, weights, 0.0))
        return Examples(
            statistics=statistics[None], weights=weights[None], kinds=kinds[None],
            moves=np.zeros((1, n, 2), np.int16), moved_losses=(kinds[None] > 0) * 1.0, moved_scores=weights[None],
            labels=labels, ids=tuple(map(str, range(n))), untouched_losses=(kinds[None] == 2) * 1.0,
        )  # fmt: skip

    options = {"orbit": Translations(1), "rule": "strongest", "alternative": "two-sided", "tolerance": 0.0}
    p = [weigh(draw(150), draw(60), **options, rng=rng, n_resamples=199).p_value for _ in range(300)]
    assert binomtest(sum(v <= 0.05 for v in p), 300, 0.05, alternative="greater").pvalue > 1e-6
    assert binomtest(sum(v <= 0.5 for v in p), 300, 0.5, alternative="greater").pvalue > 1e-6


def test_save_and_load_to_the_last_bit(honest, alone, tmp_path):
    for result in (honest, alone):
        result.save(tmp_path / "result")
        again = AuditResult.load(tmp_path / "result")
        assert again == result
        assert np.array_equal(again.exhibits[0].moved, result.exhibits[0].moved)
        assert json.loads((tmp_path / "result.json").read_text()) == result.to_dict()
    (tmp_path / "result.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a saved result"):
        AuditResult.load(tmp_path / "result")


def test_equal_seeds_agree_and_the_batch_size_does_not_matter(torus_images, honest_onnx, alone):
    again = audit(honest_onnx, torus_images(300), orbit=Translations(2), batch_size=64)
    assert np.array_equal(again.T, alone.T)
    assert again.evidence == alone.evidence


def test_limit_is_a_seeded_subset(torus_images, honest_onnx):
    first, same, other = (
        audit(honest_onnx, torus_images(300), orbit=Translations(1), limit=50, seed=s).test.ids for s in (1, 1, 2)
    )
    assert first == same != other
    assert len(first) == 50


def test_many_models_are_averaged_first(torus_images, honest_onnx, leaked_onnx):
    images = torus_images(120)
    both = audit_many([honest_onnx, leaked_onnx], images, orbit=Translations(1))
    one, two = (audit(m, images, orbit=Translations(1)) for m in (honest_onnx, leaked_onnx))
    assert np.array_equal(both.T, (one.T + two.T) / 2)
    assert both.n_models == 2
    assert both.evaluations == one.evaluations + two.evaluations
    (alone,) = (of.log_p_values for of in both.drawn.model_groups)
    assert alone == tuple(r.evidence.log_p_values["betting"] for r in (one, two))
    assert both.evidence.test_error == pytest.approx((one.evidence.test_error + two.evidence.test_error) / 2)


def test_a_score_map_by_hand_gives_the_same_T(torus_images, honest_onnx, alone):
    """The public function for other people's score maps, on the maps of real pictures."""
    from heldout.scorers import OnnxScorer

    images, scorer = torus_images(8), OnnxScorer(honest_onnx)
    maps = np.empty((8, 32, 32))
    for i in range(8):
        base = images.canvas(i, 0, "nchw")
        shifted = np.stack([np.roll(base, (d, r), axis=(1, 2)) for d in range(32) for r in range(32)])
        logits = scorer.logits(shifted).astype(np.float64)
        maps[i] = (logits.max(axis=1) - logits[:, images.labels[i]]).reshape(32, 32)
    on_torus = score_map_statistics(maps, radius=2, rule="strongest", wrap=True)
    assert on_torus[:, 0, 0] == pytest.approx(alone.T[:8], abs=1e-12)
    centred = np.roll(maps, (16, 16), axis=(1, 2))  # the picture itself in the middle
    assert np.array_equal(score_map_statistics(centred, radius=2, rule="strongest"), on_torus[:, 0, 0])
    assert np.abs(on_torus.sum(axis=(1, 2))).max() < 1e-9


def test_exhibits_are_what_they_say(honest, torus_images):
    images = torus_images(300)
    assert 0 < len(honest.exhibits) <= 12
    for exhibit in honest.exhibits:
        assert exhibit.predicted == exhibit.label != exhibit.moved_predicted
        picture = images.source.read(int(exhibit.id))
        assert np.array_equal(exhibit.original, picture)
        assert np.array_equal(exhibit.moved, np.roll(picture, exhibit.move, axis=(0, 1)))


def test_subset_curve_ends_in_the_whole(honest):
    lower, upper = honest.orbit.statistic_range(honest.rule)
    rows = subset_curve(
        honest.test, sizes=[50, 300], n_subsets=5, lower=lower, upper=upper, alternative="two-sided",
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert [row.n_subsets for row in rows] == [5, 1]
    whole, log_p = rows[1], honest.evidence.log_p_values
    assert whole.betting.low == whole.betting.mean == whole.betting.high == log_p["betting"]
    assert whole.bernstein.mean == pytest.approx(log_p["bernstein"])
    assert whole.test_error.mean == pytest.approx(honest.evidence.test_error)
    assert rows[0].betting.low <= rows[0].betting.mean <= rows[0].betting.high


def test_curve_sizes_end_at_n():
    for n in (1, 2, 19, 20, 21, 500, 10_000, 1_271_167):
        sizes = curve_sizes(n)
        assert sizes[-1] == n
        assert len(sizes) <= 7
        assert sizes == sorted(set(sizes))


def test_what_is_drawn_is_what_was_found(honest):
    drawn, T = honest.drawn, honest.T
    assert drawn.curve[-1].size == len(T)
    assert drawn.curve[-1].betting.mean == honest.evidence.log_p_values["betting"]
    h = drawn.statistic
    assert (h.n_zero, h.n_below, h.n_above) == ((T == 0).sum(), (T < 0).sum(), (T > 0).sum())
    assert sum(h.counts) == h.n_below + h.n_above
    assert sum(c for c, low in zip(h.counts, h.edges, strict=False) if low < -1e-9) == h.n_below  # 0 is an edge
    assert honest.drawn.model_groups == ()


def test_tolerance_only_makes_p_larger(torus_images, leaked_onnx):
    strict, lax = (
        audit(leaked_onnx, torus_images(200), orbit=Translations(2), tolerance=t).evidence.log_p_values
        for t in (0.0, 0.01)
    )
    assert all(lax[name] >= strict[name] for name in strict)
    assert lax["betting"] > strict["betting"]


# What the look before the audit stops.


def stops(sentence: str, model, images, **options) -> None:
    with pytest.raises(InputError, match=sentence):
        audit(model, images, **{"orbit": Translations(1), **options})


def test_stops_at_chance(torus_images, honest_onnx):
    images = torus_images(300)
    inverted = replace(images, mean=(1.0,), std=(0.001,))
    stops("not reliably better than always naming the commonest class.*`mean", honest_onnx, inverted)
    assert audit(honest_onnx, inverted, orbit=Translations(1), allow_chance=True, limit=20)


def test_a_memoriser_at_chance_on_the_control_is_a_finding(torus_images, demo_arrays):
    known = {x.tobytes(): y for x, y in zip(demo_arrays["test_images"], demo_arrays["test_labels"], strict=True)}

    def by_heart(batch):
        pixels = np.rint(batch * 255).astype(np.uint8)
        labels = [known.get(x[0].tobytes(), 0) for x in pixels]
        return np.eye(10)[labels]

    result = audit(by_heart, torus_images(100), control=torus_images(100, "control"), orbit=Translations(1))
    assert result.outcome == "easier"
    assert result.evidence.test_error == 0


def test_controls_that_cannot_be_controls(torus_images, honest_onnx):
    images = torus_images(60)
    stops("the control is the test set itself", honest_onnx, images, control=images)
    stops(
        "framed and scaled in the same way",
        honest_onnx,
        images,
        control=replace(torus_images(60, "control"), mean=(0.1,)),
    )
    few = torus_images(1, "control")
    stops("leave no class with two of each", honest_onnx, images, control=few)
    one, other = (replace_names(torus_images(60, part), names) for part, names in (("test", "ab"), ("control", "ba")))
    stops("number their classes differently", honest_onnx, one, control=other)


def replace_names(images, names):
    images.source.class_names = list(names)
    return images


def test_trailing_zeros_of_the_expected_accuracy_count(torus_images, honest_onnx, alone):
    images, accuracy = torus_images(300), 1 - alone.evidence.test_error
    near = f"{accuracy:.1f}"
    assert audit(honest_onnx, images, orbit=Translations(1), expect_accuracy=near, limit=20)
    assert abs(accuracy - float(near)) > 0.0005, "choose another sample: this one is round"
    stops("was expected", honest_onnx, images, expect_accuracy=near + "00")
    stops("2 expected accuracies for 1 models", honest_onnx, images, expect_accuracy=["0.8", "0.9"])


def test_a_late_wrong_label_is_found_at_once(demo_arrays, honest_onnx):
    labels = np.tile(demo_arrays["test_labels"], 2)
    labels[-1] = 12
    pictures = np.tile(demo_arrays["test_images"], (2, 1, 1))
    images = LabelledImages(from_arrays(pictures, labels), Wrap())
    stops("knows 10 classes, but picture 3999 has label 12", honest_onnx, images)


def test_a_saved_name_may_hold_dots(alone, tmp_path):
    alone.save(tmp_path / "v1.2")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["v1.2.json", "v1.2.npz"]
    assert AuditResult.load(tmp_path / "v1.2").T is not None


def test_expected_accuracy_is_exact(torus_images, honest_onnx, alone):
    images, accuracy = torus_images(300), 1 - alone.evidence.test_error
    rounded = float(f"{accuracy:.3f}")
    assert audit(honest_onnx, images, orbit=Translations(1), expect_accuracy=rounded, limit=20)
    stops("accuracy is .* but .* was expected", honest_onnx, images, expect_accuracy=round(rounded - 0.002, 3))
    stops("`expect_accuracy` is 91.7; it must be between 0 and 1", honest_onnx, images, expect_accuracy=91.7)


def test_stops_when_answers_change(torus_images, rng):
    images = torus_images(64)

    def dropout(batch):
        return rng.normal(size=(len(batch), 10))

    def batch_statistics(batch):
        flat = batch.reshape(len(batch), -1)[:, :10]
        return flat * np.arange(len(batch))[:, None]

    stops("same batch differently the second time.*dropout", dropout, images)
    stops("depends on the other pictures in the batch", batch_statistics, replace(images, mean=(-1.0,)))


def test_stops_where_there_is_no_room(torus_images, honest_onnx):
    framed = torus_images(20).with_frame(Crop(22))
    stops(
        "needs a margin of 6 pixels.*leaves 5.*largest radius that fits is 1",
        honest_onnx,
        framed,
        orbit=Translations(2),
    )
    stops("no radius fits. Resize to 36", honest_onnx, torus_images(20).with_frame(Crop(30)))
    stops("wants 32 x 32 pixels, but gets 20 x 20", honest_onnx, torus_images(20).with_frame(Crop(20)))
    noise = np.random.default_rng(0).integers(0, 255, (4, 32, 32, 3)).astype(np.uint8)
    colour = LabelledImages(from_arrays(noise, np.arange(4)), Wrap())
    stops(r"wants 1 channel\(s\), but the pictures have 3", honest_onnx, colour)
    stops(
        "`radius` is 20, but picture .* largest radius that fits is 15",
        honest_onnx,
        torus_images(20),
        orbit=Translations(20),
        allow_chance=True,
    )


def test_other_refusals(torus_images, honest_onnx, tmp_path):
    images = torus_images(20)
    stops("`limit` is 0", honest_onnx, images, limit=0)
    stops("`tolerance` is for audits without a control", honest_onnx, images, tolerance=0.1, control=images)
    stops("`rule` is 'worst'", honest_onnx, images, rule="worst")
    stops("`alternative` is 'less'", honest_onnx, images, alternative="less")
    stops("a list is not a model", [1], images)
    (tmp_path / "test-0.npz").write_bytes(b"x")
    stops("holds unfinished work", honest_onnx, images, checkpoint=tmp_path)
    with pytest.raises(InputError, match="no model"):
        audit_many([], images, orbit=Translations(1))
