"""Numbers of the tables: ours and the published ones, effects of the factors, how orders agree, who does not fit."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from published import FACTORS, METRICS, VALUES
from runs import FAMILIES, NAMES, Noise, Runs
from scipy import stats
from scipy.stats import rankdata, spearmanr
from trained import Trained

from heldout import MemorizationResult
from heldout.memorization.curve import metrics_of
from heldout.memorization.metrics import Estimate, slope

FIT = 0.95  # of the labels: below it a slope may be that of a training cut short
SIZES = {"C1 to C4": (1, 2, 3, 4), "C5 to C8": (5, 6, 7, 8)}  # 45,000 and 5,000 images to train on
Metric = tuple[str, str]
Values = Callable[[str, Metric], dict[str, float]]  # of C1 to C8, by family and metric


# --- values of the metrics ---------------------------------------------------------------------------


def estimate(result: MemorizationResult, model: str, metric: Metric) -> Estimate | None:
    found = result.curve(model, metric[0])
    return None if found is None else found.estimates[metric[1]]


def value(result: MemorizationResult, model: str, metric: Metric) -> float:
    found = estimate(result, model, metric)
    return math.nan if found is None else found.value


def ours(result: MemorizationResult, family: str, metric: Metric) -> dict[str, float]:
    return {k: value(result, f"{family}-{k}", metric) for k in VALUES[family]}


def theirs(family: str, metric: Metric) -> dict[str, float]:
    return {k: v[METRICS.index(metric)] for k, v in VALUES[family].items()}


def published_of(name: str) -> tuple[float, ...]:
    """All that the paper prints of a network, in the order of METRICS as far as it goes."""
    if name in VALUES["others"]:
        return VALUES["others"][name]
    family, number = name.split("-")
    return VALUES[family][number]


def sources(result: MemorizationResult) -> dict[str, Values]:
    return {"ours": functools.partial(ours, result), "published": theirs}


def known(values: dict[str, float]) -> dict[str, float]:
    return {k: v for k, v in values.items() if not math.isnan(v)}


# --- factors, and orders -----------------------------------------------------------------------------


def effects(values: dict[str, float]) -> dict[str, tuple[float, float]]:
    """Main effects of the three factors (difference of means) and the share of the variance that each takes."""
    if any(math.isnan(v) for v in values.values()):
        return dict.fromkeys(FACTORS, (math.nan, math.nan))
    mean = sum(values.values()) / 8
    total = sum((v - mean) ** 2 for v in values.values())
    found = {}
    for name, signs in FACTORS.items():
        effect = sum(signs[k] * v for k, v in values.items()) / 4
        found[name] = (effect, 8 * (effect / 2) ** 2 / total if total else math.nan)
    return found


def largest(values_of: Values) -> list[tuple[str, bool]]:
    """The factor with the largest share of the variance, for every metric of both families that is known.

    And whether the four models with the factor memorise more by the metric: a share of the variance does not say.
    """
    found = []
    for family in FAMILIES:
        for metric in METRICS:
            by_factor = effects(values_of(family, metric))
            if any(math.isnan(share) for _, share in by_factor.values()):
                continue
            first = max(by_factor, key=lambda name: by_factor[name][1])
            found.append((first, (by_factor[first][0] < 0) == (metric == METRICS[0])))
    return found


def rank_correlation(some: dict[str, float], others: dict[str, float]) -> float:
    """Spearman's, over the models of the first."""
    return spearmanr(list(some.values()), [others[k] for k in some]).statistic if len(some) > 2 else math.nan


@functools.cache
def orders(n: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(n))), dtype=np.int8)


def by_chance(some: dict[str, float], others: dict[str, float]) -> float:
    """Share of all orders of the first whose rank correlation is as far from 0: its p, exact, on both sides.

    Values are taken as they are: that each of them is uncertain is not in it.
    """
    if len(some) < 3 or any(math.isnan(values[k]) for values in (some, others) for k in some):
        return math.nan
    x, y = (rankdata([values[k] for k in some]) for values in (some, others))
    x, y = x - x.mean(), y - y.mean()
    found = x[orders(len(some))] @ y
    return float((np.abs(found) >= abs(x @ y) - 1e-9).mean())


def correlated(result: MemorizationResult) -> list[float]:
    """The rank correlations with the published values, of both families by all metrics, whose p is below 0.05."""
    both = [[of(family, metric) for of in sources(result).values()] for family in FAMILIES for metric in METRICS]
    return [rank_correlation(*pair) for pair in both if by_chance(*pair) < 0.05]


def by_single_seeds(result: MemorizationResult, family: str, metric: Metric) -> tuple[float, float]:
    """The middle 90 % of rank correlations with the published values, with one training of each network.

    All ways to take one: as far as the trainings tell that there are, how much of the correlation hangs on them.
    """
    each = [np.atleast_1d(seed_by_seed(result, f"{family}-{k}", metric)) for k in VALUES[family]]
    ways = rankdata(np.array(list(itertools.product(*each))), axis=1)
    published = rankdata(list(theirs(family, metric).values()))
    ways, published = ways - ways.mean(axis=1, keepdims=True), published - published.mean()
    found = ways @ published / np.sqrt((ways**2).sum(axis=1) * (published**2).sum())
    low, high = np.quantile(found, (0.05, 0.95))
    return float(low), float(high)


def in_order(values: list[float], metric: Metric) -> int:
    """Of the 16 pairs of one of C1 to C4 and one of C5 to C8, how many the metric puts in that order."""
    sign = -1 if metric == ("pmv", "k_S") else 1
    return sum(sign * values[a] < sign * values[b] for a in range(4) for b in range(4, 8))


def apart(result: MemorizationResult, family: str, metric: Metric) -> tuple[int, int] | None:
    """Of the same 16 pairs, how many have 95 % intervals that do not overlap, in that order and in the other."""
    if any(estimate(result, f"{family}-{k}", metric) is None for k in VALUES[family]):
        return None
    found = apart_pairs(result, family, metric)
    return sum(found.values()), len(found) - sum(found.values())


def apart_pairs(result: MemorizationResult, family: str, metric: Metric) -> dict[tuple[str, str], bool]:
    """Which of the 16 pairs have intervals that do not overlap, and whether in that order; all have to be there."""
    found = {}
    for a, b in itertools.product(*([f"C{i}" for i in which] for which in SIZES.values())):
        less, more = (estimate(result, f"{family}-{k}", metric) for k in (a, b))  # of memory, in that order
        if metric == METRICS[0]:
            less, more = more, less  # by the slope of PMV small ones are more memory
        if less.high < more.low or more.high < less.low:
            found[a, b] = less.high < more.low
    return found


def memorised_more(pair: MemorizationResult, one: str, other: str, metric: Metric) -> bool | None:
    """Whether the second of a pair has memorised more than the first, significantly; None where neither has.

    By the comparison of `heldout memorization`, which tells more than whether two intervals overlap. Of a network with
    one seed it knows nothing of other trainings: `by_seeds` does, as far as those of the other tell.
    """
    ranking = next((r for r in pair.rankings if (r.perturbation, r.metric) == metric), None)
    if ranking is None:  # not ranked together
        return None
    return True if ranking.differs(other, one) else False if ranking.differs(one, other) else None


def seed_by_seed(result: MemorizationResult, model: str, metric: Metric) -> np.ndarray:
    """A metric of every training of a network by itself."""
    curve = result.curve(model, metric[0])
    of = next(m for m in metrics_of(metric[0]) if m.name == metric[1])
    return of(curve.correct.mean(axis=2).T, curve.strengths)


def by_seeds(some: np.ndarray, others: np.ndarray) -> float:
    """Student's p, on both sides, that two networks differ, from their trainings alone: of either one may do.

    As if trainings of both were spread alike, and normally; of one and three it has two degrees of freedom.
    """
    freedom = len(some) + len(others) - 2
    if freedom < 1 or not np.ptp(np.concatenate((some - some.mean(), others - others.mean()))):
        return math.nan
    spread = sum(((v - v.mean()) ** 2).sum() for v in (some, others)) / freedom
    far = (some.mean() - others.mean()) / math.sqrt(spread * (1 / len(some) + 1 / len(others)))
    return float(2 * stats.t.sf(abs(far), freedom))


def by_seeds_unlike(some: np.ndarray, others: np.ndarray) -> float:
    """Welch's p: the same where trainings of the two may be spread in different ways. Both need two."""
    if min(len(some), len(others)) < 2 or not (np.ptp(some) or np.ptp(others)):
        return math.nan
    return float(stats.ttest_ind(some, others, equal_var=False).pvalue)


def how_trained(several: list[Trained]) -> str:
    """How many were trained in which way."""
    counts = {way: sum(t.way == way for t in several) for way in WAYS}
    return ", ".join(f"{n} {way}" for way, n in counts.items() if n)


def alike_but_for_size(runs: Runs) -> list[tuple[str, str]]:
    """Pairs such as C1 and C5 that were trained alike, but for the number of images."""
    found = []
    for family in FAMILIES:
        for large, small in zip(*SIZES.values(), strict=True):
            pair = f"{family}-C{large}", f"{family}-C{small}"
            how = []
            for name in pair:
                noise, plain = runs.noise(name), runs.plain(name)
                if noise is not None and plain:
                    limits = {t.limit for t in noise.trained}, {t.limit for t in plain}
                    how.append((limits, {t.rate for t in (*noise.trained, *plain)}, tuple(noise.rates)))
            if len(how) == 2 and how[0] == how[1]:
                found.append(pair)
    return found


@dataclass(frozen=True)
class Sizes:
    """One metric of two networks that were trained alike but for the number of images."""

    large: str
    small: str
    metric: Metric
    ours: tuple[Estimate, Estimate]
    theirs: tuple[float, float]
    fewer: bool | None  # whether the one of fewer images has memorised more
    family_wise: bool  # whether that holds with all pairs of the family counted
    alone: float  # p by the trainings alone
    unlike: float = math.nan  # the same by Welch's test

    @property
    def published(self) -> bool:
        return (self.theirs[0] > self.theirs[1]) == (self.metric == METRICS[0])


def by_size(runs: Runs, pools: dict[str, MemorizationResult]) -> list[Sizes]:
    """Pairs of each family; `pools` are the results of all of its networks."""
    found = []
    for large, small in alike_but_for_size(runs):
        pair, result = (large, small), pools[large.split("-")[0]]
        compared = MemorizationResult.of([c for c in result.curves if c.model in pair])
        for metric in METRICS:
            ours = tuple(estimate(result, name, metric) for name in pair)
            if None in ours:
                continue
            fewer = memorised_more(compared, large, small, metric)
            seeds = [seed_by_seed(result, name, metric) for name in pair]
            found.append(Sizes(
                large, small, metric, ours, tuple(published_of(name)[METRICS.index(metric)] for name in pair),
                fewer, fewer is not None and memorised_more(result, large, small, metric) is fewer,
                by_seeds(*seeds), by_seeds_unlike(*seeds),
            ))  # fmt: skip
    return found


WAYS = ("plain", "fused", "float32")  # Trained.way


def both_ways(runs: Runs, first: str = "plain", second: str = "fused") -> list[tuple[Trained, Trained]]:
    """Trainings of one network, seed, learning rate and length in two of the WAYS.

    Those with a way in their name (`resnet-C5-fused`) were trained for this comparison only.
    """
    found = []
    for name in NAMES:
        labels = name, *(f"{name}-{way}" for way in WAYS)
        own = [t for label in labels for t in runs.of(label) if 0.0 in t.rates]
        for one in (t for t in own if t.way == first):
            same = (one.seed, one.rate, one.limit)
            found += [(one, t) for t in own if t.way == second and (t.seed, t.rate, t.limit) == same]
    return found


def slopes(t: Trained, among: Collection[float] | None = None) -> tuple[float, float]:
    """k_S by the labels trained on and by the true ones, of one training, perhaps at some rates only; NaN at one."""
    noise = Noise.together([t], among=among)
    if len(noise.rates) == 1:
        return math.nan, math.nan
    return float(slope(noise.given, noise.rates)), float(slope(noise.on_true.mean(axis=(1, 2)), noise.rates))


def learned(t: Trained, among: Collection[float] | None = None) -> tuple[float, float]:
    """Share of the wrong labels that one training says: of those of all of these rates, of the highest; NaN at one."""
    noise = Noise.together([t], among=among)
    if len(noise.rates) == 1:
        return math.nan, math.nan
    return float(noise.on_given[noise.wrong].mean()), float(noise.learned[-1])


# --- accuracies --------------------------------------------------------------------------------------


def accuracies(several: list[Trained]) -> list[float]:
    """On training, validation and test images, per cent, mean over seeds without label noise."""
    return [100 * float(np.mean([t.clean[k] for t in several])) for k in ("pmv", "val", "test")]


def left(found: dict[str, np.ndarray], corruption: int, severity: int) -> dict[str, float]:
    """Share of the clean accuracy that a corruption leaves, mean over the models of either size of training set."""
    shares = {}
    for size, which in SIZES.items():
        some = [share for name, share in found.items() if "-C" in name and int(name[-1]) in which]
        shares[size] = np.mean([share[corruption, severity] / share[corruption, 0] for share in some])
    return shares


def regularised(name: str) -> bool:
    return "-C" in name and int(name[-1]) % 2 == 1


def below_fit(runs: Runs) -> tuple[dict[str, float], dict[str, float]]:
    """Right on too few labels: without noise; and of the others that are not regularised, where half are wrong."""
    noise = {name: found for name in NAMES if (found := runs.noise(name)) is not None}
    short = {n: v.given[0] for n, v in noise.items() if v.given[0] < FIT}
    half = {n: v.given[-1] for n, v in noise.items() if n not in short and not regularised(n) and v.given[-1] < FIT}
    return short, half


def by_learning_rate(folder: Path) -> list[tuple[float, int, list[float]]]:
    """Of VGG C6: learning rate, epochs, and the share right on true labels and on those of which half are wrong."""
    with np.load(folder / "learning-rates.npz") as f:
        kept = [json.loads(str(f[key])) for key in f.files if key.endswith("/record")]
    records = [t.record for t in Runs(folder).of("vgg-C6") if t.seed == 0] + kept
    found = []
    for record in sorted(records, key=lambda r: r["setting"]["rate"]):
        s, by_rate = record["setting"], {float(k): v for k, v in record["summary"].items()}
        found.append((s["rate"], s["epochs"], [by_rate[r]["pmv"] for r in (0.0, 0.5) if r in by_rate]))
    return found


# --- what `heldout memorization` says ----------------------------------------------------------------


def unfit(result: MemorizationResult, perturbation: str) -> list[str]:
    """Models that it does not rank, as they do not fit their labels."""
    return [c.model for c in result.curves if c.perturbation == perturbation and c.unfit is not None]


def at_other_rates(result: MemorizationResult) -> list[str]:
    """Models that it does not rank by label noise, as others were trained at other rates."""
    return sorted({model for u in result.unranked if u.perturbation == "ptv" for model in u.models})


def once(result: MemorizationResult) -> list[str]:
    """Models that were trained once at each rate of label noise."""
    return [c.model for c in result.curves if c.perturbation == "pmv" and c.correct.shape[1] == 1]


def opposed(result: MemorizationResult) -> int:
    """Pairs that two metrics order in opposite ways, both significantly."""
    return len({frozenset(d.models) for d in result.disagreements})
