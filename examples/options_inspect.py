"""Does a model's score on a task of inspect_ai depend on the printed order of the options?

The task runs as printed and with its options shuffled, all in one call; `heldout` reads the logs.

    pip install inspect_ai heldout[inspect]
    python options_inspect.py mmlu.jsonl --model openai/gpt-4o-mini --shuffles 8
    python options_inspect.py                       # a mock model that knows 60 printed letters by heart

With logs that are there already, the command line does the same:

    heldout options mmlu.jsonl --runs printed.eval shuffled-1.eval shuffled-2.eval
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

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


def by_heart(items: Any) -> Any:
    """A mock model that says the printed letter, whatever stands there."""
    letters = {item.question: LETTERS[item.answer] for item in items}

    def reply(messages: Any, *_: Any) -> ModelOutput:
        question = re.search(r"Which tree is number \d+ in the park\?", messages[-1].text)
        output = ModelOutput.from_content("mockllm/by-heart", f"ANSWER: {letters[question[0] if question else '']}")
        output.usage = ModelUsage(input_tokens=50, output_tokens=3, total_tokens=53)
        return output

    return get_model("mockllm/by-heart", custom_outputs=reply)


def task(items: Any, seed: int | None = None) -> Task:
    """The items as printed; with a seed, the options of each in an order of its own, and its target moved along."""
    samples = [Sample(id=i.id, input=i.question, choices=list(i.options), target=LETTERS[i.answer]) for i in items]
    data = MemoryDataset(samples)
    if seed is not None:
        data.shuffle_choices(seed)  # not multiple_choice(shuffle=True), which hides the order in the log
    return Task(
        name="printed" if seed is None else f"shuffled-{seed}", dataset=data, solver=multiple_choice(), scorer=choice()
    )


def main() -> None:
    """Run, read, test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="?", help="JSONL or CSV: question, options, answer")
    parser.add_argument("--model", help="as inspect_ai names it")
    parser.add_argument("--shuffles", type=int, default=8, help="how many other orders of each item")
    parser.add_argument("--logs", help="folder for the logs")
    args = parser.parse_args()

    items = heldout.read_items(args.items or toy_items())
    folder = args.logs or tempfile.mkdtemp()
    tasks = [task(items), *(task(items, seed) for seed in range(1, args.shuffles + 1))]
    logs = eval(tasks, model=args.model or by_heart(items), log_dir=folder, display="none")
    runs = heldout.read_runs([log.location for log in logs], items=items)
    print(heldout.options(runs))


if __name__ == "__main__":
    main()
