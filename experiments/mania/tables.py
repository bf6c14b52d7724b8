"""Tables of real pools beside the published numbers, from results/*.json.

PYTHONPATH=src:. python -m experiments.mania.tables

writes results/tables.md, and puts the first table into README.md.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from experiments.mania.figures import LANGUAGE, SEARCH
from experiments.mania.pools import DELTA, DRAWS, HERE, IMAGENET, RESULTS, SOME
from experiments.pages import fill, table

BOUNDS = ("union", "similarity", "naive_bayes")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
PUBLISHED = {  # table 1: accuracy, similarity, gains
    "20 random": ("96.8 %", "97.5 %", "9.9×", "1.6·10⁴×"),
    "20 highest scoring": ("96.9 %", "97.6 %", "12.0×", "3.4·10⁴×"),
}
MOST_WRONG = 6  # of 66: "60 of the 66 models" are right


def load(name: str) -> Any:
    return json.loads((RESULTS / name).read_text())


def times(of: dict[str, float | None], bound: str) -> str:
    """How many times as many as by the union bound."""
    if of[bound] is None or not of["union"]:
        return ""
    gain = of[bound] / of["union"]
    if gain < 1000:
        return f"{gain:.1f}×" if gain < 100 else f"{gain:.0f}×"
    power = math.floor(math.log10(gain))
    return f"{gain / 10**power:.1f}·10{str(power).translate(RAISED)}×"


def count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def at_most_wrong(of: dict[str, Any], most: int) -> str:
    counts = np.array(of["difficulty"])
    return f"{100 * counts[: most + 1].sum() / counts.sum():.2f} %"


def in_short(found: dict[str, Any]) -> str:
    paper, of = found["published"], found["ImageNet"]
    one, eta = paper["section 5.1"], IMAGENET["similarity"]
    shown = f"n = {IMAGENET['n']:,}, error {IMAGENET['error']:g}, ε = {IMAGENET['epsilon']:g}, δ = {DELTA:g}"
    fits = f"{count(one['similarity'])} ({times(one, 'similarity')})"
    rows = [
        [f"testable models, union bound ({shown})", "257,397", count(one["union"])],
        [f"the same, similarity {eta:g}", "“4×”", fits],
        ["the same, Naive Bayes", "10⁸", count(one["naive_bayes"])],
    ]
    for name, theirs in PUBLISHED.items():
        ours = ", ".join(times(paper["table 1"][name], bound) for bound in BOUNDS[1:])
        rows.append([f"table 1 from its own means, {name}: similarity, Naive Bayes", ", ".join(theirs[2:]), ours])
    alike = f"{100 * of['accuracy'][0]:.2f} %, {of['similarity']:.4f}, {of['independent']:.4f} ({of['models']} models)"
    rows += [
        ["ImageNet: accuracy, similarity, similarity if independent", "75.6 %, 0.85, 0.62 (66 models)", alike],
        ["images right for all", "27.8 %", f"{100 * of['right_for_all']:.2f} %"],
        [f"wrong for at most {MOST_WRONG}", "55.9 %", at_most_wrong(of, MOST_WRONG)],
        ["wrong for all", "4.7 %", f"{100 * of['wrong_for_all']:.2f} %"],
        *searched(found[SEARCH]),
    ]
    return table(["", "published", "here"], rows)


def searched(of: dict[str, Any]) -> list[list[str]]:
    """Figure 3 in numbers."""
    kept = (
        f"{count(of['models'])} of {count(of['checkpoints'])}, of {of['kept_trainings']} of {of['trainings']} trainings"
    )
    rows = [
        [
            "figure 3: checkpoints of a random search with 50 % accuracy or more",
            "1,235 of 3,200, of 320 trainings",
            kept,
        ],
        ["their best accuracy", "96.6 %", f"{100 * of['accuracy'][2]:.1f} %"],
        [
            "their similarity, similarity if independent",
            "not printed",
            f"{of['similarity']:.3f}, {of['independent']:.3f}",
        ],
    ]
    for key, what in (("pairs_of_one", "pairs of one training"), ("pairs_of_two", "pairs of two trainings")):
        pairs, alike, chance = of[key]
        rows.append([f"the same, {what} alone ({count(pairs)})", "not printed", f"{alike:.3f}, {chance:.3f}"])
    return rows


def pools(found: dict[str, Any]) -> str:
    """Figures 1a and 4 in numbers."""
    rows = []
    for name, of in found.items():
        if "pairs_alike" not in of:
            continue
        mean, worst, best = (f"{100 * a:.1f}" for a in of["accuracy"])
        shares = [f"{100 * of[key]:.1f}" for key in ("right_for_all", "wrong_for_all")]
        below = f"{100 * of['below_chance'] / of['pairs']:.2g}"
        alike = [f"{of[key]:.3f}" for key in ("similarity", "independent", "kappa")]
        rows.append(
            [name, count(of["models"]), count(of["examples"]), f"{mean} ({worst} to {best})", *alike, below, *shares]
        )
    head = ["pool", "models", "examples", "accuracy, % (worst to best)", "similarity", "if independent", "kappa"]
    return table([*head, "pairs less alike than that, %", "right for all, %", "wrong for all, %"], rows)


def testable(found: dict[str, Any]) -> str:
    """Figure 1b in numbers: the paper takes all models as equal, models like these are as unequal as they are."""
    rows = []
    for name, of in found.items():
        for kind, who in (("equal", "as if all were equal"), ("like_these", "models like these")):
            if counts := of.get(kind):
                cells = [count(counts["union"])]
                cells += [
                    f"{count(counts[b])} ({times(counts, b)})" if counts[b] is not None else "" for b in BOUNDS[1:]
                ]
                rows.append([name, f"{of['epsilon']:g}", who, *cells])
    return table(["pool", "±", "", "union", "similarity", "Naive Bayes"], rows)


def assumption(found: dict[str, Any]) -> str:
    """Assumption A1 against what two models get wrong together."""
    rows = []
    for name, of in found.items():
        if fit := of.get("assumption"):
            far = fit["farthest"]
            both = f"{far['implied']:.3f} implied, {far['observed']:.3f} seen"
            rows.append([name, f"{fit['pairs_off']:,} of {fit['n_pairs']:,}", " and ".join(far["models"]), both])
    return table(["pool", "pairs off", "farthest off", "both wrong"], rows)


def table_1(found: dict[str, Any]) -> str:
    rows = [[f"paper, architecture search: {name}", *row] for name, row in PUBLISHED.items()]
    for name, of in found.items():
        for which, who in (("random", f"{SOME} random"), ("best", f"{SOME} best")):
            row = of.get("table_1", {}).get(which)
            if row and name not in LANGUAGE:  # of those no model or two fit at this error bar
                shares = [f"{100 * row[key]:.1f} %" for key in ("accuracy", "similarity")]
                gains = [times(row["testable"], bound) for bound in BOUNDS[1:]]
                rows.append([f"{name}: {who} of {of['models']:,}", *shares, *gains])
    return table(["models", "mean accuracy", "mean similarity", "similarity", "Naive Bayes"], rows)


def covers(found: dict[str, Any]) -> str:
    """Figure 3 in numbers."""
    rows = []
    for name, of in found.items():
        if "cover" not in of:
            continue
        eta, size = np.array(of["cover"]["eta"]), np.array(of["cover"]["size"])
        shares = [f"{eta[size <= max(2, share * of['models'])].max():.3f}" for share in (0.1, 0.25, 0.5)]
        mean = size[np.searchsorted(eta, of["similarity"])]
        rows.append([name, count(of["models"]), f"{of['similarity']:.3f}", count(mean), *shares])
    head = ["pool", "models", "mean similarity", "cover at that η", "η that a tenth covers", "a quarter", "half"]
    return table(head, rows)


def limit() -> str:
    """What similarity gains for the models themselves."""
    of = load("limit.json")
    bars, by_cover = of["error_bar"], of["theorem2"]
    resampled = f"limit: examples resampled {of['repetitions']:,} times (no bound from pairs can go below)"
    covered = f"Theorem 2 (4) on the pool's own cover ({by_cover['cover']:.0f} models at η = {by_cover['eta']:.3f})"
    rows = [
        ["union bound", f"± {bars['union']:.5f}"],
        ["Hunter-Worsley over a spanning tree of exact pair tails", f"± {bars['similarity']:.5f}"],
        [resampled, f"± {of['resampled_limit']:.5f}"],
        [covered, f"± {by_cover['epsilon']:.4f}"],
    ]
    tail = of["one_tail"]
    text = (
        f"P(some model has {of['too_many']} errors too many) is at most {tail['union']:.4f} by the union bound, "
        f"{tail['tree']:.4f} by the tree, {tail['anchor']:.4f} by the best single anchor at its best t, (3)."
    )
    return f"{table(['', 'all errors within'], rows)}\n\n{text}"


def coverage() -> str:
    """Whether the error bars hold."""
    plain = {(r["population"], r["n"]): r for r in load("coverage-plain.json")}
    long = {(r["population"], r["n"]): r for r in load("coverage-long.json")}
    names = {"cifar10": "30 CIFAR-10 models", "cifar10_best8": "the best 8 of them", "imagenet": "64 ImageNet models",
             "gsm8k": "85 language models, GSM8K"}  # fmt: skip
    keys = ("missed_by_epsilon", "missed_by_union_epsilon", "missed_by_intervals", "missed_by_bonferroni_intervals")
    rows = []
    for r in load("coverage.json"):
        at = r["population"], r["n"]
        again = f" ({100 * long[at]['missed_by_epsilon']:.1f} % of {long[at]['repetitions']:,})" if at in long else ""
        cells = [f"{100 * r[key]:.1f} %" for key in keys]
        cells[0] += again
        rows.append(
            [
                names[r["population"]],
                f"{r['n']:,}",
                f"{r['repetitions']:,}",
                *cells,
                f"{100 * plain[at]['missed_by_epsilon']:.1f} %",
            ]
        )
    head = ["population", "n", "draws", "± (similarity)", "± (union)", "intervals (similarity)", "intervals (δ/k)"]
    return table(
        [*head, f"± without the half examples ({min(r['repetitions'] for r in plain.values()):,} draws)"], rows
    )


def recorded(found: dict[str, Any]) -> str:
    of = found["timm"]
    return (
        f"{of['results']:,} results on ImageNet's validation set are on record in timm (mean accuracy "
        f"{100 * of['accuracy']:.1f} %). By the union bound alone all of them are within ± {of['error_bar']:.5f} at "
        "once, with probability 95 %, had no model been chosen by that set."
    )


def report(found: dict[str, Any]) -> str:
    sections = [
        ("How alike models are (figures 1a and 4)", pools(found)),
        ("How many more fit, 95 % (figure 1b)", testable(found)),
        ("Does Assumption A1 hold?", assumption(found)),
        (f"Table 1 on real models (± 0.01; at random: means over {DRAWS} draws)", table_1(found)),
        ("Covers (figure 3)", covers(found)),
        ("What similarity gains for 64 given models", limit()),
        ("Do the error bars hold? Share of test sets on which some model is missed, at δ = 0.05", coverage()),
        ("Results on record", recorded(found)),
    ]
    return (
        "\n\n".join(
            ["Made by tables.py from the files beside it.", *(f"## {name}\n\n{body}" for name, body in sections)]
        )
        + "\n"
    )


def main() -> None:
    found = load("pools.json")
    (RESULTS / "tables.md").write_text(report(found))
    fill(HERE / "README.md", {"published and found": in_short(found)})


if __name__ == "__main__":
    main()
