"""The weight files of a checkpoint's folder: which are loaded, and whether they are complete."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polbayes.errors import UserError

_ONE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# A safetensors file begins with the length of its header, an integer of 8 bytes.
_LENGTH = 8


def has_weights(folder: Path) -> bool:
    """Return whether a folder has the weights of a whole model under the usual names."""
    return (folder / _ONE).is_file() or (folder / _INDEX).is_file()


def check_weights(where: str, folder: Path) -> None:
    """Refuse a folder whose weights cannot be loaded, from names, sizes and headers alone."""
    said = f"{where}: checkpoint: the folder '{folder}'"
    if not any(folder.glob("*.safetensors")):
        raise UserError(f"{said} has no *.safetensors file; {_other_format(folder)}.")
    for path in _loaded(said, folder):
        _elements(said, path)


def count_weights(folder: Path) -> int:
    """Return the number of weights in the files of a folder."""
    said = f"the folder '{folder}'"
    return sum(_elements(said, path) for path in _loaded(said, folder))


def _other_format(folder: Path) -> str:
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if not pickles:
        return "other weight formats are not loaded, convert it first"
    made_as = (json_object(folder / "config.json").get("architectures") or ["its class"])[0]
    return (
        f"'{pickles[0]}' is a pickle, which can run code and is not loaded: convert it once, with "
        f"from_pretrained and save_pretrained of {made_as} in transformers"
    )


def _loaded(said: str, folder: Path) -> Sequence[Path]:
    """Return the files that transformers loads."""
    if json_object(folder / "config.json").get("transformers_weights"):
        return sorted(folder.glob("*.safetensors"))
    if (folder / _ONE).is_file():
        return [folder / _ONE]
    if not (folder / _INDEX).is_file():
        raise UserError(
            f"{said} has no usable weights: there is neither {_ONE} nor {_INDEX}, which says what "
            "its parts hold; download the checkpoint again."
        )
    named = json_object(folder / _INDEX).get("weight_map")
    if not isinstance(named, dict) or not named:
        raise UserError(f"{said} has no usable weights: {_INDEX} is damaged; download it again.")
    paths = sorted(folder / str(name) for name in set(named.values()))
    for path in paths:
        if not path.is_file():
            raise UserError(
                f"{said} has no usable weights: '{path.name}', which {_INDEX} names, is missing; "
                "download it again."
            )
    return paths


def _elements(said: str, path: Path) -> int:
    """Return the number of weights in a file; refuse an incomplete one."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH), "little")
            header = json.loads(file.read(length)) if length < size else None
        parts = [about for name, about in (header or {}).items() if name != "__metadata__"]
        whole = _LENGTH + length + max((about["data_offsets"][1] for about in parts), default=0)
        held = sum(math.prod(about["shape"]) for about in parts)
    except OSError as error:
        raise UserError(f"{said}: '{path.name}' cannot be read ({error.strerror}).") from error
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError):
        whole, held = -1, 0
    if whole != size:
        cut = f"has {size:,} of {whole:,} bytes" if whole > size else "is damaged"
        raise UserError(
            f"{said} has no usable weights: '{path.name}' {cut}; download or copy it again."
        )
    return held


def json_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if it is missing or not an object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
