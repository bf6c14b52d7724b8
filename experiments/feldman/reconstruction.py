"""How many labels k exact answers give away for certain: the attack of section 4.2, which the paper leaves untried.

python experiments/feldman/reconstruction.py

For m = 2, 3, 10 classes and k queries, the largest t (on a geometric grid) whose labels come back, right and proved
unique, in most of five seeds, each within a time limit on one core. Beside it the t that Theorem 4.5 promises,
and the most that such answers determine by their entropy.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from heldout.attack.bounds import determined_labels, reconstructable
from heldout.attack.reconstruction import reconstruct

RESULTS = Path(__file__).parent / "results"
OUTSIDE = 10_000  # other points of the test set
SEEDS = 5


def attempt(m: int, k: int, t: int, seed: int, seconds: float) -> dict[str, float | bool | None]:
    rng = np.random.default_rng([m, k, t, seed])
    labels, queries = rng.integers(0, m, t), rng.integers(0, m, (k, t))
    shift = int(rng.integers(0, OUTSIDE))
    found = reconstruct(queries, (queries == labels).sum(axis=1) + shift, m, outside=OUTSIDE, time_limit=seconds)
    right = found.labels is not None and bool((found.labels == labels).all())
    return {"right": right, "unique": found.unique, "seconds": round(found.seconds, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="for finding, and again for proving")
    parser.add_argument("--queries", type=int, nargs="+", default=[10, 20, 40, 60, 80, 100])
    args = parser.parse_args()
    rows = []
    for m in (2, 3, 10):
        for k in args.queries:
            t, best, tried, failed = max(2, k // 8), 0, {}, 0
            while failed < 2:  # one unlucky t is not the end
                tries: list[dict] = []
                won = lost = 0
                while max(won, lost) <= SEEDS // 2:
                    tries.append(attempt(m, k, t, len(tries), args.seconds))
                    won = sum(bool(a["right"] and a["unique"]) for a in tries)
                    lost = len(tries) - won
                print(m, k, t, tries, flush=True)
                tried[t] = tries
                best, failed = (t, 0) if won > lost else (best, failed + 1)
                t = math.ceil(1.15 * t)
            beyond = tried[next(s for s in tried if s > best)]
            rows.append(
                {
                    "m": m,
                    "k": k,
                    "largest_t": best,
                    "stopped_by": "not unique" if any(a["unique"] is False for a in beyond) else "out of time",
                    "theorem_4_5": reconstructable(k, m),
                    "determined": round(determined_labels(k, m), 1),
                }
            )
            found = {"seconds": args.seconds, "seeds": SEEDS, "rows": rows}
            (RESULTS / "reconstruction.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
