"""LoRA adapters: their base model, and merging their weights into it.

A merged model is asked like any other. `peft` reads the adapter.
"""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polbayes.errors import UserError
from polbayes.huggingface.hub import reason_of
from polbayes.huggingface.shards import has_weights, json_object
from polbayes.huggingface.source import Source

_CONFIG = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Base:
    """The base of an adapter: a folder, or a model on the hub in some revision."""

    location: str
    local: bool
    revision: str | None = None


def is_adapter(folder: Path) -> bool:
    """Return whether a folder is that of an adapter."""
    return (folder / _CONFIG).is_file()


def base_of(where: str, folder: Path) -> Base:
    """Find the base model of a LoRA adapter that `where` of the config declares."""
    said = f"{where}: checkpoint: the adapter '{folder}'"
    about = json_object(folder / _CONFIG)
    if about.get("peft_type") != "LORA":
        raise UserError(
            f"{said} is of type {about.get('peft_type')}; only LORA is loaded, so merge it into "
            "its base model and give that."
        )
    if not (folder / _WEIGHTS).is_file():
        raise UserError(
            f"{said} has no {_WEIGHTS}; other formats are not loaded, save it again with "
            "save_pretrained of peft."
        )
    if find_spec("peft") is None:
        raise UserError(
            f"{said} needs peft, which is not installed; install polbayes[adapters], or give a "
            "checkpoint that it was merged into."
        )
    if (folder / "config.json").is_file() and has_weights(folder):
        return Base(str(folder), local=True)
    return _named(said, folder, about)


def _named(said: str, folder: Path, about: dict[str, Any]) -> Base:
    """Return the base model that an adapter names."""
    name = str(about.get("base_model_name_or_path") or "")
    if not name:
        raise UserError(
            f"{said} names no base model; write it as base_model_name_or_path into its {_CONFIG}."
        )
    given = Path(name).expanduser()
    for place in (given, folder / given, folder.parent / given, folder.parent / given.name):
        if place.is_dir():
            return Base(str(place), local=True)
    if given.is_absolute() or name[0] in ".~" or name.count("/") > 1:
        raise UserError(
            f"{said} belongs to the base model '{name}', which is not there; put the folder "
            f"'{given.name}' next to the adapter's, or correct base_model_name_or_path in its "
            f"{_CONFIG}."
        )
    return Base(name, local=False, revision=about.get("revision"))


def tokenizer_folder(source: Source) -> str:
    """Return the location of the tokenizer: an adapter may have its own."""
    own = Path(source.adapter)
    if source.adapter and any((own / name).is_file() for name in _TOKENIZER):
        return source.adapter
    return source.location


def merged(source: Source, model: Any) -> Any:
    """Return a base model with the weights of its adapter added."""
    import torch
    from peft import LoraConfig, PeftModel, set_peft_model_state_dict
    from safetensors.torch import load_file

    folder = Path(source.adapter)
    try:
        about = LoraConfig.from_pretrained(str(folder))
        about.inference_mode = True
        with torch.no_grad(), warnings.catch_warnings():
            # Deprecated calls of peft in transformers do not concern users.
            warnings.simplefilter("ignore")
            wrapped = PeftModel(model, about)
            found: Any = set_peft_model_state_dict(wrapped, load_file(folder / _WEIGHTS))
            strays = [*found.unexpected_keys, *filter(_is_own, found.missing_keys)]
            if strays:
                raise ValueError(f"'{min(strays)}' is in only one of them")
            return wrapped.merge_and_unload(safe_merge=True)
    except Exception as error:  # whatever peft raises about what is not its own
        raise UserError(
            f"{source.where}: checkpoint: the adapter '{folder}' does not fit its base model "
            f"'{source.location}' ({reason_of(error)}); name the one that it was trained on as "
            f"base_model_name_or_path in its {_CONFIG}."
        ) from error


def _is_own(key: str) -> bool:
    """Return whether a weight must come from the adapter."""
    return ".lora_" in key or ".modules_to_save." in key
