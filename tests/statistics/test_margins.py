"""Tables with given margins against full enumeration: the kernel, the levels, and the law that the draws come from."""

from collections import Counter
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from scipy.stats import binom, chisquare, hypergeom

import heldout
from heldout.errors import InputError
from heldout.statistics import margin_trades, margins
from heldout.statistics.margins import MISSING, MarginChains, margin_test

TABLES = {
    "3 x 3": ([[1, 1, 0], [0, 1, 1], [1, 0, 0]], None),
    "4 x 4": ([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 0]], None),
    "3 x 4, strata": ([[1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]], [0, 0, 1, 1]),
    "4 x 4, missing": ([[2, 1, 0, 1], [1, 0, 1, 0], [0, 1, 2, 1], [1, 0, 0, 1]], None),
}


def law(x, strata, delta=0.0, tilt=None):
    """All tables that trades reach from x, their law, and the matrix of one round, by brute force."""
    x = np.asarray(x, dtype=np.uint8)
    k, n = x.shape
    strata = np.zeros(n, dtype=int) if strata is None else np.asarray(strata)
    orders = list(permutations(range(k)))
    met = Counter(tuple(sorted(tuple(sorted(o[2 * p : 2 * p + 2])) for p in range(k // 2))) for o in orders)
    weight = {matching: count / len(orders) for matching, count in met.items()}

    def deals(table, i, j, g):
        """Where a trade of two rows in one stratum leads, with probabilities."""
        apart = [c for c in range(n) if strata[c] == g and table[i, c] + table[j, c] == 1]
        gain = np.zeros(n) if not delta else tilt[i].astype(float) - tilt[j]
        signs = {int(gain[c]) for c in apart} - {0}
        out = []
        for dropped in (-1, 1) if len(signs) == 2 else (None,):  # by a coin
            some = [c for c in apart if gain[c] != dropped]
            options = list(combinations(some, sum(int(table[i, c]) for c in some)))
            weights = np.exp([delta * sum(gain[c] for c in chosen) for chosen in options])
            for chosen, w in zip(options, weights / weights.sum() / max(1, len(signs)), strict=True):
                new = table.copy()
                for c in some:
                    new[i, c], new[j, c] = (1, 0) if c in chosen else (0, 1)
                out.append((new, float(w)))
        return out

    def one_round(table):
        ends = {}
        for matching, w in weight.items():
            now = [(table, w)]
            for (i, j), g in product(matching, np.unique(strata)):
                now = [(new, p * q) for old, p in now for new, q in deals(old, i, j, g) if q]
            for new, p in now:
                ends[new.tobytes()] = ends.get(new.tobytes(), 0.0) + p
        return ends

    found, places, rows = [x], {x.tobytes(): 0}, []
    for table in found:
        ends = one_round(table)
        for key in ends:
            if key not in places:
                places[key] = len(found)
                found.append(np.frombuffer(key, dtype=np.uint8).reshape(k, n))
        rows.append(ends)
    kernel = np.zeros((len(found), len(found)))
    for a, ends in enumerate(rows):
        for key, p in ends.items():
            kernel[a, places[key]] = p
    pi = np.exp(delta * np.array([0.0 if tilt is None else (tilt * (t == 1)).sum() for t in found]))
    return found, pi / pi.sum(), kernel, places


@pytest.mark.parametrize("delta", [0.0, 0.7])
@pytest.mark.parametrize("name", TABLES)
def test_p_is_exact_by_enumeration(name, delta):
    x, strata = TABLES[name]
    weights = np.array([[2, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])[: len(x), : len(x[0])]
    tilt = np.minimum(weights, 1)
    tables, pi, kernel, _ = law(x, strata, delta, tilt)
    assert len(tables) >= 4
    np.testing.assert_allclose(pi @ kernel, pi, atol=1e-12)
    np.testing.assert_allclose(pi[:, None] * kernel, (pi[:, None] * kernel).T, atol=1e-12)  # reversible
    s = np.array([(weights * (t == 1)).sum() for t in tables])
    for steps in (1, 2, 10):
        walk = np.linalg.matrix_power(kernel, steps)
        at_least = walk @ (s[:, None] >= s[None])  # from a hub, chance of at least the statistic of a table
        for B in (1, 4, 19):
            c = np.arange(B + 1)
            level = np.einsum("x,xh,hxc->c", pi, walk, binom.cdf(c, B, at_least[:, :, None].clip(0, 1)))
            assert (level <= (c + 1) / (B + 1) + 1e-12).all()
    # where no two statistics are equal, p would be uniform; here ties make it smaller than alpha, but never idle
    assert level[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.7])
@pytest.mark.parametrize("name", TABLES)
def test_one_round_has_the_enumerated_kernel(name, delta, plain, monkeypatch):
    if plain:
        monkeypatch.setattr(margins, "_compiled", lambda: None)
    x, strata = TABLES[name]
    tilt = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])[: len(x), : len(x[0])]
    tables, _, kernel, places = law(x, strata, delta, tilt)
    chains = MarginChains(np.asarray(x, dtype=np.uint8), strata=strata, tilt=tilt, delta=delta, steps=1)
    stack = np.repeat(chains.bits[None], 8_000, axis=0)
    chains._walk(stack, np.random.default_rng(1).integers(0, 2**64, 8_000, dtype=np.uint64))
    counts = np.bincount([places[t.tobytes()] for t in chains.unpacked(stack)], minlength=len(tables))
    reached = kernel[0] > 0
    assert counts[~reached].sum() == 0
    assert chisquare(counts[reached], 8_000 * kernel[0][reached]).pvalue > 1e-4


@pytest.mark.parametrize("delta", [0.0, 0.7])
@pytest.mark.parametrize("name", TABLES)
def test_drawn_tables_have_their_law(name, delta):
    x, strata = TABLES[name]
    tilt = np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])[: len(x), : len(x[0])]
    tables, pi, _, places = law(x, strata, delta, tilt)
    chains = MarginChains(np.asarray(x, dtype=np.uint8), strata=strata, tilt=tilt, delta=delta, steps=40)
    counts = np.zeros(len(tables))
    for stack in chains.draw(20_000, np.random.default_rng(2)):
        counts += np.bincount([places[t.tobytes()] for t in stack], minlength=len(tables))
    assert chisquare(counts, 20_000 * pi).pvalue > 1e-4


def test_trades_of_one_model_have_the_same_law():
    tables, pi, _, places = law(*TABLES["4 x 4"])
    counts = np.zeros(len(tables))
    for stack in MarginChains(tables[0], steps=60, star=True).draw(20_000, np.random.default_rng(2)):
        counts += np.bincount([places[t.tobytes()] for t in stack], minlength=len(tables))
    assert chisquare(counts, 20_000 * pi).pvalue > 1e-4


def test_an_empty_diagonal_leaves_two_classes():
    x = np.array([[2, 1, 0], [0, 2, 1], [1, 0, 2]], dtype=np.uint8)  # its mirror image has the same margins
    assert len(law(x, None)[0]) == 1
    assert not MarginChains(x).tradable.any()
    found = margin_test(x % 2, x == 1, observed=x < 2, n_resamples=19, rng=np.random.default_rng(0))
    assert (found.p_value, found.n_idle) == (1.0, 1)


@pytest.mark.parametrize("steps", [1, 2])
def test_level_of_the_test_itself(steps):
    """Every table of a class once in turn, as often as its law says: p <= alpha at most as often as alpha."""
    tables, _, _, _ = law(*TABLES["4 x 4"])
    weights = np.arange(16).reshape(4, 4) ** 1.5  # nearly no ties
    p = np.array([
        margin_test(t, weights, n_resamples=19, steps=steps, rng=np.random.default_rng(seed)).p_value
        for t in tables
        for seed in range(1_500 // len(tables))
    ])  # fmt: skip
    for level in (0.05, 0.1, 0.25, 0.5):
        assert np.mean(p <= level + 1e-9) <= level + 3.5 * np.sqrt(level * (1 - level) / len(p))
        assert np.mean(p <= level + 1e-9) >= level / 3


@pytest.mark.parametrize("m", [1, 3, 7])
def test_a_part_is_any_part(m, rng):
    """m of 8 examples in three words, one of which has none of them: all ways are equally likely."""
    mask = np.array([0b1011 << 60, 0, 0b100111000000001], dtype=np.uint64)
    n = 400 * comb(8, m)
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    some = margin_trades.part_numpy(np.tile(mask, (n, 1)), np.full(n, 8), np.full(n, m), keys)
    assert (margin_trades.popcounts(some).sum(axis=1) == m).all()
    assert not (some & ~mask).any()
    counts = np.unique(some, axis=0, return_counts=True)[1]
    assert len(counts) == comb(8, m)
    assert chisquare(counts).pvalue > 1e-4


def test_a_part_of_many_is_hypergeometric(rng):
    """60 of 200: every example as often, and as many of the first half as a draw without replacement has."""
    d, m, n = 200, 60, 4_000
    bits = np.zeros((1, 256), dtype=bool)
    bits[0, rng.permutation(256)[:d]] = True
    mask = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    some = margin_trades.part_numpy(np.tile(mask, (n, 1)), np.full(n, d), np.full(n, m), keys)
    chosen = np.unpackbits(some.view(np.uint8), axis=1, bitorder="little")[:, bits[0]]
    each = chosen.sum(axis=0)
    assert ((each - n * m / d) ** 2).sum() / (n * m / d * (1 - m / d)) < 199 + 5 * np.sqrt(2 * 199)
    half = np.bincount(chosen[:, : d // 2].sum(axis=1), minlength=m + 1)
    law = n * hypergeom.pmf(np.arange(m + 1), d, d // 2, m)
    middle = law > 10
    assert chisquare([*half[middle], half[~middle].sum()], [*law[middle], law[~middle].sum()]).pvalue > 1e-4


@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("delta", [0.0, -0.4])
@pytest.mark.parametrize("n_strata", [1, 4])
def test_same_bits_with_and_without_numba_and_on_two_threads(n_strata, delta, star, monkeypatch, rng):
    x, e = rng.random((7, 300)) < 0.5, rng.random((7, 300)) < 0.3
    observed, strata = rng.random((7, 300)) < 0.9, rng.integers(0, n_strata, 300)

    def drawn(n_jobs):
        chains = MarginChains(
            margins.read_cells(x, observed), strata=strata, tilt=e, delta=delta, steps=4, star=star, n_jobs=n_jobs
        )
        return np.concatenate(list(chains.draw(25, np.random.default_rng(3))))

    one, two = drawn(1), drawn(2)
    monkeypatch.setattr(margins, "_compiled", lambda: None)
    monkeypatch.setattr(margins, "PLAIN_BATCH", 3_000)
    plain = drawn(1)
    assert np.array_equal(one, two)
    assert np.array_equal(one, plain)
    assert not np.array_equal(one[0], one[1])


def test_margins_are_kept(rng):
    x, observed, strata = rng.random((6, 40)) < 0.6, rng.random((6, 40)) < 0.85, rng.integers(0, 3, 40)
    cells = margins.read_cells(x, observed)
    for stack in MarginChains(cells, strata=strata).draw(50, rng):
        assert np.array_equal(stack == MISSING, np.broadcast_to(~observed, stack.shape))
        assert ((stack == 1).sum(axis=1) == (cells == 1).sum(axis=0)).all()
        for g in range(3):
            own = strata == g
            assert ((stack[:, :, own] == 1).sum(axis=2) == (cells[:, own] == 1).sum(axis=1)).all()


def test_weights_and_functions_agree(rng):
    x = rng.random((5, 30)) < 0.5
    w = rng.integers(0, 3, (5, 30))
    asked = {"n_resamples": 199, "alternative": "two-sided"}
    one = heldout.margin_test(x, w, rng=np.random.default_rng(0), **asked)
    two = heldout.margin_test(x, lambda t: (t * w).sum(axis=(1, 2)), rng=np.random.default_rng(0), **asked)
    assert one == two
    assert one.p_value == min(1.0, 2 * min(one.p_greater, one.p_less))
    assert "are expected given the margins" in str(one)


def test_the_unit_of_weights_is_nothing(rng):
    x, w = rng.random((5, 30)) < 0.5, rng.random((5, 30))
    p = [margin_test(x, scale * w, n_resamples=99, rng=np.random.default_rng(0)).p_value for scale in (1.0, 1e-12, 1e9)]
    assert p[0] == p[1] == p[2] < 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"correct": [[0, 2]]}, "0 and 1 only"),
        ({"correct": [0, 1]}, "must be a table"),
        ({"statistic": [[1]]}, "a finite weight for each cell"),
        ({"statistic": lambda t: t}, "for 1 tables"),
        ({"delta": 0.5}, "Give the cells"),
        ({"delta": 0.5, "tilt": [[1, 2], [0, 0]]}, "table of 0 and 1"),
        ({"steps": 0}, "`steps` is 0"),
        ({"strata": [0]}, "`strata`"),
        ({"observed": [[True]]}, "`observed` has shape"),
        ({"alternative": "up"}, "`alternative` is 'up'"),
        ({"n_resamples": 0}, "`n_resamples` is 0"),
    ],
)
def test_bad_input(asked, words):
    asked = {"correct": [[1, 0], [0, 1]], "statistic": [[1, 0], [0, 0]], "rng": np.random.default_rng(0), **asked}
    with pytest.raises(InputError, match=words):
        margin_test(**asked)
