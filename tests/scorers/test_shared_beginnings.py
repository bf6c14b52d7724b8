"""Beginnings of prompts are computed once where that changes nothing, and only there."""

from __future__ import annotations

import itertools

import pytest

from heldout.scorers import CausalChooser
from heldout.scorers.choices import Shown
from heldout.scorers.forward import Forward
from heldout.scorers.prompts import PLAIN, prompt
from heldout.scorers.shared_beginnings import SharedBeginnings
from heldout.scorers.tokens import Encoder
from tests.scorers.causal_models import (
    TEXTS,
    asked,
    assert_close,
    byte_tokenizer,
    llama,
    log_probs,
    made,
    mamba,
    phi,
    plainly,
    transformers,
)


def test_shares_what_prompts_have_in_common():
    """Tokens through the model: fewer than half of those of whole prompts, and no logits but the last ones."""
    model, tokenizer, shown = made(llama), byte_tokenizer(), asked()[:24]
    shown = [
        Shown("Once more, at length: " + " ".join(TEXTS * 2) + " " + each.question, each.options) for each in shown
    ]
    chooser = CausalChooser(model, tokenizer)
    chooser.choose(shown)  # the check
    run, kept = [], []
    model.register_forward_hook(lambda _, args, kwargs, out: run.append(kwargs["input_ids"].numel()), with_kwargs=True)
    model.lm_head.register_forward_hook(lambda _, args, out: kept.append(out.shape[:-1].numel()))
    chooser.choose(shown)
    assert sum(run) < 0.35 * sum(len(tokenizer(prompt(each))["input_ids"]) for each in shown)
    assert sum(kept) < 24 * 4


@pytest.mark.parametrize("build", [mamba])
def test_models_whose_cache_cannot_be_copied(build):
    model, tokenizer, shown = made(build), byte_tokenizer(), asked()[:30]
    chooser = CausalChooser(model, tokenizer, batch_size=9)
    assert_close(log_probs(chooser.choose(shown)), plainly(model, tokenizer, shown))


def test_cache_that_changes_answers_is_not_used():
    """A model that forgets what its cache holds is found out on the first batch, and runs whole prompts."""

    class Forgetful(transformers.LlamaForCausalLM):
        def forward(self, *args, past_key_values=None, **options):
            if past_key_values is not None:
                for layer in past_key_values.layers:
                    layer.values = layer.values * 0.5
            return super().forward(*args, past_key_values=past_key_values, **options)

    model, tokenizer, shown = made(lambda: Forgetful(llama().config)), byte_tokenizer(), asked()
    chooser = CausalChooser(model, tokenizer)
    assert_close(log_probs(chooser.choose(shown)), plainly(model, tokenizer, shown))
    assert chooser.shares is False


def test_a_model_that_reads_long_prompts_otherwise():
    """Whichever lengths come first: a cache from below the length at which the model changes is never used above."""
    model, tokenizer = made(phi), byte_tokenizer()
    orders = list(itertools.permutations(TEXTS[1:4]))
    short, middle, long = (
        [Shown(f"{' '.join(TEXTS * times)} {i}?", order) for i in range(3) for order in orders] for times in (0, 4, 6)
    )
    expected = {
        shown: row
        for part in (short, middle, long)
        for shown, row in zip(part, plainly(model, tokenizer, part), strict=True)
    }
    for parts in ((short, middle, long), (long, short, middle), (long, middle, short)):
        chooser = CausalChooser(model, tokenizer)
        for part in parts:
            assert_close(log_probs(chooser.choose(part)), [expected[shown] for shown in part])
        both = chooser.choose([*short, *long])
        assert_close(log_probs(both), [expected[shown] for shown in (*short, *long)])
        assert chooser.shares is False


@pytest.mark.parametrize("unsound", [{0}, {1}, {2}, {1, 2}, set()])
def test_what_was_asked_before_does_not_decide_what_is_shared(unsound, monkeypatch):
    """A run that is resumed has not seen the batches before; each must be decided as if it were the first."""

    def agrees(self, batch, cuts):
        return not any(64 * block < max(len(asked.tokens) for asked in batch) <= 64 * (block + 1) for block in unsound)

    monkeypatch.setattr(SharedBeginnings, "_agrees", agrees)
    model = Forward(made(llama))
    encoder = Encoder(byte_tokenizer(), PLAIN, model="llama", n_known=model.n_known)
    orders = list(itertools.permutations(TEXTS[1:4]))
    batches = [[Shown(f"{' '.join(TEXTS * times)} {i}?", order) for i in range(2) for order in orders]
               for times in (0, 3, 5, 7)]  # fmt: skip
    batches.append([*batches[0], *batches[2]])

    def decided(which):
        beginnings = SharedBeginnings(model, encoder)
        return [
            beginnings.can_be_shared([asked for item in encoder.items(batches[i]) for asked in item]) for i in which
        ]

    alone = [decided([i])[0] for i in range(len(batches))]
    assert True in alone
    assert (False in alone) == bool(unsound)
    for which in itertools.permutations(range(len(batches))):
        assert decided(which) == [alone[i] for i in which]
