"""Models of `transformers`: read from a folder as `save_pretrained` writes it, and put on a device."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heldout.errors import InputError, import_extra, told
from heldout.scorers.torch import check_device

EXTRA = "transformers"
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack")


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


def load(folder: Path, device: str | None) -> tuple[Any, Any]:
    """A model on a device, by default the first GPU where there is one, in the precision in which it was saved; and its
    tokenizer."""
    torch = import_extra("torch", extra=EXTRA)
    wanted = check_device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    transformers = import_extra("transformers", extra=EXTRA)
    options = {"local_files_only": True, "trust_remote_code": False}
    with without_bars(transformers):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, torch_dtype="auto", **options)
        except Exception as error:
            raise InputError(f"{folder} does not load as a causal language model: {told(error)}.") from error
    return model.to(wanted), tokenizer


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
