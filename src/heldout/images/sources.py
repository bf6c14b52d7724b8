"""Sources of labelled pictures that are read one at a time: arrays, files, a torch dataset, a part of another."""

from __future__ import annotations

import copy
import hashlib
import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, UnidentifiedImageError

from heldout.checks import check_count, check_labels, number_labels
from heldout.errors import InputError
from heldout.files import PackedRows
from heldout.images.oddities import marks_of

MAX_PIXELS = 100_000_000  # of one picture file, 300 MB once it is decoded; `max_pixels` raises it
END_MARKS = {".png": b"IEND", ".jpg": b"\xff\xd9", ".jpeg": b"\xff\xd9"}
MOST_THREADS = 8  # that decode files
DIGEST_SAMPLE = 256  # pictures of a torch dataset that enter its digest


class ImageSource(Protocol):
    """A sequence of labelled pictures that are read one at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from heldout.images import ImageSource, from_arrays
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

    keys: tuple[str, ...] = ()  # of pictures and labels in the file that they are from

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
        if len(set(self.ids)) < len(self.ids):
            twice = next(name for name, count in Counter(self.ids).items() if count > 1)
            raise InputError(
                f"{what}: the id {twice!r} stands more than once in `ids`; give each picture one of its own, or none "
                "to any, and say with `groups` which depend on each other."
            )
        self.class_names = names if class_names is None else class_names
        self.columns = dict(columns or {})  # what else is known of each picture, for groups
        self._pictures = pictures

    @property
    def threads(self) -> int:
        """How many may read at once; packed rows are read in their order."""
        return 8 if isinstance(self._pictures, np.ndarray) else 0

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

    def packed(self, rows: NDArray[np.intp]) -> ArraySource:
        """Some of the pictures, held by themselves."""
        part = copy.copy(self)
        part.labels, part.ids, part.columns = self.labels[rows], [self.ids[i] for i in rows], {}
        part._pictures = np.asarray(self._pictures[rows])
        return part

    def digest(self) -> str:
        """Of every pixel and label."""
        h = hashlib.sha256(repr((self._pictures.shape, str(self._pictures.dtype))).encode())
        step = max(1, (1 << 24) // max(1, self._pictures[0].nbytes))
        for start in range(0, len(self._pictures), step):
            h.update(np.ascontiguousarray(self._pictures[start : start + step]).data)
        h.update(self.labels.tobytes())
        return h.hexdigest()


_opening = threading.Lock()


def _open_of_any_size(file: Path | io.BytesIO) -> Image.Image:
    """Pillow's own limit is a warning, then an error that names no way out; it belongs to the whole process."""
    with _opening:
        usual, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            return Image.open(file)
        finally:
            Image.MAX_IMAGE_PIXELS = usual


def _more_than_bytes(image: Image.Image) -> str | None:
    """What the channels of an opened file are, where they are no bytes (or bits); None where they are."""
    if image.mode in ("I", "F"):
        return "32-bit floats" if image.mode == "F" else "16-bit or 32-bit integers"
    decoded = [str(tile.args) for tile in getattr(image, "tile", ())]  # BGR;16 are two bytes for all three channels
    if image.mode.startswith("I;16") or any(";16" in args and "BGR" not in args for args in decoded):
        return "16-bit integers"
    return None


class FileSource:
    """Picture files, opened one at a time."""

    threads = MOST_THREADS
    keys: tuple[str, ...] = ()  # where the labels were read

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
        self._contents: list[bytes] | None = None  # of the files, where they are elsewhere

    def read(self, index: int) -> NDArray[Any]:
        """One picture, converted to RGB (or grey, for one channel)."""
        with self._opened(index) as image:
            return self._pixels(image)

    def look(self, index: int) -> tuple[NDArray[Any], int]:
        """One picture, and what its file holds besides (`heldout.images.oddities`)."""
        with self._opened(index) as image:
            pages = bool(getattr(image, "is_animated", False))
            return self._pixels(image), marks_of(image, pages=pages)

    def _pixels(self, image: Image.Image) -> NDArray[Any]:
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
            with _open_of_any_size(path if self._contents is None else io.BytesIO(self._contents[index])) as image:
                if image.width * image.height > self.max_pixels:
                    raise InputError(
                        f"the picture {path} has {image.width:,} x {image.height:,} pixels, more than `max_pixels`, "
                        f"{self.max_pixels:,}; leave it out, or raise `max_pixels` if it is to be read."
                    )
                if (kind := _more_than_bytes(image)) is not None:
                    raise InputError(
                        f"the picture {path} has pixels of {kind}; files of 8 bits a channel are needed, since Pillow "
                        "would clip or cut others. Convert it as was done for training, or give arrays of floats "
                        "(.npz) and `scale`."
                    )
                yield image
        except InputError:
            raise
        except (OSError, UnidentifiedImageError, ValueError, SyntaxError) as error:
            raise InputError(f"cannot read the picture {path}: {error}. Repair or leave it out.") from error

    def _content(self, index: int) -> bytes:
        """The bytes of a file."""
        if self._contents is not None:
            return self._contents[index]
        path = self._root / self.ids[index]
        try:
            return path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the picture {path}: {error}.") from error

    def packed(self, rows: NDArray[np.intp]) -> FileSource:
        """Some of the pictures, with the bytes of their files."""
        part = copy.copy(self)
        part.labels, part.ids, part.columns = self.labels[rows], [self.ids[i] for i in rows], {}
        part._contents = [self._content(int(i)) for i in rows]
        return part

    def digest(self) -> str:
        """Of every file's name, label and bytes; a PNG or JPEG file that is cut short is found on the way."""
        h = hashlib.sha256()
        for index, (name, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            content = self._content(index)
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
        self.whole, self.rows = whole, np.asarray(rows)
        self.labels = whole.labels[self.rows]
        self.ids = [whole.ids[i] for i in self.rows]
        self.class_names = whole.class_names
        self.columns = {name: values[self.rows] for name, values in getattr(whole, "columns", {}).items()}

    def read(self, index: int) -> NDArray[Any]:
        """One picture of the whole."""
        return self.whole.read(int(self.rows[index]))

    @property
    def threads(self) -> int:
        """How many may read at once, as the whole says."""
        return int(getattr(self.whole, "threads", 0))

    @property
    def look(self) -> Callable[[int], tuple[NDArray[Any], int]] | None:
        """One picture and what its file holds besides; None where the whole has no files."""
        look = getattr(self.whole, "look", None)
        return None if look is None else lambda index: look(int(self.rows[index]))

    @property
    def read_many(self) -> Callable[[NDArray[np.intp]], NDArray[Any]] | None:
        """Some pictures at once; None where the whole cannot."""
        read_many = getattr(self.whole, "read_many", None)
        return None if read_many is None else lambda indices: read_many(self.rows[indices])

    def shapes(self, indices: NDArray[np.intp]) -> Iterator[tuple[int, tuple[int, int]]]:
        """As the whole tells them."""
        back = {int(self.rows[i]): int(i) for i in indices}
        for index, shape in self.whole.shapes(self.rows[indices]):
            yield back[index], shape

    def digest(self) -> str:
        """Of the whole and of which pictures."""
        return hashlib.sha256(self.whole.digest().encode() + self.rows.astype(np.int64).tobytes()).hexdigest()
