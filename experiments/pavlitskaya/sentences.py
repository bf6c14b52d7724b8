"""What README.md says of the tables in sentences: results are counted here, so that none of them is typed there.

Between `<!-- name -->` and `<!-- end of name -->` there stands what the function of that name returns (tables.py).
Words that results could make false go through `if_so`, which stops where they no longer hold.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import measures
import numpy as np
from curves import corruptions, under_corruptions
from measures import FIT, Metric, Sizes
from published import GAPS, METRICS
from runs import FAMILIES, OTHERS, Noise, Runs
from scipy.stats import ttest_rel
from trained import Trained

from heldout import MemorizationResult
from heldout.statistics import holm
from heldout.summary import listed

COUNTS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
KINDS = {"spatial": "moves", "fgsm": "FGSM", "gaussian": "noise on pixels"}
LABELS = {"lenet-mnist": "LeNet on MNIST", "lenet-cifar": "on CIFAR-10", "mobilenet-mnist": "MobileNet on MNIST",
          "mobilenet-cifar": "on CIFAR-10"}  # fmt: skip
LEVEL = 0.05
NETWORK, FIRST = "resnet-C5", 5  # trained in two ways with label noise; pairs that there were when more were asked for
MEASURES = ("PMV", "PTV", "all wrong labels learned", "those at the highest rate")  # of measures.slopes and learned


# --- words -------------------------------------------------------------------------------------------


def counted(n: int) -> str:
    return COUNTS[n] if n < len(COUNTS) else str(n)


def of_all(n: int, most: int) -> str:
    if n == most:
        return "both" if most == 2 else f"all {counted(most)}"
    return f"{counted(n)} of {counted(most)}"


def do(n: int, one: str, several: str) -> str:
    """So many, and what they do."""
    return f"{counted(n)} {one if n < 2 else several}"


def but(names: Sequence[str]) -> str:
    return f" but {listed(names)}" if names else ""


def numbers(values: Sequence[float]) -> str:
    return listed([f"{v:.2f}" for v in values])


def titled(metric: Metric) -> str:
    return f"{metric[1]} of {KINDS[metric[0]]}" if metric[0] in KINDS else metric[0].upper()


def if_so(words: str, so: bool) -> str:
    """These words, which the results must bear out."""
    if not so:
        raise SystemExit(f"the results do not bear out {words!r} any more: sentences.py has to say something else.")
    return words


def paragraphs(*texts: str) -> str:
    return "\n\n".join(textwrap.fill(text, 200, break_long_words=False, break_on_hyphens=False) for text in texts)


def bullets(*texts: str) -> str:
    fill = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.fill(f"- {text}", 200, **fill) for text in texts)


# --- two ways of training ----------------------------------------------------------------------------


def with_noise(runs: Runs, first: str, second: str) -> list[tuple[Trained, Trained]]:
    """In the order of the seeds."""
    pairs = [pair for pair in measures.both_ways(runs, first, second) if pair[0].network == NETWORK]
    return sorted((pair for pair in pairs if all(len(t.rates) > 1 for t in pair)), key=lambda pair: pair[0].seed)


def values(pairs: list[tuple[Trained, Trained]]) -> np.ndarray:
    """(2, pairs, MEASURES)."""
    return np.array([[(*measures.slopes(t), *measures.learned(t)) for t in way] for way in zip(*pairs, strict=True)])


def by_rate(t: Trained) -> np.ndarray:
    """Share of the wrong labels learned at each rate."""
    return Noise.together([t]).learned


def two_ways(runs: Runs) -> str:
    """Of the same seeds trained by fused.py and by plain networks, and by these in float32."""
    pairs = with_noise(runs, "plain", "fused")
    plain, fused = values(pairs)
    more, n = fused - plain, len(pairs)
    ahead = sum(by_rate(b) > by_rate(a) for a, b in pairs)
    p = [float(v) for v in ttest_rel(fused, plain).pvalue]
    stand = [name for name, v in zip(MEASURES, holm(p), strict=True) if v < LEVEL]
    early, late = slice(FIRST), slice(FIRST, None)
    p_early, p_late = (float(ttest_rel(fused[some, 3], plain[some, 3]).pvalue) for some in (early, late))
    float32, beside = values(with_noise(runs, "float32", "fused"))[:, :, 3]
    half = np.diff(values(with_noise(runs, "float32", "plain"))[:, :, 3], axis=0)[0]
    spread = if_so("Seeds differ by more than the two ways", np.ptp(plain[:, 3]) > abs(more[:, 3]).max())
    title = f"{FAMILIES[NETWORK.split('-')[0]]} {NETWORK.split('-')[1]}"
    return bullets(
        f"With label noise, {title} ({counted(n)} seeds): with half of the labels wrong `fused.py` learned more of "
        f"the wrong ones in {of_all(ahead[-1], n)}, by {more[:, 3].mean():.2f} in the mean, and its PMV slope is more "
        f"memory in {of_all((more[:, 0] < 0).sum(), n)}. At the lower rates it is ahead in {counted(min(ahead[:-1]))} "
        f"to {counted(max(ahead[:-1]))}. PTV is larger in {of_all((more[:, 1] > 0).sum(), n)}.",
        f"Of the p of these pairs (below them; Student's, each of four measures by itself) "
        f"{do(sum(v < LEVEL for v in p), 'is', 'are')} below {LEVEL}; **with all four counted {listed(stand) or 'none'}"
        f" is.** By the first {counted(FIRST)} pairs that of the highest rate {if_so('was', 4 * p_early < LEVEL)} "
        f"({more[early, 3].mean():.3f}, p {p_early:.3f}), because of which more were trained: by these "
        f"{counted(n - FIRST)} alone it is {more[late, 3].mean():.3f}, p {p_late:.2f}.",
        f"{spread}: plain networks learned from {plain[:, 3].min():.2f} to {plain[:, 3].max():.2f} of their wrong "
        "labels at the highest rate.",
        f"In float32 throughout ({counted(len(float32))} seeds) plain networks learned fewer of the wrong labels at "
        f"the highest rate than `fused.py` in {of_all((beside > float32).sum(), len(float32))}, by "
        f"{(beside - float32).mean():.2f} in the mean, and fewer than in bfloat16 in "
        f"{of_all((half > 0).sum(), len(half))}.",
        fresh_images(runs),
    )


def fresh_images(runs: Runs) -> str:
    """What networks without label noise that were trained in two ways are right on beyond their training images."""
    pairs = measures.both_ways(runs)
    resnets = [pair for pair in pairs if pair[0].network.startswith("resnet")]
    vggs = [pair for pair in pairs if pair[0].network.startswith("vgg") and measures.regularised(pair[0].network)]
    far, more = (np.array([[b.clean[part] - a.clean[part] for part in ("val", "test")] for a, b in some])
                 for some in (resnets, vggs))  # fmt: skip
    return (
        f"Without label noise ResNets trained in two ways are within {100 * abs(far).max():.1f} points of each other "
        f"on fresh images, {if_so('in both directions', far.min() < 0 < far.max())}. Regularised VGGs by `fused.py` "
        f"are right on {100 * more.min():.1f} to {100 * more.max():.1f} points more of them, in {counted(len(vggs))} "
        f"pairs ({listed([pair[0].network.split('-')[1] for pair in vggs])})."
    )


# --- training size -----------------------------------------------------------------------------------


def named(s: Sizes) -> str:
    family, large = s.large.split("-")
    return f"{titled(s.metric)} ({FAMILIES[family]} {large} and {s.small.split('-')[1]})"


def with_all_counted(found: list[Sizes]) -> dict[tuple[str, Metric], float]:
    """p by seeds of every row, by the larger network and the metric."""
    p = holm([1.0 if math.isnan(s.alone) else s.alone for s in found])
    return {(s.large, s.metric): v for s, v in zip(found, p, strict=True)}


def pairs_of(found: list[Sizes], metric: Metric) -> str:
    """In how many pairs of each family fewer images are more memory."""
    told = []
    for family, label in FAMILIES.items():
        some = [s for s in found if s.metric == metric and s.large.startswith(family)]
        n = sum(s.fewer is True for s in some)
        told += [f"{of_all(n, len(some))} pairs of {label}s" if n else f"no pair of {label}s"] * bool(some)
    return listed(told)


def by_size(found: list[Sizes]) -> str:
    """Whether networks of fewer images have memorised more."""
    pmv, ptv = ([s for s in found if s.metric == metric] for metric in METRICS[:2])
    moved = [s for s in found if s.metric not in METRICS[:2]]
    noise = [s for s in (*pmv, *ptv) if s.fewer]
    fewer, more, apart = ([s for s in moved if s.fewer is said] for said in (True, False, None))
    either, p = [*fewer, *more], with_all_counted(found)
    yes = if_so("By label noise, yes", all(s.fewer for s in ptv) and any(s.fewer for s in pmv))
    no = if_so("Perturbed images do not show it", not fewer)
    weak = [named(s) for s in noise if not s.family_wise]
    alone = [named(s) for s in noise if p[s.large, s.metric] >= LEVEL]
    stand = sum(s.family_wise for s in either)
    left = sum(p[s.large, s.metric] < LEVEL for s in either)
    return paragraphs(
        f"**{yes}: by PTV in {pairs_of(found, METRICS[1])}; by PMV in {pairs_of(found, METRICS[0])}.** Of these "
        f"{counted(len(noise))} rows all{but(weak)} stand family-wise, and all{but(alone)} by seeds with all "
        f"{len(found)} rows counted.",
        f"**{no}:** of their {len(moved)} rows {len(apart)} are not told apart, {do(len(more), 'says', 'say')} the "
        f"opposite and {do(len(fewer), 'says', 'say')} so, each at 5 % by itself. Family-wise "
        f"{do(stand, 'of them stands', 'of them stand')}: with at most four degrees of freedom and "
        f"{math.comb(8, 2)} pairs of networks only far larger differences could. By seeds, with all {len(found)} rows "
        f"counted, {of_all(left, len(either))} stand.",
    )


def by_seeds(found: list[Sizes]) -> str:
    """What p of the trainings alone says, and the comparison does not."""
    p = with_all_counted(found)
    some = [s for s in found if s.fewer is None and s.alone < LEVEL]
    fewer = [s for s in some if (s.ours[1].value > s.ours[0].value) != (s.metric == METRICS[0])]
    over = [named(s) for s in found if s.fewer is not None and max(s.alone, s.unlike) >= LEVEL]
    left = sum(p[s.large, s.metric] < LEVEL for s in some)
    return bullets(
        "By Welch's p, which does not take the trainings of both as spread alike, "
        f"{do(sum(s.alone < LEVEL <= s.unlike for s in found), 'row is', 'rows are')} above {LEVEL} that Student's has "
        "below.",
        f"Student's p is below {LEVEL} for {do(len(some), 'row', 'rows')} that the comparison does not tell apart. In "
        f"{counted(len(fewer))} of them fewer images are more memory ({listed([named(s) for s in fewer])}), in "
        f"{counted(len(some) - len(fewer))} more images. With all {len(found)} rows counted "
        f"{do(left, 'of them stands', 'of them stand')}. The comparison does not take both as spread alike, has fewer "
        "degrees of freedom and allows for other images and, by k_max, for the choice of the steepest step. Of the "
        f"rows that it tells apart {listed(over) or 'none'} has a p by seeds above {LEVEL}, by either test.",
    )


# --- order, and labels learned -----------------------------------------------------------------------


def ranks(result: MemorizationResult) -> str:
    """How the rank correlations with the published values stand, all of them counted, and by one training of each."""
    ours, theirs = measures.sources(result).values()
    both = {(f, m): (ours(f, m), theirs(f, m)) for f in FAMILIES for m in METRICS}
    p = {key: measures.by_chance(*pair) for key, pair in both.items()}
    below = {key: measures.rank_correlation(*both[key]) for key in p if p[key] < LEVEL}
    told = [f"{word} {listed([f'the {FAMILIES[f]}s by {titled(m)}' for f, m in some])}"
            for word, some in (("for the published order", [key for key, r in below.items() if r > 0]),
                               ("against it", [key for key, r in below.items() if r < 0])) if some]  # fmt: skip
    single = []
    for (f, m), r in below.items():
        low, high = measures.by_single_seeds(result, f, m)
        single.append(f"{r:+.2f} is {low:+.2f} to {high:+.2f} ({FAMILIES[f]}, {titled(m)})")
    return paragraphs(
        f"**Of {len(p)} rank correlations with the published values {do(len(below), 'has', 'have')} a p below {LEVEL}, "
        f"where chance gives {LEVEL * len(p):.1f}, and with all counted "
        f"{counted(sum(v < LEVEL for v in holm(list(p.values()))))}** (`results/tables.md`; by label noise in the "
        f"first table above): {'; '.join(told)}. Their p take our values as exact. With one training of each network "
        f"(the middle 90 % of all ways to take one) {', '.join(single)}."
    )


def order(result: MemorizationResult) -> str:
    """Whether C1 to C4 fit better than C5 to C8, by the intervals."""
    lines = []
    for metric in METRICS[:2]:
        for family, label in FAMILIES.items():
            right = measures.in_order(list(measures.ours(result, family, metric).values()), metric)
            apart = measures.apart_pairs(result, family, metric)
            so = sum(apart.values())
            line = (f"By {titled(metric)} {right} of 16 pairs of {label}s are in that order. Of those that our "
                    f"intervals tell apart {so} are and {len(apart) - so} are not")  # fmt: skip
            if family == "vgg":
                loose = [so for (_, small), so in apart.items() if small != "C5"]
                line += (f"; {sum(loose)} and {len(loose) - sum(loose)} of these rest on C6, C7 or C8, which do not "
                         "fit labels of which many are wrong")  # fmt: skip
            lines.append(line + ".")
    return bullets(*lines)


def labels(runs: Runs) -> str:
    """How many of their wrong labels some networks have learned."""
    noise = {name.split("-")[1]: runs.noise(name) for name in ("vgg-C2", "vgg-C4")}
    least = [f"{name} {found.learned.min():.2f}" for name, found in noise.items()]
    most = if_so("learn most of their wrong labels at every rate", all(v.learned.min() > 0.5 for v in noise.values()))
    short = if_so("neither has fitted them all", all(v.given[-1] < FIT for v in noise.values()))
    mobile = sorted(runs.noise("mobilenet-cifar").trained, key=lambda t: by_rate(t)[-1])
    return bullets(
        f"Of the unregularised VGGs C2 and C4 {most}, in fewer than 250 epochs, at a larger learning rate than "
        f"published (at least, means over seeds: {listed(least)}). With half of the labels wrong {short}.",
        "MobileNet on CIFAR-10 is cut short: with half of the labels wrong its seeds had learned "
        f"{numbers([by_rate(t)[-1] for t in mobile])} of the wrong ones, so that their PMV slopes are "
        f"{numbers([measures.slopes(t)[0] for t in mobile])}.",
    )


# --- the other networks, and corruptions -------------------------------------------------------------


def others(runs: Runs, result: MemorizationResult) -> str:
    """Whether LeNet and MobileNet memorise CIFAR-10 and not MNIST, as published."""
    gaps, ptv = {}, {}
    for name in OTHERS:
        on_training, validation, _ = measures.accuracies(runs.noise(name).trained)
        gaps[name] = on_training - validation
        ptv[name] = measures.value(result, name, METRICS[1])
    told = [f"{label} {gaps[name]:.1f} points" for name, label in LABELS.items()]
    by_ptv = [f"{label} {ptv[name]:.2f} ({measures.published_of(name)[1]:.2f})" for name, label in LABELS.items()]
    epochs = max(t.epochs for t in runs.noise("lenet-mnist").trained)
    so = min(gaps[n] for n in OTHERS if "cifar" in n) > 10 > 2 > max(gaps[n] for n in OTHERS if "mnist" in n)
    return bullets(
        "The paper concludes that LeNet and MobileNet overfit CIFAR-10 and not MNIST. "
        f"{if_so('By the gap of training and validation images so do ours', so)}: {listed(told)} (published of LeNet: "
        f"{100 * GAPS['lenet-mnist']:.1f} and {100 * GAPS['lenet-cifar']:.1f}). By PTV "
        f"{if_so('LeNet has memorised much of MNIST, too', ptv['lenet-mnist'] > 0.5)}, trained for {epochs} epochs "
        f"(the paper does not say for how many): {listed(by_ptv)}, published in brackets."
    )


def corrupted(runs: Runs) -> str:
    """Whether the networks of 5,000 images are apart from those of 45,000 under corruptions."""
    found, several = corruptions(runs), under_corruptions(runs)
    told, seeds = [], []
    for family, label in FAMILIES.items():
        own = {i: found[f"{family}-C{i}"] for i in range(1, 9)}
        accuracy, share = (separated({i: v / whole(v) for i, v in own.items()})
                           for whole in (np.ones_like, lambda v: v[:, :1]))  # fmt: skip
        kinds = f"by single kinds in {accuracy[1]} of {15 * 5} cases (as shares in {share[1]})"
        told.append(
            f"{label}s in the mean of all fifteen at {severities(accuracy[0])} (as shares of the accuracy without any "
            f"at {severities(share[0])}), {kinds}"
            if accuracy[0].any() or accuracy[1]
            else f"{label}s never"
        )
        n = {len(some) for name, some in several.items() if name.startswith(family)}
        seeds.append(
            f"{label}s {counted(max(n))}" if len(n) == 1 else f"{label}s {counted(min(n))} to {counted(max(n))}"
        )
    return bullets(
        "Figure 2: do corruptions set the networks of 5,000 images apart from all of 45,000 (above them; by single "
        f"kinds all above or all below)? {'; '.join(told)}. The paper says that the two groups differ, not "
        f"enough to tell networks apart. There are no intervals: few trainings count, of {listed(seeds)}."
    )


def separated(by_network: dict[int, np.ndarray]) -> tuple[np.ndarray, int]:
    """At which severities the mean of all kinds puts the small sets above, and in how many cases a kind separates."""
    large, small = (np.array([by_network[i][:, 1:] for i in which]) for which in measures.SIZES.values())
    above = small.mean(axis=1).min(axis=0) > large.mean(axis=1).max(axis=0)
    return above, int(((small.min(axis=0) > large.max(axis=0)) | (small.max(axis=0) < large.min(axis=0))).sum())


def severities(above: np.ndarray) -> str:
    at = [str(i + 1) for i, so in enumerate(above) if so]
    return f"severities {listed(at)}" if len(at) > 1 else f"severity {at[0]}" if at else "no severity"
