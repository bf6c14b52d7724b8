"""Simulated multiple-choice benchmarks: what a model says to every order, and which order is printed.

What the model says is drawn first, for a frame of orders that knows nothing of print; then one order of each item is
printed, its position of the right answer by a law of positions, the rest at random; last the orders to be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

SKEWED = (0.22, 0.24, 0.29, 0.25)  # printed positions of MMLU
BIAS = (0.0, -0.3, -1.2, 0.4)  # logits that the answer's position adds to being wrong; a model that likes C

# No model here knows the printed orders.
LEVELS = {
    "24 orders, no bias, uniform positions": {},
    "24 orders, bias, uniform positions": {"bias": True},
    "24 orders, no bias, skewed positions": {"skewed": True},
    "24 orders, bias, skewed positions": {"bias": True, "skewed": True},
    "the same, numbers left out": {"bias": True, "skewed": True, "numbers": "left out"},
    "the same, answers vary from draw to draw": {"bias": True, "skewed": True, "varying": True},
}
# The same with other sets of orders, and with two sources.
OTHER_ORDERS = {
    "cyclic shifts, bias, skewed positions": {"bias": True, "skewed": True, "orders": "cyclic"},
    "8 drawn orders, bias, uniform positions": {"bias": True, "orders": 8},
    "8 drawn orders, bias, skewed positions": {"bias": True, "skewed": True, "orders": 8},
    "1 drawn order, bias, skewed positions": {"bias": True, "skewed": True, "orders": 1},
    "3 to 5 options, 8 drawn orders, bias, skewed": {"bias": True, "skewed": True, "orders": 8, "mixed": True},
    "two sources with places of their own, as strata": {"sources": "strata", "n": 500},
    "the same, 8 drawn orders": {"sources": "strata", "orders": 8, "n": 500},
}
# Ways that are not valid, and why the verb does not go them.
WRONG_WAYS = {
    "24 orders, bias, skewed positions, 2,000 items": {"bias": True, "skewed": True, "n": 2000},
    "numbers, printed in rising order, left in": {"numbers": "left in", "n": 1000},
    "of the numbers only those that rise left out": {"numbers": "rising left out", "n": 1000},
    "one list of 8 orders for all items": {"bias": True, "skewed": True, "orders": 8, "one_list": True, "n": 1000},
    "two sources with places of their own, as one": {"sources": "one", "n": 500},
    "the same as one, skewed as MMLU's authors are": {"sources": "one", "skewed": True, "n": 500},
    "one list of options, in one order for all items": {"classes": True, "n": 500},
}


@dataclass(frozen=True)
class Benchmark:
    """Flat arrays, the printed order of each item first."""

    starts: np.ndarray  # (n + 1,)
    positions: np.ndarray  # (m,) of the right answer
    wrong: np.ndarray  # (m,) bool
    scores: np.ndarray  # (m,) log-odds of the right answer
    strata: np.ndarray  # (n,) number of options, or the source


@cache
def frame(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All orders of k options, the right answer being option 0: its position in each, the cyclic shifts of each order,
    and where each order leads when its places are rearranged by each."""
    every = np.array(list(permutations(range(k))))
    place = {tuple(order): i for i, order in enumerate(every.tolist())}
    shifts = np.array([[place[tuple(np.roll(order, s).tolist())] for s in range(k)] for order in every])
    leads = np.array([[place[tuple(order[list(other)].tolist())] for other in every] for order in every])
    return np.argmax(every == 0, axis=1), shifts, leads


def benchmark(
    rng: np.random.Generator, *, n: int = 200, mixed: bool = False, sources: str = "", **more: Any
) -> Benchmark:
    """One benchmark of n items (before any is left out) with 4 options, or with 3, 4 or 5.

    `sources`: half of the items are harder, answered by habit, and have their answers at places of their own: always at
    the model's favourite one, or `skewed`; the rest have them anywhere. "strata" tells them apart, "one" does not.
    """
    if sources:
        law = SKEWED if more.pop("skewed", False) else (0.0, 0.0, 1.0, 0.0)
        two = [items(rng, 4, n // 2, bias=True, law=law, harder=2.0, **more), items(rng, 4, n - n // 2, **more)]
        codes = np.repeat([0, 1] if sources == "strata" else [0, 0], [n // 2, n - n // 2])
        at, wrong, score = (np.concatenate([part[j] for part in two]) for j in range(3))
        return Benchmark(np.arange(n + 1) * at.shape[1], at.ravel(), wrong.ravel(), score.ravel(), codes)
    counts = {4: n} if not mixed else dict(zip((3, 4, 5), rng.multinomial(n, [1 / 3] * 3).tolist(), strict=True))
    parts = [(k, *items(rng, k, count, **more)) for k, count in counts.items()]
    sizes = np.concatenate([np.full(len(at), at.shape[1]) for _, at, _, _ in parts])
    flat = [np.concatenate([part[j].ravel() for part in parts]) for j in (1, 2, 3)]
    strata = np.concatenate([np.full(len(at), k) for k, at, _, _ in parts])
    return Benchmark(np.concatenate([[0], np.cumsum(sizes)]), *flat, strata)


def items(
    rng: np.random.Generator,
    k: int,
    n: int,
    *,
    orders: str | int = "all",
    bias: bool = False,
    skewed: bool = False,
    law: tuple[float, ...] | None = None,
    harder: float = 0.0,
    varying: bool = False,
    numbers: str = "",
    one_list: bool = False,
    classes: bool = False,
    memorised: float = 0.0,
    letters: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, orders) positions of the answer, whether the model is wrong, and its score; the printed order first.

    Parameters
    ----------
    orders
        "all", "cyclic", or how many are drawn beside the printed one.
    bias, skewed
        The model prefers letters, on each item in its own way; authors prefer positions.
    law, harder
        Law of positions, and what is added to the logits of being wrong.
    varying
        An answer is drawn when it is asked for; else an order has one answer.
    numbers
        Three items out of ten have numbers as options, and models do better where these rise. "left out": such items
        are printed so, and left out, as their set of options says. "left in": the same without leaving out. "rising
        left out": they are printed in any order, and those that rise in print are left out.
    one_list
        All items are asked in the same rearrangements of print.
    classes
        The options of all items are the same k classes, printed in one order that is drawn once; some classes are
        harder than others, and the model has places that it likes with each class.
    memorised
        Share of the items that are right as printed, and else in 40 % of the orders.
    letters
        What is memorised is the letter, which is given in any order: right where the answer stands as printed, and
        wrong elsewhere.
    """
    at, shifts, leads = frame(k)
    size, each = len(at), np.arange(n)[:, None]
    share = rng.random(n)  # of the orders that are wrong, where there is no bias
    known = rng.random(n) < memorised
    share[known] = 0.6
    excess = harder + np.log(share / (1 - share))[:, None] + rng.logistic(size=(n, size))
    if bias:
        excess += np.array(BIAS)[at % 4] + rng.normal(size=(n, k))[:, at]
    preferred = np.array(law) if law else np.array(SKEWED)[np.arange(k) % 4] if skewed else np.ones(k)
    where = rng.choice(k, n, p=preferred / preferred.sum())
    if classes:
        right = rng.integers(0, k, n)
        excess += rng.normal(size=(k, 1))[right] + rng.normal(size=(k, k))[right][:, at]
        where = rng.permutation(k)[right]
    printed = np.argsort(at, kind="stable").reshape(k, -1)[where, rng.integers(0, size // k, n)]
    keep = np.ones(n, dtype=bool)
    if numbers:
        are, rising = rng.random(n) < 0.3, rng.integers(0, size, n)
        excess[each, rising[:, None]] -= 2.0 * are[:, None]
        if numbers == "rising left out":
            keep = ~(are & (printed == rising))
        else:
            printed = np.where(are, rising, printed)
            keep = ~are | (numbers == "left in")
    if memorised:
        same = at == at[printed][:, None] if letters else np.arange(size) == printed[:, None]
        sure = 3.0 + rng.random((n, size))
        excess = np.where(known[:, None] & same, -sure, excess)
        if letters:
            excess = np.where(known[:, None] & ~same, sure, excess)
    if orders == "all":
        asked = np.argsort(np.arange(size) != printed[:, None], axis=1, kind="stable")
    elif orders == "cyclic":
        asked = shifts[printed]
    elif one_list:
        asked = np.column_stack([printed, leads[printed][:, 1 + rng.permutation(size - 1)[: int(orders)]]])
    else:
        first = rng.random((n, size))
        first[each, printed[:, None]] = -1.0
        asked = np.argsort(first, axis=1)[:, : 1 + int(orders)]
    asked = asked[keep]
    excess = np.take_along_axis(excess[keep], asked, axis=1)
    if varying:
        excess = excess + rng.logistic(size=excess.shape)
    return at[asked], excess > 0, -excess
