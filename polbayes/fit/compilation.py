"""How numba compiles functions, and what invalidates a compilation."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba

# If a sampler's step goes too far, a division by 0 is infinite and not an error. Releasing the lock
# lets chains and draws run in parallel.
_SETTINGS: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}

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
