"""The audit on a GPU against the bare model at the same batch size and precision.

python benchmarks/bench_gpu.py [--device cuda] [--small] [--only NAME ...] [--parts]
python benchmarks/bench_gpu.py --only "trained ResNet-20 bf16" --pictures test.npz --weights cifar10_resnet_weights.npz
python benchmarks/bench_gpu.py --photographs imagenet_sample_224.zip

Needs torch and the package's own source tree. Weights are random: speed does not depend on them, but what is asked for
does. Pictures are smooth noise, or for ResNet-50 the photographs of a zip file, enlarged; nine labels in ten are what
the model says. "JPEG" reads the same pictures from files, decoding included. "trained" are CIFAR-10's test pictures
(`x` and `y` of the file, or `x_test` and `y_test`), "all" the training pictures behind them in the same file, and the
ResNet-20 of `experiments/cifar10`. --parts says where the time goes, waiting for the device after every part.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from PIL import Image
from torch import nn

from heldout.images import Crop, Frame, LabelledImages, Pad, from_arrays, from_folder
from heldout.independence.rounds import Rounds, Shard, run_shard
from heldout.independence.score_maps import score_map_statistics
from heldout.orbit import Translations
from heldout.scorers import TorchScorer
from heldout.scorers.canvases import DeviceCanvases, canvases_for

GOAL = 0.85
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Bottleneck(nn.Module):
    """Of a ResNet-50."""

    def __init__(self, n_in: int, width: int, stride: int) -> None:
        super().__init__()
        n_out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(n_in, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, n_out, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        self.skip = nn.Sequential()
        if stride > 1 or n_in != n_out:
            self.skip = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    n_in = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(depth):
            layers.append(Bottleneck(n_in, width, stride if block == 0 else 1))
            n_in = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, 1000))


def vgg16() -> nn.Module:
    """With batch norms, for pictures of 32 px."""
    layers: list[nn.Module] = []
    n_in = 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if width:
            layers += [nn.Conv2d(n_in, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            n_in = width
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def resnet20() -> nn.Module:
    from experiments.cifar10.resnet import ResNet

    return ResNet(3)


@dataclass(frozen=True)
class Case:
    """One model, one precision."""

    name: str
    model: str
    side: int  # of the pictures
    frame: Frame
    radius: int
    n: int
    batch_size: int
    bf16: bool = False
    compile: bool = False
    jpeg: bool = False
    trained: bool = False


def trained_resnet20() -> nn.Module:
    from experiments.cifar10.resnet import resnet20

    return resnet20()


MODELS = {"ResNet-20": resnet20, "VGG-16": vgg16, "ResNet-50": resnet50}
SMALL = ("ResNet-20", 32, Pad(), 2, 20_000, 8192)
LARGE = ("ResNet-50", 256, Crop(224), 5, 1024, 256)
CASES = [
    Case("ResNet-20 fp32", *SMALL),
    Case("ResNet-20 bf16", *SMALL, bf16=True),
    Case("ResNet-50 bf16", *LARGE, bf16=True),
    Case("ResNet-50 bf16 JPEG", *LARGE, bf16=True, jpeg=True),
    Case("VGG-16 fp32", "VGG-16", *SMALL[1:4], 20_000, 4096),
    Case("VGG-16 bf16", "VGG-16", *SMALL[1:4], 20_000, 4096, bf16=True),
    Case("ResNet-50 fp32", *LARGE[:4], 512, 256),
    Case("ResNet-20 bf16 compiled", *SMALL[:4], 40_000, 8192, bf16=True, compile=True),
    Case("trained ResNet-20 fp32", *SMALL[:4], 10_000, 8192, trained=True),
    Case("trained ResNet-20 bf16", *SMALL[:4], 10_000, 8192, bf16=True, trained=True),
    Case("trained ResNet-20 compiled", *SMALL[:4], 10_000, 8192, bf16=True, compile=True, trained=True),
    Case("trained ResNet-20 fp32, all", *SMALL[:4], 60_000, 8192, trained=True),
    Case("trained ResNet-20 bf16, all", *SMALL[:4], 60_000, 8192, bf16=True, trained=True),
    Case("trained ResNet-20 compiled, all", *SMALL[:4], 60_000, 8192, bf16=True, compile=True, trained=True),
]


def settled(model: nn.Module, side: int, device: str) -> nn.Module:
    """With batch norms that have seen something."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    model = model.to(device).train()
    with torch.no_grad():
        for _ in range(5):
            model(torch.randn(32, 3, side, side, device=device))
    return model.eval()


def smooth_pictures(n: int, side: int) -> np.ndarray:
    """Noise whose neighbouring pixels are alike."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 256, (min(n, 512), 8, 8, 3), dtype=np.uint8)
    large = np.stack([np.asarray(Image.fromarray(x).resize((side, side), Image.Resampling.BICUBIC)) for x in few])
    pictures = large[np.arange(n) % len(large)]
    pictures[:, 0, 0, 0] = np.arange(n) % 256  # no two that are worked on together are quite the same
    return pictures


def photographs(path: Path, n: int, side: int) -> np.ndarray:
    """The first ones of a zip file, enlarged; again from the first on where it has fewer."""
    with zipfile.ZipFile(path) as f:
        names = [name for name in sorted(f.namelist()) if name.lower().endswith((".jpg", ".jpeg"))][:n]
        few = np.stack([np.asarray(Image.open(f.open(name)).convert("RGB").resize((side, side))) for name in names])
    return few[np.arange(n) % len(few)]


def test_pictures(path: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as f:
        x, y = ((f[name] if name in f.files else f[f"{name}_test"])[:n] for name in "xy")
    return x, y.astype(np.int64)


def as_files(pictures: np.ndarray, labels: np.ndarray, folder: Path) -> None:
    for i, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        (folder / f"{label:04d}").mkdir(exist_ok=True)
        Image.fromarray(picture).save(folder / f"{label:04d}" / f"{i:05d}.jpg", quality=90)


def bare_rate(scorer: TorchScorer, batch: torch.Tensor, seconds: float = 1.0) -> float:
    """Pictures a second of the prepared model on a batch that is there already."""
    done, started = 0, 0.0
    for repetition in range(10_000):
        if repetition == 3:
            synchronize(batch)
            done, started = 0, time.perf_counter()
        scorer.run(batch)
        done += len(batch)
        if repetition > 3 and repetition % 4 == 0:
            synchronize(batch)
            if time.perf_counter() - started > seconds:
                break
    return done / (time.perf_counter() - started)


def synchronize(batch: torch.Tensor) -> None:
    if batch.device.type == "cuda":
        torch.cuda.synchronize()


def made(case: Case, device: str, options: argparse.Namespace) -> tuple[nn.Module, np.ndarray, np.ndarray]:
    """The model, pictures and labels."""
    if case.trained:
        return trained_resnet20().to(device), *test_pictures(options.pictures, case.n)
    photographed = options.photographs if case.model == "ResNet-50" else None
    pictures = photographs(photographed, case.n, case.side) if photographed else smooth_pictures(case.n, case.side)
    images = LabelledImages(from_arrays(pictures, np.zeros(case.n, int)), case.frame, mean=MEAN, std=STD)
    torch.manual_seed(0)
    model = settled(MODELS[case.model](), images.place(0, 0).shape[0], device)
    plain = TorchScorer(model, device=device, batch_size=case.batch_size, bf16=case.bf16)
    few = np.arange(min(512, case.n))
    labels = np.concatenate([
        plain.logits(images.scaled(images.place_many(few[i : i + 256], 0), "nchw", counts=True)).argmax(axis=1)
        for i in range(0, len(few), 256)
    ])[np.arange(case.n) % len(few)]  # fmt: skip
    wrong = np.arange(case.n) % 10 == 0
    return model, pictures, np.where(wrong, (labels + 1) % (10 if case.side < 64 else 1000), labels)


def run(case: Case, device: str, options: argparse.Namespace) -> bool:
    """Print one line; whether the goal is met."""
    model, pictures, labels = made(case, device, options)
    scorer = TorchScorer(
        model, device=device, batch_size=case.batch_size, bf16=case.bf16, compile=case.compile
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        if case.jpeg:
            as_files(pictures, labels, Path(folder))
            source = from_folder(folder)
            source.labels = np.array([int(name.split("/")[0]) for name in source.ids])
        else:
            source = from_arrays(pictures, labels)
        images = LabelledImages(source, case.frame, mean=MEAN, std=STD)
        side = images.place(0, 0).shape[0]
        table = Translations(case.radius).table("strongest")
        warm = Shard(scorer, images, np.arange(min(case.n, 64)), table, "strongest", case.batch_size)
        run_shard(warm)
        batch = torch.randn(case.batch_size, 3, side, side, device=device)
        batch = batch.contiguous(memory_format=torch.channels_last)
        before = bare_rate(scorer, batch)
        seconds = []
        for _ in range(2 if case.side < 64 else 1):  # the first one finds memory, threads and kernels, as a user's does
            started = time.perf_counter()
            found = run_shard(Shard(scorer, images, np.arange(case.n), table, "strongest", case.batch_size))
            seconds.append(time.perf_counter() - started)
        elapsed = seconds[-1]
        bare = (before + bare_rate(scorer, batch)) / 2
        if options.parts:
            print_parts(Shard(scorer, images, np.arange(case.n), table, "strongest", case.batch_size), batch)
    rate = found.evaluations / elapsed
    met = rate / bare >= GOAL
    print(
        f"{case.name:31s} {scorer.precision:9s} batch {case.batch_size:5d}  bare {bare:11,.0f}/s  audit {rate:11,.0f}/s"
        f"  ratio {rate / bare:.3f} {'ok' if met else 'below':5s}  {found.evaluations / case.n:6.1f} evaluations a "
        f"picture  {case.n:,} pictures in {elapsed:.2f} s (at first {seconds[0]:.2f} s)",
        flush=True,
    )
    if case.model == "ResNet-20":
        print(
            f"{'':31s} T equal to the brute force bit for bit: {equals_brute_force(scorer, images, case)}", flush=True
        )
    return met


def print_parts(shard: Shard, batch: torch.Tensor) -> None:
    """The seconds of each part of one more run, the device waited for after every one."""
    seconds: dict[str, float] = defaultdict(float)
    times: dict[str, int] = defaultdict(int)

    def timed(of: Any, name: str, inner: tuple[str, ...] = ()) -> None:
        plain = getattr(of, name)

        def call(*args: Any) -> Any:
            before, started = sum(seconds[i] for i in inner), time.perf_counter()
            found = plain(*args)
            synchronize(batch)
            within = sum(seconds[i] for i in inner) - before
            seconds[name] += time.perf_counter() - started - within
            times[name] += 1
            return found

        setattr(of, name, call)

    started = time.perf_counter()
    rounds = Rounds(shard)
    for of, name, inner in (
        (rounds.canvases, "_windows", ()), (rounds.canvases, "put", ()), (shard.scorer, "run", ()),
        (rounds, "_admit", ("put",)), (rounds, "_ready", ()), (rounds, "_decide", ()), (rounds, "_settle", ()),
        (rounds, "_score", ("_windows", "run")),
    ):  # fmt: skip
        if hasattr(of, name):  # host canvases have other parts
            timed(of, name, inner)
    rounds.run()
    synchronize(batch)
    whole = time.perf_counter() - started
    del shard.scorer.run  # the timed one
    parts = "  ".join(f"{name} {seconds[name]:.3f} s/{times[name]}" for name in sorted(seconds, key=seconds.get)[::-1])
    print(f"{'':31s} {whole:.3f} s: {parts}  else {whole - sum(seconds.values()):.3f} s", flush=True)


def equals_brute_force(scorer: TorchScorer, images: LabelledImages, case: Case, n: int = 256) -> bool:
    """Whether the lazy T of some pictures is that of their whole score maps, and pixels are scaled to the same bits."""
    rows, table = np.arange(min(n, case.n)), Translations(case.radius).table("strongest")
    rounds = Rounds(Shard(scorer, images, rows, table, "strongest", case.batch_size))
    margin = int(table.versions.max())
    pixels = images.place_many(rows, margin)
    whole = canvases_for(scorer, images, margin=margin, n_slots=len(rows), batch_size=case.batch_size)
    whole.put(rows, rows, [whole.send(pixels)])
    here = images.scaled(pixels, "nhwc", counts=True)
    if isinstance(whole, DeviceCanvases) and not np.array_equal(here, whole._canvases.cpu().numpy()):
        print("pixels are scaled to other bits", flush=True)
    slots, positions = np.divmod(np.arange(len(rows) * table.n_positions), table.n_positions)
    scores = [
        whole.arrays.get(whole.scores(whole.arrays.put(slots[part]), whole.arrays.put(table.versions[positions[part]])))
        for part in np.split(np.arange(len(slots)), np.arange(case.batch_size, len(slots), case.batch_size))
    ]
    side = 2 * margin + 1
    expected = score_map_statistics(np.concatenate(scores).reshape(-1, side, side), radius=case.radius)
    rounds.run()
    return bool(np.array_equal(rounds.outcomes.statistic, expected))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a few pictures, to see that it runs")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--parts", action="store_true", help="where the time goes")
    parser.add_argument("--pictures", type=Path, help="CIFAR-10's, for the trained models")
    parser.add_argument("--photographs", type=Path, help="a zip file of JPEG files, for ResNet-50")
    parser.add_argument("--weights", help="of the trained models, instead of ../shared/data's")
    arguments = parser.parse_args()
    if arguments.weights:
        os.environ["HELDOUT_RESNET_WEIGHTS"] = arguments.weights
    name = torch.cuda.get_device_name() if arguments.device.startswith("cuda") else arguments.device
    print(f"{name}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}", flush=True)
    for each in CASES:
        if (arguments.only and each.name not in arguments.only) or (each.trained and not arguments.pictures):
            continue
        if arguments.small:
            each = Case(**{**vars(each), "n": 24, "batch_size": 8, "compile": False})
        run(each, arguments.device, arguments)
