"""What runs tasks: Ray, SLURM, or processes of this machine."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from polbayes.config.schema import LauncherConfig
from polbayes.errors import UserError, check_known
from polbayes.probing.launch.shard import Ended, Shard


class Engine(Protocol):
    """Runs `ask_shard` for shards, somewhere."""

    def submit(self, shard: Shard) -> object:
        """Have a shard asked, and return what stands for its task."""
        ...

    def ended(self, task: object) -> Ended | None:
        """Return how a task ended; None while it has not."""
        ...

    def stop(self, tasks: Iterable[object]) -> None:
        """Stop tasks, and return when none of them is there any more."""
        ...

    def close(self) -> None:
        """Let go of the engine."""
        ...


def _ray(launcher: LauncherConfig, folder: Path) -> Engine:
    from polbayes.probing.launch.ray_engine import RayEngine

    return RayEngine(launcher)


def _submitit(launcher: LauncherConfig, folder: Path) -> Engine:
    from polbayes.probing.launch.submitit_engine import SubmititEngine

    return SubmititEngine(launcher, folder)


# The package that an engine needs, the extra that installs it, and how the engine is made.
_ENGINES: Mapping[str, tuple[str, str, Callable[[LauncherConfig, Path], Engine]]] = {
    "processes": ("submitit", "slurm", _submitit),
    "ray": ("ray", "ray", _ray),
    "slurm": ("submitit", "slurm", _submitit),
}


def check_launcher(launcher: LauncherConfig) -> None:
    """Refuse a launcher that cannot be used here."""
    from importlib.util import find_spec

    check_known("kind", launcher.kind, known=("local", *_ENGINES), where="launcher")
    if launcher.kind == "local":
        return
    package, extra, _ = _ENGINES[launcher.kind]
    if find_spec(package) is None:
        raise UserError(
            f"launcher={launcher.kind}: needs {package}, which is not installed; install "
            f"polbayes[{extra}], or leave it out to ask in this process."
        )


def open_engine(launcher: LauncherConfig, folder: Path) -> Engine:
    """Make an engine ready."""
    return _ENGINES[launcher.kind][2](launcher, folder)
