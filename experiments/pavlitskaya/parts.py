"""The tables of README.md, each between the marks of its name (tables.py); sentences.py has what is said of them."""

from __future__ import annotations

import math
from pathlib import Path

import measures
import numpy as np
from cells import bare, correlation, span, table, title
from curves import by_length
from measures import FIT, value
from published import FACTORS, METRICS, VALUES, epochs, learning_rate
from runs import FAMILIES, NAMES, Runs
from scipy.stats import ttest_rel

from heldout import MemorizationResult
from heldout.memorization.metrics import slope
from heldout.statistics import holm


def in_short(result: MemorizationResult) -> str:
    """What README.md tells of, ours beside the published."""
    sources = measures.sources(result).values()

    def spread(values: dict[str, float], *, regularised: bool) -> str:
        some = [v for k, v in values.items() if measures.regularised(f"resnet-{k}") == regularised]
        return f"{min(some):.2f} to {max(some):.2f}"

    rows = []
    for regularised, what in ((False, "without regularisation"), (True, "regularised")):
        both = [spread(values_of("resnet", METRICS[0]), regularised=regularised) for values_of in sources]
        rows.append([f"PMV k_S of the ResNets {what}", *both])
    for metric in METRICS[:2]:
        told = [f"{correlation(*(of(family, metric) for of in sources))} {name}" for family, name in FAMILIES.items()]
        rows.append([f"{title(metric)}: rank correlation with the published values", ", ".join(told), ""])
    some = measures.correlated(result)
    n = len(METRICS) * len(FAMILIES)
    told = f"{len(some)} of {n}, {sum(r > 0 for r in some)} of them positive; by chance {0.05 * n:.1f}"
    rows.append(["such correlations of all metrics with p below 0.05", told, ""])
    for metric in METRICS[:6]:
        both = [", ".join(f"{measures.in_order(list(of(f, metric).values()), metric)} {label}"
                          for f, label in FAMILIES.items()) for of in sources]  # fmt: skip
        counts = [(measures.apart(result, f, metric), label) for f, label in FAMILIES.items()]
        both[0] += "; apart by our intervals " + ", ".join(
            f"{label} {c[0]} for, {c[1]} against" for c, label in counts if c is not None
        )
        rows.append([f"{title(metric)}: of 16 pairs, C1 to C4 fit better than C5 to C8", *both])
    first = [measures.largest(of) for of in sources]
    for name in FACTORS:
        rows.append([f"metrics of which {name!r} takes the largest share; of these, those that show it as more memory",
                     *(f"{len(more)} of {len(f)}; {sum(more)}" for f in first
                       for more in [[m for factor, m in f if factor == name]])])  # fmt: skip
    for model in ("lenet-mnist", "mobilenet-mnist"):
        rows.append(
            [f"PTV k_PTV, {model}", f"{value(result, model, METRICS[1]):.2f}", f"{VALUES['others'][model][1]:.2f}"]
        )
    return "\n".join(table(["", "ours", "published"], rows)).rstrip()


def lengths(runs: Runs) -> str:
    """Label noise of the same network after fewer and more epochs, beside the published values."""
    rows = []
    for name, several in by_length(runs).items():
        for noise, curves in several:
            slopes = [curve.estimates[metric] for curve, (_, metric) in zip(curves, METRICS[:2], strict=True)]
            told = [f"{e.value:.2f} ({e.low:.2f} to {e.high:.2f})" for e in slopes]
            each = [slope(noise.on_given[:, s].mean(axis=1), noise.rates) for s in range(len(noise.trained))]
            told.insert(1, ", ".join(f"{v:.2f}" for v in each))
            told.append(f"{abs(slope(noise.wrong_alone, noise.rates)):.2f}")
            learned = [f"{v:.2f}" for v in noise.learned[[0, -1]]]
            rows.append([name, str(noise.trained[0].epochs), *told, *learned])
        both = [f"{v:.2f}" for v in measures.published_of(name)[:2]]
        rows.append([f"{name}, published", epochs(name), both[0], "", both[1], "", "", ""])
    pmv, ptv = map(title, METRICS[:2])
    head = ["", "epochs", pmv, "seed by seed", ptv, "by wrong labels alone", "wrong labels learned, rate 0.1",
            "rate 0.5"]  # fmt: skip
    return "\n".join(table(head, rows)).rstrip()


def engines(runs: Runs) -> str:
    """Networks that were trained in two ways: without label noise, and the slopes over the rates that both had."""
    rows, by_name = [], {}
    for first, second in (("plain", "fused"), ("float32", "plain"), ("float32", "fused")):
        for pair in measures.both_ways(runs, first, second):
            name = f"{pair[0].network}, {first} and {second}"
            files = [t.file.removeprefix("pool-") for t in pair]
            told = [[f"{t.clean[k]:.4f}" for t in pair] for k in ("pmv", "val", "test")]
            told.insert(0, [f"{t.clean['epochs']:g}" for t in pair])
            both_had = set.intersection(*(set(t.rates) for t in pair))
            each = [(*measures.slopes(t, both_had), *measures.learned(t, both_had)) for t in pair]
            with_noise = not any(map(math.isnan, each[0] + each[1]))
            told += [[f"{v:.3f}" for v in both] if with_noise else [] for both in zip(*each, strict=True)]
            if with_noise:
                by_name.setdefault((name, frozenset(both_had)), []).append(each)
            rows.append([name, str(pair[0].seed), *(" and ".join(both) for both in (files, *told))])
    for (name, _), pairs in by_name.items():
        if len(pairs) > 2:
            found = ttest_rel(*zip(*pairs, strict=True)).pvalue
            less = np.diff(np.array(pairs), axis=1)[:, 0].T
            told = [f"{v.mean():+.3f} ({v.min():+.3f} to {v.max():+.3f})" for v in less]
            rows.append([f"{name}: second less first, mean (and range)", *[""] * 6, *told])
            rows.append([f"{name}: p of the {len(pairs)} pairs", *[""] * 6, *(f"{p:.3f}" for p in found)])
    head = ["trained in two ways", "seed", "pools", "epochs without noise", "right on training images", "validation",
            "test", *map(title, METRICS[:2]), "wrong labels learned", "the same at the highest rate"]  # fmt: skip
    return "\n".join(table(head, rows)).rstrip()


SAID = {True: "with fewer images", False: "with more images", None: "not told apart"}
KINDS = {
    "pmv": "label noise, PMV",
    "ptv": "label noise, PTV",
    "spatial": "moves",
    "fgsm": "attacks",
    "gaussian": "noise on pixels",
}


def sizes(runs: Runs, found: list[measures.Sizes]) -> str:
    """Networks that were trained alike but for the number of images: who has memorised more?"""
    rows = []
    for s in found:
        seeds = " and ".join(measures.how_trained(runs.plain(name)) for name in (s.large, s.small))
        told = [f"{e.value:.2f} ({e.low:.2f} to {e.high:.2f})" for e in s.ours]
        alone = ", ".join("<0.001" if p < 0.0005 else f"{p:.3f}" for p in (s.alone, s.unlike) if not math.isnan(p))
        both = " and ".join(f"{v:.3f}" for v in s.theirs)
        names = f"{s.large}, {s.small.split('-')[1]}"
        rows.append([names, seeds, title(s.metric), *told, SAID[s.fewer], alone, both, SAID[s.published]])
    head = ["", "seeds", "metric", "45,000 images", "5,000", "memorised more",
            "p by seeds (Student's, Welch's)", "published", "by these"]  # fmt: skip
    return "\n".join(table(head, rows)).rstrip()


def size_counts(found: list[measures.Sizes]) -> str:
    """How many of these rows say what, and how many of them stand by the trainings alone, and with others counted."""
    rows, adjusted = [], holm([1.0 if math.isnan(s.alone) else s.alone for s in found])
    together = {name: (kind,) for kind, name in KINDS.items()} | {"the last three together": tuple(KINDS)[2:]}
    for name, kinds in together.items():
        own = [(s, p) for s, p in zip(found, adjusted, strict=True) if s.metric[0] in kinds]
        row = [name]
        for said in (True, False):
            some = [(s, p) for s, p in own if s.fewer is said]
            stand = (
                sum(s.family_wise for s, _ in some),
                sum(s.alone < 0.05 for s, _ in some),
                sum(p < 0.05 for _, p in some),
            )
            row.append(f"{len(some)} ({', '.join(map(str, stand))})")
        row.append(str(sum(s.fewer is None for s, _ in own)))
        rows.append([*row, *(str(sum(s.published is said for s, _ in own)) for said in (True, False))])
    head = ["memorised more: rows", SAID[True], SAID[False], SAID[None],
            *(f"published: {SAID[k]}" for k in (True, False))]  # fmt: skip
    return "\n".join(table(head, rows)).rstrip()


def was_cut(runs: Runs) -> str:
    """How each network was trained beside the published setting, and how far it came."""
    rows = []
    for name in NAMES:
        noise, plain = runs.noise(name), runs.plain(name)
        if noise is None or not plain:
            continue
        published = learning_rate(name)
        rates = f"{noise.trained[0].rate:g}" + ("" if published is None else f" ({published:g})")
        rows.append([
            name, span([t.epochs for t in noise.trained]), str(len(noise.trained)), str(len(noise.rates)),
            span([t.clean["epochs"] for t in plain]), str(len(plain)), rates,
            f"{noise.given[0]:.2f}", f"{noise.given[-1]:.2f}",
        ])  # fmt: skip
    head = ["", "label noise: epochs", "seeds", "rates (6)", "curves: epochs", "seeds", "learning rate (published)",
            "right on its true labels", "right on labels of which half are wrong"]  # fmt: skip
    return "\n".join(table(head, rows)).rstrip()


def not_fitted(runs: Runs, result: MemorizationResult) -> str:
    """Whose slope may be that of a training cut short."""
    short, half = measures.below_fit(runs)
    unfit = measures.unfit(result, "pmv")

    def told(found: dict[str, float]) -> str:
        return ", ".join(f"{name} {value:.4f}" for name, value in sorted(found.items(), key=lambda f: f[1])) or "none"

    lines = [
        f"- Right on fewer than {FIT:g} of their true labels when trained without noise: {told(short)}.",
        f"- Of the others that are not regularised, right on fewer than {FIT:g} of labels of which half are wrong: "
        f"{told(half)}.",
        f"- Not ranked by label noise by `heldout memorization`, as they do not fit their labels: {', '.join(unfit)}.",
    ]
    return "\n".join(lines)


def learning_rates(folder: Path) -> str:
    """VGG C6 at other learning rates, beside the published one."""
    rows = [[f"{rate:g}", str(epochs), *(f"{share:.3f}" for share in right)]
            for rate, epochs, right in measures.by_learning_rate(folder)]  # fmt: skip
    return "\n".join(
        table(["learning rate of VGG C6", "epochs", "right on its true labels", "with half wrong"], rows)
    ).rstrip()


def asked(pools: dict[str, MemorizationResult]) -> str:
    """What `heldout memorization` says of each family, in short."""
    rows = []
    for family, result in pools.items():
        told = result.summary()
        lines = dict(told.lines)
        rows += [
            [f"{FAMILIES[family]}: verdict", bare(told.headline)],
            ["most memorised first by PMV k_S (> significantly more than the next, ~ not; then where these mislead)",
             bare(lines.get("PMV k_S", "no two are ranked"))],
            ["by PTV k_PTV", bare(lines.get("PTV k_PTV", "no two are ranked"))],
            ["not ranked by label noise: do not fit their labels", ", ".join(measures.unfit(result, "ptv")) or "none"],
            ["not ranked by label noise: trained at other rates", ", ".join(measures.at_other_rates(result)) or "none"],
            ["trained once at each rate: other trainings are not in it", ", ".join(measures.once(result)) or "none"],
            ["pairs that two metrics order in opposite ways, both significantly",
             f"{measures.opposed(result)} of {math.comb(len(result.models), 2)}"],
        ]  # fmt: skip
    return "\n".join(table(["", "`heldout memorization`"], rows)).rstrip()
