"""Reads the networks of two stores, audits each as heldout does, and writes results/tables.json and results/tables.md.

    PYTHONPATH=src:. python experiments/leaks/tables.py

tables.json has the p-values of every network; one that is there already, with the references that are drawn for it now,
is not audited again. draws.json has the verdict's p with other references, N_DRAWS draws of three for every network,
and is kept in the same way. The tables of README.md are filled, too. No torch is needed. All of it takes 40 minutes on
one core, half a minute if nothing is new.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom, norm

from heldout.files import write_text
from heldout.statistics import LeakScores, control_test, leak_scores, leak_test
from heldout.statistics.leak import MARGIN_CLIP, leak_test_of
from heldout.statistics.seen import Q, seen_examples

HERE = Path(__file__).resolve().parent
STUDY = HERE.parent / "werpachowski" / "cifar10"
sys.path[:0] = [str(STUDY), str(HERE.parents[1])]
import store  # noqa: E402

from experiments.pages import filled  # noqa: E402

STORES = (STUDY / "results", HERE / "results")  # PULL, SHARE and the bins were chosen on the first
RESULTS = HERE / "results"
N_RESAMPLES = 1999  # the smallest p is 0.0005
N_REFERENCES = 3
LEVELS = (0.05, 0.001)
TRIED_OUT = 8  # a family with fewer honest networks was only tried out
MOST_HONEST = 64  # of a family are audited, the first; the others are references only
POOL = 170  # honest networks of a family are drawn from as references, the first: those that come later change no draw
N_DRAWS = 20  # of three references, for the share of draws with which a network is found
FINE = 1_000  # leaked, from which on draws are judged at 0.001 too, for which DRAW_RESAMPLES are too few
DRAW_RESAMPLES = 399  # the smallest p is 0.005: both statistics are tried
LATER = ("vgg-shift-e104",)  # of the first store too, but its leaked networks were trained after the choice
SIDES = ("greater", "two-sided")
LOOKS = (
    "T",
    "error",
    "margin",
    "margin, with tail",
    "margin less 1 reference",
    "margin less 1 reference, with tail",
    "margin less 3 references",
    "margin less 3 references, with tail",
    "margin less mean of 3 references",
    "margin less mean of 3 references, with tail",
    "margin less 3 of another architecture",
    "margin less 3 of another architecture, with tail",
)
VERDICT = "margin less 3 references, with tail"  # heldout's, where references are given
PARTS = ("test", "control")
SHOWN = {  # in README.md
    "vgg-fixed-e23": "no shifts",
    "vgg-shift-e52": "crops",
    "vgg-pad4-e80": "usual shifts",
    "vgg-shift-e104": "crops, twice as long",
}
BRIEFLY = ("T", "error", "margin", "margin less 3 references", VERDICT, "margin less 1 reference, with tail",
           "margin less 3 of another architecture, with tail")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Network:
    """What is kept of a network, test set and control."""

    key: str  # <family>-leak<count>/seed<n>
    first: bool  # of the store on which the constants of the tail statistic were chosen
    T: tuple[np.ndarray, np.ndarray]
    right: tuple[np.ndarray, np.ndarray]
    margins: tuple[np.ndarray, np.ndarray]
    leaked: np.ndarray

    @property
    def family(self) -> str:
        return re.sub(r"-leak\d+/seed\d+$", "", self.key)

    @property
    def leak(self) -> int:
        return len(self.leaked)

    @property
    def seed(self) -> int:
        return int(self.key.rsplit("/seed", 1)[1])

    @property
    def moves(self) -> str:
        """In training: shift, fixed, pad4."""
        return self.family.split("-")[1]


class Networks:
    """All networks of the stores, and who is whose reference."""

    def __init__(self, folders: tuple[Path, ...] = STORES, only: set[str] | None = None) -> None:
        self.all: dict[str, Network] = {}
        self.labels: dict[str, np.ndarray] = {}
        for i, folder in enumerate(folders):
            split = store.split(folder)
            labels = {f"classes_{p}": split[f"{p}_labels"] for p in PARTS} if split else {}
            if self.labels and labels and any(not np.array_equal(self.labels[k], labels[k]) for k in labels):
                raise SystemExit(f"{folder} has other pictures than {folders[0]}.")
            self.labels = self.labels or labels
            for model in store.models(folder):
                if only is None or model.key in only:
                    self.all.setdefault(model.key, self.read(model, i == 0))

    def read(self, model: store.Model, first: bool) -> Network:
        answers = [model[f"{p}_predictions"] == self.labels[f"classes_{p}"] for p in PARTS]
        return Network(
            key=model.key,
            first=first,
            T=tuple(store.statistics(model[f"{p}_codes"]) for p in PARTS),
            right=tuple(answers),
            margins=tuple(model[f"{p}_margins"] for p in PARTS),
            leaked=model["leaked"].astype(np.int64),
        )

    def families(self) -> list[str]:
        """Those that are audited; of the first store first."""
        found = {n.family: not n.first for n in self.all.values() if n.leak}
        return sorted(found, key=lambda f: (found[f], self.tried_out(f), "fixed" in f, f))

    def of(self, family: str, leak: int | None = None) -> list[Network]:
        found = [n for n in self.all.values() if n.family == family and leak in (None, n.leak)]
        return sorted(found, key=lambda n: (n.leak, n.seed))

    def audited(self, family: str) -> list[Network]:
        """All with a leak, and as many honest ones as are enough."""
        return self.of(family, 0)[:MOST_HONEST] + [n for n in self.of(family) if n.leak]

    def tried_out(self, family: str) -> bool:
        return len(self.of(family, 0)) < TRIED_OUT

    def references(self, network: Network, count: int = N_REFERENCES, draw: int | None = None) -> list[Network]:
        """Honest networks of the same family, drawn anew for every network audited, itself left out."""
        others = [n for n in self.of(network.family, 0)[:POOL] if n.key != network.key]
        if len(others) < count:
            return []
        seed = [network.seed, network.leak] if draw is None else [3, network.seed, network.leak, draw]
        drawn = np.random.default_rng(seed).permutation(len(others))[:count]
        return [others[i] for i in drawn]

    def strangers(self, network: Network) -> list[Network]:
        """Honest networks of another architecture, trained with the same moves or, if there are none, with shifts."""
        if network.family.startswith("residual"):
            return []
        other = [n for n in self.all.values() if n.family.startswith("residual") and not n.leak]
        found = [n for n in other if n.moves == network.moves] or [n for n in other if n.moves == "shift"]
        return sorted(found, key=lambda n: n.seed)[:N_REFERENCES]


# --- one network -------------------------------------------------------------------------------------


def weighed(network: Network, references: list[Network], labels: dict[str, np.ndarray], method: str) -> LeakScores:
    others = np.array([np.concatenate(r.margins) for r in references], dtype=np.float64) if references else None
    classes = np.concatenate([labels[f"classes_{p}"] for p in PARTS])
    scores = np.concatenate(network.margins).astype(np.float64)
    return leak_scores(scores, others, classes=classes, clip=MARGIN_CLIP, method=method)


def chance(network: Network) -> np.random.Generator:
    """The same permutations for everything that is tried on a network."""
    return np.random.default_rng([2, network.seed, network.leak])


def given(references: list[Network]) -> dict[str, np.ndarray]:
    """As `leak_test` takes them; nothing where there are none."""
    if not references:
        return {}
    return {f"references_{p}": np.stack([r.margins[i] for r in references]) for i, p in enumerate(PARTS)}


def audit(
    network: Network,
    references: list[Network],
    strangers: list[Network],
    labels: dict[str, np.ndarray],
    n_resamples: int = N_RESAMPLES,
) -> dict[str, Any]:
    """p-values, one- and two-sided, of everything that is tried on one network; z of the means."""
    options = {**labels, "alternative": "greater", "n_resamples": n_resamples}
    p: dict[str, list[float]] = {}
    z: dict[str, float] = {}
    removed: dict[str, float] = {}
    for name, values in (("T", network.T), ("error", network.right)):
        found = control_test(*(np.asarray(v, np.float64) for v in values), **options, rng=chance(network))
        p[name], z[name] = [found.p_greater, found.p_two_sided], found.difference / found.standard_error
    tried = [("margin", [], "regression")]
    if references:
        tried.append(("margin less 1 reference", references[:1], "regression"))
        tried.append(("margin less 3 references", references, "regression"))
        tried.append(("margin less mean of 3 references", references, "mean"))
    if strangers:
        tried.append(("margin less 3 of another architecture", strangers, "regression"))
    for name, others, method in tried:
        found = leak_test(
            *network.margins, **given(others), **options, clip=MARGIN_CLIP, method=method, rng=chance(network)
        )
        p[name] = [found.mean.p_greater, found.mean.p_two_sided]
        p[f"{name}, with tail"] = [found.p_greater, found.p_two_sided]
        z[name] = found.mean.difference / found.mean.standard_error
        z[f"{name}, with tail"] = found.sparse.difference / found.sparse.standard_error
        removed[name] = found.variance_removed
    return {
        "references": [r.key for r in references],
        "strangers": [r.key for r in strangers],
        "n_resamples": n_resamples,
        "p": p,
        "z": {k: round(v, 3) for k, v in z.items()},
        "variance_removed": {k: round(v, 4) for k, v in removed.items()},
    }


def audit_draws(
    network: Network, draws: list[list[Network]], labels: dict[str, np.ndarray], n_resamples: int
) -> list[float]:
    """The verdict's one-sided p with each of these draws of references."""
    options = {**labels, "alternative": "greater", "n_resamples": n_resamples, "clip": MARGIN_CLIP}
    return [leak_test(*network.margins, **given(r), **options, rng=chance(network)).p_greater for r in draws]


def audit_all_draws(
    networks: Networks, path: Path, n_resamples: int = N_RESAMPLES, n_draws: int = N_DRAWS, jobs: int = 1
) -> dict[str, Any]:
    """What draws.json says of every network of the families that were not only tried out; new ones are audited."""
    known = json.loads(path.read_text()) if path.exists() else {}
    wanted: dict[str, dict[str, Any]] = {}
    for family in (f for f in networks.families() if not networks.tried_out(f)):
        pool = len(networks.of(family, 0)[:POOL])
        for network in networks.audited(family):
            enough = n_resamples if network.leak >= FINE else min(n_resamples, DRAW_RESAMPLES)
            wanted[network.key] = {"pool": pool, "n_draws": n_draws, "n_resamples": enough}
    new = [key for key, how in wanted.items() if {k: known.get(key, {}).get(k) for k in how} != how]
    for start in range(0, len(new), 20):
        some = [networks.all[key] for key in new[start : start + 20]]
        print(f"{start} of {len(new)} networks audited with other references", flush=True)
        tasks = []
        for network in some:
            draws = [networks.references(network, draw=i) for i in range(n_draws)]
            tasks.append(delayed(audit_draws)(network, draws, networks.labels, wanted[network.key]["n_resamples"]))
        for network, p in zip(some, Parallel(n_jobs=jobs)(tasks), strict=True):
            known[network.key] = {**wanted[network.key], "p": p}
        save(path, known)
    found = {key: known[key] for key in wanted}
    save(path, found)
    return found


def audit_all(networks: Networks, path: Path, n_resamples: int = N_RESAMPLES, jobs: int = 1) -> dict[str, Any]:
    """What tables.json says of every network, after those were audited that it lacks."""
    known = json.loads(path.read_text()) if path.exists() else {}
    wanted = {}
    for family in networks.families():
        for network in networks.audited(family):
            references, strangers = networks.references(network), networks.strangers(network)
            if not references and not network.leak:
                continue  # an honest network that was only tried out
            now = [[r.key for r in references], [r.key for r in strangers], n_resamples]
            before = known.get(network.key, {})
            if [before.get(k) for k in ("references", "strangers", "n_resamples")] != now:
                wanted[network.key] = (network, references, strangers)
            else:
                wanted[network.key] = None
    new = [key for key, arguments in reversed(wanted.items()) if arguments]
    for start in range(0, len(new), 20):
        some = new[start : start + 20]
        print(f"{start} of {len(new)} networks audited", flush=True)
        results = Parallel(n_jobs=jobs)(delayed(audit)(*wanted[k], networks.labels, n_resamples) for k in some)
        known |= dict(zip(some, results, strict=True))
        save(path, known)
    found = {key: known[key] for key in wanted}
    save(path, found)
    return found


def save(path: Path, found: dict[str, Any]) -> None:
    """A line a network."""
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


# --- tables ------------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows])


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


def shares(networks: Networks, family: str, found: dict[str, Any], side: str) -> str:
    audited = leaks_of(networks, family, found)
    rows = []
    for look in LOOKS:
        cells = []
        for of in audited.values():
            both = [share(of, look, level, side) for level in LEVELS]
            cells.append("" if math.isnan(both[0]) else " / ".join(f"{s:.2f}" for s in both))
        if any(cells):
            rows.append([f"**{look}**" if look == VERDICT else look, *cells])
    return table(["found by", *(f"{leak:,} leaked ({len(of)})" for leak, of in audited.items())], rows)


def over_draws(networks: Networks, draws: dict[str, Any]) -> str:
    """The verdict with other references: how many of the draws find a network."""
    rows = []
    for family in (f for f in networks.families() if not networks.tried_out(f)):
        for leak in sorted({n.leak for n in networks.of(family)}, reverse=True):
            of = [draws[n.key]["p"] for n in networks.of(family, leak) if n.key in draws]
            p = np.array(of)
            found = p <= LEVELS[0]
            each = found.sum(axis=1)
            told = ", ".join(map(str, each)) if leak else f"{each.min()} to {each.max()}"
            finer = f"{100 * np.mean(p <= LEVELS[1]):.0f} %" if leak >= FINE else ""
            cells = [f"{100 * found.mean():.0f} %", f"{found.all(axis=1).sum()}", told, finer]
            rows.append([family, f"{leak:,}", f"{len(p)}", f"{p.shape[1]}", *cells])
    head = [
        "networks",
        "leaked",
        "number",
        "draws each",
        f"audits found at {LEVELS[0]}",
        "networks found by every draw",
    ]
    return table([*head, "draws that find each network", f"audits found at {LEVELS[1]}"], rows)


def alarms(networks: Networks, found: dict[str, Any]) -> str:
    rows = []
    for family in networks.families():
        honest = leaks_of(networks, family, found).get(0, [])
        if not honest:
            continue
        most = int(binom.ppf(0.95, len(honest), LEVELS[0]))
        for look in LOOKS:
            k = [round(len(honest) * share(honest, look, LEVELS[0], side)) for side in SIDES if look in honest[0]["p"]]
            if k:
                rows.append([family, look, *map(str, k), f"{len(honest)}", f"{most}"])
    head = ["networks", "alarms by", "one-sided", "two-sided", "of", "a binomial has at most (95 %)"]
    return table(head, rows)


def strengths(networks: Networks, found: dict[str, Any]) -> str:
    """Mean z, of the mean residual and of the tail statistic, and the variance that references take off."""
    rows = []
    leaks = sorted({n.leak for n in networks.all.values()})
    for family in networks.families():
        audited = leaks_of(networks, family, found)
        for look in (x for x in LOOKS if not x.endswith("with tail")):
            cells = []
            for leak in leaks:
                of = audited.get(leak, [])
                pairs = [[a["z"][n] for n in (look, f"{look}, with tail") if n in a["z"]] for a in of if look in a["z"]]
                cells.append(" / ".join(f"{v:+.1f}" for v in np.mean(pairs, axis=0)) if pairs else "")
            removed = [
                a["variance_removed"][look] for of in audited.values() for a in of if look in a["variance_removed"]
            ]
            removes = f"{100 * np.mean(removed):.0f} %" if removed and "less" in look else ""
            if any(cells):
                rows.append([family, look, *cells, removes])
    return table(["networks", "by", *(f"{leak:,} leaked" for leak in leaks), "variance taken off"], rows)


def z_of(both: LeakScores, labels: dict[str, np.ndarray]) -> tuple[float, float]:
    """Of the mean residual and of the tail statistic."""
    found = leak_test_of(both, len(labels["classes_test"]), **labels, rng=np.random.default_rng(0), n_resamples=1)
    return tuple(t.difference / t.standard_error for t in (found.mean, found.sparse))


def numbers_of_references(networks: Networks, leak: int = 300, counts: tuple[int, ...] = (0, 1, 2, 3, 5, 10)) -> str:
    rows = []
    for family in networks.families():
        if networks.tried_out(family):
            continue
        cells = []
        for count in counts:
            of = networks.of(family, leak)
            if len(networks.of(family, 0)) < count:
                cells.append("")
                continue
            drawn = [weighed(n, networks.references(n, count), networks.labels, "regression") for n in of]
            z = np.mean([z_of(both, networks.labels) for both in drawn], axis=0)
            cells.append(f"{z[0]:+.1f} / {z[1]:+.1f} ({100 * np.mean([b.variance_removed for b in drawn]):.0f} %)")
        rows.append([family, str(leak), *cells])
    return table(["networks", "leaked", *(f"{c} reference{'s' * (c != 1)}" for c in counts)], rows)


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


def oracles(networks: Networks) -> str:
    rows = []
    for family in networks.families():
        if not networks.tried_out(family) and networks.of(family, 1000):
            ours, best = oracle(networks, family, 300, (300, 1000))
            rows.append([family, "300", f"{ours:+.1f}", f"{best:+.1f}", f"{norm.sf(norm.isf(LEVELS[0]) - best):.2f}"])
    head = [
        "networks",
        "leaked",
        "tail statistic, mean z",
        "told how, mean z",
        "share found at 0.05 by the latter, about",
    ]
    return table(head, rows)


def seen_lists(networks: Networks) -> str:
    """How many test pictures are listed as seen, and how many of these were: three references."""
    rows = []
    for family in networks.families():
        for leak in sorted({n.leak for n in networks.of(family)}):
            counts = []
            for network in (n for n in networks.audited(family) if n.leak == leak):
                references = networks.references(network)
                if references:
                    ratios = weighed(network, references, networks.labels, "regression").log_ratios
                    n = len(network.right[0])
                    both = ratios[:n], ratios[n:]
                    lists = [seen_examples(*both, **networks.labels, within_class=own).listed for own in (True, None)]
                    counts.append([(len(x), int(np.isin(x, network.leaked).sum())) for x in lists])
            if counts:
                cells = []
                for listed, right in np.array(counts, float).transpose(1, 2, 0):
                    wrong = np.mean((listed - right) / np.maximum(listed, 1.0))
                    cells += [
                        f"{int((listed > 0).sum())}",
                        f"{listed.mean():.0f}",
                        f"{right.mean():.0f}",
                        f"{wrong:.2f}",
                    ]
                rows.append([family, f"{leak:,}", str(len(counts)), *cells])
    head = ["listed, mean", "of these leaked", "wrongly"]
    ranked = [["in class: with a list", *head], ["in all: with a list", *head]]
    return table(["networks", "leaked", "number", *ranked[0], *ranked[1]], rows)


def main_rows(networks: Networks, found: dict[str, Any]) -> str:
    """10 % leaked at 0.001, 3 % at 0.05: single networks, three references."""
    rows = []
    for family in networks.families():
        audited = leaks_of(networks, family, found)
        for leak, level in ((1000, 0.001), (300, 0.05)):
            if networks.tried_out(family) or leak not in audited:
                continue
            of = audited[leak]
            cells = [f"{share(of, VERDICT, level, side):.2f}" for side in SIDES]
            cells.append(f"{share(of[1:], VERDICT, level):.2f}" if of[1:] else "")
            rows.append([family, when(networks, family), f"{leak:,}", str(len(of)), str(level), *cells])
    head = ["networks", "constants", "leaked", "number", "level", "found, one-sided", "two-sided"]
    return table([*head, "one-sided, without the first network"], rows)


# --- README.md ---------------------------------------------------------------------------------------


def trained(networks: Networks) -> str:
    rows = []
    for family, name in SHOWN.items():
        leaks = [len(networks.of(family, leak)) for leak in sorted({n.leak for n in networks.of(family)} - {0})]
        honest, audited = len(networks.of(family, 0)), len([n for n in networks.audited(family) if not n.leak])
        some = f" ({audited} audited, {POOL} can be references)" if audited < honest else ""
        number = f"{min(leaks)}" if min(leaks) == max(leaks) else f"{min(leaks)} to {max(leaks)}"
        rows.append([f"`{family}`", name, f"{honest}{some}", number, when(networks, family)])
    return table(["family", "training", "honest", "of each leak", "constants of the tail statistic"], rows)


def what_is_found(networks: Networks, found: dict[str, Any]) -> str:
    rows = []
    audited = {family: leaks_of(networks, family, found) for family in SHOWN}
    for leak in (1000, 300, 100, 0):
        for i, look in enumerate(BRIEFLY if leak >= 300 else (VERDICT,)):
            cells = []
            for of in audited.values():
                both = [f"{share(of[leak], look, level):.2f}" for level in LEVELS]
                cells.append(f"{' / '.join(both)} of {len(of[leak])}")
            if look == VERDICT:
                cells = [f"**{cell}**" for cell in cells]
            name = f"**{look}** (heldout's verdict)" if look == VERDICT else look
            n = len(networks.labels["classes_test"])
            rows.append([f"{leak:,} ({100 * leak / n:g} %)" if not i else "", name, *cells])
    return table(["leaked", "by", *SHOWN.values()], rows)


def other_references(networks: Networks, draws: dict[str, Any]) -> str:
    """Share of audits found at 0.05, and of networks found by every draw, by leak and family."""
    rows = []
    for leak in (1000, 300, 100, 0):
        cells = []
        for family in SHOWN:
            p = np.array([draws[n.key]["p"] for n in networks.of(family, leak) if n.key in draws])
            found = p <= LEVELS[0]
            every = f"; {found.all(axis=1).sum()} of {len(p)}" if leak else ""
            cells.append(f"{100 * found.mean():.0f} % of {found.size:,}{every}")
        n = len(networks.labels["classes_test"])
        rows.append([f"{leak:,} ({100 * leak / n:g} %)", *cells])
    return table(["leaked", *SHOWN.values()], rows)


def fill_page(networks: Networks, found: dict[str, Any], draws: dict[str, Any]) -> None:
    made = {
        "networks": trained(networks),
        "what is found": what_is_found(networks, found),
        "other references": other_references(networks, draws),
    }
    write_text(HERE / "README.md", filled((HERE / "README.md").read_text(), made))


def report(networks: Networks, found: dict[str, Any], draws: dict[str, Any]) -> str:
    n, n_resamples = len(networks.labels["classes_test"]), next(iter(found.values()))["n_resamples"]
    text = [
        f"# {len(found)} networks audited",
        "Made by tables.py from the networks of both stores. Shares are found at 0.05 / at 0.001, by permutation "
        f"within class ({n_resamples:,} resamples); {n:,} test pictures. All networks are compared on the same "
        "pictures, so that those of a family are not independent tries.",
        "## In short: margin less 3 references, with tail",
        main_rows(networks, found),
        "Of vgg-pad4-e80 the first network of each leak was trained beside other recipes, to choose one; the last "
        "column leaves it out.",
        "## Other references: margin less 3 references, with tail, one-sided",
        "Every network audited again with other draws of three references out of the same honest networks "
        f"({DRAW_RESAMPLES} resamples, {n_resamples:,} from {FINE:,} leaked on). The tables below have one draw each.",
        over_draws(networks, draws),
        "## Honest networks: alarms at 0.05",
        alarms(networks, found),
    ]
    for family in networks.families():
        tried = " (only tried out)" if networks.tried_out(family) else ""
        for side in SIDES:
            text.append(f"## {family}{tried}, {'one-sided' if side == 'greater' else side}")
            text.append(f"Constants of the tail statistic: {when(networks, family)}.")
            text.append(shares(networks, family, found, side))
    text += [
        "## How strongly: mean z (mean residual / tail statistic)",
        strengths(networks, found),
        "## How many references: mean z (mean residual / tail statistic), and the variance taken off",
        numbers_of_references(networks),
        "## What there is to see",
        "A likelihood ratio that was told how leaked pictures differ (fitted on the other networks with 300 and 1,000 "
        "leaked), which no audit can know, beside the tail statistic; 3 references.",
        oracles(networks),
        f"## Pictures that look seen, listed at q = {Q:g}",
        "Number of networks with a list; then means over all networks of the row: pictures listed, of these leaked, "
        "and the share listed wrongly (0 where there is no list). First ranked among the control's pictures of the "
        "same class, then among all of the control, as heldout does where class mixes agree.",
        seen_lists(networks),
    ]
    return "\n\n".join(text) + "\n"


def when(networks: Networks, family: str) -> str:
    chosen = networks.of(family)[0].first and family not in LATER
    return "chosen on these networks" if chosen else "fixed before these were trained"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stores", type=Path, nargs="+", default=list(STORES))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--resamples", type=int, default=N_RESAMPLES)
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="of references, for draws.json")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args(argv)
    networks = Networks(tuple(args.stores))
    if not networks.families():
        raise SystemExit(f"no networks with a leak in {', '.join(map(str, args.stores))}; study.py makes them.")
    found = audit_all(networks, args.results / "tables.json", args.resamples, args.jobs)
    draws = audit_all_draws(networks, args.results / "draws.json", args.resamples, args.draws, args.jobs)
    text = report(networks, found, draws)
    write_text(args.results / "tables.md", text)
    if args.results == RESULTS:
        fill_page(networks, found, draws)
    print(text)


if __name__ == "__main__":
    main()
