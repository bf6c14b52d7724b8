"""Bad inputs of every verb: what is typed, the exit code, and a part of the one sentence that answers it.

Commands run in a folder that `write_files` fills once; a row needs nothing else. Good files are called by what they
hold (`test.npz`, `pool.csv`), bad ones by what is wrong with them.
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from heldout.predictions.inspect_logs import whole_samples

DATA = Path(str(files("heldout"))) / "data"
LOGS = Path(__file__).parents[1] / "multiple_choice" / "data" / "inspect"
EXAMPLE = Path(__file__).parents[2] / "examples" / "cifar10_predictions.npz"


class Bad(NamedTuple):
    """One row of the table."""

    verb: str
    line: str  # what follows the verb, as it is typed
    says: str
    code: int = 2

    @property
    def name(self) -> str:
        """Of the test."""
        return f"{self.verb} {self.line}"[:110]


def write_files(folder: Path) -> None:
    """Everything that the commands name."""
    rng = np.random.default_rng(0)
    with np.load(DATA / "demo.npz") as demo:
        pictures, labels = demo["test_images"][:80], demo["test_labels"][:80]
        fresh, fresh_labels = demo["control_images"][:80], demo["control_labels"][:80]
    for name in ("honest", "leaked"):
        shutil.copy(DATA / f"{name}.onnx", folder / f"{name}.onnx")
    _arrays(folder, rng, pictures, labels, fresh, fresh_labels)
    _archives(folder, pictures, labels)
    _tables(folder, rng)
    _folders(folder, pictures, labels)
    _items(folder, rng)
    (folder / "bad_inputs_models.py").write_text(MODELS)


MODELS = """
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

rng = np.random.default_rng(0)

def regression():
    return LinearRegression().fit(rng.random((20, 1024)), np.arange(20))

def unfitted():
    return LogisticRegression()

def named():
    return KNeighborsClassifier(1).fit(rng.random((20, 1024)), np.array(["cat", "dog"] * 10))

def nothing():
    return None

def ends():
    raise SystemExit(9)

def talks():
    raise ValueError("weights are gone.\\nhere is a\\nlong story")

def grey():
    def model(batch):
        if batch.shape[1] != 1:
            raise RuntimeError("expected 1 channel")
        return np.tile(batch.mean((1, 2, 3))[:, None], (1, 10))
    return model

def raises():
    def model(batch):
        raise RuntimeError("no memory on the device")
    return model

def nan():
    return lambda batch: np.full((len(batch), 10), np.nan)

def flat():
    return lambda batch: np.zeros(len(batch))

def three():
    return lambda batch: np.zeros((len(batch), 3)) + np.arange(3)

def unsteady():
    return lambda batch: rng.random((len(batch), 10))

def module():
    import torch
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1024, 10))

def full():
    import torch
    class Full(torch.nn.Module):
        def forward(self, x):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    return Full()

def mixes():
    import torch
    class Mixes(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.batch_norm(x.flatten(1)[:, 500:510], None, None, training=True)
    return Mixes()

def linear():
    return LogisticRegression(max_iter=20, tol=1).fit(rng.random((20, 1024)), np.arange(20) % 10)

def first():
    return lambda batch: batch.reshape(len(batch), -1)[:, :10]

def scorer():
    from heldout.scorers import FunctionScorer
    return FunctionScorer(first())

def train(x, y, seed):
    return KNeighborsClassifier(1).fit(x, y)

def two(x, y):
    return None

def empty(x, y, seed):
    return None

def hopeless(x, y, seed):
    raise RuntimeError("out of memory")

def diverged(x, y, seed):
    return lambda z: np.full((len(z), 10), np.nan)

def short(x, y, seed):
    return lambda z: y[:7]

def unseeded(x, y, seed):
    said = y.copy()
    said[np.random.default_rng().integers(0, len(y), 30)] = 0
    return lambda z: said
"""


def _arrays(folder, rng, pictures, labels, fresh, fresh_labels) -> None:
    np.savez(folder / "test.npz", images=pictures, labels=labels)
    np.savez(folder / "control.npz", images=fresh, labels=fresh_labels)
    np.savez(folder / "two.npz", images=pictures[:2], labels=labels[:2])
    np.savez(folder / "one.npz", images=pictures[:1], labels=labels[:1])
    np.savez(folder / "none.npz", images=pictures[:0], labels=labels[:0])
    np.savez(folder / "nokeys.npz", first=pictures, second=labels)
    np.savez(folder / "pairs.npz", x=pictures, y=labels, data=pictures[::-1], targets=labels[::-1])
    np.savez(folder / "sets.npz", test_images=pictures, test_labels=labels, control_images=fresh, control_labels=labels)
    np.savez(folder / "labelled.npz", images=pictures, labels=labels, y=labels[::-1], targets=labels)
    np.savez(folder / "ids.npz", images=pictures, labels=labels, ids=np.minimum(np.arange(80), 3))
    np.savez(folder / "small.npz", images=fresh[:, :28, :28], labels=fresh_labels)
    np.savez(folder / "negative.npz", images=pictures, labels=np.full(80, -1))
    np.savez(folder / "fraction.npz", images=pictures, labels=np.full(80, 0.5))
    np.savez(folder / "nanlabels.npz", images=pictures, labels=np.full(80, np.nan))
    np.savez(folder / "table.npz", images=pictures, labels=np.zeros((80, 2), int))
    np.savez(folder / "fewer.npz", images=pictures, labels=labels[:50])
    np.savez(folder / "strange.npz", images=pictures, labels=np.full(80, 12))
    np.savez(folder / "named.npz", images=pictures, labels=np.array(["cat", "dog"] * 40))
    np.savez(folder / "oblong.npz", images=pictures[:, :, :20], labels=labels)
    np.savez(folder / "wide.npz", images=pictures.astype(np.int64), labels=labels)
    np.savez(folder / "first.npz", images=np.zeros((80, 3, 32, 32), np.uint8), labels=labels)
    np.savez(folder / "flat.npz", images=pictures.reshape(80, -1), labels=labels)
    np.savez(
        folder / "nanpixels.npz",
        images=np.where(pictures == 0, np.nan, pictures / 255).astype(np.float32),
        labels=labels,
    )
    for name, of in {"floats": fresh, "floattest": pictures}.items():  # 0 to 255, which no model was trained on
        np.savez(folder / f"{name}.npz", images=of.astype(np.float32), labels=labels)
    np.savez(folder / "videos.npz", images=pictures, labels=labels, video=np.arange(80) // 2)
    np.savez(folder / "train.npz", x=pictures.reshape(80, -1) / 255, y=labels)
    np.savez(folder / "oneclass.npz", x=pictures.reshape(80, -1), y=np.zeros(80, int))
    np.save(folder / "labels.npy", labels)
    np.save(folder / "ten.npy", np.where(np.arange(80) == 3, 10, labels))
    np.save(folder / "short.npy", labels[:50])
    prior = rng.dirichlet(np.full(10, 0.5), 80)
    np.save(folder / "prior.npy", prior.astype(np.float32))
    np.save(folder / "priorshort.npy", prior[1:])
    np.save(folder / "priortwice.npy", 2 * prior)
    np.save(folder / "priornan.npy", np.where(np.arange(80)[:, None] == 7, np.nan, prior))
    np.save(folder / "priornegative.npy", np.where(np.arange(80)[:, None] == 3, [2.0, -1.0] + [0.0] * 8, prior))
    np.savez(folder / "ranks.npz", ranks=np.argsort(rng.random((80, 10, 3)), axis=1)[:, :3])
    said = np.where(rng.random((4, 80)) < 0.7, labels, (labels + 1) % 10)
    np.savez(folder / "pool.npz", predictions=said, labels=labels, models=np.array(list("abcd")))
    np.save(folder / "fromone.npy", labels + 1)
    np.save(folder / "otherrows.npy", np.eye(10)[said[:, ::-1]])
    np.savez(folder / "square.npz", correct=np.ones((4, 4), int))
    (folder / "reference.json").write_text('{"reference": {"x": 1, "y": 0}, "gpt": {"x": 1, "y": 1}}')
    np.savez(folder / "cube.npz", predictions=np.zeros((4, 4, 4), int), labels=np.zeros(4, int))


def npy(shape: tuple[int, ...], values: bytes, dtype: str = "|u1") -> bytes:
    """An array whose header declares what it likes."""
    f = io.BytesIO()
    np.lib.format.write_array_header_1_0(f, {"descr": dtype, "fortran_order": False, "shape": shape})
    return f.getvalue() + values


def _archives(folder: Path, pictures, labels) -> None:
    """Every way to break an .npz; each has the keys that all verbs look for."""
    np.savez(folder / "whole.npz", images=pictures, predictions=np.tile(labels, (3, 1)), labels=labels, margin=labels)
    whole = (folder / "whole.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.npz").write_bytes(b"")
    (folder / "text.npz").write_text("images, labels\n")
    # A bit of the last value of every array, past its header, which no checksum of the archive forgives.
    flipped = bytearray(whole)
    with zipfile.ZipFile(folder / "whole.npz") as archive:
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename)
            start += int.from_bytes(whole[info.header_offset + 28 : info.header_offset + 30], "little")
            flipped[start + info.file_size - 8] ^= 1
    (folder / "bitflip.npz").write_bytes(bytes(flipped))
    for name, packing in (("huge", zipfile.ZIP_STORED), ("hugepacked", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(folder / f"{name}.npz", "w", packing) as archive:
            for key, shape in (("images", (10**7, 1000, 1000)), ("predictions", (10**6, 10**8)),
                               ("labels", (10**13,)), ("margin", (10**13,))):  # fmt: skip
                archive.writestr(f"{key}.npy", npy(shape, b"\0" * 64))
    with zipfile.ZipFile(folder / "below.npz", "w") as archive:
        for key in ("images", "predictions", "labels", "margin"):
            archive.writestr(f"{key}.npy", npy((-1,), b"\0" * 64))
    arrays = {key: np.array([{}, None], dtype=object) for key in ("images", "predictions", "labels", "margin")}
    np.savez(folder / "objects.npz", **arrays)
    (folder / "huge.npy").write_bytes(npy((10**13,), b"\0" * 64))
    (folder / "cut.npy").write_bytes((folder / "labels.npy").read_bytes()[:-9])
    (folder / "text.npy").write_text("1 2 3")


def _items(folder: Path, rng) -> None:
    trees = ["oak", "ash", "elm", "fir", "yew", "box"]

    def write(name: str, *changes: dict[str, object], k: int = 4) -> None:
        """Eight questions, the last ones with something changed."""
        rows = [{"question": f"Tree {i}?", "options": [f"{tree} {i}" for tree in trees[:k]], "answer": "ABCD"[i % 4]}
                for i in range(8)]  # fmt: skip
        rows[len(rows) - len(changes) :] = [{**row, **c} for row, c in zip(rows[-len(changes) :], changes, strict=True)]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    write("trees.jsonl", {})
    write("sixoptions.jsonl", {}, k=6)
    write("either.jsonl", *({"question": f"Either {i}?", "options": [2, 0, 1], "answer": i % 3} for i in range(8)))
    write("fromone.jsonl", *({"question": f"From {i}?", "answer": i % 4 + 1} for i in range(8)))
    for folder_name, config in (("nomodel", "config.json"), ("adapter", "adapter_config.json")):
        (folder / folder_name).mkdir()
        (folder / folder_name / config).write_text("{}")
    (folder / "nosplits").mkdir()
    (folder / "nosplits" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    write("oneoption.jsonl", {"options": ["oak"], "answer": "A"})
    write("noanswer.jsonl", {"answer": "E"})
    write("sameoptions.jsonl", {"options": ["oak", "ash", "oak"], "answer": "B"})
    write("allnumbers.jsonl", *({"options": ["1", "2", "3"], "answer": "B"} for _ in range(8)))
    (folder / "models").mkdir()
    scores = rng.normal(size=(2, 9, 3))
    np.savez(folder / "orders.npz", original_loglik=scores[0], original_target=[0, 1, 2] * 3,
             permuted_loglik=scores[1], permuted_target=[1, 2, 0] * 3)  # fmt: skip
    header, samples = whole_samples(LOGS / "shuffled-1.eval")
    rows = list(samples)
    other = {**header, "eval": {**header["eval"], "model": "mockllm/another"}}
    (folder / "lacking.json").write_text(json.dumps({**header, "samples": rows[:3]}))
    (folder / "othermodel.json").write_text(json.dumps({**other, "samples": rows}))


def _tables(folder: Path, rng) -> None:
    def text(name: str, *lines: str) -> None:
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    cutoffs = [{"model": "m0", "cutoff": 2023.1}, *({"model": f"m{i}", "cutoff": 2022.12} for i in (1, 2))]
    (folder / "numbercutoffs.json").write_text(json.dumps(cutoffs))
    text("oddtimes.csv", "id,date", *(f"e{j},2023-01-05T03:04{' or so' * (j == 0)}" for j in range(60)))
    text("pets.csv", "id,dog,cat,fox", *[f"{i},0.5,0.3,0.2" for i in range(80)])
    text("words.csv", "label", *["ape", "cat"] * 40)
    text("said.csv", "label,a,b", *["ape,ape,cat", "cat,cat,cat"] * 40)
    text("rows.csv", "id,group", *[f"{i},{i // 2}" for i in range(80)])
    right = (rng.random((3, 60)) < 0.6).astype(int)
    text("pool.csv", "id,repo,m0,m1,m2", *(f"e{j},r{j % 12},{a},{b},{c}" for j, (a, b, c) in enumerate(right.T)))
    text("halves.csv", "id,m0,m1", *(f"e{j},{a:.2f},{b:.2f}" for j, (a, b) in enumerate(rng.random((60, 2)))))
    for name, first, count in (
        ("scores", 0, 150),
        ("fresh", 150, 150),
        ("old", 0, 300),
        ("few", 0, 40),
        ("pair", 0, 2),
    ):
        values = np.random.default_rng(1).normal(size=300)[first : first + count]
        noise = np.random.default_rng(len(name)).normal(size=count) / 3
        text(f"{name}.csv", "id,margin,topic", *(f"x{first + i},{v + e:.4f},{'ab'[i % 2]}" for i, (v, e) in
             enumerate(zip(values, noise, strict=True))))  # fmt: skip
    text("turned.csv", "id,margin", *(f"x{i},{-v:.4f}" for i, v in
         enumerate(np.random.default_rng(1).normal(size=300))))  # fmt: skip
    text("constant.csv", "id,margin", *(f"x{i},0" for i in range(150, 300)))
    text("odd.csv", "id,goodness", *(f"x{i},{i}.5" for i in range(300)))
    text("ids.txt", *(f"x{i}" for i in range(150, 300)))
    text("all_ids.txt", *(f"x{i}" for i in range(150)))
    text("twice.txt", "x1", "x1")
    text("empty.csv")
    text("header.csv", "id,label,a,b")
    text("numbers.csv", "1,2,3", "4,5,6")
    text("ragged.csv", "id,label,a,b", "0,1,1,1", "1,0,0")
    text("samename.csv", "id,label,a,a", "0,1,1,1", "1,0,0,1")
    text("sameid.csv", "id,label,a,b", "x,1,1,1", "x,0,0,1")
    text("outside.csv", "id,label,a,b", "0,1,0,1", "1,1,0,0", "2,7,6,6")
    text("unsaid.csv", "id,label,a,b", "x,0,0,NA", "y,1,1,1")
    text("nan.csv", "id,label,a,b", "0,0,nan,1.0", "1,1,1.0,1.0")
    text("onemodel.csv", "id,label,only", "0,0,0", "1,1,1")
    text("apart.csv", "model,id,prediction,label", "a,0,1,1", "a,1,0,0", "b,0,1,1")
    text("percent.csv", "id,a,b", "0,80,90", "1,33.3,0")
    text("twoscales.csv", "id,a,b", "0,0.66,60.6", "1,0.1,33.3")
    text("marks.csv", "id,a,b", "x,1,0", "y,0,1")
    text("noid.csv", "id,a,b", "x,1,0", ",0,1")
    five = [f"{i % 5},{(i + i // 8) % 5}" for i in range(40)]
    text("besides.csv", "id,label,gpt,claude,prediction", *(f"{i},{i % 5},{i % 5},{i % 4},1" for i in range(20)))
    text("opposed.csv", "model,id,prediction,label,correct", *(f"{m},{i},1,{i % 2},0" for m in "ab" for i in range(9)))
    text("long.csv", "id,label,a,b", f"1,{2**60 + 1},{2**60}.0,1", f"2,1,1,{2**60 + 1}")
    text("alike.csv", "id,a,a ,b", "1,1,0,1", "2,0,0,1")
    text("overone.csv", "id,a,b", "1,1.0000001,0", "2,0.5,1")
    text("running.csv", "label,a,lfd", *(f"{row},{i}" for i, row in enumerate(five)))
    text("born.csv", "label,a,born", *(f"{row},{1950 + i % 9}" for i, row in enumerate(five)))
    text("metadata.csv", "id,label,a,year,age", *(f"{i},{row},{i},{i}" for i, row in enumerate(five)))
    text("meanrow.csv", "id,a,b", "0,1,0", "1,1,1", "Mean,1,0.5")
    text("meanmodel.csv", "model,q1,q2", "a,1,0", "b,1,1", "average,1,0.5")
    text("meanlong.csv", "model,id,correct", *(f"{m},{i},1" for m in ("a", "b", "overall") for i in range(2)))
    text("meanexample.json", '{"a": {"t1": 1, "t2": 0, "total": 1}, "b": {"t1": 0, "t2": 0, "total": 0}}')
    text("summedup.csv", "id,a,b,Mean", "0,1,0,0.5", "1,1,1,1")
    text("never.csv", "id,label,a,how", "0,1,1,easy", "1,0,0,hard")
    text("nolabels.csv", "id,m1", "0,1")
    text("gap.csv", "id,label", "0,1", "1,")
    text("torn.csv", "id,label", "0,1", "0,2")
    days = [f"e{j},2023-{1 + j % 12:02d},x{j}" for j in range(60)]
    text("dates.csv", "id,date,alone", *days)
    for name, metric in (("strict", "acc"), ("loose", "acc_norm")):
        sample = {"doc_id": 0, "doc": {"question": "who?"}, "resps": [], "metrics": [metric], metric: 1.0}
        (folder / name).mkdir()
        text(f"{name}/samples_t_2026-01-01T00-00-00.jsonl", json.dumps(sample))
    text("shifted.csv", "id,label,a,b", *(f"{i},{i % 4},{i % 4},{i % 4 + 1}" for i in range(40)))
    text("point.csv", "id,correct", "0.0,1", "1.0,0")
    text("asked1.csv", "id,question,correct", "0,who?,1", "1,why?,0")
    text("asked2.csv", "id,question,correct", "0,why?,1", "1,who?,0")
    text("asked3.csv", "question,correct", "who?,1", "why?,0")
    text("asked4.csv", "question,correct", "why?,1", "who?,0")
    text("asked.csv", "model,id,question,correct", "a,0,who?,1", "a,1,why?,0", "b,0,why?,1", "b,1,who?,0")
    text("seenrows.csv", "m0,m1,m2", *["1,0,1"] * 60)
    text("nodates.csv", "id,date", "e0,2023-01", "e1,soon")
    text("twodates.csv", "id,date", "e0,2023-01-05", "e1,05/2023", "e2,2023/02/01")
    text("mixeddates.csv", "id,date", "e0,2023-01-05", "e1,2023/02/01")
    text("otherdates.csv", "id,date", "z0,2023-01-05", "z1,2023-02-01")
    text("sameitem.csv", "id,date", "e0,2023-01-05", "e0,2023-02-01")
    text("cutoffs.csv", "model,cutoff", "m0,2023-06", "m1,2022-12", "m2,2022-12")
    text("early.csv", "model,cutoff", "m0,2020-06", "m1,2022-12")
    text("stranger.csv", "model,cutoff", "m0,2023-06", "gpt,2022-12")
    text("strangefamily.csv", "model,cutoff,family", "m0,2023-06,x", "gpt,,x")
    text("nocutoff.csv", "model,family", "m0,x")
    text("bad.json", "{")
    text("number.json", "3")
    text("twicekeyed.jsonl", '{"id": 1, "label": 0, "A": 0}', '{"id": 2, "label": 0, "A": 1, "A": 0}')
    text("twicekeyed.json", '{"A": {"t1": 1, "t2": 0}, "B": {"t1": 0, "t1": 1, "t2": 0}}')
    text("bad.jsonl", '{"id": 1, "a": 0}', '{"id": 2,')
    text("deep.json", "[" * 100_000)
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    (folder / "latin.csv").write_bytes("id,label,a,b\nVogelhäuschen,1,1,0\n".encode("latin-1"))
    (folder / "utf16cut.csv").write_bytes("id,label,a,b\n0,1,1,0\n".encode("utf-16")[:-1])
    (folder / "latingroups.csv").write_bytes("id,group\ne0,Jürgen\n".encode("latin-1"))
    text("groups.csv", "id,group", "e0,a")
    text("blanks.csv", "id,group", *(f"e{j},g{j // 2}{' ' * (j % 2)}" for j in range(60)))
    text("twogroups.csv", "id,group", *(f"e{j},a" for j in range(60)), "e0,b")
    text("bad.gz.csv", "x")
    (folder / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc")
    text("model.pt", "x")
    text("bad.onnx", "x")
    (folder / "bad.parquet").write_bytes(b"PAR1xxxxPAR1")
    (folder / "bad.eval").write_bytes(b"PK\x03\x04xxxx")


def _folders(folder: Path, pictures, labels) -> None:
    for name in ("classes", "mixed", "grey", "large"):
        for number in (0, 1):
            (folder / name / str(number)).mkdir(parents=True)
    for i in range(8):
        Image.fromarray(pictures[i]).save(folder / "classes" / str(i % 2) / f"{i}.png")
        Image.fromarray(pictures[i]).save(folder / "grey" / str(i % 2) / f"{i}.png")
        size = 32 + 4 * (i == 5)
        Image.new("L", (size, size)).save(folder / "mixed" / str(i % 2) / f"{i}.png")
        Image.fromarray(pictures[i]).save(folder / "large" / str(i % 2) / f"{i}.png")
    header = (folder / "large" / "0" / "0.png").read_bytes()
    sized = header[:16] + (60_000).to_bytes(4, "big") * 2 + header[24:]
    checksum = zipfile.crc32(sized[12:29]).to_bytes(4, "big")
    (folder / "large" / "0" / "0.png").write_bytes(sized[:29] + checksum + sized[33:])
    (folder / "nothing").mkdir()
    (folder / "hollow" / "cat").mkdir(parents=True)
    (folder / "broken" / "0").mkdir(parents=True)
    (folder / "broken" / "0" / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for name in ("1", "2", "10"):
        (folder / "numbered" / name).mkdir(parents=True)
        Image.fromarray(pictures[int(name)]).save(folder / "numbered" / name / "a.png")
    for i in range(4):
        (folder / "deep" / str(i % 2)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pictures[i].astype(np.uint16) * 257).save(folder / "deep" / str(i % 2) / f"{i}.png")
    (folder / "plain").mkdir()
    for i in range(8):
        Image.fromarray(pictures[i]).save(folder / "plain" / f"{i}.png")
    (folder / "cutpicture" / "0").mkdir(parents=True)
    (folder / "cutpicture" / "0" / "0.png").write_bytes((folder / "plain" / "0.png").read_bytes()[:-20])

    def table(name: str, *lines: str) -> None:
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    table("files.csv", "file,label", *(f"{i}.png,{i % 2}" for i in range(8)))
    table("filesabsent.csv", "file,label", "0.png,0", "99.png,1")
    table("filestwice.csv", "file,label", "0.png,0", "0.png,1")
    table("filesbare.csv", "0.png,0", "1.png,1")
    table("filesblank.csv", "file,label", "0.png,0", "1.png,")
    table("filesone.csv", "file", "0.png")
    table("filesunsaid.csv", "file,patient,species", "0.png,0,1", "1.png,1,0")
    table("filesboth.csv", "file,class,target", "0.png,0,1", "1.png,1,0")
    table("filessame.csv", "file,label,ward,ward", "0.png,0,1,1", "1.png,1,0,1")
    (folder / "fileslatin.csv").write_bytes("file,label\n0.png,Käfer\n".encode("latin-1"))


AUDIT = "--model honest.onnx --images test.npz --wrap --radius 1"
VIEWS = "--model honest.onnx --images test.npz --orbit"
CURVE = "--model honest.onnx --images test.npz --limit 20"
TRAIN = "--train bad_inputs_models:train --data train.npz --label-noise 0:0.4:0.2 --repetitions 1"
SCORES = "--scores scores.csv --control-scores fresh.csv"
FOUR = "--examples 50000 --error 0.244 --similarity 0.85 --epsilon 0.01 --delta 0.05"
STRESS = "--examples 100 --classes 2 --queries 5"
WORDS = "--labels words.csv --prior pets.csv --queries 5"
DAMAGED = "damaged or cut short"

# Every reader of archives, by what it looks for in one.
READERS = (
    ("audit", "--model honest.onnx --images {} --wrap --radius 1"),
    ("memorization curve", "--model honest.onnx --images {}"),
    ("memorization retrain", "--train bad_inputs_models:train --data {}"),
    ("split", "{} --control 0.2 --out aside"),
    ("stress", "--labels {} --queries 5"),
    ("budget", "{}"),
    ("compare", "{} a b"),
    ("exposure", "{} --models cutoffs.csv --items dates.csv"),
    ("audit", "--scores {} --control-scores fresh.csv"),
)
ARCHIVES = [
    Bad(verb, line.format(f"{name}.npz"), says)
    for verb, line in READERS
    for name, says in (
        ("cut", DAMAGED),
        ("empty", DAMAGED),
        ("text", DAMAGED),
        ("bitflip", DAMAGED),
        ("huge", "its header declares the shape"),
        ("hugepacked", "its header declares the shape"),
        ("below", "its header declares the shape (-1,)"),
        ("objects", "holds Python objects"),
    )
]

AUDITS = [
    Bad("audit", f"{AUDIT} --radius 0", "with radius 0 nothing moves"),
    Bad("audit", f"{AUDIT} --radius 1000000000", "--radius is 1000000000; it must be at most 1,000,000"),
    Bad("audit", f"{AUDIT} --radius 100000", "the largest radius that fits is"),
    Bad("audit", f"{VIEWS} flip --radius 2", "--radius has no effect with --orbit flip, which shifts nothing"),
    Bad("audit", f"{VIEWS} dihedral --pad zero", "--pad has no effect with --orbit dihedral"),
    Bad("audit", f"{VIEWS} flip --rule nearest", "'nearest' needs moves with a length"),
    Bad("audit", f"{VIEWS} translations+flip --wrap --rule nearest", "'nearest' needs moves with a length"),
    Bad("audit", f"{VIEWS} flip+translations --wrap --rule nearest", "'nearest' needs moves with a length"),
    Bad("audit", f"{VIEWS} flip --tolerance 0.1", "--tolerance is for shifts"),
    Bad("audit", f"{VIEWS} flip --limit 5", "with fewer than 6 pictures"),
    Bad("audit", f"{VIEWS} flip --crop 99", "smaller than the crop"),
    Bad("audit", f"{VIEWS} mirror", "invalid choice: 'mirror'"),
    Bad(
        "audit",
        "--model bad_inputs_models:three --images oblong.npz --orbit dihedral",
        "quarter-turns need square pictures, but these are 32 x 20; cut squares out of them with --crop 20",
    ),
    Bad(
        "audit",
        "--model bad_inputs_models:three --images oblong.npz --orbit translations+dihedral --wrap",
        "cut squares out of them with --crop, in place of --pad or --wrap, or mirror them only, with the orbit 'trans",
    ),
    Bad(
        "audit",
        "--model bad_inputs_models:three --images oblong.npz --orbit translations+dihedral",
        "leaves no pixels to move in: choose --resize R --crop C, or --upsample U",
    ),
    Bad("audit", "--model bad_inputs_models:three --images test.npz --orbit flip --resize 40", "--resize needs --crop"),
    Bad("audit", "--needed --model honest.onnx --control control.npz --orbit flip", "--orbit"),
    Bad("audit", "--scores pool.csv --orbit flip", "--orbit"),
    Bad("audit", f"{AUDIT} --limit 0", "--limit is 0"),
    Bad("audit", f"{AUDIT} --limit 2", "2 pictures are too few"),
    Bad("audit", f"{AUDIT} --limit 4 --alternative greater", "with fewer than 7 pictures"),
    Bad("audit", "--model honest.onnx --images one.npz --wrap --radius 1", "1 picture is too few"),
    Bad("audit", "--model honest.onnx --images two.npz --wrap --radius 1", "2 pictures are too few"),
    Bad("audit", "--model honest.onnx --images two.npz --control control.npz --wrap --radius 1", "larger control"),
    Bad("audit", "--model honest.onnx --images none.npz --wrap", "at least one picture is needed"),
    Bad("audit", f"{AUDIT} --batch-size 0", "--batch-size is 0"),
    Bad("audit", f"{AUDIT} --batch-size -1", "--batch-size is -1"),
    Bad("audit", f"{AUDIT} --n-jobs 0", "--n-jobs is 0; give a number of workers, or -1"),
    Bad("audit", f"{AUDIT} --n-jobs 100000", "--n-jobs is 100,000; it must be at most 10,000"),
    Bad("audit", f"{AUDIT} --seed -1", "--seed is -1; it must be a whole number, 0 or larger"),
    Bad("audit", f"{AUDIT} --level 0", "--level is 0.0; it must be between 0 and 1"),
    Bad("audit", f"{AUDIT} --level nan", "--level is nan"),
    Bad("audit", f"{AUDIT} --planned-audits 0", "--planned-audits is 0"),
    Bad("audit", f"{AUDIT} --tolerance 2", "--tolerance is 2.0"),
    Bad("audit", f"{AUDIT} --control control.npz --tolerance 0.1", "is for audits without a control"),
    Bad("audit", f"{AUDIT} --control control.npz --resamples 10", "--resamples must be at least"),
    Bad("audit", f"{AUDIT} --expect-accuracy 0.123", "was expected"),
    Bad("audit", f"{AUDIT} --expect-accuracy much", "--expect-accuracy is 'much'"),
    Bad("audit", f"{AUDIT} --expect-accuracy 0.9 0.8", "2 expected accuracies for 1 models"),
    Bad("audit", f"{AUDIT} --fail-under 2", "--fail-under 2: give a p-value between 0 and 1"),
    Bad("audit", f"{AUDIT} --control control.npz --fail-under 0.0000001", "can never be reached"),
    Bad("audit", f"{AUDIT} --mean 0 0", "--mean has 2 values"),
    Bad("audit", f"{AUDIT} --std 0", "every value must be positive"),
    Bad("audit", f"{AUDIT} --device tpu", "--device tpu: there is no such device"),
    Bad("audit", f"{AUDIT} --cluster 127.0.0.1:1", "--cluster 127.0.0.1:1: there is no Ray cluster at 127.0.0.1:1 ("),
    Bad("audit", f"{AUDIT} --cluster ray://127.0.0.1:1", "give 'auto', or the address of a Ray cluster, host:port"),
    Bad("audit", f"{AUDIT} --cluster here", "--cluster here: give 'auto', or the address of a Ray cluster, host:port"),
    Bad("audit", f"{AUDIT} --cluster auto --n-jobs 2", "--cluster auto and --n-jobs 2: the nodes of a cluster have"),
    Bad("audit", "--scores pool.csv --cluster auto", "--cluster"),
    Bad("audit", f"{AUDIT} --control-labels labels.npy", "--control-labels goes with --control"),
    Bad("audit", f"{AUDIT} --reference leaked.onnx", "--reference goes with --control"),
    Bad("audit", f"{AUDIT} --control test.npz", "the control is the test set itself"),
    Bad("audit", f"{AUDIT} --control floats.npz", "pixels of the test set are uint8 and those of the control float32"),
    Bad(
        "audit",
        f"{AUDIT} --control floattest.npz --scale 0.00392156",
        "80 of 80 control pictures stand in the test set too",
    ),
    Bad("audit", f"{AUDIT} --control control.npz --reference honest.onnx", "is the audited model"),
    Bad("audit", f"{AUDIT} --out test.npz", "cannot be written to"),
    Bad("audit", f"{AUDIT} --out /proc/nowhere", "cannot be written to"),
    Bad("audit", f"{AUDIT} --groups owner", "neither a file, nor a column"),
    Bad("audit", f"{AUDIT} --labels ten.npy", "knows 10 classes, but picture 3 has label 10"),
    Bad("audit", f"{AUDIT} --labels short.npy", "50 for 80 pictures"),
    Bad("audit", f"{AUDIT} --labels huge.npy", "its header declares the shape"),
    Bad("audit", f"{AUDIT} --labels cut.npy", "its header declares the shape"),
    Bad("audit", f"{AUDIT} --labels text.npy", "not an .npy file"),
    Bad("audit", f"{AUDIT} --labels absent.npy", "No such file or directory: absent.npy"),
    Bad("audit", f"{AUDIT} --images-key pictures", "has no key 'pictures' (--images-key); it has 'images', 'labels'"),
    Bad("audit", f"{AUDIT} --labels-key truth", "has no key 'truth' (--labels-key)"),
    Bad("audit", f"{AUDIT} --crop 99", "leave --crop, --resize and --upsample out"),
    Bad("audit", f"{AUDIT} --pad zero", "--pad continues whole pictures"),
    Bad("audit", f"{AUDIT} --scores scores.csv", "are for audits of pictures"),
    Bad("audit", f"{AUDIT} --scale 0.0000001", "--mean, --std, --scale"),
    Bad(
        "audit",
        "--model honest.onnx --images test.npz --pad zero",
        "Give a --control, or move pictures within themselves (--crop, --wrap)",
    ),
    Bad("audit", "--model honest.onnx --images test.npz --resize 20 --crop 32", "cannot crop 32 pixels"),
    Bad(
        "audit",
        "--model honest.onnx --images test.npz --resize 38 --crop 32 --radius 3",
        "the largest radius that fits is 1",
    ),
    Bad("audit", "--model honest.onnx --images absent --wrap", "absent does not exist"),
    Bad("audit", "--model honest.onnx --images pool.csv --wrap", "is neither a folder nor an .npz file"),
    Bad(
        "audit",
        "--model honest.onnx --images nokeys.npz --wrap",
        "of its keys 'first', 'second' say which they are with --images-key",
    ),
    Bad(
        "audit",
        "--model honest.onnx --images pairs.npz --wrap",
        "('x' with 'y', 'data' with 'targets'); choose with --i",
    ),
    Bad(
        "split",
        "sets.npz --control 0.2 --out aside",
        "'control_images' with 'control_labels'); choose with --images-key",
    ),
    Bad("audit", f"{AUDIT} --control pairs.npz", "'data' with 'targets'); choose with --control-images-key"),
    Bad("audit", "--model honest.onnx --images negative.npz --wrap", "-1 is not a class; classes are numbered from 0"),
    Bad("audit", "--model honest.onnx --images fraction.npz --wrap", "class numbers (0, 1, 2, ...) or class names"),
    Bad("audit", "--model honest.onnx --images nanlabels.npz --wrap", "class numbers (0, 1, 2, ...) or class names"),
    Bad("audit", "--model honest.onnx --images table.npz --wrap", "one class per picture is needed"),
    Bad("audit", "--model honest.onnx --images fewer.npz --wrap", "50 for 80 pictures"),
    Bad("audit", "--model honest.onnx --images strange.npz --wrap", "has label 12"),
    Bad(
        "audit",
        "--model honest.onnx --images named.npz --wrap",
        "the pictures are of 2 named classes, but the model knows 10",
    ),
    Bad("audit", "--model honest.onnx --images wide.npz --wrap", "uint8 or float is needed"),
    Bad("audit", "--model honest.onnx --images first.npz --wrap", "looks like channels first"),
    Bad("audit", "--model honest.onnx --images flat.npz --wrap", "(n, height, width)"),
    Bad("audit", "--model honest.onnx --images nanpixels.npz --wrap", "NaN or infinite"),
    Bad("audit", "--model honest.onnx --images nothing --wrap", "no class folders"),
    Bad("audit", "--model honest.onnx --images hollow --wrap", "the class folder holds no pictures"),
    Bad("audit", "--model honest.onnx --images broken --wrap", "cannot read the picture broken/0/0.png"),
    Bad("audit", "--model honest.onnx --images cutpicture --wrap", "cutpicture/0/0.png"),
    Bad("audit", "--model honest.onnx --images mixed --wrap", "pictures differ in size"),
    Bad(
        "audit",
        "--model honest.onnx --images large --wrap",
        "60,000 x 60,000 pixels, more than --max-pixels, 100,000,000",
    ),
    Bad("audit", "--model honest.onnx --images classes --wrap --max-pixels 700", "raise --max-pixels"),
    Bad("audit", "--model honest.onnx --images classes --wrap --max-pixels 0", "--max-pixels is 0"),
    Bad(
        "audit",
        "--model honest.onnx --images plain --labels filesabsent.csv --wrap",
        "1 pictures that plain does not hold",
    ),
    Bad("audit", "--model honest.onnx --images plain --labels filestwice.csv --wrap", "more than once"),
    Bad("audit", "--model honest.onnx --images plain --labels filesbare.csv --wrap", "put a header such as"),
    Bad("audit", "--model honest.onnx --images plain --labels filesblank.csv --wrap", "'1.png' has no label"),
    Bad("audit", "--model honest.onnx --images plain --labels filesone.csv --wrap", "two columns are needed"),
    Bad("audit", "--model honest.onnx --images plain --labels filesunsaid.csv --wrap", "'file', 'patient', 'species'"),
    Bad("audit", "--model honest.onnx --images plain --labels filesboth.csv --wrap", "label ('class', 'target')"),
    Bad("audit", "--model honest.onnx --images plain --labels filessame.csv --wrap", "has two columns 'ward'"),
    Bad("split", "plain --labels filesunsaid.csv --control 2 --out unsaid", "none of which is called as labels are"),
    Bad("audit", "--model honest.onnx --images floats.npz --wrap", "--scale: the pixels of the test set are floats"),
    Bad(
        "memorization",
        "curve --model honest.onnx --images floats.npz --pixel-range 0 255",
        "--scale: the pixels of the training set are floats from 0 to 255",
    ),
    Bad("audit", f"{AUDIT} --control small.npz", "test set and control differ in size: 32 x 32 and 28 x 28 pixels"),
    Bad("audit", "--model honest.onnx --images labelled.npz --wrap", "that differ ('labels', 'y', 'targets'); choose"),
    Bad("memorization", "retrain --train bad_inputs_models:train --data labelled.npz", "choose with --y-key"),
    Bad("audit", "--model honest.onnx --images ids.npz --wrap", "the id '3' stands more than once"),
    Bad("audit", "--model honest.onnx --images deep --wrap", "has pixels of 16-bit integers"),
    Bad("split", "deep --control 2 --out deeper", "has pixels of 16-bit integers"),
    Bad("audit", "--model honest.onnx --images numbered --wrap", "--classes-by number or --classes-by name"),
    Bad("split", "numbered --control 2 --out ordered", "have another order as text (1, 10, 2)"),
    Bad("memorization", "curve --model honest.onnx --images numbered", "--classes-by number or --classes-by name"),
    Bad("audit", f"{AUDIT} --classes-by number", "--classes-by number has no effect on the labels of test.npz"),
    Bad("audit", "--model honest.onnx --images classes --wrap --classes-by name", "--classes-by name has no effect on"),
    Bad("audit", "--model honest.onnx --images plain --labels fileslatin.csv --wrap", "is not UTF-8 text"),
    Bad("audit", "--model honest.onnx --images plain --labels absent.csv --wrap", "cannot read the label table"),
    Bad("audit", "--model resnet.pt --images test.npz", "give an .onnx file or package.module:factory"),
    Bad("audit", "--model bad.onnx --images test.npz --wrap", "not a model that ONNX Runtime can load"),
    Bad("audit", "--model absent.onnx --images test.npz --wrap", "absent.onnx"),
    Bad("audit", "--model no_such_module:make --images test.npz --wrap", "ModuleNotFoundError"),
    Bad("audit", "--model bad_inputs_models.py:nan --images test.npz --wrap", "give the module's name"),
    Bad("audit", "--model bad_inputs_models:absent --images test.npz --wrap", "bad_inputs_models has no 'absent'."),
    Bad("audit", "--model bad_inputs_models:unfited --images test.npz --wrap", "no 'unfited'; did you mean unfitted?"),
    Bad("audit", "--model bad_inputs_models:talks --images test.npz --wrap", "fails: ValueError: weights are gone."),
    Bad("audit", f"{AUDIT} --json --format text", "--json and --format text contradict each other; give one of them"),
    Bad("budget", "pool.npz --format markdown --json", "--json and --format markdown contradict each other"),
    Bad("budget", "pool.npz --fail-under 1.5", "--fail-under 1.5: give a number of models, 1 or more"),
    Bad("budget", "pool.npz --fail-under many", "--fail-under many: give a number of models, 1 or more"),
    Bad("compare", "pool.npz a b --fail-under low", "--fail-under low: give a p-value"),
    Bad("memorization retrain", "--train bad_inputs_models:trian --data train.npz", "'trian'; did you mean train?"),
    Bad(
        "audit",
        "--model bad_inputs_models:regression --images test.npz --wrap",
        "predicts numbers or clusters, not classes",
    ),
    Bad("audit", "--model bad_inputs_models:unfitted --images test.npz --wrap", "is not fitted"),
    Bad("audit", "--model bad_inputs_models:named --images test.npz --wrap", "are not whole numbers from 0"),
    Bad("audit", "--model bad_inputs_models:nothing --images test.npz --wrap", "a NoneType is not a model"),
    Bad("audit", "--model bad_inputs_models:ends --images test.npz --wrap", "the factory fails: SystemExit: 9"),
    Bad("audit", "--model bad_inputs_models:grey --images grey --wrap --radius 1", "read the files with --channels 1"),
    Bad("audit", "--model bad_inputs_models:raises --images test.npz --wrap", "no memory on the device"),
    Bad("audit", "--model bad_inputs_models:mixes --images test.npz --wrap", "depends on the other pictures in the"),
    Bad("audit", "--model bad_inputs_models:nan --images test.npz --wrap", "NaN or infinite logits"),
    Bad("audit", "--model bad_inputs_models:flat --images test.npz --wrap", "(n, n_classes) logits are needed"),
    Bad("audit", "--model bad_inputs_models:three --images test.npz --wrap", "knows 3 classes"),
    Bad("audit", "--model bad_inputs_models:unsteady --images test.npz --wrap", "answers the same batch differently"),
    Bad("audit", "", "an audit needs --model and --images (pictures), or --scores"),
    Bad("audit", "--model honest.onnx", "--images not given"),
    Bad("audit", "--rule best --model honest.onnx --images test.npz", "invalid choice: 'best'"),
    Bad("audit", "--radius much", "invalid int value: 'much'"),
    Bad("audit", "--nonsense", "--nonsense is not an option here. See heldout audit --help"),
]

SCORE_AUDITS = [
    Bad("audit", "--control-scores fresh.csv", "--control-scores goes with --scores"),
    Bad("audit", "--scores scores.csv", "a control is needed: give --control-scores, or --control-ids"),
    Bad("audit", f"{SCORES} --control-ids ids.txt", "both name the control"),
    Bad("audit", f"{SCORES} --model m.onnx", "--model is for audits of pictures"),
    Bad("audit", f"{SCORES} --radius 3 --wrap", "--radius, --wrap are for audits of pictures"),
    Bad("audit", f"{SCORES} --share 0.1", "--share goes with --needed"),
    Bad("audit", "--scores scores.csv --control-scores scores.csv", "are in both"),
    Bad("audit", "--scores scores.csv --control-scores absent.csv", "does not exist"),
    Bad("audit", f"{SCORES} --score topic", "the column 'topic' is text, such as 'a'; choose another with --score"),
    Bad("audit", f"{SCORES} --score nope", "has no column 'nope' (--score)"),
    Bad("audit", f"{SCORES} --reference-scores scores.csv", "for none of the 150 control examples"),
    Bad(
        "audit",
        f"{SCORES} --reference-scores old.csv --reference-control-scores fresh.csv fresh.csv",
        "2 --reference-control-scores for 1",
    ),
    Bad("audit", f"{SCORES} --reference-scores old.csv old.csv", "have the same scores of every"),
    Bad("audit", f"{SCORES} --reference-scores turned.csv", "points the other way"),
    Bad("audit", "--scores fresh.csv --control-ids ids.txt", "so that no test set is left"),
    Bad("audit", "--scores scores.csv --control-ids ids.txt", "150 of the control's 150 ids are not in scores.csv"),
    Bad("audit", "--scores scores.csv --control-ids absent.txt", "cannot read the ids in absent.txt (--control-ids)"),
    Bad("audit", "--scores scores.csv --control-ids twice.txt", "more than once"),
    Bad("audit", "--scores scores.csv --control-ids empty.csv", "is empty"),
    Bad("audit", f"{SCORES} --level 0", "--level is 0.0"),
    Bad("audit", f"{SCORES} --seed -3", "--seed is -3"),
    Bad("audit", f"{SCORES} --chance 0.5", "and there are none; leave it out"),
    Bad("audit", f"{SCORES} --reference-scores old.csv --chance 7", "--chance is 7.0"),
    Bad("audit", f"{SCORES} --classes nope", "it has 'id', 'margin', 'topic'"),
    Bad("audit", f"{SCORES} --larger-is worse", "a larger 'margin' is better by its name"),
    Bad("audit", "--scores odd.csv --control-scores fresh.csv", "--larger-is better or --larger-is worse"),
    Bad("audit", "--scores honest.onnx --control-scores fresh.csv", "audit it with --model and --images"),
    Bad("audit", "--scores latin.csv --control-scores fresh.csv", "iconv -f WINDOWS-1252 -t UTF-8"),
    Bad("audit", "--scores bad.json --control-scores fresh.csv", DAMAGED),
    Bad("audit", "--scores bad.parquet --control-scores fresh.csv", DAMAGED),
    Bad("audit", "--scores pair.csv --control-scores fresh.csv", "has 2 examples (pair.csv); at least 10 are needed"),
    Bad("audit", "--needed", "--needed forecasts from a control"),
    Bad("audit", "--needed --control-scores fresh.csv --control x", "both are given"),
    Bad("audit", "--needed --control x", "--needed takes a --model"),
    Bad("audit", "--needed --control-scores few.csv", "a forecast needs at least 50"),
    Bad("audit", "--needed --control-scores constant.csv", "every score of the control is 0"),
    Bad("audit", "--needed --control-scores odd.csv", "--larger-is better"),
    Bad("audit", "--needed --control-scores fresh.csv --reference-scores turned.csv", "points the other way"),
    Bad("audit", "--needed --control-scores fresh.csv --reference-scores fresh.csv", "as the model itself does"),
    Bad("audit", "--needed --control-scores fresh.csv --reference-scores few.csv", "has scores for none of the 150"),
    Bad("audit", "--needed --scores fresh.csv --control-scores fresh.csv", "--scores says how an audit is run"),
    Bad("audit", "--needed --control-scores fresh.csv --resume --fail-under 0.1", "--resume, --fail-under say how"),
    Bad("audit", "--needed --control-scores fresh.csv --cluster auto", "--cluster says how an audit is run"),
    Bad(
        "audit",
        "--needed --control-scores fresh.csv --resize 3 --reference a.onnx",
        "--reference, --resize go with --control",
    ),
    Bad("audit", "--needed --model m.onnx --control x --classes c", "--classes goes with --control-scores"),
    Bad("audit", "--needed --control-scores fresh.csv --share 2", "--share is 2.0"),
    Bad("audit", "--needed --control-scores fresh.csv --pull 0", "--pull is 0.0"),
    Bad("audit", "--needed --control-scores fresh.csv --examples 1", "--examples is 1"),
    Bad("audit", "--needed --control-scores absent.csv", "absent.csv does not exist"),
]

POOLS = [
    Bad("budget", "samename.csv", "more than one column 'a'"),
    Bad("budget", "sameid.csv", "is there more than once"),
    Bad("budget", "outside.csv", "the label 7"),
    Bad("budget", "nan.csv", "--missing nan"),
    Bad("budget", "ragged.csv", "data row 2 has 3 cells"),
    Bad("budget", "empty.csv", "is empty"),
    Bad("budget", "header.csv", "is empty"),
    Bad("budget", "numbers.csv", "put a header such as"),
    Bad("budget", "onemodel.csv", "only one model"),
    Bad("budget", "apart.csv", "--missing absent"),
    Bad("budget", "percent.csv", "--scale percent"),
    Bad("budget", "twoscales.csv --scale percent", "'a' has scores said to be in percent, but the largest is 0.66"),
    Bad("compare", "twoscales.csv a b --scale percent", "name both ends (--scale 0:100) if this model's are as low"),
    Bad("compare", "marks.csv a b --scale 5", "scores said to be between 0 and 5, but the largest is 1"),
    Bad("budget", "noid.csv", "row 2 has no id; fill it in, or name another column (--ids-key)"),
    Bad("budget", "never.csv", "--exclude how"),
    Bad("budget", "besides.csv", "'gpt', 'claude' beside it look like models, too: read it alone with --predictions"),
    Bad("budget", "opposed.csv", "'correct' contradicts 'prediction' and 'label' in 8 of 18 rows"),
    Bad("budget", "long.csv", "1152921504606846976.0 is written as a decimal number"),
    Bad("budget", "alike.csv", "the model names 'a' and 'a ' look alike"),
    Bad("budget", "overone.csv", "'a' holds 1.0000001 on the example '1', but scores lie between 0"),
    Bad("budget", "running.csv", "say that these are the ids with --ids-key lfd, or leave it out with --exclude lfd"),
    Bad(
        "budget", "born.csv", "give the number of classes, such as --classes 1959, or --classes any if answers are free"
    ),
    Bad(
        "budget", "meanrow.csv", "'Mean' looks like a summary of the examples, and no example: take it out of the file"
    ),
    Bad(
        "budget",
        "meanmodel.csv",
        "'average' looks like a summary of the models, and no model: leave it out with --exclude",
    ),
    Bad("budget", "meanlong.csv", "'overall' looks like a summary of the models"),
    Bad("compare", "meanlong.csv a overall", "'overall' looks like a summary of the models"),
    Bad("budget", "metadata.csv", "leave them out with --exclude year --exclude age, or rename what is one"),
    Bad("budget", "meanexample.json", "'total' looks like a summary of the examples"),
    Bad("budget", "summedup.csv", "'Mean' looks like no model's: leave it out with --exclude Mean"),
    Bad("budget", "latin.csv", "latin.csv is not UTF-8 text: byte 19 is 0xe4. If it is Latin-1"),
    Bad("budget", "utf16cut.csv", "begins as utf-16"),
    Bad("budget", "binary.csv", "is not UTF-8 text"),
    Bad("budget", "cut.csv.gz", DAMAGED),
    Bad("budget", "bad.json", DAMAGED),
    Bad("budget", "deep.json", DAMAGED),
    Bad("budget", "number.json", "neither a list of rows nor an object of arrays"),
    Bad("budget", "twicekeyed.jsonl", "line 2: the key 'A' stands more than once in one object"),
    Bad("budget", "twicekeyed.json", "the key 't1' stands more than once in one object, with values of which only one"),
    Bad(
        "audit",
        "--scores twicekeyed.jsonl --control-scores twicekeyed.jsonl",
        "line 2: the key 'A' stands more than once",
    ),
    Bad("budget", "bad.jsonl", "line 2 is no JSON"),
    Bad("budget", "bad.parquet", DAMAGED),
    Bad("budget", "bad.eval", DAMAGED),
    Bad("budget", "nothing", "holds no files that can be read"),
    Bad("budget", "model.pt", "can be read (--input-format)"),
    Bad("budget", "pool.csv --input-format banana", "--input-format is 'banana'"),
    Bad("budget", "nothing --input-format csv", "is that of a file"),
    Bad("budget", "square.npz", "--models-axis 0 (models first) or --models-axis 1"),
    Bad("budget", "reference.json", "with --labels-key reference, or that all are models, or examples of models, with"),
    Bad("budget", "cube.npz", "the shape (4, 4, 4)"),
    Bad("budget", "nokeys.npz", "--predictions-key or --correct-key"),
    Bad("budget", "pool.npz --labels-key truth", "has no key 'truth' (--labels-key)"),
    Bad("budget", "pool.npz --classes 0", "--classes is 0"),
    Bad("budget", "pool.npz --classes 3", "--classes"),
    Bad("budget", "pool.npz --scale 10", "--scale 10 has no effect here"),
    Bad("budget", "pool.npz --metric acc", "so that --metric acc chooses nothing"),
    Bad("budget", "pool.npz --task law", "--task law chooses nothing"),
    Bad("budget", "pool.npz --missing -7", "no cell holds '-7' (--missing)"),
    Bad("budget", "unsaid.csv", "say so with --missing NA; if they are wrong, say so with --unread NA"),
    Bad("compare", "unsaid.csv a b --unread NA --unread ERR", "no prediction beside labels is 'ERR' (--unread)"),
    Bad("budget", "unsaid.csv --unread NA --missing NA", "'NA' is given as --missing and as --unread"),
    Bad("budget", "unsaid.csv --unread 1", "'1' is the label of an example"),
    Bad("budget", "pool.csv --unread ''", "no prediction beside labels is '' (--unread)"),
    Bad("budget", f"{FOUR} --unread NA", "--unread has no effect on numbers"),
    Bad("budget", "pool.npz --repeats often", "--repeats is 'often'"),
    Bad("budget", "pool.npz --all-ids all_ids.txt", "--all-ids has no effect here"),
    Bad("budget", "pool.npz --all-ids absent.txt", "absent.txt does not exist (--all-ids)"),
    Bad("budget", "pool.npz --exclude gpt*", "--exclude 'gpt*' fits none of the 4 models"),
    Bad("budget", "pool.npz --exclude *", "--exclude leaves no model"),
    Bad("budget", "pool.npz --error 0.2", "stand in for a file"),
    Bad("budget", "pool.npz --threshold 0.5", "holds right and wrong already"),
    Bad("budget", "halves.csv --threshold 2", "--threshold is 2"),
    Bad("budget", "pool.npz --seed -1", "seed"),
    Bad("budget", "pool.npz --label-noise 0.95", "--label-noise is 0.95"),
    Bad("budget", "pool.npz --second-labels absent.npy", "neither a file nor a column"),
    Bad("budget", "pool.npz --second-labels huge.npy", "its header declares the shape"),
    Bad("budget", "pool.npz --second-labels short.npy", "one label for each of the 80 examples"),
    Bad("budget", "pool.npz --second-labels fromone.npy", "on 80 with 1 taken off, so that one of the two seems to"),
    Bad("budget", "pool.npz --probabilities otherrows.npy", "--probabilities: of 'a' the most probable option is the"),
    Bad("budget", "pool.npz --probabilities huge.npy", "its header declares the shape"),
    Bad("budget", "pool.npz --probabilities prior.npy", "--probabilities has the shape"),
    Bad("budget", "pool.csv --groups owner", "neither a file, nor a column"),
    Bad("budget", "pool.csv --groups ^(x.*)", "finds no group in 60 of 60 examples"),
    Bad("budget", "pool.csv --groups [", "as a regular expression"),
    Bad("budget", "pool.csv --groups groups.csv", "names no group for 59 of 60 examples"),
    Bad("budget", "pool.csv --groups blanks.csv", "--groups has the names 'g0' and 'g0 ', which differ in blanks"),
    Bad("compare", "pool.csv m0 m1 --groups blanks.csv", "write them alike if they are one group"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group 5", "has 6 examples; name 6 or more"),
    Bad("compare", "pool.csv m0 m1 --largest-group 5", "is for examples that come in groups; name them with --groups"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group 9 --sequential", "leave one of the two out"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group 0", "--largest-group is 0; it must be at least 1"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group -1", "--largest-group is -1; it must be at least 1"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group many", "--largest-group: invalid int value: 'many'"),
    Bad("compare", "pool.csv m0 m1 --groups .$ --largest-group 2.5", "--largest-group: invalid int value: '2.5'"),
    Bad("budget", "pool.csv --groups twogroups.csv", "puts 'e0' into two groups"),
    Bad("budget", "pool.csv --groups latingroups.csv", "is not UTF-8 text"),
    Bad("budget", "pool.csv --groups ^e", "put all 60 examples into one"),
    Bad("budget", "pool.csv --epsilon 0.5", "--epsilon is 0.5; an error bar of ±0.5 or wider says nothing of a share"),
    Bad("budget", f"{FOUR} --epsilon 0.75", "any number of models would fit; give one below 0.5"),
    Bad("budget", "--examples 3 --error 0.3 --similarity 0.8", "--examples is 3, too few to say anything"),
    Bad("budget", "halves.csv --scale -1:2", "expected one argument; write --scale=-1:2. See heldout budget --help"),
    Bad(
        "compare", "halves.csv m0 -x", "-x is not an option here; if -x is a name, write options first: heldout compare"
    ),
    Bad("budget", f"{FOUR} --groups repo", "--groups has no effect on numbers alone"),
    Bad("budget", f"{FOUR} --label-noise 0.01", "--label-noise has no effect on numbers alone"),
    Bad("budget", f"{FOUR} --metric acc", "--metric has no effect on numbers, which are given in place of a file"),
    Bad("budget", "absent.npz", "absent.npz does not exist"),
    Bad("budget", "", "give a file of predictions"),
    Bad("budget", "--examples 50000 --error 0.244", "--similarity not given"),
    Bad("budget", "--examples 50000 --error 0.244 --similarity 0.3", "no two models with error 0.244"),
    Bad("budget", f"{FOUR} --examples {10**20}", "examples"),
    *(
        Bad("budget", f"{FOUR} --{option}={value}", option)
        for option in ("error", "similarity", "epsilon", "delta")
        for value in ("much", "nan", "1e400", "-1e400", "1/0", "-0.1", "1.2")
    ),
    Bad("budget", f"{FOUR} --epsilon 0", "--epsilon is 0"),
    Bad("budget", "pool.npz --n-jobs 0", "--n-jobs is 0; give a number of workers, or -1"),
    Bad("budget", f"{FOUR} --n-jobs 2", "--n-jobs"),
    Bad("budget", f"{FOUR} --epsilon 1", "--epsilon is 1; it must lie strictly between 0 and 1: 0.01 is ±1 point"),
    Bad("budget", f"{FOUR} --gap 1", "--gap is 1; it must lie strictly between 0 and 1: 0.01 is 1 point"),
    Bad("budget", f"{FOUR} --delta 1e-330", "delta"),
    Bad("budget", f"{FOUR} --error 1e-400", "error"),
    Bad("compare", "pool.npz a", "only 'a' is named"),
    Bad("compare", "pool.npz a nobody", "no model 'nobody'"),
    Bad("compare", f"{EXAMPLE} shake_drop dark", "did you mean 'darc'?"),
    Bad("compare", "pool.npz", "has 4 models; name two of them"),
    Bad("compare", "pool.npz a b --all-pairs", "leave out either"),
    Bad("compare", "pool.npz a b --fail-under 2", "between 0 and 1"),
    Bad("compare", "pool.npz a b --level 0", "--level is 0"),
    Bad("compare", "pool.npz a b --groups repo", "no column 'repo'"),
    Bad("compare", "absent.csv a b", "does not exist"),
    Bad(
        "compare", "asked1.csv point.csv", "(0 in common): only 'asked1' has '0', only 'point' has '0.0'; write the ids"
    ),
    Bad("compare", "asked1.csv asked2.csv", "under the id '0' 'asked1' has another example than 'asked2'"),
    Bad("compare", "asked1.csv asked2.csv --missing absent", "'who?', not 'why?', and so with 2 of 2"),
    Bad("compare", "asked3.csv asked4.csv", "or join them by their texts with --ids-key question"),
    Bad("compare", "asked1.csv asked3.csv", "'asked3' has no ids of its examples but 'asked1' has, such as '0'"),
    Bad("compare", "strict loose", "'strict' is scored by acc (lm-evaluation-harness) but 'loose' by acc_norm"),
    Bad("compare", "shifted.csv", "'b' predicts 4 but never 0; it is right on 0 of 40 examples, and would be on 40"),
    Bad("budget", "asked.csv", "leave it out with --exclude question"),
    Bad("compare", "latin.csv a b", "is not UTF-8 text"),
    Bad("compare", "ragged.csv a b", "data row 2 has 3 cells"),
]

EXPOSED = "pool.csv --models cutoffs.csv --items"
EXPOSURES = [
    Bad("exposure", "pool.csv --models numbercutoffs.json --items dates.csv", "2023.1, of 'm0', is not a date but a"),
    Bad("exposure", f"{EXPOSED} oddtimes.csv", "'2023-01-05T03:04 or so', of 'e0', is not a date"),
    Bad("exposure", f"{EXPOSED} nodates.csv", "'soon', of 'e1', is not a date"),
    Bad("exposure", f"{EXPOSED} twodates.csv", "'05/2023', of 'e1', is not a date"),
    Bad("exposure", f"{EXPOSED} mixeddates.csv", "come in two formats: '2023-01-05' (e0) and '2023/02/01' (e1)"),
    Bad("exposure", f"{EXPOSED} otherdates.csv", "share no id; the first are 'z0' and 'e0'"),
    Bad("exposure", f"{EXPOSED} sameitem.csv", "has two rows for 'e0' (--items)"),
    Bad("exposure", f"{EXPOSED} absent.csv", "absent.csv does not exist (--items)"),
    Bad("exposure", f"{EXPOSED} cutoffs.csv", "has no column 'id' (--items)"),
    Bad("exposure", f"{EXPOSED} dates.csv --strata platform", "has no column 'platform' (--strata)"),
    Bad("exposure", f"{EXPOSED} dates.csv --strata alone", "in no stratum can anything be traded"),
    Bad("exposure", f"{EXPOSED} dates.csv --date when", "has no column 'when'"),
    Bad("exposure", f"{EXPOSED} dates.csv --level 0", "--level is 0"),
    Bad("exposure", f"{EXPOSED} dates.csv --resamples 0", "--resamples is 0"),
    Bad("exposure", f"{EXPOSED} dates.csv --steps 0", "--steps is 0"),
    Bad("exposure", f"{EXPOSED} dates.csv --n-jobs 0", "--n-jobs is 0; give a number of workers, or -1"),
    Bad("exposure", f"{EXPOSED} dates.csv --fail-under 2", "between 0 and 1"),
    Bad("exposure", f"{EXPOSED} dates.csv --resume", "--out"),
    Bad("exposure", "pool.csv --items dates.csv", "the cutoffs of the models are not known"),
    Bad("exposure", "pool.csv --models cutoffs.csv", "the dates of the examples are not known"),
    Bad("exposure", "pool.csv --models early.csv --items dates.csv", "nobody is exposed"),
    Bad("exposure", "pool.csv --models stranger.csv --items dates.csv", "names 'gpt'"),
    Bad("exposure", "pool.csv --models strangefamily.csv --items dates.csv", "names 'gpt'"),
    Bad("exposure", "pool.csv --models nocutoff.csv --items dates.csv", "has no column 'cutoff'"),
    Bad("exposure", "pool.csv --models dates.csv --items dates.csv", "has no column 'model' (--models)"),
    Bad("exposure", "onemodel.csv --seen onemodel.csv", "has 1 model; at least 3 are needed"),
    Bad("exposure", "pool.csv --seen absent.csv", "absent.csv does not exist"),
    Bad("exposure", "pool.csv --seen seenrows.csv", "--seen has no ids of its examples but pool.csv has, such as 'e0'"),
    Bad("exposure", "pool.csv --seen halves.csv", "(--seen) must hold 1 where a model could have seen an example"),
]

# Nothing of these is asked: port 9 of this machine refuses, and that is its row.
ENDPOINT = "--endpoint http://127.0.0.1:9/v1 --model m --cache cache"
OPTIONS = [
    Bad("options", f"oneoption.jsonl {ENDPOINT}", "row 8 has one option, 'oak', where at least 2 are needed"),
    Bad("options", f"noanswer.jsonl {ENDPOINT}", "'E'"),
    Bad("options", f"sameoptions.jsonl {ENDPOINT}", "same"),
    Bad("options", f"allnumbers.jsonl {ENDPOINT}", "no item of allnumbers.jsonl has options whose order is arbitrary"),
    Bad("options", f"pool.csv {ENDPOINT}", "question"),
    Bad("options", f"either.jsonl {ENDPOINT}", "the answer 0 can be read as a number and as the text of an option"),
    Bad("options", f"absent.jsonl {ENDPOINT}", "absent.jsonl does not exist"),
    Bad("options", f"nosplits {ENDPOINT}", "should hold splits of a data set (dataset_dict.json), but has none"),
    Bad("options", f"trees.jsonl {ENDPOINT}", "no terminal to confirm on; add --yes to send the requests"),
    Bad("options", f"trees.jsonl {ENDPOINT} --yes", "cannot be reached: the connection is refused"),
    Bad("options", "trees.jsonl --endpoint nowhere --model m --yes", "--endpoint: 'nowhere' is not an address"),
    Bad(
        "options", "trees.jsonl", "which model? none of them is given; give one of --endpoint URL, --hf DIR and --runs"
    ),
    Bad("options", f"trees.jsonl {ENDPOINT} --hf models", "--endpoint and --hf are given"),
    Bad("options", "trees.jsonl --endpoint http://127.0.0.1:9/v1", "--endpoint needs --model NAME"),
    Bad("options", "--hf models", "ITEMS is not given"),
    Bad("options", "trees.jsonl --hf absent", "absent is not a folder with a model as `save_pretrained` writes it"),
    Bad(
        "options",
        "trees.jsonl --hf nomodel",
        "nomodel is not a folder with a model as `save_pretrained` writes it",
    ),
    Bad("options", "trees.jsonl --hf adapter", "adapter holds an adapter alone; merge it into its model"),
    Bad(
        "options",
        f"fromone.jsonl {ENDPOINT} --skip-broken",
        "if they do, say so with --answers-from 1",
    ),
    Bad("options", "trees.jsonl --hf models --price 1 2", "--price goes with --endpoint, which is not given"),
    Bad("options", f"trees.jsonl {ENDPOINT} --device cpu", "--device goes with --hf, which is not given"),
    Bad("options", f"trees.jsonl {ENDPOINT} --printed a.eval", "--printed goes with --runs, which is not given"),
    Bad("options", "--runs orders.npz --orders 4", "--orders has no effect with --runs"),
    Bad("options", "--runs orders.npz --task nope", "orders.npz has no task 'nope' (--task); it has 'orders'"),
    Bad("options", "--runs orders.npz --question-key q", "--question-key goes with ITEMS, which is not given"),
    Bad("options", f"trees.jsonl {ENDPOINT} --strata source", "has no column 'source' (--strata)"),
    Bad("options", f"trees.jsonl {ENDPOINT} --orders some", "--orders some: give a number of orders, all, or cyclic"),
    Bad("options", f"trees.jsonl {ENDPOINT} --orders 0", "--orders is 0"),
    Bad("options", f"sixoptions.jsonl {ENDPOINT} --orders all", "6 options have 720 orders"),
    Bad("options", f"trees.jsonl {ENDPOINT} --items 0", "--items is 0"),
    Bad("options", f"trees.jsonl {ENDPOINT} --extra low", "--extra is not a JSON object; give one such as"),
    Bad("options", f"trees.jsonl http://me:pw@host {ENDPOINT}", "an address is given where none belongs"),
    Bad("options", f"http://me:pw@host {ENDPOINT}", "ITEMS is an address, but must be a file"),
    Bad("options", f"trees.jsonl {ENDPOINT} --template absent.txt", "--template absent.txt does not exist."),
    Bad("options", f"trees.jsonl {ENDPOINT} --template pool.csv", "--template holds {question} 0 times"),
    Bad("options", f"trees.jsonl {ENDPOINT} --level 0", "--level is 0"),
    Bad("options", f"trees.jsonl {ENDPOINT} --resume", "--out"),
    Bad("options", f"trees.jsonl {ENDPOINT} --fail-under 2", "between 0 and 1"),
    Bad("options", f"trees.jsonl {ENDPOINT} --fail-under 0.1 --mid-p", "--mid-p is not valid"),
    Bad("options", "--runs absent.eval", "absent.eval does not exist"),
    Bad("options", "--runs orders.npz --level 0.00001", "no p is below 0.0001 with --resamples 9999"),
    Bad("options", "--runs orders.npz --resamples 19 --alternative two-sided", "no p is below 0.1 with --resamples 19"),
    Bad("options", "--runs test.npz", "has no scores of options in two orders"),
    Bad("options", f"--runs {LOGS}/printed.eval {LOGS}/shuffled-1.eval", "no printed order is known"),
    Bad("options", f"--runs {LOGS}/printed.eval --printed {LOGS}/printed.eval", "one and the same order"),
    Bad(
        "options",
        f"{LOGS}/../trees.jsonl --runs {LOGS}/printed.eval lacking.json",
        "of 8 items, 5 are not in every run, which leaves 3",
    ),
    Bad("options", f"{LOGS}/../trees.jsonl --runs {LOGS}/printed.eval othermodel.json", "the runs are of 2 models"),
]

STRESSES = [
    Bad("stress", "--queries 10", "the test set is not known"),
    Bad("stress", "--examples 100 --classes 2", "--queries"),
    Bad("stress", f"{STRESS} --queries 0", "--queries is 0"),
    Bad("stress", f"{STRESS} --queries 100000000000", "--queries is 100,000,000,000; it must be at most 10,000,000"),
    Bad("stress", f"{STRESS} --examples 0", "--examples is 0"),
    Bad("stress", f"{STRESS} --examples 1000000000000", "--examples is 1,000,000,000,000"),
    Bad("stress", f"{STRESS} --examples 100000000 --queries 1000000", "days of work; --queries or --trials"),
    Bad("stress", f"{STRESS} --classes 1", "--classes is 1; it must be at least 2"),
    Bad("stress", f"{STRESS} --classes 1000000000", "--classes is 1,000,000,000; it must be at most 1,000,000"),
    Bad("stress", f"{STRESS} --trials 0", "--trials is 0"),
    Bad("stress", f"{STRESS} --seed -1", "--seed is -1"),
    Bad("stress", f"{STRESS} --points 101", "--points is 101"),
    Bad("stress", f"{STRESS} --digits 0", "digits"),
    Bad("stress", f"{STRESS} --top 2 --classes 9", "needs a prior"),
    Bad("stress", f"{STRESS} --n-jobs 0", "--n-jobs is 0; give a number of workers, or -1"),
    Bad("stress", f"{STRESS} --delta 1", "--delta is 1.0"),
    Bad("stress", f"{STRESS} --delta nan", "--delta is nan"),
    Bad("stress", f"{STRESS} --public 1.5", "--public is 1.5"),
    Bad("stress", f"{STRESS} --public nan", "--public is nan"),
    Bad("stress", f"{STRESS} --fail-over 2", "--fail-over 2"),
    Bad("stress", f"{STRESS} --fail-over nan", "--fail-over nan"),
    Bad("stress", f"{STRESS} --attack banana", "invalid choice"),
    Bad("stress", f"{STRESS} --labels-key y", "--labels-key goes with --labels, which is not given"),
    Bad("stress", f"{STRESS} --prior-models y", "--prior-models goes with --prior, which is not given"),
    Bad("stress", "--labels absent.npy --queries 5", "absent.npy is not a file"),
    Bad("stress", "--labels labels.npy --classes 3 --queries 5", "classes are 0 to 2"),
    Bad("stress", "--labels labels.npy --examples 7 --queries 5", "--labels has 80 examples, --examples is 7"),
    Bad("stress", "--labels labels.npy --labels-key y --queries 5", "without a name; leave out --labels-key"),
    Bad("stress", "--labels huge.npy --queries 5", "its header declares the shape"),
    Bad("stress", "--labels cut.npy --queries 5", "its header declares the shape"),
    Bad("stress", "--labels text.npy --queries 5", "not an .npy file"),
    Bad("stress", "--labels fraction.npz --queries 5", "class numbers (0, 1, 2, ...) or class names"),
    Bad("stress", "--labels nokeys.npz --queries 5", "name the array with --labels-key"),
    Bad("stress", "--labels nolabels.csv --queries 5", "say which it is with --labels-key: it has 'id', 'm1'"),
    Bad("stress", "--labels gap.csv --queries 5", "row 2 has no label"),
    Bad("stress", "--labels torn.csv --queries 5", "the example '0' has the label '2' in one row and '1' in another"),
    Bad("stress", "--labels latin.csv --queries 5", "is not UTF-8 text"),
    Bad("stress", "--labels labels.npy --prior priorshort.npy --queries 5", "--prior is for 79 examples"),
    Bad("stress", "--labels labels.npy --prior priornan.npy --queries 5", "not a finite number at example 7"),
    Bad("stress", "--labels labels.npy --prior priornegative.npy --queries 5", "negative at example 3"),
    Bad("stress", "--labels labels.npy --prior priortwice.npy --queries 5", "sums to 2 at example 0"),
    Bad("stress", "--labels labels.npy --prior prior.npy --top 11 --queries 5", "--top is 11; of 10 classes"),
    Bad("stress", "--labels labels.npy --prior labels.npy --queries 5", "say with --prior-kind counts"),
    Bad("stress", "--labels labels.npy --prior huge.npz --queries 5", "its header declares the shape"),
    Bad("stress", "--prior ranks.npz --prior-models a --queries 5", "names 0 models"),
]

# Options that would do nothing: their owner believes that they do something.
IDLE = [
    *(
        Bad(verb, f"--model {model} --images test.npz {frame} {option}", says)
        for verb, frame in (("audit", "--wrap --radius 1"), ("memorization curve", ""))
        for model, option, says in (
            ("honest.onnx", "--device banana", "--device banana: there is no such device"),
            ("honest.onnx", "--device cpu:banana", "there is no such device"),
            ("honest.onnx", "--device cuda", "install onnxruntime-gpu"),
            ("honest.onnx", "--bf16", "bfloat16 is for torch"),
            ("honest.onnx", "--compile", "--compile is for torch modules"),
            ("bad_inputs_models:module", "--device banana", "--device banana: torch has no such device here"),
            ("bad_inputs_models:module", "--device meta", "--device meta: torch has no such device here"),
            ("bad_inputs_models:module", "--device mps", "--device mps: torch has no such device here; it has 'cpu'"),
            (
                "bad_inputs_models:full",
                "",
                "runs out of memory on a batch of shape (1, 1, 32, 32); choose another --device",
            ),
            ("bad_inputs_models:module", "--device cuda:77", "--device cuda:77: torch has no such device here"),
            ("bad_inputs_models:linear", "--device banana", "--device banana has no effect on a scikit-learn model"),
            ("bad_inputs_models:linear", "--device cuda", "--device cuda has no effect on a scikit-learn model"),
            ("bad_inputs_models:linear", "--bf16", "--bf16 has no effect on a scikit-learn model"),
            ("bad_inputs_models:first", "--device banana", "--device banana has no effect on a function"),
            ("bad_inputs_models:first", "--bf16", "--bf16 has no effect on a function"),
            ("bad_inputs_models:scorer", "--device cuda", "--device cuda has no effect on this scorer"),
            ("honest.onnx", "--bgr", "--bgr turns the order of three channels round; these pictures have one"),
            ("honest.onnx", "--channels 1", "--channels has no effect on arrays"),
            ("honest.onnx", "--channels 3 --max-pixels 7", "--channels, --max-pixels have no effect on arrays"),
            ("honest.onnx", "--interpolation bilinear", "--interpolation has no effect without --resize"),
            ("honest.onnx", "--mean 0.5 0.5 0.5", "--mean has 3 values for pictures of 1 channels"),
            ("honest.onnx", "--std 1 1", "--std has 2 values for pictures of 1 channels"),
            ("honest.onnx", "--mean nan", "--mean is (nan,)"),
            ("honest.onnx", "--std nan", "--std is (nan,)"),
            ("honest.onnx", "--std inf", "--std is (inf,)"),
            ("honest.onnx", "--scale 0", "--scale is 0.0"),
            ("honest.onnx", "--scale nan", "--scale is nan"),
        )
    ),
    Bad("audit", "--model honest.onnx --images classes --wrap --images-key x", "--images-key has no effect on picture"),
    Bad("audit", f"{AUDIT} --control-images-key x", "--control-images-key goes with --control"),
    Bad("audit", f"{AUDIT} --resamples 9999", "--resamples has no effect without a --control"),
    Bad("memorization curve", f"{CURVE} --radius 2", "--radius has no effect without --audit"),
    Bad("memorization curve", f"{CURVE} --random-moves 10", "no effect without --perturbation spatial-random"),
    Bad("memorization curve", f"{CURVE} --perturbation fog --shifts 5", "no effect without --perturbation spatial"),
    Bad("memorization curve", f"{CURVE} --perturbation fog --padding black", "--padding has no effect without"),
    Bad("split", "test.npz --control 0.2 --max-pixels 9 --out aside", "--max-pixels has no effect on arrays"),
    Bad("split", "classes --control 0.2 --labels-key y --out aside", "--labels-key has no effect on picture files"),
    Bad("audit", f"{AUDIT} --labels labels.npy --labels-key labels", "--labels-key has no effect beside --labels"),
    Bad(
        "audit",
        f"{AUDIT} --control control.npz --control-labels labels.npy --control-labels-key y",
        "--control-labels-key has no effect beside --control-labels",
    ),
    Bad("split", "test.npz --labels labels.npy --labels-key y --control 0.2 --out aside", "no effect beside --labels"),
    Bad("audit", "--needed --control-scores fresh.csv --seed 0", "--seed has no effect on scores"),
    Bad("audit", "--needed --model honest.onnx --control control.npz --wrap", "--wrap has no effect with --needed"),
    Bad("audit", "--needed --model honest.onnx --control control.npz --pad zero", "--pad has no effect with --needed"),
    Bad("memorization curve", f"{CURVE} --wrap", "--wrap has no effect without --audit"),
    Bad("memorization curve", f"{CURVE} --labels labels.npy --labels-key y", "--labels-key has no effect beside"),
    Bad("memorization curve", f"{CURVE} --perturbation fog --strengths 0:2", "--strengths 0:2 has no effect on fog"),
    Bad("memorization curve", f"{CURVE} --validation-labels x", "--validation-labels goes with --validation, which is"),
    Bad("memorization curve", f"{CURVE} --fail-over 0.1", "--fail-over goes with --validation, which is not given"),
    Bad(
        "memorization curve", f"{CURVE} --validation control.npz --fail-over 1", "--fail-over 1: give a gap in accuracy"
    ),
    Bad("memorization retrain", f"{TRAIN} --fail-over 0.1", "--fail-over goes with --validation, which is not given"),
    Bad("memorization retrain", f"{TRAIN} --validation train.npz --fail-over nan", "--fail-over nan: give a gap"),
    Bad(
        "memorization retrain",
        f"{TRAIN} --label-noise 0.3 --validation train.npz --fail-over 0.1",
        "--label-noise 0.3 has none; write --label-noise 0,0.3",
    ),
    Bad(
        "memorization curve",
        f"{CURVE} --validation one.npz --fail-over 0.1",
        "one has no interval; one.npz holds 1: give two at least",
    ),
    Bad("stress", f"{STRESS} --resume", "--resume goes with --out, which is not given"),
    Bad("budget", f"{FOUR} --per-task", "--per-task has no effect on numbers alone"),
    Bad("budget", f"{FOUR} --seed 0", "--seed has no effect on numbers"),
    Bad("stress", "--labels labels.npy --prior prior.npy --models-axis 1 --queries 5", "no axis of models"),
]

MEMORIES = [
    Bad("memorization", "", "say which: curve (finished models), or retrain (training methods)"),
    Bad("memorization", "--model a.onnx --images b", "say which: curve (finished models)"),
    Bad("memorization", "curves --model a.onnx", "there is no 'curves'; did you mean curve?"),
    Bad("memorization curve", "--model a.onnx", "required: --images"),
    Bad("memorization retrain", "--train bad_inputs_models:train", "required: --data"),
    Bad("memorization retrain", f"{TRAIN} --data absent.npz", "does not exist"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models.py:train", "give the module's name"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models", "give package.module:name"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:absent", "bad_inputs_models has no 'absent'."),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:train bad_inputs_models:train", "more than once"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:two", "called with (x, y, seed)"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:empty", "the training returned a NoneType"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:hopeless", "the first 3 trainings all failed"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:diverged", "the training diverged"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:short", "returned the shape (7,)"),
    Bad("memorization retrain", f"{TRAIN} --train bad_inputs_models:unseeded", "go on with --no-seed-check"),
    Bad(
        "memorization retrain", f"{TRAIN} --validation train.npz --groups rows.csv", "'0' is an example of the training"
    ),
    Bad(
        "memorization retrain",
        f"{TRAIN} --train bad_inputs_models:train bad_inputs_models:empty",
        "empty: the training returned",
    ),
    Bad("memorization curve", f"{CURVE} --validation control.npz --groups rows.csv", "one of --validation control.npz"),
    Bad(
        "memorization curve",
        "--model honest.onnx --images videos.npz --limit 20 --validation control.npz --groups video",
        "--validation control.npz: the groups 'video' are neither",
    ),
    Bad("stress", "--labels words.csv --prior pets.csv --queries 5", "call it by its name (ape, cat)"),
    Bad(
        "stress", "--labels labels.npy --prior pets.csv --queries 5", "say with --prior-classes which class each column"
    ),
    Bad("stress", "--labels words.csv --prior prior.npy --queries 5", "over 10 classes without their names"),
    Bad("stress", f"{WORDS} --prior-classes ape", "--prior-classes names 1 class ('ape'), the prior has 3 columns"),
    Bad("stress", f"{WORDS} --prior-classes ape,cat,emu", "--prior-classes has 'emu', which is no class of the labels"),
    Bad("stress", f"{WORDS} --prior-classes ape,cat,ape", "--prior-classes has 'ape' twice"),
    Bad("stress", f"{WORDS} --prior-classes ''", "--prior-classes names 0 classes"),
    Bad("stress", "--prior prior.npy --prior-classes 0,1 --queries 5", "--prior-classes goes with --labels"),
    Bad("stress", "--labels words.csv --prior-classes ape,cat --queries 5", "--prior-classes goes with --prior"),
    Bad(
        "stress",
        "--labels words.csv --prior said.csv --prior-classes ape,cat --queries 5",
        "whose classes go by their names, and no columns of classes; leave --prior-classes out",
    ),
    Bad("memorization retrain", f"{TRAIN} --perturbation fog", "--perturbation is not an option here. See"),
    Bad("memorization retrain", f"{TRAIN} --audit", "--audit is not an option here. See"),
    Bad("memorization retrain", f"{TRAIN} --max-pixels 7", "--max-pixels is not an option here. See"),
    Bad("memorization retrain", f"{TRAIN} --x-key z", "has no key 'z' (--x-key); it has 'x', 'y'"),
    Bad("memorization retrain", f"{TRAIN} --data nokeys.npz", "say which they are with --x-key"),
    Bad("memorization retrain", f"{TRAIN} --data oneclass.npz", "at least two are needed"),
    Bad("memorization retrain", f"{TRAIN} --data fewer.npz", "50 for 80 examples"),
    Bad("memorization retrain", f"{TRAIN} --data fraction.npz", "class numbers (0, 1, 2, ...) or class names"),
    Bad("memorization retrain", f"{TRAIN} --label-noise 0.1:0.5:0.1", "give 0 and at least one larger rate"),
    Bad("memorization retrain", f"{TRAIN} --label-noise 0", "give 0 and at least one larger rate"),
    Bad("memorization retrain", f"{TRAIN} --label-noise 0:5", "growing, up to 1"),
    Bad("memorization retrain", f"{TRAIN} --label-noise much", "write 0:8"),
    Bad("memorization retrain", f"{TRAIN} --label-noise 0,0.001", "is less than one"),
    Bad("memorization retrain", f"{TRAIN} --classes 5", "classes are 0 to 4"),
    Bad("memorization retrain", f"{TRAIN} --classes 1000000000", "--classes is 1,000,000,000"),
    Bad("memorization retrain", f"{TRAIN} --repetitions 0", "--repetitions is 0; it must be at least 1"),
    Bad("memorization retrain", f"{TRAIN} --repetitions -1", "--repetitions is -1; it must be at least 1"),
    Bad("memorization retrain", f"{TRAIN} --threads 0", "--threads is 0"),
    Bad("memorization retrain", f"{TRAIN} --n-jobs 0", "--n-jobs is 0; give a number of workers, or -1"),
    Bad("memorization retrain", f"{TRAIN} --seed -1", "--seed is -1"),
    Bad("memorization retrain", f"{TRAIN} --limit 0", "--limit is 0"),
    Bad(
        "memorization retrain",
        f"{TRAIN} --validation-labels x",
        "did you mean --validation?",
    ),
    Bad("memorization retrain", f"{TRAIN} --validation fewer.npz", "50 for 80 examples"),
    Bad("memorization retrain", f"{TRAIN} --groups nope", "neither a file, nor a column"),
    Bad("memorization retrain", f"{TRAIN} --out train.npz", "cannot be written to"),
    Bad("memorization curve", f"{CURVE} --perturbation fgsm", "FGSM needs gradients"),
    Bad("memorization curve", f"{CURVE} --perturbation fogg", "did you mean fog?"),
    Bad("memorization curve", f"{CURVE} --perturbation banana", "there are spatial"),
    Bad("split", "test.npz --control 0.2 --out aside --format junit", "invalid choice: 'junit'"),
    Bad("memorization curve", f"{CURVE} --strengths 1:3", "must begin at 0 and grow"),
    Bad("memorization curve", f"{CURVE} --strengths 0,2,1", "must begin at 0 and grow"),
    Bad("memorization curve", f"{CURVE} --strengths 0:1e9:1e-9", "write 0:8"),
    Bad("memorization curve", f"{CURVE} --strengths gaussian=0:3", "gaussian is not among the perturbations spatial"),
    Bad("memorization curve", f"{CURVE} --perturbation fog --strengths fog=0:7", "severities"),
    Bad("memorization curve", f"{CURVE} --pixel-range 0 1", "outside the declared range of 0 to 1"),
    Bad("memorization curve", f"{CURVE} --limit 60 --pixel-range 0 100000", "a small part of the declared range"),
    Bad("memorization curve", f"{CURVE} --shifts 0", "--shifts is 0"),
    Bad("memorization curve", f"{CURVE} --turns -1", "--turns is -1"),
    Bad("memorization curve", f"{CURVE} --shifts 1000000", "--shifts is 1,000,000; it must be at most 1,000"),
    Bad("memorization curve", f"{CURVE} --random-moves 0", "--random-moves is 0"),
    Bad("memorization curve", f"{CURVE} --limit 0", "--limit is 0"),
    Bad("memorization curve", f"{CURVE} --audit", "leaves no pixels to move in"),
    Bad("memorization curve", f"{CURVE} --crop 99", "smaller than the crop"),
    Bad("memorization curve", f"{CURVE} --n-jobs 2", "--n-jobs is not an option here. See"),
    Bad("memorization curve", f"{CURVE} --batch-size 0", "--batch-size is 0; it must be at least 1"),
    Bad("memorization curve", f"{CURVE} --limit 80 --scale 0.0000001", "go on with --allow-chance"),
    Bad("memorization curve", "--model bad_inputs_models:grey --images grey", "--channels 1"),
    Bad("memorization curve", "--model honest.onnx --images large", "more than --max-pixels"),
    Bad(
        "memorization curve",
        "--model bad_inputs_models:regression --images test.npz",
        "predicts numbers or clusters, not classes",
    ),
]

SPLITS = [
    Bad("split", "test.npz --control nan --out aside", "--control nan: give a share below 1"),
    Bad("split", "test.npz --control 1.0 --out aside", "--control 1: give a share below 1 (0.2), or a whole number"),
    Bad("split", "test.npz --control inf --out aside", "--control inf: give a share below 1"),
    Bad("split", "test.npz --control 0 --out aside", "--control 0: give a share below 1"),
    Bad("split", "test.npz --control -3 --out aside", "--control -3: give a share below 1"),
    Bad("split", "test.npz --control 1.5 --out aside", "--control 1.5: give a share below 1"),
    Bad("split", "test.npz --control 80 --out aside", "puts 80 of 80 examples aside"),
    Bad("split", "test.npz --control 0.001 --out aside", "puts 0 of 80 examples aside"),
    Bad("split", "test.npz --control 0.2 --seed -1 --out aside", "--seed is -1"),
    Bad("split", "test.npz --control 0.2 --out test.npz", "test.npz"),
    Bad("split", "test.npz --control 0.2 --groups nope --out aside", "neither a file, nor a column"),
    Bad("split", "one.npz --control 0.5 --out aside", "at least two examples"),
    Bad("split", "absent.npz --control 0.2 --out aside", "does not exist"),
    Bad("split", "pool.csv --control 0.2 --out aside", "is neither a folder nor an .npz file"),
    Bad("split", "nokeys.npz --control 0.2 --out aside", "--images-key"),
    Bad("split", "nothing --control 0.2 --out aside", "no class folders"),
    Bad("split", "large --control 0.2 --out aside", "more than --max-pixels"),
    Bad("split", "broken --control 0.2 --out aside", "cannot read the picture"),
    Bad("split", "plain --labels fileslatin.csv --control 0.2 --out aside", "is not UTF-8 text"),
    Bad("split", "plain --labels filesabsent.csv --control 0.2 --out aside", "does not hold"),
]  # fmt: skip

DEMOS = [
    Bad("demo", "--out test.npz", "cannot be written to"),
    Bad("demo", "--control", "--control is not an option here. See heldout demo --help"),
    Bad("nonsense", "", "there is no verb 'nonsense'. See heldout --help"),
]

TABLE = [*ARCHIVES, *AUDITS, *SCORE_AUDITS, *POOLS, *EXPOSURES, *OPTIONS, *STRESSES, *IDLE, *MEMORIES, *SPLITS, *DEMOS]
