"""`heldout exposure` as a user meets it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from heldout import exposure, load, load_predictions
from heldout.cli import main
from heldout.cli.exposure import _reasons

FEW = ("--resamples", "99", "--steps", "3", "--n-jobs", "1")


@pytest.fixture
def run(capsys):
    def call(*argv) -> tuple[int, str, str]:
        code = main(["exposure", *map(str, argv)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Twelve models, of which six know the older half of the examples."""
    folder, rng = tmp_path_factory.mktemp("exposure"), np.random.default_rng(0)
    right = rng.random((12, 60)) < 0.4
    right[:6, :30] |= rng.random((6, 30)) < 0.5
    names = [f"m{i}" for i in range(12)]
    dates = [f"2023-{1 + j // 10:02d}-15" for j in range(60)]

    def write(name, head, rows):
        (folder / name).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")

    write("results.csv", ",".join(["id", *names]), [(f"q{j}", *right[:, j].astype(int)) for j in range(60)])
    write("dated.csv", ",".join(["id", "released", *names]), [
        (f"q{j}", dates[j], *right[:, j].astype(int)) for j in range(60)])  # fmt: skip
    write("items.csv", "id,date,kind", [(f"q{j}", dates[j], "ab"[j % 2]) for j in range(59, -1, -1)])
    cutoffs = ["2023-03"] * 6 + ["2022-12"] * 6
    write("models.csv", "model,cutoff", zip(names, cutoffs, strict=True))
    write("long.csv", "model,id,seen", [(m, f"q{j}", int(i < 6 and j < 30)) for i, m in enumerate(names)
          for j in range(60)])  # fmt: skip
    write("others.csv", "model,cutoff", zip(names, cutoffs[::-1], strict=True))
    write("families.csv", "model_name,training_cutoff,family", [(*row, f"f{i // 3}") for i, row in
          enumerate(zip(names, cutoffs, strict=True))])  # fmt: skip
    write("seen.csv", ",".join(["id", *names]), [(f"q{j}", *[int(j < 30)] * 6, *[0] * 6) for j in range(60)])
    return folder


def test_files_and_python_say_the_same(run, files, tmp_path):
    given = (files / "results.csv", "--items", files / "items.csv", "--models", files / "models.csv")
    code, out, err = run(*given, "--strata", "kind", *FEW, "--out", tmp_path, "--json")
    dates = {f"q{j}": f"2023-{1 + j // 10:02d}-15" for j in range(60)}
    result = exposure(
        load_predictions(files / "results.csv"), dates=dates, strata=[{f"q{j}": "ab"[j % 2] for j in range(60)}],
        cutoffs={f"m{i}": "2023-03" if i < 6 else "2022-12" for i in range(12)}, n_resamples=99, steps=3,
    )  # fmt: skip
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(result.to_dict()))
    assert load(tmp_path) == result
    assert "report:" in err
    assert [s["name"] for s in json.loads(out)["strata"]] == ["a", "b"]


def test_columns_of_the_results_and_flags_of_overlap(run, files):
    _, dated, _ = run(files / "dated.csv", "--models", files / "models.csv", *FEW, "--json", "--no-scan")
    _, flags, _ = run(files / "results.csv", "--seen", files / "seen.csv", *FEW, "--json", "--no-scan")
    _, named, _ = run(
        files / "dated.csv", "--models", files / "models.csv", "--date", "released", *FEW, "--json", "--no-scan"
    )
    dated, flags = json.loads(dated), json.loads(flags)
    assert dated == json.loads(named)
    for key in ("p_margins", "p_placebo", "observed", "exposed_cells", "effect_log_odds"):
        assert dated[key] == flags[key]
    assert flags["control"] is None
    _, long, err = run(
        files / "results.csv",
        "--seen",
        files / "long.csv",
        "--models",
        files / "models.csv",
        *FEW,
        "--json",
        "--no-scan",
    )
    assert json.loads(long) == flags
    assert "the cutoffs of" in err


def test_rows_of_no_example_are_counted(run, files):
    lines = (files / "items.csv").read_text().replace("q1,", "Q1,")
    (files / "slips.csv").write_text(lines)
    given = (files / "results.csv", "--items", files / "slips.csv", "--models", files / "models.csv", *FEW, "--no-scan")
    assert "slips.csv: 1 row of no example in results.csv; the first is 'Q1'" in run(*given)[2]


def test_a_gate(run, files):
    given = (files / "results.csv", "--items", files / "items.csv", "--models", files / "models.csv", *FEW, "--no-scan")
    code, _, err = run(*given, "--fail-under", "0.05")
    assert code == 1
    assert "p = 0.0278 is below --fail-under 0.05: models score better on what they could have seen." in err
    code, _, err = run(*given, "--fail-under", "0.02")
    assert code == 1
    assert "--fail-under 0.02 cannot be judged: no p of this table is below 0.028." in err
    assert "another seed" not in err  # it fails with any
    code, _, err = run(*given[:4], files / "others.csv", *given[5:], "--fail-under", "0.05")
    assert (code, "another seed" in err) == (0, False)
    found = exposure(np.eye(12, 60) > 0, seen=np.eye(12, 60, 3) > 0, n_resamples=99, steps=3)
    assert found.verdict == "no excess found"
    assert _reasons(0.999 * found.p_value, found) == []
    assert _reasons(1.0, replace(found, ruling=replace(found.ruling, p_value=0.65))) == [
        "p = 0.65 is below --fail-under 1."
    ]


def test_a_gate_near_p(run, tmp_path):
    """On either side of p, as far off as seeds move it, and farther."""
    rng = np.random.default_rng(2)
    right = rng.random((12, 60)) < 0.4
    right[:6, :30] |= rng.random((6, 30)) < 0.1
    seen = np.outer(np.arange(12) < 6, np.arange(60) < 30)
    head = ",".join(["id", *(f"m{i}" for i in range(12))])
    for name, cells in (("results", right), ("seen", seen)):
        rows = [",".join([f"q{j}", *cells[:, j].astype(int).astype(str)]) for j in range(60)]
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    given = (tmp_path / "results.csv", "--seen", tmp_path / "seen.csv", *FEW, "--no-scan")
    plain = json.loads(run(*given, "--json")[1])
    p, error = plain["p_value"], plain["p_error"]
    assert p - 3 * error > plain["smallest_p"]
    for off, code, told in ((-1, 0, True), (1, 1, True), (-3, 0, False), (3, 1, False)):
        got, _, err = run(*given, "--fail-under", p + off * error)
        note = (
            f"p moves with the seed, by ± {error:.2g} (standard deviation), and lies within two of these of "
            f"{p + off * error:g}: another seed could decide otherwise."
        )
        assert (got, note in err, "another seed" in err) == (code, told, told), err
        assert ("heldout: passes, but p moves with the seed" in err) == (told and code == 0)
        assert ("is below --fail-under" in err) == (code == 1)


def test_a_gate_that_cannot_be_judged_does_not_pass(run, files):
    given = (files / "results.csv", "--items", files / "items.csv", *FEW, "--no-scan")
    code, _, err = run(*given, "--models", files / "models.csv", "--fail-under", "0.01")
    assert code == 2
    assert "--fail-under 0.01 can never be reached: with --resamples 99 no p is below 0.01. Use --resamples 999" in err
    code, out, err = run(*given, "--models", files / "families.csv", "--fail-under", "0.5", "--format", "junit")
    assert code == 1
    assert "--fail-under 0.5 cannot be judged: the verdict is 'cannot tell'." in err
    assert 'failures="1"' in out
    _, out, _ = run(*given, "--models", files / "families.csv", "--format", "junit")
    assert 'skipped="1"' in out


def test_families_are_read(run, files):
    given = (files / "results.csv", "--items", files / "items.csv", "--models", files / "families.csv", *FEW)
    code, out, _ = run(*given, "--no-scan", "--json")
    found = json.loads(out)
    assert (code, found["n_families"], found["verdict"]) == (0, 4, "cannot tell")
    assert found["assignments"] < 20


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv", ".jsonl", ".jsonl.gz", ".json", ".parquet"])
def test_flags_of_overlap_of_any_kind(run, files, tmp_path, suffix):
    """A long table model,id,seen is read from all that results are read from."""
    lines = [line.split(",") for line in (files / "long.csv").read_text().splitlines()]
    rows = [dict(zip(lines[0], [*row[:2], int(row[2])], strict=True)) for row in lines[1:]]
    path = tmp_path / f"long{suffix}"
    if suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        as_lines = "".join(json.dumps(row) + "\n" for row in rows)
        text = {".jsonl": as_lines, ".json": json.dumps(rows), ".tsv": "\n".join(map("\t".join, lines))}
        text[".csv"] = (files / "long.csv").read_text()
        content = text[suffix.removesuffix(".gz")].encode()
        path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    _, flags, _ = run(files / "results.csv", "--seen", files / "long.csv", *FEW, "--json", "--no-scan")
    code, out, err = run(files / "results.csv", "--seen", path, *FEW, "--json", "--no-scan")
    assert (code, out) == (0, flags), err


def test_examples_that_items_lack_are_counted(run, files, tmp_path):
    lines = (files / "items.csv").read_text().splitlines()
    (tmp_path / "items.csv").write_text("\n".join(lines[:-3]) + "\n")
    given = ("--items", tmp_path / "items.csv", "--seen", files / "seen.csv", "--strata", "kind", *FEW, "--no-scan")
    _, out, err = run(files / "results.csv", *given, "--json")
    assert "items.csv: no row for 3 examples in results.csv" in err
    assert "the first is 'q0'" in err
    assert [s["name"] for s in json.loads(out)["strata"]] == ["?", "a", "b"]


def test_numbers_in_json_are_no_dates(run, files, tmp_path):
    models = [{"model": f"m{i}", "cutoff": 2023.1 if i < 6 else 2022.12} for i in range(12)]
    (tmp_path / "models.json").write_text(json.dumps(models))
    code, _, err = run(files / "dated.csv", "--models", tmp_path / "models.json", *FEW)
    assert code == 2
    assert "2023.1, of 'm0', is not a date but a number" in err
