"""Prompts end where a letter begins, whatever a tokenizer puts around them; those without such a place are refused."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError
from heldout.scorers import CausalChooser
from heldout.scorers.choices import LETTERS, Shown
from heldout.scorers.prompts import prompt
from tests.scorers.causal_models import (
    asked,
    assert_close,
    byte_tokenizer,
    llama,
    log_probs,
    made,
    tokenizers,
    torch,
    transformers,
)


def test_tokens_around_the_letter():
    """A first token, a last one, a template that ends in a bracket; tokens merge across the question's end."""
    model, shown = made(llama), asked()[:6]
    bare = CausalChooser(model, byte_tokenizer())
    expected = log_probs(bare.choose(shown))
    closed = CausalChooser(model, byte_tokenizer(single="$A </s>"))
    assert_close(log_probs(closed.choose(shown)), expected)
    opened = CausalChooser(model, byte_tokenizer(single="<s> $A"))
    assert not np.allclose(log_probs(opened.choose(shown))[0], expected[0])
    template = "{question}\n{options}\nAnswer: ("
    tokenizer = byte_tokenizer()
    (choice,) = CausalChooser(model, tokenizer, template=template).choose(shown[:1])
    ids = tokenizer(prompt(shown[0], template))["input_ids"]
    with torch.no_grad():
        all_of_them = torch.log_softmax(model(torch.tensor([ids])).logits[0, -1].double(), -1)
    letters = [tokenizer(letter)["input_ids"][0] for letter in LETTERS[:4]]
    np.testing.assert_allclose(choice.log_probs, all_of_them[letters], atol=2e-4)


def test_refused():
    model, tokenizer = made(llama), byte_tokenizer()

    def refusal(model, tokenizer, questions):
        with pytest.raises(InputError) as refused:
            CausalChooser(model, tokenizer).choose(questions)
        return str(refused.value)

    long = [Shown("so " * 300, ("yes", "no"))]
    assert "1 question is too long" in refusal(model, tokenizer, long)
    assert "2 questions are too long" in refusal(model, tokenizer, [*long, Shown("as " * 300, ("yes", "no"))])
    assert "do not belong together" in refusal(made(lambda: llama(vocab_size=20)), tokenizer, asked())
    wordy = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "Answer": 1}, unk_token="?"))
    wordy = transformers.PreTrainedTokenizerFast(tokenizer_object=wordy)
    assert "no token of its own for each of the letters A to D after" in refusal(model, wordy, asked())
