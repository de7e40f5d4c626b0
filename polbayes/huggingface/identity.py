"""What tells one checkpoint from another: its weights, and what else its answers depend on.

Weights are digested whole. Large files are digested once: the digest is kept in the user's cache
under the file's path, size, time of change and inode. A checkpoint on the hub is known by its
commit.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from polbayes.data.files import write_text
from polbayes.errors import UserError
from polbayes.huggingface.source import Source

# From this size on the digest of a file is kept.
_LARGE = 1 << 26
_SUFFIXES = (".json", ".jinja", ".txt", ".model", ".py", ".tiktoken", ".vocab")
# What is in a checkpoint's folder and determines no answer.
_NOT_ASKED = ("README", "LICENSE", "NOTICE", "model.safetensors.index")


def folder_digest(where: Path) -> str:
    """Return a digest of the weights in a folder; empty where there are none."""
    paths = sorted(where.glob("*.safetensors"))
    if not paths:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        digest.update(path.read_bytes() if size <= _LARGE else _large(path).encode())
    return digest.hexdigest()


def other_digest(source: Source) -> str:
    """Return a digest of config, tokenizer, templates and code; of the hub, the commit.

    Empty where the hub cannot be asked.
    """
    return _about(Path(source.location)) if source.local else _commit(source)


def _about(where: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(where.rglob("*")):
        name = path.relative_to(where).as_posix()
        if path.suffix in _SUFFIXES and not path.name.startswith(_NOT_ASKED) and path.is_file():
            content = path.read_bytes()
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
    """Return the digest of a large file, which is looked up where it was made before."""
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
