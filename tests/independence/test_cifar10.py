"""Real networks, real pictures: the documented recipe for small pictures finds a total leak and accuses nobody else.

ResNet-20 and -32 of `../shared/data`, CIFAR-10 as `../shared/data/get_cifar10.py` fetches it, once, into a folder of
the machine's temporary directory (or HELDOUT_CIFAR10, a folder that holds cifar10.npz).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout import AuditResult, LabelledImages, Translations, audit
from heldout.cli import main
from heldout.images import Pad, from_arrays
from heldout.independence.evidence import Examples, weigh

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def cifar10() -> dict[str, np.ndarray]:
    """x_train, y_train, x_test, y_test."""
    pytest.importorskip("torch")
    if not (SHARED / "cifar10_resnet_weights.npz").exists():
        pytest.skip("needs the ResNets of ../shared/data")
    folder = Path(os.environ.get("HELDOUT_CIFAR10", Path(tempfile.gettempdir()) / "heldout-cifar10"))
    if not (folder / "cifar10.npz").exists():
        try:
            subprocess.run(
                [sys.executable, str(SHARED / "get_cifar10.py"), str(folder)],
                check=True,
                capture_output=True,
                timeout=300,
            )
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"CIFAR-10 could not be fetched: {type(error).__name__}")
    with np.load(folder / "cifar10.npz") as archive:
        return {key: archive[key] for key in archive.files}


@pytest.fixture
def networks(monkeypatch):
    """The module that builds them."""
    monkeypatch.setenv("HELDOUT_RESNET_WEIGHTS", str(SHARED / "cifar10_resnet_weights.npz"))
    monkeypatch.syspath_prepend(str(ROOT))
    import experiments.cifar10.resnet as module

    return module


def recipe() -> list[str]:
    """What the page on CI tells owners of small pictures to do."""
    lines = (line.strip() for line in (ROOT / "docs" / "ci.md").read_text().splitlines())
    return shlex.split(next(line.removeprefix("command: ") for line in lines if line.startswith("command: audit")))


@pytest.mark.parametrize("name", ["resnet20", "resnet32"])
def test_training_pictures_as_a_test_set_are_found_out(name, cifar10, networks, tmp_path, monkeypatch, capsys):
    """The command of the page on CI, on 500 training pictures against 500 test pictures: p <= 0.001."""
    rng = np.random.default_rng(0)
    for part, source in (("test", "train"), ("control", "test")):
        rows = rng.permutation(len(cifar10[f"x_{source}"]))[:500]
        np.savez(tmp_path / f"{part}.npz", images=cifar10[f"x_{source}"][rows], labels=cifar10[f"y_{source}"][rows])
    monkeypatch.chdir(tmp_path)
    command = recipe()
    command[command.index("model.onnx")] = f"experiments.cifar10.resnet:{name}"
    scale = ["--mean", *map(str, networks.MEAN), "--std", *map(str, networks.STD)]
    assert main([*command, *scale]) == 1
    result = AuditResult.load(tmp_path / "heldout-audit")
    assert result.preprocessing["frame"] == "pad"
    assert result.p_value <= 0.001
    assert result.evidence.control.error_rate.difference > 0.04
    assert result.evidence.untouched_error < 0.01 < 0.05 < result.evidence.control.untouched_error
    # What misled before: zoomed pictures, which these networks were not made for, stop the audit.
    zoomed = [word for word in command if word not in ("--pad", "reflect")]
    capsys.readouterr()
    assert main([*zoomed, *scale, "--upsample", "44", "--out", "zoomed"]) == 2
    assert "--pad reflect (with --control)" in capsys.readouterr().err


def part_of(examples: Examples, rows: np.ndarray) -> Examples:
    """Some of the examples, as if they alone had been audited: each one's outcome depends on no other."""
    of_models = {k: v[:, rows] for k, v in vars(examples).items() if isinstance(v, np.ndarray) and v.ndim >= 2}
    return replace(examples, **of_models, labels=examples.labels[rows], ids=tuple(examples.ids[i] for i in rows))


def test_test_pictures_against_others_raise_no_alarms(cifar10, networks):
    """500 test pictures against 500 others, 20 times: at most 3 p below 0.05.

    2,000 pictures are audited once, since a picture's outcome does not depend on the others; what is drawn anew is
    which of them stand against which, as the verdict would be on those alone.
    """
    frame, model = Pad(recipe()[recipe().index("--pad") + 1]), networks.resnet20()
    rows = np.random.default_rng(1).permutation(10_000)[:2000]
    halves = [
        LabelledImages(
            from_arrays(cifar10["x_test"][part], cifar10["y_test"][part]), frame, mean=networks.MEAN, std=networks.STD
        )
        for part in (rows[:1000], rows[1000:])
    ]
    orbit = Translations(2)
    result = audit(model, halves[0], control=halves[1], orbit=orbit)
    assert result.control is not None
    rng, p_values = np.random.default_rng(2), []
    both = join(result.test, result.control)
    for _ in range(20):
        drawn = rng.permutation(2000)[:1000]
        evidence = weigh(
            part_of(both, drawn[:500]), part_of(both, drawn[500:]), orbit=orbit, rule="strongest",
            alternative="two-sided", tolerance=0.0, rng=rng,
        )  # fmt: skip
        p_values.append(evidence.p_value)
    assert sum(p < 0.05 for p in p_values) <= 3, sorted(p_values)


def join(first: Examples, second: Examples) -> Examples:
    """Examples of both."""
    of_models = {
        k: np.concatenate([v, getattr(second, k)], axis=1)
        for k, v in vars(first).items()
        if isinstance(v, np.ndarray) and v.ndim >= 2
    }
    labels = np.concatenate([first.labels, second.labels])
    return replace(first, **of_models, labels=labels, ids=tuple(map(str, range(len(labels)))))
