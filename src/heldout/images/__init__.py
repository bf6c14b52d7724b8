"""Labelled pictures, read one at a time, each with room around its crop to move in."""

from heldout.images.frames import Crop, Frame, Pad, Upsample, Whole, Wrap
from heldout.images.labelled import LabelledImages
from heldout.images.readers import from_arrays, from_csv, from_dataset, from_folder, from_npz, open_source
from heldout.images.sources import ImageSource
from heldout.images.split import split

__all__ = [
    "Crop",
    "Frame",
    "ImageSource",
    "LabelledImages",
    "Pad",
    "Upsample",
    "Whole",
    "Wrap",
    "from_arrays",
    "from_csv",
    "from_dataset",
    "from_folder",
    "from_npz",
    "open_source",
    "split",
]
