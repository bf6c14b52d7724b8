"""The shell blocks of README.md and docs/: what they run, what they show, and what comes out.

A block whose commands begin with `$ ` shows what they print: all of stdout, and of stderr the lines that are worth
showing, before and after it. A line `[cut: ...]` stands for lines that are left out. Commands without `$ ` are
illustrations, with files that the reader has and we have not, and show nothing.

`python -m tests.manual` writes what comes out now into these pages; words after it choose blocks (`budget compare`).
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heldout.cli import main

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
LIVECODEBENCH = ROOT.parent / "shared" / "data" / "livecodebench_apr2024.npz"
OPTION_SCORES = ROOT.parent / "shared" / "data" / "llm_option_scores.npz"
CUT = "[cut: "


class Step(NamedTuple):
    """A command and what stands below it."""

    command: str
    shown: list[str]


class Printed(NamedTuple):
    """What a command prints, by lines."""

    out: list[str]
    err: list[str]


@dataclass(frozen=True)
class Block:
    """A block of commands that are run, and the page that shows it."""

    text: str
    page: Path

    @property
    def steps(self) -> list[Step]:
        """Its commands in order."""
        found: list[Step] = []
        lines = iter(self.text.splitlines())
        for line in lines:
            if not line.startswith("$ "):
                found[-1].shown.append(line)
                continue
            command = line.removeprefix("$ ")
            while command.endswith("\\") or command.count('"') % 2:
                command = f"{command}\n{next(lines)}"
            found.append(Step(command, []))
        return found

    @property
    def name(self) -> str:
        """What it shows, for the name of a test."""
        return f"{self.page.stem}: {self.words[:100]}"

    @property
    def words(self) -> str:
        """Verb and arguments of its last command."""
        return " ".join(arguments(self.steps[-1].command)[1:])


def blocks(text: str) -> list[str]:
    """The text inside every pair of fences without a language."""
    found: list[str] = []
    language: str | None = None  # of the block that is open
    for line in text.splitlines(keepends=True):
        if not line.startswith("```"):
            if language == "":
                found[-1] += line
        elif language is None:
            language = line.strip().removeprefix("```")
            found += [""] * (language == "")
        else:
            language = None
    return found


def run_blocks() -> list[Block]:
    """Those that begin with a command to be run."""
    return [Block(text, page) for page in PAGES for text in blocks(page.read_text()) if text.startswith("$ ")]


def illustrations() -> list[list[str]]:
    """Every other command of the pages, wherever it stands."""
    text = re.sub(r"\\\n *", "", "\n".join(page.read_text() for page in PAGES))
    lines = [line for block in blocks(text) if not block.startswith("$ ") for line in block.splitlines()]
    inside = [line for line in lines if line.startswith("heldout ")]
    actions = [f"heldout {line}" for line in re.findall(r"^ *command: (.*)$", text, flags=re.MULTILINE)]
    outside = re.findall(r"`(heldout [a-z][^`\n]*)`", text)
    # what a line says about a command stands three blanks to the right of it
    return [shlex.split(re.split(r" {3}", line)[0]) for line in [*inside, *actions, *outside]]


def arguments(command: str) -> list[str]:
    """Words of a command; `make demo` is `heldout demo`."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    return ["heldout", "demo"] if words == ["make", "demo"] else words


def write_files(folder: Path) -> None:
    """What the commands read: the clone's own files, and the `all.npz` of somebody who has 10,000 pictures."""
    for part in ("examples", "src/heldout/data"):
        shutil.copytree(ROOT / part, folder / part)
    pictures = np.random.default_rng(0).integers(0, 256, (10_000, 2, 4), dtype=np.uint8)
    np.savez(folder / "all.npz", images=pictures, labels=np.arange(10_000) % 10)
    if OPTION_SCORES.exists():
        shutil.copy(OPTION_SCORES, folder / "option_scores.npz")
    if LIVECODEBENCH.exists():
        with np.load(LIVECODEBENCH) as data:
            rows = zip(data["models"], data["pass1"], strict=True)
            trials = [(model, percent, 1 if "(n=1)" in model else 10) for model, percent in rows]
            items = zip(data["dates"], data["platform"], data["difficulty"], strict=True)
            problems = [f"{i},{','.join(row)}" for i, row in enumerate(items)]
            models = [f"{model},{cutoff}" for model, cutoff in zip(data["models"], data["cutoff"], strict=True)]
        lines = [f"{model},{i},{p * n / 100:.0f},{n}" for model, percent, n in trials for i, p in enumerate(percent)]
        (folder / "livecodebench.csv").write_text("\n".join(["model,id,n_correct,n_trials", *lines]) + "\n")
        (folder / "problems.csv").write_text("\n".join(["id,date,platform,difficulty", *problems]) + "\n")
        (folder / "models.csv").write_text("\n".join(["model,cutoff", *models]) + "\n")


@contextlib.contextmanager
def at(folder: Path) -> Iterator[None]:
    """The working directory, which is on the path of imports too, and what is imported from there is forgotten."""
    before, path, modules = Path.cwd(), [*sys.path], set(sys.modules)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def run(block: Block, folder: Path) -> list[Printed]:
    """Every command of the block, from a clone in `folder`, as a reader would; /tmp is a part of the folder."""
    here, printed = folder, []
    for command, shown in block.steps:
        words = arguments(command)
        if words[0] == "cd":
            here = folder / words[1]
            printed.append(Printed([], []))
        elif words[0] == "cat":  # a file that the reader writes
            (here / words[1]).write_text("\n".join(shown) + "\n")
            printed.append(Printed(shown, []))
        elif words[0] == "python":
            done = subprocess.run([sys.executable, *words[1:]], cwd=here, capture_output=True, text=True, check=True)
            printed.append(Printed(done.stdout.splitlines(), []))
        else:
            out, err = io.StringIO(), io.StringIO()
            with at(here), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([word.replace("/tmp/", f"{folder}/tmp/") for word in words[1:]])
            if code:
                raise RuntimeError(f"{command} ends in exit code {code}: {err.getvalue()}")
            texts = [stream.getvalue().replace(f"{folder}/tmp/", "/tmp/") for stream in (out, err)]
            printed.append(Printed(*(text.splitlines() for text in texts)))
    return printed


def parts(shown: list[str], err: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Lines of stderr, of stdout, and of stderr again."""
    first, last = 0, len(shown)
    while first < last and shown[first] in err:
        first += 1
    while last > first and shown[last - 1] in err:
        last -= 1
    return shown[:first], shown[first:last], shown[last:]


def fits(shown: list[str], out: list[str]) -> bool:
    """Whether the lines are what was printed, but for what is cut."""
    pattern = "".join("(.*\n)*?" if line.startswith(CUT) else re.escape(f"{line}\n") for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in out)) is not None


def anew(shown: list[str], printed: Printed) -> list[str]:
    """What the block shows of what is printed now: the same parts of it, found by the lines that are most alike."""
    out, err = printed
    before = list(takewhile(bool, (alike(line, err) for line in shown)))
    after = list(takewhile(bool, (alike(line, err) for line in reversed(shown))))[::-1]
    middle = shown[len(before) : len(shown) - len(after)]
    if not any(line.startswith(CUT) for line in middle):
        return [*before, *out, *after]
    lines: list[str] = []
    start = 0
    for piece in pieces(middle):
        if piece[0].startswith(CUT):
            lines += piece
            continue
        told = [i for i, line in enumerate(piece) if line]  # blank lines are alike
        first = 0 if piece[0] is middle[0] else place(piece[told[0]], out, start) - told[0]
        blank = len(piece) - 1 - told[-1]
        last = len(out) - 1 if piece[-1] is middle[-1] else place(piece[told[-1]], out, first) + blank
        lines += out[first : last + 1]
        start = last + 1
    return [*before, *lines, *after]


def pieces(lines: list[str]) -> list[list[str]]:
    """What stands between the cuts, and the cuts."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.startswith(CUT):
            found += [[line], []]
        else:
            found[-1].append(line)
    return [piece for piece in found if piece]


def alike(line: str, lines: list[str]) -> str:
    """The line that is most like it; empty where none is."""
    close = difflib.get_close_matches(line, lines, n=1, cutoff=0.8)
    return close[0] if close else ""


def place(line: str, lines: list[str], start: int) -> int:
    """Where the line that is most like it stands."""
    close = alike(line, lines[start:])
    if not close:
        raise ValueError(f"no line is like {line!r} any more; mend this block by hand")
    return lines.index(close, start)


def update(*chosen: str) -> None:
    """Write what comes out now into the pages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        for block in run_blocks():
            if chosen and not any(word in block.name for word in chosen):
                continue
            lines: list[str] = []
            for (command, shown), printed in zip(block.steps, run(block, folder), strict=True):
                lines += [f"$ {command}", *anew(shown, printed)]
            new = "".join(f"{line}\n" for line in lines)
            print("changed:" if new != block.text else "as it was:", block.name)
            text = block.page.read_text()
            assert text.count(block.text) == 1
            block.page.write_text(text.replace(block.text, new))


if __name__ == "__main__":
    update(*sys.argv[1:])
