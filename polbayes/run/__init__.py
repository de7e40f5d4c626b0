"""The pipeline of a run; called as ``polbayes.run("wvs_prefixes")``, it makes one.

``import polbayes as pb; pb.run(...)`` finds this package under the name of the function, which is
why the package can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that can be called."""

    def __call__(self, experiment: str | None = None, *overrides: str, **values: Any) -> Any:
        """Make a run; see `polbayes.run.notebook.run`."""
        from polbayes.run.notebook import run

        return run(experiment, *overrides, **values)


sys.modules[__name__].__class__ = _Callable
