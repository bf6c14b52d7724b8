"""What README.md says of the tables in sentences with numbers: counted here, so that none of them is typed there."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import measures
import numpy as np
from measures import Metric, Sizes
from published import METRICS
from runs import FAMILIES, Noise, Runs
from scipy.stats import ttest_rel
from trained import Trained

from heldout import MemorizationResult
from heldout.statistics import holm

COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
LEVEL = 0.05
NETWORK, FIRST = "resnet-C5", 5  # trained in two ways with label noise; pairs that there were when more were asked for
MEASURES = ("PMV", "PTV", "all wrong labels learned", "those at the highest rate")  # of measures.slopes and learned


def counted(n: int) -> str:
    return COUNTS[n] if n < len(COUNTS) else str(n)


def of_all(n: int, most: int) -> str:
    if n == most:
        return "both" if most == 2 else f"all {counted(most)}"
    return f"{counted(n)} of {counted(most)}"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + list(names[-1:]))


def but(names: Sequence[str]) -> str:
    return f" but {listed(names)}" if names else ""


def numbers(values: Sequence[float]) -> str:
    return listed([f"{v:.2f}" for v in values])


def paragraphs(*texts: str) -> str:
    return "\n\n".join(textwrap.fill(text, 200, break_long_words=False) for text in texts)


def bullets(*texts: str) -> str:
    return "\n".join(textwrap.fill(f"- {t}", 200, subsequent_indent="  ", break_long_words=False) for t in texts)


# --- two ways of training ----------------------------------------------------------------------------


def with_noise(runs: Runs, first: str, second: str) -> list[tuple[Trained, Trained]]:
    """In the order of the seeds."""
    pairs = [pair for pair in measures.both_ways(runs, first, second) if pair[0].network == NETWORK]
    return sorted((pair for pair in pairs if all(len(t.rates) > 1 for t in pair)), key=lambda pair: pair[0].seed)


def measured(pairs: list[tuple[Trained, Trained]]) -> np.ndarray:
    """(pairs, 2, MEASURES)."""
    return np.array([[(*measures.slopes(t), *measures.learned(t)) for t in pair] for pair in pairs])


def by_rate(t: Trained) -> np.ndarray:
    """Share of the wrong labels learned at each rate."""
    return Noise.together([t]).learned


def two_ways(runs: Runs) -> str:
    """Of the same seeds trained by fused.py and by plain networks, and by these in float32."""
    pairs = with_noise(runs, "plain", "fused")
    plain, fused = measured(pairs).swapaxes(0, 1)
    less, n = fused - plain, len(pairs)
    ahead = sum(by_rate(b) > by_rate(a) for a, b in pairs)
    p = [float(v) for v in ttest_rel(fused, plain).pvalue]
    stand = [name for name, v in zip(MEASURES, holm(p), strict=True) if v < LEVEL]
    early, late = slice(FIRST), slice(FIRST, None)
    p_early, p_late = (float(ttest_rel(fused[some, 3], plain[some, 3]).pvalue) for some in (early, late))
    single, beside = measured(with_noise(runs, "float32", "fused"))[:, :, 3].T
    half = np.diff(measured(with_noise(runs, "float32", "plain"))[:, :, 3])[:, 0]
    fresh = [abs(a.clean[part] - b.clean[part]) for a, b in measures.both_ways(runs)
             if a.network.startswith("resnet") for part in ("val", "test")]  # fmt: skip
    return bullets(
        f"With label noise, ResNet C5 ({counted(n)} seeds): with half of the labels wrong `fused.py` learned more of "
        f"the wrong ones in {of_all(ahead[-1], n)}, by {less[:, 3].mean():.2f} in the mean, and its PMV slope is more "
        f"memory in {of_all((less[:, 0] < 0).sum(), n)}. At the lower rates it is ahead in {counted(min(ahead[:-1]))} "
        f"to {counted(max(ahead[:-1]))}. PTV is larger in {of_all((less[:, 1] > 0).sum(), n)}.",
        f"Of the p of these pairs (below them; Student's, each of four measures by itself) "
        f"{counted(sum(v < LEVEL for v in p))} are below {LEVEL}; with all four counted **{listed(stand) or 'none'}**. "
        f"By the first {counted(FIRST)} pairs that of the highest rate stood ({less[early, 3].mean():.3f}, p "
        f"{p_early:.3f}), for which more were trained: by these {counted(n - FIRST)} alone it is "
        f"{less[late, 3].mean():.3f}, p {p_late:.2f}.",
        f"Seeds differ by more than the two ways: plain networks learned from {plain[:, 3].min():.2f} to "
        f"{plain[:, 3].max():.2f} of their wrong labels at the highest rate.",
        f"In float32 throughout ({counted(len(single))} seeds) plain networks learned fewer of the wrong labels at the "
        f"highest rate than `fused.py` in {of_all((beside > single).sum(), len(single))}, by "
        f"{(beside - single).mean():.2f} in the mean, and fewer than in bfloat16 in "
        f"{of_all((half > 0).sum(), len(half))}.",
        f"Without label noise ResNets trained in two ways are within {100 * max(fresh):.1f} points of each other on "
        "fresh images, in both directions.",
    )


# --- training size -----------------------------------------------------------------------------------


def named(s: Sizes) -> str:
    kind = {"spatial": "of moves", "fgsm": "of FGSM", "gaussian": "of noise"}.get(s.metric[0])
    family, large = s.large.split("-")
    pair = f"{FAMILIES[family]} {large} and {s.small.split('-')[1]}"
    return f"{s.metric[1]} {kind} ({pair})" if kind else f"{s.metric[0].upper()} ({pair})"


def with_all_counted(found: list[Sizes]) -> dict[tuple[str, Metric], float]:
    """p by seeds of every row, by the larger network and the metric."""
    p = holm([1.0 if math.isnan(s.alone) else s.alone for s in found])
    return {(s.large, s.metric): v for s, v in zip(found, p, strict=True)}


def by_size(found: list[Sizes]) -> str:
    """Whether networks of fewer images have memorised more."""
    told, p = {}, with_all_counted(found)
    for metric in METRICS[:2]:
        own = [(label, [s for s in found if s.metric == metric and s.large.startswith(family)])
               for family, label in FAMILIES.items()]  # fmt: skip
        counts = [f"{of_all(sum(s.fewer is True for s in some), len(some))} pairs of {label}s" for label, some in own]
        told[metric[0]] = " and ".join(counts)
    noise = [s for s in found if s.metric in METRICS[:2] and s.fewer]
    moved = [s for s in found if s.metric not in METRICS[:2]]
    fewer, more, apart = ([s for s in moved if s.fewer is said] for said in (True, False, None))
    either = [*fewer, *more]
    weak = [named(s) for s in noise if not s.family_wise]
    alone = [named(s) for s in noise if p[s.large, s.metric] >= LEVEL]
    return paragraphs(
        f"**By label noise, yes: by PTV in {told['ptv']}; by PMV in {told['pmv']}.** Of these "
        f"{counted(len(noise))} rows all{but(weak)} stand family-wise, and all{but(alone)} by seeds with all "
        f"{len(found)} rows counted.",
        f"**Perturbed images do not show it:** of their {len(moved)} rows {len(apart)} are not told apart, "
        f"{counted(len(more))} say the opposite and {counted(len(fewer))} say so, each at 5 % by itself. Family-wise "
        f"{counted(sum(s.family_wise for s in either))} of them stand: with at most four degrees of freedom and 28 "
        f"pairs of networks only far larger differences could. By seeds, with all {len(found)} rows counted, "
        f"{counted(sum(p[s.large, s.metric] < LEVEL for s in either))} of these {counted(len(either))} stand.",
    )


def by_seeds(found: list[Sizes]) -> str:
    """What p of the trainings alone says, and the comparison does not."""
    p = with_all_counted(found)
    some = [s for s in found if s.fewer is None and s.alone < LEVEL]
    fewer = [s for s in some if (s.ours[1].value > s.ours[0].value) != (s.metric == METRICS[0])]
    over = [named(s) for s in found if s.fewer is not None and max(s.alone, s.unlike) >= LEVEL]
    return bullets(
        "By Welch's p, which does not take the trainings of both as spread alike, "
        f"{counted(sum(s.alone < LEVEL <= s.unlike for s in found))} rows are above {LEVEL} that Student's has below.",
        f"Student's p tells {counted(len(some))} rows apart that the comparison does not, "
        f"{counted(sum(p[s.large, s.metric] < LEVEL for s in some))} of which with all {len(found)} rows counted: "
        f"{counted(len(fewer))} with fewer images as more memory ({listed([named(s) for s in fewer])}) and "
        f"{counted(len(some) - len(fewer))} with more. The comparison does not take both as spread alike, has fewer "
        "degrees of freedom and allows for other images and, by k_max, for the choice of the steepest step. Of the "
        f"rows that it tells apart {listed(over) or 'none'} has a p by seeds above {LEVEL}, by either test.",
    )


# --- order, and labels learned -----------------------------------------------------------------------


def ranks(result: MemorizationResult) -> str:
    """How the rank correlations with the published values stand, all of them counted."""
    sources = measures.sources(result).values()
    both = [[of(family, metric) for of in sources] for family in FAMILIES for metric in METRICS]
    p = [measures.by_chance(*pair) for pair in both]
    below = [measures.rank_correlation(*pair) for pair, v in zip(both, p, strict=True) if v < LEVEL]
    return paragraphs(
        f"**Of {len(p)} rank correlations with the published values {counted(len(below))} have a p below {LEVEL}, "
        f"where chance gives {LEVEL * len(p):.1f}, and with all counted {counted(sum(v < LEVEL for v in holm(p)))}** "
        "(`results/tables.md`; by label noise in the first table above). For the published order are "
        f"{counted(sum(v > 0 for v in below))} of them, against it {counted(sum(v < 0 for v in below))}."
    )


def labels(runs: Runs) -> str:
    """How many of their wrong labels some networks have learned."""
    least = [f"{name.split('-')[1]} {runs.noise(name).learned.min():.2f}" for name in ("vgg-C2", "vgg-C4")]
    mobile = sorted(runs.noise("mobilenet-cifar").trained, key=lambda t: by_rate(t)[-1])
    return bullets(
        "Of the unregularised VGGs C2 and C4 learn most of their wrong labels at every rate, in fewer epochs than "
        f"published, at a larger learning rate (at least, means over seeds: {listed(least)}). With half of the labels "
        "wrong neither has fitted them all.",
        "MobileNet on CIFAR-10 is cut short: with half of the labels wrong its seeds had learned "
        f"{numbers([by_rate(t)[-1] for t in mobile])} of the wrong ones, so that their PMV slopes are "
        f"{numbers([measures.slopes(t)[0] for t in mobile])}.",
    )
