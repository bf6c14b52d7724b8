"""Our tables III, V, VII, VIII and IX beside the published ones, what the factors do, and how the orders agree.

PYTHONPATH=src:. python experiments/pavlitskaya/tables.py [--report DIR]

Reads results/*.npz, writes results/tables.md and what stands between marks in README.md; with --report also heldout's
own page on each family.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from published import ACCURACY, EPOCHS, FACTORS, METRICS, VALUES, learning_rate
from scipy.stats import spearmanr
from trained import Trained, alike, newest_first, read

from experiments.pages import fill
from heldout import Curve, MemorizationResult
from heldout.memorization.perturb import CORRUPTIONS
from heldout.memorization.retrained import does_not_fit

HERE = Path(__file__).parent
RESULTS = HERE / "results"
IMAGES = 2_000
FIT = 0.95  # of the labels: below it a slope may be that of a training cut short
UNITS = {
    "spatial": ("pixels and degrees, the worst of 125 moves", 1.0),
    "fgsm": ("of 255", 1.0),
    "gaussian": ("of 255", 8.0),
}
FAMILIES = {"vgg": "VGG", "resnet": "ResNet"}
OTHERS = ("lenet-mnist", "lenet-cifar", "mobilenet-mnist", "mobilenet-cifar")
NAMES = [f"{family}-C{i}" for family in FAMILIES for i in range(1, 9)] + list(OTHERS)


@dataclass(frozen=True, eq=False)
class Noise:
    """Trainings of one network at rates of label noise: axes are (rates, seeds, images)."""

    trained: list[Trained]
    others: list[Trained]  # with another learning rate or number of epochs, or an earlier training of a seed
    rates: np.ndarray
    on_given: np.ndarray  # right on the labels trained on
    on_true: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, several: list[Trained]) -> Noise:
        trained = alike(several)
        rates = sorted(set.intersection(*(set(t.rates) for t in trained)))  # so that no seed is dropped
        axes = [[(t[f"rate{r:.1f}/train"], t[f"rate{r:.1f}/targets"], t["rate0.0/targets"]) for t in trained]
                for r in rates]  # fmt: skip
        said, given, truth = np.array(axes).transpose(2, 0, 1, 3)
        others = [t for t in several if t not in trained]
        return cls(trained, others, np.array(rates), said == given, said == truth, given != truth)

    @property
    def given(self) -> np.ndarray:
        """(rates,) accuracy on the labels trained on."""
        return self.on_given.mean(axis=(1, 2))


class Runs:
    """Everything that was trained: files sorted by name, later ones before earlier ones."""

    def __init__(self, folder: Path) -> None:
        self.fgsm: dict[str, np.ndarray] = {}
        if (folder / "fgsm.npz").exists():
            with np.load(folder / "fgsm.npz") as f:
                self.fgsm = {key: f[key] for key in f.files}
        self.trained = [t for path in newest_first(folder.glob("pool-*.npz")) for t in read(path)]

    def of(self, name: str) -> list[Trained]:
        return [t for t in self.trained if t.name == name]

    def noise(self, name: str) -> Noise | None:
        """The trainings with several rates."""
        several = [t for t in self.of(name) if len(t.rates) > 2]
        return Noise.of(several) if several else None

    def plain(self, name: str) -> list[Trained]:
        """Without noise: those whose curves there are, or else all."""
        own = self.of(name)
        return alike([t for t in own if t.get("curves/spatial") is not None] or own)

    def curves(self, name: str, kind: str) -> list[np.ndarray]:
        """The bits of one curve, for each seed there is.

        Of FGSM those by the margin's gradient, which is not rounded to 0, where there are any (fgsm.py).
        """
        found = [(t, t.get(f"curves/{kind}")) for t in self.plain(name)]
        if kind == "fgsm":
            again = [(t, self.fgsm.get(f"{t.file}/{name}/seed{t.seed}/curves/fgsm")) for t, _ in found]
            by_margin = [bits if t.record.get("fgsm") == "margin" else remade
                         for (t, bits), (_, remade) in zip(found, again, strict=True)]  # fmt: skip
            if any(bits is not None for bits in by_margin):
                return [bits for bits in by_margin if bits is not None]
        return [bits for _, bits in found if bits is not None]


def unpacked(bits: np.ndarray) -> np.ndarray:
    return np.unpackbits(bits, axis=-1, count=IMAGES).astype(bool)


def noise_curves(name: str, found: Noise) -> list[Curve]:
    """PMV and PTV, as `heldout memorization` makes them of its own trainings."""
    setting = found.trained[0].record["setting"]
    shares = found.on_given.mean(axis=2)
    done = np.ones(shares.shape, dtype=bool)
    seeds = [t.seed for t in found.trained]
    common = {
        "model": name, "unit": "share of wrong labels", "strengths": found.rates, "done": done, "even": True, "seed": 0,
        "wrong": found.wrong, "examples": f"{setting['data']}, {found.wrong.shape[2]} images, seeds {seeds}",
        "unfit": does_not_fit(SimpleNamespace(pmv=shares, done=done, rates=found.rates), name),
    }  # fmt: skip
    return [Curve.of(perturbation="pmv", correct=found.on_given, **common),
            Curve.of(perturbation="ptv", correct=found.on_true, **common)]  # fmt: skip


def all_curves(runs: Runs) -> list[Curve]:
    found = []
    for name in NAMES:
        if (noise := runs.noise(name)) is not None:
            found += noise_curves(name, noise)
        for kind, (unit, step) in UNITS.items():
            if bits := runs.curves(name, kind):
                right = np.stack([unpacked(b) for b in bits], axis=1)
                data = runs.plain(name)[0].record["setting"]["data"]
                found.append(Curve.of(
                    model=name, perturbation=kind, unit=unit, strengths=step * np.arange(len(right)), correct=right,
                    done=np.ones(right.shape[:2], dtype=bool), even=True, seed=0, examples=f"{data}, {IMAGES} images",
                ))  # fmt: skip
    return found


def corruptions(runs: Runs) -> dict[str, np.ndarray]:
    """Per network (15, 6) accuracies, severity 0 first, mean over the seeds that have them."""
    found = {}
    for name in NAMES:
        shares = []
        for t in runs.plain(name):
            if (bits := t.get("curves/corruptions")) is not None:
                share = unpacked(bits).mean(axis=-1)
                clean = unpacked(t["curves/spatial"])[0].mean()
                shares.append(np.concatenate([np.full((len(share), 1), clean), share], axis=1))
        if shares:
            found[name] = np.mean(shares, axis=0)
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


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def accuracy_tables(runs: Runs) -> list[str]:
    lines = []
    for family, label in FAMILIES.items():
        lines += [f"## Table {'III' if family == 'vgg' else 'V'}: baseline {label} models, per cent", ""]
        lines += [f"Ours without label noise, mean over seeds; epochs ours ({EPOCHS} published).", ""]
        rows = []
        for i in range(1, 9):
            chosen = runs.plain(f"{family}-C{i}")
            theirs = ACCURACY[family][f"C{i}"]
            row = [f"C{i}"]
            if not chosen:
                row += ["-"] * 6
            else:
                ours = [100 * float(np.mean([t.clean[k] for t in chosen])) for k in ("pmv", "val", "test")]
                row += [f"{v:.2f}" for v in (*ours, ours[0] - ours[1])]
                row += [span([t.clean["epochs"] for t in chosen]), str(len(chosen))]
            rows.append(row + [f"{v:.2f}" for v in (*theirs, theirs[0] - theirs[1])])
        head = ["", "S", "V", "T", "S - V", "epochs", "seeds", "S, published", "V", "T", "S - V"]
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


def apart(result: MemorizationResult, family: str, metric: tuple[str, str]) -> tuple[int, int] | None:
    """Of the same 16 pairs, how many have 95 % intervals that do not overlap, in that order and in the other."""
    found = [result.curve(f"{family}-{k}", metric[0]) for k in VALUES[family]]
    if any(c is None for c in found):
        return None
    ends = [(c.estimates[metric[1]].low, c.estimates[metric[1]].high) for c in found if c is not None]
    if metric == ("pmv", "k_S"):
        ends = [(-high, -low) for low, high in ends]
    pairs = [(ends[a], ends[b]) for a in range(4) for b in range(4, 8)]
    return sum(a[1] < b[0] for a, b in pairs), sum(b[1] < a[0] for a, b in pairs)


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
    for j in range(6):
        both = [", ".join(f"{in_order(list(of(f, j).values()), METRICS[j])} {FAMILIES[f]}" for f in FAMILIES)
                for of in (ours, theirs)]  # fmt: skip
        counts = [(apart(result, f, METRICS[j]), label) for f, label in FAMILIES.items()]
        both[0] += "; apart by our intervals " + ", ".join(
            f"{label} {c[0]} for, {c[1]} against" for c, label in counts if c is not None
        )
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
        "Of the 16 pairs of one of C1 to C4 and one of C5 to C8, how many the metric puts in that order; in brackets",
        "how many of our 95 % intervals do not overlap, in that order and in the other.",
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
                if who == "ours" and (found := apart(result, family, metric)):
                    row[-1] += f" ({found[0]} for, {found[1]} against)"
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
    head = ["", "rates", "seeds", f"epochs ({EPOCHS} published)", "first learning rate",
            "accuracy on the labels trained on", "not used: trained otherwise, or the same seed again"]  # fmt: skip
    return [*lines, *table(head, rows)]


# --- parts of README.md ------------------------------------------------------------------------------


def regularised(name: str) -> bool:
    return "-C" in name and int(name[-1]) % 2 == 1


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
    noise = {name: found for name in NAMES if (found := runs.noise(name)) is not None}
    short = {n: v.given[0] for n, v in noise.items() if v.given[0] < FIT}
    half = {n: v.given[-1] for n, v in noise.items() if n not in short and not regularised(n) and v.given[-1] < FIT}
    unfit = [c.model for c in result.curves if c.perturbation == "pmv" and c.unfit is not None]

    def told(found: dict[str, float]) -> str:
        return ", ".join(f"{name} {value:.3f}" for name, value in sorted(found.items(), key=lambda f: f[1])) or "none"

    lines = [
        f"- Right on fewer than {FIT:g} of their true labels when trained without noise: {told(short)}.",
        f"- Of the others that are not regularised, right on fewer than {FIT:g} of labels of which half are wrong: "
        f"{told(half)}.",
        f"- Not ranked by label noise by `heldout memorization`, as they do not fit their labels: {', '.join(unfit)}.",
    ]
    return "\n".join(lines)


def learning_rates(folder: Path) -> str:
    """VGG C6 at other learning rates, beside the published one."""
    with np.load(folder / "learning-rates.npz") as f:
        kept = [json.loads(str(f[key])) for key in f.files if key.endswith("/record")]
    pools = Runs(folder).of("vgg-C6")
    rows = []
    for record in sorted([t.record for t in pools if t.seed == 0] + kept, key=lambda r: r["setting"]["rate"]):
        s, by_rate = record["setting"], {float(k): v for k, v in record["summary"].items()}
        ends = [f"{by_rate[r]['pmv']:.3f}" for r in (0.0, 0.5) if r in by_rate]
        rows.append([f"{s['rate']:g}", str(s["epochs"]), *ends])
    return "\n".join(
        table(["learning rate of VGG C6", "epochs", "right on its true labels", "with half wrong"], rows)
    ).rstrip()


def asked(pools: dict[str, MemorizationResult]) -> str:
    """What `heldout memorization` says of each family, in short."""
    rows = []
    for family, result in pools.items():
        told = result.summary()
        lines = dict(told.lines)
        unfit = [c.model for c in result.curves if c.perturbation == "ptv" and c.unfit is not None]
        other = sorted({model for u in result.unranked if u.perturbation == "ptv" for model in u.models})
        rows += [
            [f"{FAMILIES[family]}: verdict", bare(told.headline)],
            ["most memorised first by PMV k_S (> significant, ~ not)", bare(lines.get("PMV k_S", "no two are ranked"))],
            ["by PTV k_PTV", bare(lines.get("PTV k_PTV", "no two are ranked"))],
            ["not ranked by label noise: do not fit their labels", ", ".join(unfit) or "none"],
            ["not ranked by label noise: trained at other rates", ", ".join(other) or "none"],
            ["pairs that two metrics order in opposite ways, both significantly",
             f"{len({frozenset(d.models) for d in result.disagreements})} of {math.comb(len(result.models), 2)}"],
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
        *metric_tables(result),
        *agreement(result),
        *asked_in_full(pools),
        *effect_tables(result),
        *corruption_table(corruptions(runs)),
        *training_table(runs),
    ]
    (RESULTS / "tables.md").write_text("\n".join(lines).rstrip() + "\n")
    print("\n".join(lines))
    made = {"in short": in_short(result), "asked": asked(pools), "was cut": was_cut(runs)}
    made |= {"not fitted": not_fitted(runs, result), "learning rates": learning_rates(RESULTS)}
    fill(HERE / "README.md", made)
    if args.report:
        for family, pool in pools.items():
            print(pool.report(args.report / family))


if __name__ == "__main__":
    main()
