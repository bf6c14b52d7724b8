"""Answers in logs of inspect_ai, by its solver `multiple_choice` and its scorer `choice`.

A dataset's `shuffle_choices` rewrites choices and target, so that the log shows the order of the run. The solver's own
`shuffle=True` rewrites the log instead, as if nothing had been shuffled; what was shown is then in the explanation of
the score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from heldout.errors import InputError
from heldout.multiple_choice.days import DATE
from heldout.multiple_choice.logs.log import LETTERED, Answered, Log, check_prompt, plain
from heldout.predictions import inspect_logs
from heldout.predictions.values import id_text
from heldout.scorers.choices import LETTERS, UNPARSED
from heldout.scorers.letters import place_of, read_steps, scores_where_named

SOLVER, SCORER = "multiple_choice", "choice"
SHUFFLED = "Choices were shuffled before"  # how the explanation of such a score begins
ATTACHED = "attachment://"
# Of a generation's many settings, those that change what a model says.
SAMPLING = (
    "temperature", "top_p", "top_k", "max_tokens", "stop_seqs", "frequency_penalty", "presence_penalty",
    "system_message", "reasoning_effort", "reasoning_tokens", "reasoning_history", "num_choices", "best_of",
)  # fmt: skip


def read(path: Path, metric: str | None) -> Log:
    """One log, sample by sample."""
    header, samples = inspect_logs.whole_samples(path)
    if header.get("status") != "success":
        raise InputError(
            f"{path.name}: the run ended with the status {header.get('status')!r}, so that its samples are not "
            "complete; finish it (inspect eval-retry) or leave it out."
        )
    steps = (header.get("plan") or {}).get("steps") or ()
    by_solver = any((step.get("params") or {}).get("shuffle") for step in steps)
    answered, versions = [], set()
    for sample in samples:
        answer = _answered(sample, metric, path, by_solver=by_solver)
        if answer is not None:
            answered.append(answer)
            versions.add(str((sample.get("output") or {}).get("model") or ""))
    if not answered:
        raise InputError(f"{path.name} holds no samples with choices; only multiple-choice questions have orders.")
    told = header["eval"]
    return Log(
        path=path,
        model=str(told.get("model")),
        task=str(told.get("task")),
        answered=tuple(answered),
        settings=_settings(header),
        made=_made(told, versions - {""}),
    )


def _made(told: Mapping[str, Any], versions: set[str]) -> dict[str, str]:
    """When it was run, by which version, as the endpoint calls itself, and where."""
    software = (told.get("packages") or {}).get("inspect_ai")
    made = {
        DATE: str(told.get("created") or "")[:10],
        "version of the model": ", ".join(sorted(versions)),
        "server": urlsplit(str(told.get("model_base_url") or "")).hostname or "",  # a whole address may hold a key
        "software": f"inspect_ai {software}" if software else "",
    }
    return {name: value for name, value in made.items() if value}


def _settings(header: dict[str, Any]) -> dict[str, Any]:
    """Solvers, each of their arguments, and how the model samples."""
    plan = header.get("plan") or {}
    steps = plan.get("steps") or ()
    named = [str(step.get("solver")) for step in steps]
    given = {
        f"{name} of {solver}" + f" ({i + 1})" * (named.count(solver) > 1): value
        for i, (solver, step) in enumerate(zip(named, steps, strict=True))
        for name, value in (step.get("params") or {}).items()
        if name != "shuffle" and value is not None
    }
    config = {**(header["eval"].get("model_generate_config") or {}), **(plan.get("config") or {})}
    sampling = {name: config[name] for name in SAMPLING if config.get(name) is not None}
    return {"solvers": ", ".join(named), **given, **sampling}


def _answered(sample: Any, metric: str | None, path: Path, *, by_solver: bool) -> Answered | None:
    """One sample; None where it has no choices."""
    if not isinstance(sample, dict) or "id" not in sample:
        raise InputError(f"{path.name} holds samples that are not as inspect_ai writes them; the log is damaged.")
    if not sample.get("choices"):
        return None
    name = id_text(sample["id"], f"{path.name}: a sample")
    where = f"{path.name}: the sample {name!r}"
    logged = tuple(plain(option) for option in sample["choices"])
    score = _score(sample, metric, path)
    explained = str((score or {}).get("explanation") or "")
    if by_solver and SCORER not in (sample.get("scores") or {SCORER: None}):
        raise _not_told(where)
    shown = _shown(explained, logged, where) if explained.startswith(SHUFFLED) else logged
    targets = _targets(sample.get("target"), logged, where)
    answer = shown.index(logged[targets[0]]) if len(targets) == 1 else -1
    chosen = UNPARSED
    if score is not None:
        chosen = place_of(str(score.get("answer")), len(logged), any_case=True)
        chosen = chosen if chosen == UNPARSED else shown.index(logged[chosen])
    right = _right(score, chosen, answer, where) if answer >= 0 else None
    if shown is logged:
        check_prompt(_asked(sample), logged, where)
    return Answered(
        id=name,
        question=plain(_text(sample.get("input"), sample)),
        options=shown,
        answer=answer,
        chosen=answer if right else chosen,
        right=right,
        log_probs=_log_probs(sample, len(logged), chosen),
    )


def _score(sample: dict[str, Any], metric: str | None, path: Path) -> dict[str, Any] | None:
    """The score asked for, that of `choice`, or the only one; None where the sample was not scored."""
    scores = sample.get("scores") or {}
    if not scores:
        return None
    scorer = metric or (SCORER if SCORER in scores else next(iter(scores)) if len(scores) == 1 else "")
    if scorer not in scores:
        which = f"has no scorer {metric!r}" if metric else "was scored in several ways"
        raise InputError(f"{path.name} {which}; it has {', '.join(map(repr, scores))} (`metric`).")
    score = scores[scorer]
    return score if isinstance(score, dict) and score.get("value") is not None else None


def _right(score: dict[str, Any] | None, chosen: int, answer: int, where: str) -> bool | None:
    """What the log says, which must be what the chosen letter says."""
    if score is None:
        return None
    value = score["value"]
    right = inspect_logs.WORDS.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(right, (bool, int, float)) or math.isnan(right):
        raise InputError(
            f"{where} has the score {value!r}; right or wrong is needed, so choose a scorer with `metric`."
        )
    if chosen != UNPARSED and (right == 1) != (chosen == answer):
        raise InputError(
            f"{where} counts as {'right' if right == 1 else 'wrong'} although {LETTERS[chosen]} was chosen and "
            f"{LETTERS[answer]} is right; choose the scorer that compares letters with `metric`."
        )
    return right == 1


def _shown(explained: str, logged: tuple[str, ...], where: str) -> tuple[str, ...]:
    """The order that the solver itself made, from the explanation of the score."""
    lines = [plain(text) for _, text in LETTERED.findall(explained)][: len(logged)]
    if sorted(lines) != sorted(logged):
        raise _not_told(where)
    return tuple(lines)


def _not_told(where: str) -> InputError:
    return InputError(
        f"{where} was shuffled by the solver, and its log does not tell how; shuffle the dataset instead "
        "(`shuffle_choices`), which logs the order."
    )


def _targets(target: Any, options: tuple[str, ...], where: str) -> list[int]:
    """Places of the right options: letters, one or several."""
    parts = [str(part) for part in (target if isinstance(target, list) else [target])]
    letters = [letter for part in parts for letter in (part if part.isalpha() else [part])]
    places = [place_of(letter, len(options), any_case=True) for letter in letters]
    if not places or UNPARSED in places:
        raise InputError(
            f"{where} has the target {target!r}, which is not the letter of one of its {len(options)} choices."
        )
    return places


def _asked(sample: dict[str, Any]) -> str:
    """The prompt: the last message of the user before the model's first."""
    text = ""
    for message in sample.get("messages") or ():
        if isinstance(message, dict) and message.get("role") == "user":
            text = _text([message], sample)
        elif text:
            break
    return text


def _text(asked: Any, sample: dict[str, Any]) -> str:
    """An input, a text or messages, with what is attached to the sample."""
    if isinstance(asked, list):
        said = [m for m in asked if isinstance(m, dict) and m.get("role") in ("user", None)]
        return "\n".join(_text(m.get("content", m.get("text")), sample) for m in said)
    text = "" if asked is None else str(asked)
    attached = sample.get("attachments")
    if text.startswith(ATTACHED) and isinstance(attached, Mapping):
        return str(attached.get(text.removeprefix(ATTACHED), text))
    return text


def _log_probs(sample: dict[str, Any], n_options: int, chosen: int) -> tuple[float, ...] | None:
    """Log-probabilities of all letters, at the token that names the chosen one; as an endpoint's are read."""
    choices = (sample.get("output") or {}).get("choices") or [{}]
    return scores_where_named(read_steps((choices[0] or {}).get("logprobs")), chosen, n_options)
