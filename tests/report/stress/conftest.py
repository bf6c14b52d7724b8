"""Stress tests built by hand: curves from the closed forms, trials with binomial noise around them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from heldout.attack.bounds import accuracy_bound, exact_accuracy_bound, expected_accuracy_bound, possible_answers
from heldout.attack.forecast import forecast, forecast_top
from heldout.attack.outlook import queries_to_reach
from heldout.attack.result import StressResult, StressRun

HOSTILE = "<script>alert('&amp;')</script>\"><img src=x onerror=alert(1)>"
DELTA = 0.05
REGIME = (
    "k_min", "rate", "reconstructable", "theorem_4_5_queries", "corollary_4_6_applies", "corollary_4_6_accuracy",
)  # fmt: skip
BLUR = {None: 1.0, 3: 0.99, 2: 0.85, 1: 0.05}  # of the queries' worth that digits leave; made up


def stops(k: int, count: int = 12) -> list[int]:
    return sorted({max(1, round(v)) for v in np.linspace(k / count, k, count)})


def made(
    n: int = 10_000, m: int = 10, k: int = 1_000, *, attack: str = "nb", digits: int | None = None, trials: int = 10,
    count: int = 12, seed: int = 0,
) -> StressRun:  # fmt: skip
    """A run without a prior."""
    queries = stops(k, count)
    if attack == "linear-scan":  # about m/2 answers settle a label
        means = [1 / m + (1 - 1 / m) * min(1.0, 2 * q / (m * n)) for q in queries]
    else:
        means = [forecast(n, m, max(1, round(BLUR[digits] * q)), attack=attack) for q in queries]
    rng = np.random.default_rng((seed, m, trials, len(attack), digits or 0))
    values = possible_answers(n, digits)
    return StressRun(
        attack=attack,
        n_examples=n,
        n_classes=m,
        answers="exact" if digits is None else f"{digits} digit{'s' if digits > 1 else ''}",
        digits=digits,
        points=n,
        top=None,
        queries=np.array(queries),
        accuracy=rng.binomial(n, means, size=(trials, len(queries))) / n,
        starts=np.full(trials, 1 / m),
        chance=1 / m,
        forecast=np.array(means if digits is None else [math.nan] * len(means)),
        upper_bound=np.array([exact_accuracy_bound(n, m, q, delta=DELTA, answers=values) for q in queries]),
        theorem_bound=np.array([accuracy_bound(n, m, q, delta=DELTA, answers=values) for q in queries]),
    )


def queries_for(t: int, m: int) -> float:
    """Theorem 4.5."""
    return max(5 * t * math.log(m) / math.log(t / (4 * m)), 20 * m * math.log(t * m))


def result_of(run: StressRun, **fields: object) -> StressResult:
    """Alone, without any comparison, unless told."""
    n, m, k = run.n_examples, run.n_classes, int(run.queries[-1])
    t = max((t for t in range(12 * m, n) if m > 2 and queries_for(t, m) <= k), default=0)
    known: dict[str, object] = {
        "run": run,
        "by_attack": (),
        "by_digits": (),
        "by_classes": (),
        "expected_bound": expected_accuracy_bound(n, m, k) if run.digits is None else math.nan,
        "reach": {a: queries_to_reach(a, n, m) for a in (0.01, 0.02, 0.05, 0.1)},
        "regime": {
            "k_min": math.log(n) + m * math.log(m),
            "rate": math.sqrt(k / n) / m,
            "reconstructable": float(t),
            "theorem_4_5_queries": queries_for(t, m) if t else math.nan,
            "corollary_4_6_applies": float(k >= 40 * m * math.log(m)),
            "corollary_4_6_accuracy": (t + (n - t) / m) / n,
        },
        "seed": 7,
        "delta": DELTA,
        "labels": "uniform at random",
        "prior": None,
        "source": f"{n:,} examples, {m} classes",
        "data_digest": None,
        "version": "0.0.test",
    }
    return StressResult(**(known | fields))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def plain() -> StressResult:
    """Ten classes, a thousand answers, everything compared; the theorem is vacuous, the exact tail is not."""
    run = made()
    return result_of(
        run,
        by_attack=(run, made(attack="majority"), made(attack="plurality"), made(attack="linear-scan")),
        by_digits=(run, made(digits=3), made(digits=2), made(digits=1)),
        by_classes=(made(m=2), run, made(m=100), made(m=1000)),
    )


@pytest.fixture(scope="session")
def vacuous() -> StressResult:
    """Two classes, so many answers that the bound excludes nothing at any stop."""
    return result_of(made(n=2_000, m=2, k=4_000, count=10))


@pytest.fixture(scope="session")
def fading() -> StressResult:
    """The bound says something at the first stop only."""
    return result_of(made(m=2, k=5_200, count=10))


@pytest.fixture(scope="session")
def telling() -> StressResult:
    """Forty answers: the bound says something at every stop."""
    return result_of(made(k=40, count=8))


@pytest.fixture(scope="session")
def single() -> StressResult:
    """One trial: no spread."""
    return result_of(made(trials=1))


@pytest.fixture(scope="session")
def prior() -> StressResult:
    """A model's top two on the points it is least sure of: the theorem knows no prior."""
    n, q, share, base = 50_000, 10_000, 0.72, 0.751
    queries = stops(5_200)
    sure, hard = 0.8 * 0.84, 0.2  # what is right elsewhere, and the share of points that are attacked
    expected = np.array([sure + hard * forecast_top(q, 2, k, share=share) for k in queries])
    expected += base - (sure + hard * forecast_top(q, 2, 0, share=share))
    run = StressRun(
        attack="nb",
        n_examples=n,
        n_classes=1000,
        answers="exact",
        digits=None,
        points=q,
        top=2,
        queries=np.array(queries),
        accuracy=np.random.default_rng(3).normal(expected, 0.0008, size=(10, len(queries))),
        starts=np.full(10, base),
        chance=base,
        forecast=expected,
        upper_bound=np.array([min(1.0, base + 0.00004 * k) for k in queries]),
        theorem_bound=np.full(len(queries), math.nan),
        notes=("The prior knows 1,000 classes; only its first 2 are used, see `--top`.",),
    )
    return result_of(
        run,
        expected_bound=math.nan,
        reach={},
        regime=dict.fromkeys(REGIME, math.nan),
        labels="given",
        prior="resnet50.npz",
        source="resnet50.npz, labels.csv",
        data_digest="ab" * 32,
    )


@pytest.fixture(scope="session")
def no_forecast() -> StressResult:
    """Answers by another mechanism: nothing in closed form, and nothing to count."""
    run = made(m=4, k=600)
    unknown = np.full(len(run.queries), math.nan)
    run = replace(
        run, answers="Ladder(step=0.01)", forecast=unknown, upper_bound=unknown, theorem_bound=unknown,
        accuracy=run.accuracy * 0 + np.random.default_rng(1).binomial(10_000, 0.2499, run.accuracy.shape) / 10_000,
    )  # fmt: skip
    return result_of(run, expected_bound=math.nan, reach={}, regime={})


@pytest.fixture(scope="session")
def scan() -> StressResult:
    """A linear scan with answers of three digits, compared with naive Bayes at fewer answers."""
    run = made(m=5, k=2_000, attack="linear-scan", digits=3)
    return result_of(run, by_attack=(run, made(m=5, k=500, digits=3)), expected_bound=math.nan)


@pytest.fixture(scope="session")
def one_stop() -> StressResult:
    """A single number of answers: no curve to speak of."""
    run = made(k=100, count=1)
    return result_of(run, by_attack=(run, made(k=100, count=1, attack="majority")))


@pytest.fixture(scope="session")
def many() -> StressResult:
    """More numbers of classes than there are styles of lines."""
    run = made(m=20, k=2_000, count=40)
    others = [made(m=m, k=2_000, count=40) for m in (2, 3, 5, 10, 50, 100, 200, 500)]
    return result_of(run, by_classes=(*others, run))


@pytest.fixture(scope="session")
def hostile() -> StressResult:
    """Names that want to break out of the page."""
    run = replace(made(m=3, k=300), answers=HOSTILE, notes=(HOSTILE, "x" * 400))
    other = replace(made(m=3, k=300, digits=2), digits=None, answers="\N{RIGHT-TO-LEFT OVERRIDE}" + "y" * 300)
    return result_of(
        run, by_digits=(run, other), source=f"{HOSTILE}\udcff", labels=HOSTILE, prior=HOSTILE, data_digest="cd" * 32
    )


ALL = (
    "plain", "vacuous", "fading", "telling", "single", "prior", "no_forecast", "scan", "one_stop", "many", "hostile",
)  # fmt: skip


@pytest.fixture(params=ALL)
def result(request: pytest.FixtureRequest) -> StressResult:
    """Each of them in turn."""
    found: StressResult = request.getfixturevalue(request.param)
    return found
