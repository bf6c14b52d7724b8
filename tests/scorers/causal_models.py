"""Small causal language models with random weights, questions for them, and what they say to whole prompts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from heldout.scorers.choices import LETTERS, Shown
from heldout.scorers.prompts import prompt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["tepid water boils", "a red fox", "the north sea", "old oaks", "none", "two grey stones on a hill"]


def byte_tokenizer(**options):
    """Bytes, merged as learned from a few texts: options are of several tokens, and merge with what is around them."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=360, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator([*TEXTS, *(f"Answer: {letter}" for letter in LETTERS)], trainer)
    if options:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            special_tokens=[("<s>", 0), ("</s>", 1)], **options
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def llama(**changes):
    sizes = {"vocab_size": 400, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**sizes, **heads, **changes}))


def mistral(window=12):
    config = transformers.MistralConfig(
        vocab_size=400, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, sliding_window=window,
    )  # fmt: skip
    return transformers.MistralForCausalLM(config)


def gpt2():
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=400, n_positions=256, n_embd=32, n_layer=2, n_head=4)
    )


def bloom():
    return transformers.BloomForCausalLM(transformers.BloomConfig(vocab_size=400, hidden_size=32, n_layer=2, n_head=4))


def mamba():
    return transformers.MambaForCausalLM(
        transformers.MambaConfig(vocab_size=400, hidden_size=32, num_hidden_layers=2, state_size=4)
    )


def phi():
    """Positions have other frequencies in prompts of more than 100 tokens."""
    factors = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [3.0] * 4}
    config = transformers.Phi3Config(
        vocab_size=400, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=256, original_max_position_embeddings=100, pad_token_id=0,
        rope_scaling=factors,
    )  # fmt: skip
    return transformers.Phi3ForCausalLM(config)


def made(build):
    torch.manual_seed(0)
    model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # so that a letter depends on all that is before it
    return model.eval()


def asked():
    """Three items, with four, three and two options, in all their orders."""
    items = [
        ("What did he see?", TEXTS[:4]),
        ("Where?", TEXTS[2:5]),
        ("Which of them came first, and why so late?", TEXTS[4:]),
    ]
    return [Shown(question, order) for question, options in items for order in itertools.permutations(options)]


def plainly(model, tokenizer, shown):
    """The oracle: each prompt as a whole, alone, without a cache; a letter is the token after it."""
    found = []
    for each in shown:
        text = prompt(each)
        rows = [tokenizer(f"{text} {letter}")["input_ids"] for letter in LETTERS[: len(each.options)]]
        with torch.no_grad():
            logits = model(torch.tensor([rows[0][:-1]]), use_cache=False).logits[0, -1]
        found.append(torch.log_softmax(logits.double(), -1)[[row[-1] for row in rows]].numpy())
    return found


def log_probs(choices):
    return [np.array(choice.log_probs) for choice in choices]


def assert_close(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-4)
