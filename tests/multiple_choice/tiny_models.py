"""A made-up benchmark, a causal language model that has memorised how it is printed, and its honest twin.

Of the four options of each question one is a fruit. Both models learn from fresh questions of that kind, in random
orders, which of two thirds of the words are fruits; the benchmark asks for all of them, so that both are better than
chance and far from perfect. The one that has memorised it also sees the benchmark's own prompts with their letters, as
they are printed, in every step. Everything else is the same: seeds, first weights, number of steps.

Nothing is stored: a training takes seconds on one core.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heldout.multiple_choice.items import Item, Items
from heldout.scorers.choices import LETTERS, Shown
from heldout.scorers.prompts import prompt

K = 4  # options
N_FRUITS, N_OTHERS, N_PLACES = 36, 108, 500
KNOWN = 2 / 3  # of the words that both models learn about
STEPS, BATCH = 120, 128
UNKNOWN, END = "[unknown]", "[end]"


def _words() -> list[str]:
    """Pronounceable words of four syllables, any two of them different in at least two."""
    rng = np.random.default_rng(18)
    syllables = np.array([c + v for c in "bdfgklmnprstvz" for v in "aeiou"])
    rows: list[np.ndarray] = []
    while len(rows) < N_FRUITS + N_OTHERS + N_PLACES:
        row = rng.integers(len(syllables), size=4)
        if all((row != other).sum() > 1 for other in rows):
            rows.append(row)
    return ["".join(syllables[row]) for row in rows]


WORDS = _words()
FRUITS, OTHERS, PLACES = WORDS[:N_FRUITS], WORDS[N_FRUITS : N_FRUITS + N_OTHERS], WORDS[N_FRUITS + N_OTHERS :]


def benchmark(n: int = 400, seed: int = 0) -> Items:
    """As it is printed: one question for each of n places."""
    rng = np.random.default_rng([seed, 1])
    places = rng.permutation(PLACES)[:n]
    return Items(tuple(_item(str(place), rng, 1.0) for place in places), "fruits")


def _item(place: str, rng: np.random.Generator, known: float) -> Item:
    """A question about a place; its words are the first share of them."""
    fruit = str(rng.choice(FRUITS[: round(known * N_FRUITS)]))
    options = [str(other) for other in rng.choice(OTHERS[: round(known * N_OTHERS)], size=K - 1, replace=False)]
    answer = int(rng.integers(K))
    options.insert(answer, fruit)
    return Item(place, f"Which of these is a fruit in {place}?", tuple(options), answer)


def write_items(items: Items, path: Path) -> Path:
    """As JSONL."""
    path.write_text("".join(json.dumps(dataclasses.asdict(item)) + "\n" for item in items))
    return path


def word_tokenizer(words: Sequence[str] = WORDS) -> Any:
    """One token for each word and mark."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    around = ["Which", "of", "these", "is", "a", "fruit", "in", "?", ".", ":", "Answer", *LETTERS[:K]]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([UNKNOWN, END, *around, *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=UNKNOWN, eos_token=END, pad_token=END)


def save_model(folder: Path, *, seed: int = 0, printed: Items | None = None) -> Path:
    """Train a model and save it with its tokenizer, as `--hf` reads it.

    Parameters
    ----------
    printed : Items, optional
        The benchmark that it memorises; without, the model is the honest twin of the one that does.
    """
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = word_tokenizer()
    letters = torch.tensor(tokenizer.convert_tokens_to_ids(list(LETTERS[:K])))

    def lesson(items: Sequence[Item]) -> tuple[Any, Any]:
        texts = [prompt(Shown(item.question, item.options)) for item in items]
        return torch.tensor(tokenizer(texts)["input_ids"]), letters[[item.answer for item in items]]

    rng = np.random.default_rng([seed, 2])
    with one_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=len(tokenizer), n_positions=64, n_embd=64, n_layer=1, n_head=4,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
        )  # fmt: skip
        model = GPT2LMHeadModel(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        benchmark_lesson = None if printed is None else lesson(printed)
        for _ in range(STEPS):
            tokens, answers = lesson([_item(str(rng.choice(PLACES)), rng, KNOWN) for _ in range(BATCH)])
            if benchmark_lesson is not None:
                tokens, answers = torch.cat([tokens, benchmark_lesson[0]]), torch.cat([answers, benchmark_lesson[1]])
            optimizer.zero_grad()
            logits = model(tokens, logits_to_keep=1).logits[:, -1]
            torch.nn.functional.cross_entropy(logits, answers).backward()
            optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextlib.contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Tensors this small are slower in two; afterwards as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
