"""Curves of `heldout memorization` from the trainings that are kept, and the accuracy under corruptions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from runs import NAMES, Noise, Runs
from trained import Trained, alike

from heldout import Curve
from heldout.memorization.retrained import does_not_fit

IMAGES = 2_000
N_RATES = 6  # of label noise, in the paper
UNITS = {
    "spatial": ("pixels and degrees, the worst of 125 moves", 1.0),
    "fgsm": ("of 255", 1.0),
    "gaussian": ("of 255", 8.0),
}


def unpacked(bits: np.ndarray) -> np.ndarray:
    return np.unpackbits(bits, axis=-1, count=IMAGES).astype(bool)


def noise_curves(name: str, found: Noise) -> list[Curve]:
    """PMV and PTV, as `heldout memorization` makes them of its own trainings."""
    setting = found.trained[0].record["setting"]
    shares = found.on_given.mean(axis=2)
    done = np.ones(shares.shape, dtype=bool)
    seeds = [t.seed for t in found.trained]
    common = {
        "model": name, "unit": "share of wrong labels", "strengths": found.rates, "done": done, "even": True, "seed": 0,
        "wrong": found.wrong, "examples": f"{setting['data']}, {found.wrong.shape[2]} images, seeds {seeds}",
        "unfit": does_not_fit(SimpleNamespace(pmv=shares, done=done, rates=found.rates), name),
    }  # fmt: skip
    return [Curve.of(perturbation="pmv", correct=found.on_given, **common),
            Curve.of(perturbation="ptv", correct=found.on_true, **common)]  # fmt: skip


def all_curves(runs: Runs) -> list[Curve]:
    found = []
    for name in NAMES:
        if (noise := runs.noise(name)) is not None:
            found += noise_curves(name, noise)
        for kind, (unit, step) in UNITS.items():
            if bits := runs.curves(name, kind):
                right = np.stack([unpacked(b) for b in bits], axis=1)
                data = runs.plain(name)[0].record["setting"]["data"]
                found.append(Curve.of(
                    model=name, perturbation=kind, unit=unit, strengths=step * np.arange(len(right)), correct=right,
                    done=np.ones(right.shape[:2], dtype=bool), even=True, seed=0, examples=f"{data}, {IMAGES} images",
                ))  # fmt: skip
    return found


def by_length(runs: Runs) -> dict[str, list[tuple[Noise, list[Curve]]]]:
    """PMV and PTV of networks that were trained at six rates for several numbers of epochs, the fewest first."""
    found = {}
    for name in NAMES:
        whole = [t for t in runs.of(name) if len(t.rates) == N_RATES]
        lengths = sorted({t.limit for t in whole if t.limit is not None})
        if len(lengths) > 1:
            several = [Noise.of([t for t in whole if t.limit == length]) for length in lengths]
            found[name] = [(noise, noise_curves(name, noise)) for noise in several]
    return found


def under_corruptions(runs: Runs) -> dict[str, list[tuple[Trained, np.ndarray]]]:
    """The trainings of each network that were tested under corruptions, and the bits; they may be older than others."""
    found = {}
    for name in NAMES:
        bits = {}
        for t in runs.of(name):
            own = t.get("curves/corruptions")
            bits[t] = runs.again(t, "corruptions") if own is None else own
        if several := [(t, bits[t]) for t in alike([t for t, b in bits.items() if b is not None])]:
            found[name] = several
    return found


def corruptions(runs: Runs) -> dict[str, np.ndarray]:
    """Per network (15, 6) accuracies, severity 0 first, mean over the seeds that have them."""
    found = {}
    for name, several in under_corruptions(runs).items():
        shares = []
        for t, bits in several:
            share = unpacked(bits).mean(axis=-1)
            clean = unpacked(t["curves/spatial"])[0].mean()
            shares.append(np.concatenate([np.full((len(share), 1), clean), share], axis=1))
        found[name] = np.mean(shares, axis=0)
    return found
