"""Causal language models give the letters' log-probabilities that whole prompts have, however they are batched."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import InputError
from heldout.scorers import CausalChooser
from heldout.scorers.choices import Chooser
from tests.scorers.causal_models import (
    asked,
    assert_close,
    bloom,
    byte_tokenizer,
    gpt2,
    llama,
    log_probs,
    made,
    mistral,
    plainly,
    torch,
)


@pytest.mark.parametrize("build", [gpt2, llama, mistral, bloom])
def test_equal_to_whole_prompts_in_any_batch(build):
    model, tokenizer, shown = made(build), byte_tokenizer(), asked()
    expected = plainly(model, tokenizer, shown)
    spread = np.ptp([row[0] for row in expected[:24]])
    assert spread > 0.01  # orders do matter to the model
    for size in (1, 7, 64):
        chooser = CausalChooser(model, tokenizer, batch_size=size)
        choices = chooser.choose(shown)
        assert_close(log_probs(choices), expected)
        assert [choice.chosen for choice in choices] == [int(np.argmax(row)) for row in log_probs(choices)]
        assert chooser.shares is (None if size == 1 else True)
    mixed = np.random.default_rng(0).permutation(len(shown))
    again = CausalChooser(model, tokenizer).choose([shown[i] for i in mixed])
    assert_close(log_probs(again), [expected[i] for i in mixed])


def test_printed_order_plays_no_part():
    """The same bits whichever order of an item comes first."""
    model, tokenizer, shown = made(gpt2), byte_tokenizer(), asked()
    first = log_probs(CausalChooser(model, tokenizer, batch_size=10).choose(shown))
    back = log_probs(CausalChooser(model, tokenizer, batch_size=10).choose(shown[::-1]))[::-1]
    assert all((a == b).all() for a, b in zip(first, back, strict=True))


def test_model_stays_as_it_is_and_tell_counts():
    model, tokenizer, shown = made(gpt2), byte_tokenizer(), asked()
    model.train()
    model.transformer.h[0].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    told: list[int] = []
    chooser = CausalChooser(model, tokenizer, batch_size=8)
    assert isinstance(chooser, Chooser)
    first, second = (log_probs(chooser.choose(shown, told.append)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))  # no dropout
    assert sum(told) == 2 * len(shown)
    assert model.training
    assert not model.transformer.h[0].training
    assert all((tensor == before[name]).all() for name, tensor in model.state_dict().items())


def test_digest():
    model, tokenizer = made(gpt2), byte_tokenizer()
    digest = CausalChooser(model, tokenizer).digest()
    assert digest == CausalChooser(model, byte_tokenizer(), batch_size=3).digest()
    others = [
        CausalChooser(model, tokenizer, template="{question}\n{options}\nThe answer is").digest(),
        CausalChooser(model, byte_tokenizer(single="<s> $A")).digest(),
        CausalChooser(made(gpt2).to(torch.bfloat16), tokenizer).digest(),
    ]
    with torch.no_grad():
        model.transformer.wte.weight[0, 0] += 1
    others.append(CausalChooser(model, tokenizer).digest())
    assert len({digest, *others}) == 5


def test_memory_runs_out():
    """Batches are halved until they fit; one prompt that does not is refused."""

    def refuse_above(rows):
        def hook(_, args, kwargs):
            if len(kwargs["input_ids"]) > rows:
                raise torch.OutOfMemoryError("CUDA out of memory.")

        return hook

    model, tokenizer, shown = made(llama), byte_tokenizer(), asked()
    expected = log_probs(CausalChooser(model, tokenizer).choose(shown))
    handle = model.register_forward_pre_hook(refuse_above(5), with_kwargs=True)
    chooser = CausalChooser(model, tokenizer)
    assert_close(log_probs(chooser.choose(shown)), expected)
    assert chooser.batch_size <= 5
    handle.remove()
    model.register_forward_pre_hook(refuse_above(0), with_kwargs=True)
    with pytest.raises(InputError, match=r"runs out of memory on .* tokens; choose another `device`\."):
        CausalChooser(model, tokenizer).choose(shown)


def test_refused():
    model, tokenizer, shown = made(llama), byte_tokenizer(), asked()

    def refusal(*args, **options):
        with pytest.raises(InputError) as refused:
            CausalChooser(*args, **options).choose(shown)
        return str(refused.value)

    assert "`tokenizer` is missing" in refusal(model)
    assert "`batch_size`" in refusal(model, tokenizer, batch_size=0)
    assert "no such device" in refusal(model, tokenizer, device="cuda:9")
    assert "`template`" in refusal(model, tokenizer, template="{question}")
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    assert "NaN or infinite" in refusal(model, tokenizer)
