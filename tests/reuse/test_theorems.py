"""Lemma 3, Theorem 2 and Corollary 4 against exact tails and against the steps of their proofs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.reuse.theorems import (
    corollary4,
    theorem2_epsilon,
    theorem2_equation5,
    theorem2_equation6,
    theorem2_log_probability,
    trinomial_tail_bound,
)


def trinomial_tail(n, plus, minus, t):
    """P(mean >= plus - minus + t), by convolving the law n times."""
    law = np.array([minus, 1 - plus - minus, plus])
    total = np.array([1.0])
    for _ in range(n):
        total = np.convolve(total, law)
    values = np.arange(-n, n + 1) / n
    return float(total[values >= plus - minus + t - 1e-12].sum())


@pytest.mark.parametrize(
    ("plus", "minus"), [(0.05, 0.05), (0.2, 0.1), (0.01, 0.0), (0.1, 0.15), (0.3, 0.3), (0.0, 0.2)]
)
@pytest.mark.parametrize("t", [0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("n", [1, 10, 80])
def test_lemma_3_bounds_the_exact_tail(plus, minus, t, n):
    if plus - minus + t / 2 < 0:
        with pytest.raises(InputError, match="Lemma 3 needs"):
            trinomial_tail_bound(n, plus, minus, t)
    else:
        assert trinomial_tail(n, plus, minus, t) <= trinomial_tail_bound(n, plus, minus, t) * (1 + 1e-12)


def test_lemma_3_is_not_vacuous():
    exact, bound = trinomial_tail(80, 0.05, 0.05, 0.3), trinomial_tail_bound(80, 0.05, 0.05, 0.3)
    assert exact < bound < 1e-6


@pytest.mark.parametrize("n", [2_000, 50_000])
@pytest.mark.parametrize(("k", "cover"), [(50, 5), (10_000, 40), (10_000, 9_000)])
@pytest.mark.parametrize("eta", [0.5, 0.85, 0.99, 0.9999])
def test_theorem_2(n, k, cover, eta):
    """(5) and (6) give an epsilon at which (4) is at most delta; the epsilon of (4) itself is no larger."""
    delta = 0.05
    best = theorem2_epsilon(n, k, eta=eta, cover=cover, delta=delta)
    if math.isnan(best):
        assert theorem2_log_probability(n, k, 1.0, eta=eta, cover=cover) > math.log(delta)
    else:
        assert math.exp(theorem2_log_probability(n, k, best, eta=eta, cover=cover)) == pytest.approx(delta, rel=1e-6)
    for closed_form in (theorem2_equation5, theorem2_equation6):
        epsilon = closed_form(n, k, eta=eta, cover=cover, delta=delta)
        if not math.isnan(epsilon) and epsilon <= 1:
            assert theorem2_log_probability(n, k, epsilon, eta=eta, cover=cover) <= math.log(delta) + 1e-9
            assert best <= epsilon + 1e-9


def test_equations_5_and_6_apply_somewhere():
    assert theorem2_equation5(50_000, 64, eta=0.85, cover=10, delta=0.05) == pytest.approx(0.02863, abs=1e-5)
    assert theorem2_equation6(50_000, 64, eta=0.999, cover=10, delta=0.05) == pytest.approx(
        math.sqrt(2 * math.log(21 / 0.05) / 50_000)
    )


def test_the_printed_equation_6_lacks_a_factor_2():
    """At the printed epsilon (4) promises far more than delta, whatever k."""
    n, cover, delta = 50_000, 10, 0.05
    printed = math.sqrt(math.log((2 * cover + 1) / delta) / n)
    assert math.exp(theorem2_log_probability(n, 1, printed, eta=1.0, cover=cover)) > 10 * delta


@pytest.mark.parametrize("answers", [None, 2, 11, 101])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("k", [1, 2, 10, 200])
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_corollary_4_keeps_its_promise(answers, alpha, k, delta):
    """(4) over the whole tree of possible queries is at most delta. The paper counts (n+1)^(k-1) of them, the queries
    of the last round alone; all rounds together are ((n+1)^k - 1) / n."""
    n = 5_000
    epsilon, eta, log_cover = corollary4(n, k, alpha=alpha, delta=delta, answers=answers)
    possible = n + 1 if answers is None else answers
    log_queries = k * math.log(possible) + math.log1p(-(float(possible) ** -k)) - math.log(possible - 1)
    anchors = math.log(2) + log_cover - n * epsilon**2 / 2
    others = (
        math.log(2) + log_queries - n * epsilon / 4 * math.log1p(epsilon / (4 * (1 - eta))) if eta < 1 else -math.inf
    )
    assert np.logaddexp(anchors, others) <= math.log(delta) + 1e-9


def test_corollary_4_fewer_answers_and_more_similarity_help():
    exact = corollary4(50_000, 100, alpha=0.0, delta=0.05)[0]
    assert corollary4(50_000, 100, alpha=0.0, delta=0.05, answers=101)[0] < exact
    assert corollary4(50_000, 100, alpha=0.5, delta=0.05)[0] < exact / 3


@pytest.mark.parametrize(
    ("options", "words"),
    [({"alpha": 2.0, "delta": 0.05}, "`alpha`"), ({"alpha": 0.5, "delta": 0.05, "answers": 1}, "`answers`"),
     ({"alpha": 0.5, "delta": 0.0}, "`delta`")],
)  # fmt: skip
def test_corollary_4_refuses(options, words):
    with pytest.raises(InputError, match=words):
        corollary4(100, 10, **options)
