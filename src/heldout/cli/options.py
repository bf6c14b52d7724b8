"""`heldout options`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout import summary as page
from heldout.cli import tested
from heldout.cli.common import add_n_jobs, check_folder, refuse_alone, refuse_idle, say, tell
from heldout.cli.ending import add_ending
from heldout.cli.parser import Parser
from heldout.errors import InputError
from heldout.multiple_choice.items import Items
from heldout.multiple_choice.options import check_tests, least_p, options
from heldout.multiple_choice.readers import read_items
from heldout.multiple_choice.result import OptionsResult
from heldout.multiple_choice.summary.seeds import options_seeds_text
from heldout.scorers.secrets import HIDDEN, bare_address, plain_fields

if TYPE_CHECKING:
    from heldout.scorers.choices import Shown
    from heldout.scorers.endpoint import EndpointChooser

EXAMPLES = """\
  heldout options mmlu.jsonl --endpoint http://localhost:8000/v1 --model my-model --items 500 --yes --out options
  heldout options mmlu.jsonl --hf models/my-model --out options
  heldout options mmlu.jsonl --runs printed.eval shuffled-1.eval shuffled-2.eval shuffled-3.eval
  heldout options --runs logs/*.eval --printed logs/printed.eval      (the printed order is that of a run)

"""
DETAILS = """\
ITEMS        JSONL, JSON, CSV, TSV, Parquet or Arrow, one row per item: question, options (or a column for each), answer
             (a letter, the text of an option, or a number from 0; from 1 with --answers-from 1); the layouts of MMLU,
             MMLU-Pro, ARC and HellaSwag are known; a folder of such files, each a stratum of its own
--endpoint   anything that speaks the OpenAI protocol; the key is read from the environment (OPENAI_API_KEY). Every
             answer is kept in --cache, so that a run that was stopped, or that asks for more, pays for nothing twice
--runs       logs of one model on the same items in several orders: inspect_ai (.eval, .json) or folders of samples of
             lm-evaluation-harness

exit codes: 0 fine, 1 p below --fail-under, or it cannot be judged from these answers, 2 bad input, 3 a bug in heldout,
130 stopped (continue with --resume)
"""
ENDPOINT = (
    "model", "api", "key_variable", "concurrency", "rate", "timeout", "max_retries", "logprobs", "max_tokens",
    "temperature", "extra", "price", "cache", "yes",
)  # fmt: skip
KEYS = ("question_key", "options_key", "answer_key", "ids_key", "strata_key", "answers_from", "skip_broken")
RUNS = ("printed", "task", "metric", "missing")
HF = ("batch_size", "device")
ASKED = ("items", "orders", "repeats", "template")


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Does this score depend on having seen the benchmark as printed? A model answers multiple-choice questions "
        "with their options in the printed order and in others; the test is exact.",
        usage="heldout options ITEMS --endpoint URL --model NAME [options]\n"
        "       heldout options ITEMS --hf DIR [options]\n"
        "       heldout options [ITEMS] --runs RUN RUN ... [--printed RUN] [options]",
        essential="--endpoint --model --hf --runs --printed --items --orders --yes --fail-under --out --format",
        examples=EXAMPLES,
        details=DETAILS,
    )
    verb.add_argument("given", nargs="?", metavar="ITEMS", help="the questions, as they are printed: a file or folder")
    who = verb.add_argument_group("the model: one of")
    who.add_argument(
        "--endpoint", metavar="URL", help="an OpenAI-compatible endpoint, such as http://localhost:8000/v1"
    )
    who.add_argument("--hf", metavar="DIR", help="a transformers causal model in a folder")
    who.add_argument(
        "--runs", nargs="+", metavar="RUN", help="existing runs of one model in several orders: logs, folders"
    )
    table = verb.add_argument_group("where ITEMS has what, if not under a usual name")
    table.add_argument("--question-key", metavar="COLUMN", help="the question")
    table.add_argument("--options-key", nargs="+", metavar="COLUMN", help="the options: a list, or a column for each")
    table.add_argument("--answer-key", metavar="COLUMN", help="the answer")
    table.add_argument("--ids-key", metavar="COLUMN", help="the name of an item")
    table.add_argument("--strata", dest="strata_key", metavar="COLUMN", help="compare items within strata, such as "
                       "sources that print answers at other places; several files are strata without it")  # fmt: skip
    table.add_argument(
        "--answers-from", type=int, choices=(0, 1), help="answers that are numbers count from (default 0)"
    )
    table.add_argument(
        "--skip-broken",
        action="store_true",
        help="leave out rows whose question, options or answer cannot be used, and count them",
    )
    asked = verb.add_argument_group("what is asked")
    asked.add_argument("--items", type=int, metavar="N", help="number of items, drawn at random (default all)")
    asked.add_argument("--orders", metavar="B",
                       help="orders of an item besides the printed one: a number (drawn for each item), all, or cyclic "
                       "(default all up to 5 options, else 8; with --endpoint 8)")  # fmt: skip
    asked.add_argument(
        "--repeats", type=int, metavar="R", help="questions asked twice, to see whether answers vary (50)"
    )
    asked.add_argument("--template", metavar="FILE", help="text of a question, with {question} and {options}")
    logs = verb.add_argument_group("existing runs")
    logs.add_argument("--printed", metavar="RUN", help="the run in the printed order, where ITEMS is not given")
    logs.add_argument(
        "--task", nargs="+", metavar="NAME", help="tasks to read, by name or pattern (default all; one of an .npz)"
    )
    logs.add_argument("--metric", metavar="NAME", help="what says which answers are right, where there are several")
    logs.add_argument("--missing", choices=("drop",), help="go on without the items that are not in every run")
    to = verb.add_argument_group("an endpoint")
    to.add_argument("--model", metavar="NAME", help="its name there; with --runs, which one of several")
    to.add_argument("--yes", action="store_true", help="send the requests without asking for confirmation")
    to.add_argument("--price", nargs=2, type=float, metavar=("IN", "OUT"), help="price per million tokens in and out")
    to.add_argument("--cache", metavar="DIR", help="where answers are kept (default: the user's cache folder)")
    to.add_argument("--api", choices=("chat", "completions"), help="protocol (default chat)")
    to.add_argument("--key-variable", metavar="NAME", help="variable that holds the key (default OPENAI_API_KEY)")
    to.add_argument("--concurrency", type=int, metavar="N", help="requests at once (default 8)")
    to.add_argument("--rate", type=_rate, metavar="R", help="requests per second at most, or 90/min")
    to.add_argument("--timeout", type=float, metavar="S", help="seconds to wait for an answer (default 60)")
    to.add_argument("--retries", dest="max_retries", type=int, metavar="N", help="of a request that fails (default 6)")
    to.add_argument("--logprobs", action=argparse.BooleanOptionalAction,
                    help="ask for log-probabilities (default: where the endpoint gives them)")  # fmt: skip
    to.add_argument("--max-tokens", type=int, metavar="N", help="of an answer (default 16; models that reason: 4096)")
    to.add_argument("--temperature", type=float, metavar="T", help="default 0")
    to.add_argument("--extra", metavar="JSON", help='more fields of a request: \'{"reasoning_effort": "low"}\'')
    local = verb.add_argument_group("a transformers model")
    local.add_argument("--batch-size", type=int, metavar="N", help="questions at once")
    local.add_argument("--device", metavar="DEVICE", help="cpu, cuda, ... (default: the first GPU, or the processor)")
    how = verb.add_argument_group("the tests")
    how.add_argument("--shuffled", dest="uniform", action="store_true", help="the printed orders were shuffled, item "
                     "by item: the verdict is the Poisson-binomial test's")  # fmt: skip
    how.add_argument("--alternative", choices=("overfitted", "two-sided"), default="overfitted",
                     help="fewer errors as printed (default), or fewer or more")  # fmt: skip
    how.add_argument("--mid-p", action="store_true", help="mid-p instead of p; not valid, marked so")
    how.add_argument("--level", type=float, default=0.05, metavar="A", help="of the verdict (default 0.05)")
    how.add_argument("--resamples", type=int, default=9999, metavar="B", help="draws of orders (default 9999)")
    how.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    add_n_jobs(how, "threads", default=-1)
    out = verb.add_argument_group("reporting")
    add_ending(out, tested.GATE)
    out.add_argument("--resume", action="store_true", help="continue the unfinished work in --out")
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout options`."""
    _check(args)
    args.line = _reported(args.line)
    if args.out is not None:
        check_folder(args.out)
    items = None if args.given is None else _items(args)
    if items is not None:
        say(f"{items.source}: {page.counted(len(items), 'item')}")
    asked: dict[str, Any] = {"orders": args.orders, "n_items": args.items}
    if args.repeats is not None:
        asked["repeats"] = args.repeats
    model = _model(args, items)
    if args.endpoint is not None:
        asked["confirm"] = lambda shown: confirm(model, shown, args)
    result = options(
        items,
        model,
        uniform=args.uniform,
        alternative=args.alternative,
        mid_p=args.mid_p,
        **asked,
        **tested.arguments(args),
    )
    if getattr(model, "cut_off", 0):
        were = "was cut off before it" if model.cut_off == 1 else "were cut off before they"
        say(f"{page.counted(model.cut_off, 'answer')} {were} named an option; raise --max-tokens.")
    return tested.end(result, args, failed=_reasons(args.fail_under, result), close=_close(args.fail_under, result))


def _items(args: argparse.Namespace) -> Items:
    keys = _given(args, tuple(name for name in KEYS if name != "options_key"))
    if args.options_key is not None:
        keys["options_key"] = args.options_key[0] if len(args.options_key) == 1 else args.options_key
    return read_items(args.given, **keys)


def confirm(model: EndpointChooser, shown: list[Shown], args: argparse.Namespace) -> None:
    """Say what asking will take, and go on only where somebody said yes."""
    cost = model.plan(shown)
    n_items = len({(one.question, frozenset(one.options)) for one in shown})
    twice = sum(one.draw > 0 for one in shown)
    again = f", {twice:,} of them asked twice" if twice else ""
    settled = args.yes or cost.calls == 0
    for line in (
        f"{model.name} at {model.address}: {page.counted(n_items, 'item')} in {len(shown) - twice:,} orders{again}",
        str(cost),
    ):
        (say if settled else tell)(line)
    if settled:
        return
    if not sys.stdin.isatty():
        raise InputError("no terminal to confirm on; add --yes to send the requests.")
    tell("Ask? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was asked; answer y, or add --yes.")


def _orders(text: str) -> str | int:
    """`--orders`."""
    if text in ("all", "cyclic"):
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--orders {text}: give a number of orders, all, or cyclic.") from None


def _rate(text: str) -> str | float:
    """`--rate`, a number or a text such as 90/min."""
    try:
        return float(text)
    except ValueError:
        return text


def _extra(text: str) -> dict[str, Any]:
    """`--extra`."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(
            '--extra is not a JSON object; give one such as \'{"reasoning_effort": "low"}\'.'
        )  # not shown: a key?
    return found


def _reported(line: str) -> str:
    """A command as a report shows it, without what may be secret in an address or in `--extra`.

    Examples
    --------
    >>> _reported("heldout options i.csv --endpoint http://me:pass@host/v1 --model m --extra={}")
    "heldout options i.csv --endpoint 'http://[hidden]@host/v1' --model m '--extra={}'"
    """
    words, name = [], ""
    for word in shlex.split(line):
        option, equals, value = word.partition("=") if word.startswith("--") else (name, "", word)
        if option == "--extra" and value:
            value = _reported_extra(value)
        elif option == "--endpoint" or "://" in value:
            value = bare_address(value)
        words.append(f"{option}{equals}{value}" if word.startswith("--") else value)
        name = word
    return shlex.join(words)


def _reported_extra(text: str) -> str:
    try:
        return json.dumps(plain_fields(json.loads(text)))
    except ValueError:
        return HIDDEN


def _check(args: argparse.Namespace) -> None:
    """What fits together, before anything is read."""
    tested.GATE.check(args)
    args.orders = None if args.orders is None else _orders(args.orders)
    args.extra = None if args.extra is None else _extra(args.extra)
    check_tests(args.level, args.resamples, args.alternative, args.uniform)
    given = [name for name in ("endpoint", "hf", "runs") if getattr(args, name) is not None]
    if len(given) != 1:
        which = f"{' and '.join(f'--{name}' for name in given)} are given" if given else "none of them is given"
        raise InputError(f"which model? {which}; give one of --endpoint URL, --hf DIR and --runs RUN RUN ....")
    if args.given is None:
        refuse_alone(args, KEYS, "ITEMS")
    elif "://" in args.given:
        raise InputError("ITEMS is an address, but must be a file; the address of a model goes with --endpoint.")
    if args.given is None and args.runs is None:
        raise InputError("ITEMS is not given: a file with the questions, their options as printed, and the answers.")
    if args.endpoint is None:
        refuse_alone(args, ENDPOINT if args.runs is None else ENDPOINT[1:], "--endpoint")
    elif args.model is None:
        raise InputError("--endpoint needs --model NAME, the model's name there.")
    if args.hf is None:
        refuse_alone(args, HF, "--hf")
    else:
        from heldout.scorers.pretrained import check_saved

        check_saved(Path(args.hf))
    if args.runs is None:
        refuse_alone(args, RUNS, "--runs")
    else:
        refuse_idle(args, ASKED, "with --runs, which have their answers")
    if args.out is None:
        refuse_alone(args, ("resume",), "--out")
    if args.fail_under is not None:
        if args.mid_p:
            raise InputError("--mid-p is not valid, so that --fail-under cannot rest on it; leave one of them out.")
        if not args.uniform:
            tested.check_gate(args, least_p(args.resamples, args.alternative))


def _model(args: argparse.Namespace, items: Items | None) -> Any:
    """What answers."""
    if args.runs is not None:
        from heldout.multiple_choice.runs import read_runs

        return read_runs(args.runs, items=items, model=args.model, **_given(args, RUNS))
    template: dict[str, Any] = {} if args.template is None else {"template": _text(args.template)}
    if args.hf is not None:
        from heldout.scorers.causal import CausalChooser

        return CausalChooser(args.hf, **_given(args, HF), **template)
    from heldout.scorers.endpoint import EndpointChooser

    names = tuple(name for name in ENDPOINT if name not in ("model", "yes"))
    args.kept_elsewhere = "every answer is kept: the same command asks only for the others"
    return EndpointChooser(args.endpoint, args.model, seed=args.seed, **_given(args, names), **template)


def _given(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """Options that were typed; the model has the defaults of the others."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--template {path} does not exist."
            if isinstance(error, FileNotFoundError)
            else f"--template {path} cannot be read as text; give a file with {{question}} and {{options}} in it."
        ) from error


def _reasons(fail_under: float | None, result: OptionsResult) -> list[str]:
    """Why a pipeline stops: p is below the threshold, or nothing could fall below it here."""
    if fail_under is None:
        return []
    if result.verdict in tested.UNTOLD:
        return [f"--fail-under {fail_under:g} cannot be judged: the verdict is {result.verdict!r}."]
    if result.p_value >= fail_under:
        return []
    found = f": {result.summary().headline.lower()}" if result.verdict == "depends on the printed order" else ""
    why = f" {result.ruling.reason}" if result.ruling.reason else ""
    return [f"p = {result.p_value:.3g} is below --fail-under {fail_under:g}{found}.{why}"]


def _close(fail_under: float | None, result: OptionsResult) -> str | None:
    """That another seed could have put p on the other side of the threshold."""
    return None if fail_under is None else options_seeds_text(result, fail_under)
