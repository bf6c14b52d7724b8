"""`heldout memorization curve`: finished models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heldout.checkpoints import CheckpointFolder
from heldout.checks import called, check_count
from heldout.cli.common import different, refuse_alone, refuse_idle, say
from heldout.cli.memorization_gate import check_fresh
from heldout.cli.memorization_groups import validation_groups
from heldout.cli.parser import Parser
from heldout.cli.pictures import add_model_options, add_pixel_options, check_effect, models_of, pictures
from heldout.cli.unfinished import checkpoints
from heldout.errors import InputError, did_you_mean
from heldout.groups import group_codes
from heldout.images import LabelledImages
from heldout.memorization.inputs import parse_strengths_of
from heldout.memorization.perturb import (
    CORRUPTIONS,
    PERTURBATIONS,
    Perturbation,
    RandomSpatial,
    Spatial,
    as_perturbation,
    usual_strengths,
)
from heldout.memorization.perturbed import answers, check_strengths, limited_text, perturbation_curve, subset
from heldout.memorization.result import Audited, MemorizationResult
from heldout.scorers import Scorer
from heldout.scorers.ways import settle_ways, ways_file

ALL = "corruptions"
EXAMPLES = """\
  heldout memorization curve --model a.onnx b.onnx --images train/ --perturbation spatial gaussian --strengths 0:8
  heldout memorization curve --model mymodels:net --images train.npz --perturbation fgsm fog --limit 2000
"""
DETAILS = """\
perturbations (--perturbation):
  spatial          the worst shift up to a pixels and turn up to a degrees, on a grid (--shifts, --turns); shifts of
                   whole pixels, and the worst so far, so that accuracy never rises with the strength
  spatial-random   the worst so far of a few at random (--random-moves)
  gaussian         noise; strengths in 1/255 of the pixel range
  fgsm             a step along the gradient's sign; strengths likewise; torch models only
  corruptions      all fifteen of Hendrycks and Dietterich, severities 0 to 5; or one by its name: fog, snow, ...

models (--model):        an ONNX file, or package.module:factory (torch, scikit-learn or a function)
pictures (--images):     a folder of class folders, a folder and a CSV (--labels), or an .npz file
strengths:               0:8 (steps of 1), 0:0.5:0.1 (from, to, step), 0,1,2,4; of one perturbation: gaussian=0:64:8
results (--out):         heldout-memorization unless another folder is given

exit codes: 0 fine, 1 a gap is larger than --fail-over, 2 bad input, 3 a bug in heldout,
            130 stopped (continue with --resume)
"""


def add_options(verb: Parser) -> None:
    """What can be asked of finished models."""
    verb.describe(
        "How far have these models memorised their training pictures? They are perturbed more and more, and accuracy "
        "falls sooner where a model knows them by heart.",
        usage="heldout memorization curve --model M ... --images PATH [options]",
        essential="--model --images --labels --perturbation --strengths --validation --limit --fail-over --out "
        "--format --resume",
        examples=EXAMPLES,
        details=DETAILS,
    )
    group = verb.add_argument_group("models and pictures")
    group.add_argument("--model", nargs="+", required=True, metavar="M", help="ONNX file or package.module:factory")
    group.add_argument(
        "--images", required=True, metavar="PATH", help="the pictures they were trained on, or some of them"
    )
    group.add_argument("--labels", metavar="FILE", help="CSV of file names and labels, or .npy beside an .npz")
    group.add_argument("--images-key", metavar="KEY", help="array in the .npz that holds the pictures")
    group.add_argument("--labels-key", metavar="KEY", help="array in the .npz that holds the labels")
    group.add_argument("--perturbation", nargs="+", default=[], metavar="P",
                        help="spatial, spatial-random, gaussian, fgsm, corruptions, or one of these, such as fog "
                        "(default spatial)")  # fmt: skip
    group.add_argument("--strengths", nargs="+", default=[], metavar="S",
                        help="from:to or from:to:step, of one perturbation gaussian=0:64:8 (default 0:8 for spatial "
                        "and fgsm, 0:64:8 for gaussian, 0:5 for corruptions)")  # fmt: skip
    group.add_argument("--pixel-range", type=float, nargs=2, metavar=("LOW", "HIGH"),
                        help="of the raw pixels; needed for floats, uint8 runs from 0 to 255")  # fmt: skip
    group.add_argument("--shifts", type=int, default=5, metavar="N", help="spatial: shifts each way (default 5)")
    group.add_argument("--turns", type=int, default=5, metavar="N", help="spatial: turns (default 5)")
    group.add_argument("--random-moves", type=int, default=10, metavar="K", help="spatial-random (default 10)")
    group.add_argument("--padding", choices=("black", "border"), default="black",
                        help="what comes in from outside a moved picture (default black)")  # fmt: skip
    group.add_argument("--allow-chance", action="store_true", help="continue although a model is no better than chance")
    group.add_argument("--audit", action="store_true",
                        help="also `heldout audit` on these pictures, which need room to move in")  # fmt: skip
    group.add_argument("--radius", type=int, default=2, metavar="PX", help="of the audit (default 2)")

    group.add_argument("--validation", metavar="PATH", help="fresh pictures, read as --images: adds the gap")
    group.add_argument("--validation-labels", metavar="FILE", help="as --labels, for --validation")
    group.add_argument("--batch-size", type=int, metavar="N", help="pictures at once (default: chosen for the model)")
    add_model_options(group)
    add_pixel_options(verb)


def measure(args: argparse.Namespace) -> MemorizationResult:
    """Curves of models as they are."""
    if args.validation is None:
        refuse_alone(args, ("validation_labels",), "--validation")
    if args.batch_size is not None:
        check_count(args.batch_size, "batch_size")
    check_effect(args, args.images, args.validation)
    ways = perturbations(args)
    _refuse_unused(args, {way.name for way, _ in ways})
    strengths = {way.name: np.array(values) for way, values in ways}
    models, _ = models_of(args)
    names = different(args.model, [model.name for model in models])
    for model in models:  # all of them before the first takes its time
        for way, _ in ways:
            way.check(model, strengths[way.name])
    images, fresh = _read(args, models[0])
    folder, _ = checkpoints(args)
    chosen = ways_file(CheckpointFolder(folder, of="run"), models)
    if choice := settle_ways(models, images, batch_size=args.batch_size, kept=chosen, say=say):
        chosen.save(choice)  # one choice for all curves of a model
    pixel_range = None if args.pixel_range is None else (args.pixel_range[0], args.pixel_range[1])
    curves, validation, audits = [], {}, {}
    for number, (name, model) in enumerate(zip(names, models, strict=True)):
        size = args.batch_size
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
                    batch_size=size,
                    allow_chance=args.allow_chance,
                    checkpoint=folder / f"{number}-{way.name}.npz",
                    notify=say,
                    progress=not args.quiet,
                )
            )
            size = curves[-1].batch_size  # smaller where the device ran out of memory
        if fresh is not None:
            rows = np.arange(len(fresh))
            validation[name] = answers(
                model,
                fresh,
                rows,
                batch_size=size,
                checkpoint=folder / f"{number}-validation.npz",
                label=name,
                notify=say,
                progress=not args.quiet,
            )[None]
        if args.audit:
            shown = images.take(subset(len(images), args.limit, args.seed))  # the very pictures of the curves
            audits[name] = audited(args, model, shown, folder / f"{number}-audit", size)
    return MemorizationResult.of(
        curves,
        validation=validation,
        validation_examples={} if fresh is None else dict.fromkeys(names, fresh.digest()),
        validation_groups={}
        if fresh is None or fresh.groups is None
        else dict.fromkeys(names, group_codes(fresh.groups, len(fresh))),
        audits=audits,
        source=called(args.images, getattr(images.source, "keys", ())),
        digest=images.digest(),
        preprocessing=images.preprocessing(),
        class_names=None if images.source.class_names is None else tuple(images.source.class_names),
        notes=limited_text(len(images), args.limit),
        seed=args.seed,
    )


def _refuse_unused(args: argparse.Namespace, perturbed: set[str]) -> None:
    """Refused is what would have no effect on these perturbations, or without --audit."""
    for option, name in {"shifts": "spatial", "turns": "spatial", "random_moves": "spatial-random"}.items():
        if name not in perturbed:
            refuse_idle(args, (option,), f"without --perturbation {name}")
    if not perturbed & {"spatial", "spatial-random"}:
        refuse_idle(args, ("padding",), "without --perturbation spatial or spatial-random")
    if not args.audit:
        refuse_idle(args, ("radius", "wrap"), "without --audit")


def _read(args: argparse.Namespace, model: Scorer) -> tuple[LabelledImages, LabelledImages | None]:
    """The training pictures, and fresh ones where --validation names some."""
    how: dict[str, Any] = {"images_key": args.images_key, "labels_key": args.labels_key, "need_room": args.audit}
    images = pictures(args, model, args.images, labels=args.labels, of="train", groups=args.groups, **how)
    if not args.validation:
        return images, None
    how |= {"first": images.source}
    fresh = pictures(args, model, args.validation, labels=args.validation_labels, of="validation", groups=None, **how)
    columns = getattr(fresh.source, "columns", {})
    fresh = replace(fresh, groups=validation_groups(args, fresh.ids, columns, images.ids))
    check_fresh(args, len(fresh))
    return images, fresh


def perturbations(args: argparse.Namespace) -> list[tuple[Perturbation, Sequence[float]]]:
    """What was asked for, with the strengths of each."""
    names: list[str] = []
    for name in args.perturbation or ["spatial"]:
        names += CORRUPTIONS if name == ALL else [name]
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in PERTURBATIONS:
            known = [*PERTURBATIONS, ALL]
            meant = did_you_mean(name, known) or f"; there are {', '.join(PERTURBATIONS)}, and {ALL} for the last 15."
            raise InputError(f"--perturbation {name}: there is no such perturbation{meant}")
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
    for_all = [text for text in texts if "=" not in text]
    if for_all and not any(way.even for way in ways):
        raise InputError(
            f"--strengths {for_all[0]} has no effect on {', '.join(names[:3])}, measured at the severities 0 to 5; "
            f"--strengths {names[0]}=0,3,5 chooses some."
        )
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


def audited(
    args: argparse.Namespace, model: Scorer, images: LabelledImages, folder: Path, batch_size: int | None
) -> Audited:
    """`heldout audit` on the training pictures, without a control."""
    from heldout.independence.audit import audit
    from heldout.orbit import Translations

    found = audit(
        model,
        images,
        orbit=Translations(args.radius),
        seed=args.seed,
        batch_size=batch_size,
        allow_frame_drop=True,  # the curves were taken in this frame; what it costs is printed
        checkpoint=folder,
        resume=args.resume and any(folder.glob("*")),
        notify=say,
        progress=not args.quiet,
    )
    effect = float(found.evidence.detectable_effect)
    return Audited(p_value=float(found.p_value), mean=float(np.mean(found.T)), detectable_effect=effect)
