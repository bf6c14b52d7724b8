"""The engine: same numbers as the whole map, full batches, bounded memory, bit-exact resume."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError, Translations, score_map_statistics
from heldout.images import Crop, LabelledImages, Pad, Upsample, Wrap, from_arrays
from heldout.independence.engine import Engine, window
from heldout.independence.plan import TranslationPlan
from heldout.orbit import RULES
from heldout.scorers.batches import excess_scores


def pictures(n: int, side: int = 12, *, seed: int = 0, n_classes: int = 3) -> LabelledImages:
    rng = np.random.default_rng(seed)
    return LabelledImages(
        from_arrays(rng.integers(0, 256, (n, side, side), dtype=np.uint8), rng.integers(0, n_classes, n)), Wrap()
    )


def make_engine(model, images: LabelledImages, rule="strongest", radius=1, **fingerprint) -> Engine:
    period = images.source.read(0).shape[:2] if images.frame.wraps else None
    plan = TranslationPlan(Translations(radius), rule, period=period)
    return Engine(
        model, images, plan, np.arange(len(images)), batch_size=model.batch_size, fingerprint={"id": 1, **fingerprint}
    )


def whole_maps(model, images: LabelledImages, margin: int) -> np.ndarray:
    """Every score within the margin, one crop at a time."""
    maps = np.empty((len(images), 2 * margin + 1, 2 * margin + 1))
    for i in range(len(images)):
        canvas = images.canvas(i, margin, "nchw")
        for down in range(-margin, margin + 1):
            for right in range(-margin, margin + 1):
                crop = window(canvas, margin, down, right, False)
                logits = model.logits(crop[None])
                maps[i, down + margin, right + margin] = excess_scores(logits, images.labels[i : i + 1], ["x"])[0]
    return maps


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("frame", ["wrap", "crop", "upsample", "reflect", "zero", "edge"])
def test_equals_the_whole_map_bit_for_bit(rule, frame, linear_model):
    images = pictures(25, 14)
    if frame == "crop":
        images = images.with_frame(Crop(8))
    elif frame == "upsample":
        images = images.with_frame(Upsample(18, crop=12))
    elif frame != "wrap":
        images = images.with_frame(Pad(frame))
    model = linear_model((1, *images.place(0, 0).shape[:2]), batch_size=7)
    engine = make_engine(model, images, rule)
    engine.run()
    maps = whole_maps(linear_model((1, *images.place(0, 0).shape[:2])), images, Translations(1).margin(rule))
    expected = score_map_statistics(maps, radius=1, rule=rule)
    assert np.array_equal(engine.outcomes.statistic, expected)
    assert (engine.outcomes.kind == 2).sum() == (maps[:, maps.shape[1] // 2, maps.shape[2] // 2] > 0).sum()
    assert len(set(engine.outcomes.kind)) == 3, "the pictures should show all three kinds"


def test_batches_are_always_full_and_nothing_is_scored_twice(linear_model):
    images = pictures(50)
    model = linear_model((1, 12, 12), batch_size=16)
    engine = make_engine(model, images)
    engine.run()
    assert set(model.batches) == {16}
    assert len(model.batches) <= -(-engine.evaluations // 16) + 3, "only the last few batches may be filled up"


def test_memory_is_bounded_by_the_batch_not_by_the_set(linear_model):
    engine = make_engine(linear_model((1, 12, 12), batch_size=8), pictures(400))
    most = 0
    while not engine.done:
        engine.step()
        most = max(most, len(engine._canvases), len(engine._maps))
    assert most <= 2 * 8


def test_content_moves_with_the_move():
    """A bright pixel in the middle, moved by (1, 2), is one lower and two to the right."""
    picture = np.zeros((1, 7, 7), np.uint8)
    picture[0, 3, 3] = 255
    for frame in (Wrap(), Crop(3), Pad("zero")):
        images = LabelledImages(from_arrays(picture, [0]), frame)
        size = images.place(0, 0).shape[0]
        canvas = images.canvas(0, 2, "nchw")
        moved = window(canvas, 2, 1, 1, False)
        assert np.argwhere(moved[0]).tolist() == [[size // 2 + 1, size // 2 + 1]]
        assert np.array_equal(
            window(images.canvas(0, 2, "nhwc"), 2, -1, 1, True)[..., 0], window(canvas, 2, -1, 1, False)[0]
        )


@pytest.mark.parametrize("rule", ["strongest", "random"])
def test_resume_gives_the_same_bits_wherever_it_was_stopped(rule, tmp_path, linear_model):
    def model():
        return linear_model((1, 12, 12), batch_size=16)

    images = pictures(40)
    whole = make_engine(model(), images, rule)
    whole.run()
    n_batches = len(whole.scorer.batches)
    for stop in range(0, n_batches, max(1, n_batches // 7)):
        first = make_engine(model(), images, rule)
        for _ in range(stop):
            first.step()
        first.save(tmp_path / f"{stop}.npz")
        second_model = model()
        second = make_engine(second_model, images, rule)
        second.run(checkpoint=tmp_path / f"{stop}.npz", resume=True)
        for name, values in vars(whole.outcomes).items():
            assert np.array_equal(getattr(second.outcomes, name), values, equal_nan=True), name
        assert second.evaluations == whole.evaluations
        assert len(second_model.batches) == n_batches - stop, "what was scored is not scored again"


def test_a_model_that_breaks_half_way_loses_nothing(tmp_path, linear_model):
    class Breaks(linear_model):
        def logits(self, batch):
            if len(self.batches) == 5:
                raise RuntimeError("out of memory\nsecond line")
            return super().logits(batch)

    images = pictures(40)
    engine = make_engine(Breaks((1, 12, 12)), images)
    with pytest.raises(
        InputError, match=r"the model \S+ fails on a batch of shape \(16, 1, 12, 12\).*out of memory\.$"
    ):
        engine.run(checkpoint=tmp_path / "c.npz")
    resumed, whole = (make_engine(linear_model((1, 12, 12)), images) for _ in range(2))
    resumed.run(checkpoint=tmp_path / "c.npz", resume=True)
    whole.run()
    assert np.array_equal(resumed.outcomes.statistic, whole.outcomes.statistic)
    assert resumed.evaluations == whole.evaluations


@pytest.mark.parametrize("stop", range(0, 160, 13))
def test_an_interrupt_anywhere_leaves_a_checkpoint_that_can_be_resumed(stop, tmp_path, linear_model, monkeypatch):
    """Ctrl-C may fall between any two lines: what is on disk is always a whole state."""
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    images = pictures(40)
    engine = make_engine(linear_model((1, 12, 12)), images)
    decide, calls = engine.plan.decide, [0]

    def interrupted(scores, **options):
        calls[0] += 1
        if calls[0] == stop + 1:
            raise KeyboardInterrupt
        return decide(scores, **options)

    engine.plan.decide = interrupted
    with pytest.raises(KeyboardInterrupt):
        engine.run(checkpoint=tmp_path / "c.npz")
    resumed, whole = (make_engine(linear_model((1, 12, 12)), images) for _ in range(2))
    resumed.run(checkpoint=tmp_path / "c.npz", resume=True)
    whole.run()
    assert np.array_equal(resumed.outcomes.statistic, whole.outcomes.statistic)
    assert resumed.evaluations == whole.evaluations


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path, linear_model):
    images = pictures(10)
    engine = make_engine(linear_model((1, 12, 12)), images)
    engine.step()
    engine.save(tmp_path / "c.npz")
    other = make_engine(linear_model((1, 12, 12)), images, id=2)
    with pytest.raises(InputError, match="belongs to another audit: id was 1, is 2"):
        other.load(tmp_path / "c.npz")
    whole = (tmp_path / "c.npz").read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"PK\x03\x04 nonsense"):
        (tmp_path / "c.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"is damaged .* delete it to start again"):
            engine.load(tmp_path / "c.npz")


def test_excess_scores_and_a_tied_top_logit_is_right():
    logits = np.array([[1.0, 2.0, 0.0], [2.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    assert excess_scores(logits, np.array([0, 0, 2]), ["a", "b", "c"]).tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("logits", "sentence"),
    [
        (np.zeros((2, 2)), "knows 2 classes, but picture b has label 2"),
        (np.array([[0.0, 1, 2], [0, np.nan, 1]]), "NaN or infinite logits for picture b"),
        (np.array([[0.0, np.inf, 2], [0, 0, 1]]), "NaN or infinite logits for picture a"),
    ],
)
def test_bad_logits(logits, sentence):
    with pytest.raises(InputError, match=sentence):
        excess_scores(logits, np.array([0, 2]), ["a", "b"])


@pytest.mark.parametrize("shape", [(16,), (16, 3, 1), (15, 3)])
def test_bad_output_shape(shape, linear_model):
    class Odd(linear_model):
        def logits(self, batch):
            return np.zeros(shape)

    with pytest.raises(InputError, match=r"returns shape .* for a batch of 16; .* logits are needed"):
        make_engine(Odd((1, 12, 12)), pictures(10)).run()
