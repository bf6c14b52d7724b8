"""Results of SWE-bench, and other lists of what was solved.

- The report of its harness (`MODEL.RUN.json`) names every task, and says how many there are.
- `results.json` of the leaderboard, and `{model: [solved tasks]}`, name the solved ones: the list of all tasks must be
  given, so that the unsolved ones count as such.
- `report.json`, which the harness leaves for each task that it could grade, names one; a task without a patch, or whose
  container broke, has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heldout.errors import InputError
from heldout.predictions.keys import Options
from heldout.predictions.raw import file_name
from heldout.predictions.runs import GIVE_ALL, Run, model_name
from heldout.predictions.values import listing

RESOLVED = ("resolved", "resolved_ids")
UNRESOLVED = ("unresolved", "unresolved_ids", "error_ids", "empty_patch_ids", "incomplete_ids")
RUN = ("submitted_ids", "completed_ids")
NO_TASKS = ("unstopped_containers", "unremoved_images")  # lists of other things
REPORT = "report.json"


def are_ids(value: Any) -> bool:
    """Whether a value is a list of names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def resolved_key(content: dict[str, Any]) -> str | None:
    """Under which key an object lists what was resolved, if it does."""
    return next((key for key in RESOLVED if are_ids(content.get(key))), None)


def report(content: dict[str, Any], path: Path, options: Options) -> Run:
    """Resolved tasks; the harness's report lists the others too, which its `total_instances` tells."""
    solved = content[resolved_key(content) or ""]
    named = {name: value for name, value in content.items() if are_ids(value) and name not in NO_TASKS}
    both = next((task for name in UNRESOLVED for task in named.get(name, ()) if task in set(solved)), None)
    if both is not None:
        raise InputError(f"{file_name(path)} lists {both!r} as resolved and as unresolved; the report is damaged.")
    total = content.get("total_instances")
    total = total if isinstance(total, int) and not isinstance(total, bool) else None
    listed = list(dict.fromkeys(task for value in named.values() for task in value))
    if total is not None and total == len(listed):
        _check_all_ids(listed, path, options)
        return solved_tasks(model_name(path), solved, path, options, every=sorted(listed))
    if total is not None and options.all_ids is not None and total != len(options.all_ids):
        raise InputError(
            f"{file_name(path)} is about {total:,} tasks, but `all_ids` lists {len(options.all_ids):,}; give "
            "the list of the same split."
        )
    names = ""
    if total is not None:
        names = f"names {len(listed):,} of its {total:,} tasks"
    elif any(named.get(name) for name in (*UNRESOLVED, *RUN)):
        names = f"names {len(listed):,} tasks, but not whether these are all"
    return solved_tasks(model_name(path), solved, path, options, names=names)


def _check_all_ids(listed: list[str], path: Path, options: Options) -> None:
    """A report that names every task knows better than a list from elsewhere."""
    if options.all_ids is None:
        return
    options.use("all_ids")
    apart = sorted(set(listed) ^ set(options.all_ids))
    if apart:
        raise InputError(
            f"{file_name(path)} names all of its {len(listed):,} tasks, which are not the {len(options.all_ids):,} of "
            f"`all_ids`: {listing(apart)} {'is' if len(apart) == 1 else 'are'} in one of the two only; leave "
            "`all_ids` out, or give the list of the same split."
        )


def solved_tasks(
    model: str,
    resolved: list[str],
    path: Path,
    options: Options,
    *,
    every: list[str] | None = None,
    names: str = "",
) -> Run:
    """A list of solved tasks among all of them."""
    options.use("all_ids")
    known = options.all_ids if every is None else tuple(every)
    if known is None:
        what = names or f"lists only the tasks that {model!r} solved"
        raise InputError(f"{file_name(path)} {what}; {GIVE_ALL}.")
    solved = set(resolved)
    strange = sorted(solved - set(known))
    if strange:
        raise InputError(
            f"{file_name(path)}: {model!r} solved {listing(strange)}, which {'is' if len(strange) == 1 else 'are'} not "
            f"among the {len(known):,} tasks of `all_ids`; give the list of the same split."
        )
    return Run(model=model, task=None, cells={name: [name in solved] for name in known}, path=path)


def is_report_of_one(content: dict[str, Any], path: Path) -> bool:
    """Whether a file is the report of one task, in a folder of its name."""
    return path.name == REPORT and len(content) == 1 and path.resolve().parent.name == next(iter(content))
