"""What `heldout options` costs.

python benchmarks/bench_options.py [--rounds 5] [--only endpoint]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

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


def endpoint(rounds: int) -> None:
    """Requests per second of an EndpointChooser, every answer kept on disk, and of httpx that does nothing else."""
    root = Path(__file__).resolve().parents[1]
    for latency, at_once, n in ((0.0, 8, 1000), (0.02, 8, 1000), (0.05, 64, 3000)):
        command = [sys.executable, "-m", "tests.scorers.standin", "--latency", str(latency)]
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                rates = asked(server.stdout.readline().strip(), at_once, n, rounds)
            finally:
                server.terminate()
        ratios = rates["kept"] / rates["bare"]
        ratio = float(np.median(ratios))
        print(f"bare httpx {np.median(rates['bare']):,.0f} requests/s; ratios {ratios.round(2)}")
        name = f"endpoint / bare httpx, {at_once} at once, latency {1000 * latency:g} ms"
        verdict(name, ratio, ">= 0.9", ratio >= 0.9)


def asked(url: str, at_once: int, n: int, rounds: int) -> dict[str, np.ndarray]:
    """Requests a second of both sides, which send the same."""
    import httpx

    from heldout.scorers import EndpointChooser
    from heldout.scorers.choices import Shown
    from heldout.scorers.prompts import CHAT, prompt

    shown = [
        Shown(f"Question {i}, " + "of some length " * 40 + "?", ("Rome", "Oslo", "Bonn", "Riga")) for i in range(n)
    ]
    fields = {"model": "stand-in", "temperature": 0, "max_tokens": 16, "logprobs": True, "top_logprobs": 20}
    bodies = [{**fields, "messages": [{"role": "user", "content": prompt(one, CHAT)}]} for one in shown]

    def kept() -> int:
        with tempfile.TemporaryDirectory() as folder:
            chooser = EndpointChooser(url, "stand-in", cache=folder, concurrency=at_once)
            assert all(choice.log_probs for choice in chooser.choose(shown))
        assert chooser.answered == n
        return n

    async def bare() -> None:
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        async with httpx.AsyncClient(limits=limits, verify=False) as client:  # as for any http:// address
            queue = iter(bodies)

            async def work() -> None:
                for body in queue:
                    response = await client.post(f"{url}/chat/completions", json=body)
                    assert response.json()["choices"][0]["message"]["content"]

            await asyncio.gather(*(work() for _ in range(at_once)))

    def run_bare() -> int:
        asyncio.run(bare())
        return n

    return alternate({"kept": kept, "bare": run_bare}, rounds=rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("orders", "endpoint"))
    arguments = parser.parse_args()
    for each in (orders, endpoint):
        if arguments.only in (None, each.__name__):
            each(arguments.rounds)
