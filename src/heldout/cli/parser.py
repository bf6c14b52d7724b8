"""argparse, with short help first, errors that suggest what was meant, and a record of what was typed."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from heldout.errors import InputError, did_you_mean

# What argparse says of an option whose value it did not find.
LACKS = re.compile(r"argument (?:\S*/)?(?P<option>-\S+): expected (?P<count>.*)")


class Word(NamedTuple):
    """An option, or a word that may follow a command, and what may follow it in turn."""

    text: str
    what: str
    choices: tuple[str, ...] = ()
    takes: bool = False  # a value

    @property
    def is_option(self) -> bool:
        """Whether it begins with dashes."""
        return self.text.startswith("--")


class Parser(argparse.ArgumentParser):
    """The parser of a verb; what argparse keeps to itself is asked for in here alone.

    `--help` shows the options used most, and examples; `--help-all` shows everything. The parsed arguments hold
    `typed`: the names, in Python, of the options that were typed, also where the value is the default.
    """

    def __init__(self, prog: str, **kwargs: Any) -> None:
        kwargs |= {"formatter_class": _Formatter, "allow_abbrev": False, "add_help": False}
        super().__init__(prog, **kwargs)
        self.essential: tuple[str, ...] = ()
        self.examples = ""
        self.ways: dict[str, str] = {}  # of a verb that is two commands: their names, and what they are for
        self._read: list[str] = []
        self.add_argument("-h", "--help", action=_ShortHelp, nargs=0, help="show the options used most, and examples")
        self.add_argument("--help-all", action="help", help="show every option, and what can be read")

    def describe(self, description: str, *, usage: str, essential: str, examples: str, details: str = "") -> None:
        """What the verb is for; `essential` are the options of the short help, `details` follow the long one."""
        self.description, self.usage, self.examples = " ".join(description.split()), usage, examples
        self.essential = tuple(essential.split())
        self.epilog = f"{details}\nexamples:\n{examples}".lstrip()

    def error(self, message: str) -> NoReturn:
        """Bad input like any other: one sentence, and the way out; of two faults the mistyped option."""
        unknown = [a for a in self._read if a.startswith("--") and a.partition("=")[0] not in self.options()]
        if unknown and "required" in message:
            message = _unknown(unknown, self)
        message += self._dashed(message)
        end = "" if message.endswith("?") else "."
        raise InputError(f"{message.rstrip('.')}{end} See {self.prog} --help.")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, but for a way that was left out or mistyped."""
        self._read = sys.argv[1:] if args is None else list(args)
        first = self._read[0] if self._read else ""
        if self.ways and first not in (*self.ways, "-h", "--help", "--help-all"):
            which = ", or ".join(f"{name} ({what})" for name, what in self.ways.items())
            if not first or first.startswith("-"):
                self.error(f"say which: {which}")
            self.error(f"there is no {first!r}{did_you_mean(first, self.ways) or f'; say which: {which}'}")
        return super().parse_known_args(args, namespace)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, with `typed`."""
        arguments = sys.argv[1:] if args is None else list(args)
        found, unknown = self.parse_known_args(arguments, namespace)
        verb = getattr(found, "parser", self)
        if unknown:
            verb.error(_unknown(unknown, verb))
        found.typed = self._typed(arguments)
        return found

    def _dashed(self, message: str) -> str:
        """The way out where a value begins with a dash, and was taken for an option."""
        lacks = LACKS.match(message)
        if lacks is None:
            return ""
        option, several = lacks["option"], lacks["count"] != "one argument"
        places = [i for i, typed in enumerate(self._read[:-1]) if typed == option]
        value = next((self._read[i + 1] for i in places if self._read[i + 1].startswith("-")), None)
        if value is None or value.partition("=")[0] in self.options():
            return ""
        return f"; {self.after_dashes(value)}" if several else f"; write {option}={shlex.quote(value)}"

    def after_dashes(self, name: str) -> str:
        """How a name that begins with a dash is given; nothing where the verb takes no names."""
        return f"if {name} is a name, write options first: {self.names_last()}" if self.names_last() else ""

    def names_last(self) -> str:
        """A line in which names may begin with a dash; nothing where the verb takes no names."""
        named = [a for a in self._actions if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]
        shown = " ".join(f"{a.metavar or a.dest}{' ...' if a.nargs in ('*', '+') else ''}" for a in named)
        return f"{self.prog} [options] -- {shown}" if named else ""

    def options(self) -> list[str]:
        """Every option, as it is typed; of a verb that is two commands, those of both."""
        own = [option for action in self._actions for option in action.option_strings]
        return own + [option for way in self.verbs().values() if self.ways for option in way.options()]

    def by_argument(self) -> dict[str, str]:
        """The options, by the names of their values in Python; the first of several (--format, not --json)."""
        found: dict[str, str] = {}
        for action in self._actions:
            if action.option_strings:
                found.setdefault(action.dest, action.option_strings[0])
        return found

    def words(self) -> list[Word]:
        """What may be typed next: options, and words with a meaning."""
        found: list[Word] = []
        for action in self._actions:
            choices = tuple(str(choice) for choice in action.choices or ())
            for option in action.option_strings:
                if option.startswith("--"):
                    found.append(Word(option, action.help or "", choices, action.nargs != 0))
            if isinstance(action, argparse._SubParsersAction):
                found += [Word(choice.dest, choice.help or "") for choice in action._choices_actions]
            elif not action.option_strings:
                found += [Word(choice, "") for choice in choices]
        return found

    def verbs(self) -> dict[str, Parser]:
        """The parser of each verb, or of each way of a verb."""
        return {
            name: parser
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
            for name, parser in action.choices.items()
        }

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse, with the choice that was meant."""
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            told = f"invalid choice: {value!r} (choose from {', '.join(known)}){did_you_mean(str(value), known)}"
            raise argparse.ArgumentError(action, told)

    def short_help(self) -> str:
        """What most people need."""
        if not self.essential:
            return self.format_help()
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        shown = [a for a in self._actions if not a.option_strings or set(a.option_strings) & set(self.essential)]
        formatter.start_section("options used most")
        formatter.add_arguments(shown)
        formatter.end_section()
        usage = f"usage: {self.usage or self.prog}\n\n"
        examples = f"\nexamples:\n{self.examples.rstrip()}\n" if self.examples else ""
        return f"{usage}{formatter.format_help()}{examples}\neverything: {self.prog} --help-all\n"

    def _typed(self, arguments: Sequence[str]) -> frozenset[str]:
        """Names of what was typed: parsed once more, with no defaults."""
        return frozenset(vars(_without_defaults(self, arguments)))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Paragraphs as wide as the terminal; what has lines of its own, such as examples, keeps them."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


class _ShortHelp(argparse.Action):
    def __call__(self, parser: Any, *_: object) -> None:
        print(parser.short_help(), end="")
        parser.exit()


def _unknown(arguments: Sequence[str], verb: Parser) -> str:
    first = next((a.partition("=")[0] for a in arguments if a.startswith("-")), arguments[0])
    if "://" in first:  # an address, which may hold a password
        return "an address is given where none belongs"
    if first == "--" and verb.names_last():
        return f"options must stand before --: {verb.names_last()}"
    way = "" if first.startswith("--") else verb.after_dashes(first)
    return f"{first} is not an option here{did_you_mean(first, verb.options()) or (way and f'; {way}')}"


def _without_defaults(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Only what the arguments themselves set."""
    kept: list[tuple[argparse.Action, Any]] = []
    stack: list[argparse.ArgumentParser] = [parser]
    own: list[tuple[argparse.ArgumentParser, dict[str, Any]]] = []
    while stack:
        current = stack.pop()
        own.append((current, current._defaults))
        current._defaults = {}
        for action in current._actions:
            kept.append((action, action.default))
            action.default = argparse.SUPPRESS
            if isinstance(action, argparse._SubParsersAction):
                stack += action.choices.values()
    try:
        return parser.parse_known_args(list(arguments))[0]
    finally:
        for action, default in kept:
            action.default = default
        for current, defaults in own:
            current._defaults = defaults
