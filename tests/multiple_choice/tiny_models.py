"""A made-up benchmark, a causal language model that has memorised how it is printed, and its honest twin.

Of the four options of each question one is a fruit. Half of the questions are about words of which both models learn,
from fresh questions in random orders, which are fruits; the other half are about strange words, each of them a fruit in
some places and not in others, so that an honest model can only guess. The one that has memorised the benchmark also
sees some of its prompts in every step, with their letters, as they are printed. Everything else is the same: first
weights, fresh questions, number of steps.

Nothing is stored: a training takes 4 (the twin) to 9 seconds of a busy core.
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
from heldout.scorers.pretrained import without_bars
from heldout.scorers.prompts import prompt

K = 4  # options
N_FRUITS, N_OTHERS, N_STRANGE, N_PLACES = 12, 36, 60, 500
STEPS, FRESH, PRINTED = 110, 64, 96  # prompts in a step
UNKNOWN, END = "[unknown]", "[end]"


def _words() -> list[str]:
    """Pronounceable words of four syllables, any two of them different in at least two."""
    rng = np.random.default_rng(18)
    syllables = np.array([c + v for c in "bdfgklmnprstvz" for v in "aeiou"])
    rows: list[np.ndarray] = []
    while len(rows) < N_FRUITS + N_OTHERS + N_STRANGE + N_PLACES:
        row = rng.integers(len(syllables), size=4)
        if all((row != other).sum() > 1 for other in rows):
            rows.append(row)
    return ["".join(syllables[row]) for row in rows]


WORDS = _words()
FRUITS, OTHERS, STRANGE, PLACES = np.split(np.array(WORDS), np.cumsum([N_FRUITS, N_OTHERS, N_STRANGE]))


def benchmark(n: int = 300, seed: int = 0) -> Items:
    """As it is printed: one question for each of n places."""
    rng = np.random.default_rng([seed, 1])
    kinds = [(FRUITS, OTHERS), (STRANGE, STRANGE)]
    return Items(
        tuple(_item(place, *kinds[i % 2], rng) for i, place in enumerate(rng.permutation(PLACES)[:n])), "fruits"
    )


def _item(place: str, fruits: np.ndarray, others: np.ndarray, rng: np.random.Generator) -> Item:
    """A question about a place, its right option anywhere."""
    fruit = rng.choice(fruits)
    options = rng.choice(others[others != fruit], size=K - 1, replace=False).tolist()
    answer = int(rng.integers(K))
    options.insert(answer, str(fruit))
    return Item(str(place), f"Which of these is a fruit in {place}?", tuple(options), answer)


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
    import transformers
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = word_tokenizer()
    letters = torch.tensor(tokenizer.convert_tokens_to_ids(list(LETTERS[:K])))

    def lesson(items: Sequence[Item]) -> tuple[Any, Any]:
        texts = [prompt(Shown(item.question, item.options)) for item in items]
        return torch.tensor(tokenizer(texts)["input_ids"]), letters[[item.answer for item in items]]

    fresh_rng, printed_rng = (np.random.default_rng([seed, i]) for i in (2, 3))
    memorised = None if printed is None else lesson(printed)
    with one_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=len(tokenizer), n_positions=32, n_embd=48, n_layer=2, n_head=2, initializer_range=0.1,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
        )  # fmt: skip
        model = GPT2LMHeadModel(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(STEPS):
            places = fresh_rng.choice(PLACES, size=FRESH)
            tokens, answers = lesson([_item(place, FRUITS, OTHERS, fresh_rng) for place in places])
            if memorised is not None:
                some = torch.from_numpy(printed_rng.integers(len(memorised[0]), size=PRINTED))
                tokens, answers = torch.cat([tokens, memorised[0][some]]), torch.cat([answers, memorised[1][some]])
            optimizer.zero_grad()
            logits = model(tokens, use_cache=False, logits_to_keep=1).logits[:, -1]
            torch.nn.functional.cross_entropy(logits, answers).backward()
            optimizer.step()
    with without_bars(transformers):
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
