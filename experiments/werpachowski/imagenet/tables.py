"""Reads results/efficientnet-lite*.npz and writes results/tables.md: T by every rule, p, and p against sample size.

    PYTHONPATH=src:. python experiments/werpachowski/imagenet/tables.py [RESULTS]

Needs no torch. The files are those of `audit.py run`.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np

from experiments.pages import fill
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import RULES, Translations
from heldout.statistics import independence_test
from heldout.statistics.bernstein import bernstein_bound

HERE = Path(__file__).parent
RADIUS = 5
SIZES = (125, 250, 500)
N_SUBSETS = 200
# v1 5.2, VGG16: all 1,271,167 training pictures (rejected at a confidence level of 99.9994 %) and 50,000 test pictures
P_TRAINING, P_TEST, MORE_WRONG = "0.000006", "0.9593", "7.7"  # by `strongest`; points of error by the worst move
PUBLISHED = (
    ("v1, VGG16, 1,271,167 training pictures", "strongest", P_TRAINING),
    ("v1, VGG16, 50,000 test pictures", "strongest", P_TEST),
    ("v1, VGG16, 50,000 test pictures", "the others", "1"),
)


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows])


def read(folder: Path) -> dict[str, dict]:
    """Of every network: error, error after the worst move, record, and T by rule."""
    found = {}
    for path in sorted(folder.glob("efficientnet-lite*.npz")):
        with np.load(path) as f:
            ranks, wrong = f["ranks"], f["predictions"] != f["labels"]
            record = json.loads(str(f["record"]))
        centre = ranks.shape[1] // 2
        near = slice(centre - RADIUS, centre + RADIUS + 1)
        moved = (ranks[:, near, near] > 0).any(axis=(1, 2))
        some = np.flatnonzero(moved)
        T = {}
        for rule in RULES:
            T[rule] = np.zeros(len(ranks))
            T[rule][some] = score_map_statistics(ranks[some].astype(np.float64), radius=RADIUS, rule=rule)
        found[path.stem] = {
            "error": float((ranks[:, centre, centre] > 0).mean()),
            "answers": float(wrong.mean()),
            "moved": float(moved.mean()),
            "record": record,
            "T": T,
        }
    return found


def p_of(T: np.ndarray, rule: str, method: str) -> float:
    lower, upper = Translations(RADIUS).statistic_range(rule)
    return independence_test(T, lower=lower, upper=upper, method=method).p_value


def least(T: np.ndarray, rule: str) -> float:
    """The mean T that Bernstein's bound would reject at 0.05, with as many pictures and the same spread."""
    lower, upper = Translations(RADIUS).statistic_range(rule)
    return bernstein_bound(len(T), float(T.std()), log_delta=math.log(0.05), width=upper - lower)


def errors(found: dict[str, dict]) -> str:
    rows = [
        [name, f"{100 * of['error']:.1f}", f"{100 * of['moved']:.1f}", f"{100 * (of['moved'] - of['error']):.1f}",
         f"{of['record']['whole_maps']}", f"{of['record']['evaluations']:,}", f"{of['record']['seconds']:.0f}"]
        for name, of in found.items()
    ]  # fmt: skip
    rows.append(["v1, VGG16, training pictures", "", "", MORE_WRONG, "", "", ""])
    head = ["network", "error, %", f"after the worst move of up to {RADIUS}, %", "points more", "whole maps"]
    return table([*head, "evaluations", "s"], rows)


def averaged(found: dict[str, dict]) -> dict[str, dict[str, np.ndarray]]:
    """T by rule of every network and, where there are several, of all averaged."""
    T = {name: of["T"] for name, of in found.items()}
    if len(T) > 1:
        T[f"all {len(T)} averaged"] = {rule: np.mean([t[rule] for t in T.values()], axis=0) for rule in RULES}
    return T


def means(found: dict[str, dict]) -> str:
    rows = []
    for name, T in averaged(found).items():
        for rule in RULES:
            t = T[rule]
            se = t.std(ddof=1) / len(t) ** 0.5
            cells = [f"{t.mean():+.5f} ({t.mean() - 1.96 * se:+.5f} to {t.mean() + 1.96 * se:+.5f})"]
            cells += [f"{p_of(t, rule, method):.3g}" for method in ("bernstein", "betting")]
            rows.append([name, rule, *cells, f"{least(t, rule):.3f}"])
    rows += [[name, rule, "", p, "", ""] for name, rule, p in PUBLISHED]
    head = ["network", "rule", "mean T (95 %)", "p, Bernstein", "p, betting", "Bernstein: 0.05 from a mean T of"]
    return table(head, rows)


def by_size(found: dict[str, dict]) -> str:
    """v1, figure 8 left, as far as the pictures go: mean p on random subsets."""
    rows = []
    for name, T in averaged(found).items():
        for rule in RULES:
            rng, cells = np.random.default_rng(0), []
            for size in (n for n in SIZES if n < len(T[rule])):
                p = [p_of(rng.permutation(T[rule])[:size], rule, "bernstein") for _ in range(N_SUBSETS)]
                cells.append(f"{np.mean(p):.3f} ± {1.96 * np.std(p, ddof=1) / N_SUBSETS**0.5:.3f}")
            rows.append([name, rule, *cells, f"{p_of(T[rule], rule, 'bernstein'):.3f}"])
    n = len(next(iter(found.values()))["T"]["strongest"])
    return table(["network", "rule", *(f"{s:,} pictures" for s in SIZES if s < n), f"all {n:,}"], rows)


def in_short(found: dict[str, dict]) -> str:
    """Published, ours, and why they differ."""
    strongest = {name: T["strongest"] for name, T in averaged(found).items()}
    p = ", ".join(f"{p_of(t, 'strongest', 'bernstein'):.3g}" for t in strongest.values())
    needed = min(least(t, "strongest") for t in strongest.values())
    n, names = len(next(iter(strongest.values()))), ", ".join(strongest)
    more = ", ".join(f"{100 * (of['moved'] - of['error']):.1f}" for of in found.values())
    few = f"{n:,} pictures reject from a mean T of {needed:.3f} only"
    rows = [
        [f"p by `strongest`, Bernstein ({names})", f"{P_TRAINING} (training), {P_TEST} (test)", p, few],
        [f"points of error by the worst move of up to {RADIUS}", f"{MORE_WRONG} (training)", more,
         "other networks; perhaps the smaller crops, for which they are not made"],
    ]  # fmt: skip
    return table(["", "v1, VGG16", "ours", "why they differ"], rows)


def write(folder: Path) -> str:
    found = read(folder)
    sections = [
        ("In short", in_short(found)),
        ("Errors", errors(found)),
        (f"T, crop 192 of 224, radius {RADIUS}", means(found)),
        (f"p against sample size: mean of {N_SUBSETS} random subsets (Bernstein)", by_size(found)),
    ]
    text = ["# ImageNet, efficientnet-lite", "Made by tables.py from the files beside it."]
    return "\n\n".join(text + [f"## {name}\n\n{body}" for name, body in sections]) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("efficientnet-lite*.npz")):
        raise SystemExit(f"{folder} holds no efficientnet-lite*.npz yet; audit.py makes them.")
    text = write(folder)
    (folder / "tables.md").write_text(text)
    if len(sys.argv) == 1:
        fill(HERE / "README.md", {"in short": in_short(read(folder))})
    print(text)
