"""Where pictures come from: arrays, npz files, folders, CSV lists, torch datasets."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, UnidentifiedImageError

from heldout.errors import InputError
from heldout.files import read_table

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
IMAGE_KEYS = ("images", "x", "X", "x_test", "data", "test_images")
LABEL_KEYS = ("labels", "y", "Y", "y_test", "target", "test_labels")
END_MARKS = {".png": b"IEND", ".jpg": b"\xff\xd9", ".jpeg": b"\xff\xd9"}
DIGEST_SAMPLE = 256  # pictures of a torch dataset that enter its digest


class ImageSource(Protocol):
    """A sequence of labelled pictures that are read one at a time."""

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
        """One picture, (height, width, channels), uint8 or float32."""
        ...

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """(index, (height, width)) of pictures, of as many as can be told without decoding them all."""
        ...

    def digest(self) -> str:
        """A hash of the data."""
        ...


def check_labels(labels: ArrayLike, *, count: int | None, what: str) -> NDArray[np.int64]:
    """Labels as whole numbers from 0, one for each of `count` pictures."""
    y = np.asarray(labels)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"{what}: labels have shape {y.shape}; one whole number per picture is needed.")
    if count is not None and len(y) != count:
        raise InputError(f"{what}: {len(y)} labels for {count} pictures; there must be one for each.")
    if len(y) == 0:
        raise InputError(f"{what}: no pictures.")
    if y.dtype.kind not in "iub" and not (y.dtype.kind == "f" and np.array_equal(y, np.round(y))):
        raise InputError(f"{what}: labels of type {y.dtype} are not whole numbers 0, 1, 2, ...")
    y = y.astype(np.int64)
    if y.min() < 0:
        raise InputError(f"{what}: label {int(y.min())} is negative; classes are numbered from 0.")
    return y


class ArraySource:
    """Pictures in one array, perhaps a memory map."""

    def __init__(
        self,
        pictures: NDArray[Any],
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
        self.labels = check_labels(labels, count=len(pictures), what=what)
        self.ids = list(map(str, range(len(pictures)))) if ids is None else list(map(str, ids))
        if len(self.ids) != len(pictures):
            raise InputError(f"{what}: {len(self.ids)} ids for {len(pictures)} pictures.")
        self.class_names = class_names
        self.columns = dict(columns or {})  # what else is known of each picture, for --groups
        self._pictures = pictures

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


class FileSource:
    """Picture files, opened one at a time."""

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
    ) -> None:
        self.columns = dict(columns or {})  # what else is known of each picture, for --groups
        self._root, self.ids, self.class_names = root, list(names), class_names
        self.numbered_by_name = numbered_by_name  # then the model must know exactly these classes, in this order
        self.labels = check_labels(labels, count=len(self.ids), what=str(root))
        self.channels = channels

    def read(self, index: int) -> NDArray[Any]:
        """One picture, converted to RGB (or grey, for one channel)."""
        path = self._root / self.ids[index]
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("L" if self.channels == 1 else "RGB"))
        except (OSError, UnidentifiedImageError, ValueError, SyntaxError) as error:
            raise InputError(f"cannot read the picture {path}: {error}. Repair or leave it out.") from error
        return pixels[..., None] if pixels.ndim == 2 else pixels

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """From the files' headers."""
        for index in indices:
            path = self._root / self.ids[index]
            try:
                with Image.open(path) as image:
                    width, height = image.size
            except (OSError, UnidentifiedImageError, ValueError, SyntaxError) as error:
                raise InputError(f"cannot read the picture {path}: {error}. Repair or leave it out.") from error
            yield int(index), (height, width)

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
            labels = [int(dataset[i][1]) for i in range(len(dataset))]
        self.labels = check_labels(np.asarray(labels), count=len(dataset), what="dataset")
        self.ids = list(map(str, range(len(dataset))))
        self.class_names = class_names if class_names is not None else getattr(dataset, "classes", None)

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
    """Pictures (n, height, width[, channels]) and their labels, already in memory."""
    return ArraySource(np.asarray(pictures), labels, ids=ids)


def from_dataset(dataset: Any, labels: ArrayLike | None = None) -> DatasetSource:
    """A torch `Dataset` with items (picture, label); pass `labels` to spare one reading of all items."""
    return DatasetSource(dataset, labels)


def from_folder(root: str | Path, *, channels: int = 3, class_names: Sequence[str] | None = None) -> FileSource:
    """A folder with one subfolder per class.

    Classes are numbered in the order of their names, or of `class_names` where given: a control must be
    numbered as its test set, also where it lacks a class.
    """
    root = Path(root)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder.")
    found = sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not found:
        raise InputError(
            f"{root}: no class folders. Put each class into a subfolder of its own, or give a CSV of "
            "file names and labels with --labels."
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
        root, names, np.array(labels), class_names=list(numbers), channels=channels, numbered_by_name=True
    )


def from_csv(
    root: str | Path, table: str | Path, *, channels: int = 3, class_names: Sequence[str] | None = None
) -> FileSource:
    """A folder and a CSV with a header: file name, label, and perhaps the name of the label and further columns.

    A label is a number, or a name; names are numbered in their order, or in that of `class_names`. Beside numbers, a
    third column that has one value for each label is its name. Every column past the second can name groups.
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
    if all(value.isdigit() for value in raw):
        labels = np.array([int(v) for v in raw])
        pairs = {(int(row[1]), row[2]) for row in rows if len(row) > 2}
        known = dict(pairs)
        if known and len(known) == len(pairs) and class_names is None:
            class_names = [known.get(i, f"class {i}") for i in range(max(known) + 1)]
        return FileSource(root, names, labels, class_names=class_names, channels=channels, columns=columns)
    numbers = _class_numbers(sorted(set(raw)), class_names, str(table))
    labels = np.array([numbers[v] for v in raw])
    return FileSource(
        root, names, labels, class_names=list(numbers), channels=channels, numbered_by_name=True, columns=columns
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
) -> ArraySource:
    """Arrays of an `.npz` file; stored without compression they are mapped, not loaded."""
    path = Path(path)

    def pick(keys: Sequence[str], wanted: str | None, usual: tuple[str, ...], option: str) -> str:
        if wanted is None:
            wanted = next((k for k in usual if k in keys), None)
        if wanted is None or wanted not in keys:
            what = "pictures" if "images" in option else "labels"
            raise InputError(f"{path} holds the keys {', '.join(keys)}; say which are the {what} with {option}.")
        return wanted

    try:
        with path.open("rb") as f, np.load(f, allow_pickle=False) as archive:
            keys = archive.files
            key = pick(keys, images_key, IMAGE_KEYS, "--images-key")
            pictures = _map_npz_member(path, f"{key}.npy")
            if pictures is None:
                pictures = archive[key]
            if labels is None:
                labels = archive[pick(keys, labels_key, LABEL_KEYS, "--labels-key, or give --labels y.npy")]
            class_names = [str(name) for name in archive["class_names"]] if "class_names" in keys else None
            ids = [str(name) for name in archive["ids"]] if "ids" in keys else None
            columns = {
                name: archive[name]
                for name in keys
                if name not in (key, "ids", "class_names") and _npz_shape(path, f"{name}.npy") == (len(pictures),)
            }
    except InputError:
        raise
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zlib.error, zipfile.BadZipFile) as error:
        raise InputError(
            f"cannot read {path}: it is not an .npz file of plain arrays, or is damaged ({type(error).__name__})."
        ) from error
    return ArraySource(pictures, labels, ids=ids, class_names=class_names, columns=columns, what=str(path))


def _npz_shape(path: Path, name: str) -> tuple[int, ...] | None:
    """Shape of an array in a zip file, from its header alone; None where it holds objects."""
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        shape, _, dtype = _npy_header(member)
    return None if dtype.hasobject else shape


def _npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and type of an array; reads up to its first value."""
    version = np.lib.format.read_magic(member)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return header(member)


def _map_npz_member(path: Path, name: str) -> NDArray[Any] | None:
    """Memory map of an array that stands uncompressed in a zip file; None where it is compressed."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        with archive.open(info) as member:
            shape, fortran, dtype = _npy_header(member)
            header_size = member.tell()
    if fortran or dtype.hasobject:
        return None
    with path.open("rb") as f:
        f.seek(info.header_offset + 26)  # lengths of name and extra field in the local zip header
        lengths = f.read(4)
    start = info.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    if start + header_size + int(np.prod(shape)) * dtype.itemsize > path.stat().st_size:
        raise InputError(f"{path} is cut short: {name} should be longer.")
    return np.memmap(path, dtype=dtype, mode="r", offset=start + header_size, shape=shape)


def open_source(
    path: str | Path,
    *,
    labels: str | Path | None = None,
    images_key: str | None = None,
    labels_key: str | None = None,
    channels: int = 3,
    class_names: Sequence[str] | None = None,
) -> ImageSource:
    """What a path on the command line means: a folder of class folders, a folder with a CSV, or an npz file."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.is_dir():
        if labels is not None:
            return from_csv(path, labels, channels=channels, class_names=class_names)
        return from_folder(path, channels=channels, class_names=class_names)
    if path.suffix == ".npz":
        given = None
        if labels is not None:
            try:
                given = np.load(labels, allow_pickle=False)
            except (OSError, ValueError) as error:
                raise InputError(f"cannot read {labels}: labels beside an .npz must be a plain .npy file.") from error
        return from_npz(path, images_key=images_key, labels_key=labels_key, labels=given)
    raise InputError(f"{path} is neither a folder nor an .npz file; `heldout audit --help` shows what can be read.")
