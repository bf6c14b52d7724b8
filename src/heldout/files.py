"""Reading and writing arrays and text; a write is whole or not there, and nothing is unpacked unseen."""

from __future__ import annotations

import csv
import math
import os
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError

IN_MEMORY = 2**30  # bytes up to which a packed array is unpacked at once; rows of a larger one are read one at a time
LARGEST = 2**30  # bytes past which an array must not be packed more than MOST_PACKED times
MOST_PACKED = 100  # real predictions and pictures pack 2 to 30 times, zeros a thousand times
DEFLATE = 1032  # times, the most that deflate packs
KEPT_ROWS = 2**28  # bytes of rows that are kept once they were read
BLOCK = 2**24  # bytes read at a time
# What zipfile and NumPy raise over damaged bytes: RuntimeError (and NotImplementedError) where a flipped bit asks for
# a password or an unknown packing.
UNREADABLE = (ValueError, EOFError, RuntimeError, SyntaxError, struct.error, zlib.error, zipfile.BadZipFile)


class Header(NamedTuple):
    """What an array says of itself before its first value."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int  # bytes of the header itself

    @property
    def nbytes(self) -> int:
        """Bytes of the values, without overflow."""
        return math.prod(self.shape) * self.dtype.itemsize


class Npz(Mapping[str, NDArray[Any]]):
    """An open `.npz` file, of which only the arrays that are asked for are read.

    What an array's header declares is compared with what the file can hold before anything is allocated, and every byte
    that is read whole is compared with its checksum. Whatever is wrong is an `InputError`.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> write_npz(path, {"x": np.arange(6).reshape(2, 3)})
    >>> with Npz(path) as arrays:
    ...     list(arrays), arrays.shape("x"), int(arrays["x"].sum())
    (['x'], (2, 3), 15)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with _sentences(self.path):
            self._archive = zipfile.ZipFile(self.path)
        self._members = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}
        self._size = self.path.stat().st_size

    def __enter__(self) -> Npz:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: object) -> bool:
        return key in self._members

    def __getitem__(self, key: str) -> NDArray[Any]:
        header, packed = self.header(key), self._members[key].compress_size
        if header.nbytes > max(LARGEST, MOST_PACKED * packed):
            raise InputError(
                f"{self.path}: {key!r} of {packed / 1e6:,.1f} MB unpacks to {header.nbytes / 1e9:,.1f} GB, more than "
                f"{MOST_PACKED} times as much; save it with numpy.savez, without compression, if it really is so large."
            )
        with _sentences(self.path), self._archive.open(self._members[key]) as member:
            return np.asarray(np.lib.format.read_array(member, allow_pickle=False))

    def shape(self, key: str) -> tuple[int, ...] | None:
        """Shape of an array, from its header alone; None where it holds Python objects."""
        with _sentences(self.path), self._archive.open(self._members[key]) as member:
            header = _read_header(member)
        return None if header.dtype.hasobject else header.shape

    def header(self, key: str) -> Header:
        """What an array says of itself, which must fit into the file."""
        info = self._members[key]
        with _sentences(self.path), self._archive.open(info) as member:
            header = _read_header(member)
        if header.dtype.hasobject:
            raise InputError(f"{self.path}: {key!r} holds Python objects; save plain arrays of numbers or text.")
        _check_declared(header, info.file_size - header.length, f"{self.path}: {key!r}")
        stored = info.compress_type == zipfile.ZIP_STORED
        held = min(info.compress_size, self._size) * (1 if stored else DEFLATE)
        if stored or info.compress_type == zipfile.ZIP_DEFLATED:
            _check_declared(header, held, f"{self.path}: {key!r}")
        return header

    def rows(self, key: str) -> NDArray[Any] | PackedRows:
        """An array of which single rows are wanted: mapped where it is not packed, else unpacked row by row if large.

        The checksum of a mapped array is compared first.
        """
        header, info = self.header(key), self._members[key]
        if header.fortran or not header.shape:
            return self[key]
        if info.compress_type != zipfile.ZIP_STORED:
            return self[key] if header.nbytes <= IN_MEMORY else PackedRows(self.path, info, header)
        with _sentences(self.path), self._archive.open(info) as member:
            while member.read(BLOCK):  # zipfile compares the checksum at the end
                pass
        with self.path.open("rb") as f:
            f.seek(info.header_offset + 26)  # lengths of name and extra field in the local zip header
            lengths = f.read(4)
        start = info.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        if not header.nbytes:
            return self[key]
        return np.memmap(self.path, dtype=header.dtype, mode="r", offset=start + header.length, shape=header.shape)


class PackedRows:
    """Rows of a packed array that is too large to unpack at once: read in their order, the last ones kept.

    Going back to a row that is no longer kept starts from the beginning, so that memory stays small and time is what
    it costs.
    """

    def __init__(self, path: Path, info: zipfile.ZipInfo, header: Header) -> None:
        self._path, self._info, self._header = path, info, header
        self.shape, self.dtype, self.ndim = header.shape, header.dtype, len(header.shape)
        self._row_bytes = header.nbytes // max(1, len(self))
        self._kept: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._stream: IO[bytes] | None = None
        self._next = 0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[Any]:
        places = np.arange(len(self))[index]
        if places.ndim == 0:
            return self._row(int(places))
        rows = np.empty((len(places), *self.shape[1:]), dtype=self.dtype)
        for i in np.argsort(places, kind="stable"):
            rows[i] = self._row(int(places[i]))
        return rows

    def _row(self, index: int) -> NDArray[Any]:
        if index in self._kept:
            return self._kept[index]
        with _sentences(self._path):
            if self._stream is None or index < self._next:
                self._begin()
            assert self._stream is not None
            skipped = (index - self._next) * self._row_bytes
            while skipped > 0:
                skipped -= len(self._read(min(skipped, BLOCK)))
            row = np.frombuffer(self._read(self._row_bytes), dtype=self.dtype).reshape(self.shape[1:])
        self._next = index + 1
        self._kept[index] = row
        if len(self._kept) > max(1, KEPT_ROWS // max(1, self._row_bytes)):
            self._kept.popitem(last=False)
        return row

    def _begin(self) -> None:
        self.close()
        archive = zipfile.ZipFile(self._path)
        with archive:  # the member keeps the file open
            self._stream = archive.open(self._info)
        self._stream.read(self._header.length)
        self._next = 0

    def _read(self, count: int) -> bytes:
        assert self._stream is not None
        found = self._stream.read(count)
        if len(found) < count:
            raise EOFError
        return found

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __getstate__(self) -> dict[str, Any]:
        """As one that has read nothing yet: another process opens the file itself."""
        return {**vars(self), "_stream": None, "_next": 0, "_kept": OrderedDict()}

    def __del__(self) -> None:
        self.close()


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file; the file is closed even where it is damaged."""
    with Npz(path) as arrays:
        return dict(arrays)


def read_npy(path: str | Path, *, mapped: bool = False) -> NDArray[Any]:
    """The array of a `.npy` file, if the file is as long as its header says."""
    path = Path(path)
    with path.open("rb") as f:
        with _sentences(path, "npy"):
            header = _read_header(f)
        if header.dtype.hasobject:
            raise InputError(f"{path} holds Python objects; save a plain array of numbers or text.")
        _check_declared(header, path.stat().st_size - header.length, str(path))
    with _sentences(path, "npy"):
        return np.asanyarray(np.load(path, mmap_mode="r" if mapped and header.nbytes else None, allow_pickle=False))


def _read_header(f: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(f)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(f)
    return Header(tuple(map(int, shape)), fortran, dtype, f.tell())


def _check_declared(header: Header, held: int, what: str) -> None:
    """Refuse an array that cannot be as long as it says, before it is allocated."""
    if min(header.shape, default=0) < 0 or header.nbytes > held:
        raise InputError(
            f"{what} is damaged or cut short: its header declares the shape {header.shape} of type {header.dtype}, "
            f"{header.nbytes:,} bytes, but there can be at most {held:,}."
        )


@contextmanager
def _sentences(path: Path, kind: str = "npz") -> Iterator[None]:
    """Turn what goes wrong inside a damaged file into one sentence; a file that is not there stays an OSError."""
    try:
        yield
    except InputError:
        raise
    except (*UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # not there, or not ours to read
        raise InputError(
            f"{path} is damaged or cut short, or not an .{kind} file of plain arrays ({type(error).__name__})."
        ) from error


def text_encoding(head: bytes) -> str:
    """How a text is written, by its first bytes: UTF-16 and UTF-32 say so themselves, all others are UTF-8.

    Examples
    --------
    >>> text_encoding("id,a".encode("utf-16")), text_encoding("id,a".encode("utf-16-le")), text_encoding(b"id,a")
    ('utf-16', 'utf-16-le', 'utf-8-sig')
    """
    for mark, name in (
        (b"\xff\xfe\0\0", "utf-32"),
        (b"\0\0\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if head.startswith(mark):
            return name
    if len(head) >= 4 and head[0] and head[2] and head[1] == head[3] == 0:
        return "utf-16-le"
    return "utf-8-sig"


def not_text(name: str, error: UnicodeDecodeError) -> InputError:
    """What to say of text that is not in the encoding it should be in."""
    if not error.encoding.lower().startswith("utf-8"):
        return InputError(f"{name} begins as {error.encoding} text, but is damaged at byte {error.start:,}.")
    return InputError(
        f"{name} is not UTF-8 text: byte {error.start:,} is {error.object[error.start]:#04x}. If it is Latin-1 or "
        f"Windows-1252, as spreadsheets often save it, convert it with `iconv -f WINDOWS-1252 -t UTF-8`, or save it "
        'as "CSV UTF-8".'
    )


def open_text(path: Path) -> IO[str]:
    """A text file in whatever Unicode encoding its first bytes announce; line ends stay as they are."""
    with path.open("rb") as f:
        encoding = text_encoding(f.read(4))
    return path.open(newline="", encoding=encoding)


def read_table(path: Path, *, what: str, example: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV of two columns or more, Excel's byte order mark or not; blank lines do not count."""
    try:
        with open_text(path) as f:
            header, *rows = [row for row in csv.reader(f) if row] or [[]]
    except UnicodeDecodeError as error:
        raise not_text(str(path), error) from error
    except (OSError, csv.Error) as error:
        raise InputError(f"cannot read {what} {path}: {error}.") from error
    if not rows or any(len(row) < 2 for row in [header, *rows]):
        raise InputError(f"{path}: a header line and two columns are needed, for example `{example}`.")
    return header, rows


def write_npz(path: Path, arrays: dict[str, NDArray[Any]], *, packed: bool = False) -> None:
    """Save arrays, `packed` or as they are, so that a reader sees the old file or the new one, never half of it."""
    with _whole(path) as part, part.open("wb") as f:
        (np.savez_compressed if packed else np.savez)(f, **arrays)  # type: ignore[arg-type]
        f.flush()
        os.fsync(f.fileno())


def write_text(path: Path, text: str) -> None:
    """The same for text."""
    with _whole(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A file beside the one to be written, which takes its place in the end; a full disk is told with its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException as error:  # also Ctrl-C
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
