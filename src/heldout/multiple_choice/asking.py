"""A model is asked: which items, in which orders, which of them twice; what it said as flat arrays."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from heldout.checkpoints import Checkpoint, begin, hash_of
from heldout.checks import check_count, check_seed
from heldout.errors import InputError, told
from heldout.multiple_choice.days import DATE, far_apart, read_day
from heldout.multiple_choice.items import Items, lots
from heldout.multiple_choice.layout import Arranged, arrange
from heldout.multiple_choice.left_out.exchangeable import Key, left_out_for
from heldout.multiple_choice.result import LeftOut
from heldout.multiple_choice.runs import Runs
from heldout.progress import plain_bar
from heldout.scorers.choices import UNPARSED, Choice, Chooser, Shown, Tell

REPEATS = 50  # questions that are asked twice
COSTLY = 8  # orders besides the printed one where every answer costs something
OTHER_DAYS = 0.001  # p from which on printed orders were asked on other days than the rest
TOGETHER = 96  # answers between two moments at which a run can be continued, at least


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is to be asked."""

    arranged: Arranged
    again: NDArray[np.intp]  # which arrangements are asked a second time
    left: tuple[LeftOut, ...]
    n_given: int
    kind: str

    @cached_property
    def shown(self) -> list[Shown]:
        """Every item in all of its orders."""
        return self.arranged.shown()

    @cached_property
    def asked(self) -> list[Shown]:
        """All of it, then what is asked twice."""
        second = [Shown(self.shown[i].question, self.shown[i].options, 1) for i in self.again.tolist()]
        return [*self.shown, *second]


def prepare(
    items: Items,
    model: Any,
    *,
    orders: str | int | None = None,
    n_items: int | None = None,
    shuffled: bool = False,
    repeats: int = REPEATS,
    seed: int = 0,
) -> Prepared:
    """Which items in which orders: nothing is asked."""
    check_seed(seed)
    repeats = check_count(repeats, "repeats", least=0)
    if orders is None and getattr(model, "costly", False):
        orders = COSTLY
    if n_items is not None and check_count(n_items, "n_items", least=2) < len(items):
        kept, left = exchangeable_items(items, n_items, lots(items, seed), shuffled=shuffled)
    else:
        kept, left = exchangeable_items(items, shuffled=shuffled)
    chosen = items.take(kept.tolist())
    arranged = arrange(chosen, orders, seed=seed)
    again = np.sort(np.random.default_rng([seed, 1]).permutation(arranged.n_shown)[:repeats]).astype(np.intp)
    return Prepared(
        arranged=arranged,
        again=again,
        left=left,
        n_given=len(items) + len(items.broken),
        kind=_kind(arranged, orders),
    )


def exchangeable_items(
    items: Items, n: int | None = None, turn: Sequence[int] | None = None, *, shuffled: bool = False
) -> tuple[NDArray[np.intp], tuple[LeftOut, ...]]:
    """Numbers of the items that stay, and those that do not.

    With `n` they are looked at in `turn`, until so many stay: a large benchmark of which few are asked is not looked
    through, and those that are not drawn are neither.
    """
    met: set[Key] = set()
    kept_at: list[int] = []
    gone: dict[int, str] = {}
    for i in range(len(items)) if turn is None else turn:
        if n is not None and len(kept_at) == n:
            break
        reason = left_out_for(items[i], met, shuffled=shuffled)
        if reason is None:
            kept_at.append(i)
        else:
            gone[i] = reason
    kept = np.sort(np.array(kept_at, dtype=np.intp))
    left = (
        *(LeftOut(id=name, reason=reason) for name, reason in items.broken.items()),
        *(LeftOut(id=items[i].id, reason=gone[i]) for i in sorted(gone)),
    )
    if not len(kept):
        why = ", ".join(f"{reason.replace('_', ' ')} {n:,}" for reason, n in Counter(x.reason for x in left).items())
        raise InputError(
            f"no item of {items.source} has options whose order is arbitrary ({why}); the test needs some that could "
            "have been printed in any order."
        )
    return kept, left


def _kind(arranged: Arranged, orders: str | int | None) -> str:
    if orders == "cyclic":
        return "cyclic"
    counts = np.diff(arranged.starts)
    return (
        "all" if all(m == math.factorial(k) for m, k in zip(counts, arranged.items.n_options, strict=True)) else "drawn"
    )


def how_asked(model: Chooser, digest: str) -> dict[str, str]:
    """What a model tells of how it is asked, which may be more once it was; secrets are for the model to hide."""
    names = ("address", "template", "precision", "device", "batch_size")
    told = {name: str(getattr(model, name)) for name in names if getattr(model, name, None) is not None}
    settings = {name: json.dumps(value) for name, value in getattr(model, "settings", {}).items()}
    return {**told, **settings, "model_digest": digest}


def ask(
    prepared: Prepared,
    model: Chooser,
    *,
    digest: str,
    seed: int,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    notify: Callable[[str], None] | None = None,
    progress: bool = False,
) -> Runs:
    """What was prepared, asked of a model; where it keeps no answers itself, they are kept in `checkpoint`."""
    a = prepared.arranged
    if getattr(model, "costly", False):  # it asks for many at a time, in its own order, and keeps every answer
        with plain_bar(len(prepared.asked), "options", unit="answers", shown=progress) as bar:
            choices = _chosen(model, prepared.asked, bar.update)
        first, second = choices[: a.n_shown], choices[a.n_shown :]
        refused = sum(c.refused for c in first)
        chosen, scores = np.array([c.chosen for c in first], dtype=np.int64), a.scores(first)
    else:
        chosen, scores = _in_parts(prepared, model, digest, seed, checkpoint, resume, notify, progress)
        second, refused = _chosen(model, prepared.asked[a.n_shown :], None), 0
    days = getattr(model, "days", None)
    same = [c.chosen == chosen[i] for c, i in zip(second, prepared.again.tolist(), strict=True)]
    return Runs(
        items=a.items,
        starts=a.starts,
        positions=a.positions,
        chosen=chosen,
        wrong=chosen != a.positions,
        scores=scores,
        orders=a.orders,
        model=model.name,
        repeat_rate=float(np.mean(same)) if same else math.nan,
        n_repeats=len(same),
        n_refused=refused,
        differences=_cohorts(days(prepared.shown), a.starts) if callable(days) else {},
    )


def _cohorts(days: Sequence[str], starts: NDArray[np.intp]) -> dict[str, tuple[str, ...]]:
    """The first and the last day, where printed orders were answered on other days than the rest beyond chance.

    That is so where answers kept from an earlier run, which asked for fewer orders, go together with new ones. A run
    that was stopped and went on later is no such case: its requests are shuffled.
    """
    apart = far_apart(days)
    if not apart:
        return {}
    when = [read_day(day) for day in days]
    known = np.array([day is not None for day in when])
    last = max(day for day in when if day is not None)
    old = np.array([day is not None and (last - day).days > 1 for day in when])
    printed = np.zeros(len(when), dtype=bool)
    printed[starts[:-1]] = True
    table = [[int((known & (printed == p) & (old == o)).sum()) for o in (False, True)] for p in (False, True)]
    return {} if fisher_exact(table).pvalue > OTHER_DAYS else {DATE: apart}


def _in_parts(
    prepared: Prepared,
    model: Chooser,
    digest: str,
    seed: int,
    folder: str | Path | None,
    resume: bool,
    notify: Callable[[str], None] | None,
    progress: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """What was chosen, and scores of the right answers; whole items are asked together, and kept once a minute.

    Answers depend on how many are computed together, by rounding. A model may have a `batch_size`, and halve it where
    memory runs out: it is kept, too, so that a run that goes on does so with the one that it stopped with.
    """
    a = prepared.arranged
    counts = np.diff(a.starts)
    width = int(counts.max(initial=1))
    batch_size = getattr(model, "batch_size", None)
    kept = Checkpoint(None, {}, of="run")
    if folder is not None:
        begin(Path(folder), resume=resume, say=notify or (lambda sentence: None))
        orders = hash_of(*(np.concatenate([rows.ravel() for rows in a.orders]), a.starts))
        fingerprint = {"items": a.items.digest(), "orders": orders, "model": digest, "seed": seed}
        fingerprint |= {} if batch_size is None else {"batch_size": batch_size}
        kept = Checkpoint(Path(folder) / "answers.npz", fingerprint, of="run")
        before = kept.load() or {}
        if len(before.get("batch_size", ())):
            _set_batch_size(model, int(before["batch_size"][-1]))

    def work(first: int, last: int) -> dict[str, NDArray[Any]]:
        part = Arranged(a.items[first:last], a.orders[first:last])
        turns = _turns(part, seed)
        asked = _chosen(model, [prepared.shown[a.starts[first] + i] for i in turns], None)
        choices = [asked[i] for i in np.argsort(turns).tolist()]
        there = np.arange(width) < counts[first:last, None]
        chosen, scores = np.full(there.shape, UNPARSED, dtype=np.int64), np.full(there.shape, math.nan)
        chosen[there], scores[there] = [c.chosen for c in choices], part.scores(choices)
        now = {} if batch_size is None else {"batch_size": np.full(last - first, model.batch_size)}  # type: ignore[attr-defined]
        return {"chosen": chosen, "scores": scores, **now}

    with plain_bar(len(a.items), "options", unit="items", shown=progress) as bar:
        found = kept.rows(len(a.items), max(1, max(TOGETHER, batch_size or 0) // width), work, bar=bar)
    there = np.arange(width) < counts[:, None]
    return found["chosen"][there], found["scores"][there]


def _set_batch_size(model: Any, size: int) -> None:
    """Go on with the size that a run stopped with."""
    if model.batch_size == size:
        return
    try:
        model.batch_size = size
    except AttributeError as error:
        raise InputError(
            f"{model.name} stopped with `batch_size` at {size:,}, which is {model.batch_size:,} now and cannot be set; "
            "make it settable, so that the run goes on to the same bits, or start again without `resume`."
        ) from error


def _turns(arranged: Arranged, seed: int) -> list[int]:
    """In which order a model that answers one by one is asked: item by item, an item's own orders shuffled.

    Were the printed order always the first, a model that remembers what it said before would stand out by that.
    """
    found: list[int] = []
    for item, first, last in zip(arranged.items, arranged.starts[:-1], arranged.starts[1:], strict=True):
        rng = np.random.default_rng([seed, 3, int(item.key[:16], 16)])
        found += (first + rng.permutation(last - first)).tolist()
    return found


def _chosen(model: Chooser, shown: Sequence[Shown], tell: Tell | None) -> list[Choice]:
    """What a model chose; each choice must be one."""
    if not shown:
        return []
    try:
        found = model.choose(shown, tell)
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:  # somebody else's code
        raise InputError(f"{model.name} failed on a question ({told(error)}).") from error
    if len(found) != len(shown):
        raise InputError(f"{model.name} gave {len(found):,} answers to {len(shown):,} questions; one each is needed.")
    for one, choice in zip(shown, found, strict=True):
        if not UNPARSED <= choice.chosen < len(one.options):
            raise InputError(
                f"{model.name} chose option {choice.chosen} of {len(one.options)}; places are from 0, and {UNPARSED} "
                "means that none could be read."
            )
    return found
