"""`heldout exposure`."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heldout.checks import EXAMPLE, check_key, plain_name
from heldout.cli import tested
from heldout.cli.common import add_n_jobs, check_folder, refuse_alone, say
from heldout.cli.ending import add_ending
from heldout.cli.parser import Parser
from heldout.cli.reading import WHAT_CAN_BE_READ, add_reading, read_predictions
from heldout.errors import InputError
from heldout.exposures.exposure import exposure
from heldout.exposures.inputs import SEEN
from heldout.exposures.result import ExposureResult
from heldout.exposures.summary import exposure_seeds_text
from heldout.predictions import Predictions, load_predictions
from heldout.predictions.items import TABLES, table_columns
from heldout.predictions.raw import suffix_of
from heldout.predictions.values import listing

EXAMPLES = """\
  heldout exposure results.csv --items items.csv --models models.csv --strata platform difficulty --out exposure
  heldout exposure results.csv --models models.csv --date released      (the results carry a column of dates)
  heldout exposure results.csv --seen overlap.csv                       (who could have seen what, models x examples)

"""
DETAILS = f"""\
{WHAT_CAN_BE_READ}
--items      one row per example: id,date and columns for --strata; a month (2023-09) means its last day
--models     one row per model: model,cutoff and perhaps family (its base model or pretraining run, the unit of both
             tests); without family every model is its own
--seen       1 where a model could have seen an example, 0 where not; anything that the results can be read from, or a
             table model,id,seen

exit codes: 0 fine, 1 p below --fail-under, or it cannot be judged from this table, 2 bad input, 3 a bug in heldout,
130 stopped (continue with --resume)
"""
SLOW = 2e7  # cells of all tables that take more than half a minute or so without numba
MODEL = ("model", "name", "models", "names", "model_name", "model_names", "system")
CUTOFF = ("cutoff", "cutoffs", "training_cutoff", "knowledge_cutoff", "cutoff_date")
FAMILY = ("family", "families", "lineage", "base", "base_model")
DATE = ("date", "dates", "released", "release_date", "contest_date", "published", "created")


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Did models score better on what they could have seen? A table of results, dates of its examples and the "
        "models' training cutoffs; the other models tell how hard each example is.",
        usage="heldout exposure RESULTS ... --items FILE --models FILE [--strata COLUMN ...] [options]\n"
        "       heldout exposure RESULTS ... --seen FILE [options]",
        essential="--items --models --seen --strata --scan --fail-under --out --format",
        examples=EXAMPLES,
        details=DETAILS,
    )
    verb.add_argument("given", nargs="+", metavar="RESULTS", help="what the models predicted: files or folders")
    asked = verb.add_argument_group("who could have seen what")
    asked.add_argument("--items", metavar="FILE", help="a table with a row per example: id,date,...")
    asked.add_argument("--models", metavar="FILE", help="a table with a row per model: model,cutoff[,family]")
    asked.add_argument("--seen", metavar="FILE", help="a table of 1 and 0, models x examples, instead of dates")
    asked.add_argument("--date", metavar="COLUMN", help="column of the dates, where it has no usual name")
    asked.add_argument("--strata", nargs="+", metavar="COLUMN", help="compare only examples that are alike in these")
    how = verb.add_argument_group("the tests")
    how.add_argument("--level", type=float, default=0.05, metavar="A", help="of the verdict (default 0.05)")
    how.add_argument("--resamples", type=int, default=9999, metavar="B", help="tables drawn (default 9999)")
    how.add_argument("--steps", type=int, metavar="T", help="rounds of trades of a chain (default 20; 10 if large)")
    how.add_argument("--scan", action=argparse.BooleanOptionalAction,
                     help="the cutoff that fits each model best (default: with at least 20 dates)")  # fmt: skip
    how.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    add_n_jobs(how, "threads", default=-1)
    add_reading(verb)
    out = verb.add_argument_group("reporting")
    add_ending(out, tested.GATE)
    out.add_argument("--resume", action="store_true", help="continue the unfinished work in --out")
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout exposure`."""
    tested.GATE.check(args)
    tested.check_gate(args, 1 / (args.resamples + 1))
    if args.out is None:
        refuse_alone(args, ("resume",), "--out")
    wanted = (*(args.strata or []), *([args.date] if args.date else DATE))
    table = read_predictions(args, args.given[0] if len(args.given) == 1 else args.given, columns=wanted)
    say(str(table))
    if args.out is not None:
        check_folder(args.out)
    asked = _asked(table, args)
    if find_spec("numba") is None and table.cells.size * args.resamples > SLOW:
        say("numba is not installed, so this takes a while: pip install 'heldout[fast]' makes it many times faster.")
    result = exposure(
        table,
        reach=args.fail_under,
        steps=args.steps,
        scan=args.scan,
        **asked,
        **tested.arguments(args),
    )
    close = None
    if args.fail_under is not None and _smallest(result) < args.fail_under:  # else it fails with any seed
        close = exposure_seeds_text(result, args.fail_under)
    return tested.end(result, args, failed=_reasons(args.fail_under, result), close=close)


def _asked(table: Predictions, args: argparse.Namespace) -> dict[str, Any]:
    """Who could have seen what, families and strata, from the tables that were given."""
    items = {} if args.items is None else _rows_by(args.items, EXAMPLE.usual, "id", "--items")
    _count_strangers(table, items, args.items)
    models = {} if args.models is None else _rows_by(args.models, MODEL, "model", "--models")
    seen = None if args.seen is None else _seen(args.seen)
    asked: dict[str, Any] = {
        "seen": seen,
        "strata": [_item_column(table, items, args.items, name, "--strata") for name in args.strata or []] or None,
        "families": _model_column(models, FAMILY),
        "cutoffs": _model_column(models, CUTOFF),
        "dates": _dates(table, items, args),
    }
    if seen is not None and asked["cutoffs"] is not None:
        say(f"--seen says who could have seen what: the cutoffs of {args.models} are not used")
        asked["cutoffs"] = None
    if args.models is not None and seen is None and asked["cutoffs"] is None:
        raise InputError(f"{args.models} has no column 'cutoff'; --models needs the columns model and cutoff.")
    if seen is None and asked["dates"] is None:
        raise InputError(
            "the dates of the examples are not known: give a table id,date with --items, or --date, a column of the "
            "results; or --seen, a table of who could have seen what."
        )
    if seen is None and asked["cutoffs"] is None:
        raise InputError("the cutoffs of the models are not known: give a table model,cutoff with --models, or --seen.")
    return asked


def _reasons(fail_under: float | None, result: ExposureResult) -> list[str]:
    """Why a pipeline stops: p is below the threshold, or nothing could fall below it here."""
    if fail_under is None:
        return []
    smallest = _smallest(result)
    if result.verdict in tested.UNTOLD:
        return [f"--fail-under {fail_under:g} cannot be judged: the verdict is {result.verdict!r}."]
    if smallest >= fail_under:
        return [f"--fail-under {fail_under:g} cannot be judged: no p of this table is below {smallest:.2g}."]
    if result.p_value >= fail_under:
        return []
    found = f": {result.summary().headline.lower()}" if result.verdict == "exposed models score better" else ""
    return [f"p = {result.p_value:.3g} is below --fail-under {fail_under:g}{found}."]


def _smallest(result: ExposureResult) -> float:
    """No p of this table is below."""
    return max(result.smallest_p, result.smallest_p_margins)


def _seen(path: str) -> Predictions:
    file = Path(path)
    is_long = file.is_file() and suffix_of(file) in TABLES and SEEN in table_columns(file)
    table = load_predictions(path, correct_key=SEEN if is_long else None)
    if not table.is_binary:
        raise InputError(
            f"{path} (--seen) must hold 1 where a model could have seen an example and 0 where not; it has other "
            "numbers. Turn shares into 1 and 0 first."
        )
    return table


def _rows_by(path: str, usual: tuple[str, ...], noun: str, option: str) -> dict[str, dict[str, Any]]:
    """The rows of a table by their first key; columns by name."""
    if not Path(path).is_file():
        raise InputError(f"{path} does not exist ({option}).")
    columns = table_columns(Path(path))
    found = {plain_name(name): name for name in reversed(list(columns))}
    key = next((found[name] for name in usual if name in found), None)
    if key is None:
        has = listing(list(columns), len(columns))
        raise InputError(f"{path} has no column {noun!r} ({option}); rename the one that holds it, of {has}.")
    names = [str(value).strip() for value in columns[key]]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{path} has two rows for {twice!r} ({option}); one is needed.")
    return {name: dict(zip(names, columns[name], strict=True)) for name in columns if name != key}


def _model_column(models: dict[str, dict[str, Any]], usual: tuple[str, ...]) -> dict[str, Any] | None:
    spelled = {plain_name(name): name for name in reversed(list(models))}
    return next((models[spelled[name]] for name in usual if name in spelled), None)


def _item_column(
    table: Predictions, items: dict[str, dict[str, Any]], path: str | None, name: str, option: str
) -> dict[str, Any] | str:
    """A column of --items, else of the results."""
    if name in items:
        _check_shared(table, items[name], path)
        return items[name]
    if name in table.columns:
        return name
    check_key([*items, *table.columns], name, option.lstrip("-"), source=path or table.source, noun="column")
    return name


def _dates(
    table: Predictions, items: dict[str, dict[str, Any]], args: argparse.Namespace
) -> dict[str, Any] | str | None:
    if args.date is not None:
        return _item_column(table, items, args.items, args.date, "--date")
    for columns in (items, table.columns):
        spelled = {plain_name(name): name for name in reversed(list(columns))}
        found = next((spelled[name] for name in DATE if name in spelled), None)
        if found is not None:
            return _item_column(table, items, args.items, found, "--date")
    return None


def _count_strangers(table: Predictions, items: dict[str, dict[str, Any]], path: str | None) -> None:
    """Say how many rows of --items are of no example, and how many examples have none: a slip in the ids would make
    examples without a date, or of a stratum of their own."""
    known, rows_of = set(table.ids or ()), next(iter(items.values()), {})
    strangers = [name for name in rows_of if name not in known]
    if known and strangers:
        rows = "1 row" if len(strangers) == 1 else f"{len(strangers):,} rows"
        say(f"{path}: {rows} of no example in {table.source}; the first is {strangers[0]!r}")
    lacking = [name for name in table.ids or () if name not in rows_of]
    if rows_of and lacking:
        many = "1 example" if len(lacking) == 1 else f"{len(lacking):,} examples"
        say(f"{path}: no row for {many} in {table.source}, which {'has' if len(lacking) == 1 else 'have'} no date and "
            f"no stratum by it ('?'); the first is {lacking[0]!r}")  # fmt: skip


def _check_shared(table: Predictions, values: dict[str, Any], path: str | None) -> None:
    if table.ids is None:
        raise InputError(
            f"{table.source} has no ids of its examples, so that {path} (--items) fits none; add a column id."
        )
    if not set(table.ids) & values.keys():
        raise InputError(
            f"{path} (--items) and {table.source} share no id; the first are {next(iter(values))!r} and "
            f"{table.ids[0]!r}."
        )
