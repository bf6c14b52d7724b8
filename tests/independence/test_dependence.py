"""Pictures that are not independent: on both sides refused, within a set made groups of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from heldout import AuditResult, InputError, Translations, audit
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.independence.dependence import Dependence, dependence


def noise(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 6, 6), dtype=np.uint8)


def images_of(x: np.ndarray, **options) -> LabelledImages:
    return LabelledImages(from_arrays(x, np.arange(len(x)) % 2), Wrap(), **options)


def found(test: LabelledImages, control: LabelledImages | None = None) -> dict[str, Dependence]:
    sets = {"test": test} if control is None else {"test": test, "control": control}
    return dependence({name: (images, np.arange(len(images))) for name, images in sets.items()})


def test_pictures_in_both_sets_are_found_in_any_order_and_number():
    test, control = noise(20, 0), noise(15, 1)
    assert found(images_of(test), images_of(control))["test"].codes is None
    control[[3, 11]] = test[[17, 2]]
    with pytest.raises(InputError) as stop:
        found(images_of(test), images_of(control))
    assert str(stop.value).startswith(
        "2 of 15 control pictures stand in the test set too, pixel by pixel (test 17 is control 3, 2 is control 11)"
    )
    assert "heldout split" in str(stop.value)
    with pytest.raises(InputError, match=r"15 of 15 control .* \.\.\.\)"):
        found(images_of(test), images_of(np.concatenate([test[5:], test[:0]])))


def test_only_audited_pictures_are_looked_at():
    test, control = noise(20, 0), noise(20, 1)
    control[19] = test[19]
    rows = np.arange(19)
    apart = dependence({"test": (images_of(test), rows), "control": (images_of(control), rows)})
    assert apart["test"] == Dependence(None, 0)


def test_duplicates_are_counted_and_joined_with_groups():
    x = noise(8, 0)
    x[5] = x[1]
    x[6] = x[1]
    x[7] = x[0]
    alone = found(images_of(x))["test"]
    assert alone.n_duplicates == 3
    assert alone.codes.tolist() == [0, 1, 2, 3, 4, 1, 1, 0]
    both = found(images_of(x, groups=["a", "b", "b", "c", "d", "e", "f", "g"]))["test"]
    assert both.codes.tolist() == [0, 1, 1, 2, 3, 1, 1, 0]
    assert both.sentence(8) == (
        "8 pictures in 4 groups, the largest of 4; 3 of them repeat another one pixel by pixel. A group counts as one: "
        "whole groups are compared. 4 groups are few: below about 30 little can be found, and intervals are rough"
    )
    assert found(images_of(noise(4, 1), groups=list("abcd")))["test"] == Dependence(None, 0)


def test_a_group_in_both_sets_is_refused():
    test, control = images_of(noise(6, 0), groups=list("aabbcc")), images_of(noise(4, 1), groups=list("ccdd"))
    with pytest.raises(InputError, match=r"1 group of `groups` \('c'\) is in both .*\(heldout split takes `groups`\)"):
        found(test, control)
    found(test, replace(control, groups=list("eedd")))
    found(test, replace(control, groups=None))
    with pytest.raises(InputError, match=r"2 groups .* are in both"):
        found(replace(test, groups=[1, 1, 2, 2, 3, 3]), replace(control, groups=["1", "2", "4", "4"]))


def test_an_audit_keeps_the_groups(linear_model, tmp_path):
    x = noise(60, 0)
    x[40:] = x[:20]
    sentences: list[str] = []
    test, control = images_of(x), images_of(noise(60, 1), groups=np.arange(60) % 2 + np.arange(60) // 4 * 2)
    result = audit(
        linear_model((1, 6, 6), 2), test, control=control, orbit=Translations(1), allow_chance=True,
        notify=sentences.append,
    )  # fmt: skip
    assert (result.test.n_groups, result.test.n_duplicates) == (40, 20)
    assert np.array_equal(result.test.groups[40:], result.test.groups[:20])
    assert (result.control.n_groups, result.control.n_duplicates) == (30, 0)
    assert sentences[0].startswith(
        "test set: 60 pictures in 40 groups, the largest of 2; 20 of them repeat another one"
    )
    assert sentences[1].startswith("control set: 60 pictures in 30 groups")
    result.save(tmp_path / "result")
    again = AuditResult.load(tmp_path / "result")
    assert np.array_equal(again.test.groups, result.test.groups)
    assert again.to_dict() == result.to_dict()
    assert (again.to_dict()["n_groups"], again.to_dict()["n_duplicates"]) == (40, 20)


def test_a_subset_keeps_its_part_of_the_groups(linear_model):
    test = images_of(noise(80, 0), groups=[f"video {i // 4}" for i in range(80)])
    result = audit(linear_model((1, 6, 6), 2), test, orbit=Translations(1), allow_chance=True, limit=30)
    named = [int(i) // 4 for i in result.test.ids]
    assert all((a == b) == (c == d) for a, c in zip(named, result.test.groups, strict=True)
               for b, d in zip(named, result.test.groups, strict=True))  # fmt: skip


@pytest.mark.slow
def test_level_where_every_picture_is_there_five_times():
    """An honest model: at most one false alarm in twenty. As independent pictures they gave 0.29."""
    rng = np.random.default_rng(5)

    def fair(batch: np.ndarray) -> np.ndarray:  # reads the label from a corner, most of the time
        flat = np.round(batch.reshape(len(batch), -1) * 255).astype(np.int64)
        hashed = (flat @ np.arange(1, 26) ** 3 * 2654435761) % 1009 / 1009
        return np.eye(3)[np.where(hashed < 0.7, flat[:, 0] % 3, (hashed * 7919).astype(int) % 3)]

    def draw() -> LabelledImages:
        x = np.repeat(rng.integers(0, 256, (40, 5, 5), dtype=np.uint8), 5, axis=0)
        return LabelledImages(from_arrays(x, x[:, 0, 0] % 3), Wrap())

    options = {"orbit": Translations(1), "n_resamples": 199, "allow_chance": True}
    alarms = sum(audit(fair, draw(), control=draw(), **options).p_value <= 0.05 for _ in range(200))
    assert binomtest(alarms, 200, 0.05, alternative="greater").pvalue > 1e-3, alarms
