"""Reads the store and writes results/tables.md: errors, T on test set and control, and which leaks are found.

    PYTHONPATH=src python experiments/werpachowski/cifar10/tables.py [RESULTS]

Honest networks of `experiments/leaks` (the usual shifts) are in the tables of errors, T and p-values too.
z is the difference of the class-wise means, test minus control, over its standard error (as in heldout's control test);
"found at 0.05" is a one-sided normal p below it. With 10,000 pictures on each side and clipped margins that is close to
the permutation p, which takes too long for every network. All networks are compared on the same pictures, so the z of
different networks go together: a share of ten networks is not one of ten independent tries.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import brute
import numpy as np
import store
from checks import by_generator, difference, frames, generators, interval, similarity, single_p, table, without_near
from scipy.stats import norm
from store import statistics

from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import Translations
from heldout.statistics import control_test, independence_test

HERE = Path(__file__).parent
LEAKS = HERE.parents[1] / "leaks" / "results"
# v1 5.3.3 and table 2, trained on 50,000: networks, test and training error, %, p of all N averaged
PUBLISHED = {
    "v1, VGG-like": ("1250", "7.85", "0.014", "0.028"),
    "v1, VGG-like, original pictures": ("125", "5.52", "", ""),
    "v1, WideResNet-28-10": ("125", "5.73", "", "0.024"),
    "v1, WideResNet-22-10": ("125", "5.80", "", "0.021"),
    "v1, WideResNet-16-8": ("125", "6.45", "", "0.033"),
    "v1, WideResNet-40-2": ("125", "7.24", "", "0.014"),
}
KINDS = ("vgg-shift", "vgg-pad", "vgg-fixed", "vgg-original", "wide", "residual")  # the order of the tables
MAIN = "vgg-shift-e104"
GROUPS = (1, 12, 25, 50, 125, 250, 625, 1250)  # as far as there are networks
SIZES = (1_000, 2_000, 5_000)
N_SUBSETS = 200  # v1, figures 10 and 11
N_REFERENCES = 3  # honest networks
BY_REFERENCES = "margin less 3 references, with tail"  # heldout's verdict where references are given


class Networks:
    """All networks of the store, by setting: what was kept of each, as numbers to compare."""

    def __init__(self, folder: Path, beside: Path | None = None) -> None:
        self.split = store.split(folder)
        self.groups: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        self.records: dict[str, dict[int, dict]] = {}
        self.recomputed: list[tuple[str, int, int]] = []
        self.beside: set[str] = set()  # settings of which some networks are from the other store
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
                    self.beside.add(model.key.rsplit("/seed", 1)[0])
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
    rows += [[name, n, test, "", train, "", ""] for name, (n, test, train, _) in PUBLISHED.items()]
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


def p_of(T: np.ndarray, method: str) -> float:
    return p_of_bytes(T.tobytes(), method)


@functools.cache
def p_of_bytes(T: bytes, method: str) -> float:
    """Betting takes a while, and several tables ask for the same."""
    lower, upper = Translations(2).statistic_range("strongest")
    return independence_test(np.frombuffer(T), lower=lower, upper=upper, method=method).p_value


def p_values(networks: Networks) -> str:
    """Bernstein and betting for single networks and for averages of N: test, control, training pictures."""
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        if name not in networks.groups:
            continue
        of = [m for _, m in sorted(networks.groups[name].items())]
        for size in sorted({g for g in (*GROUPS, len(of)) if g <= len(of)}):
            for part in ("test", "control", "train", "all"):
                T = [m[f"{part}/T"] for m in of if f"{part}/T" in m]
                if len(T) < size or (part == "all" and size > 1):
                    continue
                averages = [np.mean(T[i : i + size], axis=0) for i in range(0, len(T) - size + 1, size)]
                cells = []
                for method in ("bernstein", "betting"):
                    p = [p_of(a, method) for a in averages]
                    cells += [f"{np.mean(p):.3g}", f"{np.median(p):.3g}", f"{np.mean(np.array(p) <= 0.05):.2f}"]
                what = f"all {len(T[0]):,} training" if part == "all" else part
                rows.append([name, str(size), what, str(len(averages)), *cells])
    rows.append(["v1, VGG-like", "1", "test", "1250", "0.56", "0.53", "", "", "", ""])
    rows.append(["v1, VGG-like", "1", "all 50,000 training", "1250", "0.023", "", "", "", "", ""])
    rows += [[name, n, "test", "1", p, p, "", "", "", ""] for name, (n, _, _, p) in PUBLISHED.items() if p]
    head = ["networks", "N", "pictures", "p-values", "Bernstein: mean p", "median", "share below 0.05"]
    head += ["betting: mean p", "median", "share below 0.05"]
    return table(head, rows)


def with_error(networks: Networks) -> str:
    """v1, figure 9, third row: does p on the test set go with an error? And in the tenth with the lowest test error?"""
    rows = []
    for family in networks.families():
        of = [m for _, m in sorted(networks.groups.get(f"{family}-leak0", {}).items())]
        if len(of) < 10:
            continue
        error = {part: np.array([m[f"{part}/error"].mean() for m in of]) for part in ("test", "train")}
        for method in ("bernstein", "betting"):
            p = np.array([p_of(m["test/T"], method) for m in of])
            low = p[np.argsort(error["test"], kind="stable")[: len(of) // 10]]
            r = [f"{np.corrcoef(p, e)[0, 1]:+.2f}" for e in error.values()]
            rows.append([f"{family}-leak0", str(len(of)), method, *r, f"{(low < 0.5).sum()} of {len(low)}"])
    rows.append(["v1, VGG-like", "1250", "bernstein", "+0.49", "+0.01", "almost all"])
    head = ["networks", "number", "p by", "correlation with test error", "with training error"]
    return table([*head, "p below 0.5 in the tenth of lowest test error"], rows)


def subsets(networks: Networks) -> str:
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
    rows.append(["v1, VGG-like, CIFAR-10.1", "1250", "", "", "0.699 (the whole set)", "", ""])
    return table(["networks", "N", "pictures", *(f"{n:,}" for n in SIZES), "all"], rows) if len(rows) > 1 else ""


def in_short(networks: Networks) -> str:
    """The numbers of v1 5.3 beside ours, from the networks that are trained best."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    of = list(networks.groups[name].values())
    average = networks.average(name)
    one = np.array([p_of(m["test/T"], "bernstein") for m in of])
    whole = [p_of(m["all/T"], "bernstein") for m in of if "all/T" in m]
    error = {p: np.array([m[f"{p}/error"].mean() for m in of]) for p in ("test", "control", "train")}
    T = {p: average[f"{p}/T"] for p in ("test", "control")}
    d, se = difference(T["test"], T["control"], *networks.labels().values())
    n = len(of)
    rows = [
        ["test error, %", "7.85", f"{100 * error['test'].mean():.2f}", f"{100 * error['control'].mean():.2f}"],
        ["mean p of single networks, Bernstein", "0.56", f"{one.mean():.2f}",
         f"{np.mean([p_of(m['control/T'], 'bernstein') for m in of]):.2f}"],
        ["the same, betting", "", *(f"{np.mean([p_of(m[f'{p}/T'], 'betting') for m in of]):.2f}" for p in T)],
        [f"p of all averaged (v1: 1,250; here {n}), Bernstein", "0.028",
         *(f"{p_of(t, 'bernstein'):.3f}" for t in T.values())],
        ["the same, betting", "", *(f"{p_of(t, 'betting'):.1g}" for t in T.values())],
        ["correlation of p with test error", "+0.49", f"{np.corrcoef(one, error['test'])[0, 1]:+.2f}", ""],
        ["correlation of p with training error", "+0.01", f"{np.corrcoef(one, error['train'])[0, 1]:+.2f}", ""],
        ["mean T of all averaged", "", *(f"{t.mean():+.5f}" for t in T.values())],
        ["**mean T, test minus control (95 %)**", "", f"**{interval(d, se)}**", ""],
    ]  # fmt: skip
    if whole:
        size = len(next(m["all/T"] for m in of if "all/T" in m))
        rows.insert(
            5, [f"mean p on all training pictures (v1: 50,000; here {size:,})", "0.023", f"{np.mean(whole):.3f}", ""]
        )
    return f"{name}, {n} networks.\n\n" + table(["", "v1, test", "test", "control"], rows)


def must_hold(networks: Networks, folder: Path, audits: Path) -> str:
    """What was asked of the study beforehand, what was found, and whether it holds."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    of = [m for _, m in sorted(networks.groups[name].items())]
    error = 100 * float(np.mean([m["test/error"].mean() for m in of]))
    published = float(PUBLISHED["v1, VGG-like"][1])
    rows = [
        [f"mean test error within 1.5 points of v1's {published} %", f"{error:.2f} %", abs(error - published) <= 1.5],
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
    sizes = [g for g in GROUPS if g <= len(of)]
    means = []
    for size in sizes:
        T = [m["test/T"] for m in of]
        averages = [np.mean(T[i : i + size], axis=0) for i in range(0, len(T) - size + 1, size)]
        means.append(float(np.mean([p_of(a, "bernstein") for a in averages])))
    told = ", ".join(f"{p:.3f}" for p in means)
    falls = all(b <= a for a, b in itertools.pairwise(means))
    rows.append([f"mean p on the test set falls with N ({', '.join(map(str, sizes))})", told, falls])
    if share := detected(networks, audits):
        rows.append(["test pictures in training are found from some share on (all networks, 0.05)", *share])
    if (folder / "brute.json").exists():
        read = [row for row in brute.compare(folder / "brute.json", [folder]) if "float16" in row[1]]
        told = f"{sum(k for *_, k in read)} of {sum(n for _, _, n, _ in read)} pictures of {len(read)} networks differ"
        rows.append(["T by brute force outside heldout, as the study rounds", told, not any(k for *_, k in read)])
    return table(["must hold", "found", ""], [[what, told, "yes" if holds else "**no**"] for what, told, holds in rows])


def detected(networks: Networks, audits: Path) -> tuple[str, bool] | None:
    """The smallest leak from which on every network of MAIN is found, by T and with references."""
    known = json.loads(audits.read_text()) if audits.exists() else {}
    n = len(networks.split["test_labels"])
    told = {}
    for look in (BY_REFERENCES, "T"):
        smallest = None
        for name in sorted((x for x in networks.of(MAIN) if networks.leak(x)), key=networks.leak, reverse=True):
            p = [known[f"{name}/seed{s}"]["p"][look][0] for s in networks.groups[name] if f"{name}/seed{s}" in known]
            if not p or max(p) > 0.05:
                break
            smallest = networks.leak(name)
        told[look] = smallest
    if not known:
        return None
    shares = [f"{look}: " + ("never" if k is None else f"{100 * k / n:g} %") for look, k in told.items()]
    return "; ".join(shares), told[BY_REFERENCES] is not None


def references(networks: Networks, family: str, seed: int, leak: int) -> list[dict]:
    """Honest networks of the same kind, drawn anew for every network audited, itself left out."""
    honest = networks.groups.get(f"{family}-leak0", {})
    others = [s for s in sorted(honest) if leak or s != seed]
    if len(others) < N_REFERENCES:
        return []
    drawn = np.random.default_rng([seed, leak]).choice(others, N_REFERENCES, replace=False)
    return [honest[s] for s in drawn]


def looks(model: dict, near: list[dict], far: list[dict]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Every statistic that can tell test from control, larger where pictures look seen: of test and of control."""

    def values(what: str, less: list[dict] = (), sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        known = {p: np.mean([r[f"{p}/{what}"] for r in less], axis=0) if less else 0.0 for p in ("test", "control")}
        return tuple(sign * (model[f"{p}/{what}"] - known[p]) for p in ("test", "control"))

    found = {"T": values("T"), "error": values("error", sign=-1.0), "margin": values("margin")}
    if near:
        found[f"error less {len(near)} references"] = values("error", near, -1.0)
        found["margin less 1 reference"] = values("margin", near[:1])
        found[f"margin less {len(near)} references"] = values("margin", near)
    if far:
        found[f"margin less {len(far)} of another architecture"] = values("margin", far)
    return found


def leaks(networks: Networks, family: str) -> str:
    y, y_control = networks.split["test_labels"], networks.split["control_labels"]
    far = []
    if not family.startswith("residual"):
        for name, group in sorted(networks.groups.items()):
            if name.startswith("residual") and name.endswith("-leak0") and name not in networks.beside:
                far += list(group.values())
    rows = []
    for name in networks.of(family):
        leak = networks.leak(name)
        each = [
            looks(model, references(networks, family, seed, leak), far)
            for seed, model in sorted(networks.groups[name].items())
        ]
        for what in each[0]:
            z = np.array([d / se for d, se in (difference(*look[what], y, y_control) for look in each)])
            average = [np.mean(v, axis=0) for v in zip(*(look[what] for look in each), strict=True)]
            d, se = difference(*average, y, y_control)
            shares = [f"{np.mean(norm.sf(z) <= a):.2f}" for a in (0.05, 0.001)]
            spread = f"{z.min():+.1f} to {z.max():+.1f}"
            rows.append([str(leak), str(len(z)), what, f"{z.mean():+.1f}", spread, *shares, f"{d / se:+.1f}"])
    head = ["leaked", "networks", "by", "mean z", "from, to", "found at 0.05", "found at 0.001", "z of their average"]
    return table(head, rows)


def positive_control(networks: Networks, audits: Path) -> str:
    """Of MAIN's networks with test pictures in training: what T sees, and what the leak test with references does.

    The p-values of single networks are those of `audits`, the tables.json of experiments/leaks.
    """
    known = json.loads(audits.read_text()) if audits.exists() else {}
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
        audited = [known[key]["p"] for seed in sorted(networks.groups[name]) if (key := f"{name}/seed{seed}") in known]
        cells = []
        for look in ("T", BY_REFERENCES):
            p = np.array([a[look][0] for a in audited if look in a])
            found = " / ".join(f"{(p <= a).sum()}" for a in (0.05, 0.001))
            cells += [f"{np.median(p):.2g}", found] if len(p) else ["", ""]
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
    head += ["single networks, T: median p", "found at 0.05 / 0.001"]
    head += [f"{BY_REFERENCES}: median p", "found at 0.05 / 0.001"]
    text = f"{MAIN}; p one-sided, by permutation within class (0.0005 at least); error against the honest networks."
    return f"{text}\n\n{table(head, rows)}"


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


def write(folder: Path, beside: Path | None = None) -> str:
    networks = Networks(folder, beside)
    labels = networks.labels()
    total = sum(map(len, networks.groups.values()))
    honest = {
        n: networks.average(n) for f in networks.families() if len(networks.groups.get(n := f"{f}-leak0", ())) >= 10
    }
    sections = [
        ("In short", in_short(networks)),
        ("What must hold", must_hold(networks, folder, (beside or folder) / "tables.json")),
        ("Positive control: test pictures in training", positive_control(networks, (beside or folder) / "tables.json")),
        ("Errors", errors(networks)),
        ("Mean T, rule strongest, radius 2, models averaged", mean_T(networks)),
        ("Test minus control by permutation within class", permuted(networks)),
        ("p-values of honest networks, N averaged", p_values(networks)),
        ("p of single networks and their errors", with_error(networks)),
        (f"p of all networks averaged, {N_SUBSETS} random subsets of the pictures (Bernstein)", subsets(networks)),
        ("Other generators, radii and starts", generators(folder, labels)),
        ("Networks of the original pictures, with frames", frames(folder, labels)),
        ("Without pictures that are like a training picture", without_near(folder, labels, honest)),
        ("Models of original and of rescaled pictures (v1 5.3.3)", similarity(folder, labels)),
    ]
    for family in networks.families():
        if len(networks.of(family)) > 1:
            sections.append((f"Leaks: {family}", leaks(networks, family)))
    again = [f"- {key}: {n} pictures, {k} codes differ" for key, n, k in networks.recomputed]
    sections.append(("T from whole score maps, by heldout's own code", "\n".join(again)))
    if (folder / "brute.json").exists():
        read = brute.compare(folder / "brute.json", [folder])
        lines = [f"- {key}, {kind}: {n} pictures, T of {k} differs" for key, kind, n, k in read]
        sections.append(("T from weights and pictures, by brute force", "\n".join(lines)))
    text = [
        f"# {total} networks",
        "Made by tables.py from the files beside it and the honest networks of experiments/leaks.",
    ]
    return "\n\n".join(text + [f"## {name}\n\n{body}" for name, body in sections if body]) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("networks-*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    text = write(folder, LEAKS if len(sys.argv) == 1 else None)
    (folder / "tables.md").write_text(text)
    print(text)
