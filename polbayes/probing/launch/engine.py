"""What runs tasks: Ray, SLURM, or local processes."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from polbayes.config.schema import LauncherConfig
from polbayes.errors import UserError, check_known
from polbayes.probing.launch.shard import Ended, Shard


class Engine(Protocol):
    """Runs `ask_shard` on shards somewhere."""

    def submit(self, shard: Shard) -> object:
        """Submit a shard and return its task."""
        ...

    def ended(self, task: object) -> Ended | None:
        """Return how a task ended; None while it is running."""
        ...

    def stop(self, tasks: Iterable[object]) -> None:
        """Stop tasks, and return when all have gone."""
        ...

    def close(self) -> None:
        """Release the engine."""
        ...


def _ray(launcher: LauncherConfig, folder: Path) -> Engine:
    from polbayes.probing.launch.ray_engine import RayEngine

    return RayEngine(launcher)


def _submitit(launcher: LauncherConfig, folder: Path) -> Engine:
    from polbayes.probing.launch.submitit_engine import SubmititEngine

    return SubmititEngine(launcher, folder)


# The package that an engine needs, the extra that installs it, and how to create the engine.
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
    """Start an engine."""
    return _ENGINES[launcher.kind][2](launcher, folder)
