"""Every command of the README prints what the README shows."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from heldout.cli.verbs import build_parser
from tests import readme
from tests.readme import Block, fits, parts, run

# Ten seconds to a minute each; the others take fifteen together.
SLOW = r"demo|audit --model|exposure|stress .*--compare|memorization"


def marked(block: Block) -> object:
    slow = [pytest.mark.slow] if re.match(SLOW, " ".join(readme.arguments(block.steps[-1].command)[1:])) else []
    return pytest.param(block, id=block.name, marks=slow)


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    readme.write_files(folder)
    return folder


@pytest.mark.parametrize("block", [marked(block) for block in readme.run_blocks()])
def test_prints_what_is_shown(block: Block, clone: Path):
    if "livecodebench" in block.name and not readme.LIVECODEBENCH.exists():
        pytest.skip("needs ../shared/data/livecodebench_apr2024.npz")
    if "option_scores" in block.name and not readme.OPTION_SCORES.exists():
        pytest.skip("needs ../shared/data/llm_option_scores.npz")
    for (command, shown), (out, err) in zip(block.steps, run(block, clone), strict=True):
        before, middle, after = parts(shown, err)
        assert fits(middle, out), "\n".join(difflib.unified_diff(middle, out, "README.md", command, lineterm="", n=1))
        assert [line for line in err if line in (*before, *after)] == [*before, *after]


def test_illustrations_have_options_that_exist():
    verbs = build_parser()._subparsers._group_actions[0].choices
    commands = readme.illustrations()
    assert len(commands) > 40
    for _, verb, *words in commands:
        parser = verbs[verb]
        if parser.ways and words:
            parser = parser._subparsers._group_actions[0].choices[words[0]]
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= set(parser.options()), words


def test_what_is_cut_is_said_in_one_way():
    for text in readme.blocks(readme.README.read_text()):
        if text.startswith("$ "):
            assert "\n...\n" not in text
    assert len(readme.run_blocks()) >= 15
