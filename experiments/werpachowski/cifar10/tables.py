"""Reads the store and writes results/tables.md: errors, T on test set and control, v1's numbers beside ours.

    PYTHONPATH=src:. python experiments/werpachowski/cifar10/tables.py [RESULTS]

Fills the tables of README.md, too. Honest networks of `experiments/leaks` (the usual shifts) are in the tables of
errors, T and p-values; which single networks with a leak are found is read from its tables.json and draws.json.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import brute
import measures
import numpy as np
import published
from against import small_sets, table_1, table_2, with_error
from audits import Audits, found_from
from checks import (
    LIKE,
    MOST,
    as_hard,
    frames,
    generators,
    in_pixels,
    interval,
    nearby,
    similarity,
    to_networks,
    without,
    without_near,
)
from evidence import N_SUBSETS, p_by_v1, p_of, z_of
from kept import HERE, LEAKS, MAIN, Networks
from measures import SIZES

from experiments.leaks.audits import VERDICT
from experiments.leaks.measures import Draws
from experiments.pages import fill, table


def errors(networks: Networks) -> str:
    rows = []
    for family in networks.families():
        for name in networks.of(family):
            cells = []
            for each in networks.errors(name).values():
                e = 100 * each
                cells.append(f"{e.mean():.2f}" + (f" ± {e.std(ddof=1):.2f}" if len(e) > 1 else ""))
            last_epoch, seconds = measures.as_trained(networks, name)
            rows.append([name, str(len(networks.groups[name])), *cells, f"{last_epoch:.2f}", f"{seconds:.1f}"])
    theirs = [
        ("VGG-like", published.N, f"{published.ERROR}", f"{published.ERROR_ON_TRAINING}"),
        ("VGG-like, original pictures", 125, f"{published.ERROR_ON_ORIGINAL}", ""),
    ]
    for kind, (error, original, _) in published.TABLE_2.items():
        both = f"{error:.2f} (original pictures: {original:.2f})"
        theirs.append((f"WideResNet-{kind.replace('x', '-')}", published.N_WIDE, both, ""))
    rows += [[f"v1, {name}", str(n), test, "", train, "", ""] for name, n, test, train in theirs]
    head = ["networks", "number", "test error, %", "control, %", "training pictures, %", "last epoch, %", "s each"]
    return table(head, rows)


def mean_T(networks: Networks) -> str:
    rows = []
    for family in networks.families():
        for name in networks.of(family):
            T = measures.average_T(networks, name)
            d, se = measures.test_minus_control(networks, name)
            cells = [f"{T[p].mean():+.5f} (z {z_of(T[p]):.1f})" if p in T else "" for p in ("test", "control", "train")]
            seen = f"{measures.least_found(se):.5f}"
            rows.append([name, str(len(networks.groups[name])), *cells, interval(d, se), f"{d / se:+.1f}", seen])
    head = ["networks", "number", "mean T, test", "control", "training pictures", "test minus control (95 %)", "z"]
    return table([*head, "would be found with power 0.8 from"], rows)


def p_values(networks: Networks) -> str:
    """Bernstein and betting for single networks and for averages of N: test, control, training pictures."""
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        for p in measures.p_values(networks, name):
            cells = []
            for mean, median, below in p.by.values():
                cells += [f"{mean:.3g}", f"{median:.3g}", f"{below:.2f}"]
            what = f"all {p.pictures:,} training" if p.part == "all" else p.part
            rows.append([name, str(p.size), what, str(p.count), *cells])
    many, none = str(published.N), ["", "", "", ""]
    for what, mean, median in (
        ("test", published.MEAN_P, f"{published.MEDIAN_P}"),
        ("all 50,000 training", published.MEAN_P_ON_TRAINING, ""),
        (f"CIFAR-10.1, {published.N_NEW:,}", published.NEW_MEAN_P, "1"),
    ):
        rows.append(["v1, VGG-like, its U", "1", what, many, f"{mean}", median, *none])
    head = ["networks", "N", "pictures", "p-values", "Bernstein: mean p", "median", "share below 0.05"]
    head += ["betting: mean p", "median", "share below 0.05"]
    return table(head, rows)


def by_size(networks: Networks) -> str:
    """v1, figure 11: p of all networks averaged on random subsets, and the control where v1 has CIFAR-10.1."""
    rows = []
    for family in networks.families():
        name = f"{family}-leak0"
        if len(networks.groups.get(name, {})) < 20:
            continue
        of = networks.average(name)
        for part in ("test", "control"):
            T = of[f"{part}/T"]
            found = [f"{mean:.3f} ± {half:.3f}" for mean, half in measures.p_by_size(T)]
            rows.append([name, str(len(networks.groups[name])), part, *found, f"{p_of(T, 'bernstein'):.3f}"])
    whole = f"{published.NEW_P_ALL} (the whole set)"
    rows.append(["v1, VGG-like, CIFAR-10.1, its U", f"{published.N}", "", "", whole, "", ""])
    return table(["networks", "N", "pictures", *(f"{n:,}" for n in SIZES), "all"], rows) if len(rows) > 1 else ""


def in_short(networks: Networks) -> str:
    """The numbers of v1 5.3 beside ours, from the networks that are trained best, and why they differ."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    n, found = len(networks.groups[name]), measures.of_v1(networks, name)

    def both(what: str, form: str) -> list[str]:
        return [format(v, form) for v in found[what].values()]

    fewer = "40,000 training pictures instead of 50,000"
    if more := measures.of_more_pictures(networks):
        count, pictures, points = more
        fewer += f": with {pictures:,} more, the test set, {points:.1f} points less on the control ({count} networks)"
    on_training = 100 * networks.errors(name)["train"].mean()
    rows = [
        ["networks", f"{published.N:,}", "", f"{n}", "", "GPU time"],
        ["error, %", f"{published.ERROR}", "", *both("error", ".2f"), fewer],
        ["error on training pictures, %", f"{published.ERROR_ON_TRAINING}", "", f"{on_training:.2f}", "",
         "another training, which fits less (v1 does not print its epochs)"],
        ["mean p of single networks, Bernstein with v1's U", f"{published.MEAN_P}", "", *both("mean p", ".2f"),
         "not known: trained otherwise (the two rows above), and v1 prints no T to compare"],
        ["their median", f"{published.MEDIAN_P}", "", *both("median p", ".2f"), "as above"],
        ["of these p = 1, %", f"{100 * published.SHARE_AT_1:.0f}", "", *both("p = 1", ".0f"), "as above"],
        ["p of all averaged, Bernstein with v1's U", f"{published.P_ALL}", "", *both("p of all", ".3f"),
         "as above; fewer networks do little (table 1)"],
        ["the same with the tight U", "", "", *both("p of all, tight U", ".3f"), ""],
        ["the same by betting", "", "", *both("p of all, betting", ".1g"), ""],
        ["mean p of single networks by betting", "", "", *both("mean p, betting", ".2f"), ""],
    ]  # fmt: skip
    if small := measures.as_few(networks, name):
        alone, together = small
        few, why = f"{N_SUBSETS} subsets of {published.N_NEW:,}", '"As few pictures as CIFAR-10.1 has" in the tables'
        at_1 = f"{100 * published.NEW_AT_1 / published.N:.0f} ({published.NEW_AT_1} of {published.N:,})"
        rows += [
            [
                f"{few}: mean p of single networks, v1's U",
                "",
                f"{published.NEW_MEAN_P}",
                "",
                f"{alone.mean():.3f}",
                why,
            ],
            [f"{few}: of these p = 1, %", "", at_1, "", f"{100 * np.mean(alone == 1):.0f}", why],
            [f"{few}: mean p of all averaged, v1's U", "", f"{published.NEW_P_ALL}", "", f"{together.mean():.3f}", why],
        ]
    if whole := measures.p_on_training(networks, name, p_by_v1):
        pictures, p = whole
        what = f"mean p on all training pictures (v1: 50,000; here {pictures:,}), v1's U"
        rows.append([what, f"{published.MEAN_P_ON_TRAINING}", "", f"{p:.3f}", "", ""])
    (test, test_train), (control, _) = measures.with_errors(networks, name).values()
    rows += [
        ["correlation of p, v1's U, with error on the same pictures, %", f"{published.CORRELATION['test']:+.1f}", "",
         f"{test:+.1f}", f"{control:+.1f}", "the control has it too: T and error of the same pictures, not selection"],
        ["with the error on training pictures, %", f"{published.CORRELATION['train']:+.1f}", "", f"{test_train:+.1f}",
         "", ""],
        ["mean T of all averaged", "", "", *both("mean T", "+.5f"), "v1 prints no T"],
        ["**mean T, test minus control (95 %)**", "", "",
         f"**{interval(*measures.test_minus_control(networks, name))}**", "", "no control in v1"],
    ]  # fmt: skip
    if matched := measures.among_as_hard(networks, name):
        rows.append(["the same among pictures that other networks find as hard", "", "", interval(*matched), "", ""])
    more = f", {networks.beside[name]} of them in experiments/leaks" if networks.beside[name] else ""
    head = ["", "v1, test set", "v1, CIFAR-10.1", "test set", "control", "why they differ"]
    return f"`{name}`, {n} networks of one setting{more}.\n\n{table(head, rows)}"


def must_hold(networks: Networks, folder: Path, audits: Audits) -> str:
    """What was asked of the study beforehand, what was found, and whether it holds."""
    name = f"{MAIN}-leak0"
    if name not in networks.groups:
        return ""
    n, error = len(networks.groups[name]), 100 * networks.errors(name)["test"].mean()
    away = abs(error - published.ERROR)
    rows = [
        [f"mean test error within 1.5 points of v1's {published.ERROR} %", f"{error:.2f} %", away <= 1.5],
        ["100 VGG-like networks with a control", f"{n}", n >= 100],
    ]
    if whole := measures.p_on_training(networks, name, p_of):
        _, p = whole
        rows.append(["all training pictures: mean p by `strongest` below 0.05", f"{p:.3f}", p < 0.05])
    count, weaker = measures.generators_on_training(folder)
    if count:
        strongest = weaker.pop("strongest")
        told = ", ".join(f"{rule} {p:.2f}" for rule, p in weaker.items())
        told += f" ({count} networks; `strongest` on these {strongest:.3f})"
        rows.append(["the weaker generators do not reject there", told, min(weaker.values()) >= 0.05])
    means = measures.by_number(networks, name)
    told = ", ".join(f"{p:.3f}" for p in means.values())
    falls = all(b <= a for a, b in itertools.pairwise(means.values()))
    rows.append([f"mean p on the test set falls with N ({', '.join(map(str, means))})", told, falls])
    rows += detected(networks, audits)
    if (folder / "brute.json").exists():
        read = [row for row in brute.compare(folder / "brute.json", [folder]) if "float16" in row[1]]
        told = f"{sum(k for *_, k in read)} of {sum(n for _, _, n, _ in read)} pictures of {len(read)} networks differ"
        rows.append(["T by brute force outside heldout, as the study rounds", told, not any(k for *_, k in read)])
    return table(["must hold", "found", ""], [[what, told, "yes" if holds else "**no**"] for what, told, holds in rows])


def detected(networks: Networks, audits: Audits) -> list[list[Any]]:
    """From which leak on every network of MAIN is found, by every draw of references and by T; how often below it."""
    n = len(networks.split["test_labels"])
    leaks = [networks.leak(name) for name in reversed(measures.leaked(networks))]
    rows = []
    for what, p_of_leak in (
        ("with three references (every network, every draw, 0.05)", lambda leak: audits.drawn(f"{MAIN}-leak{leak}")),
        ("by T (every network, 0.05)", lambda leak: audits.p(f"{MAIN}-leak{leak}", "T")),
    ):
        smallest, missed = found_from(leaks, p_of_leak)
        if smallest or missed:
            surely = f"from {100 * smallest / n:g} % on" if smallest else "never"
            told = ", ".join(f"{100 * leak / n:g} %: {found} of {count}" for leak, found, count in missed)
            told = (("; below, " if smallest else "; ") + told) if missed else ""
            rows.append([f"test pictures in training are found {what}", surely + told, smallest is not None])
    return rows


def references_told(audits: Audits, families: tuple[str, ...] = (MAIN, "vgg-shift-e52")) -> str:
    """How often references find a leak, over draws of them."""
    rows = []
    for family in families:
        for leak in (1000, 300, 100, 0):
            p = audits.drawn(f"{family}-leak{leak}")
            if p.size:
                found = Draws(p)
                each = ", ".join(map(str, found.each)) if leak else ""
                finer = f"{100 * found.finer:.0f}" if leak == 1000 else ""
                cells = [f"{100 * found.share:.0f} % of {found.audits:,}", each, finer]
                rows.append([f"`{family}`", f"{leak:,}", str(len(p)), str(found.count), *cells])
    head = ["networks", "leaked", "number", "draws of three references each", "audits found at 0.05"]
    return table([*head, "draws that find each network", "found at 0.001, %"], rows) if rows else ""


def positive_control(networks: Networks, audits: Audits) -> str:
    """Of MAIN's networks with test pictures in training: what T sees, and what the leak test with references does."""
    names, n = measures.leaked(networks), len(networks.split["test_labels"])
    if not names or f"{MAIN}-leak0" not in networks.groups:
        return ""
    rows = []
    for name in names:
        leak, points = networks.leak(name), measures.points(networks, name)
        cells = [f"{leak:,} ({100 * leak / n:g} %)", str(len(networks.groups[name])), f"{points:+.2f}"]
        cells.append(interval(*measures.test_minus_control(networks, name)))
        cells += [f"{p:.2g}" for p in measures.p_of_leak(networks, name)]
        p_T, drawn = audits.p(name, "T"), audits.drawn(name)
        cells += [f"{np.median(p_T):.2g}", f"{(p_T <= 0.05).sum()} of {len(p_T)}"] if len(p_T) else ["", ""]
        if drawn.size:
            found = Draws(drawn)
            every = f"{found.by_every} of {len(drawn)}"
            cells += [f"{np.median(drawn):.2g}", f"{found.each.sum()} of {found.audits}", every]
        else:
            cells += ["", "", ""]
        rows.append(cells)
    head = [
        "leaked",
        "networks",
        "test error, points",
        "T averaged: test minus control (95 %)",
        "p",
        "p, less honest T",
    ]
    head += ["single networks, T: median p", "found at 0.05"]
    head += [f"{VERDICT}: median p over draws", "audits found at 0.05", "networks found with every draw"]
    text = f"{MAIN}; p one-sided, by permutation within class; error against the honest networks."
    return f"{text}\n\n{table(head, rows)}"


def power_in_words(networks: Networks) -> str:
    """The difference of T that would have been found, in points of error, beside what leaks do to T and error."""
    name = f"{MAIN}-leak0"
    names = measures.leaked(networks)
    if name not in networks.groups or not names:
        return ""
    most = names[-1]
    (_, se), found = (measures.test_minus_control(networks, n) for n in (name, most))
    seen = measures.least_found(se)
    return (
        "Mean T is R_g - R_S, an error weighed by adversarial pictures less the error on the set (v1, section 3). So a "
        f"difference of {seen:.5f} between test set and control, which the {len(networks.groups[name])} honest "
        f"networks would have shown with power 0.8, is {100 * seen:.2f} points of error, if R_g stays where the true "
        f"error is. It does not: {networks.leak(most):,} test pictures in training lower the error on the test "
        f"set by {-measures.points(networks, most):.2f} points, and T, test minus control, is {interval(*found)} "
        f"({len(networks.groups[most])} networks). R_g falls with R_S where training moves the pictures."
    )


def near_in_words(folder: Path, labels: dict[str, np.ndarray], averages: dict[str, dict[str, np.ndarray]]) -> str:
    """How many pictures are like another, and T, test minus control, without them."""
    of = averages.get(f"{MAIN}-leak0")
    if of is None or not (folder / "near.npz").exists():
        return ""
    r, much, out = LIKE[0], " and ".join, nearby(folder)
    alike, across = (much(f"{(like[p] > r).sum():,}" for p in like) for like in in_pixels(folder))
    text = (
        f"Correlated above {r:g} with a training picture are {alike} pictures (test and control), with one of the "
        f"other of these two sets {across}. Without all of them T of `{MAIN}`, test minus control, is "
        f"{interval(*without(out['any', r], labels, of))}."
    )
    count, _ = to_networks(folder)
    if count:
        cut = [out["networks", share] for share in MOST]
        told = ", ".join(f"{without(o, labels, of)[0]:+.5f}" for o in cut)
        shares = ", ".join(f"{100 * share:g}" for share in MOST)
        whole = {p: np.zeros_like(v) for p, v in cut[0].items()}
        same = [
            beyond(without(o, labels, each)) == beyond(without(whole, labels, each))
            for each in averages.values()
            for o in cut
        ]
        most, T = cut[-1], {p: np.abs(of[f"{p}/T"]) for p in whole}
        part = sum(T[p][most[p]].sum() for p in T) / sum(v.sum() for v in T.values())
        text += (
            f" Without the {shares} % of pictures that {count} networks find most like a training picture it is "
            f"{told}; what is left out has little of T (of all |T| the last of these parts has {100 * part:.0f} %). "
            f"Over {len(averages)} settings, {sum(same)} of {len(same)} such intervals are above 0, below it or "
            "hold it just as the interval of all pictures does."
        )
    return text


def beyond(found: tuple[float, float]) -> int:
    """Whether an interval lies above 0 (1), below it (-1), or holds it."""
    d, se = found
    return int(np.sign(d)) if abs(d) > 1.96 * se else 0


def permuted(networks: Networks) -> str:
    """The headline once more by permutation: T of all honest networks, averaged."""
    lines = []
    for family in networks.families():
        name = f"{family}-leak0"
        if name in networks.groups:
            of = networks.average(name)
            result = measures.by_permutation(networks, [of["test/T"], of["control/T"]])
            lines.append(f"- {family}, {len(networks.groups[name])} networks: {result}")
    return "\n".join(lines)


def write(folder: Path, beside: Path | None = None) -> tuple[str, dict[str, str]]:
    """The text of tables.md, and what README.md has of it."""
    networks = Networks(folder, beside)
    audits, main = Audits(beside or folder), f"{MAIN}-leak0"
    labels = networks.labels()
    total = sum(map(len, networks.groups.values()))
    honest = {
        n: networks.average(n) for f in networks.families() if len(networks.groups.get(n := f"{f}-leak0", ())) >= 10
    }
    sections = [
        ("In short", in_short(networks)),
        ("What must hold", must_hold(networks, folder, audits)),
        ("Positive control: test pictures in training", positive_control(networks, audits)),
        ("How large an effect would have been seen", power_in_words(networks)),
        ("Table 1 of v1: p of N networks averaged", table_1(networks, main) if main in networks.groups else ""),
        ("Table 2 of v1: WideResNets", table_2(networks)),
        ("Errors", errors(networks)),
        ("Mean T, rule strongest, radius 2, models averaged", mean_T(networks)),
        ("Test minus control by permutation within class", permuted(networks)),
        ("p-values of honest networks, N averaged", p_values(networks)),
        ("p of single networks and their errors", with_error(networks)),
        (f"p of all networks averaged, {N_SUBSETS} random subsets of the pictures (Bernstein)", by_size(networks)),
        ("As few pictures as CIFAR-10.1 has", small_sets(networks, main) if main in networks.groups else ""),
        ("Other generators, radii and starts", generators(folder, labels)),
        ("Networks of the original pictures, with frames", frames(folder, labels)),
        ("Among pictures that other networks find as hard", as_hard(networks, honest)),
        (
            "Without pictures that are like a training picture or one of the other set",
            without_near(folder, labels, honest),
        ),
        ("Models of original and of rescaled pictures (v1 5.3.3)", similarity(folder, labels)),
    ]
    again = [f"- {key}: {n} pictures, {k} codes differ" for key, n, k in networks.recomputed]
    sections.append(("T from whole score maps, by heldout's own code", "\n".join(again)))
    if (folder / "brute.json").exists():
        read = brute.compare(folder / "brute.json", [folder])
        lines = [f"- {key}, {kind}: {n} pictures, T of {k} differs" for key, kind, n, k in read]
        sections.append(("T from weights and pictures, by brute force", "\n".join(lines)))
    text = [
        f"# {total} networks",
        "Made by tables.py from the files beside it and the honest networks of experiments/leaks, whose tables say "
        "which networks with a leak are found by which statistic.",
    ]
    page = {"in short": sections[0][1], "references": references_told(audits), "power": power_in_words(networks)}
    page["near"] = near_in_words(folder, labels, honest)
    return "\n\n".join(text + [f"## {name}\n\n{body}" for name, body in sections if body]) + "\n", page


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "results"
    if not any(folder.glob("networks-*.npz")):
        raise SystemExit(f"{folder} holds no networks-*.npz yet; study.py makes them.")
    text, page = write(folder, LEAKS if len(sys.argv) == 1 else None)
    (folder / "tables.md").write_text(text)
    if len(sys.argv) == 1:
        fill(HERE / "README.md", page)
    print(text)
