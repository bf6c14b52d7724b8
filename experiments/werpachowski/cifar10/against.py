"""v1's tables 1 and 2 beside ours, CIFAR-10.1 beside subsets of the control, and p beside errors of either set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import published
from checks import PARTS, difficulty
from evidence import N_SUBSETS, averages, by_betting, p_by_v1, p_of, subsets
from scipy.optimize import brentq

from experiments.pages import table
from heldout.statistics import bernstein_bound

GROUPS = (1, 12, 25, 50, 125, 250, 625, 1250)  # as far as there are networks


def groups(count: int) -> list[int]:
    return sorted({g for g in (*GROUPS, count) if 0 < g <= count})


def told(p: Sequence[float]) -> str:
    """All of a few, the mean of many."""
    return ", ".join(f"{v:.4f}" for v in p) if len(p) <= 5 else f"{np.mean(p):.3f} (mean of {len(p)})"


def table_1(networks: Any, name: str) -> str:
    """p of N networks averaged, by the tight range of T and by v1's."""
    of = networks.each(name)
    rows = []
    for size in sorted({*groups(len(of)), *published.TABLE_1}):
        theirs = [told(p) for p in published.TABLE_1.get(size, ((), ()))]
        if size == 1:
            theirs = [f"{p:g} (mean of {published.N})" for p in (published.MEAN_P, published.NEW_MEAN_P)]
        ours, small = [], ""
        for part in PARTS:
            T = averages([m[f"{part}/T"] for m in of], size)
            ours += [told([p(t) for t in T]) if T else "" for p in (p_of, p_by_v1)]
            if part == "control" and T and len(T[0]) > published.N_NEW:
                small = f"{np.mean([p_by_v1(t) for t, _ in subsets(T, published.N_NEW)]):.3f}"
        rows.append([f"{size:,}", theirs[0], *ours[:2], *ours[2:], theirs[1], small])
    head = ["N", "v1, test set", "test set", "with v1's U", "control", "with v1's U"]
    new = f"{published.N_NEW:,}"
    return table(
        [*head, f"v1, CIFAR-10.1 ({new} pictures)", f"control, {N_SUBSETS} subsets of {new}, v1's U: mean"], rows
    )


def table_2(networks: Any) -> str:
    """WideResNets: error, and p of all averaged."""
    rows = []
    for kind, (error, original, p) in published.TABLE_2.items():
        theirs = [f"{error:.2f} ({original:.2f})", f"{p:.3f}"]
        for name in (n for n in networks.groups if n.startswith(f"wide{kind}-") and n.endswith("-leak0")):
            of = networks.average(name)
            errors = [f"{(100 * networks.errors(name)[part]).mean():.2f}" for part in PARTS]
            T = [of[f"{part}/T"] for part in PARTS]
            cells = [f"{f(t):.3f}" for t in T for f in (p_of, p_by_v1)]
            rows.append([kind.replace("x", "-"), *theirs, name, str(len(networks.groups[name])), *errors, *cells])
    head = ["WideResNet", "v1: error (original pictures), %", f"v1: p, N = {published.N_WIDE}", "ours", "N"]
    head += ["test error, %", "control, %", "p, test set", "with v1's U", "p, control", "with v1's U"]
    return table(head, rows) if rows else ""


def correlations(p: np.ndarray, errors: Iterable[np.ndarray]) -> list[float]:
    """Of p with each error, %."""
    return [100 * np.corrcoef(p, e)[0, 1] for e in errors]


def with_error(networks: Any) -> str:
    """v1, figure 9, third row: does p go with an error? And in the tenth of lowest error? With the control's, too."""
    rows = []
    for family in networks.families():
        of = networks.each(f"{family}-leak0")
        if len(of) < 10:
            continue
        error = networks.errors(f"{family}-leak0")
        lowest = {part: np.argsort(error[part], kind="stable")[: len(of) // 10] for part in PARTS}
        for method, p_by in (("bernstein, v1's U", p_by_v1), ("betting", by_betting)):
            for part in PARTS:
                p = np.array([p_by(m[f"{part}/T"]) for m in of])
                few = [f"{(p[low] < 0.5).sum()} of {len(low)}" for low in lowest.values()]
                below = f"{100 * np.mean(p < 0.5):.0f} %"
                told = [f"{c:+.1f}" for c in correlations(p, error.values())]
                rows.append([f"{family}-leak0", str(len(of)), part, method, *told, *few, below])
    theirs = published.CORRELATION
    rows.append(["v1, VGG-like", str(published.N), "test", "bernstein, v1's U", f"{theirs['test']:+.1f}", "",
                 f"{theirs['train']:+.1f}", "almost all", "", ""])  # fmt: skip
    head = [
        "networks",
        "number",
        "p on",
        "p by",
        "correlation with test error, %",
        "with control error",
        "with training",
    ]
    head += ["p below 0.5 in the tenth of lowest test error", "of lowest control error", "in all"]
    return table(head, rows)


# --- CIFAR-10.1 --------------------------------------------------------------------------------------


def with_pictures(p: float, n: int, other: int) -> float:
    """p by (8) with `other` pictures instead of n, mean and spread of T the same: ln(p / 3) is proportional to n."""
    return min(1.0, 3.0 * (p / 3.0) ** (other / n))


def stands_for(p: float, n: int, sd: float) -> float:
    """The mean T, above 0 or below, of which p by (8) is that of n pictures, with v1's U: how far from 0."""
    lower, upper = published.RANGE
    return bernstein_bound(n, sd, log_delta=math.log(p), width=upper - lower)


def tilted(hard: np.ndarray, error: np.ndarray, factor: float) -> np.ndarray:
    """Weights of pictures, the larger the harder, with which the mean error is so many times as high."""

    def weights(slope: float) -> np.ndarray:
        w = np.exp(slope * (hard - hard.max()))
        return w / w.sum()

    return weights(brentq(lambda slope: weights(slope) @ error - factor * error.mean(), 0.0, 100.0))


def small_sets(networks: Any, name: str) -> str:
    """Is p on the control, with as few pictures as CIFAR-10.1 has, v1's? By number of networks, and by difficulty."""
    n, small = len(networks.groups[name]), published.N_NEW
    whole = networks.average(name)
    T, error = whole["control/T"], whole["control/error"]
    if len(T) <= small:
        return ""
    each = [m["control/T"] for m in networks.each(name)]
    hard = difficulty(networks, name)["control"]
    tried = [(f"any {small:,}", size, averages(each, size), None) for size in (50, 125, n) if size <= n]
    for factor in (1.5, published.HARDER):
        weights = tilted(hard, error, factor)
        tried.append((f"{small:,}, harder ones likelier", n, [T], weights))
    rows = []
    for what, size, of, weights in tried:
        drawn = list(subsets(of, small, weights=weights))
        p = np.array([p_by_v1(t) for t, _ in drawn])
        rows.append([f"control, {what}", str(size), f"{100 * np.mean([error[w].mean() for _, w in drawn]):.1f}",
                     f"{np.mean([t.mean() for t, _ in drawn]):+.5f}", f"{p.mean():.3f}", f"{100 * np.mean(p == 1):.0f}",
                     f"{100 * np.mean(p <= published.NEW_P_ALL):.0f}"])  # fmt: skip
    rows.append([f"v1, CIFAR-10.1, all {small:,}", str(published.N), "", "", f"{published.NEW_P_ALL:.3f}", "", ""])
    head = ["pictures", "N", "error, %", "mean T", "mean p, v1's U", "p = 1, % of subsets"]
    head += [f"p at most {published.NEW_P_ALL:.3f}, %"]
    as_many = with_pictures(published.NEW_P_ALL, small, len(T))
    needed = stands_for(published.NEW_P_ALL, small, float(T.std()))
    text = (
        "By (8), at a given mean and spread of T, ln(p/3) is proportional to the number of pictures. v1's "
        f"{published.NEW_P_ALL} of CIFAR-10.1's {small:,} pictures would be {as_many:.2g} with {len(T):,}, below v1's "
        f"own {published.P_ALL} of the test set: picture for picture CIFAR-10.1 speaks *more* against independence "
        "than the test set does, though no model was fitted to it. With the spread that T has on our control, "
        f"{published.NEW_P_ALL} stands for a mean T of {needed:.5f} in size, above 0 or below; the control has "
        f"{T.mean():+.5f}, and {small:,} pictures of it a standard error of {T.std() / small**0.5:.5f}. "
        "The number of networks is not why our p is higher, and subsets with more of the hard pictures have a higher "
        "one: T falls where most networks are wrong."
    )
    return f"{text}\n\n{table(head, rows)}"
