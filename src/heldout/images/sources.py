"""Where pictures come from: arrays, npz files, folders, CSV lists, torch datasets."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, UnidentifiedImageError

from heldout.checks import EXAMPLE, LABEL, PICTURE, TEXT, check_count, check_labels, need, number_labels, pick
from heldout.errors import InputError
from heldout.files import Npz, PackedRows, read_npy, read_table

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
MAX_PIXELS = 100_000_000  # of one picture file, 300 MB once it is decoded; `max_pixels` raises it
MOST_NAMED = 1_000_000  # classes of which each gets a name
END_MARKS = {".png": b"IEND", ".jpg": b"\xff\xd9", ".jpeg": b"\xff\xd9"}
MOST_THREADS = 8  # that decode files
DIGEST_SAMPLE = 256  # pictures of a torch dataset that enter its digest


class ImageSource(Protocol):
    """A sequence of labelled pictures that are read one at a time.

    Examples
    --------
    >>> source: ImageSource = from_arrays(np.zeros((2, 4, 4), np.uint8), [0, 1])
    >>> source.labels.tolist(), source.read(0).shape
    ([0, 1], (4, 4, 1))
    """

    @property
    def labels(self) -> NDArray[np.int64]:
        """Classes, from 0."""
        ...

    @property
    def ids(self) -> Sequence[str]:
        """One name an example, for messages and groups."""
        ...

    @property
    def class_names(self) -> Sequence[str] | None:
        """What the classes are called, if that is known."""
        ...

    def read(self, index: int) -> NDArray[Any]:
        """One picture, (height, width, channels), uint8 or float32.

        Parameters
        ----------
        index : int
            From 0.

        Returns
        -------
        (height, width, channels) uint8 or float32
            As it is stored.
        """
        ...

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """(index, (height, width)) of pictures, of as many as can be told without decoding them all.

        Parameters
        ----------
        indices : (r,) int
            Which pictures.

        Returns
        -------
        iterator of (int, (int, int))
            Never empty.
        """
        ...

    def digest(self) -> str:
        """A hash of the data.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        ...


class ArraySource:
    """Pictures in one array, perhaps a memory map."""

    def __init__(
        self,
        pictures: NDArray[Any] | PackedRows,
        labels: ArrayLike,
        *,
        ids: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        columns: Mapping[str, NDArray[Any]] | None = None,
        what: str = "images",
    ) -> None:
        if pictures.ndim not in (3, 4):
            raise InputError(
                f"{what}: pictures have shape {pictures.shape}; (n, height, width) or "
                "(n, height, width, channels) is needed."
            )
        if pictures.ndim == 4 and pictures.shape[3] not in (1, 3, 4) and pictures.shape[1] in (1, 3):
            raise InputError(
                f"{what}: shape {pictures.shape} looks like channels first; turn it with "
                "numpy.transpose(images, (0, 2, 3, 1))."
            )
        if pictures.dtype.kind not in "uf" or (pictures.dtype.kind == "u" and pictures.dtype != np.uint8):
            raise InputError(f"{what}: pixels of type {pictures.dtype}; uint8 or float is needed.")
        numbers, names = number_labels(labels, class_names, what=f"{what}: labels")
        self.numbered_by_name = names is not None  # then the model must know exactly these classes, in this order
        self.labels = check_labels(numbers, count=len(pictures), what=f"{what}: labels", of="picture")
        self.ids = list(map(str, range(len(pictures)))) if ids is None else list(map(str, ids))
        if len(self.ids) != len(pictures):
            raise InputError(f"{what}: {len(self.ids)} ids for {len(pictures)} pictures.")
        self.class_names = names if class_names is None else class_names
        self.columns = dict(columns or {})  # what else is known of each picture, for groups
        self._pictures = pictures

    @property
    def threads(self) -> int:
        """How many may read at once; packed rows are read in their order."""
        return 2 if isinstance(self._pictures, np.ndarray) else 0

    def read_many(self, indices: NDArray[np.intp]) -> NDArray[Any]:
        """Some pictures, (n, height, width, channels)."""
        pictures = np.asarray(self._pictures[indices])
        if pictures.dtype != np.uint8:
            pictures = pictures.astype(np.float32)
        return pictures[..., None] if pictures.ndim == 3 else pictures

    def read(self, index: int) -> NDArray[Any]:
        """One picture, (height, width, channels)."""
        picture = np.asarray(self._pictures[index])
        if picture.dtype != np.uint8:
            picture = picture.astype(np.float32)
        return picture[..., None] if picture.ndim == 2 else picture

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """All pictures of an array are of one size."""
        yield int(indices[0]), (self._pictures.shape[1], self._pictures.shape[2])

    def take(self, indices: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Some of the pictures, as the arrays of an .npz file that `from_npz` reads."""
        arrays = {
            "images": np.asarray(self._pictures[indices]),
            "labels": self.labels[indices],
            "ids": np.array([self.ids[i] for i in indices]),
        }
        arrays |= {name: values[indices] for name, values in self.columns.items() if name not in arrays}
        return arrays if self.class_names is None else {**arrays, "class_names": np.array(self.class_names)}

    def digest(self) -> str:
        """Of every pixel and label."""
        h = hashlib.sha256(repr((self._pictures.shape, str(self._pictures.dtype))).encode())
        step = max(1, (1 << 24) // max(1, self._pictures[0].nbytes))
        for start in range(0, len(self._pictures), step):
            h.update(np.ascontiguousarray(self._pictures[start : start + step]).data)
        h.update(self.labels.tobytes())
        return h.hexdigest()


_opening = threading.Lock()


def _open_of_any_size(path: Path) -> Image.Image:
    """Pillow's own limit is a warning, then an error that names no way out; it belongs to the whole process."""
    with _opening:
        usual, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(path)
        finally:
            Image.MAX_IMAGE_PIXELS = usual


class FileSource:
    """Picture files, opened one at a time."""

    threads = MOST_THREADS

    def __init__(
        self,
        root: Path,
        names: Sequence[str],
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        channels: int = 3,
        numbered_by_name: bool = False,
        columns: Mapping[str, NDArray[Any]] | None = None,
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        self.columns = dict(columns or {})  # what else is known of each picture, for groups
        self._root, self.ids, self.class_names = root, list(names), class_names
        self.numbered_by_name = numbered_by_name  # then the model must know exactly these classes, in this order
        self.labels = check_labels(labels, count=len(self.ids), what=f"{root}: labels", of="picture")
        self.channels = channels
        self.max_pixels = check_count(max_pixels, "max_pixels")

    def read(self, index: int) -> NDArray[Any]:
        """One picture, converted to RGB (or grey, for one channel)."""
        with self._opened(index) as image:
            pixels = np.asarray(image.convert("L" if self.channels == 1 else "RGB"))
        return pixels[..., None] if pixels.ndim == 2 else pixels

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """From the files' headers."""
        for index in indices:
            with self._opened(int(index)) as image:
                width, height = image.size
            yield int(index), (height, width)

    @contextmanager
    def _opened(self, index: int) -> Iterator[Image.Image]:
        """A picture file whose size is known and not yet decoded; what is wrong with it is one sentence."""
        path = self._root / self.ids[index]
        try:
            with _open_of_any_size(path) as image:
                if image.width * image.height > self.max_pixels:
                    raise InputError(
                        f"the picture {path} has {image.width:,} x {image.height:,} pixels, more than `max_pixels`, "
                        f"{self.max_pixels:,}; leave it out, or raise `max_pixels` if it is to be read."
                    )
                yield image
        except InputError:
            raise
        except (OSError, UnidentifiedImageError, ValueError, SyntaxError) as error:
            raise InputError(f"cannot read the picture {path}: {error}. Repair or leave it out.") from error

    def digest(self) -> str:
        """Of every file's name, label and bytes; a PNG or JPEG file that is cut short is found on the way."""
        h = hashlib.sha256()
        for name, label in zip(self.ids, self.labels, strict=True):
            try:
                content = (self._root / name).read_bytes()
            except OSError as error:
                raise InputError(f"cannot read the picture {self._root / name}: {error}.") from error
            end = END_MARKS.get(Path(name).suffix.lower())
            if end is not None and end not in content:
                raise InputError(f"the picture {self._root / name} is cut short. Repair or leave it out.")
            h.update(f"{name}\0{label}\0{len(content)}\0".encode())
            h.update(content)
        return h.hexdigest()


class DatasetSource:
    """A torch `Dataset` (or any sequence) of (picture, label); pictures are tensors, arrays or PIL images."""

    def __init__(
        self, dataset: Any, labels: ArrayLike | None = None, *, class_names: Sequence[str] | None = None
    ) -> None:
        self._dataset = dataset
        if labels is None:
            labels = getattr(dataset, "targets", None)
        if labels is None:  # no other way than to read every item once
            labels = [dataset[i][1] for i in range(len(dataset))]
        class_names = class_names if class_names is not None else getattr(dataset, "classes", None)
        numbers, names = number_labels(np.asarray(labels), class_names, what="dataset: labels")
        self.labels = check_labels(numbers, count=len(dataset), what="dataset: labels", of="picture")
        self.ids = list(map(str, range(len(dataset))))
        self.class_names = names if class_names is None else class_names

    def read(self, index: int) -> NDArray[Any]:
        """One picture, (height, width, channels); channels-first tensors are turned."""
        item = self._dataset[index]
        picture = item[0] if isinstance(item, (tuple, list)) else item
        is_tensor = hasattr(picture, "detach")
        pixels = np.asarray(picture.detach().cpu().numpy() if is_tensor else picture)
        if is_tensor and pixels.ndim == 3:
            pixels = pixels.transpose(1, 2, 0)
        if pixels.ndim == 2:
            pixels = pixels[..., None]
        if pixels.ndim != 3:
            raise InputError(f"item {index} of the dataset has a picture of shape {pixels.shape}.")
        return pixels if pixels.dtype == np.uint8 else pixels.astype(np.float32)

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Of the first picture only: a dataset may take hours to read."""
        height, width = self.read(int(indices[0])).shape[:2]
        yield int(indices[0]), (height, width)

    def digest(self) -> str:
        """Of the labels and of up to 256 evenly spaced pictures: reading all might take hours."""
        h = hashlib.sha256(self.labels.tobytes())
        for index in np.unique(np.linspace(0, len(self.ids) - 1, DIGEST_SAMPLE).astype(int)):
            h.update(np.ascontiguousarray(self.read(int(index))).data)
        return h.hexdigest()


class Part:
    """Some pictures of another source."""

    def __init__(self, whole: ImageSource, rows: NDArray[np.intp]) -> None:
        self._whole, self._rows = whole, np.asarray(rows)
        self.labels = whole.labels[self._rows]
        self.ids = [whole.ids[i] for i in self._rows]
        self.class_names = whole.class_names
        self.columns = {name: values[self._rows] for name, values in getattr(whole, "columns", {}).items()}

    def read(self, index: int) -> NDArray[Any]:
        """One picture of the whole."""
        return self._whole.read(int(self._rows[index]))

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """As the whole tells them."""
        back = {int(self._rows[i]): int(i) for i in indices}
        for index, shape in self._whole.shapes(self._rows[indices]):
            yield back[index], shape

    def digest(self) -> str:
        """Of the whole and of which pictures."""
        return hashlib.sha256(self._whole.digest().encode() + self._rows.astype(np.int64).tobytes()).hexdigest()


def from_arrays(pictures: ArrayLike, labels: ArrayLike, *, ids: Sequence[str] | None = None) -> ArraySource:
    """Pictures (n, height, width[, channels]) and their labels, already in memory.

    Parameters
    ----------
    pictures : (n, height, width) or (n, height, width, channels)
        uint8 or float.
    labels : (n,)
        Classes from 0, or names, which are numbered in their order.
    ids : n str, optional
        Names of the examples; numbered without.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> from_arrays(np.zeros((2, 4, 4), np.uint8), ["dog", "cat"]).labels.tolist()
    [1, 0]
    """
    return ArraySource(np.asarray(pictures), labels, ids=ids)


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
    >>> from_dataset([(np.zeros((4, 4, 3), np.uint8), 1), (np.zeros((4, 4, 3), np.uint8), 0)]).labels.tolist()
    [1, 0]
    """
    return DatasetSource(dataset, labels)


def from_folder(
    root: str | Path,
    *,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
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
    max_pixels : int
        Larger files are refused.

    Returns
    -------
    ImageSource
        For `LabelledImages`; pictures are opened one at a time.

    Examples
    --------
    >>> import tempfile
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
    found = sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not found:
        raise InputError(
            f"{root}: no class folders. Put each class into a subfolder of its own, or give a CSV of "
            "file names and labels (`labels`)."
        )
    numbers = _class_numbers(found, class_names, str(root))
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
        class_names=list(numbers),
        channels=channels,
        numbered_by_name=True,
        max_pixels=max_pixels,
    )


def from_csv(
    root: str | Path,
    table: str | Path,
    *,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> FileSource:
    """A folder and a CSV with a header: file name, label, and perhaps the name of the label and further columns.

    A label is a number, or a name; names are numbered in their order, or in that of `class_names`. Beside numbers, a
    third column that has one value for each label is its name. Every column past the second can name groups.

    Parameters
    ----------
    root, table : path
        The folder, and the CSV file.
    channels, class_names, max_pixels
        As in `from_folder`.

    Returns
    -------
    ImageSource
        For `LabelledImages`; pictures are opened one at a time.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> Image.new("RGB", (4, 4)).save(root / "1.png")
    >>> _ = (root / "labels.csv").write_text("file,label,patient\\n1.png,2,p7\\n")
    >>> from_csv(root, root / "labels.csv").labels.tolist()
    [2]
    """
    root, table = Path(root), Path(table)
    header, rows = read_table(table, what="the label table", example="file,label")
    if (root / header[0]).is_file():
        raise InputError(f"{table}: the first line names a picture; put a header such as `file,label` above it.")
    names = [row[0] for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{table} names {twice!r} more than once; examples must be different pictures.")
    missing = [name for name in names if not (root / name).is_file()]
    if missing:
        raise InputError(f"{table} names {len(missing)} pictures that {root} does not hold, first {missing[0]!r}.")
    columns = {
        name.strip(): np.array([row[i] if i < len(row) else "" for row in rows])
        for i, name in enumerate(header)
        if i >= 2
    }
    raw = [row[1].strip() for row in rows]
    if "" in raw:
        raise InputError(f"{table}: the picture {names[raw.index('')]!r} has no label.")
    if all(value.isdecimal() for value in raw):
        labels = np.array([int(v) for v in raw])
        pairs = {(int(row[1]), row[2]) for row in rows if len(row) > 2}
        known = dict(pairs)
        if known and len(known) == len(pairs) and class_names is None and max(known) < MOST_NAMED:
            class_names = [known.get(i, f"class {i}") for i in range(max(known) + 1)]
        return FileSource(
            root,
            names,
            labels,
            class_names=class_names,
            channels=channels,
            columns=columns,
            max_pixels=max_pixels,
        )
    numbers = _class_numbers(sorted(set(raw)), class_names, str(table))
    labels = np.array([numbers[v] for v in raw])
    return FileSource(
        root,
        names,
        labels,
        class_names=list(numbers),
        channels=channels,
        numbered_by_name=True,
        columns=columns,
        max_pixels=max_pixels,
    )


def _class_numbers(found: Sequence[str], wanted: Sequence[str] | None, what: str) -> dict[str, int]:
    """Number classes by their place in `found`, or in `wanted`."""
    strangers = [name for name in found if wanted is not None and name not in wanted]
    if strangers:
        raise InputError(f"{what} has the class {strangers[0]!r}, which the test set does not have.")
    return {name: i for i, name in enumerate(found if wanted is None else wanted)}


def from_npz(
    path: str | Path,
    *,
    images_key: str | None = None,
    labels_key: str | None = None,
    labels: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
) -> ArraySource:
    """Arrays of an `.npz` file; stored without compression they are mapped, and packed large ones read row by row.

    Labels that are text are numbered in the order of `class_names`, of the file's own array of that name, or of
    themselves.

    Parameters
    ----------
    path : path
        The file.
    images_key, labels_key : str, optional
        Its keys; found by their usual names without.
    labels : (n,), optional
        Labels, where the file holds none.
    class_names : sequence of str, optional
        Names of the classes, in the order of their numbers.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "test.npz"
    >>> np.savez(path, images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    >>> from_npz(path).labels.tolist()
    [0, 1]
    """
    path = Path(path)
    with Npz(path) as arrays:
        keys = list(arrays)
        key = need(keys, images_key, PICTURE, source=str(path), what="pictures")
        labels_at = None if labels is not None else need(keys, labels_key, LABEL, source=str(path), what="labels")
        pictures = arrays.rows(key)
        given = labels if labels_at is None else arrays[labels_at]
        if "class_names" in arrays:
            class_names = [str(name) for name in arrays["class_names"]]
        elif np.asarray(given).dtype.kind not in TEXT:
            class_names = None
        ids_at = pick(keys, None, EXAMPLE, source=str(path), taken=(key, labels_at or ""))
        ids = None
        if ids_at is not None and arrays.shape(ids_at) == (len(pictures),):
            ids = [str(name) for name in arrays[ids_at]]
        columns = {
            name: arrays[name]
            for name in keys
            if name not in (key, ids_at, "class_names") and arrays.shape(name) == (len(pictures),)
        }
    assert given is not None
    return ArraySource(pictures, given, ids=ids, class_names=class_names, columns=columns, what=str(path))


def open_source(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    images_key: str | None = None,
    labels_key: str | None = None,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
    max_pixels: int = MAX_PIXELS,
) -> ImageSource:
    """What a path means: a folder of class folders, a folder with a CSV (`labels`), or an npz file.

    `max_pixels` is the size of the largest picture file that is read.

    Parameters
    ----------
    path : path
        Folder or file.
    labels : path, optional
        A CSV of file names and labels, or a .npy file of labels.
    images_key, labels_key : str, optional
        As in `from_npz`.
    channels, class_names, max_pixels
        As in `from_folder`.

    Returns
    -------
    ImageSource
        For `LabelledImages`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "test.npz"
    >>> np.savez(path, images=np.zeros((2, 4, 4), np.uint8), labels=[0, 1])
    >>> len(open_source(path).ids)
    2
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        if labels is not None:
            return from_csv(path, labels, channels=channels, class_names=class_names, max_pixels=max_pixels)
        return from_folder(path, channels=channels, class_names=class_names, max_pixels=max_pixels)
    if path.suffix == ".npz":
        given = None if labels is None else read_npy(labels)
        return from_npz(path, images_key=images_key, labels_key=labels_key, labels=given, class_names=class_names)
    raise InputError(
        f"{path} is neither a folder nor an .npz file; give a folder with one subfolder per class, a folder and a CSV "
        "of labels, or an .npz file of pictures and labels."
    )
