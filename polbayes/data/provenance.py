"""Provenance of results: digests of their inputs, and versions of packages."""

import hashlib
import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("polbayes", "pymc", "nutpie", "arviz", "xarray", "numpy", "torch", "transformers")


def digest(value: Any) -> str:
    """Return a short stable hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def json_digest(value: Any, *, size: int = 16) -> str:
    """Return a hash of `size` bytes of a JSON value, or of mappings in one."""
    return text_digest(json.dumps(value, sort_keys=True, default=dict), size=size)


def text_digest(*texts: str, size: int = 16) -> str:
    """Return a hash of `size` bytes that identifies one or several texts in order."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=size).hexdigest()


def file_digest(path: Path) -> str:
    """Return a short hash of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": sys.version.split()[0]}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
