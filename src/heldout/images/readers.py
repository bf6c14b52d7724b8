"""What a path, an array or a dataset means: folders, CSV lists and .npz files to sources of pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import (
    EXAMPLE,
    LABEL,
    PAIRED,
    SETS,
    TEXT,
    only_pictures,
    pair,
    pick,
    plain_name,
    quoted,
    refuse_several_labels,
    set_of,
)
from heldout.errors import InputError
from heldout.files import Npz, read_npy, read_table
from heldout.images.class_order import BY_VALUE, ClassesBy, class_numbers, in_order, names_of, numbers_called
from heldout.images.sources import MAX_PIXELS, ArraySource, DatasetSource, FileSource, ImageSource

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
MOST_NAMED = 1_000_000  # classes of which each gets a name
LABEL_NAMES = frozenset(LABEL.usual + LABEL.weak)
FILE_NAMES = frozenset(("file", "filename", "file_name", "file_path", "image", "image_file", "image_path", "path"))


def from_arrays(pictures: ArrayLike, labels: ArrayLike, *, ids: Sequence[str] | None = None) -> ArraySource:
    """Pictures (n, height, width[, channels]) and their labels, already in memory.

    Parameters
    ----------
    pictures : (n, height, width) or (n, height, width, channels)
        uint8 or float.
    labels : (n,)
        Classes from 0, or names, which are numbered in their order.
    ids : n str, optional
        Names of the examples, each another one; numbered without.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import from_arrays
    >>> from_arrays(np.zeros((2, 4, 4), np.uint8), ["dog", "cat"]).labels.tolist()
    [1, 0]
    """
    return ArraySource(np.asarray(pictures), labels, ids=ids, class_names=names_of(labels, None, "labels"))


def from_dataset(dataset: Any, labels: ArrayLike | None = None) -> DatasetSource:
    """A torch `Dataset` with items (picture, label); pass `labels` to spare one reading of all items.

    Parameters
    ----------
    dataset : sequence of (picture, label)
        A torch `Dataset`, say. Pictures are tensors (channels first), arrays or PIL images.
    labels : (n,), optional
        Classes; `dataset.targets`, or one reading of all items, without.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import from_dataset
    >>> from_dataset([(np.zeros((4, 4, 3), np.uint8), 1), (np.zeros((4, 4, 3), np.uint8), 0)]).labels.tolist()
    [1, 0]
    """
    return DatasetSource(dataset, labels)


def from_folder(
    root: str | Path,
    *,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
    classes_by: ClassesBy | None = None,
    max_pixels: int = MAX_PIXELS,
) -> FileSource:
    """A folder with one subfolder per class.

    Classes are numbered in the order of their names, or of `class_names` where given: a control must be
    numbered as its test set, also where it lacks a class.

    Parameters
    ----------
    root : path
        The folder.
    channels : {3, 1}
        Read pictures as RGB, or as grey.
    class_names : sequence of str, optional
        Names of the class folders, in the order of their numbers.
    classes_by : {"number", "name", "value"}, optional
        Needed for names such as 1 to 10, whose order as numbers (1, 2, 10) is another one than as text (1, 10, 2),
        which is torchvision's. With "value" the names are the numbers of the classes: a folder called 7 holds class 7.
    max_pixels : int
        Larger files are refused.

    Returns
    -------
    ImageSource
        For `LabelledImages`; pictures are opened one at a time.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> from PIL import Image
    >>> from heldout.images import from_folder
    >>> root = Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (root / name).mkdir()
    ...     Image.new("RGB", (4, 4)).save(root / name / "1.png")
    >>> from_folder(root).ids, from_folder(root).class_names
    (['cat/1.png', 'dog/1.png'], ['cat', 'dog'])
    """
    root = Path(root)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder.")
    found = _class_folders(root)
    if not found:
        raise InputError(
            f"{root}: no class folders. Put each class into a subfolder of its own, or give a CSV of "
            "file names and labels (`labels`)."
        )
    by_value = class_names is None and classes_by == BY_VALUE
    if by_value:
        numbers = numbers_called(found, str(root))
    else:
        ordered = found if class_names is not None else in_order(found, classes_by, str(root))
        numbers = class_numbers(ordered, class_names, str(root))
    names, labels = [], []
    for class_name in found:
        files = sorted(
            p.relative_to(root).as_posix() for p in (root / class_name).rglob("*") if p.suffix.lower() in SUFFIXES
        )
        if not files:
            raise InputError(f"{root / class_name}: the class folder holds no pictures; fill or remove it.")
        names += files
        labels += [numbers[class_name]] * len(files)
    return FileSource(
        root,
        names,
        np.array(labels),
        class_names=None if by_value else list(numbers),
        channels=channels,
        numbered_by_name=not by_value,
        max_pixels=max_pixels,
    )


def called_by_numbers(path: str | Path) -> bool:
    """Whether this is a folder whose subfolders, one per class, are all called by a number."""
    path = Path(path)
    found = _class_folders(path) if path.is_dir() else []
    return bool(found) and all(name.isdecimal() for name in found)


def _class_folders(root: Path) -> list[str]:
    return sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))


def from_csv(
    root: str | Path,
    table: str | Path,
    *,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
    classes_by: ClassesBy | None = None,
    max_pixels: int = MAX_PIXELS,
) -> FileSource:
    """A folder and a CSV with a header: file name, label, and perhaps the name of the label and further columns.

    The label is the column that is called so (`label`, `target`, `y`, `class`, ...), the file name the one called
    `file`, `filename`, `path` or the like, else the first that is left. Of two columns the other one is the label,
    whatever it is called.
    A label is a number, or a name; names are numbered in their order, or in that of `class_names`. Beside numbers, the
    first further column that has one value for each label, and another one for each, is its name. Further columns can
    name groups.

    Parameters
    ----------
    root, table : path
        The folder, and the CSV file.
    channels, class_names, classes_by, max_pixels
        As in `from_folder`; labels that are all numbers are the numbers of their classes.

    Returns
    -------
    ImageSource
        For `LabelledImages`; pictures are opened one at a time.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> from PIL import Image
    >>> from heldout.images import from_csv
    >>> root = Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (4, 4)).save(root / "1.png")
    >>> _ = (root / "labels.csv").write_text("file,label,patient\\n1.png,2,p7\\n")
    >>> from_csv(root, root / "labels.csv").labels.tolist()
    [2]
    """
    root, table = Path(root), Path(table)
    listed = _listed(root, table)
    raw = listed.labels
    by_name = not all(value.isdecimal() for value in raw)
    if class_names is None:
        names_of(raw if by_name else [int(value) for value in raw], classes_by, f"the labels of {table}")
    if by_name:
        numbers = class_numbers(sorted(set(raw)), class_names, str(table))
        class_names = list(numbers)
    else:
        numbers = {value: int(value) for value in raw}
        class_names = _names_beside(listed) if class_names is None else class_names
    found = FileSource(
        root,
        listed.files,
        np.array([numbers[value] for value in raw]),
        class_names=class_names,
        channels=channels,
        numbered_by_name=by_name,
        columns=listed.columns,
        max_pixels=max_pixels,
    )
    found.keys = (f"{listed.label!r} of {table.name}",)
    return found


class _Listed(NamedTuple):
    """What a CSV says of each picture."""

    files: list[str]
    labels: list[str]
    label: str  # what their column is called
    columns: dict[str, NDArray[Any]]  # the further ones, in their order


def _listed(root: Path, table: Path) -> _Listed:
    """The columns of a CSV whose pictures are all there, once, and labelled."""
    header, rows = read_table(table, what="the label table", example="file,label")
    if (root / header[0]).is_file():
        raise InputError(f"{table}: the first line names a picture; put a header such as `file,label` above it.")
    header = [name.strip() for name in header]

    def column(at: int) -> list[str]:
        return [row[at] if at < len(row) else "" for row in rows]

    file_at, label_at = _places(header, column, str(table))

    names, labels = column(file_at), [value.strip() for value in column(label_at)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{table} names {twice!r} more than once; examples must be different pictures.")
    missing = [name for name in names if not (root / name).is_file()]
    if missing:
        raise InputError(f"{table} names {len(missing)} pictures that {root} does not hold, first {missing[0]!r}.")
    if "" in labels:
        raise InputError(f"{table}: the picture {names[labels.index('')]!r} has no label.")
    columns = {name: np.array(column(i)) for i, name in enumerate(header) if i not in (file_at, label_at)}
    return _Listed(names, labels, header[label_at], columns)


def _places(header: Sequence[str], column: Callable[[int], list[str]], table: str) -> tuple[int, int]:
    """Where file names and labels stand; refused where the header leaves open which column is the label.

    Numbers of classes beside their names are one label, said twice.
    """
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{table} has two columns {twice!r}; rename or leave out one of them.")
    labels = [i for i, name in enumerate(header) if plain_name(name) in LABEL_NAMES]
    if len(labels) > 1:
        labels = _said_twice({i: column(i) for i in labels}) or labels
    if len(labels) > 1:
        raise InputError(
            f"{table} has several columns that could be the label ({quoted([header[i] for i in labels])}); leave out "
            "or rename all but one."
        )
    if not labels and len(header) > 2:
        raise InputError(
            f"{table} has the columns {quoted(header)}, none of which is called as labels are; call the one that holds "
            "them 'label'."
        )
    files = [i for i, name in enumerate(header) if i not in labels and plain_name(name) in FILE_NAMES]
    file_at = files[0] if files else next(i for i in range(len(header)) if i not in labels)
    return file_at, labels[0] if labels else 1 - file_at


def _said_twice(columns: Mapping[int, list[str]]) -> list[int]:
    """The column of numbers, where the others name the same classes; empty where they do not.

    Examples
    --------
    >>> _said_twice({1: ["cat", "dog"], 2: ["0", "1"]}), _said_twice({1: ["cat", "cat"], 2: ["0", "1"]})
    ([2], [])
    """
    numbered = [i for i, values in columns.items() if all(value.strip().isdecimal() for value in values)]
    if len(numbered) != 1:
        return []
    own = columns[numbered[0]]
    pairs = [(len(set(own)), len(set(zip(own, other, strict=True))), len(set(other))) for other in columns.values()]
    return numbered if all(len(set(counts)) == 1 for counts in pairs) else []


def _names_beside(listed: _Listed) -> list[str] | None:
    """Names of numbered classes, from the first further column, where it has a value of its own for each label."""
    beside = next(iter(listed.columns.values()), None)
    if beside is None:
        return None
    pairs = {(int(label), str(name)) for label, name in zip(listed.labels, beside, strict=True)}
    known = dict(pairs)
    if not len(pairs) == len(known) == len(set(known.values())) or max(known) >= MOST_NAMED:
        return None
    return [known.get(i, f"class {i}") for i in range(max(known) + 1)]


def from_npz(
    path: str | Path,
    *,
    images_key: str | None = None,
    labels_key: str | None = None,
    labels: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    classes_by: ClassesBy | None = None,
    of: Literal["test", "train", "validation", "any"] = "test",
) -> ArraySource:
    """Arrays of an `.npz` file; stored without compression they are mapped, and packed large ones read row by row.

    Labels that are text are numbered in the order of `class_names`, of the file's own array of that name, or of
    themselves.

    Parameters
    ----------
    path : path
        The file.
    images_key, labels_key : str, optional
        Its keys. Found by their usual names without: `x` goes with `y`, `images` with `labels`, `x_test` with `y_test`;
        one that is given finds its partner, and a file in which several pairs fit, or that holds several arrays of
        labels that differ, is refused.
    labels : (n,), optional
        Labels, where the file holds none.
    class_names : sequence of str, optional
        Names of the classes, in the order of their numbers.
    classes_by : {"number", "name", "value"}, optional
        Of labels that are text, as in `from_folder`.
    of : {"test", "train", "validation", "any"}
        The set that is meant where a file holds several (`x_train`, `x_test`); "any" takes the only one there is.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> import numpy as np
    >>> from heldout.images import from_npz
    >>> path = Path(tempfile.mkdtemp()) / "test.npz"
    >>> np.savez(path, images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    >>> from_npz(path).labels.tolist()
    [0, 1]
    """
    path = Path(path)
    with Npz(path) as arrays:
        keys = list(arrays)
        labels_at = None
        if labels is None:
            key, labels_at = pair(keys, images_key, labels_key, of=of, source=str(path))
            refuse_several_labels(arrays, (key, labels_at), source=str(path), wanted=labels_key)
        else:
            key = only_pictures(keys, images_key, of=of, source=str(path))
        pictures = arrays.rows(key)
        given = np.asarray(labels if labels_at is None else arrays[labels_at])
        by_value = classes_by == BY_VALUE and given.dtype.kind in TEXT
        if by_value and class_names is None and "class_names" not in arrays:
            text = given.astype(np.str_)
            values = numbers_called(sorted(set(text.ravel().tolist())), f"the labels of {path}")
            given, classes_by = np.vectorize(values.get, otypes=[np.int64])(text), None
        if "class_names" in arrays:
            if classes_by is not None:
                raise InputError(f"`classes_by` has no effect on {path}, which holds class_names; leave it out.")
            class_names = [str(name) for name in arrays["class_names"]]
        elif class_names is None or given.dtype.kind not in TEXT:
            class_names = names_of(given, classes_by, f"the labels of {path}")
        ids_at = pick(keys, None, EXAMPLE, source=str(path), taken=(key, labels_at or ""))
        ids = None
        if ids_at is not None and arrays.shape(ids_at) == (len(pictures),):
            ids = [str(name) for name in arrays[ids_at]]
        columns = {
            name: arrays[name]
            for name in keys
            if name not in (key, labels_at, ids_at, "class_names")
            and arrays.shape(name) == (len(pictures),)
            and not _of_another_set(name, key, keys)
        }
    found = ArraySource(pictures, given, ids=ids, class_names=class_names, columns=columns, what=str(path))
    found.keys = (key,) if labels_at is None else (key, labels_at)
    return found


def _of_another_set(name: str, key: str, keys: Sequence[str]) -> bool:
    """Whether an array describes other pictures of the file, as `control_labels` beside `test_images` do."""
    own = (set_of(key, PAIRED) or ("", ""))[1]
    others = {of for other in keys for _, of in [set_of(other, PAIRED) or ("", "")] if of in SETS.values()} - {own, ""}
    words = plain_name(name).split("_")
    return any(SETS.get(word) in others for word in (words[0], words[-1]))


def open_source(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    images_key: str | None = None,
    labels_key: str | None = None,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
    classes_by: ClassesBy | None = None,
    max_pixels: int = MAX_PIXELS,
    of: Literal["test", "train", "validation", "any"] = "test",
) -> ImageSource:
    """What a path means: a folder of class folders, a folder with a CSV (`labels`), or an npz file.

    `max_pixels` is the size of the largest picture file that is read.

    Parameters
    ----------
    path : path
        Folder or file.
    labels : path, optional
        A CSV of file names and labels, or a .npy file of labels.
    images_key, labels_key, of
        As in `from_npz`.
    channels, class_names, classes_by, max_pixels
        As in `from_folder`.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> import numpy as np
    >>> from heldout.images import open_source
    >>> path = Path(tempfile.mkdtemp()) / "test.npz"
    >>> np.savez(path, images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    >>> len(open_source(path).ids)
    2
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    named: dict[str, Any] = {"class_names": class_names, "classes_by": classes_by}
    if path.is_dir():
        if labels is not None:
            return from_csv(path, labels, channels=channels, max_pixels=max_pixels, **named)
        return from_folder(path, channels=channels, max_pixels=max_pixels, **named)
    if path.suffix == ".npz":
        given = None if labels is None else read_npy(labels)
        return from_npz(path, images_key=images_key, labels_key=labels_key, labels=given, of=of, **named)
    raise InputError(
        f"{path} is neither a folder nor an .npz file; give a folder with one subfolder per class, a folder and a CSV "
        "of labels, or an .npz file of pictures and labels."
    )
