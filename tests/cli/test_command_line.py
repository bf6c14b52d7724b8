"""What every verb shares: what is loaded, help, suggestions, the ending, the gate."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from heldout import __version__
from heldout.cli import main
from heldout.cli.verbs import VERBS, build_parser, parse
from heldout.cli.words import in_options, option_names

STRESS = ["stress", "--examples", "200", "--classes", "2", "--queries", "20", "--trials", "2"]
HEAVY = ("torch", "ray", "onnxruntime", "sklearn", "numba", "jinja2", "pandas", "httpx", "transformers")


def loaded(statement: str, *options: str) -> set[str]:
    """Packages that a fresh Python has after it."""
    code = f"import sys\ntry:\n    {statement}\nexcept SystemExit: pass\nprint('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["audti"]])
def test_help_and_version_load_nothing(argv):
    assert not loaded(f"from heldout.cli import main; main({argv!r})") & {"numpy", "scipy", *HEAVY}


def test_import_loads_nothing_heavy():
    assert not loaded(
        "import heldout; heldout.audit, heldout.budget, heldout.stress, heldout.options", "-W", "error"
    ) & set(HEAVY)


def test_version_and_help(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"heldout {__version__}\n"
    for argv in ([verb] for verb in VERBS):
        with pytest.raises(SystemExit) as stop:
            main([*argv, "--help"])
        assert stop.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: heldout {argv[0]}")


@pytest.mark.parametrize(
    "command",
    ["audit", "budget", "compare", "exposure", "options", "stress", "memorization curve", "memorization retrain"],
)
def test_short_help_first(command, capsys):
    shown = {}
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main([*command.split(), option])
        shown[option] = capsys.readouterr().out
    assert len(shown["--help"].splitlines()) < min(62, 0.75 * len(shown["--help-all"].splitlines()))
    for text in shown.values():
        assert "examples:" in text
        assert f"  heldout {command}" in text
    assert "exit codes: 0" in shown["--help-all"]


def test_essential_options_exist():
    parser = build_parser()
    verbs = list(parser._subparsers._group_actions[0].choices.values())
    verbs += verbs[list(VERBS).index("memorization")]._subparsers._group_actions[0].choices.values()
    for verb in verbs:
        assert set(verb.essential) <= set(verb.options()), verb.prog


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["audti"], "audit"),
        (["memorisation"], "memorization"),
        (["audit", "--modle", "x"], "--model"),
        (["stress", "--query=10"], "--queries"),
        (["memorization", "retrain", "--train", "a:b", "--data", "c", "--label-nose", "0"], "--label-noise"),
    ],
)
def test_did_you_mean(argv, meant, capsys):
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert f"did you mean {meant}?" in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--quiet", "budget", "x"], "put --quiet after the verb: heldout budget ... --quiet."),
        (["--out", "x", "memorization", "curve"], "put --out after the verb: heldout memorization ... --out."),
        (["--epsilom", "0.1", "budget", "x"], "--epsilom is not an option of heldout budget; did you mean --epsilon?"),
        ([*STRESS, "--attack", "pluralty"], "did you mean plurality?"),
        (["memorization", "curve", "--model", "m", "--images", "i", "--perturbation", "gausian"], "mean gaussian?"),
        (["compare"], "the following arguments are required: FILE. "),
        (["budget", "t.csv", "--scale", "-1:2"], "argument --scale: expected one argument; write --scale=-1:2."),
        (["budget", "t.csv", "--scale", "--json"], "argument --scale: expected one argument. See heldout budget"),
        (["compare", "t.csv", "a>b", "-x"], "if -x is a name, write options first: heldout compare [options] -- FILE"),
        (["compare", "t.csv", "--models", "-x", "a"], "at least one argument; if -x is a name, write options first:"),
        (["compare", "t.csv", "--json", "--", "a", "-x"], "options must stand before --: heldout compare [options] --"),
        (["audit", "--banana", "x"], "--banana is not an option here."),
    ],
)
def test_the_way_out_of_a_slip(argv, says, capsys):
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("command", ["", *VERBS, "memorization curve"])
def test_every_command_takes_help_all(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help-all"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: heldout {command}".rstrip())


def test_arguments_are_told_by_the_option_of_that_name():
    parser = build_parser()
    budget, audit = (option_names(parser.verbs()[name]) for name in ("budget", "audit"))
    assert in_options("`format` and `resume=True`", budget) == "--input-format and `resume=True`"
    assert in_options("`format` and `resume=True`", audit) == "`format` and --resume"


def test_every_folder_that_is_written_unasked_is_named(capsys):
    for verb, folder in {"audit": "heldout-audit", "memorization curve": "heldout-memorization"}.items():
        with pytest.raises(SystemExit):
            main([*verb.split(), "--help"])
        assert f"(default {folder})" in " ".join(capsys.readouterr().out.split())


def test_what_was_typed_is_known_though_it_is_the_default():
    args = parse([*STRESS, "--seed", "0"])
    assert {"seed", "trials", "queries"} <= args.typed
    assert not {"delta", "format", "command", "parser"} & args.typed
    assert args.seed == 0
    assert args.delta == 0.05


def test_formats_and_the_gate(capsys, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert main([*STRESS, "--fail-over", "0.9", "--format", "junit"]) == 0
    case = ElementTree.fromstring(capsys.readouterr().out.split("\n", 1)[1]).find("testsuite/testcase")
    assert case.find("failure") is None
    assert "bound" in case.find("system-out").text
    assert main([*STRESS, "--fail-over", "0", "--format", "junit"]) == 1
    shown = capsys.readouterr()
    suite = ElementTree.fromstring(shown.out.split("\n", 1)[1]).find("testsuite")
    assert suite.get("failures") == "1"
    message = suite.find("testcase/failure").get("message")
    assert "more than --fail-over 0" in message
    assert f"heldout: {message}\n" in shown.err
    assert "::error" not in shown.err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main([*STRESS, "--fail-over", "0", "--json"]) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["advantage"] > 0
    assert f"::error title=heldout::{message}\n" in shown.err


@pytest.mark.parametrize("option", [["stress", "--fail-over", "1"], ["stress", "--fail-over", "nan"]])
def test_thresholds_out_of_range(option, capsys):
    assert main([*STRESS, *option[1:]]) == 2
    assert "give a gain in accuracy, from 0 to below 1" in capsys.readouterr().err


def test_quiet_and_debug(capsys, tmp_path):
    assert main([*STRESS, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(STRESS) == 0
    assert capsys.readouterr().err != ""
    assert main(["budget", "--examples", "10", "--error", "0.2", "--similarity", "0.2", "--quiet"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    (tmp_path / "labels.npy").write_bytes(b"nonsense")
    argv = ["stress", "--labels", str(tmp_path / "labels.npy"), "--queries", "10"]
    assert main([*argv, "--quiet"]) == 2
    assert capsys.readouterr().err.startswith("heldout: ")
    assert main([*argv, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


COMPLETED = {
    "heldout st": ["stress"],
    "heldout stress --quer": ["--queries"],
    "heldout memorization retrain --label-n": ["--label-noise"],
    "heldout stress --attack pl": ["plurality"],
    "heldout budget pre": [],  # a file
}


@pytest.mark.parametrize("line", COMPLETED)
def test_completion(line, capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "heldout.bash"
    script.write_text(capsys.readouterr().out)
    words = line.split()
    asked = (
        f"""source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _heldout; echo "${{COMPREPLY[@]}}" """
    )
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == COMPLETED[line]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_of_other_shells(shell, capsys, tmp_path):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "label-noise" in text
    if shutil.which(shell):
        (tmp_path / "script").write_text(text)
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_text_is_as_wide_as_a_narrow_terminal(monkeypatch, capsys):
    widths = {}
    for columns in ("40", "80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        assert main([*STRESS, "--no-compare", "--quiet"]) == 0
        widths[columns] = max(map(len, capsys.readouterr().out.splitlines()))
    assert 40 < widths["40"] <= 60 < widths["80"] <= 80 < widths["200"] <= 118


def test_text_for_a_pipe_is_the_same_everywhere(monkeypatch, capsys):
    printed = set()
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main([*STRESS, "--no-compare", "--quiet"]) == 0
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1


def test_help_is_as_wide_as_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "72")
    for verb in VERBS:
        for asked in ("--help", "--help-all"):
            with pytest.raises(SystemExit):
                main([verb, asked])
            described = capsys.readouterr().out.split("\n\n")[1]
            assert max(map(len, described.splitlines())) <= 72, (verb, asked)


def test_short_help_points_at_nothing_it_does_not_have(capsys):
    for verb in (*([name] for name in VERBS), ["memorization", "curve"], ["memorization", "retrain"]):
        with pytest.raises(SystemExit):
            main([*verb, "--help"])
        assert "see below" not in capsys.readouterr().out
