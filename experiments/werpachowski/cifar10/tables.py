"""Reads the store and writes results/tables.md: errors, T on test set and control, and which leaks are found.

    PYTHONPATH=src python experiments/werpachowski/cifar10/tables.py [RESULTS]

z is the difference of the class-wise means, test minus control, over its standard error (as in heldout's control test);
"found at 0.05" is a one-sided normal p below it. With 10,000 pictures on each side and clipped margins that is close to
the permutation p, which takes too long for every network. All networks are compared on the same pictures, so the z of
different networks go together: a share of ten networks is not one of ten independent tries.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import store
from scipy.stats import norm
from store import statistics

from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import Translations
from heldout.statistics import control_test, independence_test

HERE = Path(__file__).parent
PUBLISHED = {"test_error": 0.0785, "train_error": 0.00014}  # v1 5.3.3, trained on 50,000
GROUPS = (1, 12, 25, 50, 125)
N_REFERENCES = 3  # honest networks
CLIP = (-5.0, 10.0)


class Networks:
    """All networks of the store, by setting: what was kept of each, as numbers to compare."""

    def __init__(self, folder: Path) -> None:
        self.split = store.split(folder)
        self.groups: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        self.records: dict[str, dict[int, dict]] = {}
        self.recomputed: list[tuple[str, int, int]] = []
        for model in store.models(folder):
            name, seed = model.key.rsplit("/seed", 1)
            self.groups.setdefault(name, {})[int(seed)] = self.numbers(model)
            self.records.setdefault(name, {})[int(seed)] = model.record
            if "test_maps" in model:
                maps, codes = model["test_maps"], model["test_codes"]
                T = score_map_statistics(maps, radius=model.record["radius"])
                self.recomputed.append((model.key, len(maps), int((statistics(codes[: len(maps)]) != T).sum())))

    def numbers(self, model: store.Model) -> dict[str, np.ndarray]:
        found = {}
        for part in ("test", "control", "train"):
            wrong = model[f"{part}_predictions"] != self.split[f"{part}_labels"]
            found[f"{part}/error"] = wrong.astype(np.float64)
            found[f"{part}/margin"] = np.clip(model[f"{part}_margins"].astype(np.float64), *CLIP)
            if f"{part}_codes" in model:
                found[f"{part}/T"] = statistics(model[f"{part}_codes"])
        return found

    def family(self, name: str) -> str:
        """The setting but for the leak."""
        return re.sub(r"-leak\d+$", "", name)

    def leak(self, name: str) -> int:
        return int(re.search(r"-leak(\d+)$", name)[1])

    def families(self) -> list[str]:
        return sorted({self.family(n) for n in self.groups}, key=lambda f: ("residual" in f, "fixed" in f, f))

    def of(self, family: str) -> list[str]:
        return sorted((n for n in self.groups if self.family(n) == family), key=self.leak)


def difference(test: np.ndarray, control: np.ndarray, y: np.ndarray, y_control: np.ndarray) -> tuple[float, float]:
    """Test minus control within class, and its standard error with one spread for all classes."""
    classes = np.unique(y)
    n = np.array([(y == c).sum() for c in classes], float)
    m = np.array([(y_control == c).sum() for c in classes], float)
    weights = n * m / (n + m)
    weights /= weights.sum()
    means = np.array([test[y == c].mean() - control[y_control == c].mean() for c in classes])
    spread = sum(((test[y == c] - test[y == c].mean()) ** 2).sum() for c in classes) / (n.sum() - len(classes))
    other = sum(((v := control[y_control == c]) - v.mean()) @ (v - v.mean()) for c in classes)
    other /= m.sum() - len(classes)
    return float(weights @ means), float(np.sqrt(spread * (weights**2 / n).sum() + other * (weights**2 / m).sum()))


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows])


def interval(d: float, se: float, digits: int = 5) -> str:
    return f"{d:+.{digits}f} ({d - 1.96 * se:+.{digits}f} to {d + 1.96 * se:+.{digits}f})"


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
    published = ["v1, VGG-like, 50,000 training pictures", "1250"]
    published += [f"{100 * PUBLISHED['test_error']:.2f}", "", f"{100 * PUBLISHED['train_error']:.3f}", "", ""]
    head = ["networks", "number", "test error, %", "control, %", "training pictures, %", "last epoch, %", "s each"]
    return table(head, [*rows, published])


def mean_T(networks: Networks) -> str:
    y, y_control = networks.split["test_labels"], networks.split["control_labels"]
    rows = []
    for family in networks.families():
        for name in networks.of(family):
            of = list(networks.groups[name].values())
            T = {
                p: np.mean([m[f"{p}/T"] for m in of], axis=0) for p in ("test", "control", "train") if f"{p}/T" in of[0]
            }
            z = {p: t.mean() / (t.std(ddof=1) / len(t) ** 0.5) for p, t in T.items()}
            d, se = difference(T["test"], T["control"], y, y_control)
            cells = [f"{T[p].mean():+.5f} (z {z[p]:.1f})" if p in T else "" for p in ("test", "control", "train")]
            rows.append([name, str(len(of)), *cells, interval(d, se), f"{d / se:+.1f}"])
    head = ["networks", "number", "mean T, test", "control", "training pictures", "test minus control (95 %)", "z"]
    return table(head, rows)


def p_values(networks: Networks) -> str:
    """Bernstein and betting for single networks and for averages of N, on test, control and training pictures."""
    lower, upper = Translations(2).statistic_range("strongest")
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        if name not in networks.groups:
            continue
        of = [m for _, m in sorted(networks.groups[name].items())]
        for size in (g for g in GROUPS if g <= len(of)):
            for part in ("test", "control", "train"):
                T = np.array([m[f"{part}/T"] for m in of if f"{part}/T" in m])
                averages = [T[i : i + size].mean(axis=0) for i in range(0, len(T) - size + 1, size)]
                cells = []
                for method in ("bernstein", "betting"):
                    p = [independence_test(a, lower=lower, upper=upper, method=method).p_value for a in averages]
                    share = np.mean(np.array(p) <= 0.05)
                    cells += [f"{np.mean(p):.3g}", f"{np.median(p):.3g}", f"{share:.2f}"]
                    if size == 1 and len(p) > 2 and part != "train" and np.std(p) > 0:
                        e = [m[f"{part}/error"].mean() for m in of]
                        cells[-3] += f" (correlation with error {np.corrcoef(p, e)[0, 1]:+.2f})"
                rows.append([name, str(size), part, str(len(averages)), *cells])
    head = ["networks", "N", "pictures", "p-values", "Bernstein: mean p", "median", "share below 0.05"]
    head += ["betting: mean p", "median", "share below 0.05"]
    return table(head, rows)


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
            far += list(group.values()) if name.startswith("residual") and name.endswith("-leak0") else []
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


def write(folder: Path) -> str:
    networks = Networks(folder)
    total = sum(map(len, networks.groups.values()))
    text = [f"# {total} networks\n\nMade by tables.py from the files beside it.\n\n## Errors\n", errors(networks)]
    text += ["\n## Mean T, rule strongest, radius 2, models averaged\n", mean_T(networks)]
    text += ["\nTest minus control by permutation within class:\n", permuted(networks)]
    text += ["\n## p-values of honest networks, N averaged\n", p_values(networks)]
    for family in networks.families():
        if len(networks.of(family)) > 1:
            text += [f"\n## Leaks: {family}\n", leaks(networks, family)]
    if networks.recomputed:
        text.append("\n## T from whole score maps, by heldout's own code\n")
        text += [f"- {key}: {n} pictures, {k} codes differ" for key, n, k in networks.recomputed]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    text = write(folder)
    (folder / "tables.md").write_text(text)
    print(text)
