"""Shards as tasks of a Ray cluster."""

import logging
import os
import time
from collections.abc import Iterable
from typing import Any

from polbayes.config.schema import LauncherConfig
from polbayes.errors import UserError
from polbayes.probing.launch.shard import Ended, Shard, ask_shard

_GIB = 2**30
# Seconds that a task has to end by itself.
_PATIENCE = 10.0


class RayEngine:
    """A Ray cluster: an existing one, or one started on this machine."""

    def __init__(self, launcher: LauncherConfig) -> None:
        # No usage is reported unless the user wants that.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._own = not ray.is_initialized()
        if self._own:
            try:
                ray.init(
                    address=launcher.address or "local",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UserError(
                    f"launcher.address: cannot connect to a Ray cluster at '{launcher.address}' "
                    f"({_first_line(error)})."
                ) from error
        takes: dict[str, Any] = {"num_cpus": launcher.cpus, "num_gpus": launcher.gpus}
        if launcher.memory is not None:
            takes["memory"] = int(launcher.memory * _GIB)
        # The driver decides what happens after a task dies.
        self._task = ray.remote(max_retries=0, **takes)(ask_shard)

    def submit(self, shard: Shard) -> object:
        """Submit a shard (see `Engine`)."""
        return self._task.options(name=shard.name).remote(shard)

    def ended(self, task: Any) -> Ended | None:
        """Return how a task ended (see `Engine`)."""
        import ray
        from ray.exceptions import RayError, RayTaskError

        if not ray.wait([task], timeout=0)[0]:
            return None
        try:
            ended = ray.get(task)
        except RayTaskError:
            raise
        except RayError as error:
            return Ended(_first_line(error), "lost")
        assert isinstance(ended, Ended)
        return ended

    def stop(self, tasks: Iterable[object]) -> None:
        """Stop tasks (see `Engine`)."""
        import ray

        left = list(tasks)
        for force, patience in ((False, _PATIENCE), (True, _PATIENCE)):
            for task in left:
                ray.cancel(task, force=force)
            until = time.monotonic() + patience
            while left and time.monotonic() < until:
                _, left = ray.wait(left, num_returns=len(left), timeout=0.5)

    def close(self) -> None:
        """Leave the cluster, which ends if it was started here."""
        import ray

        if self._own:
            ray.shutdown()


def _first_line(error: Exception) -> str:
    return (
        str(error).strip().splitlines()[0][:300].rstrip(".") if str(error).strip() else repr(error)
    )
