"""`heldout memorization`."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_seed
from heldout.cli.common import EXIT_BAD_INPUT, EXIT_FINE, add_output, make_folder, say, show
from heldout.cli.pictures import add_pixel_options, frame_of, groups_of, labelled, scorer_options
from heldout.errors import InputError
from heldout.files import Npz
from heldout.groups import group_codes, resolve_groups
from heldout.images import LabelledImages, open_source
from heldout.images.sources import MAX_PIXELS
from heldout.memorization.inputs import (
    as_training,
    for_training,
    parse_strengths,
    parse_strengths_of,
    read_training_set,
)
from heldout.memorization.perturb import (
    CORRUPTIONS,
    PERTURBATIONS,
    Perturbation,
    RandomSpatial,
    Spatial,
    as_perturbation,
    usual_strengths,
)
from heldout.memorization.perturbed import answers, check_strengths, perturbation_curve, subset
from heldout.memorization.result import Audited, MemorizationResult
from heldout.memorization.retrain import check_rates
from heldout.memorization.retrained import label_noise_curve
from heldout.scorers import Scorer, load_scorer
from heldout.scorers.base import load_object

ALL = "corruptions"
EPILOG = """\
finished models, whose training pictures are perturbed (--model, --images):
  spatial          the worst shift up to a pixels and turn up to a degrees, on a grid (--shifts, --turns); shifts of
                   whole pixels, and the worst so far, so that accuracy never rises with the strength
  spatial-random   the worst so far of a few at random (--random-moves)
  gaussian         noise; strengths in 1/255 of the pixel range
  fgsm             a step along the gradient's sign; strengths likewise; torch models only
  corruptions      all fifteen of Hendrycks and Dietterich, severities 0 to 5; or one by its name: fog, snow, ...
training methods, which are retrained on labels that are more and more wrong (--train, --data):
  PMV              accuracy on the labels trained on; a model that memorises keeps it
  PTV              accuracy on the true labels; a model that memorises loses it
                   (a method that does not fit the labels it is trained on is named, and not ranked by them)

models (--model):        an ONNX file, or package.module:factory (torch, scikit-learn or a function)
trainings (--train):     package.module:name, a scikit-learn estimator or a function (x, y, seed) -> predictor
pictures (--images):     a folder of class folders, a folder and a CSV (--labels), or an .npz file
strengths:               0:8 (steps of 1), 0:0.5:0.1 (from, to, step), 0,1,2,4; of one perturbation: gaussian=0:64:8
results (--out):         heldout-memorization unless another folder is given

examples:
  heldout memorization --model a.onnx b.onnx --images train/ --perturbation spatial gaussian --strengths 0:8
  heldout memorization --model mymodels:net --images train.npz --perturbation fgsm fog --limit 2000
  heldout memorization --train mytraining:train --data train.npz --label-noise 0:0.5:0.1 --n-jobs 2

exit codes: 0 fine, 2 bad input or a training that failed, 3 a bug in heldout, 130 stopped (continue with --resume)
"""


MODEL_ONLY = {
    "images": None, "labels": None, "images_key": None, "labels_key": None, "perturbation": [], "strengths": [],
    "pixel_range": None, "shifts": 5, "turns": 5, "random_moves": 10, "padding": "black", "audit": False, "radius": 2,
    "allow_chance": False, "resize": None, "crop": None, "upsample": None, "wrap": False, "mean": [0.0], "std": [1.0],
    "scale": None, "bgr": False, "channels": None, "max_pixels": MAX_PIXELS,
    "validation_labels": None, "batch_size": None, "device": None,
    "bf16": False, "interpolation": "bilinear",
}  # fmt: skip
TRAIN_ONLY = {
    "data": None, "x_key": None, "y_key": None, "label_noise": "0:0.5:0.1", "repetitions": 5, "classes": None,
    "n_jobs": 1, "threads": 1, "no_seed_check": False,
}  # fmt: skip


def add_memorization(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser(
        "memorization",
        help="how far has a model memorised its training set?",
        description="How far has a model memorised its training set? Perturbs it more and more and sees how accuracy "
        "falls; no holdout is needed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    models = verb.add_argument_group("finished models")
    models.add_argument("--model", nargs="+", default=[], metavar="M", help="ONNX file or package.module:factory")
    models.add_argument("--images", metavar="PATH", help="the pictures they were trained on, or some of them")
    models.add_argument("--labels", metavar="FILE", help="CSV of file names and labels, or .npy beside an .npz")
    models.add_argument("--images-key", metavar="KEY", help="array in the .npz that holds the pictures")
    models.add_argument("--labels-key", metavar="KEY", help="array in the .npz that holds the labels")
    models.add_argument("--perturbation", nargs="+", default=[], metavar="P",
                        help="see below (default spatial)")  # fmt: skip
    models.add_argument("--strengths", nargs="+", default=[], metavar="S",
                        help="default 0:8 (spatial, fgsm), 0:64:8 (gaussian), 0:5 (corruptions)")  # fmt: skip
    models.add_argument("--pixel-range", type=float, nargs=2, metavar=("LOW", "HIGH"),
                        help="of the raw pixels; needed for floats, uint8 runs from 0 to 255")  # fmt: skip
    models.add_argument("--shifts", type=int, default=5, metavar="N", help="spatial: shifts each way (default 5)")
    models.add_argument("--turns", type=int, default=5, metavar="N", help="spatial: turns (default 5)")
    models.add_argument("--random-moves", type=int, default=10, metavar="K", help="spatial-random (default 10)")
    models.add_argument("--padding", choices=("black", "border"), default="black",
                        help="what comes in from outside a moved picture (default black)")  # fmt: skip
    models.add_argument(
        "--allow-chance", action="store_true", help="continue although a model is no better than chance"
    )
    models.add_argument("--audit", action="store_true",
                        help="also `heldout audit` on these pictures, which need room to move in")  # fmt: skip
    models.add_argument("--radius", type=int, default=2, metavar="PX", help="of the audit (default 2)")

    add_pixel_options(verb)

    trainings = verb.add_argument_group("training methods")
    trainings.add_argument("--train", nargs="+", default=[], metavar="T", help="package.module:name")
    trainings.add_argument("--data", metavar="FILE", help=".npz with the training set, x and y")
    trainings.add_argument("--x-key", metavar="KEY", help="array that holds the examples")
    trainings.add_argument("--y-key", metavar="KEY", help="array that holds the labels")
    trainings.add_argument("--label-noise", default="0:0.5:0.1", metavar="R", help="rates (default 0:0.5:0.1)")
    trainings.add_argument("--repetitions", type=int, default=5, metavar="N", help="trainings per rate (default 5)")
    trainings.add_argument("--classes", type=int, metavar="M", help="labels are 0 to M - 1 (default: those that occur)")
    trainings.add_argument("--n-jobs", type=int, default=1, metavar="J", help="workers (default 1; -1: all cores)")
    trainings.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each training (default 1)")
    trainings.add_argument("--no-seed-check", action="store_true",
                           help="do not do one training twice to see whether it repeats itself")  # fmt: skip

    run = verb.add_argument_group("running and reporting")
    run.add_argument("--limit", type=int, metavar="N", help="use a random subset (seeded) of the training set")
    run.add_argument("--validation", metavar="PATH", help="fresh examples, read as --images or --data: adds the gap")
    run.add_argument("--groups", metavar="G",
                     help="examples that depend on each other: a CSV file (id,group), an array of the .npz file, or a "
                     "regular expression on file names; intervals are then for groups drawn anew")  # fmt: skip
    run.add_argument("--validation-labels", metavar="FILE", help="as --labels, for --validation")
    run.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    run.add_argument("--batch-size", type=int, metavar="N")
    run.add_argument("--device", default=None, help="cpu (default) or cuda")
    run.add_argument("--bf16", action="store_true", help="torch models: bfloat16 autocast")
    add_output(run)
    run.add_argument("--resume", action="store_true", help="continue the unfinished work in --out")
    verb.set_defaults(command=run_memorization, out=Path("heldout-memorization"))  # unfinished work has to go somewhere


def run_memorization(args: argparse.Namespace) -> int:
    """`heldout memorization`."""
    if bool(args.model) == bool(args.train):
        raise InputError("give either --model and --images, or --train and --data.")
    if args.model and not args.images:
        raise InputError("--model needs the pictures it was trained on: --images.")
    if args.train and not args.data:
        raise InputError("--train needs a training set: --data train.npz.")
    check_seed(args.seed)
    refuse_idle_options(args)
    if args.validation_labels and not args.validation:
        raise InputError("--validation-labels goes with --validation.")
    result = finished_models(args) if args.model else trained_anew(args)
    show(result, args)
    if not result.failures:  # else --resume, once the training is repaired, does only what failed
        shutil.rmtree(args.out / "checkpoint", ignore_errors=True)
    if result.failures:
        say(
            f"heldout: {len(result.failures)} trainings failed, first {result.failures[0]}. The others are kept: "
            "repair it and continue with --resume."
        )
        return EXIT_BAD_INPUT
    return EXIT_FINE


def refuse_idle_options(args: argparse.Namespace) -> None:
    """Options of the other half would do nothing, which nobody who gives them expects."""
    which, owner, idle = ("--train", "--model", MODEL_ONLY) if args.train else ("--model", "--train", TRAIN_ONLY)
    given = [name for name, default in idle.items() if getattr(args, name) != default]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')} goes with {owner}; it does nothing with {which}.")
    if args.batch_size is not None and args.batch_size < 1:
        raise InputError(f"--batch-size {args.batch_size}: give 1 or more.")


def checkpoints(args: argparse.Namespace) -> Path:
    """The folder of unfinished work, which must be there to go on with and not be there to begin."""
    make_folder(args.out)
    folder: Path = args.out / "checkpoint"
    unfinished = folder.exists() and any(folder.rglob("*.npz"))
    if unfinished and not args.resume:
        raise InputError(f"{folder} holds unfinished work; continue with --resume, or delete it to start again.")
    if args.resume and not unfinished:
        say("there is nothing to resume: starting from the beginning.")
    if unfinished and args.train:
        say("continuing; of a training function only the name is compared, not what it does.")
    return folder


def finished_models(args: argparse.Namespace) -> MemorizationResult:
    """Curves of models as they are."""
    ways = perturbations(args)
    strengths = {way.name: np.array(values) for way, values in ways}
    models = [load_scorer(spec, **scorer_options(args)) for spec in args.model]
    names = different(args.model, [model.name for model in models])
    for model in models:  # all of them before the first takes its time
        for way, _ in ways:
            way.check(model, strengths[way.name])
    channels = args.channels or getattr(models[0], "channels", None) or 3

    def pictures(path: str, labels: str | None, class_names: Sequence[str] | None = None) -> LabelledImages:
        source = open_source(
            path,
            labels=labels,
            images_key=args.images_key,
            labels_key=args.labels_key,
            channels=channels,
            class_names=class_names,
            max_pixels=args.max_pixels,
        )
        shape = source.read(0).shape
        frame = frame_of(args, models[0], shape, need_room=args.audit)
        return labelled(args, source, frame, groups_of(source, args.groups))

    images = pictures(args.images, args.labels)
    fresh = None
    if args.validation:
        fresh = pictures(args.validation, args.validation_labels, images.source.class_names)
    folder = checkpoints(args)
    pixel_range = None if args.pixel_range is None else (args.pixel_range[0], args.pixel_range[1])
    curves, validation, audits = [], {}, {}
    for number, (name, model) in enumerate(zip(names, models, strict=True)):
        for way, values in ways:
            curves.append(
                perturbation_curve(
                    model,
                    images,
                    way,
                    values,
                    name=name,
                    pixel_range=pixel_range,
                    limit=args.limit,
                    seed=args.seed,
                    batch_size=args.batch_size,
                    allow_chance=args.allow_chance,
                    checkpoint=folder / f"{number}-{way.name}.npz",
                    progress=True,
                )
            )
        if fresh is not None:
            rows = np.arange(len(fresh))
            validation[name] = answers(model, fresh, rows, batch_size=args.batch_size)[None]
        if args.audit:
            shown = images.take(subset(len(images), args.limit, args.seed))  # the very pictures of the curves
            audits[name] = audited(args, model, shown, folder / f"{number}-audit")
    return MemorizationResult.of(
        curves,
        validation=validation,
        validation_examples={} if fresh is None else dict.fromkeys(names, fresh.digest()),
        validation_groups={}
        if fresh is None or fresh.groups is None
        else dict.fromkeys(names, group_codes(fresh.groups, len(fresh))),
        audits=audits,
        source=args.images,
        digest=images.digest(),
        preprocessing=images.preprocessing(),
        class_names=None if images.source.class_names is None else tuple(images.source.class_names),
        seed=args.seed,
    )


def perturbations(args: argparse.Namespace) -> list[tuple[Perturbation, Sequence[float]]]:
    """What was asked for, with the strengths of each."""
    names: list[str] = []
    for name in args.perturbation or ["spatial"]:
        names += CORRUPTIONS if name == ALL else [name]
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in PERTURBATIONS:
            raise InputError(f"--perturbation {name}: there are {', '.join(PERTURBATIONS)}, and {ALL} for the last 15.")
    texts = [
        f"{name}={text.partition('=')[2]}"
        for text in args.strengths
        if text.startswith(f"{ALL}=")
        for name in CORRUPTIONS
    ]
    texts += [text for text in args.strengths if not text.startswith(f"{ALL}=")]
    given = parse_strengths_of(texts, names)
    own: dict[str, Perturbation] = {
        "spatial": Spatial(shifts=args.shifts, turns=args.turns, padding=args.padding),
        "spatial-random": RandomSpatial(count=args.random_moves, padding=args.padding),
    }
    ways = [own.get(name) or as_perturbation(name) for name in names]
    explicit = {text.rpartition("=")[0] for text in texts}
    found: list[tuple[Perturbation, Sequence[float]]] = []
    for way in ways:
        # A range for all perturbations does not fit severities, which end at 5.
        usual = way.name not in given or (not way.even and way.name not in explicit)
        if usual and way.name in given:
            say(f"{way.name} is measured at the severities 0 to 5; --strengths {way.name}=0,3,5 chooses others.")
        values = usual_strengths(way) if usual else given[way.name]
        check_strengths(values)
        found.append((way, values))
    return found


def groups_of_rows(args: argparse.Namespace, path: str, n: int) -> NDArray[Any] | None:
    """The group of each example of an .npz file, which are called by their numbers, where --groups says so."""
    if args.groups is None:
        return None
    with Npz(path) as arrays:
        columns = {key: arrays[key] for key in arrays if arrays.shape(key) == (n,)}
    return resolve_groups(args.groups, [str(i) for i in range(n)], columns)


def different(specs: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names that tell models apart: their own, or else what was typed."""
    found = [spec if list(names).count(name) > 1 else name for spec, name in zip(specs, names, strict=True)]
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"{twice} is given more than once; every model needs a name of its own.")
    return found


def audited(args: argparse.Namespace, model: Scorer, images: LabelledImages, folder: Path) -> Audited:
    """`heldout audit` on the training pictures, without a control."""
    from heldout.independence.audit import audit
    from heldout.orbit import Translations

    found = audit(
        model,
        images,
        orbit=Translations(args.radius),
        seed=args.seed,
        batch_size=args.batch_size,
        allow_frame_drop=True,  # the curves were taken in this frame; what it costs is printed
        checkpoint=folder,
        resume=args.resume and any(folder.glob("*")),
        notify=say,
        progress=True,
    )
    effect = float(found.evidence.detectable_effect)
    return Audited(p_value=float(found.p_value), mean=float(np.mean(found.T)), detectable_effect=effect)


def trained_anew(args: argparse.Namespace) -> MemorizationResult:
    """Curves of methods that are trained on noisy labels."""
    rates = parse_strengths(args.label_noise, option="--label-noise")
    check_rates(rates)
    sys.path.insert(0, os.getcwd())  # for workers too, which import the user's module anew
    trainings = [as_training(load_object(spec, "--train")) for spec in args.train]
    names = different(args.train, [spec.partition(":")[2] for spec in args.train])
    x, y = read_training_set(args.data, x_key=args.x_key, y_key=args.y_key)
    fresh: tuple[NDArray[Any], NDArray[Any]] | None = None
    if args.validation:
        fresh = read_training_set(args.validation, x_key=args.x_key, y_key=args.y_key)
    rows = subset(len(y), args.limit, args.seed)
    groups = groups_of_rows(args, args.data, len(y))
    held_groups = None if fresh is None else groups_of_rows(args, args.validation, len(fresh[1]))
    x, y = x[rows], y[rows]
    folder = checkpoints(args)
    curves = [
        label_noise_curve(
            train,
            (for_training(train, x), y),
            rates,
            name=name,
            classes=args.classes,
            repetitions=args.repetitions,
            seed=args.seed,
            validation=None if fresh is None else (for_training(train, fresh[0]), fresh[1]),
            groups=None if groups is None else groups[rows],
            validation_groups=held_groups,
            n_jobs=args.n_jobs,
            threads=args.threads,
            check_seed=not args.no_seed_check,
            checkpoint=folder / f"{number}-{re.sub(r'[^A-Za-z0-9_.]', '-', args.train[number])}",
            progress=True,
        )
        for number, (name, train) in enumerate(zip(names, trainings, strict=True))
    ]
    import joblib

    return MemorizationResult.of(curves, source=args.data, digest=joblib.hash((x, y))[:16], seed=args.seed)
