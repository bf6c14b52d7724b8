"""Pictures from every kind of source, framed and scaled."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from heldout import InputError
from heldout.images import (
    Crop,
    LabelledImages,
    Pad,
    Upsample,
    Wrap,
    from_arrays,
    from_csv,
    from_dataset,
    from_folder,
    from_npz,
    open_source,
    split,
)
from heldout.images.duplicates import duplicate_codes, pixel_hashes
from heldout.images.frames import PAD_MODES
from heldout.images.labelled import check_scale
from heldout.images.oddities import Oddities


@pytest.fixture
def folder(tmp_path, rng):
    root = tmp_path / "pictures"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
        for i in range(3):
            Image.fromarray(rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(root / name / f"{i}.png")
    return root


def test_folder(folder):
    source = from_folder(folder)
    assert list(source.ids) == [f"{c}/{i}.png" for c in ("cat", "dog") for i in range(3)]
    assert source.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert source.class_names == ["cat", "dog"]
    assert source.read(0).shape == (20, 30, 3)
    assert from_folder(folder, channels=1).read(0).shape == (20, 30, 1)


def test_folder_and_csv(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,label\ndog/1.png,7\ncat/0.png,0\n")
    source = open_source(folder, labels=table)
    assert (list(source.ids), source.labels.tolist()) == (["dog/1.png", "cat/0.png"], [7, 0])
    table.write_text("file,label\ndog/1.png,dog\ncat/0.png,cat\n")
    source = from_csv(folder, table)
    assert (source.labels.tolist(), source.class_names) == ([1, 0], ["cat", "dog"])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_mapped_where_it_can_be(save, tmp_path, rng):
    pictures = rng.integers(0, 256, (5, 6, 7, 3), dtype=np.uint8)
    save(tmp_path / "x.npz", x_test=pictures, y_test=np.arange(5), other=np.zeros(3))
    source = from_npz(tmp_path / "x.npz")
    assert all(np.array_equal(source.read(i), pictures[i]) for i in range(5))
    assert isinstance(source._pictures, np.memmap) == (save is np.savez)
    assert source.digest() == from_arrays(pictures, np.arange(5)).digest()
    np.save(tmp_path / "y.npy", np.arange(5)[::-1])
    assert open_source(tmp_path / "x.npz", labels=tmp_path / "y.npy").labels.tolist() == [4, 3, 2, 1, 0]


def test_torch_dataset(rng):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.rand(6, 3, 5, 4), torch.tensor([0, 1, 2, 0, 1, 2]))
    source = from_dataset(data)
    assert source.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert source.read(2).shape == (5, 4, 3)
    assert np.array_equal(source.read(2), data[2][0].numpy().transpose(1, 2, 0))
    assert source.digest() == from_dataset(data).digest()


def test_a_dataset_is_read_one_item_at_a_time(linear_model):
    class Counting:
        targets = [0, 1] * 50
        most = 0

        def __len__(self):
            return 100

        def __getitem__(self, index):
            return np.full((9, 9), index, np.uint8), index % 2

    from heldout import Translations, audit

    images = LabelledImages(from_dataset(Counting()), Wrap())
    result = audit(linear_model((1, 9, 9), 2), images, orbit=Translations(1), allow_chance=True)
    assert len(result.T) == 100


def test_digest_sees_pixels_labels_and_preprocessing(rng):
    pictures, labels = rng.integers(0, 256, (4, 8, 8), dtype=np.uint8), np.arange(4)
    images = LabelledImages(from_arrays(pictures, labels), Wrap())
    changed = pictures.copy()
    changed[3, 7, 7] ^= 1
    others = [
        LabelledImages(from_arrays(changed, labels), Wrap()),
        LabelledImages(from_arrays(pictures, labels[::-1]), Wrap()),
        replace(images, mean=(0.5,)),
        images.with_frame(Crop(2)),
    ]
    digests = {i.digest() for i in [images, *others]}
    assert len(digests) == 5


def test_file_digest_sees_content(folder):
    before = from_folder(folder).digest()
    Image.new("RGB", (20, 30)).save(folder / "dog" / "2.png")
    assert from_folder(folder).digest() != before


def test_scaling_follows_mean_std_and_channel_order():
    picture = np.zeros((1, 1, 1, 3), np.uint8)
    picture[0, 0, 0] = (255, 0, 51)
    images = LabelledImages(from_arrays(picture, [0]), Wrap(), mean=(0.5, 0.25, 0.0), std=(0.5, 0.5, 2.0))
    assert images.canvas(0, 0, "nchw").ravel() == pytest.approx([1.0, -0.5, 0.1])
    assert replace(images, bgr=True).canvas(0, 0, "nchw").ravel() == pytest.approx([-0.6, -0.5, 0.5])
    assert replace(images, scale=1.0, mean=(0,), std=(1,)).canvas(0, 0, "nhwc").ravel().tolist() == [255, 0, 51]
    floats = LabelledImages(from_arrays(picture.astype(np.float64), [0]), Wrap())
    assert floats.canvas(0, 0, "nhwc").ravel().tolist() == [255, 0, 51]  # taken as they are


def test_crop_is_torchvisions(rng):
    """Resize to a short side of 256, then cut 224 from the middle: 16 pixels are left on each side."""
    picture = rng.integers(0, 256, (300, 500, 3), dtype=np.uint8)
    frame = Crop(224, resize=256)
    resized = np.asarray(Image.fromarray(picture).resize((500 * 256 // 300, 256), Image.Resampling.BILINEAR))
    left = round((resized.shape[1] - 224) / 2)
    assert np.array_equal(frame.place(picture, 0), resized[16:240, left : left + 224])
    assert np.array_equal(frame.place(picture, 15), resized[1:255, left - 15 : left + 239])
    assert frame.room((300, 500)) == 16
    with pytest.raises(InputError, match="17 pixels is needed, 16 are there"):
        frame.place(picture, 17)


def test_upsample_of_float_and_byte_pictures_agree(rng):
    picture = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    frame = Upsample(44, crop=32)
    assert frame.room((32, 32)) == 6
    as_float = frame.place(picture.astype(np.float32), 6)
    assert np.abs(frame.place(picture, 6) - as_float).max() <= 1.0


def test_wrap_is_a_torus(rng):
    picture = rng.integers(0, 256, (5, 6, 1), dtype=np.uint8)
    placed = Wrap().place(picture, 7)  # more than once around
    assert placed.shape == (19, 20, 1)
    assert np.array_equal(placed[7:12, 7:13], picture)
    assert np.array_equal(placed[6:11, 7:13], np.roll(picture, 1, axis=0))


def test_split_is_seeded_stratified_and_exact():
    labels = np.repeat([0, 1, 2], [97, 31, 5])
    rest, control = split(labels, control=20, seed=3)
    assert len(control) == 20
    assert np.array_equal(np.sort(np.concatenate([rest, control])), np.arange(133))
    assert np.bincount(labels[control]).tolist() == [14, 5, 1]  # 14.6, 4.7, 0.75 by largest remainder: see below
    again, other = (split(labels, control=20, seed=s)[1] for s in (3, 4))
    assert np.array_equal(control, again)
    assert not np.array_equal(control, other)


def test_split_draws_uniformly():
    counts = np.zeros(12)
    for seed in range(3000):
        counts[split(np.repeat([0, 1], 6), control=4, seed=seed)[1]] += 1
    expected = 3000 * 4 / 12
    chi2 = ((counts - expected) ** 2 / (expected * (1 - 4 / 12))).sum()
    assert chi2 < 35  # 10 degrees of freedom, p about 1e-4


@pytest.mark.parametrize("control", [0, 10, 0.01, 1.5, -3])
def test_split_refuses(control):
    with pytest.raises(InputError, match="`control` is"):
        split(np.zeros(10, int), control=control, seed=0)


def refuses(sentence, function, *args, **options):
    with pytest.raises(InputError, match=sentence):
        function(*args, **options)


def test_bad_folders(folder, tmp_path):
    refuses("does not exist", open_source, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    refuses("no class folders", open_source, tmp_path / "empty")
    refuses("is not a folder", from_folder, tmp_path / "nowhere")
    (folder / "emu").mkdir()
    refuses("emu: the class folder holds no pictures", open_source, folder)
    (tmp_path / "notes.txt").write_text("hello")
    refuses("neither a folder nor an .npz", open_source, tmp_path / "notes.txt")


def test_an_unreadable_picture_is_named(folder):
    (folder / "dog" / "1.png").write_bytes(b"not a picture")
    refuses("dog/1.png", from_folder(folder).read, 4)
    whole = (folder / "dog" / "2.png").read_bytes()
    (folder / "dog" / "2.png").write_bytes(whole[: len(whole) // 2])
    refuses("dog/2.png", from_folder(folder).read, 5)


def test_a_picture_cut_short_is_found_by_the_digest(folder):
    """Before anything is scored: the digest reads every byte anyway."""
    Image.new("RGB", (20, 20)).save(folder / "dog" / "3.jpg")
    from_folder(folder).digest()
    for name in ("2.png", "3.jpg"):
        path = folder / "dog" / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        refuses(f"{name} is cut short", from_folder(folder).digest)
        path.write_bytes(whole)


def test_a_control_is_numbered_like_its_test_set(folder, tmp_path):
    """Also where it lacks a class: otherwise every later class would shift, and an honest model be accused."""
    import shutil

    shutil.copytree(folder, tmp_path / "control")
    shutil.rmtree(tmp_path / "control" / "cat")
    test = from_folder(folder)
    control = open_source(tmp_path / "control", class_names=test.class_names)
    assert set(control.labels) == {1}
    assert control.class_names == test.class_names
    (tmp_path / "control" / "emu").mkdir()
    refuses(
        "has the class 'emu', which the test set does not have", from_folder, tmp_path / "control", class_names=["dog"]
    )
    table = tmp_path / "labels.csv"
    table.write_text("file,label\ndog/1.png,dog\n")
    assert from_csv(folder, table, class_names=["cat", "dog"]).labels.tolist() == [1]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("file,prediction,label", "cat/0.png,0,1"),
        ("label,file", "1,cat/0.png"),
        ("id,Image-Path,split,Class", "7,cat/0.png,test,1"),
        ("file,species", "cat/0.png,1"),
    ],
)
def test_the_label_is_the_column_that_is_called_so(header, row, folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text(f"{header}\n{row}\n")
    source = from_csv(folder, table)
    assert (source.ids, source.labels.tolist()) == (["cat/0.png"], [1])
    assert source.keys[0].split("'")[1].lower() in ("label", "class", "species")
    assert {"label", "Class", "file"}.isdisjoint(source.columns)


def test_a_column_that_says_one_thing_of_all_labels_does_not_name_them(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,label,split\ncat/0.png,0,test\ncat/1.png,1,test\n")
    assert from_csv(folder, table).class_names is None


def test_classes_called_by_numbers_have_the_order_that_is_asked_for(tmp_path):
    for name in ("1", "2", "10"):
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / name / "a.png")
    refuses("another order as text .1, 10, 2., by which torchvision", from_folder, tmp_path)
    assert from_folder(tmp_path, classes_by="number").class_names == ["1", "2", "10"]
    assert from_folder(tmp_path, classes_by="name").class_names == ["1", "10", "2"]
    assert from_folder(tmp_path, class_names=["2", "1", "10"]).labels.tolist() == [1, 2, 0]
    (tmp_path / "10").rename(tmp_path / "0")
    assert from_folder(tmp_path).class_names == ["0", "1", "2"]
    refuses("`classes_by='name'` has no effect", from_folder, tmp_path, classes_by="name")
    (tmp_path / "0").rename(tmp_path / "10")
    assert from_folder(tmp_path, classes_by="value").labels.tolist() == [1, 10, 2]
    assert from_folder(tmp_path, classes_by="value").class_names is None
    (tmp_path / "10").rename(tmp_path / "02")
    refuses("'02' and '2' are one number", from_folder, tmp_path, classes_by="value")
    (tmp_path / "02").rename(tmp_path / "cat")
    refuses("needs classes called by their numbers, but .* has 'cat'", from_folder, tmp_path, classes_by="value")
    (tmp_path / "cat").rename(tmp_path / "0")
    table = tmp_path / "labels.csv"
    table.write_text("file,label\n1/a.png,10\n2/a.png,2\n")
    assert open_source(tmp_path, labels=table).labels.tolist() == [10, 2]
    refuses(
        "has no effect on the labels of .*, which are numbers", open_source, tmp_path, labels=table, classes_by="name"
    )


def test_labels_that_are_numbers_as_text(tmp_path):
    pictures, labels = np.zeros((3, 4, 4), np.uint8), np.array(["10", "9", "2"])
    refuses("labels: the classes are called 2, 9, 10", from_arrays, pictures, labels)
    np.savez(tmp_path / "x.npz", images=pictures, labels=labels)
    refuses("the labels of .*x.npz: the classes", from_npz, tmp_path / "x.npz")
    assert from_npz(tmp_path / "x.npz", classes_by="number").labels.tolist() == [2, 1, 0]
    assert from_npz(tmp_path / "x.npz", classes_by="name").labels.tolist() == [0, 2, 1]
    assert from_npz(tmp_path / "x.npz", classes_by="value").labels.tolist() == [10, 9, 2]
    np.savez(tmp_path / "y.npz", images=pictures, labels=np.array([b"10", b"9", b"2"]))
    assert from_npz(tmp_path / "y.npz", classes_by="value").labels.tolist() == [10, 9, 2]
    assert from_arrays(pictures, ["0", "1", "9"]).labels.tolist() == [0, 1, 2]


def test_floats_that_may_be_bytes_need_a_scale():
    def check(low: float, high: float, **said: float) -> None:
        x = np.linspace(low, high, 32).reshape(2, 4, 4)
        check_scale(LabelledImages(from_arrays(x, [0, 1]), Wrap(), **said), "the test set")

    refuses("`scale`: the pixels of the test set are floats from 0 to 255.*`scale=0.003921569` divides", check, 0, 255)
    check(0, 255, scale=1)
    check(0, 1.2)  # a resampling may go beyond 1
    check(-2.1, 2.6)  # less mean, over std


def test_several_arrays_of_labels(tmp_path):
    """As several pairs are; `x` and `y` beside `targets` were taken by their names' rank."""
    x, y = np.zeros((3, 4, 4), np.uint8), np.arange(3)
    for names in ({"images": x, "labels": y, "y": y[::-1]}, {"x_test": x, "y_test": y, "test_labels": y[::-1]}):
        np.savez(tmp_path / "two.npz", **names)
        refuses("several arrays of labels that differ .*choose with `labels_key`", from_npz, tmp_path / "two.npz")
        key = list(names)[2]
        assert from_npz(tmp_path / "two.npz", labels_key=key).labels.tolist() == [2, 1, 0]
    np.savez(tmp_path / "same.npz", images=x, labels=y, targets=y, train_labels=y[::-1], class_names=["a", "b", "c"])
    assert from_npz(tmp_path / "same.npz").labels.tolist() == [0, 1, 2]


def test_ids_are_different():
    refuses("the id 'a' stands more than once", from_arrays, np.zeros((2, 4, 4), np.uint8), [0, 1], ids=["a", "a"])


@pytest.mark.parametrize(
    ("values", "suffix", "kind"),
    [
        (np.uint16, "png", "16-bit"),
        (np.uint16, "tif", "16-bit"),
        (np.int32, "tif", "32-bit"),
        (np.float32, "tif", "floats"),
    ],
)
def test_files_of_more_than_bytes_are_refused(values, suffix, kind, tmp_path):
    """Pillow would clip 16 bits at 255, and floats between 0 and 1 would be black."""
    (tmp_path / "0").mkdir()
    Image.fromarray(np.full((4, 4), 200, values)).save(tmp_path / "0" / f"a.{suffix}")
    source = from_folder(tmp_path)
    refuses(f"a.{suffix} has pixels of .*{kind}", source.read, 0)
    refuses(kind, lambda: list(source.shapes(np.array([0]))))


def test_colours_of_sixteen_bits_are_refused(tmp_path):
    """Of which Pillow keeps the upper half, in silence."""

    def chunk(kind, content):
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    pixels = zlib.compress((b"\0" + bytes(4 * 6)) * 4)
    header = chunk(b"IHDR", bytes((0, 0, 0, 4, 0, 0, 0, 4, 16, 2, 0, 0, 0)))
    content = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "a.png").write_bytes(content)
    refuses("16-bit integers", from_folder(tmp_path).read, 0)


def test_what_files_hold_besides_is_counted(tmp_path):
    """An orientation, transparency and further pages; two pictures that differ in alpha alone look alike to a model."""
    (tmp_path / "0").mkdir()
    grey = Image.new("L", (4, 6), 100)
    turned, clear = Image.Exif(), Image.new("L", (4, 6), 255)
    turned[274] = 6
    clear.paste(0, (0, 0, 2, 2))
    grey.save(tmp_path / "0" / "a.jpg", exif=turned)
    grey.save(tmp_path / "0" / "b.png", exif=turned)
    grey.save(tmp_path / "0" / "plain.png")
    Image.merge("LA", (grey, clear)).save(tmp_path / "0" / "clear.png")
    Image.merge("LA", (grey, Image.new("L", (4, 6), 255))).save(tmp_path / "0" / "opaque.png")
    grey.convert("P").save(tmp_path / "0" / "palette.png", transparency=100)
    grey.convert("P").save(tmp_path / "0" / "unused.png", transparency=7)
    for suffix in ("tif", "gif"):
        grey.save(tmp_path / "0" / f"pages.{suffix}", save_all=True, append_images=[clear])
    grey.save(tmp_path / "0" / "one.gif")
    source = from_folder(tmp_path)
    hashes, found = pixel_hashes(source, np.arange(len(source.ids)))
    assert found == Oddities(n=10, turned=2, transparent=2, pages=2)
    assert len(set(hashes)) <= 2  # JPEG may round
    assert found.sentences("the test set")[0].startswith("2 of 10 pictures of the test set have an EXIF orientation")
    part = LabelledImages(source, Wrap()).take(np.array([source.ids.index("0/clear.png")])).source
    assert pixel_hashes(part, [0])[1] == Oddities(n=1, transparent=1)
    assert pixel_hashes(from_arrays(np.zeros((1, 4, 4), np.uint8), [0]), [0])[1] == Oddities(n=1)
    assert Oddities(n=3).sentences("the control") == ()


@pytest.mark.parametrize("order", [("label", "class"), ("class", "label"), ("y", "target")])
def test_classes_said_twice_in_a_csv(folder, tmp_path, order):
    """Numbers beside the names of the same classes are one label."""
    number, name = order if order[0] == "label" else order[::-1]
    rows = [{"file": "cat/0.png", number: 1, name: "cat"}, {"file": "dog/0.png", number: 0, name: "dog"}]
    table = tmp_path / "labels.csv"
    table.write_text("\n".join(",".join(str(row[key]) for key in ("file", *order)) for row in rows) + "\n")
    table.write_text(f"file,{order[0]},{order[1]}\n" + table.read_text())
    source = open_source(folder, labels=table)
    assert (source.labels.tolist(), source.class_names) == ([1, 0], ["dog", "cat"])
    table.write_text(table.read_text() + f"cat/1.png,{'1,dog' if order[0] == number else 'dog,1'}\n")  # another class
    refuses("several columns that could be the label", open_source, folder, labels=table)


def test_bad_csv(folder, tmp_path):
    table = tmp_path / "labels.csv"
    refuses("cannot read the label table", open_source, folder, labels=table)
    for content, sentence in [
        ("file,label\n", "two columns"),
        ("file\na.png\n", "two columns"),
        ("file,label\ncat/9.png,0\n", "does not hold, first 'cat/9.png'"),
        ("cat/0.png,0\ncat/1.png,0\n", "the first line names a picture; put a header"),
        ("\ufeffcat/0.png,0\ncat/1.png,0\n", "the first line names a picture; put a header"),  # as Excel writes it
        ("file,label\ncat/0.png,0\ncat/0.png,0\n", "names 'cat/0.png' more than once"),
        ("file,label\ncat/0.png,0\ncat/1.png,\n", "'cat/1.png' has no label"),
        ("file,ward,label\ncat/0.png,0\n", "'cat/0.png' has no label"),
        ("file,ward,bed\ncat/0.png,0,1\n", "'file', 'ward', 'bed', none of which is called as labels are"),
        ("file,class,target\ncat/0.png,0,1\n", "several columns that could be the label .'class', 'target'."),
        ("file,label,label\ncat/0.png,0,1\n", "two columns 'label'"),
    ]:
        table.write_text(content)
        refuses(sentence, open_source, folder, labels=table)


def test_bad_npz(tmp_path, rng):
    path = tmp_path / "x.npz"
    path.write_bytes(b"nothing")
    refuses("not an .npz file", open_source, path)
    pictures = rng.integers(0, 256, (5, 8, 8), dtype=np.uint8)
    for save in (np.savez, np.savez_compressed):
        save(path, images=pictures, labels=np.arange(5))
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        refuses("x.npz", open_source, path)
    np.savez(path, photos=pictures, labels=np.arange(5))
    refuses("of its keys 'photos', 'labels' say which they are with `images_key`", open_source, path)
    np.savez(path, images=pictures, labels=np.arange(4))
    refuses("4 for 5 pictures", open_source, path)
    np.save(tmp_path / "y.txt.npy", np.arange(5))
    (tmp_path / "y.txt").write_text("1 2 3")
    refuses("y.txt is damaged or cut short, or not an .npy file", open_source, path, labels=tmp_path / "y.txt")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0, 1, -1], "-1 is not a class"),
        ([0.5, 1, 2], "class numbers"),
        (np.array(["a", 1, None], dtype=object), "text is mixed with 1"),
        ([[0, 1], [1, 0], [0, 1]], "one class per picture"),
        ([0, 1], "2 for 3 pictures"),
    ],
)
def test_bad_labels(labels, sentence):
    refuses(sentence, from_arrays, np.zeros((3, 4, 4), np.uint8), labels)


def test_bad_arrays():
    refuses("at least one picture", from_arrays, np.zeros((0, 4, 4), np.uint8), [])
    refuses("looks like channels first", from_arrays, np.zeros((2, 3, 8, 8), np.uint8), [0, 1])
    refuses("pictures have shape", from_arrays, np.zeros((2, 8), np.uint8), [0, 1])
    refuses("uint8 or float is needed", from_arrays, np.zeros((2, 8, 8), np.int64), [0, 1])
    refuses("`std` is", LabelledImages, from_arrays(np.zeros((2, 8, 8)), [0, 1]), Wrap(), std=(0.0,))
    images = LabelledImages(from_arrays(np.zeros((2, 8, 8)), [0, 1]), Wrap(), mean=(0, 0, 0))
    refuses("`mean` has 3 values for pictures of 1 channels", images.canvas, 0, 0, "nchw")
    refuses("cannot crop 40 pixels", Crop, 40, resize=30)


def test_some_of_the_pictures(rng):
    x, y = rng.integers(0, 256, (6, 5, 5, 3), dtype=np.uint8), np.arange(6)
    images = LabelledImages(from_arrays(x, y), Crop(3))
    part = images.take(np.array([4, 1]))
    assert part.labels.tolist() == [4, 1]
    assert list(part.ids) == ["4", "1"]
    np.testing.assert_array_equal(part.canvas(0, 0, "nchw"), images.canvas(4, 0, "nchw"))
    assert dict(part.source.shapes(np.arange(2))).keys() <= {0, 1}
    assert part.digest() != images.digest()
    assert part.source.threads == images.source.threads > 0, "so that others read it ahead of time"
    np.testing.assert_array_equal(part.source.read_many(np.array([1, 0])), images.source.read_many(np.array([1, 4])))


def test_pad_keeps_the_untouched_picture_in_the_middle(rng):
    picture = rng.integers(1, 256, (6, 9, 3), dtype=np.uint8)
    for mode in PAD_MODES:
        placed = Pad(mode).place(picture, 4)
        assert placed.dtype == np.uint8
        assert placed.shape == (14, 17, 3)
        assert np.array_equal(placed[4:10, 4:13], picture)
        assert np.array_equal(Pad(mode).place(picture, 0), picture)
    for down in range(14):  # by the definitions, one pixel at a time
        for right in range(17):
            y, x = down - 4, right - 4
            inside = 0 <= y < 6 and 0 <= x < 9
            mirrored = [v if 0 <= v < n else (-v if v < 0 else 2 * (n - 1) - v) for v, n in ((y, 6), (x, 9))]
            assert (Pad("reflect").place(picture, 4)[down, right] == picture[tuple(mirrored)]).all()
            assert (Pad("zero").place(picture, 4)[down, right] == (picture[y, x] if inside else 0)).all()
            edge = picture[min(max(y, 0), 5), min(max(x, 0), 8)]
            assert (Pad("edge").place(picture, 4)[down, right] == edge).all()


def test_a_mirror_has_an_end(rng):
    picture = rng.integers(0, 256, (6, 9, 1), dtype=np.uint8)
    assert Pad("reflect").room((6, 9)) == 5
    assert Pad("reflect").place(picture, 5).shape == (16, 19, 1)
    with pytest.raises(InputError, match="can be mirrored for 5 only; pad with zero or edge"):
        Pad("reflect").place(picture, 6)
    assert Pad("zero").place(picture, 20).shape == Pad("edge").place(picture, 20).shape == (46, 49, 1)
    with pytest.raises(InputError, match="choose one of reflect, zero, edge"):
        Pad("mirror")


def test_zero_is_black_before_mean_and_std():
    """As torchvision's RandomCrop does on a picture, ahead of ToTensor and Normalize."""
    images = LabelledImages(from_arrays(np.full((1, 2, 2), 255, np.uint8), [0]), Pad("zero"), mean=(0.5,), std=(0.25,))
    canvas = images.canvas(0, 1, "nchw")[0]
    assert canvas[0, 0] == (0 - 0.5) / 0.25
    assert canvas[1, 1] == (1 - 0.5) / 0.25
    assert images.preprocessing()["mode"] == "zero"


def test_groups_travel_with_their_pictures(rng):
    x, names = rng.integers(0, 256, (4, 5, 5), dtype=np.uint8), ["ann", "bob", "ann", "eve"]
    plain = LabelledImages(from_arrays(x, [0, 1, 0, 1]), Crop(3))
    images = replace(plain, groups=names)
    assert images.with_frame(Wrap()).group_names == names
    assert images.take(np.array([2, 3])).group_names == ["ann", "eve"]
    assert plain.take(np.array([2, 3])).group_names is None
    assert replace(plain, groups=np.array([7, 7, 1, 2])).group_names == ["7", "7", "1", "2"]
    assert images.digest() != plain.digest()
    assert images.digest() != replace(plain, groups=names[::-1]).digest()
    text = plain.source.digest() + json.dumps([plain.preprocessing(), list(plain.ids)], sort_keys=True)
    assert plain.digest() == hashlib.sha256(text.encode()).hexdigest()[:16], "as it was before there were groups"
    refuses("one group for each of the 4 examples", replace, plain, groups=["a"])
    refuses("is empty for 1 of 4 examples", replace, plain, groups=["a", "", "b", "c"])


def test_columns_beside_the_pictures(folder, tmp_path, rng):
    pictures = rng.integers(0, 256, (5, 8, 8), dtype=np.uint8)
    np.savez(
        tmp_path / "x.npz", images=pictures, labels=np.arange(5), patient=list("aabbc"), note=np.zeros(4),
        table=np.zeros((5, 2)), objects=np.array([{}] * 5, dtype=object),
    )  # fmt: skip
    source = from_npz(tmp_path / "x.npz")
    assert sorted(source.columns) == ["patient"]
    assert list(source.take(np.array([0, 4]))["patient"]) == ["a", "c"]
    images = LabelledImages(source, Wrap()).take(np.array([3, 0]))
    assert list(images.source.columns["patient"]) == ["b", "a"]
    table = tmp_path / "labels.csv"
    table.write_text("file,label,patient\ndog/1.png,1,ann\ncat/0.png,0,bob\ndog/2.png,1,cat\n")
    source = from_csv(folder, table)
    assert source.columns["patient"].tolist() == ["ann", "bob", "cat"]
    assert source.class_names is None, "a column with two values for one label does not name labels"
    table.write_text("file,label,name,patient\ndog/1.png,1,dog,ann\ncat/0.png,0,cat,bob\n")
    source = from_csv(folder, table)
    assert (source.class_names, source.columns["patient"].tolist()) == (["cat", "dog"], ["ann", "bob"])


def test_equal_pixels_have_equal_hashes(folder, rng):
    """Whatever the file is called and however it is compressed."""
    Image.open(folder / "cat" / "0.png").save(folder / "dog" / "copy.bmp")
    changed = np.array(Image.open(folder / "cat" / "1.png"))
    changed[0, 0, 0] ^= 1
    Image.fromarray(changed).save(folder / "dog" / "nearly.png")
    source = from_folder(folder)
    codes = duplicate_codes(pixel_hashes(source, np.arange(len(source.ids)))[0])
    alike = [(source.ids[i], source.ids[j]) for i in range(8) for j in range(i) if codes[i] == codes[j]]
    assert alike == [("dog/copy.bmp", "cat/0.png")]
    x = np.zeros((2, 4, 9), np.uint8)
    flat, tall = from_arrays(x, [0, 1]), from_arrays(x.reshape(2, 9, 4), [0, 1])
    assert pixel_hashes(flat, [0])[0] != pixel_hashes(tall, [0])[0], (
        "the same bytes in another shape are another picture"
    )
    as_floats = from_arrays(flat.read(0)[None].astype(np.float32), [0])
    assert pixel_hashes(flat, [0])[0] == pixel_hashes(as_floats, [0])[0], (
        "the same numbers in another type are the same picture"
    )
    assert pixel_hashes(flat, [0])[0] != pixel_hashes(from_arrays(as_floats.read(0)[None] + 0.5, [0]), [0])[0]


def test_split_never_cuts_a_group(rng):
    labels, codes = grouped(rng, 300)
    for share in (0.1, 0.3, 0.5):
        rest, control = split(labels, control=share, seed=5, groups=codes)
        assert np.array_equal(np.sort(np.concatenate([rest, control])), np.arange(len(labels)))
        assert not np.intersect1d(codes[rest], codes[control]).size
        assert len(control) / len(labels) == pytest.approx(share, abs=0.015)
        for c in range(3):  # classes are shared out as well as whole groups allow
            assert np.mean(labels[control] == c) == pytest.approx(np.mean(labels == c), abs=0.04)
        again, other = (split(labels, control=share, seed=s, groups=codes)[1] for s in (5, 6))
        assert np.array_equal(control, again)
        assert not np.array_equal(control, other)


def grouped(rng, n_groups):
    """Groups of 1 to 20, mostly of one class each."""
    sizes = rng.integers(1, 21, n_groups)
    codes = np.repeat(np.arange(n_groups), sizes)
    labels = np.repeat(rng.choice(3, n_groups, p=[0.5, 0.3, 0.2]), sizes)
    stray = rng.random(len(labels)) < 0.1
    return np.where(stray, rng.integers(0, 3, len(labels)), labels), codes


def test_every_group_has_the_same_chance(rng):
    labels, codes = grouped(rng, 30)
    drawn = np.zeros(30)
    for seed in range(4000):
        drawn[np.unique(codes[split(labels, control=0.2, seed=seed, groups=codes)[1]])] += 1
    main = np.array([np.bincount(labels[codes == g]).argmax() for g in range(30)])
    for c in range(3):
        rate = drawn[main == c] / 4000
        spread = np.sqrt(rate.mean() * (1 - rate.mean()) / 4000)
        assert np.abs(rate - rate.mean()).max() < 4.5 * spread


def test_groups_of_one_give_the_split_without_groups(rng):
    labels = rng.integers(0, 4, 137)
    for seed in range(20):
        plain, alone = (split(labels, control=0.23, seed=seed, groups=g) for g in (None, rng.permutation(137)))
        assert all(np.array_equal(a, b) for a, b in zip(plain, alone, strict=True))


def test_a_split_that_whole_groups_do_not_allow():
    refuses("would hold 0 of 2 groups; groups stay whole", split, [0] * 10, control=1, seed=0, groups=[0] * 5 + [1] * 5)
