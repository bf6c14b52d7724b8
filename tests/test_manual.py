"""Every command of README.md and docs/ prints what is shown there."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from heldout.cli.verbs import build_parser
from tests import manual
from tests.manual import PAGES, ROOT, Block, Printed, fits, parts, run

# Ten seconds to a minute each; the others take fifteen together.
SLOW = r"demo|audit --model|exposure|stress .*--compare|memorization"


def marked(block: Block) -> object:
    slow = [pytest.mark.slow] if re.match(SLOW, block.words) else []
    return pytest.param(block, id=block.name, marks=slow)


@pytest.fixture(scope="module")
def once(tmp_path_factory) -> Callable[[Block], list[Printed]]:
    """Runs a block; the same commands, which README.md and a page may both show, only once."""
    folder = tmp_path_factory.mktemp("clone")
    manual.write_files(folder)
    printed: dict[tuple[str, ...], list[Printed]] = {}

    def run_once(block: Block) -> list[Printed]:
        commands = tuple(step.command for step in block.steps)
        if commands not in printed:
            printed[commands] = run(block, folder)
        return printed[commands]

    return run_once


@pytest.mark.parametrize("block", [marked(block) for block in manual.run_blocks()])
def test_prints_what_is_shown(block: Block, once: Callable[[Block], list[Printed]]):
    if "livecodebench" in block.name and not manual.LIVECODEBENCH.exists():
        pytest.skip("needs ../shared/data/livecodebench_apr2024.npz")
    if "option_scores" in block.name and not manual.OPTION_SCORES.exists():
        pytest.skip("needs ../shared/data/llm_option_scores.npz")
    for (command, shown), (out, err) in zip(block.steps, once(block), strict=True):
        before, middle, after = parts(shown, err)
        assert fits(middle, out), "\n".join(
            difflib.unified_diff(middle, out, block.page.name, command, lineterm="", n=1)
        )
        assert [line for line in err if line in (*before, *after)] == [*before, *after]


def test_illustrations_have_options_that_exist():
    verbs = build_parser()._subparsers._group_actions[0].choices
    commands = manual.illustrations()
    assert len(commands) > 40
    for _, verb, *words in commands:
        parser = verbs[verb]
        if parser.ways and words:
            parser = parser._subparsers._group_actions[0].choices[words[0]]
        options = words[: words.index("--")] if "--" in words else words  # names follow
        assert {word.partition("=")[0] for word in options if word.startswith("--")} <= set(parser.options()), words


def test_what_is_cut_is_said_in_one_way():
    found = manual.run_blocks()
    assert len(found) >= 22
    assert not any("\n...\n" in block.text for block in found)


def test_gates_have_options_that_exist():
    verbs = build_parser()._subparsers._group_actions[0].choices
    gates = re.findall(
        r"^\| `(\w+)`.*? \| `(--[a-z-]+) [\d.]+` \|", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE
    )
    assert len(gates) == 7
    for verb, option in gates:
        for parser in verbs[verb]._subparsers._group_actions[0].choices.values() if verbs[verb].ways else [verbs[verb]]:
            assert option in parser.options(), (verb, option)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        there = (page.parent / name) if name else page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


def test_every_page_is_reached_from_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text] == []


def test_the_long_description_names_pages_and_links_to_none():
    """A package index shows README.md by itself; what it names must come with the source distribution."""
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
    readme = (ROOT / "README.md").read_text()
    text = readme
    for rule in hatch["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []
    assert "| `audit` (`docs/audit.md`) | is this model" in text
    assert "How to cite: `CITATION.cff`." in text
    kept = {*hatch["build"]["targets"]["sdist"]["include"], "experiments"}  # which the last lines say are not there
    assert {re.split("[/#]", target)[0] for target in re.findall(r"\]\((?!https?:)([^)]+)\)", readme)} <= kept
