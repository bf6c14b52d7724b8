"""The audit against the bare model: throughput, and evaluations saved by the lazy plan.

python benchmarks/bench_audit.py [--rounds 9]
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

import numpy as np
from common import alternate, resnet20, verdict

from heldout import LabelledImages, Translations, score_map_statistics
from heldout.images import Upsample, Wrap, from_arrays, from_npz
from heldout.independence.engine import Engine
from heldout.independence.plan import TranslationPlan
from heldout.scorers import OnnxScorer, Scorer, TorchScorer
from heldout.scorers.batches import excess_scores

RADIUS = 2


def engine_for(scorer: Scorer, images: LabelledImages) -> Engine:
    period = images.source.read(0).shape[:2] if images.frame.wraps else None
    plan = TranslationPlan(Translations(RADIUS), "strongest", period=period)
    return Engine(scorer, images, plan, np.arange(len(images)), batch_size=scorer.batch_size, fingerprint={})


def throughput(rounds: int) -> None:
    """Evaluations a second of the whole audit over those of the prepared model on ready batches."""
    import torch

    rng = np.random.default_rng(0)
    scorer = TorchScorer(resnet20())
    ready = torch.from_numpy(rng.normal(size=(scorer.batch_size, 3, 32, 32)).astype(np.float32))
    pictures = rng.integers(0, 256, (192, 32, 32, 3), dtype=np.uint8)
    images = LabelledImages(from_arrays(pictures, np.zeros(192, int)), Upsample(44, crop=32))
    logits = np.concatenate([scorer.logits(images.canvas(i, 0, "nchw")[None]) for i in range(192)])
    labels = logits.argmax(axis=1)  # a model that is right nine times in ten
    labels[::10] = (labels[::10] + 1) % 10
    images = LabelledImages(from_arrays(pictures, labels), Upsample(44, crop=32))
    module = scorer._prepared

    def bare() -> int:
        with torch.inference_mode():
            x = ready.contiguous(memory_format=torch.channels_last)
            for _ in range(128):
                module(x)
        return 128 * len(ready)

    def audited() -> int:
        engine = engine_for(scorer, images)
        while not engine.done:
            engine.step()
        # filled-up batches are work too, but not evaluations: count what the audit asked for
        return engine.evaluations

    audited()  # warm up
    rates = alternate({"bare": bare, "audit": audited}, rounds=rounds)
    ratios = rates["audit"] / rates["bare"]
    print(f"bare {np.median(rates['bare']):,.0f}/s, batch {scorer.batch_size}; ratios {np.sort(ratios).round(3)}")
    ratio = float(np.median(ratios))
    verdict("audit's evaluations/s over the bare model's, ResNet-20", ratio, ">= 0.90", ratio >= 0.90)


def laziness() -> None:
    """Evaluations a picture over the brute force's (6r+1)^2, on the demo's honest model, with equal T."""
    folder = Path(str(files("heldout") / "data"))
    images = LabelledImages(from_npz(folder / "demo.npz", images_key="test_images", labels_key="test_labels"), Wrap())
    scorer = OnnxScorer(folder / "honest.onnx")
    engine = engine_for(scorer, images)
    engine.run()
    reach = 3 * RADIUS
    shifts = [(d, r) for d in range(-reach, reach + 1) for r in range(-reach, reach + 1)]
    maps = np.empty((len(images), len(shifts)))
    crops = np.stack([images.canvas(i, 0, "nchw") for i in range(len(images))])
    size = scorer.batch_size
    for k, shift in enumerate(shifts):
        moved = np.roll(crops, shift, axis=(2, 3))
        for start in range(0, len(images), size):
            batch = moved[start : start + size]
            filled = np.concatenate([batch, np.repeat(batch[:1], size - len(batch), axis=0)])
            labels = images.labels[start : start + size]
            maps[start : start + size, k] = excess_scores(
                scorer.logits(filled)[: len(batch)], labels, list(images.ids[start : start + size])
            )
    brute = score_map_statistics(maps.reshape(-1, 2 * reach + 1, 2 * reach + 1), radius=RADIUS, rule="strongest")
    same = bool(np.array_equal(brute, engine.outcomes.statistic))
    per_image = engine.evaluations / len(images)
    print(f"{per_image:.2f} evaluations a picture, brute force {len(shifts)}; T equal bit for bit: {same}")
    ratio = per_image / len(shifts)
    verdict("evaluations over brute force, demo's honest model, r = 2", ratio, "<= 0.25", ratio <= 0.25 and same)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    throughput(arguments.rounds)
    laziness()
