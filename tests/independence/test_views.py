"""The orbit test in audits: pictures as they stand against all of their views."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from heldout import Dihedral, HorizontalFlip, InputError, OptionOrders, Translations, audit, audit_many
from heldout.cli import main
from heldout.images import Crop, LabelledImages, Pad, Whole, Wrap, from_arrays
from heldout.independence.result import AuditResult
from heldout.independence.views import views_test
from heldout.orbit.square import acted
from heldout.statistics import orbit_test
from heldout.statistics.orbit_power import detectable_errors
from heldout.statistics.poisson_binomial import unit_counts


def arranged(pictures: np.ndarray, elements: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Each picture in one of its views, drawn: now every view is as likely as the others."""
    drawn = rng.choice(elements, len(pictures))
    return np.stack([acted(picture, element, axes=(0, 1)) for picture, element in zip(pictures, drawn, strict=True)])


@pytest.fixture(scope="module")
def clothes(demo_arrays) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    parts = {"test": demo_arrays["test_images"][:300], "rest": demo_arrays["control_images"][:500]}
    labels = {"test": demo_arrays["test_labels"][:300], "rest": demo_arrays["control_labels"][:500]}
    return {name: (arranged(parts[name], Dihedral().elements, rng), labels[name]) for name in parts}


@pytest.fixture(scope="module")
def models(clothes) -> dict[str, LogisticRegression]:
    """One that had the test set in its training data, and its twin that had not; neither saw other views of it."""
    (test, labels), (rest, rest_labels) = clothes["test"], clothes["rest"]

    def fitted(x: np.ndarray, y: np.ndarray) -> LogisticRegression:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            return LogisticRegression(max_iter=40).fit(x.reshape(len(x), -1) / 255.0, y)

    leaked = fitted(np.concatenate([rest, test]), np.concatenate([rest_labels, labels]))
    return {"leaked": leaked, "honest": fitted(rest, rest_labels)}


def images_of(part: tuple[np.ndarray, np.ndarray], **options) -> LabelledImages:
    return LabelledImages(from_arrays(*part), Whole(), **options)


@pytest.mark.parametrize("orbit", [HorizontalFlip(), Dihedral()], ids=lambda orbit: orbit.name)
def test_a_model_that_has_seen_the_pictures_as_they_stand_is_found_and_its_twin_is_not(clothes, models, orbit):
    test = images_of(clothes["test"])
    leaked, honest = (audit(models[name], test, orbit=orbit, allow_chance=True) for name in ("leaked", "honest"))
    assert (leaked.outcome, leaked.ruling.rests_on) == ("easier", "orbit")
    assert leaked.p_value < 1e-9
    assert (honest.outcome, honest.p_value > 0.05) == ("no evidence", True)
    assert honest.evaluations_per_image == len(orbit) + 1
    for result in (leaked, honest):
        # Every view by itself, asked of the model directly
        pictures, labels = clothes["test"]
        views = [np.stack([acted(x, element, axes=(0, 1)) for x in pictures]) for element in orbit.elements]
        model = models["leaked" if result is leaked else "honest"]
        wrong = np.stack([model.predict(v.reshape(len(v), -1) / 255.0) != labels for v in views], axis=1)
        assert result.test.view_losses[0].tolist() == wrong.tolist()
        found = orbit_test(wrong, alternative="two-sided")
        assert result.evidence.log_p_value == pytest.approx(found.log_p_value, rel=1e-9)
        assert result.evidence.views.expected_error == pytest.approx(found.expected / len(wrong))


def test_from_the_command_line(clothes, models, tmp_path, capsys, monkeypatch):
    import joblib

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, model in models.items():
        joblib.dump(model, tmp_path / f"{name}.joblib")
    (tmp_path / "twins_of_views.py").write_text(
        "import joblib\ndef leaked():\n    return joblib.load('leaked.joblib')\n"
        "def honest():\n    return joblib.load('honest.joblib')\n"
    )
    np.savez(tmp_path / "test.npz", images=clothes["test"][0], labels=clothes["test"][1])
    base = ["audit", "--images", "test.npz", "--orbit", "dihedral", "--allow-chance", "--fail-under", "0.001"]
    assert main([*base, "--model", "twins_of_views:leaked", "--out", "leaked"]) == 1
    assert capsys.readouterr().out.startswith("Easier as they stand than in other views. At level 0.05: it cannot both")
    assert main([*base, "--model", "twins_of_views:honest", "--out", "honest"]) == 0
    assert AuditResult.load(tmp_path / "leaked").orbit == Dihedral()
    both = ["--model", "twins_of_views:leaked", "--orbit", "translations+dihedral", "--wrap", "--limit", "30"]
    assert main([*base, *both, "--radius", "1", "--out", "both"]) == 0
    assert AuditResult.load(tmp_path / "both").orbit == Dihedral() * Translations(1)
    assert main([*base, "--model", "twins_of_views:leaked", "--orbit", "translations+flip", "--crop", "32"]) == 2
    assert "leaves no pixels to move in" in capsys.readouterr().err


def test_exhibits_show_the_view_that_the_model_saw():
    """Of a crop half a pixel off centre, where a turned crop is another one than the crop of what was turned."""
    rng = np.random.default_rng(2)
    pictures, weights = rng.integers(0, 256, (80, 8, 8, 3), dtype=np.uint8), rng.normal(size=(2, 5 * 5 * 3))

    def linear(batch):
        return (batch.reshape(len(batch), -1) - 0.5) @ weights.T

    images = LabelledImages(from_arrays(pictures, rng.integers(0, 2, 80)), Crop(5))
    found = audit(linear, images, orbit="dihedral", allow_chance=True)
    assert len(found.exhibits) == 12
    assert len({exhibit.move[0] for exhibit in found.exhibits}) > 3
    for exhibit in found.exhibits:
        whole = pictures[int(exhibit.id)]
        views = [Crop(5).place(acted(whole, element, axes=(0, 1)), 0) for element in (0, exhibit.move[0])]
        assert np.array_equal(exhibit.original, views[0])
        assert np.array_equal(exhibit.moved, views[1])
        assert exhibit.move[1:] == (0, 0)
        logits = linear(np.stack([images.scaled(view, "nchw", counts=True) for view in views]))
        assert logits.argmax(axis=1).tolist() == [exhibit.predicted, exhibit.moved_predicted]
        assert exhibit.predicted == exhibit.label != exhibit.moved_predicted


def test_several_models_are_one_count_and_groups_are_moved_together():
    """p by drawing a view for every unit, in all ways that there are."""
    rng = np.random.default_rng(4)
    view_losses = rng.random((3, 6, 2)) < 0.5
    groups = np.array([0, 0, 1, 2, 3, 3])
    for of in (None, groups):
        counts = unit_counts(view_losses.sum(axis=0), of)
        sums = [sum(row[k] for row, k in zip(counts, ways, strict=True))
                for ways in itertools.product(range(2), repeat=len(counts))]  # fmt: skip
        observed = view_losses[..., 0].sum()
        lower, upper = np.mean(np.array(sums) <= observed), np.mean(np.array(sums) >= observed)
        found = views_test(view_losses, of)
        assert math.exp(found.log_p_overfitted) == pytest.approx(lower)
        assert math.exp(found.log_p_two_sided) == pytest.approx(min(1.0, 2 * min(lower, upper)))
        assert (found.errors, found.expected) == (observed, pytest.approx(np.mean(sums)))
        assert found.standard_deviation == pytest.approx(np.std(sums))


def test_the_verdict_is_declared_by_what_the_audit_is_given(clothes, models):
    test, control = images_of(clothes["test"]), images_of(clothes["rest"])
    options = {"allow_chance": True, "n_resamples": 199, "limit": 100}
    both = [models["leaked"], models["honest"]]
    alone = audit_many(both, test, orbit=HorizontalFlip(), alternative="greater", **options)
    assert alone.evidence.log_p_value == alone.evidence.views.log_p_greater < alone.evidence.views.log_p_two_sided
    assert set(alone.evidence.log_p_values) >= {"orbit", "betting", "bernstein"}
    against = audit(models["honest"], test, control=control, orbit=HorizontalFlip(), **options)
    assert against.ruling.rests_on == "T and error rate"
    assert against.evidence.p_value == against.evidence.control.p_value
    assert against.evidence.views is not None
    moved = audit(models["honest"], test.with_frame(Wrap()), orbit=HorizontalFlip() * Translations(1), limit=30,
                  allow_chance=True)  # fmt: skip
    assert (moved.ruling.rests_on, moved.evidence.views) == ("betting", None)


def test_a_mirrored_copy_is_the_same_picture(clothes, models):
    pictures, labels = clothes["test"][0][:40], clothes["test"][1][:40]
    twice = np.concatenate([pictures, pictures[:5, :, ::-1]]), np.concatenate([labels, labels[:5]])
    found = audit(models["honest"], images_of(twice), orbit=HorizontalFlip(), allow_chance=True)
    assert (found.test.n_groups, found.test.n_duplicates) == (40, 5)
    # Of a picture and its mirror image one stands as the other was drawn: together they say nothing.
    counts = unit_counts(found.test.view_losses.sum(axis=0), found.test.groups)
    assert counts[:5, 0].tolist() == counts[:5, 1].tolist()
    with pytest.raises(
        InputError, match="stand in the test set too, pixel by pixel, as they are or mirrored or turned"
    ):
        audit(models["honest"], images_of((pictures, labels)), orbit=HorizontalFlip(), allow_chance=True,
              control=images_of((pictures[:, :, ::-1], labels)))  # fmt: skip


def test_symmetric_pictures_are_counted():
    rng = np.random.default_rng(1)
    pictures = rng.integers(0, 256, (30, 6, 6), dtype=np.uint8)
    pictures[:7] = np.maximum(pictures[:7], pictures[:7, :, ::-1])

    def halves(batch):
        return np.stack([batch[..., :3].sum((1, 2, 3)), batch[..., 3:].sum((1, 2, 3))], axis=1)

    images = LabelledImages(from_arrays(pictures, rng.integers(0, 2, 30)), Whole())
    found = audit(halves, images, orbit="flip", allow_chance=True)
    assert (found.orbit, found.evidence.views.n_symmetric) == (HorizontalFlip(), 7)
    assert not (found.test.view_losses[0, :7, 0] != found.test.view_losses[0, :7, 1]).any()
    assert "7, which some move leaves unchanged" in str(found)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"orbit": Dihedral()}, "quarter-turns need square pictures, but these are 6 x 8"),
        ({"orbit": "dihedral"}, "quarter-turns need square .* with the orbit 'flip'"),
        ({"orbit": Translations(1) * Dihedral(), "frame": Wrap()}, "`crop`, in place .* 'translations\\+flip'"),
        ({"orbit": "translations"}, r"needs a radius, .* give heldout\.Translations\(2\)"),
        ({"orbit": "turns"}, "`orbit` is 'turns'; choose one of"),
        ({"orbit": Dihedral}, "`orbit` is <class .*; it must be heldout.Translations"),
        ({"orbit": OptionOrders(3)}, "it must be heldout.Translations"),
        ({"orbit": Dihedral(), "frame": Crop(7)}, "is 6 x 8, smaller than the crop of"),
        ({"orbit": HorizontalFlip(), "rule": "nearest"}, "'nearest' needs moves with a length"),
        ({"orbit": HorizontalFlip(), "tolerance": 0.1}, "`tolerance` is for shifts"),
        ({"orbit": HorizontalFlip(), "limit": 5}, "with fewer than 6 pictures"),
        ({"orbit": HorizontalFlip() * Translations(1)}, "no radius fits"),
        ({"orbit": HorizontalFlip() * Translations(1), "frame": Pad()}, "cannot be audited without a control"),
    ],
)
def test_bad_input(options, told, linear_model):
    rng = np.random.default_rng(1)
    source = from_arrays(rng.random((30, 6, 8)), rng.integers(0, 2, 30))
    images = LabelledImages(source, options.pop("frame", Whole()))
    with pytest.raises(InputError, match=told):
        audit(linear_model((6, 8, 1), 2), images, allow_chance=True, **options)


@pytest.mark.parametrize("k", [2, 8])
def test_what_could_have_been_found(k):
    """So many pictures known by heart as they stand that the test finds them four times in five."""
    rng = np.random.default_rng(5)
    counts = (rng.random((300, k)) < rng.random((300, 1)) ** 2).astype(int)
    found = detectable_errors(counts, alternative="two-sided")
    share = found.turned / ((1 - 1 / k) * counts.mean(axis=1).sum())
    hits, n = 0, 300
    for _ in range(n):
        turned = rng.permuted(counts, axis=1)
        turned[rng.random(len(counts)) < share, 0] = 0
        hits += orbit_test(turned, alternative="two-sided").p_value <= 0.05
    assert 0.8 - 4 * 0.023 < hits / n < 0.8 + 4 * 0.023
    assert math.isnan(detectable_errors(np.ones((20, 2), dtype=int)).high)
