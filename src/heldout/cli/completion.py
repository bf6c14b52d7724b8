"""`heldout completion`: a script for bash, zsh or fish, written out once, so that completing loads nothing."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from heldout.cli.common import EXIT_FINE
from heldout.cli.parser import Parser

SHELLS = ("bash", "zsh", "fish")
# Words and options of every command; where neither fits, files.
BASH = """\
_heldout() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command="" known=" {commands} " i
    for ((i = 1; i < COMP_CWORD; i++)); do
        local next="${{command:+$command/}}${{COMP_WORDS[i]}}"
        [[ "$known" == *" $next "* ]] && command="$next"
    done
    local options=""
    case "$command" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$options" -- "$word"))
}}
complete -o default -F _heldout heldout
"""


def add_options(verb: Parser) -> None:
    """What can be asked."""
    verb.describe(
        "Print a script that completes verbs and options.",
        usage="heldout completion {bash,zsh,fish}",
        essential="--help",
        examples='  eval "$(heldout completion bash)"          (in ~/.bashrc; zsh: in ~/.zshrc, after compinit)\n'
        "  heldout completion fish > ~/.config/fish/completions/heldout.fish\n",
    )
    verb.add_argument("shell", choices=SHELLS)
    verb.set_defaults(command=run, parser=verb)


def run(args: argparse.Namespace) -> int:
    """`heldout completion`."""
    from heldout.cli.verbs import build_parser

    commands = dict(_commands(build_parser(), ""))
    print(fish(commands) if args.shell == "fish" else bash(commands, zsh=args.shell == "zsh"))
    return EXIT_FINE


def _commands(parser: argparse.ArgumentParser, path: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Every command, as `memorization/curve`, with its options and the words that may follow it."""
    found: list[tuple[str, str]] = []
    for action in parser._actions:
        found += [(option, action.help or "") for option in action.option_strings if option.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            found += [(choice.dest, choice.help or "") for choice in action._choices_actions]
            for name, sub in action.choices.items():
                yield from _commands(sub, f"{path}/{name}".lstrip("/"))
        elif not action.option_strings and action.choices:
            found += [(str(choice), "") for choice in action.choices]
    yield path, found


def bash(commands: dict[str, list[tuple[str, str]]], *, zsh: bool = False) -> str:
    """For bash, and for zsh through its own layer for such scripts."""
    listed = {path: shlex.quote(" ".join(word for word, _ in words)) for path, words in commands.items()}
    cases = "\n".join(f'        "{path}") options={words} ;;' for path, words in listed.items())
    script = BASH.format(commands=" ".join(path for path in commands if path), cases=cases)
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if zsh else script


def fish(commands: dict[str, list[tuple[str, str]]]) -> str:
    """For fish, with what each option is for."""
    lines = ["complete -c heldout -n __fish_use_subcommand -f"]
    for path, words in commands.items():
        parts = path.split("/") if path else []
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        for word, what in words:
            name = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            told = what.replace("%%", "%").split(";")[0].split(":")[0]
            lines.append(f"complete -c heldout -n {shlex.quote(seen)} {name} -d {shlex.quote(told)}")
    return "\n".join(lines)
