"""The headline checked: other generators, radii, starts, frames, near-duplicates left out; models compared (5.3.3)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import store
from evidence import z_of
from store import statistics

from experiments.pages import table
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import RULES, Translations
from heldout.statistics import independence_test

SIMILARITY = {"VGG-like": (32.5, 3.33, 327, 66.9, 219), "WideResNet-28-10": (31.78, 2.48, 240, 71.61, 172)}  # v1 5.3.3
START = 3  # pixels, at most: with radius 1 all that is needed is on the maps
N_STRATA = 5  # of pictures that some network gets wrong
PARTS = ("test", "control")
LIKE = (0.9, 0.8)  # correlation with another picture from which a picture is left out
MOST = (0.01, 0.05, 0.1, 0.25, 0.5)  # of test and control pictures, those that networks find most like a training one
COUNTED = (0.8, 0.85, 0.9, 0.95, 0.99)


def difference(test: np.ndarray, control: np.ndarray, y: np.ndarray, y_control: np.ndarray) -> tuple[float, float]:
    """Test minus control within class, and its standard error with one spread for all classes.

    Pictures of a class that the other part lacks are left out.
    """
    classes = np.intersect1d(y, y_control)
    n = np.array([(y == c).sum() for c in classes], float)
    m = np.array([(y_control == c).sum() for c in classes], float)
    weights = n * m / (n + m)
    weights /= weights.sum()
    means = np.array([test[y == c].mean() - control[y_control == c].mean() for c in classes])
    spread = sum(((test[y == c] - test[y == c].mean()) ** 2).sum() for c in classes) / (n.sum() - len(classes))
    other = sum(((v := control[y_control == c]) - v.mean()) @ (v - v.mean()) for c in classes)
    other /= m.sum() - len(classes)
    return float(weights @ means), float(np.sqrt(spread * (weights**2 / n).sum() + other * (weights**2 / m).sum()))


def interval(d: float, se: float, digits: int = 5) -> str:
    return f"{d:+.{digits}f} ({d - 1.96 * se:+.{digits}f} to {d + 1.96 * se:+.{digits}f})"


# --- other generators, radii and starts --------------------------------------------------------------


def from_ranks(ranks: np.ndarray, radius: int, rule: str, starts: np.ndarray | None) -> np.ndarray:
    """T of every picture from its map; most maps have no wrong point at all."""
    T = np.zeros(len(ranks))
    some = np.flatnonzero(ranks.any(axis=(1, 2)))
    maps = ranks[some].astype(np.float64)
    if starts is not None:
        reach = ranks.shape[1] // 2 - START
        steps = np.arange(2 * reach + 1)
        top, left = (starts[some] + START).T
        each = np.arange(len(some))[:, None, None]
        maps = maps[each, (top[:, None] + steps)[:, :, None], (left[:, None] + steps)[:, None]]
    if len(some):
        T[some] = score_map_statistics(maps, radius=radius, rule=rule)
    return T


@functools.cache
def by_generator(folder: Path) -> tuple[int, dict[tuple[str, int, bool], dict[str, list[np.ndarray]]]]:
    """Networks whose whole maps are kept, and T of each by rule, radius and start, and by part."""
    found: dict[tuple[str, int, bool], dict[str, list[np.ndarray]]] = {}
    count = 0
    for model in store.models(folder):
        if "test_ranks" not in model:
            continue
        count += 1
        parts = {p: model[f"{p}_ranks"] for p in ("test", "control")}
        parts["train"] = np.concatenate([model[f"{p}_ranks"] for p in ("train", "rest") if f"{p}_ranks" in model])
        for number, (part, ranks) in enumerate(parts.items()):
            # of all networks the same
            drawn = np.random.default_rng(number).integers(-START, START + 1, (len(ranks), 2))
            for rule in RULES:
                for radius, aside in ((2, False), (1, False), (1, True)):
                    T = from_ranks(ranks, radius, rule, drawn if aside else None)
                    found.setdefault((rule, radius, aside), {}).setdefault(part, []).append(T)
    return count, found


def over_starts(ranks: np.ndarray, radius: int, rule: str) -> np.ndarray:
    """T of every picture, the mean over all starts.

    Were the starts closed under moves, it would be 0 for every map: with a start drawn uniformly from them (G3) holds
    exactly, whatever the network has seen.
    """
    steps = range(-START, START + 1)
    all_T = [from_ranks(ranks, radius, rule, np.tile([a, b], (len(ranks), 1))) for a in steps for b in steps]
    return np.mean(all_T, axis=0)


@functools.cache
def at_every_start(folder: Path) -> dict[str, np.ndarray]:
    """T by `strongest`, radius 1, averaged over starts and over the networks whose whole maps are kept."""
    found: dict[str, list[np.ndarray]] = {}
    for model in store.models(folder):
        for part in ("test", "control"):
            if f"{part}_ranks" in model:
                found.setdefault(part, []).append(over_starts(model[f"{part}_ranks"], 1, "strongest"))
    return {part: np.mean(T, axis=0) for part, T in found.items()}


def single_p(T: list[np.ndarray], rule: str, radius: int) -> float:
    """Mean of the Bernstein p of single networks."""
    lower, upper = Translations(radius).statistic_range(rule)
    return float(np.mean([independence_test(t, lower=lower, upper=upper, method="bernstein").p_value for t in T]))


def generators(folder: Path, labels: dict[str, np.ndarray]) -> str:
    """Mean T and p of the networks whose whole maps are kept."""
    count, found = by_generator(folder)
    rows = []
    for (rule, radius, aside), by_part in found.items():
        T = {p: np.mean(t, axis=0) for p, t in by_part.items()}
        d, se = difference(T["test"], T["control"], labels["test"], labels["control"])
        cells = []
        for part, each in by_part.items():
            p = single_p(each, rule, radius)
            cells.append(f"{T[part].mean():+.5f} (z {z_of(T[part]):.1f}), p {p:.3f}")
        start = f"up to {START} pixels off" if aside else "centre"
        rows.append([rule, str(radius), start, *cells, interval(d, se), f"{d / se:+.1f}"])
    head = ["rule", "radius", "start", "test", "control", "training pictures", "test minus control (95 %)", "z"]
    if not rows:
        return ""
    text = f"{count} networks: mean T, and the mean of the Bernstein p of single networks."
    told = ", ".join(f"{part} {T.mean():+.5f} (z {z_of(T):.1f})" for part, T in at_every_start(folder).items())
    starts = (
        "Starts off the centre cannot tell what lifts T: over starts drawn from a set that is closed under moves, the "
        "mean of T is 0 for any network and any picture, seen or not. Ours are not closed, since a move can lead over "
        f"their edge. Mean T by `strongest` with radius 1 over all {(2 * START + 1) ** 2} starts up to {START} pixels "
        f"off: {told}. That is the edge, and all that T of random starts shows here."
    )
    return f"{text}\n\n{table(head, rows)}\n\n{starts}"


# --- frames ------------------------------------------------------------------------------------------


def frames(folder: Path, labels: dict[str, np.ndarray]) -> str:
    """Networks trained on the original pictures, moved within a frame of black, of the edge, or mirrored."""
    found: dict[tuple[str, str], dict[str, list[np.ndarray]]] = {}
    for model in store.models(folder):
        if "test_codes_edge" in model:
            for frame in ("black", "edge", "mirror"):
                for part in ("test", "control"):
                    codes = model[f"{part}_codes" + ("" if frame == "black" else f"_{frame}")]
                    name = model.key.split("/")[0]
                    found.setdefault((name, frame), {}).setdefault(part, []).append(statistics(codes))
    rows = []
    for (name, frame), by_part in found.items():
        T = {p: np.mean(t, axis=0) for p, t in by_part.items()}
        cells = [f"{t.mean():+.5f} (z {z_of(t):.1f})" for t in T.values()]
        d, se = difference(T["test"], T["control"], labels["test"], labels["control"])
        rows.append([name, str(len(by_part["test"])), frame, *cells, interval(d, se), f"{d / se:+.1f}"])
    head = ["networks", "number", "frame", "mean T, test", "control", "test minus control (95 %)", "z"]
    return table(head, rows) if rows else ""


# --- near-duplicates ---------------------------------------------------------------------------------


def in_pixels(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Correlation of test and control pictures with the training picture most like them, and with that of the other
    set (near.py)."""
    with np.load(folder / "near.npz") as f:
        training, other = ({p: f[p + key].astype(np.float64) for p in PARTS} for key in ("_like", "_other_like"))
    return training, other


@functools.cache
def to_networks(folder: Path) -> tuple[int, dict[str, np.ndarray]]:
    """How many networks have it kept, and the cosine of test and control pictures with the training picture that is
    most like them to a network, mean over these."""
    found: dict[str, list[np.ndarray]] = {}
    for model in store.models(folder):
        for part in PARTS:
            if f"{part}_near" in model:
                found.setdefault(part, []).append(model[f"{part}_near"].astype(np.float64))
    return len(found.get("test", ())), {part: np.mean(like, axis=0) for part, like in found.items()}


def nearby(folder: Path) -> dict[tuple[str, float], dict[str, np.ndarray]]:
    """Which test and control pictures to leave out.

    `training`: correlated above so much with a training picture; `any`: with that or with one of the other set;
    `networks`: so large a part of both sets, those that networks find most like a training picture.
    """
    training, other = in_pixels(folder)
    both = {p: np.maximum(training[p], other[p]) for p in PARTS}
    found = {
        (among, r): {p: v > r for p, v in like.items()}
        for among, like in (("training", training), ("any", both))
        for r in LIKE
    }
    count, cosine = to_networks(folder)
    for share in MOST if count else ():
        most = np.quantile(np.concatenate(list(cosine.values())), 1 - share)
        found["networks", share] = {p: v > most for p, v in cosine.items()}
    return found


def without(
    out: dict[str, np.ndarray], labels: dict[str, np.ndarray], of: dict[str, np.ndarray], what: str = "T"
) -> tuple[float, float]:
    """Test minus control without these pictures, and its standard error."""
    return difference(*(of[f"{p}/{what}"][~out[p]] for p in PARTS), *(labels[p][~out[p]] for p in PARTS))


def without_near(folder: Path, labels: dict[str, np.ndarray], averages: dict[str, dict[str, np.ndarray]]) -> str:
    """How many pictures are like another, and T and error, test minus control, without them."""
    if not (folder / "near.npz").exists():
        return ""
    training, other = in_pixels(folder)
    counts = [
        [part, among, *(f"{(like[part] > r).sum():,}" for r in COUNTED)]
        for part, others in (("test", "control"), ("control", "test"))
        for among, like in (("training", training), (others, other))
    ]
    among = {"training": "with a training picture", "any": "with a training picture or one of the other set"}
    tried = [("none", {p: np.zeros(len(labels[p]), bool) for p in PARTS})]
    for (kind, much), out in nearby(folder).items():
        part = f"the {100 * much:g} % most like a training picture to networks"
        tried.append((f"correlation above {much:g} {among[kind]}" if kind in among else part, out))
    rows = []
    for name, of in averages.items():
        for what, out in tried:
            T, e = (without(out, labels, of, v) for v in ("T", "error"))
            number = " and ".join(f"{v.sum():,}" for v in out.values())
            rows.append([name, what, number, interval(*T), interval(100 * e[0], 100 * e[1], 2)])
    head = ["networks", "left out", "test and control pictures", "T: test minus control (95 %)", "error, points (95 %)"]
    text = (
        "Pictures by their highest correlation with one of another part, or with its mirror image, pixel by pixel "
        f"(near.py), and without them. To networks: by the mean cosine of {to_networks(folder)[0]} networks' features, "
        "with training pictures only; so many of test and control together."
    )
    counted = table(["pictures of", "among", *(f"above {r:g}" for r in COUNTED)], counts)
    return f"{text}\n\n{counted}\n\n{table(head, rows)}"


# --- pictures as hard ---------------------------------------------------------------------------------


def difficulty(networks: Any, name: str) -> dict[str, np.ndarray]:
    """How often the honest networks of every other setting get a picture wrong, each setting counting once."""
    others = [n for n in networks.groups if n.endswith("-leak0") and n != name]
    each = [networks.average(n) for n in others]
    return {p: np.mean([of[f"{p}/error"] for of in each], axis=0) for p in ("test", "control")}


def strata(hard: dict[str, np.ndarray], count: int = N_STRATA) -> dict[str, np.ndarray]:
    """0 for pictures that nobody gets wrong, the others in `count` parts of one size over both sets."""
    both = np.concatenate(list(hard.values()))
    edges = np.quantile(both[both > 0], np.arange(1, count) / count)
    return {p: np.where(h > 0, 1 + np.searchsorted(edges, h, side="right"), 0) for p, h in hard.items()}


def by_difficulty(networks: Any, name: str) -> dict[str, np.ndarray]:
    """Class and stratum of every picture, as one number."""
    among = strata(difficulty(networks, name))
    return {p: (N_STRATA + 1) * y.astype(int) + among[p] for p, y in networks.labels().items()}


def as_hard(networks: Any, averages: dict[str, dict[str, np.ndarray]]) -> str:
    """T and error, test minus control, among pictures of one class that networks of other settings find as hard."""
    if len({n for n in networks.groups if n.endswith("-leak0")}) < 2:
        return ""
    labels = networks.labels()
    rows = []
    for name, of in averages.items():
        for what, y in (("of one class", labels), ("of one class and as hard", by_difficulty(networks, name))):
            T, e = (difference(*(of[f"{p}/{v}"] for p in y), *y.values()) for v in ("T", "error"))
            rows.append([name, what, interval(*T), interval(100 * e[0], 100 * e[1], 2)])
    head = ["networks", "pictures compared", "T: test minus control (95 %)", "error, points (95 %)"]
    return table(head, rows)


# --- models of original and rescaled pictures --------------------------------------------------------


def alike(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> tuple[float, float, int, float, int]:
    """J_b, J_bi, number of examples that both get wrong, share and number of these with the same answer (v1 5.3.3)."""
    wrong, other = a != y, b != y
    both = wrong & other
    p, q = wrong.mean(), other.mean()
    same = int((a == b)[both].sum())
    # by chance p q of the examples are wrong in both and p + q - p q in either
    return both.sum() / (wrong | other).sum(), p * q / (p + q - p * q), int(both.sum()), same / both.sum(), same


def similarity(folder: Path, labels: dict[str, np.ndarray]) -> str:
    answers: dict[str, list[dict[str, np.ndarray]]] = {}
    for model in store.models(folder):
        name = model.key.split("/")[0]
        if name.endswith("-leak0"):
            answers.setdefault(name, []).append({p: model[f"{p}_predictions"] for p in ("test", "control")})
    rows = []
    for own in (n for n in answers if "-original-" in n):
        rescaled = own.replace("-original-", "-shift-")
        for other in (rescaled, own):
            for part in ("test", "control"):
                mine, theirs = ([m[part] for m in answers.get(name, [])] for name in (own, other))
                pairs = [(a, b) for i, a in enumerate(mine) for j, b in enumerate(theirs) if other != own or i < j]
                if pairs:
                    j, chance, both, share, same = np.array([alike(a, b, labels[part]) for a, b in pairs]).T
                    means = 100 * j.mean(), 100 * chance.mean(), np.median(both), 100 * share.mean(), np.median(same)
                    rows.append([f"{own} and {other}", part, str(len(pairs)), *cells(*means)])
    if not rows:
        return ""
    rows += [[f"v1, {name}", "test", "", *cells(*values)] for name, values in SIMILARITY.items()]
    head = ["models", "pictures", "pairs", "J_b, %", "J_bi, %", "M_b (median)", "L, %", "M_l (median)"]
    return table(head, rows)


def cells(j: float, chance: float, both: float, share: float, same: float) -> list[str]:
    return [f"{j:.1f}", f"{chance:.2f}", f"{both:g}", f"{share:.1f}", f"{same:g}"]
