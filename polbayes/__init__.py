"""polbayes: Bayesian measurement of the political leaning of language models.

``polbayes.run("wvs_prefixes")`` asks, measures and reports, ``polbayes.open(FOLDER)`` opens what is
there, and ``polbayes.compare([...])`` puts finished runs on one scale; see `polbayes.run.notebook`.
What is wrong with what they are given is a ``polbayes.UserError``.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Run", "UserError", "__version__", "compare", "open", "run"]

_NOTEBOOK = "polbayes.run.notebook"
_NAMES = {
    "Run": (_NOTEBOOK, "Run"),
    "UserError": ("polbayes.errors", "UserError"),
    "compare": (_NOTEBOOK, "compare"),
    "open": (_NOTEBOOK, "open_run"),
}


def __getattr__(name: str) -> Any:
    """Import what is for users when it is asked for, so that the import of polbayes is fast."""
    if name == "run":
        return import_module("polbayes.run")
    if name not in _NAMES:
        raise AttributeError(f"module 'polbayes' has no attribute '{name}'")
    module, found = _NAMES[name]
    return getattr(import_module(module), found)


def __dir__() -> list[str]:
    return sorted(__all__)
