"""Corruptions against the package `imagecorruptions-imaug` (equal, given the same draws) and the published tables."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from heldout.errors import InputError
from heldout.memorization.perturb.corruptions import CORRUPTIONS, corrupt
from heldout.memorization.perturb.corruptions.blur import enlarged, glass_sources
from heldout.memorization.perturb.corruptions.digital import affine, sampled
from heldout.memorization.perturb.corruptions.ice import ice_textures
from heldout.memorization.perturb.corruptions.severities import CIFAR, IMAGENET, Glass

WITHOUT_CHANCE = ("defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression")
# As published, in the order of make_cifar_c.py's tuples.
PUBLISHED_CIFAR = {
    "gaussian_noise": [0.04, 0.06, 0.08, 0.09, 0.10],
    "shot_noise": [500, 250, 100, 75, 50],
    "impulse_noise": [0.01, 0.02, 0.03, 0.05, 0.07],
    "defocus_blur": [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)],
    "glass_blur": [(0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)],
    "motion_blur": [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)],
    "zoom_blur": [tuple(np.arange(1, stop, 0.01)) for stop in (1.06, 1.11, 1.16, 1.21, 1.26)],
    "snow": [
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ],
    "frost": [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)],
    "fog": [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)],
    "brightness": [0.05, 0.1, 0.15, 0.2, 0.3],
    "contrast": [0.75, 0.5, 0.4, 0.3, 0.15],
    "elastic_transform": [(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)],
    "pixelate": [0.95, 0.9, 0.85, 0.75, 0.65],
    "jpeg_compression": [80, 65, 58, 50, 40],
}


@pytest.fixture(scope="module")
def package():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("cv2", reason="needs opencv-python-headless", exc_type=ImportError)
        return pytest.importorskip(
            "imagecorruptions", reason="pip install --no-deps imagecorruptions-imaug", exc_type=ImportError
        )


@pytest.fixture(scope="module")
def photographs(package):
    """The package's own pictures of frost."""
    paths = sorted((Path(package.__file__).parent / "frost").iterdir())
    return [np.asarray(Image.open(path).convert("RGB")) for path in paths]


@pytest.fixture(scope="module")
def scenes():
    datasets = pytest.importorskip("sklearn.datasets")
    return datasets.load_sample_images().images


def shown(scene, height, width, top=30, left=100):
    """A piece of a photograph, 360 px high, reduced."""
    piece = Image.fromarray(scene[top : top + 360, left : left + 360 * width // height])
    return np.asarray(piece.resize((width, height), Image.Resampling.BOX))


def theirs(package, picture, name, severity, rng):
    """The package's, with its draws taken from our generator, and its loop over pixels as plain Python."""
    module = package.corruptions
    with (
        patch.multiple(
            np.random,
            normal=rng.normal,
            uniform=rng.uniform,
            poisson=rng.poisson,
            randint=rng.integers,
            seed=lambda seed: None,
        ),
        patch.object(module, "_shuffle_pixels_njit_glass_blur", module._shuffle_pixels_njit_glass_blur.py_func),
    ):
        given = {"seed": rng} if name == "impulse_noise" else {}
        return package.corrupt(picture, severity, name, **given)


@pytest.mark.parametrize("shape", [(32, 32), (70, 97)])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_equals_the_package(package, photographs, scenes, name, shape):
    """One grey level at most, and on average 0.03 of one.

    Fractions are cut, so a last bit can decide a grey level: OpenCV's disk is in float32 (up to 0.02 on average), the
    package's enlargements, motion and colours round elsewhere (up to 0.002). The others agree to the last bit.
    """
    for severity in range(1, 6):
        picture = shown(scenes[severity % 2], *shape)
        ours = corrupt(
            picture, name, severity, rng=np.random.default_rng(severity), table="imagenet", frost=photographs
        )
        change = np.abs(ours.astype(int) - theirs(package, picture, name, severity, np.random.default_rng(severity)))
        assert change.max() <= 1
        assert change.mean() < 0.03


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - set(WITHOUT_CHANCE) - {"glass_blur"}))
def test_same_law_as_with_its_own_draws(package, photographs, scenes, name):
    """Mean and size of the change over many draws, the package's from numpy's global state (glass: see the next)."""
    picture = shown(scenes[0], 48, 48)
    rng = np.random.default_rng(5)

    def seeds(name, i):  # scikit-image has a generator of its own
        return {"seed": i} if name == "impulse_noise" else {}

    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    try:
        its = np.array([package.corrupt(picture, 3, name, **seeds(name, i)) for i in range(150)], dtype=float) - picture
    finally:
        np.random.set_state(state)  # noqa: NPY002
    ours = [corrupt(picture, name, 3, rng=rng, table="imagenet", frost=photographs) for _ in range(150)]
    ours = np.array(ours, dtype=float) - picture
    for measure in (np.mean, np.std):
        a, b = (np.array([measure(change) for change in changes]) for changes in (ours, its))
        error = np.sqrt(a.var() / len(a) + b.var() / len(b))
        assert abs(a.mean() - b.mean()) < 4 * error + 1e-9


def test_glass_copies():
    """The loop written out; the other pixel of a "swap" keeps its value, as with numpy's views in the original."""
    glass = Glass(1.0, 2, 3)
    draws = np.random.default_rng(3)
    x = np.arange(9 * 12)[:, None].repeat(2, axis=1).reshape(9, 12, 2)
    for _ in range(glass.times):
        for row in range(9 - 2, 2, -1):
            for column in range(12 - 2, 2, -1):
                right, down = draws.integers(-2, 2, size=2)
                x[row, column], x[row + down, column + right] = x[row + down, column + right], x[row, column]
    sources = glass_sources(9, 12, glass, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(sources, x[:, :, 0].ravel())
    assert len(set(sources.tolist())) < sources.size


@pytest.mark.parametrize("name", WITHOUT_CHANCE)
def test_grey_is_the_package_s_grey(package, scenes, name):
    """The package repeats the channel; where there is no chance, its three channels are our one."""
    picture = shown(scenes[0], 40, 64)[:, :, :1]
    for severity in range(1, 6):
        ours = corrupt(picture, name, severity, rng=np.random.default_rng(0), table="imagenet")
        change = np.abs(ours.astype(int) - theirs(package, picture, name, severity, np.random.default_rng(0)))
        assert change.max() <= 1
        assert change.mean() < 0.03


def flat(strength):
    """Its numbers, nested or not, in order."""
    if dataclasses.is_dataclass(strength):
        return [number for field in dataclasses.astuple(strength) for number in flat(field)]
    return [number for part in strength for number in flat(part)] if isinstance(strength, tuple) else [strength]


def test_published_severities():
    assert CORRUPTIONS == tuple(IMAGENET) == tuple(CIFAR) == tuple(PUBLISHED_CIFAR)
    for name, published in PUBLISHED_CIFAR.items():
        assert [flat(strength) for strength in CIFAR[name]] == [flat(strength) for strength in published], name


def test_names_are_the_package_s(package):
    assert list(CORRUPTIONS) == package.get_corruption_names()


def cut_to_middle(x, factor):
    """CIFAR-10-C's enlargement by scipy's."""
    n = len(x)
    part = int(np.ceil(n / factor))
    top = (n - part) // 2
    large = ndimage.zoom(x[top : top + part, top : top + part], (factor, factor, 1), order=1)
    first = (len(large) - n) // 2
    return large[first : first + n, first : first + n]


def test_cifar_zoom_is_cut_from_the_middle(scenes):
    x = shown(scenes[0], 32, 32) / 255
    for factor in (1.0, 1.05, 1.25, 1.75, 2.25):
        np.testing.assert_allclose(enlarged(x, factor, centred=True), cut_to_middle(x, factor), atol=1e-6)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
def test_cifar_s_own_variants(package, photographs, scenes, severity):
    """What CIFAR-10-C does otherwise, by OpenCV, with the same draws (motion as in the package, not ImageMagick's)."""
    import cv2

    module = package.corruptions
    picture = shown(scenes[0], 32, 32)
    x = (picture / 255).astype(np.float32)

    def agrees(name, expected, most):
        ours = corrupt(picture, name, severity, rng=np.random.default_rng(1), frost=photographs)
        change = np.abs(ours.astype(int) - np.clip(expected, 0, 255).astype(np.uint8))
        assert change.mean() < most, name

    kernel = module.disk(*PUBLISHED_CIFAR["defocus_blur"][severity - 1])
    agrees("defocus_blur", cv2.filter2D(picture / 255.0, -1, kernel) * 255, 0.1)

    rng = np.random.default_rng(1)
    mean, sd, zoom, threshold, radius, sigma, keep = PUBLISHED_CIFAR["snow"][severity - 1]
    flakes = cut_to_middle(rng.normal(size=(32, 32), loc=mean, scale=sd)[:, :, None], zoom)[:, :, 0]
    flakes[flakes < threshold] = 0
    flakes = (np.clip(flakes, 0, 1) * 255).astype(np.uint8)
    flakes = np.round(module._motion_blur(flakes, radius, sigma, rng.uniform(-135, -45)))[:, :, None] / 255
    pale = keep * x + (1 - keep) * np.maximum(x, cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[:, :, None] * 1.5 + 0.5)
    agrees("snow", (pale + flakes + np.rot90(flakes, 2)) * 255, 0.01)

    rng = np.random.default_rng(1)
    a, b = PUBLISHED_CIFAR["frost"][severity - 1]
    ice = cv2.resize(photographs[rng.integers(6)], (0, 0), fx=0.2, fy=0.2)
    top, left = rng.integers(0, ice.shape[0] - 32), rng.integers(0, ice.shape[1] - 32)
    agrees("frost", a * picture + b * ice[top : top + 32, left : left + 32], 0.01)

    rng = np.random.default_rng(1)
    amplitude, sigma, corners = (32 * share for share in PUBLISHED_CIFAR["elastic_transform"][severity - 1])
    before = np.array([[26, 26], [26, 6], [6, 6]], dtype=np.float32)
    after = before + rng.uniform(-corners, corners, size=(3, 2)).astype(np.float32)
    turned = cv2.warpAffine(x, cv2.getAffineTransform(before, after), (32, 32), borderMode=cv2.BORDER_REFLECT_101)
    right, down = (
        amplitude * ndimage.gaussian_filter(rng.uniform(-1, 1, size=(32, 32)), sigma, truncate=3) for _ in range(2)
    )
    rows, columns = np.mgrid[:32, :32]
    # OpenCV may take places to 1/32 pixel only.
    agrees("elastic_transform", sampled(turned, rows + down, columns + right, mode="reflect") * 255, 1.0)

    side = int(32 * PUBLISHED_CIFAR["pixelate"][severity - 1])
    small = Image.fromarray(picture).resize((side, side), Image.Resampling.BOX)
    agrees("pixelate", np.asarray(small.resize((32, 32), Image.Resampling.BOX)), 1e-9)


def test_affine_without_motion_is_the_identity():
    rows, columns = affine(7, 9, 0.0, rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.stack([rows, columns]), np.mgrid[:7, :9], atol=1e-12)


def test_table_by_size():
    """Below 64 pixels, CIFAR's 0.3 is added; from there on ImageNet's 0.5."""
    for side, table in ((63, "cifar"), (64, "imagenet")):
        grey = np.full((side, 80, 3), 50, dtype=np.uint8)
        ours = corrupt(grey, "brightness", 5, rng=np.random.default_rng(0))
        np.testing.assert_array_equal(ours, corrupt(grey, "brightness", 5, rng=np.random.default_rng(0), table=table))
        assert int(ours[0, 0, 0]) == {"cifar": 126, "imagenet": 177}[table]


# By how the published numbers are chosen: glass blurs more but copies no further at 2, 3 and 5; motion only gets a
# longer tail of weight 0 at 4; frost takes the picture back at 4 and 5; elastic has smaller affine maps at each step.
FALLING = {"glass_blur": {2, 3, 5}, "motion_blur": {4}, "frost": {4, 5}, "elastic_transform": {2, 3, 4, 5}}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_severities_grow(scenes, name):
    """The mean squared change at 32 px over pieces of two photographs, at every severity but those listed."""
    pictures = [shown(scene, 32, 32, top, left) for scene in scenes for top in (0, 60) for left in (0, 120, 240)]
    changes = [0.0]
    for severity in range(1, 6):
        ours = [corrupt(x, name, severity, rng=np.random.default_rng(i)) for i, x in enumerate(pictures * 5)]
        changes.append(float(np.mean((np.array(ours, dtype=float) - np.array(pictures * 5)) ** 2)))
    assert {i for i in range(1, 6) if changes[i] <= changes[i - 1]} <= FALLING.get(name, set())
    if name not in ("elastic_transform", "frost"):
        assert max(changes[4:]) > 1.5 * changes[1]


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (32, 32, 3), (5, 3, 3), (70, 90, 1), (1, 1, 1), (3, 200, 3)])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_any_size_from_our_generator_alone(name, shape):
    picture = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
    before = picture.copy()
    state = np.random.get_state()  # noqa: NPY002
    for table in ("cifar", "imagenet"):
        for severity in range(6):
            once, again = (
                corrupt(picture, name, severity, rng=np.random.default_rng(2), table=table) for _ in range(2)
            )
            assert once.shape == shape
            assert once.dtype == np.uint8
            np.testing.assert_array_equal(once, again)
            if severity == 0:
                np.testing.assert_array_equal(once, picture)
                assert once is not picture
    for mine, now in zip(state, np.random.get_state(), strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(mine, now)
    np.testing.assert_array_equal(picture, before)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_chance_is_where_it_should_be(scenes, name):
    picture = shown(scenes[1], 32, 32)
    rng = np.random.default_rng(0)
    first, second = (corrupt(picture, name, 5, rng=rng) for _ in range(2))
    assert np.array_equal(first, second) == (name in WITHOUT_CHANCE)


@pytest.mark.parametrize("value", [0, 255])
@pytest.mark.parametrize("name", WITHOUT_CHANCE)
def test_black_and_white_stay(name, value):
    """No blur, contrast or compression changes a picture of one colour; brightness leaves white."""
    picture = np.full((28, 28, 1), value, dtype=np.uint8)
    if (name, value) != ("brightness", 0):
        for severity in range(1, 6):
            np.testing.assert_allclose(corrupt(picture, name, severity, rng=np.random.default_rng(0)), value, atol=1)


def test_whole_numbers_of_any_kind():
    picture = np.full((9, 9, 3), 40, dtype=np.uint8)
    for severity in (2, 2.0, np.int64(2), np.float32(2)):
        assert int(corrupt(picture, "brightness", severity, rng=np.random.default_rng(0))[0, 0, 0]) == 65


def test_floats_are_rounded(scenes):
    picture = shown(scenes[0], 32, 32)
    for name in ("jpeg_compression", "fog"):
        ours = corrupt(picture + np.float32(0.3) * (picture < 255), name, 2, rng=np.random.default_rng(0))
        np.testing.assert_array_equal(ours, corrupt(picture, name, 2, rng=np.random.default_rng(0)))


def test_own_ice_is_as_bright_and_as_rough_as_frost(photographs):
    """Within the photographs' range: mean, deviation, and the deviation left within 2 pixels."""

    def measures(texture):
        grey = texture.mean(axis=2)
        return grey.mean(), grey.std(), (grey - ndimage.gaussian_filter(grey, 2)).std()

    its = np.array([measures(texture) for texture in photographs])
    for texture in ice_textures():
        assert texture.dtype == np.uint8
        ours = np.array(measures(texture))
        assert (ours > 0.9 * its.min(axis=0)).all()
        assert (ours < 1.2 * its.max(axis=0)).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "rain"}, "no corruption 'rain'; choose one of gaussian_noise, "),
        ({"severity": 6}, "severity 6: give a whole number from 0"),
        ({"severity": -1}, "severity -1"),
        ({"severity": 2.5}, "severity 2.5"),
        ({"severity": True}, "severity True"),
        ({"severity": "3"}, "severity '3'"),
        ({"severity": None}, "severity None"),
        ({"table": "svhn"}, 'choose "imagenet", "cifar"'),
        ({"rng": 3}, "give a numpy.random.Generator"),
        ({"picture": np.zeros((8, 8), np.uint8)}, r"shape \(8, 8\)"),
        ({"picture": np.zeros((8, 8, 2), np.uint8)}, "1 or 3 channels"),
        ({"picture": np.zeros((0, 8, 3), np.uint8)}, "cannot be corrupted"),
        ({"picture": np.full((8, 8, 3), -0.5)}, "from 0 to 255"),
        ({"picture": np.full((8, 8, 3), np.nan)}, "from 0 to 255"),
        ({"picture": np.full((8, 8, 3), "a")}, "from 0 to 255"),
        ({"name": "frost", "frost": []}, "one or more pictures"),
        ({"name": "frost", "frost": [np.zeros((9, 9), np.uint8)]}, r"\(height, width, 3\)"),
        ({"name": "frost", "frost": [np.zeros((9, 9, 3))]}, "uint8"),
    ],
)
def test_bad_input(change, says):
    given = {"picture": np.zeros((8, 8, 3), np.uint8), "name": "fog", "severity": 1, "rng": np.random.default_rng(0)}
    given.update(change)
    with pytest.raises(InputError, match=says):
        corrupt(given.pop("picture"), given.pop("name"), given.pop("severity"), **given)


def test_names_come_without_waiting():
    """Neither `import heldout` nor the names load what the corruptions compute with."""
    code = (
        "import sys, heldout, heldout.memorization.perturb.corruptions as c; assert len(c.CORRUPTIONS) == 15\n"
        "groups = [c.__name__ + '.' + g for g in ('noise', 'blur', 'weather', 'digital', 'ice')]\n"
        "assert not set(groups) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
