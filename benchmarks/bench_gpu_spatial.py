"""The spatial search of `memorization` on a GPU: pictures moved there against pictures moved here, and the bare model.

python benchmarks/bench_gpu_spatial.py [--device cuda] [--pictures 4096] [--batch-size 4096] [--small]

The same model, batches and device on both ways, so that answers must be equal one by one; one corruption likewise, and
how many pictures of a preflight get another answer in plain float32. Weights are random: speed does not depend on them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from bench_gpu import bare_rate, resnet20, settled, smooth_pictures, synchronize

from heldout import LabelledImages, Translations, audit, perturbation_curve
from heldout.images import Pad, Whole, from_arrays
from heldout.memorization.perturb import Spatial
from heldout.scorers import TorchScorer

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Counting(TorchScorer):
    """Counts what it is shown."""

    seen = 0
    gathers = True

    def run(self, batch: torch.Tensor) -> torch.Tensor:
        self.seen += len(batch)
        return super().run(batch)


class Here(Counting):
    """Pictures are moved and scaled in the memory of this process, as before."""

    gathers = False


def main(device: str, n: int, batch_size: int, strengths: list[float]) -> bool:
    torch.manual_seed(0)
    model = settled(resnet20(), 32, device)
    pixels = smooth_pictures(n, 32)
    bare_images = LabelledImages(from_arrays(pixels, np.zeros(n, int)), Whole(), mean=MEAN, std=STD)
    plain, fine = TorchScorer(model, device=device, batch_size=batch_size), True
    said = [
        plain.logits(bare_images.scaled(pixels[i : i + batch_size], "nchw", counts=True)).argmax(axis=1)
        for i in range(0, n, batch_size)
    ]
    labels = np.where(np.arange(n) % 10 == 0, (np.concatenate(said) + 1) % 10, np.concatenate(said))
    images = LabelledImages(from_arrays(pixels, labels), Whole(), mean=MEAN, std=STD)
    batch = torch.randn(batch_size, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)
    for bf16 in (False, True):
        options = {"device": device, "batch_size": batch_size, "bf16": bf16}
        bare = bare_rate(TorchScorer(model, **options), batch)
        for way, levels in ((Spatial(), strengths), ("contrast", None)):
            curves, told = [], []
            for kind in (Here, Counting):
                scorer = kind(model, **options)
                scorer.run(batch)  # which prepares it
                scorer.seen = 0
                synchronize(batch)
                started = time.perf_counter()
                curves.append(perturbation_curve(scorer, images, way, levels, allow_chance=True))
                rate = scorer.seen / (time.perf_counter() - started)
                told.append(f"{'there' if kind is Counting else 'here'} {rate:9,.0f}/s ({rate / bare:.3f} of bare)")
            same = bool(np.array_equal(curves[0].correct, curves[1].correct))
            fine &= same
            print(f"{scorer.precision:9s} {curves[0].perturbation:8s} bare {bare:9,.0f}/s  {'  '.join(told)}  "
                  f"equal answers: {same}", flush=True)  # fmt: skip
        framed = images.take(np.arange(min(n, 1000))).with_frame(Pad())
        control = LabelledImages(
            from_arrays(255 - pixels[: len(framed)], labels[: len(framed)]), Pad(), mean=MEAN, std=STD
        )
        found = audit(
            TorchScorer(model, **options),
            framed,
            control=control,
            orbit=Translations(1),
            allow_chance=True,
            n_resamples=99,
        )
        lines = dict(found.summary().lines)
        print(f"{lines['Precision']}; in float32: {lines.get('  In float32', 'nothing to count')}", flush=True)
    return fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pictures", type=int, default=4096)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--small", action="store_true", help="a few pictures, to see that it runs")
    arguments = parser.parse_args()
    on_gpu = arguments.device.startswith("cuda")
    name = torch.cuda.get_device_name() if on_gpu else arguments.device
    print(f"{name}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    few = (40, 8, [0, 1]) if arguments.small else (arguments.pictures, arguments.batch_size, [0, 1, 2, 3, 4])
    raise SystemExit(not main(arguments.device, *few))
