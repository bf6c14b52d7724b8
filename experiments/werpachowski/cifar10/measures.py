"""Numbers of the tables: errors, T and p of the networks of a setting, those of v1 5.3, and what a leak does to T."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import published
from against import GROUPS, correlations, groups
from checks import PARTS, by_difficulty, by_generator, difference, single_p
from evidence import N_SUBSETS, averages, p_by_v1, p_of, subsets
from kept import MAIN, Networks
from scipy.stats import norm

from heldout.statistics import ControlTestResult, control_test

SIZES = (1_000, 2_000, 5_000)


# --- of one setting ----------------------------------------------------------------------------------


def as_trained(networks: Networks, name: str) -> tuple[float, float]:
    """Error in the last epoch, per cent, and seconds, mean over networks."""
    records = networks.records[name].values()
    error = 100 * np.mean([1 - r["last_epoch_accuracy"] for r in records])
    return float(error), float(np.mean([r["training_seconds"] for r in records]))


def average_T(networks: Networks, name: str) -> dict[str, np.ndarray]:
    """Of all networks, picture by picture, where it is kept: test, control, training pictures."""
    of = networks.average(name)
    return {p: of[f"{p}/T"] for p in (*PARTS, "train") if f"{p}/T" in of}


def test_minus_control(networks: Networks, name: str) -> tuple[float, float]:
    """Of T averaged, within class, and its standard error."""
    of = networks.average(name)
    return difference(*(of[f"{p}/T"] for p in PARTS), *networks.labels().values())


def least_found(se: float) -> float:
    """The difference that is found two-sided at 0.05 with power 0.8."""
    return (norm.isf(0.025) + norm.isf(0.2)) * se


def by_permutation(networks: Networks, T: Sequence[np.ndarray], **options: str) -> ControlTestResult:
    """Test minus control once more, within class."""
    classes = {f"classes_{p}": y for p, y in networks.labels().items()}
    return control_test(*T, **classes, **options, rng=np.random.default_rng(0), n_resamples=1999)


@dataclass(frozen=True, kw_only=True)
class PValues:
    """Of averages of `size` networks: by method the mean of p, its median, and the share below 0.05."""

    size: int
    part: str  # test, control, train; all: whole training sets
    pictures: int
    count: int
    by: dict[str, tuple[float, float, float]]


def p_values(networks: Networks, name: str) -> Iterator[PValues]:
    """Bernstein and betting for single networks and for averages of N: test, control, training pictures."""
    of = networks.each(name)
    for size in groups(len(of)):
        for part in (*PARTS, "train", "all"):
            T = averages([m[f"{part}/T"] for m in of if f"{part}/T" in m], size)
            if not T or (part == "all" and size > 1):
                continue
            by = {}
            for method in ("bernstein", "betting"):
                p = np.array([p_of(t, method) for t in T])
                by[method] = p.mean(), np.median(p), np.mean(p <= 0.05)
            yield PValues(size=size, part=part, pictures=len(T[0]), count=len(T), by=by)


def p_by_size(T: np.ndarray) -> list[tuple[float, float]]:
    """Of random subsets of SIZES pictures: the mean of p, and half of its 95 % interval."""
    rng, found = np.random.default_rng(0), []
    for size in (n for n in SIZES if n < len(T)):
        p = [p_of(rng.permutation(T)[:size], "bernstein") for _ in range(N_SUBSETS)]
        found.append((np.mean(p), 1.96 * np.std(p, ddof=1) / N_SUBSETS**0.5))
    return found


def of_more_pictures(networks: Networks) -> tuple[int, int, float] | None:
    """How many networks of MAIN were trained on all test pictures as well, on how many more, and points less on the
    control: what it costs to leave the control out. None where there are none."""
    n = len(networks.split["test_labels"])
    name = f"{MAIN}-leak{n}"
    if name not in networks.groups:
        return None
    more, honest = (100 * networks.errors(of)["control"].mean() for of in (name, f"{MAIN}-leak0"))
    return len(networks.groups[name]), n, honest - more


# --- what v1 prints ----------------------------------------------------------------------------------


def of_v1(networks: Networks, name: str) -> dict[str, dict[str, float]]:
    """What v1 5.3 says of its networks, of these: by test set and control. U is v1's where nothing else is said."""
    each = {p: [m[f"{p}/T"] for m in networks.each(name)] for p in PARTS}
    theirs = {p: np.array([p_by_v1(t) for t in of_part]) for p, of_part in each.items()}
    T, error = average_T(networks, name), networks.errors(name)
    return {
        "error": {p: 100 * error[p].mean() for p in PARTS},
        "mean p": {p: theirs[p].mean() for p in PARTS},
        "median p": {p: np.median(theirs[p]) for p in PARTS},
        "p = 1": {p: 100 * np.mean(theirs[p] == 1) for p in PARTS},
        "p of all": {p: p_by_v1(T[p]) for p in PARTS},
        "p of all, tight U": {p: p_of(T[p]) for p in PARTS},
        "p of all, betting": {p: p_of(T[p], "betting") for p in PARTS},
        "mean p, betting": {p: np.mean([p_of(t, "betting") for t in each[p]]) for p in PARTS},
        "mean T": {p: T[p].mean() for p in PARTS},
    }


def as_few(networks: Networks, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """p by v1's U of subsets of the control that are as small as CIFAR-10.1: single networks, and all averaged."""
    T = networks.average(name)["control/T"]
    if len(T) <= published.N_NEW:
        return None
    both = [m["control/T"] for m in networks.each(name)], [T]
    return tuple(np.array([p_by_v1(t) for t, _ in subsets(of, published.N_NEW)]) for of in both)


def p_on_training(networks: Networks, name: str, p: Callable[[np.ndarray], float]) -> tuple[int, float] | None:
    """How many pictures whole training sets have, and the mean of p there, of the networks whose T there is kept."""
    T = [m["all/T"] for m in networks.each(name) if "all/T" in m]
    return (len(T[0]), float(np.mean([p(t) for t in T]))) if T else None


def with_errors(networks: Networks, name: str) -> dict[str, tuple[float, float]]:
    """Correlation of p by v1's U, per cent, with the error on the same pictures and with that on training pictures."""
    error, found = networks.errors(name), {}
    for part in PARTS:
        p = np.array([p_by_v1(m[f"{part}/T"]) for m in networks.each(name)])
        found[part] = tuple(correlations(p, [error[part], error["train"]]))
    return found


def among_as_hard(networks: Networks, name: str) -> tuple[float, float] | None:
    """Test minus control among pictures that networks of other settings find as hard; None where there are none."""
    if len({n for n in networks.groups if n.endswith("-leak0")}) < 2:
        return None
    of = networks.average(name)
    return difference(*(of[f"{p}/T"] for p in PARTS), *by_difficulty(networks, name).values())


def by_number(networks: Networks, name: str) -> dict[int, float]:
    """Mean p on the test set by the number of networks averaged."""
    T = [m["test/T"] for m in networks.each(name)]
    sizes = [g for g in groups(len(T)) if g in GROUPS]
    return {size: float(np.mean([p_of(t) for t in averages(T, size)])) for size in sizes}


def generators_on_training(folder: Path) -> tuple[int, dict[str, float]]:
    """How many networks have whole maps of whole training sets, and by every rule the mean of their p there."""
    by_rule = {
        rule: T["train"] for (rule, radius, aside), T in by_generator(folder)[1].items() if radius == 2 and not aside
    }
    return max(map(len, by_rule.values()), default=0), {rule: single_p(T, rule, 2) for rule, T in by_rule.items()}


# --- test pictures in training -----------------------------------------------------------------------


def leaked(networks: Networks) -> list[str]:
    """The settings of MAIN with test pictures in training, few of them first."""
    return [n for n in networks.of(MAIN) if networks.leak(n)]


def points(networks: Networks, name: str) -> float:
    """Of test error, above that of MAIN's honest networks."""
    error, honest = (networks.average(n)["test/error"].mean() for n in (name, f"{MAIN}-leak0"))
    return 100 * (error - honest)


def p_of_leak(networks: Networks, name: str) -> list[float]:
    """By permutation, one-sided: of T averaged, and of T less that of MAIN's honest networks."""
    of, honest = networks.average(name), networks.average(f"{MAIN}-leak0")
    both = [of[f"{p}/T"] for p in PARTS], [of[f"{p}/T"] - honest[f"{p}/T"] for p in PARTS]
    return [by_permutation(networks, T, alternative="greater").p_greater for T in both]
