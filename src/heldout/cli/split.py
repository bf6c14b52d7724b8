"""`heldout split`."""

from __future__ import annotations

import argparse
import csv
import io
import json
import shlex
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.cli.common import EXIT_FINE, check_folder, say
from heldout.cli.ending import add_format, add_talk
from heldout.cli.parser import Parser
from heldout.cli.pictures import add_classes_by, add_max_pixels, check_effect, groups_of, say_labels
from heldout.errors import InputError
from heldout.files import write_npz, write_text
from heldout.groups import group_codes, join_groups
from heldout.images import ImageSource, open_source, split
from heldout.images.duplicates import duplicate_codes, pixel_hashes
from heldout.images.sources import ArraySource
from heldout.report.markdown import escaped

EXAMPLES = """\
  heldout split pictures/ --control 0.2 --out aside
  heldout split all.npz --control 2000 --groups patient --out aside
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Draw a control at random within each class, before any training or selection. From an "
        ".npz come rest.npz and control.npz, from a folder rest.csv and control.csv for --labels. Pictures that are "
        "equal pixel by pixel stay together, and so do those of one group (--groups).",
        usage="heldout split PATH --control X --out DIR [options]",
        essential="--labels --control --groups --seed --out --format",
        examples=EXAMPLES,
        details="exit codes: 0 fine, 2 bad input, 3 a bug in heldout, 130 stopped\n",
    )
    verb.add_argument("images", metavar="PATH", help="all pictures")
    verb.add_argument("--labels", metavar="FILE", help="CSV of file names and labels, or .npy beside an .npz")
    verb.add_argument("--images-key", metavar="KEY", help="array in the .npz that holds the pictures")
    verb.add_argument("--labels-key", metavar="KEY", help="array in the .npz that holds the labels")
    verb.add_argument("--control", type=float, required=True, metavar="X", help="share (0.2) or number (2000)")
    verb.add_argument(
        "--groups",
        metavar="SPEC",
        help="pictures that depend on each other: a column, a CSV id,group, or a pattern on ids",
    )
    add_max_pixels(verb)
    add_classes_by(verb)
    verb.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw (default 0)")
    verb.add_argument("--out", type=Path, required=True, metavar="DIR", help="write the two parts here")
    add_format(verb, ("text", "markdown", "json"))
    add_talk(verb)
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout split`."""
    if not args.control > 0 or args.control == 1 or (args.control > 1 and not args.control.is_integer()):
        raise InputError(f"--control {args.control:g}: give a share below 1 (0.2), or a whole number (2000).")
    check_effect(args, args.images)
    share = args.control if args.control < 1 else int(args.control)
    source = open_source(
        args.images,
        labels=args.labels,
        images_key=args.images_key,
        labels_key=args.labels_key,
        classes_by=args.classes_by,
        max_pixels=args.max_pixels,
        of="any",
    )
    say_labels(source)
    hashes, oddities = pixel_hashes(
        source, np.arange(len(source.labels)), label=str(args.images), progress=not args.quiet
    )
    for sentence in oddities.sentences(str(args.images)):
        say(sentence)
    codes = duplicate_codes(hashes)
    n_duplicates = len(codes) - int(codes.max()) - 1
    names = groups_of(source, args.groups)
    if names is not None:
        codes = join_groups(group_codes(names, len(codes)), codes)
    both = split(source.labels, control=share, seed=args.seed, groups=codes)
    parts = dict(zip(("rest", "control"), both, strict=True))
    suffix = "npz" if isinstance(source, ArraySource) else "csv"
    paths = {name: args.out / f"{name}.{suffix}" for name in parts}
    taken = [str(p) for p in paths.values() if p.exists()]
    if taken:
        raise InputError(f"{' and '.join(taken)} exist already; a control is drawn once. Choose another --out.")
    check_folder(args.out)
    for name, rows in parts.items():
        if isinstance(source, ArraySource):
            write_npz(paths[name], source.take(rows))
        else:
            write_text(paths[name], label_table(source, rows))
    summary = {
        name: {"path": str(paths[name]), "n_examples": len(rows), "n_groups": len(np.unique(codes[rows]))}
        for name, rows in parts.items()
    }
    if n_duplicates:
        unseen = ", transparency left out" * bool(oddities.transparent)
        say(
            f"{n_duplicates:,} of {len(codes):,} pictures repeat another one pixel by pixel{unseen}; equal ones stay "
            "together."
        )
    if args.format == "json":
        made = {"n_duplicates": n_duplicates, "seed": args.seed, "version": __version__}
        print(json.dumps({**summary, **made}, indent=2))
    else:
        grouped = codes.max() + 1 < len(codes)
        held = {name: f" in {summary[name]['n_groups']:,} groups" if grouped else "" for name in parts}
        lines = [
            f"{len(parts['control']):,} examples{held['control']} put aside in {paths['control']}",
            f"{len(parts['rest']):,} examples{held['rest']} left in {paths['rest']}",
        ]
        if args.format == "markdown":
            lines = ["# heldout split", "", *(f"- {escaped(line)}" for line in lines)]
        print("\n".join(lines))
        use = f"--control {paths['control']}"
        if suffix == "csv":
            use = f"--control {args.images} --control-labels {paths['control']}"
        if args.groups:
            use += f" --groups {shlex.quote(args.groups)}"
        say(f"Train and select on the rest only; then heldout audit ... {use}")
    return EXIT_FINE


def label_table(source: ImageSource, rows: NDArray[np.intp]) -> str:
    """A CSV for --labels: numbers, so that every part numbers its classes alike, names to read, further columns."""
    columns = {name: values for name, values in getattr(source, "columns", {}).items() if name != ""}
    if "file" in columns:  # beside an `image`, say, that names the pictures
        columns = {"other file" if name == "file" else name: values for name, values in columns.items()}
    names = source.class_names
    named = columns.get("name")
    if (
        names is not None
        and named is not None
        and all(names[y] == n for y, n in zip(source.labels, named, strict=True))
    ):
        del columns["name"]  # it is written anyway
    if names is None and columns:  # the third column is the name
        names = [f"class {c}" for c in range(int(source.labels.max()) + 1)]
    title = "name"
    while title in columns:
        title = f"class {title}"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["file", "label"] + [title] * (names is not None) + list(columns))
    for i in rows:
        label = int(source.labels[i])
        name = [] if names is None else [names[label]]
        writer.writerow([source.ids[i], label, *name, *(values[i] for values in columns.values())])
    return text.getvalue()
