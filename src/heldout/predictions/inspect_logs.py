"""Logs of inspect_ai: `.json`, and `.eval`, which is a zip file.

One log is one model on one task. The tasks of a folder are pooled, so that an example's id is `task/sample id`. A
score is right at "C", 1 or true and wrong at "I", 0, false or "N" (no prediction, which inspect_ai counts as 0 too),
half right at "P", or a number. The epochs of a sample are its trials. A sample that ended in an error or was not scored
is missing. inspect_ai numbers samples without ids in the order of the run: where that was shuffled, they are joined by
their inputs.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heldout.errors import InputError, import_extra
from heldout.predictions.keys import LONGEST_TEXT, Options, digest_column, digest_of
from heldout.predictions.raw import RepeatedKeyError, damaged, parse_json, read_json_file, repeated_key
from heldout.predictions.running_numbers import joined_by_input
from heldout.predictions.runs import Run, table_of_runs
from heldout.predictions.table import Predictions
from heldout.predictions.values import id_text, listing

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
USED = ("id", "epoch", "scores", "metadata", INPUT, "choices", "target")
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
        facts = told_facts(samples, task, options)
        cells, scorer = _marks(samples, options, path)
        scored_by = f"{scorer} (inspect_ai)"
        runs.append(Run(model=model, task=task, cells=cells, facts=facts, path=path, scored_by=scored_by))
    options.use("metric")
    options.chosen_tasks(names, source=source)
    if not runs:
        options.exclude.kept(())
    runs, by_input = joined_by_input(runs, INPUT)
    return table_of_runs(runs, options, source=f"{source}, samples joined by input" if by_input else source)


def whole_samples(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """Header and samples of a log with all that was asked and written, which a summary leaves out; one at a time."""
    if not zipfile.is_zipfile(path):
        header, samples = _read_json(path)
        return header, iter(samples)
    header, _ = _read_eval(path)
    return header, _each_member(path)


def _each_member(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("samples/") and name.endswith(".json"):
                    yield _parsed(archive, path, name)
    except (OSError, ValueError, EOFError, RuntimeError, struct.error, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path, error, "inspect_ai") from error


def samples_of(path: Path, *, with_task: bool = False) -> list[dict[str, Any]]:
    """Samples of a log, each once, with their targets; ids are `task/id` where that is asked for."""
    header, samples = _read_eval(path) if zipfile.is_zipfile(path) else _read_json(path)
    each = list({str(sample.get("id")): sample for sample in reversed(samples)}.values())[::-1]
    task = header["eval"].get("task")
    return [{**sample, "id": f"{task}/{sample.get('id')}"} for sample in each] if with_task else each


def find_runs(files: Sequence[Path], options: Options, *, source: str) -> dict[str, dict[str, tuple[Path, list[Any]]]]:
    """Finished logs and their samples by model and task, one for each."""
    runs: dict[str, dict[str, tuple[Path, list[Any]]]] = {}
    for path in files:
        header, samples = _read_eval(path) if zipfile.is_zipfile(path) else _read_json(path)
        model, task = str(header["eval"].get("model")), str(header["eval"].get("task"))
        if not options.exclude.keeps(model):
            continue
        if header.get("status") != "success":
            raise InputError(
                f"{path.name}: the run ended with the status {header.get('status')!r}, so that its samples are not "
                "complete; finish it (inspect eval-retry) or leave it out."
            )
        if task in runs.setdefault(model, {}):
            raise InputError(
                f"{source}: {runs[model][task][0].name} and {path.name} are two runs of {model!r} on the task "
                f"{task!r}; keep one of them."
            )
        # of everything else, such as all messages and events, a folder of logs may hold more than memory does
        runs[model][task] = path, [_slim(sample) for sample in samples]
    options.exclude.kept(runs)
    return runs


def _slim(sample: Any) -> Any:
    return {key: sample[key] for key in USED if key in sample} if isinstance(sample, dict) else sample


def told_facts(samples: list[Any], task: str, options: Options) -> dict[str, dict[str, Any]]:
    """What was asked for of every sample, by its id."""
    texts = options.beside(INPUT)
    return {str(s.get("id")): _facts(s, task, options, texts=texts) for s in samples if isinstance(s, dict)}


def _facts(sample: dict[str, Any], task: str, options: Options, *, texts: bool) -> dict[str, Any]:
    """Fields of a sample's metadata that were asked for; its input, and a digest of input, choices and target."""
    metadata = sample.get("metadata")
    facts = options.told({"task": task, **(metadata if isinstance(metadata, dict) else {})})
    asked = sample.get(INPUT)
    if isinstance(asked, list):  # of messages, whose own ids are drawn at random
        asked = [(m.get("role"), m.get("content")) if isinstance(m, dict) else m for m in asked]
    if not texts or not asked:
        return facts
    words = asked if isinstance(asked, str) else "\n".join(map(_words, asked))
    whole = len(str(asked)) < CUT
    digest = digest_of([asked, sample.get("choices"), sample.get("target")]) if whole else None
    return {**facts, INPUT: words.strip()[:LONGEST_TEXT], digest_column(INPUT): digest}


def _words(message: Any) -> str:
    """The text of a message, `(role, content)`, whose content may be in parts."""
    content = message[1] if isinstance(message, tuple) else message
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") if isinstance(part, dict) else str(part) for part in content)
    return str(content)


def _read_json(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if path.suffix.lower() == ".eval":
        raise damaged(path, zipfile.BadZipFile(), "inspect_ai")
    content = read_json_file(path)
    if not is_log(content):
        raise InputError(f"{path.name} is not a log of inspect_ai (it has no 'eval' and 'status').")
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
            header = _parsed(archive, path, HEADER)
            if SUMMARIES in members:
                samples = _parsed(archive, path, SUMMARIES)
            else:
                names = [name for name in members if name.startswith("samples/") and name.endswith(".json")]
                samples = [_parsed(archive, path, name) for name in names]
    except (OSError, ValueError, EOFError, RuntimeError, struct.error, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path, error, "inspect_ai") from error
    if not is_log(header):
        raise InputError(f"{path.name} is not a log of inspect_ai (its header has no 'eval' and 'status').")
    return header, samples


def _parsed(archive: zipfile.ZipFile, path: Path, name: str) -> Any:
    """The content of a JSON member."""
    try:
        return parse_json(_member(archive, path, name))
    except RepeatedKeyError as error:
        raise repeated_key(path.name, error) from error


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


def _marks(samples: list[dict[str, Any]], options: Options, path: Path) -> tuple[dict[str, list[float | None]], str]:
    """Scores of each sample, one for each epoch, None where it was not scored; and the scorer."""
    scorer, chosen = choose(samples, options.metric, path, trials=True)
    cells: dict[str, dict[str, float | None]] = {}
    for sample in chosen:
        name, epoch = id_text(sample.get("id"), f"{path.name}: a sample"), str(sample.get("epoch", 1))
        trials = cells.setdefault(name, {})
        if epoch in trials:
            raise InputError(f"{path.name} has the sample {name!r} more than once; give every sample an id of its own.")
        trials[epoch] = _score(sample, scorer, path)
    return {name: list(trials.values()) for name, trials in cells.items()}, scorer


def scorers_of(samples: list[dict[str, Any]], path: Path) -> list[str]:
    """Scorers of a log, of which there must be one; damaged samples are refused."""
    if not all(_is_sample(sample) for sample in samples):
        raise InputError(f"{path.name} holds samples that are not as inspect_ai writes them; the log is damaged.")
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.get("scores") or {}))
    if not scorers:
        raise InputError(f"{path.name} has no scores; score it first (inspect score).")
    return scorers


def choose(
    samples: list[dict[str, Any]], wanted: str | None, path: Path, *, option: str = "metric", trials: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """The scorer, and the samples of the epoch, that were asked for (`scorer,epoch`); all epochs if they are trials."""
    scorers = scorers_of(samples, path)
    metric, _, variant = (wanted or "").partition(",")
    epochs = sorted({str(sample.get("epoch", 1)) for sample in samples})
    scorer = metric or (scorers[0] if len(scorers) == 1 else "")
    if scorer not in scorers:
        which = f"has no scorer {metric!r}; it has" if metric else "was scored by"
        raise InputError(f"{path.name} {which} {listing(scorers, len(scorers))}; choose one with `{option}`.")
    if variant and variant not in epochs:
        raise InputError(f"{path.name} has no epoch {variant!r} (`{option}`); it has {listing(epochs)}.")
    if not variant and not trials and len(epochs) > 1:
        raise InputError(
            f"{path.name} ran every sample in {len(epochs)} epochs, which are no new examples; choose one with the "
            f'`{option}="{scorer},{epochs[0]}"`.'
        )
    return scorer, [sample for sample in samples if not variant or str(sample.get("epoch", 1)) == variant]


def _is_sample(sample: Any) -> bool:
    if not isinstance(sample, dict) or "id" not in sample:
        return False
    scores = sample.get("scores") or {}
    return isinstance(scores, dict) and all(score is None or isinstance(score, dict) for score in scores.values())


def _score(sample: dict[str, Any], scorer: str, path: Path) -> float | None:
    """What inspect_ai counts a score as; None where there is none."""
    value = _value(sample, scorer)
    if value is None:
        return None
    if isinstance(value, (bool, int, float)):
        return float(value)
    raise InputError(
        f"{path.name}: the sample {str(sample.get('id'))!r} has the score {value!r} by {scorer!r}; only numbers and "
        "C, P, I, N (correct, partial, incorrect, no prediction) can be used, so choose another scorer with "
        "`metric`."
    )


def each_value(samples: list[dict[str, Any]], scorer: str, path: Path) -> Iterator[tuple[str, Any]]:
    """The value of a score by sample id, None where there is none; words as the numbers that inspect_ai counts."""
    seen = set()
    for sample in samples:
        name = str(sample.get("id"))
        if name in seen:
            raise InputError(f"{path.name} has the sample {name!r} more than once; give every sample an id of its own.")
        seen.add(name)
        yield name, _value(sample, scorer)


def _value(sample: dict[str, Any], scorer: str) -> Any:
    """A score's value, words as numbers; None where there is none."""
    score = (sample.get("scores") or {}).get(scorer)
    value = None if score is None else score.get("value")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return WORDS[value.lower()] if isinstance(value, str) and value.lower() in WORDS else value
