"""What `heldout options` costs.

python benchmarks/bench_options.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from common import alternate, verdict


def word_model():
    """A Llama with random weights (speed does not depend on them), and a tokenizer of one token for each word."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["?", "Answer", ":", ".", *"ABCDEF", *(f"word{i}" for i in range(7990))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=512,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    return model, transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def orders(rounds: int) -> None:
    """All 24 orders of an item, its question of 200 tokens and its options of 10: together, or 24 single forwards."""
    import torch

    from heldout.scorers import CausalChooser
    from heldout.scorers.choices import Shown
    from heldout.scorers.prompts import prompt

    model, tokenizer = word_model()
    rng = np.random.default_rng(0)

    def text(n: int) -> str:
        return " ".join(f"word{i}" for i in rng.integers(7990, size=n))

    question, options = text(200), [text(10) for _ in range(4)]
    shown = [Shown(question, order) for order in itertools.permutations(options)]
    rows = torch.tensor(tokenizer([prompt(each) for each in shown])["input_ids"])
    chooser = CausalChooser(model, tokenizer)
    chooser.choose(shown)  # which checks the first batch

    @torch.inference_mode()
    def single(**keep: int) -> int:
        for row in rows:
            torch.log_softmax(model(row[None], use_cache=False, **keep).logits[0, -1], -1)
        return len(rows)

    @torch.inference_mode()
    def batched() -> int:
        torch.log_softmax(model(rows, use_cache=False, logits_to_keep=1).logits[:, -1], -1)
        return len(rows)

    sides = {
        "shared": lambda: len(chooser.choose(shown)),
        "single": lambda: single(logits_to_keep=1),
        "single, all logits": single,
        "one batch": batched,
    }
    rates = alternate(sides, rounds=rounds)
    for name in list(sides)[1:]:
        print(f"{'24 orders, shared beginnings / ' + name:58s} {np.median(rates['shared'] / rates[name]):10.3f}")
    ratio = float(np.median(rates["shared"] / rates["single"]))
    verdict("24 orders, shared beginnings / 24 single forwards", ratio, ">= 3", ratio >= 3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    orders(arguments.rounds)
