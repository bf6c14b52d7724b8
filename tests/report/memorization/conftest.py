"""Measurements of memorization built by hand: examples that fall one after the other, few enough to be quick."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from heldout.memorization.curve import PMV, PTV, Curve, Exhibits
from heldout.memorization.perturb.corruptions import CORRUPTIONS
from heldout.memorization.result import Audited, MemorizationResult
from heldout.memorization.retrained import LabelNoiseCurve

HOSTILE = "<script>alert('&amp;')</script>\"><img src=x onerror=alert(1)>"
N = 240
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SHIFTS = (0.0, 1.0, 2.0, 3.0, 4.0)


def fallen(accuracies: Sequence[float], n: int, *, seed: int = 0) -> np.ndarray:
    """(p, n) bool: each example is right down to a place of its own."""
    place = np.random.default_rng(seed).permutation(n)
    return np.array([place < round(a * n) for a in accuracies])


def pictures(strengths: int, *, side: int = 8, channels: int = 3, examples: int = 4, seed: int = 0) -> Exhibits:
    rng = np.random.default_rng(seed)
    right = np.arange(strengths) < rng.integers(1, strengths + 1, size=(examples, 1))
    return Exhibits(
        rows=np.arange(examples) * 1_111,
        labels=np.arange(examples) % 10,
        pictures=rng.integers(0, 256, (examples, strengths, side, side, channels), dtype=np.uint8),
        right=right,
    )


def perturbed(
    model: str, name: str, accuracies: Sequence[float], strengths: Sequence[float] | None = None, *, n: int = N,
    unit: str = "strength of it, in 1/255 of the pixel range", exhibits: Exhibits | None = None,
) -> Curve:  # fmt: skip
    """A curve of a finished model."""
    corrupted = name in CORRUPTIONS
    return Curve(
        model=model,
        perturbation=name,
        unit="severity" if corrupted else unit,
        strengths=np.arange(len(accuracies), dtype=float) if strengths is None else np.array(strengths, dtype=float),
        correct=fallen(accuracies, n)[:, None, :],
        done=np.ones((len(accuracies), 1), dtype=bool),
        even=not corrupted,
        seed=0,
        exhibits=exhibits,
    )


def noisy(
    model: str, accuracy: float, learned: float, *, rates: Sequence[float] = RATES, seeds: int = 5, n: int = N,
    lost: Sequence[int] = (), validation: float | None = None,
) -> LabelNoiseCurve:  # fmt: skip
    """Two curves of a model that learns a share of wrong labels (1: all) by heart; rates in `lost` failed."""
    clean = [[accuracy - learned * r + 0.01 * np.sin(7 * s + 40 * r) for s in range(seeds)] for r in rates]
    seen = [[accuracy * (1 - r) + learned * r - 0.01 * np.sin(5 * s + r) for s in range(seeds)] for r in rates]
    right = {
        kind: np.array([[fallen([min(1.0, a)], n, seed=s)[0] for s, a in enumerate(row)] for row in table])
        for kind, table in ((PMV, seen), (PTV, clean))
    }
    done = np.ones((len(rates), seeds), dtype=bool)
    done[list(lost)] = False
    at, undefined = np.array(rates), None
    curves = {}
    for kind in (PMV, PTV):
        strengths, ok, correct = at, done, right[kind]
        if len(rates) == 1 and kind == PTV:  # as heldout.memorization.retrained does
            strengths, ok = np.append(0.0, at), np.concatenate([np.ones_like(done), done])
            correct = np.concatenate([np.ones_like(correct), correct])
        elif len(rates) == 1:
            undefined = "one rate has no slope."
        curves[kind] = Curve(
            model=model, perturbation=kind, unit="share of wrong labels", strengths=strengths, correct=correct, done=ok,
            even=True, seed=0, undefined=undefined if kind == PMV else None, assumed=len(rates) == 1 and kind == PTV,
        )  # fmt: skip
    fresh = np.zeros((0, 0), bool)
    if validation is not None:
        fresh = np.array([fallen([validation], 150, seed=s)[0] for s in range(seeds)])
    return LabelNoiseCurve(
        pmv=curves[PMV],
        ptv=curves[PTV],
        validation_right=fresh,
        failures=tuple(f"{model}, rate {rates[i]:g}, seed {s}: ValueError('no')" for i in lost for s in range(seeds)),
        notes=tuple(f"{model}: every training at the rate {rates[i]:g} failed." for i in lost),
    )


SUDDEN, EVEN, SLOW = (1.0, 0.95, 0.3, 0.1, 0.0), (0.95, 0.75, 0.55, 0.35, 0.15), (0.99, 0.97, 0.94, 0.9, 0.8)


@pytest.fixture(scope="session")
def plain() -> MemorizationResult:
    """Three finished models, two perturbations with metrics and one without, pictures."""
    curves = [
        perturbed(model, name, values, exhibits=pictures(len(values), side=8, channels=1))
        for model, table in (("one", (SUDDEN, EVEN)), ("two", (EVEN, SLOW)), ("three", (SLOW, SUDDEN)))
        for name, values in (("spatial", table[0]), ("gaussian", table[1]), ("fog", (*table[0], 0.0)))
    ]
    return MemorizationResult.of(
        curves,
        source="digits",
        digest="ab" * 32,
        seed=7,
        class_names=tuple("abcdefghij"),
        preprocessing={"pixel_range": "0 to 1", "size": None},
        notes=("Batches of 64, see `--batch-size`.",),
    )


@pytest.fixture(scope="session")
def noise() -> MemorizationResult:
    """Label noise, validation examples and audits."""
    curves = [
        noisy("by heart", 1.0, 1.0, validation=0.6),
        noisy("half", 0.97, 0.5, validation=0.8),
        noisy("learned", 0.9, 0.0, validation=0.85),
    ]
    audits = {
        "by heart": Audited(p_value=1e-7, mean=0.021, detectable_effect=0.02),
        "learned": Audited(p_value=0.4, mean=-0.0003, detectable_effect=0.02),
    }
    return MemorizationResult.of(curves, source="digits", audits=audits)


@pytest.fixture(scope="session")
def one() -> MemorizationResult:
    """One model, both kinds of curves, classes known."""
    curves = [noisy("only", 0.9, 0.1, validation=0.8), perturbed("only", "spatial", SUDDEN, exhibits=pictures(5))]
    return MemorizationResult.of(curves, source="digits", class_names=tuple("abcdefghij"))


@pytest.fixture(scope="session")
def one_noise() -> MemorizationResult:
    """One model, the number of classes not known, trained once a rate."""
    return MemorizationResult.of([noisy("only", 0.9, 0.1, seeds=1)])


@pytest.fixture(scope="session")
def many() -> MemorizationResult:
    """The paper's sixteen models with four perturbations, label noise and a gap."""
    curves: list[Curve | LabelNoiseCurve] = []
    rng = np.random.default_rng(5)
    for i in range(16):
        name, heart = f"{'VGG' if i < 8 else 'ResNet'} C{i % 8 + 1}", i % 8 / 7
        curves.append(noisy(name, 0.95 + 0.05 * heart, heart, n=60, validation=0.9 - 0.3 * heart))
        for kind, power in (("spatial", 1.0), ("fgsm", 2.0)):
            fall = np.linspace(0, 1, 9) ** (power * (0.4 + 1.6 * rng.random()))
            curves.append(perturbed(name, kind, (0.98 * (1 - fall)).tolist(), exhibits=pictures(9, side=32)))
    return MemorizationResult.of(curves, source="CIFAR-10")


@pytest.fixture(scope="session")
def crowd() -> MemorizationResult:
    """More models than lines can be told apart."""
    curves = [perturbed(f"net {i}", "gaussian", (1.0, 0.9 - i / 50, 0.5 - i / 60)) for i in range(21)]
    return MemorizationResult.of(curves, source="many")


@pytest.fixture(scope="session")
def corrupted() -> MemorizationResult:
    """Fifteen corruptions: curves without a metric; pictures of noise, which is the most that a page can hold."""
    curves = [
        perturbed(
            model, name, [a - 0.02 * k * s / 5 for s, a in enumerate(values)], exhibits=pictures(6, side=96, seed=k)
        )
        for model, values in (("one", (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)), ("two", (0.9, 0.88, 0.86, 0.83, 0.8, 0.75)))
        for k, name in enumerate(CORRUPTIONS)
    ]
    return MemorizationResult.of(curves, source="CIFAR-10")


@pytest.fixture(scope="session")
def failed() -> MemorizationResult:
    """A rate without a training that ended well, and notes about it."""
    return MemorizationResult.of([noisy("weak", 0.9, 0.2, lost=[2]), noisy("strong", 0.95, 0.6)], source="digits")


@pytest.fixture(scope="session")
def single() -> MemorizationResult:
    """One rate: PMV is undefined, PTV takes an accuracy of 1 without noise."""
    return MemorizationResult.of([noisy("a", 0.9, 0.2, rates=[0.3]), noisy("b", 0.95, 0.9, rates=[0.3])])


@pytest.fixture(scope="session")
def uneven() -> MemorizationResult:
    """A model whose strengths are not equally far apart, another that was not put to all perturbations."""
    curves = [
        perturbed("uneven", "spatial", SUDDEN, (0, 1, 2, 4, 8)),
        perturbed("even", "spatial", EVEN),
        perturbed("even", "gaussian", SLOW, n=100),
    ]
    return MemorizationResult.of(curves, source="digits")


@pytest.fixture(scope="session")
def alike() -> MemorizationResult:
    """Two models with the same answers."""
    return MemorizationResult.of([perturbed(name, "spatial", EVEN) for name in ("a", "b")])


@pytest.fixture(scope="session")
def close() -> MemorizationResult:
    """Two models that do not differ significantly."""
    curves = [perturbed("a", "spatial", (1.0, 0.74, 0.5, 0.3)), perturbed("b", "spatial", (1.0, 0.79, 0.54, 0.3))]
    return MemorizationResult.of(curves, source="digits")


@pytest.fixture(scope="session")
def disputed() -> MemorizationResult:
    """Two models that metrics order in opposite ways; every column there can be."""
    curves: list[Curve | LabelNoiseCurve] = []
    for model, heart, table in (("leaked", 1.0, (EVEN, SUDDEN)), ("honest", 0.0, (SUDDEN, EVEN))):
        curves += [perturbed(model, name, values) for name, values in zip(("gaussian", "spatial"), table, strict=True)]
        curves.append(noisy(model, 0.9 + heart / 10, heart, validation=0.8))
    audits = {"leaked": Audited(p_value=0.01, mean=0.03, detectable_effect=0.025)}
    return MemorizationResult.of(curves, source="digits", audits=audits)


@pytest.fixture(scope="session")
def hostile() -> MemorizationResult:
    """Names that want to break out of the page."""
    long = "\N{RIGHT-TO-LEFT OVERRIDE}" + "y" * 300
    curves = [
        perturbed(model, name, values, unit=HOSTILE, exhibits=pictures(5, channels=2))
        for model, values in ((HOSTILE, SUDDEN), (long, EVEN), ("z" * 200, SLOW))
        for name in (f"my{HOSTILE}", "x" * 120)
    ]
    return MemorizationResult.of(
        curves,
        source=f"{HOSTILE}\udcff",
        digest="cd" * 32,
        class_names=(HOSTILE, "w" * 200),
        failures=(HOSTILE,),
        notes=(HOSTILE, "x" * 400),
        preprocessing={HOSTILE: HOSTILE, "crop": "v" * 200},
        validation={HOSTILE: np.ones((1, 50), bool)},
        audits={HOSTILE: Audited(p_value=float("nan"), mean=float("nan"), detectable_effect=0.02)},
    )


ALL = (
    "plain", "noise", "one", "one_noise", "many", "crowd", "corrupted", "failed", "single", "uneven", "alike",
    "close", "disputed", "hostile",
)  # fmt: skip


@pytest.fixture(params=ALL)
def result(request: pytest.FixtureRequest) -> MemorizationResult:
    """Each of them in turn."""
    found: MemorizationResult = request.getfixturevalue(request.param)
    return found
