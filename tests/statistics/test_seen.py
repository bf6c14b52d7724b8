"""The list of examples that look seen: the slow way, and its false discovery rate."""

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.statistics import benjamini_hochberg, leak_scores, seen_examples


def rng_of(seed):
    return np.random.default_rng(seed)


def slow_listed(p, q):
    """Benjamini and Hochberg by the definition: the largest k such that k p-values are at most k q / N."""
    k = max((k for k in range(len(p) + 1) if sum(x <= k * q / len(p) + 1e-15 for x in p) >= k), default=0)
    return {i for i, x in enumerate(p) if x <= k * q / len(p) + 1e-15}


@pytest.mark.parametrize("seed", range(30))
def test_benjamini_hochberg_the_slow_way(seed):
    rng = rng_of(seed)
    n = int(rng.integers(1, 40))
    p = rng.uniform(size=n) ** rng.choice([1, 3, 6])
    if seed % 2:
        p = np.ceil(20 * p) / 20  # ties
    q = rng.choice([0.05, 0.1, 0.4])
    assert benjamini_hochberg(p, q) == len(slow_listed(p, q))


def test_no_p_values_give_no_list():
    assert benjamini_hochberg([], 0.1) == 0


def slow_p(test, control, classes_test, classes_control):
    out = []
    for x, c in zip(test, classes_test, strict=True):
        own = [y for y, other in zip(control, classes_control, strict=True) if other == c]
        out.append((1 + sum(y >= x for y in own)) / (len(own) + 1) if own else math.nan)
    return np.array(out)


@pytest.mark.parametrize("seed", range(6))
def test_ranks_the_slow_way(seed):
    rng = rng_of(seed)
    test, control = rng.normal(size=50).round(1), rng.normal(size=70).round(1)  # with ties
    classes_test, classes_control = rng.integers(0, 4, 50), rng.integers(0, 3, 70)
    same_mix = seed % 2 == 0
    if same_mix:  # class 3 is in the test set alone
        classes_control = np.arange(70) % 3
        classes_test = np.where(np.arange(50) < 45, np.arange(50) % 3, 3)
    else:
        classes_control = np.where(np.arange(70) < 60, 0, classes_control)
    found = seen_examples(test, control, classes_test=classes_test, classes_control=classes_control)
    assert found.within_class == (not same_mix)
    known_class = np.where(classes_test < 3, 0, 3)
    slow = slow_p(test, control, *((known_class, np.zeros(70)) if same_mix else (classes_test, classes_control)))
    assert np.array_equal(found.p_values, slow, equal_nan=True)
    known = ~np.isnan(slow)
    assert found.n_compared == known.sum() < 50
    assert np.isnan(found.p_values[found.order[found.n_compared :]]).all()
    assert (np.diff(found.p_values[found.order[: found.n_compared]]) >= 0).all()
    assert set(found.listed) == {np.flatnonzero(known)[i] for i in slow_listed(slow[known], 0.1)}


def test_equal_ranks_are_ordered_by_what_was_seen():
    found = seen_examples([5.0, 9.0, 7.0, 0.0], np.linspace(-1, 1, 30))
    assert found.order.tolist() == [1, 2, 0, 3]
    assert found.n_listed == 3


def test_groups_are_judged_and_listed_as_one():
    control = np.repeat(np.linspace(-1, 1, 60), 2)
    test = np.array([0.0, 9.0, 8.0, 0.1, 1.0, -3.0])
    found = seen_examples(test, control, groups_test=list("baabcc"), groups_control=np.repeat(np.arange(60), 2), q=0.1)
    p = (1 + np.array([29, 0, 60])) / 61  # means 0.05 (29 of 60 are larger), 8.5, -1
    assert found.p_values == pytest.approx([p[0], p[1], p[1], p[0], p[2], p[2]])
    assert sorted(found.listed) == [1, 2]
    assert (found.n_listed, found.n_groups_listed, found.n_compared, found.fewest) == (2, 1, 3, 1)


def test_groups_of_other_sizes_cannot_be_ranked():  # means of ten have less spread than single examples
    rng = rng_of(0)
    found = seen_examples(rng.normal(size=500), rng.normal(size=1000), groups_control=np.repeat(np.arange(100), 10))
    assert found.other_sizes
    assert (found.n_listed, found.fewest, found.n_compared) == (0, None, 0)
    assert np.isnan(found.p_values).all()


def test_groups_of_several_classes_are_compared_among_themselves():
    classes = np.tile([0, 1], 20)
    groups = np.repeat(np.arange(20), 2)
    values = rng_of(0).normal(size=40)
    found = seen_examples(
        values[:4],
        values,
        classes_test=[0, 1, 0, 0],
        classes_control=classes,
        groups_test=[0, 0, 1, 1],
        groups_control=groups,
    )
    assert found.n_compared == 1  # the second group is of class 0 alone, of which the control has no group
    assert np.isnan(found.p_values).tolist() == [False, False, True, True]


def shortest(n_test, n_control, q):
    """The shortest list over every number of test examples at rank one of each class, the others at p = 1."""
    best = None
    shapes = [range(n + 1) for n in n_test]
    for ones in np.array(np.meshgrid(*shapes)).reshape(len(n_test), -1).T:
        p = []
        for k, n, n_c in zip(ones, n_test, n_control, strict=True):
            p += [1 / (n_c + 1)] * int(k) + [1.0] * int(n - k)
        k = benjamini_hochberg(p, q)
        if k and (best is None or k < best):
            best = k
    return best


@pytest.mark.parametrize(
    ("n_test", "n_control", "q"),
    [((4, 20), (40, 9), 0.1), ((3, 9), (40, 12), 0.2), ((8,), (5,), 0.2), ((4,), (3,), 0.1)],
)
def test_the_shortest_list_there_can_be(n_test, n_control, q):
    found = seen_examples(
        np.zeros(sum(n_test)),
        np.zeros(sum(n_control)),
        classes_test=np.repeat(np.arange(len(n_test)), n_test),
        classes_control=np.repeat(np.arange(len(n_control)), n_control),
        q=q,
    )
    assert found.fewest == shortest(n_test, n_control, q)
    assert found.floor == 1 / (max(n_control) + 1)
    assert found.n_listed == 0


def test_plain_data():
    found = seen_examples([9.0, 0.0], np.linspace(-1, 1, 99))
    assert found.to_dict() == {
        "n_listed": 1,
        "n_groups_listed": None,
        "q": 0.1,
        "floor": 0.01,
        "fewest": 1,
        "n_compared": 2,
        "within_class": False,
        "other_sizes": False,
        "listed": [0],
    }


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, math.nan])
def test_bad_q(q):
    with pytest.raises(InputError, match="`q` is"):
        seen_examples([0.0], [0.0, 1.0], q=q)


# ---------------------------------------------------------------- false discoveries


def discoveries(rng, *, law, share, pull, clip=None, groups=False, mixes=(0.5, 0.5)):
    """(false discovery proportion, share of the seen that is listed) with three references and two classes."""
    n = 600
    units = np.repeat(np.arange(2 * n // 3), 3) if groups else np.arange(2 * n)
    of_test = np.arange(units.max() + 1) < (units.max() + 1) // 2
    classes = (rng.random(units.max() + 1) < np.where(of_test, *mixes)).astype(int)[units]
    both = units.max() + 1
    hard = (rng.normal(size=both)[units] - classes) * 2
    x, *references = hard + law(rng, (4, 2 * n))
    seen = np.flatnonzero(rng.random(int(units[n])) < share)
    seen = np.isin(units[:n], seen)
    x[:n][seen] += pull
    scores = leak_scores(x, np.array(references), clip=clip)
    found = seen_examples(
        scores.log_ratios[:n],
        scores.log_ratios[n:],
        classes_test=classes[:n],
        classes_control=classes[n:],
        groups_test=units[:n] if groups else None,
        groups_control=units[n:] if groups else None,
    )
    wrong = (~seen[found.listed]).sum()
    return wrong / max(found.n_listed, 1), seen[found.listed].sum() / max(seen.sum(), 1), found.n_listed > 0


LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "heavy": lambda rng, size: rng.standard_t(2, size=size),
    "skewed": lambda rng, size: rng.exponential(size=size) ** 1.5,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("groups", [False, True])
def test_false_discovery_rate(name, share, groups):
    rng = rng_of(0)
    found = np.array([discoveries(rng, law=LAWS[name], share=share, pull=6.0, groups=groups) for _ in range(400)])
    rate, error = found[:, 0].mean(), found[:, 0].std() / 20
    assert rate <= 0.1 + 3.5 * error + 1e-9
    if share == 0.5 and name == "normal":
        assert found[:, 1].mean() > 0.5  # the list finds something


@pytest.mark.slow
def test_false_discovery_rate_clipped():
    rng = rng_of(1)
    found = np.array([discoveries(rng, law=LAWS["heavy"], share=0.2, pull=6.0, clip=(-5.0, 10.0)) for _ in range(400)])
    assert found[:, 0].mean() <= 0.1 + 3.5 * found[:, 0].std() / 20


@pytest.mark.slow
@pytest.mark.parametrize("mixes", [(0.8, 0.2), (0.55, 0.45)])  # ranked within class; now and then among all
def test_false_discovery_rate_where_class_mixes_differ(mixes):
    rng = rng_of(2)
    found = np.array([discoveries(rng, law=LAWS["heavy"], share=0.2, pull=6.0, mixes=mixes) for _ in range(400)])
    assert found[:, 0].mean() <= 0.1 + 3.5 * found[:, 0].std() / 20
