"""The identity of a checkpoint: its weights, and what else its answers depend on.

Weights are digested whole. Large files are digested once: the digest is kept in the user's cache
under the file's path, size, change time and inode. A checkpoint on the hub is identified by its
commit.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from polbayes.config.schema import CoderConfig
from polbayes.data.files import write_text
from polbayes.errors import UserError
from polbayes.huggingface.locate import Declared, locate
from polbayes.huggingface.source import Source

# Digests of files from this size on are kept.
_LARGE = 1 << 26
_TEXT = (".json", ".jinja", ".txt", ".py")
_VOCABULARY = (".model", ".tiktoken", ".vocab", ".spm", ".bpe", ".codes")
_SUFFIXES = (*_TEXT, *_VOCABULARY)
# Files in a checkpoint's folder that do not determine answers.
_NOT_ASKED = ("README", "LICENSE", "NOTICE")
_BESIDE_GGUF = ("tokenizer", "generation_config", "chat_template", "special_tokens", "added_tokens")


def weights_digest(config: Declared) -> str:
    """Return the `source_digest` of a declared checkpoint."""
    return source_digest(locate("checkpoint", config))


def files_digest(config: Declared) -> str:
    """Return the `other_digest` of a declared checkpoint."""
    return other_digest(locate("checkpoint", config))


def checkpoint_digest(where: Path) -> str:
    """Return a digest of a local checkpoint's weights and config; empty where there is none."""
    if not where.exists():
        return ""
    try:
        source = locate("checkpoint", CoderConfig(checkpoint=str(where)))
    except UserError:  # what keeps it from being used is said where it is opened
        return _weights(sorted(where.glob("*.safetensors")))
    weights, about = source_digest(source), Path(source.location) / "config.json"
    if not about.is_file():
        return weights
    return f"{weights}:{hashlib.blake2b(about.read_bytes(), digest_size=8).hexdigest()}"


def source_digest(source: Source) -> str:
    """Return a digest of the weights, including an adapter's; empty for the hub."""
    folder, own = Path(source.location), ""
    if source.local:
        own = _weights([folder / source.gguf] if source.gguf else _safetensors(folder))
    return f"{own}+{_weights(_safetensors(Path(source.adapter)))}" if source.adapter else own


def _safetensors(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def _weights(paths: Sequence[Path]) -> str:
    if not paths:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        digest.update(path.read_bytes() if size <= _LARGE else _large(path).encode())
    return digest.hexdigest()


def other_digest(source: Source) -> str:
    """Return a digest of config, tokenizer, templates and code; of the hub, the commit."""
    if source.local:
        own = _about(Path(source.location), beside_gguf=bool(source.gguf))
    else:
        own = _commit(source)
    return f"{own}+{_about(Path(source.adapter))}" if source.adapter else own


def _about(folder: Path, *, beside_gguf: bool = False) -> str:
    """Return a digest of the files that determine answers, other than the weights."""
    paths = folder.rglob("*")
    if beside_gguf:
        # A GGUF file may be in any folder, and contains most of this itself.
        paths = (path for path in folder.glob("*") if path.name.startswith(_BESIDE_GGUF))
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(paths):
        if path.suffix in _SUFFIXES and not path.name.startswith(_NOT_ASKED) and path.is_file():
            name, content = path.relative_to(folder).as_posix(), path.read_bytes()
            digest.update(f"{name}:{len(content)};".encode() + content)
    return digest.hexdigest()


def _commit(source: Source) -> str:
    from transformers.utils.hub import cached_file, extract_commit_hash

    try:
        found = cached_file(source.location, "config.json", revision=source.revision)
    except Exception:  # what keeps it from being had is said where it is opened
        return ""
    return extract_commit_hash(found, None) or ""


def _large(path: Path) -> str:
    """Return the digest of a large file, from the cache if possible."""
    about = path.stat()
    key = f"{path.resolve()}:{about.st_size}:{about.st_mtime_ns}:{about.st_ino}"
    cache = _cache()
    known = _known(cache)
    if key not in known:
        with path.open("rb") as file:
            made = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        known = {**_known(cache), key: made}
        with suppress(UserError):  # what cannot be kept is made again the next time
            write_text(cache, json.dumps(known))
    return known[key]


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "polbayes" / "digests.json"


def _known(cache: Path) -> dict[str, str]:
    try:
        found = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
