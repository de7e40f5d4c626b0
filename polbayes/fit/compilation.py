"""How numba compiles functions, and what invalidates a compilation."""

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

# If a sampler's step goes too far, a division by 0 is infinite and not an error. Releasing the lock
# lets chains and draws run in parallel.
_SETTINGS: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}


def _own_name(file: IndexDataCacheFile, _number: int) -> str:
    """Name the file of one signature of a function."""
    return str(file._data_name_pattern).replace("{number:d}", uuid.uuid4().hex)


# Numba numbers these files by the index that it has read. Two processes that compile the same
# function for two signatures at once would write both to one file, and later processes would call
# the code of one with the arguments of the other: an array with gaps read as if it had none.
IndexDataCacheFile._data_name = _own_name

compiled = numba.njit(**_SETTINGS)


def compiled_with(*modules: ModuleType, **settings: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that calls compiled functions of other modules, directly or not.

    Numba's cache checks only the function's own file, not what the function calls. The text of the
    other modules is therefore part of the function's name in the cache. Further settings are
    numba's.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{source_of(*modules):x}"
        return numba.njit(**_SETTINGS, **settings)(function)

    return decorate


def source_of(*modules: ModuleType) -> int:
    """Return a hash of the text of modules."""
    text = b"".join(Path(str(module.__file__)).read_bytes() for module in modules)
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")
