"""`heldout.load`: any saved result, by the kind that its file names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from heldout.errors import InputError
from heldout.report import Result
from heldout.results import a_kind, kind_of

# The classes of results, by the modules they live in, which are loaded when one is asked for.
KINDS = {
    "AuditNeeds": "heldout.independence.needed",
    "AuditResult": "heldout.independence.result",
    "BudgetResult": "heldout.reuse.result",
    "CompareAllResult": "heldout.reuse.compare_result",
    "CompareResult": "heldout.reuse.compare_result",
    "DemoResult": "heldout.demo",
    "ExposureResult": "heldout.exposures.result",
    "MemorizationResult": "heldout.memorization.result",
    "OptionsResult": "heldout.multiple_choice.result",
    "ScoreAuditResult": "heldout.independence.score_result",
    "ScoreBudgetResult": "heldout.reuse.result",
    "StressResult": "heldout.attack.result",
}


def load(path: str | Path) -> Result:
    """Read a saved result, whichever verb made it.

    Parameters
    ----------
    path : path
        A folder that `--out` named, `result.npz` or `result.json` in it, or what was given to `save`.

    Returns
    -------
    Result
        Of the class that was saved, and equal to it: an `AuditResult`, a `BudgetResult`, ...

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> import heldout
    >>> folder = Path(tempfile.mkdtemp())
    >>> heldout.budget_from_numbers(50_000, error=0.244, similarity=0.85).save(folder / "result")
    >>> type(heldout.load(folder)).__name__
    'BudgetResult'
    """
    kind = kind_of(path)
    if kind not in KINDS:
        raise InputError(f"{path} holds {a_kind(kind)}, which this version of heldout does not know.")
    found: type[Result] = getattr(import_module(KINDS[kind]), kind)
    return found.load(path)
