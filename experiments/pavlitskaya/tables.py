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
import parts
import sentences
from cells import bare, correlation, span, table, title
from curves import all_curves, corruptions, under_corruptions
from measures import SIZES, Metric
from published import ACCURACY, EPOCHS, FACTORS, GAPS, METRICS, VALUES, epochs
from runs import FAMILIES, NAMES, OTHERS, Runs

from experiments.pages import fill
from heldout import MemorizationResult
from heldout.memorization.perturb import CORRUPTIONS

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def cell(result: MemorizationResult, model: str, metric: Metric) -> str:
    e = measures.estimate(result, model, metric)
    return "-" if e is None else f"{e.value:.3f} ({e.low:.3f}, {e.high:.3f})"


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


def asked_in_full(pools: dict[str, MemorizationResult]) -> list[str]:
    """The same for results/tables.md: all it prints above its tables of numbers."""
    found = ["## The same question asked by `heldout memorization`, from the saved curves", ""]
    for family, result in pools.items():
        told = result.summary()
        found += [f"### {FAMILIES[family]}", "", f"**{bare(told.headline)}.** {bare(' '.join(told.sentences))}", ""]
        found += [*(f"- {bare(text)}" for text in told.warnings), ""]
        found += table(["", ""], [[name, bare(text)] for name, text in told.lines])
    return found


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
    made = {"in short": parts.in_short(result), "asked": parts.asked(pools), "was cut": parts.was_cut(runs)}
    made |= {
        "lengths": parts.lengths(runs),
        "sizes": parts.sizes(runs, compared),
        "size counts": parts.size_counts(compared),
        "engines": parts.engines(runs),
        "not fitted": parts.not_fitted(runs, result),
        "learning rates": parts.learning_rates(RESULTS),
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
