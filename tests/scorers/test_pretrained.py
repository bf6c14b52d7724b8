"""Folders are read as `save_pretrained` writes them; what is somebody else's stays where it is."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace

import pytest

from heldout import InputError
from heldout.scorers import CausalChooser, pretrained
from tests.scorers.causal_models import asked, assert_close, byte_tokenizer, llama, log_probs, made, torch


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


def test_a_folder_is_not_copied_and_somebodys_model_is(tmp_path, monkeypatch):
    """What was loaded here is moved to a device; what was handed over stays where it is."""
    model, tokenizer = made(llama), byte_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr(pretrained, "check_device", torch.device)  # "meta" stands for a GPU
    copied = []
    monkeypatch.setattr(pretrained, "copy", SimpleNamespace(deepcopy=lambda it: copied.append(it) or copy.deepcopy(it)))
    assert CausalChooser(tmp_path, device="meta").device.type == "meta"
    assert copied == []
    assert CausalChooser(model, tokenizer, device="meta").device.type == "meta"
    assert copied == [model]
    assert model.device.type == "cpu"
    assert CausalChooser(model, tokenizer, device="cpu")._model is model


def test_refused(tmp_path):
    def refusal():
        with pytest.raises(InputError) as refused:
            CausalChooser(tmp_path)
        return str(refused.value)

    assert "has no config.json" in refusal()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    assert "it has no weights" in refusal()
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert "does not load as a causal language model" in refusal()
