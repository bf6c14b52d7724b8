"""Logs of inspect_ai: `.json`, and `.eval`, which is a zip file.

One log is one model on one task. The tasks of a folder are pooled, so that an example's id is `task/sample id`. A
score is right at "C", 1 or true and wrong at "I", 0, false or "N" (no answer, which inspect_ai counts as 0 too), half
right at "P", or a number. The epochs of a sample are its trials. A sample that ended in an error or was not scored is
missing.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heldout.errors import InputError, import_extra
from heldout.predictions.keys import Options, digest_of
from heldout.predictions.raw import damaged, read_json_file
from heldout.predictions.runs import Run, table_of_runs
from heldout.predictions.table import Predictions
from heldout.predictions.values import listing

WORDS = {
    "c": 1.0,
    "yes": 1.0,
    "true": 1.0,
    "p": 0.5,
    "i": 0.0,
    "n": 0.0,
    "no": 0.0,
    "false": 0.0,
}  # as inspect_ai counts
ZSTANDARD = 93  # the zip method that inspect_ai writes today; Python's zipfile knows it from 3.14 on
SUMMARIES, HEADER = "summaries.json", "header.json"
INPUT = "input"
CUT = 1_000  # characters from which on a summary may have cut an input short, so that equal is not the same


def is_log(content: Any) -> bool:
    """Whether a JSON file holds a log."""
    return isinstance(content, dict) and isinstance(content.get("eval"), dict) and "status" in content


def log_files(folder: Path) -> list[Path]:
    """Logs of a folder, at any depth; JSON files count where the first of them is a log."""
    logs = sorted(folder.rglob("*.eval"))
    others = sorted(path for path in folder.rglob("*.json") if path.name != "logs.json")
    if others and is_log(read_json_file(others[0])):
        logs += others
    return logs


def read(files: Sequence[Path], options: Options, *, source: str) -> Predictions:
    """One table from the logs of one or several models."""
    runs, names = [], []
    texts = options.beside(INPUT)
    for path in files:
        header, samples = _read_eval(path) if zipfile.is_zipfile(path) else _read_json(path)
        model, task = str(header["eval"].get("model")), str(header["eval"].get("task"))
        names.append(task)
        if not options.exclude.keeps(model) or not options.may_choose(task):
            continue
        if header.get("status") != "success":
            raise InputError(
                f"{path.name}: the run ended with the status {header.get('status')!r}, so that its samples are not "
                "complete; finish it (inspect eval-retry) or leave it out."
            )
        facts = {str(sample.get("id")): _facts(sample, task, options, texts=texts) for sample in samples}
        runs.append(Run(model=model, task=task, cells=_marks(samples, options, path), facts=facts, path=path))
    if not runs:
        options.exclude.kept(())
        options.chosen_tasks(names, source=source)
    return table_of_runs(runs, options, source=source)


def samples_of(path: Path) -> list[dict[str, Any]]:
    """Samples of a log, each once, with their targets."""
    _, samples = _read_eval(path) if zipfile.is_zipfile(path) else _read_json(path)
    return list({str(sample.get("id")): sample for sample in reversed(samples)}.values())[::-1]


def _facts(sample: Any, task: str, options: Options, *, texts: bool) -> dict[str, Any]:
    """Fields of a sample's metadata that were asked for, and a name for its input, choices and target."""
    if not isinstance(sample, dict):  # damage, which is told where scores are read
        return {}
    metadata = sample.get("metadata")
    facts = options.told({"task": task, **(metadata if isinstance(metadata, dict) else {})})
    asked = sample.get(INPUT)
    if isinstance(asked, list):  # of messages, whose own ids are drawn at random
        asked = [(m.get("role"), m.get("content")) if isinstance(m, dict) else m for m in asked]
    if not texts or not asked or len(str(asked)) >= CUT:
        return facts
    return {**facts, INPUT: digest_of([asked, sample.get("choices"), sample.get("target")])}


def _read_json(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if path.suffix.lower() == ".eval":
        raise damaged(path, zipfile.BadZipFile(), "inspect_ai")
    content = read_json_file(path)
    if not is_log(content):
        raise InputError(f"{path.name} is no log of inspect_ai (it has no `eval` and `status`).")
    if not isinstance(content.get("samples"), list):
        raise InputError(f"{path.name} holds no samples; run inspect_ai with its samples logged (--log-samples).")
    return content, content["samples"]


def _read_eval(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and samples; the summaries carry all that is needed, where they are there."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            if HEADER not in members:
                raise InputError(f"{path.name} has no {HEADER}: the run has not ended, or was cut short.")
            header = json.loads(_member(archive, path, HEADER))
            if SUMMARIES in members:
                samples = json.loads(_member(archive, path, SUMMARIES))
            else:
                names = [name for name in members if name.startswith("samples/") and name.endswith(".json")]
                samples = [json.loads(_member(archive, path, name)) for name in names]
    except (OSError, ValueError, EOFError, RuntimeError, struct.error, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path, error, "inspect_ai") from error
    if not is_log(header):
        raise InputError(f"{path.name} is no log of inspect_ai (its header has no `eval` and `status`).")
    return header, samples


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    """One file of the zip, also where it is packed by Zstandard."""
    info = archive.getinfo(name)
    try:
        return archive.read(info)
    except NotImplementedError:
        if info.compress_type != ZSTANDARD:
            raise InputError(
                f"{path.name} is packed by the zip method {info.compress_type}, which is unknown."
            ) from None
    zstandard = import_extra("zstandard", extra="inspect")
    with path.open("rb") as f:
        f.seek(info.header_offset)
        name_length, extra_length = struct.unpack("<26x2H", f.read(30))
        f.seek(name_length + extra_length, 1)
        packed = f.read(info.compress_size)
    try:
        content: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise damaged(path, error, "inspect_ai") from error
    if zlib.crc32(content) != info.CRC:
        raise damaged(path, zipfile.BadZipFile(), "inspect_ai")
    return content


def _marks(samples: list[dict[str, Any]], options: Options, path: Path) -> dict[str, list[float | None]]:
    """Scores of each sample, one for each epoch; None where it was not scored."""
    if not all(_is_sample(sample) for sample in samples):
        raise InputError(f"{path.name} holds samples that are not as inspect_ai writes them; the log is damaged.")
    metric, _, variant = (options.metric or "").partition(",")
    epochs = sorted({str(sample.get("epoch", 1)) for sample in samples})
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.get("scores") or {}))
    scorer = metric or (scorers[0] if len(scorers) == 1 else "")
    if scorers and scorer not in scorers:
        which = f"has no scorer {metric!r}; it has" if metric else "was scored by"
        raise InputError(f"{path.name} {which} {listing(scorers, len(scorers))}; choose one with metric= (--metric).")
    if not scorers:
        raise InputError(f"{path.name} has no scores; score it first (inspect score).")
    if variant and variant not in epochs:
        raise InputError(f"{path.name} has no epoch {variant!r} (metric=, --metric); it has {listing(epochs)}.")
    cells: dict[str, dict[str, float | None]] = {}
    for sample in samples:
        name, epoch = str(sample.get("id")), str(sample.get("epoch", 1))
        if variant and epoch != variant:
            continue
        trials = cells.setdefault(name, {})
        if epoch in trials:
            raise InputError(f"{path.name} has the sample {name!r} more than once; give every sample an id of its own.")
        trials[epoch] = _score(sample, scorer, path)
    return {name: list(trials.values()) for name, trials in cells.items()}


def _is_sample(sample: Any) -> bool:
    if not isinstance(sample, dict) or "id" not in sample:
        return False
    scores = sample.get("scores") or {}
    return isinstance(scores, dict) and all(score is None or isinstance(score, dict) for score in scores.values())


def _score(sample: dict[str, Any], scorer: str, path: Path) -> float | None:
    """What inspect_ai counts a score as; None where there is none."""
    score = (sample.get("scores") or {}).get(scorer)
    value = None if score is None else score.get("value")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str) and value.lower() in WORDS:
        return WORDS[value.lower()]
    if isinstance(value, (bool, int, float)):
        return float(value)
    raise InputError(
        f"{path.name}: the sample {str(sample.get('id'))!r} has the score {value!r} by {scorer!r}; only numbers and "
        "C, P, I, N (correct, partial, incorrect, no answer) can be used, so choose another scorer with metric= "
        "(--metric)."
    )
