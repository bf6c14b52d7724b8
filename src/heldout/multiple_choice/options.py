"""`heldout.options`: items in several orders -> what a model says to each -> exact tests -> verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heldout.checks import check_count, check_n_jobs, check_seed, check_share
from heldout.errors import InputError
from heldout.multiple_choice.asking import REPEATS, ask, exchangeable_items, how_asked, prepare
from heldout.multiple_choice.evidence import (
    LOGGED,
    Declared,
    Gathered,
    judged,
    least_attainable,
    not_applicable,
    too_few,
)
from heldout.multiple_choice.items import Items
from heldout.multiple_choice.readers import read_items
from heldout.multiple_choice.result import Alternative, LeftOut, OptionsResult
from heldout.multiple_choice.runs import Runs
from heldout.scorers.choices import Shown
from heldout.scorers.function_chooser import as_chooser

ALTERNATIVES = ("overfitted", "two-sided")


def options(
    items: Any,
    model: Any = None,
    *,
    orders: str | int | None = None,
    n_items: int | None = None,
    uniform: bool = False,
    alternative: Alternative = "overfitted",
    mid_p: bool = False,
    level: float = 0.05,
    n_resamples: int = 9999,
    repeats: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    notify: Callable[[str], None] | None = None,
    confirm: Callable[[list[Shown]], None] | None = None,
    progress: bool = False,
) -> OptionsResult:
    """Does a score depend on having seen the benchmark as printed?

    A model answers multiple-choice questions with their options in the printed order and in others. Where it has
    nothing to do with the printed orders, they are a draw like any other, given how often each place holds the answer:
    the test is exact whatever places benchmark and model prefer, if the place of the right answer has one law for all
    items with as many options. Items of several files or tasks are compared within these, or within what
    `read_items(..., strata_key=...)` names: a source that prints answers at other places is a stratum of its own.

    Parameters
    ----------
    items : path, list of dict, frame of pandas or polars, or Items
        Questions, their options as printed, and answers; or what `read_runs` returns, without `model`.
    model : Chooser, function or Runs
        A model of `heldout.scorers` that chooses; a function of a question and a tuple of options that returns the
        place of one, its letter, or log-probabilities of all; or what `read_runs` returns.
    orders : {"all", "cyclic"} or int, optional
        All orders, cyclic shifts, or how many are drawn for each item besides the printed one. Without it all orders up
        to 5 options and 8 above; 8 for an endpoint.
    n_items : int, optional
        So many items, drawn; all without it.
    uniform : bool
        The printed orders were shuffled: the verdict is then the Poisson-binomial test's.
    alternative : {"overfitted", "two-sided"}
        Fewer errors as printed, or fewer or more.
    mid_p : bool
        Mid-p instead of p, which is not valid and is marked so.
    level : float
        Of the verdict.
    n_resamples : int
        Draws of orders.
    repeats : int, optional
        Questions asked twice to see whether answers vary; 50 without it.
    seed : int
        Of everything that is drawn.
    n_jobs : int
        Threads of the tests; the result does not depend on it.
    checkpoint : path, optional
        Folder in which answers are kept, once a minute at least. An endpoint keeps every answer in its own cache. They
        are those of one model, told from others by its `digest()`; of a function that is its code with its constants
        and defaults, but not what it refers to: variables, files, or a model that it calls may have changed unseen.
    resume : bool
        Take up what is in `checkpoint`, which it needs, to the same bits.
    notify : function, optional
        Told where there is nothing to resume.
    confirm : function, optional
        Given all that is going to be asked, a list of `heldout.scorers.Shown`, before anything is; what it raises ends
        the run.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    OptionsResult
        Verdict, p-values, errors as printed and expected, every item, and where the answers stand.

    Examples
    --------
    A model that knows the printed letters of a benchmark by heart, and nothing else:

    >>> import numpy as np
    >>> import heldout
    >>> rng = np.random.default_rng(0)
    >>> trees = ["oak", "ash", "elm", "fir"]
    >>> items = [
    ...     {"question": f"Tree {i}?", "options": [f"{tree} {i}" for tree in trees], "answer": int(rng.integers(4))}
    ...     for i in range(60)
    ... ]
    >>> letters = {item["question"]: item["answer"] for item in items}
    >>> found = heldout.options(items, lambda question, options: letters[question], n_resamples=999)
    >>> found.verdict, found.p_value, found.errors_printed, round(found.errors_expected)
    ('depends on the printed order', 0.001, 0, 45)
    """
    seed = check_seed(seed)
    check_n_jobs(n_jobs)
    if resume and checkpoint is None:
        raise InputError("`resume` goes on with what `checkpoint` names; give the folder.")
    check_tests(level, n_resamples, alternative, uniform)
    declared = Declared(
        uniform=uniform, alternative=alternative, mid_p=mid_p, level=level, n_resamples=n_resamples, seed=seed
    )
    if isinstance(items, Runs):
        if model is not None:
            raise InputError("`items` are runs, which have answers already; leave `model` out.")
        items, model = None, items
    if isinstance(model, Runs):
        _refuse_asking(orders=orders, n_items=n_items, repeats=repeats, confirm=confirm)
        asked = _of_runs(model, declared)
    else:
        if model is None:
            raise InputError("`model` is not given: a function, a model of heldout.scorers, or what read_runs returns.")
        chooser = as_chooser(model)
        given = items if isinstance(items, Items) else read_items(items)
        ready = prepare(
            given, chooser, orders=orders, n_items=n_items, shuffled=uniform,
            repeats=REPEATS if repeats is None else repeats, seed=seed,
        )  # fmt: skip
        stuck = too_few(least_attainable(ready.arranged, declared), level)
        if stuck:
            raise InputError(f"nothing was asked: {stuck[0].lower()}{stuck[1:]}")
        if confirm is not None:
            confirm(ready.asked)
        digest = chooser.digest()
        runs = ask(
            ready, chooser, digest=digest, seed=seed, checkpoint=checkpoint, resume=resume, notify=notify,
            progress=progress,
        )  # fmt: skip
        asked = Gathered(
            runs=runs, left=ready.left, n_given=ready.n_given, kind=ready.kind, digest=given.digest(),
            how=how_asked(chooser, digest),
        )  # fmt: skip
    if asked.runs.not_applicable:
        return not_applicable(asked, asked.runs.not_applicable, declared)
    return judged(asked, declared, n_jobs=n_jobs)


def check_tests(level: float, n_resamples: int, alternative: str, uniform: bool) -> None:
    """What the tests are asked for must be possible; nothing is asked of a model before."""
    check_share(level, "level")
    check_count(n_resamples, "n_resamples")
    if alternative not in ALTERNATIVES:
        raise InputError(f'`alternative` is {alternative!r}; it can be "overfitted" or "two-sided".')
    least = least_p(n_resamples, alternative)
    if not uniform and level < least:
        raise InputError(
            f"no p is below {least:.2g} with `n_resamples={n_resamples}`, which is above the level of {level:g}; use "
            f"`n_resamples={math.ceil(10 / level) - 1}`, or more."
        )


def least_p(n_resamples: int, alternative: str) -> float:
    """The smallest p that so many draws can give; with two sides it is twice that of one."""
    return (2 if alternative == "two-sided" else 1) / (n_resamples + 1)


def _refuse_asking(**given: Any) -> None:
    """What is asked, and in which orders, is settled where there are answers already."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"`{name}` is for a model that is asked; existing runs have their orders. Leave it out.")


def _of_runs(runs: Runs, declared: Declared) -> Gathered:
    """Existing runs without the items whose order is not arbitrary."""
    digest = runs.digest()[:16]
    gone = [LeftOut(id=name, reason=reason) for reason, names in runs.left_out.items() for name in names]
    n_given = len(runs.items) + len(gone)
    if runs.with_text and not runs.not_applicable:
        kept, left = exchangeable_items(runs.items, shuffled=declared.uniform)
        runs, gone = runs.select(kept), [*gone, *left]
    how = {"runs": ", ".join(runs.names)} if runs.names else {}
    return Gathered(runs=runs, left=tuple(gone), n_given=n_given, kind=LOGGED, digest=digest, how=how)
