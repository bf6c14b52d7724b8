"""Causal language models of `transformers`: how probable the options' letters are, in all orders of an item at once.

Which order is the printed one plays no part in any of this: batches depend on the sets of prompts alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count
from heldout.errors import InputError, import_extra, told
from heldout.scorers.batches import OutOfMemoryError, free_memory, ran_out_of_memory
from heldout.scorers.choices import Choice, Shown, Tell
from heldout.scorers.forward import Forward
from heldout.scorers.pretrained import EXTRA, check_saved, load, placed
from heldout.scorers.prompts import PLAIN, check_template
from heldout.scorers.shared_beginnings import SharedBeginnings
from heldout.scorers.tokens import Encoded, Encoder
from heldout.scorers.torch import keep_freed_memory

BATCH = {"cpu": 32, "cuda": 128}  # prompts at once


class CausalChooser:
    """A causal language model of `transformers` that chooses an option by the log-probability of its letter.

    The model runs in eval mode and inside `torch.inference_mode`; whether it was training, its device and its precision
    stay as they are.

    Parameters
    ----------
    model : path or transformers.PreTrainedModel
        A folder with a model and its tokenizer as `save_pretrained` writes them (nothing is downloaded), or the model.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        Needed where `model` is no folder.
    batch_size : int, optional
        Prompts at once, one for each order; 32 on a CPU and 128 on a GPU without. Halved where memory runs out.
    device : str, optional
        "cpu", "cuda", "cuda:1", ...; default: where the model is, and for a folder the first GPU where there is one.
    template : str, optional
        Of the prompt, with {question}, {options} and perhaps {letters}; without, the question, a line "A. ..." for each
        option, and "Answer:".

    Attributes
    ----------
    precision : str
        Of its arithmetic: "float32", "tf32" (float32 whose products are rounded, on GPUs where torch is told to),
        "bfloat16", "float16".
    shares : bool or None
        Whether beginnings of prompts are computed once; False where the model's cache cannot be copied or answers then
        differ by more than rounding, at some length at least: batches of such lengths run as whole prompts. None before
        the first batch.

    Examples
    --------
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    >>> from heldout.scorers import CausalChooser, Shown
    >>> words = {word: i for i, word in enumerate(["?", "Answer", ":", ".", "A", "B", "two", "four"])}
    >>> tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> net = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_positions=64, n_embd=8, n_layer=1, n_head=1))
    >>> model = CausalChooser(net, PreTrainedTokenizerFast(tokenizer_object=tokenizer))
    >>> choice, _ = model.choose([Shown("2 + 2", ("two", "four")), Shown("2 + 2", ("four", "two"))])
    >>> len(choice.log_probs)
    2
    """

    name: str

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        batch_size: int | None = None,
        device: str | None = None,
        template: str | None = None,
    ) -> None:
        if isinstance(model, (str, os.PathLike)):
            check_saved(Path(model))
        self._torch = import_extra("torch", extra=EXTRA)
        if batch_size is not None:
            check_count(batch_size, "batch_size")
        if isinstance(model, (str, os.PathLike)):
            self._model, own = load(Path(model), device)
            tokenizer = own if tokenizer is None else tokenizer
            self.name = Path(model).resolve().name
        else:
            if tokenizer is None:
                raise InputError("`tokenizer` is missing: a model that is not a folder does not bring its own.")
            self._model = model if device is None else placed(model, device)
            self.name = type(model).__name__
        template = PLAIN if template is None else check_template(template)
        self._forward = Forward(self._model)
        self._encoder = Encoder(tokenizer, template, model=self.name, n_known=self._forward.n_known)
        self._beginnings = SharedBeginnings(self._forward, self._encoder)
        self.batch_size = batch_size or BATCH.get(self.device.type, BATCH["cuda"])
        if self.device.type == "cpu":
            keep_freed_memory()  # 24 orders of 240 tokens through 25 million weights: 1.02 s instead of 1.15

    @property
    def tokenizer(self) -> Any:
        """Of the prompts."""
        return self._encoder.tokenizer

    @property
    def template(self) -> str:
        """Of the prompts."""
        return self._encoder.template

    @property
    def shares(self) -> bool | None:
        """Whether beginnings of prompts are computed once."""
        return self._beginnings.are_sound

    @property
    def device(self) -> Any:
        """Where it takes its tokens."""
        return self._forward.device

    @property
    def precision(self) -> str:
        """Of its arithmetic."""
        return self._forward.precision

    def choose(self, shown: Sequence[Shown], tell: Tell | None = None) -> list[Choice]:
        """The option whose letter is the most probable one after the prompt, the first of equals.

        Parameters
        ----------
        shown : sequence of Shown
            What to ask.
        tell : function, optional
            Told how many more are answered, after each batch.

        Returns
        -------
        list of Choice
            As many, each with the natural logarithms of the letters' probabilities among all tokens.
        """
        items = deque(self._encoder.items(shown, self._forward.room)) if shown else deque()
        found: dict[int, Choice] = {}
        while items:
            batch = next_batch(items, self.batch_size)
            try:
                values = self._log_probs(batch)
            except OutOfMemoryError:
                if len(batch) == 1:
                    raise
                self.batch_size = len(batch) // 2
                free_memory()
                items.appendleft(batch)
                continue
            for asked, row in zip(batch, values, strict=True):
                found[asked.number] = Choice(int(np.argmax(row)), tuple(row.tolist()))
            if tell is not None:
                tell(len(batch))
        return [found[number] for number in range(len(shown))]

    def digest(self) -> str:
        """Of the weights, the tokenizer, the prompt, the precision and the kind of device.

        Returns
        -------
        str
            16 hexadecimal digits.
        """
        config = {key: value for key, value in self._model.config.to_dict().items() if key != "_name_or_path"}
        told_by = (type(self._model).__qualname__, self.device.type, self.precision, self.template)
        h = hashlib.sha256(json.dumps([told_by, config], sort_keys=True, default=str).encode())
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        vocabulary = backend.to_str() if backend is not None else json.dumps(sorted(self.tokenizer.get_vocab().items()))
        h.update(vocabulary.encode())
        for name, tensor in self._model.state_dict().items():
            h.update(name.encode())
            h.update(tensor.detach().cpu().contiguous().reshape(-1).view(self._torch.uint8).numpy())
        return h.hexdigest()[:16]

    def _log_probs(self, batch: Sequence[Encoded]) -> list[NDArray[np.float64]]:
        """Of the letters, for each prompt."""
        longest = max(len(asked.tokens) for asked in batch)
        try:
            with self._forward.inferring():
                values = self._of_letters(self._beginnings.logits(batch), batch)
        except InputError:
            raise
        except Exception as error:
            what = f"{len(batch)} prompts of up to {longest:,} tokens" if len(batch) > 1 else f"{longest:,} tokens"
            if ran_out_of_memory(error):
                way_out = "give a smaller `batch_size`" if len(batch) > 1 else "choose another `device`"
                raise OutOfMemoryError(f"the model {self.name} runs out of memory on {what}; {way_out}.") from error
            raise InputError(f"the model {self.name} fails on {what}: {told(error)}.") from error
        if not all(np.isfinite(row).all() for row in values):
            raise InputError(f"the model {self.name} returns NaN or infinite logits in {self.precision}.")
        return values

    def _of_letters(self, logits: Any, batch: Sequence[Encoded]) -> list[NDArray[np.float64]]:
        """Log-probabilities of each prompt's letters, in float64 from here on."""
        torch = self._torch
        every = torch.logsumexp(logits, dim=-1).cpu().numpy().astype(np.float64)
        most = max(len(asked.letters) for asked in batch)
        letters = np.stack([np.pad(asked.letters, (0, most - len(asked.letters)), mode="edge") for asked in batch])
        of_letters = logits.gather(1, torch.from_numpy(letters).to(logits.device)).cpu().numpy().astype(np.float64)
        return [of_letters[i, : len(asked.letters)] - every[i] for i, asked in enumerate(batch)]


def next_batch(items: deque[list[Encoded]], size: int) -> list[Encoded]:
    """Takes the next prompts, whole items as long as they fit."""
    batch = items.popleft()
    if len(batch) > size:
        items.appendleft(batch[size:])
        return batch[:size]
    batch = list(batch)
    while items and len(batch) + len(items[0]) <= size:
        batch += items.popleft()
    return batch
