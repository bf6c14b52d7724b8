"""Results of Terminal-Bench, and of Harbor, which runs Terminal-Bench 2 and others.

- `results.json` of a run of Terminal-Bench, one entry a trial; model and agent stand in `run_metadata.json` beside it.
- A job of Harbor is a folder of trials, `JOB/TRIAL/result.json`, with a `result.json` of its own that counts them. A
  trial's score is its verifier's reward.

A trial without a verdict is not solved, as both count it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.predictions.keys import Options
from heldout.predictions.raw import file_name, read_json_file
from heldout.predictions.runs import Run, model_name
from heldout.predictions.values import id_text, listing

METADATA = "run_metadata.json"
REWARD = "reward"
RESULT = "result.json"


def run(rows: list[dict[str, Any]], path: Path, options: Options) -> Run:
    """A run of Terminal-Bench."""
    cells: dict[str, list[Any]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for i, row in enumerate(rows):
        name = id_text(row["task_id"], f"{file_name(path)}: trial {i + 1}")
        verdict = row["is_resolved"]
        cells.setdefault(name, []).append(False if verdict is None else verdict)
        facts[name] = options.told({key: value for key, value in row.items() if key != "task_id"})
    beside = path.parent / METADATA
    told = read_json_file(beside) if beside.is_file() else None
    agent, model = (told.get("agent_name"), told.get("model_name")) if isinstance(told, dict) else (None, None)
    return Run(model=_called(agent, model) or model_name(path), task=None, cells=cells, facts=facts, path=path)


def _called(agent: Any, model: Any) -> str:
    return f"{agent} ({model})" if agent and model else str(agent or model or "")


def is_trial(content: dict[str, Any]) -> bool:
    """Whether an object is the result of a trial of Harbor."""
    return content.keys() >= {"task_name", "trial_name"} and bool(content.keys() & {"verifier_result", "agent_info"})


def is_job(content: dict[str, Any]) -> bool:
    """Whether an object is the result of a job of Harbor."""
    return content.keys() >= {"n_total_trials", "stats"}


def job(content: dict[str, Any], path: Path, options: Options) -> list[Run]:
    """The trials of a job, which are beside its result; all of them must be there."""
    found = [(file, read_json_file(file)) for file in sorted(path.parent.glob(f"*/{RESULT}"))]
    trials = [(file, told) for file, told in found if isinstance(told, dict) and is_trial(told)]
    if not trials and isinstance(content.get("trial_results"), list):
        inside = [told for told in content["trial_results"] if isinstance(told, dict) and is_trial(told)]
        trials = [(path.parent / str(told["trial_name"]) / RESULT, told) for told in inside]
    total = content["n_total_trials"]
    if not trials or (isinstance(total, int) and len(trials) < total):
        raise InputError(
            f"{file_name(path)}: {len(trials):,} of the {total} trials of this job have a result beside it (TRIAL/"
            f"{RESULT}); finish it (harbor jobs resume), or copy the whole folder of the job."
        )
    return [trial(told, file, options) for file, told in trials]


def trial(content: dict[str, Any], path: Path, options: Options) -> Run:
    """One trial."""
    where = file_name(path)
    name = id_text(content["task_name"], where)
    if "finished_at" in content and content["finished_at"] is None:
        raise InputError(f"{where}: the trial has not ended; finish the job (harbor jobs resume), or leave it out.")
    agent = content.get("agent_info")
    agent = agent if isinstance(agent, dict) else {}
    told = agent.get("model_info")
    told = told if isinstance(told, dict) else {}
    model, provider = told.get("name"), told.get("provider")
    if model and provider and not str(model).startswith(f"{provider}/"):
        model = f"{provider}/{model}"
    return Run(
        model=_called(agent.get("name"), model) or path.resolve().parent.parent.name,
        task=None,
        cells={name: [_reward(content.get("verifier_result"), where, options)]},
        facts={name: options.told({key: value for key, value in content.items() if key != "task_name"})},
        path=path,
        trial=id_text(content["trial_name"], where),
        scored_by=_scored_by(content.get("verifier_result"), options),
    )


def _scored_by(verdict: Any, options: Options) -> str | None:
    """The reward that counts, where the verifier gave several."""
    rewards = verdict.get("rewards") if isinstance(verdict, dict) else None
    return f"{options.metric or REWARD} (Harbor)" if isinstance(rewards, dict) and len(rewards) > 1 else None


def _reward(verdict: Any, where: str, options: Options) -> Any:
    """The reward that counts; 0 where the verifier gave none."""
    rewards = verdict.get("rewards", verdict.get(REWARD)) if isinstance(verdict, dict) else verdict
    if not isinstance(rewards, dict):
        return 0.0 if rewards is None else rewards
    options.use("metric")
    if not rewards:
        return 0.0
    chosen = options.metric or (REWARD if REWARD in rewards else next(iter(rewards)) if len(rewards) == 1 else None)
    if chosen not in rewards:
        said = f"no reward {options.metric!r}" if options.metric else f"no reward called {REWARD!r}"
        raise InputError(f"{where} has {said}; choose one with `metric` of {listing(sorted(rewards), len(rewards))}.")
    return 0.0 if rewards[chosen] is None else rewards[chosen]
