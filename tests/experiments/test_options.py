"""False alarms and power of the tests of options, and of the audit's on pictures with a finite orbit, by simulation."""

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from experiments import pages  # noqa: E402
from experiments.options import levels, power, tables, views  # noqa: E402
from experiments.options.worlds import LEVELS, OTHER_ORDERS, benchmark  # noqa: E402


def hold(rates, n):
    """Shares at 0.05 and 0.01 that are at most three standard errors too many."""
    most = [alpha + 3 * math.sqrt(alpha * (1 - alpha) / n) for alpha in levels.ALPHAS]
    return all(rate <= m for rate, m in zip(rates, most, strict=True))


def check(name, n):
    found = levels.rates(name, n, seed=7)
    for test, rates in zip(levels.TESTS, found, strict=True):
        if levels.is_uniform(name) or test.startswith("cond"):
            assert hold(rates, n), (test, rates)
    assert np.nanmax(found) > 0  # no test that never speaks


@pytest.mark.parametrize("name", ["24 orders, bias, skewed positions", "8 drawn orders, bias, uniform positions"])
def test_level(name):
    check(name, 120)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LEVELS, *OTHER_ORDERS])
def test_level_over_ten_thousand_benchmarks(name):
    check(name, 10_000)


def test_a_fifth_memorised_is_found():
    for world in ({"memorised": 0.2}, {"memorised": 0.2, "letters": True}):
        assert min(power.found(world, 12)) >= 0.75


@pytest.mark.slow
def test_power_at_a_tenth():
    for name in ("10 % memorised in their order", "10 % memorised by letter"):
        conditional, _, exact = power.found(power.ASKED[name], 500, seed=3)
        assert min(conditional, exact) >= 0.7


def test_worlds_print_what_they_say(rng):
    made = benchmark(rng, n=4_000, skewed=True, orders="cyclic")
    printed = made.positions[made.starts[:-1]]
    np.testing.assert_allclose(np.bincount(printed) / 4_000, (0.22, 0.24, 0.29, 0.25), atol=0.03)
    assert (np.sort(made.positions.reshape(-1, 4), axis=1) == np.arange(4)).all()
    known = benchmark(rng, n=4_000, memorised=1.0)
    wrong = known.wrong.reshape(-1, 24)
    assert not wrong[:, 0].any()
    assert wrong[:, 1:].mean() == pytest.approx(0.6, abs=0.01)


def slow_statistic(scores, at, rule):
    """T from its definition: every view can be moved to every other."""
    views_, wrong = range(len(scores)), [s > 0 for s in scores]

    def g(x):
        others = [z for z in views_ if z != x and wrong[z]]
        return x if wrong[x] or not others else max(others, key=lambda z: (scores[z], -z))

    def h(x):
        if rule == "strongest":
            return Fraction(1, 1 + sum(g(z) == x for z in views_ if z != x))
        moves = len(scores) - 1 + (rule == "random2")
        return 1 / (1 + Fraction(sum(not wrong[z] for z in views_ if z != x), moves))

    if rule == "strongest":
        return wrong[g(at)] * h(g(at)) - wrong[at]
    if wrong[at]:
        return h(at) - 1
    moves = len(scores) - 1 + (rule == "random2")
    return sum((h(z) for z in views_ if wrong[z]), Fraction(0)) / moves


@pytest.mark.parametrize("rule", ["strongest", "random", "random2"])
@pytest.mark.parametrize("n_views", [2, 8])
def test_statistic_of_views(rule, n_views, rng):
    made = views.scores(rng, 60, n_views)
    for i, row in enumerate(made.tolist()):
        slow = [slow_statistic(row, at, rule) for at in range(n_views)]
        assert sum(slow) == 0
        fast = [views.statistic(made[i : i + 1], rule, at)[0] for at in range(n_views)]
        np.testing.assert_allclose(fast, [float(t) for t in slow], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", views.VIEWS)
def test_level_of_the_audit_on_views(name):
    for test, rates in views.rates(views.VIEWS[name], 10_000, seed=5).items():
        assert hold(rates, 10_000), (test, rates)


def test_readme_shows_the_results():
    assert pages.filled(tables.README.read_text(), tables.parts()) == tables.README.read_text()


def test_page_of_the_verb_quotes_the_results():
    """False alarms at 5 % that docs/options.md names are those of the tables."""
    rows = map(json.loads, levels.RESULTS.read_text().splitlines())
    rates = {row["world"]: row["rates"] for row in rows}
    text = " ".join((ROOT / "docs" / "options.md").read_text().split())
    for world, test, sentence in (
        ("two sources with places of their own, as one", "conditional", "gave {} false alarms at 5 %, and"),
        ("two sources with places of their own, as strata", "conditional", "and {} within strata"),
        (
            "24 orders, bias, skewed positions, 2,000 items",
            "Poisson-binomial",
            "{} false alarms at 5 % with 2,000 items",
        ),
        ("numbers, printed in rising order, left in", "conditional", "left in, gave {} false alarms"),
        ("one list of options, in one order for all items", "conditional", "not many ({} false alarms at 5 % with 500"),
    ):
        assert sentence.format(f"{100 * rates[world][test][0]:.3g} %") in text, (world, rates[world][test])
