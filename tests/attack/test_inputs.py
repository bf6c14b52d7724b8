"""Labels and priors from files; a prior from ranks; where an attack is aimed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from heldout.attack.inputs import read_named_labels, read_prior
from heldout.attack.knowledge import with_prior, without_prior
from heldout.attack.ranks import prior_from_ranks, rank_profile
from heldout.attack.stress import stress
from heldout.errors import InputError


def made_ranks(rng, n=500, m=20, models=4, skill=0.7):
    """Models that put the truth first with some skill, and rank the rest at random."""
    truth = rng.integers(0, m, n)
    scores = rng.random((n, m, models))
    scores[np.arange(n), truth] += skill * rng.random((n, models)) / 0.5
    return np.argsort(-scores, axis=1)[:, :5], truth


def test_prior_from_ranks(rng):
    ranks, truth = made_ranks(rng)
    prior = prior_from_ranks(ranks, 20)
    np.testing.assert_allclose(prior.sum(axis=1), 1, atol=1e-5)
    assert prior.min() >= 0
    profile = rank_profile(ranks)
    by_hand = np.mean([(ranks[:, 0, a] == ranks[:, 0, b]).mean() for a in range(4) for b in range(4) if a != b])
    assert profile[0] == pytest.approx(by_hand)
    assert profile[0] > 5 * profile[1:].max()
    single = (ranks[:, 0, 0] == truth).mean()
    assert (prior.argmax(axis=1) == truth).mean() > single  # several models know more than one
    agree = (ranks[:, 0] == ranks[:, :1, 0]).all(axis=1)
    assert prior[agree].max(axis=1).min() > prior[~agree].max(axis=1).mean()


def test_large_priors_are_single_precision_and_sum_to_one(rng):
    ranks = np.argsort(rng.random((2000, 600, 2)), axis=1)[:, :3]
    prior = prior_from_ranks(ranks, 600)
    assert prior.dtype == np.float32
    np.testing.assert_allclose(prior.sum(axis=1), 1, atol=1e-4)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (np.zeros((4, 2), int), "shape"),
        (np.zeros((4, 2, 2)), "shape"),
        (np.array([[[0], [1]]]), "one model"),
        (np.array([[[0, 0], [9, 1]]]), "classes 0 to 9"),
        (np.array([[[0, 0], [0, 1]]]), "twice"),
    ],
)
def test_bad_ranks(ranks, words):
    with pytest.raises(InputError, match=words):
        prior_from_ranks(ranks, 3)


def test_files(tmp_path, rng):
    ranks, truth = made_ranks(rng)
    probabilities = rng.dirichlet(np.ones(20), 500)
    np.save(tmp_path / "labels.npy", truth)
    np.save(tmp_path / "probs.npy", probabilities)
    np.savez(tmp_path / "both.npz", labels=truth, top5=ranks, models=["a1", "a2", "b1", "b2"])
    np.savez(tmp_path / "odd.npz", first=truth, second=truth)
    np.testing.assert_array_equal(read_named_labels(tmp_path / "labels.npy").values, truth)
    np.testing.assert_array_equal(read_named_labels(tmp_path / "both.npz").values, truth)
    np.testing.assert_array_equal(read_named_labels(tmp_path / "odd.npz", key="second").values, truth)
    prior, words = read_prior(tmp_path / "probs.npy")
    np.testing.assert_array_equal(prior, probabilities)
    assert words == "probabilities from probs.npy"
    prior, words = read_prior(tmp_path / "both.npz", m=20)
    np.testing.assert_array_equal(prior, prior_from_ranks(ranks, 20))
    assert words == "the first 5 ranks of 4 models from both.npz"
    chosen, _ = read_prior(tmp_path / "both.npz", models=["a*"], m=20)
    np.testing.assert_array_equal(chosen, prior_from_ranks(ranks[:, :, :2], 20))
    np.savez(tmp_path / "votes.npz", preds=ranks[:, 0].T)
    votes, words = read_prior(tmp_path / "votes.npz", m=20)
    np.testing.assert_array_equal(votes, prior_from_ranks(ranks[:, :1], 20))
    assert words == "the predictions of 4 models from votes.npz"
    np.savez(tmp_path / "turned.npz", preds=ranks[:, 0])
    with pytest.raises(InputError, match=r"\(models, examples\) or ranks"):
        read_prior(tmp_path / "turned.npz", m=20)
    with pytest.raises(InputError, match="there are a1, a2, b1, b2"):
        read_prior(tmp_path / "both.npz", models=["c*"], m=20)
    with pytest.raises(InputError, match="holds probabilities"):
        read_prior(tmp_path / "probs.npy", models=["a*"])
    with pytest.raises(InputError, match="holds 'first', 'second'; name the array with `labels_key"):
        read_named_labels(tmp_path / "odd.npz")
    with pytest.raises(InputError, match="is not a file"):
        read_named_labels(tmp_path / "absent.npy")
    (tmp_path / "text.npy").write_text("0\n1\n")
    with pytest.raises(InputError, match="is damaged or cut short"):
        read_named_labels(tmp_path / "text.npy")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "both.npz").read_bytes()[:2000])
    with pytest.raises(InputError, match="is damaged or cut short"):
        read_prior(tmp_path / "cut.npz")


def test_aim(rng):
    prior = rng.dirichlet(np.full(6, 0.5), 300)
    known = with_prior(prior, top=2, points=100, rng=rng)
    sure = prior.max(axis=1)
    outside = np.setdiff1d(np.arange(300), known.points)
    assert sure[known.points].max() <= sure[outside].min()
    np.testing.assert_array_equal(known.options, np.argsort(-prior[known.points], axis=1)[:, :2])
    labels = rng.integers(0, 6, 300)
    option = known.option_of(labels)
    for i, point in enumerate(known.points):
        assert option[i] == (list(known.options[i]).index(labels[point]) if labels[point] in known.options[i] else -1)
    drawn = rng.integers(0, 2, 100)
    query = known.labels(drawn)
    np.testing.assert_array_equal(query[outside], prior.argmax(axis=1)[outside])
    np.testing.assert_array_equal(query[known.points], known.options[np.arange(100), drawn])
    assert (known.constant()[known.points] == prior[known.points].argmin(axis=1)).all()
    assert known.hits_elsewhere(labels) == (query == labels)[outside].sum()


def test_ties_of_confidence_are_broken_at_random():
    prior = np.full((1000, 4), 0.25)
    first, second = (with_prior(prior, points=500, rng=np.random.default_rng(s)).points for s in (0, 1))
    assert len(np.intersect1d(first, second)) < 320
    assert abs(first.mean() - 500) < 60
    free = without_prior(1000, 4, points=500, rng=np.random.default_rng(0))
    assert abs(free.points.mean() - 500) < 60


def prior_table(path, headings, order, values):
    """A CSV of probabilities whose columns stand in another order."""
    rows = [",".join(map(repr, [i, *row])) for i, row in enumerate(values[:, order].tolist())]
    path.write_text("\n".join([",".join(["id", *headings]), *rows]))
    return path


TWELVE = [str(i) for i in range(12)]


@pytest.mark.parametrize(
    ("headings", "order", "classes"),
    [
        (sorted(TWELVE), [int(name) for name in sorted(TWELVE)], None),
        (["2", "1", "0"], [2, 1, 0], None),
        (["p2", "p1", "p0"], [2, 1, 0], None),
        (["column_0", "column_1", "column_2"], [0, 1, 2], None),
        (["class 01", "class 02", "class 03"], [0, 1, 2], None),
        (["cat", "dog", "ape"], [1, 2, 0], ("ape", "cat", "dog")),
        (["Cat", "Dog", "Ape"], [1, 2, 0], ("ape", "cat", "dog")),
        (["p_cat", "p_dog", "p_ape"], [1, 2, 0], ("ape", "cat", "dog")),
        (["text", "date"], [1, 0], ("date", "text")),  # no metadata, where classes are called so
    ],
)
def test_columns_of_a_prior_are_those_of_the_classes(tmp_path, rng, headings, order, classes):
    values = rng.dirichlet(np.ones(len(order)), 30)
    table = prior_table(tmp_path / "p.csv", headings, order, values)
    found, words = read_prior(table, classes=classes)
    np.testing.assert_array_equal(found, values)
    assert words == "probabilities from p.csv"


def test_columns_of_a_prior_without_labels_stay_as_they_are(tmp_path, rng):
    values = rng.dirichlet(np.ones(3), 30)
    for headings in (["2", "1", "0"], ["dog", "cat", "fox"]):
        table = prior_table(tmp_path / "p.csv", headings, [0, 1, 2], values)
        np.testing.assert_array_equal(read_prior(table, labelled=False)[0], values)


@pytest.mark.parametrize(
    ("headings", "classes", "words"),
    [
        (
            ["dog", "cat", "fox"],
            ("ape", "cat", "dog"),
            r"'dog', 'cat', 'fox' are not called .* \('ape', 'cat', 'dog'\)",
        ),
        (["u", "v", "w"], ("ape", "cat", "dog"), r"by its name \(ape, cat, dog\)"),
        (["ape", "cat", "dog"], None, r"\(0 to 2\) are, .* by its number \(0, 1, 2\)"),
        (["1", "2", "3"], None, r"by its number \(0, 1, 2\)"),  # of which numbering?
        (["p0", "p2", "p3"], None, "are not called as the classes"),
        (["p0", "q1", "p2"], None, "are not called as the classes"),
        (["p2", "p1", "p3"], None, "are not called as the classes"),
    ],
)
def test_columns_of_a_prior_that_are_no_classes(tmp_path, rng, headings, classes, words):
    table = prior_table(tmp_path / "p.csv", headings, [0, 1, 2], rng.dirichlet(np.ones(3), 30))
    for kind in (None, "counts"):
        with pytest.raises(InputError, match=words):
            read_prior(table, classes=classes, kind=kind)


def test_a_prior_that_names_no_classes_says_how_it_was_taken(tmp_path, rng):
    values = rng.dirichlet(np.ones(3), 30)
    classes = ("ape", "cat", "dog")
    np.save(tmp_path / "p.npy", values)
    taken = ", which names no classes: they are taken in the order 'ape', 'cat', 'dog'"
    assert read_prior(tmp_path / "p.npy", classes=classes)[1] == f"probabilities from p.npy{taken}"
    assert read_prior(tmp_path / "p.npy")[1] == "probabilities from p.npy"  # class numbers are what they are
    table = prior_table(tmp_path / "p.csv", ["p0", "p1", "p2"], [0, 1, 2], values)
    found, words = read_prior(table, classes=classes)
    np.testing.assert_array_equal(found, values)
    assert words == f"probabilities from p.csv{taken}"
    np.save(tmp_path / "votes.npy", rng.integers(0, 3, (4, 30)))
    assert read_prior(tmp_path / "votes.npy", classes=classes, m=3)[1].endswith(taken)
    with pytest.raises(InputError, match=r"over 3 classes without their names, and the labels name 2 \('ape', 'cat'\)"):
        read_prior(tmp_path / "p.npy", classes=classes[:2])


@pytest.mark.parametrize(
    ("headings", "said", "classes"),
    [
        (["p1", "p2", "p3"], ["dog", "ape", "cat"], ("ape", "cat", "dog")),
        (["dog", "ape", "cat"], ["2", "0", "1"], None),  # names over labels that are numbers
        (["ape", "cat", "dog"], ["dog", "ape", "cat"], ("ape", "cat", "dog")),  # what is said goes before headings
    ],
)
def test_columns_of_a_prior_are_what_is_said(tmp_path, rng, headings, said, classes):
    values = rng.dirichlet(np.ones(3), 30)
    table = prior_table(tmp_path / "p.csv", headings, [2, 0, 1], values)
    found, words = read_prior(table, classes=classes, prior_classes=said)
    np.testing.assert_array_equal(found, values)
    listed = ", ".join(map(repr, said))
    assert words == f"probabilities from p.csv, whose classes were said to be {listed}"
    np.save(tmp_path / "p.npy", values[:, [2, 0, 1]])
    np.testing.assert_array_equal(read_prior(tmp_path / "p.npy", classes=classes, prior_classes=said)[0], values)


def test_class_numbers_of_predictions_are_what_is_said(tmp_path, rng):
    votes = rng.integers(0, 3, (4, 30))
    np.save(tmp_path / "own.npy", votes)
    np.save(tmp_path / "theirs.npy", np.array([1, 2, 0])[votes])
    classes = ("ape", "cat", "dog")
    found, _ = read_prior(tmp_path / "theirs.npy", classes=classes, prior_classes=["dog", "ape", "cat"])
    np.testing.assert_array_equal(found, read_prior(tmp_path / "own.npy", classes=classes)[0])


def test_prior_classes_of_arrays(rng):
    labels = np.array(["ape", "cat", "dog"])[rng.integers(0, 3, 60)]
    prior = rng.dirichlet(np.ones(3), 60)
    known = {"labels": labels, "queries": 5, "trials": 2}
    turned = stress(**known, prior=prior[:, [2, 0, 1]], prior_classes=["dog", "ape", "cat"])
    assert turned.data_digest == stress(**known, prior=prior).data_digest
    numbers = np.unique(labels, return_inverse=True)[1]
    turned = stress(**known | {"labels": numbers}, prior=prior[:, [2, 0, 1]], prior_classes=[2, 0, 1])
    assert turned.data_digest == stress(**known, prior=prior).data_digest


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["ape", "cat"], r"names 2 classes \('ape', 'cat'\), the prior has 3 columns"),
        (["ape", "cat", "emu"], "has 'emu', which is no class of the labels; these are 'ape', 'cat', 'dog'"),
        (["ape", "cat", "ape"], "has 'ape' twice"),
        ("ape,cat,dog", "is 'ape,cat,dog'; a list of classes is needed"),
    ],
)
def test_bad_prior_classes(rng, said, words):
    prior = rng.dirichlet(np.ones(3), 6)
    with pytest.raises(InputError, match=f"`prior_classes` {words}"):
        stress(labels=["ape", "cat", "dog"] * 2, prior=prior, prior_classes=said, queries=5)
    with pytest.raises(InputError, match="`prior_classes` says which class of the labels"):
        stress(prior=prior, prior_classes=said, queries=5)
    with pytest.raises(InputError, match="`prior_classes` lacks 'dog'; the classes of the labels are"):
        stress(labels=["ape", "cat", "dog"] * 2, prior=np.full((6, 2), 0.5), prior_classes=["ape", "cat"], queries=5)


@pytest.mark.parametrize("written", ["csv", "index", "parquet"])
def test_a_prior_as_pandas_writes_an_array(tmp_path, rng, written):
    """Whose columns are called 0, 1, 2 and so on: class numbers are no first line of numbers."""
    prior = rng.dirichlet(np.ones(3), 20)
    frame = pd.DataFrame(prior)
    path = tmp_path / f"prior.{'parquet' if written == 'parquet' else 'csv'}"
    if written == "parquet":
        frame.rename(columns=str).to_parquet(path)
    else:
        frame.to_csv(path, index=written == "index")
    np.testing.assert_allclose(read_prior(path, m=3)[0], prior)
