"""Causal language models give the letters' log-probabilities that whole prompts have, however they are batched."""

from __future__ import annotations

import copy
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest

from heldout import InputError
from heldout.scorers import CausalChooser, causal
from heldout.scorers.causal import common_beginning, stretches
from heldout.scorers.choices import LETTERS, Chooser, Shown
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


def test_printed_order_plays_no_part():
    """The same bits whichever order of an item comes first."""
    model, tokenizer, shown = made(gpt2), byte_tokenizer(), asked()
    first = log_probs(CausalChooser(model, tokenizer, batch_size=10).choose(shown))
    back = log_probs(CausalChooser(model, tokenizer, batch_size=10).choose(shown[::-1]))[::-1]
    assert all((a == b).all() for a, b in zip(first, back, strict=True))


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


def phi():
    """Positions have other frequencies in prompts of more than 100 tokens."""
    factors = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [3.0] * 4}
    config = transformers.Phi3Config(
        vocab_size=400, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=256, original_max_position_embeddings=100, pad_token_id=0,
        rope_scaling=factors,
    )  # fmt: skip
    return transformers.Phi3ForCausalLM(config)


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

    monkeypatch.setattr(CausalChooser, "_agrees", agrees)
    model, tokenizer = made(llama), byte_tokenizer()
    orders = list(itertools.permutations(TEXTS[1:4]))
    batches = [[Shown(f"{' '.join(TEXTS * times)} {i}?", order) for i in range(2) for order in orders]
               for times in (0, 3, 5, 7)]  # fmt: skip
    batches.append([*batches[0], *batches[2]])

    def decided(which):
        chooser, found = CausalChooser(model, tokenizer), []
        for i in which:
            batch = [asked for item in chooser._prompts(batches[i]) for asked in item]
            found.append(chooser._can_share(batch))
        return found

    alone = [decided([i])[0] for i in range(len(batches))]
    assert True in alone
    assert (False in alone) == bool(unsound)
    for which in itertools.permutations(range(len(batches))):
        assert decided(which) == [alone[i] for i in which]


def test_a_folder_is_not_copied_and_somebodys_model_is(tmp_path, monkeypatch):
    """What was loaded here is moved to a device; what was handed over stays where it is."""
    model, tokenizer = made(llama), byte_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr(causal, "check_device", torch.device, raising=False)  # "meta" stands for a GPU
    copied = []
    monkeypatch.setattr(causal, "copy", SimpleNamespace(deepcopy=lambda it: copied.append(it) or copy.deepcopy(it)))
    assert CausalChooser(tmp_path, device="meta").device.type == "meta"
    assert copied == []
    assert CausalChooser(model, tokenizer, device="meta").device.type == "meta"
    assert copied == [model]
    assert model.device.type == "cpu"
    assert CausalChooser(model, tokenizer, device="cpu")._model is model


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


def test_folder(tmp_path, capfd):
    """As `save_pretrained` writes it, in the precision in which it was saved, without a word on the terminal."""
    model, tokenizer, shown = made(llama), byte_tokenizer(), asked()[:6]
    for dtype, name in ((torch.bfloat16, "half"), (torch.float32, "tiny")):
        copy.deepcopy(model).to(dtype).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
    capfd.readouterr()
    assert CausalChooser(tmp_path / "half").precision == "bfloat16"
    chooser = CausalChooser(tmp_path / "tiny")
    assert (chooser.name, chooser.precision) == ("tiny", "float32")
    assert_close(log_probs(chooser.choose(shown)), log_probs(CausalChooser(model, tokenizer).choose(shown)))
    assert capfd.readouterr().err == ""


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


def test_refused(tmp_path):
    model, tokenizer, shown = made(llama), byte_tokenizer(), asked()

    def refusal(*args, questions=shown, **options):
        with pytest.raises(InputError) as refused:
            CausalChooser(*args, **options).choose(questions)
        return str(refused.value)

    assert "`tokenizer` is missing" in refusal(model)
    assert "has no config.json" in refusal(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert "it has no weights" in refusal(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert "does not load as a causal language model" in refusal(tmp_path)
    assert "`batch_size`" in refusal(model, tokenizer, batch_size=0)
    assert "no such device" in refusal(model, tokenizer, device="cuda:9")
    assert "`template`" in refusal(model, tokenizer, template="{question}")
    long = [Shown("so " * 300, ("yes", "no"))]
    assert "1 question is too long" in refusal(model, tokenizer, questions=long)
    assert "2 questions are too long" in refusal(model, tokenizer, questions=[*long, Shown("as " * 300, ("yes", "no"))])
    assert "do not belong together" in refusal(made(lambda: llama(vocab_size=20)), tokenizer)
    wordy = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "Answer": 1}, unk_token="?"))
    wordy = transformers.PreTrainedTokenizerFast(tokenizer_object=wordy)
    assert "no token of its own for each of the letters A to D after" in refusal(model, wordy)
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    assert "NaN or infinite" in refusal(model, tokenizer)


def test_stretches_are_the_cheapest():
    """Against every set of columns."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        common = rng.choice([0, 3, 10, 14, 21], size=7)
        length, call = 30, int(rng.integers(0, 40))

        def cost(cuts, common=common, length=length, call=call):
            ends = [0, *cuts]
            runs = [(1 + (common < b).sum()) * (b - a) + call for a, b in itertools.pairwise(ends)]
            return sum(runs) + (len(common) + 1) * (length - ends[-1])

        every = [cuts for n in range(5) for cuts in itertools.combinations([3, 10, 14, 21], n)]
        assert cost(stretches(common, length, call)) == min(map(cost, every))
    assert common_beginning(np.array([1, 2, 3]), np.array([1, 2, 4, 5])) == 2
    assert common_beginning(np.array([1, 2]), np.array([1, 2, 4])) == 2
