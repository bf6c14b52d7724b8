"""The honest model over many seeds: how often does the audit raise an alarm where there is nothing to find?

Each seed draws its own split, positions, first weights and order of examples, trains the demo's network on the
training part and audits it on the test part against the control, as `heldout demo` does.

    python experiments/demo/seeds.py --seeds 1 32 --workers 16
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from train import DATA, load_splits, to_onnx, train

from heldout import LabelledImages, Translations, audit
from heldout.images import Wrap, from_arrays
from heldout.scorers import OnnxScorer


def honest_audit(seed: int, data: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    splits = load_splits(data, rng=np.random.default_rng(seed))
    network = train(splits["train"], seed=seed)
    test, control = (LabelledImages(from_arrays(*splits[part]), Wrap()) for part in ("test", "control"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "honest.onnx"
        onnx.save(to_onnx(network, "honest"), path)
        result = audit(OnnxScorer(path, threads=1), test, orbit=Translations(2), control=control, seed=seed)
    plain = result.to_dict()
    kept = ("p_value", "test_error", "adversarial_estimate", "statistic")
    return {
        "seed": seed,
        **{key: plain[key] for key in kept},
        "betting": plain["p_values"]["betting"],
        "bernstein": plain["p_values"]["bernstein"],
        "control": {k: plain["control"][k] for k in ("p_two_sided", "p_error_rate", "invariance_p_value")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, nargs=2, default=(1, 32), metavar=("FIRST", "LAST"))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("seeds.json"))
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        seeds = range(args.seeds[0], args.seeds[1] + 1)
        for row in pool.map(honest_audit, seeds, [args.data] * len(seeds)):
            rows.append(row)
            print(json.dumps(row), flush=True)
            args.out.write_text(json.dumps(rows, indent=1) + "\n")
    alarms = {name: sum(r[name] <= 0.05 for r in rows) for name in ("p_value", "betting", "bernstein")}
    print(f"{len(rows)} honest models, alarms at 5 %: {alarms}")


if __name__ == "__main__":
    main()
