"""`heldout split`."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout._version import __version__
from heldout.cli.common import EXIT_FINE, make_folder, say
from heldout.errors import InputError
from heldout.files import write_npz, write_text
from heldout.images import ArraySource, ImageSource, open_source, split


def add_split(verbs: Any) -> None:
    """Its options."""
    verb = verbs.add_parser(
        "split",
        help="put a control aside before training",
        description="Draw a control at random within each class, before any training or selection. From an "
        ".npz come rest.npz and control.npz, from a folder rest.csv and control.csv for --labels.",
        allow_abbrev=False,
    )
    verb.add_argument("images", metavar="PATH", help="all pictures")
    verb.add_argument("--labels", metavar="FILE", help="CSV of file names and labels, or .npy beside an .npz")
    verb.add_argument("--images-key", metavar="KEY")
    verb.add_argument("--labels-key", metavar="KEY")
    verb.add_argument("--control", type=float, required=True, metavar="X", help="share (0.2) or number (2000)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--out", type=Path, required=True, metavar="DIR")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(command=run_split)


def run_split(args: argparse.Namespace) -> int:
    """`heldout split`."""
    source = open_source(args.images, labels=args.labels, images_key=args.images_key, labels_key=args.labels_key)
    share = args.control if args.control < 1 else int(args.control)
    if isinstance(share, int) and share != args.control:
        raise InputError(f"--control {args.control}: give a share below 1 or a whole number.")
    parts = dict(zip(("rest", "control"), split(source.labels, control=share, seed=args.seed), strict=True))
    suffix = "npz" if isinstance(source, ArraySource) else "csv"
    paths = {name: args.out / f"{name}.{suffix}" for name in parts}
    taken = [str(p) for p in paths.values() if p.exists()]
    if taken:
        raise InputError(f"{' and '.join(taken)} exist already; a control is drawn once. Choose another --out.")
    make_folder(args.out)
    for name, rows in parts.items():
        if isinstance(source, ArraySource):
            write_npz(paths[name], source.take(rows))
        else:
            write_text(paths[name], label_table(source, rows))
    summary = {name: {"path": str(paths[name]), "n_examples": len(rows)} for name, rows in parts.items()}
    if args.json:
        print(json.dumps({**summary, "seed": args.seed, "version": __version__}, indent=2))
    else:
        print(f"{len(parts['control']):,} examples put aside in {paths['control']}")
        print(f"{len(parts['rest']):,} examples left in {paths['rest']}")
        use = f"--control {paths['control']}"
        if suffix == "csv":
            use = f"--control {args.images} --control-labels {paths['control']}"
        say(f"Train and select on the rest only; then heldout audit ... {use}")
    return EXIT_FINE


def label_table(source: ImageSource, rows: NDArray[np.intp]) -> str:
    """A CSV for --labels: numbers, so that every part numbers its classes alike, and names to read."""
    names = source.class_names
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["file", "label"] if names is None else ["file", "label", "name"])
    for i in rows:
        label = int(source.labels[i])
        writer.writerow([source.ids[i], label] if names is None else [source.ids[i], label, names[label]])
    return text.getvalue()
