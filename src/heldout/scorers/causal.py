"""Causal language models of `transformers`: how probable the options' letters are, in all orders of an item at once.

The orders of an item share the tokens of its question, and many of them those of their first options. Prompts are
sorted, so that what they share stands at their beginning, and run through the model column by column: a stretch of
columns is computed once for each different beginning, and the model's key-value cache is copied where beginnings part.
No token is padded on the left, and none that is padded on the right is seen by one that counts: a causal model needs no
mask for that, and its positions are those of the whole prompt.

Which order is the printed one plays no part in any of this: batches depend on the sets of prompts alone.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import itertools
import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.checks import check_count
from heldout.errors import InputError, import_extra, told
from heldout.scorers.batches import OutOfMemoryError, free_memory, ran_out_of_memory
from heldout.scorers.choices import LETTERS, Choice, Shown, Tell
from heldout.scorers.prepared import TOLERANCE, agree
from heldout.scorers.prompts import PLAIN, check_template, prompt
from heldout.scorers.torch import check_device, keep_freed_memory
from heldout.workers.switches import rounds_products

EXTRA = "transformers"
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack")
# Tokens that cost as much as running a model once more for few of them. On a CPU 0, 48 and 150 made no difference; a
# GPU takes about as long for a thousand tokens as for one.
CALL = {"cpu": 48, "cuda": 1024}
BATCH = {"cpu": 32, "cuda": 128}  # prompts at once
BLOCK = 64  # lengths that are checked together, in tokens
PROBE = Shown("Which of these came first, and why?", ("the red fox", "an old oak", "two grey stones", "cold water"))
AGREE = {**TOLERANCE, "float64": 1e-6, "float16": 2**-8}  # relative to the largest logit

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Encoded:
    """A prompt in tokens, and those of the letters that may follow it."""

    number: int  # among those asked
    tokens: Tokens
    letters: tuple[int, ...]

    @property
    def key(self) -> tuple[int, ...]:
        """By which prompts are sorted."""
        return tuple(self.tokens.tolist())


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
            folder = Path(model)
            wanted = check_device(device or ("cuda" if self._torch.cuda.is_available() else "cpu"))
            loaded, own = load(folder)
            self._model = loaded.to(wanted)
            self.tokenizer = own if tokenizer is None else tokenizer
            self.name = folder.resolve().name
        else:
            if tokenizer is None:
                raise InputError("`tokenizer` is missing: a model that is not a folder does not bring its own.")
            self._model = model if device is None else placed(model, device)
            self.tokenizer = tokenizer
            self.name = type(model).__name__
        self.template = PLAIN if template is None else check_template(template)
        self._first = self._model.get_input_embeddings().weight
        self.batch_size = batch_size or BATCH.get(self.device.type, BATCH["cuda"])
        if self.device.type == "cpu":
            keep_freed_memory()  # 24 orders of 240 tokens through 25 million weights: 1.02 s instead of 1.15
        self._keeps = "logits_to_keep" in inspect.signature(self._model.forward).parameters
        self._letters: dict[int, Letters] = {}
        self._sound: dict[int, bool] = {}  # of blocks of lengths: whether a cache from below holds for prompts above

    @property
    def shares(self) -> bool | None:
        """Whether beginnings of prompts are computed once."""
        return all(self._sound.values()) if self._sound else None

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
        items = deque(self._prompts(shown)) if shown else deque()
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

    # From texts to tokens

    def _prompts(self, shown: Sequence[Shown]) -> list[list[Encoded]]:
        """In tokens, those of an item together and sorted, the longest items first: where memory does not suffice, that
        shows at once, and so does a window that a cache is too long for."""
        texts = [prompt(each, self.template) for each in shown]
        letters = [self._letters_after(text, len(each.options)) for text, each in zip(texts, shown, strict=True)]
        rows = self._tokens([text + letter.gap + LETTERS[0] for text, letter in zip(texts, letters, strict=True)])
        items: dict[tuple[str, tuple[str, ...]], list[Encoded]] = {}
        for number, (row, letter, each) in enumerate(zip(rows, letters, shown, strict=True)):
            place = len(row) - letter.after
            if place < 1 or row[place] != letter.tokens[0]:  # here the letter hangs together with what is before it
                letter = self._find_letters(texts[number], len(each.options))
                row = self._tokens([texts[number] + letter.gap + LETTERS[0]])[0]
                place = len(row) - letter.after
            item = items.setdefault((each.question, tuple(sorted(each.options))), [])
            item.append(Encoded(number, row[:place], letter.tokens))
        self._check_room([asked for item in items.values() for asked in item], shown)
        for item in items.values():
            item.sort(key=lambda asked: asked.key)
        return sorted(items.values(), key=lambda item: (-max(len(asked.tokens) for asked in item), item[0].key))

    def _tokens(self, texts: list[str]) -> list[Tokens]:
        """Of each text, as the tokenizer begins it."""
        rows = [np.asarray(row, dtype=np.int64) for row in self.tokenizer(texts, verbose=False)["input_ids"]]
        known = self._first.shape[0]
        worst = max(int(row.max(initial=-1)) for row in rows)
        if worst >= known:
            raise InputError(
                f"the tokenizer writes token {worst:,}, but the model {self.name} knows {known:,}; they do not belong "
                "together. Give the model's own `tokenizer`."
            )
        return rows

    def _letters_after(self, text: str, k: int) -> Letters:
        """How k letters continue prompts of this template."""
        if k not in self._letters:
            self._letters[k] = self._find_letters(text, k)
        return self._letters[k]

    def _find_letters(self, text: str, k: int) -> Letters:
        """The tokens of k letters after a prompt: after a space where that makes each a token of its own."""
        gaps = ("",) if text[-1:].isspace() or text[-1:] in {"(", "[", "{"} else (" ", "")
        for gap in gaps:
            rows = self._tokens([text + gap + letter for letter in LETTERS[:k]])
            if len({len(row) for row in rows}) > 1:
                continue
            stacked = np.stack(rows)
            places = np.flatnonzero((stacked != stacked[0]).any(axis=0))
            if len(places) == 1 and len(np.unique(stacked[:, places[0]])) == k:
                place = int(places[0])
                return Letters(gap, tuple(stacked[:, place].tolist()), stacked.shape[1] - place)
        raise InputError(
            f"the tokenizer of {self.name} has no token of its own for each of the letters {LETTERS[0]} to "
            f"{LETTERS[k - 1]} after {text[-20:]!r}; give a `template` that ends otherwise, such as in 'Answer: ('."
        )

    @property
    def _room(self) -> int | None:
        """Tokens that the model has positions for; None where it does not say."""
        room = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        return room if isinstance(room, int) and room > 0 else None

    def _check_room(self, prompts: Sequence[Encoded], shown: Sequence[Shown]) -> None:
        """Refuse prompts that are longer than the model's positions."""
        room = self._room
        if room is None:
            return
        long = {shown[asked.number].question: len(asked.tokens) for asked in prompts if len(asked.tokens) > room}
        if long:
            question, length = next(iter(long.items()))
            raise InputError(
                f"{len(long):,} question{' is' if len(long) == 1 else 's are'} too long for the model {self.name}, "
                f"which takes {room:,} tokens: {question[:40]!r}... has {length:,} with its options; leave "
                f"{'it' if len(long) == 1 else 'them'} out."
            )

    # From tokens to log-probabilities

    def _log_probs(self, batch: Sequence[Encoded]) -> list[NDArray[np.float64]]:
        """Of the letters, for each prompt."""
        longest = max(len(asked.tokens) for asked in batch)
        try:
            with evaluating(self._model), self._torch.inference_mode():
                logits = self._shared(batch) if self._can_share(batch) else self._whole(batch)
                values = self._of_letters(logits, batch)
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

    def _can_share(self, batch: Sequence[Encoded]) -> bool:
        """Whether beginnings can be shared: the same logits as of whole prompts, up to rounding.

        Some models read their tokens otherwise from a certain length on (a second set of frequencies for positions, a
        window), and then a cache from below that length does not fit a prompt above it. A batch spans the lengths from
        its first stretch of columns, or its shortest prompt, to its longest one, and shares its beginnings where each
        block of lengths that it touches is sound. That is a property of the model and the block alone, checked on
        prompts of our own: neither the batch nor what was asked before decides it, so that a run which is resumed
        decides alike.
        """
        common, cuts = self._columns(batch)
        if not common.any():
            return False
        lengths = [len(asked.tokens) for asked in batch]
        first, last = cuts[0] if cuts else min(lengths), max(lengths)
        return all(self._is_sound(block) for block in range(first // BLOCK, -(-last // BLOCK)))

    def _is_sound(self, block: int) -> bool:
        """Whether a cache of the least length of a block holds for prompts up to its greatest one."""
        if block not in self._sound:
            self._sound[block] = self._agrees(*self._probe(block))
        return self._sound[block]

    def _probe(self, block: int) -> tuple[list[Encoded], list[int]]:
        """Three prompts that part where a block begins and in its middle, one of them short; and these columns."""
        first, last = max(1, block * BLOCK), (block + 1) * BLOCK
        last = last if self._room is None else min(last, self._room)
        middle = (first + last) // 2
        text = self._tokens([prompt(PROBE, self.template)])[0]
        again = text[1:] if len(text) > 1 else text  # without the token that begins a text, if there is one
        one = np.concatenate([text[:1], np.resize(again, last - 1)])
        other = np.roll(one, 7)
        rows = (
            one,
            np.concatenate([one[:middle], other[middle : middle + 1]]),
            np.concatenate([one[:first], other[first:]]),
        )
        return [Encoded(i, row, ()) for i, row in enumerate(rows)], sorted({first, middle})

    def _agrees(self, batch: Sequence[Encoded], cuts: list[int]) -> bool:
        """Whether prompts that share their beginnings up to these columns have the logits of whole ones."""
        expected = self._torch.cat([self._whole([asked]) for asked in batch])
        try:
            found = self._shared(batch, cuts)
        except Exception as error:  # no cache, one that cannot be copied, or one that takes a single token at a time
            if ran_out_of_memory(error):
                raise
            return False
        return agree(found, expected, AGREE.get(self.precision, AGREE["bfloat16"]))

    def _whole(self, batch: Sequence[Encoded]) -> Any:
        """Each prompt from its first token to its last; those of one length together, so that none is padded."""
        lengths = np.array([len(asked.tokens) for asked in batch])
        parts, places = [], []
        for length in np.unique(lengths).tolist():
            places.append(np.flatnonzero(lengths == length))
            tokens = np.stack([batch[i].tokens for i in places[-1].tolist()])
            parts.append(self._forward(tokens, [length - 1] * len(tokens))[0])
        return self._torch.cat(parts)[self._torch.from_numpy(np.argsort(np.concatenate(places)))]

    def _shared(self, batch: Sequence[Encoded], cuts: list[int] | None = None) -> Any:
        """Column by column, each different beginning once; the batch is sorted within items."""
        rows = [asked.tokens for asked in batch]
        common, cheapest = self._columns(batch)
        cuts = cheapest if cuts is None else cuts
        cache, before, start = None, np.zeros(len(rows), dtype=np.int64), 0
        for end in cuts:
            new = np.concatenate([[True], common < end])
            heads = np.flatnonzero(new)
            if cache is not None:
                self._branch(cache, before[heads])
            _, cache = self._forward(np.stack([rows[i][start:end] for i in heads]), None, cache, start)
            before, start = np.cumsum(new) - 1, end
        if cache is not None:
            self._branch(cache, before)
        tails = [row[start:] for row in rows]
        width = max(map(len, tails))
        padded = np.stack([np.pad(tail, (0, width - len(tail)), mode="edge") for tail in tails])
        return self._forward(padded, [len(tail) - 1 for tail in tails], cache, start)[0]

    def _columns(self, batch: Sequence[Encoded], call: int | None = None) -> tuple[NDArray[np.int64], list[int]]:
        """How many tokens each prompt has in common with the next, and at which columns to branch."""
        call = CALL.get(self.device.type, CALL["cuda"]) if call is None else call
        rows = [asked.tokens for asked in batch]
        last = min(map(len, rows)) - 1  # what is read stands in the last stretch of columns
        common = np.array([min(last, common_beginning(a, b)) for a, b in itertools.pairwise(rows)], dtype=np.int64)
        return common, stretches(common, max(map(len, rows)), call)

    def _branch(self, cache: Any, rows: NDArray[np.int64]) -> None:
        """Have a cache hold these of its rows, as often as they are named; what a beam search does with it."""
        cache.reorder_cache(self._torch.from_numpy(rows).to(self.device))

    def _forward(
        self, tokens: Tokens, read: Sequence[int] | None, cache: Any = None, start: int = 0
    ) -> tuple[Any, Any]:
        """Logits at one column of each row, and no cache; or a cache, where nothing is read."""
        torch = self._torch
        options: dict[str, Any] = {"use_cache": read is None or cache is not None}
        if cache is not None:
            options["past_key_values"] = cache
        columns, at = np.unique([0] if read is None else read, return_inverse=True)
        if self._keeps:  # of the logits, which are many at the size of a vocabulary
            options["logits_to_keep"] = torch.from_numpy(columns).to(self.device)
        seen = torch.ones((len(tokens), start + tokens.shape[1]), dtype=torch.int64, device=self.device)
        out = self._model(input_ids=torch.from_numpy(tokens).to(self.device), attention_mask=seen, **options)
        if read is None:
            return None, out.past_key_values
        places = torch.from_numpy(at if self._keeps else np.asarray(read))
        logits = out.logits[torch.arange(len(tokens)), places]
        return logits if logits.dtype == torch.float64 else logits.float(), None

    def _of_letters(self, logits: Any, batch: Sequence[Encoded]) -> list[NDArray[np.float64]]:
        """Log-probabilities of each prompt's letters, in float64 from here on."""
        torch = self._torch
        every = torch.logsumexp(logits, dim=-1).cpu().numpy().astype(np.float64)
        most = max(len(asked.letters) for asked in batch)
        letters = np.stack([np.pad(asked.letters, (0, most - len(asked.letters)), mode="edge") for asked in batch])
        of_letters = logits.gather(1, torch.from_numpy(letters).to(logits.device)).cpu().numpy().astype(np.float64)
        return [of_letters[i, : len(asked.letters)] - every[i] for i, asked in enumerate(batch)]


@dataclass(frozen=True)
class Letters:
    """How letters follow a prompt."""

    gap: str  # between the prompt and a letter
    tokens: tuple[int, ...]
    after: int  # the letter's token counted from the end, where some tokenizers close a text


def check_saved(folder: Path) -> None:
    """Refuse a folder that holds no model, before anything is imported to load it."""
    if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds an adapter alone; merge it into its model, and save that with its tokenizer.")
    if not (folder / "config.json").is_file():
        lacks = "it has no config.json"
    elif not any(path.suffix in WEIGHTS for path in folder.iterdir()):
        lacks = "it has no weights"
    else:
        return
    raise InputError(
        f"{folder} is not a folder with a model as `save_pretrained` writes it ({lacks}). Models are not downloaded: "
        "save one first, with its tokenizer."
    )


def load(folder: Path) -> tuple[Any, Any]:
    """A model and its tokenizer from a folder, in the precision in which they were saved."""
    transformers = import_extra("transformers", extra=EXTRA)
    options = {"local_files_only": True, "trust_remote_code": False}
    with without_bars(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, torch_dtype="auto", **options)
        except Exception as error:
            raise InputError(f"{folder} does not load as a causal language model: {told(error)}.") from error
    return model, tokenizer


@contextlib.contextmanager
def without_bars(transformers: Any) -> Iterator[None]:
    """No bars of `transformers` on the terminal; afterwards as it was."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def placed(model: Any, device: str) -> Any:
    """Somebody's model on a device: itself where it is there already, else a copy."""
    torch = import_extra("torch", extra=EXTRA)
    wanted = torch.zeros(1, device=check_device(device)).device  # "cuda" is "cuda:0"
    return model if model.device == wanted else copy.deepcopy(model).to(wanted)


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


def common_beginning(a: Tokens, b: Tokens) -> int:
    """How many tokens two rows begin with alike."""
    n = min(len(a), len(b))
    differ = np.flatnonzero(a[:n] != b[:n])
    return int(differ[0]) if len(differ) else n


def stretches(common: NDArray[np.int64], length: int, call: int) -> list[int]:
    """Columns at which to branch, so that the fewest tokens are run.

    Up to column c there are 1 + #{i : common_i < c} different beginnings; a stretch from a to c costs (c - a) times
    that, and `call` for running the model once more. The shortest path over the columns where beginnings part.

    Parameters
    ----------
    common : (n_rows - 1,) int
        Tokens that each row has in common with the next.
    length : int
        Of the longest row.
    call : int
        Cost of one more stretch, in tokens.

    Returns
    -------
    list of int
        Ascending; the last stretch begins at the last of them.

    Examples
    --------
    >>> stretches(np.array([200, 213, 200, 213]), 250, call=10)  # 5 rows; pairs share 13 tokens more
    [200, 213]
    >>> stretches(np.array([200, 213, 200, 213]), 250, call=100)
    [200]
    """
    columns = np.unique(np.concatenate([[0], common]))
    beginnings = 1 + np.array([int((common < c).sum()) for c in columns])
    cost, come_from = np.zeros(len(columns)), np.zeros(len(columns), dtype=np.int64)
    for j in range(1, len(columns)):
        ways = cost[:j] + call + beginnings[j] * (columns[j] - columns[:j])
        come_from[j] = np.argmin(ways)
        cost[j] = ways[come_from[j]]
    at = int(np.argmin(cost + (len(common) + 1) * (length - columns)))
    cuts = []
    while at > 0:
        cuts.append(int(columns[at]))
        at = int(come_from[at])
    return cuts[::-1]
