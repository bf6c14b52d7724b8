"""Retraining on noisy labels: closed forms for learners that memorise and that learn, equal bits, nothing lost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from heldout.errors import InputError
from heldout.memorization.metrics import slope
from heldout.memorization.retrain import retrain

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@pytest.fixture(scope="module")
def everything():
    x, y = load_digits(return_X_y=True)
    return x / 16, y


@pytest.fixture(scope="module")
def digits(everything):
    x, y = everything
    return x[:600], y[:600]


def test_a_model_that_memorises_everything(digits):
    """1-nearest-neighbour: right on every label it was given, so k_S = 0 and k_PTV = 1."""
    found = retrain(KNeighborsClassifier(1), *digits, RATES, repetitions=2)
    assert (found.pmv == 1).all()
    assert slope(found.pmv.mean(axis=1), RATES) == pytest.approx(0, abs=1e-12)
    assert slope(found.ptv.mean(axis=1), RATES) == pytest.approx(1, abs=1e-9)
    assert found.failures == ()


def test_a_model_that_learns(everything):
    """Design: with clean accuracy A under noise, PMV falls at about A - (1 - A)/9 and PTV hardly at all."""
    model = LogisticRegression(C=0.01, max_iter=300)
    found = retrain(model, *everything, RATES, repetitions=2, n_jobs=2)
    k_s, k_ptv = slope(found.pmv.mean(axis=1), RATES), slope(found.ptv.mean(axis=1), RATES)
    clean = float(found.ptv.mean())
    assert k_s > 0.85
    assert k_ptv < 0.2
    assert k_s == pytest.approx(clean - (1 - clean) / 9, abs=0.12)


def test_a_model_that_knows_nothing(digits):
    """A constant label: right on a tenth of everything, whatever the noise."""
    found = retrain(DummyClassifier(strategy="constant", constant=3), *digits, RATES, repetitions=1)
    assert slope(found.ptv[:, 0], RATES) == pytest.approx(0, abs=1e-12)
    assert slope(found.pmv[:, 0], RATES) < 0.1


def test_any_number_of_workers(digits, tmp_path):
    """Equal seeds give equal bits with 1 and with 2 workers, from a checkpoint, and with more repetitions asked for."""
    x, y = digits
    tree = DecisionTreeClassifier(max_depth=6)
    held = (x[:100], y[:100])
    one = retrain(tree, x, y, RATES[:3], repetitions=2, seed=4, validation=held)
    two = retrain(tree, x, y, RATES[:3], repetitions=2, seed=4, validation=held, n_jobs=2, checkpoint=tmp_path)
    again = retrain(tree, x, y, RATES[:3], repetitions=2, seed=4, validation=held, checkpoint=tmp_path)
    for other in (two, again):
        np.testing.assert_array_equal(one.noisy_right, other.noisy_right)
        np.testing.assert_array_equal(one.clean_right, other.clean_right)
        np.testing.assert_array_equal(one.validation_right, other.validation_right)
    more = retrain(tree, x, y, RATES[:4], repetitions=3, seed=4, validation=held, checkpoint=tmp_path)
    np.testing.assert_array_equal(more.noisy_right[:3, :2], one.noisy_right)
    assert (retrain(tree, x, y, RATES[:3], repetitions=2, seed=5).noisy_right != one.noisy_right).any()


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_any_backend(digits, backend):
    import joblib

    x, y = digits[0][:200], digits[1][:200]
    model = LogisticRegression(C=0.1)
    one = retrain(model, x, y, RATES[:3], repetitions=2, seed=4)
    with joblib.parallel_config(backend, n_jobs=2):
        two = retrain(model, x, y, RATES[:3], repetitions=2, seed=4)
    np.testing.assert_array_equal(one.noisy_right, two.noisy_right)


LATER = """
from pathlib import Path

import numpy as np


def train(x, y, seed):
    label = int(Path("label").read_text())
    return lambda z: np.full(len(z), {factor} * label)
"""


def test_workers_find_what_this_process_finds_by_now(tmp_path, monkeypatch):
    """joblib keeps workers for the next call; those of another folder would have no module, or that folder's."""
    import importlib
    import sys

    retrain(KNeighborsClassifier(1), POINTS, TRUTH, (0.0, 0.5), repetitions=1, n_jobs=2)
    monkeypatch.syspath_prepend("")  # as in an interactive session
    monkeypatch.setitem(sys.modules, "found_later", None)  # so that it is forgotten at the end
    for name, factor, label in (("one", 1, 0), ("two", 2, 1)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "found_later.py").write_text(LATER.format(factor=factor))
        (folder / "label").write_text(str(label))
        monkeypatch.chdir(folder)
        del sys.modules["found_later"]
        train = importlib.import_module("found_later").train
        found = retrain(train, POINTS, TRUTH, (0.0, 0.5), repetitions=1, n_jobs=2)
        np.testing.assert_array_equal(found.clean_right[0, 0], factor * label == TRUTH)


class Counting:
    """A training function that says how often it was called, in a file."""

    def __init__(self, path, mended):
        self.path, self.mended = path, mended

    def __call__(self, x, y, seed):
        with self.path.open("a") as f:
            f.write(".")
        if not self.mended.exists() and (y != TRUTH).mean() > 0.25:
            raise RuntimeError("no convergence")
        return KNeighborsClassifier(1).fit(x, y)


TRUTH = np.arange(60) % 3
POINTS = np.random.default_rng(0).random((60, 2))


def test_what_failed_is_named_and_what_did_not_is_kept(tmp_path):
    calls = tmp_path / "calls"
    train = Counting(calls, tmp_path / "mended")
    found = retrain(train, POINTS, TRUTH, (0.0, 0.2, 0.4), repetitions=2, checkpoint=tmp_path / "kept")
    assert len(found.failures) == 2
    assert "rate 0.4, repetition 0: RuntimeError: no convergence (test_retrain.py, line" in found.failures[0]
    assert found.done.tolist() == [[True, True], [True, True], [False, False]]
    assert np.isnan(found.pmv[2]).all()
    assert len(calls.read_text()) == 8  # two were tried twice, to see whether they repeat themselves
    train.mended.touch()  # only the failed ones run again
    mended = retrain(train, POINTS, TRUTH, (0.0, 0.2, 0.4), repetitions=2, checkpoint=tmp_path / "kept")
    assert mended.done.all()
    assert len(calls.read_text()) == 11


def test_predictors_of_all_kinds():
    scores = retrain(lambda x, y, seed: lambda z: np.eye(3)[y], POINTS, TRUTH, (0.0, 0.5), repetitions=1)
    assert (scores.pmv == 1).all()
    labels = retrain(lambda x, y, seed: lambda z: y, POINTS, TRUTH, (0.0, 0.5), repetitions=1)
    np.testing.assert_array_equal(scores.noisy_right, labels.noisy_right)


@pytest.mark.parametrize(
    ("train", "rates", "words"),
    [
        (lambda x, y, seed: lambda z: y[:5], (0.0, 0.1), r"returned the shape \(5,\)"),
        (lambda x, y, seed: lambda z: y, (0.1, 0.2), "give 0 and at least one larger"),
        (lambda x, y, seed: lambda z: y, (0.0, 0.2, 0.1), "grow"),
        (3, (0.0, 0.1), "a scikit-learn estimator or a function"),
    ],
)
def test_bad_input(train, rates, words):
    with pytest.raises(InputError, match=words):
        retrain(train, POINTS, TRUTH, rates, repetitions=1)


def test_fewer_classes_than_labels():
    with pytest.raises(InputError, match="classes are 0 to 1"):
        retrain(KNeighborsClassifier(1), POINTS, TRUTH, (0.0, 0.1), classes=2)


def test_what_a_training_does_to_its_data_stays_there(digits):
    """Neither the next training nor what it is judged by may see it."""
    x, y = digits[0][:100].copy(), digits[1][:100].copy()

    def vandal(a, b, seed):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(a))
        a[:], b[:] = a[order], b[order]
        return KNeighborsClassifier(1).fit(a, b)

    before = x.copy(), y.copy()
    found = retrain(vandal, x, y, (0.0, 0.5), repetitions=2)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert (found.pmv == 1).all()
    np.testing.assert_allclose(found.ptv, [[1, 1], [0.5, 0.5]])

    def blank(a, b, seed):
        b[:] = 0
        return lambda z: np.zeros(len(z), dtype=int)

    assert retrain(blank, x, y, (0.0, 0.5), repetitions=1).pmv[0, 0] == (y == 0).mean()


def answering(answer):
    return lambda x, y, seed: lambda z: answer(y)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda y: y[:, None].astype(float) / 2, "knows 1 classes, the labels 3"),
        (lambda y: np.eye(3)[y][:, :2], "knows 2 classes, the labels 3"),
        (lambda y: y.astype(str), "are no labels"),
        (lambda y: y / 2, "are no labels"),
        (lambda y: None, r"returned the shape \(\)"),
    ],
)
def test_answers_that_are_none(answer, words):
    with pytest.raises(InputError, match=words):
        retrain(answering(answer), POINTS, TRUTH, (0.0, 0.5), repetitions=1)


def test_answers_of_all_kinds():
    for answer in (lambda y: y[:, None], lambda y: y.astype(float), lambda y: np.eye(5)[y], lambda y: y.tolist()):
        assert (retrain(answering(answer), POINTS, TRUTH, (0.0, 0.5), repetitions=1).pmv == 1).all()


def test_a_training_that_diverges_is_a_failure():
    def train(x, y, seed):
        bad = (y != TRUTH).any()
        return lambda z: np.full((len(z), 3), np.nan) if bad else np.eye(3)[y]

    found = retrain(train, POINTS, TRUTH, (0.0, 0.5), repetitions=1)
    assert found.done.tolist() == [[True], [False]]
    assert "diverged" in found.failures[0]


def test_noise_stays_among_the_labels_that_occur():
    seen = []

    def train(x, y, seed):
        seen.append(set(y.tolist()))
        return lambda z: y

    labels = TRUTH * 100
    retrain(train, POINTS, labels, (0.0, 0.9), repetitions=1)
    assert set.union(*seen) == {0, 100, 200}
    retrain(train, POINTS, labels, (0.0, 0.9), repetitions=1, classes=1000)
    assert len(set.union(*seen)) > 30


def test_checkpoints_know_parameters(tmp_path):
    """Also those of estimators within estimators, which scikit-learn leaves out when it prints them."""
    from functools import partial

    from sklearn.ensemble import VotingClassifier

    def voting(k):
        return VotingClassifier([(f"a{i}", KNeighborsClassifier(k)) for i in range(3)])

    retrain(voting(1), POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path)
    with pytest.raises(InputError, match="belongs to another training: parameters was"):
        retrain(voting(20), POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path)
    with pytest.raises(InputError, match="belongs to another training: seed was 0, is 1"):
        retrain(voting(1), POINTS, TRUTH, (0.0, 0.5), repetitions=1, seed=1, checkpoint=tmp_path)
    first = partial(constant, value=0)
    retrain(first, POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path / "other")
    with pytest.raises(InputError, match="belongs to another training: parameters was"):
        retrain(partial(constant, value=1), POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path / "other")
    kept = next((tmp_path / "other").glob("*.npz"))
    kept.write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(InputError, match="is damaged"):
        retrain(first, POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path / "other")


def constant(x, y, seed, value):
    return lambda z: np.full(len(z), value)


@pytest.mark.parametrize(
    ("x", "y", "options", "words"),
    [
        (POINTS, TRUTH / 2, {}, "class numbers"),
        (POINTS[:0], TRUTH[:0], {}, "at least one example"),
        (POINTS, np.zeros(60, int), {}, "at least two"),
        (POINTS[:50], TRUTH, {}, "60 for 50 examples"),
        (POINTS[:3], TRUTH[:3], {}, "is less than one"),
        (POINTS, TRUTH, {"validation": (POINTS, TRUTH[:50])}, "50 for 60 examples"),
        (
            POINTS,
            TRUTH,
            {"validation": (POINTS, TRUTH.astype(str))},
            "`validation` are names, but",
        ),
    ],
)
def test_bad_data(x, y, options, words):
    with pytest.raises(InputError, match=words):
        retrain(KNeighborsClassifier(1), x, y, (0.0, 0.1), **options)


def test_sparse_and_lists(digits):
    from scipy.sparse import csr_array

    x, y = digits[0][:100], digits[1][:100]
    whole = retrain(DecisionTreeClassifier(max_depth=3), x, y, (0.0, 0.3), repetitions=1)
    for other in (csr_array(x), x.tolist()):
        found = retrain(DecisionTreeClassifier(max_depth=3), other, y, (0.0, 0.3), repetitions=1)
        np.testing.assert_array_equal(found.noisy_right, whole.noisy_right)


def dies(x, y, seed):
    import os

    os._exit(1)


def test_a_worker_that_dies_is_told():
    from joblib.externals.loky import get_reusable_executor

    with pytest.raises(InputError, match="a worker died"):
        retrain(dies, POINTS, TRUTH, (0.0, 0.5), repetitions=1, n_jobs=2)
    get_reusable_executor().shutdown(wait=True)


class Unseeded:
    """A training that learns its own examples by heart, and says anything of others."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, x, y, seed):
        def predict(z):
            return y if z is POINTS else self.rng.integers(0, 3, len(z))

        return predict


def test_a_training_that_ignores_its_seed_on_fresh_examples():
    """On those it was trained on it repeats itself, but the gap to fresh ones does not."""
    options = {"repetitions": 1, "name": "forgetful"}
    assert retrain(Unseeded(), POINTS, TRUTH, (0.0, 0.5), **options).repeats
    fresh = POINTS[:40] + 1, TRUTH[:40]
    with pytest.raises(InputError, match=r"forgetful: the training ignores its seed: .* of the validation examples"):
        retrain(Unseeded(), POINTS, TRUTH, (0.0, 0.5), validation=fresh, **options)
    assert not retrain(Unseeded(), POINTS, TRUTH, (0.0, 0.5), validation=fresh, check_seed=False, **options).repeats


ANY = np.random.default_rng(0)


def guess(x, y, seed):
    return lambda z: ANY.integers(0, 3, len(z))


def test_a_repaired_training_needs_an_empty_folder(tmp_path):
    """What was kept is compared as it is, whatever the function does by now; the message says so."""
    with pytest.raises(InputError, match=r"from `seed`; where it cannot"):
        retrain(guess, POINTS, TRUTH, (0.0, 0.5), repetitions=1)
    with pytest.raises(InputError, match=r"and delete .*, since trainings that are kept are compared again") as refused:
        retrain(guess, POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path)
    assert f"delete {tmp_path}, since" in str(refused.value)
    assert "with `check_seed=False`, which takes what is kept" in str(refused.value)
    kept = sorted(path.name for path in tmp_path.glob("*.npz"))
    assert len(kept) == 4  # nothing is lost to those who go on without the check
    found = retrain(guess, POINTS, TRUTH, (0.0, 0.5), repetitions=1, checkpoint=tmp_path, check_seed=False)
    assert found.done.all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_refusals_name_the_training(n_jobs):
    for train in (constant_text, returns_nothing):
        with pytest.raises(InputError, match=r"^second: "):
            retrain(train, POINTS, TRUTH, (0.0, 0.5), repetitions=1, name="second", n_jobs=n_jobs)


def constant_text(x, y, seed):
    return lambda z: np.full(len(z), "a")


def returns_nothing(x, y, seed):
    return None
