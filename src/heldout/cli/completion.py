"""`heldout completion`: a script for bash, zsh or fish, written out once, so that completing loads nothing."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from heldout.cli.common import EXIT_FINE
from heldout.cli.parser import Parser, Word

SHELLS = ("bash", "zsh", "fish")
# After a dash options; after an option with choices these; else the words of the command, and where none fits, files.
BASH = """\
_heldout() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" known=" {commands} " i
    for ((i = 1; i < COMP_CWORD; i++)); do
        local next="${{command:+$command/}}${{COMP_WORDS[i]}}"
        [[ "$known" == *" $next "* ]] && command="$next"
    done
    local options="" words=""
    case "$command" in
{cases}
    esac
    case "$command $before" in
{values}
    esac
    [[ "$word" == -* ]] && words="$options"
    COMPREPLY=($(compgen -W "$words" -- "$word"))
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


def _commands(parser: Parser, path: str) -> Iterator[tuple[str, list[Word]]]:
    """Every command, as `memorization/curve`, with its options and the words that may follow it."""
    for name, sub in parser.verbs().items():
        yield from _commands(sub, f"{path}/{name}".lstrip("/"))
    yield path, parser.words()


def bash(commands: dict[str, list[Word]], *, zsh: bool = False) -> str:
    """For bash, and for zsh through its own layer for such scripts."""
    cases, values = [], []
    for path, words in commands.items():
        options = " ".join(word.text for word in words if word.is_option)
        others = " ".join(word.text for word in words if not word.is_option)
        cases.append(f'        "{path}") options={shlex.quote(options)} words={shlex.quote(others)} ;;')
        values += [
            f'        "{path} {word.text}") words={shlex.quote(" ".join(word.choices))} ;;'
            for word in words
            if word.is_option and word.choices
        ]
    known = " ".join(path for path in commands if path)
    script = BASH.format(commands=known, cases="\n".join(cases), values="\n".join(values))
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if zsh else script


def fish(commands: dict[str, list[Word]]) -> str:
    """For fish, with what each option is for."""
    lines = ["complete -c heldout -n __fish_use_subcommand -f"]
    for path, words in commands.items():
        parts = path.split("/") if path else []
        seen = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        for word in words:
            name = f"-l {word.text[2:]}" if word.is_option else f"-a {word.text}"
            if word.is_option and word.choices:
                name += f" -x -a {shlex.quote(' '.join(word.choices))}"
            elif word.takes:
                name += " -r"
            told = word.what.replace("%%", "%").split(";")[0].split(":")[0]
            lines.append(f"complete -c heldout -n {shlex.quote(seen)} {name} -d {shlex.quote(told)}")
    return "\n".join(lines)
