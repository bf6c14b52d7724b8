"""What audits of many networks come to: shares found, alarms, draws of references, mean z, lists of seen pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from experiments.leaks.audits import SIDES
from experiments.leaks.networks import PARTS, Network, Networks
from heldout.statistics import LeakScores, control_test, leak_scores
from heldout.statistics.leak import MARGIN_CLIP, leak_test_of
from heldout.statistics.seen import seen_examples

LEVELS = (0.05, 0.001)


# --- from the p-values and z of audits ---------------------------------------------------------------


def leaks_of(networks: Networks, family: str, found: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    audited: dict[int, list[dict[str, Any]]] = {}
    for network in networks.of(family):
        if network.key in found:
            audited.setdefault(network.leak, []).append(found[network.key])
    return audited


def share(audited: list[dict[str, Any]], look: str, level: float, side: str = "greater") -> float:
    """Of networks found."""
    p = np.array([a["p"][look][SIDES.index(side)] for a in audited if look in a["p"]])
    return float(np.mean(p <= level)) if len(p) else math.nan


def alarms(honest: list[dict[str, Any]], look: str) -> list[int]:
    """At the first level, one- and two-sided; nothing where this was not tried."""
    return [round(len(honest) * share(honest, look, LEVELS[0], side)) for side in SIDES if look in honest[0]["p"]]


def most_alarms(count: int) -> int:
    """That so many honest networks raise at the first level, but for 5 % of the time."""
    return int(binom.ppf(0.95, count, LEVELS[0]))


def strength(audited: list[dict[str, Any]], look: str) -> list[float]:
    """Mean z, of the mean residual and of the tail statistic; nothing where this was not tried."""
    pairs = [[a["z"][n] for n in (look, f"{look}, with tail") if n in a["z"]] for a in audited if look in a["z"]]
    return list(np.mean(pairs, axis=0)) if pairs else []


def variance_removed(audited: list[dict[str, Any]], look: str) -> float:
    """By references, mean share."""
    removed = [a["variance_removed"][look] for a in audited if look in a["variance_removed"]]
    return float(np.mean(removed)) if removed else math.nan


@dataclass(frozen=True)
class Draws:
    """The verdict with other references: how many of the draws find a network."""

    p: np.ndarray  # (networks, draws), one-sided

    @property
    def count(self) -> int:
        """Draws for every network."""
        return self.p.shape[1]

    @property
    def audits(self) -> int:
        return self.p.size

    @property
    def each(self) -> np.ndarray:
        """(networks,) draws that find it at the first level."""
        return (self.p <= LEVELS[0]).sum(axis=1)

    @property
    def by_every(self) -> int:
        """Networks that every draw finds."""
        return int((self.each == self.count).sum())

    @property
    def share(self) -> float:
        """Of all audits, found at the first level."""
        return float(np.mean(self.p <= LEVELS[0]))

    @property
    def finer(self) -> float:
        """At the second level."""
        return float(np.mean(self.p <= LEVELS[1]))


def over_draws(networks: Networks, draws: dict[str, Any], family: str, leak: int) -> Draws:
    return Draws(np.array([draws[n.key]["p"] for n in networks.of(family, leak) if n.key in draws]))


# --- from margins ------------------------------------------------------------------------------------


def weighed(network: Network, references: list[Network], labels: dict[str, np.ndarray], method: str) -> LeakScores:
    others = np.array([np.concatenate(r.margins) for r in references], dtype=np.float64) if references else None
    classes = np.concatenate([labels[f"classes_{p}"] for p in PARTS])
    scores = np.concatenate(network.margins).astype(np.float64)
    return leak_scores(scores, others, classes=classes, clip=MARGIN_CLIP, method=method)


def z_of(both: LeakScores, labels: dict[str, np.ndarray]) -> tuple[float, float]:
    """Of the mean residual and of the tail statistic."""
    found = leak_test_of(both, len(labels["classes_test"]), **labels, rng=np.random.default_rng(0), n_resamples=1)
    return tuple(t.difference / t.standard_error for t in (found.mean, found.sparse))


def with_references(networks: Networks, family: str, leak: int, count: int) -> tuple[float, float, float] | None:
    """Mean z of the mean residual and of the tail statistic with so many references, and the variance taken off."""
    if len(networks.of(family, 0)) < count:
        return None
    of = networks.of(family, leak)
    drawn = [weighed(n, networks.references(n, count), networks.labels, "regression") for n in of]
    z = np.mean([z_of(both, networks.labels) for both in drawn], axis=0)
    return z[0], z[1], float(np.mean([both.variance_removed for both in drawn]))


def oracle(networks: Networks, family: str, leak: int, fitted_on: tuple[int, ...]) -> tuple[float, float]:
    """Mean z of the tail statistic, and of one that was told how leaked pictures differ.

    The ratio of two histograms, of pictures that were leaked into the other networks with these leaks and of those that
    were not, over what was expected (8 bins) and the residual (22): a likelihood ratio that no audit knows.
    """
    edges = np.linspace(-4.0, 4.0, 21)
    n_cells = 8 * (len(edges) + 1)
    seen_at: dict[str, tuple[np.ndarray, LeakScores]] = {}  # the cell of every picture
    counts: dict[str, np.ndarray] = {}
    for network in (n for of in {leak, *fitted_on} for n in networks.of(family, of)):
        both = weighed(network, networks.references(network), networks.labels, "regression")
        by_expected = np.digitize(both.expected, np.quantile(both.expected, np.arange(1, 8) / 8))
        at = by_expected * (len(edges) + 1) + np.digitize(both.residuals / both.spread, edges)
        seen = np.zeros(len(at), bool)
        seen[network.leaked] = True
        seen_at[network.key] = at, both
        counts[network.key] = np.array([np.bincount(at[s], minlength=n_cells) for s in (~seen, seen)], float)
    z = []
    for network in networks.of(family, leak):
        fitted = 0.5 + sum(c for k, c in counts.items() if k != network.key)
        ratio = (fitted[1] / fitted[1].sum()) / (fitted[0] / fitted[0].sum())
        (at, both), n = seen_at[network.key], len(network.right[0])
        statistic = np.log1p(leak / n * (ratio[at] - 1.0))
        rng = np.random.default_rng(0)
        found = control_test(statistic[:n], statistic[n:], **networks.labels, rng=rng, n_resamples=1)
        z.append((z_of(both, networks.labels)[1], found.difference / found.standard_error))
    return tuple(np.mean(z, axis=0))


def share_found(z: float) -> float:
    """At the first level, about, where z has this mean."""
    return norm.sf(norm.isf(LEVELS[0]) - z)


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Test pictures that look seen; means over all networks."""

    some: int  # networks with a list
    listed: float
    right: float  # of these leaked
    wrong: float  # share listed wrongly, 0 where there is no list


def seen_lists(networks: Networks, family: str, leak: int) -> tuple[int, list[Listed]]:
    """Of how many networks with three references, and their lists: ranked within class, then in all."""
    counts = []
    for network in (n for n in networks.audited(family) if n.leak == leak):
        references = networks.references(network)
        if references:
            ratios = weighed(network, references, networks.labels, "regression").log_ratios
            n = len(network.right[0])
            both = ratios[:n], ratios[n:]
            lists = [seen_examples(*both, **networks.labels, within_class=own).listed for own in (True, None)]
            counts.append([(len(x), int(np.isin(x, network.leaked).sum())) for x in lists])
    found = []
    for listed, right in np.array(counts, float).transpose(1, 2, 0) if counts else ():
        wrong = np.mean((listed - right) / np.maximum(listed, 1.0))
        found.append(Listed(some=int((listed > 0).sum()), listed=listed.mean(), right=right.mean(), wrong=wrong))
    return len(counts), found
