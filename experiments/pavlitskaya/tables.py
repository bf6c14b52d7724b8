"""Our tables III, V, VII, VIII and IX beside the published ones, what the factors do, and how the orders agree.

PYTHONPATH=src:. python experiments/pavlitskaya/tables.py [--report DIR]

Reads results/*.npz, writes results/tables.md and what stands between marks in README.md; with --report also heldout's
own page on each family.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import measures
import numpy as np
import sentences
from curves import all_curves, by_length, corruptions, under_corruptions
from measures import FIT, SIZES, Metric, value
from published import ACCURACY, EPOCHS, FACTORS, GAPS, METRICS, VALUES, epochs, learning_rate
from runs import FAMILIES, NAMES, OTHERS, Runs
from scipy.stats import ttest_rel

from experiments.pages import fill
from heldout import MemorizationResult
from heldout.memorization.metrics import slope
from heldout.memorization.perturb import CORRUPTIONS
from heldout.statistics import holm

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def cell(result: MemorizationResult, model: str, metric: Metric) -> str:
    e = measures.estimate(result, model, metric)
    return "-" if e is None else f"{e.value:.3f} ({e.low:.3f}, {e.high:.3f})"


def title(metric: Metric) -> str:
    return {"pmv": "PMV", "ptv": "PTV"}.get(metric[0], metric[0]) + " " + metric[1]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def accuracy_tables(runs: Runs) -> list[str]:
    lines = []
    for family, label in FAMILIES.items():
        lines += [f"## Table {'III' if family == 'vgg' else 'V'}: baseline {label} models, per cent", ""]
        lines += [f"Ours without label noise, mean over seeds; epochs ours (published: {epochs(family)}).", ""]
        rows = []
        for i in range(1, 9):
            chosen = runs.plain(f"{family}-C{i}")
            theirs = ACCURACY[family][f"C{i}"]
            row = [f"C{i}"]
            if not chosen:
                row += ["-"] * 6
            else:
                ours = measures.accuracies(chosen)
                row += [f"{v:.2f}" for v in (*ours, ours[0] - ours[1])]
                row += [span([t.clean["epochs"] for t in chosen]), str(len(chosen))]
            rows.append(row + [f"{v:.2f}" for v in (*theirs, theirs[0] - theirs[1])])
        head = ["", "S", "V", "T", "S - V", "epochs", "seeds", "S, published", "V", "T", "S - V"]
        lines += table(head, rows)
    lines += ["## The networks of table IX without label noise, per cent", ""]
    rows = []
    for name in OTHERS:
        trained = runs.noise(name).trained
        ours, gap = measures.accuracies(trained), GAPS.get(name)
        row = [name, *(f"{v:.2f}" for v in (*ours, ours[0] - ours[1])), span([t.clean["epochs"] for t in trained])]
        rows.append([*row, str(len(trained)), "" if gap is None else f"{100 * gap:.2f}"])
    return lines + table(["", "S", "V", "T", "S - V", "epochs", "seeds", "S - V, published"], rows)


def metric_tables(runs: Runs, result: MemorizationResult) -> list[str]:
    lines = []
    for family, number in (("vgg", "VII"), ("resnet", "VIII"), ("others", "IX")):
        lines += [f"## Table {number}, ours with 95 % intervals, below it the published value", ""]
        weak = [key for key in VALUES[family] if family != "others" and not runs.by_margin(f"{family}-{key}")]
        if weak:
            lines += [
                f"FGSM of {', '.join(weak)} is weaker than it could be: gradients were rounded to nothing where a",
                "network is sure (../fgsm.py), those of the others not.",
                "",
            ]
        fewer = {} if family == "others" else {key: runs.attacked(f"{family}-{key}") for key in VALUES[family]}
        if told := ", ".join(f"{key} ({n} of {all_})" for key, (n, all_) in fewer.items() if n < all_):
            lines += [
                "For FGSM those seeds alone count whose gradients were not rounded to nothing where a network is sure",
                f"(../fgsm.py): {told}.",
                "",
            ]
        metrics = METRICS[:4] if family == "others" else METRICS
        rows = []
        for key, theirs in VALUES[family].items():
            model = key if family == "others" else f"{family}-{key}"
            rows.append([key, *(cell(result, model, m) for m in metrics)])
            rows.append(["", *(f"*{v:.4f}*" for v in theirs)])
        lines += table(["", *(title(m) for m in metrics)], rows)
    return lines


def correlation(some: dict[str, float], others: dict[str, float]) -> str:
    return f"{measures.rank_correlation(some, others):+.2f} (p {measures.by_chance(some, others):.3f})"


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


def effect_tables(result: MemorizationResult) -> list[str]:
    lines = ["## Main effects of the factors of table I", ""]
    lines += [
        "Mean over the four models with the factor less the mean over the four without it, and in brackets the share",
        "of the variance over the eight models that it accounts for. Section V says: training size first, then",
        "regularisation, then the number of parameters.",
        "",
    ]
    sources = measures.sources(result)
    for family, label in FAMILIES.items():
        rows = []
        for metric in METRICS:
            for who, values_of in sources.items():
                found = measures.effects(values_of(family, metric)).values()
                rows.append([f"{title(metric)}, {who}", *(f"{e:+.3f} ({s:.0%})" if s == s else "-" for e, s in found)])
        lines += [f"### {label}", "", *table(["", *FACTORS], rows)]
    for who, values_of in sources.items():
        first = measures.largest(values_of)
        by_name = {name: [more for factor, more in first if factor == name] for name in FACTORS}
        counts = ", ".join(f"{name} {len(more)} ({sum(more)})" for name, more in by_name.items())
        lines.append(
            f"Factor with the largest share, of {len(first)} metrics (in brackets, by how many of them the four models"
            f" with the factor memorise more), {who}: {counts}."
        )
    return [*lines, ""]


def agreement(result: MemorizationResult, pools: dict[str, MemorizationResult]) -> list[str]:
    unranked = [
        name for pool in pools.values() for name in (*measures.at_other_rates(pool), *measures.unfit(pool, "ptv"))
    ]
    lines = [
        "## Do the orders agree?",
        "",
        "Spearman's rank correlation of our values with the published ones; p is the share of all orders of ours that",
        "gives one as far from 0, our values taken as exact. Of 16 such p one below 0.06 is to be expected by chance.",
        "Then the middle 90 % of the correlations that one training of each network gives, all ways to take one: of",
        "networks that were trained once it knows nothing. In those by label noise, though `heldout memorization` does",
        f"not rank them by it (other rates, or labels that are not fitted): {', '.join(unranked) or 'none'}.",
        "",
    ]
    rows = []
    for metric in METRICS:
        row = [title(metric)]
        for family in FAMILIES:
            ours = measures.known(measures.ours(result, family, metric))
            low, high = measures.by_single_seeds(result, family, metric)
            row.append(f"{correlation(ours, measures.theirs(family, metric))}; {low:+.2f} to {high:+.2f}")
        rows.append(row)
    lines += table(["", *FAMILIES.values()], rows)
    lines += [
        "## Do C1 to C4 fit better than C5 to C8?",
        "",
        "Of the 16 pairs of one of C1 to C4 and one of C5 to C8, how many the metric puts in that order; in brackets",
        "how many of our 95 % intervals do not overlap, in that order and in the other.",
        "",
    ]
    rows = []
    sources = measures.sources(result)
    for metric in METRICS:
        row = [title(metric)]
        for family in FAMILIES:
            for who, values_of in sources.items():
                values = list(values_of(family, metric).values())
                if any(math.isnan(v) for v in values):
                    row.append("-")
                    continue
                right = measures.in_order(values, metric)
                row.append(f"{right} of 16{', all' if right == 16 else ''}")
                if who == "ours" and (found := measures.apart(result, family, metric)):
                    row[-1] += f" ({found[0]} for, {found[1]} against)"
        rows.append(row)
    return [
        *lines,
        *table(["", *(f"{label}, {who}" for label in FAMILIES.values() for who in sources)], rows),
    ]


def corruption_table(runs: Runs) -> list[str]:
    lines = ["## Figure 2: accuracy under the corruptions, mean of all fifteen", ""]
    found, several = corruptions(runs), under_corruptions(runs)
    rows = []
    for name, share in found.items():
        trained = [t for t, _ in several[name]]
        rows.append([name, *(f"{v:.3f}" for v in share.mean(axis=0)), span([t.clean["epochs"] for t in trained])])
        rows[-1].append(str(len(trained)))
    lines += table(["severity", *map(str, range(6)), "epochs", "seeds"], rows)
    if found:
        lines += ["Share of the clean accuracy left at severity 3 and 5, mean over models, each corruption:", ""]
        rows = [
            [kind, *(f"{share:.3f}" for at in (3, 5) for share in measures.left(found, i, at).values())]
            for i, kind in enumerate(CORRUPTIONS)
        ]
        lines += table(["", *(f"{size}, severity {at}" for at in (3, 5) for size in SIZES)], rows)
    return lines


def training_table(runs: Runs) -> list[str]:
    lines = ["## What was trained for PMV and PTV", ""]
    lines += [
        "Seeds of one network are put together where they have the same learning rate and the same number of epochs,",
        "at the rates of label noise that all of them have. A fixed learning rate ends when all labels are fitted.",
        "",
    ]
    rows = []
    for name in NAMES:
        noise = runs.noise(name)
        if noise is None:
            rows.append([name, "-", "-", "-", "-", "-", "-"])
            continue
        rows.append([
            name, ", ".join(f"{r:g}" for r in noise.rates), str(len(noise.trained)),
            span([t.epochs for t in noise.trained]), f"{noise.trained[0].rate:g}",
            ", ".join(f"{v:.3f}" for v in noise.given), "; ".join(t.what for t in noise.others),
        ])  # fmt: skip
    head = ["", "rates", "seeds", f"epochs ({EPOCHS} published, of ResNets)", "first learning rate",
            "accuracy on the labels trained on", "not used: trained otherwise, or the same seed again"]  # fmt: skip
    return [*lines, *table(head, rows)]


# --- parts of README.md ------------------------------------------------------------------------------


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


def asked_in_full(pools: dict[str, MemorizationResult]) -> list[str]:
    """The same for results/tables.md: all it prints above its tables of numbers."""
    found = ["## The same question asked by `heldout memorization`, from the saved curves", ""]
    for family, result in pools.items():
        told = result.summary()
        found += [f"### {FAMILIES[family]}", "", f"**{bare(told.headline)}.** {bare(' '.join(told.sentences))}", ""]
        found += [*(f"- {bare(text)}" for text in told.warnings), ""]
        found += table(["", ""], [[name, bare(text)] for name, text in told.lines])
    return found


def bare(text: str) -> str:
    """Without the signs that keep names apart in a terminal."""
    return text.translate(dict.fromkeys(map(ord, "\u2066\u2067\u2068\u2069\u2063"), None)).replace("\u00a0", " ")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, help="also write heldout's report on the pool there")
    args = parser.parse_args(argv)
    runs = Runs(RESULTS)
    curves = all_curves(runs)
    result = MemorizationResult.of(curves, source="CIFAR-10 and MNIST")
    pools = {f: MemorizationResult.of([c for c in curves if c.model.startswith(f"{f}-C")], source="CIFAR-10")
             for f in FAMILIES}  # fmt: skip
    lines = [
        "# Pavlitskaya, Oswald, Zöllner 2022: ours beside the published tables",
        "",
        "Written by `tables.py` from the results here. What was cut, and where the paper is silent: ../README.md.",
        "A PMV slope tells of memorization only where a network fits its labels without noise (the last table).",
        "",
        *accuracy_tables(runs),
        *metric_tables(runs, result),
        *agreement(result, pools),
        *asked_in_full(pools),
        *effect_tables(result),
        *corruption_table(runs),
        *training_table(runs),
    ]
    (RESULTS / "tables.md").write_text("\n".join(lines).rstrip() + "\n")
    print("\n".join(lines))
    compared = measures.by_size(runs, pools)
    made = {"in short": in_short(result), "asked": asked(pools), "was cut": was_cut(runs)}
    made |= {
        "lengths": lengths(runs),
        "sizes": sizes(runs, compared),
        "size counts": size_counts(compared),
        "engines": engines(runs),
        "not fitted": not_fitted(runs, result),
        "learning rates": learning_rates(RESULTS),
    }
    made |= {
        "two ways": sentences.two_ways(runs),
        "by size": sentences.by_size(compared),
        "by seeds": sentences.by_seeds(compared),
        "ranks": sentences.ranks(result),
        "order": sentences.order(result),
        "labels learned": sentences.labels(runs),
        "others": sentences.others(runs, result),
        "corrupted": sentences.corrupted(runs),
    }
    fill(HERE / "README.md", made)
    if args.report:
        for family, pool in pools.items():
            print(pool.report(args.report / family))


if __name__ == "__main__":
    main()
