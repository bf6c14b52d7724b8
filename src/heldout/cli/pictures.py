"""Options that say how a picture reaches a model, shared by the verbs that show pictures to models."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from heldout.cli.common import refuse_idle, say
from heldout.cli.grouping import named_groups
from heldout.errors import InputError
from heldout.images import Crop, Frame, ImageSource, LabelledImages, Pad, Upsample, Whole, Wrap, open_source
from heldout.images.class_order import BY_VALUE, may_be_shifted
from heldout.images.frames import PAD_MODES
from heldout.images.readers import called_by_numbers
from heldout.images.sources import MAX_PIXELS, FileSource
from heldout.scorers import Scorer, load_scorer


def add_pixel_options(verb: Any, *, pad: bool = False) -> None:
    """Frame, scale and channels; `pad` for verbs that compare with a control, which padded pictures need."""
    pixels = verb.add_argument_group("how a picture reaches the model")
    pixels.add_argument("--resize", type=int, metavar="PX", help="resize the short side")
    pixels.add_argument("--crop", type=int, metavar="PX", help="cut the centre")
    if pad:
        pixels.add_argument("--pad", choices=PAD_MODES, help="small pictures: continue them beyond their edges; "
                            "zero is black, before mean and std (needs --control)")  # fmt: skip
    pixels.add_argument(
        "--upsample", type=int, metavar="PX", help="enlarge pictures, for models trained on enlarged ones"
    )
    pixels.add_argument("--wrap", action="store_true", help="shift cyclically")
    pixels.add_argument("--interpolation", choices=("bilinear", "bicubic"), default="bilinear",
                        help="of --resize and --upsample (default bilinear)")  # fmt: skip
    pixels.add_argument("--mean", type=float, nargs="+", default=[0.0], metavar="X", help="per channel, after scaling")
    pixels.add_argument("--std", type=float, nargs="+", default=[1.0], metavar="X", help="per channel, after scaling")
    pixels.add_argument("--scale", type=float, metavar="X", help="pixels times this (default 1/255 for uint8, else 1)")
    pixels.add_argument("--bgr", action="store_true", help="the model wants blue first")
    pixels.add_argument("--channels", type=int, choices=(1, 3), help="read picture files as grey or RGB")
    add_max_pixels(pixels)
    add_classes_by(pixels)


def add_model_options(group: Any) -> None:
    """Where and how models are run, which `models_of` reads."""
    group.add_argument("--device", default=None, help="cpu (default) or cuda")
    group.add_argument("--bf16", action="store_true", help="torch models: bfloat16 autocast")
    group.add_argument(
        "--compile",
        nargs="?",
        choices=("torch", "onnx", "auto"),
        const="torch",
        metavar="HOW",
        help="torch models: torch.compile, a minute before it begins; onnx: ONNX Runtime, on a CPU; auto: the fastest "
        "in a trial, which may change the last bits from run to run",
    )


def add_classes_by(group: Any) -> None:
    """The order of classes that are called by numbers."""
    group.add_argument(
        "--classes-by",
        choices=("number", "name", "value"),
        help="number classes called 1, 2, ..., 10 from 0 in the order of these numbers, or of their names as text (1, "
        "10, 2), as torchvision does; needed where the two differ. value: class 10 is the one called 10",
    )


def add_max_pixels(group: Any) -> None:
    """The size of picture files that are read."""
    group.add_argument(
        "--max-pixels",
        type=int,
        default=MAX_PIXELS,
        metavar="N",
        help=f"refuse picture files of more pixels (default {MAX_PIXELS:,})",
    )


def check_effect(args: argparse.Namespace, *paths: str | None) -> None:
    """Refuse options of picture files where all pictures are arrays, of arrays where all are files, and idle keys."""
    given = [Path(path) for path in paths if path is not None]
    if all(path.suffix == ".npz" for path in given):
        refuse_idle(args, ("channels", "max_pixels"), "on arrays (.npz), only on picture files")
    elif all(path.is_dir() for path in given):
        keys = ("images_key", "labels_key", "control_images_key", "control_labels_key")
        refuse_idle(args, keys, "on picture files, only on arrays (.npz)")
    second = "control" if hasattr(args, "control_labels") else "validation"  # which is read with the keys of the first
    if getattr(args, f"{second}_labels", None) is not None:
        refuse_idle(args, (f"{second}_labels_key",), f"beside --{second}-labels, which holds the labels")
    keyed = getattr(args, f"{second}_labels", None) is None and getattr(args, f"{second}_labels_key", None) is None
    if args.labels is not None and (len(given) == 1 or not keyed):
        refuse_idle(args, ("labels_key",), "beside --labels, which holds the labels")


def models_of(args: argparse.Namespace) -> tuple[list[Scorer], list[Scorer]]:
    """The models, and the references, as the options say that they run."""
    options = {"batch_size": args.batch_size, "device": args.device, "bf16": args.bf16 or None}
    options["compile"] = True if args.compile == "torch" else args.compile
    known = {key: value for key, value in options.items() if value is not None}
    models = [load_scorer(spec, **known) for spec in args.model]
    return models, [load_scorer(spec, name="references", **known) for spec in getattr(args, "reference", [])]


def pictures(
    args: argparse.Namespace,
    model: Scorer,
    path: str,
    *,
    labels: str | None,
    images_key: str | None,
    labels_key: str | None,
    groups: str | None,
    first: ImageSource | None = None,
    need_room: bool = True,
    need_square: bool = False,
    of: Literal["test", "train", "validation"] = "test",
    prefix: str = "",
) -> LabelledImages:
    """Pictures in the frame that the options ask for, scaled as they say; where they leave it open, as the model says.

    `need_room` and `need_square` as in `frame_of`; a set after the `first` has its classes numbered as that one's,
    by its `class_names` or, where its labels are numbers, by the numbers that folders are called; `of` as in
    `from_npz`; `prefix` is that of the options that name its keys.
    """
    by_value = first is not None and first.class_names is None and labels is None and called_by_numbers(path)
    by = args.classes_by if first is None else BY_VALUE if by_value else None
    try:
        source = open_source(
            path,
            labels=labels,
            images_key=images_key,
            labels_key=labels_key,
            channels=args.channels or getattr(model, "channels", None) or 3,
            class_names=None if first is None else first.class_names,
            classes_by=by,
            max_pixels=args.max_pixels,
            of=of,
        )
    except InputError as error:
        raise InputError(re.sub("`(images_key|labels_key)`", rf"`{prefix}\1`", str(error))) from error
    if first is not None and by_value:
        _check_called_alike(args, source, first, path)
    say_labels(source)
    return LabelledImages(
        source,
        frame_of(args, model, source.read(0).shape, need_room=need_room, need_square=need_square),
        mean=args.mean,
        std=args.std,
        scale=args.scale,
        bgr=args.bgr,
        groups=groups_of(source, groups),
    )


def _check_called_alike(args: argparse.Namespace, second: ImageSource, first: ImageSource, path: str) -> None:
    """Folders 1 to 9 beside labels 0 to 9 may lack class 0, or count the same classes from 1."""
    if may_be_shifted(second.labels, first.labels):
        option = "--control-labels" if hasattr(args, "control_labels") else "--validation-labels"
        raise InputError(
            f"{path}: the folders of classes are called {second.labels.min()} to {second.labels.max()}, but the labels "
            f"of the other set begin with {first.labels.min()}, so that one may count classes from 0 and the other "
            f"from 1; rename the folders, or give their labels by {option} (a CSV of file names and labels)."
        )


def say_labels(source: ImageSource) -> None:
    """Which column of a CSV the labels are."""
    if isinstance(source, FileSource) and source.keys:
        say(f"labels: column {source.keys[0]}.")


def groups_of(source: ImageSource, spec: str | None) -> NDArray[Any] | None:
    """What --groups names for these pictures: a CSV, a column that stands beside them, or a pattern on their ids."""
    return None if spec is None else named_groups(spec, source.ids, getattr(source, "columns", {}))


def frame_of(
    args: argparse.Namespace,
    model: Scorer,
    shape: tuple[int, ...],
    *,
    need_room: bool = True,
    need_square: bool = False,
) -> Frame:
    """The frame that the options ask for; what they leave open comes from the model's input size.

    Without `need_room` pictures that are left as they are will do; with `need_square` no frame of whole pictures does
    that are not square.
    """
    known = getattr(model, "input_size", (None, None))[0]
    crop = args.crop or known
    pad = getattr(args, "pad", None)
    if pad:
        if args.wrap or args.upsample or args.crop or args.resize:
            raise InputError("--pad continues whole pictures; leave --crop, --resize, --upsample and --wrap out.")
        refuse_idle(args, ("interpolation",), "without --resize or --upsample")
        return Pad(pad)
    if args.wrap:
        if args.upsample or args.crop or args.resize:
            raise InputError("--wrap shifts whole pictures; leave --crop, --resize and --upsample out.")
        refuse_idle(args, ("interpolation",), "without --resize or --upsample")
        return Wrap()
    if args.upsample:
        if args.resize:
            raise InputError("--upsample and --resize are the same step; give one of them.")
        return Upsample(args.upsample, crop=crop or min(shape[:2]), interpolation=args.interpolation)
    if args.resize is None:
        refuse_idle(args, ("interpolation",), "without --resize or --upsample")
    if not need_room and args.crop is None and args.resize is None:
        return Whole()
    if crop is None and not need_room:
        raise InputError(
            "--resize needs --crop, the side of the square that is cut out of the middle; the model does not tell how "
            "large its pictures are."
        )
    if crop is None or (need_room and args.resize is None and crop >= min(shape[:2])):
        ways = ["--resize R --crop C", *["--pad reflect (with --control)"] * hasattr(args, "pad"), "--wrap"]
        if need_square and shape[0] != shape[1]:
            ways = ways[:1]
        raise InputError(
            f"a picture of {shape[0]} x {shape[1]} leaves no pixels to move in: choose {', '.join(ways)}, or "
            "--upsample U for a model trained on enlarged pictures."
        )
    return Crop(crop, resize=args.resize, interpolation=args.interpolation)
