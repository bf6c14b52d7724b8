"""The look before the audit: both accuracies, and what it stops, on test set and control together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom, binomtest, fisher_exact

from heldout import InputError, Translations, audit
from heldout.images import Crop, LabelledImages, Pad, Upsample, Wrap, from_arrays, from_folder
from heldout.independence.margins import Answers
from heldout.independence.plausible import at_chance, check_looks
from heldout.independence.preflight import Preflight, looked_at
from heldout.statistics.binomial import sign_test_log_pvalue


def answers(right: np.ndarray) -> Answers:
    """Of a model that is right here and wrong there."""
    margins = np.where(right, 1.0, -1.0)
    no = np.zeros(len(right), dtype=bool)
    return Answers(-margins, tied=no, margins=margins, margins_of_probabilities=margins, look_like_probabilities=no)


def look(untouched: np.ndarray, in_frame: np.ndarray | None = None, labels: np.ndarray | None = None) -> Preflight:
    """Of a model that is right as the arrays say."""
    right = untouched if in_frame is None else in_frame
    return Preflight(
        looked_at=np.arange(len(right)), labels=np.arange(len(right)) % 10 if labels is None else labels, right=right,
        clearly_right=right, untouched_right=untouched, untouched_clearly_right=untouched,
        originals=None if in_frame is None else answers(untouched), note=None, extra_evaluations=0, n_classes=10,
        evaluations_per_second=1.0, answers="", expected_evaluations=1,
    )  # fmt: skip


def shares(n: int, *counts: int) -> np.ndarray:
    """The first of n are right."""
    return np.arange(n) < counts[0]


def test_mcnemar_by_counting_coins():
    for n in (1, 2, 7, 30):
        for broken in range(n + 1):
            tail = binom.cdf(min(broken, n - broken), n, 0.5)
            assert math.exp(sign_test_log_pvalue(broken, n - broken)) == pytest.approx(min(1.0, 2 * tail))


def test_a_frame_may_cost_two_points_or_chance_and_no_more():
    def drop(n: int, before: int, after: int) -> dict[str, Preflight]:
        return {"test": look(shares(n, before), shares(n, after)), "control": look(shares(n, before), shares(n, after))}

    check_looks(drop(2000, 1900, 1862))  # 1.9 points: more than chance, but small
    check_looks(drop(100, 95, 91))  # 4 points of 100: eight answers broke, p = 0.008
    with pytest.raises(InputError) as stop:
        check_looks(drop(500, 499, 385))
    for words in (
        "right on 99.8 % of the untouched pictures, but on 77.0 % in the frame",
        "test 99.8 and 77.0 %, control 99.8 and 77.0 %",
        "1,000 pictures, McNemar's exact p = 4.6e-69",
        "use `pad='reflect'` (with `control`)",
        "`allow_frame_drop=True`",
    ):
        assert words in str(stop.value)
    with pytest.raises(InputError, match=r"Nothing is shifted with this orbit, .* leave `upsample` out; `allow_frame"):
        check_looks(drop(500, 499, 385), shifted=False)  # `pad` would be refused
    check_looks(drop(500, 499, 385), allow_frame_drop=True)
    check_looks(drop(500, 385, 499))  # better in the frame: a model that was made for it


def test_chance_is_judged_on_both_sets_together():
    """A model that knows its test set by heart, and nothing else, is the finding and not a mistake."""
    with pytest.raises(InputError, match=r"12.0 % on 100 pictures .* `allow_chance=True`"):
        check_looks({"test": look(shares(100, 12))})
    check_looks({"test": look(shares(100, 12))}, allow_chance=True)
    check_looks({"test": look(shares(100, 100)), "control": look(shares(100, 10))})
    with pytest.raises(InputError, match=r"14.0 % on 200 pictures of test set and control"):
        check_looks({"test": look(shares(100, 18)), "control": look(shares(100, 10))})
    # At chance on the originals, but made for enlarged pictures.
    check_looks({"test": look(shares(100, 10), shares(100, 90))})


def test_a_test_set_at_chance_beside_a_good_control_is_a_mistake():
    """Of preprocessing, say; not so much worse, it may be the chance of a weak model, and stopping would select."""
    looks = {"test": look(shares(500, 47)), "control": look(shares(500, 480))}
    with pytest.raises(InputError, match=r"9.4 % on 500 pictures .* test set, but 96.0 % on the control.*turned"):
        check_looks(looks)
    check_looks(looks, allow_chance=True)
    assert at_chance([looks]) == ("test",)
    assert at_chance([{"test": look(shares(500, 480)), "control": look(shares(500, 47))}]) == ("control",)
    weak = {"test": look(shares(100, 15)), "control": look(shares(100, 30))}
    check_looks(weak)
    worst = next(k for k in range(100) if fisher_exact([[12, 88], [k, 100 - k]], "less").pvalue <= 0.001)
    check_looks({"test": look(shares(100, 12)), "control": look(shares(100, worst - 1))})
    with pytest.raises(InputError, match="of the test set, but"):
        check_looks({"test": look(shares(100, 12)), "control": look(shares(100, worst))})


def test_equal_shares_of_both_sets_are_looked_at(rng):
    sets = {"test": np.arange(9000), "control": np.arange(1000)}
    drawn = looked_at(sets, {}, rng)
    assert (len(drawn["test"]), len(drawn["control"])) == (1800, 200)
    assert all(len(np.unique(rows)) == len(rows) for rows in drawn.values())
    assert len(looked_at({"test": np.arange(300)}, {}, rng)["test"]) == 300
    assert len(looked_at({"test": np.arange(5000)}, {}, rng)["test"]) == 1000
    assert len(looked_at(sets, {"test": 9500}, rng)["test"]) == 9500


def test_the_expected_accuracy_is_that_of_untouched_pictures():
    looks = {"test": look(shares(1000, 917), shares(1000, 730))}
    check_looks(looks, expect_accuracy="0.917", allow_frame_drop=True)
    with pytest.raises(
        InputError, match=r"untouched accuracy is 0.9170 \(0.7300 in the frame\), but 0.73 was expected"
    ):
        check_looks(looks, expect_accuracy="0.73", allow_frame_drop=True)
    with pytest.raises(InputError, match="in the frame"):
        check_looks(looks, expect_accuracy="0.917")  # the drop is looked at all the same
    check_looks({"test": look(shares(1000, 730), shares(1000, 917))}, expect_accuracy="0.917")


@pytest.mark.slow
def test_the_chance_check_does_not_select(rng):
    """A weak, honest model: among the audits that are not stopped, p <= 0.05 at most one time in twenty.

    Looking at the test set alone, the audits that went on were those whose test set happened to be easy.
    """
    n, stopped, p_values = 60, 0, []

    def weak(batch: np.ndarray) -> np.ndarray:  # the label is in a corner; this model reads it now and then
        flat = np.round(batch.reshape(len(batch), -1) * 255).astype(np.int64)
        hashed = (flat @ np.arange(1, 26) ** 3 * 2654435761) % 1009 / 1009
        guess = np.where(hashed < 0.25, flat[:, 0] % 3, (hashed * 7919).astype(int) % 3)
        return np.eye(3)[guess]

    def draw() -> LabelledImages:
        x = rng.integers(0, 256, (n, 5, 5), dtype=np.uint8)
        return LabelledImages(from_arrays(x, x[:, 0, 0] % 3), Wrap())

    for _ in range(1000):
        try:
            p_values.append(audit(weak, draw(), control=draw(), orbit=Translations(1), n_resamples=199).p_value)
        except InputError as error:
            stopped += "not reliably better" in str(error)
    assert stopped + len(p_values) == 1000
    assert stopped > 300, "the model should be weak enough to be stopped often"
    alarms = sum(p <= 0.05 for p in p_values)
    assert binomtest(alarms, len(p_values), 0.05, alternative="greater").pvalue > 1e-3, (alarms, len(p_values))


# Untouched pictures, from end to end.


def by_brightness(batch: np.ndarray) -> np.ndarray:
    """Names the corner pixel: a zoom that cuts the corner off takes that away."""
    corner = batch[:, 0, 0, 0]
    return np.stack([corner, 0.75 - np.abs(corner - 0.5), 1 - corner], axis=1)


def corners(n: int, seed: int, side: int = 8) -> LabelledImages:
    """Noise whose corner tells the class."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (n, side, side), dtype=np.uint8)
    labels = rng.integers(0, 3, n)
    x[:, 0, 0] = np.array([255, 128, 0])[labels]
    return LabelledImages(from_arrays(x, labels), Upsample(14, crop=side))


def test_the_error_rate_is_compared_on_original_pictures():
    sentences: list[str] = []
    images, control = corners(150, 0), corners(120, 1)
    with pytest.raises(InputError, match=r"right on 100.0 % of the untouched pictures"):
        audit(by_brightness, images, control=control, orbit=Translations(1))
    result = audit(
        by_brightness, images, control=control, orbit=Translations(1), allow_frame_drop=True, notify=sentences.append
    )
    assert any("accuracy 100.00 % untouched, " in s for s in sentences)
    assert "function: the error rate is compared on untouched pictures: each one's original picture." in [
        s.replace("by_brightness", "function") for s in sentences
    ]
    assert result.untouched_pictures == ("original picture",)
    assert result.test.losses.mean() > 0.2
    assert (result.test.untouched_losses == 0).all()
    assert result.evidence.untouched_error == result.evidence.control.untouched_error == 0.0
    assert result.evidence.control.error_rate.difference == 0
    assert result.to_dict()["untouched_error"] == 0.0


def test_originals_are_scored_once_each(linear_model):
    images, control = corners(40, 0), corners(40, 1)
    model, counting = linear_model((1, 8, 8), batch_size=8), {"allow_chance": True, "allow_frame_drop": True}
    result = audit(model, images, control=control, orbit=Translations(1), **counting)
    within = audit(model, images.with_frame(Crop(8, resize=14)), control=control.with_frame(Crop(8, resize=14)),
                   orbit=Translations(1), **counting)  # fmt: skip
    assert result.evaluations == within.evaluations + 40
    assert np.array_equal(result.T, within.T)
    assert np.array_equal(within.test.untouched_losses, within.test.losses)
    assert within.untouched_pictures == ("centre of the frame",)
    flat = np.stack([images.source.read(i).ravel() for i in range(40)]).astype(np.float32) / np.float32(255)
    logits = np.round(flat @ model.weights, 6)
    wrong = logits.max(axis=1) > logits[np.arange(40), images.labels]
    by_hand = wrong if result.untouched_pictures[0] == "original picture" else within.test.losses[0]
    assert np.array_equal(result.test.untouched_losses[0], by_hand)


def test_a_model_made_for_enlarged_pictures_is_judged_on_those():
    def zoomed(batch: np.ndarray) -> np.ndarray:  # the opposite of its answer where the corner is as it was
        right = by_brightness(batch)
        untouched = np.isin(np.round(batch[:, 0, 0, 0] * 255), (0, 128, 255))
        return np.where(untouched[:, None], np.roll(right, 1, axis=1), right)

    result = audit(zoomed, corners(100, 0), control=corners(100, 1), orbit=Translations(1), allow_chance=True)
    assert result.untouched_pictures == ("centre of the frame",)
    assert np.array_equal(result.test.untouched_losses, result.test.losses)


def test_a_model_that_cannot_take_the_originals(honest_onnx, rng):
    sentences: list[str] = []
    x, y = rng.integers(0, 256, (60, 28, 28), dtype=np.uint8), rng.integers(0, 10, 60)
    images = LabelledImages(from_arrays(x, y), Upsample(44, crop=32))
    result = audit(honest_onnx, images, orbit=Translations(1), allow_chance=True, notify=sentences.append)
    assert "(taken for untouched, since the model wants 32 x 32 pixels, and the originals have 28 x 28)" in sentences[0]
    assert np.array_equal(result.test.untouched_losses, result.test.losses)
    assert result.untouched_pictures == ("centre of the frame",)

    def fixed(batch: np.ndarray) -> np.ndarray:
        return np.eye(10)[batch.reshape(len(batch), 32 * 32).argmax(axis=1) % 10]

    audit(fixed, images, orbit=Translations(1), allow_chance=True, notify=sentences.append)
    assert any("since the model does not take the originals' 28 x 28 pixels" in s for s in sentences)

    def short_of_memory(batch: np.ndarray) -> np.ndarray:
        if 28 in batch.shape[1:]:
            raise RuntimeError("out of memory")
        return fixed(batch)

    audit(short_of_memory, images, orbit=Translations(1), allow_chance=True, notify=sentences.append)
    assert any("runs out of memory on a batch of shape" in s for s in sentences)


@pytest.mark.parametrize("frame", [Wrap(), Pad("reflect"), Pad("zero"), Pad("edge"), Crop(6)], ids=str)
def test_elsewhere_the_frames_centre_is_the_untouched_picture(frame, linear_model):
    images, control = (replace(corners(50, s, 12), frame=frame) for s in (0, 1))
    size = images.place(0, 0).shape[0]
    model = linear_model((1, size, size), batch_size=10)
    result = audit(model, images, control=control, orbit=Translations(1), allow_chance=True)
    assert np.array_equal(result.test.untouched_losses, result.test.losses)
    assert result.evidence.untouched_error == result.evidence.test_error
    wrong = []
    for i in range(50):
        logits = model.logits(images.canvas(i, 0, "nchw")[None])[0]
        wrong.append(logits.max() > logits[images.labels[i]])
    assert np.array_equal(result.test.untouched_losses[0], wrong)


def test_padding_needs_a_control_and_one_size(linear_model):
    images = corners(40, 0).with_frame(Pad("reflect"))
    with pytest.raises(InputError, match=r"without a control: .* surely not neutral"):
        audit(linear_model((1, 8, 8)), images, orbit=Translations(1))
    with pytest.raises(InputError, match=r"needs a margin of 9 pixels .* leaves 7 .* largest radius that fits is 2"):
        audit(linear_model((1, 8, 8)), images, control=corners(9, 1).with_frame(Pad()), orbit=Translations(3))
    assert math.isinf(Pad("zero").room((8, 8)))


def folder_of(path, sizes) -> LabelledImages:
    rng = np.random.default_rng(len(sizes))
    for i, size in enumerate(sizes):
        (path / str(i % 2)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (size, size), dtype=np.uint8)).save(path / str(i % 2) / f"{i}.png")
    return LabelledImages(from_folder(path, channels=1), Pad("edge"))


def test_pictures_of_several_sizes(tmp_path):
    """They cannot be padded to one; enlarged, they have no common original to score."""
    test, control = folder_of(tmp_path / "test", [8, 8, 9, 8] * 6), folder_of(tmp_path / "control", [8] * 25)

    def any_size(batch: np.ndarray) -> np.ndarray:
        mean = batch.mean(axis=(1, 2, 3))
        return np.stack([mean, 1 - mean], axis=1)

    with pytest.raises(InputError, match=r"differ in size .* cannot be padded to one size; use `resize` and `crop"):
        audit(any_size, test, control=control, orbit=Translations(1))
    sentences: list[str] = []
    framed = [images.with_frame(Upsample(20, crop=10)) for images in (test, control)]
    result = audit(
        any_size, framed[0], control=framed[1], orbit=Translations(1), allow_chance=True, allow_frame_drop=True,
        notify=sentences.append,
    )  # fmt: skip
    assert "(taken for untouched, since the originals differ in size)" in sentences[0]
    # The control's originals can be scored, but both sets must be compared on the same thing.
    assert result.untouched_pictures == ("centre of the frame",)
    assert np.array_equal(result.control.untouched_losses, result.control.losses)
