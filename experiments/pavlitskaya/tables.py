"""Our tables III, V, VII, VIII and IX beside the published ones, what the factors do, and how the orders agree.

PYTHONPATH=src:. python experiments/pavlitskaya/tables.py [--report DIR]

Reads results/*.npz, writes results/tables.md and the first table of README.md; with --report also heldout's own page on
the pool.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from published import ACCURACY, FACTORS, METRICS, VALUES
from scipy.stats import spearmanr

from experiments.pages import fill
from heldout import Curve, MemorizationResult
from heldout.memorization.perturb import CORRUPTIONS

HERE = Path(__file__).parent
IMAGES = 2_000
UNITS = {
    "spatial": ("pixels and degrees, the worst of 125 moves", 1.0),
    "fgsm": ("of 255", 1.0),
    "gaussian": ("of 255", 8.0),
}
FAMILIES = {"vgg": "VGG", "resnet": "ResNet"}
OTHERS = ("lenet-mnist", "lenet-cifar", "mobilenet-mnist", "mobilenet-cifar")
NAMES = [f"{family}-C{i}" for family in FAMILIES for i in range(1, 9)] + list(OTHERS)


class Runs:
    """Everything that was trained: files sorted by name, later ones before earlier ones."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "fgsm.npz") as f:
            self.fgsm = {key: f[key] for key in f.files}
        self.files = []
        for path in sorted(folder.glob("pool-*.npz"), reverse=True):
            with np.load(path) as f:
                self.files.append({key: f[key] for key in f.files})

    def seeds(self, name: str, file: dict) -> list[int]:
        prefix = f"{name}/seed"
        return sorted({int(k[len(prefix) :].split("/")[0]) for k in file if k.startswith(prefix)})

    def records(self, name: str) -> list[tuple[dict, int, dict]]:
        """(file, seed, record) of every training of a network, latest file first."""
        found = []
        for file in self.files:
            for seed in self.seeds(name, file):
                found.append((file, seed, json.loads(str(file[f"{name}/seed{seed}/record"]))))
        return found

    def noisy(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict] | None:
        """(rates, right on the labels trained on, right on the true ones, record): the latest with several rates."""
        several = [(f, s, r) for f, s, r in self.records(name) if len(r["summary"]) > 2]
        if not several:
            return None
        rates = sorted(float(r) for r in several[0][2]["summary"])
        noisy, clean = [], []
        seen = set()
        for file, seed, record in several:
            if seed in seen or sorted(float(r) for r in record["summary"]) != rates:
                continue
            seen.add(seed)
            truth = file[f"{name}/seed{seed}/rate0.0/targets"]
            said = [file[f"{name}/seed{seed}/rate{r:.1f}/train"] for r in rates]
            given = [file[f"{name}/seed{seed}/rate{r:.1f}/targets"] for r in rates]
            noisy.append([a == b for a, b in zip(said, given, strict=True)])
            clean.append([a == truth for a in said])
        stack = [np.array(t).transpose(1, 0, 2) for t in (noisy, clean)]
        return np.array(rates), stack[0], stack[1], several[0][2]

    def plain(self, name: str) -> tuple[dict, int, dict] | None:
        """(file, seed, record) of the network whose curves there are, or else the latest."""
        records = self.records(name)
        with_curves = [t for t in records if f"{name}/seed{t[1]}/curves/spatial" in t[0]]
        return (with_curves or records or [None])[0]


def curve(model: str, perturbation: str, strengths: np.ndarray, correct: np.ndarray, *, even: bool = True) -> Curve:
    correct = correct[:, None] if correct.ndim == 2 else correct
    unit = {"pmv": "share of wrong labels", "ptv": "share of wrong labels"}.get(perturbation)
    return Curve.of(
        model=model, perturbation=perturbation, unit=unit or UNITS.get(perturbation, ("severity",))[0],
        strengths=strengths, correct=correct, done=np.ones(correct.shape[:2], dtype=bool), even=even, seed=0,
    )  # fmt: skip


def all_curves(runs: Runs) -> list[Curve]:
    found = []
    for name in NAMES:
        noisy = runs.noisy(name)
        if noisy is not None:
            found += [curve(name, "pmv", noisy[0], noisy[1]), curve(name, "ptv", noisy[0], noisy[2])]
        chosen = runs.plain(name)
        if chosen is None:
            continue
        file, seed, _ = chosen
        for kind, (_, step) in UNITS.items():
            key = f"{name}/seed{seed}/curves/{kind}"
            bits = runs.fgsm.get(key, file.get(key)) if kind == "fgsm" else file.get(key)
            if bits is not None:
                right = np.unpackbits(bits, axis=-1, count=IMAGES).astype(bool)
                found.append(curve(name, kind, step * np.arange(len(bits)), right))
    return found


def corruptions(runs: Runs) -> dict[str, np.ndarray]:
    """Per network (15, 6) accuracies, severity 0 first."""
    found = {}
    for name in NAMES:
        chosen = runs.plain(name)
        bits = None if chosen is None else chosen[0].get(f"{name}/seed{chosen[1]}/curves/corruptions")
        if bits is None:
            continue
        clean = np.unpackbits(chosen[0][f"{name}/seed{chosen[1]}/curves/spatial"], axis=-1, count=IMAGES)[0].mean()
        share = np.unpackbits(bits, axis=-1, count=IMAGES).mean(axis=-1)
        found[name] = np.concatenate([np.full((len(share), 1), clean), share], axis=1)
    return found


def value(result: MemorizationResult, model: str, metric: tuple[str, str]) -> float:
    found = result.curve(model, metric[0])
    return math.nan if found is None else found.estimates[metric[1]].value


def cell(result: MemorizationResult, model: str, metric: tuple[str, str]) -> str:
    found = result.curve(model, metric[0])
    if found is None:
        return "-"
    e = found.estimates[metric[1]]
    return f"{e.value:.3f} ({e.low:.3f}, {e.high:.3f})"


def title(metric: tuple[str, str]) -> str:
    return {"pmv": "PMV", "ptv": "PTV"}.get(metric[0], metric[0]) + " " + metric[1]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def accuracy_tables(runs: Runs) -> list[str]:
    lines = []
    for family, label in FAMILIES.items():
        lines += [f"## Table {'III' if family == 'vgg' else 'V'}: baseline {label} models, per cent", ""]
        lines += ["Ours without label noise; epochs ours (250 published).", ""]
        rows = []
        for i in range(1, 9):
            chosen = runs.plain(f"{family}-C{i}")
            theirs = ACCURACY[family][f"C{i}"]
            row = [f"C{i}"]
            if chosen is None:
                row += ["-"] * 5
            else:
                summary = next(v for k, v in chosen[2]["summary"].items() if float(k) == 0)
                ours = [100 * summary[k] for k in ("pmv", "val", "test")]
                row += [f"{v:.2f}" for v in (*ours, ours[0] - ours[1])] + [str(summary["epochs"])]
            rows.append(row + [f"{v:.2f}" for v in (*theirs, theirs[0] - theirs[1])])
        head = ["", "S", "V", "T", "S - V", "epochs", "S, published", "V", "T", "S - V"]
        lines += table(head, rows)
    return lines


def metric_tables(result: MemorizationResult) -> list[str]:
    lines = []
    for family, number in (("vgg", "VII"), ("resnet", "VIII"), ("others", "IX")):
        lines += [f"## Table {number}, ours with 95 % intervals, below it the published value", ""]
        if family == "vgg":
            lines += [
                "FGSM of VGG is a lower bound of the attack: its gradients were rounded to nothing where a network is",
                "sure (../fgsm.py).",
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


def largest(values_of: Callable[[str, int], dict[str, float]]) -> list[str]:
    """The factor with the largest share of the variance, for every metric of both families that is known."""
    found = [effects(values_of(family, j)) for family in FAMILIES for j in range(len(METRICS))]
    return [max(f, key=lambda name: f[name][1]) for f in found if not any(math.isnan(s) for _, s in f.values())]


def in_order(values: list[float], metric: tuple[str, str]) -> int:
    """Of the 16 pairs of one of C1 to C4 and one of C5 to C8, how many the metric puts in that order."""
    sign = -1 if metric == ("pmv", "k_S") else 1
    return sum(sign * values[a] < sign * values[b] for a in range(4) for b in range(4, 8))


def in_short(result: MemorizationResult) -> str:
    """What README.md tells of, ours beside the published."""

    def ours(family: str, j: int) -> dict[str, float]:
        return {k: value(result, f"{family}-{k}", METRICS[j]) for k in VALUES[family]}

    def theirs(family: str, j: int) -> dict[str, float]:
        return {k: v[j] for k, v in VALUES[family].items()}

    def spread(values: dict[str, float], *, regularised: bool) -> str:
        some = [v for k, v in values.items() if (int(k[1]) % 2 == 1) == regularised]
        return f"{min(some):.2f} to {max(some):.2f}"

    rows = []
    for regularised, what in ((False, "without regularisation"), (True, "regularised")):
        both = [spread(of("resnet", 0), regularised=regularised) for of in (ours, theirs)]
        rows.append([f"PMV k_S of the ResNets {what}", *both])
    for j in (0, 1):
        rho = [spearmanr(list(ours(f, j).values()), list(theirs(f, j).values())).statistic for f in FAMILIES]
        told = ", ".join(f"{r:+.2f} {name}" for r, name in zip(rho, FAMILIES.values(), strict=True))
        rows.append([f"{title(METRICS[j])}: rank correlation with the published values", told, ""])
    for j in (1, 2, 3):
        both = [", ".join(f"{in_order(list(of(f, j).values()), METRICS[j])} {FAMILIES[f]}" for f in FAMILIES)
                for of in (ours, theirs)]  # fmt: skip
        rows.append([f"{title(METRICS[j])}: of 16 pairs, C1 to C4 fit better than C5 to C8", *both])
    first = [largest(of) for of in (ours, theirs)]
    for name in FACTORS:
        rows.append(
            [f"metrics of which {name!r} takes the largest share", *(f"{f.count(name)} of {len(f)}" for f in first)]
        )
    for model in ("lenet-mnist", "mobilenet-mnist"):
        rows.append(
            [f"PTV k_PTV, {model}", f"{value(result, model, METRICS[1]):.2f}", f"{VALUES['others'][model][1]:.2f}"]
        )
    return "\n".join(table(["", "ours", "published"], rows)).rstrip()


def effect_tables(result: MemorizationResult) -> list[str]:
    lines = ["## Main effects of the factors of table I", ""]
    lines += [
        "Mean over the four models with the factor less the mean over the four without it, and in brackets the share",
        "of the variance over the eight models that it accounts for. Section V says: training size first, then",
        "regularisation, then the number of parameters.",
        "",
    ]
    order = {"ours": [], "published": []}
    for family, label in FAMILIES.items():
        rows = []
        for j, metric in enumerate(METRICS):
            for who in ("ours", "published"):
                values = {
                    k: value(result, f"{family}-{k}", metric) if who == "ours" else v[j]
                    for k, v in VALUES[family].items()
                }
                found = effects(values)
                rows.append(
                    [f"{title(metric)}, {who}", *(f"{e:+.3f} ({s:.0%})" if s == s else "-" for e, s in found.values())]
                )
                if not any(math.isnan(s) for _, s in found.values()):
                    order[who].append(max(found, key=lambda name: found[name][1]))
        lines += [f"### {label}", "", *table(["", *FACTORS], rows)]
    for who, first in order.items():
        counts = ", ".join(f"{name} {first.count(name)}" for name in FACTORS)
        lines.append(f"Factor with the largest share, of {len(first)} metrics, {who}: {counts}.")
    return [*lines, ""]


def agreement(result: MemorizationResult) -> list[str]:
    lines = [
        "## Do the orders agree?",
        "",
        "Spearman's rank correlation of our eight values with the published ones.",
        "",
    ]
    rows = []
    for j, metric in enumerate(METRICS):
        row = [title(metric)]
        for family in FAMILIES:
            ours = [value(result, f"{family}-{k}", metric) for k in VALUES[family]]
            theirs = [v[j] for v in VALUES[family].values()]
            known = [i for i, v in enumerate(ours) if not math.isnan(v)]
            rho = (
                spearmanr([ours[i] for i in known], [theirs[i] for i in known]).statistic
                if len(known) > 2
                else math.nan
            )
            row.append(f"{rho:+.2f} ({len(known)} models)")
        rows.append(row)
    lines += table(["", *FAMILIES.values()], rows)
    lines += [
        "## Do C1 to C4 fit better than C5 to C8?",
        "",
        "Of the 16 pairs of one of C1 to C4 and one of C5 to C8, how many the metric puts in that order.",
        "",
    ]
    rows = []
    for j, metric in enumerate(METRICS):
        row = [title(metric)]
        for family in FAMILIES:
            for who in ("ours", "published"):
                v = [
                    value(result, f"{family}-{k}", metric) if who == "ours" else t[j] for k, t in VALUES[family].items()
                ]
                if any(math.isnan(x) for x in v):
                    row.append("-")
                    continue
                right = in_order(v, metric)
                row.append(f"{right} of 16{', all' if right == 16 else ''}")
        rows.append(row)
    return [
        *lines,
        *table(["", *(f"{label}, {who}" for label in FAMILIES.values() for who in ("ours", "published"))], rows),
    ]


def corruption_table(found: dict[str, np.ndarray]) -> list[str]:
    lines = ["## Figure 2: accuracy under the corruptions, mean of all fifteen", ""]
    rows = [[name, *(f"{v:.3f}" for v in share.mean(axis=0))] for name, share in found.items()]
    lines += table(["severity", *map(str, range(6))], rows)
    if found:
        groups = {"C1 to C4": [], "C5 to C8": []}
        for name, share in found.items():
            if "-C" in name:
                groups["C1 to C4" if int(name[-1]) < 5 else "C5 to C8"].append(share / share[:, :1])
        lines += ["Share of the clean accuracy left at severity 3 and 5, mean over models, each corruption:", ""]
        rows = [
            [kind, *(f"{np.mean([s[i, at] for s in shares]):.3f}" for at in (3, 5) for shares in groups.values())]
            for i, kind in enumerate(CORRUPTIONS)
        ]
        lines += table(["", *(f"{g}, severity {at}" for at in (3, 5) for g in groups)], rows)
    return lines


def training_table(runs: Runs) -> list[str]:
    lines = ["## What was trained for PMV and PTV", ""]
    rows = []
    for name in NAMES:
        noisy = runs.noisy(name)
        if noisy is None:
            rows.append([name, "-", "-", "-", "-", "-"])
            continue
        rates, right, _, record = noisy
        s = record["setting"]
        rows.append([
            name, ", ".join(f"{r:g}" for r in rates), str(right.shape[1]), str(s["epochs"]), f"{s['rate']:g}",
            ", ".join(f"{v:.3f}" for v in right.mean(axis=(1, 2))),
        ])  # fmt: skip
    head = ["", "rates", "seeds", "epochs (250 published)", "first learning rate", "accuracy on the labels trained on"]
    return [*lines, *table(head, rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, help="also write heldout's report on the pool there")
    args = parser.parse_args()
    runs = Runs(HERE / "results")
    curves = all_curves(runs)
    result = MemorizationResult.of(curves, source="CIFAR-10 and MNIST")
    lines = [
        "# Pavlitskaya, Oswald, Zöllner 2022: ours beside the published tables",
        "",
        "Written by `tables.py` from the results here. What was cut, and where the paper is silent: ../README.md.",
        "A PMV slope tells of memorization only where a network fits its labels without noise (the last table).",
        "",
        *accuracy_tables(runs),
        *metric_tables(result),
        *agreement(result),
        *effect_tables(result),
        *corruption_table(corruptions(runs)),
        *training_table(runs),
    ]
    (HERE / "results" / "tables.md").write_text("\n".join(lines).rstrip() + "\n")
    print("\n".join(lines))
    fill(HERE / "README.md", {"in short": in_short(result)})
    if args.report:
        pool = [c for c in curves if "-C" in c.model]
        for family in FAMILIES:
            own = [c for c in pool if c.model.startswith(family)]
            print(MemorizationResult.of(own, source="CIFAR-10").report(args.report / family))


if __name__ == "__main__":
    main()
