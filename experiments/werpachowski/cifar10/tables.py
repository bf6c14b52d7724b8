"""Reads the store and writes results/tables.md: errors, T on test set and control, v1's numbers beside ours.

    PYTHONPATH=src:. python experiments/werpachowski/cifar10/tables.py [RESULTS]

Fills the tables of README.md, too. Honest networks of `experiments/leaks` (the usual shifts) are in the tables of
errors, T and p-values; which single networks with a leak are found is read from its tables.json and draws.json.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import brute
import numpy as np
import published
import store
from against import GROUPS, correlations, groups, small_sets, table_1, table_2, with_error
from checks import (
    as_hard,
    by_difficulty,
    by_generator,
    difference,
    frames,
    generators,
    interval,
    similarity,
    single_p,
    table,
    without_near,
)
from evidence import N_SUBSETS, averages, p_by_v1, p_of, subsets
from scipy.stats import norm
from store import statistics

from experiments.pages import fill
from heldout.independence.score_maps import score_map_statistics
from heldout.statistics import control_test

HERE = Path(__file__).parent
LEAKS = HERE.parents[1] / "leaks" / "results"
KINDS = ("vgg-shift", "vgg-pad", "vgg-fixed", "vgg-original", "wide", "residual")  # the order of the tables
MAIN = "vgg-shift-e104"
SIZES = (1_000, 2_000, 5_000)
BY_REFERENCES = "margin less 3 references, with tail"  # heldout's verdict where references are given


class Networks:
    """All networks of the store, by setting: what was kept of each, as numbers to compare."""

    def __init__(self, folder: Path, beside: Path | None = None) -> None:
        self.split = store.split(folder)
        self.groups: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        self.records: dict[str, dict[int, dict]] = {}
        self.recomputed: list[tuple[str, int, int]] = []
        self.beside: Counter[str] = Counter()  # networks that are from the other store, by setting
        for model in self.models(folder, beside):
            name, seed = model.key.rsplit("/seed", 1)
            self.groups.setdefault(name, {})[int(seed)] = self.numbers(model)
            self.records.setdefault(name, {})[int(seed)] = model.record
            if "test_maps" in model:
                maps, codes = model["test_maps"], model["test_codes"]
                T = score_map_statistics(maps, radius=model.record["radius"])
                self.recomputed.append((model.key, len(maps), int((statistics(codes[: len(maps)]) != T).sum())))

    def models(self, folder: Path, beside: Path | None) -> Iterator[store.Model]:
        yield from store.models(folder)
        if beside and beside.exists():
            if any(not np.array_equal(v, store.split(beside).get(k, v)) for k, v in self.split.items()):
                raise SystemExit(f"{beside} was made with another split of the pictures.")
            for model in store.models(beside):
                if not len(model["leaked"]):
                    self.beside[model.key.rsplit("/seed", 1)[0]] += 1
                    yield model

    def numbers(self, model: store.Model) -> dict[str, np.ndarray]:
        found = {}
        for part in ("test", "control", "train"):
            wrong = model[f"{part}_predictions"] != self.split[f"{part}_labels"]
            found[f"{part}/error"] = wrong.astype(np.float64)
            if f"{part}_margins" in model:
                found[f"{part}/margin"] = model[f"{part}_margins"].astype(np.float64)
            if f"{part}_codes" in model:
                found[f"{part}/T"] = statistics(model[f"{part}_codes"])
        if "rest_codes" in model:
            found["all/T"] = np.concatenate([found["train/T"], statistics(model["rest_codes"])])
        return found

    def family(self, name: str) -> str:
        """The setting but for the leak."""
        return re.sub(r"-leak\d+$", "", name)

    def leak(self, name: str) -> int:
        return int(re.search(r"-leak(\d+)$", name)[1])

    def families(self) -> list[str]:
        return sorted({self.family(n) for n in self.groups}, key=lambda f: (self.kind(f), f))

    def kind(self, family: str) -> int:
        return next((i for i, start in enumerate(KINDS) if family.startswith(start)), len(KINDS))

    def labels(self) -> dict[str, np.ndarray]:
        return {p: self.split[f"{p}_labels"] for p in ("test", "control")}

    def average(self, name: str) -> dict[str, np.ndarray]:
        """Of all networks of a setting, picture by picture."""
        of = list(self.groups[name].values())
        return {k: np.mean([m[k] for m in of], axis=0) for k in of[0] if all(k in m for m in of)}

    def of(self, family: str) -> list[str]:
        return sorted((n for n in self.groups if self.family(n) == family), key=self.leak)


def errors(networks: Networks) -> str:
    rows = []
    for family in networks.families():
        for name in networks.of(family):
            of = list(networks.groups[name].values())
            r = list(networks.records[name].values())
            cells = []
            for part in ("test", "control", "train"):
                e = 100 * np.array([m[f"{part}/error"].mean() for m in of])
                cells.append(f"{e.mean():.2f}" + (f" ± {e.std(ddof=1):.2f}" if len(e) > 1 else ""))
            cells.append(f"{100 * np.mean([1 - x['last_epoch_accuracy'] for x in r]):.2f}")
            rows.append([name, str(len(of)), *cells, f"{np.mean([x['training_seconds'] for x in r]):.1f}"])
    theirs = [
        ("VGG-like", published.N, f"{published.ERROR}", f"{published.ERROR_ON_TRAINING}"),
        ("VGG-like, original pictures", 125, f"{published.ERROR_ON_ORIGINAL}", ""),
    ]
    for kind, (error, original, _) in published.TABLE_2.items():
        both = f"{error:.2f} (original pictures: {original:.2f})"
        theirs.append((f"WideResNet-{kind.replace('x', '-')}", published.N_WIDE, both, ""))
    rows += [[f"v1, {name}", str(n), test, "", train, "", ""] for name, n, test, train in theirs]
    head = ["networks", "number", "test error, %", "control, %", "training pictures, %", "last epoch, %", "s each"]
    return table(head, rows)


def mean_T(networks: Networks) -> str:
    y, y_control = networks.split["test_labels"], networks.split["control_labels"]
    rows = []
    for family in networks.families():
        for name in networks.of(family):
            of = networks.average(name)
            T = {p: of[f"{p}/T"] for p in ("test", "control", "train") if f"{p}/T" in of}
            z = {p: t.mean() / (t.std(ddof=1) / len(t) ** 0.5) for p, t in T.items()}
            d, se = difference(T["test"], T["control"], y, y_control)
            cells = [f"{T[p].mean():+.5f} (z {z[p]:.1f})" if p in T else "" for p in ("test", "control", "train")]
            seen = f"{(norm.isf(0.025) + norm.isf(0.2)) * se:.5f}"
            rows.append([name, str(len(networks.groups[name])), *cells, interval(d, se), f"{d / se:+.1f}", seen])
    head = ["networks", "number", "mean T, test", "control", "training pictures", "test minus control (95 %)", "z"]
    return table([*head, "would be found with power 0.8 from"], rows)


def p_values(networks: Networks) -> str:
    """Bernstein and betting for single networks and for averages of N: test, control, training pictures."""
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        if name not in networks.groups:
            continue
        of = [m for _, m in sorted(networks.groups[name].items())]
        for size in groups(len(of)):
            for part in ("test", "control", "train", "all"):
                T = [m[f"{part}/T"] for m in of if f"{part}/T" in m]
                if len(T) < size or (part == "all" and size > 1):
                    continue
                of_size, cells = averages(T, size), []
                for method in ("bernstein", "betting"):
                    p = [p_of(a, method) for a in of_size]
                    cells += [f"{np.mean(p):.3g}", f"{np.median(p):.3g}", f"{np.mean(np.array(p) <= 0.05):.2f}"]
                what = f"all {len(T[0]):,} training" if part == "all" else part
                rows.append([name, str(size), what, str(len(of_size)), *cells])
    many, none = str(published.N), ["", "", "", ""]
    for what, mean, median in (
        ("test", published.MEAN_P, f"{published.MEDIAN_P}"),
        ("all 50,000 training", published.MEAN_P_ON_TRAINING, ""),
        (f"CIFAR-10.1, {published.N_NEW:,}", published.NEW_MEAN_P, "1"),
    ):
        rows.append(["v1, VGG-like", "1", what, many, f"{mean}", median, *none])
    head = ["networks", "N", "pictures", "p-values", "Bernstein: mean p", "median", "share below 0.05"]
    head += ["betting: mean p", "median", "share below 0.05"]
    return table(head, rows)


def by_size(networks: Networks) -> str:
    """v1, figure 11: p of all networks averaged on random subsets, and the control where v1 has CIFAR-10.1."""
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        if len(networks.groups.get(name, {})) < 20:
            continue
        of = networks.average(name)
        for part in ("test", "control"):
            T, rng = of[f"{part}/T"], np.random.default_rng(0)
            found = []
            for size in (n for n in SIZES if n < len(T)):
                p = [p_of(rng.permutation(T)[:size], "bernstein") for _ in range(N_SUBSETS)]
                found.append(f"{np.mean(p):.3f} ± {1.96 * np.std(p, ddof=1) / N_SUBSETS**0.5:.3f}")
            rows.append([name, str(len(networks.groups[name])), part, *found, f"{p_of(T, 'bernstein'):.3f}"])
    whole = f"{published.NEW_P_ALL} (the whole set)"
    rows.append(["v1, VGG-like, CIFAR-10.1", f"{published.N}", "", "", whole, "", ""])
    return table(["networks", "N", "pictures", *(f"{n:,}" for n in SIZES), "all"], rows) if len(rows) > 1 else ""


def in_short(networks: Networks) -> str:
    """The numbers of v1 5.3 beside ours, from the networks that are trained best, and why they differ."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    of = [m for _, m in sorted(networks.groups[name].items())]
    average, n = networks.average(name), len(of)
    error = {p: np.array([m[f"{p}/error"].mean() for m in of]) for p in ("test", "control", "train")}
    each = {p: [m[f"{p}/T"] for m in of] for p in ("test", "control")}
    one = {p: np.array([p_of(t) for t in of_part]) for p, of_part in each.items()}
    theirs = {p: np.array([p_by_v1(t) for t in of_part]) for p, of_part in each.items()}
    T = {p: average[f"{p}/T"] for p in each}
    d, se = difference(*T.values(), *networks.labels().values())
    rows = [
        ["networks", f"{published.N:,}", "", f"{n}", "", "GPU time"],
        ["error, %", f"{published.ERROR}", "", *(f"{100 * error[p].mean():.2f}" for p in T),
         "40,000 training pictures instead of 50,000, fewer epochs"],
        ["mean p of single networks, Bernstein with v1's U", f"{published.MEAN_P}", "",
         *(f"{p.mean():.2f}" for p in theirs.values()), "another training; v1 prints no T to compare"],
        ["their median", f"{published.MEDIAN_P}", "", *(f"{np.median(p):.2f}" for p in theirs.values()), "as above"],
        ["of these p = 1, %", f"{100 * published.SHARE_AT_1:.0f}", "",
         *(f"{100 * np.mean(p == 1):.0f}" for p in theirs.values()), "as above"],
        ["p of all averaged, Bernstein with v1's U", f"{published.P_ALL}", "",
         *(f"{p_by_v1(t):.3f}" for t in T.values()), "as above; fewer networks do little (table 1)"],
        ["the same with the tight U", "", "", *(f"{p_of(t):.3f}" for t in T.values()), ""],
        ["the same by betting", "", "", *(f"{p_of(t, 'betting'):.1g}" for t in T.values()), ""],
        ["mean p of single networks by betting", "", "",
         *(f"{np.mean([p_of(t, 'betting') for t in ts]):.2f}" for ts in each.values()), ""],
    ]  # fmt: skip
    if len(T["control"]) > published.N_NEW:
        alone, together = (
            np.array([p_by_v1(t) for t, _ in subsets(ts, published.N_NEW)]) for ts in (each["control"], [T["control"]])
        )
        few, why = f"{N_SUBSETS} subsets of {published.N_NEW:,}", '"As few pictures as CIFAR-10.1 has" in the tables'
        at_1 = f"{100 * published.NEW_AT_1 / published.N:.0f} ({published.NEW_AT_1} of {published.N:,})"
        rows += [
            [
                f"{few}: mean p of single networks, v1's U",
                "",
                f"{published.NEW_MEAN_P}",
                "",
                f"{alone.mean():.3f}",
                why,
            ],
            [f"{few}: of these p = 1, %", "", at_1, "", f"{100 * np.mean(alone == 1):.0f}", why],
            [f"{few}: mean p of all averaged, v1's U", "", f"{published.NEW_P_ALL}", "", f"{together.mean():.3f}", why],
        ]
    whole = [m["all/T"] for m in of if "all/T" in m]
    if whole:
        what = f"mean p on all training pictures (v1: 50,000; here {len(whole[0]):,}), v1's U"
        p = np.mean([p_by_v1(t) for t in whole])
        rows.append([what, f"{published.MEAN_P_ON_TRAINING}", "", f"{p:.3f}", "", ""])
    own = {p: {p: error[p], "train": error["train"]} for p in one}  # errors of the same pictures, and of others
    (test, test_train), (control, _) = (correlations(one[p], own[p]) for p in one)
    rows += [
        ["correlation of p with the error on the same pictures, %", f"{published.CORRELATION['test']:+.1f}", "", test,
         control, "the control has it too: T and error of the same pictures, not selection"],
        ["with the error on training pictures, %", f"{published.CORRELATION['train']:+.1f}", "", test_train, "", ""],
        ["mean T of all averaged", "", "", *(f"{t.mean():+.5f}" for t in T.values()), "v1 prints no T"],
        ["**mean T, test minus control (95 %)**", "", "", f"**{interval(d, se)}**", "", "no control in v1"],
    ]  # fmt: skip
    if len({n for n in networks.groups if n.endswith("-leak0")}) > 1:
        matched = interval(*difference(*T.values(), *by_difficulty(networks, name).values()))
        rows.append(["the same among pictures that other networks find as hard", "", "", matched, "", ""])
    more = f", {networks.beside[name]} of them in experiments/leaks" if networks.beside[name] else ""
    head = ["", "v1, test set", "v1, CIFAR-10.1", "test set", "control", "why they differ"]
    return f"`{name}`, {n} networks of one setting{more}.\n\n{table(head, rows)}"


def must_hold(networks: Networks, folder: Path, audits: Audits) -> str:
    """What was asked of the study beforehand, what was found, and whether it holds."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    of = [m for _, m in sorted(networks.groups[name].items())]
    error = 100 * float(np.mean([m["test/error"].mean() for m in of]))
    away = abs(error - published.ERROR)
    rows = [
        [f"mean test error within 1.5 points of v1's {published.ERROR} %", f"{error:.2f} %", away <= 1.5],
        ["100 VGG-like networks with a control", f"{len(of)}", len(of) >= 100],
    ]
    whole = [p_of(m["all/T"], "bernstein") for m in of if "all/T" in m]
    if whole:
        p = float(np.mean(whole))
        rows.append(["all training pictures: mean p by `strongest` below 0.05", f"{p:.3f}", p < 0.05])
    weaker = {
        rule: single_p(T["train"], rule, radius)
        for (rule, radius, aside), T in by_generator(folder)[1].items()
        if rule != "strongest" and radius == 2 and not aside
    }
    if weaker:
        told = ", ".join(f"{rule} {p:.2f}" for rule, p in weaker.items())
        rows.append(["the weaker generators do not reject there", told, min(weaker.values()) >= 0.05])
    T = [m["test/T"] for m in of]
    sizes = [g for g in groups(len(of)) if g in GROUPS]
    means = [float(np.mean([p_of(t) for t in averages(T, size)])) for size in sizes]
    told = ", ".join(f"{p:.3f}" for p in means)
    falls = all(b <= a for a, b in itertools.pairwise(means))
    rows.append([f"mean p on the test set falls with N ({', '.join(map(str, sizes))})", told, falls])
    rows += detected(networks, audits)
    if (folder / "brute.json").exists():
        read = [row for row in brute.compare(folder / "brute.json", [folder]) if "float16" in row[1]]
        told = f"{sum(k for *_, k in read)} of {sum(n for _, _, n, _ in read)} pictures of {len(read)} networks differ"
        rows.append(["T by brute force outside heldout, as the study rounds", told, not any(k for *_, k in read)])
    return table(["must hold", "found", ""], [[what, told, "yes" if holds else "**no**"] for what, told, holds in rows])


class Audits:
    """What experiments/leaks found of single networks: p by statistic, and with other draws of three references."""

    def __init__(self, folder: Path) -> None:
        self.single, self.draws = (
            json.loads(path.read_text()) if (path := folder / name).exists() else {}
            for name in ("tables.json", "draws.json")
        )

    def p(self, name: str, look: str) -> np.ndarray:
        """One-sided, of every network of a setting, one draw of references each."""
        return np.array([v["p"][look][0] for k, v in self.single.items() if k.startswith(f"{name}/")])

    def drawn(self, name: str) -> np.ndarray:
        """(networks, draws), one-sided, with references."""
        return np.array([v["p"] for k, v in self.draws.items() if k.startswith(f"{name}/")])


def detected(networks: Networks, audits: Audits) -> list[list[Any]]:
    """From which leak on every network of MAIN is found, by every draw of references and by T; how often below it."""
    n = len(networks.split["test_labels"])
    names = sorted((x for x in networks.of(MAIN) if networks.leak(x)), key=networks.leak, reverse=True)
    rows = []
    for what, p_of_setting in (
        ("with three references (every network, every draw, 0.05)", audits.drawn),
        ("by T (every network, 0.05)", lambda name: audits.p(name, "T")),
    ):
        surely, told = None, []
        for name in names:
            p = p_of_setting(name)
            if not p.size:
                break
            if p.max() <= 0.05 and not told:
                surely = f"from {100 * networks.leak(name) / n:g} % on"
            else:
                told.append(f"{100 * networks.leak(name) / n:g} %: {(p <= 0.05).sum()} of {p.size}")
        if surely or told:
            below = ("; below, " if surely else "never; ") + ", ".join(told) if told else ""
            rows.append([f"test pictures in training are found {what}", f"{surely or ''}{below}", surely is not None])
    return rows


def references_told(audits: Audits, families: tuple[str, ...] = (MAIN, "vgg-shift-e52")) -> str:
    """How often references find a leak, over draws of them."""
    rows = []
    for family in families:
        for leak in (1000, 300, 100, 0):
            p = audits.drawn(f"{family}-leak{leak}")
            if p.size:
                found = p <= 0.05
                each = ", ".join(map(str, found.sum(axis=1))) if leak else ""
                finer = f"{100 * np.mean(p <= 0.001):.0f}" if leak == 1000 else ""
                cells = [f"{100 * found.mean():.0f} % of {p.size:,}", each, finer]
                rows.append([f"`{family}`", f"{leak:,}", str(len(p)), str(p.shape[1]), *cells])
    head = ["networks", "leaked", "number", "draws of three references each", "audits found at 0.05"]
    return table([*head, "draws that find each network", "found at 0.001, %"], rows) if rows else ""


def positive_control(networks: Networks, audits: Audits) -> str:
    """Of MAIN's networks with test pictures in training: what T sees, and what the leak test with references does."""
    names = [n for n in networks.of(MAIN) if networks.leak(n)]
    if not names or f"{MAIN}-leak0" not in networks.groups:
        return ""
    labels = {f"classes_{p}": networks.split[f"{p}_labels"] for p in ("test", "control")}
    y = networks.labels().values()
    honest = networks.average(f"{MAIN}-leak0")
    rows = []
    for name in names:
        of, leak = networks.average(name), networks.leak(name)
        T = [of[f"{p}/T"] for p in ("test", "control")]
        less = [of[f"{p}/T"] - honest[f"{p}/T"] for p in ("test", "control")]
        points = 100 * (of["test/error"].mean() - honest["test/error"].mean())
        options = {"alternative": "greater", "n_resamples": 1999}
        tests = [control_test(*t, **labels, **options, rng=np.random.default_rng(0)) for t in (T, less)]
        p_T, drawn = audits.p(name, "T"), audits.drawn(name)
        cells = [f"{np.median(p_T):.2g}", f"{(p_T <= 0.05).sum()} of {len(p_T)}"] if len(p_T) else ["", ""]
        if drawn.size:
            found = drawn <= 0.05
            every = f"{found.all(axis=1).sum()} of {len(drawn)}"
            cells += [f"{np.median(drawn):.2g}", f"{found.sum()} of {found.size}", every]
        else:
            cells += ["", "", ""]
        rows.append([f"{leak:,} ({100 * leak / len(T[0]):g} %)", str(len(networks.groups[name])), f"{points:+.2f}",
                     interval(*difference(*T, *y)), *(f"{t.p_greater:.2g}" for t in tests), *cells])  # fmt: skip
    head = [
        "leaked",
        "networks",
        "test error, points",
        "T averaged: test minus control (95 %)",
        "p",
        "p, less honest T",
    ]
    head += ["single networks, T: median p", "found at 0.05"]
    head += [f"{BY_REFERENCES}: median p over draws", "audits found at 0.05", "networks found with every draw"]
    text = f"{MAIN}; p one-sided, by permutation within class; error against the honest networks."
    return f"{text}\n\n{table(head, rows)}"


def power_in_words(networks: Networks) -> str:
    """The difference of T that would have been found, in points of error, beside what leaks do to T and error."""
    name = f"{MAIN}-leak0"
    names = [n for n in networks.of(MAIN) if networks.leak(n)]
    if name not in networks.groups or not names:
        return ""
    y = networks.labels().values()
    honest, most = networks.average(name), networks.average(names[-1])
    (_, se), (d, d_se) = (difference(of["test/T"], of["control/T"], *y) for of in (honest, most))
    seen = (norm.isf(0.025) + norm.isf(0.2)) * se
    points = 100 * (honest["test/error"].mean() - most["test/error"].mean())
    return (
        "Mean T is R_g - R_S, an error weighed by adversarial pictures less the error on the set (v1, section 3). So a "
        f"difference of {seen:.5f} between test set and control, which the {len(networks.groups[name])} honest "
        f"networks would have shown with power 0.8, is {100 * seen:.2f} points of error, if R_g stays where the true "
        f"error is. It does not: {networks.leak(names[-1]):,} test pictures in training lower the error on the test "
        f"set by {points:.2f} points, and T, test minus control, is {interval(d, d_se)} "
        f"({len(networks.groups[names[-1]])} networks). R_g falls with R_S where training moves the pictures."
    )


def permuted(networks: Networks) -> str:
    """The headline once more by permutation: T of all honest networks, averaged."""
    lines = []
    for family in networks.families():
        of = list(networks.groups.get(f"{family}-leak0", {}).values())
        if of:
            T = [np.mean([m[f"{p}/T"] for m in of], axis=0) for p in ("test", "control")]
            labels = {f"classes_{p}": networks.split[f"{p}_labels"] for p in ("test", "control")}
            result = control_test(*T, **labels, rng=np.random.default_rng(0), n_resamples=1999)
            lines.append(f"- {family}, {len(of)} networks: {result}")
    return "\n".join(lines)


def write(folder: Path, beside: Path | None = None) -> tuple[str, dict[str, str]]:
    """The text of tables.md, and what README.md has of it."""
    networks = Networks(folder, beside)
    audits, main = Audits(beside or folder), f"{MAIN}-leak0"
    labels = networks.labels()
    total = sum(map(len, networks.groups.values()))
    honest = {
        n: networks.average(n) for f in networks.families() if len(networks.groups.get(n := f"{f}-leak0", ())) >= 10
    }
    sections = [
        ("In short", in_short(networks)),
        ("What must hold", must_hold(networks, folder, audits)),
        ("Positive control: test pictures in training", positive_control(networks, audits)),
        ("How large an effect would have been seen", power_in_words(networks)),
        ("Table 1 of v1: p of N networks averaged", table_1(networks, main) if main in networks.groups else ""),
        ("Table 2 of v1: WideResNets", table_2(networks)),
        ("Errors", errors(networks)),
        ("Mean T, rule strongest, radius 2, models averaged", mean_T(networks)),
        ("Test minus control by permutation within class", permuted(networks)),
        ("p-values of honest networks, N averaged", p_values(networks)),
        ("p of single networks and their errors", with_error(networks)),
        (f"p of all networks averaged, {N_SUBSETS} random subsets of the pictures (Bernstein)", by_size(networks)),
        ("As few pictures as CIFAR-10.1 has", small_sets(networks, main) if main in networks.groups else ""),
        ("Other generators, radii and starts", generators(folder, labels)),
        ("Networks of the original pictures, with frames", frames(folder, labels)),
        ("Among pictures that other networks find as hard", as_hard(networks, honest)),
        ("Without pictures that are like a training picture", without_near(folder, labels, honest)),
        ("Models of original and of rescaled pictures (v1 5.3.3)", similarity(folder, labels)),
    ]
    again = [f"- {key}: {n} pictures, {k} codes differ" for key, n, k in networks.recomputed]
    sections.append(("T from whole score maps, by heldout's own code", "\n".join(again)))
    if (folder / "brute.json").exists():
        read = brute.compare(folder / "brute.json", [folder])
        lines = [f"- {key}, {kind}: {n} pictures, T of {k} differs" for key, kind, n, k in read]
        sections.append(("T from weights and pictures, by brute force", "\n".join(lines)))
    text = [
        f"# {total} networks",
        "Made by tables.py from the files beside it and the honest networks of experiments/leaks, whose tables say "
        "which networks with a leak are found by which statistic.",
    ]
    page = {"in short": sections[0][1], "references": references_told(audits), "power": power_in_words(networks)}
    return "\n\n".join(text + [f"## {name}\n\n{body}" for name, body in sections if body]) + "\n", page


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("networks-*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    text, page = write(folder, LEAKS if len(sys.argv) == 1 else None)
    (folder / "tables.md").write_text(text)
    if len(sys.argv) == 1:
        fill(HERE / "README.md", page)
    print(text)
