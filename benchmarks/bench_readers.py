"""What the checks of readers cost: a table over the bare parsing of its file, or the bare comparison of arrays.

python benchmarks/bench_readers.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet
from common import alternate, verdict

from heldout import Predictions, load_predictions
from heldout.predictions import align

SHORTEST = 0.1  # seconds of a turn

Columns = dict[str, list[int] | list[str]]


def answers(rng: np.random.Generator, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers that k models predict, 0.7 of them right, and the labels."""
    labels = rng.integers(10, size=n)
    return np.where(rng.random((k, n)) < 0.7, labels, rng.integers(10, size=(k, n))), labels


def wide(rng: np.random.Generator, k: int, n: int) -> Columns:
    said, labels = answers(rng, k, n)
    models = {f"model {i}": row.tolist() for i, row in enumerate(said)}
    return {"id": [f"q{i}" for i in range(n)], "label": labels.tolist(), **models}


def marks(rng: np.random.Generator, k: int, n: int) -> Columns:
    said, labels = answers(rng, k, n)
    models = {f"model {i}": row.tolist() for i, row in enumerate((said == labels).astype(int))}
    return {"id": [f"q{i}" for i in range(n)], **models}


def long(rng: np.random.Generator, k: int, n: int) -> Columns:
    said, labels = answers(rng, k, n)
    return {
        "model": [f"model {i}" for i in range(k) for _ in range(n)],
        "id": list(range(n)) * k,
        "prediction": said.ravel().tolist(),
        "label": labels.tolist() * k,
    }


def write(columns: Columns, path: Path) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        rows = zip(*columns.values(), strict=True)
        with path.open("w", newline="") as f:
            if path.suffix == ".csv":
                csv.writer(f).writerows([columns, *rows])
            else:
                f.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    return path


def write_logs(folder: Path, k: int, n: int) -> Path:
    """Samples as lm-evaluation-harness writes them."""
    for i in range(k):
        (folder / f"model_{i}").mkdir(parents=True)
        with (folder / f"model_{i}" / "samples_sums_2026-01-01T00-00-00.jsonl").open("w") as f:
            for j in range(n):
                doc = {"question": f"What is {j} and one more? " * 8, "choices": ["more", "less", "as much", "none"]}
                row = {"doc_id": j, "doc": doc, "target": "0", "resps": [[["-1.0", "False"]]] * 4, "filter": "none"}
                f.write(json.dumps({**row, "metrics": ["acc"], "acc": float((i + j) % 3 > 0)}) + "\n")
    return folder


def parsed(path: Path) -> int:
    """The file's rows, and nothing else; how many there are."""
    if path.is_dir():
        return sum(map(parsed, path.rglob("*.jsonl")))
    if path.suffix == ".parquet":
        return len(pyarrow.parquet.read_table(path))
    with path.open(newline="") as f:
        return len(list(csv.reader(f)) if path.suffix == ".csv" else [json.loads(line) for line in f])


def sides(home: Path) -> Iterator[tuple[str, Callable[[], object], Callable[[], object], float]]:
    """A name, what is measured and what it is measured by, and how many times as long it may take."""
    rng = np.random.default_rng(0)
    files = [
        ("CSV, 64 models x 20,000 examples", write(wide(rng, 64, 20_000), home / "wide.csv"), 5),
        ("CSV, 2,000 models x 1,000 marks", write(marks(rng, 2_000, 1_000), home / "marks.csv"), 9),
        ("CSV, long, 500,000 rows", write(long(rng, 25, 20_000), home / "long.csv"), 1.5),
        ("JSONL, long, 200,000 rows", write(long(rng, 10, 20_000), home / "long.jsonl"), 2.5),
        ("Parquet, 64 models x 20,000 examples", write(wide(rng, 64, 20_000), home / "wide.parquet"), 8),
        ("logs of lm-evaluation-harness, 30 x 1,000", write_logs(home / "logs", 30, 1_000), 3),
    ]
    for name, path, limit in files:
        yield name, lambda path=path: load_predictions(path), lambda path=path: parsed(path), limit
    said, labels = answers(rng, 5_000, 1_000)
    yield "arrays of numbers, 5,000 x 1,000", lambda: Predictions.from_arrays(said, labels), lambda: said == labels, 8
    names = np.array([f"class {i}" for i in range(10)])
    texts = names[said], names[labels]
    yield "arrays of text, 5,000 x 1,000", lambda: Predictions.from_arrays(*texts), lambda: texts[0] == texts[1], 12
    ids = [f"q{i}" for i in range(5_000)]
    tables = []
    for i in range(200):
        asked = {"question": [f"What is {name}?" for name in ids]}  # a copy for each table, as files bring them
        tables.append(Predictions.from_correct(rng.random(5_000) < 0.7, names=[str(i)], ids=ids, columns=asked))
    yield "align, 200 tables of 5,000 questions", lambda: align(tables), lambda: joined(tables), 1.6


def joined(tables: list[Predictions]) -> list[np.ndarray]:
    """The rows of all tables in the order of the first, by a dictionary of ids for each."""
    places = [{name: i for i, name in enumerate(table.ids or ())} for table in tables]
    return [t.cells[:, [place[name] for name in places[0]]] for t, place in zip(tables, places, strict=True)]


def several(run: Callable[[], object]) -> Callable[[], int]:
    """As many runs as take a tenth of a second, since short ones hang on what ran before; how many there were."""

    def counted() -> int:
        began, done = time.perf_counter(), 0
        while done == 0 or time.perf_counter() - began < SHORTEST:
            run()
            done += 1
        return done

    return counted


def memory(home: Path) -> None:
    """Peak over the bytes of the file: what is read goes through Python objects."""
    for name, most in (("wide.csv", 20), ("marks.csv", 24), ("long.csv", 14), ("long.jsonl", 12)):
        tracemalloc.start()
        load_predictions(home / name)
        peak = tracemalloc.get_traced_memory()[1] / (home / name).stat().st_size
        tracemalloc.stop()
        verdict(f"peak memory over the file, {name}", peak, f"<= {most}", peak <= most)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, ours, bare, limit in sides(home):
            rates = alternate({"ours": several(ours), "bare": several(bare)}, rounds=arguments.rounds)
            times = float(np.median(rates["bare"] / rates["ours"]))
            verdict(f"{name}: times as long", times, f"<= {limit}", times <= limit)
        memory(home)
