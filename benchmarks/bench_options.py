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
import time
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


def tails(rounds: int, n: int = 100_000) -> None:
    """The Poisson-binomial tail, and its log against direct convolution of 5,000 items in long doubles."""
    from heldout.statistics.poisson_binomial import poisson_binomial_log_tails

    rng = np.random.default_rng(0)
    for name, shares in (("any shares", rng.random(n)), ("24 orders", rng.integers(0, 25, n) / 24)):
        count = int(shares.sum() - 10 * np.sqrt((shares * (1 - shares)).sum()))
        started = time.perf_counter()
        poisson_binomial_log_tails(shares, count)
        seconds = time.perf_counter() - started
        verdict(f"Poisson-binomial tail, {n:,} items, {name}, seconds", seconds, "< 2", seconds < 2)
    shares = rng.random(5000)
    law = np.zeros(5001, dtype=np.longdouble)
    law[0] = 1
    for i, share in enumerate(shares.astype(np.longdouble)):
        law[1 : i + 2] = law[1 : i + 2] * (1 - share) + law[: i + 1] * share
        law[0] *= 1 - share
    below, worst = np.cumsum(law), 0.0
    for count in range(2150, 2550):
        if below[count] > 1e-30:
            exact = float(np.log(below[count]))
            worst = max(worst, abs(poisson_binomial_log_tails(shares, count).lower / exact - 1))
    verdict("its logarithm, 5,000 items, down to 1e-30, relative error", worst, "<= 1e-6", worst <= 1e-6)


def conditional(rounds: int, n: int = 10_000, n_resamples: int = 9_999) -> None:
    """The test given positions: errors and ranks at once, all 24 orders, and 8 drawn ones."""
    from heldout.statistics import arrangement_tests, order_ranks

    rng = np.random.default_rng(0)
    every = np.array(list(itertools.permutations(range(4))))
    at = np.argmax(every[None] == rng.integers(0, 4, n)[:, None, None], axis=2)
    wrong, scores = rng.random((n, 24)) < rng.random((n, 1)), rng.normal(size=(n, 24))
    drawn = np.concatenate([np.zeros((n, 1), dtype=int), 1 + rng.random((n, 23)).argsort(axis=1)[:, :8]], axis=1)
    for name, asked, limit in (("24 orders", np.tile(np.arange(24), (n, 1)), 20), ("8 drawn orders", drawn, None)):
        positions, errors, ranked = (np.take_along_axis(x, asked, axis=1).ravel() for x in (at, wrong, scores))
        starts = np.arange(n + 1) * asked.shape[1]
        values = np.stack([errors, order_ranks(starts, ranked)])
        size = 20 * asked.shape[1]
        arrangement_tests(starts[:21], positions[:size], values[:, :size], n_resamples=9, rng=rng)  # compiles
        started, cpu = time.perf_counter(), time.process_time()
        arrangement_tests(starts, positions, values, n_resamples=n_resamples, n_jobs=2, rng=rng)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        told = f"given positions, {n:,} items, {name}, B = {n_resamples:,}, seconds"
        if limit:
            verdict(told, seconds, f"< {limit}", seconds < limit)
        else:
            print(f"{told:58s} {seconds:10.3f}")
        print(f"{'CPU time of both cores':58s} {cpu:10.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rows = {row.__name__: row for row in (orders, endpoint, tails, conditional)}
    parser.add_argument("--only", choices=tuple(rows))
    arguments = parser.parse_args()
    for name, row in rows.items():
        if arguments.only in (None, name):
            row(arguments.rounds)
