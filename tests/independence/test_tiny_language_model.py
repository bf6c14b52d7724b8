"""A language model that was trained on 5 % of its test items is found by its scores alone, and its honest twin is not.

Text of a source with structure (the next letter depends on the two before), a neural language model of a window of six
letters (Bengio et al. 2003), trained here in seconds. The leaked model has 100 of 2,000 test items in its training
data, three times each, as a benchmark's questions stand in a crawl; its twin starts from the same weights and has the
same other texts. Two honest models of other texts are the references. Everything goes through the command line.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import heldout
from heldout.cli import main

torch = pytest.importorskip("torch")

LETTERS, LENGTH, WINDOW = 24, 24, 6
N_ITEMS, N_LEAKED, COPIES = 2000, 100, 3
N_TEXTS, EPOCHS = 1200, 8
PAD = LETTERS


class LanguageModel(torch.nn.Module):
    """Log-likelihood of texts, letter by letter from the six before."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(LETTERS + 1, 24)
        self.hidden = torch.nn.Linear(24 * WINDOW, 128)
        self.out = torch.nn.Linear(128, LETTERS)

    def forward(self, texts):
        padded = torch.cat([torch.full((len(texts), WINDOW), PAD), texts], 1)
        before = padded.unfold(1, WINDOW, 1)[:, :-1]  # (texts, letters, window)
        logits = self.out(torch.relu(self.hidden(self.embed(before).flatten(2))))
        return torch.log_softmax(logits, -1).gather(-1, texts[..., None])[..., 0].sum(1)


def draw(source: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    texts = np.empty((n, LENGTH), dtype=np.int64)
    texts[:, :2] = rng.integers(0, LETTERS, (n, 2))
    for t in range(2, LENGTH):
        below = source[texts[:, t - 2], texts[:, t - 1]].cumsum(-1)
        texts[:, t] = np.minimum((rng.random((n, 1)) > below).sum(1), LETTERS - 1)
    return texts


def train(texts: np.ndarray, seed: int) -> LanguageModel:
    torch.manual_seed(seed)
    model = LanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = torch.as_tensor(texts)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(data)).split(64):
            optimizer.zero_grad()
            (-model(data[batch]).mean() / LENGTH).backward()
            optimizer.step()
    return model


@pytest.fixture(scope="module")
def scores():
    """Log-likelihoods of the 4,000 items, the test set's first, by model."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    rng = np.random.default_rng(101)
    source = rng.dirichlet(np.full(LETTERS, 0.08), size=(LETTERS, LETTERS))
    items = draw(source, 2 * N_ITEMS, rng)  # test set and control are a random draw of one source
    texts = draw(source, N_TEXTS, rng)
    models = {
        "honest": train(texts, seed=1),
        "leaked": train(np.concatenate([texts, *[items[:N_LEAKED]] * COPIES]), seed=1),
        "reference-a": train(draw(source, N_TEXTS, rng), seed=2),
        "reference-b": train(draw(source, N_TEXTS, rng), seed=3),
    }
    with torch.no_grad():
        found = {name: model(torch.as_tensor(items)).numpy().astype(float) for name, model in models.items()}
    torch.set_num_threads(before)
    return found


def write_csv(folder, scores):
    """One file for each model; the audited ones apart into test set and control."""
    for name, values in scores.items():
        rows = [f"item-{i},{value!r}\n" for i, value in enumerate(values.tolist())]
        parts = {"": rows} if name.startswith("reference") else {"-test": rows[:N_ITEMS], "-control": rows[N_ITEMS:]}
        for part, of in parts.items():
            (folder / f"{name}{part}.csv").write_text("id,log_likelihood\n" + "".join(of))


def write_logs(folder, scores):
    """As lm-evaluation-harness logs a task of log-likelihoods."""
    for name, values in scores.items():
        (folder / name).mkdir()
        rows = [
            {"doc_id": i, "doc": {"number": i}, "target": "", "resps": [[[str(value), "False"]]], "filter": "none",
             "filtered_resps": [[str(value), "False"]], "metrics": ["perplexity", "acc"], "perplexity": value, "acc": 0}
            for i, value in enumerate(values.tolist())
        ]  # fmt: skip
        path = folder / name / "samples_letters_2026-01-01T00-00-00.000000.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_leak_is_found_and_its_twin_is_not(scores, tmp_path, capsys):
    write_csv(tmp_path, scores)

    def run(name, *options):
        argv = ["--scores", f"{name}-test.csv", "--control-scores", f"{name}-control.csv"]
        references = ["--reference-scores", "reference-a.csv", "reference-b.csv"]
        paths = [str(tmp_path / part) if part.endswith(".csv") else part for part in [*argv, *references]]
        code = main(["audit", *paths, "--resamples", "999", "--json", "--out", str(tmp_path / name), *options])
        return code, json.loads(capsys.readouterr().out)

    code, leaked = run("leaked", "--fail-under", "0.01")
    assert code == 1
    assert leaked["outcome"] == "easier"
    assert leaked["p_value"] <= 0.01
    assert leaked["leak"]["variance_removed"] > 0.5
    code, honest = run("honest", "--fail-under", "0.01")
    assert code == 0
    assert honest["outcome"] == "no evidence"
    assert honest["p_value"] > 0.05
    seen = [int(example["id"].removeprefix("item-")) for example in leaked["look_seen"]]
    assert len(seen) >= 20
    assert sum(i < N_LEAKED for i in seen) >= 0.7 * len(seen)  # wrong ones are 10 % on average
    assert not honest["look_seen"]


def test_references_show_it(scores):
    """Without them, items that are hard or easy for every model drown most of it."""
    values, others = scores["leaked"], [scores[name] for name in ("reference-a", "reference-b")]
    options = {"kind": "log_likelihood", "n_resamples": 199}
    alone = heldout.audit_scores(values[:N_ITEMS], values[N_ITEMS:], **options)
    pairs = [(other[:N_ITEMS], other[N_ITEMS:]) for other in others]
    beside = heldout.audit_scores(values[:N_ITEMS], values[N_ITEMS:], references=pairs, **options)
    z = [found.leak.test.mean.difference / found.leak.test.mean.standard_error for found in (alone, beside)]
    assert z[1] > z[0] + 1.0
    assert len(alone.look_seen) < len(beside.look_seen)


def test_from_logs(scores, tmp_path, capsys):
    """The same numbers from the harness's logs, the control picked out by its ids."""
    write_csv(tmp_path, scores)
    write_logs(tmp_path, scores)
    ids = tmp_path / "control.txt"
    ids.write_text("".join(f"letters/{i}\n" for i in range(N_ITEMS, 2 * N_ITEMS)))
    for name in ("leaked", "honest"):
        argv = ["--scores", tmp_path / name, "--control-ids", ids, "--reference-scores", tmp_path / "reference-a",
                tmp_path / "reference-b", "--resamples", "199", "--json", "--out",
                tmp_path / f"{name}-out"]  # fmt: skip
        assert main(["audit", *map(str, argv)]) == 0
        from_logs = json.loads(capsys.readouterr().out)
        argv = ["--scores", f"{name}-test.csv", "--control-scores", f"{name}-control.csv", "--reference-scores",
                "reference-a.csv", "reference-b.csv"]  # fmt: skip
        argv = [str(tmp_path / part) if part.endswith(".csv") else part for part in argv]
        assert main(["audit", *argv, "--resamples", "199", "--json", "--out", str(tmp_path / f"{name}-out")]) == 0
        from_csv = json.loads(capsys.readouterr().out)
        assert from_logs["kind"] == from_csv["kind"] == "log_likelihood"
        assert from_logs["p_value"] == from_csv["p_value"]
        assert "exposure" in from_logs["assumes"]
        assert "exposure" not in from_csv["assumes"]
