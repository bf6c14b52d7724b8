"""Single networks audited as heldout does: p-values of all that is tried, kept a network a line in two files.

tables.json has the p-values of every network; one that is there already, with the references that are drawn for it now,
is not audited again. draws.json has the verdict's p with other references, N_DRAWS draws of three for every network,
and is kept in the same way.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from experiments.leaks.networks import PARTS, POOL, Network, Networks
from heldout.files import write_text
from heldout.statistics import control_test, leak_test
from heldout.statistics.leak import MARGIN_CLIP

N_RESAMPLES = 1999  # the smallest p is 0.0005
N_DRAWS = 20  # of three references, for the share of draws with which a network is found
FINE = 1_000  # leaked, from which on draws are judged at 0.001 too, for which DRAW_RESAMPLES are too few
DRAW_RESAMPLES = 399  # the smallest p is 0.005: both statistics are tried
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
