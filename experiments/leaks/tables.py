"""Audits the networks of two stores where that is not done yet, and writes results/tables.md from what was found.

    PYTHONPATH=src:. python experiments/leaks/tables.py

The tables of README.md are filled, too. No torch is needed. All of it takes 40 minutes on one core, half a minute if
no network is new to tables.json and draws.json (audits.py).
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from experiments.leaks import measures
from experiments.leaks.audits import (
    DRAW_RESAMPLES,
    FINE,
    LOOKS,
    N_DRAWS,
    N_RESAMPLES,
    SIDES,
    VERDICT,
    audit_all,
    audit_all_draws,
)
from experiments.leaks.measures import LEVELS, leaks_of, share
from experiments.leaks.networks import HERE, POOL, STORES, Networks
from experiments.pages import fill, table
from heldout.files import write_text
from heldout.statistics.seen import Q

RESULTS = HERE / "results"
SHOWN = {  # in README.md
    "vgg-fixed-e23": "no shifts",
    "vgg-shift-e52": "crops",
    "vgg-pad4-e80": "usual shifts",
    "vgg-shift-e104": "crops, twice as long",
}
BRIEFLY = ("T", "error", "margin", "margin less 3 references", VERDICT, "margin less 1 reference, with tail",
           "margin less 3 of another architecture, with tail")  # fmt: skip


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
            found = measures.over_draws(networks, draws, family, leak)
            told = ", ".join(map(str, found.each)) if leak else f"{found.each.min()} to {found.each.max()}"
            finer = f"{100 * found.finer:.0f} %" if leak >= FINE else ""
            cells = [f"{100 * found.share:.0f} %", f"{found.by_every}", told, finer]
            rows.append([family, f"{leak:,}", f"{len(found.each)}", f"{found.count}", *cells])
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
        for look in LOOKS if honest else ():
            if k := measures.alarms(honest, look):
                most = measures.most_alarms(len(honest))
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
            cells = [" / ".join(f"{z:+.1f}" for z in measures.strength(audited.get(k, []), look)) for k in leaks]
            removed = measures.variance_removed([a for of in audited.values() for a in of], look)
            removes = f"{100 * removed:.0f} %" if "less" in look and not math.isnan(removed) else ""
            if any(cells):
                rows.append([family, look, *cells, removes])
    return table(["networks", "by", *(f"{leak:,} leaked" for leak in leaks), "variance taken off"], rows)


def numbers_of_references(networks: Networks, leak: int = 300, counts: tuple[int, ...] = (0, 1, 2, 3, 5, 10)) -> str:
    rows = []
    for family in (f for f in networks.families() if not networks.tried_out(f)):
        cells = []
        for count in counts:
            found = measures.with_references(networks, family, leak, count)
            cells.append("" if found is None else f"{found[0]:+.1f} / {found[1]:+.1f} ({100 * found[2]:.0f} %)")
        rows.append([family, str(leak), *cells])
    return table(["networks", "leaked", *(f"{c} reference{'s' * (c != 1)}" for c in counts)], rows)


def oracles(networks: Networks) -> str:
    rows = []
    for family in networks.families():
        if not networks.tried_out(family) and networks.of(family, 1000):
            ours, best = measures.oracle(networks, family, 300, (300, 1000))
            rows.append([family, "300", f"{ours:+.1f}", f"{best:+.1f}", f"{measures.share_found(best):.2f}"])
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
            number, lists = measures.seen_lists(networks, family, leak)
            if number:
                cells = [[f"{x.some}", f"{x.listed:.0f}", f"{x.right:.0f}", f"{x.wrong:.2f}"] for x in lists]
                rows.append([family, f"{leak:,}", str(number), *cells[0], *cells[1]])
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


def when(networks: Networks, family: str) -> str:
    return "chosen on these networks" if networks.chosen_on(family) else "fixed before these were trained"


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
            found = measures.over_draws(networks, draws, family, leak)
            every = f"; {found.by_every} of {len(found.each)}" if leak else ""
            cells.append(f"{100 * found.share:.0f} % of {found.audits:,}{every}")
        n = len(networks.labels["classes_test"])
        rows.append([f"{leak:,} ({100 * leak / n:g} %)", *cells])
    return table(["leaked", *SHOWN.values()], rows)


def fill_page(networks: Networks, found: dict[str, Any], draws: dict[str, Any]) -> None:
    made = {
        "networks": trained(networks),
        "what is found": what_is_found(networks, found),
        "other references": other_references(networks, draws),
    }
    fill(HERE / "README.md", made)


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
