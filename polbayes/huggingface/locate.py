"""Finding a checkpoint: a folder, a GGUF file, an adapter, an embedded model, or one on the hub.

Local files are checked as far as possible without loading them.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from polbayes.config.resources import folder
from polbayes.errors import UserError, check_known
from polbayes.huggingface.adapter import base_of, is_adapter
from polbayes.huggingface.shards import check_weights
from polbayes.huggingface.source import Source

_DTYPES = ("float32", "bfloat16", "float16")
_DEVICES = ("auto", "cpu", "cuda", "mps")
_EMBEDDED = "embedded:"


class Declared(Protocol):
    """The common config keys of checkpoints."""

    checkpoint: str
    revision: str | None
    dtype: str
    device: str
    trust_remote_code: bool


def locate(name: str, config: Declared, *, under: str = "respondents") -> Source:
    """Find a checkpoint.

    `under` is the config key that contains the declaration; empty if `name` is the whole key. A
    file, folder or embedded model that is missing, truncated or of another format is refused, and
    so is one whose package is missing.
    """
    where = f"{under}.{name}" if under else name
    given = config.checkpoint.strip()
    check_known("dtype", config.dtype, known=_DTYPES, where=where)
    check_known("device", config.device, known=_DEVICES, where=where)
    if not given:
        raise UserError(f"{where}: checkpoint: is empty; give embedded:NAME, a folder or a name.")
    if given.startswith(_EMBEDDED):
        path = _embedded(given.removeprefix(_EMBEDDED), where)
    else:
        path = Path(given).expanduser()
    if path.suffix == ".gguf" and not path.is_dir():
        return _of_gguf(where, path, config)
    if path.is_dir():
        return _of_folder(where, path, config)
    if given[0] in "./~" or given.count("/") > 1:
        raise UserError(f"{where}: checkpoint: there is no folder '{given}'.")
    return Source(where, given, False, config.revision, config.trust_remote_code)


def _embedded(name: str, where: str) -> Path:
    shipped = {path.parent.name: path.parent for path in folder("models").glob("*/config.json")}
    check_known("embedded model", name, known=shipped, where=f"{where}: checkpoint")
    return shipped[name]


def _of_folder(where: str, path: Path, config: Declared) -> Source:
    if is_adapter(path):
        base = base_of(where, path)
        if base.local:
            _check_folder(where, Path(base.location))
        trusted = config.trust_remote_code
        return Source(where, base.location, base.local, base.revision, trusted, adapter=str(path))
    packed = sorted(path.glob("*.gguf"))
    if packed and not any(path.glob("*.safetensors")):
        if len(packed) > 1:
            raise UserError(
                f"{where}: checkpoint: the folder '{path}' has {len(packed)} GGUF files; give the "
                f"path of one of them, such as '{packed[0]}'."
            )
        return _of_gguf(where, packed[0], config)
    _check_folder(where, path)
    return Source(where, str(path), True, None, config.trust_remote_code)


def _check_folder(where: str, path: Path) -> None:
    if not (path / "config.json").is_file():
        raise UserError(f"{where}: checkpoint: the folder '{path}' has no config.json.")
    check_weights(where, path)


def _of_gguf(where: str, path: Path, config: Declared) -> Source:
    if not path.is_file():
        raise UserError(f"{where}: checkpoint: there is no file '{path}'.")
    for package in ("gguf", "accelerate"):
        if find_spec(package) is None:
            raise UserError(
                f"{where}: checkpoint: '{path}' needs {package}, which is not installed; install "
                "polbayes[gguf], or give a folder with safetensors weights."
            )
    return Source(where, str(path.parent), True, None, config.trust_remote_code, gguf=path.name)
