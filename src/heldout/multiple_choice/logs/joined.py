"""Runs side by side: each item with the orders in which it was answered, the printed one first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from heldout.errors import InputError, shortened
from heldout.multiple_choice.items import Item, Items, options_flaw
from heldout.multiple_choice.left_out.exchangeable import reason_of
from heldout.multiple_choice.logs.designs import CHANCE, Order, find_flaw, is_uneven
from heldout.multiple_choice.logs.log import Answered, Key, Log, key_of, plain
from heldout.multiple_choice.sortedness import BY, sorted_checks
from heldout.predictions.values import listing

NOT_PRINTED, NOT_EVERY, OTHER_ANSWER = "not_run_as_printed", "not_in_every_run", "another_answer"
NO_RUN, TWICE, SEVERAL, REPEATS = "in_no_run", "duplicate_item", "several_answers", "repeats"
ONE_RUN, ONE_ORDER, ONE_BY_ONE, BROKEN = "in_one_run", "one_order", "scored_one_by_one", "broken"
TOLD = {
    NOT_EVERY: "are not in every run",
    NOT_PRINTED: "were not run as printed",
    OTHER_ANSWER: "have another right answer in some run",
}  # what is refused, or dropped where that was asked for
DROP = "drop"


@dataclass
class Joined:
    """Items, and for each the orders in which it was answered.

    Parameters
    ----------
    items : list of Item
        As printed.
    rows : list of lists of (order, answered)
        The printed order first, each order once.
    left_out : dict from str to list of str
        Ids by reason.
    n_repeats, n_same : int
        Second answers to the same order, and how many were the first one's.
    """

    items: list[Item] = field(default_factory=list)
    rows: list[list[tuple[Order, Answered]]] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    n_repeats: int = 0
    n_same: int = 0


def join(
    logs: Sequence[Log], items: Items | None, printed: Sequence[Path] | None, *, missing: str | None, source: str
) -> Joined:
    """Put the runs together, item by item; what speaks against a test of them is an error."""
    one_by_one = all(log.one_by_one for log in logs)
    alone = {answered.key for log in logs if log.one_by_one for answered in log.answered}
    logs = logs if one_by_one else [log for log in logs if not log.one_by_one]
    if items is None and printed is None:
        if not one_by_one:
            raise InputError(
                "no printed order is known: give the items as printed, too, or name the run that showed them so "
                "(`printed`)."
            )
        printed = [logs[0].path]
    found = _answers(logs)
    flawed: dict[str, list[str]] = {}
    if printed is None:
        as_printed = _printed_items(items or ())
    else:
        as_printed, flawed = _printed_run(logs, printed)
    if printed is not None and items is not None:
        named = _printed_items(items)
        as_printed = {key: [Item(named[key][0].id, *_told(each[0]), named[key][0].stratum), *each[1:]]
                      for key, each in as_printed.items() if key in named}  # fmt: skip
    runs_of = _runs_of_each(logs, {key: each for key, each in found.items() if key in as_printed})
    _check_settings(logs, runs_of.values())
    joined = Joined()
    if items is None:
        joined.left_out.update(flawed)
    several_runs = len(logs) > 1 and not one_by_one
    broken = [name for log in logs if log.path in (printed or ()) for name in log.broken]
    if broken:
        joined.left_out[BROKEN] = [*broken, *joined.left_out[BROKEN]]
    for key, each in as_printed.items():
        reason = _reason(key, each, found.get(key, {}), runs_of.get(key, frozenset()), several_runs=several_runs)
        reason = ONE_BY_ONE if reason == NO_RUN and key in alone else reason
        if reason is None:
            reason = _add(joined, each[0], found[key], one_by_one=one_by_one)
        if reason is not None:
            joined.left_out[reason].extend(item.id for item in each)
    if not one_by_one:
        _check_missing(joined, missing, source, None if items is None or printed is not None else items.source)
        _check_orders(joined, found, logs, runs_of, source)
    for name, reason in ({} if items is None else items.broken).items():
        joined.left_out[reason].append(name)
    return joined


def _told(item: Item) -> tuple[str, tuple[str, ...], int]:
    return item.question, item.options, item.answer


def _answers(logs: Sequence[Log]) -> dict[Key, dict[int, list[Answered]]]:
    """All answers, by question and run."""
    found: dict[Key, dict[int, list[Answered]]] = {}
    for number, log in enumerate(logs):
        for answered in log.answered:
            found.setdefault(answered.key, {}).setdefault(number, []).append(answered)
    return found


def _printed_items(items: Iterable[Item]) -> dict[Key, list[Item]]:
    printed: dict[Key, list[Item]] = {}
    for item in items:
        printed.setdefault(key_of(item.question, item.options), []).append(item)
    return printed


def _printed_run(logs: Sequence[Log], printed: Sequence[Path]) -> tuple[dict[Key, list[Item]], dict[str, list[str]]]:
    """Items as the named run showed them, by the first answer where there are several; and ids of what is none."""
    chosen = [log for log in logs if log.path in printed]
    several = len({log.task for log in chosen}) > 1
    first: dict[Key, tuple[str, Answered]] = {}
    for log in chosen:
        for answered in log.answered:
            first.setdefault(answered.key, (f"{log.task}/{answered.id}" if several else answered.id, answered))
    found: dict[Key, list[Item]] = {}
    flawed: dict[str, list[str]] = defaultdict(list)
    for key, (name, answered) in first.items():
        if options_flaw(answered.options):
            flawed[REPEATS if len(set(key[1])) < len(key[1]) else BROKEN].append(name)
        else:
            found[key] = [Item(name, answered.question, answered.options, max(answered.answer, 0))]
    return found, flawed


def _runs_of_each(logs: Sequence[Log], found: dict[Key, dict[int, list[Answered]]]) -> dict[Key, frozenset[int]]:
    """The runs that an item should be in: all that share questions, directly or through other runs.

    Files of other tasks share none, so that the 57 files of MMLU need no names in common.
    """
    parent = list(range(len(logs)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for each in found.values():
        first, *others = each
        for other in others:
            parent[root(other)] = root(first)
    members: dict[int, set[int]] = defaultdict(set)
    for number in {number for each in found.values() for number in each}:
        members[root(number)].add(number)
    return {key: frozenset(members[root(next(iter(each)))]) for key, each in found.items()}


def _check_settings(logs: Sequence[Log], together: Iterable[frozenset[int]]) -> None:
    """Runs that are compared must have asked the model in the same way."""
    for runs in set(together):
        first, *others = (logs[number] for number in sorted(runs))
        for other in others:
            names = [*first.settings, *(name for name in other.settings if name not in first.settings)]
            name = next((n for n in names if first.settings.get(n) != other.settings.get(n)), None)
            if name is not None:
                raise InputError(
                    f"{first.path.name} and {other.path.name} asked the model in two ways ({name}: "
                    f"{_side_by_side(first.settings.get(name), other.settings.get(name))}), which changes answers "
                    "whatever the order; use runs with the same settings, or choose a `task`."
                )


def _side_by_side(first: Any, second: Any) -> str:
    """Two settings as a message quotes them, long texts from shortly before they differ.

    Examples
    --------
    >>> _side_by_side(None, 0.5), _side_by_side("Think. " * 9 + "Now choose.", "Think. " * 9 + "Then choose.")
    ('none and 0.5', "'...Think. Think. Now choose.' and '...Think. Think. Then choose.'")
    """
    if isinstance(first, str) and isinstance(second, str):
        before = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0) - 14
        if before > 3:
            first, second = f"...{first[before:]}", f"...{second[before:]}"
    return " and ".join("none" if value is None else shortened(value, 40) for value in (first, second))


def _reason(
    key: Key,
    printed: list[Item],
    answers: dict[int, list[Answered]],
    runs: frozenset[int],
    *,
    several_runs: bool,
) -> str | None:
    """Why an item is left out, by what does not depend on which of its orders is the printed one."""
    every = [answered for each in answers.values() for answered in each]
    if not every:
        return NO_RUN
    if len(set(key[1])) < len(key[1]):
        return REPEATS
    if len(printed) > 1 or any(len({answered.id for answered in each}) > 1 for each in answers.values()):
        return TWICE
    if any(answered.answer < 0 for answered in every):
        return SEVERAL
    right = plain(printed[0].options[printed[0].answer])
    if any(answered.options[answered.answer] != right for answered in every):
        return OTHER_ANSWER
    if len(runs) == 1 and several_runs:
        return ONE_RUN
    return NOT_EVERY if runs - set(answers) and several_runs else None


def _add(joined: Joined, item: Item, answers: dict[int, list[Answered]], *, one_by_one: bool) -> str | None:
    """An item with its orders, or why it has none to compare.

    The first answer to each order decides, whether it counts and what it says. A second one in its place, where the
    first failed, would keep items by how often an order was shown, and the printed one is shown more often: honest
    models failed the test in 15 to 20 % of simulated benchmarks.
    """
    options = [plain(option) for option in item.options]
    first: dict[Order, Answered] = {}
    repeats: list[bool] = []
    for number in sorted(answers):
        for answered in answers[number]:
            order = tuple(options.index(option) for option in answered.options)
            if order not in first:
                first[order] = answered
            elif answered.right is not None and first[order].right is not None:
                repeats.append(first[order].chosen == answered.chosen)
    if any(answered.right is None for answered in first.values()):
        return NOT_EVERY
    as_printed = tuple(range(len(options)))
    if as_printed not in first:
        return NOT_PRINTED
    if len(first) == 1 and not one_by_one:
        return ONE_ORDER
    joined.items.append(item)
    joined.rows.append([(as_printed, first.pop(as_printed)), *first.items()])
    joined.n_repeats += len(repeats)
    joined.n_same += sum(repeats)
    return None


def _check_missing(joined: Joined, missing: str | None, source: str, items: str | None) -> None:
    """Items that some run lacks: refused, unless they were to be dropped; of the rest there must be some.

    `items` is the file whose answers those of the runs are compared with, where it is no run itself.
    """
    gaps = Counter({reason: len(joined.left_out[reason]) for reason in TOLD if joined.left_out.get(reason)})
    remain = len(joined.items)
    counts = " and ".join(f"{n:,} {TOLD[reason]}" for reason, n in gaps.items())
    if not remain and set(joined.left_out) == {ONE_ORDER}:
        raise InputError(
            f"{source}: all runs show the options in one and the same order; run the model with the options shuffled, "
            "too (inspect_ai: `shuffle_choices` of the dataset)."
        )
    if not remain and set(joined.left_out) == {OTHER_ANSWER} and items is not None:
        n = len(joined.left_out[OTHER_ANSWER])
        raise InputError(
            f"{source}: in {n:,} of {n:,} items the right answer in the runs is another option than in {items}; is "
            "`answers_from` right?"
        )
    if not remain:
        why = _why(joined.left_out)
        raise InputError(
            f"{source}: no item was run both as printed and in another order ({why or 'no question is shared'}); use "
            "runs of one benchmark, with the benchmark itself or the run that shows it as printed."
        )
    if gaps and missing != DROP:
        others = {reason: ids for reason, ids in joined.left_out.items() if ids and reason not in gaps}
        n_others = sum(map(len, others.values()))
        besides = f", and {n_others:,} more {'is' if n_others == 1 else 'are'} left out ({_why(others)})"
        raise InputError(
            f"{source}: of {remain + sum(gaps.values()) + n_others:,} items, {counts}{besides * bool(others)}, which "
            f'leaves {remain:,}; run the rest, or go on without (`missing="{DROP}"`).'
        )


def _why(left_out: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{len(ids):,} {reason.replace('_', ' ')}" for reason, ids in left_out.items())


def _check_orders(
    joined: Joined,
    found: dict[Key, dict[int, list[Answered]]],
    logs: Sequence[Log],
    runs_of: dict[Key, frozenset[int]],
    source: str,
) -> None:
    """One list of orders for all items is refused, unless each of its orders would have led to the same ones."""
    shown: dict[frozenset[int], dict[int, dict[Key, tuple[int, Order]]]] = defaultdict(lambda: defaultdict(dict))
    for item in joined.items:
        key = key_of(item.question, item.options)
        options = [plain(option) for option in item.options]
        for number, each in found[key].items():
            order = tuple(options.index(option) for option in each[0].options)
            shown[runs_of[key]][number][key] = item.answer, order
    for runs in shown.values():
        _check_sorted(joined, runs, logs, source)
        flaw = find_flaw(runs)
        if flaw is None and is_uneven(runs):  # those that keep an order by custom may hide what the others show
            tested = {key_of(item.question, item.options) for item in joined.items if reason_of(item) is None}
            flaw = find_flaw({run: {key: own[key] for key in own if key in tested} for run, own in runs.items()})
        if flaw is None:
            continue
        names = listing([logs[number].path.name for number in flaw.runs])
        beside = " beside runs that shuffled each item by itself" if flaw.mixed else ""
        alike = "all" if flaw.whole else "most"
        way_out = ", or leave out one kind of run" if flaw.mixed else ""
        raise InputError(
            f"{source}: {names} moved the options of {alike} items alike{beside}, so that the printed order stands out "
            "by construction and no p-value would hold; shuffle each item by itself, or run all cyclic shifts"
            + way_out
            + "."
        )


def _check_sorted(
    joined: Joined, runs: dict[int, dict[Key, tuple[int, Order]]], logs: Sequence[Log], source: str
) -> None:
    """A run that sorts options is refused: no order of it was drawn, and had it been printed, it would be the only one.

    Where the benchmark itself is printed sorted, runs that turn it are too, and the result says so.
    """
    printed = {key_of(item.question, item.options): item for item in joined.items}
    for number, own in runs.items():
        as_shown = {key: _reordered(printed[key], order) for key, (_, order) in own.items()}
        if not any(check.p_value <= CHANCE for check in sorted_checks(list(as_shown.values()))):
            continue
        tested = [key for key in own if reason_of(printed[key]) is None]
        if any(check.is_found for check in sorted_checks([printed[key] for key in tested])):
            continue
        found = [check for check in sorted_checks([as_shown[key] for key in tested]) if check.p_value <= CHANCE]
        if found:
            check, two = found[0], any(len(printed[key].options) == 2 for key in tested)
            raise InputError(
                f"{source}: {listing([logs[number].path.name])} shows the {'' if two else 'wrong '}options "
                f"{BY[check.by]} in {check.n_sorted:,} of {check.n_items:,} items, {check.expected:.1f} by chance, so "
                "that its orders were not drawn and no p-value would hold; shuffle each item by itself."
            )


def _reordered(item: Item, order: Order) -> Item:
    return replace(item, options=tuple(item.options[i] for i in order), answer=order.index(item.answer))
