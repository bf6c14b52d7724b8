"""Curves of finished models against brute force, and everything that may go wrong on the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heldout import InputError, LabelledImages, perturbation_curve
from heldout.images import Crop, Whole, from_arrays
from heldout.memorization import perturbed
from heldout.memorization.perturb import RandomSpatial, Spatial, as_perturbation, move_grid, moved, spatial
from heldout.memorization.perturb.corruptions import corrupt
from heldout.memorization.perturb.spatial import STAY, Move, moved_each, random_moves, worst_case
from heldout.scorers import FunctionScorer, TorchScorer

CLASSES = 3


def template_model(rng, side=12, channels=2, batch_size=7, layout="nhwc"):
    """Correlates a picture with one template a class: moves matter to it."""
    templates = rng.normal(size=(side * side * channels, CLASSES)).astype(np.float32)
    calls = []

    def logits(batch):
        calls.append(len(batch))
        flat = batch if layout == "nhwc" else batch.transpose(0, 2, 3, 1)
        return flat.reshape(len(batch), -1) @ templates

    scorer = FunctionScorer(logits, batch_size=batch_size, layout=layout, name="templates")
    scorer.calls, scorer.templates = calls, templates
    return scorer


@pytest.fixture
def pictures(rng):
    coarse = rng.integers(0, 256, (8, 3, 3, 2), dtype=np.uint8)
    return np.kron(coarse, np.ones((1, 4, 4, 1), dtype=np.uint8))


def with_right_labels(scorer, x):
    """Labels that the model gets right, but for the last picture."""
    logits = scorer.logits((x / 255).astype(np.float32))
    labels = logits.argmax(axis=1)
    labels[-1] = logits[-1].argmin()
    return labels


@pytest.mark.parametrize("padding", ["black", "border"])
def test_the_worst_case_is_brute_force(rng, pictures, padding):
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    strengths = [0.0, 0.4, 1.0, 2.0, 3.0]
    curve = perturbation_curve(scorer, (pictures, y), Spatial(shifts=3, turns=3, padding=padding), strengths)
    brute = np.ones(8, dtype=bool)  # the worst so far
    for i, a in enumerate(strengths):
        for move in move_grid(a, shifts=3, turns=3):
            x = moved(pictures.astype(np.float32), move, padding=padding) / 255
            brute &= (x.reshape(8, -1) @ scorer.templates).argmax(axis=1) == y
        np.testing.assert_array_equal(curve.correct[i, 0], brute)
    assert curve.correct[0, 0].tolist() == [True] * 7 + [False]
    assert len(set(curve.correct.sum(axis=2).ravel().tolist())) > 2  # else the test would not tell much


def test_what_was_found_fools(rng, pictures):
    """The move that is named makes the model wrong; where none is, none of the grid does; wrong pictures rest."""
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    x = pictures.astype(np.float32) / 255
    asked = []

    def right(batch, places):
        asked.extend(places.tolist())
        return (batch.reshape(len(batch), -1) @ scorer.templates).argmax(axis=1) == y[places]

    moves = move_grid(0.5, shifts=3, turns=3)
    found = worst_case(right, x, moves, batch_size=4)
    assert found[-1] == 0  # wrong as it is
    assert asked.count(7) == 1
    for place, j in enumerate(found):
        tried = moves if j < 0 else [moves[j]]
        said = [right(moved(x[place : place + 1], m), np.array([place]))[0] for m in tried]
        assert all(said) if j < 0 else not said[0]
    for size in (1, 3, 100):
        again = worst_case(right, x, moves, batch_size=size)
        np.testing.assert_array_equal(again < 0, found < 0)


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_a_batch_in_the_worst_places(rng, pictures, layout):
    """The plain function: pictures that can be fooled come back fooled, the others as they were."""
    scorer = template_model(rng, layout=layout)
    x = pictures.astype(np.float32) / 255
    y = (x.reshape(8, -1) @ scorer.templates).argmax(axis=1)
    batch = x if layout == "nhwc" else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    out = spatial(scorer, batch, y, 1.0, shifts=3, turns=3)
    out = out if layout == "nhwc" else out.transpose(0, 2, 3, 1)
    curve = perturbation_curve(template_of(scorer), (x, y), Spatial(shifts=3, turns=3), [0, 1.0], pixel_range=(0, 1))
    wrong = (out.reshape(8, -1) @ scorer.templates).argmax(axis=1) != y
    np.testing.assert_array_equal(wrong, ~curve.correct[1, 0])
    np.testing.assert_array_equal(out[~wrong], x[~wrong])
    assert wrong.sum() > 0


def template_of(scorer):
    return FunctionScorer(
        lambda batch: batch.reshape(len(batch), -1) @ scorer.templates, batch_size=5, layout="nhwc", name="same"
    )


def test_moves_of_each_own(rng):
    x = rng.random((4, 6, 9, 3), dtype=np.float32)
    moves = [STAY, Move(1, -0.5, 3), Move(-2, 0, 0), Move(0.3, 0.2, -20)]
    for padding in ("black", "border"):
        out = moved_each(x, moves, padding=padding, black=0.25)
        for i, move in enumerate(moves):
            np.testing.assert_allclose(out[i], moved(x[i : i + 1], move, padding=padding, black=0.25)[0], atol=1e-6)
    assert moved(x, Move(20, 0, 0), black=0.25).max() == 0.25  # all of it has left


def test_the_worst_at_random_is_brute_force(rng, pictures):
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    curve = perturbation_curve(scorer, (pictures, y), RandomSpatial(count=4), [0.0, 0.4, 2.0], seed=3)
    import zlib

    stands = np.ones(8, dtype=bool)  # against the worst so far
    for i, a in enumerate([0.0, 0.4, 2.0]):
        for place in range(8):
            own = np.random.default_rng([3, zlib.crc32(b"spatial-random"), place])
            x = [moved(pictures[place : place + 1].astype(np.float32), m) / 255 for m in random_moves(a, 4, rng=own)]
            said = [(p.reshape(1, -1) @ scorer.templates).argmax() == y[place] for p in x]
            stands[place] &= all(said)
            assert curve.correct[i, 0, place] == stands[place]


def test_whole_pixels_do_not_blur_and_no_curve_rises(rng):
    """A model that only minds blur keeps its accuracy under shifts; one that is fooled at 1 stays so at 2 and 3."""
    x = (255 * (np.indices((12, 12)).sum(axis=0) % 2)).astype(np.uint8)  # a chessboard: a half-pixel shift greys it
    pictures = np.stack([np.pad(x[i:, :], ((i, 0), (0, 0))) for i in range(3)] * 20)[..., None]

    def contrast(batch):
        sharp = np.abs(np.diff(batch[..., 0], axis=2)).mean(axis=(1, 2))
        return np.stack([sharp, np.full(len(batch), 0.3)], axis=1)

    labels = np.zeros(60, dtype=int)
    scorer, way = FunctionScorer(contrast, name="contrast", layout="nhwc"), Spatial(turns=1, padding="border")
    shifted = perturbation_curve(scorer, (pictures, labels), way, [0, 1, 2, 3], allow_chance=True)
    assert shifted.accuracy.tolist() == [1.0] * 4
    greyed = moved(pictures[:1].astype(np.float32) / 255, Move(0.5, 0, 0), padding="border")
    assert contrast(greyed).argmax() == 1  # what a grid with half pixels would show
    scorer = template_model(rng)
    for name in ("spatial", "spatial-random"):
        noise = rng.integers(0, 256, (100, 12, 12, 2)).astype(np.uint8)
        y = scorer.logits((noise / 255).astype(np.float32)).argmax(axis=1)
        curve = perturbation_curve(scorer, (noise, y), name, range(7))
        assert (np.diff(curve.correct.astype(int), axis=0) <= 0).all()
        assert curve.accuracy[-1] < curve.accuracy[1] < 1


def test_noise_is_the_picture_s_own(rng, pictures):
    """Whatever block, batch or subset a picture comes in; and the same at every strength, only more of it."""
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    whole = perturbation_curve(scorer, (pictures, y), "gaussian", range(0, 200, 25))
    part = perturbation_curve(scorer, (pictures, y), "gaussian", range(0, 200, 25), limit=5, batch_size=2)
    rows = perturbed.subset(8, 5, 0)
    np.testing.assert_array_equal(part.correct, whole.correct[:, :, rows])
    other = perturbation_curve(scorer, (pictures, y), "gaussian", range(0, 200, 25), seed=1)
    assert (other.correct != whole.correct).any()


@pytest.mark.parametrize("name", ["spatial", "spatial-random", "gaussian", "snow"])
def test_blocks_do_not_matter(rng, pictures, monkeypatch, name):
    x = pictures[..., [0, 1, 0]]
    scorer = template_model(rng, channels=3)
    y = scorer.logits((x / 255).astype(np.float32)).argmax(axis=1)
    strengths = [0, 0.3, 250] if name == "gaussian" else [0, 1, 2]
    one = perturbation_curve(scorer, (x, y), name, strengths)
    monkeypatch.setattr(perturbed, "HELD", 3 * x[0].size)
    two = perturbation_curve(scorer, (x, y), name, strengths)
    np.testing.assert_array_equal(one.correct, two.correct)
    assert not one.correct.all()


@pytest.mark.parametrize("name", ["fog", "gaussian_noise", "jpeg_compression"])
def test_corruptions_are_the_pictures_own(rng, name):
    import zlib

    x = rng.integers(0, 256, (4, 16, 16, 3), dtype=np.uint8)
    scorer = template_model(rng, side=16, channels=3)
    y = scorer.logits((x / 255).astype(np.float32)).argmax(axis=1)
    curve = perturbation_curve(scorer, (x, y), name)
    assert curve.strengths.tolist() == [0, 1, 2, 3, 4, 5]
    assert not curve.even
    for severity, place in itertools.product(range(6), range(4)):
        own = np.random.default_rng([0, zlib.crc32(name.encode()), place])
        corrupted = corrupt(x[place], name, severity, rng=own).astype(np.float32) / 255
        right = (corrupted.reshape(1, -1) @ scorer.templates).argmax() == y[place]
        assert curve.correct[severity, 0, place] == right
    for found in curve.estimates.values():
        assert np.isnan(found.value)
        assert "not equal" in found.reason


@pytest.mark.parametrize(("bgr", "scale"), [(False, None), (True, None), (False, 2 / 255)])
def test_fgsm_in_raw_pixels(rng, bgr, scale):
    """A linear model's gradient in closed form; mean, std, scale and channel order must not turn its sign."""
    torch = pytest.importorskip("torch")
    x = rng.integers(60, 190, (6, 4, 4, 3), dtype=np.uint8)
    weights = rng.normal(size=(CLASSES, 48)).astype(np.float32)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, CLASSES, bias=False))
    module[1].weight.data = torch.from_numpy(weights)
    images = LabelledImages(
        from_arrays(x, np.zeros(6, int)), Whole(), mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7), scale=scale, bgr=bgr
    )
    scorer = TorchScorer(module, batch_size=4)
    inputs = images.scaled(x, "nchw", counts=True).reshape(6, -1)
    y = (inputs @ weights.T).argmax(axis=1)
    images = LabelledImages(from_arrays(x, y), Whole(), mean=images.mean, std=images.std, scale=scale, bgr=bgr)
    curve = perturbation_curve(scorer, images, "fgsm", [0, 4, 8, 60])
    chance = np.exp(inputs @ weights.T)
    chance /= chance.sum(axis=1, keepdims=True)
    sign = np.sign((chance - np.eye(CLASSES)[y]) @ weights).reshape(6, 3, 4, 4).transpose(0, 2, 3, 1)
    sign = sign[..., ::-1] if bgr else sign
    for i, eps in enumerate([0, 4, 8, 60]):
        moved_to = np.clip(x + eps * sign, 0, 255).astype(np.float32)
        logits = images.scaled(moved_to, "nchw", counts=True).reshape(6, -1) @ weights.T
        np.testing.assert_array_equal(curve.correct[i, 0], logits.argmax(axis=1) == y)
    assert curve.correct[-1].sum() < 6


def test_a_function_of_one_s_own(rng, pictures):
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)

    def darker(images, strength, generator):
        return images - strength

    curve = perturbation_curve(scorer, (pictures, y), darker, [0, 100, 200])
    assert curve.perturbation == "darker"
    expected = np.clip(pictures.astype(np.float32) - 200, 0, 255).reshape(8, -1) @ scorer.templates
    np.testing.assert_array_equal(curve.correct[2, 0], expected.argmax(axis=1) == y)
    with pytest.raises(InputError, match="the shape must stay"):
        perturbation_curve(scorer, (pictures, y), lambda images, strength, generator: images[:, :3], [0, 1])


class Killed(Exception):
    pass


@pytest.mark.parametrize("way", ["gaussian", "spatial", "spatial-random"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_killed_run_goes_on(way, share, rng, pictures, tmp_path, monkeypatch):
    """Within one block of all pictures, too: the same bits, and nothing is asked twice but what must tell the model."""
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    scorer = template_model(rng, batch_size=3)
    y = with_right_labels(scorer, pictures)
    strengths = [0, 150, 300] if way == "gaussian" else [0, 1, 2]
    scorer.calls.clear()
    straight = perturbation_curve(scorer, (pictures, y), way, strengths)
    every, looked = len(scorer.calls), -(-len(y) // 3)
    path = tmp_path / "curve.npz"
    original, count, last = scorer.logits, itertools.count(), round(share * every)

    def dies(batch):
        if next(count) == last:
            raise Killed
        return original(batch)

    scorer.logits = dies
    with pytest.raises(InputError, match="Killed"):
        perturbation_curve(scorer, (pictures, y), way, strengths, checkpoint=path)
    scorer.logits = original
    scorer.calls.clear()
    resumed = perturbation_curve(scorer, (pictures, y), way, strengths, checkpoint=path)
    np.testing.assert_array_equal(resumed.correct, straight.correct)
    np.testing.assert_array_equal(resumed.exhibits.pictures, straight.exhibits.pictures)
    # a batch for the fingerprint each time, and the look at untouched pictures, which is done anew
    assert len(scorer.calls) == every - (last - looked - 1) + 1


def test_a_checkpoint_of_another_curve_is_refused(rng, pictures, tmp_path):
    scorer = template_model(rng, batch_size=3)
    y = with_right_labels(scorer, pictures)
    path = tmp_path / "curve.npz"
    perturbation_curve(scorer, (pictures, y), "gaussian", [0, 150], checkpoint=path)
    with pytest.raises(InputError, match="belongs to another curve: seed was 0, is 9"):
        perturbation_curve(scorer, (pictures, y), "gaussian", [0, 150], checkpoint=path, seed=9)
    with pytest.raises(InputError, match=r"strengths was \[0.0, 150.0\], is \[0.0, 100.0\]"):
        perturbation_curve(scorer, (pictures, y), "gaussian", [0, 100], checkpoint=path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"is damaged .* delete it to start again"):
        perturbation_curve(scorer, (pictures, y), "gaussian", [0, 150], checkpoint=path)


def test_exhibits_show_what_was_measured(rng, pictures):
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    curve = perturbation_curve(scorer, (pictures, y), "spatial", [0, 1, 2, 3])
    shown = curve.exhibits
    assert shown.pictures.shape == (4, 4, 12, 12, 2)
    np.testing.assert_array_equal(shown.pictures[:, 0], pictures[shown.rows])
    np.testing.assert_array_equal(shown.right, curve.correct[:, 0, shown.rows].T)
    assert shown.right[:, 0].all()
    for row, labels in enumerate(y[shown.rows]):  # a picture marked wrong is one that the model gets wrong
        for i in range(1, 4):
            if not shown.right[row, i]:
                x = shown.pictures[row, i].astype(np.float32) / 255
                assert (x.reshape(1, -1) @ scorer.templates).argmax() != labels
    big = rng.integers(0, 256, (2, 200, 120, 3), dtype=np.uint8)
    shrunk = perturbation_curve(
        lambda b: b.reshape(len(b), -1)[:, :2], (big, [0, 1]), "gaussian", [0, 1]
    ).exhibits.pictures
    assert shrunk.shape == (2, 2, 96, 58, 3)


def test_pictures_are_cropped_and_scaled_as_for_an_audit(rng):
    x = rng.integers(0, 256, (5, 14, 14, 2), dtype=np.uint8)
    scorer = template_model(rng, side=12, layout="nchw")
    images = LabelledImages(from_arrays(x, np.zeros(5, int)), Crop(12), mean=(0.4,), std=(0.2,))
    seen = np.stack([images.canvas(i, 0, "nhwc") for i in range(5)])
    y = (seen.reshape(5, -1) @ scorer.templates).argmax(axis=1)
    curve = perturbation_curve(
        scorer, LabelledImages(from_arrays(x, y), Crop(12), mean=(0.4,), std=(0.2,)), "spatial", [0, 1]
    )
    assert curve.accuracy[0] == 1
    np.testing.assert_array_equal(perturbed.answers(scorer, LabelledImages(
        from_arrays(x, y), Crop(12), mean=(0.4,), std=(0.2,)), np.arange(5)), True)  # fmt: skip


@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-1.0, 1.0)])
def test_floats_with_a_declared_range(rng, low_high):
    low, high = low_high
    x = rng.uniform(low, high, (6, 12, 12, 2)).astype(np.float32)
    scorer = template_model(rng)
    y = (x.reshape(6, -1) @ scorer.templates).argmax(axis=1)
    curve = perturbation_curve(scorer, (x, y), "spatial", [0, 2], pixel_range=low_high)
    brute = np.ones(6, dtype=bool)
    for move in move_grid(2.0):  # what comes in from outside is black, the low end
        brute &= (moved(x, move, black=low).reshape(6, -1) @ scorer.templates).argmax(axis=1) == y
    np.testing.assert_array_equal(curve.correct[1, 0], brute)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"strengths": [1, 2]}, "must begin at 0 and grow"),
        ({"strengths": [0, 2, 1]}, "must begin at 0 and grow"),
        ({"strengths": [0, 0]}, "must begin at 0 and grow"),
        ({"strengths": [0]}, "two numbers at least"),
        ({"strengths": [0, float("nan")]}, "two numbers at least"),
        ({"pixel_range": (0, 1)}, "outside the declared range of 0 to 1"),
        ({"pixel_range": (255, 0)}, "is empty"),
        ({"limit": 0}, "at least 1"),
        ({"perturbation": "fogg"}, "there is no perturbation 'fogg'"),
        ({"perturbation": 3}, "a int is no perturbation"),
        ({"perturbation": "fgsm"}, "FGSM needs gradients"),
        ({"perturbation": "fog", "strengths": [0, 1, 6]}, "severities"),
        ({"labels": np.arange(8)}, "knows 3 classes"),
    ],
)
def test_bad_input(rng, pictures, change, words):
    scorer = template_model(rng)
    y = change.pop("labels", with_right_labels(scorer, pictures))
    options = {"perturbation": "gaussian", "strengths": [0, 1], **change}
    with pytest.raises(InputError, match=words):
        perturbation_curve(scorer, (pictures, y), **options)


def test_floats_need_a_range(rng):
    x = rng.random((4, 12, 12, 2))
    with pytest.raises(InputError, match="pixel_range"):
        perturbation_curve(template_model(rng), (x, np.zeros(4, int)), "gaussian", [0, 1])
    x[2, 0, 0, 0] = np.nan
    with pytest.raises(InputError, match="outside the declared range"):
        perturbation_curve(template_model(rng), (x, np.zeros(4, int)), "gaussian", [0, 1], pixel_range=(0, 1))


def test_every_name_works(rng):
    from heldout.memorization.perturb import PERTURBATIONS, usual_strengths

    x = rng.integers(0, 256, (2, 12, 12, 3), dtype=np.uint8)
    scorer = template_model(rng, channels=3)
    for name in PERTURBATIONS:
        way = as_perturbation(name)
        if name != "fgsm":
            curve = perturbation_curve(scorer, (x, [0, 1]), way)
            assert curve.strengths.tolist() == list(usual_strengths(way))


def test_models_of_other_scales_share_their_examples(rng, pictures):
    """Mean and std are a model's own, and so is its channel order; frame, pictures and rows are what is shared."""
    scorer = template_model(rng)
    y = with_right_labels(scorer, pictures)
    source = from_arrays(pictures, y)

    def curve(given=source, **scale):
        images = LabelledImages(given, Whole(), **scale)
        return perturbation_curve(scorer, images, "gaussian", [0, 5], allow_chance=True)

    plain = curve()
    assert plain.shares_examples(curve(mean=(0.5, 0.4), std=(0.2, 0.3)))
    assert plain.shares_examples(curve(bgr=True))
    assert not plain.shares_examples(curve(given=from_arrays(pictures[::-1], y[::-1])))
    key = perturbed.examples_key
    rows = np.arange(4)
    assert key(LabelledImages(source, Whole()), rows) != key(LabelledImages(source, Crop(10)), rows)
    assert key(LabelledImages(source, Whole()), rows) != key(LabelledImages(source, Whole()), rows + 1)
