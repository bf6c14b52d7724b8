"""Does a model's score on a task of lm-evaluation-harness depend on the printed order of the options?

The task runs as printed and with its options shuffled before the prompt is made; `heldout` reads the samples.

    pip install 'lm_eval[hf]' heldout
    python options_lm_eval.py mmlu.jsonl --model hf --model_args pretrained=EleutherAI/pythia-160m --shuffles 8
    python options_lm_eval.py                       # a dummy model that knows 60 printed letters by heart

With samples that are there already (--log_samples), the command line does the same:

    heldout options mmlu.jsonl --runs out/EleutherAI__pythia-160m

Only prompts that show all options and score their letters, as MMLU's do, have an order. ARC, HellaSwag and TruthfulQA
score each option by itself: there the answer is "not applicable".
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import lm_eval
from lm_eval.api.task import ConfigurableTask
from lm_eval.loggers import EvaluationTracker
from lm_eval.models.dummy import DummyLM
from lm_eval.tasks import TaskManager

import heldout

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TREES = ["alder", "ash", "beech", "birch", "elm", "fir", "larch", "lime", "maple", "oak", "pine", "yew"]


def toy_items(n: int = 60) -> list[dict[str, Any]]:
    """Questions that nobody can answer who has not seen their printed letters."""
    rng = random.Random(0)
    return [
        {
            "question": f"Which tree is number {i} in the park?",
            "options": [f"{tree} {i}" for tree in rng.sample(TREES, 4)],
            "answer": rng.randrange(4),
        }
        for i in range(n)
    ]


class ByHeart(DummyLM):  # type: ignore[misc]
    """A dummy model that gives the printed letter the highest log-likelihood, whatever stands there."""

    def __init__(self, items: Any) -> None:
        super().__init__()
        self._letters = {item.question: LETTERS[item.answer] for item in items}

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """One number for each prompt and letter."""
        given = [request.args for request in requests]
        return [
            (-0.3 if self._letters[prompt.splitlines()[0]] == letter.strip() else -2.5, False)
            for prompt, letter in given
        ]


def prompt(doc: dict[str, Any]) -> str:
    """The usual prompt of MMLU."""
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, doc["options"], strict=False)]
    return "\n".join([doc["question"], *lines, "Answer:"])


def shuffled(seed: int) -> Any:
    """Documents with the options of each in an order of its own, the answer moved along."""

    def shuffle(docs: Any) -> Any:
        rng = random.Random(seed)  # one stream for all: a seed for each document would move all items alike

        def move(doc: dict[str, Any]) -> dict[str, Any]:
            order = rng.sample(range(len(doc["options"])), len(doc["options"]))
            return {"options": [doc["options"][i] for i in order], "answer": order.index(doc["answer"])}

        return docs.map(move, load_from_cache_file=False)

    return shuffle


def task(path: Path, seed: int | None = None) -> Any:
    """The items as printed, or shuffled by a seed."""
    config = {
        "task": "printed" if seed is None else f"shuffled-{seed}",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": prompt,
        "doc_to_choice": lambda doc: list(LETTERS[: len(doc["options"])]),
        "doc_to_target": "answer",
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    return ConfigurableTask(config=config if seed is None else {**config, "process_docs": shuffled(seed)})


def main() -> None:
    """Run, read, test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="?", help="JSONL or CSV: question, options, answer")
    parser.add_argument("--model", help="as the harness names it, such as hf")
    parser.add_argument("--model_args", default="", help="as the harness takes them, such as pretrained=NAME")
    parser.add_argument("--shuffles", type=int, default=8, help="how many other orders of each item")
    parser.add_argument("--logs", help="folder for the samples")
    args = parser.parse_args()

    items = heldout.read_items(args.items or toy_items())
    folder = Path(args.logs or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "items.jsonl"
    rows = [{"id": i.id, "question": i.question, "options": i.options, "answer": i.answer} for i in items]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    tracker = EvaluationTracker(output_path=str(folder / "samples"))
    tracker.general_config_tracker.log_experiment_args(
        model_source=args.model or "dummy",
        model_args=args.model_args or "pretrained=by-heart",
        system_instruction=None,
        chat_template=None,
        fewshot_as_multiturn=False,
    )
    results = lm_eval.simple_evaluate(
        model=args.model or ByHeart(items),
        model_args=args.model_args,
        tasks=[task(path), *(task(path, seed) for seed in range(1, args.shuffles + 1))],
        task_manager=TaskManager(include_defaults=False),  # our tasks alone: reading the harness's own takes seconds
        log_samples=True,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)  # names the folder by the model
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)
    print(heldout.options(heldout.read_runs(folder / "samples", items=items)))


if __name__ == "__main__":
    main()
