"""Archives that are checked before they are unpacked, rows that are read one at a time, text in any encoding."""

from __future__ import annotations

import errno
import gzip
import pickle
import zipfile

import numpy as np
import pytest

from heldout import files, load_predictions
from heldout.errors import InputError
from heldout.files import Npz, PackedRows, read_npy, read_npz, write_npz, write_text


@pytest.fixture
def rows(rng) -> np.ndarray:
    return rng.integers(0, 255, (50, 6, 5)).astype(np.uint8)


@pytest.mark.parametrize("packed", [False, True])
def test_a_flipped_bit_is_found_wherever_it_is(tmp_path, rows, packed):
    path = tmp_path / "x.npz"
    write_npz(path, {"rows": rows}, packed=packed)
    assert np.array_equal(read_npz(path)["rows"], rows)
    with Npz(path) as arrays:
        assert np.array_equal(arrays.rows("rows"), rows)
        assert isinstance(arrays.rows("rows"), np.memmap) is not packed
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("rows.npy")
    start = info.header_offset + 60 + 128  # past both headers, or well inside what is packed
    for place in np.linspace(start, info.header_offset + info.compress_size, 9).astype(int):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with Npz(path) as arrays:
            for read in (arrays.rows, arrays.__getitem__):
                with pytest.raises(InputError, match=r"x.npz is damaged or cut short"):
                    read("rows")


def test_large_packed_arrays_are_read_row_by_row(tmp_path, rows, monkeypatch, rng):
    path = tmp_path / "x.npz"
    write_npz(path, {"rows": rows}, packed=True)
    monkeypatch.setattr(files, "IN_MEMORY", 100)
    monkeypatch.setattr(files, "KEPT_ROWS", 4 * rows[0].nbytes)
    with Npz(path) as arrays:
        packed = arrays.rows("rows")
    assert isinstance(packed, PackedRows)
    assert (packed.shape, packed.dtype, packed.ndim, len(packed)) == (rows.shape, rows.dtype, 3, 50)
    for i in [0, 3, 3, 2, 49, -1, *rng.integers(0, 50, 20)]:  # forwards, again, back, the end
        assert np.array_equal(packed[int(i)], rows[i])
    for index in (slice(10, 20), np.array([7, 3, 3, 41]), np.arange(0)):
        assert np.array_equal(packed[index], rows[index])
    assert len(packed._kept) <= 4
    elsewhere = pickle.loads(pickle.dumps(packed))  # as it goes to another process
    assert not elsewhere._kept
    assert np.array_equal(elsewhere[[5, 3]], rows[[5, 3]])
    whole = path.read_bytes()
    path.write_bytes(whole[:700] + bytes([whole[700] ^ 4]) + whole[701:])
    with Npz(path) as arrays, pytest.raises(InputError, match="damaged"):
        arrays.rows("rows")[:]


def test_what_unpacks_to_far_more_than_it_is(tmp_path, monkeypatch):
    path = tmp_path / "zeros.npz"
    write_npz(path, {"x": np.zeros(10**6)}, packed=True)
    assert read_npz(path)["x"].size == 10**6
    monkeypatch.setattr(files, "LARGEST", 10**6)
    with pytest.raises(InputError, match=r"unpacks to 0.0 GB, more than 100 times as much; save it with numpy.savez"):
        read_npz(path)


def test_npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(9))
    assert read_npy(path).tolist() == read_npy(path, mapped=True).tolist() == list(range(9))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"declares the shape \(9,\) of type int64, 72 bytes, but .* at most 71"):
        read_npy(path)
    np.save(path, np.array([None]), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        read_npy(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_table_in_any_unicode(tmp_path, encoding):
    content = "id,label,α,β\nVögel,1,1,0\nκύων,0,0,0\n".encode(encoding)
    (tmp_path / "x.csv").write_bytes(content)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(content))
    for name in ("x.csv", "x.csv.gz"):
        table = load_predictions(tmp_path / name)
        assert (table.names, table.ids) == (("α", "β"), ("Vögel", "κύων"))


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for write, module, name in (
        (lambda: write_npz(tmp_path / "a.npz", {"x": np.arange(3)}), "os", "fsync"),
        (lambda: write_text(tmp_path / "a.npz", "x"), "os", "replace"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(getattr(files, module), name, full)
            with pytest.raises(OSError, match="No space left") as caught:
                write()
        assert caught.value.filename == str(tmp_path / "a.npz")
        assert not list(tmp_path.iterdir())


def test_what_is_stopped_leaves_nothing_behind(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "x.txt", "text")
    assert list(tmp_path.iterdir()) == []
