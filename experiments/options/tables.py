"""What is in results/, as tables of README.md: `python -m experiments.options.tables`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments import pages
from experiments.options.levels import ALPHAS, TESTS
from experiments.options.power import TESTS as POWER_TESTS
from experiments.options.worlds import WRONG_WAYS

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"


def _cell(rates: list[float | None], n: int) -> str:
    """Shares at both levels; those that are more than three standard errors too many in bold."""
    out = []
    for alpha, rate in zip(ALPHAS, rates, strict=True):
        if rate is None:
            return "–"
        most = alpha + 3 * (alpha * (1 - alpha) / n) ** 0.5
        out.append(f"**{rate:.4f}**" if rate > most else f"{rate:.4f}")
    return " / ".join(out)


def levels(*, valid: bool) -> str:
    """False alarms of what is valid, or of what is not."""
    out = [f"| world | benchmarks x items | {' | '.join(TESTS)} |", "|---" * (2 + len(TESTS)) + "|"]
    for row in map(json.loads, (HERE / "results" / "levels.jsonl").read_text().splitlines()):
        if (row["world"] not in WRONG_WAYS) != valid:
            continue
        cells = [_cell(row["rates"][test], row["benchmarks"]) for test in TESTS]
        out.append(f"| {row['world']} | {row['benchmarks']:,} x {row['items']:,} | {' | '.join(cells)} |")
    return "\n".join(out)


def power() -> str:
    """What was asked for, and the curve."""
    made = json.loads((HERE / "results" / "power.json").read_text())
    out = [f"| 500 items | benchmarks | {' | '.join(POWER_TESTS)} |", "|---" * (2 + len(POWER_TESTS)) + "|"]
    for row in made["asked"]:
        rates = " | ".join(f"{row['rates'][test]:.3f}" for test in POWER_TESTS)
        out.append(f"| {row['world']} | {row['benchmarks']:,} | {rates} |")
    shares = sorted({row["memorised"] for row in made["curve"]})
    out += ["", f"| orders beside the printed one | {' | '.join(f'{100 * share:g} % memorised' for share in shares)} |"]
    out.append("|---" * (1 + len(shares)) + "|")
    by_orders: dict[Any, list[str]] = {}
    for row in made["curve"]:
        by_orders.setdefault(row["orders"], []).append(f"{row['rates']['conditional']:.3f}")
    out += [f"| {'all 23' if orders == 'all' else orders} | {' | '.join(c)} |" for orders, c in by_orders.items()]
    return "\n".join(out)


def views() -> str:
    """False alarms on pictures."""
    made = json.loads((HERE / "results" / "views.json").read_text())
    names = list(made["rates"])
    out = [f"| test | {' | '.join(names)} |", "|---" * (1 + len(names)) + "|"]
    for test in made["rates"][names[0]]:
        cells = [_cell(made["rates"][name][test], made["sets"]) for name in names]
        out.append(f"| {test} | {' | '.join(cells)} |")
    return "\n".join(out)


def rounds() -> str:
    """Means and spreads of the draws after so many rounds."""
    rows = json.loads((HERE / "results" / "rounds.json").read_text())
    steps = [str(found[0]) for found in rows[0]["found"][:-1]]
    out = [f"| options | orders | as printed | {' | '.join(steps)} | by default |", "|---" * (4 + len(steps)) + "|"]
    for row in rows:
        cells = [f"{mean:.1f} ± {spread:.1f}" for _, mean, spread in row["found"]]
        cells[-1] = f"{row['found'][-1][0]}: {cells[-1]}"
        out.append(f"| {row['options']} | {row['orders']} | {row['observed']:.0f} | {' | '.join(cells)} |")
    return "\n".join(out)


def parts() -> dict[str, str]:
    """All tables of README.md, by name."""
    return {
        "levels": levels(valid=True),
        "wrong ways": levels(valid=False),
        "power": power(),
        "views": views(),
        "rounds": rounds(),
    }


def main() -> None:
    pages.fill(README, parts())


if __name__ == "__main__":
    main()
