"""Labels by number or by name, in every verb; keys under their usual names; arguments as options."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from heldout import label_noise_curve, stress
from heldout.checks import check_labels, number_labels, pair
from heldout.cli import main
from heldout.errors import InputError

NAMES = np.array([f"class {c}" for c in "abcdefghij"])


@pytest.fixture
def written(tmp_path, demo_arrays, monkeypatch):
    """The demo's first pictures, with labels under another key, once as numbers and once as names."""
    monkeypatch.chdir(tmp_path)
    images, labels = demo_arrays["test_images"][:60], demo_arrays["test_labels"][:60]
    fresh, fresh_labels = demo_arrays["control_images"][:60], demo_arrays["control_labels"][:60]
    said = np.where(np.random.default_rng(0).random((3, 60)) < 0.7, labels, (labels + 1) % 10)
    for kind, of in (("numbers", lambda y: y), ("names", lambda y: NAMES[y])):
        np.savez(tmp_path / f"{kind}.npz", images=images, targets=of(labels))
        np.savez(tmp_path / f"{kind}-fresh.npz", images=fresh, targets=of(fresh_labels))
        np.savez(tmp_path / f"{kind}-pool.npz", predictions=of(said), targets=of(labels))
    (tmp_path / "checks_trainings.py").write_text(
        "from sklearn.neighbors import KNeighborsClassifier\n"
        "def train(x, y, seed):\n"
        "    model = KNeighborsClassifier(1).fit(x.reshape(len(x), -1), y)\n"
        "    return lambda z: model.predict(z.reshape(len(z), -1))\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "audit --model {onnx} --images {0}.npz --wrap --radius 1 --limit 30 --out out",
        "audit --model {onnx} --images {0}.npz --control {0}-fresh.npz --wrap --radius 1 --out out",
        "memorization curve --model {onnx} --images {0}.npz --limit 30 --strengths 0:1 --out out",
        "memorization retrain --train checks_trainings:train --data {0}.npz --label-noise 0,0.4 --repetitions 1 "
        "--out out --validation {0}-fresh.npz --no-seed-check",
        "stress --labels {0}.npz --queries 20 --trials 2 --n-jobs 1",
        "budget {0}-pool.npz",
        "split {0}.npz --control 0.2 --out out-{0}",
    ],
)
def test_targets_and_names_in_every_verb(line, written, honest_onnx, capsys, monkeypatch):
    """`targets` worked in stress only, and names in budget only."""

    def numbers(kind: str) -> list[object]:
        monkeypatch.syspath_prepend(str(written))
        assert main([*shlex.split(line.format(kind, onnx=honest_onnx)), "--json"]) == 0
        found: list[object] = []

        def walk(value: object) -> None:
            if isinstance(value, dict):
                for inside in value.values():
                    walk(inside)
            elif isinstance(value, list):
                for inside in value:
                    walk(inside)
            elif isinstance(value, (int, float)):
                found.append(value)

        walk(json.loads(capsys.readouterr().out))
        return found

    assert numbers("names") == numbers("numbers")


def test_names_in_python(rng):
    codes = rng.integers(0, 3, 60)
    names = np.array(["cat", "dog", "emu"])[codes]
    by_name, by_number = (stress(labels=y, queries=20, trials=2, n_jobs=1) for y in (names, codes))
    assert by_name.run.accuracy.tolist() == by_number.run.accuracy.tolist()

    def train(x, y, seed):
        return lambda z: y

    x = rng.random((60, 2))
    curves = [label_noise_curve(train, (x, y), [0, 0.5], repetitions=1, check_seed=False) for y in (names, codes)]
    assert curves[0].pmv.accuracies.tolist() == curves[1].pmv.accuracies.tolist()


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ([[0, 1]], {}, r"the shape is \(1, 2\)"),
        ([[0.1, 0.9]] * 3, {}, "take the argmax first"),
        ([], {}, "there are none"),
        ([0, 1], {"count": 3}, "2 for 3 examples"),
        ([0.5], {}, "the type is float64"),
        ([-1], {}, "-1 is not a class; classes are numbered from 0"),
        ([0, 3], {"classes": 3}, "3 is not a class; classes are 0 to 2"),
    ],
)
def test_labels_that_are_none(labels, options, words):
    with pytest.raises(InputError, match=words):
        check_labels(labels, **options)


def test_names_are_numbered_as_those_of_another_set():
    codes, names = number_labels(np.array([b"dog", b"emu"]), ["emu", "cat", "dog"])
    assert (codes.tolist(), names) == ([2, 0], ("emu", "cat", "dog"))
    with pytest.raises(InputError, match="'dog' is not among the classes cat"):
        number_labels(["dog"], ["cat"])
    with pytest.raises(InputError, match="text is mixed with 1"):
        number_labels(np.array(["dog", 1], dtype=object))


@pytest.mark.parametrize(
    ("keys", "chosen", "of", "found"),
    [
        ("X Y", {}, "test", "X Y"),
        ("x y data targets", {"x_key": "data"}, "test", "data targets"),
        ("x y data targets", {"y_key": "y"}, "test", "x y"),
        ("images labels y", {}, "test", "images labels"),  # as `split` leaves them
        ("images test_labels", {}, "test", "images test_labels"),
        ("x_train y_train x_test y_test", {}, "test", "x_test y_test"),
        ("x_train y_train x_test y_test", {}, "train", "x_train y_train"),
        ("x_train y_train x_test y_test", {}, "validation", "x_test y_test"),
        ("test_images test_labels control_images control_labels", {"x_key": "control_images"}, "test",
         "control_images control_labels"),
        ("old_images old_labels new_images new_labels", {"x_key": "new_images"}, "test", "new_images new_labels"),
        ("photos labels", {"x_key": "photos"}, "test", "photos labels"),
        ("x y data targets", {}, "test", "several arrays of pictures and labels ('x' with 'y', 'data' with 'targets')"),
        ("images y targets", {}, "test", "several arrays of labels ('y', 'targets'); choose with `labels_key`"),
        ("x data label_names gold", {}, "test", "several arrays of pictures ('x', 'data'); choose with `images_key`"),
        ("test_images test_labels control_images control_labels", {}, "any", "'control_images' with 'control_labels'"),
        ("control_images test_labels", {"x_key": "control_images"}, "test", "no labels that go with 'control_images'"),
        ("photos labels", {}, "test", "no pictures under a usual name; of its keys 'photos', 'labels'"),
    ],
)  # fmt: skip
def test_arrays_of_a_file_are_paired_by_convention(keys, chosen, of, found):
    def told():
        try:
            return " ".join(pair(keys.split(), **{"x_key": None, "y_key": None} | chosen, of=of, source="a.npz"))
        except InputError as error:
            return str(error)

    assert found in told()
    assert ("a.npz" in told()) == ("'" in found)
