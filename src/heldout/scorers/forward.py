"""A causal language model of `transformers` as it is run: tokens in, logits or a key-value cache out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import import_extra
from heldout.scorers.pretrained import EXTRA
from heldout.scorers.tokens import Tokens
from heldout.workers.switches import rounds_products


class Forward:
    """A model, one pass at a time.

    Rows of tokens are of one length and stand at the same positions. None is masked: a causal model's token sees what
    stands before it and nothing else.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Wherever it is.
    """

    def __init__(self, model: Any) -> None:
        self._torch = import_extra("torch", extra=EXTRA)
        self._model = model
        self._first = model.get_input_embeddings().weight
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    @property
    def device(self) -> Any:
        """Where it takes its tokens."""
        return self._first.device

    @property
    def precision(self) -> str:
        """Of its arithmetic."""
        precision = str(self._model.dtype).removeprefix("torch.")
        rounds = self.device.type == "cuda" and precision == "float32" and rounds_products(self._torch)
        return "tf32" if rounds else precision

    @property
    def n_known(self) -> int:
        """Tokens that it knows."""
        return int(self._first.shape[0])

    @property
    def room(self) -> int | None:
        """Tokens that it has positions for; None where it does not say."""
        room = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        return room if isinstance(room, int) and room > 0 else None

    @contextlib.contextmanager
    def inferring(self) -> Iterator[None]:
        """In eval mode and without gradients inside; afterwards each module as it was."""
        with evaluating(self._model), self._torch.inference_mode():
            yield

    def logits(self, tokens: Tokens, read: Sequence[int], cache: Any = None, start: int = 0) -> Any:
        """At one column of each row; the cache holds what stands before column `start`."""
        torch = self._torch
        columns, at = np.unique(read, return_inverse=True)
        out = self._pass(tokens, columns, cache, start, use_cache=cache is not None)
        places = torch.from_numpy(at if self._keeps else np.asarray(read))
        logits = out.logits[torch.arange(len(tokens)), places]
        return logits if logits.dtype == torch.float64 else logits.float()

    def extended(self, cache: Any, tokens: Tokens, start: int) -> Any:
        """A cache that holds these tokens, too, and nothing else where there was none; no logits are read."""
        return self._pass(tokens, np.zeros(1, dtype=np.int64), cache, start, use_cache=True).past_key_values

    def branch(self, cache: Any, rows: NDArray[np.int64]) -> None:
        """Have a cache hold these of its rows, as often as they are named; what a beam search does with it."""
        cache.reorder_cache(self._torch.from_numpy(rows).to(self.device))

    def _pass(self, tokens: Tokens, columns: NDArray[np.int64], cache: Any, start: int, *, use_cache: bool) -> Any:
        torch = self._torch
        options: dict[str, Any] = {"use_cache": use_cache}
        if cache is not None:
            options["past_key_values"] = cache
        if self._keeps:  # of the logits, which are many at the size of a vocabulary
            options["logits_to_keep"] = torch.from_numpy(columns).to(self.device)
        seen = torch.ones((len(tokens), start + tokens.shape[1]), dtype=torch.int64, device=self.device)
        return self._model(input_ids=torch.from_numpy(tokens).to(self.device), attention_mask=seen, **options)


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """In eval mode inside; afterwards each module as it was."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
