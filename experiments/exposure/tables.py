"""What is in results/, as tables of README.md: `python -m experiments.exposure.tables`."""

from __future__ import annotations

import json
from pathlib import Path

from experiments import pages
from experiments.exposure.levels import LEVELS, TESTS
from experiments.exposure.worlds import OUT_OF_REACH

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"


def levels() -> str:
    """Shares of false alarms; those that are more than three standard errors too many in bold."""
    names = [f"{test}, {level:g}" if level == LEVELS[0] else f"{level:g}" for test in TESTS for level in LEVELS]
    out = [f"| world | correlation | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for row in map(json.loads, (HERE / "results" / "levels.jsonl").read_text().splitlines()):
        cells = []
        for test in TESTS:
            for level, rate in zip(LEVELS, row["rates"][test], strict=True):
                most = level + 3 * (level * (1 - level) / row["worlds"]) ** 0.5
                cells.append(f"**{rate:.3f}**" if rate > most else f"{rate:.3f}")
        name = row["world"] + (" (out of reach)" if row["world"] in OUT_OF_REACH else "")
        name += "" if row["worlds"] == 1000 else f" ({row['worlds']} tables)"
        out.append(f"| {name} | {row['correlation']:g} | {' | '.join(cells)} |")
    return "\n".join(out)


def effects() -> str:
    """Power, and coverage of the interval."""
    found = json.loads((HERE / "results" / "effects.json").read_text())
    out = ["| gain in logits | correlation | tables | margins | placebo | verdict |", "|---|---|---|---|---|---|"]
    for row in found["power"]:
        rates = " | ".join(f"{row['rates'][name]:.3f}" for name in ("margins", "placebo", "verdict"))
        out.append(f"| {row['gain']:g} | {row['correlation']:g} | {row['worlds']} | {rates} |")
    out += ["", "| gain in logits | tables | intervals that hold it | median estimate | median width |"]
    out += ["|---|---|---|---|---|"]
    for row in found["coverage"]:
        cells = f"{row['rate']:.3f} | {row['median']:.2f} | {row['median_width']:.2f}"
        out.append(f"| {row['gain']:g} | {row['worlds']} | {cells} |")
    return "\n".join(out)


def parts() -> dict[str, str]:
    """Both tables of README.md, by name."""
    return {"levels": levels(), "effects": effects()}


def main() -> None:
    pages.fill(README, parts())


if __name__ == "__main__":
    main()
